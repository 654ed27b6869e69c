r"""Bounds of variables that the constraints of a MISDP imply.

All constraints are read as linear forms h = B x + b with an interval each: the rows with theirs,
an entry of a diagonal with [0, inf), the head of a cone too, and where there is a cutoff the
objective. From bounds of x follow bounds of each form, and from those of the forms bounds of each x
in them (activities); and

- a positive semidefinite matrix has :math:`|M_{ij}| \le \sqrt{M_{ii} M_{jj}}`,
- a cone has :math:`|u_i| \le u_0`, a rotated one :math:`|u_i| \le \sqrt{2 u_0 u_1}`,
- an indicator's row has its interval where its binary variable is 1, else none; where it cannot
  hold, that variable is 0,
- a form :math:`\langle C, X\rangle + d'x \le h` with X a semidefinite matrix variable and C
  positive definite has :math:`\operatorname{tr} X \le (h - \min d'x) / \lambda_{\min}(C)`.

Every number is rounded outwards, by a multiple of the machine's precision times the sum of the
absolute terms.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, sqrt
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from sparseopt.compiling import by_address
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import (
    matrix_variable,
    triangle,
    triangle_weights,
    unpack_symmetric,
)
from sparseopt.problems.misdp.problem import MISDP

from ...common.compiled import compiled, compiled_inside
from ..settings import EMPTY, FAR_END, INTEGER_BOUND

_EPS = float(np.finfo(float).eps)
_PART, _LEAST = INTEGER_BOUND


@by_address
class Forms(NamedTuple):
    """The linear forms h = B x + b in flat arrays.

    Attributes
    ----------
    ptr, column, value : arrays
        B in compressed rows.
    constant, rounding : arrays of shape (m,)
        b, and the share of the sum of a form's terms that its rounding errors come to.
    whole : array of shape (n,)
        1 for integers.
    cones : int array
        First form, last one and whether it is rotated, of each cone.
    blocks : int array
        First form and order of each matrix.
    traces, trace_least : arrays
        Forms with a definite matrix, see :class:`_Trace`, and its least absolute eigenvalue.
    diagonal_ptr, diagonal, rest_ptr, rest : int arrays
        Their columns and places.
    """

    ptr: Array
    column: Array
    value: Array
    constant: Array
    rounding: Array
    whole: Array
    cones: Array
    blocks: Array
    traces: Array
    trace_least: Array
    diagonal_ptr: Array
    diagonal: Array
    rest_ptr: Array
    rest: Array


@dataclass(frozen=True, eq=False)
class _Trace:
    """A form whose part on a matrix variable has a definite coefficient matrix."""

    form: int
    diagonal: Array
    """Columns of the diagonal."""
    rest: Array
    """Places of the form's other entries in B."""
    least: float
    """Smallest absolute eigenvalue; its sign is that of the coefficient matrix."""


