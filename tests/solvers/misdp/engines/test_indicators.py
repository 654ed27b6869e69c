"""Inequalities for masters: every feasible point with integral integers meets them."""

import itertools

import numpy as np
import pytest
from small_misdps import draw

from sparseopt.backend import Control
from sparseopt.params import SolveParams
from sparseopt.problems import STRS, MISDPBuilder
from sparseopt.problems.misdp.cones import pack_symmetric
from sparseopt.problems.strs.semidefinite import strs_as_misdp
from sparseopt.solvers.misdp.outer.indicators import Indicators
from sparseopt.solvers.misdp.reductions.propagation import Propagation


def indicators(problem, **largest):
    """Return them for the whole problem; a form's largest value is that by bounds or as given."""
    propagation = Propagation(problem)
    box = propagation.tighten()
    if box is None:
        return None

    def by_bounds(form):
        used = np.flatnonzero(form)
        ends = [form[used] * end[used] for end in box]
        return float(np.maximum(*ends).sum())

    control = Control(SolveParams())
    return Indicators(problem, propagation, box, control, largest.get("largest", by_bounds))


def missed(found, x):
    """By how much a point misses the worst row."""
    slacks = [side - float(row @ x) for row, side in zip(found.rows, found.sides, strict=True)]
    return max(slacks, default=0.0)


def trust_region_point(rng, D, d):
    """A feasible point of the weak formulation: q, and the lower triangle of (1, z)(1, z)'."""
    support = rng.choice(D, size=rng.integers(1, d + 1), replace=False)
    z, q = np.zeros(D), np.zeros(D)
    z[support], q[support] = rng.normal(size=len(support)), 1.0
    whole = np.append(1.0, z / np.linalg.norm(z))
    return np.concatenate([q, pack_symmetric(np.outer(whole, whole))])


@pytest.mark.thorough
def test_sparse_trust_regions_meet_them_and_their_relaxation_does_not():
    rng = np.random.default_rng(3)
    D, d = 6, 2
    problem = strs_as_misdp(STRS(A=np.eye(D), a=np.ones(D), d=d), "weak")

    def known(form):
        # Forms in q are the number of nonzeros, all others the trace.
        return float(d) if form[:D].any() else 1.0

    found = indicators(problem, largest=known)
    points = [trust_region_point(rng, D, d) for _ in range(60)]
    assert max(max(problem.residuals(x).values()) for x in points) < 1e-12
    middle = np.mean(points, axis=0)
    assert missed(found, middle) < 1e-9
    # All q = d / D leaves the relaxation the whole sphere.
    z = np.append(1.0, np.full(D, D**-0.5))
    sphere = np.concatenate([np.full(D, d / D), pack_symmetric(np.outer(z, z))])
    assert max(v for k, v in problem.residuals(sphere).items() if k != "integrality") < 1e-12
    assert found.separate(sphere) > 0
    assert missed(found, sphere) > 1e-2
    for _ in range(60):
        found.separate(sphere + 0.2 * rng.normal(size=len(sphere)))
    assert max(missed(found, x) for x in points) < 1e-9


@pytest.mark.thorough
def test_random_problems_lose_no_point():
    pytest.importorskip("clarabel", reason="Clarabel is not installed: sparseopt[misdp]")
    from enumeration import relax

    rows = 0
    for seed in range(30):
        problem = draw(seed)
        found = indicators(problem)
        if found is None:
            continue
        rng = np.random.default_rng(seed)
        whole = problem.integer
        ranges = [
            np.arange(a, b + 1.0)
            for a, b in zip(problem.lower[whole], problem.upper[whole], strict=True)
        ]
        choices = list(itertools.product(*ranges))
        for which in rng.choice(len(choices), size=min(6, len(choices)), replace=False):
            lower, upper = problem.lower.copy(), problem.upper.copy()
            lower[whole] = upper[whole] = choices[which]
            x = lower if whole.all() else relax(problem, lower, upper).x
            found.separate(x + 0.1 * rng.normal(size=len(x)))
            if max(problem.residuals(x).values()) <= 1e-9:
                assert missed(found, x) < 1e-7
        rows += len(found)
    assert rows > 100


def test_upper_ends_of_wide_integers():
    """k = 4 leaves M = [[4 - k, y], [y, w]] no y but zero."""
    model = MISDPBuilder("max")
    k = model.variable(lower=2.0, upper=4.0, integer=True)
    y = model.variable(lower=-5.0, upper=5.0)
    w = model.variable(lower=0.0, upper=2.0)
    model.semidefinite(
        (k, np.diag([-1.0, 0.0])),
        (y, np.array([[0.0, 1.0], [1.0, 0.0]])),
        (w, np.diag([0.0, 1.0])),
        constant=np.diag([4.0, 0.0]),
    )
    model.objective((y, 1.0))
    found = indicators(model.build())
    assert missed(found, np.array([4.0, 0.5, 2.0])) > 0.1
    for size, width, sign in itertools.product((2.0, 3.0, 4.0), (0.0, 1.0, 2.0), (1.0, -1.0)):
        found.separate(np.array([size, 3.0 * sign, width]))
        x = np.array([size, sign * np.sqrt((4.0 - size) * width), width])
        assert missed(found, x) < 1e-9
