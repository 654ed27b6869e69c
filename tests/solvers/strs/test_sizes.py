"""The path over the number of nonzeros: every size proven, warm starts, limits, lies."""

import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sparseopt
from sparseopt import Limit, Status, Verdict
from sparseopt.errors import ParamError, ProblemError, UnsupportedProblem
from sparseopt.io.results import load_result
from sparseopt.problems import STRS, BudgetTables, STRSPath
from sparseopt.solvers.common.spheres import refit

INSTANCES = Path(__file__).parents[3] / "instances"


def random_path(D=9, linear=True, seed=0):
    rng = np.random.default_rng(seed)
    M = rng.normal(size=(D, D))
    return STRSPath(M + M.T, rng.normal(size=D) * linear)


def noise(D=18, n=60):
    data = np.random.default_rng(0).normal(size=(n, D))
    return STRSPath.of(STRS.from_data(data, D))


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("linear", [True, False])
def test_every_size_against_enumeration(linear):
    problem = random_path(linear=linear)
    result = sparseopt.solve(problem)
    path = result.path
    assert (result.backend, result.status) == ("strs-bnb", Status.OPTIMAL)
    assert result.verdict is Verdict.VERIFIED
    assert path.sizes.tolist() == list(range(1, 10))
    assert path.certified.all()
    assert (np.diff(path.objective) >= -1e-12).all()
    for d in path.sizes.tolist():
        supports = np.array(list(itertools.combinations(range(9), d)))
        best = refit(problem.A, problem.linear, supports)[0].value
        assert path.objective_at(d) == pytest.approx(best, rel=1e-12)
        assert path.bound_at(d) >= best - 1e-12 * abs(best)
        assert problem.objective(path.at(d)) == pytest.approx(best, rel=1e-12)
        assert len(path.support(d)) <= d


@pytest.mark.thorough
def test_it_agrees_with_single_solves():
    problem = noise(14, 40)
    path = sparseopt.solve(problem).path
    for d in (1, 4, 8, 14):
        single = sparseopt.solve(problem.at(d), backend="strs-bnb")
        assert path.objective_at(d) == pytest.approx(single.objective, rel=1e-12)


@pytest.mark.thorough
def test_sizes_are_a_question_to_one_problem():
    whole = random_path(8)
    problem = STRS(whole.A, whole.a, d=3)
    path = sparseopt.solve(whole).path
    few = sparseopt.solve(problem, size=[2, 5, 6])
    assert (few.status, few.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    assert few.path.sizes.tolist() == [2, 5, 6] and few.path.stopped_by == "d_max"
    for d in (2, 5, 6):
        assert few.path.objective_at(d) == pytest.approx(path.objective_at(d), rel=1e-12)
    for backend in ("strs-bnb", "brute-force", "strs-oa", "strs-admm", "truncation"):
        one = sparseopt.solve(problem, backend=backend, size=5)
        assert one.path is None and one.verdict is Verdict.VERIFIED
        assert np.count_nonzero(one.x) <= 5 and one.residuals()["cardinality"] == 0.0
        assert one.bound >= path.objective_at(5) - 1e-9
    default = sparseopt.solve(problem)
    assert default.objective == pytest.approx(path.objective_at(3), rel=1e-12)
    assert sparseopt.solve(whole, size=5).objective == pytest.approx(one.objective, rel=1e-12)


def test_a_question_about_sizes_that_cannot_be_answered():
    problem = STRS(np.eye(4), d=2)
    with pytest.raises(ParamError, match="size is 5; expected at most the number of variables, 4"):
        sparseopt.solve(problem, size=5)
    with pytest.raises(UnsupportedProblem, match="brute-force does not solve for a path of size"):
        sparseopt.solve(problem, backend="brute-force", size=[1, 2])
    with pytest.raises(UnsupportedProblem, match="a path of size"):
        sparseopt.solve(STRSPath(np.eye(4)), backend="truncation")
    with pytest.raises(ParamError, match="size is for problems with a number of nonzeros"):
        sparseopt.solve(BudgetTables([[1.0, 0.5]]), size=2)


def test_the_answer_to_one_size_is_not_one_to_another():
    problem = random_path(6).at(2)
    five = sparseopt.solve(problem, size=5, check=False)
    assert sparseopt.check(problem, five).verdict is Verdict.VERIFIED
    for size in (None, 4, (4, 5), (5,)):
        other = five.with_changes(params=replace(five.params, size=size))
        assert sparseopt.check(problem, other).verdict is Verdict.REFUTED


def test_old_results_of_a_path_are_still_verified(tmp_path):
    """Files of version 0.1: the kind strs-path, and no size among the parameters."""
    problem = random_path(5)
    sparseopt.save(problem, tmp_path / "path.npz")
    result = sparseopt.solve(problem)
    result.save(tmp_path / "result.json")
    stored = json.loads((tmp_path / "result.json").read_text())
    assert stored["kind"] == "strs-path" and "size" not in stored["params"]
    assert sparseopt.load(tmp_path / "path.npz").fingerprint() == problem.fingerprint()
    pitprops = sparseopt.load(INSTANCES / "pitprops.npz")
    assert pitprops.fingerprint() == (
        "4597d9b1cf4b81893fbcd8233dbbab56ee43dcfafc3b85f38e83aca4d6906c39"
    )


def test_the_default_is_every_size():
    problem = STRSPath(np.eye(4))
    assert problem.last == 4
    assert STRSPath.of(STRS(np.eye(4), d=2)).last == 2
    assert problem.at(3).d == 3


@pytest.mark.parametrize("bad", [0, 5, -1, 2.5, True, "2"])
def test_sizes_out_of_range(bad):
    with pytest.raises(ProblemError, match="d_max"):
        STRSPath(np.eye(4), d_max=bad)


@pytest.mark.thorough
def test_limits_leave_a_shorter_path_that_is_verified():
    problem = noise()
    result = sparseopt.solve(problem, time_limit=0.0)
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.TIME)
    assert result.verdict is Verdict.VERIFIED
    assert 1 <= len(result.path) < problem.last
    assert result.path.stopped_by == "time"
    few = sparseopt.solve(problem, node_limit=1)
    assert (few.status, few.limit) == (Status.FEASIBLE, Limit.NODE)
    assert few.verdict is Verdict.VERIFIED
    assert len(few.path) == problem.last
    assert not few.path.certified.all()


