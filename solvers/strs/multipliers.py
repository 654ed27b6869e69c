"""Multipliers (l, L) of the row bound on the candidates of a node, and what they prove there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sparseopt.problems.base import Array

from ..common.spheres import maximise_on_sphere
from .row_bound import row_terms
from .settings import ROUNDING

__all__ = ["Multipliers", "ProvenBound"]


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
        inside = np.isin(candidates, fixed_in)
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
