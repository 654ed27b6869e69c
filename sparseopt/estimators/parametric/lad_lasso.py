"""Least absolute deviations with an l1 penalty."""

from __future__ import annotations

from typing import Any, ClassVar

from sparseopt.estimators.common.base import PathRegressor
from sparseopt.problems.base import Array
from sparseopt.problems.parametric import regression


class LADLasso(PathRegressor):
    r"""Least absolute deviations with an l1 penalty, for every lam at once.

    .. math:: \min_{\theta, \beta} \sum_i |y_i - x_i'\theta - \beta| + \lambda \sum_j s_j |\theta_j|

    Parameters
    ----------
    lam : float, optional
        On the scale of X' sign(y - X theta), with the columns of X divided by their
        spreads where `standardize` is set. Default: chosen by `rule`.
    rule : {"ebic", "bic", "aic", "cv", "1se", "theory"}, optional
        See :func:`sparseopt.select`; "1se" is cross-validation with one standard error. Default:
        "ebic", or "cv" for the estimators with CV in their names.
    cv : int, splitter or iterable, optional
        Folds of cross-validation, as everywhere in scikit-learn. Default: 5.
    scoring : str, optional
        The loss that cross-validation compares, by its name here ("squared", "absolute", and for
        QuantileLasso "check") or by that of a scorer ("neg_mean_squared_error"). Default: the
        model's own.
    fit_intercept : bool, default True
    standardize : bool, default True
        Penalise each coefficient in units of its column's spread. The coefficients are those of
        the columns as they were given, either way. Cross-validation keeps the spreads of all data
        in every fold: each penalty is the same in all of them.
    refit : bool, default False
        Fit the chosen coefficients anew without a penalty.
    positive : bool, default False
        No negative coefficients; the intercept is free.
    bounds : (low, high), optional
        Bounds on the coefficients of the columns as they were given, each a number or of shape
        (d,): low <= 0 <= high, infinite where there is none.
    backend : str or Backend, default "auto"
    time_limit : float, optional
        Seconds for the path. Where `rule` chooses on one that they cut short, a ConvergenceWarning
        says so.
    n_jobs : int, optional
        Folds that are followed at a time, by joblib and the backend that its `parallel_config`
        names, such as Dask's. Default: 1.

    Attributes
    ----------
    coef_ : array of shape (d,)
    intercept_, lam_ : float
    objective_, bound_, gap_ : float
        At `lam_`, without the refit; the bound is proven by the path's own multipliers.
    path_ : ParametricPath
        The coefficients at every lam, and last the fitted value at `origin_`.
    origin_ : (array of shape (d,), float)
        What was taken from the columns and from y before: their means, but of a sparse X nothing.
        The intercept at lam is the last entry of ``path_.at(lam)``, where there is one, plus the
        float, less the product of the array with the coefficients.
    result_ : Result
        With the path and the checker's word for it.
    verdict_, status_ : str
    selection_ : Selection
        Of the rule, where `lam` is not given.
    cv_results_ : dict
        Where the rule is "cv" or "1se": lam, mean_test_error and std_test_error at all knots.
    n_features_in_, feature_names_in_

    See Also
    --------
    sparseopt.problems.LADLasso : The problem, with weights and names.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sparseopt.estimators import LADLasso
    >>> data = load_diabetes(as_frame=True, scaled=False)
    >>> model = LADLasso().fit(data.data, data.target)
    >>> model.verdict_, int((model.coef_ != 0).sum())
    ('verified', 6)
    """

    def _problem(self, X: Array, y: Array, counts: Array | None, names: list[str] | None) -> Any:
        scales = self._scales(X, counts)
        return regression.LADLasso(
            X, y, self.fit_intercept, scales, names, counts, self._box(X.shape[1])
        )


class LADLassoCV(LADLasso):
    """:class:`LADLasso` whose rule is "cv" by default: exact over all lam."""

    _default_rule: ClassVar[str] = "cv"
