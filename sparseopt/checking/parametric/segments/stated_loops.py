"""The loops of :mod:`sparseopt.checking.parametric.segments.stated` over what is stated."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from sparseopt.compiling import Kernel
from sparseopt.problems.base import Array

CLEAR = 1e-12
"""Violations up to this part of their own terms are rounding errors."""

# Columns of the sums of a segment: quadratics in step take three.
VALUE, GAP, TERMS = 0, 3, 6
PRIMAL, DUAL = 9, 10
"""The largest relative violations."""
RATE = 11
"""The largest excess of a multiplier over a slope, in units of the slope, at both ends."""
ROOM = 13
"""Sum of slopes times kinks, at both ends."""
DIRTY, OPEN = 15, 16
"""Whether a condition is violated; whether a multiplier's slope is zero at an end."""
SUMS = 17

Line = tuple[float, float, float, float]
"""The limits of a number: low, its rate in lam, high, its rate."""

_PROBE = 1e-6
"""Relative error of a product with an updated inverse from which on it is made anew."""


def _loop(function: Callable[..., Any]) -> Kernel:
    return Kernel(function, nogil=True, error_model="numpy")


def _inside(function: Callable[..., Any], **options: Any) -> Kernel:
    """Compile a function that only compiled functions call."""
    return Kernel(
        function,
        nogil=True,
        error_model="numpy",
        _nrt=False,
        no_cpython_wrapper=True,
        **options,
    )


_once = partial(_inside, forceinline=True)
"""Compile such a function into its only caller."""
_summing = partial(_inside, fastmath={"reassoc"})
"""Compile such a function whose sums are added up in any order."""


@_inside
def _pivot(T: Array, r: int, c: int) -> None:
    """Exchange the dependent coordinate of place r with the independent one of place c."""
    rows, columns = T.shape
    inverse = 1.0 / T[r, c]
    for i in range(rows):
        if i != r and T[i, c] != 0.0:
            factor = T[i, c] * inverse
            for j in range(columns):
                T[i, j] -= factor * T[r, j]
            T[i, c] = factor
    for j in range(columns):
        T[r, j] *= -inverse
    T[r, c] = inverse


@_inside
def _exchange(T: Array, there: Array, place: Array, at_row: Array, at_column: Array) -> bool:
    """Bring the coordinates that belong among the dependent ones there, the largest pivot first.

    `there` (nc + nr) is 1 where a coordinate belongs among them; `place` is where each stands,
    rows counted from nc on. Returns whether no pivot is zero.
    """
    rows, columns = T.shape
    while True:
        best, r, c = 0.0, -1, -1
        wrong = 0
        for i in range(rows):
            if there[at_row[i]] == 0:
                wrong += 1
                for j in range(columns):
                    if there[at_column[j]] == 1 and abs(T[i, j]) > best:
                        best, r, c = abs(T[i, j]), i, j
        if wrong == 0:
            return True
        if r < 0:
            return False
        _pivot(T, r, c)
        a, b = at_row[r], at_column[c]
        at_row[r], at_column[c] = b, a
        place[a], place[b] = c, columns + r


@_inside
def _start_over(B: Array, T: Array, place: Array, at_row: Array, at_column: Array) -> None:
    """Let T be the block again: the rows depend on the columns."""
    rows, columns = B.shape
    for i in range(rows):
        at_row[i] = columns + i
        place[columns + i] = columns + i
        for j in range(columns):
            T[i, j] = B[i, j]
    for j in range(columns):
        at_column[j] = j
        place[j] = j


@_summing
def _condition(B: Array, T: Array, there: Array, place: Array, work: Array) -> tuple[float, float]:
    """Return the reciprocal condition number of a kernel in the 1-norm, and the error of a probe.

    The kernel has the rows that are independent and the columns that are dependent; its inverse
    stands in T. The probe multiplies a vector with both. `work` has the shape (4, nc).
    """
    rows, columns = B.shape
    probe, norms, product, sums = work[0], work[1], work[2], work[3]
    for j in range(columns):
        probe[j] = 1.0 + (0.618 * j) % 1.0 if there[j] == 1 else 0.0
        norms[j] = product[j] = sums[j] = 0.0
    for i in range(rows):
        if there[columns + i] == 0:
            total = 0.0
            for j in range(columns):
                norms[j] += abs(B[i, j])
                total += B[i, j] * probe[j]
            product[place[columns + i]] = total
    norm, error = 0.0, 0.0
    for j in range(columns):
        if there[j] == 1:
            norm = max(norm, norms[j])
            at = place[j] - columns
            total = 0.0
            for k in range(columns):
                sums[k] += abs(T[at, k])
                total += T[at, k] * product[k]
            error = max(error, abs(total - probe[j]))
    largest = 0.0
    for i in range(rows):
        if there[columns + i] == 0:
            largest = max(largest, sums[place[columns + i]])
    size = norm * largest
    return (1.0 / size if size > 0.0 else 1.0), error


