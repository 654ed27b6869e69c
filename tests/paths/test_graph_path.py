"""Models solved: graphs and coefficients at every budget, files, and a checker that sees lies."""

from dataclasses import replace

import numpy as np
import pytest
from brute_force import smallest_losses

import sparseopt
from sparseopt import Certificate, ParamError, Result, Status, UnsupportedProblem, Verdict
from sparseopt.io.results import load_result
from sparseopt.problems import BudgetTables, Candidates, L0GraphicalModel


def sample(d=12, width=5, seed=0, n=25, **fields) -> L0GraphicalModel:
    X = np.random.default_rng(seed).normal(size=(n, d))
    X[:, 1:] += 0.7 * X[:, :-1]
    return L0GraphicalModel(X, Candidates.window(d, width), **fields)


@pytest.fixture(scope="module")
def problem() -> L0GraphicalModel:
    return sample()


@pytest.fixture(scope="module")
def result(problem) -> Result:
    return sparseopt.solve(problem, backend="l0-tables")


@pytest.mark.parametrize("backend", ["l0-tables", "knapsack-dp"])
@pytest.mark.parametrize("scaling", ["standardised", "rss", "nlogrss"])
@pytest.mark.parametrize("ridge", [0.0, 0.2])
def test_every_budget_has_the_best_graph(backend, scaling, ridge):
    problem = sample(d=6, width=4, scaling=scaling, ridge=ridge)
    result = sparseopt.solve(problem, backend=backend)
    assert result.status is Status.OPTIMAL
    assert result.verdict is Verdict.VERIFIED, result.check_messages
    value = np.zeros(1)
    for j in range(6):
        table = problem.scaled(smallest_losses(problem, j), np.full(5, j))
        sums = value[:, None] + table
        value = np.array(
            [
                min(sums[i, k - i] for i in range(len(value)) if 0 <= k - i <= 4)
                for k in range(len(value) + 4)
            ]
        )
    np.testing.assert_allclose(result.path.objective, np.minimum.accumulate(value), rtol=1e-10)


def test_solutions_keep_the_budget_and_have_the_stated_objective(problem, result):
    path = result.path
    for K in path.budgets:
        x = path.at(K)
        assert np.count_nonzero(x) <= K
        assert problem.objective(x) == pytest.approx(path.objective_at(K), rel=1e-12)
    np.testing.assert_allclose(result.x, path.at(problem.total), rtol=1e-11)


def test_the_coefficients_are_least_squares(problem, result):
    matrix = result.path.coefficients(20).toarray()
    for j in range(12):
        chosen = np.flatnonzero(matrix[j])
        beta = np.linalg.lstsq(problem.X[:, chosen], problem.X[:, j], rcond=None)[0]
        np.testing.assert_allclose(matrix[j, chosen], beta, rtol=1e-9)


def test_graphs_join_both_ends_or_demand_both(result):
    chosen = result.path.neighbours(20).toarray()
    either, both = result.path.graph(20).toarray(), result.path.graph(20, rule="and").toarray()
    np.testing.assert_array_equal(either, chosen | chosen.T)
    np.testing.assert_array_equal(both, chosen & chosen.T)
    assert chosen.sum() <= 20
    assert both.sum() < either.sum()
    with pytest.raises(ParamError, match="'and' or 'or'"):
        result.path.graph(20, rule="xor")


def test_networkx_gets_edges_and_coordinates():
    pytest.importorskip("networkx")
    X = np.random.default_rng(0).normal(size=(30, 6))
    problem = L0GraphicalModel(X, Candidates.lattice((2, 3)))
    path = sparseopt.solve(problem).path
    graph = path.to_networkx(5)
    assert graph.number_of_nodes() == 6
    assert graph.number_of_edges() == path.graph(5).sum() // 2
    assert graph.nodes[4]["pos"] == (1.0, 1.0)


def test_a_budget_shortens_the_path():
    problem = sample(budget=9)
    path = sparseopt.solve(problem).path
    assert path.budgets.tolist() == list(range(10))
    assert len(sparseopt.solve(problem, budget=4).path) == 5
    with pytest.raises(ParamError, match="0 to 9"):
        sparseopt.solve(problem, budget=10)


def test_nodes_without_candidates_and_none_at_all():
    X = np.random.default_rng(0).normal(size=(10, 3))
    result = sparseopt.solve(L0GraphicalModel(X, np.zeros((3, 3), dtype=bool)))
    assert result.verdict is Verdict.VERIFIED
    assert result.objective == pytest.approx(3.0)
    assert result.path.budgets.tolist() == [0]


def test_too_many_candidates_are_refused():
    X = np.random.default_rng(0).normal(size=(80, 70))
    with pytest.raises(UnsupportedProblem, match="node 0 has 63 candidates"):
        sparseopt.solve(L0GraphicalModel(X, Candidates.window(70, 63)), backend="l0-tables")


def test_the_units_of_a_column_do_not_matter(problem):
    units = 10.0 ** np.arange(-6, 6)
    scaled = sparseopt.solve(L0GraphicalModel(problem.X * units, problem.candidates))
    plain = sparseopt.solve(problem)
    np.testing.assert_allclose(scaled.path.objective, plain.path.objective, rtol=1e-10)
    np.testing.assert_array_equal(scaled.path.graph(15).toarray(), plain.path.graph(15).toarray())


