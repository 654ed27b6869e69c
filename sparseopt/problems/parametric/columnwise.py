"""Matrix problems whose columns are independent parametric problems with the same matrix."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Self

from sparseopt.problems.base import Array
from sparseopt.problems.parametric.problem import ParametricProblem


class ColumnwiseProblem(ParametricProblem):
    """A parametric problem that falls apart into columns.

    The canonical form is that of the columns one after another. The columns share the matrix, the
    variables' functions, and all of the rows' functions but the constants of their kinks.
    """

    @property
    @abstractmethod
    def columns(self) -> int:
        """Number of columns."""

    @abstractmethod
    def column(self, i: int) -> ParametricProblem:
        """Return the problem of column `i` by itself."""

    @abstractmethod
    def row_kinks(self) -> Array:
        """Return the constants of the rows' kinks of each column, shape (columns, kinks)."""

    @abstractmethod
    def part(self, columns: Sequence[int] | Array) -> Self:
        """Return the problem of some of the columns, different ones, in this order.

        Raises
        ------
        ProblemError
            When a column is named twice, or does not exist.
        """
