"""Samples in files: tables of numbers as text, and NumPy arrays."""

from __future__ import annotations

import csv
from os import PathLike
from pathlib import Path

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.io.archive import read_npy
from sparseopt.problems.base import Array, as_matrix

_DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": None}


def read_sample(path: str | PathLike[str]) -> tuple[Array, list[str] | None]:
    """Read a sample, one observation a line, and the names of the variables where it has them.

    Parameters
    ----------
    path : path
        .csv (commas), .tsv (tabs), .txt (blanks), or .npy. A first line that is not all numbers
        holds the names.

    Returns
    -------
    (array of shape (n, D), list of str or None)

    Raises
    ------
    ProblemError
        When the file is no such table; it says where.
    OSError
        When a table cannot be read.
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending == ".npy":
        return as_matrix(str(path), read_npy(path)), None
    if ending not in _DELIMITERS:
        raise ProblemError(
            f"{path}: a sample is a .csv, .tsv, .txt or .npy file; give one of these"
        )
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ProblemError(f"{path}: this is no text in UTF-8 ({error.reason})") from error
    numbered = [(k, _cells(line, ending)) for k, line in enumerate(text.splitlines(), start=1)]
    rows = [(k, cells) for k, cells in numbered if cells]
    names = None
    if rows and any(_number(cell) is None for cell in rows[0][1]):
        names = [cell.strip() for cell in rows.pop(0)[1]]
    if not rows:
        raise ProblemError(f"{path}: there are no observations in it")
    width = len(names) if names is not None else len(rows[0][1])
    data = np.empty((len(rows), width))
    for at, (k, cells) in enumerate(rows):
        if len(cells) != width:
            raise ProblemError(f"{path}, line {k}: it has {len(cells)} values; expected {width}")
        for s, cell in enumerate(cells):
            value = _number(cell)
            if value is None or not np.isfinite(value):
                name = f"column {s + 1}" if names is None else names[s]
                raise ProblemError(
                    f"{path}, line {k}: {name} is {cell.strip()!r}; expected a finite number"
                )
            data[at, s] = value
    return data, names


def _cells(line: str, ending: str) -> list[str]:
    delimiter = _DELIMITERS[ending]
    if delimiter is None:
        return line.split()
    return next(iter(csv.reader([line], delimiter=delimiter)), []) if line.strip() else []


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None
