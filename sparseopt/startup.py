"""The first moments of the command ``sparseopt``, while it is imported.

Ctrl-C gives one line and exit code 130, as later. Nothing has begun by then that could be lost. A
traceback out of the middle of an import helps nobody, and modules in C may take the exception for a
failure of their own.
"""

import importlib.util
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

_TOOLS = ("numpy.f2py", "numpy.testing")


def leave_on_ctrl_c() -> Any:
    """Let Ctrl-C end the process at once, if it is the command ``sparseopt``.

    Returns
    -------
    The handler to hand to :func:`restore`; None where nothing was changed: in other programs, in
    threads, and where Ctrl-C is ignored.
    """
    if not _is_command() or threading.current_thread() is not threading.main_thread():
        return None
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return None
    return signal.signal(signal.SIGINT, _leave)


def restore(handler: Any) -> None:
    """Put back what :func:`leave_on_ctrl_c` has returned."""
    if handler is not None:
        signal.signal(signal.SIGINT, handler)


def defer_numpy_tools() -> None:
    """Import NumPy's compiler of Fortran and its test tools only when something asks for them.

    For the command alone. SciPy looks at all of NumPy's names, which would import these: 50 ms of
    the 280 that NumPy and SciPy take.
    """
    if not _is_command() or "numpy" in sys.modules:
        return
    import numpy as np

    for name in _TOOLS:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None or name in sys.modules:
            continue
        spec.loader = importlib.util.LazyLoader(spec.loader)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        setattr(np, name.rpartition(".")[2], module)


def _is_command() -> bool:
    """Return whether this is ``sparseopt ...`` or ``python -m sparseopt ...``."""
    words = sys.orig_argv
    if "-m" in words:
        return words[words.index("-m") + 1 :][:1] == ["sparseopt"]
    name = Path(sys.argv[0]).name if sys.argv else ""
    return name.removesuffix(".exe").removesuffix("-script.py") == "sparseopt"


def _leave(*_: object) -> None:
    os.write(2, b"error: interrupted\n")
    os._exit(130)
