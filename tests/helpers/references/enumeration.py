"""All integer points, each with Clarabel on the rest: answers to compare with, and certificates."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import clarabel
import numpy as np
import scipy.sparse as sp

from sparseopt import Certificate, Result, SolveParams, Status
from sparseopt.problems import MISDP
from sparseopt.problems.misdp.cones import triangle
from sparseopt.solvers.misdp.bounding.polish import Polish


@dataclass(frozen=True)
class Relaxation:
    """What Clarabel says of a box: its multipliers have the signs of a minimisation."""

    status: str
    value: float
    x: np.ndarray
    rows: np.ndarray
    cones: np.ndarray
    psd: np.ndarray

    @property
    def solved(self) -> bool:
        return self.status in ("Solved", "AlmostSolved")

    @property
    def infeasible(self) -> bool:
        return self.status in ("PrimalInfeasible", "AlmostPrimalInfeasible")


def relax(problem: MISDP, lower: np.ndarray, upper: np.ndarray) -> Relaxation:
    """Solve the continuous relaxation within bounds, with the indicators of binaries at 1."""
    sign = 1.0 if problem.sense == "min" else -1.0
    n = len(problem.c)
    identity = sp.csr_array(sp.eye_array(n))
    parts, right, cones = [], [], []

    def add(matrix: sp.csr_array, vector: np.ndarray, cone: object) -> None:
        if len(vector):
            parts.append(matrix)
            right.append(vector)
            cones.append(cone)

    held = [row for row in problem.indicators if lower[row.binary] == 1.0]
    places = {}
    for name, A, low, high in (
        ("rows", problem.A, problem.row_lower, problem.row_upper),
        ("bounds", identity, lower, upper),
        (
            "indicators",
            sp.csr_array(sp.vstack([sp.csr_array((0, n)), *(row.a for row in held)])),
            np.array([row.lower for row in held]),
            np.array([row.upper for row in held]),
        ),
    ):
        equal = np.flatnonzero(low == high)
        below = np.flatnonzero(np.isfinite(low) & (low != high))
        above = np.flatnonzero(np.isfinite(high) & (low != high))
        places[name] = (equal, below, above)
        add(A[equal], low[equal], clarabel.ZeroConeT(len(equal)))
        add(-A[below], -low[below], clarabel.NonnegativeConeT(len(below)))
        add(A[above], high[above], clarabel.NonnegativeConeT(len(above)))
    turn = np.array([[1.0, 1.0], [1.0, -1.0]]) / np.sqrt(2.0)
    for cone in problem.cones:
        F, g = cone.F, cone.g
        if cone.rotated:
            T = sp.block_diag([turn, sp.eye_array(cone.dimension - 2)], format="csr")
            F, g = sp.csr_array(T @ F), T @ g
        add(-F, g, clarabel.SecondOrderConeT(cone.dimension))
    orders = []
    for block in problem.blocks:
        # Clarabel stacks the upper triangle by columns, which is the lower one by rows.
        rows, columns = triangle(block.size)
        order = np.lexsort((columns, rows))
        scale = np.where(rows == columns, 1.0, np.sqrt(2.0))
        orders.append((order, scale))
        F = sp.diags_array(scale[order]) @ block.F[order]
        add(sp.csr_array(-F), scale[order] * block.F0[order], clarabel.PSDTriangleConeT(block.size))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-9
    settings.max_threads = 1
    A = sp.csc_matrix(sp.vstack(parts)) if parts else sp.csc_matrix((0, n))
    b = np.concatenate(right) if right else np.zeros(0)
    P = sp.csc_matrix((n, n)) if problem.Q is None else sp.csc_matrix(sp.triu(sign * problem.Q))
    found = clarabel.DefaultSolver(P, sign * problem.c, A, b, cones, settings).solve()
    dual = np.array(found.z)
    begin = 0

    def take(count: int) -> np.ndarray:
        nonlocal begin
        begin += count
        return dual[begin - count : begin]

    y = np.zeros(problem.A.shape[0])
    for name in places:
        equal, below, above = places[name]
        values = -take(len(equal)), take(len(below)), -take(len(above))
        if name == "rows":
            y[equal] += values[0]
            y[below] += values[1]
            y[above] += values[2]
    z, Z = [np.zeros(0)], [np.zeros(0)]
    for cone in problem.cones:
        u = take(cone.dimension).copy()
        if cone.rotated:
            u[:2] = turn @ u[:2]
        z.append(u)
    for block, (order, scale) in zip(problem.blocks, orders, strict=True):
        packed = np.zeros(block.dimension)
        packed[order] = take(block.dimension)
        Z.append(packed / scale)
    value = sign * found.obj_val + problem.offset
    return Relaxation(
        str(found.status), value, np.array(found.x), y, np.concatenate(z), np.concatenate(Z)
    )


def enumerate_integers(problem: MISDP) -> Result:
    """Return the optimum, or infeasibility, with one leaf for each integer point of the box."""
    whole = problem.integer
    ranges = [
        range(int(np.ceil(a)), int(np.floor(b)) + 1)
        for a, b in zip(problem.lower[whole], problem.upper[whole], strict=True)
    ]
    points = np.array(list(itertools.product(*ranges)), dtype=float).reshape(-1, int(whole.sum()))
    answers, multipliers, polish = [], [], Polish(problem)
    for point in points:
        lower, upper = problem.lower.copy(), problem.upper.copy()
        lower[whole] = upper[whole] = point
        answer = relax(problem, lower, upper)
        answers.append(answer)
        multipliers.append(
            polish.improve(lower, upper, answer.rows, answer.cones, answer.psd, answer.infeasible)
        )
    certificate = Certificate(
        kind="misdp-leaves",
        arrays={
            "lower": points,
            "upper": points,
            "rows": np.concatenate([given.rows for given in multipliers]),
            "cones": np.concatenate([given.cones for given in multipliers]),
            "psd": np.concatenate([given.psd for given in multipliers]),
            "infeasible": np.array([answer.infeasible for answer in answers]),
        },
    )
    solved = [k for k, answer in enumerate(answers) if answer.solved]
    if not solved:
        return Result(status=Status.INFEASIBLE, certificate=certificate)
    best = min if problem.sense == "min" else max
    k = best(solved, key=lambda k: answers[k].value)
    x = answers[k].x.copy()
    x[whole] = points[k]
    value = problem.objective(x)
    # The solver's multipliers prove its own value only nearly.
    slack = 1e-6 * max(abs(value), 0.1)
    bound = value - slack if problem.sense == "min" else value + slack
    return Result(
        status=Status.OPTIMAL,
        x=x,
        objective=value,
        bound=bound,
        certificate=certificate,
        params=SolveParams(rel_gap=1e-5, abs_gap=1e-6),
    )
