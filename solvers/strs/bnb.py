"""Exact branch and bound for the sparse trust-region subproblem."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sparseopt.backend import Backend, Control, Feature, Option
from sparseopt.params import SolveParams
from sparseopt.problems.base import Problem
from sparseopt.problems.strs import STRS
from sparseopt.result import Certificate, Result, Status
from sparseopt.solvers.strs.incumbent import first_incumbent
from sparseopt.solvers.strs.leaves import pack_leaves, pack_pairs

if TYPE_CHECKING:
    from sparseopt.solvers.strs.multipliers import Multipliers
    from sparseopt.solvers.strs.tree import Leaf

__all__ = ["BranchAndBound"]

_PROVEN = 1e-9
"""The relative gap that is proven where no more than the default was asked for."""
_DEFAULT = SolveParams().rel_gap
_ROUNDING = 1e-12
"""The smallest gap that is worth closing, of the size of the largest entry of A and a."""


class BranchAndBound(Backend):
    r"""Truncation and swaps, the Lagrangian row bound, fixing by reduced costs, best-first tree.

    1. An incumbent: truncations refitted by a trust-region subproblem, then swap search.
    2. At the root the row bound (see :mod:`sparseopt.solvers.strs.row_bound`) is minimised by
       L-BFGS with a falling smoothing; variables whose forced in- or exclusion would bring it below
       the incumbent are fixed, and the smaller problem goes on.
    3. What is left is a tree, best node first, the bound re-optimised at each node from its
       parent's multipliers. Nodes with few supports are enumerated.

    Incumbent and bound are valid at any interruption. The certificate lists the leaves with their
    multipliers, up to a size beyond which there is none.
    """

    name: ClassVar[str] = "strs-bnb"
    summary: ClassVar[str] = "own branch and bound with the Lagrangian row bound, exact"
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
        "starts": Option(int, 3, "how many of the best truncations are improved by swaps", low=1),
        "polish_nodes": Option(
            int,
            1000,
            "after this many nodes the gap that was asked for is enough; before, 1e-9 is proven",
            low=0,
        ),
        "certificate_numbers": Option(
            int, 8_000_000, "give up the certificate when it takes more numbers than this", low=0
        ),
    }

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        assert isinstance(problem, STRS)
        with control.uncounted():
            from sparseopt.solvers.strs.descent import warm_up
            from sparseopt.solvers.strs.tree import Settings, Tree

            warm_up()
        size = max(float(np.abs(problem.A).max()), float(np.abs(problem.linear).max()))
        # A power of two, so that scaling does not round.
        scale = 2.0 ** round(math.log2(size)) if size > 0.0 else 1.0
        A, a, d = problem.A / scale, problem.linear / scale, problem.d
        gap = params.rel_gap if params.rel_gap > _DEFAULT else _PROVEN
        tree = Tree(
            A,
            a,
            d,
            best=first_incumbent(A, a, d, options["starts"], control),
            rel_tolerance=gap / 2.0,
            abs_tolerance=max(_ROUNDING, params.abs_gap / scale),
            settings=Settings(start=0.05 if a.any() else 0.2),
            control=control,
            asked=params.rel_gap,
            polish=options["polish_nodes"],
            node_limit=params.node_limit,
            capacity=options["certificate_numbers"],
        )
        limit = tree.run()
        bound = tree.bound
        closed = tree.proves(max(gap, params.rel_gap))
        tree.finish()
        x = tree.best.point(len(a))
        objective = problem.objective(x)
        bound = max(objective, bound * scale)
        if closed and bound - objective <= _ROUNDING * scale:
            # Beside an optimum near 0 rounding errors of the data's size would look like a gap.
            relative = bound - objective > params.rel_gap * abs(objective)
            bound = objective if relative else bound
        notes = []
        if tree.leaves is None:
            notes.append(
                f"the leaves take more than {options['certificate_numbers']} numbers, so they were "
                "not kept; raise the option certificate_numbers for a certificate"
            )
        return Result(
            status=Status.OPTIMAL if closed else Status.FEASIBLE,
            limit=None if closed else limit,
            raw_status=f"{tree.nodes} nodes, {tree.evaluations} evaluations of the row bound",
            x=x,
            objective=objective,
            bound=bound,
            certificate=None if tree.leaves is None else _certificate(tree.leaves, scale),
            iterations=tree.evaluations,
            nodes=tree.nodes,
            notes=tuple(notes),
        )


def _certificate(leaves: list[Leaf], scale: float) -> Certificate:
    """Pack the leaves and the pool of pairs that they use, in the units of the problem."""
    pool: dict[int, int] = {}
    pairs: list[Multipliers] = []
    index = np.full(len(leaves), -1, dtype=np.int64)
    for k, leaf in enumerate(leaves):
        if leaf.multipliers is None:
            continue
        key = id(leaf.multipliers)
        if key not in pool:
            pool[key] = len(pairs)
            pairs.append(leaf.multipliers)
        index[k] = pool[key]
    plain = pack_leaves(
        [leaf.fixed_in for leaf in leaves],
        [leaf.fixed_out for leaf in leaves],
        np.array([leaf.mu for leaf in leaves]) * scale,
    )
    arrays = {**plain.arrays, "pair": index, **pack_pairs(pairs, scale)}
    return Certificate(kind=plain.kind, arrays=arrays)
