"""Raw tables for ``sparseopt fit``: text, missing values and columns that nobody wants."""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparseopt.errors import BackendUnavailable, ParamError, ProblemError

if TYPE_CHECKING:
    import pandas as pd

_LOOK = 100
"""Lines of a .csv file that show whether its columns are separated by semicolons."""
_SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": r"\s+"}


@dataclass(frozen=True)
class RawTable:
    """What a model is fitted to.

    Attributes
    ----------
    X : data frame of float
        The candidates.
    y : series, optional
        The target as it is in the file.
    weights : series of float, optional
    left_out : int
        Observations with missing values, which are not among these.
    """

    X: pd.DataFrame
    y: pd.Series | None
    weights: pd.Series | None
    left_out: int


def read_raw(
    file: Path,
    target: str | None,
    *,
    classes: bool,
    drop: Sequence[str],
    indicators: Sequence[str],
    skip_missing: bool,
    weights: str | None = None,
) -> RawTable:
    """Read a table.

    Parameters
    ----------
    file : path
        .csv (commas; semicolons with decimal commas or points), .tsv (tabs), .txt (blanks) or
        .parquet. A first line of numbers is an observation, and the columns are x0, x1, ... A first
        column without a name holds row labels, as pandas writes them, and is left out.
    target : str, optional
        None where nothing is explained.
    classes : bool
        Whether the target holds labels, which may be text, and not numbers.
    drop : sequence of str
        Columns to leave out.
    indicators : sequence of str
        Columns to replace by a 0/1 column ``name=value`` for each of their values but the first
        one, in sorted order.
    skip_missing : bool
        Whether observations with a missing value are left out.
    weights : str, optional
        The column that holds the weights of the observations.

    Returns
    -------
    RawTable

    Raises
    ------
    ParamError
        When a column is not there, or not of numbers; when values are missing.
    ProblemError
        When the file is no table.
    """
    frame = _frame(file)
    names = [str(name) for name in frame.columns]
    if names[:1] == ["Unnamed: 0"]:
        frame, names = frame.iloc[:, 1:], names[1:]
    frame.columns = names
    special = [name for name in (target, weights) if name is not None]
    for name in (*special, *drop, *indicators):
        if names.count(name) != 1:
            raise ParamError(
                f"{file} has {names.count(name) or 'no'} column {name!r}; there are: "
                f"{', '.join(names[:40])}"
            )
    for taken, role in ((target, "the target"), (weights, "the weights")):
        if taken in (*drop, *indicators):
            raise ParamError(f"{taken} is {role}: it is neither dropped nor made indicators")
    if target == weights is not None:
        raise ParamError(f"{target} cannot be both the target and the weights")
    frame = frame.drop(columns=[*dict.fromkeys(drop)])
    missing, left_out = frame.isna(), 0
    if missing.to_numpy().any():
        if not skip_missing:
            row, name = _first(missing)
            raise ParamError(
                f"{file}: {name} of observation {row + 1} is missing; --skip-missing leaves such "
                f"observations out ({int(missing.any(axis=1).sum())} of {len(frame)}), "
                f"--drop {name} the column"
            )
        left_out = int(missing.any(axis=1).sum())
        frame = frame[~missing.any(axis=1)]
    if frame.empty:
        raise ProblemError(f"{file}: there are no observations in it")
    w = None
    if weights is not None:
        w, frame = _numbers(file, frame[[weights]])[weights], frame.drop(columns=weights)
    if target is None:
        return RawTable(_numbers(file, _with_indicators(frame, indicators)), None, w, left_out)
    y, X = frame[target], frame.drop(columns=target)
    if not X.shape[1]:
        raise ParamError(f"{file} has the target alone: there is nothing to explain it by")
    if not classes:
        y = _numbers(file, frame[[target]])[target]
    return RawTable(_numbers(file, _with_indicators(X, indicators)), y, w, left_out)


