"""The subspace with the least sum of distances: the l2 Wasserstein task, or outlier pursuit."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import InitVar, dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.problems.base import Array
from sparseopt.problems.subspace.base import CentredSubspace
from sparseopt.problems.subspace.entrywise import L1Subspace

_ENTRIES = 1 << 20
"""Entries of a block of rows: 8 MB, so that a large sample needs no second copy of itself."""


@dataclass(frozen=True, eq=False, repr=False)
class RobustSubspace(CentredSubspace):
    r"""The k-dimensional subspace with the least sum of Euclidean distances to a sample.

    .. math:: \min_{W, c} \; \sum_{i=1}^N \big\| (I - W W')(x_i - c) \big\|_2
              \quad\text{subject to}\quad W'W = I_k

    The distances are not squared, so points far from the subspace (outliers) count less than in
    principal component analysis: where enough points lie in one subspace, the answer is exactly
    that subspace. The problem is that of the rank-k distribution at the least Wasserstein distance
    from the sample, and has the same solutions as outlier pursuit without relaxation. It is not
    convex.

    The answer x is an orthonormal basis W of shape (n, k); with an estimated centre its shape is
    (n, k + 1), and the last column is c.

    Parameters
    ----------
    X : array of shape (N, n)
        N points with n coordinates, one in each row, in any unit common to all coordinates.
    k : int
        Dimension of the subspace, 1 <= k < n; there is no default. At least k + 1 points.
    norm : {"l2", "l1"}, default "l2"
        Of the distances. "l1" makes an :class:`L1Subspace` of the other arguments.
    centre : {None, "estimate"}, default None
        None: a linear subspace, c = 0. "estimate": an affine one, and c is part of the answer.

    Raises
    ------
    ProblemError
        When X is not a finite matrix, k is out of range, there are too few points, or norm or
        centre is another word.

    References
    ----------
    Takhanov: Dimension reduction as an optimization problem over a set of generalized functions
    (2021), task (13), theorem 6. Lerman, Maunu: Fast, robust and non-convex subspace recovery,
    Information and Inference 7 (2018).

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt.problems import RobustSubspace
    >>> problem = RobustSubspace(X=[[1.0, 0.0], [2.0, 0.0], [-3.0, 0.0], [0.0, 5.0]], k=1)
    >>> problem.objective(np.array([[1.0], [0.0]]))
    5.0
    """

    X: Array
    k: int = 0
    norm: InitVar[str] = "l2"
    centre: str | None = None

    kind: ClassVar[str] = "robust-subspace"

    def __new__(cls, *args: Any, **fields: Any) -> Any:
        """Leave the l1 norm to the problem that has it, as `pathlib.Path` does with systems."""
        if len(args) > 2:
            fields["norm"] = args[2]
        if fields.pop("norm", "l2") != "l1":
            return super().__new__(cls)
        return L1Subspace(*args[:2], *args[3:], **fields)

    def __post_init__(self, norm: str) -> None:
        if norm != "l2":
            raise ProblemError(f"norm is {norm!r}; expected 'l2' or 'l1'", "norm")
        super().__post_init__()

    @cached_property
    def origin(self) -> Array:
        """What points are moved by first, shape (n,): 0; their mean, with an estimated centre."""
        return np.zeros(self.X.shape[1]) if self.centre is None else self.X.mean(axis=0)

    @cached_property
    def unit(self) -> float:
        """The power of two next to the largest coordinate of a point less the origin; 1 for 0."""
        largest = max(
            float(self.X.max() - self.origin.min()), float(self.origin.max() - self.X.min())
        )
        return 2.0 ** round(math.log2(largest)) if 0.0 < largest < math.inf else 1.0

    @cached_property
    def spread(self) -> float:
        """The sum of all distances from the origin: what rounding errors are proportional to."""
        blocks = (np.linalg.norm(block, axis=1).sum() for _, block in self.blocks())
        return float(sum(blocks)) * self.unit

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield ranges of rows, and (X - origin) / unit there, about 8 MB at a time."""
        N, n = self.X.shape
        count = max(1, _ENTRIES // n)
        for begin in range(0, N, count):
            rows = slice(begin, min(N, begin + count))
            yield rows, (self.X[rows] - self.origin) / self.unit

    def basis_and_shift(self, x: Array) -> tuple[Array, Array]:
        """Split an answer into the basis and the centre, relative to the origin.

        Parameters
        ----------
        x : array of shape (n, k), or (n, k + 1) with an estimated centre

        Returns
        -------
        W : array of shape (n, k)
        shift : array of shape (n,)
            (The affine subspace's point next to the origin, less the origin) / unit: the same for
            all centres in the subspace.

        Raises
        ------
        ProblemError
            When x has another shape.
        """
        x = np.asarray(x, dtype=float)
        W = self.basis(x)
        if self.centre is None:
            return W, np.zeros(len(W))
        shift = (x[:, self.k] - self.origin) / self.unit
        return W, shift - W @ (W.T @ shift)

    def distances(self, x: Array) -> Array:
        """Return the distances of all points from the subspace, shape (N,). O(N n k).

        Parameters
        ----------
        x : array of shape (n, k), or (n, k + 1) with an estimated centre
            Its first k columns are orthonormal.
        """
        W, shift = self.basis_and_shift(x)
        found = np.empty(len(self.X))
        for rows, block in self.blocks():
            block = block - shift
            found[rows] = np.linalg.norm(block - (block @ W) @ W.T, axis=1)
        found *= self.unit
        return found

    def objective(self, x: Array, lam: float | None = None) -> float:
        """Return the sum of the distances from the subspace; lam is ignored."""
        return float(self.distances(x).sum())

    def objective_scale(self, x: Array, lam: float | None = None) -> float:
        """Return the sum of the points' distances from the origin, whatever x is."""
        return self.spread

    @property
    def value_unit(self) -> float:
        """The sum of the distances from the origin where it is below 1."""
        return min(1.0, self.spread) if self.spread > 0.0 else 1.0
