"""Pictures of selection: errors, criteria and frequencies against lam (needs matplotlib)."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from sparseopt.names import intercept_in
from sparseopt.pictures.style import axes, palette
from sparseopt.problems.base import Array
from sparseopt.selection.choice import KnotSelection
from sparseopt.selection.criteria import CriterionResult
from sparseopt.selection.cross_validation import CVResult
from sparseopt.selection.curve import Curve
from sparseopt.selection.stability import StabilityResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SQUEEZED = 0.1
_BEYOND = 0.05
"""A logarithmic axis ends at this fraction of the choice, or at the end of the path."""
_FINE = 12
"""Points in each piece of a curve."""


def plot_cross_validation(cv: CVResult, ax: Axes | None = None) -> Axes:
    """Draw the mean error, a band of one standard error, the folds, and both choices of lam.

    The model grows from left to right: lam decreases. Lines are exact: jumps are vertical.

    Parameters
    ----------
    cv : CVResult
    ax : matplotlib Axes, optional
        Where to draw. Default: the only axes of a new pyplot figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes(ax)
    colours = palette(ax)
    for curve in cv.fold_curves:
        ax.plot(*_points(curve), color=colours.quiet, linewidth=0.5, zorder=1)
    lam, error = _points(cv.curve)
    errors = np.array([_points(curve)[1] for curve in cv.fold_curves])
    size = cv.fold_sizes
    spread = np.tensordot(size / size.sum(), (errors - error) ** 2, axes=1)
    half = np.sqrt(spread / (len(size) - 1))
    ax.fill_between(lam, error - half, error + half, color=colours.main, alpha=0.15, linewidth=0)
    ax.plot(lam, error, color=colours.main, linewidth=1.4, zorder=3, label=f"mean {cv.loss} error")
    _mark(ax, cv.lam_min, cv.curve, "minimum", colours.accent, "-")
    _mark(ax, cv.lam_1se, cv.curve, "within one standard error", colours.second, "--")
    low, high = float((error - half).min()), float((error + half).max())
    ax.set_ylim(low - 0.1 * (high - low or 1.0), high + 0.1 * (high - low or 1.0))
    ax.set_ylabel(f"{cv.loss} error")
    return _finish(ax, lam, cv.lam_min)


def plot_criterion(chosen: CriterionResult, ax: Axes | None = None) -> Axes:
    """Draw the criterion, which jumps where a coefficient enters or leaves, and the choice.

    Parameters
    ----------
    chosen : CriterionResult
    ax : matplotlib Axes, optional
        Where to draw. Default: the only axes of a new pyplot figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes(ax)
    lam, loss = _points(chosen.loss)
    df = np.repeat(chosen.piece_df, _FINE)
    value = chosen.formula(loss, df)
    if chosen.max_df is not None:
        value = np.where(df <= chosen.max_df, value, np.nan)
    shown = np.isfinite(chosen.values)
    colour = palette(ax).main
    ax.plot(chosen.knots[shown], chosen.values[shown], ".", color=colour, markersize=4)
    return _criterion(ax, chosen, lam, value)


def plot_knots(chosen: KnotSelection, ax: Axes | None = None) -> Axes:
    """Draw the criterion at the knots where it is finite, and the choice.

    Parameters
    ----------
    chosen : KnotSelection
    ax : matplotlib Axes, optional
        Where to draw. Default: the only axes of a new pyplot figure.

    Returns
    -------
    matplotlib Axes
    """
    known = np.isfinite(chosen.values)
    return _criterion(axes(ax), chosen, chosen.knots[known], chosen.values[known])


def plot_stability(result: StabilityResult, ax: Axes | None = None) -> Axes:
    """Draw each coefficient's selection frequency; the chosen ones are coloured and named.

    Parameters
    ----------
    result : StabilityResult
    ax : matplotlib Axes, optional
        Where to draw. Default: the only axes of a new pyplot figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes(ax)
    variable, place, count = result.runs.counts(result.runs.end)
    share = count / result.subsamples
    start = float(place[np.isfinite(place)].max(initial=result.lam))
    names = result.problem.coefficient_names
    intercept = intercept_in(names)
    chosen = set(result.support.tolist())
    colours = palette(ax)
    shades = itertools.cycle(colours.series[2:] + colours.series[:1])
    for j in np.unique(variable):
        if names[j] == intercept:  # never penalised, so in every model
            continue
        mine = variable == j
        lam = np.concatenate([[start], np.minimum(place[mine], start), [result.runs.end]])
        height = np.concatenate([[0.0], share[mine], share[mine][-1:]])
        style: dict[str, Any] = {"color": colours.quiet, "linewidth": 0.6}
        if int(j) in chosen:
            style = {"color": next(shades), "linewidth": 1.4, "label": names[j], "zorder": 3}
        # A count holds from its place down to the next one.
        ax.step(lam, height, where="post", **style)
    ax.axhline(result.threshold, color=colours.ink, linewidth=0.8, linestyle=":")
    ax.axvline(result.lam, color=colours.accent, linewidth=1.0, label=f"lam = {result.lam:.4g}")
    ax.set_ylim(0.0, 1.02)
    ax.set_ylabel("selection frequency")
    _finish(ax, np.array([start, result.runs.end]), result.lam)
    # Lines rise everywhere: the names are below them, as those of a graph.
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=3, fontsize="small")
    return ax


def _criterion(ax: Axes, chosen: CriterionResult | KnotSelection, lam: Array, value: Array) -> Axes:
    """Draw a criterion at some lam, and the choice."""
    colours, name = palette(ax), chosen.by.upper()
    ax.plot(lam, value, color=colours.main, linewidth=1.4, label=name)
    ax.axvline(chosen.lam, color=colours.accent, linewidth=1.0, label=f"lam = {chosen.lam:.4g}")
    ax.set_ylabel(name)
    return _finish(ax, lam, chosen.lam)


def _points(curve: Curve) -> tuple[Array, Array]:
    """Return points along a curve, both ends of each piece among them, lam decreasing."""
    first = float(curve.low[0])
    top = curve.top if np.isfinite(curve.top) else first + 0.05 * (first - curve.end or 1.0)
    width = np.append(top, curve.low[:-1]) - curve.low
    step = width[:, None] * np.linspace(1.0, 0.0, _FINE)
    a = curve.coefficients[:, :, None]
    value = a[:, 0] + step * (a[:, 1] + step * a[:, 2])
    return (curve.low[:, None] + step).ravel(), value.ravel()


def _mark(ax: Axes, lam: float, curve: Curve, label: str, colour: str, style: str) -> None:
    ax.axvline(lam, color=colour, linestyle=style, linewidth=1.0, label=f"{label}: lam = {lam:.4g}")
    ax.plot([lam], [float(curve(lam))], "o", color=colour, markersize=4, zorder=4)


def _finish(ax: Axes, lam: Array, chosen: float) -> Axes:
    """Set the axis of lam: logarithmic where the choice would be squeezed against its end."""
    start, end = float(lam.max()), float(lam.min())
    if 0.0 < chosen < _SQUEEZED * start:
        ax.set_xscale("log")
        end = max(end, _BEYOND * chosen)
    ax.set_xlim(start, end)
    ax.set_xlabel(r"$\lambda$")
    ax.legend(fontsize="small")
    return ax
