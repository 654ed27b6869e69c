r"""Integer variables that a certificate merges into one: the checker's own arithmetic.

The array ``merged_into`` names for each integer variable the one whose place its multiple takes
(itself where it is not merged), ``merged_times`` the multiples t_j, whole and at least 1. Then
:math:`Y = \sum_j t_j x_j` stands in the place of the first one, whose multiple is 1.

Every feasible point of the problem gives one of the merged problem with the same objective, so that
a bound on that is a bound on this, if

- the column of each x_j is t_j times that of the first one, as floating-point numbers are
  multiplied, in the costs, the cones and the matrices. Rows where it is not are left out;
- Y has bounds that follow from those of the members, and from rows a'x <= b that have a > 0 on the
  members and no other entry: :math:`Y - t'l \le \max_j (t_j / a_j) (b - a'l)`. Where it has no
  largest value the multiples must be exact: no bound could be charged with their rounding.

That each value of Y is reached is not proven: what is only feasible for the merged problem makes a
bound worse, never false.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from sparseopt.checking.evidence import Malformed
from sparseopt.installed import Deferred
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.problem import MISDP

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = Deferred("scipy.sparse")

_LARGEST = 2.0**31
"""Multiples beyond this are not read."""
_OUT = 1e-9
"""What the largest value of a merged variable is moved outwards by before it is rounded, relative
to its size (at least 1)."""


def merged_problem(problem: MISDP, arrays: Mapping[str, Array]) -> MISDP:
    """Return the problem that the leaves of a certificate are about.

    Parameters
    ----------
    problem : MISDP
    arrays : mapping
        Those of the certificate; without ``merged_into`` it is the problem itself.

    Raises
    ------
    Malformed
        Where the arrays are no such thing, or the columns are no multiples.
    """
    if "merged_into" not in arrays and "merged_times" not in arrays:
        return problem
    whole = np.flatnonzero(problem.integer)
    into, times = (_integers(arrays, name, len(whole)) for name in ("merged_into", "merged_times"))
    if ((into < 0) | (into >= len(whole))).any() or (into[into] != into).any():
        raise Malformed("merged_into does not name integer variables that stay")
    if (times < 1).any() or (times > _LARGEST).any() or (times[into] != 1).any():
        raise Malformed("merged_times are not whole, at least 1, and 1 for variables that stay")
    A, entries = sp.csc_array(problem.A), np.diff(sp.csr_array(problem.A).indptr)
    parts = [sp.csr_array(problem.c[None]), *(cone.F for cone in problem.cones)]
    fixed = sp.csc_array(sp.vstack([*parts, *(block.F for block in problem.blocks)], format="csc"))
    kept = np.ones(len(problem.c), dtype=bool)
    kept[whole[into != np.arange(len(whole))]] = False
    left_out = np.zeros(A.shape[0], dtype=bool)
    lower, upper = problem.lower.copy(), problem.upper.copy()
    for first in np.unique(into[into != np.arange(len(whole))]).tolist():
        members, t = whole[into == first], times[into == first].astype(float)
        column = fixed[:, [whole[first]]].toarray()
        for j, multiple in zip(members.tolist(), t.tolist(), strict=True):
            if not np.array_equal(fixed[:, [j]].toarray(), multiple * column):
                raise Malformed(f"the column of variable {j} is not {multiple:g} times another")
        rows = A[:, members].toarray()
        left_out |= (rows != A[:, [whole[first]]].toarray() * t).any(axis=1)
        low, high = np.ceil(problem.lower[members]), np.floor(problem.upper[members])
        if np.isinf(low).any():
            raise Malformed(f"variable {int(members[0])} or another of its group has no lower end")
        lower[whole[first]] = t @ low
        # Rows with entries on all members, and no other ones.
        own = (entries == len(members)) & (rows > 0.0).all(axis=1)
        longest = _longest(rows[own], problem.row_upper[own], t, low, high)
        upper[whole[first]] = t @ low + longest
        held = [fixed[:, members].toarray(), rows[~left_out]]
        if np.isinf(longest) and not all(_exact_multiples(part, t) for part in held):
            raise Malformed(
                f"variable {int(members[0])} merged with others has no largest value, and their "
                "columns are multiples up to rounding only"
            )
    rest = sp.csr_array(sp.diags_array(np.where(left_out, 0.0, 1.0)) @ A)
    return MISDP(
        c=problem.c[kept],
        A=rest[:, kept],
        row_lower=np.where(left_out, -np.inf, problem.row_lower),
        row_upper=np.where(left_out, np.inf, problem.row_upper),
        lower=lower[kept],
        upper=upper[kept],
        integer=problem.integer[kept],
        cones=[replace(cone, F=cone.F[:, kept]) for cone in problem.cones],
        blocks=[replace(block, F=block.F[:, kept]) for block in problem.blocks],
        sense=problem.sense,
        offset=problem.offset,
    )


def _integers(arrays: Mapping[str, Array], name: str, length: int) -> Array:
    array = np.asarray(arrays.get(name))
    if array.dtype.kind not in "iu" or array.shape != (length,):
        raise Malformed(f"{name} must hold one integer for each of the {length} integer variables")
    return array.astype(np.int64)


def _exact_multiples(columns: Array, times: Array) -> bool:
    """Return whether all columns are multiples of the one that stays, without rounding."""
    first = columns[:, int(np.argmin(times))]
    return all(
        Fraction(entry) == Fraction(t) * Fraction(own)
        for column, t in zip(columns.T.tolist(), times.tolist(), strict=True)
        for entry, own in zip(column, first.tolist(), strict=True)
    )


def _longest(rows: Array, ends: Array, t: Array, low: Array, high: Array) -> float:
    """Return the largest value of t'(x - l) that the bounds and single rows allow, rounded out."""
    top = float(t @ (high - low))
    for a, end in zip(rows, ends.tolist(), strict=True):
        if np.isfinite(end):
            size = abs(end) + float(a @ np.abs(low))
            reach = max(0.0, end - float(a @ low) + _OUT * size) * float((t / a).max())
            top = min(top, float(np.floor(reach + _OUT * max(1.0, reach))))
    return top
