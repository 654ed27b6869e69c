"""What the engine returns: its records, and the path and its certificate made of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from sparseopt.params import SolveParams
from sparseopt.paths.parametric import ParametricPath, SparseRows
from sparseopt.problems import ParametricProblem, PiecewiseLinearProgram
from sparseopt.problems.base import Array
from sparseopt.result import Certificate

from ...common.segments import path_from_codes
from ..candidates.program import CandidateProgram
from ..pivots.state import Entries, SegmentRecords
from ..program import ScaledProgram
from ..settings import MISMATCH, NO_RULE, TINY

_ENTRIES = 1 << 16
"""Coordinates of segments that are compared with their limits at once."""
Changes = list[tuple[Array, Array]]
"""Coordinates and their new codes, in the order of the changes."""


class Recorder:
    """Collects the segments of a path in the program's coordinates, and holds the user's rules.

    Without `params` nothing is kept: for walks of which only the end matters.

    Attributes
    ----------
    complete : bool
        Whether the objectives have the program's offset in them, whatever its functions are.
    """

    def __init__(self, params: SolveParams | None = None) -> None:
        self.keeps = params is not None
        self.max_segments = (params.max_knots if params else None) or NO_RULE
        self.max_nonzeros = params.max_nonzeros if params else None
        self.count = 0
        self.first: Array = np.zeros(0, dtype=np.int64)
        self.parts: list[SegmentRecords] = []
        self.changes: Changes = []
        self.complete = False

    def nonzeros_left(self, candidates: CandidateProgram) -> int:
        """Return how many nonzero candidates the rule allows, -1 without a rule."""
        if self.max_nonzeros is None:
            return -1
        return max(0, self.max_nonzeros - len(candidates.theta_rest[0]))

    def replace(self, first: Array, segments: SegmentRecords, complete: bool = False) -> None:
        """Hold the segments of another walk instead, in the program's coordinates.

        Parameters
        ----------
        first : int array of shape (n,)
            Codes before the first segment.
        segments : SegmentRecords
        complete : bool, default False
            As the attribute.
        """
        self.first, self.count, self.complete = first.copy(), len(segments), complete
        if self.keeps:
            self.parts = [segments] if len(segments) else []
            self.changes = [segments.changes(s) for s in range(len(segments))]

    def raise_end(self, part: float) -> None:
        """Let the path end above where it did, by this part of lam or half of the last segment.

        Where no bound is left below, multipliers within their slopes are a point alone, and
        rounding may have left none.
        """
        if not self.parts or self.parts[-1].low[-1] == 0.0:
            return
        last = self.parts[-1]
        low, high = last.low.copy(), last.high[-1]
        step = np.zeros(len(low))
        step[-1] = min(part * abs(low[-1]), 0.5 * (high - low[-1]))
        low += step
        raised = replace(last.moved(step), low=low)
        slope, bend = last.objective[-1, 1:]
        raised.objective[-1, 0] += bend * step[-1] ** 2
        raised.objective[-1, 1] = slope + 2.0 * bend * step[-1]
        self.parts[-1] = raised

    def lower_top(self, part: float) -> None:
        """Let the path begin below its top, by this part of lam or half of the first segment."""
        if self.parts and np.isfinite(self.parts[0].high[0]):
            first = self.parts[0]
            high = first.high.copy()
            high[0] -= min(part * high[0], 0.5 * (high[0] - first.low[0]))
            self.parts[0] = replace(first, high=high)

    def add(
        self,
        candidates: CandidateProgram,
        segments: SegmentRecords,
        before: Array,
        pending: Changes,
    ) -> None:
        """Record segments.

        Parameters
        ----------
        candidates : CandidateProgram
            Whose indices the segments use.
        segments : SegmentRecords
        before : int array of shape (n,)
            Codes before the first of these segments (used for the very first one).
        pending : list of (coordinates, codes)
            Changes that were made without a segment, to go before the first one.
        """
        if self.count == 0:
            self.first = before.copy()
        self.count += len(segments)
        if not self.keeps:
            return
        low = segments.low
        objective = segments.objective
        if len(candidates.nu_rest[0]):
            objective = objective + _shifted(candidates.objective_rest, low)
        theta = _in_program(segments.theta, candidates.columns, candidates.theta_rest, low)
        nu = _in_program(segments.nu, candidates.rows, candidates.nu_rest, low)
        self.parts.append(replace(segments, objective=objective, theta=theta, nu=nu))
        inside = candidates.inside
        moves = [segments.changes(s) for s in range(len(segments))]
        moves = [(inside[index], code) for index, code in moves]
        moves[0] = _joined([*pending, moves[0]])
        self.changes.extend(moves)


def _in_program(entries: Entries, names: Array, rest: tuple[Array, Array], low: Array) -> Entries:
    """Return the vectors in the program's coordinates, with the entries that rest."""
    index, pairs = rest
    renamed = Entries(entries.ptr, names[entries.index], entries.value, entries.rate)
    if len(index) == 0:
        return renamed
    ptr = entries.ptr + len(index) * np.arange(len(low) + 1)
    whole = Entries(ptr, np.empty(ptr[-1], np.int32), np.empty(ptr[-1]), np.empty(ptr[-1]))
    for s, lam in enumerate(low.tolist()):
        own = slice(entries.ptr[s], entries.ptr[s + 1])
        end = ptr[s + 1] - len(index)
        here, rests = slice(ptr[s], end), slice(end, ptr[s + 1])
        whole.index[here], whole.index[rests] = renamed.index[own], index
        whole.value[here], whole.rate[here] = entries.value[own], entries.rate[own]
        np.multiply(pairs[:, 1], lam, out=whole.value[rests])
        whole.value[rests] += pairs[:, 0]
        whole.rate[rests] = pairs[:, 1]
    return whole


