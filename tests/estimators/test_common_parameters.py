"""Parameters and forms of data that the estimators have in common."""

import ast
import inspect
import io
import sys
import tokenize
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparseopt import estimators
from sparseopt.errors import BackendNotFound, ParamError, SparseOptError
from sparseopt.estimators import (
    L1SVC,
    BasisPursuit,
    BestSubset,
    DantzigSelector,
    DifferentialNetwork,
    GaussianGraphL0,
    LADLasso,
    LADLassoCV,
    MomentSubspace,
    NeighbourhoodGraph,
    QuantileLasso,
    QuantileProcess,
    RobustSubspace,
    SparseLDA,
    SparseLogisticRegression,
    SparsePCA,
    SparseRegression,
    StabilitySelector,
    SufficientSubspace,
    TwoSampleSelector,
    TwoSampleTest,
)
from sparseopt.estimators.common.base import PathRegressor
from sparseopt.estimators.common.columns import as_dense

X, y = load_diabetes(return_X_y=True, scaled=False)
X, y = X[:80, :5], y[:80]
CLASSES = y > 150.0


@pytest.mark.parametrize(
    ("make", "target"),
    [
        (LADLasso, y),
        (SparseLDA, CLASSES),
        (StabilitySelector, y),
        (GaussianGraphL0, None),
        (NeighbourhoodGraph, None),
    ],
)
def test_no_work_at_a_time_is_refused_as_by_joblib(make, target):
    with pytest.raises(ValueError, match=r"The 'n_jobs' parameter of .* Got 0 instead"):
        make(n_jobs=0).fit(X, target)


@pytest.mark.thorough
def test_parallel_folds_and_halves_are_the_serial_ones():
    from joblib import parallel_config

    with parallel_config(backend="threading"):
        for make, answer, target in (
            (lambda **jobs: LADLassoCV(cv=3, **jobs), "cv_results_", y),
            (lambda **jobs: SparseLDA(cv=3, **jobs), "coef_", CLASSES),
            (lambda **jobs: StabilitySelector(pairs=2, **jobs), "frequency_", y),
            (lambda **jobs: GaussianGraphL0(rule="cv", candidates=2, **jobs), "budget_", None),
        ):
            one, two = (getattr(make(n_jobs=n).fit(X, target), answer) for n in (1, 2))
            for part in one if isinstance(one, dict) else [None]:
                assert np.array_equal(*((r[part] if part else r) for r in (one, two)))


@pytest.mark.thorough
def test_folds_in_other_processes_are_the_same():
    one, two = (LADLassoCV(cv=3, n_jobs=n).fit(X, y).cv_results_ for n in (1, 2))
    assert all(np.array_equal(one[name], two[name]) for name in one)


@pytest.mark.parametrize("name", estimators.__all__)
def test_constructors_take_keywords(name):
    parameters = list(inspect.signature(getattr(estimators, name)).parameters.values())
    if name == "StabilitySelector":  # as scikit-learn's meta-estimators
        assert parameters.pop(0).name == "estimator"
    elif name.endswith("Display"):
        return
    assert {each.kind for each in parameters} == {inspect.Parameter.KEYWORD_ONLY}


def test_n_jobs_of_zero_is_refused():
    with pytest.raises(ValueError, match="n_jobs"):
        LADLassoCV(n_jobs=0).fit(X, y)


