"""True results, made without an engine, are verified."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from brute_paths import Basis, brute_path, path_result, point_result, solve_basis
from hypothesis import given, settings
from hypothesis import strategies as st

import sparseopt
from sparseopt import Certificate, Limit, Result, SolveParams, Status, Verdict
from sparseopt.checking import check
from sparseopt.paths.parametric import GridPath
from sparseopt.problems import (
    DantzigSelector,
    LADLasso,
    ParametricLP,
    Pieces,
    PiecewiseLinearProgram,
)


def small(kind, seed):
    """A random problem with at most 3 variables and 4 rows."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(4, 3)), rng.normal(size=4)
    if kind == "dantzig":
        return DantzigSelector(X=X, y=y, weights=rng.uniform(0.5, 2.0, 3))
    if kind == "lad":
        return LADLasso(X=X[:, :2], y=y)
    if kind == "intercept":
        return LADLasso(X=X[:, :1], y=y, fit_intercept=True)
    if kind == "lp":
        positive = rng.uniform(0.5, 2.0, (6,))
        return ParametricLP(
            A=X[:3], b=rng.normal(size=3), b_bar=positive[:3], c=rng.normal(size=3),
            c_bar=-positive[3:],
        )  # fmt: skip
    # Kinks and slopes both move, with three pieces, an offset, and bounds on the variables.
    one = np.ones(2)
    return PiecewiseLinearProgram(
        A=X[:3, :2],
        phi=Pieces.uniform(
            [-4.0 * one, -0.1 * one, 5.0 * one],
            [-np.inf, -one, 0.5 * one, np.inf],
            kink_rates=[-one, -0.2 * one, one],
            slope_rates=[0.0, -one, 0.3 * one, 0.0],
        ),
        psi=Pieces.check_loss(y[:3], 0.3),
        offset=np.array([1.0, -2.0, 0.5]),
    )


KINDS = ("dantzig", "lad", "intercept", "lp", "both")


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=2)
@given(seed=st.integers(0, 10_000))
def test_a_true_path_is_verified(kind, seed):
    problem = small(kind, seed)
    bases = brute_path(problem)
    if bases[-1].low > 0.0 or np.isfinite(bases[0].high):
        return  # infeasible or unbounded there: proven by rays, below
    report = check(problem, path_result(problem, bases))
    assert report.verdict is Verdict.VERIFIED, report.messages
    assert set(report.residuals) >= {"primal", "dual", "gap", "objective", "stored"}
    assert max(report.residuals.values()) < 1e-9


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("kind", KINDS)
def test_paths_of_random_problems_reach_zero(kind):
    """The property above is not empty."""

    def whole(bases):
        return bases[-1].low == 0.0 and np.isinf(bases[0].high)

    assert any(whole(brute_path(small(kind, seed))) for seed in range(5))


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=2)
@given(seed=st.integers(0, 10_000), position=st.floats(0.1, 0.9))
def test_a_true_optimum_is_verified(kind, seed, position):
    problem = small(kind, seed)
    basis = brute_path(problem)[-1]
    high = basis.high if np.isfinite(basis.high) else basis.low + 1.0
    lam = basis.low + position * (high - basis.low)
    report = check(problem, point_result(problem, lam))
    assert report.verdict is Verdict.VERIFIED, report.messages


def orthonormal_dantzig(y):
    """Soft thresholding: theta_j = sign(y_j) (|y_j| - lam)+, with knots at the sorted |y_j|."""
    p = len(y)
    codes = np.concatenate([np.full(p, 1), np.full(p, 2)])
    order = np.argsort(-np.abs(y))
    knots = [np.inf, *np.abs(y)[order], 0.0]
    problem = DantzigSelector(X=np.eye(p), y=y)
    bases = []
    for k in range(p + 1):
        if k:
            j = order[k - 1]
            codes[j], codes[p + j] = (2, 1) if y[j] > 0 else (0, 3)
        basis = solve_basis(problem.canonical(), codes)
        bases.append(Basis(codes.copy(), basis.theta, basis.nu, knots[k + 1], knots[k]))
    return problem, bases


@settings(deadline=None, max_examples=10)
@given(
    st.lists(st.floats(0.01, 100.0), min_size=1, max_size=8, unique=True),
    st.integers(0, 2**8 - 1),
)
def test_soft_thresholding_is_verified(sizes, signs):
    y = np.array([-v if signs >> i & 1 else v for i, v in enumerate(sizes)])
    problem, bases = orthonormal_dantzig(y)
    result = path_result(problem, bases)
    for lam in (0.0, 0.5 * np.abs(y).max(), 2.0 * np.abs(y).max()):
        expected = np.sign(y) * np.maximum(np.abs(y) - lam, 0.0)
        np.testing.assert_allclose(result.path.at(lam), expected, atol=1e-12)
    assert check(problem, result).verdict is Verdict.VERIFIED


