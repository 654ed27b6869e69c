"""The conformance suite finds its target: each fault of a backend fails the check that names it."""

import time
from dataclasses import replace

import numpy as np
import pytest

from sparseopt import Feature, LicenseError, ParamError, solve
from sparseopt.paths.parametric import ParametricPath
from sparseopt.problems import STRS
from sparseopt.registry import backend_names, get_backend
from sparseopt.solvers.l0.engines.knapsack_dp import KnapsackDP
from sparseopt.solvers.strs.engines.brute_force import BruteForce
from sparseopt.testing import (
    FamilySamples,
    NotMet,
    Sample,
    conformance_cases,
    run_conformance,
)
from sparseopt.testing.budget import budget_samples
from sparseopt.testing.parametric_samples import path_samples, vertex_optimum


def _failed(backend, *names):
    """Return which of the named checks fail; all of them must exist."""
    passed = {
        outcome.name: outcome.passed
        for case in conformance_cases(backend)
        if any(check.name in names for check in case.checks)
        for outcome in case.run()
    }
    return [name for name in names if not passed[name]]


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
        pytest.param(Deaf, ["time-limit", "interrupt"], marks=pytest.mark.thorough),
        (Fickle, ["deterministic"]),
        (Tolerant, ["unknown-option"]),
        (Greedy, ["unsupported"]),
        (Vandal, ["unchanged"]),
    ],
)
def test_faults_of_a_backend_of_strs(backend, names, monkeypatch):
    # No second chance: none of these is late because the machine is busy.
    monkeypatch.setattr("sparseopt.testing.behaviour._TRIES", 1)
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


class Forgetful(PARAMETRIC):
    def _solve(self, problem, params, options, control):
        if getattr(problem, "sample_weights", None) is not None:
            problem = replace(problem, sample_weights=None)
        return super()._solve(problem, params, options, control)


class Reversed(PARAMETRIC):
    def _solve(self, problem, params, options, control):
        if problem.kind == "quantile-lasso":
            problem = replace(problem, tau=1.0 - problem.tau)
        return super()._solve(problem, params, options, control)


@pytest.mark.parametrize(
    ("backend", "sample"),
    [(Forgetful, "lad-sample-weights"), (Reversed, "quantile-sample-weights")],
)
def test_a_problem_that_is_read_wrongly(backend, sample):
    full = [f"parametric/{sample}/values"]
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


def _checks(backend, **options):
    return [check for case in conformance_cases(backend, **options) for check in case.checks]


def test_checks_can_be_left_out_by_name():
    every = [check.name for check in _checks(BruteForce())]
    kept = [check.name for check in _checks(BruteForce(), exclude=["strs/random/*", "*/bound"])]
    assert kept == [
        name for name in every if not name.startswith("strs/random/") and not name.endswith("bound")
    ]
    assert len(kept) < len(every)
    # A case of which nothing is left is not solved.
    names = [case.name for case in conformance_cases(BruteForce(), exclude=["strs/random/*"])]
    assert "strs/random" not in names
    assert "strs/diagonal" in names


def test_leaving_out_what_does_not_exist_is_an_error():
    with pytest.raises(ParamError, match=r"'strs/rnadom/\*' matches no check"):
        conformance_cases(BruteForce(), exclude=["strs/rnadom/*"])


def test_a_backend_without_cases_is_an_error():
    class Foreign(BruteForce):
        name = "foreign"
        families = frozenset({"elastic"})

    with pytest.raises(ParamError, match=r"foreign declares the families elastic, .* of elastic"):
        conformance_cases(Foreign())
    with pytest.raises(ParamError, match=r"there are samples of budget, .*, strs"):
        conformance_cases(Foreign())

    class Choosy(BruteForce):
        """Takes no sample of a family that it declares."""

        name = "choosy"
        families = frozenset({"strs", "budget"})

        def supports(self, problem):
            return problem.family == "strs", "only that"

    with pytest.raises(ParamError, match="takes no sample of budget;"):
        conformance_cases(Choosy())

    class Silent(BruteForce):
        name = "silent"
        families = frozenset()

    with pytest.raises(ParamError, match=r"families \(none\), and takes no sample of any"):
        conformance_cases(Silent())


@pytest.mark.thorough
def test_every_registered_backend_has_cases():
    for name in backend_names():
        assert conformance_cases(get_backend(name)), name


