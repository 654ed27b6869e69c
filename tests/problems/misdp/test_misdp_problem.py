"""The MISDP itself: evaluation, validation, the builder, derived bounds, and STRS as a MISDP."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from sparseopt import ProblemError
from sparseopt.problems import (
    MISDP,
    STRS,
    IndicatorConstraint,
    MISDPBuilder,
    SecondOrderCone,
    SemidefiniteBlock,
    strs_as_misdp,
)
from sparseopt.problems.misdp.cones import (
    arrow_block,
    pack_symmetric,
    triangle,
    triangle_weights,
    unpack_symmetric,
)
from sparseopt.solvers.misdp.reductions.propagation import Propagation
from sparseopt.testing.strs import best_by_supports


def symmetric(rng: np.random.Generator, size: int) -> np.ndarray:
    B = rng.normal(size=(size, size))
    return B + B.T


def test_packed_entries_are_the_lower_triangle_by_columns() -> None:
    rows, columns = triangle(3)
    assert list(zip(rows, columns, strict=True)) == [(0, 0), (1, 0), (2, 0), (1, 1), (2, 1), (2, 2)]
    rng = np.random.default_rng(0)
    A, B = symmetric(rng, 4), symmetric(rng, 4)
    np.testing.assert_array_equal(unpack_symmetric(pack_symmetric(A), 4), A)
    inner = pack_symmetric(A) @ (triangle_weights(4) * pack_symmetric(B))
    np.testing.assert_allclose(inner, np.trace(A @ B))


def everything(rng: np.random.Generator) -> tuple[MISDP, dict[str, np.ndarray]]:
    model = MISDPBuilder("max")
    k = model.variables(2, lower=-1, upper=[2, 3], integer=True, name="k")
    X = model.matrix(3, rank_one=True, name="X")
    w = model.variable(name="w")
    parts = {
        "C": symmetric(rng, 3),
        "c": rng.normal(size=2),
        "A": rng.normal(size=(2, 2)),
        "G": rng.normal(size=(3, 2)),
        "F": np.array([symmetric(rng, 2) for _ in range(3)]),
    }
    model.objective((X, parts["C"]), (k, parts["c"]), (w, 2.0), offset=-0.5)
    model.row((X[:2, :2], parts["A"]), (k, [1.0, 0.0]), upper=1.0)
    model.row((np.diagonal(X), np.ones(3)), lower=1.0, upper=1.0)
    model.cone([[(k, row)] for row in parts["G"]], constant=[2.0, 0.0, 0.0])
    model.cone([[(w, 1.0)], [(k[0], 1.0)], [(k[1], 1.0)]], constant=[1.0, 2.0, 0.0], rotated=True)
    model.semidefinite(
        (k, parts["F"][:2]), (w, parts["F"][2]), (X[1:, 1:], -1.0), constant=3.0 * np.eye(2)
    )
    return model.build(), parts


def test_a_builder_builds_what_it_was_told() -> None:
    problem, parts = everything(np.random.default_rng(1))
    rng = np.random.default_rng(2)
    x = rng.normal(size=len(problem.c))
    k, X, w = x[:2], unpack_symmetric(x[2:8], 3), x[8]
    expected = np.trace(parts["C"] @ X) + parts["c"] @ k + 2.0 * w - 0.5
    np.testing.assert_allclose(problem.objective(x), expected)
    rows = [(parts["A"] * X[:2, :2]).sum() + k[0], np.trace(X)]
    np.testing.assert_allclose(problem.A @ x, rows)
    np.testing.assert_allclose(problem.cones[0].value(x), parts["G"] @ k + [2.0, 0.0, 0.0])
    np.testing.assert_allclose(problem.cones[1].value(x), [w + 1.0, k[0] + 2.0, k[1]])
    np.testing.assert_array_equal(problem.blocks[0].matrix(x), X)
    M = k[0] * parts["F"][0] + k[1] * parts["F"][1] + w * parts["F"][2] - X[1:, 1:] + 3 * np.eye(2)
    np.testing.assert_allclose(problem.blocks[1].matrix(x), M)
    Z = symmetric(rng, 2)
    inner = np.trace(Z @ (M - 3.0 * np.eye(2)))
    np.testing.assert_allclose(problem.blocks[1].adjoint(pack_symmetric(Z)) @ x, inner)
    assert problem.sense == "max" and problem.integer.tolist() == [True] * 2 + [False] * 7
    assert problem.lower[:2].tolist() == [-1, -1] and problem.upper[:2].tolist() == [2, 3]
    assert problem.names is not None
    assert problem.names[:4] == ["k[0]", "k[1]", "X[0,0]", "X[1,0]"] and problem.names[8] == "w"
    assert [block.rank_one for block in problem.blocks] == [True, False]


def test_residuals_say_how_far_off_each_constraint_is() -> None:
    block = SemidefiniteBlock(F=np.eye(3), size=2, rank_one=True)
    problem = MISDP(
        c=np.zeros(3),
        A=[[1.0, 1.0, 0.0]],
        row_upper=[2.0],
        lower=[0.0, -np.inf, -np.inf],
        integer=[2],
        cones=[SecondOrderCone(np.eye(3)), SecondOrderCone(np.eye(3), rotated=True)],
        blocks=[block],
    )
    fine = problem.residuals(np.array([2.0, 0.0, 0.0]))
    assert max(fine.values()) == 0.0
    off = problem.residuals(np.array([-1.0, 3.0, 0.25]))
    assert off["bounds"] == 1.0 and off["rows"] == 0.0 and off["integrality"] == 0.25
    size = 3.0
    np.testing.assert_allclose(off["cones"] * size, 1.0 + np.hypot(3.0, 0.25))
    values = np.linalg.eigvalsh([[-1.0, 3.0], [3.0, 0.25]])
    np.testing.assert_allclose(off["psd"] * size, -values[0])
    second = problem.residuals(np.array([4.0, 0.0, 3.0]))["rank_one"]
    np.testing.assert_allclose(second, 3.0 / 4.0)
    # A rotated cone that is missed: 2 u0 u1 < u2^2.
    u = np.array([1.0, 1.0, 2.0])
    gap = np.hypot(0.0, 2.0) - np.sqrt(2.0)
    np.testing.assert_allclose(problem.cones[1].violation(u), gap)
    assert problem.cones[1].violation(np.array([1.0, 2.0, 2.0])) == 0.0


def test_residuals_do_not_depend_on_the_scale_of_a_row() -> None:
    base = MISDP(c=[1.0, 1.0], A=[[1.0, 2.0]], row_upper=[3.0])
    tiny = MISDP(c=[1.0, 1.0], A=[[1e-9, 2e-9]], row_upper=[3e-9])
    x = np.array([2.0, 1.0])
    np.testing.assert_allclose(tiny.residuals(x)["rows"], base.residuals(x)["rows"])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"c": []}, r"c has shape \(0,\)"),
        ({"c": [np.nan]}, r"c\[0\] is nan"),
        ({"A": [[1.0, 2.0]]}, r"A has shape \(1, 2\); expected 1 columns"),
        ({"A": [[1.0]], "row_lower": [1.0, 2.0]}, r"row_lower has shape \(2,\); expected \(1,\)"),
        ({"A": [[1.0]], "row_lower": [2.0], "row_upper": [1.0]}, r"row_lower\[0\] = 2.0 exceeds"),
        ({"lower": [np.inf]}, r"lower\[0\] is inf; expected a number or -inf"),
        ({"upper": [np.nan]}, r"upper\[0\] is nan"),
        ({"integer": [3]}, "integer names variables outside 0..0"),
        ({"integer": [0.5]}, "integer has the type float64"),
        ({"sense": "least"}, "sense is 'least'"),
        ({"offset": np.inf}, "offset is inf"),
        ({"offset": "1"}, "offset is '1'"),
        ({"names": ["a", "b"]}, "names has 2 entries; expected 1"),
        ({"cones": [1]}, r"cones\[0\] is a int; expected a SecondOrderCone"),
        ({"blocks": [SemidefiniteBlock(np.ones((1, 2)))]}, r"blocks\[0\].F has shape \(1, 2\)"),
    ],
)
def test_invalid_problems_are_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        MISDP(**{"c": [1.0], **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SecondOrderCone(np.ones((1, 1)), rotated=True), "rotated cone has at least 2"),
        (lambda: SecondOrderCone(np.ones((2, 1)), g=[1.0]), r"g has shape \(1,\)"),
        (lambda: SemidefiniteBlock(np.ones((2, 1))), "F has 2 rows"),
        (lambda: SemidefiniteBlock(np.ones((3, 1)), size=3), "6 for s = 3"),
        (lambda: SemidefiniteBlock([[np.inf]]), r"F\[0, 0\] is inf"),
        (lambda: SemidefiniteBlock([[1.0]], rank_one=1), "rank_one is 1"),  # type: ignore[arg-type]
    ],
)
def test_invalid_parts_are_refused(make: object, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        make()  # type: ignore[operator]


def test_a_builder_says_what_is_wrong() -> None:
    model = MISDPBuilder()
    x = model.variables(2)
    cases = [
        (lambda: model.row((x, [1.0])), "coefficients of shape"),
        (lambda: model.row(([2], [1.0])), "indices of the 2 variables"),
        (lambda: model.semidefinite((x, [np.eye(2)])), "2 variables come with 1 matrices"),
        (lambda: model.semidefinite((x, [np.eye(2), np.eye(3)])), "different sizes"),
        (
            lambda: model.semidefinite((x[0], np.eye(2)), (x[1], np.eye(3))),
            "sizes 2 and 3 cannot be added up",
        ),
        (lambda: model.semidefinite((x[0], [[0.0, 1.0], [2.0, 0.0]])), "not symmetric"),
        (lambda: model.semidefinite(constant=np.eye(2)), "at least one term"),
        (lambda: model.variables(2, lower=[1, 2, 3]), "lower and upper must be"),
    ]
    for act, message in cases:
        with pytest.raises(ProblemError, match=message):
            act()


def test_zeros_and_their_signs_do_not_change_the_fingerprint() -> None:
    plain = MISDP(c=[0.0, 1.0], A=[[1.0, 0.0]], lower=[0.0, 0.0])
    stored = sp.csr_array((np.array([1.0, 0.0]), ([0, 0], [0, 1])), shape=(1, 2))
    same = MISDP(c=[-0.0, 1.0], A=stored, lower=[-0.0, 0.0])
    assert plain.fingerprint() == same.fingerprint()


@pytest.mark.thorough
def test_derived_bounds_hold_at_every_feasible_point() -> None:
    """Points of a random model, found by sampling, stay inside; what is bounded is found so."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        model = MISDPBuilder()
        X = model.matrix(3)
        k = model.variables(2, lower=0.0, upper=3.0, integer=True)
        t = model.variable()
        P = symmetric(rng, 3)
        P = P @ P + 0.1 * np.eye(3)
        a = rng.normal(size=2)
        model.row((X, P), (k, a), upper=4.0)
        model.cone([[(t, 1.0)], [(X[0, 1], 1.0)], [(k[0], -1.0)]])
        model.objective((t, 1.0))
        problem = model.build()
        open_box = Propagation(problem).tighten()
        box = Propagation(problem).tighten(cutoff=2.0)
        assert open_box is not None and box is not None
        assert np.isfinite(open_box[0][:-1]).all() and np.isfinite(open_box[1][:-1]).all()
        assert open_box[1][-1] == np.inf and box[1][-1] <= 2.0 + 1e-12
        for _ in range(30):
            V = rng.normal(size=(3, 3)) * rng.random()
            x = np.concatenate(
                [pack_symmetric(V @ V.T), rng.integers(0, 4, 2), [3.0 * rng.random()]]
            )
            if max(problem.residuals(x).values()) > 0.0:
                continue
            assert (x >= open_box[0]).all() and (x <= open_box[1]).all()
            if problem.objective(x) <= 2.0:
                assert (x >= box[0]).all() and (x <= box[1]).all()


