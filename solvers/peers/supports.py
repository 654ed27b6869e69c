"""Graphical models by peers that choose the neighbours of one node at a time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from sparseopt.backend import Control, Option
from sparseopt.params import SolveParams
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.budget.neighbourhoods import L0GraphicalModel
from sparseopt.problems.budget.tables import BudgetTables
from sparseopt.proofs.neighbours import refit
from sparseopt.result import Limit

from ..l0.engines.l0_tables import L0Tables
from ..l0.tables.of_models import ModelTables


class SupportsBackend(L0Tables):
    """A peer that returns sets of neighbours; the losses and the budget are ours.

    A subclass writes :meth:`_supports`. Its sets are fitted again, each table entry is the best of
    those with at most so many neighbours, and the budget is spent exactly over these tables.
    """

    exact: ClassVar[bool] = False
    """Whether its sets are the best of their sizes."""
    options: ClassVar[Mapping[str, Option]] = {}

    def supports(self, problem: Problem) -> tuple[bool, str]:
        """Take graphical models of at most 62 candidates for each node."""
        if not isinstance(problem, L0GraphicalModel):
            return False, f"{self.name} takes graphical models"
        return super().supports(problem)

    @abstractmethod
    def _supports(
        self, problem: L0GraphicalModel, options: Mapping[str, Any], control: Control
    ) -> tuple[Array, Array] | Limit:
        """Return (node, support): sets of candidates as bits, in any order and number."""

    def _tables(
        self,
        problem: L0GraphicalModel,
        params: SolveParams,
        options: Mapping[str, Any],
        control: Control,
    ) -> ModelTables:
        found = self._supports(problem, options, control)
        limit = found if isinstance(found, Limit) else None
        node, support = found if not isinstance(found, Limit) else (np.zeros(0, int),) * 2
        # Every node has the empty set, and all of its candidates.
        d, sizes = problem.candidates.nodes, problem.candidates.sizes
        whole = np.array([(1 << int(size)) - 1 for size in sizes], dtype=np.int64)
        nodes = np.arange(d)
        node = np.concatenate([nodes, nodes, node])
        support = np.concatenate([np.zeros(d, np.int64), whole, support])
        mask, loss = _best(problem, node, support)
        ptr = problem.candidates.ptr + np.arange(d + 1)
        done = np.full(len(mask), self.exact and limit is None)
        done[ptr[:-1]] = True
        done[ptr[1:] - 1] = True
        scaled = problem.scaled(loss, np.repeat(nodes, sizes + 1))
        return ModelTables(
            problem=BudgetTables(scaled, ptr, problem.budget),
            supports=mask,
            separated=np.zeros(len(mask), dtype=bool),
            done=done,
            least=-np.inf if problem.scaling == "nlogrss" else 0.0,
            limit=limit,
            visited=len(support),
        )


def augmented(problem: L0GraphicalModel) -> tuple[Array, Array]:
    r"""Return (X, y), predictors and responses of a Gaussian model without its ridge.

    .. math:: \|X_j - X_N\beta\|^2 + n\rho\|\beta\|^2 =
              \Big\| \binom{X_j}{0} - \binom{X_N}{\sqrt{n\rho}\,I} \beta \Big\|^2

    Parameters
    ----------
    problem : L0GraphicalModel
        n observations of d variables.

    Returns
    -------
    X, y : arrays of shape (n, d), or (n + d, d) with a ridge
    """
    X = problem.columns(slice(None))
    n, d = X.shape
    if problem.ridge == 0.0:
        return X, X
    rows = np.sqrt(n * problem.ridge) * np.eye(d)
    return np.vstack([X, rows]), np.vstack([X, np.zeros((d, d))])


def _best(problem: L0GraphicalModel, node: Array, support: Array) -> tuple[Array, Array]:
    """Return the best of the given supports, and its loss, for every entry of the tables."""
    candidates = problem.candidates
    sizes = candidates.sizes
    ptr = candidates.ptr + np.arange(candidates.nodes + 1)
    mask = np.zeros(ptr[-1], dtype=np.int64)
    loss = np.full(ptr[-1], np.inf)
    order = np.argsort(node, kind="stable")
    node, support = node[order], support[order]
    rank = np.arange(len(node)) - np.searchsorted(node, node)
    bit = np.arange(candidates.total) - np.repeat(candidates.ptr[:-1], sizes)
    # The r-th supports of all nodes together are one point of the problem.
    for r in range(int(rank.max()) + 1):
        here = rank == r
        chosen = np.zeros(candidates.nodes, dtype=np.int64)
        chosen[node[here]] = support[here]
        selected = (np.repeat(chosen, sizes) >> bit & 1).astype(bool)
        losses = problem.node_losses(refit(problem, selected))[node[here]]
        entry = ptr[node[here]] + np.bitwise_count(support[here])
        better = losses < loss[entry]
        loss[entry[better]], mask[entry[better]] = losses[better], support[here][better]
    for first, last in pairwise(ptr):
        for k in range(first + 1, last):
            if not loss[k] < loss[k - 1]:
                loss[k], mask[k] = loss[k - 1], mask[k - 1]
    return mask, loss
