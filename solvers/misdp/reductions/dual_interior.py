r"""Ends of variables without bounds, from multipliers inside their cones.

Multipliers y, z, Z whose reduced costs vanish for all variables without ends prove some value v,
and then each x that costs at most U has

.. math:: \sum_i |y_i| s_i + z'(Fx + g) + \langle Z, M(x)\rangle \;\le\; U - v,

with s the slacks of the rows: a bound for each slack, trace and head where the multiplier is
inside its cone. Where the forms that are bounded so determine the variables, these have ends.
Multipliers for the costs zero do the same without a U. What other multipliers leave of a reduced
cost is charged at these ends; the checker derives them again, with a bound of all errors
(:mod:`sparseopt.checking.misdp.dual_interior`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import triangle, unpack_symmetric
from sparseopt.problems.misdp.problem import MISDP

from ..bounding.lower_bounds import Box, ConicBounding
from ..bounds import ConicMultipliers
from ..relaxations.conic import relaxed
from ..settings import ENDS_WIDER, INTERIOR_GAP, INTERIOR_LEAST
from .propagation import Propagation


@dataclass(frozen=True, eq=False)
class InteriorMultipliers:
    """Multipliers inside their cones, for the costs of the problem or for the costs zero."""

    multipliers: ConicMultipliers
    costly: bool


class DualInterior:
    """The ends that follow from multipliers inside their cones.

    Parameters
    ----------
    conic : ConicBounding
        Solves for the multipliers.
    propagation : Propagation
    """

    def __init__(self, conic: ConicBounding, propagation: Propagation) -> None:
        self._conic = conic
        self._propagation = propagation
        self._known: dict[bool, InteriorMultipliers | None] = {}
        self._box: Box | None = None
        self._filled = np.diff(conic.judge.forms.indptr) > 0

    def arrays(self) -> dict[str, Array]:
        """Return all multipliers that were asked for, as a certificate has them."""
        found = [known for known in self._known.values() if known is not None]
        if not found:
            return {}
        return {
            "interior_costs": np.array([known.costly for known in found]),
            "interior_rows": np.concatenate([known.multipliers.rows for known in found]),
            "interior_cones": np.concatenate([known.multipliers.cones for known in found]),
            "interior_psd": np.concatenate([known.multipliers.psd for known in found]),
        }

    def tightened(self, cutoff: float | None) -> Box | None:
        """Return ends of all variables that hold for points which reach a cutoff.

        Continuous ones that have an end by these multipliers only are left open by relaxations.

        Parameters
        ----------
        cutoff : float or None
            An objective in the problem's own sense; None where all feasible points matter.
        """
        box = self._propagation.tighten(cutoff=cutoff)
        if box is None or not self._open(box).any():
            return box
        if self._box is None:
            self._box = self._propagation.tighten()
        low, high = box
        for costly in (False, True):
            if costly and cutoff is None:
                continue
            if costly not in self._known:
                self._known[costly] = self._solve(costly)
            known = self._known[costly]
            if known is not None:
                low, high = self._within(known, (low, high), cutoff)
        continuous = ~self._conic.form.problem.integer
        self._conic.charged = (
            np.isinf(box[0]) & np.isfinite(low) & continuous,
            np.isinf(box[1]) & np.isfinite(high) & continuous,
        )
        return self._propagation.tighten(low, high, cutoff)

    def _open(self, box: Box) -> Array:
        """Return which variables have an infinite end and are in a constraint."""
        return np.asarray((np.isinf(box[0]) | np.isinf(box[1])) & self._filled)

    def _solve(self, costly: bool) -> InteriorMultipliers | None:
        """Return multipliers from an early iterate of a relaxation or of its penalty form."""
        conic, box = self._conic, self._box
        if box is None:
            return None
        open_ = self._open(box)
        opened = np.where(open_, -np.inf, box[0]), np.where(open_, np.inf, box[1])
        program = conic.form.program(*box)
        if not costly:
            program = relaxed(program)
        if not len(program.q):
            return None
        raw = conic.solver.solve(program, np.inf, INTERIOR_GAP)
        conic.solves += 1
        if raw.dual is None or raw.ray:
            return None
        given = conic.form.multipliers(program, raw.dual)
        parts = given.rows[0], given.cones[0], given.psd[0]
        better = conic.polish.improve(*opened, *parts, infeasible=not costly)
        return InteriorMultipliers(better, costly)

    def _within(self, known: InteriorMultipliers, box: Box, cutoff: float | None) -> Box:
        """Intersect a box with the ends that a set of multipliers implies."""
        safe, value = self._conic.judge.safe, 0.0
        if known.costly and cutoff is not None:
            value = safe.sign * (cutoff - self._conic.form.problem.offset)
        proven = safe.evaluate(*box, known.multipliers, infeasible=not known.costly)
        least, size = float(proven.nearly[0]), float(proven.size[0])
        if not np.isfinite(least):
            return box
        room = max(0.0, value - least) + 1e-9 * (abs(value) + size)
        forms = _ends_of_forms(self._conic.form.problem, known.multipliers, room)
        found = self._of_columns(box, forms)
        if found is None:
            return box
        return np.maximum(box[0], found[0]), np.minimum(box[1], found[1])

    def _of_columns(self, box: Box, forms: Box) -> Box | None:
        """Solve the forms between such ends for the variables that have none."""
        low, high = box
        judge = self._conic.judge
        J, others = np.flatnonzero(self._open(box)), np.flatnonzero(np.isfinite(high - low))
        F = sp.csr_array(judge.forms.T)
        rows = np.flatnonzero(np.isfinite(forms[0]) & np.isfinite(forms[1]))
        own = F[rows][:, J].toarray()
        columns, used = determined(own)
        J, rows, own = J[columns], rows[used], own[np.ix_(used, columns)]
        if not len(J):
            return None
        rest = sp.csr_array(F[rows][:, others])
        middle, radius = 0.5 * (low[others] + high[others]), 0.5 * (high[others] - low[others])
        centre = 0.5 * (forms[0][rows] + forms[1][rows]) - judge.constants[rows] - rest @ middle
        reach = 0.5 * (forms[1][rows] - forms[0][rows]) + abs(rest) @ radius
        w = 1.0 / np.maximum(reach, 1e-6 * float(reach.max()) + 1e-300)
        weighted = w[:, None] * own
        norms = np.sqrt((weighted**2).sum(axis=0))
        R = np.linalg.pinv(weighted / norms) / norms[:, None] * w
        y, spread = R @ centre, np.abs(R) @ reach
        spread = ENDS_WIDER * spread + 1e-6 * np.abs(y)
        if not np.isfinite(spread).all():
            return None
        found = np.full(len(low), -np.inf), np.full(len(low), np.inf)
        found[0][J], found[1][J] = y - spread, y + spread
        return found


def determined(F: Array) -> tuple[Array, Array]:
    """Return masks of columns that forms without any other column determine, and of these forms.

    Parameters
    ----------
    F : array of shape (forms, columns)
    """
    columns, rows = np.ones(F.shape[1], dtype=bool), np.asarray(F.any(axis=1))
    while columns.any() and rows.any():
        part = F[np.ix_(rows, columns)]
        norms = np.sqrt((part**2).sum(axis=0))
        # Of the space of the rows, a column that is determined is all.
        scaled = part / np.where(norms > 0.0, norms, 1.0)
        values, vectors = np.linalg.svd(scaled, full_matrices=False)[1:]
        kept = vectors[values > 1e-9 * values[0]]
        lost = np.flatnonzero(columns)[(kept**2).sum(axis=0) < 1.0 - 1e-6]
        if not len(lost):
            return columns, rows
        columns[lost] = False
        rows &= ~F[:, lost].any(axis=1) & F[:, columns].any(axis=1)
    return np.zeros_like(columns), np.zeros_like(rows)


def _ends_of_forms(problem: MISDP, multipliers: ConicMultipliers, room: float) -> Box:
    """Return ends of the forms F x + g: rows, entries of cones, weighted ones of matrices."""
    y, z, Z = multipliers.rows[0], multipliers.cones[0], multipliers.psd[0]
    end = np.where(y > 0.0, problem.row_lower, problem.row_upper)
    closed = np.isfinite(end) & (np.abs(y) > 1e-300)
    slack = np.divide(room, np.abs(y), out=np.zeros(len(y)), where=closed)
    low = [np.where(closed & (y < 0.0), end - slack, problem.row_lower)]
    high = [np.where(closed & (y > 0.0), end + slack, problem.row_upper)]
    low[0] = np.fmax(low[0], problem.row_lower)
    high[0] = np.fmin(high[0], problem.row_upper)
    begin = 0
    for cone in problem.cones:
        u = z[begin : begin + cone.dimension]
        begin += cone.dimension
        head, norm = cone.head_and_norm(u)
        least = head - norm
        most = room / least if least > INTERIOR_LEAST * head else np.inf
        heads = 2 if cone.rotated else 1
        first = np.arange(cone.dimension) < heads
        low.append(np.where(first, 0.0, -most))
        high.append(np.where(first & cone.rotated, np.sqrt(2.0) * most, most))
    begin = 0
    for block in problem.blocks:
        matrix = unpack_symmetric(Z[begin : begin + block.dimension], block.size)
        begin += block.dimension
        values = np.linalg.eigvalsh(matrix)
        most = room / values[0] if values[0] > INTERIOR_LEAST * values[-1] else np.inf
        i, j = triangle(block.size)
        low.append(np.where(i == j, 0.0, -most))
        high.append(np.full(block.dimension, most))
    return np.concatenate(low), np.concatenate(high)
