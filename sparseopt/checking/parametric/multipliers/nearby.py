r"""Multipliers near given ones that are within their slopes exactly.

Where nothing bounds a coordinate, or too wide a bound does, what rounding leaves outside of its
slopes might cost anything (:mod:`.reach`). The given multipliers prove their bound where others,
off by rounding errors, are inside: these are found by equations, whose solutions are enclosed
(:mod:`.enclosed`) or computed in rational arithmetic (:func:`exactly_inside`), or by a small step
inwards (:mod:`.pushed`). Whatever a change moves counts: all other multipliers are looked at again,
and what is proven less (:func:`charge_nearby`).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from sparseopt.checking.parametric.evaluation.point import DualPoint, dual_point, rounding_errors
from sparseopt.checking.parametric.evaluation.rational import (
    Budget,
    entries,
    fractions_of,
    solve_near,
)
from sparseopt.checking.parametric.evaluation.singles import singles_of
from sparseopt.checking.parametric.multipliers.enclosed import PUT_BACK, enclosed_inside
from sparseopt.checking.parametric.multipliers.reach import (
    NEAR,
    Charging,
    Span,
    Values,
    farthest,
    interior_bounds,
)
from sparseopt.checking.tolerances import SEGMENT
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.pieces import Pieces
from sparseopt.problems.parametric.problem import PiecewiseLinearProgram

_ULP = 2.0**-50
"""Multipliers of rows this near to an end of their slopes, relative to the largest, are there."""
_ROUNDED = 4.0 * float(np.finfo(float).eps)
"""What a multiplier may be off by rounding alone, relative to itself."""
_ENDLESS = 1e6
"""How many times lam kinks are taken to move, where a range has no end: what changes of the last
digits of multipliers lose by then is to be little as compared with the gap at lam."""
_ROUNDS = 3
"""How often variables are added whose multipliers a change of the others moves."""


def charge_nearby(
    program: PiecewiseLinearProgram,
    pieces: Pieces,
    span: Span,
    lam: float,
    nu: Array,
    needed: Array,
    budget: Budget,
    equations: Array | None = None,
    free: Array | None = None,
) -> float | None:
    r"""Return by how much less than nu others prove that are inside at `needed`, exactly.

    What all other variables may cost whose multipliers may be outside is part of it; those that
    make too much of it are needed, too. So the optimum at lam is at least what nu proves without
    any charge, less this. Between two ends of a span it is at least that of multipliers that change
    evenly, less what both ends are charged together.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    pieces : Pieces
        Its functions phi and psi.
    span : Span
    lam : float
        A finite end of the span.
    nu : array of shape (m,)
        Multipliers at lam, within the slopes of their rows.
    needed : bool array of shape (p,)
        The variables whose multipliers are outside.
    budget : Budget
    equations : bool array of shape (p,), optional
        Of which of them the multipliers are set to an end of their slopes. Default: of all.
    free : bool array of shape (m,), optional
        As for :func:`exactly_inside`.

    Returns
    -------
    float or None
        None where none are found.
    """
    p, given = program.A.shape[1], dual_point(program, nu)
    for _ in range(_ROUNDS):
        some = needed if equations is None else needed & equations
        exact = exactly_inside(program, pieces, lam, nu, needed, some, budget, free)
        if exact is None:
            return None
        dual = dual_point(program, exact)
        excess = dual.excess(lam)
        excess[:p][needed], excess[p:] = 0.0, 0.0
        interior = None
        if len(span.lams) == 1:
            interior = interior_bounds(pieces, [(lam, exact)], Values((span.most,)), excess > 0.0)
        charges = Charging(program, pieces, span, lam, interior).of(excess)
        if charges.sum() <= span.least:
            return float(charges.sum()) + _lost(pieces, span, lam, given, dual)
        if not (charges[:p] > 0.0).any():
            return None
        needed = needed | (charges[:p] > 0.0)
    return None


def _lost(pieces: Pieces, span: Span, lam: float, given: DualPoint, moved: DualPoint) -> float:
    """Return by how much less other multipliers prove, what rounding does to these set aside."""
    p = given.program.A.shape[1]
    steps = np.abs(moved.v - given.v)
    lost = pieces.conjugate(moved.v, lam) - pieces.conjugate(given.v, lam)
    if len(span.lams) == 2:
        lams = span.lams if np.isfinite(span.lams[1]) else (lam, _ENDLESS * lam)
        lost[p:] = np.where(steps[p:] > 0.0, steps[p:] * farthest(pieces, lams)[p:], 0.0)
    lost[:p][steps[:p] <= rounding_errors(given.size[:p])] = 0.0
    lost[p:][steps[p:] <= _ROUNDED * np.abs(given.v[p:])] = 0.0
    return max(float(lost.sum()), 0.0)


def rates_nearby(
    program: PiecewiseLinearProgram,
    pieces: Pieces,
    nu: Array,
    needed: Array,
    budget: Budget,
    equations: Array,
    free: Array | None,
) -> bool:
    """Return whether rates near those of nu stay within the rates of the slopes, all of them.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    pieces : Pieces
        Its functions phi and psi.
    nu : array of shape (m,)
        Rates of multipliers on the way to an infinite lam.
    needed : bool array of shape (p,)
        The variables whose rates are outside.
    budget : Budget
    equations : bool array of shape (p,)
        As for :func:`charge_nearby`.
    free : bool array of shape (m,), optional
        As for :func:`exactly_inside`.
    """
    p = program.A.shape[1]
    left, right = (ends[0, :p] for ends in outer_slopes(pieces, np.array([np.inf])))
    for _ in range(_ROUNDS):
        exact = exactly_inside(
            program, pieces, np.inf, nu, needed, needed & equations, budget, free
        )
        if exact is None or (np.abs(exact - nu) > SEGMENT * np.abs(nu).max()).any():
            return False
        v, error = -program.A.rmatvec(exact), rounding_errors(program.A.abs_rmatvec(np.abs(exact)))
        outside = ((v - error < left) | (v + error > right)) & (error > 0.0) & ~needed
        if not outside.any():
            return True
        needed = needed | outside
    return False


def exactly_inside(
    program: PiecewiseLinearProgram,
    pieces: Pieces,
    lam: float,
    nu: Array,
    needed: Array,
    equations: Array,
    budget: Budget,
    free: Array | None = None,
) -> Array | None:
    r"""Return multipliers near nu whose v is within the outer slopes at `needed`, exactly.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    pieces : Pieces
        Its functions phi and psi.
    lam : float
        Infinite for the rates of nu and of the slopes.
    nu : array of shape (m,)
    needed : bool array of shape (p,)
        The variables that matter.
    equations : bool array of shape (p,)
        Those of them whose v is set to the end of the slopes that it is nearest to.
    budget : Budget
    free : bool array of shape (m,), optional
        The rows whose multipliers may be changed; those of the others are put to an end of their
        slopes that they are near to. Default: those that are not there.

    Returns
    -------
    array of shape (m,) or None
        The multipliers, rounded; None where there are none, or finding them takes too long.
    """
    near = NEAR if free is not None else _ULP
    inside = enclosed_inside(program, pieces, lam, nu, needed, equations, free, near)
    if inside.known:
        return inside.nu
    m, p = program.A.shape
    ends = [exact_slopes(pieces, at, lam) for at in range(p + m)]
    exact = fractions_of(nu)
    ends[p:] = _with_singles(ends[p:], program, lam)
    if any(low is not None and high is not None and low > high for low, high in ends):
        return None
    unknown = _put_at_ends(exact, ends[p:], free, near)
    rows = np.flatnonzero([value != 0 for value in exact])
    rows = np.union1d(rows, np.array(unknown, dtype=np.int64))
    places = np.flatnonzero(needed)
    block = entries(program.A, rows, places, budget)
    if block is None:
        return None
    columns: list[dict[int, Fraction]] = [{} for _ in places]
    for i, row in zip(rows.tolist(), block, strict=True):
        for k, a in row.items():
            columns[k][i] = a
    asked = [
        (column, ends[j])
        for j, column in zip(places.tolist(), columns, strict=True)
        if equations[j]
    ]
    for _ in range(PUT_BACK if free is not None and free.all() else 1):
        found = _solved(asked, exact, unknown, budget)
        if found is None:
            return None
        outside = {i for i, value in found.items() if clipped(value, ends[p + i]) != value}
        exact = [
            clipped(found.get(i, value), ends[p + i]) if i in found else value
            for i, value in enumerate(exact)
        ]
        if not outside:
            break
        # they stay at the end that they would pass, and the others are to do
        unknown = [i for i in unknown if i not in outside]
    else:
        return None
    for j, column in zip(places.tolist(), columns, strict=True):
        v = -sum((a * exact[i] for i, a in column.items()), Fraction(0))
        if clipped(v, ends[j]) != v:
            return None
    return np.array([float(value) for value in exact])


def _solved(
    asked: list[tuple[dict[int, Fraction], list[Fraction | None]]],
    exact: list[Fraction],
    unknown: list[int],
    budget: Budget,
) -> dict[int, Fraction] | None:
    """Return unknown multipliers with which variables are at the ends of slopes nearest to them.

    `asked` are the variables' entries by rows, and their ends.
    """
    place_of = {i: k for k, i in enumerate(unknown)}
    chosen, targets = [], []
    for column, slopes in asked:
        v = -sum((a * exact[i] for i, a in column.items()), Fraction(0))
        sides = [end for end in slopes if end is not None]
        if not sides:
            continue
        fixed = sum((a * exact[i] for i, a in column.items() if i not in place_of), Fraction(0))
        chosen.append({place_of[i]: a for i, a in column.items() if i in place_of})
        targets.append(-min(sides, key=lambda end: abs(end - v)) - fixed)
    found = solve_near(chosen, [targets], [[exact[i] for i in unknown]], budget)
    return None if found is None else dict(zip(unknown, found[0], strict=True))


def _with_singles(
    ends: list[list[Fraction | None]], program: PiecewiseLinearProgram, lam: float
) -> list[list[Fraction | None]]:
    """Return the ends of the slopes of rows that variables in one row only leave."""
    singles, out = singles_of(program), []
    for (low, high), least, most in zip(ends, singles.low, singles.high, strict=True):
        if np.isfinite(least):
            own = Fraction(least if np.isfinite(lam) else 0)
            low = own if low is None else max(low, own)
        if np.isfinite(most):
            own = Fraction(most if np.isfinite(lam) else 0)
            high = own if high is None else min(high, own)
        out.append([low, high])
    return out


def _put_at_ends(
    exact: list[Fraction], ends: list[list[Fraction | None]], free: Array | None, near: float
) -> list[int]:
    """Put multipliers to an end of their slopes that they are near to, save the free ones.

    Returns which may still be changed: the free ones, or where none are named, those not near.
    """
    margin = Fraction(near * max((abs(float(value)) for value in exact), default=0.0))
    unknown = []
    for i, (low, high) in enumerate(ends):
        if free is not None and free[i]:
            unknown.append(i)
        elif low is not None and exact[i] - low <= margin:
            exact[i] = low
        elif high is not None and high - exact[i] <= margin:
            exact[i] = high
        elif free is None:
            unknown.append(i)
    return unknown


def exact_slopes(pieces: Pieces, at: int, lam: float) -> list[Fraction | None]:
    """Return the first and last slope of a coordinate, None where it has none; rates at inf.

    Parameters
    ----------
    pieces : Pieces
    at : int
        The coordinate.
    lam : float
    """
    ends: list[Fraction | None] = []
    for k in (int(pieces.slope_ptr[at]), int(pieces.slope_ptr[at + 1]) - 1):
        value, rate = float(pieces.slope[k]), Fraction(float(pieces.slope_rate[k]))
        if not np.isfinite(value):
            ends.append(None)
        else:
            ends.append(Fraction(value) + Fraction(lam) * rate if np.isfinite(lam) else rate)
    return ends


def clipped(value: Fraction, ends: list[Fraction | None]) -> Fraction:
    """Return a multiplier moved to the nearest end of its slopes.

    Parameters
    ----------
    value : Fraction
    ends : list of Fraction or None
        Of :func:`exact_slopes`.
    """
    low, high = ends
    value = value if low is None else max(value, low)
    return value if high is None else min(value, high)


def outer_slopes(pieces: Pieces, lam: Array) -> tuple[Array, Array]:
    """Return the first and the last slope of n coordinates, or their rates where lam is infinite.

    Parameters
    ----------
    pieces : Pieces
    lam : array of shape (q,)

    Returns
    -------
    left, right : arrays of shape (q, n)
    """
    ends, finite = [], np.isfinite(lam)[:, None]
    for at, sign in ((pieces.slope_ptr[:-1], -1.0), (pieces.slope_ptr[1:] - 1, 1.0)):
        slope, rate = pieces.slope[at], pieces.slope_rate[at]
        at_lam = slope + np.where(finite, lam[:, None], 0.0) * rate
        ends.append(np.where(finite, at_lam, np.where(np.isfinite(slope), rate, sign * np.inf)))
    return ends[0], ends[1]
