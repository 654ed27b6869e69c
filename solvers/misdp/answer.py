"""From a finished or interrupted tree to a result."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparseopt.backend import Control
from sparseopt.result import Limit, Result, Status
from sparseopt.solvers.misdp.node import Leaf, Node
from sparseopt.solvers.misdp.points import Points
from sparseopt.solvers.misdp.search import Search
from sparseopt.solvers.misdp.tree import Tree
from sparseopt.solvers.misdp.unbounded import bends, find_ray, unbounded

__all__ = ["answer", "start_points", "without_optimum"]


def start_points(points: Points, control: Control) -> None:
    """Offer the warm start: as it is, and with its integers only."""
    given = control.warm_start.x if isinstance(control.warm_start, Result) else control.warm_start
    if given is None:
        return
    x = np.asarray(given, dtype=float)
    problem = points.problem
    if x.shape != problem.c.shape or not np.isfinite(x).all():
        control.notes.append(
            f"the warm start has the shape {x.shape}; expected finite values of shape "
            f"{problem.c.shape}: it was ignored"
        )
        return
    points.offer(x)
    if not problem.integer.all():
        points.complete(np.rint(x[problem.integer]))


def without_optimum(search: Search) -> Result | None:
    """Answer for a problem that improves for ever, or that would if it were feasible.

    Returns
    -------
    Result or None
        None where no ray was found: then there is an optimum to look for, or nobody knows.
    """
    problem, control = search.problem, search.control
    box = search.propagation.tighten()
    if box is None or not (np.isinf(box[0]) | np.isinf(box[1])).any():
        return None
    ray = find_ray(problem, search.conic.solver, control)
    if ray is None:
        return None
    x = search.points.best
    if x is None:
        feasibility = problem.with_changes(c=np.zeros(len(problem.c)), offset=0.0)
        found = Search(feasibility, search.options, control)
        tree = found.tree(found.conic, first=True)
        limit = tree.run()
        x = found.points.best
        if x is None and tree.bound < np.inf:
            known = Status.NO_SOLUTION if limit is not None else Status.INF_OR_UNB
            notes: tuple[str, ...] = ()
            if limit is Limit.SLOW_PROGRESS:
                notes = (
                    f"the objective improves for ever along a ray, but {tree.nodes} nodes hold no "
                    "feasible point; give the integer variables bounds, however wide",
                )
            return Result(
                status=known,
                limit=limit,
                raw_status="there is a ray, but no point yet",
                notes=notes,
            )
        if x is None:
            return answer(found, tree, limit)
    if bends(problem, x, ray):
        return None
    return unbounded(problem, ray, x, raw_status="a ray and a feasible point")


def answer(search: Search, tree: Tree, limit: Limit | None, **more: Any) -> Result:
    """Return the result of a tree, with its certificate."""
    problem, points = search.problem, search.points
    notes = []
    nothing = tree.bound == np.inf and points.best is None
    common: dict[str, Any] = {
        "raw_status": f"{tree.nodes} nodes, {search.conic.solves} relaxations",
        "nodes": tree.nodes,
        "iterations": search.conic.solves,
        "trace": tuple(tree.trace),
        **more,
    }
    if nothing:
        certificate = tree.leaves.pack([]) if not tree.open else None
        if not tree.leaves.kept:
            notes.append(_too_large(search))
        return Result(
            status=Status.INFEASIBLE, certificate=certificate, notes=tuple(notes), **common
        )
    certificate = None
    if tree.floor <= tree.leaf_bound:
        certificate = tree.leaves.pack([_open(node) for node in tree.open])
        if certificate is None:
            notes.append(_too_large(search))
    closed = points.best is not None and tree.closed()
    if limit is Limit.SLOW_PROGRESS:
        notes.append(
            f"after {tree.nodes} nodes there is no bound yet, for integer variables have none; "
            "give them bounds, however wide"
        )
    bound = _bound(tree, points.value, closed)
    if not closed and limit is None:
        limit = Limit.SLOW_PROGRESS
        notes.append(
            f"{tree.unresolved} choices of the integers could not be settled to the precision that "
            "was asked: their relaxations have no interior; ask for a larger rel_gap, or take "
            "another relaxation"
        )
    if points.best is None:
        status = Status.NO_SOLUTION
    else:
        status = Status.OPTIMAL if closed else Status.FEASIBLE
    return Result(
        status=status,
        limit=None if closed else limit,
        x=points.best,
        objective=None if points.best is None else problem.objective(points.best),
        bound=bound,
        certificate=None if bound is None else certificate,
        notes=tuple(notes),
        **common,
    )


def _bound(tree: Tree, value: float, closed: bool) -> float | None:
    """Return the bound in the problem's sense; rounding beside an optimum is no gap."""
    bound = min(tree.bound, value)
    if np.isinf(bound):
        return None
    if closed and value - bound <= tree.rounding * 1.5:
        bound = value
    return float(tree.judge.safe.sign * bound + tree.problem.offset)


def _open(node: Node) -> Leaf:
    return Leaf(node.lower, node.upper, node.multipliers, False, node.bound)


def _too_large(search: Search) -> str:
    return (
        f"the leaves take more than {search.options['certificate_numbers']} numbers, so they were "
        "not kept; raise the option certificate_numbers for a certificate"
    )
