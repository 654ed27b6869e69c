r"""What multipliers outside their slopes may cost, by proven bounds of their coordinates.

With v moved by e to the nearest ends of its slopes, every feasible theta has, since v'z = 0,

.. math:: P(\theta) \ge -\sum_i f_i^*(v_i - e_i) - \sum_i e_i z_i .

So a proof by such multipliers needs bounds of :math:`|z_i|`, with rounding errors of v in e. They
follow from the domains; for points that are no worse than a known one from their own costs,
:math:`f_i(z_i) \le P - \sum_{k \ne i} \min f_k`; and where these leave a variable open, from
the rows that it is in (:class:`~sparseopt.checking.misdp.implied.ImpliedBounds`).

What is charged on a segment of a path must hold at all lam between its ends (:class:`Span`). There
e is at most what the ends' e come to in proportion, but bounds of :math:`|z_i|` may be largest
anywhere: each end is charged by bounds that hold on the whole segment, or, in proportion to the
slope at this end, by what all costs together come to at any lam.

Where there is no bound, or too wide a one, multipliers near the given ones must be within their
slopes exactly: see :mod:`.nearby`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import NamedTuple, Self

import numpy as np

from sparseopt.checking.misdp.implied import ImpliedBounds
from sparseopt.checking.parametric.evaluation.point import rounding_errors
from sparseopt.checking.parametric.evaluation.singles import inside_rows, singles_of
from sparseopt.checking.work import spend
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.problem import MISDP
from sparseopt.problems.parametric.maps import DenseMap, LinearMap, SparseMap, StackedMap
from sparseopt.problems.parametric.pieces import Pieces
from sparseopt.problems.parametric.problem import PiecewiseLinearProgram
from sparseopt.proofs.double_double import DoubleDouble, exact_block, product

_AWAY = 1.0 + 1e-9
"""Bounds are moved outwards by this factor, which covers the rounding errors of their sums."""
_ROOM = 1e-12
"""The same for what is left between an objective and the least costs, relative to their size."""
_PRODUCT = 1e-12
"""Bound of the rounding errors of a matrix product, relative to the product of absolute values."""
_CELLS = 1 << 20
"""Kinks of all coordinates in several spans that are held at once."""
_PRODUCTS = 10**9
"""Multiplications that a left inverse may take."""
_LEAST_SQUARES, _INVERSE, _IMPLIED = 4e-10, 8e-10, 2e-6
"""Seconds of these multiplications, and of bounds that follow from an entry of the rows."""
_EXACTLY, _EXACT = 10**5, 2e-7
"""Products that are computed in 106 bits at once, and seconds of each."""
LINES = 400
"""Columns for which multipliers inside their slopes are looked for."""
NEAR = 1e-9
"""Multipliers of rows this near to an end of their slopes, as a part of the largest, are there."""
STEP = 1e-4
"""How far multipliers are moved inwards, as a part of the largest."""
_TRIES = 8
"""How often rows are taken out of such a step."""
_RANK = 1e-12
"""Singular values below, as a part of the largest, count as zero in such a step."""
_NORMAL = 1e-6
"""What a step by normal equations may miss of what is asked, relative to it."""


Lams = tuple[float] | tuple[float, float]
"""One lam, or the ends of a range, of which the second may be infinite."""


@dataclass(frozen=True)
class Span:
    """Where multipliers are charged, and what they may cost there.

    Attributes
    ----------
    lams : tuple of float
        One lam, or the ends of a range.
    at, values, enough : tuples of float
        One lam; or the end at which multipliers are charged, and the middle of the range. With the
        sum of all f_i of a feasible point there, and what may be charged: a charge falls evenly
        from its end to the other one.
    most : float
        The largest such sum of the range; only points that are no worse matter.
    """

    lams: Lams
    at: tuple[float, ...]
    values: tuple[float, ...]
    enough: tuple[float, ...]
    most: float

    @classmethod
    def one(cls, lam: float, value: float, enough: float) -> Self:
        """Return that of one lam."""
        return cls((lam,), (lam,), (value,), (enough,), value)

    @property
    def least(self) -> float:
        """What may be charged anywhere."""
        return min(self.enough)

    def share(self, part: float) -> Span:
        """Return the same for a part of what may be charged."""
        return replace(self, enough=tuple(part * enough for enough in self.enough))


Bounds = Callable[[PiecewiseLinearProgram, Array, Array, Array], Array]
"""Called with a program and with intervals and bounds of all z; returns bounds, shape (p + m,)."""


class Charging:
    """What multipliers outside their slopes may cost, with bounds that are found when needed, once.

    Bounds need not be tighter than what makes less than ``span.least`` of all charges together.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    pieces : Pieces
        Its functions phi and psi.
    span : Span
    lam : float
        An end of the span.
    interior : callable, optional
        Bounds that hold in the span, see :func:`interior_bounds`.
    known : array of shape (p + m,), optional
        Bounds of the absolute values that hold for these points, from :func:`common_bounds`.
    near : callable, optional
        Other bounds that hold in the span, and take little: they are tried first.
    """

    def __init__(
        self,
        program: PiecewiseLinearProgram,
        pieces: Pieces,
        span: Span,
        lam: float,
        interior: Bounds | None = None,
        known: Array | None = None,
        near: Bounds | None = None,
    ) -> None:
        self._program, self._pieces, self._span, self._lam = program, pieces, span, lam
        ends = np.array([_ends(span.lams)])
        (low,), (high,) = _domain(pieces, ends)
        own = _no_worse(pieces, ends, np.array([span.most]))
        self._low, self._high = np.maximum(low, own.low[0]), np.minimum(high, own.high[0])
        self._room = float(own.room[0])
        self._largest = np.maximum(np.abs(self._low), np.abs(self._high)) * _AWAY
        if known is not None:
            self._largest = np.minimum(self._largest, known)
        rows = partial(_bound_by_rows, own.slope[0], float(_together(pieces, ends, own)[0]))
        every = (near, rows, _bounds_by_left_inverse, interior, _implied_bounds)
        self._left = [bounds for bounds in every if bounds is not None]

    def of(self, excess: Array, most: int | None = None) -> Array:
        """Return the charges of multipliers that are outside their slopes by `excess`.

        Parameters
        ----------
        excess : array of shape (p + m,)
            Of multipliers at lam, not negative; anywhere in the span it is in proportion to how
            near lam is.
        most : int, optional
            How many kinds of bounds to look for, the quick ones first. Default: all.

        Returns
        -------
        array of shape (p + m,)
            One charge for each coordinate; infinite where nothing bounds it.
        """
        enough, room = self._span.least, self._room
        charged = ~(excess <= 0.0)
        found = self._charges(excess, charged)
        if found.sum() <= enough:
            return found
        if room <= enough:
            # as of a fit without an error: no point is better than the least costs there are
            return np.where(charged, room / np.count_nonzero(charged), 0.0)
        if np.isfinite(room):
            own, together = _charged_together(self._pieces, self._span, self._lam, excess)
            if together < found[own].sum():
                found[own] = together / max(int(own.sum()), 1)
        kept = 0 if most is None else len(self._left) - most
        while len(self._left) > kept and not found.sum() <= enough:
            bounds = self._left.pop(0)
            other = bounds(self._program, self._low, self._high, self._largest)
            self._largest = np.minimum(self._largest, other)
            found = np.minimum(found, self._charges(excess, charged))
        return found

    def _charges(self, excess: Array, charged: Array) -> Array:
        return np.where(charged, excess * np.where(charged, self._largest, 0.0), 0.0)


def _charged_together(pieces: Pieces, span: Span, lam: float, excess: Array) -> tuple[Array, float]:
    r"""Return coordinates whose slopes bound them, and what they are charged together.

    All costs together are within the room that the value leaves: sum e z <= max(e / s) sum s z. In
    proportion to what is enough, where that is least.
    """
    left, right = pieces.slope_range(lam)
    slope = np.minimum(-left, right)
    own = (excess > 0.0) & (slope > 0.0)
    rate = float((excess[own] / slope[own]).max(initial=0.0))
    ratio = 0.0
    for at, value, enough in zip(span.at, span.values, span.enough, strict=True):
        points = _no_worse(pieces, np.array([[at, at]]), np.array([value]))
        room, steep = float(points.room[0]), points.slope[0]
        if np.isinf(room) or (len(span.lams) == 2 and moves_twice(pieces).any()):
            return own, np.inf
        cost = rate * (room + float(steep[own] @ farthest(pieces, (at,))[own])) * _AWAY
        ratio = max(ratio, cost / enough if enough > 0.0 else np.inf if cost > 0.0 else 0.0)
    return own, ratio * span.least if ratio > 0.0 else 0.0


def interior_bounds(
    pieces: Pieces, points: Sequence[tuple[float, Array]], values: Values, charged: Array
) -> Bounds:
    """Return bounds by multipliers near given ones that are inside their slopes by a margin.

    See :func:`bounds_by_points`.

    Parameters
    ----------
    pieces : Pieces
        phi and psi.
    points : sequence of (float, array of shape (m,))
        Multipliers, within the slopes of their rows, at one lam or at both ends of a range.
    values : Values
        Of a feasible point there.
    charged : bool array of shape (p + m,)
        The coordinates that matter.

    Returns
    -------
    callable
        It computes them when it is first called.
    """
    memory: list[Array] = []

    def bounds(program: PiecewiseLinearProgram, low: Array, high: Array, largest: Array) -> Array:
        if not memory:
            moved = _moved_inward(pieces, points, charged, program, largest)
            memory.append(np.full(len(largest), np.inf))
            if moved is not None:
                memory[0] = bounds_by_points(program, pieces, moved, values, largest)
        return memory[0]

    return bounds


def _moved_inward(
    pieces: Pieces,
    points: Sequence[tuple[float, Array]],
    charged: Array,
    program: PiecewiseLinearProgram,
    largest: Array,
) -> list[tuple[float, Array]] | None:
    """Return multipliers near the given ones with a margin where no bound is known, or None."""
    p = program.A.shape[1]
    open_ = (charged & np.isinf(largest))[:p]
    moved = []
    for lam, nu in points:
        left, right = pieces.slope_range(lam)
        inner = np.flatnonzero(open_ & (left[:p] < right[:p]))
        if len(inner) < open_.sum() or len(inner) == 0 or len(inner) > LINES:
            return None
        v = -program.A.rmatvec(nu)
        sign = np.where(v[inner] - left[inner] < right[inner] - v[inner], 1.0, -1.0)
        step = inward(program, nu, left[p:], right[p:], inner, sign)
        if step is None:
            return None
        moved.append((lam, nu + step))
    return moved


class Values(NamedTuple):
    """What a feasible point costs at one lam, or in a range: the sum of all f_i.

    Attributes
    ----------
    ends : tuple of float
        At one lam, or at both ends of the range.
    bend : float
        A part t of the way from one end to the other it is at most `bend` t (1 - t) more than what
        lies evenly between the ends.
    """

    ends: tuple[float, ...]
    bend: float = 0.0


def bounds_by_points(
    program: PiecewiseLinearProgram,
    pieces: Pieces,
    points: Sequence[tuple[float, Array]],
    values: Values,
    largest: Array,
) -> Array:
    r"""Return what multipliers at one lam, or at both ends of a range, bound by their margins.

    Where v leaves :math:`\delta_j > 0` to the slopes beyond the outer kinks t of coordinate j,

    .. math:: \sum_j \delta_j |z_j - t_j| \le \sum_i f_i(z_i) + f_i^*(v_i) - v_i z_i
              \le \text{value} - D(v) = r

    for all points that are no worse than the value. In a range v changes evenly, and margins are at
    least what lies evenly between those at its ends. So is r at most, but for t (1 - t) B, where
    values bend or both v and kinks move; and the quotient of what changes evenly is largest at an
    end.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    pieces : Pieces
        phi and psi.
    points : sequence of (float, array of shape (m,))
        Any multipliers. They prove nothing where one is outside its slopes whose coordinate has no
        bound.
    values : Values
        Of a feasible point at these lam.
    largest : array of shape (p + m,)
        Bounds that are known, or infinite.

    Returns
    -------
    array of shape (p + m,)
        Infinite but for variables without a bound whose multipliers are inside by a margin.
    """
    p = program.A.shape[1]
    out = np.full(len(largest), np.inf)
    if len(points) == 2 and moves_twice(pieces).any():
        return out
    slacks, rooms, inside = [], [], []
    for (lam, nu), value in zip(points, values.ends, strict=True):
        v, slack, error = _margins(program, pieces, lam, inside_rows(program, nu, lam), largest)
        rest = ~(slack >= 0.0)
        outside = np.where(rest, -slack, 0.0)
        if np.isinf(largest[rest]).any():
            return out
        conjugates = pieces.conjugate(v, lam)
        room = value + float(conjugates.sum()) + float(outside[rest] @ largest[rest])
        room += _ROOM * (abs(value) + float(np.abs(conjugates).sum()))
        # A conjugate rises by |z| at most for each unit that v is off by, z between outer kinks.
        room += float(error @ farthest(pieces, (lam,))) * _AWAY
        slacks.append(slack[:p])
        rooms.append(max(room, 0.0))
        inside.append(v)
    kinks = [pieces.kinks_at(lam) for lam, _ in points]
    outer = np.maximum.reduceat(np.max(np.abs(kinks), axis=0), pieces.ptr[:-1])[:p]
    bend = values.bend
    if len(points) == 2:
        moved = np.maximum.reduceat(np.abs(kinks[1] - kinks[0]), pieces.ptr[:-1])
        bend += float(np.abs(inside[1] - inside[0]) @ moved)
    inner = np.flatnonzero(np.isinf(largest[:p]) & (np.min(slacks, axis=0) > 0.0))
    most = np.max([r / s[inner] for r, s in zip(rooms, slacks, strict=True)], axis=0)
    out[inner] = outer[inner] + most + bend / np.max(slacks, axis=0)[inner]
    return out * _AWAY


def _margins(
    program: PiecewiseLinearProgram, pieces: Pieces, lam: float, nu: Array, largest: Array
) -> tuple[Array, Array, Array]:
    """Return v, how far it is inside its slopes for certain, and its errors, shapes (p + m,).

    Where rounding decides on variables that nothing bounds, these are computed in 106 bits.
    """
    p = program.A.shape[1]
    left, right = pieces.slope_range(lam)
    v = np.concatenate([-program.A.rmatvec(nu), nu])
    size = program.A.abs_rmatvec(np.abs(nu))
    for end in (left[:p], right[:p]):
        size += np.where(np.isfinite(end), np.abs(end), 0.0)
    error = np.concatenate([rounding_errors(size), np.zeros(len(nu))])
    error[singles_of(program).columns] = 0.0
    slack = np.minimum(v - left, right - v) - error
    unsure = np.flatnonzero((np.isinf(largest) & (slack <= 0.0) & (slack > -2.0 * error))[:p])
    exact = exact_margins(program, pieces, lam, nu, unsure)
    if exact is not None:
        v[unsure], slack[unsure] = exact
    return v, slack, error


def exact_margins(
    program: PiecewiseLinearProgram, pieces: Pieces, lam: float, nu: Array, columns: Array
) -> tuple[Array, Array] | None:
    """Return multipliers of some variables, and how far inside their slopes they are, of 106 bits.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    pieces : Pieces
        phi and psi.
    lam : float
    nu : array of shape (m,)
    columns : int array of shape (k,)

    Returns
    -------
    arrays of shape (k,), or None
        Rounded at the end; a margin of either sign is not larger than it is in truth. None where
        that is too much work.
    """
    rows = np.flatnonzero(nu)
    if not 0 < len(columns) * len(rows) <= _EXACTLY or not _entries_are_cheap(program.A):
        return None
    spend(_EXACT * len(columns) * len(rows))
    v = -product(exact_block(program.A, rows, columns).T, DoubleDouble(nu[rows][None]))[0]
    margin = np.full(len(columns), np.inf)
    ends = pieces.slope_ptr[columns], pieces.slope_ptr[columns + 1] - 1
    for end, sign in zip(ends, (1.0, -1.0), strict=True):
        finite = np.isfinite(pieces.slope[end])
        at = end[finite]
        limit = DoubleDouble(pieces.slope_rate[at]) * lam + pieces.slope[at]
        margin[finite] = np.minimum(margin[finite], sign * (v[finite] - limit).high)
    finite = np.isfinite(margin)
    margin[finite] -= (_AWAY - 1.0) * np.abs(margin[finite])
    return v.high, margin


def inward(
    program: PiecewiseLinearProgram,
    nu: Array,
    low: Array,
    high: Array,
    columns: Array,
    sign: Array,
    inner: bool = False,
) -> Array | None:
    """Return a small change of nu that moves the v of some columns inwards, or None.

    Least squares; rows at an end of their slopes that would leave it are taken out again. With
    `inner` all rows at an end are taken out at once.
    """
    size = float(np.abs(nu).max(initial=0.0)) or 1.0
    at_low, at_high = nu - low <= NEAR * size, high - nu <= NEAR * size
    rows = np.flatnonzero(~((at_low | at_high) if inner else (at_low & at_high)))
    for _ in range(_TRIES):
        if len(rows) == 0 or len(rows) * len(columns) ** 2 > _PRODUCTS:
            return None
        spend(_LEAST_SQUARES * len(rows) * len(columns) ** 2)
        block = program.A.block(rows, columns)
        scale = np.abs(block).max(axis=0)
        if not (scale > 0.0).all():
            return None
        step = _shortest(-(block / scale).T, sign)
        gone = ((step < 0.0) & at_low[rows]) | ((step > 0.0) & at_high[rows])
        if not gone.any():
            out = np.zeros(len(nu))
            out[rows] = step * (STEP * size / np.abs(step).max())
            moved = -out[rows] @ block * sign
            return out if (moved > 0.0).all() else None
        rows = rows[~gone]
    return None


def _shortest(M: Array, target: Array) -> Array:
    """Return the shortest step with M step = target, or the one that comes nearest to it.

    By the normal equations, where these are exact enough: singular values take ten times as long.
    """
    wide = M.shape[0] <= M.shape[1]
    gram = M @ M.T if wide else M.T @ M
    try:
        found = np.linalg.solve(gram, target if wide else M.T @ target)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(M, target, rcond=_RANK)[0])
    step = M.T @ found if wide else found
    missed = M @ step - target
    if not wide:
        missed = M.T @ missed
    if np.abs(missed).max() <= _NORMAL * np.abs(target).max():
        return np.asarray(step)
    return np.asarray(np.linalg.lstsq(M, target, rcond=_RANK)[0])


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
    implied = _tightened(program, low.tobytes(), high.tobytes())
    if implied is not None:
        out[:p] = implied
    return out


@lru_cache(maxsize=8)
def _tightened(program: PiecewiseLinearProgram, of_low: bytes, of_high: bytes) -> Array | None:
    """Return what intervals of all z, and the rows, leave the variables' absolute values."""
    low, high = (np.frombuffer(ends) for ends in (of_low, of_high))
    p = program.A.shape[1]
    entries, implied = _implied_by_rows(program)
    spend(_IMPLIED * entries)
    found = implied.tighten(low[:p], high[:p], rows=(low[p:], high[p:]))
    return None if found is None else np.maximum(np.abs(found[0]), np.abs(found[1])) * _AWAY


