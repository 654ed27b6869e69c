"""The verifier of the sparse trust-region subproblem for every number of nonzeros.

The certificate "leaves-by-size" holds, for each size d, the arrays of a certificate "leaves" (see
:mod:`sparseopt.checking.strs.verifier`) under the names ``mu_d, in_ptr_d``, and so on. Every point
of the
path is evaluated, every bound is proven by its own leaves, and a size that is called certified has
an objective and a bound that meet.
"""

from __future__ import annotations

import numpy as np

from sparseopt.checking.report import Findings
from sparseopt.checking.strs.verifier import judge
from sparseopt.checking.tolerances import FEASIBILITY, OBJECTIVE, SUM
from sparseopt.paths.supports import SupportPath
from sparseopt.problems.strs.path import STRSPath
from sparseopt.result import Certificate, Result, Status

__all__ = ["verify"]


def verify(problem: STRSPath, result: Result, findings: Findings) -> None:
    """Prove the path of a result; its last point, objective and bound were checked before."""
    if result.status in (Status.INFEASIBLE, Status.UNBOUNDED, Status.INF_OR_UNB):
        findings.refute(
            f"the status is {result.status.value}, but a continuous function has a maximum on the "
            "unit vectors with at most d nonzeros"
        )
        return
    path = result.path
    if not isinstance(path, SupportPath):
        findings.doubt("there is no path over the sizes")
        return
    findings.cover("path")
    if not _is_whole(problem, result, path, findings):
        return
    for k, d in enumerate(path.sizes.tolist()):
        _check_size(problem, result, path, k, d, findings)
    _prove(problem, result, path, findings)


def _is_whole(problem: STRSPath, result: Result, path: SupportPath, findings: Findings) -> bool:
    """Check the sizes, the shapes, and that the result's own facts are those of the last size."""
    D, count = problem.A.shape[0], len(path.sizes)
    if not np.array_equal(path.sizes, np.arange(1, count + 1)) or count > problem.last:
        findings.refute(f"the sizes are not 1, 2, ... up to at most {problem.last}")
        return False
    if result.status is Status.OPTIMAL and count < problem.last:
        findings.refute(f"the status is optimal, but the path ends at {count} of {problem.last}")
    shapes = {np.shape(v) for v in (path.objective, path.bound, path.certified)}
    if path.variables != D or shapes != {(count,)}:
        findings.refute(f"the path is not one of {count} sizes among {D} variables")
        return False
    last = count
    if result.x is None or not np.array_equal(result.x, path.at(last)):
        findings.refute("x is not the path's point of the last size")
    for name in ("objective", "bound"):
        if getattr(result, name) != getattr(path, f"{name}_at")(last):
            findings.refute(f"the {name} is not the path's at the last size")
    return True


def _check_size(
    problem: STRSPath, result: Result, path: SupportPath, k: int, d: int, findings: Findings
) -> None:
    """Evaluate one point, and compare objective and bound."""
    x = path.at(d)
    objective, bound = float(path.objective[k]), float(path.bound[k])
    if not np.isfinite(x).all() or not np.isfinite(objective) or np.isnan(bound):
        findings.refute(f"d = {d}: the point or its values are not finite")
        return
    if abs(float(np.linalg.norm(x)) - 1.0) > FEASIBILITY or np.count_nonzero(x) > d:
        findings.refute(f"d = {d}: the point is no unit vector with at most {d} nonzeros")
    size = max(problem.objective_scale(x), abs(objective), np.finfo(float).tiny)
    if not abs(problem.objective(x) - objective) <= OBJECTIVE * size:
        findings.refute(
            f"d = {d}: the stated objective {objective:.17g} is not that of the point, "
            f"{problem.objective(x):.17g}"
        )
    params = result.params
    allowed = max(
        params.abs_gap,
        params.rel_gap * max(abs(objective), abs(bound), 1e-10 * problem.value_unit),
        SUM * max(size, abs(bound)),
    )
    if objective - bound > FEASIBILITY * size:
        findings.refute(f"d = {d}: the bound {bound:.17g} lies below the objective")
    claimed = bool(path.certified[k]) or result.status is Status.OPTIMAL
    if claimed and not bound - objective <= allowed:
        findings.refute(f"d = {d} is called proven, but objective and bound do not meet")


def _prove(problem: STRSPath, result: Result, path: SupportPath, findings: Findings) -> None:
    """Prove the bound of every size by its leaves."""
    certificate = result.certificate
    if certificate is None or certificate.kind != "leaves-by-size":
        findings.doubt("there is no certificate 'leaves-by-size' that could prove the bounds")
        return
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
