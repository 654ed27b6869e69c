"""Anderson acceleration of a fixed-point iteration, with a way back when it does harm."""

from __future__ import annotations

import numpy as np

from sparseopt.problems.base import Array

from ..settings import REGULARISATION


class Anderson:
    r"""Extrapolate from the last pairs (point, image) of a map to where its residual would vanish.

    Type II: with the differences G of the residuals and T of the images over the last K pairs, the
    next point is the image less :math:`T' \arg\min_g \|r - G' g\|`. A step that makes the
    residual larger is taken back.

    Parameters
    ----------
    weights : array of shape (N,)
        Square roots of the weights of the entries in the norm.
    memory : int
        Pairs to keep.

    References
    ----------
    Zhang, O'Donoghue, Boyd (2020): Globally convergent type-I Anderson acceleration for nonsmooth
    fixed-point iterations. SIAM Journal on Optimization 30.
    """

    def __init__(self, weights: Array, memory: int = 10) -> None:
        self._weights = weights
        self._memory = memory
        self.forget()

    def forget(self) -> None:
        """Start afresh, where the map has changed."""
        self._residuals: list[Array] = []
        self._images: list[Array] = []
        self._safe: tuple[Array, float] | None = None

    def next(self, point: Array, image: Array) -> Array:
        """Return where to go on after the map has taken `point` to `image`. O(K N)."""
        residual = (image - point) * self._weights
        size = float(np.linalg.norm(residual))
        # With more patience one of the 40 problems of the paper takes three times as long.
        if self._safe is not None and size > self._safe[1]:
            back = self._safe[0]
            self.forget()
            return back
        self._residuals = [*self._residuals[-self._memory :], residual]
        self._images = [*self._images[-self._memory :], image.copy()]
        if len(self._images) < 3:
            return image
        G = np.diff(np.array(self._residuals), axis=0)
        T = np.diff(np.array(self._images), axis=0)
        normal = G @ G.T
        normal[np.diag_indices_from(normal)] += REGULARISATION * np.trace(normal) + 1e-300
        self._safe = (image.copy(), size)
        accelerated: Array = image - np.linalg.solve(normal, G @ residual) @ T
        return accelerated
