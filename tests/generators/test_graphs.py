"""The designs of the SPICA paper: what their graphs and samples are."""

import numpy as np
import pytest

from sparseopt import ParamError, generators
from sparseopt.generators import graph_sample, ising_lattice_sample, sensor_field_sample


@pytest.mark.parametrize(("design", "edges"), [("scale-free", 99), ("block", 240), ("band", 294)])
@pytest.mark.parametrize("rho", [0.3, 0.7])
def test_the_graphs_have_their_edges_within_the_candidates(design, edges, rho):
    sample = graph_sample(design, n=20, d=100, rho=rho)
    graph = sample.graph.toarray()
    assert graph.sum() == 2 * edges
    assert not (graph & ~sample.model.candidates.adjacency().toarray().astype(bool)).any()
    precision = sample.interaction.toarray()
    np.testing.assert_array_equal(precision, precision.T)
    assert np.linalg.eigvalsh(precision).min() > 0.0


@pytest.mark.parametrize("design", ["scale-free", "block", "band"])
def test_the_matrix_is_that_of_equation_51(design):
    precision = graph_sample(design, n=50, d=60, rho=0.5).interaction.toarray()
    scale = np.where(np.arange(60) < 30, 1.0, 3.0)
    inner = precision / scale / scale[:, None]
    A = inner - np.diag(np.diag(inner))
    assert set(np.unique(A.round(12))) == {0.0, 0.5}
    np.testing.assert_allclose(np.diag(inner), abs(np.linalg.eigvalsh(A).min()) + 0.2)


def test_the_samples_have_the_inverse_of_the_precision_as_covariance():
    sample = graph_sample("band", n=60_000, d=12, rho=0.5, d0=4)
    covariance = np.linalg.inv(sample.interaction.toarray())
    X = sample.model.X
    error = X.T @ X / len(X) - covariance
    spread = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)) * 2.0 / len(X))
    assert np.abs(error / spread).max() < 5.0


def test_the_true_coefficients_are_those_of_the_conditional_means():
    sample = graph_sample("block", n=50, d=20)
    covariance = np.linalg.inv(sample.interaction.toarray())
    for j in (0, 7, 15):
        others = np.delete(np.arange(20), j)
        beta = np.linalg.solve(covariance[np.ix_(others, others)], covariance[others, j])
        np.testing.assert_allclose(sample.coefficients.toarray()[j, others], beta, atol=1e-12)


def test_scale_free_edges_join_one_of_the_nodes_within_half_the_window():
    graph = np.triu(graph_sample("scale-free", n=50, d=300).graph.toarray())
    older, newer = np.nonzero(graph)
    assert sorted(newer) == list(range(1, 300))
    assert (newer - older).max() <= 5
    assert graph.sum(axis=1).max() > 3


def test_the_sensor_field_has_the_density_of_the_paper():
    sample = sensor_field_sample(n=60, d=1500)
    sizes = sample.model.candidates.sizes
    assert 19.0 < sizes.mean() < 24.0
    assert sample.model.candidates.coordinates.shape == (1500, 2)
    share = sample.graph.sum() / sample.model.total
    assert 0.17 < share < 0.23


def test_ising_spins_follow_their_conditional_odds():
    sample = ising_lattice_sample(n=4000, rows=4, columns=4, rho=0.8, sweeps=60)
    X = np.asarray(sample.model.X, dtype=float)
    assert set(np.unique(X)) == {-1.0, 1.0}
    field = X @ sample.interaction.toarray()
    for j in (0, 5, 10):
        expected = 1.0 / (1.0 + np.exp(-field[:, j]))
        gap = (X[:, j] > 0) - expected
        assert abs(gap.mean()) < 5.0 * np.sqrt((expected * (1 - expected)).mean() / 4000)
        assert abs((gap * np.sign(field[:, j])).mean()) < 5.0 * 0.5 / np.sqrt(4000)


def test_unknown_designs_and_bad_settings_are_refused():
    with pytest.raises(ParamError, match="'band'"):
        graph_sample("ring")
    with pytest.raises(ParamError, match="share"):
        generators.generate("sensor-field", share=2.0)
    with pytest.raises(ParamError, match="at least 1"):
        generators.generate("band-graph", n=0)