def _shifted(quadratic: Array, low: Array) -> Array:
    """Return a quadratic in lam as one in lam - low for each segment, shape (S, 3)."""
    q0, q1, q2 = quadratic
    return np.stack(
        [q0 + low * (q1 + low * q2), q1 + 2.0 * low * q2, np.full(len(low), q2)], axis=1
    )


def _joined(changes: Changes) -> tuple[Array, Array]:
    """Join changes made one after another; of several codes of a coordinate the last one counts."""
    index = np.concatenate([part[0] for part in changes])
    code = np.concatenate([part[1] for part in changes])
    kept, where = np.unique(index[::-1], return_index=True)
    return kept, code[::-1][where]


def norm_weights(canonical: PiecewiseLinearProgram, program: ScaledProgram) -> Array | None:
    """Return the weights of the costs where they are a weighted l1 norm, else None.

    Parameters
    ----------
    canonical : PiecewiseLinearProgram
        Of one path.
    program : ScaledProgram
        The same in the engine's units.

    Returns
    -------
    array of shape (p,), or None
    """
    weight, opposite = (
        program.slopes[:2, 1 : 2 * program.p : 2],
        program.slopes[:2, : 2 * program.p : 2],
    )
    norm = len(canonical.phi.kink) == program.p and np.array_equal(weight, -opposite)
    norm = norm and np.isfinite(weight[0]).all() and not weight[1].any()
    slope = canonical.psi.slope
    costly = (slope[np.isfinite(slope)] != 0.0).any() or canonical.psi.slope_rate.any()
    if not norm or costly or not objective_from_multipliers(canonical):
        return None
    return np.asarray(weight[0])


def mismatch(weight: Array, part: SegmentRecords, ptr: Array) -> Array:
    """Return by how much recorded objectives differ from the costs of their coefficients.

    Digits that values have lost, and no pivot has noticed, show here.

    Parameters
    ----------
    weight : array of shape (p,)
        The :func:`norm_weights` of their program.
    part : SegmentRecords
        Of paths one after another, in the engine's units.
    ptr : int array of shape (q + 1,)
        The segments of path i are ``ptr[i]:ptr[i + 1]``, at least one.

    Returns
    -------
    array of shape (q,)
        The largest difference at a lower end, relative to the sum of the absolute costs, or to
        1e-12 of the path's largest.
    """
    theta = part.theta
    costs = np.append(weight[theta.index] * np.abs(theta.value), 0.0)
    size = np.where(np.diff(theta.ptr) > 0, np.add.reduceat(costs, theta.ptr[:-1]), 0.0)
    off = np.abs(size - part.objective[:, 0])
    least = np.repeat(1e-12 * np.maximum.reduceat(size, ptr[:-1]), np.diff(ptr))
    ratio = off / np.maximum(np.maximum(size, least), TINY)
    return np.asarray(np.maximum.reduceat(ratio, ptr[:-1]))