@lru_cache(maxsize=2)
def _implied_by_rows(program: PiecewiseLinearProgram) -> tuple[int, ImpliedBounds]:
    """Return the nonzero entries of A, and what bounds of variables and rows imply."""
    m, p = program.A.shape
    linear = MISDP(
        c=np.zeros(p),
        A=program.A.as_array(),
        row_lower=np.full(m, -np.inf),
        row_upper=np.full(m, np.inf),
        lower=np.full(p, -np.inf),
        upper=np.full(p, np.inf),
    )
    return linear.A.nnz, ImpliedBounds(linear)


def common_bounds(program: PiecewiseLinearProgram, pieces: Pieces, spans: list[Span]) -> Array:
    """Return bounds of abs(z_i) for all points that are no worse than a value, in several spans.

    Those that follow from the rows of A, once for the intervals that cover those of each span.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    pieces : Pieces
        Its functions phi and psi.
    spans : list of Span

    Returns
    -------
    array of shape (p + m,)
    """
    low, high = np.full(len(pieces), np.inf), np.full(len(pieces), -np.inf)
    least, together = np.full(len(pieces), np.inf), 0.0
    at_once = max(1, _CELLS // len(pieces.kink))
    for begin in range(0, len(spans), at_once):
        some = spans[begin : begin + at_once]
        ends = np.array([_ends(span.lams) for span in some])
        domain = _domain(pieces, ends)
        own = _no_worse(pieces, ends, np.array([span.most for span in some]))
        low = np.minimum(low, np.maximum(domain[0], own.low).min(axis=0))
        high = np.maximum(high, np.minimum(domain[1], own.high).max(axis=0))
        least = np.minimum(least, own.slope.min(axis=0))
        together = max(together, float(_together(pieces, ends, own).max()))
    largest = np.maximum(np.abs(low), np.abs(high)) * _AWAY
    found = _bound_by_rows(least, together, program, low, high, largest)
    if np.isinf(found).all():
        found = _implied_bounds(program, low, high, largest)
    return np.asarray(np.minimum(largest, found))


def farthest(pieces: Pieces, lams: Lams) -> Array:
    """Return how far the farthest kink of each function is from 0, in a range.

    Parameters
    ----------
    pieces : Pieces
    lams : tuple of float
        One lam, or the ends of a range.

    Returns
    -------
    array of shape (len(pieces),)
    """
    return np.asarray(_farthest(pieces, np.array([_ends(lams)]))[0])


def _ends(lams: Lams) -> tuple[float, float]:
    """Return the ends of a range, which are equal for one lam."""
    return lams[0], lams[-1]


def _finite(ends: Array) -> tuple[Array, ...]:
    """Return the finite ends of q ranges, arrays of shape (q, 1): the second is one of them."""
    first, last = ends[:, :1], ends[:, 1:]
    if np.array_equal(first, last):
        return (first,)
    return first, np.where(np.isinf(last), first, last)


def _farthest(pieces: Pieces, ends: Array) -> Array:
    kinks = np.max([np.abs(pieces.kinks_at(lam)) for lam in _finite(ends)], axis=0)
    kinks[np.isinf(ends[:, 1:]) & (pieces.kink_rate != 0.0)] = np.inf
    return np.asarray(np.maximum.reduceat(kinks, pieces.ptr[:-1], axis=1))


def _domain(pieces: Pieces, ends: Array) -> tuple[Array, Array]:
    """Return intervals that hold the domains at all lam of q ranges, arrays of shape (q, n)."""
    first, last = _outer_kinks(pieces, ends)
    outer = pieces.slope_ptr[:-1], pieces.slope_ptr[1:] - 1
    low, high = (np.isinf(pieces.slope[at]) for at in outer)
    return np.where(low, first, -np.inf), np.where(high, last, np.inf)


def _outer_kinks(pieces: Pieces, ends: Array) -> tuple[Array, Array]:
    """Return the least first and the greatest last kinks in q ranges, arrays of shape (q, n)."""
    kinks = [pieces.kinks_at(lam) for lam in _finite(ends)]
    begin, end, endless = pieces.ptr[:-1], pieces.ptr[1:] - 1, np.isinf(ends[:, 1:])
    first = np.min([each[:, begin] for each in kinks], axis=0)
    last = np.max([each[:, end] for each in kinks], axis=0)
    first[endless & (pieces.kink_rate[begin] < 0.0)] = -np.inf
    last[endless & (pieces.kink_rate[end] > 0.0)] = np.inf
    return first, last


class _NoWorse(NamedTuple):
    """Where z is in q ranges of lam if the sum of all f is at most a value.

    Attributes
    ----------
    low, high : arrays of shape (q, n)
    slope : array of shape (q, n)
        What each f rises with at least beyond its outer kinks.
    room : array of shape (q,)
        What is left of the value when all f are least; infinite where some f has no least value.
    """

    low: Array
    high: Array
    slope: Array
    room: Array


def _no_worse(pieces: Pieces, ends: Array, values: Array) -> _NoWorse:
    """Return where points are that are no worse than `values`, shape (q,), in q ranges."""
    finite = _finite(ends)
    slopes = [pieces.slope_range(lam) for lam in finite]
    left, right = np.max([end[0] for end in slopes], 0), np.min([end[1] for end in slopes], 0)
    least = np.min([_least_values(pieces, lam) for lam in finite], axis=0)
    known = ((left <= 0.0) & (right >= 0.0)).all(axis=1) & np.isfinite(values)
    known &= _least_at_ends(pieces, least, ends)
    room = np.maximum(values - least.sum(axis=1), 0.0)
    room += _ROOM * (np.abs(values) + np.abs(least).sum(axis=1))
    first, last = _outer_kinks(pieces, ends)
    with np.errstate(divide="ignore", invalid="ignore"):
        below = np.where(left < 0.0, first - room[:, None] / -left, -np.inf)
        above = np.where(right > 0.0, last + room[:, None] / right, np.inf)
    open_ = ~known[:, None]
    return _NoWorse(
        np.where(open_, -np.inf, below),
        np.where(open_, np.inf, above),
        np.where(open_, 0.0, np.minimum(-left, right)),
        np.where(known, room, np.inf),
    )


def _least_values(pieces: Pieces, lam: Array) -> Array:
    """Return the least value of each function at its kinks, at lam of shape (q, 1)."""
    slopes = np.delete(pieces.slopes_at(lam), pieces.slope_ptr[1:] - 1, axis=1)
    slopes[np.isinf(slopes)] = 0.0
    values = pieces.at_kinks(np.diff(pieces.kinks_at(lam), prepend=0.0) * slopes)
    return np.asarray(np.minimum.reduceat(values, pieces.ptr[:-1], axis=1))


def _least_at_ends(pieces: Pieces, least: Array, ends: Array) -> Array:
    """Return whether functions are least at the ends of ranges, and rise as steeply within.

    Between its ends the least value is that of affine functions of lam, where no function has
    both slopes and kinks that move. On the way to infinity all of them must stay zero at least.
    """
    first = pieces.slope_ptr[:-1]
    inner = np.ones(len(pieces.slope), dtype=bool)
    inner[first] = False
    rising = (pieces.slope[inner] >= 0.0) & (pieces.slope_rate[inner] >= 0.0)
    upwards = (pieces.zeros == 0).all() and rising.all()
    upwards = upwards and (pieces.slope_rate[first] <= 0.0).all()
    far = (least == 0.0).all(axis=1) & bool(upwards)
    between = (ends[:, 0] == ends[:, 1]) | (not moves_twice(pieces).any())
    return np.asarray(np.where(np.isinf(ends[:, 1]), far, between))


@lru_cache(maxsize=2)
def moves_twice(pieces: Pieces) -> Array:
    """Return which functions have both slopes and kinks that move with lam, shape (n,).

    Parameters
    ----------
    pieces : Pieces

    Returns
    -------
    bool array
    """
    kinks = np.maximum.reduceat(np.abs(pieces.kink_rate), pieces.ptr[:-1])
    slopes = np.maximum.reduceat(np.abs(pieces.slope_rate), pieces.slope_ptr[:-1])
    return np.asarray((kinks > 0.0) & (slopes > 0.0))


def _together(pieces: Pieces, ends: Array, points: _NoWorse) -> Array:
    """Return bounds of the sum of s |z| for these points, shape (q,).

    The costs beyond the outer kinks are within the room: sum s |z - t| <= room.
    """
    far = _farthest(pieces, ends)
    with np.errstate(invalid="ignore"):
        # what is fixed at 0 has infinite slopes there, and costs nothing
        costs = np.where((points.slope > 0.0) & (far > 0.0), points.slope * far, 0.0)
    return np.asarray((points.room + costs.sum(axis=1)) * _AWAY)


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
