"""Random CVXPY problems have the status and the value that enumeration finds."""

import warnings

import pytest
from thorough import first

import sparseopt
from sparseopt import Verdict

cp = pytest.importorskip("cvxpy", reason="CVXPY is not installed: sparseopt[cvxpy]")
pytest.importorskip("clarabel", reason="Clarabel is not installed: sparseopt[cvxpy]")
cases = pytest.importorskip("random_cvxpy")


@pytest.mark.parametrize("seed", first(1, range(0, 200, 20)))
def test_random_problems_are_solved_as_by_enumeration(seed):
    agreed = 0
    for at in range(seed, seed + 20):
        problem, discrete = cases.draw(at)
        if not problem.is_dcp():
            continue
        with warnings.catch_warnings():
            # CVXPY says that Clarabel may be inaccurate, and where a norm is approximated.
            warnings.simplefilter("ignore")
            status, value = cases.optimum(problem, discrete)
            problem.solve(solver=sparseopt.cvxpy.MISDP(time_limit=60))
        result = problem.solver_stats.extra_stats
        if status == "unknown":
            continue
        if status == "optimal" and problem.status == "user_limit":
            # no interior: there are both a point and a bound, farther apart than asked
            assert result.gap is not None
            continue
        assert problem.status == status, at
        assert result.verdict in (Verdict.VERIFIED, Verdict.UNPROVEN), at
        agreed += result.verdict is Verdict.VERIFIED
        if value is not None:
            # Where constraints only touch, 1e-9 of a violation is worth the root of it.
            assert problem.value == pytest.approx(value, rel=1e-3, abs=1e-3), at
    assert agreed >= 17
