"""The decorator of the compiled functions: cached on disk where that is possible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

__all__ = ["compiled"]


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a function at its first call; without a writable cache directory, each time anew.

    Sums may be reordered, so that they use the processor's vector units.
    """
    flags = {"reassoc", "contract"}
    try:
        return njit(cache=True, nogil=True, fastmath=flags)(function)
    except RuntimeError:
        return njit(nogil=True, fastmath=flags)(function)
