"""The CVXPY solver: Clarabel is the oracle without integers, enumeration with them."""

import functools
import itertools

import numpy as np
import pytest

import sparseopt
from sparseopt import ParamError, ProblemError, UnsupportedProblem, Verdict
from sparseopt.problems import MISDP, MISDPBuilder

cp = pytest.importorskip("cvxpy", reason="CVXPY is not installed: sparseopt[cvxpy]")
pytest.importorskip("clarabel", reason="Clarabel is not installed: sparseopt[cvxpy]")

ENGINES = [
    name
    for name in ("misdp-bnb", "misdp-oa")
    if name in {info.name for info in sparseopt.backends() if info.available}
]


@pytest.fixture(params=ENGINES)
def solver(request):
    return sparseopt.cvxpy.MISDP(backend=request.param)


def continuous(seed):
    """Matrix variable, LMI, second-order cones, equations, bounds."""
    rng = np.random.default_rng(seed)
    C = rng.normal(size=(3, 3))
    X, u = cp.Variable((3, 3), PSD=True), cp.Variable(2)
    rows = [
        cp.trace(X) == 1,
        cp.norm(u) <= X[0, 0] + 1,
        u[0] + 2 * u[1] >= 0.3,
        cp.bmat([[X[1, 1] + 1, u[0]], [u[0], 2]]) >> 0,
        u <= 3,
    ]
    cost = cp.trace((C + C.T) @ X) + cp.sum_squares(u - rng.normal(size=2)) + 3
    return cp.Problem(cp.Minimize(cost), rows), rows


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("seed", range(3))
def test_without_integers_values_and_duals_are_those_of_clarabel(seed, solver):
    problem, rows = continuous(seed)
    best = problem.solve(solver=cp.CLARABEL)
    duals = [row.dual_value for row in rows]
    assert problem.solve(solver=solver) == pytest.approx(best, rel=1e-5, abs=1e-6)
    assert problem.status == cp.OPTIMAL
    assert max(np.max(row.violation()) for row in rows) <= 1e-6
    for row, dual in zip(rows, duals, strict=True):
        np.testing.assert_allclose(
            np.hstack([np.ravel(part) for part in _parts(row.dual_value)]),
            np.hstack([np.ravel(part) for part in _parts(dual)]),
            atol=1e-3,
        )


def _parts(dual):
    return dual if isinstance(dual, list) else [dual]


def integers(seed):
    """Booleans choose rank-one terms of an LMI, an integer moves a matrix variable."""
    rng = np.random.default_rng(seed)
    V = rng.normal(size=(4, 3))
    z, k = cp.Variable(4, boolean=True), cp.Variable(integer=True)
    X, w = cp.Variable((2, 2), symmetric=True), cp.Variable(4)
    rows = [
        X >> 0,
        cp.trace(X) == 3,
        X[0, 1] == k / 2 - 0.2,
        k >= -3,
        k <= 3,
        sum(w[i] * np.outer(V[i], V[i]) for i in range(4)) << (1 + X[0, 0]) * np.eye(3),
        w >= 0,
        w <= 2 * z,
        cp.norm(w) <= 2,
        cp.sum(z) <= 2,
    ]
    cost = rng.uniform(0.5, 1.0, 4) @ w - 0.3 * cp.sum(z) + 0.2 * k - 0.1 * X[1, 1]
    return cp.Problem(cp.Maximize(cost), rows), z, k


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(2))
def test_with_integers_the_optimum_is_that_of_enumeration(seed, solver):
    problem, z, _ = integers(seed)
    best = _enumerated(seed)
    assert problem.solve(solver=solver) == pytest.approx(best, rel=1e-5)
    assert problem.status == cp.OPTIMAL
    np.testing.assert_allclose(z.value, np.rint(z.value), atol=1e-9)
    result = problem.solver_stats.extra_stats
    assert result.verdict is not Verdict.REFUTED, result.check_messages
    assert all(row.dual_value is None for row in problem.constraints)


