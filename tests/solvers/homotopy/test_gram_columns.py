"""CLIME and LPD from the data, S never formed: the same answers, proven, saved, and refuted."""

from __future__ import annotations

import numpy as np
import pytest

import sparseopt
from sparseopt import Certificate, Limit, Status, Verdict, exact
from sparseopt.checking.parametric.segments.columns import check_columns
from sparseopt.io.results import load_result
from sparseopt.path_store import PathStore, solve_in_blocks
from sparseopt.problems import CLIME, LPD, GramMatrix
from sparseopt.problems.parametric.maps import GramMap


def data(d=12, n=40, seed=0):
    rng = np.random.default_rng(seed)
    precision = np.eye(d) + 0.4 * (np.eye(d, k=1) + np.eye(d, k=-1))
    return 3.0 + rng.multivariate_normal(np.zeros(d), np.linalg.inv(precision), size=n)


def solve(problem, **question):
    return sparseopt.solve(problem, backend="homotopy", **question)


def both(X, **more):
    return (CLIME.from_data(X, form=form, **more) for form in (True, False))


WEIGHTS = {"weights": np.linspace(0.5, 2.0, 12), "row_weights": np.linspace(2.0, 1.0, 12)}


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("weights", [{}, WEIGHTS])
@pytest.mark.parametrize("question", [{}, {"lam_min": 0.2}, {"max_knots": 4}, {"max_nonzeros": 3}])
def test_the_paths_are_those_of_the_formed_matrix(question, weights):
    formed, kept = both(data(), **weights)
    assert isinstance(kept.matrix_map.part, GramMap)
    expected, found = solve(formed, **question), solve(kept, **question)
    assert found.status is Status.OPTIMAL
    assert found.verdict is Verdict.VERIFIED
    for one, two in zip(expected.path.columns, found.path.columns, strict=True):
        assert one.stopped_by == two.stopped_by
        assert two.low == pytest.approx(one.low, rel=1e-9, abs=1e-12)
        lam = max(float(one.low[-1]), float(two.low[-1]))
        assert two.at(lam) == pytest.approx(one.at(lam), rel=1e-8, abs=1e-9)


@pytest.mark.thorough
def test_more_columns_than_are_candidates():
    formed, kept = (problem.part([3, 0, 499]) for problem in both(data(500, n=60)))
    expected, found = (solve(problem, max_nonzeros=8) for problem in (formed, kept))
    assert found.verdict is Verdict.VERIFIED
    assert found.path.low == pytest.approx(expected.path.low, rel=1e-9)
    assert found.x == pytest.approx(expected.x, abs=1e-8)


@pytest.mark.thorough
def test_fewer_observations_than_variables_end_where_a_column_is_infeasible():
    _, kept = both(np.round(data(16, n=8)))
    result = solve(kept)
    assert result.path.stopped_by == "infeasible_below"
    assert result.verdict is Verdict.VERIFIED
    end = float(result.path.low[-1])
    assert end > 0.0
    lowest = [float(column.low[-1]) for column in result.path.columns]
    below = sparseopt.solve(kept.column(int(np.argmax(lowest))), lam=0.99 * end)
    assert below.status is Status.INFEASIBLE
    assert below.verdict is Verdict.VERIFIED


def test_tampering_is_refuted():
    _, kept = both(data())
    result = solve(kept, lam_min=0.1)
    arrays = result.certificate.arrays
    for name in ("low", "high", "codes", "change_code", "column_ptr"):
        changed = arrays[name].copy()
        at = 5 if len(changed) > 5 else 0
        changed[at] = changed[at] + 1 if changed.dtype.kind == "i" else changed[at] * 1.01
        lie = Certificate("columnwise", {**arrays, name: changed})
        report = sparseopt.check(kept, result.with_changes(certificate=lie))
        assert report.verdict is Verdict.REFUTED, name
    # the answer to other data is refuted, too
    _, other = both(data() * np.r_[1.001, np.ones(11)])
    assert check_columns(other, result).verdict is Verdict.REFUTED


def test_points_and_grids_of_every_backend():
    formed, kept = both(data())
    expected = solve(formed, lam=0.3).objective
    for backend in ("homotopy", "highs", "highs-ccg"):
        result = sparseopt.solve(kept, backend=backend, lam=0.3)
        assert result.verdict is Verdict.VERIFIED
        assert result.objective == pytest.approx(expected, rel=1e-8)
    assert solve(kept, lam=[0.5, 0.3]).verdict is Verdict.VERIFIED


def test_files_have_the_data_and_are_proven(tmp_path):
    _, kept = both(np.round(data(), 3))
    sparseopt.save(kept, tmp_path / "clime.npz")
    with np.load(tmp_path / "clime.npz") as arrays:
        assert set(arrays.files) == {"X", "__header__"}
    again = sparseopt.load(tmp_path / "clime.npz")
    assert again.fingerprint() == kept.fingerprint()
    result = solve(again, lam_min=0.3)
    result.save(tmp_path / "result.json")
    read = load_result(tmp_path / "result.json", again)
    assert sparseopt.check(again, read).verdict is Verdict.VERIFIED
    found, why = exact.check(tmp_path / "clime.npz", tmp_path / "result.json", 60.0)
    assert found == "proven", why


@pytest.mark.thorough
def test_blocks_of_columns(tmp_path):
    _, kept = both(data(30))
    whole = solve(kept, max_nonzeros=4).path
    solve_in_blocks(kept, tmp_path / "store", block=11, max_nonzeros=4)
    store = PathStore(tmp_path / "store")
    assert store.check(kept).verdict is Verdict.VERIFIED
    for one, two in zip(store.columns, whole.columns, strict=True):
        assert one.low == pytest.approx(two.low, rel=1e-12)


def test_a_time_limit_ends_the_columns(in_time):
    _, kept = both(data(400, n=500))
    solve(kept.part([0]), max_knots=3)
    result = in_time(1.0, lambda: solve(kept, time_limit=0.05, check=False))
    assert result.limit is Limit.TIME
    assert result.status in (Status.FEASIBLE, Status.NO_SOLUTION)


def test_discriminants_of_the_observations():
    x, y = data(seed=1), data(seed=2) + np.linspace(0.0, 1.0, 12)
    formed, kept = (LPD.from_samples(x, y, form=form) for form in (True, False))
    expected, found = solve(formed), solve(kept)
    assert found.verdict is Verdict.VERIFIED
    assert found.path.low == pytest.approx(expected.path.low, rel=1e-9, abs=1e-12)
    assert found.x == pytest.approx(expected.x, rel=1e-7, abs=1e-9)


def test_the_matrix_itself():
    X = data()
    formed, kept = both(X, ddof=1)
    assert np.asarray(kept.S) == pytest.approx(np.cov(X.T), rel=1e-12)
    assert kept.variances == pytest.approx(formed.variances, rel=1e-12)
    assert (kept.entries, formed.entries, repr(kept.S)) == (480, 144, "GramMatrix(n=40, d=12)")
    units = X * np.r_[1e4, np.ones(11)]
    assert [len(problem.remarks()) for problem in both(units)] == [1, 1]
    with pytest.raises(sparseopt.ProblemError, match="divisor"):
        GramMatrix(X, divisor=0.0)
    with pytest.raises(sparseopt.ProblemError, match="overflows"):
        GramMatrix(1e200 * X)
    with pytest.raises(sparseopt.ProblemError, match="divisor"):
        CLIME.from_payload({"divisor": -1.0}, {"X": X})
    with pytest.raises(sparseopt.ProblemError, match="unknown entries"):
        CLIME.from_payload({}, {"X": X, "S": np.eye(12)})
