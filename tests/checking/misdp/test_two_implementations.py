"""The checker's arithmetic and the engine's: written apart, equal on random cases."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("clarabel", reason="the random problems come with a solver of their own")

from small_misdps import draw

from sparseopt.checking.misdp.duality import WeakDuality
from sparseopt.checking.misdp.implied import ImpliedBounds
from sparseopt.checking.misdp.ranks import RankBoxes
from sparseopt.checking.misdp.rays import _arrow
from sparseopt.problems import MISDP, MISDPBuilder, SecondOrderCone
from sparseopt.problems.misdp.cones import pack_symmetric
from sparseopt.solvers.misdp.bounds import ConicMultipliers, SafeBounds
from sparseopt.solvers.misdp.reductions.propagation import Propagation
from sparseopt.solvers.misdp.tree.rank_boxes import RankOneBoxes
from sparseopt.solvers.misdp.unbounded.recession import with_cones_as_matrices


def with_a_matrix_variable(seed: int) -> MISDP:
    """A matrix variable below a definite form, an integer, and a cone of both."""
    rng = np.random.default_rng(seed)
    model = MISDPBuilder("min")
    k = model.variable(lower=0.0, upper=3.0, integer=True)
    X = model.matrix(3)
    C = rng.normal(size=(3, 3))
    model.row((X, C @ C.T + 0.1 * np.eye(3)), (k, -1.0), upper=2.0)
    model.cone([[(X[0, 0], 1.0)], [(X[1, 0], 1.0)], [(k, 0.5)]], constant=[1.0, 0.0, 0.0])
    D = rng.normal(size=(3, 3))
    model.objective((X, D + D.T), (k, float(rng.normal())))
    return model.build()


PROBLEMS = [*(draw(seed) for seed in range(12)), *(with_a_matrix_variable(s) for s in range(4))]

each_problem = pytest.mark.parametrize("problem", PROBLEMS, ids=range(len(PROBLEMS)))


@each_problem
def test_implied_bounds(problem: MISDP) -> None:
    rng = np.random.default_rng(5)
    for cutoff in (None, float(rng.normal())):
        for _ in range(3):
            low, high = problem.lower.copy(), problem.upper.copy()
            whole = np.flatnonzero(problem.integer)
            fixed = whole[rng.random(len(whole)) < 0.4]
            low[fixed] = high[fixed] = np.floor(problem.lower[fixed])
            own = ImpliedBounds(problem).tighten(low, high, cutoff, rounds=12)
            engine = Propagation(problem).tighten(low, high, cutoff)
            assert (own is None) == (engine is None)
            if own is not None and engine is not None:
                for mine, theirs in zip(own, engine, strict=True):
                    np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)


@each_problem
def test_weak_duality(problem: MISDP) -> None:
    """Equal up to what each of the two allows for rounding errors.

    Of matrices that are semidefinite, most of them singular: others are lifted in other units.
    """
    rng = np.random.default_rng(6)
    duality, safe = WeakDuality(problem), SafeBounds(problem)
    m, cones, psd = duality.widths
    box = Propagation(problem).tighten()
    if box is None:
        return
    finite = 0
    for size in (0.1, 1.0, 1e3):
        for farkas in (False, True):
            given = size * rng.normal(size=m + cones + psd)
            begin = m + cones
            for block in problem.blocks:
                G = rng.normal(size=(block.size, rng.integers(1, block.size + 1)))
                given[begin : begin + block.dimension] = pack_symmetric(size * G @ G.T)
                begin += block.dimension
            own = duality.bound(*box, given, 0.0 if farkas else 1.0)
            parts = (part[None] for part in np.split(given, [m, m + cones]))
            engine = safe.evaluate(*box, ConicMultipliers(*parts), farkas)
            # Random multipliers of a variable without ends prove nothing, for either.
            assert np.isinf(own.value) == np.isinf(engine.value[0])
            if np.isfinite(own.value):
                finite += 1
                assert abs(own.value - engine.value[0]) <= 1e-11 * own.size
    assert finite or np.isinf(np.concatenate(box)).any()


@each_problem
def test_leaves_in_a_stack_prove_what_each_does(problem: MISDP) -> None:
    """The same operations in another order of additions."""
    rng = np.random.default_rng(8)
    duality, N = WeakDuality(problem), 40
    given = rng.normal(size=(N, sum(duality.widths))) * 10.0 ** rng.integers(-200, 100, (N, 1))
    low, high = (np.tile(end, (N, 1)) for end in (problem.lower, problem.upper))
    scale = rng.choice([0.0, 1.0, 3.0], N)
    stack = duality.bounds(low, high, given, scale)
    for k in range(N):
        # Nothing is enough for a bound, so that multipliers are not enclosed.
        one = duality.bound(low[k], high[k], given[k], scale[k], wanted=-np.inf)
        assert np.isinf(one.value) == np.isinf(stack.value[k])
        if np.isfinite(one.value):
            assert abs(one.value - stack.value[k]) <= 1e-11 * one.size
            assert one.size == pytest.approx(stack.size[k], rel=1e-11)


@pytest.mark.parametrize("size", [1e-250, 1e-200, 1.0, 1e200])
@pytest.mark.parametrize("rotated", [False, True])
def test_multipliers_of_a_cone_are_lifted_at_any_scale(rotated: bool, size: float) -> None:
    """The cone x_0 >= |x_1|, and x_0 >= 0 alone proven; squares of such multipliers vanish."""
    cone = SecondOrderCone(np.eye(3), rotated=rotated)
    problem = MISDP(c=np.zeros(3), lower=-np.ones(3), upper=np.full(3, np.inf), cones=[cone])
    duality = WeakDuality(problem)
    given = size * np.array([[0.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
    lifted = duality._in_the_cones(given)
    head = lifted[:, 0] + lifted[:, 1] if rotated else lifted[:, 0]
    tail = np.hypot(lifted[:, 0] - lifted[:, 1], np.sqrt(2.0) * lifted[:, 2])
    if not rotated:
        tail = np.hypot(lifted[:, 1], lifted[:, 2])
    assert (head >= tail).all() and (head > 0.0).all()


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("seed", range(4))
def test_boxes_of_rank_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = MISDPBuilder("min")
    X = model.matrix(3, rank_one=True)
    y = model.variable(lower=-1.0, upper=2.0)
    for j in range(3):
        model.row((X[j, j], 1.0), (y, float(rng.normal())), lower=0.5, upper=1.5)
    model.objective((X, np.ones((3, 3))))
    problem = model.build()
    own, engine = RankBoxes(problem), RankOneBoxes(problem)
    box = Propagation(problem).tighten()
    assert box is not None
    first, second = own.box(*box), engine.box(*box)
    assert first is not None and second is not None
    for _ in range(20):
        np.testing.assert_allclose(first, second, rtol=1e-11, atol=1e-11)
        rows, others = own.relaxed(*first), engine.relaxed(*second)
        np.testing.assert_allclose(rows.A.toarray(), others.A.toarray(), atol=1e-9)
        np.testing.assert_allclose(rows.row_lower, others.row_lower, atol=1e-9)
        np.testing.assert_allclose(rows.row_upper, others.row_upper, atol=1e-9)
        e = int(rng.integers(len(own.F0)))
        end = int(rng.integers(2))
        for low_high in (first, second):
            low_high[end][e] = 0.5 * (low_high[0][e] + low_high[1][e])
        first, second = own.tightened(*first), engine.tightened(*second)
        assert (first is None) == (second is None)
        if first is None or second is None:
            break


def test_cones_as_matrices() -> None:
    rng = np.random.default_rng(7)
    for rotated, k in ((False, 1), (False, 2), (False, 4), (True, 2), (True, 3), (True, 5)):
        cone = SecondOrderCone(np.eye(k), rotated=rotated)
        matrix = with_cones_as_matrices(MISDP(c=np.ones(k), cones=[cone])).blocks[0]
        u = rng.normal(size=k)
        np.testing.assert_array_equal(matrix.matrix(u), _arrow(u, rotated))
