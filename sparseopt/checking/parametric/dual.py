r"""Proofs by row multipliers: the certificates "dual" (one lam) and "dual-grid" (several).

For theta in the domains and v = (-A'nu, nu) between the outer slopes of every function the bound

.. math:: D(\nu) = -\sum_i f_i^*(v_i) \le P(\lambda) \le \sum_i f_i(z_i)

is recomputed, and the two ends have to meet.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sparseopt.checking.evidence import Malformed, numbers, same_numbers
from sparseopt.checking.parametric.ends.range import check_reason
from sparseopt.checking.parametric.ends.rays import no_optimum_at
from sparseopt.checking.parametric.evaluation.heavy import known_value
from sparseopt.checking.parametric.evaluation.near import feasible_nearby
from sparseopt.checking.parametric.evaluation.point import (
    OF_X,
    DualPoint,
    PrimalPoint,
    Scales,
    coordinate_name,
    dual_point,
    feasibility_doubt,
    objective_scales,
    offset_at,
    primal_point,
)
from sparseopt.checking.parametric.evaluation.rational import Budget
from sparseopt.checking.parametric.evaluation.singles import inside_rows
from sparseopt.checking.parametric.multipliers.giving_way import giving_way
from sparseopt.checking.parametric.multipliers.nearby import charge_nearby
from sparseopt.checking.parametric.multipliers.reach import Charging, Span, Values, interior_bounds
from sparseopt.checking.report import Findings
from sparseopt.checking.tolerances import COPY, FEASIBILITY, OBJECTIVE, SUM
from sparseopt.paths.parametric import GridPath
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.problem import ParametricProblem, PiecewiseLinearProgram
from sparseopt.result import Certificate, Result, Status

_ENDS = {"infeasible_below": "farkas", "unbounded_below": "ray"}
"""Which evidence proves that a grid ends for this reason."""
_CHARGED = 0.1
"""What multipliers outside their slopes may cost, as a part of the gap that is allowed."""
_DOUBT = "primal and dual meet only up to the size of terms that cancel"


@dataclass(frozen=True)
class _ProofAtLam:
    """What a pair (theta, nu) proves at one lam, in the canonical (minimising) sense."""

    value: float
    bound: float
    terms: float
    data_terms: float
    charge: float = 0.0

    def meets(self, result: Result) -> bool:
        """Return whether value and bound meet within the gap that was asked for."""
        return abs(self.value - self.bound) <= max(self.asked(result), SUM * self.terms)

    def doubtful(self, result: Result) -> bool:
        """Return whether they do so only because of terms that cancel, or of what is charged."""
        gap = abs(self.value - self.bound) + self.charge
        return not gap <= max(self.asked(result), SUM * self.data_terms)

    def asked(self, result: Result) -> float:
        """Return the gap that was asked for, in the units of the objective."""
        size = min(max(abs(self.value), abs(self.bound)), np.finfo(float).max)
        return max(result.params.abs_gap, result.params.rel_gap * size)

    @property
    def gap(self) -> float:
        """The gap relative to the size of the terms."""
        size = max(abs(self.value), abs(self.bound), self.terms)
        return abs(self.value - self.bound) / size if size > 0.0 else 0.0


def verify_dual(
    problem: ParametricProblem,
    program: PiecewiseLinearProgram,
    result: Result,
    certificate: Certificate,
    findings: Findings,
) -> None:
    """Verify ``arrays["nu"]`` as a proof of the result's bound, and of its optimality.

    Parameters
    ----------
    problem : ParametricProblem
    program : PiecewiseLinearProgram
        Its general form.
    result : Result
    certificate : Certificate
        Of the result.
    findings : Findings
        Gets what was found.

    Raises
    ------
    Malformed
    """
    lam = result.params.lam
    if not isinstance(lam, float):
        findings.refute("the certificate proves a single lam; the question was another")
        return
    if result.x is None:
        return
    nu = numbers(certificate.arrays, "nu", (program.A.shape[0],))
    findings.cover("duals")
    if "rows" in result.duals and not same_numbers(result.duals["rows"], nu, COPY):
        findings.refute("the stated row multipliers are not those of the certificate")
    point = primal_point(program, np.asarray(result.x, float))
    proof = _prove(program, point, nu, lam, result, findings, f"at lam = {lam:g}")
    if proof is None:
        return
    _judge_bound(problem, result.bound, proof, findings, f"at lam = {lam:g}")
    if proof.meets(result):
        if result.status is Status.OPTIMAL and proof.doubtful(result):
            findings.doubt(f"{_DOUBT} at lam = {lam:g}")
        findings.prove(f"optimal at lam = {lam:g}: primal and dual meet within {proof.gap:.2g}")
    elif result.status is Status.OPTIMAL:
        findings.refute(
            f"the multipliers prove the bound {problem.canonical_sign * proof.bound:.17g} only, "
            f"which leaves a gap of {proof.gap:.3g} to the objective"
        )
    else:
        findings.prove(f"feasible at lam = {lam:g}, and the bound is proven")


def verify_grid(
    problem: ParametricProblem,
    program: PiecewiseLinearProgram,
    result: Result,
    certificate: Certificate,
    findings: Findings,
) -> None:
    """Verify the multipliers of a ``GridPath`` at each of its values of lam.

    Where the grid ends early because there is no optimum below, ``arrays["farkas"]`` or
    ``arrays["ray"]`` proves that.

    Parameters
    ----------
    problem : ParametricProblem
    program : PiecewiseLinearProgram
        Its general form.
    result : Result
    certificate : Certificate
        Of the result.
    findings : Findings
        Gets what was found.

    Raises
    ------
    Malformed
    """
    path = result.path
    if not isinstance(path, GridPath):
        findings.refute(
            "the certificate is for a grid of values, but there is no grid of solutions"
        )
        return
    findings.cover("path", "duals")
    knots = read_grid(program, path)
    _check_grid(program, result, certificate, knots, findings)
    for k, lam in enumerate(knots):
        here = f"at lam = {lam:g}"
        point = primal_point(program, path.theta[k])
        value = problem.objective(path.theta[k], lam)
        scales = objective_scales(point, lam, value)
        value = (
            problem.canonical_sign
            * known_value(point, lam, problem.canonical_sign * value, scales)[0]
        )
        _judge_value(float(path.values[k]), value, scales, findings, here)
        proof = _prove(program, point, path.nu[k], lam, result, findings, here)
        if proof is None:
            continue
        if proof.doubtful(result):
            findings.doubt(f"{_DOUBT} {here}")
        bound = float(path.bounds[k])
        _judge_bound(problem, bound, proof, findings, here)
        if not replace(proof, bound=problem.canonical_sign * bound).meets(result):
            findings.refute(f"the stated bound {bound:.17g} {here} leaves a gap")
        if not proof.meets(result):
            findings.refute(f"the multipliers {here} leave a gap of {proof.gap:.3g}")
    _check_end(result, path, findings)
    findings.prove(f"optimal at {len(knots)} values of lam from {knots[0]:g} to {knots[-1]:g}")


def _judge_value(
    stated: float, value: float, scales: Scales, findings: Findings, here: str
) -> None:
    """Compare a stated value with its point's, by its terms and by what data allow of them."""
    size, data_size = (max(abs(value), scale, np.finfo(float).tiny) for scale in scales[:2])
    error = abs(stated - value) / size
    findings.measure("objective", error)
    if not error <= OBJECTIVE:
        findings.refute(f"the stated value {stated:.17g} {here} is not {value:.17g}")
    elif not error * size <= OBJECTIVE * data_size:
        findings.doubt(
            f"the stated value {stated:.17g} {here} is {value:.17g} only up to the size of terms "
            "that cancel"
        )


