"""The live table of a benchmark run, and plain lines where nobody watches."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from sparseopt.cli.showing.exits import printable

if TYPE_CHECKING:
    from rich.console import Group

    from sparseopt.bench.running.run import RunPlan, RunProgress

_EVERY = 0.25
_STYLES = {"ok": "green", "wrong": "bold red", "crash": "red", "hang": "red", "memory": "red"}


def run_live(
    plan: RunPlan,
    source: str,
    *,
    parallel: int,
    engine: str,
    scheduler: str | None,
    quiet: bool,
) -> list[dict[str, Any]]:
    """Run what is left of a plan, and show it: a table on a terminal, else a line for each solve.

    Parameters
    ----------
    plan, source, parallel, engine, scheduler
        As in :func:`sparseopt.bench.running.run.run`.
    quiet : bool
        Show nothing.
    """
    from sparseopt.bench.running.run import RunProgress, run

    progress = RunProgress(len(plan.jobs), parallel)
    arguments: dict[str, Any] = {
        "source": source,
        "parallel": parallel,
        "engine": engine,
        "scheduler": scheduler,
        "progress": progress,
    }
    if quiet:
        return run(plan, **arguments)
    if not sys.stderr.isatty():
        return run(plan, **arguments, on_change=_Lines())
    from rich.console import Console
    from rich.live import Live

    done = threading.Event()
    with Live(console=Console(stderr=True), auto_refresh=False, transient=True) as live:

        def show() -> None:
            while not done.wait(_EVERY):
                live.update(_view(progress), refresh=True)

        thread = threading.Thread(target=show, daemon=True)
        thread.start()
        try:
            return run(plan, **arguments)
        finally:
            done.set()
            thread.join()


class _Lines:
    """Writes one line for every solve that ends."""

    def __init__(self) -> None:
        self._shown = 0

    def __call__(self, progress: RunProgress) -> None:
        if len(progress.seconds) == self._shown:
            return
        self._shown = len(progress.seconds)
        record = progress.last[-1]
        print(f"{progress.done}/{progress.total}  {_ended(record)}", file=sys.stderr, flush=True)


def _ended(record: dict[str, Any]) -> str:
    from sparseopt.bench.displays.wording import seconds_text

    seconds = record.get("time")
    parts = [
        record["outcome"],
        record["label"],
        printable(record["instance"]["name"]),
        "" if seconds is None else seconds_text(seconds),
        printable(record["message"])[:200],
    ]
    return "  ".join(part for part in parts if part)


def _view(progress: RunProgress) -> Group:
    """Draw what runs, what ended last, the classes so far, and how long it will take."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from sparseopt.bench.displays.wording import seconds_text

    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("", "backend", "instance", "time", "limit"):
        table.add_column(name, justify="right" if name in ("time", "limit") else "left")
    now = time.monotonic()
    with progress.lock:
        for record in progress.last:
            style = _STYLES.get(record["outcome"], "yellow")
            seconds = record.get("time")
            table.add_row(
                Text(record["outcome"], style=style),
                record["label"],
                Text(printable(record["instance"]["name"])),
                "" if seconds is None else seconds_text(seconds),
                "",
            )
        for job, phase, since in progress.running.values():
            table.add_row(
                Text(phase, style="bold cyan" if phase == "solves" else "cyan"),
                job.label,
                Text(printable(job.name)),
                seconds_text(now - since),
                seconds_text(float(job.limits["time"])) if phase == "solves" else "",
            )
        counts = "  ".join(f"{count} {name}" for name, count in progress.counts.items())
        left = progress.remaining
    ahead = "" if left is None else f"  about {seconds_text(left)} to go"
    return Group(Text(f"{progress.done} of {progress.total} done{ahead}  {counts}"), table)
