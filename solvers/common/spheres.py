r"""The trust-region subproblem on the unit sphere, and good supports for the sparse one.

.. math:: \max_{\|z\|_2 = 1} \; z'Bz + b'z

A unit vector z is a global maximum exactly if some mu satisfies

.. math:: (\mu I - B) z = b / 2, \qquad \mu I - B \succeq 0,

and every mu with the second property bounds the maximum by
:math:`\mu + b'(\mu I - B)^{+} b / 4` (b in the range). Both are read off one eigendecomposition and
the root of a scalar equation (Moré and Sorensen 1983).

The value of a support S is the maximum for :math:`B = A_{SS}, b = a_S`. It grows with S, so
supports of size d are enough. Good ones come from truncations, each refitted, and from swaps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sparseopt.backend import Control
from sparseopt.problems.base import Array

from .index_sets import complement
from .warm_start import warm_point

_ROOT_STEPS = 100
"""A guard only: Newton's method on the secular equation takes 4 to 10 steps."""
_CHUNK = 200_000
"""Matrix entries that are factorised at once."""
_FULL = 3
"""Swaps for each variable that leaves, which are refitted after the first estimate."""
_GAIN = 1e-12
"""A swap must gain this part of the value: less may be rounding, and go round in circles."""


@dataclass(frozen=True, eq=False)
class SphereMaximum:
    """Global maxima of K problems of the same size n.

    Attributes
    ----------
    z : array of shape (K, n)
        Unit vectors.
    mu : array of shape (K,)
        Multipliers: mu I - B is positive semidefinite.
    bound : array of shape (K,)
        The dual values at mu, equal to the maxima up to rounding.
    """

    z: Array
    mu: Array
    bound: Array


def maximise_on_sphere(B: Array, b: Array) -> SphereMaximum:
    """Maximise z'Bz + b'z over unit vectors z.

    Parameters
    ----------
    B : array of shape (n, n)
        Symmetric.
    b : array of shape (n,)

    Returns
    -------
    SphereMaximum
        With K = 1.
    """
    return maximise_on_spheres(B[None], b[None])


def maximise_on_spheres(B: Array, b: Array) -> SphereMaximum:
    r"""Maximise K problems of size n at once, in O(K n^3).

    In the eigenbasis, with c = Q'b / 2, gaps :math:`g_i = \lambda_{max} - \lambda_i` and
    :math:`s = \mu - \lambda_{max} \ge 0`, the coordinates of z are :math:`c_i / (s + g_i)`, and s
    is the root of :math:`\sum_i c_i^2 / (s + g_i)^2 = 1`. In the hard case the sum stays below 1
    down to s = 0, and the missing length goes along the top eigenvector.

    Parameters
    ----------
    B : array of shape (K, n, n)
        Symmetric.
    b : array of shape (K, n)

    Returns
    -------
    SphereMaximum
    """
    eigenvalues, Q = np.linalg.eigh(B)
    top = eigenvalues[:, -1]
    gaps = top[:, None] - eigenvalues
    c = np.einsum("kij,ki->kj", Q, b) / 2.0
    s = _secular_root(c, gaps)
    y = _ratio(c, s[:, None] + gaps)
    length = np.einsum("ki,ki->k", y, y)
    hard = s == 0.0
    # b = 0 is hard too. The sign along the top eigenvector is free: b is orthogonal to it.
    y[hard, -1] += np.sqrt(np.maximum(0.0, 1.0 - length[hard]))
    z = np.einsum("kij,kj->ki", Q, y)
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    bound = top + s + np.einsum("ki,ki->k", c, _ratio(c, s[:, None] + gaps))
    return SphereMaximum(z=z, mu=top + s, bound=bound)


