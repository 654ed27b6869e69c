"""Pictures that follow the page: SVG text whose colours and fonts are the page's own variables."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sparseopt.bench.wording import number_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["COLOURS", "MARKERS", "drawn", "style_of"]

COLOURS = tuple(f"#a0000{k}" for k in range(8))
"""Stand-ins for the page's series colours --s0 to --s7."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")
_DASHES = ("-", "--", "-.", ":")
_INK, _FAINT, _PAPER = "#101112", "#131415", "#161718"


def style_of(position: int) -> dict[str, Any]:
    """Return colour, marker and dashes of the series at a position; no two of 32 are alike."""
    return {
        "color": COLOURS[position % len(COLOURS)],
        "marker": MARKERS[position % len(MARKERS)],
        "linestyle": _DASHES[position // len(COLOURS) % len(_DASHES)],
    }


def drawn(
    draw: Callable[[Axes], None], title: str = "", size: tuple[float, float] = (5.2, 3.5)
) -> str:
    """Return one picture as SVG for a page.

    Parameters
    ----------
    draw : callable
        Draws on the axes that it is given.
    title : str
        For readers of the screen.
    size : (float, float)
        Inches.
    """
    with _style(title):
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(figsize=size, layout="constrained")
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


def _legend(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    if len(labels) > 1:
        columns = min(len(labels), 3 if max(map(len, labels)) < 22 else 2)
        figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=9.0)


def _themed(figure: Figure, title: str) -> str:
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
