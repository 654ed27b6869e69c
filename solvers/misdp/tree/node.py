"""The nodes of the search tree: the open ones and their order, the leaves and their certificate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.problems.misdp.problem import MISDP
from sparseopt.result import Certificate

from ...common.best_first import BestFirst
from ..bounds import ConicMultipliers
from ..settings import PLUNGE, PLUNGE_WITHOUT_POINT


@dataclass(eq=False)
class IntegerNode:
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
    multipliers : ConicMultipliers or None
        The parent's.
    branched : tuple or None
        (variable, direction, distance, parent's value), for the pseudo-costs.
    start : array or None
        Where its relaxation may begin.
    path : bytes
        The branches above it: 0 upward, 1 downward.
    risen : array of shape (q,) or None
        Where upward branches began, -inf where there is none.
    """

    lower: Array
    upper: Array
    box: tuple[Array, Array]
    bound: float
    depth: int = 0
    multipliers: ConicMultipliers | None = None
    branched: tuple[int, int, float, float] | None = None
    start: Array | None = None
    path: bytes = b""
    risen: Array | None = None

    def rise(self, j: int, start: float) -> None:
        """Note an upward branch."""
        above = np.full(len(self.lower), -np.inf) if self.risen is None else self.risen.copy()
        above[j] = start
        self.risen = above


@dataclass(frozen=True, eq=False)
class IntegerLeaf:
    """A box that is done with: nothing in it is better than `bound`.

    `integers` are the only ones in it, where that is how it ended; `forced` where its disproof
    takes no reduced cost for zero and has room for rounding. The multipliers are for the costs
    times `scale`.
    """

    lower: Array
    upper: Array
    multipliers: ConicMultipliers | None
    infeasible: bool
    bound: float
    integers: Array | None = None
    forced: bool = False
    scale: float = 1.0


@dataclass(eq=False)
class IntegerLeaves:
    """The leaves so far, up to a size.

    Parameters
    ----------
    problem : MISDP
    capacity : int
        Numbers that may be kept; beyond that there is no certificate.
    """

    problem: MISDP
    capacity: int
    found: list[IntegerLeaf] = field(default_factory=list)
    kept: bool = True
    bound: float = np.inf

    def __post_init__(self) -> None:
        problem = self.problem
        self.widths = (
            problem.A.shape[0],
            sum(cone.dimension for cone in problem.cones),
            sum(block.dimension for block in problem.blocks),
        )

    def add(self, leaf: IntegerLeaf) -> None:
        """Keep a leaf, or only its bound where there is no room."""
        self.bound = min(self.bound, leaf.bound)
        if not self.kept:
            return
        self.found.append(leaf)
        width = 2 * len(leaf.lower) + sum(self.widths)
        if len(self.found) * width > self.capacity:
            self.kept = False
            self.found = []

    def pack(
        self, more: list[IntegerLeaf], arrays: Mapping[str, Array] | None = None
    ) -> Certificate | None:
        """Return the certificate of these leaves and the nodes that are still open.

        Parameters
        ----------
        more : list of IntegerLeaf
            The open nodes.
        arrays : mapping, optional
            What else it holds.
        """
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
        scale = np.array([leaf.scale for leaf in leaves])
        return Certificate(
            kind="misdp-leaves",
            arrays={
                "lower": np.array([leaf.lower for leaf in leaves]),
                "upper": np.array([leaf.upper for leaf in leaves]),
                "rows": rows,
                "cones": cones,
                "psd": psd,
                "infeasible": np.array([leaf.infeasible for leaf in leaves], dtype=bool),
                **({} if (scale == 1.0).all() else {"cost_scale": scale}),
                **(arrays or {}),
            },
        )


class OpenNodes:
    """Best bound first, with short plunges; ties in the order of arrival."""

    def __init__(self) -> None:
        self._waiting: BestFirst[IntegerNode] = BestFirst()
        self._next: list[IntegerNode] = []
        self._plunged = 0

    def __len__(self) -> int:
        return len(self._waiting) + len(self._next)

    @property
    def bound(self) -> float:
        """The least bound of an open node; inf where there is none."""
        least = min((node.bound for node in self._next), default=np.inf)
        return min(least, self._waiting.first.bound) if self._waiting else least

    @property
    def nodes(self) -> list[IntegerNode]:
        """All open nodes."""
        return [*self._waiting, *self._next]

    def push(self, node: IntegerNode) -> None:
        """Add a node to those that wait."""
        self._waiting.push(node, node.bound)

    def pop(self) -> IntegerNode:
        """Take the next node."""
        return self._next.pop() if self._next else self._waiting.pop()

    def extend(self, children: list[IntegerNode], without: bool) -> None:
        """Add the children of the last node, and choose whether to go on below it.

        Parameters
        ----------
        children : list of IntegerNode
            The more promising one first.
        without : bool
            Whether there is no incumbent yet: then the plunge is longer, and goes back to the last
            sibling.
        """
        self._plunged += 1
        if self._plunged < (PLUNGE_WITHOUT_POINT if without else PLUNGE) and (children or without):
            if not without:
                for node in [*self._next, *children[1:]]:
                    self.push(node)
                self._next, children = [], children[:1]
            self._next += reversed(children)
            return
        self._plunged = 0
        for node in [*self._next, *children]:
            self.push(node)
        self._next = []
