"""The theoretical values of lam, and the estimate of the noise."""

import math

import numpy as np
import pytest
from selection_examples import examples, regression

import sparseopt
from sparseopt.errors import ParamError
from sparseopt.problems import (
    CLIME,
    L1SVM,
    CompressedSensing,
    DantzigSelector,
    LADLasso,
    ParametricLP,
    QuantileLasso,
)
from sparseopt.selection import noise_level, select_by_theory, theoretical_lam


def test_the_dantzig_selector_with_columns_of_norm_sqrt_n() -> None:
    X, y = regression(n=50, d=20)
    X = X * math.sqrt(50) / np.linalg.norm(X, axis=0)
    expected = 0.7 * math.sqrt(2 * 50 * math.log(20))
    plain = theoretical_lam(DantzigSelector(X, y), sigma=0.7).lam
    divided = theoretical_lam(DantzigSelector(X, y, scale="n"), sigma=0.7).lam
    assert math.isclose(plain, expected, rel_tol=1e-12)
    assert math.isclose(divided, expected / 50, rel_tol=1e-12)
    assert math.isclose(
        theoretical_lam(DantzigSelector(X, y), sigma=0.7, c=2.0).lam, 2.0 * plain, rel_tol=1e-12
    )


def test_weights_of_the_constraints_count_and_zeros_do_not() -> None:
    X, y = regression(n=50, d=4)
    norms = np.linalg.norm(X, axis=0)
    problem = DantzigSelector(X, y, row_weights=[2.0, 0.0, 1.0, 4.0])
    expected = math.sqrt(2 * math.log(4)) * max(norms[0] / 2, norms[2], norms[3] / 4)
    assert math.isclose(theoretical_lam(problem, sigma=1.0).lam, expected, rel_tol=1e-12)


@pytest.mark.parametrize(("tau", "fit_intercept"), [(0.5, False), (0.2, False), (0.3, True)])
def test_the_quantile_holds_the_score_of_the_true_model(tau: float, fit_intercept: bool) -> None:
    X, _ = regression(n=60, d=30)
    X = X + (5.0 if fit_intercept else 0.0)
    weights = np.linspace(0.5, 2.0, 30)
    lam = theoretical_lam(
        QuantileLasso(X, np.zeros(60), tau, fit_intercept=fit_intercept, weights=weights), c=1.0
    ).lam
    rng = np.random.default_rng(99)
    used = X - X.mean(axis=0) if fit_intercept else X
    held = []
    for _ in range(2000):
        error = rng.standard_cauchy(60)
        # The true quantile of the errors is zero at level 1/2, elsewhere shifted by tan.
        error -= math.tan(math.pi * (tau - 0.5))
        score = used.T @ (tau - (error < 0.0)) / weights
        held.append(np.abs(score).max() <= lam)
    assert 0.87 <= np.mean(held) <= 0.93


def test_lad_is_twice_the_median() -> None:
    X, y = regression()
    lad = theoretical_lam(LADLasso(X, y), seed=3).lam
    median = theoretical_lam(QuantileLasso(X, y, 0.5), seed=3).lam
    assert math.isclose(lad, 2.0 * median, rel_tol=1e-12)
    assert theoretical_lam(LADLasso(X, y), seed=4).lam != lad


def test_unpenalised_columns_are_left_out() -> None:
    X, y = regression()
    X[:, 3] *= 1000.0
    weights = np.ones(8)
    weights[3] = 0.0
    all_columns = theoretical_lam(LADLasso(X, y)).lam
    without = theoretical_lam(LADLasso(X, y, weights=weights)).lam
    assert without < 0.01 * all_columns


def test_compressed_sensing_holds_all_errors_at_the_level() -> None:
    problem = CompressedSensing(np.ones((30, 2)), np.zeros(30))
    lam = theoretical_lam(problem, sigma=2.0, alpha=0.25).lam
    errors = 2.0 * np.random.default_rng(0).standard_normal((40_000, 30))
    assert abs((np.abs(errors).max(axis=1) <= lam).mean() - 0.75) <= 0.01


