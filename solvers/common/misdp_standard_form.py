"""A MISDP in the standard form that engines solve, and the way back.

:mod:`sparseopt.proofs.misdp_standard_form` says what it is. Here are the numbers that it takes: the
least and the largest value of each indicator's row, and a factor of the objective's matrix.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from sparseopt.problems.base import Array
from sparseopt.problems.misdp.problem import MISDP
from sparseopt.proofs.misdp_standard_form import (
    StandardNumbers,
    curvature_unit,
    is_standard,
    standard_problem,
)
from sparseopt.result import Limit, Result, Status

_EPS = float(np.finfo(float).eps)
_ROUNDING = 1e-9
"""A gap up to this part of the terms of the objective is rounding, as for the checker."""
_OUT = 1e-9
"""Values of an indicator's row are moved outwards by this part of their terms, for the checker's
own bounds may be that much looser."""
_ZERO = 1e-14
"""Costs that are left of the quadratic part's, relative to their terms, up to which they are 0."""
_FAR = 100.0
"""Minima without constraints whose value is this far from zero, relative to the largest cost, are
not made the origin where there are constraints."""
_MOVES = 100
_MOVE_GAINS = 1e-6
"""Moves of integers are made at most so often, and where they gain this part of a curvature."""
_SHIFTS = 10
"""Shifts of the matrix that are tried for a factor whose square it exceeds, each four times the
one before."""


class StandardForm:
    """The standard form of a problem.

    Parameters
    ----------
    given : MISDP
    box : tuple of arrays of shape (n,), optional
        Bounds that follow from its constraints. Default: its bounds.

    Attributes
    ----------
    given : MISDP
    problem : MISDP
        The given one, where it is in that form already.
    """

    def __init__(self, given: MISDP, box: tuple[Array, Array] | None = None) -> None:
        self.given = self.problem = given
        if is_standard(given):
            return
        least, most = _reach(given, box or (given.lower, given.upper))
        curved = given.Q is not None
        objective = (
            _factorised(given) if curved else (np.zeros((len(given.c), 0)), np.zeros(0), given.c)
        )
        factor, shift, costs = objective
        self._numbers = StandardNumbers(factor, shift, costs, least, most)
        self.problem = standard_problem(given, self._numbers)

    def near_the_minimum(self) -> Array | None:
        """Return a good point (n,) of the objective alone, None where it is linear.

        The costs are s ||L'x + h||^2 / 2 up to a constant. One variable after the other takes the
        value that is best for the ones before, rounded where it is an integer and within its
        bounds (Babai 1986, nearest plane); then integers move by one, one or two at a time, as
        long as that helps. Minima that are far from the origin are known to more digits so than
        relaxations find them with.

        Notes
        -----
        O(n^2 r), and O(q^2) for each move.
        """
        given = self.given
        if given.Q is None:
            return None
        L = self._numbers.factor
        sign = 1.0 if given.sense == "min" else -1.0
        slope = sign * given.c / curvature_unit(given)
        shift = np.linalg.lstsq(L, slope, rcond=None)[0]
        x = np.clip(0.0, given.lower, given.upper)
        # Continuous variables last: they make up for what rounding costs.
        left = [*np.flatnonzero(given.integer), *np.flatnonzero(~given.integer)]
        left = [j for j in left if L[j].any()]
        miss = L.T @ x + shift
        while left:
            rest = np.linalg.lstsq(L[left].T, -miss, rcond=None)[0]
            j = left.pop(0)
            value = x[j] + rest[0]
            value = np.rint(value) if given.integer[j] else value
            value = float(np.clip(value, given.lower[j], given.upper[j]))
            miss += L[j] * (value - x[j])
            x[j] = value
        return _descended(x, np.flatnonzero(given.integer), L, shift, given)

    def down(self, x: Array) -> Array:
        """Return a point of the given problem as one of the standard form.

        Parameters
        ----------
        x : array of shape (n,)
        """
        if self.problem is self.given:
            return x
        n = len(x)
        whole = np.zeros(len(self.problem.c))
        whole[:n] = x
        at = n
        if self.given.Q is not None:
            tail = self._numbers.factor.T @ x + self._numbers.shift
            whole[n] = 0.5 * float(tail @ tail)
            at += 1
        A = sp.csc_array(self.problem.A[:, at:])
        value = self.problem.A @ whole
        for slack, entry in enumerate(A.indptr[:-1].tolist()):
            row = A.indices[entry]
            over, under = (
                value[row] - self.problem.row_upper[row],
                self.problem.row_lower[row] - value[row],
            )
            whole[at + slack] = max(0.0, over if A.data[entry] < 0.0 else under)
        return whole

    def up(self, x: Array) -> Array:
        """Return a point of the standard form in the given problem."""
        return x[: len(self.given.c)]

    def answer(self, result: Result, rel_gap: float = np.inf, abs_gap: float = np.inf) -> Result:
        """Return a result of the standard form as one of the given problem.

        Parameters
        ----------
        result : Result
        rel_gap, abs_gap : float, optional
            What was asked. The terms of the standard form may be larger than those of the problem;
            where their rounding leaves a gap that is none of the problem's, it is not closed.
        """
        given = self.given
        if self.problem is given:
            return result
        changes: dict[str, Any] = {}
        if result.x is not None:
            x = self.up(result.x)
            changes = {"x": x, "objective": given.objective(x)}
            # The square of the factor and the matrix differ by rounding.
            value = changes["objective"]
            better, worse = (min, max) if given.sense == "min" else (max, min)
            if result.bound is not None:
                changes["bound"] = better(value, result.bound)
            changes["trace"] = tuple(
                (s, None if o is None else worse(o, value), None if b is None else better(b, value))
                for s, o, b in result.trace
            )
        certificate = result.certificate
        if certificate is not None:
            arrays = dict(certificate.arrays)
            for name in ("x", "ray", "bend"):
                if name in arrays:
                    arrays[name] = self.up(arrays[name])
            if certificate.kind.endswith("leaves"):
                numbers = self._numbers
                if given.indicators:
                    arrays |= {"indicator_least": numbers.least, "indicator_most": numbers.most}
                if given.Q is not None:
                    arrays |= {
                        "quadratic_factor": numbers.factor,
                        "quadratic_shift": numbers.shift,
                        "quadratic_costs": numbers.costs,
                    }
            keep = certificate.kind != "curve" or given.Q is None
            changes["certificate"] = replace(certificate, arrays=arrays) if keep else None
        result = result.with_changes(**changes)
        if result.status is Status.OPTIMAL and result.x is not None:
            gap = abs((result.objective or 0.0) - (result.bound or 0.0))
            size = abs(result.objective or 0.0)
            costs = np.append(given.c, [given.offset])
            largest = max(np.abs(costs).max(), 0.0 if given.Q is None else abs(given.Q).max())
            rounding = _ROUNDING * min(given.objective_scale(result.x), float(largest))
            if gap > max(abs_gap, rel_gap * size, rounding):
                result = result.with_changes(status=Status.FEASIBLE, limit=Limit.SLOW_PROGRESS)
        return result


