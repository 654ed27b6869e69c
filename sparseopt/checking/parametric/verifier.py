"""The verifier of the family "parametric": which claim is judged by which evidence.

==============  ================================  ================================================
status          certificate                       verified when
==============  ================================  ================================================
OPTIMAL         "dual": nu                        the pair (x, nu) has no gap at lam
OPTIMAL         "dual-grid"                       the same at each value of the grid
OPTIMAL         "segments": bases                 the whole path is proven, and covers the range
OPTIMAL         "columnwise": bases of columns    the path of every column is proven
FEASIBLE        as above, or none                 a point: it is feasible, and its bound is proven
                                                  if it has one; a part of a path: it is proven
INFEASIBLE      "farkas": nu                      sigma(lam) < 0
UNBOUNDED       "ray": ray, x                     rho(lam) < 0 from a feasible x
==============  ================================  ================================================

Evidence that does not prove the claim it is offered for refutes the result, a claim of
infeasibility like a claim of optimality: a solver that returns bad evidence is wrong about
something. A claim without evidence is unproven, unless a simple witness (theta = 0 is
feasible, nu = 0 bounds the objective) refutes it.
"""

from __future__ import annotations

import numpy as np

from sparseopt.checking.evidence import Malformed
from sparseopt.checking.parametric.columns import verify_columns
from sparseopt.checking.parametric.dual import verify_dual, verify_grid
from sparseopt.checking.parametric.point import dual_point, primal_point
from sparseopt.checking.parametric.rays import verify_infeasible, verify_unbounded
from sparseopt.checking.parametric.segments import verify_segments
from sparseopt.checking.parametric.stated import check_stated_path
from sparseopt.checking.report import Findings
from sparseopt.problems.parametric.problem import ParametricProblem, PiecewiseLinearProgram
from sparseopt.result import Result, Status

__all__ = ["verify"]

_SOLVED = frozenset({Status.OPTIMAL, Status.CONVERGED, Status.FEASIBLE, Status.IMPRECISE})
_SOLUTION_PROOFS = {
    "dual": verify_dual,
    "dual-grid": verify_grid,
    "segments": verify_segments,
    "columnwise": verify_columns,
}
_NO_OPTIMUM_PROOFS = {"farkas": verify_infeasible, "ray": verify_unbounded}
_PROOFS_OF = {
    Status.INFEASIBLE: ("farkas",),
    Status.UNBOUNDED: ("ray",),
    Status.INF_OR_UNB: ("farkas", "ray"),
}


def verify(problem: ParametricProblem, result: Result, findings: Findings) -> None:
    """Judge the result of a parametric problem; see the table in the module's docstring."""
    program = problem.canonical()
    try:
        if result.status in _SOLVED:
            _verify_solution(problem, program, result, findings)
        elif result.status in _PROOFS_OF:
            _verify_no_optimum(program, result, findings)
        else:
            findings.doubt(f"the status {result.status.value} claims nothing")
    except Malformed as error:
        findings.refute(f"the evidence is malformed: {error}")
    if result.status is Status.IMPRECISE:
        findings.doubt("the status is imprecise: a checker refuted the result before")


def _verify_solution(
    problem: ParametricProblem,
    program: PiecewiseLinearProgram,
    result: Result,
    findings: Findings,
) -> None:
    certificate = result.certificate
    if certificate is not None:
        if certificate.kind in _SOLUTION_PROOFS:
            _SOLUTION_PROOFS[certificate.kind](problem, program, result, certificate, findings)
        elif certificate.kind in _NO_OPTIMUM_PROOFS:
            findings.refute(
                f"the status is {result.status.value}, but the certificate is a proof that there "
                f"is no optimum ({certificate.kind})"
            )
        else:
            findings.doubt(f"certificates of the kind {certificate.kind!r} are not known here")
    elif result.path is not None:
        check_stated_path(problem, program, result, findings)
        findings.doubt("there is no certificate that proves the path")
    elif not isinstance(result.params.lam, float):
        findings.refute("a path or a grid was asked for, and there is none")
    elif result.status is Status.OPTIMAL:
        findings.doubt("there is no certificate that proves the optimum")
    elif result.bound is not None and np.isfinite(result.bound):
        findings.doubt("there is no certificate that proves the bound")
    elif result.x is not None:
        findings.prove(f"feasible at lam = {result.params.lam:g}")


def _verify_no_optimum(program: PiecewiseLinearProgram, result: Result, findings: Findings) -> None:
    """Judge the claims INFEASIBLE, UNBOUNDED and INF_OR_UNB."""
    certificate, kinds = result.certificate, _PROOFS_OF[result.status]
    if certificate is None:
        _refute_by_zero(program, result, findings)
        findings.doubt(f"there is no certificate that proves the problem {result.status.value}")
    elif certificate.kind in kinds:
        _NO_OPTIMUM_PROOFS[certificate.kind](program, result, certificate, findings)
    else:
        findings.refute(
            f"the status is {result.status.value}, but the certificate is of the kind "
            f"{certificate.kind}; expected {' or '.join(kinds)}"
        )


def _refute_by_zero(program: PiecewiseLinearProgram, result: Result, findings: Findings) -> None:
    """Refute the claim where theta = 0 is feasible, or nu = 0 bounds the objective."""
    lam = result.params.lam
    if not isinstance(lam, float):
        return
    m, p = program.A.shape
    feasible = primal_point(program, np.zeros(p)).violation(lam)[0] == 0.0
    bounded = dual_point(program, np.zeros(m)).violation(lam)[0] == 0.0
    if feasible and result.status is Status.INFEASIBLE:
        findings.refute(f"the status is infeasible, but zero is feasible at lam = {lam:g}")
    if bounded and result.status is Status.UNBOUNDED:
        findings.refute(
            f"the status is unbounded, but nu = 0 bounds the objective at lam = {lam:g}"
        )
    if feasible and bounded and result.status is Status.INF_OR_UNB:
        findings.refute(
            f"there is an optimum at lam = {lam:g}: zero is feasible, and nu = 0 a bound"
        )
