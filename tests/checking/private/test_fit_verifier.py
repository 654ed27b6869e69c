"""Fits to an embedding: what is stated falsely is refuted; the gradient is the proof."""

import numpy as np
import pytest

import sparseopt
from sparseopt import Certificate, Result, Status, Verdict, generators
from sparseopt.problems import EmbeddingFit


@pytest.fixture(scope="module")
def solved():
    problem = generators.generate("embedding-fit", atoms=60, features=10)
    return problem, sparseopt.solve(problem)


def verdict(problem, result):
    return sparseopt.check(problem, result).verdict


def test_what_is_stated_falsely_is_refuted(solved):
    problem, result = solved
    uniform = np.full(60, 1.0 / 60.0)
    value = problem.objective(uniform)
    lies = {
        "worse point": result.with_changes(x=uniform),
        "worse point with its value": result.with_changes(x=uniform, objective=value, bound=value),
        "negative": result.with_changes(x=result.x - 1e-3),
        "not normalised": result.with_changes(x=result.x * 1.1),
        "objective": result.with_changes(objective=result.objective * 0.9),
        "bound above": result.with_changes(bound=result.objective * 1.1),
        "infeasible": result.with_changes(
            status=Status.INFEASIBLE, x=None, objective=None, bound=None
        ),
    }
    assert {name: verdict(problem, lie) for name, lie in lies.items()} == dict.fromkeys(
        lies, Verdict.REFUTED
    )


def test_a_weak_bound_is_proven_and_a_certificate_is_not_needed(solved):
    problem, result = solved
    low = result.with_changes(status=Status.CONVERGED, bound=0.0)
    assert verdict(problem, low) is Verdict.VERIFIED
    other = result.with_changes(certificate=Certificate("dual", {"nu": np.ones(3)}))
    assert verdict(problem, other) is Verdict.UNPROVEN


@pytest.mark.parametrize("seed", range(30))
def test_the_bound_of_any_point_is_below_the_optimum(seed):
    rng = np.random.default_rng(seed)
    problem = EmbeddingFit(rng.normal(size=(12, 4)), rng.normal(size=4))
    optimum = sparseopt.solve(problem, rel_gap=1e-12).objective
    x = rng.dirichlet(np.ones(12))
    gradient = problem.gradient(x)
    value = problem.objective(x)
    bound = max(0.0, value - float(gradient @ x - gradient.min()))
    assert bound <= optimum + 1e-12
    stated = Result(status=Status.CONVERGED, x=x, objective=value, bound=bound, problem=problem)
    assert verdict(problem, stated) is Verdict.VERIFIED
    raised = stated.with_changes(bound=bound + 1e-3 * (value - bound) + 1e-6)
    assert verdict(problem, raised) is Verdict.REFUTED
