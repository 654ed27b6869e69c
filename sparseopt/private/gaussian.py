r"""The privacy of discrete Gaussian noise, and the least noise for an epsilon and a delta.

Continuous Gaussian noise of standard deviation sigma on a sum of sensitivity :math:`\Delta` has,
with :math:`\eta = \Delta / \sigma`, exactly (Balle and Wang 2018, theorem 8)

.. math:: \delta(\epsilon) = \Phi(\eta / 2 - \epsilon / \eta)
          - e^\epsilon \Phi(-\eta / 2 - \epsilon / \eta).

Continuous noise that is rounded to integers is post-processing of it. The discrete Gaussian is next
to that: for integers k with :math:`|k_i| \le T \sigma` the ratio of the two probabilities lies
within :math:`e^{\pm\tau}`, :math:`\tau = d\, (T^2 + 1) / (24 \sigma^2)` up to a factor 1.01, since

.. math:: \int_{-1/2}^{1/2} e^{-(2 k u + u^2) / (2 \sigma^2)} du

lies between :math:`1 - 1 / (24 \sigma^2)` and :math:`1 + (k / \sigma)^2 / (24 \sigma^2)` up to
terms of higher order, and all others have the probability :math:`\beta \le 2 d e^{-T^2 / 2}`. So

.. math:: \delta_{discrete}(\epsilon) \le e^\tau \delta(\epsilon - 2 \tau) + (1 + e^\epsilon) \beta.

With sigma above 10^8, as here, tau is below 10^-12: nothing is lost.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfcx, log_ndtr, ndtr

from sparseopt.errors import ParamError

_T = 30.0
_LEAST_SIGMA = 2.0**20
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_NODES, _WEIGHTS = (_NODES + 1.0) / 2.0, _WEIGHTS / 2.0


def gaussian_delta(eta: float, epsilon: float) -> float:
    r"""Return delta(epsilon) of continuous Gaussian noise, within a relative 1e-12.

    Both terms of the formula are nearly equal where delta is small. With :math:`x = \epsilon / \eta
    - \eta / 2`, the normal density :math:`\varphi` and Mills' ratio :math:`M(t) = \Phi(-t) /
    \varphi(t)`, for which :math:`M' = t M - 1`, it is

    .. math:: \delta = \varphi(x) \bigl(M(x) - M(x + \eta)\bigr)
              = \varphi(x) \int_x^{x + \eta} (1 - t M(t)) \, dt .

    Parameters
    ----------
    eta : float
        Sensitivity over standard deviation, > 0.
    epsilon : float
        >= 0.
    """
    x = epsilon / eta - eta / 2.0
    if x < -5.0:  # delta is next to 1
        return float(ndtr(-x)) - math.exp(epsilon + float(log_ndtr(-x - eta)))
    density = math.exp(-x * x / 2.0) / math.sqrt(2.0 * math.pi)
    if density == 0.0:
        return 0.0
    if eta > 1.0:
        return density * float(_mills(x) - _mills(x + eta))
    t = x + eta * _NODES
    return density * eta * float(_WEIGHTS @ (1.0 - t * _mills(t)))


def _mills(t: Any) -> Any:
    return math.sqrt(math.pi / 2.0) * erfcx(t / math.sqrt(2.0))


def discrete_delta(eta: float, epsilon: float, sigma: float, dimension: int) -> float:
    """Return an upper bound of delta(epsilon) of discrete Gaussian noise, see the module.

    Parameters
    ----------
    eta : float
        Sensitivity over standard deviation, > 0.
    epsilon : float
        >= 0.
    sigma : float
        Standard deviation in steps of the grid.
    dimension : int
        Number of coordinates that get noise.

    Raises
    ------
    ParamError
        When sigma is below 2^20, where the bound would be loose.
    """
    if sigma < _LEAST_SIGMA:
        raise ParamError(f"sigma is {sigma:g} grid steps; expected at least 2^20: a finer grid")
    return with_discreteness(eta, epsilon, *discreteness(eta, sigma, dimension))


def discreteness(eta: float, sigma: float, dimension: int) -> tuple[float, float]:
    """Return tau and beta of discrete noise, see the module.

    Parameters
    ----------
    eta, sigma, dimension
        As for :func:`discrete_delta`.
    """
    tau = 1.01 * dimension * ((_T + eta) ** 2 + 1.0) / (24.0 * sigma**2)
    return tau, 2.0 * dimension * math.exp(-(_T**2) / 2.0)


def with_discreteness(eta: float, epsilon: float, tau: float, beta: float) -> float:
    """Return an upper bound of delta(epsilon) of noise that is next to continuous noise.

    Of several releases, tau and beta add up. Where epsilon is below 2 tau, the probabilities'
    remaining ratio is part of delta.

    Parameters
    ----------
    eta : float
        Sensitivity over standard deviation, > 0.
    epsilon : float
        >= 0.
    tau, beta : float
        Of :func:`discreteness`.
    """
    inner = math.exp(tau) * gaussian_delta(eta, max(0.0, epsilon - 2.0 * tau))
    inner += math.exp(epsilon) * max(0.0, math.expm1(2.0 * tau - epsilon))
    return min(1.0, inner + (1.0 + math.exp(min(epsilon, 700.0))) * beta)


def calibrate(epsilon: float, delta: float) -> float:
    """Return the largest eta, sensitivity over noise, that is (epsilon, delta)-private.

    Parameters
    ----------
    epsilon, delta : float
        0 < epsilon <= 50 and 1e-100 <= delta < 1.

    Raises
    ------
    ParamError
        When one is out of range.

    Examples
    --------
    >>> round(1.0 / calibrate(1.0, 1e-5), 4)  # Balle, Wang: 3.730632
    3.7306
    """
    if not 0.0 < epsilon <= 50.0:
        raise ParamError(f"epsilon is {epsilon}; expected a number > 0, at most 50")
    if not 0.999e-100 <= delta < 1.0:  # a release keeps a margin
        raise ParamError(f"delta is {delta}; expected a number from 1e-100 to below 1")
    low, high = 1e-6, 1.0
    while gaussian_delta(high, epsilon) < delta:
        high *= 2.0
    while gaussian_delta(low, epsilon) > delta:
        low /= 4.0
    root = brentq(
        lambda log: math.log(max(gaussian_delta(math.exp(log), epsilon), 1e-320)) - math.log(delta),
        math.log(low),
        math.log(high),
        xtol=1e-14,
    )
    eta = math.exp(root)
    while gaussian_delta(eta, epsilon) > delta:
        eta *= 1.0 - 1e-14
    return eta