@functools.cache
def _enumerated(seed):
    """Return the optimum over all values of the integers, found one after the other."""
    problem, z, k = integers(seed)
    free, chosen = cp.Parameter(4), cp.Parameter()
    fixed = cp.Problem(problem.objective, [*problem.constraints, z == free, k == chosen])
    relaxed = _without_integers(fixed, z, k)
    best = -np.inf
    for bits in itertools.product((0.0, 1.0), repeat=4):
        if sum(bits) > 2:
            continue
        free.value = np.array(bits)
        for value in range(-3, 4):
            chosen.value = float(value)
            relaxed.solve(solver=cp.CLARABEL)
            if relaxed.status == cp.OPTIMAL:
                best = max(best, float(relaxed.value))
    return best


def _without_integers(problem, z, k):
    """The same over continuous copies of z and k, which equations fix."""
    copies = {z.id: cp.Variable(4), k.id: cp.Variable()}
    return cp.Problem(
        _swap(problem.objective, copies), [_swap(row, copies) for row in problem.constraints]
    )


def _swap(expression, copies):
    if isinstance(expression, cp.Variable):
        return copies.get(expression.id, expression)
    if not getattr(expression, "args", None):
        return expression
    return expression.copy([_swap(part, copies) for part in expression.args])


def test_dual_values_with_the_integers_fixed(solver):
    x, k = cp.Variable(), cp.Variable(integer=True)
    row = x + 2 * k <= 7.5
    problem = cp.Problem(cp.Maximize(x + 10 * k), [row, x >= 0, k <= 3])
    assert problem.solve(solver=solver, fixed_duals=True) == pytest.approx(31.5)
    assert row.dual_value == pytest.approx(1.0, abs=1e-6)


def test_infeasible_is_told(solver):
    X, k = cp.Variable((2, 2), PSD=True), cp.Variable(integer=True)
    problem = cp.Problem(cp.Minimize(k), [cp.trace(X) <= 1, X[0, 1] == k, k >= 1, k <= 5])
    problem.solve(solver=solver)
    assert problem.status == cp.INFEASIBLE
    assert k.value is None


def test_unbounded_is_told(solver):
    X, k = cp.Variable((2, 2), PSD=True), cp.Variable(boolean=True)
    problem = cp.Problem(cp.Maximize(X[0, 0] + k), [X[0, 1] == k / 2])
    problem.solve(solver=solver, time_limit=10)
    assert problem.status == cp.UNBOUNDED


def test_bounds_that_cross_are_infeasible_and_no_error(solver):
    k = cp.Variable(2, integer=True)
    problem = cp.Problem(cp.Minimize(cp.sum(k)), [k >= 3, k <= 2])
    problem.solve(solver=solver)
    assert problem.status == cp.INFEASIBLE


def test_a_norm_of_a_matrix_has_a_least_value(solver):
    """The nearest correlation matrix, whose only direction without an end is the norm's."""
    target = np.random.default_rng(2).uniform(-1.0, 1.0, (5, 5))
    X = cp.Variable((5, 5), PSD=True)
    problem = cp.Problem(
        cp.Minimize(cp.norm(X - (target + target.T) / 2, "fro")), [cp.diag(X) == 1]
    )
    best = problem.solve(solver=cp.CLARABEL)
    assert problem.solve(solver=solver, time_limit=20) == pytest.approx(best, rel=1e-6)
    assert problem.solver_stats.extra_stats.verdict is Verdict.VERIFIED


def test_complex_matrices_are_taken(solver):
    H, up = cp.Variable((2, 2), hermitian=True), cp.Variable(boolean=True)
    rows = [H >> 0, cp.imag(H[0, 1]) == 2 - up, H[0, 0] == 1]
    problem = cp.Problem(cp.Minimize(cp.real(cp.trace(H)) + 2 * up), rows)
    # H = [[1, (2 - up) i], [., (2 - up)^2]]: 1 + 4, or 1 + 1 + 2.
    assert problem.solve(solver=solver) == pytest.approx(4.0, abs=1e-6)
    np.testing.assert_allclose(H.value, [[1, 1j], [-1j, 1]], atol=1e-5)


