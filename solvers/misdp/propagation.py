r"""Bounds of variables that the constraints of a MISDP imply.

All constraints are read as linear forms h = B x + b with an interval each: the rows with theirs,
an entry of a diagonal with [0, inf), the head of a cone too, and where there is a cutoff the
objective. From bounds of x follow bounds of each form, and from those of the forms bounds of each x
in them (activities); and

- a positive semidefinite matrix has :math:`|M_{ij}| \le \sqrt{M_{ii} M_{jj}}`,
- a cone has :math:`|u_i| \le u_0`, a rotated one :math:`|u_i| \le \sqrt{2 u_0 u_1}`,
- a form :math:`\langle C, X\rangle + d'x \le h` with X a semidefinite matrix variable and C
  positive definite has :math:`\operatorname{tr} X \le (h - \min d'x) / \lambda_{\min}(C)`.

Every number is rounded outwards, by a multiple of the machine's precision times the sum of the
absolute terms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import (
    matrix_variable,
    triangle,
    triangle_weights,
    unpack_symmetric,
)
from sparseopt.problems.misdp.problem import MISDP

from .settings import EMPTY, INTEGER_BOUND

__all__ = ["Propagation"]

_EPS = float(np.finfo(float).eps)


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
        B = sp.csr_array(sp.vstack(parts, format="csr"))
        self._constant = np.concatenate(
            [np.zeros(m + 1), *(c.g for c in problem.cones), *(b.F0 for b in problem.blocks)]
        )
        self._objective = m
        self._low = np.full(B.shape[0], -np.inf)
        self._high = np.full(B.shape[0], np.inf)
        self._low[:m], self._high[:m] = problem.row_lower, problem.row_upper
        self._cones: list[tuple[slice, bool]] = []
        self._blocks: list[tuple[slice, Array, Array, Array]] = []
        begin = m + 1
        for cone in problem.cones:
            self._low[begin : begin + (2 if cone.rotated else 1)] = 0.0
            self._cones.append((slice(begin, begin + cone.dimension), cone.rotated))
            begin += cone.dimension
        for block in problem.blocks:
            rows, columns = triangle(block.size)
            here = slice(begin, begin + block.dimension)
            diagonal = np.flatnonzero(rows == columns)
            self._low[here][diagonal] = 0.0
            self._blocks.append((here, rows, columns, diagonal))
            begin += block.dimension
        self._row = np.repeat(np.arange(B.shape[0]), np.diff(B.indptr))
        self._column, self._value = np.asarray(B.indices), np.asarray(B.data)
        # Summing k terms in floating point errs by at most k units of the sum of their sizes.
        self._rounding = (np.diff(B.indptr) + 4.0) * _EPS
        self._traces = self._definite_forms(B)

    def _definite_forms(self, B: sp.csr_array) -> list[_Trace]:
        found = []
        for block in self._problem.blocks:
            columns = matrix_variable(block)
            if columns is None:
                continue
            place = np.full(B.shape[1], -1)
            place[columns] = np.arange(len(columns))
            rows, others = triangle(block.size)
            # A definite matrix has no zero on its diagonal.
            on = np.isin(self._column, columns[rows == others])
            counts = np.bincount(self._row[on], minlength=self._objective + 1)
            for form in np.flatnonzero(counts[: self._objective + 1] == block.size).tolist():
                entries = np.arange(B.indptr[form], B.indptr[form + 1])
                at = place[self._column[entries]]
                packed = np.zeros(len(columns))
                packed[at[at >= 0]] = self._value[entries[at >= 0]]
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

        Returns
        -------
        (lower, upper), each of shape (n,), or None
            None when there is no such point.
        """
        problem = self._problem
        low = np.array(problem.lower if lower is None else lower, dtype=float)
        high = np.array(problem.upper if upper is None else upper, dtype=float)
        form_low, form_high = self._low.copy(), self._high.copy()
        if cutoff is not None:
            form_high[self._objective] = self._sign * (cutoff - problem.offset)
        if not self._settle(low, high):
            return None
        for _ in range(rounds):
            before = low.copy(), high.copy()
            if not self._round(low, high, form_low, form_high):
                return None
            if not _moved(before, (low, high)):
                break
        return low, high

    def _round(self, low: Array, high: Array, form_low: Array, form_high: Array) -> bool:
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
        return self._settle(low, high)

    def _minors(self, form_low: Array, form_high: Array) -> None:
        """Bound the entries beside the diagonal, and the tails of cones, by what is on it."""
        for here, rotated in self._cones:
            top = np.maximum(form_high[here], 0.0)
            # An open end times zero bounds nothing.
            with np.errstate(invalid="ignore"):
                size = np.sqrt(2.0 * top[0] * top[1]) if rotated else top[0]
            if np.isfinite(size):
                tail = slice(here.start + (2 if rotated else 1), here.stop)
                _within(form_low, form_high, tail, size)
        for here, rows, columns, diagonal in self._blocks:
            top = np.sqrt(np.maximum(form_high[here][diagonal], 0.0))
            with np.errstate(invalid="ignore"):
                sizes = top[rows] * top[columns]
            sizes = np.where(np.isnan(sizes), np.inf, sizes)
            sizes[diagonal] = np.inf
            _within(form_low, form_high, here, sizes)

    def _settle(self, low: Array, high: Array) -> bool:
        """Round the bounds of integers; False when a pair has crossed."""
        whole = self._problem.integer
        part, least = INTEGER_BOUND
        with np.errstate(invalid="ignore"):
            low[whole] = np.ceil(low[whole] - np.fmax(part * np.abs(low[whole]), least))
            high[whole] = np.floor(high[whole] + np.fmax(part * np.abs(high[whole]), least))
        if _crossed(low, high):
            return False
        wrong = low > high
        low[wrong], high[wrong] = high[wrong], low[wrong]
        return True


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
