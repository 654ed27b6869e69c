r"""Multipliers of a conic solver, moved so that unbounded variables cost nothing.

Weak duality asks that r = c - A'y - F'z - M*(Z) vanish where a variable has no bound; an
interior-point method leaves it at 1e-9 or so. The smallest move of (y, z, Z) that does it, measured
where they are (an entry of y relative to itself, a matrix as :math:`Z^{-1/2} \Delta Z Z^{-1/2}`),
keeps signs and cones, since it is small in that measure:

.. math:: \Delta Z = Z\, V(\mu)\, Z, \quad \Delta z = P(z) V(\mu), \quad \Delta y = D^2 V(\mu),

with P the quadratic representation of the cone, V the constraints' transposed columns, and mu from
one symmetric system with a row for each such variable. Before, what is only noise beside the other
multipliers is set to zero, which is in every cone.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import (
    SecondOrderCone,
    SemidefiniteBlock,
    matrix_variable,
    pack_symmetric,
    triangle_weights,
    unpack_symmetric,
)
from sparseopt.problems.misdp.problem import MISDP

from ..bounds import ConicMultipliers
from ..settings import (
    POLISH_GROWTH,
    POLISH_LARGEST,
    POLISH_NOISE,
    POLISH_RANK,
    POLISH_ROUNDS,
    POLISH_TRACE,
)


class Polish:
    """A problem whose multipliers are improved, for one box after another.

    Parameters
    ----------
    problem : MISDP
    """

    def __init__(self, problem: MISDP) -> None:
        self._problem = problem
        self._costs = problem.c if problem.sense == "min" else -problem.c
        self._own = np.zeros(len(problem.c), dtype=bool)
        for block in problem.blocks:
            columns = matrix_variable(block)
            if columns is not None:
                self._own[columns] = True
        self._row_ends = np.isinf(problem.row_lower), np.isinf(problem.row_upper)
        parts = [problem.A, *(part.F for part in (*problem.cones, *problem.blocks))]
        self._columns = sp.csc_array(sp.vstack(parts, format="csc"))
        m, lengths = problem.A.shape[0], [part.shape[0] for part in parts]
        self._ends = np.cumsum(lengths)
        matrices = [triangle_weights(block.size) for block in problem.blocks]
        weights = np.concatenate([np.ones(sum(lengths[: 1 + len(problem.cones)])), *matrices])
        self._adjoint = sp.csr_array((sp.diags_array(weights) @ self._columns).T)
        self._of_rows = sp.csr_array(abs(problem.A).T)
        self._largest = _largest_entries(sp.csr_array(self._columns))
        self._at_cones = int(self._ends[len(problem.cones)])
        self._m, self._last = m, (np.zeros(0, np.int64), np.zeros((0, 0)))

    def improve(
        self,
        lower: Array,
        upper: Array,
        rows: Array,
        cones: Array,
        psd: Array,
        infeasible: bool = False,
    ) -> ConicMultipliers:
        """Return multipliers of one box whose reduced costs vanish where a bound is missing.

        Parameters
        ----------
        lower, upper : array of shape (n,)
            Bounds of the variables in the box, as tight as they are known.
        rows, cones, psd : arrays
            The multipliers, as vectors; see
            :class:`~sparseopt.solvers.misdp.bounds.ConicMultipliers`.
        infeasible : bool, default False
            Whether they are Farkas multipliers (for the costs zero).

        Returns
        -------
        ConicMultipliers
            With L = 1. Where a move would not help, those that were given.

        Notes
        -----
        O(k sum s^3 + k^3) for k variables without a bound. Columns of matrix variables are left to
        :class:`~sparseopt.solvers.misdp.bounds.SafeBounds`, which moves their costs into Z.
        """
        costs = np.zeros(len(self._costs)) if infeasible else self._costs
        y = np.where(np.where(rows > 0.0, *self._row_ends), 0.0, rows)
        dual = np.concatenate([y, cones, psd])
        self._drop_noise(costs, dual)
        below, above = np.isinf(lower), np.isinf(upper)
        chosen = below & above & ~self._own
        # Squares of what is larger overflow.
        for _ in range(POLISH_ROUNDS if _largest(dual) < POLISH_LARGEST else 0):
            r = costs - self._adjoint @ dual
            size = np.abs(costs) + self._of_rows @ np.abs(dual[: self._m])
            missing = ~self._own & np.where(r > 0.0, below, above)
            chosen |= missing & (np.abs(r) > 1e-14 * size)
            J = np.flatnonzero(chosen)
            if not len(J) or not np.abs(r[J]).any():
                break
            moved = self._moved(J, r[J], dual)
            if not _largest(moved) <= POLISH_GROWTH * _largest(dual):
                break
            dual = moved
        self._drop_traces(dual)
        y, z, Z = np.split(dual, [self._m, self._at_cones])
        return ConicMultipliers(y[None], z[None], Z[None])

    def _parts(self) -> Iterator[tuple[SecondOrderCone | SemidefiniteBlock, slice]]:
        """Yield each cone and each matrix with its place."""
        parts = (*self._problem.cones, *self._problem.blocks)
        for part, (begin, end) in zip(parts, pairwise(self._ends.tolist()), strict=True):
            yield part, slice(begin, end)

    def _drop_noise(self, costs: Array, dual: Array) -> None:
        """Set those rows, cones and matrices to zero that hardly matter."""
        sizes = np.abs(dual) * self._largest
        top = max(float(sizes.max(initial=0.0)), float(np.abs(costs).max()))
        of_rows = sizes[: self._m]
        dual[: self._m][of_rows <= POLISH_NOISE * top] = 0.0
        for _, here in self._parts():
            if float(sizes[here].max(initial=0.0)) <= POLISH_NOISE * top:
                dual[here] = 0.0

    def _drop_traces(self, dual: Array) -> None:
        """Write zeros for what stands for a zero.

        Where constraints hold a variable without ends alone, or several of them as many entries,
        the multipliers of these must be exactly zero.
        """
        y, sizes = dual[: self._m], np.abs(dual[: self._m]) * self._largest[: self._m]
        top = max(float(sizes.max(initial=0.0)), float(np.abs(self._costs).max()))
        y[sizes <= POLISH_TRACE * top] = 0.0
        for _, here in self._parts():
            part = dual[here]
            part[np.abs(part) <= POLISH_TRACE * _largest(part)] = 0.0

    def _of(self, J: Array) -> Array:
        """Return the columns J of all constraints, kept for the next box."""
        if not np.array_equal(self._last[0], J):
            self._last = J, self._columns[:, J].toarray()
        return self._last[1]

    def _moved(self, J: Array, r: Array, dual: Array) -> Array:
        """Return the multipliers after the smallest move that takes r away from the columns J.

        With W the measure above and V = W^(1/2) F_J it is W^(1/2) times the shortest solution of
        V'w = r: what its precision loses is the condition of V, not that of V'V.
        """
        problem, columns, m = self._problem, self._of(J), self._m
        equal = problem.row_lower == problem.row_upper
        size = np.abs(dual[:m])
        weight = np.where(equal, max(1.0, float(size.max(initial=0.0))), size)
        V = np.concatenate([weight[:, None] * columns[:m], columns[m:]])
        roots: list[tuple[_Root, slice]] = []
        for part, here in self._parts():
            # What holds none of the columns is not moved.
            if not columns[here].any():
                continue
            root = _root(part, dual[here])
            V[here] = root.times(columns[here])
            roots.append((root, here))
        # Equilibrated, so that a column of small entries is not taken for one that cannot be moved.
        norms = np.sqrt((V**2).sum(axis=0))
        norms[norms == 0.0] = 1.0
        if not np.isfinite(V).all() or not np.isfinite(norms).all():
            return dual
        with np.errstate(over="ignore"):
            needed = r / norms
        if not np.isfinite(needed).all():
            return dual
        w = np.linalg.lstsq((V / norms).T, needed, rcond=POLISH_RANK)[0]
        if not np.isfinite(w).all():
            return dual
        moved = dual.copy()
        moved[:m] += weight * w[:m]
        for root, here in roots:
            moved[here] += root.back(w[here])
        return moved


def _largest(vector: Array) -> float:
    return float(np.abs(vector).max(initial=0.0))


def _largest_entries(matrix: sp.csr_array) -> Array:
    """Return the largest absolute entry of each row."""
    if not matrix.nnz:
        return np.zeros(matrix.shape[0])
    return np.asarray(abs(matrix).max(axis=1).toarray()).reshape(-1)


def _root(part: SecondOrderCone | SemidefiniteBlock, dual: Array) -> _Root:
    return (
        _ConeRoot(part, dual) if isinstance(part, SecondOrderCone) else _MatrixRoot(part.size, dual)
    )


class _Root(Protocol):
    """The root of the measure of a cone's or a matrix's multiplier."""

    def times(self, V: Array) -> Array:
        """Return W^(1/2) V for columns V of the constraint, in coordinates with W symmetric."""

    def back(self, w: Array) -> Array:
        """Return W^(1/2) w as a move of the multiplier."""


class _MatrixRoot:
    """S -> Z^(1/2) S Z^(1/2), on packed entries times the roots of their weights."""

    def __init__(self, size: int, packed: Array) -> None:
        self._size, self._scale = size, np.sqrt(triangle_weights(size))
        values, vectors = np.linalg.eigh(unpack_symmetric(packed, size))
        self._root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T

    def times(self, V: Array) -> Array:
        inner = self._root @ unpack_symmetric(V.T, self._size) @ self._root
        return np.asarray(pack_symmetric(inner).T * self._scale[:, None])

    def back(self, w: Array) -> Array:
        return self.times((w / self._scale)[:, None])[:, 0] / self._scale


class _ConeRoot:
    """The root of P(u): eigenvalues a b, a and b = u_0 +- ||u_1||, and along the frame a and b."""

    def __init__(self, cone: SecondOrderCone, u: Array) -> None:
        self._turn = np.eye(cone.dimension)
        if cone.rotated:
            self._turn[:2, :2] = np.array([[1.0, 1.0], [1.0, -1.0]]) / np.sqrt(2.0)
        turned = self._turn @ u
        norm = float(np.linalg.norm(turned[1:]))
        axis = turned[1:] / norm if norm > 0.0 else np.eye(cone.dimension)[1:, 1:2].ravel()
        plus, minus = max(turned[0] + norm, 0.0), max(turned[0] - norm, 0.0)
        self._middle = np.sqrt(plus * minus)
        self._ends = plus - self._middle, minus - self._middle
        self._frame = [np.append(1.0, sign * axis) / np.sqrt(2.0) for sign in (1.0, -1.0)]

    def times(self, V: Array) -> Array:
        W = self._turn @ V
        found = self._middle * W
        for end, e in zip(self._ends, self._frame, strict=True):
            found = found + end * np.outer(e, e @ W)
        return np.asarray(self._turn @ found)

    def back(self, w: Array) -> Array:
        return self.times(w[:, None])[:, 0]
