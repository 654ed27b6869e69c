"""Rows by symmetry and boxes left out: the checker looks at each symmetry itself.

``symmetry_leaders`` (R,) are variables, ``symmetry_variables`` (R, n) and ``symmetry_lines``
(R, lines of all matrices) say where each symmetry moves variables and lines. ``images_lower,
images_upper`` (M, q) are boxes of the integers that no leaf covers, ``images_by`` (M,) which of the
symmetries ``images_variables`` (K, n) and ``images_lines`` (K, lines) takes each of them elsewhere.
What is to be seen, and why that is valid, is in :mod:`sparseopt.proofs.misdp_symmetry`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sparseopt.checking.evidence import Malformed
from sparseopt.checking.work import TooMuchWork, spend
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.problem import MISDP
from sparseopt.proofs.misdp_mirrors import halved, mirrors
from sparseopt.proofs.misdp_symmetry import SymmetryTest, ordered

_NAMES = ("symmetry_leaders", "symmetry_variables", "symmetry_lines")
_WORK = 1e8
"""Numbers that are compared, at most: some minutes."""


_COMPARED, _SECOND = 2e10, 1.5e-9
"""Ends of boxes that are compared, at most, and seconds of one: half a minute."""


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
    _look(problem, len(leaders))
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


def mirrored_problem(problem: MISDP, arrays: Mapping[str, Array], pool: bool = False) -> MISDP:
    """Return the problem with half of the range of each mirror's leader.

    ``mirror_leaders`` (R,) are integer variables, ``mirror_variables`` (R, n) and ``mirror_lines``
    (R, lines of all matrices) flags of what each mirror turns round
    (:mod:`sparseopt.proofs.misdp_mirrors`).

    Parameters
    ----------
    problem : MISDP
    arrays : mapping
        Those of the certificate; without mirrors it is the problem itself.
    pool : bool, default False
        Whether all points but some are asked for, whose images are others.

    Raises
    ------
    Malformed
    TooMuchWork
    """
    if not any(name.startswith("mirror_") for name in arrays):
        return problem
    if pool:
        raise Malformed("mirrors leave equivalent points out, and a pool is stated")
    leaders, turned, changed = (
        np.asarray(arrays.get(f"mirror_{name}")) for name in ("leaders", "variables", "lines")
    )
    n, S = len(problem.c), sum(block.size for block in problem.blocks)
    R = len(np.atleast_1d(leaders))
    shapes = ((leaders, (R,), "iu"), (turned, (R, n), "b"), (changed, (R, S), "b"))
    if any(a.shape != shape or a.dtype.kind not in kinds for a, shape, kinds in shapes):
        raise Malformed("the arrays of mirrors do not fit")
    if ((leaders < 0) | (leaders >= n)).any() or not problem.integer[leaders].all():
        raise Malformed("mirror_leaders does not name integer variables")
    _look(problem, R)
    for k, f in enumerate(leaders.tolist()):
        if not mirrors(problem, turned[k], changed[k]):
            raise Malformed("what a mirror turns round does not stay as it is")
        if not turned[k, f] or not np.isfinite(problem.lower[f]):
            raise Malformed("a mirror does not turn its leader round")
        if any(turned[k, leaders[:k]]):
            raise Malformed("a mirror turns a leader before its own round")
    return halved(problem, leaders)


def left_out(
    problem: MISDP, arrays: Mapping[str, Array], pool: bool = False
) -> tuple[Array, Array] | None:
    """Return the boxes of integers that symmetries take elsewhere: ends of shape (M, q).

    Parameters
    ----------
    problem : MISDP
        What the leaves are about, rows by symmetry included.
    arrays : mapping
        Those of the certificate; None is returned where they name no images.
    pool : bool, default False
        Whether all points but some are asked for, whose images are others.

    Raises
    ------
    Malformed
        Where the arrays are no such thing, what they move is not the same afterwards, or the image
        of a box meets it or one after it.
    TooMuchWork
    """
    if not any(name.startswith("images_") for name in arrays):
        return None
    if pool:
        raise Malformed("boxes with images elsewhere are left out, and a pool is stated")
    lower, upper, by, variables, lines = _images(problem, arrays)
    (M, q), K = lower.shape, len(variables)
    _look(problem, K, 0.5 * M * M * q)
    test = SymmetryTest(problem)
    if not all(test.holds(*move) for move in zip(variables, lines, strict=True)):
        raise Malformed("what images_variables and images_lines move does not stay as it is")
    moves = (np.cumsum(problem.integer) - 1)[variables[:, problem.integer]]
    for k in range(M):
        low, high = np.empty(q), np.empty(q)
        low[moves[by[k]]], high[moves[by[k]]] = lower[k], upper[k]
        apart = (low > upper[k:]).any(axis=1) | (high < lower[k:]).any(axis=1)
        if not apart.all():
            other = k + int(np.argmin(apart))
            raise Malformed(f"the image of box {k} that is left out meets box {other}")
    return lower, upper


def _images(
    problem: MISDP, arrays: Mapping[str, Array]
) -> tuple[Array, Array, Array, Array, Array]:
    """Return lower, upper, by, variables and lines, checked for types and shapes."""
    n, S, q = len(problem.c), sum(b.size for b in problem.blocks), int(problem.integer.sum())
    lower, upper, by, variables, lines = (
        np.asarray(arrays.get(f"images_{name}"))
        for name in ("lower", "upper", "by", "variables", "lines")
    )
    M, K = len(np.atleast_1d(by)), len(np.atleast_1d(variables))
    shapes = ((lower, (M, q)), (upper, (M, q)), (by, (M,)), (variables, (K, n)), (lines, (K, S)))
    for (array, shape), kinds in zip(shapes, ("iuf", "iuf", "iu", "iu", "iu"), strict=True):
        if array.dtype.kind not in kinds or array.shape != shape:
            raise Malformed(f"the arrays of images do not fit: {array.dtype} of {array.shape}")
    if ((by < 0) | (by >= K)).any() or np.isnan(lower).any() or np.isnan(upper).any():
        raise Malformed("images_by does not name symmetries, or a box has the end NaN")
    return np.ceil(lower), np.floor(upper), by, variables.astype(int), lines.astype(int)


def _look(problem: MISDP, symmetries: int, compared: float = 0.0) -> None:
    """Raise where so many symmetries, or ends of boxes to compare, are too much work."""
    size = len(problem.c) + problem.A.nnz
    size += sum(block.F.nnz + len(block.F0) for block in problem.blocks)
    if symmetries * size > _WORK:
        raise TooMuchWork(f"{symmetries} symmetries of {size} numbers are too many to look at")
    spend(_SECOND * compared)
    if compared > _COMPARED:
        raise TooMuchWork("the boxes that are left out are too many to compare")
