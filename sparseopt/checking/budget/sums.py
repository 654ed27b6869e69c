"""Sums of losses and their dual bounds, in whole numbers where rounding would count.

Tables in double precision are integers in one small unit, so sums of their entries are exact. That
takes some hundred times as long as floating point, and is done where rounding may exceed a part of
what the checker allows.
"""

from __future__ import annotations

import numpy as np

from sparseopt.checking.cancelling import LAST_DIGITS
from sparseopt.checking.tolerances import SUM, prevailing
from sparseopt.checking.work import spend
from sparseopt.paths.budget import BudgetPath
from sparseopt.problems.base import Array
from sparseopt.problems.budget.tables import BudgetTables
from sparseopt.problems.whole_numbers import whole_numbers

_PART = 1e-2
"""Part of what is allowed up to which rounding errors do not count."""
SECOND = 3e-7
"""Seconds of an operation on whole numbers."""
_UNIT = float(np.finfo(float).eps)


def tolerances(
    problem: BudgetTables, path: BudgetPath, value: Array, *, fitted: bool
) -> tuple[Array, float]:
    """Return what numbers of each budget may be off by, and beyond what they are surely false.

    Parameters
    ----------
    problem : BudgetTables
    path : BudgetPath
    value : array of shape (B,)
        The losses of each budget.
    fitted : bool
        Whether losses are those of fits, which are rounded beside what they are without neighbours.
    """
    sizes, tiny = np.abs(problem.values), np.finfo(float).tiny
    total = float(sizes.sum())
    if fitted:
        least = np.full(len(value), SUM * _usual(problem) + _rounding(problem, len(problem.ptr)))
    else:  # what is not chosen says nothing of sums, which are known exactly
        least = LAST_DIGITS * path.sums(sizes, problem.ptr)
    narrow = np.maximum(SUM * np.abs(value), np.maximum(least, tiny))
    return narrow, max(SUM * total, tiny)


def known(problem: BudgetTables, path: BudgetPath, value: Array, *, fitted: bool) -> Array:
    """Return the losses of each budget, anew where rounding may have moved them, shape (B,).

    Parameters
    ----------
    problem : BudgetTables
    path : BudgetPath
    value : array of shape (B,)
        What floating point gives.
    fitted : bool
        As for :func:`tolerances`.
    """
    narrow, _ = tolerances(problem, path, value, fitted=fitted)
    many = len(problem.values) + len(path.changes.node)
    if _rounding(problem, many) <= _PART * float(narrow.min()):
        return value
    spend(SECOND * many)
    numbers, power = whole_numbers(problem.values)
    return rounded(path.sums(numbers, problem.ptr), power)


def known_duals(
    problem: BudgetTables, budgets: Array, multiplier: Array, dual: Array, narrow: Array
) -> Array:
    r"""Return the bounds :math:`Q(\lambda; K)`, anew where rounding may have moved them.

    Parameters
    ----------
    problem : BudgetTables
    budgets, multiplier, dual, narrow : arrays of shape (B,)
        The dual bounds that floating point gives, and what they may be off by.
    """
    anew = np.flatnonzero(blurred(problem, budgets, multiplier, narrow))
    if len(anew) == 0:
        return dual
    dual = dual.copy()
    lams, which = np.unique(multiplier[anew], return_inverse=True)
    spend(SECOND * len(lams) * len(problem.values))
    for at, lam in enumerate(lams.tolist()):
        here = anew[which == at]
        numbers, power = whole_numbers(np.append(problem.values, lam))
        dual[here] = rounded(dual_sums(problem, numbers, budgets[here]), power)
    return dual


def blurred(problem: BudgetTables, budgets: Array, multiplier: Array, narrow: Array) -> Array:
    """Return where rounding of dual bounds is no small part of what is allowed, shape (B,).

    Parameters
    ----------
    problem : BudgetTables
    budgets, multiplier, narrow : arrays of shape (B,)
    """
    prices = _UNIT * multiplier * (float(problem.sizes.sum()) + budgets)
    return np.asarray(_rounding(problem, len(problem.values)) + prices > _PART * narrow)


def dual_sums(problem: BudgetTables, numbers: Array, budgets: Array) -> Array:
    r"""Return the bounds :math:`Q(\lambda; K)` in whole numbers, shape (B,).

    Parameters
    ----------
    problem : BudgetTables
    numbers : array of shape (N + 1,)
        The losses and the multiplier.
    budgets : int array of shape (B,)
    """
    count = np.arange(len(problem.values)) - np.repeat(problem.ptr[:-1], problem.sizes + 1)
    with_price = numbers[:-1] + numbers[-1] * count.astype(object)
    least = np.minimum.reduceat(with_price, problem.ptr[:-1]).sum()
    return np.asarray(least - numbers[-1] * budgets.astype(object))


def left_by_rounding(problem: BudgetTables, budgets: Array, multiplier: Array) -> Array:
    """Return the gaps that multipliers leave because slopes of losses are rounded, shape (B,).

    Parameters
    ----------
    problem : BudgetTables
    budgets, multiplier : arrays of shape (B,)
    """
    spent = np.maximum(budgets, float(problem.sizes.sum()))
    return np.asarray(_UNIT * (multiplier * spent + _usual(problem)))


def _usual(problem: BudgetTables) -> float:
    """Return the sum of all losses, where those far above the others do not count in full."""
    sizes = np.abs(problem.values)
    return float(np.minimum(sizes, prevailing(sizes)).sum())


def _rounding(problem: BudgetTables, many: int) -> float:
    """Return what rounding makes of a sum of so many losses, as errors of either sign add up."""
    return float(_UNIT * np.sqrt(many) * np.abs(problem.values).sum())


def rounded(numbers: Array, power: int) -> Array:
    """Return whole numbers times a power of two below 1, each rounded once.

    Parameters
    ----------
    numbers : array of shape (n,)
    power : int
    """
    return np.array([number / 2**-power for number in numbers.tolist()])
