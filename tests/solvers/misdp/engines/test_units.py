"""Costs and constraints in tiny or huge units: the same optimum, proven and stated in that unit."""

from dataclasses import replace

import numpy as np
import pytest
from conditional_misdps import draw_conditional
from random_families import proven_exactly
from rewritten_misdps import variables
from small_misdps import draw
from thorough import first

import sparseopt
from sparseopt.generators.misdp import cardinality_least_squares, k_partitioning
from sparseopt.problems import MISDP, IndicatorConstraint, SecondOrderCone, SemidefiniteBlock

PROBLEM = cardinality_least_squares(seed=0, n=16, d=10, k=3)
OPTIMUM = sparseopt.solve(PROBLEM).objective


def scaled(unit):
    return PROBLEM.with_changes(c=PROBLEM.c * unit, offset=PROBLEM.offset * unit)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("backend", ["misdp-bnb", "misdp-oa"])
@pytest.mark.parametrize("unit", [1e-6, 1e-9, 1e-100])
def test_tiny_costs_have_the_optimum_of_others(unit, backend):
    """A gap of 1e-9 that is not relative to the costs was all of them: `feasible`, off by 65%."""
    result = sparseopt.solve(scaled(unit), backend=backend)
    assert result.status == "optimal" and result.verdict == "verified", result.check_messages
    assert result.objective == pytest.approx(OPTIMUM * unit, rel=1e-6)
    assert result.gap <= 1e-6
    assert result.trace[-1][1] == pytest.approx(OPTIMUM * unit, rel=1e-6)


