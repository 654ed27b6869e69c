r"""Proof of a path over budgets whose tables are given.

The certificate "budget" holds ``multiplier``, one :math:`\lambda_K \ge 0` for each budget of the
path. By Everett's theorem (1963)

.. math:: Q(\lambda; K) = \sum_j \min_k \left( L_j(k) + \lambda k \right) - \lambda K \le V(K),

which proves every bound up to :math:`Q(\lambda_K; K)`. A budget may have a duality gap: bounds
above that are proven by dynamic programs over the few nodes that could close it
(:mod:`sparseopt.checking.budget.gaps`). Beyond some ten seconds the verdict is ``unproven``.

Values are compared up to 1e-9 of the sum of each budget (:mod:`sparseopt.checking.budget.sums`),
however large other losses are; those of fits up to 1e-9 of the usual ones. What is off by more, but
not by 1e-9 of the sum of all entries, proves nothing.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from sparseopt.checking.budget.gaps import HullSegments, excesses
from sparseopt.checking.budget.sums import known, known_duals, left_by_rounding, tolerances
from sparseopt.checking.report import Findings
from sparseopt.checking.tolerances import SUM
from sparseopt.paths.budget import BudgetPath
from sparseopt.problems.base import Array
from sparseopt.problems.budget.tables import BudgetTables
from sparseopt.result import Result, Status

_BLOCK = 4096
"""Nodes whose hulls are found at once: their tables stay in the cache."""
_STEPS = 1e10
"""Additions that the programs for gaps may take: some ten seconds."""


def verify_path(
    problem: BudgetTables,
    result: Result,
    path: BudgetPath,
    findings: Findings,
    *,
    fitted: bool = False,
) -> None:
    """Prove that a path solves given tables.

    Parameters
    ----------
    problem : BudgetTables
    result : Result
    path : BudgetPath
    findings : Findings
        Gets what was found.
    fitted : bool, default False
        Whether the tables are those of fits, which are rounded themselves.
    """
    if not _shapes(problem, result, path, findings):
        return
    value = _replayed(problem, path, findings)
    if value is None:
        return
    value = known(problem, path, value, fitted=fitted)
    narrow, wide = tolerances(problem, path, value, fitted=fitted)
    _check_values(path, value, narrow, wide, findings)
    _check_last(result, path, float(narrow[-1]), wide, findings)
    if (path.bound > path.objective + wide).any():
        findings.refute("at some budget the bound lies above the objective")
    gap = np.where(result.status is Status.OPTIMAL, path.objective - path.bound, -np.inf)
    if (gap > _asked(result, path, wide)).any():
        findings.refute("the status is optimal, but at some budget objective and bound do not meet")
    multiplier = _multipliers(result, path, findings)
    if multiplier is None:
        return
    segments = _hull_segments(problem)
    dual = _dual_bounds(problem, segments, path.budgets, multiplier)
    dual = known_duals(problem, path.budgets, multiplier, dual, narrow)
    missing = path.objective - dual - left_by_rounding(problem, path.budgets, multiplier)
    missing = np.where(path.certified, missing, -np.inf)
    if (missing > wide).any():
        K = int(np.argmax(missing > wide))
        findings.refute(f"budget {K} is called certified, but its multiplier leaves a gap")
    _check_bounds(problem, path, segments, multiplier, dual, narrow, wide, findings)
    if (gap > _asked(result, path, narrow)).any() or (missing > narrow).any():
        findings.doubt("at some budget objective and bound meet only beside other losses")


def _shapes(problem: BudgetTables, result: Result, path: BudgetPath, findings: Findings) -> bool:
    """Refute a path whose arrays do not fit together or do not cover what was asked."""
    B, J = len(path.budgets), len(problem.ptr) - 1
    changes = path.changes
    rising = np.diff(changes.ptr) >= 0
    fits = (
        path.nodes == J
        and all(len(a) == B for a in (path.objective, path.bound, path.certified))
        and changes.ptr.shape == (B + 1,)
        and changes.ptr[0] == 0
        and bool(rising.all())
        and changes.ptr[-1] == len(changes.node) == len(changes.count)
        and bool(((changes.node >= 0) & (changes.node < J)).all())
        and bool(np.isfinite(path.objective).all())
        and not bool(np.isnan(path.bound).any())
    )
    if not fits:
        findings.refute("the path's arrays do not fit together")
        return False
    last = problem.last_budget(result.params.budget)
    if not np.array_equal(path.budgets, np.arange(last + 1)):
        findings.refute(f"the path does not have every budget from 0 to {last}")
        return False
    expected = "budget" if result.limit is None else result.limit.value
    if path.stopped_by != expected:
        findings.refute(f"the path ends by {path.stopped_by!r}; expected {expected!r}")
        return False
    return True


def _replayed(problem: BudgetTables, path: BudgetPath, findings: Findings) -> Array | None:
    """Replay the changes: every count in range, every budget kept; return their values, (B,)."""
    B, changes = len(path.budgets), path.changes
    sizes, start = problem.sizes, problem.ptr[:-1]
    inside = (changes.count >= 0) & (changes.count <= sizes[changes.node])
    if not inside.all():
        wrong = int(changes.node[int(np.argmin(inside))])
        findings.refute(f"a count of node {wrong} is outside 0..{int(sizes[wrong])}")
        return None
    # The counts before each change, from the change of the same node before it.
    many = len(changes.node)
    places = np.arange(many, dtype=np.int64)
    changed = sp.coo_array((np.ones(many, bool), (changes.node, places)), (path.nodes, many))
    order = changed.tocsr().indices
    node, count = changes.node[order], changes.count[order]
    same = node[1:] == node[:-1]
    before = np.zeros_like(count)
    before[1:][same] = count[:-1][same]
    loss = problem.values[start[node] + count] - problem.values[start[node] + before]
    place = np.repeat(np.arange(len(path.budgets)), np.diff(changes.ptr))[order]
    spent = np.cumsum(np.bincount(place, weights=count - before, minlength=B))
    value = problem.values[start].sum() + np.cumsum(np.bincount(place, weights=loss, minlength=B))
    over = spent > path.budgets + 0.5
    if over.any():
        K = int(np.argmax(over))
        findings.refute(f"the counts at budget {K} sum to {int(spent[K])}")
    return np.asarray(value)


def _check_values(
    path: BudgetPath, value: Array, narrow: Array, wide: float, findings: Findings
) -> None:
    """Compare the stated objective values with those of the counts."""
    error = np.abs(value - path.objective)
    findings.measure("stored", SUM * float(error.max()) / wide)
    if not (error > narrow).any():
        return
    K = int(np.argmax(error if error.max() > wide else error / narrow))
    message = (
        f"the stated objective at budget {K} is {path.objective[K]:.17g}, that of its counts for "
        f"{path.nodes} nodes is {value[K]:.17g}"
    )
    if error[K] > wide:
        findings.refute(message)
    else:
        findings.doubt(message)


def _check_last(
    result: Result, path: BudgetPath, narrow: float, wide: float, findings: Findings
) -> None:
    for name in ("objective", "bound"):
        stated, last = getattr(result, name), float(getattr(path, name)[-1])
        if stated is None or not abs(stated - last) <= wide:
            findings.refute(f"the {name} {stated} is not the path's at the last budget")
        elif abs(stated - last) > narrow:
            findings.doubt(f"the {name} {stated:.17g} is {last:.17g} at the path's last budget")


def _asked(result: Result, path: BudgetPath, tolerance: Array | float) -> Array:
    """Return the gap that OPTIMAL may leave at each budget."""
    size = np.maximum(np.abs(path.objective), np.abs(path.bound))
    size = np.where(np.isfinite(size), size, 0.0)
    params = result.params
    return np.maximum(np.maximum(params.abs_gap, params.rel_gap * size), tolerance)


def _multipliers(result: Result, path: BudgetPath, findings: Findings) -> Array | None:
    """Return the certificate's multipliers, shape (B,), or None."""
    certificate = result.certificate
    if certificate is None or certificate.kind != "budget":
        findings.doubt("there is no certificate 'budget' that could prove the bounds")
        return None
    multiplier = np.asarray(certificate.arrays.get("multiplier"), dtype=float)
    if multiplier.shape != path.budgets.shape or not (multiplier >= 0.0).all():
        findings.refute(f"the certificate has no multiplier >= 0 for each of {len(path)} budgets")
        return None
    if not np.isfinite(multiplier).all():
        findings.refute("a multiplier is not finite")
        return None
    return multiplier


