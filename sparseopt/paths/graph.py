"""Graphs for every value of a budget: :class:`GraphPath`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from sparseopt.errors import ParamError
from sparseopt.installed import Deferred
from sparseopt.paths.budget import BudgetPath
from sparseopt.problems.base import Array
from sparseopt.problems.budget.candidates import Candidates
from sparseopt.problems.budget.neighbourhoods import L0GraphicalModel
from sparseopt.verbs import borrows

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = Deferred("scipy.sparse")

Rule = Literal["and", "or"]


@borrows
@dataclass(frozen=True, eq=False, repr=False)
class GraphPath(BudgetPath):
    """The best neighbours of all nodes for every budget K.

    Attributes
    ----------
    supports : int64 array of shape (total + d,)
        For each node and each count 0, 1, ... which of its candidates are chosen, as bits: node j's
        start at ``candidates.ptr[j] + j``. A count may be attained by fewer neighbours.
    separated : bool array of the same shape
        Where the loss has no minimum (loss "ising" without a ridge): the neighbours separate the
        two values of the node, and the coefficients are those at which the solver stopped.
    candidates : Candidates
    loss, scaling : str
    ridge : float
        As in the problem.
    problem : L0GraphicalModel or None
        Needed for coefficients; a path that was read from a file has none, see
        :meth:`with_problem`.
    """

    supports: Array
    separated: Array
    candidates: Candidates
    loss: str
    scaling: str
    ridge: float
    problem: L0GraphicalModel | None = None

    kind: ClassVar[str] = "graph"

    def with_problem(self, problem: L0GraphicalModel) -> Self:
        """Return the same path with the problem that it solves."""
        return replace(self, problem=problem)

    @property
    def ptr(self) -> Array:
        """Where each node's entries start in `supports`, shape (d + 1,)."""
        return np.asarray(self.candidates.ptr + np.arange(self.candidates.nodes + 1))

    def spent(self) -> Array:
        """Return how many neighbours are chosen at each budget, shape (B,); at most K."""
        sizes = np.bitwise_count(self.supports.astype(np.int64)).astype(float)
        return np.rint(self.sums(sizes, self.ptr)).astype(np.int64)

    def selected(self, budget: int) -> Array:
        """Return which candidates are chosen at the budget K, as truth values, shape (total,)."""
        return self.chosen(self.counts(budget))

    def chosen(self, counts: Array) -> Array:
        """Return which candidates are the best so many of each node, as :meth:`selected` does.

        Parameters
        ----------
        counts : int array of shape (d,)
        """
        ptr, d = self.candidates.ptr, self.candidates.nodes
        chosen = self.supports[ptr[:-1] + np.arange(d) + counts]
        sizes = self.candidates.sizes
        bit = np.arange(self.candidates.total) - np.repeat(ptr[:-1], sizes)
        return np.asarray(np.repeat(chosen, sizes) >> bit & 1, dtype=bool)

    def neighbours(self, budget: int) -> sp.csr_array:
        """Return the chosen neighbours at the budget K: row j of a d x d matrix has those of j."""
        return self._matrix(self.selected(budget))

    def at(self, value: float) -> Array:
        """Return the coefficients of all candidates at the budget K, shape (total,).

        Raises
        ------
        ParamError
            When K is not among the budgets, or the path has no problem.
        """
        from sparseopt.proofs.neighbours import refit

        if self.problem is None:
            raise ParamError(
                "this path was read from a file and knows no data: coefficients need "
                "path.with_problem(problem)"
            )
        return refit(self.problem, self.selected(int(self.budgets[self._place(value)])))

    def coefficients(self, budget: int) -> sp.csr_array:
        """Return the coefficients at the budget K as a d x d matrix; row j has those of node j."""
        return self._matrix(self.at(budget))

    def graph(self, budget: int, rule: Rule = "or") -> sp.csr_array:
        """Return the undirected graph at the budget K as a symmetric d x d matrix of truth values.

        Parameters
        ----------
        budget : int
            K.
        rule : {"or", "and"}, default "or"
            An edge needs one of its ends to have chosen the other, or both.
        """
        return undirected(self.neighbours(budget), rule)

    def to_networkx(self, budget: int, rule: Rule = "or") -> Any:
        """Return :meth:`graph` as a networkx.Graph; nodes have their coordinates as "pos"."""
        import networkx as nx

        graph = nx.from_scipy_sparse_array(self.graph(budget, rule), edge_attribute="chosen")
        if self.candidates.coordinates is not None:
            positions = map(tuple, self.candidates.coordinates.tolist())
            nx.set_node_attributes(graph, dict(enumerate(positions)), "pos")
        return graph

    def _matrix(self, entries: Array) -> sp.csr_array:
        d = self.candidates.nodes
        matrix = sp.csr_array(
            (entries, self.candidates.index, self.candidates.ptr), shape=(d, d), copy=True
        )
        matrix.eliminate_zeros()
        return matrix

    if TYPE_CHECKING:  # lent by the top of the package, see sparseopt.verbs

        def select(self, by: str = "ebic", problem: Any = None, **options: Any) -> Any: ...


def undirected(chosen: Any, rule: str) -> sp.csr_array:
    """Return the graph of the nodes' choices as a symmetric d x d matrix of truth values.

    Parameters
    ----------
    chosen : sparse bool array of shape (d, d)
        Row j has the neighbours that node j chose.
    rule : {"or", "and"}
        An edge needs one of its ends to have chosen the other, or both.

    Raises
    ------
    ParamError
        When there is no such rule.
    """
    if rule == "or":
        return sp.csr_array(chosen + chosen.T)
    if rule == "and":
        return sp.csr_array(chosen.multiply(chosen.T))
    raise ParamError(f"rule is {rule!r}; expected 'and' or 'or'")
