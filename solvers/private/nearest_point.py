"""The point of a polytope next to a target, by an active set of atoms."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import qr, qr_delete, qr_insert, solve_triangular

from sparseopt.backend import Backend, Control, Feature, Option
from sparseopt.params import SolveParams
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.private.embedding_fit import EmbeddingFit
from sparseopt.result import Limit, Result

from .answer import as_result, closed
from .interior_point import interior_point

_DEPENDENT = 1e-13
"""Distance of an atom from the span of the others, relative to its length, that counts as none."""

_MANY = 100
"""Steps after which a fit with as many features has a large support, which the interior finds."""

_HEAVY = 1e-4
"""Weight, relative to the largest, from which an atom of the interior point is taken."""

_INDEPENDENT = 1e-9
"""Pivot of a weighted atom, relative to the largest, from which it is taken."""

_PATIENCE = 5
"""Steps in a row without a lower value after which rounding errors end the solve."""


class NearestPoint(Backend):
    r"""Wolfe's algorithm: an affinely independent set of atoms, and the best point of its hull.

    A step adds the atom with the least inner product with the residual (the Frank-Wolfe atom). Then
    the best affine combination of the set is found by least squares; while it has negative weights,
    the way to it ends where the first weight becomes zero, and that atom leaves. The Frank-Wolfe
    gap :math:`2 \max_i r'(\Phi'a - \phi_i)` bounds how far the objective is from the optimum.

    After 100 steps of a large fit the heavy atoms of an interior point are tried as a better set.

    Source: Wolfe: Finding the nearest point in a polytope, Mathematical Programming 11 (1976).
    """

    name: ClassVar[str] = "nearest-point"
    summary: ClassVar[str] = "Wolfe's nearest point of a polytope, an active-set method"
    families: ClassVar[frozenset[str]] = frozenset({"private"})
    features: ClassVar[frozenset[Feature]] = frozenset(
        {Feature.EXACT, Feature.DUAL_BOUND, Feature.CERTIFICATE}
    )
    options: ClassVar[Mapping[str, Option]] = {
        "iterations": Option(int, 100_000, "interior steps and entering atoms at most", low=1)
    }

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        assert isinstance(problem, EmbeddingFit)
        Phi, mu = problem.Phi, problem.mu
        nearest = int(np.argmin(np.sum((Phi - mu) ** 2, axis=1)))
        hull = _Hull(problem, [nearest], np.ones(1))
        best, least, since, steps, limit = hull.distribution(), math.inf, 0, 0, None
        large = min(len(Phi) / 2, len(mu)) >= _MANY
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
            if large and steps == _MANY:
                large = False
                other, taken = _inside(problem, control, options["iterations"] - steps)
                steps += taken
                if problem.objective(other.distribution()) < value:
                    hull = other
                    continue
            steps += 1
            if not hull.add(entering):
                break
        return as_result(problem, params, best, steps, limit or Limit.SLOW_PROGRESS)


def _inside(problem: EmbeddingFit, control: Control, steps: int) -> tuple[_Hull, int]:
    """Return the best point near an interior one, of independent atoms, and the steps taken."""
    a, taken = interior_point(problem, control, steps)
    heavy = np.argsort(-a)[: len(problem.mu) + 1]
    heavy = heavy[a[heavy] > _HEAVY * a[heavy[0]]]
    R, order = qr(_columns(problem, heavy) * a[heavy], mode="r", pivoting=True)
    pivots = np.abs(R.diagonal())
    atoms = heavy[order[: len(pivots)][pivots > _INDEPENDENT * pivots[0]]]
    return _Hull(problem, atoms.tolist(), a[atoms] / a[atoms].sum()), taken


def _columns(problem: EmbeddingFit, atoms: Sequence[int] | Array) -> Array:
    """Return the matrix [c 1; (Phi_S - mu)'], c the unit of length, shape (d + 1, len(atoms))."""
    unit = math.sqrt(problem.largest_term) or 1.0
    away = problem.Phi[atoms] - problem.mu
    return np.vstack([np.full(len(atoms), unit), away.T])


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

    def __init__(self, problem: EmbeddingFit, atoms: list[int], weights: Array) -> None:
        self._problem = problem
        self.atoms, self.weights = atoms, weights
        self._Q, self._R = qr(_columns(problem, atoms), mode="economic")
        self._descend()

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
        column = _columns(self._problem, [atom])[:, 0]
        if len(self.atoms) >= len(column):
            return False
        try:
            Q, R = qr_insert(self._Q, self._R, column, len(self.atoms), which="col")
        except np.linalg.LinAlgError:  # nothing of the column is outside their span
            return False
        if abs(R[-1, -1]) <= _DEPENDENT * np.linalg.norm(column):
            return False
        self.atoms.append(atom)
        self._set(Q, R)
        self.weights = np.append(self.weights, 0.0)
        self._descend()
        return True

    def _descend(self) -> None:
        """Move to the best point of the hull of atoms, some of which leave."""
        while True:
            affine = self._affine_minimum()
            leaving = np.flatnonzero(affine <= 0.0)
            if not len(leaving):
                self.weights = affine
                return
            slope = np.maximum((self.weights - affine)[leaving], np.finfo(float).tiny)
            ratios = self.weights[leaving] / slope
            step = min(1.0, float(ratios.min()))
            self.weights += step * (affine - self.weights)
            self._drop(int(leaving[int(np.argmin(ratios))]))

    def _set(self, Q: Array, R: Array) -> None:
        """Keep the economic factors: a square Q makes SciPy return the full ones."""
        count = len(self.atoms)
        self._Q, self._R = np.ascontiguousarray(Q[:, :count]), np.ascontiguousarray(R[:count])

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
