"""Cross-validation that compares all values of lam."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sparseopt.backend import Backend, Progress, check_listener
from sparseopt.errors import ParamError
from sparseopt.problems.base import Array, Problem
from sparseopt.result import Result
from sparseopt.selection.choice import Selection
from sparseopt.selection.curve import Curve, mean_curve
from sparseopt.selection.folds import Fold, make_folds
from sparseopt.selection.losses import Loss, named_loss
from sparseopt.selection.path_loss import path_loss
from sparseopt.selection.samples import counts, predicted, traits
from sparseopt.selection.solving import exact_path, path_result, solve_paths, ties
from sparseopt.selection.training import training_problems
from sparseopt.verbs import borrows

if TYPE_CHECKING:
    import pandas as pd

Rule = Literal["min", "1se"]


@borrows
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CVResult(Selection):
    """The outcome of a cross-validation; see :class:`~sparseopt.selection.Selection`.

    Attributes
    ----------
    rule : {"min", "1se"}
        How `lam` was chosen.
    lam_min, lam_1se : float
        The exact global minimiser of the error; the largest lam whose error is within one standard
        error of the minimum.
    curve : Curve
        The mean error of an observation as an exact function of lam: ``curve(lam)``.
    fold_curves : list of Curve
        The mean error in each test part, with the same breakpoints.
    loss : str
    folds : list of (training, test) index arrays
    fold_sizes : array of shape (folds,)
        Number of observations in each test part, with their weights.
    """

    rule: Rule
    lam_min: float
    lam_1se: float
    curve: Curve
    fold_curves: Sequence[Curve]
    loss: str
    folds: Sequence[Fold]
    fold_sizes: Array

    @property
    def knots(self) -> Array:
        """All breakpoints of all folds, decreasing, shape (K,)."""
        return self.curve.low

    @property
    def errors(self) -> Array:
        """Mean error at the knots (at a jump from above), shape (K,)."""
        return self.curve(self.knots)

    @property
    def fold_errors(self) -> Array:
        """Mean error of each fold at the knots, shape (folds, K)."""
        return np.array([curve(self.knots) for curve in self.fold_curves])

    @property
    def standard_errors(self) -> Array:
        """Standard errors of the mean error at the knots, shape (K,)."""
        return self.standard_error(self.knots)

    def standard_error(self, lam: Array | float) -> Array:
        r"""Return the standard error at lam.

        .. math:: \Big(\frac{1}{K - 1} \sum_k \frac{n_k}{n} (e_k - \bar e)^2\Big)^{1/2}

        with the folds' mean errors e_k and sizes n_k.
        """
        size = self.fold_sizes
        errors = np.array([curve(lam) for curve in self.fold_curves])
        share = size / size.sum()
        variance = np.tensordot(share, (errors - self.curve(lam)) ** 2, axes=1)
        return np.asarray(np.sqrt(variance / (len(size) - 1)))

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each knot: lam, error, standard error (needs pandas)."""
        import pandas as pd

        return pd.DataFrame(
            {"lam": self.knots, "error": self.errors, "standard_error": self.standard_errors}
        )

    def summary(self) -> dict[str, Any]:
        """Return the facts that a person or a script asks for first, ready for JSON."""
        return {
            **super().summary(),
            "rule": self.rule,
            "lam_min": self.lam_min,
            "lam_1se": self.lam_1se,
            "standard_error": float(self.standard_error(self.lam)),
            "loss": self.loss,
            "folds": len(self.folds),
            "knots": len(self.knots),
        }

    if TYPE_CHECKING:  # lent by the top of the package, see sparseopt.verbs

        def plot(self, ax: Any = None, **style: Any) -> Any: ...


