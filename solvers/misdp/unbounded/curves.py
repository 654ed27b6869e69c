r"""Curves along which a problem improves without end where no ray does it: see `recession`.

1. The matrices of all recession directions that cost nothing share a range, which U spans: b is one
   of them, and B can only lie there.
2. One semidefinite program finds x, r, b and B = G U' with the steepest r.
3. Integers move by integers: those of r are rounded multiples, and with x, a feasible point, held
   fixed the program is solved again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseopt.backend import Control
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import (
    SemidefiniteBlock,
    pack_symmetric,
    triangle,
    unpack_symmetric,
)
from sparseopt.problems.misdp.problem import MISDP
from sparseopt.result import Certificate, Result, Status

from ..bounding.lower_bounds import ConicBounding
from ..relaxations.relaxation import ConicSolver
from ..settings import CURVE_RANGE, CURVE_VARIABLES, RAY_DIGITS, RAY_EXACT, RAY_FALLS, RAY_NEARLY
from .rays import integer_parts
from .recession import curve_residuals, recession, with_cones_as_matrices


@dataclass(frozen=True, eq=False)
class UnboundedCurve:
    """x + s ray + s^2 bend, with the matrices `cross` that prove it feasible."""

    x: Array
    ray: Array
    bend: Array
    cross: Array

    def rounded(self, digits: int) -> UnboundedCurve:
        """Return the curve from the same point with so many decimal places."""
        return UnboundedCurve(
            self.x, *(np.round(v, digits) for v in (self.ray, self.bend, self.cross))
        )

    def result(self, raw_status: str) -> Result:
        """Return the result: unbounded, with the curve as its certificate."""
        arrays = {"x": self.x, "ray": self.ray, "bend": self.bend, "cross": self.cross}
        certificate = Certificate(kind="curve", arrays=arrays)
        return Result(status=Status.UNBOUNDED, certificate=certificate, raw_status=raw_status)


class CurveFinder:
    """Looks for curves along which the objective improves.

    Parameters
    ----------
    problem : MISDP
    solver : ConicSolver
    control : Control
    """

    def __init__(self, problem: MISDP, solver: ConicSolver, control: Control) -> None:
        self._problem = problem
        self._plain = with_cones_as_matrices(problem)
        self._away = recession(self._plain)
        self._solver = solver
        self._control = control
        self._costs = (1.0 if problem.sense == "min" else -1.0) * problem.c
        self._ranges: list[Array] = []
        self._relaxed: UnboundedCurve | None = None

    def exists(self) -> bool:
        """Return whether the continuous relaxation has such a curve."""
        plain = self._plain
        count = 3 * len(plain.c) + sum(2 * block.size**2 for block in plain.blocks)
        if any(block.rank_one for block in plain.blocks) or count > CURVE_VARIABLES:
            return False
        self._ranges = self._common_ranges()
        if not any(U.shape[1] for U in self._ranges):
            return False
        self._relaxed = self._solve(None, None, None)
        return self._relaxed is not None and self._falls(self._relaxed.ray)

    def through(self, x: Array) -> UnboundedCurve | None:
        """Return a curve from the feasible point x, None where none was found."""
        whole = self._problem.integer
        if self._relaxed is None:
            return None
        for first in integer_parts(self._relaxed.ray[whole]):
            if self._control.limit() is not None:
                return None
            free = self._solve(x, first, None)
            if free is None or not self._falls(free.ray):
                continue
            for second in (np.zeros(len(first)), np.rint(free.bend[whole])):
                curve = self._solve(x, first, second)
                if curve is None:
                    continue
                found = self._tidiest(curve)
                if found is not None:
                    return found
        return None

    def _tidiest(self, curve: UnboundedCurve) -> UnboundedCurve | None:
        """Return the curve with few digits if it is exact then, else as good as it gets.

        The checker decides signs in rational arithmetic: what is off by rounding proves nothing.
        """
        best, least = None, RAY_NEARLY
        for digits in (*RAY_DIGITS, None):
            tidy = curve if digits is None else curve.rounded(digits)
            missed = curve_residuals(self._problem, tidy.x, tidy.ray, tidy.bend, tidy.cross)
            missed["costs"] = self._bends_back(tidy.bend)
            if self._falls(tidy.ray) and max(missed.values()) <= least:
                best, least = tidy, max(missed.values())
            if least <= RAY_EXACT:
                break
        return best

    def _falls(self, ray: Array) -> bool:
        largest = float(np.abs(self._costs).max(initial=0.0))
        return float(self._costs @ ray) < -RAY_FALLS * largest * max(1.0, float(np.abs(ray).max()))

    def _bends_back(self, bend: Array) -> float:
        """Return what the costs rise by along s^2, relative to the largest of them."""
        size = float(np.abs(self._costs).max(initial=0.0)) * float(np.abs(bend).max(initial=0.0))
        return max(0.0, float(self._costs @ bend)) / (size or 1.0)

    def _common_ranges(self) -> list[Array]:
        """Return a basis of the range that the matrices of the directions b have, per block."""
        away = self._away
        free = away.with_changes(
            A=sp.vstack([away.A, sp.csr_array(self._costs[None])], format="csr"),
            row_lower=np.append(away.row_lower, -np.inf),
            row_upper=np.append(away.row_upper, 0.0),
        )
        bounding = ConicBounding(free, self._solver)
        box = np.maximum(away.lower, -1.0), np.minimum(away.upper, 1.0)
        sizes = [block.size for block in away.blocks]
        total = np.zeros(len(away.c))
        rests = [np.eye(size) for size in sizes]
        for _ in range(1 + max(sizes, default=0)):
            gain = np.zeros(len(away.c))
            for block, V in zip(away.blocks, rests, strict=True):
                gain += block.adjoint(pack_symmetric(V @ V.T))
            found = bounding.relax(box, np.inf, costs=-gain)
            if found.x is None or gain @ found.x <= CURVE_RANGE:
                break
            total += self._tidy(found.x)
            for k, block in enumerate(away.blocks):
                values, vectors = np.linalg.eigh(block.matrix(total))
                rests[k] = vectors[:, values <= CURVE_RANGE * max(1.0, float(values[-1]))]
        return [_complement(V, size) for V, size in zip(rests, sizes, strict=True)]

    def _tidy(self, direction: Array) -> Array:
        """Return a recession direction rounded, if it stays one: its matrices have exact ranges."""
        for digits in (3, 5, 7):
            rounded = np.round(direction, digits)
            size = float(np.abs(rounded).max(initial=0.0))
            if size and max(self._away.residuals(rounded / size).values()) <= RAY_NEARLY / 50.0:
                return np.asarray(rounded)
        return direction

    def _solve(
        self, x: Array | None, first: Array | None, second: Array | None
    ) -> UnboundedCurve | None:
        """Solve the program; `x`, and the integers of ray and bend, are fixed where given."""
        program, low, high = _program(self._plain, self._away, self._ranges, self._costs)
        n, whole = len(self._problem.c), np.flatnonzero(self._problem.integer)
        for begin, places, values in (
            (0, np.arange(n), x),
            (n, whole, first),
            (2 * n, whole, second),
        ):
            if values is not None:
                if (
                    begin
                    and (
                        (values < self._away.lower[places]) | (values > self._away.upper[places])
                    ).any()
                ):
                    return None
                low[begin + places] = high[begin + places] = values
        if first is not None:
            # The rest of the ray goes with its integers.
            size = max(1.0, float(np.abs(first).max(initial=0.0)))
            rest = n + np.setdiff1d(np.arange(n), whole)
            low[rest], high[rest] = size * low[rest], size * high[rest]
        found = ConicBounding(program, self._solver).relax((low, high), np.inf)
        if found.x is None:
            return None
        parts = np.split(found.x, [n, 2 * n, 3 * n])
        cross, begin = [], 0
        for block, U in zip(self._plain.blocks, self._ranges, strict=True):
            count = block.size * U.shape[1]
            G = parts[3][begin : begin + count].reshape(block.size, U.shape[1])
            begin += count
            cross.append((G @ U.T).ravel())
        point, ray, bend, _ = parts
        return UnboundedCurve(point, ray, bend, np.concatenate([np.zeros(0), *cross]))


def _program(
    plain: MISDP, away: MISDP, ranges: Sequence[Array], costs: Array
) -> tuple[MISDP, Array, Array]:
    """Return the program in (x, r, b, G of every block), and the bounds of its variables."""
    n = len(plain.c)
    ends = np.cumsum([0, *(U.size for U in ranges)])
    count = 3 * n + int(ends[-1])
    blocks, rows = [], []
    for block, U, begin in zip(plain.blocks, ranges, ends[:-1].tolist(), strict=True):
        s, r = U.shape
        G = 3 * n + begin + np.arange(s * r).reshape(s, r)
        blocks += _whole_matrix(block, U, G, n, count)
        # Nothing of M'(b) outside the range.
        P = U @ U.T
        outside = block.F - _compression(P) @ block.F
        rows.append(_placed(sp.csr_array(outside), 2 * n, count))
    A = plain.A
    m = A.shape[0]
    rows = [_placed(A, 0, count), _placed(A, n, count), _placed(A, 2 * n, count), *rows]
    beyond = int(sum(part.shape[0] for part in rows)) - 3 * m
    bend_costs = _placed(sp.csr_array(costs[None]), 2 * n, count)
    matrix = sp.vstack([*rows, bend_costs], format="csr")
    zeros = np.zeros(beyond)
    c = np.zeros(count)
    c[n : 2 * n] = costs
    inf = np.full(int(ends[-1]), np.inf)
    lower = np.concatenate([plain.lower, np.maximum(away.lower, -1.0), away.lower, -inf])
    upper = np.concatenate([plain.upper, np.minimum(away.upper, 1.0), away.upper, inf])
    program = MISDP(
        c=c,
        A=matrix,
        row_lower=np.concatenate(
            [plain.row_lower, away.row_lower, away.row_lower, zeros, [-np.inf]]
        ),
        row_upper=np.concatenate([plain.row_upper, away.row_upper, away.row_upper, zeros, [0.0]]),
        lower=lower,
        upper=upper,
        blocks=blocks,
    )
    return program, lower.copy(), upper.copy()


def _whole_matrix(
    block: SemidefiniteBlock, U: Array, G: Array, n: int, count: int
) -> list[SemidefiniteBlock]:
    """Return [[M(x), G], [G', U'M'(b)U]] and M'(r) - G U' - U G'."""
    s, r = U.shape
    rows, columns = triangle(s + r)
    place = np.full((s + r, s + r), -1)
    place[rows, columns] = np.arange(len(rows))
    own_rows, own_columns = triangle(s)
    parts = [_spread(block.F, place[own_rows, own_columns], 0, len(rows), count)]
    constant = np.zeros(len(rows))
    constant[place[own_rows, own_columns]] = block.F0
    if r:
        own_rows, own_columns = triangle(r)
        last = sp.csr_array(_compression(U) @ block.F)
        parts.append(_spread(last, place[s + own_rows, s + own_columns], 2 * n, len(rows), count))
    i, j = (index.ravel() for index in np.indices((s, r)))
    ones = sp.csr_array((np.ones(s * r), (place[s + j, i], G[i, j])), shape=(len(rows), count))
    whole = SemidefiniteBlock(sum(parts, ones), constant, s + r)
    rows, columns = triangle(s)
    slope: Any = _placed(block.F, n, count).tolil()
    for entry, (i_, j_) in enumerate(zip(rows.tolist(), columns.tolist(), strict=True)):
        for k in range(r):
            slope[entry, G[i_, k]] -= U[j_, k]
            slope[entry, G[j_, k]] -= U[i_, k]
    return [whole, SemidefiniteBlock(sp.csr_array(slope), None, s)]


def _placed(F: Any, begin: int, count: int) -> sp.csr_array:
    """Return the columns of F from `begin` on among `count`."""
    F = sp.coo_array(F)
    return sp.csr_array((F.data, (F.coords[0], F.coords[1] + begin)), shape=(F.shape[0], count))


def _spread(F: Any, places: Array, begin: int, height: int, count: int) -> sp.csr_array:
    """Return the rows of F at the places, its columns from `begin` on."""
    F = sp.coo_array(F)
    return sp.csr_array((F.data, (places[F.coords[0]], F.coords[1] + begin)), shape=(height, count))


def _compression(U: Array) -> Array:
    """Return the matrix that takes packed entries of M to those of U'MU."""
    s = len(U)
    units = unpack_symmetric(np.eye(s * (s + 1) // 2), s)
    return np.asarray(pack_symmetric(U.T @ units @ U).T)


def _complement(V: Array, size: int) -> Array:
    """Return an orthonormal basis of what is orthogonal to the columns of V."""
    values, vectors = np.linalg.eigh(np.eye(size) - V @ V.T)
    return np.asarray(vectors[:, values > 0.5])
