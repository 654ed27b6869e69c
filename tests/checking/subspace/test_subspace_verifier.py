"""Bounds of robust subspaces hold whatever a certificate says; what is false is refuted."""

import numpy as np
import pytest

import sparseopt
from sparseopt import Certificate, Result, Status, Verdict, exact, generators
from sparseopt.checking.subspace.verifier import _lower_bound
from sparseopt.problems import RobustSubspace


@pytest.fixture(scope="module", params=[None, "estimate"])
def solved(request):
    plain = generators.generate("outlier-columns", N=50, n=6, k=2, delta=0.2)
    moved = 0.0 if request.param is None else 0.5
    problem = RobustSubspace(plain.X + moved, k=2, centre=request.param)
    result = sparseopt.solve(problem)
    return problem, result


def verdict(problem, result):
    return sparseopt.check(problem, result).verdict


def test_right_answers_are_verified(solved):
    assert verdict(*solved) is Verdict.VERIFIED


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("centre", [None, "estimate"])
@pytest.mark.parametrize("seed", range(5))
def test_any_vectors_give_a_lower_bound(centre, seed):
    rng = np.random.default_rng(seed)
    problem = RobustSubspace(rng.normal(size=(30, 4)) + 1.0, k=2, centre=centre)
    U = 3.0 * rng.normal(size=(30, 4))
    low = _lower_bound(problem, lambda rows, block: U[rows])[0]
    for _ in range(200):
        W = np.linalg.qr(rng.normal(size=(4, 2)))[0]
        x = W if centre is None else np.column_stack([W, problem.X[rng.integers(30)]])
        assert low <= problem.objective(x)


def test_what_is_stated_falsely_is_refuted(solved):
    problem, result = solved
    x = np.array(result.x)
    turned = x.copy()
    turned[:, :2] = np.linalg.qr(x[:, :2] + 0.1)[0]
    stretched = x * 1.5
    lies = {
        "rotated": result.with_changes(x=turned),
        "stretched": result.with_changes(x=stretched),
        "another k": result.with_changes(x=x[:, 1:]),
        "bound": result.with_changes(bound=result.bound * 1.01),
        "objective": result.with_changes(objective=result.objective * 0.9),
        "both": result.with_changes(objective=result.objective * 0.9, bound=result.bound * 0.9),
        "infeasible": result.with_changes(
            status=Status.INFEASIBLE, x=None, objective=None, bound=None, certificate=None
        ),
    }
    assert {name: verdict(problem, lie) for name, lie in lies.items()} == dict.fromkeys(
        lies, Verdict.REFUTED
    )


def test_a_worse_subspace_with_a_bound_of_its_own_is_refuted(solved):
    problem, result = solved
    x = np.array(result.x)
    x[:, :2] = np.linalg.qr(x[:, :2] + 0.1)[0]
    value = problem.objective(x)
    lie = result.with_changes(x=x, objective=value, bound=value)
    assert verdict(problem, lie) is Verdict.REFUTED


@pytest.mark.parametrize("name", ["inlier", "cross", "metric"])
@pytest.mark.parametrize("make", ["shape", "nan", "missing", "noise"])
def test_no_change_of_the_certificate_proves_a_higher_bound(solved, name, make):
    problem, result = solved
    assert result.certificate.kind == "inliers"
    arrays = dict(result.certificate.arrays)
    array = np.array(arrays[name], dtype=float)
    if make == "shape":
        arrays[name] = array[:-1]
    elif make == "nan":
        arrays[name] = array * np.nan
    elif make == "missing":
        del arrays[name]
    else:
        arrays[name] = np.random.default_rng(0).normal(size=array.shape) > 0.0
    changed = result.with_changes(certificate=Certificate("inliers", arrays))
    if make in ("shape", "missing") or (make == "nan" and name != "inlier"):
        assert verdict(problem, changed) is Verdict.REFUTED
    else:
        low = result.with_changes(
            status=Status.CONVERGED, bound=-1e4, certificate=Certificate("inliers", arrays)
        )
        assert verdict(problem, low) is not Verdict.REFUTED
        higher = changed.with_changes(bound=result.objective * (1.0 + 1e-6))
        assert verdict(problem, higher) is not Verdict.VERIFIED


@pytest.mark.parametrize("times", [1.1, 3.0])
def test_vectors_longer_than_1_are_shortened(solved, times):
    """As they are they would prove up to `times` the least sum; cut to length 1, at most that."""
    problem, result = solved
    W, n = np.array(result.x)[:, :2], problem.X.shape[1]
    arrays = {"complement": times * (np.eye(n) - W @ W.T), "shift": problem.X[-1] * 0.0}
    longer = Certificate("relaxation", arrays, {"floor": 1e-3})
    claim = result.with_changes(certificate=longer, bound=result.objective * (1.0 + 1e-6))
    report = sparseopt.check(problem, claim)
    assert report.verdict is Verdict.REFUTED and report.residuals["bound"] > 0.0


