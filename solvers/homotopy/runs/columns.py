"""All columns of a columnwise problem: one compiled loop, in as many threads as are asked for."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import pairwise

import numpy as np

from sparseopt.backend import Control
from sparseopt.blas import blas_threads
from sparseopt.params import SolveParams
from sparseopt.paths.columns import ColumnwisePath, StackedPaths
from sparseopt.paths.parametric import SparseRows
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.columnwise import ColumnwiseProblem
from sparseopt.result import Certificate, Limit, Result, Status

from ..candidates.basis import AffineBasis
from ..pivots import core, entry
from ..pivots.columns import Column, FirstBasis, scale
from ..pivots.state import Entries, SegmentRecords
from ..pivots.tableau import DenseProgram, new_records, new_tableau, with_twice_the_room
from ..program import ScaledProgram
from ..settings import (
    COLUMN_ENTRIES,
    COLUMN_SEGMENTS,
    DOUBTFUL,
    LOOKED_THROUGH,
    LOST,
    LOST_MISMATCH,
    MISMATCH,
    NO_RULE,
    RAY_NOISE,
    SEGMENT_PRODUCTS,
    SEVERAL_COLUMNS,
    VISIT,
)
from ..walks import precise
from ..walks.precise import ILL_CONDITIONED, exact_matrix, follow_precisely, pivots_allowed
from ..walks.recorder import Recorder, mismatch, norm_weights, strays
from ..walks.start import crash, optimal_from
from .no_optimum import in_doubt

__all__ = ["columns_result", "solve_columns"]

_STOPPED_BY = {
    core.END: "lam_min",
    core.KNOTS: "max_knots",
    core.NONZEROS: "max_nonzeros",
    core.INFEASIBLE: "infeasible_below",
    core.UNBOUNDED: "unbounded_below",
    core.STALLED: Limit.SLOW_PROGRESS.value,
}
_CODES = {reason: code for code, reason in _STOPPED_BY.items()} | {"end": core.END}
_LIMITS = frozenset(Limit)

Walked = tuple[int, Column, SegmentRecords]
"""First column, how the columns ended, and all their segments one after another."""


def solve_columns(
    problem: ColumnwiseProblem, end: float, params: SolveParams, control: Control
) -> Result | None:
    """Follow the paths of all columns down to `end`.

    Parameters
    ----------
    problem : ColumnwiseProblem
    end : float
        The smallest lam, >= 0.
    params : SolveParams
    control : Control

    Returns
    -------
    Result or None
        None where the columns have no obvious first basis, or their objective cannot be read off
        the multipliers: they are then to be solved as one program.
    """
    with control.building():
        program = ScaledProgram.from_program(problem.column(0).canonical())
        first = crash(program)
        matrix = program.whole()
        transposed = matrix
        if not (program.A.symmetric and np.array_equal(program.row, program.column)):
            transposed = np.ascontiguousarray(matrix.T)
            if np.array_equal(matrix, transposed):
                # one array stays in the processor's cache where two would not
                transposed = matrix
        of_rows = program.kink_ptr[program.p]
        kinks = np.repeat(program.kinks[:1], problem.columns, axis=0)
        factor = np.repeat(program.row, np.diff(program.kink_ptr[program.p :]))
        kinks[:, of_rows:] = problem.row_kinks() * factor
        dense = DenseProgram(
            matrix, transposed, program.kink_ptr, program.slope_ptr, program.kinks, program.slopes
        )
    stop = np.zeros(1, dtype=np.int64)

    def walk(begin: int, finish: int) -> Walked:
        part = kinks[begin:finish]
        return begin, *_walk(dense, first.codes, part, end, params, params.seed + begin, stop)

    threads = min(params.threads or os.cpu_count() or 1, problem.columns)
    cuts = np.linspace(0, problem.columns, threads + 1).astype(int)
    with ThreadPoolExecutor(threads) as pool, blas_threads(1):
        jobs = [pool.submit(walk, int(a), int(b)) for a, b in pairwise(cuts)]
        reached = _watch(jobs, stop, control)
        walked = [job.result() for job in jobs]
    if any((ended.reason < 0).any() for _, ended, _ in walked):
        return None
    walked = _precisely(problem, program, first.codes, end, params, control, walked)
    return _result(problem, program, first.codes, walked, reached)


def _walk(
    program: DenseProgram,
    codes: Array,
    kinks: Array,
    end: float,
    params: SolveParams,
    seed: int,
    stop: Array,
) -> tuple[Column, SegmentRecords]:
    """Follow columns, given by their kinks (count, ...), from one first basis down to `end`."""
    m, p = program.A.shape
    n, count = m + p, len(kinks)
    # the loop overwrites the kinks and slopes: each thread has its own
    own = program._replace(kinks=program.kinks.copy(), slopes=program.slopes.copy())
    start = FirstBasis(
        codes=codes,
        kinks=kinks,
        slopes=program.slopes[0].copy(),
        known=np.zeros(1, dtype=np.int64),
        w=np.zeros((3, n)),
        low=np.zeros((3, n)),
        high=np.zeros((3, n)),
    )
    reason, ends, pivots = np.zeros((3, count), dtype=np.int64)
    ended = Column(reason, ends, pivots, np.zeros((count, n)), np.zeros(count))
    columns = entry.Columns(start, ended, stop)
    tableau = new_tableau((m, p), codes, 0.0, np.inf)
    segments = min(count * p, COLUMN_SEGMENTS)
    entries = min(count * p * max(p // 4, 32), COLUMN_ENTRIES)
    records = new_records((m, p), segments, entries)
    column = 0
    while True:
        following = entry.run(
            entry.COLUMNS,
            own,
            tableau,
            records,
            columns,
            end,
            0.0,
            column,
            seed,
            params.max_knots or NO_RULE,
            -1 if params.max_nonzeros is None else params.max_nonzeros,
        )
        column = int(following)
        if column == count:
            return ended, SegmentRecords.of(records, int(ended.ends[-1]))
        records = with_twice_the_room(records, int(ended.ends[column - 1]) if column else 0)


def _precisely(
    problem: ColumnwiseProblem,
    program: ScaledProgram,
    codes: Array,
    end: float,
    params: SolveParams,
    control: Control,
    walked: list[Walked],
) -> list[Walked]:
    """Walk the columns that lost digits again in 106 bits."""

    def stop() -> str | None:
        limit = control.limit()
        control.progress("following the columns in 106 bits")
        return None if limit is None else limit.value

    chosen, allowed, for_certain = _worth_it(problem, program, codes, control, walked)
    if not chosen:
        return walked
    matrix = exact_matrix(program)
    again: dict[tuple[int, int], SegmentRecords] = {}
    for part, column in chosen:
        begin, ended, segments = walked[part]
        own = ScaledProgram.from_program(problem.column(begin + column).canonical())
        found = follow_precisely(
            own,
            matrix,
            codes,
            max(optimal_from(AffineBasis(own, codes)), end),
            end,
            rng=np.random.default_rng(params.seed + begin + column),
            top=np.inf,
            stop=stop,
            max_pivots=allowed,
            max_segments=params.max_knots or NO_RULE,
            max_nonzeros=params.max_nonzeros,
        )
        allowed -= found.pivots + 1
        better = _better(found, ended, segments, column, for_certain)
        if better is not None:
            again[part, column] = better
    return [
        (begin, *_with_columns(ended, segments, again, part))
        for part, (begin, ended, segments) in enumerate(walked)
    ]


def _worth_it(
    problem: ColumnwiseProblem,
    program: ScaledProgram,
    codes: Array,
    control: Control,
    walked: list[Walked],
) -> tuple[list[tuple[int, int]], int, bool]:
    """Return the (part, column) to walk again, the pivots allowed, and whether digits are lost.

    The columns that are farthest off come first, where not all of them can be walked.
    """
    each = program.A.shape[0] * program.p + SEGMENT_PRODUCTS
    thorough = each * sum(len(segments) for _, _, segments in walked) <= LOOKED_THROUGH
    # of a singular matrix only the rounding of the data leaves what is beyond the end
    thorough &= not any((ended.reason == core.INFEASIBLE).any() for _, ended, _ in walked)
    thorough &= control.limit() is None
    doubtful, for_certain = _doubtful(problem, program, codes, walked, thorough)
    if not doubtful:
        return [], 0, False
    counts = [np.diff(ended.ends, prepend=0) for _, ended, _ in walked]
    pivots = np.cumsum([int(counts[part][column]) for part, column in doubtful])
    allowed = pivots_allowed(program, for_certain)
    if thorough:  # a column is worth as much as a problem of its own
        allowed = min(len(doubtful) * allowed, int(SEVERAL_COLUMNS * pivots_allowed(program, True)))
    fit = int(np.searchsorted(pivots, allowed, side="right"))
    control.notes.append(ILL_CONDITIONED[fit == len(doubtful)])
    return doubtful[: fit if thorough or fit == len(doubtful) else 0], allowed, for_certain


def _better(
    found: precise.Walked, ended: Column, segments: SegmentRecords, column: int, for_certain: bool
) -> SegmentRecords | None:
    """Return the segments of a column that replace those of the rough walk; None to keep these.

    How the column ended is changed in `ended`, in place.
    """
    if found.reason == Limit.TIME.value and ended.ends[column]:
        # a part that is right is better than a whole that may be wrong
        ended.reason[column] = core.PAUSED
        first = int(ended.ends[column - 1]) if column else 0
        return found.segments if len(found.segments) else segments.part(first, first + 1)
    last = float(segments.low[ended.ends[column] - 1]) if ended.ends[column] else np.inf
    rough = _STOPPED_BY.get(int(ended.reason[column]), "")
    lost = bool(ended.doubt[column] > LOST)
    given_up = found.unfinished and not for_certain
    if given_up or found.reason not in _CODES or not found.replaces(rough, last, lost):
        return None
    ended.reason[column] = _CODES[found.reason]
    ended.pivots[column] = found.pivots
    if found.ray is not None:
        ended.rays[column] = found.ray
    return found.segments


def _doubtful(
    problem: ColumnwiseProblem,
    program: ScaledProgram,
    codes: Array,
    walked: list[Walked],
    thorough: bool,
) -> tuple[list[tuple[int, int]], bool]:
    """Return the (part, column) that may have lost digits, and whether they have for certain.

    Those that are farthest off come first. Where it is `thorough`, all segments are compared with
    their limits.
    """
    weight = norm_weights(problem.column(0).canonical(), program)
    row_kinks = problem.row_kinks() if thorough else np.empty(0)
    found: list[tuple[bool, float, int, int]] = []
    for part, (begin, ended, segments) in enumerate(walked):
        lost = (ended.doubt > LOST) | (ended.reason == core.STALLED) & (ended.pivots > 0)
        ptr = np.concatenate([[0], ended.ends])
        off = np.zeros(len(lost))
        if weight is not None and (np.diff(ptr) > 0).all():
            off = mismatch(weight, segments, ptr)
        for column in range(len(lost) if thorough else 0):
            own = program.with_row_kinks(row_kinks[begin + column])
            records = Recorder(SolveParams())
            records.replace(codes, segments.part(int(ptr[column]), int(ptr[column + 1])))
            off[column] = max(off[column], strays(own, records))
        lost |= off > LOST_MISMATCH
        uncertain = (ended.doubt > DOUBTFUL) | (off > MISMATCH)
        ends = np.flatnonzero(ended.reason == core.INFEASIBLE)
        uncertain[ends] |= in_doubt(program, ended.rays[ends], infeasible=True)
        doubtful = np.flatnonzero(lost | uncertain).tolist()
        found += [(not lost[column], -float(off[column]), part, column) for column in doubtful]
    order = sorted(found)
    for_certain = bool(order) and not order[0][0]
    if for_certain and thorough:
        # They share a matrix: where it takes the digits of most columns, it takes those of all.
        every = [
            (part, column) for part, at in enumerate(walked) for column in range(len(at[1].ends))
        ]
        if 2 * len(order) > len(every):
            known = {one[2:] for one in order}
            order += [(True, 0.0, *one) for one in every if one not in known]
    return [(part, column) for _, _, part, column in order], for_certain


def _with_columns(
    ended: Column,
    segments: SegmentRecords,
    again: Mapping[tuple[int, int], SegmentRecords],
    part: int,
) -> tuple[Column, SegmentRecords]:
    """Put the segments that were found again in the place of the old ones."""
    ptr = np.concatenate([[0], ended.ends])
    columns = [
        again[part, column]
        if (part, column) in again
        else segments.part(int(ptr[column]), int(ptr[column + 1]))
        for column in range(len(ended.ends))
    ]
    ends = np.cumsum([len(column) for column in columns])
    return ended._replace(ends=ends), SegmentRecords.joined(columns)


def _watch(jobs: Sequence[Future[Walked]], stop: Array, control: Control) -> Limit | None:
    """Wait for the threads; stop them at a limit."""
    reached = None
    while wait(jobs, timeout=VISIT).not_done:
        reached = reached or control.limit()
        control.progress("following the columns")
        if reached is not None:
            stop[0] = 1
    return reached


def _result(
    problem: ColumnwiseProblem,
    program: ScaledProgram,
    codes: Array,
    walked: Sequence[Walked],
    reached: Limit | None,
) -> Result:
    names = problem.column(0).coefficient_names
    shape = (program.n - program.p, program.p)
    stacks: list[StackedPaths] = []
    for _, ended, segments in walked:
        ptr = np.concatenate([[0], ended.ends])
        stacks.append(
            StackedPaths(
                ptr=ptr,
                low=segments.low,
                high=segments.high,
                theta=_in_units(segments.theta, program.column),
                nu=_in_units(segments.nu, program.row),
                objective=segments.objective,
                shape=shape,
                names=names,
                stopped_by=[
                    _STOPPED_BY.get(int(reason), reached.value if reached else "time")
                    for reason in ended.reason
                ],
            )
        )
    pivots = int(sum(ended.pivots.sum() for _, ended, _ in walked))
    return columns_result(stacks, _certificate(program, codes, walked), pivots)


def columns_result(stacks: Sequence[StackedPaths], certificate: Certificate, pivots: int) -> Result:
    """Return the result of the paths of all columns.

    Parameters
    ----------
    stacks : sequence of StackedPaths
        Some columns each.
    certificate : Certificate
        "columnwise".
    pivots : int
        Of all columns.

    Returns
    -------
    Result
        Without a solution where a column has no segment.
    """
    reasons = [reason for stack in stacks for reason in stack.stopped_by]
    limit = next((Limit(reason) for reason in reasons if reason in _LIMITS), None)
    if any((np.diff(stack.ptr) == 0).any() for stack in stacks):
        return Result(
            status=Status.NO_SOLUTION, limit=limit, raw_status=str(limit), iterations=pivots
        )
    ends = [stack.ends() for stack in stacks]
    theta, nu, lows = (np.concatenate(part) for part in zip(*ends, strict=True))
    path = ColumnwisePath(
        columns=stacks[0] if len(stacks) == 1 else [path for stack in stacks for path in stack],
        stopped_by=reasons[int(np.argmax(lows))],
    )
    lam = float(lows.max())
    if (lows < lam).any():
        theta, nu = path.at(lam), path.dual_at(lam)
        objective = path.objective_at(lam)
    else:
        objective = float(sum(stack.objective[stack.ptr[1:] - 1, 0].sum() for stack in stacks))
    return Result(
        status=Status.OPTIMAL if limit is None else Status.FEASIBLE,
        limit=limit,
        raw_status=path.stopped_by,
        x=theta,
        objective=objective,
        bound=objective,
        duals={"rows": nu},
        path=path,
        certificate=certificate,
        iterations=pivots,
    )


def _in_units(entries: Entries, factor: Array) -> SparseRows:
    """Bring vectors into the user's units, in place."""
    if (factor != 1.0).any():
        scale(entries.index, entries.value, entries.rate, factor)
    return SparseRows(entries.ptr, entries.index, entries.value, entries.rate)


