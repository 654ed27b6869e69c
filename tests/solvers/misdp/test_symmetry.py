"""Symmetries of MISDPs: which are found, the rows that they give, and what the checker believes."""

import itertools

import numpy as np
import pytest

import sparseopt
from sparseopt import Certificate, Status, Verdict
from sparseopt.generators.misdp import k_partitioning, truss_topology
from sparseopt.problems import MISDP, MISDPBuilder
from sparseopt.proofs.misdp_symmetry import SymmetryTest
from sparseopt.result import Result
from sparseopt.solvers.misdp.reductions.merging import merge
from sparseopt.solvers.misdp.reductions.symmetry import order

pytest.importorskip("clarabel", reason="Clarabel is not installed: sparseopt[misdp]")


def circulant(weights, k):
    """Partition n nodes in k parts, with weights of pairs by their distance around a ring."""
    n = len(weights)
    away = [min(j - i, n - j + i) for i, j in itertools.combinations(range(n), 2)]
    problem = k_partitioning(seed=0, nodes=n, k=k)
    return problem.with_changes(c=np.array([float(weights[d]) for d in away]))


def paley(n, k):
    squares = {x * x % n for x in range(1, n)}
    return circulant([float(d in squares) for d in range(n)], k)


def least_partition(problem, n, k):
    """The optimum over all partitions whose parts have two nodes or more."""
    i, j = np.array(list(itertools.combinations(range(n), 2))).T
    labels = np.array(list(itertools.product(range(k), repeat=n - 1)))
    labels = np.column_stack([np.zeros(len(labels), dtype=int), labels])
    sizes = (labels[:, :, None] == np.arange(k)).sum(axis=1)
    labels = labels[((sizes == 0) | (sizes >= 2)).all(axis=1)]
    return float(((labels[:, i] == labels[:, j]) @ problem.c).min())


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_symmetric_partitions_against_enumeration(seed):
    problem = circulant(np.random.default_rng(seed).integers(-5, 11, 9), 3)
    result = sparseopt.solve(problem, backend="misdp-bnb")
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    assert len(result.certificate.arrays["symmetry_leaders"]) >= 9
    assert result.objective == pytest.approx(least_partition(problem, 9, 3))


def test_rows_by_symmetry_save_nodes(monkeypatch):
    problem = paley(13, 3)
    fewer = sparseopt.solve(problem, backend="misdp-bnb")
    monkeypatch.setattr("sparseopt.solvers.misdp.engines.bnb.order", lambda merged: merged)
    more = sparseopt.solve(problem, backend="misdp-bnb")
    assert fewer.objective == more.objective == 5.0
    assert 1.5 * fewer.nodes < more.nodes


def test_orbits_of_a_paley_graph():
    """Its 78 symmetries move each edge to all 39; two leave an edge in place."""
    found = order(merge(paley(13, 3)))
    rows = found.problem.A.shape[0] - 13
    assert rows == 38 + 1


def test_random_data_have_no_symmetry():
    for problem in (k_partitioning(seed=0, nodes=10), truss_topology(seed=0)):
        merged = merge(problem)
        assert order(merged).problem is merged.problem


def test_points_are_moved_to_images_that_have_the_rows():
    problem = paley(13, 3)
    found = order(merge(problem))
    result = sparseopt.solve(problem, backend="misdp-bnb")
    x, cut = result.x, 0
    for move in result.certificate.arrays["symmetry_variables"]:
        image = np.empty_like(x)
        image[move] = x
        down = found.down(image)
        assert max(problem.residuals(image).values()) <= 1e-9
        assert max(found.problem.residuals(down).values()) <= 1e-9
        assert problem.objective(down) == problem.objective(x)
        cut += max(found.problem.residuals(image).values()) > 0.5
    assert cut > 10
    unknown = found.down(np.full(len(x), np.nan))
    assert np.isnan(unknown).all()


