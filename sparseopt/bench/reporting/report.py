"""The report of a run: one HTML file that needs nothing else, and the same in Markdown."""

from __future__ import annotations

import json
import math
import re
import shutil
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparseopt.bench.definitions.study import Study, find_study
from sparseopt.bench.definitions.suite import Suite, read_suite
from sparseopt.bench.displays import figures
from sparseopt.bench.displays.tables import TIMES, laid_out
from sparseopt.bench.displays.wording import bytes_text, count_text, number_text, seconds_text
from sparseopt.bench.records.files import SolveOutcome, read_records
from sparseopt.bench.records.frame import frame, settled, unit_frame
from sparseopt.bench.records.stats import by_problem, median_ratio, shifted_geometric_mean
from sparseopt.bench.running.run import RECORDS, SUITE
from sparseopt.errors import ParamError

if TYPE_CHECKING:
    import pandas as pd

    from sparseopt.bench.displays.figures import Figure


@dataclass(frozen=True)
class BackendSummary:
    """One backend over the problems of a family.

    Attributes
    ----------
    shares : tuple of (outcome, percent)
        Of the solves that it attempted.
    mean : float
        Shifted geometric mean of the charged times, in seconds.
    """

    backend: str
    attempted: int
    solved: int
    correct: int
    proven: int
    wrong: int
    other: str
    shares: tuple[tuple[str, float], ...]
    mean: float
    fastest: int
    excess: float
    violation: float
    memory: float

    @property
    def mean_text(self) -> str:
        """The mean for a reader."""
        return seconds_text(self.mean)

    @property
    def excess_text(self) -> str:
        """The largest distance from the best for a reader."""
        return number_text(self.excess, 2)

    @property
    def violation_text(self) -> str:
        """The largest violation for a reader."""
        return number_text(self.violation, 2)

    @property
    def memory_text(self) -> str:
        """The largest memory for a reader."""
        return "-" if math.isnan(self.memory) else bytes_text(self.memory)


@dataclass(frozen=True)
class FamilySummary:
    """The backends over one family of problems."""

    name: str
    problems: int
    shift: float
    lines: tuple[BackendSummary, ...]
    sentence: str


def families(table: pd.DataFrame) -> list[FamilySummary]:
    """Sum up every family of problems; backends are ordered by correct answers, then by time.

    Parameters
    ----------
    table : DataFrame
        Of :func:`~sparseopt.bench.records.frame.frame`.

    Returns
    -------
    list of FamilySummary
    """
    out = []
    known = table[table["family"].notna()]
    for name, own in known.groupby("family", sort=False):
        shift = float(own["time_limit"].max()) / 1000.0
        solved = by_problem(own[own["attempted"]]).query("solved")
        fastest = solved.loc[solved.groupby("problem")["time"].idxmin(), "backend"]
        wins = fastest.value_counts()
        tried = own[own["attempted"]]
        lines = [
            _line(str(label), group, shift, int(wins.get(label, 0)))
            for label, group in tried.groupby("backend", sort=False)
        ]
        lines.sort(key=_rank)
        if lines:
            out.append(
                FamilySummary(
                    str(name), own["problem"].nunique(), shift, tuple(lines), _sentence(own, lines)
                )
            )
    return out


def _rank(line: BackendSummary) -> tuple[float, float, int, float]:
    """Order by the best values found, then by proofs, then by time."""
    tried = line.attempted
    return (-line.correct / tried, -line.proven / tried, -tried, line.mean)


def _line(label: str, group: pd.DataFrame, shift: float, fastest: int) -> BackendSummary:
    counts = group["outcome"].value_counts()
    shown = ("ok", "wrong")
    other = ", ".join(f"{counts[o]} {o}" for o in SolveOutcome if o in counts and o not in shown)
    shares = tuple((o.value, 100.0 * counts[o] / len(group)) for o in SolveOutcome if o in counts)
    return BackendSummary(
        backend=label,
        attempted=len(group),
        solved=int(group["solved"].sum()),
        correct=int(group["correct"].sum()),
        proven=int(group["proven"].sum()),
        wrong=int(counts.get("wrong", 0)),
        other=other,
        shares=shares,
        mean=shifted_geometric_mean(group["charged"].to_numpy(dtype=float), shift),
        fastest=fastest,
        excess=float(group["excess"].max()),
        violation=float(group["violation"].max()),
        memory=float(group["memory_used"].max()),
    )