def test_a_size_that_is_not_there():
    path = sparseopt.solve(STRSPath(np.eye(3), d_max=2)).path
    with pytest.raises(ParamError, match="from 1 to 2"):
        path.at(3)


@pytest.fixture(scope="module")
def solved():
    problem = random_path(7)
    return problem, sparseopt.solve(problem)


def lie(result, **changes):
    return result.with_changes(path=replace(result.path, **changes))


def test_lies_about_a_size_are_refuted(solved):
    problem, result = solved
    path = result.path
    step = np.zeros(7)
    step[2] = 1e-3
    arrays = dict(result.certificate.arrays)
    arrays["mu_3"] = arrays["mu_3"] - 1.0
    swapped = sparseopt.Certificate("leaves-by-size", arrays)
    for tampered in (
        lie(result, objective=path.objective + step),
        lie(result, bound=path.bound - step),
        lie(result, bound=path.bound + step),
        lie(result, value=path.value * 1.01),
        lie(result, sizes=path.sizes + 1),
        lie(result, variables=8),
        lie(result, stopped_by="time"),
        lie(result, certified=path.certified & (path.sizes != 3)),
        result.with_changes(path=None),
        result.with_changes(objective=None),
        result.with_changes(certificate=swapped),
    ):
        assert sparseopt.check(problem, tampered).verdict is Verdict.REFUTED


def test_a_size_without_leaves_is_unproven(solved):
    problem, result = solved
    arrays = {k: v for k, v in result.certificate.arrays.items() if not k.endswith("_4")}
    without = result.with_changes(certificate=sparseopt.Certificate("leaves-by-size", arrays))
    report = sparseopt.check(problem, without)
    assert report.verdict is Verdict.UNPROVEN
    assert any("d = 4" in message for message in report.messages)


def test_it_is_saved_loaded_tabulated_and_drawn(solved, tmp_path):
    problem, result = solved
    sparseopt.save(problem, tmp_path / "path.npz")
    result.save(tmp_path / "result.json")
    again = load_result(tmp_path / "result.json")
    loaded = sparseopt.load(tmp_path / "path.npz")
    assert sparseopt.check(loaded, again).verdict is Verdict.VERIFIED
    np.testing.assert_array_equal(again.path.at(4), result.path.at(4))
    frame = result.path.to_frame()
    assert frame["size"].tolist() == list(range(1, 8))
    assert frame["support"][6] == list(range(7))
    figure = pytest.importorskip("matplotlib.figure").Figure()
    ax = result.path.plot(figure.add_subplot())
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), result.path.objective)
