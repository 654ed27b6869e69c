"""The regression designs of the paper, sections 4.1 and 4.3, and compressed sensing."""

from __future__ import annotations

import math

import numpy as np

from sparseopt.generators.draws import (
    Noise,
    choice,
    require_at_most,
    require_positive,
    require_share,
    response,
    scaled_columns,
    stream,
    support,
)
from sparseopt.problems import CompressedSensing, DantzigSelector, LADLasso, QuantileLasso
from sparseopt.problems.base import Array


def stopping_value(
    n: int,
    d: int,
    *,
    sigma: float = 1.0,
    unit: bool = False,
    scale: str = "none",
    factor: float = math.sqrt(2.0),
) -> float:
    r"""Return :math:`\lambda = f \sigma \nu \sqrt{\log d}`, where nu is the norm of the columns.

    The largest of the d entries of :math:`X'\epsilon`, normal with the standard deviation
    :math:`\sigma\nu`, is about :math:`\sigma \nu \sqrt{2 \log d}`: below that value a path fits
    noise.

    Parameters
    ----------
    n, d : int
        Rows and columns of X.
    sigma : float, default 1
        Standard deviation of the noise. The LAD-lasso sees only signs: leave it at 1 there.
    unit : bool, default False
        Columns of norm 1 instead of :math:`\sqrt n`.
    scale : {"none", "n"}, default "none"
        "n" divides the value by n, as the problem's own `scale` does.
    factor : float, default sqrt(2)
        The f above: sqrt(2) is the level of the noise; 1 is the rule of the paper's section 4.1,
        :math:`\sigma n \sqrt{\log d / n}`; 2 is that of section 4.3,
        :math:`2 \sigma \sqrt{\log d / n}`, which the paper states for X'X / n.

    Examples
    --------
    >>> round(stopping_value(100, 250), 3)
    33.231
    """
    value = factor * sigma * (1.0 if unit else math.sqrt(n)) * math.sqrt(math.log(d))
    return value / n if scale == "n" else value


def regression_41(
    *,
    seed: int = 0,
    n: int = 100,
    d: int = 250,
    s: int = 8,
    sigma: float = 1.0,
    unit: bool = False,
    absolute: bool = False,
    noise: Noise = "normal",
) -> tuple[Array, Array, Array]:
    r"""Return (X, y, theta) of section 4.1: s coefficients of random sign and size.

    X is Gaussian with columns scaled to one norm, s entries of theta are
    :math:`\theta_i = s_i (1 + a_i)` with random signs :math:`s_i` and standard normal
    :math:`a_i`, and :math:`y = X\theta + \sigma\epsilon`.

    Parameters
    ----------
    seed : int, default 0
    n, d, s : int
        Rows, columns, nonzero coefficients.
    sigma : float, default 1
        Scale of the noise (of "normal": its standard deviation).
    unit : bool, default False
        Scale the columns to norm 1 instead of :math:`\sqrt n`. The paper says "a given norm"; its
        stopping rule is that of :math:`\sqrt n`.
    absolute : bool, default False
        Use :math:`1 + |a_i|`, as Candes and Tao did, so that no coefficient is close to 0. The
        paper prints :math:`1 + a_i`.
    noise : {"normal", "t2"}, default "normal"
        Standard normal, or Student's t with two degrees of freedom (infinite variance).

    Returns
    -------
    X : array of shape (n, d)
    y : array of shape (n,)
    theta : array of shape (d,)

    Raises
    ------
    ParamError
        When a size is not positive, s > d, or sigma < 0.

    Notes
    -----
    Draws, in this order: X by rows (n d standard normals), the support (``choice`` of s out of d
    without replacement, then sorted), the signs (s integers 0 or 1), a (s normals), the noise
    (n normals or t variates).
    """
    require_positive(n=n, d=d, s=s)
    require_at_most("s", s, d)
    rng = stream(seed)
    X = scaled_columns(rng, n, d, unit)
    places = support(rng, d, s)
    signs = 2.0 * rng.integers(0, 2, size=s) - 1.0
    a = rng.standard_normal(s)
    theta = np.zeros(d)
    theta[places] = signs * (1.0 + (np.abs(a) if absolute else a))
    return X, response(rng, X, theta, sigma, noise), theta


def regression_43(
    *,
    seed: int = 0,
    n: int = 200,
    d: int = 500,
    density: float = 0.02,
    sigma: float = 1.0,
    unit: bool = False,
    noise: Noise = "normal",
) -> tuple[Array, Array, Array]:
    r"""Return (X, y, theta) of section 4.3: a share of standard normal coefficients.

    Parameters
    ----------
    seed : int, default 0
    n, d : int
        Rows and columns; the paper has n = 200 and d from 100 to 5000.
    density : float, default 0.02
        Share of nonzero coefficients, rounded to a whole number of at least 1.
    sigma, unit, noise
        As in :func:`regression_41`.

    Returns
    -------
    X : array of shape (n, d)
    y : array of shape (n,)
    theta : array of shape (d,)

    Raises
    ------
    ParamError
        When a size is not positive, density is not in (0, 1], or sigma < 0.

    Notes
    -----
    Draws, in this order: X by rows (n d standard normals), the support (``choice`` without
    replacement, then sorted), its coefficients (normals), the noise (n normals or t variates).
    """
    require_positive(n=n, d=d)
    require_share("density", density)
    rng = stream(seed)
    X = scaled_columns(rng, n, d, unit)
    s = max(1, round(density * d))
    places = support(rng, d, s)
    theta = np.zeros(d)
    theta[places] = rng.standard_normal(s)
    return X, response(rng, X, theta, sigma, noise), theta


