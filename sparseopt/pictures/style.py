"""What all pictures share: colours, axes, and the way into a file (needs matplotlib)."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from sparseopt.errors import BackendUnavailable, ParamError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Palette:
    """The colours of a picture, which colour-blind readers can tell apart.

    Attributes
    ----------
    series : tuple of str
        For lines beside each other, and their names.
    quiet : str
        For what is in the background.
    ink : str
        For lines of reference.
    """

    series: tuple[str, ...]
    quiet: str
    ink: str

    @property
    def main(self) -> str:
        """The colour of what is shown."""
        return self.series[0]

    @property
    def accent(self) -> str:
        """The colour of what is chosen, or stands against it."""
        return self.series[1]

    @property
    def second(self) -> str:
        """The colour of another choice."""
        return self.series[2]


ON_WHITE = Palette(
    ("#332288", "#CC6677", "#117733", "#AA4499", "#2F9485", "#882255", "#87872B", "#4477AA"),
    "#BBBBBB",
    "black",
)
"""After Paul Tol's "muted" scheme; what is too pale for names on white is darker or left out."""

ON_BLACK = Palette(
    ("#99BBFF", "#EE8899", "#77CC77", "#DDAADD", "#66DDCC", "#EEDD88", "#BBCC33", "#FFAA77"),
    "#666666",
    "#DDDDDD",
)
"""Lighter colours in the same order of hues, for matplotlib's dark styles."""


def palette(ax: Axes) -> Palette:
    """Return the colours for these axes: matplotlib's style says whether they are dark."""
    from matplotlib.colors import to_rgba

    face = to_rgba(ax.get_facecolor())
    figure = ax.get_figure(root=True)
    if face[3] == 0.0 and figure is not None:
        face = to_rgba(figure.get_facecolor())
    return ON_BLACK if sum(face[:3]) < 1.5 and face[3] > 0.0 else ON_WHITE


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
        Its ending chooses the format: .png, .svg, .pdf, ...; .html needs no matplotlib.

    Raises
    ------
    BackendUnavailable
        When matplotlib is not installed.
    ParamError
        When the ending of the name is not that of a picture format.
    """
    if Path(file).suffix.lower() == ".html":
        return
    require_matplotlib()
    from matplotlib.backend_bases import FigureCanvasBase

    known = FigureCanvasBase.get_supported_filetypes()
    ending = Path(file).suffix.lower().removeprefix(".")
    if ending not in known:
        raise ParamError(
            f"{file} is not the name of a picture: the ending must be one of "
            f"{', '.join('.' + name for name in sorted([*known, 'html']))}"
        )