def cross_validate(
    problem: Problem,
    folds: Any = 10,
    loss: str | Loss | None = None,
    *,
    rule: Rule = "min",
    seed: int = 0,
    lam_min: float | None = None,
    result: Result | None = None,
    backend: str | Backend = "auto",
    options: Mapping[str, Any] | None = None,
    check: bool = True,
    n_jobs: int = 1,
    on_progress: Callable[[Progress], None] | None = None,
) -> CVResult:
    r"""Choose lam by cross-validation over all values of lam, not over a grid.

    The path of each training part is exact, so the error

    .. math:: E(\lambda) = \frac{1}{n} \sum_k \sum_{i \in T_k} \ell(y_i, x_i'\theta^{(k)}(\lambda))

    is known as a function: quadratic (squared loss) or linear (the others) between the knots of all
    folds and the places where a predictor passes a kink of its loss, and constant where the
    solutions are. Its global minimum is found in closed form.

    Parameters
    ----------
    problem : Problem
        DantzigSelector, CompressedSensing, LADLasso, QuantileLasso or L1SVM.
    folds : int, array of shape (n,), iterable of (train, test), or splitter, default 10
        A number of random folds (stratified for classes), labels, index arrays, or a splitter
        of scikit-learn, such as KFold.
    loss : str or Loss, optional
        "squared", "absolute", "check" (at the problem's level), "hinge", "misclassification".
        Default: the model's own.
    rule : {"min", "1se"}, default "min"
        Whether `lam` is the minimiser, or the largest lam within one standard error of it.
    seed : int, default 0
        Of random folds.
    lam_min : float, optional
        Compare values of lam from here up, on the scale of `problem`. Default: all, to the end of
        the paths.
    result : Result, optional
        The path of the problem, if there is one already.
    backend, options
        As for :func:`sparseopt.solve`.
    check : bool, default True
        Run the checker on the path of the whole data. Those of the folds are not checked.
    n_jobs : int, default 1
        How many folds at a time, in joblib's workers; -1 for all processors.
    on_progress : callable, optional

    Returns
    -------
    CVResult

    Raises
    ------
    ParamError, SparseOptError

    Notes
    -----
    Where lam is on the scale of a sum over the observations (DantzigSelector with scale="none",
    LADLasso, QuantileLasso, L1SVM), a training part with a share s of the observations is solved at
    s lam, so that the penalty for each observation is the same as for the whole data. That is what
    glmnet and scikit-learn do by dividing losses by n. All values of lam are reported on the
    scale of `problem`.

    A path that ends early, that of a fold or of all data, by a limit or because nothing is feasible
    below, ends the range for all; a note says so.

    Each observation has the same weight in E, or its own in `sample_weights`; see
    :meth:`CVResult.standard_error` for the other half of the rule "1se". Both are glmnet's.

    References
    ----------
    Breiman, Friedman, Olshen, Stone (1984), section 3.4.3, for the rule of one standard error.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt.problems import DantzigSelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 5))
    >>> y = X[:, 0] - 2.0 * X[:, 3] + 0.5 * rng.standard_normal(60)
    >>> cv = cross_validate(DantzigSelector(X, y), folds=5, rule="1se")
    >>> bool(cv.lam_min <= cv.lam_1se), cv.support.tolist()
    (True, [0, 3])
    """
    check_listener(on_progress)
    if rule not in ("min", "1se"):
        raise ParamError(f"rule is {rule!r}; expected 'min' or '1se'")
    chosen = _loss(problem, loss)
    X, y = problem.X, np.asarray(problem.y)  # type: ignore[attr-defined]
    if chosen.classes and not np.isin(y, (-1.0, 1.0)).all():
        raise ParamError(f"the {chosen.name} loss is for classes -1 and 1 in y")
    pairs = make_folds(folds, X, y, seed, classes=problem.kind == "l1-svm" or chosen.classes)
    whole = path_result(problem, result, backend, options, lam_min, check)
    weights, notes, totals = counts(problem), list(ties(problem)), []
    begin = time.perf_counter()
    factors: list[float] = []

    def tasks() -> Iterator[tuple[Problem, str, dict[str, float]]]:
        for k, (part, factor) in enumerate(training_problems(problem, pairs)):
            _tell(on_progress, begin, k, len(pairs))
            factors.append(factor)
            yield part, f"fold {k}", {} if lam_min is None else {"lam_min": lam_min * factor}

    for k, path in enumerate(solve_paths(tasks(), backend, options, n_jobs)):
        factor, test = factors[k], pairs[k][1]
        rows, target = predicted(problem, pairs[k][0])
        loss_of = path_loss(path, rows[test], target[test], chosen, weights[test])
        totals.append(loss_of.rescaled(factor))
        if path.stopped_by != "lam_min":
            notes.append(f"the path of fold {k} ends at {totals[-1].end:g}: {path.stopped_by}")
    details = {"loss": chosen.name, "problem": problem, "notes": tuple(notes)}
    return chosen_by_folds(totals, pairs, weights, whole, lam_min, rule=rule, **details)


