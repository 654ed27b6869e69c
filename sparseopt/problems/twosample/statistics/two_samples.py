r"""Kernel two-sample statistics whose kernel weighs the variables by z.

With samples x_1, ..., x_n and y_1, ..., y_m in R^D, three kernels

- linear, :math:`K_z(x, y) = \sum_s z_s k_s(x_s, y_s)`,
- quadratic, :math:`K_z(x, y) = (\sum_s z_s k_s(x_s, y_s) + c)^2`,
- gaussian, :math:`K_z(x, y) = \exp(-\sum_s z_s^2 (x_s - y_s)^2 / (2 \sigma^2))`,

with :math:`k_s(x, y) = \exp(-(x - y)^2 / (2 \tau_s^2))`, and two statistics of z, in which a
constant of the kernel cancels; so c^2, beside which the rest may be little, is left out:

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

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.problems.base import Array, as_matrix, as_vector, unmasked
from sparseopt.problems.twosample.statistics.linear import blocks, scalar_features
from sparseopt.problems.twosample.statistics.median_distance import median_distance, ranked
from sparseopt.problems.twosample.statistics.pairs import Objective, PairObjective
from sparseopt.problems.twosample.statistics.quadratic import QuadraticObjective
from sparseopt.problems.twosample.statistics.user import UserObjective
from sparseopt.problems.twosample.statistics.user_kernels import PREFIX, UserKernel, user_kernel

Kernel = Literal["linear", "quadratic", "gaussian"]

_FEWEST = 4
_NEAR = 64.0
"""Halves of squared distances from the centre, in bandwidths, up to which differences of squares
lose no more than the Gaussian kernel's last 2 of 16 digits."""
_TILE = 256
"""Rows and columns of a matrix that several operations pass over while it is in the cache."""
_PILOT, _LIKELY = 2048, 0.04
"""Observations whose distances show about where the median of all is, to this part of them."""
_SMALLEST, _LARGEST = 1e-100, 1e100
"""Between these the squares of distances neither vanish nor overflow."""


