"""Integers with parallel columns become one, and answers are those of the given problem."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("clarabel", reason="the reference answers come from Clarabel")

from merged_misdps import draw_with_multiples
from small_misdps import enumerated, faults
from thorough import first

import sparseopt
from sparseopt import Status
from sparseopt.checking.misdp.merged import merged_problem
from sparseopt.errors import ParamError
from sparseopt.generators.misdp import truss_topology
from sparseopt.problems import MISDP, SemidefiniteBlock
from sparseopt.solvers.misdp.reductions.merging import merge


def bars(times: list[float], **changes: object) -> MISDP:
    """Choose at most one of some sizes so that [[1, 1], [1, size]] is semidefinite."""
    k = len(times)
    given: dict[str, object] = {
        "c": np.array(times),
        "A": np.ones((1, k)),
        "row_upper": [1.0],
        "lower": np.zeros(k),
        "upper": np.ones(k),
        "integer": np.ones(k, dtype=bool),
        "blocks": [SemidefiniteBlock([np.zeros(k), np.zeros(k), times], [1.0, 1.0, -0.5])],
    }
    return MISDP(**{**given, **changes})


@pytest.mark.parametrize(
    ("times", "upper"), [([1.0, 2.0], 2.0), ([2.0, 1.0], 2.0), ([3.0, 1.0, 2.0], 3.0)]
)
def test_sizes_become_one_integer(times: list[float], upper: float) -> None:
    problem = bars(times)
    merged = merge(problem)
    assert len(merged.problem.c) == 1
    assert (merged.problem.lower[0], merged.problem.upper[0]) == (0.0, upper)
    for size in range(int(upper) + 1):
        x = merged.up(np.array([float(size)]))
        assert x.sum() <= 1.0
        assert merged.down(x) == [size]
    result = sparseopt.solve(problem, backend="misdp-bnb")
    assert (result.status, result.verdict) == (Status.OPTIMAL, "verified")
    assert result.objective == 2.0
    np.testing.assert_array_equal(result.x, np.array(times) == 2.0)


@pytest.mark.parametrize(
    "problem",
    [
        bars([1.0, 2.0, 4.0]),  # 3 is no size
        bars([2.0, 3.0]),  # nothing is 1
        bars([1.0, 2.0], c=[1.0, 1.5]),
        bars([1.0, 2.0], row_lower=[1.0]),  # 0 is not allowed
        bars([1.0, 2.0], integer=[True, False]),
        bars([1.0, 2.0], upper=[1.0, np.inf], integer=[True, False]),
    ],
)
def test_what_stays_as_it_is(problem: MISDP) -> None:
    assert merge(problem).problem is problem
    assert sparseopt.solve(problem, backend="misdp-bnb").verdict == "verified"


def test_rows_with_other_variables_keep_a_group_apart() -> None:
    problem = bars(
        [1.0, 2.0, 1.0],
        A=[[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]],
        row_lower=None,
        row_upper=[1.0, 1.0],
    )
    assert merge(problem).problem is problem


def test_equal_columns_become_a_general_integer() -> None:
    problem = bars([1.0] * 20, A=None, row_upper=None)
    merged = merge(problem).problem
    assert (len(merged.c), merged.upper[0]) == (1, 20.0)
    result = sparseopt.solve(problem, backend="misdp-bnb")
    assert (result.objective, result.verdict, result.x.sum()) == (2.0, "verified", 2.0)


@pytest.mark.thorough
def test_the_tree_of_a_truss_is_small() -> None:
    """With the sizes apart it has 449 nodes."""
    problem = truss_topology(seed=0, columns=3, rows=2)
    result = sparseopt.solve(problem, backend="misdp-bnb")
    assert result.verdict == "verified"
    assert result.nodes is not None and result.nodes < 200
    again = sparseopt.solve(problem, backend="misdp-bnb", warm_start=result.x, node_limit=1)
    assert again.objective == result.objective
    with pytest.raises(ParamError, match=f"an array of shape \\({len(problem.c)},\\)"):
        sparseopt.solve(problem, backend="misdp-bnb", warm_start=result.x[1:], node_limit=1)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("seed", first(2, tuple(range(60))))
def test_random_problems_agree_with_enumeration(seed: int) -> None:
    problem = draw_with_multiples(seed)
    known = enumerated(problem)
    for backend in ("misdp-bnb", "misdp-oa"):
        assert faults(problem, backend, known) == [], backend


def test_engine_and_checker_merge_alike() -> None:
    count = 0
    for seed in range(40):
        problem = draw_with_multiples(seed)
        merged = merge(problem)
        if merged.problem is problem:
            continue
        count += 1
        arrays = merged.answer(
            sparseopt.Result(
                status=Status.INFEASIBLE, certificate=sparseopt.Certificate("misdp-leaves")
            )
        ).certificate.arrays
        own = merged_problem(problem, arrays)
        for name in ("c", "lower", "upper", "integer", "row_lower", "row_upper"):
            np.testing.assert_array_equal(getattr(own, name), getattr(merged.problem, name))
        np.testing.assert_array_equal(own.A.toarray(), merged.problem.A.toarray())
        for mine, theirs in zip(own.blocks, merged.problem.blocks, strict=True):
            np.testing.assert_array_equal(mine.F.toarray(), theirs.F.toarray())
    assert count >= 15
