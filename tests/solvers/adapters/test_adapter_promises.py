"""What every adapter promises of a call: quiet, verbose, gaps, limits, seeds, statuses."""

import subprocess
import sys

import numpy as np
import pytest
from thorough import first

import sparseopt
from sparseopt import Limit, Status, Verdict
from sparseopt.errors import LicenseError
from sparseopt.problems import (
    STRS,
    BudgetTables,
    Candidates,
    DantzigSelector,
    L0GraphicalModel,
    MISDPBuilder,
)
from sparseopt.registry import get_backend

RNG = np.random.default_rng(0)


def strs(D: int, d: int) -> STRS:
    rng = np.random.default_rng(1)
    A = rng.normal(size=(D, D))
    return STRS(A=A + A.T, a=rng.normal(size=D), d=d)


def cone(integers: bool, sense: str = "min", upper: float = 1.0, blocks: bool = False):
    """Two variables in [-1, upper] and t >= their norm, to be completed."""
    model = MISDPBuilder(sense)
    x = model.variables(2, lower=-1.0, upper=upper, integer=integers)
    t = model.variable()
    model.cone([[(t, 1.0)], [(x[0], 1.0)], [(x[1], 1.0)]], constant=[0.0, 0.3, 0.4])
    if blocks:
        model.semidefinite((t, np.eye(2)), (x[0], np.array([[0.0, 0.1], [0.1, 0.0]])))
    return model, x, t


def closest(integers: bool, blocks: bool = False):
    model, _, t = cone(integers, blocks=blocks)
    model.objective((t, 1.0))
    return model.build()


DANTZIG = DantzigSelector(X=RNG.normal(size=(20, 30)), y=RNG.normal(size=20))
KINDS = {
    "lp": (DANTZIG, {"lam": 2.0}),
    "grid": (DANTZIG, {"lam": (3.0, 1.0)}),
    "strs": (strs(5, 2), {}),
    "tables": (BudgetTables([RNG.normal(size=5) for _ in range(6)]), {"budget": 5}),
    "model": (L0GraphicalModel(RNG.normal(size=(40, 4)), Candidates.window(4, 2)), {"budget": 3}),
    "integers": (closest(True), {}),
    "cones": (closest(False), {}),
    "matrices": (closest(False, blocks=True), {}),
}


def kinds_by_solver():
    for name in [
        "scip",
        "gurobi",
        "copt",
        "xpress",
        "highs",
        "highs-knapsack",
        "cvxpy",
        "cvxpy-relaxation",
    ]:
        backend = get_backend(name)
        for kind, (problem, question) in KINDS.items():
            if backend.answers(problem, sparseopt.SolveParams(**question))[0]:
                yield pytest.param(name, kind, id=f"{name}-{kind}")


@pytest.mark.thorough
@pytest.mark.parametrize(("solver", "kind"), list(kinds_by_solver()))
def test_quiet_is_quiet_and_verbose_is_not(solver, kind, capfd):
    """On both streams: a log is for standard output, and nothing else is for anybody."""
    problem, question = KINDS[kind]
    availability = get_backend(solver).availability()
    if not availability.available:
        pytest.skip(availability.reason)
    quiet = sparseopt.solve(problem, backend=solver, threads=1, **question)
    assert capfd.readouterr() == ("", "")
    loud = sparseopt.solve(problem, backend=solver, threads=1, verbose=True, **question)
    out, err = capfd.readouterr()
    assert len(out) > 200
    assert err == ""
    assert quiet.status is loud.status
    assert quiet.status in (Status.OPTIMAL, Status.CONVERGED)
    assert quiet.objective == loud.objective


