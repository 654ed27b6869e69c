"""A chosen value of lam, and what belongs to it: :class:`Selection`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from sparseopt.cards import Card, NamedValues
from sparseopt.names import intercept_in
from sparseopt.paths.base import PathResult
from sparseopt.paths.columns import ColumnwisePath
from sparseopt.paths.parametric import ParametricPath, Side
from sparseopt.problems.base import Array
from sparseopt.result import Result
from sparseopt.selection.refitting import refit
from sparseopt.selection.solving import rounded_off
from sparseopt.verbs import borrows

if TYPE_CHECKING:
    import pandas as pd


def coefficients_at(path: PathResult, lam: float, side: Side) -> Array:
    """Return the solution at lam with exact zeros where rounding left something else.

    Parameters
    ----------
    path : PathResult
    lam : float
    side : {"above", "below"}
        Which limit is taken at a jump.

    Returns
    -------
    array of shape (p,)
    """
    columns = path.columns if isinstance(path, ColumnwisePath) else [path]
    # All columns have the end of the first that ends.
    found, end = [], float(path.knots[-1])
    for column in columns:
        assert isinstance(column, ParametricPath)
        x = column.at(lam, side)
        found.append(np.where(np.abs(x) > rounded_off(column, end), x, 0.0))
    return np.concatenate(found)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Selection(Card):
    """The value of lam that a rule chose.

    Attributes
    ----------
    by : str
        The rule.
    lam : float
    value : float
        Of the criterion there.
    interval : (float, float)
        The values of lam around it that are as good; both are `lam` where there is one alone.
    result : Result
        The path of the whole data.
    problem : Problem
    notes : tuple of str
        Remarks for the person.
    side : {"above", "below"}
        Where the solution jumps at `lam`: which of the two limits `x` is.
    """

    by: str
    lam: float
    value: float
    interval: tuple[float, float]
    result: Result
    problem: Any
    notes: tuple[str, ...] = ()
    side: Literal["above", "below"] = "above"

    @property
    def x(self) -> Array:
        """The coefficients at lam, shape (p,)."""
        assert self.result.path is not None
        return coefficients_at(self.result.path, self.lam, self.side)

    @property
    def support(self) -> Array:
        """Indices of the coefficients that are not zero."""
        return np.flatnonzero(self.x)

    @property
    def nonzeros(self) -> int:
        """Number of coefficients that are not zero; an intercept is not counted."""
        names = self.problem.coefficient_names
        intercept = intercept_in(names)
        return sum(names[j] != intercept for j in self.support.tolist())

    def refit(self) -> Array:
        """Return the coefficients fitted anew on the support, without a penalty, shape (p,).

        See :func:`sparseopt.selection.refit`.
        """
        return refit(self.problem, self.support)

    @property
    def coefficients(self) -> NamedValues:
        """The coefficients at lam by name."""
        return NamedValues(self.problem.coefficient_names, self.x)

    folded: ClassVar[frozenset[str]] = frozenset({"value", "as good", "path", "notes"})

    def sketch(self) -> str:
        """Return a small picture of the largest coefficients."""
        return self.coefficients.sketch()

    def facts(self) -> Mapping[str, Any]:
        """Return what a person reads first, by name."""
        low, high = self.interval
        return {
            "by": self.by,
            "lam": self.lam,
            "value": self.value,
            "nonzeros": self.nonzeros,
            "as good": None if low == high else f"{low:.6g} to {high:.6g}",
            "nonzero": self.coefficients,
            "verdict": self.result.verdict.value if self.result.verdict else None,
            "path": repr(self.result.path),
            "notes": "; ".join(self.notes) or None,
        }

    def summary(self) -> dict[str, Any]:
        """Return the facts that a person or a script asks for first, ready for JSON."""
        names = self.problem.coefficient_names
        x = self.x
        return {
            "by": self.by,
            "lam": self.lam,
            "value": self.value,
            "interval": [end if np.isfinite(end) else str(end) for end in self.interval],
            "nonzeros": self.nonzeros,
            "coefficients": {names[j]: float(x[j]) for j in self.support},
            "backend": self.result.backend,
            "verdict": self.result.verdict.value if self.result.verdict else None,
            "notes": list(self.notes),
            "instance": self.result.instance,
        }


@borrows
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class KnotSelection(Selection):
    """The smallest value of a criterion at the knots of a path; see :class:`Selection`.

    Attributes
    ----------
    knots, values : arrays of shape (K,)
        The values of lam that were looked at, decreasing, and the criterion there.
    """

    knots: Array
    values: Array

    @classmethod
    def of(cls, criterion: Callable[[float], float], by: str, result: Result) -> Self:
        """Look at all knots of a path.

        Parameters
        ----------
        criterion : callable
            Of lam.
        by : str
            Its name.
        result : Result
            With the path and its problem.
        """
        knots = np.asarray(result.path.knots)  # type: ignore[union-attr]
        values = np.array([criterion(float(lam)) for lam in knots])
        best = int(np.argmin(values))
        lam, value = float(knots[best]), float(values[best])
        facts: dict[str, Any] = {"by": by, "lam": lam, "value": value, "interval": (lam, lam)}
        return cls(**facts, result=result, problem=result.problem, knots=knots, values=values)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each knot: lam, criterion (needs pandas)."""
        import pandas as pd

        return pd.DataFrame({"lam": self.knots, self.by: self.values})

    def summary(self) -> dict[str, Any]:
        """Return the facts that a person or a script asks for first, ready for JSON."""
        return {**super().summary(), "knots": len(self.knots)}

    if TYPE_CHECKING:  # lent by the top of the package, see sparseopt.verbs

        def plot(self, ax: Any = None, **style: Any) -> Any: ...
