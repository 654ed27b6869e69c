"""The four synthetic cases: their distributions, and their selections proven optimal."""

import numpy as np
import pytest
from thorough import first

import sparseopt
from sparseopt import Status, Verdict, generators
from sparseopt.errors import ParamError

TABLE_1 = ["covariance-shift", "gaussian-laplace", "gaussian-mixture", "mean-shift"]


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("name", TABLE_1)
@pytest.mark.parametrize(("D", "d"), first(1, [(20, 5), (40, 10), (60, 6)]))
def test_table_1_is_proven(name, D, d):
    problem = generators.generate(name, seed=1, D=D, d=d)
    result = sparseopt.solve(problem, backend="strs-bnb")
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    assert result.gap <= 1e-9


def test_the_selected_variables_are_those_that_differ():
    problem = generators.generate("gaussian-mixture", D=20, d=2)
    result = sparseopt.solve(problem)
    assert np.flatnonzero(result.x).tolist() == [0, 1]


def covariance(sample):
    return sample.T @ sample / len(sample)


def test_the_covariances():
    """Within 6 standard errors, at most 2 sqrt(2 / n) for an entry."""
    n, D, d, rho, tau = 20_000, 6, 3, 0.6, 3.0
    place = np.arange(D)
    sigma = rho ** np.abs(place[:, None] - place)
    wide = sigma.copy()
    wide[:d, :d] *= tau
    near = 6.0 * tau * np.sqrt(2.0 / n)
    draw = generators.two_samples("covariance-shift", n=n, D=D, d=d, rho=rho, tau=tau)
    np.testing.assert_allclose(covariance(draw.x), sigma, atol=near)
    np.testing.assert_allclose(covariance(draw.y), wide, atol=near)
    shifted = generators.two_samples("mean-shift", n=n, D=D, d=d, rho=rho, tau=2.0)
    np.testing.assert_allclose(shifted.y.mean(axis=0), [2, 1, 2 / 3, 0, 0, 0], atol=6 / n**0.5)
    np.testing.assert_allclose(np.cov(shifted.y.T), sigma, atol=near)
    laplace = generators.two_samples("laplace", n=n, D=D, d=d)
    expected = np.diag([0.64] * d + [1.0] * (D - d))
    np.testing.assert_allclose(covariance(laplace.y), expected, atol=near)
    kurtosis = (laplace.y[:, 0] ** 4).mean() / 0.64**2
    assert 5.0 < kurtosis < 7.0
    mixture = generators.two_samples("mixture", n=n, D=D, d=d, tau=2.0)
    mean = np.array([2, 1, 2 / 3, 0, 0, 0])
    np.testing.assert_allclose(covariance(mixture.y), np.eye(D) + np.outer(mean, mean), atol=0.2)
    np.testing.assert_allclose(mixture.y.mean(axis=0), 0.0, atol=0.1)
    for other in (shifted, draw, laplace, mixture):
        assert other.truth.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "settings",
    [
        {"case": "poisson"},
        {"case": "mean-shift", "rho": 1.0},
        {"case": "mean-shift", "d": 21},
        {"case": "mean-shift", "n": 0},
        {"case": "covariance-shift", "tau": 0.5},
        {"case": "mixture", "tau": float("nan")},
    ],
)
def test_settings_out_of_range(settings):
    with pytest.raises(ParamError):
        generators.two_samples(**settings)
