"""What suites measure of an answer, where they know the truth."""

import numpy as np
import pytest

import sparseopt
from sparseopt.bench.instances import design_problem
from sparseopt.bench.metrics import measure

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


def test_samples_of_one_distribution_are_rarely_told_apart():
    found = [measured(seed, tau=1e-9) for seed in range(60)]
    # Of 60 tests at level 0.05, ten or more have a probability of 0.0007.
    for name in ("power", "power_dense"):
        assert sum(each[name] for each in found) < 10
    assert np.mean([each["fdp"] for each in found]) == pytest.approx(0.75, abs=0.15)
