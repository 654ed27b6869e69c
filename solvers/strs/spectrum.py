r"""The largest eigenvalues of a symmetric matrix with their vectors, and a smooth maximum of them.

.. math:: \lambda_{max}(M) \le \max_{p \in \Delta} \; p'\lambda
          + \tfrac{\tau}{2} \sum_i p_i (1 - p_i) \le \lambda_{max}(M) + \tfrac{\tau}{2}

The maximum over the simplex keeps the eigenvalues above a threshold, :math:`p_i = (\lambda_i -
\nu)_+ / \tau`, most often few of them, so the others need not be known. LAPACK reduces the matrix
to tridiagonal form once and is then asked for as many eigenpairs as have a weight.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
import numpy as np
from numba import types
from numba.extending import get_cython_function_address

from sparseopt.problems.base import Array

from ..common.compiled import compiled

__all__ = ["smoothed_maximum"]


def _lapack(name: str, arguments: int) -> Any:
    """Return a function of SciPy's LAPACK; by its name, so that callers can be cached on disk."""
    symbol = f"sparseopt_{name}"
    llvm.add_symbol(symbol, get_cython_function_address("scipy.linalg.cython_lapack", name))
    return types.ExternalFunction(symbol, types.void(*[types.voidptr] * arguments))


_dsytrd = _lapack("dsytrd", 10)
_dstemr = _lapack("dstemr", 21)
_dormtr = _lapack("dormtr", 13)

_BLOCK = 64
_FEW = 6
"""Up to n / _FEW eigenpairs are computed alone, more of them as all."""


@compiled
def top_weights(values: Array, tau: float) -> tuple[int, float]:
    """Return how many eigenvalues, the last of an increasing array, have a weight, and nu - top."""
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


@compiled
def smoothed_maximum(M: Array, tau: float, guess: int) -> tuple[float, float, Array, Array]:
    """Return the largest eigenvalue, its smoothed value, and the weights and vectors that count.

    Parameters
    ----------
    M : array of shape (n, n)
        Symmetric.
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
    if asked * _FEW <= n:
        size = np.array([n], np.int32)
        info, found = np.zeros(1, np.int32), np.zeros(1, np.int32)
        diagonal, beside, reflectors = np.empty(n), np.empty(n), np.empty(n)
        work = np.empty(_BLOCK * n)
        length = np.array([_BLOCK * n], np.int32)
        # The letters V, I, L, N of LAPACK: vectors, a range of indices, lower / left, as it is.
        V_, I_ = np.array([86], np.uint8), np.array([73], np.uint8)
        L_, N_ = np.array([76], np.uint8), np.array([78], np.uint8)
        reduced = M.copy()
        _dsytrd(
            L_.ctypes,
            size.ctypes,
            reduced.ctypes,
            size.ctypes,
            diagonal.ctypes,
            beside.ctypes,
            reflectors.ctypes,
            work.ctypes,
            length.ctypes,
            info.ctypes,
        )
        values = np.empty(n)
        isolated, accurate = np.empty(2 * n, np.int32), np.array([1], np.int32)
        integers = np.empty(10 * n, np.int32)
        integer_length = np.array([10 * n], np.int32)
        work_length = np.array([18 * n], np.int32)
        unused = np.zeros(1)
        while asked * _FEW <= n:
            first, columns = np.array([n - asked + 1], np.int32), np.array([asked], np.int32)
            vectors = np.empty((asked, n))
            d, e = diagonal.copy(), beside.copy()
            _dstemr(
                V_.ctypes,
                I_.ctypes,
                size.ctypes,
                d.ctypes,
                e.ctypes,
                unused.ctypes,
                unused.ctypes,
                first.ctypes,
                size.ctypes,
                found.ctypes,
                values.ctypes,
                vectors.ctypes,
                size.ctypes,
                columns.ctypes,
                isolated.ctypes,
                accurate.ctypes,
                work.ctypes,
                work_length.ctypes,
                integers.ctypes,
                integer_length.ctypes,
                info.ctypes,
            )
            if info[0] != 0 or found[0] != asked:
                break
            count, nu = top_weights(values[:asked], tau)
            if count == asked:
                asked *= 2
                continue
            kept = vectors[asked - count :].copy()
            columns[0] = count
            _dormtr(
                L_.ctypes,
                L_.ctypes,
                N_.ctypes,
                size.ctypes,
                columns.ctypes,
                reduced.ctypes,
                size.ctypes,
                reflectors.ctypes,
                kept.ctypes,
                size.ctypes,
                work.ctypes,
                length.ctypes,
                info.ctypes,
            )
            few: tuple[float, float, Array, Array] = _weigh(values[:asked], count, nu, tau, kept)
            return few
    everything, Q = np.linalg.eigh(M)
    count, nu = top_weights(everything, tau)
    V = Q[:, n - count :].T.copy()
    all_: tuple[float, float, Array, Array] = _weigh(everything, count, nu, tau, V)
    return all_


@compiled
def _weigh(
    values: Array, count: int, nu: float, tau: float, V: Array
) -> tuple[float, float, Array, Array]:
    """Return what smoothed_maximum returns."""
    p = np.empty(count)
    n = values.shape[0]
    top = values[n - 1]
    more = 0.0
    for k in range(count):
        below = values[n - count + k] - top
        p[k] = (below - nu) / tau
        more += p[k] * below + 0.5 * tau * p[k] * (1.0 - p[k])
    return top, top + more, p, V