def _dual_bounds(
    problem: BudgetTables, segments: HullSegments, K: Array, multiplier: Array
) -> Array:
    """Return Q at the certificate's multipliers, shape (B,)."""
    value = np.concatenate([[0.0], np.cumsum(segments.drop)])
    spent = np.concatenate([[0.0], np.cumsum(segments.width)])
    # At lam a node takes all of its segments that are steeper than -lam.
    taken = np.searchsorted(segments.slope, -multiplier, side="left")
    none = problem.values[problem.ptr[:-1]].sum()
    return np.asarray(none + value[taken] + multiplier * (spent[taken] - K))


def _hull_segments(problem: BudgetTables) -> HullSegments:
    """Return the decreasing hull segments of all tables, the steepest first."""
    J = len(problem.ptr) - 1
    parts = [_segments_of(problem, j, min(j + _BLOCK, J)) for j in range(0, J, _BLOCK)]
    node, k, slope, width, drop = (np.concatenate(each) for each in zip(*parts, strict=True))
    order = np.argsort(slope, kind="stable")
    return HullSegments(*(a[order] for a in (node, k, slope, width, drop)))


def _segments_of(problem: BudgetTables, first: int, last: int) -> tuple[Array, ...]:
    """Return those of some nodes, node by node: node, k, slope, width and drop.

    An entry on or above the line through its neighbours is no vertex of its table's lower convex
    hull, so all such entries can go at once; what is left when none goes is convex.
    """
    ptr = problem.ptr[first : last + 1]
    node = np.repeat(np.arange(first, last), np.diff(ptr))
    k = np.arange(ptr[0], ptr[-1]) - problem.ptr[node]
    loss = np.asarray(problem.values[ptr[0] : ptr[-1]])
    while True:
        inner = np.flatnonzero(node[2:] == node[:-2]) + 1
        left = (loss[inner] - loss[inner - 1]) * (k[inner + 1] - k[inner])
        right = (loss[inner + 1] - loss[inner]) * (k[inner] - k[inner - 1])
        above = inner[left >= right]
        if len(above) == 0:
            break
        node, k, loss = (np.delete(a, above) for a in (node, k, loss))
    same = np.flatnonzero(node[1:] == node[:-1])
    drop, width = loss[same + 1] - loss[same], (k[same + 1] - k[same]).astype(float)
    falls = drop < 0.0
    same, drop, width = same[falls], drop[falls], width[falls]
    slope = drop / width
    # Rounding must not change the order of a node's own segments.
    while True:
        back = np.flatnonzero((node[same[1:]] == node[same[:-1]]) & (slope[1:] < slope[:-1]))
        if len(back) == 0:
            break
        slope[back + 1] = slope[back]
    return node[same], k[same], slope, width, drop


