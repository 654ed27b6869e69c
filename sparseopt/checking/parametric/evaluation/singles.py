r"""Variables in one row only, such as slacks: their multipliers are those of the row, exactly.

With :math:`a_{ij} = \pm 2^k` the only entry of a column, :math:`v_j = -a_{ij} \nu_i` has no
rounding error, so slopes of the variable that do not move with lam are slopes of the row's
multiplier.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.problems.parametric.maps import DenseMap, SparseMap
from sparseopt.problems.parametric.problem import PiecewiseLinearProgram

_ENTRIES = 1 << 24
"""Entries of a dense matrix that are looked through."""


class Singles(NamedTuple):
    """Such variables, and between which ends they let the multipliers of their rows be.

    Attributes
    ----------
    columns, rows : int arrays of shape (k,)
    low, high : arrays of shape (m,)
        Infinite for rows without one, or where two contradict each other.
    """

    columns: Array
    rows: Array
    low: Array
    high: Array


@lru_cache(maxsize=4)
def singles_of(program: PiecewiseLinearProgram) -> Singles:
    """Return those of a program.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    """
    m, p = program.A.shape
    low, high = np.full(m, -np.inf), np.full(m, np.inf)
    if isinstance(program.A, SparseMap):
        entries = program.A.as_array().tocoo()
        entries.eliminate_zeros()
        alone = np.bincount(entries.col, minlength=p)[entries.col] == 1
        row, column, entry = (part[alone] for part in (entries.row, entries.col, entries.data))
    elif isinstance(program.A, DenseMap) and m * p <= _ENTRIES:
        matrix = program.A.as_array()
        column = np.flatnonzero(np.count_nonzero(matrix, axis=0) == 1)
        row = np.argmax(matrix[:, column] != 0.0, axis=0)
        entry = matrix[row, column]
    else:
        nothing = np.zeros(0, dtype=np.int64)
        return Singles(nothing, nothing, low, high)
    phi = program.phi
    first, last = phi.slope_ptr[column], phi.slope_ptr[column + 1] - 1
    exact = np.abs(np.frexp(entry)[0]) == 0.5
    exact &= (phi.slope_rate[first] == 0.0) & (phi.slope_rate[last] == 0.0)
    row, column, entry = row[exact], column[exact], entry[exact]
    ends = -phi.slope[first[exact]] / entry, -phi.slope[last[exact]] / entry
    np.maximum.at(low, row, np.minimum(*ends))
    np.minimum.at(high, row, np.maximum(*ends))
    apart = low > high
    low[apart], high[apart] = -np.inf, np.inf
    return Singles(column, row, low, high)


def inside_rows(program: PiecewiseLinearProgram, nu: Array, lam: float | Array) -> Array:
    """Return multipliers moved to where the slopes of their rows, and of such variables, end.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    nu : array of shape (m,) or (q, m)
    lam : float, or array of shape (q, 1)

    Returns
    -------
    array of the shape of nu
    """
    singles = singles_of(program)
    nu = np.clip(nu, singles.low, singles.high)
    return np.asarray(np.clip(nu, *program.psi.slope_range(lam)))
