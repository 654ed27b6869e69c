"""Information criteria for Gaussian networks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from sparseopt.backend import Backend
from sparseopt.errors import ParamError
from sparseopt.paths.columns import ColumnwisePath
from sparseopt.problems.base import Array, Problem
from sparseopt.result import Result
from sparseopt.selection.choice import KnotSelection
from sparseopt.selection.likelihood import Criterion
from sparseopt.selection.solving import path_result, rounded_off

_LOOKS = 2000


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class NetworkResult(KnotSelection):
    """The minimum of an information criterion; see :class:`~sparseopt.selection.Selection`.

    Attributes
    ----------
    edges : int
        Pairs of variables that are joined at `lam`.
    knots, values : arrays of shape (K,)
        The values of lam that were looked at, decreasing, and the criterion there; infinite where
        the estimate is not positive definite.
    """

    edges: int

    @property
    def matrix(self) -> Array:
        """The symmetrised precision matrix at lam, shape (d, d)."""
        return np.asarray(self.problem.symmetrised(self.x))

    def summary(self) -> dict[str, Any]:
        """Return the facts that a person or a script asks for first, ready for JSON."""
        return {**super().summary(), "edges": self.edges}


def network_criterion(
    problem: Problem,
    n: int,
    kind: Criterion = "ebic",
    *,
    gamma: float = 0.5,
    lam_min: float | None = None,
    looks: int = _LOOKS,
    result: Result | None = None,
    backend: str | Backend = "auto",
    options: Mapping[str, Any] | None = None,
    check: bool = True,
) -> NetworkResult:
    r"""Minimise AIC, BIC or EBIC along the path of CLIME.

    .. math:: n\,(\mathrm{tr}(S \hat\Omega) - \log\det \hat\Omega) + E\, c, \qquad
              c = 2, \;\; \log n, \;\; \log n + 4 \gamma \log d,

    for AIC, BIC and EBIC, with the symmetrised estimate and its number of edges E.

    Parameters
    ----------
    problem : CLIME
    n : int
        Number of observations behind S.
    kind : {"aic", "bic", "ebic"}, default "ebic"
    gamma : float, default 0.5
        Of EBIC, between 0 and 1.
    lam_min : float, optional
    looks : int, default 2000
        The most knots that are looked at in the first round.
    result, backend, options, check
        As for :func:`cross_validate`.

    Returns
    -------
    NetworkResult

    Raises
    ------
    ParamError
        When the problem is no CLIME, a value is out of range, or no estimate on the path is
        positive definite.

    Notes
    -----
    The criterion takes a determinant at each lam, so that this rule, unlike the others, is exact
    only for paths of at most `looks` knots, and there at the knots: all columns' knots are looked
    at (evenly chosen ones on longer paths, then all between the neighbours of the best), and the
    two segments beside the best are searched.

    References
    ----------
    Foygel, Drton (2010): Extended Bayesian information criteria for Gaussian graphical models.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt.problems import CLIME
    >>> X = np.random.default_rng(0).standard_normal((200, 3))
    >>> X[:, 1] += X[:, 0]
    >>> network_criterion(CLIME.from_data(X), n=200).edges
    1
    """
    price = _price(problem, n, kind, gamma)
    whole = path_result(problem, result, backend, options, lam_min, check)
    path = whole.path
    assert isinstance(path, ColumnwisePath)
    own: Any = problem
    S = np.asarray(own.S)
    knots = path.knots
    knots = knots[knots >= (lam_min or 0.0)]
    level = np.concatenate([rounded_off(column, float(knots[-1])) for column in path.columns])

    def estimate(lam: float) -> Array:
        x = path.at(lam)
        return np.asarray(own.symmetrised(np.where(np.abs(x) > level, x, 0.0)))

    def value(lam: float) -> float:
        omega = estimate(lam)
        return _minus_likelihood(S, omega, n) + price * _edges(omega)

    chosen, values = _looked_at(value, knots, looks)
    if not np.isfinite(values).any():
        raise ParamError(_none_definite(path, len(S), n))
    lam, smallest = _refined(value, knots[chosen], values)
    return NetworkResult(
        by=kind,
        lam=lam,
        value=smallest,
        interval=(lam, lam),
        edges=_edges(estimate(lam)),
        knots=knots[chosen],
        values=values,
        result=whole,
        problem=problem,
        notes=() if path.stopped_by == "lam_min" else (f"the path ended by {path.stopped_by}",),
    )


def _looked_at(value: Callable[[float], float], knots: Array, looks: int) -> tuple[Array, Array]:
    """Return some of the knots, all beside the best one among them, and their values."""
    chosen = np.unique(np.linspace(0, len(knots) - 1, min(looks, len(knots))).round().astype(int))
    values = np.array([value(float(lam)) for lam in knots[chosen]])
    best = int(np.argmin(values))
    between = np.arange(chosen[max(best - 1, 0)], chosen[min(best + 1, len(chosen) - 1)] + 1)
    between = np.setdiff1d(between, chosen)
    chosen = np.append(chosen, between)
    values = np.append(values, [value(float(lam)) for lam in knots[between]])
    order = np.argsort(chosen)
    return chosen[order], values[order]


def _none_definite(path: ColumnwisePath, d: int, n: int) -> str:
    """Return why no lam can be chosen, and what to do."""
    end = float(path.low[-1])
    if path.stopped_by != "infeasible_below":
        return f"no estimate down to lam = {end:.4g} is positive definite: go to a smaller lam"
    return (
        f"no estimate of {d} variables from {n} observations is positive definite, and below lam = "
        f"{end:.4g} there is none: give lam yourself, or more observations, or fewer variables"
    )


def _refined(value: Callable[[float], float], knots: Array, values: Array) -> tuple[float, float]:
    """Return the best lam beside the best knot, and its value: Brent's search on either side."""
    # A quarter of a second to import, for this rule alone.
    from scipy.optimize import minimize_scalar

    best = int(np.argmin(values))
    lam, smallest = float(knots[best]), float(values[best])
    for other in (best - 1, best + 1):
        if 0 <= other < len(knots):
            low, high = sorted((lam, float(knots[other])))
            found = minimize_scalar(value, bounds=(low, high), method="bounded")
            if found.fun < smallest:
                lam, smallest = float(found.x), float(found.fun)
    return lam, smallest


def _price(problem: Problem, n: int, kind: Criterion, gamma: float) -> float:
    """Return what an edge costs."""
    if problem.kind != "clime":
        raise ParamError(f"a {problem.kind} is no estimate of one precision matrix, as CLIME is")
    if not isinstance(n, Integral) or n < 2:
        raise ParamError(f"n is {n!r}; expected the number of observations behind S, at least 2")
    if not 0.0 <= gamma <= 1.0:
        raise ParamError(f"gamma is {gamma!r}; expected a number from 0 to 1")
    prices = {"aic": 2.0, "bic": math.log(n)}
    prices["ebic"] = prices["bic"] + 4.0 * gamma * math.log(problem.size["d"])
    if kind not in prices:
        raise ParamError(f"the criterion is {kind!r}; expected 'aic', 'bic' or 'ebic'")
    return prices[kind]


def _minus_likelihood(S: Array, omega: Array, n: int) -> float:
    try:
        factor = np.linalg.cholesky(omega)
    except np.linalg.LinAlgError:
        return math.inf
    return n * float(np.sum(S * omega) - 2.0 * np.log(np.diag(factor)).sum())


def _edges(omega: Array) -> int:
    return int(np.count_nonzero(np.triu(omega, 1)))
