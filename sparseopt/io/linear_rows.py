"""Rows and bounds of a MISDP as the one-sided rows of a file, and back.

CBF and SDPA have no ranges and no bounds but those by zero: a range is two rows, a bound is a row
with one entry 1. Files that sparseopt writes say in a comment which is which, so that the
problem comes back as it was. In any other file two neighbours that bound the same expression from
both sides become one row, and a row with a single entry that is a power of two becomes a bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from sparseopt.errors import ProblemError
from sparseopt.problems import MISDP
from sparseopt.problems.base import Array


@dataclass(frozen=True, eq=False)
class OneSided:
    """Rows low <= A x <= high of a file, each closed on one side, an equation, or open."""

    A: sp.csr_array
    low: Array
    high: Array


def row_types(problem: MISDP) -> str:
    """Return one letter for each row: G (from below), L (from above), E, R (a range), N (open).

    Parameters
    ----------
    problem : MISDP

    Returns
    -------
    str
        One letter for each of its rows.
    """
    below, above = np.isfinite(problem.row_lower), np.isfinite(problem.row_upper)
    equal = problem.row_lower == problem.row_upper
    letters = np.where(
        equal,
        "E",
        np.where(below & above, "R", np.where(below, "G", np.where(above, "L", "N"))),
    )
    return "".join(letters.tolist())


def split_rows(
    problem: MISDP, *, equations: bool, skip_bounds: Array | None = None
) -> tuple[OneSided, str]:
    """Return the rows, then the finite bounds, as one-sided rows; and the rows' letters.

    Parameters
    ----------
    problem : MISDP
    equations : bool
        Whether the format has equations; otherwise they are split like ranges.
    skip_bounds : bool array of shape (n,), optional
        Variables whose bounds the file holds in another way.
    """
    types = row_types(problem)
    twice = "R" if equations else "RE"
    index, low, high = [], [], []
    for i, letter in enumerate(types):
        if letter in twice:
            index += [i, i]
            low += [problem.row_lower[i], -np.inf]
            high += [np.inf, problem.row_upper[i]]
        else:
            index.append(i)
            low.append(problem.row_lower[i])
            high.append(problem.row_upper[i])
    skip = np.zeros(len(problem.c), dtype=bool) if skip_bounds is None else skip_bounds
    below = np.flatnonzero(np.isfinite(problem.lower) & ~skip)
    above = np.flatnonzero(np.isfinite(problem.upper) & ~skip)
    columns = np.concatenate([below, above])
    unit = sp.csr_array(
        (np.ones(len(columns)), (np.arange(len(columns)), columns)),
        shape=(len(columns), len(problem.c)),
    )
    A = sp.csr_array(sp.vstack([problem.A[index], unit], format="csr"))
    open_below, open_above = np.full(len(above), -np.inf), np.full(len(below), np.inf)
    return (
        OneSided(
            A,
            np.concatenate([np.array(low), problem.lower[below], open_below]),
            np.concatenate([np.array(high), open_above, problem.upper[above]]),
        ),
        types,
    )


def assembled(
    rows: OneSided, lower: Array, upper: Array, types: str | None, *, equations: bool
) -> tuple[OneSided, Array, Array]:
    """Return (rows, lower, upper) of the problem; the inverse of :func:`split_rows`.

    Parameters
    ----------
    rows : OneSided
        Of the file.
    lower, upper : array of shape (n,)
        Bounds that the file states in another way.
    types : str or None
        The letters that the file states; None for a file that is not ours.
    equations : bool
        As in :func:`split_rows`.

    Raises
    ------
    ProblemError
        When the letters do not fit the rows.
    """
    lower, upper = lower.copy(), upper.copy()
    count = rows.A.shape[0]
    if count == 0 and not types:
        return rows, lower, upper
    if types is None:
        first = _neighbours(rows)
        stated = count
    else:
        twice = "R" if equations else "RE"
        lengths = np.array([2 if letter in twice else 1 for letter in types], dtype=np.int64)
        first = np.cumsum(np.concatenate([[0], lengths]))[:-1] if len(types) else lengths
        stated = int(lengths.sum())
        if stated > count or set(types) - set("GLERN"):
            raise ProblemError(
                f"the comment of sparseopt says that there are {stated} rows; there are {count}"
            )
        first = np.concatenate([first, np.arange(stated, count)])
    last = np.append(first[1:], count) - 1
    merged = OneSided(
        rows.A[first],
        np.maximum(rows.low[first], rows.low[last]),
        np.minimum(rows.high[first], rows.high[last]),
    )
    if types is not None and _differ(rows, first, last):
        raise ProblemError("the comment of sparseopt names a range, but its two rows differ")
    single = np.diff(merged.A.indptr) == 1
    keep = np.ones(len(first), dtype=bool)
    if types is not None:
        # SDPA needs a block: an empty row is there where the problem has nothing to put into one.
        keep[len(types) :] = np.diff(merged.A.indptr)[len(types) :] > 0
    for i in np.flatnonzero(single).tolist():
        if types is not None and i < len(types):
            continue
        j = int(merged.A.indices[merged.A.indptr[i]])
        factor = float(merged.A.data[merged.A.indptr[i]])
        # A power of two, so that the division is exact: entries beside a diagonal come with a 2.
        if abs(np.frexp(factor)[0]) != 0.5:
            continue
        low, high = sorted((merged.low[i] / factor + 0.0, merged.high[i] / factor + 0.0))
        low, high = max(lower[j], low), min(upper[j], high)
        if low <= high:
            lower[j], upper[j], keep[i] = low, high, False
    return OneSided(merged.A[keep], merged.low[keep], merged.high[keep]), lower, upper


def _neighbours(rows: OneSided) -> Array:
    """Return the first row of each group: alone, or with the next one, its other side."""
    first = []
    i, count = 0, rows.A.shape[0]
    while i < count:
        first.append(i)
        pair = (
            i + 1 < count
            and np.isfinite(rows.low[i]) != np.isfinite(rows.low[i + 1])
            and np.isfinite(rows.high[i]) != np.isfinite(rows.high[i + 1])
            and max(rows.low[i], rows.low[i + 1]) <= min(rows.high[i], rows.high[i + 1])
            and _same(rows.A, i)
        )
        i += 2 if pair else 1
    return np.array(first, dtype=np.int64)


def _same(A: sp.csr_array, i: int) -> bool:
    """Return whether a row and the next one are equal."""
    a, b, c = (int(k) for k in A.indptr[i : i + 3])
    return (
        b - a == c - b
        and np.array_equal(A.indices[a:b], A.indices[b:c])
        and np.array_equal(A.data[a:b], A.data[b:c])
    )


def _differ(rows: OneSided, first: Array, last: Array) -> bool:
    return any(not _same(rows.A, int(i)) for i in first[last > first])
