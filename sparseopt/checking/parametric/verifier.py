"""The verifier of the family "parametric": which claim is judged by which evidence.

==============  ================================  ================================================
status          certificate                       verified when
==============  ================================  ================================================
OPTIMAL         "dual": nu                        the pair (x, nu) has no gap at lam
OPTIMAL         "dual-grid"                       the same at each value of the grid
OPTIMAL         "segments": bases                 the whole path is proven, and covers the range
OPTIMAL         "columnwise": bases of columns    the path of every column is proven
OPTIMAL         none: a QuantilePath has bases    all levels of quantile regression are proven
FEASIBLE        as above, or none                 a point: it is feasible, and its bound is proven
                                                  if it has one; a part of a path: it is proven
INFEASIBLE      "farkas": nu                      sigma(lam) < 0
UNBOUNDED       "ray": ray, x                     rho(lam) < 0 from a feasible x
UNBOUNDED,      "ray": ray, x, ray_above,         rho(lam) < 0 from a feasible x at one lam; at each
path            farkas, farkas_above              of the others rho < 0, or sigma < 0
UNBOUNDED,      "ray": ray, low, x, x_rate,       rho(lam) < 0 from points that are feasible,
all lam         ray_above                         affine in lam between knots
INFEASIBLE,     the same with one row for each    the same at each value of the grid
UNBOUNDED       value of a grid, the largest
                first
==============  ================================  ================================================

Evidence that does not prove the claim it is offered for refutes the result, a claim of
infeasibility like a claim of optimality: a solver that returns bad evidence is wrong about
something. A claim without evidence is unproven, unless a simple witness (theta = 0 is
feasible, nu = 0 bounds the objective) refutes it.
"""

from __future__ import annotations

from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np

from sparseopt.checking.evidence import Malformed, same_numbers
from sparseopt.checking.parametric.bases.layout import read_path
from sparseopt.checking.parametric.dual import read_grid, verify_dual, verify_grid
from sparseopt.checking.parametric.ends.range import check_range
from sparseopt.checking.parametric.ends.rays import verify_infeasible, verify_unbounded
from sparseopt.checking.parametric.evaluation.heavy import known_value
from sparseopt.checking.parametric.evaluation.point import (
    PrimalPoint,
    dual_point,
    feasibility_doubt,
    objective_scales,
    primal_point,
)
from sparseopt.checking.parametric.quantiles import verify_quantiles
from sparseopt.checking.parametric.segments.columns import verify_columns
from sparseopt.checking.parametric.segments.proof import verify_segments
from sparseopt.checking.report import Findings
from sparseopt.checking.tolerances import COPY, FEASIBILITY, OBJECTIVE
from sparseopt.checking.verifiers import Evaluation
from sparseopt.errors import ProblemError
from sparseopt.paths.columns import ColumnwisePath
from sparseopt.paths.parametric import GridPath, ParametricPath
from sparseopt.paths.quantiles import QuantilePath
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.columnwise import ColumnwiseProblem
from sparseopt.problems.parametric.problem import ParametricProblem, PiecewiseLinearProgram
from sparseopt.result import Certificate, Result, Status

_SOLVED = frozenset({Status.OPTIMAL, Status.CONVERGED, Status.FEASIBLE, Status.IMPRECISE})
_SOLUTION_PROOFS = {
    "dual": verify_dual,
    "dual-grid": verify_grid,
    "segments": verify_segments,
}
_NO_OPTIMUM_PROOFS = {"farkas": verify_infeasible, "ray": verify_unbounded}
_COORDINATES = 2**16
"""Of the columns that are evaluated at a time."""
_PROOFS_OF = {
    Status.INFEASIBLE: ("farkas",),
    Status.UNBOUNDED: ("ray",),
    Status.INF_OR_UNB: ("farkas", "ray"),
}


