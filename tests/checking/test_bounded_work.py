"""Small certificates that ask for much work: counted, and given up as unproven."""

from __future__ import annotations

import numpy as np
import pytest

import sparseopt
from sparseopt import Certificate, Limit, Result, Status, exact
from sparseopt.checking import check
from sparseopt.checking.subset import verifier
from sparseopt.problems import SparseRegression


def caterpillar(depth, turns):
    """A tree whose nodes meet two blocks of dual vectors by turns, from the 70th level on.

    Node 2i + 1 has the variable i in, node 2i + 2 has it out. The vector 70 closes any node, for it
    leaves 1e-4 of y.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10, 400))
    problem = SparseRegression(X, X[:, :3].sum(axis=1) + rng.normal(size=10), k=3, ridge=1.0)
    w = np.linalg.solve(X[:, :10], (1.0 - 1e-4) * problem.y)
    r = problem.y - X[:, :10] @ w
    bound = problem.y @ r - 0.5 * r @ r - 0.5 * np.sort((X.T @ r) ** 2)[-3:].sum()
    assert bound > 0.0
    parent, variable, inside, dual = [-1], [-1], [0], [0]
    for level in range(depth):
        parent += [max(0, 2 * level)] * 2
        variable += [level + 10] * 2
        inside += [1, 0]
        dual += [70, level + 1 if level < 69 else 66 if turns else 70]
    dual[-1] = 70
    vectors = [([0], [0.01 * k]) for k in range(70)] + [(list(range(10)), w)]
    arrays = {
        "parent": np.array(parent),
        "variable": np.array(variable),
        "inside": np.array(inside),
        "dual": np.array(dual),
        "w_ptr": np.cumsum([0, *(len(index) for index, _ in vectors)]),
        "w_index": np.concatenate([index for index, _ in vectors]),
        "w_value": np.concatenate([value for _, value in vectors]),
    }
    x = np.zeros(400)
    return problem, Result(
        status=Status.FEASIBLE,
        limit=Limit.TIME,
        x=x,
        objective=problem.objective(x),
        bound=0.5 * bound,
        certificate=Certificate("subset-tree", arrays),
        kind=problem.kind,
    )


@pytest.mark.parametrize("turns", [False, True])
def test_vectors_that_are_met_again_and_again_are_counted(monkeypatch, turns):
    """71 vectors take 284,000 products; met by turns, 64 of them are multiplied at each node."""
    monkeypatch.setattr(verifier, "_PRODUCTS", 2e7)
    monkeypatch.setattr(verifier, "_PRICE", 1.0)
    verdict = check(*caterpillar(300, turns)).verdict.value
    assert verdict == ("unproven" if turns else "verified")
    assert check(*caterpillar(71, turns)).verdict.value == "verified"


def test_the_exact_program_keeps_its_time_within_a_tree(tmp_path):
    problem, result = caterpillar(300, True)
    files = tmp_path / "p.npz", tmp_path / "r.json"
    sparseopt.save(problem, files[0])
    sparseopt.save(result.with_changes(problem=problem), files[1])
    assert exact.check(*files, 0.05) == (
        "unproven",
        "too large: the time is over before all is checked",
    )
