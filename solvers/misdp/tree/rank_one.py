r"""Points of rank one: what semidefinite blocks that must be single outer products still lack.

The sum of all eigenvalues of M but the largest is :math:`\langle I - vv', M\rangle` with v the
leading eigenvector. Adding it to the costs, with v from the last solution, and solving again lowers
it from step to step (convex iteration; Dattorro 2005). With a large weight on the costs the
solution stays on the optimal face of the relaxation, so that what is found there is optimal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from sparseopt.backend import Control
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import pack_symmetric, triangle_weights, unpack_symmetric
from sparseopt.problems.misdp.problem import MISDP

from ..settings import RANK_STARTS, RANK_STEPS, RANK_WEIGHTS, RANK_ZERO

if TYPE_CHECKING:
    from ..bounding.lower_bounds import Box, ConicBounding

__all__ = ["lower_rank", "ranked_blocks"]


def ranked_blocks(problem: MISDP) -> list[int]:
    """Return the blocks that must have rank one.

    Parameters
    ----------
    problem : MISDP

    Returns
    -------
    list of int
        Without the blocks of order 1.
    """
    return [k for k, block in enumerate(problem.blocks) if block.rank_one and block.size > 1]


def lower_rank(
    problem: MISDP,
    conic: ConicBounding,
    x: Array,
    box: Box,
    bound: float,
    value: float,
    control: Control,
) -> Array | None:
    """Return a point of rank one in the box, cheap if possible; None where none is found.

    Parameters
    ----------
    problem : MISDP
    conic : ConicBounding
    x : array of shape (n,)
        A solution of the relaxation.
    box : tuple of arrays
        Integers fixed.
    bound : float
        Nothing in the box costs less: a point at this value ends the search.
    value : float
        Costs of the incumbent; where it is that good, there is no search.
    control : Control
    """
    blocks = _RankedBlocks(problem)
    missed, leading = blocks.leading(x)
    if missed <= RANK_ZERO:
        return x
    enough = bound + 1e-6 * max(1.0, abs(bound))
    if value <= enough:
        return None
    costs = conic.form.costs
    scale = max(float(np.abs(costs).max()), 1e-12)
    random = np.random.default_rng(control.params.seed)
    best: Array | None = None
    for weight in RANK_WEIGHTS:
        for start in range(RANK_STARTS):
            vectors = [random.normal(size=size) for size in blocks.sizes] if start else leading
            found = _convex_concave(blocks, conic, weight * costs / scale, box, vectors, control)
            if found is not None and (best is None or costs @ found < costs @ best):
                best = found
            if control.limit() is not None:
                return best
            if best is not None and costs @ best <= enough:
                return best
        if best is not None:
            return best
    return best


class _RankedBlocks:
    """The matrices that must have rank one, below each other.

    Parameters
    ----------
    problem : MISDP
    """

    def __init__(self, problem: MISDP) -> None:
        blocks = [problem.blocks[k] for k in ranked_blocks(problem)]
        self.sizes = [block.size for block in blocks]
        self._ends = np.cumsum([block.dimension for block in blocks])[:-1]
        self._F = sp.csr_array(sp.vstack([block.F for block in blocks], format="csr"))
        self._F0 = np.concatenate([block.F0 for block in blocks])
        self._adjoint = sp.csr_array(self._F.T)

    def leading(self, x: Array) -> tuple[float, list[Array]]:
        """Return the largest second eigenvalue, relative, and the leading eigenvectors."""
        packed = np.split(self._F @ x + self._F0, self._ends)
        missed, vectors = 0.0, []
        for part, size in zip(packed, self.sizes, strict=True):
            matrix = unpack_symmetric(part, size)
            values, columns = np.linalg.eigh(matrix)
            missed = max(missed, float(values[-2]) / max(1.0, float(np.abs(matrix).max())))
            vectors.append(columns[:, -1])
        return missed, vectors

    def penalty(self, vectors: list[Array]) -> Array:
        """Return the costs of the sum of <I - vv', M(x)> over all matrices, v of any length."""
        parts = []
        for v, size in zip(vectors, self.sizes, strict=True):
            beside = np.eye(size) - np.outer(v, v) / (v @ v)
            parts.append(triangle_weights(size) * pack_symmetric(beside))
        return np.asarray(self._adjoint @ np.concatenate(parts))


def _convex_concave(
    blocks: _RankedBlocks,
    conic: ConicBounding,
    costs: Array,
    box: Box,
    vectors: list[Array],
    control: Control,
) -> Array | None:
    r"""Minimise c'x + sum_b (tr M_b - lambda_1(M_b)) by linearising its concave part.

    With v_b the leading eigenvector of the last matrix the next point minimises
    :math:`c'x + \sum_b \langle I - v_b v_b', M_b(x)\rangle`.

    Returns
    -------
    array of shape (n,) or None
        A point of rank one, None where the sequence ends at another one.
    """
    last = np.inf
    for _ in range(RANK_STEPS):
        if control.limit() is not None:
            return None
        x = conic.relax(box, np.inf, costs=costs + blocks.penalty(vectors)).x
        if x is None:
            return None
        now, vectors = blocks.leading(x)
        if now <= RANK_ZERO:
            return x
        if now > 0.99 * last:
            return None
        last = now
    return None
