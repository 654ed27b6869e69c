r"""Rows at ends of their slopes that give way, so that variables' multipliers are exactly inside.

Where the multipliers of all rows are at ends of their slopes (a separating machine, a vertex of
ties), no basis has any to spare, and what rounding of the data leaves must be made up by rows that
move inwards: :math:`A_C'\Delta = r` with the signs of Delta given. Nonnegative least squares finds
few of them, whose equations are then solved exactly (:mod:`.nearby`).

References
----------
Lawson, Hanson (1974): Solving least squares problems, chapter 23.
"""

from __future__ import annotations

import numpy as np

from sparseopt.checking.parametric.evaluation.verified_equations import ENTRIES, residual
from sparseopt.checking.parametric.multipliers.reach import LINES, NEAR
from sparseopt.checking.parametric.multipliers.slope_ends import slope_ends
from sparseopt.checking.work import spend
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.pieces import Pieces
from sparseopt.problems.parametric.problem import PiecewiseLinearProgram
from sparseopt.proofs.double_double import DoubleDouble, exact_block

_SECONDS = 2e-6
"""Seconds of an entry of the equations."""
_MISSED = 1e-6
"""What such a step may miss of what is asked, relative to it: exact equations do the rest."""
_TRIES, _LITTLE = 8, 1e-6
"""How often rows are left out that hardly move, relative to the one that moves most."""


def giving_way(
    program: PiecewiseLinearProgram, pieces: Pieces, lam: float, nu: Array, needed: Array
) -> Array | None:
    """Return rows that may bring the multipliers of some variables to ends of their slopes.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    pieces : Pieces
        Its functions phi and psi.
    lam : float
        Finite.
    nu : array of shape (m,)
        Multipliers, within the slopes of their rows.
    needed : bool array of shape (p,)
        The variables that are outside.

    Returns
    -------
    bool array of shape (m,), or None
        None where there are no such rows, or too many to look through.
    """
    m, p = program.A.shape
    ends = slope_ends(program, pieces, lam)
    places = np.flatnonzero(needed)
    own, of_rows = ends.part(places), ends.part(slice(p, None))
    if not 0 < len(places) <= LINES or len(places) * m > ENTRIES:
        return None
    spend(_SECONDS * len(places) * m)
    x, _ = of_rows.put(nu, None, NEAR)
    block = exact_block(program.A, np.arange(m), places).T
    v, _ = residual(block, DoubleDouble(np.zeros(len(places))), x)
    rest = (v - own.nearest(v)).high
    if not rest.any() or not np.isfinite(rest).all():
        return None
    margin = NEAR * float(np.abs(nu).max(initial=0.0))
    up = np.flatnonzero(of_rows.high.high - x.high > margin)
    down = np.flatnonzero(x.high - of_rows.low.high > margin)
    moves = np.hstack([block.high[:, up], -block.high[:, down]])
    used = _nonnegative(moves, rest)
    if used is None:
        return None
    rows = np.zeros(m, dtype=bool)
    rows[np.concatenate([up, down])[used]] = True
    return rows


def _nonnegative(moves: Array, target: Array) -> Array | None:
    """Return which columns a nonnegative combination with this target uses, or None.

    Each of them by more than rounding: others might have the wrong sign in exact arithmetic.
    """
    from scipy.optimize import nnls  # takes as long to import as most checks take

    scale = np.abs(moves).max(axis=1, initial=0.0)
    if not (scale[target != 0.0] > 0.0).all():
        return None
    scale[scale == 0.0] = 1.0
    target = target / scale
    target /= np.abs(target).max()
    moves, left = moves / scale[:, None], np.arange(moves.shape[1])
    for _ in range(_TRIES):
        try:
            found, missed = nnls(moves[:, left], target)
        except RuntimeError:
            # it takes too many steps
            return None
        if not missed <= _MISSED:
            return None
        little = (found > 0.0) & (found <= _LITTLE * found.max())
        if not little.any():
            return left[np.flatnonzero(found)]
        left = left[~little]
    return None
