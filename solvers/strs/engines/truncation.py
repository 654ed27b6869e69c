"""Truncation with refit and swap search: a heuristic, with the bound of the dense problem."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from sparseopt.backend import Backend, Control, Feature, Option
from sparseopt.params import SolveParams
from sparseopt.problems.base import Problem
from sparseopt.problems.strs.problem import STRS
from sparseopt.result import Result

from ...common.spheres import maximise_on_sphere, refit, swap, truncations
from ..scaling import status_of
from ..tree.leaves import pack_leaves


class Truncation(Backend):
    """Refit the truncated columns of A and the truncated dense maximiser, then swap variables.

    Source: Wang, Dey, Xie, truncation algorithms (I) and (II). Without the refit, (I) loses more
    than half of the value on their own examples. The bound is that of the problem without a limit
    on the nonzeros, which is the optimum for d = D and may be far away otherwise.
    """

    name: ClassVar[str] = "truncation"
    summary: ClassVar[str] = "truncated columns, refitted and improved by swaps: a heuristic"
    families: ClassVar[frozenset[str]] = frozenset({"strs"})
    features: ClassVar[frozenset[Feature]] = frozenset(
        {Feature.HEURISTIC, Feature.DUAL_BOUND, Feature.CERTIFICATE}
    )
    options: ClassVar[Mapping[str, Option]] = {
        "starts": Option(int, 3, "how many of the best truncations are improved by swaps", low=0)
    }

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        assert isinstance(problem, STRS)
        A, a, d = problem.A, problem.linear, problem.d
        D = len(a)
        found = refit(A, a, truncations(A, a, d))
        best = found[0]
        limit = control.limit()
        seen: set[bytes] = set()
        for start in found[: options["starts"]]:
            if limit is not None:
                break
            control.progress("swaps", objective=best.value)
            better = swap(A, a, start, control.limit, seen)
            best = max(best, better, key=lambda each: each.value)
            limit = control.limit()
        dense = maximise_on_sphere(A, a)
        x = best.point(D)
        objective = problem.objective(x)
        bound = max(objective, float(dense.bound[0]))
        status, limit = status_of(problem, objective, bound, params, limit)
        none = np.zeros(0, dtype=np.int64)
        return Result(
            status=status,
            limit=limit,
            raw_status=f"best of {len(found)} truncations",
            x=x,
            objective=objective,
            bound=bound,
            certificate=pack_leaves([none], [none], dense.mu),
        )
