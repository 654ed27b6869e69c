"""Pictures of graphs, their ROC curves and the choice of a budget (needs matplotlib)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from sparseopt.errors import ParamError
from sparseopt.pictures.style import BLUE, COLOURS, GREY, RED, axes
from sparseopt.problems.base import Array
from sparseopt.selection.graphs.choice import GraphSelection
from sparseopt.selection.graphs.roc import ROC

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_budgets", "plot_graph", "plot_roc"]


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
    for i, (name, curve) in enumerate(curves.items()):
        fpr, tpr = (curve.fpr, curve.tpr) if isinstance(curve, ROC) else curve
        ax.plot(
            fpr,
            tpr,
            color=COLOURS[i % len(COLOURS)],
            linestyle="-" if i % 2 == 0 else "--",
            linewidth=1.6,
            label=name,
        )
    ax.plot([0.0, 1.0], [0.0, 1.0], color=GREY, linewidth=0.8, zorder=1)
    ax.set_xlim(0.0, limit)
    ax.set_ylim(0.0, 1.01)
    ax.set_xlabel("false positive rate")
    ax.set_ylabel("true positive rate")
    ax.legend(loc="lower right", fontsize="small")
    return ax


def plot_graph(
    graph: Any, coordinates: Any = None, ax: Axes | None = None, truth: Any = None
) -> Axes:
    """Draw a graph on the coordinates of its nodes.

    Parameters
    ----------
    graph : scipy.sparse matrix or array of shape (d, d)
        Symmetric.
    coordinates : array of shape (d, 2), optional
        Default: the nodes on a circle.
    ax : matplotlib Axes, optional
    truth : of the same form as `graph`, optional
        The true graph: edges that are in both are blue, false ones red, missed ones dotted.
    """
    matrix = sp.csr_array(graph, dtype=bool)
    d = matrix.shape[0]
    if coordinates is None:
        angle = 2.0 * math.pi * np.arange(d) / d
        coordinates = np.column_stack([np.cos(angle), np.sin(angle)])
    points = np.asarray(coordinates, dtype=float)
    if points.shape != (d, 2):
        raise ParamError(f"coordinates has shape {points.shape}; a picture needs ({d}, 2)")
    ax = axes(ax)
    from matplotlib.collections import LineCollection

    kinds: list[tuple[Any, str, str, str]] = [(matrix, BLUE, "solid", "chosen")]
    if truth is not None:
        real = sp.csr_array(truth, dtype=bool)
        kinds = [
            (matrix.multiply(real), BLUE, "solid", "true"),
            (matrix > real, RED, "solid", "false"),
            (real > matrix, GREY, "dotted", "missed"),
        ]
    for some, colour, style, label in kinds:
        upper = sp.triu(sp.csr_array(some), 1).tocoo()
        lines = np.stack([points[upper.row], points[upper.col]], axis=1)
        name = f"{label} ({len(lines)})" if truth is not None else None
        ax.add_collection(
            LineCollection(
                list(lines), colors=colour, linestyles=style, linewidths=1.0, zorder=1, label=name
            )
        )
    size = min(20.0, 6000.0 / d)
    ax.scatter(points[:, 0], points[:, 1], s=size, color="black", linewidths=0, zorder=2)
    ax.set_aspect("equal")
    ax.set_axis_off()
    if truth is not None:
        # Below the drawing, where no node is.
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=3, fontsize="small")
    return ax


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
    spread = getattr(chosen, "standard_errors", None)
    if spread is not None:
        low, high = chosen.values - spread, chosen.values + spread
        ax.fill_between(chosen.budgets, low, high, color=BLUE, alpha=0.15, linewidth=0)
    ax.plot(chosen.budgets, chosen.values, color=BLUE, linewidth=1.4, label=chosen.by.upper())
    ax.axvline(chosen.budget, color=RED, linewidth=1.0, label=f"K = {chosen.budget}")
    ax.set_xlim(0, max(int(chosen.budgets[-1]), 1))
    ax.set_xlabel("budget K")
    ax.set_ylabel("error" if chosen.by == "cv" else chosen.by.upper())
    ax.legend(fontsize="small")
    return ax
