"""Writes the tables of a Markdown page from the records of the commands that the page names.

A part of the page between ``<!-- begin SUITE -->`` and ``<!-- end SUITE -->`` begins with some
``sparseopt bench run`` commands; what follows in it is made from the report of that run, and so are
the figures ``images/SUITE-....svg`` that the page shows. A summary of its records is kept beside
the page, in ``records/SUITE.jsonl``: whoever has the page can make its tables and figures again.
The part ``machine`` says on which machine. The words around the parts are the author's.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sparseopt.bench.definitions.study import find_study, studies
from sparseopt.bench.definitions.suite import find_suite, read_suite
from sparseopt.bench.records.files import read_records, write_summary
from sparseopt.bench.reporting.report import markdown_report, write_report
from sparseopt.bench.running.run import RECORDS, SUITE
from sparseopt.errors import ParamError

_MACHINE = "machine"
_PART = re.compile(r"<!-- begin (\S+) -->\n(.*?)<!-- end \1 -->\n", re.DOTALL)


def parts(text: str) -> dict[str, str]:
    """Return what a page has between its marks, by name.

    Parameters
    ----------
    text : str
        Of the page, Markdown.

    Returns
    -------
    dict of str to str
    """
    return {name: body for name, body in _PART.findall(text) if name != _MACHINE}


def commands_of(body: str) -> list[list[str]]:
    """Return the words of the ``sparseopt bench run`` commands of a part.

    Parameters
    ----------
    body : str
        Of a part.

    Returns
    -------
    list of list of str
        Without the word sparseopt.
    """
    lines = re.findall(r"^sparseopt (bench run .*)$", body, re.MULTILINE)
    return [shlex.split(line) for line in lines]


def replaced(text: str, name: str, section: str) -> str:
    """Return the page with another content of a part.

    Parameters
    ----------
    text : str
        Of the page.
    name : str
        Of the part.
    section : str
        Its new content.

    Returns
    -------
    str

    Raises
    ------
    ParamError
        When the page has no such part.
    """
    begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->\n"
    if begin not in text or end not in text:
        raise ParamError(f"the page has no part {name}: {begin.strip()} ... {end.strip()}")
    head, _, rest = text.partition(begin)
    return f"{head}{begin}\n{section}\n\n{end}{rest.partition(end)[2]}"


def write_page(
    page: Path, names: Sequence[str] = (), fresh: bool = False, run: bool = True
) -> None:
    """Run the commands of a page's parts, or what is left of them, and write its tables.

    Parameters
    ----------
    page : path
    names : sequence of str
        Of parts; all by default.
    fresh : bool, default False
        Remove the records that are there.
    run : bool, default True
        Whether to run anything; without, parts that have no records stay as they are.

    Raises
    ------
    ParamError
        When the page has no such part.
    """
    found = parts(page.read_text(encoding="utf-8"))
    for name in names:
        if name not in found:
            raise ParamError(f"{page} has no part {name!r}; it has: {', '.join(found)}")
    chosen = {name: commands_of(found[name]) for name in found if not names or name in names}
    if fresh and run:
        for folder in {_folder(name, commands) for name, commands in chosen.items()}:
            shutil.rmtree(folder, ignore_errors=True)
    for name, commands in chosen.items():
        for command in commands if run else ():
            print(f"== sparseopt {shlex.join(command)}", flush=True)
            _sparseopt(command)
        folder = _folder(name, commands)
        if (folder / RECORDS).is_file():
            write_summary(folder / RECORDS, _kept(page, name), _left(commands, folder))
    page.write_text(rewritten(page), encoding="utf-8")
    _redraw(page)


def _redraw(page: Path) -> None:
    """Make the figures that a page shows of the records that are kept of its parts."""
    text = page.read_text(encoding="utf-8")
    for name in parts(text):
        shown = re.findall(rf"\(images/({re.escape(name)}-[^)\s]+\.svg)\)", text)
        if not shown or not _kept(page, name).is_file():
            continue
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            _restore(name, _kept(page, name), folder)
            write_report(folder, folder / "report.html", folder / "images")
            (page.parent / "images").mkdir(exist_ok=True)
            for file in shown:
                shutil.copy(folder / "images" / file, page.parent / "images" / file)


def rewritten(page: Path) -> str:
    """Return the page with each part for which records are kept made from these again.

    Parameters
    ----------
    page : path

    Returns
    -------
    str
    """
    text = page.read_text(encoding="utf-8")
    machines: dict[str, None] = {}
    for name, body in parts(text).items():
        if _kept(page, name).is_file():
            report = _report(name, _kept(page, name))
            shown = body.partition("```bash\n")[2].partition("```")[0]
            section = _section(name, _kept(page, name), report)
            text = replaced(text, name, f"```bash\n{shown}```\n\n{section}")
            lines = _sections(report)["Environment"].splitlines()
            machines |= dict.fromkeys(line for line in lines if line.startswith("- "))
    if machines and f"<!-- begin {_MACHINE} -->" in text:
        text = replaced(text, _MACHINE, "\n".join(_merged(machines)))
    return text


def _merged(machines: Iterable[str]) -> list[str]:
    """Return descriptions of machines; those that differ in the commit alone as one with all."""
    commits: dict[str, list[str]] = {}
    for line in machines:
        version = re.search(r"\(\S+\)(?=; numpy)", line)
        commit = version.group() if version else ""
        commits.setdefault(line.replace(commit, "()", 1), []).append(commit.strip("()"))
    return [line.replace("()", f"({', '.join(found)})", 1) for line, found in commits.items()]


def _folder(name: str, commands: Sequence[Sequence[str]]) -> Path:
    command = list(commands[0]) if commands else []
    return Path(command[command.index("-o") + 1] if "-o" in command else f"bench-runs/{name}")


def _sparseopt(command: Sequence[str]) -> str:
    run = [sys.executable, "-m", "sparseopt", *command]
    return subprocess.run(run, check=True, stdout=subprocess.PIPE, text=True).stdout


def _kept(page: Path, name: str) -> Path:
    return page.parent / "records" / f"{name}.jsonl"


def _left(commands: Sequence[Sequence[str]], folder: Path) -> int:
    """Return how many solves of the commands are still to be done."""
    return sum(
        len(json.loads(_sparseopt([*command, "-o", str(folder), "--dry-run", "--json"])))
        for command in commands
    )


def _report(name: str, records: Path) -> str:
    """Return the report of the records that are kept, in Markdown."""
    with tempfile.TemporaryDirectory() as folder:
        _restore(name, records, Path(folder))
        return markdown_report(Path(folder))


def _restore(name: str, records: Path, folder: Path) -> None:
    """Make a folder as that of a run, from the records that are kept of it."""
    shutil.copy(records, folder / RECORDS)
    if name not in studies():
        shutil.copy(find_suite(name), folder / SUITE)


def _section(name: str, kept: Path, report: str) -> str:
    """Return tables and summary of a suite, when it ran, and how busy the machine was."""
    bodies = _sections(report)
    known = find_study(name) if name in studies() else read_suite(find_suite(name))
    shown = [
        line
        for table in known.tables
        if table.title in bodies
        for line in (f"**{table.title}**", "", bodies[table.title], "")
    ]
    shown += _laws(getattr(known, "scaling", ()), bodies)
    summary = re.findall(r"^- \*\*.*?\*\*: (.*)$", bodies.get("Summary", ""), re.MULTILINE)
    records, _ = read_records(kept)
    first, last = (pick(record["started"] for record in records)[:10] for pick in (min, max))
    when = last if first == last else f"{first} to {last}"
    load = re.findall(r"^(load average.*)\.$", report, re.MULTILINE | re.IGNORECASE)
    left = _stated_left(kept)
    rest = f" **{left} solves of the command are still to be done.**" if left else ""
    busy = load[-1][0].lower() + load[-1][1:] if load else "load unknown"
    return "\n".join([*shown, *summary, "", f"Run {when}; {busy}.{rest}"])


def _laws(fits: Sequence[Any], bodies: Mapping[str, str]) -> list[str]:
    """Return the lines of one table of all fitted power laws."""
    rows = [
        f"| {fit.title} {row}"
        for fit in fits
        for title, body in bodies.items()
        if fit.title and title.startswith(f"{fit.title}: ")
        for row in body.splitlines()[2:]
        if row.startswith("|")
    ]
    head = "| | backend | exponent | 95% interval | points | range |"
    return [head, "|---|---|--:|--:|--:|--:|", *rows, ""] if rows else []


def _stated_left(kept: Path) -> int:
    """Return how many solves were left when the records were copied (the first line says so)."""
    line = json.loads(kept.read_text(encoding="utf-8").partition("\n")[0])
    if line.get("type") != "left":
        raise ParamError(
            f"{kept} does not begin with how many solves are left; kept records are written by "
            "`sparseopt bench page PAGE PART --write`, not copied from a run's folder"
        )
    return int(line["solves"])


def _sections(report: str) -> dict[str, str]:
    """Return title and body of each section of the second level."""
    pieces = (piece.partition("\n") for piece in report.split("\n## ")[1:])
    return {title.strip(): body.strip() for title, _, body in pieces}
