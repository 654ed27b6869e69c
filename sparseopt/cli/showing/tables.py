"""The tables that people read."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sparseopt.cli.showing.exits import printable

if TYPE_CHECKING:
    from sparseopt import BackendInfo, PathResult, Problem, Result

_ROWS, _SIZES = 12, 40
_WIDE = 160
"""Columns where nobody looks at a terminal: lines in a log or a pipe need no folding at 80."""
_WHOLE = 32
"""Characters of a word that are not folded."""
_BETWEEN = 2
"""Blanks after a column."""
_STYLES = {
    "verified": "green",
    "optimal": "green",
    "refuted": "bold red",
    "imprecise": "bold red",
    "numerical_error": "bold red",
    "error": "bold red",
    "unproven": "yellow",
    "no_solution": "yellow",
}


class _Console(Console):
    """A console that leaves a closed pipe to the caller instead of ending the process."""

    def on_broken_pipe(self) -> None:
        # rich calls this while the BrokenPipeError is being handled.
        raise


def _console() -> Console:
    folded = sys.stdout.isatty() or "COLUMNS" in os.environ
    return _Console(
        file=sys.stdout,
        width=None if folded else _WIDE,
        markup=False,
        emoji=False,
        highlight=False,
    )


def print_facts(facts: Iterable[tuple[str, object]]) -> None:
    """Print names and values, one pair a line; pairs without a value are left out."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts:
        if value is not None and value != "":
            text = printable(value)
            table.add_row(name, Text(text, style=_STYLES.get(text, "")))
    _console().print(table)


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    left: int = 1,
    *,
    words_last: bool = False,
) -> None:
    """Print a table under column heads; on a narrow terminal cells fold between their words.

    Where the words do not fit side by side, lines are longer than the terminal is wide. The first
    `left` columns hold words, and the last one where `words_last`; the others numbers.
    """
    cells = [[printable(cell) for cell in row] for row in rows]
    console = _console()
    room = console.width - _BETWEEN * len(columns)
    widths = _widths([list(each) for each in zip(columns, *cells, strict=True)], room)
    console.width += max(0, sum(widths) - room)
    table = Table(box=None, padding=(0, _BETWEEN, 0, 0), header_style="bold")
    for i, (column, width) in enumerate(zip(columns, widths, strict=True)):
        words = i < left or (words_last and i == len(columns) - 1)
        justify: Literal["left", "right"] = "left" if words else "right"
        table.add_column(column, justify=justify, overflow="fold", width=width)
    for row in cells:
        table.add_row(*map(Text, row))
    console.print()
    console.print(table)


def _widths(columns: Sequence[Sequence[str]], room: int) -> list[int]:
    """Return how wide columns are: as their cells, or cut to one width with which they fit.

    None is narrower than its longest word; the first cells of rows are names, in one piece as
    others look for them.
    """
    whole = [max(map(cell_len, cells)) for cells in columns]
    least = []
    for i, cells in enumerate(columns):
        pieces = [piece for cell in cells for piece in (cell.split() if i else [cell])]
        least.append(min(_WHOLE, max(map(cell_len, pieces), default=0)))
    for cap in range(room, 0, -1):
        widths = [min(full, max(word, cap)) for full, word in zip(whole, least, strict=True)]
        if sum(widths) <= room:
            return widths
    return least


def print_result(result: Result, problem: Problem | None = None) -> None:
    """Print a result: its facts, then some of the path or the largest coefficients."""
    print_facts(_facts(result))
    if result.path is not None and len(result.path):
        _print_path(result.path)
    elif result.x is not None:
        _print_coefficients(result.x, getattr(problem, "coefficient_names", None))


