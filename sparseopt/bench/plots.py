"""The pictures of a report, from the data frame of records and the records' traces."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sparseopt.bench.drawing import drawn, style_of
from sparseopt.bench.pictures import Figure
from sparseopt.bench.stats import performance_profile, power_law
from sparseopt.bench.wording import number_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["profile", "progress", "roc_curves", "scaling", "suite_figure"]

NAMES: Mapping[str, str] = {
    "time": "time (s)",
    "cpu_time": "processor time (s)",
    "peak_memory": "memory (bytes)",
    "memory_used": "memory beyond the data (bytes)",
    "excess": "relative distance from the best",
    "power": "testing power",
    "power_dense": "testing power, all variables",
    "fdp": "FDP",
    "ndp": "NDP",
    "fdp_ndp": "mean of FDP and NDP",
    "error": "squared error",
    "knots": "knots",
    "iterations": "iterations",
    "objective": "objective",
    "max_violation": "largest violation",
    "min_violation": "smallest violation",
    "auc": "area under the ROC curve",
}
"""What columns of the data frame are called for a reader."""

_FEW = 8
"""Places on an axis that are all named."""

_SHARES = ("power", "power_dense", "fdp", "ndp", "fdp_ndp", "auc", "correct")


def name_of(column: str) -> str:
    """Return what a column of the frame is called for a reader."""
    return NAMES.get(column, column)


def profile(table: pd.DataFrame, styles: Mapping[str, int], title: str) -> str:
    """Draw the performance profile of the backends."""

    def draw(axes: Axes) -> None:
        curves = performance_profile(table)
        ratios = [float(r[-1]) for r, _ in curves.values() if len(r)]
        end = max([2.0, *ratios]) * 1.3
        for label, (at, share) in curves.items():
            style = {**style_of(styles[label]), "marker": ""}
            x = np.concatenate([[1.0], at, [end]])
            y = np.concatenate([[0.0], share, [share[-1] if len(share) else 0.0]])
            axes.step(x, y, where="post", label=label, **style)
        axes.set_xscale("log")
        axes.set_xlim(1.0, end)
        axes.set_ylim(0.0, 1.04)
        axes.set_xlabel("time over that of the fastest")
        axes.set_ylabel("share of problems solved")

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
                best = float(record["best"])
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
    table: pd.DataFrame, x: str, y: str, styles: Mapping[str, int], title: str
) -> tuple[str, list[dict[str, Any]]]:
    """Draw y against x on logarithmic axes with the fitted power laws; return them, too."""
    fits: list[dict[str, Any]] = []
    points = {
        str(label): own[[x, y]].dropna().astype(float)
        for label, own in table[table["solved"]].groupby("backend", sort=False)
    }

    def draw(axes: Axes) -> None:
        for label, own in points.items():
            law = power_law(own[x].to_numpy(), own[y].to_numpy())
            if law is None:
                continue
            style = style_of(styles[label])
            axes.plot(own[x], own[y], **{**style, "linestyle": ""}, label=label)
            ends = np.array([own[x].min(), own[x].max()])
            axes.plot(ends, law.factor * ends**law.exponent, **{**style, "marker": ""})
            interval = (
                f"{law.low:.2f} to {law.high:.2f}" if math.isfinite(law.low) else "too few points"
            )
            fits.append(
                {
                    "backend": label,
                    "exponent": f"{law.exponent:.2f}",
                    "interval": interval,
                    "points": law.points,
                    "range": f"{number_text(ends[0])} to {number_text(ends[1])}",
                }
            )
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel(name_of(x))
        axes.set_ylabel(name_of(y))

    picture = drawn(draw, title)
    return (picture, fits) if fits else ("", [])


def suite_figure(table: pd.DataFrame, figure: Figure, styles: Mapping[str, int]) -> str:
    """Draw one panel of a figure that a suite asks for: lines with standard errors, or boxes."""
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
            style["linewidth"] = _width(k, len(groups))
            axes.errorbar(mean.index, mean, yerr=error, label=str(label), capsize=2.5, **style)
        if figure.kind == "box":
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
    """Draw the mean ROC curve of each backend, at common false positive rates."""
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
