"""What the leaves of a tree prove, as the checker will see it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from ..bounding.lower_bounds import Box, ConicBounding, Judge
from ..bounds import ConicMultipliers, SafeBounds
from ..rational.exact_multipliers import ExactMultipliers, ScaledMultipliers
from ..settings import (
    DISPROOF_RECHECKED,
    EXACT_DIGITS,
    EXACT_ENTRIES,
    EXACT_LEAVES,
    EXACT_ROOM,
    PROOF_LOSS,
    PROOF_MARGIN,
    PROOF_NEAR,
    RECOMPUTATIONS,
    UNCHARGED,
    UNREACHED,
)
from ..tree.integer_tree import IntegerTree
from ..tree.node import IntegerLeaf, IntegerNode
from ..tree.search import MISDPSearch


def recomputed(search: MISDPSearch, tree: IntegerTree, bound: float) -> float:
    """Return what the leaves prove of a bound, with the bounds of variables that it implies.

    While the tree is searched a small reduced cost of a variable without an end is taken for zero.
    At the end the bound is a cutoff that gives most variables ends, which such costs are charged
    at. Where they do not, variables are taken to be as large as in the incumbent; without one, or
    where the costs are worth more than rounding there, the bound holds near the origin only.

    Parameters
    ----------
    search : MISDPSearch
    tree : IntegerTree
    bound : float
        Of a minimisation, without the offset.

    Returns
    -------
    float
        The bound or less; -inf where it holds near the origin only.
    """
    problem, x = search.problem, search.points.best
    if np.isinf(bound) or np.isfinite(np.concatenate([problem.lower, problem.upper])).all():
        return bound
    near = tree.judge.scale
    reach = np.full(len(problem.c), UNREACHED)
    if x is not None:
        reach = np.maximum(1.0, np.abs(x))
        near = max(near, problem.objective_scale(x))
    safe = SafeBounds(problem, reach)
    leaves = [leaf for leaf in tree.leaves.found if not leaf.forced]
    leaves += [open_leaf(node) for node in tree.open]
    for _ in range(RECOMPUTATIONS):
        cutoff = tree.judge.better_than(float(safe.bound(np.array(bound))))
        box = search.interior.tightened(cutoff)
        if box is None:
            return bound
        least = bound
        for leaf, tight in _tightened(search, leaves, box, cutoff):
            least = min(least, tree.judge.rounded(_leaf_bound(safe, leaf, tight, near)))
        if least >= bound - tree.judge.rounding(bound):
            return bound
        bound = least
        if np.isinf(bound):
            break
    return bound


def as_checked(search: MISDPSearch, tree: IntegerTree, bound: float) -> float:
    """Return a bound less what its leaves lose in bounds that are derived as the checker does.

    Compiled loops derive slightly tighter ends of continuous variables in as many rounds; large
    reduced costs of nodes without an interior magnify the difference. Where variables have no
    bounds, `recomputed` has judged the leaves.

    Parameters
    ----------
    search, tree, bound : as for :func:`recomputed`
    """
    problem = search.problem
    if not np.isfinite(np.concatenate([problem.lower, problem.upper])).all():
        return bound
    near = bound + PROOF_NEAR * max(tree.judge.scale, abs(bound))
    leaves = [*tree.leaves.found, *(open_leaf(node) for node in tree.open)]
    leaves = [leaf for leaf in leaves if leaf.bound <= near and _rests_on_ends(tree, leaf)]
    if problem.integer.all() or not leaves or not np.isfinite(bound):
        return bound
    cutoff = tree.judge.better_than(float(tree.judge.safe.bound(np.array(bound))))
    box = search.propagation.tighten(cutoff=cutoff, in_turn=False)
    if box is None:
        return bound
    least = bound
    for leaf, tight in _tightened(search, leaves, box, cutoff, in_turn=False):
        multipliers = leaf.multipliers or tree.judge.safe.zero()
        value = tree.judge.rounded(tree.judge.value(tight, multipliers))
        least = min(least, value) if value > -np.inf else least
    return bound if least >= bound - tree.judge.rounding(bound) else least


def with_margin(search: MISDPSearch, tree: IntegerTree, bound: float, enough: float) -> float:
    """Return a bound less what exact multipliers may cost the checker, where it stays enough.

    Free variables ask for them.

    Parameters
    ----------
    search, tree, bound : as for :func:`recomputed`
    enough : float
        What closes the gap.
    """
    if not search.conic.free.any() or not np.isfinite(bound):
        return bound
    for share in (PROOF_MARGIN, PROOF_LOSS):
        less = bound - share * max(tree.judge.scale, abs(bound))
        if less >= enough or bound < enough:
            return less
    return bound


def exact_where_free(
    search: MISDPSearch, tree: IntegerTree, leaves: list[IntegerLeaf], bound: float | None
) -> tuple[list[IntegerLeaf], bool]:
    """Return leaves with exact multipliers where reduced costs have to be exactly zero.

    Up to a number of leaves, and where such multipliers are found. Those beside a pool may have to
    prove more than the bound: they are left as they are.

    Parameters
    ----------
    search : MISDPSearch
    tree : IntegerTree
    leaves : list of IntegerLeaf
    bound : float or None
        What they are to prove; None that nothing is feasible.

    Returns
    -------
    leaves : list of IntegerLeaf
    proven : bool
        Whether all of them do, rounding errors or not.
    """
    problem, judge = search.problem, tree.judge
    some = min(EXACT_LEAVES, EXACT_ENTRIES // max(1, judge.forms.nnz))
    lacking = np.isinf(problem.lower - problem.upper)
    if search.points.count > 1 or not some or not lacking.any():
        return leaves, False
    # No whole numbers solve equations whose coefficients have all digits of a number.
    data = 2.0**EXACT_DIGITS * np.concatenate([judge.forms[lacking].data, problem.c[lacking]])
    if (data != np.rint(data)).any():
        return leaves, False
    cutoff = None if bound is None else judge.better_than(float(judge.safe.bound(np.array(bound))))
    box = search.propagation.tighten(cutoff=cutoff, in_turn=False)
    if box is None:
        return leaves, True
    exact, changed, proven = ExactMultipliers(problem, judge), list(leaves), True
    for k, leaf in enumerate(leaves):
        if leaf.scale != 1.0:
            continue
        tight = _left_of(search, leaf, box, cutoff, in_turn=False)
        if tight is None:
            continue
        if not some or search.control.limit() is not None:
            return changed, False
        if leaf.multipliers is None:
            proven = False
            continue
        if _plainly_proven(judge, leaf, tight, bound):
            continue
        some -= 1
        # Ends that are derived for variables without ends may be others in the checker.
        low, high = (
            np.where(np.isinf(own), own, end)
            for own, end in zip((problem.lower, problem.upper), tight, strict=True)
        )
        found = None
        if leaf.infeasible:
            found = exact.on_face(leaf.multipliers, True, partial(judge.disproves, (low, high)))
        elif bound is not None:
            found = _exact_bound(search.conic, exact, (low, high), leaf.multipliers, bound)
        if found is not None:
            changed[k] = replace(leaf, multipliers=found.multipliers, scale=found.scale)
        proven &= found is not None and found.exact
    return changed, proven


def _plainly_proven(judge: Judge, leaf: IntegerLeaf, tight: Box, bound: float | None) -> bool:
    """Return whether ends that the checker derives leave no rounding in the way."""
    assert leaf.multipliers is not None
    reduced = judge.reduced_costs(leaf.multipliers, leaf.infeasible)
    filled = np.diff(judge.forms.indptr) > 0
    if (filled & np.isinf(tight[0] - tight[1]) & (np.abs(reduced) <= PROOF_LOSS)).any():
        return False
    if leaf.infeasible:
        return judge.disproves_exactly(tight, leaf.multipliers)
    value = float(judge.safe.evaluate(*tight, leaf.multipliers).value[0])
    return bound is not None and judge.rounded(value) >= bound


def _exact_bound(
    conic: ConicBounding,
    exact: ExactMultipliers,
    box: Box,
    given: ConicMultipliers,
    bound: float,
) -> ScaledMultipliers | None:
    """Return exact multipliers on the face of those given, or inside their cones, or None.

    Or others inside their cones, which exact ones may be enclosed beside.
    """
    judge = conic.judge

    def enough(multipliers: ConicMultipliers) -> bool:
        return judge.rounded(judge.value(box, multipliers)) >= bound - judge.rounding(bound)

    def more(multipliers: ConicMultipliers) -> bool:
        """Return whether there is room for what the checker's enclosure costs."""
        margin = PROOF_LOSS * max(judge.scale, abs(bound))
        return judge.rounded(judge.value(box, multipliers)) >= bound + margin

    found = None
    if not enough(given):
        # They rest on derived ends.
        fresh = conic.with_room(box, 0.0 * given.joined())
        if fresh is not None and enough(fresh):
            given, found = fresh, ScaledMultipliers(fresh, exact=False) if more(fresh) else None
    axes = exact.axes(given)
    if axes is None:
        return exact.on_face(given, False, enough) or found
    largest = float(np.abs(given.joined()).max(initial=0.0))
    for share in EXACT_ROOM:
        inside = conic.with_room(box, share * max(1.0, largest) * axes)
        if inside is None or not enough(inside):
            continue
        near = exact.inside(inside, axes, enough)
        if near is not None:
            return near
        if found is None and more(inside):
            found = ScaledMultipliers(inside, exact=False)
    return found


