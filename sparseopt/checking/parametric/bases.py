r"""From the bases of a chunk of segments to their solutions, affine in step = lam - low.

Every array has one row for each segment. The kernels are solved again here; nothing that the result
states about theta and nu is used, it is only compared.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparseopt.checking.parametric.kernels import Kernel, SingularKernel
from sparseopt.checking.parametric.point import ratio_of
from sparseopt.checking.parametric.precise import ILL, PreciseMatrix, precise_solution
from sparseopt.checking.parametric.tables import CodeTables, sizes_at
from sparseopt.checking.tolerances import NOISE, RANK, STORED
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.maps import LinearMap

__all__ = ["Bases", "KernelSystem", "Pair", "solve_bases"]

Pair = tuple[Array, Array]
"""Values at the lower ends and rates."""


@dataclass(frozen=True, eq=False)
class KernelSystem:
    """One segment's equations: B theta_C = target and B' nu_R = slopes, (value, rate) columns.

    `target_terms` and `slopes_terms` are the sizes of what the right sides were added up from.
    `exact` says whether it was solved in 106 bits.
    """

    rows: Array
    columns: Array
    kernel: Kernel
    target: Array
    slopes: Array
    target_terms: Array
    slopes_terms: Array
    exact: bool

    @property
    def rcond(self) -> float:
        """The reciprocal condition number that rounding errors grow by; 1 in 106 bits."""
        return 1.0 if self.exact else self.kernel.rcond

    def extended_error(self, theta: Array, nu: Array) -> float:
        """Return the largest relative error of the values theta_C and nu_R in double precision."""
        return max(
            self.kernel.extended_error(theta, self.target[:, :1]),
            _transposed_error(self.kernel, nu, self.slopes[:, :1]),
        )

    def backward_errors(
        self, theta: Array, nu: Array, from_rates: float, from_values: float
    ) -> tuple[float, float]:
        r"""Return the componentwise backward errors of stated theta_C and nu_R, shape (k, 2).

        The smallest omega such that they solve the equations exactly after relative changes of B
        and of the right sides by omega (Oettli and Prager 1964):
        :math:`\max_i |B x - b|_i / (|B| |x| + |b|)_i`. To the size of the values' terms,
        `from_rates` times that of the rates' is added, and `from_values` the other way round.
        """
        primal, dual = (
            _backward_error(B, x, b, terms, np.array([[1.0, from_values], [from_rates, 1.0]]))
            for B, x, b, terms in (
                (self.kernel.B, theta, self.target, self.target_terms),
                (self.kernel.B.T, nu, self.slopes, self.slopes_terms),
            )
        )
        return primal, dual


@dataclass(frozen=True, eq=False)
class Bases:
    """The solutions of a chunk of segments.

    Attributes
    ----------
    slots : int array of shape (q, p + m)
        Where the codes are found in the tables.
    theta, nu : pairs of arrays of shapes (q, p) and (q, m)
    z, v : pairs of arrays of shape (q, p + m)
        Values and multipliers of all coordinates, from fresh products with A.
    systems : list of KernelSystem or None
        None where the kernel is empty.
    """

    slots: Array
    theta: Pair
    nu: Pair
    z: Pair
    v: Pair
    systems: list[KernelSystem | None]

    @property
    def exact(self) -> Array:
        """Which segments were solved in 106 bits, bool (q,)."""
        return np.array([system is not None and system.exact for system in self.systems])


def solve_bases(
    A: LinearMap, tables: CodeTables, codes: Array, low: Array, exact: PreciseMatrix
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

    Raises
    ------
    SingularKernel
        Its `segment` is the row.
    """
    m, p = A.shape
    slots = tables.start + codes
    at = low[:, None]
    theta, nu = tables.kink.at(slots[:, :p], at), tables.slope.at(slots[:, p:], at)
    kinks, slopes = tables.kink.at(slots[:, p:], at), tables.slope.at(slots[:, :p], at)
    fixed = (products(A, theta[0]), products(A, theta[1]))
    known = (transposed_products(A, nu[0]), transposed_products(A, nu[1]))
    on_piece, at_kink = (codes[:, :p] & 1) == 0, (codes[:, p:] & 1) == 1
    rows, columns = np.flatnonzero(at_kink.any(axis=0)), np.flatnonzero(on_piece.any(axis=0))
    block = A.block(rows, columns)
    row_place, column_place = np.zeros(m, np.int64), np.zeros(p, np.int64)
    row_place[rows], column_place[columns] = np.arange(len(rows)), np.arange(len(columns))
    noise = [
        NOISE / STORED * np.stack(sizes_at(size, low), axis=1)
        for size in (tables.kink_size, tables.slope_size)
    ]
    # Constants and rates side by side, so that a segment reads both at once.
    t_all, f_all, g_all, k_all = (np.stack(pair, axis=2) for pair in (kinks, fixed, slopes, known))
    systems: list[KernelSystem | None] = []
    precise: dict[int, tuple[Array, Array]] = {}
    for s in range(len(codes)):
        R, C = np.flatnonzero(at_kink[s]), np.flatnonzero(on_piece[s])
        if len(C) == 0:
            systems.append(None)
            continue
        try:
            least = 0.0 if exact.affordable else RANK
            kernel = Kernel.factorise(block[np.ix_(row_place[R], column_place[C])], least)
            if kernel.rcond < ILL and exact.affordable:
                precise[s] = precise_solution(exact, tables, slots[s], float(low[s]), kernel, R, C)
        except SingularKernel as error:
            error.segment = s
            raise
        t, f, g, k = t_all[s, R], f_all[s, R], g_all[s, C], k_all[s, C]
        target, right = t - f, -g - k
        if s in precise:
            values, multipliers = precise[s]
            x, u = values[:, C].T, multipliers[:, p + R].T
        else:
            x, u = kernel.solve(target), kernel.solve_transposed(right)
        for part in (0, 1):
            theta[part][s, C] = x[:, part]
            nu[part][s, R] = u[:, part]
        terms = (
            np.abs(t) + np.abs(f) + noise[0][s],
            np.abs(g) + np.abs(k) + noise[1][s],
        )
        systems.append(KernelSystem(R, C, kernel, target, right, *terms, s in precise))
    z = tuple(np.concatenate([part, products(A, part)], axis=1) for part in theta)
    v = tuple(np.concatenate([-transposed_products(A, part), part], axis=1) for part in nu)
    for s, found in precise.items():
        for pair, values in zip((z, v), found, strict=True):
            pair[0][s], pair[1][s] = values
    return Bases(slots, theta, nu, (z[0], z[1]), (v[0], v[1]), systems)


