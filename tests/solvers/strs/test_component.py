"""Sparse components from the data: elimination, its bounds, limits, and what is verified."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import first

import sparseopt
from sparseopt import Limit, Status, Verdict
from sparseopt.backend import Control
from sparseopt.checking.component.verifier import mixed_bounds
from sparseopt.errors import ProblemError
from sparseopt.generators import expression_modules, spiked_covariance
from sparseopt.params import SolveParams
from sparseopt.problems import STRS, SparseComponent
from sparseopt.solvers.strs.components.elimination import Outside, Products, ascend
from sparseopt.solvers.strs.settings import EliminationSettings
from sparseopt.testing.component import longest_image


def spiked(seed, n=40, D=25, spikes=5, d=3, size=1.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    X[:, :spikes] += size * rng.normal(size=(n, 1))
    return SparseComponent.from_data(X, d, kind="covariance")


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("size", [0.5, 1.5, 4.0])
def test_the_optimum_is_that_of_all_supports(seed, size):
    problem = spiked(seed, D=14, size=size)
    result = sparseopt.solve(problem)
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    assert result.objective == pytest.approx(longest_image(problem.X, 3), rel=1e-9)


def test_most_variables_are_eliminated_and_the_dense_problem_agrees():
    problem = spiked_covariance(seed=1, n=120, D=300, d=5)
    result = sparseopt.solve(problem)
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    assert len(result.certificate.arrays["kernel"]) < 20
    dense = sparseopt.solve(STRS(A=problem.X.T @ problem.X, d=5), backend="truncation")
    assert result.objective >= dense.objective * (1.0 - 1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
def test_modules_agree_with_the_dense_problem(seed):
    problem = expression_modules(seed=seed, n=40, D=150, d=4, modules=6, share=0.5)
    result = sparseopt.solve(problem)
    dense = sparseopt.solve(problem.as_strs())
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    assert result.objective == pytest.approx(dense.objective, rel=1e-9)


def test_scaling_and_permuting_columns_changes_nothing_else():
    problem = spiked(3)
    before = sparseopt.solve(problem)
    order = np.random.default_rng(0).permutation(25)
    after = sparseopt.solve(SparseComponent(1e-9 * problem.X[:, order], d=3))
    assert after.verdict is Verdict.VERIFIED
    assert after.objective == pytest.approx(1e-18 * before.objective, rel=1e-9)
    assert np.flatnonzero(after.x).tolist() == sorted(
        np.flatnonzero(np.isin(order, np.flatnonzero(before.x))).tolist()
    )


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.3, 3.0, 1e6]))
@settings(max_examples=40, deadline=None)
def test_mixed_bounds_hold_for_all_supports_with_others(seed, threshold):
    """Of the checker, and those of the solver are no smaller: what it states is verified."""
    rng = np.random.default_rng(seed)
    n, D, d = int(rng.integers(2, 8)), 8, int(rng.integers(1, 5))
    X = rng.normal(size=(n, D)) * rng.choice([0.1, 1.0, 2.0], D)
    inside = rng.random(D) < 0.4
    K, E = X[:, inside], X[:, ~inside]
    upper = np.zeros(d + 1)
    for k in range(1, min(d, K.shape[1]) + 1):
        upper[k] = longest_image(K, k)
    bounds = mixed_bounds(K, E, d, upper, threshold) if E.shape[1] else np.zeros(d + 1)
    for S in itertools.combinations(range(D), d):
        m = int((~inside[list(S)]).sum())
        if m:
            assert np.linalg.norm(X[:, S], 2) ** 2 <= bounds[m] * (1.0 + 1e-12)
    scale = 4.0
    outside = Outside(X / scale, d, EliminationSettings())
    outside.take_in(np.flatnonzero(inside))
    if d > 1:
        outside.products = Products.above(
            X / scale,
            outside.squares,
            threshold / scale**2,
            12,
            Control(SolveParams()),
            EliminationSettings(),
        )
    q, c = outside.parts()
    u = upper[::-1] / scale**2
    ours = scale**2 * ((u + q) / 2.0 + np.sqrt(((u - q) / 2.0) ** 2 + c))
    for m in np.flatnonzero(~np.isnan(ours)):
        assert bounds[m] <= ours[m] * (1.0 + 1e-12)


def test_products_in_blocks_and_above_a_raised_threshold_still_bound():
    problem = spiked(0, D=40)
    squares = problem.squares
    small = EliminationSettings(block=7, products=60)
    found = Products.above(problem.X, squares, 0.01, 5, Control(SolveParams()), small)
    assert found.threshold > 0.01
    nothing = np.zeros(40, dtype=bool)
    sums = found.sums(4, nothing, 1e-5)
    products = np.abs(problem.X.T @ problem.X)
    np.fill_diagonal(products, 0.0)
    largest = np.cumsum(np.sort(products, axis=1)[:, ::-1][:, :3], axis=1)
    assert (sums[:, 1:] >= largest).all()
    assert np.allclose(sums[:4, 1], largest[:4, 0], atol=1e-4)


def test_the_power_method_finds_a_support_and_its_value():
    problem = spiked(2, size=4.0)
    found = ascend(problem.X, problem.X[:, :2], 3, Control(SolveParams()))
    assert found.value == pytest.approx(np.linalg.norm(problem.X[:, found.support], 2) ** 2)
    assert set(found.support) <= set(range(5))


def test_a_kernel_without_room_leaves_a_bound_that_is_verified():
    problem = SparseComponent.from_data(np.random.default_rng(0).normal(size=(30, 60)), 4)
    result = sparseopt.solve(problem, options={"kernel": 8})
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.SLOW_PROGRESS)
    assert result.verdict is Verdict.VERIFIED
    assert result.bound >= sparseopt.solve(problem.as_strs(), check=False).objective
    assert any("kernel" in note for note in result.notes)


def test_a_time_limit_leaves_a_bound_that_is_verified():
    problem = spiked_covariance(n=60, D=2500, d=6)
    result = sparseopt.solve(problem, time_limit=1e-6)
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.TIME)
    assert result.verdict is Verdict.VERIFIED


def eliminated():
    """Return a problem of which most columns are eliminated, and its result."""
    problem = spiked(0, D=25, size=3.0)
    result = sparseopt.solve(problem)
    assert result.verdict is Verdict.VERIFIED
    assert len(result.certificate.arrays["kernel"]) < 12
    return problem, result


def with_arrays(result, **arrays):
    certificate = result.certificate
    kept = {key: value for key, value in {**certificate.arrays, **arrays}.items()}
    return result.with_changes(
        certificate=sparseopt.Certificate(certificate.kind, kept, certificate.values)
    )


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("calls", first(2, [1, 4, 2, 3, 5, 6, 7, 8]))
def test_a_search_that_is_stopped_at_any_time_leaves_a_bound_that_is_verified(calls):
    """The trees of smaller supports may prove less than the squares alone when they are stopped."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 300)) + 0.7 * rng.normal(size=(40, 300))
    problem = SparseComponent.from_data(X, 12, kind="correlation")
    left = iter(range(calls, 0, -1))
    result = sparseopt.solve(problem, on_progress=lambda _: next(left, 0) > 0, time_limit=20.0)
    assert result.status in (Status.OPTIMAL, Status.FEASIBLE)
    assert result.verdict is Verdict.VERIFIED


