"""``sparseopt generate | convert``: commands that write instance files."""

from __future__ import annotations

from pathlib import Path

import click

from sparseopt.cli.reading.settings import InstanceFile, b_bar_option, given, settings_option
from sparseopt.cli.showing.exits import ExitCode
from sparseopt.cli.showing.outputs import check_target, print_json
from sparseopt.cli.showing.progress import ProgressLine
from sparseopt.errors import ParamError

_FILE = click.Path(path_type=Path)
_FACTS = ("name", "generator", "reference", "license", "citation")


@click.command(short_help="Write a synthetic instance.")
@click.argument("name", required=False)
@click.option("-o", "--output", type=_FILE, metavar="FILE", help="Where the instance goes.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@settings_option("A setting of the generator; may be repeated.")
@click.option(
    "--list", "listing", is_flag=True, help="List the generators, or NAME, and their settings."
)
@click.option("--json", "as_json", is_flag=True, help="With --list: print JSON and nothing else.")
def generate(
    name: str | None,
    output: Path | None,
    seed: int,
    settings: dict[str, str],
    listing: bool,
    as_json: bool,
) -> ExitCode:
    """Write the synthetic instance NAME; the same name, seed and settings give the same file."""
    if listing:
        for option in ("output", "seed", "settings"):
            if spelt := given(option):
                raise ParamError(f"{spelt} is for writing an instance: leave it or --list out")
        _list(name, as_json)
        return ExitCode.ANSWER
    if as_json:
        raise ParamError("--json is for --list: give it, or leave --json out")
    if name is None:
        raise ParamError("give the name of a generator; `sparseopt generate --list` has them all")
    import sparseopt
    from sparseopt import generators

    known = generators.settings(name)
    if output is None:
        raise ParamError("give the file to write: -o FILE.npz")
    check_target("-o", output)
    for key in settings:
        if key not in known:
            raise ParamError(
                f"generator {name} has no setting {key!r}; it has: {', '.join(known) or 'none'} "
                "(the seed is --seed)"
            )
    with ProgressLine(f"generating {name}"):
        problem = generators.generate(name, seed=seed, **settings)
        facts = generators.provenance(name, seed=seed, **settings)
        sparseopt.save(problem, output, name=output.stem, generator=facts)
    click.echo(f"wrote {output}: {problem!r}")
    return ExitCode.ANSWER


def _list(name: str | None, as_json: bool) -> None:
    """Print all generators, or one."""
    from sparseopt import generators

    names = generators.names() if name is None else (name,)
    if as_json:
        print_json(
            [
                {
                    "name": each,
                    "description": generators.describe(each),
                    "settings": generators.settings(each),
                }
                for each in names
            ]
        )
        return
    from sparseopt.cli.showing.tables import print_table

    rows = []
    for each in names:
        defaults = " ".join(f"{key}={value}" for key, value in generators.settings(each).items())
        rows.append((each, generators.describe(each), defaults))
    print_table(("generator", "what", "settings with their defaults"), rows, left=3)


@click.command(short_help="Rewrite an instance in another format.")
@click.argument("source", metavar="IN", type=InstanceFile())
@click.argument("target", metavar="OUT", type=_FILE)
@b_bar_option
def convert(source: Path, target: Path, b_bar: str | None) -> ExitCode:
    """Rewrite the instance IN as OUT; the endings choose the formats (.npz, .mps, .cbf, .dat-s)."""
    check_target("OUT", target, source)
    import sparseopt
    from sparseopt.io import read_header

    with ProgressLine(f"converting {source}"):
        header = read_header(source, b_bar=b_bar)
        problem = sparseopt.load(source, b_bar=b_bar)
        facts = {key: header[key] for key in _FACTS if key in header}
        sparseopt.save(problem, target, **facts)
    click.echo(f"wrote {target}: {problem!r}")
    return ExitCode.ANSWER
