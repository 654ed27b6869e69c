"""Paths whose multipliers are off by less than the tolerance, where that costs much.

A reduced cost that is wrong by 1e-10 of its terms looks like rounding. What it is worth depends on
how large its variable may become: each attack makes that large where a checker may not look,
between the ends of a segment, at large lam, or in a variable that is put right at the expense of
another. Numbers that cancel make what evidence of an end misses look small.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from segment_attacks import Editor

import sparseopt
from sparseopt import Result, SolveParams
from sparseopt.problems import ParametricLP

Rng = np.random.Generator


def multiplier_attacks(rng: Rng) -> Iterator[tuple[str, ParametricLP, Result]]:
    """Yield the kind, the problem and a false path that is said to be optimal."""
    yield "multipliers moved", *moved(rng)
    yield "bounds at the ends", *at_the_ends(rng)
    yield "bounds by two rows", *by_two_rows(rng)
    yield "bounds that grow", *growing(rng)
    yield "rates", *steeper(rng)
    yield "an end before its time", *cut_short(rng)


def moved(rng: Rng) -> tuple[ParametricLP, Result]:
    """Return an unbounded problem with a segment whose multiplier cannot serve two variables.

    The first variable asks for a multiplier of 1, the second for one below 1 - gap / 2.
    """
    gap = 10.0 ** rng.uniform(-10.5, -9.2)
    size = 10.0 ** rng.uniform(-3.0, 3.0)
    A = np.array([[-1.0, 1.0, 1.0, 0.0], [0.0, 0.0, 1.0, 1.0]])
    b = size * np.array([0.5, 1.0])
    cost = np.array([-1.0, 1.0 - 0.49 * gap, 1.0 - 0.5 * gap, 0.0])
    fair = np.array([-1.0 + gap, 1.0, 1.0 - 0.5 * gap, 0.0])
    still = [0.0] * 4
    problem, base = (
        ParametricLP(A, b, [0.0, 0.0], -c, still, form="equality") for c in (cost, fair)
    )
    return problem, claimed(problem, base)


def at_the_ends(rng: Rng) -> tuple[ParametricLP, Result]:
    """Return a variable whose cost is wrong at the upper end, and its bound large at the lower."""
    far, step, size = _far(rng)
    limit = ([[0.0, 1.0, 0.0]], [size * (far + 1.0)], [-size * far])
    return _hidden(rng, limit, ([0.0, 0.0, 0.0], [0.0, step, 0.0]), size)


def by_two_rows(rng: Rng) -> tuple[ParametricLP, Result]:
    """Return a variable with one bound that rises and one that falls, large in the middle."""
    far, step, size = _far(rng)
    limit = (
        [[0.0, 1.0, 0.0]] * 2,
        [size, size * (far + 1.0)],
        [size * far, -size * far],
    )
    return _hidden(rng, limit, ([0.0, step, 0.0], [0.0] * 3), size)


def growing(rng: Rng) -> tuple[ParametricLP, Result]:
    """Return a variable whose bound grows with lam, to infinity."""
    size = 10.0 ** rng.uniform(-3.0, 3.0)
    step = 2.0 ** -float(rng.integers(31, 36))
    limit = ([[0.0, 1.0, 0.0]], [size], [size])
    return _hidden(rng, limit, ([0.0, step, 0.0], [0.0] * 3), size)


def steeper(rng: Rng) -> tuple[ParametricLP, Result]:
    """Return a variable whose gain grows a little faster with lam than its cost."""
    size = 10.0 ** rng.uniform(-3.0, 3.0)
    step = 2.0 ** -float(rng.integers(34, 52))
    costs = [1.0, 0.5, -1.0]
    problem, base = (
        ParametricLP([[1.0, 1.0, -1.0]], [size], [0.0], costs, [1.0, 1.0 + sign * step, -1.0])
        for sign in (1.0, -1.0)
    )
    return problem, claimed(problem, base, lam_min=1.0)


def cut_short(rng: Rng) -> tuple[ParametricLP, Result]:
    """Return a path that ends above its end, by evidence with two large numbers that cancel."""
    size, end = 10.0 ** rng.uniform(-3.0, 3.0), 10.0 ** rng.uniform(-2.0, 2.0)
    A, b = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [size, size, -end]
    problem = ParametricLP(A, b, [0.0, 0.0, 1.0], [1.0, -1.0], [0.0, 0.0], form="equality")
    true = sparseopt.solve(problem)
    assert true.certificate is not None
    editor = Editor(problem.canonical(), problem.canonical_sign)
    path: Any = true.path
    (segment,) = editor.read(path, true.certificate)
    end *= 1.0 + 10.0 ** rng.uniform(-3.0, 1.0)
    path, certificate = editor.write(path, true.certificate, [segment.part(end, np.inf)])
    large = end / size * 10.0 ** rng.uniform(9.5, 15.0)
    farkas = true.certificate.arrays["farkas"] + np.array([large, -large, 0.0])
    certificate = replace(certificate, arrays={**certificate.arrays, "farkas": farkas})
    x = path.at(end)
    value = problem.objective(x, end)
    return problem, true.with_changes(
        path=path, certificate=certificate, x=x, objective=value, bound=value, duals={}
    )


def claimed(problem: ParametricLP, base: ParametricLP, lam_min: float | None = None) -> Result:
    """Return the path of a problem with somewhat other costs, as if it were that of this one."""
    true = sparseopt.solve(base, lam_min=lam_min)
    assert true.certificate is not None
    editor = Editor(problem.canonical(), problem.canonical_sign)
    path: Any = true.path
    path, certificate = editor.write(path, true.certificate, editor.read(path, true.certificate))
    x = path.at(float(path.low[-1]))
    value = problem.objective(x, float(path.low[-1]))
    return Result(
        status=true.status,
        limit=true.limit,
        x=x,
        objective=value,
        bound=value,
        path=path,
        certificate=certificate,
        params=SolveParams(lam_min=lam_min),
        kind=problem.kind,
        problem=problem,
    )


def _far(rng: Rng) -> tuple[float, float, float]:
    """Return a distance, a step whose product with a quarter of it is 1/8 or more, and a size."""
    exponent = float(rng.integers(31, 37))
    return 2.0 ** (exponent + rng.integers(-1, 6)), 2.0**-exponent, 10.0 ** rng.uniform(-3.0, 3.0)


def _hidden(
    rng: Rng, limit: tuple[Any, Any, Any], step: tuple[Any, Any], size: float
) -> tuple[ParametricLP, Result]:
    """Return max y + x - w with y + x - w <= size, and x earning `step` more, up to its limit."""
    rows, b, b_bar = limit
    A = np.vstack([[1.0, 1.0, -1.0], *rows])
    costs, rates = np.array([1.0, 1.0, -1.0]), np.zeros(3)
    b, b_bar = np.append(size, b), np.append(0.0, b_bar)
    problem = ParametricLP(A, b, b_bar, costs + step[0], rates + step[1])
    base = ParametricLP(A, b, b_bar, costs - [0.0, 0.5, 0.0], rates)
    return problem, claimed(problem, base)
