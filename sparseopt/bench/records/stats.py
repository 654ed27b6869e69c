"""The statistics of a comparison; all from the data frame of records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sparseopt.problems.base import Array

if TYPE_CHECKING:
    import pandas as pd

_LEVEL = 0.95
"""Confidence of all intervals."""
_WIDEST = 1.0
"""A wider interval of an exponent does not distinguish n from n^2: the law is left out."""


def by_problem(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each backend and problem, since runs of one problem are not independent.

    Parameters
    ----------
    table : DataFrame
        Rows with ``problem``, ``backend``, ``solved``, ``time``: the runs.

    Returns
    -------
    DataFrame
        ``time`` is the median over the runs, infinite for a run that is not solved; ``solved``
        says whether the median is finite. Other columns are those of the first run.
    """
    times = table["time"].where(table["solved"], np.inf)
    runs = table.assign(time=times).groupby(["backend", "problem"], sort=False)
    out = runs.first().assign(time=runs["time"].median())
    return out.assign(solved=np.isfinite(out["time"])).reset_index()


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
        As for :func:`by_problem`.

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
    problems = by_problem(table)
    given = problems["backend"].value_counts()
    solved = problems[problems["solved"] & (problems["time"] > 0)]
    best = solved.groupby("problem")["time"].min()
    out = {}
    for backend in given.index:
        own = solved[solved["backend"] == backend]
        ratios = np.sort((own["time"] / own["problem"].map(best)).to_numpy())
        shares = np.arange(1, len(ratios) + 1) / given[backend]
        out[str(backend)] = (ratios, shares)
    return out


@dataclass(frozen=True)
class PowerLaw:
    """y = factor * x**exponent, fitted by least squares of the logarithms.

    `low` and `high` bound the exponent with 95% confidence (Student's t).
    """

    exponent: float
    low: float
    high: float
    factor: float
    points: int


def power_law(x: Sequence[float] | Array, y: Sequence[float] | Array) -> PowerLaw | None:
    """Fit a power law to positive points.

    Parameters
    ----------
    x, y : sequences of float of one length

    Returns
    -------
    PowerLaw or None
        None below three different x, and where the interval of the exponent is wider than 1.

    Examples
    --------
    >>> law = power_law([1.0, 2.0, 4.0], [3.0, 12.0, 48.0])
    >>> round(law.exponent, 6), law.points
    (2.0, 3)
    """
    xs, ys = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    kept = (xs > 0.0) & (ys > 0.0)
    u, v = np.log(xs[kept]), np.log(ys[kept])
    if len(np.unique(u)) < 3:
        return None
    from scipy.stats import t

    centred = u - u.mean()
    slope = float(centred @ v / (centred @ centred))
    rest = v - v.mean() - slope * centred
    error = float(np.sqrt(rest @ rest / (len(u) - 2) / (centred @ centred)))
    reach = float(t.ppf((1.0 + _LEVEL) / 2.0, len(u) - 2)) * error
    if 2.0 * reach > _WIDEST:
        return None
    factor = float(np.exp(v.mean() - slope * u.mean()))
    return PowerLaw(slope, slope - reach, slope + reach, factor, len(u))


@dataclass(frozen=True)
class Ratio:
    """The median of paired ratios, with a 95% interval from order statistics.

    The interval holds for any distribution of the ratios; below six pairs it is (0, inf).
    """

    median: float
    low: float
    high: float
    pairs: int


def median_ratio(after: Any, before: Any) -> Ratio:
    """Return the median of after / before over pairs of positive numbers, one for each problem.

    Parameters
    ----------
    after, before : sequences of float of one length

    Returns
    -------
    Ratio

    Examples
    --------
    >>> ratio = median_ratio([2.0, 2.1, 2.2, 2.3, 2.4, 2.5], [1.0] * 6)
    >>> round(ratio.median, 6), round(ratio.low, 6), round(ratio.high, 6)
    (2.249444, 2.0, 2.5)
    """
    from scipy.stats import binom

    ratios = np.sort(np.asarray(after, dtype=float) / np.asarray(before, dtype=float))
    if not len(ratios):
        return Ratio(math.nan, math.nan, math.nan, 0)
    # The median lies below the k-th smallest ratio with probability P(Binomial(n, 1/2) < k).
    k = int(binom.ppf((1.0 - _LEVEL) / 2.0, len(ratios), 0.5))
    low, high = (float(ratios[k - 1]), float(ratios[-k])) if k else (0.0, math.inf)
    return Ratio(float(np.exp(np.median(np.log(ratios)))), low, high, len(ratios))
