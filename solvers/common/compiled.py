"""The decorator of the compiled functions: cached on disk where that is possible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

from .compiled_cache import ContentCache

__all__ = ["compiled", "compiled_in_place"]


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a function at its first call; without a writable cache directory, each time anew.

    Sums may be reordered, and a division by zero gives an infinity or NaN, as in NumPy: so that
    loops use the processor's vector units.
    """
    return _compiled(function)


def compiled_in_place(function: Callable[..., Any]) -> Any:
    """Compile a function that makes no arrays, without counting references to those it is given.

    In short functions the counting, an atomic addition for each array and its views, takes longer
    than the work.
    """
    return _compiled(function, _nrt=False)


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    dispatcher: Any = njit(
        nogil=True,
        fastmath={"reassoc", "contract"},
        error_model="numpy",
        **options,
    )(function)
    # With NUMBA_DISABLE_JIT the function comes back as it is.
    if dispatcher is not function:
        dispatcher._cache = ContentCache(function, dispatcher.targetoptions)
    return dispatcher
