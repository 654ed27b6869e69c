"""Pictures of fitted estimators."""

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import load_wine

from sparseopt.errors import ParamError
from sparseopt.estimators import (
    CLIME,
    ComponentsDisplay,
    CrossValidationDisplay,
    DantzigSelectorCV,
    GaussianGraphL0,
    GraphDisplay,
    PathDisplay,
    SparsePCA,
)

mpl.use("Agg")
DATA = load_wine(as_frame=True).data
X, Y = DATA.drop(columns="alcohol"), DATA["alcohol"]


def test_a_path_with_the_chosen_lam():
    model = DantzigSelectorCV().fit(X, Y)
    shown = PathDisplay.from_estimator(model)
    assert any(np.allclose(line.get_xdata(), model.lam_) for line in shown.ax_.lines)
    curve = CrossValidationDisplay.from_estimator(model)
    assert curve.figure_ is curve.ax_.figure
    with pytest.raises(ParamError, match="no rule chose"):
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
