r"""Multipliers that exist exactly near given ones: the checker's own arithmetic.

A variable without an end needs a reduced cost that is exactly zero, which floating-point
multipliers d = (y, z, Z) hardly ever give. For the columns J of such variables,

.. math:: F_J'(d + B \mu) = c_J

has an exact solution wherever F_J'B is not singular. With R close to its inverse and
:math:`\rho = \lVert I - R F_J'B \rVert_\infty < 1`, computed with a bound of all rounding errors,
it lies within

.. math:: |\mu| \le |R (c_J - F_J'd)| + \frac{\rho}{1 - \rho} \lVert R (c_J - F_J'd) \rVert_\infty

(Rump's verification of linear systems, as Jansson, Chaykin and Keil 2007 use it for equations of a
dual). If d lies so far inside its cones that d + B mu is in them for each such mu, then the exact
multipliers prove what d does, up to what B mu may change elsewhere: all columns J cost exactly
nothing. B is free: it is F_J weighted by the root of how far inside each part of d is, so that
parts near the boundary move less and the system stays well conditioned. Residuals c_J - F_J'd, sums
of terms that cancel, are rounded only once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sparseopt.installed import Deferred
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import triangle, unpack_symmetric

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = Deferred("scipy.sparse")

__all__ = ["Enclosure", "Part", "enclosed", "margin_inside"]

_EPS = float(np.finfo(float).eps)
_LARGEST = 1500
"""Columns for which the dense system is solved."""
_CONTRACTS = 0.5
"""What rho may be."""
_SAFE = 1.0 + 1e-9
"""Sums of absolute values are raised by this against their own rounding."""
_LEAST = 1e-290
"""More than numbers lose that are too small."""
_STEPS = 2
"""Corrections in plain arithmetic before the proof."""
_LIFT = 4.0
"""Matrices that are not far enough inside are shifted by this multiple of what they lack."""


class Part(NamedTuple):
    """The multipliers of a cone or a matrix among all: `size` is 0 for a cone."""

    here: slice
    size: int
    rotated: bool


@dataclass(frozen=True, eq=False)
class Enclosure:
    """Exact multipliers lie within `spread` of `dual`, in their cones; the columns cost nothing.

    Attributes
    ----------
    dual, spread : arrays of shape (multipliers,)
    columns : int array
    """

    dual: Array
    spread: Array
    columns: Array


def enclosed(
    F: sp.csc_array,
    costs: Array,
    dual: Array,
    sides: tuple[Array, Array],
    parts: list[Part],
    columns: Array,
    equations: bool = False,
) -> Enclosure | None:
    """Return exact multipliers near the given ones that make the columns cost nothing.

    Parameters
    ----------
    F : csc array of shape (multipliers, n)
        All constraints: rows, then cones and matrices (entries off the diagonal twice).
    costs : array of shape (n,)
    dual : array of shape (multipliers,)
        Of rows only where the side is finite, in their cones; matrices need not be semidefinite.
    sides : tuple of arrays of shape (m,)
        Ends of the rows.
    parts : list of Part
        Those that may be moved.
    columns : int array
    equations : bool, default False
        Whether multipliers of equations may move by more than their size: where a slack is in one
        its sign may be lost by that.

    Returns
    -------
    Enclosure or None
        None where it cannot be proven that there are any.
    """
    if not 0 < len(columns) <= _LARGEST:
        return None
    own = sp.csc_array(F[:, columns])
    used = np.flatnonzero(np.diff(sp.csr_array(own).indptr))
    dense = np.zeros((len(dual), len(columns)))
    dense[used] = sp.csr_array(own)[used].toarray()
    dual = dual.copy()
    # What can move no column is left as it is.
    movable = (_room(dual, sides, parts, equations) @ np.abs(dense)) > 0.0
    columns, dense = columns[movable], dense[:, movable]
    if not len(columns):
        return None
    every, first = columns, _without_multiples(dense, costs[columns])
    columns, dense = columns[first], dense[:, first]
    for _ in range(_STEPS + 1):
        room = _room(dual, sides, parts, equations)
        system = _System.of(dense, costs[columns], dual, room, used)
        if system is None:
            return None
        dual += system.step()
    for _ in range(_STEPS + 1):
        room = _room(dual, sides, parts, equations)
        system = _System.of(dense, costs[columns], dual, room, used)
        spread = None if system is None else system.spread()
        if spread is None:
            return None
        lacking = _lacking(dual, spread, sides, parts)
        if lacking is None:
            return None
        if not lacking:
            return Enclosure(dual, spread, every)
        for part, missing in lacking:
            _shift(dual, part, _LIFT * missing)
    return None


def _without_multiples(F: Array, costs: Array) -> Array:
    """Return the places of the columns without those that are exact multiples of another one.

    Where that costs nothing they do not either.
    """
    whole = np.vstack([costs, F])
    tops = np.abs(whole).argmax(axis=0)
    seen: dict[bytes, list[int]] = {}
    kept = []
    for j, top in enumerate(tops.tolist()):
        a = whole[:, j]
        alike = seen.setdefault((np.round(a / a[top], 9) + 0.0).tobytes(), [])
        if not any(_multiples(a, whole[:, i], top) for i in alike):
            alike.append(j)
            kept.append(j)
    return np.array(kept, dtype=np.int64)


def _multiples(a: Array, b: Array, top: int) -> bool:
    """Return whether a b_top = b a_top, exactly."""
    if ((a == 0.0) != (b == 0.0)).any():
        return False
    some = np.flatnonzero(a)
    one, other = Fraction(a[top]), Fraction(b[top])
    return all(Fraction(a[i]) * other == Fraction(b[i]) * one for i in some.tolist())


@dataclass(frozen=True, eq=False)
class _System:
    """F_J'B mu = c_J - F_J'd with columns scaled by powers of two, R and rho."""

    B: Array
    right: Array
    error: Array
    """Of the right-hand side."""
    R: Array
    contraction: float

    @classmethod
    def of(
        cls, dense: Array, costs: Array, dual: Array, room: Array, used: Array
    ) -> _System | None:
        """Return None where F_J'B cannot be shown to have an inverse."""
        F, d, w = dense[used], dual[used], np.sqrt(room[used])
        diagonal = w @ F**2
        if not (diagonal > 0.0).all() or not np.isfinite(diagonal).all():
            return None
        scale = 2.0 ** np.round(-0.5 * np.log2(diagonal))
        F = F * scale
        B = w[:, None] * F
        G = F.T @ B
        right = np.array([_exactly(c, f, d) for c, f in zip(costs * scale, F.T, strict=True)])
        rounding = _EPS * (len(used) + 8.0)
        try:
            R = np.linalg.inv(G)
        except np.linalg.LinAlgError:
            return None
        k = len(costs)
        left = np.abs(np.eye(k) - R @ G)
        absolute = np.abs(F).T @ np.abs(B)
        left += rounding * (np.abs(R) @ absolute) + _EPS * (k + 8.0) * (np.abs(R) @ np.abs(G))
        contraction = float(left.sum(axis=1).max()) * _SAFE
        if not contraction <= _CONTRACTS:
            return None
        whole = np.zeros((len(dual), k))
        whole[used] = B
        if not np.isfinite(right).all():
            return None
        return cls(whole, right, _EPS * np.abs(right) + _LEAST, R, contraction)

    def step(self) -> Array:
        """Return B mu in plain arithmetic."""
        return np.asarray(self.B @ (self.R @ self.right))

    def spread(self) -> Array | None:
        """Return a bound of the absolute values of B mu."""
        first = np.abs(self.R) @ (np.abs(self.right) + self.error)
        far = self.contraction / (1.0 - self.contraction) * float(first.max(initial=0.0))
        bound = np.asarray(np.abs(self.B) @ (first + far)) * _SAFE
        return bound if np.isfinite(bound).all() else None


