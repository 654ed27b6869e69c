"""A process that solves again and again stays as large as it is."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from small_misdps import draw

import sparseopt
from sparseopt.bench.solving.process import current_memory
from sparseopt.compiling import Mode, override
from sparseopt.problems import CLIME, STRS, BudgetTables, DantzigSelector, LADLasso

RNG = np.random.default_rng(1)
X, Y = RNG.normal(size=(8, 4)), RNG.normal(size=8)
M = RNG.normal(size=(6, 6))
PROBLEMS: dict[str, Callable[[], Any]] = {
    "dantzig": lambda: DantzigSelector(X, Y),
    "lad": lambda: LADLasso(X, Y),
    "clime": lambda: CLIME(np.cov(X, rowvar=False)),
    "strs": lambda: STRS(M + M.T, M[0], d=3),
    "tables": lambda: BudgetTables([[3.0, 2.0, 1.0]] * 5),
    "misdp": lambda: draw(5),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_solving_again_takes_no_more_memory(name: str) -> None:
    def solved(times: int) -> int:
        for _ in range(times):
            sparseopt.solve(PROBLEMS[name]())
        gc.collect()
        return current_memory() or 0

    with override(Mode.NOW):
        before = solved(20)
        after = solved(100)
    assert after - before < 3e6
