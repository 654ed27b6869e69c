"""Indicator constraints of a MISDP: rows that hold where a binary variable is one."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.problems.base import is_sparse
from sparseopt.problems.misdp.cones import as_sparse


@dataclass(frozen=True, eq=False)
class IndicatorConstraint:
    r"""The constraint :math:`x_k = 1 \Rightarrow l \le a'x \le u`, for a binary variable x_k.

    Where x_k = 0 it says nothing.

    Parameters
    ----------
    binary : int
        k, the index of an integer variable with bounds within [0, 1].
    a : array of shape (n,), or sparse array of shape (1, n)
        Held as a CSR array of shape (1, n).
    lower, upper : float
        -inf and inf by default; at least one of them must be finite, equal ones are an equation.

    Raises
    ------
    ProblemError

    Examples
    --------
    >>> IndicatorConstraint(binary=0, a=[0.0, 1.0], upper=3.0).upper
    3.0
    """

    binary: int
    a: Any
    lower: float = -np.inf
    upper: float = np.inf

    def __post_init__(self) -> None:
        if isinstance(self.binary, bool) or not isinstance(self.binary, Integral):
            raise ProblemError(f"binary is {self.binary!r}; expected an index", "binary")
        object.__setattr__(self, "binary", int(self.binary))
        given = self.a if is_sparse(self.a) else np.atleast_2d(np.asarray(self.a))
        a = as_sparse("a", given)
        if a.shape[0] != 1:
            raise ProblemError(f"a has shape {a.shape}; expected one row", "a")
        object.__setattr__(self, "a", a)
        for name in ("lower", "upper"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Real) or np.isnan(float(value)):
                raise ProblemError(f"{name} is {value!r}; expected a number", name)
            object.__setattr__(self, name, float(value) + 0.0)
        if not (self.lower <= self.upper and self.lower < np.inf and self.upper > -np.inf):
            raise ProblemError(
                f"lower = {self.lower:g} and upper = {self.upper:g} leave nothing", "lower"
            )
        if self.lower == -np.inf and self.upper == np.inf:
            raise ProblemError("lower and upper are both infinite; expected an end", "lower")
