"""The checker is attacked: nothing false that a result states may come out verified."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from attacks import damages, lies
from small_misdps import draw

import sparseopt
from sparseopt import Verdict
from sparseopt.checking import check
from sparseopt.problems import (
    CLIME,
    MISDP,
    STRS,
    BudgetTables,
    Candidates,
    DantzigSelector,
    KernelSelection,
    L0GraphicalModel,
    LADLasso,
    ParametricLP,
    STRSPath,
)


def dantzig(seed):
    rng = np.random.default_rng(seed)
    return DantzigSelector(X=rng.normal(size=(6, 3)), y=rng.normal(size=6))


def lad(seed):
    rng = np.random.default_rng(seed)
    return LADLasso(X=rng.normal(size=(7, 3)), y=rng.normal(size=7), fit_intercept=True)


def lp(seed):
    rng = np.random.default_rng(seed)
    return ParametricLP(
        A=rng.uniform(0.5, 2.0, (3, 4)),
        b=rng.uniform(1.0, 2.0, 3),
        b_bar=rng.uniform(0.5, 1.0, 3),
        c=rng.uniform(0.5, 2.0, 4),
        c_bar=-rng.uniform(0.5, 1.0, 4),
    )


def clime(seed):
    return CLIME(np.cov(np.random.default_rng(seed).normal(size=(20, 3)), rowvar=False))


def tables(seed):
    rng = np.random.default_rng(seed)
    return BudgetTables([np.sort(rng.normal(size=4))[::-1] for _ in range(5)])


def gaussian(seed):
    X = np.random.default_rng(seed).normal(size=(20, 5))
    return L0GraphicalModel(X, Candidates.window(5, 3))


def ising(seed):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((60, 4)) < 0.5, -1, 1)
    X[:, 1] = np.where(rng.random(60) < 0.8, X[:, 0], -X[:, 0])
    return L0GraphicalModel(X, Candidates.window(4, 3), loss="ising")


def _matrix(seed):
    M = np.random.default_rng(seed).normal(size=(6, 6))
    return M + M.T


def strs(seed):
    return STRS(A=_matrix(seed), a=_matrix(seed + 50)[0], d=2)


def strs_path(seed):
    return STRSPath(A=_matrix(seed), a=_matrix(seed + 50)[0], d_max=4)


def kernels(seed):
    rng = np.random.default_rng(seed)
    return KernelSelection(rng.normal(size=(30, 5)), rng.normal(size=(30, 5)) + 0.5, "linear", d=2)


def misdp(seed):
    problem = draw(5 + seed)
    assert isinstance(problem, MISDP)
    return problem


CASES = {
    "dantzig point": (dantzig, {"lam": 0.5}),
    "dantzig grid": (dantzig, {"lam": (0.9, 0.5)}),
    "dantzig path": (dantzig, {}),
    "dantzig knots": (dantzig, {"max_knots": 2}),
    "lad point": (lad, {"lam": 0.5}),
    "lad path": (lad, {}),
    "lp point": (lp, {"lam": 0.3}),
    "lp path": (lp, {"lam_min": 0.1}),
    "columns": (clime, {"lam_min": 0.05}),
    "tables": (tables, {}),
    "gaussian graph": (gaussian, {}),
    "ising graph": (ising, {}),
    "strs": (strs, {}),
    "strs path": (strs_path, {}),
    "kernels": (kernels, {}),
    "misdp": (misdp, {}),
}


@cache
def solved(name, seed=0):
    make, question = CASES[name]
    problem = make(seed)
    result = sparseopt.solve(problem, **question)
    assert result.verdict is Verdict.VERIFIED, result.check_messages
    return problem, result


@pytest.mark.parametrize("name", CASES)
def test_no_lie_is_verified(name):
    problem, result = solved(name)
    _, other = solved(name, 1)
    other = other.with_changes(problem=problem, fingerprint=None, kind=result.kind)
    believed = [
        attack
        for attack, lie in lies(problem, result, other)
        if check(problem, lie).verdict is Verdict.VERIFIED
    ]
    assert believed == []


@pytest.mark.parametrize("name", CASES)
def test_no_damage_raises(name):
    problem, result = solved(name)
    count = 0
    for _, damaged in damages(result):
        assert check(problem, damaged).verdict in Verdict
        count += 1
    assert count >= 2
