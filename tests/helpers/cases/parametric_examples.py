"""Parametric problems of all shapes, and the linear programs that they are, written by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from sparseopt.problems import (
    DantzigSelector,
    LADLasso,
    ParametricLP,
    Pieces,
    PiecewiseLinearProgram,
)
from sparseopt.problems.parametric.maps import DenseMap, StackedMap


def design(seed, n=20, d=8):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, :3] @ np.array([3.0, -2.0, 1.0]) + rng.normal(size=n), rng


def dantzig(seed):
    X, y, _ = design(seed)
    return DantzigSelector(X, y)


def dantzig_scaled_weighted(seed):
    X, y, rng = design(seed)
    weights = rng.uniform(0.5, 2.0, 8)
    weights[2] = 0.0
    return DantzigSelector(X, y, scale="n", weights=weights)


def dantzig_adaptive(seed):
    X, y, rng = design(seed)
    weights = rng.uniform(0.5, 2.0, 8)
    weights[5] = 0.0
    return DantzigSelector(X, y, weights=weights, row_weights=weights)


def dantzig_factored(seed):
    """n so far below d that X theta becomes variables of its own."""
    X, y, _ = design(seed, n=6, d=25)
    return DantzigSelector(X, y)


def lad(seed):
    X, y, _ = design(seed)
    return LADLasso(X, y)


def lad_intercept_weighted(seed):
    X, y, rng = design(seed)
    weights = rng.uniform(0.5, 2.0, 8)
    weights[1] = 0.0
    return LADLasso(X, y, fit_intercept=True, weights=weights)


def lad_saturated(seed):
    X, y, _ = design(seed, n=8, d=15)
    return LADLasso(X, y)


def lp_inequality(seed):
    rng = np.random.default_rng(seed)
    m, n = 9, 6
    A = rng.normal(size=(m, n))
    x = rng.uniform(size=n)
    return ParametricLP(
        A, A @ x + 0.1, rng.uniform(0.5, 1.5, m), rng.normal(size=n), -rng.uniform(0.5, 1.5, n)
    )


def lp_equality(seed):
    rng = np.random.default_rng(seed)
    m, n = 5, 10
    A = sp.random_array((m, n), density=0.7, rng=rng, data_sampler=rng.normal).toarray()
    A[:, :m] += np.eye(m)
    return ParametricLP(
        A,
        A @ rng.uniform(size=n),
        A @ rng.uniform(size=n),
        rng.normal(size=n),
        -rng.uniform(1.0, 2.0, n),
        form="equality",
    )


def several_kinks(seed):
    """Three kinks a function, in rows and variables; a sparse A; kinks and slopes move."""
    rng = np.random.default_rng(seed)
    m, p = 12, 7
    A = sp.random_array((m, p), density=0.5, rng=rng, data_sampler=rng.normal)
    start, gaps = rng.normal(size=m), rng.uniform(0.1, 1.0, size=(2, m))
    slopes = np.sort(rng.normal(size=(4, m)), axis=0)
    psi = Pieces.uniform(
        [start, start + gaps[0], start + gaps.sum(axis=0)],
        list(slopes),
        kink_rates=[-np.ones(m), np.zeros(m), rng.uniform(0.0, 1.0, m)],
        slope_rates=[-np.ones(m), np.zeros(m), np.zeros(m), np.ones(m)],
    )
    wide = np.full(p, 2.0)
    phi = Pieces.uniform(
        [-wide, np.zeros(p), wide],
        [-np.inf, -0.2 * np.ones(p), 0.3 * np.ones(p), np.inf],
        kink_rates=[-np.ones(p), np.zeros(p), np.ones(p)],
        slope_rates=[0.0, -np.ones(p), np.ones(p), 0.0],
    )
    return PiecewiseLinearProgram(A, phi, psi, offset=np.array([1.0, -2.0, 0.5]))


def ranged(seed):
    """Boxes, ranged rows, equalities, a free variable, a linear one, and a repeated slope."""
    rng = np.random.default_rng(seed)
    m, p = 6, 8
    A = rng.normal(size=(m, p))
    center = A @ rng.uniform(-0.5, 0.5, p)
    half = np.array([0.0, 0.0, 0.5, 0.5, 1.0, 1.0])
    psi = Pieces.uniform(
        [center - half, center + half],
        [-np.inf, np.zeros(m), np.inf],
        kink_rates=[-half, half],
    )
    phi = Pieces.concatenate(
        Pieces.lam_absolute(np.full(4, 1.0)),
        Pieces.uniform([-1.0, 0.0, 1.0], [-np.inf, -1.0, -1.0, np.inf], n=1),
        Pieces.uniform([-2.0, 0.5, 2.0], [-np.inf, -1.0, 0.5, np.inf], n=2),
        Pieces.free(1),
    )
    return PiecewiseLinearProgram(A, phi, psi)


def coinciding(seed):
    """Three kinks at one place: which one a row is at is for its multiplier to say."""
    rng = np.random.default_rng(seed)
    m, p = 10, 6
    center = rng.normal(size=m)
    psi = Pieces.uniform([center] * 3, [-1.0, -0.3, 0.2, 1.0], kink_rates=[np.zeros(m)] * 3, n=m)
    return PiecewiseLinearProgram(rng.normal(size=(m, p)), Pieces.lam_absolute(np.ones(p)), psi)


def stacked(seed):
    """Fused terms: the rows of X, and below them differences with the slopes -lam and lam."""
    X, y, _ = design(seed, n=12, d=6)
    D = np.diff(np.eye(6), axis=0)
    psi = Pieces.concatenate(Pieces.check_loss(y, 0.3), Pieces.lam_absolute(np.ones(5)))
    return PiecewiseLinearProgram(
        StackedMap(DenseMap(X), DenseMap(D)), Pieces.lam_absolute(np.full(6, 0.5)), psi
    )


KINDS: list[Callable] = [
    dantzig,
    dantzig_scaled_weighted,
    dantzig_adaptive,
    dantzig_factored,
    lad,
    lad_intercept_weighted,
    lad_saturated,
    lp_inequality,
    lp_equality,
    several_kinks,
    ranged,
    coinciding,
    stacked,
]


# ---- degenerate data


def integer_data(d=6):
    rng = np.random.default_rng(3)
    return rng.integers(-2, 3, size=(15, d)).astype(float), rng.integers(-3, 4, 15).astype(float)


DEGENERATE = {
    "integers": integer_data(),
    "duplicate columns": (np.hstack([integer_data()[0]] * 2), integer_data()[1]),
    "zero column": (np.hstack([integer_data()[0], np.zeros((15, 1))]), integer_data()[1]),
    "constant y": (integer_data()[0], np.full(15, 2.0)),
    "zero y": (integer_data()[0], np.zeros(15)),
    "more columns than rows": (integer_data(d=30)[0][:7], integer_data()[1][:7]),
    "one row": (integer_data(d=9)[0][:1], np.array([2.0])),
    "columns of all sizes": (design(0)[0] * 10.0 ** np.arange(-4, 4), design(0)[1]),
}


# ---- without an optimum


def impossible_below_one():
    """theta_1 + theta_2 <= -1 + lam with theta >= 0: feasible from lam = 1 on."""
    return ParametricLP(np.ones((1, 2)), [-1.0], [1.0], [1.0, 2.0], [0.0, 0.0])


def possible_up_to_two():
    """x <= 4 - lam and x >= lam: feasible up to lam = 2."""
    return ParametricLP(np.array([[1.0], [-1.0]]), [4.0, 0.0], [-1.0, -1.0], [1.0], [0.0])


def too_many_bands(seed):
    """abs(A theta - b) <= lam with more rows than columns, abs(theta) <= 1."""
    rng = np.random.default_rng(seed)
    box = Pieces.uniform([-1.0, 0.0, 1.0], [-np.inf, -1.0, 1.0, np.inf], n=4)
    return PiecewiseLinearProgram(
        rng.normal(size=(9, 4)), box, Pieces.lam_band(3.0 * rng.normal(size=9))
    )


def farkas_sum(problem, nu, lam):
    program = problem.canonical()
    v = np.concatenate([-program.A.rmatvec(nu), nu])
    low, high = (
        np.concatenate(ends)
        for ends in zip(program.phi.domain(lam), program.psi.domain(lam), strict=True)
    )
    used = np.abs(v) > 1e-12
    return sum(np.where(v > 0.0, high, low)[used] * v[used])


# ---- the same question as an LP in epigraph form, written without the backend


def lines(pieces, i, lam):
    """Return (slope, intercept) of the lines whose maximum is function i, and its domain."""
    t = (pieces.kink + lam * pieces.kink_rate)[pieces.ptr[i] : pieces.ptr[i + 1]]
    first = pieces.ptr[i] + i
    s = (pieces.slope + lam * pieces.slope_rate)[first : first + len(t) + 1]
    values = np.concatenate([[0.0], np.cumsum(s[1:-1] * np.diff(t))])
    found = []
    if np.isfinite(s[0]):
        found.append((s[0], values[0] - s[0] * t[0]))
    found += [
        (s[k + 1], values[k] - s[k + 1] * t[k]) for k in range(len(t)) if np.isfinite(s[k + 1])
    ]
    low = t[0] if np.isneginf(s[0]) else None
    high = t[-1] if np.isposinf(s[-1]) else None
    return found, (low, high)


def by_linprog(problem, lam):
    """Minimise the sum of epigraph variables over theta, r = A theta and the epigraphs."""
    program = problem.canonical()
    m, p = program.A.shape
    A = program.A.as_array()
    A = A.toarray() if sp.issparse(A) else A
    n = p + m
    rows, right, bounds = [], [], []
    for pieces, offset in ((program.phi, 0), (program.psi, p)):
        for i in range(len(pieces)):
            found, domain = lines(pieces, i, lam)
            bounds.append(domain)
            for slope, intercept in found:
                row = np.zeros(2 * n)
                row[offset + i] = slope
                row[n + offset + i] = -1.0
                rows.append(row)
                right.append(-intercept)
    equal = np.hstack([A, -np.eye(m), np.zeros((m, n))])
    found = linprog(
        np.concatenate([np.zeros(n), np.ones(n)]),
        np.array(rows),
        right,
        equal,
        np.zeros(m),
        [*bounds, *([(None, None)] * n)],
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if found.status != 0:
        return found.status
    o = program.offset
    sign = 1.0 if problem.sense == "min" else -1.0
    return sign * (found.fun + o[0] + o[1] * lam + o[2] * lam**2)


def assert_optimal(problem, theta, nu, lam, tolerance=1e-9):
    """Primal feasible, dual feasible, and no gap: each to the tolerance of the data's size."""
    program = problem.canonical()
    size = 1.0 + max(np.abs(program.phi.kink).max(), np.abs(program.psi.kink).max())
    assert max(problem.residuals(theta, lam).values()) <= tolerance * size
    v = np.concatenate([-program.A.rmatvec(nu), nu])
    ends = [
        np.concatenate(e)
        for e in zip(program.phi.slope_range(lam), program.psi.slope_range(lam), strict=True)
    ]
    steep = 1.0 + np.abs(v).max()
    assert np.max(np.maximum(ends[0] - v, v - ends[1])) <= tolerance * steep
    value, bound = program.value(theta, lam), program.dual_value(nu, lam)
    assert abs(value - bound) <= tolerance * max(1.0, abs(value))
