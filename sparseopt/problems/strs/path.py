"""The sparse trust-region subproblem for every number of nonzeros up to a largest one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar, Literal, Self

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.problems.base import Array, Problem, as_vector
from sparseopt.problems.fields import as_symmetric
from sparseopt.problems.strs.problem import STRS

__all__ = ["STRSPath"]


@dataclass(frozen=True, eq=False, repr=False)
class STRSPath(Problem):
    r"""The sparse trust-region subproblem for d = 1, ..., d_max nonzeros.

    .. math:: \max_{z \in R^D} \; z'Az + a'z \quad\text{subject to}\quad
              \|z\|_2 = 1,\; \|z\|_0 \le d

    The optimal value does not decrease with d. The answer is a path over d
    (:class:`~sparseopt.paths.supports.SupportPath`); point, objective and bound of the result are
    those of its last size.

    Parameters
    ----------
    A : array of shape (D, D)
        Symmetric, as for :class:`STRS`.
    a : array of shape (D,), optional
        Default 0: sparse principal component analysis.
    d_max : int, optional
        Largest number of nonzeros, 1 <= d_max <= D. Default D.

    Raises
    ------
    ProblemError
        When A is not square or not symmetric, shapes disagree, an entry is not finite, or d_max is
        out of range.

    Examples
    --------
    >>> import numpy as np
    >>> import sparseopt
    >>> S = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 2.5]])
    >>> result = sparseopt.solve(sparseopt.problems.STRSPath(S))
    >>> result.path.objective.round(9).tolist(), result.path.supports()
    ([2.5, 3.0, 3.0], [[2], [0, 1], [0, 1]])
    """

    A: Array
    a: Array | None = None
    d_max: int | None = None

    kind: ClassVar[str] = "strs-path"
    family: ClassVar[str] = "strs-path"
    sense: ClassVar[Literal["min", "max"]] = "max"

    @classmethod
    def of(cls, problem: STRS, d_max: int | None = None) -> Self:
        """Return the path of a problem, whose builders make covariances and two-sample data.

        Parameters
        ----------
        problem : STRS
        d_max : int, optional
            Default: the problem's own d.
        """
        return cls(A=problem.A, a=problem.linear, d_max=problem.d if d_max is None else d_max)

    def at(self, d: int) -> STRS:
        """Return the problem of one size.

        Raises
        ------
        ProblemError
            When d is out of range.
        """
        return STRS(A=self.A, a=self.linear, d=d)

    @property
    def linear(self) -> Array:
        """The linear term a, shape (D,)."""
        assert self.a is not None  # set by _coerce
        return self.a

    @property
    def last(self) -> int:
        """The largest number of nonzeros."""
        assert self.d_max is not None  # set by _coerce
        return self.d_max

    def _coerce(self) -> None:
        self._set("A", as_symmetric("A", self.A))
        D = self.A.shape[0]
        self._set("a", np.zeros(D) if self.a is None else as_vector("a", self.a, D))
        d = D if self.d_max is None else self.d_max
        if isinstance(d, bool) or not isinstance(d, Integral):
            raise ProblemError(f"d_max is {d!r}; expected an integer from 1 to {D}", "d_max")
        self._set("d_max", int(d))

    def validate(self) -> None:
        """Check the range of d_max; the arrays were checked on the way in."""
        D = self.A.shape[0]
        if not 1 <= self.last <= D:
            raise ProblemError(
                f"d_max is {self.last}; expected the largest number of nonzeros, from 1 to {D}",
                "d_max",
            )

    @property
    def size(self) -> Mapping[str, int]:
        return {"D": self.A.shape[0], "d_max": self.last}

    def objective(self, x: Array, lam: float | None = None) -> float:
        """Return x'Ax + a'x of a point of shape (D,)."""
        z = as_vector("x", x, self.A.shape[0])
        return float(z @ self.A @ z + self.linear @ z)

    def objective_scale(self, x: Array, lam: float | None = None) -> float:
        """Return the sum of the absolute terms of x'Ax + a'x."""
        z = np.abs(as_vector("x", x, self.A.shape[0]))
        return float(z @ np.abs(self.A) @ z + np.abs(self.linear) @ z)

    @property
    def value_unit(self) -> float:
        """The largest entry of A and a where it is below 1: the size that the values have."""
        size = max(float(np.abs(self.A).max()), float(np.abs(self.linear).max()))
        return min(1.0, size) if size > 0.0 else 1.0

    def residuals(self, x: Array, lam: float | None = None) -> dict[str, float]:
        """Return abs(norm - 1) and by how many nonzeros x exceeds d_max."""
        z = as_vector("x", x, self.A.shape[0])
        return {
            "norm": abs(float(np.linalg.norm(z)) - 1.0),
            "cardinality": float(max(0, int(np.count_nonzero(z)) - self.last)),
        }
