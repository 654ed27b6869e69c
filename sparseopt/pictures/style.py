"""What all pictures share: colours, axes, and the way into a file (needs matplotlib)."""

from __future__ import annotations

import importlib.util
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from sparseopt.errors import BackendUnavailable, ParamError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["BLUE", "COLOURS", "GREY", "RED", "axes", "check_picture", "require_matplotlib"]

COLOURS = (
    "#332288",
    "#CC6677",
    "#117733",
    "#AA4499",
    "#44AA99",
    "#882255",
    "#999933",
    "#88CCEE",
)
"""Paul Tol's "muted" scheme, safe for colour-blind readers, without its sand: too pale for text."""
BLUE, RED, GREY = "#332288", "#CC6677", "#BBBBBB"


def require_matplotlib() -> None:
    """Raise BackendUnavailable, with the way to install it, where matplotlib is missing."""
    if importlib.util.find_spec("matplotlib") is None:
        raise BackendUnavailable(
            "plotting needs matplotlib, which is not installed: pip install 'sparseopt[plot]'"
        )


def axes(ax: Axes | None) -> Axes:
    """Return the axes to draw on: those given, or the only ones of a new pyplot figure.

    Parameters
    ----------
    ax : matplotlib Axes or None

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    BackendUnavailable
        When matplotlib is not installed.
    """
    require_matplotlib()
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]


def check_picture(file: str | PathLike[str]) -> None:
    """Make sure that a picture can be made under this name, before any work is spent on it.

    Parameters
    ----------
    file : path
        Its ending chooses the format: .png, .svg, .pdf, ...

    Raises
    ------
    BackendUnavailable
        When matplotlib is not installed.
    ParamError
        When the ending of the name is not that of a picture format.
    """
    require_matplotlib()
    from matplotlib.backend_bases import FigureCanvasBase

    known = FigureCanvasBase.get_supported_filetypes()
    ending = Path(file).suffix.lower().removeprefix(".")
    if ending not in known:
        raise ParamError(
            f"{file} is not the name of a picture: the ending must be one of "
            f"{', '.join('.' + name for name in sorted(known))}"
        )
