"""The engines of MISDPs: optima that are known otherwise, proofs, rays, limits, starts."""

import os
import signal
import threading
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from small_misdps import draw, enumerated, faults
from thorough import first

import sparseopt
from sparseopt import Limit, ParamError, Status, Verdict
from sparseopt.compiling import Mode, override
from sparseopt.generators.misdp import k_partitioning, network_design, restricted_isometry
from sparseopt.generators.random_misdp import random_misdp
from sparseopt.io.solu import read_solu
from sparseopt.problems import MISDP, STRS, MISDPBuilder
from sparseopt.problems.strs.semidefinite import strs_as_misdp

pytest.importorskip("clarabel", reason="Clarabel is not installed: sparseopt[misdp]")

ENGINES = ["misdp-bnb", "misdp-oa"]
OFF = np.array([[0.0, 1.0], [1.0, 0.0]])

each_engine = pytest.mark.parametrize("backend", ENGINES)


def solve(problem, backend="misdp-bnb", **question):
    """Solve, and stop a test that would run without end."""
    return sparseopt.solve(problem, backend=backend, **{"time_limit": 20.0, **question})


def proven(result):
    return (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)


def ray_of_integers(first=1.0, second=1.0, least=0.0):
    """Maximise k + j with first k = second j below the eigenvalues of a free matrix."""
    model = MISDPBuilder("max")
    k, j = model.variables(2, lower=least, integer=True)
    X = model.matrix(2)
    model.row((k, first), (j, -second), lower=0.0, upper=0.0)
    model.semidefinite(
        (X[0, 0], np.diag([1.0, 0.0])),
        (X[1, 0], OFF),
        (X[1, 1], np.diag([0.0, 1.0])),
        (k, -np.eye(2)),
    )
    model.objective((k, 1.0), (j, 1.0))
    return model.build()


# ---- optima


SEEDS = [0, 4, 11, 12, 13, 15, 16, 17, 18, 21, 22, 5, 7, 9, 70122]
"""Those that are soon enumerated; at the last one the best point is a second solver's."""


@pytest.mark.thorough(after=1)
@each_engine
@pytest.mark.parametrize("seeds", first(1, [(SEEDS[:11],), (SEEDS[11:],)]))
def test_against_enumeration(backend, seeds):
    """A part of what the study verify-misdp runs: infeasible ones and flat ones among them."""
    wrong = [(k, found) for k in seeds if (found := faults(draw(k), backend, _known(k)))]
    assert wrong == []
    if seeds == SEEDS[:11]:
        assert {_known(k).optimum is None for k in seeds} == {True, False}


_KNOWN = {}


def _known(seed):
    if seed not in _KNOWN:
        _KNOWN[seed] = enumerated(draw(seed))
    return _KNOWN[seed]


@pytest.mark.parametrize("seed", [50077, 50146])
def test_leaves_hold_with_the_bounds_that_their_integers_imply(seed):
    # Continuous variables without bounds get tighter ones step by step down the tree.
    result = solve(draw(seed))
    assert proven(result), result.check_messages


@pytest.mark.parametrize("relaxation", ["barrier", "clarabel"])
def test_what_is_stated_holds_in_the_bounds_that_the_checker_derives(relaxation):
    # Large multipliers at ends of continuous variables that compiled loops derive more tightly.
    with override(Mode.NOW):
        result = solve(draw(118), options={"relaxation": relaxation})
    assert proven(result), result.check_messages


@pytest.mark.thorough
def test_many_against_enumeration():
    """More of them; SPARSEOPT_MISDP_CASES=1000 for a thousand, a quarter of an hour.

    At the seeds 340 and 355 nothing has an interior, and it is Clarabel's points that are off: by
    5e-9, which moves their values by 4e-5 and 9e-5. `check --exact` proves ours at 355.
    """
    count = int(os.environ.get("SPARSEOPT_MISDP_CASES", "60"))
    wrong = [
        (k, found)
        for k in range(100, 100 + count)
        if (found := faults(draw(k), "misdp-bnb", enumerated(draw(k))))
    ]
    assert wrong == []


@pytest.mark.thorough
@pytest.mark.parametrize("seeds", first(1, [(SEEDS[:6],), (SEEDS[6:],)]))
def test_linear_programs_in_our_own_tree_against_enumeration(seeds):
    wrong = [
        (k, found)
        for k in seeds
        if (found := faults(draw(k), "misdp-oa", _known(k), options={"master": "tree"}))
    ]
    assert wrong == []


