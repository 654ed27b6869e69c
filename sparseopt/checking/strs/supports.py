r"""A bound on a sparse trust-region subproblem without a certificate: all supports, where few.

On a support F the maximum of z'Az + a'z over unit vectors is, with the eigenvalues :math:`\lambda`
of A_F and c the coordinates of a_F in its eigenvectors,

.. math:: \min_{\mu > \lambda_{\max}} \; \mu + \sum_i \frac{c_i^2}{4 (\mu - \lambda_i)}.

The minimising multipliers make every support a leaf, which is proven like those of a certificate.
So an outside solver's "optimal" is verified where all supports take no more than about a second.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from sparseopt.checking.report import Findings
from sparseopt.checking.strs.leaves import SupportLeaves, bound_tolerance, unproven_leaf
from sparseopt.checking.strs.row_bounds import RowPairs
from sparseopt.problems.base import Array
from sparseopt.problems.strs.problem import STRS

_MOST = 20_000
"""Supports at most ..."""
_ENTRIES = 2_000_000
"""... and entries of all their matrices."""
_BISECTIONS = 60
_EXCEEDED = 1e-6
"""A point whose value exceeds a bound by this, relative to the data, refutes it."""


def verify_by_supports(problem: STRS, bound: float, findings: Findings) -> bool:
    """Prove or refute a bound by looking at all supports; False where they are too many.

    O(K d^3) for K supports.

    Parameters
    ----------
    problem : STRS
    bound : float
        An upper bound on the maximum.
    findings : Findings
        Gets what was found.

    Returns
    -------
    bool
    """
    D, d = problem.A.shape[0], problem.d
    count = math.comb(D, d)
    if count > _MOST or count * (d + 1) ** 2 > _ENTRIES:
        return False
    supports = np.array(list(itertools.combinations(range(D), d)))
    mu, z = _maxima(problem, supports)
    value = np.einsum("ki,kij,kj->k", z, _minors(problem, supports), z)
    value += (problem.linear[supports] * z).sum(axis=1)
    best = int(np.argmax(value))
    tolerance = bound_tolerance(problem, bound)
    size = max(float(np.abs(problem.A).max()), float(np.abs(problem.linear).max()), abs(bound))
    if value[best] > bound + _EXCEEDED * size:
        findings.refute(
            f"the bound {bound:.12g} is false: on the support {supports[best].tolist()} there is a "
            f"point of value {value[best]:.12g}"
        )
        return True
    state = np.full((count, D), -1, dtype=np.int8)
    np.put_along_axis(state, supports, 1, axis=1)
    leaves = SupportLeaves(state=state, mu=mu, pair=np.full(count, -1), pairs=RowPairs([], [], []))
    failed = unproven_leaf(problem, leaves, bound, tolerance)
    if failed is None:
        findings.prove(f"none of the {count} supports of {d} variables exceeds {bound:.12g}")
    else:
        findings.doubt(
            f"the bound {bound:.12g} is not proven: all {count} supports were looked at, and on "
            f"{supports[best].tolist()} there is a point of value {value[best]:.12g}"
        )
    return True


def _minors(problem: STRS, supports: Array) -> Array:
    return np.asarray(problem.A[supports[:, :, None], supports[:, None, :]])


def _maxima(problem: STRS, supports: Array) -> tuple[Array, Array]:
    """Return the multipliers (K,) and maximisers (K, d) of all supports."""
    values, vectors = np.linalg.eigh(_minors(problem, supports))
    c = np.einsum("kij,ki->kj", vectors, problem.linear[supports])
    top = values[:, -1]
    # The slope of the minimand is 1 - sum c^2 / (4 (mu - values)^2): not negative at `high`.
    low, high = top.copy(), top + 0.5 * np.linalg.norm(c, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            terms = np.nan_to_num((c / (middle[:, None] - values)) ** 2, nan=0.0, posinf=np.inf)
            falls = 0.25 * terms.sum(axis=1) > 1.0
            low, high = np.where(falls, middle, low), np.where(falls, high, middle)
        y = np.nan_to_num(0.5 * c / (high[:, None] - values), nan=0.0, posinf=0.0, neginf=0.0)
    # In the hard case the rest of the length lies along the top eigenvector.
    rest = np.sqrt(np.maximum(0.0, 1.0 - (y**2).sum(axis=1)))
    y[:, -1] += np.where(y[:, -1] < 0.0, -rest, rest)
    y /= np.linalg.norm(y, axis=1, keepdims=True)
    return high, np.einsum("kij,kj->ki", vectors, y)
