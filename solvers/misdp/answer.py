"""From a finished or interrupted tree to a result."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparseopt.backend import Control
from sparseopt.problems.base import Array
from sparseopt.result import Limit, Result, Status

from .curves import CurveFinder
from .far import out_of_reach
from .node import Leaf, Node
from .points import Points
from .rank_one import ranked_blocks
from .rank_tree import RankTree
from .search import Search
from .tree import Tree
from .unbounded import bends, find_ray, unbounded

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
        None where neither a ray nor a curve was found: then there is an optimum to look for, or
        nobody knows.
    """
    problem, control = search.problem, search.control
    box = search.propagation.tighten()
    if box is None or not (np.isinf(box[0]) | np.isinf(box[1])).any():
        return None
    ray = find_ray(problem, search.conic.solver, control)
    if ray is not None:
        x, ended = _feasible(search)
        if x is None or bends(problem, x, ray):
            return ended
        return unbounded(problem, ray, x, raw_status="a ray and a feasible point")
    found = search.conic.relax(box, np.inf)
    if found.infeasible or (
        found.multipliers is not None and search.conic.judge.plain(box, found.multipliers)
    ):
        return None
    curves = CurveFinder(problem, search.conic.solver, control)
    if not curves.exists():
        return None
    x, ended = _feasible(search)
    if x is None:
        return ended if ended is not None and ended.status is Status.INFEASIBLE else None
    search.points.offer(x)
    curve = curves.through(x)
    return None if curve is None else curve.result(raw_status="a curve from a feasible point")


def _feasible(search: Search) -> tuple[Array | None, Result | None]:
    """Return a feasible point, or what is known where none was found."""
    if search.points.best is not None:
        return search.points.best, None
    problem = search.problem
    feasibility = problem.with_changes(c=np.zeros(len(problem.c)), offset=0.0)
    found = Search(feasibility, search.options, search.control)
    tree = found.tree(found.conic, first=True)
    limit = tree.run()
    if found.points.best is not None:
        return found.points.best, None
    if tree.bound == np.inf:
        return None, answer(found, tree, limit)
    notes: tuple[str, ...] = ()
    if limit is Limit.SLOW_PROGRESS:
        notes = (
            f"the objective improves for ever along a ray, but {tree.nodes} nodes hold no "
            "feasible point; give the integer variables bounds, however wide",
        )
    return None, Result(
        status=Status.NO_SOLUTION if limit is not None else Status.INF_OR_UNB,
        limit=limit,
        raw_status="there is a ray, but no point yet",
        notes=notes,
    )


def answer(search: Search, tree: Tree, limit: Limit | None, **more: Any) -> Result:
    """Return the result of a tree, with its certificate."""
    if (
        limit is None
        and not tree.closed()
        and tree.bound < np.inf
        and ranked_blocks(search.problem)
    ):
        return _ranked(search, tree, **more)
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
    far = bound is not None and out_of_reach(
        problem, search.propagation, _leaves(tree), points.best, bound
    )
    if far:
        closed, bound, limit = False, None, limit or Limit.SLOW_PROGRESS
        notes.append(
            "the bound that was found holds near the origin only: the problem may be unbounded; "
            "give the variables bounds, however wide"
        )
    elif not closed and limit is None:
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


def _ranked(search: Search, tree: Tree, **more: Any) -> Result:
    """Go on by branching on matrices whose rank keeps the gap open."""
    ranks, points = RankTree(search, tree), search.points
    limit = ranks.run()
    closed = points.best is not None and ranks.closed()
    common: dict[str, Any] = {
        "raw_status": f"{tree.nodes} nodes, then {ranks.nodes} boxes for the ranks",
        "nodes": tree.nodes + ranks.nodes,
        "iterations": search.conic.solves,
        "trace": tuple(tree.trace),
        "certificate": ranks.certificate(),
        **more,
    }
    if points.best is None and ranks.bound == np.inf:
        return Result(status=Status.INFEASIBLE, **common)
    bound = min(ranks.bound, points.value)
    if closed and points.value - bound <= tree.rounding * 1.5:
        bound = points.value
    notes: tuple[str, ...] = ()
    if limit is Limit.SLOW_PROGRESS:
        notes = ("matrices of rank one: no box can be split further; ask for a larger rel_gap",)
    found = Status.NO_SOLUTION if points.best is None else Status.FEASIBLE
    return Result(
        status=Status.OPTIMAL if closed else found,
        limit=None if closed else limit,
        x=points.best,
        objective=None if points.best is None else search.problem.objective(points.best),
        bound=None
        if np.isinf(bound)
        else float(tree.judge.safe.sign * bound + tree.problem.offset),
        notes=notes,
        **common,
    )


def _bound(tree: Tree, value: float, closed: bool) -> float | None:
    """Return the bound in the problem's sense; rounding beside an optimum is no gap."""
    bound = min(tree.bound, value)
    if np.isinf(bound):
        return None
    if closed and value - bound <= tree.rounding * 1.5:
        bound = value
    return _stated(tree, bound)


def _stated(tree: Tree, bound: float) -> float:
    return float(tree.judge.safe.sign * bound + tree.problem.offset)


def _leaves(tree: Tree) -> list[Leaf]:
    return [*tree.leaves.found, *(_open(node) for node in tree.open)]


def _open(node: Node) -> Leaf:
    return Leaf(node.lower, node.upper, node.multipliers, False, node.bound)


def _too_large(search: Search) -> str:
    return (
        f"the leaves take more than {search.options['certificate_numbers']} numbers, so they were "
        "not kept; raise the option certificate_numbers for a certificate"
    )
