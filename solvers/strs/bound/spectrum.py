r"""The largest eigenvalues of a symmetric matrix with their vectors, and a smooth maximum of them.

.. math:: \lambda_{max}(M) \le \max_{p \in \Delta} \; p'\lambda
          + \tfrac{\tau}{2} \sum_i p_i (1 - p_i) \le \lambda_{max}(M) + \tfrac{\tau}{2}

The maximum over the simplex keeps the eigenvalues above a threshold, :math:`p_i = (\lambda_i -
\nu)_+ / \tau`, most often few of them, so the others need not be known. LAPACK reduces the matrix
to tridiagonal form once and is then asked for as many eigenpairs as have a weight; it is called by
its names in SciPy, since numba's own linear algebra takes seconds to compile.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from sparseopt.compiling import External
from sparseopt.problems.base import Array

from ...common.compiled import compiled, compiled_inside
from ..settings import FEW_EIGENPAIRS, LAPACK_BLOCK

_dsyrk = External("blas", "dsyrk", 10)
_dsytrd = External("lapack", "dsytrd", 10)
_dstemr = External("lapack", "dstemr", 21)
_dormtr = External("lapack", "dormtr", 13)
_dsyevd = External("lapack", "dsyevd", 11)

_V, _I, _L, _N = range(4)
"""Places of LAPACK's letters: vectors, a range of indices, lower (or left), as it is."""
_SIZE, _FIRST, _ASKED, _FOUND, _ACCURATE, _WORK, _INTEGERS, _INFO = range(8)
"""Places of LAPACK's integers."""
_SMALL = 100
"""Sizes up to which all eigenpairs take plain Python less than the steps to a few of them."""


@compiled
def copy_into(source: Array, target: Array) -> None:
    """Copy a vector. An assignment to a slice would compile the text of its error message.

    Parameters
    ----------
    source, target : arrays of shape (n,)
        The target is overwritten.
    """
    for i in range(source.shape[0]):
        target[i] = source[i]


@copy_into.in_numpy
def _(source: Array, target: Array) -> None:
    target[:] = source


@compiled_inside(makes_arrays=True)
def letters() -> Array:
    """Return the codes of V, I, L and N."""
    codes = np.empty(4, np.uint8)
    codes[_V], codes[_I], codes[_L], codes[_N] = 86, 73, 76, 78
    return codes


@compiled
def gram(V: Array, p: Array) -> Array:
    """Return V' diag(p) V of a C-contiguous V of shape (k, n), which is changed, and p >= 0.

    Parameters
    ----------
    V : array of shape (k, n)
        C-contiguous; its rows are multiplied with the roots of p.
    p : array of shape (k,)

    Returns
    -------
    array of shape (n, n)
    """
    k, n = V.shape
    for r in range(k):
        root = sqrt(p[r])
        for j in range(n):
            V[r, j] *= root
    Z = np.empty((n, n))
    sizes, factors, code = np.empty(2, np.int32), np.empty(2), letters()
    sizes[0], sizes[1] = n, k
    factors[0], factors[1] = 1.0, 0.0
    # As Fortran sees it V is V', and its lower triangle of Z the upper one.
    _dsyrk(
        code[_L:].ctypes,
        code[_N:].ctypes,
        sizes.ctypes,
        sizes[1:].ctypes,
        factors.ctypes,
        V.ctypes,
        sizes.ctypes,
        factors[1:].ctypes,
        Z.ctypes,
        sizes.ctypes,
    )
    for i in range(n):
        for j in range(i):
            Z[i, j] = Z[j, i]
    return Z


@gram.in_numpy
def _(V: Array, p: Array) -> Array:
    V *= np.sqrt(p)[:, None]
    return V.T @ V


@compiled_inside(makes_arrays=True)
def top_weights(values: Array, tau: float) -> tuple[int, float]:
    """Return how many eigenvalues, the last of an increasing array, have a weight, and nu - top.

    Parameters
    ----------
    values : array of shape (n,)
        Increasing.
    tau : float
        Temperature, > 0.

    Returns
    -------
    count : int
    nu : float
        The threshold, less the largest eigenvalue.
    """
    n = values.shape[0]
    total, nu = 0.0, -np.inf
    count = 0
    # Differences to the largest one, whose roundings are of their own size.
    for k in range(1, n + 1):
        below = values[n - k] - values[n - 1]
        if below <= nu:
            break
        total += below
        count = k
        nu = (total - tau) / k
    return count, nu


