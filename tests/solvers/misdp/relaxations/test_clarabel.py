"""Clarabel where its iterates diverge."""

import pytest
from free_misdps import draw_free

import sparseopt
from sparseopt import Verdict

pytest.importorskip("clarabel")


@pytest.mark.parametrize("seed", [32, 47, 106])
def test_iterates_are_given_up_before_rust_panics(seed, capfd):
    """An infeasible relaxation: after 160 iterations its costs are 1e299, and then none."""
    options = {"relaxation": "clarabel"}
    result = sparseopt.solve(draw_free(seed), backend="misdp-bnb", options=options)
    assert result.verdict is Verdict.VERIFIED
    assert capfd.readouterr().err == ""
