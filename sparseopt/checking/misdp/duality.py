r"""Weak duality of a MISDP, for multipliers of any quality: the checker's own arithmetic.

For the minimisation of c'x and for x in a box [l, u], multipliers y of the rows, z of the cones and
Z of the matrices prove

.. math:: c'x \;\ge\; \sum_i \min(y_i \underline{a}_i, y_i \bar a_i) - z'g - \langle Z, M_0\rangle
          + \sum_j \min(r_j l_j, r_j u_j), \qquad r = c - A'y - F'z - \mathcal{M}^*(Z),

if z lies in the cone and Z is positive semidefinite (Jansson, Chaykin and Keil 2007). Multipliers
that are not quite so are moved: an entry of y that would need an open side of its row becomes 0, z
is lifted along the head of its cone, Z is shifted by a multiple of the identity. What was moved
shows in r, and is charged there. Where that leaves no proof, multipliers on the boundary of their
cones are looked at in rational arithmetic: whole numbers need not be moved.

Rounding errors are bounded as they are made. A variable without an end on the side that r needs
leaves no room for them: there the sign of r is decided in rational arithmetic, and where that does
not do, multipliers close by are enclosed for which r is exactly 0
(:mod:`sparseopt.checking.misdp.enclosure`). Where a matrix is made of variables, the multiplier Z
may absorb their reduced costs, whatever they are exactly; the proof is tried with and without that.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sparseopt.checking.misdp.enclosure import Enclosure, Part, enclosed
from sparseopt.checking.misdp.lines import line_scales, variable_sizes
from sparseopt.checking.rational import (
    LARGEST,
    Sign,
    in_cone,
    packed_matrix,
    rationals,
    semidefinite,
)
from sparseopt.installed import Deferred
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import matrix_variable, triangle, unpack_symmetric
from sparseopt.problems.misdp.problem import MISDP

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = Deferred("scipy.sparse")

_EPS = float(np.finfo(float).eps)
_NEARLY = 1e-8
"""A reduced cost of the wrong sign, of a variable without an end, that is at most this part of its
terms may come from rounding: the leaf is then not proven, but not called wrong either."""
_ROUNDS = 3
"""How often columns are added to those of an enclosure."""
_TINY = float(np.nextafter(0.0, 1.0))
_CONE = 64
"""Length of the largest cone whose multiplier is looked at in rational arithmetic."""
_SMALLEST, _LIFTED = 1e-200, 1e-3
"""Products of heads that are compared with squares, and how much their cones may lack."""
_EXACT = 400_000
"""Coefficients that are added in rational arithmetic for one problem; no sign is decided beyond."""


@dataclass(frozen=True)
class LeafBound:
    """What multipliers prove on one box, for the minimisation and without the offset.

    Attributes
    ----------
    value : float
        No feasible point of the box costs less; -inf where nothing is proven.
    nearly : float
        The same if reduced costs of at most 1e-8 of their terms, with the largest entry of a cone
        or a matrix for each, were zero where a variable has no end. Proves nothing.
    size : float
        The sum of the absolute terms.
    """

    value: float
    nearly: float
    size: float


class LeafBounds(NamedTuple):
    """The same of a stack of N boxes, arrays of shape (N,)."""

    value: Array
    nearly: Array
    size: Array

    def divided(self, scale: Array) -> LeafBounds:
        """Return bounds of the costs from those of the costs times `scale`, unless that is 0."""
        unit = np.where(scale == 0.0, 1.0, scale)
        found = LeafBounds(*(numbers / unit for numbers in self))
        down = np.where(unit == 1.0, 0.0, 2.0 * _EPS * np.abs(found.value))
        finite = np.isfinite(found.value)
        return found._replace(value=np.where(finite, found.value - down, found.value))

    def only(self) -> LeafBound:
        """Return that of a stack of one."""
        return LeafBound(*(float(numbers[0]) for numbers in self))


@dataclass(frozen=True, eq=False)
class InsideProof:
    """Exact multipliers inside their cones, of which no column without an end costs anything.

    Attributes
    ----------
    near : Enclosure
    value : float
        What they prove of the costs, or of the costs zero.
    """

    near: Enclosure
    value: float


class WeakDuality:
    """One problem's constraints, stacked: rows, cones, matrices (entries off the diagonal twice).

    Parameters
    ----------
    problem : MISDP
    """

    def __init__(self, problem: MISDP) -> None:
        self._problem = problem
        self.sign = 1.0 if problem.sense == "min" else -1.0
        weights = [
            np.where(i == j, 1.0, 2.0) for i, j in (triangle(b.size) for b in problem.blocks)
        ]
        parts = [problem.A, *(cone.F for cone in problem.cones)]
        constants = [np.zeros(problem.A.shape[0]), *(cone.g for cone in problem.cones)]
        for block, weight in zip(problem.blocks, weights, strict=True):
            parts.append(sp.csr_array(sp.diags_array(weight) @ block.F))
            constants.append(weight * block.F0)
        self._F = sp.csc_array(sp.vstack(parts, format="csc"))
        self._adjoint = sp.csr_array(self._F.T)
        self._absolute_adjoint = abs(self._adjoint)
        self._pattern = (self._absolute_adjoint > 0.0).astype(float)
        self._g = np.concatenate(constants)
        self._rounding = _EPS * (np.diff(self._F.indptr) + 8.0)
        self._exact_left = _EXACT
        begin = problem.A.shape[0]
        self._cones, self._blocks = [], []
        self._lines: list[Array] = []
        """Powers of two that the lines of each matrix come to."""
        for cone in problem.cones:
            self._cones.append((slice(begin, begin + cone.dimension), cone.rotated))
            begin += cone.dimension
        taken, sizes = np.zeros(len(problem.c), dtype=bool), variable_sizes(problem)
        for block, weight in zip(problem.blocks, weights, strict=True):
            columns = matrix_variable(block)
            if columns is not None and taken[columns].any():
                columns = None
            if columns is not None:
                taken[columns] = True
            here = slice(begin, begin + block.dimension)
            self._blocks.append((here, block.size, weight, columns))
            self._lines.append(line_scales(block, sizes))
            begin += block.dimension

        owned = any(own is not None for *_, own in self._blocks)
        self._ways = [False, True] if owned else [False]
        """Whether matrices of variables absorb reduced costs: what is tried."""

    @property
    def widths(self) -> tuple[int, int, int]:
        """How many multipliers a leaf has: of rows, cones and matrices."""
        problem = self._problem
        cones = sum(cone.dimension for cone in problem.cones)
        return problem.A.shape[0], cones, sum(block.dimension for block in problem.blocks)

    def bound(
        self,
        lower: Array,
        upper: Array,
        given: Array,
        scale: float = 1.0,
        wanted: float = math.inf,
    ) -> LeafBound:
        """Return what multipliers prove on the box.

        Parameters
        ----------
        lower, upper : array of shape (n,)
        given : array of shape (sum(widths),)
            Multipliers of rows, cones, matrices, one after the other.
        scale : float, default 1
            The multipliers are for the costs times this number >= 0, with exact products, and what
            they prove is divided by it. For 0, costs zero, a positive value proves that the box
            holds no feasible point.
        wanted : float, default inf
            A value that is enough.
        """
        costs, unit = self._costs(np.array([scale])), scale or 1.0
        wanted = wanted * unit
        dual = self._in_the_cones(given[None])
        box = lower, upper
        found = [self._bound(box, costs, dual, absorb).only() for absorb in self._ways]
        best = max(found, key=_proven)
        value, size = best.value, best.size
        problem = self._problem
        ends = [box, (problem.lower, problem.upper)]
        free = np.isinf(problem.lower) & np.isinf(problem.upper)
        if free.any() and value < wanted:
            # Of free variables, ends that are derived turn rounding into a charge.
            opened = np.where(free, -np.inf, lower), np.where(free, np.inf, upper)
            others = (self._bound(opened, costs, dual, a).only() for a in self._ways)
            best = max(best, max(others, key=_proven), key=lambda bound: bound.nearly)
        # What is wrong by more than rounding is not looked at again.
        tries: Iterable[Any] = ()
        if best.nearly > -math.inf and value < wanted:
            value, size = max((value, size), self._exactly(box, costs, given))
        if best.nearly > -math.inf:
            tries = itertools.product(self._ways, ends, (False, True))
        for absorb, (low, high), equations in tries:
            if value >= wanted:
                break
            free = np.isinf(low) & np.isinf(high)
            if free.any():
                found_near = self._enclosed(box, costs[0], dual[0], free, absorb, equations)
                value, size = max((value, size), found_near)
        # Where an enclosure costs more than rounding, that is no fault of the multipliers.
        numbers = (value, best.nearly, max(best.size, size))
        whole = LeafBounds(*(np.array([number]) for number in numbers))
        return whole.divided(np.array([scale])).only()

    def bounds(self, lower: Array, upper: Array, given: Array, scale: Array) -> LeafBounds:
        """Return what multipliers prove on each of N boxes: as :meth:`bound`, without enclosures.

        Parameters
        ----------
        lower, upper : array of shape (N, n)
        given : array of shape (N, sum(widths))
        scale : array of shape (N,)
        """
        costs, dual = self._costs(scale), self._in_the_cones(given)
        best, *others = (self._bound((lower, upper), costs, dual, a) for a in self._ways)
        for other in others:
            better = other.value > best.value
            best = LeafBounds(*(np.where(better, *pair) for pair in zip(other, best, strict=True)))
        return best.divided(scale)

    def inside(self, lower: Array, upper: Array, given: Array, farkas: bool) -> InsideProof | None:
        """Return exact multipliers near the given ones, where all columns without ends cost 0.

        Parameters
        ----------
        lower, upper : array of shape (n,)
        given : array of shape (sum(widths),)
        farkas : bool
            Whether they are for costs zero.

        Returns
        -------
        InsideProof or None
            None where it cannot be shown that there are any.
        """
        costs = self._costs(np.array([0.0 if farkas else 1.0]))
        dual = self._in_the_cones(given[None])
        J = np.flatnonzero((np.isinf(lower) | np.isinf(upper)) & (np.diff(self._F.indptr) > 0))
        sides = self._problem.row_lower, self._problem.row_upper
        for equations in (False, True):
            near = enclosed(self._F, costs[0], dual[0], sides, self.parts, J, equations)
            if near is None:
                continue
            found = self._bound((lower, upper), costs, near.dual[None], False, near).only()
            if found.value > -math.inf:
                return InsideProof(near, found.value)
        return None

    @property
    def parts(self) -> list[Part]:
        """All cones, then all matrices."""
        cones = [Part(here, 0, rotated) for here, rotated in self._cones]
        return cones + [Part(here, size, False) for here, size, *_ in self._blocks]

    @property
    def forms(self) -> sp.csc_array:
        """F of all constraints: rows, cones, matrices (entries off the diagonal twice)."""
        return self._F

    @property
    def constants(self) -> Array:
        """Their constants, zeros for the rows."""
        return self._g

    def _costs(self, scale: Array) -> Array:
        return np.asarray(scale[:, None] * (self.sign * self._problem.c))

    def _enclosed(
        self,
        box: tuple[Array, Array],
        costs: Array,
        dual: Array,
        free: Array,
        absorb: bool,
        equations: bool,
    ) -> tuple[float, float]:
        """Return what exact multipliers near the given ones prove, and the size of its terms.

        The free columns are to cost nothing, and those where an end is missing
        that a reduced cost of any doubt might need.
        """
        absorbing = np.zeros(len(costs), dtype=bool)
        parts = [Part(here, 0, rotated) for here, rotated in self._cones]
        for here, size, _, columns in self._blocks:
            if absorb and columns is not None:
                absorbing[columns] = True
            else:
                parts.append(Part(here, size, False))
        filled = np.diff(self._F.indptr) > 0
        chosen = free & filled & ~absorbing
        nothing = -math.inf, 0.0
        for _ in range(_ROUNDS):
            sides = self._problem.row_lower, self._problem.row_upper
            J = np.flatnonzero(chosen)
            near = enclosed(self._F, costs, dual, sides, parts, J, equations)
            if near is None:
                return nothing
            found = self._bound(box, costs[None], near.dual[None], absorb, near).only()
            if found.value > -math.inf:
                return found.value, found.size
            r, error = (a[0] for a in self._reduced_costs(costs[None], near.dual[None], near)[:2])
            end = np.where(r > 0.0, *box)
            missing = (np.isinf(end) | (np.abs(r) <= error)) & np.isinf(box[0] - box[1])
            more = missing & filled & ~absorbing & ~chosen
            if not more.any():
                return nothing
            chosen |= more
        return nothing

    def _exactly(self, box: tuple[Array, Array], costs: Array, given: Array) -> tuple[float, float]:
        """Return what multipliers prove that are in their cones exactly, and the size of terms."""
        inside = []
        for here, rotated in self._cones:
            u = given[here]
            if len(u) <= _CONE and in_cone(rationals(u), rotated):
                inside.append(here)
        for here, order, *_ in self._blocks:
            if order > LARGEST:
                continue
            if semidefinite(packed_matrix(rationals(given[here]), order)) is Sign.HOLDS:
                inside.append(here)
        if not inside:
            return -math.inf, 0.0
        dual = self._in_the_cones(given[None])
        for here in inside:
            dual[0, here] = given[here]
        found = self._bound(box, costs, dual, False, inside=inside).only()
        return found.value, found.size

    def _in_the_cones(self, given: Array) -> Array:
        """Drop multipliers of open sides, and lift those of cones, in a stack of leaves."""
        problem, dual = self._problem, given.copy()
        m = problem.A.shape[0]
        y = dual[:, :m]
        y[np.isinf(np.where(y > 0.0, problem.row_lower, problem.row_upper))] = 0.0
        for here, rotated in self._cones:
            u = dual[:, here]
            near = _lifted_in_place(u) if rotated else np.zeros(len(u), dtype=bool)
            head, tail = u[:, 0], u[:, 1:]
            if rotated:
                head = (u[:, 0] + u[:, 1]) / math.sqrt(2.0)
                tail = np.hstack([(u[:, :1] - u[:, 1:2]) / math.sqrt(2.0), u[:, 2:]])
            safe = _norms(tail) * (1.0 + _EPS * (u.shape[1] + 4.0)) + 4.0 * _EPS * np.abs(head)
            lacking = np.where(near, 0.0, np.maximum(0.0, safe - head))[:, None]
            u[:, : 2 if rotated else 1] += lacking / math.sqrt(2.0) if rotated else lacking
        return dual

    def _bound(
        self,
        box: tuple[Array, Array],
        costs: Array,
        dual: Array,
        absorb: bool,
        near: Enclosure | None = None,
        inside: Sequence[slice] = (),
    ) -> LeafBounds:
        """Return what a stack of multipliers proves, or those that are only known to be near.

        Those of the matrices `inside` are semidefinite exactly.
        """
        problem, dual = self._problem, dual.copy()
        absorbed = []
        # Matrices of variables come last: what they absorb depends on all other multipliers.
        order = sorted(range(len(self._blocks)), key=lambda k: self._blocks[k][3] is not None)
        for k in order:
            (here, size, weight, columns), lines = self._blocks[k], self._lines[k]
            entries, unsure = dual[:, here], np.zeros(len(dual))
            i, j = triangle(size)
            diagonal, scale = i == j, lines[i] * lines[j]
            free = None
            if absorb and columns is not None:
                r, error, _ = self._reduced_costs(costs, dual, near)
                part = r[:, columns]
                ends = np.where(part > 0.0, problem.lower[columns], problem.upper[columns])
                free = np.isinf(ends)
                entries += np.where(free, part / weight, 0.0)
                doubt = (error[:, columns] + 4.0 * _EPS * np.abs(part)) / weight * scale
                unsure = np.sqrt(np.where(free, doubt, 0.0) ** 2 @ weight)
            # Z is semidefinite where D Z D is, with the scales of the lines of M in D.
            values = np.linalg.eigvalsh(unpack_symmetric(entries * scale, size))
            # Errors of computed eigenvalues are of the order of s eps |D Z D|.
            least = values[:, 0] - 6.0 * size * _EPS * np.abs(values).max(axis=1) - unsure
            shift = np.maximum(0.0, -least)[:, None] / scale
            if free is None and (near is not None or here in inside):
                # They are inside.
                shift[:] = 0.0
            entries += np.where(diagonal, shift, 0.0)
            if columns is not None and free is not None:
                absorbed.append((columns, free, np.where(diagonal, -shift, 0.0)))
        r, error, terms = self._reduced_costs(costs, dual, near)
        near_terms = np.abs(costs) + (self._absolute_adjoint @ self._tops(dual).T).T
        for columns, free, left in absorbed:
            r[:, columns] = np.where(free, left, r[:, columns])
            error[:, columns] = np.where(free, 4.0 * _EPS * np.abs(left), error[:, columns])
        m = problem.A.shape[0]
        y = dual[:, :m]
        ends = np.where(y > 0.0, problem.row_lower, problem.row_upper)
        constant = np.hstack([y * np.where(y == 0.0, 0.0, ends), -dual[:, m:] * self._g[m:]])
        charges, unsure_ones = self._charges(r, error, terms, *box)
        for leaf, k in unsure_ones:
            rows = self._F.indices[self._F.indptr[k] : self._F.indptr[k + 1]]
            if near is None or not near.spread[rows].any():
                low, high = (np.broadcast_to(end, r.shape)[leaf, k] for end in box)
                charges[leaf, k] = self._exact_charge(k, costs[leaf], dual[leaf], low, high)
        if near is not None:
            # Rows with one side keep the sign of their multiplier.
            sides = np.abs([problem.row_lower, problem.row_upper])
            reach = np.where(np.isinf(sides), 0.0, sides).max(axis=0)
            reach = np.concatenate([reach, np.abs(self._g[m:])])
            constant -= (1.0 + 8.0 * _EPS) * near.spread * np.where(near.spread > 0.0, reach, 0.0)
        value, size = _sums_down(constant, charges)
        small = np.isinf(charges) & (np.abs(r) <= _NEARLY * near_terms)
        nearly, size_of_nearly = value.copy(), size.copy()
        some = small.any(axis=1)
        if some.any():
            without = np.where(small[some], 0.0, charges[some])
            nearly[some], size_of_nearly[some] = _sums_down(constant[some], without)
        return LeafBounds(value, nearly, np.minimum(size, size_of_nearly))

    def _reduced_costs(
        self, costs: Array, dual: Array, near: Enclosure | None = None
    ) -> tuple[Array, Array, Array]:
        """Return r, a bound of its errors, and the sums of its absolute terms, in a stack."""
        terms = np.abs(costs) + (self._absolute_adjoint @ np.abs(dual.T)).T
        # Products of small numbers vanish.
        lost = _TINY * (self._pattern @ (dual.T != 0.0)).T
        r, error = costs - (self._adjoint @ dual.T).T, self._rounding * terms + lost
        if near is not None:
            error += (1.0 + 2.0 * self._rounding) * (self._absolute_adjoint @ near.spread)
            r[:, near.columns] = error[:, near.columns] = 0.0
        return r, error, terms + lost

    def _tops(self, dual: Array) -> Array:
        """Return absolute multipliers, each entry the largest of its cone or matrix."""
        tops = np.abs(dual)
        for here, *_ in (*self._cones, *self._blocks):
            tops[:, here] = tops[:, here].max(axis=1, keepdims=True)
        return tops

    def _charges(
        self, r: Array, error: Array, terms: Array, lower: Array, upper: Array
    ) -> tuple[Array, list[list[int]]]:
        """Return min(r_j x_j) over the boxes, -inf where that is or may be, and where it may."""
        low, high = r - error, r + error
        # A term r x with x at an infinite end is 0 only where r is exactly 0.
        with np.errstate(invalid="ignore"):
            products = [np.where(a == 0.0, 0.0, a * b) for a in (low, high) for b in (lower, upper)]
        charges = np.min(products, axis=0)
        charges = np.where(np.isnan(charges), -np.inf, charges)
        decided = (low > 0.0) | (high < 0.0)
        unsure = np.isneginf(charges) & ~decided & (terms > 0.0)
        return charges, np.argwhere(unsure).tolist()

    def _exact_charge(self, k: int, costs: Array, dual: Array, lower: float, upper: float) -> float:
        """Return min(r_k x_k) with r_k in rational arithmetic."""
        here = slice(self._F.indptr[k], self._F.indptr[k + 1])
        rows, values = self._F.indices[here], self._F.data[here]
        self._exact_left -= len(rows)
        if self._exact_left < 0:
            return -math.inf
        r = Fraction(float(costs[k])) - sum(
            (Fraction(a) * Fraction(b) for a, b in zip(values, dual[rows], strict=True)),
            Fraction(0),
        )
        if r == 0:
            return 0.0
        end = lower if r > 0 else upper
        if math.isinf(end):
            return -math.inf
        product = float(r * Fraction(end))
        return product - 4.0 * _EPS * abs(product)


def _proven(bound: LeafBound) -> tuple[float, float]:
    return bound.value, bound.nearly


def _norms(vectors: Array) -> Array:
    """Return the norms of rows, whatever their scale."""
    scale = np.abs(vectors).max(axis=1, initial=0.0)
    scaled = vectors / np.where(scale > 0.0, scale, 1.0)[:, None]
    return np.asarray(scale * np.sqrt((scaled * scaled).sum(axis=1)))


def _lifted_in_place(u: Array) -> Array:
    """Lift both heads of rotated cones (N, k) by the same part of them; return which are inside.

    Heads may be far from each other: 2 u_0 u_1 >= ||w||^2 is compared, not a distance. Those that
    lack more than rounding errors, or have no heads, are left.
    """
    with np.errstate(over="ignore"):
        heads, squares = 2.0 * u[:, 0] * u[:, 1], (u[:, 2:] ** 2).sum(axis=1)
    usual = (u[:, :2] > 0.0).all(axis=1) & (heads > _SMALLEST) & (heads < 1.0 / _SMALLEST)
    ratio = squares / np.where(usual, heads, 1.0) * (1.0 + _EPS * (u.shape[1] + 8.0))
    # Squares that vanish are far below the product.
    ratio += (u.shape[1] * np.finfo(float).tiny) / np.where(usual, heads, 1.0)
    near = usual & (ratio <= 1.0 + _LIFTED)
    # (1 + a)^2 >= 1 + 2 a.
    part = np.where(near, np.maximum(ratio - 1.0, 0.0) * (0.5 + _EPS) + 4.0 * _EPS, 0.0)
    u[:, :2] *= (1.0 + part)[:, None]
    return np.asarray(near)


def _sums_down(constant: Array, charges: Array) -> tuple[Array, Array]:
    """Return the sums of all terms of each row rounded down, and those of absolute values."""
    terms = np.hstack([constant, charges])
    size = np.abs(terms).sum(axis=1)
    finite = np.isfinite(size)
    # The sums are exact; each term is a product of few factors.
    sums = np.full(len(terms), -np.inf)
    sums[finite] = [math.fsum(row) for row in terms[finite].tolist()]
    return sums - np.where(finite, 8.0 * _EPS * size, 0.0), size
