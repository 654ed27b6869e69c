"""Equations in rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sparseopt.checking.parametric.evaluation.rational import only_zero_solves


def _equations(A):
    return [{j: Fraction(a) for j, a in enumerate(row) if a} for row in np.asarray(A).tolist()]


@pytest.mark.parametrize("seed", range(20))
def test_only_zero_solves_what_has_full_rank(seed):
    rng = np.random.default_rng(seed)
    q, k, rank = rng.integers(1, 8), rng.integers(1, 6), rng.integers(1, 6)
    A = rng.integers(-3, 4, (q, rank)) @ rng.integers(-3, 4, (rank, k)) / 8.0
    full = np.linalg.matrix_rank(A) == k
    assert only_zero_solves(_equations(A), int(k)) == full


def test_digits_of_the_data_decide_and_a_prime_that_divides_proves_nothing():
    nearly = [[1.0, 1.0], [1.0, np.nextafter(1.0, 2.0)]]
    assert np.linalg.matrix_rank(nearly) == 1
    assert only_zero_solves(_equations(nearly), 2)
    assert not only_zero_solves(_equations([[1.0, 1.0], [1.0, 1.0]]), 2)
    assert not only_zero_solves(_equations([[float(2**31 - 1)]]), 1)
    assert not only_zero_solves([{0: Fraction(1, 2**31 - 1)}], 1)
