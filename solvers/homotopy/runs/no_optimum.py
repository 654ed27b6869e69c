"""Proofs that no lam that was asked about has an optimum.

The values of lam at which there are feasible points are an interval, and so are those at which the
dual has some. Outside the first one Farkas multipliers rule out an optimum, outside the second one
rays; a ray from a feasible point proves that the problem is unbounded there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparseopt.params import SolveParams
from sparseopt.problems.base import Array
from sparseopt.result import Certificate, Result, Status

from ..candidates.basis import AffineBasis
from ..program import ScaledProgram
from ..settings import CANCELLED, NEARLY_CANCELLED, WHOLE, WHOLE_ENTRIES, WHOLE_ROUNDING
from ..walks.follow import Ending, follow
from ..walks.recorder import Recorder
from ..walks.start import Start, Stop, crash, excess, make_optimal, top_basis

__all__ = ["NO_OPTIMUM", "NoOptimum", "in_doubt", "proof_of"]

NO_OPTIMUM = ("infeasible_below", "unbounded_below")
"""Reasons of an ending that prove that there is no optimum beyond it."""


@dataclass(frozen=True)
class _Feasible:
    """The values of lam with feasible points, from `low` to `high`, within the range asked about.

    `below` and `above` prove that there are none beyond the ends, None where the range ends. The
    points are those of the program's coordinates, x[k] + (lam - knots[k]) rate[k] from knots[k] up.
    """

    low: float
    high: float
    below: Ending | None
    above: Ending | None
    knots: Array
    x: Array
    rate: Array

    def at(self, lam: float) -> Array:
        """Return the point at lam."""
        k = min(int((self.knots > lam).sum()), len(self.knots) - 1)
        return np.asarray(self.x[k] + (lam - self.knots[k]) * self.rate[k])


class NoOptimum:
    """Proves for a program what the homotopy has met: that there is no optimum.

    Parameters
    ----------
    program : ScaledProgram
    rng : numpy Generator
    stop : callable
        Returns a reason to stop, or None.

    Attributes
    ----------
    pivots : int
        How many were made.
    """

    def __init__(self, program: ScaledProgram, rng: np.random.Generator, stop: Stop) -> None:
        self._program, self._rng, self._stop = program, rng, stop
        slopes = np.where(np.isfinite(program.slopes), 0.0, program.slopes)
        self._without_costs = program.with_pieces(program.kinks.copy(), slopes)
        self.pivots = 0

    def at(self, lam: float, failure: Ending) -> Result | None:
        """Return the proof for one lam by an ending there; None where it cannot be completed.

        Parameters
        ----------
        lam : float
        failure : Ending
            Its ray is for this lam.

        Returns
        -------
        Result or None
            INFEASIBLE, or UNBOUNDED with a feasible point.
        """
        proof = proof_of(self._program, failure)
        note = f"no optimal solution at lam = {lam:g}"
        if failure.reason == "infeasible_below":
            return self._result(Status.INFEASIBLE, {"nu": proof["farkas"]}, note, lam)
        free = self._without_costs
        outcome = make_optimal(crash(free), lam, self._rng, self._stop)
        self.pivots += outcome.pivots
        if outcome.reason == "infeasible_below":
            return self.at(lam, outcome)
        if outcome.reason != "end":
            return None
        theta = AffineBasis(free, outcome.codes).theta()
        x = self._program.theta(theta[0] + lam * theta[1])
        return self._result(Status.UNBOUNDED, {**proof, "x": x}, note, lam)

    def from_lam(self, end: float, start: Start) -> Result | Start | None:
        """Return the proof for all lam from `end` on, by a failed search for a first basis.

        Parameters
        ----------
        end : float
        start : Start
            Without a basis.

        Returns
        -------
        Result, Start or None
            A start where there is an optimum after all; None where no proof is complete.
        """
        assert start.failure is not None
        everywhere = np.isinf(start.top)
        if everywhere and _reasons(start) == {"infeasible_below"}:
            return self._infeasible(start)
        feasible = self._feasible(end)
        if isinstance(feasible, Start):
            return self._infeasible(feasible)
        if feasible is None:
            return None
        if not everywhere:
            start = top_basis(self._program, feasible.low, self._rng, self._stop, top=feasible.high)
            self.pivots += start.pivots
            if start.basis is not None:
                return start
            if start.failure is None or not np.isinf(start.top):
                return None
        return self._unbounded(start, feasible)

    def _infeasible(self, start: Start) -> Result:
        endings = [ending for ending in (start.failure, start.above) if ending is not None]
        proof = _named("nu", self._program, *endings)
        return self._result(Status.INFEASIBLE, proof, "no optimal solution at any lam")

    def _unbounded(self, start: Start, feasible: _Feasible) -> Result | None:
        """Join rays, which rule out an optimum wherever there are feasible points, with these."""
        program, note = self._program, "no optimal solution at any lam"
        rays = [
            ending
            for ending in (start.failure, start.above)
            if ending is not None and ending.reason == "unbounded_below"
        ]
        if not rays:
            return None
        if feasible.below is None and feasible.above is None and len(_reasons(start)) == 1:
            proof = _named("ray", program, *rays)
            proof |= {
                "low": feasible.knots,
                "x": feasible.x * program.column,
                "x_rate": feasible.rate * program.column,
            }
            return self._result(Status.UNBOUNDED, proof, note)
        # A ray is needed that improves at a lam with feasible points; the others are for the rest.
        excesses = [excess(program, ray) for ray in rays]
        roots = [abs(constant / rate) for constant, rate in excesses if rate != 0.0]
        low, high = feasible.low, min(feasible.high, 2.0 * max(feasible.low, *roots, 1.0))
        gains = [
            (constant + lam * rate, k, lam)
            for k, (constant, rate) in enumerate(excesses)
            for lam in (0.5 * (low + high), low, high)
        ]
        _, first, lam = min(gains)
        proof = _named("ray", program, rays[first], *(rays[:first] + rays[first + 1 :]))
        for name, ending in (("farkas", feasible.below), ("farkas_above", feasible.above)):
            if ending is not None:
                proof[name] = proof_of(program, ending)["farkas"]
        proof["x"] = program.theta(feasible.at(lam))
        return self._result(Status.UNBOUNDED, proof, note, lam)

    def _feasible(self, end: float) -> _Feasible | Start | None:
        """Return where there are feasible points, or the start that proves that none are."""
        program = self._without_costs
        start = top_basis(program, end, self._rng, self._stop)
        self.pivots += start.pivots
        if start.basis is None:
            proven = start.failure is not None and np.isinf(start.top)
            return start if proven and _reasons(start) == {"infeasible_below"} else None
        recorder = Recorder(SolveParams())
        outcome = follow(
            start.basis,
            start.lam,
            end,
            rng=self._rng,
            top=start.top,
            stop=self._stop,
            recorder=recorder,
        )
        self.pivots += outcome.pivots
        if outcome.reason not in ("end", "infeasible_below"):
            return None
        ends = outcome.lam, start.top, outcome if outcome.ray is not None else None, start.above
        if not recorder.parts:  # feasible at one lam alone
            theta = AffineBasis(program, outcome.codes).theta()
            x = (theta[0] + outcome.lam * theta[1])[None]
            return _Feasible(*ends, np.array([outcome.lam]), x, np.zeros_like(x))
        knots = np.concatenate([part.low for part in recorder.parts])
        points = np.zeros((2, len(knots), program.p))
        at = 0
        for part in recorder.parts:
            entries = part.theta
            row = at + np.repeat(np.arange(len(part)), np.diff(entries.ptr))
            points[:, row, entries.index] = entries.value, entries.rate
            at += len(part)
        return _Feasible(*ends, knots, points[0], points[1])

    def _result(
        self, status: Status, proof: dict[str, Array], note: str, lam: float | None = None
    ) -> Result:
        kind = "farkas" if status is Status.INFEASIBLE else "ray"
        return Result(
            status=status,
            raw_status="infeasible_below" if kind == "farkas" else "unbounded_below",
            certificate=Certificate(kind, proof, {} if lam is None else {"lam": lam}),
            notes=(note,),
        )


def proof_of(program: ScaledProgram, ending: Ending) -> dict[str, Array]:
    """Return the Farkas multipliers or the ray of an ending, by name, in the user's units.

    Parameters
    ----------
    program : ScaledProgram
    ending : Ending

    Returns
    -------
    dict of str to array
        Empty where it has none.
    """
    if ending.ray is None:
        return {}
    if ending.reason == "infeasible_below":
        return {"farkas": _in_whole_numbers(program.nu(ending.ray[program.p :]))}
    return {"ray": _in_whole_numbers(program.theta(ending.ray[: program.p]))}


def in_doubt(program: ScaledProgram, rays: Array, infeasible: bool) -> Array:
    """Return whether what counts as 0 in the rays of endings may be digits of the data.

    Nearly parallel columns, as those of X'X where one row of X is far larger than the others, leave
    so little of the products with a ray that double precision ends the path there, too early.

    Parameters
    ----------
    program : ScaledProgram
    rays : array of shape (k, n)
    infeasible : bool
        Whether they are dual rays, which prove that nothing is feasible, or primal ones.

    Returns
    -------
    bool array of shape (k,)
    """
    A, p = program.A, program.p
    if infeasible:
        ray = program.nu(rays[:, p:].T)
        left, terms = A.rmatvec(ray), A.abs_rmatvec(np.abs(ray))
    else:
        ray = program.theta(rays[:, :p].T)
        left, terms = A.matvec(ray), A.abs_matvec(np.abs(ray))
    left, rounding = np.abs(left), CANCELLED * np.sqrt(program.n)
    doubt = (left > rounding * terms) & (left < NEARLY_CANCELLED * terms)
    return np.asarray(doubt.any(axis=0))


def _in_whole_numbers(direction: Array) -> Array:
    """Return the direction in whole numbers, where rounding alone is in the way of that.

    Of thirds a sum that is 0 may be off by a rounding error, and that times lam is any number.
    """
    at = np.flatnonzero(direction)
    if not 0 < len(at) <= WHOLE_ENTRIES:
        return direction
    parts = np.multiply.outer(np.arange(1.0, WHOLE + 1.0), direction[at])
    parts /= np.abs(direction).max()
    whole = np.rint(parts)
    near = (np.abs(parts - whole) <= WHOLE_ROUNDING * np.abs(whole)).all(axis=1)
    if not near.any():
        return direction
    found = np.zeros_like(direction)
    found[at] = whole[np.argmax(near)]
    return found


def _named(name: str, program: ScaledProgram, *endings: Ending) -> dict[str, Array]:
    """Return the proofs of one or two endings by name, the second for larger lam as a rule."""
    found = [array for ending in endings for array in proof_of(program, ending).values()]
    return dict(zip((name, f"{name}_above"), found, strict=False))


def _reasons(start: Start) -> set[str]:
    return {ending.reason for ending in (start.failure, start.above) if ending is not None}
