"""Outer approximation of the sparse trust-region subproblem: cuts and a mixed-integer master."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sparseopt.backend import Availability, Backend, Control, Feature, Option
from sparseopt.errors import BackendUnavailable
from sparseopt.params import SolveParams
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.strs import STRS
from sparseopt.result import Limit, Result, Status
from sparseopt.solvers.strs.incumbent import Incumbent, first_incumbent, refit, swap
from sparseopt.solvers.strs.support_cuts import exact_pairs

if TYPE_CHECKING:
    from sparseopt.solvers.strs.master import Master
    from sparseopt.solvers.strs.multipliers import Multipliers, Proof

__all__ = ["OuterApproximation"]

_ROUNDING = 1e-12
"""The smallest gap that is worth closing, of the size of the largest entry of A and a."""
_MARGIN = 1e-8
"""What the master's bound may be too low by, as a part of the root's gap."""
_SMALLEST = 1e-6
"""The master's unit of the bound is no smaller, where the data are of size 1."""
_ROUNDS, _SHRINK = 16, 0.2
"""Smoothings at the root, and the factor from one to the next."""
_STALL, _PATIENCE = 0.6, 3
"""After so many smoothings, one that leaves more than this part of the gap is the last."""


class OuterApproximation(Backend):
    r"""Algorithm 3 of Wang, Dey and Xie, with cuts in closed form and its stopping test mended.

    The value of a support is bounded by functions that are linear in its indicator q. At the root
    the row bound is minimised (see :mod:`sparseopt.solvers.strs.row_bound`); each of its pairs is
    such a function, and they fix variables. Then a mixed-integer master chooses the support of the
    largest bound; a trust-region subproblem gives its value, and the pairs of
    :mod:`sparseopt.solvers.strs.support_cuts`, which are exact there, are added, until the master's
    bound meets the incumbent. A support that was settled is excluded, so the end is certain.

    Incumbent and bound are valid at any interruption. The master's bound is that of HiGHS or SCIP,
    so there is no certificate.
    """

    name: ClassVar[str] = "strs-oa"
    summary: ClassVar[str] = "outer approximation with closed-form cuts, HiGHS or SCIP as master"
    features: ClassVar[frozenset[Feature]] = frozenset(
        {Feature.STRS, Feature.EXACT, Feature.WARM_START, Feature.DUAL_BOUND}
    )
    options: ClassVar[Mapping[str, Option]] = {
        "master": Option(
            str, "highs", "who solves the mixed-integer masters", choices=("highs", "scip")
        ),
        "starts": Option(int, 3, "how many of the best truncations are improved by swaps", low=1),
    }

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        assert isinstance(problem, STRS)
        with control.uncounted():
            from sparseopt.solvers.strs.descent import warm_up

            _find(options["master"])
            warm_up()
        size = max(float(np.abs(problem.A).max()), float(np.abs(problem.linear).max()))
        # A power of two, so that scaling does not round.
        scale = 2.0 ** round(math.log2(size)) if size > 0.0 else 1.0
        A, a, d = problem.A / scale, problem.linear / scale, problem.d
        search = _Search(A, a, d, first_incumbent(A, a, d, options["starts"], control), control)
        search.tolerance = max(_ROUNDING, params.abs_gap / scale)
        search.gap = params.rel_gap
        search.scale = scale
        limit = search.root()
        if limit is None and not search.closed:
            limit = search.outer(options["master"])
        closed = search.closed
        x = search.best.point(len(a))
        objective = problem.objective(x)
        bound = max(objective, search.bound * scale)
        if closed and bound - objective <= _ROUNDING * scale:
            bound = objective
        return Result(
            status=Status.OPTIMAL if closed else Status.FEASIBLE,
            limit=None if closed else limit,
            raw_status=f"{search.iterations} masters, {search.cuts} cuts",
            x=x,
            objective=objective,
            bound=bound,
            iterations=search.iterations,
        )


def _find(master: str) -> None:
    """Load what the master needs.

    Raises
    ------
    BackendUnavailable
        When SCIP is asked for and not there.
    """
    if master == "highs":
        import highspy  # noqa: F401

        return
    from sparseopt.solvers.scip_ import Scip

    found: Availability = Scip().availability()
    if not found.available:
        raise BackendUnavailable(f"backend strs-oa with master='scip' cannot run: {found.reason}")


@dataclass
class _Inner(Control):
    """The control of a master: the clock and Ctrl-C of the solve, without its other limits."""

    outer: Control | None = None

    def limit(self) -> Limit | None:
        assert self.outer is not None
        return self.outer.limit()

    @property
    def remaining(self) -> float | None:
        assert self.outer is not None
        return self.outer.remaining


