"""Information criteria, minimised over a whole path."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sparseopt.backend import Backend
from sparseopt.errors import ParamError
from sparseopt.paths.parametric import ParametricPath
from sparseopt.problems.base import Array, Problem
from sparseopt.result import Result
from sparseopt.selection.choice import Selection
from sparseopt.selection.curve import Curve, Minimum, aligned, lowest, middle
from sparseopt.selection.likelihood import Criterion, Formula, formula_of
from sparseopt.selection.path_loss import path_loss
from sparseopt.selection.samples import counts, penalised, predicted, traits
from sparseopt.selection.solving import exact_path, nonzero_entries, path_result
from sparseopt.verbs import borrows

if TYPE_CHECKING:
    import pandas as pd

_STEP = 1e-6
"""How far from the end of a piece a minimum is taken that is not attained there."""


@borrows
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CriterionResult(Selection):
    """The minimum of an information criterion; see :class:`~sparseopt.selection.Selection`.

    Attributes
    ----------
    knots, values : arrays of shape (K,)
        The path's knots, decreasing, and the criterion there; infinite beyond `max_df`.
    knot_df : int array of shape (K,)
        Numbers of fitted coefficients at the knots.
    loss : Curve
        The total loss of the data (squared, absolute or check) as an exact function of lam.
    piece_df : int array of shape (C,)
        Number of fitted coefficients inside each piece of `loss`.
    max_df : int or None
        Models with more coefficients were not compared.
    formula : Formula
        The criterion of a total loss and a number of coefficients.
    """

    knots: Array
    values: Array
    knot_df: Array
    loss: Curve
    piece_df: Array
    max_df: int | None
    formula: Formula

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each knot: lam, criterion, df, loss (needs pandas)."""
        import pandas as pd

        loss = self.loss(self.knots)
        return pd.DataFrame(
            {"lam": self.knots, self.by: self.values, "df": self.knot_df, "loss": loss}
        )

    def summary(self) -> dict[str, Any]:
        """Return the facts that a person or a script asks for first, ready for JSON."""
        return {**super().summary(), "knots": len(self.knots), "max_df": self.max_df}

    if TYPE_CHECKING:  # lent by the top of the package, see sparseopt.verbs

        def plot(self, ax: Any = None, **style: Any) -> Any: ...


def information_criterion(
    problem: Problem,
    kind: Criterion = "ebic",
    *,
    gamma: float = 1.0,
    sigma: float | None = None,
    max_df: int | None = None,
    lam_min: float | None = None,
    result: Result | None = None,
    backend: str | Backend = "auto",
    options: Mapping[str, Any] | None = None,
    check: bool = True,
) -> CriterionResult:
    r"""Minimise AIC, BIC or EBIC over the whole path, not over its knots alone.

    With the number of fitted coefficients df, n observations and p coefficients to choose from,

    .. math:: AIC = f + 2\, df, \quad BIC = f + df \log n, \quad
              EBIC_\gamma = BIC + 2 \gamma \log \binom{p}{df},

    where f is minus twice the maximal log likelihood up to a constant:

    - :math:`n \log(RSS / n)`, normal errors: DantzigSelector and CompressedSensing; with a known
      `sigma`, :math:`RSS / \sigma^2`;
    - :math:`2 n \log(\sum_i \rho_\tau(r_i) / n)`, errors with an (asymmetric) Laplace distribution:
      LADLasso and QuantileLasso.

    Between two knots df is constant and the loss quadratic or constant in lam, so the criterion's
    minimum there is known in closed form. At a knot where a coefficient vanishes df is smaller
    than on either side.

    Parameters
    ----------
    problem : Problem
    kind : {"aic", "bic", "ebic"}, default "ebic"
    gamma : float, default 1.0
        Of EBIC, between 0 (BIC) and 1, which is consistent however fast p grows with n as a power.
    sigma : float, optional
        The standard deviation of normal errors, where it is known.
    max_df : int, optional
        Compare no models with more coefficients. Default: n // 2 where p >= n and sigma is unknown
        (a fit without residuals has no likelihood: its f is minus infinity); else no limit.
    lam_min, result, backend, options, check
        As for :func:`cross_validate`.

    Returns
    -------
    CriterionResult

    Raises
    ------
    ParamError
        When the model has no likelihood, or no model of the path is small enough.

    Notes
    -----
    df counts the nonzero penalised coefficients, and all unpenalised ones. In the binomial of EBIC
    only the penalised ones count. Models on an l1 path are shrunk; the criterion judges them as
    they are, not their refits.

    Values are equal that rounding can move so far: by 1e-12 of the loss, which the logarithm turns
    into 1e-12 n (2e-12 n for Laplace errors), and by 1e-12 of the terms that are added. Of equal
    ones the largest lam counts; where the criterion is constant, the middle of `interval`, or 5%
    above its lower end where it has no upper one.

    References
    ----------
    Akaike (1974); Schwarz (1978); Chen, Chen (2008) for EBIC; Machado (1993) and Lee, Noh, Park
    (2014) for the Laplace likelihood.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt.problems import DantzigSelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 5))
    >>> y = X[:, 0] - 2.0 * X[:, 3] + 0.5 * rng.standard_normal(60)
    >>> information_criterion(DantzigSelector(X, y), "bic").support.tolist()
    [0, 3]
    """
    formula = formula_of(problem, kind, gamma, sigma)
    whole = path_result(problem, result, backend, options, lam_min, check)
    path = exact_path(whole)
    loss = path_loss(path, *predicted(problem), traits(problem).loss(problem), counts(problem))
    end = max(loss.end, lam_min or 0.0)
    loss = aligned([loss], end, loss.top, also=float(path.knots[0]))[0]
    if max_df is None and sigma is None and formula.p >= formula.n:
        max_df = int(formula.n / 2)
    limit = np.inf if max_df is None else max_df

    at_low, inside = _degrees(path, penalised(problem))
    knots = path.low[path.low >= end]
    knot_df = at_low[: len(knots)] + formula.free
    values = np.where(knot_df <= limit, formula(loss(knots), knot_df), np.inf)
    segment = np.searchsorted(-path.low, -loss.low, side="left")
    piece_df = inside[segment] + formula.free
    best = _best(loss, piece_df, knots, values, formula, limit)
    return CriterionResult(
        by=kind,
        lam=best.lam,
        value=best.value,
        interval=(best.low, best.high),
        side=best.side,
        knots=knots,
        values=values,
        knot_df=knot_df,
        loss=loss,
        piece_df=piece_df,
        max_df=max_df,
        formula=formula,
        result=whole,
        problem=problem,
        notes=() if path.stopped_by == "lam_min" else (f"the path ended by {path.stopped_by}",),
    )


