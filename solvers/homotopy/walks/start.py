"""The first optimal basis: the obvious one at large lam, or one found by a homotopy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sparseopt.problems.base import Array

from ..candidates.basis import AffineBasis
from ..program import ScaledProgram
from ..settings import STARTS, STILL
from .follow import Ending, follow

Stop = Callable[[], str | None]


@dataclass(frozen=True)
class Start:
    """A basis that is optimal from `lam` up to `top`; or why there is none.

    `failure` is the outcome of the auxiliary homotopy: its reason is "infeasible_below",
    "unbounded_below" (the program at `lam` is infeasible, unbounded, and with an infinite `top` it
    has no optimum at all lam that were asked about) or that of a limit. `above` is the outcome of
    the climb to a finite top, beyond which there is no optimum; beside a failure with an infinite
    top, the outcome that proves for the larger lam that there is none.
    """

    basis: AffineBasis | None
    lam: float
    top: float
    pivots: int
    failure: Ending | None = None
    above: Ending | None = None


def crash(program: ScaledProgram) -> AffineBasis:
    """Return the basis with all variables at their kinks nearest to zero and all rows on pieces.

    A row is put on the piece that it lies on at large lam, or on the nearest piece of finite slope.

    Parameters
    ----------
    program : ScaledProgram

    Returns
    -------
    AffineBasis
        Its kernel is empty.
    """
    p, n = program.p, program.n
    codes = np.zeros(n, dtype=np.int64)
    kinks = program.kinks
    first, counts = program.kink_ptr[:-1], np.diff(program.kink_ptr)
    nearest = np.full(p, np.inf)
    for k in range(int(counts[:p].max())):
        here = np.flatnonzero(counts[:p] > k)
        size = np.abs(kinks[0, first[here] + k])
        closer = here[size < nearest[here]]
        nearest[closer] = np.abs(kinks[0, first[closer] + k])
        codes[closer] = 2 * k + 1
    theta = kinks[:2, first[:p] + codes[:p] // 2].T
    moved = np.flatnonzero(np.any(theta != 0.0, axis=1))
    rows = program.times(moved, theta[moved]) if len(moved) else np.zeros((n - p, 2))
    for k in range(int(counts[p:].max())):
        here = np.flatnonzero(counts[p:] > k)
        t = kinks[:, first[p + here] + k]
        beyond = (rows[here, 1] > t[1]) | ((rows[here, 1] == t[1]) & (rows[here, 0] > t[0]))
        codes[p + here[beyond]] = 2 * (k + 1)
    value = program.slopes[0, program.slope_ptr[p:-1] + codes[p:] // 2]
    codes[p:] += 2 * np.isneginf(value) - 2 * np.isposinf(value)
    return AffineBasis(program, codes)


def optimal_from(basis: AffineBasis, *, solved: bool = False) -> float:
    """Return the smallest lam from which on the basis is optimal; inf if there is none.

    Parameters
    ----------
    basis : AffineBasis
    solved : bool, default False
        Whether its constants come from a linear system: those that violate a limit by no more
        than rounding are on it then, and not inside from some tiny lam on.

    Returns
    -------
    float
        At least 0.
    """
    lowest = 0.0
    size = STILL * np.abs(basis.w).max(axis=1, initial=0.0)
    for sign, limit in ((1.0, basis.low), (-1.0, basis.high)):
        finite = np.isfinite(limit[0])
        slack = sign * (basis.w[0] - limit[0])[finite]
        rate = sign * (basis.w[1] - limit[1])[finite]
        still = np.abs(rate) <= size[1]
        if ((rate < -size[1]) | (still & (slack < -size[0]))).any():
            return np.inf
        slack, rate = slack[~still], rate[~still]
        if solved:
            slack = np.where(np.abs(slack) <= size[0], 0.0, slack)
        lowest = max(lowest, float(np.max(-slack / rate, initial=0.0)))
    return lowest


def make_optimal(basis: AffineBasis, lam: float, rng: np.random.Generator, stop: Stop) -> Ending:
    r"""Find an optimal basis at `lam`, by a homotopy from the given one.

    The kinks and slopes that the basis violates at lam are moved outwards by mu times the
    violation: at mu = 1 the basis is optimal, and at mu = 0 the program is the one asked for. The
    ray of a homotopy that ends before proves that the program at lam is infeasible or unbounded.

    Parameters
    ----------
    basis : AffineBasis
    lam : float
    rng : numpy Generator
        Of the perturbations.
    stop : callable
        Returns a reason to stop, or None.

    Returns
    -------
    Ending
        "end" where an optimal basis was found; its parameter is mu.
    """
    program = basis.program
    kinks, slopes = program.kinks.copy(), program.slopes.copy()
    for part in (kinks, slopes):
        part[0] += lam * part[1]
        part[1] = 0.0
    w = basis.w[0] + lam * basis.w[1]
    under = np.maximum(basis.low[0] + lam * basis.low[1] - w, 0.0)
    over = np.maximum(w - basis.high[0] - lam * basis.high[1], 0.0)
    for part, ptr, parity in ((kinks, program.kink_ptr, 1), (slopes, program.slope_ptr, 0)):
        counts = np.diff(ptr)
        owner = np.repeat(np.arange(program.n), counts)
        away = 2 * (np.arange(ptr[-1]) - ptr[owner]) + parity - basis.codes[owner]
        shift = np.where(away > 0, over[owner], 0.0) - np.where(away < 0, under[owner], 0.0)
        # kinks limit values on pieces, slopes limit multipliers at kinks
        shift[basis.codes[owner] % 2 != 1 - parity] = 0.0
        shift *= 1.0 + rng.uniform(0.0, 0.5, program.n)[owner]
        part[1] = np.where(np.isfinite(part[0]), shift, 0.0)
    wider = AffineBasis(program.with_pieces(kinks, slopes), basis.codes)
    return follow(wider, 1.0, 0.0, rng=rng, stop=stop)


def top_basis(
    program: ScaledProgram,
    end: float,
    rng: np.random.Generator,
    stop: Stop,
    *,
    top: float = np.inf,
) -> Start:
    """Return a basis from which the path can be followed down to `end`.

    Where the crash basis is optimal for all large lam it is taken, or else that of the variables
    without a penalty alone. Otherwise an optimal basis is made at some lam, a large one at first,
    and the path is followed up as far as it goes. A
    ray that proves that there is no optimum at that lam proves it for all lam on one side of a
    root, too: what is left of the range is searched until an optimum is found or nothing is left.

    Parameters
    ----------
    program : ScaledProgram
    end : float
        The smallest lam that is asked for.
    rng : numpy Generator
    stop : callable
        Returns a reason to stop, or None.
    top : float, default inf
        The largest lam at which there is a feasible point, where that is known.

    Returns
    -------
    Start
    """
    basis = crash(program)
    if top < np.inf:
        return _between(program, basis, (end, top), 0.5 * (end + top), rng, stop)
    lam = optimal_from(basis)
    if np.isfinite(lam):
        return Start(basis, max(lam, end), np.inf, 0)
    free, pivots = _without_penalty(program, basis, rng, stop)
    lam = np.inf if free is None else optimal_from(free, solved=True)
    if np.isfinite(lam):
        return Start(free, max(lam, end), np.inf, pivots)
    start = _between(program, basis, (end, top), max(_large(program), 2.0 * end), rng, stop)
    return replace(start, pivots=start.pivots + pivots)


def _between(
    program: ScaledProgram,
    basis: AffineBasis,
    ends: tuple[float, float],
    at: float,
    rng: np.random.Generator,
    stop: Stop,
) -> Start:
    """Search between two ends for a lam that has an optimum, `at` one of them first."""
    end, top = below, above = ends
    rising: Ending | None = None
    falling: Ending | None = None
    pivots = 0
    for _ in range(STARTS):
        outcome = make_optimal(basis, at, rng, stop)
        pivots += outcome.pivots
        if outcome.reason == "end":
            return _climb(program, outcome.codes, at, end, rng, stop, pivots)
        if outcome.ray is None:
            break
        constant, rate = excess(program, outcome)
        if constant + end * rate < 0.0 and (rate <= 0.0 or constant + top * rate < 0.0):
            return Start(None, at, np.inf, pivots, outcome)
        root = -constant / rate if rate != 0.0 else at
        if rate > 0.0 and root > below:
            below, rising = root, outcome
        elif rate <= 0.0 and root < above:
            above, falling = root, outcome
        if below > above and not (rising and falling):
            break
        if below - above > STILL * below:
            return Start(None, at, np.inf, pivots, rising, falling)
        if below >= above and at in (below, above):
            break
        # Two ends that meet up to rounding may leave an optimum there.
        at = _next(below, above, at) if below < above else below
    return Start(None, at, at, pivots, outcome)


def _without_penalty(
    program: ScaledProgram, basis: AffineBasis, rng: np.random.Generator, stop: Stop
) -> tuple[AffineBasis | None, int]:
    """Return the basis where the variables that cost more and more with lam are 0, and its pivots.

    The others, an intercept as a rule, and the rows are a small program of their own: at a large
    lam it has the optimum of the whole. None where no variables are of the one kind or the other,
    or it has no optimum.
    """
    p, n = program.p, program.n
    at = program.kink_ptr[:p] + basis.codes[:p] // 2
    before = at + np.arange(p)
    (left, left_rate), (right, right_rate) = (program.slopes[:2, k] for k in (before, before + 1))
    penalised = (np.isinf(left) | (left_rate < 0.0)) & (np.isinf(right) | (right_rate > 0.0))
    others = np.flatnonzero(~penalised)
    if not 0 < len(others) <= p // 2 or program.kinks[:2, at[penalised]].any():
        return None, 0
    coordinates = np.concatenate([others, np.arange(p, n)])
    small = program.restricted(others)
    outcome = make_optimal(crash(small), _large(small), rng, stop)
    if outcome.reason != "end":
        return None, outcome.pivots
    codes = basis.codes.copy()
    codes[coordinates] = outcome.codes
    return AffineBasis(program, codes), outcome.pivots


def excess(program: ScaledProgram, outcome: Ending) -> tuple[float, float]:
    """Return the constant and the rate of what a ray proves: where it is negative, no optimum is.

    Of a dual ray v it is the sum of v_i times the end of coordinate i's domain that v_i points
    to, of a primal ray z the sum of z_i times the slope that z_i points to. What is zero up to
    rounding is zero.

    Parameters
    ----------
    program : ScaledProgram
    outcome : Ending
        With a ray.

    Returns
    -------
    tuple of float
    """
    assert outcome.ray is not None
    infeasible = outcome.reason == "infeasible_below"
    ptr = program.kink_ptr if infeasible else program.slope_ptr
    part = program.kinks if infeasible else program.slopes
    moved = np.flatnonzero(outcome.ray)
    ray = outcome.ray[moved]
    at = np.where(ray > 0.0, ptr[moved + 1] - 1, ptr[moved])
    finite = np.isfinite(part[0, at])
    at, ray = at[finite], ray[finite]
    terms = ray * part[:2, at]
    sums, sizes = terms.sum(axis=1), np.abs(terms).sum(axis=1)
    constant, rate = np.where(np.abs(sums) <= STILL * sizes, 0.0, sums).tolist()
    return constant, rate


def _next(below: float, above: float, tried: float) -> float:
    """Return the next lam to try between two bounds."""
    if np.isinf(above):
        return below if tried < below else 2.0 * below + 1.0
    middle = 0.5 * (below + above)
    return above if tried == middle else middle


def _large(program: ScaledProgram) -> float:
    """Return a value of lam at which the rates outweigh the constants."""
    sizes = []
    for part in (program.kinks, program.slopes):
        finite = np.isfinite(part[0])
        constant = float(np.abs(part[0][finite]).max(initial=0.0))
        rate = np.abs(part[1][finite])
        rate = rate[rate > 0.0]
        sizes.append(constant / float(rate.min()) if len(rate) else 1.0)
    return 2.0 * max(1.0, *sizes)


def _climb(
    program: ScaledProgram,
    codes: Array,
    lam: float,
    end: float,
    rng: np.random.Generator,
    stop: Stop,
    pivots: int,
) -> Start:
    """Follow the path upwards from an optimal basis to its top."""
    upwards = AffineBasis(program.reversed(), codes)
    outcome = follow(upwards, -lam, -np.inf, rng=rng, stop=stop)
    pivots += outcome.pivots
    if outcome.reason == "end":
        basis = AffineBasis(program, outcome.codes)
        from_lam = optimal_from(basis, solved=True)
        at = max(from_lam, end) if np.isfinite(from_lam) else lam
        return Start(basis, at, np.inf, pivots)
    if outcome.reason in ("infeasible_below", "unbounded_below"):
        basis = AffineBasis(program, outcome.codes)
        return Start(basis, -outcome.lam, -outcome.lam, pivots, above=outcome)
    return Start(None, lam, lam, pivots, outcome)
