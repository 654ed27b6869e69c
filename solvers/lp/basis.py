"""An LP solver's answer at one lam: the pair, and the basis with the range where it is optimal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.problems.parametric.pieces import Pieces
from sparseopt.problems.parametric.problem import PiecewiseLinearProgram
from sparseopt.result import Limit

from ..common.outcome import Outcome
from ..common.segments import affine_solution
from .layout import Scaling

ACCEPT = 1e-9
"""Largest violation, in the data's scale, of a pair that is taken from a basis."""

_HARRIS = 1e-11
"""Slack of the ratio test, in the data's scale: among near ties the fastest limit decides."""
_NOISE = 1e-11
"""A rate this small, relative to the largest, is rounding."""


@dataclass(frozen=True)
class Basis:
    """A basis with its solution around one lam.

    Attributes
    ----------
    codes : int16 array of shape (p + m,)
    lam : float
    theta, nu : arrays of shapes (p, 2), (m, 2)
        Value at lam, and rate.
    slack, rate : arrays
        Distances of basic values to their kinks and of multipliers to their slopes, in the data's
        scale, at lam, and their rates. The basis is optimal where all are nonnegative.
    """

    codes: Array
    lam: float
    theta: Array
    nu: Array
    slack: Array
    rate: Array

    @classmethod
    def at(
        cls, program: PiecewiseLinearProgram, codes: Array, lam: float, scaling: Scaling
    ) -> Basis:
        """Solve the kernel of a basis at lam.

        Raises
        ------
        numpy.linalg.LinAlgError
            When the kernel is not square or singular.
        """
        theta_0, theta_1, nu_0, nu_1 = affine_solution(program, codes, at=lam)
        theta, nu = np.column_stack([theta_0, theta_1]), np.column_stack([nu_0, nu_1])
        z = np.concatenate([theta, program.A.matvec(theta)]) / scaling.z[:, None]
        v = np.concatenate([-program.A.rmatvec(nu), nu]) / scaling.v[:, None]
        slack, rate = _distances(program, codes, lam, scaling, z, v)
        return cls(codes, lam, theta, nu, slack, rate)

    def violation(self, lam: float | None = None) -> float:
        """Return how far the pair is from optimal at lam (default: its own), scaled."""
        step = 0.0 if lam is None else lam - self.lam
        return float(np.max(-(self.slack + step * self.rate), initial=0.0))

    def range(self) -> tuple[float, float]:
        """Return the ends of the interval of lam >= 0 where the basis is optimal."""
        return self.lam - _ratio(self.slack, self.rate), self.lam + _ratio(self.slack, -self.rate)


def _distances(
    program: PiecewiseLinearProgram,
    codes: Array,
    lam: float,
    scaling: Scaling,
    z: Array,
    v: Array,
) -> tuple[Array, Array]:
    p = len(program.phi)
    primal: list[Array] = []
    dual: list[Array] = []
    for pieces, here in ((program.phi, slice(0, p)), (program.psi, slice(p, None))):
        number = codes[here].astype(np.int64) >> 1
        on = (codes[here] & 1) == 0
        size = scaling.z[here]
        for kink, sign, inside in (
            (pieces.ptr[:-1] + number - 1, 1.0, number > 0),
            (pieces.ptr[:-1] + number, -1.0, number < pieces.counts),
        ):
            rows = np.flatnonzero(on & inside)
            k = kink[rows]
            t = _pair(pieces.kink[k], pieces.kink_rate[k], lam) / size[rows, None]
            primal.append(sign * (z[here][rows] - t))
        size = scaling.v[here]
        for offset, sign in ((0, 1.0), (1, -1.0)):
            slope = pieces.slope_ptr[:-1] + np.where(on, 0, number + offset)
            rows = np.flatnonzero(~on & np.isfinite(pieces.slope[slope]))
            s = slope[rows]
            limit = _pair(pieces.slope[s], pieces.slope_rate[s], lam) / size[rows, None]
            dual.append(sign * (v[here][rows] - limit))
    groups = []
    for parts, values in ((primal, z), (dual, v)):
        group = np.concatenate(parts)
        # Where the solution is larger than the data its size is the measure.
        group /= max(1.0, float(np.abs(values[:, 0]).max(initial=0.0)))
        group[np.abs(group[:, 1]) <= _NOISE * np.abs(group[:, 1]).max(initial=0.0), 1] = 0.0
        groups.append(group)
    both = np.concatenate(groups)
    return both[:, 0], both[:, 1]


