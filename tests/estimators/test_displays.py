"""Pictures of fitted estimators."""

import json
import re

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from matplotlib.figure import Figure
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sparseopt
from sparseopt.errors import ParamError
from sparseopt.estimators import (
    CLIME,
    L1SVC,
    BestSubset,
    ComponentsDisplay,
    CrossValidationDisplay,
    DantzigSelectorCV,
    GaussianGraphL0,
    GraphDisplay,
    LADLasso,
    NeighbourhoodGraph,
    PathDisplay,
    PrivateSynthesizer,
    QuantileLasso,
    QuantileProcess,
    RobustSubspace,
    SparseLDA,
    SparseLogisticRegression,
    SparsePCA,
    SparseRegression,
    TwoSampleSelector,
)

mpl.use("Agg")
DATA = load_wine(as_frame=True).data
X, Y = DATA.drop(columns="alcohol"), DATA["alcohol"]


def test_a_path_with_the_chosen_lam():
    model = DantzigSelectorCV().fit(X, Y)
    shown = PathDisplay.from_estimator(model)
    for ax in (shown.ax_, sparseopt.plot(model)):
        assert any(np.allclose(line.get_xdata(), model.lam_) for line in ax.lines)
    curve = CrossValidationDisplay.from_estimator(model)
    assert curve.figure_ is curve.ax_.figure
    with pytest.raises(ParamError, match="holds nothing that a rule compared"):
        CrossValidationDisplay.from_estimator(model.at(10.0))


@pytest.mark.parametrize("model", [CLIME(lam=0.3), GaussianGraphL0(budget=12)])
def test_a_graph_with_names(model):
    model.fit(DATA)
    shown = GraphDisplay.from_estimator(model)
    assert [text.get_text() for text in shown.ax_.texts] == list(DATA.columns)
    edges = np.count_nonzero(np.triu(shown.weights, 1))
    assert len(shown.ax_.lines) == edges + 1 and edges > 0


def test_components_with_the_names_they_use():
    model = SparsePCA(n_components=2, n_nonzeros=3).fit(DATA)
    shown = ComponentsDisplay.from_estimator(model)
    used = (model.components_ != 0.0).any(axis=0)
    labels = [label.get_text() for label in shown.ax_.get_yticklabels()]
    assert labels == list(DATA.columns[used])


@pytest.mark.parametrize(
    ("model", "place", "label"),
    [
        (QuantileProcess(quantile=0.3), 0.3, "level"),
        (QuantileProcess(quantile=0.75, lam=5.0), 3.0, "odds of the level"),
        (QuantileLasso(quantile=0.3, lam=2.0), 2.0, None),
        (BestSubset(size=3), 3, "number of variables"),
    ],
)
def test_the_line_is_where_the_estimator_is(model, place, label):
    model.fit(X[["malic_acid", "ash", "hue", "proline"]][::4], Y[::4])
    ax = PathDisplay.from_estimator(model).ax_
    assert any(np.allclose(line.get_xdata(), place) for line in ax.lines)
    assert label is None or ax.get_xlabel() == label


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("model", [GaussianGraphL0(budget=20), NeighbourhoodGraph(k=2)])
def test_units_do_not_decide_how_wide_an_edge_is(model):
    weights = GraphDisplay.from_estimator(model.fit(DATA)).weights
    other = GraphDisplay.from_estimator(model.fit(DATA * np.geomspace(1e-3, 1e3, 13))).weights
    np.testing.assert_allclose(weights, other, atol=1e-9)
    np.testing.assert_allclose(weights, weights.T, atol=1e-14)
    assert 0.1 < np.abs(weights).max() < 2.0


def test_a_graph_of_one_edge_that_one_end_chose_is_its_correlation():
    model = GaussianGraphL0(budget=1).fit(DATA)
    (i, j), *_ = np.argwhere(model.coef_.toarray())
    weights = GraphDisplay.from_estimator(model).weights
    assert weights[i, j] == pytest.approx(np.corrcoef(DATA.T)[i, j], abs=1e-9)


def test_a_graph_without_edges_says_so():
    shown = GraphDisplay.from_estimator(GaussianGraphL0(budget=0).fit(DATA))
    assert shown.ax_.get_title() == "no edges"


def test_names_of_components_have_room():
    shown = ComponentsDisplay.from_estimator(SparsePCA(n_components=2).fit(DATA))
    shown.figure_.canvas.draw()
    left = min(label.get_window_extent().x0 for label in shown.ax_.get_yticklabels())
    bars, legend = shown.ax_.get_window_extent(), shown.ax_.get_legend().get_window_extent()
    assert left >= 0.0 and not bars.overlaps(legend.shrunk(0.98, 0.98))


