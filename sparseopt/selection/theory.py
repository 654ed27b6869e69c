"""The values of lam that theory proposes, each with its formula and its source."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from sparseopt.errors import ParamError
from sparseopt.paths.parametric import ParametricPath
from sparseopt.problems.base import Array, Problem, is_sparse
from sparseopt.selection.curve import Curve
from sparseopt.selection.losses import SQUARED
from sparseopt.selection.path_loss import Rows, path_loss
from sparseopt.selection.samples import counts, penalised, predicted

_WITH_SIGMA = ("dantzig-selector", "compressed-sensing")
_WITH_N = ("clime",)
"""Kinds whose theoretical lam depends on the deviation of errors; on a number of observations."""
_DRAWS = 2000
_CELLS = 1 << 22


@dataclass(frozen=True)
class TheoreticalLam:
    """A value of lam on the problem's scale, with its formula and its source."""

    lam: float
    formula: str
    source: str


def theoretical_lam(
    problem: Problem,
    *,
    sigma: float | None = None,
    n: int | None = None,
    alpha: float = 0.1,
    c: float | None = None,
    seed: int = 0,
) -> TheoreticalLam:
    r"""Return the lam that the theory of the model proposes, on the scale of the problem.

    All dominate the noise: with high probability the true coefficients are feasible at it
    (Dantzig selector, compressed sensing, CLIME), or the score of the loss at them is below
    lam / c (LAD, quantile, SVM).

    ======================= =====================================================================
    DantzigSelector         :math:`c\,\sigma \sqrt{2 \log d}\, \max_j \|X_j\|_2 / r_j` (divided by
                            n with scale="n"), c = 1: :math:`\sigma \sqrt{2 n \log d}` for
                            columns of norm :math:`\sqrt n`. Candes, Tao (2007).
    CompressedSensing       :math:`c\,\sigma\, q / \min_i r_i`, c = 1, with q the (1 - alpha)
                            quantile of the largest of n standard normal absolute values.
                            Candes, Tao (2005); exact for normal errors.
    LADLasso, QuantileLasso :math:`c` times the (1 - alpha) quantile of
                            :math:`\max_j |X_j'(\tau - 1\{U \le \tau\})| / w_j` with U uniform,
                            given X, c = 1.1. It does not depend on the errors' distribution.
                            Belloni, Chernozhukov (2011); Wang (2013) for LAD.
    L1SVM                   :math:`c \sqrt{2 \log(2 d / \alpha)}\, \max_j \|X_j\|_2 / w_j`, c = 1.1:
                            Hoeffding's inequality for the score, as in Peng, Wang, Wu (2016).
    CLIME                   :math:`c \max_j S_{jj} \sqrt{\log d / n}`, c = 2. Cai, Liu, Luo (2011).
    ======================= =====================================================================

    Coefficients without a penalty, and constraints with the weight 0, are left out of the maxima.
    Columns that are fitted in full (both weights 0) are projected out of the others.
    With an intercept the columns are centred, as the score is once the intercept is fitted. For LAD
    the quantile is of the signs, twice the one of the check loss.

    Parameters
    ----------
    problem : Problem
    sigma : float
        Standard deviation of the errors, for DantzigSelector and CompressedSensing, which need it;
        see :func:`noise_level` for an estimate from the path.
    n : int
        Number of observations, for CLIME, which needs it.
    alpha : float, default 0.1
        Probability that is left to fail.
    c : float, optional
        The constant above; Belloni and Chernozhukov ask for c > 1 in theirs.
    seed : int, default 0
        Of the simulated quantile (2,000 draws).

    Returns
    -------
    TheoreticalLam

    Raises
    ------
    ParamError
        When the model has none, or something that it needs is missing or out of range, or it does
        not depend on the sigma or n that is given.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt.problems import DantzigSelector
    >>> problem = DantzigSelector(X=np.ones((4, 2)), y=[1.0, 2.0, 3.0, 4.0])
    >>> chosen = theoretical_lam(problem, sigma=0.5)
    >>> chosen.formula, round(chosen.lam, 3)
    ('1 sigma sqrt(2 log d) max_j |X_j| / r_j', 1.177)
    """
    if not 0.0 < alpha < 1.0:
        raise ParamError(f"alpha is {alpha!r}; expected a number strictly between 0 and 1")
    if c is not None and not 0.0 < c < math.inf:
        raise ParamError(f"c is {c!r}; expected a number > 0")
    asked = _Asked(sigma, n, alpha, c, seed)
    if problem.kind not in _RULES:
        raise ParamError(
            f"there is no theoretical lam for the kind {problem.kind!r}; there is for: "
            f"{', '.join(_RULES)}"
        )
    for name, (value, kinds) in {"sigma": (sigma, _WITH_SIGMA), "n": (n, _WITH_N)}.items():
        if value is not None and problem.kind not in kinds:
            raise ParamError(
                f"the theoretical lam of a {problem.kind} does not depend on {name}: leave it out"
            )
    return _RULES[problem.kind](problem, asked)