THINNED = np.where(np.abs(X - X.mean(axis=0)) > 0.5 * X.std(axis=0), X, 0.0)
SPARSE = {
    "least absolute deviations": (LADLasso(lam=50.0), y),
    "by folds": (LADLasso(rule="cv", cv=3), y),
    "by theory": (LADLasso(rule="theory"), y),
    "refitted": (DantzigSelector(rule="ebic", refit=True), y),
    "theory of the Dantzig selector": (DantzigSelector(rule="theory"), y),
    "no intercept": (DantzigSelector(rule="cv", cv=3, fit_intercept=False), y),
    "a quantile": (QuantileLasso(quantile=0.3, rule="bic"), y),
    "every quantile": (QuantileProcess(lam=20.0), y),
    "residual bounds": (BasisPursuit(rule="bic"), y),
    "hinge": (L1SVC(lam=5.0), CLASSES),
    "hinge by theory": (L1SVC(rule="theory"), CLASSES),
    "discriminant": (SparseLDA(lam=0.1), CLASSES),
    "difference of networks": (DifferentialNetwork(lam=0.1), CLASSES),
    "logistic": (SparseLogisticRegression(k=2), CLASSES),
}


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("name", SPARSE)
def test_sparse_data_give_the_dense_model(name):
    model, target = SPARSE[name]
    weights = {"sample_weight": np.arange(len(y)) % 3.0} if name == "by folds" else {}
    dense = clone(model).fit(THINNED, target, **weights)
    fitted = "difference_" if "network" in name else "coef_"
    for make in (sp.csr_array, sp.csc_matrix):
        kept = clone(model).fit(make(THINNED), target, **weights)
        found, expected = getattr(kept, fitted), getattr(dense, fitted)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
        assert kept.verdict_ == "verified"
        if hasattr(kept, "predict"):
            np.testing.assert_allclose(kept.predict(make(THINNED)), dense.predict(THINNED), 1e-9)


def test_folds_of_a_discriminant_of_sparse_data_err_as_dense_ones():
    dense, kept = (SparseLDA(cv=3).fit(data, CLASSES) for data in (THINNED, sp.csr_array(THINNED)))
    lams = np.linspace(0.05, 0.4, 101)
    np.testing.assert_allclose(kept.curve_(lams), dense.curve_(lams), atol=1e-12)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(
    "model",
    [
        LADLasso(rule="ebic"),
        LADLasso(rule="theory"),
        DantzigSelector(rule="cv", cv=3, refit=True),
        DantzigSelector(rule="theory", fit_intercept=False),
        QuantileLasso(lam=40.0),
        BasisPursuit(lam=2.0),
        L1SVC(rule="cv", cv=3),
        StabilitySelector(pairs=1),
    ],
    ids=repr,
)
def test_sparse_data_are_never_made_dense(model, monkeypatch):
    rng = np.random.default_rng(0)
    n, d = 60, 2000
    wide = sp.random_array((n, d), density=0.02, format="csr", rng=rng)
    wide.data[:] = rng.normal(size=wide.nnz)
    target = wide[:, :4].toarray() @ [9.0, -9.0, 9.0, 5.0] + rng.normal(size=n)
    if isinstance(model, L1SVC):
        target = np.where(target > 0.0, 1, -1)

    def small(plain):
        def toarray(self, *given, **named):
            # Engines and checkers take blocks, and have tests of their own.
            layer = sys._getframe(1).f_globals["__name__"].split(".")[1]
            blocks = layer in ("solvers", "checking", "problems")
            assert blocks or np.prod(self.shape) < 0.5 * n * d, f"{self.shape} was made dense"
            return plain(self, *given, **named)

        return toarray

    for form in (sp.csr_array, sp.csc_array, sp.coo_array):
        monkeypatch.setattr(form, "toarray", small(form.toarray))
    with pytest.raises(AssertionError, match="made dense"):
        as_dense(wide)
    clone(model).fit(wide, target)


@pytest.mark.thorough
def test_polars_in_and_out():
    pl = pytest.importorskip("polars")
    names = ["age", "sex", "bmi", "bp", "s1"]
    frame = pl.DataFrame(X, schema=names)
    model = LADLasso(lam=50.0).fit(frame, pl.Series(y))
    assert model.coefficients_.to_frame()["name"].tolist() == [*names, "intercept"]
    for transformer in (StabilitySelector(pairs=3), SparsePCA(n_components=1, n_nonzeros=2)):
        out = transformer.set_output(transform="polars").fit(frame, pl.Series(y)).transform(frame)
        assert isinstance(out, pl.DataFrame) and len(out) == len(X)


