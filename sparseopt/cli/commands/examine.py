"""``sparseopt check | info | backends``: commands that look and change nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparseopt.cli.reading.settings import InstanceFile, b_bar_option, given
from sparseopt.cli.showing.exits import ExitCode
from sparseopt.cli.showing.outputs import print_json
from sparseopt.cli.showing.progress import ProgressLine
from sparseopt.errors import ParamError, ProblemError

if TYPE_CHECKING:
    from sparseopt import Problem

_FILE = click.Path(path_type=Path)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")


@click.command(short_help="Verify a result against its instance.")
@click.argument("instance", type=InstanceFile())
@click.argument("result", type=_FILE)
@b_bar_option
@click.option(
    "--exact", "in_fractions", is_flag=True, help="In rational arithmetic, by a program apart."
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0.0, min_open=True),
    default=600.0,
    show_default=True,
    help="Processor time of --exact, then the verdict is unproven.",
)
@click.option(
    "--rel-gap",
    type=click.FloatRange(min=0.0),
    help="The relative gap that an optimal result may leave, instead of those it was asked for.",
)
@_JSON
def check(
    instance: Path,
    result: Path,
    b_bar: str | None,
    in_fractions: bool,
    seconds: float,
    rel_gap: float | None,
    as_json: bool,
) -> ExitCode:
    """Verify RESULT against INSTANCE by arithmetic alone, trusting no backend.

    With --exact another program does so, which shares no code with this package and takes all
    numbers of INSTANCE (.npz) and RESULT as rational ones.

    Exit codes: 0 verified, 1 refuted, 2 unreadable or another instance's result, 3 unproven.
    """
    if in_fractions:
        if b_bar is not None:
            raise ParamError("--b-bar is for an MPS file; --exact reads .npz")
        return _check_exactly(instance, result, seconds, rel_gap, as_json)
    if given("seconds"):
        raise ParamError("--seconds is for --exact: give it, or leave --seconds out")
    import sparseopt
    from sparseopt import Verdict
    from sparseopt.io import load_result

    with ProgressLine(f"reading {instance}", enabled=not as_json) as progress:
        problem = sparseopt.load(instance, b_bar=b_bar)
        claimed = load_result(result)
        if claimed.instance != problem.fingerprint():
            raise ProblemError(
                f"{result} is not a result for {instance}: it belongs to the instance with the "
                f"fingerprint {_short(claimed.instance)}, and this one has "
                f"{_short(problem.fingerprint())}"
            )
        progress.text = "checking"
        report = sparseopt.check(problem, claimed, rel_gap=rel_gap)
    residuals = {name: float(value) for name, value in report.residuals.items()}
    if as_json:
        print_json(
            {
                "verdict": report.verdict.value,
                "residuals": {name: _finite(value) for name, value in residuals.items()},
                "messages": list(report.messages),
                "status": claimed.status.value,
                "backend": claimed.backend,
                "instance": claimed.instance,
            }
        )
    else:
        from sparseopt.cli.showing.tables import print_facts

        print_facts(
            [
                ("verdict", report.verdict.value),
                *(("because", message) for message in report.messages),
                ("claimed", claimed.status.value),
                ("backend", claimed.backend),
                *((name, f"{value:.3g}") for name, value in residuals.items()),
            ]
        )
    return {
        Verdict.VERIFIED: ExitCode.ANSWER,
        Verdict.REFUTED: ExitCode.NO_ANSWER,
        Verdict.UNPROVEN: ExitCode.UNPROVEN,
    }[report.verdict]


def _check_exactly(
    instance: Path, result: Path, seconds: float, rel_gap: float | None, as_json: bool
) -> ExitCode:
    from sparseopt import exact

    if instance.suffix.lower() != ".npz":
        raise ProblemError(
            f"--exact reads instances as .npz: run `sparseopt convert {instance} FILE.npz` first"
        )
    with ProgressLine("checking in rational arithmetic", enabled=not as_json):
        try:
            verdict, message = exact.check(instance, result, seconds, rel_gap)
        except (exact.Unreadable, exact.Unproven, OSError, ValueError, KeyError) as error:
            raise ProblemError(f"{instance} and {result} cannot be compared: {error}") from error
    if as_json:
        print_json({"verdict": verdict, "messages": [message]})
    else:
        from sparseopt.cli.showing.tables import print_facts

        print_facts([("verdict", verdict), ("because", message)])
    return {
        "proven": ExitCode.ANSWER,
        "refuted": ExitCode.NO_ANSWER,
        "unproven": ExitCode.UNPROVEN,
    }[verdict]


def _short(fingerprint: str | None) -> str:
    return "none" if fingerprint is None else f"{fingerprint[:12]}..."


def _finite(value: float) -> float | str:
    """JSON has no infinities and no NaN: write them as strings."""
    return value if abs(value) < float("inf") else str(value)


@click.command(short_help="Show what a file holds.")
@click.argument("file", type=InstanceFile(), required=False)
@b_bar_option
@_JSON
def info(file: Path | None, b_bar: str | None, as_json: bool) -> ExitCode:
    """Show what FILE holds: an instance (.npz, .mps, .cbf, .dat-s) or a result (.json).

    Without FILE, list the shipped instances; commands take their names in place of files.
    """
    if file is None:
        if b_bar is not None:
            raise ParamError("--b-bar is for an MPS file, and no file is given")
        _list_instances(as_json)
    elif file.suffix.lower() == ".json":
        if b_bar is not None:
            raise ParamError("--b-bar is for an MPS file, not for a result")
        _info_result(file, as_json)
    else:
        _info_instance(file, b_bar, as_json)
    return ExitCode.ANSWER


def _list_instances(as_json: bool) -> None:
    import sparseopt
    from sparseopt.datasets import instances

    problems = {name: sparseopt.load(file) for name, file in instances().items()}
    if as_json:
        facts = ((name, problem.kind, dict(problem.size)) for name, problem in problems.items())
        print_json([dict(zip(("name", "kind", "size"), row, strict=True)) for row in facts])
        return
    from sparseopt.cli.showing.tables import print_table

    rows = [
        (name, problem.kind, ", ".join(f"{key} {value}" for key, value in problem.size.items()))
        for name, problem in problems.items()
    ]
    print_table(("instance", "kind", "size"), rows, left=3)


def _info_result(file: Path, as_json: bool) -> None:
    from sparseopt.io import load_result

    with ProgressLine(f"reading {file}", enabled=not as_json):
        result = load_result(file)
    if as_json:
        print_json(result.summary())
        return
    from sparseopt.cli.showing.tables import print_facts, print_result

    print_result(result)
    print_facts(_flatten({"asked": result.params.to_dict(), "options": result.options}))
    print_facts([("instance", result.instance)])


def _info_instance(file: Path, b_bar: str | None, as_json: bool) -> None:
    import sparseopt
    from sparseopt.io import read_header

    with ProgressLine(f"reading {file}", enabled=not as_json):
        header = read_header(file, b_bar=b_bar)
        problem = sparseopt.load(file, b_bar=b_bar)
        facts = {
            **header,
            "kind": problem.kind,
            "sense": problem.sense,
            "size": dict(problem.size),
            "fingerprint": problem.fingerprint(),
        }
    if as_json:
        print_json(facts)
        return
    from sparseopt.cli.showing.tables import print_facts, print_table

    references = facts.pop("reference", [])
    print_facts(_flatten(facts))
    if references:
        columns = ("lam", "primal", "dual", "status")
        rows = [references] if isinstance(references, dict) else references
        print_table(
            ("reference at lam", *columns[1:]),
            [[row.get(column, "-") for column in columns] for row in rows],
            left=0,
        )


def _flatten(value: Any, prefix: str = "") -> Iterable[tuple[str, object]]:
    """Yield nested facts as pairs of a dotted name and a plain value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flatten(inner, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(value, list | tuple):
        yield prefix, ", ".join(str(item) for item in value)
    else:
        yield prefix, value


@click.command(short_help="List the backends.")
@click.argument("instance", type=InstanceFile(), required=False)
@_JSON
@click.option(
    "--licenses",
    is_flag=True,
    help="Ask each solver for the state of its licence; this imports them, which takes seconds.",
)
def backends(instance: Path | None, as_json: bool, licenses: bool) -> ExitCode:
    """List the backends, and which of them take INSTANCE."""
    import sparseopt

    problem: Problem | None = None
    if instance is not None:
        with ProgressLine(f"reading {instance}", enabled=not as_json):
            problem = sparseopt.load(instance)
    rows = sparseopt.backends(problem, licenses=licenses)
    if as_json:
        print_json([{**asdict(row), "features": [f.value for f in row.features]} for row in rows])
        return ExitCode.ANSWER
    from sparseopt.cli.showing.tables import print_backends

    print_backends(rows, asked=problem is not None)
    return ExitCode.ANSWER