def dantzig_41(
    *,
    seed: int = 0,
    n: int = 100,
    d: int = 250,
    s: int = 8,
    sigma: float = 1.0,
    unit: bool = False,
    absolute: bool = False,
    scale: str = "none",
) -> DantzigSelector:
    """Dantzig selector on the design of section 4.1, after the example of Candes and Tao.

    Parameters
    ----------
    seed, n, d, s, sigma, unit, absolute
        As in :func:`regression_41`, whose data these are.
    scale : {"none", "n"}, default "none"
        The scale of lam, see :class:`~sparseopt.problems.DantzigSelector`.
    """
    X, y, _ = regression_41(seed=seed, n=n, d=d, s=s, sigma=sigma, unit=unit, absolute=absolute)
    return DantzigSelector(X, y, scale=choice("scale", scale, "none", "n"))


def dantzig_43(
    *,
    seed: int = 0,
    n: int = 200,
    d: int = 500,
    density: float = 0.02,
    sigma: float = 1.0,
    unit: bool = False,
    scale: str = "none",
) -> DantzigSelector:
    """Dantzig selector on the design of section 4.3, the paper's timing benchmark.

    Parameters
    ----------
    seed, n, d, density, sigma, unit
        As in :func:`regression_43`, whose data these are.
    scale : {"none", "n"}, default "none"
        The scale of lam, see :class:`~sparseopt.problems.DantzigSelector`.
    """
    X, y, _ = regression_43(seed=seed, n=n, d=d, density=density, sigma=sigma, unit=unit)
    return DantzigSelector(X, y, scale=choice("scale", scale, "none", "n"))


def lad_41(
    *,
    seed: int = 0,
    n: int = 100,
    d: int = 250,
    s: int = 8,
    sigma: float = 1.0,
    unit: bool = False,
    absolute: bool = False,
    fit_intercept: bool = False,
) -> LADLasso:
    """LAD-lasso on the design of section 4.1 with t(2) noise instead of normal noise.

    Parameters
    ----------
    seed, n, d, s, sigma, unit, absolute
        As in :func:`regression_41` with ``noise="t2"``, whose data these are.
    fit_intercept : bool, default False
        See :class:`~sparseopt.problems.LADLasso`; the true intercept is 0.
    """
    X, y, _ = regression_41(
        seed=seed, n=n, d=d, s=s, sigma=sigma, unit=unit, absolute=absolute, noise="t2"
    )
    return LADLasso(X, y, fit_intercept=fit_intercept)


def lad_43(
    *,
    seed: int = 0,
    n: int = 200,
    d: int = 500,
    density: float = 0.02,
    sigma: float = 1.0,
    unit: bool = False,
    fit_intercept: bool = False,
) -> LADLasso:
    """LAD-lasso on the design of section 4.3 with t(2) noise instead of normal noise.

    Parameters
    ----------
    seed, n, d, density, sigma, unit
        As in :func:`regression_43` with ``noise="t2"``, whose data these are.
    fit_intercept : bool, default False
        See :class:`~sparseopt.problems.LADLasso`; the true intercept is 0.
    """
    X, y, _ = regression_43(
        seed=seed, n=n, d=d, density=density, sigma=sigma, unit=unit, noise="t2"
    )
    return LADLasso(X, y, fit_intercept=fit_intercept)


def quantile_43(
    *,
    seed: int = 0,
    n: int = 200,
    d: int = 500,
    density: float = 0.02,
    sigma: float = 1.0,
    unit: bool = False,
    noise: str = "normal",
    tau: float = 0.25,
    fit_intercept: bool = False,
) -> QuantileLasso:
    """Quantile lasso on the design of section 4.3.

    Parameters
    ----------
    seed, n, d, density, sigma, unit
        As in :func:`regression_43`, whose data these are.
    noise : {"normal", "t2"}, default "normal"
        As in :func:`regression_43`; with "t2" and tau = 0.5 it is ``lad-4.3`` with half its lam.
    tau : float, default 0.25
        The level, strictly between 0 and 1.
    fit_intercept : bool, default False
        See :class:`~sparseopt.problems.QuantileLasso`; the true one is sigma times the tau-quantile
        of the noise.
    """
    kind = choice("noise", noise, "normal", "t2")
    X, y, _ = regression_43(
        seed=seed, n=n, d=d, density=density, sigma=sigma, unit=unit, noise=kind
    )
    return QuantileLasso(X, y, tau, fit_intercept=fit_intercept)


def compressed_sensing(
    *, seed: int = 0, n: int = 200, d: int = 1000, s: int = 20, sigma: float = 0.0
) -> CompressedSensing:
    r"""Recovery of s normal coefficients from n Gaussian measurements, exact by default.

    X has independent standard normal entries, s entries of theta are standard normal, and
    :math:`y = X\theta + \sigma\epsilon`.

    Parameters
    ----------
    seed : int, default 0
    n, d, s : int
        Measurements, coefficients, nonzero coefficients.
    sigma : float, default 0
        Standard deviation of the errors of measurement.

    Raises
    ------
    ParamError
        When a size is not positive, s > d, or sigma < 0.

    Notes
    -----
    Draws, in this order: X by rows (n d standard normals), the support (``choice`` without
    replacement, then sorted), its coefficients (s normals), the errors (n normals).
    """
    require_positive(n=n, d=d, s=s)
    require_at_most("s", s, d)
    rng = stream(seed)
    X = rng.standard_normal((n, d))
    theta = np.zeros(d)
    theta[support(rng, d, s)] = rng.standard_normal(s)
    return CompressedSensing(X, response(rng, X, theta, sigma, "normal"))
