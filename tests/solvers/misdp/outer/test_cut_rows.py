"""Cuts that leave a linear program when they are slack, and come back."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from sparseopt.backend import Control
from sparseopt.params import SolveParams
from sparseopt.solvers.common.outcome import Outcome
from sparseopt.solvers.common.program import Program
from sparseopt.solvers.highs.instance import Instance
from sparseopt.solvers.misdp.outer.cut_rows import CutRows

X_AND_Y, ONLY_X, ONLY_Y = np.ones(2), np.array([1.0, 0.0]), np.array([0.0, 1.0])


def _instance():
    """Minimise x + 2 y over [0, 5]^2 and a row that never binds."""
    instance = Instance(Control(params=SolveParams()), "off")
    instance.load(
        Program(
            cost=np.array([1.0, 2.0]),
            low=np.zeros(2),
            high=np.full(2, 5.0),
            matrix=sp.csc_array(np.ones((1, 2))),
            row_low=np.array([-1.0]),
            row_high=np.array([20.0]),
        )
    )
    return instance


def _optimum(instance):
    assert instance.run().outcome is Outcome.OPTIMAL
    return instance.point()


def test_a_cut_that_stays_slack_leaves_and_comes_back_where_it_is_missed():
    instance = _instance()
    rows = CutRows(instance, 1, patience=2)
    rows.add(7, X_AND_Y, 1.0)
    rows.add(8, ONLY_Y, -3.0)
    for left in (2, 2, 1):
        np.testing.assert_allclose(_optimum(instance), [1.0, 0.0], atol=1e-9)
        rows.age()
        assert len(rows) == left
    assert rows.numbers == [7]
    assert instance.highs.getNumRow() == 2
    assert rows.recall(np.zeros(2)) == 0
    assert rows.recall(np.array([9.0, -4.0])) == 1
    assert rows.numbers == [7, 8]
    assert rows.recall(np.array([9.0, -4.0])) == 0
    assert instance.highs.getNumRow() == 3


def test_a_cut_that_binds_now_and_then_stays():
    instance = _instance()
    rows = CutRows(instance, 1, patience=1)
    rows.add(0, ONLY_X, 1.0)
    for turn in range(6):
        # Every second time the lower bound of x is above the cut.
        instance.change_columns(np.array([2.0 * (turn % 2), 0.0]), np.full(2, 5.0))
        _optimum(instance)
        rows.age()
    assert len(rows) == 1


def test_it_goes_on_from_the_basis_that_is_there():
    rng = np.random.default_rng(0)
    instance = _instance()
    rows = CutRows(instance, 1, patience=0)
    for k in range(20):
        rows.add(k, rng.random(2), float(rng.random()))
    _optimum(instance)
    rows.age()
    assert len(rows) <= 2
    before = instance.spent.iterations
    _optimum(instance)
    assert instance.spent.iterations == before
