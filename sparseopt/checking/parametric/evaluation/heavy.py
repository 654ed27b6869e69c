"""Objective values of points that fit heavy rows, without the rounding errors of these.

A residual that vanishes in a row with a weight of 1e10 has rounding errors that may be larger than
the rest of the objective. The row's value at the numbers of the point is known all the same: it is
computed in rational arithmetic.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from sparseopt.checking.parametric.evaluation.point import (
    PrimalPoint,
    Scales,
    errors_of_terms,
    offset_at,
    terms_of,
)
from sparseopt.checking.parametric.evaluation.rational import Budget, entries, fractions_of
from sparseopt.checking.tolerances import OBJECTIVE
from sparseopt.checking.work import bits_of, fraction_seconds, spend
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.pieces import Pieces


def known_value(
    point: PrimalPoint, lam: float, value: float, scales: Scales
) -> tuple[float, float]:
    """Return the objective's value, and how far errors of the arithmetic may have moved it.

    Rows that may be off by more than the tolerance are evaluated anew.

    Parameters
    ----------
    point : PrimalPoint
    lam : float
    value : float
        As computed in double precision, in the canonical (minimising) sense.
    scales : Scales
        Of the point.

    Returns
    -------
    value, rounding : float
    """
    allowed = OBJECTIVE * max(abs(value), scales.data_size)
    if scales.rounding <= allowed or not np.isfinite(scales.rounding):
        return value, scales.rounding
    p = point.program.A.shape[1]
    values, slopes, sizes = terms_of(point, lam)
    errors = errors_of_terms(point, values + slopes * sizes)
    rows = np.flatnonzero(errors[p:] > 0.1 * allowed / len(errors))
    exact = _exact_values(point, lam, rows)
    if exact is None:
        return value, scales.rounding
    values = point.pieces.value(point.z, lam)
    values[p + rows] = exact
    errors[p + rows] = errors_of_terms(point, np.abs(exact))
    offset, offset_size = offset_at(point.program, lam)
    rounding = errors.sum() + errors_of_terms(point, np.array([offset_size]))[0]
    return float(values.sum()) + offset, float(rounding)


def _exact_values(point: PrimalPoint, lam: float, rows: Array) -> Array | None:
    """Return the values of rows, rounded once; None where that takes too long."""
    p, theta = point.program.A.shape[1], point.z[: point.program.A.shape[1]]
    support = np.flatnonzero(theta)
    found = entries(point.program.A, rows, support, Budget())
    if found is None:
        return None
    given = fractions_of(theta[support])
    longest = max(map(bits_of, given), default=0)
    for row in found:
        most = max(map(bits_of, row.values()), default=0)
        spend(2.0 * len(row) * fraction_seconds(most, longest))
    sums = [sum((a * given[j] for j, a in row.items()), Fraction(0)) for row in found]
    pairs = zip((p + rows).tolist(), sums, strict=True)
    return np.array([_exact_value(point.pieces, i, z, lam) for i, z in pairs])


def _exact_value(pieces: Pieces, i: int, z: Fraction, lam: float) -> float:
    """Return f_i(z); points outside the domain are moved to its end first."""
    first, last = int(pieces.ptr[i]), int(pieces.ptr[i + 1])
    kinks = _at(pieces.kink[first:last], pieces.kink_rate[first:last], lam)
    first, last = int(pieces.slope_ptr[i]), int(pieces.slope_ptr[i + 1])
    outer = np.isinf(pieces.slope[[first, last - 1]])
    slopes = np.where(np.isinf(pieces.slope[first:last]), 0.0, pieces.slope[first:last])
    z = max(z, kinks[0]) if outer[0] else z
    z = min(z, kinks[-1]) if outer[1] else z
    zero, total = kinks[int(pieces.zeros[i])], Fraction(0)
    ends = [min(z, zero, kinks[0]), *kinks, max(z, zero, kinks[-1])]
    low, high = min(z, zero), max(z, zero)
    for k, slope in enumerate(_at(slopes, pieces.slope_rate[first:last], lam)):
        begin, end = max(ends[k], low), min(ends[k + 1], high)
        total += slope * max(end - begin, Fraction(0))
    return float(total if z >= zero else -total)


def _at(constants: Array, rates: Array, lam: float) -> list[Fraction]:
    pairs = zip(fractions_of(constants), fractions_of(rates), strict=True)
    return [constant + Fraction(lam) * rate for constant, rate in pairs]
