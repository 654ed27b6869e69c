"""Points whose objective value is what rounding leaves of it, and points that are too long."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from second_opinion import second_opinion

import sparseopt
from sparseopt import Limit, Result, Status, exact
from sparseopt.checking.cancelling import combination, square
from sparseopt.checking.verifiers import evaluate
from sparseopt.problems import (
    STRS,
    BudgetTables,
    Candidates,
    EmbeddingFit,
    KernelSelection,
    L0GraphicalModel,
    ParametricLP,
    RobustSubspace,
    SparseComponent,
    SparseLogisticRegression,
    SparseRegression,
    STRSPath,
)


def verdict(problem, result):
    return sparseopt.check(problem, result).verdict.value


def test_a_sum_that_cancels_in_double_precision_is_known_in_106_bits():
    columns, less = np.array([[2.0**54, 1.0, -(2.0**54)]]), np.array([0.5])
    values, errors = combination(columns, np.ones(3), less)
    assert errors[0] > 1.0
    assert abs(values[0] - 0.5) <= errors[0]
    values, errors = combination(columns, np.ones(3), less, precise=True)
    assert values[0] == 0.5
    assert errors[0] < 1e-12
    length, moved = square(values, errors)
    assert length == 0.25
    assert 0.0 < moved < 1e-12


SPHERES = {
    "spheres": lambda: STRS(np.ones((4, 4)) + np.diag([0.0, 0.1, 0.2, 0.3]), d=2),
    "components": lambda: SparseComponent(np.random.default_rng(0).normal(size=(8, 5)), d=2),
    "kernels": lambda: KernelSelection(
        *np.random.default_rng(1).normal(size=(2, 9, 4)), "linear", d=2, lam=0.0
    ),
}


def best_of_all(problem):
    """Return a unit vector with all nonzeros that is better than the optimum."""
    if isinstance(problem, SparseComponent):
        return np.linalg.svd(problem.X)[2][0]
    if isinstance(problem, STRS):
        return np.linalg.eigh(problem.A)[1][:, -1]
    slope = problem.gradient(np.zeros(4))
    return slope / np.linalg.norm(slope)


@pytest.mark.parametrize("kind", SPHERES)
def test_long_points_have_no_more_nonzeros(kind):
    """A count off by 2 was within the tolerance of a point of length 10^9."""
    problem = SPHERES[kind]()
    result = sparseopt.solve(problem)
    dense = best_of_all(problem)
    value = problem.objective(dense)
    assert value > 1.01 * result.objective
    long = result.with_changes(x=1e9 * dense, objective=value, bound=value, trace=())
    assert verdict(problem, long) == "refuted"


def test_long_coefficients_of_graphs_have_no_more_nonzeros():
    X = np.random.default_rng(0).normal(size=(20, 4)) * [1.0, 1.0, 1.0, 1e-9]
    problem = L0GraphicalModel(X, ~np.eye(4, dtype=bool), budget=2)
    x = np.zeros(problem.total)
    x[[0, 1, 2]] = 0.1, 0.1, 1e8
    assert evaluate(problem, x, None).violation == math.inf


def test_one_more_of_a_million_counts_is_one_too_many():
    """Relative to 1 + max |x| a count off by 1 was within the tolerance of 10^-6."""
    problem = BudgetTables([-np.arange(1_200_001.0)], budget=1_100_000)
    assert evaluate(problem, np.array([1_100_000.0]), None).violation == 0.0
    assert evaluate(problem, np.array([1_100_001.0]), None).violation > 1.0


def test_residuals_of_best_subsets_do_not_cancel():
    """Xb = 2 y exactly, so that the value is 3; in double precision it is 0."""
    c, y = np.array([1.0, 1, -1, 1, -1, 1]), np.array([1.0, -1, 1, 1, -1, -1])
    problem = SparseRegression(np.column_stack([c, y, c, y]), y, k=4, bound=2.0**61)
    b = np.array([2.0**54, 1.0, -(2.0**54), 1.0])
    assert evaluate(problem, b, None).value == 3.0
    assert verdict(problem, Result(status=Status.OPTIMAL, x=b, objective=0.0, bound=0.0)) != (
        "verified"
    )


def test_margins_of_logistic_regressions_do_not_cancel():
    y = np.array([1.0, 1, -1, 1, -1, -1, 1, -1])
    c, g = np.array([1.0, 1, -1, 1, -1, 1, 1, 1]), np.array([1.0, -1, -1, 1, 1, -1, 1, -1])
    X = np.column_stack([c, g, c, g])
    problem = SparseLogisticRegression(X, y, k=4, bound=2.0**61, fit_intercept=False)
    b = np.array([2.0**54, 1.0, -(2.0**54), math.log(3.0)])
    true = float(np.logaddexp(0.0, -y * g * (1.0 + math.log(3.0))).sum())
    assert evaluate(problem, b, None).value == pytest.approx(true, rel=1e-12)
    claim = {"status": Status.FEASIBLE, "limit": Limit.TIME, "bound": 0.0}
    assert verdict(problem, Result(x=b, objective=problem.objective(b), **claim)) == "unproven"


@pytest.mark.parametrize("lam", [1.0, (2.0, 1.0)])
def test_costs_of_linear_programs_do_not_cancel(lam):
    """The costs of a point are -1, and 0 in double precision; the data are all 1."""
    problem = ParametricLP(
        c=[1.0, -1, -1], c_bar=[0.0] * 3, A=[[1.0, 0, -1], [0, 1, 0]], b=[0.0, 1], b_bar=[0.0, 0]
    )
    result, x = sparseopt.solve(problem, lam=lam), np.array([2.0**54, 1.0, 2.0**54])
    assert verdict(problem, result) == "verified"
    changes = {"x": x, "trace": ()}
    if result.path is not None:
        theta = np.array(result.path.theta)
        theta[-1] = x
        changes["path"] = replace(result.path, theta=theta)
    assert verdict(problem, result.with_changes(**changes)) == "unproven"


def test_atoms_far_away_do_not_cancel():
    """Three weights whose sum is 1 leave 11.5 of atoms at 10^17."""
    far, share = (
        float.fromhex(number) for number in ("0x1.44aa4a90fc830p+57", "0x1.ed676b7034a1cp-3")
    )
    problem = EmbeddingFit(np.array([[far], [-2.0 * (share * far)], [0.0]]), [0.0])
    x = np.array([share, 0.5, 0.5 - share])
    assert evaluate(problem, x, None).value == pytest.approx(11.520907592578398, rel=1e-9)
    assert verdict(problem, Result(status=Status.OPTIMAL, x=x, objective=0.0, bound=0.0)) == (
        "unproven"
    )


@pytest.mark.parametrize("far", [1e14, 3e15])
def test_a_centre_far_along_the_subspace_leaves_no_digits(far):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 2))
    X[:30, 1] = 0.3 * X[:30, 0] + 0.5
    problem = RobustSubspace(X, 1, centre="estimate")
    result = sparseopt.solve(problem)
    x = np.array(result.x)
    x[:, 1] += far * x[:, 0]
    claim = {"status": Status.FEASIBLE, "limit": Limit.TIME, "trace": ()}
    value = evaluate(problem, x, None).value
    false = result.with_changes(x=x, objective=value, bound=0.9 * result.bound, **claim)
    assert verdict(problem, false) == "unproven"


def test_coefficients_of_ising_models_do_not_cancel():
    rng, n = np.random.default_rng(0), 120
    g, c = rng.choice([-1.0, 1.0], (2, n))
    y = np.where(rng.random(n) < 0.7, g, -g)
    candidates = Candidates(ptr=[0, 5, 5, 5, 5, 5, 5], index=[1, 2, 3, 4, 5])
    problem = L0GraphicalModel(np.column_stack([y, c, g, c, g, c]), candidates, 5, loss="ising")
    result = sparseopt.solve(problem)
    x = np.array(result.x)
    x[[0, 2]] += 2.0**55, -(2.0**55)
    assert evaluate(problem, x, None).rounding > 1.0
    assert verdict(problem, result.with_changes(x=x, trace=())) != "verified"


def test_a_bound_of_zero_holds_for_any_sum_of_distances():
    """One far point left a proof of -13.9 only, and 0 was refuted."""
    X = np.random.default_rng(3).normal(size=(8, 3))
    X[0] *= 1e8
    result = sparseopt.solve(RobustSubspace(X, 2))
    assert result.status is not Status.IMPRECISE
    assert result.verdict.value == "verified"


def test_saturated_residuals_of_uneven_weights_are_balanced():
    """Entries too coarse for what rounding left cost 1e-19 times an intercept of 2e14."""
    X = 1e8 * np.array([[-0.946], [1.645], [0.428], [-0.751], [-1.1], [1.148], [-1.383]])
    weights = [1e4, 1e2, 1e-4, 1e-1, 1e-1, 1.0, 1e3]
    result = sparseopt.solve(
        SparseLogisticRegression(
            X, [1, 1, -1, -1, 1, 1, -1], k=1, ridge=1e-8, sample_weights=weights
        )
    )
    assert result.status in (Status.OPTIMAL, Status.FEASIBLE)
    assert result.verdict.value == "verified"


def test_a_size_is_asked_of_problems_with_sizes_only():
    problem = SPHERES["components"]()
    result = sparseopt.solve(problem)
    assert verdict(problem, result) == "verified"
    other = result.with_changes(params=replace(result.params, size=1))
    assert verdict(problem, other) == "refuted"


def test_several_sizes_are_proven_exactly_by_a_path_only(tmp_path):
    B = np.random.default_rng(0).normal(size=(5, 5))
    problem = STRSPath(B + B.T, d_max=3)
    result = sparseopt.solve(problem)
    arrays = {
        name.removesuffix("_3"): array
        for name, array in result.certificate.arrays.items()
        if name.endswith("_3")
    }
    proof = replace(result.certificate, kind="leaves", arrays=arrays)
    sparseopt.save(problem, tmp_path / "p.npz")
    for stated, expected in (
        (result, "proven"),
        (result.with_changes(path=None, certificate=proof), "refuted"),
    ):
        sparseopt.save(stated, tmp_path / "r.json")
        assert exact.check(tmp_path / "p.npz", tmp_path / "r.json")[0] == expected


def both(problem, result, folder):
    """Return what the checker says, and the program in rational arithmetic."""
    result = result.with_changes(kind=problem.kind, problem=problem)
    return verdict(problem, result), second_opinion(folder, problem, result)[0]


@pytest.fixture
def pairs():
    """Two pairs of variables whose values are 1 and 1.5, of entries of 10^15."""
    far = 2.0**50
    A = np.diag([1.0, 1.0, 1.5, 1.5]) - far * np.eye(4)
    A[[0, 1, 2, 3], [1, 0, 3, 2]] = far
    return A


@pytest.mark.parametrize(
    ("best", "objective", "bound", "expected"),
    [
        (True, 1.5, 1.5, ("verified", "proven")),
        (True, 2.0, 2.0, ("unproven", "unproven")),
        (True, 1.0, 1.5, ("unproven", "unproven")),
        (False, 1.5, 1.5, ("unproven", "unproven")),
        (False, 1.0, 1.0, ("unproven", "unproven")),
        (False, 1.0, 1.5, ("unproven", "unproven")),
    ],
)
def test_values_on_spheres_do_not_cancel(pairs, best, objective, bound, expected, tmp_path):
    """1e-15 of the terms was allowed for rounding, which is more than the values are."""
    problem = STRS(pairs, d=2)
    x = np.array([0.0, 0.0, 1.0, 1.0] if best else [1.0, 1.0, 0.0, 0.0]) / math.sqrt(2.0)
    claim = sparseopt.solve(problem).with_changes(x=x, objective=objective, bound=bound, trace=())
    assert both(problem, claim, tmp_path) == expected


@pytest.mark.parametrize("off", [-0.5, 0.0, 0.5])
def test_values_of_sizes_do_not_cancel(pairs, off, tmp_path):
    problem = STRSPath(pairs, d_max=2)
    result = sparseopt.solve(problem)
    x = result.path.at(2)
    objective, bound = result.path.objective.copy(), result.path.bound.copy()
    objective[1] = bound[1] = evaluate(problem, x, 2).value + off
    path = replace(result.path, objective=objective, bound=bound)
    claim = result.with_changes(
        path=path, objective=float(objective[1]), bound=float(bound[1]), trace=()
    )
    expected = ("unproven", "unproven") if off else ("verified", "proven")
    assert both(problem, claim, tmp_path) == expected


def test_linear_terms_on_spheres_do_not_cancel():
    """The last digits of the length of x are all that is left beside 1."""
    far, x = 2.0**50, np.array([0.6, 0.8])
    longer = sum(Fraction(v) ** 2 for v in x) - 1
    problem = STRS((1.0 - far) * np.eye(2), far * x, d=2)
    true = 1.0 + float(Fraction(far) * longer / 2)
    assert evaluate(problem, x, None).value == pytest.approx(true, rel=1e-12)
    assert abs(true - 1.0) > 1e-3


@pytest.mark.parametrize(
    ("objective", "expected"),
    [
        (0.0, ("verified", "proven")),
        (1.0, ("unproven", "unproven")),
        (30.0, ("unproven", "unproven")),
    ],
)
def test_images_of_components_do_not_cancel(objective, expected, tmp_path):
    problem = SparseComponent([[1e8, 1e8, 1.0], [1e8, 1e8, 0.0], [1.0, 1.0, 2.0]], d=2)
    result, x = sparseopt.solve(problem), np.array([1.0, -1.0, 0.0]) / math.sqrt(2.0)
    claim = {"status": Status.FEASIBLE, "limit": Limit.TIME, "trace": ()}
    assert both(problem, result.with_changes(x=x, objective=objective, **claim), tmp_path) == (
        expected
    )


@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
def test_the_weight_of_a_variance_of_zero_is_no_unit(kernel, tmp_path):
    """Of one variable the samples have a value each, so that its variance is 0."""
    x, y = np.random.default_rng(0).normal(size=(2, 9, 4))
    x[:, 0], y[:, 0] = 0.0, 1.0
    problem = KernelSelection(x, y, kernel, d=1, lam=1e15)
    result = sparseopt.solve(problem)
    assert result.objective == pytest.approx(evaluate(problem, result.x, None).value, rel=1e-9)
    assert result.verdict.value != "refuted"
    for off in (-6.6, -0.1, 0.1, 6.6):
        changes = {"objective": result.objective + off, "bound": result.bound + off, "trace": ()}
        found = both(problem, result.with_changes(**changes), tmp_path)
        assert found[0] != "verified"
        assert found[1] != "proven"


@pytest.mark.parametrize("lam", [1e4, 1e12, 1e15])
def test_a_bound_on_rounded_variances_proves_nothing(lam):
    """Two columns add up to a variance of 0, which their covariance shows up to rounding only."""
    x, y = np.random.default_rng(0).normal(size=(2, 8, 4))
    x[:, :2], y[:, 0] = 0.0, [0.0, 1.0] * 4
    y[:, 1] = 1.0 - y[:, 0]
    problem = KernelSelection(x, y, "linear", d=2, lam=lam)
    result = sparseopt.solve(problem)
    assert result.verdict.value == ("verified" if lam < 1e5 else "unproven")


@pytest.mark.parametrize("off", [-90.0, 1e-3, 90.0])
def test_objectives_at_knots_are_measured_by_what_is_there(off, tmp_path):
    """The objective is 2 at lam = 1, and 10^14 where the segment ends: 1e-9 of that was allowed."""
    problem = ParametricLP(
        c=[1.0, 1.0, -1e14], c_bar=[1.0, -1.0, 1.0], A=np.eye(3), b=np.ones(3), b_bar=np.zeros(3)
    )
    result = sparseopt.solve(problem)
    assert both(problem, result, tmp_path) == ("verified", "proven")
    objective = result.path.objective.copy()
    assert (result.path.low[1], objective[1, 0]) == (1.0, 2.0)
    objective[1, 0] += off
    false = result.with_changes(path=replace(result.path, objective=objective), trace=())
    found = both(problem, false, tmp_path)
    assert found[0] == "unproven"
    assert found[1] == ("refuted" if abs(off) > 1.0 else "unproven")


LARGE_LOSSES = {
    "one": [[2.0**53, 0.0]] + [[3.0, 2.0, 1.5]] * 9,
    "cancelling": [[2.0**53, 2.0**53 - 1.0], [-(2.0**53)]] + [[3.0, 2.0, 1.5]] * 3,
    "a gap": [[2.0**53, 2.0**53 - 1.0, 2.0**53 - 4.0], [-(2.0**53)]] + [[3.0, 2.0, 1.5]] * 3,
}


@pytest.mark.parametrize("kind", LARGE_LOSSES)
@pytest.mark.parametrize("off", [-5.5, 1e-3, 0.5])
@pytest.mark.parametrize("moved", ["both", "bound"])
def test_budgets_are_measured_by_what_they_leave(kind, off, moved, tmp_path):
    """1e-16 of the largest loss was allowed at each budget, also where it is gone or cancels."""
    problem = BudgetTables(LARGE_LOSSES[kind], budget=5)
    result = sparseopt.solve(problem)
    assert both(problem, result, tmp_path) == ("verified", "proven")
    K, path = 3, result.path
    assert abs(path.objective[K]) < 30.0
    objective, bound = path.objective.copy(), path.bound.copy()
    objective[K] += off if moved == "both" else 0.0
    bound[K] += off if moved == "both" else abs(off)
    path = replace(path, objective=objective, bound=bound)
    found = both(problem, result.with_changes(path=path, trace=()), tmp_path)
    assert found[0] != "verified"
    assert found[1] != "proven"
