r"""The minimisation of the smoothed row bound over its multipliers by L-BFGS.

With the last K steps :math:`s_k` and changes of the gradient :math:`y_k` the direction is
:math:`p = -H g`, where H is updated from a multiple of the identity by

.. math:: H \leftarrow (I - \rho s y') H (I - \rho y s') + \rho s s', \qquad \rho = 1 / s'y,

(Nocedal and Wright, Numerical Optimization, algorithm 7.4), and its length is halved or so until
:math:`f(x + t p) \le f(x) + 10^{-4} t\, g'p`. Compiled, but for the loop over slices of time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sparseopt.problems.base import Array

from ...common.compiled import compiled, compiled_inside
from ...common.index_sets import members
from ..settings import (
    ARMIJO,
    BACKTRACKS,
    CURVATURE,
    LITTLE_GAIN,
    PAIR_NUMBERS,
    PAIRS,
    RESTING_STEPS,
    SLICE,
    TINY,
)
from .multipliers import Multipliers, ProvenBound
from .row_bound import NodeData, RelaxedSupport, Smoothing, evaluate
from .spectrum import copy_into

_EVALUATIONS, _VALUE, _BEST, _STORED, _SLOW = range(5)
"""Places in :attr:`Iterate.numbers`."""


class Iterate(NamedTuple):
    """Where L-BFGS is; the arrays are changed in place, so that a caller can check the clock.

    Attributes
    ----------
    x, gradient : arrays of shape (1 + n + n^2,)
    best_x : array of shape (1 + n + n^2,)
        Where the best bound was found, of whatever smoothing.
    steps, changes : arrays of shape (K, 1 + n + n^2)
        The last steps, and changes of the gradient, in a ring.
    inverse : array of shape (K,)
        1 / s'y of each pair.
    numbers : array of shape (5,)
        Evaluations so far; the smoothed value at x; the best bound; pairs stored so far; slow steps
        in a row.
    """

    x: Array
    gradient: Array
    best_x: Array
    steps: Array
    changes: Array
    inverse: Array
    numbers: Array

    @classmethod
    def at(cls, x: Array) -> Iterate:
        """Return the state before the first evaluation."""
        size = len(x)
        K = min(PAIRS, max(3, PAIR_NUMBERS // (2 * size)))
        numbers = np.zeros(5)
        numbers[_BEST] = math.inf
        pairs = np.zeros((K, size)), np.zeros((K, size))
        return cls(x, np.zeros(size), x.copy(), *pairs, np.zeros(K), numbers)

    @property
    def best(self) -> float:
        """The best bound so far."""
        return float(self.numbers[_BEST])


@compiled_inside(makes_arrays=True)
def dot(u: Array, v: Array) -> float:
    """Return u'v. numba's own takes as long to compile as all the rest here.

    Parameters
    ----------
    u, v : arrays of shape (n,)

    Returns
    -------
    float
    """
    total = 0.0
    for i in range(u.shape[0]):
        total += u[i] * v[i]
    return total


@dot.in_numpy
def _(u: Array, v: Array) -> float:
    return float(u @ v)


@compiled_inside(makes_arrays=True)
def add(s: float, u: Array, t: float, v: Array, out: Array) -> None:
    """Put s u + t v into `out`, which may be u or v.

    Parameters
    ----------
    s, t : float
    u, v : arrays of shape (n,)
    out : array of shape (n,)
        Overwritten.
    """
    for i in range(u.shape[0]):
        out[i] = s * u[i] + t * v[i]


@add.in_numpy
def _(s: float, u: Array, t: float, v: Array, out: Array) -> None:
    out[:] = s * u + t * v


@compiled_inside(makes_arrays=True)
def value_at(
    node: NodeData,
    smoothing: Smoothing,
    x: Array,
    gradient: Array,
    relaxed: RelaxedSupport,
    state: Iterate,
) -> float:
    """Return the smoothed value at a point and its gradient; keep the point of the best bound.

    Parameters
    ----------
    node : NodeData
    smoothing : Smoothing
    x : array of shape (1 + n + n^2,)
    gradient : array of shape (1 + n + n^2,)
        Out.
    relaxed : RelaxedSupport
        In and out.
    state : Iterate
        Its best point and its count of evaluations are updated.

    Returns
    -------
    float
    """
    value: float
    value, bound = evaluate(node, smoothing, x, gradient, relaxed)
    state.numbers[_EVALUATIONS] += 1.0
    if bound < state.numbers[_BEST]:
        state.numbers[_BEST] = bound
        copy_into(x, state.best_x)
    return value


@compiled
def direction(state: Iterate, missing: float) -> Array:
    """Return -H g by the two loops over the stored pairs; O(K n^2).

    The first one is a tenth of the way to the target, `missing` below, were the function linear.

    Parameters
    ----------
    state : Iterate
    missing : float
        The distance of the value from the target, >= 0.

    Returns
    -------
    array of shape (1 + n + n^2,)
    """
    stored, K = int(state.numbers[_STORED]), state.steps.shape[0]
    kept = min(stored, K)
    p = np.empty(state.x.shape[0])
    if kept == 0:
        scale = 0.1 * missing / max(dot(state.gradient, state.gradient), TINY)
        add(-scale, state.gradient, 0.0, state.gradient, p)
        return p
    add(-1.0, state.gradient, 0.0, state.gradient, p)
    factors = np.empty(kept)
    for q in range(kept):
        k = (stored - 1 - q) % K
        factors[q] = state.inverse[k] * dot(state.steps[k], p)
        add(1.0, p, -factors[q], state.changes[k], p)
    k = (stored - 1) % K
    add(1.0 / (state.inverse[k] * dot(state.changes[k], state.changes[k])), p, 0.0, p, p)
    for q in range(kept - 1, -1, -1):
        k = (stored - 1 - q) % K
        factor = factors[q] - state.inverse[k] * dot(state.changes[k], p)
        add(1.0, p, factor, state.steps[k], p)
    return p


@direction.in_numpy
def _(state: Iterate, missing: float) -> Array:
    steps, changes, g = state.steps, state.changes, state.gradient
    stored, K = int(state.numbers[_STORED]), len(steps)
    if stored == 0:
        return -0.1 * missing / max(float(g @ g), TINY) * g
    p = -g
    newest_first = [k % K for k in range(stored - 1, max(0, stored - K) - 1, -1)]
    factors = []
    for k in newest_first:
        factors.append(state.inverse[k] * (steps[k] @ p))
        p -= factors[-1] * changes[k]
    k = newest_first[0]
    p /= state.inverse[k] * (changes[k] @ changes[k])
    for k, factor in zip(reversed(newest_first), reversed(factors), strict=True):
        p += (factor - state.inverse[k] * (changes[k] @ p)) * steps[k]
    return p


@compiled_inside(makes_arrays=True)
def remember(state: Iterate, new_x: Array, new_gradient: Array) -> None:
    """Store a step and its change of the gradient, unless their product is rounding.

    Parameters
    ----------
    state : Iterate
        Moves to the new point.
    new_x, new_gradient : arrays of shape (1 + n + n^2,)
    """
    k = int(state.numbers[_STORED]) % state.steps.shape[0]
    s, y = state.steps[k], state.changes[k]
    add(1.0, new_x, -1.0, state.x, s)
    add(1.0, new_gradient, -1.0, state.gradient, y)
    product = dot(s, y)
    if product > CURVATURE * math.sqrt(dot(s, s) * dot(y, y)):
        state.inverse[k] = 1.0 / product
        state.numbers[_STORED] += 1.0
    copy_into(new_x, state.x)
    copy_into(new_gradient, state.gradient)


@compiled
def minimise(
    node: NodeData,
    smoothing: Smoothing,
    steps: int,
    target: float,
    relaxed: RelaxedSupport,
    state: Iterate,
) -> bool:
    """Take some steps of L-BFGS; return whether the iterate is at rest.

    Parameters
    ----------
    node, smoothing, relaxed : as for :func:`~sparseopt.solvers.strs.bound.row_bound.evaluate`
    steps : int
        Largest number of steps of this call.
    target : float
        End as soon as the bound is not above this.
    state : Iterate
        In and out: calls with the same one go on where the last ended.
    """
    numbers = state.numbers
    new_x, new_gradient = np.empty(state.x.shape[0]), np.empty(state.x.shape[0])
    if numbers[_EVALUATIONS] == 0.0:
        numbers[_VALUE] = value_at(node, smoothing, state.x, state.gradient, relaxed, state)
    for _ in range(steps):
        if numbers[_BEST] <= target:
            return False
        value = numbers[_VALUE]
        p = direction(state, abs(value - target))
        slope = dot(state.gradient, p)
        if not slope < 0.0:
            return True
        t, decreased = 1.0, False
        for _ in range(BACKTRACKS):
            add(1.0, state.x, t, p, new_x)
            new_value = value_at(node, smoothing, new_x, new_gradient, relaxed, state)
            if new_value <= value + ARMIJO * t * slope:
                decreased = True
                break
            # The minimum of the parabola through both values and the slope, within a tenth to .6.
            t *= min(0.6, max(0.1, -slope * t / (2.0 * (new_value - value - slope * t))))
        if not decreased:
            return True
        remember(state, new_x, new_gradient)
        numbers[_VALUE] = new_value
        little = LITTLE_GAIN * abs(numbers[_BEST] - target)
        numbers[_SLOW] = numbers[_SLOW] + 1.0 if value - new_value <= little else 0.0
        if numbers[_SLOW] >= RESTING_STEPS:
            return True
    return False


@dataclass(frozen=True, eq=False)
class RowMinimum:
    """Where a minimisation ended.

    Attributes
    ----------
    multipliers : Multipliers
        Those of the best bound.
    x : array of shape (1 + n + n^2,)
        The last iterate, (w, l, L by rows).
    weight, density : arrays of shape (n,)
        The relaxed support, and the diagonal of the relaxed zz'.
    """

    multipliers: Multipliers
    x: Array
    weight: Array
    density: Array

    def on(self, kept: Array) -> RowMinimum:
        """Return the iterate and the relaxed support on the candidates that are kept, bool (n,)."""
        if kept.all():
            return self
        n = len(kept)
        L = self.x[1 + n :].reshape(n, n)[np.ix_(kept, kept)]
        x = np.concatenate([self.x[:1], self.x[1 : 1 + n][kept], L.ravel()])
        return RowMinimum(self.multipliers, x, self.weight[kept], self.density[kept])


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
    ) -> RowMinimum:
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
        """
        F, n = candidates, len(candidates)
        border = bool(self.a.any())
        node = NodeData(self.A[np.ix_(F, F)], self.a[F], members(F, fixed_in), self.d, border)
        smoothing = self._smoothing(delta, x, n, border)
        relaxed, state = RelaxedSupport.empty(n), Iterate.at(x)
        left = self.steps
        while left > 0:
            steps = min(left, max(1, int(SLICE / (self._rate * _work(n)))))
            begin, before = time.perf_counter(), state.numbers[_EVALUATIONS]
            at_rest = minimise(node, smoothing, steps, target, relaxed, state)
            evaluations = int(state.numbers[_EVALUATIONS] - before)
            self._rate = (time.perf_counter() - begin) / max(1, evaluations) / _work(n)
            self.evaluations += evaluations
            left -= steps
            if at_rest or state.best <= target or stop():
                break
        found = Multipliers.of_point(self.A, self.a, F, state.best_x)
        return RowMinimum(found, x, relaxed.weight, relaxed.density)

    def _smoothing(self, delta: float, x: Array, n: int, border: bool) -> Smoothing:
        """Share delta among the maxima: for a row's entries by the size that the rows have."""
        row = float(np.linalg.norm(x[1 + n :])) / math.sqrt(n) + delta / self.d
        return Smoothing(
            eigenvalue=0.6 * delta / (2.0 if border else 1.0),
            rows=2.0 * delta / self.d,
            squares=3.0 * delta * row / (self.d * max(1, self.d - 1)),
            root=(0.3 * delta / self.d) ** 2,
        )


def _work(n: int) -> float:
    """Return what one evaluation costs with n candidates, up to a factor."""
    return 1e4 + float(n) ** 3


def warm_up() -> None:
    """Compile, or load what was compiled before."""
    three = np.arange(3)
    A = np.diag([3.0, 2.0, 1.0])
    point = Multipliers.of_point(A, A[0], three, np.zeros(13))
    ProvenBound.at(point, three, three[:1], 2)
    Descent(A, A[0], 2, steps=1).run(three, three[:0], np.zeros(13), 0.1, 0.0)
