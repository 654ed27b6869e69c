"""The statistics of a comparison; all from the data frame of records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sparseopt.problems.base import Array

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "PowerLaw",
    "Ratio",
    "median_ratio",
    "performance_profile",
    "power_law",
    "shifted_geometric_mean",
]

_SAMPLES = 2000


def shifted_geometric_mean(values: Sequence[float] | Array, shift: float) -> float:
    """Return exp(mean(log(values + shift))) - shift; NaN of nothing.

    Parameters
    ----------
    values : sequence of float
    shift : float
        In the units of the values.

    Returns
    -------
    float

    Examples
    --------
    >>> round(shifted_geometric_mean([1.0, 100.0], 0.0), 6)
    10.0
    """
    times = np.asarray(values, dtype=float)
    if not len(times):
        return float("nan")
    return float(np.exp(np.log(times + shift).mean()) - shift)


def performance_profile(table: pd.DataFrame) -> dict[str, tuple[Array, Array]]:
    """Return the Dolan-More profile of each backend.

    Parameters
    ----------
    table : DataFrame
        Rows with ``problem``, ``backend``, ``solved``, ``time``.

    Returns
    -------
    dict of str to (ratios, shares)
        The share of the problems given to the backend that it solves within the ratio times the
        time of the fastest; steps at the ratios, which begin at 1.

    References
    ----------
    Dolan, More (2002): Benchmarking optimization software with performance profiles. Mathematical
    Programming 91, 201-213.
    """
    given = table.groupby("backend")["problem"].nunique()
    solved = table[table["solved"] & (table["time"] > 0)]
    best = solved.groupby("problem")["time"].min()
    out = {}
    for backend in table["backend"].unique():
        own = solved[solved["backend"] == backend]
        ratios = np.sort((own["time"] / own["problem"].map(best)).to_numpy())
        shares = np.arange(1, len(ratios) + 1) / given[backend]
        out[str(backend)] = (ratios, shares)
    return out


@dataclass(frozen=True)
class PowerLaw:
    """y = factor * x**exponent, fitted by least squares of the logarithms.

    `low` and `high` bound the exponent with 95% confidence (Student's t); NaN below three points.
    """

    exponent: float
    low: float
    high: float
    factor: float
    points: int


def power_law(x: Sequence[float] | Array, y: Sequence[float] | Array) -> PowerLaw | None:
    """Fit a power law to positive points; None below two different x.

    Parameters
    ----------
    x, y : sequences of float of one length

    Returns
    -------
    PowerLaw or None

    Examples
    --------
    >>> law = power_law([1.0, 2.0, 4.0], [3.0, 12.0, 48.0])
    >>> round(law.exponent, 6), law.points
    (2.0, 3)
    """
    xs, ys = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    kept = (xs > 0.0) & (ys > 0.0)
    u, v = np.log(xs[kept]), np.log(ys[kept])
    if len(np.unique(u)) < 2:
        return None
    centred = u - u.mean()
    slope = float(centred @ v / (centred @ centred))
    factor = float(np.exp(v.mean() - slope * u.mean()))
    low = high = float("nan")
    if len(u) > 2 and len(np.unique(u)) > 2:
        from scipy.stats import t

        rest = v - v.mean() - slope * centred
        error = float(np.sqrt(rest @ rest / (len(u) - 2) / (centred @ centred)))
        reach = float(t.ppf(0.975, len(u) - 2)) * error
        low, high = slope - reach, slope + reach
    return PowerLaw(slope, low, high, factor, len(u))


@dataclass(frozen=True)
class Ratio:
    """The median of paired ratios, with a 95% bootstrap interval (percentiles)."""

    median: float
    low: float
    high: float
    pairs: int


def median_ratio(after: Any, before: Any, seed: int = 0) -> Ratio:
    """Return the median of after / before over pairs of positive numbers.

    Parameters
    ----------
    after, before : sequences of float of one length
    seed : int, default 0
        Of the bootstrap.

    Returns
    -------
    Ratio

    Examples
    --------
    >>> ratio = median_ratio([2.0, 2.0, 2.0], [1.0, 1.0, 1.0])
    >>> ratio.median, ratio.low, ratio.pairs
    (2.0, 2.0, 3)
    """
    ratios = np.log(np.asarray(after, dtype=float) / np.asarray(before, dtype=float))
    if not len(ratios):
        return Ratio(float("nan"), float("nan"), float("nan"), 0)
    rng = np.random.Generator(np.random.PCG64(seed))
    draws = rng.integers(len(ratios), size=(_SAMPLES, len(ratios)))
    medians = np.median(ratios[draws], axis=1)
    low, high = np.quantile(medians, [0.025, 0.975])
    return Ratio(
        float(np.exp(np.median(ratios))), float(np.exp(low)), float(np.exp(high)), len(ratios)
    )
