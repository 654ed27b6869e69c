r"""Ends of variables that follow from multipliers inside their cones: the checker's own arithmetic.

Where y, z and Z are multipliers whose reduced costs vanish for all variables without ends, and v is
what they prove, weak duality says of each feasible x that is at least as good as a cutoff U

.. math:: \sum_i |y_i| s_i + z'(Fx + g) + \langle Z, M(x)\rangle \;\le\; c'x - v \;\le\; U - v,

with s the slack of the rows at their closed sides, and no term is negative. So
:math:`s_i \le (U - v) / |y_i|`, :math:`\operatorname{tr} M(x) \le (U - v) / \lambda_{\min}(Z)`, and
likewise for the head of a cone. Multipliers for the costs zero say the same without a cutoff, with
0 in the place of U. Forms :math:`h = F_J x_J + F_K x_K + g` between such ends give ends to the
columns J that had none, by a left inverse R of :math:`F_J`: with
:math:`\rho = \lVert I - R F_J \rVert_\infty < 1` for certain,

.. math:: |x_J - R (h - F_K x_K - g)| \le \frac{\rho}{1 - \rho} \lVert R (h - F_K x_K - g)
          \rVert_\infty.

That the multipliers are exact for variables without ends is what
:mod:`sparseopt.checking.misdp.enclosure` shows. Leaves need not be so exact then: what their
multipliers leave of a reduced cost is charged at these ends.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sparseopt.checking.misdp.duality import InsideProof, WeakDuality
from sparseopt.checking.misdp.enclosure import margin_inside
from sparseopt.installed import Deferred
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import triangle
from sparseopt.problems.misdp.problem import MISDP

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = Deferred("scipy.sparse")

_EPS = float(np.finfo(float).eps)
_LARGEST = 4_000_000
"""Entries of F_J as a dense matrix."""
_CONTRACTS = 0.5
"""What rho may be."""
_SAFE = 1.0 + 1e-9
"""Sums of absolute values are raised by this against their own rounding."""

Box = tuple[Array, Array]


def ends_of_interior(
    problem: MISDP,
    duality: WeakDuality,
    box: Box,
    given: Array,
    costly: Array,
    cutoff: float | None,
) -> Box:
    """Return the box with ends that multipliers inside their cones imply.

    Parameters
    ----------
    problem : MISDP
    duality : WeakDuality
        Of that problem.
    box : tuple of two arrays of shape (n,)
        Ends that hold for every point that matters.
    given : array of shape (N, multipliers)
        Sets of multipliers of rows, cones and matrices, one after the other.
    costly : bool array of shape (N,)
        Whether they are for the costs of the problem; else for the costs zero.
    cutoff : float or None
        Only points whose objective is at least as good matter.
    """
    low, high = (end.copy() for end in box)
    for dual, has_costs in zip(given, costly.tolist(), strict=True):
        if not np.isinf([low, high]).any():
            break
        if has_costs and cutoff is None:
            continue
        proof = duality.inside(low, high, dual, farkas=not has_costs)
        if proof is None:
            continue
        top, size = 0.0, abs(proof.value)
        if has_costs and cutoff is not None:
            top = duality.sign * (cutoff - problem.offset)
            size += abs(cutoff) + abs(problem.offset)
        room = max(0.0, top - proof.value) + 8.0 * _EPS * size
        forms = _ends_of_forms(problem, duality, proof, room)
        found = _ends_of_columns(duality, low, high, forms)
        if found is not None:
            np.maximum(low, found[0], out=low)
            np.minimum(high, found[1], out=high)
    return low, high


def _ends_of_forms(problem: MISDP, duality: WeakDuality, proof: InsideProof, room: float) -> Box:
    """Return ends of all forms F x + g: rows, entries of cones, weighted entries of matrices."""
    m = len(problem.row_lower)
    count = len(proof.near.dual)
    low, high = np.full(count, -np.inf), np.full(count, np.inf)
    y, spread = proof.near.dual[:m], proof.near.spread[:m]
    strength = np.abs(y) - spread
    with np.errstate(divide="ignore", over="ignore"):
        slack = np.where(strength > 0.0, room / strength, np.inf) * _SAFE
    with np.errstate(invalid="ignore"):
        above = np.where((y > 0.0) & (strength > 0.0), problem.row_lower + slack, np.inf)
        below = np.where((y < 0.0) & (strength > 0.0), problem.row_upper - slack, -np.inf)
    low[:m] = np.fmax(problem.row_lower, below)
    high[:m] = np.fmin(problem.row_upper, above)
    for part in duality.parts:
        inside = margin_inside(proof.near, part)
        top = room / inside * _SAFE if inside > 0.0 else math.inf
        if part.size:
            i, j = triangle(part.size)
            low[part.here], high[part.here] = np.where(i == j, 0.0, -top), top
            continue
        # The head of the turned cone is at most this.
        head = top / math.sqrt(2.0) * _SAFE
        heads = 2 if part.rotated else 1
        places = np.arange(part.here.start, part.here.stop)
        low[places], high[places] = -head, head
        low[places[:heads]] = 0.0
        if part.rotated:
            high[places[:heads]] = top * _SAFE
    return low, high


def _ends_of_columns(duality: WeakDuality, low: Array, high: Array, forms: Box) -> Box | None:
    """Return ends of all columns; infinite where the forms give none, None where none at all."""
    F, g = duality.forms, duality.constants
    open_ = np.isinf(low) | np.isinf(high)
    J, others = np.flatnonzero(open_ & (np.diff(F.indptr) > 0)), np.flatnonzero(~open_)
    rows = np.flatnonzero(np.isfinite(forms[0]) & np.isfinite(forms[1]))
    if not len(J) or len(rows) * len(J) > _LARGEST:
        return None
    dense = sp.csr_array(F[:, J])[rows].toarray()
    chosen, used = _determined(dense)
    J, rows, dense = J[chosen], rows[used], dense[np.ix_(used, chosen)]
    if not len(J):
        return None
    centre, reach = _rest_of_forms(sp.csr_array(F[:, others])[rows], low[others], high[others])
    # h - g - F_K x_K as intervals.
    a, b, c = forms[0][rows], forms[1][rows], g[rows]
    centre = 0.5 * (a + b) - c - centre
    reach = (0.5 * (b - a) + reach) * _SAFE + 8.0 * _EPS * (np.abs(a) + np.abs(b) + np.abs(c))
    inverse = _left_inverse(dense, reach)
    if inverse is None:
        return None
    R, scale, contraction = inverse
    rounding = _EPS * (len(rows) + 8.0)
    with np.errstate(all="ignore"):
        y = R @ centre
        spread = np.abs(R) @ (reach + rounding * np.abs(centre)) * _SAFE
        far = contraction / (1.0 - contraction) * float((np.abs(y) + spread).max())
        spread = (spread + far) * _SAFE + 4.0 * _EPS * np.abs(y)
    if not (np.isfinite(y).all() and np.isfinite(spread).all()):
        return None
    found = np.full(len(low), -np.inf), np.full(len(low), np.inf)
    found[0][J] = (y - spread) * scale
    found[1][J] = (y + spread) * scale
    return found


def _rest_of_forms(rest: sp.csr_array, low: Array, high: Array) -> tuple[Array, Array]:
    """Return the middle of the interval of F_K x_K, and its radius with all rounding errors."""
    middle, radius = 0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low
    absolute, terms = abs(rest), np.diff(rest.indptr) + 8.0
    far = absolute @ (np.abs(middle) + radius)
    return rest @ middle, (absolute @ radius) * _SAFE + _EPS * terms * far


def _determined(F: Array) -> tuple[Array, Array]:
    """Return columns that forms without any other column determine, and these forms, as masks."""
    columns, rows = np.ones(F.shape[1], dtype=bool), np.asarray(F.any(axis=1))
    while columns.any() and rows.any():
        part = F[np.ix_(rows, columns)]
        norms = np.sqrt((part**2).sum(axis=0))
        scaled = part / np.where(norms > 0.0, norms, 1.0)
        values, vectors = np.linalg.svd(scaled, full_matrices=False)[1:]
        kept = vectors[values > 1e-9 * values[0]]
        lost = (kept**2).sum(axis=0) < 1.0 - 1e-6
        if not lost.any():
            return columns, rows
        places = np.flatnonzero(columns)[lost]
        columns[places] = False
        rows &= ~F[:, places].any(axis=1)
        rows &= F[:, columns].any(axis=1)
    return np.zeros_like(columns), np.zeros_like(rows)


def _left_inverse(F: Array, widths: Array) -> tuple[Array, Array, float] | None:
    """Return R, column scales s and rho, with R F diag(s) close to I; None where F has no rank.

    Forms are weighted by how narrow their intervals are, so that those say most.
    """
    if not np.isfinite(F).all():
        return None
    w = 2.0 ** -np.round(np.log2(np.maximum(widths, 1e-6 * float(widths.max()) + 1e-300)))
    weighted = w[:, None] * F
    norms = np.sqrt((weighted**2).sum(axis=0))
    if not (norms > 0.0).all() or not np.isfinite(norms).all():
        return None
    scale = 2.0 ** -np.round(np.log2(norms))
    weighted = weighted * scale
    try:
        R = np.linalg.pinv(weighted)
    except np.linalg.LinAlgError:
        return None
    rounding = _EPS * (len(F) + 8.0)
    off = np.abs(np.eye(F.shape[1]) - R @ weighted) + rounding * (np.abs(R) @ np.abs(weighted))
    contraction = float(off.sum(axis=1).max()) * _SAFE
    if not contraction <= _CONTRACTS:
        return None
    return R * w, scale, contraction
