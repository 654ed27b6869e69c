r"""Mirrors of a MISDP, which turn variables round: found in GF(2), and half of a range cut off.

Whether a variable is turned round, and a line's sign changed, are unknown bits; that an entry of a
matrix stays is an equation :math:`\rho_j + \sigma_r + \sigma_s = 0`, that a row has either all of
its variables turned or none, are equations, too. All mirrors are the solutions. What they are for
is in :mod:`sparseopt.proofs.misdp_mirrors`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import triangle
from sparseopt.problems.misdp.problem import MISDP
from sparseopt.proofs.misdp_mirrors import halved, mirrors
from sparseopt.result import Result

from ..settings import SYMMETRY_ENTRIES
from .merging import Merged


class Mirrored:
    """A merged problem with half the range of some integers, and the way back.

    Parameters
    ----------
    merged : Merged
    leaders : int array of shape (R,)
    turned, changed : bool arrays of shapes (R, n) and (R, lines)
        The mirrors of :mod:`sparseopt.proofs.misdp_mirrors`.

    Attributes
    ----------
    problem : MISDP
    """

    def __init__(self, merged: Merged, leaders: Array, turned: Array, changed: Array) -> None:
        self._merged = merged
        self._leaders, self._turned, self._changed = leaders, turned, changed
        self.problem = halved(merged.problem, leaders) if len(leaders) else merged.problem

    def down(self, x: Array) -> Array:
        """Return a point of the given problem, or its image, in this one; NaN is not known."""
        x = self._merged.down(x)
        total = _totals(self._merged.problem)
        for f, turned in zip(self._leaders.tolist(), self._turned, strict=True):
            if x[f] < 0.5 * total[f]:
                x = np.where(turned, total - x, x)
        return x

    def up(self, x: Array) -> Array:
        """Return a point of this problem, whose integers are integral, in the given one."""
        return self._merged.up(x)

    def answer(self, result: Result) -> Result:
        """Return a result of this problem as one of the given problem."""
        certificate = result.certificate
        if len(self._leaders) and certificate is not None:
            arrays = {
                **certificate.arrays,
                "mirror_leaders": self._leaders,
                "mirror_variables": self._turned,
                "mirror_lines": self._changed,
            }
            result = result.with_changes(certificate=replace(certificate, arrays=arrays))
        return self._merged.answer(result)


def mirror(merged: Merged) -> Mirrored:
    """Return a merged problem with half the range of one integer for each mirror.

    Parameters
    ----------
    merged : Merged

    Notes
    -----
    O(nnz) where each integer has costs or an entry on a diagonal.
    """
    problem = merged.problem
    n, S = len(problem.c), sum(block.size for block in problem.blocks)
    leaders: list[int] = []
    found: list[Array] = []
    if _may_turn(problem).any():
        space = [bits for bits in _solutions(_equations(problem), n + S) if bits.any()]
        candidates = np.flatnonzero(problem.integer & (problem.lower < problem.upper))
        for f in candidates.tolist():
            own = next((k for k, bits in enumerate(space) if bits[f]), None)
            if own is None:
                continue
            first = space.pop(own)
            space = [bits ^ first if bits[f] else bits for bits in space]
            if mirrors(problem, first[:n], first[n:]):
                leaders.append(f)
                found.append(first)
    table = np.array(found, dtype=bool).reshape(len(found), n + S)
    return Mirrored(merged, np.array(leaders, dtype=np.int64), table[:, :n], table[:, n:])


def _totals(problem: MISDP) -> Array:
    """Return l + u, 0 without both of them."""
    ends = np.array([problem.lower, problem.upper])
    return np.asarray(np.where(np.isfinite(ends).all(axis=0), ends, 0.0).sum(axis=0))


def _may_turn(problem: MISDP) -> Array:
    """Return the integers that costs, bounds and diagonals allow to be turned round."""
    if problem.cones or problem.indicators or problem.Q is not None:
        return np.zeros_like(problem.integer)
    entries = problem.A.nnz + sum(block.F.nnz for block in problem.blocks)
    may = problem.integer & (problem.c == 0.0) & (problem.lower < problem.upper)
    may &= np.isfinite(problem.lower) & np.isfinite(problem.upper)
    if entries > SYMMETRY_ENTRIES or any(block.rank_one for block in problem.blocks):
        may[:] = False
    for block in problem.blocks:
        r, c = triangle(block.size)
        may[sp.csr_array(block.F)[np.flatnonzero(r == c)].indices] = False
    return np.asarray(may)


def _equations(problem: MISDP) -> Iterator[int]:
    """Yield the sets of bits, as integers, whose sum is zero."""
    n, low, high = len(problem.c), problem.lower, problem.upper
    fixed = (problem.c != 0.0) | (np.isinf(low) != np.isinf(high))
    for j in np.flatnonzero(fixed).tolist():
        yield 1 << j
    total = _totals(problem)
    A = sp.csr_array(problem.A)
    with np.errstate(invalid="ignore"):
        off = problem.row_lower + problem.row_upper - A @ total
    both = np.isinf(problem.row_lower) & np.isinf(problem.row_upper)
    for i in range(A.shape[0]):
        members = A.indices[A.indptr[i] : A.indptr[i + 1]].tolist()
        if len(members) and (both[i] or off[i] == 0.0):
            yield from (1 << members[0] ^ 1 << j for j in members[1:])
        else:
            yield from (1 << j for j in members)
    begin = n
    for block in problem.blocks:
        r, c = triangle(block.size)
        F = sp.coo_array(block.F)
        for j, e in zip(F.col.tolist(), F.row.tolist(), strict=True):
            yield 1 << j ^ 1 << begin + int(r[e]) ^ 1 << begin + int(c[e])
        for e in np.flatnonzero(2.0 * block.F0 + block.F @ total).tolist():
            yield 1 << begin + int(r[e]) ^ 1 << begin + int(c[e])
        begin += block.size


def _solutions(equations: Iterator[int], size: int) -> list[Array]:
    """Return a basis of the bits that solve all equations, by elimination."""
    rows: dict[int, int] = {}
    for equation in equations:
        while equation:
            top = equation.bit_length() - 1
            if top not in rows:
                rows[top] = equation
                break
            equation ^= rows[top]
    basis = []
    for free in (k for k in range(size) if k not in rows):
        bits = 1 << free
        for top in sorted(rows):
            # The bits below the top are known, and decide it.
            if (rows[top] & bits).bit_count() % 2:
                bits ^= 1 << top
        basis.append(np.array([bits >> k & 1 for k in range(size)], dtype=bool))
    return basis
