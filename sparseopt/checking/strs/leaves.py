r"""Leaves of a search tree over supports, and what they prove.

The certificate "leaves" lists them in CSR form: ``in_ptr, in_index`` (the variables that a leaf
fixes in), ``out_ptr, out_index`` (fixed out), and ``mu``, a multiplier for each leaf. A leaf may
also name a pair of row multipliers: ``pair`` (L,), -1 for none, with the pool in ``pair_ptr,
pair_index`` (the variables of each pair, increasing), ``pair_l`` and ``pair_L`` (the vectors, and
the square matrices by rows, one after the other). It proves that U bounds the optimum if

1. every support of size d belongs to a leaf. A tree over the variables is rebuilt from the leaves:
   a variable that all leaves of a node fix splits them; a node is closed by a leaf that fixes
   nothing more, or by holding no support of size d;
2. U bounds z'Az + a'z over the unit vectors that live on a leaf's candidates F (all that is not
   fixed out). Tested on (1, z), this follows from

   .. math:: N = \begin{pmatrix} U - \mu & -a_F'/2 \\ -a_F/2 & \mu I - A_F \end{pmatrix} \succeq 0,

   which one Cholesky factorisation shows, with a shift that covers its rounding (Rump 2006). With
   a pair (l, L) the data are A - (L + L')/2 and a - l there, and U is less what the rows can add
   (:mod:`sparseopt.checking.strs.row_bounds`).

At d = 1 the maximum is the largest :math:`A_{ii} + |a_i|` of the candidates, which is compared
first. A leaf whose ``pair`` is -2 needs neither: without a linear term the squared maximum on a
support S is at most the sum of the squares of A on it, and with I what the leaf fixes in

.. math:: \sum_{i, j \in S} A_{ij}^2 = \sum_{i, j \in I} A_{ij}^2
          + \sum_{i \in S \setminus I} \Bigl( A_{ii}^2 + 2 \sum_{j \in I} A_{ij}^2
          + \sum_{j \in S \setminus I, j \ne i} A_{ij}^2 \Bigr),

where each inner sum is at most that of the largest entries of its row, and the outer one at most
that of the largest such bounds. Their sum must be at most U^2.

Both are shown for U + 1e-9 s. A leaf that fails where s is the largest entry of A, a and U is
refuted; proven are all only with the s of :func:`bound_tolerance`, which entries without any effect
on the optimum do not widen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from sparseopt.checking.cancelling import LAST_DIGITS
from sparseopt.checking.evidence import Malformed
from sparseopt.checking.rational import Sign, rationals, semidefinite
from sparseopt.checking.report import Findings
from sparseopt.checking.strs.row_bounds import RowPairs, row_sum
from sparseopt.checking.tolerances import ROUNDED, SUM
from sparseopt.checking.work import spend
from sparseopt.problems.base import Array
from sparseopt.problems.strs.problem import STRS
from sparseopt.result import Certificate

_CELLS = 200_000_000
"""Leaves times variables beyond which the certificate is not read."""
_VISITS = 5e9
"""Entries of leaves that rebuilding the tree may read: about a minute."""
_LEVELS = 2.5e8
"""Those that it reads level by level; beyond, a tree is so deep that nodes take less."""
_CUBES = 1e12
"""Sum of the cubes of the matrices that may be factorised: about a minute."""
_SQUARES = 4e9
"""Entries of the matrices whose norms may be taken: about a minute."""
_VISIT, _NODE, _CUBE, _ENTRY, _FRACTION = 1e-8, 5e-5, 3e-11, 2e-8, 5e-6
"""Seconds of one of these entries, of a node, of a matrix by its cube, of its entries, and of one
of fractions by its cube."""
_CHUNK = 1_000_000
"""Matrix entries that are factorised at once."""
_EXACT = 16
"""Order of the largest matrix that is tried in rational arithmetic."""
_BY_NORMS = -2
_SMALLEST = 1e-200
_MOVED = 1e-14
_UNIT = float(np.finfo(float).eps) / 2.0


class Unreadable(ValueError):
    """The certificate may be right, but this checker cannot follow it."""


@dataclass(frozen=True)
class Judgement:
    """What leaves say about a bound: "prove", "refute" or "doubt", and why."""

    word: Literal["prove", "refute", "doubt"]
    message: str

    def write(self, findings: Findings, prefix: str = "") -> None:
        """Record it among the findings."""
        getattr(findings, self.word)(prefix + self.message)


def judge(problem: STRS, certificate: Certificate, bound: float) -> Judgement:
    """Return whether the leaves of a certificate prove a bound on the optimum.

    Parameters
    ----------
    problem : STRS
    certificate : Certificate
        Of kind "leaves".
    bound : float
        An upper bound on the maximum.

    Returns
    -------
    Judgement
    """
    D, d = problem.A.shape[0], problem.d
    try:
        leaves = SupportLeaves.read(certificate, D, d)
        if not covers(leaves, d):
            return Judgement(
                "refute", "the leaves do not hold all supports: some are in none of them"
            )
        narrow, wide = bound_tolerance(problem, bound), largest_tolerance(problem, bound)
        gap = unproven_leaf(problem, leaves, bound, narrow)
        if gap and narrow < wide and not unproven_leaf(problem, leaves, bound, wide):
            return Judgement("doubt", f"{gap}, unless it may be off by 1e-9 of the largest entry")
    except Malformed as error:
        return Judgement("refute", f"the leaves are malformed: {error}")
    except Unreadable as error:
        return Judgement("doubt", str(error))
    if gap is not None:
        return Judgement("refute", gap)
    return Judgement(
        "prove",
        f"{len(leaves.mu)} leaves hold every support of {d} among {D} variables, and none of them "
        f"exceeds {bound:.12g}",
    )


def bound_tolerance(problem: STRS, bound: float) -> float:
    r"""Return by how much a bound may be missed: 1e-9 of a size that the optimum has.

    That is ten times the bound, or the best value of one variable,
    :math:`\max_i A_{ii} + |a_i|`, where that is positive and the optimum no less; no more than the
    largest entry of the data. An optimum that entries cancel to may be missed by no more than one
    that is small for other reasons, down to the square of their last two digits: small
    matrices are looked at without rounding. Those of entries off the diagonal count, where all
    variables alone are below 0, and up to 1e-15 of the best: every point has terms of that size. A
    variable so bad that nobody picks it makes no room for the others.

    Parameters
    ----------
    problem : STRS
    bound : float

    Returns
    -------
    float
        In the units of the objective, > 0.
    """
    alone = float((np.diagonal(problem.A) + np.abs(problem.linear)).max())
    digits = min(LAST_DIGITS * _beside(problem), -SUM * ROUNDED * alone)
    least = max(10.0 * SUM * max(alone, abs(bound)), digits)
    return min(least or SUM * _SMALLEST, largest_tolerance(problem, bound))


def _beside(problem: STRS) -> float:
    """Return the largest entry of A off its diagonal, and of a."""
    products = np.abs(problem.A)
    np.fill_diagonal(products, 0.0)
    return max(float(products.max()), float(np.abs(problem.linear).max()))


def largest_tolerance(problem: STRS, bound: float) -> float:
    """Return by how much a bound may be missed without being wrong: 1e-9 of the largest entry.

    Parameters
    ----------
    problem : STRS
    bound : float

    Returns
    -------
    float
        In the units of the objective, > 0.
    """
    size = max(float(np.abs(problem.A).max()), float(np.abs(problem.linear).max()), abs(bound))
    # All may be zero; a factorisation needs a shift that is not.
    return SUM * (size or _SMALLEST)


@dataclass(frozen=True, eq=False)
class SupportLeaves:
    """Leaves of a search tree over the supports of size d among D variables.

    Attributes
    ----------
    state : int8 array of shape (L, D)
        1 fixed in, -1 fixed out, 0 free; what the size d implies is filled in.
    mu : array of shape (L,)
    pair : int array of shape (L,)
        Which pair of row multipliers a leaf uses, -1 for none, -2 for norms.
    pairs : RowPairs
    """

    state: Array
    mu: Array
    pair: Array
    pairs: RowPairs

    @classmethod
    def read(cls, certificate: Certificate, D: int, d: int) -> SupportLeaves:
        """Unpack a certificate; leaves without a support of size d are dropped.

        Raises
        ------
        Malformed, Unreadable
        """
        arrays = certificate.arrays
        missing = {"in_ptr", "in_index", "out_ptr", "out_index", "mu"} - set(arrays)
        if missing:
            raise Malformed(f"the certificate has no entry {sorted(missing)[0]}")
        mu = np.asarray(arrays["mu"], dtype=float)
        if mu.ndim != 1 or not np.isfinite(mu).all():
            raise Malformed("mu is not a vector of finite numbers")
        if len(mu) * D > _CELLS:
            raise Unreadable(f"{len(mu)} leaves over {D} variables are too many to check")
        pair, pairs = _pairs(arrays, len(mu), D)
        state = np.zeros((len(mu), D), dtype=np.int8)
        for name, sign in (("in", 1), ("out", -1)):
            row, index = _csr(arrays[f"{name}_ptr"], arrays[f"{name}_index"], len(mu), D, name)
            np.add.at(state, (row, index), np.int8(sign))
            if np.count_nonzero(state == sign) != len(index):
                raise Malformed("a leaf fixes a variable twice")
        inside, outside = (state > 0).sum(axis=1), (state < 0).sum(axis=1)
        some = (inside <= d) & (D - outside >= d)
        state, mu, pair = state[some], mu[some], pair[some]
        full, spent = inside[some] == d, outside[some] == D - d
        state[full] = np.where(state[full] > 0, 1, -1)
        state[spent] = np.where(state[spent] < 0, -1, 1)
        return cls(state=state, mu=mu, pair=pair, pairs=pairs)


def _pairs(arrays: Mapping[str, Array], rows: int, D: int) -> tuple[Array, RowPairs]:
    """Return which pair each leaf uses, and the pool."""
    if "pair" not in arrays:
        return np.full(rows, -1), RowPairs([], [], [])
    pair = np.asarray(arrays["pair"])
    if pair.dtype.kind not in "iu" or pair.shape != (rows,):
        raise Malformed(f"pair is not an integer for each of the {rows} multipliers")
    try:
        pairs = RowPairs.read(arrays, D)
    except ValueError as error:
        raise Malformed(str(error)) from error
    if rows and not _BY_NORMS <= int(pair.min()) <= int(pair.max()) < len(pairs.l):
        raise Malformed(f"pair names others than the {len(pairs.l)} pairs of the pool")
    return pair.astype(np.int64), pairs


def _csr(ptr: Array, index: Array, rows: int, D: int, name: str) -> tuple[Array, Array]:
    """Return (row, index) of each entry after checking the layout."""
    ptr, index = np.asarray(ptr), np.asarray(index)
    if ptr.dtype.kind not in "iu" or index.dtype.kind not in "iu":
        raise Malformed(f"{name}_ptr and {name}_index must be integers")
    if ptr.shape != (rows + 1,) or index.ndim != 1:
        raise Malformed(f"{name}_ptr has shape {ptr.shape}; there are {rows} multipliers")
    counts: Array = np.diff(ptr.astype(np.int64))
    if ptr[0] != 0 or ptr[-1] != len(index) or (counts < 0).any():
        raise Malformed(f"{name}_ptr does not divide the {len(index)} entries of {name}_index")
    if len(index) and not 0 <= int(index.min()) <= int(index.max()) < D:
        raise Malformed(f"{name}_index names variables outside 0..{D - 1}")
    return np.repeat(np.arange(rows), counts), index.astype(np.int64)


def covers(leaves: SupportLeaves, d: int) -> bool:
    """Return whether every support of size d belongs to a leaf, level by level of the tree.

    O(L D) for each level, at most D levels; a deep tree is rebuilt node by node.

    Parameters
    ----------
    leaves : SupportLeaves
        L leaves over D variables.
    d : int
        Size of the supports.

    Returns
    -------
    bool

    Raises
    ------
    Unreadable
        When the leaves are not those of a tree that branches on one variable at a time.
    """
    left = leaves.state.copy()
    D = left.shape[1]
    # Leaves are kept in the order of their nodes; node k holds left[start[k]:start[k + 1]].
    start = np.array([0])
    inside, outside = np.array([0]), np.array([0])
    if len(left) == 0:
        return False
    visits = 0
    while len(left):
        visits += left.size
        spend(_VISIT * left.size)
        if visits > min(_LEVELS, _VISITS):
            return _deep_tree_covers(leaves.state, d)
        closed = np.logical_or.reduceat(~left.any(axis=1), start)
        common = np.logical_and.reduceat(left != 0, start, axis=0)
        if not (closed | common.any(axis=1)).all():
            raise Unreadable("the leaves are not those of a tree that branches on variables")
        node = np.repeat(np.arange(len(start)), np.diff(np.append(start, len(left))))
        open_ = ~closed[node]
        left, node = left[open_], node[open_]
        variable = common.argmax(axis=1)
        rows = np.arange(len(left))
        out = left[rows, variable[node]] < 0
        left[rows, variable[node]] = 0
        child = 2 * node + out
        child_inside = np.repeat(inside, 2) + np.tile([1, 0], len(inside))
        child_outside = np.repeat(outside, 2) + np.tile([0, 1], len(outside))
        needed = (child_inside <= d) & (D - child_outside >= d) & np.repeat(~closed, 2)
        present = np.bincount(child, minlength=len(needed)) > 0
        if (needed & ~present).any():
            return False
        keep = needed[child]
        left, child = left[keep], child[keep]
        order = np.argsort(child, kind="stable")
        left, child = left[order], child[order]
        numbers, start = np.unique(child, return_index=True)
        inside, outside = child_inside[numbers], child_outside[numbers]
    return True


def _deep_tree_covers(state: Array, d: int) -> bool:
    """Return the same node by node: of two children only the leaves of the smaller are counted.

    O(L D log L) for all leaves, and O(D) and the number of its leaves for each node.
    """
    D = state.shape[1]
    fixes = state != 0
    left, left_in = fixes.sum(axis=1), (state > 0).sum(axis=1)
    visits, stack = state.size, [(np.arange(len(state)), fixes.sum(axis=0), 0, 0)]
    while stack:
        # how many of the node's leaves fix each variable; -1 where it is fixed above
        rows, counts, inside, outside = stack.pop()
        if (left[rows] == 0).any():
            continue
        if d == inside or d == D - outside:
            # one support is left, which a leaf fixes the rest of or not
            if (left_in[rows] == (0 if d == inside else left[rows])).any():
                continue
            return False
        variable = int(counts.argmax())
        if counts[variable] < len(rows):
            raise Unreadable("the leaves are not those of a tree that branches on variables")
        on = state[rows, variable] > 0
        left[rows] -= 1
        left_in[rows] -= on
        parts = rows[on], rows[~on]
        few = 0 if len(parts[0]) <= len(parts[1]) else 1
        more = len(rows) + D + len(parts[few]) * D
        spend(_VISIT * more + _NODE)
        visits += more
        if visits > _VISITS:
            raise Unreadable("the tree of the leaves is too large to check")
        smaller = fixes[parts[few]].sum(axis=0)
        pair = [counts - smaller, counts - smaller]
        pair[few] = smaller
        for part, own, more in zip(parts, pair, ((1, 0), (0, 1)), strict=True):
            own[counts < 0] = -1
            own[variable] = -1
            ends = inside + more[0], outside + more[1]
            if ends[0] > d or D - ends[1] < d:
                continue
            if not len(part):
                return False
            stack.append((part, own, *ends))
    return True


def unproven_leaf(
    problem: STRS, leaves: SupportLeaves, bound: float, tolerance: float
) -> str | None:
    """Prove bound + tolerance on every leaf; return None, or name a leaf where that fails.

    Parameters
    ----------
    problem : STRS
    leaves : SupportLeaves
    bound : float
    tolerance : float
        Must exceed the rounding of a factorisation, about n^2 1e-16 of the entries' size.

    Raises
    ------
    Unreadable
        When this would take much longer than a minute.
    """
    in_candidates = leaves.state >= 0
    sizes = in_candidates.sum(axis=1)
    by_norms = leaves.pair == _BY_NORMS
    if float(((sizes[~by_norms] + 1.0) ** 3).sum()) > _CUBES:
        raise Unreadable(f"{len(sizes)} leaves are too many matrices to factorise")
    if float((sizes[by_norms] ** 2.0).sum()) > _SQUARES:
        raise Unreadable(f"{len(sizes)} leaves are too many matrices to take norms of")
    spend(_CUBE * float(((sizes[~by_norms] + 1.0) ** 3).sum()))
    spend(_ENTRY * float((sizes.astype(float) ** 2).sum()))
    for size in np.unique(sizes):
        which = np.flatnonzero(sizes == size)
        rows = max(1, _CHUNK // int(size + 1) ** 2)
        for begin in range(0, len(which), rows):
            chunk = which[begin : begin + rows]
            F = np.nonzero(in_candidates[chunk])[1].reshape(len(chunk), size)
            normed = by_norms[chunk]
            if normed.any():
                some, on = chunk[normed], F[normed]
                squares = _norms(problem, on, np.take_along_axis(leaves.state[some] > 0, on, 1))
                proven = squares <= ((bound + tolerance) / _unit(problem)) ** 2
                if not proven.all() or bound + tolerance < 0.0:
                    at = int(some[int(np.argmin(proven))])
                    return f"leaf {at}: norms do not prove the bound {bound:.17g}"
                chunk, F = chunk[~normed], F[~normed]
                if not len(chunk):
                    continue
            if problem.d == 1:
                open_ = ~_bounds_each(problem, F, bound)
                chunk, F = chunk[open_], F[open_]
                if not len(chunk):
                    continue
            N = _bordered(problem, F, leaves.mu[chunk], bound)
            shift = tolerance / 2.0 - _subtract_rows(N, leaves, chunk, F, problem.d)
            good = _positive(N, shift)
            for k in np.flatnonzero(~good & (leaves.pair[chunk] < 0)).tolist():
                good[k] = _exactly_positive(
                    problem, F[k], float(leaves.mu[chunk[k]]), bound, tolerance
                )
                if not good[k]:
                    break
            if not good.all():
                at = int(chunk[int(np.argmin(good))])
                return (
                    f"leaf {at} ({int((leaves.state[at] > 0).sum())} in, "
                    f"{int((leaves.state[at] < 0).sum())} out) with mu = {leaves.mu[at]:.17g} does "
                    f"not prove the bound {bound:.17g}"
                )
    return None


def _bounds_each(problem: STRS, F: Array, bound: float) -> Array:
    """Return for which leaves, rows of F, no variable alone exceeds a bound: without rounding.

    At d = 1 this is all that N says, where A_ii and abs(a_i) may cancel to a bound of 0.
    """
    diagonal, linear = np.diagonal(problem.A)[F], np.abs(problem.linear[F])
    value = diagonal + linear
    part = value - diagonal
    error = (diagonal - (value - part)) + (linear - part)
    return np.asarray(((value < bound) | ((value == bound) & (error <= 0.0))).all(axis=1))


def _norms(problem: STRS, F: Array, inside: Array) -> Array:
    """Bound the sums of the squares of A on the supports of leaves, of A divided by its largest.

    Parameters
    ----------
    problem : STRS
    F : int array of shape (K, n)
        The candidates of each leaf.
    inside : bool array of shape (K, n)
        Which of them are fixed in.

    Raises
    ------
    Malformed
        When there is a linear term, which norms say nothing about.
    """
    if problem.linear.any():
        raise Malformed("a leaf is proven by norms, but there is a linear term")
    W = (problem.A[F[:, :, None], F[:, None, :]] / _unit(problem)) ** 2
    n, k = F.shape[1], problem.d - inside.sum(axis=1)
    own = np.einsum("kii->ki", W).copy()
    fixed = np.einsum("kij,kj->ki", W, inside.astype(float))
    W[:, np.arange(n), np.arange(n)] = 0.0
    W[np.broadcast_to(inside[:, None, :], W.shape)] = 0.0
    kept = min(n, problem.d)
    free = np.sort(np.partition(W, n - kept, axis=2)[:, :, n - kept :], axis=2)[:, :, ::-1]
    sums = np.concatenate([np.zeros((*own.shape, 1)), np.cumsum(free, axis=2)], axis=2)
    # A full support has no room for another row, and takes none below.
    leaf = np.arange(len(F))[:, None]
    rows = own + 2.0 * fixed + sums[leaf, np.arange(n), np.maximum(k - 1, 0)[:, None]]
    rows = np.sort(np.where(inside, 0.0, rows), axis=1)[:, ::-1]
    total = np.concatenate([np.zeros((len(F), 1)), np.cumsum(rows, axis=1)], axis=1)
    among = (fixed * inside).sum(axis=1)
    return np.asarray((among + total[leaf[:, 0], k]) * (1.0 + (4.0 * n + 8.0) * _UNIT))


def _unit(problem: STRS) -> float:
    """Return the largest entry, by which squares are kept in range; 1 where all are 0."""
    return problem.magnitude or 1.0


def _bordered(problem: STRS, F: Array, mu: Array, bound: float) -> Array:
    """Return the matrices N of the module's docstring, shape (K, n + 1, n + 1)."""
    K, n = F.shape
    N = np.empty((K, n + 1, n + 1))
    N[:, 0, 0] = bound - mu
    N[:, 0, 1:] = N[:, 1:, 0] = -problem.linear[F] / 2.0
    N[:, 1:, 1:] = -problem.A[F[:, :, None], F[:, None, :]]
    here = np.arange(1, n + 1)
    N[:, here, here] += mu[:, None]
    return N


