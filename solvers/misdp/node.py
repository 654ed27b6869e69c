"""Nodes of the search tree, their leaves, and the certificate of leaves."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.problems.misdp.problem import MISDP
from sparseopt.result import Certificate

from .bounds import Multipliers

__all__ = ["Leaf", "Leaves", "Node"]


@dataclass(eq=False)
class Node:
    """A box of the integer variables that is still open.

    Attributes
    ----------
    lower, upper : array of shape (q,)
        What was branched on.
    box : tuple of arrays of shape (n,)
        Bounds of all variables that follow; those of the parent until the node is worked on.
    bound : float
        Nothing in it is better (for a minimisation, without the offset).
    depth : int
    multipliers : Multipliers or None
        The parent's.
    branched : tuple or None
        (variable, direction, distance, parent's value), for the pseudo-costs.
    """

    lower: Array
    upper: Array
    box: tuple[Array, Array]
    bound: float
    depth: int = 0
    multipliers: Multipliers | None = None
    branched: tuple[int, int, float, float] | None = None


@dataclass(frozen=True, eq=False)
class Leaf:
    """A box that is done with: nothing in it is better than `bound`."""

    lower: Array
    upper: Array
    multipliers: Multipliers | None
    infeasible: bool
    bound: float


@dataclass(eq=False)
class Leaves:
    """The leaves so far, up to a size.

    Parameters
    ----------
    problem : MISDP
    capacity : int
        Numbers that may be kept; beyond that there is no certificate.
    """

    problem: MISDP
    capacity: int
    found: list[Leaf] = field(default_factory=list)
    kept: bool = True
    bound: float = np.inf

    def __post_init__(self) -> None:
        problem = self.problem
        self.widths = (
            problem.A.shape[0],
            sum(cone.dimension for cone in problem.cones),
            sum(block.dimension for block in problem.blocks),
        )

    def add(self, leaf: Leaf) -> None:
        """Keep a leaf, or only its bound where there is no room."""
        self.bound = min(self.bound, leaf.bound)
        if not self.kept:
            return
        self.found.append(leaf)
        width = 2 * len(leaf.lower) + sum(self.widths)
        if len(self.found) * width > self.capacity:
            self.kept = False
            self.found = []

    def pack(self, more: list[Leaf]) -> Certificate | None:
        """Return the certificate of these leaves and the nodes that are still open."""
        if not self.kept:
            return None
        leaves = [*self.found, *more]
        if not leaves:
            return None
        rows, cones, psd = (np.zeros((len(leaves), width)) for width in self.widths)
        for k, leaf in enumerate(leaves):
            given = leaf.multipliers
            if given is not None:
                rows[k], cones[k], psd[k] = given.rows[0], given.cones[0], given.psd[0]
        return Certificate(
            kind="misdp-leaves",
            arrays={
                "lower": np.array([leaf.lower for leaf in leaves]),
                "upper": np.array([leaf.upper for leaf in leaves]),
                "rows": rows,
                "cones": cones,
                "psd": psd,
                "infeasible": np.array([leaf.infeasible for leaf in leaves], dtype=bool),
            },
        )
