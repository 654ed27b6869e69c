"""Which nodes may be neighbours of which: :class:`Candidates`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.installed import Deferred
from sparseopt.problems.base import Array, check_indices, unmasked

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = Deferred("scipy.sparse")


@dataclass(frozen=True, eq=False)
class Candidates:
    """The candidate neighbourhoods of d nodes.

    Node j may only choose neighbours among ``index[ptr[j]:ptr[j + 1]]``. That k is a candidate of j
    does not imply that j is one of k, and a node may have no candidates at all.

    Parameters
    ----------
    ptr : int array of shape (d + 1,)
    index : int array of shape (ptr[d],)
        Increasing within each node, without the node itself.
    coordinates : array of shape (d, dimensions), optional
        Where the nodes are; for pictures only.

    Raises
    ------
    ProblemError
        When the arrays do not describe neighbourhoods.

    Examples
    --------
    >>> from sparseopt.problems import Candidates
    >>> candidates = Candidates.window(5, 2)
    >>> [candidates.of(j).tolist() for j in range(5)]
    [[1, 2], [0, 2], [1, 3], [2, 4], [2, 3]]
    """

    ptr: Array
    index: Array
    coordinates: Array | None = None

    def __post_init__(self) -> None:
        ptr = _integers("ptr", self.ptr)
        index = _integers("index", self.index)
        if len(ptr) < 2 or ptr[0] != 0 or ptr[-1] != len(index) or (np.diff(ptr) < 0).any():
            raise ProblemError(
                f"ptr of the candidates must rise from 0 to {len(index)}, the number of all "
                "candidates, with one entry more than there are nodes",
                "candidates",
            )
        d = len(ptr) - 1
        if len(index) and not (index.min() >= 0 and index.max() < d):
            raise ProblemError(f"candidates must be nodes from 0 to {d - 1}", "candidates")
        node = np.repeat(np.arange(d, dtype=index.dtype), np.diff(ptr))
        own = np.flatnonzero(index == node)
        if len(own):
            raise ProblemError(f"node {int(index[own[0]])} is its own candidate", "candidates")
        falls = np.flatnonzero((np.diff(index) <= 0) & (np.diff(node) == 0))
        if len(falls):
            raise ProblemError(
                f"the candidates of node {int(node[falls[0]])} are not increasing", "candidates"
            )
        coordinates = None if self.coordinates is None else _points(self.coordinates, d)
        for array in (ptr, index):
            array.flags.writeable = False
        for name, value in (("ptr", ptr), ("index", index), ("coordinates", coordinates)):
            object.__setattr__(self, name, value)

    @property
    def nodes(self) -> int:
        """The number d of nodes."""
        return len(self.ptr) - 1

    @property
    def sizes(self) -> Array:
        """The number of candidates of each node, shape (d,)."""
        return np.asarray(np.diff(self.ptr))

    @property
    def total(self) -> int:
        """The number of all candidates, counted from both sides."""
        return int(self.ptr[-1])

    def of(self, node: int) -> Array:
        """Return the candidates of one node."""
        return np.asarray(self.index[self.ptr[node] : self.ptr[node + 1]])

    def adjacency(self) -> sp.csr_array:
        """Return the candidates as a d x d matrix of ones; row j has those of node j."""
        ones = np.ones(self.total, dtype=np.int8)
        return sp.csr_array((ones, self.index, self.ptr), shape=(self.nodes, self.nodes))

    def __repr__(self) -> str:
        return f"Candidates(nodes={self.nodes}, total={self.total})"

    # ---- where they come from

    @classmethod
    def from_mask(cls, mask: Any, coordinates: Any = None) -> Self:
        """Take the true entries of a d x d mask; row j has the candidates of node j.

        The diagonal is ignored.
        """
        array = np.asarray(mask)
        if array.ndim != 2 or array.shape[0] != array.shape[1] or array.dtype.kind not in "biuf":
            raise ProblemError(
                f"the mask has the type {array.dtype} and shape {array.shape}; expected d x d "
                "truth values",
                "candidates",
            )
        return cls.from_adjacency(sp.csr_array(array != 0), coordinates)

    @classmethod
    def from_adjacency(cls, adjacency: Any, coordinates: Any = None) -> Self:
        """Take the nonzero entries of a d x d scipy.sparse matrix; its diagonal is ignored."""
        check_indices("candidates", adjacency)
        matrix = sp.csr_array(adjacency, copy=True)
        if matrix.shape[0] != matrix.shape[1]:
            raise ProblemError(
                f"the adjacency has shape {matrix.shape}; expected a square matrix", "candidates"
            )
        matrix.sum_duplicates()
        row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        kept = (matrix.data != 0) & (matrix.indices != row)
        return cls._from_pairs(row[kept], matrix.indices[kept], matrix.shape[0], coordinates)

    @classmethod
    def within(cls, coordinates: Any, radius: float) -> Self:
        """Let all nodes at a distance of at most `radius` be candidates of each other.

        Parameters
        ----------
        coordinates : array of shape (d, dimensions)
        radius : float
            In the units of the coordinates, positive.
        """
        from scipy.spatial import cKDTree

        points = _points(coordinates)
        if isinstance(radius, bool) or not isinstance(radius, Real) or not 0 < radius < math.inf:
            raise ProblemError(f"radius is {radius!r}; expected a positive number", "radius")
        pairs = cKDTree(points).query_pairs(float(radius), output_type="ndarray")
        rows, columns = np.concatenate([pairs, pairs[:, ::-1]]).T
        return cls._from_pairs(rows, columns, len(points), points)

    @classmethod
    def nearest(cls, coordinates: Any, k: int) -> Self:
        """Let the k nearest other nodes be the candidates of each node.

        Of nodes at the same distance those with the smaller numbers are taken, also where
        several nodes are at one place.
        """
        from scipy.spatial import cKDTree

        points = _points(coordinates)
        d = len(points)
        _count("k", k, 1, d - 1)
        tree = cKDTree(points)
        # Ties at the k-th distance are settled by number: look at all that are as near.
        distance = np.asarray(tree.query(points, k=[k + 1])[0])[:, 0]
        around = tree.query_ball_point(points, distance * (1.0 + 1e-12))
        chosen = []
        for j, near in enumerate(around):
            others = np.array(sorted(set(near) - {j}), dtype=np.int64)
            far = np.linalg.norm(points[others] - points[j], axis=1)
            chosen.append(np.sort(others[np.argsort(far, kind="stable")[:k]]))
        ptr = np.arange(d + 1, dtype=np.int64) * k
        return cls(ptr, np.concatenate(chosen), points)

    @classmethod
    def lattice(cls, shape: Sequence[int], reach: int = 1, diagonal: bool = False) -> Self:
        """Let nodes on a lattice have the nodes near them as candidates.

        Parameters
        ----------
        shape : sequence of int
            Lengths of the lattice's sides; the last index runs fastest.
        reach : int, default 1
            The largest number of steps along the axes; with `diagonal`, steps may go along several
            axes at once.
        """
        lengths = tuple(_count("shape", length, 1) for length in shape)
        if not lengths:
            raise ProblemError("shape is empty; expected the lengths of the sides", "shape")
        _count("reach", reach, 1)
        points = np.stack(np.meshgrid(*map(np.arange, lengths), indexing="ij"), -1).reshape(
            -1, len(lengths)
        )
        steps = np.stack(np.meshgrid(*[np.arange(-reach, reach + 1)] * len(lengths)), -1).reshape(
            -1, len(lengths)
        )
        size = np.abs(steps).max(1) if diagonal else np.abs(steps).sum(1)
        rows, columns = [], []
        for step in steps[(size <= reach) & (size > 0)]:
            target = points + step
            inside = ((target >= 0) & (target < lengths)).all(1)
            rows.append(np.flatnonzero(inside))
            columns.append(np.ravel_multi_index(tuple(target[inside].T), lengths))
        return cls._from_pairs(
            np.concatenate(rows), np.concatenate(columns), len(points), points.astype(float)
        )

    @classmethod
    def window(cls, d: int, width: int) -> Self:
        """Let the `width` nearest indices be the candidates; the window is shifted at the ends."""
        _count("d", d, 2)
        _count("width", width, 1, d - 1)
        first = np.clip(np.arange(d, dtype=np.int64) - width // 2, 0, d - 1 - width)
        index = first[:, None] + np.arange(width)
        index += index >= np.arange(d)[:, None]
        return cls(np.arange(d + 1, dtype=np.int64) * width, index.reshape(-1))

    @classmethod
    def correlated(cls, X: Array, k: int, weights: Array | None = None) -> Self:
        """Let the k other columns with the largest absolute correlations be the candidates of each.

        Of equal correlations those of the columns with the smaller numbers are taken.

        Parameters
        ----------
        X : array of shape (n, d)
            Without constant columns.
        k : int
            From 1 to d - 1.
        weights : array of shape (n,), optional
            How often each row counts. Default: 1.
        """
        d = X.shape[1]
        _count("k", k, 1, d - 1)
        covariance = np.cov(X.T, aweights=weights)
        length = np.sqrt(np.diag(covariance))
        size = np.abs(covariance / length[:, None] / length)
        np.fill_diagonal(size, -1.0)
        chosen = np.sort(np.argsort(-size, axis=1, kind="stable")[:, :k], axis=1)
        return cls(np.arange(d + 1, dtype=np.int64) * k, chosen.reshape(-1))

    @classmethod
    def _from_pairs(cls, rows: Array, columns: Array, d: int, coordinates: Any) -> Self:
        order = np.lexsort((columns, rows))
        ptr = np.searchsorted(rows[order], np.arange(d + 1)).astype(np.int64)
        return cls(ptr, columns[order].astype(np.int64), coordinates)


def _integers(name: str, given: Any) -> Array:
    array = np.asarray(unmasked(name, given))
    if array.ndim != 1 or (array.dtype.kind not in "iu" and len(array)):
        raise ProblemError(
            f"{name} of the candidates has the type {array.dtype} and shape {array.shape}; "
            "expected a vector of integers",
            "candidates",
        )
    return np.array(array, dtype=np.int64 if name == "ptr" else np.int32)


def _points(given: Any, d: int | None = None) -> Array:
    array = np.asarray(unmasked("coordinates", given))
    if array.ndim != 2 or array.shape[0] < 1 or array.dtype.kind not in "biuf":
        raise ProblemError(
            f"coordinates has the type {array.dtype} and shape {array.shape}; expected one row of "
            "numbers for each node",
            "coordinates",
        )
    if d is not None and len(array) != d:
        raise ProblemError(f"coordinates has {len(array)} rows; there are {d} nodes", "coordinates")
    points = np.array(array, dtype=float)
    if not np.isfinite(points).all():
        raise ProblemError("coordinates must be finite", "coordinates")
    points.flags.writeable = False
    return points


def _count(name: str, value: Any, low: int, high: int | None = None) -> int:
    wanted = f"an integer >= {low}" if high is None else f"an integer from {low} to {high}"
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ProblemError(f"{name} is {value!r}; expected {wanted}", name)
    number = int(value)
    if number < low or (high is not None and number > high):
        raise ProblemError(f"{name} is {number}; expected {wanted}", name)
    return number
