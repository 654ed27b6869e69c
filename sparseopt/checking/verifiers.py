"""Which verifier judges which family of problems."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sparseopt.checking.report import Findings
from sparseopt.checking.tolerances import UNSCALED
from sparseopt.families import Family, family_of, register
from sparseopt.installed import resolve
from sparseopt.problems.base import Array, Problem

Verifier = Callable[[Any, Any, Findings], None]
"""Called with the problem, the result and the findings to write to."""


@dataclass(frozen=True)
class Evaluation:
    """A point in the problem's own terms.

    Attributes
    ----------
    value : float
        Its objective value.
    size : float
        What errors of the value are relative to: the size of the objective's terms.
    violation : float
        The largest violation in units of its tolerance: above 1 the point is infeasible.
    where : str
        What is violated most, and by how much.
    residuals : mapping of str to float
        What was measured.
    doubt : str
        Why the point proves nothing although no violation is certain; empty where it does.
    data_size : float
        How much of `size` the problem's data explain, default all of it: what is off by more than
        the tolerance of this, but not of `size`, proves nothing either way.
    rounding : float
        How far the errors of the arithmetic may have moved the value: where that is more than the
        tolerance, the terms cancel in all digits that count, and nobody knows the value.
    """

    value: float
    size: float
    violation: float
    where: str
    residuals: Mapping[str, float] = field(default_factory=dict)
    doubt: str = ""
    data_size: float = math.inf
    rounding: float = 0.0


def evaluate(problem: Problem, x: Array, lam: float | None) -> Evaluation:
    """Evaluate a point by the ``evaluate`` of its family's verifier.

    Where that has none, the problem's own residuals count, relative to 1 + max |x|.

    Parameters
    ----------
    problem : Problem
    x : array
    lam : float or None
        The problem's parameter, where it has one.

    Returns
    -------
    Evaluation

    Raises
    ------
    SparseOptError
        When x does not fit the problem.
    """
    own = getattr(verifier_of(problem.family), "evaluate", None)
    evaluation: Evaluation = (own or plain_evaluation)(problem, x, lam)
    return evaluation


def plain_evaluation(
    problem: Problem, x: Array, lam: float | None, known: tuple[float, float] | None = None
) -> Evaluation:
    """Evaluate a point by the problem's own residuals, relative to 1 + max |x|.

    Parameters
    ----------
    problem : Problem
    x : array
    lam : float or None
    known : (float, float), optional
        The objective and its scale. Default: as the problem says.

    Returns
    -------
    Evaluation
    """
    if known is None:
        known = problem.objective(x, lam), problem.objective_scale(x, lam)
    residuals = problem.residuals(x, lam)
    worst = max(residuals, key=lambda name: residuals[name], default="")
    value = residuals.get(worst, 0.0)
    ratio = value / (UNSCALED * (1.0 + float(np.max(np.abs(x), initial=0.0))))
    return Evaluation(
        value=known[0],
        size=known[1],
        violation=math.inf if math.isnan(ratio) else ratio,
        where=f"{worst} by {value:.3g}",
        residuals=residuals,
    )


def register_verifier(family: str, verifier: Verifier | str) -> None:
    """Let `verifier` judge the results of a family of problems, in this process.

    A package states the verifier in its :class:`~sparseopt.families.Family`. It is called after
    the checks that all families share (the objective value is recomputed, the
    residuals are within tolerance, bound and objective are on their right sides) and writes
    what it finds to a :class:`~sparseopt.checking.report.Findings`: ``prove`` what
    the certificate proves, ``refute`` what is false. An exception that it raises is a refutation.

    Parameters
    ----------
    family : str
        The problem class' `family`.
    verifier : callable or str
        ``verifier(problem, result, findings)``, or "module:function", which is
        imported when it is first needed. Where it has an attribute ``evaluate``, points are
        judged by ``verifier.evaluate(problem, x, lam)``, which returns an :class:`Evaluation`,
        instead of by the problem's residuals.

    Raises
    ------
    ParamError
        When it is a string of another form.

    Examples
    --------
    >>> from sparseopt.checking import register_verifier
    >>> def verify(problem, result, findings):
    ...     findings.prove("there is nothing to prove")
    >>> register_verifier("my-family", verify)
    """
    known = family_of(family) or Family(name=family, problems={})
    register(known.with_changes(verifier=verifier))


def verifier_of(family: str) -> Verifier | None:
    """Return the verifier of a family, or None where there is none.

    Parameters
    ----------
    family : str

    Returns
    -------
    Verifier or None
    """
    known = family_of(family)
    verifier: Verifier | None = None if known is None else resolve(known.verifier)
    return verifier
