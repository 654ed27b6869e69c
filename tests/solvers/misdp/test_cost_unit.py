"""Costs in tiny units: the same optimum, proven, with everything that is stated in that unit."""

import pytest

import sparseopt
from sparseopt.generators.misdp import cardinality_least_squares

PROBLEM = cardinality_least_squares(seed=0, n=16, d=10, k=3)
OPTIMUM = sparseopt.solve(PROBLEM).objective


def scaled(unit):
    return PROBLEM.with_changes(c=PROBLEM.c * unit, offset=PROBLEM.offset * unit)


@pytest.mark.parametrize("backend", ["misdp-bnb", "misdp-oa"])
@pytest.mark.parametrize("unit", [1e-6, 1e-9, 1e-100])
def test_tiny_costs_have_the_optimum_of_others(unit, backend):
    """A gap of 1e-9 that is not relative to the costs was all of them: `feasible`, off by 65%."""
    result = sparseopt.solve(scaled(unit), backend=backend)
    assert result.status == "optimal" and result.verdict == "verified", result.check_messages
    assert result.objective == pytest.approx(OPTIMUM * unit, rel=1e-6)
    assert result.gap <= 1e-6
    assert result.trace[-1][1] == pytest.approx(OPTIMUM * unit, rel=1e-6)


def test_what_a_listener_hears_and_the_log_are_in_the_users_unit(capsys):
    heard = []
    result = sparseopt.solve(scaled(1e-9), verbose=True, on_progress=heard.append)
    values = [report.objective for report in heard if report.objective is not None]
    assert values and min(values) == pytest.approx(result.objective, rel=1e-9)
    assert all(report.bound <= values[-1] * (1.0 + 1e-9) for report in heard if report.bound)
    assert f"{result.objective:.10g}" in capsys.readouterr().out


def test_several_solutions_of_tiny_costs():
    options = {"solutions": 3}
    found = sparseopt.solve(scaled(1e-9), backend="misdp-bnb", options=options)
    usual = sparseopt.solve(PROBLEM, backend="misdp-bnb", options=options)
    assert found.verdict == "verified", found.check_messages
    assert [s.objective for s in found.pool] == pytest.approx(
        [s.objective * 1e-9 for s in usual.pool], rel=1e-6
    )


def test_an_absolute_gap_is_in_the_users_unit():
    result = sparseopt.solve(scaled(1e-9), rel_gap=0.0, abs_gap=0.2 * OPTIMUM * 1e-9)
    assert result.status == "optimal" and result.verdict == "verified", result.check_messages
    assert result.objective - result.bound <= 0.2 * OPTIMUM * 1e-9
