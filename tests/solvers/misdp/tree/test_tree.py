"""The tree of MISDPs: what it does with its nodes, whatever they are branched on."""

import numpy as np
import pytest

import sparseopt
from sparseopt import Status, Verdict
from sparseopt.generators.misdp import clustering
from sparseopt.solvers.misdp.tree.branching import PseudoCosts

pytest.importorskip("clarabel", reason="Clarabel is not installed: sparseopt[misdp]")


@pytest.mark.thorough
def test_a_parents_multipliers_may_close_a_node_that_its_own_leave_open(monkeypatch):
    """They prove more on the node's box than on the parent's; nothing is left to branch on then."""
    problem = clustering(seed=0, points=15, size=5)
    own, costs = PseudoCosts.choose, problem.c[problem.integer]

    def costliest(self, values, lower, upper):
        if values is None or (lower >= upper).all():
            return own(self, values, lower, upper)
        part = np.where(lower < upper, np.abs(values - np.rint(values)), 0.0)
        j = int(np.argmax(np.where(part > 1e-6, np.abs(costs), -1.0)))
        return (
            (j, float(np.floor(values[j]))) if part[j] > 1e-6 else own(self, values, lower, upper)
        )

    monkeypatch.setattr(PseudoCosts, "choose", costliest)
    result = sparseopt.solve(problem, backend="misdp-bnb")
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
