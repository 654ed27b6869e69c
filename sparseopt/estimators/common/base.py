"""What all estimators share: a path, a rule that chooses a point of it, and the coefficients there.

An estimator translates its data into a problem (:meth:`PathEstimator._problem`); the path, the
rules and the checks are those of the library.
"""

from __future__ import annotations

import copy
import math
import warnings
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    RegressorMixin,
    _fit_context,
    is_classifier,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv
from sklearn.utils import ClassifierTags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from sparseopt.api import solve
from sparseopt.backend import Progress
from sparseopt.cards import NamedValues
from sparseopt.errors import ParamError
from sparseopt.estimators.common.columns import given_names, names_of, spread
from sparseopt.estimators.common.observations import SparseData, validated, weights_of
from sparseopt.names import with_intercept_name
from sparseopt.params import SolveParams
from sparseopt.paths.parametric import ParametricPath
from sparseopt.problems.base import Array, is_sparse
from sparseopt.problems.columns import mean
from sparseopt.problems.fields import as_bounds
from sparseopt.result import relative_gap
from sparseopt.selection.choice import Selection, coefficients_at
from sparseopt.selection.cross_validation import CVResult
from sparseopt.selection.refitting import refit
from sparseopt.selection.rules import select

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""


__all__ = [
    "AT_A_TIME",
    "BinaryClassifier",
    "LinearClassification",
    "NeedsTarget",
    "PathEstimator",
    "PathRegressor",
    "TwoClasses",
    "trusted_down_to",
    "useful_to",
]

AT_A_TIME = [
    Interval(Integral, 1, None, closed="left"),
    Interval(Integral, None, -1, closed="right"),
    None,
]
"""What `n_jobs` may be: joblib has no 0."""
_LOSSES = {
    "neg_mean_squared_error": "squared",
    "neg_mean_absolute_error": "absolute",
    "neg_mean_pinball_loss": "check",
    "accuracy": "misclassification",
}
"""The loss of which each scorer of scikit-learn is the mean, up to its sign."""
_LARGEST = 1e8
"""Coefficients of this size, in standard deviations, follow rounding errors."""
_OF_NO_USE = 100.0
"""Coefficients of this size together separate samples that are not separated in the population."""


def forget(estimator: Any, *names: str) -> None:
    """Delete attributes of an earlier fit that this one may not set, where they are.

    Parameters
    ----------
    estimator : object
    *names : str
    """
    for name in names:
        vars(estimator).pop(name, None)


def trusted_down_to(path: ParametricPath, largest: float = _LARGEST) -> float:
    """Return the lam below which coefficients follow the rounding errors of a singular covariance.

    Parameters
    ----------
    path : ParametricPath
        Whose objective is an l1 norm of coefficients in standard deviations.
    largest : float, default 1e8
        Of the norm.

    Returns
    -------
    float
        The end of the path where there are no such.
    """
    large = np.flatnonzero(path.objective[:, 0] > largest)
    return float(path.high[large[0]] if len(large) else path.low[-1])


def useful_to(problem: Any, backend: Any, time_limit: float | None) -> float | None:
    """Return from which lam on a singular covariance alone makes the coefficients large.

    The path to there is short, while beyond it has as many knots again whose proofs take most of
    the time; with fewer observations than columns.

    Parameters
    ----------
    problem : ParametricProblem
        Whose objective is an l1 norm of coefficients in standard deviations.
    backend, time_limit
        Of the solve.

    Returns
    -------
    float or None
        None where they stay small.
    """
    found = solve(problem, backend=backend, time_limit=time_limit, check=False)
    path: Any = found.raise_for_status().path
    low = trusted_down_to(path, _OF_NO_USE)
    return low if low > path.low[-1] else None


class _SparseCoefficients:
    """A mixin of the linear models."""

    penalty: ClassVar[str] = "l1"
    """Read by SelectFromModel, which keeps coefficients above 1e-5 then, else above their mean."""
    coef_: Array
    intercept_: Any
    n_features_in_: int

    @property
    def coefficients_(self) -> NamedValues:
        """The coefficients and the intercept by name, as a table."""
        check_is_fitted(self)
        values = np.append(np.ravel(self.coef_), self.intercept_)
        return NamedValues(self._coefficient_names(), values)

    def _coefficient_names(self) -> list[str]:
        return with_intercept_name(names_of(self))


class LinearPrediction(_SparseCoefficients, RegressorMixin):  # type: ignore[misc]
    """A mixin of the linear regressions."""

    def predict(self, X: Any) -> Array:
        """Return X coef_' + intercept_, shape (n,), or (n, q) for several responses."""
        check_is_fitted(self)
        X = validated(self, X, reset=False)
        return np.asarray(X @ self.coef_.T + self.intercept_)


