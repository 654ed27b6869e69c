"""The open nodes of a branch and bound: the one with the least key comes first."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

N = TypeVar("N")


class BestFirst(Generic[N]):
    """A queue of nodes by increasing key; ties in the order of arrival.

    ``len`` gives their number and iteration all of them, one with the least key first.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, N]] = []
        self._order = itertools.count()

    def __len__(self) -> int:
        return len(self._heap)

    def __iter__(self) -> Iterator[N]:
        return (node for _, _, node in self._heap)

    @property
    def first(self) -> N:
        """A node with the least key; IndexError where there is none."""
        return self._heap[0][2]

    def push(self, node: N, key: float) -> None:
        """Add a node."""
        heapq.heappush(self._heap, (key, next(self._order), node))

    def pop(self) -> N:
        """Take out the first node; IndexError where there is none."""
        return heapq.heappop(self._heap)[2]

    def take(self, wanted: Callable[[N], bool]) -> N | None:
        """Take out a node that is wanted, if there is one."""
        for place, (_, _, node) in enumerate(self._heap):
            if wanted(node):
                del self._heap[place]
                heapq.heapify(self._heap)
                return node
        return None

    def clear(self) -> None:
        """Take out all nodes."""
        self._heap.clear()
