"""BLAS and LAPACK as compiled loops call them: square matrices and stacks of rows, C-contiguous."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparseopt.compiling import External
from sparseopt.problems.base import Array

from ...common.compiled import compiled_inside

_dgemm = External("blas", "dgemm", 13)
_dpotrf = External("lapack", "dpotrf", 5)
_dpotrs = External("lapack", "dpotrs", 8)
_dsytrd = External("lapack", "dsytrd", 10)
_dtrtri = External("lapack", "dtrtri", 6)


class Blas(NamedTuple):
    """What BLAS and LAPACK take by address.

    Attributes
    ----------
    letters : array of shape (3,)
        "N", "L" and "T".
    ints : array of shape (4,)
        Orders, and what a routine reports.
    reals : array of shape (2,)
        1 and 0.
    """

    letters: Array
    ints: Array
    reals: Array


@compiled_inside(makes_arrays=True)
def blas_room() -> Blas:
    """Return what the routines are called with; no two threads share it."""
    letters, reals = np.empty(3, np.uint8), np.empty(2)
    letters[0], letters[1], letters[2] = 78, 76, 84
    reals[0], reals[1] = 1.0, 0.0
    return Blas(letters, np.empty(4, np.int32), reals)


@compiled_inside
def multiply(A: Array, B: Array, C: Array, m: int, n: int, blas: Blas) -> None:
    """Write A B to C, A m x n, B n x n, C-contiguous."""
    letters, ints, reals = blas.letters, blas.ints, blas.reals
    ints[0], ints[1] = m, n
    _dgemm(
        letters.ctypes,
        letters.ctypes,
        ints[1:].ctypes,
        ints.ctypes,
        ints[1:].ctypes,
        reals.ctypes,
        B.ctypes,
        ints[1:].ctypes,
        A.ctypes,
        ints[1:].ctypes,
        reals[1:].ctypes,
        C.ctypes,
        ints[1:].ctypes,
    )


@compiled_inside
def against(A: Array, B: Array, C: Array, m: int, n: int, blas: Blas) -> None:
    """Write A B' to C, A and B m x n, C m x m, C-contiguous."""
    letters, ints, reals = blas.letters, blas.ints, blas.reals
    ints[0], ints[1] = m, n
    _dgemm(
        letters[2:].ctypes,
        letters.ctypes,
        ints.ctypes,
        ints.ctypes,
        ints[1:].ctypes,
        reals.ctypes,
        B.ctypes,
        ints[1:].ctypes,
        A.ctypes,
        ints[1:].ctypes,
        reals[1:].ctypes,
        C.ctypes,
        ints.ctypes,
    )


@compiled_inside
def transposed_times(A: Array, B: Array, C: Array, n: int, blas: Blas) -> None:
    """Write A'B to C, all n x n, C-contiguous."""
    letters, ints, reals = blas.letters, blas.ints, blas.reals
    ints[0] = n
    _dgemm(
        letters.ctypes,
        letters[2:].ctypes,
        ints.ctypes,
        ints.ctypes,
        ints.ctypes,
        reals.ctypes,
        B.ctypes,
        ints.ctypes,
        A.ctypes,
        ints.ctypes,
        reals[1:].ctypes,
        C.ctypes,
        ints.ctypes,
    )


@compiled_inside
def factorise(M: Array, n: int, blas: Blas) -> int:
    """Overwrite M by its Cholesky factor, in the triangle that is lower to Fortran."""
    letters, ints = blas.letters, blas.ints
    ints[0], ints[2] = n, 0
    _dpotrf(letters[1:].ctypes, ints.ctypes, M.ctypes, ints.ctypes, ints[2:].ctypes)
    info: int = ints[2]
    return info


@compiled_inside
def substitute(F: Array, right: Array, n: int, columns: int, blas: Blas) -> None:
    """Solve with the factor of :func:`factorise`, for columns of Fortran."""
    letters, ints = blas.letters, blas.ints
    ints[0], ints[1], ints[2] = n, columns, 0
    _dpotrs(
        letters[1:].ctypes,
        ints.ctypes,
        ints[1:].ctypes,
        F.ctypes,
        ints.ctypes,
        right.ctypes,
        ints.ctypes,
        ints[2:].ctypes,
    )


@compiled_inside
def inverse_factor(M: Array, G: Array, n: int, blas: Blas) -> int:
    """Write the upper triangular G with M^-1 = G G' to G; not 0 where M is not definite."""
    letters, ints = blas.letters, blas.ints
    for i in range(n * n):
        G[i] = M[i]
    ints[0], ints[1], ints[2] = n, n, 0
    _dpotrf(letters[1:].ctypes, ints.ctypes, G.ctypes, ints.ctypes, ints[2:].ctypes)
    if ints[2] == 0:
        _dtrtri(
            letters[1:].ctypes,
            letters.ctypes,
            ints.ctypes,
            G.ctypes,
            ints[1:].ctypes,
            ints[2:].ctypes,
        )
    for r in range(n):
        for c in range(r):
            G[r * n + c] = 0.0
    info: int = ints[2]
    return info


@compiled_inside
def tridiagonalise(W: Array, n: int, out: Array, blas: Blas) -> int:
    """Write the tridiagonal form of a symmetric W: its diagonal, then what is beside it.

    W is overwritten, and so is the rest of `out`, of which the routine needs 3 n and more; not 0
    after a failure.
    """
    letters, ints = blas.letters, blas.ints
    ints[0], ints[1], ints[2] = n, out.shape[0] - 3 * n, 0
    _dsytrd(
        letters[1:].ctypes,
        ints.ctypes,
        W.ctypes,
        ints.ctypes,
        out.ctypes,
        out[n:].ctypes,
        out[2 * n :].ctypes,
        out[3 * n :].ctypes,
        ints[1:].ctypes,
        ints[2:].ctypes,
    )
    info: int = ints[2]
    return info