@_loop
def condition_numbers(B: Array, there: Array, ptr: Array, changed: Array, to: Array) -> Array:
    r"""Return reciprocal condition numbers of the kernels of consecutive segments.

    The tableau of :math:`z = B \theta` is kept from segment to segment: an exchange of coordinates
    at kinks for others on pieces is a pivot, in O(nr nc). What it states about the inverse is
    probed, and made anew from B where that fails.

    Parameters
    ----------
    B : array of shape (nr, nc)
        The rows and columns that are ever in a kernel, or leave one.
    there : int array of shape (nc + nr,), changed
        1 for coordinates, columns before rows, that are on pieces in the first segment.
    ptr : int array of shape (S + 1,)
        The changes before segment s are ``ptr[s]:ptr[s + 1]``; those before the first are not made.
    changed, to : int arrays
        Coordinates, and what they are from then on.

    Returns
    -------
    array of shape (S,)
        0 where a kernel is singular or its inverse not known.
    """
    rows, columns = B.shape
    rcond = np.zeros(len(ptr) - 1)
    T, work = np.empty((rows, columns)), np.empty((4, columns))
    place = np.empty(rows + columns, np.int64)
    at_row, at_column = np.empty(rows, np.int64), np.empty(columns, np.int64)
    _start_over(B, T, place, at_row, at_column)
    for s in range(len(ptr) - 1):
        if s > 0:
            for k in range(ptr[s], ptr[s + 1]):
                there[changed[k]] = to[k]
        dependent = 0
        for i in range(rows + columns):
            dependent += there[i]
        if dependent != rows:
            continue
        error = math.inf
        if _exchange(T, there, place, at_row, at_column):
            rcond[s], error = _condition(B, T, there, place, work)
        if not error <= _PROBE:
            rcond[s] = 0.0
            _start_over(B, T, place, at_row, at_column)
            if _exchange(T, there, place, at_row, at_column):
                found, error = _condition(B, T, there, place, work)
                if error <= _PROBE:
                    rcond[s] = found
    return rcond


@condition_numbers.in_numpy
def _condition_numbers_of_stacks(
    B: Array, there: Array, ptr: Array, changed: Array, to: Array
) -> Array:
    columns = B.shape[1]
    rcond: Array = np.zeros(len(ptr) - 1)
    states = np.empty((len(rcond), len(there)), dtype=bool)
    for s in range(len(rcond)):
        if s > 0:
            for k in range(ptr[s], ptr[s + 1]):
                there[changed[k]] = to[k]
        states[s] = there
    sizes = states[:, :columns].sum(axis=1)
    regular = (~states[:, columns:]).sum(axis=1) == sizes
    rcond[regular & (sizes == 0)] = 1.0
    for s in np.flatnonzero(regular & (sizes > 0)).tolist():
        kernel = B[np.ix_(~states[s, columns:], states[s, :columns])]
        try:
            inverse = np.linalg.inv(kernel)
        except np.linalg.LinAlgError:
            continue
        size = np.abs(kernel).sum(axis=0).max() * np.abs(inverse).sum(axis=0).max()
        rcond[s] = 1.0 / size
    return rcond


@_inside
def _product_terms(part: Array, sizes: Array, s: int, row: int, lam: float) -> float:
    """Return the sum of the absolute terms of a product's entry at lam."""
    total = 0.0
    for k in range(part.shape[1]):
        total += part[row, k] * (sizes[0, s, k] + lam * sizes[1, s, k])
    return total


