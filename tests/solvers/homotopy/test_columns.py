"""All columns of CLIME in one compiled loop: the same as column by column, proven and saved."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import sparseopt
from sparseopt import Certificate, Limit, Status, Verdict
from sparseopt.checking.parametric import verifier
from sparseopt.io.results import load_result
from sparseopt.paths.columns import ColumnwisePath
from sparseopt.problems import CLIME
from sparseopt.solvers.homotopy.runs import columns as run_columns


def covariance(d=12, n=40, seed=0):
    rng = np.random.default_rng(seed)
    precision = np.eye(d) + 0.4 * (np.eye(d, k=1) + np.eye(d, k=-1))
    X = rng.multivariate_normal(np.zeros(d), np.linalg.inv(precision), size=n)
    return np.cov(X.T, bias=True)


def solve(problem, **question):
    return sparseopt.solve(problem, backend="homotopy", **question)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("question", [{}, {"lam_min": 0.2}, {"max_knots": 4}, {"max_nonzeros": 3}])
def test_every_column_is_that_of_its_own_problem(question):
    problem = CLIME(covariance())
    result = solve(problem, **question)
    assert result.status is Status.OPTIMAL
    assert result.verdict is Verdict.VERIFIED
    assert isinstance(result.path, ColumnwisePath)
    for i, path in enumerate(result.path.columns):
        alone = solve(problem.column(i), check=False, **question).path
        assert path.stopped_by == alone.stopped_by
        assert path.low == pytest.approx(alone.low, rel=1e-10, abs=1e-12)
        for lam in alone.low:
            inside = max(lam, path.low[-1])
            assert path.at(inside) == pytest.approx(alone.at(lam), rel=1e-8, abs=1e-9)


def test_some_columns_are_those_of_the_whole():
    problem = CLIME(covariance())
    whole, some = solve(problem, lam_min=0.2), solve(problem.part([7, 0, 4]), lam_min=0.2)
    assert some.verdict is Verdict.VERIFIED
    assert some.x.reshape(3, -1) == pytest.approx(problem.matrix(whole.x).T[[7, 0, 4]], abs=1e-12)
    again = problem.part([7, 0, 4]).part([2])
    assert again.only.tolist() == [4]
    one = sparseopt.solve(again, backend="highs", lam=0.2)
    assert one.objective == pytest.approx(some.path.columns[2].objective_at(0.2))
    with pytest.raises(sparseopt.ParamError, match="needs all columns"):
        again.symmetrised(one.x)


@pytest.mark.parametrize("only", [[1, 1], [], [12], [-1], [0.5], [[1]], "a", [True]])
def test_only_has_to_name_columns(only):
    with pytest.raises(sparseopt.ProblemError, match="only"):
        CLIME(covariance(), only=only)


def test_the_whole_is_one_program_too():
    """The path's value is that of the canonical form, solved as one linear program."""
    problem = CLIME(covariance(6))
    path = solve(problem).path
    for lam in (0.9, 0.4, 0.1):
        one = sparseopt.solve(problem, backend="highs", lam=lam)
        assert path.objective_at(lam) == pytest.approx(one.objective, rel=1e-9)
        assert max(problem.residuals(path.at(lam), lam).values()) <= 1e-9


def test_fewer_observations_than_variables_end_where_a_column_is_infeasible():
    # an S of whole eighths has rank 8 in floating point, too; of others the last digits decide
    X = np.random.default_rng(4).integers(-4, 5, (8, 16)).astype(float)
    problem = CLIME(X.T @ X / 8.0)
    result = solve(problem)
    assert result.path.stopped_by == "infeasible_below"
    assert result.verdict is Verdict.VERIFIED
    end = float(result.path.low[-1])
    assert end > 0.0
    below = sparseopt.solve(problem.column(_first_to_end(result.path)), lam=0.99 * end)
    assert below.status is Status.INFEASIBLE


def _first_to_end(path):
    return int(np.argmax([float(column.low[-1]) for column in path.columns]))


def test_zero_and_tied_entries():
    rng = np.random.default_rng(3)
    S = rng.integers(-2, 3, (8, 8)).astype(float)
    S = S @ S.T / 4.0
    S[:, 2] = S[2] = 0.0
    result = solve(CLIME(S))
    assert result.verdict is Verdict.VERIFIED


@pytest.mark.thorough
def test_saved_results_are_verified_again(tmp_path):
    problem = CLIME(covariance())
    result = solve(problem, lam_min=0.1)
    result.save(tmp_path / "clime.json")
    again = load_result(tmp_path / "clime.json", problem)
    assert sparseopt.check(problem, again).verdict is Verdict.VERIFIED
    assert again.path.at(0.3).tolist() == result.path.at(0.3).tolist()


