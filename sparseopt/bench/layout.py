"""Tables in a paper's own layout, our cells and the paper's side by side."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sparseopt.bench.plots import name_of
from sparseopt.bench.table_spec import TableSpec
from sparseopt.bench.wording import number_text

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TIMES", "Cell", "Layout", "laid_out"]

Key = tuple[str, ...]

TIMES = ("time", "cpu_time", "build_time", "solve_time", "iterations", "knots", "nodes")
_ERRORS = ("violation", "max_violation", "min_violation")


@dataclass(frozen=True)
class Cell:
    """One cell: its text, how many solves are behind it, and whether the paper says it."""

    text: str
    runs: int = 0
    paper: bool = False


@dataclass(frozen=True)
class Layout:
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


def laid_out(table: pd.DataFrame, spec: TableSpec) -> Layout:
    """Return a table of the frame as its specification asks, with the paper's cells."""
    cells: dict[tuple[Key, Key], Cell] = {}
    wanted = [name for name in (*spec.rows, *spec.columns) if name != "value"]
    known = table.dropna(subset=[n for n in wanted if n in table.columns]) if len(table) else table
    missing = [name for name in wanted if name not in table.columns]
    if not missing and len(known):
        for heads, group in known.groupby(wanted, sort=False):
            at = dict(zip(wanted, map(_head, heads), strict=True))
            for value in spec.values:
                at["value"] = name_of(value)
                row = tuple(at[name] for name in spec.rows)
                column = tuple(at[name] for name in spec.columns)
                cells[row, column] = _cell(group, value, spec.statistic)
    for paper_row in spec.paper:
        head = _named(paper_row.head, spec.rows)
        for column, text in zip(spec.paper_columns, paper_row.cells, strict=True):
            if text:
                cells[head, _named(column, spec.columns)] = Cell(text, paper=True)
    row_keys = _sorted(list(dict.fromkeys(row for row, _ in cells)))
    column_keys = _sorted(list(dict.fromkeys(column for _, column in cells)))
    return Layout(
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


def _labelled(level: str, part: str) -> str:
    """Say what a number over a column is; words say it themselves."""
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
    # A time is that of a solve that ended by itself; an answer counts at a limit, too; and how far
    # off it is can be said of a wrong one.
    solved = group if value in _ERRORS else group[group["solved" if value in TIMES else "answered"]]
    if value not in solved.columns or not solved[value].notna().any():
        outcomes = ", ".join(sorted(set(group.loc[~group["solved"], "outcome"])))
        return Cell(outcomes or "-", len(group))
    missing = f" [{len(solved)} of {len(group)}]" if len(solved) < len(group) else ""
    numbers = solved[value].dropna().astype(float)
    text = number_text(_summary(numbers, statistic))
    if statistic in ("mean-se", "mean-sd") and len(numbers) > 1:
        spread: Any = numbers.std(ddof=1)
        if statistic == "mean-se":
            spread /= math.sqrt(len(numbers))
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
