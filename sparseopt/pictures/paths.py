"""Pictures of solution paths (needs matplotlib: ``pip install 'sparseopt[plot]'``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sparseopt.errors import ParamError
from sparseopt.names import intercept_in
from sparseopt.paths.base import PathResult
from sparseopt.paths.columns import ColumnwisePath
from sparseopt.paths.integer import IntegerPath
from sparseopt.paths.l1_bound import L1BoundPath
from sparseopt.paths.parametric import GridPath, ParametricPath
from sparseopt.paths.quantiles import QuantilePath
from sparseopt.pictures.curves import (
    Curves,
    Scale,
    column_curves,
    exact_curves,
    fitting_scale,
    grid_curves,
)
from sparseopt.pictures.style import axes, palette, require_matplotlib
from sparseopt.problems.base import Array
from sparseopt.verbs import refuse_unknown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INTEGERS = {"budget": "budget K", "size": "nonzeros d"}
_MARKED = 40
"""A path over at most so many integers gets a marker for each."""
_CLOSED = 1e-6
"""Relative gaps up to here count as proven: the default of ``rel_gap``."""


def plot_path(
    path: PathResult,
    ax: Axes | None = None,
    *,
    x: Scale | Literal["auto"] = "auto",
    max_labels: int = 8,
    exclude: Sequence[str] | None = None,
    linewidth: float = 1.4,
) -> Axes:
    r"""Draw the coefficients of a path against the parameter.

    The model grows from left to right: lam *decreases* to the right, the l1 norm increases. The
    path of a parametric problem is drawn exactly: a line between consecutive knots, a vertical
    step where a coefficient jumps, with both one-sided values at its ends; on the "log" scale
    the pieces, which are affine in lam, are curved. The solutions on a grid are drawn as markers,
    since nothing is known between them. The axis at the top counts the nonzero coefficients. The
    largest ones at the end of the path are coloured and named, the others are grey, and
    coefficients that are zero all along are not drawn.

    Parameters
    ----------
    path : ParametricPath or GridPath
    ax : matplotlib Axes, optional
        Where to draw. Default: the only axes of a new pyplot figure.
    x : {"lam", "log", "l1norm", "auto"}, default "auto"
        The horizontal axis: lam; lam on a logarithmic scale (a path that reaches lam = 0 is then
        cut at half of its last positive knot); :math:`\|\theta(\lambda)\|_1`; or the one of
        them on which the path is not squeezed against its end.
    max_labels : int, default 8
        At most so many coefficients are named; fewer where there is no room.
    exclude : sequence of str, optional
        Names of coefficients that are neither drawn, nor counted, nor part of the l1 norm. Default:
        that of the intercept.
    linewidth : float, default 1.4
        In points.

    Returns
    -------
    matplotlib Axes
        Nothing is shown or saved: that is the caller's choice.

    Raises
    ------
    ParamError
        When an argument is unknown, or lam = 0 alone meets the logarithmic scale.
    BackendUnavailable
        When matplotlib is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from sparseopt.paths.parametric import GridPath
    >>> path = GridPath(
    ...     knots=np.array([2.0, 1.0]),
    ...     theta=np.array([[0.0, 1.0], [0.5, 2.0]]),
    ...     nu=np.zeros((2, 2)),
    ...     values=np.zeros(2),
    ...     bounds=np.zeros(2),
    ...     names=["age", "bmi"],
    ...     stopped_by="grid",
    ... )
    >>> ax = plot_path(path, Figure().add_subplot())
    >>> [text.get_text() for text in ax.texts]
    ['age', 'bmi']
    """
    if x not in ("lam", "log", "l1norm", "auto"):
        raise ParamError(f"x is {x!r}; expected 'lam', 'log', 'l1norm' or 'auto'")
    if max_labels < 0:
        raise ParamError(f"max_labels must be an integer >= 0, got {max_labels!r}")
    if not isinstance(path, ParametricPath | GridPath):
        raise ParamError(f"a path of lam can be drawn, got {type(path).__name__}")
    require_matplotlib()
    names = list(path.names)
    left_out = [intercept_in(names)] if exclude is None else list(exclude)
    shown = ~np.isin(names, left_out) if left_out else np.ones(len(names), bool)
    if x == "auto":
        x = fitting_scale(path, shown)
    if isinstance(path, ParametricPath):
        curves = exact_curves(path, shown, x)
    else:
        curves = grid_curves(path, shown, x)
    return _picture(axes(ax), curves, x, names, shown, max_labels, linewidth)


def _picture(
    ax: Axes,
    curves: Curves,
    x: Scale,
    names: Sequence[str],
    shown: Array,
    max_labels: int,
    linewidth: float,
) -> Axes:
    """Draw curves with the largest ones named."""
    _set_axes(ax, curves, x)
    candidates = np.flatnonzero((curves.final != 0.0) & shown)
    order = candidates[np.argsort(-np.abs(curves.final[candidates]), kind="stable")]
    named = order[: min(max_labels, _room(ax))]
    series = palette(ax).series
    colour = {int(j): series[i % len(series)] for i, j in enumerate(named)}
    _draw(ax, curves, colour, linewidth)
    _label(ax, curves, colour, names)
    return ax


def plot_columns(
    path: ColumnwisePath,
    ax: Axes | None = None,
    *,
    x: Literal["lam", "log", "auto"] = "auto",
    max_labels: int = 8,
    diagonal: bool = False,
    linewidth: float = 1.4,
) -> Axes:
    """Draw the entries of a matrix against lam: the paths of all columns over each other.

    Parameters
    ----------
    path : ColumnwisePath
    ax : matplotlib Axes, optional
        Where to draw. Default: the only axes of a new pyplot figure.
    x : {"lam", "log", "auto"}, default "auto"
        The scale of lam; see :func:`plot_path`.
    max_labels : int, default 8
        At most so many entries are named, "row, column".
    diagonal : bool, default False
        Draw the entries on the diagonal of a square matrix, too: they are large, and never in
        question.
    linewidth : float, default 1.4
        In points.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ParamError
        When x is unknown, or lam = 0 alone meets the logarithmic scale.
    """
    if x not in ("lam", "log", "auto"):
        raise ParamError(f"x is {x!r}; expected 'lam', 'log' or 'auto'")
    rows = [str(name) for name in path.columns[0].names]
    square = len(rows) == len(path.columns)
    columns = rows if square else [str(j) for j in range(len(path.columns))]
    shown = np.ones((len(columns), len(rows)), bool)
    if square and not diagonal:
        np.fill_diagonal(shown, False)
    if x == "auto":
        x = (
            "log"
            if any(fitting_scale(c, s) != "lam" for c, s in zip(path.columns, shown, strict=True))
            else "lam"
        )
    curves = column_curves(path, shown, x)
    names = [f"{row}, {column}" for column in columns for row in rows]
    ax = _picture(axes(ax), curves, x, names, shown.ravel(), max_labels, linewidth)
    ax.set_ylabel("entry off the diagonal" if square and not diagonal else "entry")
    return ax


def plot_l1_bound(path: L1BoundPath, ax: Axes | None = None, **style: Any) -> Axes:
    """Draw the coefficients over their l1 norm; `style` as of :func:`plot_path`.

    Parameters
    ----------
    path : L1BoundPath
    ax : matplotlib Axes, optional
        Where to draw. Default: the only axes of a new pyplot figure.
    **style
        Arguments of :func:`plot_path`.

    Returns
    -------
    matplotlib Axes
    """
    refuse_unknown("the picture of an L1BoundPath", plot_path, style, ("ax",))
    return plot_path(path.path, ax, **{"x": "l1norm", **style})


def plot_levels(
    path: QuantilePath, ax: Axes | None = None, max_labels: int = 8, linewidth: float = 1.4
) -> Axes:
    """Draw the coefficients over the levels of quantile regression, as the steps that they are.

    Parameters
    ----------
    path : QuantilePath
    ax : matplotlib Axes, optional
        Where to draw. Default: the only axes of a new pyplot figure.
    max_labels : int, default 8
        Coefficients that get a colour and a place in the legend: those that vary most.
    linewidth : float, default 1.4

    Returns
    -------
    matplotlib Axes
    """
    ax = axes(ax)
    series, grey = palette(ax).series, palette(ax).quiet
    order = np.argsort(-np.ptp(path.theta, axis=0), kind="stable")
    for place, j in enumerate(order.tolist()):
        named = place < max_labels
        ax.stairs(
            path.theta[:, j],
            path.levels,
            baseline=None,
            linewidth=linewidth,
            color=series[place % len(series)] if named else grey,
            label=str(path.names[j]) if named else None,
        )
    ax.set_xlim(0.0, 1.0)
    ax.set_xlabel("level")
    ax.set_ylabel("coefficient")
    ax.legend(frameon=False)
    return ax


def plot_integers(path: IntegerPath, ax: Axes | None = None, **style: Any) -> Axes:
    """Draw objective and bound against the budget, or the number of nonzeros.

    Parameters
    ----------
    path : IntegerPath
    ax : matplotlib Axes, optional
        Where to draw. Default: the only axes of a new pyplot figure.
    **style
        Of the line of the objective.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes(ax)
    from matplotlib.ticker import MaxNLocator

    colours = palette(ax)
    marks = {"marker": "o", "ms": 4.0} if len(path) <= _MARKED else {}
    (line,) = ax.plot(
        path.knots, path.objective, **{"color": colours.main, "linewidth": 1.4, **marks, **style}
    )
    open_ = path.gap > _CLOSED
    if open_.any():
        ax.vlines(
            path.knots[open_],
            path.objective[open_],
            path.bound[open_],
            colors=line.get_color(),
            alpha=0.5,
            label="not proven: up to the bound",
        )
        ax.legend(frameon=False)
    ax.set_xlabel(_INTEGERS.get(path.parameter, path.parameter))
    ax.set_ylabel("objective")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    return ax


