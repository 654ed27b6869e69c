"""Exact branch and bound for the sparse trust-region subproblem."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from sparseopt.backend import Backend, Control, Feature, Option
from sparseopt.params import SolveParams
from sparseopt.problems.base import Problem
from sparseopt.problems.strs.path import STRSPath
from sparseopt.problems.strs.problem import STRS
from sparseopt.result import Result

from .exact import solve_exactly
from .sizes import solve_sizes

__all__ = ["BranchAndBound"]


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

    An :class:`~sparseopt.problems.STRSPath` is solved size by size: the incumbent starts from the
    support before with one variable more, the root from the multipliers there.
    """

    name: ClassVar[str] = "strs-bnb"
    summary: ClassVar[str] = "own branch and bound with the Lagrangian row bound, exact"
    families: ClassVar[frozenset[str]] = frozenset({"strs", "strs-path"})
    features: ClassVar[frozenset[Feature]] = frozenset(
        {
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
        with control.uncounted():
            from .descent import warm_up

            warm_up()
        if isinstance(problem, STRSPath):
            return solve_sizes(problem, params, options, control)
        assert isinstance(problem, STRS)
        return solve_exactly(problem, params, options, control).result
