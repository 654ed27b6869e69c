r"""Bounds of the variables that the constraints of a MISDP imply: the checker's own arithmetic.

Each constraint is a linear form h = a'x + b within an interval: a row, an entry of a matrix (at
least 0 on the diagonal), an entry of a cone (the head at least 0), and with a cutoff the objective.
Four rules are applied in turn:

- interval arithmetic gives bounds of h from bounds of x;
- :math:`|M_{ij}| \le \sqrt{M_{ii} M_{jj}}` in a semidefinite matrix, :math:`|u_i| \le u_0` in a
  cone, :math:`|u_i| \le \sqrt{2 u_0 u_1}` in a rotated one; and where X is a semidefinite matrix of
  variables and C positive definite, :math:`\langle C, X\rangle + d'x \le h` gives
  :math:`X_{ii} \le (h - \min d'x) / \lambda_{\min}(C)`;
- each :math:`x_j` is solved for in each form that holds it, with the others at their worst;
- an indicator's row is such a form where its binary variable is 1; where it cannot hold, that is 0.

Every step is rounded outwards by a bound of the rounding errors made, so what it returns is true
for the numbers of the problem as they stand. The engine has an implementation of its own, which
this one shares nothing with; tests compare the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sparseopt.checking.misdp.lines import variable_sizes
from sparseopt.installed import Deferred
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import (
    SemidefiniteBlock,
    matrix_variable,
    triangle,
    unpack_symmetric,
)
from sparseopt.problems.misdp.problem import MISDP

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = Deferred("scipy.sparse")

_EPS = float(np.finfo(float).eps)
_SMALL = 1e-290
"""Coefficients whose products with ordinary numbers may leave the range of numbers."""
_CROSSED = 1e-9
"""An interval is empty where its ends cross by more than this, relative to their size (at least
the unit of the variable, or of the form): the problem's numbers may have rounding errors."""
_WHOLE = 1e-12, 1e-14
"""What a bound of an integer variable is moved outwards by before it is rounded: the part of its
size, and in any case. Much less than 1 / M for a row y <= M k."""
_FAR = 1e9
"""Ends of continuous variables beyond this are none: what rounding leaves of a reduced cost would
be charged at them."""
_MOVED = 1e-3
"""Another round is worth it where a bound moved by more than this part of its size (at least the
unit of the variable)."""


@dataclass(frozen=True, eq=False)
class _Definite:
    """A form whose coefficients on a matrix of variables make a definite matrix."""

    form: int
    sign: float
    """1 where it is positive definite, -1 where it is negative definite."""
    least: float
    """No eigenvalue is smaller in absolute value."""
    diagonal: Array
    others: sp.csr_array
    """The form's other coefficients, times the sign, shape (1, n)."""


