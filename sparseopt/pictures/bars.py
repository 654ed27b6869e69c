"""Numbers by name as bars: coefficients, loadings, weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sparseopt.cards import NamedValues
from sparseopt.pictures.style import axes, palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_values(
    shown: NamedValues, ax: Axes | None = None, *, max_bars: int = 20, label: str = "coefficient"
) -> Axes:
    """Draw the numbers that are not zero as bars, the largest on top; an intercept is left out.

    Parameters
    ----------
    shown : NamedValues
    ax : matplotlib Axes, optional
        Where to draw. Default: the only axes of a new pyplot figure.
    max_bars : int, default 20
        At most so many are drawn; the title says so.
    label : str, default "coefficient"
        Of the axis.

    Returns
    -------
    matplotlib Axes
    """
    found = shown.slopes()
    drawn = list(found.items())[:max_bars]
    ax = axes(ax)
    place = np.arange(len(drawn))
    ax.barh(place, [value for _, value in drawn], color=palette(ax).main, height=0.6)
    ax.set_yticks(place, [name for name, _ in drawn])
    for tick in ax.get_yticklabels():
        tick.set_parse_math(False)
    ax.invert_yaxis()
    ax.axvline(0.0, color=palette(ax).ink, linewidth=0.6)
    ax.set_xlabel(label)
    if len(drawn) < len(found):
        ax.set_title(f"the largest {len(drawn)} of {len(found)}", fontsize="small")
    elif not drawn:
        ax.set_title("all of them are zero", fontsize="small")
    return ax