@pytest.mark.thorough
def test_a_quiet_first_solve_of_a_process_writes_nothing():
    """HiGHS logs a banner once in a process, for which a test that comes later is blind."""
    code = "import numpy, sparseopt; from sparseopt.problems import LADLasso as P; " + (
        "sparseopt.solve(P(X=numpy.eye(3), y=numpy.ones(3)), backend='highs', lam=0.5)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.thorough
def test_threads_and_seed_reach_the_solver(solver, capfd):
    problem = strs(5, 2)
    runs = {
        seed: sparseopt.solve(problem, backend=solver, threads=1, seed=seed, verbose=True)
        for seed in (1, 2, 3)
    }
    log = capfd.readouterr().out
    words = {
        "gurobi": ("Set parameter Threads to value 1", "Set parameter Seed to value 3"),
        "copt": ("Setting parameter 'Threads' to 1", "Setting parameter 'RandSeed' to 3"),
        "xpress": ("THREADS = 1", "RANDOMSEED = 3"),
        # Its log does not name them.
        "scip": ("SCIP Status",),
    }
    assert all(word in log for word in words[solver])
    assert len({run.iterations for run in runs.values()}) > 1
    assert {run.status for run in runs.values()} == {Status.OPTIMAL}


@pytest.mark.thorough
@pytest.mark.parametrize("gap", [{"rel_gap": 0.5}, {"abs_gap": 4.0}], ids=["rel", "abs"])
def test_a_wide_gap_ends_the_search_early(solver, gap):
    problem = strs(5, 2)
    exact = sparseopt.solve(problem, backend="strs-bnb", check=False).objective
    whole = sparseopt.solve(problem, backend=solver, threads=1)
    early = sparseopt.solve(problem, backend=solver, threads=1, **gap)
    assert early.status is Status.OPTIMAL
    assert early.nodes < whole.nodes
    assert early.objective <= exact * (1.0 + 1e-9) <= early.bound * (1.0 + 2e-9)
    assert whole.gap <= 1e-6


@pytest.mark.thorough
def test_an_iteration_limit_is_kept_or_its_absence_is_told(solver):
    limited = sparseopt.solve(DANTZIG, backend=solver, lam=0.5, iteration_limit=3)
    tree = sparseopt.solve(strs(8, 3), backend=solver, threads=1, iteration_limit=3)
    for result in (limited, tree):
        if solver == "copt":
            assert any("iteration" in note for note in result.notes)
            assert result.status is Status.OPTIMAL
        else:
            assert result.limit is Limit.ITERATION, result.raw_status
            assert result.status in (Status.NO_SOLUTION, Status.FEASIBLE)
    if solver != "copt":
        assert limited.iterations <= 3
    enough = sparseopt.solve(DANTZIG, backend=solver, lam=0.5, iteration_limit=100_000)
    assert enough.status is Status.OPTIMAL


def without_an_optimum():
    model, x, t = cone(True)
    model.row((x, [1.0, 1.0]), lower=0.2, upper=0.8)
    model.objective((t, 1.0))
    yield "no integers between", Status.INFEASIBLE, model.build()
    model, x, t = cone(False)
    model.row((t, 1.0), upper=0.5)
    model.row((x, [1.0, 0.0]), lower=0.6)
    model.objective((t, 1.0))
    yield "cone and row", Status.INFEASIBLE, model.build()
    model, x, t = cone(True, "max", np.inf)
    model.objective((x[0], 1.0))
    yield "integers without end", Status.UNBOUNDED, model.build()
    model, _, t = cone(False, "max")
    model.objective((t, 1.0))
    yield "cone without end", Status.UNBOUNDED, model.build()


NO_OPTIMUM = {name: (status, problem) for name, status, problem in without_an_optimum()}


@pytest.mark.parametrize("name", NO_OPTIMUM)
def test_programs_without_an_optimum_are_told_apart(solver, name):
    expected, problem = NO_OPTIMUM[name]
    result = sparseopt.solve(problem, backend=solver, threads=1)
    assert result.verdict is not Verdict.REFUTED
    if solver in ("copt", "scip") and name == "integers without end":
        # They sometimes take 1e8 and 5e6 for the end, and call that optimal.
        assert result.status is not Status.OPTIMAL
        assert result.bound is None
    elif solver == "scip" and expected is Status.UNBOUNDED:
        assert result.status in (Status.UNBOUNDED, Status.INF_OR_UNB)
    else:
        assert result.status is expected, result.raw_status


@pytest.mark.thorough
def test_ties_of_all_supports_do_not_stop_spatial_branching(solver):
    """The conformance suite's problem, whose larger size takes Xpress a quarter of a minute."""
    result = sparseopt.solve(STRS(A=np.ones((4, 4)), d=2), backend=solver, threads=1)
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(2.0, rel=1e-9)
    assert 2.0 * (1.0 - 1e-9) <= result.bound <= 2.0 * (1.0 + 1e-6)


@pytest.mark.parametrize("D", first(1, [2, 4]))
def test_all_of_the_sphere(solver, D):
    problem = strs(D, D)
    exact = sparseopt.solve(problem, backend="brute-force").objective
    result = sparseopt.solve(problem, backend=solver, threads=1)
    assert result.status is Status.OPTIMAL, result.notes
    assert result.objective == pytest.approx(exact, rel=1e-9)
    assert result.bound >= exact * (1.0 - 1e-9)


def test_mosek_tells_at_once_again_that_there_is_no_licence():
    mosek = get_backend("mosek")
    if not mosek.availability().available:
        pytest.skip(mosek.availability().reason)
    if mosek.license_status() == "licensed":
        pytest.skip("there is a licence here")
    # Asked each time, MOSEK itself would take five seconds for one in a dozen of these.
    for _ in range(60):
        with pytest.raises(LicenseError, match="no licence"):
            sparseopt.solve(DANTZIG, backend="mosek", lam=1.0)
