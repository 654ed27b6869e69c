"""The sizes of the variables of a MISDP, and the scales of the lines of its matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sparseopt.installed import Deferred
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import SemidefiniteBlock, unpack_symmetric
from sparseopt.problems.misdp.problem import MISDP

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = Deferred("scipy.sparse")

_ROUNDS = 8
"""Of the balancing, each of which halves what the logarithms of the scales are off by."""


def variable_sizes(problem: MISDP) -> Array:
    """Return the unit of each variable, shape (n,): 1, or its largest bound where that is smaller.

    It is 0 for continuous variables that cannot move, and 1 for integers.

    Parameters
    ----------
    problem : MISDP
    """
    low, high = problem.lower, problem.upper
    sizes = np.minimum(1.0, np.maximum(np.abs(low), np.abs(high)))
    sizes[low == high] = 0.0
    sizes[problem.integer] = 1.0
    return np.asarray(sizes)


def nearest_ends(problem: MISDP, x: Array) -> Array:
    """Return x with continuous variables at the bounds next to them, 0 without any, shape (n,).

    Constants are measured there, so that y and 1 - y have the same unit.

    Parameters
    ----------
    problem : MISDP
    x : array of shape (n,)
    """
    low, high = problem.lower, problem.upper
    ends = np.where(np.abs(x - low) <= np.abs(high - x), low, high)
    ends = np.where(np.isfinite(ends), ends, 0.0)
    return np.asarray(np.where(problem.integer, x, ends))


def line_scales(block: SemidefiniteBlock, sizes: Array) -> Array:
    """Return powers of two whose products are about the sizes of a matrix's entries, shape (s,).

    M is semidefinite where its entries divided by these products are. The scales balance the
    largest term or constant of each line.

    Parameters
    ----------
    block : SemidefiniteBlock
    sizes : array of shape (n,)
        Those of the variables (:func:`variable_sizes`).
    """
    largest, terms = np.abs(block.F0), sp.coo_array(block.F)
    np.maximum.at(largest, terms.row, np.abs(terms.data) * sizes[terms.col])
    sizes, scales = unpack_symmetric(largest, block.size), np.ones(block.size)
    for _ in range(_ROUNDS):
        most = (sizes / scales / scales[:, None]).max(axis=1)
        scales *= np.exp2(np.rint(0.5 * np.log2(np.where(most > 0.0, most, 1.0))))
    return scales