def test_samples_can_be_added_to_a_family():
    sample = Sample("mine", STRS(A=np.diag([1.0, 2.0]), d=1), optimum=2.0, known_by="the diagonal")
    cases = conformance_cases(BruteForce(), families={"strs": FamilySamples((sample,))})
    (case,) = (case for case in cases if case.name == "strs/mine")
    case.check()
    assert len(cases) == len(conformance_cases(BruteForce())) + 1


def test_a_case_reports_all_checks_that_failed_with_what_was_seen():
    (case,) = (c for c in conformance_cases(Lax()) if c.name == "strs/random")
    with pytest.raises(NotMet) as error:
        case.check()
    lines = str(error.value).splitlines()
    # The closed gap of an optimum and the certificate are wrong with the bound.
    assert lines[0] == f"{(len(lines) - 1) // 2} of 9 checks failed"
    seen = dict(zip(lines[1::2], lines[2::2], strict=True))
    (bound,) = (seen[line] for line in seen if line.startswith("strs/random/bound: the bound is"))
    assert "the optimum is" in bound
    assert any(line.startswith("strs/random/gap: ") for line in seen)
    assert not any(line.startswith("strs/random/objective: ") for line in seen)


def test_a_solve_that_raises_fails_every_check_and_is_not_repeated():
    class Broken(BruteForce):
        calls = 0

        def _solve(self, problem, params, options, control):
            type(self).calls += 1
            raise LicenseError("no licence was found")

    (case,) = (c for c in conformance_cases(Broken()) if c.name == "strs/random")
    outcomes = case.run()
    assert {outcome.detail for outcome in outcomes} == {"LicenseError: no licence was found"}
    assert len(outcomes) == len(case.checks)
    assert Broken.calls == 1
    with pytest.raises(LicenseError, match="no licence was found"):
        case.check()


def test_every_check_says_what_it_asserts():
    for backend in (BruteForce(), KnapsackDP(), PARAMETRIC()):
        checks = _checks(backend)
        assert len({check.name for check in checks}) == len(checks)
        assert all(len(check.asserts.split()) > 3 for check in checks)
        cases = conformance_cases(backend)
        assert len({case.name for case in cases}) == len(cases)


def test_one_solve_for_each_case():
    class Counting(BruteForce):
        calls = 0

        def _solve(self, problem, params, options, control):
            type(self).calls += 1
            return super()._solve(problem, params, options, control)

    for case in conformance_cases(Counting()):
        if case.solve is not None:
            before = Counting.calls
            case.check()
            assert Counting.calls == before + 1, case.name


def test_other_seeds_ask_other_questions():
    one, two = (
        {case.name: case for case in conformance_cases(BruteForce(), rng=seed)} for seed in (0, 1)
    )
    assert one.keys() == two.keys()
    outcomes = [o for name, case in two.items() if "random" in name for o in case.run()]
    assert outcomes
    assert all(outcome.passed for outcome in outcomes)


@pytest.mark.thorough
def test_the_values_of_graphs_are_those_of_the_exact_engine():
    """The samples' values and ours come from different searches and different Newton methods."""
    for sample in budget_samples(np.random.default_rng(5)).samples:
        if sample.problem.kind == "l0-graphical-model" and sample.optimum is not None:
            found = solve(sample.problem, backend="l0-tables", **sample.question).objective
            assert found == pytest.approx(sample.optimum, rel=1e-9), sample.name


@pytest.mark.thorough
def test_vertices_agree_with_the_problems_own_values():
    """The least of a closed form, and of all vertices: two ways to the same optimum."""
    for sample in path_samples(np.random.default_rng(5)):
        for lam in (sample.end, (sample.end + sample.top) / 2.0, 1.1 * sample.top):
            by_vertices = vertex_optimum(sample.problem, lam)
            assert sample.optimum(lam) == pytest.approx(by_vertices, rel=1e-9, abs=1e-9)


class ByKind(BruteForce):
    def supports(self, problem):
        return problem.kind == "strs", "it takes the sparse trust-region subproblem only"


def test_a_backend_may_go_by_the_kind_of_a_problem():
    (case,) = (case for case in conformance_cases(ByKind()) if case.name == "strs/unsupported")
    case.check()