@pytest.mark.thorough
def test_sample_weights_are_routed():
    weights = np.arange(len(y)) % 3.0
    with sklearn.config_context(enable_metadata_routing=True):
        model = LADLasso(lam=50.0).set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=False)
        search = GridSearchCV(model, {"fit_intercept": [True]}, cv=3)
        search.fit(X, y, sample_weight=weights)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, LADLasso(lam=50.0).set_fit_request(sample_weight=True))
        pipeline.fit(X, y, sample_weight=weights)
    direct = LADLasso(lam=50.0).fit(X, y, sample_weight=weights)
    assert np.array_equal(search.best_estimator_.coef_, direct.coef_)
    scaled = LADLasso(lam=50.0).fit(StandardScaler().fit_transform(X), y, sample_weight=weights)
    assert np.array_equal(pipeline[-1].coef_, scaled.coef_)


def test_callbacks_see_each_fold():
    pytest.importorskip("sklearn.callback")
    seen = []

    class Recorder:
        def setup(self, estimator, context):
            seen.append("setup")

        def teardown(self, estimator, context):
            seen.append("teardown")

        def on_fit_task_begin(self, estimator, context):
            seen.append(("begin", context.task_name))

        def on_fit_task_end(self, estimator, context):
            seen.append(("end", context.task_name))

    LADLassoCV(cv=2).set_callbacks(Recorder()).fit(X, y)
    folds = [(when, f"fold {k} of 2") for k in (1, 2) for when in ("begin", "end")]
    assert seen == ["setup", ("begin", "fit"), *folds, ("end", "fit"), "teardown"]
    model = LADLasso(lam=50.0).set_callbacks(Recorder()).fit(X, y)
    assert not hasattr(model, "_callback_fit_ctx")


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(
    ("model", "target"),
    [
        (DantzigSelector(rule="aic"), y),
        (BestSubset(size=3), y),
        (L1SVC(lam=2.0), CLASSES),
        (SparseRegression(k=3), y),
        (SparseLogisticRegression(k=3), CLASSES),
    ],
)
def test_select_from_model_keeps_every_chosen_variable(model, target):
    kept = SelectFromModel(model).fit(X, target)
    coef = np.ravel(kept.estimator_.coef_)
    np.testing.assert_array_equal(kept.get_support(), coef != 0.0)
    assert kept.get_support().sum() > (np.abs(coef) >= np.abs(coef).mean()).sum()


def test_too_many_columns_for_all_subsets_name_another_estimator():
    wide = np.random.default_rng(0).normal(size=(100, 63))
    with pytest.raises(ValueError, match=r"63 columns that vary; .* at most 62: SparseRegression"):
        BestSubset().fit(wide, wide[:, 0] + wide[:, 1])


@pytest.mark.parametrize(
    ("make", "name", "most", "target"),
    [
        (SparseRegression, "k", 2, y),
        (SparseLogisticRegression, "k", 2, CLASSES),
        (NeighbourhoodGraph, "k", 1, None),
        (SparsePCA, "n_nonzeros", 2, None),
        (BestSubset, "size", 2, y),
        (TwoSampleSelector, "n_variables", 2, CLASSES),
        (TwoSampleTest, "n_variables", 2, CLASSES),
        (lambda **size: SufficientSubspace(n_components="cv", **size), "max_components", 1, y),
    ],
)
def test_a_number_beyond_the_columns_is_refused_and_a_default_is_cut_down(make, name, most, target):
    few = X[:, 2:4]
    make().fit(few, target)
    make(**{name: most}).fit(few, target)
    says = f"{name} is {most + 5}; expected at most {most}: X has 2 columns"
    with pytest.raises(ParamError, match=says):
        make(**{name: most + 5}).fit(few, target)


