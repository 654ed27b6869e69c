r"""Proofs that a MISDP is unbounded: rays and curves along which it improves without end.

Signs are decided in rational arithmetic: a direction that leaves a constraint by 1e-8 per step
proves nothing, since the steps have no end. With the feasible point x and M' the matrices without
their constants,

- a **ray** r keeps each row and bound with a finite side in its sign, :math:`F r` in its cone and
  :math:`M'(r) \succeq 0`;
- a **curve** :math:`x + s r + s^2 b` does so for r and b in rows and bounds, and keeps
  :math:`Q(s) = M(x) + s M'(r) + s^2 M'(b)` semidefinite by a matrix B with

  .. math:: \begin{pmatrix} M(x) & B \\ B' & M'(b) \end{pmatrix} \succeq 0, \qquad
            M'(r) - B - B' \succeq 0,

  for :math:`Q(s) = (I, s I) (\cdot) (I, s I)' + s (M'(r) - B - B')`. An M(x) that is
  semidefinite up to the tolerance of points proves nothing: what it lacks on its diagonal may be
  what lets the curve out, as of :math:`((0, x), (x, y))`, where x = 0. A second-order cone is the
  matrix :math:`((u_0, w'), (w, u_0 I))` here, a rotated one :math:`((2 u_0, w'), (w, u_1 I))`.

Where the objective is quadratic no direction may change Q x.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from sparseopt.checking.evidence import Malformed
from sparseopt.checking.misdp.points import (
    check_point,
    in_units,
    margins,
)
from sparseopt.checking.misdp.standard_form import along_rays
from sparseopt.checking.rational import (
    NEARLY,
    Sign,
    images,
    packed_matrix,
    rationals,
    semidefinite,
    sign_of,
)
from sparseopt.checking.report import Findings
from sparseopt.checking.tolerances import RANK_ONE
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import SecondOrderCone
from sparseopt.problems.misdp.problem import MISDP
from sparseopt.result import Certificate


def verify_ray(problem: MISDP, certificate: Certificate | None, findings: Findings) -> None:
    """Prove that the objective improves without end.

    Parameters
    ----------
    problem : MISDP
    certificate : Certificate or None
    findings : Findings
        Gets what was found.
    """
    if certificate is None or certificate.kind not in ("ray", "curve"):
        findings.doubt("there is no certificate 'ray' or 'curve' that could prove it unbounded")
        return
    n, arrays = len(problem.c), certificate.arrays
    x, ray = (_vector(arrays, name, n) for name in ("x", "ray"))
    point = check_point(problem, x, findings)
    problem = along_rays(problem, x)
    if not ray.any():
        findings.refute("the ray is zero")
        return
    directions = {"ray": ray}
    if certificate.kind == "curve":
        directions["bend"] = _vector(arrays, "bend", n)
        length = sum(size**2 for size in _matrix_sizes(problem))
        cross = _vector(arrays, "cross", length)
    for name, direction in directions.items():
        _check_linear(problem, name, direction, findings)
    sign = 1 if problem.sense == "min" else -1
    costs = rationals(problem.c) * sign
    steps: list[Any] = [costs @ rationals(direction) for direction in directions.values()]
    largest = float(np.abs(problem.c).max())
    bends = [
        sign_of(-step, largest * float(np.abs(direction).max(initial=0.0)))
        for step, direction in zip(steps[1:], [*directions.values()][1:], strict=True)
    ]
    if not steps[0] < 0 or Sign.FAILS in bends:
        findings.refute(
            "the objective does not improve: " + ", ".join(f"{float(s):.6g}" for s in steps)
        )
        return
    if Sign.NEARLY in bends:
        findings.doubt(
            f"the objective bends back by {float(steps[1]):.3g}, by rounding perhaps: that proves "
            "nothing"
        )
    if point is None or findings.refuted:
        return
    if certificate.kind == "ray":
        _check_ray(problem, point, ray, findings)
    else:
        _check_curve(problem, point, ray, directions["bend"], cross, findings)
    if not findings.refuted:
        what = f"a {certificate.kind}"
        findings.prove(f"from a feasible point {what} improves by {-float(steps[0]):.6g} per step")


def _check_linear(problem: MISDP, name: str, direction: Array, findings: Findings) -> None:
    """Check integrality, bounds and rows of a direction, exactly."""
    moving = direction[problem.integer]
    if (moving != np.rint(moving)).any():
        findings.refute(f"the {name} moves an integer variable by a fraction")
    size = np.abs(direction)
    largest = np.full(len(size), float(size.max(initial=0.0)))
    for what, value, terms, low, high in (
        ("bound", direction, largest, problem.lower, problem.upper),
        (
            "row",
            images(problem.A, direction),
            abs(problem.A) @ size,
            problem.row_lower,
            problem.row_upper,
        ),
    ):
        wrong = (np.isfinite(low) & (value < 0)) | (np.isfinite(high) & (value > 0))
        for at in np.flatnonzero(wrong.astype(bool)).tolist():
            decided = sign_of(-abs(value[at]), float(terms[at]))
            _conclude(decided, f"the {name}", f"{what} {at}", findings)


def _check_ray(problem: MISDP, x: Array, ray: Array, findings: Findings) -> None:
    for k, cone in enumerate(problem.cones):
        decided = _in_cone(images(cone.F, ray), cone.rotated, _terms(cone.F, ray))
        _conclude(decided, "the ray", f"cone {k}", findings)
    for k, block in enumerate(problem.blocks):
        entries = images(block.F, ray)
        decided = semidefinite(packed_matrix(entries, block.size), _terms(block.F, ray))
        _conclude(decided, "the ray", f"matrix {k}", findings)
        if block.rank_one and block.size > 1 and not findings.refuted:
            _check_rank(block.matrix(x), entries, margins(problem, block, x), k, findings)


def _terms(F: Any, ray: Array) -> float:
    """Return the size of the terms that an entry of F r is the sum of, the largest of all."""
    return float((abs(F) @ np.abs(ray)).max(initial=0.0))


def _in_cone(u: Array, rotated: bool, scale: float) -> Sign:
    """Judge exactly whether a vector is in its cone; `scale` is the size of the terms in it."""
    heads, tail = u[: 1 + rotated], u[1 + rotated :]
    product = 2 * u[0] * u[1] if rotated else u[0] ** 2
    if min(heads) >= 0 and product >= sum((entry**2 for entry in tail), Fraction(0)):
        return Sign.HOLDS
    room = NEARLY * scale
    first, last = (float(head) + room for head in (heads[0], heads[-1]))
    if min(first, last) < 0.0:
        return Sign.FAILS
    length = float(np.linalg.norm(tail.astype(float)))
    most = np.sqrt(2.0 * first * last) if rotated else first
    return Sign.NEARLY if length - room <= most else Sign.FAILS


def _check_rank(at: Array, entries: Array, margin: Array, k: int, findings: Findings) -> None:
    """Check that M(x) + s M'(r) keeps rank one for all s, as far as M(x) has it."""
    slope = packed_matrix(entries, len(at))
    if not (slope != 0).any():
        return
    minors = slope * slope.T != np.outer(np.diagonal(slope), np.diagonal(slope))
    # A semidefinite matrix has rank one where its principal minors of order 2 are zero.
    if minors.any():
        findings.refute(f"the ray leaves the matrices of rank one in matrix {k}")
        return
    at = in_units(at, margin)
    _, vectors = np.linalg.eigh(in_units(slope.astype(float), margin))
    rest = vectors[:, :-1].T @ at @ vectors[:, :-1]
    # The second eigenvalue of a sum with a matrix of rank one in v is at most the largest beside v.
    if np.linalg.eigvalsh(rest)[-1] > RANK_ONE:
        findings.refute(f"the ray leaves the matrices of rank one in matrix {k}")