def open_leaf(node: IntegerNode) -> IntegerLeaf:
    """Return an open node as a leaf."""
    return IntegerLeaf(node.lower, node.upper, node.multipliers, False, node.bound)


def _tightened(
    search: MISDPSearch,
    leaves: list[IntegerLeaf],
    box: Box,
    cutoff: float,
    in_turn: bool = True,
) -> Iterator[tuple[IntegerLeaf, Box]]:
    """Yield the leaves with what is left of the box in them, without those that are left empty."""
    for leaf in leaves:
        tight = _left_of(search, leaf, box, cutoff, in_turn)
        if tight is not None:
            yield leaf, tight


def _left_of(
    search: MISDPSearch, leaf: IntegerLeaf, box: Box, cutoff: float | None, in_turn: bool
) -> Box | None:
    """Return what is left of the box in a leaf, None where it is empty."""
    whole = search.problem.integer
    low, high = (end.copy() for end in box)
    low[whole] = np.maximum(low[whole], leaf.lower)
    high[whole] = np.minimum(high[whole], leaf.upper)
    if (low > high).any():
        return None
    return search.propagation.tighten(low, high, cutoff, in_turn=in_turn)


def _rests_on_ends(tree: IntegerTree, leaf: IntegerLeaf) -> bool:
    """Return whether ends of continuous variables that are a little wider cost a leaf anything."""
    if leaf.multipliers is None:
        return True
    continuous = np.abs(tree.judge.reduced_costs(leaf.multipliers)[~tree.problem.integer])
    return bool(continuous.sum() > tree.judge.scale * PROOF_LOSS)


def _leaf_bound(safe: SafeBounds, leaf: IntegerLeaf, box: Box, near: float) -> float:
    """Return what a leaf proves on its box: inf that it is empty, -inf nothing."""
    if leaf.multipliers is not None and not leaf.infeasible:
        quick = safe.quick(*box, leaf.multipliers.joined())
        if quick > -np.inf:
            return quick
    found = safe.evaluate(*box, leaf.multipliers or safe.zero(), leaf.infeasible)
    value, nearly, uncharged = (
        float(part[0]) for part in (found.value, found.nearly, found.uncharged)
    )
    if leaf.infeasible:
        least = DISPROOF_RECHECKED * float(found.size[0])
        nearly_proven = nearly >= least and uncharged <= UNCHARGED * nearly
        return np.inf if value >= least or nearly_proven else -np.inf
    if value > -np.inf:
        return value
    return nearly if uncharged <= UNCHARGED * near else -np.inf
