"""The checker's tables of codes: a few functions at a time, and those of other kinks of rows."""

import numpy as np
import pytest
from random_models import case

from sparseopt.checking.parametric.bases import tables
from sparseopt.problems.parametric.pieces import Pieces


@pytest.mark.parametrize("model", ["lad-lasso", "l1-svm", "dantzig-selector"])
@pytest.mark.parametrize("seed", range(3))
def test_a_few_functions_at_a_time_give_the_same_tables(model, seed, monkeypatch):
    pieces = case(model, seed, bounded=True).canonical().functions
    rng = np.random.default_rng(seed)
    changed = np.flatnonzero(rng.random(len(pieces)) < 0.4)
    codes = np.array([rng.integers(0, 2 * count + 1) for count in pieces.counts])
    for given in ((), (codes, changed)):
        whole = tables.CodeTables(pieces, *given)
        with monkeypatch.context() as context:
            context.setattr(tables, "_AT_ONCE", 2)
            parts = tables.CodeTables(pieces, *given)
        assert len(pieces) > 2
        assert np.array_equal(whole.lines, parts.lines)
        assert np.array_equal(whole.allowed, parts.allowed)
        for name in ("kink", "slope"):
            one, two = getattr(whole, name), getattr(parts, name)
            assert np.array_equal(one.constant, two.constant)
            assert np.array_equal(one.rate, two.rate)


def test_other_kinks_of_rows_are_other_functions():
    program = case("lad-lasso", 0).canonical()
    before = program.functions
    moved = program.with_row_kinks(program.psi.kink + 1.0)
    assert isinstance(moved.functions, Pieces)
    cut = len(program.phi.kink)
    assert np.array_equal(moved.functions.kink[:cut], before.kink[:cut])
    assert np.array_equal(moved.functions.kink[cut:], before.kink[cut:] + 1.0)
