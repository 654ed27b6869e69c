"""Exponentials and logarithms of whole vectors, compiled to vector instructions.

The C library's functions take one number at a time; sums of many logistic losses are made of
little else. Relative errors are about 1e-16 times max(1, x) of exp(-x), and 1e-16 of an entropy.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sparseopt.problems.base import Array

from ...common.compiled import compiled_in_place

_LOG2 = math.log(2.0)
_PER_LOG2 = 1.0 / _LOG2
_HALF = math.sqrt(0.5)
_LARGEST = 700.0
"""Beyond it exp(-x) is taken for exp(-700), about 1e-304."""


@compiled_in_place
def exp_minus(x: Array, out: Array, bits: Array, power: Array) -> None:
    """Set out to exp(-x) for x >= 0.

    `bits` and `power` are scratch of the same length: one memory seen as int64 and as float64.

    Parameters
    ----------
    x : array of shape (n,)
        >= 0.
    out : array of shape (n,)
        Overwritten.
    bits : int64 array of shape (n,)
    power : array of shape (n,)
    """
    for i in range(len(x)):
        a = min(x[i], _LARGEST)
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


@exp_minus.in_numpy
def _(x: Array, out: Array, bits: Array, power: Array) -> None:
    out[:] = np.exp(-np.minimum(x, _LARGEST))


@compiled_in_place
def _plus_log_terms(sample: Array, bits: Array, counts: int, p: int, low: int, high: int) -> Any:
    """Return the sum of p log p for p in (0, 1), each as often as it counts."""
    own, exponent, mantissa = bits[p], bits[low], bits[high]
    value, count, fraction = sample[p], sample[counts], sample[high]
    for i in range(len(own)):
        exponent[i] = (own[i] >> 52) - 1022
        mantissa[i] = (own[i] & ((1 << 52) - 1)) | (1022 << 52)
    total = 0.0
    for i in range(len(own)):
        # The fraction lies in [1/2, 1); its double, where it is small, in [1, sqrt 2).
        m = fraction[i]
        small = m < _HALF
        e = np.float64(exponent[i]) - (1.0 if small else 0.0)
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
        total += count[i] * value[i] * (e * _LOG2 + 2.0 * s * y)
    return total


@compiled_in_place
def entropy(
    sample: Array, bits: Array, counts: int, p: int, other: int, low: int, high: int
) -> Any:
    """Return the sum of -p log p - (1 - p) log(1 - p); minus infinity where a p is not in (0, 1).

    Parameters
    ----------
    sample, bits : arrays of shape (rows, n)
        One memory seen as float64 and as int64.
    counts : int
        The row of how often each p counts.
    p : int
        The row of the p.
    other, low, high : int
        Rows of scratch.
    """
    least, most = 1.0, 0.0
    for i in range(sample.shape[1]):
        least, most = min(least, sample[p, i]), max(most, sample[p, i])
        sample[other, i] = 1.0 - sample[p, i]
    if not (least > 0.0 and most < 1.0):
        return -np.inf
    whole = _plus_log_terms(sample, bits, counts, p, low, high)
    return -whole - _plus_log_terms(sample, bits, counts, other, low, high)


@entropy.in_numpy
def _(sample: Array, bits: Array, counts: int, p: int, other: int, low: int, high: int) -> float:
    q = sample[p]
    if not (q.min() > 0.0 and q.max() < 1.0):
        return -np.inf
    return -float(sample[counts] @ (q * np.log(q) + (1.0 - q) * np.log1p(-q)))
