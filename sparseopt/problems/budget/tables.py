"""Problems with one cardinality budget over many nodes, and the one whose losses are tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from sparseopt.errors import ParamError, ProblemError
from sparseopt.problems.base import Array, Problem, as_vector


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


@dataclass(frozen=True, eq=False, repr=False)
class BudgetTables(BudgetProblem):
    r"""Share a cardinality budget between nodes whose losses are given as tables.

    .. math:: V(K) = \min_{k_1, \dots, k_J} \sum_{j=1}^J L_j(k_j) \quad\text{subject to}\quad
              \sum_j k_j \le K,\; 0 \le k_j \le d_j

    for every budget K = 0, ..., :math:`\sum_j d_j` at once. :math:`L_j(k)` is the loss of node j
    with k neighbours: any finite numbers, not necessarily decreasing or convex in k. This is what
    is left of an l0-constrained graphical model when the best subset of every size is known for
    each node, and of every other model with one budget over separate parts.

    Parameters
    ----------
    values : sequence of J arrays, the j-th of shape (d_j + 1,); or array of shape (ptr[J],)
        :math:`L_j(0), \dots, L_j(d_j)`. The problem holds them as one array.
    ptr : int array of shape (J + 1,), optional
        Where each table starts in `values`, if that is one array: table j is
        ``values[ptr[j]:ptr[j + 1]]``.
    budget : int, optional
        The largest K of interest; default :math:`\sum_j d_j`.

    Raises
    ------
    ProblemError
        When a table is empty or not finite, the losses sum up to more than a number of double
        precision can be, ptr does not divide the values, or the budget is out of range.

    References
    ----------
    Fang, Liu, Wang: SPICA, problem (2.5), with k = 0 allowed.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt.problems import BudgetTables
    >>> problem = BudgetTables([[5.0, 1.0], [4.0, 3.0, 0.0]])
    >>> problem.objective(np.array([1, 2]))
    1.0
    """

    values: Any
    ptr: Any = None
    budget: int | None = None

    kind: ClassVar[str] = "budget-tables"

    def _coerce(self) -> None:
        if self.ptr is None:
            values, ptr = _flatten(self.values)
        else:
            ptr = _pointers(self.ptr)
            values = as_vector("values", self.values, int(ptr[-1]))
        with np.errstate(over="ignore"):
            total = float(np.abs(values).sum())
        if not np.isfinite(total):
            raise ProblemError(
                f"the sum of the losses overflows: their sizes sum up to more than 1.8e308, the "
                f"largest is {float(np.abs(values).max()):.3g}; divide all of them by a constant"
            )
        for name, array in (("values", values), ("ptr", ptr)):
            array.flags.writeable = False
            self._set(name, array)
        self._coerce_budget()

    def validate(self) -> None:
        """Check the range of the budget; the tables were checked on the way in."""
        self._check_budget("the tables")

    @property
    def sizes(self) -> Array:
        """The :math:`d_j`, the largest count of each node, shape (J,)."""
        return np.asarray(np.diff(self.ptr) - 1)

    @property
    def total(self) -> int:
        """The sum of all :math:`d_j`: the largest budget that can be spent."""
        return int(self.ptr[-1]) - (len(self.ptr) - 1)

    @property
    def size(self) -> Mapping[str, int]:
        return {"J": len(self.ptr) - 1, "total": self.total}

    def table(self, j: int) -> Array:
        """Return the losses of node j, shape (d_j + 1,)."""
        return np.asarray(self.values[self.ptr[j] : self.ptr[j + 1]])

    def objective(self, x: Array, lam: float | None = None) -> float:
        """Return the sum of the losses at the counts x, shape (J,), rounded once."""
        return math.fsum(self._losses(x).tolist())

    def objective_scale(self, x: Array, lam: float | None = None) -> float:
        """Return the sum of the absolute losses at the counts x."""
        return float(np.abs(self._losses(x)).sum())

    def residuals(self, x: Array, lam: float | None = None) -> dict[str, float]:
        """Return how far the counts x are from integers in range, and above the budget `lam`."""
        counts = self._counts(x)
        outside = np.maximum(np.maximum(-counts, counts - self.sizes), 0.0)
        limit = self.last_budget() if lam is None else lam
        return {
            "counts": float(np.maximum(outside, np.abs(counts - np.rint(counts))).max()),
            "budget": max(0.0, float(counts.sum()) - limit),
        }

    def _losses(self, x: Array) -> Array:
        """Return each node's loss; counts out of range are moved to its end."""
        inside = np.clip(np.rint(self._counts(x)), 0, self.sizes).astype(np.int64)
        return np.asarray(self.values[self.ptr[:-1] + inside])

    def _counts(self, x: Array) -> Array:
        return as_vector("x", x, len(self.ptr) - 1)


def _flatten(tables: Any) -> tuple[Array, Array]:
    """Return (values, ptr) of a sequence of tables."""
    if not isinstance(tables, Sequence | np.ndarray) or isinstance(tables, str | bytes):
        raise ProblemError(
            f"values is a {type(tables).__name__}; expected a list of tables, or an array with ptr",
            "values",
        )
    if isinstance(tables, np.ndarray) and tables.ndim != 2 and tables.dtype != object:
        raise ProblemError(
            f"values has shape {tables.shape}; expected a list of tables, or give ptr, which "
            "says where each table starts",
            "values",
        )
    if len(tables) == 0:
        raise ProblemError("values holds no table; expected at least one", "values")
    parts = []
    for j, table in enumerate(tables):
        length = len(table) if hasattr(table, "__len__") else 0
        if length == 0:
            raise ProblemError(
                f"values[{j}] is {table!r}; expected the losses of node {j} for 0, 1, ... "
                "neighbours, at least one number",
                "values",
            )
        parts.append(as_vector(f"values[{j}]", table, length))
    return np.concatenate(parts), np.cumsum([0, *(len(part) for part in parts)], dtype=np.int64)


def _pointers(given: Any) -> Array:
    """Return ptr as integers after checking that it rises from 0."""
    ptr = np.asarray(given)
    if ptr.ndim != 1 or len(ptr) < 2 or ptr.dtype.kind not in "iu":
        raise ProblemError(
            f"ptr has the type {ptr.dtype} and shape {ptr.shape}; expected J + 1 integers, J >= 1",
            "ptr",
        )
    ptr = ptr.astype(np.int64)
    if ptr[0] != 0 or (np.diff(ptr) < 1).any():
        raise ProblemError(
            "ptr must start at 0 and rise: every table has at least the entry L_j(0)", "ptr"
        )
    return ptr
