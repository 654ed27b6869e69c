"""What is equal for every estimator: the path read at lam and a fresh fit, weights and rows."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.model_selection import KFold, StratifiedKFold

from sparseopt import estimators
from sparseopt.estimators import (
    CLIME,
    L1SVC,
    BasisPursuit,
    BestSubset,
    DantzigSelectorCV,
    DifferentialNetwork,
    GaussianGraphL0,
    IsingGraphL0,
    LADLasso,
    LADLassoCV,
    MatrixDantzig,
    QuantileLassoCV,
    QuantileProcess,
    SparseLDA,
)

X, Y = load_diabetes(return_X_y=True, scaled=False)
X, Y = X[:120], Y[:120]
TUMOURS, MALIGN = load_breast_cancer(return_X_y=True)
TUMOURS, MALIGN = TUMOURS[:150, :6], MALIGN[:150]
WINE = load_wine().data[:, :6]

READ = {
    "DantzigSelectorCV": (DantzigSelectorCV(cv=3), X, Y, "coef_"),
    "LADLassoCV": (LADLassoCV(cv=3), X, Y, "coef_"),
    "QuantileLassoCV": (QuantileLassoCV(cv=3, quantile=0.8), X, Y, "coef_"),
    "BasisPursuit": (BasisPursuit(), X, Y, "coef_"),
    "L1SVC": (L1SVC(cv=3), TUMOURS, MALIGN, "coef_"),
    "SparseLDA": (SparseLDA(cv=3), TUMOURS, MALIGN, "coef_"),
    "MatrixDantzig": (MatrixDantzig(), X, np.column_stack([Y, Y**2]), "coef_"),
    "CLIME": (CLIME(), WINE, None, "precision_"),
    "DifferentialNetwork": (DifferentialNetwork(), TUMOURS, MALIGN, "difference_"),
}


def knots_inside(path):
    """Return values of lam between knots, and one of the knots."""
    knots = np.unique(path.knots[np.isfinite(path.knots) & (path.knots > 0.0)])[::-1]
    few = knots[:: max(1, len(knots) // 3)][:4]
    return [*np.sqrt(few[:-1] * few[1:]), few[1]]


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("name", READ)
def test_at_is_a_fresh_fit(name):
    model, data, target, fitted = READ[name]
    model = clone(model).fit(data, target)
    assert model.verdict_ == "verified"
    for lam in map(float, knots_inside(model.path_)):
        other, fresh = model.at(lam), clone(model).set_params(lam=lam).fit(data, target)
        found, expected = getattr(other, fitted), getattr(fresh, fitted)
        assert np.abs(found - expected).max() <= 1e-8 * max(1.0, np.abs(expected).max())
        assert other.objective_ == pytest.approx(fresh.objective_, rel=1e-8)
        assert other.bound_ == pytest.approx(fresh.bound_, rel=1e-8)
        assert set(vars(other)) == set(vars(fresh))


BUDGETS = {
    "size": (BestSubset(), X, Y),
    "budget": (GaussianGraphL0(), WINE, None),
    "budget of spins": (IsingGraphL0(candidates=3), WINE, None),
}


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("name", BUDGETS)
def test_at_another_budget_is_a_fresh_fit(name):
    model, data, target = BUDGETS[name]
    model = clone(model).fit(data, target)
    for budget in (0, 1, 4):
        fresh = clone(model).set_params(**{name.split()[0]: budget}).fit(data, target)
        difference = np.abs(model.at(budget).coef_ - fresh.coef_)
        assert difference.max() == 0.0


WEIGHED = {
    "DantzigSelectorCV": DantzigSelectorCV(),
    "LADLassoCV refitted": LADLassoCV(refit=True),
    "LADLassoCV as the columns are": LADLassoCV(standardize=False),
    "LADLassoCV without an intercept": LADLassoCV(fit_intercept=False),
    "LADLasso by ebic": LADLasso(rule="ebic"),
    "QuantileLassoCV": QuantileLassoCV(quantile=0.8),
    "BasisPursuit by folds": BasisPursuit(rule="cv"),
    "L1SVC": L1SVC(),
    "L1SVC refitted, one standard error": L1SVC(rule="1se", refit=True),
    "SparseLDA": SparseLDA(),
    "QuantileProcess": QuantileProcess(quantile=0.3),
    "QuantileProcess with a penalty": QuantileProcess(quantile=0.3, lam=2.0),
}

ELSEWHERE = {
    *("BestSubset", "SparseRegression", "SparseLogisticRegression", "MatrixDantzig"),
    *("GaussianGraphL0", "IsingGraphL0", "NeighbourhoodGraph", "CLIME", "DifferentialNetwork"),
    *("SparsePCA", "RobustSubspace", "MomentSubspace", "SufficientSubspace"),
}


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("name", WEIGHED)
def test_weights_are_repeated_rows(name):
    model = clone(WEIGHED[name])
    classes = hasattr(model, "decision_function")
    data, target = (TUMOURS, MALIGN) if classes else (X[:60, :6], Y[:60])
    weights = np.random.default_rng(3).integers(0, 4, len(target))
    rows = np.repeat(np.arange(len(target)), weights)
    folds = repeated = None
    if "cv" in model.get_params():
        split = StratifiedKFold(3) if classes else KFold(3)
        folds = list(split.split(data, target))
        repeated = [tuple(np.flatnonzero(np.isin(rows, part)) for part in pair) for pair in folds]
        model.set_params(cv=folds)
    one = clone(model).fit(data, target, sample_weight=weights)
    two = (model if folds is None else model.set_params(cv=repeated)).fit(data[rows], target[rows])
    size = np.abs(two.coef_).max()
    assert size > 0.0
    assert np.abs(one.coef_ - two.coef_).max() <= 1e-8 * max(1.0, size)
    np.testing.assert_allclose(one.intercept_, two.intercept_, rtol=1e-8, atol=1e-8)
    assert one.lam_ == pytest.approx(two.lam_, rel=1e-8)
    assert one.objective_ == pytest.approx(two.objective_, rel=1e-8, abs=1e-8)
    if hasattr(one, "cv_results_"):
        # The path of repeated rows may have knots where nothing changes.
        shown = [
            np.interp(
                two.lam_, fit.cv_results_["lam"][::-1], fit.cv_results_["mean_test_error"][::-1]
            )
            for fit in (one, two)
        ]
        assert shown[0] == pytest.approx(shown[1], rel=1e-8)


def test_every_estimator_that_takes_weights_is_weighed():
    from inspect import signature

    takes = {
        name
        for name in estimators.__all__
        if hasattr(cls := getattr(estimators, name), "fit")
        and "sample_weight" in signature(cls.fit).parameters
    }
    weighed = {type(model).__name__ for model in WEIGHED.values()}
    # Without folds of their own, and those of test_weights_and_sparse_data.py and the subspaces'.
    assert takes - weighed - ELSEWHERE == {"DantzigSelector", "QuantileLasso"}
