"""Rows with a large coefficient of an integer: neither engine takes 0 or 1 / M for 1."""

import numpy as np
import pytest

import sparseopt
from sparseopt import Status, Verdict
from sparseopt.problems import MISDP, SemidefiniteBlock

pytest.importorskip("clarabel", reason="Clarabel is not installed: sparseopt[misdp]")

each_engine = pytest.mark.parametrize("backend", ["misdp-bnb", "misdp-oa"])


def fixed_charge(M, cost):
    """Minimise k + cost y with y <= M k, y >= 1, k integer: the minimum is 1 + cost."""
    return MISDP(
        c=[1.0, cost],
        A=[[M, -1.0]],
        row_lower=[0.0],
        lower=[0.0, 1.0],
        upper=[10.0, np.inf],
        integer=[True, False],
    )


def in_a_matrix(M):
    """Minimise k with [[M k, y], [y, 1]] semidefinite and y >= 1: the minimum is 1."""
    block = SemidefiniteBlock([[M, 0.0], [0.0, 1.0], [0.0, 0.0]], [0.0, 0.0, 1.0])
    return MISDP(
        c=[1.0, 0.0], lower=[0.0, 1.0], upper=[5.0, 2.0], integer=[True, False], blocks=[block]
    )


@pytest.mark.thorough(after=1)
@each_engine
@pytest.mark.parametrize("M", [1e7, 1e9, 1e12])
def test_the_optimum_is_that_of_whole_integers(M, backend):
    for problem, value in (
        (fixed_charge(M, 0.0), 1.0),
        (fixed_charge(M, 1.0), 2.0),
        (in_a_matrix(M), 1.0),
    ):
        for start in (None, np.array([0.0, 1.0]), np.array([1.0 / M, 1.0])):
            result = sparseopt.solve(problem, backend=backend, warm_start=start, time_limit=10.0)
            assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
            assert result.objective == pytest.approx(value, rel=1e-6)
            assert result.x[0] == 1.0


@each_engine
@pytest.mark.parametrize("M", [1e7, 1e11])
def test_a_multiple_that_no_integer_meets(M, backend):
    problem = MISDP(
        c=[1.0], A=[[M]], row_lower=[1.0], row_upper=[1.0], lower=[-5.0], upper=[5.0], integer=[0]
    )
    result = sparseopt.solve(problem, backend=backend, time_limit=10.0)
    assert (result.status, result.verdict) == (Status.INFEASIBLE, Verdict.VERIFIED)
