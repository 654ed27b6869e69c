"""The public entry of the checker."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sparseopt.checking.claims import check_claims
from sparseopt.checking.report import CheckReport, Findings, reported
from sparseopt.checking.verifiers import verifier_of
from sparseopt.errors import ProblemError
from sparseopt.problems.base import Problem
from sparseopt.result import Result, Verdict


def check(problem: Problem, result: Result, *, rel_gap: float | None = None) -> CheckReport:
    """Verify a result against its problem by arithmetic alone; trusts no backend.

    BLAS computes with ``result.params.threads`` threads, one where none are given.

    What OPTIMAL means is stated by the result itself: objective and bound meet up to the gaps of
    ``result.params``. Who does not trust these either gives `rel_gap`.

    Parameters
    ----------
    problem : Problem
    result : Result
        Its certificate is read as hostile input: whatever is wrong with it is a refutation, never
        an exception.
    rel_gap : float, optional
        The relative gap that OPTIMAL may leave, and no absolute one, whatever the result was asked
        for. A result that is right but for this is unproven. Default: the result's own gaps.

    Returns
    -------
    CheckReport

    Raises
    ------
    ProblemError
        When the result belongs to another instance.
    ParamError
        When `rel_gap` is negative or no number.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt import Certificate, Result, SolveParams, Status
    >>> from sparseopt.checking import check
    >>> from sparseopt.problems import DantzigSelector
    >>> problem = DantzigSelector(X=np.eye(2), y=[3.0, 1.0])
    >>> result = Result(
    ...     status=Status.OPTIMAL,
    ...     x=np.array([2.0, 0.0]),
    ...     objective=2.0,
    ...     bound=2.0,
    ...     params=SolveParams(lam=1.0),
    ...     certificate=Certificate("dual", {"nu": np.array([-1.0, 0.0])}),
    ... )
    >>> check(problem, result).verdict.value
    'verified'
    """
    _identify(problem, result)
    if rel_gap is None:
        return _reported(problem, result)
    params = replace(result.params, rel_gap=rel_gap, abs_gap=0.0)
    strict = _reported(problem, result.with_changes(params=params))
    if strict.verdict is not Verdict.REFUTED:
        return strict
    report = _reported(problem, result)
    if report.verdict is Verdict.REFUTED:
        return report
    missed = f"it is not optimal up to the gap of {rel_gap:g}: {strict.messages[0]}"
    return replace(report, verdict=Verdict.UNPROVEN, messages=(missed, *report.messages))


def _reported(problem: Problem, result: Result) -> CheckReport:
    return reported(result, lambda findings: _judge(problem, result, findings))


def _judge(problem: Problem, result: Result, findings: Findings) -> None:
    if _complex(result, findings):
        return
    check_claims(problem, result, findings)
    verify = verifier_of(problem.family)
    if verify is None:
        findings.doubt(
            f"no verifier is registered for problems of the family {problem.family}: only the "
            "objective value and the residuals were checked"
        )
    else:
        verify(problem, result, findings)
    for name, stated in (("path", result.path is not None), ("duals", bool(result.duals))):
        if stated and not findings.refuted and not findings.covers(name):
            findings.doubt(f"the result states {name}, which nothing here checks")


def _complex(result: Result, findings: Findings) -> bool:
    """Refute numbers with an imaginary part, which arithmetic with real numbers would drop."""
    evidence = {} if result.certificate is None else result.certificate.arrays
    path = {} if result.path is None else vars(result.path)
    stated = (*evidence.items(), *result.duals.items(), *path.items())
    found = [name for name, numbers in stated if np.iscomplexobj(numbers)]
    for name in found:
        findings.refute(f"{name} has complex numbers; expected real ones")
    return bool(found)


def _identify(problem: Problem, result: Result) -> None:
    """Raise unless the result may belong to the problem; hashes only where it must."""
    if result.kind and result.kind != problem.kind:
        raise ProblemError(
            f"the result is of a problem of the kind {result.kind}, the problem given is a "
            f"{problem.kind}: check it with the instance that it was solved for"
        )
    stated = result.fingerprint
    if stated is None:
        if result.problem is None or result.problem is problem:
            return
        stated = result.problem.fingerprint()
    own = problem.fingerprint()
    if stated != own:
        raise ProblemError(
            f"the result belongs to the instance {str(stated)[:12]}..., the problem given has the "
            f"fingerprint {own[:12]}...: check it with the instance that it was solved for"
        )