@dataclass(frozen=True)
class _Asked:
    sigma: float | None
    n: int | None
    alpha: float
    c: float | None
    seed: int

    def constant(self, default: float) -> float:
        return default if self.c is None else self.c

    def noise(self, problem: Problem) -> float:
        if self.sigma is None or not 0.0 <= self.sigma < math.inf:
            raise ParamError(
                f"the theoretical lam of a {problem.kind} needs sigma, the standard deviation of "
                f"the errors, got {self.sigma!r}"
            )
        return self.sigma


def _dantzig(problem: Any, asked: _Asked) -> TheoreticalLam:
    c = asked.constant(1.0)
    unit = asked.noise(problem) * _dantzig_unit(problem)
    over = " / n" if problem.scale == "n" else ""
    return TheoreticalLam(
        c * unit, f"{c:g} sigma sqrt(2 log d) max_j |X_j| / r_j{over}", "Candes, Tao (2007)"
    )


def _dantzig_unit(problem: Any) -> float:
    """Return sqrt(2 log d) max_j norm(X_j) / r_j on the problem's scale: lam for sigma = 1."""
    full = (problem.penalty_weights == 0.0) & (problem.band_weights == 0.0)
    lengths = _sparse_lengths(problem, full) if is_sparse(problem.X) else _lengths(problem, full)
    ratio = _ratio(lengths, problem.row_weights)
    return math.sqrt(2.0 * math.log(max(int((~full).sum()), 2))) * ratio / float(problem.divisor)


def _lengths(problem: Any, full: Array) -> Array:
    """Return the columns' lengths once those that are fitted in full are projected out."""
    X = problem.weighted_rows()[0]
    if full.any():
        X = X - X[:, full] @ np.linalg.lstsq(X[:, full], X, rcond=None)[0]
    return np.asarray(np.linalg.norm(X, axis=0))


def _sparse_lengths(problem: Any, full: Array) -> Array:
    """Return the same of a sparse X by products with it: only columns in full become dense."""
    products, columns = problem.matrix_map, np.flatnonzero(full)
    squares = products.divisor * products.norms**2
    if len(columns):
        basis, sizes, _ = np.linalg.svd(
            products.forward(columns, np.eye(len(columns))), full_matrices=False
        )
        basis = basis[:, sizes > 1e-12 * sizes[0]]
        squares -= ((products.divisor * products.back(basis)) ** 2).sum(axis=1)
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)))


def _ratio(sizes: Array, weights: Array | None) -> float:
    """Return the largest size / weight; what has the weight 0 is left out."""
    w = np.ones(len(sizes)) if weights is None else weights
    return float((sizes[w > 0.0] / w[w > 0.0]).max(initial=0.0))


def _compressed_sensing(problem: Any, asked: _Asked) -> TheoreticalLam:
    repeats = counts(problem)
    c, n = asked.constant(1.0), float(repeats.sum())
    # (2 Phi(q) - 1)^n = 1 - alpha, from the upper tail, which keeps its digits.
    tail = -0.5 * math.expm1(math.log1p(-asked.alpha) / n)
    q = -float(ndtri(tail))
    weights = problem.band_weights[repeats > 0.0]
    smallest = float(weights[weights > 0.0].min(initial=np.inf))
    return TheoreticalLam(
        c * asked.noise(problem) * q / smallest,
        f"{c:g} sigma x {1 - asked.alpha:g} quantile of the largest of {n:g} normal errors",
        "Candes, Tao (2005)",
    )