def products(A: LinearMap, vectors: Array) -> Array:
    """Return A v for each row v, shape (q, m); only the nonzero columns take part.

    Parameters
    ----------
    A : LinearMap
        m x p.
    vectors : array of shape (q, p)

    Returns
    -------
    array of shape (q, m)
    """
    columns = np.flatnonzero(vectors.any(axis=0))
    if len(columns) == 0:
        return np.zeros((len(vectors), A.shape[0]))
    return np.asarray(A.times(columns, vectors[:, columns].T).T)


def transposed_products(A: LinearMap, vectors: Array) -> Array:
    """Return A'u for each row u, shape (q, p); only the nonzero rows take part.

    Parameters
    ----------
    A : LinearMap
        m x p.
    vectors : array of shape (q, m)

    Returns
    -------
    array of shape (q, p)
    """
    rows = np.flatnonzero(vectors.any(axis=0))
    if len(rows) == 0:
        return np.zeros((len(vectors), A.shape[1]))
    return np.asarray(A.transpose_times(rows, vectors[:, rows].T).T)


def _backward_error(B: Array, x: Array, b: Array, terms: Array, mix: Array) -> float:
    size = (np.abs(B) @ np.abs(x) + terms) @ mix
    return float(ratio_of(np.abs(B @ x - b), size).max())


def _transposed_error(kernel: Kernel, u: Array, target: Array) -> float:
    return Kernel.factorise(np.ascontiguousarray(kernel.B.T), 0.0).extended_error(u, target)
