"""The semidefinite relaxation of the sparse trust-region subproblem, by an ADMM."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sparseopt.backend import Backend, Control, Feature, Option
from sparseopt.compiling import prepare
from sparseopt.params import SolveParams
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.strs.problem import STRS
from sparseopt.result import Certificate, Limit, Result

from ...common.spheres import Incumbent, first_incumbent, refit, swap
from ..scaling import Scaled, status_of
from ..settings import FIRST_CHANGE, FIRST_PENALTY, LEAST_CHANGE, SMALLEST_VALUE, WORK_PER_CHECK
from ..tree.leaves import pack_leaves, pack_pairs
from .anderson import Anderson

if TYPE_CHECKING:
    from ..bound.multipliers import Multipliers


class SphereRelaxation(Backend):
    r"""Solve the relaxation (20) of Wang, Dey and Xie with the perspective rows; bound and round.

    .. math:: \max \; \langle A, Z \rangle + a'z \quad\text{subject to}\quad
              \begin{pmatrix} 1 & z' \\ z & Z \end{pmatrix} \succeq 0, \; \operatorname{tr} Z = 1,
              \; 0 \le q \le 1, \; \sum_i q_i \le d,

    .. math:: z_i^2 \le Z_{ii} q_i, \quad \sum_j Z_{ij}^2 \le Z_{ii} q_i, \quad
              \Bigl(\sum_j |Z_{ij}|\Bigr)^2 \le d Z_{ii} q_i .

    Alternating directions between the spectral conditions and the rows (appendix 9 of the paper
    with its errors mended: Z_00 = 1 belongs to the rows), with Anderson acceleration and a penalty
    that balances the two residuals. The multiplier of Z = Y is a pair (l, L) of the row bound,
    which is valid for any pair and no weaker than what the pair proves for the relaxation: `bound`
    holds at any interruption. The value of the relaxation itself, up to the tolerance, is in
    ``result.certificate.values["relaxation"]``. The incumbent is rounded from q, refitted, and
    improved by swaps.
    """

    name: ClassVar[str] = "strs-admm"
    summary: ClassVar[str] = "semidefinite relaxation by own ADMM, with a proven bound"
    factorises = True
    families: ClassVar[frozenset[str]] = frozenset({"strs"})
    features: ClassVar[frozenset[Feature]] = frozenset(
        {
            Feature.RELAXATION,
            Feature.WARM_START,
            Feature.DUAL_BOUND,
            Feature.CERTIFICATE,
        }
    )
    limits: ClassVar[frozenset[str]] = frozenset({"iteration_limit"})
    options: ClassVar[Mapping[str, Option]] = {
        "tolerance": Option(
            float, 1e-5, "relative residual and relative gap at which the ADMM ends", low=0.0
        ),
        "memory": Option(int, 10, "pairs of the Anderson acceleration, 0 for none", low=0),
        "max_iterations": Option(int, 20_000, "end after this many iterations", low=1),
    }

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        assert isinstance(problem, STRS)
        with control.uncounted():
            prepare(_warm_up)
        scaled = Scaled.of(problem)
        A, a, d, scale = scaled.A, scaled.a, scaled.d, scaled.unit
        best = first_incumbent(A, a, d, 1, control)
        splitting = _Splitting(A, a, d, memory=options["memory"])
        most = min(options["max_iterations"], params.iteration_limit or options["max_iterations"])
        while True:
            best = _round(A, a, best, splitting, control)
            control.progress(
                f"{splitting.iterations} iterations, residual {splitting.residual:.1e}",
                objective=best.value * scale,
                bound=splitting.bound * scale,
            )
            limit = control.limit()
            if limit is None and splitting.iterations >= most:
                limit = Limit.ITERATION
            if limit is not None or splitting.converged(options["tolerance"]):
                break
            splitting.advance(most - splitting.iterations)
        x = best.point(len(a))
        objective = problem.objective(x)
        bound = max(objective, splitting.bound * scale)
        status, limit = status_of(problem, objective, bound, params, limit)
        return Result(
            status=status,
            limit=limit,
            raw_status=f"{splitting.iterations} iterations, residual {splitting.residual:.1e}",
            x=x,
            objective=objective,
            bound=bound,
            certificate=_certificate(splitting, scale),
            iterations=splitting.iterations,
        )


def _warm_up() -> None:
    """Compile, or load what was compiled before."""
    for a in (np.zeros(3), np.ones(3)):
        _Splitting(np.diag([3.0, 2.0, 1.0]), a, 2, memory=0).advance(1)


def _round(
    A: Array, a: Array, best: Incumbent, splitting: _Splitting, control: Control
) -> Incumbent:
    """Refit the largest shares, and improve them where they are better than what is known."""
    support = np.sort(np.argsort(-splitting.q, kind="stable")[: splitting.d])
    found = refit(A, a, support[None])[0]
    return swap(A, a, found, control.limit) if found.value > best.value else best


def _certificate(splitting: _Splitting, scale: float) -> Certificate:
    """One leaf that holds all supports, with the best pair."""
    best = splitting.best
    none = np.zeros(0, dtype=np.int64)
    leaves = pack_leaves([none], [none], np.array([best.mu * scale]))
    pool = {} if best.is_zero else {"pair": np.zeros(1, np.int64), **pack_pairs([best], scale)}
    values = {} if splitting.iterations == 0 else {"relaxation": splitting.value * scale}
    return Certificate(kind=leaves.kind, arrays={**leaves.arrays, **pool}, values=values)


@dataclass(eq=False)
class _Splitting:
    """The iterates, the penalty, and the best pair of multipliers so far.

    Attributes
    ----------
    A, a, d : the problem, with entries of at most about 1
    memory : int
        Of the acceleration.
    rho : float
        The penalty.
    q : array of shape (D,)
        Shares of the variables in the support.
    value : float
        The objective of Z.
    residual : float
        Distance between Z and Y, relative to the trace.
    bound : float
        The best row bound so far, and `best` the pair that gave it.
    """

    A: Array
    a: Array
    d: int
    memory: int
    rho: float = FIRST_PENALTY
    iterations: int = 0
    value: float = math.inf
    residual: float = math.inf
    _ratios: list[float] = field(default_factory=list)
    _change_at: int = FIRST_CHANGE

    def __post_init__(self) -> None:
        from ..bound.multipliers import Multipliers

        n = len(self.a)
        self._border = bool(self.a.any())
        self._state = np.zeros(1 + n + n * n)
        self._state[0] = 1.0
        self._before = self._state.copy()
        self._Z = np.zeros((n + self._border, n + self._border))
        self._Y, self._y = np.zeros((n, n)), np.zeros(n)
        self.q, self._angles = np.zeros(n), np.full((3, n), 0.7)
        self._rank, self._rate = np.array([n]), np.zeros(1)
        self._old = np.zeros((n + 1, n))
        weights = np.ones(len(self._state))
        weights[1 : 1 + n] = math.sqrt(2.0)
        self._anderson = Anderson(weights, self.memory) if self.memory else None
        self._everything = np.arange(n)
        self.best = Multipliers.of_point(self.A, self.a, self._everything, 0.0 * self._state)
        self.bound = self.best.spectral

    def converged(self, tolerance: float) -> bool:
        """Return whether Z and Y agree, and the bound is not above the value."""
        if self.iterations == 0:
            return False
        size = max(abs(self.value), SMALLEST_VALUE)
        return self.residual <= tolerance and self.bound - self.value <= tolerance * size

    def advance(self, at_most: int) -> None:
        """Take some iterations, then look at the bound, the penalty, and the acceleration."""
        from .admm_steps import Iterates, Relaxation, iterate

        n, o = len(self.a), int(self._border)
        steps = min(at_most, max(1, min(10, int(WORK_PER_CHECK / n**3))))
        data = Relaxation(self.A, self.a, self.d, self._border)
        iterates = Iterates(
            state=self._state,
            before=self._before,
            Z=self._Z,
            Y=self._Y,
            y=self._y,
            old=self._old,
            q=self.q,
            angles=self._angles,
            rate=self._rate,
            rank=self._rank,
        )
        primal, dual = iterate(data, iterates, self.rho, steps)
        self.iterations += steps
        trace = 2.0 if self._border else 1.0
        self.residual = primal / trace
        border = float(self._Z[0, 1:] @ self.a) if self._border else 0.0
        self.value = float(np.sum(self._Z[o:, o:] * self.A)) + border
        multipliers = self._look()
        length = float(np.linalg.norm(np.append(multipliers.l, multipliers.L)))
        if min(primal, dual, length) > 0.0:
            self._ratios.append(math.log(primal * length / (dual * float(np.linalg.norm(self._Z)))))
        if self.iterations >= self._change_at and self._changed_penalty():
            return
        if self._anderson is not None:
            self._state = self._anderson.next(self._before, self._state)

    def _look(self) -> Multipliers:
        """Evaluate the row bound of the multipliers that the rows' projection gave."""
        from ..bound.multipliers import Multipliers, ProvenBound

        n = len(self.a)
        x = np.zeros(len(self._state))
        x[1 + n :] = self.rho * (self._before[1 + n :] - self._Y.ravel())
        if self._border:
            x[1 : 1 + n] = 2.0 * self.rho * (self._before[1 : 1 + n] - self._y)
        found = Multipliers.of_point(self.A, self.a, self._everything, x)
        bound = ProvenBound.at(found, self._everything, self._everything[:0], self.d).bound
        if bound < self.bound:
            self.bound, self.best = bound, found
        return found

    def _changed_penalty(self) -> bool:
        """Balance the residuals, at ever longer intervals; return whether the penalty changed."""
        factor = math.exp(sum(self._ratios) / (2.0 * max(1, len(self._ratios))))
        self._ratios = []
        self._change_at = self.iterations + max(FIRST_CHANGE, self.iterations // 2)
        if 1.0 / LEAST_CHANGE < factor < LEAST_CHANGE:
            return False
        factor = min(10.0, max(0.1, factor))
        self.rho *= factor
        rows = np.concatenate([[1.0], self._y, self._Y.ravel()])
        self._state = rows + (self._before - rows) / factor
        if self._anderson is not None:
            self._anderson.forget()
        return True
