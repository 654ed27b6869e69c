"""The open nodes of a search tree, and which of them comes next."""

from __future__ import annotations

import heapq
import itertools

import numpy as np

from .node import Node

__all__ = ["Frontier"]

_PLUNGE = 12
"""Nodes that are taken one below the other before the best open one comes first again."""
_SEARCH = 60
"""The same as long as there is no incumbent."""


class Frontier:
    """Best bound first, with short plunges; ties in the order of arrival."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Node]] = []
        self._order = itertools.count()
        self._next: list[Node] = []
        self._plunged = 0

    def __len__(self) -> int:
        return len(self._heap) + len(self._next)

    @property
    def bound(self) -> float:
        """The least bound of an open node; inf where there is none."""
        least = min((node.bound for node in self._next), default=np.inf)
        return min(least, self._heap[0][0]) if self._heap else least

    @property
    def nodes(self) -> list[Node]:
        """All open nodes."""
        return [*(node for _, _, node in self._heap), *self._next]

    def push(self, node: Node) -> None:
        """Add a node to those that wait."""
        heapq.heappush(self._heap, (node.bound, next(self._order), node))

    def pop(self) -> Node:
        """Take the next node."""
        return self._next.pop() if self._next else heapq.heappop(self._heap)[2]

    def extend(self, children: list[Node], without: bool) -> None:
        """Add the children of the last node, and choose whether to go on below it.

        Parameters
        ----------
        children : list of Node
            The more promising one first.
        without : bool
            Whether there is no incumbent yet: then the plunge is longer, and goes back to the last
            sibling.
        """
        self._plunged += 1
        if self._plunged < (_SEARCH if without else _PLUNGE) and (children or without):
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
