"""Algorithm 1: split, select, permute."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np

from sparseopt.api import with_verdict
from sparseopt.backend import Progress, check_listener
from sparseopt.errors import ParamError, ProblemError
from sparseopt.problems.base import Array
from sparseopt.problems.twosample.statistics.two_samples import TwoSample
from sparseopt.problems.twosample.statistics.user_kernels import UserKernel
from sparseopt.two_sample.permutation import permutation_test
from sparseopt.two_sample.result import TwoSampleTest
from sparseopt.two_sample.samples import FEWEST, as_samples
from sparseopt.two_sample.selecting import Chosen, Method, automatic_lam, choose
from sparseopt.two_sample.tuning import Candidate, tune

_GRID = (0.0, 1.0, 4.0, 16.0)
"""Multiples of the automatic lam that "cv" compares."""
_TEST = 2
"""The fewest observations of each sample for the test."""


def two_sample_test(
    x: Any,
    y: Any,
    selection: str | Callable[[Array, Array], Any] = "strs",
    *,
    d: int | Sequence[int] | None = None,
    alpha: float = 0.05,
    n_permutations: int = 999,
    split: float | None = None,
    seed: int = 0,
    lam: float | Sequence[float] | Literal["auto", "cv"] = "auto",
    signs: Literal["any", "positive"] = "any",
    kernel: Any = None,
    bandwidth: Any = "median",
    c: float | None = None,
    names: Sequence[str] | None = None,
    backend: Any = "auto",
    options: Mapping[str, Any] | None = None,
    time_limit: float | None = 60.0,
    check: bool = True,
    on_progress: Callable[[Progress], None] | None = None,
) -> TwoSampleTest:
    r"""Test whether two samples come from one distribution, on the variables that differ most.

    One part of each sample chooses at most d variables and their weights z, the other part is
    tested: the unbiased squared MMD with the kernel K_z against its values when the labels are
    permuted. The p-value (1 + count) / (1 + B) keeps its level for every sample size, since the
    selection never sees the data that are tested.

    Parameters
    ----------
    x, y : arrays of shapes (n, D) and (m, D), or data frames
        Independent observations of the same D variables; n and m may differ.
    selection : str or callable, default "strs"
        - "strs": the linear kernel, a sparse trust-region subproblem, solved to proven optimality;
        - "quadratic", "gaussian": these kernels, by the heuristic backend "strs-annealing";
        - "kernel": the kernel that is given as `kernel`, in the same way;
        - "sparse-logistic": l1-penalised logistic regression (scikit-learn), whose linear score is
          tested by the difference of its means;
        - "none": all variables with the weight 1, and no split: every observation is tested. The
          kernel is `kernel`, "gaussian" by default;
        - a function of the training samples, which returns D weights, or the indices of the
          variables. It is tested with `kernel`, "linear" by default.
    d : int or sequence of int, optional
        Largest number of variables; of several, one is chosen as `lam` is. Default: the square root
        of D, rounded up.
    alpha : float, default 0.05
        Level of the test, strictly between 0 and 1.
    n_permutations : int, default 999
    split : float, optional
        Share of each sample that the selection gets. Default: 0.5.
    seed : int, default 0
        Of the split, the selection and the permutations.
    lam : float, sequence of float, "auto" or "cv", default "auto"
        Weight of the variance in the selection. "auto": MMD^2 / (16 variance) at the weights that
        maximise the squared MMD alone, which scales as the kernel does. Of several values the one
        with the smallest p-value on a held-out half of the training part is taken; "cv" compares
        0, 1, 4 and 16 times the automatic one.
    signs : {"any", "positive"}, default "any"
        "positive" tests with the positive weights of the optimum only, for "strs" and "quadratic".
        A squared MMD is never negative, only its estimate is: a negative weight stands for noise,
        or takes variance away. The power is about the same, with fewer false discoveries.
    kernel : see `selection`
    bandwidth, c : as in :class:`~sparseopt.problems.KernelSelection`
    names : sequence of str, optional
        Of the variables; by default a data frame's columns, or x0, x1, ...
    backend, options, time_limit, on_progress : as in :func:`sparseopt.solve`
        Of each selection; after `time_limit` seconds (60) the best selection so far is taken.
    check : bool, default True
        Run the independent checker on the selection.

    Returns
    -------
    TwoSampleTest

    Raises
    ------
    ProblemError
        When the samples do not fit, hold NaN, are equal, or are too small to be split.
    ParamError
        When a parameter is out of range, or one is given that the selection does not use: d, lam,
        backend, options and split.
    KeyboardInterrupt
        When the selection is interrupted.

    Notes
    -----
    Columns that are constant in the training part say nothing there and are selected last. Where
    both training parts are equal, constant or not, there is nothing to select by, which is an
    error; otherwise p is 1 for constant samples.

    References
    ----------
    Wang, Dey, Xie: Variable selection for kernel two-sample tests, algorithm 1.
    """
    check_listener(on_progress)
    method = Method(
        selection, kernel, bandwidth, c, backend, options, time_limit, seed, on_progress, signs
    )
    lam_given = not isinstance(lam, str) or lam != "auto"
    method.check(d=d is not None, lam=lam_given, split=split is not None)
    split = 0.5 if split is None else split
    x, y, names = as_samples(x, y, names)
    D = x.shape[1]
    ds, lams, relative = _candidates(method, d, lam, D)
    _check_numbers(alpha, n_permutations, split, seed)
    streams = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(3)]
    if method.selection == "none":
        train_x = train_y = np.zeros(0, dtype=np.int64)
        test_x, test_y = np.arange(len(x)), np.arange(len(y))
        chosen = _all_variables(method, x, y)
        candidates: list[Candidate] = []
    else:
        train_x, test_x = _split("x", len(x), split, streams[0])
        train_y, test_y = _split("y", len(y), split, streams[0])
        training = x[train_x], y[train_y]
        candidates = _compared(method, training, ds, lams, relative, n_permutations, streams[1])
        chosen = choose(method, *training, candidates[0].d, candidates[0].lam)
    if check and chosen.result is not None:
        chosen = replace(chosen, result=with_verdict(chosen.result.problem, chosen.result))
    notes = (*chosen.notes, *_too_few(n_permutations, float(alpha)))
    x_test, y_test = x[test_x], y[test_y]
    value, p, null = permutation_test(chosen.statistic(x_test, y_test), n_permutations, streams[2])
    return TwoSampleTest(
        statistic=value,
        p_value=p,
        alpha=float(alpha),
        null=null,
        z=chosen.z,
        selection=method.name,
        kernel=_kernel_name(chosen),
        d=candidates[0].d if method.sparse else None,
        lam=candidates[0].lam if method.solves else None,
        train_sizes=(len(train_x), len(train_y)),
        test_sizes=(len(x_test), len(y_test)),
        result=chosen.result,
        candidates=tuple(candidates) if len(candidates) > 1 else (),
        x_test=x_test,
        y_test=y_test,
        names=tuple(names),
        notes=notes,
        seed=seed,
        chosen=chosen,
    )


def _compared(
    method: Method,
    training: tuple[Array, Array],
    ds: list[int],
    lams: list[float],
    relative: bool,
    n_permutations: int,
    rng: np.random.Generator,
) -> list[Candidate]:
    """Return what is to be selected with, the best first; a single one is not compared."""
    if len(ds) * len(lams) > 1:
        _check_halves(*map(len, training))
        return tune(method, *training, ds, lams, relative, n_permutations, rng)
    unit = automatic_lam(method, *training, ds[0]) if relative else 1.0
    return [Candidate(ds[0], lams[0] * unit, np.nan, np.nan)]


def _candidates(method: Method, d: Any, lam: Any, D: int) -> tuple[list[int], list[float], bool]:
    """Return the values of d and lam to be compared, and whether lam is in automatic ones."""
    if d is None:
        d = math.isqrt(D - 1) + 1
    ds = list(d) if isinstance(d, Sequence | np.ndarray) else [d]
    for each in ds:
        if isinstance(each, bool) or not isinstance(each, Integral) or not 1 <= int(each) <= D:
            raise ParamError(f"d is {each!r}; expected integers from 1 to {D}")
    relative = isinstance(lam, str) and lam in ("auto", "cv")
    if relative:
        lam = _GRID if lam == "cv" else 1.0
    several = isinstance(lam, Sequence | np.ndarray) and not isinstance(lam, str)
    lams = list(lam) if several else [lam]
    for each in lams:
        if isinstance(each, bool) or not isinstance(each, Real) or not 0.0 <= float(each) < np.inf:
            raise ParamError(f"lam is {each!r}; expected numbers >= 0, 'auto' or 'cv'")
    if not ds or not lams:
        raise ParamError("d and lam must hold at least one value")
    relative = relative and method.solves
    return [int(each) for each in ds], [float(each) for each in lams], relative


def _check_numbers(alpha: Any, n_permutations: Any, split: Any, seed: Any) -> None:
    for name, value in (("alpha", alpha), ("split", split)):
        if not isinstance(value, Real) or not 0.0 < float(value) < 1.0:
            raise ParamError(f"{name} is {value!r}; expected a number strictly between 0 and 1")
    for name, count, least in (("n_permutations", n_permutations, 1), ("seed", seed, 0)):
        if isinstance(count, bool) or not isinstance(count, Integral) or int(count) < least:
            raise ParamError(f"{name} is {count!r}; expected an integer >= {least}")


def _too_few(permutations: int, alpha: float) -> tuple[str, ...]:
    """Return a note where no p-value can be as small as the level."""
    least = 1.0 / (1 + permutations)
    if least <= alpha:
        return ()
    need = math.ceil(1.0 / alpha - 1e-9) - 1
    return (
        f"with {permutations} permutations p is at least {least:.2g}, so that nothing is rejected "
        f"at {alpha:g}: take {need} or more",
    )


def _split(name: str, count: int, share: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return the indices of the training and of the test part."""
    first = round(share * count)
    if first < FEWEST or count - first < _TEST:
        raise ProblemError(
            f"{name} has {count} observations, of which split={share:g} gives {first} to the "
            f"selection and {count - first} to the test; expected at least {FEWEST} and {_TEST}",
            name,
        )
    order = rng.permutation(count)
    return order[:first], order[first:]


def _check_halves(n: int, m: int) -> None:
    if min(n, m) < 2 * FEWEST:
        raise ProblemError(
            f"the training part has {n} and {m} observations; choosing among several values of lam "
            f"or d halves it again, so expected at least {2 * FEWEST}: give one value of each"
        )


def _all_variables(method: Method, x: Array, y: Array) -> Chosen:
    """Return weights 1 and a kernel whose bandwidth does not know who is x and who is y.

    Else the permutations would not have the distribution of the statistic.
    """
    samples = TwoSample.of(x, y, method.test_kernel, method.bandwidth, method.c, dense=True)
    return Chosen(np.ones(x.shape[1]), samples)


def _kernel_name(chosen: Chosen) -> str:
    if chosen.samples is None:
        return "scores"
    kernel = chosen.samples.kernel
    return kernel.name if isinstance(kernel, UserKernel) else kernel
