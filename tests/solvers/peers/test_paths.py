"""Peers that follow paths, or solve for one lam, find our optima in their own scaling."""

import numpy as np
import pytest
from stopped_solves import draw

import sparseopt
from sparseopt import BackendError, Limit, Status, UnsupportedProblem, Verdict
from sparseopt.problems import (
    L1SVM,
    CompressedSensing,
    DantzigSelector,
    LADLasso,
    QuantileLasso,
)
from sparseopt.registry import get_backend


def need(name):
    availability = get_backend(name).availability()
    if not availability.available:
        pytest.skip(f"{name}: {availability.reason}")


def data(seed=0, n=30, d=8):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = X[:, :3] @ [3.0, -2.0, 1.0] + rng.standard_t(2, size=n)
    return X, y, rng.uniform(0.5, 2.0, d), rng.uniform(0.5, 2.0, n)


X, Y, W, R = data()
NOISY = np.sign(Y) * np.where(np.arange(30) % 7 == 0, -1.0, 1.0)

PATHS = {
    "dantzig": DantzigSelector(X, Y),
    "dantzig-adaptive": DantzigSelector(X, Y, scale="n", weights=W, row_weights=W),
    "dantzig-wide": DantzigSelector(X[:5], Y[:5]),
    "sensing": CompressedSensing(X[:6], Y[:6], weights=W, row_weights=R[:6]),
    "sensing-tall": CompressedSensing(X, Y),
    "lad": LADLasso(X, Y, weights=W),
    "quantile": QuantileLasso(X, Y, 0.3),
    "svm-separable": L1SVM(X[:9], np.sign(Y)[:9]),
    "svm": L1SVM(X, NOISY, weights=W),
}


@pytest.mark.parametrize("name", PATHS)
def test_the_path_of_pyprimal_is_ours(name):
    need("pyprimal")
    problem = PATHS[name]
    ours = sparseopt.solve(problem).path
    result = sparseopt.solve(problem, backend="pyprimal", lam_min=float(ours.knots[-1]))
    assert result.status is Status.OPTIMAL, result.raw_status
    assert result.verdict is Verdict.UNPROVEN, result.check_messages
    path = result.path
    assert np.isposinf(path.high[0])
    rng = np.random.default_rng(1)
    top = 1.2 * float(ours.knots[0])
    for lam in [*path.knots, *rng.uniform(float(ours.knots[-1]), top, 20)]:
        value = pytest.approx(ours.objective_at(lam), rel=1e-8, abs=1e-8)
        assert path.objective_at(lam) == value
        for theta in path.at(lam, "both"):
            assert problem.objective(theta, lam) == value
            assert max(problem.residuals(theta, lam).values()) <= 1e-9


def test_a_path_of_pyprimal_stops_where_it_is_told():
    need("pyprimal")
    problem = PATHS["dantzig"]
    result = sparseopt.solve(problem, backend="pyprimal", max_knots=4)
    assert (len(result.path.low), result.path.stopped_by) == (4, "max_knots")
    assert result.status is Status.OPTIMAL
    result = sparseopt.solve(problem, backend="pyprimal", max_nonzeros=3)
    assert (result.path.nonzeros().max(), result.path.stopped_by) == (3, "max_nonzeros")


def test_numbers_of_pyprimal_that_are_not_finite_are_no_solution():
    """Three factors and 168 columns: its bases become singular, but for the luck of rounding."""
    need("pyprimal")
    result = sparseopt.solve(draw(np.random.default_rng(340)), backend="pyprimal")
    given_up = (result.status, result.limit) == (Status.NO_SOLUTION, Limit.SLOW_PROGRESS)
    assert given_up or (result.status is Status.OPTIMAL and np.isfinite(result.x).all())


def test_pyprimal_says_when_it_runs_out_of_pivots():
    need("pyprimal")
    result = sparseopt.solve(PATHS["dantzig"], backend="pyprimal", options={"pivots": 5})
    assert result.status is Status.FEASIBLE
    assert result.path.stopped_by == "iteration"
    assert result.path.low[-1] > 0.0


