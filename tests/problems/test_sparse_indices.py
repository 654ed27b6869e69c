"""Sparse matrices that store entries outside their shape are refused, in every format."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from sparseopt import ProblemError
from sparseopt.problems import (
    MISDP,
    Candidates,
    DantzigSelector,
    IndicatorConstraint,
    L0GraphicalModel,
)
from sparseopt.selection.graphs.roc import roc

N = 6


def matrix(form):
    pattern = np.random.default_rng(0).random((N, N)) < 0.7
    return sp.coo_array(np.where(pattern, 1.5, 0.0)).asformat(form)


def outside(form, index=N + 3):
    wrong = matrix(form)
    if form == "coo":
        wrong.coords[1][2] = index
    else:
        wrong.indices[2] = index
    return wrong


@pytest.mark.parametrize("index", [N, -1])
@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr"])
def test_an_index_outside_the_shape(form, index):
    part = "coords" if form == "coo" else "indices"
    with pytest.raises(ProblemError, match=rf"X\.{part} has {index}; expected 0 to 5.*build") as it:
        DantzigSelector(outside(form, index), np.arange(float(N)))
    assert it.value.field == "X"


@pytest.mark.parametrize(
    "ptr", [[0, 9, 3, 4, 5, 6, 7], [1, 2, 3, 4, 5, 6, 7], [0, 0, 0, 0, 0, 0, 999]]
)
def test_pointers_that_do_not_rise_to_the_number_of_entries(ptr):
    wrong = matrix("csr")
    wrong.indptr = np.array(ptr, dtype=wrong.indptr.dtype)
    with pytest.raises(ProblemError, match=r"X\.indptr .* expected 7 that rise from 0"):
        DantzigSelector(wrong, np.arange(float(N)))


def test_every_sparse_argument_is_looked_at():
    wrong = outside("csr")
    calls = {
        "A": lambda: MISDP(c=np.zeros(N), A=wrong, row_upper=np.ones(N)),
        "a": lambda: IndicatorConstraint(0, outside("coo"), upper=1.0),
        "candidates": lambda: Candidates.from_adjacency(wrong),
        "truth": lambda: roc(SimpleNamespace(candidates=SimpleNamespace(nodes=N)), wrong),
    }
    for name, call in calls.items():
        with pytest.raises(ProblemError, match=rf"{name}\.(indices|coords) has 9; expected 0 to 5"):
            call()


def test_a_sparse_matrix_in_the_place_of_a_dense_one():
    with pytest.raises(ProblemError, match=r"X is sparse; expected a dense array \(X.toarray"):
        L0GraphicalModel(matrix("csr"), matrix("csr"))