def _exactly_positive(problem: STRS, F: Array, mu: float, bound: float, tolerance: float) -> bool:
    """Return whether the matrix N of a leaf is positive semidefinite, without rounding.

    An optimum that is what entries cancel to leaves no room for any. Every mu is a proof: that with
    fewer digits is tried as well, and the bound, where rounding alone may have moved mu from it.
    """
    if len(F) >= _EXACT:
        return False
    spend(_FRACTION * (len(F) + 1.0) ** 3)
    N = np.empty((len(F) + 1, len(F) + 1), dtype=object)
    N[0, 1:] = N[1:, 0] = -rationals(problem.linear[F]) / 2
    N[1:, 1:] = -rationals(problem.A[np.ix_(F, F)])
    diagonal = np.diagonal(N).copy()
    with np.errstate(over="ignore"):
        tried = {mu, float(np.float32(mu))}
    if abs(bound - mu) <= _MOVED * problem.magnitude:
        tried.add(bound)
    for each in sorted(filter(math.isfinite, tried)):
        N[0, 0] = Fraction(bound) - Fraction(each) + Fraction(tolerance / 2.0)
        for i in range(1, len(N)):
            N[i, i] = diagonal[i] + Fraction(each) + Fraction(tolerance / 2.0)
        if semidefinite(N) is Sign.HOLDS:
            return True
    return False


