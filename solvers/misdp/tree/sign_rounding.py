r"""Points of matrices of two values from the signs of vectors (Goemans and Williamson 1995).

Where each entry off the diagonal of a semidefinite matrix is one integer between two ends, as in a
maximum cut, rounding the entries one by one leaves no semidefinite matrix. Signs s of the rows do:
with M = V V' of the relaxation and g a random vector, s = sign(V g), and the entry (i, k) takes its
upper end where s_i s_k > 0, else its lower one. Single signs are then turned as long as that saves
costs.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import SemidefiniteBlock, triangle, unpack_symmetric
from sparseopt.problems.misdp.problem import MISDP

from ..bounding.lower_bounds import Box
from ..settings import SIGN_DRAWS, TURN_SAVES


def points_by_signs(
    problem: MISDP, costs: Array, x: Array, box: Box, random: np.random.Generator
) -> Iterator[Array]:
    """Yield choices of the integers for each block of two values, those of least costs first.

    Parameters
    ----------
    problem : MISDP
        Without continuous variables; others yield nothing.
    costs : array of shape (n,)
        Of the minimisation.
    x : array of shape (n,)
        A solution of the relaxation; variables of other constraints are rounded.
    box : tuple of arrays
    random : numpy Generator
    """
    if not problem.integer.all() or not all(np.isfinite(end).all() for end in box):
        return
    low, high = box
    for block in problem.blocks:
        columns = _one_each(block)
        if columns is None:
            continue
        rows, others = (each[columns >= 0] for each in triangle(block.size))
        columns = columns[columns >= 0]
        entry = np.asarray(block.F[:, columns].sum(axis=0)).ravel()
        half = 0.5 * (high - low)[columns] * np.sign(entry)
        price = np.zeros((block.size, block.size))
        price[rows, others] = price[others, rows] = costs[columns] * half
        signs = _signs(unpack_symmetric(block.F @ x + block.F0, block.size), price, random)
        for s in sorted(signs, key=lambda s: float(s @ price @ s)):
            point = np.clip(np.rint(x), low, high)
            point[columns] = 0.5 * (low + high)[columns] + half * s[rows] * s[others]
            yield np.rint(point)


def _one_each(block: SemidefiniteBlock) -> Array | None:
    """Return the variable of each packed entry off the diagonal, -1 on it; None where not one."""
    rows, others = triangle(block.size)
    off = rows != others
    if block.size < 3 or (np.diff(block.F.indptr)[off] != 1).any():
        return None
    columns = np.full(len(rows), -1)
    columns[off] = block.F.indices[block.F.indptr[:-1][off]]
    used = columns[off]
    return columns if len(np.unique(used)) == len(used) == len(block.F.data) else None


def _signs(M: Array, price: Array, random: np.random.Generator) -> Iterator[Array]:
    """Yield signs of the rows of M by its largest eigenvector and by random ones, improved."""
    values, vectors = np.linalg.eigh(M)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    draws = random.standard_normal((SIGN_DRAWS, len(M)))
    for g in (np.eye(len(M))[-1], *draws):
        s = np.where(root @ g >= 0.0, 1.0, -1.0)
        # To turn s_i changes s' price s by -4 s_i (price s)_i.
        while (saves := s * (price @ s)).max() > TURN_SAVES * float(np.abs(price).max()):
            s[int(np.argmax(saves))] *= -1.0
        yield s
