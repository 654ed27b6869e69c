r"""Multipliers moved inwards a little, so that all are within the outer slopes.

Where the exact multipliers of a basis are outside by what the data are rounded by, others that
prove no less up to rounding errors may be inside. They are moved by a part of
:data:`~sparseopt.checking.tolerances.SEGMENT` of the largest, and looked at anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sparseopt.checking.parametric.evaluation.point import rounding_errors
from sparseopt.checking.parametric.evaluation.rational import Budget, entries
from sparseopt.checking.parametric.multipliers.enclosed import enclosed_inside
from sparseopt.checking.parametric.multipliers.nearby import clipped, exact_slopes, outer_slopes
from sparseopt.checking.parametric.multipliers.reach import LINES, STEP, Span, inward
from sparseopt.checking.tolerances import SEGMENT
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.pieces import Pieces
from sparseopt.problems.parametric.problem import PiecewiseLinearProgram

_PART = 0.25
"""How much of the step that may be lost is made."""


@dataclass(frozen=True, eq=False)
class Outside:
    """Multipliers at q ends of segments, some of which may be outside their slopes.

    Attributes
    ----------
    spans : list of Span
        Where the moved multipliers are to prove no less, and how much less is enough, beside
        SEGMENT of its terms: a move falls evenly to the other end.
    lam : array of shape (q,)
        An end of each; infinite for the rates of nu and of the slopes.
    nu : array of shape (q, m)
    needed : bool array of shape (q, p)
        The variables that may be outside.
    """

    spans: list[Span]
    lam: Array
    nu: Array
    needed: Array


def pushed_inside(
    program: PiecewiseLinearProgram, pieces: Pieces, ends: Outside, budget: Budget | None = None
) -> Array:
    r"""Return where multipliers that are moved inwards a little are within the outer slopes.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    pieces : Pieces
        Its functions phi and psi.
    ends : Outside
    budget : Budget, optional
        Those that rounding errors leave open are looked at exactly. Without one they are not, and
        steps that move only rows inside their slopes are tried first, which takes less.

    Returns
    -------
    bool array of shape (q,)
    """
    p = program.A.shape[1]
    left, right = outer_slopes(pieces, ends.lam)
    nu = np.clip(ends.nu, left[:, p:], right[:, p:])
    before = _all_multipliers(program, nu)
    with np.errstate(invalid="ignore"):
        slack = np.minimum(before - left, right - before)
        sizes = np.where(np.isinf(left), 0.0, np.abs(left))
        sizes = sizes + np.where(np.isinf(right), 0.0, np.abs(right))
        near = ends.needed | (slack <= SEGMENT * sizes)[:, :p]
        sign = np.where(before - left < right - before, 1.0, -1.0)
    steps, found = np.zeros(nu.shape), np.zeros(len(nu), dtype=bool)
    for at in np.flatnonzero(near.sum(axis=1) <= LINES).tolist():
        columns = np.flatnonzero(near[at])
        given = program, nu[at], left[at, p:], right[at, p:], columns, sign[at, columns]
        step = inward(*given, inner=True) if budget is None else None
        if step is None:
            step = inward(*given)
        if step is not None:
            steps[at], found[at] = step, True
    moves = np.abs(_all_multipliers(program, steps))
    part = _PART * _affordable(pieces, ends, moves, np.abs(before))
    nu = np.clip(nu + part[:, None] * steps, left[:, p:], right[:, p:])
    after = _all_multipliers(program, nu)[:, :p]
    error = rounding_errors(program.A.abs_rmatvec(np.abs(nu).T).T + sizes[:, :p])
    unsure = (after - error < left[:, :p]) | (after + error > right[:, :p])
    inside = found & ~unsure.any(axis=1)
    if budget is not None:
        for at in np.flatnonzero(found & ~inside).tolist():
            some = np.flatnonzero(unsure[at])
            inside[at] = _exactly(program, pieces, float(ends.lam[at]), nu[at], some, budget)
    return np.asarray(inside)


def _all_multipliers(program: PiecewiseLinearProgram, nu: Array) -> Array:
    """Return (-A'nu, nu) for the rows of nu."""
    return np.concatenate([-program.A.rmatvec(nu.T).T, nu], axis=1)


def _affordable(pieces: Pieces, ends: Outside, moves: Array, sizes: Array) -> Array:
    """Return which part of a step loses no more than it may, shape (q,)."""
    endless = np.isinf([span.lams[-1] for span in ends.spans])
    first = [span.lams[0] if np.isfinite(span.lams[0]) else 0.0 for span in ends.spans]
    least = np.array([span.least for span in ends.spans])
    places = [
        (
            np.where(endless, first, [span.at[end] for span in ends.spans]),
            np.where(endless, least, [span.enough[end] for span in ends.spans]),
        )
        for end in (0, -1)
    ]
    kinks = [(pieces.kink + at[:, None] * pieces.kink_rate, enough) for at, enough in places]
    if endless.any():
        far = (pieces.kink, pieces.kink_rate)
        kinks += [(np.where(endless[:, None], kink, 0.0), least) for kink in far]
    part = np.full(len(moves), SEGMENT / STEP)
    for kink, enough in kinks:
        reach = np.maximum.reduceat(np.abs(kink), pieces.ptr[:-1], axis=1)
        lost, terms = ((reach * each).sum(axis=1) for each in (moves, sizes))
        most = np.full(len(lost), np.inf)
        np.divide(np.minimum(enough, SEGMENT * terms), lost, out=most, where=lost > 0.0)
        part = np.minimum(part, most)
    return part


def _exactly(
    program: PiecewiseLinearProgram,
    pieces: Pieces,
    lam: float,
    nu: Array,
    unsure: Array,
    budget: Budget,
) -> bool:
    """Return whether multipliers of some variables are inside exactly."""
    p, rows = program.A.shape[1], np.flatnonzero(nu)
    needed, none = np.zeros((2, p), dtype=bool)
    needed[unsure] = True
    inside = enclosed_inside(program, pieces, lam, nu, needed, none, None, 0.0)
    if inside.known:
        return inside.nu is not None
    block = entries(program.A, rows, unsure, budget)
    if block is None:
        return False
    exact = [clipped(Fraction(nu[i]), exact_slopes(pieces, p + i, lam)) for i in rows.tolist()]
    for k, j in enumerate(unsure.tolist()):
        entry = (row[k] * a for row, a in zip(block, exact, strict=True) if k in row)
        value = -sum(entry, Fraction(0))
        if clipped(value, exact_slopes(pieces, j, lam)) != value:
            return False
    return True
