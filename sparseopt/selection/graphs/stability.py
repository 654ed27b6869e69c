"""Edges that most halves of the observations choose."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from sparseopt.backend import Backend, Progress, check_listener
from sparseopt.cards import Card
from sparseopt.errors import ParamError, ProblemError
from sparseopt.paths.graph import GraphPath, Rule
from sparseopt.problems.base import Problem
from sparseopt.problems.budget.neighbourhoods import L0GraphicalModel
from sparseopt.problems.fields import column_names
from sparseopt.selection.graphs.choice import graph_model, graph_path, rows_of
from sparseopt.selection.solving import settled
from sparseopt.selection.stability import DRAWN, Bound, error_bound
from sparseopt.sketch import bars
from sparseopt.verbs import borrows

if TYPE_CHECKING:
    import pandas as pd


@borrows
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GraphStabilityResult(Card):
    """Edges that are chosen again and again.

    Attributes
    ----------
    budget : int
        The K of every half.
    frequency : scipy.sparse array of shape (d, d)
        The share of the halves that choose each edge; symmetric.
    threshold : float
    edges : Rule
        How an edge follows from the neighbours.
    mean_chosen : float
        q, the mean number of edges of a half.
    bound : float
        On the expected number of falsely chosen edges; see
        :func:`~sparseopt.selection.error_bound`.
    subsamples : int
    problem : L0GraphicalModel
    """

    by: str = "stability"
    budget: int
    frequency: sp.csr_array
    threshold: float
    edges: Rule
    mean_chosen: float
    bound: float
    subsamples: int
    problem: L0GraphicalModel
    notes: tuple[str, ...] = ()

    @property
    def nonzeros(self) -> int:
        """Number of chosen edges."""
        return self.graph().nnz // 2

    def graph(self) -> sp.csr_array:
        """Return the edges with a frequency of at least the threshold, as symmetric truth values.

        A share that is a whole number of halves is not lost to rounding.
        """
        return sp.csr_array(self.frequency >= self.threshold - 1e-12)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each edge that any half chose: both nodes, frequency, chosen."""
        import pandas as pd

        upper = sp.triu(self.frequency, 1).tocoo()
        frame = pd.DataFrame({"node": upper.row, "other": upper.col, "frequency": upper.data})
        frame["chosen"] = frame["frequency"] >= self.threshold - 1e-12
        return frame.sort_values("frequency", ascending=False, ignore_index=True)

    def sketch(self) -> str:
        """Return the largest frequencies as bars, and the threshold as a line, an SVG element."""
        upper = sp.triu(self.frequency, 1).tocoo()
        names = column_names(self.problem.names, upper.shape[0])
        edges = {}
        for e in np.argsort(-upper.data, kind="stable")[:DRAWN]:
            ends = names[upper.row[e]], names[upper.col[e]]
            edges[", ".join(ends)] = float(upper.data[e])
        return bars(edges, self.threshold)

    def facts(self) -> Mapping[str, Any]:
        """Return what a person reads first, by name."""
        return {
            "by": self.by,
            "budget": self.budget,
            "edges": self.nonzeros,
            "false choices": f"at most {self.bound:.3g} expected",
            "subsamples": self.subsamples,
            "notes": "; ".join(self.notes) or None,
        }

    def summary(self) -> dict[str, Any]:
        """Return the facts that a person or a script asks for first, ready for JSON."""
        return {
            "by": self.by,
            "budget": self.budget,
            "edges": self.nonzeros,
            "threshold": self.threshold,
            "mean_chosen": self.mean_chosen,
            "bound": self.bound,
            "subsamples": self.subsamples,
            "notes": list(self.notes),
            "instance": self.problem.fingerprint(),
        }

    if TYPE_CHECKING:  # lent by the top of the package, see sparseopt.verbs

        def plot(self, ax: Any = None, **style: Any) -> Any: ...


