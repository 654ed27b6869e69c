"""Sums whose terms may cancel, with bounds of their rounding errors.

A point may be chosen so that its objective value is what rounding leaves of terms that cancel. So
the errors are bounded, and where the bound is too large the sum is computed anew in 106 bits.
"""

from __future__ import annotations

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.proofs.double_double import EPSILON, DoubleDouble

_UNIT = float(np.finfo(float).eps)
LAST_DIGITS = 2.0**-92
"""A value below this part of its terms, the square of their last two digits, counts as 0."""


def combination(
    columns: Array, weights: Array | DoubleDouble, less: Array, *, precise: bool = False
) -> tuple[Array, Array]:
    """Return a weighted sum of columns less a vector, and bounds of its rounding errors.

    Parameters
    ----------
    columns : array of shape (n, k)
    weights : array of shape (k,)
        In the 106 bits of ``precise`` they may have as many.
    less : array of shape (n,)
    precise : bool, default False
        Whether to add up in 106 bits.

    Returns
    -------
    values, errors : arrays of shape (n,)
    """
    plain = weights.high if isinstance(weights, DoubleDouble) else weights
    terms = np.abs(columns) @ np.abs(plain) + np.abs(less)
    count = len(plain) + 4.0
    if not precise:
        return columns @ plain - less, count * _UNIT * terms
    if not isinstance(weights, DoubleDouble):
        weights = DoubleDouble(weights)
    total = (DoubleDouble(columns.T) * weights[:, None]).sum() - less
    return total.high, count * EPSILON * terms + _UNIT * np.abs(total.high)


def square(values: Array, errors: Array) -> tuple[float, float]:
    """Return the squared length of a vector, and a bound of its error, from those of its entries.

    Parameters
    ----------
    values, errors : arrays of shape (n,)
    """
    length = float(values @ values)
    moved = float((2.0 * np.abs(values) + errors) @ errors)
    return length, moved + (len(values) + 2.0) * _UNIT * length
