"""The convex integer program of the l1 relaxation, through SCIP or Gurobi: a bound."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp

from sparseopt.backend import Backend, Control, Feature, Option
from sparseopt.errors import BackendUnavailable
from sparseopt.params import SolveParams
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.strs.problem import STRS
from sparseopt.result import Limit, Result

from ...common.spheres import first_incumbent, maximise_on_sphere, refit, swap
from ..scaling import Scaled, status_of

if TYPE_CHECKING:
    from ...adapters.adapter import Adapter
    from ...common.program import Program
from ..settings import SOLVER_MARGIN


class ConvexIntegerProgram(Backend):
    r"""Bound the problem by the program (22) of Wang, Dey and Xie, with lambda_0 chosen better.

    A point with at most d nonzeros has :math:`\|z\|_1 \le \sqrt d`. On the sphere, with the
    eigenpairs (lambda_i, v_i) of A and :math:`g_i = v_i'z`,

    .. math:: z'Az = \lambda_0 + \sum_i (\lambda_i - \lambda_0) g_i^2 ,

    where the terms with :math:`\lambda_i > \lambda_0` are convex: on [-theta_i, theta_i], divided
    into 2 N parts, their squares are replaced by chords. What is left is a convex program with one
    choice of a part for each such direction. It bounds the l1 relaxation (21), not the problem:
    even its optimum may be far above. lambda_0 is the multiplier of the incumbent's trust-region
    subproblem where no more than `directions` eigenvalues exceed it, else the next eigenvalue.

    The bound is the solver's; there is no certificate. The incumbent is rounded from z.
    """

    name: ClassVar[str] = "strs-cip"
    summary: ClassVar[str] = "convex integer program of the l1 relaxation, by SCIP or Gurobi"
    requires: ClassVar[tuple[str, ...]] = ("pyscipopt",)
    extra: ClassVar[str | None] = "scip"
    families: ClassVar[frozenset[str]] = frozenset({"strs"})
    features: ClassVar[frozenset[Feature]] = frozenset(
        {Feature.RELAXATION, Feature.WARM_START, Feature.DUAL_BOUND}
    )
    limits: ClassVar[frozenset[str]] = frozenset({"node_limit", "iteration_limit"})
    options: ClassVar[Mapping[str, Option]] = {
        "solver": Option(str, "scip", "the solver of the program", choices=("scip", "gurobi")),
        "parts": Option(int, 5, "N: half the parts of each direction's range", low=1),
        "directions": Option(int, 4, "eigenvalues that may exceed lambda_0", low=0),
    }

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        assert isinstance(problem, STRS)
        with control.uncounted():
            adapter = _adapter(options["solver"])
        scaled = Scaled.of(problem)
        A, a, d, scale = scaled.A, scaled.a, scaled.d, scaled.unit
        best = first_incumbent(A, a, d, 1, control)
        dense = float(maximise_on_sphere(A, a).bound[0])
        with control.building():
            S = best.support
            mu = float(maximise_on_sphere(A[np.ix_(S, S)], a[S]).mu[0])
            chords = _Chords.of(A, d, mu, options["directions"], options["parts"])
            program = chords.program(a, d)
        answer = adapter.ask(
            program, control, {"tolerance": 1e-9, "settings": ""}, rel_gap=params.rel_gap / 2.0
        )
        if answer.x is not None:
            support = np.sort(np.argsort(-np.abs(answer.x[: len(a)]), kind="stable")[:d])
            found = refit(A, a, support[None])[0]
            if found.value > best.value:
                best = swap(A, a, found, control.limit)
        own = math.inf if answer.bound is None else chords.shift - answer.bound + SOLVER_MARGIN
        x = best.point(len(a))
        objective = problem.objective(x)
        bound = max(objective, scale * min(own, dense + SOLVER_MARGIN))
        limit = control.limit() or answer.limit
        if answer.bound is None and limit is None:
            limit = Limit.SLOW_PROGRESS
        status, limit = status_of(problem, objective, bound, params, limit)
        return Result(
            status=status,
            limit=limit,
            raw_status=f"{answer.raw}; lambda_0 = {scale * chords.shift:.6g}, "
            f"{len(chords.curved)} directions",
            x=x,
            objective=objective,
            bound=bound,
            iterations=answer.iterations,
            nodes=answer.nodes,
        )


def _adapter(name: str) -> Adapter:
    """Return the solver, ready.

    Raises
    ------
    BackendUnavailable
        When it is not installed.
    """
    from ...adapters.gurobi_ import Gurobi
    from ...adapters.scip_ import Scip

    adapter: Adapter = Scip() if name == "scip" else Gurobi()
    found = adapter.availability()
    if not found.available:
        raise BackendUnavailable(f"strs-cip with solver={name!r} cannot run: {found.reason}")
    adapter.license_status()
    return adapter


@dataclass(frozen=True, eq=False)
class _Chords:
    """The eigenpairs, lambda_0, and the parts of the convex directions.

    Attributes
    ----------
    values, V : arrays of shape (D,) and (D, D)
    shift : float
        lambda_0.
    curved : int array
        The eigenvalues above it.
    reach : array
        theta_i of those.
    parts : int
        N.
    """

    values: Array
    V: Array
    shift: float
    curved: Array
    reach: Array
    parts: int

    @classmethod
    def of(cls, A: Array, d: int, mu: float, directions: int, parts: int) -> _Chords:
        """Choose lambda_0."""
        values, V = np.linalg.eigh(A)
        following = float(values[-1 - directions]) if directions < len(values) else -math.inf
        shift = max(mu, following)
        curved = np.flatnonzero(values > shift)
        reach = np.array([_reach(np.abs(V[:, i]), d) for i in curved])
        return cls(values, V, shift, curved, reach, parts)

    def program(self, a: Array, d: int) -> Program:
        """Minimise lambda_0 less the bound; columns z, g, y, then eta and the parts of each."""
        from ...common.program import Program, QuadraticRow

        D, C, N = len(a), len(self.curved), self.parts
        knots = 2 * N + 1
        count = 3 * D + C * (2 * knots - 1)
        flat = np.setdiff1d(np.arange(D), self.curved)
        grid = np.linspace(-1.0, 1.0, knots)
        eye = sp.identity(D)
        empty = sp.csc_array((D, C * (2 * knots - 1)))
        blocks: list[Any] = [
            sp.hstack([sp.csc_array(self.V.T), -eye, sp.csc_array((D, D)), empty]),
            sp.hstack([eye, sp.csc_array((D, D)), -eye, empty]),
            sp.hstack([-eye, sp.csc_array((D, D)), -eye, empty]),
        ]
        low = [np.zeros(D), np.full(2 * D, -np.inf)]
        high = [np.zeros(3 * D)]
        total = np.zeros(count)
        total[2 * D : 3 * D] = 1.0
        blocks.append(sp.csc_array(total[None]))
        low.append(np.array([-np.inf]))
        high.append(np.array([math.sqrt(d)]))
        cost = np.zeros(count)
        cost[:D] = -a
        squares = np.zeros(count)
        for k, (i, theta) in enumerate(zip(self.curved, self.reach, strict=True)):
            eta = 3 * D + k * (2 * knots - 1) + np.arange(knots)
            blocks.append(_interpolation(eta, D + i, theta * grid, count))
            low.append(np.concatenate([[0.0, 1.0, 1.0], np.full(knots, -np.inf)]))
            high.append(np.concatenate([[0.0, 1.0, 1.0], np.zeros(knots)]))
            squares[eta] = (theta * grid) ** 2
            cost[eta] = -(self.values[i] - self.shift) * squares[eta]
        error = float(np.sum(self.reach**2)) / (4.0 * N**2)
        on_z, on_g = np.zeros(count), np.zeros(count)
        on_z[:D], on_g[D + flat] = 1.0, 1.0
        column_low, column_high = np.zeros(count), np.ones(count)
        column_low[: 2 * D] = -1.0
        integer = np.zeros(count, dtype=bool)
        for k in range(C):
            integer[3 * D + k * (2 * knots - 1) + knots : 3 * D + (k + 1) * (2 * knots - 1)] = True
        bend = np.zeros(count)
        bend[D + flat] = self.shift - self.values[flat]
        return Program(
            cost=cost,
            low=column_low,
            high=column_high,
            matrix=sp.csc_array(sp.vstack(blocks)),
            row_low=np.concatenate(low),
            row_high=np.concatenate(high),
            integer=integer,
            quadratic=sp.csc_array(sp.diags_array(bend)) if bend.any() else None,
            quadratic_rows=(
                QuadraticRow(sp.csc_array(sp.diags_array(on_z)), 0.0 * cost, -np.inf, 1.0),
                QuadraticRow(sp.csc_array(sp.diags_array(on_g)), squares, -np.inf, 1.0 + error),
            ),
        )


def _interpolation(eta: Array, g: int, at: Array, count: int) -> sp.csc_array:
    """Return the rows that make a column g a point between two knots next to each other.

    They are sum(eta at) = g, sum(eta) = 1, sum(part) = 1, and each eta is at most the parts on both
    of its sides; the parts' columns follow those of the weights eta.
    """
    knots = len(eta)
    part = eta[-1] + 1 + np.arange(knots - 1)
    rows = np.zeros((3 + knots, count))
    rows[0, eta], rows[0, g] = at, -1.0
    rows[1, eta], rows[2, part] = 1.0, 1.0
    for j in range(knots):
        rows[3 + j, eta[j]] = 1.0
        rows[3 + j, part[max(0, j - 1) : j + 1]] = -1.0
    return sp.csc_array(rows)


def _reach(v: Array, d: int) -> float:
    """Return the maximum of v'z over the balls of the 2-norm 1 and the 1-norm sqrt(d).

    It is the minimum over t >= 0 of norm((v - t)_+) + sqrt(d) t, found among the entries of v; any
    t gives a bound.
    """
    t = np.append(np.unique(v), 0.0)
    return float(np.min(np.linalg.norm(np.maximum(v[:, None] - t, 0.0), axis=0) + math.sqrt(d) * t))
