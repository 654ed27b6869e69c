"""Figures of a report: what a suite may ask for, and how each is drawn.

Pictures follow the page: SVG text whose colours and fonts are the page's own variables.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from sparseopt.bench.displays.fields import Table
from sparseopt.bench.displays.wording import name_of, number_text
from sparseopt.bench.records.stats import performance_profile, power_law

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

KINDS = ("line", "box", "bar", "roc")


@dataclass(frozen=True)
class Figure:
    """One picture, or one panel for each value of `panels`.

    Attributes
    ----------
    title : str
    kind : {"line", "box", "bar", "roc"}
        Means with standard errors against x, as lines or bars; boxes of y at each x; a mean curve
        of (FPR, TPR).
    x, y, series : str
    panels : tuple of str
        Columns of the data frame of records.
    source, note : str
    """

    title: str
    kind: str
    x: str = ""
    y: str = ""
    series: str = "backend"
    panels: tuple[str, ...] = ()
    log_x: bool = False
    log_y: bool = False
    source: str = ""
    note: str = ""


@dataclass(frozen=True)
class ScalingFigure:
    """How y grows with x: a power law fitted for each backend, with an interval.

    Each kind of problem is fitted by itself; `kinds` names those that are meant, if not all, and
    `tags` what the tags of the instances have to be. With `larger_half` the law is fitted to the
    larger half of the sizes only, since constant costs hide it in the smaller half.
    """

    x: str
    y: str = "time"
    title: str = ""
    kinds: tuple[str, ...] = ()
    tags: Mapping[str, Any] = field(default_factory=dict)
    larger_half: bool = False


def read_figure(table: Table) -> Figure:
    """Read one [[figures]] entry.

    Parameters
    ----------
    table : Table

    Returns
    -------
    Figure

    Raises
    ------
    ParamError
        When a key is missing, unknown or wrong.
    """
    kind = table.text("kind", "line")
    if kind not in KINDS:
        table.refuse("kind", kind, f"one of: {', '.join(KINDS)}")
    figure = Figure(
        title=table.text("title", required=True),
        kind=kind,
        x=table.text("x", required=kind != "roc"),
        y=table.text("y", required=kind != "roc"),
        series=table.text("series", "backend"),
        panels=table.texts("panels"),
        log_x=table.flag("log_x", False),
        log_y=table.flag("log_y", False),
        source=table.text("source"),
        note=table.text("note"),
    )
    table.end("title, kind, x, y, series, panels, log_x, log_y, source, note")
    return figure


def read_scaling(table: Table) -> ScalingFigure:
    """Read one [[scaling]] entry.

    Parameters
    ----------
    table : Table

    Returns
    -------
    ScalingFigure

    Raises
    ------
    ParamError
        When a key is missing, unknown or wrong.
    """
    fit = ScalingFigure(
        table.text("x", required=True),
        table.text("y", "time"),
        table.text("title"),
        table.texts("kinds"),
        table.table("tags"),
        table.flag("larger_half", False),
    )
    table.end("x, y, title, kinds, tags, larger_half")
    return fit


_FEW = 8
"""Places on an axis that are all named."""

_SHARES = ("power", "power_dense", "fdp", "ndp", "fdp_ndp", "auc", "correct")


def profile(table: pd.DataFrame, styles: Mapping[str, int], title: str) -> str:
    """Draw the performance profile of the backends.

    Parameters
    ----------
    table : DataFrame
        Of :func:`~sparseopt.bench.records.frame.frame`.
    styles : mapping of str to int
        The position of each backend's style, by its label.
    title : str

    Returns
    -------
    str
        SVG.
    """

    def draw(axes: Axes) -> None:
        curves = performance_profile(table)
        problems = table.groupby("backend")["problem"].nunique()
        ratios = [float(r[-1]) for r, _ in curves.values() if len(r)]
        end = max([2.0, *ratios]) * 1.3
        for label, (at, share) in curves.items():
            style = {**style_of(styles[label]), "marker": ""}
            x = np.concatenate([[1.0], at, [end]])
            y = np.concatenate([[0.0], share, [share[-1] if len(share) else 0.0]])
            # Shares of different problems compare in part only.
            part = problems[label] < table["problem"].nunique()
            of = f" (of {problems[label]})" if part else ""
            axes.step(x, y, where="post", label=label + of, **style)
        axes.set_xscale("log")
        axes.set_xlim(1.0, end)
        axes.set_ylim(0.0, 1.04)
        axes.set_xlabel("time over that of the fastest")
        axes.set_ylabel(f"share solved of {table['problem'].nunique()} problems")

    return drawn(draw, title)


def progress(
    records: Sequence[Mapping[str, Any]], styles: Mapping[str, int], what: str, title: str
) -> str:
    """Draw the objective with its bound, or the gap to the best known value, over time.

    Parameters
    ----------
    records : sequence
        Settled records of one problem, with traces.
    what : {"objective", "gap"}
    """

    def draw(axes: Axes) -> None:
        for record in records:
            style = {**style_of(styles[record["label"]]), "marker": ""}
            end = [record["time"], record["objective"], record["bound"]]
            rows = [*(record.get("trace") or ()), end]
            seconds = np.array([max(float(row[0]), 1e-4) for row in rows])
            values = np.array([_or_nan(row[1]) for row in rows])
            bounds = np.array([_or_nan(row[2]) for row in rows])
            if what == "gap":
                best = _or_nan(record["best"])
                gap = np.abs(values - best) / max(abs(best), 1e-10)
                proven = np.abs(values - bounds) / np.maximum(np.abs(values), 1e-10)
                axes.step(
                    seconds, np.maximum(gap, 1e-12), where="post", label=record["label"], **style
                )
                style["linestyle"] = ":"
                axes.step(seconds, np.maximum(proven, 1e-12), where="post", alpha=0.7, **style)
            else:
                axes.step(seconds, values, where="post", label=record["label"], **style)
                style["linestyle"] = ":"
                axes.step(seconds, bounds, where="post", alpha=0.7, **style)
        axes.set_xscale("log")
        axes.set_xlabel("seconds")
        if what == "gap":
            axes.set_yscale("log")
            axes.set_ylabel("gap to the best (dotted: proven)")
        else:
            axes.set_ylabel("objective (dotted: bound)")

    return drawn(draw, title)


def scaling(
    table: pd.DataFrame, fit: ScalingFigure, styles: Mapping[str, int], title: str
) -> tuple[str, list[dict[str, Any]], list[str]]:
    """Draw y against x on logarithmic axes with the fitted power laws; return them, too.

    Parameters
    ----------
    table : DataFrame
        Of :func:`~sparseopt.bench.records.frame.frame`.
    fit : ScalingFigure
    styles : mapping of str to int
        The position of each backend's style, by its label.
    title : str

    Returns
    -------
    svg : str
        "" where no backend was solved at two values of x.
    fits : list of dict
        One for each backend that has a power law.
    unfitted : list of str
        The other backends.
    """
    x, y = fit.x, fit.y
    fits: list[dict[str, Any]] = []
    unfitted: list[str] = []
    solved = table[table["solved"]].dropna(subset=[x, y])
    # Runs of one problem at one value of x are one point.
    runs = solved.astype({x: float, y: float}).groupby(["backend", "problem", x], sort=False)
    points = {
        str(label): own
        for label, own in runs[y].median().reset_index().groupby("backend", sort=False)
        if own[x].nunique() > 1
    }
    if not points:
        return "", [], []

    def draw(axes: Axes) -> None:
        for label, own in points.items():
            sizes = np.unique(own[x])
            least = sizes[len(sizes) // 2] if fit.larger_half and len(sizes) > 3 else sizes[0]
            fitted = own[own[x] >= least]
            law = power_law(fitted[x].to_numpy(), fitted[y].to_numpy())
            style = style_of(styles[label])
            axes.plot(own[x], own[y], **{**style, "linestyle": ""}, label=label)
            if law is None:
                unfitted.append(label)
                continue
            ends = np.array([fitted[x].min(), fitted[x].max()])
            axes.plot(ends, law.factor * ends**law.exponent, **{**style, "marker": ""})
            fits.append(
                {
                    "backend": label,
                    "exponent": f"{law.exponent:.2f}",
                    "interval": f"{law.low:.2f} to {law.high:.2f}",
                    "points": law.points,
                    "range": f"{number_text(ends[0])} to {number_text(ends[1])}",
                }
            )
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel(name_of(x))
        axes.set_ylabel(name_of(y))

    return drawn(draw, title), fits, unfitted


def suite_figure(table: pd.DataFrame, figure: Figure, styles: Mapping[str, int]) -> str:
    """Draw one panel of a figure that a suite asks for: lines or bars, or boxes.

    Parameters
    ----------
    table : DataFrame
        Of :mod:`sparseopt.bench.records.frame`: of solves, or of a study.
    figure : Figure
    styles : mapping of str to int
        The position of each backend's style, by its label.

    Returns
    -------
    str
        SVG.
    """
    groups = sorted(
        table.groupby(figure.series, sort=False),
        key=lambda group: styles.get(str(group[0]), len(styles)),
    )

    def draw(axes: Axes) -> None:
        ticks = sorted(table[figure.x].dropna().unique(), key=_natural)
        place = {value: k for k, value in enumerate(ticks)}
        for k, (label, own) in enumerate(groups):
            style = style_of(styles.get(str(label), k))
            if figure.kind == "box":
                width = 0.8 / len(groups)
                shift = (k - (len(groups) - 1) / 2.0) * width
                drawn_at = [v for v in ticks if (own[figure.x] == v).any()]
                data = [own.loc[own[figure.x] == v, figure.y].dropna() for v in drawn_at]
                colour = {"color": style["color"]}
                axes.boxplot(
                    data,
                    positions=[place[v] + shift for v in drawn_at],
                    widths=0.8 * width,
                    manage_ticks=False,
                    boxprops=colour,
                    whiskerprops=colour,
                    capprops=colour,
                    medianprops=colour,
                    flierprops={"markeredgecolor": style["color"], "markersize": 3.0},
                )
                axes.plot([], [], color=style["color"], label=str(label))
                continue
            by = own.groupby(figure.x)[figure.y]
            mean, error = by.mean(), by.sem().fillna(0.0)
            if figure.kind == "bar":
                width = 0.8 / len(groups)
                at = [place[v] + (k - (len(groups) - 1) / 2.0) * width for v in mean.index]
                axes.bar(at, mean, 0.9 * width, yerr=error, label=str(label), color=style["color"])
                continue
            style["linewidth"] = _width(k, len(groups))
            axes.errorbar(mean.index, mean, yerr=error, label=str(label), capsize=2.5, **style)
        if figure.kind in ("box", "bar"):
            axes.set_xticks(
                range(len(ticks)), [number_text(t) if _is_number(t) else str(t) for t in ticks]
            )
        elif figure.log_x:
            axes.set_xscale("log")
        elif len(ticks) <= _FEW and all(map(_is_number, ticks)):
            axes.set_xticks(ticks)
        if figure.log_y:
            axes.set_yscale("log")
        if figure.y in _SHARES:
            axes.set_ylim(-0.03, 1.03)
        axes.set_xlabel(name_of(figure.x))
        axes.set_ylabel(name_of(figure.y))

    return drawn(draw, f"{figure.title} {table[figure.x].iloc[0]}")


def roc_curves(records: Sequence[Mapping[str, Any]], styles: Mapping[str, int], title: str) -> str:
    """Draw the mean ROC curve of each backend, at common false positive rates.

    Parameters
    ----------
    records : sequence of mapping
        Those without the metric "roc" are left out.
    styles : mapping of str to int
        The position of each backend's style, by its label.
    title : str

    Returns
    -------
    str
        SVG.
    """
    curves: dict[str, list[Mapping[str, Any]]] = {}
    for record in records:
        if "roc" in record["metrics"]:
            curves.setdefault(record["label"], []).append(record["metrics"]["roc"])

    def draw(axes: Axes) -> None:
        end = max(max(one["fpr"]) for many in curves.values() for one in many)
        grid = np.linspace(0.0, end, 200)
        for k, label in enumerate(sorted(curves, key=lambda name: styles[name])):
            many = curves[label]
            mean = np.mean([np.interp(grid, one["fpr"], one["tpr"]) for one in many], axis=0)
            style = {**style_of(styles[label]), "marker": "", "linewidth": _width(k, len(curves))}
            axes.plot(grid, mean, label=label, **style)
        axes.set_xlabel("false positive rate")
        axes.set_ylabel("true positive rate")
        axes.set_ylim(0.0, 1.03)

    return drawn(draw, title) if curves else ""


def _width(k: int, count: int) -> float:
    """Return how wide the curve of a series is: of curves that coincide, all are to be seen."""
    return 1.6 + 1.8 * (count - 1 - k)


def _or_nan(value: Any) -> float:
    return math.nan if value is None else float(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number)


def _natural(value: Any) -> tuple[int, float, str]:
    return (0, float(value), "") if _is_number(value) else (1, 0.0, str(value))


COLOURS = tuple(f"#a0000{k}" for k in range(8))
"""Stand-ins for the page's series colours --s0 to --s7."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")
_DASHES = ("-", "--", "-.", ":")
_INK, _FAINT, _PAPER = "#101112", "#131415", "#161718"


