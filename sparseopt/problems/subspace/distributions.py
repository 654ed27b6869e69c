r"""The subspace of the distribution next to a sample: by its moments, or by a kernel.

Both tasks have an infimum over all distributions in a subspace that is known in closed form, so
only the subspace is left to be found. It is a function of the projected inner products
:math:`g_{ij} = x_i' W W' x_j`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import ClassVar

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.problems.base import Array, as_vector
from sparseopt.problems.subspace.base import SubspaceProblem

_ENTRIES = 1 << 20
"""Pairs of points that are looked at together: 8 MB."""
_FAR = 1e4
"""Squared lengths of points in bandwidths from which the kernel takes differences: rounding in the
exponents is then some 1e-12."""
_ORDERS = 8
"""Moments up to this order."""


def pairs(N: int) -> Iterator[slice]:
    """Yield ranges of rows; each with all N columns has about a million entries.

    Parameters
    ----------
    N : int

    Returns
    -------
    iterator of slice
    """
    step = max(1, _ENTRIES // N)
    for begin in range(0, N, step):
        yield slice(begin, min(N, begin + step))


class DistributionSubspace(SubspaceProblem):
    r"""The least squared distance from the sample to a distribution in the subspace.

    It is :math:`N^{-2} \sum_{ij} \phi_{ij}(x_i'x_j) - \phi_{ij}(x_i' W W' x_j)` with increasing
    functions of the subclass.
    """

    @abstractmethod
    def matched(self, rows: slice, products: Array) -> Array:
        """Return phi_ij of inner products, for a range of rows i and all j, an array alike."""

    def _mean(self, Z: Array) -> float:
        sums = (float(self.matched(rows, Z[rows] @ Z.T).sum()) for rows in pairs(len(Z)))
        return math.fsum(sums) / len(Z) ** 2

    def objective(self, x: Array, lam: float | None = None) -> float:
        """Return the infimum of the squared distance; lam is ignored. O(N^2 k)."""
        return self.whole - self._mean(self.X @ self.basis(x))

    @cached_property
    def whole(self) -> float:
        """The sum without W, which the objective is a difference from."""
        return self._mean(self.X)

    def objective_scale(self, x: Array, lam: float | None = None) -> float:
        """Return the sum without W, whatever x is."""
        return self.whole

    @property
    def value_unit(self) -> float:
        """The sum without W where it is below 1."""
        return min(1.0, self.whole) if self.whole > 0.0 else 1.0


@dataclass(frozen=True, eq=False, repr=False)
class MomentSubspace(DistributionSubspace):
    r"""The subspace of the distribution whose moments are next to the sample's.

    .. math:: \min_W \; \sum_s \frac{\lambda_s}{n^s} \big\| m_s - \nu_s \big\|^2
              = \sum_s \frac{\lambda_s}{n^s} \frac1{N^2} \sum_{ij}
                \big[ (x_i'x_j)^s - (x_i' W W' x_j)^s \big]

    with the tensors of moments :math:`m_s` of the sample and :math:`\nu_s` of a distribution in the
    subspace. The best one is that of the projected points, whose moments are the projections of
    :math:`m_s`; this is the right-hand side. For :math:`\lambda = (0, 1)` and centred points it
    gives principal components. The problem is not convex.

    Parameters
    ----------
    X : array of shape (N, n)
        N points with n coordinates, in one unit; the subspace goes through 0, so centre them.
    k : int
        Dimension of the subspace, 1 <= k < n; there is no default. At least k + 1 points.
    weights : array of shape (orders,), default (1, 1, 1, 1)
        :math:`\lambda_1, \lambda_2, \dots \ge 0`, at most eight, not all 0.

    Raises
    ------
    ProblemError
        When X is no finite matrix, k or a weight is out of range, or moments overflow.

    References
    ----------
    Takhanov: Dimension reduction as an optimization problem over a set of generalized functions
    (2021), task (7).

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt.problems import MomentSubspace
    >>> problem = MomentSubspace(X=[[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]], k=1)
    >>> problem.objective(np.array([[1.0], [0.0]])) < problem.objective(np.array([[0.0], [1.0]]))
    True
    """

    X: Array
    k: int = 0
    weights: Array | None = None

    kind: ClassVar[str] = "moment-subspace"

    def _coerce(self) -> None:
        super()._coerce()
        weights = [1.0] * 4 if self.weights is None else self.weights
        self._set("weights", as_vector("weights", weights, np.size(weights)))

    def validate(self) -> None:
        """Check the dimension, the weights, and that moments neither vanish nor overflow."""
        super().validate()
        assert self.weights is not None
        if not (
            1 <= len(self.weights) <= _ORDERS and self.weights.min() >= 0.0 < self.weights.max()
        ):
            raise ProblemError(
                f"weights is {self.weights}; expected one for each order of moments, at most "
                f"{_ORDERS}, nonnegative and not all 0",
                "weights",
            )
        with np.errstate(over="ignore", under="ignore"):
            largest = np.abs(self.X).max()
            moment = largest ** (2 * len(self.weights)) * self.weights.max() * self.X.size
        if not np.isfinite(moment) or (largest > 0.0 and moment < np.finfo(float).tiny):
            happens = "overflow" if largest > 1.0 else "vanish"
            raise ProblemError(
                f"X has entries of {largest:.3g}, whose moments of order {len(self.weights)} "
                f"{happens}: divide X by a unit",
                "X",
            )

    def matched(self, rows: slice, products: Array) -> Array:
        """Return the polynomial of the inner products, by Horner's rule."""
        assert self.weights is not None
        t = products / self.X.shape[1]
        found = np.zeros_like(t)
        for weight in self.weights[::-1]:
            found = (found + weight) * t
        return np.asarray(found)


@dataclass(frozen=True, eq=False, repr=False)
class MMDSubspace(DistributionSubspace):
    r"""The subspace of the distribution at the least maximum mean discrepancy from the sample.

    .. math:: \min_W \; \inf_\nu \big\| k * \mu - k * \nu \big\|^2
              \propto \frac1{N^2} \sum_{ij} \Big[ \kappa(x_i - x_j)
              - \rho_i \rho_j\, \kappa(W'x_i - W'x_j) \Big]

    with the Gaussian density k of bandwidth h, :math:`\kappa(v) = \exp(-\|v\|^2 / 4h^2)`, and
    :math:`\rho_i = \kappa(x_i - WW'x_i)`. Among measures in the subspace the projected points with
    the weights :math:`\rho_i / N` are best. Their mass is below 1; what is left costs nothing when
    it is spread thinly, so that this is the infimum over distributions, too, mostly not attained.
    For large h the subspace is that of principal components; for small h it follows points that lie
    close to it and to each other. The problem is not convex.

    Parameters
    ----------
    X : array of shape (N, n)
        N points with n coordinates, in one unit; the subspace goes through 0, so centre them.
    k : int
        Dimension of the subspace, 1 <= k < n; there is no default. At least k + 1 points.
    bandwidth : float
        h > 0, in the unit of X; there is no default.

    Raises
    ------
    ProblemError
        When X is no finite matrix, or k or the bandwidth is out of range.

    References
    ----------
    Takhanov: Dimension reduction as an optimization problem over a set of generalized functions
    (2021), task (6).

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt.problems import MMDSubspace
    >>> problem = MMDSubspace([[2.0, 0.0], [2.1, 0.0], [0.0, 9.0], [0.0, -9.0]], 1, 0.5)
    >>> problem.objective(np.array([[1.0], [0.0]])) < problem.objective(np.array([[0.0], [1.0]]))
    True
    """

    X: Array
    k: int = 0
    bandwidth: float = 0.0

    kind: ClassVar[str] = "mmd-subspace"

    def validate(self) -> None:
        """Check the dimension and the bandwidth."""
        super().validate()
        h = self.bandwidth
        if isinstance(h, bool) or not isinstance(h, Real) or not 0.0 < float(h) < math.inf:
            raise ProblemError(
                f"bandwidth is {h!r}; expected a length > 0, in the unit of X", "bandwidth"
            )
        self._set("bandwidth", float(h))

    @cached_property
    def _squares(self) -> Array:
        scaled = self.X / self.bandwidth
        return np.asarray(np.einsum("ij,ij->i", scaled, scaled))

    def objective(self, x: Array, lam: float | None = None) -> float:
        """Return the infimum of the squared distance; lam is ignored. O(N^2 k)."""
        if self._squares.max(initial=0.0) <= _FAR:
            return super().objective(x)
        W = self.basis(x)
        Z = self.X @ W
        return self.whole - self._mean_apart(Z, self.X - Z @ W.T)

    @cached_property
    def whole(self) -> float:
        """The sum without W, which the objective is a difference from."""
        if self._squares.max(initial=0.0) <= _FAR:
            return self._mean(self.X)
        return self._mean_apart(self.X, np.zeros((len(self.X), 1)))

    def _mean_apart(self, Z: Array, rest: Array) -> float:
        """Return the mean of the kernel from differences: no products that cancel.

        Parameters
        ----------
        Z : array of shape (N, k)
            Projected points.
        rest : array of shape (N, m)
            What is left of the points.
        """
        Z, rest = Z / self.bandwidth, rest / self.bandwidth
        off, sums = np.einsum("ij,ij->i", rest, rest), []
        for rows in pairs(len(Z)):
            exponents = off[rows, None] + off
            for column in Z.T:
                exponents += np.square(column[rows, None] - column)
            sums.append(float(np.exp(exponents / -4.0).sum()))
        return math.fsum(sums) / len(Z) ** 2

    def matched(self, rows: slice, products: Array) -> Array:
        """Return rho_i rho_j kappa(z_i - z_j): ``exp(-(|x_i|^2 + |x_j|^2 - 2 g_ij) / 4h^2)``."""
        squares = self._squares
        exponents = products / self.bandwidth / (self.bandwidth / 2.0) - squares[rows, None]
        return np.asarray(np.exp(np.minimum(exponents - squares, 0.0) / 4.0))
