r"""From the bases of a chunk of segments to their solutions, affine in step = lam - low.

Every array has one row for each segment. The kernels are solved again here; nothing that the result
states about theta and nu is used, it is only compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields

import numpy as np

from sparseopt.checking.parametric.bases.kernels import Kernels, SingularBasis
from sparseopt.checking.parametric.bases.precise import ILL, PreciseMatrix, precise_solution
from sparseopt.checking.parametric.bases.tables import CodeTables, Slots, sizes_at
from sparseopt.checking.parametric.evaluation.point import ratio_of
from sparseopt.checking.tolerances import NOISE, RANK, STORED
from sparseopt.checking.work import TooMuchWork, spend
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.maps import DenseMap, LinearMap

Pair = tuple[Array, Array]
"""Values at the lower ends and rates."""

_ENTRIES = 1 << 18
"""Entries of the kernels that are solved at once: 2 MB."""


_LARGEST = 2e8
"""Entries of the block that all kernels of a chunk are part of: 1.6 GB."""
_SEGMENT, _COORDINATE, _ENTRY, _COPIED, _CUBE = 2e-4, 3e-7, 2e-9, 2e-8, 3e-10
"""Seconds of a segment, by its coordinates, by the entries of A that it is multiplied with, of
entries that are copied, and of a kernel by its cube."""


@dataclass(frozen=True, eq=False)
class KernelSystems:
    """Equations of segments whose kernels are of one size: B theta_C = target, B' nu_R = slopes.

    Attributes
    ----------
    segments : int array of shape (g,)
    rows, columns : int arrays of shape (g, k)
    kernels : Kernels
    target, slopes : arrays of shape (g, k, 2)
        Values and rates.
    target_terms, slopes_terms : arrays of shape (g, k, 2)
        The sizes of what these were added up from.
    exact : bool array of shape (g,)
        Whether a segment was solved in 106 bits.
    """

    segments: Array
    rows: Array
    columns: Array
    kernels: Kernels
    target: Array
    slopes: Array
    target_terms: Array
    slopes_terms: Array
    exact: Array

    def __getitem__(self, part: slice) -> KernelSystems:
        """Return some of them."""
        return KernelSystems(*(getattr(self, field.name)[part] for field in fields(self)))

    @property
    def rcond(self) -> Array:
        """Reciprocal condition numbers that rounding errors grow by; 1 in 106 bits."""
        return np.where(self.exact, 1.0, self.kernels.rcond)

    def extended_error(self, theta: Array, nu: Array) -> float:
        """Return the largest relative error of the values theta_C and nu_R in double precision."""
        return max(
            self.kernels.extended_error(theta, self.target[:, :, :1]),
            self.kernels.extended_error(nu, self.slopes[:, :, :1], transposed=True),
        )

    def backward_errors(
        self, theta: Array, nu: Array, from_rates: Array, from_values: Array
    ) -> tuple[Array, Array]:
        r"""Return the componentwise backward errors of stated theta_C and nu_R, shape (g, k, 2).

        The smallest omega such that they solve the equations exactly after relative changes of B
        and of the right sides by omega (Oettli and Prager 1964):
        :math:`\max_i |B x - b|_i / (|B| |x| + |b|)_i`. To the size of the values' terms,
        `from_rates`, shape (g,), times that of the rates' is added, and `from_values` the other
        way round.
        """
        B = self.kernels.B
        size = np.abs(B)
        mix = np.stack([from_rates, from_values], axis=1)[:, None, :]
        primal, dual = (
            _backward_error(matrix, sizes, x, b, terms, mix)
            for matrix, sizes, x, b, terms in (
                (B, size, theta, self.target, self.target_terms),
                (
                    B.transpose(0, 2, 1),
                    size.transpose(0, 2, 1),
                    nu,
                    self.slopes,
                    self.slopes_terms,
                ),
            )
        )
        return primal, dual


@dataclass(frozen=True, eq=False)
class Bases:
    """The solutions of a chunk of segments.

    Attributes
    ----------
    slots : Slots
        Where the codes are found in the tables.
    on_piece, at_kink : bool arrays of shapes (q, p) and (q, m)
        The columns and rows of the kernels.
    theta, nu : pairs of arrays of shapes (q, p) and (q, m)
    z, v : pairs of arrays of shape (q, p + m)
        Values and multipliers of all coordinates, from fresh products with A.
    systems : list of KernelSystems
        Of all segments whose kernels are not empty.
    rcond : array of shape (q,)
        As in KernelSystems; 1 for an empty kernel.
    exact : bool array of shape (q,)
        Which segments were solved in 106 bits.
    """

    slots: Slots
    on_piece: Array
    at_kink: Array
    theta: Pair
    nu: Pair
    z: Pair
    v: Pair
    systems: list[KernelSystems]
    rcond: Array
    exact: Array

    def system(self, segment: int) -> KernelSystems | None:
        """Return the equations of one segment; None where its kernel is empty."""
        for systems in self.systems:
            for at in np.flatnonzero(systems.segments == segment).tolist():
                return systems[at : at + 1]
        return None


def solve_bases(
    A: LinearMap,
    tables: CodeTables,
    codes: Array,
    low: Array,
    exact: PreciseMatrix,
    ill: float = ILL,
) -> Bases:
    """Solve the kernels of a chunk of bases; those that are ill-conditioned, in 106 bits.

    Parameters
    ----------
    A : LinearMap of shape (m, p)
    tables : CodeTables
    codes : int array of shape (q, p + m)
        With exactly p coordinates at kinks in each row.
    low : array of shape (q,)
    exact : PreciseMatrix
        A in 106 bits.
    ill : float
        Reciprocal condition number below which a kernel is ill-conditioned. Default: ILL.

    Raises
    ------
    SingularBasis
        Its `segment` is the row.
    """
    m, p = A.shape
    slots = Slots.of(tables.start + codes)
    of_variables, of_rows = slots.part(0, p), slots.part(p, p + m)
    theta, nu = tables.kink.over(of_variables, low), tables.slope.over(of_rows, low)
    kinks, slopes = tables.kink.over(of_rows, low), tables.slope.over(of_variables, low)
    fixed, known = _products(A.rows_times, theta, m), _products(A.rows_transpose_times, nu, p)
    on_piece, at_kink = (codes[:, :p] & 1) == 0, (codes[:, p:] & 1) == 1
    block, row_place, column_place = _common_block(A, on_piece, at_kink, theta, nu)
    noise = [
        NOISE / STORED * np.stack(sizes_at(size, low), axis=1)[:, None, :]
        for size in (tables.kink_size, tables.slope_size)
    ]
    systems: list[KernelSystems] = []
    precise: dict[int, tuple[Array, Array]] = {}
    for here in _of_one_size(on_piece.sum(axis=1)):
        R = np.nonzero(at_kink[here])[1].reshape(len(here), -1)
        C = np.nonzero(on_piece[here])[1].reshape(len(here), -1)
        spend(_CUBE * len(here) * R.shape[1] ** 3)
        try:
            kernels = Kernels.factorise(
                block[row_place[R][:, :, None], column_place[C][:, None, :]],
                0.0 if exact.affordable else RANK,
            )
            solved = _precisely(exact, tables, slots.each[here], low[here], kernels, R, C, ill)
        except SingularBasis as error:
            error.segment = int(here[error.segment])
            raise
        each = here[:, None]
        t, f = _both(kinks, each, R), _both(fixed, each, R)
        g, k = _both(slopes, each, C), _both(known, each, C)
        target, right = t - f, -g - k
        x, u = kernels.solve(target), kernels.solve_transposed(right)
        in_106_bits = np.zeros(len(here), dtype=bool)
        for at_here, (values, multipliers) in solved.items():
            in_106_bits[at_here] = True
            x[at_here], u[at_here] = values[:, C[at_here]].T, multipliers[:, p + R[at_here]].T
            precise[int(here[at_here])] = values, multipliers
        for part in (0, 1):
            theta[part][each, C], nu[part][each, R] = x[:, :, part], u[:, :, part]
        terms = (
            np.abs(t) + np.abs(f) + noise[0][here],
            np.abs(g) + np.abs(k) + noise[1][here],
        )
        systems.append(KernelSystems(here, R, C, kernels, target, right, *terms, in_106_bits))
    z, v = _all_coordinates(A, theta, nu)
    for s, found in precise.items():
        for pair, values in zip((z, v), found, strict=True):
            pair[0][s], pair[1][s] = values
    rcond, in_106_bits = np.ones(len(codes)), np.zeros(len(codes), dtype=bool)
    for each_size in systems:
        rcond[each_size.segments] = each_size.rcond
        in_106_bits[each_size.segments] = each_size.exact
    return Bases(slots, on_piece, at_kink, theta, nu, z, v, systems, rcond, in_106_bits)


def _common_block(
    A: LinearMap, on_piece: Array, at_kink: Array, theta: Pair, nu: Pair
) -> tuple[Array, Array, Array]:
    """Return the block of A that all kernels are part of, and the places of rows and columns in it.

    Raises
    ------
    TooMuchWork
    """
    m, p = A.shape
    rows, columns = np.flatnonzero(at_kink.any(axis=0)), np.flatnonzero(on_piece.any(axis=0))
    if len(rows) * len(columns) > _LARGEST:
        raise TooMuchWork(f"kernels of {len(rows)} rows and {len(columns)} columns are too large")
    entries = m + p
    if isinstance(A, DenseMap):
        entries = m * _used(theta, columns) + p * _used(nu, rows)
    spend(len(on_piece) * (_SEGMENT + _COORDINATE * (m + p) + _ENTRY * entries))
    spend(_COPIED * len(rows) * len(columns))
    row_place, column_place = np.zeros(m, np.int64), np.zeros(p, np.int64)
    row_place[rows], column_place[columns] = np.arange(len(rows)), np.arange(len(columns))
    return A.block(rows, columns), row_place, column_place


def _used(pair: Pair, unknown: Array) -> int:
    """Return how many coordinates are unknown or not zero in some segment: those multiplied."""
    used = (pair[0] != 0.0).any(axis=0) | (pair[1] != 0.0).any(axis=0)
    used[unknown] = True
    return int(np.count_nonzero(used))


def _all_coordinates(A: LinearMap, theta: Pair, nu: Pair) -> tuple[Pair, Pair]:
    """Return z = (theta, A theta) and v = (-A' nu, nu), values and rates, shapes (q, p + m)."""
    m, p = A.shape
    ahead, back = _products(A.rows_times, theta, m), _products(A.rows_transpose_times, nu, p)
    z, v = (
        [np.concatenate(pair, axis=1) for pair in zip(*parts, strict=True)]
        for parts in ((theta, ahead), ([-g for g in back], nu))
    )
    return (z[0], z[1]), (v[0], v[1])


def _of_one_size(sizes: Array) -> Iterator[Array]:
    """Yield the segments whose kernels are of one size, as many as are solved at once."""
    for size in np.unique(sizes[sizes > 0]).tolist():
        same = np.flatnonzero(sizes == size)
        step = max(1, _ENTRIES // size**2)
        for begin in range(0, len(same), step):
            yield same[begin : begin + step]


def _precisely(
    exact: PreciseMatrix,
    tables: CodeTables,
    slots: Array,
    low: Array,
    kernels: Kernels,
    rows: Array,
    columns: Array,
    ill: float,
) -> dict[int, tuple[Array, Array]]:
    """Return z and v of the ill-conditioned ones, by their place in the stack."""
    found = {}
    for at in np.flatnonzero(kernels.rcond < ill).tolist():
        try:
            if exact.affordable:
                found[at] = precise_solution(
                    exact, tables, slots[at], float(low[at]), kernels, at, rows[at], columns[at]
                )
            elif kernels.rcond[at] < ILL:
                kernels[at : at + 1].demand(RANK)
        except SingularBasis as error:
            error.segment = at
            raise
    return found


def _both(pair: Pair, segments: Array, coordinates: Array) -> Array:
    """Return values and rates side by side."""
    return np.stack([part[segments, coordinates] for part in pair], axis=-1)


def _products(
    multiply: Callable[[Array, Array], Array], vectors: Pair, length: int
) -> tuple[Array, Array]:
    """Return the products of values and of rates with a matrix, shape (q, length) each.

    They are made together, since reading a large matrix takes longer than multiplying it with a few
    vectors; only the nonzero entries and vectors take part.
    """
    used = [part.any(axis=0) for part in vectors]
    entries = np.flatnonzero(used[0] | used[1])
    both = np.concatenate([part[:, entries] for part in vectors])
    moved = np.flatnonzero(both.any(axis=1))
    if len(moved) == len(both) > 0:
        out = multiply(entries, both)
    else:
        out = np.zeros((len(both), length))
        if len(moved):
            out[moved] = multiply(entries, both[moved])
    values, rates = np.split(out, 2)
    return values, rates


def _backward_error(B: Array, sizes: Array, x: Array, b: Array, terms: Array, mix: Array) -> Array:
    size = sizes @ np.abs(x) + terms
    size += mix * size[:, :, ::-1]
    return np.asarray(ratio_of(np.abs(B @ x - b), size).max(axis=(1, 2)))