def test_a_kernel_without_a_variable_that_it_needs_is_refuted():
    problem, result = eliminated()
    kernel = result.certificate.arrays["kernel"]
    other = np.setdiff1d(np.arange(25), kernel)[: len(kernel)]
    for wrong in (kernel[1:], other, kernel[::-1], np.append(kernel, 25)):
        assert sparseopt.check(problem, with_arrays(result, kernel=wrong)).verdict is (
            Verdict.REFUTED
        )


def test_bounds_that_leaves_do_not_prove_are_refuted():
    problem, result = eliminated()
    for change in (
        {"bounds": 0.9 * result.certificate.arrays["bounds"]},
        {
            "sizes": result.certificate.arrays["sizes"][:-1],
            "bounds": result.certificate.arrays["bounds"][:-1],
        },
        {"threshold": np.array([np.nan])},
        {"threshold": np.array([-1.0])},
    ):
        assert sparseopt.check(problem, with_arrays(result, **change)).verdict is Verdict.REFUTED


def test_any_threshold_proves_or_is_refuted_and_never_hides_a_product():
    """A threshold only says what is kept: a lower bound than the optimum is never verified."""
    problem, result = eliminated()
    lie = result.with_changes(objective=0.98 * result.objective, bound=0.98 * result.objective)
    for threshold in (0.0, 0.01, 1.0, 100.0):
        arrays = {"threshold": np.array([threshold])}
        assert sparseopt.check(problem, with_arrays(lie, **arrays)).verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    ("X", "d", "says"),
    [
        (np.ones((2, 3)), 4, "from 1 to 3"),
        (np.ones((2, 3)), 0, "from 1 to 3"),
        (np.ones((2, 3)), True, "integer"),
        (np.full((2, 3), np.nan), 1, "finite"),
        (np.full((2, 3), 1e200), 1, "overflow"),
    ],
)
def test_data_that_make_no_problem_are_named(X, d, says):
    with pytest.raises(ProblemError, match=says):
        SparseComponent(X, d=d)