def _descended(x: Array, whole: Array, L: Array, shift: Array, problem: MISDP) -> Array:
    """Return x after moves of one or two integers by 1 that make ||L'x + h||^2 smaller."""
    steps = np.repeat([1.0, -1.0], len(whole))
    columns = np.tile(whole, 2)
    gram = (L[columns] @ L[columns].T) * np.outer(steps, steps)
    # One variable moves alone where it is paired with itself; not up and down at once.
    np.fill_diagonal(gram, 0.0)
    alone = 0.5 * (L[columns] ** 2).sum(axis=1)
    for _ in range(_MOVES if len(whole) else 0):
        gain = steps * (L[columns] @ (L.T @ x + shift)) + alone
        moved = x[columns] + steps
        gain[(moved < problem.lower[columns]) | (moved > problem.upper[columns])] = np.inf
        both = gain[:, None] + gain + gram
        np.fill_diagonal(both, gain)
        a, b = np.unravel_index(int(np.argmin(both)), both.shape)
        if both[a, b] >= -_MOVE_GAINS * alone.max(initial=0.0):
            break
        for j in {int(a), int(b)}:
            x[columns[j]] += steps[j]
    return x


def endless_indicators(problem: MISDP) -> list[int]:
    """Return the indicators whose rows have no bounds that follow from those of the variables.

    Parameters
    ----------
    problem : MISDP
    """
    found = []
    for i, row in enumerate(problem.indicators):
        low, high = _range(row.a, problem.lower, problem.upper)
        if (low == -np.inf and row.lower > -np.inf) or (high == np.inf and row.upper < np.inf):
            found.append(i)
    return found


