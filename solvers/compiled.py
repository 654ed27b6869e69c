"""The decorator of the compiled functions: cached on disk where that is possible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

from sparseopt.solvers.compiled_cache import ContentCache

__all__ = ["compiled"]


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a function at its first call; without a writable cache directory, each time anew.

    Sums may be reordered, and a division by zero gives an infinity or NaN, as in NumPy: so that
    loops use the processor's vector units.
    """
    dispatcher: Any = njit(
        nogil=True,
        fastmath={"reassoc", "contract"},
        error_model="numpy",
    )(function)
    # With NUMBA_DISABLE_JIT the function comes back as it is.
    if dispatcher is not function:
        dispatcher._cache = ContentCache(function, dispatcher.targetoptions)
    return dispatcher