def _secular_root(c: Array, gaps: Array) -> Array:
    r"""Return the largest root s >= 0 of sum c_i^2 / (s + g_i)^2 = 1, or 0 in the hard case.

    Newton's method on :math:`1 / \|y(s)\| - 1`, which is concave and increasing: from the left of
    the root it converges monotonically. The start makes no entry of y larger than 1.
    """
    s: Array = np.max(np.abs(c) - gaps, axis=1, initial=0.0)
    open_ = np.arange(len(s))
    for _ in range(_ROOT_STEPS):
        y = _ratio(c[open_], s[open_, None] + gaps[open_])
        square = np.einsum("ki,ki->k", y, y)
        norm = np.sqrt(square)
        left = norm > 1.0 + 4.0 * np.finfo(float).eps
        open_, y, square, norm = open_[left], y[left], square[left], norm[left]
        if len(open_) == 0:
            break
        slope = np.sum(y * _ratio(y, s[open_, None] + gaps[open_]), axis=1)
        s[open_] += (norm - 1.0) * square / slope
    return s


def _ratio(numerator: Array, denominator: Array) -> Array:
    """Return the quotient, 0 where the numerator is 0."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=numerator != 0.0)


@dataclass(frozen=True, eq=False)
class Incumbent:
    """A support with its best point.

    Attributes
    ----------
    support : int array of shape (d,)
        Increasing.
    z : array of shape (d,)
        The unit vector on it.
    value : float
    """

    support: Array
    z: Array
    value: float

    def point(self, D: int) -> Array:
        """Return the point in all D coordinates."""
        x = np.zeros(D)
        x[self.support] = self.z
        return x


def truncations(A: Array, a: Array, d: int) -> Array:
    """Return the supports of the truncation algorithms (I) and (II), shape (K, d).

    (I) The d largest entries of each column of A, once as it is and once with its diagonal entry;
    (II) those of the maximiser without a bound on the nonzeros; and those of a. Signs and
    values do not matter, since supports are refitted.

    Source: Wang, Dey, Xie, definition 4.8 and what follows it.

    Parameters
    ----------
    A : array of shape (D, D)
        Symmetric.
    a : array of shape (D,)
        The linear term.
    d : int
        Size of the supports.
    """
    columns = np.abs(A.T)
    with_diagonal = columns.copy()
    np.fill_diagonal(with_diagonal, np.inf)
    relaxed = np.abs(maximise_on_sphere(A, a).z)
    scores = np.concatenate([columns, with_diagonal, relaxed, np.abs(a)[None]])
    largest = np.argsort(-scores, axis=1, kind="stable")[:, :d]
    found: Array = np.unique(np.sort(largest, axis=1), axis=0)
    return found


def refit(A: Array, a: Array, supports: Array, most: int | None = None) -> list[Incumbent]:
    """Return the best points on the best supports, the best one first.

    Parameters
    ----------
    A : array of shape (D, D)
    a : array of shape (D,)
    supports : int array of shape (K, k)
    most : int, optional
        How many are wanted. Default: all.
    """
    rows = max(1, _CHUNK // supports.shape[1] ** 2)
    chunks = range(0, len(supports), rows)
    if most is not None and most < len(supports) and not a.any():
        # Values alone take less than half the time.
        parts = (supports[begin : begin + rows] for begin in chunks)
        tops = [np.linalg.eigvalsh(A[S[:, :, None], S[:, None, :]])[:, -1] for S in parts]
        supports = supports[np.argsort(-np.concatenate(tops), kind="stable")[:most]]
        chunks = range(0, len(supports), rows)
    found = []
    for begin in chunks:
        S = supports[begin : begin + rows]
        best = maximise_on_spheres(A[S[:, :, None], S[:, None, :]], a[S])
        found += [Incumbent(*each) for each in zip(S, best.z, best.bound.tolist(), strict=True)]
    return sorted(found, key=lambda each: -each.value)[:most]


def swap(
    A: Array,
    a: Array,
    start: Incumbent,
    stop: Callable[[], object] = lambda: None,
    seen: set[bytes] | None = None,
) -> Incumbent:
    """Exchange one variable against another one while that improves the value.

    For every variable that may leave, the others are refitted; what each newcomer would add is
    estimated in the plane that it spans with them, and the most promising exchanges are refitted.
    O(d^4 + d D) for each step.

    Parameters
    ----------
    A : array of shape (D, D)
    a : array of shape (D,)
    start : Incumbent
    stop : callable
        Ends the search when it returns anything true.
    seen : set of bytes, optional
        Supports that searches before have left, added to by this one, which ends where it meets one
        of them: the rest of its way is known.
    """
    best = start
    D, d = len(a), len(start.support)
    if d in (1, D):
        return best
    seen = set() if seen is None else seen
    while not stop() and best.support.tobytes() not in seen:
        seen.add(best.support.tobytes())
        supports = _promising(A, a, best.support)
        improved = refit(A, a, supports, 1)[0]
        if not improved.value > best.value + _GAIN * abs(best.value):
            break
        best = improved
    return best


def _promising(A: Array, a: Array, support: Array) -> Array:
    """Return supports that differ from this one in one variable, shape (K, d)."""
    d = len(support)
    outside = complement(support, len(a))
    kept = np.broadcast_to(support, (d, d))[~np.eye(d, dtype=bool)].reshape(d, d - 1)
    rest = maximise_on_spheres(A[kept[:, :, None], kept[:, None, :]], a[kept])
    Az = np.einsum("iko,ik->io", A[kept[:, :, None], outside], rest.z)
    inner = np.einsum("ik,ikl,il->i", rest.z, A[kept[:, :, None], kept[:, None, :]], rest.z)
    linear = np.einsum("ik,ik->i", rest.z, a[kept])
    corner = np.broadcast_to(np.diagonal(A)[outside], Az.shape)
    if a.any():
        plane = np.empty((*Az.shape, 2, 2))
        plane[..., 0, 0] = inner[:, None]
        plane[..., 0, 1] = plane[..., 1, 0] = Az
        plane[..., 1, 1] = corner
        slopes = np.stack(np.broadcast_arrays(linear[:, None], a[outside]), axis=-1)
        estimate = maximise_on_spheres(plane.reshape(-1, 2, 2), slopes.reshape(-1, 2)).bound
    else:
        middle, half = (inner[:, None] + corner) / 2.0, (inner[:, None] - corner) / 2.0
        estimate = (middle + np.hypot(half, Az)).ravel()
    first = np.argsort(-estimate, kind="stable")[: _FULL * d]
    leaves, enters = np.divmod(first, len(outside))
    return np.sort(np.column_stack([kept[leaves], outside[enters]]), axis=1)


def first_incumbent(
    A: Array,
    a: Array,
    d: int,
    starts: int,
    control: Control,
    smaller: Array | None = None,
) -> Incumbent:
    """Return a good support; a warm start's is one of the candidates.

    Parameters
    ----------
    A, a, d : the problem
    starts : int
        How many of the best truncations are improved by swaps.
    control : Control
        With the warm start, a result or a point.
    smaller : int array of shape (k,) with k <= d, optional
        A support to which the best variables are added, one after the other.
    """
    found = refit(A, a, truncations(A, a, d), starts)
    given = warm_point(control.warm_start, len(a))
    if given is not None:
        support = np.sort(np.argsort(-np.abs(given), kind="stable")[:d])
        found = [refit(A, a, support[None])[0], *found]
    if smaller is not None:
        grown = refit(A, a, smaller[None])[0]
        while len(smaller) < d:
            more = complement(smaller, len(a))
            each = np.column_stack([np.broadcast_to(smaller, (len(more), len(smaller))), more])
            grown = refit(A, a, np.sort(each, axis=1), 1)[0]
            smaller = grown.support
        found = [grown, *found]
    best = max(found, key=lambda each: each.value)
    seen: set[bytes] = set()
    for start in found:
        if control.limit() is not None:
            break
        best = max(best, swap(A, a, start, control.limit, seen), key=lambda each: each.value)
    return best
