r"""The trust-region subproblem on the sphere, solved to its global maximum.

.. math:: \max_{\|z\|_2 = 1} \; z'Bz + b'z

A unit vector z is a global maximum exactly if some mu satisfies

.. math:: (\mu I - B) z = b / 2, \qquad \mu I - B \succeq 0,

and every mu with the second property bounds the maximum by
:math:`\mu + b'(\mu I - B)^{+} b / 4` (b in the range). Both are read off one eigendecomposition and
the root of a scalar equation (Moré and Sorensen 1983).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparseopt.problems.base import Array

__all__ = ["SphereMaximum", "maximise_on_sphere", "maximise_on_spheres"]

_ROOT_STEPS = 100
"""A guard only: the iteration below takes 4 to 10 steps."""


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
