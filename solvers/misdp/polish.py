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
from .settings import POLISH_GROWTH, POLISH_LARGEST, POLISH_NOISE, POLISH_ROUNDS


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
    return ConicMultipliers(y[None], z[None], Z[None])


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
    """Return the multipliers after the smallest move that takes r away from the columns J."""
    equal = problem.row_lower == problem.row_upper
    free = max(1.0, float(np.abs(y).max(initial=0.0)))
    weight = np.where(equal, free**2, y**2)
    A = _columns(problem.A, J)
    moves = [weight[:, None] * A]
    gram = A.T @ moves[0]
    begin = 0
    for cone in problem.cones:
        u = z[begin : begin + cone.dimension]
        V = _columns(cone.F, J)
        moves.append(_quadratic(cone, u, V))
        gram += V.T @ moves[-1]
        begin += cone.dimension
    first = 1 + len(problem.cones)
    begin = 0
    for block in problem.blocks:
        weights = triangle_weights(block.size)
        matrix = unpack_symmetric(Z[begin : begin + block.dimension], block.size)
        V = _columns(block.F, J)
        moves.append(pack_symmetric(matrix @ unpack_symmetric(V.T, block.size) @ matrix).T)
        gram += V.T @ (weights[:, None] * moves[-1])
        begin += block.dimension
    # Equilibrated, so that a column of small entries is not taken for one that cannot be moved.
    scale = 1.0 / np.sqrt(np.maximum(np.diagonal(gram), np.finfo(float).tiny))
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = gram * scale[:, None] * scale
    if not np.isfinite(scaled).all():
        return y, z, Z
    mu = scale * np.linalg.lstsq(scaled, scale * r, rcond=1e-13)[0]
    if not np.isfinite(mu).all():
        return y, z, Z
    change = [move @ mu for move in moves]
    return (
        y + change[0],
        z + np.concatenate([np.zeros(0), *change[1:first]]),
        Z + np.concatenate([np.zeros(0), *change[first:]]),
    )


def _columns(matrix: sp.csr_array, J: Array) -> Array:
    return np.asarray(matrix[:, J].toarray())


def _quadratic(cone: SecondOrderCone, u: Array, V: Array) -> Array:
    """Return P(u) V with P(u) = 2 u u' - det(u) J, J = diag(1, -1, ..., -1), for the plain cone."""
    turn = np.eye(cone.dimension)
    if cone.rotated:
        turn[:2, :2] = np.array([[1.0, 1.0], [1.0, -1.0]]) / np.sqrt(2.0)
    w, W = turn @ u, turn @ V
    determinant = w[0] ** 2 - w[1:] @ w[1:]
    mirrored = np.concatenate([W[:1], -W[1:]])
    return np.asarray(turn @ (2.0 * np.outer(w, w @ W) - determinant * mirrored))
