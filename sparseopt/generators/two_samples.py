r"""Two samples that differ in their first variables, and the selection of those.

The four cases of Wang, Dey, Xie, section 6, with their parameters as defaults. They do not state
how many variables differ in section 6.1; here these are as many as are to be selected.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sparseopt.errors import ParamError
from sparseopt.generators.draws import require_at_most, require_positive, stream
from sparseopt.problems import STRS, KernelSelection
from sparseopt.problems.base import Array

_CASES = ("mean-shift", "covariance-shift", "laplace", "mixture")
_TAU = {"mean-shift": 1.0, "covariance-shift": 2.0, "laplace": 0.8, "mixture": 2.0}


@dataclass(frozen=True, eq=False)
class TwoSampleDraw:
    """Two samples and the variables in which their distributions differ.

    Attributes
    ----------
    x, y : arrays of shape (n, D)
    truth : int array
    """

    x: Array
    y: Array
    truth: Array


def two_samples(
    case: str,
    *,
    seed: int = 0,
    n: int = 1000,
    D: int = 20,
    d: int = 5,
    tau: float | None = None,
    rho: float = 0.5,
) -> TwoSampleDraw:
    r"""Draw two samples of n observations of D variables, of which the first d differ.

    Draws the normals of x, those of y, and then what the case needs more.

    Parameters
    ----------
    case : {"mean-shift", "covariance-shift", "laplace", "mixture"}
        The paper's I: normal with covariance :math:`\rho^{|i - j|}`, y with the mean tau / s in
        variable s; II: the same without the mean, the covariance of the first d variables of y
        times tau; III: standard normal, the first d of y Laplace with standard deviation tau;
        IV: standard normal, the first d of y with the mean plus or minus (tau / s), the sign
        common to them.
    seed : int, default 0
    n, D, d : int
    tau : float, optional
        Size of the difference; default 1, 2, 0.8 and 2 by case. At least 1 in (II).
    rho : float, default 0.5
        Strictly between -1 and 1; for (I) and (II).

    Raises
    ------
    ParamError
        When a setting is out of range.
    """
    if case not in _CASES:
        raise ParamError(f"case is {case!r}; expected one of {', '.join(_CASES)}")
    size = _TAU[case] if tau is None else float(tau)
    require_positive(n=n, D=D, d=d)
    require_at_most("d", d, D)
    if not -1.0 < rho < 1.0:
        raise ParamError(f"rho must lie strictly between -1 and 1, got {rho}")
    if not size >= (1.0 if case == "covariance-shift" else 0.0) or math.isinf(size):
        raise ParamError(f"tau is {tau}; expected a finite number >= 0, >= 1 for covariance-shift")
    rng = stream(seed)
    x, y = rng.standard_normal((n, D)), rng.standard_normal((n, D))
    mean = size / np.arange(1.0, d + 1.0)
    if case == "mean-shift":
        x, y = _chain(x, rho), _chain(y, rho)
        y[:, :d] += mean
    elif case == "covariance-shift":
        x, y = _chain(x, rho), _chain(y, rho, wide=d, factor=size)
    elif case == "laplace":
        y[:, :d] = rng.laplace(scale=size / math.sqrt(2.0), size=(n, d))
    else:
        sign = np.where(rng.random(n) < 0.5, -1.0, 1.0)
        y[:, :d] += sign[:, None] * mean
    return TwoSampleDraw(x, y, np.arange(d))


def _chain(noise: Array, rho: float, wide: int = 0, factor: float = 1.0) -> Array:
    r"""Return rows with the covariance rho^|i - j|, that of the first `wide` times a factor.

    Each variable is normal given the one before it. Only the step out of the wide block differs:
    there :math:`\rho` is the covariance and `factor` the variance of what is conditioned on.
    """
    sample = np.empty_like(noise)
    for s in range(noise.shape[1]):
        scale = math.sqrt(factor) if s < wide else 1.0
        if s == 0:
            sample[:, s] = scale * noise[:, s]
        elif s == wide:
            rest = math.sqrt(1.0 - rho**2 / factor)
            sample[:, s] = rho / factor * sample[:, s - 1] + rest * noise[:, s]
        else:
            rest = math.sqrt(1.0 - rho**2)
            sample[:, s] = rho * sample[:, s - 1] + scale * rest * noise[:, s]
    return sample


def mean_shift(
    *,
    seed: int = 0,
    n: int = 1000,
    D: int = 20,
    d: int = 5,
    lam: float = 0.8,
    tau: float = 1.0,
    rho: float = 0.5,
) -> STRS:
    """Select d of D variables by the linear kernel; the means of the first d differ (case I).

    Parameters
    ----------
    seed : int, default 0
    n : int, default 1000
        Observations of each sample.
    D, d : int, default 20 and 5
        All variables, and those that differ.
    lam : float, default 0.8
        Weight of the variance.
    tau : float, default 1.0
        Variable s of y has the mean tau / s, s = 1, ..., d.
    rho : float, default 0.5
        The covariance of variables i and j is rho^|i - j|.

    Returns
    -------
    STRS

    Raises
    ------
    ParamError
        When a setting is out of range.
    """
    return _selection(two_samples("mean-shift", seed=seed, n=n, D=D, d=d, tau=tau, rho=rho), lam, d)


def covariance_shift(
    *,
    seed: int = 0,
    n: int = 1000,
    D: int = 20,
    d: int = 5,
    lam: float = 0.7,
    tau: float = 2.0,
    rho: float = 0.5,
) -> STRS:
    """Select d of D variables by the linear kernel; the first d are wider in y (case II).

    Parameters
    ----------
    seed : int, default 0
    n : int, default 1000
        Observations of each sample.
    D, d : int, default 20 and 5
        All variables, and those that differ.
    lam : float, default 0.7
        Weight of the variance.
    tau : float, default 2.0
        Factor of the covariance of the first d variables of y.
    rho : float, default 0.5
        The covariance of variables i and j is rho^|i - j|.

    Returns
    -------
    STRS

    Raises
    ------
    ParamError
        When a setting is out of range.
    """
    draw = two_samples("covariance-shift", seed=seed, n=n, D=D, d=d, tau=tau, rho=rho)
    return _selection(draw, lam, d)


def gaussian_laplace(
    *, seed: int = 0, n: int = 1000, D: int = 20, d: int = 5, lam: float = 0.6, tau: float = 0.8
) -> STRS:
    """Select d of D variables by the linear kernel; the first d of y are Laplace (case III).

    Parameters
    ----------
    seed : int, default 0
    n : int, default 1000
        Observations of each sample.
    D, d : int, default 20 and 5
        All variables, and those that differ.
    lam : float, default 0.6
        Weight of the variance.
    tau : float, default 0.8
        Standard deviation of the Laplace distribution.

    Returns
    -------
    STRS

    Raises
    ------
    ParamError
        When a setting is out of range.
    """
    return _selection(two_samples("laplace", seed=seed, n=n, D=D, d=d, tau=tau), lam, d)


def gaussian_mixture(
    *, seed: int = 0, n: int = 1000, D: int = 20, d: int = 5, lam: float = 0.5, tau: float = 2.0
) -> STRS:
    """Select d of D variables by the linear kernel; the first d of y are a mixture (case IV).

    Parameters
    ----------
    seed : int, default 0
    n : int, default 1000
        Observations of each sample.
    D, d : int, default 20 and 5
        All variables, and those that differ.
    lam : float, default 0.5
        Weight of the variance.
    tau : float, default 2.0
        The parts of the mixture have the means plus and minus tau / s.

    Returns
    -------
    STRS

    Raises
    ------
    ParamError
        When a setting is out of range.
    """
    return _selection(two_samples("mixture", seed=seed, n=n, D=D, d=d, tau=tau), lam, d)


def kernel_selection(
    *,
    seed: int = 0,
    case: str = "mean-shift",
    kernel: str = "gaussian",
    n: int = 200,
    D: int = 20,
    d: int = 5,
    lam: float = 0.01,
) -> KernelSelection:
    """Select d of D variables by any built-in kernel, in any of the four cases.

    Parameters
    ----------
    seed : int, default 0
    case : {"mean-shift", "covariance-shift", "laplace", "mixture"}
        With the default size of the difference; see :func:`two_samples`.
    kernel : {"linear", "quadratic", "gaussian"}
    n, D, d : int
    lam : float, default 0.01

    Raises
    ------
    ParamError, ProblemError
        When a setting is out of range.
    """
    draw = two_samples(case, seed=seed, n=n, D=D, d=d)
    return KernelSelection(draw.x, draw.y, kernel, d=d, lam=lam)


def _selection(draw: TwoSampleDraw, lam: float, d: int) -> STRS:
    return STRS.from_two_samples(draw.x, draw.y, d, lam=lam)