def test_tampering_is_refuted():
    problem = CLIME(covariance())
    result = solve(problem, lam_min=0.1)
    arrays = result.certificate.arrays
    for name in ("low", "high", "codes", "change_code", "column_ptr"):
        changed = arrays[name].copy()
        at = 5 if len(changed) > 5 else 0
        changed[at] = changed[at] + 1 if changed.dtype.kind == "i" else changed[at] * 1.01
        lie = Certificate("columnwise", {**arrays, name: changed})
        report = sparseopt.check(problem, result.with_changes(certificate=lie))
        assert report.verdict is Verdict.REFUTED, name
    x = result.x.copy()
    x[np.argmax(np.abs(x))] *= 1.0 + 1e-6
    assert sparseopt.check(problem, result.with_changes(x=x)).verdict is Verdict.REFUTED
    worse = result.with_changes(objective=result.objective * (1.0 + 1e-6))
    assert sparseopt.check(problem, worse).verdict is Verdict.REFUTED


def test_threads_do_not_change_the_answer():
    problem = CLIME(covariance(20))
    one, two = (solve(problem, lam_min=0.05, threads=count, check=False) for count in (1, 2))
    assert one.x.tolist() == two.x.tolist()
    assert one.path.low.tolist() == two.path.low.tolist()


@pytest.mark.thorough
def test_columns_for_which_there_is_no_room_are_followed_again(monkeypatch):
    problem = CLIME(covariance(20))
    roomy = solve(problem, lam_min=0.05, check=False)
    monkeypatch.setattr(run_columns, "COLUMN_SEGMENTS", 3)
    monkeypatch.setattr(run_columns, "COLUMN_ENTRIES", 10)
    tight = solve(problem, lam_min=0.05)
    assert tight.verdict is Verdict.VERIFIED
    assert tight.x.tolist() == roomy.x.tolist()
    assert tight.path.low.tolist() == roomy.path.low.tolist()


@pytest.mark.thorough
def test_a_time_limit_ends_the_columns():
    problem = CLIME(covariance(250, n=500))
    results = [solve(problem, time_limit=0.05, check=False) for _ in range(4)]
    assert {r.limit for r in results} == {Limit.TIME}
    assert {r.status for r in results} <= {Status.FEASIBLE, Status.NO_SOLUTION}
    # a busy machine holds up one or another
    assert min(r.solve_time + r.build_time for r in results) < 0.55


@pytest.mark.thorough
@pytest.mark.parametrize("size", [18, 30])
def test_columns_of_correlated_measurements_are_walked_again_the_worst_ones_first(size):
    # Radii, perimeters and areas of tumours: the paths of some columns lose digits in their rows
    # alone, which their objectives do not show, and all columns together take too many pivots.
    X = load_breast_cancer().data
    alike = [c + 10 * k for c in (0, 2, 3, 5, 6, 7) for k in range(3)]
    result = solve(CLIME(np.corrcoef(X[:, alike if size == 18 else slice(None)].T)))
    assert result.verdict is Verdict.VERIFIED, result.check_messages


@pytest.mark.thorough
def test_columns_of_a_singular_covariance_end_where_they_become_infeasible():
    # 32 rows of integers in 34 variables, whose S is exact: rounding must not be pivoted on
    X = np.round(2.0 * np.random.default_rng(94).normal(size=(32, 34)))
    problem = CLIME(X.T @ X / 32.0)
    assert np.linalg.matrix_rank(problem.S) == 32
    result = solve(problem)
    assert result.verdict is Verdict.VERIFIED, result.check_messages
    assert {path.stopped_by for path in result.path.columns} == {"infeasible_below"}
    column = result.path.columns[11]
    assert abs(column.low[-1] * column.objective[-1, 1]) > 1e4 * column.objective[-1, 0]


def test_columns_are_evaluated_a_few_at_a_time(monkeypatch):
    problem = CLIME(covariance())
    result = solve(problem, lam_min=0.2)
    wrong = result.x.copy()
    wrong[5 * 12 + 3] += 0.1
    seen = []
    for coordinates in (10**6, 50):
        monkeypatch.setattr(verifier, "_COORDINATES", coordinates)
        seen.append(verifier.verify.evaluate(problem, result.x, 0.2))
        assert sparseopt.check(problem, result).verdict is Verdict.VERIFIED
        found = verifier.verify.evaluate(problem, wrong, 0.2)
        assert found.violation > 1.0
        assert sparseopt.check(problem, result.with_changes(x=wrong)).verdict is Verdict.REFUTED
    assert "columns 4 to 5" in found.where
    assert seen[0].value == seen[1].value
    assert seen[0].size == pytest.approx(seen[1].size, rel=1e-4)  # each part has its own noise
    assert max(each.violation for each in seen) < 1.0
