"""From a finished or interrupted tree to a result."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseopt.problems.base import Array
from sparseopt.problems.misdp.problem import MISDP
from sparseopt.result import Certificate, Limit, Result, Status

from ...common.misdp_standard_form import StandardForm
from ...common.warm_start import warm_point
from ..reductions.merging import Merged
from ..reductions.propagation import Propagation
from ..reductions.symmetry import Ordered
from ..settings import POINT_NOISE, PROOF_NEAR, START_NODES
from ..tree.integer_tree import IntegerTree
from ..tree.rank_one import ranked_blocks
from ..tree.rank_tree import RankTree
from ..tree.search import MISDPSearch
from ..unbounded.curves import CurveFinder
from ..unbounded.rays import bends, find_ray, unbounded
from .leaves import as_checked, exact_where_free, open_leaf, recomputed, with_margin


def standard(problem: MISDP) -> StandardForm:
    """Return the standard form of a problem, by bounds that are propagated.

    They are those that the checker finds: it believes no ends of indicators that are nearer.

    Parameters
    ----------
    problem : MISDP
    """
    if not problem.indicators:
        return StandardForm(problem)
    return StandardForm(problem, Propagation(problem).tighten(in_turn=False))


def start_points(search: MISDPSearch, form: StandardForm, merged: Merged | Ordered) -> None:
    """Offer the minimum of a quadratic objective, and the warm start or what is near it.

    The warm start is offered as it is, with its integers only, or repaired.
    A NaN stands for a value that is not known. Where integers are not known, or those that are
    leave nothing feasible, a few nodes look for a point with the known ones fixed, then with each
    of them moved by one at most.

    Parameters
    ----------
    search : MISDPSearch
        Its control has the warm start: a Result or an array of shape (n,) for the problem as it was
        given. A note says where nothing was found.
    form : StandardForm
    merged : Merged or Ordered
        What is searched: the standard form with its groups merged, and rows by symmetry.
    """
    control, points, problem = search.control, search.points, search.problem
    least = form.near_the_minimum()
    if least is not None:
        least = merged.down(form.down(least))
        points.offer(least)
        points.complete(np.rint(least[problem.integer]))
    x = warm_point(control.warm_start, len(form.given.c), unknown=True)
    if x is None:
        return
    x = merged.down(form.down(x))
    whole = problem.integer
    if np.isfinite(x).all():
        points.offer(x)
    known = np.isfinite(x[whole])
    if known.all() and not whole.all():
        points.complete(np.rint(x[whole]))
    if points.best is not None or not known.any():
        return
    for step in (0.0, 1.0):
        near = _near(search, x, step)
        if near is not None:
            points.offer(near)
            return
    control.notes.append("the warm start is not feasible, and no point was found near it")


def _near(search: MISDPSearch, x: Array, step: float) -> Array | None:
    """Look for a feasible point with the known integers of x moved by a step at most."""
    problem, whole = search.problem, search.problem.integer
    low, high = problem.lower[whole], problem.upper[whole]
    integers = np.clip(np.rint(x[whole]), low, high)
    known = np.isfinite(integers)
    lower, upper = problem.lower.copy(), problem.upper.copy()
    lower[whole] = np.where(known, np.maximum(low, integers - step), low)
    upper[whole] = np.where(known, np.minimum(high, integers + step), high)
    around = problem.with_changes(lower=lower, upper=upper)
    found = MISDPSearch(around, search.options, search.control)
    found.tree(found.conic, first=True, reports=False, node_limit=START_NODES).run()
    return found.points.best


def without_optimum(search: MISDPSearch) -> Result | None:
    """Answer for a problem that improves without end, or that would if it were feasible.

    Parameters
    ----------
    search : MISDPSearch

    Returns
    -------
    Result or None
        None where neither a ray nor a curve was found: then there is an optimum to look for, or
        it is not known.
    """
    problem, control = search.problem, search.control
    box = search.propagation.tighten()
    if box is None or not (np.isinf(box[0]) | np.isinf(box[1])).any():
        return None
    if problem.indicators:
        return _without_optimum_in_part(search)
    ray = find_ray(problem, search.careful, control)
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
    curves = CurveFinder(problem, search.careful, control)
    if not curves.exists():
        return None
    x, ended = _feasible(search)
    if x is None:
        return ended if ended is not None and ended.status is Status.INFEASIBLE else None
    search.points.offer(x)
    curve = curves.through(x)
    return None if curve is None else curve.result(raw_status="a curve from a feasible point")


def _without_optimum_in_part(search: MISDPSearch) -> Result | None:
    """Return that a problem with indicators is unbounded where one of two parts is, else None.

    A ray of the other constraints may leave the row of an indicator. So it is looked for where all
    indicators are off, then where all of their rows hold.
    """
    problem = search.problem
    upper, rows = problem.upper.copy(), problem.indicators
    upper[[row.binary for row in rows]] = 0.0
    held = problem.with_changes(
        indicators=(),
        A=sp.csr_array(sp.vstack([problem.A, *(row.a for row in rows)])),
        row_lower=np.append(problem.row_lower, [row.lower for row in rows]),
        row_upper=np.append(problem.row_upper, [row.upper for row in rows]),
    )
    parts = [held]
    if (problem.lower <= upper).all():
        parts.insert(0, problem.with_changes(indicators=(), upper=upper))
    for part in parts:
        ended = without_optimum(MISDPSearch(part, search.options, search.control))
        if ended is not None and ended.status is Status.UNBOUNDED:
            return ended
    return None


def _feasible(search: MISDPSearch) -> tuple[Array | None, Result | None]:
    """Return a feasible point, or what is known where none was found."""
    if search.points.best is not None:
        return search.points.best, None
    problem = search.problem
    feasibility = problem.with_changes(c=np.zeros(len(problem.c)), offset=0.0)
    found = MISDPSearch(feasibility, search.options, search.control)
    tree = found.tree(found.conic, first=True, reports=False)
    limit = tree.run()
    if found.points.best is not None:
        return found.points.best, None
    if tree.bound == np.inf:
        return None, answer(found, tree, limit)
    notes: tuple[str, ...] = ()
    if limit is Limit.SLOW_PROGRESS:
        notes = (
            f"the objective improves without end along a ray, but {tree.nodes} nodes hold no "
            "feasible point; give the integer variables bounds, however wide",
        )
    return None, Result(
        status=Status.NO_SOLUTION if limit is not None else Status.INF_OR_UNB,
        limit=limit,
        raw_status="there is a ray, but no point yet",
        notes=notes,
    )


def answer(search: MISDPSearch, tree: IntegerTree, limit: Limit | None, **more: Any) -> Result:
    """Return the result of a tree, with its certificate.

    Parameters
    ----------
    search : MISDPSearch
    tree : IntegerTree
    limit : Limit or None
        What ended it; None where it came to its end.
    more
        Fields of the result that replace the tree's own.
    """
    points = search.points
    unsettled = limit is None and not tree.closed() and tree.bound < np.inf
    if unsettled and ranked_blocks(search.problem):
        return _by_ranks(search, tree, **more)
    notes: list[str] = []
    infeasible = tree.bound == np.inf and points.best is None
    if infeasible:
        # Disproofs may rest on ends of variables.
        search.interior.tightened(None)
    common: dict[str, Any] = {
        "raw_status": f"{tree.nodes} nodes, {search.conic.solves} relaxations",
        "nodes": tree.nodes,
        "iterations": search.conic.solves,
        "trace": tuple(tree.trace),
    }
    if infeasible:
        common["certificate"] = _certificate(search, tree, None, notes)
        common |= more
        return Result(status=Status.INFEASIBLE, notes=tuple(notes), **common)
    if limit is Limit.SLOW_PROGRESS:
        notes.append(
            f"after {tree.nodes} nodes there is no bound yet, for integer variables have none; "
            "give them bounds, however wide"
        )
    _without_noise(search)
    closed = points.best is not None and tree.closed()
    endless = None if closed or limit is not None else _endless_leaf(search, tree)
    if endless is not None:
        return endless
    least = _lower_bound(tree, points.value, closed)
    proven, closed, limit = _proven(search, tree, least, closed, limit)
    if proven == -np.inf < least:
        limit = limit or Limit.SLOW_PROGRESS
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
            if tree.unresolved
            else "rounding errors leave more of a gap than was asked: terms of the objective, or "
            "what bounds the variables, are far larger than its value; ask for a larger rel_gap, "
            "or for an abs_gap"
        )
    if not np.isinf(proven):
        # Behind the bound, for which ends of variables may have been derived.
        common["certificate"] = _certificate(search, tree, proven, notes)
    common |= more
    return _with_point(search, tree, closed, limit, proven, notes=tuple(notes), **common)


def _proven(
    search: MISDPSearch, tree: IntegerTree, least: float, closed: bool, limit: Limit | None
) -> tuple[float, bool, Limit | None]:
    """Return what the leaves prove of a bound, whether that closes the gap, and the limit if not.

    Where rounding takes more than the gap, as beside an optimum of 0, exact multipliers may do.
    """
    points = search.points
    proven = as_checked(search, tree, recomputed(search, tree, least))
    enough = points.value - 2.0 * tree.slack
    missed = points.value - max(least, proven)
    finished = tree.leaves.kept and not tree.open
    if proven < enough and finished and missed <= PROOF_NEAR * tree.judge.scale:
        exact_ones, settled = exact_where_free(search, tree, tree.leaves.found, enough)
        if settled:
            nothing = points.value - enough <= tree.judge.rounding(points.value)
            tree.leaves.found, proven = exact_ones, points.value if nothing else enough
            closed, limit = True, None
    proven = with_margin(search, tree, proven, enough)
    return proven, closed and proven >= enough, limit


def _without_noise(search: MISDPSearch) -> None:
    """Offer the incumbent without its smallest entries where its value is nothing but these.

    A gap relative to such a value is never met.
    """
    problem, points = search.problem, search.points
    x = points.best
    if x is None or abs(problem.objective(x)) > POINT_NOISE * search.conic.judge.scale:
        return
    points.offer(np.where(np.abs(x) <= POINT_NOISE, 0.0, x))


def _endless_leaf(search: MISDPSearch, tree: IntegerTree) -> Result | None:
    """Return that the problem is unbounded where a leaf without a bound is, else None.

    Asked where indicators forbid to look for a ray at the root.
    """
    problem, whole = search.problem, search.problem.integer
    for leaf in tree.leaves.found if problem.indicators else ():
        if leaf.bound > -np.inf:
            continue
        lower, upper = problem.lower.copy(), problem.upper.copy()
        lower[whole], upper[whole] = leaf.lower, leaf.upper
        box = search.propagation.tighten(lower, upper)
        if box is None or (box[0][whole] < box[1][whole]).any():
            continue
        lower[whole] = upper[whole] = box[0][whole]
        for row in problem.indicators:
            if lower[row.binary] == 1.0:
                upper[row.a.indices[0]] = 0.0
        rest = problem.with_changes(lower=lower, upper=upper, indicators=())
        ended = without_optimum(MISDPSearch(rest, search.options, search.control))
        if ended is not None and ended.status is Status.UNBOUNDED:
            return ended
    return None


def _with_point(
    search: MISDPSearch,
    tree: IntegerTree,
    closed: bool,
    limit: Limit | None,
    bound: float,
    **common: Any,
) -> Result:
    """Return the result of the incumbent and a bound (of a minimisation, without the offset)."""
    x, sign = search.points.best, tree.judge.safe.sign
    objective = None if x is None else search.problem.objective(x)
    if objective is not None:
        # Where nothing has an interior, points that are feasible to the tolerance may be better
        # than what was proven before they were found.
        common["trace"] = tuple(
            (seconds, found, b if b is None else sign * min(sign * b, sign * objective))
            for seconds, found, b in common["trace"]
        )
    status = Status.OPTIMAL if closed else Status.FEASIBLE
    return Result(
        status=Status.NO_SOLUTION if x is None else status,
        limit=None if closed else limit,
        x=x,
        objective=objective,
        bound=None if np.isinf(bound) else float(tree.judge.safe.bound(np.array(bound))),
        **common,
    )


def _certificate(
    search: MISDPSearch, tree: IntegerTree, bound: float | None, notes: list[str]
) -> Certificate | None:
    """Return the leaves and open nodes, None where they do not prove the bound or are too many.

    Without a bound they are to prove that nothing is feasible.
    """
    tree.leaves.found, _ = exact_where_free(search, tree, tree.leaves.found, bound)
    nodes, _ = exact_where_free(search, tree, [open_leaf(node) for node in tree.open], bound)
    more = search.interior.arrays()
    if tree.orbits is not None:
        more |= tree.orbits.arrays()
    if bound is None:
        certificate = tree.leaves.pack([], more) if not tree.open else None
        too_large = not tree.leaves.kept
    elif tree.floor <= tree.leaf_bound:
        certificate = tree.leaves.pack(nodes, more)
        too_large = certificate is None
    else:
        return None
    if too_large:
        notes.append(
            f"the leaves take more than {search.options['certificate_numbers']} numbers, so they "
            "were not kept; raise the option certificate_numbers for a certificate"
        )
    return certificate


def _lower_bound(tree: IntegerTree, value: float, closed: bool) -> float:
    """Return the bound as a minimisation; rounding beside an optimum is no gap."""
    bound = min(tree.bound, value)
    return value if closed and value - bound <= tree.judge.rounding(value) else bound


def _by_ranks(search: MISDPSearch, tree: IntegerTree, **more: Any) -> Result:
    """Go on by branching on matrices whose rank keeps the gap open."""
    ranks, points = RankTree(search, tree), search.points
    limit = ranks.run()
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
    closed = points.best is not None and ranks.closed()
    bound = min(ranks.bound, points.value)
    if closed and points.value - bound <= tree.judge.rounding(bound):
        bound = points.value
    if limit is Limit.SLOW_PROGRESS:
        common["notes"] = (
            "matrices of rank one: no box can be split further; ask for a larger rel_gap",
        )
    return _with_point(search, tree, closed, limit, bound, **common)
