r"""The objective of the quadratic kernel by tables, for many weights z on the same samples.

With :math:`k_{ij}` the vector of the D scalar kernels of a pair, :math:`K_{ij} = (k_{ij}'z + c)^2`
is a polynomial of z, and so are the squared MMD and the rows :math:`g_i` whose variance counts:

.. math:: \widehat{MMD}^2 = z'Qz + 2 c\, q'z, \qquad g_i = z'G_iz + 2 c\, t_i'z,

with :math:`G_i = \sum_j v_j k_{ij} k_{ij}'` and :math:`t_i = \sum_j v_j k_{ij}` (terms without z
cancel). The tables cost as much as a few Hessians over all pairs, O(N^2 D^2) for N observations;
then a value, a gradient or a Hessian is O(N D^2), and a value at d nonzeros O(N d^2).

Source: Wang, Dey, Xie: Variable selection for kernel two-sample tests, remark 4.2, here for both
terms of (11).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.problems.twosample.statistics.pairs import PairObjective

_LARGEST = 1 << 24
"""Numbers that the tables may take: 128 MB. Beyond, every call goes over the pairs."""


@dataclass(frozen=True, eq=False)
class Group:
    """One set of rows g_i, centred, with the factor of its variance.

    Attributes
    ----------
    factor : float
    G : array of shape (n, D, D)
    t : array of shape (n, D)
        The linear term, 2 c t_i.
    """

    factor: float
    G: Array
    t: Array

    def rows(self, z: Array) -> Array:
        """Return the centred rows g, shape (n,), O(n d^2) for d nonzeros."""
        S = np.flatnonzero(z)
        if 2 * len(S) > len(z):
            return np.asarray((self.G @ z + self.t) @ z)
        return np.asarray((self.G[:, S[:, None], S] @ z[S] + self.t[:, S]) @ z[S])

    def slopes(self, z: Array) -> Array:
        """Return the gradients of the rows, shape (n, D)."""
        return np.asarray(2.0 * (self.G @ z) + self.t)


class QuadraticObjective(PairObjective):
    """The objective of the quadratic kernel; its tables are made at the second Hessian.

    Parameters, and results up to rounding, are those of PairObjective.
    """

    _tables: tuple[Array, Array, list[Group]] | None = None
    _second: bool = False

    def parts(self, z: Array) -> tuple[float, float]:
        """Return (squared MMD, variance)."""
        if self._tables is None:
            return super().parts(z)
        Q, q, groups = self._tables
        S = np.flatnonzero(z)
        mmd = float(z[S] @ Q[np.ix_(S, S)] @ z[S] + q[S] @ z[S])
        return mmd, sum(group.factor * float(np.mean(group.rows(z) ** 2)) for group in groups)

    def gradient(self, z: Array, lam: float) -> Array:
        """Return the gradient, shape (D,)."""
        if self._tables is None:
            return super().gradient(z, lam)
        Q, q, groups = self._tables
        total = 2.0 * (Q @ z) + q
        for group in groups:
            share = 2.0 * lam * group.factor / len(group.t)
            total -= share * (group.rows(z) @ group.slopes(z))
        return np.asarray(total)

    def hessian(self, z: Array, lam: float) -> Array:
        """Return the Hessian, shape (D, D)."""
        if self._tables is None and self._second and self._fits():
            self._tables = self._make()
            self._kept.clear()
        self._second = True
        if self._tables is None:
            return super().hessian(z, lam)
        Q, _, groups = self._tables
        D = len(z)
        H = 2.0 * Q
        for group in groups:
            n = len(group.t)
            rows, slopes = group.rows(z), group.slopes(z)
            share = 2.0 * lam * group.factor / n
            bend = (rows @ group.G.reshape(n, -1)).reshape(D, D)
            H -= share * (slopes.T @ slopes + 2.0 * bend)
        return np.asarray((H + H.T) / 2.0)

    def _fits(self) -> bool:
        N, D = self.pooled.shape
        return bool(N * D * D <= _LARGEST)

    def _make(self) -> tuple[Array, Array, list[Group]]:
        """Return Q, 2 c q, and the groups of rows."""
        n, m = self.design.n, self.design.m
        N, D = self.pooled.shape
        everyone = np.arange(N)
        v = self.design.v
        Q, q = np.zeros((D, D)), np.zeros(D)
        G, t = np.empty((N, D, D)), np.empty((N, D))
        for i in range(N):
            self.tick()
            K = self._vectors(np.full(N, i), everyone, slice(None))
            of_x, of_y = K[:n].T @ K[:n], K[n:].T @ K[n:]
            G[i] = of_x / n - of_y / m
            t[i] = v @ K
            later = everyone[i + 1 :]
            weight = self.design.mmd_weights(np.full(len(later), i), later)
            Q += (K[later] * weight[:, None]).T @ K[later]
            q += weight @ K[later]
        groups = [
            Group(factor, rows - rows.mean(axis=0), 2.0 * self.c * (line - line.mean(axis=0)))
            for (factor, rows), (_, line) in zip(
                self.design.groups(G), self.design.groups(t), strict=True
            )
        ]
        return Q, 2.0 * self.c * q, groups
