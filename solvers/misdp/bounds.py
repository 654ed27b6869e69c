r"""Bounds of a MISDP by weak duality that stay valid whatever the multipliers are.

For the problem written as a minimisation of c'x, multipliers y of the rows, z of the cones and Z of
the matrices give for every feasible x in a box [l, u]

.. math:: c'x \;\ge\; \sum_i (y_i^+ \underline{a}_i - y_i^- \bar a_i) - z'g - \langle Z, M_0\rangle
          + \sum_j \min(r_j l_j, r_j u_j), \qquad
          r = c - A'y - F'z - \mathcal{M}^*(Z),

as long as z is in the cone and Z is positive semidefinite (a cone of this kind is its own dual).
A solver's multipliers are so only nearly. They are **repaired** first:

- an entry of y that pulls at an open side of its row is dropped;
- z is lifted along the head of the cone by what it lacks;
- in a matrix that is a variable, Z takes over the reduced costs of entries whose bound is open,
  which then cost nothing (where that proves more than bounds that were derived for them);
- Z is shifted by its smallest eigenvalue, if that is negative, times the identity.

What the repair changes is charged where it belongs: in r, against the bounds of the variables
(Jansson, Chaykin and Keil 2007). Rounding errors of r and of the sum are charged, too. So any
finite value is a true bound; a variable without a bound, whose reduced cost is more than rounding
on that side, makes it -inf. Bounds that
:class:`~sparseopt.solvers.misdp.reductions.propagation.Propagation` derives help, also those from a
cutoff: to prove that nothing is better than U, only points better than U matter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from sparseopt.compiling import External, by_address
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import matrix_variable, triangle_weights, unpack_symmetric
from sparseopt.problems.misdp.problem import MISDP

from ..common.compiled import compiled, compiled_inside

NEARLY = 1e-8
"""A reduced cost of an unbounded variable may be this large relative to its terms in `nearly`.
There an entry of a cone's or a matrix's multiplier counts as large as the largest one: it is known
to that precision only, and the repair moves it by as much."""
NARROW = 1e4
"""Bounds up to this do not magnify what a conic solver leaves of reduced costs."""
_EPS = float(np.finfo(float).eps)
_dsyev = External("lapack", "dsyev", 9)


@dataclass(frozen=True, eq=False)
class ConicMultipliers:
    """Multipliers of L boxes, for the problem written as a minimisation.

    Attributes
    ----------
    rows : array of shape (L, m)
        Positive where the lower side of the row holds x up.
    cones : array of shape (L, sum of the cones' lengths)
    psd : array of shape (L, sum of the blocks' s (s + 1) / 2)
        Lower triangles column by column, entries of the matrices themselves (unscaled).
    """

    rows: Array
    cones: Array
    psd: Array

    def joined(self) -> Array:
        """Return y, z and Z of the first box behind each other."""
        return np.concatenate([self.rows[0], self.cones[0], self.psd[0]])


@by_address
class Judged(NamedTuple):
    """A problem as :func:`weak_duality` takes it.

    Attributes
    ----------
    ptr, row : int arrays
        The columns of all constraints, compressed.
    row_lower, row_upper : arrays of shape (m,)
    constants : array
        Zeros for the rows, then the constants of the cones, and the weighted ones of the matrices.
    cones : int array
        Length of each cone and 1 if it is rotated, 0 if not, one cone behind the other.
    sizes : int array
        Orders of the matrices.
    """

    ptr: Array
    row: Array
    row_lower: Array
    row_upper: Array
    constants: Array
    cones: Array
    sizes: Array


@compiled
def weak_duality(
    judged: Judged,
    costs: Array,
    lower: Array,
    upper: Array,
    dual: Array,
    values: Array,
    rounding: Array,
) -> tuple[float, bool]:
    """Return the bound that y, z and Z prove on a box, and whether the box is narrow.

    Parameters
    ----------
    judged : Judged
    costs, lower, upper : arrays of shape (n,)
    dual : array
        y, z and Z; changed.
    values : array
        The entries of the constraints' columns.
    rounding : array of shape (n,)
        Share of the sum of a reduced cost's terms that its rounding errors come to.
    """
    m = judged.row_lower.shape[0]
    total, size, count = 0.0, 0.0, 4.0
    for i in range(m):
        y = dual[i]
        end = judged.row_lower[i] if y > 0.0 else judged.row_upper[i]
        if y == 0.0 or not abs(end) < np.inf:
            dual[i] = 0.0
        else:
            total += y * end
            size += abs(y * end)
        count += 1.0
    at = m
    for t in range(0, judged.cones.shape[0], 2):
        length, rotated = judged.cones[t], judged.cones[t + 1] == 1
        lift_into_cone(dual, at, length, rotated)
        for i in range(at, at + length):
            total -= dual[i] * judged.constants[i]
            size += abs(dual[i] * judged.constants[i])
            count += 1.0
        at += length
    for t in range(judged.sizes.shape[0]):
        n = judged.sizes[t]
        begin, at = at, at + n * (n + 1) // 2
        if not _shift_into_cone(dual[begin:at], n):
            return -np.inf, False
        for i in range(begin, at):
            total -= dual[i] * judged.constants[i]
            size += abs(dual[i] * judged.constants[i])
            count += 1.0
    narrow = True
    for j in range(costs.shape[0]):
        r, terms = costs[j], abs(costs[j])
        for e in range(judged.ptr[j], judged.ptr[j + 1]):
            part = values[e] * dual[judged.row[e]]
            r -= part
            terms += abs(part)
        error = rounding[j] * terms
        low, high = lower[j], upper[j]
        end = low if r > 0.0 else high
        count += 1.0
        widest = max(abs(low), abs(high))
        if widest > NARROW:
            narrow = False
        if not abs(end) < np.inf:
            if abs(r) > error:
                return -np.inf, False
            continue
        total += r * end - error * (widest if widest < np.inf else abs(end))
        size += abs(r * end) + error * (widest if widest < np.inf else abs(end))
    return total - count * _EPS * size, narrow


@compiled
def lift_into_cone(dual: Array, begin: int, length: int, rotated: bool) -> None:
    """Lift a multiplier along the head of its cone by what it lacks, with a margin for rounding."""
    root = math.sqrt(2.0)
    apart = (dual[begin] - dual[begin + 1]) / root if rotated else 0.0
    first = begin + (2 if rotated else 1)
    largest = abs(apart)
    for i in range(first, begin + length):
        largest = max(largest, abs(dual[i]))
    squares = (apart / largest) ** 2 if largest > 0.0 else 0.0
    for i in range(first, begin + length):
        squares += (dual[i] / largest) ** 2 if largest > 0.0 else 0.0
    tail = largest * math.sqrt(squares) * (1.0 + (length + 4.0) * _EPS)
    head = (dual[begin] + dual[begin + 1]) / root if rotated else dual[begin]
    lacking = max(0.0, tail - head)
    dual[begin] += lacking / root if rotated else lacking
    if rotated:
        dual[begin + 1] += lacking / root


@compiled_inside(makes_arrays=True)
def _shift_into_cone(dual: Array, n: int) -> bool:
    """Add to the diagonal of a matrix what its smallest eigenvalue lacks; False without one."""
    M, spectrum, work = np.empty(n * n), np.empty(n), np.empty(max(34 * n, 8))
    at = 0
    for c in range(n):
        for r in range(c, n):
            M[c * n + r] = M[r * n + c] = dual[at]
            at += 1
    if least_eigenvalues(M, spectrum, work, n) != 0:
        return False
    # Errors of computed eigenvalues are of the order of n eps |Z|.
    largest = max(abs(spectrum[0]), abs(spectrum[n - 1]))
    shift = max(0.0, 8.0 * n * _EPS * largest - spectrum[0])
    at = 0
    for c in range(n):
        dual[at] += shift
        at += n - c
    return True


@compiled
def least_eigenvalues(M: Array, values: Array, work: Array, n: int) -> int:
    """Write the eigenvalues of M, which is destroyed; 0 where LAPACK succeeded."""
    code, integers = np.empty(2, np.uint8), np.empty(3, np.int32)
    code[0], code[1] = 78, 76
    integers[0], integers[1], integers[2] = n, work.shape[0], 0
    _dsyev(
        code.ctypes,
        code[1:].ctypes,
        integers.ctypes,
        M.ctypes,
        integers.ctypes,
        values.ctypes,
        work.ctypes,
        integers[1:].ctypes,
        integers[2:].ctypes,
    )
    info: int = integers[2]
    return info


@weak_duality.in_numpy
def _(
    judged: Judged,
    costs: Array,
    lower: Array,
    upper: Array,
    dual: Array,
    values: Array,
    rounding: Array,
) -> tuple[float, bool]:
    # The caller asks for the whole evaluation, then.
    return -np.inf, False


@dataclass(frozen=True, eq=False)
class DualBounds:
    """What the multipliers prove, shape (L,) each, for the minimisation of the costs.

    Attributes
    ----------
    value : array
        No feasible point in the box has a smaller c'x (without the offset). Of costs zero (Farkas
        multipliers): the box holds no feasible point if this is positive.
    nearly : array
        The same when reduced costs of variables without a bound that are at most 1e-8 of their
        terms are taken for zero; at least `value`.
    uncharged : array
        The sum of the absolute reduced costs that `nearly` takes for zero, each times `reach`.
    size : array
        The sum of the absolute terms of `nearly`.
    """

    value: Array
    nearly: Array
    uncharged: Array
    size: Array


class SafeBounds:
    """A problem prepared for the arithmetic above.

    Parameters
    ----------
    problem : MISDP
    reach : array of shape (n,), optional
        How large each variable is, for `DualBounds.uncharged`: such as max(1, abs(x)) of the
        incumbent x. Default 1.
    """

    def __init__(self, problem: MISDP, reach: Array | None = None) -> None:
        self._problem = problem
        n = len(problem.c)
        self.sign = 1.0 if problem.sense == "min" else -1.0
        self.cone_length = sum(cone.dimension for cone in problem.cones)
        self.psd_length = sum(block.dimension for block in problem.blocks)
        self._reach = np.ones(n) if reach is None else reach
        self._A = problem.A
        self._F = _stacked([cone.F for cone in problem.cones], n)
        weights = [triangle_weights(block.size) for block in problem.blocks]
        w = np.concatenate(weights) if weights else np.zeros(0)
        self._M = sp.csr_array(sp.diags_array(w) @ _stacked([b.F for b in problem.blocks], n))
        self._g = np.concatenate([np.zeros(0), *(cone.g for cone in problem.cones)])
        self._M0 = w * np.concatenate([np.zeros(0), *(block.F0 for block in problem.blocks)])
        # The columns of all constraints below each other: r = c - T (y, z, Z).
        stacked = sp.csr_array(sp.vstack([self._A, self._F, self._M], format="csr"))
        self._transposed = sp.csr_array(stacked.T)
        self._absolute = abs(self._transposed)
        self._rounding = (np.diff(self._transposed.indptr) + 8.0) * _EPS
        taken = np.zeros(n, dtype=bool)
        self._own: list[tuple[int, Array, Array]] = []
        begin = 0
        for block, weight in zip(problem.blocks, weights, strict=True):
            columns = matrix_variable(block)
            if columns is not None and not taken[columns].any():
                taken[columns] = True
                self._own.append((begin, columns, weight))
            begin += block.dimension

    def zero(self, count: int = 1) -> ConicMultipliers:
        """Return multipliers that are all zero."""
        lengths = (self._A.shape[0], self.cone_length, self.psd_length)
        return ConicMultipliers(*(np.zeros((count, length)) for length in lengths))

    def bound(self, value: Array) -> Array:
        """Return a value of :class:`DualBounds` as a bound on the objective, in its own sense."""
        return np.asarray(self.sign * value + self._problem.offset)

    def evaluate(
        self,
        lower: Array,
        upper: Array,
        multipliers: ConicMultipliers,
        infeasible: Array | bool = False,
    ) -> DualBounds:
        """Return what the multipliers prove on each of L boxes.

        Parameters
        ----------
        lower, upper : array of shape (L, n) or (n,)
            Bounds of all variables in each box; tighter ones than the problem's may be derived.
        multipliers : ConicMultipliers
        infeasible : bool, or array of shape (L,)
            Where costs are zero: the multipliers are to prove that the box holds nothing.

        Notes
        -----
        O(L (nnz + sum s^3)).
        """
        y, z, Z = self._repaired(multipliers)
        costs = np.where(np.reshape(infeasible, (-1, 1)), 0.0, self.sign * self._problem.c)
        lower, upper = np.atleast_2d(lower), np.atleast_2d(upper)
        found = self._judged(lower, upper, costs, y, z, Z)
        if not self._own:
            return found
        # Where bounds are derived for entries of a matrix, their reduced costs may stay.
        taken = self._take_over(Z, self._reduced(costs, y, z, Z))
        return _better(self._judged(lower, upper, costs, y, z, taken), found)

    def quick(self, lower: Array, upper: Array, dual: Array, infeasible: bool = False) -> float:
        """Return what multipliers prove on one box, in compiled loops.

        Parameters
        ----------
        lower, upper : array of shape (n,)
        dual : array
            y, z and Z behind each other.
        infeasible : bool, default False
            Whether costs are zero.

        Returns
        -------
        float
            A bound that may be less than `value` of :meth:`evaluate`; -inf where it says nothing.
        """
        problem, t = self._problem, self._transposed
        own = np.array(dual)
        costs = np.zeros(len(lower)) if infeasible else self.sign * problem.c
        value, narrow = weak_duality(self._flat, costs, lower, upper, own, t.data, self._rounding)
        return float(value) if narrow or not self._own else -np.inf

    @cached_property
    def _flat(self) -> Judged:
        problem, t = self._problem, self._transposed
        return Judged(
            t.indptr.astype(np.int64),
            t.indices.astype(np.int64),
            np.array(problem.row_lower),
            np.array(problem.row_upper),
            np.concatenate([np.zeros(problem.A.shape[0]), self._g, self._M0]),
            np.array([[c.dimension, c.rotated] for c in problem.cones], dtype=np.int64).ravel(),
            np.array([block.size for block in problem.blocks], dtype=np.int64),
        )

    def _judged(
        self, lower: Array, upper: Array, costs: Array, y: Array, z: Array, Z: Array
    ) -> DualBounds:
        problem = self._problem
        Z = self._shifted(Z.copy())
        r = self._reduced(costs, y, z, Z)
        error = self._rounding * self._terms(costs, y, z, Z)
        end = np.where(y > 0.0, problem.row_lower, problem.row_upper)
        rows = y * np.where(y == 0.0, 0.0, end)
        constant = [rows, -z * self._g, -Z * self._M0]
        charged = _charges(r, error, lower, upper)
        value, _ = _sum([*constant, charged])
        # What costs next to nothing, where the problem itself has no bound.
        opened = np.where(r > 0.0, np.isinf(problem.lower), np.isinf(problem.upper))
        terms = self._terms(costs, y, *self._norms(z, Z))
        small = opened & (np.abs(r) <= NEARLY * terms)
        nearly, size = _sum([*constant, np.where(small, 0.0, charged)])
        uncharged = np.where(small, np.abs(r), 0.0) @ self._reach
        return DualBounds(value, np.maximum(nearly, value), uncharged, size)

    def _reduced(self, costs: Array, y: Array, z: Array, Z: Array) -> Array:
        dual = np.concatenate([y, z, Z], axis=1)
        return np.asarray(costs - (self._transposed @ dual.T).T)

    def _terms(self, costs: Array, y: Array, z: Array, Z: Array) -> Array:
        dual = np.abs(np.concatenate([y, z, Z], axis=1))
        return np.asarray(np.abs(costs) + (self._absolute @ dual.T).T)

    def _norms(self, z: Array, Z: Array) -> tuple[Array, Array]:
        """Return z and Z with each entry replaced by the largest of its cone or matrix."""
        z, Z = np.abs(z), np.abs(Z)
        for given, parts in ((z, self._problem.cones), (Z, self._problem.blocks)):
            begin = 0
            for part in parts:
                here = slice(begin, begin + part.dimension)
                given[:, here] = given[:, here].max(axis=1, keepdims=True)
                begin += part.dimension
        return z, Z

    def _repaired(self, given: ConicMultipliers) -> tuple[Array, Array, Array]:
        """Drop the multipliers of open sides, and lift those of the cones into the cone."""
        problem = self._problem
        open_side = np.where(
            given.rows > 0.0, np.isinf(problem.row_lower), np.isinf(problem.row_upper)
        )
        y = np.where(open_side, 0.0, given.rows)
        z = np.array(given.cones, dtype=float)
        begin = 0
        for cone in problem.cones:
            u = z[:, begin : begin + cone.dimension]
            if cone.rotated:
                difference = (u[:, :1] - u[:, 1:2]) / np.sqrt(2.0)
                tail = _norms_of_rows(np.concatenate([difference, u[:, 2:]], axis=1))
                lacking = _lacking(tail, (u[:, 0] + u[:, 1]) / np.sqrt(2.0), cone.dimension)
                u[:, :2] += lacking[:, None] / np.sqrt(2.0)
            else:
                tail = _norms_of_rows(u[:, 1:])
                u[:, 0] += _lacking(tail, u[:, 0], cone.dimension)
            begin += cone.dimension
        return y, z, np.array(given.psd, dtype=float)

    def _take_over(self, Z: Array, r: Array) -> Array:
        """Let the matrices that are variables carry the reduced costs on open sides."""
        problem = self._problem
        Z = Z.copy()
        for begin, columns, weight in self._own:
            part = r[:, columns]
            open_side = np.where(
                part > 0.0, np.isinf(problem.lower[columns]), np.isinf(problem.upper[columns])
            )
            Z[:, begin : begin + len(columns)] += np.where(open_side, part / weight, 0.0)
        return Z

    def _shifted(self, Z: Array) -> Array:
        """Return positive semidefinite matrices, by a shift of those that are not."""
        begin = 0
        for block in self._problem.blocks:
            here = slice(begin, begin + block.dimension)
            matrices = unpack_symmetric(Z[:, here], block.size)
            values = np.linalg.eigvalsh(matrices)
            # Errors of computed eigenvalues are of the order of s eps |Z|.
            error = 8.0 * block.size * _EPS * np.abs(values).max(axis=1, initial=0.0)
            shift = np.maximum(0.0, error - values[:, 0])
            diagonal = np.cumsum([0, *range(block.size, 1, -1)])
            Z[:, begin + diagonal] += shift[:, None]
            begin += block.dimension
        return Z


def _better(first: DualBounds, second: DualBounds) -> DualBounds:
    """Take for each box the one of two that proves more."""
    a, b = first.value, second.value
    better = (b > a) | ((b == a) & (second.nearly > first.nearly))
    return DualBounds(
        *(
            np.where(better, getattr(second, name), getattr(first, name))
            for name in ("value", "nearly", "uncharged", "size")
        )
    )


def _stacked(matrices: list[sp.csr_array], n: int) -> sp.csr_array:
    return sp.csr_array(sp.vstack(matrices, format="csr")) if matrices else sp.csr_array((0, n))


def _norms_of_rows(u: Array) -> Array:
    """Return Euclidean norms whose squares may overflow."""
    largest = np.abs(u).max(axis=1, initial=0.0)
    unit = np.where(largest > 0.0, largest, 1.0)
    return np.asarray(largest * np.sqrt(((u / unit[:, None]) ** 2).sum(axis=1)))


def _lacking(tail: Array, head: Array, length: int) -> Array:
    """Return what the head lacks to be in the cone, with a margin for rounding."""
    return np.maximum(0.0, tail * (1.0 + (length + 4.0) * _EPS) - head)


def _charges(r: Array, error: Array, lower: Array, upper: Array) -> Array:
    """Return min(r_j l_j, r_j u_j) for each variable, less the effect of the errors of r."""
    end = np.where(r > 0.0, lower, upper)
    rounding = np.abs(r) <= error
    infinite = np.isinf(end)
    with np.errstate(invalid="ignore"):
        charge = np.where(r == 0.0, 0.0, r * end)
        largest = np.maximum(np.abs(lower), np.abs(upper))
        finite = charge - np.where(np.isfinite(largest), error * largest, error * np.abs(end))
    return np.where(infinite, np.where(rounding, 0.0, -np.inf), finite)


def _sum(parts: list[Array]) -> tuple[Array, Array]:
    """Return the sums over each row of all parts, rounded downwards, and their terms' sizes."""
    total = sum((part.sum(axis=1) for part in parts), np.zeros(1))
    size = sum((np.abs(part).sum(axis=1) for part in parts), np.zeros(1))
    count = sum(part.shape[1] for part in parts) + 4.0
    with np.errstate(invalid="ignore"):
        value = np.where(np.isinf(size), -np.inf, total - count * _EPS * size)
    return value, np.broadcast_to(size, value.shape)
