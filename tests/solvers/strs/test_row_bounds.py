"""Row bounds: never below what any support attains, the same in the solver and in the checker."""

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

import sparseopt
from sparseopt import Certificate, Status, Verdict
from sparseopt.checking.strs.row_bounds import row_sum
from sparseopt.compiling import Mode, override
from sparseopt.problems import STRS
from sparseopt.solvers.common.spheres import maximise_on_sphere
from sparseopt.solvers.strs.bound.choices import choose
from sparseopt.solvers.strs.bound.descent import _STORED, Iterate, direction
from sparseopt.solvers.strs.bound.multipliers import Multipliers, ProvenBound
from sparseopt.solvers.strs.bound.row_bound import (
    NodeData,
    RelaxedSupport,
    Smoothing,
    evaluate,
    row_maximum,
    row_terms,
)
from sparseopt.solvers.strs.bound.spectrum import smoothed_maximum

SIZE = st.floats(1e-150, 1e3) | st.just(0.0)
ENTRY = SIZE | SIZE.map(lambda size: -size)


def dense_maximum(l, diagonal, r):
    """Maximise over a fine grid of angles."""
    t = np.linspace(0.0, np.pi / 2, 20_001)
    return np.max(l * np.cos(t) + diagonal * np.cos(t) ** 2 + r * np.cos(t) * np.sin(t))


@pytest.mark.thorough
@given(SIZE, ENTRY, SIZE)
@example(1.0, -7.0, 1.19e-7)
@settings(max_examples=300, deadline=None)
def test_the_maximum_of_a_row(l, diagonal, r):
    size = l + abs(diagonal) + r
    grid = dense_maximum(l, diagonal, r)
    value, c, s = row_maximum(l, diagonal, r)
    assert grid - 1e-13 * size <= value <= grid + 1e-7 * size
    assert c >= 0.0
    assert s >= 0.0
    assert c**2 + s**2 == pytest.approx(1.0)
    # One row of its own in the checker: d = 2, r in the only other column.
    L = np.array([[diagonal, r], [0.0, 0.0]])
    checked = row_sum(np.array([l, 0.0]), L, np.array([True, False]), 2)
    assert value <= checked <= value + 1e-9 * size + 1e-300


