"""Rows by symmetry that a certificate adds: the checker looks at each symmetry itself.

``symmetry_leaders`` (R,) are variables, ``symmetry_variables`` (R, n) and ``symmetry_lines``
(R, lines of all matrices) say where each symmetry moves variables and lines. What is to be seen,
and why the rows are valid, is in :mod:`sparseopt.proofs.misdp_symmetry`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sparseopt.checking.evidence import Malformed
from sparseopt.checking.work import TooMuchWork
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.problem import MISDP
from sparseopt.proofs.misdp_symmetry import SymmetryTest, ordered

_NAMES = ("symmetry_leaders", "symmetry_variables", "symmetry_lines")
_WORK = 1e8
"""Numbers that are compared, at most: some minutes."""


def ordered_problem(problem: MISDP, arrays: Mapping[str, Array], pool: bool = False) -> MISDP:
    """Return the problem with the rows that the symmetries of a certificate give.

    Parameters
    ----------
    problem : MISDP
    arrays : mapping
        Those of the certificate; without symmetries it is the problem itself.
    pool : bool, default False
        Whether all points but some are asked for, whose images are others.

    Raises
    ------
    Malformed
        Where the arrays are no such thing, or what they move is not the same afterwards.
    TooMuchWork
    """
    if not any(name in arrays for name in _NAMES):
        return problem
    if pool:
        raise Malformed("rows by symmetry leave equivalent points out, and a pool is stated")
    leaders, variables, lines = (np.asarray(arrays.get(name)) for name in _NAMES)
    n, S = len(problem.c), sum(block.size for block in problem.blocks)
    for name, array, shape in zip(
        _NAMES, (leaders, variables, lines), ((), (n,), (S,)), strict=True
    ):
        if array.dtype.kind not in "iu" or array.shape != (len(np.atleast_1d(leaders)), *shape):
            raise Malformed(f"{name} must hold integers of shape (R, {', '.join(map(str, shape))})")
    leaders, variables, lines = (part.astype(np.int64) for part in (leaders, variables, lines))
    if ((leaders < 0) | (leaders >= n)).any():
        raise Malformed("symmetry_leaders does not name variables")
    size = n + problem.A.nnz + sum(block.F.nnz + len(block.F0) for block in problem.blocks)
    if len(leaders) * size > _WORK:
        raise TooMuchWork(f"{len(leaders)} symmetries of {size} numbers are too many to look at")
    test = SymmetryTest(problem)
    before: list[int] = []
    for leader, moved, turned in zip(leaders.tolist(), variables, lines, strict=True):
        if not test.holds(moved, turned):
            raise Malformed(
                "what symmetry_variables and symmetry_lines move does not stay as it is"
            )
        if any(moved[f] != f for f in before if f != leader):
            raise Malformed("a symmetry moves a leader before its own")
        if leader not in before:
            before.append(leader)
    return ordered(problem, leaders, variables)
