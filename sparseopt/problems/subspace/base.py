"""What problems about a subspace have in common: points, and an orthonormal basis as answer."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import ClassVar

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.problems.base import Array, Problem, as_matrix
from sparseopt.problems.remarks import point_remarks
from sparseopt.sketch import scatter

_CENTRES = (None, "estimate")
_FAR = 3.0
"""Points farther off than this times the median distance are marked in a small picture."""
_ROUNDED = 1e-9
"""Distances below this, relative to the largest, are none."""


class SubspaceProblem(Problem):
    """A question about points, answered by an orthonormal basis W of shape (n, k).

    Every basis of one subspace is the same answer: objectives depend on WW' only.

    A subclass is a frozen dataclass with the fields X and k among others.

    Attributes
    ----------
    X : array of shape (N, n)
        N points with n coordinates, one in each row.
    k : int
        Dimension of the subspace, 1 <= k < n; there is no default. At least k + 1 points.
    """

    X: Array
    k: int

    family: ClassVar[str] = "subspace"

    def _coerce(self) -> None:
        self._set("X", as_matrix("X", self.X))
        if isinstance(self.k, bool) or not isinstance(self.k, Integral):
            raise ProblemError(f"k is {self.k!r}; expected the dimension, an integer >= 1", "k")
        self._set("k", int(self.k))

    @property
    def _least_points(self) -> int:
        """Fewer points than this leave nothing to be asked."""
        return self.k + 1

    def validate(self) -> None:
        """Check the dimension and the number of points."""
        N, n = self.X.shape
        if not 1 <= self.k < n:
            raise ProblemError(
                f"k is {self.k}; expected the dimension of the subspace, from 1 to {n - 1}: X has "
                f"{n} columns",
                "k",
            )
        least = self._least_points
        if least > N:
            raise ProblemError(
                f"X has {N} rows; expected at least {least} points: any {least - 1} of them lie "
                f"in one such subspace of dimension {self.k}",
                "X",
            )

    @property
    def size(self) -> Mapping[str, int]:
        return {"N": self.X.shape[0], "n": self.X.shape[1], "k": self.k}

    def remarks(self) -> tuple[str, ...]:
        return point_remarks(self.X, self.k, self._cure)

    @property
    def _cure(self) -> str | None:
        """What to do about a constant column; None where it has no part in the answer."""
        return "Centre the columns"

    @property
    def columns(self) -> int:
        """Columns of an answer."""
        return self.k

    def basis(self, x: Array) -> Array:
        """Return the basis W in an answer, shape (n, k).

        Raises
        ------
        ProblemError
            When x has another shape.
        """
        x = as_matrix("x", x)
        if x.shape != (self.X.shape[1], self.columns):
            raise ProblemError(
                f"x has shape {x.shape}; expected ({self.X.shape[1]}, {self.columns})", "x"
            )
        return np.asarray(x[:, : self.k])

    def residuals(self, x: Array, lam: float | None = None) -> dict[str, float]:
        """Return the largest entry of abs(W'W - I).

        Parameters
        ----------
        x : array, an answer
        lam : ignored
        """
        W = self.basis(x)
        return {"orthonormality": float(np.abs(W.T @ W - np.eye(self.k)).max())}

    def centred(self, x: Array) -> Array:
        """Return the points relative to what the subspace goes through, shape (N, n)."""
        return self.X

    def distances(self, x: Array) -> Array:
        """Return the distances of all points from the subspace, shape (N,)."""
        W = np.linalg.qr(self.basis(x))[0]
        points = self.centred(x)
        return np.asarray(np.linalg.norm(points - points @ W @ W.T, axis=1))

    def sketch(self, x: Array) -> str:
        """Return the points in the plane, or along the line and off it, an SVG element."""
        Z, distances = self.centred(x) @ self.basis(x), self.distances(x)
        far = distances > max(_FAR * np.median(distances), _ROUNDED * distances.max())
        up, what = (Z[:, 1], "in the subspace") if self.k > 1 else (distances, "along and off it")
        marked = f"; {far.sum()} of {len(far)} are far off" if far.any() else ""
        return scatter(Z[:, 0], up, far, f"points {what}{marked}")


class CentredSubspace(SubspaceProblem):
    """A question about a linear subspace, or about an affine one.

    With an estimated centre an answer has the shape (n, k + 1): its last column is the centre, any
    point of the subspace.

    Attributes
    ----------
    centre : {None, "estimate"}
        None: a linear subspace. "estimate": an affine one, and k + 2 points at least.
    """

    centre: str | None

    @property
    def _least_points(self) -> int:
        return self.k + 1 + (self.centre is not None)

    def validate(self) -> None:
        """Check the dimension, the word for the centre and the number of points."""
        if self.centre not in _CENTRES:
            raise ProblemError(
                f"centre is {self.centre!r}; expected None (a linear subspace) or 'estimate' (an "
                "affine one)",
                "centre",
            )
        super().validate()

    @property
    def columns(self) -> int:
        return self.k + (self.centre is not None)

    def centred(self, x: Array) -> Array:
        """Return the points less the centre, shape (N, n)."""
        return self.X if self.centre is None else self.X - np.asarray(x)[:, self.k]

    @property
    def _cure(self) -> str | None:
        return "Give centre='estimate'" if self.centre is None else None
