"""Named tuples that compiled functions hand to one another as one address, not field by field.

numba hands over a tuple as all numbers that it consists of, seven or more for an array: hundreds in
every call where a few tuples go together, and most of what it then compiles. A tuple that comes
from Python is laid out in memory instead, once for a call, and stays as it is until that returns:
so LLVM may read a field once only (``!invariant.load`` in its language reference).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

_T = TypeVar("_T", bound=type)

_classes: set[type] = set()


def by_address(kind: _T) -> _T:
    """Let compiled functions take a named tuple by its address.

    They read fields by name, and neither make, return nor unpack such a tuple. Its arrays are
    borrowed: what Python calls returns none of them, nor a view of one.

    Parameters
    ----------
    kind : type
        A named tuple of arrays, numbers, and others of its kind.

    Returns
    -------
    type
        The same.
    """
    _classes.add(kind)
    return kind


def is_by_address(kind: type) -> bool:
    """Return whether compiled functions take a class by address.

    Parameters
    ----------
    kind : type

    Returns
    -------
    bool
    """
    return kind in _classes


def classes() -> Iterable[type]:
    """Return the classes so far."""
    return list(_classes)
