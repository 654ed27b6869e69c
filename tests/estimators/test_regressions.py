"""The regressions against other solvers on real data, and what the base class promises."""

import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_linnerud
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LassoLars, QuantileRegressor
from sklearn.metrics import mean_pinball_loss
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sparseopt
from sparseopt.errors import ParamError
from sparseopt.estimators import (
    BasisPursuit,
    DantzigSelector,
    DantzigSelectorCV,
    LADLasso,
    LADLassoCV,
    QuantileLasso,
    QuantileLassoCV,
    SparseLDA,
)
from sparseopt.registry import get_backend
from sparseopt.result import Limit, Status

FRAME = load_diabetes(as_frame=True, scaled=False)
DATA, TARGET = FRAME.data[1::3], FRAME.target[1::3]
X, Y = DATA.to_numpy(), TARGET.to_numpy()

SINGLE = [DantzigSelector, LADLasso, QuantileLasso]
CROSS_VALIDATED = [DantzigSelectorCV, LADLassoCV, QuantileLassoCV]


def dantzig_by_highs(X, y, lam, scales):
    """The linear program (2.3) in theta = plus - minus and a free intercept."""
    n, d = X.shape
    design = np.column_stack([X, -X, np.ones(n)])
    A, b = X.T @ design, X.T @ y
    found = linprog(
        np.concatenate([scales, scales, [0.0]]),
        A_ub=np.vstack([A, -A]),
        b_ub=np.concatenate([b + lam * scales, lam * scales - b]),
        A_eq=design.sum(axis=0)[None],
        b_eq=[y.sum()],
        bounds=[(0, None)] * (2 * d) + [(None, None)],
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    return found.x[:d] - found.x[d : 2 * d], found.x[-1]


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("quantile", [0.1, 0.45, 0.8])
@pytest.mark.parametrize("alpha", [0.0, 0.5, 4.0])
def test_quantile_lasso_is_scikit_learns_quantile_regressor(quantile, alpha):
    peer = QuantileRegressor(quantile=quantile, alpha=alpha).fit(X, Y)
    model = QuantileLasso(quantile=quantile, lam=alpha * len(Y), standardize=False).fit(X, Y)
    loss = len(Y) * mean_pinball_loss(Y, peer.predict(X), alpha=quantile)
    value = loss + model.lam_ * np.abs(peer.coef_).sum()
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    assert model.bound_ == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-8)
    np.testing.assert_allclose(model.predict(X), peer.predict(X), rtol=1e-8)


def test_lad_is_twice_the_median():
    lad, median = LADLasso(lam=300.0).fit(X, Y), QuantileLasso(lam=150.0).fit(X, Y)
    np.testing.assert_allclose(lad.coef_, median.coef_, atol=1e-8)
    assert lad.objective_ == pytest.approx(2.0 * median.objective_, rel=1e-12)


@pytest.mark.parametrize("share", [0.5, 0.1, 0.01])
def test_dantzig_selector_is_the_linear_program(share):
    centred = X - X.mean(axis=0)
    scales = centred.std(axis=0)
    lam = share * np.abs(centred.T @ (Y - Y.mean()) / scales).max()
    model = DantzigSelector(lam=lam).fit(X, Y)
    coef, intercept = dantzig_by_highs(centred, Y, lam, scales)
    np.testing.assert_allclose(model.coef_, coef, atol=1e-8)
    assert model.intercept_ == pytest.approx(intercept - X.mean(axis=0) @ coef, rel=1e-8)


@pytest.mark.parametrize("alpha", [10.0, 0.5])
def test_dantzig_selector_is_the_lasso_on_orthogonal_columns(alpha):
    Q = np.linalg.qr(X - X.mean(axis=0))[0] * np.sqrt(len(Y))
    lasso = LassoLars(alpha=alpha).fit(Q, Y)
    model = DantzigSelector(lam=alpha * len(Y), standardize=False).fit(Q, Y)
    np.testing.assert_allclose(model.coef_, lasso.coef_, atol=1e-8)
    assert model.intercept_ == pytest.approx(lasso.intercept_, rel=1e-10)