@_loop
def at_rest(
    own: int,
    slots: Array,
    lines: Array,
    range_: Array,
    product: Array,
    margin: Array,
    rest: Array,
) -> None:
    r"""Find coordinates of a block that contribute nothing, and violate nothing.

    Their stated numbers are zero, and have to be; the products lie within their limits at both ends
    of all segments. Most coordinates of a sparse path are so.

    Parameters
    ----------
    own : int
        0 where z is stated and v a product (variables), 1 for rows.
    slots : int array of shape (w,)
        Where they are in `lines`, in all segments.
    lines, range_ : arrays
        As for :func:`examine`.
    product : array of shape (2, q, w)
        The products and their rates.
    margin : array of shape (w,)
        How far these have to be from their limits.
    rest : bool array of shape (w,), changed
        Of which coordinates nothing is stated and no code changes; then of which it is shown.
    """
    width = len(slots)
    limits = np.empty((4, width))
    for i in range(width):
        at = slots[i]
        moves = lines[at, 11] != 0.0
        for k in range(4):
            moves |= lines[at, 4 * own + k] != 0.0
            limits[k, i] = lines[at, 4 - 4 * own + k]
        if moves:
            rest[i] = False
    for s in range(range_.shape[1]):
        lam, step = range_[0, s], range_[1, s]
        endless = step == math.inf
        if endless:
            step = 1.0
        for i in range(width):
            value, rate = product[0, s, i], product[1, s, i]
            rise, fall = limits[1, i] - rate, rate - limits[3, i]
            under = limits[0, i] + lam * limits[1, i] - value + margin[i]
            over = value - limits[2, i] - lam * limits[3, i] + margin[i]
            rest[i] &= (under <= 0.0) & (over <= 0.0)
            if endless:
                rest[i] &= (rise <= 0.0) & (fall <= 0.0)
            else:
                rest[i] &= (under + step * rise <= 0.0) & (over + step * fall <= 0.0)


@at_rest.in_numpy
def _at_rest_arrays(
    own: int,
    slots: Array,
    lines: Array,
    range_: Array,
    product: Array,
    margin: Array,
    rest: Array,
) -> None:
    rest &= (lines[slots, 11] == 0.0) & (lines[slots, 4 * own : 4 * own + 4] == 0.0).all(axis=1)
    low, low_rate, high, high_rate = lines[slots, 4 - 4 * own : 8 - 4 * own].T
    lam, step = range_[0][:, None], range_[1][:, None]
    value, rate = product
    under = low + lam * low_rate - value + margin
    over = value - high - lam * high_rate + margin
    endless = np.isinf(step)
    step = np.where(endless, 0.0, step)
    for amount, rise in ((under, low_rate - rate), (over, rate - high_rate)):
        rest &= ((amount <= 0.0) & (amount + step * rise <= 0.0)).all(axis=0)
        rest &= (~endless | (rise <= 0.0)).all(axis=0)


@_inside
def _share(
    amount: float, size: float, part: Array, sizes: Array, s: int, row: int, lam: float
) -> float:
    """Return a violation relative to a size, and if need be to the terms of its product as well.

    NaN counts as infinite; `row` is that of the product's entries, -1 where none are known.
    """
    ratio = amount / size if size > 0.0 else math.inf
    if ratio > CLEAR and row >= 0:
        size += _product_terms(part, sizes, s, row, lam)
        ratio = amount / size if size > 0.0 else math.inf
    return math.inf if math.isnan(ratio) else ratio


@_once
def _violation(
    line: Line,
    value: float,
    rate: float,
    range_: tuple[float, float],
    part: Array,
    sizes: Array,
    s: int,
    row: int,
) -> float:
    """Return by how much a number leaves its limits at either end, relative to its terms."""
    lam, step = range_
    low, low_rate, high, high_rate = line
    under = low + lam * low_rate - value
    over = value - high - lam * high_rate
    under_top = under + step * (low_rate - rate)
    over_top = over + step * (rate - high_rate)
    worst = 0.0
    if under <= 0.0 and over <= 0.0 and under_top <= 0.0 and over_top <= 0.0:
        return worst
    for end in range(2):
        amount, beyond = (under_top, over_top) if end == 1 else (under, over)
        here, limit, moves = lam + end * step, low, low_rate
        if beyond > amount or math.isinf(low):
            amount, limit, moves = beyond, high, high_rate
        if not amount <= 0.0 or math.isnan(beyond):
            limit += lam * moves
            size = abs(limit) + abs(value) + here * (abs(moves) + abs(rate))
            worst = max(worst, _share(amount, size, part, sizes, s, row, here))
    return worst