def test_a_relaxation_of_nonsense_proves_nothing(solved):
    problem, result = solved
    rng = np.random.default_rng(1)
    arrays = {"complement": 1e6 * rng.normal(size=(6, 6)), "shift": rng.normal(size=6)}
    lie = result.with_changes(certificate=Certificate("relaxation", arrays, {"floor": 1e-300}))
    assert verdict(problem, lie) is Verdict.REFUTED


def test_a_large_centre_hides_nothing():
    rng = np.random.default_rng(2)
    problem = RobustSubspace(rng.normal(size=(20, 3)), k=1, centre="estimate")
    x = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    x[0, 1] = 1e12
    value = problem.objective(np.column_stack([x[:, 0], np.zeros(3)]))
    lie = Result(status=Status.CONVERGED, x=x, objective=value * 0.99, problem=problem)
    assert verdict(problem, lie) is Verdict.REFUTED


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("skewed-directions", {"N": 40, "n": 5}),
        ("bent-curve", {"N": 40}),
        ("index-model", {"N": 40}),
        ("index-model", {"N": 40, "model": "classes"}),
    ],
)
def test_smooth_tasks_are_never_verified_and_lies_are_refuted(name, settings):
    problem = generators.generate(name, **settings)
    result = sparseopt.solve(problem)
    x, value, k = np.array(result.x), result.objective, problem.k
    report = sparseopt.check(problem, result)
    assert report.verdict is Verdict.UNPROVEN
    assert report.residuals["stationarity"] < 1e-6
    turned = np.linalg.qr(x + 0.3 * np.random.default_rng(0).normal(size=x.shape))[0]
    here = result.with_changes(x=turned, objective=problem.objective(turned))
    assert sparseopt.check(problem, here).residuals["stationarity"] > 1e-3
    # Another basis of the same subspace is the same answer.
    Q = np.linalg.qr(np.random.default_rng(1).normal(size=(k, k)))[0]
    assert verdict(problem, result.with_changes(x=x @ Q)) is Verdict.UNPROVEN
    proven = result.with_changes(status=Status.OPTIMAL, bound=value)
    assert verdict(problem, proven) is Verdict.UNPROVEN
    wider = np.linalg.qr(np.hstack([x, np.ones((len(x), 1))]))[0]
    lies = {
        "turned": result.with_changes(x=turned),
        "stretched": result.with_changes(x=1.5 * x),
        "another k": result.with_changes(x=wider),
        "objective": result.with_changes(objective=0.9 * value),
        "bound": result.with_changes(bound=1.1 * value),
        "nan": result.with_changes(x=x * np.nan),
        "infeasible": result.with_changes(status=Status.INFEASIBLE, x=None, objective=None),
        "unbounded": result.with_changes(status=Status.UNBOUNDED, x=None, objective=None),
    }
    assert {lie: verdict(problem, lies[lie]) for lie in lies} == dict.fromkeys(
        lies, Verdict.REFUTED
    )


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("centre", [None, "estimate"])
@pytest.mark.parametrize("seed", range(3))
def test_bounds_of_columns_of_any_unit_leave_room_for_rounding(seed, centre):
    rng = np.random.default_rng([seed, 3])
    for X in (
        rng.normal(size=(37, 5)) * 10.0 ** rng.integers(-6, 7, 5),
        rng.normal(size=(40, 3)) + 1e4,
    ):
        for k in (1, 2):
            result = sparseopt.solve(RobustSubspace(X, k=k, centre=centre))
            assert result.verdict is Verdict.VERIFIED, result.check_messages


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    ("n", "k"), [(3, 2), (4, 2), (5, 3), pytest.param(40, 3, marks=pytest.mark.thorough)]
)
def test_a_sum_of_rounding_errors_is_the_least_one(n, k, seed, tmp_path):
    # All points lie in a subspace: no sum is below 0, and rounding makes out more with n and k.
    X = np.repeat(np.random.default_rng(seed).normal(size=(k, n)), 5, axis=0)
    problem = RobustSubspace(X, k)
    result = sparseopt.solve(problem)
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    files = tmp_path / "p.npz", tmp_path / "r.json"
    sparseopt.save(problem, files[0])
    sparseopt.save(result, files[1])
    assert exact.check(*files)[0] == "proven"
    more = 1e-12 * problem.spread
    false = result.with_changes(bound=result.objective + more, objective=result.objective + more)
    sparseopt.save(false, files[1])
    assert verdict(problem, false) is not Verdict.VERIFIED
    assert exact.check(*files)[0] != "proven"
