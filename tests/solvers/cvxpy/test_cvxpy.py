"""Any of CVXPY's solvers on our problems: the same optima, proven where they can be."""

import numpy as np
import pytest

import sparseopt
from sparseopt import BackendUnavailable, ParamError, Status, UnsupportedProblem, Verdict
from sparseopt.errors import LicenseError
from sparseopt.problems import L1SVM, STRS, DantzigSelector, LADLasso, MISDPBuilder
from sparseopt.registry import get_backend

pytest.importorskip("cvxpy", reason="CVXPY is not installed: sparseopt[cvxpy]")


def solvers():
    """Those of CVXPY's solvers that are installed, open, and take linear programs."""
    import importlib.util

    packages = {"CLARABEL": "clarabel", "SCS": "scs", "HIGHS": "highspy", "ECOS": "ecos"}
    return [name for name, package in packages.items() if importlib.util.find_spec(package)]


RNG = np.random.default_rng(0)
X = RNG.normal(size=(25, 7))
Y = X[:, :3] @ [3.0, -2.0, 1.0] + RNG.normal(size=25)
PROBLEMS = {
    "dantzig": DantzigSelector(X, Y),
    "lad": LADLasso(X, Y, fit_intercept=True),
    "svm": L1SVM(X, np.sign(Y)),
}


@pytest.mark.thorough(after=3)
@pytest.mark.parametrize("solver", solvers())
@pytest.mark.parametrize("name", PROBLEMS)
def test_all_solvers_find_our_optimum_and_it_is_proven(name, solver):
    problem = PROBLEMS[name]
    grid = (6.0, 2.0, 0.5)
    result = sparseopt.solve(problem, backend="cvxpy", lam=grid, options={"solver": solver})
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    ours = sparseopt.solve(problem).path
    for lam in grid:
        assert result.path.objective_at(lam) == pytest.approx(ours.objective_at(lam), rel=1e-8)


def test_a_solver_that_is_not_there_is_named():
    with pytest.raises(BackendUnavailable, match="'NONE': install it"):
        sparseopt.solve(PROBLEMS["lad"], backend="cvxpy", lam=1.0, options={"solver": "NONE"})


def test_cones_that_a_solver_does_not_take_are_told():
    for backend in ("cvxpy", "cvxpy-relaxation"):
        with pytest.raises(UnsupportedProblem, match="HIGHS does not take this problem's cones"):
            sparseopt.solve(least_ball(free=True), backend=backend, options={"solver": "HIGHS"})


def test_a_solver_without_a_licence_is_told():
    mosek = get_backend("mosek")
    if not mosek.availability().available:
        pytest.skip(mosek.availability().reason)
    if mosek.license_status() == "licensed":
        pytest.skip("there is a licence here")
    with pytest.raises(LicenseError, match="MOSEK has no licence"):
        sparseopt.solve(PROBLEMS["lad"], backend="cvxpy", lam=1.0, options={"solver": "MOSEK"})


def test_settings_reach_the_solver():
    problem = PROBLEMS["lad"]
    result = sparseopt.solve(problem, backend="cvxpy", lam=1.0, options={"settings": "max_iter=2"})
    assert result.status is not Status.OPTIMAL
    with pytest.raises(ParamError, match="NAME=VALUE"):
        sparseopt.solve(problem, backend="cvxpy", lam=1.0, options={"settings": "max_iter"})


def test_verbose_shows_what_the_solver_prints(capfd):
    sparseopt.solve(PROBLEMS["lad"], backend="cvxpy", lam=1.0, verbose=True)
    assert "Clarabel" in capfd.readouterr().out


def least_ball(free=False):
    """The least t with (t, x - (3, 4)) in a cone and x1 + x2 <= 0; all variables without bounds."""
    model = MISDPBuilder()
    x = model.variables(2, integer=not free)
    t = model.variable()
    model.cone([[(t, 1.0)], [(x[0], 1.0)], [(x[1], 1.0)]], constant=[0.0, -3.0, -4.0])
    model.row((x, [1.0, 1.0]), upper=0.0)
    model.semidefinite((t, np.eye(2)), (x[0], np.array([[0.0, 0.1], [0.1, 0.0]])))
    model.objective((t, 1.0))
    return model.build()


@pytest.mark.parametrize("solver", ["CLARABEL", "SCS"])
def test_semidefinite_programs_with_free_variables(solver):
    result = sparseopt.solve(least_ball(free=True), backend="cvxpy", options={"solver": solver})
    assert result.objective == pytest.approx(7.0 / np.sqrt(2.0), rel=1e-5)
    assert result.verdict is Verdict.VERIFIED, result.check_messages
    assert result.bound == pytest.approx(7.0 / np.sqrt(2.0), rel=1e-5)


def test_integers_are_refused_and_relaxed():
    problem = least_ball()
    with pytest.raises(UnsupportedProblem, match="misdp-bnb"):
        sparseopt.solve(problem, backend="cvxpy")
    result = sparseopt.solve(problem, backend="cvxpy-relaxation")
    assert result.status is Status.CONVERGED
    assert result.verdict is Verdict.VERIFIED, result.check_messages
    assert result.bound == pytest.approx(7.0 / np.sqrt(2.0), rel=1e-6)
    # x = (0, 0) or (-1, 1): both at a distance of 5.
    assert result.objective == pytest.approx(5.0)
    np.testing.assert_array_equal(result.x[:2], np.rint(result.x[:2]))


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(("D", "d", "linear"), [(7, 2, True), (8, 3, False), (12, 4, True)])
def test_the_relaxation_of_strs_proves_its_value(D, d, linear):
    rng = np.random.default_rng(D)
    A = rng.normal(size=(D, D))
    problem = STRS(A=A + A.T, a=rng.normal(size=D) if linear else None, d=d)
    best = sparseopt.solve(problem, backend="brute-force").objective
    result = sparseopt.solve(problem, backend="cvxpy-relaxation")
    assert result.status in (Status.CONVERGED, Status.OPTIMAL)
    assert result.verdict is Verdict.VERIFIED, result.check_messages
    value = result.certificate.values["relaxation"]
    rounding = 1e-6 * (1.0 + abs(best))
    assert result.objective <= best + rounding
    assert best <= result.bound + rounding
    # The pair of multipliers proves no less than the relaxation's own value.
    assert result.bound <= value + rounding
    plain = sparseopt.solve(STRS(A=problem.A, a=problem.a, d=D), backend="brute-force").objective
    assert result.bound < plain
