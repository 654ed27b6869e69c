"""Values of unit vectors, with bounds of their rounding errors, for checker and engines.

A point in double precision has a length of 1 only up to rounding, and terms that cancel leave a
value that depends on it. So the value is that of the unit vector in its direction.
"""

from __future__ import annotations

import math

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.proofs.double_double import EPSILON, DoubleDouble

_UNIT = float(np.finfo(float).eps)


def on_sphere(A: Array, a: Array, x: Array, *, precise: bool = False) -> tuple[float, float]:
    """Return z'Az + a'z at z = x / |x|, and a bound of its rounding error.

    Parameters
    ----------
    A : array of shape (k, k)
        Symmetric.
    a, x : arrays of shape (k,)
        The length of x is only about 1.
    precise : bool, default False
        Whether to add up in 106 bits.
    """
    z = x / float(np.linalg.norm(x))
    terms = float(np.abs(z) @ np.abs(A) @ np.abs(z) + np.abs(a) @ np.abs(z))
    if not precise:
        return float(z @ A @ z + a @ z), (2.0 * len(x) + 8.0) * _UNIT * terms
    line, square = ((DoubleDouble(part) * x).sum() for part in (a, x))
    guess = np.sqrt(square.high)
    length = (square - DoubleDouble(guess) * guess) / (2.0 * guess) + guess
    value = ((DoubleDouble(A) * x[:, None]).sum() * x).sum() / square + line / length
    high = float(value.high)
    # Sums are added up in pairs.
    return high, (2.0 * math.log2(len(x)) + 12.0) * EPSILON * terms + _UNIT * abs(high)
