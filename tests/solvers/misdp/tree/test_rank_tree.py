"""Matrices that must have rank one, proven by boxes of their entries where there is a gap."""

import itertools
from functools import cache

import numpy as np
import pytest
from thorough import first

import sparseopt
from sparseopt import Certificate, Limit, Status, Verdict
from sparseopt.problems import MISDPBuilder
from sparseopt.solvers.misdp.reductions.propagation import Propagation
from sparseopt.solvers.misdp.tree.rank_boxes import RankOneBoxes

pytest.importorskip("clarabel", reason="Clarabel is not installed: sparseopt[misdp]")

each_engine = pytest.mark.parametrize("backend", ["misdp-bnb", "misdp-oa"])


def solve(problem, backend="misdp-bnb", **question):
    return sparseopt.solve(problem, backend=backend, **{"time_limit": 20.0, **question})


def on_a_sphere(seed, size, rows):
    """Minimise v'Qv on the unit sphere below bounds of v'A_k v; returns the problem, too, in v."""
    random = np.random.default_rng(seed)

    def symmetric():
        B = random.normal(size=(size, size))
        return (B + B.T) / 2.0

    model = MISDPBuilder("min")
    X = model.matrix(size, rank_one=True)
    model.row((X, np.eye(size)), lower=1.0, upper=1.0)
    v = random.normal(size=size)
    v /= np.linalg.norm(v)
    sides = []
    for _ in range(rows):
        A = symmetric()
        sides.append((A, float(v @ A @ v) + 0.02))
        model.row((X, A), upper=sides[-1][1])
    Q = symmetric()
    model.objective((X, Q))
    return model.build(), Q, sides


def cut_of(size):
    """The largest cut of a random graph, as a matrix of rank one with X_ii = 1."""
    random = np.random.default_rng(0)
    W = np.triu(random.random((size, size)) < 0.6, 1) * random.integers(1, 5, size=(size, size))
    laplacian = (np.diag((W + W.T).sum(axis=1)) - W - W.T) / 4.0
    model = MISDPBuilder("max")
    X = model.matrix(size, rank_one=True)
    for i in range(size):
        model.row((X[i, i], 1.0), lower=1.0, upper=1.0)
    model.objective((X, laplacian))
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=size)))
    return model.build(), float(np.einsum("ni,ij,nj->n", signs, laplacian, signs).max())


def without_a_point(far):
    """X_11 = X_22 = 1 and abs(X_12) <= 0.5 have semidefinite matrices, none of rank one."""
    model = MISDPBuilder("min")
    X = model.matrix(2, rank_one=True)
    model.row((X[0, 0], 1.0), lower=1.0, upper=1.0 + far)
    model.row((X[1, 1], 1.0), lower=1.0, upper=1.0 + far)
    model.row((X[1, 0], 1.0), (X[0, 0], -0.4), lower=-0.5, upper=0.5)
    model.row((X[1, 0], 1.0), (X[1, 1], 0.4), lower=-0.5, upper=0.5)
    model.objective((X, np.eye(2)))
    return model.build()


@cache
def closed(seed):
    """Return a problem with a gap, its data, and the answer by boxes."""
    problem, Q, sides = on_a_sphere(seed, 3, 4)
    return problem, Q, sides, solve(problem, rel_gap=1e-4)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", first(1, [3, 10]))