@pytest.mark.parametrize("quantile", [0.3, 0.7])
def test_nonnegative_coefficients_are_the_linear_program(quantile):
    model = QuantileLasso(quantile=quantile, lam=40.0, standardize=False, positive=True).fit(X, Y)
    assert (model.coef_ >= 0.0).all() and model.verdict_ == "verified" and model.gap_ < 1e-9
    n, d = X.shape
    found = linprog(
        np.concatenate([np.full(d, 40.0), [0.0], np.full(n, quantile), np.full(n, 1.0 - quantile)]),
        A_eq=np.column_stack([X, np.ones(n), np.eye(n), -np.eye(n)]),
        b_eq=Y,
        bounds=[(0, None)] * d + [(None, None)] + [(0, None)] * (2 * n),
    )
    assert model.objective_ == pytest.approx(found.fun, rel=1e-8)
    np.testing.assert_allclose(model.coef_, found.x[:d], atol=1e-8)
    free = QuantileLasso(quantile=quantile, lam=40.0, standardize=False).fit(X, Y)
    assert (free.coef_ < 0.0).any() and free.objective_ < model.objective_


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("cls", [*SINGLE, *CROSS_VALIDATED, BasisPursuit])
def test_bounds_are_those_of_the_columns_as_given(cls):
    low = np.where(np.arange(10) % 2 == 0, -0.5, -np.inf)
    model = cls(bounds=(low, 1.5), positive=False, cv=3).fit(DATA, TARGET)
    assert (model.coef_ >= low).all() and (model.coef_ <= 1.5).all()
    assert model.verdict_ == "verified"
    again = cls(bounds=(low, 1.5), refit=True, cv=3).fit(DATA, TARGET)
    assert (again.coef_ >= low - 1e-12).all() and (again.coef_ <= 1.5 + 1e-12).all()
    signed = cls(bounds=(low, 1.5), positive=True, cv=3).fit(DATA, TARGET)
    assert (signed.coef_ >= 0.0).all() and signed.coef_.max() <= 1.5


def test_bounds_that_are_none_are_refused():
    for bounds, named in (((1.0, 2.0), "low <= 0"), ((0.0, 1.0, 2.0), r"expected \(low, high\)")):
        with pytest.raises(ValueError, match=named):
            LADLasso(bounds=bounds).fit(X, Y)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("cls", SINGLE)
@pytest.mark.parametrize("refit", [False, True])
def test_at_another_lam_is_a_fresh_fit(cls, refit):
    model = cls(refit=refit).fit(DATA, TARGET)
    for share in (0.9, 0.3, 0.05):
        lam = share * model.path_.knots[0]
        other, fresh = model.at(lam), cls(lam=lam, refit=refit).fit(DATA, TARGET)
        np.testing.assert_allclose(other.coef_, fresh.coef_, atol=1e-8)
        assert other.intercept_ == pytest.approx(fresh.intercept_, rel=1e-8)
        assert (other.lam, other.lam_) == (lam, lam)
        assert other.gap_ < 1e-9 and other.verdict_ == "verified"
    assert model.lam is None and model.lam_ != lam


def test_an_infinite_lam_is_refused():
    model = LADLasso().fit(X, Y)
    top = model.path_.knots[0]
    with pytest.raises(ParamError, match=f"lam is inf; expected a finite number. Above {top:.6g},"):
        model.at(np.inf)
    far = model.at(1e6 * top)
    assert not far.coef_.any() and far.gap_ <= 1e-9
    assert far.objective_ == pytest.approx(model.path_.objective_at(np.inf))


