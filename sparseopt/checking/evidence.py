"""Reading arrays from a certificate or a path, as hostile input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sparseopt.problems.base import Array


class Malformed(ValueError):
    """The evidence is not what it must be; the message says what it is."""


def numbers(
    arrays: Mapping[str, Any], name: str, shape: tuple[int, ...], *, infinite: bool = False
) -> Array:
    """Return an entry as a float array of the given shape.

    Parameters
    ----------
    arrays : mapping
        The arrays of a certificate or a path.
    name : str
    shape : tuple of int
        What the entry must have.
    infinite : bool, default False
        Whether infinite values are allowed.

    Returns
    -------
    float array of that shape

    Raises
    ------
    Malformed
        When it is missing, not numeric, of another shape, NaN, or infinite where that is not
        allowed.
    """
    array = _entry(arrays, name)
    if array.dtype.kind not in "iuf":
        raise Malformed(f"{name} has the type {array.dtype}; expected numbers")
    if array.shape != shape:
        raise Malformed(f"{name} has shape {array.shape}; expected {shape}")
    bad = np.isnan(array) if infinite else ~np.isfinite(array)
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        raise Malformed(f"{name}[{', '.join(map(str, at))}] is {array[at]}")
    return np.asarray(array, dtype=np.float64)


def integers(
    arrays: Mapping[str, Any], name: str, length: int | None, low: int, high: int | Array
) -> Array:
    """Return an entry as an int64 vector with values from `low` to `high`.

    Parameters
    ----------
    arrays : mapping
        The arrays of a certificate or a path.
    name : str
    length : int or None
        None allows any.
    low : int
        The smallest value allowed.
    high : int or int array of that length
        The largest value allowed, of all entries or of each.

    Returns
    -------
    int64 array of shape (length,)

    Raises
    ------
    Malformed
        When it is missing, not a vector of integers, of another length, or out of range.
    """
    array = _entry(arrays, name)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise Malformed(
            f"{name} has the type {array.dtype} and shape {array.shape}; expected a vector of "
            "integers"
        )
    if length is not None and len(array) != length:
        raise Malformed(f"{name} has {len(array)} entries; expected {length}")
    array = array.astype(np.int64)
    wrong = (array < low) | (array > high)
    if wrong.any():
        at = int(np.argmax(wrong))
        limit = int(np.broadcast_to(high, array.shape)[at])
        raise Malformed(f"{name}[{at}] is {array[at]}; expected {low} to {limit}")
    return array


def same_numbers(stated: object, expected: Array, tolerance: float) -> bool:
    """Return whether numbers that are stated twice are the same.

    Each entry may differ by `tolerance` of the largest entry, and by 1e3 times that of itself.

    Parameters
    ----------
    stated : object
        Anything; what is no array of numbers is not the same.
    expected : array
    tolerance : float
        Relative.

    Returns
    -------
    bool
        False also where the shapes differ.
    """
    array = np.asarray(stated)
    if array.dtype.kind not in "iuf" or array.shape != expected.shape:
        return False
    size = np.maximum(np.abs(array), np.abs(expected))
    allowed = tolerance * (float(size.max(initial=0.0)) + 1e3 * size)
    return bool((np.abs(array - expected) <= allowed).all())


def _entry(arrays: Mapping[str, Any], name: str) -> Array:
    if name not in arrays:
        raise Malformed(f"the entry {name} is missing")
    return np.asarray(arrays[name])
