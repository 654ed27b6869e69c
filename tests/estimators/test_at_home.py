"""What users of scikit-learn try first: tools of scikit-learn around our estimators."""

import copy
import pickle
from threading import Thread

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import BaggingRegressor, StackingRegressor, VotingRegressor
from sklearn.exceptions import DataConversionWarning
from sklearn.feature_selection import RFE
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    TimeSeriesSplit,
    cross_val_predict,
    cross_val_score,
    learning_curve,
)
from sklearn.multiclass import OneVsOneClassifier
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sparseopt import estimators
from sparseopt.estimators import (
    L1SVC,
    BestSubset,
    DantzigSelector,
    LADLasso,
    LADLassoCV,
    QuantileLasso,
    RobustSubspace,
    SparseLDA,
    SparseLogisticRegression,
    SparsePCA,
    StabilitySelector,
)

diabetes = load_diabetes(as_frame=True, scaled=False)
X, y = diabetes.data.iloc[:80, :5], diabetes.target.iloc[:80]
tumours = load_breast_cancer(as_frame=True)
XT, yt = tumours.data.iloc[:120, :4], tumours.target.iloc[:120].map({0: "bad", 1: "good"})

NAMES = [
    name
    for name in estimators.__all__
    if hasattr(getattr(estimators, name), "fit") and not name.startswith("Private")
]
SMALLER = {
    "TwoSampleTest": {"selection": "none", "n_permutations": 19},
    "StabilitySelector": {"pairs": 2},
    "SufficientSubspace": {"n_components": 1},
}
FIXED = {
    "CLIME": {"lam": 0.4},
    "SparseLDA": {"lam": 0.4},
    "DifferentialNetwork": {"lam": 0.4},
    "BasisPursuit": {"lam": 200.0},
    "BestSubset": {"size": 2},
    "GaussianGraphL0": {"budget": 2},
    "IsingGraphL0": {"budget": 2},
}
"""A value of the parameter that a rule chooses otherwise; of other estimators lam is 5."""


def small(name):
    cls = getattr(estimators, name)
    folds = {"cv": 3} if "cv" in cls().get_params() else {}
    return cls(**folds | SMALLER.get(name, {}))


def target(name):
    model = small(name)
    tags = model.__sklearn_tags__()
    return y if tags.classifier_tags is None else np.where(y > 150.0, "ill", "well")


def same(one, other):
    arrays = {k: v for k, v in vars(one).items() if isinstance(v, np.ndarray)}
    assert arrays
    for name, value in arrays.items():
        np.testing.assert_array_equal(getattr(other, name), value)


@pytest.mark.thorough(after=3)
@pytest.mark.parametrize("name", NAMES)
def test_a_second_fit_leaves_nothing_of_the_first(name):
    model = small(name)
    parameters = model.get_params()
    if "rule" in parameters and name != "CLIME":
        model.set_params(rule="cv")
    model.fit(X, target(name))
    given = FIXED.get(name, {"lam": 5.0} if "lam" in parameters else {})
    model.set_params(**given).fit(X.to_numpy()[:, :3], target(name))
    fresh = clone(model).fit(X.to_numpy()[:, :3], target(name))
    assert set(vars(model)) == set(vars(fresh))
    same(fresh, model)


@pytest.mark.thorough(after=16)
@pytest.mark.parametrize("name", NAMES)
def test_a_fitted_estimator_is_copied_whole(name):
    model = small(name).fit(X, target(name))
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        same(model, other)
        assert repr(other) == repr(model)


@pytest.mark.parametrize("name", NAMES)
def test_targets_of_a_wrong_shape(name):
    response = np.asarray(target(name))
    if not small(name).__sklearn_tags__().target_tags.required or name == "MatrixDantzig":
        return
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        small(name).fit(X, response[:, None])
    with pytest.raises(ValueError, match=r"1d array|multioutput|multi-output"):
        small(name).fit(X, np.column_stack([response, response]))


def test_coefficients_have_names_where_there_are_coefficients():
    for name in NAMES:
        model = small(name)
        if hasattr(model, "predict") and hasattr(model.fit(X, target(name)), "coef_"):
            assert list(model.coefficients_) == [*X.columns, "intercept"]
        assert hasattr(model, "coefficients_") == (hasattr(model, "predict"))


@pytest.mark.parametrize("name", ["LADLasso", "SparseLogisticRegression", "BestSubset"])
def test_a_column_called_intercept_is_not_the_intercept(name):
    columns = {X.columns[0]: "intercept", X.columns[1]: "(intercept)"}
    model = small(name).fit(X.rename(columns=columns), target(name))
    table = model.coefficients_
    assert list(table)[:2] == ["intercept", "(intercept)"] and list(table)[-1] == "((intercept))"
    assert table["intercept"] == model.coef_.flat[0]
    assert table["((intercept))"] == model.intercept_
    assert "((intercept))" in str(table) and "((intercept))" not in table.short()
    named = getattr(model.result_.problem, "coefficient_names", list(table))
    assert len(set(named)) == len(named)


def parts(model):
    return [(type(one).__name__, one) for one in model]


