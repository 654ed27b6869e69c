"""A time limit while a relaxation is still being built, measured in processor time."""

import time

import numpy as np
import pytest

import sparseopt
from sparseopt import Limit, Verdict
from sparseopt.problems import STRS

pytest.importorskip("cvxpy", reason="CVXPY is not installed: sparseopt[cvxpy]")


@pytest.mark.thorough
def test_a_limit_ends_the_construction_of_a_relaxation():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((200, 200))
    # Building it takes about 2 s of processor time.
    problem = STRS(A=A + A.T, a=rng.standard_normal(200), d=5)
    sparseopt.solve(STRS(A=np.eye(2), a=np.ones(2), d=1), backend="cvxpy-relaxation")
    began = time.process_time()
    result = sparseopt.solve(problem, backend="cvxpy-relaxation", time_limit=0.5, check=False)
    assert time.process_time() - began < 1.0
    assert result.limit is Limit.TIME
    assert sparseopt.check(problem, result).verdict is not Verdict.REFUTED
