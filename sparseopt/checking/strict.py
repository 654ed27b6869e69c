"""The decorator of the checker's compiled functions.

It is not the one of the solvers, which may reorder sums, and which the checker does not import.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sparseopt.compiling import Kernel


def strict(function: Callable[..., Any]) -> Kernel:
    """Let a function run compiled, its sums as they stand.

    Parameters
    ----------
    function : callable

    Returns
    -------
    Kernel
    """
    return Kernel(function, nogil=True, error_model="numpy")