@compiled_inside(makes_arrays=True)
def weigh(values: Array, count: int, nu: float, tau: float) -> tuple[float, Array]:
    """Return the smoothed maximum less the largest eigenvalue, and the weights that count.

    Parameters
    ----------
    values : array of shape (n,)
        Increasing.
    count : int
        Number of eigenvalues with a weight, of :func:`top_weights`.
    nu : float
        The threshold, less the largest eigenvalue.
    tau : float
        Temperature, > 0.

    Returns
    -------
    more : float
    p : array of shape (count,)
    """
    p = np.empty(count)
    n = values.shape[0]
    top = values[n - 1]
    more = 0.0
    for k in range(count):
        below = values[n - count + k] - top
        p[k] = (below - nu) / tau
        more += p[k] * below + 0.5 * tau * p[k] * (1.0 - p[k])
    return more, p


@compiled_inside(makes_arrays=True)
def all_eigenpairs(M: Array) -> tuple[Array, Array]:
    """Return the eigenvalues, increasing, and the eigenvectors as rows. O(n^3).

    Parameters
    ----------
    M : array of shape (n, n)
        Symmetric, C-contiguous.

    Returns
    -------
    values : array of shape (n,)
    vectors : array of shape (n, n)
    """
    n = M.shape[0]
    integers, code = np.empty(8, np.int32), letters()
    integers[_SIZE], integers[_WORK], integers[_INTEGERS] = n, 1 + 6 * n + 2 * n * n, 3 + 5 * n
    values, vectors = np.empty(n), np.empty((n, n))
    copy_into(M.ravel(), vectors.ravel())
    work, more = np.empty(integers[_WORK]), np.empty(integers[_INTEGERS], np.int32)
    _dsyevd(
        code[_V:].ctypes,
        code[_L:].ctypes,
        integers[_SIZE:].ctypes,
        vectors.ctypes,
        integers[_SIZE:].ctypes,
        values.ctypes,
        work.ctypes,
        integers[_WORK:].ctypes,
        more.ctypes,
        integers[_INTEGERS:].ctypes,
        integers[_INFO:].ctypes,
    )
    if integers[_INFO] != 0:
        raise ValueError("the eigenvalues of a row bound did not converge")
    return values, vectors


@compiled_inside(makes_arrays=True)
def top_eigenpairs(M: Array, tau: float, asked: int) -> tuple[int, float, Array, Array]:
    """Return how many eigenvalues have a weight, nu - top, some eigenvalues, and the vectors.

    At first `asked` eigenpairs are computed, then twice as many, until one of them has no weight. 0
    for the count where this would be more than n / 6 of them, or LAPACK failed.

    Parameters
    ----------
    M : array of shape (n, n)
        Symmetric, C-contiguous.
    tau : float
        Temperature, > 0.
    asked : int
        Number of eigenpairs to start with.

    Returns
    -------
    count : int
    nu : float
        The threshold, less the largest eigenvalue.
    values : array of shape (asked,)
        The largest eigenvalues, increasing; empty where count is 0.
    vectors : array of shape (count, n)
    """
    n = M.shape[0]
    integers, code = np.empty(8, np.int32), letters()
    integers[_SIZE], integers[_WORK], integers[_INTEGERS] = n, LAPACK_BLOCK * n, 10 * n
    reduced = np.empty((n, n))
    copy_into(M.ravel(), reduced.ravel())
    # Diagonal, what is beside it, reflectors; copies of the first two; a dummy.
    lines, values = np.empty((6, n)), np.empty(n)
    work, more = np.empty(LAPACK_BLOCK * n), np.empty(12 * n, np.int32)
    _reduce(code, integers, reduced, lines, work)
    while asked * FEW_EIGENPAIRS <= n:
        vectors = np.empty((asked, n))
        if not _largest_pairs(code, integers, lines, values, vectors, work, more):
            break
        count, nu = top_weights(values[:asked], tau)
        if count < asked:
            kept = vectors[asked - count :]
            _turn_back(code, integers, reduced, lines, kept, work)
            return count, nu, values[:asked], kept
        asked *= 2
    return 0, 0.0, values[:0], reduced