def test_the_support_vector_machine_holds_the_score() -> None:
    X, y = regression(n=80, d=10)
    problem = L1SVM(X, np.where(y > 0, 1.0, -1.0), fit_intercept=False)
    lam = theoretical_lam(problem, c=1.0, alpha=0.1).lam
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(2000, 80))
    assert (np.abs(signs @ X).max(axis=1) <= lam).mean() >= 0.9


def test_clime() -> None:
    S = np.diag([1.0, 4.0, 2.0])
    lam = theoretical_lam(CLIME(S), n=100).lam
    assert math.isclose(lam, 2.0 * 4.0 * math.sqrt(math.log(3) / 100), rel_tol=1e-12)
    with pytest.raises(ParamError, match="needs n"):
        theoretical_lam(CLIME(S))


def test_the_noise_level_is_the_largest_fixed_point() -> None:
    X, y = regression(n=50, d=25, seed=5)
    for scale in ("none", "n"):
        problem = DantzigSelector(X, y, scale=scale)
        path = sparseopt.solve(problem).path
        sigma = noise_level(problem, path)

        def spread(at: float, problem=problem, path=path) -> float:
            theta = path.at(theoretical_lam(problem, sigma=at).lam)
            return float(np.linalg.norm(y - X @ theta)) / math.sqrt(50)

        assert math.isclose(spread(sigma), sigma, rel_tol=1e-9)
        above = sigma * np.linspace(1.001, 10.0, 40)
        assert all(spread(at) < at for at in above)
        chosen = select_by_theory(problem)
        assert math.isclose(chosen.sigma or 0.0, sigma, rel_tol=1e-9)
        assert math.isclose(chosen.lam, theoretical_lam(problem, sigma=sigma).lam, rel_tol=1e-9)
        assert {0, 2} <= set(chosen.support.tolist())
        assert chosen.result.verdict == "verified"


def test_without_noise_there_is_none() -> None:
    X, _ = regression()
    assert (
        noise_level(
            DantzigSelector(X, np.zeros(40)), sparseopt.solve(DantzigSelector(X, np.zeros(40))).path
        )
        == 0.0
    )
    assert select_by_theory(DantzigSelector(X, np.zeros(40))).nonzeros == 0


def test_a_path_that_is_too_short_is_refused() -> None:
    problem = examples()["dantzig"]
    path = sparseopt.solve(problem, max_knots=1).path
    with pytest.raises(ParamError, match="solve farther down"):
        noise_level(problem, path)
    with pytest.raises(ParamError, match="lies outside the path"):
        select_by_theory(problem, sigma=1e-3, result=sparseopt.solve(problem, max_knots=1))


def test_what_is_missing_is_named() -> None:
    X, y = regression()
    with pytest.raises(ParamError, match="needs sigma"):
        theoretical_lam(DantzigSelector(X, y))
    with pytest.raises(ParamError, match="needs sigma"):
        theoretical_lam(CompressedSensing(X, y), sigma=-1.0)
    with pytest.raises(ParamError, match="a lad-lasso does not depend on sigma: leave it out"):
        select_by_theory(LADLasso(X, y), sigma=1.0)
    with pytest.raises(ParamError, match="a compressed-sensing does not depend on n: leave it"):
        theoretical_lam(CompressedSensing(X, y), sigma=1.0, n=40)
    with pytest.raises(ParamError, match="alpha is 1"):
        theoretical_lam(LADLasso(X, y), alpha=1)
    with pytest.raises(ParamError, match="c is 0"):
        theoretical_lam(LADLasso(X, y), c=0)
    lp = ParametricLP(A=np.eye(1), b=[1.0], b_bar=[0.0], c=[1.0], c_bar=[0.0])
    with pytest.raises(ParamError, match="no theoretical lam for the kind 'parametric-lp'"):
        theoretical_lam(lp)
    with pytest.raises(ParamError, match="for the Dantzig selector"):
        noise_level(LADLasso(X, y), sparseopt.solve(LADLasso(X, y)).path)
