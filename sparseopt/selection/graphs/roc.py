"""How well the graphs of a path find known edges: :func:`roc`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.sparse as sp

from sparseopt.errors import ParamError
from sparseopt.paths.graph import GraphPath, Rule
from sparseopt.problems.base import Array, check_indices
from sparseopt.verbs import borrows

if TYPE_CHECKING:
    import pandas as pd


@borrows
@dataclass(frozen=True, eq=False)
class ROC:
    """True and false edges at every budget.

    Attributes
    ----------
    budgets : int array of shape (B,)
    true_edges, false_edges : int arrays of shape (B,)
        How many of the chosen edges are true, and how many are not.
    positives : int
        Number of true edges, also of those that are no candidates.
    negatives : int
        Number of pairs that are no edge: of candidate pairs, or of all pairs.
    """

    budgets: Array
    true_edges: Array
    false_edges: Array
    positives: int
    negatives: int

    @property
    def tpr(self) -> Array:
        """True positive rate: true edges found of all true edges, shape (B,)."""
        return np.asarray(self.true_edges / max(self.positives, 1))

    @property
    def fpr(self) -> Array:
        """False positive rate: false edges found of all pairs that are no edge, shape (B,)."""
        return np.asarray(self.false_edges / max(self.negatives, 1))

    @property
    def precision(self) -> Array:
        """True edges found of all edges found; 1 where there are none, shape (B,)."""
        found = self.true_edges + self.false_edges
        return np.where(found > 0, self.true_edges / np.maximum(found, 1), 1.0)

    @property
    def f1(self) -> Array:
        """Harmonic mean of precision and true positive rate, shape (B,)."""
        total = self.true_edges + self.false_edges + self.positives
        return np.asarray(2.0 * self.true_edges / np.maximum(total, 1))

    def at(self, rates: Array) -> Array:
        """Return the true positive rates at given false positive rates, by linear interpolation.

        Beyond the path's last false positive rate the result is NaN: nothing is known there.
        """
        order = np.lexsort((self.tpr, self.fpr))
        x, y = self.fpr[order], np.maximum.accumulate(self.tpr[order])
        # Of points one above the other the highest counts.
        last = np.append(np.diff(x) > 0.0, True)
        rates = np.asarray(rates, dtype=float)
        return np.where(rates <= x[-1] + 1e-12, np.interp(rates, x[last], y[last]), np.nan)

    def area(self, limit: float = 1.0) -> float:
        """Return the mean true positive rate for false positive rates in [0, limit].

        Where the path ends before the limit, its last rate is taken for the rest.
        """
        if not 0.0 < limit <= 1.0:
            raise ParamError(f"limit is {limit!r}; expected a rate above 0, at most 1")
        grid = np.unique(np.append(self.fpr[self.fpr <= limit], [0.0, limit]))
        height = self.at(grid)
        height = np.where(np.isnan(height), self.tpr.max(), height)
        return float(np.trapezoid(height, grid) / limit)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each budget: budget, tpr, fpr, precision, f1 (needs pandas)."""
        import pandas as pd

        names = ("tpr", "fpr", "precision", "f1")
        return pd.DataFrame(
            {"budget": self.budgets, **{name: getattr(self, name) for name in names}}
        )

    if TYPE_CHECKING:  # lent by the top of the package, see sparseopt.verbs

        def plot(self, ax: Any = None, **style: Any) -> Any: ...


