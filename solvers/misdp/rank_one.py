r"""Points of rank one: what semidefinite blocks that must be single outer products still lack.

The sum of all eigenvalues of M but the largest is :math:`\langle I - vv', M\rangle` with v the
leading eigenvector. Adding it to the costs, with v from the last solution, and solving again lowers
it from step to step (convex iteration; Dattorro 2005). With a large weight on the costs the
solution stays on the optimal face of the relaxation, so that what is found there is optimal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sparseopt.backend import Control
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import SemidefiniteBlock, pack_symmetric
from sparseopt.problems.misdp.problem import MISDP

from .settings import RANK_STARTS, RANK_STEPS, RANK_WEIGHTS, RANK_ZERO

if TYPE_CHECKING:
    from .bounding import Box, ConicBounding

__all__ = ["lower_rank", "ranked_blocks", "second_eigenvalue"]


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


def second_eigenvalue(matrix: Array) -> float:
    """Return the second largest eigenvalue, relative to the largest entry or 1.

    Parameters
    ----------
    matrix : array of shape (s, s)
        Symmetric, s >= 2.

    Returns
    -------
    float
    """
    return float(np.linalg.eigvalsh(matrix)[-2]) / max(1.0, float(np.abs(matrix).max()))


def lower_rank(
    problem: MISDP,
    conic: ConicBounding,
    x: Array,
    box: Box,
    bound: float,
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
    control : Control
    """
    blocks = [problem.blocks[k] for k in ranked_blocks(problem)]
    if _missed(blocks, x) <= RANK_ZERO:
        return x
    costs = conic.form.costs
    scale = max(float(np.abs(costs).max()), 1e-12)
    random = np.random.default_rng(control.params.seed)
    best: Array | None = None
    for weight in RANK_WEIGHTS:
        for start in range(RANK_STARTS):
            vectors = [
                _leading(block.matrix(x)) if start == 0 else random.normal(size=block.size)
                for block in blocks
            ]
            found = _convex_concave(blocks, conic, weight * costs / scale, box, vectors, control)
            if found is not None and (best is None or costs @ found < costs @ best):
                best = found
            if control.limit() is not None:
                return best
            if best is not None and costs @ best <= bound + 1e-6 * max(1.0, abs(bound)):
                return best
        if best is not None:
            return best
    return best


def _convex_concave(
    blocks: list[SemidefiniteBlock],
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
        penalty = np.zeros(len(costs))
        for block, v in zip(blocks, vectors, strict=True):
            unit = v / np.linalg.norm(v)
            penalty += block.adjoint(pack_symmetric(np.eye(block.size) - np.outer(unit, unit)))
        x = conic.relax(box, np.inf, costs=costs + penalty).x
        if x is None:
            return None
        now = _missed(blocks, x)
        if now <= RANK_ZERO:
            return x
        if now > 0.99 * last:
            return None
        last = now
        vectors = [_leading(block.matrix(x)) for block in blocks]
    return None


def _missed(blocks: list[SemidefiniteBlock], x: Array) -> float:
    return max(second_eigenvalue(block.matrix(x)) for block in blocks)


def _leading(matrix: Array) -> Array:
    return np.asarray(np.linalg.eigh(matrix)[1][:, -1])