@pytest.mark.thorough
def test_linear_programs_alone_prove_an_optimum():
    problem = network_design(seed=1, nodes=6, candidates=11, k=7)
    result = solve(problem, "misdp-oa", options={"master": "tree"})
    assert proven(result)
    assert result.objective == pytest.approx(solve(problem).objective, rel=1e-6)
    # Fewer semidefinite relaxations than nodes: the others are linear programs.
    assert result.iterations < result.nodes


@pytest.mark.thorough
def test_lazy_cuts_of_scip_against_enumeration():
    pytest.importorskip("pyscipopt", reason="pyscipopt is not installed: sparseopt[scip]")
    for seed in SEEDS[:8]:
        assert faults(draw(seed), "misdp-oa", _known(seed), options={"master": "scip"}) == []


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("relaxation", ["clarabel", "scs", "barrier"])
def test_every_solver_of_relaxations(relaxation):
    if relaxation == "scs":
        pytest.importorskip("scs", reason="SCS is not installed: sparseopt[misdp]")
    problem = k_partitioning(seed=1, nodes=5, k=2)
    expected = solve(problem, "misdp-oa").objective
    result = solve(problem, options={"relaxation": relaxation}, rel_gap=1e-5)
    assert proven(result)
    assert result.objective == pytest.approx(expected, rel=1e-5)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("kind", ["boundary", "infeasible"])
def test_no_strict_feasibility(kind):
    problem = random_misdp(seed=3, kind=kind, integers=3, continuous=1)
    known = enumerated(problem)
    assert (known.optimum is None) == (kind == "infeasible")
    for backend in ENGINES:
        assert faults(problem, backend, known) == [], backend


@pytest.mark.thorough(after=1)
@each_engine
@pytest.mark.parametrize(
    ("D", "d", "formulation"),
    first(1, [(5, 2, "strong"), (6, 3, "strong"), (5, 2, "weak")]),
)
def test_the_optimum_of_a_trust_region_subproblem(backend, D, d, formulation):
    rng = np.random.default_rng(D)
    M = rng.normal(size=(D, D))
    problem = STRS(A=M + M.T, a=rng.normal(size=D), d=d)
    expected = sparseopt.solve(problem, backend="strs-bnb").objective
    result = solve(strs_as_misdp(problem, formulation), backend)
    assert proven(result)
    assert result.objective == pytest.approx(expected, abs=2e-6)


@pytest.mark.parametrize(
    ("backend", "options", "D", "d", "formulation"),
    [
        ("misdp-bnb", {}, 8, 2, "strong"),
        ("misdp-bnb", {}, 12, 3, "weak"),
        pytest.param("misdp-oa", {}, 9, 2, "strong", marks=pytest.mark.thorough),
        pytest.param("misdp-oa", {}, 10, 3, "weak", marks=pytest.mark.thorough),
        ("misdp-oa", {"master": "scip"}, 8, 2, "weak"),
    ],
)
def test_larger_trust_region_subproblems(backend, options, D, d, formulation):
    """A part of what the study verify-misdp runs, up to D = 15."""
    if options:
        pytest.importorskip("pyscipopt", reason="pyscipopt is not installed: sparseopt[scip]")
    rng = np.random.default_rng(D)
    M = rng.normal(size=(D, D))
    problem = STRS(A=M + M.T, a=np.zeros(D), d=d)
    expected = sparseopt.solve(problem, backend="strs-bnb").objective
    result = solve(strs_as_misdp(problem, formulation), backend, options=options)
    assert proven(result)
    assert result.objective == pytest.approx(expected, rel=1e-6)


def test_auto_takes_branch_and_bound():
    assert sparseopt.solve(draw(0)).backend == "misdp-bnb"


# ---- infeasible and unbounded


@pytest.mark.thorough(after=1)
@each_engine
@pytest.mark.parametrize("sizes", [(1.0, 1.0), (13.0, 17.0)])
def test_integers_that_grow_for_ever(backend, sizes):
    result = solve(ray_of_integers(*sizes, least=1.0), backend)
    assert (result.status, result.verdict) == (Status.UNBOUNDED, Verdict.VERIFIED)
    ray = result.certificate.arrays["ray"]
    assert (ray[:2] == np.rint(ray[:2])).all()
    assert ray[0] * sizes[0] == pytest.approx(ray[1] * sizes[1])