@_once
def _is_another_rate(
    line: Line,
    value: float,
    rate: float,
    range_: tuple[float, float],
    part: Array,
    sizes: Array,
    s: int,
    row: int,
) -> bool:
    """Return whether a number that must be equal to its limit has another rate than that."""
    lam, step = range_
    top = lam + step
    amount = top * abs(rate - line[1])
    size = abs(line[0] + lam * line[1]) + abs(value) + top * (abs(line[1]) + abs(rate))
    if amount > CLEAR * size and row >= 0:
        size += _product_terms(part, sizes, s, row, top)
    return bool(not amount <= CLEAR * size)


@_once
def _falls(line: Line, rate: float) -> bool:
    """Return whether a number leaves its limits on the way to infinity."""
    low, low_rate, high, high_rate = line
    under, over = low_rate - rate, rate - high_rate
    return bool(
        (low > -math.inf and under > CLEAR * (abs(low_rate) + abs(rate)))
        or (high < math.inf and over > CLEAR * (abs(high_rate) + abs(rate)))
    )


@_inside
def _add_terms(line: Array, side: int, lam: float, other: tuple[float, float], sums: Array) -> None:
    """Add what a coordinate contributes to the objective and the gap, quadratics in the step.

    At a kink (side 0) z is that of the line and v is `other`; on a piece it is the other way round.
    """
    a, b, c = line[8], line[9], line[10]
    a, b = a + lam * (b + lam * c), b + 2.0 * lam * c
    one, one_rate = line[4 * side] + lam * line[4 * side + 1], line[4 * side + 1]
    two, two_rate = other
    p0, p1, p2 = one * two, one * two_rate + one_rate * two, one_rate * two_rate
    sums[GAP] += p0
    sums[GAP + 1] += p1
    sums[GAP + 2] += p2
    sums[TERMS] += abs(p0) + abs(a)
    sums[TERMS + 1] += abs(p1) + abs(b)
    sums[TERMS + 2] += abs(p2) + abs(c)
    if side == 1:
        a, b, c = a + p0, b + p1, c + p2
    sums[VALUE] += a
    sums[VALUE + 1] += b
    sums[VALUE + 2] += c


@_inside
def _add_excess(
    outer: Array, lam: float, v: float, error: float, quick: float, end: int, sums: Array
) -> None:
    """Add the room of a coordinate's outer slopes, and take its multiplier's excess over them."""
    left, right = outer[0] + lam * outer[1], outer[2] + lam * outer[3]
    slope = min(-left, right)
    excess = max(left - v, v - right) + error * quick
    if slope < math.inf:
        excess += error * slope
        sums[ROOM + end] += slope * (outer[4] + lam * outer[5])
        if excess > 0.0:
            if slope > 0.0:
                sums[RATE + end] = max(sums[RATE + end], excess / slope)
            else:
                sums[OPEN] = 1.0


