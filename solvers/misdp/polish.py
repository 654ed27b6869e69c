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

from typing import Protocol

import numpy as np
import scipy.sparse as sp

from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import (
    SecondOrderCone,
    matrix_variable,
    pack_symmetric,
    triangle_weights,
    unpack_symmetric,
)
from sparseopt.problems.misdp.problem import MISDP

from .bounds import ConicMultipliers
from .settings import (
    POLISH_GROWTH,
    POLISH_LARGEST,
    POLISH_NOISE,
    POLISH_RANK,
    POLISH_ROUNDS,
    POLISH_TRACE,
)


def improved_multipliers(
    problem: MISDP,
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
    problem : MISDP
    lower, upper : array of shape (n,)
        Bounds of the variables in the box, as tight as they are known.
    rows, cones, psd : arrays
        The multipliers, as vectors; see :class:`~sparseopt.solvers.misdp.bounds.ConicMultipliers`.
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
    sign = 1.0 if problem.sense == "min" else -1.0
    costs = np.zeros(len(problem.c)) if infeasible else sign * problem.c
    own = np.zeros(len(costs), dtype=bool)
    for block in problem.blocks:
        columns = matrix_variable(block)
        if columns is not None:
            own[columns] = True
    y = np.where(
        np.where(rows > 0.0, np.isinf(problem.row_lower), np.isinf(problem.row_upper)), 0.0, rows
    )
    y, z, Z = _without_noise(problem, costs, y, np.array(cones, float), np.array(psd, float))
    chosen = np.isinf(lower) & np.isinf(upper) & ~own
    # Squares of what is larger overflow.
    for _ in range(POLISH_ROUNDS if _largest(y, z, Z) < POLISH_LARGEST else 0):
        r = _reduced(problem, costs, y, z, Z)
        size = np.abs(costs) + abs(problem.A.T) @ np.abs(y)
        missing = ~own & np.where(r > 0.0, np.isinf(lower), np.isinf(upper))
        chosen |= missing & (np.abs(r) > 1e-14 * size)
        J = np.flatnonzero(chosen)
        if not len(J) or not np.abs(r[J]).any():
            break
        moved = _moved(problem, J, r[J], y, z, Z)
        if not _largest(*moved) <= POLISH_GROWTH * _largest(y, z, Z):
            break
        y, z, Z = moved
    return ConicMultipliers(*_without_traces(problem, y, z, Z))


def _largest(*vectors: Array) -> float:
    return max(float(np.abs(vector).max(initial=0.0)) for vector in vectors)


def _without_noise(
    problem: MISDP, costs: Array, y: Array, z: Array, Z: Array
) -> tuple[Array, Array, Array]:
    """Return the multipliers without those rows, cones and matrices that hardly matter."""
    sizes = np.abs(y) * _largest_entries(problem.A)
    parts: list[tuple[Array, slice, float]] = []
    for given, shapes in ((z, problem.cones), (Z, problem.blocks)):
        begin = 0
        for shape in shapes:
            here = slice(begin, begin + shape.dimension)
            terms = np.abs(given[here]) * _largest_entries(shape.F)
            parts.append((given, here, float(terms.max(initial=0.0))))
            begin += shape.dimension
    top = max(
        float(sizes.max(initial=0.0)),
        float(np.abs(costs).max()),
        *(size for *_, size in parts),
        0.0,
    )
    y = np.where(sizes <= POLISH_NOISE * top, 0.0, y)
    for given, here, size in parts:
        if size <= POLISH_NOISE * top:
            given[here] = 0.0
    return y, z, Z


def _without_traces(problem: MISDP, y: Array, z: Array, Z: Array) -> tuple[Array, Array, Array]:
    """Return the multipliers, (1, length) each, with zeros for what stands for a zero.

    Where constraints hold a variable without ends alone, or several of them as many entries, the
    multipliers of these must be exactly zero.
    """
    sizes = np.abs(y) * _largest_entries(problem.A)
    top = max(float(sizes.max(initial=0.0)), float(np.abs(problem.c).max()))
    y = np.where(sizes <= POLISH_TRACE * top, 0.0, y)
    for given, shapes in ((z, problem.cones), (Z, problem.blocks)):
        begin = 0
        for shape in shapes:
            part = given[begin : begin + shape.dimension]
            begin += shape.dimension
            part[np.abs(part) <= POLISH_TRACE * _largest(part)] = 0.0
    return y[None], z[None], Z[None]


def _largest_entries(matrix: sp.csr_array) -> Array:
    """Return the largest absolute entry of each row."""
    if not matrix.nnz:
        return np.zeros(matrix.shape[0])
    return np.asarray(abs(matrix).max(axis=1).toarray()).reshape(-1)


def _reduced(problem: MISDP, costs: Array, y: Array, z: Array, Z: Array) -> Array:
    r = costs - problem.A.T @ y
    begin = 0
    for cone in problem.cones:
        r = r - cone.F.T @ z[begin : begin + cone.dimension]
        begin += cone.dimension
    begin = 0
    for block in problem.blocks:
        r = r - block.adjoint(Z[begin : begin + block.dimension])
        begin += block.dimension
    return np.asarray(r)


def _moved(
    problem: MISDP, J: Array, r: Array, y: Array, z: Array, Z: Array
) -> tuple[Array, Array, Array]:
    """Return the multipliers after the smallest move that takes r away from the columns J.

    With W the measure above and V = W^(1/2) F_J it is W^(1/2) times the shortest solution of
    V'w = r: what its precision loses is the condition of V, not that of V'V.
    """
    equal = problem.row_lower == problem.row_upper
    free = max(1.0, float(np.abs(y).max(initial=0.0)))
    weight = np.where(equal, free, np.abs(y))
    scaled = [weight[:, None] * _columns(problem.A, J)]
    roots: list[_Root] = []
    begin = 0
    for cone in problem.cones:
        roots.append(_ConeRoot(cone, z[begin : begin + cone.dimension]))
        begin += cone.dimension
    begin = 0
    for block in problem.blocks:
        roots.append(_MatrixRoot(block.size, Z[begin : begin + block.dimension]))
        begin += block.dimension
    parts = (*problem.cones, *problem.blocks)
    scaled += [root.times(_columns(p.F, J)) for p, root in zip(parts, roots, strict=True)]
    V = np.concatenate(scaled)
    # Equilibrated, so that a column of small entries is not taken for one that cannot be moved.
    norms = np.maximum(np.sqrt((V**2).sum(axis=0)), np.finfo(float).tiny)
    if not np.isfinite(V).all() or not np.isfinite(norms).all():
        return y, z, Z
    w = np.linalg.lstsq((V / norms).T, r / norms, rcond=POLISH_RANK)[0]
    if not np.isfinite(w).all():
        return y, z, Z
    ends = np.cumsum([len(part) for part in scaled])[:-1]
    first, *others = np.split(w, ends)
    change = [root.back(part) for root, part in zip(roots, others, strict=True)]
    k = len(problem.cones)
    return (
        y + weight * first,
        z + np.concatenate([np.zeros(0), *change[:k]]),
        Z + np.concatenate([np.zeros(0), *change[k:]]),
    )


def _columns(matrix: sp.csr_array, J: Array) -> Array:
    return np.asarray(matrix[:, J].toarray())


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
