"""Sparse regression by outside solvers: bounds that cut nothing off, and the same optima."""

import itertools

import numpy as np
import pytest
from thorough import first

import sparseopt
from sparseopt import Status, generators
from sparseopt.problems import SparseRegression
from sparseopt.registry import get_backend
from sparseopt.solvers.adapters.formulations.subset import _largest


@pytest.mark.parametrize("seed", range(8))
def test_no_best_fit_exceeds_the_bounds_of_the_program(seed):
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(2, 9)), int(rng.integers(2, 7))
    X = rng.normal(size=(n, p)) * 10.0 ** rng.uniform(-2.0, 2.0, p)
    y = rng.normal(size=n)
    ridge = float(rng.choice([1e-4, 0.1, 5.0]))
    most = _largest(SparseRegression(X, y, k=p, ridge=ridge))
    for size in range(1, p + 1):
        for S in map(list, itertools.combinations(range(p), size)):
            A = np.vstack([X[:, S], np.sqrt(ridge) * np.eye(size)])
            b = np.linalg.lstsq(A, np.append(y, np.zeros(size)), rcond=None)[0]
            assert (np.abs(b) <= most[S] * (1.0 + 1e-9)).all()


@pytest.mark.parametrize("name", first(1, ["scip", "gurobi", "xpress"]))
@pytest.mark.parametrize(
    "settings",
    first(2, [{"ridge": 0.1, "bound": 1.5}, {"ridge": 0.5, "penalty": 2.0}, {"ridge": 0.5}]),
)
def test_they_agree_with_the_branch_and_bound(name, settings):
    if not get_backend(name).availability().available:
        pytest.skip(get_backend(name).availability().reason)
    problem = generators.generate("sparse-regression", n=40, p=12, k=3, seed=3)
    problem = SparseRegression(problem.X, problem.y, k=3, **settings)
    ours = sparseopt.solve(problem)
    theirs = sparseopt.solve(problem, backend=name, rel_gap=1e-6)
    assert ours.status is theirs.status is Status.OPTIMAL
    assert theirs.objective == pytest.approx(ours.objective, rel=2e-6)
    assert theirs.bound <= ours.objective * (1.0 + 1e-7)


def test_many_columns_are_refused_with_advice():
    problem = SparseRegression(np.ones((2, 4000)), np.ones(2), k=2, ridge=1.0)
    ok, reason = get_backend("scip").supports(problem)
    assert not ok
    assert "subset-bnb" in reason
