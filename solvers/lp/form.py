"""The matrix of a parametric problem's linear program, whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseopt.errors import UnsupportedProblem
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.maps import GramMap, LinearMap, SparseMap
from sparseopt.problems.parametric.problem import PiecewiseLinearProgram

from .layout import Bounds, LPLayout


def _entries(A: LinearMap) -> tuple[bool, float]:
    """Choose between the entries of A and, for a Gram matrix X'X, those of X; count them."""
    m, p = A.shape
    if isinstance(A, SparseMap):
        return False, 2.0 * A.by_row.nnz
    if isinstance(A, GramMap) and 2 * A.entries < m * p:
        return True, 3.0 * A.entries
    return False, 2.0 * m * p


class LPForm(LPLayout):
    """The LP of a program with its matrix, which is built once.

    Where A is a Gram matrix X'X and X has far fewer entries, X theta becomes variables of its own:
    columns and rows that come last.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    lam : float, optional
        Build it for this value alone; see :class:`~sparseopt.solvers.lp.layout.Layout`.
    max_entries : float
        Largest number of matrix entries to form.
    backend : str
        The backend that needs them, for the message where they are too many.

    Raises
    ------
    UnsupportedProblem
        When the matrix would have more entries.
    """

    def __init__(
        self,
        program: PiecewiseLinearProgram,
        lam: float | None,
        max_entries: float,
        backend: str = "highs",
    ) -> None:
        m, p = program.A.shape
        self.factored, count = _entries(program.A)
        if count > max_entries:
            raise UnsupportedProblem(
                f"{backend} needs the entries of the {m} x {p} matrix, about {count:.1e} "
                f"numbers, and max_entries is {max_entries:.1e}: use the backend homotopy, which "
                "forms no matrix, or raise the option max_entries"
            )
        super().__init__(program, lam)
        self.extra = 0
        self.matrix = self._matrix()

    def _matrix(self) -> sp.csc_array:
        """Return the columns (variables, their fills, the rows' fills, X theta where factored)."""
        copies = self.variables.owner[self.variables.fill]
        owners = self.rows.owner[self.rows.fill]
        fills = sp.csc_array(
            (-np.ones(len(owners)), (owners, np.arange(len(owners)))), shape=(self.m, len(owners))
        )
        A = self.program.A
        if self.factored:
            assert isinstance(A, GramMap)
            X = sp.csc_array(A.factor())
            self.extra = X.shape[0]
            upper = sp.csc_array(X @ sp.diags_array(self.column_factor))
            size = abs(upper).max() or 1.0
            upper /= size
            lower = sp.csc_array((X @ sp.diags_array(self.row_factor * (size / A.divisor))).T)
            wide = sp.hstack([upper, upper[:, copies]])
            blocks: list[list[Any]] = [
                [None, fills, lower],
                [wide, None, -sp.identity(self.extra)],
            ]
            return sp.csc_array(sp.block_array(blocks, format="csc"))
        entries = A.as_array()
        scaled = sp.csc_array(sp.diags_array(self.row_factor) @ sp.csc_array(entries))
        scaled = sp.csc_array(scaled @ sp.diags_array(self.column_factor))
        return sp.csc_array(sp.hstack([scaled, scaled[:, copies], fills], format="csc"))

    def bounds(self, lam: float) -> Bounds:
        """Return the costs and bounds at lam."""
        plain = super().bounds(lam)
        none, free = np.zeros(self.extra), np.full(self.extra, np.inf)
        return Bounds(
            cost=np.append(plain.cost, none),
            column_low=np.append(plain.column_low, -free),
            column_high=np.append(plain.column_high, free),
            row_low=np.append(plain.row_low, none),
            row_high=np.append(plain.row_high, none),
            scaling=plain.scaling,
        )

    def first_basis(self) -> tuple[Array, Array]:
        """Return which columns and rows are basic in the slack basis (and X theta is free)."""
        columns = np.zeros(self.matrix.shape[1], dtype=bool)
        columns[columns.size - self.extra :] = True
        rows = np.ones(self.matrix.shape[0], dtype=bool)
        rows[self.m :] = False
        return columns, rows

    def codes(
        self, basic: tuple[Array, Array], values: tuple[Array, Array], lam: float
    ) -> Array | None:
        own = self.matrix.shape[1] - self.extra
        if self.extra and not (basic[0][own:].all() and not basic[1][self.m :].any()):
            return None
        return super().codes(basic, values, lam)
