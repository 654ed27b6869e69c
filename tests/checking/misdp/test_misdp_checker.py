"""The checker of MISDPs: true certificates are verified, and nothing false is."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from thorough import first

pytest.importorskip("clarabel", reason="the reference answers come from Clarabel")

from enumeration import enumerate_integers, relax

import sparseopt
from sparseopt import Certificate, Limit, Result, Status, check
from sparseopt.checking.misdp.boxes import uncovered
from sparseopt.generators import random_misdp
from sparseopt.problems import MISDP, MISDPBuilder
from sparseopt.solvers.misdp.bounding.polish import Polish
from sparseopt.solvers.misdp.bounds import ConicMultipliers, SafeBounds


@cache
def example(kind: str, seed: int = 0) -> tuple[MISDP, Result]:
    problem = random_misdp(seed=seed, kind=kind, integers=3, bound=1, size=3)
    if seed % 2:
        problem = problem.with_changes(c=-problem.c, sense="max")
    return problem, enumerate_integers(problem)


def arrays_of(result: Result) -> dict[str, np.ndarray]:
    assert result.certificate is not None
    return {name: np.array(array) for name, array in result.certificate.arrays.items()}


@pytest.mark.parametrize("seed", first(1, range(4)))
@pytest.mark.parametrize("kind", ["interior", "boundary", "infeasible"])
def test_what_enumeration_proves_is_verified(kind: str, seed: int) -> None:
    problem, result = example(kind, seed)
    report = check(problem, result)
    assert report.verdict == "verified", report.messages
    assert (result.status is Status.INFEASIBLE) == (kind == "infeasible")


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("seed", range(4))
def test_a_better_bound_than_the_optimum_is_never_proven(seed: int) -> None:
    """Not by true multipliers, nor by any others: the arithmetic holds for all of them."""
    problem, result = example("interior", seed)
    assert result.bound is not None and result.objective is not None
    worse = result.objective + (1e-5 if problem.sense == "min" else -1e-5)
    false = result.with_changes(status=Status.FEASIBLE, limit=Limit.TIME, bound=worse)
    assert check(problem, false).verdict == "refuted"
    rng = np.random.default_rng(seed)
    for size in (1e-3, 1.0, 1e3, 1e12):
        arrays = arrays_of(result)
        for name in ("rows", "cones", "psd"):
            arrays[name] = arrays[name] + size * rng.normal(size=arrays[name].shape)
        without_point = false.with_changes(
            status=Status.NO_SOLUTION, x=None, objective=None, certificate=None
        )
        assert check(problem, with_arrays_of(without_point, arrays)).verdict == "refuted"


def with_arrays_of(result: Result, arrays: dict[str, np.ndarray]) -> Result:
    return result.with_changes(certificate=Certificate("misdp-leaves", arrays))


def test_safe_bounds_hold_for_any_multipliers() -> None:
    """Whatever the multipliers, no feasible point of the box is better than the value."""
    rng = np.random.default_rng(3)
    problem, result = example("interior", 2)
    assert result.x is not None
    safe = SafeBounds(problem)
    for size in (1e-6, 1e-2, 1.0, 1e4):
        lengths = (problem.A.shape[0], safe.cone_length, safe.psd_length)
        given = ConicMultipliers(*(size * rng.normal(size=(50, length)) for length in lengths))
        found = safe.evaluate(problem.lower, problem.upper, given)
        assert (found.value <= safe.sign * problem.c @ result.x + 1e-9).all()
        none = safe.evaluate(problem.lower, problem.upper, given, infeasible=True)
        assert (none.value <= 0.0).all()


@pytest.mark.thorough
def test_leaves_must_cover_all_integers() -> None:
    """The leaf of the best point: another one may lie outside the bounds that are derived."""
    for kind in ("interior", "boundary"):
        problem, result = example(kind)
        assert result.x is not None
        arrays = arrays_of(result)
        best = (arrays["lower"] == np.rint(result.x[:3])).all(axis=1)
        holed = {name: array[~best] for name, array in arrays.items()}
        report = check(problem, with_arrays_of(result, holed))
        assert report.verdict == "refuted"
        assert "leave out integer points" in report.messages[0]


def test_a_feasible_leaf_is_not_proven_infeasible() -> None:
    problem, result = example("interior")
    arrays = arrays_of(result)
    value = result.objective
    assert value is not None and result.x is not None
    best = int(np.flatnonzero((arrays["lower"] == np.rint(result.x[:3])).all(axis=1))[0])
    arrays["infeasible"][best] = True
    claim = result.with_changes(
        status=Status.NO_SOLUTION, limit=Limit.TIME, x=None, objective=None, bound=value + 0.5
    )
    report = check(problem, with_arrays_of(claim, arrays))
    assert report.verdict == "refuted" and "leaf" in report.messages[0]


def test_infeasibility_of_a_feasible_problem_is_refuted() -> None:
    problem, result = example("interior")
    arrays = arrays_of(result)
    arrays["infeasible"][:] = True
    claim = Result(status=Status.INFEASIBLE)
    assert check(problem, with_arrays_of(claim, arrays)).verdict == "refuted"
    assert check(problem, claim).verdict == "unproven"


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("lower", lambda a: a[:, :1], "lower holds float64 of shape"),
        ("upper", lambda a: a * np.nan, "NaN"),
        ("rows", lambda a: a + np.inf, "not finite"),
        ("psd", lambda a: a[:, 1:], "psd holds"),
        ("cones", lambda a: a.astype(str), "cones holds"),
        ("infeasible", lambda a: a.astype(float), "infeasible must be"),
        ("infeasible", lambda a: a[1:], "holds float64 of shape"),
    ],
)
def test_malformed_leaves_are_refuted(name: str, change: object, message: str) -> None:
    problem, result = example("interior")
    arrays = arrays_of(result)
    arrays[name] = change(arrays[name])  # type: ignore[operator]
    with np.errstate(invalid="ignore"):
        report = check(problem, with_arrays_of(result, arrays))
    assert report.verdict == "refuted"
    assert any(message in text for text in report.messages), report.messages


def test_without_leaves_an_optimum_is_unproven() -> None:
    problem, result = example("interior")
    assert check(problem, result.with_changes(certificate=None)).verdict == "unproven"
    other = result.with_changes(certificate=Certificate("ray", {}))
    assert check(problem, other).verdict == "unproven"


def test_a_point_is_held_to_every_constraint() -> None:
    problem, result = example("interior")
    assert result.x is not None
    for j in range(len(result.x)):
        for step in (0.02, -0.02):
            moved = result.x.copy()
            moved[j] += step
            value = problem.objective(moved)
            claim = result.with_changes(
                x=moved, objective=value, status=Status.FEASIBLE, limit=Limit.TIME
            )
            feasible = max(problem.residuals(moved).values()) <= 1e-7
            assert feasible or check(problem, claim).verdict == "refuted"
            assert not (feasible and j < 3)


def test_rows_without_a_unit_are_evaluated_exactly() -> None:
    # The first row is empty: what it misses is known exactly, and its bounds are no unit.
    third = 1.0 / 3.0
    rows = [[0.0, 0.0, 0.0], [3.0, 0.0, -1.0]]
    problem = MISDP(
        c=[1.0, 1.0, 0.0],
        A=rows,
        row_lower=[-2.0, 0.0],
        row_upper=[0.0, 0.0],
        lower=[0.0, 0.0, 1.0],
        upper=[1.0, 1.0, 1.0],
        integer=[False, False, True],
    )
    result = sparseopt.solve(problem)
    assert (result.status, result.verdict.value) == (Status.OPTIMAL, "verified")
    assert result.x == pytest.approx([third, 0.0, 1.0], abs=1e-8)
    for low, high in ((0.0, 0.0), (-2.0, 0.0), (0.0, 3.0)):
        flat = problem.with_changes(row_lower=[low, 0.0], row_upper=[high, 0.0])
        assert sparseopt.solve(flat).verdict.value == "verified"
    for low, high in ((1e-300, 1.0), (-1.0, -1e-300)):
        missed = problem.with_changes(row_lower=[low, 0.0], row_upper=[high, 0.0])
        assert check(missed, result.with_changes(problem=missed)).verdict.value != "verified"


def test_rank_one_is_asked_of_the_point() -> None:
    """The best matrix of rank one has the value 1, the best of any rank 0."""
    model = MISDPBuilder("min")
    X = model.matrix(3, rank_one=True)
    for j in range(3):
        model.row((X[j, j], 1.0), lower=1.0, upper=1.0)
    model.objective((X, np.ones((3, 3))))
    problem = model.build()
    flat = 1.5 * np.eye(3) - 0.5 * np.ones((3, 3))
    for matrix, verdict in (
        (flat, "refuted"),
        (np.outer([1.0, 1.0, -1.0], [1.0, 1.0, -1.0]), "unproven"),
    ):
        x = matrix[np.tril_indices(3)][[0, 1, 3, 2, 4, 5]]
        result = Result(
            status=Status.FEASIBLE, limit=Limit.TIME, x=x, objective=problem.objective(x)
        )
        assert check(problem, result).verdict == verdict


def test_unbounded_needs_a_ray_and_a_point() -> None:
    model = MISDPBuilder("max")
    k = model.variable(lower=0.0, integer=True)
    y = model.variable(lower=0.0, upper=1.0)
    model.semidefinite((k, np.eye(2)), (y, [[0.0, 1.0], [1.0, 0.0]]), constant=np.eye(2))
    model.objective((k, 1.0), (y, 1.0))
    problem = model.build()

    def claim(x: list[float], ray: list[float]) -> Result:
        arrays = {"x": np.array(x), "ray": np.array(ray)}
        return Result(status=Status.UNBOUNDED, certificate=Certificate("ray", arrays))

    assert check(problem, claim([0.0, 0.5], [1.0, 0.0])).verdict == "verified"
    for x, ray in (
        ([0.0, 2.0], [1.0, 0.0]),
        ([0.5, 0.0], [1.0, 0.0]),
        ([0.0, 0.0], [0.5, 0.0]),
        ([0.0, 0.0], [1.0, 1.0]),
        ([0.0, 0.0], [-1.0, 0.0]),
        ([0.0, 0.0], [0.0, 0.0]),
        ([0.0, 0.0], [1.0]),
        ([0.0, np.nan], [1.0, 0.0]),
    ):
        assert check(problem, claim(x, ray)).verdict == "refuted", (x, ray)
    assert check(problem, Result(status=Status.UNBOUNDED)).verdict == "unproven"


def test_multipliers_that_cancel_prove_nothing() -> None:
    """Two equal rows with huge opposite multipliers make any reduced cost look like rounding."""
    problem = MISDP(
        c=[-1.0, 0.0],
        A=[[1.0, -1.0], [1.0, -1.0]],
        row_lower=[0.0, 0.0],
        row_upper=[0.0, 0.0],
    )
    arrays = {
        "lower": np.zeros((1, 0)),
        "upper": np.zeros((1, 0)),
        "rows": np.array([[1e12, -1e12]]),
        "infeasible": np.array([False]),
    }
    claim = Result(
        status=Status.FEASIBLE,
        limit=Limit.TIME,
        x=np.zeros(2),
        objective=0.0,
        bound=0.0,
        certificate=Certificate("misdp-leaves", arrays),
    )
    assert check(problem, claim).verdict != "verified"


def test_polishing_makes_unbounded_variables_cost_nothing() -> None:
    model = MISDPBuilder("min")
    w = model.variables(2)
    t = model.variable()
    rng = np.random.default_rng(4)
    S = [(B + B.T) for B in rng.normal(size=(3, 3, 3))]
    model.semidefinite((w, S[:2]), (t, np.eye(3)), constant=S[2])
    model.cone([[(t, 1.0)], [(w[0], 1.0)], [(w[1], 1.0)]], constant=[0.0, 1.0, 0.0])
    model.objective((t, 1.0), (w, [0.1, -0.2]))
    problem = model.build()
    found = relax(problem, problem.lower, problem.upper)
    given = Polish(problem).improve(
        problem.lower, problem.upper, found.rows, found.cones, found.psd + 1e-9
    )
    safe = SafeBounds(problem)
    raw = ConicMultipliers(found.rows[None], found.cones[None], found.psd[None] + 1e-9)
    assert safe.evaluate(problem.lower, problem.upper, raw).value[0] == -np.inf
    proven = safe.evaluate(problem.lower, problem.upper, given)
    np.testing.assert_allclose(proven.nearly[0], found.value, rtol=1e-6)
    assert proven.uncharged[0] < 1e-10


def test_covers_of_integer_boxes() -> None:
    """Random guillotine cuts, also of unbounded boxes; then with one box less, or shrunk."""
    rng = np.random.default_rng(6)
    for _ in range(30):
        q = int(rng.integers(1, 5))
        low = np.where(rng.random(q) < 0.2, -np.inf, rng.integers(-3, 1, q))
        high = np.where(rng.random(q) < 0.2, np.inf, rng.integers(1, 5, q))
        boxes = [(low, high)]
        for _ in range(int(rng.integers(0, 12))):
            a, b = boxes.pop(int(rng.integers(len(boxes))))
            j = int(rng.integers(q))
            first, last = max(a[j], -9.0), min(b[j], 9.0)
            if first == last:
                boxes.append((a, b))
                continue
            cut = float(rng.integers(int(first), int(last)))
            left, right = b.copy(), a.copy()
            left[j], right[j] = cut, cut + 1.0
            boxes += [(a, left), (right, b)]
        lower, upper = np.array([a for a, _ in boxes]), np.array([b for _, b in boxes])
        assert uncovered(lower, upper, low, high) is None
        k = int(rng.integers(len(boxes)))
        hole = uncovered(np.delete(lower, k, axis=0), np.delete(upper, k, axis=0), low, high)
        assert hole is not None
        assert (hole[0] >= lower[k]).all() and (hole[1] <= upper[k]).all()
    # Overlapping boxes that no straight cut takes apart: a pinwheel and its centre.
    lower = np.array([[0, 0], [2, 0], [1, 2], [0, 1], [1, 1]], dtype=float)
    upper = np.array([[1, 0], [2, 1], [2, 2], [0, 2], [1, 1]], dtype=float)
    whole = np.zeros(2), np.full(2, 2.0)
    assert uncovered(lower, upper, *whole) is None
    assert uncovered(lower[:4], upper[:4], *whole) is not None


def test_multipliers_near_overflow_are_evaluated() -> None:
    """A ray added to multipliers may be as long as one likes."""
    problem, result = example("interior", 2)
    arrays = arrays_of(result)
    safe = SafeBounds(problem)
    given = ConicMultipliers(*(1e200 * arrays[name] for name in ("rows", "cones", "psd")))
    plain = ConicMultipliers(*(arrays[name] for name in ("rows", "cones", "psd")))
    huge = safe.evaluate(problem.lower, problem.upper, given, infeasible=True)
    small = safe.evaluate(problem.lower, problem.upper, plain, infeasible=True)
    np.testing.assert_allclose(huge.value / 1e200, small.value, rtol=1e-6, atol=1e-9)
