"""Figures of a report that a suite asks for, and fits of how times grow."""

from __future__ import annotations

from dataclasses import dataclass

from sparseopt.bench.fields import Table

__all__ = ["Figure", "Scaling", "read_figure", "read_scaling"]

KINDS = ("line", "box", "roc")


@dataclass(frozen=True)
class Figure:
    """One picture, or one panel for each value of `panels`.

    Attributes
    ----------
    title : str
    kind : {"line", "box", "roc"}
        Means with standard errors against x; boxes of y at each x; a mean curve of (FPR, TPR).
    x, y, series : str
    panels : tuple of str
        Columns of the data frame of records.
    source, note : str
    """

    title: str
    kind: str
    x: str = ""
    y: str = ""
    series: str = "backend"
    panels: tuple[str, ...] = ()
    log_x: bool = False
    log_y: bool = False
    source: str = ""
    note: str = ""


@dataclass(frozen=True)
class Scaling:
    """How y grows with x: a power law fitted for each backend, with an interval.

    Each kind of problem is fitted by itself; `kinds` names those that are meant, if not all.
    """

    x: str
    y: str = "time"
    title: str = ""
    kinds: tuple[str, ...] = ()


def read_figure(table: Table) -> Figure:
    """Read one [[figures]] entry.

    Raises
    ------
    ParamError
        When a key is missing, unknown or wrong.
    """
    kind = table.text("kind", "line")
    if kind not in KINDS:
        table.refuse("kind", kind, f"one of: {', '.join(KINDS)}")
    figure = Figure(
        title=table.text("title", required=True),
        kind=kind,
        x=table.text("x", required=kind != "roc"),
        y=table.text("y", required=kind != "roc"),
        series=table.text("series", "backend"),
        panels=table.texts("panels"),
        log_x=table.flag("log_x", False),
        log_y=table.flag("log_y", False),
        source=table.text("source"),
        note=table.text("note"),
    )
    table.end("title, kind, x, y, series, panels, log_x, log_y, source, note")
    return figure


def read_scaling(table: Table) -> Scaling:
    """Read one [[scaling]] entry.

    Raises
    ------
    ParamError
        When a key is missing, unknown or wrong.
    """
    fit = Scaling(
        table.text("x", required=True),
        table.text("y", "time"),
        table.text("title"),
        table.texts("kinds"),
    )
    table.end("x, y, title, kinds")
    return fit