def read_grid(program: PiecewiseLinearProgram, path: GridPath) -> Array:
    """Check the layout of a grid and return its decreasing values of lam.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    path : GridPath

    Returns
    -------
    array of shape (K,)

    Raises
    ------
    Malformed
    """
    m, p = program.A.shape
    fields = {name: getattr(path, name) for name in ("knots", "theta", "nu", "values", "bounds")}
    count = int(np.size(path.knots))
    knots = numbers(fields, "knots", (count,))
    if count == 0 or knots[-1] < 0.0 or (np.diff(knots) >= 0.0).any():
        raise Malformed("the grid's values of lam are not decreasing down to one >= 0")
    for name, shape in (("theta", (count, p)), ("nu", (count, m))):
        numbers(fields, name, shape)
    for name in ("values", "bounds"):
        numbers(fields, name, (count,))
    return knots


def _prove(
    program: PiecewiseLinearProgram,
    point: PrimalPoint,
    nu: Array,
    lam: float,
    result: Result,
    findings: Findings,
    here: str,
) -> _ProofAtLam | None:
    """Return what the pair proves at lam, or None after refuting it."""
    dual = _feasible(program, point, nu, lam, findings, here)
    if dual is None:
        return None
    rounding = _rounding_of_the_point(point, lam, findings)
    # A bound of the optimum without some bounds is one, too.
    p = program.A.shape[1]
    program = program.without_loose_bounds(point.z[:p], lam)
    if program is not point.program:
        point = replace(point, program=program, pieces=program.functions)
        dual = dual_point(program, inside_rows(program, dual.v[p:], lam))
    f = point.pieces.value(point.z, lam)
    conjugate = dual.pieces.conjugate(dual.v, lam)
    constant, size = offset_at(program, lam)
    terms = np.abs(f).sum() + np.abs(conjugate).sum() + np.abs(point.z * dual.v).sum() + size
    # Residuals that vanish, as in a saturated fit, are differences of larger numbers.
    value, bound = float(f.sum()) + constant, constant - float(conjugate.sum())
    scales = objective_scales(point, lam, value)
    size, data_size = scales.size, scales.data_size
    value, uncertain = known_value(point, lam, value, scales)
    terms = max(terms, size)
    if not np.isfinite([value, bound, terms]).all():
        findings.refute(f"the multipliers {here} prove nothing: their bound is not finite")
        return None
    data_terms = max(abs(value), abs(bound), data_size)
    asked = _ProofAtLam(value, bound, float(terms), data_terms).asked(result)
    enough = _CHARGED * max(asked, SUM * data_terms)
    charge, where = _charge(point, dual, lam, float(f.sum()), enough)
    charge += rounding + uncertain
    if where is not None:
        findings.doubt(
            f"the multipliers {here} prove the bound up to rounding only: that of "
            f"{point.name(where)} may be outside its slopes, and nothing bounds that"
        )
    proof = _ProofAtLam(value, bound, float(terms), data_terms, charge)
    findings.measure("gap", proof.gap)
    return proof