def test_the_jump_of_the_orthonormal_lad_lasso_is_verified():
    y = np.array([2.0, -1.0, 0.5])
    problem = LADLasso(X=np.eye(3), y=y)
    above = np.array([1, 1, 1, 0, 2, 0])
    below = np.array([2, 0, 2, 1, 1, 1])
    bases = []
    for codes, low, high in ((above, 1.0, np.inf), (below, 0.0, 1.0)):
        basis = solve_basis(problem.canonical(), codes)
        bases.append(Basis(codes, basis.theta, basis.nu, low, high))
    result = path_result(problem, bases)
    above_one, below_one = result.path.at(1.0, side="both")
    assert not above_one.any()
    np.testing.assert_allclose(below_one, y)
    assert check(problem, result).verdict is Verdict.VERIFIED


def test_a_grid_is_verified_at_each_of_its_values():
    problem = small("dantzig", 1)
    bases = brute_path(problem)
    lams = (0.3 * bases[0].low, 0.6 * bases[0].low)
    points = [point_result(problem, lam) for lam in sorted(lams, reverse=True)]
    grid = GridPath(
        knots=np.array(sorted(lams, reverse=True)),
        theta=np.array([r.x for r in points]),
        nu=np.array([r.duals["rows"] for r in points]),
        values=np.array([r.objective for r in points]),
        bounds=np.array([r.bound for r in points]),
        names=problem.coefficient_names,
        stopped_by="grid",
    )
    result = points[-1].with_changes(
        path=grid, certificate=Certificate("dual-grid"), params=SolveParams(lam=lams)
    )
    assert check(problem, result).verdict is Verdict.VERIFIED
    for field in ("theta", "nu", "values", "bounds"):
        changed = np.array(getattr(grid, field))
        changed[0] += 1e-3 * np.abs(changed[0]).max()
        wrong = GridPath(**{**vars(grid), field: changed})
        assert check(problem, result.with_changes(path=wrong)).verdict is Verdict.REFUTED, field
    short = GridPath(
        **{**vars(grid), **{k: getattr(grid, k)[:1] for k in
           ("knots", "theta", "nu", "values", "bounds")}}
    )  # fmt: skip
    first = points[0].with_changes(
        path=short, certificate=Certificate("dual-grid"), params=SolveParams(lam=lams)
    )
    assert check(problem, first).verdict is Verdict.REFUTED  # the grid is not whole
    ended = first.with_changes(path=replace(short, stopped_by="infeasible_below"))
    assert check(problem, ended).verdict is Verdict.UNPROVEN


def test_part_of_a_path_is_verified_for_what_it_covers():
    problem = small("dantzig", 1)
    bases = brute_path(problem)[:2]
    result = path_result(problem, bases, stopped_by="time")
    assert check(problem, result).verdict is Verdict.REFUTED  # it claims the whole path
    partial = result.with_changes(status=Status.FEASIBLE, limit=Limit.TIME)
    assert check(problem, partial).verdict is Verdict.VERIFIED


def test_a_feasible_point_is_verified_and_its_bound_needs_a_proof():
    problem = small("dantzig", 1)
    lam = 0.5 * brute_path(problem)[0].low
    point = point_result(problem, lam)
    feasible = point.with_changes(status=Status.FEASIBLE, limit=Limit.TIME)
    assert check(problem, feasible).verdict is Verdict.VERIFIED
    bare = feasible.with_changes(certificate=None, bound=None, duals={})
    assert check(problem, bare).verdict is Verdict.VERIFIED
    bounded = feasible.with_changes(certificate=None, duals={})
    assert check(problem, bounded).verdict is Verdict.UNPROVEN


def test_claims_without_a_certificate_are_unproven():
    problem = small("dantzig", 1)
    bases = brute_path(problem)
    path = path_result(problem, bases).with_changes(certificate=None)
    assert check(problem, path).verdict is Verdict.UNPROVEN
    point = point_result(problem, 0.5 * bases[0].low).with_changes(certificate=None)
    assert check(problem, point).verdict is Verdict.UNPROVEN
    for status in (Status.ERROR, Status.NUMERICAL_ERROR):
        nothing = Result(status=status, params=SolveParams(lam=1.0))
        assert check(problem, nothing).verdict is Verdict.UNPROVEN


