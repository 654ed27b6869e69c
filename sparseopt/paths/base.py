"""Solutions as a function of a parameter: :class:`PathResult`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import suppress
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sparseopt.cards import Card
from sparseopt.errors import ParamError
from sparseopt.params import shown
from sparseopt.problems.base import Array

if TYPE_CHECKING:
    import pandas as pd


class PathResult(Card, ABC):
    """Solutions for a range of a parameter.

    Attributes
    ----------
    kind : str
        Which :class:`~sparseopt.io.results.PathFormat` writes it.
    parameter : str
        What it is a path over: "lam", "budget", "size", "bound".
    knots : array of shape (K,)
        The parameter's values at which something changes, in the order of the solve (decreasing
        for lam, increasing for a budget). The last one is where the path ends.
    stopped_by : str
        Why it ends there: "lam_min", "max_knots", "max_nonzeros", "infeasible_below",
        "unbounded_below", "time", "interrupted", "slow_progress", ...
    """

    kind: ClassVar[str]
    parameter: ClassVar[str] = "lam"
    knots: Array
    stopped_by: str

    def __len__(self) -> int:
        return len(self.knots)

    @property
    def end(self) -> float:
        """Where the path ends, as a value of the problem's parameter; a result's x is there."""
        return float(self.knots[-1])

    def facts(self) -> Mapping[str, Any]:
        """Return what a person reads first, by name."""
        knots = self.knots
        ends = f"{knots[0]:.6g} to {knots[-1]:.6g}" if len(knots) else None
        return {"knots": len(knots), self.parameter: ends, "stopped_by": self.stopped_by}

    def _number(self, value: object) -> float:
        """Return a value of the parameter that a caller asks about.

        Raises
        ------
        ParamError
            When it is not one number.
        """
        if isinstance(value, Real) or (isinstance(value, np.ndarray) and value.shape == ()):
            with suppress(TypeError, ValueError, OverflowError):
                return float(value)
        one_by_one = ""
        if isinstance(value, Iterable) and not isinstance(value, str | bytes):
            one_by_one = ": ask for several values one by one, [path.at(value) for value in values]"
        raise ParamError(f"{self.parameter} is {shown(value)}; expected one number{one_by_one}")

    @abstractmethod
    def at(self, value: float) -> Any:
        """Return the solution at a value of the parameter."""

    @abstractmethod
    def objective_at(self, value: float) -> float:
        """Return the objective value at a value of the parameter."""

    @abstractmethod
    def to_frame(self) -> pd.DataFrame:
        """Return the path as a table with one row for each knot (needs pandas)."""
