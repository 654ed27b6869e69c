"""How many threads BLAS may use, held process-wide by all who compute at the same time."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

__all__ = ["blas_threads"]

_lock = threading.Lock()
_held: list[int] = []
_original: list[Any] = []


@contextmanager
def blas_threads(count: int) -> Iterator[None]:
    """Hold all BLAS libraries at `count` threads.

    The limit belongs to the process: where several threads hold one, the smallest counts, and the
    last that leaves restores what the first one found, in whatever order they end.

    Parameters
    ----------
    count : int
        At least 1.

    Returns
    -------
    context manager
    """
    with _lock:
        _held.append(count)
        limiter = _blas(len(sys.modules)).limit(limits=min(_held))
        _original.append(limiter)
    try:
        yield
    finally:
        with _lock:
            _held.remove(count)
            if _held:
                _blas(len(sys.modules)).limit(limits=min(_held))
            else:
                for limiter in reversed(_original):
                    limiter.restore_original_limits()
                _original.clear()


@lru_cache(maxsize=1)
def _blas(loaded: int) -> Any:
    """Return the controller of all BLAS libraries; they are looked for anew after an import."""
    import threadpoolctl

    return threadpoolctl.ThreadpoolController()
