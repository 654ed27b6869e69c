r"""Tables under one budget as a mixed-integer linear program.

.. math:: \min \sum_{j,k} L_j(k) y_{jk} \quad\text{subject to}\quad \sum_k y_{jk} = 1,\;
          \sum_{j,k} k\, y_{jk} \le K,\; y \in \{0, 1\}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseopt.backend import Control
from sparseopt.problems.base import Array
from sparseopt.problems.budget.tables import BudgetTables
from sparseopt.result import Result

from ...common.program import Program
from ...common.warm_start import warm_point
from .base import GAP, Formulation, Solver, result_of


def solve_tables(
    problem: BudgetTables, solver: Solver, options: Mapping[str, Any], control: Control
) -> Result:
    """Answer for one budget: the one that was asked for, or the largest.

    Parameters
    ----------
    problem : BudgetTables
    solver : Solver
    options : mapping
        Of the backend.
    control : Control

    Returns
    -------
    Result
    """
    params = control.params
    last = problem.last_budget(params.budget)
    size = max(float(np.abs(problem.values).max()), np.finfo(float).tiny)
    with control.building():
        program = knapsack_program(problem, last, size)
    answer = solver.ask(
        program,
        control,
        options,
        rel_gap=GAP * params.rel_gap,
        abs_gap=GAP * params.abs_gap / size,
        start=_start(control.warm_start, problem, last),
    )
    counts = None
    if answer.x is not None:
        # The largest entry of each node: where y is binary, its only one.
        counts = np.array(
            [
                int(np.argmax(answer.x[begin:end]))
                for begin, end in zip(problem.ptr[:-1], problem.ptr[1:], strict=True)
            ]
        )
        if counts.sum() > last:
            counts = None
    bound = None if answer.bound is None else answer.bound * size
    scale = float(np.abs(problem.values).sum())
    return result_of(problem, answer, counts, bound, scale, control)


def knapsack_program(problem: BudgetTables, budget: int, size: float) -> Program:
    """Return the program at a budget, with losses divided by `size`.

    Parameters
    ----------
    problem : BudgetTables
        With N entries in J tables.
    budget : int
    size : float
        > 0.

    Returns
    -------
    Program
        N binary variables, J + 1 rows.
    """
    N, J = len(problem.values), len(problem.ptr) - 1
    node = np.repeat(np.arange(J), np.diff(problem.ptr))
    k = np.arange(N) - problem.ptr[node]
    one_each = sp.csr_array((np.ones(N), (node, np.arange(N))), shape=(J, N))
    return Program(
        cost=problem.values / size,
        low=np.zeros(N),
        high=np.ones(N),
        matrix=sp.csc_array(sp.vstack([one_each, k[None].astype(float)])),
        row_low=np.append(np.ones(J), -np.inf),
        row_high=np.append(np.ones(J), float(budget)),
        integer=np.ones(N, dtype=bool),
    )


def _start(given: Any, problem: BudgetTables, budget: int) -> Array | None:
    """Turn counts that keep the budget into a point of the program."""
    counts = warm_point(given, len(problem.ptr) - 1)
    if counts is None or max(problem.residuals(counts, float(budget)).values()) > 0.0:
        return None
    y = np.zeros(len(problem.values))
    y[problem.ptr[:-1] + counts.astype(np.int64)] = 1.0
    return y


TABLES = Formulation(BudgetTables, solve_tables, chosen_up_to=("total", 2000))
