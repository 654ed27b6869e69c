"""Sparse components that are located by bounds of smaller supports, and what is verified."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparseopt
from sparseopt import Limit, Status, Verdict, exact
from sparseopt.problems import SparseComponent
from sparseopt.proofs.large_loadings import Loadings
from sparseopt.testing.component import longest_image


def modules(seed, D=24, d=5, n=30, count=4):
    """Modules of columns of a common factor, each with its own noise."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(n, count))
    noise = rng.uniform(0.15, 1.5, D) * rng.normal(size=(n, D))
    return SparseComponent.from_data(factors[:, np.arange(D) % count] + noise, d)


def located(seed=0, D=24, kernel=12):
    problem = modules(seed, D)
    result = sparseopt.solve(problem, options={"kernel": kernel})
    assert result.certificate.kind == "anchor-leaves"
    return problem, result


def loadings_of(X, margin=1e-12):
    products = np.abs(X.T @ X)
    squares = np.diagonal(products).copy()
    np.fill_diagonal(products, 0.0)
    largest = np.sort(products, axis=1)[:, ::-1][:, : X.shape[1] - 1]
    return Loadings(X, squares, largest, margin, 1000)


@pytest.mark.thorough
@given(st.integers(0, 100_000), st.sampled_from([0.0, 0.5, 0.9, 1.0]))
@settings(max_examples=60, deadline=None)
def test_candidates_hold_every_support_that_exceeds_a_target(seed, share):
    rng = np.random.default_rng(seed)
    n, D, k = int(rng.integers(1, 7)), 9, int(rng.integers(2, 5))
    X = rng.normal(size=(n, 3)) @ rng.normal(size=(3, D)) if rng.random() < 0.3 else None
    X = rng.normal(size=(n, D)) * rng.choice([0.0, 0.1, 1.0, 2.0], D) if X is None else X
    X += rng.normal(size=(n, 1)) * rng.choice([0.0, 1.0, -3.0], D)
    values = {S: np.linalg.norm(X[:, list(S)], 2) ** 2 for S in itertools.combinations(range(D), k)}
    u = max(longest_image(X, k - 1), np.einsum("ij,ij->j", X, X).max())
    best = max(values.values())
    target = u + share * max(0.0, best - u)
    loadings = loadings_of(X)
    found = set(loadings.candidates(k, u, target).tolist())
    for S, value in values.items():
        assert value <= target * (1.0 + 1e-9) or set(S) <= found
    assert best <= loadings.averaged(k, u) * (1.0 + 1e-9)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(("seed", "D", "kernel"), [(0, 24, 12), (0, 40, 6), (3, 24, 6)])
def test_a_kernel_that_is_too_small_for_norms_is_enough_near_the_largest_loadings(seed, D, kernel):
    problem, result = located(seed, D, kernel)
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    dense = sparseopt.solve(problem.as_strs())
    assert result.objective == pytest.approx(dense.objective, rel=1e-9)


def test_scaled_data_are_located_alike():
    problem, result = located()
    small = sparseopt.solve(SparseComponent(3e-9 * problem.X, d=5), options={"kernel": 12})
    assert small.verdict is Verdict.VERIFIED
    assert small.objective == pytest.approx(9e-18 * result.objective, rel=1e-9)


def test_a_bound_that_is_left_open_is_verified():
    problem, result = located(0, 24, 6)
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.SLOW_PROGRESS)
    assert result.verdict is Verdict.VERIFIED
    assert result.gap < 0.05
    assert result.bound >= sparseopt.solve(problem.as_strs(), check=False).objective


def test_a_time_limit_raises_the_kernel_while_it_lasts():
    problem = modules(0)
    assert sparseopt.solve(problem, options={"kernel": 6}).status is Status.FEASIBLE
    result = sparseopt.solve(problem, options={"kernel": 6}, time_limit=60.0)
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("calls", range(1, 30, 4))
def test_a_search_that_is_stopped_leaves_a_bound_that_is_verified(calls):
    left = iter(range(calls, 0, -1))
    result = sparseopt.solve(
        modules(0), options={"kernel": 12}, on_progress=lambda _: next(left, 0) > 0
    )
    assert result.verdict is Verdict.VERIFIED


def with_arrays(result, **arrays):
    kept = {**result.certificate.arrays, **arrays}
    kept = {name: array for name, array in kept.items() if array is not None}
    return result.with_changes(certificate=sparseopt.Certificate("anchor-leaves", kept))


def test_kernels_and_bounds_that_prove_less_are_refuted():
    problem, result = located()
    own = result.certificate.arrays
    last = own["kernel_5"]
    for change in (
        {"kernel_5": last[1:]},
        {"kernel_5": last[::-1]},
        {"kernel_5": None},
        {"kernel_5": last[:0]},
        {"mu_5": None},
        {"mu_5": own["mu_5"] * 0.9},
        {"sizes": own["sizes"][:-1], "bounds": own["bounds"][:-1]},
        {"sizes": own["sizes"][::-1]},
        {"bounds": own["bounds"] * 0.9},
        {"bounds": np.append(own["bounds"][:-1], 0.999 * own["bounds"][-1])},
        {"threshold": np.array([np.nan])},
        {"threshold": None},
    ):
        changed = sparseopt.check(problem, with_arrays(result, **change))
        assert changed.verdict in (Verdict.REFUTED, Verdict.UNPROVEN), change


def test_no_lower_bound_is_verified_whatever_the_kernels():
    problem, result = located()
    everything = np.arange(problem.variables)
    for share in (0.9, 0.99, 0.9999):
        bound = share * result.objective
        lie = with_arrays(
            result.with_changes(objective=bound, bound=bound),
            bounds=np.minimum(result.certificate.arrays["bounds"], bound),
            kernel_5=everything,
        )
        assert sparseopt.check(problem, lie).verdict is not Verdict.VERIFIED


@pytest.mark.parametrize("share", [1.0, 0.999])
def test_the_exact_program_proves_what_is_true(tmp_path, share):
    problem, result = located()
    lie = with_arrays(
        result.with_changes(bound=share * result.bound),
        bounds=result.certificate.arrays["bounds"] * [*([1.0] * 3), share],
    )
    sparseopt.save(problem, tmp_path / "p.npz")
    sparseopt.save(lie, tmp_path / "r.json")
    found, why = exact.check(tmp_path / "p.npz", tmp_path / "r.json", 60.0)
    assert found == ("proven" if share == 1.0 else "refuted"), why
