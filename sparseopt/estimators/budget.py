"""What the estimators with an answer for every number of nonzeros share."""

from __future__ import annotations

import copy
from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from sparseopt.api import solve
from sparseopt.estimators.base import forget
from sparseopt.selection.rules import select


class BudgetEstimator(BaseEstimator):  # type: ignore[misc]
    """Base of the estimators whose problem is solved for every budget at once.

    A subclass names its parameter that is the budget, and has `fit` and :meth:`_place`.
    """

    _budget: ClassVar[str] = "budget"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "rule": [StrOptions({"ebic", "bic", "aic", "cv"})],
        "ridge": [Interval(Real, 0, None, closed="left")],
        "backend": [str, HasMethods("solve")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    }
    _count: ClassVar[list[Any]] = [Interval(Integral, 0, None, closed="left"), None]

    def _follow(self, problem: Any) -> None:
        """Solve for every budget."""
        forget(self, "selection_")
        result = solve(problem, backend=self.backend, time_limit=self.time_limit)
        self.result_ = result.raise_for_status()
        self.path_: Any = result.path
        self.verdict_, self.status_ = str(result.verdict), str(result.status)

    def _selected(self, **details: Any) -> int:
        """Return the budget that the rule chooses."""
        self.selection_ = select(self.result_.problem, self.rule, result=self.result_, **details)
        return int(self.selection_.budget)

    @abstractmethod
    def _place(self, budget: int) -> None:
        """Set the fitted attributes to the solution of a budget."""

    def at(self, budget: int) -> Self:
        """Return the estimator as fitted with another budget, read off the path.

        Parameters
        ----------
        budget : int
            The number of nonzeros: the size of a model, or the neighbours of all nodes together.

        Returns
        -------
        estimator
            A fitted copy; this one stays as it is.
        """
        check_is_fitted(self)
        other = copy.copy(self)
        forget(other, "selection_")
        setattr(other, self._budget, int(budget))
        other._place(int(budget))
        return other
