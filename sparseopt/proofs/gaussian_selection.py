r"""Upper bounds of a selection by the Gaussian kernel on simplices of squared weights.

In :math:`w = z^2`, which lies in a simplex, every entry of the Gram matrix is
:math:`e_p(w) = \exp(-\delta_p'w)`, convex. The squared MMD is a weighted sum of them. With the rows
g of the variance, centred at a point w_0 to t,

.. math:: Var(g(w)) = \tfrac1{|g|} \sum_i (g_i(w) - \bar g(w))^2
          \ge \tfrac2{|g|} \sum_i t_i\, g_i(w) - \tfrac1{|g|} \sum_i t_i^2,

so that the objective is at most a sum :math:`\sum_p C_p e_p(w)` and a constant, with equality at
w_0. On a simplex positive terms lie below their values at the vertices, interpolated, and negative
ones below their tangents at w_0: the bound is the largest of that linear function at a vertex, and
off by the square of the simplex's diameter.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from sparseopt.installed import Deferred
from sparseopt.problems.base import Array
from sparseopt.problems.twosample.kernel_selection import KernelSelection
from sparseopt.problems.twosample.statistics.pairs import Design

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = Deferred("scipy.sparse")

_NUMBERS = 1 << 20
"""Exponentials of one point that are held at once: 8 MB for each of a few arrays."""
_EPSILON = float(np.finfo(float).eps)


class SelectionBounds:
    """The bounds of one problem.

    Parameters
    ----------
    problem : KernelSelection
        With the Gaussian kernel.

    Attributes
    ----------
    pairs : int
        Pairs of observations; a bound on a simplex of d vertices takes d + 1 exponentials of each.
    spent : int
        Exponentials so far.
    """

    def __init__(self, problem: KernelSelection) -> None:
        samples = np.concatenate([problem.x, problem.y])
        self.design = Design(len(problem.x), len(problem.y))
        self.lam = problem.lam
        i, j = np.triu_indices(len(samples), 1)
        self.pairs, self.spent = len(i), 0
        self._delta = (samples[i] - samples[j]) ** 2 / (2.0 * np.asarray(problem.bandwidth))
        self._weight = self.design.mmd_weights(i, j)
        v, every = self.design.v, np.arange(len(i))
        index = np.concatenate([i, j]), np.concatenate([every, every])
        self._rows = sp.csr_array((np.concatenate([v[j], v[i]]), index))

    def __call__(self, support: Array, vertices: Array) -> tuple[Array, Array]:
        """Return upper bounds, rounding included, and the values at the centroids.

        Parameters
        ----------
        support : int array of shape (k,)
            Variables.
        vertices : array of shape (B, k, k)
            B simplices; row by row their vertices, weights of the support that sum to 1.

        Returns
        -------
        upper, value : arrays of shape (B,)
        """
        step = max(1, _NUMBERS // self.pairs)
        parts = [
            self._some(support, vertices[begin : begin + step])
            for begin in range(0, len(vertices), step)
        ]
        upper, value = zip(*parts, strict=True)
        return np.concatenate(upper), np.concatenate(value)

    def _some(self, support: Array, vertices: Array) -> tuple[Array, Array]:
        self.spent += vertices.shape[0] * (vertices.shape[1] + 1) * self.pairs
        delta = self._delta[:, support].T
        middle = vertices.mean(axis=1)
        e = np.exp(-(middle @ delta))
        v = self.design.v[:, None]
        rows = v + self._rows @ e.T
        value, constant, parts = e @ self._weight, np.zeros(len(e)), []
        for factor, g in self.design.groups(rows):
            t = g - g.mean(axis=0)
            variance = factor * np.square(t).mean(axis=0)
            value -= self.lam * variance
            constant += self.lam * variance
            parts.append(2.0 * factor / len(g) * t)
        slope = np.concatenate([parts[0], -parts[-1]])
        C = self._weight - self.lam * (self._rows.T @ slope).T
        constant -= self.lam * (v * slope).sum(axis=0)
        above, below = np.maximum(C, 0.0), np.minimum(C, 0.0) * e
        best, terms = np.full(len(e), -np.inf), np.abs(constant)
        for k in range(vertices.shape[1]):
            corner = vertices[:, k]
            tangent = (corner - middle) @ delta
            upper = np.einsum("bp,bp->b", above, np.exp(-(corner @ delta)))
            upper += below.sum(axis=1) - np.einsum("bp,bp->b", below, tangent)
            best = np.maximum(best, upper)
            size = above.sum(axis=1) - np.einsum("bp,bp->b", below, 1.0 + np.abs(tangent))
            terms = np.maximum(terms, size)
        rounding = 4.0 * _EPSILON * (self.pairs + len(v)) * (terms + np.abs(constant))
        return constant + best + rounding, value


def corners(variables: int, size: int) -> Iterator[tuple[Array, Array]]:
    """Yield each support of k variables, and the simplex of all its squared weights.

    Parameters
    ----------
    variables, size : int
        D and k.

    Yields
    ------
    (int array of shape (k,), array of shape (1, k, k))
        The support, and its vertices row by row.
    """
    for support in combinations(range(variables), size):
        yield np.array(support), np.eye(size)[None]


def bisected(vertices: Array) -> Array:
    """Cut simplices at the middles of their longest edges.

    Parameters
    ----------
    vertices : array of shape (B, k, k)

    Returns
    -------
    array of shape (2 B, k, k)
    """
    count, k = vertices.shape[:2]
    first, second = np.triu_indices(k, 1)
    edges = np.square(vertices[:, first] - vertices[:, second]).sum(axis=2)
    longest = edges.argmax(axis=1)
    one, two, every = first[longest], second[longest], np.arange(count)
    middle = (vertices[every, one] + vertices[every, two]) / 2.0
    left, right = vertices.copy(), vertices.copy()
    left[every, one] = middle
    right[every, two] = middle
    return np.concatenate([left, right])
