"""The command ``sparseopt`` and its subcommands."""

from __future__ import annotations

from typing import Any

import click

from sparseopt.cli.commands.bench import bench
from sparseopt.cli.commands.examine import backends, check, info
from sparseopt.cli.commands.fit import fit
from sparseopt.cli.commands.make import convert, generate
from sparseopt.cli.commands.private import private
from sparseopt.cli.commands.select import select
from sparseopt.cli.commands.solve import solve
from sparseopt.cli.commands.two_sample import two_sample
from sparseopt.cli.commands.warming import warm_up
from sparseopt.cli.showing.exits import Application, ExitCode


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        import sparseopt

        click.echo(f"sparseopt {sparseopt.__version__}")
        ctx.exit()


@click.group(
    cls=Application,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version and exit.",
)
@click.pass_context
def main(ctx: click.Context) -> Any:
    """Solve sparse statistical problems exactly, with certificates anyone can check.

    Exit codes: 0 an answer, 1 none or a refuted one, 2 bad input or a missing package or licence,
    3 unproven (check only), 130 interrupted with what is known.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        return ExitCode.BAD_INPUT
    return None


for _command in (
    solve,
    fit,
    select,
    two_sample,
    private,
    check,
    info,
    backends,
    generate,
    convert,
    bench,
    warm_up,
):
    main.add_command(_command)
