r"""The standard form of a MISDP: a linear objective, and indicators on single variables only.

Engines solve it, and their certificates are about it; the checker builds it again from the numbers
in the certificate, after it has verified these (:mod:`sparseopt.checking.misdp.standard_form`).

- **Quadratic objective.** With a factor L of shape (n, r), h of shape (r,) and the power of four s,
  for which :math:`s L L' \approx \pm Q`, the minimum of :math:`x'Qx / 2 + c'x` is that of
  :math:`s t + (c - s L h)'x - s h'h / 2` for one more variable t in a rotated cone
  :math:`2 t \ge \|L'x + h\|^2`. With L h = c / s no linear term is left, and values of t bound x.
- **Indicators.** Where the largest value M of a'x is known, :math:`x_k = 1 \Rightarrow a'x \le u`
  is the row :math:`a'x + w x_k \le M` with :math:`w = M - u` rounded down, so that it allows what
  the indicator allows; with M <= u there is none. Where M is not known it becomes
  :math:`a'x - v \le u` for one more variable v >= 0, and :math:`x_k = 1 \Rightarrow v \le 0`.
  Lower sides are treated alike, after the upper ones. An equation stays one, so that there is an
  interior: :math:`a'x - v + v' = u` with v, v' >= 0 that are bounded in the same two ways.

The variables are x, t, then the v in the order of their rows; the rows those of A, then those of
the indicators.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sparseopt.installed import Deferred
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import SecondOrderCone, SemidefiniteBlock
from sparseopt.problems.misdp.indicators import IndicatorConstraint
from sparseopt.problems.misdp.problem import MISDP

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = Deferred("scipy.sparse")

_EPS = float(np.finfo(float).eps)
_TINY = 1e-300
"""More than squares lose that leave the range of numbers."""


class StandardNumbers(NamedTuple):
    """What the standard form is made with, for n variables and k indicators.

    Attributes
    ----------
    factor : array of shape (n, r)
        L; of shape (n, 0) without Q.
    shift : array of shape (r,)
        h.
    costs : array of shape (n,)
        c - s L h for a minimum, c + s L h for a maximum, up to rounding.
    least, most : array of shape (k,)
        The least and the largest value of a'x, infinite where they are not known.
    """

    factor: Array
    shift: Array
    costs: Array
    least: Array
    most: Array


def is_standard(problem: MISDP) -> bool:
    """Return whether a problem has neither indicators nor a quadratic objective.

    Parameters
    ----------
    problem : MISDP
    """
    return not problem.indicators and problem.Q is None


def curvature_unit(problem: MISDP) -> float:
    """Return s: the power of four next to the largest entry of Q, so that its root is exact.

    Parameters
    ----------
    problem : MISDP
        With a Q.
    """
    return float(4.0 ** round(math.log(float(abs(problem.Q).max()), 4.0)))


def standard_problem(problem: MISDP, numbers: StandardNumbers) -> MISDP:
    """Return the standard form.

    Parameters
    ----------
    problem : MISDP
    numbers : StandardNumbers

    Returns
    -------
    MISDP
        Without Q; its indicators, if any, are on single variables.
    """
    n = len(problem.c)
    curved = problem.Q is not None
    rows = _Rows(n + int(curved))
    for i, row in enumerate(problem.indicators):
        rows.take(row, float(numbers.least[i]), float(numbers.most[i]))
    width = n + int(curved) + len(rows.slack_upper)
    cones = [SecondOrderCone(_wider(c.F, width), c.g, c.rotated) for c in problem.cones]
    c, lower, upper, offset = numbers.costs, problem.lower, problem.upper, problem.offset
    if curved:
        cost = curvature_unit(problem) * (1.0 if problem.sense == "min" else -1.0)
        offset -= 0.5 * cost * float(numbers.shift @ numbers.shift)
        head = sp.csr_array(([1.0], ([0], [n])), shape=(2, width))
        tail = _wider(sp.csr_array(numbers.factor.T), width)
        g = np.concatenate([[0.0, 1.0], numbers.shift])
        cones.append(SecondOrderCone(sp.vstack([head, tail], format="csr"), g, rotated=True))
        c = np.append(c, cost)
        lower, upper = np.append(lower, 0.0), np.append(upper, _top(numbers, lower, upper))
    return MISDP(
        c=np.append(c, np.zeros(len(rows.slack_upper))),
        A=sp.vstack([_wider(problem.A, width), rows.matrix(width)], format="csr"),
        row_lower=np.append(problem.row_lower, rows.low),
        row_upper=np.append(problem.row_upper, rows.high),
        lower=np.append(lower, np.zeros(len(rows.slack_upper))),
        upper=np.append(upper, rows.slack_upper),
        integer=np.flatnonzero(problem.integer),
        cones=cones,
        blocks=[
            SemidefiniteBlock(_wider(b.F, width), b.F0, b.size, b.rank_one, b.name)
            for b in problem.blocks
        ],
        sense=problem.sense,
        offset=offset,
        indicators=[
            IndicatorConstraint(
                binary, sp.csr_array(([1.0], ([0], [column])), shape=(1, width)), upper=0.0
            )
            for binary, column in rows.conditional
        ],
    )


class _Rows:
    """The rows of indicators, and their slacks.

    Parameters
    ----------
    first : int
        The column of the first slack.
    """

    def __init__(self, first: int) -> None:
        self._first = first
        self._entries: list[tuple[int, int, float]] = []
        self.low: list[float] = []
        self.high: list[float] = []
        self.slack_upper: list[float] = []
        self.conditional: list[tuple[int, int]] = []
        """Binary variables, and the slacks that are zero where these are one."""

    def matrix(self, width: int) -> sp.csr_array:
        """Return the rows."""
        rows, columns, values = zip(*self._entries, strict=True) if self._entries else ((), (), ())
        shape = len(self.low), width
        return sp.csr_array(sp.coo_array((values, (rows, columns)), shape=shape))

    def take(self, row: IndicatorConstraint, least: float, most: float) -> None:
        """Add what an indicator whose row lies between two values becomes."""
        sides = [
            (sign, end, reach)
            for sign, end, reach in ((1.0, row.upper, most), (-1.0, row.lower, least))
            if np.isfinite(end) and sign * reach > sign * end
        ]
        terms = list(zip(row.a.indices.tolist(), row.a.data.tolist(), strict=True))
        endless = any(np.isinf(reach) for *_, reach in sides)
        if row.lower == row.upper:
            slacks = []
            for sign, end, reach in sides:
                # At least |reach - end|.
                room = np.inf if endless else -_room(-sign * reach, -sign * end)
                slacks.append((self._slack(room, row.binary), -sign))
            self._add(terms + slacks, row.lower, row.upper)
            for column, _ in () if endless else slacks:
                room = self.slack_upper[column - self._first]
                self._add([(column, 1.0), (row.binary, room)], -np.inf, room)
            return
        for sign, end, reach in sides:
            low, high = (-np.inf, end) if sign > 0.0 else (end, np.inf)
            if np.isinf(reach):
                self._add([*terms, (self._slack(np.inf, row.binary), -sign)], low, high)
            else:
                w = sign * _room(sign * reach, sign * end)
                low, high = (-np.inf, reach) if sign > 0.0 else (reach, np.inf)
                self._add([*terms, (row.binary, w)], low, high)

    def _add(self, terms: list[tuple[int, float]], low: float, high: float) -> None:
        self._entries += [(len(self.low), column, value) for column, value in terms]
        self.low.append(low)
        self.high.append(high)

    def _slack(self, upper: float, binary: int) -> int:
        """Return the column of a new slack; without a bound it depends on the binary variable."""
        column = self._first + len(self.slack_upper)
        self.slack_upper.append(upper)
        if np.isinf(upper):
            self.conditional.append((binary, column))
        return column


def _room(reach: float, end: float) -> float:
    """Return reach - end rounded so that reach minus it is not below the end, exactly."""
    room = reach - end
    while math.fsum((reach, -room, -end)) < 0.0:
        room = math.nextafter(room, -math.inf)
    return room


def _top(numbers: StandardNumbers, lower: Array, upper: Array) -> float:
    """Return what t need not exceed within the bounds of x: half of the largest norm, squared.

    Squares below the range of numbers count as its end, so that no t that is needed is left out.
    """
    factor = np.abs(numbers.factor)
    with np.errstate(invalid="ignore", over="ignore"):
        terms = factor * np.maximum(np.abs(lower), np.abs(upper))[:, None]
    ends = np.where(factor == 0.0, 0.0, terms).sum(axis=0) + np.abs(numbers.shift)
    value = 0.5 * float((ends**2).sum())
    rounded = 1.0 + 4.0 * _EPS * (factor.size + 8.0)
    return value * rounded + _TINY if np.isfinite(value) else np.inf


def _wider(matrix: sp.csr_array, width: int) -> sp.csr_array:
    """Return the matrix with empty columns behind its own."""
    shape = matrix.shape[0], width
    return sp.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=shape)