WRAPPED = {
    "grid over lam": GridSearchCV(LADLasso(), {"lam": [1.0, 10.0, 1e5]}, cv=3),
    "grid over rules": GridSearchCV(LADLasso(cv=3), {"rule": ["cv", "bic"]}, cv=3),
    "pipeline": make_pipeline(StandardScaler(), DantzigSelector()),
    "grid over a pipeline": GridSearchCV(
        make_pipeline(SparsePCA(), LinearRegression()), {"sparsepca__n_nonzeros": [2, 3]}, cv=3
    ),
    "selected, then fitted": make_pipeline(
        StandardScaler(), StabilitySelector(pairs=2, threshold=0.6), LinearRegression()
    ).set_output(transform="pandas"),
    "one-hot columns": make_pipeline(OneHotEncoder(handle_unknown="ignore"), LADLasso()),
    "voting": VotingRegressor(parts([LADLasso(), BestSubset(), LinearRegression()])),
    "stacking": StackingRegressor(parts([LADLasso(), QuantileLasso(quantile=0.9)]), cv=3),
    "bagging": BaggingRegressor(LADLasso(), n_estimators=2, random_state=0),
    "logarithm of the target": TransformedTargetRegressor(
        LADLasso(), func=np.log, inverse_func=np.exp
    ),
    "elimination": RFE(LADLasso(lam=10.0), n_features_to_select=2),
}


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("name", WRAPPED)
def test_regressions_inside_tools(name):
    fitted = clone(WRAPPED[name]).fit(X, y)
    assert np.isfinite(fitted.predict(X)).all()
    assert fitted.score(X, y) > -1.0


CLASSIFIERS = [L1SVC(lam=1.0), SparseLDA(lam=0.1), SparseLogisticRegression(k=2)]


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
def test_classifiers_inside_tools(model):
    probable = CalibratedClassifierCV(model, cv=3).fit(XT, yt).predict_proba(XT)
    np.testing.assert_allclose(probable.sum(axis=1), 1.0)
    assert cross_val_score(model, XT, yt, scoring="roc_auc", cv=3).min() > 0.8
    margins = cross_val_predict(model, XT, yt, cv=3, method="decision_function")
    assert margins.shape == (len(XT),)
    data, classes = load_wine(return_X_y=True)
    three = OneVsOneClassifier(model).fit(data[:, :7], classes)
    assert three.score(data[:, :7], classes) > 0.8


def test_inspection_of_a_model():
    model = LADLasso().fit(X, y)
    importance = permutation_importance(model, X, y, n_repeats=2, random_state=0).importances_mean
    assert not importance[model.coef_ == 0.0].any()
    line = partial_dependence(model, X, [2], grid_resolution=5)
    slopes = np.diff(line["average"][0]) / np.diff(line["grid_values"][0])
    np.testing.assert_allclose(slopes, model.coef_[2], rtol=1e-9)


@pytest.mark.thorough
def test_scores_of_parts_of_the_data():
    sizes, _, scores = learning_curve(LADLasso(), X, y, cv=3, train_sizes=[0.5, 1.0])
    whole = cross_val_score(LADLasso(), X, y, cv=3)
    assert sizes[-1] == 53  # all that the first two folds train on
    np.testing.assert_array_equal(scores[-1, :2], whole[:2])
    for splitter, groups in ((TimeSeriesSplit(3), None), (GroupKFold(3), np.arange(80) // 10)):
        model = LADLassoCV(cv=splitter).fit(X, y, groups=groups)
        listed = LADLassoCV(cv=list(splitter.split(X, y, groups))).fit(X, y)
        assert model.lam_ == listed.lam_


@pytest.mark.thorough
def test_scores_in_two_processes_are_the_same():
    one, two = (cross_val_score(LADLasso(), X, y, cv=3, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_components_of_some_columns_keep_their_names():
    columns = ColumnTransformer(
        [
            ("sparse", SparsePCA(n_nonzeros=2), ["bmi", "bp", "s1"]),
            ("robust", RobustSubspace(), ["bmi", "bp", "s1"]),
            ("rest", "passthrough", ["age", "sex"]),
        ]
    ).set_output(transform="pandas")
    found = columns.fit_transform(X)
    expected = ["sparse__sparsepca0", "robust__robustsubspace0", "rest__age", "rest__sex"]
    assert list(found.columns) == expected


def test_several_responses_one_by_one():
    both = MultiOutputRegressor(LADLasso(lam=10.0)).fit(X, np.column_stack([y, -y]))
    one, other = (each.coef_ for each in both.estimators_)
    np.testing.assert_allclose(one, -other, atol=1e-9)


def test_fits_in_threads_are_those_of_one():
    found = {}
    expected = LADLasso().fit(X, y).coef_

    def fit(k):
        found[k] = LADLasso().fit(X, y).coef_

    threads = [Thread(target=fit, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    for coef in found.values():
        np.testing.assert_array_equal(coef, expected)


def test_what_was_chosen_is_a_card_with_a_picture_and_ten_lines():
    lad, subset = LADLasso().fit(X, y), BestSubset().fit(X, y)
    for shown in (lad.result_, lad.selection_, subset.result_, subset.selection_):
        assert len(repr(shown).splitlines()) == 1
        assert len(str(shown).splitlines()) <= 10
        card = shown._repr_html_()
        assert "<svg" in card
        assert "<details" in card
        assert card.index("verdict") < card.index("<svg") < card.index("<details")
