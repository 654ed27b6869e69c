"""Pictures of subspaces: the points in them, how far off they are, and angles between two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sparseopt.errors import ParamError
from sparseopt.pictures.style import axes, palette
from sparseopt.problems.base import Array
from sparseopt.problems.subspace.base import SubspaceProblem
from sparseopt.problems.subspace.sufficient import SufficientReduction

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_VIEWS = ("projection", "outliers", "angles")
_FAR = 3.0
"""Points farther off than this times the median distance are marked."""
_ROUNDED = 1e-9
"""Distances below this, relative to the largest, are none."""
_DECADES = 1e3
"""Distances over a wider range than this have a logarithmic axis."""


def plot_subspace(
    problem: SubspaceProblem,
    x: Array,
    ax: Axes | None = None,
    *,
    show: str = "projection",
    beyond: float | None = None,
    to: Any = None,
) -> Axes:
    """Draw the points in a subspace, their distances from it, or its angles to another one.

    Parameters
    ----------
    problem : SubspaceProblem
    x : array
        Its answer.
    ax : matplotlib Axes, optional
        Where to draw. Default: the only axes of a new pyplot figure.
    show : {"projection", "outliers", "angles"}
        The first two coordinates in the subspace, those with the largest mean absolute values, or
        for k = 1 the coordinate and the distance; all distances from the largest to the smallest;
        or the principal angles to another subspace.
    beyond : float, optional
        Points farther from the subspace than this are marked, in the unit of the points. Default:
        three times the median distance. Responses have colours of their own instead.
    to : array of shape (n, m), or Result
        The other subspace, with m >= 1, which `show="angles"` needs.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ParamError
        When there is no such view, or `to` is missing or has another number of rows.
    """
    if show not in _VIEWS:
        raise ParamError(f"show is {show!r}; expected one of {', '.join(_VIEWS)}")
    ax = axes(ax)
    W = np.linalg.qr(problem.basis(x))[0]
    if show == "angles":
        _draw_angles(ax, W, to)
        return ax
    points, distances = problem.centred(x), problem.distances(x)
    limit = _FAR * float(np.median(distances)) if beyond is None else float(beyond)
    far = distances > max(limit, _ROUNDED * float(distances.max()))
    if show == "outliers":
        _draw_distances(ax, distances, limit, far)
    else:
        _draw_projection(ax, problem, points @ W, distances, far)
    return ax


def _draw_projection(
    ax: Axes, problem: SubspaceProblem, Z: Array, distances: Array, far: Array
) -> None:
    colours = palette(ax)
    first, *others = np.argsort(-np.abs(Z).mean(axis=0), kind="stable")
    across, up = Z[:, first], Z[:, others[0]] if others else distances
    ax.set_xlabel("first coordinate in the subspace")
    ax.set_ylabel("second coordinate" if others else "distance from the subspace")
    if isinstance(problem, SufficientReduction) and problem.task == "regression":
        drawn = ax.scatter(across, up, c=np.asarray(problem.y), s=14.0, cmap="viridis")
        ax.figure.colorbar(drawn, ax=ax, label="response")
        return
    groups = {"": np.ones(len(Z), dtype=bool)}
    if isinstance(problem, SufficientReduction):
        groups = {str(label): np.asarray(problem.y) == label for label in np.unique(problem.y)}
    elif far.any():
        groups = {"close to it": ~far, "far from it": far}
    for i, (name, chosen) in enumerate(groups.items()):
        colour = colours.series[i % len(colours.series)]
        ax.plot(across[chosen], up[chosen], ".", color=colour, label=name or None)
    if len(groups) > 1:
        ax.legend(framealpha=0.85)


def _draw_distances(ax: Axes, distances: Array, limit: float, far: Array) -> None:
    colours = palette(ax)
    order = np.argsort(-distances, kind="stable")
    floor = _ROUNDED * float(distances.max()) or 1.0
    shown, place = np.maximum(distances[order], floor), np.arange(1, len(order) + 1)
    marked = far[order]
    ax.plot(place[marked], shown[marked], ".", color=colours.accent, label=f"{far.sum()} far off")
    ax.plot(place[~marked], shown[~marked], ".", color=colours.main, label="the others")
    if limit > floor:
        ax.axhline(limit, color=colours.ink, linewidth=0.8, linestyle="--")
    if shown[0] > _DECADES * shown[-1]:
        ax.set_yscale("log")
    ax.set_xlabel("points, from the farthest")
    ax.set_ylabel("distance from the subspace")
    ax.legend(framealpha=0.85)


def _draw_angles(ax: Axes, W: Array, to: Any) -> None:
    from scipy.linalg import subspace_angles

    other = np.asarray(getattr(to, "x", to), dtype=float) if to is not None else np.zeros(0)
    if other.ndim != 2 or len(other) != len(W) or not other.shape[1]:
        given = "missing" if to is None else f"of shape {other.shape}"
        raise ParamError(
            f"to is {given}; expected a basis with {len(W)} rows, or a result: the subspace that "
            "angles are measured to"
        )
    angles = np.sort(np.degrees(subspace_angles(W, other)))
    ax.bar(np.arange(1, len(angles) + 1), angles, color=palette(ax).main, width=0.6)
    ax.set_xticks(np.arange(1, len(angles) + 1))
    ax.set_xlabel("principal angle")
    ax.set_ylabel("degrees")
    ax.set_ylim(0.0, max(1.0, 1.05 * float(angles[-1])))