PINBALL = {
    "lad": LADLasso(X, Y, weights=W),
    "lad-intercept": LADLasso(X, Y, fit_intercept=True),
    "quantile": QuantileLasso(X, Y, 0.3, weights=W),
    "quantile-intercept": QuantileLasso(X, Y, 0.8, fit_intercept=True),
    "one-column": QuantileLasso(X[:, :1], Y, 0.3),
}
METHODS = [
    ("sklearn-quantile", {}, Status.OPTIMAL, Verdict.UNPROVEN, 1e-8),
    ("quantreg", {"method": "lasso"}, Status.CONVERGED, Verdict.VERIFIED, 1e-5),
    ("quantreg", {"method": "br"}, Status.OPTIMAL, Verdict.VERIFIED, 1e-8),
]


@pytest.mark.parametrize(("backend", "options", "status", "verdict", "accuracy"), METHODS)
@pytest.mark.parametrize("name", PINBALL)
def test_quantile_regression_at_given_lam(name, backend, options, status, verdict, accuracy):
    need(backend)
    problem = PINBALL[name]
    for lam in (0.0, 1.3, 7.0):
        best = sparseopt.solve(problem, lam=lam).objective
        result = sparseopt.solve(problem, backend=backend, lam=lam, options=options)
        assert (result.status, result.verdict) == (status, verdict), result.check_messages
        assert result.objective == pytest.approx(best, rel=accuracy)
        assert result.objective >= best * (1.0 - 1e-9)


def test_a_coefficient_without_penalty():
    need("pyprimal")
    need("quantreg")
    weights = np.where(np.arange(8) == 2, 0.0, W)
    problem = LADLasso(X, Y, weights=weights)
    best = sparseopt.solve(problem, lam=4.0).objective
    result = sparseopt.solve(problem, backend="quantreg", lam=4.0)
    assert result.objective == pytest.approx(best, rel=1e-5)
    for backend, why in (("sklearn-quantile", "weights are 0"), ("pyprimal", "weights that are 0")):
        with pytest.raises(UnsupportedProblem, match=why):
            get_backend(backend).solve(problem, sparseopt.SolveParams(lam=4.0))


def test_a_grid_keeps_the_multipliers_that_prove_it():
    need("quantreg")
    result = sparseopt.solve(
        PINBALL["quantile"], backend="quantreg", lam=(5.0, 1.0), options={"method": "br"}
    )
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)


@pytest.mark.parametrize("problem", [PINBALL["lad-intercept"], PINBALL["quantile"]])
def test_statsmodels_without_a_penalty(problem):
    need("statsmodels")
    best = sparseopt.solve(problem, lam=0.0).objective
    result = sparseopt.solve(problem, backend="statsmodels", lam=0.0)
    assert result.status is Status.CONVERGED
    assert result.objective == pytest.approx(best, rel=1e-4)
    free = problem.with_changes(weights=np.zeros(8))
    assert sparseopt.solve(free, backend="statsmodels", lam=3.0).status is Status.CONVERGED
    with pytest.raises(UnsupportedProblem, match="lam = 0"):
        sparseopt.solve(problem, backend="statsmodels", lam=1.0)


def test_auto_takes_no_peer():
    for problem in (*PATHS.values(), *PINBALL.values()):
        assert sparseopt.solve(problem, lam=1.0).backend == "homotopy"


@pytest.mark.thorough
def test_a_peer_that_died_is_started_again():
    need("pyprimal")
    from sparseopt.backend import Control
    from sparseopt.solvers.common.child import PYTHON
    from sparseopt.solvers.peers import jobs

    before = sparseopt.solve(PATHS["lad"], backend="pyprimal", lam=1.0)
    PYTHON._child._process.kill()
    PYTHON._child._process.wait()
    after = sparseopt.solve(PATHS["lad"], backend="pyprimal", lam=1.0)
    assert after.objective == before.objective
    with pytest.raises(BackendError, match="no_such_solver"):
        arrays = {"X": X, "y": Y}
        control = Control(sparseopt.SolveParams())
        PYTHON.run(jobs.pyprimal, control, arrays, solver="no_such_solver", pivots=1, stop=0.0)


def test_what_is_missing_of_r_is_said(monkeypatch):
    from sparseopt.solvers.common.child import r_package

    if r_package("quantreg").available:
        missing = r_package.__wrapped__("no.such.package")
        assert not missing.available
        assert "install.packages('no.such.package')" in missing.reason
    monkeypatch.setenv("PATH", "")
    missing = r_package.__wrapped__("leaps")
    assert not missing.available
    assert "Rscript is not on the PATH" in missing.reason
