"""The conformance suite finds what it is there to find: each fault fails the case that names it."""

import time
from dataclasses import replace

import numpy as np
import pytest

from sparseopt import Feature, ParamError
from sparseopt.paths.parametric import ParametricPath
from sparseopt.registry import get_backend
from sparseopt.solvers.l0.knapsack_dp import KnapsackDP
from sparseopt.solvers.strs.brute_force import BruteForce
from sparseopt.testing import conformance_cases, run_conformance


def _failed(backend, *names):
    """Return which of the named cases fail, and that the rest of the list exists."""
    cases = {case.name: case for case in conformance_cases(backend)}
    return [name for name in names if not cases[name].run().passed]


class Overstated(BruteForce):
    def _solve(self, problem, params, options, control):
        result = super()._solve(problem, params, options, control)
        return result.with_changes(objective=result.objective + 1e-3)


class Lax(BruteForce):
    def _solve(self, problem, params, options, control):
        result = super()._solve(problem, params, options, control)
        return result.with_changes(bound=result.bound - 1e-3)


class Loose(BruteForce):
    def _solve(self, problem, params, options, control):
        result = super()._solve(problem, params, options, control)
        return result.with_changes(bound=result.bound + 1e-3)


class Long(BruteForce):
    def _solve(self, problem, params, options, control):
        result = super()._solve(problem, params, options, control)
        return result.with_changes(x=result.x * (1.0 + 1e-5))


class Chatty(BruteForce):
    def _solve(self, problem, params, options, control):
        print("branching")
        return super()._solve(problem, params, options, control)


class Deaf(BruteForce):
    """Looks neither at the clock nor at Ctrl-C."""

    def _solve(self, problem, params, options, control):
        end = time.perf_counter() + (3.0 if len(problem.A) == 20 else 0.0)
        while time.perf_counter() < end:
            time.sleep(0.01)
        return super()._solve(problem, params, options, control)


class Fickle(BruteForce):
    calls = 0

    def _solve(self, problem, params, options, control):
        type(self).calls += 1
        result = super()._solve(problem, params, options, control)
        return result.with_changes(x=result.x * (1.0 + 1e-15 * self.calls))


class Tolerant(BruteForce):
    def _convert_options(self, given):
        return super()._convert_options({})


class Greedy(BruteForce):
    """Claims to take every problem."""

    def supports(self, problem):
        return True, ""


class Vandal(BruteForce):
    def _solve(self, problem, params, options, control):
        result = super()._solve(problem, params, options, control)
        object.__setattr__(problem, "A", 2.0 * problem.A)
        return result


@pytest.mark.parametrize(
    ("backend", "names"),
    [
        (Overstated, ["random/objective", "random/optimum", "random/verdict", "random/status"]),
        (Lax, ["random/bound", "random/gap", "random/verdict"]),
        (Loose, ["random/gap", "random/status"]),
        (Long, ["random/feasible"]),
        (Chatty, ["quiet"]),
        (Deaf, ["time-limit", "interrupt"]),
        (Fickle, ["deterministic"]),
        (Tolerant, ["unknown-option"]),
        (Greedy, ["unsupported"]),
        (Vandal, ["unchanged"]),
    ],
)
def test_faults_of_a_backend_of_strs(backend, names):
    full = [f"strs/{name}" for name in names]
    assert _failed(backend(), *full) == full


PARAMETRIC = type(get_backend("highs"))


class _Edited(PARAMETRIC):
    """A true path with one thing changed."""

    def _solve(self, problem, params, options, control):
        result = super()._solve(problem, params, options, control)
        if not isinstance(result.path, ParametricPath):
            return result
        return result.with_changes(path=self.edit(result.path))


class Shifted(_Edited):
    def edit(self, path):
        return replace(path, low=path.low + 1e-4, high=path.high + 1e-4)


class Holed(_Edited):
    def edit(self, path):
        low = np.array(path.low)
        low[0] *= 1.0 + 1e-6
        return replace(path, low=low)