def test_crossing_bounds_are_found() -> None:
    model = MISDPBuilder()
    X = model.matrix(2)
    model.row((np.diagonal(X), np.ones(2)), upper=1.0)
    model.row((X[0, 1], 1.0), lower=1.5)
    model.objective((X[0, 0], 1.0))
    assert Propagation(model.build()).tighten() is None


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("formulation", ["weak", "strong"])
def test_a_solution_of_strs_is_one_of_the_misdp(formulation: str) -> None:
    """z gives a feasible point of its value, and the optimum is attained so."""
    rng = np.random.default_rng(8)
    A, a = symmetric(rng, 5), rng.normal(size=5)
    problem = STRS(A=A, a=a, d=2)
    misdp = strs_as_misdp(problem, formulation)  # type: ignore[arg-type]
    best = -np.inf
    for S in itertools.combinations(range(5), 2):
        for angle in np.linspace(0.0, 2.0 * np.pi, 121):
            z = np.zeros(5)
            z[list(S)] = np.cos(angle), np.sin(angle)
            lifted = pack_symmetric(np.outer(np.append(1.0, z), np.append(1.0, z)))
            q = (z != 0.0).astype(float)
            pairs = [abs(z[i] * z[j]) for i, j in itertools.combinations(range(5), 2)]
            x = np.concatenate([q, pairs if formulation == "strong" else [], lifted])
            np.testing.assert_allclose(misdp.objective(x), problem.objective(z), atol=1e-12)
            best = max(best, misdp.objective(x))
            if angle < 0.1:
                assert max(misdp.residuals(x).values()) < 1e-12
    np.testing.assert_allclose(best, best_by_supports(problem), rtol=5e-3)


