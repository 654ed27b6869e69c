"""Weights on public atoms whose mean embedding is closest to a given one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from sparseopt.problems.base import Array, Problem, as_matrix, as_vector
from sparseopt.problems.fields import check_lengths
from sparseopt.sketch import histogram


@dataclass(frozen=True, eq=False, repr=False)
class EmbeddingFit(Problem):
    r"""The distribution on given atoms whose mean embedding is closest to a target.

    .. math:: \min_{a \in R^n} \; \|\Phi'a - \mu\|_2^2
              \quad\text{subject to}\quad a \ge 0,\; \sum_i a_i = 1

    A convex quadratic program, the point of a polytope next to the origin: where :math:`\mu` is a
    private release of a mean embedding this is post-processing, so it costs no privacy.

    Parameters
    ----------
    Phi : array of shape (n, d)
        Features of the n atoms.
    mu : array of shape (d,)
        The mean embedding to be matched.

    Raises
    ------
    ProblemError
        When shapes disagree or an entry is not finite.

    References
    ----------
    Vinaroz and others: Hermite polynomial features for private data generation (2022), equation
    (5), with atoms in place of a generator. Wolfe: Finding the nearest point in a polytope,
    Mathematical Programming 11 (1976).

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt.problems import EmbeddingFit
    >>> problem = EmbeddingFit(Phi=[[0.0, 0.0], [1.0, 0.0]], mu=[0.25, 1.0])
    >>> problem.objective(np.array([0.75, 0.25]))
    1.0
    """

    Phi: Array
    mu: Array

    kind: ClassVar[str] = "embedding-fit"
    family: ClassVar[str] = "private"

    def _coerce(self) -> None:
        self._set("Phi", as_matrix("Phi", self.Phi))
        self._set("mu", as_vector("mu", self.mu, self.Phi.shape[1]))

    def validate(self) -> None:
        """Check that squares of the entries neither vanish nor overflow."""
        check_lengths("Phi", self.Phi.ravel())
        check_lengths("mu", self.mu)

    @property
    def size(self) -> Mapping[str, int]:
        return {"atoms": self.Phi.shape[0], "features": self.Phi.shape[1]}

    @cached_property
    def largest_term(self) -> float:
        """The largest squared distance of an atom from the target: the size of the values."""
        return float(self._squared_distances.max())

    @cached_property
    def nearest_term(self) -> float:
        """The least squared distance of an atom, which no optimum exceeds."""
        return float(self._squared_distances.min())

    @property
    def _squared_distances(self) -> Array:
        return np.asarray(np.sum((self.Phi - self.mu) ** 2, axis=1))

    def objective(self, x: Array, lam: float | None = None) -> float:
        """Return the squared distance of the weighted atoms from the target; O(n d)."""
        a = as_vector("x", x, self.Phi.shape[0])
        residual = self.Phi.T @ a - self.mu
        return float(residual @ residual)

    def sketch(self, x: Array) -> str:
        """Return a small picture of how the weights of the atoms are spread."""
        return histogram(x, {"equal weights": 1.0 / len(x)}, "weights of the atoms")

    def gradient(self, x: Array) -> Array:
        """Return the gradient 2 Phi (Phi'x - mu), shape (n,)."""
        a = as_vector("x", x, self.Phi.shape[0])
        return np.asarray(2.0 * (self.Phi @ (self.Phi.T @ a - self.mu)))

    def objective_scale(self, x: Array, lam: float | None = None) -> float:
        """Return the largest squared distance of an atom from the target, whatever x is."""
        return self.largest_term

    @property
    def value_unit(self) -> float:
        """The largest squared distance of an atom from the target where it is below 1."""
        return min(1.0, self.largest_term) if self.largest_term > 0.0 else 1.0

    def residuals(self, x: Array, lam: float | None = None) -> dict[str, float]:
        """Return the largest violation of x >= 0, and abs(sum - 1)."""
        a = as_vector("x", x, self.Phi.shape[0])
        return {"negative": float(max(0.0, -a.min())), "sum": abs(math.fsum(a) - 1.0)}
