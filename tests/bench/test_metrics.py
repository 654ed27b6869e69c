"""What suites measure of an answer, where they know the truth."""

import numpy as np
import pytest

import sparseopt
from sparseopt import generators
from sparseopt.bench.solving.instances import design_problem
from sparseopt.bench.solving.metrics import measure

DESIGN = "two-sample-selection"


def measured(seed, **settings):
    chosen = {"case": "mean-shift", "n": 40, "D": 12, "d": 3, "differing": 3, **settings}
    problem = design_problem(DESIGN, seed, chosen)
    result = sparseopt.solve(problem, backend="truncation", check=False)
    instance = {"generator": DESIGN, "settings": chosen, "seed": seed}
    return measure(("power", "selection"), problem, result, instance)


def test_a_large_shift_is_found_and_rejected():
    found = measured(0, tau=8.0)
    assert found["power"] == found["power_dense"] == 1.0
    assert found["fdp"] == found["ndp"] == found["fdp_ndp"] == 0.0


@pytest.mark.thorough
def test_samples_of_one_distribution_are_rarely_told_apart():
    found = [measured(seed, tau=1e-9) for seed in range(60)]
    # Of 60 tests at level 0.05, ten or more have a probability of 0.0007.
    for name in ("power", "power_dense"):
        assert sum(each[name] for each in found) < 10
    assert np.mean([each["fdp"] for each in found]) == pytest.approx(0.75, abs=0.15)


def subspace_of(name, backend="irls", **settings):
    problem = generators.generate(name, seed=3, **settings)
    result = sparseopt.solve(problem, backend=backend, check=False)
    instance = {"generator": name, "settings": settings, "seed": 3}
    return measure(("subspace",), problem, result, instance)


def distance_of(*args, **settings):
    return subspace_of(*args, **settings)["projection_distance"]


def test_the_error_of_a_subspace_is_that_of_its_projection():
    data = {"N": 60, "n": 20, "k": 3}
    for outliers in ("independent", "repeated"):
        assert distance_of("outlier-columns", delta=0.1, outliers=outliers, **data) < 1e-12
    rough = distance_of("outlier-columns", "pca", delta=0.3, **data)
    problem = generators.generate("outlier-columns", seed=3, delta=0.3, **data)
    T = np.linalg.svd(problem.X[:42])[2][:3].T
    W = sparseopt.solve(problem, backend="pca").x
    assert rough == pytest.approx(np.linalg.norm(W @ W.T - T @ T.T), rel=1e-9) and rough > 1e-3
    assert 1e-12 < distance_of("haystack", N=100, noise=0.01, inliers=0.6) < 0.1


def test_the_angle_of_a_line_is_that_of_its_tangent():
    found = subspace_of("bent-curve", "stiefel", curve="cubic", bandwidth=0.5)
    assert 45.0 < found["angle"] < 70.0
    tangent = np.degrees(np.arctan(2.0))
    assert found["off"] == pytest.approx(abs(found["angle"] - tangent), abs=1e-9)
    assert subspace_of("two-directions", "pca")["off"] == pytest.approx(30.0, abs=10.0)
    assert subspace_of("two-directions", "stiefel", bandwidth=0.5)["off"] < 2.0
    assert subspace_of("haystack", n=2, k=1).keys() == {"angle", "projection_distance"}
