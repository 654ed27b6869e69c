r"""A layer of sigmoids as the regression function of the alternating scheme.

:math:`f(x) = \sum_j c_j \operatorname{erf}(w_j'x + b_j)`: sigmoids whose expectations over Gaussian
points have closed forms. With :math:`\epsilon \sim N(0, \upsilon^2 I)`

.. math:: E \operatorname{erf}(w'(x + \epsilon) + b)
          = \operatorname{erf}\big((w'x + b) / \sqrt{1 + 2 \upsilon^2 \|w\|^2}\big),

and with :math:`\xi \sim N(0, s^2 I)`, two layers (c, W, b) and (d, V, e) and a matrix P

.. math:: E \langle \nabla f(\xi), P \nabla g(\xi) \rangle
          = \frac4\pi \sum_{ij} (c_i'd_j)(w_i'P v_j)\, E e^{-(w_i'\xi + b_i)^2 - (v_j'\xi + e_j)^2},

whose last factor is :math:`D^{-1/2} e^{-(\beta b_i^2 + \alpha e_j^2 - 2 \tau b_i e_j) / D}` with
:math:`\alpha = 1 + 2 s^2 \|w_i\|^2`, :math:`\beta = 1 + 2 s^2 \|v_j\|^2`,
:math:`\tau = 2 s^2 w_i'v_j` and :math:`D = \alpha \beta - \tau^2`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import erf

from sparseopt.backend import Control
from sparseopt.problems.base import Array
from sparseopt.problems.subspace.sufficient import SufficientReduction

from .objectives import lbfgs, squares, unit_of
from .settings import SIGMOIDS

__all__ = ["Sigmoids"]

_SLOPE = 2.0 / math.sqrt(math.pi)
"""Of the error function at 0."""


class Sigmoids:
    """Functions of one layer of sigmoids, all of whose parameters are searched by L-BFGS.

    I is the mean square error of the mean of f over points with noise, which bounds how steep a
    sigmoid can be; the variance over the noise, which the paper samples, is left out.
    """

    def __init__(self, problem: SufficientReduction, options: Mapping[str, Any]) -> None:
        self.X = (problem.X - problem.X.mean(axis=0)) / unit_of(problem.X)
        self.Y, self.options, self.weight = problem.targets, options, options["penalty"]
        n, m = self.X.shape[1], options["size"] or SIGMOIDS
        rng = np.random.default_rng(options["seed"])
        W, b = rng.standard_normal((m, n)) / math.sqrt(n), rng.standard_normal(m)
        self.start = np.concatenate([np.zeros(m * self.Y.shape[1]), W.ravel(), b])

    def split(self, theta: Array) -> tuple[Array, Array, Array]:
        """Return c, shape (m, outputs), W, shape (m, n), and b, shape (m,)."""
        n, outputs = self.X.shape[1], self.Y.shape[1]
        m = len(theta) // (n + outputs + 1)
        ends = m * outputs, m * (outputs + n)
        c, W, b = np.split(theta, ends)
        return c.reshape(m, outputs), W.reshape(m, n), b

    def value(self, theta: Array, before: Array, P: Array) -> tuple[float, Array]:
        """Return I and the penalty, less a constant of the step before, and their gradient."""
        layer, old = self.split(theta), self.split(before)
        value, slopes = self._error(*layer)
        for factor, (inner, towards) in (
            # The first is felt at both ends.
            (self.weight, self._inner(layer, layer, layer[1])),
            (-2.0 * self.weight, self._inner(layer, old, old[1] @ P)),
        ):
            value += factor * inner
            ends = 2.0 if factor > 0.0 else 1.0
            slopes = [own + ends * factor * more for own, more in zip(slopes, towards, strict=True)]
        return value, np.concatenate([each.ravel() for each in slopes])

    def _error(self, c: Array, W: Array, b: Array) -> tuple[float, list[Array]]:
        """Return the mean square error, with the best constant, and its gradient."""
        N, noise = len(self.X), 2.0 * self.options["noise"] ** 2
        width = np.sqrt(1.0 + noise * squares(W))
        u = (self.X @ W.T + b) / width
        values = erf(u)
        error = values @ c - self.Y
        error -= error.mean(axis=0)
        back = (2.0 / N) * (error @ c.T) * (_SLOPE * np.exp(-u * u)) / width
        shrink = noise / width * np.einsum("ij,ij->j", back, u)
        slopes = [
            (2.0 / N) * values.T @ error,
            back.T @ self.X - shrink[:, None] * W,
            back.sum(axis=0),
        ]
        return float(np.vdot(error, error)) / N, slopes

    def _inner(
        self, layer: tuple[Array, ...], other: tuple[Array, ...], images: Array
    ) -> tuple[float, list[Array]]:
        """Return E <grad f, P grad g> of two layers, `images` being V P, and its gradient in f.

        O(m^2 n).
        """
        (c, W, b), (d, V, e) = layer, other
        G, by_square, by_product, by_shift = self._overlaps(W, b, V, e)
        pairs, products = _SLOPE**2 * (c @ d.T), W @ images.T
        both = pairs * products
        slopes = [
            _SLOPE**2 * (products * G) @ d,
            (pairs * G) @ images
            + 2.0 * (both * by_square).sum(axis=1)[:, None] * W
            + (both * by_product) @ V,
            (both * by_shift).sum(axis=1),
        ]
        return float(np.vdot(both, G)), slopes

    def _overlaps(self, W: Array, b: Array, V: Array, e: Array) -> tuple[Array, ...]:
        """Return E exp(-(w'xi + b)^2 - (v'xi + e)^2), and its derivatives by |w|^2, w'v and b."""
        double = 2.0 * self.options["width"] ** 2
        b = b[:, None]
        alpha, beta = 1.0 + double * squares(W)[:, None], 1.0 + double * squares(V)
        tau = double * (W @ V.T)
        D = alpha * beta - tau**2
        form = (beta * b**2 + alpha * e**2 - 2.0 * tau * b * e) / D
        G = np.exp(-form) / np.sqrt(D)
        by_square = double * G * ((beta * form - e**2) / D - 0.5 * beta / D)
        by_product = double * G * (tau + 2.0 * (b * e - tau * form)) / D
        return G, by_square, by_product, -2.0 * G * (beta * b - tau * e) / D

    def minimise(self, theta: Array, P: Array, control: Control) -> Array:
        """Minimise by L-BFGS from the step before."""
        before = theta
        return lbfgs(
            lambda theta: self.value(theta, before, P),
            theta,
            control,
            self.options["iterations"],
            "sigmoids",
        )[0]

    def gram(self, theta: Array) -> Array:
        """Return M, shape (n, n)."""
        c, W, b = self.split(theta)
        return np.asarray(W.T @ (_SLOPE**2 * (c @ c.T) * self._overlaps(W, b, W, b)[0]) @ W)
