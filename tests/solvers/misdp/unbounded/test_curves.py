"""Problems that improve for ever along no ray: curves prove it, or nothing finite is claimed."""

import numpy as np
import pytest

import sparseopt
from sparseopt import Certificate, Limit, Result, Status, Verdict
from sparseopt.problems import MISDP, MISDPBuilder, SecondOrderCone, SemidefiniteBlock
from sparseopt.problems.misdp.cones import pack_symmetric
from sparseopt.solvers.misdp.unbounded.recession import with_cones_as_matrices

pytest.importorskip("clarabel", reason="Clarabel is not installed: sparseopt[misdp]")

SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
"""[[1, k], [k, t]], with the variables k and t: k^2 <= t."""
CONSTANT = [1.0, 0.0, 0.0]

each_engine = pytest.mark.parametrize("backend", ["misdp-bnb", "misdp-oa"])


def roots(**changes):
    """Maximise k subject to k^2 <= t, with t free."""
    given = {"c": [1.0, 0.0], "integer": [True, False], "sense": "max"}
    return MISDP(**{**given, "blocks": [SemidefiniteBlock(SQUARE, CONSTANT)], **changes})


def of_a_cone():
    """Minimise 3 k subject to k^2 <= 2 (t - 5), k <= -7.5."""
    cone = SecondOrderCone([[0.0, 1.0], [0.0, 0.0], [1.0, 0.0]], [-5.0, 1.0, 0.0], rotated=True)
    row = {"A": [[1.0, 0.0]], "row_upper": [-7.5]}
    return roots(c=[3.0, 0.0], sense="min", blocks=(), cones=[cone], **row)


def turned():
    """Maximise k + 2 j with (k, j) in a 3 x 3 matrix in a basis without zeros."""
    T = np.random.default_rng(0).normal(size=(3, 3))
    units = np.zeros((4, 3, 3))
    units[0, 0, 1] = units[0, 1, 0] = units[1, 0, 2] = units[1, 2, 0] = units[2, 0, 0] = 1.0
    units[3] = np.diag([0.0, 1.0, 1.0])
    packed = pack_symmetric(T @ units @ T.T)
    block = SemidefiniteBlock(packed[:3].T, packed[3])
    return MISDP(c=[1.0, 2.0, 0.0], integer=[True, True, False], blocks=[block], sense="max")


PROBLEMS = {
    "integer root": roots(),
    "both integer": roots(integer=[True, True]),
    "continuous": roots(integer=None),
    "cone": of_a_cone(),
    "turned": turned(),
}


@pytest.mark.thorough(after=1)
@each_engine
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_curve_proves_it_unbounded(name, backend):
    problem = PROBLEMS[name]
    result = sparseopt.solve(problem, backend=backend, time_limit=10.0)
    # The matrix in a basis without zeros is singular up to rounding only.
    verdict = Verdict.UNPROVEN if name == "turned" else Verdict.VERIFIED
    assert (result.status, result.verdict) == (Status.UNBOUNDED, verdict)
    arrays = result.certificate.arrays
    sign = 1.0 if problem.sense == "min" else -1.0
    last = np.inf
    for s in (0.0, 1.0, 7.0, 1000.0):
        x = arrays["x"] + s * arrays["ray"] + s**2 * arrays["bend"]
        assert max(problem.residuals(x).values()) < 1e-8
        assert sign * problem.objective(x) < last
        last = sign * problem.objective(x)


@each_engine
def test_a_bounded_parabola_has_an_optimum(backend):
    result = sparseopt.solve(roots(upper=[np.inf, 1e6]), backend=backend, time_limit=10.0)
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    assert result.objective == 1000.0


@each_engine
def test_no_integer_point_no_curve(backend):
    between = {"A": [[1.0, 0.0]], "row_lower": [0.2], "row_upper": [0.8]}
    result = sparseopt.solve(roots(**between), backend=backend, time_limit=10.0)
    assert (result.status, result.verdict) == (Status.INFEASIBLE, Verdict.VERIFIED)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("master", ["none", "highs", "scip"])
def test_nothing_finite_is_claimed_of_curves_of_a_higher_degree(master):
    # max k with k^2 <= t, t^2 <= w: w must grow like the fourth power
    if master == "scip":
        pytest.importorskip("pyscipopt", reason="PySCIPOpt is not installed: sparseopt[scip]")
    first = np.column_stack([SQUARE, np.zeros(3)])
    second = np.column_stack([np.zeros(3), SQUARE])
    blocks = [SemidefiniteBlock(first, CONSTANT), SemidefiniteBlock(second, CONSTANT)]
    problem = roots(c=[1.0, 0.0, 0.0], integer=[True, False, False], blocks=blocks)
    backend = "misdp-bnb" if master == "none" else "misdp-oa"
    options = {} if master == "none" else {"master": master}
    result = sparseopt.solve(problem, backend=backend, options=options, time_limit=0.5)
    assert result.status in (Status.FEASIBLE, Status.NO_SOLUTION)
    assert result.limit in (Limit.TIME, Limit.SLOW_PROGRESS)
    assert result.bound is None


