"""Segments proven by stated numbers: the loops, their array form, and what they do not believe."""

from dataclasses import replace

import numpy as np
import pytest
import random_models
from segment_attacks import forgeries, steep_rates

from sparseopt import check, generators, problems, solve
from sparseopt.checking.parametric.bases.layout import read_layout
from sparseopt.checking.parametric.bases.tables import CodeTables
from sparseopt.checking.parametric.segments import proof, stated
from sparseopt.checking.parametric.segments.stated_loops import at_rest, condition_numbers, examine
from sparseopt.compiling.kernel import override
from sparseopt.compiling.mode import Mode
from sparseopt.problems.parametric.pieces import Pieces
from sparseopt.result import Verdict

_SMALL = {
    "dantzig-4.1": {"n": 15, "d": 12},
    "lad-4.1": {"n": 20, "d": 10},
    "clime": {"d": 6},
}


def _solved(name):
    problem = generators.generate(name, seed=1, **_SMALL[name])
    return problem, solve(problem, check=False)


@pytest.fixture
def proven(monkeypatch):
    """Return the list of numbers of segments that are proven by what is stated."""
    found, adopt = [], proof._ProofOfSegments.adopt

    def counted(self, numbers):
        adopt(self, numbers)
        found.append(int((~self.open).sum()))

    monkeypatch.setattr(proof._ProofOfSegments, "adopt", counted)
    return found


@pytest.mark.parametrize("name", ["dantzig-4.1", "lad-4.1", "clime"])
def test_the_verdict_is_that_of_the_kernels_solved_anew(name, proven, monkeypatch):
    problem, result = _solved(name)
    quick = check(problem, result)
    assert sum(proven) > 0
    monkeypatch.setattr(proof, "judge_stated", lambda *arguments: ())
    whole = check(problem, result)
    assert quick.verdict == whole.verdict == Verdict.VERIFIED
    assert quick.messages == whole.messages


@pytest.mark.parametrize("name", ["dantzig-4.1", "lad-4.1"])
def test_the_loops_and_their_array_form_agree(name, monkeypatch):
    problem, result = _solved(name)
    calls = []

    def both(*arguments):
        *given, sums = arguments
        copies = [
            [part.copy() if isinstance(part, np.ndarray) else part for part in given]
            for _ in range(2)
        ]
        by_loops, by_arrays = sums.copy(), sums.copy()
        with override(Mode.NOW):
            examine(*copies[0], by_loops)
        with override(Mode.NEVER):
            examine(*copies[1], by_arrays)
        np.testing.assert_allclose(by_arrays, by_loops, rtol=1e-9, atol=1e-14)
        sums[:] = by_arrays
        calls.append(given)

    monkeypatch.setattr(stated, "examine", both)
    monkeypatch.setattr(stated, "_CELLS", 64 * 40)
    assert check(problem, result).verdict is Verdict.VERIFIED
    assert calls


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(("name", "sizes"), [("dantzig-4.1", {"n": 40, "d": 60}), ("clime", {})])
def test_coordinates_at_rest_change_nothing(name, sizes, monkeypatch):
    problem = generators.generate(name, seed=1, **sizes or {"d": 30})
    result = solve(problem, max_nonzeros=4, check=False)
    found = []

    def both(*arguments):
        *given, rest = arguments
        by_arrays = rest.copy()
        with override(Mode.NEVER):
            at_rest(*given, by_arrays)
        with override(Mode.NOW):
            at_rest(*given, rest)
        np.testing.assert_array_equal(by_arrays, rest)
        found.append(int(rest.sum()))

    def none(*arguments):
        arguments[-1][:] = False

    monkeypatch.setattr(stated, "at_rest", both)
    quick = check(problem, result)
    assert sum(found) > 0
    monkeypatch.setattr(stated, "at_rest", none)
    whole = check(problem, result)
    assert (quick.verdict, quick.messages) == (whole.verdict, whole.messages)
    assert quick.residuals == whole.residuals


