"""The range that all matrices of a block have in common: a face that the program lives in."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import pack_symmetric, triangle_weights, unpack_symmetric

__all__ = ["common_range", "compressed", "expanded"]

_SETTLED = 1e-11
"""A matrix this small beside the others is zero."""
_COMMON = 1e-13
"""Eigenvalues of the sum of squared matrices below this, relative to the largest, are zero."""


def common_range(C: Any, constant: Array, size: int) -> Array | None:
    """Return an orthonormal basis of the range that all matrices share; None where it is all.

    A null space in common would leave the relaxation without an interior.
    """
    matrices = unpack_symmetric(
        np.vstack([_dense(C).T, constant[None]]) / np.sqrt(triangle_weights(size)), size
    )
    norms = np.sqrt((matrices**2).sum(axis=(1, 2), keepdims=True))
    matrices = matrices / np.where(norms > _SETTLED * norms.max(), norms, np.inf)
    values, vectors = np.linalg.eigh(np.matmul(matrices, matrices).sum(axis=0))
    kept = values > _COMMON * values[-1]
    return None if kept.all() else vectors[:, kept]


def compressed(C: Any, constant: Array, U: Array) -> tuple[Any, Array]:
    """Return the columns and the constant of U'M(x)U."""
    size, rank = U.shape
    weights = np.sqrt(triangle_weights(size))
    stacked = unpack_symmetric(np.vstack([_dense(C).T, constant[None]]) / weights, size)
    packed = pack_symmetric(U.T @ stacked @ U) * np.sqrt(triangle_weights(rank))
    columns = packed[:-1].T
    return columns if isinstance(C, np.ndarray) else sp.csr_array(columns), packed[-1]


def _dense(C: Any) -> Array:
    return np.asarray(C if isinstance(C, np.ndarray) else C.toarray())


def expanded(dual: Array, size: int, U: Array | None) -> Array:
    """Return the scaled packed entries of U Z U'."""
    if U is None:
        return dual
    Z = unpack_symmetric(dual / np.sqrt(triangle_weights(size)), size)
    return np.asarray(pack_symmetric(U @ Z @ U.T) * np.sqrt(triangle_weights(len(U))))