class ImpliedBounds:
    """The linear forms of one problem.

    Parameters
    ----------
    problem : MISDP
    """

    def __init__(self, problem: MISDP) -> None:
        self._problem = problem
        n, m = len(problem.c), problem.A.shape[0]
        sign = 1.0 if problem.sense == "min" else -1.0
        low, high = [problem.row_lower, [-np.inf]], [problem.row_upper, [np.inf]]
        forms, constants = [problem.A, sp.csr_array(sign * problem.c[None])], [np.zeros(m + 1)]
        self._objective, self._sign = m, sign
        self._cones: list[tuple[Array, Array]] = []
        """For each cone the places of its heads and of its tail."""
        self._matrices: list[tuple[Array, Array, Array]] = []
        """For each matrix and each entry beside the diagonal: the places of M_ij, M_ii and M_jj."""
        begin = m + 1
        for cone in problem.cones:
            heads = 2 if cone.rotated else 1
            places = begin + np.arange(cone.dimension)
            self._cones.append((places[:heads], places[heads:]))
            forms.append(cone.F)
            constants.append(cone.g)
            low.append(np.where(np.arange(cone.dimension) < heads, 0.0, -np.inf))
            high.append(np.full(cone.dimension, np.inf))
            begin += cone.dimension
        for block in problem.blocks:
            i, j = triangle(block.size)
            places = begin + np.arange(block.dimension)
            diagonal = places[i == j]
            self._matrices.append((places[i != j], diagonal[i[i != j]], diagonal[j[i != j]]))
            forms.append(block.F)
            constants.append(block.F0)
            low.append(np.where(i == j, 0.0, -np.inf))
            high.append(np.full(block.dimension, np.inf))
            begin += block.dimension
        self._binary = np.array([row.binary for row in problem.indicators], dtype=np.int64)
        self._conditional = begin + np.arange(len(self._binary))
        self._sides = (
            np.array([row.lower for row in problem.indicators]),
            np.array([row.upper for row in problem.indicators]),
        )
        open_ = np.full(len(self._binary), np.inf)
        forms += [row.a for row in problem.indicators]
        constants.append(np.zeros(len(open_)))
        low.append(-open_)
        high.append(open_)
        begin += len(open_)
        F = sp.csr_array(sp.vstack(forms, format="csr"))
        self._b = np.concatenate(constants)
        self._low, self._high = np.concatenate(low), np.concatenate(high)
        self._form = np.repeat(np.arange(begin), np.diff(F.indptr))
        self._variable, self._a = F.indices, F.data
        self._sizes = variable_sizes(problem)
        largest = np.abs(self._b)
        np.maximum.at(largest, self._form, np.abs(self._a) * self._sizes[self._variable])
        self._form_sizes = np.where(largest > 0.0, np.minimum(largest, 1.0), 1.0)
        self._sizes[self._sizes == 0.0] = 1.0
        self._unit = _EPS * (np.diff(F.indptr) + 4.0)
        # Their products lose more than a part of themselves, or are 0 where a library makes the
        # processor take the smallest numbers for 0: nothing follows from their forms.
        bits = np.ascontiguousarray(self._a, dtype=float).view(np.int64) << 1
        self._vanishing = (np.abs(self._a) < _SMALL) & (bits != 0)
        linear = sp.csr_array(sp.vstack(forms[:2], format="csr"))
        self._definite = [d for b in problem.blocks for d in _definite_forms(linear, b, n)]

    def tighten(
        self,
        lower: Array | None = None,
        upper: Array | None = None,
        cutoff: float | None = None,
        rounds: int = 40,
        rows: tuple[Array, Array] | None = None,
    ) -> tuple[Array, Array] | None:
        """Return bounds that hold for every feasible point within the bounds given.

        Parameters
        ----------
        lower, upper : array of shape (n,), optional
            Default: those of the problem.
        cutoff : float, optional
            Only points whose objective is at least as good matter.
        rounds : int, default 40
            How often the rules are applied at most.
        rows : tuple of two arrays of shape (m,), optional
            Bounds of A x. Default: those of the problem.

        Returns
        -------
        tuple of two arrays of shape (n,), or None
            None where no such point exists.
        """
        problem = self._problem
        x = (
            np.array(problem.lower if lower is None else lower, dtype=float),
            np.array(problem.upper if upper is None else upper, dtype=float),
        )
        h = self._low.copy(), self._high.copy()
        if rows is not None:
            h[0][: self._objective], h[1][: self._objective] = rows
        if cutoff is not None:
            h[1][self._objective] = self._sign * (cutoff - problem.offset)
        if not self._round_integers(*x):
            return None
        for _ in range(rounds):
            before = x[0].copy(), x[1].copy()
            self._where_one(x[0], *h)
            ends = np.where(self._a > 0.0, x[0][self._variable], x[1][self._variable])
            opposite = np.where(self._a > 0.0, x[1][self._variable], x[0][self._variable])
            least, rest = self._sums(self._a * ends, self._b)
            negated, negated_rest = self._sums(-self._a * opposite, -self._b)
            np.maximum(h[0], least, out=h[0])
            np.minimum(h[1], -negated, out=h[1])
            self._off_the_diagonal(*h)
            self._traces(*h, *x)
            if _crossed(*h, self._form_sizes):
                return None
            self._where_impossible(x[1], *h)
            # a_j x_j <= h_high - (least of the others), and likewise from below.
            top = _away(h[1][self._form] - rest, 1.0) / self._a
            bottom = _away(h[0][self._form] + negated_rest, -1.0) / self._a
            rising = self._a > 0.0
            top[self._vanishing] = np.where(rising, np.inf, -np.inf)[self._vanishing]
            bottom[self._vanishing] = -top[self._vanishing]
            np.minimum.at(x[1], self._variable, _away(np.where(rising, top, bottom), 1.0))
            np.maximum.at(x[0], self._variable, _away(np.where(rising, bottom, top), -1.0))
            if not self._round_integers(*x):
                return None
            if not any(_moved(*ends, self._sizes) for ends in zip(before, x, strict=True)):
                break
        low, high = x
        low[~problem.integer & np.isinf(problem.lower) & (low < -_FAR)] = -np.inf
        high[~problem.integer & np.isinf(problem.upper) & (high > _FAR)] = np.inf
        return x

    def _where_one(self, lower: Array, low: Array, high: Array) -> None:
        """Give the rows of indicators whose variable is 1 their sides, in place."""
        on = lower[self._binary] == 1.0
        at = self._conditional[on]
        low[at] = np.maximum(low[at], self._sides[0][on])
        high[at] = np.minimum(high[at], self._sides[1][on])

    def _where_impossible(self, upper: Array, low: Array, high: Array) -> None:
        """Set variables of indicators whose rows cannot hold to 0, in place."""
        at = self._conditional
        for below, above in ((self._sides[0], high[at]), (low[at], self._sides[1])):
            size = np.maximum(1.0, np.maximum(np.abs(_finite(below)), np.abs(_finite(above))))
            upper[self._binary[below > above + _CROSSED * size]] = 0.0

    def _sums(self, terms: Array, b: Array) -> tuple[Array, Array]:
        """Return for each form the sum of its terms and b, and for each term that of the others.

        Rounded downwards; a term of -inf makes -inf of each sum that holds it.
        """
        open_ = np.isinf(terms) | self._vanishing
        finite = np.where(open_, 0.0, terms)
        count = np.bincount(self._form, open_, minlength=len(b))
        total: Array = np.bincount(self._form, finite, minlength=len(b)) + b
        size = np.bincount(self._form, np.abs(finite), minlength=len(b)) + np.abs(b)
        total = total - 2.0 * self._unit * size
        others = np.where(count[self._form] - open_ > 0, -np.inf, total[self._form] - finite)
        return np.where(count > 0, -np.inf, total), others

    def _off_the_diagonal(self, low: Array, high: Array) -> None:
        """Bound entries beside the diagonal, and tails of cones, in place."""
        for heads, tail in self._cones:
            top = np.maximum(high[heads], 0.0)
            _limit(low, high, tail, _root(2.0 * top[0], top[1]) if len(heads) == 2 else top[0])
        for places, first, second in self._matrices:
            a, b = np.maximum(high[first], 0.0), np.maximum(high[second], 0.0)
            _limit(low, high, places, _root(a, b))

    def _traces(self, h_low: Array, h_high: Array, lower: Array, upper: Array) -> None:
        """Bound the diagonals of matrices of variables by forms that are definite on them."""
        for definite in self._definite:
            F = definite.others
            ends = np.where(F.data > 0.0, lower[F.indices], upper[F.indices])
            end = h_high[definite.form] if definite.sign > 0.0 else -h_low[definite.form]
            size = abs(end) + float(np.abs(F.data * ends).sum())
            if np.isfinite(size):
                room = end - float((F.data * ends).sum()) + (F.nnz + 4.0) * _EPS * size
                top = max(0.0, room / definite.least * (1.0 + 4.0 * _EPS))
                upper[definite.diagonal] = np.minimum(upper[definite.diagonal], top)

    def _round_integers(self, low: Array, high: Array) -> bool:
        """Round the bounds of integer variables in place; False where a pair crosses."""
        whole = self._problem.integer
        part, least = _WHOLE
        for end, sign in ((low, -1.0), (high, 1.0)):
            # Rounded upwards times the sign; what is whole needs no room for rounding errors.
            given = sign * end[whole]
            moved = np.floor(given + part * np.abs(_finite(given)) + least)
            end[whole] = sign * np.where(given == np.rint(given), given, moved)
        if (low[whole] > high[whole]).any() or _crossed(low, high, self._sizes):
            return False
        low[:], high[:] = np.minimum(low, high), np.maximum(low, high)
        return True