def chosen_by_folds(
    totals: Sequence[Curve],
    folds: Sequence[Fold],
    weights: Array,
    whole: Result,
    lam_min: float | None,
    **details: Any,
) -> CVResult:
    """Return the choice by the errors of all folds.

    Parameters
    ----------
    totals : sequence of Curve
        The error of each fold's test part, summed over its observations.
    folds : sequence of (training, test) index arrays
    weights : array of shape (n,)
        Of the observations.
    whole : Result
        The path of the whole data.
    lam_min : float, optional
        The smallest lam that is compared.
    **details
        The other fields of :class:`CVResult`: rule, loss, problem, and the notes on the folds.

    Raises
    ------
    ParamError
        If fewer than two folds have a test part with any weight.
    """
    sizes = [float(weights[test].sum()) for _, test in folds]
    weighty = [k for k, size in enumerate(sizes) if size > 0.0]
    if len(weighty) < min(2, len(folds)):
        raise ParamError(
            f"of {len(folds)} folds {len(weighty)} have a test part with any weight; expected 2 or "
            "more: give fewer folds, or leave out the observations of weight 0"
        )
    if len(weighty) < len(folds):
        # Observations of weight 0 are none.
        totals, folds = [totals[k] for k in weighty], [folds[k] for k in weighty]
        sizes = [sizes[k] for k in weighty]
    path = exact_path(whole)
    if path.stopped_by != "lam_min":
        ended = f"the path of all data ends at {path.low[-1]:g}: {path.stopped_by}"
        details["notes"] = (*details.get("notes", ()), ended)
    parts, mean = mean_curve(totals, sizes, path, lam_min)
    shares = zip(parts, sizes, strict=True)
    curves = [Curve(part.low, mean.top, part.coefficients / size) for part, size in shares]
    best = mean.minimum()
    outcome = CVResult(
        by="cv",
        lam=best.lam,
        value=best.value,
        interval=(best.low, best.high),
        side=best.side,
        lam_min=best.lam,
        lam_1se=best.lam,
        curve=mean,
        fold_curves=curves,
        folds=folds,
        fold_sizes=np.array(sizes),
        result=whole,
        **details,
    )
    return _within_one_error(outcome)


def _loss(problem: Problem, loss: str | Loss | None) -> Loss:
    known = traits(problem)
    if loss is None:
        return known.loss(problem)
    return loss if isinstance(loss, Loss) else named_loss(loss, getattr(problem, "tau", None))


def _tell(
    on_progress: Callable[[Progress], None] | None, begin: float, done: int, count: int
) -> None:
    if on_progress is not None:
        seconds = time.perf_counter() - begin
        on_progress(Progress(seconds, f"fold {done + 1} of {count}", done / count))


def _within_one_error(outcome: CVResult) -> CVResult:
    """Complete the outcome by the rule of one standard error."""
    best = outcome.lam_min
    limit = outcome.value + float(outcome.standard_error(best))
    lam = max(best, outcome.curve.largest_within(limit))
    if outcome.rule == "min":
        return replace(outcome, lam_1se=lam)
    value = float(outcome.curve(lam))
    return replace(outcome, lam_1se=lam, lam=lam, value=value, interval=(lam, lam), side="above")
