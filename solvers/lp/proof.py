"""Proofs that a parametric problem has no solution at some lam, from one more LP each.

Both LPs are programs of the general form themselves, so that their answers come from
the same code, with the same accuracy, and show as functions of lam how far the proof reaches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.problems.parametric.pieces import Pieces
from sparseopt.problems.parametric.problem import PiecewiseLinearProgram

from ..common.outcome import Outcome
from .basis import Solution

_ROUNDING = 1e-9
"""Relative size of what is taken for zero."""


@dataclass(frozen=True)
class LPProof:
    """A vector whose value is affine in lam; where it is negative nothing is feasible (bounded).

    Attributes
    ----------
    vector : array
        Farkas multipliers of the rows, shape (m,), or a direction of the variables, shape (p,).
    value, rate : float
        The value at lam is ``value + lam * rate``.
    """

    vector: Array
    value: float
    rate: float

    def at(self, lam: float) -> float:
        """Return the value at lam."""
        return self.value + lam * self.rate

    @property
    def root(self) -> float:
        """The lam at which the value is zero."""
        return -self.value / self.rate


@dataclass(frozen=True)
class Ended:
    """Nothing is feasible, or nothing bounds the objective, where `proof` is negative.

    It is at `lam`; there `point` is feasible, if any is.
    """

    outcome: Outcome
    lam: float
    proof: LPProof
    point: Array | None = None


def disprove(
    program: PiecewiseLinearProgram,
    outcome: Outcome,
    lam: float,
    solve: Callable[[PiecewiseLinearProgram], Solution],
) -> Ended | None:
    """Prove that the problem is infeasible or unbounded at lam; None where that fails.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    outcome : Outcome
        The solver's word. It may be neither: then both are tried.
    lam : float
    solve : callable
        Solves another program at its lam = 0.
    """
    first = solve(phase_one(program, lam))
    if first.outcome is not Outcome.OPTIMAL or first.nu is None or first.theta is None:
        return None
    proof = farkas_proof(program, first.nu, lam)
    if proof is not None:
        return Ended(Outcome.INFEASIBLE, lam, proof)
    if outcome is Outcome.INFEASIBLE:
        return None
    second = solve(recession(program, lam))
    if second.outcome is not Outcome.OPTIMAL or second.theta is None:
        return None
    proof = ray_proof(program, second.theta, lam)
    return None if proof is None else Ended(Outcome.UNBOUNDED, lam, proof, first.theta)


def phase_one(program: PiecewiseLinearProgram, lam: float) -> PiecewiseLinearProgram:
    r"""Return the program of the least scaled violation of the rows' domains at lam.

    .. math:: \min_\theta \sum_i \rho_i\, dist((A\theta)_i, dom\, \psi_i)
              \quad\text{subject to}\quad \theta_j \in dom\, \phi_j

    It is zero where the problem is feasible; else its multipliers are a Farkas ray.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    lam : float

    Returns
    -------
    PiecewiseLinearProgram
        The same at all lam.
    """
    parts = []
    weights = program.A.scales()[0]
    for pieces, steep in ((program.phi, np.inf), (program.psi, weights)):
        low, high = pieces.domain(lam)
        below, above = np.isfinite(low), np.isfinite(high)
        first = np.where(below, low, np.where(above, high, 0.0))
        last = np.where(above, high, first)
        wall = np.broadcast_to(steep, low.shape)
        parts.append(
            Pieces.uniform(
                [first, last],
                [np.where(below, -wall, 0.0), 0.0, np.where(above, wall, 0.0)],
                n=len(low),
            )
        )
    return PiecewiseLinearProgram(program.A, parts[0], parts[1])


def recession(program: PiecewiseLinearProgram, lam: float) -> PiecewiseLinearProgram:
    r"""Return the program of the steepest descent to infinity at lam.

    .. math:: \min_d \sum_j \phi_j^\infty(d_j) + \sum_i \psi_i^\infty((A d)_i)
              \quad\text{subject to}\quad |d_j| \le c_j

    It is zero where the problem (if feasible) is bounded.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    lam : float

    Returns
    -------
    PiecewiseLinearProgram
        The same at all lam.
    """
    radius = program.A.scales()[1]
    first, last = program.phi.slope_range(lam)
    left, right = np.isfinite(first), np.isfinite(last)
    inner = np.where(left, first, np.where(right, last, 0.0))
    outer = np.where(right, last, inner)
    phi = Pieces.uniform(
        [np.where(left, -radius, 0.0), 0.0, np.where(right, radius, 0.0)],
        [-np.inf, inner, outer, np.inf],
        n=len(radius),
    )
    first, last = program.psi.slope_range(lam)
    middle = np.where(np.isfinite(first), first, np.where(np.isfinite(last), last, 0.0))
    psi = Pieces.uniform([0.0, 0.0], [first, middle, last], n=len(first))
    return PiecewiseLinearProgram(program.A, phi, psi)


def farkas_proof(program: PiecewiseLinearProgram, nu: Array, lam: float) -> LPProof | None:
    r"""Verify Farkas multipliers of the rows at lam.

    With :math:`v = (-A'\nu, \nu)` every feasible z = (theta, A theta) has v'z = 0, so

    .. math:: \sigma(\lambda) = \sum_i \max_{z_i \in dom f_i(\lambda)} v_i z_i < 0

    proves that there is none.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    nu : array of shape (m,)
    lam : float

    Returns
    -------
    LPProof or None
        None where the sum is not clearly negative at lam.
    """
    p = len(program.phi)
    v = np.concatenate([-program.A.rmatvec(nu), nu])
    terms = []
    # A row's multiplier is one term: the largest one determines what is rounding.
    largest = np.full(len(nu), np.abs(nu).max(initial=0.0))
    size = np.concatenate([program.A.abs_rmatvec(np.abs(nu)), largest])
    for pieces, here in ((program.phi, slice(0, p)), (program.psi, slice(p, None))):
        rising = v[here] > 0.0
        kink = np.where(rising, pieces.ptr[1:] - 1, pieces.ptr[:-1])
        slope = np.where(rising, pieces.slope_ptr[1:] - 1, pieces.slope_ptr[:-1])
        bounded = np.isinf(pieces.slope[slope])
        # A free coordinate must have no multiplier at all; what is left of it is rounding.
        if (np.abs(v[here]) > _ROUNDING * size[here])[~bounded].any():
            return None
        weight = np.where(bounded, v[here], 0.0)
        terms.append(weight[:, None] * np.stack([pieces.kink[kink], pieces.kink_rate[kink]], 1))
    return _proof(nu, np.concatenate(terms), lam)


def ray_proof(program: PiecewiseLinearProgram, d: Array, lam: float) -> LPProof | None:
    r"""Verify a direction of descent to infinity at lam.

    With z = (d, A d): :math:`\sum_i f_i^\infty(z_i; \lambda) < 0`, all terms finite.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    d : array of shape (p,)
    lam : float

    Returns
    -------
    LPProof or None
        None where the sum is not clearly negative at lam.
    """
    p = len(program.phi)
    z = np.concatenate([d, program.A.matvec(d)])
    largest = np.full(len(d), np.abs(d).max(initial=0.0))
    size = np.concatenate([largest, program.A.abs_matvec(np.abs(d))])
    terms = []
    for pieces, here in ((program.phi, slice(0, p)), (program.psi, slice(p, None))):
        slope = np.where(z[here] > 0.0, pieces.slope_ptr[1:] - 1, pieces.slope_ptr[:-1])
        walled = np.isinf(pieces.slope[slope])
        if (np.abs(z[here]) > _ROUNDING * size[here])[walled].any():
            return None
        steep = np.where(walled, 0.0, pieces.slope[slope])
        terms.append(z[here][:, None] * np.stack([steep, pieces.slope_rate[slope]], 1))
    return _proof(d, np.concatenate(terms), lam)


def _proof(vector: Array, terms: Array, lam: float) -> LPProof | None:
    """Sum the (constant, rate) terms; None unless the value at lam is clearly negative."""
    value, rate = terms.sum(axis=0)
    sizes = np.abs(terms).sum(axis=0)
    # A rate that is rounding would put the root anywhere.
    rate = 0.0 if abs(rate) <= 1e-13 * sizes[1] else float(rate)
    proof = LPProof(vector, float(value), rate)
    return proof if proof.at(lam) < -1e-12 * (sizes[0] + lam * sizes[1]) else None
