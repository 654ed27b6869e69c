"""``sparseopt warm-up``: compile now what would be compiled later."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from sparseopt.cli.showing.exits import ExitCode
from sparseopt.cli.showing.progress import ProgressLine
from sparseopt.errors import ParamError


@click.command("warm-up", short_help="Compile the engines, so that nobody waits for it later.")
@click.argument("kinds", nargs=-1, metavar="[KIND]...")
@click.option(
    "--baseline",
    is_flag=True,
    help="Compile for all processors of this kind (x86-64-v3), not for this very one: for images "
    "and home directories that several machines share.",
)
@click.option(
    "--collect",
    "target",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Compile everything anew and leave it in FOLDER, for a wheel to bring along.",
)
def warm_up(kinds: tuple[str, ...], baseline: bool, target: Path | None) -> ExitCode:
    """Compile what solves problems of each KIND (or family); of all without one.

    What has been compiled before is found in the user's cache and takes a second.
    """
    if target is not None:
        return _collected(kinds, baseline, target)
    return _warmed(kinds, baseline)


def _collected(kinds: tuple[str, ...], baseline: bool, target: Path) -> ExitCode:
    """Compile into an empty cache, and write what is there then into a folder."""
    from sparseopt.compiling import CACHE_VARIABLE, collect

    if not baseline:
        raise ParamError("--collect is for other machines, too: give --baseline with it")
    with TemporaryDirectory() as cache:
        os.environ[CACHE_VARIABLE] = cache
        code = _warmed(kinds, baseline)
        count = collect(target)
    click.echo(f"{count} compiled functions in {target}")
    return code


def _warmed(kinds: tuple[str, ...], baseline: bool) -> ExitCode:
    if baseline:
        from sparseopt.compiling import baseline_environment

        # Before numba is imported, here and in the process that compiles.
        os.environ.update(baseline_environment())
    import sparseopt
    from sparseopt.compiling import Mode, cache_folder, mode

    if mode() is Mode.NEVER:
        click.echo("nothing is compiled: numba is not installed, or switched off")
        return ExitCode.ANSWER
    begin = time.monotonic()
    with ProgressLine("compiling") as line:
        turn = ""

        def report(kind: str, fraction: float) -> None:
            nonlocal turn
            line.text = turn = f"{kind} ({100.0 * fraction:.0f} %)"

        class Listener(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                line.text = f"{turn}: {record.getMessage()}"

        logger, listener = logging.getLogger("sparseopt"), Listener(logging.INFO)
        level = logger.level
        logger.addHandler(listener)
        logger.setLevel(logging.INFO)
        try:
            sparseopt.warm_up(kinds, on_progress=report)
        finally:
            logger.removeHandler(listener)
            logger.setLevel(level)
    click.echo(f"compiled in {time.monotonic() - begin:.0f} s, kept in {cache_folder()}")
    return ExitCode.ANSWER
