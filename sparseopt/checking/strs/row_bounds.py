r"""Lagrangian row bounds on sets of supports, evaluated so that rounding makes them no smaller.

For any vector l and matrix L, a unit vector z whose support S has size d satisfies

.. math:: z'Az + a'z = z'\bigl(A - \tfrac{L + L'}{2}\bigr)z + (a - l)'z
          + \sum_{i \in S} z_i \bigl(l_i + L_{ii} z_i + \sum_{j \in S \setminus i} L_{ij} z_j\bigr)

and by the Cauchy-Schwarz inequality row i is at most

.. math:: h_i = \max_t |l_i| \cos t + L_{ii} \cos^2 t + r_i \cos t \sin t
              \le \mu + \frac{l_i^2}{4} \cdot \frac{\mu}{\mu^2 - L_{ii} \mu - r_i^2 / 4}

for every :math:`\mu > \lambda_i = (L_{ii} + \sqrt{L_{ii}^2 + r_i^2}) / 2`, the upper eigenvalue of
the quadratic form in (cos t, sin t). Here :math:`r_i^2` bounds the squares of the other entries of
row i on S: those of the variables that are fixed in, and the largest ones of the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sparseopt.problems.base import Array

_UP = 1.0 + 1e-13
"""Covers the rounding of a few operations and of sums of up to 200 terms, all nonnegative."""
_LOST = 1e-140
"""More than what is lost in a row by underflow, where the largest number is 1."""
_NEWTON = 20


@dataclass(frozen=True, eq=False)
class RowPairs:
    """A pool of pairs (l, L), each on some of the D variables.

    Attributes
    ----------
    variables : list of int arrays
        Increasing.
    l, L : lists of arrays of shapes (n,) and (n, n)
    """

    variables: list[Array]
    l: list[Array]
    L: list[Array]

    @classmethod
    def read(cls, arrays: Any, D: int) -> RowPairs:
        """Unpack the arrays ``pair_ptr, pair_index, pair_l, pair_L`` of a certificate.

        Raises
        ------
        ValueError
            When they do not describe pairs.
        """
        missing = {"pair_ptr", "pair_index", "pair_l", "pair_L"} - set(arrays)
        if missing:
            raise ValueError(f"the certificate has no entry {sorted(missing)[0]}")
        ptr, index = np.asarray(arrays["pair_ptr"]), np.asarray(arrays["pair_index"])
        if ptr.dtype.kind not in "iu" or index.dtype.kind not in "iu":
            raise ValueError("pair_ptr and pair_index must be integers")
        l, L = (np.asarray(arrays[name], dtype=float) for name in ("pair_l", "pair_L"))
        sizes: Array = np.diff(ptr.astype(np.int64)) if ptr.ndim == 1 else np.array([-1])
        if ptr.ndim != 1 or len(ptr) == 0 or ptr[0] != 0 or (sizes < 0).any():
            raise ValueError("pair_ptr does not divide anything")
        if index.shape != (ptr[-1],) or l.shape != index.shape:
            raise ValueError("pair_ptr, pair_index and pair_l disagree in length")
        if (sizes > D).any() or L.shape != (int((sizes**2).sum()),):
            raise ValueError("pair_L does not hold one square matrix for each pair")
        if not (np.isfinite(l).all() and np.isfinite(L).all()):
            raise ValueError("pair_l or pair_L holds a number that is not finite")
        variables, ls, Ls, at = [], [], [], 0
        for begin, size in zip(ptr[:-1].tolist(), sizes.tolist(), strict=True):
            F = index[begin : begin + size].astype(np.int64)
            if size and (F[0] < 0 or F[-1] >= D or (np.diff(F) <= 0).any()):
                raise ValueError(f"pair_index is not increasing within 0..{D - 1}")
            variables.append(F)
            ls.append(l[begin : begin + size])
            Ls.append(L[at : at + size**2].reshape(size, size))
            at += size**2
        return cls(variables, ls, Ls)

    def on(self, pair: int, F: Array) -> tuple[Array, Array]:
        """Return (l, L) of a pair on the variables F.

        Raises
        ------
        ValueError
            When F has a variable that the pair is not for.
        """
        own = self.variables[pair]
        at = np.searchsorted(own, F)
        if (at >= len(own)).any() or (own[at] != F).any():
            raise ValueError(f"pair {pair} is not for all candidates of a leaf that uses it")
        return self.l[pair][at], self.L[pair][np.ix_(at, at)]


def row_sum(l: Array, L: Array, inside: Array, d: int) -> float:
    """Return an upper bound of the sum of h_i over any support of a leaf.

    Parameters
    ----------
    l, L : arrays of shape (n,) and (n, n)
        On the candidates of the leaf.
    inside : bool array of shape (n,)
        The candidates that are fixed in.
    d : int
        Size of the supports.
    """
    size = float(max(np.abs(l).max(initial=0.0), np.abs(L).max(initial=0.0)))
    if size == 0.0:
        return 0.0
    # Squares of very large or small numbers leave the range; what still does so adds _LOST.
    l, L = l / size, L / size
    squares = L**2
    np.fill_diagonal(squares, 0.0)
    fixed = int(inside.sum())
    rest = squares[:, ~inside]
    # A row of a free variable shares the support with one free variable less.
    own = np.where(inside, d - fixed, d - fixed - 1)
    ordered = np.sort(rest, axis=1)[:, ::-1]
    sums = np.concatenate([np.zeros((len(l), 1)), np.cumsum(ordered, axis=1)], axis=1)
    largest = sums[np.arange(len(l)), np.clip(own, 0, rest.shape[1])]
    growth = 1.0 + len(l) * 1e-15
    h = _row_maxima(np.abs(l), np.diagonal(L), (squares[:, inside].sum(axis=1) + largest) * growth)
    free = np.sort(h[~inside])[::-1]
    total = (h[inside].sum() + free[: d - fixed].sum()) * growth * _UP
    return float((total + len(l) * _LOST) * size * _UP)


def _row_maxima(l: Array, diagonal: Array, square: Array) -> Array:
    r"""Return upper bounds of the h_i for l >= 0 and r_i^2 = square.

    With :math:`\mu = \lambda + s` the denominator is s (s + R), R the difference of the two
    eigenvalues: nothing cancels. Every s > 0 is valid, and Newton's method finds a good one.
    """
    R = np.sqrt(diagonal**2 + square)
    # The eigenvalues are +-(R +- diagonal) / 2; the smaller of the two sums would cancel.
    larger = (R + np.abs(diagonal)) / 2.0
    smaller = square / (4.0 * np.maximum(larger, np.finfo(float).tiny))
    upper = np.where(diagonal >= 0.0, larger, smaller)
    some = l > 0.0
    h = np.where(some, 0.0, upper)
    if some.any():
        b, lam, gap = l[some] / 2.0, upper[some], R[some]
        # The squared coordinates of the upper eigenvector are upper / R and -lower / R.
        lower = np.where(diagonal >= 0.0, smaller, larger)[some]
        unit = np.maximum(gap, np.finfo(float).tiny)
        first = np.where(gap > 0.0, lam / unit, 1.0)
        b1, b2 = b * np.sqrt(first), b * np.sqrt(lower / unit)
        low = 1e-14 * (gap + b)
        s = np.maximum(np.maximum(b1, b2 - gap), low)
        for _ in range(_NEWTON):
            y1, y2 = b1 / s, b2 / (s + gap)
            norm_square = y1**2 + y2**2
            norm = np.sqrt(norm_square)
            slope = y1**2 / s + y2**2 / (s + gap)
            step = np.divide(
                (norm - 1.0) * norm_square, slope, out=np.zeros_like(s), where=slope > 0
            )
            s = np.maximum(s + step, low)
        h[some] = lam + s + b * (b / s) * ((lam + s) / (s + gap))
    return np.asarray(h * _UP)
