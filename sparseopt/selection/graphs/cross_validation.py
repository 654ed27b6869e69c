"""Cross-validation of graphs, at every budget."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sparseopt.backend import Backend, Progress, check_listener
from sparseopt.errors import ParamError, ProblemError
from sparseopt.paths.graph import GraphPath
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.budget.neighbourhoods import L0GraphicalModel
from sparseopt.proofs.neighbours import support_losses
from sparseopt.result import Result
from sparseopt.selection.folds import Fold, make_folds
from sparseopt.selection.graphs.choice import (
    GraphSelection,
    graph_model,
    graph_path,
    graph_result,
    rows_of,
)
from sparseopt.selection.solving import settled
from sparseopt.workers import in_workers

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GraphCVResult(GraphSelection):
    """The outcome of a cross-validation; see :class:`GraphSelection`.

    Attributes
    ----------
    rule : {"min", "1se"}
        How `budget` was chosen.
    budget_min, budget_1se : int
        The budget of the smallest error; the smallest budget within one standard error of it.
    fold_errors : array of shape (folds, B)
        The mean error of the observations of each test part, summed over the nodes. `values` is
        their mean over all observations.
    folds : list of (training, test) index arrays
    """

    rule: Literal["min", "1se"]
    budget_min: int
    budget_1se: int
    fold_errors: Array
    folds: Sequence[Fold]

    @property
    def standard_errors(self) -> Array:
        """Standard error of `values`, from the spread between the folds, shape (B,)."""
        size = _sizes(self.problem, self.folds)
        variance = (size / size.sum()) @ (self.fold_errors - self.values) ** 2
        return np.asarray(np.sqrt(variance / (len(size) - 1)))

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each budget: budget, error, standard error (needs pandas)."""
        import pandas as pd

        return pd.DataFrame(
            {
                "budget": self.budgets,
                "error": self.values,
                "standard_error": self.standard_errors,
            }
        )

    def summary(self) -> dict[str, Any]:
        """Return the facts that a person or a script asks for first, ready for JSON."""
        return {
            **super().summary(),
            "rule": self.rule,
            "budget_min": self.budget_min,
            "budget_1se": self.budget_1se,
            "folds": len(self.folds),
        }


def graph_cross_validate(
    problem: Problem,
    folds: Any = 10,
    *,
    rule: Literal["min", "1se"] = "min",
    seed: int = 0,
    result: Result | None = None,
    backend: str | Backend = "auto",
    options: Mapping[str, Any] | None = None,
    n_jobs: int = 1,
    on_progress: Callable[[Progress], None] | None = None,
) -> GraphCVResult:
    r"""Choose the budget by cross-validation over all budgets.

    The path of each training part is followed over every K. Rows count as often as they weigh.
    The error of a test part is

    .. math:: \sum_j \frac{1}{s_j |T|} \sum_{i \in T} \ell(x_{ij}, x_{i N_j}' \beta_j(K))

    with squared or logistic losses, :math:`s_j` the loss of node j without neighbours on all data
    (1 with scaling "rss"). Coefficients are fitted once for each node and number of neighbours; the
    errors of all budgets follow by addition.

    Parameters
    ----------
    problem : L0GraphicalModel
        Its ridge is used in the fits. An Ising model without one may have separated training
        parts, whose coefficients are huge; give it a ridge.
    folds : int, array of shape (n,), iterable of (train, test), or splitter, default 10
        As for :func:`cross_validate`.
    rule : {"min", "1se"}, default "min"
        Whether `budget` has the smallest error, or is the smallest within one standard error of it.
    seed : int, default 0
        Of random folds.
    result : Result, optional
        The path of the problem, if there is one already.
    backend, options
        As for :func:`sparseopt.solve`.
    n_jobs : int, default 1
        How many folds at a time, in joblib's workers; -1 for all processors.
    on_progress : callable, optional

    Returns
    -------
    GraphCVResult

    Raises
    ------
    ParamError
        Also when a training part cannot be solved; the message says which and why.

    Examples
    --------
    >>> from sparseopt.generators import graph_sample
    >>> sample = graph_sample("band", n=300, d=20, d0=6)
    >>> chosen = graph_cross_validate(sample.model, folds=5)
    >>> chosen.budget_1se <= chosen.budget == chosen.budget_min
    True
    """
    check_listener(on_progress)
    model = graph_model(problem)
    if rule not in ("min", "1se"):
        raise ParamError(f"rule is {rule!r}; expected 'min' or '1se'")
    n, d = model.X.shape
    parts = make_folds(folds, model.X, np.zeros(n), seed, classes=False)
    whole = graph_result(model, result, backend, options)
    backend = settled(backend, whole) if result is None else backend
    scale = np.ones(d) if model.scaling == "rss" else model.null_losses()
    begin = time.perf_counter()

    def tasks() -> Iterator[tuple[Any, ...]]:
        for k, (train, test) in enumerate(parts):
            if on_progress is not None:
                text = f"fold {k + 1} of {len(parts)}"
                on_progress(Progress(time.perf_counter() - begin, text, k / len(parts)))
            yield model, k, train, test, scale, backend, options

    errors = list(in_workers(_fold_errors, tasks(), n_jobs))
    last = min(len(whole.path.budgets), *map(len, errors))  # type: ignore[union-attr]
    fold_errors = np.array([error[:last] for error in errors])
    size = _sizes(model, parts)
    values = (size / size.sum()) @ fold_errors
    budgets = np.arange(last)
    found = GraphCVResult(
        by="cv",
        budget=0,
        budgets=budgets,
        values=values,
        result=whole,
        problem=model,
        rule=rule,
        budget_min=0,
        budget_1se=0,
        fold_errors=fold_errors,
        folds=parts,
    )
    best = int(np.argmin(values))
    within = int(np.argmax(values <= values[best] + found.standard_errors[best]))
    return replace(
        found, budget=best if rule == "min" else within, budget_min=best, budget_1se=within
    )


def _sizes(model: L0GraphicalModel, folds: Sequence[Fold]) -> Array:
    """Return how much each test part counts, shape (folds,)."""
    return np.array([model.shares[test].sum() for _, test in folds])


def _fold_errors(
    model: L0GraphicalModel,
    k: int,
    train: Array,
    test: Array,
    scale: Array,
    backend: str | Backend,
    options: Mapping[str, Any] | None,
) -> Array:
    """Return the mean error of a test part at every budget."""
    try:
        training = rows_of(model, train)
        path = graph_path(training, f"fold {k}", backend, options).path
    except ProblemError as error:
        raise ParamError(f"the training part of fold {k} cannot be solved: {error}") from error
    assert isinstance(path, GraphPath)
    weights = None if model.sample_weights is None else model.sample_weights[test]
    losses = support_losses(training, path.supports, np.asarray(model.X[test]), weights)
    return path.sums(losses / np.repeat(scale, model.candidates.sizes + 1), path.ptr)
