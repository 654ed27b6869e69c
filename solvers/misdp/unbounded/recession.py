r"""Curves x + s r + s^2 b along which a MISDP stays feasible for all s >= 0.

Along a ray all constraints stay met at a rate of their own; some problems improve without end along
no ray, as the largest k with :math:`k^2 \le t` does. There

- a row and a bound stay met where r and b are directions that never leave it,
- a matrix :math:`Q(s) = M(x) + s M'(r) + s^2 M'(b)` stays semidefinite where there is a B with

.. math:: \begin{pmatrix} M(x) & B \\ B' & M'(b) \end{pmatrix} \succeq 0, \qquad
          M'(r) - B - B' \succeq 0,

since then :math:`Q(s) = (I, s I) (\cdot) (I, s I)' + s (M'(r) - B - B')`. M' is M without its
constant. Second-order cones are written as matrices for it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import (
    SecondOrderCone,
    SemidefiniteBlock,
    triangle,
    unpack_symmetric,
)
from sparseopt.problems.misdp.problem import MISDP

from ..settings import CURVE_ZERO


def recession(problem: MISDP) -> MISDP:
    """Return the problem of the directions that never leave the constraints.

    Integers and ranks are left out.

    Parameters
    ----------
    problem : MISDP

    Returns
    -------
    MISDP
    """

    def closed(ends: Array, toward: float) -> Array:
        return np.where(np.isinf(ends), toward * np.inf, 0.0)

    return problem.with_changes(
        row_lower=closed(problem.row_lower, -1.0),
        row_upper=closed(problem.row_upper, 1.0),
        lower=closed(problem.lower, -1.0),
        upper=closed(problem.upper, 1.0),
        integer=None,
        offset=0.0,
        cones=[replace(cone, g=None) for cone in problem.cones],
        blocks=[replace(block, F0=None, rank_one=False) for block in problem.blocks],
    )


def with_cones_as_matrices(problem: MISDP) -> MISDP:
    """Return the same problem with a matrix for each second-order cone, before the others.

    Parameters
    ----------
    problem : MISDP

    Returns
    -------
    MISDP
    """
    arrows = [_arrow(cone) for cone in problem.cones]
    return problem.with_changes(cones=(), blocks=[*arrows, *problem.blocks])


def _arrow(cone: SecondOrderCone) -> SemidefiniteBlock:
    """Return [[u_0, w'], [w, u_0 I]] for a plain cone, [[2 u_0, w'], [w, u_1 I]] for a rotated one.

    All coefficients are whole, so that the matrix is exact where the cone is.
    """
    begin, top = (2, 2.0) if cone.rotated else (1, 1.0)
    size = max(1, cone.dimension - begin + 1)
    rows, columns = triangle(size)
    entries = np.arange(len(rows))
    first = columns == 0
    head, corner = entries[first & (rows == 0)], entries[(rows == columns) & (rows > 0)]
    tail = entries[first & (rows > 0)]
    places = np.concatenate([head, corner, tail])
    taken = [np.zeros(1), np.full(len(corner), begin - 1.0), begin + np.arange(len(tail))]
    values = np.concatenate([[top], np.ones(len(corner) + len(tail))])
    if cone.rotated and not len(corner):
        # Without a tail only the signs are left.
        size, places, taken = 2, np.array([0, 2]), [np.array([0, 1])]
        entries, values = np.arange(3), np.array([top, 1.0])
    shape = (len(entries), cone.dimension)
    T = sp.csr_array((values, (places, np.concatenate(taken).astype(int))), shape=shape)
    return SemidefiniteBlock(T @ cone.F, T @ cone.g, size)


def curve_residuals(
    problem: MISDP, x: Array, ray: Array, bend: Array, cross: Array
) -> dict[str, float]:
    """Return how far the conditions above are missed, relative to the size of the terms.

    Parameters
    ----------
    problem : MISDP
    x, ray, bend : array of shape (n,)
    cross : array of shape (sum s^2,)
        The matrices B, row by row, of the second-order cones and then of the blocks.

    Returns
    -------
    dict
        "ray", "bend" (rows and bounds), "matrices", "slopes" (the smallest eigenvalues), "range"
        (what B has beside the range of M'(b)).
    """
    # The unit of s is free: with a ray of length 1 nothing is small by the choice of that unit.
    unit = float(np.abs(ray).max(initial=0.0)) or 1.0
    ray, bend, cross = ray / unit, bend / unit**2, cross / unit
    plain = with_cones_as_matrices(problem)
    directions = recession(plain)
    found = {"matrices": 0.0, "slopes": 0.0, "range": 0.0}
    for name, direction in (("ray", ray), ("bend", bend)):
        size = float(np.abs(direction).max(initial=0.0)) or 1.0
        linear = directions.with_changes(blocks=()).residuals(direction / size)
        found[name] = max(linear.values())
    begin = 0
    for block in plain.blocks:
        s = block.size
        B = cross[begin : begin + s * s].reshape(s, s)
        begin += s * s
        at = block.matrix(x)
        slope, last = (unpack_symmetric(block.F @ d, s) for d in (ray, bend))
        # Each half of the matrix is measured by its own size.
        largest = float(np.abs(block.F).max()) or 1.0
        first = float(max(np.abs(at).max(), np.abs(block.F0).max())) or 1.0
        second = float(max(np.abs(last).max(), largest * np.abs(bend).max())) or largest
        beside = B / np.sqrt(first * second)
        whole = np.block([[at / first, beside], [beside.T, last / second]])
        found["matrices"] = max(found["matrices"], -float(np.linalg.eigvalsh(whole)[0]))
        # Where M'(b) is zero an entry of B may be the root of what eigenvalues are allowed to miss.
        values, vectors = np.linalg.eigh(last)
        beyond = B @ vectors[:, values <= CURVE_ZERO * largest * float(np.abs(bend).max())]
        found["range"] = max(found["range"], float(np.abs(beyond).max(initial=0.0)) / largest)
        rest = slope - B - B.T
        size = max(float(np.abs(slope).max()), 2.0 * float(np.abs(B).max())) or 1.0
        found["slopes"] = max(found["slopes"], -float(np.linalg.eigvalsh(rest)[0]) / size)
    return found
