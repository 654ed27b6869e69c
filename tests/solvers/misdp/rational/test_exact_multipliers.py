"""Optima whose only multipliers are fractions, on the boundary of their cones, are proven."""

import numpy as np
import pytest

import sparseopt
from sparseopt import Status, Verdict
from sparseopt.problems import MISDP, SecondOrderCone, SemidefiniteBlock
from sparseopt.solvers.misdp.bounding.lower_bounds import Judge
from sparseopt.solvers.misdp.bounds import ConicMultipliers
from sparseopt.solvers.misdp.rational.exact_multipliers import ExactMultipliers

pytest.importorskip("clarabel", reason="Clarabel is not installed: sparseopt[misdp]")


def free(c, bits, upper=(), **constraints):
    """Return a minimisation over bits, numbers without ends, and last ones that have an upper."""
    n = len(c)
    lower, ends = np.full(n, -np.inf), np.full(n, np.inf)
    lower[:bits], ends[:bits] = 0.0, 1.0
    ends[n - len(upper) :] = upper
    return MISDP(c=c, lower=lower, upper=ends, integer=np.arange(n) < bits, **constraints)


def shifted(n, entries, end, sign):
    """Return the block sign P + t I of the 2 x 2 matrix P, with t the variable `end`."""
    F = np.zeros((3, n))
    F[[0, 1, 2], entries] = sign
    F[[0, 2], end] = 1.0
    return SemidefiniteBlock(F)


def norm():
    """Minimise 3 b - 2 x + |(b + 2 x - 1, 2 b + 2 x + y - 1)| with x + y <= -1/2: -1."""
    cone = SecondOrderCone([[0, 0, 0, 1], [1, 2, 0, 0], [2, 2, 1, 0]], [0.0, -1.0, -1.0])
    return free([3.0, -2.0, 0.0, 1.0], 1, A=[[0, 2, 2, 0]], row_upper=[-1.0], cones=[cone])


def thirds():
    """Two absolute values and two rows, five equations for six multipliers: 14/3."""
    one, two = [-4, 2, 1, 2, 0], [2, 0, 2, 1, -1]
    A = [
        [*one, -1, 0],
        [*two, 0, -1],
        [*(-v for v in one), -1, 0],
        [*(-v for v in two), 0, -1],
        [-1, -2, 0, -3, 0, 0, 0],
        [1, 0, -1, 2, 0, 0, 0],
    ]
    return free([-1, 1, 0, 0, 1, 1, 1], 2, A=A, row_upper=[2, -4, -2, 4, -1, 0])


def beside_a_matrix():
    """A norm whose multiplier is (5, 4, 3) / 3, and eigenvalues in [-3, 4] of another matrix."""
    pieces = [[-1, -3, 4, -2, 1, 1], [0, -3, -2, 1, 0, 3], [-3, 6, -3, 1, -2, 2]]
    A = [[*piece, 0, 0, 0, -1, 0, 0, 0] for piece in pieces]
    F = np.zeros((3, 13))
    F[0, 12] = 1.0
    F[1:, :6] = [[4, 4, -1, 3, 0, 0], [2, 0, 2, 1, -1, -1]]
    lower = [0, 0, -2, *[-np.inf] * 10]
    return MISDP(
        c=[-2, 0, 0, 4, 1, -3, -2, -12, 0, 1, 0, 0, 0],
        A=A,
        row_upper=[0, 0, 0],
        lower=lower,
        upper=[1, 1, 2, *[np.inf] * 7, 4, 3, 2],
        integer=np.arange(13) < 3,
        cones=[SecondOrderCone(F, [0.0, -1.0, -3.0])],
        blocks=[shifted(13, [6, 7, 8], 10, -1.0), shifted(13, [6, 7, 8], 11, 1.0)],
    )


def golden():
    """The largest of three forms and a matrix whose multipliers have the root of 5."""
    A = [
        [-3, 2, -2, 0, 0, 0, -1, 0, 0],
        [-1, -1, -5, 0, 0, 0, -1, 0, 0],
        [-4, 2, 2, 0, 0, 0, -1, 0, 0],
        [-1, 0, 0, 1, 0, 1, 0, 0, 0],
        [3, -4, 0, 0, 0, 0, 0, 0, 0],
    ]
    P = [3, 4, 5]
    semidefinite = SemidefiniteBlock(np.eye(9)[P])
    blocks = [semidefinite, shifted(9, P, 7, -1.0), shifted(9, P, 8, 1.0)]
    c = [-1, 1, 5, 2, -2, -2, 1, 0, 0]
    return free(c, 1, (4.0, 3.0), A=A, row_upper=[0, 0, 0, 4, -1], blocks=blocks)


def zero():
    """Two squares of forms in two numbers, one in the costs: all of it vanishes at one point."""
    first = [[0, 0, 0, 0, 1, 0], [0, 0, 0, 0, -1, 0], [-2, 6, 6, 4, 0, 0], [2, 0, -8, -12, 0, 0]]
    second = [[0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, -1], [0, 2, 2, 8, 0, 0], [-2, 6, 0, 0, 0, 0]]
    return MISDP(
        c=[2, 1, 0, 0, 1, 0],
        lower=[0, 0, -2, -2, -np.inf, -np.inf],
        upper=[1, 1, 4, 4, np.inf, 10],
        integer=[0, 1],
        cones=[SecondOrderCone(first, [1, 1, -6, 2]), SecondOrderCone(second, [1, 1, -2, 2])],
    )


OPTIMA = {
    zero: 0.0,
    norm: -1.0,
    thirds: 14.0 / 3.0,
    beside_a_matrix: -62.246004378,
    golden: -2.0 - 4.0 * np.sqrt(5.0),
}


@pytest.mark.parametrize("build", OPTIMA)
def test_the_optimum_is_proven(build):
    result = sparseopt.solve(build(), backend="misdp-bnb")
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    assert result.objective == pytest.approx(OPTIMA[build], abs=1e-6)


def test_the_simplest_fractions_are_found():
    problem = thirds()
    judge = Judge(problem)
    noise = 1e-7 * np.random.default_rng(0).normal(size=(1, 6))
    near = ConicMultipliers(
        np.array([[0, -1, -1, 0, -1 / 3, -1.0]]) + noise, np.zeros((1, 0)), np.zeros((1, 0))
    )
    found = ExactMultipliers(problem, judge).on_face(near, False, lambda _: True)
    assert found is not None
    assert found.scale == 3.0
    np.testing.assert_array_equal(found.multipliers.rows, [[0.0, -3.0, -3.0, 0.0, -1.0, -3.0]])
    np.testing.assert_array_equal(found.divided().rows, found.multipliers.rows / 3.0)


def test_none_are_found_that_prove_less():
    problem = thirds()
    zero = np.zeros((1, 0))
    near = ConicMultipliers(np.array([[0, -1, -1, 0, -1 / 3, -1.0]]), zero, zero)
    assert ExactMultipliers(problem, Judge(problem)).on_face(near, False, lambda _: False) is None