def _certificate(program: ScaledProgram, codes: Array, walked: Sequence[Walked]) -> Certificate:
    """Join the bases of all columns (see :mod:`sparseopt.checking.parametric.segments.columns`)."""
    parts = [segments for _, _, segments in walked]
    counts = np.concatenate([np.diff(ended.ends, prepend=0) for _, ended, _ in walked])
    changes = np.concatenate([np.diff(part.change_ptr) for part in parts])
    arrays = {
        "column_ptr": np.concatenate([[0], np.cumsum(counts)]),
        "low": np.concatenate([part.low for part in parts]),
        "high": np.concatenate([part.high for part in parts]),
        "codes": codes.astype(np.int16),
        "change_ptr": np.concatenate([[0], np.cumsum(changes)]),
        "changed": np.concatenate([part.change_index for part in parts]),
        "change_code": np.concatenate([part.change_code for part in parts]).astype(np.int16),
    }
    p = program.p
    infeasible = np.concatenate([ended.reason == core.INFEASIBLE for _, ended, _ in walked])
    if infeasible.any():
        rays = np.concatenate([ended.rays[:, p:] for _, ended, _ in walked])
        rays[np.abs(rays) <= RAY_NOISE * np.abs(rays).max(axis=1, keepdims=True)] = 0.0
        arrays["farkas_columns"] = np.flatnonzero(infeasible)
        arrays["farkas"] = rays[infeasible] * program.row
    return Certificate(kind="columnwise", arrays=arrays)
