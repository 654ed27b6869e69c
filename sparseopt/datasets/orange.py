"""Two data sets of the UCI repository, from the tables that Orange ships."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from sparseopt.problems.base import Array

_CODES = {
    "female": "0",
    "male": "1",
    **dict(
        zip(("typical ang", "atypical ang", "non-anginal", "asymptomatic"), "1234", strict=True)
    ),
    **dict(zip(("ST-T abnormal", "left vent hypertrophy"), "12", strict=True)),
    **dict(zip(("upsloping", "flat", "downsloping"), "123", strict=True)),
    **dict(zip(("fixed defect", "reversable defect"), "67", strict=True)),
}
"""The repository's numbers for words. "normal" has two, by the column."""
_NORMAL = {"rest ECG": "0", "thal": "3"}


def heart(folder: Path) -> tuple[Array, Array, list[str]]:
    """Read the 297 complete rows of the Cleveland data, with the repository's codes for words.

    Parameters
    ----------
    folder : path
        Of the package.

    Returns
    -------
    X, y, names : arrays of shapes (297, 13) and (297,), list of 13
        y is "1" where a diameter is narrowed by more than half, else "0".
    """
    names, rows = _table(folder / "datasets" / "heart_disease.tab")
    complete = [row for row in rows if "?" not in row]
    normal = [_NORMAL.get(name, "normal") for name in names]
    X = [
        [_CODES.get(word, code if word == "normal" else word) for word, code in pairs]
        for pairs in (zip(row[:-1], normal, strict=False) for row in complete)
    ]
    return np.array(X, dtype=float), np.array([row[-1] for row in complete]), names[:-1]


def ionosphere(folder: Path) -> tuple[Array, Array, list[str]]:
    """Read the radar data, whose second column is 0 everywhere.

    Parameters
    ----------
    folder : path
        Of the package.

    Returns
    -------
    X, y, names : arrays of shapes (351, p) and (351,), list of p
        y is "g" for good, "b" for bad returns.
    """
    names, rows = _table(folder / "tests" / "datasets" / "ionosphere.tab")
    X = np.array([row[:-1] for row in rows], dtype=float)
    return X, np.array([row[-1] for row in rows]), names[:-1]


def _table(file: Path) -> tuple[list[str], list[list[str]]]:
    """Return the names and the rows of a table with a head of three lines."""
    with file.open(newline="", encoding="utf-8") as lines:
        names, _, _, *rows = csv.reader(lines, delimiter="\t")
    return names, [row for row in rows if row]
