"""Regressions with few nonzero coefficients, on the designs that papers on best subsets use."""

from __future__ import annotations

import math

import numpy as np

from sparseopt.errors import ParamError
from sparseopt.generators.draws import choice, product, require_at_most, require_positive, stream
from sparseopt.problems import SparseLogisticRegression, SparseRegression
from sparseopt.problems.base import Array


def sparse_regression(
    *,
    seed: int = 0,
    n: int = 200,
    p: int = 1000,
    k: int = 10,
    rho: float = 0.1,
    design: str = "constant",
    snr: float = 5.0,
    ridge: float = 0.1,
    bound: float = 0.0,
    penalty: float = 0.0,
) -> SparseRegression:
    r"""Correlated normal columns, of which k have the coefficient 1.

    A column has a squared length of about 1, so that ridge, bound and penalty are in natural units:
    rows of X are normal with the covariance :math:`\Sigma / n`, and :math:`y = Xb + e` with errors
    of the variance :math:`b' \Sigma b / (n \cdot \text{snr})`.

    Parameters
    ----------
    seed : int, default 0
    n, p, k : int
        Observations, columns, and nonzero coefficients, at places with equal distances.
    rho : float, default 0.1
        Correlation, 0 <= rho < 1.
    design : {"constant", "autoregressive"}, default "constant"
        :math:`\Sigma_{ij} = \rho` for all i and j that differ (Hazimeh, Mazumder, Saab 2022), or
        :math:`\rho^{|i - j|}` (Liu, Rosen, Zhong, Rudin 2023).
    snr : float, default 5
        Ratio of signal and noise, > 0.
    ridge : float, default 0.1
    bound : float, default 0
        Of the coefficients; 0 for none.
    penalty : float, default 0
        Price of a nonzero.

    Raises
    ------
    ParamError, ProblemError
        When a setting is out of range.
    """
    if not 0.0 < snr < math.inf:
        raise ParamError(f"snr must be a finite number > 0, got {snr!r}")
    rng = stream(seed)
    X, b = _design(rng, n, p, k, rho, design)
    X /= math.sqrt(n)
    places = np.flatnonzero(b)
    apart = np.abs(places[:, None] - places)
    shared = rho if design == "constant" else rho**apart
    variance = float(np.where(apart == 0, 1.0, shared).sum())
    noise = math.sqrt(variance / (n * snr)) * rng.standard_normal(n)
    return SparseRegression(
        X, product(X, b) + noise, k=k, ridge=ridge, bound=bound or None, penalty=penalty
    )


def sparse_logistic_regression(
    *,
    seed: int = 0,
    n: int = 500,
    p: int = 1000,
    k: int = 5,
    rho: float = 0.1,
    design: str = "constant",
    strength: float = 1.0,
    ridge: float = 10.0,
    bound: float = 0.0,
    penalty: float = 0.0,
) -> SparseLogisticRegression:
    r"""Two classes that k of p correlated standard normal columns tell apart.

    The label is 1 with the probability :math:`1 / (1 + \exp(-s x'b))`, -1 otherwise, with the
    design and the coefficients 1 of :func:`sparse_regression` (Dedieu, Hazimeh, Mazumder 2021).

    Parameters
    ----------
    seed : int, default 0
    n, p, k : int
        Observations, columns, and nonzero coefficients, at places with equal distances.
    rho : float, default 0.1
        Correlation, 0 <= rho < 1.
    design : {"constant", "autoregressive"}, default "constant"
        As for :func:`sparse_regression`.
    strength : float, default 1
        s, > 0.
    ridge : float, default 10
    bound : float, default 0
        Of the coefficients; 0 for none.
    penalty : float, default 0
        Price of a nonzero.

    Raises
    ------
    ParamError, ProblemError
        When a setting is out of range, or all labels are the same.
    """
    if not 0.0 < strength < math.inf:
        raise ParamError(f"strength must be a finite number > 0, got {strength!r}")
    rng = stream(seed)
    X, b = _design(rng, n, p, k, rho, design)
    chance = 0.5 + 0.5 * np.tanh(0.5 * strength * product(X, b))
    y = np.where(rng.random(n) < chance, 1.0, -1.0)
    return SparseLogisticRegression(X, y, k=k, ridge=ridge, bound=bound or None, penalty=penalty)


def _design(
    rng: np.random.Generator, n: int, p: int, k: int, rho: float, design: str
) -> tuple[Array, Array]:
    """Return standard normal columns, shape (n, p), and k coefficients of 1, shape (p,)."""
    require_positive(n=n, p=p, k=k)
    require_at_most("k", k, p)
    if not 0.0 <= rho < 1.0:
        raise ParamError(f"rho must be a number from 0 to below 1, got {rho!r}")
    X = rng.standard_normal((n, p))
    if choice("design", design, "constant", "autoregressive") == "constant":
        X *= math.sqrt(1.0 - rho)
        X += math.sqrt(rho) * rng.standard_normal((n, 1))
    else:
        for j in range(1, p):
            X[:, j] = rho * X[:, j - 1] + math.sqrt(1.0 - rho * rho) * X[:, j]
    b = np.zeros(p)
    b[np.arange(1, 2 * k, 2) * p // (2 * k)] = 1.0
    return X, b