def _pair(constant: Array, rate: Array, lam: float) -> Array:
    return np.column_stack([constant + lam * rate, rate])


def _ratio(slack: Array, speed: Array) -> float:
    """Return the step to the first slack that runs out (Harris: two passes, never negative)."""
    falling = np.flatnonzero(speed > 0.0)
    if len(falling) == 0:
        return float("inf")
    a, b = np.maximum(slack[falling], 0.0), speed[falling]
    ties = np.flatnonzero(a / b <= np.min((a + _HARRIS) / b))
    chosen = ties[np.argmax(b[ties])]
    return float(a[chosen] / b[chosen])


def optimal_basis(
    program: PiecewiseLinearProgram, codes: Array, nu: Array, lam: float, scaling: Scaling
) -> Basis | None:
    """Solve the kernel of a solver's basis at lam.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    codes : int16 array of shape (p + m,)
    nu : array of shape (m,)
        The solver's own multipliers, which show which of several equal kinks is meant.
    lam : float
    scaling : Scaling

    Returns
    -------
    Basis, or None
        None where the pair is not optimal, or there is no kernel.
    """
    codes = _choose_equal_kinks(program, codes, nu, lam)
    try:
        basis = Basis.at(program, codes, lam, scaling)
    except np.linalg.LinAlgError:
        return None
    return basis if basis.violation() <= ACCEPT else None


def _choose_equal_kinks(
    program: PiecewiseLinearProgram, codes: Array, nu: Array, lam: float
) -> Array:
    """Where kinks coincide (an equality has two), take the one that the multiplier belongs to."""
    codes = codes.copy()
    p = len(program.phi)
    if max(program.phi.counts.max(initial=1), program.psi.counts.max(initial=1)) == 1:
        return codes
    v = np.concatenate([-program.A.rmatvec(nu), nu])
    for pieces, here in ((program.phi, slice(0, p)), (program.psi, slice(p, None))):
        codes[here] = _move(pieces, codes[here], v[here], lam)
    return codes


def _move(pieces: Pieces, codes: Array, v: Array, lam: float) -> Array:
    kinks, slopes = pieces.kinks_at(lam), pieces.slopes_at(lam)
    for _ in range(int(pieces.counts.max(initial=1)) - 1):
        k = codes.astype(np.int64) >> 1
        at = np.flatnonzero(((codes & 1) == 1) & (pieces.counts > 1))
        place = pieces.ptr[at] + k[at]
        slope = pieces.slope_ptr[at] + k[at]
        up = (k[at] + 1 < pieces.counts[at]) & (v[at] > slopes[slope + 1])
        up[up] = kinks[place[up] + 1] == kinks[place[up]]
        down = (k[at] > 0) & (v[at] < slopes[slope])
        down[down] = kinks[place[down] - 1] == kinks[place[down]]
        if not (up.any() or down.any()):
            break
        codes[at[up]] += 2
        codes[at[down & ~up]] -= 2
    return codes


@dataclass(frozen=True)
class Solution:
    """What an LP solver answers at one lam.

    Attributes
    ----------
    outcome : Outcome
    raw : str
        The solver's own status.
    lam : float
    limit : Limit or None
    theta : array of shape (p,) or None
    nu : array of shape (m,) or None
        With the outcome LIMIT neither has to be feasible.
    basis : Basis or None
        Where the pair was solved again from the solver's basis.
    scale : float
        Size of the objective that the data suggest.
    """

    outcome: Outcome
    raw: str
    lam: float
    limit: Limit | None = None
    theta: Array | None = None
    nu: Array | None = None
    basis: Basis | None = None
    scale: float = 1.0
