"""The points of mixed-integer semidefinite programs, and rays along which they improve for ever."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sparseopt.checking.report import Findings
from sparseopt.checking.tolerances import CONIC, FEASIBILITY, RANK_ONE
from sparseopt.problems.base import Array
from sparseopt.problems.misdp import MISDP
from sparseopt.result import Certificate

__all__ = ["Malformed", "check_point", "verify_ray"]


class Malformed(ValueError):
    """The certificate's arrays do not describe leaves, or a ray."""


def check_point(problem: MISDP, x: Array, findings: Findings) -> None:
    """Refute a point that misses a constraint by more than the tolerances of this family."""
    if x.shape != problem.c.shape or not np.isfinite(x).all():
        return
    for name, value in problem.residuals(x).items():
        tolerance = RANK_ONE if name == "rank_one" else CONIC
        if not value <= tolerance:
            findings.refute(
                f"x misses the constraints {name} by {value:.3g} of their scale (allowed: "
                f"{tolerance:g})"
            )


def verify_ray(problem: MISDP, certificate: Certificate | None, findings: Findings) -> None:
    """Prove that the objective improves without end."""
    if certificate is None or certificate.kind != "ray":
        findings.doubt("there is no certificate 'ray' that could prove it unbounded")
        return
    x, ray = (_vector(certificate.arrays, name, len(problem.c)) for name in ("x", "ray"))
    check_point(problem, x, findings)
    size = float(np.abs(ray).max())
    if size == 0.0:
        findings.refute("the ray is zero")
        return
    moving = ray[problem.integer]
    if (moving != np.rint(moving)).any():
        findings.refute("the ray moves an integer variable by a fraction")
        return
    unit = ray / size
    for name, value in _recession(problem, unit).items():
        findings.measure(f"ray_{name}", value)
        if not value <= FEASIBILITY:
            findings.refute(f"the ray leaves the constraints {name}: {value:.3g} of their scale")
    if _bends(problem, x, unit):
        findings.refute("the ray leaves the matrices of rank one")
    sign = 1.0 if problem.sense == "min" else -1.0
    cost, terms = sign * float(problem.c @ unit), float(np.abs(problem.c) @ np.abs(unit))
    if not cost < -CONIC * terms:
        findings.refute(f"the ray does not improve the objective: {cost:.6g} per step")
    elif not findings.refuted:
        findings.prove(f"from a feasible point the ray improves by {-cost:.6g} per step, for ever")


def _recession(problem: MISDP, ray: Array) -> dict[str, float]:
    """Return how far a direction is from never leaving the constraints."""

    def closed(ends: Array, toward: float) -> Array:
        return np.where(np.isinf(ends), toward * np.inf, 0.0)

    homogeneous = MISDP(
        c=problem.c,
        A=problem.A,
        row_lower=closed(problem.row_lower, -1.0),
        row_upper=closed(problem.row_upper, 1.0),
        lower=closed(problem.lower, -1.0),
        upper=closed(problem.upper, 1.0),
        cones=[type(cone)(cone.F, None, cone.rotated) for cone in problem.cones],
        blocks=[type(block)(block.F, None, block.size) for block in problem.blocks],
    )
    return homogeneous.residuals(ray)


def _bends(problem: MISDP, x: Array, ray: Array) -> bool:
    """Tell whether x + t ray loses rank one, which one t > 0 tells: both are semidefinite."""
    for block in problem.blocks:
        if block.rank_one and block.size > 1:
            moved = block.matrix(x + max(1.0, float(np.abs(x).max())) * ray)
            values = np.linalg.eigvalsh(moved)
            if values[-2] > RANK_ONE * max(1.0, float(np.abs(values).max())):
                return True
    return False


def _vector(arrays: Mapping[str, Array], name: str, length: int) -> Array:
    array = np.asarray(arrays.get(name))
    if array.dtype.kind not in "iuf" or array.shape != (length,) or not np.isfinite(array).all():
        raise Malformed(f"{name} is not a vector of {length} finite numbers")
    return np.asarray(array, dtype=float)
