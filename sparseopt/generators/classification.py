"""Two Gaussian classes for the linear programming discriminant, and labels for the l1 SVM."""

from __future__ import annotations

import math

import numpy as np

from sparseopt.errors import ParamError
from sparseopt.generators.draws import (
    choice,
    product,
    require_at_most,
    require_positive,
    stream,
    support,
)
from sparseopt.problems import L1SVM, LPD
from sparseopt.problems.base import Array


def two_classes(
    *,
    seed: int = 0,
    n: int = 100,
    d: int = 200,
    s: int = 10,
    rho: float = 0.5,
    covariance: str = "ar",
    shift: float = 1.0,
) -> tuple[Array, Array]:
    r"""Return the observations x, y of two Gaussian classes whose means differ in s variables.

    Class 1 has the mean `shift` in its first s variables, class 2 has the mean 0, and both
    have the covariance :math:`\Sigma` with

    .. math:: \Sigma_{ij} = \rho^{|i - j|} \;\text{("ar")} \quad\text{or}\quad
              \Sigma_{ii} = 1,\; \Sigma_{i,i+1} = \rho,\; 0 \text{ else}
              \;\text{("tridiagonal")}

    Parameters
    ----------
    seed : int, default 0
    n : int
        Observations of each class.
    d, s : int
        Variables, and those in which the means differ.
    rho : float, default 0.5
        Strictly between -1 and 1; for "tridiagonal" between -0.5 and 0.5, both included.
    covariance : {"ar", "tridiagonal"}, default "ar"
    shift : float, default 1

    Returns
    -------
    x, y : arrays of shape (n, d)

    Raises
    ------
    ParamError
        When a size is not positive, s > d, or covariance and rho do not fit.

    Notes
    -----
    Draws: x, then y, by rows (n d standard normals each).

    References
    ----------
    Cai, Liu (2011), whose simulations have the means (1, ..., 1, 0, ..., 0) and 0.
    """
    require_positive(n=n, d=d, s=s)
    require_at_most("s", s, d)
    kind = choice("covariance", covariance, "ar", "tridiagonal")
    fits = abs(rho) < 1.0 if kind == "ar" else abs(rho) <= 0.5
    if not fits:
        allowed = "strictly between -1 and 1" if kind == "ar" else "between -0.5 and 0.5"
        raise ParamError(f"rho must be {allowed} for covariance={kind}, got {rho!r}")
    rng = stream(seed)
    x, y = (_correlated(rng.standard_normal((n, d)), rho, kind == "ar") for _ in range(2))
    x[:, :s] += shift
    return x, y


def _correlated(z: Array, rho: float, ar: bool) -> Array:
    """Return the rows of z times L', with L the Cholesky factor of the covariance."""
    x = np.empty_like(z)
    x[:, 0] = z[:, 0]
    diagonal = 1.0
    for j in range(1, z.shape[1]):
        if ar:
            x[:, j] = rho * x[:, j - 1] + math.sqrt(1.0 - rho * rho) * z[:, j]
        else:
            below = rho / diagonal
            diagonal = math.sqrt(1.0 - below * below)
            x[:, j] = below * z[:, j - 1] + diagonal * z[:, j]
    return x


def lpd(
    *,
    seed: int = 0,
    n: int = 100,
    d: int = 200,
    s: int = 10,
    rho: float = 0.5,
    covariance: str = "ar",
    shift: float = 1.0,
) -> LPD:
    """Linear programming discriminant of two Gaussian classes whose means differ in s variables.

    Parameters
    ----------
    seed, n, d, s, rho, covariance, shift
        As in :func:`two_classes`, whose data these are.
    """
    return LPD.from_samples(
        *two_classes(seed=seed, n=n, d=d, s=s, rho=rho, covariance=covariance, shift=shift)
    )


def l1_svm(
    *,
    seed: int = 0,
    n: int = 200,
    d: int = 1000,
    s: int = 10,
    flipped: float = 0.05,
    separable: bool = False,
    fit_intercept: bool = True,
) -> L1SVM:
    r"""L1 support vector machine: labels from s of d Gaussian features, some of them flipped.

    X has independent standard normal entries, and :math:`y_i = \mathrm{sign}(x_i'w)` with s random
    signs in w and 0 elsewhere; then a share of the labels is flipped.

    Parameters
    ----------
    seed : int, default 0
    n, d, s : int
        Observations, features, features that decide.
    flipped : float, default 0.05
        Share of the labels to flip, rounded to a whole number.
    separable : bool, default False
        Flip none: w itself separates the classes. (With d >= n flipped labels are separable, too,
        though by no sparse w.)
    fit_intercept : bool, default True
        See :class:`~sparseopt.problems.L1SVM`; the true intercept is 0.

    Raises
    ------
    ParamError
        When a size is not positive, s > d, or flipped is not in [0, 1].
    ProblemError
        When all labels are the same, which happens with few observations.

    Notes
    -----
    Draws, in this order: X by rows (n d standard normals), the support (``choice`` without
    replacement, then sorted), the signs (s integers 0 or 1), the labels to flip (``choice`` without
    replacement; drawn in any case).
    """
    require_positive(n=n, d=d, s=s)
    require_at_most("s", s, d)
    if not 0.0 <= flipped <= 1.0:
        raise ParamError(f"flipped must be in [0, 1], got {flipped!r}")
    rng = stream(seed)
    X = rng.standard_normal((n, d))
    w = np.zeros(d)
    w[support(rng, d, s)] = 2.0 * rng.integers(0, 2, size=s) - 1.0
    y = np.where(product(X, w) >= 0.0, 1.0, -1.0)
    wrong = rng.choice(n, size=round(flipped * n), replace=False)
    if not separable:
        y[wrong] *= -1.0
    return L1SVM(X, y, fit_intercept=fit_intercept)