def _set_axes(ax: Axes, curves: Curves, x: Scale) -> None:
    """Set scales, limits and names, and the counting axis at the top."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter

    start, end = _limits(curves, x)
    if x == "log":
        ax.set_xscale("log")
    ax.set_xlim(start, end)
    values = np.concatenate([np.zeros(1), *(line[:, 1] for line in curves.lines)])
    low, high = float(values.min()), float(values.max())
    margin = 0.05 * (high - low) or 1.0
    ax.set_ylim(low - margin, high + margin)
    ax.set_xlabel("l1 norm of the coefficients" if x == "l1norm" else r"$\lambda$")
    ax.set_ylabel("coefficient")
    ax.axhline(0.0, color=palette(ax).ink, linewidth=0.6, zorder=1)

    def label(place: float, _: int) -> str:
        number = curves.count(place)
        return "" if number is None else str(number)

    top = ax.secondary_xaxis("top")
    if x == "log" and start < 1e3 * end:
        for axis in (ax.xaxis, top.xaxis):
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda place, _: f"{place:g}"))
        ax.xaxis.set_minor_formatter(NullFormatter())
    if curves.places is not None:
        top.xaxis.set_major_locator(FixedLocator(_spread_choice(ax, curves.places).tolist()))
    top.xaxis.set_major_formatter(FuncFormatter(label))
    top.xaxis.set_minor_formatter(NullFormatter())
    top.tick_params(which="minor", length=0)
    top.set_xlabel("nonzeros", fontsize="small")
    top.tick_params(labelsize="small")


def _limits(curves: Curves, x: Scale) -> tuple[float, float]:
    """Return the ends of the horizontal axis; markers on a grid get some room."""
    start, end = curves.start, curves.end
    margin = 0.0 if curves.places is None else 0.03
    if x == "log":
        ratio = (start / end) ** margin if start > end else 1.5
        return start * ratio, end / ratio
    if start == end:
        margin, width = 0.5, 1.0 if x == "l1norm" else -1.0
    else:
        width = end - start
    return start - margin * width, end + margin * width


def _spread_choice(ax: Axes, places: Array) -> Array:
    """Choose places on the axis whose labels do not run into each other."""
    shown = ax.transAxes.inverted().transform(
        ax.transData.transform(np.column_stack([places, np.zeros(len(places))]))
    )[:, 0]
    chosen = [len(places) - 1]
    for i in range(len(places) - 2, -1, -1):
        if abs(shown[i] - shown[chosen[-1]]) >= 0.06:
            chosen.append(i)
    return np.asarray(places[chosen])


def _draw(ax: Axes, curves: Curves, colour: dict[int, str], linewidth: float) -> None:
    """Draw the grey curves, then the coloured ones with the largest on top."""
    from matplotlib.collections import LineCollection

    exact = curves.places is None
    quiet = palette(ax).quiet
    rank = {j: len(colour) - i for i, j in enumerate(colour)}
    order = sorted(range(len(curves.lines)), key=lambda i: rank.get(int(curves.owner[i]), 0))
    lines = [curves.lines[i] for i in order]
    paint = [colour.get(int(curves.owner[i]), quiet) for i in order]
    full = linewidth if exact else 0.4 * linewidth
    ax.add_collection(
        LineCollection(
            lines,
            colors=paint,
            linewidths=[0.6 * full if shade == quiet else full for shade in paint],
            linestyles="solid" if exact else "dotted",
            joinstyle="round",
            zorder=2,
        ),
        autolim=False,
    )
    if not exact and lines:
        points = np.concatenate(lines)
        dots = np.repeat(paint, [len(line) for line in lines])
        ax.scatter(points[:, 0], points[:, 1], s=12.0 * linewidth, c=dots, zorder=3, linewidths=0)


_LABEL_POINTS = 9.0
_LABEL_LEADING = 1.25


def _room(ax: Axes) -> int:
    """Return how many labels fit beside the axes, one above the other."""
    return int(1.0 / _label_height(ax)) + 1


def _label_height(ax: Axes) -> float:
    """Return the distance of two labels as a fraction of the height of the axes."""
    height = ax.get_window_extent().height * 72.0 / ax.figure.dpi
    return min(1.0, _LABEL_POINTS * _LABEL_LEADING / max(height, 1.0))


def _label(ax: Axes, curves: Curves, colour: dict[int, str], names: Sequence[str]) -> None:
    """Write the names at the right, each as close to the end of its curve as the others let it."""
    if not colour:
        return
    order = sorted(colour, key=lambda j: float(curves.final[j]))
    low, high = ax.get_ylim()
    wanted = (curves.final[order] - low) / (high - low)
    for j, place in zip(order, _spread(wanted, _label_height(ax)), strict=True):
        ax.annotate(
            _short(names[j]),
            xy=(curves.end, float(curves.final[j])),
            xytext=(1.04, float(place)),
            textcoords="axes fraction",
            va="center",
            ha="left",
            fontsize=_LABEL_POINTS,
            color=colour[j],
            annotation_clip=False,
            parse_math=False,
            arrowprops={
                "arrowstyle": "-",
                "color": colour[j],
                "linewidth": 0.6,
                "shrinkA": 1.0,
                "shrinkB": 0.0,
                "relpos": (0.0, 0.5),
            },
        )


def _spread(wanted: Array, height: float) -> Array:
    """Move increasing places in [0, 1] as little as possible until `height` lies between them.

    In the coordinates ``place - i * height`` this is the isotonic regression of the wished places.
    """
    from scipy.optimize import isotonic_regression

    shift = height * np.arange(len(wanted))
    fitted = np.asarray(isotonic_regression(wanted - shift).x)
    return np.clip(fitted, 0.0, max(0.0, 1.0 - shift[-1])) + shift


def _short(name: str, length: int = 24) -> str:
    return name if len(name) <= length else name[: length - 3] + "..."
