r"""Where a sparse component of large variance must lie: near its variable of the largest loading.

Let A = X'X, and let a support S of k >= 2 columns have :math:`\lambda = \lambda_{max}(A_S) > U`,
with the unit eigenvector z. No support of k - 1 columns exceeds u, and u >= all :math:`A_{jj}`.

1. The support without j has at least the value of z without its entry j, so

   .. math:: z_j^2 \ge \zeta_j = \frac{U - u}{2U - A_{jj} - u} \qquad (j \in S, \; U > u).

2. From :math:`(\lambda - A_{jj}) z_j = \sum_{r \ne j} A_{jr} z_r` the norm of row j on S without j
   has a square of at least :math:`(U - A_{jj})^2 \zeta_j / (1 - \zeta_j)`.
3. Let the anchor i have the largest :math:`|z_i|`: then :math:`z_i^2 \ge 1/k`, and
   :math:`\sum_{r \in S} |A_{ir}| > U` (Gershgorin).
4. For the unit vector v along Xz, :math:`(x_j'v)^2 = \lambda z_j^2`. The angles from v to the
   lines of the anchor and of j, whose squared cosines are at least
   :math:`p = U \max(1/k, \zeta_i) / A_{ii}` and :math:`q = U \zeta_j / A_{jj}`, bound the one
   between them:

   .. math:: |A_{ij}| \ge \sqrt{A_{ii} A_{jj}}
             \bigl(\sqrt{pq} - \sqrt{(1 - p)(1 - q)}\bigr).

5. The sum of the squares of A on S, which has i and j, exceeds :math:`U^2`.

Which columns j may share a support with which anchor i follows from sums of the largest entries of
rows. Columns that cannot leave these sums, and so on until none does. The supports that are left
lie within the union of the anchors' lists, the candidates.

The engine (:mod:`sparseopt.solvers.strs.components.anchors`) and the checker
(:mod:`sparseopt.checking.component.anchors`) share this module; each makes its own table of the
largest products. The exact program (`sparseopt check --exact`) does all of it anew in rationals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from sparseopt.problems.base import Array

_WORK = 4e9
"""Entries of matrices that are looked at altogether: about 20 seconds."""
_SECOND, _PASSES = 2e-10, 60
"""Seconds of a multiplication, and what looking at an entry takes of them."""
_SHORT = 1e-30
"""Squares below this part of the largest one are taken for it where they divide."""
_SQUARED_SINE = 1e-12
"""Added to squared sines, whose roots rounding could make too small."""


class TooMany(Exception):
    """More columns are left than may be looked at."""


@dataclass(frozen=True, eq=False)
class Loadings:
    """The columns of X, with what their products are at most.

    Attributes
    ----------
    X : array of shape (n, D)
    squares : array of shape (D,)
    largest : array of shape (D, m)
        Decreasing along rows: no m other columns have larger absolute products with the column.
    margin : float
        By which an inequality must fail before a column is left out, relative to the largest
        square. It covers the rounding of products.
    most : int
        Columns whose matrix may be formed.
    spend : callable, optional
        Is told about how many seconds each piece of work takes, before it is done. What it raises
        ends the work.
    """

    X: Array
    squares: Array
    largest: Array
    margin: float
    most: int
    spend: Callable[[float], None] = lambda seconds: None

    def averaged(self, k: int, u: float) -> float:
        r"""Bound supports of k columns, none of whose parts of k - 1 exceeds u.

        Some :math:`z_j^2 \le 1/k`, so formula 1 gives
        :math:`\lambda \le ((k - 1) u - \min_j A_{jj}) / (k - 2)`.

        Parameters
        ----------
        k : int
        u : float
            At least all squares.
        """
        if k <= 2:
            return math.inf
        return ((k - 1) * u - float(self.squares.min())) / (k - 2)

    def candidates(self, k: int, u: float, U: float) -> Array:
        """Return the columns of the supports of k columns that may exceed U.

        Parameters
        ----------
        k : int
            At least 2.
        u : float
            No support of k - 1 columns exceeds it.
        U : float

        Returns
        -------
        int array
            Increasing.

        Raises
        ------
        TooMany
        """
        unit = float(self.squares.max())
        if unit == 0.0:
            return np.zeros(0, dtype=np.int64)
        u, U = max(u, unit), max(U, 0.0)
        slack = self.margin * unit
        zeta = self._least_loadings(u, U)
        rows = np.zeros((len(self.squares), k))
        rows[:, 1:] = np.cumsum(self.largest[:, : k - 1], axis=1)
        anchors = np.flatnonzero(self.squares + rows[:, -1] > U - slack)
        norms = (self.largest[:, : k - 1] ** 2).sum(axis=1)
        left = norms >= self._least_norms(zeta, U) - slack * unit
        anchors = anchors[left[anchors]]
        near = np.zeros_like(left)
        for begin in range(0, len(anchors), 64):
            some = anchors[begin : begin + 64]
            self.spend(_SECOND * len(some) * len(near) * (len(self.X) + _PASSES))
            products = np.abs(self.X[:, some].T @ self.X)
            near |= (products >= self._least_products(some, zeta, k, U) - slack).any(axis=0)
        near[anchors] = True
        pool = np.flatnonzero(left & near)
        if len(pool) > self.most:
            raise TooMany(f"{len(pool)} columns of {k} may share a support")
        lists = self._lists(pool, anchors, zeta, k, U)
        return np.asarray(np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *lists])))

    def _least_loadings(self, u: float, U: float) -> Array:
        """Return zeta of all columns, formula 1."""
        denominator = 2.0 * U - self.squares - u
        safe = np.where(denominator > 0.0, denominator, 1.0)
        larger = np.where(denominator > 0.0, max(U - u, 0.0) / safe, 0.0)
        return np.asarray(larger * (1.0 - self.margin))

    def _least_norms(self, zeta: Array, U: float) -> Array:
        """Return the least squared norms of rows without their diagonals, formula 2."""
        return np.asarray(np.maximum(U - self.squares, 0.0) ** 2 * zeta / (1.0 - zeta))

    def _least_products(self, anchors: Array, zeta: Array, k: int, U: float) -> Array:
        """Return the least absolute products of anchors and all columns, formula 4.

        Infinite where a column cannot have so large a loading.
        """
        squares = self.squares
        # Shorter columns have squared cosines beyond 1 all the same.
        floor = np.maximum(squares, _SHORT * squares.max())
        p = (U * np.maximum(1.0 / k, zeta) / floor)[anchors, None]
        q = (U * zeta / floor)[None, :]
        sines = np.sqrt((np.maximum(1.0 - p, 0.0) + _SQUARED_SINE) * np.maximum(1.0 - q, 0.0))
        sines += math.sqrt(_SQUARED_SINE)
        cosines = np.sqrt(np.minimum(p, 1.0) * np.minimum(q, 1.0)) - sines
        least = np.sqrt(np.outer(squares[anchors], squares)) * cosines
        never = np.maximum(p, q) > 1.0 + max(self.margin, _SQUARED_SINE)
        return np.where(never, np.inf, np.where(cosines > 0.0, least, -np.inf))

    def _lists(self, pool: Array, anchors: Array, zeta: Array, k: int, U: float) -> Iterator[Array]:
        """Yield the candidates of each anchor."""
        A = np.abs(self.X[:, pool].T @ self.X[:, pool])
        norms = self._least_norms(zeta, U)[pool]
        slack = self.margin * float(self.squares.max())
        work = 0.0
        left = np.ones(len(pool), dtype=bool)
        while True:
            work += self._spent(work, left)
            W = A[np.ix_(left, left)] ** 2
            np.fill_diagonal(W, 0.0)
            keep = _largest(W, k - 1) >= norms[left] - slack * float(self.squares.max())
            if keep.all():
                break
            left[left] = keep
        for i in anchors[np.isin(anchors, pool[left])]:
            at = int(np.searchsorted(pool, i))
            least = self._least_products(np.array([i]), zeta, k, U)[0, pool]
            own = left & (A[at] >= least - slack)
            own[at] = True
            while own.sum() >= k:
                work += self._spent(work, own)
                place = int(own[:at].sum())
                keep = _possible(A[np.ix_(own, own)], place, norms[own], k, U, slack)
                if keep.all():
                    yield pool[own]
                    break
                own[own] = keep

    def _spent(self, work: float, left: Array) -> float:
        """Return the entries of one more matrix, if they are not too many."""
        more = float(left.sum()) ** 2
        self.spend(_SECOND * _PASSES * more)
        if work + more > _WORK:
            raise TooMany("the lists of candidates take too long")
        return more


def _possible(A: Array, i: int, norms: Array, k: int, U: float, slack: float) -> Array:
    """Return which columns of a list may share a support with its anchor, formulas 2, 3 and 5.

    Parameters
    ----------
    A : array of shape (N, N)
        Absolute values, N >= k.
    i : int
        The anchor's place.
    norms : array of shape (N,)
        Least squared norms of rows without their diagonals.
    k : int
    U, slack : float

    Returns
    -------
    bool array of shape (N,)
        All False where the anchor itself is impossible.
    """
    N, unit = len(A), float(np.diagonal(A).max())
    others = np.arange(N) != i
    own = np.diagonal(A) ** 2
    W = A**2
    np.fill_diagonal(W, 0.0)
    to_anchor = W[i].copy()
    W[:, i] = 0.0
    among = _largest(W, k - 2)
    keep = to_anchor + among >= norms - slack * unit
    row = np.where(others, A[i], 0.0)
    reach = A[i, i] + row + _largest_without(row, others, k - 2)
    keep &= reach > U - slack
    terms = own + 2.0 * to_anchor + among
    squares = own[i] + terms + _largest_without(terms, others, k - 2)
    keep &= squares > U * U * (1.0 - slack / unit)
    keep &= others
    # A support needs k - 1 others.
    keep[i] = keep.sum() >= k - 1
    return keep if keep[i] else np.zeros(N, dtype=bool)


def _largest(W: Array, count: int) -> Array:
    """Return the sums of the largest entries of each row, all >= 0."""
    if count <= 0:
        return np.zeros(len(W))
    if count >= W.shape[1]:
        return np.asarray(W.sum(axis=1))
    place = W.shape[1] - count
    return np.asarray(np.partition(W, place, axis=1)[:, place:].sum(axis=1))


def _largest_without(values: Array, others: Array, count: int) -> Array:
    """Return, for each entry, the sum of the largest among the others but this one."""
    among = np.sort(np.where(others, values, -np.inf))[::-1]
    if count <= 0:
        return np.zeros(len(values))
    # One of the largest may be the entry itself; then the next one takes its place.
    top, following = among[:count], among[count] if count < len(among) else -np.inf
    following = following if np.isfinite(following) else 0.0
    total = float(top[np.isfinite(top)].sum())
    return np.where(others & (values >= top[-1]), total - values + following, total)
