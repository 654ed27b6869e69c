"""The scales of the lines of a matrix of a MISDP."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sparseopt.installed import Deferred
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import SemidefiniteBlock, unpack_symmetric

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = Deferred("scipy.sparse")

_ROUNDS = 8


def line_scales(block: SemidefiniteBlock) -> Array:
    """Return powers of two whose products are about the sizes of a matrix's entries, shape (s,).

    M is semidefinite where its entries divided by these products are. The scales balance the
    largest coefficient or constant of each line.

    Parameters
    ----------
    block : SemidefiniteBlock
    """
    largest, terms = np.abs(block.F0), sp.coo_array(block.F)
    np.maximum.at(largest, terms.row, np.abs(terms.data))
    sizes, scales = unpack_symmetric(largest, block.size), np.ones(block.size)
    for _ in range(_ROUNDS):
        most = (sizes / scales / scales[:, None]).max(axis=1)
        scales *= np.exp2(np.rint(0.5 * np.log2(np.where(most > 0.0, most, 1.0))))
    return scales