def _facts(result: Result) -> Iterable[tuple[str, object]]:
    """Yield what a person asks for first."""
    yield "status", result.status.value
    yield "limit", result.limit.value if result.limit else None
    # A backend's own word matters where it failed; where it was refuted, the checker's does.
    failed = not result.status.has_answer and result.status != "imprecise"
    yield "because", result.raw_status if failed else None
    yield "objective", _number(result.objective, 12)
    yield "bound", _number(result.bound, 12)
    yield "gap", _number(result.gap, 3)
    yield "verdict", result.verdict.value if result.verdict else "not checked"
    if result.verdict is None or result.verdict.value != "verified":
        for message in result.check_messages:
            yield "check", message
    packages = [f"{name} {v}" for name, v in result.versions.items() if name != "sparseopt"]
    yield "backend", " ".join([result.backend, *([f"({', '.join(packages)})"] if packages else [])])
    for note in result.notes:
        yield "note", note
    if result.path is not None and len(result.path):
        knots = result.path.knots
        covered = f"{result.path.parameter} {knots[0]:.6g} to {knots[-1]:.6g}"
        yield "path", f"{len(knots)} knots, {covered}, stopped by {result.path.stopped_by}"
    elif result.last_lam is not None:
        name = "lam" if result.params.size is None else "size"
        yield name, _number(result.last_lam, 12)
    if result.x is not None:
        yield "nonzeros", f"{np.count_nonzero(result.x)} of {result.x.size}"
    if result.pool:
        values = [_number(solution.objective, 8) for solution in result.pool[:5]]
        more = ", ..." if len(result.pool) > 5 else ""
        yield "solutions", f"{len(result.pool)}: {', '.join(filter(None, values))}{more}"
    yield "iterations", result.iterations
    yield "nodes", result.nodes
    times = {"solve": result.solve_time, "build": result.build_time, "check": result.check_time}
    yield "time", ", ".join(f"{seconds:.3g} s to {what}" for what, seconds in times.items())


def _number(value: float | None, digits: int) -> str | None:
    return None if value is None else f"{value:.{digits}g}"


def _print_path(path: PathResult) -> None:
    """Print some knots, evenly chosen, the first and the last among them."""
    sizes = path.parameter == "size"
    # Each number of nonzeros is a model of its own; between knots of lam little is missed.
    most = _SIZES if sizes else _ROWS
    chosen = np.unique(np.linspace(0, len(path) - 1, most).round().astype(int))
    rows = []
    for knot in path.knots[chosen].tolist():
        support = np.flatnonzero(path.at(knot))
        shown = " ".join(map(str, support)) if sizes else len(support)
        rows.append((f"{knot:.6g}", f"{path.objective_at(knot):.8g}", shown))
    heads = (path.parameter, "objective", "variables" if sizes else "nonzeros")
    print_table(heads, rows, left=0, words_last=sizes)


def _print_coefficients(x: Any, names: Sequence[str] | None) -> None:
    """Print the largest coefficients."""
    values = np.asarray(x).ravel()
    order = np.argsort(-np.abs(values), kind="stable")[:_ROWS]
    rows = [
        (names[j] if names is not None else f"x{j}", f"{values[j]:.8g}")
        for j in order
        if values[j] != 0.0
    ]
    if rows:
        print_table(("coefficient", "value"), rows)


def print_backends(rows: Sequence[BackendInfo], asked: bool) -> None:
    """Print what is registered, and whether it takes an instance where one was given."""
    columns = ["backend", "version", "available", *(["takes it"] if asked else []), "features"]
    cells = []
    for row in rows:
        takes = [] if not asked else ["yes" if row.supports else "no"]
        features = ", ".join(feature.value for feature in row.features)
        cells.append(
            [row.name, row.version or "-", "yes" if row.available else "no", *takes, features]
        )
    print_table(columns, cells, left=len(columns))
    reasons = [(row.name, row.reason) for row in rows if row.reason]
    licenses = [(row.name, f"licence: {row.license}") for row in rows if row.license]
    for facts in (reasons, licenses):
        if facts:
            _console().print()
            print_facts(facts)