class ParametricVerifier:
    """Judges results of parametric problems; see the table in the module's docstring."""

    def __call__(self, problem: ParametricProblem, result: Result, findings: Findings) -> None:
        """Judge a result."""
        _check_words(problem, result, findings)
        proof = result.certificate
        try:
            if result.status in _SOLVED and proof is not None and proof.kind == "columnwise":
                verify_columns(problem, result, proof, findings)
            elif result.status in _SOLVED:
                _verify_solution(problem, _canonical(problem), result, findings)
            elif result.status in _PROOFS_OF:
                _verify_no_optimum(_canonical(problem), result, findings)
        except Malformed as error:
            findings.refute(f"the evidence is malformed: {error}")

    def evaluate(self, problem: ParametricProblem, x: Array, lam: float | None) -> Evaluation:
        """Evaluate a point of one lam, its violations relative to the size of their terms."""
        if lam is None:
            raise ProblemError("there is a point, but no single lam that it belongs to")
        if isinstance(problem, ColumnwiseProblem):
            return _evaluate_columns(problem, x, lam)
        return _evaluate(problem, _canonical(problem), x, lam)


verify = ParametricVerifier()

_programs: WeakKeyDictionary[ParametricProblem, PiecewiseLinearProgram] = WeakKeyDictionary()


def _canonical(problem: ParametricProblem) -> PiecewiseLinearProgram:
    """Return the general form, the same object for all that is looked at, as units depend on it."""
    program = _programs.get(problem)
    if program is None:
        program = _programs[problem] = problem.canonical()
    return program


def _evaluate(
    problem: ParametricProblem, program: PiecewiseLinearProgram, x: Array, lam: float
) -> Evaluation:
    point = primal_point(program, x)
    ratio, at = point.violation(lam)
    value = problem.objective(x, lam)
    scales = objective_scales(point, lam, value)
    value, rounding = known_value(point, lam, problem.canonical_sign * value, scales)
    return Evaluation(
        value=problem.canonical_sign * value,
        size=scales.size,
        data_size=scales.data_size,
        rounding=rounding,
        violation=ratio / FEASIBILITY,
        where=f"{point.name(at)} by {ratio:.3g} of its scale",
        residuals={"primal": ratio},
        doubt=feasibility_doubt(point, lam),
    )


