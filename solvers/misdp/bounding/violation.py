"""The constraint that a point misses most, as multipliers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import pack_symmetric
from sparseopt.problems.misdp.problem import MISDP

from ..bounds import ConicMultipliers


def violated_constraint(
    problem: MISDP,
    x: Array,
    rows: Array | None = None,
    cones: Sequence[int] | None = None,
    blocks: Sequence[int] | None = None,
) -> ConicMultipliers | None:
    """Return multipliers of the constraint that x misses most, None where it misses none.

    Parameters
    ----------
    problem : MISDP
    x : array of shape (n,)
    rows, cones, blocks : sequences of int, optional
        Which to look at, by default all.
    """
    worst, found = 0.0, None
    lengths = [
        problem.A.shape[0],
        sum(cone.dimension for cone in problem.cones),
        sum(block.dimension for block in problem.blocks),
    ]

    def unit(part: int, places: Array, values: Array) -> ConicMultipliers:
        arrays = [np.zeros((1, length)) for length in lengths]
        arrays[part][0, places] = values
        return ConicMultipliers(*arrays)

    chosen = np.arange(lengths[0]) if rows is None else rows
    if len(chosen):
        activity = problem.A[chosen] @ x
        below = problem.row_lower[chosen] - activity
        above = activity - problem.row_upper[chosen]
        i = int(np.argmax(np.maximum(below, above)))
        if max(below[i], above[i]) > worst:
            worst = float(max(below[i], above[i]))
            found = unit(0, chosen[i : i + 1], np.array([1.0 if below[i] > above[i] else -1.0]))
    begin = 0
    for k, cone in enumerate(problem.cones):
        here = begin + np.arange(cone.dimension)
        begin += cone.dimension
        if cones is not None and k not in cones:
            continue
        u = cone.value(x)
        missed = cone.violation(u)
        if missed > worst:
            worst, found = missed, unit(1, here, cone_normal(u, cone.rotated))
    begin = 0
    for k, block in enumerate(problem.blocks):
        here = begin + np.arange(block.dimension)
        begin += block.dimension
        if blocks is not None and k not in blocks:
            continue
        values, vectors = np.linalg.eigh(block.matrix(x))
        if -values[0] > worst:
            v = vectors[:, 0]
            worst, found = -float(values[0]), unit(2, here, pack_symmetric(np.outer(v, v)))
    return found


def cone_normal(u: Array, rotated: bool) -> Array:
    """Return z in the cone whose product with u is the (negative) amount that u misses it by.

    Parameters
    ----------
    u : array of shape (k,)
    rotated : bool
        Whether the cone is 2 u_0 u_1 >= ||u_2||^2, else u_0 >= ||u_1||.

    Returns
    -------
    array of shape (k,)
    """
    if rotated:
        half = np.sqrt(0.5)
        turned = np.array([(u[0] + u[1]) * half, (u[0] - u[1]) * half, *u[2:]])
        z = cone_normal(turned, False)
        return np.array([(z[0] + z[1]) * half, (z[0] - z[1]) * half, *z[2:]])
    tail = np.linalg.norm(u[1:])
    return np.append(1.0, -u[1:] / tail if tail > 0.0 else np.zeros(len(u) - 1))