@each_engine
def test_a_ray_is_nothing_without_a_point(backend):
    model = MISDPBuilder("max")
    x = model.variable(lower=0.0)
    k = model.variable(lower=0.0, upper=3.0, integer=True)
    model.semidefinite(
        (k, OFF), (x, np.zeros((2, 2))), constant=np.array([[0.2, -1.4], [-1.4, 0.2]])
    )
    model.objective((x, 1.0))
    result = solve(model.build(), backend)
    assert (result.status, result.verdict) == (Status.INFEASIBLE, Verdict.VERIFIED)


@each_engine
def test_integers_without_bounds_may_have_an_optimum(backend):
    """The least k + j with k j >= 9."""
    model = MISDPBuilder("min")
    k, j = model.variables(2, integer=True)
    model.semidefinite((k, np.diag([1.0, 0.0])), (j, np.diag([0.0, 1.0])), constant=3.0 * OFF)
    model.objective((k, 1.0), (j, 1.0))
    result = solve(model.build(), backend)
    assert proven(result)
    assert result.objective == pytest.approx(6.0)


@pytest.mark.thorough(after=1)
@each_engine
def test_a_tree_without_end_honours_the_limit(backend, in_time):
    """2 k - 2 j = 1 has no integer solution, and no branch is ever empty."""
    model = MISDPBuilder("max")
    k, j = model.variables(2, integer=True)
    model.row((k, 2.0), (j, -2.0), lower=1.0, upper=1.0)
    model.objective((k, 1.0))
    result = in_time(3.0, lambda: solve(model.build(), backend, time_limit=0.5))
    assert (result.status, result.limit) == (Status.NO_SOLUTION, Limit.TIME)


# ---- limits, starts, interruptions


@pytest.mark.thorough
@each_engine
@pytest.mark.parametrize("nodes", first(1, [1, 3, 10, 20]))
def test_node_limits_leave_valid_bounds(backend, nodes):
    problem = restricted_isometry(seed=2, m=6, n=7, k=3)
    optimum = _isometry_optimum()
    result = solve(problem, backend, node_limit=nodes)
    assert result.verdict is not Verdict.REFUTED
    assert result.bound <= optimum + 1e-6
    if result.x is not None:
        assert result.objective >= optimum - 1e-6
    if result.status is not Status.OPTIMAL:
        assert result.limit is Limit.NODE


@cache
def _isometry_optimum():
    """Return the least squared singular value of three columns, by all of them."""
    import itertools

    rows = restricted_isometry(seed=2, m=6, n=7, k=3)
    k = int(rows.integer.sum())
    low = []
    for chosen in itertools.combinations(range(k), 3):
        lower, upper = rows.lower.copy(), rows.upper.copy()
        values = np.isin(np.arange(k), chosen).astype(float)
        lower[rows.integer] = upper[rows.integer] = values
        fixed = rows.with_changes(lower=lower, upper=upper)
        low.append(solve(fixed, check=False).objective)
    return min(low)


@pytest.mark.thorough(after=1)
@each_engine
@pytest.mark.parametrize("seconds", [0.0, 0.05, 0.4])
def test_time_limits_leave_valid_bounds(backend, seconds, in_time):
    problem = _long()
    # The first solve imports, which the limit does not count.
    solve(draw(0), backend)
    result = in_time(seconds + 1.5, lambda: solve(problem, backend, time_limit=seconds))
    assert result.verdict is not Verdict.REFUTED
    assert result.limit is Limit.TIME
    if result.bound is not None and result.x is not None:
        assert result.bound >= result.objective  # the greatest connectivity


def _long():
    """Design a network of a size that takes minutes."""
    return network_design(seed=0, nodes=14, candidates=40, k=20)


@pytest.mark.thorough(after=1)
@each_engine
def test_ctrl_c_leaves_what_is_known(backend, in_time):
    solve(draw(0), backend)
    problem = _long()

    def interrupted():
        previous = signal.signal(signal.SIGINT, lambda *_: None)
        timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
        try:
            timer.start()
            return solve(problem, backend)
        finally:
            timer.cancel()
            timer.join()
            signal.signal(signal.SIGINT, previous)

    result = in_time(3.5, interrupted)
    assert result.limit is Limit.INTERRUPTED
    assert result.verdict is not Verdict.REFUTED


@pytest.mark.thorough
@each_engine
def test_warm_starts_are_the_first_incumbent(backend):
    problem = k_partitioning(seed=1, nodes=9, k=3)
    start = solve(problem, "misdp-bnb", node_limit=1)
    assert start.x is not None
    again = solve(problem, backend, warm_start=start, node_limit=1)
    assert again.objective <= start.objective + 1e-9
    told = []
    solve(problem, backend, warm_start=start.x, time_limit=0.3, on_progress=told.append)
    assert all(progress.objective <= start.objective + 1e-9 for progress in told)


