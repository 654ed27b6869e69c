r"""Symmetries of a MISDP, and rows or boxes that leave out some of all equivalent points.

A **symmetry** moves variables, x_j to the place :math:`\pi(j)`, and with them lines of matrices, r
to :math:`\lambda(r)`, some with another sign :math:`\sigma_r = -1`, so that the problem stays as it
is: costs, bounds, integers, the set of rows, and :math:`M_{\pi(j)}` at
:math:`(\lambda(r), \lambda(s))` is :math:`\sigma_r \sigma_s M_j` at (r, s). It moves feasible
points to feasible points of the same objective, for matrices stay semidefinite.

For symmetries :math:`\pi_1, \pi_2, \dots` with **leaders** :math:`f_1, f_2, \dots` the rows

.. math:: x_{f_k} \ge x_{o_k}, \quad \pi_k(o_k) = f_k,

cut no optimum off if :math:`\pi_k` leaves in place all leaders before it that are not f_k: of a
point and all its images take the one whose leaders are largest, the first leader first. If it left
a row, its image under :math:`\pi_k` would have the same leaders before f_k, and a larger f_k.
(Liberti and Ostrowski 2014; Salvagnin 2018: rows of the Schreier-Sims table.)

**Boxes left out.** Boxes :math:`B_1, B_2, \dots` of integer points, each with a symmetry
:math:`\pi_k` whose image :math:`\pi_k(B_k)` meets neither B_k nor any box after it, need no bound
of their own: of the images of a point take one that is in no box, or whose first box is as early as
can be. If there were such a box, the point's image under its symmetry would be in none or in an
earlier one. Orbital fixing in a tree gives such boxes, in the order of depth-first search with
upward branches first (Margot 2003; Ostrowski, Linderoth, Rossi, Smriglio 2011).

Engine and checker share this: it only compares numbers.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from sparseopt.installed import Deferred
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import triangle
from sparseopt.problems.misdp.problem import MISDP

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = Deferred("scipy.sparse")


class SymmetryTest:
    """Decides whether moves of variables and lines leave a problem as it is.

    Parameters
    ----------
    problem : MISDP
        Those with cones, indicators or a quadratic objective have no symmetry here.
    """

    def __init__(self, problem: MISDP) -> None:
        self._problem = problem
        self._covered = not problem.cones and not problem.indicators and problem.Q is None
        self._A = sp.csr_array(problem.A)
        self._rows = self._moved_rows(np.arange(len(problem.c)))
        orders = [block.size for block in problem.blocks]
        self._begins = np.concatenate([[0], np.cumsum(orders)]).astype(np.int64)
        self._F = [sp.csr_array(block.F) for block in problem.blocks]

    def holds(self, variables: Array, lines: Array) -> bool:
        """Return whether a move is a symmetry.

        Parameters
        ----------
        variables : int array of shape (n,)
            Where each variable goes.
        lines : int array of shape (sum of the matrices' orders,)
            Where each line goes, counted through all matrices; -1 - r for r with its sign changed.

        Notes
        -----
        Numbers are compared as they stand. O(nnz log nnz).
        """
        problem = self._problem
        if not self._covered or not _permutes(variables, len(problem.c)):
            return False
        signs = np.where(lines < 0, -1.0, 1.0)
        lines = np.where(lines < 0, -1 - lines, lines)
        if not _permutes(lines, int(self._begins[-1])):
            return False
        own = (problem.c, problem.lower, problem.upper, problem.integer)
        if not all(np.array_equal(values[variables], values) for values in own):
            return False
        if self._moved_rows(variables) != self._rows:
            return False
        blocks = range(len(problem.blocks))
        return all(self._block_stays(b, variables, lines, signs) for b in blocks)

    def _block_stays(self, b: int, variables: Array, lines: Array, signs: Array) -> bool:
        blocks, begins = self._problem.blocks, self._begins
        here = slice(begins[b], begins[b + 1])
        to = lines[here]
        target = int(np.searchsorted(begins, to[0], side="right")) - 1
        inside = to - begins[target]
        block, other = blocks[b], blocks[target]
        if (other.size, other.rank_one) != (block.size, block.rank_one):
            return False
        if (inside < 0).any() or (inside >= other.size).any():
            return False
        place = _packed(inside)
        r, c = triangle(block.size)
        sign = signs[here][r] * signs[here][c]
        if not np.array_equal(sign * other.F0[place], block.F0):
            return False
        moved = self._F[target][place][:, variables]
        difference = moved.multiply(sign[:, None]).tocsr() - self._F[b]
        return not np.any(difference.data)

    def _moved_rows(self, variables: Array) -> Counter[tuple[object, ...]]:
        """Return the rows with their sides after a move, each as often as it is there."""
        A, problem = self._A, self._problem
        found: Counter[tuple[object, ...]] = Counter()
        for i in range(A.shape[0]):
            here = slice(A.indptr[i], A.indptr[i + 1])
            entries = zip(variables[A.indices[here]].tolist(), A.data[here].tolist(), strict=True)
            terms = tuple(sorted((j, v) for j, v in entries if v))
            found[terms, float(problem.row_lower[i]), float(problem.row_upper[i])] += 1
        return found


def _permutes(places: Array, count: int) -> bool:
    return places.shape == (count,) and np.array_equal(np.sort(places), np.arange(count))


def _packed(lines: Array) -> Array:
    """Return where each packed entry of a matrix goes when its lines do."""
    s = len(lines)
    r, c = triangle(s)
    column, row = np.minimum(lines[r], lines[c]), np.maximum(lines[r], lines[c])
    return np.asarray(column * s - column * (column - 1) // 2 + row - column)


def followers(leaders: Array, variables: Array) -> Array:
    """Return o_k, whose place f_k is after the move, for moves of shape (R, n)."""
    return np.asarray((variables == leaders[:, None]).argmax(axis=1))


def ordered(problem: MISDP, leaders: Array, variables: Array) -> MISDP:
    """Return the problem with the rows x_f - x_o >= 0 behind its own.

    Parameters
    ----------
    problem : MISDP
    leaders : int array of shape (R,)
    variables : int array of shape (R, n)
        Where the symmetries move the variables.
    """
    R, n = variables.shape
    each, ones = np.arange(R), np.ones(R)
    others = followers(leaders, variables)
    more = sp.csr_array((ones, (each, leaders)), shape=(R, n))
    more = more - sp.csr_array((ones, (each, others)), shape=(R, n))
    return problem.with_changes(
        A=sp.csr_array(sp.vstack([problem.A, more])),
        row_lower=np.concatenate([problem.row_lower, np.zeros(R)]),
        row_upper=np.concatenate([problem.row_upper, np.full(R, np.inf)]),
    )