@pytest.mark.thorough
@given(st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_no_support_exceeds_the_bound(seed):
    rng = np.random.default_rng(seed)
    D = int(rng.integers(2, 7))
    d = int(rng.integers(1, D + 1))
    M, L = rng.normal(size=(2, D, D)) * 10.0 ** rng.uniform(-2, 2, size=(2, 1, 1))
    a, l = rng.normal(size=(2, D))
    A = M + M.T
    fixed = rng.permutation(D)[: int(rng.integers(0, d + 1))]
    multipliers = Multipliers.of_point(A, a, np.arange(D), np.concatenate([[0.0], l, L.ravel()]))
    proof = ProvenBound.at(multipliers, np.arange(D), np.sort(fixed), d)
    inside = np.isin(np.arange(D), fixed)
    checked = row_sum(l, L, inside, d) + multipliers.spectral
    assert checked == pytest.approx(proof.bound, rel=1e-11, abs=1e-11)
    for S in itertools.combinations(range(D), d):
        if set(fixed) <= set(S):
            value = maximise_on_sphere(A[np.ix_(S, S)], a[list(S)]).bound[0]
            assert value <= proof.bound
            assert value <= checked
            for j in range(D):
                reduced = proof.bounds_in[j] if j in S else proof.bounds_out[j]
                assert value <= reduced + 1e-12 * abs(proof.bound)


@pytest.mark.parametrize("tau", [1e-9, 0.5, 1e3])
@pytest.mark.parametrize("guess", [1, 40])
@pytest.mark.parametrize("rank", [2, 40, None])
def test_the_smooth_maximum_of_eigenvalues(tau, guess, rank):
    rng = np.random.default_rng(6)
    n = 40
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    spread = np.ones(n)
    if rank is not None:
        spread = np.where(np.arange(n) < rank, 1.0 + rng.random(n), 0.0)
    M = (Q * spread) @ Q.T
    top, smooth, p, V = smoothed_maximum((M + M.T) / 2.0, tau, guess)
    assert top == pytest.approx(spread.max(), rel=1e-12)
    assert top - 1e-12 <= smooth <= top + tau / 2.0
    assert p.sum() == pytest.approx(1.0, rel=1e-5)
    values = np.einsum("ki,ij,kj->k", V, M, V)
    np.testing.assert_allclose(V @ V.T, np.eye(len(p)), atol=1e-10)
    np.testing.assert_allclose(V @ M, values[:, None] * V, atol=1e-10)
    # The weights are the projection of the eigenvalues over tau onto the simplex.
    nu = np.max((np.cumsum(np.sort(spread)[::-1]) - tau) / np.arange(1, n + 1))
    np.testing.assert_allclose(p, (values - nu) / tau, rtol=1e-5, atol=1e-5)
    assert len(p) >= (spread > nu + 1e-12).sum()


@given(st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_the_largest_of_some_numbers(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 30))
    k = int(rng.integers(0, m + 2))
    v = np.round(rng.normal(size=m), int(rng.integers(0, 8))) ** 2
    epsilon = 10.0 ** rng.uniform(-9, 2)
    s = np.zeros(m)
    soft, hard, nu = choose(v, k, epsilon, rng.normal(), s)
    assert hard == pytest.approx(np.sort(v)[::-1][:k].sum())
    assert hard - 1e-9 <= soft <= hard + epsilon * m / 8.0 + 1e-9
    assert s.sum() == pytest.approx(min(k, m), rel=1e-6)
    if 0 < k < m:
        np.testing.assert_allclose(s, np.clip((v - nu) / epsilon, 0.0, 1.0))


@pytest.mark.parametrize("border", [True, False])
def test_the_gradient_is_that_of_the_smoothed_value(border):
    rng = np.random.default_rng(4)
    n, d = 6, 3
    M = rng.normal(size=(n, n))
    a = rng.normal(size=n) * border
    inside = np.arange(n) == 2
    node = NodeData(M + M.T, a, inside, d, border)
    smoothing = Smoothing(0.3, 0.4, 0.5, 0.1)
    x = rng.normal(size=1 + n + n * n)
    if not border:
        x[: 1 + n] = 0.0

    def value(point):
        return evaluate(node, smoothing, point, np.zeros(len(x)), RelaxedSupport.empty(n))[0]

    gradient = np.zeros(len(x))
    smooth, exact = evaluate(node, smoothing, x, gradient, RelaxedSupport.empty(n))
    numeric = approx_fprime(x, value, 1e-6)
    if not border:
        numeric[: 1 + n] = 0.0
    np.testing.assert_allclose(gradient, numeric, atol=2e-5)
    assert abs(smooth - exact) < 3.0
    tight = Smoothing(1e-10, 1e-10, 1e-10, 1e-10)
    smooth, exact = evaluate(node, tight, x, gradient, RelaxedSupport.empty(n))
    assert smooth == pytest.approx(exact, abs=1e-3)


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    M = rng.normal(size=(16, 16))
    return STRS(A=M + M.T, a=rng.normal(size=16), d=4)


@pytest.fixture(scope="module")
def solved(problem):
    result = sparseopt.solve(problem, backend="strs-bnb")
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    assert (result.certificate.arrays["pair"] >= 0).any()
    return result


def changed(result, **arrays):
    certificate = Certificate("leaves", {**result.certificate.arrays, **arrays})
    return result.with_changes(certificate=certificate)


def test_multipliers_of_another_size_prove_nothing(problem, solved):
    L, l = (solved.certificate.arrays[name] for name in ("pair_L", "pair_l"))
    for broken in (
        changed(solved, pair_L=0.5 * L),
        changed(solved, pair_l=l + 0.1),
        changed(solved, pair=np.full_like(solved.certificate.arrays["pair"], -1)),
        solved.with_changes(bound=solved.bound - 1e-6, objective=solved.objective - 1e-6),
    ):
        assert sparseopt.check(problem, broken).verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: {"pair": c["pair"][1:]}, "pair is not"),
        (lambda c: {"pair": c["pair"] + 1000}, "others than"),
        (lambda c: {"pair": c["pair"] - 1000}, "others than"),
        (lambda c: {"pair": c["pair"].astype(float)}, "pair is not"),
        (lambda c: {"pair_L": c["pair_L"][1:]}, "square matrix"),
        (lambda c: {"pair_L": c["pair_L"] * np.nan}, "not finite"),
        (lambda c: {"pair_l": c["pair_l"][1:]}, "disagree"),
        (lambda c: {"pair_index": c["pair_index"][::-1].copy()}, "increasing"),
        (lambda c: {"pair_index": c["pair_index"] + 16}, "increasing"),
        (lambda c: {"pair_ptr": c["pair_ptr"][1:]}, "divide"),
        (lambda c: {"pair_ptr": c["pair_ptr"].astype(float)}, "integers"),
    ],
)
def test_malformed_pools_are_refuted(problem, solved, change, words):
    report = sparseopt.check(problem, changed(solved, **change(solved.certificate.arrays)))
    assert report.verdict is Verdict.REFUTED
    assert words in " ".join(report.messages)


