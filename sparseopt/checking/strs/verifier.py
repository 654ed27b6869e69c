r"""The verifier of the sparse trust-region subproblem, for one size and for a path over sizes.

The sizes that were asked are those of ``result.params.size``, by default the problem's own.

- One size. The certificate "leaves" (:mod:`sparseopt.checking.strs.leaves`) proves the bound; a
  bound without a certificate is proven by all supports, where these are few
  (:mod:`sparseopt.checking.strs.supports`).
- Several. The path's sizes are those that were asked, from the first on; the last point is the
  result's. The certificate "leaves-by-size" has, for each size d, the arrays of a certificate
  "leaves" under the names ``mu_d, in_ptr_d``, and so on. Every point is evaluated, every bound is
  proven by its own leaves, and a size is certified exactly if objective and bound meet.

Points are normalised before their values are compared: a vector that is a little too long would
have a value that no unit vector attains. Where terms cancel values are taken in 106 bits, and what
is stated is compared with what is left, however large the terms were.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sparseopt.checking.cancelling import LAST_DIGITS
from sparseopt.checking.report import Findings
from sparseopt.checking.strs.leaves import judge
from sparseopt.checking.strs.supports import verify_by_supports
from sparseopt.checking.tolerances import FEASIBILITY, OBJECTIVE, SUM, UNSCALED
from sparseopt.checking.verifiers import Evaluation
from sparseopt.paths.supports import SupportPath
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.strs.problem import STRS, SphereProblem
from sparseopt.proofs.sphere_values import on_sphere
from sparseopt.result import Certificate, Result, Status

_IMPOSSIBLE = frozenset({Status.INFEASIBLE, Status.UNBOUNDED, Status.INF_OR_UNB})


class SphereVerifier:
    """What is judged alike for all problems whose points are unit vectors with few nonzeros."""

    def __call__(self, problem: Any, result: Result, findings: Findings) -> None:
        """Prove the bounds of a result; its point and numbers were compared before."""
        if result.status in _IMPOSSIBLE:
            findings.refute(
                f"the status is {result.status.value}, but a continuous function has a maximum on "
                "the unit vectors with at most d nonzeros"
            )
        else:
            self.prove(problem, result, findings)

    def prove(self, problem: Any, result: Result, findings: Findings) -> None:
        """Prove the bounds of a result whose status is possible."""
        raise NotImplementedError

    def evaluate(self, problem: Problem, x: Array, lam: float | None) -> Evaluation:
        """Evaluate the unit vector in the direction of x.

        Parameters
        ----------
        problem : Problem
        x : array of shape (D,)
        lam : float, optional
            The size that was asked, where it is not the problem's own.
        """
        residuals = problem.residuals(x, lam)
        # A count is violated or not; the length may be a little off, since x itself has no value.
        worst = "cardinality" if residuals["cardinality"] else "norm"
        over = math.inf if residuals["cardinality"] else residuals["norm"] / (2.0 * UNSCALED)
        length = float(np.linalg.norm(x))
        z = x / length if 0.0 < length < math.inf else x
        size, least = problem.objective_scale(z), self.least(problem, z)
        if z is x:
            value, rounding = problem.objective(x), 0.0
        else:
            value, rounding = self.value(problem, x, precise=False)
            if rounding > OBJECTIVE * max(abs(value), least):
                value, rounding = self.value(problem, x, precise=True)
        return Evaluation(
            value=value,
            size=size,
            data_size=max(abs(value), least),
            violation=over,
            where=f"{worst} by {residuals[worst]:.3g}",
            residuals=residuals,
            rounding=rounding,
        )

    def value(self, problem: Any, x: Array, *, precise: bool) -> tuple[float, float]:
        """Return the value of the unit vector in the direction of x, and a bound of its error.

        Parameters
        ----------
        problem : Problem
        x : array of shape (D,)
            Not 0.
        precise : bool
            Whether to compute in 106 bits, since fewer leave too large an error.
        """
        raise NotImplementedError

    def least(self, problem: Any, z: Array) -> float:
        """Return what errors of a value are relative to where it is smaller than this.

        Parameters
        ----------
        problem : Problem
        z : array of shape (D,)
        """
        return float(problem.objective_scale(z)) * LAST_DIGITS / OBJECTIVE


class STRSVerifier(SphereVerifier):
    """Judges results of sparse trust-region subproblems, of one size or several."""

    def value(self, problem: SphereProblem, x: Array, *, precise: bool) -> tuple[float, float]:
        """Return the value in the direction of x, and a bound of its error; O(d^2)."""
        S = np.flatnonzero(x)
        return on_sphere(problem.A[np.ix_(S, S)], problem.linear[S], x[S], precise=precise)

    def prove(self, problem: SphereProblem, result: Result, findings: Findings) -> None:
        """Prove the bound of each size that was asked."""
        asked = problem.asked(result.params)
        findings.cover("path")
        if isinstance(asked, int):
            if result.path is not None:
                findings.refute(f"the size {asked} alone was asked, but there is a path")
            verify_size(problem.at(asked), result, findings)
        elif isinstance(result.path, SupportPath):
            _verify_path(problem, asked, result, result.path, findings)
        elif result.path is not None or result.status is Status.OPTIMAL:
            findings.refute(f"{len(asked)} sizes were asked, but there is no path over the sizes")
        else:
            findings.doubt("there is no path over the sizes")


verify = STRSVerifier()


def verify_size(problem: STRS, result: Result, findings: Findings) -> None:
    """Prove the bound of one size by leaves, or by all supports.

    Parameters
    ----------
    problem : STRS
    result : Result
    findings : Findings
        Gets what was found.
    """
    certificate, bound = result.certificate, result.bound
    if bound is None or np.isposinf(bound):
        findings.doubt("there is no bound that a certificate could prove")
    elif certificate is None:
        if not verify_by_supports(problem, bound, findings):
            findings.doubt("there is no certificate that could prove the bound")
    elif certificate.kind != "leaves":
        findings.doubt(f"a certificate {certificate.kind!r} proves nothing here, 'leaves' would")
    else:
        judge(problem, certificate, bound).write(findings)
        for name in sorted(certificate.values):
            findings.leave_out(f"certificate value {name!r}")


def _verify_path(
    problem: SphereProblem,
    asked: tuple[int, ...],
    result: Result,
    path: SupportPath,
    findings: Findings,
) -> None:
    if not _is_whole(problem, asked, result, path, findings):
        return
    for k, d in enumerate(path.sizes.tolist()):
        _check_size(problem, result, path, k, d, findings)
    certificate = result.certificate
    if certificate is None or certificate.kind != "leaves-by-size":
        findings.doubt("there is no certificate 'leaves-by-size' that could prove the bounds")
    else:
        _prove_sizes(problem, certificate, path, findings)


def _is_whole(
    problem: SphereProblem,
    asked: tuple[int, ...],
    result: Result,
    path: SupportPath,
    findings: Findings,
) -> bool:
    """Check sizes, shapes, why the path ends, and that the last point is the result's own."""
    D, count = problem.A.shape[0], len(path.sizes)
    if not count or not np.array_equal(path.sizes, asked[:count]):
        findings.refute(
            f"the sizes are not the {len(asked)} that were asked, {asked[0]} to {asked[-1]}, or "
            "the first of them"
        )
        return False
    shapes = {np.shape(v) for v in (path.objective, path.bound, path.certified)}
    if path.variables != D or shapes != {(count,)}:
        findings.refute(f"the path is not one of {count} sizes among {D} variables")
        return False
    whole, limit = count == len(asked), result.limit
    if result.status is Status.OPTIMAL and not whole:
        findings.refute(f"the status is optimal, but the path has {count} of {len(asked)} sizes")
    end = "d_max" if whole else (None if limit is None else limit.value)
    if path.stopped_by != end:
        findings.refute(
            f"the path says that {path.stopped_by!r} ended it, after {count} of {len(asked)} "
            f"sizes with the limit {limit}"
        )
    last = int(path.sizes[-1])
    if result.x is None or not np.array_equal(result.x, path.at(last)):
        findings.refute("x is not the path's point of the last size")
    for name in ("objective", "bound"):
        if getattr(result, name) != getattr(path, f"{name}_at")(last):
            findings.refute(f"the {name} is not the path's at the last size")
    return True


