"""Tables of a report in a paper's own layout, with the paper's figures in them."""

from __future__ import annotations

from dataclasses import dataclass

from sparseopt.bench.fields import Table

__all__ = ["PaperRow", "TableSpec", "read_table"]

STATISTICS = ("mean-se", "mean-sd", "mean", "median", "max", "min", "sum")


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
        Numeric columns of the frame that the cells hold.
    statistic : str
        How the runs of a cell are summed up.
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

    Raises
    ------
    ParamError
        When a key is missing, unknown or wrong.
    """
    paper = Table(table.take("paper", {}), table.file, f"{table.where}.paper")
    columns = tuple(_head(paper, "columns", row) for row in paper.rows("columns"))
    rows = []
    for k, row in enumerate(paper.rows("rows"), 1):
        one = Table(row, table.file, f"{table.where}.paper.rows {k}")
        head = _head(one, "row", one.take("row"))
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


def _head(table: Table, key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        table.refuse(key, value, "a list of fields")
    return tuple(str(item) for item in value)