@pytest.mark.parametrize("own", [0, 1])
def test_a_coordinate_that_leaves_its_limits_is_not_at_rest(own):
    lines = np.zeros((1, 12))
    other = 4 - 4 * own
    lines[0, other : other + 4] = -1.0, -0.1, 1.0, 0.1
    ranges = np.array([[2.0, 1.0], [1.0, 1.0]])

    def at(values, rates, lines=lines, margin=0.0, ranges=ranges):
        rest = np.ones(1, dtype=bool)
        product = np.array([values, rates])[:, :, None]
        at_rest(own, np.zeros(1, np.int64), lines, ranges, product, np.array([margin]), rest)
        return bool(rest[0])

    for mode in (Mode.NOW, Mode.NEVER):
        with override(mode):
            assert at([1.0, -1.0], [0.0, 0.0])
            assert not at([1.0, -1.0], [0.0, 0.0], margin=0.2)
            assert not at([1.3, 0.0], [0.0, 0.0])  # at a lower end
            assert not at([0.0, -1.1], [0.0, -0.2])  # at an upper end
            assert not at([0.0, np.nan], [0.0, 0.0])
            endless = np.array([[2.0, 1.0], [np.inf, 1.0]])
            assert at([0.0, 0.0], [0.1, 0.0], ranges=endless)
            assert not at([0.0, 0.0], [0.2, 0.0], ranges=endless)
            for place in (4 * own, 4 * own + 3, 11):
                moved = lines.copy()
                moved[0, place] = 1.0
                assert not at([0.0, 0.0], [0.0, 0.0], lines=moved)


def test_a_path_of_zeros_is_verified():
    problem = problems.LADLasso(np.eye(3), np.zeros(3))
    result = solve(problem, check=False)
    assert not result.path.theta.value.any()
    assert check(problem, result).verdict is Verdict.VERIFIED


@pytest.mark.parametrize("part", ["theta", "nu"])
@pytest.mark.parametrize("name", ["dantzig-4.1", "lad-4.1"])
def test_a_changed_number_is_not_proven(name, part, proven):
    problem, result = _solved(name)
    check(problem, result)
    path, before = result.path, proven.pop()
    rows = getattr(path, part)
    place = len(rows.value) // 2
    for field in ("value", "rate"):
        numbers = getattr(rows, field).copy()
        numbers[place] += 1e-6 * np.abs(rows.value).max()
        forged = replace(path, **{part: replace(rows, **{field: numbers})})
        assert check(problem, result.with_changes(path=forged)).verdict is not Verdict.VERIFIED
        assert proven.pop() < before


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("mode", [Mode.NOW, Mode.NEVER])
@pytest.mark.parametrize(
    ("model", "seed"), [("dantzig-selector", 3), ("dantzig-selector", 17), ("lpd", 5)]
)
def test_steep_rates_do_not_hide_a_false_segment(model, seed, mode):
    problem = random_models.case(model, seed)
    result = solve(problem)
    rng, steep = np.random.default_rng(0), {"steep rates": steep_rates}
    with override(mode):
        forged = [lie for _ in range(5) for _, lie in forgeries(problem, result, rng, steep)]
        assert len(forged) >= 5
        assert all(check(problem, lie).verdict is not Verdict.VERIFIED for lie in forged)


@pytest.fixture(scope="module")
def correlated():
    """Return a path whose kernels have reciprocal condition numbers down to 1e-6."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 1)) + 0.01 * rng.standard_normal((60, 12))
    y = X[:, :3].sum(axis=1) - 2.0 * X[:, 5] + 0.01 * rng.standard_normal(60)
    problem = problems.DantzigSelector(X, y)
    return problem, solve(problem, check=False)


def _kernel(problem, layout, segment):
    """Return the columns, the rows and the entries of a segment's kernel."""
    A = problem.canonical().A
    codes, p = layout.at(segment), A.shape[1]
    columns, rows = np.flatnonzero(codes[:p] & 1 == 0), np.flatnonzero(codes[p:] & 1 == 1)
    return columns, rows, A.block(rows, columns)


def test_kernels_that_are_only_nearly_singular_need_not_be_solved_anew(correlated, proven):
    problem, result = correlated
    layout = read_layout(result.certificate, 2 * problem.canonical().functions.counts)
    worst = min(
        1.0 / np.linalg.cond(_kernel(problem, layout, s)[2], 1) for s in range(1, len(layout))
    )
    assert 1e-7 < worst < 1e-5
    assert check(problem, result).verdict is Verdict.VERIFIED
    assert proven == [len(layout) - 1]  # the last one is looked at by itself


def test_numbers_along_what_a_kernel_almost_maps_to_zero_are_not_proven(correlated, proven):
    problem, result = correlated
    path = result.path
    layout = read_layout(result.certificate, 2 * problem.canonical().functions.counts)
    kernels = {s: _kernel(problem, layout, s) for s in range(1, len(layout) - 1)}
    s = max(kernels, key=lambda s: np.linalg.cond(kernels[s][2]))
    columns, _, B = kernels[s]
    along = np.linalg.svd(B)[2][-1]
    here = slice(path.theta.ptr[s], path.theta.ptr[s + 1])
    at = np.searchsorted(columns, path.theta.index[here])
    assert np.array_equal(columns[at], path.theta.index[here])
    for field in ("value", "rate"):
        numbers = getattr(path.theta, field).copy()
        numbers[here] += 1e-3 * np.abs(numbers[here]).max() * along[at]
        forged = replace(path, theta=replace(path.theta, **{field: numbers}))
        assert check(problem, result.with_changes(path=forged)).verdict is not Verdict.VERIFIED
        assert proven.pop() < len(layout) - 1