def _check_size(
    problem: SphereProblem, result: Result, path: SupportPath, k: int, d: int, findings: Findings
) -> None:
    """Evaluate one point, and compare objective and bound."""
    x = path.at(d)
    objective, bound = float(path.objective[k]), float(path.bound[k])
    if not np.isfinite(x).all() or not np.isfinite(objective) or np.isnan(bound):
        findings.refute(f"d = {d}: the point or its values are not finite")
        return
    point = verify.evaluate(problem, x, d)
    if point.violation > 1.0 or point.residuals["norm"] > FEASIBILITY:
        findings.refute(f"d = {d}: the point is infeasible: it violates {point.where}")
    params, size = result.params, max(point.size, abs(objective), np.finfo(float).tiny)
    data_size = max(min(point.data_size, size), abs(objective), np.finfo(float).tiny)
    off = abs(objective - point.value)
    if not off <= OBJECTIVE * size:
        findings.refute(
            f"d = {d}: the stated objective {objective:.17g} is not that of the point, "
            f"{point.value:.17g}"
        )
    elif not off <= OBJECTIVE * data_size:
        findings.doubt(f"d = {d}: the objective is right only up to the size of terms that cancel")
    elif not point.rounding <= OBJECTIVE * data_size:
        findings.doubt(
            f"d = {d}: the objective of the point, {point.value:.17g}, is known up to "
            f"{point.rounding:.3g} only: its terms cancel"
        )
    asked = max(
        params.abs_gap,
        params.rel_gap * max(abs(objective), abs(bound), 1e-10 * problem.value_unit),
    )
    if objective - bound > FEASIBILITY * size:
        findings.refute(f"d = {d}: the bound {bound:.17g} lies below the objective")
    certified = bool(path.certified[k])
    called_proven = certified or result.status is Status.OPTIMAL
    if called_proven and not bound - objective <= max(asked, SUM * max(size, abs(bound))):
        findings.refute(f"d = {d} is called proven, but objective and bound do not meet")
    elif called_proven and not bound - objective <= max(asked, SUM * max(data_size, abs(bound))):
        findings.doubt(f"d = {d}: objective and bound meet only up to terms that cancel")
    if not certified and bound - objective <= asked:
        findings.refute(f"d = {d} is called not proven, but objective and bound meet")


def _prove_sizes(
    problem: SphereProblem, certificate: Certificate, path: SupportPath, findings: Findings
) -> None:
    """Prove the bound of every size by its leaves."""
    proven = 0
    for k, d in enumerate(path.sizes.tolist()):
        own = {
            name.removesuffix(f"_{d}"): array
            for name, array in certificate.arrays.items()
            if name.endswith(f"_{d}")
        }
        if not own:
            findings.doubt(f"d = {d}: there are no leaves that could prove the bound")
            continue
        found = judge(problem.at(d), Certificate("leaves", own), float(path.bound[k]))
        if found.word == "prove":
            proven += 1
        else:
            found.write(findings, f"d = {d}: ")
    if proven == len(path.sizes):
        findings.prove(f"leaves prove the bounds of all {proven} sizes")
