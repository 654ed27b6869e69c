"""The minimisation of the row bound over its multipliers, a slice of time after the other."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from sparseopt.problems.base import Array

from .multipliers import Multipliers, Proof
from .row_bound import minimise

__all__ = ["Descent", "restrict", "warm_up"]

_SLICE = 0.05
"""Seconds of compiled code between two looks at the clock."""
_PAIRS, _PAIR_CELLS = 12, 10_000_000
"""Pairs that L-BFGS keeps, fewer (at least 3) where they would take more numbers than this."""


class Descent:
    """L-BFGS on the smoothed row bound.

    Parameters
    ----------
    A, a, d : the problem
    steps : int
        Steps for each smoothing.

    Attributes
    ----------
    evaluations : int
    """

    def __init__(self, A: Array, a: Array, d: int, steps: int = 80) -> None:
        self.A, self.a, self.d, self.steps = A, a, d, steps
        self.evaluations = 0
        self._rate = 1e-9

    def run(
        self,
        candidates: Array,
        fixed_in: Array,
        x: Array,
        delta: float,
        target: float,
        stop: Callable[[], object] = lambda: None,
    ) -> tuple[Multipliers, Array, Array, Array]:
        """Minimise with one smoothing, which changes the bound by about delta.

        Parameters
        ----------
        candidates, fixed_in : int arrays
            Increasing; n candidates, which include those that are fixed in.
        x : array of shape (1 + n + n^2,)
            Where to start: (w, l, L by rows); changed.
        delta : float
        target : float
            End as soon as the bound is not above this.
        stop : callable
            Ends the minimisation when it returns anything true.

        Returns
        -------
        Multipliers
            Those of the best bound.
        x : array of shape (1 + n + n^2,)
            The last iterate.
        weight, density : arrays of shape (n,)
            The relaxed support, and the diagonal of the relaxed zz'.
        """
        F, n = candidates, len(candidates)
        A, a = self.A[np.ix_(F, F)], self.a[F]
        inside = np.isin(F, fixed_in)
        border = bool(self.a.any())
        rows = float(np.linalg.norm(x[1 + n :])) / math.sqrt(n) + delta / self.d
        smoothing = np.array(
            [
                0.6 * delta / (2.0 if border else 1.0),
                2.0 * delta / self.d,
                3.0 * delta * rows / (self.d * max(1, self.d - 1)),
                (0.3 * delta / self.d) ** 2,
            ]
        )
        pairs = min(_PAIRS, max(3, _PAIR_CELLS // (2 * len(x))))
        gradient = np.zeros(len(x))
        memory, scalars = np.zeros((2 * pairs, len(x))), np.zeros(4 + pairs)
        weight, density = np.zeros(n), np.zeros(n)
        rank, thresholds = np.array([4]), np.zeros(n + 1)
        best, best_x = math.inf, x.copy()
        left = self.steps
        while left > 0:
            steps = min(left, max(1, int(_SLICE / (self._rate * _work(n)))))
            begin = time.perf_counter()
            best, evaluations, at_rest = minimise(
                A,
                a,
                self.d,
                inside,
                border,
                smoothing,
                steps,
                target,
                x,
                best,
                best_x,
                gradient,
                memory,
                scalars,
                weight,
                density,
                rank,
                thresholds,
            )
            self._rate = (time.perf_counter() - begin) / max(1, evaluations) / _work(n)
            self.evaluations += evaluations
            left -= steps
            if at_rest or best <= target or stop():
                break
        return Multipliers.of_point(self.A, self.a, F, best_x), x, weight, density


def restrict(x: Array, kept: Array) -> Array:
    """Return the point (w, l, L) without the variables that are not kept.

    Parameters
    ----------
    x : array of shape (1 + n + n^2,)
    kept : bool array of shape (n,)
    """
    n = len(kept)
    L = x[1 + n :].reshape(n, n)
    return np.concatenate([x[:1], x[1 : 1 + n][kept], L[np.ix_(kept, kept)].ravel()])


def _work(n: int) -> float:
    """Return what one evaluation costs with n candidates, up to a factor."""
    return 1e4 + float(n) ** 3


def warm_up() -> None:
    """Compile, or load what was compiled before."""
    three = np.arange(3)
    A = np.diag([3.0, 2.0, 1.0])
    point = Multipliers.of_point(A, A[0], three, np.zeros(13))
    Proof.at(point, three, three[:1], 2)
    n, inside = 3, np.zeros(3, dtype=bool)
    minimise(
        A,
        A[0],
        2,
        inside,
        True,
        np.full(4, 0.1),
        1,
        0.0,
        np.zeros(13),
        math.inf,
        np.zeros(13),
        np.zeros(13),
        np.zeros((6, 13)),
        np.zeros(7),
        np.zeros(n),
        np.zeros(n),
        np.array([n]),
        np.zeros(n + 1),
    )
