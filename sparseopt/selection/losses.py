"""Losses of predictions, as piecewise quadratic functions of the linear predictor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sparseopt.errors import ParamError
from sparseopt.problems.base import Array


@dataclass(frozen=True)
class Loss:
    r"""A loss of one observation y and its linear predictor f.

    .. math:: \ell(y, f) = a_0 + a_1 u + a_2 u^2, \qquad u = f - k(y),

    with one triple of coefficients for u < 0 and one for u > 0. Where the two disagree at u = 0 the
    loss there is their mean.

    Attributes
    ----------
    name : str
    kink : callable
        y, shape (n,), to k(y).
    below, above : callables
        y to the coefficients for u < 0 and for u > 0, shape (n, 3).
    classes : bool
        Whether y holds the classes -1 and 1.
    """

    name: str
    kink: Callable[[Array], Array]
    below: Callable[[Array], Array]
    above: Callable[[Array], Array]
    classes: bool = False

    def total(self, y: Array, f: Array) -> float:
        """Return the sum of the losses of predictors `f`, shape (n,)."""
        u = f - self.kink(y)
        below, above = self.below(y), self.above(y)
        a = np.where(u[:, None] < 0.0, below, above)
        a = np.where(u[:, None] == 0.0, 0.5 * (below + above), a)
        return float(np.sum(a[:, 0] + u * (a[:, 1] + u * a[:, 2])))


def _same(y: Array) -> Array:
    return y


def _constant(*coefficients: float) -> Callable[[Array], Array]:
    return lambda y: np.tile(coefficients, (len(y), 1))


def _of_class(positive: tuple[float, ...], negative: tuple[float, ...]) -> Callable[[Array], Array]:
    return lambda y: np.where(y[:, None] > 0.0, positive, negative)


SQUARED = Loss("squared", _same, _constant(0.0, 0.0, 1.0), _constant(0.0, 0.0, 1.0))
ABSOLUTE = Loss("absolute", _same, _constant(0.0, -1.0, 0.0), _constant(0.0, 1.0, 0.0))
# The hinge max(0, 1 - y f) of a class y = 1 or -1 has its kink at f = y.
HINGE = Loss(
    "hinge",
    _same,
    _of_class((0.0, -1.0, 0.0), (0.0, 0.0, 0.0)),
    _of_class((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
    classes=True,
)
# On the boundary f = 0 an observation counts one half.
MISCLASSIFICATION = Loss(
    "misclassification",
    np.zeros_like,
    _of_class((1.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
    _of_class((0.0, 0.0, 0.0), (1.0, 0.0, 0.0)),
    classes=True,
)


def check_loss(tau: float) -> Loss:
    """Return tau (y - f)_+ + (1 - tau) (f - y)_+, the loss of the quantile at level tau.

    Parameters
    ----------
    tau : float
        The level, strictly between 0 and 1.

    Returns
    -------
    Loss
    """
    if not 0.0 < tau < 1.0:
        raise ParamError(f"tau is {tau!r}; expected a level strictly between 0 and 1")
    name = f"check({tau:g})"
    return Loss(name, _same, _constant(0.0, -tau, 0.0), _constant(0.0, 1.0 - tau, 0.0))


_NAMED = {loss.name: loss for loss in (SQUARED, ABSOLUTE, HINGE, MISCLASSIFICATION)}


def named_loss(name: str, tau: float | None = None) -> Loss:
    """Return the loss of a name; "check" is at the level `tau`.

    Parameters
    ----------
    name : {"squared", "absolute", "check", "hinge", "zero-one"}
    tau : float, optional
        The level of "check".

    Returns
    -------
    Loss

    Raises
    ------
    ParamError
        When there is none of that name, or "check" without a level.
    """
    if name == "check":
        if tau is None:
            raise ParamError("the check loss needs a level: give loss=check_loss(tau)")
        return check_loss(tau)
    if name not in _NAMED:
        raise ParamError(f"loss is {name!r}; expected one of: {', '.join(_NAMED)}, check")
    return _NAMED[name]
