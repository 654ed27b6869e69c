"""A table of how a tree search goes on, for people who asked for it (``verbose``)."""

from __future__ import annotations

from sparseopt.backend import Control
from sparseopt.result import relative_gap

from ..settings import LOG_HEADING, LOG_SECONDS

_HEADING = f"{'time':>9} {'nodes':>8} {'open':>7} {'bound':>17} {'incumbent':>17} {'gap':>9}"


class SearchLog:
    """Prints a line now and then, and one marked with * at each new incumbent.

    Parameters
    ----------
    control : Control
        Whose parameters say whether anything is printed.
    """

    def __init__(self, control: Control) -> None:
        self._control = control
        self._lines = 0
        self._last = -LOG_SECONDS
        self._incumbent: float | None = None

    def line(
        self,
        nodes: int,
        open_nodes: int,
        bound: float | None,
        incumbent: float | None,
        last: bool = False,
    ) -> None:
        """Print a line if it is time for one.

        Parameters
        ----------
        nodes, open_nodes : int
        bound, incumbent : float or None
            In the problem's own sense; None where none is known.
        last : bool, default False
            Whether the search ends here.
        """
        control = self._control
        if not control.params.verbose:
            return
        better = incumbent is not None and incumbent != self._incumbent
        elapsed = control.elapsed
        if not (better or last) and elapsed - self._last < LOG_SECONDS:
            return
        if self._lines % LOG_HEADING == 0:
            print(_HEADING)
        self._lines += 1
        self._last, self._incumbent = elapsed, incumbent
        gap = relative_gap(incumbent, bound)
        bound, incumbent = control.in_unit(bound), control.in_unit(incumbent)
        print(
            f"{'*' if better else ' '}{elapsed:7.1f}s {nodes:8d} {open_nodes:7d} "
            f"{_number(bound):>17} {_number(incumbent):>17} "
            f"{'-' if gap is None else f'{100.0 * gap:.3g}%':>9}",
            flush=True,
        )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.10g}"
