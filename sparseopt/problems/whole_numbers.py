"""Floating-point numbers as whole ones, whose sums and products have no rounding errors."""

from __future__ import annotations

import numpy as np

from sparseopt.problems.base import Array


def whole_numbers(values: Array) -> tuple[Array, int]:
    """Return whole numbers (as Python's), and the power of two below 1 that is their unit.

    Parameters
    ----------
    values : array
        Finite.

    Returns
    -------
    numbers : object array of that shape
    power : int
        ``values == numbers * 2**power``, exactly.
    """
    mantissa, power = np.frexp(values)
    used = mantissa != 0.0
    lowest = int(power[used].min(initial=0))
    shift = np.where(used, power - lowest, 0).astype(object)
    return np.ldexp(mantissa, 53).astype(np.int64).astype(object) << shift, lowest - 53