def test_what_has_no_such_picture_is_an_error_in_words():
    model = RobustSubspace(n_components=2).fit(DATA)
    with pytest.raises(ParamError, match="RobustSubspace has no sparse components"):
        ComponentsDisplay.from_estimator(model)
    discriminant = SparseLDA(lam=0.1).fit(X, Y.mean() < Y)
    with pytest.raises(ParamError, match="this SparseLDA holds nothing that a rule compared"):
        CrossValidationDisplay.from_estimator(discriminant)
    theory = LADLasso(rule="theory").fit(X, Y)
    for draw in (lambda: CrossValidationDisplay.from_estimator(theory), theory.selection_.plot):
        with pytest.raises(ParamError, match="'theory' compares nothing: plot the path"):
            draw()
    chosen = SparseLDA(cv=2).fit(X, Y.mean() < Y)
    assert CrossValidationDisplay.from_estimator(chosen).shown is chosen.selection_
    with pytest.raises(ParamError, match="a NeighbourhoodGraph has no path"):
        PathDisplay.from_estimator(NeighbourhoodGraph(k=1).fit(DATA))
    for other in (theory, model, chosen):
        with pytest.raises(ParamError, match=f"a {type(other).__name__} has no graph to draw"):
            GraphDisplay.from_estimator(other)


def test_a_fitted_estimator_without_a_picture_is_not_called_unfitted():
    model = PrivateSynthesizer(bounds={"age": (0, 100)}, delta=1e-3, atoms=16)
    model.fit({"age": np.array([23.0, 41.0, 57.0])})
    with pytest.raises(ParamError, match="no picture of a PrivateSynthesizer; draw a result"):
        sparseopt.plot(model)


def test_a_pipeline_is_drawn_by_its_last_step():
    fitted = make_pipeline(StandardScaler(), LADLasso(lam=1.0)).fit(X, Y)
    with pytest.raises(ParamError, match=r"several steps: draw its last one, pipeline\[-1\]"):
        sparseopt.plot(fitted)
    assert sparseopt.plot(fitted[-1]) is not None


@pytest.mark.parametrize(
    "model",
    [
        SparsePCA(n_nonzeros=3),
        SparseRegression(k=2),
        SparseLogisticRegression(k=2),
        NeighbourhoodGraph(k=2),
        TwoSampleSelector(n_variables=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_plot_takes_fitted_estimators_without_a_path(model):
    with pytest.raises(ParamError, match="that is not fitted: call fit first"):
        sparseopt.plot(model)
    names = list("abcdefgh")
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 8)), columns=names)
    axes = Figure().add_subplot()
    ax = sparseopt.plot(model.fit(X, (X["a"] + X["c"] > 0.0).astype(int)), axes)
    shown = {text.get_text() for text in [*ax.texts, *ax.get_yticklabels()]}
    assert len(shown & set(names)) >= 2


@pytest.mark.thorough
def test_plot_takes_a_fitted_estimator_and_a_network_s_selection():
    model = CLIME(rule="bic").fit(DATA)
    assert sparseopt.plot(model).get_ylabel() == "entry off the diagonal"
    ax = sparseopt.plot(model.selection_)
    assert ax.get_ylabel() == "BIC"
    assert any(np.allclose(line.get_xdata(), model.lam_) for line in ax.lines)


@pytest.mark.thorough(after=3)
@pytest.mark.parametrize(
    "model",
    [
        DantzigSelectorCV(cv=3),
        LADLasso(lam=5.0),
        QuantileLasso(fit_intercept=False, lam=5.0),
        QuantileProcess(),
        L1SVC(lam=2.0),
        SparseLDA(lam=0.1),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("make", [lambda X: X, sp.csr_array], ids=["dense", "sparse"])
def test_the_slider_s_page_has_the_coefficients_and_the_intercept_of_at(model, make, tmp_path):
    data, target = X.to_numpy(), np.asarray(Y)
    if isinstance(model, L1SVC | SparseLDA):
        target = target > np.median(target)
    model = clone(model).fit(make(data), target)
    sparseopt.plot(model, file=tmp_path / "path.html")
    text = (tmp_path / "path.html").read_text()
    shown = json.loads(re.search(r'id="data">(.*?)</script>', text)[1])
    assert shown["hidden"] == ([len(data[0])] if model.fit_intercept else [])
    for s in range(0, len(shown["low"]), max(1, len(shown["low"]) // 5)):
        low, high = shown["low"][s], shown["high"][s]
        value = low + 0.3 * (low if high is None else high - low)
        found = np.zeros(len(shown["names"]))
        for k in range(shown["ptr"][s], shown["ptr"][s + 1]):
            found[shown["index"][k]] += shown["value"][k] + (value - low) * shown["rate"][k]
        there = model.at(value)
        expected = np.append(there.coef_, there.intercept_)[: len(found)]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
