"""What an MPS file says, before anything is made of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sparseopt.problems.base import Array


@dataclass(frozen=True, eq=False)
class MpsModel:
    r"""A parametric linear program with bounds and ranges, as MPS writes it.

    .. math:: \min \text{ or } \max\; (c + \lambda \bar c)'x + k_0 + k_1\lambda + k_2\lambda^2,
              \quad Ax \;\{\le, \ge, =\}\; b + \lambda \bar b, \quad l \le x \le u

    Attributes
    ----------
    name : str
    maximize : bool
        Of the section OBJSENSE; the default of MPS is to minimise.
    objectives : list of str
        Names of the N rows c and c_bar.
    rows, columns : list of str
    senses : str of length m
        L, G or E for each row.
    entry_row, entry_column, entry : arrays of shape (nnz,)
        The matrix, in the order of the file.
    c, c_bar : arrays of shape (n,)
    constant : array of shape (3,)
        :math:`k_0, k_1, k_2`.
    b, b_bar : arrays of shape (m,)
        In b, inf of an L row and -inf of a G row are no limit.
    ranges : array of shape (m,)
        NaN where a row has none. With the right-hand side r, a range R makes of an L row
        [r - abs(R), r], of a G row [r, r + abs(R)], of an E row [r, r + R] or [r + R, r]. R may be
        infinite.
    lower, upper : arrays of shape (n,)
        May be infinite.
    header : dict
        Of the comment that sparseopt writes; empty in files from elsewhere.
    """

    name: str
    maximize: bool
    objectives: list[str]
    rows: list[str]
    senses: str
    columns: list[str]
    entry_row: Array
    entry_column: Array
    entry: Array
    c: Array
    c_bar: Array
    b: Array
    b_bar: Array
    lower: Array
    upper: Array
    constant: Array = field(default_factory=lambda: np.zeros(3))
    ranges: Array | None = None
    header: dict[str, Any] = field(default_factory=dict)


def default_names(count: int) -> list[str]:
    """Return the names of columns that have none: x0, x1, ...

    Parameters
    ----------
    count : int
        Number of columns.

    Returns
    -------
    list of str
    """
    return [f"x{j}" for j in range(count)]
