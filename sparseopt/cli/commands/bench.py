"""``sparseopt bench list | run | report | page | compare``."""

from __future__ import annotations

import math
import os
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparseopt.cli.reading.settings import settings_option
from sparseopt.cli.showing.exits import ExitCode, say
from sparseopt.cli.showing.outputs import print_json
from sparseopt.errors import ParamError

if TYPE_CHECKING:
    from sparseopt.bench.definitions.study import Study, Unit
    from sparseopt.bench.definitions.suite import Suite
    from sparseopt.bench.records.regressions import Comparison
    from sparseopt.bench.running.jobs import Job
    from sparseopt.bench.running.run import RunPlan

_ROOT = "bench-runs"
_FOLDER = click.Path(path_type=Path)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")


@click.group(short_help="Compare backends on benchmark suites.")
def bench() -> None:
    """Compare backends on suites of instances: run, report, and compare two runs."""


def _found(name: str, settings: dict[str, str]) -> tuple[Suite | Study, str]:
    """Return a suite or a study, and the text of the suite's file."""
    from sparseopt.bench.definitions.study import find_study, studies
    from sparseopt.bench.definitions.suite import find_suite, read_suite, suite_files

    if name in studies():
        return find_study(name).with_settings(settings), ""
    if not name.endswith(".toml") and name not in suite_files():
        raise ParamError(
            f"no suite or study is called {name!r}; suites: {', '.join(suite_files())} (a file of "
            f"your own ends in .toml); studies: {', '.join(studies())}"
        )
    if settings:
        raise ParamError(f"--set is for studies; the suite {name} is changed in its file")
    path = find_suite(name)
    return read_suite(path), path.read_text(encoding="utf-8")


@bench.command("list", short_help="List the suites and studies.")
@click.argument("suite", required=False)
@_JSON
def list_suites(suite: str | None, as_json: bool) -> ExitCode:
    """List the suites and studies that come with the package, or what SUITE would do."""
    from sparseopt.bench.definitions.study import Study, find_study, studies
    from sparseopt.bench.definitions.suite import read_suite, suite_files
    from sparseopt.bench.running.jobs import expand
    from sparseopt.cli.showing.tables import print_table

    if suite is not None:
        found, _ = _found(suite, {})
        work = found.work() if isinstance(found, Study) else expand(found)
        if as_json:
            print_json([job.to_dict() for job in work])
            return ExitCode.ANSWER
        cells: dict[str, list[str]] = {}
        for job in work:
            labels = cells.setdefault(job.name, [])
            if job.label not in labels:
                labels.append(job.label)
        heads = ("unit", "study") if isinstance(found, Study) else ("instance", "backends")
        print_table(heads, [(k, ", ".join(v)) for k, v in cells.items()], left=2)
        if isinstance(found, Study):
            for key, value in found.settings.items():
                shown = ",".join(map(str, value)) if isinstance(value, tuple) else value
                click.echo(f"--set {key}={shown}")
        return ExitCode.ANSWER
    rows = []
    for name, path in suite_files().items():
        one = read_suite(path)
        row: dict[str, Any] = {"name": name, "title": one.title, "file": str(path)}
        try:
            jobs = expand(one)
            row.update(instances=len({job.instance_key for job in jobs}), solves=len(jobs))
        except ParamError:
            # Its instances are files that only a clone of the repository has.
            row.update(title=f"{one.title} (its files are not here)", instances=0, solves=0)
        rows.append(row)
    protocols = [{"name": name, "title": find_study(name).title} for name in studies()]
    if as_json:
        print_json([*rows, *protocols])
    else:
        shown = [(r["name"], r["title"], r["instances"], r["solves"]) for r in rows]
        print_table(("suite", "what it is", "instances", "solves"), shown, left=2)
        click.echo()
        print_table(("study", "what it is"), [(r["name"], r["title"]) for r in protocols], left=2)
    return ExitCode.ANSWER