def style_of(position: int) -> dict[str, Any]:
    """Return colour, marker and dashes of the series at a position; no two of 32 are alike.

    Parameters
    ----------
    position : int

    Returns
    -------
    dict
        Arguments of matplotlib's plot.
    """
    return {
        "color": COLOURS[position % len(COLOURS)],
        "marker": MARKERS[position % len(MARKERS)],
        "linestyle": _DASHES[position // len(COLOURS) % len(_DASHES)],
    }


def drawn(draw: Callable[[Axes], None], title: str = "") -> str:
    """Return one picture as SVG for a page.

    Parameters
    ----------
    draw : callable
        Draws on the axes that it is given.
    title : str
        For readers of the screen.
    """
    with _style(title):
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(figsize=(5.2, 3.5), layout="constrained")
        try:
            draw(axes)
            _plain_ticks(axes)
            _legend(figure, axes)
            return _themed(figure, title)
        finally:
            plt.close(figure)


@contextmanager
def _style(salt: str) -> Iterator[None]:
    import matplotlib

    matplotlib.use("Agg", force=False)
    with matplotlib.rc_context(
        {
            "svg.fonttype": "none",
            "svg.hashsalt": salt or "picture",
            "font.size": 10.0,
            "text.color": _INK,
            "axes.labelcolor": _INK,
            "axes.edgecolor": _FAINT,
            "axes.facecolor": "none",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.color": _PAPER,
            "grid.linewidth": 0.8,
            "xtick.color": _INK,
            "ytick.color": _INK,
            "lines.linewidth": 1.6,
            "lines.markersize": 4.5,
            "legend.frameon": False,
            "figure.facecolor": "none",
        }
    ):
        yield


def _plain_ticks(axes: Axes) -> None:
    """Few labels; on logarithmic axes 1, 2, 5, 10, ... where they span little, in plain numbers."""
    from matplotlib.ticker import AutoLocator, FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    for axis, scale, ends in (
        (axes.xaxis, axes.get_xscale(), axes.get_xlim()),
        (axes.yaxis, axes.get_yscale(), axes.get_ylim()),
    ):
        if scale != "log" or not ends[0] > 0.0:
            if isinstance(axis.get_major_locator(), AutoLocator):
                axis.set_major_locator(MaxNLocator(6))
            continue
        decades = abs(math.log10(ends[1] / ends[0]))
        subs = (1.0, 2.0, 5.0) if decades < 2.5 else (1.0,)
        axis.set_major_locator(LogLocator(subs=subs, numticks=9))
        axis.set_major_formatter(FuncFormatter(lambda value, _: number_text(float(value))))
        axis.set_minor_formatter(NullFormatter())


def _legend(figure: Canvas, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    if len(labels) > 1:
        columns = min(len(labels), 3 if max(map(len, labels)) < 22 else 2)
        figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=9.0)


def standalone(svg: str) -> str:
    """Return a picture of a page as a file of its own, in the light colours of the page.

    Parameters
    ----------
    svg : str

    Returns
    -------
    str
        SVG.
    """
    css = (resources.files("sparseopt.bench") / "templates" / "report.css").read_text("utf-8")
    for variable, value in re.findall(r"--(\w+): ([^;]+);", css.partition("@media")[0]):
        svg = svg.replace(f"var(--{variable})", value.replace('"', "'"))
    opening, end, rest = svg.partition(">")
    return f'{opening}{end}<rect width="100%" height="100%" fill="#ffffff"/>{rest}'


def _themed(figure: Canvas, title: str) -> str:
    stream = io.StringIO()
    figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    text = stream.getvalue()
    text = text[text.index("<svg") :]
    for stand_in, variable in (
        (_INK, "var(--ink)"),
        (_FAINT, "var(--faint)"),
        (_PAPER, "var(--line)"),
        *((colour, f"var(--s{k})") for k, colour in enumerate(COLOURS)),
    ):
        text = text.replace(stand_in, variable)
    text = re.sub(r"font: ([0-9.]+px) [^;\"]*", r"font: \1 var(--font)", text)
    # Names that every picture has would be there many times on one page.
    text = re.sub(
        r" id=\"(?:figure|axes|patch|line2d|text|xtick|ytick|matplotlib|legend|"
        r"LineCollection|FillBetweenPolyCollection|PathCollection)[^\"]*\"",
        "",
        text,
    )
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    head = text.index(">")
    opening = re.sub(r" (?:width|height)=\"[^\"]*\"", "", text[:head])
    label = title.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return f'{opening} role="img" aria-label="{label}"{text[head:]}'
