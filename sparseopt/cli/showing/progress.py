"""A sign of life on stderr for work that takes more than a second."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from sparseopt.cli.showing.exits import printable

if TYPE_CHECKING:
    from sparseopt import Progress

_DELAY = 1.0
_EVERY = 0.2


class ProgressLine:
    """One line that says what is going on; it appears after a second, and only on a terminal.

    Parameters
    ----------
    text : str
        What is being done.
    enabled : bool, default True
        False for machines and for backends that print a log of their own.
    """

    def __init__(self, text: str, *, enabled: bool = True) -> None:
        self.text = text
        self._enabled = enabled and sys.stderr.isatty()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._show, daemon=True)
        self._started = time.monotonic()

    def __enter__(self) -> Self:
        if self._enabled:
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        if self._enabled:
            self._thread.join()

    def report(self, progress: Progress) -> None:
        """Take a backend's report, as ``on_progress``."""
        share = "" if progress.fraction is None else f" ({100.0 * progress.fraction:.0f}%)"
        self.text = f"solving: {printable(progress.text)}{share}"

    def _show(self) -> None:
        # All of rich happens in this thread: the main thread may be deep inside a solver.
        if self._done.wait(_DELAY):
            return
        from rich.console import Console
        from rich.text import Text

        console = Console(stderr=True)
        with console.status(Text(self._line(console.width))) as status:
            while not self._done.wait(_EVERY):
                status.update(Text(self._line(console.width)))

    def _line(self, width: int) -> str:
        elapsed = f"  {time.monotonic() - self._started:.0f} s"
        room = max(10, width - len(elapsed) - 4)
        return self.text[:room] + elapsed