def _changes(rng, rows, columns, steps):
    """Return random exchanges of one coordinate for another, from an empty kernel on."""
    there = np.concatenate([np.zeros(columns, np.int64), np.ones(rows, np.int64)])
    state, ptr, changed, to = there.copy(), [0, 0], [], []
    for _ in range(steps):
        out, into = rng.choice(np.flatnonzero(state)), rng.choice(np.flatnonzero(state == 0))
        state[[out, into]] = 0, 1
        changed += [out, into]
        to += [0, 1]
        ptr.append(len(changed))
    return there, *(np.array(part, np.int64) for part in (ptr, changed, to))


def test_condition_numbers_follow_the_kernels():
    rng = np.random.default_rng(0)
    B = rng.standard_normal((7, 6))
    there, ptr, changed, to = _changes(rng, 7, 6, 60)
    with override(Mode.NOW):
        found = condition_numbers(B, there.copy(), ptr, changed, to)
    state = there.copy()
    for s, rcond in enumerate(found):
        if s:
            state[changed[ptr[s] : ptr[s + 1]]] = to[ptr[s] : ptr[s + 1]]
        kernel = B[np.ix_(state[6:] == 0, state[:6] == 1)]
        assert rcond == pytest.approx(1.0 / np.linalg.cond(kernel, 1) if kernel.size else 1.0)
    with override(Mode.NEVER):
        arrays = condition_numbers(B, there.copy(), ptr, changed, to)
    np.testing.assert_allclose(arrays, found, rtol=1e-8)


def test_a_singular_kernel_has_no_condition_number():
    B = np.array([[1.0, 2.0], [2.0, 4.0]])
    there = np.array([1, 1, 0, 0])
    none = np.zeros(0, np.int64)
    for mode in (Mode.NOW, Mode.NEVER):
        with override(mode):
            found = condition_numbers(B, there.copy(), np.zeros(2, np.int64), none, none)
        assert found[0] < 1e-15


def test_tables_that_move_are_those_of_the_other_functions():
    problem = generators.generate("clime", seed=1, d=5)
    tables = CodeTables(_pieces(problem.column(0)))
    for i, used in ((3, False), (1, True), (0, True)):
        expected = CodeTables(_pieces(problem.column(i)))
        tables.move(_pieces(problem.column(i)))
        if used:
            np.testing.assert_array_equal(tables.lines, expected.lines)
        for name in ("z_low", "z_high", "kink", "v_low", "slope"):
            one, two = getattr(tables, name), getattr(expected, name)
            np.testing.assert_array_equal([one.constant, one.rate], [two.constant, two.rate])
        np.testing.assert_array_equal(tables.value, expected.value)
        np.testing.assert_array_equal(tables.active, expected.active)
        assert (tables.kink_size, tables.slope_size) == (expected.kink_size, expected.slope_size)


def _pieces(problem):
    program = problem.canonical()
    return Pieces.concatenate(program.phi, program.psi)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [101, 111, 114])
def test_multipliers_that_slacks_make_zero_may_have_the_walk_s_rounding_errors(seed):
    # The equation of a free slack without costs says nu_i = 0: no other term measures an error.
    problem = _with_slacks(seed)
    result = solve(problem, backend="homotopy", check=False)
    assert check(problem, result).verdict == Verdict.VERIFIED
    path = result.path
    for size, verdict in ((1e-13, Verdict.VERIFIED), (1e-7, Verdict.REFUTED)):
        moved = path.nu.value.copy()
        moved[0] += size * np.abs(moved).max()
        wrong = replace(path, nu=replace(path.nu, value=moved))
        assert check(problem, replace(result, path=wrong)).verdict == verdict


def _with_slacks(seed):
    """Return a random program in standard form, A x + s = b + lam b_bar, that ends unbounded."""
    rng = np.random.default_rng(seed)
    m, n = 60, 90
    A = rng.normal(size=(m, n))
    b = A @ rng.random(n) + rng.random(m)
    b_bar = rng.random(m)
    c = np.append(rng.normal(size=n), np.zeros(m))
    c_bar = np.append(-np.abs(rng.normal(size=n)), np.zeros(m))
    return problems.ParametricLP(np.hstack([A, np.eye(m)]), b, b_bar, c, c_bar, form="equality")
