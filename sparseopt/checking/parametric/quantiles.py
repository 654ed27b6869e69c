"""Proof of quantile regression at all levels, by the bases of a :class:`QuantilePath`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sparseopt.checking.evidence import same_numbers
from sparseopt.checking.report import CheckReport, Findings
from sparseopt.checking.tolerances import (
    COPY,
    LOOSE,
    NOISE,
    RANK,
    ROUNDING,
    SEGMENT,
    STORED,
    prevailing,
)
from sparseopt.checking.work import spend
from sparseopt.paths.quantiles import QuantilePath
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.problem import PiecewiseLinearProgram
from sparseopt.result import Result

_SEGMENT, _ENTRY, _CUBE = 3e-5, 2e-9, 3e-10
"""Seconds of a segment, by the entries of the design, and of a basis by its cube."""
_LOST = 1e-6
"""What a fit may lose by what it misses, of the sum of its residuals, and multipliers by leaving
their range, of their weights: a gap that optimal leaves."""
_SUMMED = 16.0 * float(np.finfo(float).eps)
"""Rounding errors of sums over all observations."""
_CELLS = 2**22
"""Entries of the bases that are looked at together: 32 MB."""
_CHUNK = 256
"""Segments that are looked at together."""


def check_quantiles(path: QuantilePath) -> CheckReport:
    r"""Verify a path of quantile regression; nothing of the walk is used.

    The segments cover the levels from 0 to 1. For each of them the kernel of its basis is solved
    anew, and the conditions hold at both of its ends, between which all is linear in tau:

    1. The observations above the fit have residuals >= 0, those below it <= 0, the basis 0.
    2. The multipliers :math:`u_i = w_i` above, 0 below, and those of the basis with
       :math:`Z'u = (1 - \tau) Z'w` have :math:`0 \le u_i \le w_i`.

    Together they are the optimality conditions of :math:`\min \sum_i w_i \rho_\tau(y_i -
    z_i'\theta)` (Koenker, Bassett 1978, theorem 3.3).

    Parameters
    ----------
    path : QuantilePath

    Returns
    -------
    CheckReport
        Residuals relative to the scale of their terms.
    """
    findings = Findings()
    _judge(path, findings)
    return findings.report()


def verify_quantiles(
    program: PiecewiseLinearProgram, result: Result, path: QuantilePath, findings: Findings
) -> None:
    r"""Verify a path over all levels as the answer to a program whose parameter is the odds.

    Divided by 1 - tau, quantile regression has the functions :math:`w_i ((z - y_i)_+ + \lambda
    (y_i - z)_+)` with :math:`\lambda = \tau / (1 - \tau)`, and no phi.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    result : Result
        Whose path it is.
    path : QuantilePath
    findings : Findings
        Gets what was found.
    """
    findings.cover("path")
    phi, psi = program.phi, program.psi
    counts = psi.slope[1::2]
    rows = counts > 0.0
    odds = (
        (psi.counts == 1).all()
        and not (phi.slope.any() or phi.slope_rate.any() or psi.kink_rate.any())
        and not (psi.slope[::2].any() or psi.slope_rate[1::2].any() or program.offset.any())
        and np.array_equal(psi.slope_rate[::2], -counts)
        and (counts >= 0.0).all()
    )
    if not odds:
        findings.refute("a path over the levels is of quantile regression in the odds alone")
        return
    own = (program.A.as_array()[rows], psi.kink[rows], counts[rows])
    if not all(map(np.array_equal, (path.design, path.y, path.counts), own)):
        findings.refute("the path is of other observations than the problem's")
        return
    if result.params.lam is not None or result.params.lam_min or path.stopped_by != "end":
        findings.refute("a path over all levels answers no question about some of them")
    if result.bound is not None and result.bound > 0.0:
        findings.refute(f"the bound is {result.bound:g}; at the odds 0 the least loss is 0")
    _judge(path, findings)
    if not findings.refuted and not same_numbers(result.x, path.theta[0], COPY):
        findings.refute("x of the result is not that of the path's end, the level 0")


def _judge(path: QuantilePath, findings: Findings) -> None:
    if _malformed(path):
        findings.refute("the arrays of the path do not fit together")
        return
    if path.levels[0] != 0.0 or path.levels[-1] != 1.0 or (np.diff(path.levels) <= 0.0).any():
        findings.refute("the segments do not cover the levels from 0 to 1")
        return
    # Powers of two, so that columns in other units cost no digits.
    unit = np.exp2(np.ceil(np.log2(np.maximum(np.abs(path.design).max(axis=0), 1e-300))))
    path = replace(path, design=path.design / unit, theta=path.theta * unit)
    side = np.ones(len(path.y))
    total, moved = path.counts @ path.design, 0
    n, p = path.design.shape
    count = max(1, min(_CHUNK, _CELLS // p**2))
    for begin in range(0, len(path.theta), count):
        here = slice(begin, min(begin + count, len(path.theta)))
        spend((here.stop - here.start) * (_SEGMENT + _ENTRY * n * (p + 20) + _CUBE * p**3))
        side, moved = _prove(path, here, side, moved, total, findings)
        if findings.refuted:
            return
    findings.prove(f"optimal for all levels: {len(path.theta)} segments")


def _malformed(path: QuantilePath) -> bool:
    n, p = path.design.shape
    count, left = len(path.theta), len(path.leaving)
    shapes = (
        path.y.shape == path.counts.shape == (n,)
        and path.levels.shape == (count + 1,)
        and path.theta.shape == path.bases.shape == (count, p)
        and path.above.shape == (left,)
        and path.moves.shape == (count,)
    )
    if not shapes or not count or not all(map(np.isfinite, path.levels)):
        return True
    places = np.concatenate([path.bases.ravel(), path.leaving])
    ordered = np.sort(path.bases, axis=1)
    return bool(
        (places < 0).any()
        or (places >= n).any()
        or (np.diff(path.moves, prepend=0) < 0).any()
        or path.moves[-1] > left
        or (ordered[:, 1:] == ordered[:, :-1]).any()
        or not (path.counts > 0.0).all()
    )


def _inverses(kernels: Array) -> tuple[Array, Array]:
    """Return the inverses and the reciprocal condition numbers; 0 for all where one has none."""
    try:
        inverses = np.linalg.inv(kernels)
    except np.linalg.LinAlgError:
        return kernels, np.zeros(len(kernels))
    norms = [np.abs(part).sum(axis=2).max(axis=1) for part in (kernels, inverses)]
    return inverses, 1.0 / (norms[0] * norms[1])


def _outside(
    path: QuantilePath, here: slice, kernels: Array, inverses: Array, weight: Array, total: Array
) -> tuple[Array, Array, Array]:
    """Return by how much the bases' multipliers leave [0, w], at both ends of some segments.

    By what part of the largest one, by what part of their own weight, and whether rounding errors
    of much larger weights may be more of that than :data:`_LOST`.
    """
    design, counts, limits = path.design, path.counts, path.counts[path.bases[here]]
    dual, own = np.zeros(len(kernels)), np.zeros(len(kernels))
    for levels in (path.levels[here], path.levels[here.start + 1 : here.stop + 1]):
        right = np.outer(1.0 - levels, total) - weight
        u = np.einsum("sij,si->sj", inverses, right)
        u += np.einsum("sij,si->sj", inverses, right - np.einsum("sij,si->sj", kernels, u))
        excess = np.maximum(-u, u - limits)
        scale = np.maximum(np.abs(u).max(axis=1), limits.max(axis=1))
        dual = np.maximum(dual, excess.max(axis=1) / scale)
        own = np.maximum(own, (excess / limits).max(axis=1))
    sums = _SUMMED * (counts @ np.abs(design))
    blurred = np.einsum("sij,i->sj", np.abs(inverses), sums) > _LOST * limits
    blurred &= counts.max() > LOOSE * limits
    return dual, own, blurred.any(axis=1)


def _units(y: Array, typical: Array) -> Array:
    """Return what each observation is measured by: itself, or what prevails among `typical`."""
    return np.maximum(np.abs(y), max(prevailing(typical), np.finfo(float).tiny))


def _up_to_what_prevails(values: Array) -> Array:
    """Return the sizes of values, those of the few that are far off cut down."""
    sizes = np.abs(values)
    return np.asarray(np.minimum(sizes, prevailing(sizes)))


def _missed(short: Array, y: Array, units: Array, residual: Array) -> float:
    """Return by what part of its unit the fit misses an observation.

    One observation that is far off measures the others only where the fit goes through it, so that
    most residuals are large.
    """
    missed = float((short / units).max())
    if missed > SEGMENT:
        missed = float((short / _units(y, np.abs(y) + np.abs(residual))).max())
    return missed


_CONDITIONS = {
    "stored": (STORED, "the coefficients do not interpolate their basis"),
    "primal": (SEGMENT, "an observation is on the other side of the fit"),
    "dual": (SEGMENT, "a multiplier is outside its range"),
}
"""What must hold of a segment: how far off it may be, and what is said where it does not."""


def _report_segments(
    found: dict[str, Array], rounding: Array, first: int, findings: Findings
) -> None:
    """Report by how much some segments, from `first` on, miss each condition."""
    for name, values in found.items():
        allowed, message = _CONDITIONS[name]
        findings.measure(name, float(values.max(initial=0.0)))
        for s in np.flatnonzero(~(values <= allowed)).tolist():
            text = f"segment {first + s}: {message}, by {values[s]:.3g} of its scale"
            if values[s] <= rounding[s]:
                findings.doubt(f"{text}, which its ill-conditioned kernel may explain")
            else:
                findings.refute(text)


def _prove(
    path: QuantilePath, here: slice, side: Array, moved: int, total: Array, findings: Findings
) -> tuple[Array, int]:
    """Prove some segments; return the sides after the last one, and how many had left by then."""
    design, y, counts = path.design, path.y, path.counts
    bases, theta = path.bases[here], path.theta[here]
    kernels = design[bases]
    inverses, rcond = _inverses(kernels)
    if not (rcond > RANK).all():
        findings.refute(f"a basis of the segments from {here.start} on is singular")
        return side, moved
    rounding = ROUNDING / rcond
    residuals = y - theta @ design.T
    weight = np.empty((len(bases), design.shape[1]))
    above = (counts * (side > 0.0)) @ design
    primal = np.zeros(len(bases))
    off = np.zeros(len(bases))
    lost = np.zeros(len(bases), dtype=bool)
    missed, units = np.zeros(len(bases)), _units(y, np.abs(y))
    sizes = _up_to_what_prevails(y)
    for s, (basis, row) in enumerate(zip(bases, residuals, strict=True)):
        upto = int(path.moves[here.start + s])
        for k in range(moved, upto):
            i = int(path.leaving[k])
            now = 1.0 if path.above[k] else -1.0
            above = above + (0.5 * (now - side[i]) * counts[i]) * design[i]
            side[i] = now
        moved = upto
        # the basis is on no side: what is counted above of it is taken away
        weight[s] = above - (counts[basis] * (side[basis] > 0.0)) @ design[basis]
        size = np.abs(theta[s])
        scale = np.abs(y[basis]) + np.abs(kernels[s]) @ size
        off[s] = (np.abs(row[basis]) / np.maximum(scale, np.finfo(float).tiny)).max()
        short = np.maximum(-row * side, 0.0)
        short[basis] = 0.0
        wrong = np.flatnonzero(short)
        if len(wrong):
            scale = np.abs(y[wrong]) + np.abs(design[wrong]) @ size
            primal[s] = (short[wrong] / scale).max()
        short[basis] = np.abs(row[basis])
        missed[s] = _missed(short, y, units, row)
        gap = float(counts @ short)
        # an observation that is off is measured by itself: the largest may be in no basis
        noise = NOISE * float(counts @ np.where(short > 0.0, sizes, 0.0))
        row[basis] = 0.0
        lost[s] = gap > max(_LOST * float(counts @ _up_to_what_prevails(row)), noise)
    dual, own, blurred = _outside(path, here, kernels, inverses, weight, total)
    _report_segments(
        {"stored": off, "primal": primal, "dual": dual}, rounding, here.start, findings
    )
    # Coefficients that cancel are no measure: the fit has the unit of the observations.
    for s in np.flatnonzero(missed > SEGMENT).tolist():
        findings.doubt(
            f"segment {here.start + s}: the fit misses its basis or sides by {missed[s]:.3g} of "
            "the observations, which only the size of coefficients that cancel explains"
        )
    for doubted, text in (
        (lost, "the fit misses its basis or sides by more than its residuals explain"),
        (own > _LOST, "a multiplier is outside its range, which only larger weights explain"),
        (blurred, "the other weights leave too few digits of a multiplier"),
    ):
        for s in np.flatnonzero(doubted).tolist():
            findings.doubt(f"segment {here.start + s}: {text}")
    return side, moved