@compiled_inside
def _reduce(code: Array, integers: Array, reduced: Array, lines: Array, work: Array) -> None:
    """Turn a symmetric matrix into a tridiagonal one, in place; its `lines` and the reflectors."""
    diagonal, beside, reflectors = lines[0], lines[1], lines[2]
    _dsytrd(
        code[_L:].ctypes,
        integers[_SIZE:].ctypes,
        reduced.ctypes,
        integers[_SIZE:].ctypes,
        diagonal.ctypes,
        beside.ctypes,
        reflectors.ctypes,
        work.ctypes,
        integers[_WORK:].ctypes,
        integers[_INFO:].ctypes,
    )


@compiled_inside
def _largest_pairs(
    code: Array,
    integers: Array,
    lines: Array,
    values: Array,
    vectors: Array,
    work: Array,
    more: Array,
) -> bool:
    """Compute the largest eigenpairs of the tridiagonal matrix; False where LAPACK fails."""
    asked, n = vectors.shape
    d, e, unused = lines[3], lines[4], lines[5]
    isolated, integer_work = more[: 2 * n], more[2 * n :]
    integers[_FIRST], integers[_ASKED], integers[_ACCURATE] = n - asked + 1, asked, 1
    copy_into(lines[0], d)
    copy_into(lines[1], e)
    _dstemr(
        code[_V:].ctypes,
        code[_I:].ctypes,
        integers[_SIZE:].ctypes,
        d.ctypes,
        e.ctypes,
        unused.ctypes,
        unused.ctypes,
        integers[_FIRST:].ctypes,
        integers[_SIZE:].ctypes,
        integers[_FOUND:].ctypes,
        values.ctypes,
        vectors.ctypes,
        integers[_SIZE:].ctypes,
        integers[_ASKED:].ctypes,
        isolated.ctypes,
        integers[_ACCURATE:].ctypes,
        work.ctypes,
        integers[_WORK:].ctypes,
        integer_work.ctypes,
        integers[_INTEGERS:].ctypes,
        integers[_INFO:].ctypes,
    )
    return bool(integers[_INFO] == 0 and integers[_FOUND] == asked)


@compiled_inside
def _turn_back(
    code: Array, integers: Array, reduced: Array, lines: Array, vectors: Array, work: Array
) -> None:
    """Turn eigenvectors of the tridiagonal matrix into those of the matrix it was made of."""
    reflectors = lines[2]
    integers[_ASKED] = vectors.shape[0]
    _dormtr(
        code[_L:].ctypes,
        code[_L:].ctypes,
        code[_N:].ctypes,
        integers[_SIZE:].ctypes,
        integers[_ASKED:].ctypes,
        reduced.ctypes,
        integers[_SIZE:].ctypes,
        reflectors.ctypes,
        vectors.ctypes,
        integers[_SIZE:].ctypes,
        work.ctypes,
        integers[_WORK:].ctypes,
        integers[_INFO:].ctypes,
    )


@compiled
def smoothed_maximum(M: Array, tau: float, guess: int) -> tuple[float, float, Array, Array]:
    """Return the largest eigenvalue, its smoothed value, and the weights and vectors that count.

    Parameters
    ----------
    M : array of shape (n, n)
        Symmetric, C-contiguous.
    tau : float
        Temperature, > 0.
    guess : int
        How many eigenvalues may have a weight; any number will do.

    Returns
    -------
    top, smooth : float
    p : array of shape (k,)
        Positive weights with the sum 1.
    V : array of shape (k, n)
        The eigenvectors, as rows.
    """
    n = M.shape[0]
    asked = min(n, max(2, guess + 2))
    count = 0
    if asked * FEW_EIGENPAIRS <= n:
        count, nu, values, V = top_eigenpairs(M, tau, asked)
    if count == 0:
        values, everything = all_eigenpairs(M)
        count, nu = top_weights(values, tau)
        V = everything[n - count :]
    more, p = weigh(values, count, nu, tau)
    top = values[values.shape[0] - 1]
    return top, top + more, p, V


@smoothed_maximum.in_numpy
def _(M: Array, tau: float, guess: int) -> tuple[float, float, Array, Array]:
    if len(M) > _SMALL:
        found: tuple[float, float, Array, Array] = smoothed_maximum.py_func(M, tau, guess)
        return found
    values, vectors = np.linalg.eigh(M)
    count, nu = top_weights(values, tau)
    more, p = weigh(values, count, nu, tau)
    return values[-1], values[-1] + more, p, vectors.T[len(M) - count :].copy()
