"""What the compiled interior points hold: an iterate, residuals, factors, and room for a step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparseopt.problems.base import Array

from ...common.compiled import compiled_inside, compiled_into
from .flat import BOUNDS, CONES, ROWS, ZERO, FlatProgram, K
from .members import HALF_ROOT


class Sides(NamedTuple):
    """The constants B of all blocks, as squares, and the bounds of the variables."""

    B: Array
    low: Array
    high: Array


class Iterate(NamedTuple):
    """x, nu, s and z of inequalities and cones, S and Z of all blocks; or a step of them."""

    x: Array
    nu: Array
    s: Array
    z: Array
    S: Array
    Z: Array


class Residual(NamedTuple):
    """-(q + E'nu + G'z + <A, Z>), e - E x, h - G x - s, and B - A(x) - S of all blocks."""

    d: Array
    e: Array
    s: Array
    S: Array


class Factors(NamedTuple):
    """Of all blocks S^-1, and G with G G' the inverse of S or of Z; H and its Cholesky factor.

    With equations also the rows of Y = H^-1 E', and the factor of E H^-1 E'. Of cones, at the
    places of their slacks, w, and eta^2.
    """

    inverse: Array
    GS: Array
    GZ: Array
    H: Array
    F: Array
    Y: Array
    EHE: Array
    w: Array
    eta_squared: Array


class Room(NamedTuple):
    """Room for the vectors and matrices of one step.

    Attributes
    ----------
    own, pulled : arrays of shape (k,)
        Multipliers of the bounds of each variable, and the pull of all others.
    right, rest : arrays of shape (k,)
        Right-hand side of H dx, and what is left of it.
    short : array
        What is missing of the equations.
    target : array of the length of s, M : array
        The parts of dz and dZ that do not depend on dx.
    row_products : array of the length of s, products : array
        ds dz / s (of cones what stands for it) and dZ dS of the predictor.
    W, V, T : arrays
        Three matrices of the largest order.
    tridiagonal : array
        See :func:`largest_step`.
    ones : int array of shape (k,)
        Members of rank one.
    stacks, pairs : arrays of shapes (3, k times the largest order) and (2, k^2)
        Their vectors, these times Z and times S^-1, and both forms of each pair.
    cone : array of shape (3, length of s)
    """

    own: Array
    pulled: Array
    right: Array
    rest: Array
    short: Array
    target: Array
    M: Array
    row_products: Array
    products: Array
    W: Array
    V: Array
    T: Array
    tridiagonal: Array
    ones: Array
    stacks: Array
    pairs: Array
    cone: Array


@compiled_into
def split(state: Array, program: FlatProgram) -> Iterate:
    """Return the parts of a state."""
    at_nu, at_s = program.shape[K], program.shape[K] + program.shape[ZERO]
    length = program.row_ptr.shape[0] - 1 - program.shape[ZERO]
    at_z = at_s + length
    at_S = at_z + length
    at_Z = (at_S + state.shape[0]) // 2
    return Iterate(
        state[:at_nu],
        state[at_nu:at_s],
        state[at_s:at_z],
        state[at_z:at_S],
        state[at_S:at_Z],
        state[at_Z:],
    )


@compiled_inside(makes_arrays=True)
def read_sides(program: FlatProgram) -> Sides:
    """Return the constants of the blocks, and the bounds of the variables."""
    k, cones, sizes, b = program.shape[K], program.shape[CONES], program.sizes, program.b
    row_ptr, row_col, row_val = program.row_ptr, program.row_col, program.row_val
    linear, area = program.shape[ZERO] + program.shape[ROWS], 0
    for t in range(cones, sizes.shape[0]):
        area += sizes[t] * sizes[t]
    B, low, high = np.zeros(area), np.full(k, -np.inf), np.full(k, np.inf)
    for i in range(linear - program.shape[BOUNDS], linear):
        e = row_ptr[i]
        end = b[i] / row_val[e]
        if row_val[e] < 0.0:
            low[row_col[e]] = end
        else:
            high[row_col[e]] = end
    at, row = 0, row_ptr.shape[0] - 1
    for t in range(cones, sizes.shape[0]):
        n = sizes[t]
        for c in range(n):
            for r in range(c, n):
                v = b[row] if r == c else b[row] * HALF_ROOT
                B[at + r * n + c] = B[at + c * n + r] = v
                row += 1
        at += n * n
    return Sides(B, low, high)


@compiled_inside(makes_arrays=True)
def room_of(program: FlatProgram) -> tuple[Residual, Factors, Room]:
    """Return room for the residuals, the factors and a step, so that the loops make no arrays."""
    k, zero, cones, area, widest = program.shape[K], program.shape[ZERO], program.shape[CONES], 0, 1
    for t in range(cones, program.sizes.shape[0]):
        n = program.sizes[t]
        area, widest = area + n * n, max(widest, n)
    length = program.row_ptr.shape[0] - 1 - zero
    of_k, of_zero, of_rows = np.empty((5, k)), np.empty((2, zero)), np.empty((7, length))
    areas, squares, schur = (
        np.empty((6, area)),
        np.empty((3, widest * widest)),
        np.empty((2, k * k)),
    )
    residual = Residual(of_k[0], of_zero[0], of_rows[0], areas[0])
    factors = Factors(
        areas[1],
        areas[2],
        areas[3],
        schur[0],
        schur[1],
        np.empty(zero * k),
        np.empty(zero * zero),
        of_rows[3],
        np.empty(cones),
    )
    room = Room(
        of_k[1],
        of_k[2],
        of_k[3],
        of_k[4],
        of_zero[1],
        of_rows[1],
        areas[4],
        of_rows[2],
        areas[5],
        squares[0],
        squares[1],
        squares[2],
        np.empty(36 * widest),
        np.empty(k, np.int64),
        np.empty((3, k * widest)),
        np.empty((2, k * k)),
        of_rows[4:],
    )
    return residual, factors, room
