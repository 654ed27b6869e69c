r"""Mirrors of a MISDP: some variables turned round in their bounds, and signs of lines with them.

A **mirror** takes :math:`x_j` to :math:`t_j - x_j` for some j, with :math:`t_j = l_j + u_j`, or 0
where neither end is finite, and changes the sign :math:`\sigma_r` of some lines of matrices. The
problem stays as it is:

- these variables have no costs, and t_j is whole where x_j is;
- a row that any of them is in has no others, and :math:`a_i + b_i = A_i t` for its sides;
- an entry (r, s) of a matrix with :math:`\sigma_r = \sigma_s` has none of them; one with
  :math:`\sigma_r \ne \sigma_s` has no others, and :math:`2 F_0 + \sum_j t_j F_j = 0` there.

It moves feasible points to feasible points of the same objective. For mirrors :math:`\mu_1, \mu_2,
\dots` with **leaders** :math:`f_1, f_2, \dots`, which they turn round, the bounds
:math:`x_{f_k} \ge t_{f_k} / 2` cut no optimum off if :math:`\mu_k` leaves all leaders before f_k in
place: of a point and its images take the one whose leaders are largest, the first leader first.

Engine and checker share this: numbers are compared as they are, sums in rational arithmetic.
"""

from __future__ import annotations

from fractions import Fraction
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


def mirrors(problem: MISDP, turned: Array, changed: Array) -> bool:
    """Return whether turning variables round, with changed signs of lines, is a mirror.

    Parameters
    ----------
    problem : MISDP
        Those with cones, indicators or a quadratic objective have none here.
    turned : bool array of shape (n,)
    changed : bool array of shape (sum of the matrices' orders,)
        Lines counted through all matrices.

    Notes
    -----
    O(nnz), and a sum of fractions for each entry that the turned variables are in.
    """
    if problem.cones or problem.indicators or problem.Q is not None:
        return False
    low, high = problem.lower, problem.upper
    if np.any(problem.c[turned]) or (np.isinf(low) != np.isinf(high))[turned].any():
        return False
    whole = np.flatnonzero(turned & problem.integer)
    if any((2 * middle(low[j], high[j])).denominator != 1 for j in whole):
        return False
    if not _stay(sp.csr_array(problem.A), problem.row_lower, problem.row_upper, turned, low, high):
        return False
    begin = 0
    for block in problem.blocks:
        r, c = triangle(block.size)
        signs = changed[begin : begin + block.size]
        begin += block.size
        F, odd = sp.csr_array(block.F), signs[r] != signs[c]
        entries = np.repeat(np.arange(F.shape[0]), np.diff(F.indptr))[F.data != 0.0]
        if (turned[F.indices[F.data != 0.0]] != odd[entries]).any():
            return False
        alone = np.bincount(entries, minlength=F.shape[0]) == 0
        if np.any(block.F0[odd & alone]):
            return False
        sides = -block.F0[odd]
        if not _stay(F[np.flatnonzero(odd)], sides, sides, turned, low, high):
            return False
    return True


def _stay(
    A: sp.csr_array, below: Array, above: Array, turned: Array, low: Array, high: Array
) -> bool:
    """Return whether below <= A x <= above stay the same rows, each with turned variables only."""
    for i in range(A.shape[0]):
        here = slice(A.indptr[i], A.indptr[i + 1])
        terms = [(j, v) for j, v in zip(A.indices[here], A.data[here], strict=True) if v]
        if terms and not turned[terms[0][0]]:
            if any(turned[j] for j, _ in terms):
                return False
            continue
        if any(not turned[j] for j, _ in terms):
            return False
        if np.isinf(below[i]) and np.isinf(above[i]):
            continue
        if np.isinf(below[i]) or np.isinf(above[i]):
            return False
        total = sum((Fraction(float(v)) * middle(low[j], high[j]) for j, v in terms), Fraction(0))
        if terms and Fraction(float(below[i])) + Fraction(float(above[i])) != 2 * total:
            return False
    return True


def middle(low: float, high: float) -> Fraction:
    """Return t / 2 of a variable that is turned round."""
    return (Fraction(float(low)) + Fraction(float(high))) / 2 if np.isfinite(low) else Fraction(0)


def halved(problem: MISDP, leaders: Array) -> MISDP:
    """Return the problem with x_f >= t_f / 2, rounded up, for leaders that are integer."""
    lower = problem.lower.copy()
    for f in leaders.tolist():
        lower[f] = max(lower[f], float(-(-middle(problem.lower[f], problem.upper[f]) // 1)))
    return problem.with_changes(lower=lower)
