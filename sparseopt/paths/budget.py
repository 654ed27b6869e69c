"""Solutions for every value of a cardinality budget: :class:`BudgetPath`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sparseopt.paths.integer import IntegerPath
from sparseopt.problems.base import Array
from sparseopt.verbs import borrows


@dataclass(frozen=True, eq=False)
class CountChanges:
    """A sequence of count vectors that differ from one another in few entries.

    The vector at place i comes from the one before (zeros before the first) by setting the
    entries ``node[ptr[i]:ptr[i + 1]]`` to ``count[ptr[i]:ptr[i + 1]]``.

    Attributes
    ----------
    ptr : int array of shape (places + 1,)
    node, count : int arrays of shape (ptr[places],)
    """

    ptr: Array
    node: Array
    count: Array

    def dense(self, place: int, length: int) -> Array:
        """Return the counts at a place, shape (length,)."""
        end = int(self.ptr[place + 1])
        out = np.zeros(length, dtype=np.int64)
        # Where an entry is set more than once, NumPy keeps the last.
        out[self.node[:end]] = self.count[:end]
        return out

    def sums(self, values: Array, ptr: Array) -> Array:
        """Return the sum over the nodes of a table's entries at every place, shape (places,).

        Parameters
        ----------
        values : array of shape (ptr[J],)
            For each node one entry for each count, of any type that numpy adds up.
        ptr : int array of shape (J + 1,)
        """
        node, count = self.node, self.count
        # The counts before each change, from the change of the same node before it.
        order = np.argsort(node, kind="stable")
        same = node[order][1:] == node[order][:-1]
        before = np.zeros_like(count)
        before[order[1:][same]] = count[order[:-1][same]]
        step = values[ptr[node] + count] - values[ptr[node] + before]
        sums = np.add.accumulate(np.append(values[ptr[:-1]].sum(), step))
        return np.asarray(sums[self.ptr[1:]])

    @classmethod
    def from_columns(cls, places: int, columns: Sequence[Array]) -> CountChanges:
        """Compress a places x J matrix that is given by its columns."""
        where, node, count = [], [], []
        for j, column in enumerate(columns):
            changed = np.flatnonzero(np.diff(column, prepend=0))
            where.append(changed)
            node.append(np.full(len(changed), j, dtype=np.int64))
            count.append(column[changed].astype(np.int64))
        place = np.concatenate(where)
        order = np.argsort(place, kind="stable")
        return cls(
            ptr=np.searchsorted(place[order], np.arange(places + 1)).astype(np.int64),
            node=np.concatenate(node)[order],
            count=np.concatenate(count)[order],
        )


@borrows
@dataclass(frozen=True, eq=False, repr=False)
class BudgetPath(IntegerPath):
    """The best way to spend every budget K.

    Attributes
    ----------
    budgets : int array of shape (B,)
        Increasing values of K, usually 0, 1, ..., the largest.
    objective, bound : arrays of shape (B,)
        The value of the solution at each budget, and a proven bound on the optimum.
    certified : bool array of shape (B,)
        Whether a multiplier alone proves the solution optimal (Everett's condition).
    changes : CountChanges
        The counts at each budget.
    nodes : int
        J, the length of the counts.
    stopped_by : str
        "budget" at the largest one; "time", "interrupted" where the values are not optimal.
    """

    budgets: Array
    objective: Array
    bound: Array
    certified: Array
    changes: CountChanges
    nodes: int
    stopped_by: str

    kind: ClassVar[str] = "budget"
    parameter: ClassVar[str] = "budget"

    @property
    def knots(self) -> Array:  # type: ignore[override]
        """The budgets."""
        return self.budgets

    def at(self, value: float) -> Array:
        """Return the solution at the budget K: the counts, shape (J,).

        Raises
        ------
        ParamError
            When K is not among the budgets.
        """
        return self.counts(value)

    def counts(self, value: float) -> Array:
        """Return how much each node spends at the budget K, shape (J,)."""
        return self.changes.dense(self._place(value), self.nodes)

    def sums(self, values: Array, ptr: Array) -> Array:
        """Return the sum over the nodes of a table's entries at every budget, shape (B,).

        Parameters
        ----------
        values : array of shape (ptr[J],)
            For each node one entry for each count, as in :class:`~sparseopt.problems.BudgetTables`.
            Of any type that numpy adds up: fractions are added exactly.
        ptr : int array of shape (J + 1,)
        """
        return self.changes.sums(values, ptr)

    if TYPE_CHECKING:  # lent by the top of the package, see sparseopt.verbs

        def plot(self, ax: Any = None, **style: Any) -> Any: ...
