"""Tables of a report, some in a paper's own layout with the paper's cells beside ours."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scipy.special import stdtrit

from sparseopt.bench.displays.fields import Table
from sparseopt.bench.displays.wording import name_of, number_text
from sparseopt.bench.records.files import SolveOutcome

if TYPE_CHECKING:
    import pandas as pd

STATISTICS = (
    *("mean-se", "mean-sd", "mean-ci", "mean"),
    *("median", "max", "min", "sum", "total", "count"),
)


@dataclass(frozen=True)
class PaperRow:
    """One row as the paper prints it: its head, and the cells in the order of `columns`."""

    head: tuple[str, ...]
    cells: tuple[str, ...]


@dataclass(frozen=True)
class TableSpec:
    """What a table shows.

    Attributes
    ----------
    title, source, note : str
        `source` is where the paper's figures come from, `note` says why ours may differ.
    rows, columns : tuple of str
        Names of columns of the data frame of records; "value" stands for `values`.
    values : tuple of str
        Numeric columns of the frame that the cells hold; "time:max" has a statistic of its own.
    statistic : str
        How the runs of a cell are summed up; the mean with its standard error, with the standard
        deviation, or with half of its 95% interval (Student's, from three runs on); "count" says of
        how many a column is true, "total" adds up the instances, of each the median.
    paper_columns : tuple of tuples of str
        The column heads of the paper's cells.
    paper : tuple of PaperRow
    """

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[str, ...] = ("time",)
    statistic: str = "mean-se"
    source: str = ""
    note: str = ""
    paper_columns: tuple[tuple[str, ...], ...] = ()
    paper: tuple[PaperRow, ...] = ()


def read_table(table: Table) -> TableSpec:
    """Read one [[tables]] entry.

    Parameters
    ----------
    table : Table

    Returns
    -------
    TableSpec

    Raises
    ------
    ParamError
        When a key is missing, unknown or wrong.
    """
    paper = Table(table.take("paper", {}), table.file, f"{table.where}.paper")
    columns = tuple(_fields(paper, "columns", row) for row in paper.rows("columns"))
    rows = []
    for k, row in enumerate(paper.rows("rows"), 1):
        one = Table(row, table.file, f"{table.where}.paper.rows {k}")
        head = _fields(one, "row", one.take("row"))
        cells = tuple(str(cell) for cell in one.rows("cells"))
        if len(cells) != len(columns):
            one.refuse("cells", list(cells), f"{len(columns)} of them, one for each of columns")
        one.end("row, cells")
        rows.append(PaperRow(head, cells))
    paper.end("columns, rows")
    statistic = table.text("statistic", "mean-se")
    if statistic not in STATISTICS:
        table.refuse("statistic", statistic, f"one of: {', '.join(STATISTICS)}")
    spec = TableSpec(
        title=table.text("title", required=True),
        rows=table.texts("rows"),
        columns=table.texts("columns"),
        values=table.texts("values") or ("time",),
        statistic=statistic,
        source=table.text("source"),
        note=table.text("note"),
        paper_columns=columns,
        paper=tuple(rows),
    )
    if not spec.rows or not spec.columns:
        table.refuse("rows" if not spec.rows else "columns", [], "names of fields")
    for found in spec.paper:
        if len(found.head) != len(spec.rows):
            table.refuse("paper.rows", list(found.head), f"a head of {len(spec.rows)} fields")
    for head in columns:
        if len(head) != len(spec.columns):
            table.refuse("paper.columns", list(head), f"heads of {len(spec.columns)} fields")
    table.end("title, rows, columns, values, statistic, source, note, paper")
    return spec


def _fields(table: Table, key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        table.refuse(key, value, "a list of fields")
    return tuple(str(item) for item in value)


Key = tuple[str, ...]

_LEAST_RUNS = 3
"""From which on a cell has an interval: of two, Student's is 13 standard errors wide."""

TIMES = ("time", "cpu_time", "build_time", "solve_time", "iterations", "knots", "nodes")
_ERRORS = ("violation", "max_violation", "min_violation")


@dataclass(frozen=True)
class Cell:
    """One cell: its text, how many solves it sums up, and whether it is the paper's."""

    text: str
    runs: int = 0
    paper: bool = False


@dataclass(frozen=True)
class FilledTable:
    """A table that is ready to be printed.

    Attributes
    ----------
    corner : tuple of str
        Names of the row heads.
    columns : list of tuples
        Heads of the columns, level by level.
    rows : list of (tuple, list of Cell)
    """

    title: str
    source: str
    note: str
    corner: Key
    levels: Key
    columns: list[Key]
    rows: list[tuple[Key, list[Cell]]]


def laid_out(table: pd.DataFrame, spec: TableSpec) -> FilledTable:
    """Return a table of the frame as its specification asks, with the paper's cells.

    Parameters
    ----------
    table : DataFrame
        Of :mod:`sparseopt.bench.records.frame`: of solves, or of a study.
    spec : TableSpec

    Returns
    -------
    FilledTable
    """
    cells: dict[tuple[Key, Key], Cell] = {}
    wanted = [name for name in (*spec.rows, *spec.columns) if name != "value"]
    known = table.dropna(subset=[n for n in wanted if n in table.columns]) if len(table) else table
    missing = [name for name in wanted if name not in table.columns]
    if not missing and len(known):
        for heads, group in known.groupby(wanted, sort=False):
            at = dict(zip(wanted, map(_head, heads), strict=True))
            for value in spec.values:
                column_name, _, own = value.partition(":")
                at["value"] = f"{name_of(column_name)} ({own})" if own else name_of(value)
                row = tuple(at[name] for name in spec.rows)
                column = tuple(at[name] for name in spec.columns)
                if group["solved"].all() and not _filled(group, column_name):
                    continue
                cells[row, column] = _cell(group, column_name, own or spec.statistic)
    for paper_row in spec.paper:
        head = _named(paper_row.head, spec.rows)
        for column, text in zip(spec.paper_columns, paper_row.cells, strict=True):
            if text:
                cells[head, _named(column, spec.columns)] = Cell(text, paper=True)
    row_keys = _sorted(list(dict.fromkeys(row for row, _ in cells)))
    column_keys = _sorted(list(dict.fromkeys(column for _, column in cells)))
    return FilledTable(
        title=spec.title,
        source=spec.source,
        note=spec.note,
        corner=tuple("" if name == "value" else name for name in spec.rows),
        levels=spec.columns,
        columns=[
            tuple(_labelled(level, part) for level, part in zip(spec.columns, key, strict=True))
            for key in column_keys
        ],
        rows=[
            (_news(r, before), [cells.get((r, c), Cell("")) for c in column_keys])
            for before, r in zip([None, *row_keys], row_keys, strict=False)
        ],
    )


def _filled(group: pd.DataFrame, value: str) -> bool:
    return value in group.columns and bool(group[value].notna().any())


def _labelled(level: str, part: str) -> str:
    """Return what a number over a column is; words need no name."""
    try:
        float(part)
    except ValueError:
        return part
    return f"{level} = {part}"


def _news(head: Key, before: Key | None) -> Key:
    """Leave out the leading parts that the row before has, too."""
    kept = list(head)
    for level, part in enumerate(head[:-1]):
        if before is None or before[level] != part:
            break
        kept[level] = ""
    return tuple(kept)


def _named(head: Key, levels: Key) -> Key:
    return tuple(
        name_of(part) if level == "value" else part
        for part, level in zip(head, levels, strict=True)
    )


def _head(value: Any) -> str:
    if isinstance(value, str):
        return value
    number = float(value)
    return str(int(number)) if number.is_integer() else f"{number:g}"


def _cell(group: pd.DataFrame, value: str, statistic: str) -> Cell:
    if statistic == "count":
        tried = group[group["outcome"].map(lambda outcome: SolveOutcome(outcome).attempted)]
        tried = tried.dropna(subset=[value])
        return Cell(f"{int(tried[value].sum())} of {len(tried)}", len(group))
    # A time is that of a solve that ended by itself; an answer counts at a limit, too; and how far
    # off it is can be said of a wrong one.
    solved = group if value in _ERRORS else group[group["solved" if value in TIMES else "answered"]]
    if not _filled(solved, value):
        outcomes = ", ".join(sorted(set(group.loc[~group["solved"], "outcome"])))
        return Cell(outcomes or "-", len(group))
    missing = f" [{len(solved)} of {len(group)}]" if len(solved) < len(group) else ""
    found = solved[value].dropna()
    if statistic == "total":
        found = solved.groupby("instance")[value].median().dropna()
        statistic = "sum"
    if isinstance(found.iloc[0], str):
        return Cell("; ".join(dict.fromkeys(found)), len(group))
    numbers = found.astype(float)
    text = number_text(_summary(numbers, statistic))
    least = _LEAST_RUNS if statistic == "mean-ci" else 2
    if statistic.startswith("mean-") and len(numbers) >= least:
        spread: Any = numbers.std(ddof=1)
        if statistic != "mean-sd":
            spread /= math.sqrt(len(numbers))
        if statistic == "mean-ci":
            text += f" ± {number_text(stdtrit(len(numbers) - 1, 0.975) * spread, 2)}"
        else:
            text += f" ({number_text(spread)})"
    return Cell(text + missing, len(group))


def _summary(numbers: Any, statistic: str) -> float:
    name = "mean" if statistic.startswith("mean") else statistic
    found: Any = getattr(numbers, name)()
    return float(found)


def _sorted(keys: list[Key]) -> list[Key]:
    """Sort level by level: numbers by value, words as they first came."""
    seen: list[dict[str, int]] = [{} for _ in (keys[0] if keys else ())]
    for key in keys:
        for level, part in enumerate(key):
            seen[level].setdefault(part, len(seen[level]))

    def order(key: Key) -> list[tuple[int, float]]:
        out = []
        for level, part in enumerate(key):
            try:
                out.append((0, float(part)))
            except ValueError:
                out.append((1, float(seen[level][part])))
        return out

    return sorted(keys, key=order)
