r"""Linear inequalities that every feasible point meets: <V, M(x)> >= 0 and w'(F x + g) >= 0.

V is positive semidefinite and w in the cone, so that a nonnegative combination of cuts is again a
multiplier of the constraint: the multipliers of a linear program over cuts add up to ones of the
MISDP itself, and prove the same bound.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import pack_symmetric, triangle_weights, unpack_symmetric
from sparseopt.problems.misdp.problem import MISDP

from ..bounding.lower_bounds import Box
from ..bounding.violation import cone_normal
from ..bounds import ConicMultipliers
from ..settings import CUT_HUGE, CUT_LOST, CUT_PAIRS, CUT_SAME, CUT_SPARSE, CUT_TINY, CUT_VIOLATED
from ..tree.search import MISDPSearch


class CutPool:
    """Cuts of a problem, as rows a'x >= b with the multipliers that they come from.

    Parameters
    ----------
    problem : MISDP

    Attributes
    ----------
    rows : list of arrays of shape (n,)
        Scaled to a largest coefficient of 1.
    sides : list of float
    """

    def __init__(self, problem: MISDP) -> None:
        self.problem = problem
        self.rows: list[Array] = []
        self.sides: list[float] = []
        self._parts: list[tuple[int, Array]] = []
        self._seen: set[bytes] = set()
        self._cone_length = sum(cone.dimension for cone in problem.cones)
        self._psd_length = sum(block.dimension for block in problem.blocks)
        self._cones_at = np.cumsum([0, *(cone.dimension for cone in problem.cones)])
        self._blocks_at = self._cone_length + np.cumsum(
            [0, *(block.dimension for block in problem.blocks)]
        )

    def __len__(self) -> int:
        return len(self.rows)

    def start(self) -> None:
        """Add what needs no point: diagonals, pairs of small matrices, and the heads of cones."""
        for k, cone in enumerate(self.problem.cones):
            for w in _around(cone.dimension, cone.rotated):
                self.add_cone(k, w)
        for k, block in enumerate(self.problem.blocks):
            eye = np.eye(block.size)
            for i in range(block.size):
                self.add_vector(k, eye[i])
            if block.size <= CUT_PAIRS:
                for i, j in itertools.combinations(range(block.size), 2):
                    self.add_vector(k, eye[i] + eye[j])
                    self.add_vector(k, eye[i] - eye[j])

    def add_vector(self, k: int, v: Array) -> bool:
        """Add v'M(x)v >= 0 of block k; True where it is new."""
        block = self.problem.blocks[k]
        V = pack_symmetric(np.outer(v, v))
        side = -float((triangle_weights(block.size) * V) @ block.F0)
        return self._add(block.adjoint(V), side, int(self._blocks_at[k]), V)

    def add_cone(self, k: int, w: Array) -> bool:
        """Add w'(F x + g) >= 0 of cone k."""
        cone = self.problem.cones[k]
        return self._add(cone.F.T @ w, -float(w @ cone.g), int(self._cones_at[k]), w)

    def add_multipliers(self, multipliers: ConicMultipliers) -> int:
        """Add the cuts that multipliers are made of; return how many are new.

        With the rows of the problem they prove what the multipliers prove.
        """
        count = 0
        cones, psd = multipliers.cones[0], multipliers.psd[0]
        for k, cone in enumerate(self.problem.cones):
            w = cones[self._cones_at[k] : self._cones_at[k + 1]]
            if np.abs(w).max() > 1e-12:
                inside = w.copy()
                inside[: 1 + cone.rotated] += cone.violation(w) * (1.0 + 1e-12)
                count += self.add_cone(k, inside)
        for k, block in enumerate(self.problem.blocks):
            begin = int(self._blocks_at[k]) - self._cone_length
            matrix = unpack_symmetric(psd[begin : begin + block.dimension], block.size)
            values, vectors = np.linalg.eigh(matrix)
            for value, v in zip(values, vectors.T, strict=True):
                if value > 1e-10 * max(values[-1], 1e-300):
                    count += self.add_vector(k, v)
        return count

    def complete(self, search: MISDPSearch, integers: Array) -> None:
        """Have points with these integers found, and keep what proves the relaxation's bound there.

        Parameters
        ----------
        search : MISDPSearch
        integers : array of shape (number of integers,)
            Whole numbers.
        """
        search.points.complete(integers)
        low, high = self.problem.lower.copy(), self.problem.upper.copy()
        low[self.problem.integer] = high[self.problem.integer] = integers
        # Without the cutoff: these multipliers stay valid for these integers.
        tight = search.propagation.tighten(low, high)
        if tight is None:
            return
        found = search.conic.relax(tight, np.inf)
        if found.multipliers is not None:
            self.add_multipliers(found.multipliers)
        if not found.infeasible:
            search.points.take(found, tight)

    def separate(self, x: Array) -> int:
        """Add cuts that x misses; return how many are new."""
        count = 0
        for k, cone in enumerate(self.problem.cones):
            u = cone.value(x)
            if cone.violation(u) > CUT_VIOLATED * max(1.0, float(np.abs(u).max())):
                count += self.add_cone(k, cone_normal(u, cone.rotated))
        for k, block in enumerate(self.problem.blocks):
            M = block.matrix(x)
            values, vectors = np.linalg.eigh(M)
            least = -CUT_VIOLATED * max(1.0, float(np.abs(M).max()))
            for value, v in zip(values, vectors.T, strict=True):
                if value >= least:
                    break
                count += self.add_vector(k, v)
                for w in _sparsified(M, v, least):
                    count += self.add_vector(k, w)
            if values[0] < least:
                for w in _pairs(M, least):
                    count += self.add_vector(k, w)
        return count

    def multipliers(self, rows: Array, weights: Array) -> ConicMultipliers:
        """Add up cuts with nonnegative weights, beside multipliers of the rows."""
        whole = np.zeros(self._cone_length + self._psd_length)
        for k in np.flatnonzero(weights > 0.0).tolist():
            begin, part = self._parts[k]
            whole[begin : begin + len(part)] += weights[k] * part
        return ConicMultipliers(
            rows[None], whole[None, : self._cone_length], whole[None, self._cone_length :]
        )

    def _add(self, row: Array, side: float, begin: int, part: Array) -> bool:
        size = float(np.abs(row).max(initial=0.0))
        if size <= 1e-12 * float(np.abs(part).max(initial=0.0)):
            return False
        row = np.where(np.abs(row) <= 1e-13 * size, 0.0, row) / size
        if not np.isfinite(row).all() or not abs(side / size) < CUT_HUGE:
            return False
        key = np.round(np.append(row, side / size) / CUT_SAME).astype(np.int64).tobytes()
        if key in self._seen:
            return False
        self._seen.add(key)
        self.rows.append(row)
        self.sides.append(side / size)
        self._parts.append((begin, part / size))
        return True