# |r - 1| <= lam and |r + 1| <= lam for one r: feasible from lam = 1 on.
CONTRADICTION = PiecewiseLinearProgram(
    A=np.ones((2, 1)),
    phi=Pieces.absolute(np.ones(1)),
    psi=Pieces.lam_band(np.array([1.0, -1.0])),
)
FARKAS = np.array([-1.0, 1.0])


def test_infeasibility_is_verified_by_farkas_multipliers():
    result = Result(
        status=Status.INFEASIBLE,
        certificate=Certificate("farkas", {"nu": FARKAS}),
        params=SolveParams(lam=0.5),
    )
    assert check(CONTRADICTION, result).verdict is Verdict.VERIFIED
    for nu in (-FARKAS, np.zeros(2), np.array([-1.0, 1.001]), np.array([1.0, 0.0])):
        wrong = result.with_changes(certificate=Certificate("farkas", {"nu": nu}))
        assert check(CONTRADICTION, wrong).verdict is Verdict.REFUTED
    feasible = result.with_changes(params=SolveParams(lam=1.5))
    assert check(CONTRADICTION, feasible).verdict is Verdict.REFUTED
    bare = result.with_changes(certificate=None)
    assert check(CONTRADICTION, bare).verdict is Verdict.UNPROVEN


def test_the_end_of_a_path_is_verified_by_farkas_multipliers():
    bases = brute_path(CONTRADICTION)
    assert bases[-1].low == 1.0
    result = path_result(
        CONTRADICTION, bases, stopped_by="infeasible_below", arrays={"farkas": FARKAS}
    )
    report = check(CONTRADICTION, result)
    assert report.verdict is Verdict.VERIFIED
    assert report.residuals["hole"] == 0.0
    for nu in (-FARKAS, np.zeros(2), FARKAS * [1.0, 1.0 + 1e-6]):
        wrong = path_result(
            CONTRADICTION, bases, stopped_by="infeasible_below", arrays={"farkas": nu}
        )
        assert check(CONTRADICTION, wrong).verdict is Verdict.REFUTED
    silent = path_result(CONTRADICTION, bases, stopped_by="infeasible_below")
    assert check(CONTRADICTION, silent).verdict is Verdict.UNPROVEN
    other = path_result(CONTRADICTION, bases, stopped_by="lam_min", arrays={"farkas": FARKAS})
    assert check(CONTRADICTION, other).verdict is Verdict.REFUTED


def test_the_farkas_multipliers_must_meet_the_end_of_the_path():
    bases = brute_path(CONTRADICTION, lam_min=1.5)
    early = path_result(
        CONTRADICTION, bases, stopped_by="infeasible_below", arrays={"farkas": FARKAS}
    )
    assert check(CONTRADICTION, early).verdict is Verdict.REFUTED


def falling_slope():
    """max (1 - lam) x over x >= 0: unbounded below lam = 1."""
    return ParametricLP(A=np.array([[-1.0]]), b=[0.0], b_bar=[0.0], c=[1.0], c_bar=[-1.0])


def test_unboundedness_is_verified_by_a_ray():
    problem = falling_slope()
    arrays = {"ray": np.ones(1), "x": np.zeros(1)}
    result = Result(
        status=Status.UNBOUNDED,
        certificate=Certificate("ray", arrays),
        params=SolveParams(lam=0.5),
    )
    assert check(problem, result).verdict is Verdict.VERIFIED
    for wrong in ({"ray": -np.ones(1)}, {"ray": np.zeros(1)}, {"x": -np.ones(1)}):
        tampered = result.with_changes(certificate=Certificate("ray", {**arrays, **wrong}))
        assert check(problem, tampered).verdict is Verdict.REFUTED
    bounded = result.with_changes(params=SolveParams(lam=1.5))
    assert check(problem, bounded).verdict is Verdict.REFUTED


