"""What the checker promises to those who call it and to those who extend it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import sparseopt
from sparseopt import (
    Certificate,
    Limit,
    ParamError,
    ProblemError,
    Result,
    SolveParams,
    Status,
    Verdict,
    families,
)
from sparseopt.checking import CheckReport, check, register_verifier
from sparseopt.problems import DantzigSelector, LADLasso, Problem


@dataclass(frozen=True, eq=False, repr=False)
class Knapsack(Problem):
    """Maximise the sum of the chosen, at most two of them: a family nobody has a verifier for."""

    values: np.ndarray

    kind: ClassVar[str] = "toy-knapsack"
    family: ClassVar[str] = "toy-knapsack"
    sense: ClassVar[str] = "max"

    def validate(self):
        pass

    @property
    def size(self):
        return {"n": len(self.values)}

    def objective(self, x, lam=None):
        return float(self.values @ x)

    def residuals(self, x, lam=None):
        return {"count": max(0.0, float(x.sum()) - 2.0)}


KNAPSACK = Knapsack(values=np.array([3.0, 2.0, 1.0]))
CHOICE = Result(status=Status.OPTIMAL, x=np.array([1.0, 1.0, 0.0]), objective=5.0, bound=5.0)
DANTZIG = DantzigSelector(X=np.eye(2), y=[3.0, 1.0])


@pytest.fixture
def verifiers(monkeypatch):
    """Forget the verifiers that a test registers."""
    monkeypatch.setattr(families, "_REGISTERED", dict(families._REGISTERED))


def test_a_family_without_a_verifier_gets_the_checks_that_all_share():
    report = check(KNAPSACK, CHOICE)
    assert report.verdict is Verdict.UNPROVEN
    assert report.residuals == {"count": 0.0, "objective": 0.0}
    assert "toy-knapsack" in report.messages[0]


@pytest.mark.parametrize(
    "changes",
    [
        {"objective": 5.0 + 1e-6, "bound": 5.0 + 1e-6},
        {"x": np.array([1.0, 1.0, 1.0]), "objective": 6.0, "bound": 6.0},
        {"bound": 6.0},
        {"bound": 4.0},
        {"x": None},
        {"x": np.array([1.0, 1.0])},
        {"x": np.array([1.0, np.nan, 0.0])},
        {"status": Status.INFEASIBLE},
        {"status": Status.FEASIBLE, "limit": Limit.TIME, "bound": 4.0},
    ],
)
def test_false_statements_are_refuted_without_a_verifier(changes):
    assert check(KNAPSACK, CHOICE.with_changes(**changes)).verdict is Verdict.REFUTED


def test_a_gap_is_allowed_up_to_what_was_asked():
    gap = CHOICE.with_changes(bound=5.5)
    assert check(KNAPSACK, gap).verdict is Verdict.REFUTED
    for params in (SolveParams(abs_gap=0.5), SolveParams(rel_gap=0.1)):
        assert check(KNAPSACK, gap.with_changes(params=params)).verdict is Verdict.UNPROVEN


def test_a_gap_of_the_checkers_own_replaces_what_was_asked():
    lax = SolveParams(lam=1.0, rel_gap=0.5)
    result = sparseopt.solve(DANTZIG, backend="highs", params=lax)
    assert check(DANTZIG, result, rel_gap=1e-7).verdict is Verdict.VERIFIED
    worse = result.with_changes(bound=0.75 * result.objective)
    certificate = Certificate("dual", {"nu": np.array([-0.75, 0.0])})
    worse = worse.with_changes(certificate=certificate, duals={})
    assert check(DANTZIG, worse).verdict is Verdict.VERIFIED
    report = check(DANTZIG, worse, rel_gap=1e-6)
    assert report.verdict is Verdict.UNPROVEN
    assert "1e-06" in report.messages[0]
    false = worse.with_changes(objective=5.0)
    assert check(DANTZIG, false, rel_gap=1e-6).verdict is Verdict.REFUTED
    with pytest.raises(ParamError, match="rel_gap"):
        check(DANTZIG, result, rel_gap=-1.0)


def test_a_registered_verifier_proves_and_refutes(verifiers):
    def verify(problem, result, findings):
        findings.measure("best", problem.values.max())
        if result.objective == 5.0:
            findings.prove("two of the largest")
        else:
            findings.refute("not the two largest")

    register_verifier("toy-knapsack", verify)
    report = check(KNAPSACK, CHOICE)
    assert report.verdict is Verdict.VERIFIED
    assert report.residuals["best"] == 3.0
    other = CHOICE.with_changes(x=np.array([1.0, 0.0, 1.0]), objective=4.0, bound=4.0)
    assert check(KNAPSACK, other).verdict is Verdict.REFUTED


def test_a_verifier_by_name_is_imported_when_it_is_needed(verifiers):
    register_verifier("toy-knapsack", "no_such_module:verify")
    report = check(KNAPSACK, CHOICE)
    assert report.verdict is Verdict.REFUTED
    assert "no_such_module" in report.messages[0]
    with pytest.raises(ParamError, match="module:object"):
        register_verifier("toy-knapsack", "no_such_module.verify")


def test_a_verifier_that_stumbles_over_the_evidence_refutes_it(verifiers):
    def verify(problem, result, findings):
        findings.prove("something")
        result.certificate.arrays["missing"]

    register_verifier("toy-knapsack", verify)
    report = check(KNAPSACK, CHOICE)
    assert report.verdict is Verdict.REFUTED
    assert "AttributeError" in report.messages[0]


def test_what_is_doubted_is_not_verified(verifiers):
    def verify(problem, result, findings):
        findings.prove("one half")
        findings.doubt("the other half")

    register_verifier("toy-knapsack", verify)
    assert check(KNAPSACK, CHOICE).verdict is Verdict.UNPROVEN


def test_the_result_of_another_instance_is_an_error():
    result = sparseopt.solve(DANTZIG, backend="highs", lam=1.0, check=False)
    same = DantzigSelector(X=np.eye(2), y=[3.0, 1.0])
    assert check(same, result).verdict is Verdict.VERIFIED
    other = DantzigSelector(X=np.eye(2), y=[3.0, 2.0])
    with pytest.raises(ProblemError, match="belongs"):
        check(other, result)
    with pytest.raises(ProblemError, match="lad-lasso"):
        check(LADLasso(X=np.eye(2), y=[3.0, 1.0]), result)
    with pytest.raises(ProblemError, match="belongs"):
        check(DANTZIG, result.with_changes(fingerprint="0" * 64))


def test_a_refuted_result_stays_refuted_after_its_status_says_so():
    result = sparseopt.solve(DANTZIG, backend="highs", lam=1.0, check=False)
    wrong = result.with_changes(x=np.array([2.5, 0.0]), status=Status.IMPRECISE)
    assert check(DANTZIG, wrong).verdict is Verdict.REFUTED
    again = result.with_changes(status=Status.IMPRECISE)
    assert check(DANTZIG, again).verdict is Verdict.UNPROVEN


def test_solve_turns_a_refuted_answer_into_imprecise(verifiers):
    register_verifier("parametric", lambda problem, result, findings: findings.refute("no"))
    result = sparseopt.solve(DANTZIG, backend="highs", lam=1.0)
    assert result.status is Status.IMPRECISE
    assert result.verdict is Verdict.REFUTED
    assert result.check_messages == ("no",)


def test_a_report_shows_itself_in_notebooks():
    report = CheckReport(Verdict.REFUTED, {"gap": 0.25}, ("a < b is <b>wrong</b>",))
    html = report._repr_html_()
    assert "refuted" in html
    assert "0.25" in html
    assert "a &lt; b is &lt;b&gt;wrong" in html


def test_many_refutations_are_counted_not_listed(verifiers):
    def verify(problem, result, findings):
        for k in range(1000):
            findings.refute(f"wrong {k}")

    register_verifier("toy-knapsack", verify)
    messages = check(KNAPSACK, CHOICE).messages
    assert len(messages) < 30
    assert "980 more" in messages[-1]