def test_errors_say_what_to_do():
    with pytest.raises(SparseOptError, match="ended by the limit 'time' before there was an ans"):
        LADLasso(time_limit=1e-9).fit(X, y)
    with pytest.raises(BackendNotFound, match=r"'homotpy'; did you mean homotopy\?"):
        LADLasso(backend="homotpy").fit(X, y)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: SparsePCA(n_components=3, n_nonzeros=[3, 4]).fit(X), r"a list of 3, one for each"),
        (
            lambda: SparsePCA(n_components=2, n_nonzeros=[3, 2.7]).fit(X),
            r"\[3, 2.7\]; expected a w",
        ),
        (
            lambda: SparsePCA(n_components=2, n_nonzeros=["a", "b"]).fit(X),
            "expected a whole number",
        ),
        (lambda: SparsePCA(n_components=2, n_nonzeros=[6, 2]).fit(X), "expected at most 5: X has"),
        (lambda: SparsePCA(n_components=2, n_nonzeros=[3, 0]).fit(X), "whole number of 1 or more"),
        (lambda: MomentSubspace(weights=[0, np.nan]).fit(X), "weights.* is nan; expected finite"),
        (lambda: MomentSubspace(weights=[[0, 1]]).fit(X), r"weights has shape \(1, 2\)"),
        (lambda: MomentSubspace(weights=["a"]).fit(X), "weights"),
        (lambda: BestSubset().fit(X, y).at(2.5), "size is 2.5; expected a whole number from 0 to"),
        (lambda: BestSubset().fit(X, y).at("a"), "size is 'a'; expected a whole number from 0 to"),
        (lambda: GaussianGraphL0().fit(X).at(2.5), "budget is 2.5; expected a whole number from"),
        (lambda: QuantileProcess().fit(X, y).predict_quantiles(X, 0.5), "0.5; expected a list of"),
        (lambda: QuantileProcess().fit(X, y).predict_quantiles(X, []), "expected a list of levels"),
        (lambda: QuantileProcess().fit(X, y).predict_quantiles(X, [0.5, 1]), "levels between 0"),
        (lambda: LADLassoCV(scoring="check").fit(X, y), "a LADLassoCV does not have; expected 'sq"),
        (
            lambda: LADLassoCV(scoring="neg_mean_pinball_loss").fit(X, y),
            "QuantileLasso has a level",
        ),
        (lambda: RobustSubspace().fit(X).inverse_transform(X), "columns; expected 1, the coord"),
    ],
)
def test_a_wrong_parameter_is_named_with_what_is_expected(call, says):
    with pytest.raises(ValueError, match=says):
        call()


def test_an_intercept_is_neither_counted_nor_listed():
    model = LADLasso(rule="bic").fit(X, y)
    assert model.selection_.nonzeros == np.count_nonzero(model.coef_)
    assert "intercept" not in str(model.selection_) + str(model.result_)
    assert "intercept" in str(model.coefficients_)


def test_all_quantiles_begin_with_a_loss_of_nothing():
    result = QuantileProcess().fit(X, y).result_
    assert result.gap == 0.0 and str(result.verdict) == "verified"


def lines_of_code(source):
    """Count the lines that have a token of code: no docstrings, comments or blank lines."""
    nothing = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in nothing and token.type != tokenize.ENDMARKER:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str):
            lines.difference_update(range(node.lineno, node.end_lineno + 1))
    return len(lines)


def test_an_estimator_is_a_file_of_under_80_lines_of_code():
    assert lines_of_code('"""Words."""\n\n# more\nx = [\n    1,\n]\n"""Of x."""\n') == 3
    modules = {getattr(estimators, name).__module__ for name in estimators.__all__}
    files = {Path(sys.modules[name].__file__) for name in modules}
    long = {f.name: lines_of_code(f.read_text(encoding="utf-8")) for f in files}
    assert {name for name, count in long.items() if count >= 80} == {"displays.py"}


def test_an_estimator_that_poses_no_problem_says_so():
    class Empty(PathRegressor):
        pass

    with pytest.raises(NotImplementedError, match="Empty must define _problem"):
        Empty().fit(np.eye(3), [1.0, 2.0, 3.0])
