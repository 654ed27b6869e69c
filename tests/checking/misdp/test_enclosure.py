"""Multipliers that exist exactly: free variables beside matrices."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from free_misdps import draw_free
from thorough import first

import sparseopt
from sparseopt import Status, Verdict, check
from sparseopt.checking.misdp.enclosure import Part, _exactly, enclosed
from sparseopt.problems.misdp.cones import pack_symmetric, triangle_weights, unpack_symmetric
from sparseopt.registry import get_backend
from sparseopt.result import Limit


def solved_exactly(F: np.ndarray, r: list[Fraction]) -> list[Fraction]:
    """Return the least-squares d of F'd = r in rational arithmetic, F (m, k) of full rank."""
    m, k = F.shape
    exact = [[Fraction(float(F[i, j])) for j in range(k)] for i in range(m)]
    rows = [
        [sum((exact[i][a] * exact[i][b] for i in range(m)), Fraction(0)) for b in range(k)] + [r[a]]
        for a in range(k)
    ]
    for a in range(k):
        pivot = next(i for i in range(a, k) if rows[i][a])
        rows[a], rows[pivot] = rows[pivot], rows[a]
        rows[a] = [value / rows[a][a] for value in rows[a]]
        for b in range(k):
            if b != a:
                rows[b] = [v - rows[b][a] * w for v, w in zip(rows[b], rows[a], strict=True)]
    mu = [row[-1] for row in rows]
    return [sum((exact[i][j] * mu[j] for j in range(k)), Fraction(0)) for i in range(m)]


def test_residuals_are_rounded_once():
    rng = np.random.default_rng(0)
    for _ in range(200):
        f, d = rng.normal(size=(2, 9)) * 10.0 ** rng.integers(-6, 6, size=(2, 9))
        c = float(f @ d)
        exact = Fraction(c) - sum(
            (Fraction(a) * Fraction(b) for a, b in zip(f.tolist(), d.tolist(), strict=True)),
            Fraction(0),
        )
        assert _exactly(c, f, d) == float(exact)
    assert np.isnan(_exactly(1.0, np.array([1e200]), np.array([1e200])))


@pytest.mark.parametrize("seed", range(6))
def test_there_are_exact_multipliers_within_the_spread(seed):
    """One matrix, all in the same room: the exact correction is that of least squares."""
    rng = np.random.default_rng(seed)
    s, k = 4, int(rng.integers(1, 8))
    root = rng.normal(size=(s, s))
    Z = root @ root.T + 0.1 * np.eye(s)
    G = rng.normal(size=(k, s, s))
    entries = pack_symmetric(G + G.transpose(0, 2, 1)) * triangle_weights(s)
    F, dual = sp.csc_array(entries.T), pack_symmetric(Z)
    costs = F.T @ dual + 1e-9 * rng.normal(size=k)
    none = np.zeros(0)
    part = Part(slice(0, len(dual)), s, False)
    near = enclosed(F, costs, dual, (none, none), [part], np.arange(k))
    assert near is not None and near.columns.tolist() == list(range(k))
    assert near.spread.max() < 1e-13
    left = [
        Fraction(float(costs[j]))
        - sum(
            (
                Fraction(float(a)) * Fraction(float(b))
                for a, b in zip(entries[j], near.dual, strict=True)
            ),
            Fraction(0),
        )
        for j in range(k)
    ]
    for delta, most in zip(solved_exactly(F.toarray(), left), near.spread.tolist(), strict=True):
        assert abs(delta) <= Fraction(most)
    least = np.linalg.eigvalsh(unpack_symmetric(near.dual, s))[0]
    assert least > np.sqrt(triangle_weights(s) @ near.spread**2)


def test_equations_without_a_solution_have_no_enclosure():
    """Two columns, the second twice the first, and costs that are not, and then are."""
    F = sp.csc_array(np.array([[1.0, 2.0], [0.5, 1.0], [1.0, 2.0]]))
    dual = np.array([1.0, 0.0, 1.0])
    none = np.zeros(0)
    part = Part(slice(0, 3), 2, False)
    columns = np.arange(2)
    costs = np.array([2.0, 4.0 + 1e-12])
    assert enclosed(F, costs, dual, (none, none), [part], columns) is None
    assert enclosed(F, costs, dual, (none, none), [part], columns[:1]) is not None
    near = enclosed(F, np.array([2.0, 4.0]), dual, (none, none), [part], columns)
    assert near is not None and near.columns.tolist() == [0, 1]


def test_equations_may_move_by_more_than_their_size():
    """One column in two equations; the multiplier of the first is 0."""
    F = sp.csc_array(np.array([[1.0], [0.1]]))
    sides = np.ones(2), np.ones(2)
    small = enclosed(F, np.array([0.1]), np.array([0.0, 1.0]), sides, [], np.arange(1))
    assert small is not None and small.spread[0] == 0.0
    costs = np.array([1e-3])
    assert enclosed(F, costs, np.array([0.0, 0.0]), sides, [], np.arange(1)) is None
    large = enclosed(F, costs, np.array([0.0, 0.0]), sides, [], np.arange(1), equations=True)
    assert large is not None and large.dual[0] > 9e-4


def test_multipliers_on_the_boundary_have_none():
    F = sp.csc_array(np.array([[1.0], [0.3], [0.0]]))
    part, none = Part(slice(0, 3), 2, False), np.zeros(0)
    rank_one = np.array([1.0, 1.0, 1.0])
    assert enclosed(F, np.array([1.3]), rank_one, (none, none), [part], np.arange(1)) is None


@pytest.mark.thorough(after=1)
@pytest.mark.skipif(
    not get_backend("misdp-bnb").availability().available, reason="sparseopt[misdp]"
)
@pytest.mark.parametrize("seed", first(4, [0, 2, 308, 380, 6, 12, 30, 35]))
def test_optima_over_free_variables_are_proven_and_nothing_better_is(seed):
    problem = draw_free(seed)
    result = sparseopt.solve(problem, backend="misdp-bnb")
    assert result.verdict is Verdict.VERIFIED
    if result.status is Status.INFEASIBLE:
        return
    step = 1e-5 * max(1.0, abs(result.objective))
    assert result.status is Status.OPTIMAL and result.bound <= result.objective
    lie = result.with_changes(bound=result.objective + step, objective=result.objective + step)
    assert check(problem, lie).verdict is not Verdict.VERIFIED
    # Its leaves prove no more for itself than what they prove.
    lower = {"status": Status.FEASIBLE, "limit": Limit.TIME}
    higher = result.with_changes(bound=result.bound + step, **lower)
    assert check(problem, result.with_changes(**lower)).verdict is Verdict.VERIFIED
    assert check(problem, higher).verdict is not Verdict.VERIFIED


def test_multipliers_that_diverged_are_left_as_they_are():
    polish = pytest.importorskip("sparseopt.solvers.misdp.bounding.polish")
    problem = draw_free(0)
    length = sum(block.dimension for block in problem.blocks)
    rows, psd = np.full(problem.A.shape[0], 1e200), np.full(length, 1e180)
    with np.errstate(all="raise"):
        kept = polish.Polish(problem).improve(problem.lower, problem.upper, rows, np.zeros(0), psd)
    assert np.abs(kept.rows).max() == 1e200