class Bent(_Edited):
    def edit(self, path):
        theta = replace(path.theta, value=path.theta.value + 1e-4)
        return replace(path, theta=theta)


class Misjudged(_Edited):
    def edit(self, path):
        return replace(path, objective=path.objective + 1e-4)


class Unproven(_Edited):
    def edit(self, path):
        return replace(path, nu=replace(path.nu, value=path.nu.value * 1.01))


class Mistaken(_Edited):
    def edit(self, path):
        return replace(path, stopped_by="time")


class Bare(PARAMETRIC):
    def _solve(self, problem, params, options, control):
        result = super()._solve(problem, params, options, control)
        return result.with_changes(certificate=None)


@pytest.mark.parametrize(
    ("backend", "names"),
    [
        (Bare, ["path-verdict"]),
        (Shifted, ["covers", "values", "path-verdict"]),
        (Holed, ["covers", "path-verdict"]),
        (Bent, ["points", "path-verdict"]),
        (Misjudged, ["values", "agrees", "path-verdict"]),
        (Unproven, ["duals", "path-verdict"]),
        (Mistaken, ["covers"]),
    ],
)
def test_faults_of_a_path(backend, names):
    full = [f"parametric/dantzig-tall/{name}" for name in names]
    assert _failed(backend(), *full) == full


class Spendthrift(KnapsackDP):
    def _solve(self, problem, params, options, control):
        result = super()._solve(problem, params, options, control)
        changes = result.path.changes
        place = np.minimum(np.arange(len(changes.ptr)) + 1, len(changes.ptr) - 1)
        return result.with_changes(
            path=replace(result.path, changes=replace(changes, ptr=changes.ptr[place]))
        )


class Boastful(KnapsackDP):
    def _solve(self, problem, params, options, control):
        result = super()._solve(problem, params, options, control)
        path = result.path
        worse = replace(
            path, objective=path.objective + 1e-3, certified=np.ones(len(path), dtype=bool)
        )
        return result.with_changes(path=worse)


@pytest.mark.parametrize(
    ("backend", "names"),
    [(Spendthrift, ["counts"]), (Boastful, ["counts", "certified", "values"])],
)
def test_faults_of_a_budget_path(backend, names):
    full = [f"budget/random/{name}" for name in names]
    assert _failed(backend(), *full) == full


def test_an_honest_heuristic_passes_without_finding_optima():
    class Truncation(BruteForce):
        name = "truncation"
        families = frozenset({"strs"})
        features = frozenset({Feature.HEURISTIC})

        def _solve(self, problem, params, options, control):
            from sparseopt import Result, Status

            x = np.zeros(len(problem.A))
            x[int(np.argmax(np.diagonal(problem.A)))] = -1.0
            return Result(status=Status.CONVERGED, x=x, objective=problem.objective(x))

    outcomes = run_conformance(Truncation())
    assert len(outcomes) > 100
    assert [(o.name, o.detail) for o in outcomes if not o.passed] == []


def test_cases_can_be_left_out_by_name():
    names = {case.name for case in conformance_cases(BruteForce())}
    kept = {case.name for case in conformance_cases(BruteForce(), exclude=["strs/random/*"])}
    assert names - kept == {name for name in names if name.startswith("strs/random/")}
    assert len(kept) < len(names)


def test_leaving_out_what_does_not_exist_is_an_error():
    with pytest.raises(ParamError, match=r"'strs/rnadom/\*' matches no case"):
        conformance_cases(BruteForce(), exclude=["strs/rnadom/*"])


def test_every_case_says_what_it_asserts():
    for backend in (BruteForce(), KnapsackDP(), PARAMETRIC()):
        cases = conformance_cases(backend)
        assert len({case.name for case in cases}) == len(cases)
        assert all(len(case.asserts.split()) > 3 for case in cases)


def test_other_seeds_ask_other_questions():
    one, two = (
        {case.name: case for case in conformance_cases(BruteForce(), rng=seed)} for seed in (0, 1)
    )
    assert one.keys() == two.keys()
    assert all(case.run().passed for name, case in two.items() if "random" in name)
