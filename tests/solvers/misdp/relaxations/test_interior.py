"""The compiled loops of the MISDP engines beside their bodies in array operations."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from sparseopt import generators
from sparseopt.backend import Control
from sparseopt.compiling import Mode, override
from sparseopt.params import SolveParams
from sparseopt.problems import MISDP
from sparseopt.problems.misdp.cones import (
    SemidefiniteBlock,
    arrow_block,
    triangle_weights,
    unpack_symmetric,
)
from sparseopt.solvers.misdp.bounding.lower_bounds import Judge
from sparseopt.solvers.misdp.bounds import ConicMultipliers
from sparseopt.solvers.misdp.reductions.propagation import Propagation
from sparseopt.solvers.misdp.relaxations.barrier import Barrier, ScaledCone, cone_room
from sparseopt.solvers.misdp.relaxations.clarabel_ import ClarabelRelaxation
from sparseopt.solvers.misdp.relaxations.conic import ConicForm

PROBLEMS = {
    # Rank one, and a second-order cone; cones of both kinds; few entries; a matrix variable; a
    # dense matrix beside.
    "least squares": ("cardinality-least-squares", {"n": 6, "d": 5}),
    "cones": ("random-misdp", {"integers": 8, "continuous": 3, "cones": 2}),
    "partitioning": ("k-partitioning", {"nodes": 6}),
    "isometry": ("restricted-isometry", {"m": 5, "n": 5}),
    # Cones that are longer than there are variables without them, and no matrix.
    "portfolio": ("cardinality-portfolio", {"assets": 10}),
    "network": ("network-design", {"nodes": 5, "candidates": 8, "k": 6}),
}
each_problem = pytest.mark.parametrize("name", PROBLEMS)


def _problem(name):
    generator, settings = PROBLEMS[name]
    return generators.generate(generator, seed=3, **settings)


def _solve(program, cutoff=np.inf, loose=0.0):
    return Barrier(Control(params=SolveParams()), 1e-9).solve(program, cutoff, loose)


@each_problem
def test_both_bodies_take_the_same_steps(name):
    problem = _problem(name)
    form, judge = ConicForm(problem), Judge(problem)
    box = Propagation(problem).tighten()
    program = form.program(*box)
    with override(Mode.NOW):
        compiled = _solve(program)
    with override(Mode.NEVER):
        plain = _solve(program)
    assert compiled.word == plain.word == "optimal"
    np.testing.assert_allclose(program.q @ compiled.x, program.q @ plain.x, rtol=1e-6, atol=1e-7)
    proven = judge.value(box, form.multipliers(program, compiled.dual))
    value = float(program.q @ compiled.x) + program.constant
    assert value - 1e-6 * (1.0 + abs(value)) <= proven <= value + 1e-7 * (1.0 + abs(value))


@each_problem
@pytest.mark.parametrize("mode", [Mode.NOW, Mode.NEVER])
def test_it_stops_early_with_a_bound_that_holds(name, mode):
    problem = _problem(name)
    form, judge = ConicForm(problem), Judge(problem)
    box = Propagation(problem).tighten()
    program = form.program(*box)
    with override(mode):
        optimum = float(program.q @ _solve(program).x)
        away = 0.1 * (1.0 + abs(optimum))
        below = _solve(program, optimum - away)
        above = _solve(program, optimum + away, loose=1e-2)
    assert below.word == "cutoff"
    bound = judge.value(box, form.multipliers(program, below.dual)) - program.constant
    assert optimum - away <= bound <= optimum + 1e-6
    assert above.word == "to be branched"
    bound = judge.value(box, form.multipliers(program, above.dual)) - program.constant
    assert optimum - 0.02 * away - 1e-6 <= bound <= optimum + 1e-6


def _with_arrows(problem):
    """The same problem with matrices in place of cones."""
    return replace(
        problem, cones=(), blocks=(*problem.blocks, *(arrow_block(c) for c in problem.cones))
    )


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("mode", [Mode.NOW, Mode.NEVER])
@pytest.mark.parametrize("seed", range(6))
def test_cones_and_their_arrow_matrices_have_the_same_optimum(seed, mode):
    if seed % 2:
        problem = generators.random_misdp(seed=seed, integers=4, continuous=4, cones=3, size=3)
    else:
        problem = generators.cardinality_portfolio(seed=seed, assets=9)
    other = _with_arrows(problem)
    form, judge = ConicForm(problem), Judge(problem)
    for box in itertools.islice(_boxes(problem), 4):
        with override(mode):
            program, arrows = form.program(*box), ConicForm(other).program(*box)
            assert program.orders and not arrows.orders
            found, again = _solve(program), _solve(arrows)
        exact = ClarabelRelaxation(Control(params=SolveParams()), 1e-9).solve(program, np.inf)
        if found.ray:
            assert again.ray or again.word != "optimal"
            continue
        value = float(program.q @ found.x)
        np.testing.assert_allclose(value, float(arrows.q @ again.x), rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(value, float(program.q @ exact.x), rtol=1e-6, atol=1e-6)
        multipliers = form.multipliers(program, found.dual)
        proven = judge.value(box, multipliers) - program.constant
        assert value - 1e-6 * (1.0 + abs(value)) <= proven <= value + 1e-7 * (1.0 + abs(value))
        # Multipliers are in their cones without any repair.
        begin = 0
        for cone in problem.cones:
            head, norm = cone.head_and_norm(multipliers.cones[0][begin : begin + cone.dimension])
            assert head >= norm * (1.0 - 1e-9)
            begin += cone.dimension


@pytest.mark.parametrize("length", [1, 2, 5, 40])
def test_a_scaling_takes_slack_and_multiplier_to_one_point(length):
    rng = np.random.default_rng(length)
    s, z, ds, dz = rng.normal(size=(4, length))
    for vector, room_ in ((s, 1e-3), (z, 2.0)):
        vector[0] = np.linalg.norm(vector[1:]) + room_
    cone = ScaledCone(slice(0, length), np.eye(length))
    cone.scale(s, z)
    level = cone._W @ z
    np.testing.assert_allclose(cone._inverse @ s, level, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(cone._W @ cone._inverse, np.eye(length), atol=1e-6)
    np.testing.assert_allclose(cone.unscale_twice(s), z, rtol=1e-6, atol=1e-6)
    for u, step in ((s, ds), (z, dz)):
        t = cone_room(u, step)
        if np.isinf(t):
            t = 1e3
            assert u[0] + t * step[0] >= np.linalg.norm(u[1:] + t * step[1:]) - 1e-6
        else:
            gap = u[0] + t * step[0] - np.linalg.norm(u[1:] + t * step[1:])
            assert abs(gap) <= 1e-9 * (1.0 + t)


@pytest.mark.thorough(after=1)
@each_problem
def test_programs_of_loops_and_of_arrays_are_the_same(name):
    problem = _problem(name)
    form = ConicForm(problem)
    for box in _boxes(problem):
        with override(Mode.NOW):
            loops = form.program(*box)
        with override(Mode.NEVER):
            arrays = form.program(*box)
        assert arrays.faces is not None
        np.testing.assert_array_equal(loops.free, arrays.free)
        assert (loops.sizes, loops.orders, loops.bounds) == (
            arrays.sizes,
            arrays.orders,
            arrays.bounds,
        )
        x = np.random.default_rng(0).normal(size=len(loops.q))
        first, second = (part.b - part.matrix @ x for part in (loops, arrays))
        end = loops.zero + loops.nonnegative + sum(loops.orders)
        np.testing.assert_allclose(first[:end], second[:end], atol=1e-12)
        for size in loops.sizes:
            here = slice(end, end + size * (size + 1) // 2)
            spectra = [_spectrum(part[here], size) for part in (first, second)]
            np.testing.assert_allclose(*spectra, atol=1e-9)
            end = here.stop


def test_a_matrix_without_variables_is_idle():
    blocks = [
        SemidefiniteBlock(F=np.zeros((3, 2)), F0=np.array([0.0, 0.0, 1.0])),
        SemidefiniteBlock(F=np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 1.0]]), F0=np.zeros(3)),
    ]
    ends = np.zeros(2), np.ones(2)
    problem = MISDP(
        c=np.ones(2), integer=[True, False], lower=ends[0], upper=ends[1], blocks=blocks
    )
    for mode in (Mode.NOW, Mode.NEVER):
        with override(mode):
            program = ConicForm(problem).program(*ends)
        assert program.sizes == (2,)
        assert program.idle[2] == (0,)


def _boxes(problem):
    """The root, and boxes with more and more integers at an end."""
    propagation = Propagation(problem)
    box = propagation.tighten()
    rng = np.random.default_rng(1)
    while box is not None:
        yield box
        open_ = np.flatnonzero(problem.integer & (box[0] < box[1]))
        if not len(open_):
            return
        j, low, high = rng.choice(open_), box[0].copy(), box[1].copy()
        low[j] = high[j] = low[j] if rng.random() < 0.5 else high[j]
        box = propagation.tighten(low, high)


def _spectrum(packed, size):
    return np.linalg.eigvalsh(unpack_symmetric(packed / np.sqrt(triangle_weights(size)), size))


@each_problem
def test_it_begins_at_the_iterate_of_a_box_around(name):
    problem = _problem(name)
    form = ConicForm(problem)
    begun = 0
    with override(Mode.NOW):
        kept = None
        for box in _boxes(problem):
            cold, warm = form.program(*box), form.program(*box, start=kept)
            begun += warm.first()[1] if len(warm.q) else 0
            found, again = _solve(cold, loose=1e-6), _solve(warm, loose=1e-6)
            if found.word != "to be branched":
                break
            assert again.word == found.word
            values = [float(cold.q @ part.x) for part in (found, again)]
            np.testing.assert_allclose(*values, rtol=1e-5, atol=1e-5)
            kept = cold.kept(found.state, len(form.stack.b))
    assert begun > 0


@each_problem
def test_both_bodies_derive_the_same_bounds(name):
    problem = _problem(name)
    propagation = Propagation(problem)
    rng = np.random.default_rng(0)
    whole = np.flatnonzero(problem.integer)
    for fixed in range(4):
        low, high = problem.lower.copy(), problem.upper.copy()
        chosen = rng.choice(whole, fixed, replace=False)
        high[chosen] = low[chosen]
        with override(Mode.NOW):
            compiled = propagation.tighten(low, high)
        with override(Mode.NEVER):
            plain = propagation.tighten(low, high)
        assert (compiled is None) == (plain is None)
        if compiled is not None:
            np.testing.assert_allclose(compiled, plain, rtol=1e-12, atol=1e-12)


@each_problem
def test_the_quick_bound_is_no_better_than_the_whole_one(name):
    problem = _problem(name)
    judge, rng = Judge(problem), np.random.default_rng(1)
    box = Propagation(problem).tighten()
    lengths = problem.A.shape[0], judge.safe.cone_length, judge.safe.psd_length
    finite = 0
    for size in (0.1, 1.0, 100.0):
        given = ConicMultipliers(*(size * rng.normal(size=(1, length)) for length in lengths))
        with override(Mode.NOW):
            quick = judge.safe.quick(*box, given.joined())
        whole = judge.safe.evaluate(*box, given)
        if np.isinf(quick):
            continue
        finite += 1
        assert quick <= whole.value[0] + 1e-12 * whole.size[0]
        if not judge.safe._own:
            assert quick >= whole.value[0] - 1e-9 * whole.size[0]
    assert finite or np.isinf(np.concatenate(box)).any()