def _frame(file: Path) -> pd.DataFrame:
    try:
        import pandas as pd
    except ImportError as error:
        raise BackendUnavailable(
            f"fit needs scikit-learn and pandas: pip install 'sparseopt[estimators,plot]' ({error})"
        ) from error
    ending = file.suffix.lower()
    if ending == ".parquet":
        try:
            return pd.read_parquet(file)
        except ImportError as error:
            raise BackendUnavailable(f"{file}: a Parquet file needs pyarrow: {error}") from error
    if ending not in _SEPARATORS:
        raise ProblemError(
            f"{file}: a table is a .csv, .tsv, .txt or .parquet file; give one of these"
        )
    try:
        separator, decimal = _SEPARATORS[ending], "."
        if separator == ",":
            separator, decimal = _marks(file)
        style: dict[str, Any] = {"sep": separator, "decimal": decimal, "encoding": "utf-8-sig"}
        head = pd.read_csv(file, header=None, nrows=1, dtype=str, **style)
        first = head.iloc[0].str.replace(decimal, ".")
        unnamed = pd.to_numeric(first, errors="coerce").notna().all()
        twice = [] if unnamed else first[first.duplicated() & first.notna()].tolist()
        if twice:
            raise ProblemError(
                f"{file}: several columns are called {twice[0]!r}; rename all but one"
            )
        with warnings.catch_warnings():
            # Values beyond the names would be left out with no more than a warning.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame: pd.DataFrame = pd.read_csv(
                file, header=None if unnamed else 0, index_col=False, **style
            )
    except UnicodeDecodeError as error:
        raise ProblemError(
            f"{file}: this is no text in UTF-8 ({error.reason}); save it as UTF-8"
        ) from error
    except pd.errors.EmptyDataError as error:
        raise ProblemError(
            f"{file}: the file is empty; expected a line of names and one for each observation"
        ) from error
    except pd.errors.ParserWarning as error:
        raise ProblemError(
            f"{file}: its lines hold more values than the first one has names ({len(first)}); name "
            "each column"
        ) from error
    except pd.errors.ParserError as error:
        raise ProblemError(f"{file}: {' '.join(str(error).split())}") from error
    return frame.add_prefix("x") if unnamed else frame


def _marks(file: Path) -> tuple[str, str]:
    """Return what separates the columns of a .csv file, and the mark of its decimals."""
    with file.open(encoding="utf-8-sig") as lines:
        head = list(itertools.islice(lines, _LOOK))
    if not head or head[0].count(";") <= head[0].count(",") // 2:
        return ",", "."
    return ";", "," if re.search(r"\d,\d", "".join(head)) else "."


def _first(marked: pd.DataFrame) -> tuple[int, str]:
    """Return the row and the column of the first True."""
    row = int(marked.any(axis=1).to_numpy().argmax())
    return row, str(marked.columns[int(marked.iloc[row].to_numpy().argmax())])


def _with_indicators(X: pd.DataFrame, chosen: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    if not chosen:
        return X
    return pd.get_dummies(X, columns=[*dict.fromkeys(chosen)], prefix_sep="=", drop_first=True)


def _numbers(file: Path, X: pd.DataFrame) -> pd.DataFrame:
    """Return a frame of finite floats, or say which column is none and what to do."""
    import numpy as np
    import pandas as pd

    numbers = pd.DataFrame(X.apply(pd.to_numeric, errors="coerce").astype(float))
    wrong = pd.DataFrame(~np.isfinite(numbers))
    if wrong.to_numpy().any():
        row, name = _first(wrong)
        what = f"{file}: {name} of observation {row + 1} is {X[name].iloc[row]!r}"
        others = [str(other) for other in X.columns[wrong.any()] if other != name]
        also = f", and in {', '.join(others)}" if others else ""
        raise ParamError(
            f"{what}; expected a finite number{also} (--indicators {name} makes a 0/1 column of "
            f"each of its values but the first, --drop {name} leaves it out, where it is no target)"
        )
    return numbers
