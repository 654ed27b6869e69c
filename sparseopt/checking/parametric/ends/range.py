"""Whether a path covers the range of lam that was asked for, and ends for the reason it states."""

from __future__ import annotations

import numpy as np

from sparseopt.checking.parametric.bases.layout import StoredPath
from sparseopt.checking.parametric.ends.rays import prove_end
from sparseopt.checking.parametric.evaluation.point import dual_point, primal_point
from sparseopt.checking.parametric.evaluation.units import units_of
from sparseopt.checking.report import Findings
from sparseopt.checking.tolerances import COPY, SEGMENT
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.pieces import Pieces
from sparseopt.problems.parametric.problem import PiecewiseLinearProgram
from sparseopt.result import Certificate, Result, Status

_NO_OPTIMUM = {"infeasible_below": "farkas", "unbounded_below": "ray"}
"""What a path that ends so has as evidence."""


def check_range(
    program: PiecewiseLinearProgram,
    result: Result,
    certificate: Certificate | None,
    path: StoredPath,
    findings: Findings,
) -> None:
    """Judge where the path begins and ends.

    ======================  ==================================================================
    stopped_by              what must hold
    ======================  ==================================================================
    lam_min                 the path ends at ``params.lam_min``, or at 0 where none was given
    max_knots               it has that number of knots, its end among them
    max_nonzeros            no segment (but the first) has more nonzeros in its middle; it ends at
                            a knot. That the next segment has more is not part of the verdict
    infeasible_below,       ``farkas`` or ``ray`` proves that there is no optimum below
    unbounded_below
    the result's limit      the status is FEASIBLE
    another reason          the status is CONVERGED
    ======================  ==================================================================

    A path that ends below the range that was asked for is wrong, one that begins at a finite lam
    has to prove that nothing is optimal above.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    result : Result
    certificate : Certificate or None
        None: an end without an optimum below is left unproven.
    path : StoredPath
    findings : Findings
        Gets what was found.
    """
    _check_top(program, certificate, path, findings)
    end = float(path.low[-1])
    wanted = result.params.lam_min or 0.0
    if not isinstance(result.params.lam, type(None)):
        findings.refute("there is a path, but single values of lam were asked for")
        return
    if end < wanted:
        findings.refute(f"the path ends at lam = {end:g}, below the range down to {wanted:g}")
        return
    reason = path.stopped_by
    if reason in _NO_OPTIMUM:
        proven = None if certificate is None else prove_end(program, certificate, end, findings)
        stated = None if certificate is None else certificate.values.get("end", reason)
        if stated not in (None, reason):
            findings.refute(f"the path ends by {reason}, its certificate by {stated}")
        others = set(_NO_OPTIMUM.values()) - {_NO_OPTIMUM[reason]}
        if certificate is not None and others & set(certificate.arrays):
            findings.refute(f"the path ends by {reason}, its certificate proves another end")
        if proven is None:
            findings.doubt(f"nothing proves that the problem ends at lam = {end:g} ({reason})")
    elif reason == "max_knots":
        _check_knots(program, result, path, findings)
    elif reason == "max_nonzeros":
        _check_nonzeros(program, result, path, findings)
    elif reason == "lam_min":
        if end != wanted:
            findings.refute(
                f"the path ends at lam = {end:.17g} by {reason}; the range that was asked for goes "
                f"down to {wanted:.17g}"
            )
    else:
        check_reason(result, reason, findings)


def check_reason(result: Result, reason: str, findings: Findings) -> None:
    """Refute a path that is said to end by something else than the limit of its result.

    Parameters
    ----------
    result : Result
    reason : str
        Why the path ended, as it states.
    findings : Findings
        Gets what was found.
    """
    limit = None if result.limit is None else result.limit.value
    if result.status is not Status.CONVERGED and reason != limit:
        findings.refute(
            f"the path ends by {reason!r}, but the status is {result.status.value} and the limit "
            f"{limit}"
        )


def _check_top(
    program: PiecewiseLinearProgram,
    certificate: Certificate | None,
    path: StoredPath,
    findings: Findings,
) -> None:
    top = float(path.high[0])
    if np.isinf(top):
        return
    proven = None
    if certificate is not None:
        proven = prove_end(program, certificate, top, findings, above=True)
    if proven is None:
        findings.doubt(f"nothing proves that there is no optimum above lam = {top:g}")


def _check_knots(
    program: PiecewiseLinearProgram, result: Result, path: StoredPath, findings: Findings
) -> None:
    asked = result.params.max_knots
    count = len(path.low)
    # A path that does not begin at infinity has one more knot, its beginning.
    if asked not in (count, count + int(np.isfinite(path.high[0]))):
        findings.refute(f"the path ends by max_knots after {count} knots; asked was {asked}")
        return
    smooth = [s for s in range(count - 1) if _one_line(path, s)]
    at = next((float(path.low[s]) for s in smooth if not _changes_sides(program, path, s)), None)
    if at is not None:
        findings.doubt(f"lam = {at:g} is no knot: the segments above and below are one")
    _check_last_knot(program, path, findings)