def test_indicators_and_quadratic_objectives() -> None:
    model = MISDPBuilder("max")
    z = model.variable(lower=0.0, upper=1.0, integer=True)
    x = model.variables(2)
    model.indicator(z, (x, np.array([1.0, -2.0])), (z, 3.0), lower=0.0, upper=4.0)
    model.objective((x, np.ones(2)), offset=1.0, quadratic=[(x, -np.eye(2)), (int(x[0]), -2.0)])
    problem = model.build()
    assert problem.size["indicators"] == 1 and problem.size["quadratic"] == 2
    point = np.array([1.0, 2.0, -1.0])
    assert problem.objective(point) == 2.0 - 1.0 + 1.0 - 0.5 * (3.0 * 4.0 + 1.0)
    # 2 + 2 + 3 = 7 is 3 above, in terms of 2 + 2 + 3.
    assert problem.residuals(point)["indicators"] == pytest.approx(3.0 / 7.0)
    assert problem.residuals(point * [0.0, 1.0, 1.0])["indicators"] == 0.0
    again = MISDP.from_payload(*problem.payload())
    assert again.fingerprint() == problem.fingerprint()
    plain = problem.with_changes(indicators=(), Q=None)
    assert not {"indicators_a", "Q"} & set(plain.payload()[1])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"Q": np.diag([1.0, -2.0])}, "Q has the eigenvalue -2; a minimum needs a positive semid"),
        ({"Q": np.eye(2), "sense": "max"}, "Q has the eigenvalue 1; a maximum needs a negative"),
        ({"Q": np.array([[1.0, 1.0], [0.0, 1.0]])}, "Q is not symmetric"),
        ({"Q": np.eye(3)}, r"Q has shape \(3, 3\)"),
        ({"indicators": [IndicatorConstraint(1, [1.0, 0.0], 0.0)]}, "which is not binary"),
        ({"indicators": [IndicatorConstraint(2, [1.0, 0.0], 0.0)]}, "expected an index in 0..1"),
        ({"indicators": [IndicatorConstraint(0, [1.0], 0.0)]}, "expected 2 columns"),
    ],
)
def test_wrong_indicators_and_objectives(changes: dict[str, object], message: str) -> None:
    problem = MISDP(c=[1.0, 1.0], lower=[0.0, 0.0], upper=[1.0, 4.0], integer=[0, 1])
    with pytest.raises(ProblemError, match=message):
        problem.with_changes(**changes)
    with pytest.raises(ProblemError, match="expected an end"):
        IndicatorConstraint(0, [1.0])
    with pytest.raises(ProblemError, match="leave nothing"):
        IndicatorConstraint(0, [1.0], lower=2.0, upper=1.0)


@pytest.mark.parametrize(("length", "rotated"), [(1, False), (4, False), (2, True), (5, True)])
def test_an_arrow_matrix_is_semidefinite_exactly_on_its_cone(length: int, rotated: bool) -> None:
    rng = np.random.default_rng(length)
    F, g = rng.normal(size=(length, 3)), rng.normal(size=length)
    g[: 1 + rotated] += 2.0
    cone = SecondOrderCone(F, g, rotated)
    block = arrow_block(cone)
    inside = 0
    for x in 3.0 * rng.normal(size=(300, 3)):
        violation = cone.violation(cone.value(x))
        least = np.linalg.eigvalsh(block.matrix(x))[0]
        if abs(least) > 1e-9:
            assert (least > 0.0) == (violation == 0.0)
            inside += violation == 0.0
    assert 0 < inside < 300
