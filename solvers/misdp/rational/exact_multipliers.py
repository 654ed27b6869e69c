r"""Multipliers that cost exactly nothing where variables have no ends, near computed ones.

Multipliers (y, z, Z) of the costs s c, s > 0, are a ray of the cone

.. math:: s c - A'y - F'z - \mathcal{M}^*(Z) = 0 \;\;(\ge 0, \le 0), \quad
          y \text{ of its signs}, \quad z \in K, \quad Z \succeq 0,

with an equation for each variable without ends and an inequality for each with one. Rays of whole
numbers on the same face are what :mod:`sparseopt.solvers.misdp.rational.exact_ray` finds: divided
by s they are fractions, which no floating-point numbers are. Disproofs are those with s = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import SecondOrderCone, SemidefiniteBlock, triangle
from sparseopt.problems.misdp.problem import MISDP

from ..bounding.lower_bounds import Judge
from ..bounds import ConicMultipliers
from ..settings import EXACT_BITS, EXACT_CHARGED, EXACT_FACES, EXACT_ROUNDING
from .exact_ray import exact_rays, keeps_exactly, off_rational_faces


class ScaledMultipliers(NamedTuple):
    """Multipliers of one box for the costs times `scale`, exact ones or others."""

    multipliers: ConicMultipliers
    scale: float = 1.0
    exact: bool = True

    def divided(self) -> ConicMultipliers:
        """Return those for the costs themselves, rounded."""
        given = self.multipliers
        return ConicMultipliers(
            given.rows / self.scale, given.cones / self.scale, given.psd / self.scale
        )


Enough = Callable[[ConicMultipliers], bool]
Found = ScaledMultipliers | None


class ExactMultipliers:
    """Finds exact multipliers of one problem.

    Parameters
    ----------
    problem : MISDP
    judge : Judge
        Of the problem.
    """

    def __init__(self, problem: MISDP, judge: Judge) -> None:
        self._problem, self._judge = problem, judge
        self._m = len(problem.row_lower)
        self._of_cones = sum(cone.dimension for cone in problem.cones)
        count = judge.forms.shape[1]
        self._lower = np.full(count + 1, -np.inf)
        self._lower[-1] = 0.0
        self._upper = np.full(count + 1, np.inf)
        self._lower[: self._m][np.isinf(problem.row_upper)] = 0.0
        self._upper[: self._m][np.isinf(problem.row_lower)] = 0.0
        unit = sp.eye_array(count + 1, format="csr")
        self._cones, self._blocks = [], []
        begin = self._m
        for cone in problem.cones:
            F = unit[begin : begin + cone.dimension]
            self._cones.append(SecondOrderCone(F, rotated=cone.rotated))
            begin += cone.dimension
        for block in problem.blocks:
            F = unit[begin : begin + block.dimension]
            self._blocks.append(SemidefiniteBlock(F, size=block.size))
            begin += block.dimension

    def on_face(self, multipliers: ConicMultipliers, infeasible: bool, enough: Enough) -> Found:
        """Return the simplest exact multipliers near those given, and on their face.

        Parameters
        ----------
        multipliers : ConicMultipliers
            Of one box.
        infeasible : bool
            Whether they are a disproof.
        enough : callable
            Whether multipliers, up to rounding, prove what they are to prove.
        """
        ray = np.append(multipliers.joined(), 0.0 if infeasible else 1.0)
        for near in EXACT_FACES:
            cone = self._cone(multipliers, infeasible, near)
            found = self._first(cone, exact_rays(cone, ray, near=near), enough)
            if found is not None:
                return found
        return None

    def axes(self, multipliers: ConicMultipliers) -> Array | None:
        """Return units on the axes of those cones and matrices that no face of fractions is near.

        Parameters
        ----------
        multipliers : ConicMultipliers
            Of one box, for the costs.

        Returns
        -------
        array of shape (multipliers,), or None
            None where there are none.
        """
        cone = self._cone(multipliers, False, EXACT_CHARGED)
        parts = off_rational_faces(cone, np.append(multipliers.joined(), 1.0))
        if not parts:
            return None
        found = np.zeros(len(self._lower) - 1)
        for part in parts:
            places = part.F.indices
            if isinstance(part, SecondOrderCone):
                found[places[: 2 if part.rotated else 1]] = 1.0
            else:
                found[places[np.equal(*triangle(part.size))]] = 1.0
        return found

    def inside(self, multipliers: ConicMultipliers, axes: Array, enough: Enough) -> Found:
        """Return exact multipliers near those given, which are inside some of their cones.

        Parameters
        ----------
        multipliers : ConicMultipliers
            Of one box, for the costs.
        axes : array of shape (multipliers,)
            Units on the axes of these cones.
        enough : callable
            As for :meth:`on_face`.
        """
        cone = self._cone(multipliers, False, EXACT_ROUNDING)
        ray = np.append(multipliers.joined(), 1.0)
        at = ray.copy()
        for part in (*cone.cones, *cone.blocks):
            if axes[part.F.indices].any():
                at[part.F.indices] = axes[part.F.indices]
        return self._first(cone, exact_rays(cone, ray, at, EXACT_BITS), enough)

    def _first(self, cone: MISDP, rays: Iterable[Array], enough: Enough) -> Found:
        """Return the first ray that is exact and proves enough."""
        infeasible = bool(cone.upper[-1] == 0.0)
        for exact in rays:
            scale = float(exact[-1])
            if (scale > 0.0) == infeasible:
                continue
            y, z, Z = np.split(exact[:-1], [self._m, self._m + self._of_cones])
            found = ScaledMultipliers(ConicMultipliers(y[None], z[None], Z[None]), scale or 1.0)
            if enough(found.divided()) and self._fits(scale) and keeps_exactly(cone, exact):
                return found
        return None

    def _fits(self, scale: float) -> bool:
        """Return whether costs of variables that lack an end can be multiplied without rounding."""
        problem = self._problem
        lacking = problem.c[np.isinf(problem.lower) | np.isinf(problem.upper)]
        return all(Fraction(scale) * Fraction(c) == scale * c for c in lacking.tolist())

    def _cone(self, multipliers: ConicMultipliers, infeasible: bool, near: float) -> MISDP:
        """Return all multipliers that cost nothing where those given do not.

        Where a variable has one end they may do so by `near`.
        """
        problem, forms = self._problem, self._judge.forms
        upper = self._upper.copy()
        if infeasible:
            upper[-1] = 0.0
        reduced = self._judge.reduced_costs(multipliers, infeasible)
        costs = sp.csr_array(self._judge.costs[:, None])
        whole = sp.csr_array(sp.hstack([-forms, costs], format="csr"))
        below, above = np.isinf(problem.lower), np.isinf(problem.upper)
        terms = np.asarray(abs(whole).max(axis=1).toarray()).ravel()
        # What is charged at an end that is derived stays so.
        within = np.where(below & above, max(near, EXACT_CHARGED), near)
        nothing = (np.abs(reduced) <= within * terms) & (below | above)
        J = np.flatnonzero(
            nothing | (below & ~above & (reduced < 0.0)) | (above & ~below & (reduced > 0.0))
        )
        return MISDP(
            c=np.zeros(len(upper)),
            A=sp.csr_array(whole[J]),
            row_lower=np.where(above | nothing, 0.0, -np.inf)[J],
            row_upper=np.where(below | nothing, 0.0, np.inf)[J],
            lower=self._lower,
            upper=upper,
            cones=self._cones,
            blocks=self._blocks,
        )
