"""The decorator of the checker's compiled functions.

It is not the one of the solvers, which may reorder sums, and which the checker does not import.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

__all__ = ["strict"]


def strict(function: Callable[..., Any]) -> Any:
    """Compile a function, its sums as they stand; cached where there is a place for it.

    Parameters
    ----------
    function : callable

    Returns
    -------
    numba dispatcher
    """
    try:
        return njit(cache=True, nogil=True, error_model="numpy")(function)
    except RuntimeError:
        return njit(nogil=True, error_model="numpy")(function)