def _sentence(own: pd.DataFrame, lines: Sequence[BackendSummary]) -> str:
    """Return who leads, and how it compares with the next, in a form that can be quoted."""
    first = lines[0]
    problems = count_text(own["problem"].nunique(), "problem")
    text = (
        f"On {problems}, {first.backend} finds the best value in {first.correct} of "
        f"{count_text(first.attempted, 'solve')} and proves it in {first.proven}, in "
        f"{first.mean_text} on average"
    )
    rivals = [line for line in lines[1:] if line.correct]
    if not rivals:
        return text + "."
    times = by_problem(own[own["attempted"]]).query("solved and time > 0")
    solved = times.pivot(index="problem", columns="backend", values="time")
    parts = []
    for rival in rivals[:3]:
        pairs = solved.reindex(columns=[first.backend, rival.backend]).dropna()
        if not len(pairs):
            continue
        ratio = median_ratio(pairs[rival.backend], pairs[first.backend])
        interval = (
            f", 95% interval {number_text(ratio.low)} to {number_text(ratio.high)}"
            if math.isfinite(ratio.high)
            else ""
        )
        parts.append(
            f"{rival.backend} takes {number_text(ratio.median)} times its time "
            f"(median of {count_text(ratio.pairs, 'problem')}{interval})"
        )
    return "; ".join([text, *parts]) + "."