class NeedsTarget:
    """A mixin of the estimators without a prediction that need y."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.target_tags.required = True
        return tags


class TwoClasses(NeedsTarget, SparseData):
    """A mixin of the estimators whose target has two classes."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags

    def _read_classes(self, X: Any, y: Any) -> tuple[Array, Array]:
        """Validate the data, and set ``classes_``.

        Parameters
        ----------
        X : array_like of shape (n, d)
        y : array_like of shape (n,)

        Returns
        -------
        X : array or csr_array of shape (n, d)
        place : int array of shape (n,)
            0 for the first class, 1 for the second.

        Raises
        ------
        ValueError
            When there are not two classes.
        """
        X, y = validated(self, X, y, ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_, place = np.unique(y, return_inverse=True)
        count = len(self.classes_)
        if count != 2:
            found = "one class" if count == 1 else f"{count} classes"
            raise ValueError(
                f"Only binary classification is supported. {type(self).__name__} was given {found}"
            )
        return X, place


def refuse_one_class(labels: Array, counts: Array | None = None) -> None:
    """Raise where the observations of one class weigh nothing.

    Parameters
    ----------
    labels : array of shape (n,)
    counts : array of shape (n,), optional
        The weights of the observations. Default: 1.

    Raises
    ------
    ValueError
    """
    if len(np.unique(labels if counts is None else labels[counts > 0.0])) < 2:
        raise ValueError("one class has no weight; expected observations of both classes")


class LinearClassification(_SparseCoefficients, TwoClasses, ClassifierMixin):  # type: ignore[misc]
    """A mixin of the linear classifiers of two classes, with coef_ (1, d) and intercept_ (1,)."""

    def decision_function(self, X: Any) -> Array:
        """Return X coef_ + intercept_, shape (n,): positive for the second class."""
        check_is_fitted(self)
        X = validated(self, X, reset=False)
        return np.asarray(X @ self.coef_[0] + self.intercept_[0])

    def predict(self, X: Any) -> Array:
        """Return the classes, shape (n,): the first one where the decision is 0."""
        positive = self.decision_function(X) > 0.0
        return np.asarray(self.classes_[positive.astype(int)])


class PathEstimator(CallbackSupportMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the estimators whose solution is known as a function of lam.

    A subclass has a constructor without logic, and :meth:`_problem`.
    """

    _default_rule: ClassVar[str] = "ebic"
    _of_the_rule: ClassVar[tuple[str, ...]] = ("selection_", "cv_results_", "curve_")
    """Fitted attributes that are there only where a rule chose lam."""
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "lam": [Interval(Real, 0, None, closed="left"), None],
        "rule": [StrOptions({"cv", "1se", "aic", "bic", "ebic", "theory"}), None],
        "cv": ["cv_object"],
        "scoring": [
            StrOptions({*_LOSSES, "squared", "absolute", "check", "hinge", "misclassification"}),
            None,
        ],
        "fit_intercept": ["boolean"],
        "standardize": ["boolean"],
        "refit": ["boolean"],
        "positive": ["boolean"],
        "bounds": ["array-like", None],
        "backend": [str, HasMethods("solve")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "n_jobs": AT_A_TIME,
    }
    _step: Any = None
    _counts: Any
    _posed: Any = slice(None)
    """Which columns the problem has; the coefficients of the others are 0."""

    def __init__(
        self,
        *,
        lam: float | None = None,
        rule: str | None = None,
        cv: Any = None,
        scoring: str | None = None,
        fit_intercept: bool = True,
        standardize: bool = True,
        refit: bool = False,
        positive: bool = False,
        bounds: Any = None,
        backend: Any = "auto",
        time_limit: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.lam = lam
        self.rule = rule
        self.cv = cv
        self.scoring = scoring
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.refit = refit
        self.positive = positive
        self.bounds = bounds
        self.backend = backend
        self.time_limit = time_limit
        self.n_jobs = n_jobs

    @classmethod
    def _constraints(cls, *names: str) -> dict[str, Any]:
        """Return the constraints of some of the common parameters, for estimators without all."""
        return {name: cls._parameter_constraints[name] for name in names}

    @abstractmethod
    def _problem(self, X: Array, y: Array, counts: Array | None, names: list[str] | None) -> Any:
        """Return the problem of the data, with an intercept and scales where they are asked for."""
        name = type(self).__name__
        raise NotImplementedError(f"{name} must define _problem(self, X, y, counts, names)")

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Follow the path, and choose a value of lam.

        Parameters
        ----------
        X : array_like of shape (n, d)
        y : array_like of shape (n,)
        sample_weight : array_like of shape (n,), optional
            How often each observation counts: weight k is k repeated rows, exactly, in the means
            and scales, the loss, and in cross-validation.
        groups : array_like of shape (n,), optional
            For the splitter `cv`.

        Returns
        -------
        self
        """
        X, y = self._read(X, y)
        counts = None if sample_weight is None else weights_of(sample_weight, X)
        self._counts = counts
        with self._watched(X, y, sample_weight):
            self._follow(self._pose(X, y, counts))
            self._choose(X, y, groups)
        return self

    @contextmanager
    def _watched(self, X: Array, y: Array, sample_weight: Any) -> Iterator[None]:
        """Tell scikit-learn's callbacks of the fit, and of each fold as its subtask."""
        if not hasattr(self, "_skl_callbacks"):
            yield
            return
        about = {} if sample_weight is None else {"sample_weight": sample_weight}
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y, metadata=about)
        running: list[Any] = []

        def step(progress: Progress | None) -> None:
            if running:
                running.pop().call_on_fit_task_end(estimator=self)
            if progress is not None:
                task = context.subcontext(task_name=progress.text)
                running.append(task.call_on_fit_task_begin(estimator=self))

        self._step = step
        try:
            yield
        finally:
            del self._step
        step(None)
        context.call_on_fit_task_end(estimator=self, X=X, y=y, metadata=about)

    def _pose(self, X: Array, y: Array, counts: Array | None) -> Any:
        """Return the problem of the data, centred where an intercept takes the means away again.

        The coefficients stay what they are, and columns far from 0 cost no digits. A sparse X stays
        as it is.
        """
        centre, level = np.zeros(X.shape[1]), 0.0
        if self.fit_intercept:
            level = 0.0 if is_classifier(self) else float(np.average(y, weights=counts))
            if not is_sparse(X):
                centre = mean(X, counts)
                X = X - centre
        self.origin_ = (centre, level)
        problem = self._problem(X, y - level, counts, given_names(self))
        centre, level = self.origin_
        self.origin_ = (centre[self._posed], level)
        return problem

    def _read(self, X: Any, y: Any) -> tuple[Array, Array]:
        """Validate the data: one dtype and one layout, so that no new code is compiled."""
        X, y = validated(self, X, y, y_numeric=True, ensure_min_samples=2)
        return X, np.ascontiguousarray(y, dtype=np.float64)

    def _scales(self, X: Array, counts: Array | None) -> Array:
        """Return the weights of the penalty: the columns' spreads where they are standardised."""
        if not self.standardize:
            return np.ones(X.shape[1])
        times = np.ones(X.shape[0]) if counts is None else counts
        return spread(X, times, self.fit_intercept)

    def _box(self, d: int) -> Array | None:
        """Return the bounds on the coefficients of d columns, shape (2, d); None without any."""
        box = as_bounds((-np.inf, np.inf) if self.bounds is None else self.bounds, d)
        assert box is not None
        if self.positive:
            box = np.maximum(box, 0.0)
        return None if np.isinf(box).all() else box

    def _follow(self, problem: Any, end: float | None = None) -> None:
        """Solve for the path, down to `lam` where it is given, else to `end`."""
        self._solve(problem, lam_min=end if self.lam is None else float(self.lam))

    def _solve(self, problem: Any, **limits: Any) -> None:
        """Solve for the path with these limits."""
        forget(self, *self._of_the_rule)
        asked = SolveParams(**({"time_limit": self.time_limit} | limits))
        self.result_ = solve(problem, backend=self.backend, params=asked).raise_for_status()
        self.path_: Any = self.result_.path

    def _choose(self, X: Array, y: Array, groups: Any) -> None:
        """Set the fitted attributes at `lam`, or where the rule finds it."""
        if self.lam is None:
            if self.result_.limit is not None:
                warnings.warn(
                    f"the path ended by the limit {str(self.result_.limit)!r} at lam = "
                    f"{float(self.path_.knots[-1]):.6g}, and no smaller lam is compared: give more "
                    "time, or lam",
                    ConvergenceWarning,
                    stacklevel=4,
                )
            self._place(*self._chosen(X, y, groups))
            return
        ended = self.path_.stopped_by == "infeasible_below"
        if ended and self.lam < (low := float(self.path_.low[-1])):
            n = X.shape[0] if self._counts is None else float(self._counts.sum())
            raise ValueError(
                f"lam is {self.lam:g}; for {X.shape[1]} columns of {n:g} observations expected "
                f"{low:.4g} or more: nothing meets the constraints below. Give a larger lam, or "
                "None to have it chosen"
            )
        self._place(float(self.lam), "above")

    def _chosen(self, X: Array, y: Array, groups: Any) -> tuple[float, str]:
        """Return the rule's lam, and the side of it on which the solution is."""
        details: dict[str, Any] = {}
        by = self.rule or self._default_rule
        if by in ("cv", "1se"):
            loss = self._compared()
            folds = self._folds(X, y, groups)
            details = {
                "folds": folds,
                "loss": loss,
                "rule": "min" if by == "cv" else "1se",
                "n_jobs": effective_n_jobs(self.n_jobs),
                "on_progress": self._step,
            }
            by = "cv"
        chosen: Selection = select(
            self.result_.problem, by, result=self.result_, backend=self.backend, **details
        )
        return self._kept(chosen)

    def _compared(self) -> str | None:
        """Return the loss that cross-validation compares; None for the model's own."""
        loss = _LOSSES.get(self.scoring or "", self.scoring)
        if loss == "check" and not hasattr(self.result_.problem, "tau"):
            raise ParamError(
                f"scoring is {self.scoring!r}, the check loss at the level of a quantile, which a "
                f"{type(self).__name__} does not have; expected 'squared', 'absolute', "
                "'neg_mean_squared_error' or 'neg_mean_absolute_error'. QuantileLasso has a level"
            )
        return loss

    def _kept(self, chosen: Selection) -> tuple[float, str]:
        """Keep what the rule says of every lam, and return the one that it chose, and the side."""
        self.selection_ = chosen
        if isinstance(chosen, CVResult):
            self.cv_results_ = {
                "lam": chosen.knots,
                "mean_test_error": chosen.errors,
                "std_test_error": chosen.standard_errors,
            }
        return chosen.lam, chosen.side

    def _folds(self, X: Array, y: Array, groups: Any) -> list[Any]:
        splitter = check_cv(self.cv, y, classifier=is_classifier(self))
        return list(splitter.split(X, y, groups))

    def _place(self, lam: float, side: Any) -> None:
        """Set the fitted attributes to the solution at lam."""
        problem, path = self.result_.problem, self.path_
        x = coefficients_at(path, lam, side)
        self.lam_ = lam
        self.verdict_, self.status_ = str(self.result_.verdict), str(self.result_.status)
        sign = problem.canonical_sign
        self.objective_ = problem.objective(x, lam)
        self.bound_ = sign * problem.canonical().dual_value(path.dual_at(lam, side), lam)
        self.gap_ = relative_gap(self.objective_, self.bound_, problem.value_unit)
        self._unpack(refit(problem, np.flatnonzero(x)) if self.refit else x)

    def _unpack(self, x: Array) -> None:
        """Set the coefficients from a solution; an intercept is its last entry."""
        self.coef_: Array = np.zeros(self.n_features_in_)
        d = len(self.coef_[self._posed])
        self.coef_[self._posed] = x[:d]
        centre, level = self.origin_
        self.intercept_: Any = float(x[d:].sum() + level - centre @ x[:d])

    def at(self, lam: float) -> Self:
        """Return the estimator as fitted with another lam, read off the path: nothing is solved.

        Parameters
        ----------
        lam : float
            On the range of `path_`.

        Returns
        -------
        estimator
            A fitted copy; this one stays as it is.

        Raises
        ------
        ParamError
            When the path does not reach that far, or lam is infinite: the objective has lam as a
            factor.
        """
        check_is_fitted(self)
        if math.isinf(lam):
            raise ParamError(
                f"lam is {lam}; expected a finite number. Above {float(self.path_.knots[0]):.6g}, "
                "the first knot of the path, the coefficients do not change"
            )
        other = copy.copy(self)
        forget(other, *self._of_the_rule)
        other.lam = float(lam)
        other._place(float(lam), "above")
        return other


class PathRegressor(SparseData, LinearPrediction, PathEstimator):
    """A sparse linear regression."""


class BinaryClassifier(LinearClassification, PathEstimator):
    """A sparse linear classifier of two classes, the second of which is the positive one."""

    _default_rule: ClassVar[str] = "cv"

    def _read(self, X: Any, y: Any) -> tuple[Array, Array]:
        X, place = self._read_classes(X, y)
        return X, 2.0 * place - 1.0

    def _pose(self, X: Array, y: Array, counts: Array | None) -> Any:
        refuse_one_class(y, counts)
        return super()._pose(X, y, counts)

    def _unpack(self, x: Array) -> None:
        super()._unpack(x)
        self.coef_, self.intercept_ = self.coef_[None], np.array([self.intercept_])
