"""Keeps compiled functions on disk under a hash of their content.

numba's own cache looks at the file of a function only; here a change of a function or a constant of
another file that was compiled in is seen, too, and a changed comment compiles nothing anew.
"""

from __future__ import annotations

import contextlib
import glob
import logging
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from .compiled_content import content_hash

__all__ = ["ContentCache"]

logger = logging.getLogger("sparseopt")

_announced: set[str] = set()
"""Files whose compilation has been logged in this process."""

_KEPT = 24 * 3600.0
"""Seconds for which the files of other contents stay: another process may run an older state."""


class ContentCache:
    """The cache of one function, opened at its first use, when all that it calls is defined.

    It lies where numba's does: beside the source, or in the user's cache directory where that
    cannot be written. Where there is no such place, or the function depends on something of unknown
    content, it is compiled anew in each process.

    Parameters
    ----------
    function : callable
    options : mapping
        Of the compilation.
    """

    def __init__(self, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
        self._function = function
        self._options = options
        self._enabled = True
        self._opened: Any = None
        self._base = ""

    @property
    def cache_path(self) -> Any:
        """The folder, None without one."""
        return self._open().cache_path

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled form for a signature, None where it is not there."""
        found = None
        if self._enabled:
            cache = self._open()
            try:
                found = cache.load_overload(sig, target_context)
            except (AttributeError, ImportError):
                # The file names a class that has been renamed or moved since: it is of no use.
                cache._cache_file.flush()
        if found is None:
            _announce(self._function)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the compiled form for a signature."""
        if self._enabled:
            self._open().save_overload(sig, data)
            if self.cache_path is not None:
                _remove_others(Path(self.cache_path), self._base)

    def enable(self) -> None:
        """Use the disk."""
        self._enabled = True

    def disable(self) -> None:
        """Leave the disk alone."""
        self._enabled = False

    def flush(self) -> None:
        """Forget what is on the disk."""
        self._open().flush()

    def _open(self) -> Any:
        """Return numba's cache of the function, its files named by the content."""
        if self._opened is None:
            caching: Any = import_module("numba.core.caching")
            try:
                content = content_hash(self._function, self._options)
                opened = caching.FunctionCache(self._function)
                # The line number, for which the content stands, is what follows the last dash.
                stem, _, rest = opened._impl.filename_base.rpartition("-")
                self._base = f"{stem}-{content}.{rest.partition('.')[2]}"
                opened._cache_file = caching.IndexDataCacheFile(
                    cache_path=opened.cache_path, filename_base=self._base, source_stamp=content
                )
            except (RuntimeError, TypeError):
                opened = caching.NullCache()
            self._opened = opened
        return self._opened


def _announce(function: Callable[..., Any]) -> None:
    """Log that a function is about to be compiled: once for each file, and at DEBUG for each."""
    module = function.__module__
    if module not in _announced:
        _announced.add(module)
        logger.info("compiling %s, which takes seconds to minutes the first time", module)
    logger.debug("compiling %s.%s", module, function.__qualname__)


def _remove_others(folder: Path, base: str) -> None:
    """Remove a function's files of other contents when they are old."""
    stem, _, rest = base.rpartition("-")
    tag = rest.partition(".")[2]
    before = time.time() - _KEPT
    for path in folder.glob(f"{glob.escape(stem)}-*.{glob.escape(tag)}.*nb[ci]*"):
        if path.name.startswith(f"{base}."):
            continue
        # Another process may be as quick.
        with contextlib.suppress(OSError):
            if path.stat().st_mtime < before:
                path.unlink()
