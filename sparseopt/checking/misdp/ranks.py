"""Proofs by boxes of the entries of matrices that must have rank one.

**"rank-one-leaves"** is a binary tree of N boxes. Node 0 is the box ``root_lower, root_upper`` (E,)
of all entries of those matrices; it must contain all that follow from the constraints (and the
claimed bound as a cutoff). ``entry`` (N,) says which entry a node is split at, at ``value`` (N,),
into its ``children`` (N, 2): below and above; -1 in a leaf. In each leaf the problem with the rows
of :class:`RankBoxes` in place of the ranks has a certificate "misdp-leaves" of its own: the entries
of ``lower, upper, rows, cones, psd, infeasible, cost_scale`` whose ``owner`` (L,) is the leaf. One
that the rank empties needs none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sparseopt.checking.evidence import Malformed
from sparseopt.checking.misdp.implied import ImpliedBounds
from sparseopt.checking.misdp.lines import variable_sizes
from sparseopt.checking.report import Findings
from sparseopt.checking.work import spend
from sparseopt.installed import Deferred
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import triangle
from sparseopt.problems.misdp.problem import MISDP
from sparseopt.result import Certificate, Result, Verdict

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = Deferred("scipy.sparse")

_OWN = ("lower", "upper", "rows", "cones", "psd", "infeasible", "cost_scale")

_OUT = 1e-14
"""Derived numbers are moved outwards by this part of their terms: fifty rounding errors."""
_TINY = 1e-300
"""More than products lose that leave the range of numbers."""
_BOXES = 20_000
"""Leaves of a tree that are looked at: some minutes."""
_PAIR, _RELAXED = 2e-5, 4e-3
"""Seconds of deriving bounds of one entry, and of a program that is made for a box and looked
at."""
_EMPTY = 1e-9
"""An interval is empty where its ends cross by more than this, relative to their size (at least
the unit of the entry)."""
_ROUNDS = 4
"""How often the bounds of entries are derived from each other."""

Verifier = Callable[[MISDP, Result, float | None, Findings], None]


class RankBoxes:
    r"""The entries of the matrices that must have rank one, in boxes: the checker's own rules.

    X semidefinite has a rank of at most one exactly where :math:`X_{ij}^2 = X_{ii} X_{jj}` for all
    i > j. With :math:`X_{ij} \in [l, u]` and :math:`X_{ii} \in [L_i, U_i]`, the secant of the
    square and McCormick's bounds of the product give

    .. math:: E_i X_{jj} + E_j X_{ii} - E_i E_j \le (l + u) X_{ij} - l u
              \qquad\text{for } E = L \text{ and } E = U .

    Parameters
    ----------
    problem : MISDP

    Attributes
    ----------
    F : csr array of shape (E, n)
    F0 : array of shape (E,)
        The packed entries of all those matrices are F x + F0.
    pairs : int array of shape (P, 3)
        The places of X_ij, X_ii and X_jj.
    """

    def __init__(self, problem: MISDP) -> None:
        self._problem = problem
        n = len(problem.c)
        blocks = [block for block in problem.blocks if block.rank_one and block.size > 1]
        self.F = sp.csr_array(sp.vstack([sp.csr_array((0, n)), *(block.F for block in blocks)]))
        self.F0 = np.concatenate([np.zeros(0), *(block.F0 for block in blocks)])
        terms, largest = sp.coo_array(self.F), np.abs(self.F0)
        np.maximum.at(largest, terms.row, np.abs(terms.data) * variable_sizes(problem)[terms.col])
        self._sizes = np.where(largest > 0.0, np.minimum(largest, 1.0), 1.0)
        pairs, diagonal, begin = [np.zeros((0, 3), dtype=np.int64)], [], 0
        for block in blocks:
            i, j = triangle(block.size)
            places = begin + np.arange(block.dimension)
            own = places[i == j]
            diagonal += own.tolist()
            pairs.append(np.stack([places, own[i], own[j]], axis=1)[i != j])
            begin += block.dimension
        self.pairs = np.concatenate(pairs)
        self._diagonal = np.array(diagonal, dtype=np.int64)

    def box(self, lower: Array, upper: Array) -> tuple[Array, Array] | None:
        """Return bounds (E,) of the entries that follow from bounds of x; None where none do."""
        low, high = np.empty_like(self.F0), np.empty_like(self.F0)
        for e in range(len(self.F0)):
            here = slice(self.F.indptr[e], self.F.indptr[e + 1])
            a, k = self.F.data[here], self.F.indices[here]
            ends = np.stack([a * lower[k], a * upper[k]])
            size = float(np.abs(np.where(np.isfinite(ends), ends, 0.0)).sum()) + abs(self.F0[e])
            low[e] = ends.min(axis=0).sum() + self.F0[e] - _OUT * size
            high[e] = ends.max(axis=0).sum() + self.F0[e] + _OUT * size
        return self.tightened(low, high)

    def tightened(self, lower: Array, upper: Array) -> tuple[Array, Array] | None:
        """Return bounds (E,) that also follow from the rank; None where the box is empty."""
        low, high = lower.copy(), upper.copy()
        low[self._diagonal] = np.maximum(low[self._diagonal], 0.0)
        for _ in range(_ROUNDS):
            for k, i, j in self.pairs.tolist():
                # |X_ij| = sqrt(X_ii X_jj)
                top = _root(high[i], high[j], math.inf) * (1.0 + _OUT)
                bottom = _root(low[i], low[j], 0.0) * (1.0 - _OUT)
                low[k], high[k] = max(low[k], -top), min(high[k], top)
                if low[k] >= 0.0:
                    low[k] = max(low[k], bottom)
                if high[k] <= 0.0:
                    high[k] = min(high[k], -bottom)
            for k, i, j in self.pairs.tolist():
                # X_ii = X_ij^2 / X_jj
                least, most = max(low[k], -high[k], 0.0), max(high[k], -low[k], 0.0)
                for a, b in ((i, j), (j, i)):
                    # Squares of small numbers would vanish.
                    if least > 0.0 and high[b] > 0.0:
                        low[a] = max(low[a], least * (least / high[b]) * (1.0 - _OUT))
                    if low[b] > 0.0:
                        square = most * (most / low[b]) * (1.0 + _OUT)
                        high[a] = min(high[a], square + (_TINY if most > 0.0 else 0.0))
            size = np.maximum(self._sizes, np.minimum(np.abs(low), np.abs(high)))
            if (low > high + _EMPTY * size).any():
                return None
            low, high = np.minimum(low, high), np.maximum(low, high)
        return low, high

    def relaxed(self, lower: Array, upper: Array) -> MISDP:
        """Return the problem without the ranks, with E rows for the box and 2 P for the products.

        Parameters
        ----------
        lower, upper : array of shape (E,)
        """
        problem, count = self._problem, len(self.pairs)
        rows, low, high = [self.F], [lower - self.F0], [upper - self.F0]
        for end in (lower, upper):
            matrix, side = sp.lil_array((count, len(self.F0))), np.full(count, np.inf)
            for p, (k, i, j) in enumerate(self.pairs.tolist()):
                ends = end[i], end[j], lower[k], upper[k]
                if not np.isfinite(ends).all():
                    continue
                matrix[p, j], matrix[p, i], matrix[p, k] = end[i], end[j], -(lower[k] + upper[k])
                terms = abs(end[i] * end[j]) + (abs(lower[k]) + abs(upper[k])) ** 2
                side[p] = end[i] * end[j] - lower[k] * upper[k] + _OUT * terms + _TINY
            products = sp.csr_array(matrix)
            rows.append(sp.csr_array(products @ self.F))
            low.append(np.full(count, -np.inf))
            high.append(side - products @ self.F0 + _OUT * (abs(products) @ np.abs(self.F0)))
        return problem.with_changes(
            A=sp.vstack([problem.A, *rows], format="csr"),
            row_lower=np.concatenate([problem.row_lower, *low]),
            row_upper=np.concatenate([problem.row_upper, *high]),
            blocks=[replace(block, rank_one=False) for block in problem.blocks],
        )


def _root(a: float, b: float, unknown: float) -> float:
    """Return the root of a b for numbers >= 0; `unknown` where an infinite one meets 0."""
    value = math.sqrt(max(a, 0.0)) * math.sqrt(max(b, 0.0))
    return unknown if math.isnan(value) else value


def verify_boxes(
    problem: MISDP, result: Result, bound: float | None, findings: Findings, verify: Verifier
) -> None:
    """Prove a bound, or with None that nothing is feasible.

    Parameters
    ----------
    problem : MISDP
    result : Result
        With the certificate.
    bound : float or None
    findings : Findings
    verify : callable
        Judges a certificate "misdp-leaves" of one leaf.
    """
    assert result.certificate is not None
    boxes, arrays = RankBoxes(problem), result.certificate.arrays
    count = len(boxes.F0)
    root = tuple(_vector(arrays, name, count) for name in ("root_lower", "root_upper"))
    implied = ImpliedBounds(problem).tighten(cutoff=bound)
    derived = None if implied is None else boxes.box(*implied)
    claim = "nothing is feasible" if bound is None else f"nothing is better than {bound:.12g}"
    if derived is None:
        findings.prove(f"{claim}: the bounds that follow from the constraints cross")
        return
    if (root[0] > derived[0]).any() or (root[1] < derived[1]).any():
        findings.refute("the boxes leave out entries of the matrices of rank one")
        return
    owner = np.asarray(arrays.get("owner"))
    leaves = 0
    for node, low, high in _leaves(arrays, root[0], root[1]):
        leaves += 1
        if leaves > _BOXES:
            findings.doubt(f"more than {_BOXES} boxes of the ranks are too many to check")
            return
        spend(_PAIR * (_ROUNDS + 2) * (len(boxes.pairs) + 1))
        tight = boxes.tightened(low, high)
        if tight is None:
            continue
        spend(_RELAXED + 2e-8 * (problem.A.nnz + len(problem.c)) + 2e-8 * len(owner))
        if owner.dtype.kind not in "iu" or owner.ndim != 1:
            raise Malformed("owner is not a vector of integers")
        own = {name: _part(arrays, name, owner == node) for name in _OWN if name in arrays}
        part = result.with_changes(certificate=Certificate("misdp-leaves", own))
        found = Findings()
        verify(boxes.relaxed(*tight), part, bound, found)
        report = found.report()
        if report.verdict is not Verdict.VERIFIED:
            say = findings.refute if found.refuted else findings.doubt
            say(f"box {node} of the ranks: {report.messages[0]}")
            return
    findings.prove(f"{claim}: {leaves} boxes cover all matrices of rank one")


def _leaves(
    arrays: Mapping[str, Array], low: Array, high: Array
) -> Iterator[tuple[int, Array, Array]]:
    """Walk the tree; return (node, lower, upper) of its leaves."""
    entry, value, children = (np.asarray(arrays.get(k)) for k in ("entry", "value", "children"))
    N = len(entry) if entry.ndim == 1 and entry.dtype.kind in "iu" else 0
    if N == 0 or value.shape != (N,) or value.dtype.kind not in "iuf" or children.shape != (N, 2):
        raise Malformed("entry, value and children do not describe a tree")
    if children.dtype.kind not in "iu" or not np.isfinite(value).all():
        raise Malformed("value holds numbers that are not finite, or children none that are whole")
    born = children[entry >= 0].ravel()
    # A node that several others share would be looked at as often as there are ways to it.
    if len(np.unique(born)) < len(born):
        raise Malformed("a node is the child of two others")
    open_ = [(0, low, high)]
    while open_:
        node, low, high = open_.pop()
        split = int(entry[node])
        if split < 0:
            yield node, low, high
            continue
        first, second = (int(child) for child in children[node])
        # Children come after their parents, so the walk ends.
        if split >= len(low) or not node < first < N or not node < second < N:
            raise Malformed(f"node {node} has no such entry or children")
        below, above = high.copy(), low.copy()
        below[split] = min(high[split], value[node])
        above[split] = max(low[split], value[node])
        open_ += [(first, low, below), (second, above, high)]


def _part(arrays: Mapping[str, Array], name: str, which: Array) -> Array:
    array = np.asarray(arrays[name])
    if array.ndim == 0 or len(array) != len(which):
        raise Malformed(f"{name} and owner disagree on the number of leaves")
    return array[which]


def _vector(arrays: Mapping[str, Array], name: str, length: int) -> Array:
    array = np.asarray(arrays.get(name))
    if array.dtype.kind not in "iuf" or array.shape != (length,) or np.isnan(array).any():
        raise Malformed(f"{name} is not a vector of {length} numbers")
    return np.asarray(array, dtype=float)