@pytest.mark.thorough
def test_parameters_change_without_a_new_translation():
    solver = sparseopt.cvxpy.MISDP(backend="misdp-bnb")
    random = np.random.default_rng(0)
    returns, spread = random.uniform(0.0, 1.0, 5), random.normal(size=(5, 8))
    weight, held = cp.Variable(5), cp.Variable(5, boolean=True)
    fear = cp.Parameter(nonneg=True)
    rows = [weight >= 0, cp.sum(weight) == 1, weight <= held, cp.sum(held) <= 2]
    goal = cp.Maximize(returns @ weight - fear * cp.norm(spread.T @ weight))
    problem = cp.Problem(goal, rows)
    assert problem.is_dcp(dpp=True)
    for value in (0.0, 0.3, 2.0):
        fear.value = value
        best = -np.inf
        for pair in itertools.combinations(range(5), 2):
            allowed = np.isin(np.arange(5), pair).astype(float)
            fixed = cp.Problem(goal, [weight >= 0, cp.sum(weight) == 1, weight <= allowed])
            best = max(best, fixed.solve(solver=cp.CLARABEL))
        assert problem.solve(solver=solver) == pytest.approx(best, rel=1e-6)


def sensors(count=14, chosen=7):
    rows = np.random.default_rng(0).normal(size=(count, 6))
    z = cp.Variable(count, boolean=True)
    information = sum(z[i] * np.outer(rows[i], rows[i]) for i in range(count))
    return cp.Problem(cp.Maximize(cp.lambda_min(information)), [cp.sum(z) == chosen]), z


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
def test_a_limit_gives_what_is_known_and_values_are_a_warm_start():
    problem, z = sensors()
    short = {"backend": "misdp-bnb", "options": {"dives": 0}, "node_limit": 1}
    problem.solve(solver=sparseopt.cvxpy.MISDP(**short))
    assert problem.status == cp.USER_LIMIT
    cold = problem.value
    assert z.value.sum() == pytest.approx(7)
    best = problem.solve(solver=sparseopt.cvxpy.MISDP(backend="misdp-bnb"))
    assert best > cold + 0.1
    # The values that the variables have now are where the next search begins.
    warm = problem.solve(solver=sparseopt.cvxpy.MISDP(**short))
    assert (problem.status, warm) == (cp.USER_LIMIT, pytest.approx(best, rel=1e-6))
    off = problem.solve(solver=sparseopt.cvxpy.MISDP(**short), warm_start=False)
    assert off == pytest.approx(cold, rel=1e-6)


@pytest.mark.thorough
def test_where_no_choice_has_an_interior_there_is_an_optimum(capfd):
    """Four rows of six entries leave a singular matrix; Clarabel's iterates diverge there."""
    problem, _ = sensors(8, 4)
    value = problem.solve(solver=sparseopt.cvxpy.MISDP(backend="misdp-bnb"))
    assert (problem.status, value) == (cp.OPTIMAL, pytest.approx(0.0, abs=1e-6))
    assert problem.solver_stats.extra_stats.verdict is Verdict.VERIFIED
    # A panic of Rust writes a page to standard error.
    assert capfd.readouterr().err == ""


def test_a_limit_before_any_point_is_an_error():
    problem, z = sensors()
    with pytest.raises(cp.SolverError):
        problem.solve(solver=sparseopt.cvxpy.MISDP(), time_limit=1e-6)
    assert z.value is None


