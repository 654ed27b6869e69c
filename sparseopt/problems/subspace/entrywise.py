r"""The subspace with the least sum of absolute deviations: the l1 Wasserstein task."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.problems.subspace.base import CentredSubspace

_OFFSET = 1e-12
"""Size of the random offsets that decide ties, relative to the largest response: above rounding."""
_OPTIMAL = 1e-9
"""Multipliers may exceed 1 by this much at an optimum."""
_PARALLEL = 1e-11
"""Residuals that change by less than this, relative to the fastest, are no breakpoints."""
_DEPENDENT = 1e-9
"""A basis whose determinant is below this, relative to that of pivoted columns, is no start."""
_PIVOTS = 100
"""Pivots for each coefficient after which a regression is given up. There are about 3."""


@dataclass(frozen=True, eq=False, repr=False)
class L1Subspace(CentredSubspace):
    r"""The k-dimensional subspace with the least sum of absolute deviations from a sample.

    .. math:: \min_{W, c} \; \sum_{i=1}^N \min_{z_i} \big\| x_i - c - W z_i \big\|_1
              \quad\text{subject to}\quad W'W = I_k

    Single entries that are far off count little, where :class:`RobustSubspace` bears points that
    are. It is the matrix of rank k next to X in the sum of absolute entries, which principal
    component pursuit relaxes. The value of a subspace takes one least absolute deviations
    regression for each point. It depends on the coordinate axes, is not convex, and NP-hard even
    for k = 1.

    The answer x is an orthonormal basis W of shape (n, k); with an estimated centre its shape is
    (n, k + 1), and the last column is c.

    Parameters
    ----------
    X : array of shape (N, n)
        N points with n coordinates, one in each row, in any unit common to all coordinates.
    k : int
        Dimension of the subspace, 1 <= k < n; there is no default. At least k + 1 points.
    centre : {None, "estimate"}, default None
        None: a linear subspace, c = 0. "estimate": an affine one, and c is part of the answer.

    Raises
    ------
    ProblemError
        When X is not a finite matrix, k is out of range, or there are too few points.

    References
    ----------
    Takhanov: Dimension reduction as an optimization problem over a set of generalized functions
    (2021), task (14). Ke, Kanade: Robust L1 norm factorization in the presence of outliers and
    missing data by alternative convex programming, CVPR (2005).

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt.problems import L1Subspace
    >>> problem = L1Subspace(X=[[1.0, 1.0], [2.0, 2.0], [-3.0, -3.0], [4.0, 9.0]], k=1)
    >>> problem.objective(np.array([[1.0], [1.0]]) / np.sqrt(2.0)).__round__(9)
    5.0
    """

    X: Array
    k: int = 0
    centre: str | None = None

    kind: ClassVar[str] = "l1-subspace"

    @cached_property
    def origin(self) -> Array:
        """The best centre without a subspace, shape (n,): 0, or the coordinates' medians."""
        if self.centre is None:
            return np.zeros(self.X.shape[1])
        return np.asarray(np.median(self.X, axis=0))

    def split(self, x: Array) -> tuple[Array, Array]:
        """Return the basis in an answer, shape (n, k), and the centre, shape (n,); 0 without one.

        Raises
        ------
        ProblemError
            When x has another shape.
        """
        x = np.asarray(x, dtype=float)
        W = self.basis(x)
        return W, np.zeros(len(W)) if self.centre is None else x[:, self.k]

    def distances(self, x: Array) -> Array:
        """Return the l1 distances of all points from the subspace, shape (N,)."""
        W, centre = self.split(x)
        points = self.X - centre
        Z = least_absolute(W, points)[0]
        return np.asarray(np.abs(points - Z @ W.T).sum(axis=1))

    def objective(self, x: Array, lam: float | None = None) -> float:
        """Return the sum of the l1 distances from the subspace; lam is ignored."""
        return float(self.distances(x).sum())

    @cached_property
    def spread(self) -> float:
        """The sum of all absolute entries of X less the origin."""
        return float(np.abs(self.X - self.origin).sum())

    def objective_scale(self, x: Array, lam: float | None = None) -> float:
        """Return the sum of the absolute entries of X less the origin, whatever x is."""
        return self.spread

    @property
    def value_unit(self) -> float:
        """The sum of the absolute entries where it is below 1."""
        return min(1.0, self.spread) if self.spread > 0.0 else 1.0