def _definite_forms(linear: sp.csr_array, block: SemidefiniteBlock, n: int) -> list[_Definite]:
    columns = matrix_variable(block)
    if columns is None:
        return []
    i, j = triangle(block.size)
    place = np.full(n, -1)
    place[columns] = np.arange(len(columns))
    diagonal = columns[i == j]
    counts = np.asarray((abs(linear[:, diagonal]) > 0.0).sum(axis=1)).ravel()
    found = []
    for form in np.flatnonzero(counts == block.size).tolist():
        here = slice(linear.indptr[form], linear.indptr[form + 1])
        indices, data = linear.indices[here], linear.data[here]
        at = place[indices]
        entries = np.zeros(len(columns))
        entries[at[at >= 0]] = data[at >= 0]
        matrix = unpack_symmetric(np.where(i == j, entries, entries / 2.0), block.size)
        values = np.linalg.eigvalsh(matrix)
        error = 8.0 * block.size * _EPS * float(np.abs(values).max())
        sign = 1.0 if values[0] > 0.0 else -1.0
        least = float(min(sign * values[0], sign * values[-1])) - error
        if least > 0.0:
            others = sp.csr_array(
                (sign * data[at < 0], indices[at < 0], [0, int((at < 0).sum())]),
                shape=(1, n),
            )
            found.append(_Definite(form, sign, least, diagonal, others))
    return found


