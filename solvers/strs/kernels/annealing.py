"""Algorithm 2: simulated annealing over sparse trust-region subproblems, for any kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sparseopt.backend import Backend, Control, Feature, Option
from sparseopt.errors import ParamError
from sparseopt.params import SolveParams
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.strs.problem import STRS
from sparseopt.problems.twosample.kernel_selection import KernelSelection
from sparseopt.result import Limit, Result, Status

from ...common.spheres import refit, swap, truncations
from ...common.warm_start import warm_point
from ..engines.bnb import SphereBranchAndBound
from ..settings import PROOF
from .annealing_search import Annealing, Schedule, Subproblem, sparsest
from .gaussian_cover import cover


class AnnealedSelection(Backend):
    """Annealing chains from several starts, each move the solution of a subproblem (14).

    1. Where the objective is that of a sparse trust-region subproblem (linear kernel; quadratic
       kernel with lam = 0, remark 4.2) branch and bound solves it, with its certificate.
    2. Otherwise chains start, in this order, at a warm start, at the selection of the linear
       kernel, at the model of equal weights, and at random weights; each accepts and cools as
       Algorithm 2 says.
    3. The best point of all chains climbs to a stationary one, and leaves out variables whose
       weights went to 0.
    4. For the Gaussian kernel all supports are looked through by branch and bound, where these are
       few; better points climb, too. Then the answer is proven.

    Otherwise it is a feasible point without a bound.
    """

    name: ClassVar[str] = "strs-annealing"
    summary: ClassVar[str] = (
        "Algorithm 2: annealing over STRS subproblems; exact where it is one, or supports are few"
    )
    families: ClassVar[frozenset[str]] = frozenset({"twosample"})
    features: ClassVar[frozenset[Feature]] = frozenset(
        {Feature.HEURISTIC, Feature.WARM_START, Feature.CALLBACK}
    )
    limits: ClassVar[frozenset[str]] = frozenset({"node_limit", "iteration_limit"})
    options: ClassVar[Mapping[str, Option]] = {
        "restarts": Option(int, 4, "how many chains there are", low=1),
        "iterations": Option(int, 40, "moves of each chain", low=0),
        "temperature": Option(
            float, 0.1, "the first temperature, as a share of the objective at the start", low=0
        ),
        "cooling": Option(
            float, 0.9, "factor of the temperature after each move, at most 1", low=0
        ),
        "penalties": Option(
            str,
            "0,0.01,0.1,1",
            "the values of tau that are drawn from, as shares of the norm of the Hessian",
        ),
        "subproblem": Option(
            str,
            "truncation",
            "the backend that solves the subproblems",
            choices=("truncation", "strs-bnb"),
        ),
        "subproblem_time": Option(
            float, 1.0, "seconds of strs-bnb for one subproblem; then its incumbent is taken", low=0
        ),
        "curvature": Option(bool, True, "use the Hessian; without it models are linear"),
        "closed_form": Option(
            bool, True, "give what is one sparse trust-region subproblem to branch and bound"
        ),
        "proof": Option(
            int,
            PROOF,
            "exponentials that a proof for the Gaussian kernel may take, 10^8 in 1 s; 0: none",
            low=0,
        ),
    }

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        assert isinstance(problem, KernelSelection)
        schedule = _schedule(options)
        if options["closed_form"]:
            with control.building():
                equivalent = problem.as_strs()
            if equivalent is not None:
                return _exact(problem, equivalent, params, control)
        if params.node_limit is not None:
            control.notes.append("annealing has no tree; the node limit was ignored")
        limits: list[Limit] = []

        def stop(reached: Limit | None) -> None:
            if reached is not None:
                limits.append(reached)
                raise _Stopped

        def report() -> None:
            done = search.iterations / (options["restarts"] * max(1, options["iterations"]))
            control.progress(
                f"move {search.iterations}", fraction=min(1.0, done), objective=search.value
            )
            over = params.iteration_limit is not None
            over = over and search.iterations >= (params.iteration_limit or 0)
            stop(control.limit() or (Limit.ITERATION if over else None))

        def tick() -> None:
            # A first value is always computed: a limit then leaves an incumbent.
            if search.best is not None:
                stop(control.limit())

        rng = np.random.default_rng(params.seed)
        search = Annealing(
            objective=problem.samples.objective_function(tick),
            lam=problem.lam,
            d=problem.d,
            subproblem=_subproblem(problem.d, options, params, control),
            schedule=schedule,
            rng=rng,
            report=report,
        )
        chains, bound = 0, None
        try:
            for start in _starts(problem, options["restarts"], rng, control):
                search.chain(start)
                chains += 1
            search.polish()
            if problem.kernel == "gaussian":
                bound = _prove(problem, search, params, options["proof"], tick)
        except _Stopped:
            pass
        return _result(search, chains, bound, params, limits[0] if limits else None)


def _result(
    search: Annealing, chains: int, bound: float | None, params: SolveParams, limit: Limit | None
) -> Result:
    """Return the best point, which is optimal where a bound shows it."""
    assert search.best is not None
    if bound is not None and bound - search.value <= _slack(params, search.value):
        status = Status.OPTIMAL
    else:
        status, bound = Status.CONVERGED if limit is None else Status.FEASIBLE, None
    return Result(
        status=status,
        limit=limit,
        raw_status=f"{chains} chains, {search.accepted} moves accepted",
        x=search.best,
        objective=search.value,
        bound=bound,
        iterations=search.iterations,
        trace=tuple(search.trace),
    )


def _slack(params: SolveParams, value: float) -> float:
    """Return the gap that was asked."""
    return max(params.rel_gap * abs(value), params.abs_gap)


def _prove(
    problem: KernelSelection,
    search: Annealing,
    params: SolveParams,
    most: int,
    tick: Callable[[], None],
) -> float | None:
    """Return a bound that the best point meets, which may have moved; None where it is too far."""

    def better(z: Array) -> float:
        search.climb(z)
        return search.value

    return cover(
        problem,
        search.value,
        lambda value: _slack(params, value) / 2.0,
        better,
        most,
        tick,
    )


class _Stopped(Exception):
    """A limit was reached."""


@dataclass
class _Part(Control):
    """The control of a subproblem, which ends with the whole solve."""

    whole: Control | None = None

    def limit(self) -> Limit | None:
        """Return the limit of the whole, or of this part."""
        assert self.whole is not None
        return self.whole.limit() or super().limit()


def _schedule(options: Mapping[str, Any]) -> Schedule:
    """Return the parameters of the chains."""
    try:
        penalties = [float(text) for text in options["penalties"].split(",")]
    except ValueError:
        penalties = []
    if not penalties or not all(0.0 <= tau < np.inf for tau in penalties):
        raise ParamError(
            f"option penalties is {options['penalties']!r}; expected numbers >= 0 with commas"
        )
    if options["cooling"] > 1.0:
        raise ParamError(f"option cooling is {options['cooling']:g}; expected at most 1")
    return Schedule(
        iterations=options["iterations"],
        temperature=options["temperature"],
        cooling=options["cooling"],
        penalties=penalties,
        curvature=options["curvature"],
    )


def _exact(
    problem: KernelSelection, equivalent: STRS, params: SolveParams, control: Control
) -> Result:
    """Solve the equivalent subproblem; objective and bound are the selection's."""
    engine = SphereBranchAndBound()
    engine.note_limits(control)
    defaults = {name: option.default for name, option in engine.options.items()}
    result = engine._solve(equivalent, params, defaults, control)
    if result.x is None or result.bound is None:
        return result
    objective = problem.objective(result.x)
    return result.with_changes(
        objective=objective,
        bound=max(objective, result.bound),
        notes=(*result.notes, "this is one sparse trust-region subproblem, solved by strs-bnb"),
    )


