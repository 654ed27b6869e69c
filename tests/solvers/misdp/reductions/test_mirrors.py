"""Mirrors of MISDPs: which are found, the half that is searched, and what the checker believes."""

import itertools

import numpy as np
import pytest

import sparseopt
from sparseopt import Status, Verdict
from sparseopt.checking.evidence import Malformed
from sparseopt.checking.misdp.symmetry import mirrored_problem
from sparseopt.generators.misdp import k_partitioning, truss_topology
from sparseopt.problems import MISDPBuilder
from sparseopt.proofs.misdp_mirrors import mirrors
from sparseopt.solvers.misdp.reductions.merging import merge
from sparseopt.solvers.misdp.reductions.mirrors import mirror

pytest.importorskip("clarabel", reason="Clarabel is not installed: sparseopt[misdp]")


def unit(n, i, j, value=1.0):
    matrix = np.zeros((n, n))
    matrix[i, j] = matrix[j, i] = value
    return matrix


def spins(n, seed):
    """The least x'Wx for signs x = 2 z - 1, and that by enumeration."""
    W = np.triu(np.random.default_rng(seed).integers(-5, 6, (n, n)).astype(float), 1)
    pairs = list(itertools.combinations(range(n), 2))
    model = MISDPBuilder("min")
    z = model.variables(n, lower=0.0, upper=1.0, integer=True)
    X = model.variables(len(pairs), lower=-1.0, upper=1.0)
    constant = np.eye(n + 1)
    constant[0, 1:] = constant[1:, 0] = -1.0
    model.semidefinite(
        (z, [unit(n + 1, 0, i + 1, 2.0) for i in range(n)]),
        (X, [unit(n + 1, i + 1, j + 1) for i, j in pairs]),
        constant=constant,
    )
    model.objective((X, np.array([W[pair] for pair in pairs])))
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=n)))
    return model.build(), float(np.einsum("ki,ij,kj->k", signs, W, signs).min())


def nearest(seed):
    """The least |B x|^2 for integers x with x_0 = 2 z - 1, x_i from -2 to 2, |x_1 - x_2| <= 1."""
    B = np.random.default_rng(seed).integers(-4, 5, (5, 4)).astype(float)
    model = MISDPBuilder("min")
    z = model.variables(1, lower=0.0, upper=1.0, integer=True)
    x = model.variables(3, lower=-2.0, upper=2.0, integer=True)
    t = model.variable(lower=0.0, upper=500.0)
    columns = [sum(unit(6, i, 5, value) for i, value in enumerate(column)) for column in B.T]
    constant = np.diag([1.0] * 5 + [0.0]) - columns[0]
    model.semidefinite(
        (z, [2.0 * columns[0]]), (x, columns[1:]), (t, unit(6, 5, 5)), constant=constant
    )
    model.row((x, np.array([1.0, -1.0, 0.0])), lower=-1.0, upper=1.0)
    model.objective((t, 1.0))
    points = np.array(list(itertools.product([-1.0, 1.0], *[range(-2, 3)] * 3)))
    points = points[np.abs(points[:, 1] - points[:, 2]) <= 1.0]
    return model.build(), float(((points @ B.T) ** 2).sum(axis=1).min())


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("seed", range(12))
def test_mirrored_problems_against_enumeration(seed):
    for problem, optimum in (spins(5 + seed % 3, seed), nearest(seed)):
        result = sparseopt.solve(problem, backend="misdp-bnb")
        assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
        assert result.objective == pytest.approx(optimum, abs=1e-5)
        assert len(result.certificate.arrays["mirror_leaders"]) >= 1


def test_half_a_range_saves_nodes(monkeypatch):
    problem, _ = spins(10, 2)
    fewer = sparseopt.solve(problem, backend="misdp-bnb")
    monkeypatch.setattr("sparseopt.solvers.misdp.engines.bnb.mirror", lambda merged: merged)
    more = sparseopt.solve(problem, backend="misdp-bnb")
    assert fewer.objective == pytest.approx(more.objective)
    assert fewer.nodes < more.nodes


def test_bits_of_a_mirror():
    """All spins turn round together; spins without a weight between them by themselves."""
    problem, _ = spins(4, 1)
    found = mirror(merge(problem))
    assert (found.problem.lower > problem.lower).sum() == 1
    apart = problem.with_changes(c=np.zeros(10))
    assert (mirror(merge(apart)).problem.lower > apart.lower).sum() == 4
    assert mirrors(problem, np.arange(10) < 4, np.arange(5) == 0)
    assert not mirrors(problem, np.arange(10) < 3, np.arange(5) == 0)
    assert not mirrors(problem, np.arange(10) < 4, np.arange(5) == 1)
    assert not mirrors(problem, np.arange(10) < 4, np.zeros(5, dtype=bool))


