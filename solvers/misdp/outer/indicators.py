r"""Linear inequalities that hold where the integers are integral, for masters only.

They are no sums of the problem's own constraints, so they are no part of a proof. Let q be an
integer variable and s the distance from one of its ends, so that s = 0 there and s >= 1 beyond.

- **Probing.** With q at that end, propagation gives another variable a tighter bound:
  :math:`x_j \le u_0 + (u - u_0) s`. Without these rows a matrix forces entries beside a vanishing
  diagonal to zero only in the limit of infinitely many cuts.
- **Perspectives.** Where :math:`M_{ii}` vanishes with s, and M is positive semidefinite,

  .. math:: M_{ij}^2 \le u_j M_{ii} s, \qquad \sum_{j \in S} M_{ij}^2 \le t\, M_{ii} s, \qquad
            \Big(\sum_{j \in S} |M_{ij}|\Big)^2 \le k t\, M_{ii} s,

  with :math:`u_j` the largest :math:`M_{jj}`, S the lines that can vanish, t the largest trace of M
  over S, and k the largest number of lines in S that do not vanish: at s = 0 both sides are zero,
  and for s >= 1 the largest eigenvalue of M over S is at most t. For sparse trust regions these are
  the rows that the strong formulation adds to the weak one (Wang, Dey, Xie, theorem 4.4), and more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseopt.backend import Control
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import SecondOrderCone, SemidefiniteBlock, triangle
from sparseopt.problems.misdp.problem import MISDP

from ..bounding.lower_bounds import Box
from ..bounding.violation import cone_normal
from ..reductions.propagation import Propagation
from ..settings import (
    CUT_SAME,
    INTEGRAL,
    PERSPECTIVE_VIOLATED,
    PROBING_ENTRIES,
    PROBING_NUMBERS,
    PROBING_TIGHTER,
    PROBING_ZERO,
)


@dataclass(frozen=True, eq=False)
class _End:
    """An end of an integer variable: s = sign x_j + at vanishes there."""

    j: int
    sign: float
    at: float


class Indicators:
    """Rows a'x >= b that feasible points with integral integers meet.

    Parameters
    ----------
    problem : MISDP
    propagation : Propagation
    box : tuple of arrays of shape (n,)
        Bounds of all variables.
    control : Control
    largest : callable
        Gives an upper bound of a'x over the box, the rows and the cuts, for a of shape (n,).

    Attributes
    ----------
    rows : list of arrays of shape (n,)
        Scaled to a largest coefficient of 1.
    sides : list of float
    """

    def __init__(
        self,
        problem: MISDP,
        propagation: Propagation,
        box: Box,
        control: Control,
        largest: Callable[[Array], float],
    ) -> None:
        self.problem = problem
        self.rows: list[Array] = []
        self.sides: list[float] = []
        self._box = box
        self._cones: list[SecondOrderCone] = []
        self._lines: list[_Line] = []
        self._seen: set[bytes] = set()
        self._largest = largest
        vanishing: list[dict[int, _End]] = [{} for _ in problem.blocks]
        tops = [_tops(block, box) for block in problem.blocks]
        for end in self._ends():
            if control.limit() is not None:
                return
            low, high = box[0].copy(), box[1].copy()
            low[end.j] = high[end.j] = -end.at * end.sign
            tight = propagation.tighten(low, high)
            if tight is None:
                self._add(*self._row(end, 1.0, -1.0))
                continue
            self._probe(end, tight)
            for block, top, found in zip(problem.blocks, tops, vanishing, strict=True):
                gone = (_tops(block, tight) <= PROBING_ZERO) & (top > PROBING_ZERO)
                for i in np.flatnonzero(gone).tolist():
                    found.setdefault(i, end)
        for block, top, found in zip(problem.blocks, tops, vanishing, strict=True):
            if found:
                self._add_perspectives(block, found, top)

    def __len__(self) -> int:
        return len(self.rows)

    def separate(self, x: Array) -> int:
        """Add tangents of the perspectives that x misses; return how many."""
        count = 0
        for cone in self._cones:
            u = cone.value(x)
            if not _met(u):
                w = cone_normal(u, True)
                count += self._add(cone.F.T @ w, -float(w @ cone.g))
        for line in self._lines:
            found = line.tangent(x)
            count += found is not None and self._add(*found)
        return count

    def _ends(self) -> list[_End]:
        """Return the ends to be probed."""
        problem, (low, high) = self.problem, self._box
        open_ = problem.integer & np.isfinite(low) & np.isfinite(high) & (low < high)
        parts = [problem.A, *(c.F for c in problem.cones), *(b.F for b in problem.blocks)]
        entries = max(1, sum(part.nnz for part in parts))
        chosen = np.flatnonzero(open_)[: PROBING_ENTRIES // entries]
        return [
            end
            for j in chosen.tolist()
            for end in (_End(j, 1.0, -float(low[j])), _End(j, -1.0, float(high[j])))
        ]

    def _row(self, end: _End, times: float, constant: float) -> tuple[Array, float]:
        """Return times s + constant >= 0 as a row and its side."""
        row = np.zeros(len(self.problem.c))
        row[end.j] = times * end.sign
        return row, -constant - times * end.at

    def _probe(self, end: _End, tight: Box) -> None:
        """Add rows for the bounds that the other variables have at an end."""
        low, high = self._box
        with np.errstate(invalid="ignore"):
            least = PROBING_TIGHTER * np.maximum(high - low, PROBING_ZERO)
            up = np.isfinite(high) & (high - tight[1] > least)
            down = np.isfinite(low) & (tight[0] - low > least)
        up[end.j] = down[end.j] = False
        for k in np.flatnonzero(up).tolist():
            row, side = self._row(end, high[k] - tight[1][k], tight[1][k])
            row[k] = -1.0
            self._add(row, side)
        for k in np.flatnonzero(down).tolist():
            row, side = self._row(end, tight[0][k] - low[k], -tight[0][k])
            row[k] = 1.0
            self._add(row, side)

    def _add_perspectives(
        self, block: SemidefiniteBlock, vanishing: dict[int, _End], tops: Array
    ) -> None:
        """Add the cones of one block, of whose lines some vanish.

        Parameters
        ----------
        block : SemidefiniteBlock
        vanishing : dict of int to _End
            Where each of these lines does.
        tops : array of shape (s,)
            The largest values of the diagonal.
        """
        rows, columns = triangle(block.size)
        place = np.zeros((block.size, block.size), dtype=np.int64)
        place[rows, columns] = place[columns, rows] = np.arange(len(rows))
        among = np.array(sorted(vanishing))
        diagonal = place[among, among]
        trace = self._largest(np.asarray(block.F[diagonal].sum(axis=0)).ravel())
        trace = max(0.0, trace + float(block.F0[diagonal].sum()))
        ends = [self._row(end, 1.0, 0.0) for end in vanishing.values()]
        count = self._largest(np.sum([row for row, _ in ends], axis=0)) - sum(
            side for _, side in ends
        )
        count = min(float(np.floor(count + INTEGRAL)), float(len(among)))
        for i, end in vanishing.items():
            distance, side = self._row(end, 0.5, 0.0)

            def cone(
                places: Array, i: int = i, distance: Array = distance, side: float = side
            ) -> tuple[Any, Array]:
                """Return forms and constants of M_ii, s / 2, and entries of the line."""
                own = place[i, [i]]
                parts = [block.F[own], sp.csr_array(distance[None]), block.F[places]]
                F = sp.csr_array(sp.vstack(parts, format="csr"))
                return F, np.concatenate([block.F0[own], [-side], block.F0[places]])

            if np.isfinite(trace):
                F, g = cone(place[i, among])
                self._cones.append(_scaled(F, g, trace))
                self._lines.append(_Line(F, g, count * trace))
            for j in np.flatnonzero(np.isfinite(tops)).tolist():
                if j != i and (j not in vanishing or tops[j] < trace):
                    self._cones.append(_scaled(*cone(place[i, [j]]), max(0.0, float(tops[j]))))

    def _add(self, row: Array, side: float) -> bool:
        size = float(np.abs(row).max(initial=0.0))
        if (
            size <= 0.0
            or not np.isfinite(size)
            or (len(self.rows) + 1) * len(row) > PROBING_NUMBERS
        ):
            return False
        row, side = row / size, side / size
        key = (np.round(np.append(row, side) / CUT_SAME) + 0.0).tobytes()
        if key in self._seen:
            return False
        self._seen.add(key)
        self.rows.append(row)
        self.sides.append(side)
        return True


@dataclass(frozen=True, eq=False)
class _Line:
    """A line of a matrix that vanishes with the distance s.

    Attributes
    ----------
    F : csr array of shape (k, n)
    g : array of shape (k,)
        M_ii, s / 2, and the entries of S are F x + g.
    most : float
        The largest number of lines in S that do not vanish, times t.
    """

    F: Any
    g: Array
    most: float

    def tangent(self, x: Array) -> tuple[Array, float] | None:
        """Return a cut that x misses: (sum of absolute entries)^2 <= most M_ii s."""
        values = self.F @ x + self.g
        signs = np.where(values[2:] < 0.0, -1.0, 1.0)
        u = np.array([values[0], self.most * values[1], signs @ values[2:]])
        if _met(u):
            return None
        w = cone_normal(u, True)
        weights = np.concatenate([[w[0], self.most * w[1]], w[2] * signs])
        return np.asarray(self.F.T @ weights), -float(weights @ self.g)


def _scaled(F: Any, g: Array, top: float) -> SecondOrderCone:
    """Return the rotated cone whose second head is top times what it is."""
    scale = np.ones(len(g))
    scale[1] = top
    return SecondOrderCone(F=sp.diags_array(scale) @ F, g=scale * g, rotated=True)


def _met(u: Array) -> bool:
    return bool(2.0 * max(u[0], 0.0) * max(u[1], 0.0) - u[2:] @ u[2:] >= -PERSPECTIVE_VIOLATED)


def _tops(block: SemidefiniteBlock, box: Box) -> Array:
    """Return upper bounds of the diagonal entries over a box."""
    rows, columns = triangle(block.size)
    F = block.F[np.flatnonzero(rows == columns)]
    with np.errstate(invalid="ignore"):
        reach = F.maximum(0.0) @ box[1] + F.minimum(0.0) @ box[0]
    return np.asarray(np.where(np.isnan(reach), np.inf, reach) + block.F0[rows == columns])
