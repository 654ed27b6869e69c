r"""Bounds of coordinates by the multipliers of a path's other segments.

The set of all (nu, lam) within the slopes is convex. So multipliers of a lower lam and of a higher
one, mixed in the proportion that makes lam, are inside by the mixture of their margins: also where
a variable is on a piece at lam, so that its own multiplier has none. What is proven less by them
than at lam is little where the others are near. All of it is computed anew from the mixture
(:func:`~sparseopt.checking.parametric.reach.bounds_by_points`), so that any numbers will do.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from sparseopt.checking.parametric.layout import StoredPath
from sparseopt.checking.parametric.reach import Bounds, bounds_by_points
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.pieces import Pieces
from sparseopt.problems.parametric.problem import PiecewiseLinearProgram

_REFERENCES = 32
"""Segments whose multipliers are mixed, evenly along the path; the last one is among them."""
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
        p, last = self._p, len(self._stored.low) - 1
        most = min(_REFERENCES, _ENTRIES // len(self._pieces))
        segments = np.unique(np.linspace(last, 0, most).astype(int))[::-1]
        half = 0.5 * self._stored.lengths(segments)
        half[0] = 0.0
        constant, rate = self._stored.nu.dense(segments)
        lam, given = self._stored.low[segments] + half, constant + half[:, None] * rate
        if np.isinf(self._stored.high[0]):
            far = np.array(_FAR) * half[-1]
            lam = np.append(lam, self._stored.low[0] + far)
            given = np.vstack([given, constant[-1] + far[:, None] * rate[-1]])
        ends = [self._pieces.slope_range(each) for each in lam]
        nu = [
            np.clip(one, left[p:], right[p:])
            for one, (left, right) in zip(given, ends, strict=True)
        ]
        several = [2**k for k in range(1, _REFERENCES.bit_length()) if 2**k <= len(nu)]
        means = [np.mean(nu[:k], axis=0) for k in several]
        at = [float(np.mean(lam[:k])) for k in several]
        return np.append(lam, at), np.array([*nu, *means])

    @cached_property
    def _values(self) -> tuple[Array, Array]:
        """How far inside the multipliers of variables are, shape (R, p); what they prove, about."""
        lam, nu = self._points
        v = np.concatenate([-self._program.A.rmatvec(nu.T).T, nu], axis=1)
        margins, proven = [], []
        for each, one in zip(lam, v, strict=True):
            left, right = self._pieces.slope_range(each)
            margins.append(np.minimum(one - left, right - one)[: self._p])
            proven.append(-self._pieces.conjugate(np.clip(one, left, right), each).sum())
        return np.array(margins), np.array(proven)

    def bounds(self, lams: tuple[float, ...], most: float) -> Bounds:
        """Return bounds at one lam, or in a range; they are computed when they are first asked for.

        Parameters
        ----------
        lams : tuple of float
            One lam, or both ends of the range.
        most : float
            The largest sum of all f_i of a feasible point in the range.
        """
        memory: list[Array] = []

        def found(
            program: PiecewiseLinearProgram, low: Array, high: Array, largest: Array
        ) -> Array:
            if not memory:
                open_ = np.isinf(largest[: self._p])
                points = self._mixed(lams, most, open_)
                memory.append(np.full(len(largest), np.inf))
                if points is not None:
                    memory[0] = bounds_by_points(program, self._pieces, points, most, largest)
            return memory[0]

        return found

    def _mixed(
        self, lams: tuple[float, ...], most: float, open_: Array
    ) -> list[tuple[float, Array]] | None:
        """Return the mixtures of two at each lam that bound some variables best, or None."""
        at, nu = self._points
        below, above = np.flatnonzero(at < lams[0]), np.flatnonzero(at > lams[-1])
        if 0 in (len(below), len(above), np.count_nonzero(open_)):
            return None
        margins, proven = self._values
        low, high = margins[below][:, None, open_], margins[above][:, open_]
        shares = [(at[above] - lam) / (at[above] - at[below][:, None]) for lam in lams]
        least = np.min(
            [(s[..., None] * low + (1.0 - s[..., None]) * high).min(axis=2) for s in shares], axis=0
        )
        worth = [s * proven[below][:, None] + (1.0 - s) * proven[above] for s in shares]
        room = np.maximum(most - np.min(worth, axis=0), 0.0)
        cost = np.divide(room, least, out=np.full(room.shape, np.inf), where=least > 0.0)
        r, s = np.unravel_index(int(np.argmin(cost)), cost.shape)
        if not np.isfinite(cost[r, s]):
            return None
        return [
            (lam, share[r, s] * nu[below[r]] + (1.0 - share[r, s]) * nu[above[s]])
            for lam, share in zip(lams, shares, strict=True)
        ]