def _quantile(problem: Any, asked: _Asked) -> TheoreticalLam:
    tau, times = (0.5, 2.0) if problem.kind == "lad-lasso" else (problem.tau, 1.0)
    c = asked.constant(1.1)
    X, weights = _penalised_columns(problem)
    repeats = counts(problem)
    if (repeats != np.round(repeats)).any():
        raise ParamError(
            "the score is simulated for whole numbers of observations: give whole sample_weights"
        )
    X = X[np.repeat(np.arange(len(repeats)), repeats.astype(np.int64))]
    n, d = X.X.shape
    rng = np.random.default_rng(asked.seed)
    largest = np.empty(_DRAWS)
    chunk = max(1, min(_DRAWS, _CELLS // max(n, d)))
    for first in range(0, _DRAWS, chunk):
        here = slice(first, min(first + chunk, _DRAWS))
        score = tau - (rng.random((here.stop - first, n)) <= tau)
        largest[here] = (np.abs(X.correlations(score)) / weights).max(axis=1, initial=0.0)
    return TheoreticalLam(
        c * times * float(np.quantile(largest, 1.0 - asked.alpha)),
        f"{c:g} x {1 - asked.alpha:g} quantile of the sup norm of the score ({_DRAWS} draws)",
        "Belloni, Chernozhukov (2011)",
    )


def _svm(problem: Any, asked: _Asked) -> TheoreticalLam:
    c = asked.constant(1.1)
    X, weights = _penalised_columns(problem)
    level = math.sqrt(2.0 * math.log(2.0 * max(len(weights), 1) / asked.alpha))
    return TheoreticalLam(
        c * level * _ratio(np.sqrt(X.squares(counts(problem))), weights),
        f"{c:g} sqrt(2 log(2 d / {asked.alpha:g})) max_j |X_j| / w_j",
        "Peng, Wang, Wu (2016)",
    )


def _penalised_columns(problem: Any) -> tuple[Rows, Array]:
    """Return the columns with a penalty, centred where there is an intercept, and their weights."""
    mask = penalised(problem)[: problem.X.shape[1]]
    X, times, centre = problem.X[:, mask], counts(problem), None
    if problem.fit_intercept:
        centre = np.asarray(X.T @ (times / times.sum()))
    weights = np.ones(len(mask)) if problem.weights is None else problem.weights
    return Rows(X, centre), weights[mask]


def _clime(problem: Any, asked: _Asked) -> TheoreticalLam:
    if asked.n is None or asked.n < 2:
        raise ParamError(
            f"the theoretical lam of a clime needs n, the number of observations behind S, "
            f"got {asked.n!r}"
        )
    c, d = asked.constant(2.0), len(problem.S)
    lam = c * float(problem.variances.max()) * math.sqrt(math.log(max(d, 2)) / asked.n)
    return TheoreticalLam(lam, f"{c:g} max_j S_jj sqrt(log d / n)", "Cai, Liu, Luo (2011)")


_RULES: dict[str, Callable[[Any, _Asked], TheoreticalLam]] = {
    "dantzig-selector": _dantzig,
    "compressed-sensing": _compressed_sensing,
    "lad-lasso": _quantile,
    "quantile-lasso": _quantile,
    "l1-svm": _svm,
    "clime": _clime,
}


def noise_level(problem: Problem, path: ParametricPath) -> float:
    r"""Estimate the standard deviation of the errors from the Dantzig selector's path.

    The largest :math:`\hat\sigma` with

    .. math:: \hat\sigma^2 = \frac{1}{n} \|y - X \theta(\hat\sigma \lambda_1)\|_2^2,

    where :math:`\lambda_1` is the theoretical lam for :math:`\sigma = 1`: the fixed point of
    choosing lam by sigma and sigma by lam, exact because the right-hand side is quadratic between
    the knots.

    Parameters
    ----------
    problem : DantzigSelector
    path : ParametricPath
        Down to the lam that comes out, or farther.

    Returns
    -------
    float

    Raises
    ------
    ParamError
        When the problem is no Dantzig selector, or the path ends above the fixed point.

    References
    ----------
    Sun, Zhang (2012): Scaled sparse linear regression, section 2, for this and the lasso.

    Examples
    --------
    >>> import numpy as np
    >>> import sparseopt
    >>> problem = sparseopt.problems.DantzigSelector(
    ...     X=np.eye(50), y=np.r_[9.0, np.tile([1, -1], 24), 1]
    ... )
    >>> round(noise_level(problem, sparseopt.solve(problem).path), 2)
    1.08
    """
    if problem.kind != "dantzig-selector":
        raise ParamError(
            f"sigma is estimated for the Dantzig selector, not for the kind {problem.kind!r}"
        )
    weights, unit = counts(problem), _dantzig_unit(problem)
    n = float(weights.sum())
    if unit == 0.0:
        return math.sqrt(float(weights @ predicted(problem)[1] ** 2) / n)
    rss = path_loss(path, *predicted(problem), SQUARED, weights)
    # The difference (lam / unit)^2 - RSS / n, positive at large lam; its largest zero.
    low = rss.low
    positive = 2.0 * max(low[0], unit * math.sqrt(rss.coefficients[0, 0] / n))
    square = np.column_stack([low**2, 2.0 * low, np.ones_like(low)]) / unit**2
    difference = Curve(low, min(positive, rss.top), square - rss.coefficients / n)
    try:
        return difference.largest_within(0.0) / unit
    except ValueError:
        if rss.end == 0.0:
            return 0.0
        raise ParamError(
            f"the path ends at lam = {rss.end:g}, above the lam where sigma is estimated: solve "
            "farther down"
        ) from None