def problems_of(records: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the records with a course to draw, by problem.

    Parameters
    ----------
    records : sequence of mapping

    Returns
    -------
    dict of str to list of mapping
    """
    out: dict[str, list[Mapping[str, Any]]] = {}
    for record in records:
        if record.get("objective") is not None and record.get("time"):
            out.setdefault(record["instance"]["name"], []).append(record)
    # Records that are kept beside a page have no traces.
    known = {name: [len(r.get("trace", ())) for r in many] for name, many in out.items()}
    return {name: many for name, many in out.items() if max(known[name]) > 2}


def troubles(table: pd.DataFrame) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return what went wrong, solve by solve, and who could not try, with how often and why.

    Parameters
    ----------
    table : DataFrame
        Of :func:`~sparseopt.bench.records.frame.frame`.

    Returns
    -------
    failed : list of dict
    left_out : list of dict
    """
    bad = table[table["attempted"] & ~table["solved"]]
    rows = [
        {
            "backend": row["backend"],
            "problem": f"{row['problem']} {row['run']}".strip(),
            "outcome": row["outcome"],
            "message": str(row["message"])[:300],
        }
        for row in bad.to_dict("records")
    ]
    left_out = []
    for (label, outcome), group in table[~table["attempted"]].groupby(
        ["backend", "outcome"], sort=False
    ):
        left_out.append(
            {
                "backend": label,
                "outcome": outcome,
                "count": len(group),
                "message": str(group["message"].iloc[0])[:300],
            }
        )
    return rows, left_out


_COURSES = 6
_EMPTY: Mapping[str, Any] = dict.fromkeys(
    ("families", "tables", "figures", "courses", "scaling", "troubles", "left_out", "details"), ()
) | {"profiles": {}, "details_left": 0}
_WORDS = {
    "bytes_text": bytes_text,
    "count_text": count_text,
    "seconds_text": seconds_text,
    "number_text": number_text,
}
_DETAILS = 2000


def write_report(folder: Path, html: Path, images: Path | None = None) -> list[str]:
    """Write the report of the run in a folder, as HTML and, beside it, as Markdown.

    Parameters
    ----------
    folder : path
        Of the run; only its records and its copy of the suite are read.
    html : path
        Ends in .html; the Markdown gets the same name with .md.
    images : path, optional
        A folder for the report's figures as SVG files, and for the pictures that a study made.

    Returns
    -------
    list of str
        The sentences of the summary.

    Raises
    ------
    ParamError
        When there are no records, or jinja2, matplotlib or pandas are not installed.
    """
    records, known = _known(folder, pictures=True)
    for name, target in (("report.html", html), ("report.md", html.with_suffix(".md"))):
        part = target.with_name(f"{target.name}.part")
        part.write_text(_rendered(name, known), encoding="utf-8")
        part.replace(target)
    if images is not None:
        _write_images(images, known, folder, records)
    return [family.sentence for family in known["families"]]


def markdown_report(folder: Path) -> str:
    """Return the report of the run in a folder in Markdown; no picture is drawn.

    Parameters
    ----------
    folder : path
        Of the run; only its records and its copy of the suite are read.

    Returns
    -------
    str

    Raises
    ------
    ParamError
        As by :func:`write_report`.
    """
    return _rendered("report.md", _known(folder, pictures=False)[1])


def _known(folder: Path, pictures: bool) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the records of a run, and everything that the templates show."""
    records, environments = read_records(folder / RECORDS)
    if not records:
        raise ParamError(f"{folder} has no finished solves; run the suite first")
    try:
        import jinja2  # noqa: F401
        import matplotlib  # noqa: F401
        import pandas  # noqa: F401
    except ImportError as error:
        raise ParamError(f"a report needs {error.name}: pip install 'sparseopt[bench]'") from error
    if records[0]["type"] == "unit":
        known = _study_context(records, find_study(records[0]["study"]), pictures)
    else:
        suite = read_suite(folder / SUITE) if (folder / SUITE).is_file() else None
        if suite is not None:
            records = _ordered(records, suite)
        known = _context(records, list(environments.values()), suite, pictures)
    common = {
        "environments": list(environments.values()),
        "load": _load(records),
        "busy": _busy(records, environments),
    }
    return records, {**_EMPTY, **common, **_WORDS, **known}


def _rendered(name: str, known: Mapping[str, Any]) -> str:
    import jinja2

    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("sparseopt.bench", "templates"),
        autoescape=lambda name: name is not None and name.startswith("report.html"),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return templates.get_template(f"{name}.j2").render(known)


def _write_images(
    images: Path, known: Mapping[str, Any], folder: Path, records: Sequence[Mapping[str, Any]]
) -> None:
    images.mkdir(parents=True, exist_ok=True)
    panels = [(f"{f['title']} {name}", svg) for f in known["figures"] for name, svg in f["panels"]]
    panels += [(part["title"], part["picture"]) for part in known["scaling"]]
    for title, svg in panels:
        name = re.sub(r"[^a-z0-9]+", "-", f"{known['name']} {title}".lower()).strip("-")
        (images / f"{name}.svg").write_text(figures.standalone(svg), encoding="utf-8")
    for record in records:
        for name in record.get("files", ()):
            shutil.copy(folder / "answers" / record["key"] / name, images / name)


def _study_context(
    records: Sequence[Mapping[str, Any]], study: Study, pictures: bool
) -> dict[str, Any]:
    """Return what the templates show of a study; the rest is empty."""
    table = unit_frame(records)
    # A colour belongs to one series for the whole report.
    labels = dict.fromkeys(str(v) for f in study.figures for v in table.get(f.series, ()))
    styles = {label: k for k, label in enumerate(labels)}
    bad = [record for record in records if record["outcome"] != SolveOutcome.OK]
    return {
        "name": study.name,
        "title": study.title,
        "description": study.description,
        "facts": [
            (str(len(records)), _noun(len(records), "unit")),
            (str(len(table)), _noun(len(table), "measurement")),
            (str(len(bad)), "not ok"),
            (seconds_text(sum(record["time"] or 0.0 for record in records)), "altogether"),
            (str(max(record["started"] for record in records))[:10], "last unit"),
        ],
        "tables": [laid_out(table, spec) for spec in study.tables],
        "figures": [_figure(table, [], each, styles) for each in study.figures if pictures],
        "troubles": [
            {
                "backend": record["label"],
                "problem": record["instance"]["name"],
                "outcome": record["outcome"],
                "message": record["message"][:300],
            }
            for record in bad
        ],
    }


def _ordered(records: Sequence[dict[str, Any]], suite: Suite) -> list[dict[str, Any]]:
    """Return the records as the suite names their instances, in whatever order they were made."""
    places: dict[str, int] = {}
    for k, entry in enumerate(suite.instances):
        places.setdefault(json.dumps(entry.tags, sort_keys=True), k)

    def place(record: Mapping[str, Any]) -> int:
        return places.get(json.dumps(record["instance"]["tags"], sort_keys=True), len(places))

    return sorted(records, key=place)


def _context(
    records: Sequence[Mapping[str, Any]],
    environments: Sequence[Mapping[str, Any]],
    suite: Suite | None,
    pictures: bool,
) -> dict[str, Any]:
    """Return what the templates show of a suite."""
    table = frame(records)
    compared = settled(records)
    # Suites order their backends; a colour belongs to one for the whole report.
    labels = list(
        dict.fromkeys(
            [*(b.label for b in suite.backends), *table["backend"]] if suite else table["backend"]
        )
    )
    labels = [label for label in labels if (table["backend"] == label).any()]
    styles = {label: k for k, label in enumerate(labels)}
    # The copy of the suite is called suite.toml; the records have its name.
    name = next((str(e["suite"]) for e in environments if "suite" in e), "comparison")
    found = families(table)
    bad, left_out = troubles(table)
    return {
        "name": name,
        "title": (suite.title or name) if suite else "A comparison of backends",
        "description": suite.description if suite else "",
        "facts": _facts(table, records),
        "families": found,
        "profiles": _profiles(table, styles, [f.name for f in found]) if pictures else {},
        "courses": _courses(compared, styles) if pictures else (),
        "scaling": _scaling(table, suite, styles),
        "tables": [laid_out(table, spec) for spec in suite.tables] if suite else [],
        "figures": [
            _figure(table, compared, figure, styles)
            for figure in (suite.figures if suite and pictures else ())
        ],
        "troubles": bad,
        "left_out": left_out,
        "details": _details(table),
        "details_left": max(0, len(table) - _DETAILS),
    }


def _facts(table: pd.DataFrame, records: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    tried = table[table["attempted"]]
    limits = records[0]["limits"]
    problems, backends = table["problem"].nunique(), table["backend"].nunique()
    return [
        (str(len(table)), _noun(len(table), "solve")),
        (str(problems), _noun(problems, "problem")),
        (str(backends), _noun(backends, "backend")),
        (f"{int(tried['correct'].sum())} of {len(tried)}", "best value found"),
        (str(int((tried["outcome"] == "wrong").sum())), "wrong"),
        (seconds_text(limits["time"]), "limit of one solve"),
        (str(limits["threads"]), _noun(limits["threads"], "thread") + " each"),
        (str(table["started"].max())[:10], "last solve"),
    ]


def _noun(count: int, one: str) -> str:
    return count_text(count, one).partition(" ")[2]


def _profiles(
    table: pd.DataFrame, styles: Mapping[str, int], names: Sequence[str]
) -> dict[str, str]:
    """Return the profile of each family that two backends or more took on."""
    out = {}
    for name in names:
        own = table[(table["family"] == name) & table["attempted"]]
        if own["backend"].nunique() > 1 and own["solved"].any():
            out[name] = figures.profile(own, styles, f"Performance profile, {name}")
    return out


def _courses(
    records: Sequence[Mapping[str, Any]], styles: Mapping[str, int]
) -> list[dict[str, str]]:
    """Return objective and gap over time of the problems that took longest."""
    found = problems_of(records)
    longest = sorted(found, key=lambda name: -max(float(r["time"]) for r in found[name]))
    return [
        {
            "name": name,
            "objective": figures.progress(found[name], styles, "objective", f"Objective, {name}"),
            "gap": figures.progress(found[name], styles, "gap", f"Gap, {name}"),
        }
        for name in longest[:_COURSES]
    ]


def _scaling(
    table: pd.DataFrame, suite: Suite | None, styles: Mapping[str, int]
) -> list[dict[str, Any]]:
    out = []
    for fit in suite.scaling if suite else ():
        if fit.x not in table.columns or fit.y not in table.columns:
            continue
        chosen = table
        for tag, value in fit.tags.items():
            chosen = chosen[chosen[tag] == value] if tag in chosen.columns else chosen[:0]
        # Sizes of different families have nothing to do with each other.
        for kind, own in chosen.groupby("kind", sort=False):
            if own[fit.x].nunique() < 2 or (fit.kinds and kind not in fit.kinds):
                continue
            title = f"{fit.title or f'{fit.y} against {fit.x}'}: {kind}"
            picture, fits, unfitted = figures.scaling(own, fit, styles, title)
            if picture:
                part = {"title": title, "picture": picture, "fits": fits, "x": fit.x}
                out.append({**part, "unfitted": ", ".join(unfitted)})
    return out


def _figure(
    table: pd.DataFrame,
    records: Sequence[Mapping[str, Any]],
    figure: Figure,
    styles: Mapping[str, int],
) -> dict[str, Any]:
    """Return one figure of the suite: its panels, or why there are none."""
    panels = []
    solved = table[table["solved" if figure.y in TIMES else "answered"]]
    if figure.panels and set(figure.panels) <= set(solved.columns):
        parts = [
            (", ".join(f"{n} = {v}" for n, v in zip(figure.panels, values, strict=True)), own)
            for values, own in solved.groupby(list(figure.panels), sort=False)
        ]
    else:
        parts = [("", solved)]
    for name, own in parts:
        if figure.kind == "roc":
            keys = set(own["key"])
            chosen = [record for record in records if record["key"] in keys]
            picture = figures.roc_curves(chosen, styles, f"{figure.title} {name}")
        elif {figure.x, figure.y, figure.series} <= set(own.columns) and own[
            figure.y
        ].notna().any():
            picture = figures.suite_figure(own.dropna(subset=[figure.x, figure.y]), figure, styles)
        else:
            picture = ""
        if picture:
            panels.append((name, picture))
    return {"title": figure.title, "source": figure.source, "note": figure.note, "panels": panels}


def _details(table: pd.DataFrame) -> list[dict[str, str]]:
    return [
        {
            "problem": f"{row['problem']} {row['run']}".strip(),
            "backend": row["backend"],
            "outcome": row["outcome"],
            "status": row["status"] or "",
            "verdict": row["verdict"] or "",
            "objective": number_text(row["objective"], 8),
            "gap": number_text(row["gap"], 2),
            "violation": number_text(row["violation"], 2),
            "time": seconds_text(row["time"]),
            "warm_up": seconds_text(row["warm_up_time"]),
            "check": seconds_text(row["check_time"]),
            "memory": "-" if math.isnan(row["peak_memory"]) else bytes_text(row["peak_memory"]),
        }
        for row in _rows(table.head(_DETAILS))
    ]


def _rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(key): value for key, value in row.items()} for row in table.to_dict("records")]


def _load(records: Sequence[Mapping[str, Any]]) -> str:
    """Return how busy the machine was, since times depend on it."""
    seen = sorted(float(record["load"]) for record in records if record.get("load") is not None)
    if not seen:
        return ""
    return (
        f"load average {number_text(statistics.median(seen))} (median over solves, "
        f"{number_text(seen[0])} to {number_text(seen[-1])})"
    )


def _busy(
    records: Sequence[Mapping[str, Any]], environments: Mapping[str, Mapping[str, Any]]
) -> str:
    """Return a warning where more processes wanted to run than the machine has cores."""
    shares = [
        float(record["load"]) / float(environments[record["environment"]]["cores"])
        for record in records
        if record.get("load") is not None
        and environments.get(record.get("environment", ""), {}).get("cores")
    ]
    late = sum(share > 1.0 for share in shares)
    if 2 * late <= len(shares):
        return ""
    return (
        f"The machine was overloaded during {late} of {count_text(len(shares), 'solve')} (load "
        "average above the number of cores): wall times are too long, and ratios of times are "
        "not to be trusted."
    )
