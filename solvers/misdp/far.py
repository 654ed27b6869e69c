"""Bounds that hold only near the origin: small reduced costs of variables without an end."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.problems.misdp.problem import MISDP
from sparseopt.proofs.misdp.bounds import SafeBounds
from sparseopt.proofs.misdp.propagation import Propagation

from .node import Leaf

__all__ = ["out_of_reach"]

_ALLOWED = 5e-8
"""Reduced costs times the size of the variables, relative to the objective's: half of what the
checker allows."""
_SUM = 5e-10
_NOWHERE = 1e100
_MARGIN = 1e-9
"""A disproof must be at least this large relative to its terms."""


def out_of_reach(
    problem: MISDP, propagation: Propagation, leaves: Iterable[Leaf], x: Array | None, bound: float
) -> bool:
    """Tell whether the leaves prove a bound only for points much nearer than the incumbent.

    While the tree is searched nobody knows how far away the optimum is: a reduced cost of 1e-9 is
    taken for zero. At x it may be worth more than the gap.

    Parameters
    ----------
    problem : MISDP
    propagation : Propagation
    leaves : iterable of Leaf
    x : array of shape (n,) or None
        The incumbent. Without one nothing is taken for zero.
    bound : float
        In the problem's own sense.
    """
    box = propagation.tighten(cutoff=bound)
    if box is None or np.isfinite(np.concatenate(box)).all():
        return False
    whole = problem.integer
    near = max(float(np.abs(problem.c).max()), abs(problem.offset))
    reach = np.full(len(problem.c), np.inf)
    if x is not None:
        reach = np.maximum(1.0, np.abs(x))
        near = max(near, problem.objective_scale(x))
    safe = SafeBounds(problem, np.minimum(reach, _NOWHERE))
    needed = safe.sign * (bound - problem.offset) - _SUM * max(near, abs(bound))
    for leaf in leaves:
        low, high = (end.copy() for end in box)
        low[whole] = np.maximum(low[whole], leaf.lower)
        high[whole] = np.minimum(high[whole], leaf.upper)
        tight = None if (low > high).any() else propagation.tighten(low, high, bound)
        if tight is None:
            continue
        found = safe.evaluate(*tight, leaf.multipliers or safe.zero(), leaf.infeasible)
        value, nearly, uncharged = (
            float(part[0]) for part in (found.value, found.nearly, found.uncharged)
        )
        least = _MARGIN * float(found.size[0]) if leaf.infeasible else needed
        size = nearly if leaf.infeasible else near
        if value < least and (nearly < least or uncharged > _ALLOWED * size):
            return True
    return False
