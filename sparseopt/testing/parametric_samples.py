"""Parametric problems whose optimal value is known at every lam."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.problems.parametric.pieces import Pieces
from sparseopt.problems.parametric.problem import (
    ParametricLP,
    ParametricProblem,
    PiecewiseLinearProgram,
)
from sparseopt.problems.parametric.regression import DantzigSelector, LADLasso, QuantileLasso

_FEASIBLE = 1e-9
"""Violation of a vertex that counts as rounding, relative to the kinks."""


@dataclass(frozen=True)
class PathSample:
    """A parametric problem whose optimal value is known at every lam.

    Attributes
    ----------
    name : str
    problem : ParametricProblem
    top : float
        About the largest lam at which something happens.
    value : callable, optional
        The optimal value as a function of lam; by default all vertices are tried.
    end : float, default 0
        Where the path to lam = 0 ends: below, there is no optimum.
    stopped_by : str, default "lam_min"
        Why it ends there.
    lam_min : float, default 0
        Where the question ends the path.
    """

    name: str
    problem: ParametricProblem
    top: float
    value: Callable[[float], float] | None = None
    end: float = 0.0
    stopped_by: str = "lam_min"
    lam_min: float = 0.0

    def optimum(self, lam: float) -> float:
        """Return the optimal value at lam."""
        if self.value is not None:
            return float(self.value(lam))
        return vertex_optimum(self.problem, lam)

    @property
    def known_by(self) -> str:
        """Where the optimum comes from."""
        return "all vertices" if self.value is None else "a closed form"

    @property
    def scale(self) -> float:
        """Size of the values that the constraints compare."""
        program = self.problem.canonical()
        kinks = np.concatenate([program.psi.kinks_at(self.top), program.phi.kinks_at(self.top)])
        return 1.0 + float(np.abs(kinks).max())


def path_samples(rng: np.random.Generator) -> tuple[PathSample, ...]:
    """Return closed forms, random and degenerate problems, and paths that end early.

    Parameters
    ----------
    rng : numpy Generator

    Returns
    -------
    tuple of PathSample
    """
    return (*_closed_forms(rng), *_random(rng), *_degenerate(), *_ending())


def short_samples(rng: np.random.Generator) -> Iterator[PathSample]:
    """Yield paths that the question ends half way.

    Parameters
    ----------
    rng : numpy Generator

    Returns
    -------
    iterator of PathSample
    """
    for sample in _closed_forms(rng):
        if sample.name in ("dantzig-orthonormal", "lad-identity"):
            half = sample.top / 2.0
            yield replace(sample, name=f"{sample.name}-half", end=half, lam_min=half)


def _closed_forms(rng: np.random.Generator) -> Iterator[PathSample]:
    Q = np.linalg.qr(rng.normal(size=(8, 5)))[0]
    y = 3.0 * rng.normal(size=8)
    b = Q.T @ y
    top = float(np.abs(b).max())
    yield PathSample(
        "dantzig-orthonormal",
        DantzigSelector(X=Q, y=y),
        top,
        lambda lam: float(np.maximum(np.abs(b) - lam, 0.0).sum()),
    )
    w, r = np.array([1.0, 0.0, 2.0, 0.5, 1.0]), np.array([1.0, 1.0, 0.5, 2.0, 0.0])
    # Columns without a price and rows without room: what rounding leaves of a product of two
    # columns would move the optimum, however little, as lam goes to infinity. Here it is zero.
    a, c, d = np.array(list(itertools.product((1.0, -1.0), repeat=3))).T
    signs = np.stack([a, c, d, a * c, a * d], axis=1)
    s = signs.T @ y
    yield PathSample(
        "dantzig-weights",
        DantzigSelector(X=signs, y=y, weights=w, row_weights=r),
        float(np.abs(s).max()),
        lambda lam: float(w @ np.maximum(np.abs(s) - lam * r, 0.0)) / 8.0,
    )
    yield PathSample(
        "dantzig-scaled",
        DantzigSelector(X=Q, y=y, scale="n"),
        top / 8.0,
        lambda lam: float(np.maximum(np.abs(b) - 8.0 * lam, 0.0).sum()),
    )
    u, v = np.array([3.0, -1.0, 0.5]), np.array([1.0, 2.0, 1.0])
    yield PathSample(
        "lad-identity",
        LADLasso(X=np.eye(3), y=u, weights=v),
        1.0,
        lambda lam: float(np.minimum(1.0, lam * v) @ np.abs(u)),
    )
    near = np.clip(u, low := np.array([0.0, -0.5, -np.inf]), high := np.array([2.0, np.inf, 0.25]))
    yield PathSample(
        "lad-bounds",
        LADLasso(X=np.eye(3), y=u, weights=v, bounds=(low, high)),
        1.0,
        lambda lam: float((np.abs(u - near) + np.minimum(1.0, lam * v) * np.abs(near)).sum()),
    )
    often = np.array([2.0, 1.0, 3.0])
    yield PathSample(
        "lad-sample-weights",
        LADLasso(X=np.eye(3), y=u, weights=v, sample_weights=often),
        3.0,
        lambda lam: float(np.minimum(often, lam * v) @ np.abs(u)),
    )
    losses = often * np.where(u > 0.0, 0.3, 0.7)
    yield PathSample(
        "quantile-sample-weights",
        QuantileLasso(X=np.eye(3), y=u, tau=0.3, weights=v, sample_weights=often),
        0.9,
        lambda lam: float(np.minimum(losses, lam * v) @ np.abs(u)),
    )


def _random(rng: np.random.Generator) -> Iterator[PathSample]:
    for name, n, d in (("tall", 6, 3), ("wide", 2, 4)):
        X, y = rng.normal(size=(n, d)), rng.normal(size=n)
        top = float(np.abs(X.T @ y).max())
        yield PathSample(f"dantzig-{name}", DantzigSelector(X=X, y=y), top)
    X, y = rng.normal(size=(6, 2)), rng.normal(size=6)
    yield PathSample("lad", LADLasso(X=X, y=y), float(np.abs(X.T @ np.sign(y)).max()))
    yield PathSample("lad-intercept", LADLasso(X=X, y=y, fit_intercept=True), 4.0)
    yield PathSample("quantile", _quantile(rng), 3.0)
    yield PathSample("kinks-and-slopes", _general(rng), 3.0)
    yield PathSample("lp-inequality", _production(rng, "inequality"), 2.0)
    yield PathSample("lp-equality", _production(rng, "equality"), 2.0)


def _degenerate() -> Iterator[PathSample]:
    one = np.ones(1)
    X = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, -1.0, 0.0]])
    y = np.array([1.0, 2.0, 1.0, 0.0])
    yield PathSample("dantzig-duplicate-and-zero-columns", DantzigSelector(X=X, y=y), 4.0)
    yield PathSample("lad-duplicate-and-zero-columns", LADLasso(X=X, y=y), 4.0)
    H = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, 1.0], [1.0, 1.0, -1.0], [1.0, -1.0, -1.0]])
    yield PathSample("lad-ties", LADLasso(X=H, y=np.array([1.0, 1.0, -1.0, 3.0])), 4.0)
    yield PathSample("dantzig-constant-y", DantzigSelector(X=H, y=np.ones(4)), 4.0)
    yield PathSample("dantzig-zero-y", DantzigSelector(X=H, y=np.zeros(4)), 1.0, lambda lam: 0.0)
    yield PathSample(
        "lad-one-observation",
        LADLasso(X=2.0 * one[None], y=3.0 * one),
        2.0,
        lambda lam: min(3.0, 1.5 * lam),
    )


def _ending() -> Iterator[PathSample]:
    """Yield a program that is infeasible below lam = 1, and one that is unbounded there."""
    one = np.ones(1)
    yield PathSample(
        "infeasible-below",
        ParametricLP(A=one[None], b=-one, b_bar=one, c=one, c_bar=0.0 * one),
        2.0,
        lambda lam: lam - 1.0,
        end=1.0,
        stopped_by="infeasible_below",
    )
    yield PathSample(
        "unbounded-below",
        ParametricLP(A=-one[None], b=0.0 * one, b_bar=0.0 * one, c=one, c_bar=-one),
        2.0,
        lambda lam: 0.0,
        end=1.0,
        stopped_by="unbounded_below",
    )


def _quantile(rng: np.random.Generator) -> PiecewiseLinearProgram:
    return PiecewiseLinearProgram(
        A=rng.normal(size=(5, 2)),
        phi=Pieces.lam_absolute(np.ones(2)),
        psi=Pieces.check_loss(rng.normal(size=5), 0.3),
    )


def _general(rng: np.random.Generator) -> PiecewiseLinearProgram:
    """Kinks and slopes that all move with lam; the variables live in boxes, so it is bounded."""
    box = np.array([1.0, 2.0, 1.5])
    return PiecewiseLinearProgram(
        A=rng.normal(size=(4, 3)),
        phi=Pieces.uniform(
            [-box, 0.0, box],
            [-np.inf, -1.0, 1.0, np.inf],
            kink_rates=[-np.ones(3), 0.0, np.ones(3)],
            slope_rates=[0.0, -0.5, 0.25, 0.0],
        ),
        psi=Pieces.uniform(
            [rng.uniform(-2.0, 1.0, size=4), 2.0],
            [-1.0, rng.uniform(-0.5, 0.5, size=4), 2.0],
            kink_rates=[-0.5, 0.25],
            slope_rates=[-0.25, 0.0, 0.5],
        ),
        offset=np.array([1.0, -2.0, 0.5]),
    )


def _production(rng: np.random.Generator, form: Literal["inequality", "equality"]) -> ParametricLP:
    """Positive A, b and rates: feasible and bounded at every lam >= 0."""
    A = rng.uniform(0.5, 2.0, size=(3, 3))
    b, b_bar = rng.uniform(1.0, 2.0, size=3), rng.uniform(0.0, 1.0, size=3)
    c, c_bar = rng.normal(size=3), rng.normal(size=3)
    if form == "inequality":
        return ParametricLP(A=A, b=b, b_bar=b_bar, c=c, c_bar=c_bar)
    slack = np.zeros(3)
    return ParametricLP(
        A=np.hstack([A, np.eye(3)]),
        b=b,
        b_bar=b_bar,
        c=np.concatenate([c, slack]),
        c_bar=np.concatenate([c_bar, slack]),
        form="equality",
    )


def vertex_optimum(problem: ParametricProblem, lam: float) -> float:
    """Return the optimal value at lam, in the problem's own sense.

    A bounded problem attains its optimum where p linearly independent ones of its p + m
    coordinates (theta, A theta) are at kinks, provided the kinks have a vertex at all. All such
    points are tried: for p + m up to about 12.

    Parameters
    ----------
    problem : ParametricProblem
        Feasible and bounded at `lam`.
    lam : float
    """
    program = problem.canonical()
    m, p = program.A.shape
    rows = np.vstack([np.eye(p), program.A.matvec(np.eye(p))])
    kinks = [*_distinct(program.phi, lam), *_distinct(program.psi, lam)]
    low, high = (
        np.concatenate(pair)
        for pair in zip(program.phi.domain(lam), program.psi.domain(lam), strict=True)
    )
    slack = _FEASIBLE * (1.0 + max(float(np.abs(t).max()) for t in kinks))
    chosen = np.array(list(itertools.combinations(range(p + m), p)))
    regular = np.linalg.matrix_rank(rows[chosen]) == p
    vertices = []
    for basis, inverse in zip(chosen[regular], np.linalg.inv(rows[chosen[regular]]), strict=True):
        sides = np.array(list(itertools.product(*(kinks[i] for i in basis)))).T
        vertices.append(inverse @ sides)
    z = rows @ np.concatenate(vertices, axis=1)
    z = z[:, ((z >= low[:, None] - slack) & (z <= high[:, None] + slack)).all(axis=0)]
    o = program.offset
    value = _sums(program.phi, z[:p], lam) + _sums(program.psi, z[p:], lam)
    best = value.min(initial=np.inf) + o[0] + lam * (o[1] + lam * o[2])
    return float(problem.canonical_sign * best)


def _distinct(pieces: Pieces, lam: float) -> list[Array]:
    """Return the different kinks of each function."""
    kinks = pieces.kinks_at(lam)
    return [np.unique(kinks[begin:end]) for begin, end in pairwise(pieces.ptr)]


def _sums(pieces: Pieces, z: Array, lam: float) -> Array:
    """Return the sum over the functions i of f_i(z_i) for every column of z, shape (points,).

    From the definition: its slopes are added up from the first kink, less what they come to at the
    kink where f_i is zero. Points outside a domain are moved to its end.
    """
    total = np.zeros(z.shape[1])
    parts = zip(z, pairwise(pieces.ptr), pieces.slope_ptr, pieces.zeros, strict=False)
    for zi, (begin, end), first, zero in parts:
        kinks = pieces.kinks_at(lam)[begin:end]
        slopes = pieces.slopes_at(lam)[first : first + len(kinks) + 1]
        points = np.append(zi, kinks[zero])
        value = np.zeros(len(points))
        if np.isfinite(slopes[0]):
            value += slopes[0] * np.minimum(points - kinks[0], 0.0)
        for left, right, slope in zip(kinks, [*kinks[1:], np.inf], slopes[1:], strict=True):
            if np.isfinite(slope):
                value += slope * (np.clip(points, left, right) - left)
        total += value[:-1] - value[-1]
    return total