def test_a_warm_start_is_turned_round():
    problem, _ = spins(5, 3)
    found, x = mirror(merge(problem)), np.zeros(15)
    x[5:] = 1.0
    turned = found.down(x)
    assert turned[:5].tolist() == [1.0] * 5 and turned[5:].tolist() == [1.0] * 10
    assert np.isnan(found.down(np.full(15, np.nan))).all()
    result = sparseopt.solve(problem, backend="misdp-bnb", warm_start=x)
    assert result.verdict is Verdict.VERIFIED


def test_the_classes_have_no_mirror():
    for problem in (k_partitioning(seed=0, nodes=8), truss_topology(seed=0)):
        merged = merge(problem)
        assert mirror(merged).problem is merged.problem


@pytest.mark.parametrize(
    "changes",
    [
        {"c": np.eye(10)[0]},
        {"upper": np.full(10, 2.0)},
        {"lower": np.full(10, -np.inf)},
        {"lower": np.full(10, 0.5), "upper": np.full(10, 0.75)},
        {"A": np.eye(10)[:1], "row_upper": [0.5], "row_lower": [-np.inf]},
        {"A": np.eye(10)[:1], "row_upper": [1.0], "row_lower": [1e-17]},
        {"A": np.ones((1, 10)), "row_upper": [7.0], "row_lower": [-1.0]},
    ],
)
def test_what_differs_in_a_number_is_no_mirror(changes):
    problem, _ = spins(4, 1)
    flags = np.arange(10) < 4, np.arange(5) == 0
    assert mirrors(problem, *flags)
    assert not mirrors(problem.with_changes(**changes), *flags)


def test_an_entry_that_no_variable_is_in_keeps_its_sign():
    model = MISDPBuilder("min")
    x = model.variables(1, lower=-1.0, upper=1.0, integer=True)
    lone = unit(3, 0, 2, 0.5) + np.eye(3)
    model.semidefinite((x, [unit(3, 0, 1, 0.5)]), constant=lone)
    problem = model.build()
    assert mirrors(problem, np.array([True]), np.array([False, True, False]))
    assert not mirrors(problem, np.array([True]), np.array([True, False, False]))


def test_bounds_whose_middle_takes_integers_elsewhere():
    model = MISDPBuilder("min")
    x = model.variables(1, lower=-0.5, upper=1.0, integer=True)
    t = model.variables(1, lower=-1.0, upper=1.0)
    model.semidefinite((t, [np.eye(2)]), constant=np.eye(2))
    problem = model.build()
    assert len(x) == 1 and not mirrors(problem, np.array([True, False]), np.zeros(2, dtype=bool))


ONE = {
    "leaders": np.array([0]),
    "variables": np.arange(10)[None] < 4,
    "lines": np.arange(5)[None] == 0,
}


def given(**changes):
    return {f"mirror_{name}": array for name, array in {**ONE, **changes}.items()}


def test_half_of_a_leader_is_left():
    problem, _ = spins(4, 1)
    assert mirrored_problem(problem, given()).lower[:4].tolist() == [1.0, 0.0, 0.0, 0.0]
    assert mirrored_problem(problem, {}) is problem
    with pytest.raises(Malformed, match="a pool is stated"):
        mirrored_problem(problem, given(), pool=True)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"lines": np.arange(5)[None] == 1}, "does not stay"),
        ({"variables": np.arange(10)[None] < 3}, "does not stay"),
        ({"variables": np.zeros((1, 10), bool), "lines": np.zeros((1, 5), bool)}, "its leader"),
        ({name: np.repeat(array, 2, axis=0) for name, array in ONE.items()}, "before its own"),
        ({"leaders": np.array([5])}, "does not name"),
        ({"leaders": np.array([-1])}, "does not name"),
        ({"leaders": np.array([0.0])}, "do not fit"),
        ({"variables": np.ones((1, 10))}, "do not fit"),
        ({"lines": np.ones((1, 4), bool)}, "do not fit"),
    ],
)
def test_what_is_no_mirror_is_refuted(changes, complaint):
    problem, _ = spins(4, 1)
    with pytest.raises(Malformed, match=complaint):
        mirrored_problem(problem, given(**changes))
