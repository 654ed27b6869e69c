"""The compiled engine against its plain NumPy twin: the same knots and the same values."""

from __future__ import annotations

import numpy as np
import pytest
from numpy_twin import Basis, follow
from test_homotopy import dense_design, regressions, solve

from sparseopt.problems import DantzigSelector, LADLasso
from sparseopt.solvers.homotopy.program import ScaledProgram
from sparseopt.solvers.homotopy.walks.start import crash, optimal_from


def twin_path(problem, end=0.0):
    """Return why it ends, the lower ends and the coefficients there; None without a crash basis."""
    program = ScaledProgram.from_program(problem.canonical())
    start = crash(program)
    lam = optimal_from(start)
    if not np.isfinite(lam):
        return None
    low, theta = [], []

    def keep(basis, down, high):
        values, _ = basis.solution()
        low.append(down)
        theta.append(program.theta(values[0] + down * values[1]))

    outcome = follow(
        Basis(program, start.codes),
        max(lam, end),
        end,
        rng=np.random.default_rng(1),
        top=np.inf,
        on_segment=keep,
    )
    return outcome.reason, np.array(low), np.array(theta)


def assert_same(problem, end=0.0):
    twin = twin_path(problem, end)
    if twin is None:
        return False
    reason, low, theta = twin
    path = solve(problem, lam_min=end).path
    assert path.stopped_by == ("lam_min" if reason == "end" else reason)
    assert len(path.low) == len(low)
    assert path.low == pytest.approx(low, rel=1e-9, abs=1e-9)
    for s in range(len(low)):
        assert path.at(path.low[s]) == pytest.approx(theta[s], rel=1e-7, abs=1e-9)
    return True


@pytest.mark.thorough
def test_generic_regressions():
    compared = 0
    for seed in range(0, 40, 2):
        for problem in regressions(seed):
            compared += problem.weights is None and seed % 5 and seed % 7 and assert_same(problem)
    assert compared >= 20


@pytest.mark.thorough
@pytest.mark.parametrize("model", [DantzigSelector, LADLasso])
def test_candidates_do_not_change_the_path(model):
    """400 columns are more than the engine looks at: it must find the twin's path all the same."""
    X, y = dense_design(60, 400)
    problem = model(X, y)
    top = solve(problem, max_knots=1).path.low[0]
    assert assert_same(problem, 0.2 * top)
