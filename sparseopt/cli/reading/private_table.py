"""Tables of ``sparseopt private``: nothing that is in a cell raises, or changes what is read."""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from sparseopt.errors import ParamError
from sparseopt.io.files import replacing
from sparseopt.io.strict_json import loads_object
from sparseopt.private import Category, Number
from sparseopt.private.values import as_numbers
from sparseopt.problems.base import Array

_ROWS = 4096
"""Rows that are held as text at a time."""


def columns_of(file: Path) -> list[Number | Category]:
    """Read what columns may hold.

    Parameters
    ----------
    file : path
        A JSON object of [low, high], or of lists of levels, which are text.

    Raises
    ------
    ParamError, ProblemError
        When it is no such object.
    """
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise ParamError(f"{file}: {error.strerror}") from error
    stated = loads_object(raw, str(file))
    if not stated:
        raise ParamError(f"{file} names no columns; expected their bounds or levels")
    return [_column(file, name, held) for name, held in stated.items()]


def _column(file: Path, name: str, held: Any) -> Number | Category:
    if isinstance(held, list) and held:
        if all(isinstance(each, str) for each in held):
            return Category(name, tuple(held))
        if len(held) == 2 and all(type(each) in (int, float) for each in held):
            return Number(name, *map(float, held))
    raise ParamError(
        f"{file}: column {name!r} has {held!r:.80}; expected [low, high] in numbers, or a list of "
        "levels in quotes"
    )


def read_columns(file: Path, columns: list[Number | Category]) -> dict[str, Array]:
    """Read columns by the names in a table's first line.

    Each line is a record. One that is too short lacks values, as an empty cell does; what is too
    much is left out, and bytes that are no UTF-8 are replaced.

    Parameters
    ----------
    file : path
    columns : list of Number or Category

    Raises
    ------
    ParamError
        When the file cannot be opened, or its first line lacks a name.
    """
    csv.field_size_limit(sys.maxsize)
    try:
        stream = file.open(encoding="utf-8-sig", errors="replace", newline="")
    except OSError as error:
        raise ParamError(f"{file}: {error.strerror}") from error
    with stream:
        lines = csv.reader(stream)
        names = next(lines, [])
        for column in columns:
            if names.count(column.name) != 1:
                there = names.count(column.name) or "no"
                raise ParamError(f"{file} has {there} column {column.name!r} in its first line")
        places = [names.index(column.name) for column in columns]
        parts: list[list[Array]] = [[] for _ in columns]
        while block := list(islice(lines, _ROWS)):
            for column, place, part in zip(columns, places, parts, strict=True):
                cells = np.array(
                    [line[place] if place < len(line) else "" for line in block], dtype=object
                )
                if isinstance(column, Number):
                    cells = as_numbers(cells, column.low, column.high)
                part.append(cells)
    return {
        column.name: np.concatenate(part) if part else np.empty(0)
        for column, part in zip(columns, parts, strict=True)
    }


def write_rows(file: Path, table: Mapping[str, Array]) -> None:
    """Write a table as CSV, whole or not at all.

    Parameters
    ----------
    file : path
    table : mapping of str to array of shape (N,)
    """
    import io

    with replacing(file) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
        writer = csv.writer(text)
        writer.writerow(table)
        writer.writerows(zip(*(values.tolist() for values in table.values()), strict=True))
        text.flush()
        text.detach()
