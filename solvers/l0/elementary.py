"""Exponentials and logarithms of whole vectors, compiled to vector instructions.

The C library's functions take one number at a time; sums of many logistic losses are made of
little else. Relative errors are about 1e-16 times max(1, x) of exp(-x), and 1e-16 of an entropy.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sparseopt.problems.base import Array

from ..common.compiled import compiled

__all__ = ["entropy", "exp_minus"]

_LOG2 = math.log(2.0)
_PER_LOG2 = 1.0 / _LOG2
_HALF = math.sqrt(0.5)
_FAR = 700.0
"""Beyond it exp(-x) is taken for exp(-700), about 1e-304."""


@compiled
def exp_minus(x: Array, out: Array, bits: Array) -> None:
    """Set out to exp(-x) for x >= 0; `bits` is int64 scratch of the same length."""
    power = bits.view(np.float64)
    for i in range(len(x)):
        a = min(x[i], _FAR)
        k = np.floor(a * _PER_LOG2 + 0.5)
        r = k * _LOG2 - a
        # Taylor's series to the 13th power, on [-log(2) / 2, log(2) / 2].
        y = 1.0 + r / 13.0
        y = 1.0 + r * y * (1.0 / 12.0)
        y = 1.0 + r * y * (1.0 / 11.0)
        y = 1.0 + r * y * (1.0 / 10.0)
        y = 1.0 + r * y * (1.0 / 9.0)
        y = 1.0 + r * y * (1.0 / 8.0)
        y = 1.0 + r * y * (1.0 / 7.0)
        y = 1.0 + r * y * (1.0 / 6.0)
        y = 1.0 + r * y * (1.0 / 5.0)
        y = 1.0 + r * y * (1.0 / 4.0)
        y = 1.0 + r * y * (1.0 / 3.0)
        y = 1.0 + r * y * (1.0 / 2.0)
        out[i] = 1.0 + r * y
        bits[i] = (1023 - np.int64(k)) << 52
    for i in range(len(x)):
        out[i] *= power[i]


@compiled
def _plus_log_terms(p: Array, bits: Array, mantissa: Array) -> Any:
    """Return the sum of p log p for p in (0, 1)."""
    own = p.view(np.int64)
    fraction = mantissa.view(np.float64)
    for i in range(len(p)):
        bits[i] = (own[i] >> 52) - 1022
        mantissa[i] = (own[i] & ((1 << 52) - 1)) | (1022 << 52)
    total = 0.0
    for i in range(len(p)):
        # The fraction lies in [1/2, 1); its double, where it is small, in [1, sqrt 2).
        m = fraction[i]
        small = m < _HALF
        e = np.float64(bits[i]) - (1.0 if small else 0.0)
        m = 2.0 * m if small else m
        s = (m - 1.0) / (m + 1.0)
        t = s * s
        y = 1.0 / 19.0 + t * (1.0 / 21.0)
        y = 1.0 / 17.0 + t * y
        y = 1.0 / 15.0 + t * y
        y = 1.0 / 13.0 + t * y
        y = 1.0 / 11.0 + t * y
        y = 1.0 / 9.0 + t * y
        y = 1.0 / 7.0 + t * y
        y = 1.0 / 5.0 + t * y
        y = 1.0 / 3.0 + t * y
        y = 1.0 + t * y
        total += p[i] * (e * _LOG2 + 2.0 * s * y)
    return total


@compiled
def entropy(p: Array, other: Array, bits: Array) -> Any:
    """Return the sum of -p log p - (1 - p) log(1 - p); minus infinity where a p is not in (0, 1).

    `other` and `bits`, of shapes (n,) and (2, n), are scratch.
    """
    low, high = 1.0, 0.0
    for i in range(len(p)):
        low, high = min(low, p[i]), max(high, p[i])
        other[i] = 1.0 - p[i]
    if not (low > 0.0 and high < 1.0):
        return -np.inf
    return -_plus_log_terms(p, bits[0], bits[1]) - _plus_log_terms(other, bits[0], bits[1])