def claim(problem, **arrays):
    return sparseopt.check(
        problem, Result(status=Status.UNBOUNDED, certificate=Certificate("curve", arrays))
    )


GOOD = {
    "x": np.zeros(2),
    "ray": np.array([1.0, 0.0]),
    "bend": np.array([0.0, 1.0]),
    "cross": np.array([0.0, 1.0, 0.0, 0.0]),
}


def test_the_checker_proves_the_curve_by_hand():
    assert claim(roots(), **GOOD).verdict is Verdict.VERIFIED


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ray": np.array([1.5, 0.0])}, "by a fraction"),
        ({"ray": np.array([-1.0, 0.0])}, "does not improve"),
        ({"ray": np.array([0.0, 1.0])}, "does not improve"),
        ({"bend": np.array([0.0, 0.5])}, "leaves constraint 0"),
        ({"bend": np.array([-1.0, 1.0])}, "does not improve"),
        ({"cross": np.zeros(4)}, "leaves constraint 0"),
        ({"x": np.array([2.0, 1.0])}, "misses psd"),
        ({"cross": np.zeros(3)}, "not a vector of 4"),
    ],
)
def test_false_curves_are_refuted(change, message):
    report = claim(roots(), **{**GOOD, **change})
    assert report.verdict is Verdict.REFUTED
    assert message in " ".join(report.messages)


def test_a_curve_out_of_the_bounds_is_refuted():
    assert claim(roots(upper=[np.inf, 1e9]), **GOOD).verdict is Verdict.REFUTED
    row = {"A": [[0.0, 1.0]], "row_upper": [1e9]}
    assert claim(roots(**row), **GOOD).verdict is Verdict.REFUTED


def test_a_ray_that_rounding_allows_proves_nothing():
    # [[t, k], [k, 0]] forces k = 0, up to the root of any tolerance
    flat = SemidefiniteBlock([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    arrays = {"x": np.zeros(2), "ray": np.array([9e-9, 1.0])}
    unbounded = Result(status=Status.UNBOUNDED, certificate=Certificate("ray", arrays))
    report = sparseopt.check(roots(integer=None, blocks=[flat]), unbounded)
    assert report.verdict is Verdict.UNPROVEN


def test_a_curve_of_the_size_of_rounding_proves_nothing():
    # k <= |x|, of which rounding sees none where everything is multiplied by 5e-6
    cone = SecondOrderCone(np.eye(2))
    arrays = {"x": np.array([2.0, 1.0]), "ray": np.array([-1.0, 0.0]), "bend": np.zeros(2)}
    for size in (1.0, 5e-6):
        cross = -0.5 * size * np.eye(2).ravel()
        ray = size * arrays["ray"]
        problem = MISDP(c=[1.0, 0.0], cones=[cone])
        assert (
            claim(problem, **{**arrays, "ray": ray, "cross": cross}).verdict is not Verdict.VERIFIED
        )
    # ... nor where the matrices of the bend are large in another place
    diagonal = SemidefiniteBlock([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    flat = MISDP(c=[1.0, 0.0], blocks=[diagonal])
    bent = {"x": np.ones(2), "ray": np.array([-1.0, 0.0]), "bend": np.array([0.0, 1e12])}
    report = claim(flat, **bent, cross=np.array([-0.5, 0, 0, 0]))
    assert report.verdict is not Verdict.VERIFIED


@pytest.mark.thorough(after=1)
@each_engine
@pytest.mark.parametrize("seed", [2, 4])
def test_a_norm_has_a_least_value(seed, backend):
    """The nearest correlation matrix: there is a direction without end, and it costs."""
    n, random = 5, np.random.default_rng(seed)
    target = random.uniform(-1.0, 1.0, (n, n))
    model = MISDPBuilder()
    X, t = model.matrix(n), model.variable()
    for i in range(n):
        model.row((X[i, i], 1.0), lower=1.0, upper=1.0)
    away = [[(X[i, j], 1.0)] for i in range(n) for j in range(n)]
    model.cone([[(t, 1.0)], *away], constant=[0.0, *(-(target + target.T) / 2.0).ravel()])
    model.objective((t, 1.0))
    result = sparseopt.solve(model.build(), backend=backend, time_limit=20.0)
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)


def test_cones_as_matrices_hold_the_same_points():
    random = np.random.default_rng(3)
    for rotated, k in ((False, 1), (False, 2), (False, 4), (True, 2), (True, 3), (True, 5)):
        cone = SecondOrderCone(np.eye(k), rotated=rotated)
        matrix = with_cones_as_matrices(MISDP(c=np.ones(k), cones=[cone])).blocks[0]
        for _ in range(100):
            u = random.normal(size=k) * random.choice([0.3, 1.0], size=k)
            u[: 1 + rotated] += 1.0
            missed = max(0.0, -np.linalg.eigvalsh(matrix.matrix(u))[0])
            assert (missed > 1e-12) == (cone.violation(u) > 1e-12)