def _check_bounds(
    problem: BudgetTables,
    path: BudgetPath,
    segments: HullSegments,
    multiplier: Array,
    dual: Array,
    narrow: Array,
    wide: float,
    findings: Findings,
) -> None:
    """Prove every bound by its multiplier, or beyond that by the nodes that could close the gap."""
    B = len(path.budgets)
    beyond = np.flatnonzero(path.bound > dual + narrow)
    if len(beyond) == 0:
        findings.prove(f"multipliers prove the bounds of all {B} budgets")
        return
    over = excesses(
        problem,
        segments,
        path.budgets[beyond],
        multiplier[beyond],
        path.bound[beyond],
        dual[beyond],
        narrow[beyond],
        _STEPS,
    )
    if (over > narrow[beyond]).any():
        worst = int(np.nanargmax(over - narrow[beyond]))
        at = int(beyond[worst])
        optimum = path.bound[at] - over[worst]
        message = f"the bound {path.bound[at]:.17g} at budget {at} exceeds {optimum:.17g}"
        if over[worst] > wide:
            findings.refute(message)
        else:
            findings.doubt(message)
        return
    left = int(np.isnan(over).sum())
    findings.prove(
        f"multipliers prove the bounds of {B - len(beyond)} budgets, dynamic programs over the "
        f"nodes that could close the gap those of {len(beyond) - left}"
    )
    if left:
        findings.doubt(
            f"{left} of {B} bounds exceed what their multipliers prove, and are too much work to "
            "recompute"
        )
