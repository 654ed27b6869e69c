"""Threads that share the work on nodes, or on budgets."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor


def in_threads(work: Callable[[int], None], threads: int) -> None:
    """Let so many workers do the work at the same time; the first is this thread, and may report.

    Parameters
    ----------
    work : callable
        Takes the worker's number.
    threads : int
    """
    if threads == 1:
        work(0)
        return
    with ThreadPoolExecutor(threads - 1) as pool:
        others = [pool.submit(work, worker) for worker in range(1, threads)]
        work(0)
        for other in others:
            other.result()
