"""Small pictures as SVG text for cards in notebooks: no library, a few kilobytes."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

import numpy as np

_WIDTH, _HEIGHT, _MARGIN = 360.0, 150.0, 12.0
_ROW, _NAMES, _LETTERS = 15.0, 110.0, 16
"""Height of a bar with its gap, what is left of the bars for names, and letters of a name."""
_COLOURS = ("#1f86cc", "#d55e00", "#009e73", "#c76ba0", "#a67c00", "#8a6fd1", "#7f7f7f")
"""After Okabe and Ito; all have a contrast of 3.4 or more with white and with a dark page."""
_BINS, _POINTS = 36, 200
"""Of a histogram, and those that are drawn of many."""
_NEAR = 20.0
"""A range of the parameter that is wider than this factor is drawn by its logarithm."""


def curves(x: Any, values: Mapping[str, Any], axis: str) -> str:
    """Draw functions of a parameter, each with its name where the pointer rests.

    Parameters
    ----------
    x : array of shape (n,)
        Values of the parameter, in the order in which they are drawn from left to right; a wide
        range of positive ones is drawn by logarithms, up to the last that is positive.
    values : mapping of str to array of shape (n,)
    axis : str
        The name of the parameter.

    Returns
    -------
    str
        An SVG element; empty where there are fewer than two points.
    """
    x = np.asarray(x, dtype=float)
    table = np.array([np.asarray(value, dtype=float) for value in values.values()]).reshape(
        len(values), len(x)
    )
    kept = np.isfinite(x) & np.isfinite(table).all(axis=0)
    positive = kept & (x > 0.0)
    if positive.any() and x[positive].max() > _NEAR * x[positive].min():
        place, kept, scale = np.log(np.where(positive, x, 1.0)), positive, ", by its logarithm"
    else:
        place, scale = x, ""
    place, table, x = place[kept], table[:, kept], x[kept]
    if not table.size or np.ptp(place) == 0.0:
        return ""
    across = _MARGIN + (_WIDTH - 2.0 * _MARGIN) * (place - place[0]) / (place[-1] - place[0])
    low, high = min(0.0, table.min()), max(0.0, table.max())
    unit = (_HEIGHT - 2.0 * _MARGIN - 10.0) / ((high - low) or 1.0)
    lines = [_line(across, np.zeros(len(across)), low, unit, "zero", "currentColor", 0.4)]
    lines += [
        _line(across, row, low, unit, name, _COLOURS[k % len(_COLOURS)], 1.4)
        for k, (name, row) in enumerate(zip(values, table, strict=True))
    ]
    label = f"{axis} {x[0]:.3g} to {x[-1]:.3g}{scale}"
    return _framed(_HEIGHT, [*lines, _text(_MARGIN, _HEIGHT - 3.0, label)])


def _line(
    across: Any, values: Any, low: float, unit: float, name: str, colour: str, width: float
) -> str:
    up = _HEIGHT - _MARGIN - 10.0 - unit * (values - low)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, up, strict=True))
    return (
        f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{width}">'
        f"<title>{html.escape(name)}</title></polyline>"
    )


def bars(values: Mapping[str, float], mark: float | None = None) -> str:
    """Draw numbers as bars to both sides of zero, with their names.

    Parameters
    ----------
    values : mapping of str to float
    mark : float, optional
        Where a line crosses the bars.

    Returns
    -------
    str
        An SVG element; empty where there is nothing but zeros.
    """
    sizes = np.array(list(values.values()), dtype=float)
    if not sizes.any() or not np.isfinite(sizes).all():
        return ""
    low, high = min(0.0, sizes.min(), mark or 0.0), max(0.0, sizes.max(), mark or 0.0)
    unit = (_WIDTH - _NAMES - _MARGIN) / (high - low)
    zero = _NAMES - unit * low
    drawn = []
    for k, (name, value) in enumerate(values.items()):
        top = _MARGIN + _ROW * k
        left, long = zero + unit * min(value, 0.0), unit * abs(value)
        drawn.append(_text(2.0, top + 9.0, _short(name)))
        drawn.append(
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{long:.1f}" height="{_ROW - 4.0}" '
            f'fill="{_COLOURS[value < 0.0]}"><title>{html.escape(name)}: {value:.6g}</title></rect>'
        )
    height = 2.0 * _MARGIN + _ROW * len(values)
    if mark is not None:
        drawn.append(_upright(zero + unit * mark, height - _MARGIN, f"{mark:.6g}", "currentColor"))
    return _framed(height, drawn)


def _short(name: str) -> str:
    """Return a name as there is room for it; of a pair, as edges have, the beginnings of both."""
    if len(name) <= _LETTERS:
        return name
    parts = name.split(",")
    if len(parts) == 2:
        return ", ".join(f"{part.strip():.{_LETTERS // 2 - 1}}" for part in parts)
    return f"{name[: _LETTERS - 1]}…"


def histogram(values: Any, marks: Mapping[str, float], axis: str) -> str:
    """Draw how often numbers occur, with some values marked by lines.

    Parameters
    ----------
    values : array of shape (n,)
    marks : mapping of str to float
    axis : str
        What the numbers are.

    Returns
    -------
    str
        An SVG element; empty where there are no different finite numbers.
    """
    values = np.asarray(values, dtype=float)
    marked = {name: mark for name, mark in marks.items() if np.isfinite(mark)}
    ends = [*values[np.isfinite(values)], *marked.values()]
    if not len(values) or not np.isfinite(values).all() or min(ends) == max(ends):
        return ""
    counts, edges = np.histogram(values, bins=_BINS, range=(min(ends), max(ends)))
    across = _MARGIN + (_WIDTH - 2.0 * _MARGIN) * np.linspace(0.0, 1.0, _BINS + 1)
    floor = _HEIGHT - _MARGIN - 10.0
    drawn = [
        f'<rect x="{left:.1f}" y="{floor - up:.1f}" width="{across[1] - across[0] - 1.0:.1f}" '
        f'height="{up:.1f}" fill="{_COLOURS[-1]}"/>'
        for left, up in zip(across, (floor - _MARGIN) * counts / counts.max(), strict=False)
        if up > 0.0
    ]
    for k, (name, mark) in enumerate(marked.items()):
        share = (mark - edges[0]) / (edges[-1] - edges[0])
        place = across[0] + share * (across[-1] - across[0])
        drawn.append(_upright(place, floor, f"{name}: {mark:.6g}", _COLOURS[k]))
    label = f"{axis}; " + ", ".join(f"{name} {mark:.3g}" for name, mark in marked.items())
    return _framed(_HEIGHT, [*drawn, _text(_MARGIN, _HEIGHT - 3.0, label)])


def scatter(across: Any, up: Any, groups: Any, axis: str) -> str:
    """Draw points, of many of them some that are evenly spaced.

    Parameters
    ----------
    across, up : arrays of shape (n,)
    groups : int array of shape (n,)
        Those of one number have one colour.
    axis : str
        What the two coordinates are.

    Returns
    -------
    str
        An SVG element; empty where all points are in one place.
    """
    shown = np.unique(np.linspace(0, len(across) - 1, _POINTS).astype(int))
    points = np.column_stack([across, up])[shown].astype(float)
    if not np.isfinite(points).all() or not np.ptp(points, axis=0).any():
        return ""
    room = np.array([_WIDTH - 2.0 * _MARGIN, _HEIGHT - 2.0 * _MARGIN - 10.0])
    spread = np.ptp(points, axis=0)
    shares = (points - points.min(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    places = _MARGIN + room * np.abs([0.0, 1.0] - shares)
    drawn = [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" fill="{_COLOURS[group % len(_COLOURS)]}"/>'
        for (x, y), group in zip(places, np.asarray(groups, dtype=int)[shown], strict=True)
    ]
    return _framed(_HEIGHT, [*drawn, _text(_MARGIN, _HEIGHT - 3.0, axis)])


def _upright(across: float, floor: float, name: str, colour: str) -> str:
    return (
        f'<line x1="{across:.1f}" x2="{across:.1f}" y1="{_MARGIN - 4.0}" y2="{floor:.1f}" '
        f'stroke="{colour}" stroke-width="1.4"><title>{html.escape(name)}</title></line>'
    )


def _text(left: float, bottom: float, words: str) -> str:
    return (
        f'<text x="{left:.1f}" y="{bottom:.1f}" font-size="10" fill="currentColor">'
        f"{html.escape(words)}</text>"
    )


def _framed(height: float, drawn: list[str]) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH:.0f} {height:.0f}" width="{_WIDTH:.0f}" '
        f'height="{height:.0f}" font-family="sans-serif">{"".join(drawn)}</svg>'
    )