@dataclass(frozen=True, eq=False)
class TwoSample:
    """Two samples with a kernel: the squared MMD, its variance, and their derivatives in z.

    Build it with :meth:`of`, which checks the data and chooses the bandwidths.

    Attributes
    ----------
    x, y : arrays of shapes (n, D) and (m, D)
    kernel : {"linear", "quadratic", "gaussian"} or UserKernel
    bandwidth : array of shape (D,)
        tau_s^2; for the Gaussian kernel sigma^2 in every entry. Ones, and unused, for a user's.
    c : float
        The constant of the quadratic kernel.
    """

    x: Array
    y: Array
    kernel: Kernel | UserKernel
    bandwidth: Array
    c: float

    @classmethod
    def of(
        cls,
        x: Array,
        y: Array,
        kernel: Any = "linear",
        bandwidth: object = "median",
        c: float | None = None,
        dense: bool = False,
    ) -> Self:
        """Check two samples and choose what is not given.

        Parameters
        ----------
        x, y : arrays of shapes (n, D) and (m, D)
            At least 4 observations each, not both the same.
        kernel : {"linear", "quadratic", "gaussian"} or a user's, default "linear"
            What a user may bring is described in
            :mod:`sparseopt.problems.twosample.statistics.user_kernels`.
        bandwidth : "median", float, or array of shape (D,), default "median"
            tau_s^2, or sigma^2 of the Gaussian kernel (a number). The median is that of the squared
            distances between x and y in a column; where more than half of a column's are 0, that of
            the others. The Gaussian kernel takes the median of the columns' medians: with weights
            of norm 1, distances are as large as in one column. A column that is the same constant
            in both samples says nothing: its statistics are 0.
        c : float, optional
            Constant of the quadratic kernel, >= 0. Default: the square root of the bandwidth that
            the Gaussian kernel would have.
        dense : bool, default False
            For a permutation test of the same data with the weight 1 for every variable: medians
            are over all pairs of the pooled observations, so that they do not depend on which of
            them are called x, and the Gaussian bandwidth and c are those of whole observations.

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
        built_in = isinstance(kernel, str) and not kernel.startswith(PREFIX)
        if not built_in:
            kernel = user_kernel(kernel)
        elif kernel not in get_args(Kernel):
            raise ProblemError(
                f"kernel is {kernel!r}; expected one of {', '.join(get_args(Kernel))}, or a "
                "kernel of yours: a function k(u, v), or an object with gram(z, u, v)",
                "kernel",
            )
        if c is not None and kernel != "quadratic":
            raise ProblemError(f"c is {c}, but only the quadratic kernel has a constant", "c")
        if isinstance(kernel, UserKernel):
            if not (isinstance(bandwidth, str) and bandwidth == "median"):
                raise ProblemError(
                    "bandwidth is for the built-in kernels, not a user's", "bandwidth"
                )
            kernel.probe(x)
            return cls(x, y, kernel, np.ones(x.shape[1]), 0.0)
        require_scale(x, y)
        u, v = x, y
        if dense:
            u = v = np.concatenate([x, y])
        constant = 0.0
        if kernel == "quadratic":
            constant = float(np.sqrt(_spread(u, v, dense))) if c is None else float(c)
            if not (np.isfinite(constant) and constant >= 0.0):
                raise ProblemError(f"c is {c}; expected a number >= 0", "c")
        return cls(x, y, kernel, _bandwidth(u, v, kernel, bandwidth, dense), constant)

    # ---- values

    def mmd(self, z: Array) -> float:
        """Return the squared MMD at z, shape (D,)."""
        return self.objective_function().parts(self._weights(z))[0]

    def variance(self, z: Array) -> float:
        """Return the variance at z."""
        return self.objective_function().parts(self._weights(z))[1]

    def objective(self, z: Array, lam: float) -> float:
        """Return the squared MMD less lam times the variance, (11)."""
        return self.objective_function().value(self._weights(z), lam)

    def gradient(self, z: Array, lam: float) -> Array:
        """Return the gradient of :meth:`objective`, shape (D,). O(n^2 D)."""
        return self.objective_function().gradient(self._weights(z), lam)

    def hessian(self, z: Array, lam: float) -> Array:
        """Return the Hessian of :meth:`objective`, shape (D, D). O(n^2 D^2)."""
        return self.objective_function().hessian(self._weights(z), lam)

    def objective_function(self, tick: Callable[[], None] = lambda: None) -> Objective:
        """Return what computes all of these, for many z: it keeps what they have in common.

        Parameters
        ----------
        tick : callable, optional
            Called every fraction of a second; what it raises ends the computation.
        """
        if isinstance(self.kernel, UserKernel):
            return UserObjective(self.x, self.y, self.kernel, tick)
        of_pairs = QuadraticObjective if self.kernel == "quadratic" else PairObjective
        return of_pairs(self.x, self.y, self.kernel, self.bandwidth, self.c, tick)

    def gram(self, z: Array, u: Array, v: Array) -> Array:
        """Return the kernel's values on observations u and v, shape (len(u), len(v)), less c^2."""
        z = self._weights(z)
        if isinstance(self.kernel, UserKernel):
            return self.kernel.gram(z, u, v)
        S = np.flatnonzero(z)
        K = np.empty((len(u), len(v)))
        if self.kernel == "gaussian":
            # One product, where squares of distances may be differences of squares.
            scale, centre = z[S] / np.sqrt(self.bandwidth[0]), v[:, S].mean(axis=0)
            a, b = (u[:, S] - centre) * scale, (v[:, S] - centre) * scale
            left, right = (0.5 * (part**2).sum(axis=1) for part in (a, b))
            near = max(left.max(), right.max()) <= _NEAR
        if self.kernel == "gaussian" and near:
            for rows, columns in _tiles(len(u), len(v)):
                half = np.matmul(a[rows], b[columns].T)
                half -= left[rows, None]
                half -= right[columns]
                np.exp(np.minimum(half, 0.0, out=half), out=K[rows, columns])
            return K
        for rows in blocks(len(u), len(v)):
            total = np.zeros_like(K[rows])
            for s in S:
                term = np.subtract.outer(u[rows, s], v[:, s])
                term *= term
                if self.kernel == "gaussian":
                    term *= z[s] ** 2 / (-2.0 * self.bandwidth[0])
                else:
                    np.exp(np.divide(term, -2.0 * self.bandwidth[s], out=term), out=term)
                    term *= z[s]
                total += term
            K[rows] = np.exp(total) if self.kernel == "gaussian" else total
        return K * (K + 2.0 * self.c) if self.kernel == "quadratic" else K

    def largest(self, z: Array) -> float:
        """Return a bound of the absolute values that :meth:`gram` returns at z."""
        if isinstance(self.kernel, UserKernel):
            return float(np.abs(self.kernel.gram(z, self.x, self.x)).max())
        total = float(np.abs(z).sum())
        quadratic = total * (total + 2.0 * self.c)
        return {"gaussian": 1.0, "linear": total, "quadratic": quadratic}[self.kernel]

    def matched(self, z: Array, pooled: Array, orders: Array, n: int) -> Array:
        """Return the sums of the kernel over the pairs (x_i, y_i) of orders, for n = m; else zeros.

        Parameters
        ----------
        z : array of shape (D,)
        pooled : array of shape (n + m, D)
        orders : int array of shape (B, n + m)
            Of the pooled observations, the first n called x.
        n : int

        Returns
        -------
        array of shape (B,)
        """
        if 2 * n != len(pooled) or isinstance(self.kernel, UserKernel):
            return np.zeros(len(orders))
        used = np.flatnonzero(z)
        if self.kernel == "gaussian":
            scaled = pooled[:, used] * (z[used] / np.sqrt(2.0 * self.bandwidth[used]))
            apart = (scaled[order[:n]] - scaled[order[n:]] for order in orders)
            return np.array([np.exp(-np.einsum("is,is->i", d, d)).sum() for d in apart])
        K = np.zeros((len(orders), n))
        for s in used:
            column = pooled[:, s]
            square = (column[orders[:, :n]] - column[orders[:, n:]]) ** 2
            K += z[s] * np.exp(square / (-2.0 * self.bandwidth[s]))
        return np.asarray((K if self.kernel == "linear" else K * (K + 2.0 * self.c)).sum(axis=1))

    def features(self, z: Array, u: Array) -> tuple[Array, Array] | None:
        r"""Return features of the linear kernel and their weights, :math:`K = \Phi W \Phi'`.

        Parameters
        ----------
        z : array of shape (D,)
        u : array of shape (N, D)

        Returns
        -------
        (array of shape (N, r), array of shape (r,)) or None
            None for another kernel, and where observations are too many bandwidths apart.
        """
        found = []
        for s in np.flatnonzero(z) if self.kernel == "linear" else []:
            expansion = scalar_features(u[:, s], float(self.bandwidth[s]), len(u) // 4)
            if expansion is None:
                return None
            found.append(expansion)
        if not found:
            return None
        weights = np.repeat(z[z != 0.0], [len(part) for part in found])
        return np.concatenate(found).T, weights

    def _weights(self, z: Array) -> Array:
        return as_vector("z", z, self.x.shape[1])


def require_scale(x: Array, y: Array) -> None:
    """Raise a ProblemError where a variable's numbers are so large or alike that squares fail.

    Parameters
    ----------
    x, y : arrays of shapes (n, D) and (m, D)
    """
    low, high = (np.minimum(x.min(axis=0), y.min(axis=0)), np.maximum(x.max(axis=0), y.max(axis=0)))
    largest = np.maximum(np.abs(low), np.abs(high))
    # The difference of the ends of a column may overflow, their halves do not.
    reach = high / 2.0 - low / 2.0
    bad = np.flatnonzero((largest > _LARGEST) | ((reach > 0.0) & (reach < _SMALLEST)))
    if len(bad):
        s = int(bad[0])
        raise ProblemError(
            f"column {s} of x and y has numbers from {low[s]:.3g} to {high[s]:.3g}; expected none "
            f"beyond {_LARGEST:g}, and differences of at least {_SMALLEST:g}: rescale the column"
        )


def _bandwidth(x: Array, y: Array, kernel: Kernel, given: object, dense: bool) -> Array:
    D = x.shape[1]
    if isinstance(given, str):
        if given != "median":
            raise ProblemError(
                f"bandwidth is {given!r}; expected 'median' or numbers > 0", "bandwidth"
            )
        if kernel == "gaussian":
            return np.full(D, _spread(x, y, dense))
        medians = _column_medians(x, y)
        return np.where(medians > 0.0, medians, 1.0)
    numbers = np.asarray(unmasked("bandwidth", given), dtype=float)
    if numbers.ndim == 0:
        numbers = np.full(D, float(numbers))
    numbers = as_vector("bandwidth", numbers, D)
    if not (numbers > 0.0).all():
        at = int(np.argmin(numbers))
        raise ProblemError(f"bandwidth[{at}] is {numbers[at]}; expected numbers > 0", "bandwidth")
    if kernel == "gaussian" and (numbers != numbers[0]).any():
        raise ProblemError("the Gaussian kernel has one bandwidth, got several", "bandwidth")
    return numbers


def _column_medians(x: Array, y: Array) -> Array:
    """Return the median of the squared distances in each column; 0 where all are equal."""
    pairs = [(x[:, s], y[:, s]) for s in range(x.shape[1])]
    return np.square(
        [median_distance(u, v) or median_distance(u, v, nonzero=True) for u, v in pairs]
    )


def _spread(x: Array, y: Array, dense: bool) -> float:
    """Return how large a squared distance is: with weights of 1 if dense, else of norm 1."""
    if dense:
        return _median_square(x)
    medians = _column_medians(x, y)
    return float(np.median(medians[medians > 0.0])) if medians.any() else 1.0


def _tiles(rows: int, columns: int) -> Iterator[tuple[slice, slice]]:
    """Cut a matrix into tiles."""
    for i in range(0, rows, _TILE):
        for j in range(0, columns, _TILE):
            yield slice(i, min(i + _TILE, rows)), slice(j, min(j + _TILE, columns))


def _median_square(u: Array) -> float:
    """Return the median squared distance of all pairs of observations, each with itself, too.

    Where it is 0, that of the pairs that differ.
    """
    N, squared = len(u), (u**2).sum(axis=1)

    def squares() -> Iterator[Array]:
        """Yield the distances of each observation to later ones, which stand for both orders."""
        for rows, columns in _tiles(N, N):
            if columns.stop <= rows.start:
                continue
            found = u[rows] @ (-2.0 * u[columns].T)
            found += squared[columns]
            found += squared[rows, None]
            np.maximum(found, 0.0, out=found)
            if columns.start < rows.stop:
                later = np.arange(N)[columns] > np.arange(N)[rows, None]
                found = np.where(later, found, np.inf)
            yield found.ravel()

    likely = (0.0, np.inf)
    if N > _PILOT:
        few = u[:: -(-N // _PILOT)]
        lengths = (few**2).sum(axis=1)
        found = (lengths[:, None] + lengths - 2.0 * (few @ few.T)).ravel()
        places = [int((0.5 + side * _LIKELY) * len(found)) for side in (-1, 1)]
        likely = tuple(np.maximum(np.partition(found, places)[places], 0.0))
    pairs = N * N
    ranks = [(middle - N) // 2 for middle in ((pairs - 1) // 2, pairs // 2)]
    median = float(np.mean(ranked(squares, ranks, likely)))
    if median > 0.0:
        return median
    zeros = N + 2 * sum(int((part == 0.0).sum()) for part in squares())
    if zeros == pairs:
        return 1.0
    left = pairs - zeros
    ranks = [(zeros + middle - N) // 2 for middle in ((left - 1) // 2, left // 2)]
    return float(np.mean(ranked(squares, ranks)))
