"""A start for the active set: some steps of an interior-point method, all atoms at once."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from sparseopt.backend import Control
from sparseopt.problems.base import Array
from sparseopt.problems.private.embedding_fit import EmbeddingFit

_GAP = 1e-3
"""Gap, relative to the value, from which the heavy atoms are nearly those of the optimum."""

_ROUNDED = 1e-14
"""The same relative to the largest squared distance of an atom from the target."""

_STEPS = 60
_TO_BOUNDARY = 0.995
"""Share of the way to the boundary that a step goes."""


def interior_point(problem: EmbeddingFit, control: Control, steps: int) -> tuple[Array, int]:
    r"""Return positive weights within about a thousandth of the optimum, and the steps taken.

    Mehrotra's predictor and corrector for the conditions, with rows :math:`p_i = \phi_i - \mu`,

    .. math:: PP'a - \lambda 1 - s = 0,\quad 1'a = 1,\quad a_i s_i = \tau,\quad a, s > 0

    O(n d^2) a step. Ends early at a limit, and where the linear systems are singular to rounding.

    Source: Mehrotra: On the implementation of a primal-dual interior point method, SIAM Journal on
    Optimization 2 (1992).

    Parameters
    ----------
    problem : EmbeddingFit
        Whose atoms are not all on the target.
    control : Control
    steps : int
        At most.

    Returns
    -------
    a : array of shape (n,)
    taken : int
    """
    unit = problem.largest_term
    P = (problem.Phi - problem.mu) / np.sqrt(unit)
    n, taken = len(P), 0
    a, at = np.full(n, 1.0 / n), P @ P.mean(axis=0)
    level = float(at.min()) - 0.1 * max(float(np.ptp(at)), 1e-3)
    s = at - level
    while taken < min(steps, _STEPS):
        r = P.T @ a
        at, value = P @ r, float(r @ r)
        gap = 2.0 * float(a @ at - at.min())
        if gap <= max(_GAP * value, _ROUNDED) or control.limit() is not None:
            break
        control.progress(
            "interior point", objective=value * unit, bound=max(0.0, value - gap) * unit
        )
        try:
            system = _NewtonSystem(P, a, s, at - level - s)
        except LinAlgError:
            break
        predicted = system.step(-a * s)
        far = [_length(x, dx) for x, dx in ((a, predicted[0]), (s, predicted[1]))]
        centre = float(a @ s) / n
        left = float((a + far[0] * predicted[0]) @ (s + far[1] * predicted[1])) / n
        tau = centre * (left / centre) ** 3
        da, ds, raised = system.step(tau - a * s - predicted[0] * predicted[1])
        length = _TO_BOUNDARY * min(_length(a, da), _length(s, ds))
        a, s, level = a + length * da, s + length * ds, level + length * raised
        taken += 1
    return a, taken


class _NewtonSystem:
    r"""Linearised conditions at (a, s), by a Cholesky factor of :math:`I + P' diag(a / s) P`."""

    def __init__(self, P: Array, a: Array, s: Array, rest: Array) -> None:
        self._P, self._a, self._s, self._rest, self._share = P, a, s, rest, a / s
        scaled = P * np.sqrt(self._share)[:, None]
        self._factor = cho_factor(np.eye(P.shape[1]) + scaled.T @ scaled)
        self._ones = self._solved(np.ones(len(a)))

    def step(self, products: Array) -> tuple[Array, Array, float]:
        """Return changes of a, s and lambda, after which a s is larger by `products`.

        Parameters
        ----------
        products : array of shape (n,)
        """
        x = self._solved(products / self._a - self._rest)
        raised = (1.0 - float(self._a.sum()) - float(x.sum())) / float(self._ones.sum())
        da = x + raised * self._ones
        return da, (products - self._s * da) / self._a, raised

    def _solved(self, b: Array) -> Array:
        """Return the solution x of (PP' + diag(s / a)) x = b, by Woodbury's formula."""
        x = self._share * b
        return np.asarray(x - self._share * (self._P @ cho_solve(self._factor, self._P.T @ x)))


def _length(x: Array, dx: Array) -> float:
    """Return the longest step, 1 at most, that keeps x + step dx >= 0."""
    down = dx < 0.0
    return min(1.0, float(np.min(x[down] / -dx[down]))) if down.any() else 1.0
