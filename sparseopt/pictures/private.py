"""Pictures of private releases (need matplotlib: ``pip install 'sparseopt[plot]'``)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sparseopt.errors import ParamError
from sparseopt.pictures.style import axes, palette
from sparseopt.private import Number, PrivateEmbedding, Synthesis, atoms
from sparseopt.private.values import level_array
from sparseopt.problems.base import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GRID, _OTHERS = 60, 64


def plot_marginal(
    released: PrivateEmbedding,
    found: Synthesis,
    column: str,
    *,
    real: Mapping[str, Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    r"""Draw where a release, its synthetic rows, and real ones have mass in one column.

    The curve at x is the mean kernel between the rows and public atoms whose value in the column is
    x, less its mean over x: a smooth picture of the marginal, the same for all three. The release
    is the truth with noise of a known deviation: its band has two of them to either side.

    Parameters
    ----------
    released : PrivateEmbedding
    found : Synthesis
        Of this release.
    column : str
        One of the map's; a category is drawn at its levels.
    real : mapping of str to array of shape (N,), optional
        Real rows, where they may be seen: what is drawn of them is NOT PRIVATE. With a label,
        rows of a level that the map does not have must be left out.
    ax : matplotlib Axes, optional
        Where to draw. Default: the only axes of a new pyplot figure.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ParamError
        When there is no such column.
    """
    features = released.map
    chosen = next((each for each in features.columns if each.name == column), None)
    if chosen is None:
        names = ", ".join(each.name for each in features.columns)
        raise ParamError(f"there is no column {column!r}; there are: {names}")
    numeric = isinstance(chosen, Number)
    x = (
        np.linspace(chosen.low, chosen.high, _GRID)
        if isinstance(chosen, Number)
        else level_array(chosen.levels)
    )
    levels = 1 if features.label is None else len(features.label.levels)
    table, _ = atoms(features, _OTHERS)
    others = {name: values[: len(values) // levels] for name, values in table.items()}
    count = len(others[column])
    probes = np.array(
        [features.rows({**others, column: np.full(count, value)}).mean(axis=0) for value in x]
    )
    probes -= probes.mean(axis=0)
    at = np.arange(len(x)) if not numeric else x

    def curve(mean: Array) -> Array:
        return np.asarray(probes @ mean)

    ax = axes(ax)
    colours = palette(ax)
    middle = curve(released.mean.reshape(levels, -1).sum(axis=0))
    reach = 2.0 * released.noise * math.sqrt(levels) * np.linalg.norm(probes, axis=1)
    synthetic = curve(found.weights @ features.rows(found.table))
    if numeric:
        band: dict[str, Any] = {"color": colours.quiet, "alpha": 0.6, "linewidth": 0.0}
        ax.fill_between(at, middle - reach, middle + reach, label="release, two deviations", **band)
        ax.plot(at, synthetic, color=colours.main, label="synthetic")
    else:
        bars: dict[str, Any] = {"color": colours.quiet, "capsize": 4.0, "linestyle": "none"}
        ax.errorbar(at, middle, yerr=reach, label="release, two deviations", **bars)
        ax.plot(at, synthetic, "o", color=colours.main, label="synthetic")
        ax.set_xticks(at, [str(level) for level in x])
    if real is not None:
        rows = {each.name: np.asarray(real[each.name]) for each in features.columns}
        style = "--" if numeric else "x"
        mean = features.rows(rows).mean(axis=0)
        ax.plot(at, curve(mean), style, color=colours.accent, label="real: NOT PRIVATE")
    ax.set_xlabel(column, parse_math=False)
    ax.set_ylabel("mean kernel, less its mean")
    ax.legend(framealpha=0.85)
    return ax
