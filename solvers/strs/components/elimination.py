r"""Which variables of many may be left out of a sparse principal component, and why.

For a set K of variables, the kernel, and A = X'X the supports with m >= 1 variables outside K have
no larger eigenvalue than

.. math:: \begin{pmatrix} u_{d-m} & c_m \\ c_m & q_m \end{pmatrix},

where :math:`u_{d-m}` bounds the eigenvalues of d - m variables of K, :math:`q_m` those of m others,
and :math:`c_m` the norm of the entries between them
(:mod:`sparseopt.checking.component.verifier` has the formulas). The kernel begins with a good
support, and takes in the variables that keep some m from being proven, until none does.

Products in single precision are off by at most some `margin`. The bounds here allow for three times
as much, so that those of the checker, whose products are rounded in another order, are no larger.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sparseopt.backend import Control
from sparseopt.problems.base import Array

from ...common.spheres import Incumbent
from ..settings import EliminationSettings


def sums_of_largest(values: Array, d: int) -> Array:
    """Return the sums of the 0, ..., d largest of nonnegative values; of all where there are fewer.

    Parameters
    ----------
    values : array of shape (D,)
    d : int
    """
    largest = np.zeros(d)
    top = np.sort(values)[::-1][:d]
    largest[: len(top)] = top
    return np.concatenate([[0.0], np.cumsum(largest)])


def ascend(X: Array, starts: Array, d: int, control: Control) -> Incumbent:
    r"""Return the best support that the power method with truncation reaches.

    From :math:`u \in R^n` the d variables of the largest :math:`|x_i'u|` are the support S, and the
    next u is the leading left singular vector of :math:`X_S`, until S stays. O(n D) for each step
    and start.

    Source: Journee, Nesterov, Richtarik, Sepulchre: Generalized power method for sparse principal
    component analysis (2010), with a count in place of their penalty.

    Parameters
    ----------
    X : array of shape (n, D)
    starts : array of shape (n, K)
    d : int
    control : Control
    """
    U, best, seen = starts, None, set[bytes]()
    while U.shape[1] and (best is None or control.limit() is None):
        scores = np.abs(X.T @ U)
        supports = np.sort(np.argpartition(scores, len(scores) - d, axis=0)[-d:].T, axis=1)
        more = []
        for S in supports:
            if S.tobytes() in seen:
                continue
            seen.add(S.tobytes())
            left, lengths, right = np.linalg.svd(X[:, S], full_matrices=False)
            more.append(left[:, 0])
            if best is None or lengths[0] ** 2 > best.value:
                best = Incumbent(S, right[0], float(lengths[0] ** 2))
        U = np.array(more).T.reshape(len(X), len(more))
    assert best is not None
    return best


@dataclass(frozen=True, eq=False)
class Products:
    """The largest absolute products of each column of X with others.

    Attributes
    ----------
    index : int array of shape (D, M)
        With which column; -1 where there is none.
    value : array of shape (D, M)
        Decreasing, 0 where there is none.
    floor : array of shape (D,)
        What no other product of a column exceeds.
    threshold : float
        That of the certificate.
    """

    index: Array
    value: Array
    floor: Array
    threshold: float

    @classmethod
    def none(cls, squares: Array) -> Products:
        """Return what is known without a product: none exceeds the largest square."""
        D, largest = len(squares), float(squares.max())
        empty = np.zeros((D, 0))
        return cls(empty.astype(np.int64), empty, np.full(D, largest), largest)

    @classmethod
    def above(
        cls,
        X: Array,
        squares: Array,
        threshold: float,
        most: int,
        control: Control,
        settings: EliminationSettings,
    ) -> Products:
        """Compute all products in single precision, and keep the largest above a threshold.

        It is raised where too many are above it. Columns that are too short for a product above
        it are passed over. O(n D^2), the entries of two blocks of columns at a time.

        Parameters
        ----------
        X : array of shape (n, D)
            With entries of at most about 1.
        squares : array of shape (D,)
        threshold : float
        most : int
            How many are kept of each column.
        control : Control
        settings : EliminationSettings
        """
        D, B = len(squares), settings.block
        order = np.argsort(-squares, kind="stable")
        length = np.sqrt(squares[order])
        Z = np.ascontiguousarray(X[:, order].T.astype(np.float32))
        rows, columns, values, count = [], [], [], 0
        for i in range(0, D, B):
            control.progress("products", fraction=i * (2 * D - i) / D**2)
            for j in range(i, D, B):
                if length[i] * length[j] <= threshold:
                    break
                if control.limit() is not None:
                    return cls.none(squares)
                G = np.abs(Z[i : i + B] @ Z[j : j + B].T).ravel()
                where = np.flatnonzero(threshold < G)
                row, column = np.divmod(where, min(B, D - j))
                if i == j:
                    where, row, column = (a[row < column] for a in (where, row, column))
                rows.append((row + i).astype(np.int32))
                columns.append((column + j).astype(np.int32))
                values.append(G[where])
                count += len(where)
                if count > settings.products:
                    value = np.concatenate(values)
                    threshold = float(np.partition(value, count // 2)[count // 2])
                    kept = value > threshold
                    rows, columns = [np.concatenate(rows)[kept]], [np.concatenate(columns)[kept]]
                    values, count = [value[kept]], int(kept.sum())
        if not count:
            nothing = np.zeros((D, 0))
            return cls(nothing.astype(np.int64), nothing, np.full(D, threshold), threshold)
        row, column = (np.concatenate([*a, *b]) for a, b in ((rows, columns), (columns, rows)))
        value = np.concatenate([*values, *values])
        sequence = np.lexsort((-value, row))
        row, column, value = row[sequence], column[sequence], value[sequence]
        rank = np.arange(len(row)) - np.searchsorted(row, row)
        first = rank < most
        index = np.full((D, most), -1)
        table, floor = np.zeros((D, most)), np.full(D, threshold)
        index[order[row[first]], rank[first]] = order[column[first]]
        table[order[row[first]], rank[first]] = value[first]
        full = table[:, -1] > 0.0
        floor[full] = table[full, -1]
        return cls(index, table, floor, threshold)

    def sums(self, d: int, kernel: Array, off: float) -> Array:
        """Bound the sums of the 0, ..., d - 1 largest products of each column outside the kernel.

        Parameters
        ----------
        d : int
        kernel : bool array of shape (D,)
        off : float
            By which a product may be larger than it was computed.

        Returns
        -------
        array of shape (D, d)
        """
        largest = self.largest(d - 1, kernel, off)
        return np.concatenate([np.zeros((len(largest), 1)), np.cumsum(largest, axis=1)], axis=1)

    def largest(self, count: int, kernel: Array, off: float) -> Array:
        """Bound the largest products of each column with others outside the kernel, decreasing.

        Parameters
        ----------
        count : int
        kernel : bool array of shape (D,)
        off : float
            By which a product may be larger than it was computed.

        Returns
        -------
        array of shape (D, count)
        """
        largest = np.zeros((len(self.floor), count))
        if count and self.value.shape[1]:
            inside = kernel[self.index]
            ordered = np.sort(np.where(inside, 0.0, self.value), axis=1)[:, ::-1][:, :count]
            largest[:, : ordered.shape[1]] = ordered
        return np.asarray(np.maximum(largest, self.floor[:, None]) + off)


class Outside:
    """The bounds of supports with variables outside a kernel that grows.

    Parameters
    ----------
    X : array of shape (n, D)
        With entries of at most about 1.
    d : int
    settings : EliminationSettings

    Attributes
    ----------
    squares : array of shape (D,)
    kernel : bool array of shape (D,)
    products : Products
    """

    def __init__(self, X: Array, d: int, settings: EliminationSettings) -> None:
        n, D = X.shape
        self.d, self.settings = d, settings
        self._Z = X.astype(np.float32)
        self.squares = np.einsum("ij,ij->j", X, X)
        self.kernel = np.zeros(D, dtype=bool)
        self.products = Products.none(self.squares)
        unit = (n + 4) * 2.0**-24
        largest = float(self.squares.max())
        self._off = 3.0 * unit / max(1e-3, 1.0 - 2.0 * unit) * largest + 1e-30
        self._cross = np.zeros((D, 0))

    def largest(self) -> Array:
        """Bound the d - 1 largest products of each column with all others, shape (D, d - 1)."""
        nothing = np.zeros(len(self.squares), dtype=bool)
        return self.products.largest(self.d - 1, nothing, self._off)

    def take_in(self, variables: Array) -> None:
        """Put variables into the kernel."""
        new = variables[~self.kernel[variables]]
        self.kernel[new] = True
        products = np.abs(self._Z.T @ self._Z[:, new]) + np.float32(self._off)
        both = np.concatenate([self._cross, products.astype(float) ** 2], axis=1)
        kept = min(self.d - 1, both.shape[1])
        # The largest at the end: a place beyond the last one would be out of range.
        place = min(both.shape[1] - kept, both.shape[1] - 1)
        both = np.partition(both, place, axis=1)[:, both.shape[1] - kept :]
        self._cross = both

    def terms(self) -> tuple[Array, Array, Array]:
        """Return, for all variables outside, what q_m and c_m are made of.

        Returns
        -------
        variables : int array of shape (e,)
        among : array of shape (e, d)
            Entry m - 1: the bound of the row in q_m.
        between : array of shape (e, d)
            Entry k: the sum of the k largest squared products with the kernel.
        """
        variables = np.flatnonzero(~self.kernel)
        among = self.products.sums(self.d, self.kernel, self._off)[variables]
        among += self.squares[variables, None]
        between = np.zeros((len(variables), self.d))
        largest = np.sort(self._cross[variables], axis=1)[:, ::-1]
        kept = largest.shape[1]
        between[:, 1 : kept + 1] = np.cumsum(largest, axis=1)
        between[:, kept + 1 :] = between[:, kept : kept + 1]
        return variables, among, between

    def parts(self) -> tuple[Array, Array]:
        """Return q_m and the square of c_m for m = 0, ..., d; nan where there is no such support.

        Returns
        -------
        q, c : arrays of shape (d + 1,)
        """
        variables, among, between = self.terms()
        inside = len(self.kernel) - len(variables)
        trace = sums_of_largest(self.squares[variables], self.d)
        q, c = np.full(self.d + 1, np.nan), np.full(self.d + 1, np.nan)
        for m in range(max(1, self.d - inside), min(self.d, len(variables)) + 1):
            q[m] = min(float(trace[m]), float(among[:, m - 1].max()))
            c[m] = float(sums_of_largest(between[:, self.d - m], m)[m])
        return q, c

    def grow(self, target: float, inside: Array, control: Control) -> bool:
        """Take in variables until no support with others can exceed a target, or there is no room.

        Parameters
        ----------
        target : float
        inside : array of shape (d + 1,)
            Estimates of the largest eigenvalues of 0, ..., d variables of the kernel. Of the
            distance from them to the target a share is left for their bounds.
        control : Control

        Returns
        -------
        bool
            Whether all sizes fit.
        """
        settings, d = self.settings, self.d
        while control.limit() is None:
            variables, among, between = self.terms()
            q, c = self.parts()
            room = settings.share * np.maximum(target - inside[::-1], 0.0)
            wanted = np.zeros(len(variables), dtype=bool)
            bad = np.flatnonzero(~np.isnan(q) & ~(c <= room * (target - q)) | (q > target))
            for m in bad:
                row, cross = among[:, m - 1], between[:, d - m]
                most = target - c[m] / room[m] if room[m] > 0.0 else -math.inf
                allowed = room[m] * (target - q[m]) / m
                first = row > most if q[m] > target or not allowed > 0.0 else cross > allowed
                second = cross > allowed if allowed > 0.0 else np.ones(len(row), dtype=bool)
                chosen = first if first.sum() <= second.sum() else second
                if not 0 < chosen.sum() <= settings.batch:
                    half = settings.batch // 2
                    chosen = np.zeros(len(row), dtype=bool)
                    chosen[np.argsort(-row, kind="stable")[:half]] = True
                    chosen[np.argsort(-cross, kind="stable")[:half]] = True
                wanted |= chosen
            if not len(bad):
                return True
            count = int(self.kernel.sum() + wanted.sum())
            if count > settings.kernel or not wanted.any():
                return False
            self.take_in(variables[wanted])
        return False
