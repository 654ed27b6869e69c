"""The columns of a columnwise problem one after another, where their matrix is not formed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from sparseopt.paths.columns import StackedPaths
from sparseopt.paths.parametric import ParametricPath, SparseRows
from sparseopt.problems import ParametricProblem, PiecewiseLinearProgram
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.columnwise import ColumnwiseProblem
from sparseopt.result import Certificate, Limit, Result, Status

from ..program import ScaledProgram
from .columns import columns_result

Follow = Callable[[ParametricProblem, PiecewiseLinearProgram, ScaledProgram], Result]
"""Follows the path of one column, given in its general form and as the engine sees it."""

_FOR_ALL = frozenset({Limit.TIME, Limit.INTERRUPTED})
"""Limits that no column after one of them could meet."""
_PROOFS = frozenset({"low", "high", "codes", "change_ptr", "changed", "change_code", "farkas"})


def solve_each(
    problem: ColumnwiseProblem, common: PiecewiseLinearProgram, follow: Follow
) -> Result | None:
    """Follow the paths of all columns, with products of the matrix that they share.

    Parameters
    ----------
    problem : ColumnwiseProblem
    common : PiecewiseLinearProgram
        Of its column 0.
    follow : callable

    Returns
    -------
    Result or None
        Without a solution where a limit ended the work before the last column; None where a path
        does not begin at an infinite lam: the columns are then to be solved as one program.
    """
    paths: list[ParametricPath] = []
    certificates: list[Certificate] = []
    pivots = 0
    for column, program, scaled in _columns(problem, common):
        result = follow(column, program, scaled)
        pivots += result.iterations or 0
        path, certificate = result.path, result.certificate
        if not isinstance(path, ParametricPath) or certificate is None:
            return None if result.limit is None else result.with_changes(iterations=pivots)
        if not _PROOFS.issuperset(certificate.arrays) or path.high[0] != np.inf:
            return None
        paths.append(path)
        certificates.append(certificate)
        if result.limit in _FOR_ALL and len(paths) < problem.columns:
            # each of the others would still take the time of a first segment
            return Result(
                status=Status.NO_SOLUTION,
                limit=result.limit,
                raw_status=str(result.limit),
                iterations=pivots,
            )
    return columns_result([_stacked(paths)], _joined(certificates), pivots)


def _columns(
    problem: ColumnwiseProblem, common: PiecewiseLinearProgram
) -> Iterator[tuple[ParametricProblem, PiecewiseLinearProgram, ScaledProgram]]:
    """Yield the columns; their programs differ in the constants of the rows' kinks."""
    scaled, row_kinks = ScaledProgram.from_program(common), problem.row_kinks()
    for i in range(problem.columns):
        program = common.with_row_kinks(row_kinks[i])
        yield problem.column(i), program, scaled.with_row_kinks(row_kinks[i])


def _stacked(paths: list[ParametricPath]) -> StackedPaths:
    return StackedPaths(
        ptr=np.cumsum([0, *(len(path.low) for path in paths)]),
        low=np.concatenate([path.low for path in paths]),
        high=np.concatenate([path.high for path in paths]),
        theta=_rows([path.theta for path in paths]),
        nu=_rows([path.nu for path in paths]),
        objective=np.concatenate([path.objective for path in paths]),
        shape=paths[0].shape,
        names=paths[0].names,
        stopped_by=[path.stopped_by for path in paths],
    )


def _rows(parts: list[SparseRows]) -> SparseRows:
    return SparseRows(
        ptr=_pointers([part.ptr for part in parts]),
        index=np.concatenate([part.index for part in parts]),
        value=np.concatenate([part.value for part in parts]),
        rate=np.concatenate([part.rate for part in parts]),
    )


def _pointers(parts: list[Array]) -> Array:
    """Join pointers that each begin at 0."""
    return np.concatenate([[0], np.cumsum(np.concatenate([np.diff(part) for part in parts]))])


def _joined(parts: list[Certificate]) -> Certificate:
    """Join the proofs of single paths; :mod:`sparseopt.checking.parametric` takes them apart."""
    codes = parts[0].arrays["codes"]
    counts, changed, change_code = [], [], []
    for part in parts:
        arrays = part.arrays
        moved = np.flatnonzero(arrays["codes"] != codes)
        count = np.diff(arrays["change_ptr"])
        count[0] += len(moved)
        counts.append(count)
        changed += [moved, arrays["changed"]]
        change_code += [arrays["codes"][moved], arrays["change_code"]]
    arrays = {
        "column_ptr": np.cumsum([0, *(len(part.arrays["low"]) for part in parts)]),
        "low": np.concatenate([part.arrays["low"] for part in parts]),
        "high": np.concatenate([part.arrays["high"] for part in parts]),
        "codes": codes,
        "change_ptr": np.concatenate([[0], np.cumsum(np.concatenate(counts))]),
        "changed": np.concatenate(changed),
        "change_code": np.concatenate(change_code),
    }
    ended = [i for i, part in enumerate(parts) if "farkas" in part.arrays]
    if ended:
        arrays["farkas_columns"] = np.array(ended)
        arrays["farkas"] = np.stack([parts[i].arrays["farkas"] for i in ended])
    return Certificate(kind="columnwise", arrays=arrays)
