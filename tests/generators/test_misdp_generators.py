"""The generators of MISDPs: their optima are those of the models that they stand for."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sparseopt import ParamError, generators
from sparseopt.generators.draws import stream, support
from sparseopt.problems import MISDP, STRS
from sparseopt.problems.misdp.cones import triangle
from sparseopt.testing.strs import best_by_supports

pytest.importorskip("clarabel", reason="the reference answers come from Clarabel")

from enumeration import enumerate_integers, relax


def optimum(problem: MISDP) -> float:
    value = enumerate_integers(problem).objective
    assert value is not None
    return value


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("formulation", ["weak", "strong"])
def test_sparse_directions_have_the_optimum_of_all_supports(formulation: str, linear: bool) -> None:
    rng = stream(3)
    B, a = rng.standard_normal((4, 4)), rng.standard_normal(4)
    problem = STRS(A=(B + B.T) / 2.0, a=a if linear else None, d=2)
    misdp = generators.strs_misdp(seed=3, D=4, d=2, formulation=formulation, linear=linear)
    np.testing.assert_allclose(optimum(misdp), best_by_supports(problem), rtol=1e-6)
    relaxed = relax(misdp, misdp.lower, misdp.upper).value
    dense = best_by_supports(STRS(A=problem.A, a=problem.a, d=4))
    if formulation == "weak":
        np.testing.assert_allclose(relaxed, dense, rtol=1e-6)
    else:
        assert best_by_supports(problem) - 1e-6 <= relaxed < dense - 1e-3


def test_least_squares_has_the_optimum_of_all_supports() -> None:
    n, d, k, rho = 7, 5, 2, 0.7
    rng = stream(11)
    X = rng.standard_normal((n, d))
    theta = np.zeros(d)
    theta[support(rng, d, k)] = 2.0 * rng.integers(0, 2, k) - 1.0
    y = X @ theta + 0.3 * rng.standard_normal(n)
    values = []
    for S in itertools.combinations(range(d), k):
        part = X[:, S]
        b = np.linalg.solve(part.T @ part + rho * np.eye(k), part.T @ y)
        values.append(np.sum((part @ b - y) ** 2) + rho * np.sum(b**2))
    problem = generators.cardinality_least_squares(seed=11, n=n, d=d, k=k, rho=rho, sigma=0.3)
    np.testing.assert_allclose(optimum(problem), min(values), rtol=1e-6)


@pytest.mark.thorough
@pytest.mark.parametrize(("nodes", "k", "smallest"), [(5, 2, 2), (4, 3, 1), (4, 4, 1)])
def test_partitions_are_the_feasible_points(nodes: int, k: int, smallest: int) -> None:
    """Every 0-1 point is feasible exactly if it is a partition into at most k large parts."""
    problem = generators.k_partitioning(seed=2, nodes=nodes, k=k, smallest=smallest)
    pairs = list(itertools.combinations(range(nodes), 2))
    partitions = set()
    for labels in itertools.product(range(k), repeat=nodes):
        sizes = [labels.count(part) for part in set(labels)]
        if min(sizes) >= smallest:
            partitions.add(tuple(float(labels[i] == labels[j]) for i, j in pairs))
    feasible = {
        x
        for x in itertools.product((0.0, 1.0), repeat=len(pairs))
        if max(problem.residuals(np.array(x)).values()) < 1e-9
    }
    assert feasible == partitions


@pytest.mark.thorough
def test_isometry_constants_are_singular_values() -> None:
    m, n, k = 5, 5, 2
    A = stream(4).standard_normal((m, n)) / np.sqrt(m)
    values = [
        np.linalg.svd(A[:, S], compute_uv=False) ** 2 for S in itertools.combinations(range(n), k)
    ]
    low = generators.restricted_isometry(seed=4, m=m, n=n, k=k)
    high = generators.restricted_isometry(seed=4, m=m, n=n, k=k, side="upper")
    np.testing.assert_allclose(optimum(low), min(v[-1] for v in values), rtol=1e-5)
    np.testing.assert_allclose(optimum(high), max(v[0] for v in values), rtol=1e-5)


def test_sparse_directions_are_eigenvalues_of_a_sample_covariance() -> None:
    problem = generators.sparse_directions(seed=4, n=5, k=2, samples=12)
    C = np.zeros((5, 5))
    X = problem.blocks[0].F.indices
    for place, (i, j) in zip(X, zip(*triangle(5), strict=True), strict=True):
        C[i, j] = C[j, i] = problem.c[place] / (1.0 if i == j else 2.0)
    assert np.linalg.eigvalsh(C)[0] > 0.0
    best = max(np.linalg.eigvalsh(C[np.ix_(S, S)])[-1] for S in itertools.combinations(range(5), 2))
    np.testing.assert_allclose(optimum(problem), best, rtol=1e-5)


def test_cuts_and_clusters_are_the_feasible_points() -> None:
    cut = generators.max_cut(seed=1, nodes=4)
    pairs = list(itertools.combinations(range(4), 2))
    signs = {
        tuple(float(s[i] != s[j]) for i, j in pairs) for s in itertools.product((0, 1), repeat=4)
    }
    clusters = generators.clustering(seed=1, points=4, size=2)
    pairings = {
        tuple(float(labels[i] == labels[j]) for i, j in pairs)
        for labels in set(itertools.permutations((0, 0, 1, 1)))
    }
    for problem, expected in ((cut, signs), (clusters, pairings)):
        feasible = {
            x
            for x in itertools.product((0.0, 1.0), repeat=len(pairs))
            if max(problem.residuals(np.array(x)).values()) < 1e-9
        }
        assert feasible == expected


def test_designs_and_sensors_have_the_optimum_of_all_choices() -> None:
    n, p, k = 5, 2, 3
    a = stream(6).standard_normal((n, p))
    information = [a[list(S)].T @ a[list(S)] for S in itertools.combinations(range(n), k)]
    design = generators.optimal_design(seed=6, candidates=n, p=p, k=k)
    least = max(np.linalg.eigvalsh(M)[0] for M in information)
    np.testing.assert_allclose(optimum(design), least, rtol=1e-6)
    sensors = generators.sensor_placement(seed=6, candidates=n, p=p, k=k)
    error = min(np.trace(np.linalg.inv(np.eye(p) + M)) for M in information)
    np.testing.assert_allclose(optimum(sensors), error, rtol=1e-6)


def test_networks_have_the_best_connectivity_of_all_choices() -> None:
    problem = generators.network_design(seed=6, nodes=4, candidates=5, k=4)
    rows, columns = triangle(4)
    laplacians = []
    for packed in problem.blocks[0].F.toarray().T[:5]:
        L = np.zeros((4, 4))
        L[rows, columns] = L[columns, rows] = packed
        np.testing.assert_allclose(L.sum(axis=0), 0.0, atol=1e-12)
        laplacians.append(L)
    best = max(
        np.linalg.eigvalsh(sum(laplacians[e] for e in S))[1]
        for S in itertools.combinations(range(5), 4)
    )
    np.testing.assert_allclose(optimum(problem), best, rtol=1e-6)


def test_bisections_are_the_feasible_points() -> None:
    problem = generators.minimum_bisection(seed=1, nodes=4)
    pairs = list(itertools.combinations(range(4), 2))
    halves = {
        tuple(float(labels[i] == labels[j]) for i, j in pairs)
        for labels in set(itertools.permutations((0, 0, 1, 1)))
    }
    feasible = {
        x
        for x in itertools.product((0.0, 1.0), repeat=len(pairs))
        if max(problem.residuals(np.array(x)).values()) < 1e-9
    }
    assert feasible == halves
    # Weights between the halves: of all edges, less those within.
    between = [-problem.c @ (1.0 - np.array(x)) for x in feasible]
    values = [problem.objective(np.array(x)) for x in feasible]
    np.testing.assert_allclose(values, between)


def test_stable_sets_are_the_heaviest_of_all() -> None:
    nodes, rng = 5, stream(2)
    pairs = list(itertools.combinations(range(nodes), 2))
    edge = rng.random(len(pairs)) < 0.5
    weight = rng.integers(1, 11, nodes)
    best = max(
        sum(weight[i] for i in S)
        for r in range(1, nodes + 1)
        for S in itertools.combinations(range(nodes), r)
        if not any(edge[e] for e, pair in enumerate(pairs) if set(pair) <= set(S))
    )
    problem = generators.stable_set(seed=2, nodes=nodes, density=0.5)
    np.testing.assert_allclose(optimum(problem), best, rtol=1e-6)
    assert generators.stable_set(nodes=3, density=1.0).size["integers"] == 3


def test_lines_that_are_kept_connect_as_well_as_is_asked() -> None:
    problem = generators.line_switching(seed=3, nodes=4, connectivity=0.5)
    rows, columns = triangle(4)
    laplacians = []
    for packed in problem.blocks[0].F.toarray().T:
        L = np.zeros((4, 4))
        L[rows, columns] = L[columns, rows] = packed
        np.testing.assert_allclose(L.sum(axis=0), 0.0, atol=1e-12)
        laplacians.append(L)
    m = len(laplacians)
    level = 0.5 * np.linalg.eigvalsh(sum(laplacians))[1]
    costs = [
        sum(problem.c[list(S)])
        for r in range(1, m + 1)
        for S in itertools.combinations(range(m), r)
        if np.linalg.eigvalsh(sum(laplacians[e] for e in S))[1] >= level - 1e-8
    ]
    np.testing.assert_allclose(optimum(problem), min(costs), rtol=1e-6)


def test_sparse_components_are_the_largest_eigenvalues_of_parts() -> None:
    n, k, samples = 4, 2, 20
    rng = stream(4)
    x = rng.standard_normal((samples, n)) + rng.standard_normal((samples, 2))[:, [0, 1, 0, 1]]
    S = x.T @ x / samples
    parts = [S[np.ix_(part, part)] for part in itertools.combinations(range(n), k)]
    best = max(np.linalg.eigvalsh(part)[-1] for part in parts)
    problem = generators.sparse_component(seed=4, n=n, k=k, samples=samples)
    np.testing.assert_allclose(optimum(problem), best, rtol=1e-6)


def test_a_portfolio_has_the_least_risk_of_all_choices() -> None:
    problem = generators.cardinality_portfolio(seed=5, assets=4, k=2, factors=2)
    F, own = (rng := stream(5)).standard_normal((4, 2)), 0.2 + rng.random(4)
    returns = 0.05 + 0.1 * rng.random(4)
    risks = []
    for i, j in itertools.combinations(range(4), 2):
        # Weights of at most a half each, of two assets: a half of each.
        w = np.zeros(4)
        w[[i, j]] = 0.5
        if returns @ w >= np.median(returns):
            risks.append(np.sqrt(np.sum((F.T @ w) ** 2) + np.sum((own * w) ** 2)))
    np.testing.assert_allclose(optimum(problem), min(risks), rtol=1e-5)


def test_a_truss_carries_its_load() -> None:
    problem = generators.truss_topology(seed=1, columns=2, rows=2)
    full = np.tile([0.0, 1.0], len(problem.c) // 2)
    assert max(problem.residuals(full).values()) == 0.0
    assert problem.residuals(np.zeros(len(problem.c)))["psd"] > 0.01
    tight = generators.truss_topology(seed=1, columns=2, rows=2, slack=1.0)
    assert max(tight.residuals(full).values()) == 0.0
    for slack, model in ((2.0, problem), (1.0, tight)):
        M = model.blocks[0].matrix(full)
        compliance = M[0, 1:] @ np.linalg.solve(M[1:, 1:], M[0, 1:]) / 2.0
        gamma = M[0, 0] / 2.0
        assert slack * compliance <= gamma <= 1.01 * slack * compliance
    lengths = problem.c[::2]
    np.testing.assert_allclose(problem.c[1::2], 2.0 * lengths)
    # Three sides of a square, without the fixed one, and its diagonals.
    np.testing.assert_allclose(np.sort(lengths), [1.0, 1.0, 1.0, np.sqrt(2.0), np.sqrt(2.0)])


def test_a_truss_carries_each_of_its_loads() -> None:
    one, three = (generators.truss_topology(seed=1, columns=2, loads=loads) for loads in (1, 3))
    assert [block.size for block in three.blocks] == [one.blocks[0].size] * 3
    np.testing.assert_array_equal(three.blocks[0].F0, one.blocks[0].F0)
    full = np.tile([0.0, 1.0], len(one.c) // 2)
    loads = set()
    for block in three.blocks:
        M = block.matrix(full)
        compliance = M[0, 1:] @ np.linalg.solve(M[1:, 1:], M[0, 1:]) / 2.0
        assert 2.0 * compliance <= M[0, 0] / 2.0 <= 2.02 * compliance
        loads.add(M[0, 1:].tobytes())
    assert len(loads) == 3


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["interior", "boundary", "infeasible"])
def test_random_problems_are_what_their_kind_says(kind: str) -> None:
    for seed in range(3):
        problem = generators.random_misdp(seed=seed, kind=kind, integers=3, bound=1, size=3)
        result = enumerate_integers(problem)
        assert (result.status == "infeasible") == (kind == "infeasible")
        rng = np.random.default_rng(seed)
        if kind == "boundary":
            for block in problem.blocks:
                for _ in range(5):
                    M = block.matrix(np.rint(5.0 * rng.normal(size=len(problem.c))))
                    assert np.linalg.matrix_rank(M) < block.size
        if kind == "interior":
            rng = stream(seed)
            x0 = np.concatenate([rng.integers(-1, 2, 3), rng.integers(-2, 3, 2)]).astype(float)
            values = [np.linalg.eigvalsh(block.matrix(x0))[0] for block in problem.blocks]
            assert min(values) > 0.5 and max(problem.residuals(x0).values()) == 0.0


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("strs-misdp", {"d": 9}, "d must be at most 8"),
        ("strs-misdp", {"formulation": "own"}, "formulation must be"),
        ("cardinality-least-squares", {"rho": 0.0}, "rho must be a positive number"),
        ("cardinality-least-squares", {"k": 11}, "k must be at most 10"),
        ("k-partitioning", {"k": 1}, "k must be at least 2"),
        ("k-partitioning", {"density": 2.0}, "density must be from 0 to 1"),
        ("truss-topology", {"rows": 1}, "columns and rows must be at least 2"),
        ("truss-topology", {"slack": 0.5}, "slack must be at least 1"),
        ("restricted-isometry", {"side": "left"}, "side must be"),
        ("sparse-directions", {"spike": -1.0}, "spike must be a number >= 0"),
        ("max-cut", {"nodes": 1}, "nodes must be at least 2"),
        ("clustering", {"points": 7}, "size must divide the 7 points"),
        ("optimal-design", {"k": 3}, "k must be at least p = 4"),
        ("sensor-placement", {"k": 13}, "k must be at most 12"),
        ("network-design", {"k": 6}, "from nodes - 1 = 7 to 28"),
        ("sparse-component", {"modules": 9}, "modules must be at most 8"),
        ("cardinality-portfolio", {"budget": 0.2}, "budget must be from 1/20 to 1"),
        ("minimum-bisection", {"nodes": 7}, "nodes must be even"),
        ("minimum-bisection", {"density": -1.0}, "density must be from 0 to 1"),
        ("stable-set", {"nodes": 1}, "nodes must be at least 2"),
        ("line-switching", {"nodes": 1}, "nodes must be at least 2"),
        ("line-switching", {"connectivity": 1.5}, "connectivity must be from 0 to 1"),
        ("random-misdp", {"cones": -1}, "cones must be at least 0"),
        ("random-misdp", {"kind": "boundary", "size": 1}, "kind boundary needs a size"),
    ],
)
def test_wrong_settings_are_refused(name: str, settings: dict[str, object], message: str) -> None:
    with pytest.raises(ParamError, match=message):
        generators.generate(name, **settings)
