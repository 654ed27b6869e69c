"""Warm starts that are whole, in part, or wrong."""

import importlib.util

import numpy as np
import pytest

import sparseopt
from sparseopt import SolveParams, Verdict
from sparseopt.backend import Control
from sparseopt.generators.misdp import cardinality_least_squares, truss_topology
from sparseopt.problems import MISDPBuilder
from sparseopt.solvers.misdp.engines.answer import standard, start_points
from sparseopt.solvers.misdp.engines.bnb import SemidefiniteBranchAndBound
from sparseopt.solvers.misdp.reductions.merging import merge
from sparseopt.solvers.misdp.tree.search import MISDPSearch

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("clarabel") is None,
    reason="Clarabel is not installed: sparseopt[misdp]",
)


def first_incumbent(problem, start):
    """Return the point that a warm start becomes, None without one, and the notes."""
    control = Control(SolveParams(), warm_start=start)
    options = {name: option.default for name, option in SemidefiniteBranchAndBound.options.items()}
    form = standard(problem)
    merged = merge(form.problem)
    search = MISDPSearch(merged.problem, options, control)
    start_points(search, form, merged)
    best = search.points.best
    return None if best is None else form.up(merged.up(best)), control.notes


def test_values_that_are_not_known_are_looked_for():
    problem = truss_topology(seed=2, columns=2, rows=2)
    best = sparseopt.solve(problem, backend="misdp-bnb")
    start = np.where(problem.integer, best.x, np.nan)
    x, notes = first_incumbent(problem, start)
    assert abs(problem.objective(x) - best.objective) < 1e-6 * abs(best.objective)
    assert not notes


def test_half_of_the_integers():
    problem = cardinality_least_squares(seed=3, n=16, d=10, k=3)
    best = sparseopt.solve(problem, backend="misdp-bnb")
    start = best.x.copy()
    start[~problem.integer] = np.nan
    start[np.flatnonzero(problem.integer)[::2]] = np.nan
    x, _ = first_incumbent(problem, start)
    known = np.isfinite(start)
    np.testing.assert_array_equal(x[known], start[known])
    assert max(problem.residuals(x).values()) < 1e-7


def test_integers_that_are_nearly_feasible_are_repaired():
    model = MISDPBuilder("min")
    k = model.variables(3, lower=0.0, upper=9.0, integer=True)
    y = model.variable(lower=0.0, upper=50.0)
    model.row((k, np.array([1.0, 1.0, 1.0])), lower=7.0, upper=7.0)
    model.row((y, 1.0), (k, np.array([-1.0, -2.0, -3.0])), lower=0.0)
    model.objective((y, 1.0), (k, np.array([0.5, 0.0, 0.0])))
    problem = model.build()
    x, notes = first_incumbent(problem, np.array([3.0, 3.0, 2.0, 0.0]))
    assert np.abs(x[:3] - [3.0, 3.0, 2.0]).max() == 1.0 and x[:3].sum() == 7.0
    assert not notes
    x, notes = first_incumbent(problem, np.array([9.0, 9.0, 9.0, 0.0]))
    assert x is None and notes == ["the warm start is not feasible, and no point was found near it"]
    for backend in ("misdp-bnb", "misdp-oa"):
        result = sparseopt.solve(problem, backend=backend, warm_start=np.full(4, np.nan))
        assert abs(result.objective - 10.5) < 1e-6 and result.verdict is Verdict.VERIFIED
