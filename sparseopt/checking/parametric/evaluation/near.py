"""Exactly feasible points beside one that rounding may have moved out of its domains.

The entries of A theta are sums of terms that may be much larger than the domain they are to lie in:
then theta as floating-point numbers lies in it for no choice of its last digits, whatever it was
rounded from. As long as a point beside it, off by less than 1e-9 of each coefficient, is feasible
in rational arithmetic, the claim about it is one about its rounding.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from sparseopt.checking.parametric.evaluation.point import PrimalPoint, rounding_errors
from sparseopt.checking.parametric.evaluation.rational import (
    STEP,
    Budget,
    entries,
    fractions_of,
    solve_near,
)
from sparseopt.checking.tolerances import SEGMENT
from sparseopt.checking.work import bits_of, fraction_seconds, spend
from sparseopt.problems.base import Array

_ROUNDS = 8
"""How often rows are added that a change for others moves out."""


def feasible_nearby(point: PrimalPoint, lam: float) -> float | None:
    """Return what the objective of a feasible point near this one may differ by, at most.

    Rows that are outside their domain are brought to its end by coefficients that are not zero; all
    others, and the coefficients, have to stay inside.

    Parameters
    ----------
    point : PrimalPoint
    lam : float

    Returns
    -------
    float or None
        None where there is no such point, or where finding it takes too long.
    """
    program, pieces, p = point.program, point.pieces, point.program.A.shape[1]
    low, high = pieces.domain(lam)
    kinks = np.abs(pieces.kink) + np.abs(lam * pieces.kink_rate)
    ends = np.maximum.reduceat(kinks, pieces.ptr[:-1])
    error = rounding_errors(point.size + ends)[p:]
    theta, rows = point.z[:p], point.z[p:]
    inside = np.clip(theta, low[:p], high[:p])
    support, budget = np.flatnonzero(inside), Budget()
    given = values = fractions_of(inside[support])
    moved, equations = np.abs(inside - theta), dict[int, dict[int, Fraction]]()
    tight: dict[int, Fraction] = {}
    for _ in range(_ROUNDS):
        if (moved > SEGMENT * np.abs(theta)).any():
            return None
        reach = error + program.A.abs_matvec(moved)
        unclear = (rows - reach < low[p:]) | (rows + reach > high[p:])
        new = [i for i in np.flatnonzero(unclear).tolist() if i not in equations]
        block = entries(program.A, np.array(new, dtype=np.int64), support, budget)
        if block is None:
            return None
        equations |= dict(zip(new, block, strict=True))
        if not _affordable(equations, values, budget):
            return None
        outside = _outside(point, equations, values, lam)
        if not outside:
            return _cost(point, moved, lam) if _stays(point, support, values, lam) else None
        tight |= outside
        some = [equations[i] for i in tight]
        found = solve_near(some, [list(tight.values())], [given], budget)
        if found is None:
            return None
        values = found[0]
        moved[support] = [
            abs(float(new - Fraction(old)))
            for new, old in zip(values, theta[support].tolist(), strict=True)
        ]
    return None


def _affordable(
    equations: dict[int, dict[int, Fraction]], values: list[Fraction], budget: Budget
) -> bool:
    """Count the work of evaluating rows, and return whether the budget allows it."""
    longest = max(map(bits_of, values), default=0)
    seconds = sum(
        2.0 * len(row) * fraction_seconds(max(map(bits_of, row.values()), default=0), longest)
        for row in equations.values()
    )
    if not budget.take(int(seconds / STEP)):
        return False
    spend(seconds)
    return True


def _outside(
    point: PrimalPoint,
    equations: dict[int, dict[int, Fraction]],
    values: list[Fraction],
    lam: float,
) -> dict[int, Fraction]:
    """Return the rows that are outside their domains, and the ends that they are beyond."""
    p, found = point.program.A.shape[1], {}
    for i, row in equations.items():
        value = sum((a * values[j] for j, a in row.items()), Fraction(0))
        low, high = _domain(point, p + i, lam)
        if low is not None and value < low:
            found[i] = low
        elif high is not None and value > high:
            found[i] = high
    return found


def _domain(
    point: PrimalPoint, coordinate: int, lam: float
) -> tuple[Fraction | None, Fraction | None]:
    """Return both ends of a coordinate's domain, exactly; None where there is none."""
    pieces = point.pieces
    first, last = int(pieces.ptr[coordinate]), int(pieces.ptr[coordinate + 1]) - 1
    slopes = int(pieces.slope_ptr[coordinate]), int(pieces.slope_ptr[coordinate + 1]) - 1
    ends: list[Fraction | None] = []
    for kink, slope in zip((first, last), slopes, strict=True):
        at = Fraction(float(pieces.kink[kink])) + Fraction(lam) * Fraction(
            float(pieces.kink_rate[kink])
        )
        ends.append(at if np.isinf(pieces.slope[slope]) else None)
    return ends[0], ends[1]


def _stays(point: PrimalPoint, support: Array, values: list[Fraction], lam: float) -> bool:
    """Return whether coefficients lie in their domains."""
    for j, value in zip(support.tolist(), values, strict=True):
        low, high = _domain(point, j, lam)
        if (low is not None and value < low) or (high is not None and value > high):
            return False
    return True


def _cost(point: PrimalPoint, moved: Array, lam: float) -> float:
    """Return the most by which a move of coefficients changes the objective."""
    pieces = point.pieces
    slopes = np.abs(pieces.slopes_at(lam))
    slopes[np.isinf(slopes)] = 0.0
    steepest = np.maximum.reduceat(slopes, pieces.slope_ptr[:-1])
    return float(steepest @ np.concatenate([moved, point.program.A.abs_matvec(moved)]))
