"""Whether functions are compiled now, later or never."""

from __future__ import annotations

import importlib.util
import os
from enum import Enum
from functools import cache

from sparseopt.errors import ParamError

MODE_VARIABLE = "SPARSEOPT_COMPILE"
"""The environment variable with the mode."""


class Mode(Enum):
    """When a function is compiled that has no compiled form."""

    NOW = "now"
    LATER = "later"
    NEVER = "never"


overridden: list[Mode] = []
"""Modes that count in place of the environment's, the last of them."""


def mode() -> Mode:
    """Return the mode of this process.

    Returns
    -------
    Mode

    Raises
    ------
    ParamError
        When ``SPARSEOPT_COMPILE`` is something else than now, later or never.
    """
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0") or not _numba_is_there():
        return Mode.NEVER
    if overridden:
        return overridden[-1]
    chosen = os.environ.get(MODE_VARIABLE) or Mode.LATER.value
    try:
        return Mode(chosen)
    except ValueError:
        raise ParamError(
            f"{MODE_VARIABLE} must be now, later or never, got {chosen!r:.80}"
        ) from None


def in_background() -> bool:
    """Return whether a process may be left behind: under CI only where the mode was asked for."""
    return not os.environ.get("CI") or os.environ.get(MODE_VARIABLE) == Mode.LATER.value


@cache
def _numba_is_there() -> bool:
    return importlib.util.find_spec("numba") is not None