class Propagation:
    """The linear forms of a problem, prepared to propagate bounds.

    Parameters
    ----------
    problem : MISDP
    """

    def __init__(self, problem: MISDP) -> None:
        self._problem = problem
        self._sign = 1.0 if problem.sense == "min" else -1.0
        m = problem.A.shape[0]
        parts = [problem.A, sp.csr_array(self._sign * problem.c[None, :])]
        parts += [cone.F for cone in problem.cones] + [block.F for block in problem.blocks]
        parts += [row.a for row in problem.indicators]
        B = sp.csr_array(sp.vstack(parts, format="csr"))
        constant = np.concatenate(
            [
                np.zeros(m + 1),
                *(c.g for c in problem.cones),
                *(b.F0 for b in problem.blocks),
                np.zeros(len(problem.indicators)),
            ]
        )
        self._objective = m
        self._low = np.full(B.shape[0], -np.inf)
        self._high = np.full(B.shape[0], np.inf)
        self._low[:m], self._high[:m] = problem.row_lower, problem.row_upper
        cones, blocks = [], []
        begin = m + 1
        for cone in problem.cones:
            self._low[begin : begin + (2 if cone.rotated else 1)] = 0.0
            cones += [begin, begin + cone.dimension, int(cone.rotated)]
            begin += cone.dimension
        for block in problem.blocks:
            rows, columns = triangle(block.size)
            self._low[begin + np.flatnonzero(rows == columns)] = 0.0
            blocks += [begin, block.size]
            begin += block.dimension
        self._conditional = begin + np.arange(len(problem.indicators))
        self._binary = np.array([row.binary for row in problem.indicators], dtype=np.int64)
        self._sides = np.array([(row.lower, row.upper) for row in problem.indicators])
        self._endless = tuple(
            np.flatnonzero(~problem.integer & np.isinf(end))
            for end in (problem.lower, problem.upper)
        )
        traces = self._definite_forms(B)
        self._forms = Forms(
            B.indptr.astype(np.int64),
            B.indices.astype(np.int64),
            np.array(B.data),
            constant,
            # Summing k terms in floating point errs by at most k units of the sum of their sizes.
            (np.diff(B.indptr) + 4.0) * _EPS,
            problem.integer.astype(np.int64),
            np.array(cones, dtype=np.int64),
            np.array(blocks, dtype=np.int64),
            np.array([trace.form for trace in traces], dtype=np.int64),
            np.array([trace.least for trace in traces], dtype=float),
            *_joined([trace.diagonal for trace in traces]),
            *_joined([trace.rest for trace in traces]),
        )

    def _definite_forms(self, B: sp.csr_array) -> list[_Trace]:
        found = []
        row = np.repeat(np.arange(B.shape[0]), np.diff(B.indptr))
        column, value = np.asarray(B.indices), np.asarray(B.data)
        for block in self._problem.blocks:
            columns = matrix_variable(block)
            if columns is None:
                continue
            place = np.full(B.shape[1], -1)
            place[columns] = np.arange(len(columns))
            rows, others = triangle(block.size)
            # A definite matrix has no zero on its diagonal.
            on = np.isin(column, columns[rows == others])
            counts = np.bincount(row[on], minlength=self._objective + 1)
            for form in np.flatnonzero(counts[: self._objective + 1] == block.size).tolist():
                entries = np.arange(B.indptr[form], B.indptr[form + 1])
                at = place[column[entries]]
                packed = np.zeros(len(columns))
                packed[at[at >= 0]] = value[entries[at >= 0]]
                packed /= triangle_weights(block.size)
                values = np.linalg.eigvalsh(unpack_symmetric(packed, block.size))
                error = 8.0 * block.size * _EPS * float(np.abs(values).max())
                least = values[0] - error if values[0] > 0.0 else values[-1] + error
                if values[0] > error or values[-1] < -error:
                    diagonal = columns[rows == others]
                    found.append(_Trace(form, diagonal, entries[at < 0], float(least)))
        return found

    def tighten(
        self,
        lower: Array | None = None,
        upper: Array | None = None,
        cutoff: float | None = None,
        rounds: int = 12,
        in_turn: bool = True,
    ) -> tuple[Array, Array] | None:
        """Return bounds (lower, upper) that every feasible point within those given meets.

        Parameters
        ----------
        lower, upper : array of shape (n,), optional
            Default: those of the problem.
        cutoff : float, optional
            Only points whose objective is at least as good as this need to be kept.
        rounds : int, default 12
            Rounds at most; fewer when nothing moves.
        in_turn : bool, default True
            Whether each step may use what the steps before have found, as compiled loops do. Else
            the steps of a round are those of array operations, as the checker takes them: what
            they derive is the same in the limit, but may be wider when the rounds end.

        Returns
        -------
        (lower, upper), each of shape (n,), or None
            None when there is no such point.
        """
        problem, run = self._problem, propagate if in_turn else propagate_at_once
        low = np.array(problem.lower if lower is None else lower, dtype=float)
        high = np.array(problem.upper if upper is None else upper, dtype=float)
        form_low, form_high = self._low.copy(), self._high.copy()
        if cutoff is not None:
            form_high[self._objective] = self._sign * (cutoff - problem.offset)
        if not len(self._binary):
            left = run(self._forms, low, high, form_low, form_high, rounds)
            return self._without_far_ends(low, high) if left else None
        at, (below, above) = self._conditional, self._sides.T
        left = rounds
        while True:
            given = low.copy(), high.copy()
            before = low[self._binary] == 1.0
            form_low[at[before]] = np.maximum(form_low[at[before]], below[before])
            form_high[at[before]] = np.minimum(form_high[at[before]], above[before])
            if not run(self._forms, low, high, form_low, form_high, rounds if in_turn else 1):
                return None
            left -= 1
            for under, over in ((below, form_high[at]), (form_low[at], above)):
                ends = np.where(np.isfinite([under, over]), np.abs([under, over]), 1.0)
                never = self._binary[under > over + EMPTY * np.maximum(1.0, ends.max(axis=0))]
                if (low[never] == 1.0).any():
                    return None
                high[never] = 0.0
            ended = (before == (low[self._binary] == 1.0)).all()
            if not in_turn:
                # The checker looks at indicators in each of its rounds.
                ended = left == 0 or not _moved(given, (low, high))
            if ended:
                return self._without_far_ends(low, high)

    def _without_far_ends(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Open ends of continuous variables that are so far away that they say nothing."""
        below, above = self._endless
        if len(below):
            low[below[low[below] < -FAR_END]] = -np.inf
        if len(above):
            high[above[high[above] > FAR_END]] = np.inf
        return low, high


@compiled
def propagate(
    forms: Forms, low: Array, high: Array, form_low: Array, form_high: Array, rounds: int
) -> bool:
    """Tighten all bounds in place; False when nothing is left.

    Parameters
    ----------
    forms : Forms
    low, high : arrays of shape (n,)
        Of the variables.
    form_low, form_high : arrays of shape (m,)
    rounds : int
    """
    n, m = low.shape[0], form_low.shape[0]
    if not settled(forms.whole, low, high):
        return False
    old_low, old_high = np.empty(n), np.empty(n)
    sums, counts = np.empty(2 * m), np.empty(2 * m, np.int64)
    for _ in range(rounds):
        for j in range(n):
            old_low[j], old_high[j] = low[j], high[j]
        sum_up(forms, low, high, form_low, form_high, sums, counts)
        minors(forms, form_low, form_high)
        bound_traces(forms, low, high, form_low, form_high)
        if crossed(form_low, form_high):
            return False
        solve_forms(forms, old_low, old_high, form_low, form_high, sums, counts, low, high)
        if not settled(forms.whole, low, high):
            return False
        if not moved(old_low, low) and not moved(old_high, high):
            break
    return True


@compiled_inside(once=True)
def sum_up(
    forms: Forms,
    low: Array,
    high: Array,
    form_low: Array,
    form_high: Array,
    sums: Array,
    counts: Array,
) -> None:
    """Bound each form by the bounds of its variables: its activities.

    `sums` (2 m,) gets the finite parts of the least and of the largest values, `counts` (2 m,) how
    many terms are infinite.
    """
    for i in range(form_low.shape[0]):
        constant = forms.constant[i]
        below, above, size, size_above = constant, constant, abs(constant), abs(constant)
        counts[2 * i], counts[2 * i + 1] = 0, 0
        for e in range(forms.ptr[i], forms.ptr[i + 1]):
            v, j = forms.value[e], forms.column[e]
            least = v * (low[j] if v > 0.0 else high[j])
            most = v * (high[j] if v > 0.0 else low[j])
            if abs(least) < np.inf:
                below += least
                size += abs(least)
            else:
                counts[2 * i] += 1
            if abs(most) < np.inf:
                above += most
                size_above += abs(most)
            else:
                counts[2 * i + 1] += 1
        sums[2 * i] = below - 2.0 * forms.rounding[i] * size
        sums[2 * i + 1] = above + 2.0 * forms.rounding[i] * size_above
        if counts[2 * i] == 0:
            form_low[i] = max(form_low[i], sums[2 * i])
        if counts[2 * i + 1] == 0:
            form_high[i] = min(form_high[i], sums[2 * i + 1])


@compiled_inside(once=True)
def bound_traces(forms: Forms, low: Array, high: Array, form_low: Array, form_high: Array) -> None:
    """Bound the diagonals of matrix variables by their traces."""
    for t in range(forms.traces.shape[0]):
        form, positive = forms.traces[t], forms.trace_least[t] > 0.0
        end = form_high[form] if positive else -form_low[form]
        rest, size = 0.0, abs(end)
        for p in range(forms.rest_ptr[t], forms.rest_ptr[t + 1]):
            v, j = forms.value[forms.rest[p]], forms.column[forms.rest[p]]
            part = v * (low[j] if (v > 0.0) == positive else high[j])
            rest += part if positive else -part
            size += abs(part)
        if size < np.inf:
            count = forms.rest_ptr[t + 1] - forms.rest_ptr[t]
            room = end - rest + (count + 4.0) * _EPS * size
            top = max(0.0, room / abs(forms.trace_least[t]) * (1.0 + 4.0 * _EPS))
            for p in range(forms.diagonal_ptr[t], forms.diagonal_ptr[t + 1]):
                high[forms.diagonal[p]] = min(high[forms.diagonal[p]], top)


@compiled_inside(once=True)
def solve_forms(
    forms: Forms,
    old_low: Array,
    old_high: Array,
    form_low: Array,
    form_high: Array,
    sums: Array,
    counts: Array,
    low: Array,
    high: Array,
) -> None:
    """Bound each variable by its forms: v x <= form_high - (least of the rest), and from below."""
    for i in range(form_low.shape[0]):
        for e in range(forms.ptr[i], forms.ptr[i + 1]):
            v, j = forms.value[e], forms.column[e]
            least = v * (old_low[j] if v > 0.0 else old_high[j])
            most = v * (old_high[j] if v > 0.0 else old_low[j])
            endless = not abs(least) < np.inf
            if counts[2 * i] - endless == 0 and form_high[i] < np.inf:
                end = form_high[i] - (sums[2 * i] - (0.0 if endless else least))
                end = (end + 4.0 * _EPS * abs(end)) / v
                if v > 0.0:
                    high[j] = min(high[j], end + 4.0 * _EPS * abs(end))
                else:
                    low[j] = max(low[j], end - 4.0 * _EPS * abs(end))
            endless = not abs(most) < np.inf
            if counts[2 * i + 1] - endless == 0 and form_low[i] > -np.inf:
                end = form_low[i] - (sums[2 * i + 1] - (0.0 if endless else most))
                end = (end - 4.0 * _EPS * abs(end)) / v
                if v > 0.0:
                    low[j] = max(low[j], end - 4.0 * _EPS * abs(end))
                else:
                    high[j] = min(high[j], end + 4.0 * _EPS * abs(end))


@compiled_inside
def moved(old: Array, new: Array) -> bool:
    """Return whether a bound has become finite, or moved by more than 1e-3 of its size."""
    for j in range(new.shape[0]):
        if (abs(old[j]) == np.inf) != (abs(new[j]) == np.inf):
            return True
        if abs(new[j]) < np.inf and abs(new[j] - old[j]) > 1e-3 * max(abs(old[j]), 1.0):
            return True
    return False


@compiled_inside
def minors(forms: Forms, form_low: Array, form_high: Array) -> None:
    """Bound the entries beside the diagonal, and the tails of cones, by what is on it."""
    for t in range(forms.cones.shape[0] // 3):
        begin, end = forms.cones[3 * t], forms.cones[3 * t + 1]
        rotated = forms.cones[3 * t + 2] == 1
        size = max(form_high[begin], 0.0)
        if rotated:
            other = max(form_high[begin + 1], 0.0)
            # An open end is finite at any point: times zero it is zero.
            size = sqrt(2.0 * size * other) if min(size, other) > 0.0 else 0.0
        size *= 1.0 + 4.0 * _EPS
        if size < np.inf:
            for i in range(begin + (2 if rotated else 1), end):
                form_low[i] = max(form_low[i], -size)
                form_high[i] = min(form_high[i], size)
    for t in range(forms.blocks.shape[0] // 2):
        at, n = forms.blocks[2 * t], forms.blocks[2 * t + 1]
        column = at
        for c in range(n):
            first = max(form_high[column], 0.0)
            below = column + n - c
            for r in range(c + 1, n):
                second = max(form_high[below], 0.0)
                below += n - r
                size = 0.0
                if min(first, second) > 0.0:
                    size = sqrt(first) * sqrt(second) * (1.0 + 4.0 * _EPS)
                i = column + r - c
                form_low[i] = max(form_low[i], -size)
                form_high[i] = min(form_high[i], size)
            column += n - c


@compiled_inside
def settled(whole: Array, low: Array, high: Array) -> bool:
    """Round the bounds of integers; False when a pair has crossed."""
    for j in range(low.shape[0]):
        if whole[j]:
            # What is whole needs no room for rounding errors.
            if ceil(low[j]) > low[j]:
                low[j] = ceil(low[j] - max(_PART * abs(low[j]), _LEAST))
            if floor(high[j]) < high[j]:
                high[j] = floor(high[j] + max(_PART * abs(high[j]), _LEAST))
            if low[j] > high[j]:
                return False
    if crossed(low, high):
        return False
    for j in range(low.shape[0]):
        if low[j] > high[j]:
            low[j], high[j] = high[j], low[j]
    return True


@compiled_inside
def crossed(low: Array, high: Array) -> bool:
    """Return whether the ends of an interval have crossed by more than rounding."""
    for j in range(low.shape[0]):
        if low[j] == np.inf:
            return True
        if low[j] > high[j] and low[j] - high[j] > EMPTY * max(abs(low[j]), abs(high[j]), 1.0):
            return True
    return False


@propagate.in_numpy
def propagate_at_once(
    forms: Forms, low: Array, high: Array, form_low: Array, form_high: Array, rounds: int
) -> bool:
    """Tighten all bounds in place, each round from those before it; False when nothing is left.

    Parameters
    ----------
    forms, low, high, form_low, form_high, rounds
        As in :func:`propagate`.
    """
    plain = _Plain(forms)
    if not plain.settle(low, high):
        return False
    for _ in range(rounds):
        before = low.copy(), high.copy()
        if not plain.round(low, high, form_low, form_high):
            return False
        if not _moved(before, (low, high)):
            break
    return True


class _Plain:
    """The same in array operations."""

    def __init__(self, forms: Forms) -> None:
        self._forms = forms
        self._row = np.repeat(np.arange(len(forms.constant)), np.diff(forms.ptr))
        self._column, self._value = forms.column, forms.value
        self._constant, self._rounding = forms.constant, forms.rounding
        self._whole = forms.whole.astype(bool)
        self._cones = [
            (slice(begin, end), bool(rotated)) for begin, end, rotated in forms.cones.reshape(-1, 3)
        ]
        self._blocks = []
        for begin, size in forms.blocks.reshape(-1, 2).tolist():
            rows, columns = triangle(size)
            diagonal = np.flatnonzero(rows == columns)
            self._blocks.append((slice(begin, begin + len(rows)), rows, columns, diagonal))
        self._traces = [
            _Trace(
                int(form),
                forms.diagonal[forms.diagonal_ptr[t] : forms.diagonal_ptr[t + 1]],
                forms.rest[forms.rest_ptr[t] : forms.rest_ptr[t + 1]],
                float(forms.trace_least[t]),
            )
            for t, form in enumerate(forms.traces)
        ]

    def round(self, low: Array, high: Array, form_low: Array, form_high: Array) -> bool:
        """Tighten all bounds in place; False when nothing is left."""
        column, value = self._column, self._value
        positive = value > 0.0
        least = value * np.where(positive, low[column], high[column])
        most = value * np.where(positive, high[column], low[column])
        below = _Activity(self._row, least, self._constant, self._rounding)
        above = _Activity(self._row, -most, -self._constant, self._rounding)
        np.maximum(form_low, below.total, out=form_low)
        np.minimum(form_high, -above.total, out=form_high)
        self._minors(form_low, form_high)
        for trace in self._traces:
            _bound_trace(trace, least, most, form_low, form_high, high)
        if _crossed(form_low, form_high):
            return False
        # value * x <= form_high - (least of the rest), and likewise from below.
        end_high = _outward(form_high[self._row] - below.without(), 1.0) / value
        end_low = _outward(form_low[self._row] + above.without(), -1.0) / value
        new_high = np.where(positive, end_high, end_low)
        new_low = np.where(positive, end_low, end_high)
        np.minimum.at(high, column, _outward(new_high, 1.0))
        np.maximum.at(low, column, _outward(new_low, -1.0))
        return self.settle(low, high)

    def _minors(self, form_low: Array, form_high: Array) -> None:
        """Bound the entries beside the diagonal, and the tails of cones, by what is on it."""
        for here, rotated in self._cones:
            top = np.maximum(form_high[here], 0.0)
            # An open end is finite at any point: times zero it is zero.
            size = top[0]
            if rotated:
                size = np.sqrt(2.0 * top[0] * top[1]) if top[:2].min() > 0.0 else 0.0
            if np.isfinite(size):
                tail = slice(here.start + (2 if rotated else 1), here.stop)
                _within(form_low, form_high, tail, size)
        for here, rows, columns, diagonal in self._blocks:
            top = np.sqrt(np.maximum(form_high[here][diagonal], 0.0))
            with np.errstate(invalid="ignore"):
                sizes = top[rows] * top[columns]
            sizes = np.where(np.isnan(sizes), 0.0, sizes)
            sizes[diagonal] = np.inf
            _within(form_low, form_high, here, sizes)

    def settle(self, low: Array, high: Array) -> bool:
        """Round the bounds of integers; False when a pair has crossed."""
        whole = self._whole
        for end, rounded, sign in ((low, np.ceil, -1.0), (high, np.floor, 1.0)):
            given = end[whole]
            with np.errstate(invalid="ignore"):
                moved = rounded(given + sign * np.fmax(_PART * np.abs(given), _LEAST))
            end[whole] = np.where(given == np.rint(given), given, moved)
        if (low[whole] > high[whole]).any() or _crossed(low, high):
            return False
        wrong = low > high
        low[wrong], high[wrong] = high[wrong], low[wrong]
        return True


def _joined(parts: list[Array]) -> tuple[Array, Array]:
    """Return where each part begins, and all parts behind each other."""
    ptr = np.cumsum([0, *map(len, parts)], dtype=np.int64)
    return ptr, np.concatenate([np.zeros(0, np.int64), *parts]).astype(np.int64)


class _Activity:
    """The least value of each form, and of each form without one of its entries."""

    def __init__(self, row: Array, least: Array, constant: Array, rounding: Array) -> None:
        forms = len(constant)
        self._row = row
        self._endless = np.isinf(least)
        self._finite = np.where(self._endless, 0.0, least)
        self._count = np.bincount(row[self._endless], minlength=forms)
        total = np.bincount(row, self._finite, minlength=forms) + constant
        size = np.bincount(row, np.abs(self._finite), minlength=forms) + np.abs(constant)
        self._sum = total - 2.0 * rounding * size
        self.total = np.where(self._count > 0, -np.inf, self._sum)

    def without(self) -> Array:
        """Return the least value of the rest of its form, for each entry."""
        others = self._count[self._row] - self._endless
        return np.where(others > 0, -np.inf, self._sum[self._row] - self._finite)


def _bound_trace(
    trace: _Trace, least: Array, most: Array, form_low: Array, form_high: Array, high: Array
) -> None:
    """Bound the diagonal by what a form with a definite matrix leaves for the trace."""
    positive = trace.least > 0.0
    rest = least[trace.rest] if positive else -most[trace.rest]
    end = form_high[trace.form] if positive else -form_low[trace.form]
    size = abs(end) + float(np.abs(rest).sum())
    if np.isfinite(size):
        room = end - float(rest.sum()) + (len(rest) + 4.0) * _EPS * size
        trace_end = max(0.0, room / abs(trace.least) * (1.0 + 4.0 * _EPS))
        high[trace.diagonal] = np.minimum(high[trace.diagonal], trace_end)


def _within(form_low: Array, form_high: Array, here: slice, size: Array | float) -> None:
    size = np.asarray(size) * (1.0 + 4.0 * _EPS)
    form_low[here] = np.maximum(form_low[here], -size)
    form_high[here] = np.minimum(form_high[here], size)


def _outward(value: Array, sign: float) -> Array:
    """Return the values moved by a few units of rounding."""
    with np.errstate(over="ignore"):
        return np.asarray(value + sign * 4.0 * _EPS * np.abs(value))


def _crossed(low: Array, high: Array) -> bool:
    both = np.isfinite(low) & np.isfinite(high)
    size = np.maximum(np.maximum(np.abs(low), np.abs(high)), 1.0)
    return bool((low[both] > (high + EMPTY * size)[both]).any() or (low == np.inf).any())


def _moved(before: tuple[Array, Array], after: tuple[Array, Array]) -> bool:
    """Return whether a bound became finite, or moved by more than a thousandth of its size."""
    for old, new in zip(before, after, strict=True):
        if (np.isinf(old) != np.isinf(new)).any():
            return True
        finite = np.isfinite(new)
        step = np.abs(new[finite] - old[finite])
        if (step > 1e-3 * np.maximum(np.abs(old[finite]), 1.0)).any():
            return True
    return False
