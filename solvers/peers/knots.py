"""Paths from the solutions at their knots, for peers that return no more than these."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from sparseopt.paths.parametric import ParametricPath, SparseRows
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.l1 import PenalisedL1
from sparseopt.problems.parametric.problem import ParametricProblem

_SAME = 1e-12
"""Knots closer than this, relative to the first, are one."""


@dataclass(frozen=True, eq=False)
class Knots:
    """What a peer returns: its values of lam, not increasing, and a solution at each.

    Attributes
    ----------
    problem : ParametricProblem
    lam : array of shape (K,)
    theta : array of shape (K, p)
    out_of_pivots : bool
        Whether it ended because it was allowed no more.
    """

    problem: ParametricProblem
    lam: Array
    theta: Array
    out_of_pivots: bool

    def groups(self, stop: float) -> Iterator[tuple[float, int, int]]:
        """Yield (lam, first, last) of the knots that share one lam, which may be `stop`."""
        close = _SAME * self.lam[0]
        lam = np.where(self.lam > close, self.lam, 0.0)
        lam[np.abs(lam - stop) <= close] = stop
        apart = np.flatnonzero(-np.diff(lam) > _SAME * lam[0]) + 1
        ends = [0, *apart.tolist(), len(lam)]
        for first, following in pairwise(ends):
            yield float(lam[first]), first, following - 1


@dataclass(frozen=True)
class _Piece:
    """One segment: solutions at its two ends, constant beyond where `high` is infinite."""

    low: float
    high: float
    at_low: Array
    at_high: Array


def constrained(knots: Knots, stop: float) -> ParametricPath:
    """Return a path whose solutions run straight from knot to knot (band models).

    Parameters
    ----------
    knots : Knots
    stop : float
        The lam at which the path ends.

    Returns
    -------
    ParametricPath
    """
    pieces: list[_Piece] = []
    above, high = np.zeros(knots.theta.shape[1]), np.inf
    for lam, first, last in knots.groups(stop):
        at_low = above if np.isinf(high) else knots.theta[first]
        if lam < stop < high and np.isfinite(high):
            share = (stop - lam) / (high - lam)
            at_low = at_low + share * (above - at_low)
            lam = stop
        elif lam < stop:
            lam = stop
        pieces.append(_Piece(lam, high, at_low, above))
        if lam <= stop:
            break
        above, high = knots.theta[last], lam
    return _assemble(knots, pieces, stop)


def penalised(knots: Knots, stop: float) -> ParametricPath:
    """Return a path whose solutions are constant down to each knot (penalised losses).

    Parameters
    ----------
    knots : Knots
    stop : float
        The lam at which the path ends.

    Returns
    -------
    ParametricPath
    """
    pieces: list[_Piece] = []
    high = np.inf
    for lam, first, _ in knots.groups(stop):
        low = max(lam, stop)
        pieces.append(_Piece(low, high, knots.theta[first], knots.theta[first]))
        if low <= stop:
            break
        high = low
    return _assemble(knots, pieces, stop)


def norm_bounded(knots: Knots, stop: float) -> ParametricPath:
    r"""Return the penalised path from the vertices of the one whose l1 norm is bounded.

    The least loss as a function of the norm t is convex and piecewise linear; the vertex between
    the slopes :math:`-\lambda_-` and :math:`-\lambda_+` is optimal for the penalties between.

    Parameters
    ----------
    knots : Knots
        Of a PenalisedL1; their lam is not used.
    stop : float
        The lam at which the path ends.

    Returns
    -------
    ParametricPath
    """
    problem = knots.problem
    assert isinstance(problem, PenalisedL1)
    # From the smallest norm on: lam decreases.
    norm = np.array([problem.l1_norm(x) for x in knots.theta])
    loss = np.array([problem.loss(x) for x in knots.theta])
    hull: list[int] = []
    for k in np.lexsort((loss, norm)).tolist():
        if hull and loss[k] >= loss[hull[-1]] - _SAME * (1.0 + loss.max()):
            continue
        while len(hull) > 1 and _slope(norm, loss, hull[-1], k) <= _slope(
            norm, loss, hull[-2], hull[-1]
        ):
            hull.pop()
        hull.append(k)
    pieces: list[_Piece] = []
    at_zero = norm[hull[0]] <= _SAME * (1.0 + norm.max())
    high = np.inf if at_zero else -_slope(norm, loss, hull[0], hull[1])
    for k, after in pairwise(hull if at_zero else hull[1:]):
        low = max(-_slope(norm, loss, k, after), stop)
        pieces.append(_Piece(low, high, knots.theta[k], knots.theta[k]))
        high = low
        if low <= stop:
            break
    else:
        pieces.append(_Piece(stop, high, knots.theta[hull[-1]], knots.theta[hull[-1]]))
    return _assemble(knots, pieces, stop)


def _slope(norm: Array, loss: Array, i: int, j: int) -> float:
    return float((loss[j] - loss[i]) / (norm[j] - norm[i]))


def _assemble(knots: Knots, pieces: list[_Piece], stop: float) -> ParametricPath:
    problem = knots.problem
    rows, objective = [], []
    for piece in pieces:
        length = piece.high - piece.low if np.isfinite(piece.high) else 1.0
        rate = (piece.at_high - piece.at_low) / length
        used = np.flatnonzero((piece.at_low != 0.0) | (rate != 0.0))
        rows.append((used, piece.at_low[used], rate[used]))
        value = problem.objective(piece.at_low, piece.low)
        above = problem.objective(piece.at_high, piece.low + length)
        objective.append((value, (above - value) / length, 0.0))
    low = np.array([piece.low for piece in pieces])
    reached = "lam_min" if low[-1] <= stop else "slow_progress"
    m, p = problem.canonical().A.shape
    none = np.zeros(0)
    return ParametricPath(
        low=low,
        high=np.array([piece.high for piece in pieces]),
        theta=SparseRows.stack(rows),
        nu=SparseRows.stack([(none, none, none)] * len(pieces)),
        objective=np.array(objective),
        shape=(m, p),
        names=problem.coefficient_names,
        stopped_by="iteration" if knots.out_of_pivots and reached != "lam_min" else reached,
    )


def cut(path: ParametricPath, max_knots: int | None, max_nonzeros: int | None) -> ParametricPath:
    """Return the path down to where the question stops it.

    Parameters
    ----------
    path : ParametricPath
    max_knots, max_nonzeros : int or None
        None for no limit.

    Returns
    -------
    ParametricPath
    """
    keep, why = len(path.low), path.stopped_by
    if max_nonzeros is not None:
        counts = np.diff(path.theta.ptr)
        beyond = np.flatnonzero(counts[1:] > max_nonzeros) + 1
        if len(beyond):
            keep, why = int(beyond[0]), "max_nonzeros"
    if max_knots is not None and keep > max_knots:
        keep, why = max_knots, "max_knots"
    if keep == len(path.low):
        return path
    theta = path.theta
    end = theta.ptr[keep]
    return replace(
        path,
        low=path.low[:keep],
        high=path.high[:keep],
        theta=SparseRows(
            theta.ptr[: keep + 1], theta.index[:end], theta.value[:end], theta.rate[:end]
        ),
        nu=SparseRows(path.nu.ptr[: keep + 1], path.nu.index, path.nu.value, path.nu.rate),
        objective=path.objective[:keep],
        stopped_by=why,
    )
