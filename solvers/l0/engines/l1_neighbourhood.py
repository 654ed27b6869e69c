"""The backend ``l1-neighbourhood``: the convex competitor of graphs with a budget."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np

from sparseopt.backend import Backend, Control, Feature, Option
from sparseopt.params import SolveParams
from sparseopt.paths.budget import CountChanges
from sparseopt.paths.graph import GraphPath
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.budget.neighbourhoods import L0GraphicalModel
from sparseopt.proofs.neighbours import support_losses
from sparseopt.result import Result, Status

from ..settings import MOST_CANDIDATES


class L1Neighbourhood(Backend):
    r"""Neighbourhood selection by the lasso, all nodes with one penalty.

    .. math:: \min_{\beta_j} \tfrac12 \|X_j - X_{N_j} \beta_j\|_2^2 + \lambda \|\beta_j\|_1

    is followed for each node from :math:`\lambda = \infty` down by scikit-learn's LARS. A
    node's neighbourhood of size k is its active set when this first has k members, and the budget
    K goes to the first K of all these events as the common :math:`\lambda` falls. So lambda is
    spent, not K: nothing says that another graph of K neighbours has no smaller loss. The answer is
    a heuristic one (CONVERGED), and its objective that of the least-squares fit on the neighbours
    (``path.at(K)``), free of the shrinkage that chose them.

    References
    ----------
    Meinshausen, Buhlmann (2006): High-dimensional graphs and variable selection with the lasso;
    the method "l1" of Fang, Liu, Wang, section 5.1.
    """

    name: ClassVar[str] = "l1-neighbourhood"
    summary: ClassVar[str] = "the lasso at every node, one penalty for all: the convex competitor"
    requires: ClassVar[tuple[str, ...]] = ("sklearn",)
    distribution: ClassVar[str | None] = "scikit-learn"
    extra: ClassVar[str] = "estimators"
    families: ClassVar[frozenset[str]] = frozenset({"budget"})
    features: ClassVar[frozenset[Feature]] = frozenset({Feature.HEURISTIC, Feature.PATH})
    options: ClassVar[Mapping[str, Option]] = {
        "columns": Option(
            str,
            "unit",
            "whether every column is scaled to unit norm before it is penalised",
            choices=("unit", "raw"),
        )
    }

    def supports(self, problem: Problem) -> tuple[bool, str]:
        """Take Gaussian models of at most 62 candidates for each node."""
        if not isinstance(problem, L0GraphicalModel):
            return False, f"{self.name} takes graphical models; their tables alone have no data"
        if problem.loss != "gaussian":
            return False, f"{self.name} is for loss 'gaussian': LARS minimises squares"
        most = int(problem.candidates.sizes.max())
        if most > MOST_CANDIDATES:
            return False, (
                f"{self.name} takes up to {MOST_CANDIDATES} candidates for each node, not {most}"
            )
        return True, ""

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        assert isinstance(problem, L0GraphicalModel)
        with control.uncounted(), _random_state_kept():
            import sklearn.linear_model  # noqa: F401
        last = problem.last_budget(params.budget)
        d, candidates = problem.X.shape[1], problem.candidates
        supports = np.zeros(candidates.total + d, dtype=np.int64)
        nodes, counts, lams = [], [], []
        for j in range(d):
            if control.limit() is not None:
                break
            control.progress("nodes", fraction=j / d)
            sets, lam = _active_sets(problem, j, options["columns"] == "unit")
            first = int(candidates.ptr[j]) + j
            supports[first : first + len(sets)] = sets
            supports[first + len(sets) : first + int(candidates.sizes[j]) + 1] = sets[-1]
            nodes.append(np.full(len(lam), j))
            counts.append(np.arange(1, len(sets)))
            lams.append(lam)
        limit = control.limit() if len(nodes) < d else None
        losses = _losses(problem, supports)
        path = _path(problem, last, supports, losses, *map(np.concatenate, (nodes, counts, lams)))
        return Result(
            status=Status.CONVERGED if limit is None else Status.FEASIBLE,
            limit=limit,
            raw_status=f"{sum(map(len, lams))} neighbours entered",
            x=path.at(last),
            objective=float(path.objective[-1]),
            bound=float(path.bound[-1]),
            path=path,
            iterations=sum(map(len, lams)),
        )


@contextmanager
def _random_state_kept() -> Iterator[None]:
    """Restore Python's global generator: packages draw from it while they are imported."""
    before = random.getstate()
    try:
        yield
    finally:
        random.setstate(before)