def one_of_two(**changes):
    """Minimise x_0 + x_1 with x_0 + x_1 >= 1, which exchanges its variables."""
    model = MISDPBuilder("min")
    x = model.variables(2, lower=0.0, upper=1.0, integer=True)
    model.row((x, np.ones(2)), lower=1.0)
    model.semidefinite((x, [np.diag([1.0, 0.0]), np.diag([0.0, 1.0])]))
    model.objective((x, np.ones(2)))
    return model.build().with_changes(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"c": [1.0, 1.0 + 1e-15]},
        {"upper": [1.0, 2.0]},
        {"integer": [True, False]},
        {"A": [[1.0, 2.0]]},
    ],
)
def test_what_differs_in_a_number_is_no_symmetry(changes):
    swap = np.array([1, 0])
    assert SymmetryTest(one_of_two()).holds(swap, swap)
    assert not SymmetryTest(one_of_two()).holds(swap, np.arange(2))
    assert not SymmetryTest(one_of_two()).holds(np.array([1, 1]), swap)
    assert not SymmetryTest(one_of_two(**changes)).holds(swap, swap)


def infeasible_by(leaders, variables, lines):
    """The claim that rows by symmetry leave nothing."""
    R = len(leaders)
    arrays = {
        "lower": np.zeros((1, 2)),
        "upper": np.ones((1, 2)),
        "rows": np.ones((1, 1 + R)),
        "psd": np.zeros((1, 3)),
        "infeasible": np.array([True]),
        "symmetry_leaders": np.array(leaders),
        "symmetry_variables": np.array(variables),
        "symmetry_lines": np.array(lines),
    }
    return Result(status=Status.INFEASIBLE, certificate=Certificate("misdp-leaves", arrays))


def test_a_later_symmetry_must_not_move_an_earlier_leader():
    """x_0 >= x_1 and x_1 >= x_0 + ... : both are symmetries, but no point need have both rows."""
    swap = [1, 0]
    # With exactly one of them chosen both rows leave nothing.
    problem = one_of_two(row_upper=[1.0])
    claim = infeasible_by([0, 1], [swap, swap], [swap, swap])
    report = sparseopt.check(problem, claim)
    assert report.verdict is Verdict.REFUTED and "leader" in "; ".join(report.messages)


@pytest.mark.parametrize(
    ("leaders", "variables", "lines", "complaint"),
    [
        ([0], [[1, 0]], [[0, 1]], "does not stay"),
        ([0], [[1, 1]], [[1, 0]], "does not stay"),
        ([2], [[1, 0]], [[1, 0]], "does not name"),
        ([-1], [[1, 0]], [[1, 0]], "does not name"),
        ([0], [[1.0, 0.0]], [[1, 0]], "must hold integers"),
        ([0, 0], [[1, 0]], [[1, 0]], "must hold integers"),
        ([0], [[1, 0, 2]], [[1, 0]], "must hold integers"),
        ([[0]], [[1, 0]], [[1, 0]], "must hold integers"),
    ],
)
def test_what_is_no_symmetry_is_refuted(leaders, variables, lines, complaint):
    report = sparseopt.check(one_of_two(), infeasible_by(leaders, variables, lines))
    assert report.verdict is Verdict.REFUTED and complaint in "; ".join(report.messages)


def test_a_pool_of_solutions_is_not_proven_by_rows_that_leave_some_out():
    problem = one_of_two()
    whole = sparseopt.solve(problem, backend="misdp-bnb", options={"solutions": 2})
    assert len(whole.pool) == 2 and "symmetry_leaders" not in whole.certificate.arrays
    arrays = dict(whole.certificate.arrays)
    arrays["rows"] = np.pad(arrays["rows"], ((0, 0), (0, 1)))
    arrays |= {
        "symmetry_leaders": np.array([0]),
        "symmetry_variables": np.array([[1, 0]]),
        "symmetry_lines": np.array([[1, 0]]),
    }
    false = whole.with_changes(certificate=Certificate("misdp-leaves", arrays))
    assert sparseopt.check(problem, false).verdict is not Verdict.VERIFIED


def test_two_equal_matrices_may_be_exchanged():
    """x_0 and x_1 belong to a matrix each, and no variable is in both."""
    model = MISDPBuilder("min")
    x = model.variables(2, lower=0.0, upper=3.0, integer=True)
    for j in range(2):
        model.semidefinite((x[j], np.eye(2)), constant=np.array([[-1.5, 0.2], [0.2, -1.0]]))
    model.row((x, np.ones(2)), upper=5.0)
    model.objective((x, np.ones(2)))
    problem: MISDP = model.build()
    assert order(merge(problem)).problem.A.shape[0] == 2
    result = sparseopt.solve(problem, backend="misdp-bnb")
    assert result.verdict is Verdict.VERIFIED and result.objective == 4.0
