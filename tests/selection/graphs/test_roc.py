"""ROC curves: every budget against the graphs themselves."""

import numpy as np
import pytest
import scipy.sparse as sp

import sparseopt
from sparseopt.errors import ParamError
from sparseopt.generators import graph_sample, sensor_field_sample
from sparseopt.problems import L0GraphicalModel
from sparseopt.selection.graphs.roc import roc


@pytest.fixture(scope="module")
def sample():
    return sensor_field_sample(n=40, d=40, around=6.0, seed=2)


@pytest.fixture(scope="module")
def path(sample):
    return sparseopt.solve(sample.model, check=False).path


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("rule", ["or", "and"])
@pytest.mark.parametrize("pairs", ["candidates", "all"])
def test_the_rates_are_those_of_every_graph(sample, path, rule, pairs):
    found = roc(path, sample.graph, rule, pairs)
    truth = sample.graph.toarray()
    adjacency = sample.model.candidates.adjacency().toarray() != 0
    allowed = adjacency | adjacency.T if pairs == "candidates" else np.ones((40, 40), dtype=bool)
    np.fill_diagonal(allowed, False)
    for place, K in enumerate(path.budgets):
        graph = path.graph(K, rule).toarray()
        assert found.true_edges[place] == (graph & truth).sum() // 2
        assert found.false_edges[place] == (graph & ~truth).sum() // 2
    np.testing.assert_allclose(found.tpr, found.true_edges / (truth.sum() / 2))
    np.testing.assert_allclose(found.fpr, found.false_edges / ((allowed & ~truth).sum() / 2))


def test_one_sided_candidates_and_edges_that_are_none():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    mask = np.zeros((4, 4), dtype=bool)
    mask[0, 1] = mask[2, 1] = mask[1, 2] = True
    path = sparseopt.solve(L0GraphicalModel(X, mask), check=False).path
    truth = np.zeros((4, 4), dtype=bool)
    truth[0, 1] = truth[1, 0] = truth[0, 3] = truth[3, 0] = True
    either, both = roc(path, truth), roc(path, truth, "and")
    assert (either.positives, either.negatives) == (2, 1)
    assert (either.true_edges[-1], either.false_edges[-1]) == (1, 1)
    assert (both.true_edges[-1], both.false_edges[-1]) == (0, 1)


def test_interpolation_and_area(sample, path):
    found = roc(path, sample.graph)
    assert found.at(np.array([0.0]))[0] == found.tpr[found.fpr == 0.0].max()
    np.testing.assert_allclose(
        found.at(found.fpr[-1:]), found.tpr[found.fpr == found.fpr[-1]].max()
    )
    assert 0.5 < found.area() <= 1.0
    perfect = graph_sample("band", n=2000, d=20, d0=6, rho=0.3)
    easy = roc(sparseopt.solve(perfect.model, check=False).path, perfect.graph)
    assert easy.f1.max() == 1.0
    assert easy.area() == pytest.approx(1.0)


def test_the_tables_and_the_pictures(sample, path):
    pytest.importorskip("matplotlib", reason="needs matplotlib")
    pytest.importorskip("pandas", reason="needs pandas")
    from matplotlib.figure import Figure

    from sparseopt.pictures.graphs import plot_graph, plot_roc

    found = roc(path, sample.graph)
    assert found.to_frame().shape == (len(path), 5)
    ax = plot_roc({"l0": found, "pair": (np.array([0, 1]), np.array([0, 1]))}, Figure().subplots())
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["l0", "pair"]
    coordinates = sample.model.candidates.coordinates
    ax = plot_graph(path.graph(60), coordinates, Figure().subplots(), truth=sample.graph)
    counts = [int(t.get_text().split("(")[1][:-1]) for t in ax.get_legend().get_texts()]
    assert counts == [
        found.true_edges[60],
        found.false_edges[60],
        found.positives - found.true_edges[60],
    ]
    plot_graph(path.graph(60), None, Figure().subplots())
    with pytest.raises(ParamError, match="coordinates"):
        plot_graph(path.graph(60), coordinates[:3], Figure().subplots())


def test_what_is_no_truth(path):
    with pytest.raises(ParamError, match="shape"):
        roc(path, np.eye(3))
    with pytest.raises(ParamError, match="symmetric"):
        roc(path, sp.csr_array(([1.0], ([0], [1])), shape=(40, 40)))
    with pytest.raises(ParamError, match="rule"):
        roc(path, np.zeros((40, 40)), rule="xor")
    with pytest.raises(ParamError, match="pairs"):
        roc(path, np.zeros((40, 40)), pairs="some")