class Hurried(type(get_backend("homotopy"))):
    """Follows four knots, as if there were no time for more."""

    def _solve(self, problem, params, options, control):
        found = super()._solve(problem, replace(params, max_knots=4), options, control)
        path = replace(found.path, stopped_by="time")
        return found.with_changes(status=Status.FEASIBLE, limit=Limit.TIME, path=path)


@pytest.mark.parametrize("rule", ["ebic", "cv"])
def test_a_rule_on_a_path_without_its_end_warns(rule):
    model = LADLasso(rule=rule, cv=3, backend=Hurried())
    with pytest.warns(ConvergenceWarning, match="limit 'time' at lam = .*, and no smaller lam"):
        model.fit(X, Y)
    assert model.status_ == "feasible"
    assert any("time" in note for note in model.selection_.notes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(lam=model.path_.knots[1]).fit(X, Y)


def test_below_the_end_of_the_path_is_an_error():
    model = LADLasso(lam=100.0).fit(X, Y)
    with pytest.raises(sparseopt.ParamError, match="outside the path"):
        model.at(1.0)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("cls", SINGLE)
def test_units_do_not_matter_where_columns_are_standardised(cls):
    units = 10.0 ** np.arange(-4, 6)
    one, two = cls().fit(X, Y), cls().fit(X * units + 3.0 * units, Y)
    np.testing.assert_allclose(two.coef_ * units, one.coef_, rtol=1e-6, atol=1e-9)
    assert two.lam_ == pytest.approx(one.lam_, rel=1e-8)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("cls", [*SINGLE, *CROSS_VALIDATED])
def test_a_weight_is_a_number_of_rows(cls):
    weights = np.random.default_rng(0).integers(0, 4, len(Y))
    labels = np.arange(len(Y)) % 5
    rows = np.repeat(np.arange(len(Y)), weights)
    cv = [(labels != k, labels == k) for k in range(5)]
    repeated = [(train[rows], test[rows]) for train, test in cv]
    quantile = {"quantile": 0.3} if "Quantile" in cls.__name__ else {}
    one = cls(cv=[tuple(map(np.flatnonzero, pair)) for pair in cv], **quantile)
    two = cls(cv=[tuple(map(np.flatnonzero, pair)) for pair in repeated], **quantile)
    one.fit(X, Y, sample_weight=weights)
    two.fit(X[rows], Y[rows])
    np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-8)
    assert one.lam_ == pytest.approx(two.lam_, rel=1e-9, abs=1e-9)
    assert one.intercept_ == pytest.approx(two.intercept_, rel=1e-9)


@pytest.mark.thorough(after=1)
def fold_errors_by_hand(fit, folds, lam, error):
    """The mean over all rows of the error on the test part of each fold's own fit."""
    total = sum(error(fit(train, lam), test).sum() for train, test in folds)
    return total / sum(len(test) for _, test in folds)


def test_folds_keep_the_spreads_of_all_data():
    folds, lam = list(KFold(4).split(X)), 20.0
    spread = X.std(axis=0)
    model = LADLassoCV(cv=folds).fit(X, Y)

    def fit(train, lam):
        share = len(train) / len(X)
        return LADLasso(lam=share * lam, standardize=False).fit(X[train] / spread, Y[train])

    def error(fitted, test):
        return np.abs(Y[test] - fitted.predict(X[test] / spread))

    by_hand = fold_errors_by_hand(fit, folds, lam, error)
    assert float(model.selection_.curve(lam)) == pytest.approx(by_hand, rel=1e-9)


def test_folds_of_a_discriminant_have_deviations_of_their_own():
    folds, lam, classes = list(KFold(4, shuffle=True, random_state=0).split(X)), 0.3, Y > 150.0
    model = SparseLDA(cv=folds).fit(X, classes)

    def fit(train, lam):
        return SparseLDA(lam=lam).fit(X[train], classes[train])

    def error(fitted, test):
        return fitted.predict(X[test]) != classes[test]

    by_hand = fold_errors_by_hand(fit, folds, lam, error)
    assert float(model.curve_(lam)) == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.parametrize("cls", CROSS_VALIDATED)
