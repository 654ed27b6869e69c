"""The objective of a selection by a user's kernel, of whole Gram matrices."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.problems.twosample.statistics.pairs import Design
from sparseopt.problems.twosample.statistics.user_kernels import UserKernel


class UserObjective:
    """The objective of a user's kernel; derivatives by its formula or by central differences.

    A gradient takes 2 D Gram matrices and a Hessian D (D + 1); with the kernel's own
    ``gram_gradient`` a Hessian takes 2 D of those. Differences leave about 8 digits of a gradient
    and 6 of a Hessian.

    Parameters
    ----------
    x, y : arrays of shapes (n, D) and (m, D)
    kernel : UserKernel
    tick : callable, optional
        Called before each Gram matrix; what it raises ends the computation.
    """

    def __init__(
        self, x: Array, y: Array, kernel: UserKernel, tick: Callable[[], None] = lambda: None
    ) -> None:
        self.design = Design(len(x), len(y))
        self.pooled = np.concatenate([x, y])
        self.kernel, self.tick = kernel, tick
        N = len(self.pooled)
        i, j = np.triu_indices(N, 1)
        self._mmd = np.zeros((N, N))
        self._mmd[i, j] = self._mmd[j, i] = self.design.mmd_weights(i, j) / 2.0

    def parts(self, z: Array) -> tuple[float, float]:
        """Return (squared MMD, variance)."""
        K = self._gram(z)
        return float(np.vdot(self._mmd, K)), self.design.variance(K @ self.design.v)

    def value(self, z: Array, lam: float) -> float:
        """Return the objective."""
        mmd, variance = self.parts(z)
        return mmd - lam * variance

    def gradient(self, z: Array, lam: float) -> Array:
        """Return the gradient, shape (D,)."""
        return self._first(z, self._weights(z, lam))[0]

    def hessian(self, z: Array, lam: float) -> Array:
        """Return the Hessian, shape (D, D)."""
        W = self._weights(z, lam)
        rows = self._first(z, W)[1]
        return self._second(z, W) - lam * self.design.outer(rows)

    def _gram(self, z: Array) -> Array:
        self.tick()
        return self.kernel.gram(z, self.pooled, self.pooled)

    def _weights(self, z: Array, lam: float) -> Array:
        v = self.design.v
        slope = self.design.slope(self._gram(z) @ v)
        return np.asarray(self._mmd - lam / 2.0 * (np.outer(slope, v) + np.outer(v, slope)))

    def _first(self, z: Array, W: Array) -> tuple[Array, Array]:
        """Return the weighted sum of the gradients of all pairs, and those of r, (N, D)."""
        v = self.design.v
        given = self.kernel.gram_gradient(z, self.pooled, self.pooled)
        if given is not None:
            return np.einsum("ij,ijs->s", W, given), np.einsum("ijs,j->is", given, v)
        total, rows = np.empty(len(z)), np.empty((len(v), len(z)))
        h = np.finfo(float).eps ** (1.0 / 3.0)
        for s, e in enumerate(h * np.eye(len(z))):
            slope = (self._gram(z + e) - self._gram(z - e)) / (2.0 * h)
            total[s], rows[:, s] = np.vdot(W, slope), slope @ v
        return total, rows

    def _second(self, z: Array, W: Array) -> Array:
        """Return the weighted sum of the Hessians of all pairs."""
        D = len(z)
        H = np.empty((D, D))
        if hasattr(self.kernel.given, "gram_gradient"):
            h = np.finfo(float).eps ** (1.0 / 3.0)
            for s, e in enumerate(h * np.eye(D)):
                self.tick()
                H[s] = (self._first(z + e, W)[0] - self._first(z - e, W)[0]) / (2.0 * h)
            return np.asarray((H + H.T) / 2.0)
        h = np.finfo(float).eps ** 0.25
        steps = h * np.eye(D)
        here = float(np.vdot(W, self._gram(z)))
        up = np.array([np.vdot(W, self._gram(z + e)) for e in steps])
        down = np.array([np.vdot(W, self._gram(z - e)) for e in steps])
        for s in range(D):
            H[s, s] = up[s] - 2.0 * here + down[s]
            for t in range(s):
                both = np.vdot(W, self._gram(z + steps[s] + steps[t]))
                back = np.vdot(W, self._gram(z - steps[s] - steps[t]))
                H[s, t] = H[t, s] = (
                    both + back + 2.0 * here - up[s] - up[t] - down[s] - down[t]
                ) / 2.0
        return H / h**2