@each_engine
@pytest.mark.parametrize("start", [np.zeros(99), [], "zeros"])
def test_warm_starts_of_another_shape_are_refused(backend, start):
    with pytest.raises(ParamError, match=r"warm_start .*; expected .* NaN where one is not known"):
        solve(draw(0), backend, warm_start=start)


# ---- rank one


@pytest.mark.thorough(after=1)
@each_engine
def test_rank_one_is_kept(backend):
    """At k = 0, 1, 2 the first entry is 0 or 1, 0.067 or 0.933, and 0.5, the closest to 0.6."""
    assert solve(_close_to(False), backend).objective == pytest.approx(0.0, abs=1e-6)
    result = solve(_close_to(True), backend)
    assert result.verdict is not Verdict.REFUTED
    assert result.objective == pytest.approx(0.1, abs=1e-5)
    assert result.bound <= 0.1 + 1e-6
    a, b, c = result.x[:3]
    assert np.linalg.eigvalsh([[a, b], [b, c]])[0] == pytest.approx(0.0, abs=1e-6)


def _close_to(ranked):
    """Bring X_11 close to 0.6 for a matrix of trace 1 with X_12 = k / 4."""
    model = MISDPBuilder("min")
    X = model.matrix(2, rank_one=ranked)
    k = model.variable(lower=0.0, upper=2.0, integer=True)
    off = model.variable(lower=0.0)
    model.row((X[0, 0], 1.0), (X[1, 1], 1.0), lower=1.0, upper=1.0)
    model.row((X[1, 0], 4.0), (k, -1.0), lower=0.0, upper=0.0)
    model.row((X[0, 0], 1.0), (off, 1.0), lower=0.6)
    model.row((X[0, 0], 1.0), (off, -1.0), upper=0.6)
    model.objective((off, 1.0))
    return model.build()


# ---- public instances

FILES = {
    "example_small.dat-s": ENGINES,
    "example_small_cbf.cbf": ENGINES,
    "example_cbf_primal.cbf": ENGINES,
    "example_cbf_dual.cbf": ENGINES,
    "example_inf.dat-s": ENGINES,
    "example_TT.dat-s.gz": ENGINES,
    # Seconds each, so one engine has to do; benchmarks run the other.
    "example_CLS.dat-s.gz": ["misdp-bnb"],
    "example_rank1_primal.cbf": ["misdp-bnb"],
}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "backend"), [(name, backend) for name, who in FILES.items() for backend in who]
)
def test_public_instances(name, backend):
    folder = os.environ.get("SPARSEOPT_EXTRA_DATA")
    if not folder:
        pytest.skip("SPARSEOPT_EXTRA_DATA is not set: the folder with misdp/*.cbf and *.dat-s")
    reference = {v.name: v for v in read_solu(Path(folder) / "misdp" / "reference.solu")}
    known = reference[name.partition(".")[0]]
    problem = sparseopt.load(Path(folder) / "misdp" / name)
    assert isinstance(problem, MISDP)
    result = solve(problem, backend, time_limit=60.0)
    assert result.verdict is Verdict.VERIFIED
    if known.value is None:
        assert result.status is Status.INFEASIBLE
    else:
        assert result.status is Status.OPTIMAL
        assert result.objective == pytest.approx(known.value, rel=1e-5)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("seed", [27, 59, 105])
def test_a_master_that_finds_nothing_better_bounds_the_incumbent_alone(seed):
    """What is not better costs a step of the objective more than the incumbent."""
    problem = k_partitioning(seed=seed)
    result = sparseopt.solve(problem, backend="misdp-oa")
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    assert result.objective == sparseopt.solve(problem, backend="misdp-bnb").objective
    assert all(bound <= result.objective for _, _, bound in result.trace)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("relaxation", ["auto", "clarabel", "barrier"])
def test_problems_without_an_interior_close(relaxation):
    """At seed 340 no bound reaches a feasible point; Clarabel's is better than what is proven."""
    problem = draw(340)
    result = sparseopt.solve(problem, backend="misdp-bnb", options={"relaxation": relaxation})
    assert result.status is Status.OPTIMAL
    assert result.verdict is Verdict.VERIFIED
    assert abs(result.objective + 1.28928) < 2e-4
