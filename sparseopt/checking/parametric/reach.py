r"""What multipliers outside their slopes may cost, by proven bounds of their coordinates.

With v moved by e to the nearest ends of its slopes, every feasible theta has, since v'z = 0,

.. math:: P(\theta) \ge -\sum_i f_i^*(v_i - e_i) - \sum_i e_i z_i .

So a proof by such multipliers needs bounds of :math:`|z_i|`, with rounding errors of v in e. They
follow from the domains; for points that are no worse than a known one from their own costs,
:math:`f_i(z_i) \le P - \sum_{k \ne i} \min f_k`; and where these leave a variable open, from
the rows that it is in (:class:`~sparseopt.checking.misdp.implied.ImpliedBounds`).

Where there is no bound, or too wide a one, multipliers near the given ones must be within their
slopes *exactly*: :func:`exactly_inside` finds them in rational arithmetic.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache, partial

import numpy as np

from sparseopt.checking.misdp.implied import ImpliedBounds
from sparseopt.checking.parametric.point import rounding_errors
from sparseopt.checking.parametric.rational import Budget, entries, fractions_of, solve_near
from sparseopt.checking.tolerances import SEGMENT
from sparseopt.checking.work import spend
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.problem import MISDP
from sparseopt.problems.parametric.maps import DenseMap, LinearMap, SparseMap, StackedMap
from sparseopt.problems.parametric.pieces import Pieces
from sparseopt.problems.parametric.problem import PiecewiseLinearProgram

_AWAY = 1.0 + 1e-9
"""Bounds are moved outwards by this factor, which covers the rounding errors of their sums."""
_ROOM = 1e-12
"""The same for what is left between an objective and the least costs, relative to their size."""
_PRODUCT = 1e-12
"""Bound of the rounding errors of a matrix product, relative to the product of absolute values."""
_PRODUCTS = 10**9
"""Multiplications that a left inverse may take."""
_LEAST_SQUARES, _INVERSE, _IMPLIED = 4e-10, 8e-10, 2e-6
"""Seconds of these multiplications, and of bounds that follow from an entry of the rows."""
_LINES = 400
"""Columns for which multipliers inside their slopes are looked for."""
_NEAR = 1e-9
"""Multipliers of rows this near to an end of their slopes, as a part of the largest, are there."""
_STEP = 1e-4
"""How far multipliers are moved inwards, as a part of the largest."""
_TRIES = 8
"""How often rows are taken out of such a step."""
_ULP = 2.0**-50
"""Multipliers of rows this near to an end of their slopes, relative to the largest, are there."""


def charge_of(
    program: PiecewiseLinearProgram,
    pieces: Pieces,
    lam: float,
    value: float,
    nu: Array,
    excess: Array,
    enough: float,
    known: Array | None = None,
) -> Array:
    """Return what multipliers that are outside their slopes by `excess` may cost.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    pieces : Pieces
        Its functions phi and psi.
    lam : float
    value : float
        The sum of all f_i of a feasible point; only points that are no worse matter.
    nu : array of shape (m,)
        The multipliers, those of rows within their slopes.
    excess : array of shape (p + m,)
        Not negative.
    enough : float
        Bounds need not be tighter than what makes less than this of all charges together.
    known : array of shape (p + m,), optional
        Bounds of the absolute values that hold for these points, from :func:`common_bounds`.

    Returns
    -------
    array of shape (p + m,)
        One charge for each coordinate; infinite where nothing bounds it.
    """
    charged = excess > 0.0
    low, high = pieces.domain(lam)
    own_low, own_high, slope, room = _no_worse(pieces, lam, value)
    low, high = np.maximum(low, own_low), np.minimum(high, own_high)
    largest = np.maximum(np.abs(low), np.abs(high)) * _AWAY
    if known is not None:
        largest = np.minimum(largest, known)

    def charges() -> Array:
        return np.where(charged, excess * np.where(charged, largest, 0.0), 0.0)

    found = charges()
    if found.sum() <= enough:
        return found
    if room is not None:
        # All costs together are within the room: sum e z <= max(e / s) sum s z.
        own = charged & (slope > 0.0)
        kinks = np.maximum.reduceat(np.abs(pieces.kinks_at(lam)), pieces.ptr[:-1])
        rate = float((excess[own] / slope[own]).max(initial=0.0))
        together = rate * (room + float(slope[own] @ kinks[own])) * _AWAY
        if together < found[own].sum():
            found[own] = together / max(int(own.sum()), 1)
        if found.sum() <= enough:
            return found
    interior = partial(_bounds_by_interior, pieces, lam, value, nu, charged)
    rows = partial(_bound_by_rows, slope, _together(pieces, lam, slope, room))
    for bounds in (rows, _bounds_by_left_inverse, interior, _implied_bounds):
        largest = np.minimum(largest, bounds(program, low, high, largest))
        found = np.minimum(found, charges())
        if found.sum() <= enough:
            break
    return found


def _bounds_by_interior(
    pieces: Pieces,
    lam: float,
    value: float,
    nu: Array,
    charged: Array,
    program: PiecewiseLinearProgram,
    low: Array,
    high: Array,
    largest: Array,
) -> Array:
    r"""Return bounds by multipliers near nu that are inside their slopes by a margin.

    Where v leaves :math:`\delta_j > 0` to the slopes beyond the outer kinks t of coordinate j,

    .. math:: \sum_j \delta_j |z_j - t_j| \le \sum_i f_i(z_i) + f_i^*(v_i) - v_i z_i
              \le \text{value} - D(v)

    for all points that are no worse than the value.
    """
    p = program.A.shape[1]
    out = np.full(len(largest), np.inf)
    left, right = pieces.slope_range(lam)
    open_ = (charged & np.isinf(largest))[:p]
    inner = np.flatnonzero(open_ & (left[:p] < right[:p]))
    if len(inner) < open_.sum() or len(inner) == 0 or len(inner) > _LINES:
        return out
    v = -program.A.rmatvec(nu)
    sign = np.where(v[inner] - left[inner] < right[inner] - v[inner], 1.0, -1.0)
    step = _inward(program, nu, left[p:], right[p:], inner, sign)
    if step is None:
        return out
    far = np.clip(nu + step, left[p:], right[p:])
    v = np.concatenate([-program.A.rmatvec(far), far])
    size = program.A.abs_rmatvec(np.abs(far))
    error = np.zeros(len(v))
    error[:p] = rounding_errors(
        size
        + np.where(np.isfinite(left[:p]), np.abs(left[:p]), 0.0)
        + np.where(np.isfinite(right[:p]), np.abs(right[:p]), 0.0)
    )
    slack = np.minimum(v - left, right - v) - error
    wrong = slack < -error
    outside = np.where(wrong | (slack < 0.0), np.maximum(-slack, 0.0), 0.0)
    if np.isinf(largest[outside > 0.0]).any():
        return out
    rest = outside > 0.0
    room = value + float(pieces.conjugate(v, lam).sum()) + float(outside[rest] @ largest[rest])
    room += _ROOM * (abs(value) + float(np.abs(pieces.conjugate(v, lam)).sum()))
    kinks = np.maximum.reduceat(np.abs(pieces.kinks_at(lam)), pieces.ptr[:-1])
    out[inner] = (kinks[inner] + max(room, 0.0) / slack[inner]) * _AWAY
    return out


def _inward(
    program: PiecewiseLinearProgram,
    nu: Array,
    low: Array,
    high: Array,
    columns: Array,
    sign: Array,
) -> Array | None:
    """Return a small change of nu that moves the v of some columns inwards, or None.

    Least squares; rows at an end of their slopes that would leave it are taken out again.
    """
    size = float(np.abs(nu).max(initial=0.0)) or 1.0
    at_low, at_high = nu - low <= _NEAR * size, high - nu <= _NEAR * size
    rows = np.flatnonzero(~(at_low & at_high))
    for _ in range(_TRIES):
        if len(rows) == 0 or len(rows) * len(columns) ** 2 > _PRODUCTS:
            return None
        spend(_LEAST_SQUARES * len(rows) * len(columns) ** 2)
        block = program.A.block(rows, columns)
        scale = np.abs(block).max(axis=0)
        if not (scale > 0.0).all():
            return None
        step = np.linalg.lstsq(-(block / scale).T, sign, rcond=1e-12)[0]
        gone = ((step < 0.0) & at_low[rows]) | ((step > 0.0) & at_high[rows])
        if not gone.any():
            out = np.zeros(len(nu))
            out[rows] = step * (_STEP * size / np.abs(step).max())
            moved = -program.A.block(rows, columns).T @ out[rows] * sign
            return out if (moved > 0.0).all() else None
        rows = rows[~gone]
    return None


def _bounds_by_left_inverse(
    program: PiecewiseLinearProgram, low: Array, high: Array, largest: Array
) -> Array:
    """Return bounds of the variables by those of the rows and of each other."""
    p = program.A.shape[1]
    out = np.full(len(largest), np.inf)
    bounds = bounds_of_variables(program, largest[None])
    if bounds is not None:
        out[:p] = bounds[0]
    return out


def bounds_of_variables(program: PiecewiseLinearProgram, largest: Array) -> Array | None:
    r"""Return bounds of all variables by those of the rows and of some variables, or None.

    With F the variables that nothing bounds (where each is bounded, all), L near a left inverse of
    A_F in the rows that are bounded by r, :math:`\|I - L A_F\|_\infty \le \epsilon < 1`, and the
    others bounded by b,

    .. math:: |\theta_j| \le |L_j| (r + |A_N| b) + \epsilon \max_{k \in F} |\theta_k|.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    largest : array of shape (q, p + m)
        Bounds of the absolute values of z, q of them; they may be infinite.

    Returns
    -------
    array of shape (q, p) or None
        None where these rows of A_F have no left inverse.
    """
    p = program.A.shape[1]
    variables, rows = largest[:, :p], largest[:, p:]
    free = np.asarray(~np.isfinite(variables).all(axis=0))
    if not free.any():
        free[:] = True
    bounded = np.isfinite(rows).all(axis=0)
    found = _left_inverse(program, bounded.tobytes(), free.tobytes())
    if found is None:
        return None
    inverse, epsilon = found
    sizes = rows[:, bounded]
    if not free.all():
        others = np.where(free, 0.0, variables)
        sizes = sizes + program.A.abs_matvec(others.T).T[:, bounded]
    norms = sizes @ inverse.T * _AWAY
    worst = norms.max(axis=1, initial=0.0) * (epsilon / (1.0 - epsilon))
    out = variables.copy()
    out[:, free] = norms + worst[:, None]
    return out


@lru_cache(maxsize=4)
def _left_inverse(
    program: PiecewiseLinearProgram, of_rows: bytes, of_columns: bytes
) -> tuple[Array, float] | None:
    """Return the absolute values of a left inverse L of a block of A, and the error epsilon."""
    rows, columns = (np.flatnonzero(np.frombuffer(m, dtype=bool)) for m in (of_rows, of_columns))
    if len(rows) < len(columns) or len(rows) * len(columns) ** 2 > _PRODUCTS:
        return None
    spend(_INVERSE * len(rows) * len(columns) ** 2)
    matrix = program.A.block(rows, columns)
    try:
        inverse = np.linalg.pinv(matrix)
    except np.linalg.LinAlgError:
        return None
    sizes = np.abs(inverse)
    error = np.abs(np.eye(len(columns)) - inverse @ matrix)
    error += sizes @ np.abs(matrix) * _PRODUCT
    epsilon = float(error.sum(axis=1).max(initial=0.0))
    return (sizes, epsilon) if epsilon < 0.5 else None


def _bound_by_rows(
    slope: Array,
    together: float,
    program: PiecewiseLinearProgram,
    low: Array,
    high: Array,
    largest: Array,
) -> Array:
    r"""Return a bound of the one variable that has none, such as an intercept.

    Row i says that :math:`a_{ij} z_j` is between the ends of :math:`z_{p+i}`, up to

    .. math:: \sum_{k \ne j} |a_{ik} z_k| \le \max_{k \ne j} \frac{|a_{ik}|}{s_k} \, r
              \quad\text{where}\quad \sum_k s_k |z_k| \le r.

    `slope` is s, of shape (p + m,), and `together` is r.
    """
    p = program.A.shape[1]
    out = np.full(len(largest), np.inf)
    (open_,) = np.isinf(largest[:p]).nonzero()
    priced = np.where(np.isinf(largest[:p]), np.inf, slope[:p])
    regular = len(open_) == 1 and np.isfinite(together) and (priced > 0.0).all()
    if not regular or not _entries_are_cheap(program.A):
        return out
    unit = np.zeros(p)
    unit[open_] = 1.0
    a = program.A.matvec(unit)
    others = _row_maxima(program.A, 1.0 / priced) * together * _AWAY
    slack = _AWAY - 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        under = (low[p:] - slack * np.abs(low[p:]) - others) / a
        over = (high[p:] + slack * np.abs(high[p:]) + others) / a
    least = np.where(a > 0.0, under, np.where(a < 0.0, over, -np.inf)).max(initial=-np.inf)
    most = np.where(a > 0.0, over, np.where(a < 0.0, under, np.inf)).min(initial=np.inf)
    out[open_] = max(abs(least), abs(most)) * _AWAY
    return out


def _implied_bounds(
    program: PiecewiseLinearProgram, low: Array, high: Array, largest: Array
) -> Array:
    """Return bounds of abs(z_i) that follow from intervals of all z by the rows of A."""
    p = program.A.shape[1]
    out = np.full(len(largest), np.inf)
    if not _entries_are_cheap(program.A):
        return out
    low, high = np.maximum(low, -largest), np.minimum(high, largest)
    low, high = np.minimum(low, high), np.maximum(low, high)
    linear = MISDP(
        c=np.zeros(p),
        A=program.A.as_array(),
        row_lower=low[p:],
        row_upper=high[p:],
        lower=low[:p],
        upper=high[:p],
    )
    spend(_IMPLIED * linear.A.nnz)
    implied = ImpliedBounds(linear).tighten()
    if implied is not None:
        out[:p] = np.maximum(np.abs(implied[0]), np.abs(implied[1])) * _AWAY
    return out


def common_bounds(
    program: PiecewiseLinearProgram, pieces: Pieces, lams: list[float], values: list[float]
) -> Array:
    """Return bounds of abs(z_i) for all points that are no worse than a value, at several lam.

    Those that follow from the rows of A, once for the intervals that cover those of each lam.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    pieces : Pieces
        Its functions phi and psi.
    lams, values : lists of float
        One value, the sum of all f_i of a feasible point, for each lam.

    Returns
    -------
    array of shape (p + m,)
    """
    low, high = np.full(len(pieces), np.inf), np.full(len(pieces), -np.inf)
    least, together = np.full(len(pieces), np.inf), 0.0
    for lam, value in zip(lams, values, strict=True):
        domain, (below, above, slope, room) = pieces.domain(lam), _no_worse(pieces, lam, value)
        low = np.minimum(low, np.maximum(domain[0], below))
        high = np.maximum(high, np.minimum(domain[1], above))
        least = np.minimum(least, slope)
        together = max(together, _together(pieces, lam, slope, room))
    largest = np.maximum(np.abs(low), np.abs(high)) * _AWAY
    found = _bound_by_rows(least, together, program, low, high, largest)
    if np.isinf(found).all():
        found = _implied_bounds(program, low, high, largest)
    return np.asarray(np.minimum(largest, found))


def _no_worse(pieces: Pieces, lam: float, value: float) -> tuple[Array, Array, Array, float | None]:
    """Return intervals that z is in where the sum of all f is at most `value`.

    With the slopes that f rises with beyond its outer kinks, and what is left of the value when all
    f are least; None where some f has no least value.
    """
    left, right = pieces.slope_range(lam)
    kinks = pieces.kinks_at(lam)
    first, last = kinks[pieces.ptr[:-1]], kinks[pieces.ptr[1:] - 1]
    unbounded = np.full(len(pieces), np.inf)
    if not ((left <= 0.0) & (right >= 0.0)).all():
        return -unbounded, unbounded, np.zeros(len(pieces)), None
    least = -pieces.conjugate(np.zeros(len(pieces)), lam)
    room = max(value - float(least.sum()), 0.0)
    room += _ROOM * (abs(value) + float(np.abs(least).sum()))
    with np.errstate(divide="ignore", invalid="ignore"):
        below = np.where(left < 0.0, first - room / -left, -unbounded)
        above = np.where(right > 0.0, last + room / right, unbounded)
    return below, above, np.minimum(-left, right), room


def _together(pieces: Pieces, lam: float, slope: Array, room: float | None) -> float:
    """Return a bound of the sum of s |z| where z is no worse than a value that leaves `room`.

    The costs beyond the outer kinks are within the room: sum s |z - t| <= room.
    """
    if room is None:
        return np.inf
    kinks = np.maximum.reduceat(np.abs(pieces.kinks_at(lam)), pieces.ptr[:-1])
    inside = slope > 0.0
    return (room + float(slope[inside] @ kinks[inside])) * _AWAY


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
    m, p = program.A.shape
    ends = [_exact_slopes(pieces, at, lam) for at in range(p + m)]
    exact = fractions_of(nu)
    unknown = _put_at_ends(exact, ends[p:], free)
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
    place_of = {i: k for k, i in enumerate(unknown)}
    chosen, targets = [], []
    for j, column in zip(places.tolist(), columns, strict=True):
        if equations[j]:
            v = -sum((a * exact[i] for i, a in column.items()), Fraction(0))
            sides = [end for end in ends[j] if end is not None]
            if not sides:
                continue
            fixed = sum((a * exact[i] for i, a in column.items() if i not in place_of), Fraction(0))
            chosen.append({place_of[i]: a for i, a in column.items() if i in place_of})
            targets.append(-min(sides, key=lambda end: abs(end - v)) - fixed)
    found = solve_near(chosen, [targets], [[exact[i] for i in unknown]], budget)
    if found is None:
        return None
    size = max((abs(value) for value in exact), default=Fraction(0))
    for i, value in zip(unknown, found[0], strict=True):
        if _clipped(value, ends[p + i]) != value:
            return None
        if abs(value - exact[i]) > size * Fraction(SEGMENT):
            return None
        exact[i] = value
    for j, column in zip(places.tolist(), columns, strict=True):
        v = -sum((a * exact[i] for i, a in column.items()), Fraction(0))
        if _clipped(v, ends[j]) != v:
            return None
    return np.array([float(value) for value in exact])


def _put_at_ends(
    exact: list[Fraction], ends: list[list[Fraction | None]], free: Array | None
) -> list[int]:
    """Put multipliers to an end of their slopes that they are near to, save the free ones.

    Returns which may still be changed: the free ones, or where none are named, those not near.
    """
    near = _NEAR if free is not None else _ULP
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


def pushed_inside(
    program: PiecewiseLinearProgram,
    pieces: Pieces,
    lam: float,
    nu: Array,
    needed: Array,
    enough: float,
    budget: Budget,
) -> bool:
    r"""Return whether multipliers that are moved inwards a little are within the outer slopes.

    Where the exact multipliers of a basis are outside by what the data are rounded by, others that
    prove no less up to rounding errors may be inside. They are moved by a part of
    :data:`~sparseopt.checking.tolerances.SEGMENT` of the largest, and looked at exactly.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    pieces : Pieces
        Its functions phi and psi.
    lam : float
        Infinite for the rates of nu and of the slopes.
    nu : array of shape (m,)
    needed : bool array of shape (p,)
        The variables that may be outside.
    enough : float
        How much less the moved multipliers may prove, beside SEGMENT of its terms.
    budget : Budget
    """
    p = program.A.shape[1]
    left, right = _outer_slopes(pieces, lam)
    nu = np.clip(nu, left[p:], right[p:])
    before = np.concatenate([-program.A.rmatvec(nu), nu])
    with np.errstate(invalid="ignore"):
        slack = np.minimum(before - left, right - before)
        sizes = [np.where(np.isinf(end), 0.0, np.abs(end)) for end in (left, right)]
        columns = np.flatnonzero(needed | (slack <= SEGMENT * sum(sizes))[:p])
        sign = np.where((before - left < right - before)[columns], 1.0, -1.0)
    step = None
    if len(columns) <= _LINES:
        step = _inward(program, nu, left[p:], right[p:], columns, sign)
    if step is None:
        return False
    moves = np.abs(np.concatenate([program.A.rmatvec(step), step]))
    part = SEGMENT / _STEP
    for kink in (pieces.kink, pieces.kink_rate) if np.isinf(lam) else (pieces.kinks_at(lam),):
        farthest = np.maximum.reduceat(np.abs(kink), pieces.ptr[:-1])
        lost, terms = float(farthest @ moves), float(farthest @ np.abs(before))
        if lost > 0.0:
            part = min(part, min(enough, SEGMENT * terms) / lost)
    nu = np.clip(nu + 0.25 * part * step, left[p:], right[p:])
    after = np.concatenate([-program.A.rmatvec(nu), nu])
    error = np.zeros(len(after))
    error[:p] = rounding_errors(program.A.abs_rmatvec(np.abs(nu)) + (sizes[0] + sizes[1])[:p])
    unsure = np.flatnonzero((after - error < left)[:p] | (after + error > right)[:p])
    rows = np.flatnonzero(nu)
    block = entries(program.A, rows, unsure, budget)
    if block is None:
        return False
    exact = [_clipped(Fraction(nu[i]), _exact_slopes(pieces, p + i, lam)) for i in rows.tolist()]
    for k, j in enumerate(unsure.tolist()):
        entry = (row[k] * a for row, a in zip(block, exact, strict=True) if k in row)
        value = -sum(entry, Fraction(0))
        if _clipped(value, _exact_slopes(pieces, j, lam)) != value:
            return False
    return True


def _exact_slopes(pieces: Pieces, at: int, lam: float) -> list[Fraction | None]:
    """Return the first and last slope of a coordinate, None where it has none; rates at inf."""
    ends: list[Fraction | None] = []
    for k in (int(pieces.slope_ptr[at]), int(pieces.slope_ptr[at + 1]) - 1):
        value, rate = float(pieces.slope[k]), Fraction(float(pieces.slope_rate[k]))
        if not np.isfinite(value):
            ends.append(None)
        else:
            ends.append(Fraction(value) + Fraction(lam) * rate if np.isfinite(lam) else rate)
    return ends


def _clipped(value: Fraction, ends: list[Fraction | None]) -> Fraction:
    low, high = ends
    value = value if low is None else max(value, low)
    return value if high is None else min(value, high)


def _outer_slopes(pieces: Pieces, lam: float) -> tuple[Array, Array]:
    """Return the first and the last slope of each coordinate, or their rates where lam is inf."""
    if np.isfinite(lam):
        return pieces.slope_range(lam)
    ends = []
    for at, sign in ((pieces.slope_ptr[:-1], -1.0), (pieces.slope_ptr[1:] - 1, 1.0)):
        finite = np.isfinite(pieces.slope[at])
        ends.append(np.where(finite, pieces.slope_rate[at], sign * np.inf))
    return ends[0], ends[1]


def _row_maxima(A: LinearMap, weight: Array) -> Array:
    """Return max_k |a_ik| w_k of each row of a matrix whose entries are cheap, shape (m,)."""
    if isinstance(A, StackedMap):
        return np.concatenate([_row_maxima(part, weight) for part in A.parts])
    entries = A.as_array()
    if not isinstance(entries, np.ndarray):
        return np.asarray(abs(entries).multiply(weight).max(axis=1).toarray()).ravel()
    return np.array([(np.abs(row) * weight).max(initial=0.0) for row in entries])


def _entries_are_cheap(A: LinearMap) -> bool:
    if isinstance(A, StackedMap):
        return all(_entries_are_cheap(part) for part in A.parts)
    return isinstance(A, DenseMap | SparseMap)
