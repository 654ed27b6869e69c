"""What installed packages bring by entry points, looked up without importing any of them."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["Deferred", "entry_points", "resolve"]


class Deferred:
    """A module that is imported when something of it is first asked for.

    For what few programs need and takes long: ``scipy.sparse`` as long as NumPy itself.

    Parameters
    ----------
    name : str
        Its full name.

    Examples
    --------
    >>> fractions = Deferred("fractions")
    >>> fractions.Fraction(2, 4)
    Fraction(1, 2)
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(importlib.import_module(self._name), attribute)


def entry_points(group: str) -> Mapping[str, str]:
    """Return the entry points of a group, name to "module:object", the first of each name.

    The scan of all packages' metadata takes milliseconds and is repeated only when a folder of
    ``sys.path`` has changed.

    Parameters
    ----------
    group : str
        The name of the group, such as "sparseopt.backends".

    Returns
    -------
    mapping of str to str
    """
    return _scanned(group, _installation())


def resolve(reference: Any) -> Any:
    """Return what a reference names: "module:object" is imported, anything else is itself.

    Parameters
    ----------
    reference : object or str

    Returns
    -------
    object
    """
    if not isinstance(reference, str):
        return reference
    module, _, name = reference.partition(":")
    return functools.reduce(getattr, name.split("."), importlib.import_module(module))


def _installation() -> tuple[tuple[str, int], ...]:
    """Return a stamp that changes when packages are installed or removed; takes microseconds."""
    found = []
    for folder in sys.path:
        try:
            found.append((folder, Path(folder or ".").stat().st_mtime_ns))
        except OSError:
            found.append((folder, 0))
    return tuple(found)


@functools.lru_cache(maxsize=16)
def _scanned(group: str, installation: tuple[tuple[str, int], ...]) -> Mapping[str, str]:
    from importlib import metadata  # takes as long as all of this package's lower layers

    found: dict[str, str] = {}
    for entry in metadata.entry_points(group=group):
        found.setdefault(entry.name, entry.value)
    return found
