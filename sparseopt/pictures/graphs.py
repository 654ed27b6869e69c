"""Pictures of graphs, their ROC curves and the choice of a budget (needs matplotlib)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from sparseopt.errors import ParamError
from sparseopt.pictures.style import axes, palette
from sparseopt.problems.base import Array, check_indices
from sparseopt.selection.graphs.choice import GraphSelection
from sparseopt.selection.graphs.roc import ROC

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_roc(
    curves: Mapping[str, ROC | tuple[Array, Array]], ax: Axes | None = None, limit: float = 1.0
) -> Axes:
    """Draw ROC curves over each other.

    Parameters
    ----------
    curves : mapping of names to ROC, or to pairs (false, true positive rates)
    ax : matplotlib Axes, optional
    limit : float, default 1.0
        The largest false positive rate that is shown.
    """
    ax = axes(ax)
    series = palette(ax).series
    for i, (name, curve) in enumerate(curves.items()):
        fpr, tpr = (curve.fpr, curve.tpr) if isinstance(curve, ROC) else curve
        ax.plot(
            fpr,
            tpr,
            color=series[i % len(series)],
            linestyle="-" if i % 2 == 0 else "--",
            linewidth=1.6,
            label=name,
        )
    ax.plot([0.0, 1.0], [0.0, 1.0], color=palette(ax).quiet, linewidth=0.8, zorder=1)
    ax.set_xlim(0.0, limit)
    ax.set_ylim(0.0, 1.01)
    ax.set_xlabel("false positive rate")
    ax.set_ylabel("true positive rate")
    ax.legend(loc="lower right", fontsize="small")
    return ax


def plot_graph(
    graph: Any,
    coordinates: Any = None,
    ax: Axes | None = None,
    truth: Any = None,
    names: Sequence[str] | None = None,
) -> Axes:
    """Draw a graph on the coordinates of its nodes.

    Parameters
    ----------
    graph : scipy.sparse matrix or array of shape (d, d)
        Truth values, or weights such as partial correlations. Edges with weights are the wider
        the heavier they are, and those of negative weight are dashed and of another colour. An
        entry above the diagonal and its mirror image are one edge, with their mean as weight.
    coordinates : array of shape (d, 2), optional
        Default: the nodes on a circle.
    ax : matplotlib Axes, optional
    truth : array of shape (d, d), optional
        The true graph: edges that are in both, false ones, and missed ones are told apart.
    names : sequence of d str, optional
        Of the nodes, written beside them.
    """
    check_indices("graph", graph)
    check_indices("truth", truth)
    matrix = sp.csr_array(graph)
    d = matrix.shape[0]
    if coordinates is None:
        angle = 0.5 * math.pi - 2.0 * math.pi * np.arange(d) / d
        coordinates = np.column_stack([np.cos(angle), np.sin(angle)])
    points = np.asarray(coordinates, dtype=float)
    if points.shape != (d, 2):
        raise ParamError(f"coordinates has shape {points.shape}; a picture needs ({d}, 2)")
    if names is not None and len(names) != d:
        raise ParamError(f"names has {len(names)} entries; the graph has {d} nodes")
    ax = axes(ax)
    colours = palette(ax)
    if truth is not None:
        found, real = matrix.astype(bool), sp.csr_array(truth, dtype=bool)
        _edges(ax, found.multiply(real), points, colours.main, "solid", "true")
        _edges(ax, found > real, points, colours.accent, "solid", "false")
        _edges(ax, real > found, points, colours.quiet, "dotted", "missed")
    elif matrix.dtype == bool:
        _edges(ax, matrix, points, colours.main, "solid")
    else:
        weights = sp.csr_array(0.5 * (matrix + matrix.T))
        largest = abs(weights).max() or 1.0
        _edges(ax, (weights > 0.0) * weights / largest, points, colours.main, "solid", "positive")
        _edges(
            ax, (weights < 0.0) * weights / largest, points, colours.accent, "dashed", "negative"
        )
    size = min(20.0, 6000.0 / d)
    ax.scatter(points[:, 0], points[:, 1], s=size, color=colours.ink, linewidths=0, zorder=2)
    middle = points.mean(axis=0)
    for name, point in zip(names or (), points, strict=names is not None):
        x, y = np.sign(point - middle) * (np.abs(point - middle) > 1e-9)
        ax.annotate(
            name,
            point,
            (4.0 * x, 4.0 * y or 4.0 * (x == 0.0)),
            textcoords="offset points",
            ha={1.0: "left", -1.0: "right"}.get(float(x), "center"),
            va="center" if x else {1.0: "bottom", -1.0: "top"}.get(float(y), "bottom"),
            fontsize="small",
            parse_math=False,
        )
    ax.set_aspect("equal")
    # Names at the sides need room that no layout engine sees.
    ax.margins(x=0.05 + 0.015 * max(map(len, names or ("",))), y=0.08)
    ax.set_axis_off()
    if ax.get_legend_handles_labels()[1]:
        # Below the drawing, where no node is.
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=3, fontsize="small")
    return ax


def _edges(
    ax: Axes, some: Any, points: Array, colour: str, style: str, label: str | None = None
) -> None:
    """Draw the edges of a matrix, the wider the larger its entries are."""
    from matplotlib.collections import LineCollection

    upper = sp.triu(sp.csr_array(some), 1).tocoo()
    upper.eliminate_zeros()
    width = np.ones(upper.nnz) if upper.dtype == bool else 0.6 + 3.4 * np.abs(upper.data)
    if not upper.nnz:
        width = np.ones(1)  # a legend reads one
    ax.add_collection(
        LineCollection(
            list(np.stack([points[upper.row], points[upper.col]], axis=1)),
            colors=colour,
            linestyles=style,
            linewidths=width,
            zorder=1,
            label=None if label is None else f"{label} ({upper.nnz})",
        )
    )


def plot_budgets(chosen: GraphSelection, ax: Axes | None = None) -> Axes:
    """Draw the criterion of a selection against the budget, with standard errors if it has them.

    Parameters
    ----------
    chosen : GraphSelection
    ax : matplotlib Axes, optional
        Where to draw. Default: the only axes of a new pyplot figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes(ax)
    colours = palette(ax)
    spread = getattr(chosen, "standard_errors", None)
    if spread is not None:
        low, high = chosen.values - spread, chosen.values + spread
        ax.fill_between(chosen.budgets, low, high, color=colours.main, alpha=0.15, linewidth=0)
    ax.plot(
        chosen.budgets, chosen.values, color=colours.main, linewidth=1.4, label=chosen.by.upper()
    )
    ax.axvline(chosen.budget, color=colours.accent, linewidth=1.0, label=f"K = {chosen.budget}")
    ax.set_xlim(0, max(int(chosen.budgets[-1]), 1))
    ax.set_xlabel("budget K")
    ax.set_ylabel("error" if chosen.by == "cv" else chosen.by.upper())
    ax.legend(fontsize="small")
    return ax
