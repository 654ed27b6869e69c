"""The curves of a path in the coordinates of a picture; draws nothing itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sparseopt.errors import ParamError
from sparseopt.paths.columns import ColumnwisePath
from sparseopt.paths.parametric import GridPath, ParametricPath
from sparseopt.problems.base import Array

Scale = Literal["lam", "log", "l1norm"]

_NO_LOG = "lam = 0 has no place on a logarithmic axis; choose x='lam'"
_BEYOND = 0.05
"""How far above lam_max the first segment is drawn, as a fraction of the range shown."""


_LATE = 0.05
_MUCH = 0.4


def fitting_scale(path: ParametricPath | GridPath, shown: Array) -> Scale:
    """Choose the horizontal axis that keeps the path from being squeezed against the right end.

    A grid over more than a factor of 20 is spread on the logarithmic scale. Along an exact path
    whose l1 norm grows by more than 40% of its final value in the last 5% of the range of lam,
    that norm is the better axis, as long as it never shrinks.

    Parameters
    ----------
    path : ParametricPath or GridPath
    shown : bool array of shape (p,)
        Which coefficients are drawn.

    Returns
    -------
    {"lam", "log", "l1norm"}
    """
    first, last = float(path.knots[0]), float(path.knots[-1])
    if isinstance(path, GridPath):
        return "log" if first > 20.0 * last > 0.0 else "lam"
    segment = np.repeat(np.arange(len(path.low)), np.diff(path.theta.ptr))
    size = np.abs(path.theta.value) * shown[path.theta.index]
    norm = np.bincount(segment, size, len(path.low))
    late = np.abs(path.at(last + _LATE * (first - last))[shown]).sum()
    grows = bool((np.diff(norm) >= -1e-9 * norm.max()).all())
    return "l1norm" if grows and norm[-1] - late > _MUCH * norm[-1] else "lam"


@dataclass(frozen=True)
class Curves:
    """What is drawn, in the coordinates of the axes.

    Attributes
    ----------
    lines : list of arrays of shape (points, 2)
        Polylines, each the course of one coefficient (`owner`) while it is not zero.
    owner : int array
    final : array of shape (p,)
        The coefficients where the picture ends.
    start, end : float
        Places of the path's two ends.
    count : callable
        Number of nonzero coefficients among those shown at a place; None beyond the path.
    places : array or None
        The only places where there is something to count (a grid).
    """

    lines: list[Array]
    owner: Array
    final: Array
    start: float
    end: float
    count: Callable[[float], int | None]
    places: Array | None = None


def exact_curves(path: ParametricPath, shown: Array, x: Scale) -> Curves:
    """Collect the runs of nonzero pieces of a parametric path, coefficient by coefficient.

    Parameters
    ----------
    path : ParametricPath
    shown : bool array of shape (p,)
        Which coefficients are drawn.
    x : {"lam", "log", "l1norm"}
        The horizontal axis.

    Returns
    -------
    Curves
    """
    base, low, top = path.low, path.low.astype(float), path.high.astype(float)
    last = len(low) - 1
    top[0] = _shown_top(low, top[0])
    if x == "log":
        last = int(np.count_nonzero(top > 0.0)) - 1
        if last < 0:
            raise ParamError(_NO_LOG)
        low[last] = low[last] or top[last] / 2.0
        base, low, top = base[: last + 1], low[: last + 1], top[: last + 1]
    held = slice(path.theta.ptr[last + 1])
    index, value, rate = path.theta.index[held], path.theta.value[held], path.theta.rate[held]
    segment = np.repeat(np.arange(last + 1), np.diff(path.theta.ptr[: last + 2]))
    at_top = value + (top - base)[segment] * rate
    at_low = value + (low - base)[segment] * rate
    place_top, place_low = top, low
    if x == "l1norm":
        inside = shown[index]
        place_top = np.bincount(segment, np.abs(at_top) * inside, last + 1)
        place_low = np.bincount(segment, np.abs(at_low) * inside, last + 1)

    moving = (at_top != 0.0) | (at_low != 0.0)
    support = np.bincount(segment[moving & shown[index]], minlength=last + 1)
    entries = np.flatnonzero(moving & shown[index])
    entries = entries[np.lexsort((segment[entries], index[entries]))]
    owner, where = index[entries], segment[entries]
    starts = np.flatnonzero((np.diff(owner, prepend=-1) != 0) | (np.diff(where, prepend=-2) != 1))
    lines = []
    for run in np.split(np.arange(len(entries)), starts[1:]) if len(entries) else []:
        s, e = where[run], entries[run]
        xs = np.column_stack([place_top[s], place_low[s]]).ravel()
        ys = np.column_stack([at_top[e], at_low[e]]).ravel()
        # The coefficient is zero on the neighbours of the run: the step to there, if any.
        if s[0] > 0:
            xs, ys = np.append(place_low[s[0] - 1], xs), np.append(0.0, ys)
        if s[-1] < last:
            xs, ys = np.append(xs, place_top[s[-1] + 1]), np.append(ys, 0.0)
        lines.append(_curve(xs, ys) if x == "log" else np.column_stack([xs, ys]))

    final = np.zeros(path.shape[1])
    ending = segment == last
    final[index[ending]] = at_low[ending]
    reached = np.maximum.accumulate(place_low) if x == "l1norm" else -place_low

    def count(place: float) -> int | None:
        key = place if x == "l1norm" else -place
        if key > reached[-1] or (-key > path.high[0] if x != "l1norm" else key < 0.0):
            return None
        return int(support[np.searchsorted(reached, key, side="left")])

    return Curves(lines, owner[starts], final, float(place_top[0]), float(place_low[last]), count)


def column_curves(path: ColumnwisePath, shown: Array, x: Literal["lam", "log"]) -> Curves:
    """Collect the curves of all columns of a matrix, one column after another.

    Parameters
    ----------
    path : ColumnwisePath
    shown : bool array of shape (columns, rows)
        Which entries are drawn.
    x : {"lam", "log"}
        The horizontal axis.

    Returns
    -------
    Curves
    """
    parts = [exact_curves(one, mask, x) for one, mask in zip(path.columns, shown, strict=True)]

    def count(place: float) -> int | None:
        counts = [part.count(place) for part in parts]
        return None if None in counts else sum(n for n in counts if n is not None)

    return Curves(
        lines=[line for part in parts for line in part.lines],
        owner=np.concatenate([part.owner + i * shown.shape[1] for i, part in enumerate(parts)]),
        final=np.concatenate([part.final for part in parts]),
        start=max(part.start for part in parts),
        end=max(part.end for part in parts),
        count=count,
    )


def _shown_top(low: Array, top: float) -> float:
    """Return where the drawing of the first segment starts: a little above lam_max."""
    if np.isfinite(top):
        return top
    width = low[0] - low[-1]
    return float(low[0] + (_BEYOND * (width or low[0]) or 1.0))


def _curve(xs: Array, ys: Array) -> Array:
    """Refine a polyline that is affine in lam so that it looks right on a logarithmic axis."""
    ratio = np.log(xs[:-1] / xs[1:])
    pieces = np.clip(np.ceil(ratio / 0.03), 1, 200).astype(int)
    first = np.repeat(np.arange(len(pieces)), pieces)
    share = (np.arange(len(first)) - np.repeat(np.cumsum(pieces) - pieces, pieces)) / pieces[first]
    x = xs[first] * (xs[first + 1] / xs[first]) ** share
    width = (xs[first + 1] - xs[first]) + (xs[first + 1] == xs[first])
    y = ys[first] + (x - xs[first]) / width * (ys[first + 1] - ys[first])
    return np.column_stack([np.append(x, xs[-1]), np.append(y, ys[-1])])


def grid_curves(path: GridPath, shown: Array, x: Scale) -> Curves:
    """Collect the solutions on a grid, one polyline for each coefficient that is ever nonzero.

    Parameters
    ----------
    path : GridPath
    shown : bool array of shape (p,)
        Which coefficients are drawn.
    x : {"lam", "log", "l1norm"}
        The horizontal axis.

    Returns
    -------
    Curves
    """
    theta = np.asarray(path.theta, dtype=float)
    keep = path.knots > 0.0 if x == "log" else np.ones(len(path.knots), bool)
    if not keep.any():
        raise ParamError(_NO_LOG)
    theta, place = theta[keep], path.knots[keep]
    support = np.count_nonzero(theta[:, shown], axis=1)
    if x == "l1norm":
        place = np.abs(theta[:, shown]).sum(axis=1)
    owner = np.flatnonzero(theta.any(axis=0) & shown)
    lines = [np.column_stack([place, theta[:, j]]) for j in owner]
    numbers = {float(at): int(n) for at, n in zip(place, support, strict=True)}
    return Curves(lines, owner, theta[-1], float(place[0]), float(place[-1]), numbers.get, place)