def _one_line(path: StoredPath, segment: int) -> bool:
    """Return whether a segment and the next one are parts of one."""
    here = np.array([segment, segment + 1])
    step = float(path.low[segment] - path.low[segment + 1])
    for rows in (path.theta, path.nu):
        value, rate = rows.dense(here)
        size = (np.abs(value[1]) + step * np.abs(rate[1])).max(initial=0.0)
        if (np.abs(value[0] - value[1] - step * rate[1]) > SEGMENT * size).any():
            return False
        if step > 0.0 and (np.abs(rate[0] - rate[1]) > SEGMENT * np.abs(rate).max()).any():
            return False
    return True


def _changes_sides(program: PiecewiseLinearProgram, path: StoredPath, segment: int) -> bool:
    """Return whether a multiplier passes a slope between equal kinks at a segment's lower end.

    As that of an equality passes zero: one side of it is active above, the other one below.
    """
    pieces, lam = program.functions, float(path.low[segment])
    value, rate = path.nu.dense(np.array([segment]))
    v, moving = (dual_point(program, part[0]).v for part in (value, rate))
    inner = np.ones(len(pieces.slope), dtype=bool)
    inner[pieces.slope_ptr[:-1]] = inner[pieces.slope_ptr[1:] - 1] = False
    at = np.flatnonzero(inner)
    of = np.searchsorted(pieces.slope_ptr, at, side="right") - 1
    kink = at - of  # the one above the slope; the one below is before it
    equal = (np.diff(pieces.kink)[kink - 1] == 0.0) & (np.diff(pieces.kink_rate)[kink - 1] == 0.0)
    at, of = at[equal], of[equal]
    slope, slope_rate = pieces.slope[at] + lam * pieces.slope_rate[at], pieces.slope_rate[at]
    near = np.abs(v[of] - slope) <= SEGMENT * np.abs(v).max(initial=0.0)
    return bool((near & (moving[of] != slope_rate)).any())


def _check_last_knot(program: PiecewiseLinearProgram, path: StoredPath, findings: Findings) -> None:
    """Doubt an end by a rule below which the last segment goes on."""
    last = np.array([len(path.low) - 1])
    end = float(path.low[-1])
    lam = end - min(float(path.lengths(last)[0]), end)
    if lam == end:
        return
    ends = [rows.dense(last) for rows in (path.theta, path.nu)]
    theta, nu = (value[0] + (lam - end) * rate[0] for value, rate in ends)
    point, dual = primal_point(program, theta), dual_point(program, nu)
    most_z, most_v = units_of(program).most(lam)
    if max(point.violation(lam, most_z)[0], dual.violation(lam, most_v)[0]) > SEGMENT:
        return
    if max(point.violation(lam)[0], dual.violation(lam)[0]) > SEGMENT:
        return
    f, conjugate = point.pieces.value(point.z, lam), dual.pieces.conjugate(dual.v, lam)
    terms = float(np.abs(f).sum() + np.abs(conjugate).sum() + np.abs(point.z * dual.v).sum())
    if float(f.sum() + conjugate.sum()) > SEGMENT * terms:
        return
    reached = []
    for at in (end, 0.5 * (lam + end)):
        pair = (value[0] + (at - end) * rate[0] for value, rate in ends)
        z, v = primal_point(program, next(pair)).z, dual_point(program, next(pair)).v
        reached.append(_at_limits(point.pieces, z, v, at))
    # Where costs are zero a coordinate may pass a kink, and the numbers stay optimal.
    if not (reached[0] & ~reached[1]).any():
        findings.doubt(f"the path ends at lam = {end:g}, which is no knot: it goes on below")


def _at_limits(pieces: Pieces, z: Array, v: Array, lam: float) -> Array:
    """Return which kinks and slopes are those of the coordinates, to 1e-9 of the largest."""
    kinks, slopes = (
        pieces.kink + lam * pieces.kink_rate,
        pieces.slope + lam * pieces.slope_rate,
    )
    parts = []
    for x, ptr, limits in ((z, pieces.ptr, kinks), (v, pieces.slope_ptr, slopes)):
        own = np.repeat(x, np.diff(ptr))
        parts.append(np.abs(own - limits) <= SEGMENT * np.abs(x).max(initial=0.0))
    return np.concatenate(parts)


def _check_nonzeros(
    program: PiecewiseLinearProgram, result: Result, path: StoredPath, findings: Findings
) -> None:
    asked = result.params.max_nonzeros
    if asked is None:
        findings.refute("the path ends by max_nonzeros, which was not asked for")
        return
    rows = path.theta
    length = np.where(np.isfinite(path.high), path.high - path.low, 0.0)
    segment = np.repeat(np.arange(len(path.low)), np.diff(rows.ptr))
    middle = np.abs(rows.value + 0.5 * length[segment] * rows.rate)
    largest = np.zeros(len(path.low))
    np.maximum.at(largest, segment, middle)
    nonzero = middle > COPY * largest[segment]
    count = np.bincount(segment[nonzero], minlength=len(path.low))
    count[0] = 0
    if (count > asked).any():
        s = int(np.argmax(count > asked))
        findings.refute(
            f"segment {s} has {count[s]} nonzero coefficients; at most {asked} were asked for"
        )
        return
    _check_last_knot(program, path, findings)
    findings.leave_out("reason to end, max_nonzeros: the next segment is not stated")
