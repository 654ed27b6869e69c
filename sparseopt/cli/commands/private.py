"""``sparseopt private``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sparseopt.cli.showing.exits import ExitCode
from sparseopt.cli.showing.outputs import check_target, print_json
from sparseopt.cli.showing.progress import ProgressLine
from sparseopt.errors import ParamError

_FILE = click.Path(path_type=Path)


@click.group("private", short_help="Synthetic rows from private data; audits of statements.")
def private() -> None:
    """Make synthetic rows from a private table, and audit what is stated of them."""


@private.command("synthesise", short_help="Release a table once, and write synthetic rows.")
@click.argument("table", type=_FILE)
@click.option(
    "--bounds", type=_FILE, required=True, metavar="FILE.json", help="What each column may hold."
)
@click.option("--epsilon", type=float, required=True, metavar="X")
@click.option("--delta", type=float, required=True, metavar="X", help="Well below 1 / rows.")
@click.option("--label", metavar="NAME", help="A column of levels: each is embedded apart.")
@click.option(
    "--neighbours",
    type=click.Choice(["replace-one", "add-remove"]),
    default="replace-one",
    show_default=True,
    help="With add-remove the number of rows is protected, too.",
)
@click.option(
    "--ledger", type=_FILE, metavar="FILE.jsonl", help="Adds releases up; needs --budget."
)
@click.option("--budget", type=float, nargs=2, metavar="EPSILON DELTA", help="Of the ledger.")
@click.option("--rows", type=click.IntRange(min=1), metavar="N", help="Rows to draw [as many].")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the rows."
)
@click.option("-o", "output", type=_FILE, required=True, metavar="FILE.csv", help="Synthetic rows.")
@click.option("--statement", type=_FILE, required=True, metavar="FILE.json", help="What holds.")
def synthesise(
    table: Path,
    bounds: Path,
    epsilon: float,
    delta: float,
    label: str | None,
    neighbours: str,
    ledger: Path | None,
    budget: tuple[float, float] | None,
    rows: int | None,
    seed: int,
    output: Path,
    statement: Path,
) -> ExitCode:
    """Release the mean embedding of TABLE, a .csv file, once; write rows that are like it.

    The bounds are a JSON object: for each column [low, high], or a list of its levels in quotes, as
    in {"age": [0, 100], "smokes": ["no", "yes"], "rooms": ["1", "2", "3"]}. They are public, and
    must be written without a look at the data: values outside are moved to the bounds, text that is
    no number to the middle, and unknown levels count as none.
    """
    check_target("-o", output, table, bounds, statement, ledger)
    check_target("--statement", statement, table, bounds, output, ledger)
    if (ledger is None) != (budget is None):
        raise ParamError("--ledger and --budget are given together, or neither")
    from sparseopt import private as room
    from sparseopt.cli.reading.private_table import columns_of, read_columns, write_rows

    columns = columns_of(bounds)
    levels = {column.name: column for column in columns if isinstance(column, room.Category)}
    of_label = None if label is None else levels.get(label)
    if label is not None and of_label is None:
        raise ParamError(f"--label {label}: {bounds} has no levels of it")
    features = room.FeatureMap(tuple(c for c in columns if c is not of_label), label=of_label)
    kept = None if ledger is None or budget is None else room.Ledger(*budget, path=ledger)
    with ProgressLine(f"reading {table}") as progress:
        data = read_columns(table, columns)
        progress.text = "releasing"
        released = room.release(
            data,
            None if label is None else data[label],
            epsilon=epsilon,
            delta=delta,
            features=features,
            neighbours=neighbours,
            ledger=kept,
        )
        released.statement.save(statement)
        progress.text = "fitting"
        found = room.synthesise(released)
        drawn, classes = found.sample(rows or round(released.records), seed)
    if classes is not None:
        drawn = {**drawn, str(label): classes}
    write_rows(output, {column.name: drawn[column.name] for column in columns})
    click.echo(str(released.statement))
    click.echo(f"wrote {output} (its fit is {found.result.verdict}) and {statement}")
    return ExitCode.ANSWER


@private.command("audit", short_help="Derive epsilon and delta of a statement again.")
@click.argument("statement", type=_FILE)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def audit(statement: Path, as_json: bool) -> Any:
    """Derive epsilon and delta of STATEMENT again, by code that the release does not use.

    Exit codes: 0 the statement holds, 1 it does not, 2 the file is none.
    """
    from sparseopt import private as room

    stated = room.Statement.load(statement)
    report = room.audit(stated)
    if as_json:
        print_json(
            {
                "holds": report.holds,
                "epsilon": report.epsilon if report.holds else None,
                "delta": report.delta if report.holds else None,
                "messages": list(report.messages),
            }
        )
    else:
        click.echo(str(stated) if report.holds else "The statement does not hold.")
        for message in report.messages:
            click.echo(f"- {message}")
    return ExitCode.ANSWER if report.holds else ExitCode.NO_ANSWER
