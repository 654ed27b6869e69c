r"""Bounds of coordinates by the multipliers of a path's other segments.

The set of all (nu, lam) within the slopes is convex. So multipliers of a lower lam and of a higher
one, mixed in the proportion that makes lam, are inside by the mixture of their margins: also where
a variable is on a piece at lam, so that its own multiplier has none. What is proven less by them
than at lam is little where the others are near. All of it is computed anew from the mixture
(:func:`~sparseopt.checking.parametric.multipliers.reach.bounds_by_points`), so that any numbers
will do.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from sparseopt.checking.parametric.bases.layout import StoredPath
from sparseopt.checking.parametric.evaluation.point import rounding_errors
from sparseopt.checking.parametric.evaluation.singles import inside_rows, singles_of
from sparseopt.checking.parametric.multipliers.reach import (
    LINES,
    Bounds,
    Values,
    bounds_by_points,
    inward,
)
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.pieces import Pieces
from sparseopt.problems.parametric.problem import PiecewiseLinearProgram

_REFERENCES = 32
"""Segments whose multipliers are mixed, evenly along the path; the last one is among them."""
_BELOW = 3.0e-10
"""How far below the path's end, as a part of it, its multipliers may still be within their slopes:
less than the end may be off by."""
_FAR = (1e3, 1e6)
"""How many times the highest knot lam is there, where the path has no upper end: mixtures with
that move other multipliers inwards evenly."""
_ENTRIES = 1 << 22
"""Multipliers that are held."""


class Mixtures:
    """The multipliers of some segments, and mixtures of two.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    pieces : Pieces
        Its functions phi and psi.
    stored : StoredPath
        What the path states.
    """

    def __init__(self, program: PiecewiseLinearProgram, pieces: Pieces, stored: StoredPath) -> None:
        self._program, self._pieces, self._stored = program, pieces, stored
        self._p = program.A.shape[1]

    @cached_property
    def _points(self) -> tuple[Array, Array]:
        """Some lam, shape (R,), and multipliers within their rows' slopes there, shape (R, m).

        Those in the middle of segments, where few have no margin, and at the path's end; and means
        of the last 2, 4, 8, ... of them.
        """
        last = len(self._stored.low) - 1
        most = min(_REFERENCES, _ENTRIES // len(self._pieces))
        segments = np.unique(np.linspace(last, 0, most).astype(int))[::-1]
        half = 0.5 * self._stored.lengths(segments)
        half[0] = 0.0
        constant, rate = self._stored.nu.dense(segments)
        lam, given = self._stored.low[segments] + half, constant + half[:, None] * rate
        step = -_BELOW * self._stored.low[last]
        lam = np.append(lam, self._stored.low[last] + step)
        given = np.vstack([given, constant[0] + step * rate[0]])
        if np.isinf(self._stored.high[0]):
            far = np.array(_FAR) * half[-1]
            lam = np.append(lam, self._stored.low[0] + far)
            given = np.vstack([given, constant[-1] + far[:, None] * rate[-1]])
        nu = [inside_rows(self._program, *pair) for pair in zip(given, lam.tolist(), strict=True)]
        several = [2**k for k in range(1, _REFERENCES.bit_length()) if 2**k <= len(nu)]
        means = [np.mean(nu[:k], axis=0) for k in several]
        at = [float(np.mean(lam[:k])) for k in several]
        return np.append(lam, at), np.array([*nu, *means])

    @cached_property
    def _values(self) -> tuple[Array, Array]:
        """How far inside the multipliers of variables are, shape (R, p); what they prove, about."""
        A, p = self._program.A, self._p
        lam, nu = self._points
        v = np.concatenate([-A.rmatvec(nu.T).T, nu], axis=1)
        sizes = A.abs_rmatvec(np.abs(nu).T).T
        margins, proven = [], []
        for each, one, size in zip(lam, v, sizes, strict=True):
            left, right = self._pieces.slope_range(each)
            ends = sum(np.where(np.isfinite(end), np.abs(end), 0.0)[:p] for end in (left, right))
            inside = np.minimum(one - left, right - one)[:p]
            error = rounding_errors(size + ends)
            margins.append(np.where(np.abs(inside) <= error, 0.0, inside - error))
            proven.append(-self._pieces.conjugate(np.clip(one, left, right), each).sum())
        return np.array(margins), np.array(proven)

    def bounds(self, lams: tuple[float, ...], values: Values) -> Bounds:
        """Return bounds at one lam, or in a range; they are computed when they are first asked for.

        Parameters
        ----------
        lams : tuple of float
            One lam, or both ends of the range.
        values : Values
            Of a feasible point there.
        """
        memory: list[Array] = []

        def found(
            program: PiecewiseLinearProgram, low: Array, high: Array, largest: Array
        ) -> Array:
            if not memory:
                open_ = np.isinf(largest[: self._p])
                open_[singles_of(program).columns] = False
                points = self._mixed(lams, values, open_)
                memory.append(np.full(len(largest), np.inf))
                if points is not None:
                    memory[0] = bounds_by_points(program, self._pieces, points, values, largest)
            return memory[0]

        return found

    def _mixed(
        self, lams: tuple[float, ...], values: Values, open_: Array
    ) -> list[tuple[float, Array]] | None:
        """Return the mixtures of two at each lam that bound some variables best, or None."""
        at, nu = self._points
        below, above = np.flatnonzero(at < lams[0]), np.flatnonzero(at > lams[-1])
        if 0 in (len(below), len(above), np.count_nonzero(open_)):
            return None
        margins, proven = self._values
        some = open_ & (margins > 0.0).any(axis=0)
        low, high = margins[below][:, None, some], margins[above][:, some]
        cost = np.zeros((len(below), len(above)))
        shares = [(at[above] - lam) / (at[above] - at[below][:, None]) for lam in lams]
        for share, value in zip(shares, values.ends, strict=True):
            least = (share[..., None] * low + (1.0 - share[..., None]) * high).min(2, initial=1.0)
            room = value - share * proven[below][:, None] - (1.0 - share) * proven[above]
            apart = np.full(room.shape, np.inf)
            np.divide(np.maximum(room, 0.0), least, out=apart, where=least > 0.0)
            cost = np.maximum(cost, apart)
        r, s = np.unravel_index(int(np.argmin(cost)), cost.shape)
        if not np.isfinite(cost[r, s]):
            return None
        return [
            (
                lam,
                self._pushed(
                    lam,
                    share[r, s] * nu[below[r]] + (1.0 - share[r, s]) * nu[above[s]],
                    some,
                    np.flatnonzero(open_ & ~some),
                ),
            )
            for lam, share in zip(lams, shares, strict=True)
        ]

    def _pushed(self, lam: float, nu: Array, inside: Array, at_ends: Array) -> Array:
        """Return nu moved so that variables at ends of their slopes everywhere are inside, too.

        By no more than half of the margins of those that are `inside`.
        """
        if not 0 < len(at_ends) <= LINES:
            return nu
        A, p = self._program.A, self._p
        left, right = self._pieces.slope_range(lam)
        v = -A.rmatvec(nu)
        sign = np.where(v - left[:p] < right[:p] - v, 1.0, -1.0)[at_ends]
        step = inward(self._program, nu, left[p:], right[p:], at_ends, sign)
        if step is None:
            return nu
        room = np.minimum(v - left[:p], right[:p] - v)[inside]
        moves = np.abs(A.rmatvec(step))[inside]
        far = np.divide(room, moves, out=np.full(len(room), np.inf), where=moves > 0.0)
        return np.asarray(nu + min(1.0, 0.5 * float(far.min(initial=np.inf))) * step)