def _root(a: Array | float, b: Array | float) -> Array:
    """Return the roots of a b rounded up; 0 where one is 0, as the other is finite at any point."""
    with np.errstate(invalid="ignore"):
        value = np.sqrt(a) * np.sqrt(b) * (1.0 + 4.0 * _EPS)
    return np.where(np.isnan(value), 0.0, value)


def _limit(low: Array, high: Array, places: Array, size: Array) -> None:
    """Limit absolute values in place."""
    low[places] = np.maximum(low[places], -np.asarray(size))
    high[places] = np.minimum(high[places], size)


def _away(value: Array, sign: float) -> Array:
    """Return values moved by four units in the last place, upwards or downwards."""
    with np.errstate(over="ignore"):
        return np.asarray(value + sign * 4.0 * _EPS * np.abs(value))


def _finite(ends: Array) -> Array:
    return np.where(np.isfinite(ends), ends, 0.0)


def _crossed(low: Array, high: Array, unit: Array) -> bool:
    size = np.maximum(unit, np.maximum(np.abs(_finite(low)), np.abs(_finite(high))))
    return bool((low > high + _CROSSED * size).any() or (low == np.inf).any())


def _moved(old: Array, new: Array, unit: Array) -> bool:
    opened = np.isinf(old)
    step = np.abs(np.where(opened, 0.0, new) - np.where(opened, 0.0, old))
    return bool(
        (opened & ~np.isinf(new)).any() or (step > _MOVED * np.maximum(unit, abs(old))).any()
    )
