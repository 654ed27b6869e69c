"""An observation of weight k is k repeated rows: in the paths and in every rule."""

from dataclasses import replace

import numpy as np
import pytest

import sparseopt
from sparseopt.problems import L1SVM, CompressedSensing, DantzigSelector, LADLasso, QuantileLasso
from sparseopt.selection import cross_validate, information_criterion, refit, theoretical_lam
from sparseopt.selection.samples import take_rows


def models():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((41, 6)) + 1.0
    y = 3.0 * X[:, 0] - X[:, 2] + rng.standard_normal(41)
    ones = np.append(np.ones(6), 0.0)
    yield DantzigSelector(np.column_stack([X, np.ones(41)]), y, "none", ones, ones)
    yield DantzigSelector(X, y, "n")
    yield DantzigSelector(X, y, fit_intercept=True)
    yield DantzigSelector(X[:, :4], y, "n", fit_intercept=True)
    yield CompressedSensing(X, y, row_weights=np.linspace(1.0, 2.0, 41))
    yield LADLasso(X, y, True)
    yield QuantileLasso(X, y, 0.3, True)
    yield L1SVM(X, np.where(y > np.median(y), 1.0, -1.0))


@pytest.fixture(params=list(models()), ids=lambda problem: problem.kind)
def pair(request):
    """The weighted problem and the one with repeated rows, with their folds."""
    problem = request.param
    labels = np.arange(len(problem.y)) % 4
    weights = np.random.default_rng(5).integers(0, 4, len(problem.y))
    # Training parts of an odd size have one median each, so that nothing is left to choose.
    weights[:4] += 1 - np.bincount(labels, weights).astype(int) % 2
    rows = np.repeat(np.arange(len(problem.y)), weights)
    weighted = replace(problem, sample_weights=weights)
    repeated = take_rows(problem, rows)
    return (weighted, labels), (repeated, labels[rows])


@pytest.mark.thorough(after=1)
def test_the_paths_are_equal(pair):
    results = [sparseopt.solve(problem) for problem, _ in pair]
    assert all(result.verdict == "verified" for result in results)
    one, two = (result.path for result in results)
    for lam in np.linspace(one.low[-1] + 1e-9, 1.1 * one.knots[0], 200):
        assert one.objective_at(lam) == pytest.approx(two.objective_at(lam), rel=1e-9, abs=1e-9)


@pytest.mark.thorough(after=2)
def test_cross_validation_is_equal(pair):
    one, two = (cross_validate(problem, labels) for problem, labels in pair)
    assert one.value == pytest.approx(two.value, rel=1e-9)
    assert one.lam == pytest.approx(two.lam, rel=1e-9)
    if one.problem.kind != "lad-lasso":  # the null model has one median of two to choose
        assert one.lam_1se == pytest.approx(two.lam_1se, rel=1e-9)


@pytest.mark.thorough(after=1)
def test_criteria_are_equal(pair):
    (one, _), (two, _) = pair
    if one.kind == "l1-svm":
        pytest.skip("no likelihood")
    for kind in ("aic", "bic", "ebic"):
        left, right = (information_criterion(problem, kind) for problem in (one, two))
        assert left.value == pytest.approx(right.value, rel=1e-9)
        assert left.lam == pytest.approx(right.lam, rel=1e-9)


def test_theory_and_refits_are_equal(pair):
    (one, _), (two, _) = pair
    sigma = 1.0 if one.kind in ("dantzig-selector", "compressed-sensing") else None
    left, right = (theoretical_lam(problem, sigma=sigma).lam for problem in (one, two))
    assert left == pytest.approx(right, rel=1e-12)
    x, z = (refit(problem, [0, 2]) for problem in (one, two))
    at = 0.0
    assert two.objective(x, at) == pytest.approx(two.objective(z, at), rel=1e-9)


def test_the_theoretical_lam_ignores_what_an_intercept_takes_away():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 4)), rng.standard_normal(30)
    ones = np.append(np.ones(4), 0.0)
    centred = theoretical_lam(DantzigSelector(X - X.mean(axis=0), y), sigma=1.0)
    shifted = np.column_stack([X + 100.0, np.ones(30)])
    moved = theoretical_lam(DantzigSelector(shifted, y, "none", ones, ones), sigma=1.0)
    assert moved.lam == pytest.approx(centred.lam, rel=1e-9)


def test_weights_that_are_all_zero_are_refused():
    with pytest.raises(sparseopt.ProblemError, match="sample_weights are all 0"):
        LADLasso(np.ones((3, 1)), [1.0, 2.0, 3.0], sample_weights=np.zeros(3))


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("d", [2, 6])
def test_the_intercept_of_the_dantzig_selector_is_a_column_of_ones(d):
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((40, d)) + 2.0, rng.standard_normal(40) + 5.0
    ones = np.append(np.ones(d), 0.0)
    column = DantzigSelector(np.column_stack([X, np.ones(40)]), y, "none", ones, ones)
    problem = DantzigSelector(X, y, fit_intercept=True)
    one, two = (cross_validate(each, np.arange(40) % 5) for each in (problem, column))
    assert one.value == pytest.approx(two.value, rel=1e-9)
    assert one.lam == pytest.approx(two.lam, rel=1e-8, abs=1e-8)
    x, z = (each.result.path.at(1.0) for each in (one, two))
    np.testing.assert_allclose(np.append(x, problem.intercept(x)), z, atol=1e-8)
    np.testing.assert_allclose(refit(problem, [0]), refit(column, [0])[:-1], atol=1e-9)
    left, right = (information_criterion(each, "bic") for each in (problem, column))
    assert left.value == pytest.approx(right.value, rel=1e-9)


def test_a_problem_without_an_intercept_keeps_its_fingerprint(tmp_path):
    problem = DantzigSelector(np.eye(2), [3.0, 1.0])
    assert "fit_intercept" not in problem.payload()[0]
    centred = replace(problem, fit_intercept=True)
    sparseopt.save(centred, tmp_path / "p.npz")
    assert sparseopt.load(tmp_path / "p.npz").fit_intercept
    assert centred.fingerprint() != problem.fingerprint()