def least_absolute(D: Array, Y: Array, bases: Array | None = None) -> tuple[Array, Array]:
    r"""Return :math:`\arg\min_z \|y_i - D z\|_1` for every row of Y: the median regressions.

    A solution fits a basis of observations exactly. One that is left changes its residual along an
    edge, on which the sum of the absolute residuals of the others decreases up to a weighted
    median: that observation enters (Barrodale, Roberts 1973). All rows of Y take a step at a time,
    each O(m k + m log m + k^3). Random offsets decide ties, so that a step always gains.

    Parameters
    ----------
    D : array of shape (m, k)
        The design, of any rank.
    Y : array of shape (N, m)
        Responses.
    bases : integer array of shape (N, rank of D), optional
        Where to start: what was returned for a similar design.

    Returns
    -------
    Z : array of shape (N, k)
    bases : integer array of shape (N, rank of D)
        The observations that are fitted exactly.

    References
    ----------
    Barrodale, Roberts: An improved algorithm for discrete l1 linear approximation, SIAM Journal on
    Numerical Analysis 10 (1973).
    """
    from scipy.linalg import qr

    N = len(Y)
    U, sizes, V = np.linalg.svd(D, full_matrices=False)
    rank = int((sizes > max(D.shape) * np.finfo(float).eps * sizes[0]).sum())
    U = U[:, :rank]
    if rank == 0:
        return np.zeros((N, D.shape[1])), np.zeros((N, 0), dtype=int)
    pivots = qr(U.T, mode="r", pivoting=True)[1][:rank]
    if bases is None or bases.shape != (N, rank):
        bases = np.tile(pivots, (N, 1))
    else:
        usual = abs(float(np.linalg.det(U[pivots])))
        singular = np.abs(np.linalg.det(U[bases])) <= _DEPENDENT * usual
        bases = np.where(singular[:, None], pivots, bases)
    random = np.random.default_rng(0).uniform(-_OFFSET, _OFFSET, Y.shape)
    apart = Y + random * np.abs(Y).max(axis=1, keepdims=True)
    active = np.arange(N)
    for _ in range(_PIVOTS * rank):
        active = _step(U, apart, bases, active)
        if not len(active):
            break
    inner = np.linalg.solve(U[bases], np.take_along_axis(Y, bases, axis=1)[:, :, None])[:, :, 0]
    return (inner / sizes[:rank]) @ V[:rank], bases


def _step(D: Array, Y: Array, bases: Array, active: Array) -> Array:
    """Exchange one observation of each basis that is not optimal yet; return which those are."""
    inverse = np.linalg.inv(D[bases[active]])
    fitted = np.take_along_axis(Y[active], bases[active], axis=1)
    R = Y[active] - (inverse @ fitted[:, :, None])[:, :, 0] @ D.T
    np.put_along_axis(R, bases[active], 0.0, axis=1)
    multipliers = ((np.sign(R) @ D)[:, None] @ inverse)[:, 0]
    leaving = np.abs(multipliers).argmax(axis=1)
    steepest = np.take_along_axis(multipliers, leaving[:, None], axis=1)[:, 0]
    still = np.abs(steepest) > 1.0 + _OPTIMAL
    active, R, leaving, steepest = active[still], R[still], leaving[still], steepest[still]
    if not len(active):
        return np.asarray(active)
    edges = np.take_along_axis(inverse[still], leaving[:, None, None], axis=2)[:, :, 0]
    rates = edges @ D.T * np.sign(steepest)[:, None]
    sizes = np.abs(rates)
    met = (rates * R > 0.0) & (sizes > _PARALLEL * sizes.max(axis=1, keepdims=True))
    ways = np.where(met, np.abs(R) / np.where(met, sizes, 1.0), np.inf)
    order = np.argsort(ways, axis=1)
    passed = np.cumsum(np.take_along_axis(np.where(met, sizes, 0.0), order, axis=1), axis=1)
    entering = (passed * 2.0 >= np.abs(steepest)[:, None] - 1.0).argmax(axis=1)
    found = np.take_along_axis(order, entering[:, None], axis=1)[:, 0]
    # Where rounding leaves no breakpoint, the basis is as good as it gets.
    there = np.isfinite(np.take_along_axis(ways, found[:, None], axis=1)[:, 0])
    bases[active[there], leaving[there]] = found[there]
    return np.asarray(active[there])
