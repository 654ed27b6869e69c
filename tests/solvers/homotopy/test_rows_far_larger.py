"""One row far larger than the others: what is left of the products with a ray is small."""

from __future__ import annotations

import numpy as np
import pytest

import sparseopt
from sparseopt import Status, Verdict
from sparseopt.problems import CLIME, DantzigSelector


def _heavy(seed: int, exponent: int, d: int) -> np.ndarray:
    X = np.random.default_rng(seed).normal(size=(20, d))
    X[3] *= 10.0**exponent
    return X


@pytest.mark.thorough(after=3)
@pytest.mark.parametrize("exponent", [7, 6, 5])
@pytest.mark.parametrize("seed", range(6))
def test_a_path_goes_on_where_double_precision_sees_no_way(seed, exponent):
    X = _heavy(seed, exponent, 5)
    y = np.random.default_rng(seed).normal(size=20)
    result = sparseopt.solve(DantzigSelector(X, y))
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    assert result.path.stopped_by == "lam_min"
    alone = sparseopt.solve(DantzigSelector(X, y), lam=0.0)
    least = np.abs(np.linalg.lstsq(X, y)[0]).sum()
    assert alone.objective == pytest.approx(least, rel=1e-4)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("exponent", [5, 6, 7])
def test_columns_do_not_walk_in_a_circle(exponent):
    for seed in range(12):
        X = _heavy(seed, exponent, 4)
        result = sparseopt.solve(CLIME(X.T @ X / 20), time_limit=60.0)
        assert (result.status, result.limit) == (Status.OPTIMAL, None)
        assert result.verdict is Verdict.VERIFIED