def _feasible(
    program: PiecewiseLinearProgram,
    point: PrimalPoint,
    nu: Array,
    lam: float,
    findings: Findings,
    here: str,
) -> DualPoint | None:
    """Return the dual point of nu, moved into its slopes; None where it or the point is refuted."""
    low, high = program.psi.slope_range(lam)
    inside = np.clip(nu, low, high)
    largest = float(np.abs(nu).max(initial=0.0))
    moved = np.abs(nu - inside)
    # A sign that is wrong by rounding is put right here; the bound is that of the corrected nu.
    at = int(np.argmax(moved))
    if moved[at] > FEASIBILITY * largest:
        findings.measure("dual", moved[at] / largest)
        findings.refute(
            f"the multiplier {nu[at]:g} of row {at} {here} lies outside its slopes "
            f"[{low[at]:g}, {high[at]:g}]"
        )
        return None
    violation, at = point.violation(lam)
    findings.measure("primal", violation)
    if not violation <= FEASIBILITY:
        findings.refute(
            f"the point {here} is infeasible: it violates {coordinate_name(program, at)} by "
            f"{violation:.3g} of its scale"
        )
        return None
    dual = dual_point(program, inside)
    violation, at = dual.violation(lam)
    findings.measure("dual", violation)
    if not violation <= FEASIBILITY:
        findings.refute(
            f"the multipliers {here} prove nothing: {coordinate_name(program, at)} is outside its "
            f"slopes by {violation:.3g} of its scale"
        )
        return None
    # So are the signs of slacks.
    moved_too = inside_rows(program, inside, lam)
    return dual if np.array_equal(moved_too, inside) else dual_point(program, moved_too)