@pytest.mark.parametrize("unit", [1e-9, 1e-4, 1e9])
@pytest.mark.parametrize("seed", first(2, range(40)))
def test_quadratic_objectives_in_other_units_have_the_optimum_of_others(seed, unit):
    """52 of 80 programs ended before the gap was closed, in units of 1e-9."""
    usual = draw_conditional(seed)
    changes = {"c": usual.c * unit, "offset": usual.offset * unit}
    if usual.Q is not None:
        changes["Q"] = usual.Q * unit
    expected, result = sparseopt.solve(usual), sparseopt.solve(usual.with_changes(**changes))
    assert (result.status, result.verdict) == (expected.status, "verified"), result.check_messages
    if expected.objective is not None:
        assert result.objective / unit == pytest.approx(expected.objective, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("seed", first(3, range(40)))
def test_quadratic_objectives_of_variables_in_small_units(seed, tmp_path):
    usual = draw_conditional(seed)
    small, _ = variables(usual, np.random.default_rng(seed))
    expected, result = sparseopt.solve(usual), sparseopt.solve(small)
    assert (result.status, result.verdict) == (expected.status, "verified"), result.check_messages
    if expected.objective is not None:
        assert result.objective == pytest.approx(expected.objective, rel=1e-5, abs=1e-5)
    if seed < 3:
        assert proven_exactly(small, result, tmp_path) == "proven"


@pytest.mark.parametrize("seed", first(2, range(12)))
def test_matrices_of_rank_one_in_small_units(seed):
    """Minimise x'Qx + c'x over the square by a matrix whose entries are 1, 1e-4 and 1e-8.

    A point that missed the rank by 1e-7 was optimal, and verified, at -9.4 in the place of -7.4.
    """
    rng, unit = np.random.default_rng(seed), 1e-4
    Q = np.round(rng.normal(size=(2, 2)) * 3.0)
    Q, c = Q + Q.T, np.round(rng.normal(size=2) * 3.0)
    square = unit**2
    problem = MISDP(
        c=[*(c / unit), Q[0, 0] / square, 2.0 * Q[1, 0] / square, Q[1, 1] / square],
        lower=[-unit, -unit, 0.0, -square, 0.0],
        upper=[unit, unit, square, square, square],
        blocks=[SemidefiniteBlock(np.eye(6)[:, 1:], np.eye(6)[0], rank_one=True)],
    )
    a, b = np.meshgrid(*[np.linspace(-1.0, 1.0, 801)] * 2)
    values = Q[0, 0] * a**2 + 2.0 * Q[1, 0] * a * b + Q[1, 1] * b**2 + c[0] * a + c[1] * b
    result = sparseopt.solve(problem, backend="misdp-bnb")
    assert (result.status, result.verdict) == ("optimal", "verified"), result.check_messages
    assert result.objective == pytest.approx(values.min(), rel=2e-4)


@pytest.mark.parametrize("seed", [9, 11, 22])
def test_matrices_of_rank_one_in_small_units_beside_an_indicator(seed):
    """Its row in the boxes' programs was none that factors of multipliers counted: an error."""
    rng, unit = np.random.default_rng(seed), 1e-4
    Q = np.round(rng.normal(size=(2, 2)) * 3.0)
    Q, c = Q + Q.T, np.round(rng.normal(size=2) * 3.0)
    square = unit**2
    F = np.hstack([np.eye(6)[:, 1:], np.zeros((6, 1))])
    half = IndicatorConstraint(5, [[1.0, 0.5, 0.0, 0.0, 0.0, 0.0]], lower=0.3 * unit)
    problem = MISDP(
        c=[*(c / unit), Q[0, 0] / square, 2.0 * Q[1, 0] / square, Q[1, 1] / square, -2.5],
        lower=[-unit, -unit, 0.0, -square, 0.0, 0.0],
        upper=[unit, unit, square, square, square, 1.0],
        integer=[False] * 5 + [True],
        blocks=[SemidefiniteBlock(F, np.eye(6)[0], rank_one=True)],
        indicators=[half],
    )
    a, b = np.meshgrid(*[np.linspace(-1.0, 1.0, 801)] * 2)
    values = Q[0, 0] * a**2 + 2.0 * Q[1, 0] * a * b + Q[1, 1] * b**2 + c[0] * a + c[1] * b
    best = min(values.min(), values[a + 0.5 * b >= 0.3].min() - 2.5)
    result = sparseopt.solve(problem, backend="misdp-bnb")
    assert (result.status, result.verdict) == ("optimal", "verified"), result.check_messages
    assert result.certificate.kind == "rank-one-leaves"
    assert result.objective == pytest.approx(best, abs=5e-3)


def test_a_warm_start_and_what_a_listener_sees_are_in_the_users_unit():
    """Of the variable 0 <= y <= 1e-6, counted in a unit of its own."""
    seen = []
    problem = MISDP(
        c=[-1.0, -1e6],
        A=[[1.0, 1e6]],
        row_upper=[2.5],
        lower=[0.0, 0.0],
        upper=[3.0, 1e-6],
        integer=[True, False],
        blocks=[SemidefiniteBlock([[1.0, 0.0], [0.0, 1e6], [1.0, 0.0]], [1.0, 0.0, 1.0])],
    )
    result = sparseopt.solve(
        problem,
        backend="misdp-bnb",
        warm_start=np.array([2.0, 5e-7]),
        on_progress=lambda report: seen.append(report.x),
    )
    assert result.x == pytest.approx([2.0, 5e-7], rel=1e-6) or result.objective == -2.5
    assert (result.status, result.verdict) == ("optimal", "verified"), result.check_messages
    assert not any("warm start" in note for note in result.notes)
    assert all(x is None or (x <= [3.0, 1.1e-6]).all() for x in seen)


def test_what_a_listener_hears_and_the_log_are_in_the_users_unit(capsys):
    heard = []
    result = sparseopt.solve(scaled(1e-9), verbose=True, on_progress=heard.append)
    values = [report.objective for report in heard if report.objective is not None]
    assert values and min(values) == pytest.approx(result.objective, rel=1e-9)
    assert all(report.bound <= values[-1] * (1.0 + 1e-9) for report in heard if report.bound)
    assert f"{result.objective:.10g}" in capsys.readouterr().out


@pytest.mark.thorough
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


def with_constraints(problem, unit):
    """Count each row, cone and matrix in `unit` times another power of two."""
    units = iter(unit * 2.0 ** np.arange(100))
    rows = np.array([next(units) for _ in range(problem.A.shape[0])])
    parts = {
        name: [
            replace(part, F=part.F * t, **{constant: getattr(part, constant) * t})
            for part, t in zip(getattr(problem, name), units, strict=False)
        ]
        for name, constant in (("cones", "g"), ("blocks", "F0"))
    }
    if len(rows):
        parts["A"] = problem.A.multiply(rows[:, None]).tocsr()
        parts |= {side: getattr(problem, side) * rows for side in ("row_lower", "row_upper")}
    return problem.with_changes(**parts)


@pytest.mark.thorough(after=2)
@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("unit", [2.0**-33, 1e-12, 2.0**40])
def test_constraints_in_other_units_have_the_optimum_of_others(seed, unit):
    """Matrices in units of 1e-10 were `no_solution`, or unbounded by a ray up to rounding."""
    usual = sparseopt.solve(draw(seed))
    for backend in ("misdp-bnb", "misdp-oa"):
        result = sparseopt.solve(with_constraints(draw(seed), unit), backend=backend)
        assert (result.status, result.verdict) == (usual.status, "verified"), result.check_messages
        if usual.objective is not None:
            assert result.objective == pytest.approx(usual.objective, rel=1e-5, abs=1e-5)


def test_costs_and_constraints_in_other_units():
    tiny = with_constraints(scaled(1e-9), 1e-9)
    result = sparseopt.solve(tiny)
    assert result.status == "optimal" and result.verdict == "verified", result.check_messages
    assert result.objective == pytest.approx(OPTIMUM * 1e-9, rel=1e-6)
    pool = sparseopt.solve(tiny, backend="misdp-bnb", options={"solutions": 3})
    assert len(pool.pool) == 3 and pool.verdict == "verified", pool.check_messages


def test_what_is_symmetric_in_other_units_only_is_no_symmetry():
    """Rows of x and y that differ in the user's units are the same in their own."""
    problem = MISDP(
        c=[-1.0, -1.0],
        A=[[2.0**-30, 0.0], [0.0, 2.0**-40]],
        row_upper=[3.0 * 2.0**-30, 3.0 * 2.0**-40],
        lower=[0.0, 0.0],
        upper=[9.0, 9.0],
        integer=[True, True],
        blocks=[SemidefiniteBlock([[1.0, 1.0]], [0.0])],
    )
    result = sparseopt.solve(problem, backend="misdp-bnb")
    assert result.objective == -6.0 and result.verdict == "verified", result.check_messages
    # x <= 3, y <= 3, as the lines of one matrix.
    lines = SemidefiniteBlock(
        [[-1.0, 0.0], [0.0, 0.0], [0.0, -(2.0**40)]], [3.5, 0.0, 3.5 * 2.0**40]
    )
    free = {"A": None, "row_lower": None, "row_upper": None}
    problem = problem.with_changes(**free, blocks=[*problem.blocks, lines])
    result = sparseopt.solve(problem, backend="misdp-bnb")
    assert result.objective == -6.0 and result.verdict == "verified", result.check_messages
    partition = k_partitioning(seed=1, nodes=7, k=2)
    result = sparseopt.solve(with_constraints(partition, 1e-9))
    assert result.verdict == "verified", result.check_messages
    assert result.objective == pytest.approx(sparseopt.solve(partition).objective)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("unit", [2.0**-33, 2.0**33])
def test_curves_and_rays_of_constraints_in_other_units(unit):
    square = SemidefiniteBlock([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [1.0, 0.0, 0.0])
    cone = SecondOrderCone([[0.0, 1.0], [0.0, 0.0], [1.0, 0.0]], [-5.0, 1.0, 0.0], rotated=True)
    for changes in ({"blocks": [square]}, {"blocks": [square], "cones": [cone]}):
        problem = MISDP(c=[1.0, 0.0], integer=[True, False], sense="max", **changes)
        result = sparseopt.solve(with_constraints(problem, unit), time_limit=10.0)
        assert result.certificate.kind == "curve"
        assert (result.status, result.verdict) == ("unbounded", "verified"), result.check_messages
    problem = problem.with_changes(c=[0.0, 1.0])
    result = sparseopt.solve(with_constraints(problem, unit), time_limit=10.0)
    assert result.certificate.kind == "ray"
    assert (result.status, result.verdict) == ("unbounded", "verified"), result.check_messages


def test_tiny_costs_beside_an_indicator():
    """The standard form has a row more than the problem, in the unit of the user."""
    row = IndicatorConstraint(binary=0, a=[[0.0, 1.0]], lower=2.0)
    problem = MISDP(
        c=[-3e-9, 1e-9],
        lower=[0.0, 0.0],
        upper=[1.0, 5.0],
        integer=[True, False],
        indicators=[row],
        blocks=[SemidefiniteBlock([[0.0, 1e-12]], [0.0])],
    )
    result = sparseopt.solve(problem)
    assert result.status == "optimal" and result.verdict == "verified", result.check_messages
    assert result.objective == pytest.approx(-1e-9, rel=1e-6)
