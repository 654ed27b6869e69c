"""The path over the number of nonzeros: one exact solve after the other, each from the last."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sparseopt.backend import Control
from sparseopt.params import SolveParams
from sparseopt.paths.supports import SupportPath
from sparseopt.problems.base import Array
from sparseopt.problems.strs.path import STRSPath
from sparseopt.result import Certificate, Limit, Result, Status

from .exact import Solved, solve_exactly

__all__ = ["solve_sizes"]


def solve_sizes(
    problem: STRSPath, params: SolveParams, options: Mapping[str, Any], control: Control
) -> Result:
    """Solve for d = 1, 2, ... until the last size or a limit; limits of nodes are for each size."""
    results: list[Result] = []
    before: Solved | None = None
    limit: Limit | None = None
    arrays: dict[str, Array] = {}
    certified: list[bool] = []
    for d in range(1, problem.last + 1):
        before = solve_exactly(problem.at(d), params, options, control, before)
        result = before.result
        results.append(result)
        certified.append(result.status is Status.OPTIMAL)
        limit = limit or result.limit
        if result.certificate is not None:
            arrays |= {f"{name}_{d}": array for name, array in result.certificate.arrays.items()}
        control.progress(
            f"d = {d}", fraction=d / problem.last, objective=result.objective, bound=result.bound
        )
        if control.limit() is not None and d < problem.last:
            limit = limit or control.limit()
            break
    path = _path(results, certified, limit, problem)
    return Result(
        status=Status.OPTIMAL if limit is None else Status.FEASIBLE,
        limit=limit,
        raw_status=f"{sum(certified)} of {problem.last} sizes proven",
        x=results[-1].x,
        objective=results[-1].objective,
        bound=results[-1].bound,
        path=path,
        certificate=Certificate(kind="leaves-by-size", arrays=arrays),
        iterations=sum(result.iterations or 0 for result in results),
        nodes=sum(result.nodes or 0 for result in results),
        notes=tuple(dict.fromkeys(note for result in results for note in result.notes)),
    )


def _path(
    results: list[Result], certified: list[bool], limit: Limit | None, problem: STRSPath
) -> SupportPath:
    points = np.array([result.x for result in results])
    rows, columns = np.nonzero(points)
    whole = len(results) == problem.last
    return SupportPath(
        sizes=np.arange(1, len(results) + 1),
        objective=np.array([result.objective for result in results]),
        bound=np.array([result.bound for result in results]),
        certified=np.array(certified),
        ptr=np.searchsorted(rows, np.arange(len(results) + 1)).astype(np.int64),
        index=columns.astype(np.int64),
        value=points[rows, columns],
        variables=points.shape[1],
        stopped_by="d_max" if whole or limit is None else limit.value,
    )