def test_a_pool_without_its_arrays_is_refuted(problem, solved):
    arrays = {k: v for k, v in solved.certificate.arrays.items() if k != "pair_L"}
    result = solved.with_changes(certificate=Certificate("leaves", arrays))
    assert sparseopt.check(problem, result).verdict is Verdict.REFUTED


def test_a_pair_is_good_only_for_its_own_variables(problem, solved):
    """A pair on the first half of the variables, used by the root."""
    half = np.arange(8)
    result = changed(
        solved,
        in_ptr=np.array([0, 0]),
        in_index=np.zeros(0, int),
        out_ptr=np.array([0, 0]),
        out_index=np.zeros(0, int),
        mu=np.array([1e3]),
        pair=np.array([0]),
        pair_ptr=np.array([0, 8]),
        pair_index=half,
        pair_l=np.zeros(8),
        pair_L=np.zeros(64),
    )
    report = sparseopt.check(problem, result)
    assert report.verdict is Verdict.REFUTED
    assert "not for all candidates" in " ".join(report.messages)


@pytest.mark.parametrize("seed", range(40))
def test_array_operations_give_what_the_compiled_loops_give(seed):
    rng = np.random.default_rng(seed)
    n, border = int(rng.integers(1, 12)), bool(seed % 2)
    inside = rng.random(n) < 0.3
    d = int(rng.integers(max(1, inside.sum()), n + 1))
    A, l, L = rng.normal(size=(n, n)), rng.normal(size=1 + n), rng.normal(size=(n, n))
    if seed % 5 == 0:
        L[:] = 0.0
    l[1:] *= rng.random(n) < 0.7
    x = np.concatenate([l if border else 0.0 * l, L.ravel()])
    node = NodeData(A + A.T, rng.normal(size=n), inside, d, border)
    smoothing = Smoothing(*10.0 ** rng.uniform(-4, 0, 4))
    found = []
    for mode in (Mode.NEVER, Mode.NOW):
        relaxed, gradient = RelaxedSupport.empty(n), np.zeros(len(x))
        with override(mode):
            values = [evaluate(node, smoothing, x, gradient, relaxed) for _ in range(2)]
            terms = row_terms(x[1 : 1 + n], L, inside, d)
        found.append([np.ravel(v) for v in (*values, terms, gradient, *relaxed)])
    for plain, compiled in zip(*found, strict=True):
        assert plain == pytest.approx(compiled, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("stored", [0, 1, 2, 7])
def test_directions_in_array_operations_are_those_of_the_compiled_loops(stored):
    rng = np.random.default_rng(stored)
    state = Iterate.at(rng.normal(size=1 + 5 + 25))
    state.gradient[:] = rng.normal(size=31)
    for k in range(len(state.steps)):
        state.steps[k] = rng.normal(size=31)
        state.changes[k] = state.steps[k] * rng.uniform(0.5, 2.0, 31)
        state.inverse[k] = 1.0 / (state.steps[k] @ state.changes[k])
    state.numbers[_STORED] = stored
    found = []
    for mode in (Mode.NEVER, Mode.NOW):
        with override(mode):
            found.append(direction(state, 1.0))
    assert found[0] == pytest.approx(found[1], rel=1e-10)
