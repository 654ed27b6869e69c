r"""One private release of a mean embedding: exact sums of rounded features, and discrete noise.

The features of a record are rounded to multiples of :math:`2^{-g}` and summed as integers, which is
exact. For vectors v, v' of two records, of length at most 1 before rounding, with an inner product
of at least :math:`-\epsilon_C` (the truncation error of the kernel, which is nonnegative),

.. math:: \|v - v'\|^2 \le 2 + 2 \epsilon_C,

so replacing a record moves the sum by at most :math:`\sqrt{2 + 2 \epsilon_C}` (with the levels of a
label the inner product is 0 or that of the rows). Adding or removing one moves it by at most 1, or
:math:`\sqrt{1 + c^2}` with the coordinate that counts records. Rounding moves each vector by at
most :math:`\sqrt d / 2` grid steps, and the errors of evaluating features, below 1e-11, are within
:data:`SLACK`.

Nothing that depends on a value of the data raises or warns: values are moved into the bounds that
were given. Sources: Vinaroz and others (2022), whose sensitivity 2 / m is larger than needed;
:mod:`sparseopt.private.gaussian`, :mod:`sparseopt.private.discrete_gaussian`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sparseopt.errors import ParamError
from sparseopt.private.discrete_gaussian import discrete_gaussian, is_insecure
from sparseopt.private.features import FeatureMap, as_real, as_table
from sparseopt.private.gaussian import calibrate, discrete_delta
from sparseopt.private.ledger import Ledger
from sparseopt.private.statement import FORMAT, INTEGER_BITS, VERSION, Statement
from sparseopt.private.values import as_codes, as_column
from sparseopt.problems.base import Array

GRID_BITS = 32
"""Features are multiples of 2^-32."""

SLACK = 1e-9
"""Allowance for rounding errors of features in squared lengths and inner products."""

_MOST_RECORDS = 2**30
"""Beyond that an auditor would ask how sums of 64 bits were exact."""

_COUNT_WEIGHT = Fraction(1, 4)
_CURVE = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)


@dataclass(frozen=True, eq=False)
class PrivateEmbedding:
    """A released mean embedding: public from here on.

    Attributes
    ----------
    map : FeatureMap
    mean : array of shape (dimension,)
        The noisy sum divided by the number of records, or by its noisy count.
    records : float
        The public number of records, or the noisy one, at least 1.
    noise : float
        Standard deviation of each entry of `mean`.
    statement : Statement
    """

    map: FeatureMap
    mean: Array
    records: float
    noise: float
    statement: Statement


def release(
    X: Any,
    y: Any = None,
    *,
    epsilon: float,
    delta: float,
    features: FeatureMap | None = None,
    bounds: Any = None,
    classes: Any = None,
    neighbours: str = "replace-one",
    ledger: Ledger | None = None,
) -> PrivateEmbedding:
    """Release the mean embedding of a table once, (epsilon, delta)-differentially private.

    Parameters
    ----------
    X : mapping of str to array of shape (N,), data frame, or array of shape (N, columns)
        The columns of the map by name; others are not looked at. The columns of an array are called
        x0, x1 and so on, and all must be in the map.
    y : array of shape (N,), optional
        The label, where the map has one.
    epsilon, delta : float
        What is to hold. Keep delta well below 1 / N.
    features : FeatureMap, optional
        Public: nothing in it may have been read off the data.
    bounds, classes : optional
        In place of `features`, for its defaults: what each column and the label may hold, see
        :meth:`FeatureMap.from_bounds`. Public as well.
    neighbours : {"replace-one", "add-remove"}
        Data sets that must be alike. With "replace-one" N is public, from 1 to 2^30; with
        "add-remove" it is protected, too, and released with noise.
    ledger : Ledger, optional
        Refuses the release, before the data are read, where it exceeds the budget.

    Returns
    -------
    PrivateEmbedding

    Raises
    ------
    ParamError
        When a setting is out of range, a column is missing, or lengths differ; never because of a
        value.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt import private
    >>> table = {"age": np.array([23.0, 41.0, 57.0, 38.0])}
    >>> found = private.release(table, epsilon=1.0, delta=1e-3, bounds={"age": (0, 100)})
    >>> found.statement.epsilon
    1.0
    """
    if neighbours not in ("replace-one", "add-remove"):
        raise ParamError(f"neighbours is {neighbours!r}; expected 'replace-one' or 'add-remove'")
    if not isinstance(features, (FeatureMap, type(None))):
        raise ParamError(f"features is {features!r:.80}; expected a FeatureMap")
    if not isinstance(ledger, (Ledger, type(None))):
        raise ParamError(f"ledger is {ledger!r:.80}; expected a Ledger")
    epsilon, delta = as_real("epsilon", epsilon), as_real("delta", delta)
    protected = neighbours == "add-remove"
    features = _map(features, bounds, classes)
    columns, label, N = _columns(X, features, y, protected)
    weight = _COUNT_WEIGHT if protected else Fraction(0)
    dimension = features.dimension + protected
    squared = squared_sensitivity(
        features.dimension, features.tolerance, GRID_BITS, neighbours, weight
    )
    variance = _least_variance(epsilon, delta, squared, dimension)
    sigma = math.sqrt(variance)
    if not protected and delta * N >= 1.0:
        warnings.warn(
            f"delta {delta:g} is not below 1 / {N}: a release of one whole record would pass",
            stacklevel=2,
        )
    statement = Statement(
        {
            "format": FORMAT,
            "version": VERSION,
            "mechanism": "discrete Gaussian",
            "neighbours": neighbours,
            "records": None if protected else N,
            "noise_of_mean": None if protected else sigma * 2.0**-GRID_BITS / N,
            "map": features.to_dict(),
            "count_weight": float(weight),
            "grid_bits": GRID_BITS,
            "dimension": dimension,
            "sensitivity_squared": squared,
            "variance": variance,
            "epsilon": epsilon,
            "delta": delta,
            "curve": [
                [each, _reached_delta(each, squared, variance, dimension)] for each in _CURVE
            ],
            "noise": "NOT PRIVATE" if is_insecure() else "operating system",
        }
    )
    if ledger is not None:
        ledger.add(statement)
    noise = discrete_gaussian(variance, dimension)
    total = _sum(columns, label, features, N)
    counted = [int(weight * N * 2**GRID_BITS)] if protected else []
    noisy = [value + more for value, more in zip([*total, *counted], noise, strict=True)]
    step = 2.0**-GRID_BITS
    records = max(1.0, noisy[-1] * step / float(weight)) if protected else float(N)
    mean = np.array([value * step / records for value in noisy[: features.dimension]])
    mean.flags.writeable = False
    return PrivateEmbedding(features, mean, records, sigma * step / records, statement)


def _least_variance(epsilon: float, delta: float, squared: int, dimension: int) -> int:
    """Return the variance of the noise on the grid, of a whole number of squared steps.

    Raises
    ------
    ParamError
        Where epsilon and delta are out of range, or no noise of the grid reaches them.
    """
    if not 0.0 < delta < 1.0:
        raise ParamError(f"delta is {delta}; expected a number between 0 and 1")
    eta = calibrate(epsilon, delta * (1.0 - 1e-9))
    variance = math.ceil(squared / (Fraction(eta) * Fraction(eta)))
    if variance.bit_length() > INTEGER_BITS:
        raise ParamError(f"epsilon {epsilon:g} and delta {delta:g} need noise beyond all numbers")
    if _reached_delta(epsilon, squared, variance, dimension) > delta:
        raise ParamError(f"no noise of this grid reaches delta {delta:g} at epsilon {epsilon:g}")
    return variance


def _reached_delta(epsilon: float, squared: int, variance: int, dimension: int) -> float:
    """Return the delta that noise of this variance has at epsilon."""
    return discrete_delta(math.sqrt(squared / variance), epsilon, math.sqrt(variance), dimension)


def _map(features: FeatureMap | None, bounds: Any, classes: Any) -> FeatureMap:
    if (features is None) == (bounds is None) or (features is not None and classes is not None):
        raise ParamError(
            "expected either features, or bounds (and the classes of y): what the columns may hold "
            "must be known without looking at the data"
        )
    return FeatureMap.from_bounds(bounds, classes) if features is None else features


def squared_sensitivity(
    dimension: int, tolerance: float, grid_bits: int, neighbours: str, count_weight: Fraction
) -> int:
    """Return the largest squared change of the integer sum by one record, see the module.

    Parameters
    ----------
    dimension : int
        Features of a record, without the coordinate that counts.
    tolerance : float
        Truncation error of the kernel.
    grid_bits : int
    neighbours : {"replace-one", "add-remove"}
    count_weight : Fraction
        Weight of the coordinate that counts records.
    """
    unit = Fraction(2**grid_bits)
    if neighbours == "replace-one":
        real, rounded = 2 + 2 * Fraction(tolerance), math.isqrt(dimension) + 1
    else:
        real, rounded = 1 + count_weight**2, (math.isqrt(dimension) + 1) // 2 + 1
    length = Fraction(math.sqrt(real + Fraction(SLACK))) * unit * (1 + Fraction(2) ** -50)
    return math.ceil((length + rounded) ** 2)


def _columns(
    table: Any, features: FeatureMap, label: Any, protected: bool
) -> tuple[dict[str, Array], Any, int]:
    """Return the columns that the map names, as arrays of one length, which errors may not tell."""
    if (label is None) != (features.label is None):
        word = "y was not given" if label is None else "the map has no label"
        raise ParamError(f"{word}; give both y and the classes of the label, or neither")
    table = as_table(table, features)
    found: dict[str, Array] = {}
    for column in features.columns:
        try:
            values = table[column.name]
        except Exception as error:  # each kind of table has its own
            raise ParamError(f"the table has no column {column.name!r}") from error
        found[column.name] = as_column(f"column {column.name!r}", values)
    label = None if label is None else as_column("the label", label)
    lengths = {len(values) for values in (*found.values(), *([] if label is None else [label]))}
    if len(lengths) > 1:
        told = "" if protected else f" {sorted(lengths)}"
        raise ParamError(f"columns and label have different lengths{told}; expected one")
    N = lengths.pop()
    if not protected and not 1 <= N <= _MOST_RECORDS:
        raise ParamError(f"there are {N} records; expected 1 to 2^30 where their number is public")
    return found, label, N


def _sum(table: Mapping[str, Array], label: Any, features: FeatureMap, N: int) -> list[int]:
    """Return the exact sum of the rounded features, as integers."""
    levels = 1 if features.label is None else len(features.label.levels)
    total = np.zeros((levels, features.dimension // levels), dtype=object)  # of Python's integers
    for begin in range(0, N, features.at_once):
        rows = slice(begin, begin + features.at_once)
        part = {name: values[rows] for name, values in table.items()}
        block = np.rint(features.rows(part) * 2.0**GRID_BITS).astype(np.int64)
        codes = np.zeros(len(block), dtype=np.int64)
        if features.label is not None:
            codes = as_codes(label[rows], features.label.levels)
        for level in range(levels):
            total[level] += block[codes == level].sum(axis=0)
    found: list[int] = total.ravel().tolist()
    return found
