"""What a library under Python writes to standard output, kept from it."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["captured_output"]


@contextmanager
def captured_output() -> Iterator[list[str]]:
    """Keep what goes to the file descriptor 1 of this process, and give it as a list of one text.

    Other threads write to the same descriptor: hold it for moments only.
    """
    texts: list[str] = []
    if sys.stdout is not None:
        sys.stdout.flush()
    kept = os.dup(1)
    with tempfile.TemporaryFile() as sink:
        os.dup2(sink.fileno(), 1)
        try:
            yield texts
        finally:
            os.dup2(kept, 1)
            os.close(kept)
            sink.seek(0)
            texts.append(sink.read().decode(errors="replace"))
