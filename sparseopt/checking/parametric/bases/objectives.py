r"""The objective and the gap of a basis, as quadratics in step = lam - low of its segment.

See :mod:`sparseopt.checking.parametric.bases.tables`: where z is at its kinks and v equals the
slopes of the pieces,
:math:`P - D = \sum_{ON} s z + \sum_{AT} t v`, which vanishes because v'z = 0. A quadratic that
vanishes at both ends and in the middle vanishes on the whole segment.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparseopt.checking.parametric.bases.solutions import Bases, Pair
from sparseopt.checking.parametric.bases.tables import CodeTables, sizes_at
from sparseopt.checking.parametric.evaluation.point import ratio_of
from sparseopt.checking.tolerances import LOOSE, NOISE, SEGMENT
from sparseopt.problems.base import Array


@dataclass(frozen=True, eq=False)
class Quadratics:
    """Objective values and gaps of q segments.

    Attributes
    ----------
    value, gap : arrays of shape (3, q)
        Coefficients of 1, step and step^2 of P, and of P - D.
    terms : array of shape (3, q)
        Sum of the absolute values of the terms that went into each coefficient.
    """

    value: Array
    gap: Array
    terms: Array

    def relative_gaps(self, length: Array) -> Array:
        """Return the largest gap at the ends and in the middle of each segment, shape (q,).

        Relative to the terms. On a segment without an upper end each coefficient must vanish.
        """
        finite = np.isfinite(length)
        worst = ratio_of(np.abs(self.gap[0]), self.terms[0])
        for part in (0.5, 1.0):
            step = part * np.where(finite, length, 0.0)
            powers = np.stack([np.ones_like(step), step, step * step])
            gap = np.abs((powers * self.gap).sum(axis=0))
            worst = np.maximum(worst, ratio_of(gap, (powers * self.terms).sum(axis=0)))
        endless = ratio_of(np.abs(self.gap), self.terms).max(axis=0)
        return np.where(finite, worst, endless)

    def errors(self, stated: Array, length: Array, noise: float) -> Array:
        """Return the largest error of stated coefficients, shape (q, 3), relative to the terms.

        To the size of each coefficient's terms, `noise` times that of the others is added, as they
        change the value on a segment of the given length.
        """
        difference = np.abs(stated.T - self.value)
        return np.asarray(ratio_of(difference, self.sizes(length, noise)).max(axis=0))

    def sizes(self, length: Array, noise: float) -> Array:
        """Return the terms of each coefficient and `noise` times those of the others, (3, q)."""
        powers = np.stack([np.ones_like(length), length, length * length])
        whole = (powers * self.terms).sum(axis=0)
        return np.asarray(self.terms + noise * whole / powers)


def objective_and_gap(tables: CodeTables, bases: Bases, low: Array, offset: Array) -> Quadratics:
    """Sum up the objective and the gap of a chunk of segments.

    Parameters
    ----------
    tables : CodeTables
    bases : Bases
        The solved bases of q segments.
    low : array of shape (q,)
        The lower ends of the segments.
    offset : array of shape (3,)
        The program's constant: coefficients of 1, lam and lam^2.

    Returns
    -------
    Quadratics
    """
    count = len(low)
    active = bases.slots.look_up(tables.active)
    segment, coordinate = np.divmod(np.flatnonzero(active), active.shape[1])
    slots = bases.slots.each[segment, coordinate]
    at = low[segment]
    z, v = _pick(bases.z, segment, coordinate), _pick(bases.v, segment, coordinate)
    cost = _times(tables.slope.at(slots, at), z)
    pull = _times(tables.kink.at(slots, at), v)
    constant = shifted(tables.value[:, slots], at)
    whole = shifted(offset[:, None], low)

    def total(terms: Array) -> Array:
        return np.stack([np.bincount(segment, part, count) for part in terms])

    terms = total(np.abs(cost) + np.abs(pull) + np.abs(constant)) + np.abs(whole)
    return Quadratics(
        value=total(cost + constant) + whole,
        gap=total(cost + pull),
        terms=terms + size_noise(tables, low, terms),
    )


def _pick(pair: Pair, segment: Array, coordinate: Array) -> Pair:
    return pair[0][segment, coordinate], pair[1][segment, coordinate]


def _times(one: Pair, two: Pair) -> Array:
    """Return the product of two lines in step as a quadratic, shape (3, ...)."""
    return np.stack([one[0] * two[0], one[0] * two[1] + one[1] * two[0], one[1] * two[1]])


def size_noise(tables: CodeTables, low: Array, terms: Array) -> Array:
    """Return the rounding errors that objectives have whatever their terms, as a quadratic.

    They are those of the kinks that prevail, up to 10^4 times what the terms, or the smallest
    kinks, are: where most kinks are so loose that nothing reaches them, these would excuse all.

    Parameters
    ----------
    tables : CodeTables
    low : array of shape (q,)
        The lower ends of segments.
    terms : array of shape (3, q)
        Sums of the absolute values of the terms of each coefficient.

    Returns
    -------
    array of shape (3, q)
        Coefficients of 1, step and step^2.
    """
    sizes = tables.kink_size, tables.least_kink, tables.slope_size
    kinks, least, slopes = (sizes_at(size, low) for size in sizes)
    most = LOOSE * np.maximum(terms, _times(least, slopes))
    return np.asarray(NOISE / SEGMENT * np.minimum(_times(kinks, slopes), most))


def shifted(quadratic: Array, low: Array) -> Array:
    """Turn coefficients of 1, lam, lam^2 into those of 1, step, step^2.

    Parameters
    ----------
    quadratic : array of shape (3, q) or (3, 1)
    low : array of shape (q,)
        The lam that steps are counted from.

    Returns
    -------
    array of shape (3, q)
    """
    a, b, c = quadratic
    return np.stack([a + low * (b + low * c), b + 2.0 * low * c, np.broadcast_to(c, low.shape)])
