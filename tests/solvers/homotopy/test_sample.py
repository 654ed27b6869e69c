"""One lam of data with many more rows than columns, from a sample of the rows."""

import numpy as np
import pytest
import scipy.sparse as sp

from sparseopt import Limit, Status, Verdict, solve
from sparseopt.problems import L1SVM, DantzigSelector, LADLasso, ParametricLP, QuantileLasso
from sparseopt.solvers.homotopy.program import ScaledProgram
from sparseopt.solvers.homotopy.walks.sample import from_sample, is_tall


def data(n=3000, d=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, 0] - X[:, 1] + rng.standard_t(2, size=n)


def labels(y):
    return np.where(y > 0.2, 1.0, -1.0)


def program_of(problem):
    return ScaledProgram.from_program(problem.canonical())


X, Y = data()
WEIGHTS = np.random.default_rng(1).uniform(0.0, 2.0, size=len(Y))
TALL = {
    "lad": LADLasso(X, Y),
    "lad of weights": LADLasso(X, Y, sample_weights=WEIGHTS),
    "quantiles": QuantileLasso(X, Y, tau=0.1, fit_intercept=True),
    "sparse": LADLasso(sp.csr_array(np.where(np.abs(X) > 1.0, X, 0.0)), Y),
    "machine": L1SVM(X, labels(Y)),
    "bounds": LADLasso(X, Y, bounds=(0.0, 0.5)),
    "median": LADLasso(np.ones((3000, 1)), Y),
}


@pytest.mark.parametrize("lam", [0.0, 3.0, 200.0, 1e6])
@pytest.mark.parametrize("name", TALL)
def test_the_optimum_is_that_of_another_solver(name, lam):
    problem = TALL[name]
    assert is_tall(program_of(problem))
    result = solve(problem, lam=lam, backend="homotopy")
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    other = solve(problem, lam=lam, backend="highs")
    assert result.objective == pytest.approx(other.objective, rel=1e-9)


def test_few_rows_are_crossed():
    """Before, a pivot for each of a third of the rows: more than 3,000."""
    X, y = data(12_000, 5)
    result = solve(LADLasso(X, y), lam=240.0, backend="homotopy")
    assert result.verdict is Verdict.VERIFIED
    assert result.iterations < 1_000


@pytest.mark.parametrize("lam", [0.5, 60.0])
def test_of_whole_numbers_the_walk_is_that_of_all_rows(lam):
    """Hundreds of rows are at kinks there."""
    rng = np.random.default_rng(3)
    problem = LADLasso(
        rng.integers(0, 3, size=(3000, 4)) * 1.0, rng.integers(-2, 3, size=3000) * 1.0
    )
    program = program_of(problem)
    assert is_tall(program)
    assert from_sample(program, lam, rng, lambda: None).reason == "slow_progress"
    result = solve(problem, lam=lam, backend="homotopy")
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    other = solve(problem, lam=lam, backend="highs")
    assert result.objective == pytest.approx(other.objective, rel=1e-9)


@pytest.mark.parametrize(
    "problem",
    [
        LADLasso(X[:2000], Y[:2000]),
        LADLasso(np.random.default_rng(2).normal(size=(3000, 60)), Y),
        DantzigSelector(X, Y),
        ParametricLP(np.abs(X), np.ones(3000), np.ones(3000), np.ones(8), np.ones(8)),
    ],
)
def test_not_of_fewer_rows_of_products_or_of_constraints(problem):
    assert not is_tall(program_of(problem))


def test_the_same_seed_gives_the_same_bits():
    one, two = (solve(TALL["lad"], lam=20.0, seed=5, backend="homotopy") for _ in range(2))
    assert one.iterations == two.iterations and (one.x == two.x).all()


def test_a_limit_ends_it():
    X, y = data(60_000, 40)
    result = solve(LADLasso(X, y), lam=1.0, backend="homotopy", time_limit=0.05)
    assert result.limit is Limit.TIME and result.status is not Status.OPTIMAL
