"""Bounds of an intercept from the rows, and checks of paths that have one."""

import numpy as np
import pytest
from thorough import first

import sparseopt
from sparseopt import Verdict
from sparseopt.checking.parametric.multipliers import reach
from sparseopt.checking.parametric.multipliers.path import PathMultipliers
from sparseopt.problems import L1SVM
from sparseopt.problems.parametric.pieces import Pieces


def svm(seed, n=12, d=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-1.0, 1.0, d)
    return L1SVM(X, np.sign(X[:, 0] + rng.normal(size=n)))


@pytest.mark.thorough
@pytest.mark.parametrize("seed", first(1, range(3)))
def test_no_point_that_is_no_worse_has_a_larger_intercept(seed):
    program = svm(seed).canonical()
    pieces = Pieces.concatenate(program.phi, program.psi)
    p = program.A.shape[1]
    rng = np.random.default_rng(seed)
    lams = [3.0, 2.0]
    here = [sparseopt.solve(svm(seed), lam=lam).objective for lam in lams]
    values = [1.5 * value for value in here]
    spans = [reach.Span.one(*pair, 0.0) for pair in zip(lams, values, strict=True)]
    bounds = reach.common_bounds(program, pieces, spans)[:p]
    assert np.isfinite(bounds).all()
    found = 0
    for _ in range(1000):
        theta = rng.normal(size=p) * bounds * 10.0 ** rng.uniform(-4.0, 0.3, p)
        z = np.concatenate([theta, program.A.matvec(theta)])
        for lam, value in zip(lams, values, strict=True):
            if pieces.value(z, lam).sum() + program.offset[0] <= value:
                found += 1
                assert (np.abs(theta) <= bounds).all()
    assert found > 5


def test_paths_with_an_intercept_need_no_bounds_of_all_variables(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 300))
    problem = L1SVM(X, np.sign(X[:, :3].sum(axis=1) + rng.normal(size=40)))
    result = sparseopt.solve(problem, max_knots=30, check=False)
    monkeypatch.setattr(reach, "_implied_bounds", None)
    solved = []
    collect = PathMultipliers.collect

    def count(self, here, *rest):
        solved.extend(here.tolist())
        collect(self, here, *rest)

    monkeypatch.setattr(PathMultipliers, "collect", count)
    assert sparseopt.check(problem, result).verdict is Verdict.VERIFIED
    # the others are proven by the numbers stated, with one bound of the intercept for all
    assert solved == [len(result.path.low) - 1]
