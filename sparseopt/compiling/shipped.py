"""Compiled forms that came with the package: for the baseline processor, made where it was built.

They are read as the package's own code is: who could write here could write that, too.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from .store import store

_FOLDER = Path(__file__).with_name("forms")


@cache
def _names() -> frozenset[str]:
    """Names of the forms that are there; a checkout has none."""
    return frozenset(path.name for path in _FOLDER.glob("*.form"))


def has_shipped(start: str) -> bool:
    """Return whether there is a form whose name starts so."""
    return any(name.startswith(start) for name in _names())


def read_shipped(name: str) -> bytes | None:
    """Return a form, None where there is none of that name."""
    if name not in _names():
        return None
    try:
        return (_FOLDER / name).read_bytes()
    except OSError:
        return None


def collect(folder: Path) -> int:
    """Write the user's forms into a folder that a wheel is made of; return their number.

    Parameters
    ----------
    folder : Path
        Made where it is missing.

    Raises
    ------
    OSError
        When it cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    kept, count = store(), 0
    if kept is None:
        return 0
    for path in sorted(kept.folder.glob("*.form")):
        content = kept.read(path.name)
        if content is not None:
            (folder / path.name).write_bytes(content)
            count += 1
    return count
