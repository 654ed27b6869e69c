"""Threads that share the work on nodes, or on budgets."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor


def in_threads(work: Callable[[int], None], threads: int) -> None:
    """Let so many workers do the work at the same time, one alone in this thread.

    Parameters
    ----------
    work : callable
        Takes the worker's number.
    threads : int
    """
    if threads == 1:
        work(0)
        return
    with ThreadPoolExecutor(threads) as pool:
        for future in [pool.submit(work, worker) for worker in range(threads)]:
            future.result()
