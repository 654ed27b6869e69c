"""The folder where one user's compiled functions are kept, and who may have written there.

A compiled function is a pickle, and to read a pickle is to run it. So the folder must belong to the
user and be closed to the writing of others, and each file begins with a digest (HMAC-SHA-256) of
its name and content under a secret of the user's: a file that was cut off, changed, renamed or
brought from elsewhere is not read.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import logging
import os
import secrets
import stat
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from sparseopt.locks import lock_file

logger = logging.getLogger("sparseopt")

CACHE_VARIABLE = "SPARSEOPT_CACHE_DIR"
"""The environment variable that names another folder."""

_MAGIC = b"sparseopt compiled 1\n"
_DIGEST = hashlib.sha256().digest_size
_SECRET = 32
_UNUSED = 90 * 24 * 3600.0
"""Seconds after which a file that nobody has read is removed."""
_TOUCHED = 24 * 3600.0
"""Seconds for which one note of a file's use is enough."""


def cache_folder() -> Path:
    """Return the folder for compiled functions, which need not exist.

    ``SPARSEOPT_CACHE_DIR`` where that is set; else what the platform has for caches:
    ``$XDG_CACHE_HOME`` or ``~/.cache``, ``~/Library/Caches``, ``%LOCALAPPDATA%``.

    Returns
    -------
    Path
    """
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "sparseopt" / "compiled"


def store() -> Store | None:
    """Return the store of this user, None where there is no folder that can be used.

    Returns
    -------
    Store or None
    """
    try:
        return _opened(cache_folder())
    except RuntimeError:  # there is no home
        return None


@lru_cache(maxsize=8)
def _opened(folder: Path) -> Store | None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        reason = _suspicious(folder.stat())
        if reason:
            warnings.warn(
                f"{folder} is {reason}: compiled functions are neither read nor kept there "
                f"({CACHE_VARIABLE} names another folder)",
                stacklevel=2,
            )
            return None
        return Store(folder)
    except OSError as error:
        logger.debug("compiled functions are not kept: %s", error)
        return None


class Store:
    """Files by name, each with a digest under the user's secret.

    Parameters
    ----------
    folder : Path
        It exists, and others cannot write there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._secret = _secret_of(folder)

    def has(self, start: str) -> bool:
        """Return whether there is a file whose name starts so; it may turn out to be unreadable."""
        try:
            with os.scandir(self.folder) as entries:
                return any(entry.name.startswith(start) for entry in entries)
        except OSError:
            return False

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, None where there is none that this user wrote so."""
        path = self.folder / name
        try:
            with path.open("rb") as file:
                found = os.fstat(file.fileno())
                if not stat.S_ISREG(found.st_mode) or _suspicious(found):
                    return None
                text = file.read()
            if found.st_mtime < time.time() - _TOUCHED:
                os.utime(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            logger.debug("%s cannot be read: %s", path, error)
            return None
        start = len(_MAGIC) + _DIGEST
        content = text[start:]
        if text[: len(_MAGIC)] != _MAGIC or not hmac.compare_digest(
            text[len(_MAGIC) : start], self._digest(name, content)
        ):
            logger.debug("%s was not written by this user as it stands; it is ignored", path)
            return None
        return content

    def write(self, name: str, content: bytes) -> None:
        """Keep a content under a name, whole or not at all.

        Raises
        ------
        OSError
            When there is no room, or no permission.
        """
        _write(self.folder / name, _MAGIC + self._digest(name, content) + content)

    def remove_unused(self) -> None:
        """Remove what nobody has read for three months, and what a write left behind."""
        before = time.time() - _UNUSED
        with contextlib.suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                if entry.name.endswith((".form", ".part")):
                    with contextlib.suppress(OSError):
                        if entry.stat().st_mtime < before:
                            Path(entry.path).unlink()

    @contextlib.contextmanager
    def alone(self, name: str = "background", *, wait: bool = False) -> Iterator[bool]:
        """Hold a lock, by default that for compiling in the background; yields whether it is held.

        Another process may have it: with `wait` it is waited for.
        """
        try:
            file = (self.folder / f"{name}.lock").open("wb")
        except OSError:
            yield False
            return
        with file:
            yield _locked(file.fileno(), wait)

    def _digest(self, name: str, content: bytes) -> bytes:
        return hmac.digest(self._secret, name.encode() + b"\0" + content, "sha256")


def _suspicious(found: os.stat_result) -> str:
    """Return why others may have written there, "" where they cannot have."""
    if sys.platform == "win32":  # the user's own profile is closed to others
        return ""
    if found.st_uid != os.geteuid():
        return "owned by another user"
    return "open to the writing of others" if found.st_mode & 0o022 else ""


def _secret_of(folder: Path) -> bytes:
    """Return the user's secret, made at the first use."""
    path = folder / "secret"
    for _ in range(2):
        with contextlib.suppress(FileNotFoundError):
            found = path.stat()
            secret = path.read_bytes()
            if len(secret) == _SECRET and not _suspicious(found) and not found.st_mode & 0o044:
                return secret
        # Two processes may do so at once: what the second one reads back counts.
        _write(path, secrets.token_bytes(_SECRET))
    return path.read_bytes()


def _write(path: Path, content: bytes) -> None:
    """Write a file that only its owner reads, under its name when it is whole."""
    number, part = tempfile.mkstemp(dir=path.parent, prefix=path.name[:40], suffix=".part")
    try:
        with os.fdopen(number, "wb") as file:
            file.write(content)
        Path(part).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(part).unlink()
        raise


def _locked(number: int, wait: bool) -> bool:
    """Lock an open file until it is closed; return whether that was possible."""
    try:
        lock_file(number, wait=wait)
    except OSError:
        return False
    return True