@_loop
def examine(
    own: int,
    codes: Array,
    start: Array,
    changes: tuple[Array, Array, Array],
    lines: Array,
    range_: Array,
    x: Array,
    part: Array,
    row_of: Array,
    sizes: Array,
    outer: Array,
    quick: Array,
    error: Array,
    sums: Array,
) -> None:
    r"""Look at a block of w coordinates of q segments, and add up what they contribute.

    On its piece a coordinate has z between the kinks, and v is the slope; at a kink z is there, and
    v between the slopes. This must hold at both ends of a segment, or on the way to infinity. A
    violation counts relative to :math:`|x| + |limit|` and lam times their rates; for entries of
    products, also to the sum of their absolute terms. Where x must be equal to its limit, so must
    its rate be, or else a result could choose rates that hide whatever it likes.

    Parameters
    ----------
    own : int
        0 where z is stated and v a product (variables), 1 for rows.
    codes : int array of shape (w,), changed
        Before the first segment.
    start : int array of shape (w,)
        Slot of code 0.
    changes : int arrays of shapes (q + 1,), (c,) and (c,)
        ``ptr``, and the places of the changes before each segment, with their new codes; a place
        is -1 outside the block.
    lines : array of shape (slots, 12)
        z_low, z_high, v_low and v_high, constants and rates; e as a quadratic in lam; and whether
        the slot contributes to the objective.
    range_ : array of shape (2, q)
        Lower ends and lengths; a length may be infinite.
    x : array of shape (4, q, w)
        z and its rate, v and its rate.
    part : array of shape (r, k)
        Absolute entries of the matrix that the products are made with, those of some coordinates.
    row_of : int array of shape (w,)
        Their rows in `part`, -1 for others.
    sizes : array of shape (2, q, k)
        Absolute values and rates of the vector that it is multiplied with.
    outer : array of shape (w, 6) or (0, 6)
        First and last slope and the largest kink, constants and rates, where excesses of
        multipliers are wanted.
    quick : array of shape (q, w)
        Sizes of the terms of the products, and
    error : array of shape (q,)
        the part of them that rounding errors amount to, for those.
    sums : array of shape (q, SUMS), changed
        What is added to.
    """
    ptr, changed, to = changes
    width = len(codes)
    for s in range(len(error)):
        for k in range(ptr[s], ptr[s + 1]):
            if changed[k] >= 0:
                codes[changed[k]] = to[k]
        lam, step = range_[0, s], range_[1, s]
        endless = step == math.inf
        if endless:
            step = 0.0
        top = lam + step
        for i in range(width):
            at = start[i] + codes[i]
            for side in range(2):
                line = (
                    lines[at, 4 * side],
                    lines[at, 4 * side + 1],
                    lines[at, 4 * side + 2],
                    lines[at, 4 * side + 3],
                )
                value, rate = x[2 * side, s, i], x[2 * side + 1, s, i]
                row = row_of[i] if side != own else -1
                worst = _violation(line, value, rate, (lam, step), part, sizes, s, row)
                if worst > sums[s, PRIMAL + side]:
                    sums[s, PRIMAL + side] = worst
                # Terms count with their rates, so that a rate must be that of its equation.
                if endless:
                    off = _falls(line, rate)
                else:
                    off = (
                        codes[i] & 1 != side
                        and rate != line[1]
                        and _is_another_rate(line, value, rate, (lam, step), part, sizes, s, row)
                    )
                if worst > CLEAR or off:
                    sums[s, DIRTY] = 1.0
            if lines[at, 11] != 0.0:
                side = 1 if codes[i] & 1 == 0 else 0
                other = (x[2 - 2 * side, s, i], x[3 - 2 * side, s, i])
                _add_terms(lines[at], side, lam, other, sums[s])
            if len(outer) > 0:
                for end in range(2):
                    here, v = lam, x[2, s, i]
                    if end == 1:
                        here, v = top, v + step * x[3, s, i]
                    _add_excess(outer[i], here, v, error[s], quick[s, i], end, sums[s])


@examine.in_numpy
def _examine_arrays(
    own: int,
    codes: Array,
    start: Array,
    changes: tuple[Array, Array, Array],
    lines: Array,
    range_: Array,
    x: Array,
    part: Array,
    row_of: Array,
    sizes: Array,
    outer: Array,
    quick: Array,
    error: Array,
    sums: Array,
) -> None:
    ptr, changed, to = changes
    block = np.empty((len(error), len(codes)), np.int64)
    for s in range(len(error)):
        here = np.flatnonzero(changed[ptr[s] : ptr[s + 1]] >= 0) + ptr[s]
        codes[changed[here]] = to[here]
        block[s] = codes
    at = start + block

    def of_products(segment: Array, i: Array, lam: Array) -> Array:
        """Return the sums of the absolute terms of products' entries, 0 where none are known."""
        known = np.flatnonzero(row_of[i] >= 0)
        vector = sizes[0, segment[known]] + lam[known, None] * sizes[1, segment[known]]
        terms = np.zeros(len(i))
        terms[known] = (part[row_of[i[known]]] * vector).sum(axis=1)
        return terms

    for side in (0, 1):
        terms = of_products if side != own else _no_terms
        z = x[2 * side : 2 * side + 2]
        _note_violations(side, lines[at, 4 * side : 4 * side + 4], range_, z, terms, sums)
        equal = block & 1 != side
        _note_rates(equal, lines[at, 4 * side : 4 * side + 2], range_, z, terms, sums)
    _add_all_terms(block, lines, at, range_[0], x, sums)
    if len(outer):
        _add_all_excesses(outer, range_, x[2:], quick, error, sums)


def _no_terms(_segment: Array, i: Array, _lam: Array) -> Array:
    return np.zeros(len(i))


def _finite_steps(range_: Array) -> tuple[Array, Array, Array]:
    """Return lam, steps with 0 for endless ones, and which are endless, shape (q, 1) each."""
    lam, step = range_[:, :, None]
    endless = np.isinf(step)
    return lam, np.where(endless, 0.0, step), endless