@bench.command(short_help="Run a suite or a study, or what is left of it.")
@click.argument("suite")
@click.option("-o", "--output", "folder", type=_FOLDER, metavar="DIR", help="The run's folder.")
@click.option("-j", "--jobs", type=click.IntRange(1), default=1, help="Solves at a time [1].")
@settings_option("A setting of a study; bench list STUDY has them.")
@click.option("--instances", multiple=True, metavar="PATTERN", help="Only such instances or units.")
@click.option("--backend", "backends", multiple=True, metavar="NAME", help="Only this backend.")
@click.option("--max-seeds", type=click.IntRange(1), metavar="N", help="First N seeds of each.")
@click.option("--time-limit", type=float, metavar="S", help="Instead of the suite's.")
@click.option("--shuffle", type=int, metavar="SEED", help="Random order, by a seed.")
@click.option("--retry", multiple=True, metavar="CLASS", help="Run these again, e.g. crash.")
@click.option(
    "--engine",
    type=click.Choice(["local", "loky", "dask", "ray"]),
    default="local",
    show_default=True,
    help="Who runs the jobs.",
)
@click.option("--scheduler", metavar="ADDRESS", help="A running Dask or Ray cluster.")
@click.option("--dry-run", is_flag=True, help="Tell what would run, and run nothing.")
@_JSON
def run(
    suite: str,
    folder: Path | None,
    jobs: int,
    settings: dict[str, str],
    instances: tuple[str, ...],
    backends: tuple[str, ...],
    max_seeds: int | None,
    time_limit: float | None,
    shuffle: int | None,
    retry: tuple[str, ...],
    engine: str,
    scheduler: str | None,
    dry_run: bool,
    as_json: bool,
) -> ExitCode:
    """Run SUITE: the name of a shipped suite or study, or a file that ends in .toml.

    Records go to DIR (bench-runs/NAME); the same command goes on with a run that was ended, in
    whatever way, and does nothing twice.
    """
    from sparseopt.bench.definitions.study import Study
    from sparseopt.bench.records.files import SolveOutcome
    from sparseopt.bench.running.jobs import JobSelection
    from sparseopt.bench.running.run import plan_run
    from sparseopt.cli.showing.bench_live import run_live

    for name in retry:
        if name not in list(SolveOutcome):
            raise ParamError(f"--retry {name}: expected one of {', '.join(SolveOutcome)}")
    if time_limit is not None and not 0.0 < time_limit < float("inf"):
        raise ParamError(f"--time-limit {time_limit}: expected a number > 0")
    found, source = _found(suite, settings)
    selection = JobSelection(instances, backends, max_seeds, time_limit)
    place = folder or Path(_ROOT) / found.name
    plan = plan_run(found, place, selection, shuffle=shuffle, retry=retry)
    if dry_run:
        _print_plan(plan, as_json)
        return ExitCode.ANSWER
    cores = os.cpu_count() or 1
    threads = max((int(job.limits["threads"]) for job in plan.jobs), default=1)
    if jobs * threads > cores and engine == "local" and not as_json:
        say("note", f"{jobs} solves at a time on {cores} cores: the times will be too long")
    try:
        records = run_live(
            plan,
            source,
            parallel=jobs,
            engine=engine,
            scheduler=scheduler,
            quiet=as_json,
        )
    except KeyboardInterrupt:
        say("note", f"what is done is kept in {place}; the same command goes on from there")
        raise
    counts = Counter(record["outcome"] for record in records)
    if as_json:
        print_json({"folder": str(place), "solves": len(records), "outcomes": counts})
    else:
        _print_counts(counts, plan, "unit" if isinstance(found, Study) else "solve")
    refuted = isinstance(found, Study) and any(
        SolveOutcome(name).attempted and name != SolveOutcome.OK for name in counts
    )
    return ExitCode.NO_ANSWER if refuted else ExitCode.ANSWER


def _print_counts(counts: Counter[str], plan: RunPlan, what: str) -> None:
    from sparseopt.bench.displays.wording import count_text

    shown = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    click.echo(f"{count_text(counts.total(), what)} in {plan.folder}: {shown}")
    if not plan.left:
        click.echo("nothing was left to do; -o DIR starts a run of its own")
    click.echo(f"next: sparseopt bench report {plan.folder}")


def _print_plan(plan: RunPlan, as_json: bool) -> None:
    if as_json:
        print_json([job.to_dict() for job in plan.left])
        return
    from sparseopt.cli.showing.tables import print_table

    rows = [
        (job.label, job.name, getattr(job, "setting", ""), " ".join(_asked(job)))
        for job in plan.left
    ]
    print_table(("backend", "instance", "setting", "question"), rows, left=4)
    done = len(plan.jobs) - len(plan.left)
    click.echo(f"\n{len(plan.left)} to run, {done} done in {plan.folder}")


def _asked(job: Job | Unit) -> list[str]:
    # The name of a unit has its parameters.
    return [f"{key}={v}" for key, v in job.params.items()] if hasattr(job, "setting") else []