def strays(program: ScaledProgram, recorder: Recorder) -> float:
    r"""Return by how much recorded rows and multipliers leave their limits, or objectives are off.

    The rows' values :math:`(A\theta)_i` that are free lie between kinks, the multipliers
    :math:`(A'\nu)_j` of variables at kinks between slopes. Where the terms of such a product are
    much larger than it is, all of its digits may be lost, while costs and objectives agree. So may
    those of the objective, as both come from one inverse: rows that miss their kinks by r, and
    variables' multipliers that miss their slopes by q, put it off by :math:`\nu'r` and
    :math:`\theta'q`, to first order; r and q are to be rounding errors of their own terms, too.

    Parameters
    ----------
    program : ScaledProgram
    recorder : Recorder
        With segments in the program's coordinates.

    Returns
    -------
    float
        The largest violation at a lower end, relative to the sum of the absolute values of the
        product and its limit, and of lam times their rates; or error of an objective, relative to
        the sum of the absolute values of its terms.
    """
    codes, worst = recorder.first.astype(np.int64), 0.0
    changes = iter(recorder.changes)
    for part in recorder.parts:
        step = max(1, _ENTRIES // program.n)
        for begin in range(0, len(part), step):
            some = part.part(begin, min(begin + step, len(part)))
            each = np.empty((len(some), program.n), dtype=np.int64)
            for row in each:
                at, code = next(changes)
                codes[at] = code
                row[:] = codes
            worst = max(worst, _strays(program, some, each))
    return worst


def _strays(program: ScaledProgram, part: SegmentRecords, codes: Array) -> float:
    """Return the same of some segments, whose codes have the shape (S, n)."""
    p, lam = program.p, part.low[:, None]
    theta, nu = part.theta.dense(p), part.nu.dense(program.n - p)
    A, row, column = program.A, program.row, program.column
    z = [A.matvec((column * side).T).T * row for side in theta]
    v = [-A.rmatvec((row * side).T).T * column for side in nu]
    index, at_kink = codes >> 1, codes & 1 == 1
    slope = program.slope_ptr[:p] + index[:, :p]
    slope[~at_kink[:, :p]] = -1
    kink = program.kink_ptr[p:-1] + index[:, p:]
    under = np.where(at_kink[:, p:] | (index[:, p:] == 0), -1, kink - 1)
    over = np.where(at_kink[:, p:] | (kink >= program.kink_ptr[p + 1 :]), -1, kink)
    above = np.where(slope < 0, -1, slope + 1)
    on_piece = program.slope_ptr[:p] + index[:, :p]
    on_piece[at_kink[:, :p]] = -1
    here = np.where(at_kink[:, p:], kink, -1)
    of_rows = _in_objective(program.kinks, here, z[0], nu[0], lam)
    of_variables = _in_objective(program.slopes, on_piece, v[0], theta[0], lam)
    terms = of_rows[1] + of_variables[1]
    terms = np.maximum(terms, 1e-12 * terms.max(initial=0.0))
    off = np.maximum(of_rows[0], of_variables[0])[terms > 0.0]
    return max(
        float((off / terms[terms > 0.0]).max(initial=0.0)),
        _missed(
            program.kinks,
            here,
            z[0],
            lam,
            lambda: A.abs_matvec(np.abs(column * theta[0]).T).T * row,
        ),
        _missed(
            program.slopes,
            on_piece,
            v[0],
            lam,
            lambda: A.abs_rmatvec(np.abs(row * nu[0]).T).T * column,
        ),
        _beyond(program.slopes, slope, v, lam, 1.0),
        _beyond(program.slopes, above, v, lam, -1.0),
        _beyond(program.kinks, under, z, lam, 1.0),
        _beyond(program.kinks, over, z, lam, -1.0),
        _leave(program, part, codes, theta, nu),
    )


def _leave(
    program: ScaledProgram, part: SegmentRecords, codes: Array, theta: Array, nu: Array
) -> float:
    """Return by how much variables leave their pieces and rows' multipliers their slopes.

    At either end of a segment, relative to the largest of them there: where a range ends at a lam
    of 10^13, what is little there is not so at 1. What is less than :data:`MISMATCH` counts as 0.
    """
    p, index, at_kink = program.p, codes >> 1, codes & 1 == 1
    length = np.where(np.isfinite(part.high), part.high - part.low, 0.0)
    s, i = np.nonzero(~at_kink[:, :p])
    kink = program.kink_ptr[i] + index[s, i]
    under = np.where(index[s, i] == 0, -1, kink - 1)
    over = np.where(kink >= program.kink_ptr[i + 1], -1, kink)
    r, j = np.nonzero(at_kink[:, p:])
    slope = program.slope_ptr[p + j] + index[r, p + j]
    worst = 0.0
    for lines, pair, at, ends in (
        (program.kinks, theta, (s, i), (under, over)),
        (program.slopes, nu, (r, j), (slope, slope + 1)),
    ):
        (value, rate), low, step = (side[at] for side in pair), part.low[at[0]], length[at[0]]
        tops = pair[0] + length[:, None] * pair[1]
        largest = [np.abs(side).max(axis=1, initial=0.0)[at[0]] for side in (pair[0], tops)]
        little = MISMATCH * np.minimum(*largest)
        for end, sign in zip(ends, (1.0, -1.0), strict=True):
            moves = lines[1][end]
            below = sign * (lines[0][end] + low * moves - value)
            above = below + step * sign * (moves - rate)
            if not ((np.maximum(below, above) > little) & (end >= 0)).any():
                continue
            for way, most in zip((np.zeros(len(step)), step), largest, strict=True):
                each = [(value + way * rate)[:, None], rate[:, None]]
                off = _beyond(lines, end[:, None], each, (low + way)[:, None], sign, most)
                worst = max(worst, off)
    return worst


def _missed(lines: Array, at: Array, x: Array, lam: Array, terms: Callable[[], Array]) -> float:
    """Return by how much x is off the lines `at`, relative to the terms that it was added up from.

    `x`, `at` and what `terms` returns have shape (S, n); there is no line where `at` is -1. Terms
    are computed only where x is off by more than rounding of itself.
    """
    there = at >= 0
    target = np.where(there, lines[0][at], 0.0) + lam * np.where(there, lines[1][at], 0.0)
    off = np.where(there, np.abs(x - target), 0.0)
    size = np.abs(x) + np.abs(target)
    if not (off > MISMATCH * size).any():
        return 0.0
    return float((off / np.maximum(size + terms(), TINY)).max())


def _in_objective(
    lines: Array, at: Array, x: Array, weight: Array, lam: Array
) -> tuple[Array, Array]:
    """Return how far weight'x is from that of the lines `at`, and the size of the latter's terms.

    Parts of an objective, shapes (S,); there is no line where `at` is -1.
    """
    target = np.where(at >= 0, lines[0][at], 0.0) + lam * np.where(at >= 0, lines[1][at], 0.0)
    there = np.where(at >= 0, weight, 0.0)
    return np.abs((there * (x - target)).sum(axis=1)), np.abs(there * target).sum(axis=1)


def _beyond(
    lines: Array, at: Array, x: list[Array], lam: Array, sign: float, least: Array | None = None
) -> float:
    """Return by how much x, values and rates, is beyond the lines `at`; -1 where there is none.

    Relative to the sizes of both, and to `least` of each segment.
    """
    base = lines[0][at]
    over = sign * (base + lam * lines[1][at] - x[0])
    here = np.nonzero((over > 0.0) & (at >= 0) & np.isfinite(base))
    if not len(here[0]):
        return 0.0
    slope, value, rate = lines[1][at[here]], x[0][here], x[1][here]
    size = np.abs(base[here]) + np.abs(value) + lam[here[0], 0] * (np.abs(slope) + np.abs(rate))
    if least is not None:
        size += least[here[0]]
    return float((over[here] / np.maximum(size, TINY)).max())


# ---- in the user's units


_ENDS = {"farkas": "infeasible_below", "ray": "unbounded_below"}


def assemble(
    problem: ParametricProblem,
    canonical: PiecewiseLinearProgram,
    program: ScaledProgram,
    recorder: Recorder,
    stopped_by: str,
    proofs: Mapping[str, Array],
) -> tuple[ParametricPath, Certificate]:
    """Build the path and the certificate of its bases from the records of a walk.

    `canonical` is the problem's general form, `program` the same as the engine sees it, and
    `proofs` are the arrays "farkas", "ray", "farkas_above" and "ray_above" that prove its ends.

    The solutions are those that the pivots found, up to their rounding errors; where the objective
    is not recorded and cannot be read off the multipliers, the bases are solved anew.

    Parameters
    ----------
    problem : ParametricProblem
    canonical : PiecewiseLinearProgram
        The problem's general form.
    program : ScaledProgram
        The same form in the engine's units.
    recorder : Recorder
        The segments of the walk, which are taken away.
    stopped_by : str
        Why the path ended.
    proofs : mapping of str to array
        "farkas" (m,) or "ray" (p,) below the path, "farkas_above" or "ray_above" above it.

    Returns
    -------
    ParametricPath
    Certificate
    """
    parts = recorder.parts
    low = np.concatenate([part.low for part in parts])
    high = np.concatenate([part.high for part in parts])
    codes = recorder.first.astype(np.int16)
    codes[recorder.changes[0][0]] = recorder.changes[0][1]
    changes = recorder.changes[1:]
    sizes = [0, 0, *(len(index) for index, _ in changes)]
    change_ptr = np.cumsum(sizes, dtype=np.int64)
    changed = np.concatenate([np.zeros(0, np.int64), *(index for index, _ in changes)])
    change_code = np.concatenate([np.zeros(0, np.int64), *(code for _, code in changes)])
    bases = (low, high, codes, change_ptr, changed, change_code.astype(np.int16))
    if not (recorder.complete or objective_from_multipliers(canonical)):
        return path_from_codes(problem, *bases, stopped_by, **proofs)

    objective = np.concatenate([part.objective for part in parts])
    if not recorder.complete:
        o = canonical.offset
        objective[:, 0] += o[0] + low * (o[1] + low * o[2])
        objective[:, 1] += o[1] + 2.0 * low * o[2]
        objective[:, 2] += o[2]
    # a walk along many rows has gigabytes of them: each part is freed as it is copied
    thetas, nus = deque(part.theta for part in parts), deque(part.nu for part in parts)
    del parts
    recorder.parts = []
    path = ParametricPath(
        low=low,
        high=high,
        theta=_all_rows(thetas, program.column),
        nu=_all_rows(nus, program.row),
        objective=problem.canonical_sign * objective,
        shape=canonical.A.shape,
        names=problem.coefficient_names,
        stopped_by=stopped_by,
    )
    names = ("low", "high", "codes", "change_ptr", "changed", "change_code")
    arrays: dict[str, Array] = dict(zip(names, bases, strict=True))
    arrays.update(proofs)
    proven = [end for name, end in _ENDS.items() if name in proofs]
    values = {"end": proven[0]} if proven else {}
    return path, Certificate(kind="segments", arrays=arrays, values=values)


def _all_rows(parts: deque[Entries], factor: Array) -> SparseRows:
    """Join sparse vectors, taking them away, and bring them into the user's units."""
    total = sum(int(part.ptr[-1]) for part in parts)
    ptr = np.cumsum([0, *(count for part in parts for count in np.diff(part.ptr).tolist())])
    index, value, rate = np.empty(total, np.int64), np.empty(total), np.empty(total)
    end = 0
    while parts:
        part = parts.popleft()
        here = slice(end, end + len(part.index))
        weight = factor[part.index]
        index[here] = part.index
        np.multiply(part.value, weight, out=value[here])
        np.multiply(part.rate, weight, out=rate[here])
        end = here.stop
    return SparseRows(ptr, index, value, rate)


def objective_from_multipliers(program: PiecewiseLinearProgram) -> bool:
    """Return whether the optimal value is minus the sum of the row multipliers times their kinks.

    It is, but for the offset, where all variables' kinks are 0 and every function vanishes at all
    its kinks.

    Parameters
    ----------
    program : PiecewiseLinearProgram

    Returns
    -------
    bool
    """
    phi, psi = program.phi, program.psi
    if phi.kink.any() or phi.kink_rate.any():
        return False
    inner = np.ones(len(psi.slope), dtype=bool)
    inner[psi.slope_ptr[:-1]] = False
    inner[psi.slope_ptr[1:] - 1] = False
    return not (psi.slope[inner].any() or psi.slope_rate[inner].any())