def test_a_saved_path_comes_back_and_takes_the_problem(problem, result, tmp_path):
    result.save(tmp_path / "result.json")
    again = load_result(tmp_path / "result.json")
    assert sparseopt.check(problem, again).verdict is Verdict.VERIFIED
    np.testing.assert_array_equal(again.path.graph(20).toarray(), result.path.graph(20).toarray())
    with pytest.raises(ParamError, match="with_problem"):
        again.path.at(20)
    np.testing.assert_array_equal(again.path.with_problem(problem).at(20), result.path.at(20))


def test_large_neighbourhoods_are_proven_as_far_as_the_work_allows(monkeypatch):
    problem = sample(d=26, width=24, n=60)
    result = sparseopt.solve(problem)
    assert result.status is Status.OPTIMAL
    assert result.verdict is Verdict.VERIFIED
    monkeypatch.setattr("sparseopt.checking.budget.gaussian_subsets.WORK", 1e5)
    again = sparseopt.check(problem, result)
    assert again.verdict is Verdict.UNPROVEN
    assert any("too much work" in message for message in again.messages)


def test_the_gap_of_what_nothing_bounds_is_infinite(result):
    path = result.path
    bound = path.bound.copy()
    bound[1:3] = np.inf, np.inf
    objective = path.objective.copy()
    objective[2] = np.inf
    unknown = replace(path, objective=objective, bound=bound)
    np.testing.assert_array_equal(unknown.gap[1:3], np.inf)
    np.testing.assert_array_equal(np.delete(unknown.gap, [1, 2]), np.delete(path.gap, [1, 2]))


def test_a_time_limit_leaves_valid_bounds():
    X = np.random.default_rng(0).normal(size=(50, 3000))
    problem = L0GraphicalModel(X, Candidates.window(3000, 26))
    sparseopt.solve(sample())
    result = sparseopt.solve(problem, time_limit=0.05, budget=500)
    assert result.status is Status.FEASIBLE
    assert result.verdict is Verdict.UNPROVEN, result.check_messages
    assert (result.path.bound <= result.path.objective).all()
    assert not result.path.certified.any()


def _path(result: Result, **fields: object) -> Result:
    return result.with_changes(path=replace(result.path, **fields))


def _tables(result: Result, change) -> Result:
    arrays = {name: np.array(a) for name, a in result.certificate.arrays.items()}
    change(arrays["tables"])
    return result.with_changes(certificate=Certificate("budget", arrays))


def _worse_neighbour(result: Result) -> Result:
    """Give node 0 another single neighbour, and state its true loss everywhere."""
    problem = result.path.problem
    supports = np.array(result.path.supports)
    supports[1] = next(1 << b for b in range(5) if 1 << b != supports[1])
    X, k = problem.X, problem.candidates.of(0)[int(supports[1]).bit_length() - 1]
    loss = 1.0 - (X[:, 0] @ X[:, k]) ** 2 / (X[:, 0] @ X[:, 0]) / (X[:, k] @ X[:, k])
    tables = np.array(result.certificate.arrays["tables"])
    tables[1] = loss
    answer = sparseopt.solve(
        BudgetTables(tables, problem.candidates.ptr + np.arange(13)), backend="l0-tables"
    )
    lie = _path(
        result,
        supports=supports,
        objective=answer.path.objective,
        bound=answer.path.bound,
        certified=answer.path.certified,
        changes=answer.path.changes,
    )
    arrays = {**answer.certificate.arrays, "tables": tables}
    return lie.with_changes(certificate=Certificate("budget", arrays))


LIES = {
    "objective": lambda r: _path(r, objective=r.path.objective - 0.1),
    "support": lambda r: _path(r, supports=r.path.supports * 0),
    "support outside": lambda r: _path(r, supports=r.path.supports + 32),
    "tables": lambda r: _tables(r, lambda t: t.__setitem__(3, t[3] - 0.01)),
    "nan": lambda r: _tables(r, lambda t: t.__setitem__(3, np.nan)),
    "short tables": lambda r: r.with_changes(
        certificate=Certificate("budget", {**r.certificate.arrays, "tables": np.zeros(3)})
    ),
    "certified": lambda r: _path(r, certified=np.ones_like(r.path.certified)),
    "scaling": lambda r: _path(r, scaling="rss"),
    "candidates": lambda r: _path(r, candidates=Candidates.window(12, 4)),
    "coefficients": lambda r: r.with_changes(x=r.x * 1.5),
    "worse neighbour": _worse_neighbour,
}


@pytest.mark.parametrize("name", LIES)
def test_lies_are_refuted(name, problem, result):
    assert not result.path.certified.all()
    assert sparseopt.check(problem, LIES[name](result)).verdict is Verdict.REFUTED


def test_without_tables_nothing_is_proven(problem, result):
    bare = result.with_changes(certificate=None)
    assert sparseopt.check(problem, bare).verdict is Verdict.UNPROVEN
