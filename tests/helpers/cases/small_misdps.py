"""Small random mixed-integer semidefinite programs, and their optima by enumeration.

Up to 8 integers, up to 3 continuous variables, one or two blocks up to 6 x 6; among them nodes and
whole problems without an interior (matrices of the form B N(x) B' with fewer columns than rows,
lines of zeros, equations), infeasible ones, second-order cones plain and rotated, integer data.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from enumeration import relax

import sparseopt
from sparseopt import Result, Status, Verdict
from sparseopt.problems import MISDP, SecondOrderCone, SemidefiniteBlock
from sparseopt.problems.misdp.cones import pack_symmetric

POINTS = 260
"""Integer points at most."""
FEASIBLE = 1e-8


def draw(seed: int) -> MISDP:
    """Return the problem of that seed."""
    rng = np.random.default_rng([seed, 2026])
    q = int(rng.integers(1, 9))
    k = int(rng.integers(0, 4))
    n = q + k
    width = np.ones(q, dtype=int)
    for j in rng.permutation(q):
        wider = width.copy()
        wider[j] += int(rng.integers(0, 3))
        if np.prod(wider + 1) <= POINTS:
            width = wider
    low = np.where(rng.random(q) < 0.5, 0, -(width // 2)).astype(float)
    lower = np.concatenate([low, np.full(k, -4.0)])
    upper = np.concatenate([low + width, np.full(k, 4.0)])
    if k and rng.random() < 0.3:
        upper[q:] = np.inf
    inside = np.concatenate([low + rng.integers(0, width + 1), rng.normal(size=k)])
    inside = np.clip(inside, lower, upper)
    whole = rng.random() < 0.4
    blocks = [_block(rng, n, inside, whole) for _ in range(int(rng.integers(1, 3)))]
    cones = [_cone(rng, n, inside)] if rng.random() < 0.3 else []
    m = int(rng.integers(0, 3))
    A = np.round(rng.normal(size=(m, n)) * 2.0)
    value = A @ inside
    row_lower = np.where(rng.random(m) < 0.5, value - rng.integers(0, 3, m), -np.inf)
    row_upper = np.where(rng.random(m) < 0.5, value + rng.integers(0, 3, m), np.inf)
    if m and k and rng.random() < 0.4:
        row_lower[0] = row_upper[0] = value[0]
    c = rng.normal(size=n)
    if whole:
        c = np.round(3.0 * c)
    if np.isinf(upper).any():
        c[q:] = np.abs(c[q:]) + 0.1
    sense = "max" if rng.random() < 0.4 and not np.isinf(upper).any() else "min"
    return MISDP(
        c=c,
        A=A if m else None,
        row_lower=row_lower if m else None,
        row_upper=row_upper if m else None,
        lower=lower,
        upper=upper,
        integer=np.arange(n) < q,
        cones=cones,
        blocks=blocks,
        sense=sense,
        offset=float(np.round(rng.normal(), 2)),
    )


def _block(rng: np.random.Generator, n: int, inside: np.ndarray, whole: bool) -> SemidefiniteBlock:
    s = int(rng.integers(2, 7))
    kind = rng.choice(["interior", "boundary", "low-rank", "zero line", "infeasible"])
    r = s if kind not in ("low-rank", "zero line") else max(1, s - int(rng.integers(1, 3)))
    B = np.eye(s)[:, :r]
    if kind == "low-rank":
        B = np.round(rng.normal(size=(s, r)) * 1.5)
    matrices = rng.normal(size=(n, r, r)) * (rng.random(n) < 0.8)[:, None, None]
    matrices = matrices + matrices.transpose(0, 2, 1)
    if whole:
        matrices = np.round(matrices)
    V = rng.normal(size=(r, r))
    V = np.round(V) if whole else V
    if kind == "boundary":
        V[:, 0] = 0.0
    constant = V @ V.T - np.tensordot(inside, matrices, axes=1)
    if kind == "infeasible" and rng.random() < 0.5:
        constant -= 6.0 * np.eye(r)
    F = np.array([pack_symmetric(B @ M @ B.T) for M in matrices]).T
    return SemidefiniteBlock(F=F, F0=pack_symmetric(B @ constant @ B.T))


def _cone(rng: np.random.Generator, n: int, inside: np.ndarray) -> SecondOrderCone:
    rotated = bool(rng.random() < 0.5)
    k = int(rng.integers(3, 5))
    F = np.round(rng.normal(size=(k, n)))
    u = rng.normal(size=k)
    if rotated:
        u[:2] = np.abs(u[:2]) + 0.2
        u[2:] *= np.sqrt(2.0 * u[0] * u[1]) / max(np.linalg.norm(u[2:]), 1e-9) * rng.random()
    else:
        u[0] = np.linalg.norm(u[1:]) + rng.random()
    return SecondOrderCone(F=F, g=u - F @ inside, rotated=rotated)


@dataclass(frozen=True)
class Enumerated:
    """The optimum over all integer points, None where none is feasible.

    `unclear` is the best value among points of which Clarabel could say neither.
    """

    optimum: float | None
    unclear: float | None


def enumerated(problem: MISDP) -> Enumerated:
    """Solve for the continuous variables at each integer point."""
    whole = problem.integer
    sign = 1.0 if problem.sense == "min" else -1.0
    ranges = [
        np.arange(a, b + 1.0)
        for a, b in zip(problem.lower[whole], problem.upper[whole], strict=True)
    ]
    values, unclear = [], []
    for point in itertools.product(*ranges):
        lower, upper = problem.lower.copy(), problem.upper.copy()
        lower[whole] = upper[whole] = point
        if whole.all():
            if max(problem.residuals(lower).values()) <= FEASIBLE:
                values.append(problem.objective(lower))
            continue
        answer = relax(problem, lower, upper)
        if answer.solved and max(problem.residuals(answer.x).values()) <= 1e-6:
            values.append(answer.value)
        elif not answer.infeasible:
            unclear.append(answer.value)

    def best(found: list[float]) -> float | None:
        return sign * min(sign * value for value in found) if found else None

    return Enumerated(best(values), best(unclear))


def faults(problem: MISDP, backend: str, known: Enumerated, **question: Any) -> list[str]:
    """Return what is wrong with a backend's answer."""
    return complaints(problem, sparseopt.solve(problem, backend=backend, **question), known)


def complaints(problem: MISDP, result: Result, known: Enumerated) -> list[str]:
    """Return what is wrong with a result."""
    said = f"{result.status} {result.objective} {result.bound} ({'; '.join(result.notes)})"
    found = []
    if result.verdict is Verdict.REFUTED:
        found.append(f"refuted: {'; '.join(result.check_messages)}")
    sign = 1.0 if problem.sense == "min" else -1.0
    best = known.optimum
    slack = 1e-5 * max(1.0, abs(best or 0.0))
    if best is None:
        if known.unclear is None and result.status is not Status.INFEASIBLE:
            found.append(f"{said}, enumeration finds nothing feasible")
        return found
    if result.status is Status.INFEASIBLE:
        return [f"{said}, enumeration finds {best}"]
    if result.bound is not None and sign * result.bound > sign * best + slack:
        found.append(f"the bound is on the wrong side: {said}, enumeration finds {best}")
    if result.status is not Status.OPTIMAL:
        if result.params.node_limit is None:
            found.append(f"not solved: {said}, enumeration finds {best}")
    elif abs(result.objective - best) > slack and (
        known.unclear is None or sign * known.unclear > sign * result.objective + slack
    ):
        found.append(f"another optimum: {said}, enumeration finds {best}")
    return found
