"""What a listener and a reader of the log see of a MISDP's search."""

import importlib.util
import re

import numpy as np
import pytest

import sparseopt
from sparseopt import Limit, Status, Verdict
from sparseopt.generators.misdp import cardinality_least_squares, truss_topology
from sparseopt.problems import MISDPBuilder

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("clarabel") is None,
    reason="Clarabel is not installed: sparseopt[misdp]",
)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("backend", ["misdp-bnb", "misdp-oa"])
def test_each_incumbent_is_reported_in_the_problem_s_own_variables(backend):
    problem = truss_topology(seed=1, columns=2, rows=2)  # sizes of bars are merged
    seen = []
    result = sparseopt.solve(problem, backend=backend, on_progress=seen.append)
    points = [report for report in seen if report.x is not None]
    assert points and points[-1].nodes is not None and points[-1].open is not None
    for report in points:
        assert max(problem.residuals(report.x).values()) < 1e-6
        assert abs(problem.objective(report.x) - report.objective) < 1e-9 * abs(report.objective)
        if report.bound is not None:
            assert report.bound <= report.objective * (1.0 + 1e-9)
    best = min(report.objective for report in points)
    assert best == result.objective


def test_a_quadratic_objective_is_reported_too():
    model = MISDPBuilder("max")
    x = model.variables(2, lower=-3.0, upper=3.0, integer=True)
    model.objective((x, np.array([1.0, 0.7])), quadratic=[(x, [[-0.5, 0.1], [0.1, -0.3]])])
    problem = model.build()
    seen = []
    result = sparseopt.solve(problem, on_progress=seen.append)
    assert result.verdict is Verdict.VERIFIED
    (*_, last) = [report for report in seen if report.x is not None]
    np.testing.assert_array_equal(last.x, result.x)


def test_false_ends_the_search_with_the_incumbent():
    problem = cardinality_least_squares(seed=1, n=20, d=20, k=4)
    result = sparseopt.solve(problem, on_progress=lambda report: report.x is None)
    assert result.status is Status.FEASIBLE and result.limit is Limit.INTERRUPTED
    assert result.x is not None and result.bound < result.objective


def test_the_log_is_a_table(capsys):
    problem = cardinality_least_squares(seed=0, n=16, d=10, k=3)
    result = sparseopt.solve(problem, backend="misdp-bnb", verbose=True)
    heading, *lines = capsys.readouterr().out.splitlines()
    assert heading.split() == ["time", "nodes", "open", "bound", "incumbent", "gap"]
    row = re.compile(r"[* ] *[\d.]+s +\d+ +\d+ +(-|[-\d.e+]+) +(-|[-\d.e+]+) +(-|[\d.e+-]+%)")
    assert lines and all(row.fullmatch(line) for line in lines)
    assert float(lines[-1].split()[-2]) == pytest.approx(result.objective, rel=1e-9)
    assert sparseopt.solve(problem, backend="misdp-bnb").verdict is Verdict.VERIFIED
    assert capsys.readouterr().out == ""