def _exactly(c: float, f: Array, d: Array) -> float:
    """Return c - f'd rounded once: each product is the sum of two numbers (Dekker 1971)."""
    some = (f != 0.0) & (d != 0.0)
    a, b = f[some], d[some]
    with np.errstate(over="ignore", invalid="ignore"):
        (a1, a2), (b1, b2) = _halves(a), _halves(b)
        product = a * b
        rest = a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2)
    if not (np.isfinite(product).all() and np.isfinite(rest).all()):
        return math.nan
    return math.fsum([c, *(-product).tolist(), *(-rest).tolist()])


def _halves(a: Array) -> tuple[Array, Array]:
    """Return a as the sum of two numbers of 26 bits (Veltkamp 1968)."""
    turned = 134217729.0 * a
    high = turned - (turned - a)
    return high, a - high


def _room(dual: Array, sides: tuple[Array, Array], parts: list[Part], equations: bool) -> Array:
    """Return how far inside its cone each multiplier is; 0 where it is not to be moved.

    Entries of a cone that are zero stay so: columns that have no others may depend on one another,
    and none of them costs anything as it is.
    """
    room = np.zeros(len(dual))
    m = len(sides[0])
    y = dual[:m]
    room[:m] = np.abs(y)
    if equations:
        room[:m][sides[0] == sides[1]] = max(1.0, float(np.abs(dual).max(initial=0.0)))
    for part in parts:
        moved = np.True_ if part.size else dual[part.here] != 0.0
        room[part.here] = np.where(moved, max(0.0, _inside(dual, part)), 0.0)
    room[room < 1e-150] = 0.0
    return room


