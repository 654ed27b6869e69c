r"""Kernel two-sample statistics whose kernel weighs the variables by z.

With samples x_1, ..., x_n and y_1, ..., y_m in R^D, three kernels

- linear, :math:`K_z(x, y) = \sum_s z_s k_s(x_s, y_s)`,
- quadratic, :math:`K_z(x, y) = (\sum_s z_s k_s(x_s, y_s) + c)^2`,
- gaussian, :math:`K_z(x, y) = \exp(-\sum_s z_s^2 (x_s - y_s)^2 / (2 \sigma^2))`,

with :math:`k_s(x, y) = \exp(-(x - y)^2 / (2 \tau_s^2))`, and two statistics of z:

**Samples of equal size** are taken as pairs, :math:`H_{ij} = K(x_i, x_j) + K(y_i, y_j) -
K(x_i, y_j) - K(y_i, x_j)`; the squared MMD is the mean of the H_ij with i /= j, which is unbiased,
and the variance is :math:`\sigma^2 = \frac{4}{n^3} \sum_i (\sum_j H_{ij})^2 - \frac{4}{n^4}
(\sum_{ij} H_{ij})^2`, which is not: n times the variance of the squared MMD tends to it.

**Samples of unequal size**: the squared MMD is the mean of K(x_i, x_j), i /= j, plus that of
K(y_i, y_j), i /= j, less twice that of all K(x_i, y_j). The variance is
:math:`N (4 Var(p) / n + 4 Var(q) / m)` with p_i the mean of K(x_i, x_j) - K(x_i, y_k) over all j
and k, q likewise for y, and :math:`N = 2 n m / (n + m)`, the same scale as above.

Source: Wang, Dey, Xie: Variable selection for kernel two-sample tests, (1), (4)-(6), (10), (11).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self, get_args

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.problems.base import Array, as_matrix, as_vector
from sparseopt.problems.hermite import features, order
from sparseopt.problems.median_distance import median_distance

__all__ = ["Kernel", "TwoSample", "linear_terms"]

Kernel = Literal["linear", "quadratic", "gaussian"]

_FEWEST = 4
_TRUNCATION = 1e-14
"""Error of a value of a scalar kernel, which is at most 1."""
_CHUNK = 1 << 21
"""Numbers that a block of pairs may take."""


@dataclass(frozen=True, eq=False)
class TwoSample:
    """Two samples with a kernel: the squared MMD, its variance, and their derivatives in z.

    Build it with :meth:`of`, which checks the data and chooses the bandwidths.

    Attributes
    ----------
    x, y : arrays of shapes (n, D) and (m, D)
    kernel : {"linear", "quadratic", "gaussian"}
    bandwidth : array of shape (D,)
        tau_s^2; for the Gaussian kernel sigma^2 in every entry.
    c : float
        The constant of the quadratic kernel.
    """

    x: Array
    y: Array
    kernel: Kernel
    bandwidth: Array
    c: float

    @classmethod
    def of(
        cls,
        x: Array,
        y: Array,
        kernel: Kernel = "linear",
        bandwidth: object = "median",
        c: float | None = None,
    ) -> Self:
        """Check two samples and choose what is not given.

        Parameters
        ----------
        x, y : arrays of shapes (n, D) and (m, D)
            At least 4 observations each, not both the same.
        kernel : {"linear", "quadratic", "gaussian"}, default "linear"
        bandwidth : "median", float, or array of shape (D,), default "median"
            tau_s^2, or sigma^2 of the Gaussian kernel (a number). The median is that of the squared
            distances between x and y in a column (between whole observations for the Gaussian
            kernel); where more than half of a column's are 0, that of the others. A column that is
            the same constant in both samples says nothing: its statistics are 0.
        c : float, optional
            Constant of the quadratic kernel, >= 0. Default: the square root of the median of the
            squared distances between whole observations.

        Raises
        ------
        ProblemError
            When the samples do not fit, are too small or equal, or a parameter is out of range.
        """
        x, y = as_matrix("x", x), as_matrix("y", y)
        if x.shape[1] != y.shape[1]:
            raise ProblemError(
                f"y has {y.shape[1]} columns and x has {x.shape[1]}; expected the same variables",
                "y",
            )
        for name, sample in (("x", x), ("y", y)):
            if len(sample) < _FEWEST:
                raise ProblemError(
                    f"{name} has {len(sample)} observations; expected at least {_FEWEST}", name
                )
        if x.shape == y.shape and (x == y).all():
            raise ProblemError("x and y are the same sample: there is nothing to select by", "y")
        if kernel not in get_args(Kernel):
            raise ProblemError(
                f"kernel is {kernel!r}; expected one of {', '.join(get_args(Kernel))}", "kernel"
            )
        constant = 0.0
        if kernel == "quadratic":
            constant = float(np.sqrt(_median_square(x, y))) if c is None else float(c)
            if not (np.isfinite(constant) and constant >= 0.0):
                raise ProblemError(f"c is {c}; expected a number >= 0", "c")
        return cls(x, y, kernel, _bandwidth(x, y, kernel, bandwidth), constant)

    # ---- values

    def mmd(self, z: Array) -> float:
        """Return the squared MMD at z, shape (D,)."""
        return self._rows(z, gradients=False).mmd()[0]

    def variance(self, z: Array) -> float:
        """Return the variance at z."""
        return self._rows(z, gradients=False).variance()[0]

    def objective(self, z: Array, lam: float) -> float:
        """Return the squared MMD less lam times the variance, (11)."""
        rows = self._rows(z, gradients=False)
        return rows.mmd()[0] - lam * rows.variance()[0]

    def gradient(self, z: Array, lam: float) -> Array:
        """Return the gradient of :meth:`objective`, shape (D,). O(n^2 D)."""
        rows = self._rows(z, gradients=True)
        return np.asarray(rows.mmd()[1] - lam * rows.variance()[1])

    def hessian(self, z: Array, lam: float) -> Array:
        """Return the Hessian of :meth:`objective`, shape (D, D). O(n^2 D^2)."""
        rows = self._rows(z, gradients=True)
        weights_x, weights_y, outer = rows.curvature(lam)
        total = self._second(z, weights_x, weights_y) + outer
        return np.asarray((total + total.T) / 2.0)

    # ---- blocks of pairs

    def _rows(self, z: Array, gradients: bool) -> _Rows:
        """Return the row means of the kernel, and their gradients."""
        z = as_vector("z", z, self.x.shape[1])
        parts = {}
        for name, u, v in (
            ("xx", self.x, self.x),
            ("xy", self.x, self.y),
            ("yx", self.y, self.x),
            ("yy", self.y, self.y),
        ):
            value = np.empty(len(u))
            slope = np.zeros((len(u), len(z)))
            for rows in _blocks(len(u), len(v) * len(z)):
                M, K, c1, _, _ = self._pairs(z, u[rows], v)
                value[rows] = K.mean(axis=1)
                if gradients:
                    slope[rows] = np.einsum("ij,ijs->is", c1, M) / len(v) * self._inner(z)
            parts[name] = (value, slope)
        M, K, c1, _, _ = self._pairs(z, self.x[:1], self.x[:1])
        self_pair = (float(K[0, 0]), c1[0, 0] * M[0, 0] * self._inner(z))
        matched = None
        if len(self.x) == len(self.y):
            matched = (np.empty(len(self.x)), np.zeros((len(self.x), len(z))))
            M, K, c1, _, _ = self._pairs(z, self.x, self.y, matched=True)
            matched = (K, c1[:, None] * M * self._inner(z))
        return _Rows(parts, self_pair, matched)

    def _second(self, z: Array, weights_x: dict[str, Array], weights_y: dict[str, Array]) -> Array:
        """Return the weighted sum of the Hessians of all pairs."""
        D = len(z)
        total, diagonal = np.zeros((D, D)), np.zeros(D)
        inner = self._inner(z)
        blocks = (
            (self.x, self.x, weights_x["same"]),
            (self.x, self.y, weights_x["other"]),
            (self.y, self.x, weights_y["other"]),
            (self.y, self.y, weights_y["same"]),
        )
        for u, v, weight in blocks:
            for rows in _blocks(len(u), len(v) * D):
                M, _, _, c2, c3 = self._pairs(z, u[rows], v)
                flat = M.reshape(-1, D)
                w = weight[rows, None]
                total += (flat * (w * c2).reshape(-1, 1)).T @ flat
                diagonal += (w * c3).reshape(-1) @ flat
        if "matched" in weights_x:
            M, _, _, c2, c3 = self._pairs(z, self.x, self.y, matched=True)
            w = weights_x["matched"]
            total += (M * (w * c2)[:, None]).T @ M
            diagonal += (w * c3) @ M
        M, _, _, c2, c3 = self._pairs(z, self.x[:1], self.x[:1])
        w0 = float(weights_x["self"][0])
        total += w0 * c2[0, 0] * np.outer(M[0, 0], M[0, 0])
        diagonal += w0 * c3[0, 0] * M[0, 0]
        return np.asarray(total * np.outer(inner, inner) + np.diag(diagonal))

    def _inner(self, z: Array) -> Array:
        """Return e, where the gradient of a pair is c1 M e entry by entry."""
        return z if self.kernel == "gaussian" else np.ones(len(z))

    def _pairs(
        self, z: Array, u: Array, v: Array, matched: bool = False
    ) -> tuple[Array, Array, Array, Array, Array]:
        """Return M (..., D), K, and c1, c2, c3 of pairs of observations.

        The gradient of K is c1 (M e), the Hessian c2 (M e)(M e)' + c3 diag(M).
        """
        square = (u - v if matched else u[:, None, :] - v[None, :, :]) ** 2
        if self.kernel == "gaussian":
            sigma = float(self.bandwidth[0])
            K = np.exp(square @ (-(z**2) / (2.0 * sigma)))
            return square, K, -K / sigma, K / sigma**2, -K / sigma
        M = np.exp(square / (-2.0 * self.bandwidth))
        inner = M @ z
        zero = np.zeros_like(inner)
        if self.kernel == "linear":
            return M, inner, zero + 1.0, zero, zero
        inner = inner + self.c
        return M, inner**2, 2.0 * inner, zero + 2.0, zero


@dataclass(frozen=True, eq=False)
class _Rows:
    """Row means of the kernel on the four blocks of pairs, each with the gradients."""

    parts: dict[str, tuple[Array, Array]]
    self_pair: tuple[float, Array]
    matched: tuple[Array, Array] | None

    @property
    def sizes(self) -> tuple[int, int]:
        return len(self.parts["xx"][0]), len(self.parts["yy"][0])

    def _g(self) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """Return (p, gradients) and (q, gradients)."""
        (xx, dxx), (xy, dxy) = self.parts["xx"], self.parts["xy"]
        (yy, dyy), (yx, dyx) = self.parts["yy"], self.parts["yx"]
        return (xx - xy, dxx - dxy), (yy - yx, dyy - dyx)

    def mmd(self) -> tuple[float, Array]:
        """Return the squared MMD and its gradient."""
        n, m = self.sizes
        k0, d0 = self.self_pair
        if self.matched is not None:
            (p, dp), (q, dq) = self._g()
            K, dK = self.matched
            total = n * (p.sum() + q.sum()) - (2.0 * n * k0 - 2.0 * K.sum())
            slope = n * (dp.sum(axis=0) + dq.sum(axis=0)) - (2.0 * n * d0 - 2.0 * dK.sum(axis=0))
            return float(total) / (n * (n - 1)), slope / (n * (n - 1))
        (xx, dxx), (yy, dyy), (xy, dxy) = (self.parts[name] for name in ("xx", "yy", "xy"))
        value = (n * xx.mean() - k0) / (n - 1) + (m * yy.mean() - k0) / (m - 1) - 2.0 * xy.mean()
        slope = (n * dxx.mean(axis=0) - d0) / (n - 1) + (m * dyy.mean(axis=0) - d0) / (m - 1)
        return float(value), slope - 2.0 * dxy.mean(axis=0)

    def _samples(self) -> list[tuple[float, Array, Array]]:
        """Return (factor, values, gradients): the variance is the sum of factor Var(values)."""
        (p, dp), (q, dq) = self._g()
        if self.matched is not None:
            return [(4.0, p + q, dp + dq)]
        n, m = self.sizes
        N = 2.0 * n * m / (n + m)
        return [(4.0 * N / n, p, dp), (4.0 * N / m, q, dq)]

    def variance(self) -> tuple[float, Array]:
        """Return the variance and its gradient."""
        value, slope = 0.0, np.zeros(self.self_pair[1].shape)
        for factor, g, dg in self._samples():
            centred = g - g.mean()
            value += factor * float(np.mean(centred**2))
            slope += 2.0 * factor * (centred @ dg) / len(g)
        return value, slope

    def curvature(self, lam: float) -> tuple[dict[str, Array], dict[str, Array], Array]:
        """Return the weights of the pairs' Hessians by row, and what the gradients add."""
        n, m = self.sizes
        D = len(self.self_pair[1])
        outer = np.zeros((D, D))
        rows = []
        for factor, g, dg in self._samples():
            centred = dg - dg.mean(axis=0)
            outer -= lam * 2.0 * factor * (centred.T @ centred) / len(g)
            rows.append(-lam * 2.0 * factor * (g - g.mean()) / len(g))
        own_x, own_y = (rows[0], rows[0]) if self.matched is not None else (rows[0], rows[1])
        ones_x, ones_y = np.ones(n), np.ones(m)
        if self.matched is not None:
            share = 1.0 / (n * (n - 1))
            x = {
                "same": own_x / n + share * ones_x,
                "other": -own_x / n - share * ones_x,
                "matched": 2.0 * share * ones_x,
                "self": np.array([-2.0 * n * share]),
            }
            y = {"same": own_y / n + share * ones_y, "other": -own_y / n - share * ones_y}
            return x, y, outer
        x = {
            "same": own_x / n + ones_x / (n * (n - 1)),
            "other": -own_x / m - 2.0 * ones_x / (n * m),
            "self": np.array([-1.0 / (n - 1) - 1.0 / (m - 1)]),
        }
        y = {"same": own_y / m + ones_y / (m * (m - 1)), "other": -own_y / n}
        return x, y, outer


