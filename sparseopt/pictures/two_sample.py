"""Pictures of two-sample tests (need matplotlib: ``pip install 'sparseopt[plot]'``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sparseopt.cards import NamedValues
from sparseopt.pictures.bars import plot_values
from sparseopt.pictures.style import axes, palette
from sparseopt.problems.base import Array
from sparseopt.two_sample.result import TwoSampleTest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GRID = 60


def plot_null(test: TwoSampleTest, ax: Axes | None = None) -> Axes:
    """Draw a histogram of the permutations with the threshold and the statistic.

    Parameters
    ----------
    test : TwoSampleTest
    ax : matplotlib Axes, optional
        Where to draw. Default: the only axes of a new pyplot figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes(ax)
    colours = palette(ax)
    ax.hist(test.null, bins=40, color=colours.quiet)
    if np.isfinite(test.threshold):
        label = f"threshold, alpha = {test.alpha:g}"
        ax.axvline(test.threshold, color=colours.second, linestyle="--", label=label)
    ax.axvline(test.statistic, color=colours.accent, label=f"statistic, p = {test.p_value:.3g}")
    ax.set_xlabel("difference of mean scores" if test.kernel == "scores" else "squared MMD")
    ax.set_ylabel("permutations")
    ax.legend(framealpha=0.85)
    return ax


def plot_weights(test: TwoSampleTest, ax: Axes | None = None, max_bars: int = 12) -> Axes:
    """Draw the weights of the selected variables as bars, the heaviest on top.

    Parameters
    ----------
    test : TwoSampleTest
    ax : matplotlib Axes, optional
        Where to draw. Default: the only axes of a new pyplot figure.
    max_bars : int, default 12
        At most so many are drawn.

    Returns
    -------
    matplotlib Axes
    """
    weights = NamedValues(test.names, test.z)
    return plot_values(weights, ax, max_bars=max_bars, label="weight")


def plot_witness(test: TwoSampleTest, ax: Axes | None, variables: list[int]) -> Axes:
    """Draw the witness function over one or two variables with the test samples.

    Parameters
    ----------
    test : TwoSampleTest
    ax : matplotlib Axes or None
        Where to draw. None: the only axes of a new pyplot figure.
    variables : list of one or two int
        Indices of the variables on the axes; all others are held at their pooled mean.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes(ax)
    colours = palette(ax)
    pooled = np.concatenate([test.x_test, test.y_test])
    grids = [_around(pooled[:, s]) for s in variables]
    if len(variables) == 1:
        points = np.tile(pooled.mean(axis=0), (_GRID, 1))
        points[:, variables[0]] = grids[0]
        ax.plot(grids[0], test.witness(points), color=colours.quiet, linewidth=2.0, label="witness")
        for sample, colour, name in (
            (test.x_test, colours.main, "x"),
            (test.y_test, colours.accent, "y"),
        ):
            here = np.full((len(sample), pooled.shape[1]), pooled.mean(axis=0))
            here[:, variables[0]] = sample[:, variables[0]]
            ax.plot(
                here[:, variables[0]], test.witness(here), ".", color=colour, label=name, alpha=0.7
            )
        ax.set_ylabel("witness")
    else:
        first, second = np.meshgrid(*grids, indexing="ij")
        points = np.tile(pooled.mean(axis=0), (first.size, 1))
        points[:, variables[0]], points[:, variables[1]] = first.ravel(), second.ravel()
        value = test.witness(points).reshape(first.shape)
        largest = float(np.abs(value).max()) or 1.0
        levels = np.linspace(-largest, largest, 21)
        field = ax.contourf(first, second, value, levels=levels, cmap="RdBu", alpha=0.8)
        ax.figure.colorbar(field, ax=ax, label="witness: x denser > 0 > y denser")
        for sample, colour, name in (
            (test.x_test, colours.main, "x"),
            (test.y_test, colours.accent, "y"),
        ):
            ax.plot(*sample[:, variables].T, "o", color=colour, markeredgecolor="white", label=name)
        ax.set_ylabel(test.names[variables[1]])
    ax.set_xlabel(test.names[variables[0]])
    ax.legend(frameon=True, loc="upper right")
    return ax


def _around(values: Array) -> Array:
    low, high = float(values.min()), float(values.max())
    margin = 0.05 * (high - low) or 0.5
    return np.linspace(low - margin, high + margin, _GRID)
