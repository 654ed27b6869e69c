"""The compiled loops of the MISDP engines beside their bodies in array operations."""

from __future__ import annotations

import numpy as np
import pytest

from sparseopt import generators
from sparseopt.backend import Control
from sparseopt.compiling import Mode, override
from sparseopt.params import SolveParams
from sparseopt.solvers.misdp.barrier import Barrier
from sparseopt.solvers.misdp.bounding import Judge
from sparseopt.solvers.misdp.bounds import ConicMultipliers
from sparseopt.solvers.misdp.conic import ConicForm
from sparseopt.solvers.misdp.propagation import Propagation

PROBLEMS = {
    # Rank one, and a second-order cone; few entries; a matrix variable; a dense matrix beside.
    "least squares": ("cardinality-least-squares", {"n": 6, "d": 5}),
    "cones": ("random-misdp", {}),
    "partitioning": ("k-partitioning", {"nodes": 6}),
    "isometry": ("restricted-isometry", {"m": 5, "n": 5}),
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
    if problem.cones:
        pytest.skip("the quick bound takes no cones")
    judge, rng = Judge(problem), np.random.default_rng(1)
    box = Propagation(problem).tighten()
    rows, psd = problem.A.shape[0], judge.safe.psd_length
    finite = 0
    for size in (0.1, 1.0, 100.0):
        y, Z = size * rng.normal(size=rows), size * rng.normal(size=psd)
        with override(Mode.NOW):
            quick = judge.safe.quick(*box, np.concatenate([y, Z]))
        whole = judge.safe.evaluate(*box, ConicMultipliers(y[None], np.zeros((1, 0)), Z[None]))
        if np.isinf(quick):
            continue
        finite += 1
        assert quick <= whole.value[0] + 1e-12 * whole.size[0]
        if not judge.safe._own:
            assert quick >= whole.value[0] - 1e-9 * whole.size[0]
    assert finite or np.isinf(np.concatenate(box)).any()
