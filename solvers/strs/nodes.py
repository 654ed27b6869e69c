"""What the tree over supports is made of: its settings, its open nodes and its leaves."""

from __future__ import annotations

from dataclasses import dataclass

from sparseopt.problems.base import Array

from .multipliers import Multipliers

__all__ = ["Leaf", "Node", "Settings"]


@dataclass(frozen=True)
class Settings:
    """How much work a node gets.

    Attributes
    ----------
    steps : int
        Steps of L-BFGS for each smoothing.
    root_rounds, rounds : int
        Smoothings at the root, and at the other nodes.
    shrink : float
        Factor from one smoothing to the next.
    patience : int
        Rounds at the root that are taken in any case.
    stall : float
        A round that leaves more than this part of the gap is the last one.
    enumerate : int
        Nodes with no more supports than this are enumerated.
    start : float
        Multipliers to start with, as a part of A.
    """

    steps: int = 80
    root_rounds: int = 16
    rounds: int = 6
    shrink: float = 0.2
    patience: int = 3
    stall: float = 0.6
    enumerate: int = 32
    start: float = 0.2


@dataclass(frozen=True, eq=False)
class Leaf:
    """A set of supports with a bound: what the certificate lists.

    Attributes
    ----------
    fixed_in, fixed_out : int arrays
    mu : float
    multipliers : Multipliers or None
        None for the plain trust-region bound.
    """

    fixed_in: Array
    fixed_out: Array
    mu: float
    multipliers: Multipliers | None


@dataclass(eq=False)
class Node:
    """Supports that hold `fixed_in` and are made of candidates, with a bound and where to go on.

    Attributes
    ----------
    fixed_in, candidates : int arrays
        Increasing; the candidates include those that are fixed in.
    bound : float
    proof : Multipliers
        What proves the bound.
    warm : Multipliers
        Where the minimisation starts.
    """

    fixed_in: Array
    candidates: Array
    bound: float
    proof: Multipliers
    warm: Multipliers
