"""``sparseopt private``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sparseopt.cli.exits import ExitCode
from sparseopt.cli.outputs import print_json


@click.group("private", short_help="Audit the statement of a private release.")
def private() -> None:
    """Work with private releases of mean embeddings."""


@private.command("audit", short_help="Derive epsilon and delta of a statement again.")
@click.argument("statement", type=click.Path(path_type=Path))
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