def test_cross_validation_is_the_librarys(cls):
    model = cls(cv=KFold(4)).fit(DATA, TARGET)
    own = sparseopt.select(model.result_.problem, "cv", folds=KFold(4), result=model.result_)
    assert model.lam_ == own.lam
    grid = model.cv_results_["mean_test_error"]
    assert own.value <= grid.min()
    wide = cls(cv=KFold(4), rule="1se").fit(DATA, TARGET)
    assert wide.lam_ == own.lam_1se >= model.lam_


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("cls", SINGLE)
@pytest.mark.parametrize("shift", [1e2, 1e4, 1e6])
def test_columns_far_from_zero_cost_few_digits(cls, shift):
    one, two = cls().fit(X, Y), cls().fit(X + shift * X.std(axis=0), Y + shift)
    np.testing.assert_allclose(two.coef_, one.coef_, rtol=1e-7, atol=1e-8)
    assert two.verdict_ == "verified"


@pytest.mark.thorough
def test_scorers_name_the_loss():
    one = LADLassoCV(scoring="neg_mean_squared_error").fit(X, Y)
    assert one.selection_.loss == "squared"
    assert LADLassoCV().fit(X, Y).selection_.loss == "absolute"


def test_names_come_from_the_frame():
    model = DantzigSelector(rule="bic").fit(DATA, TARGET)
    assert list(model.feature_names_in_) == list(DATA.columns)
    assert model.path_.names == list(DATA.columns)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(DATA.rename(columns={"bmi": "mass"}))


@pytest.mark.thorough
def test_inside_scikit_learns_tools():
    chosen = make_pipeline(
        StandardScaler(), SelectFromModel(LADLasso(rule="bic"), threshold=1e-12), QuantileLassoCV()
    ).set_output(transform="pandas")
    chosen.fit(DATA, TARGET)
    kept = chosen[1].get_feature_names_out()
    assert list(chosen[2].feature_names_in_) == list(kept) and 0 < len(kept) < 10
    scores = cross_val_score(DantzigSelectorCV(), FRAME.data, FRAME.target, cv=4)
    assert scores.min() > 0.3
    search = GridSearchCV(QuantileLasso(quantile=0.3), {"lam": [10.0, 100.0, 1000.0]}, cv=4)
    search.fit(DATA, TARGET)
    assert search.best_estimator_.lam_ == search.best_params_["lam"]


def test_groups_reach_the_splitter():
    from sklearn.model_selection import GroupKFold

    groups = np.arange(len(Y)) % 7
    model = LADLassoCV(cv=GroupKFold(7)).fit(X, Y, groups=groups)
    assert all(len(set(groups[test])) == 1 for _, test in model.selection_.folds)


def test_wrong_parameters_are_refused_in_fit():
    for wrong in ({"lam": -1.0}, {"rule": "best"}, {"time_limit": 0}, {"quantile": 1.0}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))!r} parameter"):
            QuantileLasso(**wrong).fit(X, Y)
    assert clone(QuantileLasso(lam=3.0)).lam == 3.0


def test_several_dtypes_and_layouts_are_one():
    frame = load_linnerud(as_frame=True)
    expected = LADLasso().fit(frame.data.to_numpy(float), frame.target["Weight"].to_numpy())
    for data in (frame.data, np.asfortranarray(frame.data), frame.data.astype("float32")):
        found = LADLasso().fit(data, frame.target["Weight"])
        np.testing.assert_array_equal(found.coef_, expected.coef_)
    assert isinstance(frame.data, pd.DataFrame)


@pytest.mark.thorough
def test_importing_sparseopt_imports_no_scikit_learn():
    code = "import sparseopt, sys; assert 'sklearn' not in sys.modules; sparseopt.estimators"
    subprocess.run([sys.executable, "-c", code], check=True)
