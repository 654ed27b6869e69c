"""Data of many variables with sparse principal components."""

from __future__ import annotations

import math

import numpy as np

from sparseopt.errors import ParamError
from sparseopt.generators.draws import require_at_most, require_positive, require_share, stream
from sparseopt.problems import SparseComponent


def spiked_covariance(
    *, seed: int = 0, n: int = 200, D: int = 1000, d: int = 10, theta: float = 4.0
) -> SparseComponent:
    r"""Observations with covariance :math:`I + \theta vv'`, v with d equal loadings.

    The first d variables are those of v, with random signs. The means are known to be 0: ||Xz||^2
    is the quadratic form of the second moments.

    Parameters
    ----------
    seed : int, default 0
    n, D, d : int
        Observations, variables, and those that v uses and the problem asks for.
    theta : float, default 4
        Variance of the spike, >= 0; the noise has 1.

    Raises
    ------
    ParamError
        When a setting is out of range.
    """
    require_positive(n=n, D=D, d=d)
    require_at_most("d", d, D)
    if not 0.0 <= theta < math.inf:
        raise ParamError(f"theta must be a number >= 0, got {theta!r}")
    rng = stream(seed)
    X = rng.standard_normal((n, D))
    signs = 2.0 * rng.integers(0, 2, d) - 1.0
    spike = math.sqrt(theta / d) * rng.standard_normal(n)
    X[:, :d] += spike[:, None] * signs
    return SparseComponent(X=X / math.sqrt(n), d=d)


def expression_modules(
    *,
    seed: int = 0,
    n: int = 100,
    D: int = 1000,
    d: int = 10,
    modules: int = 20,
    share: float = 0.3,
    alignment: float = 4.0,
) -> SparseComponent:
    r"""Correlations of data like gene expression: modules of variables with a factor each.

    A variable of a module is :math:`r f + \sqrt{1 - r^2} e`, f the module's factor, e noise, and
    r drawn from the beta distribution with parameters `alignment` and 2. Modules differ in size:
    each variable in one draws its module k = 1, 2, ... with a probability proportional to 1 / k.

    Parameters
    ----------
    seed : int, default 0
    n, D, d : int
        Observations, variables, and nonzeros that are asked for. Arrays of gene expression have
        some hundred observations of up to 50,000 variables.
    modules : int, default 20
    share : float, default 0.3
        Part of the variables that belong to a module, in (0, 1]; the others are noise.
    alignment : float, default 4
        Variables agree the more with their factor the larger it is, > 0.

    Raises
    ------
    ParamError, ProblemError
        When a setting is out of range.
    """
    require_positive(n=n, D=D, d=d, modules=modules)
    require_share("share", share)
    if not 0.0 < alignment < math.inf:
        raise ParamError(f"alignment must be a number > 0, got {alignment!r}")
    rng = stream(seed)
    X = rng.standard_normal((n, D))
    factors = rng.standard_normal((n, modules))
    weight = 1.0 / np.arange(1, modules + 1)
    edges = np.cumsum(weight / weight.sum())
    which = np.minimum(np.searchsorted(edges, rng.random(D)), modules - 1)
    loading = np.where(rng.random(D) < share, rng.beta(alignment, 2.0, D), 0.0)
    X *= np.sqrt(1.0 - loading**2)
    X += factors[:, which] * loading
    return SparseComponent.from_data(X, d)
