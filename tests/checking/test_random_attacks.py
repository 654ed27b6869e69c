"""Random attacks: none is verified, and the exact program agrees with the checker."""

from __future__ import annotations

import tempfile
from dataclasses import replace

import forged_proofs
import numpy as np
import pytest
from integer_attacks import false_places, of_another_instance
from random_attacks import Judge, campaign, forged_campaign
from thorough import first

import sparseopt
from sparseopt import ProblemError, Result, Status, Verdict
from sparseopt.checking import check
from sparseopt.problems import MISDP, BudgetTables, STRSPath

KINDS = {
    "Farkas",
    "ray",
    "reduced cost",
    "inflation",
    "cancelled optimum",
    "beyond bounds",
    "loose bounds",
    "fixed charge",
    "numbers",
    "points",
    "true",
}


@pytest.mark.parametrize("count", first(1, [2, 24]))
def test_no_random_attack_is_believed(count):
    found = campaign(count, 60.0, seed=1, exactly=True)
    assert set(found) >= KINDS
    for kind, verdicts in found.items():
        assert verdicts["disagreements"] == 0, kind
        if kind != "true":
            assert verdicts["verified"] == verdicts["exactly proven"] == 0, kind
            assert verdicts["attacks"] >= 1
    assert found["true"]["exactly refuted"] == found["true"]["imprecise, refuted"] == 0


@pytest.mark.thorough(after=2)
@pytest.mark.parametrize("kind", first(3, forged_proofs.KINDS))
def test_no_forged_proof_is_believed(kind):
    rng, attacks = np.random.default_rng(5), 0
    for _ in range(20):
        problem, result = forged_proofs.answer(kind, rng)
        if result.status is Status.OPTIMAL and result.verdict is Verdict.VERIFIED:
            for claim in forged_proofs.forged(problem, result, rng):
                assert check(problem, claim).verdict is not Verdict.VERIFIED
                attacks += 1
        if attacks >= 15:
            return
    raise AssertionError(f"only {attacks} attacks were made")


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("kind", first(3, forged_proofs.KINDS))
def test_no_false_statement_about_a_true_point_is_believed(kind):
    rng, attacks = np.random.default_rng(6), 0
    while not attacks:
        problem, result = forged_proofs.answer(kind, rng)
        if result.status is Status.OPTIMAL and result.verdict is Verdict.VERIFIED:
            for claim in forged_proofs.false_statements(problem, result, rng):
                assert check(problem, claim).verdict is not Verdict.VERIFIED
                attacks += 1


@pytest.mark.parametrize("kind", first(0, ["pool", "spins"]))
def test_the_exact_program_reads_pools_and_spins_as_well(kind):
    found = forged_campaign(20, 60.0, 1, True, [kind])[f"forged proofs ({kind})"]
    assert found["attacks"] == 20
    assert found["exactly proven"] == found["verified"] == found["disagreements"] == 0


@pytest.mark.thorough(after=2)
@pytest.mark.parametrize("size", [1e6, 1e100, 1e215])
def test_no_factor_of_an_objective_hides_a_better_solution(size):
    problem, result = forged_proofs.answer("pool", np.random.default_rng(713))
    assert result.verdict is Verdict.VERIFIED
    arrays = {name: np.array(array) for name, array in result.certificate.arrays.items()}
    arrays["quadratic_factor"] = arrays["quadratic_factor"] * size
    kept = [0, 2]
    left = {name: arrays[name][kept] for name in ("pool_x", "pool_objective")}
    arrays |= {**left, "pool_bound": np.array([0.83])}
    assert result.certificate.arrays["pool_objective"][1] > 0.88
    claim = result.with_changes(certificate=replace(result.certificate, arrays=arrays), trace=())
    assert check(problem, claim).verdict is not Verdict.VERIFIED


@pytest.mark.parametrize("size", [1e-162, 1e-255, 5e-324])
def test_no_factor_of_an_objective_has_squares_that_vanish(size):
    """The least x^2 on [1, 2]; with a tiny factor it seemed that no t was large enough."""
    problem = MISDP(
        c=[0.0, 1.0], Q=np.diag([1.0, 0.0]), lower=[1.0, 0.0], upper=[2.0, 1.0], integer=[1]
    )
    certificate = sparseopt.solve(problem).certificate
    arrays = dict(certificate.arrays)
    arrays["quadratic_factor"] = arrays["quadratic_factor"] * size
    arrays["infeasible"] = np.ones_like(arrays["infeasible"])
    claim = Result(
        status=Status.INFEASIBLE,
        certificate=replace(certificate, arrays=arrays),
        kind=problem.kind,
        problem=problem,
    )
    assert check(problem, claim).verdict is not Verdict.VERIFIED


def whole_numbers(name, rng):
    """Return a small problem over budgets or sizes."""
    M = rng.normal(size=(6, 6))
    if name == "sizes":
        return STRSPath(M + M.T, M[0], d_max=4)
    if name == "tables":
        return BudgetTables([np.sort(row)[::-1] for row in M])
    return forged_proofs.problem_of(name, rng)[0]


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("name", ["sizes", "tables", "graph", "spins"])
def test_no_place_of_a_path_over_whole_numbers_is_false(name):
    """Nor is a result of another instance taken for one of this."""
    rng = np.random.default_rng(8)
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(10**6, True, folder)
        for _ in range(2):
            problem = whole_numbers(name, rng)
            result = sparseopt.solve(problem)
            assert result.verdict is Verdict.VERIFIED
            for kind, claim in false_places(problem, result, rng):
                judge.attack(kind, problem, claim)
            for _, claim in of_another_instance(result):
                with pytest.raises(ProblemError):
                    check(problem, claim)
    assert len(judge.found) == 11
    for kind, verdicts in judge.found.items():
        assert verdicts["verified"] == verdicts["exactly proven"] == 0, kind