def _active_sets(problem: L0GraphicalModel, node: int, unit: bool) -> tuple[list[int], Array]:
    """Return the active sets of sizes 0, 1, ... as bits, and the penalties at which they appear."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import lars_path_gram

    index = problem.candidates.of(node)
    if len(index) == 0:
        return [0], np.zeros(0)
    n = problem.X.shape[0]
    columns, target = problem.columns(index), problem.columns(node)
    gram = columns.T @ columns + n * problem.ridge * np.eye(len(index))
    right = columns.T @ target
    if unit:
        length = np.sqrt(np.diag(gram))
        gram /= np.outer(length, length)
        right /= length * np.linalg.norm(target)
    with warnings.catch_warnings():
        # Of columns that are copies of others one stays out: that is what is wanted.
        warnings.simplefilter("ignore", ConvergenceWarning)
        lam, _, coefficients = lars_path_gram(
            right, gram, n_samples=n, method="lasso", copy_Gram=False, return_path=True
        )
    sets, found = [0], []
    nonzero = coefficients != 0.0
    for step in range(1, nonzero.shape[1]):
        # What leaves at a knot is still nonzero at the one before.
        active = np.flatnonzero(nonzero[:, step - 1] | nonzero[:, step])
        while len(sets) <= len(active):
            # Where two enter at once the smaller size has to do without both.
            whole = len(sets) == len(active)
            sets.append(sum(1 << int(a) for a in active) if whole else sets[-1])
            found.append(float(lam[step - 1]))
    return sets, np.array(found)


def _losses(problem: L0GraphicalModel, supports: Array) -> Array:
    """Return the scaled least-squares loss of every support.

    Where a larger set does worse, because members have left on the way, the smaller one replaces
    it in `supports`.
    """
    d, sizes = problem.candidates.nodes, problem.candidates.sizes
    first = problem.candidates.ptr[:-1] + np.arange(d)
    losses = support_losses(problem, supports)
    for k in range(1, int(sizes.max()) + 1):
        at = first[sizes >= k] + k
        at = at[losses[at] > losses[at - 1]]
        supports[at], losses[at] = supports[at - 1], losses[at - 1]
    return problem.scaled(losses, np.repeat(np.arange(d), sizes + 1))


def _path(
    problem: L0GraphicalModel,
    last: int,
    supports: Array,
    losses: Array,
    node: Array,
    count: Array,
    lam: Array,
) -> GraphPath:
    """Spend the budget on the events in the order of falling penalties."""
    candidates = problem.candidates
    d = candidates.nodes
    first = candidates.ptr[:-1] + np.arange(d)
    order = np.lexsort((count, node, -lam))[:last]
    node, count = node[order], count[order]
    at = first[node] + count
    value = losses[first].sum() + np.append(0.0, np.cumsum(losses[at] - losses[at - 1]))
    # Steps that cancel must not end below the sum of the smallest losses.
    value = np.maximum(value, np.minimum.reduceat(losses, first).sum())
    budgets = np.arange(last + 1)
    # No loss is negative; the logarithm of one has no bound.
    least = -np.inf if problem.scaling == "nlogrss" else 0.0
    return GraphPath(
        budgets=budgets,
        objective=value[np.minimum(budgets, len(order))],
        bound=np.full(last + 1, least),
        certified=np.zeros(last + 1, dtype=bool),
        changes=CountChanges(
            np.minimum(np.maximum(np.arange(last + 2) - 1, 0), len(order)).astype(np.int64),
            node.astype(np.int64),
            count.astype(np.int64),
        ),
        nodes=d,
        stopped_by="budget",
        supports=supports,
        separated=np.zeros(len(supports), dtype=bool),
        candidates=candidates,
        loss=problem.loss,
        scaling=problem.scaling,
        ridge=problem.ridge,
        problem=problem,
    )
