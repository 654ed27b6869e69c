r"""The standard form of conic solvers, as CVXPY writes it, to and from :class:`MISDP`.

.. math:: \min\; c'x \quad\text{subject to}\quad b - A x \in \{0\}^z \times R_+^l \times
          Q_{k_1} \times \dots \times S_{n_1} \times \dots

Matrices take all of their n^2 entries, column by column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp

from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import SecondOrderCone, SemidefiniteBlock, triangle
from sparseopt.problems.misdp.problem import MISDP


@dataclass(frozen=True, eq=False)
class StandardForm:
    """A problem in standard form.

    Attributes
    ----------
    c : array of shape (n,)
    A : csc array of shape (m, n)
    b : array of shape (m,)
    zero, nonnegative : int
        Lengths of the first two cones.
    orders : tuple of int
        Lengths of the second-order cones.
    sizes : tuple of int
        Orders of the matrices.
    boolean, integer : int arrays
        Variables in {0, 1}, and other integers.
    """

    c: Array
    A: sp.csc_array
    b: Array
    zero: int
    nonnegative: int
    orders: tuple[int, ...]
    sizes: tuple[int, ...]
    boolean: Array
    integer: Array

    def misdp(
        self,
        sense: Literal["min", "max"] = "min",
        offset: float = 0.0,
        names: list[str] | None = None,
    ) -> MISDP:
        """Return the problem; inequalities of one variable become bounds.

        Parameters
        ----------
        sense : {"min", "max"}, default "min"
            "max" for the maximum of -c'x.
        offset : float, default 0
        names : list of n str, optional
        """
        A = sp.csr_array(self.A)
        sign = 1.0 if sense == "min" else -1.0
        linear = self.zero + self.nonnegative
        lower, upper = self._boxes()
        kept, low, high = self._bounds(A[:linear], lower, upper)
        row_lower = np.where(np.arange(linear) < self.zero, self.b[:linear], -np.inf)
        cones, blocks, first = [], [], linear
        for order in self.orders:
            rows = slice(first, first + order)
            cones.append(SecondOrderCone(-A[rows], self.b[rows]))
            first += order
        for size in self.sizes:
            average = _average(size)
            rows = slice(first, first + size * size)
            F = sp.csr_array(-(average @ A[rows]))
            blocks.append(SemidefiniteBlock(F, average @ self.b[rows], size))
            first += size * size
        return MISDP(
            c=sign * self.c,
            A=A[kept] if len(kept) else None,
            row_lower=row_lower[kept] if len(kept) else None,
            row_upper=self.b[kept] if len(kept) else None,
            lower=low,
            upper=high,
            integer=np.union1d(self.boolean, self.integer).astype(np.int64),
            cones=cones,
            blocks=blocks,
            sense=sense,
            offset=offset,
            names=names,
        )

    def multipliers(self, fixed: Array) -> Array | None:
        """Return y of shape (m,), in the dual cone with c + A'y = 0 on the variables not fixed.

        Parameters
        ----------
        fixed : array of shape (n,)
            The values of the integers; the other entries are not used.

        Returns
        -------
        array or None
            None where Clarabel is not installed or finds none.
        """
        try:
            import clarabel
        except ImportError:
            return None
        free = np.setdiff1d(np.arange(len(self.c)), [*self.boolean, *self.integer])
        if len(free) == 0:
            return None
        whole = np.array(fixed, dtype=float)
        whole[free] = 0.0
        turn = self._turn()
        cones = [clarabel.ZeroConeT(self.zero), clarabel.NonnegativeConeT(self.nonnegative)]
        cones += [clarabel.SecondOrderConeT(order) for order in self.orders]
        cones += [clarabel.PSDTriangleConeT(size) for size in self.sizes]
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        answer = clarabel.DefaultSolver(
            sp.csc_matrix((len(free), len(free))),
            self.c[free],
            sp.csc_matrix(turn @ self.A[:, free]),
            turn @ (self.b - self.A @ whole),
            cones,
            settings,
        ).solve()
        if str(answer.status) not in ("Solved", "AlmostSolved"):
            return None
        return np.asarray(turn.T @ np.array(answer.z))

    def _turn(self) -> sp.csr_array:
        """Return the map to triangles, columns of the upper one, off-diagonals times sqrt(2)."""
        parts = [sp.eye_array(self.zero + self.nonnegative + sum(self.orders))]
        for size in self.sizes:
            rows, columns = triangle(size)
            scale = np.where(rows == columns, 1.0, np.sqrt(2.0))
            # The lower triangle row by row is the upper one column by column.
            order = np.lexsort((columns, rows))
            parts.append((sp.diags_array(scale) @ _average(size))[order])
        return sp.csr_array(sp.block_diag(parts, format="csr"))

    def _boxes(self) -> tuple[Array, Array]:
        lower, upper = np.full(len(self.c), -np.inf), np.full(len(self.c), np.inf)
        lower[self.boolean], upper[self.boolean] = 0.0, 1.0
        return lower, upper

    def _bounds(self, rows: sp.csr_array, lower: Array, upper: Array) -> tuple[Array, Array, Array]:
        """Return (rows that are left, lower, upper); bounds that would cross stay rows."""
        low, high = lower.copy(), upper.copy()
        single = np.flatnonzero(np.diff(rows.indptr) == 1)
        single = single[rows.data[rows.indptr[single]] != 0.0]
        entry = rows.data[rows.indptr[single]]
        column = rows.indices[rows.indptr[single]]
        end = self.b[single] / entry
        equal = single < self.zero
        for side, here, combine in (
            (high, equal | (entry > 0.0), np.minimum),
            (low, equal | (entry < 0.0), np.maximum),
        ):
            combine.at(side, column[here], end[here])
        crossed = low > high
        low[crossed], high[crossed] = lower[crossed], upper[crossed]
        return np.setdiff1d(np.arange(rows.shape[0]), single[~crossed[column]]), low, high


def _average(size: int) -> sp.csr_array:
    """Return the map from all entries of a matrix to the packed ones of its symmetric part."""
    rows, columns = triangle(size)
    place = np.arange(len(rows))
    half = np.full(len(rows), 0.5)
    return sp.csr_array(
        (
            np.concatenate([half, half]),
            (
                np.concatenate([place, place]),
                np.concatenate([rows + size * columns, columns + size * rows]),
            ),
        ),
        shape=(len(rows), size * size),
    )
