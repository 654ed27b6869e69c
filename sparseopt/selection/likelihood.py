"""The formulas of the information criteria."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import gammaln

from sparseopt.errors import ParamError
from sparseopt.problems.base import Array, Problem
from sparseopt.selection.curve import TIE
from sparseopt.selection.samples import counts, penalised, traits

Criterion = Literal["aic", "bic", "ebic"]

_NOISE = 1e-14
"""Residuals of this size, relative to the largest response, are rounding."""


@dataclass(frozen=True)
class Formula:
    """A criterion as a function of the total loss and the number of fitted coefficients.

    Attributes
    ----------
    kind : {"aic", "bic", "ebic"}
    n : float
        Number of observations, the sum of their weights.
    p : int
        Number of coefficients to choose from; `free` more are always fitted.
    gamma : float
        Of EBIC.
    sigma : float or None
        The known standard deviation of normal errors.
    laplace : bool
        Whether the loss is that of (asymmetric) Laplace errors, else of normal ones.
    floor : float
        A loss that is zero but for rounding; smaller ones count as this.
    """

    kind: Criterion
    n: float
    p: int
    free: int
    gamma: float
    sigma: float | None
    laplace: bool
    floor: float

    def __call__(self, loss: Array, df: Array) -> Array:
        """Return the criterion."""
        return self.fit(loss) + self.penalty(df)

    def fit(self, loss: Array) -> Array:
        """Return -2 log likelihood, maximal over an unknown scale, up to a constant."""
        if self.sigma is not None:
            return np.asarray(loss / self.sigma**2)
        return np.asarray(self._times * np.log(np.maximum(loss, self.floor) / self.n))

    @property
    def _times(self) -> float:
        """How often the logarithm of the mean loss counts, where the scale is unknown."""
        return 2 * self.n if self.laplace else self.n

    def tie(self, loss: float, df: int) -> float:
        """Return how far values may be from the one here that are equal to it up to rounding.

        A loss is known up to :data:`~sparseopt.selection.curve.TIE` of itself, by which its
        logarithm moves; sums are known up to as much of their terms.
        """
        fit, price = abs(float(self.fit(np.asarray(loss)))), float(self.penalty(np.asarray(df)))
        return TIE * (fit + price + (self._times if self.sigma is None else 0.0))

    def penalty(self, df: Array) -> Array:
        """Return the price of df coefficients."""
        if self.kind == "aic":
            return np.asarray(2.0 * df)
        price = np.log(self.n) * df
        if self.kind == "ebic":
            k = df - self.free
            models = gammaln(self.p + 1) - gammaln(k + 1) - gammaln(self.p - k + 1)
            price = price + 2.0 * self.gamma * models
        return np.asarray(price)


def formula_of(problem: Problem, kind: Criterion, gamma: float, sigma: float | None) -> Formula:
    """Return the criterion of a problem.

    Parameters
    ----------
    problem : Problem
    kind : {"aic", "bic", "ebic"}
    gamma : float
        Of the EBIC, 0 to 1.
    sigma : float or None
        The standard deviation of the errors, where it is known.

    Returns
    -------
    Formula

    Raises
    ------
    ParamError
        When the model has no likelihood, or a value is out of range.
    """
    likelihood = traits(problem).likelihood
    if likelihood is None:
        raise ParamError(
            f"the loss of a {problem.kind} is no likelihood, so it has no {kind}; choose lam by "
            "cross-validation"
        )
    if kind not in ("aic", "bic", "ebic"):
        raise ParamError(f"the criterion is {kind!r}; expected 'aic', 'bic' or 'ebic'")
    if not 0.0 <= gamma <= 1.0:
        raise ParamError(f"gamma is {gamma!r}; expected a number from 0 to 1")
    if sigma is not None and likelihood != "gaussian":
        raise ParamError(
            f"sigma is for normal errors; the scale of a {problem.kind} is estimated: leave it out"
        )
    if sigma is not None and not 0.0 < sigma < np.inf:
        raise ParamError(f"sigma is {sigma!r}; expected a number > 0")
    own: Any = problem
    mask, d = penalised(problem), own.X.shape[1]
    n = float(counts(problem).sum())
    smallest = max(_NOISE * float(np.abs(own.y).max()), np.finfo(float).tiny ** 0.5)
    laplace = likelihood == "laplace"
    return Formula(
        kind=kind,
        n=n,
        p=int(mask.sum()),
        free=int((~mask).sum()) + int(getattr(own, "fit_intercept", False) and len(mask) == d),
        gamma=gamma,
        sigma=sigma,
        laplace=laplace,
        floor=n * smallest ** (1 if laplace else 2),
    )