def test_the_end_of_a_path_is_verified_by_a_ray():
    problem = falling_slope()
    bases = brute_path(problem)
    assert bases[-1].low == 1.0
    result = path_result(problem, bases, stopped_by="unbounded_below", arrays={"ray": np.ones(1)})
    assert check(problem, result).verdict is Verdict.VERIFIED
    wrong = path_result(problem, bases, stopped_by="unbounded_below", arrays={"ray": -np.ones(1)})
    assert check(problem, wrong).verdict is Verdict.REFUTED


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("backend", ["homotopy", "highs"])
def test_a_saturated_fit_is_verified(backend):
    """At lam = 0 all residuals vanish, up to rounding, and so do objective and bound."""
    rng = np.random.default_rng(3)
    problem = LADLasso(X=rng.normal(size=(15, 30)), y=100.0 * rng.normal(size=15))
    for question in ({"lam": 0.0}, {}):
        result = sparseopt.solve(problem, backend=backend, check=False, **question)
        assert abs(result.objective) < 1e-9
        report = check(problem, result)
        assert report.verdict is Verdict.VERIFIED, report.messages


def test_a_path_that_begins_at_a_finite_lam_has_to_prove_why():
    # x <= 1 - lam and x >= 0: feasible up to lam = 1.
    problem = ParametricLP(A=np.array([[1.0]]), b=[1.0], b_bar=[-1.0], c=[1.0], c_bar=[0.0])
    bases = brute_path(problem)
    assert bases[0].high == 1.0
    silent = path_result(problem, bases)
    assert check(problem, silent).verdict is Verdict.UNPROVEN
    proven = path_result(problem, bases, arrays={"farkas_above": np.ones(1)})
    assert check(problem, proven).verdict is Verdict.VERIFIED
    wrong = path_result(problem, bases, arrays={"farkas_above": -np.ones(1)})
    assert check(problem, wrong).verdict is Verdict.REFUTED


def test_statuses_that_zero_contradicts_are_refuted():
    problem = small("lad", 0)
    for status in (Status.INFEASIBLE, Status.UNBOUNDED, Status.INF_OR_UNB):
        result = Result(status=status, params=SolveParams(lam=1.0))
        assert check(problem, result).verdict is Verdict.REFUTED, status


@pytest.mark.parametrize("angle", [1e-3, 1e-5, 1e-6])
def test_an_ill_conditioned_path_is_not_called_false(angle):
    """Nearly equal columns: rounding decides, at a condition number of angle^-2."""
    x = np.array([3.0, 1.0, -2.0, 0.5])
    other = x + angle * np.array([1.0, -2.0, 0.3, 1.0])
    problem = DantzigSelector(X=np.column_stack([x, other]), y=[1.0, 2.0, -1.0, 3.0])
    result = sparseopt.solve(problem, backend="highs", check=False)
    assert check(problem, result).verdict is not Verdict.REFUTED


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("size", [1e-6, 1e6])
@pytest.mark.parametrize("kind", ["dantzig", "lad"])
def test_the_verdict_does_not_depend_on_units(kind, size):
    problem = small(kind, 3)
    scaled = type(problem)(X=problem.X * size, y=problem.y * size**2)
    bases = brute_path(type(problem)(X=problem.X, y=problem.y))
    lam = 0.5 * bases[0].low * (size**3 if kind == "dantzig" else size)
    for question in ({}, {"lam": lam}):
        result = sparseopt.solve(scaled, backend="homotopy", check=False, **question)
        assert check(scaled, result).verdict is Verdict.VERIFIED
        tampered = result.with_changes(x=result.x * (1.0 + 1e-6))
        assert check(scaled, tampered).verdict is Verdict.REFUTED


REAL = {
    "dantzig": lambda rng: DantzigSelector(X=rng.normal(size=(20, 12)), y=rng.normal(size=20)),
    "wide": lambda rng: DantzigSelector(X=rng.normal(size=(6, 12)), y=rng.normal(size=6)),
    "lad": lambda rng: LADLasso(X=rng.normal(size=(15, 6)), y=rng.normal(size=15)),
    "intercept": lambda rng: LADLasso(
        X=rng.normal(size=(15, 6)), y=rng.normal(size=15), fit_intercept=True
    ),
    "badly scaled": lambda rng: DantzigSelector(
        X=rng.normal(size=(20, 6)) * 10.0 ** np.arange(-3, 3), y=rng.normal(size=20)
    ),
}


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("backend", ["homotopy", "highs"])
@pytest.mark.parametrize("name", REAL)
def test_what_the_backends_return_is_verified(backend, name):
    problem = REAL[name](np.random.default_rng(7))
    for question in ({}, {"lam": 0.5}, {"lam": (0.2, 1.0)}, {"lam_min": 0.3}, {"max_knots": 3}):
        result = sparseopt.solve(problem, backend=backend, check=False, **question)
        report = check(problem, result)
        assert report.verdict is Verdict.VERIFIED, (question, report.messages)
