"""The point of a polytope next to a target, by an active set of atoms."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import qr, qr_delete, qr_insert, solve_triangular

from sparseopt.backend import Backend, Control, Feature, Option
from sparseopt.params import SolveParams
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.private.embedding_fit import EmbeddingFit
from sparseopt.result import Limit, Result

from .answer import as_result, closed

__all__ = ["NearestPoint"]

_DEPENDENT = 1e-13
"""Distance of an atom from the span of the others, relative to its length, that counts as none."""

_PATIENCE = 5
"""Steps in a row without a lower value after which rounding errors end the solve."""


class NearestPoint(Backend):
    r"""Wolfe's algorithm: an affinely independent set of atoms, and the best point of its hull.

    A step adds the atom with the least inner product with the residual (the Frank-Wolfe atom). Then
    the best affine combination of the set is found by least squares; while it has negative weights,
    the way to it ends where the first weight becomes zero, and that atom leaves. The Frank-Wolfe
    gap :math:`2 \max_i r'(\Phi'a - \phi_i)` bounds how far the objective is from the optimum.

    Source: Wolfe: Finding the nearest point in a polytope, Mathematical Programming 11 (1976).
    """

    name: ClassVar[str] = "nearest-point"
    summary: ClassVar[str] = "Wolfe's nearest point of a polytope, an active-set method"
    families: ClassVar[frozenset[str]] = frozenset({"private"})
    features: ClassVar[frozenset[Feature]] = frozenset(
        {Feature.EXACT, Feature.DUAL_BOUND, Feature.CERTIFICATE}
    )
    options: ClassVar[Mapping[str, Option]] = {
        "iterations": Option(int, 100_000, "atoms that enter at most", low=1)
    }

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        assert isinstance(problem, EmbeddingFit)
        Phi, mu = problem.Phi, problem.mu
        hull = _Hull(problem, int(np.argmin(np.sum((Phi - mu) ** 2, axis=1))))
        best, least, since, steps, limit = hull.distribution(), math.inf, 0, 0, None
        while limit is None:
            r = hull.weights @ Phi[hull.atoms] - mu
            at = Phi @ r
            value = float(r @ r)
            gap = 2.0 * float(hull.weights @ at[hull.atoms] - at.min())
            since = 0 if value < least else since + 1
            if value < least:
                best, least = hull.distribution(), value
            control.progress("active set", objective=value, bound=max(0.0, value - gap))
            entering = int(np.argmin(at))
            if closed(problem, params, value, gap) or since >= _PATIENCE or entering in hull.atoms:
                break
            if steps >= options["iterations"]:
                limit = Limit.ITERATION
                break
            limit = control.limit()
            steps += 1
            if not hull.add(entering):
                break
        return as_result(problem, params, best, steps, limit or Limit.SLOW_PROGRESS)


class _Hull:
    """Affinely independent atoms, and weights of a point of their hull.

    With E = [c 1; (Phi_S - mu)'] = QR the least affine combination is proportional to the solution
    of R'R u = 1 (Wolfe, section 4): a step costs O(d |S|) by updates of the factors.

    Attributes
    ----------
    atoms : list of int
    weights : array of shape (len(atoms),)
        Positive, adding up to 1.
    """

    def __init__(self, problem: EmbeddingFit, first: int) -> None:
        self._problem = problem
        self._unit = math.sqrt(problem.largest_term) or 1.0
        self.atoms, self.weights = [first], np.ones(1)
        self._Q, self._R = qr(self._column(first)[:, None], mode="economic")

    def distribution(self) -> Array:
        """Return the weights of all atoms, shape (n,)."""
        x = np.zeros(len(self._problem.Phi))
        x[self.atoms] = self.weights
        return x

    def add(self, atom: int) -> bool:
        """Let an atom in, and move to the best point; False where it depends on the others.

        Parameters
        ----------
        atom : int
        """
        column = self._column(atom)
        if len(self.atoms) >= len(column):
            return False
        Q, R = qr_insert(self._Q, self._R, column, len(self.atoms), which="col")
        if abs(R[-1, -1]) <= _DEPENDENT * np.linalg.norm(column):
            return False
        self.atoms.append(atom)
        self._set(Q, R)
        self.weights = np.append(self.weights, 0.0)
        while True:
            affine = self._affine_minimum()
            leaving = np.flatnonzero(affine <= 0.0)
            if not len(leaving):
                self.weights = affine
                return True
            slope = np.maximum((self.weights - affine)[leaving], np.finfo(float).tiny)
            ratios = self.weights[leaving] / slope
            step = min(1.0, float(ratios.min()))
            self.weights += step * (affine - self.weights)
            self._drop(int(leaving[int(np.argmin(ratios))]))

    def _set(self, Q: Array, R: Array) -> None:
        """Keep the economic factors: a square Q makes SciPy return the full ones."""
        count = len(self.atoms)
        self._Q, self._R = np.ascontiguousarray(Q[:, :count]), np.ascontiguousarray(R[:count])

    def _column(self, atom: int) -> Array:
        return np.append(self._unit, self._problem.Phi[atom] - self._problem.mu)

    def _affine_minimum(self) -> Array:
        """Return weights, adding up to 1, of the least affine combination of the atoms."""
        ones = np.ones(len(self.atoms))
        u = solve_triangular(self._R, solve_triangular(self._R, ones, trans="T"))
        return np.asarray(u / u.sum())

    def _drop(self, position: int) -> None:
        del self.atoms[position]
        self._set(*qr_delete(self._Q, self._R, position, which="col"))
        weights = np.maximum(0.0, np.delete(self.weights, position))
        self.weights = weights / weights.sum()
