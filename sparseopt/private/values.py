"""What a value in a table counts as: a function of that value alone.

Whoever makes an array, a data frame or a file of a table gives each column one type, and that may
depend on a single record: one missing value makes floats of integers, one word makes words of
numbers, one complex number makes all complex. If levels or numbers were read by type, that record
would change what all others count as, beyond any sensitivity. So 1, 1.0, True, "1", "01", b"1" and
1 + 0j are one value here, as are all ways of writing that one is missing, and of the level 0.1 also
what single precision makes of it. Two levels that are one value are refused, before data are read.

Nothing raises or warns because of a value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from sparseopt.errors import ParamError
from sparseopt.problems.base import Array

_MISSING_TYPES = ("NAType", "NaTType", "MaskedConstant")
"""Of pandas, which need not be installed, and of NumPy."""

_SCALARS = (Real, Decimal, complex, np.generic)
"""Others may warn when they are compared."""

_PLAIN = (str, int, float, bool, type(None))

_NAN = ("nan", "+nan", "-nan")


def as_column(name: str, values: Any) -> Array:
    """Return values as an array; a list has one entry for each record, whatever is in it.

    Parameters
    ----------
    name : str
        For the error.
    values : array of shape (N,), sequence or column of a data frame

    Raises
    ------
    ParamError
        When it has another number of dimensions.
    """
    if isinstance(values, Sequence) and not isinstance(values, (str, bytes)):
        return np.fromiter(values, dtype=object, count=len(values))
    if isinstance(values, np.ma.MaskedArray):
        masked = np.ma.getmaskarray(values)
        values = values.data.astype(object)
        values[masked] = None  # `filled(None)` would write question marks
    found = np.asarray(values)
    if found.ndim != 1:
        raise ParamError(f"{name} has {found.ndim} dimensions; expected one, an entry a record")
    return found


def as_numbers(values: Any, low: float, high: float) -> Array:
    """Return values within bounds; whatever is no number is the middle.

    Parameters
    ----------
    values : array of shape (N,)
        Of any type.
    low, high : float
    """
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        array = np.array([_number(value) for value in _listed(array)], dtype=float)
    with np.errstate(all="ignore"):  # a longer float overflows to an infinity
        array = array.astype(float)
    array = np.where(np.isnan(array), (low + high) / 2.0, array)
    return np.asarray(np.clip(array, low, high))


def as_codes(values: Any, levels: Sequence[Any]) -> Array:
    """Return the levels' positions, -1 for a value that is none of them.

    Parameters
    ----------
    values : array of shape (N,)
        Of any type.
    levels : sequence of str, int, float, bool or None
        Different ones by :func:`level_key`.
    """
    codes = {level_key(level): code for code, level in enumerate(levels)}
    seen: dict[Any, int] = {}  # values that are equal are the same level
    found = []
    for value in _listed(values):
        code = seen.get(value) if type(value) in _PLAIN else None
        if code is None:
            code = codes.get(level_key(value), -1)
            if type(value) in _PLAIN:
                seen[value] = code
        found.append(code)
    return np.array(found, dtype=np.int64)


def level_key(value: Any) -> float | str | None:
    """Return what a value is as a level, whatever type it has: a number, a word, None if missing.

    A number that is not whole has six digits, which single precision keeps.

    Parameters
    ----------
    value : object
        NaN is returned for what can be no level.
    """
    number = _number(value)
    if number == number:
        return number if number.is_integer() else float(f"{number:.6g}")
    word = _word(value)
    if word is not None:  # NumPy makes the word nan of a missing value beside words
        return None if word.strip().lower() in _NAN else word
    return None if _is_missing(value) else math.nan


def level_array(levels: Sequence[Any]) -> Array:
    """Return levels as an array that keeps what they are: of 0 and "x" NumPy would make words.

    Parameters
    ----------
    levels : sequence of str, int, float, bool or None
    """
    if len({type(level) for level in levels}) == 1:
        return np.array(levels)
    return np.fromiter(levels, dtype=object, count=len(levels))


def _word(value: Any) -> str | None:
    """Return a word without the zeros that arrays cut off at its end, None for what is none."""
    try:
        if isinstance(value, bytes):
            value = value.decode(errors="replace")
        return str.__str__(value).rstrip("\0") if isinstance(value, str) else None
    except Exception:
        return None


def _number(value: Any) -> float:
    """Return the number that a value is or says, NaN for none."""
    try:
        word = _word(value)
        if word is not None:
            truth = {"true": 1.0, "false": 0.0}.get(word.strip().lower())
            return float(word) if truth is None else truth
        if isinstance(value, (complex, np.complexfloating)):
            return float(value.real) if value.imag == 0 else math.nan
        known = isinstance(value, (Real, Decimal, np.bool_))  # the others may warn
        return float(value) if known and not isinstance(value, np.timedelta64) else math.nan
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except Exception:  # whatever a value raises would say something of it
        return math.nan


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in _MISSING_TYPES:
        return True
    try:
        return isinstance(value, _SCALARS) and bool(value != value)
    except Exception:  # a signalling NaN is no level
        return False


def _listed(values: Any) -> Sequence[Any]:
    array = np.asarray(values)
    # Of dates in nanoseconds tolist makes integers, of others objects.
    return list(array) if array.dtype.kind in "mM" else list(array.tolist())
