"""What the checker proves of the tables, and what it does not."""

import numpy as np
import pytest
from brute_force import smallest_losses

import sparseopt
from sparseopt import Verdict
from sparseopt.checking.budget import gaussian_subsets, ising_subsets
from sparseopt.generators import graph_sample, ising_lattice_sample
from sparseopt.problems import Candidates, L0GraphicalModel
from sparseopt.proofs.neighbours import support_losses


@pytest.fixture(scope="module")
def ising():
    return ising_lattice_sample(n=150, rows=4, columns=4, sweeps=30).model


@pytest.fixture(scope="module")
def stated(ising):
    return support_losses(ising, sparseopt.solve(ising, check=False).path.supports)


def test_ising_tables_are_proven(ising):
    assert sparseopt.solve(ising).verdict is Verdict.VERIFIED


def test_an_entry_that_is_not_the_smallest_is_found(ising, stated):
    proof = ising_subsets.prove_tables(ising, stated - 1e-9)
    assert proof.proven.all()
    assert proof.beaten is None
    rng = np.random.default_rng(0)
    node = np.repeat(np.arange(16), ising.candidates.sizes + 1)
    first = ising.candidates.ptr + np.arange(17)
    for at in rng.choice(np.setdiff1d(np.arange(len(stated)), first), 12, replace=False):
        worse = stated.copy()
        worse[at] += 1e-7
        found = ising_subsets.prove_tables(ising, worse - 1e-9).beaten
        assert found is not None
        assert found[:2] == (node[at], at - first[node[at]])
        assert found[2] == pytest.approx(stated[at], abs=1e-10)


@pytest.mark.thorough
def test_infima_of_separated_neighbours_are_proven():
    for seed in range(3):
        X = np.where(np.random.default_rng(seed).random((30, 7)) < 0.5, -1, 1)
        X[:, 1] = X[:, 0]
        X[:, 4] = np.sign(X[:, 3] + X[:, 5] + X[:, 6])
        model = L0GraphicalModel(X, Candidates.window(7, 4), loss="ising")
        result = sparseopt.solve(model)
        assert result.path.separated.any()
        assert result.verdict is Verdict.VERIFIED, result.check_messages
        loss = support_losses(model, result.path.supports)
        at = int(np.flatnonzero(result.path.separated)[0])
        worse = loss - 1e-9
        worse[at:] += 3e-9
        assert ising_subsets.prove_tables(model, worse).beaten is not None


def test_nodes_without_candidates_need_no_proof():
    X = np.array([[1, -1, 1], [-1, -1, 1], [1, 1, -1], [1, -1, -1]])
    mask = np.zeros((3, 3), dtype=bool)
    assert sparseopt.solve(L0GraphicalModel(X, mask, loss="ising")).verdict is Verdict.VERIFIED
    mask[0, 1] = True
    assert sparseopt.solve(L0GraphicalModel(X, mask, loss="ising")).verdict is Verdict.VERIFIED


def test_what_is_too_much_is_said(ising, monkeypatch):
    monkeypatch.setattr(ising_subsets, "_FITS", 100)
    monkeypatch.setattr(ising_subsets, "_NODES", 4)
    result = sparseopt.solve(ising)
    assert result.verdict is Verdict.UNPROVEN
    assert any("of 16 nodes are not proven" in message for message in result.check_messages)
    monkeypatch.setattr(gaussian_subsets, "WORK", 1e6)
    result = sparseopt.solve(graph_sample("band", n=60, d=300, d0=12).model)
    assert result.verdict is Verdict.UNPROVEN
    assert any("of 300 nodes are not proven" in message for message in result.check_messages)


def plain(rng, n):
    return rng.normal(size=(n, 9))


def copies(rng, n):
    X = rng.normal(size=(n, 9))
    X[:, 1], X[:, 4] = X[:, 0], -3.0 * X[:, 5]
    return X


