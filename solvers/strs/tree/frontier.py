"""Nodes of the tree over supports, its leaves, and the frontier of what is open and closed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from sparseopt.problems.base import Array

from ...common.best_first import BestFirst
from ...common.index_sets import complement, members
from ..bound.multipliers import Multipliers, Norms


@dataclass(frozen=True, eq=False)
class Leaf:
    """A set of supports with a bound: what the certificate lists.

    Attributes
    ----------
    fixed_in, fixed_out : int arrays
    mu : float
    multipliers : Multipliers, Norms or None
        None for the plain trust-region bound.
    """

    fixed_in: Array
    fixed_out: Array
    mu: float
    multipliers: Multipliers | Norms | None


@dataclass(eq=False)
class Node:
    """Supports that hold `fixed_in` and are made of candidates, with a bound and where to go on.

    Attributes
    ----------
    fixed_in, candidates : int arrays
        Increasing; the candidates include those that are fixed in.
    bound : float
    proof : Multipliers or Norms
        What proves the bound.
    warm : Multipliers
        Where the minimisation starts.
    """

    fixed_in: Array
    candidates: Array
    bound: float
    proof: Multipliers | Norms
    warm: Multipliers


@dataclass(eq=False)
class Frontier:
    """Open nodes, best first, and closed leaves.

    Parameters
    ----------
    variables : int
        D.
    capacity : int
        Numbers that the leaves may take; when there are more, they are no longer kept.

    Attributes
    ----------
    closed : float
        The largest bound of a closed leaf.
    leaves : list of Leaf, or None
        None once there was no room for them.
    """

    variables: int
    capacity: int
    closed: float = -math.inf
    leaves: list[Leaf] | None = field(default_factory=list)
    _queue: BestFirst[Node] = field(default_factory=BestFirst)
    _kept: int = 0
    _pairs: set[int] = field(default_factory=set)

    def __len__(self) -> int:
        """How many nodes are open."""
        return len(self._queue)

    @property
    def open(self) -> list[Node]:
        """The open nodes, a best one first."""
        return list(self._queue)

    @property
    def bound(self) -> float:
        """The largest bound of an open node or a closed leaf."""
        return max(self.closed, self._queue.first.bound if self._queue else -math.inf)

    def push(self, node: Node) -> None:
        """Open a node."""
        self._queue.push(node, -node.bound)

    def pop(self) -> Node:
        """Take out a node with the largest bound."""
        return self._queue.pop()

    def take(self, support: Array) -> Node | None:
        """Take out the node that holds a support, if there is one."""

        def holds(node: Node) -> bool:
            inside = members(node.fixed_in, support).all()
            return bool(inside and members(support, node.candidates).all())

        return self._queue.take(holds)

    def close(
        self, fixed_in: Array, candidates: Array, bound: float, multipliers: Multipliers | Norms
    ) -> None:
        """Close a set of supports whose bound a pair proves, or norms."""
        kept = None if multipliers.is_zero else multipliers
        self.keep(fixed_in, candidates, bound, multipliers.mu, kept)

    def close_all(self) -> None:
        """Close the open nodes with the bounds that they have."""
        for node in self.open:
            self.close(node.fixed_in, node.candidates, node.bound, node.proof)
        self._queue.clear()

    def keep(
        self,
        fixed_in: Array,
        candidates: Array,
        bound: float,
        mu: float,
        multipliers: Multipliers | Norms | None,
    ) -> None:
        """Record a leaf, as long as there is room for it."""
        self.closed = max(self.closed, float(bound))
        if self.leaves is None:
            return
        fixed_out = complement(candidates, self.variables)
        self._kept += len(fixed_in) + len(fixed_out) + 2
        if isinstance(multipliers, Multipliers) and id(multipliers) not in self._pairs:
            self._pairs.add(id(multipliers))
            self._kept += multipliers.L.size
        if self._kept > self.capacity:
            self.leaves = None
            return
        self.leaves.append(Leaf(fixed_in, fixed_out, mu, multipliers))
