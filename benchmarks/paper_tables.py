"""Runs the suites behind docs/paper-tables.md, and writes the tables of that page from the records.

Each part of the page between ``<!-- begin SUITE -->`` and ``<!-- end SUITE -->`` is made by one
``sparseopt bench run`` and the report of it; the words around them are nobody's but the author's.
Run in a clone where sparseopt is installed with its extras ``bench``, ``cvxpy``, ``scip`` and
``peers``, on a machine with nothing else to do::

    python benchmarks/paper_tables.py --fresh --times    # tables that show times: ten minutes
    python benchmarks/paper_tables.py --fresh            # everything: half an hour
    python benchmarks/paper_tables.py l0-table1          # these suites only

Ended in any way, the same command without ``--fresh`` goes on where it was. ``--write`` runs
nothing and writes the page from the records that are there.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "paper-tables.md"
FOLDER = Path("bench-runs")


@dataclass(frozen=True)
class Part:
    """One suite, and how much of it is run for the page.

    Attributes
    ----------
    suite : str
    runs : list of tuples of str
        The options of one or more calls of ``sparseopt bench run``.
    folder : str
        Two suites with the same solves share one.
    timed : bool
        Whether its tables show times.
    """

    suite: str
    runs: Sequence[tuple[str, ...]]
    folder: str = ""
    timed: bool = True

    @property
    def records(self) -> str:
        """The folder's name."""
        return self.folder or self.suite


_SMALL = ("--instances", "*d=1000 *", "--instances", "*d=2000 *")
_LARGE = ("--instances", "*d=5000 *", "--backend", "spica", "--backend", "l0-tables")
_POWER = ("--max-seeds", "10", "--backend", "truncation", "-j", "2")
_FEW = tuple(word for d in (5, 10, 15, 20) for word in ("--instances", f"* d={d} *"))
_CURVES = ("--max-seeds", "1", "-j", "2")

PARTS = (
    Part("psm-table1", [("--max-seeds", "5")]),
    Part("psm-table2", [("--max-seeds", "3", "--time-limit", "30")]),
    Part("psm-table3", [("--max-seeds", "5")]),
    Part("strs-table1", [("--max-seeds", "2")], "strs-1"),
    Part("strs-figure1", [("--max-seeds", "2")], "strs-1"),
    # The l1 neighbourhoods of 5000 nodes take longer than all the rest.
    Part("l0-table1", [("--max-seeds", "1", *_SMALL), ("--max-seeds", "1", *_LARGE)]),
    Part("strs-figure2", [_POWER], timed=False),
    Part("strs-figure3", [_POWER], timed=False),
    Part("strs-figure4", [("--max-seeds", "3", *_FEW, *_POWER[2:])], timed=False),
    Part("l0-figure4", [_CURVES], timed=False),
    Part("l0-figure5", [_CURVES], timed=False),
    Part("l0-figure6", [_CURVES], timed=False),
)


def main() -> int:
    """Run what was asked for, and write the page; return the exit code."""
    asked = _arguments()
    chosen = [
        part
        for part in PARTS
        if (not asked.suites or part.suite in asked.suites) and (part.timed or not asked.times)
    ]
    if not asked.write:
        if asked.fresh:
            for name in {part.records for part in chosen}:
                shutil.rmtree(asked.folder / name, ignore_errors=True)
        for part in chosen:
            _run(part, asked.folder)
    text = PAGE.read_text(encoding="utf-8")
    for part in chosen:
        if (asked.folder / part.records / "records.jsonl").is_file():
            report = _report(part, asked.folder)
            text = _replaced(text, part.suite, _section(part, asked.folder, report))
            text = _replaced(text, "machine", _machine(report))
    PAGE.write_text(text, encoding="utf-8")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    names = [part.suite for part in PARTS]
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"of {', '.join(names)} [all]")
    parser.add_argument("--times", action="store_true", help="only those that show times")
    parser.add_argument("--fresh", action="store_true", help="remove the records that are there")
    parser.add_argument("--write", action="store_true", help="run nothing")
    parser.add_argument("--folder", type=Path, default=FOLDER, help=f"[{FOLDER}]")
    asked = parser.parse_args()
    for name in asked.suites:
        if name not in names:
            parser.error(f"{name!r} is none of {', '.join(names)}")
    return asked


