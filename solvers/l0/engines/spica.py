"""The backend ``spica``: the dual of a budget problem by golden section, as in the paper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sparseopt.backend import Control, Feature, Option
from sparseopt.compiling import prepare
from sparseopt.params import SolveParams
from sparseopt.paths.budget import BudgetPath, CountChanges
from sparseopt.problems.base import Array
from sparseopt.problems.budget.tables import BudgetTables
from sparseopt.result import Certificate, Limit, Result, Status

from ..settings import SHORTEST_INTERVAL, SPENDING_ROUNDING
from .budget_backend import BudgetBackend

_XI = (np.sqrt(5.0) - 1.0) / 2.0
"""The golden ratio's inverse: by what an interval shrinks."""


class Spica(BudgetBackend):
    r"""Algorithm 2 of the paper: maximise :math:`\sum_j \min_k (L_j(k) + \lambda k) - \lambda K`.

    Golden section search over :math:`\lambda`, for all budgets side by side. The splitting step,
    the minimum of every node, is read off the sorted hull slopes of its table. The paper returns
    the counts at the midpoint of the last interval, which may exceed K; here they are those of the
    smallest multiplier among its left end, midpoint and right end that keeps K. The solution is
    optimal where it spends K exactly, and elsewhere has a bound: no gap is closed.

    References
    ----------
    Fang, Liu, Wang: SPICA, Algorithm 2 and Corollary 4.2.
    """

    name: ClassVar[str] = "spica"
    summary: ClassVar[str] = "the paper's dual search: near-optimal for every budget, with bounds"
    families: ClassVar[frozenset[str]] = frozenset({"budget"})
    features: ClassVar[frozenset[Feature]] = frozenset(
        {
            Feature.RELAXATION,
            Feature.PATH,
            Feature.DUAL_BOUND,
            Feature.CERTIFICATE,
        }
    )
    options: ClassVar[Mapping[str, Option]] = {
        **BudgetBackend.options,
        "epsilon": Option(
            float, 1e-10, "length of the last interval, relative to the largest multiplier", low=0.0
        ),
    }

    def _spend(
        self,
        tables: BudgetTables,
        params: SolveParams,
        options: Mapping[str, Any],
        control: Control,
    ) -> Result:
        with control.uncounted():
            from ..budgets.hull import warm_up

            prepare(warm_up)
        dual = _Dual.of(tables)
        K = np.arange(tables.last_budget(params.budget) + 1)
        search = dual.search(K, options["epsilon"], control)
        # Larger budgets may keep what smaller ones chose.
        taken = np.maximum.accumulate(search.taken)
        objective = dual.value[taken]
        bound = np.minimum(search.bound, objective)
        multiplier = search.multiplier
        rounding = SPENDING_ROUNDING * np.abs(tables.values).sum()
        path = BudgetPath(
            budgets=K,
            objective=objective,
            bound=bound,
            certified=objective - bound <= rounding,
            changes=dual.changes(taken),
            nodes=len(tables.ptr) - 1,
            stopped_by="budget" if search.limit is None else search.limit.value,
        )
        last = int(K[-1])
        return Result(
            status=Status.CONVERGED if search.limit is None else Status.FEASIBLE,
            limit=search.limit,
            raw_status=f"{search.rounds} rounds",
            x=path.counts(last),
            objective=float(objective[-1]),
            bound=float(bound[-1]),
            path=path,
            certificate=Certificate("budget", {"multiplier": multiplier}),
            iterations=search.rounds,
        )


@dataclass(frozen=True, eq=False)
class _Search:
    """How the search ended, for each budget."""

    taken: Array
    multiplier: Array
    bound: Array
    rounds: int
    limit: Limit | None


@dataclass(frozen=True, eq=False)
class _Dual:
    """The sum of all nodes' minima as a function of lambda.

    Attributes
    ----------
    node, count : int arrays of shape (S,)
        The hull segments, steepest first: which node each belongs to, and its count behind it.
    slope : array of shape (S,)
    spent, value : arrays of shape (S + 1,)
        The budget and the loss after the first 0, 1, ... segments.
    """

    node: Array
    count: Array
    slope: Array
    spent: Array
    value: Array

    @classmethod
    def of(cls, tables: BudgetTables) -> _Dual:
        from ..budgets.hull import steepest_first

        hull = steepest_first(tables)
        none = tables.values[tables.ptr[:-1]].sum()
        least = np.minimum.reduceat(tables.values, tables.ptr[:-1]).sum()
        return cls(
            node=hull.node.astype(np.int64),
            count=hull.start.astype(np.int64) + hull.width,
            slope=hull.slope,
            spent=np.concatenate([[0], np.cumsum(hull.width, dtype=np.int64)]),
            # Drops that cancel must not end below the sum of the smallest losses.
            value=np.maximum(np.concatenate([[none], none + np.cumsum(hull.drop)]), least),
        )

    def taken(self, lam: Array) -> Array:
        """Return how many segments the nodes' minima take: those that more than pay for lam."""
        return np.searchsorted(self.slope, -lam, side="left")

    def at(self, lam: Array, K: Array) -> Array:
        """Return the dual objective."""
        taken = self.taken(lam)
        return np.asarray(self.value[taken] + lam * (self.spent[taken] - K))

    def search(self, K: Array, epsilon: float, control: Control) -> _Search:
        """Run Algorithm 2 for all budgets K."""
        largest = -float(self.slope[0]) if len(self.slope) else 0.0
        # Golden sections of [low, high], with the dual at two inner points, lower and upper.
        low, high = np.zeros(len(K)), np.full(len(K), 1.1 * largest)
        lower, upper = high + _XI * (low - high), low + _XI * (high - low)
        q_lower, q_upper = self.at(lower, K), self.at(upper, K)
        rounds, limit = 0, None
        length = float(high[0])
        while length > max(epsilon, SHORTEST_INTERVAL) * largest:
            limit = control.limit()
            if limit is not None:
                break
            left = q_lower > q_upper
            high, low = np.where(left, upper, high), np.where(left, low, lower)
            kept, q_kept = np.where(left, lower, upper), np.where(left, q_lower, q_upper)
            new = np.where(left, high + _XI * (low - high), low + _XI * (high - low))
            q_new = self.at(new, K)
            lower, upper = np.where(left, new, kept), np.where(left, kept, new)
            q_lower, q_upper = np.where(left, q_new, q_kept), np.where(left, q_kept, q_new)
            length *= _XI
            rounds += 1
        middle = (low + high) / 2.0
        # The optimum is somewhere between the ends: the smallest multiplier that keeps the budget
        # spends most of it.
        taken, multiplier, bound = self.taken(high), high, self.at(high, K)
        for lam in (middle, low):
            more, q = self.taken(lam), self.at(lam, K)
            taken = np.where(self.spent[more] <= K, more, taken)
            multiplier, bound = np.where(q > bound, lam, multiplier), np.maximum(q, bound)
        # Rounding may have lost the optimum beyond the right end.
        taken = np.minimum(taken, np.searchsorted(self.spent, K, side="right") - 1)
        return _Search(taken, multiplier, bound, rounds, limit)

    def changes(self, taken: Array) -> CountChanges:
        """Return the counts at each budget, the segments being taken in their order."""
        end = int(taken[-1])
        return CountChanges(np.append(0, taken), self.node[:end], self.count[:end])
