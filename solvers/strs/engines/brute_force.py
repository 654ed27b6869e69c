"""Enumeration of all supports: the reference that other solvers of STRS are held against."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from sparseopt.backend import Backend, Control, Feature, Option
from sparseopt.errors import UnsupportedProblem
from sparseopt.params import SolveParams
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.strs.problem import STRS
from sparseopt.result import Limit, Result, Status

from ...common.spheres import maximise_on_sphere, maximise_on_spheres
from ..scaling import attained
from ..settings import ENTRIES_PER_CHECK, SMALLEST_GAP
from ..tree.leaves import pack_leaves


class BruteForce(Backend):
    r"""Solve the trust-region subproblem on every support of size d.

    A larger support contains its subsets, so the :math:`\binom{D}{d}` supports of full size hold
    the optimum. They are taken in lexicographic order. When a limit ends the enumeration after the
    support s, what is left are at most d **subtrees** (the first j entries of s kept, all others
    up to the next entry left out), and one more trust-region subproblem bounds each of them:
    incumbent and bound are valid at any moment.
    """

    name: ClassVar[str] = "brute-force"
    summary: ClassVar[str] = "all supports of a small sparse trust-region subproblem"
    families: ClassVar[frozenset[str]] = frozenset({"strs"})
    features: ClassVar[frozenset[Feature]] = frozenset(
        {Feature.EXACT, Feature.DUAL_BOUND, Feature.CERTIFICATE}
    )
    limits: ClassVar[frozenset[str]] = frozenset({"node_limit"})
    options: ClassVar[Mapping[str, Option]] = {
        "max_supports": Option(int, 200_000, "refuse problems with more supports than this", low=1)
    }

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        assert isinstance(problem, STRS)
        D, d = problem.A.shape[0], problem.d
        count = math.comb(D, d)
        if count > options["max_supports"]:
            raise UnsupportedProblem(
                f"brute-force would enumerate {count} supports (D={D}, d={d}); its option "
                f"max_supports allows {options['max_supports']}: raise it, or take another backend"
            )
        best, x = -math.inf, np.zeros(D)
        leaves: list[Array] = []
        multipliers: list[Array] = []
        bound, done = -math.inf, 0
        limit = None
        for supports in _chunks(D, d):
            found = maximise_on_spheres(
                problem.A[supports[:, :, None], supports[:, None, :]], problem.linear[supports]
            )
            leaves.append(supports)
            multipliers.append(found.mu)
            bound = max(bound, float(found.bound.max()))
            at = int(found.bound.argmax())
            if found.bound[at] > best:
                best = float(found.bound[at])
                x = np.zeros(D)
                x[supports[at]] = found.z[at]
            done += len(supports)
            control.progress("supports", fraction=done / count, objective=best)
            limit = control.limit() or _node_limit(params, done)
            if limit is not None and done < count:
                break
        fixed_in, fixed_out = list(np.concatenate(leaves)), [np.zeros(0, np.int64)] * done
        mu = np.concatenate(multipliers)
        if done < count:
            for kept, dropped in _rest(fixed_in[-1], D):
                free = np.setdiff1d(np.arange(D), dropped)
                tail = maximise_on_sphere(problem.A[np.ix_(free, free)], problem.linear[free])
                fixed_in.append(kept)
                fixed_out.append(dropped)
                mu = np.append(mu, tail.mu)
                bound = max(bound, float(tail.bound[0]))
        objective = attained(problem, x)
        gap, small = bound - objective, SMALLEST_GAP * problem.magnitude
        if done == count and params.rel_gap * abs(objective) < gap <= small:
            bound = objective
        return Result(
            status=Status.OPTIMAL if done == count else Status.FEASIBLE,
            limit=limit if done < count else None,
            raw_status=f"{done} of {count} supports",
            x=x,
            objective=objective,
            bound=max(bound, objective),
            certificate=pack_leaves(fixed_in, fixed_out, mu),
            nodes=done,
        )


def _node_limit(params: SolveParams, done: int) -> Limit | None:
    return Limit.NODE if params.node_limit is not None and done >= params.node_limit else None


def _chunks(D: int, d: int) -> Iterator[Array]:
    """Yield the supports of size d in lexicographic order, some at a time, each (K, d)."""
    supports = itertools.combinations(range(D), d)
    rows = max(1, ENTRIES_PER_CHECK // d**2)
    while chunk := list(itertools.islice(supports, rows)):
        yield np.array(chunk, dtype=np.int64)


def _rest(last: Array, D: int) -> Iterator[tuple[Array, Array]]:
    """Yield (fixed in, fixed out) of the subtrees that lie lexicographically after `last`."""
    d = len(last)
    for j in range(d):
        kept = last[:j]
        dropped = np.setdiff1d(np.arange(last[j] + 1), kept)
        if D - len(dropped) >= d:
            yield kept, dropped