def _note_violations(
    side: int, limits: Array, range_: Array, z: Array, terms: Callable[..., Array], sums: Array
) -> None:
    """Note by how much numbers and rates z (2, q, w) leave their limits (q, w, 4)."""
    lam, step, endless = _finite_steps(range_)
    value, rate = z
    for k, sign in ((0, 1.0), (2, -1.0)):
        limit, moves = limits[:, :, k], limits[:, :, k + 1]
        finite = np.isfinite(limit)
        limit = limit + lam * moves
        amount = sign * (limit - value)
        last = amount + step * (sign * (moves - rate))
        for wrong, here in ((amount, lam), (last, lam + step)):
            segment, i = np.nonzero(~(wrong <= 0.0))
            reach = here[segment, 0]
            size = np.abs(limit[segment, i]) + np.abs(value[segment, i])
            size += reach * (np.abs(moves[segment, i]) + np.abs(rate[segment, i]))
            found = wrong[segment, i]
            ratio = np.where(size > 0.0, found / size, np.inf)
            large = np.flatnonzero(ratio > CLEAR)
            size[large] += terms(segment[large], i[large], reach[large])
            ratio = np.where(size > 0.0, found / size, np.inf)
            sums[segment[~(ratio <= CLEAR)], DIRTY] = 1.0
            np.maximum.at(sums[:, PRIMAL + side], segment, ratio)
        excess = sign * (moves - rate)
        falling = endless & finite & (excess > CLEAR * (np.abs(moves) + np.abs(rate)))
        sums[falling.any(axis=1), DIRTY] = 1.0


def _note_rates(
    equal: Array, line: Array, range_: Array, z: Array, terms: Callable[..., Array], sums: Array
) -> None:
    """Note rates that are not those of the line (q, w, 2) where the numbers must be equal."""
    lam, step, endless = _finite_steps(range_)
    (value, rate), (limit, moves) = z, (line[:, :, 0], line[:, :, 1])
    segment, i = np.nonzero((rate != moves) & equal & ~endless)
    reach, given, wanted = (lam + step)[segment, 0], rate[segment, i], moves[segment, i]
    size = np.abs(limit[segment, i] + lam[segment, 0] * wanted) + np.abs(value[segment, i])
    size += reach * (np.abs(wanted) + np.abs(given)) + terms(segment, i, reach)
    sums[segment[~(reach * np.abs(given - wanted) <= CLEAR * size)], DIRTY] = 1.0


def _add_all_terms(
    block: Array, lines: Array, at: Array, lam: Array, x: Array, sums: Array
) -> None:
    """Add what all coordinates contribute to the objective and the gap."""
    segment, i = np.nonzero(lines[at, 11])
    slots, here = at[segment, i], lam[segment]
    a, b, c = lines[slots, 8:11].T
    fixed = np.stack([a + here * (b + here * c), b + 2.0 * here * c, c])
    on = block[segment, i] & 1 == 0
    side = on.astype(np.int64)
    one, one_rate = lines[slots, 4 * side], lines[slots, 4 * side + 1]
    one = one + here * one_rate
    two, two_rate = x[2 - 2 * side, segment, i], x[3 - 2 * side, segment, i]
    product = np.stack([one * two, one * two_rate + one_rate * two, one_rate * two_rate])
    for begin, parts in (
        (VALUE, np.where(on, product, 0.0) + fixed),
        (GAP, product),
        (TERMS, np.abs(product) + np.abs(fixed)),
    ):
        for k, row in enumerate(parts):
            sums[:, begin + k] += np.bincount(segment, row, len(sums))


def _add_all_excesses(
    outer: Array, range_: Array, v: Array, quick: Array, error: Array, sums: Array
) -> None:
    """Add the room of all outer slopes, and take the excess of multipliers over them."""
    lam, step, _ = _finite_steps(range_)
    for end, here in ((0, lam), (1, lam + step)):
        value = v[0] + step * v[1] if end else v[0]
        left, right = outer[:, 0] + here * outer[:, 1], outer[:, 2] + here * outer[:, 3]
        slope = np.minimum(-left, right)
        steep = np.isinf(slope)
        slope[steep] = 0.0
        excess = np.maximum(left - value, value - right) + error[:, None] * (quick + slope)
        sums[:, ROOM + end] += (slope * (outer[:, 4] + here * outer[:, 5])).sum(axis=1)
        over = (excess > 0.0) & ~steep
        sums[(over & (slope <= 0.0)).any(axis=1), OPEN] = 1.0
        found = np.where(over & (slope > 0.0), excess, 0.0) / np.where(slope > 0.0, slope, 1.0)
        sums[:, RATE + end] = np.maximum(sums[:, RATE + end], found.max(axis=1, initial=0.0))