def _inside(dual: Array, part: Part) -> float:
    """Return how far inside its cone a multiplier is at least, as a Euclidean distance."""
    u = dual[part.here]
    if part.size:
        values = np.linalg.eigvalsh(unpack_symmetric(u, part.size))
        return float(values[0]) - 6.0 * part.size * _EPS * float(np.abs(values).max())
    if part.rotated:
        head = (u[0] + u[1]) / math.sqrt(2.0)
        tail = math.hypot((u[0] - u[1]) / math.sqrt(2.0), *u[2:].tolist())
    else:
        head, tail = u[0], math.hypot(*u[1:].tolist())
    margin = head - tail - _EPS * (len(u) + 8.0) * (tail + abs(head))
    return float(margin) / math.sqrt(2.0)


def _shift(dual: Array, part: Part, more: float) -> None:
    """Move a multiplier along the middle of its cone, until it is inside by `more` and beyond."""
    lacking = more + max(0.0, -_inside(dual, part))
    if not lacking:
        return
    u = dual[part.here]
    if part.size:
        i, j = triangle(part.size)
        u[i == j] += lacking
    else:
        u[: 2 if part.rotated else 1] += math.sqrt(2.0) * lacking


def _lacking(
    dual: Array, spread: Array, sides: tuple[Array, Array], parts: list[Part]
) -> list[tuple[Part, float]] | None:
    """Return the parts that may leave their cones, and by how much; None where a row may."""
    m = len(sides[0])
    y = dual[:m]
    one_sided = np.isinf(sides[0]) | np.isinf(sides[1])
    open_side = np.isinf(np.where(y > 0.0, *sides)) & (y != 0.0)
    if (open_side | (one_sided & (spread[:m] > np.abs(y)))).any():
        return None
    found = []
    for part in parts:
        lacking = _reach(spread, part) - _inside(dual, part)
        if lacking > 0.0:
            found.append((part, lacking))
    return found


def _reach(spread: Array, part: Part) -> float:
    """Return by how much a multiplier may be off, as a Euclidean distance."""
    moved = spread[part.here]
    weights = np.ones(len(moved))
    if part.size:
        i, j = triangle(part.size)
        weights = np.where(i == j, 1.0, 2.0)
    return math.sqrt(float(weights @ moved**2)) * _SAFE


def margin_inside(near: Enclosure, part: Part) -> float:
    """Return how far inside its cone the exact multiplier of a part is at least.

    As a Euclidean distance: of a matrix the least eigenvalue, of a cone (head - norm) / sqrt(2).

    Parameters
    ----------
    near : Enclosure
    part : Part
    """
    return _inside(near.dual, part) - _reach(near.spread, part)