def _degrees(path: ParametricPath, mask: Array) -> tuple[Array, Array]:
    """Count the nonzero penalised coefficients at each segment's lower end, and inside of it."""
    segment, at_low, inside = nonzero_entries(path)
    counted = mask[path.theta.index]
    return (
        np.bincount(segment[at_low & counted], minlength=len(path.low)),
        np.bincount(segment[inside & counted], minlength=len(path.low)),
    )


def _best(
    loss: Curve, piece_df: Array, knots: Array, values: Array, formula: Formula, limit: float
) -> Minimum:
    """Return the smallest of the values at the knots and inside the pieces."""
    steps, smallest = loss.smallest()
    inside = np.where(piece_df <= limit, formula(smallest, piece_df), np.inf)
    if not np.isfinite(np.append(inside, values)).any():
        raise ParamError(
            f"no model of the path has at most {limit:g} coefficients; the smallest has "
            f"{piece_df.min()}"
        )
    at = int(np.argmin(inside))
    tie = formula.tie(float(smallest[at]), int(piece_df[at]))
    pieces = lowest(loss.low, loss.high, steps, inside, loss.flat, tie)
    if math.isinf(pieces.high):
        # Not from the first of the path's knots, which may be one where no coefficient changes.
        pieces = replace(pieces, lam=middle(pieces.low, pieces.high))
    best = min(pieces.value, float(values.min()))
    # The largest of the knots that are as good, unless a piece is that has it, or larger lam.
    tied = np.flatnonzero(values <= best + tie)
    if len(tied) and (pieces.value > best + tie or knots[tied[0]] > pieces.high):
        lam, value = float(knots[tied[0]]), float(values[tied[0]])
        return Minimum(lam, value, lam, lam)
    here = np.flatnonzero(knots == pieces.lam)
    if pieces.low < pieces.high or len(here) == 0:
        return pieces
    # At the end of a piece, where a coefficient may vanish or theta may jump.
    lam, value = float(knots[here[0]]), float(values[here[0]])
    if value <= pieces.value + tie:
        return Minimum(lam, value, lam, lam)
    return _inside(loss, piece_df, pieces, formula)


def _inside(loss: Curve, piece_df: Array, end: Minimum, formula: Formula) -> Minimum:
    """Step from an end of a piece, where the minimum is not attained, into the piece.

    The binomial of EBIC falls beyond p / 2 coefficients: the larger model may be the better one, up
    to the end of its piece, but not there.
    """
    at_end = np.flatnonzero(loss.high == end.lam if end.side == "below" else loss.low == end.lam)
    c = int(at_end[-1])
    towards = 1.0 - _STEP if end.side == "below" else _STEP
    lam = float(loss.low[c] + towards * (loss.high[c] - loss.low[c]))
    value = float(formula(loss(lam), piece_df[c]))
    return Minimum(lam, value, lam, lam)
