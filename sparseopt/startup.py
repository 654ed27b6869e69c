"""Ctrl-C while the command is imported: one line and exit code 130, as later.

Nothing has begun by then that could be lost. A traceback out of the middle of an import helps
nobody, and modules in C may take the exception for a failure of their own.
"""

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

__all__ = ["leave_on_ctrl_c", "restore"]


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
