r"""Simulated annealing whose moves maximise quadratic models: Algorithm 2.

At the point z with gradient g and Hessian H of the objective, and a penalty tau on the step,

.. math:: \tilde z = \arg\max_{\|z'\| = 1, \|z'\|_0 \le d} \;
          \tfrac12 z'^T H z' + (g - H z + \tau z)^T z',

a sparse trust-region subproblem: on the sphere the penalty is a linear term. (The paper has the
Hessian without its sign in (14).)

Source: Wang, Dey, Xie: Variable selection for kernel two-sample tests, section 4.1.2. Beyond it:
the best point is returned instead of the last one, several chains start at different points, and
the best point is moved to a stationary one at the end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.problems.twosample.statistics.pairs import Objective

from ...common.spheres import maximise_on_sphere
from ..settings import CLIMB_GAIN, CLIMB_STEPS, NEGLIGIBLE_WEIGHTS, SAME_VALUE, SHORTEST_MOVE

Subproblem = Callable[[Array, Array, Array], Array]
"""Called with A, a and the present point; returns a good point of the subproblem."""


@dataclass(frozen=True)
class Schedule:
    """The parameters of Algorithm 2.

    Attributes
    ----------
    iterations : int
        Of each chain.
    temperature : float
        The first one, as a share of the objective at the start.
    cooling : float
        What the temperature is multiplied by after each iteration.
    penalties : sequence of float
        The set of tau, as shares of the Hessian's Frobenius norm.
    curvature : bool
        False leaves the Hessian out.
    """

    iterations: int
    temperature: float
    cooling: float
    penalties: Sequence[float]
    curvature: bool


@dataclass(frozen=True, eq=False)
class Model:
    """Value, gradient and Hessian at a point."""

    z: Array
    value: float
    gradient: Array
    hessian: Array

    @property
    def size(self) -> float:
        """What penalties are relative to."""
        return float(np.linalg.norm(self.hessian)) or float(np.linalg.norm(self.gradient))

    def subproblem(self, tau: float) -> tuple[Array, Array]:
        """Return (A, a) of the model with the penalty tau."""
        return self.hessian / 2.0, self.gradient - self.hessian @ self.z + tau * self.z


class Annealing:
    """The state of the search over all chains: the best point, and how it was found.

    Parameters
    ----------
    objective : Objective
    lam : float
    d : int
    subproblem : callable
    schedule : Schedule
    rng : numpy Generator
    report : callable
        Called with the best value after every iteration; may raise to end the search.
    """

    def __init__(
        self,
        objective: Objective,
        lam: float,
        d: int,
        subproblem: Subproblem,
        schedule: Schedule,
        rng: np.random.Generator,
        report: Callable[[], None],
    ) -> None:
        self.objective, self.lam, self.d = objective, lam, d
        self.subproblem, self.schedule = subproblem, schedule
        self.rng, self.report = rng, report
        self.best: Array | None = None
        self.value = -np.inf
        self.iterations = 0
        self.accepted = 0
        self.trace: list[tuple[float, float, None]] = []
        self._begin = time.perf_counter()

    def chain(self, start: Array) -> None:
        """Anneal from a unit vector; where it has more than d nonzeros, from its model's maximum.

        Moves that were tried at a point are kept until it is left: there are as many as penalties.
        """
        schedule = self.schedule
        model = self._model(start)
        if np.count_nonzero(start) > self.d:
            self.iterations += 1
            model = self._model(self.subproblem(*model.subproblem(0.0), start))
        temperature = schedule.temperature * abs(model.value)
        tried: dict[float, tuple[Array, float]] = {}
        for _ in range(schedule.iterations):
            tau = float(self.rng.choice(np.asarray(schedule.penalties)))
            if tau not in tried:
                self.iterations += 1
                z = self.subproblem(*model.subproblem(tau * model.size), model.z)
                tried[tau] = (z, self._evaluate(z))
            z, value = tried[tau]
            if all(_step(each, model.z) < SHORTEST_MOVE for each, _ in tried.values()) and len(
                tried
            ) == len(set(schedule.penalties)):
                break
            change = value - model.value
            chance = self.rng.random()
            if change >= 0.0 or (temperature > 0.0 and chance < np.exp(change / temperature)):
                self.accepted += 1
                if _step(z, model.z) >= SHORTEST_MOVE:
                    model, tried = self._model(z, value), {}
            temperature *= schedule.cooling
            self.report()

    def climb(self, start: Array) -> None:
        """Climb from a unit vector with at most d nonzeros, where it is the best so far."""
        if self._evaluate(start) >= self.value:
            self.polish()

    def polish(self) -> None:
        """Climb from the best point: over all supports, then to a stationary point on its own.

        Each step maximises the model; a step that does not climb is repeated with a larger penalty.
        Between the two, and at the end, variables leave whose weights go to 0: those weights shrink
        without end.
        """
        for fixed in (False, True):
            model = self._model(self._best(), self.value)
            tau = 0.0
            gain = 0.0 if fixed else CLIMB_GAIN
            for _ in range(CLIMB_STEPS):
                self.iterations += 1
                A, a = model.subproblem(tau * model.size)
                S = np.flatnonzero(model.z)
                z = _on_support(A, a, S) if fixed else self.subproblem(A, a, model.z)
                value = self._evaluate(z)
                self.report()
                enough = value > model.value + gain * abs(model.value)
                if enough and _step(z, model.z) >= SHORTEST_MOVE:
                    model, tau = self._model(z, value), tau / 8.0
                elif tau > 1e6 or _step(z, model.z) < SHORTEST_MOVE:
                    break
                elif value > model.value and not fixed:
                    break
                else:
                    tau = max(1e-3, 8.0 * tau)
            self._leave_out()

    def _leave_out(self) -> None:
        """Set weights to 0 that climbed there as far as steps do, where that costs nothing.

        The Gaussian kernel's value depends on the squares of weights: a climb ends with traces of
        variables that it gave up, which are no selection.
        """
        for cut in NEGLIGIBLE_WEIGHTS:
            z = self._best()
            kept = np.where(np.abs(z) < cut, 0.0, z)
            if np.count_nonzero(kept) in (0, np.count_nonzero(z)):
                continue
            kept /= np.linalg.norm(kept)
            value = self._evaluate(kept)
            if value >= self.value - SAME_VALUE * abs(self.value):
                self.best, self.value = kept, value
                self.trace[-1] = (self.trace[-1][0], value, None)
                return

    def _best(self) -> Array:
        assert self.best is not None
        return self.best

    def _evaluate(self, z: Array) -> float:
        value = self.objective.value(z, self.lam)
        if value > self.value and np.count_nonzero(z) <= self.d:
            self.best, self.value = z, value
            self.trace.append((time.perf_counter() - self._begin, value, None))
        return value

    def _model(self, z: Array, value: float | None = None) -> Model:
        value = self._evaluate(z) if value is None else value
        D = len(z)
        return Model(
            z,
            value,
            self.objective.gradient(z, self.lam),
            self.objective.hessian(z, self.lam) if self.schedule.curvature else np.zeros((D, D)),
        )


def sparsest(z: Array, d: int) -> Array:
    """Return the unit vector of the d largest entries of z.

    Parameters
    ----------
    z : array of shape (D,)
    d : int
        Number of entries that are kept.

    Returns
    -------
    array of shape (D,)
    """
    kept = np.argsort(-np.abs(z), kind="stable")[:d]
    unit = np.zeros(len(z))
    unit[kept] = z[kept] if z[kept].any() else 1.0
    return np.asarray(unit / np.linalg.norm(unit))


def _step(z: Array, other: Array) -> float:
    return float(np.linalg.norm(z - other))


def _on_support(A: Array, a: Array, S: Array) -> Array:
    z = np.zeros(len(a))
    z[S] = maximise_on_sphere(A[np.ix_(S, S)], a[S]).z[0]
    return z
