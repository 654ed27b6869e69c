"""The program as the engine sees it: equilibrated, with its kinks and slopes as affine rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from sparseopt.problems import LinearMap, PiecewiseLinearProgram
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.maps import DenseMap, SparseMap, as_linear_map

__all__ = ["ScaledProgram"]


_SHARED = 2**23
"""Entries from which on a matrix is not copied: compiled loops take it, which do not change it."""


class _Memory:
    """The memory of an array, of which numpy makes one that is not marked as read-only."""

    def __init__(self, array: Array) -> None:
        interface = array.__array_interface__
        self.__array_interface__ = {**interface, "data": (interface["data"][0], False)}
        self._owner = array


def _balance(kinks: Array, slopes: Array) -> float:
    """Return the power of two over which kinks, and times which slopes, are of one size.

    Their sizes are the medians of what is not 0. Large kinks beside small slopes, or the reverse,
    as of a response in far units, would be told from 0 by other digits than their own.
    """
    logs = []
    for lines in (kinks, slopes):
        sizes = np.abs(lines[(lines != 0.0) & np.isfinite(lines)])
        if len(sizes) == 0:
            return 1.0
        logs.append(float(np.log2(np.median(sizes))))
    return float(2.0 ** round((logs[0] - logs[1]) / 2.0))


@dataclass(frozen=True, eq=False)
class ScaledProgram:
    r"""The program in the scaled variables theta / column and rows r * row.

    The factors are powers of two, so that scaling and unscaling are free of rounding. All n = p + m
    coordinates are treated alike, the variables first: coordinate i has the value z_i, the
    multiplier v_i, the kinks ``kinks[:, kink_ptr[i]:kink_ptr[i + 1]]`` and the slopes
    ``slopes[:, slope_ptr[i]:slope_ptr[i + 1]]``. The three components of each are its
    constant, its rate in lam, and its symbolic perturbation (see `perturb`).
    """

    A: LinearMap
    row: Array
    column: Array
    kink_ptr: Array
    slope_ptr: Array
    kinks: Array
    slopes: Array
    products: dict[bool, Any] = field(default_factory=dict)
    """What was made of the matrix to multiply with it (see `products`), for all variants."""

    @classmethod
    def from_program(cls, program: PiecewiseLinearProgram) -> Self:
        """Equilibrate a program."""
        row, column = program.A.scales()
        phi, psi = program.phi, program.psi
        kink_ptr = np.concatenate([phi.ptr, phi.ptr[-1] + psi.ptr[1:]])
        slope_ptr = kink_ptr + np.arange(len(kink_ptr))
        factor = np.concatenate([1.0 / column, row])
        kinks, slopes = np.zeros((3, kink_ptr[-1])), np.zeros((3, slope_ptr[-1]))
        cut = len(phi.kink)
        kinks[0, :cut], kinks[0, cut:] = phi.kink, psi.kink
        kinks[1, :cut], kinks[1, cut:] = phi.kink_rate, psi.kink_rate
        kinks[:2] *= np.repeat(factor, np.diff(kink_ptr))
        cut = len(phi.slope)
        slopes[0, :cut], slopes[0, cut:] = phi.slope, psi.slope
        slopes[1, :cut], slopes[1, cut:] = phi.slope_rate, psi.slope_rate
        slopes[:2] /= np.repeat(factor, np.diff(slope_ptr))
        if not program.A.symmetric:
            # A factor of all rows, with its inverse for all columns, leaves the matrix as it is.
            unit = _balance(kinks, slopes)
            kinks /= unit
            slopes *= unit
            row, column = row / unit, column * unit
        return cls(program.A, row, column, kink_ptr, slope_ptr, kinks, slopes)

    @property
    def p(self) -> int:
        """Number of variables."""
        return self.A.shape[1]

    @property
    def n(self) -> int:
        """Number of coordinates, variables and rows."""
        return self.A.shape[0] + self.A.shape[1]

    # ---- products with the scaled matrix

    def block(self, rows: Array, columns: Array) -> Array:
        """Return the scaled A[rows, columns]."""
        block = self.A.block(rows, columns)
        block *= self.row[rows][:, None]
        block *= self.column[columns]
        return block

    def whole(self) -> Array:
        """Return the scaled A, dense and not to be changed: a large one may be the problem's own.

        Compiled loops take it as an array that could be changed, as any other.
        """
        entries = self.A.as_array()
        factors = [factor for factor in (self.row[:, None], self.column) if (factor != 1.0).any()]
        matrix: Array
        if not isinstance(entries, np.ndarray):
            matrix = entries.toarray()
        elif factors or not entries.flags.c_contiguous or entries.size < _SHARED:
            matrix = np.array(entries, order="C")
        else:
            return np.asarray(_Memory(entries))
        for factor in factors:
            matrix *= factor
        return matrix

    def times(self, columns: Array, v: Array) -> Array:
        """Return the scaled A[:, columns] v, for v of shape (k,) or (k, q)."""
        weight = self.column[columns]
        weighted = weight * v if v.ndim == 1 else weight[:, None] * v
        product = self.A.times(columns, weighted)
        product *= self.row if v.ndim == 1 else self.row[:, None]
        return product

    def transpose_times(self, rows: Array, u: Array) -> Array:
        """Return the scaled A[rows]' u, for u of shape (k,) or (k, q)."""
        weight = self.row[rows]
        weighted = weight * u if u.ndim == 1 else weight[:, None] * u
        product = self.A.transpose_times(rows, weighted)
        product *= self.column if u.ndim == 1 else self.column[:, None]
        return product

    # ---- variants of the same program

    def with_row_kinks(self, kink: Array) -> ScaledProgram:
        """Return the program with other constants of the rows' kinks, in the user's units."""
        of_rows = self.kink_ptr[self.p]
        kinks = self.kinks.copy()
        kinks[0, of_rows:] = kink * np.repeat(self.row, np.diff(self.kink_ptr[self.p :]))
        return self.with_pieces(kinks, self.slopes)

    def with_pieces(self, kinks: Array, slopes: Array) -> ScaledProgram:
        """Return the program with other kinks and slopes."""
        return replace(self, kinks=kinks, slopes=slopes)

    def reversed(self) -> ScaledProgram:
        """Return the program in the parameter -lam, to follow the path upwards."""
        flip = np.array([[1.0], [-1.0], [1.0]])
        slopes = self.slopes * flip
        return self.with_pieces(self.kinks * flip, slopes)

    def restricted(self, columns: Array) -> ScaledProgram:
        """Return the program of some variables, the others being 0."""
        A = DenseMap(self.A.block(np.arange(self.A.shape[0]), columns))
        pieces = self._pieces(np.concatenate([columns, np.arange(self.p, self.n)]))
        return ScaledProgram(A, self.row, self.column[columns], *pieces)

    @property
    def has_entries(self) -> bool:
        """Whether the matrix is one of numbers, dense or sparse, of which rows can be taken."""
        return isinstance(self.A, DenseMap | SparseMap) and not self.A.symmetric

    def sampled(self, rows: Array) -> ScaledProgram:
        """Return the program of a sample of the rows, in the place of all: m/k times of each."""
        A = as_linear_map(self.A.as_array()[rows])
        kink_ptr, slope_ptr, kinks, slopes = self._pieces(
            np.concatenate([np.arange(self.p), self.p + rows])
        )
        slopes[:, slope_ptr[self.p] :] *= self.A.shape[0] / len(rows)
        return ScaledProgram(A, self.row[rows], self.column, kink_ptr, slope_ptr, kinks, slopes)

    def _pieces(self, coordinates: Array) -> tuple[Array, Array, Array, Array]:
        """Return the kink_ptr, slope_ptr, kinks and slopes of some coordinates."""
        parts = []
        for part, ptr in ((self.kinks, self.kink_ptr), (self.slopes, self.slope_ptr)):
            counts = np.diff(ptr)[coordinates]
            starts = np.concatenate([[0], np.cumsum(counts)])
            within = np.arange(starts[-1]) - np.repeat(starts[:-1], counts)
            places = np.repeat(ptr[coordinates], counts) + within
            parts.append((starts, part.take(places, axis=1)))
        (kink_ptr, kinks), (slope_ptr, slopes) = parts
        return kink_ptr, slope_ptr, kinks, slopes

    # ---- back to the user's units

    def theta(self, scaled: Array) -> Array:
        """Return coefficients in the user's units, for `scaled` of shape (p,) or (p, q)."""
        return self.column * scaled if scaled.ndim == 1 else self.column[:, None] * scaled

    def nu(self, scaled: Array) -> Array:
        """Return row multipliers in the user's units."""
        return self.row * scaled if scaled.ndim == 1 else self.row[:, None] * scaled
