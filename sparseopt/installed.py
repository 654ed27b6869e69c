"""What installed packages bring, looked up without importing more of them than is needed."""

from __future__ import annotations

import functools
import importlib
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any


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


def extension_module(name: str) -> Any:
    """Import an extension module that needs nothing of the packages around it, without these.

    Parameters
    ----------
    name : str
        Its full name, under which others will find it, too.

    Returns
    -------
    module

    Raises
    ------
    ImportError
        When it is not installed.

    Examples
    --------
    >>> extension_module("scipy.linalg.cython_blas").__name__
    'scipy.linalg.cython_blas'
    """
    if name in sys.modules:
        return sys.modules[name]
    package, *inside = name.split(".")
    found = importlib.util.find_spec(package)
    for folder in (found and found.submodule_search_locations) or ():
        for suffix in importlib.machinery.EXTENSION_SUFFIXES:
            path = Path(folder, *inside[:-1], inside[-1] + suffix)
            if path.is_file():
                spec = importlib.util.spec_from_file_location(name, path)
                assert spec is not None
                assert spec.loader is not None
                module = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(module)
                sys.modules[name] = module
                return module
    return importlib.import_module(name)


def _installation() -> tuple[tuple[str, int], ...]:
    """Return a stamp that changes when packages are installed or removed; takes microseconds."""
    found = []
    for folder in sys.path:
        try:
            found.append((folder, os.stat(folder or ".").st_mtime_ns))  # noqa: PTH116 - the fastest
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