def _reach(problem: MISDP, box: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return the least and the largest value of each indicator's row, two arrays of shape (k,).

    A side that every point of the box is within may be what the box follows from, where the binary
    variable must be 1. It stays a row unless the bounds of the variables alone imply it.
    """
    least, most = np.empty((2, len(problem.indicators)))
    for i, row in enumerate(problem.indicators):
        low, high = _range(row.a, *box)
        below, above = _range(row.a, problem.lower, problem.upper)
        if low >= row.lower > -np.inf:
            low = max(below, row.lower - max(1.0, abs(row.lower)))
        if high <= row.upper < np.inf:
            high = min(above, row.upper + max(1.0, abs(row.upper)))
        least[i], most[i] = low, high
    return least, most


def _range(a: sp.csr_array, lower: Array, upper: Array) -> tuple[float, float]:
    """Return the least and the largest value of a'x in a box, moved outwards."""
    ends = a.data * lower[a.indices], a.data * upper[a.indices]
    low, high = (f(*ends) for f in (np.minimum, np.maximum))
    sizes = [max(1.0, float(np.abs(part).sum())) for part in (low, high)]
    return float(low.sum()) - _OUT * sizes[0], float(high.sum()) + _OUT * sizes[1]


def _factorised(problem: MISDP) -> tuple[Array, Array, Array]:
    """Return L, h and the costs that are left.

    s L L' is below the matrix if that can be, so that nothing need be charged: the rest is then
    diagonally dominant. A singular matrix is factorised with pivots, up to rounding. Where h is
    not zero a cutoff bounds variables, and values of t are small.

    Notes
    -----
    O(n^3), for the rows that are not empty.
    """
    used = np.flatnonzero(np.diff(problem.Q.indptr))
    sign = 1.0 if problem.sense == "min" else -1.0
    unit = curvature_unit(problem)
    H = sign * problem.Q[used][:, used].toarray() / unit
    n = len(used)
    L = _below(H)
    if L is None:
        packed, pivots, rank, _ = scipy.linalg.lapack.dpstrf(H, lower=1)
        L = np.zeros((n, rank))
        L[pivots - 1] = np.tril(packed)[:, :rank]
    whole = np.zeros((len(problem.c), L.shape[1]))
    whole[used] = L
    shift = np.linalg.lstsq(L, sign * problem.c[used] / unit, rcond=None)[0]
    if not _origin(problem, used, L, shift, unit):
        return whole, np.zeros(len(shift)), problem.c
    costs = problem.c.copy()
    terms = np.abs(costs[used]) + unit * (np.abs(L) @ np.abs(shift))
    costs[used] -= sign * unit * (L @ shift)
    costs[used[np.abs(costs[used]) <= _ZERO * terms]] = 0.0
    return whole, shift, costs


def _origin(problem: MISDP, used: Array, L: Array, shift: Array, unit: float) -> bool:
    """Return whether the minimum without constraints, -L^-T h, is a good origin.

    It is if nothing but bounds constrains the variables, and it is within them. Where there are
    other constraints it may be far from what they allow, and differences would cancel.
    """
    low, high = problem.lower[used], problem.upper[used]
    least = -np.linalg.lstsq(L.T, shift, rcond=None)[0]
    if (least < low).any() or (least > high).any():
        return False
    parts = [problem.A, *(part.F for part in (*problem.cones, *problem.blocks))]
    if not any(abs(F[:, used]).sum() for F in (*parts, *(row.a for row in problem.indicators))):
        return True
    size = max(unit, float(np.abs(problem.c).max()), abs(problem.offset))
    far = unit * float(shift @ shift) > _FAR * size
    return not far and not np.isfinite(np.concatenate([low, high])).all()


def _below(H: Array) -> Array | None:
    """Return a triangular L for which H - L L' is diagonally dominant; None for a singular H."""
    n = len(H)
    shift = 8.0 * _EPS * n
    for _ in range(_SHIFTS):
        try:
            L = np.linalg.cholesky(H - shift * np.eye(n))
        except np.linalg.LinAlgError:
            return None
        E = H - L @ L.T
        error = _EPS * ((n + 4.0) * (np.abs(L) @ np.abs(L).T) + np.abs(H))
        beside = (np.abs(E) + error).sum(axis=1) - np.abs(np.diagonal(E))
        if (2.0 * beside <= np.diagonal(E)).all():
            return L
        shift *= 4.0
    return None