def _matrix_sizes(problem: MISDP) -> list[int]:
    """Return the orders of the matrices that a curve's B belongs to: cones first."""
    return [
        *(len(_arrow(np.zeros(cone.dimension), cone.rotated)) for cone in problem.cones),
        *(block.size for block in problem.blocks),
    ]


def _arrow(u: Array, rotated: bool) -> Array:
    """Return the matrix that is semidefinite exactly where u lies in the cone."""
    if rotated:
        tail, head, corner = u[2:], 2 * u[0], u[1]
        # Without a tail only the signs are left.
        size = max(2, 1 + len(tail))
    else:
        tail, head, corner = u[1:], u[0], u[0]
        size = 1 + len(tail)
    matrix = np.array(
        [[corner if i == j else 0 * corner for i in range(size)] for j in range(size)]
    )
    matrix[0, 0] = head
    matrix[0, 1 : 1 + len(tail)] = matrix[1 : 1 + len(tail), 0] = tail
    return matrix


def _check_curve(
    problem: MISDP, x: Array, ray: Array, bend: Array, cross: Array, findings: Findings
) -> None:
    if any(block.rank_one and block.size > 1 for block in problem.blocks):
        findings.doubt("a curve proves nothing where matrices must have rank one")
        return
    begin = 0
    for k, part in enumerate((*problem.cones, *problem.blocks)):
        value = [images(part.F, direction) for direction in (x, ray, bend)]
        constant = part.g if isinstance(part, SecondOrderCone) else part.F0
        value[0] = value[0] + rationals(constant)
        at, slope, last = (
            _arrow(entries, part.rotated)
            if isinstance(part, SecondOrderCone)
            else packed_matrix(entries, part.size)
            for entries in value
        )
        s = len(at)
        B = rationals(cross[begin : begin + s * s].reshape(s, s))
        begin += s * s
        decided = semidefinite(np.block([[at, B], [B.T, last]]))
        if decided is Sign.FAILS:
            room = margins(problem, part, x)
            at = at + np.diag(rationals(room if len(room) == s else np.full(s, room.max())))
            if semidefinite(np.block([[at, B], [B.T, last]])) is Sign.HOLDS:
                decided = Sign.NEARLY
        name = f"constraint {k} of cones and matrices"
        _conclude(decided, "the curve", name, findings)
        _conclude(semidefinite(slope - B - B.T), "the curve", f"{name} by its slope", findings)


def _conclude(decided: Sign, who: str, what: str, findings: Findings) -> None:
    if decided is Sign.NEARLY:
        findings.doubt(f"{who} leaves {what}, by rounding perhaps: that proves nothing")
    elif decided is Sign.FAILS:
        findings.refute(f"{who} leaves {what}")


def _vector(arrays: Mapping[str, Array], name: str, length: int) -> Array:
    array = np.asarray(arrays.get(name))
    if array.dtype.kind not in "iuf" or array.shape != (length,) or not np.isfinite(array).all():
        raise Malformed(f"{name} is not a vector of {length} finite numbers")
    return np.asarray(array, dtype=float)