def test_a_gap_of_the_relaxation_is_closed(seed):
    _, Q, sides, result = closed(seed)
    assert "boxes" in result.raw_status
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    assert result.gap <= 1e-4
    directions = np.random.default_rng(1).normal(size=(100_000, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    values = np.einsum("ni,ij,nj->n", directions, Q, directions)
    for A, side in sides:
        values[np.einsum("ni,ij,nj->n", directions, A, directions) > side] = np.inf
    assert result.bound <= values.min() <= result.objective + 0.01


@pytest.mark.thorough
@each_engine
def test_a_cut_is_proven_to_be_the_largest(backend):
    problem, best = cut_of(8)
    result = solve(problem, backend)
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    assert result.objective == pytest.approx(best, abs=1e-5)


@pytest.mark.parametrize("far", [0.0, 0.05])
def test_no_matrix_of_rank_one_is_proven(far):
    result = solve(without_a_point(far))
    assert (result.status, result.verdict) == (Status.INFEASIBLE, Verdict.VERIFIED)


@pytest.mark.thorough
def test_limits_leave_valid_bounds():
    problem, *_ = on_a_sphere(3, 3, 4)
    best = solve(problem, rel_gap=1e-4)
    short = solve(problem, rel_gap=1e-9, node_limit=6)
    assert (short.status, short.limit) == (Status.FEASIBLE, Limit.NODE)
    assert short.verdict is Verdict.VERIFIED
    assert short.bound <= best.objective + 1e-9


@pytest.mark.thorough
def test_the_rows_of_a_box_hold_at_every_matrix_of_rank_one():
    problem, *_ = on_a_sphere(0, 4, 0)
    boxes = RankOneBoxes(problem)
    random = np.random.default_rng(7)
    for _ in range(200):
        v = random.normal(size=4)
        v /= np.linalg.norm(v)
        x = boxes.F.T @ np.outer(v, v)[np.triu_indices(4)]
        entries = boxes.entries(x)
        away = random.exponential(size=(2, len(entries))) * random.choice([0.01, 0.3, 2.0])
        tight = boxes.tightened(entries - away[0], entries + away[1])
        assert tight is not None
        assert (tight[0] <= entries + 1e-12).all()
        assert (tight[1] >= entries - 1e-12).all()
        residuals = boxes.relaxed(*tight).residuals(x)
        assert residuals["rows"] <= 1e-12
    free = Propagation(problem).tighten()
    assert boxes.box(*free) is not None


@pytest.fixture(scope="module")
def proven():
    problem, _, _, result = closed(3)
    return problem, result


def changed(result, **arrays):
    whole = {**result.certificate.arrays, **arrays}
    return result.with_changes(certificate=Certificate("rank-one-leaves", whole))


@pytest.mark.thorough
def test_a_better_bound_is_refuted(proven):
    problem, result = proven
    better = result.with_changes(bound=result.objective - 0.1 * (result.objective - result.bound))
    assert sparseopt.check(problem, better).verdict is Verdict.REFUTED


def test_boxes_that_leave_something_out_are_refuted(proven):
    problem, result = proven
    arrays = result.certificate.arrays
    low = arrays["root_lower"] + 0.1
    report = sparseopt.check(problem, changed(result, root_lower=low))
    assert report.verdict is Verdict.REFUTED
    assert "leave out" in report.messages[0]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("children", lambda a: np.zeros_like(a)),
        ("children", lambda a: a + len(a)),
        ("entry", lambda a: np.where(a >= 0, 99, a)),
        ("value", lambda a: a[:-1]),
        ("value", lambda a: a * np.nan),
        ("owner", lambda a: a.astype(float)),
        ("owner", lambda a: a[1:]),
        ("owner", lambda a: np.full_like(a, a[0])),
        ("psd", lambda a: 0.0 * a),
        ("root_upper", lambda a: a[1:]),
    ],
)
def test_tampered_boxes_are_refuted(proven, name, change):
    problem, result = proven
    other = changed(result, **{name: change(result.certificate.arrays[name])})
    assert sparseopt.check(problem, other).verdict is Verdict.REFUTED


def two_directions(matrices):
    """Minimise the sum of v'Cv + (v_1^4 + v_1^2 v_2^2) / 2 over unit vectors, as matrices vv'.

    Either the first one has v_2^2 <= 0.3, or the last one v'Cv = 0, which saves 0.1.
    """
    random = np.random.default_rng(1)
    B = random.normal(size=(2, 2))
    C = B + B.T
    model = MISDPBuilder("min")
    z = model.variables(2, lower=0.0, upper=1.0, integer=True)
    Xs = [model.matrix(2, rank_one=True) for _ in range(matrices)]
    for X in Xs:
        model.row((X, np.eye(2)), lower=1.0, upper=1.0)
    model.row((z, np.ones(2)), lower=1.0, upper=1.0)
    model.indicator(int(z[0]), (Xs[0][1, 1], 1.0), upper=0.3)
    model.indicator(int(z[1]), (Xs[-1], C), lower=0.0, upper=0.0)
    curved = [(X[0], np.eye(2)) for X in Xs]
    model.objective(*((X, C) for X in Xs), (z, np.array([0.0, -0.1])), quadratic=curved)
    angles = np.linspace(0.0, np.pi, 20_001)
    v = np.array([np.cos(angles), np.sin(angles)])
    linear = np.einsum("in,ij,jn->n", v, C, v)
    values = linear + 0.5 * (v[0] ** 4 + v[0] ** 2 * v[1] ** 2)
    flat = np.flatnonzero(np.diff(np.sign(linear)))
    first, last = values[v[1] ** 2 <= 0.3].min(), values[flat].min(initial=np.inf) - 0.1
    return model.build(), min(first, last) + (matrices - 1) * values.min()


@each_engine
@pytest.mark.parametrize("matrices", [1, pytest.param(2, marks=pytest.mark.thorough)])
def test_several_matrices_beside_indicators_and_a_quadratic_objective(matrices, backend):
    problem, best = two_directions(matrices)
    result = solve(problem, backend, rel_gap=1e-3)
    assert result.status is Status.OPTIMAL and result.verdict is Verdict.VERIFIED
    assert abs(result.objective - best) < 1e-3
