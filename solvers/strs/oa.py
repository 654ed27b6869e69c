"""Outer approximation of the sparse trust-region subproblem: cuts and a mixed-integer master."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sparseopt.backend import Availability, Backend, Control, Feature, Option
from sparseopt.errors import BackendUnavailable
from sparseopt.params import SolveParams
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.strs import STRS
from sparseopt.result import Limit, Result, Status
from sparseopt.solvers.strs.incumbent import first_incumbent
from sparseopt.solvers.strs.leaves import certificate_of
from sparseopt.solvers.strs.support_cuts import exact_pairs

if TYPE_CHECKING:
    from sparseopt.solvers.strs.master import Master
    from sparseopt.solvers.strs.multipliers import Multipliers
    from sparseopt.solvers.strs.tree import Tree

__all__ = ["OuterApproximation"]

_ROUNDING = 1e-12
"""The smallest gap that is worth closing, of the size of the largest entry of A and a."""
_MARGIN = 1e-8
"""What the master's bound may be too low by, as a part of the root's gap."""
_SMALLEST = 1e-6
"""The master's unit of the bound is no smaller, where the data are of size 1."""


class OuterApproximation(Backend):
    r"""Algorithm 3 of Wang, Dey and Xie, with cuts in closed form and its stopping test mended.

    The value of a support is bounded by functions that are linear in its indicator q. At the root
    the row bound is minimised (see :mod:`sparseopt.solvers.strs.row_bound`); each of its pairs is
    such a function, and they fix variables, as in the first node of `strs-bnb`. Then a
    mixed-integer master chooses the support of the largest bound; a trust-region subproblem gives
    its value, and the pairs of :mod:`sparseopt.solvers.strs.support_cuts`, which are exact there,
    are added, until the master's bound meets the incumbent. A support that was settled is excluded,
    so the end is certain.

    Incumbent and bound are valid at any interruption. The master's bound is that of HiGHS or SCIP,
    which cannot be checked: once it meets the incumbent, the tree of `strs-bnb` goes on from the
    root, and its leaves are the certificate. An interrupted solve has none.
    """

    name: ClassVar[str] = "strs-oa"
    summary: ClassVar[str] = "outer approximation with closed-form cuts, HiGHS or SCIP as master"
    features: ClassVar[frozenset[Feature]] = frozenset(
        {
            Feature.STRS,
            Feature.EXACT,
            Feature.WARM_START,
            Feature.DUAL_BOUND,
            Feature.CERTIFICATE,
        }
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
            from sparseopt.solvers.strs.nodes import Settings
            from sparseopt.solvers.strs.tree import Tree

            _find(options["master"])
            warm_up()
        size = max(float(np.abs(problem.A).max()), float(np.abs(problem.linear).max()))
        # A power of two, so that scaling does not round.
        scale = 2.0 ** round(math.log2(size)) if size > 0.0 else 1.0
        A, a, d = problem.A / scale, problem.linear / scale, problem.d
        tree = Tree(
            A,
            a,
            d,
            best=first_incumbent(A, a, d, options["starts"], control),
            rel_tolerance=params.rel_gap / 2.0,
            abs_tolerance=max(_ROUNDING, params.abs_gap / scale),
            settings=Settings(start=0.05 if a.any() else 0.2),
            control=control,
            scale=scale,
        )
        search = _Search(tree, control, params.rel_gap)
        limit = search.root()
        if limit is None and not search.closed:
            limit = search.outer(options["master"])
        closed = search.closed
        certified = closed and search.prove()
        x = tree.best.point(len(a))
        objective = problem.objective(x)
        bound = max(objective, (tree.bound if certified else search.bound) * scale)
        if closed and bound - objective <= _ROUNDING * scale:
            bound = objective
        return Result(
            status=Status.OPTIMAL if closed else Status.FEASIBLE,
            limit=None if closed else limit,
            raw_status=f"{search.iterations} masters, {search.cuts} cuts, {tree.nodes} nodes",
            x=x,
            objective=objective,
            bound=bound,
            certificate=(
                certificate_of(tree.leaves, scale)
                if certified and tree.leaves is not None
                else None
            ),
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
    """The state: the tree whose root has been processed, a pool of pairs, the master's bound."""

    def __init__(self, tree: Tree, control: Control, gap: float) -> None:
        from sparseopt.solvers.strs.multipliers import Multipliers

        D = len(tree.a)
        zero = Multipliers.of_point(tree.A, tree.a, np.arange(D), np.zeros(1 + D + D * D))
        self.tree, self.control, self.gap = tree, control, gap
        self.iterations = self.cuts = 0
        self.pool = [zero]
        tree.pairs = self.pool
        self._open = zero.spectral

    @property
    def bound(self) -> float:
        """A bound on the optimum at any moment."""
        return max(self.tree.best.value, self._open, self.tree.closed)

    @property
    def closed(self) -> bool:
        """Whether bound and incumbent meet."""
        value = self.tree.best.value
        size = max(abs(self.bound), abs(value))
        return self.bound - value <= max(self.tree.abs_tolerance, self.gap * size)

    def root(self) -> Limit | None:
        """Process the root: minimise the row bound, fix variables; return a limit."""
        self.tree.node_limit = 1
        limit = self.tree.run()
        self._open = min(self._open, self.tree.bound)
        return None if limit is Limit.NODE else limit

    def prove(self) -> bool:
        """Go on with the tree, for the certificate; return whether it closed the gap, too."""
        self.tree.node_limit = None
        limit = self.tree.run()
        self.tree.finish()
        return limit is None

    def _tell(self, text: str) -> None:
        """Report progress, in the units of the problem."""
        scale = self.tree.scale
        self.control.progress(
            text, objective=scale * self.tree.best.value, bound=scale * self.bound
        )

    # ---- the outer approximation

    def outer(self, name: str) -> Limit | None:
        """Add cuts until the master's bound meets the incumbent; return a limit."""
        from sparseopt.solvers.strs.master import HighsMaster, ScipMaster

        nodes, d = self.tree.open_nodes, self.tree.d
        candidates = reduce(np.union1d, (node.candidates for node in nodes))
        fixed_in = reduce(np.intersect1d, (node.fixed_in for node in nodes))
        params = replace(self.control.params, node_limit=None, iteration_limit=None)
        inner = _Inner(params=params, outer=self.control)
        free = np.setdiff1d(candidates, fixed_in)
        m = d - len(fixed_in)
        value = self.tree.best.value
        cuts = _Cuts(candidates, fixed_in, d, value, max(self._open - value, _SMALLEST))
        master: Master = (HighsMaster if name == "highs" else ScipMaster)(len(free), m, inner)
        for pair in self.pool:
            if np.isin(candidates, pair.variables).all():
                self._add(master, cuts, pair)
        while True:
            limit = self.control.limit() or self._iteration_limit()
            if limit is not None:
                return limit
            self.iterations += 1
            chosen, eta = master.solve()
            self._open = min(self._open, cuts.bound(eta))
            self._tell(f"{self.iterations} masters, {self.cuts} cuts")
            if self.closed:
                return None
            if chosen is None:
                return self.control.limit() or Limit.SLOW_PROGRESS
            support = np.union1d(fixed_in, free[chosen])
            self.tree.offer(support)
            master.settle(chosen)
            self._add_exact(master, cuts, support)

    def _iteration_limit(self) -> Limit | None:
        most = self.control.params.iteration_limit
        return Limit.ITERATION if most is not None and self.iterations >= most else None

    def _add_exact(self, master: Master, cuts: _Cuts, support: Array) -> None:
        from sparseopt.solvers.strs.multipliers import Multipliers

        A, a, F = self.tree.A, self.tree.a, cuts.candidates
        places = np.searchsorted(F, support)
        for x in exact_pairs(A[np.ix_(F, F)], a[F], places):
            self._add(master, cuts, Multipliers.of_point(A, a, F, x))

    def _add(self, master: Master, cuts: _Cuts, pair: Multipliers) -> None:
        master.cut(*cuts.of(pair))
        self.cuts += 1


@dataclass(frozen=True, eq=False)
class _Cuts:
    """Bounds of pairs as cuts of the master, whose eta is (bound - base) / unit.

    Attributes
    ----------
    candidates, fixed_in : int arrays
        What the root has left of the supports.
    d : int
    base, unit : float
    """

    candidates: Array
    fixed_in: Array
    d: int
    base: float
    unit: float

    def of(self, pair: Multipliers) -> tuple[float, Array]:
        """Return the constant and the weights of the free shares, with all roundings up."""
        from sparseopt.solvers.strs.multipliers import Proof

        proof = Proof.at(pair, self.candidates, self.fixed_in, self.d)
        free = ~proof.inside
        chosen = np.sort(proof.terms[free])[::-1][: self.d - int(proof.inside.sum())]
        # The bound is that of the largest terms, with a margin that no other choice exceeds.
        constant = proof.bound - float(chosen.sum())
        return (constant - self.base) / self.unit, proof.terms[free] / self.unit

    def bound(self, eta: float) -> float:
        """Return what a bound on eta proves."""
        return self.base + self.unit * (eta + _MARGIN) if eta > -math.inf else -math.inf
