"""JSON without surprises: no NaN, no repeated keys, no text that cannot be written again."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import partial
from typing import Any

from sparseopt.errors import ProblemError


def dumps(value: Any, *, ascii_only: bool = False) -> str:
    """Return compact JSON; the same text each time, floats by their shortest exact form.

    Parameters
    ----------
    value : JSON value
    ascii_only : bool, default False
        Write all other characters as escapes.

    Returns
    -------
    str

    Raises
    ------
    ProblemError
        When the value holds something that JSON cannot.
    """
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=ascii_only, separators=(", ", ": "))
        # A lone surrogate is no text that a file in UTF-8 could hold.
        text.encode("utf-8")
        return text
    except (TypeError, ValueError) as error:
        raise ProblemError(f"this cannot be written as JSON: {error}") from error


def loads_object(raw: bytes, where: str, bits: int = 64) -> dict[str, Any]:
    """Return the JSON object that UTF-8 bytes hold.

    Parameters
    ----------
    raw : bytes
    where : str
        What is read, for messages.
    bits : int, default 64
        Of the largest integer.

    Returns
    -------
    dict

    Raises
    ------
    ProblemError
        Naming `where`, for anything else.
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ProblemError(f"{where} is not UTF-8 text (byte {error.start})") from error
    try:
        value = json.loads(
            text,
            parse_int=partial(_integer, bits=bits),
            parse_float=_real,
            parse_constant=_no_constant,
            object_pairs_hook=_unique,
        )
        # A lone surrogate can be read as an escape and then neither printed nor written.
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except json.JSONDecodeError as error:
        raise ProblemError(
            f"{where} is not JSON, or it is truncated: {error.msg} at line {error.lineno}, "
            f"column {error.colno}"
        ) from error
    except (ValueError, RecursionError) as error:
        raise ProblemError(f"{where} is not usable JSON: {error}") from error
    if not isinstance(value, dict):
        raise ProblemError(f"{where} holds {type(value).__name__}; expected a JSON object")
    return value


def _integer(digits: str, bits: int) -> int:
    # Longer ones than 64 bits fit into no array and overflow as floats.
    if len(digits) > bits // 3 or abs(int(digits)) >= 2**bits:
        raise ValueError(f"the integer {digits:.20}... has more than {bits} bits")
    return int(digits)


def _real(digits: str) -> float:
    if math.isinf(value := float(digits)):
        raise ValueError(f"the number {digits:.20} is too large for 64 bits")
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _unique(pairs: list[tuple[str, Any]]) -> Mapping[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"the key {key!r} is there twice")
            seen.add(key)
    return found