def _run(part: Part, folder: Path) -> None:
    for command in _commands(part, folder):
        begun = time.monotonic()
        print(f"== sparseopt {shlex.join(command)}", flush=True)
        _sparseopt(command)
        print(f"   {time.monotonic() - begun:.0f} s", flush=True)


def _commands(part: Part, folder: Path) -> list[list[str]]:
    # Without -o the command takes the same folder.
    named = part.folder or folder != FOLDER
    own = ["-o", str(folder / part.records)] if named else []
    return [["bench", "run", part.suite, *own, *options] for options in part.runs]


def _sparseopt(arguments: Sequence[str]) -> None:
    subprocess.run([sys.executable, "-m", "sparseopt", *arguments], check=True)


def _report(part: Part, folder: Path) -> str:
    """Return the report of a run, in Markdown."""
    place = folder / part.records
    # A shared folder holds the copy of the suite that ran last.
    shutil.copy(ROOT / "instances" / "suites" / f"{part.suite}.toml", place / "suite.toml")
    html = place / f"{part.suite}.html"
    _sparseopt(["bench", "report", str(place), "-o", str(html)])
    return html.with_suffix(".md").read_text(encoding="utf-8")


def _section(part: Part, folder: Path, report: str) -> str:
    """Return what the page shows of a suite: command, tables, summary, when and how busy."""
    place = folder / part.records
    titles = _titles(place / "suite.toml")
    bodies = dict(_sections(report))
    shown = ["```bash", *(f"sparseopt {shlex.join(c)}" for c in _commands(part, FOLDER))]
    where = f" {FOLDER / part.folder}" if part.folder else ""
    shown += [f"sparseopt bench report{where}", "```", ""]
    for title in titles:
        shown += [f"**{title}**", "", bodies[title], ""]
    summary = re.findall(r"^- \*\*.*?\*\*: (.*)$", bodies["Summary"], re.MULTILINE)
    when = _when(place / "records.jsonl")
    left = sum(_left(command, place) for command in _commands(part, folder))
    rest = f" **{left} solves of the command are still to be done.**" if left else ""
    shown += [" ".join(summary), "", f"Run {when}; {_load(report)}.{rest}"]
    return "\n".join(shown)


def _left(command: Sequence[str], place: Path) -> int:
    """Return how many solves of a command have no record."""
    asked = [sys.executable, "-m", "sparseopt", *command, "-o", str(place), "--dry-run", "--json"]
    done = subprocess.run(asked, check=True, capture_output=True, text=True)
    return len(json.loads(done.stdout))


def _titles(suite: Path) -> list[str]:
    from sparseopt.bench.suite import read_suite

    return [table.title for table in read_suite(suite).tables]


def _sections(report: str) -> Iterator[tuple[str, str]]:
    """Yield title and body of each section of the second level."""
    for piece in report.split("\n## ")[1:]:
        title, _, body = piece.partition("\n")
        yield title.strip(), body.strip()


def _load(report: str) -> str:
    found = re.findall(r"^(load average.*)\.$", report, re.MULTILINE | re.IGNORECASE)
    return found[-1][0].lower() + found[-1][1:] if found else "load unknown"


def _machine(report: str) -> str:
    """Return the line on the machine and the versions."""
    return dict(_sections(report))["Environment"].partition("\n")[0].removeprefix("- ") + "."


def _when(records: Path) -> str:
    lines = map(json.loads, records.read_text(encoding="utf-8").splitlines())
    return max(line["started"] for line in lines if line["type"] == "solve")[:10]


def _replaced(text: str, name: str, section: str) -> str:
    begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->\n"
    if begin not in text or end not in text:
        raise SystemExit(f"{PAGE.name} has no place for {name}: {begin.strip()} ... {end.strip()}")
    head, _, rest = text.partition(begin)
    return f"{head}{begin}\n{section}\n\n{end}{rest.partition(end)[2]}"


if __name__ == "__main__":
    sys.exit(main())
