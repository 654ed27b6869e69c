"""What all problems with one cardinality budget share."""

from __future__ import annotations

from numbers import Integral
from typing import ClassVar

from sparseopt.errors import ParamError, ProblemError
from sparseopt.problems.base import Problem

__all__ = ["BudgetProblem"]


class BudgetProblem(Problem):
    """A problem with a field `budget`, the largest K of interest, and a `total` to be spent."""

    family: ClassVar[str] = "budget"
    parameter: ClassVar[str | None] = "budget"
    budget: int | None

    @property
    def total(self) -> int:
        """The largest budget that can be spent."""
        raise NotImplementedError

    def last_budget(self, asked: int | None = None) -> int:
        """Return the largest K to solve for, given the budget that a solve asks for.

        Raises
        ------
        ParamError
            When more is asked than the problem has.
        """
        own = self.total if self.budget is None else self.budget
        if asked is None:
            return own
        if asked > own:
            raise ParamError(f"budget is {asked}; this problem has budgets from 0 to {own}")
        return asked

    def _coerce_budget(self) -> None:
        budget = self.budget
        if budget is None:
            return
        if isinstance(budget, bool) or not isinstance(budget, Integral):
            raise ProblemError(f"budget is {budget!r}; expected an integer >= 0", "budget")
        self._set("budget", int(budget))

    def _check_budget(self, room: str) -> None:
        if self.budget is not None and not 0 <= self.budget <= self.total:
            raise ProblemError(
                f"budget is {self.budget}; {room} have room for 0 to {self.total}", "budget"
            )
