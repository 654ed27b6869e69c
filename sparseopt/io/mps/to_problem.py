"""From what an MPS file says to a problem."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseopt.errors import ProblemError
from sparseopt.io.mps.model import MpsModel, default_names
from sparseopt.problems import ParametricLP, Pieces, PiecewiseLinearProgram
from sparseopt.problems.base import Array

_LARGEST_DENSE = 2**27


def is_parametric_lp(model: MpsModel) -> bool:
    """Return whether the model is max (c + lam c_bar)'x, A x <= b + lam b_bar or all =, x >= 0.

    Parameters
    ----------
    model : MpsModel

    Returns
    -------
    bool
    """
    return (
        model.maximize
        and len(set(model.senses)) == 1
        and model.senses[0] in "LE"
        and model.ranges is None
        and bool(np.isfinite(model.b).all())
        and not model.constant.any()
        and not model.lower.any()
        and bool(np.isposinf(model.upper).all())
    )


def problem_of(model: MpsModel) -> ParametricLP | PiecewiseLinearProgram:
    """Build the problem; one that is not a ParametricLP minimises, so MAX objectives are negated.

    Parameters
    ----------
    model : MpsModel

    Returns
    -------
    ParametricLP or PiecewiseLinearProgram

    Raises
    ------
    ProblemError
        When the comment of sparseopt contradicts the rest of the file.
    """
    A = _matrix(model)
    names = _names(model)
    if is_parametric_lp(model):
        return ParametricLP(
            A=A,
            b=model.b,
            b_bar=model.b_bar,
            c=model.c,
            c_bar=model.c_bar,
            form="inequality" if model.senses[0] == "L" else "equality",
            names=names,
        )
    # No negative zeros: written from the other end of an interval, they would come back positive.
    sign = -1.0 if model.maximize else 1.0
    cost, rate = 0.0 + sign * model.c, 0.0 + sign * model.c_bar
    phi, base = _bounded_costs(cost, rate, 0.0 + model.lower, 0.0 + model.upper)
    # Every function of the general form is zero at its first kink: the rest is a constant.
    k0, k1, k2 = (0.0 + sign * model.constant).tolist()
    offset = [math.fsum([k0, *(cost * base)]), math.fsum([k1, *(rate * base)]), k2]
    return PiecewiseLinearProgram(A, phi, _row_intervals(model), np.array(offset), names)


def _matrix(model: MpsModel) -> Any:
    shape = (len(model.rows), len(model.columns))
    if model.header.get("storage") == "dense":
        if math.prod(shape) > max(_LARGEST_DENSE, 100 * len(model.entry)):
            raise ProblemError(f"the header asks for a dense matrix of shape {shape}: too large")
        dense = np.zeros(shape)
        dense[model.entry_row, model.entry_column] = model.entry
        return dense
    return sp.csr_array((model.entry, (model.entry_row, model.entry_column)), shape=shape)


def _names(model: MpsModel) -> list[str] | None:
    """Return the names of the columns, None where they only count: x0, x1, ..."""
    kept = model.header.get("names")
    if kept is not None:
        if (
            not isinstance(kept, list)
            or len(kept) != len(model.columns)
            or not all(isinstance(name, str) for name in kept)
        ):
            raise ProblemError("the header's entry names must be a text for each column", "names")
        return kept
    return None if model.columns == default_names(len(model.columns)) else model.columns


def _bounded_costs(cost: Array, rate: Array, low: Array, high: Array) -> tuple[Pieces, Array]:
    """Return the functions cost * (x - base) on [low, high], and the bases."""
    base = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high, 0.0))
    kinks: list[float] = []
    slopes: list[float] = []
    rates: list[float] = []
    counts = []
    for j, (below, above) in enumerate(zip(np.isfinite(low), np.isfinite(high), strict=True)):
        here = [base[j], high[j]] if below and above else [base[j]]
        kinks += here
        counts.append(len(here))
        middle = 1 if below or above else 2
        slopes += [-np.inf] * bool(below) + [cost[j]] * middle + [np.inf] * bool(above)
        rates += [0.0] * bool(below) + [rate[j]] * middle + [0.0] * bool(above)
    return _pieces(counts, kinks, np.zeros(len(kinks)), slopes, rates), base


def _row_intervals(model: MpsModel) -> Pieces:
    """Return the indicators of the rows' intervals, which move with lam as a whole.

    A row without limits is the function 0, with a kink at 0 that is none.
    """
    kinks: list[float] = []
    kink_rates: list[float] = []
    slopes: list[float] = []
    counts = []
    ranges = np.full(len(model.rows), np.nan) if model.ranges is None else model.ranges
    b, b_bar = 0.0 + model.b, 0.0 + model.b_bar
    for sense, right, rate, width in zip(model.senses, b, b_bar, ranges, strict=True):
        low, high = _interval(sense, float(right), float(width))
        ends = [end for end in (low, high) if math.isfinite(end)]
        middle = 1 if ends else 2
        kinks += ends or [0.0]
        kink_rates += [float(rate)] * len(ends) or [0.0]
        counts.append(max(1, len(ends)))
        slopes += [-np.inf] * math.isfinite(low) + [0.0] * middle + [np.inf] * math.isfinite(high)
    return _pieces(counts, kinks, kink_rates, slopes, np.zeros(len(slopes)))


def _interval(sense: str, right: float, width: float) -> tuple[float, float]:
    """Return the ends of a row's interval at lam = 0; `width` is NaN without a range."""
    free = math.isnan(width) or math.isinf(right)
    if sense == "L":
        return (-math.inf if free else right - abs(width)), right
    if sense == "G":
        return right, (math.inf if free else right + abs(width))
    if free:
        return right, right
    return min(right, right + width), max(right, right + width)


def _pieces(counts: Any, kinks: Any, kink_rates: Any, slopes: Any, slope_rates: Any) -> Pieces:
    return Pieces(
        ptr=np.cumsum([0, *counts], dtype=np.int64),
        kink=np.array(kinks, dtype=np.float64),
        kink_rate=np.array(kink_rates, dtype=np.float64),
        slope=np.array(slopes, dtype=np.float64),
        slope_rate=np.array(slope_rates, dtype=np.float64),
    )
