"""Proof of the paths of all columns of a matrix problem: the certificate "columnwise".

``arrays``: the bases of all columns one after another. `column_ptr` (columns + 1,): the segments
of column i are ``column_ptr[i]:column_ptr[i + 1]``; `low`, `high` (S,); `codes`, the basis that
every column starts from; `change_ptr` (S + 1,), `changed`, `change_code`: the changes of codes
before each segment, those before a column's first segment made to `codes`. `farkas_columns` and
`farkas` (columns that end because nothing is feasible below, and their multipliers).

Each column is proven by itself, as the path of its own problem (:mod:`.proof`).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sparseopt.checking.evidence import Malformed, same_numbers
from sparseopt.checking.parametric.bases.precise import PreciseMatrix
from sparseopt.checking.parametric.bases.tables import CodeTables
from sparseopt.checking.parametric.evaluation.point import OF_X
from sparseopt.checking.parametric.segments.proof import verify_segments
from sparseopt.checking.report import CheckReport, Findings, reported
from sparseopt.checking.tolerances import COPY, OBJECTIVE
from sparseopt.paths.columns import ColumnwisePath
from sparseopt.paths.parametric import ParametricPath
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.columnwise import ColumnwiseProblem
from sparseopt.problems.parametric.problem import ParametricProblem
from sparseopt.result import Certificate, Result, Status


def check_columns(problem: ColumnwiseProblem, result: Result) -> CheckReport:
    """Verify the exact paths of columns, without the point at their common end.

    That point, its objective and its multipliers follow from the paths. Where they were computed
    from these, their products with the whole matrix would prove nothing new.

    Parameters
    ----------
    problem : ColumnwiseProblem
    result : Result
        With a ColumnwisePath; hostile input.

    Returns
    -------
    CheckReport
    """

    def judge(findings: Findings) -> None:
        path, certificate = result.path, result.certificate
        if not isinstance(path, ColumnwisePath) or certificate is None:
            findings.doubt("there are no paths with a certificate")
        elif result.status not in (Status.OPTIMAL, Status.FEASIBLE):
            findings.doubt(f"the status {result.status.value} claims nothing that could be proven")
        elif list(path.columns[0].names) != problem.column(0).coefficient_names:
            findings.refute("the path's names are not those of the problem's coefficients")
        else:
            _verify_paths(problem, result, certificate, False, findings)

    return reported(result, judge)


def verify_columns(
    problem: ParametricProblem, result: Result, certificate: Certificate, findings: Findings
) -> None:
    """Verify the path of every column, and that the result states their common end.

    Parameters
    ----------
    problem : ParametricProblem
    result : Result
    certificate : Certificate
        Of the result.
    findings : Findings
        What was found of the point x so far. Gets what was found here.

    Raises
    ------
    Malformed
    """
    path = result.path
    if not isinstance(problem, ColumnwiseProblem) or not isinstance(path, ColumnwisePath):
        findings.refute("the certificate is for the columns of a matrix problem; this is another")
        return
    findings.cover("path", "duals")
    if len(path.columns) != problem.columns:
        findings.refute(f"there are {len(path.columns)} paths for {problem.columns} columns")
        return
    doubtful_end = findings.doubts(OF_X[0])
    exact = _verify_paths(problem, result, certificate, doubtful_end, findings)
    if findings.refuted:
        return
    if exact:
        for about in OF_X:
            findings.settle(about)
    _check_end(problem, path, result, findings)


def _verify_paths(
    problem: ColumnwiseProblem,
    result: Result,
    certificate: Certificate,
    doubtful_end: bool,
    findings: Findings,
) -> bool:
    """Verify the path of every column, and nothing else that the result states.

    Parameters
    ----------
    problem : ColumnwiseProblem
    result : Result
        With a ColumnwisePath of as many columns.
    certificate : Certificate
        Of the result.
    doubtful_end : bool
        Whether the points at the ends are to be proven in 106 bits.
    findings : Findings
        Gets what was found.

    Returns
    -------
    bool
        Whether doubts about the rounding of the point at the end are settled.

    Raises
    ------
    Malformed
    """
    try:
        parts = _parts(certificate, problem.columns)
    except (KeyError, IndexError, ValueError) as error:
        raise Malformed(f"columnwise: {error}") from error
    assert isinstance(result.path, ColumnwisePath)
    exact = True
    one = problem.column(0)
    common, row_kinks = one.canonical(), problem.row_kinks()
    matrix = PreciseMatrix(common.A)
    tables = CodeTables(common.functions)
    for i, (column, part) in enumerate(zip(result.path.columns, parts, strict=True)):
        inner = Findings()
        own = common.with_row_kinks(row_kinks[i])
        of_column = _of_column(result, column)
        verify_segments(one, own, of_column, part, inner, matrix, doubtful_end, tables)
        findings.adopt(inner, f"column {i}")
        if findings.refuted:
            return False
        exact = exact and all(inner.settles(about) for about in OF_X)
    return exact


def _of_column(result: Result, path: ParametricPath) -> Result:
    """Return what the result states about one column."""
    return result.with_changes(
        path=path, x=None, objective=None, bound=None, duals={}, certificate=None
    )


def _parts(certificate: Certificate, columns: int) -> list[Certificate]:
    """Split the certificate into one of the kind "segments" for each column."""
    arrays = certificate.arrays
    ptr, change_ptr = arrays["column_ptr"], arrays["change_ptr"]
    if len(ptr) != columns + 1 or ptr[0] != 0 or (np.diff(ptr) < 1).any():
        raise ValueError("column_ptr does not give every column a segment")
    if ptr[-1] != len(arrays["low"]) or len(change_ptr) != ptr[-1] + 1:
        raise ValueError("the segments are not those that column_ptr counts")
    farkas = dict(zip(arrays.get("farkas_columns", ()), arrays.get("farkas", ()), strict=True))
    return [
        _part(arrays, int(ptr[i]), int(ptr[i + 1]), farkas.get(np.int64(i))) for i in range(columns)
    ]


def _part(arrays: Mapping[str, Array], begin: int, end: int, farkas: Array | None) -> Certificate:
    change_ptr = arrays["change_ptr"]
    first, then = (
        slice(*change_ptr[begin : begin + 2]),
        slice(change_ptr[begin + 1], change_ptr[end]),
    )
    codes = arrays["codes"].copy()
    codes[arrays["changed"][first]] = arrays["change_code"][first]
    inner = np.concatenate([[0], change_ptr[begin + 1 : end + 1] - change_ptr[begin + 1]])
    part = {
        "low": arrays["low"][begin:end],
        "high": arrays["high"][begin:end],
        "codes": codes,
        "change_ptr": inner.astype(np.int64),
        "changed": arrays["changed"][then],
        "change_code": arrays["change_code"][then],
    }
    values = {}
    if farkas is not None:
        part["farkas"], values["end"] = farkas, "infeasible_below"
    return Certificate("segments", part, values)


def _check_end(
    problem: ColumnwiseProblem, path: ColumnwisePath, result: Result, findings: Findings
) -> None:
    """Compare what the result states with the columns' paths at their common end."""
    lam = float(path.low[-1])
    reasons = {column.stopped_by for column in path.columns if float(column.low[-1]) == lam}
    if path.stopped_by not in reasons:
        findings.refute(
            f"the path ends by {path.stopped_by!r}, its columns by {', '.join(sorted(reasons))}"
        )
    for name, stated, expected in (
        ("x", result.x, path.at(lam)),
        ("the row multipliers", result.duals.get("rows"), path.dual_at(lam)),
    ):
        if stated is not None and not same_numbers(stated, expected, COPY):
            findings.refute(f"{name} of the result is not that of the columns' common end")
    values = np.array([column.objective_at(lam) for column in path.columns])
    size = max(float(np.abs(values).sum()), np.finfo(float).tiny)
    total = float(values.sum())
    sign = problem.canonical_sign
    if result.objective is not None and not abs(result.objective - total) <= OBJECTIVE * size:
        findings.refute("the objective of the result is not that of the columns' common end")
    if result.bound is not None and not sign * (result.bound - total) <= OBJECTIVE * size:
        findings.refute("the stated bound is not proven by the columns' paths")
