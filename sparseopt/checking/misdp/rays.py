"""The points of mixed-integer semidefinite programs, and rays along which they improve for ever."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sparseopt.checking.report import Findings
from sparseopt.checking.tolerances import CONIC, FEASIBILITY, RANK_ONE
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.problem import MISDP
from sparseopt.proofs.misdp.curves import curve_residuals, recession, with_cones_as_matrices
from sparseopt.result import Certificate

__all__ = ["Malformed", "check_point", "verify_ray"]


_STEEP = 1e-4
"""What a ray of length 1 must improve by, relative to the largest cost. An entry beside a zero of
a matrix may be the root of what its eigenvalues are allowed to miss."""
_ROUNDING = 1e-14
"""Costs of s^2 below this, relative to their terms, are rounding: they would win in the end."""


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
    if certificate is not None and certificate.kind == "curve":
        _verify_curve(problem, certificate, findings)
        return
    if certificate is None or certificate.kind != "ray":
        findings.doubt("there is no certificate 'ray' or 'curve' that could prove it unbounded")
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
    for name, value in recession(problem).residuals(unit).items():
        findings.measure(f"ray_{name}", value)
        if not value <= FEASIBILITY:
            findings.refute(f"the ray leaves the constraints {name}: {value:.3g} of their scale")
    if _bends(problem, x, unit):
        findings.refute("the ray leaves the matrices of rank one")
    sign = 1.0 if problem.sense == "min" else -1.0
    cost, terms = sign * float(problem.c @ unit), float(np.abs(problem.c) @ np.abs(unit))
    if not cost < -CONIC * terms:
        findings.refute(f"the ray does not improve the objective: {cost:.6g} per step")
    elif -cost < _STEEP * float(np.abs(problem.c).max()):
        findings.doubt(
            f"the ray improves by {-cost:.3g} per step only: a matrix that is singular up to "
            "rounding allows as much"
        )
    elif not findings.refuted:
        findings.prove(f"from a feasible point the ray improves by {-cost:.6g} per step, for ever")


def _verify_curve(problem: MISDP, certificate: Certificate, findings: Findings) -> None:
    """Prove that the objective improves without end along x + s ray + s^2 bend, s = 0, 1, ..."""
    n = len(problem.c)
    x, ray, bend = (_vector(certificate.arrays, name, n) for name in ("x", "ray", "bend"))
    plain = with_cones_as_matrices(problem)
    length = sum(block.size**2 for block in plain.blocks)
    cross = _vector(certificate.arrays, "cross", length)
    check_point(problem, x, findings)
    if any(block.rank_one and block.size > 1 for block in problem.blocks):
        findings.doubt("a curve proves nothing where matrices must have rank one")
        return
    moving = np.concatenate([ray[problem.integer], bend[problem.integer]])
    if (moving != np.rint(moving)).any():
        findings.refute("the curve moves an integer variable by a fraction")
        return
    for name, value in curve_residuals(problem, x, ray, bend, cross).items():
        findings.measure(f"curve_{name}", value)
        if not value <= FEASIBILITY:
            findings.refute(f"the curve leaves the constraints ({name}): {value:.3g} of their size")
    sign = 1.0 if problem.sense == "min" else -1.0
    steps = [sign * float(problem.c @ part) for part in (ray, bend)]
    terms = [float(np.abs(problem.c) @ np.abs(part)) for part in (ray, bend)]
    if not (steps[0] < -CONIC * terms[0] and steps[1] <= _ROUNDING * terms[1]):
        findings.refute(
            f"the curve does not improve the objective: {steps[0]:.6g} s {steps[1]:+.6g} s^2"
        )
    elif -steps[0] < _STEEP * float(np.abs(problem.c).max()) * float(np.abs(ray).max()):
        findings.doubt(f"the curve improves by {-steps[0]:.3g} s only, which rounding may allow")
    elif not findings.refuted:
        findings.prove(f"from a feasible point a curve improves by {-steps[0]:.6g} s for all s")


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