def roc(
    path: GraphPath,
    truth: Any,
    rule: Rule = "or",
    pairs: Literal["candidates", "all"] = "candidates",
) -> ROC:
    """Compare the graphs of all budgets with the true graph.

    Parameters
    ----------
    path : GraphPath
    truth : scipy.sparse matrix or array of shape (d, d)
        Symmetric; an edge where it is not zero. The diagonal is ignored.
    rule : {"or", "and"}, default "or"
        Whether an edge needs one of its ends to choose the other, or both.
    pairs : {"candidates", "all"}, default "candidates"
        Which pairs without an edge the false positive rate refers to: those in which one end may
        choose the other, so that the rate can reach 1, or all, as in the SPICA paper.

    Returns
    -------
    ROC

    Raises
    ------
    ParamError

    Notes
    -----
    One pass over the changes of the path: O(N log N) for N changes of single neighbours.

    Examples
    --------
    >>> import sparseopt
    >>> from sparseopt.generators import graph_sample
    >>> sample = graph_sample("band", n=500, d=20, d0=6, rho=0.5)
    >>> path = sparseopt.solve(sample.model).path
    >>> bool(roc(path, sample.graph).f1.max() > 0.9)
    True
    """
    d = path.candidates.nodes
    check_indices("truth", truth)
    true = sp.csr_array(truth, dtype=bool)
    if true.shape != (d, d):
        raise ParamError(f"truth has shape {true.shape}; expected ({d}, {d})")
    number = true.astype(np.int8)
    if (number - number.T).count_nonzero():
        raise ParamError("truth must be symmetric: it says which pairs of nodes are edges")
    if rule not in ("or", "and"):
        raise ParamError(f"rule is {rule!r}; expected 'and' or 'or'")
    if pairs not in ("candidates", "all"):
        raise ParamError(f"pairs is {pairs!r}; expected 'candidates' or 'all'")
    upper = sp.triu(true, 1).tocoo()
    true_key = np.sort(upper.row.astype(np.int64) * d + upper.col)
    node = np.repeat(np.arange(d), path.candidates.sizes)
    index = path.candidates.index.astype(np.int64)
    candidate_key = np.minimum(node, index) * d + np.maximum(node, index)
    distinct = np.unique(candidate_key)
    no_edge = len(distinct) - int(np.isin(distinct, true_key).sum())

    place, directed, change = _toggles(path)
    key = candidate_key[directed]
    order = np.lexsort((place, key))
    place, key, change = place[order], key[order], change[order]
    start = np.append(True, key[1:] != key[:-1])[: len(key)]
    running = np.cumsum(change)
    # Every pair starts from nothing: what was before its first change is taken off.
    before = (running - change)[start]
    state = running - np.repeat(before, np.diff(np.append(np.flatnonzero(start), len(key))))
    held = state >= (1 if rule == "or" else 2)
    step = held.astype(np.int64) - np.where(start, False, np.append(False, held[:-1])[: len(key)])
    real = np.isin(key, true_key)
    B = len(path.budgets)
    return ROC(
        budgets=path.budgets,
        true_edges=_count(place[real], step[real], B),
        false_edges=_count(place[~real], step[~real], B),
        positives=len(true_key),
        negatives=no_edge if pairs == "candidates" else d * (d - 1) // 2 - len(true_key),
    )


def _toggles(path: GraphPath) -> tuple[Array, Array, Array]:
    """Return (place, directed candidate, +1 or -1) of every choice that is made or undone."""
    changes, ptr = path.changes, path.ptr
    order = np.lexsort((np.arange(len(changes.node)), changes.node))
    node, count = changes.node[order].astype(np.int64), changes.count[order]
    before = np.zeros_like(count)
    same = node[1:] == node[:-1]
    before[1:][same] = count[:-1][same]
    place = np.repeat(np.arange(len(path.budgets)), np.diff(changes.ptr))[order]
    supports = np.asarray(path.supports, dtype=np.int64)
    old, new = supports[ptr[node] + before], supports[ptr[node] + count]
    places, directed, steps = [], [], []
    for bit in range(int(path.candidates.sizes.max(initial=0))):
        change = (new >> bit & 1) - (old >> bit & 1)
        at = np.flatnonzero(change)
        places.append(place[at])
        directed.append(path.candidates.ptr[node[at]] + bit)
        steps.append(change[at])
    if not places:
        empty = np.zeros(0, dtype=np.int64)
        return empty, empty, empty
    return np.concatenate(places), np.concatenate(directed), np.concatenate(steps)


def _count(place: Array, step: Array, length: int) -> Array:
    steps = np.bincount(place, weights=step, minlength=length)
    return np.rint(np.cumsum(steps)).astype(np.int64)
