"""What HiGHS, on the whole program or on a part of it, answers at one lam."""

from __future__ import annotations

from dataclasses import dataclass

from sparseopt.problems.base import Array
from sparseopt.result import Limit

from ..common.outcome import Outcome
from .basis import Basis

__all__ = ["Solution"]


@dataclass(frozen=True)
class Solution:
    """The answer at one lam.

    theta and nu are there where HiGHS has a point of that kind. With the outcome LIMIT neither has
    to be feasible.
    """

    outcome: Outcome
    raw: str
    lam: float
    limit: Limit | None = None
    theta: Array | None = None
    nu: Array | None = None
    basis: Basis | None = None
    scale: float = 1.0
    """Size of the objective that the data suggest."""