@pytest.mark.thorough(after=1)
def test_verbose_tells_how_it_goes_and_quiet_says_nothing(solver, capfd):
    problem, _ = sensors(9, 7)
    problem.solve(solver=solver)
    assert capfd.readouterr() == ("", "")
    problem.solve(solver=solver, verbose=True)
    assert f"{solver.backend}: optimal" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("cone", "goal"),
    [
        ("ExpCone", cp.Minimize(cp.exp(cp.Variable()))),
        ("ExpCone", cp.Maximize(cp.log_det(cp.Variable((2, 2), PSD=True)))),
    ],
    ids=["exp", "log_det"],
)
def test_other_cones_are_named(solver, cone, goal):
    with pytest.raises(cp.SolverError, match="SPARSEOPT_MISDP") as caught:
        cp.Problem(goal).solve(solver=solver)
    if hasattr(super(sparseopt.cvxpy.MISDP, solver), "can_solve"):
        assert cone in str(caught.value)
        assert "second-order cones" in str(caught.value)


@pytest.mark.parametrize("sense", [cp.Minimize, cp.Maximize])
def test_translation_there_and_back(sense):
    X, k = cp.Variable((2, 2), symmetric=True), cp.Variable(2, integer=True)
    u = cp.Variable(2)
    rows = [X >> 0, cp.trace(X) == 2, X[0, 1] == k[0] / 3, k >= -2, k <= 2, cp.norm(u) <= 1]
    sign = 1 if sense is cp.Minimize else -1
    problem = cp.Problem(sense(sign * (k[0] + X[0, 0] + u[0] + 4)), rows)
    ours = sparseopt.cvxpy.from_cvxpy(problem)
    assert isinstance(ours, MISDP)
    assert ours.sense == ("min" if sense is cp.Minimize else "max")
    assert (ours.size["integers"], ours.size["blocks"], ours.size["cones"]) == (2, 1, 1)
    values = [problem.solve(solver=sparseopt.cvxpy.MISDP(backend=ENGINES[0]))]
    values.append(sparseopt.solve(ours, backend=ENGINES[0]).objective)
    back = sparseopt.cvxpy.to_cvxpy(ours)
    values.append(back.solve(solver=sparseopt.cvxpy.MISDP(backend=ENGINES[0])))
    np.testing.assert_allclose(values, values[0], rtol=1e-6)
    # k = -2, X = [[a, -2/3], [-2/3, 2 - a]] with the least a, u = (-1, 0).
    least = 1 - np.sqrt(1 - 4 / 9)
    assert values[0] == pytest.approx(sign * (-2 + least - 1 + 4), rel=1e-6)


def test_rotated_cones_and_bounds_go_to_cvxpy():
    model = MISDPBuilder("max")
    x = model.variables(3, lower=0.0, upper=[4.0, 0.5, np.inf])
    model.cone([[(x[0], 1.0)], [(x[1], 1.0)], [(x[2], 1.0)]], rotated=True)
    model.row((x, [1.0, 1.0, 0.0]), lower=-1.0, upper=3.0)
    model.objective((x[2], 1.0))
    problem = sparseopt.cvxpy.to_cvxpy(model.build())
    # 2 x0 x1 >= x2^2 at x0 = 2.5, x1 = 0.5.
    assert problem.solve(solver=cp.CLARABEL) == pytest.approx(np.sqrt(2.5), rel=1e-6)


def test_what_cannot_be_said_is_refused():
    model = MISDPBuilder()
    X = model.matrix(2, rank_one=True)
    model.objective((X[0, 0], 1.0))
    with pytest.raises(UnsupportedProblem, match="rank one"):
        sparseopt.cvxpy.to_cvxpy(model.build())
    x = cp.Variable(2)
    with pytest.raises(ProblemError, match="no mixed-integer semidefinite program"):
        sparseopt.cvxpy.from_cvxpy(cp.Problem(cp.Minimize(cp.sum(cp.exp(x)))))
    with pytest.raises(ProblemError, match="DCP"):
        sparseopt.cvxpy.from_cvxpy(cp.Problem(cp.Minimize(-cp.norm(x))))
    with pytest.raises(ParamError, match="'tme_limit'"):
        sparseopt.cvxpy.MISDP(tme_limit=3.0)
    with pytest.raises(ParamError, match="'lam'"):
        sparseopt.cvxpy.MISDP(lam=3.0)