def graph_stability(
    problem: Problem,
    *,
    budget: int | None = None,
    threshold: float = 0.75,
    false_choices: float = 1.0,
    pairs: int = 50,
    edges: Rule = "or",
    bound: Bound = "unimodal",
    seed: int = 0,
    backend: str | Backend = "auto",
    options: Mapping[str, Any] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> GraphStabilityResult:
    r"""Choose the edges that most halves of the observations choose at one budget.

    The observations are split `pairs` times at random into two halves (an odd one is left out), and
    each half's path over all budgets is followed. An edge is chosen when its share of the halves
    reaches the threshold.

    Parameters
    ----------
    problem : L0GraphicalModel
    budget : int, optional
        K of every half. Default: the largest for which the bound on the expected number of false
        edges is at most `false_choices`.
    threshold : float, default 0.75
    false_choices : float, default 1.0
    pairs : int, default 50
    edges : {"or", "and"}, default "or"
        Whether an edge needs one of its ends to choose the other, or both.
    bound : {"unimodal", "general"}, default "unimodal"
        See :func:`~sparseopt.selection.error_bound`; p is the number of candidate pairs.
    seed : int, default 0
    backend, options, on_progress
        As for :func:`graph_cross_validate`.

    Returns
    -------
    GraphStabilityResult

    Raises
    ------
    ParamError

    References
    ----------
    Meinshausen, Buhlmann (2010): Stability selection; Shah, Samworth (2013).

    Examples
    --------
    >>> from sparseopt.generators import graph_sample
    >>> sample = graph_sample("scale-free", n=300, d=15, d0=4, rho=0.7)
    >>> found = graph_stability(sample.model, pairs=10)
    >>> bool((found.graph() > sample.graph).nnz <= 2 * found.bound)
    True
    """
    check_listener(on_progress)
    model = graph_model(problem)
    if model.sample_weights is not None:
        raise ParamError("halves cannot split an observation of a weight: leave out sample_weights")
    if not isinstance(pairs, Integral) or pairs < 1:
        raise ParamError(f"pairs must be an integer >= 1, got {pairs!r}")
    if not 0.0 < false_choices < np.inf:
        raise ParamError(f"false_choices must be a number > 0, got {false_choices!r}")
    if edges not in ("or", "and"):
        raise ParamError(f"edges is {edges!r}; expected 'or' or 'and'")
    adjacency = model.candidates.adjacency()
    both = adjacency + adjacency.T if edges == "or" else adjacency.multiply(adjacency.T)
    p = int(both.nnz) // 2
    if p == 0:
        raise ParamError("the candidates allow no edge: there is nothing to choose")
    error_bound(1.0, p, threshold, pairs, bound)
    if budget is not None and not 0 <= budget <= model.last_budget():
        raise ParamError(f"budget is {budget}; expected 0 to {model.last_budget()}")
    paths = list(_paths(model, int(pairs), seed, backend, options, on_progress))
    chosen = budget
    if chosen is None:
        chosen = _largest(paths, edges, p, threshold, int(pairs), bound, false_choices)
    total = sp.csr_array(adjacency.shape, dtype=np.int64)
    for path in paths:
        total = total + path.graph(chosen, edges).astype(np.int64)
    q = float(total.sum()) / 2.0 / len(paths)
    return GraphStabilityResult(
        budget=int(chosen),
        frequency=sp.csr_array(total / len(paths)),
        threshold=threshold,
        edges=edges,
        mean_chosen=q,
        bound=error_bound(q, p, threshold, int(pairs), bound),
        subsamples=len(paths),
        problem=model,
    )


def _paths(
    model: L0GraphicalModel,
    pairs: int,
    seed: int,
    backend: str | Backend,
    options: Mapping[str, Any] | None,
    on_progress: Callable[[Progress], None] | None,
) -> Iterator[GraphPath]:
    n = model.X.shape[0]
    if n < 4:
        raise ParamError(f"stability selection needs four observations at least, got {n}")
    rng = np.random.default_rng(seed)
    begin = time.perf_counter()
    for k in range(pairs):
        rows = rng.permutation(n)
        for part in (0, 1):
            number = 2 * k + part
            if on_progress is not None:
                text = f"subsample {number + 1} of {2 * pairs}"
                on_progress(Progress(time.perf_counter() - begin, text, number / (2 * pairs)))
            half = np.sort(rows[part * (n // 2) :][: n // 2])
            try:
                solved = graph_path(
                    rows_of(model, half),
                    f"subsample {number}",
                    backend,
                    options,
                )
            except ProblemError as error:
                raise ParamError(f"half of the observations cannot be solved: {error}") from error
            backend = settled(backend, solved)
            assert isinstance(solved.path, GraphPath)
            # Its data are not needed again.
            yield replace(solved.path, problem=None)


def _largest(
    paths: list[GraphPath],
    edges: Rule,
    p: int,
    threshold: float,
    pairs: int,
    bound: Bound,
    false_choices: float,
) -> int:
    """Return the largest budget that keeps the bound, where the number of edges grows with it."""
    low, high = 0, min(int(path.budgets[-1]) for path in paths)
    while low < high:
        middle = (low + high + 1) // 2
        q = sum(path.graph(middle, edges).nnz for path in paths) / 2.0 / len(paths)
        if error_bound(q, p, threshold, pairs, bound) <= false_choices:
            low = middle
        else:
            high = middle - 1
    return low
