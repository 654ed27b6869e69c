r"""Matrices of rank one over boxes of their entries: what is linear and holds there.

A semidefinite X has a rank of at most one exactly where :math:`X_{ij}^2 = X_{ii} X_{jj}` for all
i < j. With bounds :math:`l \le X_{ij} \le u`, :math:`L \le X_{ii} \le U` it follows (secant of the
square, McCormick's bounds of the product)

.. math:: L_i X_{jj} + L_j X_{ii} - L_i L_j \le (l + u) X_{ij} - l u, \qquad
          U_i X_{jj} + U_j X_{ii} - U_i U_j \le (l + u) X_{ij} - l u,

which close in on rank one as the box gets small. Engines branch on the entries; the checker builds
the same rows again.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import triangle
from sparseopt.problems.misdp.problem import MISDP

from ..settings import EMPTY, RANK_OUT, RANK_ROUNDS


class RankOneBoxes:
    """The entries of all matrices that must have rank one, one after the other.

    Parameters
    ----------
    problem : MISDP

    Attributes
    ----------
    F : csr array of shape (E, n)
        The packed entries are F x + F0.
    F0 : array of shape (E,)
    beside, first, second : int array of shape (P,)
        The places of X_ij, X_ii and X_jj for each pair i < j.
    """

    def __init__(self, problem: MISDP) -> None:
        self.problem = problem
        blocks = [block for block in problem.blocks if block.rank_one and block.size > 1]
        n = len(problem.c)
        self.F = sp.csr_array(sp.vstack([sp.csr_array((0, n)), *(b.F for b in blocks)]))
        self.F0 = np.concatenate([np.zeros(0), *(block.F0 for block in blocks)])
        pairs: list[tuple[Array, Array, Array]] = []
        begin = 0
        diagonals = []
        for block in blocks:
            rows, columns = triangle(block.size)
            place = begin + np.flatnonzero(rows == columns)
            off = np.flatnonzero(rows != columns)
            pairs.append((begin + off, place[rows[off]], place[columns[off]]))
            diagonals.append(place)
            begin += block.dimension
        empty = np.zeros(0, dtype=np.int64)
        self.beside, self.first, self.second = (
            np.concatenate([empty, *(part[k] for part in pairs)]) for k in range(3)
        )
        self.diagonal = np.concatenate([empty, *diagonals])

    def entries(self, x: Array) -> Array:
        """Return the entries at x, shape (E,)."""
        return np.asarray(self.F @ x + self.F0)

    def box(self, lower: Array, upper: Array) -> tuple[Array, Array] | None:
        """Return bounds of the entries that follow from bounds of x, None where there are none."""
        positive, negative = self.F.maximum(0.0), self.F.minimum(0.0)
        terms = abs(self.F)
        with np.errstate(invalid="ignore"):
            low, high = (
                _product(positive, a) + _product(negative, b) + self.F0
                for a, b in ((lower, upper), (upper, lower))
            )
            size = terms @ np.where(np.isinf(lower) | np.isinf(upper), 0.0, np.abs(lower))
            size += terms @ np.where(np.isinf(lower) | np.isinf(upper), 0.0, np.abs(upper))
        slip = RANK_OUT * (size + np.abs(self.F0))
        return self.tightened(low - slip, high + slip)

    def tightened(self, lower: Array, upper: Array) -> tuple[Array, Array] | None:
        """Return the bounds of the entries (E,) after those that the rank implies; None: empty."""
        low, high = lower.copy(), upper.copy()
        low[self.diagonal] = np.maximum(low[self.diagonal], 0.0)
        i, j, k = self.first, self.second, self.beside
        for _ in range(RANK_ROUNDS):
            with np.errstate(invalid="ignore", divide="ignore"):
                top = _nan_to(np.sqrt(np.maximum(high[i] * high[j], 0.0)), np.inf) * (
                    1.0 + RANK_OUT
                )
                np.maximum.at(low, k, -top)
                np.minimum.at(high, k, top)
                bottom = np.sqrt(low[i] * low[j]) * (1.0 - RANK_OUT)
                np.maximum.at(low, k, np.where(low[k] >= 0.0, bottom, -np.inf))
                np.minimum.at(high, k, np.where(high[k] <= 0.0, -bottom, np.inf))
                least = np.maximum(np.maximum(low[k], -high[k]), 0.0) ** 2 * (1.0 - RANK_OUT)
                most = np.maximum(high[k], -low[k]) ** 2 * (1.0 + RANK_OUT)
                for a, b in ((i, j), (j, i)):
                    np.maximum.at(low, a, _nan_to(least / high[b], 0.0))
                    np.minimum.at(high, a, _nan_to(most / low[b], np.inf))
            size = np.maximum(1.0, np.minimum(np.abs(low), np.abs(high)))
            if (low > high + EMPTY * size).any():
                return None
            # Ends that cross by rounding.
            low, high = np.minimum(low, high), np.maximum(low, high)
        return low, high

    def relaxed(self, lower: Array, upper: Array) -> MISDP:
        """Return the problem without the ranks, and with rows that hold in the box instead.

        Parameters
        ----------
        lower, upper : array of shape (E,)
            Tightened.

        Returns
        -------
        MISDP
            With E rows more for the box, and 2 P for the products.
        """
        problem = self.problem
        i, j, k = self.first, self.second, self.beside
        lowest, highest = lower[k], upper[k]
        rows, sides = [self.F], [(lower - self.F0, upper - self.F0)]
        for end in (lower, upper):
            a, b = end[j], end[i]
            good = np.isfinite(a) & np.isfinite(b) & np.isfinite(lowest) & np.isfinite(highest)
            a, b, l, u = (np.where(good, part, 0.0) for part in (a, b, lowest, highest))
            matrix = _scaled(self.F, a, i) + _scaled(self.F, b, j) - _scaled(self.F, l + u, k)
            constant = a * self.F0[i] + b * self.F0[j] - (l + u) * self.F0[k]
            terms = np.abs(a * b) + np.abs(l * u) + np.abs(constant)
            side = a * b - l * u - constant + RANK_OUT * terms
            rows.append(sp.csr_array(matrix))
            sides.append((np.full(len(k), -np.inf), np.where(good, side, np.inf)))
        return problem.with_changes(
            A=sp.vstack([problem.A, *rows], format="csr"),
            row_lower=np.concatenate([problem.row_lower, *(low for low, _ in sides)]),
            row_upper=np.concatenate([problem.row_upper, *(high for _, high in sides)]),
            blocks=[replace(block, rank_one=False) for block in problem.blocks],
        )


def _product(matrix: sp.csr_array, ends: Array) -> Array:
    """Return the product, in which zeros of the matrix meet infinite ends without harm."""
    return np.asarray(matrix @ np.where(np.isinf(ends), 0.0, ends)) + np.where(
        np.asarray(abs(matrix) @ np.isinf(ends).astype(float)) > 0.0,
        np.asarray(matrix @ np.where(np.isinf(ends), np.sign(ends), 0.0)) * np.inf,
        0.0,
    )


def _scaled(F: sp.csr_array, weights: Array, places: Array) -> sp.csr_array:
    return sp.csr_array(sp.diags_array(weights) @ F[places])


def _nan_to(values: Array, instead: float) -> Array:
    return np.where(np.isnan(values), instead, values)