def _evaluate_columns(problem: ColumnwiseProblem, x: Array, lam: float) -> Evaluation:
    """Evaluate a few columns at a time: what is computed of them stays in a processor's cache."""
    m, p = problem.column(0).canonical().A.shape
    if x.shape != (p * problem.columns,):
        raise ProblemError(f"x has shape {x.shape}; expected ({p * problem.columns},)", "x")
    step = max(1, _COORDINATES // (m + p))
    if step >= problem.columns:
        return _evaluate(problem, _canonical(problem), x, lam)
    value, parts = problem.objective(x, lam), []
    for begin in range(0, problem.columns, step):
        columns = range(begin, min(begin + step, problem.columns))
        part = problem.part(columns)
        found = _evaluate(part, part.canonical(), x[p * begin : p * columns.stop], lam)
        here = f" (columns {begin} to {columns.stop - 1}, by themselves)"
        parts.append(
            replace(found, where=found.where + here, doubt=found.doubt and found.doubt + here)
        )
    worst = max(parts, key=lambda part: part.violation)
    return replace(
        worst,
        value=value,
        size=sum(part.size for part in parts),
        data_size=sum(part.data_size for part in parts),
        rounding=sum(part.rounding for part in parts),
        doubt=next((part.doubt for part in parts if part.doubt), ""),
    )


def _check_words(problem: ParametricProblem, result: Result, findings: Findings) -> None:
    """Refute multipliers and coefficients under other names than the problem's."""
    others = sorted(set(result.duals) - {"rows"})
    if others:
        findings.refute(f"there are multipliers {others[0]!r}; a parametric problem has 'rows'")
    path, own = result.path, problem
    if isinstance(path, ColumnwisePath) and isinstance(problem, ColumnwiseProblem):
        own = problem.column(0)
    parts = path.columns if isinstance(path, ColumnwisePath) else [path]
    expected = own.coefficient_names
    for part in parts:
        names = getattr(part, "names", expected)
        if names is not expected and list(names) != expected:
            findings.refute("the path's names are not those of the problem's coefficients")
            return


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
    elif isinstance(result.path, QuantilePath):
        verify_quantiles(program, result, result.path, findings)
    elif result.path is not None:
        _check_stated_path(problem, program, result, findings)
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
        for part, proof in _single_claims(result, certificate):
            _NO_OPTIMUM_PROOFS[certificate.kind](program, part, proof, findings)
    else:
        findings.refute(
            f"the status is {result.status.value}, but the certificate is of the kind "
            f"{certificate.kind}; expected {' or '.join(kinds)}"
        )


def _single_claims(result: Result, certificate: Certificate) -> list[tuple[Result, Certificate]]:
    """Take the rows of a certificate for a grid apart: one for each value, the largest first."""
    arrays, lam = certificate.arrays, result.params.lam
    if lam is None or all(array.ndim != 2 for array in arrays.values()):
        return [(result, certificate)]
    values = sorted(set(lam), reverse=True) if isinstance(lam, tuple) else []
    if not values or any(array.shape[:1] != (len(values),) for array in arrays.values()):
        raise Malformed(f"a proof with rows has one for each of the {len(values)} values of a grid")
    return [
        (
            result.with_changes(params=replace(result.params, lam=value)),
            Certificate(certificate.kind, {name: arrays[name][k] for name in arrays}),
        )
        for k, value in enumerate(values)
    ]


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


def _check_stated_path(
    problem: ParametricProblem,
    program: PiecewiseLinearProgram,
    result: Result,
    findings: Findings,
) -> None:
    """Check that the solutions of a path are feasible where it states them, with the value stated.

    Raises
    ------
    Malformed
    """
    path = result.path
    findings.cover("path")
    if isinstance(path, GridPath):
        knots = read_grid(program, path)
        for k, lam in enumerate(knots):
            point = primal_point(program, path.theta[k])
            stated = float(path.values[k])
            _check_stated_point(problem, point, stated, abs(stated), float(lam), findings)
        last = path.theta[-1]
    elif isinstance(path, ParametricPath):
        stored = read_path(program, path)
        check_range(program, result, None, stored, findings)
        for s, (low, high) in enumerate(zip(stored.low, stored.high, strict=True)):
            value, rate = stored.theta.dense(np.array([s]))
            for lam in (low, high) if np.isfinite(high) else (low,):
                step = lam - low
                terms = np.abs(value[0]) + step * np.abs(rate[0])
                point = primal_point(program, value[0] + step * rate[0], terms)
                parts = stored.objective[s] * [1.0, step, step * step]
                total, size = float(parts.sum()), float(np.abs(parts).sum())
                _check_stated_point(problem, point, total, size, float(lam), findings)
        last = stored.theta.dense(np.array([len(stored.low) - 1]))[0][0]
    else:
        findings.doubt(f"paths of the kind {type(path).__name__} are not known here")
        return
    if result.x is not None and not same_numbers(result.x, last, COPY):
        findings.refute("x of the result is not that of the path's end")


def _check_stated_point(
    problem: ParametricProblem,
    point: PrimalPoint,
    stated: float,
    terms: float,
    lam: float,
    findings: Findings,
) -> None:
    """Check one point and its stated objective, which was added up from terms of that size."""
    violation, at = point.violation(lam)
    findings.measure("primal", violation)
    if not violation <= FEASIBILITY:
        findings.refute(
            f"the path at lam = {lam:g} is infeasible: it violates {point.name(at)} by "
            f"{violation:.3g} of its scale"
        )
    doubt = feasibility_doubt(point, lam)
    if doubt:
        findings.doubt(doubt)
    value = problem.objective(point.z[: point.program.A.shape[1]], lam)
    size = max(abs(value), terms, objective_scales(point, lam, value).size, np.finfo(float).tiny)
    error = abs(stated - value) / size
    findings.measure("objective", error)
    if not error <= OBJECTIVE:
        findings.refute(
            f"the path at lam = {lam:g} states {stated:.17g}; its objective is {value:.17g}"
        )
