"""Increasing arrays of indices as sets, against NumPy's functions on sets."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sparseopt.solvers.common.index_sets import (
    complement,
    difference,
    members,
    with_one,
    without_one,
)

_SETS = st.sets(st.integers(0, 12)).map(lambda some: np.array(sorted(some), dtype=np.int64))


@given(_SETS, _SETS)
def test_two_sets(some, others):
    np.testing.assert_array_equal(members(some, others), np.isin(some, others))
    np.testing.assert_array_equal(difference(some, others), np.setdiff1d(some, others))
    np.testing.assert_array_equal(complement(some, 13), np.setdiff1d(np.arange(13), some))


@given(_SETS, st.integers(0, 12))
def test_a_set_and_one_index(some, j):
    rest = without_one(some, j)
    np.testing.assert_array_equal(rest, np.setdiff1d(some, j))
    added = with_one(rest, j)
    np.testing.assert_array_equal(added, np.union1d(some, j))
    assert added.dtype == rest.dtype == np.int64
