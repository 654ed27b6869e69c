"""What the estimators with an answer for every number of nonzeros share."""

from __future__ import annotations

import copy
from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from sparseopt.api import solve
from sparseopt.errors import ParamError
from sparseopt.estimators.common.base import AT_A_TIME, forget
from sparseopt.estimators.common.observations import observed
from sparseopt.problems.base import Array
from sparseopt.selection.folds import make_folds
from sparseopt.selection.rules import select

_ENOUGH = 64
"""Rows above the number of candidates that any node may have."""


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
    _jobs: ClassVar[list[Any]] = AT_A_TIME

    def _rows(
        self, X: Any, y: Any, sample_weight: Any, **checks: Any
    ) -> tuple[Any, Any, Array | None]:
        """Return validated data, y if there is one, and how often rows count if that is given.

        Few heavy rows stand several times, each with a part of its weight: as repeated rows they
        are enough for the candidates.
        """
        X, y, counts = observed(self, X, y, sample_weight, dense=True, **checks)
        self._row = None
        if sample_weight is None:
            return X, y, None
        parts = int(np.ceil(min(_ENOUGH, counts.sum()) / len(X)))
        self._row = np.repeat(np.arange(len(X)), max(1, parts))
        return X[self._row], None if y is None else y[self._row], counts[self._row] / max(1, parts)

    def _follow(self, problem: Any) -> None:
        """Solve for every budget."""
        forget(self, "selection_")
        result = solve(problem, backend=self.backend, time_limit=self.time_limit)
        self.result_ = result.raise_for_status()
        self.path_: Any = result.path
        self.verdict_, self.status_ = str(result.verdict), str(result.status)

    def _selected(self, **details: Any) -> int:
        """Return the budget that the rule chooses; the parts of a row are in one fold."""
        if self.rule == "cv" and self._row is not None:
            n = int(self._row[-1]) + 1
            folds = make_folds(min(10, n), np.zeros((n, 1)), np.zeros(n), 0, classes=False)
            details["folds"] = [
                tuple(np.flatnonzero(np.isin(self._row, part)) for part in fold) for fold in folds
            ]
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

        Raises
        ------
        ParamError
            When it is no whole number, or the path does not reach that far.
        """
        check_is_fitted(self)
        if not isinstance(budget, Integral):
            raise ParamError(
                f"{self._budget} is {budget!r}; expected a whole number from 0 to "
                f"{self.path_.budgets[-1]}, as path_.budgets has them"
            )
        other = copy.copy(self)
        forget(other, "selection_")
        setattr(other, self._budget, int(budget))
        other._place(int(budget))
        return other
