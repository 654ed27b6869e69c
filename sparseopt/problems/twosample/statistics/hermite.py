r"""Hermite features of the Gaussian kernel of one variable, with a certified truncation.

.. math:: e^{-(x - y)^2 / (2 \tau^2)} = \sum_c \varphi_c(x) \varphi_c(y)

with :math:`\rho = 1 / (\tau^2 + \sqrt{\tau^4 + 1})` (Mehler's formula). For each x the
:math:`\varphi_c(x)^2` are a probability distribution over c, whose generating function gives a
Chernoff bound on its tail: the order is chosen from a tolerance, never by hand.

Source: Vinaroz and others, Hermite polynomial features for private data generation, section 3.
"""

from __future__ import annotations

import math

import numpy as np

from sparseopt.problems.base import Array

_FARTHEST = 30.0
"""Bandwidths from the centre beyond which the first features come near underflow."""

_LOG2_INVERSE = 1.4426950408889634
_LOG2_HIGH, _LOG2_LOW = 0.6931471803691238, 1.9082149292705877e-10
"""log(2) in two parts, of which the first has 33 bits: its products with integers are exact."""

_TAYLOR = [(-1.0) ** k / math.factorial(k) for k in range(14)]


def order(radius: float, tolerance: float, largest: int) -> int | None:
    r"""Return how many features bring the kernel within a tolerance, in units of the bandwidth.

    For x and y with abs(x), abs(y) <= radius the error is at most
    :math:`\sqrt{tail(x) tail(y)} \le tail(radius)`, where for every t in (1, 1/rho)

    .. math:: \sum_{c \ge C} \varphi_c(x)^2 \le t^{-C} \sqrt{\tfrac{1 - \rho^2}{1 - \rho^2 t^2}}
              \exp\bigl(2 x^2 \bigl[\tfrac{\rho t}{1 + \rho t} - \tfrac{\rho}{1 + \rho}\bigr]\bigr)

    Parameters
    ----------
    radius : float
        Largest distance from the centre, divided by the bandwidth.
    tolerance : float
    largest : int
        None is returned when more features than this would be needed.
    """
    if radius > _FARTHEST:
        return None
    rho = 1.0 / (1.0 + np.sqrt(2.0))
    t = np.exp(np.linspace(0.0, -np.log(rho), 402)[1:-1])
    log_moment = 0.5 * np.log((1.0 - rho**2) / (1.0 - (rho * t) ** 2)) + 2.0 * radius**2 * (
        rho * t / (1.0 + rho * t) - rho / (1.0 + rho)
    )
    C = int(np.ceil(np.min((log_moment - np.log(tolerance)) / np.log(t))))
    return max(1, C) if max(1, C) <= largest else None


def features(x: Array, count: int) -> Array:
    r"""Return the first features of x in units of the bandwidth, shape (count, len(x)).

    :math:`\varphi_0(x) = (1 - \rho^2)^{1/4} e^{-\rho x^2 / (1 + \rho)}`, and from there

    .. math:: \varphi_{k+1} = \sqrt{\tfrac{2 \rho}{k + 1}}\, x \varphi_k
              - \rho \sqrt{\tfrac{k}{k + 1}}\, \varphi_{k-1}

    Parameters
    ----------
    x : array of shape (n,)
        In units of the bandwidth.
    count : int
        Number of features.

    Returns
    -------
    array of shape (count, n)
    """
    rho = 1.0 / (1.0 + np.sqrt(2.0))
    phi = np.empty((count, len(x)))
    phi[0] = (1.0 - rho**2) ** 0.25 * _exp_of_minus(rho / (1.0 + rho) * x**2)
    scaled = np.sqrt(2.0 * rho) * x
    for k in range(count - 1):
        np.multiply(scaled, phi[k], out=phi[k + 1])
        if k:
            phi[k + 1] -= rho * np.sqrt(k) * phi[k - 1]
        phi[k + 1] /= np.sqrt(k + 1.0)
    return phi


def _exp_of_minus(y: Array) -> Array:
    r"""Return :math:`e^{-y}` for y >= 0, within a relative 1e-15.

    By operations that IEEE 754 rounds exactly, so that a value is the same wherever it stands in an
    array, and on every machine; `numpy.exp` takes other ways for the ends of an array on some. What
    is released of private data is bounded record by record, to the last digit.

    With :math:`y = n \log 2 + r` it is :math:`2^{-n} e^{-r}`, and the series of 14 terms is within
    5e-18 for :math:`|r| \le \log(2) / 2`.
    """
    y = np.minimum(y, 2000.0)  # nothing is left of it from 750 on
    n = np.rint(y * _LOG2_INVERSE)
    r = (y - n * _LOG2_HIGH) - n * _LOG2_LOW
    total = np.full_like(r, _TAYLOR[-1])
    for coefficient in _TAYLOR[-2::-1]:
        total *= r
        total += coefficient
    return np.asarray(np.ldexp(total, -n.astype(np.int32)))
