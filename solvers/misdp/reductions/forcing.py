r"""Integers that a matrix forces: without them it is not semidefinite, whatever the others are.

Where the coefficient matrices of all variables of a block are semidefinite or negative semidefinite
(bars of a truss, edges of a network, experiments of a design), no point of a box has a larger M(x)
than the **top** T, with each variable at its better end. For an integer whose matrix is
:math:`\pm a a'`, with :math:`g = a' T^{-1} a` and :math:`v = T^{-1} a`,

.. math:: v' (T - d\, a a') v = g - d g^2 < 0 \quad\text{for } d > 1 / g,

so that it is less than d away from its better end. What is cut off becomes a leaf, with the
multiplier v v' of the block as its disproof. It costs one factorisation for all of them, while each
would be a node with a relaxation of its own. (Presolving and propagation of SCIP-SDP: Matter and
Pfetsch 2023.)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import pack_symmetric, unpack_symmetric
from sparseopt.problems.misdp.problem import MISDP

from ..bounding.lower_bounds import Box
from ..settings import FORCED_ENTRIES, FORCED_MARGIN, FORCED_RANK


class Cut(NamedTuple):
    """An end of an integer variable that holds no feasible point.

    Attributes
    ----------
    column : int
    lower, upper : float
        The values that are cut off.
    psd : array
        The disproof, of all matrices one after the other.
    """

    column: int
    lower: float
    upper: float
    psd: Array


class Forcing:
    """The blocks of a problem that force integers.

    Parameters
    ----------
    problem : MISDP
    """

    def __init__(self, problem: MISDP) -> None:
        self._length = sum(block.dimension for block in problem.blocks)
        self._blocks: list[_Monotone] = []
        begin = 0
        for block in problem.blocks:
            F = sp.csc_array(block.F)
            columns = np.flatnonzero(np.diff(F.indptr))
            if 0 < len(columns) * block.size**2 <= FORCED_ENTRIES and not block.rank_one:
                matrices = unpack_symmetric(F[:, columns].toarray().T, block.size)
                constant = unpack_symmetric(block.F0, block.size)
                found = _Monotone(columns, matrices, constant, problem.integer[columns], begin)
                if found.candidates.any():
                    self._blocks.append(found)
            begin += block.dimension

    def cuts(self, box: Box) -> Iterator[Cut]:
        """Return what can be cut off a box, at most one end of each variable in each block."""
        for block in self._blocks:
            yield from block.cuts(box, self._length)


class _Monotone:
    """A block with the signs of its coefficient matrices, 0 for those that have none."""

    def __init__(
        self, columns: Array, matrices: Array, constant: Array, whole: Array, begin: int
    ) -> None:
        self._columns, self._begin, self._size = columns, begin, len(constant)
        self._flat, self._constant = matrices.reshape(len(columns), -1), constant.ravel()
        values, vectors = np.linalg.eigh(matrices)
        zero = FORCED_RANK * np.abs(values).max(axis=1)
        positive, negative = values[:, 0] >= -zero, values[:, -1] <= zero
        self._sign = np.where(positive, 1.0, np.where(negative, -1.0, 0.0))
        alone = (np.abs(values) > zero[:, None]).sum(axis=1) == 1
        self.candidates = whole & alone & (self._sign != 0.0)
        ends = np.where(positive[:, None], vectors[:, :, -1], vectors[:, :, 0])
        self._vectors = np.sqrt(np.abs(values).max(axis=1))[:, None] * ends
        self._norms = np.abs(values).max(axis=1)
        self._norm = float(np.linalg.norm(constant))

    def cuts(self, box: Box, length: int) -> Iterator[Cut]:
        """Return what can be cut off a box; `length` is that of the multipliers."""
        low, high = box[0][self._columns], box[1][self._columns]
        width = high - low
        some = np.flatnonzero(self.candidates & (width > 0.0))
        best = np.where(self._sign > 0.0, high, low)
        if not len(some) or ((self._sign == 0.0) & (width > 0.0)).any():
            return
        if not np.isfinite(best).all():
            return
        top = (self._constant + best @ self._flat).reshape(self._size, self._size)
        vectors = self._vectors[some]
        try:
            moved = np.linalg.solve(top, vectors.T)
        except np.linalg.LinAlgError:
            return
        gain = (vectors.T * moved).sum(axis=0)
        with np.errstate(divide="ignore"):
            steps = np.where(gain > 0.0, np.floor((1.0 + FORCED_MARGIN) / gain) + 1.0, np.inf)
        forced = np.flatnonzero(steps <= width[some])
        if not len(forced):
            return
        terms = self._norm + float(np.abs(best) @ self._norms)
        for i in forced.tolist():
            v = moved[:, i] / np.linalg.norm(moved[:, i])
            fall = float(v @ top @ v) - steps[i] * float(v @ vectors[i]) ** 2
            if not -fall >= FORCED_MARGIN * terms:
                continue
            psd = np.zeros(length)
            packed = pack_symmetric(np.outer(v, v))
            psd[self._begin : self._begin + len(packed)] = packed
            k, d = some[i], float(steps[i])
            ends = (low[k], high[k] - d) if self._sign[k] > 0.0 else (low[k] + d, high[k])
            yield Cut(int(self._columns[k]), float(ends[0]), float(ends[1]), psd)
