"""The columns of data as the nodes of a graph: those that vary, and who may choose whom."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseopt.problems.base import Array
from sparseopt.problems.budget.candidates import Candidates


def nodes_of(varies: Array) -> Array:
    """Return the indices of the columns that vary: the nodes that can have neighbours.

    Parameters
    ----------
    varies : bool array of shape (d,)

    Returns
    -------
    int array

    Raises
    ------
    ValueError
        When there are fewer than two.
    """
    nodes = np.flatnonzero(varies)
    if len(nodes) < 2:
        raise ValueError("fewer than two columns of X vary: there is no graph")
    return nodes


def candidates_among(
    data: Array, candidates: Any, nodes: Array, counts: Array | None, d: int
) -> Candidates:
    """Return who may choose whom among the nodes.

    Parameters
    ----------
    data : array of shape (n, m)
        The columns of the nodes.
    candidates : int or bool array of shape (d, d)
        How many columns, those most correlated; or which ones, of all columns.
    nodes : int array of shape (m,)
        Places of the nodes among all columns.
    counts : array of shape (n,), or None
        How often each row counts.
    d : int
        How many columns there are.

    Raises
    ------
    ValueError
        When a mask is not of all columns.
    """
    if isinstance(candidates, Integral):
        # A Gaussian node needs more observations than candidates; 3 times 1/3 may be below 1.
        n = len(data) if counts is None else int(counts.sum() + 1e-6)
        most = min(int(candidates), max(n - 2, 1), data.shape[1] - 1)
        return Candidates.correlated(data, most, counts)
    mask = np.asarray(candidates, dtype=bool)
    if mask.shape != (d, d):
        raise ValueError(
            f"candidates has shape {mask.shape}; X has {d} columns: expected a mask of shape "
            f"{(d, d)}, whose row j says who may be a neighbour of column j, or a number"
        )
    return Candidates.from_mask(mask[np.ix_(nodes, nodes)])


def in_all_columns(matrix: Any, nodes: Array, d: int) -> sp.csr_array:
    """Return a matrix of the nodes as one of all d columns.

    Parameters
    ----------
    matrix : array or sparse array of shape (m, m)
    nodes : int array of shape (m,)
    d : int
    """
    found = sp.coo_array(matrix)
    return sp.csr_array((found.data, (nodes[found.row], nodes[found.col])), shape=(d, d))
