"""Compiled functions: plain Python at once, machine code when there is some, made beside the work.

A function under :class:`Kernel` runs in one of three forms, whose results are the same up to
rounding. (0) Its plain Python body, at once, while the work is small. (1) A compiled form for all
processors of a kind, made by ``sparseopt warm-up --baseline`` or brought by a wheel. (2) A compiled
form for this processor. What is not there, not readable, or not made for this machine falls back to
the form before it.

``SPARSEOPT_COMPILE`` chooses: ``later``, the default, as described; ``now``, compile before the
first call; ``never``, plain Python only, which ``NUMBA_DISABLE_JIT=1`` and a missing numba mean,
too.
"""

from .by_address import by_address
from .cache import baseline_environment
from .external import External
from .kernel import CompilingWarning, Kernel, Waits, override, prepare, waits
from .mode import MODE_VARIABLE, Mode, mode
from .shipped import collect
from .store import CACHE_VARIABLE, cache_folder

__all__ = [
    "CACHE_VARIABLE",
    "MODE_VARIABLE",
    "CompilingWarning",
    "External",
    "Kernel",
    "Mode",
    "Waits",
    "baseline_environment",
    "by_address",
    "cache_folder",
    "collect",
    "mode",
    "override",
    "prepare",
    "waits",
]
