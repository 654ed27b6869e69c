"""Numbers and columns as a person reads them."""

from __future__ import annotations

import math
from collections.abc import Mapping

NAMES: Mapping[str, str] = {
    "time": "time (s)",
    "cpu_time": "processor time (s)",
    "peak_memory": "memory (bytes)",
    "memory_used": "memory beyond the data (bytes)",
    "excess": "relative distance from the best",
    "power": "testing power",
    "power_dense": "testing power, all variables",
    "fdp": "FDP",
    "ndp": "NDP",
    "fdp_ndp": "mean of FDP and NDP",
    "error": "squared error",
    "projection_distance": "distance of the projections",
    "knots": "knots",
    "iterations": "iterations",
    "objective": "objective",
    "max_violation": "largest violation",
    "min_violation": "smallest violation",
    "auc": "area under the ROC curve",
}
"""What columns of the data frame are called for a reader."""


def name_of(column: str) -> str:
    """Return what a column of the frame is called for a reader.

    Parameters
    ----------
    column : str

    Returns
    -------
    str
    """
    return NAMES.get(column, column)


def seconds_text(seconds: float) -> str:
    """Return a duration.

    Parameters
    ----------
    seconds : float

    Returns
    -------
    str

    Examples
    --------
    >>> seconds_text(0.0123), seconds_text(75), seconds_text(7300)
    ('12.3 ms', '1 min 15 s', '2 h 2 min')
    """
    if not math.isfinite(seconds):
        return "-"
    if seconds < 1.0:
        return f"{1000.0 * seconds:.3g} ms"
    if seconds < 59.95:
        return f"{seconds:.3g} s"
    whole = round(seconds)
    if whole < 3600:
        return _two(whole // 60, "min", whole % 60, "s")
    minutes = round(seconds / 60.0)
    return _two(minutes // 60, "h", minutes % 60, "min")


def _two(large: int, unit: str, small: int, rest: str) -> str:
    return f"{large} {unit} {small} {rest}" if small else f"{large} {unit}"


def number_text(value: float, digits: int = 3) -> str:
    """Return a number in a few digits; "-" for NaN.

    Parameters
    ----------
    value : float
    digits : int, default 3
        Significant ones.

    Returns
    -------
    str

    Examples
    --------
    >>> number_text(1234.5678, 6), number_text(0.000012345), number_text(float("nan"))
    ('1234.57', '1.23e-05', '-')
    """
    if math.isnan(value):
        return "-"
    if value == 0.0:
        return "0"
    if float(value).is_integer() and abs(value) < 1e6:
        return str(int(value))
    if 10.0**digits <= abs(value) < 1e6:
        return f"{value:.0f}"
    return f"{value:.{digits}g}"


def bytes_text(size: float) -> str:
    """Return an amount of memory.

    Parameters
    ----------
    size : float
        Bytes.

    Returns
    -------
    str

    Examples
    --------
    >>> bytes_text(4_000_000_000), bytes_text(153_000_000)
    ('4 GB', '153 MB')
    """
    return f"{size / 1e9:.3g} GB" if size >= 1e9 else f"{size / 1e6:.3g} MB"


def count_text(count: int, one: str) -> str:
    """Return a count with its noun, whose plural has an s.

    Parameters
    ----------
    count : int
    one : str
        The noun for one.

    Returns
    -------
    str

    Examples
    --------
    >>> count_text(1, "run"), count_text(3, "run")
    ('1 run', '3 runs')
    """
    return f"{count} {one}{'s' * (count != 1)}"
