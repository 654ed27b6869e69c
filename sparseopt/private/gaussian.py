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

from scipy.optimize import brentq
from scipy.special import log_ndtr

from sparseopt.errors import ParamError

_T = 22.0
_LEAST_SIGMA = 2.0**20


def gaussian_delta(eta: float, epsilon: float) -> float:
    """Return delta(epsilon) of continuous Gaussian noise.

    Parameters
    ----------
    eta : float
        Sensitivity over standard deviation, > 0.
    epsilon : float
        >= 0.
    """
    first = float(log_ndtr(eta / 2.0 - epsilon / eta))
    second = epsilon + float(log_ndtr(-eta / 2.0 - epsilon / eta))
    return max(0.0, math.exp(first) * -math.expm1(min(0.0, second - first)))


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
    reach = (_T + eta) ** 2
    tau = 1.01 * dimension * (reach + 1.0) / (24.0 * sigma**2)
    beta = 2.0 * dimension * math.exp(-(_T**2) / 2.0)
    inner = gaussian_delta(eta, max(0.0, epsilon - 2.0 * tau))
    return min(1.0, math.exp(tau) * inner + (1.0 + math.exp(min(epsilon, 700.0))) * beta)


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
    if not 1e-100 <= delta < 1.0:
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
