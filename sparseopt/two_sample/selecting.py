"""Choosing variables and weights on the training samples: one function for each method."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sparseopt.api import solve
from sparseopt.backend import Progress
from sparseopt.errors import ParamError, ProblemError
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.twosample.kernel_selection import KernelSelection
from sparseopt.problems.twosample.statistics.linear import automatic_lam as linear_lam
from sparseopt.problems.twosample.statistics.linear import linear_terms, share_of_variance
from sparseopt.problems.twosample.statistics.two_samples import TwoSample
from sparseopt.problems.twosample.statistics.user_kernels import UserKernel
from sparseopt.registry import get_backend
from sparseopt.result import Limit, Result
from sparseopt.two_sample.permutation import (
    FeatureStatistic,
    GramStatistic,
    KernelStatistic,
    ScoreStatistic,
    Statistic,
)
from sparseopt.two_sample.sparse_logistic import sparse_logistic

SELECTIONS = ("strs", "quadratic", "gaussian", "kernel", "sparse-logistic", "none")

_KERNELS = {"strs": "linear", "quadratic": "quadratic", "gaussian": "gaussian"}
_HELD = 1 << 11
"""Observations whose Gram matrix is held: 32 MB."""
_SIGNED = ("strs", "quadratic")
"""Selections whose weights may be negative and mean something then."""
_SOLVED = ("strs", "quadratic", "gaussian", "kernel")
"""Selections that solve an optimization problem."""
_SPARSE = (*_SOLVED, "sparse-logistic")
"""Selections with a number of variables."""
_TAKEN_BY = {"d": _SPARSE, "lam": _SOLVED, "backend": _SOLVED, "options": _SOLVED}


@dataclass(frozen=True, eq=False)
class Method:
    """What the user asked for.

    Attributes
    ----------
    selection : str or callable
    kernel : str, callable or object, or None
    bandwidth, c : as in KernelSelection
    backend, options, time_limit, seed, on_progress : as in :func:`sparseopt.solve`
    signs : {"any", "positive"}
    """

    selection: Any
    kernel: Any = None
    bandwidth: Any = "median"
    c: float | None = None
    backend: Any = "auto"
    options: Mapping[str, Any] | None = None
    time_limit: float | None = None
    seed: int = 0
    on_progress: Callable[[Progress], None] | None = None
    signs: str = "any"

    @property
    def name(self) -> str:
        """The name of the selection."""
        if isinstance(self.selection, str):
            return self.selection
        return getattr(self.selection, "__name__", type(self.selection).__name__)

    @property
    def solves(self) -> bool:
        """Whether an optimization problem with lam is solved."""
        return self.selection in _SOLVED

    @property
    def sparse(self) -> bool:
        """Whether the number d of variables matters."""
        return self.selection in _SPARSE

    @property
    def test_kernel(self) -> Any:
        """The kernel of the test."""
        if self.selection in _KERNELS:
            return _KERNELS[self.selection]
        if self.kernel is not None:
            return self.kernel
        return "gaussian" if self.selection == "none" else "linear"

    def check(self, **given: bool) -> None:
        """Raise a ParamError when the selection makes no sense with what else is given.

        Parameters
        ----------
        **given : bool
            Whether the caller gave d, lam and split.
        """
        if not callable(self.selection) and self.selection not in SELECTIONS:
            raise ParamError(
                f"selection is {self.selection!r}; expected one of {', '.join(SELECTIONS)}, or a "
                "function of the training samples that returns weights or indices"
            )
        if self.kernel is None and self.selection == "kernel":
            raise ParamError("selection='kernel' needs the kernel: kernel=k")
        fixed = self.selection in _KERNELS or self.selection == "sparse-logistic"
        if self.kernel is not None and fixed:
            raise ParamError(
                f"selection={self.selection!r} has a kernel of its own; for another one give "
                "selection='kernel', or 'none' to test all variables"
            )
        given |= {"backend": self.backend != "auto", "options": self.options is not None}
        for name, selections in _TAKEN_BY.items():
            if given.get(name, False) and self.selection not in selections:
                raise ParamError(
                    f"{name} is for the selections {', '.join(selections)}; leave it out for "
                    f"{self.name}"
                )
        if given.get("split", False) and self.selection == "none":
            raise ParamError(
                "selection='none' tests every observation, and splits nothing: leave split out"
            )
        if self.signs not in ("any", "positive"):
            raise ParamError(f"signs is {self.signs!r}; expected 'any' or 'positive'")
        if self.signs == "positive" and self.selection not in _SIGNED:
            raise ParamError(
                f"signs='positive' is for the selections {' and '.join(_SIGNED)}, whose weights "
                f"add kernels up; leave it out for {self.name}"
            )


@dataclass(frozen=True, eq=False)
class Chosen:
    """Weights, and the kernel that they are weights of.

    Attributes
    ----------
    z : array of shape (D,)
    samples : TwoSample or None
        The kernel with its bandwidth; None for the scores z'x of sparse logistic regression.
    result : Result or None
    notes : tuple of str
    """

    z: Array
    samples: TwoSample | None
    result: Result | None = None
    notes: tuple[str, ...] = field(default=())

    def statistic(self, x: Array, y: Array) -> Statistic:
        """Return the statistic of two test samples."""
        pooled = np.concatenate([x, y])
        if self.samples is None:
            return ScoreStatistic(pooled @ self.z, len(x))
        if len(pooled) <= _HELD or isinstance(self.samples.kernel, UserKernel):
            return GramStatistic(self.samples.gram(self.z, pooled, pooled), len(x))
        found = self.samples.features(self.z, pooled)
        if found is None:
            return KernelStatistic(self.samples, self.z, pooled, len(x))
        return FeatureStatistic(self.samples, self.z, pooled, len(x), *found)

    def witness(self, x: Array, y: Array, points: Array) -> Array:
        """Return the mean kernel value with x less that with y at points, (12)."""
        if self.samples is None:
            return np.asarray(-(points @ self.z))
        over_x = self.samples.gram(self.z, points, x).mean(axis=1)
        return np.asarray(over_x - self.samples.gram(self.z, points, y).mean(axis=1))


def choose(method: Method, x: Array, y: Array, d: int, lam: float) -> Chosen:
    """Choose weights on the training samples x and y; not for the selection "none".

    Parameters
    ----------
    method : Method
    x, y : arrays of shapes (n, D) and (m, D)
        The training samples.
    d : int
        The largest number of variables.
    lam : float
        The weight of the variance.

    Returns
    -------
    Chosen

    Raises
    ------
    ProblemError, ParamError
        When the samples are too small, or a function of the user returns no weights.
    BackendUnavailable
        When scikit-learn is missing.
    KeyboardInterrupt
        When a solve was interrupted before it found anything.
    """
    if method.solves:
        return _solved(method, x, y, d, lam)
    if method.selection == "sparse-logistic":
        return Chosen(sparse_logistic(x, y, d), None)
    samples = TwoSample.of(x, y, method.test_kernel, method.bandwidth, method.c)
    return Chosen(_weights(method.selection(x, y), x.shape[1], method.name), samples)


def automatic_lam(method: Method, x: Array, y: Array, d: int) -> float:
    r"""Return :math:`\widehat{MMD}^2 / (16 \hat\sigma^2)` at the largest squared MMD.

    Where MMD / sigma is largest, the gradients of both terms balance at MMD^2 / (2 sigma^2), so
    lam must scale as the kernel does. But the selection sees estimates, and among D variables it
    finds some whose variance is small by chance: in samples of 30 to 100 that full lam lost power
    in every case of the paper, and an eighth of it did not (docs/two-sample.md).

    Parameters
    ----------
    method : Method
    x, y : arrays of shapes (n, D) and (m, D)
        The training samples.
    d : int
        The largest number of variables.

    Returns
    -------
    float
    """
    problem = _problem(method, x, y, d, 0.0)
    if problem.kernel == "linear":
        return linear_lam(*linear_terms(problem.x, problem.y, problem.samples.bandwidth), d)
    # The ratio needs no proof, which may take long.
    equivalent = problem.as_strs()
    if equivalent is None:
        result = _answer(method, problem)
    else:
        result = solve(equivalent, backend="truncation", time_limit=method.time_limit, check=False)
    mmd, variance = problem.samples.objective_function().parts(np.asarray(result.x))
    return share_of_variance(mmd, variance)


def _problem(method: Method, x: Array, y: Array, d: int, lam: float) -> KernelSelection:
    return KernelSelection(
        x, y, method.test_kernel, d=d, lam=lam, bandwidth=method.bandwidth, c=method.c
    )


def _answer(method: Method, problem: KernelSelection) -> Result:
    """Solve as the user asked; a KeyboardInterrupt where that was interrupted."""
    result = solve(
        _as_taken(method, problem),
        backend=method.backend,
        options=method.options,
        on_progress=method.on_progress,
        time_limit=method.time_limit,
        seed=method.seed,
        check=False,
    )
    if result.limit is Limit.INTERRUPTED:
        raise KeyboardInterrupt
    result.raise_for_status()
    if result.x is None:
        raise ProblemError(
            f"the selection by {result.backend} ended without a point "
            f"({result.limit or result.status}): give it more time, or leave the backend out"
        )
    return result


def _as_taken(method: Method, problem: KernelSelection) -> Problem:
    """Return the problem, or what it is for a backend of sparse trust-region subproblems only."""
    if isinstance(method.backend, str) and method.backend != "auto":
        engine = get_backend(method.backend)
        equivalent = None if engine.supports(problem)[0] else problem.as_strs()
        if equivalent is not None and engine.supports(equivalent)[0]:
            return equivalent
    return problem


def _solved(method: Method, x: Array, y: Array, d: int, lam: float) -> Chosen:
    problem = _problem(method, x, y, d, lam)
    result = _answer(method, problem)
    notes: tuple[str, ...] = ()
    if result.limit is not None:
        notes = (f"the selection ended at its {result.limit} limit",)
    z = np.asarray(result.x)
    if method.signs == "positive":
        z, said = _positive(z)
        notes += said
    return Chosen(z, problem.samples, result, notes)


def _positive(z: Array) -> tuple[Array, tuple[str, ...]]:
    """Return the unit vector of the positive weights, and a note where there are none."""
    if (z <= 0.0).all():
        return np.abs(z), ("no weight was positive: their sizes were taken",)
    kept = np.maximum(z, 0.0)
    return np.asarray(kept / np.linalg.norm(kept)), ()


def _weights(given: Any, D: int, name: str) -> Array:
    """Return unit weights from what a user's function returned: weights, indices, or a mask."""
    array = np.asarray(given)
    if array.dtype.kind == "b" and array.shape == (D,):
        array = np.flatnonzero(array)
    if array.dtype.kind in "iu" and array.ndim == 1:
        if len(array) == 0 or array.min() < 0 or array.max() >= D:
            raise ProblemError(
                f"the selection {name} returned the indices {array.tolist()[:10]}; expected some "
                f"of 0 to {D - 1}"
            )
        z = np.zeros(D)
        z[array] = 1.0
    elif array.dtype.kind == "f" and array.shape == (D,) and np.isfinite(array).all():
        z = array.astype(float)
    else:
        raise ProblemError(
            f"the selection {name} returned {given!r:.80}; expected {D} weights (float), indices "
            "of variables (int), or a mask (bool)"
        )
    if not z.any():
        raise ProblemError(f"the selection {name} selected nothing: all weights are 0")
    return np.asarray(z / np.linalg.norm(z))