def combinations(rng, n):
    X = rng.normal(size=(n, 9))
    X[:, 2] = X[:, 0] + X[:, 1]
    X[:, 5] = X[:, 4] - 2.0 * X[:, 6] + X[:, 3]
    return X


def narrow(rng, n):
    X = rng.normal(size=(n, 9))
    X[:, 2] = X[:, 0] + X[:, 1] + 1e-4 * X[:, 2]
    return X


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("ridge", [0.0, 0.05])
@pytest.mark.parametrize("design", [plain, copies, combinations, narrow])
def test_every_entry_that_is_not_the_smallest_is_found(design, ridge):
    X = design(np.random.default_rng(0), 40)
    model = L0GraphicalModel(X, Candidates.window(9, 7), ridge=ridge)
    null = model.null_losses().repeat(8)
    tables = np.concatenate([smallest_losses(model, j) for j in range(9)])
    proof = gaussian_subsets.prove_tables(model, tables - 1e-9 * null)
    assert proof.proven.all()
    assert proof.beaten is None
    for at in np.setdiff1d(np.arange(72), np.arange(9) * 8):
        node, size = divmod(int(at), 8)
        worse = tables - 1e-9 * null
        worse[at] += 3e-9 * null[at]
        found = gaussian_subsets.prove_tables(model, worse).beaten
        assert found is not None
        # Where fewer neighbours do as well, these are found.
        assert found[0] == node
        assert found[1] <= size
        assert found[2] == pytest.approx(tables[at], rel=1e-9, abs=1e-12 * null[at])
        assert found[2] == pytest.approx(tables[8 * node + found[1]], rel=1e-9)


def test_copies_and_combinations_among_many_candidates_are_proven():
    X = np.random.default_rng(0).normal(size=(40, 17))
    X[:, 1] = X[:, 0]
    X[:, 12] = X[:, 3] - X[:, 8]
    result = sparseopt.solve(L0GraphicalModel(X, Candidates.window(17, 16)))
    assert result.verdict is Verdict.VERIFIED


@pytest.mark.thorough
def test_nearly_dependent_candidates_are_searched_without_inner_products():
    # Inner products lose the ninth digit below a squared sine of 1e-7.
    for seed, width in ((0, 8), (1, 8), (2, 8), (3, 15)):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(40, width + 1))
        X[:, 2] = X[:, 0] + X[:, 1] + 10.0 ** rng.uniform(-4, -3) * X[:, 2]
        X[:, 5] = X[:, 4] - X[:, 6] + 10.0 ** rng.uniform(-4, -3) * X[:, 5]
        model = L0GraphicalModel(X, Candidates.window(width + 1, width))
        result = sparseopt.solve(model)
        assert result.verdict is Verdict.VERIFIED, result.check_messages
        if width == 8:
            stated = support_losses(model, result.path.supports)
            best = np.concatenate([smallest_losses(model, j) for j in range(9)])
            np.testing.assert_allclose(stated, best, rtol=1e-9, atol=1e-10)


@pytest.mark.thorough
def test_many_candidates_and_many_nodes_are_proven():
    for d, d0 in ((40, 30), (3500, 8)):
        model = graph_sample("band", n=60, d=d, d0=d0).model
        result = sparseopt.solve(model, budget=min(200, model.total))
        assert result.verdict is Verdict.VERIFIED


@pytest.mark.parametrize(
    "columns",
    [
        ("+++-+++---", "+-++-+++++", "+--+--++-+", "---++-++-+"),
        ("++---+-++++", "-++-------+", "+---+++-++-", "--+--------"),
    ],
)
def test_neighbours_that_separate_in_part_are_fitted_from_the_start_again(columns):
    # The coefficients of all three, without one of them, are too far from those of the two.
    X = np.array([[1.0 if sign == "+" else -1.0 for sign in column] for column in columns]).T
    problem = L0GraphicalModel(X, Candidates.window(4, 3), loss="ising")
    assert sparseopt.solve(problem).verdict is Verdict.VERIFIED
