"""How a run of an outside solver ends, in our words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from sparseopt.result import Limit

__all__ = ["Outcome", "Run", "Spent"]


class Outcome(StrEnum):
    """What one run of a solver says."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    UNDECIDED = "undecided"
    LIMIT = "limit"
    FAILED = "failed"


@dataclass(frozen=True)
class Run:
    """How a run of a solver ended; `limit` is set exactly for LIMIT."""

    outcome: Outcome
    raw: str
    limit: Limit | None = None


@dataclass
class Spent:
    """Simplex iterations of all runs that one solve makes."""

    iterations: int = 0
