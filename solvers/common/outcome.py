"""What is asked of an outside solver besides the program, and how its run ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from sparseopt.problems.base import Array
from sparseopt.result import Limit


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
    """How a run of a solver ended; `limit` is set exactly for LIMIT, maybe before it started."""

    outcome: Outcome
    raw: str
    limit: Limit | None = None
    started: bool = True


@dataclass
class Spent:
    """Simplex iterations of all runs that one solve makes."""

    iterations: int = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class Request:
    """Gaps, limits and options of one call.

    Attributes
    ----------
    rel_gap, abs_gap : float
        Of a tree search, measured on the program's own objective.
    node_limit, iteration_limit : int or None
    threads : int or None
        None leaves the solver's default.
    seed : int
        Below 2**31.
    verbose : bool
    tolerance : float
        How far constraints may be violated; integrality is asked to the same.
    start : array or None
        A point to start a tree search from.
    settings : mapping of str to str
        The solver's own parameters, by its own names.
    """

    rel_gap: float
    abs_gap: float
    node_limit: int | None
    iteration_limit: int | None
    threads: int | None
    seed: int
    verbose: bool
    tolerance: float
    start: Array | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, eq=False)
class Answer:
    """The answer of a solver about the program that it was given.

    Attributes
    ----------
    outcome : Outcome
    raw : str
        Its own status.
    limit : Limit or None
        Set exactly for the outcome LIMIT.
    x : array or None
        The best point that it has.
    row_duals : array or None
        Multipliers of the rows of a linear program: cost - A'y are the reduced costs.
    basic : pair of bool arrays or None
        Which columns and rows are basic.
    bound : float or None
        The proven lower bound.
    iterations, nodes : int or None
    """

    outcome: Outcome
    raw: str
    limit: Limit | None = None
    x: Array | None = None
    row_duals: Array | None = None
    basic: tuple[Array, Array] | None = None
    bound: float | None = None
    iterations: int | None = None
    nodes: int | None = None
