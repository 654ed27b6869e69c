"""One exact solve by the tree, from which the next size can start."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sparseopt.backend import Control
from sparseopt.params import SolveParams
from sparseopt.problems.base import Array
from sparseopt.problems.strs.problem import STRS
from sparseopt.result import Result, Status

from ..common.supports import first_incumbent
from .leaves import certificate_of

if TYPE_CHECKING:
    from .multipliers import Multipliers

__all__ = ["Solved", "solve_exactly"]

_PROVEN = 1e-9
"""The relative gap that is proven where no more than the default was asked for."""
_DEFAULT = SolveParams().rel_gap
_ROUNDING = 1e-12
"""The smallest gap that is worth closing, of the size of the largest entry of A and a."""


@dataclass(frozen=True, eq=False)
class Solved:
    """A result, and what is of use for the next size.

    Attributes
    ----------
    result : Result
    support : int array of shape (d,)
    root : Multipliers or None
        A pair on all variables, in scaled units.
    """

    result: Result
    support: Array
    root: Multipliers | None


def solve_exactly(
    problem: STRS,
    params: SolveParams,
    options: Mapping[str, Any],
    control: Control,
    before: Solved | None = None,
) -> Solved:
    """Find an incumbent, and search until a limit is reached or the gap is closed.

    Parameters
    ----------
    problem : STRS
    params, options : of the backend strs-bnb
    control : Control
    before : Solved, optional
        Of the same data with fewer nonzeros: the incumbent and the multipliers start there.
    """
    from .nodes import Settings
    from .tree import Tree

    size = max(float(np.abs(problem.A).max()), float(np.abs(problem.linear).max()))
    # A power of two, so that scaling does not round.
    scale = 2.0 ** round(math.log2(size)) if size > 0.0 else 1.0
    A, a, d = problem.A / scale, problem.linear / scale, problem.d
    gap = params.rel_gap if params.rel_gap > _DEFAULT else _PROVEN
    smaller = None if before is None else before.support
    tree = Tree(
        A,
        a,
        d,
        best=first_incumbent(A, a, d, options["starts"], control, smaller),
        rel_tolerance=gap / 2.0,
        abs_tolerance=max(_ROUNDING, params.abs_gap / scale),
        settings=Settings(start=0.05 if a.any() else 0.2),
        control=control,
        asked=params.rel_gap,
        polish=options["polish_nodes"],
        node_limit=params.node_limit,
        capacity=options["certificate_numbers"],
        warm=None if before is None else before.root,
        scale=scale,
    )
    limit = tree.run()
    bound = tree.bound
    closed = tree.proves(max(gap, params.rel_gap))
    tree.frontier.close_all()
    leaves = tree.frontier.leaves
    x = tree.best.point(len(a))
    objective = problem.objective(x)
    bound = max(objective, bound * scale)
    if closed and params.rel_gap * abs(objective) < bound - objective <= _ROUNDING * scale:
        # Beside an optimum near 0 rounding errors of the data's size would look like a gap.
        bound = objective
    notes = []
    if leaves is None:
        notes.append(
            f"the leaves take more than {options['certificate_numbers']} numbers, so they were "
            "not kept; raise the option certificate_numbers for a certificate"
        )
    result = Result(
        status=Status.OPTIMAL if closed else Status.FEASIBLE,
        limit=None if closed else limit,
        raw_status=f"{tree.nodes} nodes, {tree.evaluations} evaluations of the row bound",
        x=x,
        objective=objective,
        bound=bound,
        certificate=None if leaves is None else certificate_of(leaves, scale),
        iterations=tree.evaluations,
        nodes=tree.nodes,
        notes=tuple(notes),
    )
    root = tree.root if tree.root is not None or before is None else before.root
    return Solved(result, tree.best.support, root)