@bench.command(short_help="Write the report of a run.")
@click.argument("folder", type=_FOLDER, required=False)
@click.option("-o", "--output", type=_FOLDER, metavar="FILE.html", help="Where it goes.")
@click.option("--images", type=_FOLDER, metavar="DIR", help="Write its figures there, too.")
@_JSON
def report(
    folder: Path | None, output: Path | None, images: Path | None, as_json: bool
) -> ExitCode:
    """Write the report of the run in FOLDER (default: the latest one), as HTML and Markdown."""
    from sparseopt.bench.reporting.report import write_report

    place = folder or _latest()
    html = output or place / "report.html"
    if html.suffix != ".html":
        raise ParamError(f"-o {html}: expected a name that ends in .html")
    written = write_report(place, html, images)
    if as_json:
        print_json({"html": str(html), "markdown": str(html.with_suffix(".md"))})
    else:
        for line in written:
            click.echo(line)
        click.echo(f"wrote {html} and {html.with_suffix('.md')}")
    return ExitCode.ANSWER


def _latest() -> Path:
    runs = sorted(Path(_ROOT).glob("*/records.jsonl"), key=lambda path: path.stat().st_mtime)
    if not runs:
        raise ParamError(
            f"there is no run in {_ROOT}/; run a suite first (sparseopt bench run smoke), or name "
            "the folder of a run"
        )
    return runs[-1].parent


@bench.command(short_help="Write the tables of a page from the runs that it names.")
@click.argument("page", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.argument("parts", nargs=-1)
@click.option("--fresh", is_flag=True, help="Remove the records that are there.")
@click.option("--write", is_flag=True, help="Run nothing.")
def page(page: Path, parts: tuple[str, ...], fresh: bool, write: bool) -> ExitCode:
    """Run what PAGE, a Markdown file, says between its marks, and write the tables there.

    PARTS are names of suites between marks such as <!-- begin psm-table1 -->; default: all.
    """
    from sparseopt.bench.reporting.page import write_page

    write_page(page, parts, fresh, not write)
    return ExitCode.ANSWER


@bench.command(short_help="Compare two runs and flag what got worse.")
@click.argument("before", type=_FOLDER)
@click.argument("after", type=_FOLDER)
@click.option("--tolerance", type=float, default=0.1, show_default=True, help="Slower by this.")
@click.option("--fail", is_flag=True, help="Exit with 1 where something got worse.")
@_JSON
def compare(before: Path, after: Path, tolerance: float, fail: bool, as_json: bool) -> ExitCode:
    """Compare the runs in the folders BEFORE and AFTER, solve by solve."""
    from sparseopt.bench.records.files import read_records
    from sparseopt.bench.records.regressions import compare_runs
    from sparseopt.bench.running.run import RECORDS

    if not tolerance >= 0.0:
        raise ParamError(f"--tolerance {tolerance}: expected a number >= 0")
    found = compare_runs(
        read_records(before / RECORDS)[0], read_records(after / RECORDS)[0], tolerance
    )
    if not found.common:
        raise ParamError(
            f"{before} and {after} have no solve in common: other labels, instances or questions"
        )
    if as_json:
        from dataclasses import asdict

        # JSON has no infinity, where an interval ends that too few problems leave open.
        times = {
            label: {key: value if math.isfinite(value) else None for key, value in ratio.items()}
            for label, ratio in asdict(found)["times"].items()
        }
        facts = {**asdict(found), "times": times}
        print_json({**facts, "regressed": found.regressed, "verdict": found.verdict})
    else:
        _print_comparison(found)
    return ExitCode.NO_ANSWER if fail and found.regressed else ExitCode.ANSWER


def _print_comparison(found: Comparison) -> None:
    from sparseopt.cli.showing.tables import print_table

    rows = [
        (
            label,
            ratio.pairs,
            f"{ratio.median:.3g}",
            f"{ratio.low:.3g} to {ratio.high:.3g}" if math.isfinite(ratio.high) else "-",
            "SLOWER" if label in found.slower else "",
        )
        for label, ratio in found.times.items()
    ]
    print_table(("backend", "problems", "median ratio", "95% interval", ""), rows)
    if found.changes:
        cells = [
            (c.backend, c.instance, c.before, c.after, "WORSE" if c.worse else "")
            for c in found.changes
        ]
        print_table(("backend", "instance", "before", "after", ""), cells, left=2)
    click.echo(
        f"\n{found.common} solves in both runs, {found.only_before} only in the first, "
        f"{found.only_after} only in the second"
    )
    if found.options:
        click.echo(f"with other options, parameters or limits: {', '.join(found.options)}")
    click.echo(found.verdict)
    sys.stdout.flush()
