"""The levels of quantile regression with a penalty, as the odds in a linear program.

The problem is divided by 1 - tau = 1 / (1 + odds): its slopes are then minus the odds tau / (1 -
tau), and 1, so that the general engine follows it over the odds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sparseopt.errors import ParamError
from sparseopt.paths.parametric import ParametricPath
from sparseopt.paths.quantiles import QuantilePath
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.pieces import Pieces
from sparseopt.problems.parametric.problem import PiecewiseLinearProgram


def as_levels(quantiles: Any) -> list[float]:
    """Return the levels of an array_like as numbers.

    Parameters
    ----------
    quantiles : array_like of shape (m,)

    Raises
    ------
    ParamError
        When it is no list, is empty, or has something that is no level between 0 and 1.
    """
    levels = np.asarray(quantiles)
    if levels.ndim != 1 or not levels.size or levels.dtype.kind not in "fiu":
        raise ParamError(
            f"quantiles is {quantiles!r}; expected a list of levels between 0 and 1, such as "
            "[0.1, 0.5, 0.9]"
        )
    if not ((levels > 0.0) & (levels < 1.0)).all():
        raise ParamError(f"quantiles is {quantiles!r}; expected levels between 0 and 1")
    return [float(level) for level in levels]


def program_in_odds(
    X: Any, y: Array, price: Array, times: Array, names: list[str] | None
) -> PiecewiseLinearProgram:
    """Return the problem of all levels.

    Parameters
    ----------
    X : array or csr_array of shape (n, d)
    y : array of shape (n,)
    price : array of shape (d,)
        The penalty of a unit of each coefficient.
    times : array of shape (n,)
        The weights of the observations.
    names : list of d str, or None
    """
    phi = Pieces.uniform([0.0], [-price, price], slope_rates=[-price, price], n=len(price))
    psi = Pieces.uniform([y], [0.0, times], slope_rates=[-times, 0.0], n=len(y))
    return PiecewiseLinearProgram(X, phi, psi, names=names)


@dataclass(frozen=True)
class LevelsOfOdds:
    """A path over the odds, read at levels as a :class:`~sparseopt.paths.quantiles.QuantilePath`.

    Attributes
    ----------
    problem : PiecewiseLinearProgram
    path : ParametricPath
    """

    problem: PiecewiseLinearProgram
    path: ParametricPath

    @property
    def knots(self) -> Array:
        """The levels at which the solution changes, increasing."""
        odds = self.path.knots[self.path.knots > 0.0][::-1]
        return odds / (1.0 + odds)

    def at(self, level: float) -> Any:
        """Return the coefficients at a level, shape (d,)."""
        return self.path.at(_odds(level))

    def objective_at(self, level: float) -> float:
        """Return the objective at a level."""
        return self.problem.objective(self.at(level), _odds(level)) * (1.0 - level)

    def bound_at(self, level: float) -> float:
        """Return the value of the multipliers at a level."""
        nu = self.path.dual_at(_odds(level))
        value = self.problem.canonical().dual_value(nu, _odds(level))
        return float(self.problem.canonical_sign * value * (1.0 - level))


def _odds(level: float) -> float:
    return level / (1.0 - level)


def by_level(problem: PiecewiseLinearProgram, path: Any) -> QuantilePath | LevelsOfOdds:
    """Return a path that is read at levels: as it is, or one over the odds.

    Parameters
    ----------
    problem : PiecewiseLinearProgram
    path : QuantilePath or ParametricPath
    """
    return path if isinstance(path, QuantilePath) else LevelsOfOdds(problem, path)