class _Search:
    """The state: an incumbent, the supports that are left, a pool of pairs, a bound."""

    def __init__(self, A: Array, a: Array, d: int, best: Incumbent, control: Control) -> None:
        from sparseopt.solvers.strs.multipliers import Multipliers

        D = len(a)
        self.A, self.a, self.d, self.best, self.control = A, a, d, best, control
        self.tolerance, self.gap, self.scale = 0.0, 0.0, 1.0
        self.iterations = self.cuts = 0
        self.candidates, self.fixed_in = np.arange(D), np.arange(0)
        zero = Multipliers.of_point(A, a, self.candidates, np.zeros(1 + D + D * D))
        self.pool = [zero]
        self._open, self._dropped = zero.spectral, -math.inf

    @property
    def bound(self) -> float:
        """A bound on the optimum at any moment."""
        return max(self.best.value, self._open, self._dropped)

    @property
    def cut(self) -> float:
        """The bound at which supports are dropped."""
        value = self.best.value
        return value + max(self.tolerance, self.gap * abs(value))

    @property
    def closed(self) -> bool:
        """Whether bound and incumbent meet."""
        size = max(abs(self.bound), abs(self.best.value))
        return self.bound - self.best.value <= max(self.tolerance, self.gap * size)

    def offer(self, support: Array) -> None:
        """Refit a support, and improve it where it is better than the incumbent."""
        found = refit(self.A, self.a, support[None])[0]
        if found.value > self.best.value:
            self.best = swap(self.A, self.a, found, self.control.limit)

    # ---- the root

    def root(self) -> Limit | None:
        """Minimise the row bound, fix variables, and keep the pairs; return a limit."""
        from sparseopt.solvers.strs.descent import Descent, restrict
        from sparseopt.solvers.strs.multipliers import Proof

        part = 0.05 if self.a.any() else 0.2
        x = np.concatenate([[0.0], part * self.a, part * self.A.ravel()])
        descent = Descent(self.A, self.a, self.d)
        delta = max(self._open - self.best.value, self.tolerance) / _SHRINK
        for round_ in range(_ROUNDS):
            limit = self.control.limit()
            if limit is not None or self.closed or len(self.candidates) == self.d:
                return limit
            gap = self.bound - self.cut
            delta = max(min(gap, _SHRINK * delta), 1e-9 * abs(self.best.value))
            found, x, weight, density = descent.run(
                self.candidates, self.fixed_in, x, delta, self.cut, self.control.limit
            )
            self.pool.append(found)
            score = np.where(np.isin(self.candidates, self.fixed_in), np.inf, weight)
            order = np.argsort(-score - 1e-3 * density, kind="stable")
            self.offer(np.sort(self.candidates[order[: self.d]]))
            proof = Proof.at(found, self.candidates, self.fixed_in, self.d)
            self._open = min(self._open, proof.bound)
            before = len(self.candidates)
            kept = self._fix(proof)
            x = restrict(x, kept)
            self._tell(f"{len(self.candidates)} candidates")
            stalled = self.bound - self.cut > _STALL * gap and kept.sum() > 0.9 * before
            if stalled and round_ >= _PATIENCE:
                break
        return self.control.limit()

    def _fix(self, proof: Proof) -> Array:
        """Drop the supports that a bound below the incumbent's excludes; return who stays."""
        out = (proof.bounds_in <= self.cut) & ~proof.inside
        into = (proof.bounds_out <= self.cut) & ~proof.inside & ~out
        for bounds, chosen in ((proof.bounds_in, out), (proof.bounds_out, into)):
            self._dropped = max(self._dropped, float(bounds[chosen].max(initial=-math.inf)))
        self.fixed_in = np.union1d(self.fixed_in, self.candidates[into])
        self.candidates = self.candidates[~out]
        if len(self.candidates) < self.d or len(self.fixed_in) > self.d:
            # Nothing that could be better is left.
            self._open = -math.inf
        return np.asarray(~out)

    def _tell(self, text: str) -> None:
        """Report progress, in the units of the problem."""
        self.control.progress(
            text, objective=self.scale * self.best.value, bound=self.scale * self.bound
        )

    # ---- the outer approximation

    def outer(self, name: str) -> Limit | None:
        """Add cuts until the master's bound meets the incumbent; return a limit."""
        from sparseopt.solvers.strs.master import HighsMaster, ScipMaster

        params = replace(self.control.params, node_limit=None, iteration_limit=None)
        inner = _Inner(params=params, outer=self.control)
        free = np.setdiff1d(self.candidates, self.fixed_in)
        m = self.d - len(self.fixed_in)
        if len(free) == m:
            self.offer(self.candidates)
            self._open = -math.inf
            return None
        base, unit = self.best.value, max(self._open - self.best.value, _SMALLEST)
        master: Master = (HighsMaster if name == "highs" else ScipMaster)(len(free), m, inner)
        for pair in self.pool:
            self._add(master, pair, base, unit)
        while True:
            limit = self.control.limit() or self._iteration_limit()
            if limit is not None:
                return limit
            self.iterations += 1
            chosen, eta = master.solve()
            bound = base + unit * (eta + _MARGIN) if eta > -math.inf else -math.inf
            self._open = min(self._open, bound)
            self._tell(f"{self.iterations} masters, {self.cuts} cuts")
            if self.closed:
                return None
            if chosen is None:
                return self.control.limit() or Limit.SLOW_PROGRESS
            support = np.union1d(self.fixed_in, free[chosen])
            self.offer(support)
            master.settle(chosen)
            self._add_exact(master, support, base, unit)

    def _iteration_limit(self) -> Limit | None:
        most = self.control.params.iteration_limit
        return Limit.ITERATION if most is not None and self.iterations >= most else None

    def _add_exact(self, master: Master, support: Array, base: float, unit: float) -> None:
        from sparseopt.solvers.strs.multipliers import Multipliers

        F = self.candidates
        places = np.searchsorted(F, support)
        for x in exact_pairs(self.A[np.ix_(F, F)], self.a[F], places):
            self._add(master, Multipliers.of_point(self.A, self.a, F, x), base, unit)

    def _add(self, master: Master, pair: Multipliers, base: float, unit: float) -> None:
        """Add the bound of a pair, which is linear in the free shares, with all roundings up."""
        from sparseopt.solvers.strs.multipliers import Proof

        proof = Proof.at(pair, self.candidates, self.fixed_in, self.d)
        free = ~proof.inside
        chosen = np.sort(proof.terms[free])[::-1][: self.d - int(proof.inside.sum())]
        # The bound is that of the largest terms, with a margin that no other choice exceeds.
        constant = proof.bound - float(chosen.sum())
        master.cut((constant - base) / unit, proof.terms[free] / unit)
        self.cuts += 1
