"""Mixed-integer semidefinite programs with known answers."""

from __future__ import annotations

import itertools
import math

import numpy as np

from sparseopt.generators.misdp import cardinality_least_squares
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.misdp.builder import MISDPBuilder
from sparseopt.problems.misdp.problem import MISDP
from sparseopt.problems.strs.problem import STRS
from sparseopt.problems.strs.semidefinite import strs_as_misdp
from sparseopt.result import Status
from sparseopt.testing.samples import FamilySamples, Sample
from sparseopt.testing.strs import best_by_supports

_OFF = np.array([[0.0, 1.0], [1.0, 0.0]])


def misdp_samples(rng: np.random.Generator) -> FamilySamples:
    """Return closed forms with each kind of constraint, and statistics settled by supports.

    Parameters
    ----------
    rng : numpy Generator

    Returns
    -------
    FamilySamples
    """
    samples = [
        Sample("integer", _integer(), {}, 4.0, known_by="x / 4 <= 1"),
        Sample("trace", _trace(), {}, 3.0 + 0.25, known_by="the top eigenvalue, plus the constant"),
        Sample("cone", _cone(), {}, math.sqrt(5.0), known_by="the norm of (1, 2)"),
        Sample("rotated", _rotated(), {}, 4.0, known_by="2 squared"),
        Sample("quadratic", _quadratic(), {}, 2.25, known_by="x = 1, k = 0 or 1"),
        Sample("indicator", _indicator(), {}, 25.0 / 12.0, known_by="the multipliers of two rows"),
        Sample("no-interior", _without_interior(), {}, 1.0, known_by="x = 1 is forced"),
        Sample(
            "infeasible",
            _infeasible(),
            {},
            status=Status.INFEASIBLE,
            known_by="(2 x - 1)^2 <= 1 / 2 has no integer x",
        ),
        Sample(
            "unbounded",
            _unbounded(),
            {},
            status=Status.UNBOUNDED,
            known_by="x is unbounded above",
        ),
    ]
    B, a = rng.normal(size=(5, 5)), rng.normal(size=5)
    sparse = STRS(A=B + B.T, a=a, d=2)
    samples.append(
        Sample(
            "sparse-direction",
            strs_as_misdp(sparse),
            {},
            best_by_supports(sparse),
            known_by="all supports",
        )
    )
    regression = cardinality_least_squares(seed=int(rng.integers(1000)), n=8, d=6, k=2)
    samples.append(
        Sample("regression", regression, {}, _best_subset(regression, 2), known_by="all supports")
    )
    return FamilySamples(
        samples=tuple(samples),
        large=(Sample("large", cardinality_least_squares(seed=1, n=24, d=30, k=8, sigma=2.0)),),
        invalid=_crossed,
    )


def _integer() -> MISDP:
    """Maximise the integer x with [[1, x / 4], [x / 4, 1]] semidefinite."""
    model = MISDPBuilder("max")
    x = model.variable(lower=0.0, upper=9.0, integer=True, name="x")
    model.semidefinite((x, 0.25 * _OFF), constant=np.eye(2))
    model.objective((x, 1.0))
    return model.build()


def _trace() -> MISDP:
    """Maximise the inner product with a matrix variable of trace one."""
    model = MISDPBuilder("max")
    X = model.matrix(3, name="X")
    model.row((X, np.eye(3)), lower=1.0, upper=1.0)
    model.objective((X, np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 1.0]])), offset=0.25)
    return model.build()


def _cone() -> MISDP:
    """Minimise the norm of two integers whose sum is at least 3."""
    model = MISDPBuilder("min")
    k = model.variables(2, lower=-5.0, upper=5.0, integer=True)
    t = model.variable(name="t")
    model.row((k, np.ones(2)), lower=3.0)
    model.cone([[(t, 1.0)], [(k[0], 1.0)], [(k[1], 1.0)]])
    model.objective((t, 1.0))
    return model.build()


def _rotated() -> MISDP:
    """Minimise u >= k^2 for an integer k >= 3 / 2."""
    model = MISDPBuilder("min")
    k = model.variable(lower=1.5, upper=7.0, integer=True)
    u = model.variable()
    model.cone([[(u, 1.0)], [], [(k, 1.0)]], constant=[0.0, 0.5, 0.0], rotated=True)
    model.objective((u, 1.0))
    return model.build()


def _quadratic() -> MISDP:
    """Minimise (x - 1)^2 + (k - 1 / 2)^2 + 2 for an integer k and a free x."""
    model = MISDPBuilder("min")
    x = model.variable()
    k = model.variable(lower=-9.0, upper=9.0, integer=True)
    model.objective(
        (x, -2.0), (k, -1.0), offset=3.25, quadratic=[(np.array([x, k]), 2.0 * np.eye(2))]
    )
    return model.build()


def _indicator() -> MISDP:
    """Minimise x^2 + y^2 / 2 where x + y >= 3, which costs .1, or x - y = 5 / 2."""
    model = MISDPBuilder("min")
    on = model.variables(2, lower=0.0, upper=1.0, integer=True)
    x = model.variables(2, lower=-4.0, upper=4.0)
    model.row((on, np.ones(2)), lower=1.0)
    model.indicator(int(on[0]), (x, np.ones(2)), lower=3.0)
    model.indicator(int(on[1]), (x, np.array([1.0, -1.0])), lower=2.5, upper=2.5)
    model.objective((on, np.array([0.1, 0.0])), quadratic=[(x, np.diag([2.0, 1.0]))])
    return model.build()


def _without_interior() -> MISDP:
    """Minimise an integer k >= x / 2 where diag(x - 1, 1 - x) forces x = 1."""
    model = MISDPBuilder("min")
    k = model.variable(lower=-4.0, upper=4.0, integer=True)
    x = model.variable(lower=-4.0, upper=4.0)
    model.semidefinite((x, np.diag([1.0, -1.0])), constant=np.diag([-1.0, 1.0]))
    model.row((k, 1.0), (x, -0.5), lower=0.0)
    model.objective((k, 1.0))
    return model.build()


def _infeasible() -> MISDP:
    model = MISDPBuilder("min")
    x = model.variables(2, lower=-3.0, upper=3.0, integer=True)
    model.row((x, np.ones(2)), lower=-6.0, upper=6.0)
    model.semidefinite((x, [2.0 * _OFF, 4.0 * _OFF]), constant=np.array([[0.5, -1.0], [-1.0, 1.0]]))
    model.objective((x, np.ones(2)))
    return model.build()


def _unbounded() -> MISDP:
    model = MISDPBuilder("max")
    x = model.variable(lower=0.0)
    k = model.variable(lower=0.0, upper=2.0, integer=True)
    model.semidefinite((x, np.eye(2)), (k, _OFF), constant=np.eye(2))
    model.objective((x, 1.0), (k, 1.0))
    return model.build()


def _best_subset(problem: MISDP, k: int) -> float:
    """Return the least y'(I + sum of the chosen terms)^-1 y, from the problem's own matrix."""
    (block,) = problem.blocks
    d = len(problem.c) - 1
    values = []
    for chosen in itertools.combinations(range(d), k):
        x = np.zeros(d + 1)
        x[list(chosen)] = 1.0
        M: Array = block.matrix(x)
        values.append(float(M[-1, :-1] @ np.linalg.solve(M[:-1, :-1], M[:-1, -1])))
    return min(values)


def _crossed() -> Problem:
    problem = _integer()
    object.__setattr__(problem, "lower", np.array([10.0]))
    return problem