def _around(k: int, rotated: bool) -> Iterator[Array]:
    """Return multipliers of a cone that bound it by half-spaces: its head, and a box around it."""
    unit = np.eye(k)
    if rotated:
        yield unit[0]
        yield unit[1]
        for i in range(2, k):
            for sign in (1.0, -1.0):
                yield 0.5 * (unit[0] + unit[1]) + sign * np.sqrt(0.5) * unit[i]
        return
    yield unit[0]
    for i in range(1, k):
        yield unit[0] + unit[i]
        yield unit[0] - unit[i]


def _sparsified(M: Array, v: Array, least: float) -> Iterator[Array]:
    """Return eigenvectors of the principal minors where v has its largest entries."""
    order = np.argsort(-np.abs(v), kind="stable")
    for count in CUT_SPARSE:
        if count >= len(v):
            return
        chosen = order[:count]
        values, vectors = np.linalg.eigh(M[np.ix_(chosen, chosen)])
        if values[0] < least:
            w = np.zeros(len(v))
            w[chosen] = vectors[:, 0]
            yield w


def _pairs(M: Array, least: float, most: int = 8) -> Iterator[Array]:
    """Return eigenvectors of the 2 x 2 minors that are missed most."""
    rows, columns = np.triu_indices(len(M), 1)
    a, b, c = M[rows, rows], M[columns, columns], M[rows, columns]
    smallest = 0.5 * (a + b) - np.sqrt(0.25 * (a - b) ** 2 + c**2)
    for t in np.argsort(smallest, kind="stable")[:most].tolist():
        if smallest[t] >= least:
            return
        i, j = int(rows[t]), int(columns[t])
        w = np.zeros(len(M))
        w[[i, j]] = np.linalg.eigh(M[np.ix_([i, j], [i, j])])[1][:, 0]
        yield w


class CutSource(Protocol):
    """Rows a'x >= b, of which there are more and more."""

    rows: list[Array]
    sides: list[float]


class NewCuts:
    """Hands on what is new in its sources.

    Parameters
    ----------
    sources : sequence of CutSource
    box : tuple of arrays of shape (n,)
        Bounds of all variables in the master.
    """

    def __init__(self, sources: Sequence[CutSource], box: Box) -> None:
        self._sources = sources
        self._box = box
        self._passed = [0 for _ in sources]

    def fresh(self) -> Iterator[tuple[Array, float]]:
        """Return rows and sides that were not returned before."""
        for k, source in enumerate(self._sources):
            begin, self._passed[k] = self._passed[k], len(source.rows)
            for row, side in zip(source.rows[begin:], source.sides[begin:], strict=True):
                yield self._slim(row, side)

    def _slim(self, row: Array, side: float) -> tuple[Array, float]:
        """Return a cut that follows from another one and has no tiny coefficients."""
        low, high = self._box
        tiny = np.flatnonzero((row != 0.0) & (np.abs(row) < CUT_TINY))
        if len(tiny):
            most = np.maximum(row[tiny] * low[tiny], row[tiny] * high[tiny])
            gone = tiny[np.abs(most) <= CUT_LOST / len(tiny)]
            if len(gone):
                side -= float(most[np.abs(most) <= CUT_LOST / len(tiny)].sum())
                row = row.copy()
                row[gone] = 0.0
        return row, side
