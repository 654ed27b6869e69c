"""What the checker proves of the tables, and what it does not."""

import numpy as np
import pytest

import sparseopt
from sparseopt import Verdict
from sparseopt.checking import graphical, ising_subsets
from sparseopt.checking.gaussian_subsets import prove_node
from sparseopt.checking.ising_subsets import prove_tables
from sparseopt.checking.subsets import smallest_losses
from sparseopt.generators import graph_sample, ising_lattice_sample
from sparseopt.problems import Candidates, L0GraphicalModel
from sparseopt.refit import support_losses


@pytest.fixture(scope="module")
def ising():
    return ising_lattice_sample(n=150, rows=4, columns=4, sweeps=30).model


@pytest.fixture(scope="module")
def stated(ising):
    return support_losses(ising, sparseopt.solve(ising, check=False).path.supports)


def test_ising_tables_are_proven(ising):
    assert sparseopt.solve(ising).verdict is Verdict.VERIFIED


def test_an_entry_that_is_not_the_smallest_is_found(ising, stated):
    proof = prove_tables(ising, stated, 1e-9)
    assert proof.proven.all()
    assert proof.beaten is None
    rng = np.random.default_rng(0)
    node = np.repeat(np.arange(16), ising.candidates.sizes + 1)
    first = ising.candidates.ptr + np.arange(17)
    for at in rng.choice(np.setdiff1d(np.arange(len(stated)), first), 12, replace=False):
        worse = stated.copy()
        worse[at] += 1e-7
        found = prove_tables(ising, worse, 1e-9).beaten
        assert found is not None
        assert found[:2] == (node[at], at - first[node[at]])
        assert found[2] == pytest.approx(stated[at], abs=1e-10)


def test_nodes_with_separated_neighbours_are_left_open():
    X = np.where(np.random.default_rng(0).random((30, 6)) < 0.5, -1, 1)
    X[:, 1] = X[:, 0]
    model = L0GraphicalModel(X, Candidates.window(6, 3), loss="ising")
    result = sparseopt.solve(model)
    assert result.verdict is Verdict.UNPROVEN
    assert any("separate" in message for message in result.check_messages)
    ridged = L0GraphicalModel(X, Candidates.window(6, 3), loss="ising", ridge=0.01)
    assert sparseopt.solve(ridged).verdict is Verdict.VERIFIED


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
    monkeypatch.setattr(graphical, "_SECONDS", 0.05)
    model = graph_sample("band", n=60, d=300, d0=12).model
    result = sparseopt.solve(model)
    assert result.verdict is Verdict.UNPROVEN
    assert any("of 300 nodes are not proven" in message for message in result.check_messages)


@pytest.mark.parametrize("ridge", [0.0, 0.05])
def test_bounds_find_every_entry_that_is_not_the_smallest(ridge):
    sample = graph_sample("band", n=40, d=12, d0=8).model
    model = L0GraphicalModel(sample.X, sample.candidates, ridge=ridge)
    tables = smallest_losses(model, np.arange(12)).reshape(12, 9)
    for j in range(12):
        table = tables[j] - 1e-9 * tables[j, 0]
        proof = prove_node(model, j, table, 1e9)
        assert proof.complete
        assert proof.beaten is None
        for size in range(1, 9):
            worse = table.copy()
            worse[size] += 3e-9 * table[0]
            found = prove_node(model, j, worse, 1e9)
            assert found.beaten[0] == size
            assert found.beaten[1] == pytest.approx(tables[j, size], rel=1e-10)
    assert not prove_node(model, 11, table, 100.0).complete


def test_copies_are_left_to_the_enumeration():
    X = np.random.default_rng(0).normal(size=(40, 17))
    X[:, 1] = X[:, 0]
    few = sparseopt.solve(L0GraphicalModel(X, Candidates.window(17, 12)))
    assert few.verdict is Verdict.VERIFIED
    many = sparseopt.solve(L0GraphicalModel(X, Candidates.window(17, 16)))
    assert many.verdict is Verdict.UNPROVEN


def test_many_candidates_and_many_nodes_are_proven():
    for d, d0 in ((30, 22), (3500, 8)):
        model = graph_sample("band", n=60, d=d, d0=d0).model
        result = sparseopt.solve(model, budget=min(200, model.total))
        assert result.verdict is Verdict.VERIFIED