def _subproblem(
    d: int, options: Mapping[str, Any], params: SolveParams, control: Control
) -> Subproblem:
    """Return the solver of subproblems."""
    if options["subproblem"] == "truncation":

        def truncate(A: Array, a: Array, z: Array) -> Array:
            found = refit(A, a, np.vstack([truncations(A, a, d), _support(z, d)]))
            return swap(A, a, found[0], control.limit).point(len(a))

        return truncate
    engine = SphereBranchAndBound()
    defaults = {name: option.default for name, option in engine.options.items()}
    defaults["certificate_numbers"] = 0

    def branch(A: Array, a: Array, z: Array) -> Array:
        capped = replace(params, time_limit=options["subproblem_time"], node_limit=None)
        part = _Part(params=capped, warm_start=z, whole=control)
        result = engine._solve(STRS(A=A, a=a, d=d), capped, defaults, part)
        control.excluded += part.excluded
        assert result.x is not None
        return np.asarray(result.x)

    return branch


def _support(z: Array, d: int) -> Array:
    """Return a support of size d that holds the largest entries of z, shape (1, d)."""
    return np.sort(np.argsort(-np.abs(z), kind="stable")[:d])[None]


def _starts(
    problem: KernelSelection, count: int, rng: np.random.Generator, control: Control
) -> Iterator[Array]:
    """Yield unit vectors; those with more than d nonzeros are replaced by their model's maximum."""
    D, d = problem.x.shape[1], problem.d
    given = warm_point(control.warm_start, D)
    if given is not None:
        yield sparsest(given, d)
        count -= 1
    if count > 0:
        linear = STRS.from_two_samples(problem.x, problem.y, d, lam=problem.lam)
        A, a = linear.A, linear.linear
        yield swap(A, a, refit(A, a, truncations(A, a, d))[0], control.limit).point(D)
    if count > 1:
        yield np.full(D, D**-0.5)
    for _ in range(2, count):
        yield sparsest(rng.standard_normal(D), d)
