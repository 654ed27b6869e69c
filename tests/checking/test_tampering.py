"""Every number that a result states is refuted when it is changed by more than the tolerance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from brute_paths import brute_path, path_result, point_result
from hypothesis import given, settings
from hypothesis import strategies as st

from sparseopt import Certificate, Limit, SolveParams, Status, Verdict, solve
from sparseopt.checking import check
from sparseopt.problems import DantzigSelector, LADLasso, ParametricLP, STRSPath

RNG = np.random.default_rng(20)
X, Y = RNG.normal(size=(6, 3)), RNG.normal(size=6)
PROBLEMS = {
    "dantzig": DantzigSelector(X=X, y=Y),
    "lad": LADLasso(X=X[:5, :2], y=Y[:5]),
    "lp": ParametricLP(
        A=np.array([[1.0, 2.0, 1.5], [2.0, 0.5, 1.0]]),
        b=[1.0, 2.0],
        b_bar=[1.0, 0.3],
        c=[1.0, 3.0, 2.0],
        c_bar=[-1.0, -1.5, -0.4],
    ),
}
BASES = {name: brute_path(problem) for name, problem in PROBLEMS.items()}
PATHS = {name: path_result(problem, BASES[name]) for name, problem in PROBLEMS.items()}
POINTS = {
    name: point_result(PROBLEMS[name], 0.37 * path.path.low[0]) for name, path in PATHS.items()
}
EVERY = pytest.mark.parametrize("name", PROBLEMS)


def verdict(name, result):
    return check(PROBLEMS[name], result).verdict


def refuted(name, result):
    return verdict(name, result) is Verdict.REFUTED


def with_path(result, **changes):
    return result.with_changes(path=replace(result.path, **changes))


def with_arrays(result, **changes):
    """Change entries of the certificate."""
    old = result.certificate
    return result.with_changes(
        certificate=Certificate(old.kind, {**old.arrays, **changes}, old.values)
    )


def with_ranges(result, low, high):
    """Change the ranges of the segments in the path and in its certificate."""
    return with_arrays(with_path(result, low=low, high=high), low=low, high=high)


def changed(array, at, factor=1.0 + 1e-6):
    array = np.array(array)
    array[at] *= factor
    return array


def largest(array):
    return np.unravel_index(int(np.argmax(np.abs(array))), np.shape(array))


@EVERY
def test_the_untampered_results_are_verified(name):
    assert len(PATHS[name].path.low) >= 3
    assert verdict(name, PATHS[name]) is Verdict.VERIFIED
    assert verdict(name, POINTS[name]) is Verdict.VERIFIED


@EVERY
@pytest.mark.parametrize("results", [PATHS, POINTS], ids=["path", "point"])
def test_a_changed_statement_is_refuted(name, results):
    result = results[name]
    at = largest(result.x)
    assert refuted(name, result.with_changes(x=changed(result.x, at)))
    assert refuted(name, result.with_changes(x=changed(result.x, at, -1.0)))
    assert refuted(name, result.with_changes(x=np.zeros_like(result.x)))
    assert refuted(name, result.with_changes(objective=result.objective * (1.0 + 1e-6)))
    outward = 1.0 if PROBLEMS[name].sense == "min" else -1.0
    closer = result.bound + outward * 1e-6 * abs(result.bound)
    assert refuted(name, result.with_changes(bound=closer))
    rows = result.duals["rows"]
    tampered = {"rows": changed(rows, largest(rows))}
    assert refuted(name, result.with_changes(duals=tampered))


@EVERY
def test_changed_multipliers_are_refuted(name):
    result = POINTS[name]
    for factor in (1.0 + 1e-4, -1.0, 0.0):
        rows = changed(result.duals["rows"], largest(result.duals["rows"]), factor)
        tampered = with_arrays(result.with_changes(duals={"rows": rows}), nu=rows)
        assert refuted(name, tampered), factor


@EVERY
def test_a_worse_point_with_its_true_objective_is_refuted(name):
    """The only thing wrong is the claim that it is optimal."""
    result, problem = POINTS[name], PROBLEMS[name]
    for scale in (0.5, 0.9):
        x = result.x * scale
        tampered = result.with_changes(x=x, objective=problem.objective(x, result.params.lam))
        assert refuted(name, tampered)


@EVERY
def test_a_bound_that_does_not_meet_the_objective_is_refuted_as_optimal_only(name):
    result = POINTS[name]
    away = -1.0 if PROBLEMS[name].sense == "min" else 1.0
    loose = result.with_changes(bound=result.bound + away * 0.1 * abs(result.bound))
    assert refuted(name, loose)
    stopped = loose.with_changes(status=Status.FEASIBLE, limit=Limit.TIME)
    assert verdict(name, stopped) is Verdict.VERIFIED


@EVERY
def test_a_wrong_status_is_refuted(name):
    for result in (PATHS[name], POINTS[name]):
        for status in (Status.INFEASIBLE, Status.UNBOUNDED, Status.INF_OR_UNB):
            assert refuted(name, result.with_changes(status=status)), status


@EVERY
def test_a_range_that_is_not_covered_is_refuted(name):
    result = PATHS[name]
    problem, bases = PROBLEMS[name], BASES[name]
    part = path_result(problem, bases[:-1], stopped_by="time")
    assert refuted(name, part)
    assert refuted(name, with_path(part, stopped_by="lam_min"))
    lower = part.with_changes(status=Status.FEASIBLE, limit=Limit.TIME)
    assert verdict(name, lower) is Verdict.VERIFIED
    assert refuted(name, with_path(lower, stopped_by="lam_min"))
    assert refuted(name, result.with_changes(params=SolveParams(lam_min=0.01)))
    assert refuted(name, part.with_changes(params=SolveParams(lam_min=0.9 * part.path.low[-1])))
    unproven = with_path(result, stopped_by="infeasible_below")
    assert verdict(name, unproven) is Verdict.UNPROVEN


@pytest.mark.thorough(after=1)
@EVERY
def test_stopping_rules_are_held_against_the_question(name):
    problem, bases = PROBLEMS[name], BASES[name]
    two = path_result(problem, bases[:2], stopped_by="max_knots", max_knots=2)
    assert verdict(name, two) is Verdict.VERIFIED
    for params in (SolveParams(max_knots=3), SolveParams(max_knots=1), SolveParams()):
        assert refuted(name, two.with_changes(params=params))
    counts = [np.count_nonzero(np.abs(b.theta).max(axis=1) > 1e-9) for b in bases]
    most = max(counts)
    last = counts.index(most)
    sparse = path_result(problem, bases[: last + 1], stopped_by="max_nonzeros", max_nonzeros=most)
    assert verdict(name, sparse) is Verdict.VERIFIED
    fewer = sparse.with_changes(params=SolveParams(max_nonzeros=most - 1))
    assert refuted(name, fewer)


@pytest.mark.thorough(after=1)
@EVERY
def test_a_removed_knot_is_refuted(name):
    problem, bases = PROBLEMS[name], BASES[name]
    for s in range(len(bases) - 1):
        above, below = bases[s], bases[s + 1]
        merged_up = [*bases[:s], replace(above, low=below.low), *bases[s + 2 :]]
        merged_down = [*bases[:s], replace(below, high=above.high), *bases[s + 2 :]]
        for bad in (merged_up, merged_down):
            assert refuted(name, path_result(problem, bad)), s
    for s in range(1, len(bases) - 1):
        deleted = path_result(problem, [*bases[:s], *bases[s + 1 :]])
        assert refuted(name, deleted), s


@pytest.mark.thorough(after=1)
@EVERY
def test_a_moved_knot_is_refuted(name):
    """The neighbours still meet, and their numbers are those of their bases at the new place."""
    problem, bases = PROBLEMS[name], BASES[name]
    for s in range(len(bases) - 1):
        for factor in (1.0 + 1e-6, 1.0 - 1e-6, 1.01):
            place = bases[s].low * factor
            if not bases[s + 1].low < place < bases[s].high:
                continue
            moved = list(bases)
            moved[s], moved[s + 1] = replace(bases[s], low=place), replace(bases[s + 1], high=place)
            assert refuted(name, path_result(problem, moved)), (s, factor)


@EVERY
def test_moved_or_swapped_ranges_are_refuted(name):
    result = PATHS[name]
    low, high = result.path.low, result.path.high
    assert refuted(name, with_ranges(result, low, changed(high, 1)))
    assert refuted(name, with_ranges(result, changed(low, 0), high))
    assert refuted(name, with_ranges(result, low[::-1].copy(), high[::-1].copy()))
    swap = np.arange(len(low))
    swap[[1, 2]] = [2, 1]
    assert refuted(name, with_ranges(result, low[swap], high[swap]))
    assert refuted(name, with_path(result, low=changed(low, 0)))
    assert refuted(name, with_ranges(result, low - 0.01, high))
    finite = high.copy()
    finite[0] = 2.0 * low[0]
    assert verdict(name, with_ranges(result, low, finite)) is not Verdict.VERIFIED


@EVERY
def test_swapped_bases_are_refuted(name):
    problem, bases = PROBLEMS[name], BASES[name]
    for s in range(len(bases) - 1):
        swapped = list(bases)
        swapped[s] = replace(bases[s + 1], low=bases[s].low, high=bases[s].high)
        swapped[s + 1] = replace(bases[s], low=bases[s + 1].low, high=bases[s + 1].high)
        assert refuted(name, path_result(problem, swapped)), s


@EVERY
def test_every_changed_code_is_refuted(name):
    result = PATHS[name]
    for entry in ("codes", "change_code"):
        codes = result.certificate.arrays[entry]
        for at in range(len(codes)):
            for code in range(6):
                if code != codes[at]:
                    bad = np.array(codes)
                    bad[at] = code
                    assert refuted(name, with_arrays(result, **{entry: bad})), (entry, at, code)


@pytest.mark.thorough(after=1)
@EVERY
@settings(deadline=None, max_examples=12)
@given(data=st.data())
def test_any_changed_number_of_a_path_is_refuted(name, data):
    """Numbers of at least 1% of the largest of their kind, by at least 1e-6 of themselves."""
    result = PATHS[name]
    path = result.path
    field = data.draw(st.sampled_from(["theta", "nu"]))
    part = data.draw(st.sampled_from(["value", "rate"]))
    numbers = getattr(getattr(path, field), part)
    size = np.abs(numbers)
    relevant = np.flatnonzero(size > 0.01 * size.max(initial=0.0))
    if len(relevant) == 0:
        return
    at = data.draw(st.sampled_from(list(relevant)))
    exponent = data.draw(st.floats(-6.0, 3.0))
    sign = data.draw(st.sampled_from([-1.0, 1.0]))
    rows = replace(getattr(path, field), **{part: changed(numbers, at, 1 + sign * 10**exponent)})
    assert refuted(name, with_path(result, **{field: rows}))


@pytest.mark.thorough(after=1)
@EVERY
@settings(deadline=None, max_examples=12)
@given(data=st.data())
def test_any_changed_point_is_refuted_even_with_its_true_objective(name, data):
    result, problem = POINTS[name], PROBLEMS[name]
    relevant = np.flatnonzero(np.abs(result.x) > 0.01 * np.abs(result.x).max())
    at = data.draw(st.sampled_from(list(relevant)))
    sign = data.draw(st.sampled_from([-1.0, 1.0]))
    x = changed(result.x, at, 1.0 + sign * 10 ** data.draw(st.floats(-3.0, 3.0)))
    value = problem.objective(x, result.params.lam)
    assert refuted(name, result.with_changes(x=x))
    assert refuted(name, result.with_changes(x=x, objective=value))
    assert refuted(name, result.with_changes(x=x, objective=value, bound=value))


@pytest.mark.thorough(after=1)
@EVERY
def test_any_changed_objective_of_a_path_is_refuted(name):
    objective = PATHS[name].path.objective
    for s in range(len(objective)):
        for k in range(3):
            if abs(objective[s, k]) > 1e-9:
                bad = changed(objective, (s, k))
                assert refuted(name, with_path(PATHS[name], objective=bad)), (s, k)


@EVERY
def test_a_coefficient_that_is_not_there_is_refuted(name):
    result = PATHS[name]
    rows = result.path.theta
    ptr = np.array(rows.ptr)
    ptr[1:] += 1
    extra = replace(
        rows,
        ptr=ptr,
        index=np.concatenate([[0], rows.index]),
        value=np.concatenate([[1e-6], rows.value]),
        rate=np.concatenate([[0.0], rows.rate]),
    )
    assert refuted(name, with_path(result, theta=extra))


def malformed_arrays(arrays):
    """Yield (what is wrong, changed entries)."""
    for key in arrays:
        if arrays[key].size == 0:
            continue
        yield f"{key} is text", {key: np.array(["a"] * len(arrays[key]))}
        yield f"{key} is an object", {key: np.array([None] * len(arrays[key]))}
        yield f"{key} is a matrix", {key: np.stack([arrays[key], arrays[key]])}
        yield f"{key} is a scalar", {key: np.array(1.0)}
        yield f"{key} is short", {key: arrays[key][:-1]}
        yield f"{key} is long", {key: np.append(arrays[key], arrays[key][-1:])}
        yield f"{key} is empty", {key: arrays[key][:0]}
        yield f"{key} is NaN", {key: np.full(len(arrays[key]), np.nan)}
        yield f"{key} is huge", {key: np.full(len(arrays[key]), 10**15)}
        yield f"{key} is negative", {key: np.full(len(arrays[key]), -1)}


@pytest.mark.thorough(after=1)
@EVERY
def test_a_malformed_certificate_is_refuted_without_an_exception(name):
    for result in (PATHS[name], POINTS[name]):
        for what, entries in malformed_arrays(result.certificate.arrays):
            assert refuted(name, with_arrays(result, **entries)), what
        for key in result.certificate.arrays:
            rest = {k: v for k, v in result.certificate.arrays.items() if k != key}
            missing = Certificate(result.certificate.kind, rest)
            assert refuted(name, result.with_changes(certificate=missing)), key


@pytest.mark.thorough(after=2)
@EVERY
def test_a_malformed_path_is_refuted_without_an_exception(name):
    result = PATHS[name]
    path = result.path
    for field in ("low", "high", "objective"):
        for bad in (np.nan * getattr(path, field), getattr(path, field)[:0], np.array("x"), None):
            assert refuted(name, with_path(result, **{field: bad})), (field, bad)
    for field in ("theta", "nu"):
        rows = getattr(path, field)
        for part in ("ptr", "index", "value", "rate"):
            array = getattr(rows, part)
            for bad in (array[:-1], np.append(array, 10**9), array.astype(str), None, array - 1e9):
                wrong = with_path(result, **{field: replace(rows, **{part: bad})})
                assert refuted(name, wrong), (field, part)
    assert refuted(name, with_path(result, shape=(1, 1)))
    assert refuted(name, result.with_changes(path=None))


@pytest.mark.thorough(after=1)
@EVERY
def test_a_malformed_point_is_refuted_without_an_exception(name):
    for result in (PATHS[name], POINTS[name]):
        x = result.x
        for bad in (x[:-1], np.append(x, 0.0), x[:, None], x * np.nan, x.astype(str), x + np.inf):
            assert refuted(name, result.with_changes(x=bad))
        assert refuted(name, result.with_changes(x=None))
        for value in (np.nan, np.inf, -np.inf):
            assert refuted(name, result.with_changes(objective=value))
        assert refuted(name, result.with_changes(bound=np.nan))
        worse = np.inf if PROBLEMS[name].sense == "min" else -np.inf
        assert refuted(name, result.with_changes(bound=worse))


@EVERY
def test_a_certificate_of_another_claim_is_refuted(name):
    m = len(POINTS[name].duals["rows"])
    for kind in ("farkas", "ray", "segments", "dual-grid"):
        other = Certificate(kind, {"nu": np.ones(m)})
        assert refuted(name, POINTS[name].with_changes(certificate=other)), kind
    unknown = POINTS[name].with_changes(certificate=Certificate("a-new-kind"))
    assert verdict(name, unknown) is Verdict.UNPROVEN


def test_a_singular_kernel_is_refuted():
    doubled = DantzigSelector(X=np.column_stack([X[:, :1], X[:, :1]]), y=Y)
    single = brute_path(DantzigSelector(X=X[:, :1], y=Y))
    honest = brute_path(doubled)
    result = path_result(doubled, honest)
    assert check(doubled, result).verdict is Verdict.VERIFIED
    assert len(honest) == len(single)
    on = honest[-1].codes
    both = np.array(on)
    both[:2] = on[:2][on[:2] % 2 == 0][0]
    both[2:] = on[2:][on[2:] % 2 == 1][0]
    report = check(doubled, with_arrays(result, change_code=both[honest[0].codes != both].astype(
        np.int16), changed=np.flatnonzero(honest[0].codes != both),
        change_ptr=np.array([0, 0, np.count_nonzero(honest[0].codes != both)])))  # fmt: skip
    assert report.verdict is Verdict.REFUTED
    assert "singular" in report.messages[0]


@EVERY
def test_imaginary_parts_are_refused_not_dropped(name):
    result = POINTS[name]
    numbers = {key: np.asarray(part) for key, part in result.certificate.arrays.items()}
    (key, part), *_ = ((k, v) for k, v in numbers.items() if v.dtype.kind == "f")
    report = check(PROBLEMS[name], with_arrays(result, **{key: part + 1.0j}))
    assert report.verdict is Verdict.REFUTED
    assert report.messages == (f"{key} has complex numbers; expected real ones",)
    assert refuted(name, result.with_changes(duals={"rows": part + 1.0j}))


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("name", ["sizes", "objective", "bound", "ptr", "index", "value"])
def test_imaginary_parts_of_a_path_are_refused(name):
    M = np.random.default_rng(0).normal(size=(6, 6))
    problem = STRSPath(M + M.T, M[0], d_max=4)
    result = solve(problem)
    assert result.verdict is Verdict.VERIFIED
    report = check(problem, with_path(result, **{name: getattr(result.path, name) + 1e-3j}))
    assert report.messages == (f"{name} has complex numbers; expected real ones",)