def _rounding_of_the_point(point: PrimalPoint, lam: float, findings: Findings) -> float:
    """Return what the exact point that this one is the rounding of may cost more.

    Of a point that is feasible by its own digits that is nothing.
    """
    doubt = feasibility_doubt(point, lam)
    cost = feasible_nearby(point, lam) if doubt else 0.0
    if cost is None:
        findings.doubt(doubt)
        return 0.0
    if doubt:
        findings.settle(OF_X[0])
    return cost


def _charge(
    point: PrimalPoint, dual: DualPoint, lam: float, value: float, enough: float
) -> tuple[float, int | None]:
    """Return what multipliers outside their slopes may cost, and a coordinate without a bound.

    Rounding errors of the multipliers are charged like everything else. Variables that make more
    than `enough` must have multipliers that are exact, near the given ones: what these change in
    the bound is charged instead.
    """
    program, pieces = point.program, point.pieces
    p = program.A.shape[1]
    excess = dual.excess(lam)
    if not excess.any():
        return 0.0, None
    nu = dual.v[p:]
    span = Span.one(lam, value, enough)
    interior = interior_bounds(pieces, [(lam, nu)], Values((value,)), excess > 0.0)
    charges = Charging(program, pieces, span, lam, interior).of(excess)
    if charges.sum() <= enough:
        return float(charges.sum()), None
    for needed in (charges[:p] > enough / len(charges), ~np.isfinite(charges[:p])):
        for free in (None, giving_way(program, pieces, lam, nu, needed)):
            found = charge_nearby(program, pieces, span, lam, nu, needed, Budget(), None, free)
            if found is not None:
                return found, None
    finite = np.isfinite(charges)
    return float(charges[finite].sum()), None if finite.all() else int(np.argmin(finite))


def _judge_bound(
    problem: ParametricProblem,
    bound: float | None,
    proof: _ProofAtLam,
    findings: Findings,
    here: str,
) -> None:
    if bound is None:
        return
    sign = problem.canonical_sign
    beyond = sign * bound - proof.bound
    if SUM * max(abs(proof.bound), proof.data_terms) < beyond <= SUM * proof.terms:
        findings.doubt(
            f"the stated bound {here} is proven up to the size of terms that cancel only"
        )
    if not beyond <= SUM * max(abs(proof.bound), proof.terms):
        findings.refute(
            f"the stated bound {bound:.17g} {here} is not proven: the multipliers give "
            f"{sign * proof.bound:.17g}"
        )


def _check_grid(
    program: PiecewiseLinearProgram,
    result: Result,
    certificate: Certificate,
    knots: Array,
    findings: Findings,
) -> None:
    """Compare the values of lam that were solved with those that were asked for."""
    asked = result.params.lam
    if not isinstance(asked, tuple):
        findings.refute("there is a grid of solutions, but no grid of values was asked for")
        return
    wanted = np.unique(np.array(asked))[::-1]
    if not np.array_equal(knots, wanted[: len(knots)]):
        findings.refute(
            "the values of lam that were solved are not the largest of those that were asked for"
        )
        return
    missing, reason = wanted[len(knots) :], str(result.path.stopped_by)  # type: ignore[union-attr]
    if len(missing) == 0:
        if reason != "grid":
            check_reason(result, reason, findings)
        return
    if reason not in _ENDS:
        check_reason(result, reason, findings)
        return
    if (set(_ENDS.values()) - {_ENDS[reason]}) & set(certificate.arrays):
        findings.refute(f"the grid ends by {reason}, its certificate proves another end")
    proven = no_optimum_at(program, certificate, missing, findings)
    if proven is None:
        findings.doubt(
            f"nothing proves that there is no optimum at lam = {missing[0]:g}, where the grid stops"
        )


def _check_end(result: Result, path: GridPath, findings: Findings) -> None:
    """Compare what the result states with the last row of its grid."""
    for name, stated, expected in (
        ("x", result.x, path.theta[-1]),
        ("the row multipliers", result.duals.get("rows"), path.nu[-1]),
        ("the objective", result.objective, path.values[-1:]),
        ("the bound", result.bound, path.bounds[-1:]),
    ):
        if stated is None:
            continue
        if not same_numbers(np.reshape(stated, np.shape(expected)), expected, COPY):
            findings.refute(f"{name} of the result is not that of the grid's last value of lam")
