"""How many threads BLAS may use, held process-wide by all who compute at the same time."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from importlib.machinery import EXTENSION_SUFFIXES
from types import ModuleType
from typing import Any

from sparseopt.locks import ForkLock

_LARGE = 4_000_000
"""Entries of a matrix, 2,000 x 2,000, from which on several threads gain more than they cost."""

_COMPILED = tuple(EXTENSION_SUFFIXES)
"""How the names of compiled modules end."""

_lock = ForkLock()
_held: list[int] = []
_original: list[Any] = []


if hasattr(os, "register_at_fork"):
    # The threads that hold limits are not there; what the first found is restored after the next.
    os.register_at_fork(after_in_child=_held.clear)


def threads_for(asked: int | None, entries: int) -> int | None:
    """Return the threads for BLAS: those asked for, else one, or all where a matrix is large.

    Threads that wait for the next small product keep their processors busy; on a machine that
    others use, each product then waits for them.

    Parameters
    ----------
    asked : int or None
    entries : int
        Those of the problem's largest array.

    Returns
    -------
    int or None
        None: as many as the process allows.
    """
    return asked or (1 if entries < _LARGE else None)


@contextmanager
def blas_threads(count: int | None) -> Iterator[None]:
    """Hold all BLAS libraries at `count` threads.

    The limit belongs to the process: where several threads hold one, the smallest counts, and the
    last that leaves restores what the first one found, in whatever order they end.

    Parameters
    ----------
    count : int or None
        At least 1; None holds nothing.

    Returns
    -------
    context manager
    """
    if count is None:
        yield
        return
    with _lock:
        _held.append(count)
        limiter = _blas(_extensions(len(sys.modules))).limit(limits=min(_held))
        _original.append(limiter)
    try:
        yield
    finally:
        with _lock:
            with suppress(ValueError):  # in a process that was forked meanwhile
                _held.remove(count)
            if _held:
                _blas(_extensions(len(sys.modules))).limit(limits=min(_held))
            else:
                for limiter in reversed(_original):
                    limiter.restore_original_limits()
                _original.clear()


@lru_cache(maxsize=1)
def _extensions(loaded: int) -> int:
    """Return how many of the loaded modules are compiled ones, which may bring a BLAS library."""
    modules = [module for module in list(sys.modules.values()) if type(module) is ModuleType]
    return sum(str(vars(module).get("__file__")).endswith(_COMPILED) for module in modules)


@lru_cache(maxsize=1)
def _blas(extensions: int) -> Any:
    """Return the controller of all BLAS libraries; they are looked for anew with others there."""
    import threadpoolctl

    return threadpoolctl.ThreadpoolController()
