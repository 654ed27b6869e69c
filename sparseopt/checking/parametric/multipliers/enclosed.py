r"""Multipliers within their slopes near given ones, by enclosures of what equations ask for.

The same question as :func:`~.nearby.exactly_inside` answers in rational arithmetic, whose numbers
grow. Where the rows that may change decide the equations by a margin, an enclosure of the solution
(:mod:`~sparseopt.checking.parametric.evaluation.verified_equations`) is a proof as well, and a
hundred times faster. Where they do not, as on integers, only exact numbers tell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparseopt.checking.parametric.evaluation.verified_equations import (
    ENTRIES,
    Enclosure,
    enclose,
    entries_are_exact,
    residual,
)
from sparseopt.checking.parametric.multipliers.slope_ends import SlopeEnds, slope_ends
from sparseopt.checking.work import spend
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.pieces import Pieces
from sparseopt.problems.parametric.problem import PiecewiseLinearProgram
from sparseopt.proofs.double_double import DoubleDouble, exact_block

PUT_BACK = 4
"""How often rows whose multipliers would leave their slopes are put to an end of these."""
_EXACT = 1e-7
"""Seconds of an entry of the equations."""


class Inside(NamedTuple):
    """Whether there are such multipliers.

    Attributes
    ----------
    known : bool
        False for what this arithmetic leaves open.
    nu : array of shape (m,), or None
        The multipliers, rounded; None where there are none.
    """

    known: bool
    nu: Array | None = None


def enclosed_inside(
    program: PiecewiseLinearProgram,
    pieces: Pieces,
    lam: float,
    nu: Array,
    needed: Array,
    equations: Array,
    free: Array | None,
    near: float,
) -> Inside:
    """Look for multipliers near nu whose v is within the outer slopes at `needed`.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    pieces : Pieces
        Its functions phi and psi.
    lam : float
        Infinite for the rates of nu and of the slopes.
    nu : array of shape (m,)
    needed, equations : bool arrays of shape (p,)
    free : bool array of shape (m,), optional
        As for :func:`~.nearby.exactly_inside`.
    near : float
        Multipliers of rows that are not free are put to an end of their slopes this near, as a part
        of the largest.

    Returns
    -------
    Inside
    """
    p, ends = program.A.shape[1], slope_ends(program, pieces, lam)
    if not ends.known():
        return Inside(False)
    x, unknown = ends.part(slice(p, None)).put(nu, free, near)
    rows, places = np.flatnonzero((x.high != 0.0) | unknown), np.flatnonzero(needed)
    if len(rows) * len(places) > ENTRIES or not entries_are_exact(program.A):
        return Inside(False)
    spend(_EXACT * len(rows) * len(places))
    block = exact_block(program.A, rows, places).T
    own, of_rows, x = ends.part(places), ends.part(p + rows), x[rows]
    finite = np.isfinite(own.low.high) | np.isfinite(own.high.high)
    asked = equations[places] & finite
    # ends of slopes have rounding errors of their own
    spread = np.abs(block.high) @ of_rows.error + own.error
    v, _ = residual(block, DoubleDouble(np.zeros(len(places))), x)
    target = own.nearest(v)[asked]
    found = _solved(block[asked], -target, x, unknown[rows], of_rows, spread[asked])
    if isinstance(found, Inside):
        return found
    inside = _inside(own.part(~asked), block[~asked], found, spread[~asked])
    if inside is not True:
        return Inside(inside is False)
    out = np.zeros(len(nu))
    out[rows] = found.x.high
    return Inside(True, out)


def _solved(
    equations: DoubleDouble,
    right: DoubleDouble,
    x: DoubleDouble,
    unknown: Array,
    ends: SlopeEnds,
    spread: Array,
) -> Enclosure | Inside:
    """Return multipliers that solve the equations, or what is known of such.

    Rows that would leave their slopes are put to the ends of these, and the others are to do.
    """
    unknown = unknown.copy()
    for _ in range(PUT_BACK):
        found = enclose(equations, right, x, np.flatnonzero(unknown), spread)
        if found is None:
            return Inside(False)
        below, above = ends.outside(*found)
        outside = (below | above) & unknown
        if not outside.any():
            return found if found.sharp else Inside(False)
        x = found.x
        x[outside] = ends.chosen(below)[outside]
        unknown &= ~outside
    return Inside(True)


def _inside(ends: SlopeEnds, block: DoubleDouble, found: Enclosure, spread: Array) -> bool | None:
    """Return whether the multipliers of some variables are inside; None where that is open."""
    v, error = residual(block, DoubleDouble(np.zeros(len(block))), found.x)
    error += np.abs(block.high) @ found.radius * 2.0 + spread
    if not (np.isfinite(v.high) & np.isfinite(error)).all():
        return None
    if np.any(ends.outside(v, -error)):
        return False
    return None if np.any(ends.outside(v, error)) else True