def linear_terms(x: Array, y: Array, bandwidth: Array) -> tuple[Array, Array]:
    r"""Return (a, V) of the linear kernel: the squared MMD is a'z and the variance z'Vz.

    With Hermite features of each column the mean over j is a product with the mean feature, so
    the cost is O((n + m) D C + n D^2), C the order of the truncation (10 to 60). Columns with
    observations too many bandwidths apart are summed directly, O(n m).

    Parameters
    ----------
    x, y : arrays of shapes (n, D) and (m, D)
    bandwidth : array of shape (D,)
        tau_s^2.
    """
    n, m = len(x), len(y)
    D = x.shape[1]
    p, q = np.empty((n, D)), np.empty((m, D))
    xx, yy, xy = np.empty(D), np.empty(D), np.empty(D)
    for s in range(D):
        tau = float(np.sqrt(bandwidth[s]))
        low, high = min(x[:, s].min(), y[:, s].min()), max(x[:, s].max(), y[:, s].max())
        centre = low + (high - low) / 2.0
        u, v = (x[:, s] - centre) / tau, (y[:, s] - centre) / tau
        count = order((high - low) / (2.0 * tau), _TRUNCATION, largest=(n + m) // 4)
        if count is None:
            # Not centred: an outlier would take the precision of all others.
            means = _direct(x[:, s] / tau, y[:, s] / tau)
        else:
            phi = features(np.concatenate([u, v]), count)
            mean_x, mean_y = phi[:, :n].mean(axis=1), phi[:, n:].mean(axis=1)
            means = (
                mean_x @ phi[:, :n],
                mean_y @ phi[:, :n],
                mean_x @ phi[:, n:],
                mean_y @ phi[:, n:],
            )
        p[:, s], q[:, s] = means[0] - means[1], means[3] - means[2]
        xx[s], xy[s], yy[s] = means[0].mean(), means[1].mean(), means[3].mean()
    if n == m:
        matched = np.exp((x - y) ** 2 / (-2.0 * bandwidth)).mean(axis=0)
        g = p + q
        a = (n * g.mean(axis=0) - 2.0 * (1.0 - matched)) / (n - 1)
        centred = g - g.mean(axis=0)
        return a, 4.0 / n * centred.T @ centred
    a = (n * xx - 1.0) / (n - 1) + (m * yy - 1.0) / (m - 1) - 2.0 * xy
    N = 2.0 * n * m / (n + m)
    p, q = p - p.mean(axis=0), q - q.mean(axis=0)
    return a, 4.0 * N * (p.T @ p / n**2 + q.T @ q / m**2)


def _direct(u: Array, v: Array) -> tuple[Array, Array, Array, Array]:
    """Return the row means of the scalar kernel on xx, xy, yx and yy by direct sums."""
    return tuple(  # type: ignore[return-value]
        np.concatenate(
            [
                np.exp((s[rows, None] - t[None, :]) ** 2 / -2.0).mean(axis=1)
                for rows in _blocks(len(s), len(t))
            ]
        )
        for s, t in ((u, u), (u, v), (v, u), (v, v))
    )


def _blocks(rows: int, width: int) -> list[slice]:
    step = max(1, _CHUNK // max(1, width))
    return [slice(begin, begin + step) for begin in range(0, rows, step)]


def _bandwidth(x: Array, y: Array, kernel: Kernel, given: object) -> Array:
    D = x.shape[1]
    if isinstance(given, str):
        if given != "median":
            raise ProblemError(
                f"bandwidth is {given!r}; expected 'median' or numbers > 0", "bandwidth"
            )
        if kernel == "gaussian":
            return np.full(D, _median_square(x, y))
        distances = [median_distance(x[:, s], y[:, s]) for s in range(D)]
        for s in range(D):
            if distances[s] == 0.0:
                distances[s] = median_distance(x[:, s], y[:, s], nonzero=True) or 1.0
        return np.asarray(np.square(distances))
    numbers = np.asarray(given, dtype=float)
    if numbers.ndim == 0:
        numbers = np.full(D, float(numbers))
    numbers = as_vector("bandwidth", numbers, D)
    if not (numbers > 0.0).all():
        at = int(np.argmin(numbers))
        raise ProblemError(f"bandwidth[{at}] is {numbers[at]}; expected numbers > 0", "bandwidth")
    if kernel == "gaussian" and (numbers != numbers[0]).any():
        raise ProblemError("the Gaussian kernel has one bandwidth, got several", "bandwidth")
    return numbers


def _median_square(x: Array, y: Array) -> float:
    """Return the median of the squared distances between observations of x and y."""
    squares = np.concatenate(
        [
            ((x[rows] ** 2).sum(axis=1)[:, None] + (y**2).sum(axis=1) - 2.0 * x[rows] @ y.T).ravel()
            for rows in _blocks(len(x), len(y))
        ]
    )
    squares = np.maximum(squares, 0.0)
    median = float(np.median(squares))
    if median == 0.0:
        median = float(np.median(squares[squares > 0.0])) if (squares > 0.0).any() else 1.0
    return median
