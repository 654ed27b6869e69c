r"""What proves a bound at a node: multipliers (l, L) of the row bound, or norms.

Without a linear term the largest eigenvalue of a matrix is at most its Frobenius norm, so the
square of the value of a support S is at most

.. math:: \sum_{i, j \in I} A_{ij}^2 + \sum_{i \in S \setminus I} r_i, \qquad
          r_i = A_{ii}^2 + 2 \sum_{j \in I} A_{ij}^2 + \max_T \sum_{j \in T} A_{ij}^2,

I the variables that are fixed in, and T any d - abs(I) - 1 other free variables. Where the
matrix is close to rank one this is off by the square of the distance only, while minimising the row
bound converges slowly.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sparseopt.problems.base import Array

from ...common.index_sets import members
from ...common.spheres import maximise_on_sphere
from ..settings import ROUNDING
from .row_bound import row_terms


@dataclass(frozen=True, eq=False)
class Multipliers:
    """A pair (l, L), with the maximum over the sphere of what it leaves of the objective.

    Attributes
    ----------
    variables : int array of shape (n,)
        Increasing: the candidates that the pair is for.
    w : float
        The multiplier of the border, a start for the next minimisation.
    l, L : arrays of shape (n,) and (n, n)
    mu : float
        Multiplier of the trust-region subproblem, for any subset of the variables too.
    spectral : float
        Its value, with a margin for rounding errors.
    """

    variables: Array
    w: float
    l: Array
    L: Array
    mu: float
    spectral: float

    @classmethod
    def of_point(cls, A: Array, a: Array, variables: Array, x: Array) -> Multipliers:
        """Unpack a point (w, l, L) of the minimisation over some variables.

        Parameters
        ----------
        A, a : arrays of shape (D, D) and (D,)
        variables : int array of shape (n,)
        x : array of shape (1 + n + n^2,)
        """
        n = len(variables)
        l, L = x[1 : 1 + n].copy(), x[1 + n :].reshape(n, n).copy()
        B = A[np.ix_(variables, variables)] - (L + L.T) / 2.0
        found = maximise_on_sphere(B, a[variables] - l)
        mu, value = float(found.mu[0]), float(found.bound[0])
        margin = ROUNDING * n * (abs(mu) + abs(value) + float(np.linalg.norm(B)))
        return cls(variables, value - 2.0 * mu, l, L, mu, value + margin)

    @classmethod
    def zero(cls, A: Array, a: Array) -> Multipliers:
        """Return the pair of zeros on all variables: the plain trust-region bound."""
        D = len(a)
        return cls.of_point(A, a, np.arange(D), np.zeros(1 + D + D * D))

    def point(self, variables: Array) -> Array:
        """Return (w, l, L) restricted to some of the variables."""
        at = np.searchsorted(self.variables, variables)
        return np.concatenate([[self.w], self.l[at], self.L[np.ix_(at, at)].ravel()])

    @cached_property
    def is_zero(self) -> bool:
        """Whether this is the plain trust-region bound."""
        return not (self.l.any() or self.L.any())


@dataclass(frozen=True, eq=False)
class ProvenBound:
    """What multipliers prove at a node.

    Attributes
    ----------
    multipliers : Multipliers
    terms : array of shape (n,)
        The h_i of the node's candidates.
    inside : bool array of shape (n,)
    d : int
    """

    multipliers: Multipliers
    terms: Array
    inside: Array
    d: int

    @classmethod
    def at(
        cls, multipliers: Multipliers, candidates: Array, fixed_in: Array, d: int
    ) -> ProvenBound:
        """Compute the row terms of a node whose candidates the multipliers cover."""
        at = np.searchsorted(multipliers.variables, candidates)
        inside = members(candidates, fixed_in)
        terms = row_terms(multipliers.l[at], multipliers.L[np.ix_(at, at)], inside, d)
        return cls(multipliers, terms, inside, d)

    @cached_property
    def _thresholds(self) -> tuple[float, float, float]:
        """Return the sum of the chosen terms, the smallest chosen free one, the largest other."""
        free = np.sort(self.terms[~self.inside])[::-1]
        k = self.d - int(self.inside.sum())
        total = float(self.terms[self.inside].sum() + free[:k].sum())
        last = float(free[k - 1]) if k > 0 else np.inf
        return total, last, float(free[k]) if k < len(free) else -np.inf

    @cached_property
    def bound(self) -> float:
        """The bound on all supports of the node."""
        total, spectral = self._thresholds[0], self.multipliers.spectral
        return spectral + total + ROUNDING * len(self.terms) * (abs(total) + abs(spectral))

    @cached_property
    def bounds_in(self) -> Array:
        """The bounds on the supports with each of the candidates, shape (n,)."""
        last = self._thresholds[1]
        loss = np.where(self.inside | (self.terms >= last), 0.0, last - self.terms)
        return np.asarray(self.bound - loss)

    @cached_property
    def bounds_out(self) -> Array:
        """The bounds on the supports without each of the candidates; -inf for those fixed in."""
        _, last, following = self._thresholds
        loss = np.where(self.terms >= last, self.terms - following, 0.0)
        return np.where(self.inside, -np.inf, self.bound - loss)


class Norms:
    """Stands for multipliers at a node whose bound is that of norms: there are none."""

    mu = 0.0
    is_zero = False


NORMS = Norms()


@dataclass(frozen=True, eq=False)
class NormBound:
    """What norms prove at a node, in the form of :class:`ProvenBound`.

    Attributes
    ----------
    base : float
        The sum of the squares among the variables that are fixed in.
    rows : array of shape (n,)
        The r_i of the candidates; 0 for those fixed in.
    inside : bool array of shape (n,)
    free : int
        How many more variables a support has.
    """

    base: float
    rows: Array
    inside: Array
    free: int
    multipliers: Norms = NORMS

    @classmethod
    def at(cls, squares: Array, candidates: Array, fixed_in: Array, d: int) -> NormBound:
        """Compute the bound of a node.

        Parameters
        ----------
        squares : array of shape (D, D)
            The squares of the entries of A.
        candidates, fixed_in : int arrays
        d : int
            Size of the supports.
        """
        inside = members(candidates, fixed_in)
        W = squares[np.ix_(candidates, candidates)]
        k = d - int(inside.sum())
        rows = np.diagonal(W) + 2.0 * W[:, inside].sum(axis=1)
        if k > 1:
            rest = W[:, ~inside].copy()
            rest[~inside, np.arange(rest.shape[1])] = 0.0
            place = max(0, rest.shape[1] - (k - 1))
            rows = rows + np.partition(rest, place, axis=1)[:, place:].sum(axis=1)
        base = float(W[np.ix_(inside, inside)].sum())
        return cls(base, np.where(inside, 0.0, rows), inside, k)

    def _value(self, square: Array) -> Array:
        """Return the bound of a squared one, a difference of two, with a margin for rounding."""
        margin = ROUNDING * len(self.rows) * self._square
        return np.asarray(np.sqrt(np.maximum(square, 0.0) + margin))

    @cached_property
    def _ordered(self) -> Array:
        """The r_i of the free variables, decreasing."""
        return np.sort(self.rows[~self.inside])[::-1]

    @cached_property
    def _square(self) -> float:
        return self.base + float(self._ordered[: self.free].sum())

    @cached_property
    def bound(self) -> float:
        """The bound on all supports of the node."""
        return float(self._value(np.array(self._square)))

    @cached_property
    def bounds_in(self) -> Array:
        """The bounds on the supports with each of the candidates, shape (n,)."""
        last = float(self._ordered[self.free - 1]) if self.free else np.inf
        loss = np.where(self.inside | (self.rows >= last), 0.0, last - self.rows)
        return self._value(self._square - loss)

    @cached_property
    def bounds_out(self) -> Array:
        """The bounds on the supports without each of the candidates; -inf for those fixed in."""
        ordered, k = self._ordered, self.free
        last = float(ordered[k - 1]) if k else np.inf
        if k >= len(ordered):
            return np.where(self.inside | (self.rows >= last), -np.inf, self.bound)
        loss = np.where(self.rows >= last, self.rows - float(ordered[k]), 0.0)
        return np.where(self.inside, -np.inf, self._value(self._square - loss))
