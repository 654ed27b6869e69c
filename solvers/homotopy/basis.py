"""The basis: which coordinates are at a kink, which on a piece, and the kernel between them."""

from __future__ import annotations

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.solvers.homotopy.program import ScaledProgram

__all__ = ["Basis", "SingularKernel"]

_REFACTOR_AFTER = 60
"""Pivots between two fresh factorizations of the kernel."""


class SingularKernel(ArithmeticError):
    """The kernel cannot be inverted to working accuracy."""


class Basis:
    r"""A basis, with the values that belong to it.

    Code 2k of a coordinate says that it is on its piece k, code 2k + 1 that it is at its kink k.
    With C the variables on a piece and R the rows at a kink, the kernel is ``B = A[R, C]``, k x k.

    Each coordinate has one quantity that may still move: its value z_i when it is on a piece, its
    multiplier v_i when it is at a kink. `w` holds it, `low` and `high` the two kinks or the two
    slopes that it must stay between; each with the components (constant, rate in lam,
    perturbation), shape (3, n).
    """

    def __init__(self, program: ScaledProgram, codes: Array) -> None:
        self.program = program
        self.codes = codes.astype(np.int16)
        n, p = program.n, program.p
        on_piece = self.codes % 2 == 0
        self.C = [int(j) for j in np.flatnonzero(on_piece[:p])]
        self.R = [int(i) for i in np.flatnonzero(~on_piece[p:])]
        if len(self.C) != len(self.R):
            raise ValueError(f"{len(self.C)} variables on pieces, {len(self.R)} rows at kinks")
        self.w = np.zeros((3, n))
        self.low = np.full((3, n), -np.inf)
        self.high = np.full((3, n), np.inf)
        self.inverse = np.zeros((0, 0))
        self.pivots = 0
        self.refresh()

    # ---- from the codes to the values

    def refresh(self) -> None:
        """Factor the kernel anew and recompute all values from the codes.

        Raises
        ------
        SingularKernel
        """
        self._factor()
        self._limits(np.arange(self.program.n))
        self._solve()
        self.pivots = 0

    @property
    def needs_refresh(self) -> bool:
        """Whether enough pivots have passed to factor the kernel anew."""
        return self.pivots >= _REFACTOR_AFTER

    def _factor(self) -> None:
        kernel = self.program.block(np.array(self.R, int), np.array(self.C, int))
        self.kernel = kernel
        try:
            inverse = np.linalg.inv(kernel)
        except np.linalg.LinAlgError as error:
            raise SingularKernel(str(error)) from error
        if len(kernel) and not np.abs(kernel @ inverse - np.eye(len(kernel))).max() < 1e-6:
            raise SingularKernel("the kernel is singular to working accuracy")
        self.inverse = inverse

    def _limits(self, coordinates: Array) -> None:
        """Set low and high of some coordinates from their codes."""
        program = self.program
        code = self.codes[coordinates].astype(np.int64)
        first, last = program.kink_ptr[coordinates], program.kink_ptr[coordinates + 1]
        index = code // 2
        kinked = code % 2 == 1
        at = coordinates[kinked]
        slope = program.slope_ptr[at] + index[kinked]
        self.low[:, at] = program.slopes[:, slope]
        self.high[:, at] = program.slopes[:, slope + 1]
        for limit, position, empty in (
            (self.low, first + index - 1, -np.inf),
            (self.high, first + index, np.inf),
        ):
            inside = ~kinked & (position >= first) & (position < last)
            limit[:, coordinates[inside]] = program.kinks[:, position[inside]]
            outside = coordinates[~kinked & ~inside]
            limit[0, outside] = empty
            limit[1:, outside] = 0.0

    def kink_value(self, coordinates: Array) -> Array:
        """Return the kinks that the coordinates are at, shape (3, len)."""
        index = self.codes[coordinates].astype(np.int64) // 2
        return self.program.kinks[:, self.program.kink_ptr[coordinates] + index]

    def piece_slope(self, coordinates: Array) -> Array:
        """Return the slopes of the pieces that the coordinates are on, shape (3, len)."""
        index = self.codes[coordinates].astype(np.int64) // 2
        return self.program.slopes[:, self.program.slope_ptr[coordinates] + index]

    def solution(self) -> tuple[Array, Array]:
        """Return theta (3, p) and nu (3, m) of the current values."""
        p, n = self.program.p, self.program.n
        on_piece = self.codes % 2 == 0
        theta, nu = self.w[:, :p].copy(), self.w[:, p:].copy()
        fixed = np.flatnonzero(~on_piece[:p])
        theta[:, fixed] = self.kink_value(fixed)
        sloped = p + np.flatnonzero(on_piece[p:n])
        nu[:, sloped - p] = self.piece_slope(sloped)
        return theta, nu

    def _solve(self) -> None:
        """Solve the kernel systems for the values of the basis (module docstring of `engine`)."""
        program = self.program
        p = program.p
        C, R = np.array(self.C, int), np.array(self.R, int)
        on_piece = self.codes % 2 == 0
        fixed = np.flatnonzero(~on_piece[:p])
        sloped = np.flatnonzero(on_piece[p:])

        theta_fixed = self.kink_value(fixed).T
        moved = np.any(theta_fixed != 0.0, axis=1)
        rows = program.times(fixed[moved], theta_fixed[moved])
        theta_C = self._forward(self.kink_value(p + R).T - rows[R])
        rows = rows + program.times(C, theta_C)

        nu_sloped = self.piece_slope(p + sloped).T
        moved = np.any(nu_sloped != 0.0, axis=1)
        back = program.transpose_times(sloped[moved], nu_sloped[moved])
        nu_R = self._backward(-self.piece_slope(C).T - back[C])
        back = back + program.transpose_times(R, nu_R)

        self.w[:, C] = theta_C.T
        self.w[:, fixed] = -back[fixed].T
        self.w[:, p + R] = nu_R.T
        self.w[:, p + sloped] = rows[sloped].T

    def _forward(self, rhs: Array) -> Array:
        """Solve B x = rhs with one step of refinement."""
        x = self.inverse @ rhs
        return x + self.inverse @ (rhs - self.kernel @ x)

    def _backward(self, rhs: Array) -> Array:
        """Solve B' x = rhs with one step of refinement."""
        x = self.inverse.T @ rhs
        return x + self.inverse.T @ (rhs - self.kernel.T @ x)

    # ---- rays

    def dual_ray(self, u: int) -> Array:
        """Return how the multipliers move when that of the coordinate `u`, on a piece, grows by 1.

        All other coordinates on pieces keep theirs. Shape (n,), 0 for coordinates on pieces; one
        product with A[R, :].
        """
        p, n = self.program.p, self.program.n
        C, R = np.array(self.C, int), np.array(self.R, int)
        if u < p:
            delta = -self.inverse[self.C.index(u)]
            back = self.program.transpose_times(R, delta)
        else:
            row = np.array([u - p])
            delta = -(self.program.block(row, C)[0] @ self.inverse)
            back = self.program.transpose_times(np.append(R, row), np.append(delta, 1.0))
        ray = np.zeros(n)
        ray[:p] = -back
        ray[C] = 0.0
        ray[p + R] = delta
        ray[u] = 1.0
        return ray

    def primal_ray(self, w: int) -> Array:
        """Return how the values move when that of the coordinate `w`, at a kink, grows by 1.

        All other coordinates at kinks stay there. Shape (n,), 0 for coordinates at kinks; one
        product with A[:, C].
        """
        p, n = self.program.p, self.program.n
        C, R = np.array(self.C, int), np.array(self.R, int)
        if w >= p:
            delta = self.inverse[:, self.R.index(w - p)]
            rows = self.program.times(C, delta)
        else:
            column = np.array([w])
            delta = -(self.inverse @ self.program.block(R, column)[:, 0])
            rows = self.program.times(np.append(C, column), np.append(delta, 1.0))
        ray = np.zeros(n)
        ray[p:] = rows
        ray[p + R] = 0.0
        ray[C] = delta
        ray[w] = 1.0
        return ray

    # ---- changes of basis

    def exchange(self, u: int, u_code: int, w: int, w_code: int) -> None:
        """Put `u` at a kink and `w` on a piece, and update the kernel's inverse in O(k^2)."""
        p = self.program.p
        if u < p and w < p:
            self._replace_column(self.C.index(u), w)
        elif u >= p and w >= p:
            self._replace_row(self.R.index(w - p), u - p)
        elif u < p:
            self._shrink(self.R.index(w - p), self.C.index(u))
        else:
            self._grow(u - p, w)
        self.codes[u], self.codes[w] = u_code, w_code
        self.pivots += 1

    def _replace_column(self, position: int, variable: int) -> None:
        column = self.program.block(np.array(self.R, int), np.array([variable]))[:, 0]
        self.kernel[:, position] = column
        image = self.inverse @ column
        row = self.inverse[position] / image[position]
        self.inverse -= np.outer(image, row)
        self.inverse[position] = row
        self.C[position] = variable

    def _replace_row(self, position: int, row_index: int) -> None:
        row = self.program.block(np.array([row_index]), np.array(self.C, int))[0]
        self.kernel[position] = row
        image = row @ self.inverse
        column = self.inverse[:, position] / image[position]
        self.inverse -= np.outer(column, image)
        self.inverse[:, position] = column
        self.R[position] = row_index

    def _grow(self, row_index: int, variable: int) -> None:
        R, C = np.array(self.R, int), np.array(self.C, int)
        one_row, one_column = np.array([row_index]), np.array([variable])
        column = self.program.block(R, one_column)
        row = self.program.block(one_row, C)
        corner = self.program.block(one_row, one_column)
        image, coimage = self.inverse @ column, row @ self.inverse
        pivot = corner[0, 0] - (row @ image)[0, 0]
        self.inverse = np.block(
            [
                [self.inverse + image @ coimage / pivot, -image / pivot],
                [-coimage / pivot, np.array([[1.0 / pivot]])],
            ]
        )
        self.kernel = np.block([[self.kernel, column], [row, corner]])
        self.R.append(row_index)
        self.C.append(variable)

    def _shrink(self, row_position: int, column_position: int) -> None:
        """Remove a row of the kernel and a column: the inverse's Schur complement remains."""
        pivot = self.inverse[column_position, row_position]
        column = self.inverse[:, row_position]
        row = self.inverse[column_position]
        rest = self.inverse - np.outer(column, row) / pivot
        self.inverse = np.delete(np.delete(rest, column_position, 0), row_position, 1)
        self.kernel = np.delete(np.delete(self.kernel, row_position, 0), column_position, 1)
        del self.R[row_position]
        del self.C[column_position]

    def set_limits(self, *coordinates: int) -> None:
        """Set low and high of coordinates whose code has changed."""
        self._limits(np.array(coordinates))