def _subtract_rows(N: Array, leaves: SupportLeaves, chunk: Array, F: Array, d: int) -> Array:
    """Change the matrices of leaves with row multipliers; return bounds of the rounding errors."""
    rounding = np.zeros(len(chunk))
    inside = leaves.state > 0
    for k, leaf in enumerate(chunk.tolist()):
        if leaves.pair[leaf] < 0:
            continue
        try:
            l, L = leaves.pairs.on(int(leaves.pair[leaf]), F[k])
        except ValueError as error:
            raise Malformed(str(error)) from error
        before = np.abs(N[k]).max()
        rows = row_sum(l, L, inside[leaf, F[k]], d)
        N[k, 0, 0] -= rows
        N[k, 0, 1:] += l / 2.0
        N[k, 1:, 0] += l / 2.0
        N[k, 1:, 1:] += L / 2.0 + L.T / 2.0
        # Each entry is rounded to its size before the terms cancelled.
        largest = before + rows + np.abs(l).max() + np.abs(L).max()
        rounding[k] = 4.0 * _UNIT * N.shape[1] * largest
    return rounding


def _positive(N: Array, shift: Array) -> Array:
    """Return which of the symmetric matrices N + shift I are surely positive semidefinite.

    Where one large entry hides all others they are tried again with a diagonal of about one.
    """
    good = _factorised(N, np.broadcast_to(shift[:, None], N.shape[:2]))
    bad = np.flatnonzero(~good)
    if len(bad):
        here = np.arange(N.shape[1])
        diagonal = N[bad][:, here, here] + shift[bad, None]
        _, power = np.frexp(np.where(diagonal > 0.0, diagonal, 1.0))
        half = -(power // 2)
        scaled = np.ldexp(N[bad], half[:, :, None] + half[:, None, :])
        good[bad] = _factorised(scaled, np.ldexp(shift[bad, None], 2 * half))
    return good


def _factorised(N: Array, shift: Array) -> Array:
    """Return which of the matrices N + diag(shift) a factorisation shows to be semidefinite.

    If the Cholesky factorisation of M - c I runs to its end in floating point for
    c >= (n + 1) u / (1 - 2 (n + 1) u) tr M, then M is positive definite (Rump 2006). Twice that
    also covers the rounding of the entries of M.
    """
    n = N.shape[1]
    here = np.arange(n)
    M = N.copy()
    M[:, here, here] += shift
    trace = np.abs(M[:, here, here]).sum(axis=1)
    rounding = 2.0 * (n + 2) * _UNIT / (1.0 - 2.0 * (n + 2) * _UNIT) * trace
    M[:, here, here] -= rounding[:, None]
    try:
        np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        if len(M) == 1:
            return np.zeros(1, dtype=bool)
        half = len(M) // 2
        return np.concatenate(
            [_factorised(N[:half], shift[:half]), _factorised(N[half:], shift[half:])]
        )
    return np.ones(len(M), dtype=bool)
