"""Relaxations by CVXPY's solvers: of mixed-integer semidefinite programs, and of STRS."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sparseopt.backend import Backend, Control, Feature, Option
from sparseopt.params import SolveParams
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.misdp.problem import MISDP
from sparseopt.problems.strs.problem import STRS
from sparseopt.problems.subspace.robust import RobustSubspace
from sparseopt.result import Certificate, Limit, Result, Status, relative_gap

from ..common.watch import Late
from .conic import OPTIONS, CvxpyConic

if TYPE_CHECKING:
    from ..misdp.bounding.lower_bounds import ConicBounding, Relaxed
    from ..misdp.tree.points import IncumbentFinder


LARGEST_PROJECTION = 2_000_000
"""Entries of the largest conic program of a robust subspace that is handed over."""


class CvxpyRelaxation(Backend):
    """The bound of a relaxation by any of CVXPY's solvers, and a rounded point.

    A mixed-integer semidefinite program is relaxed to its continuous one; the point has the
    solution's integers rounded, and the rest solved for. STRS becomes the relaxation (20) of Wang,
    Dey and Xie with the perspective rows; its multipliers are a pair (l, L) of the row bound, which
    proves the bound without trusting the solver, and the point is refitted on the largest shares.
    A small robust subspace becomes the relaxation over projections (see ``reaper``), rounded.
    """

    name: ClassVar[str] = "cvxpy-relaxation"
    summary: ClassVar[str] = (
        "relaxations by CVXPY's solvers: STRS, robust subspaces, MISDP without integers"
    )
    requires: ClassVar[tuple[str, ...]] = ("cvxpy",)
    extra: ClassVar[str | None] = "cvxpy"
    factorises = True
    families: ClassVar[frozenset[str]] = frozenset({"strs", "misdp", "subspace"})
    features: ClassVar[frozenset[Feature]] = frozenset(
        {
            Feature.RELAXATION,
            Feature.DUAL_BOUND,
            Feature.CERTIFICATE,
        }
    )
    limits: ClassVar[frozenset[str]] = frozenset({"iteration_limit"})
    options: ClassVar[Mapping[str, Option]] = OPTIONS

    def supports(self, problem: Problem) -> tuple[bool, str]:
        """Take small robust subspaces, and no others; all of the other families."""
        if problem.family != "subspace":
            return super().supports(problem)
        if not isinstance(problem, RobustSubspace):
            return False, f"{self.name} takes robust-subspace problems only: use stiefel"
        N, n = problem.X.shape
        if N * n * n > LARGEST_PROJECTION:
            return False, f"{N} points in {n} coordinates are too large a conic program: use reaper"
        return True, ""

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        if isinstance(problem, MISDP):
            return relax(problem, options, control)
        if isinstance(problem, RobustSubspace):
            from .subspace import relax_projection

            return relax_projection(problem, options, control)
        assert isinstance(problem, STRS)
        return _relax_strs(problem, options, control)


def relax(problem: MISDP, options: Mapping[str, Any], control: Control) -> Result:
    """Bound a MISDP by its continuous relaxation, and round; exact where there are no integers.

    Parameters
    ----------
    problem : MISDP
    options : mapping
        Of the backend.
    control : Control

    Returns
    -------
    Result
    """
    from ..misdp.engines.answer import standard

    form = standard(problem)
    return form.answer(_relax(form.problem, options, control))


def _relax(problem: MISDP, options: Mapping[str, Any], control: Control) -> Result:
    """Relax a problem in standard form."""
    from ..misdp.bounding.lower_bounds import ConicBounding
    from ..misdp.reductions.propagation import Propagation
    from ..misdp.tree.node import IntegerLeaf, IntegerLeaves
    from ..misdp.tree.points import IncumbentFinder
    from ..misdp.unbounded.rays import find_ray, unbounded

    conic = CvxpyConic.of(control, options)
    with control.building():
        propagation = Propagation(problem)
        bounding = ConicBounding(problem, conic)
        points = IncumbentFinder(problem, propagation, bounding, control)
        box = propagation.tighten()
    whole = problem.integer
    ends = problem.lower[whole], problem.upper[whole]
    leaves = IntegerLeaves(problem, 20_000_000)
    if box is None:
        leaves.add(IntegerLeaf(*ends, None, True, np.inf))
        return Result(
            status=Status.INFEASIBLE, raw_status="propagation", certificate=leaves.pack([])
        )
    found = bounding.relax(box, np.inf)
    word, limit = conic.word, conic.limit
    if found.infeasible:
        leaves.add(IntegerLeaf(*ends, found.multipliers, True, np.inf))
        return Result(status=Status.INFEASIBLE, raw_status=word, certificate=leaves.pack([]))
    if limit is None and not np.isfinite(found.bound):
        ray = None if problem.indicators else find_ray(problem, conic, control)
        if ray is not None:
            _settle(points, bounding, box, whole)
            if points.best is not None:
                return unbounded(problem, ray, points.best, raw_status=word)
    if limit is None:
        _round(points, found, box, whole)
        limit = conic.limit
    bound, certificate = None, None
    if np.isfinite(found.bound):
        leaves.add(IntegerLeaf(*ends, found.multipliers, False, found.bound))
        certificate = leaves.pack([])
        bound = float(bounding.judge.safe.sign * found.bound + problem.offset)
    common: dict[str, Any] = {
        "raw_status": word,
        "iterations": conic.iterations,
        "bound": bound,
        "certificate": certificate,
    }
    if points.best is None:
        if limit is None and not whole.any():
            return Result(status=Status.NUMERICAL_ERROR, **common)
        limit = limit or Limit.SLOW_PROGRESS
        return Result(status=Status.NO_SOLUTION, limit=limit, **common)
    objective = problem.objective(points.best)
    return _closed(problem, points.best, objective, bound, limit, control, common)


def _settle(
    points: IncumbentFinder, bounding: ConicBounding, box: tuple[Array, Array], whole: Array
) -> None:
    """Offer any feasible point: without costs, then once more with the integers rounded."""
    low, high = box[0].copy(), box[1].copy()
    for _ in range(2):
        x = bounding.relax((low, high), np.inf, costs=np.zeros(len(low))).x
        if x is None or points.offer(x):
            return
        low[whole] = high[whole] = np.rint(np.clip(x, *box)[whole])


def _round(points: IncumbentFinder, found: Relaxed, box: tuple[Array, Array], whole: Array) -> None:
    """Offer the solution of a relaxation, its integers rounded and the rest solved for again."""
    if found.x is None:
        return
    if whole.any():
        points.complete(np.rint(np.clip(found.x, *box)[whole]))
    else:
        points.take(found, box)


def _closed(
    problem: Problem,
    x: Any,
    objective: float,
    bound: float | None,
    limit: Limit | None,
    control: Control,
    common: dict[str, Any],
) -> Result:
    """Return OPTIMAL where objective and bound meet."""
    params = control.params
    status = Status.CONVERGED if limit is None else Status.FEASIBLE
    gap = relative_gap(objective, bound, problem.value_unit)
    if bound is not None and gap is not None:
        allowed = max(params.abs_gap, 1e-9 * problem.objective_scale(x))
        if gap <= params.rel_gap or abs(objective - bound) <= allowed:
            status, limit = Status.OPTIMAL, None
    return Result(status=status, limit=limit, x=x, objective=objective, **common)


def _relax_strs(problem: STRS, options: Mapping[str, Any], control: Control) -> Result:
    from ..common.spheres import first_incumbent, refit
    from ..misdp.bounding.lower_bounds import ConicBounding
    from ..strs.bound.multipliers import Multipliers, ProvenBound
    from ..strs.relaxation.sdp import StrongRelaxation
    from ..strs.tree.leaves import pack_leaves, pack_pairs

    size = max(float(np.abs(problem.A).max()), float(np.abs(problem.linear).max()))
    # A power of two, so that scaling does not round.
    scale = 2.0 ** round(math.log2(size)) if size > 0.0 else 1.0
    A, a, d = problem.A / scale, problem.linear / scale, problem.d
    everything = np.arange(len(a))
    best = first_incumbent(A, a, d, 1, control)
    conic = CvxpyConic.of(control, options)
    relaxation, found = None, None
    with contextlib.suppress(Late), control.building():
        relaxation = StrongRelaxation(A, a, d, control)
    limit = control.limit()
    if limit is None and relaxation is not None:
        with control.building():
            bounding = ConicBounding(relaxation.problem, conic)
        box = relaxation.problem.lower, relaxation.problem.upper
        limit = control.limit()
        if limit is None:
            found = bounding.relax(box, np.inf)
            limit = conic.limit
    plain = Multipliers.of_point(A, a, everything, np.zeros(1 + len(a) + len(a) ** 2))
    pair, bound = plain, plain.spectral
    values: dict[str, float] = {}
    if relaxation is not None and found is not None and found.multipliers is not None:
        strong = Multipliers.of_point(A, a, everything, relaxation.pair(found.multipliers))
        proven = ProvenBound.at(strong, everything, everything[:0], d).bound
        if proven < bound:
            pair, bound = strong, proven
    if relaxation is not None and found is not None and found.x is not None:
        values["relaxation"] = relaxation.problem.objective(found.x) * scale
        shares = relaxation.shares(found.x)
        support = np.sort(np.argsort(-shares, kind="stable")[:d])
        rounded = refit(A, a, support[None])[0]
        best = rounded if rounded.value > best.value else best
    x = best.point(len(a))
    objective = problem.objective(x)
    none = np.zeros(0, dtype=np.int64)
    leaves = pack_leaves([none], [none], np.array([pair.mu * scale]))
    pool = {} if pair.is_zero else {"pair": np.zeros(1, np.int64), **pack_pairs([pair], scale)}
    common: dict[str, Any] = {
        "raw_status": conic.word,
        "iterations": conic.iterations,
        "bound": max(objective, bound * scale),
        "certificate": Certificate(leaves.kind, {**leaves.arrays, **pool}, values),
    }
    return _closed(problem, x, objective, common["bound"], limit, control, common)
