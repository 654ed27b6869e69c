"""One verb for all rules: :func:`select`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sparseopt.backend import Backend
from sparseopt.errors import ParamError
from sparseopt.families import family_of
from sparseopt.installed import resolve
from sparseopt.paths.base import PathResult
from sparseopt.problems.base import Problem
from sparseopt.result import Result, Status
from sparseopt.selection.choice import Selection
from sparseopt.selection.criteria import information_criterion
from sparseopt.selection.cross_validation import cross_validate
from sparseopt.selection.network import network_criterion
from sparseopt.selection.samples import counts
from sparseopt.selection.solving import exact_path, path_result
from sparseopt.selection.stability import StabilityResult, stability_selection
from sparseopt.selection.theory import noise_level, theoretical_lam
from sparseopt.verbs import borrows, refuse_unknown


@borrows
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TheoryResult(Selection):
    """The theoretical lam and the solution there; see :class:`~sparseopt.selection.Selection`.

    There is no criterion: `value` is lam, and `plot` an error that says so.

    Attributes
    ----------
    formula, source : str
    sigma : float or None
        The standard deviation of the errors that was given, or estimated.
    """

    formula: str
    source: str
    sigma: float | None

    def summary(self) -> dict[str, Any]:
        """Return the facts that a person or a script asks for first, ready for JSON."""
        facts = super().summary()
        del facts["value"]
        more = {"formula": self.formula, "source": self.source, "sigma": self.sigma}
        return {**facts, **more}

    if TYPE_CHECKING:  # lent by the top of the package, see sparseopt.verbs

        def plot(self, ax: Any = None, **style: Any) -> Any: ...


def select(
    what: Problem | Result | PathResult,
    by: str = "ebic",
    problem: Problem | None = None,
    *,
    result: Result | None = None,
    path: PathResult | None = None,
    **options: Any,
) -> Any:
    """Choose lam, the coefficients, or the budget of a graph, by a rule.

    Parameters
    ----------
    what : Problem, Result or PathResult
        A result or a path saves the solve. A path, and a result that was read without its
        problem, need `problem`, too.
    by : {"cv", "aic", "bic", "ebic", "theory", "stability"}, default "ebic"
    result : Result, optional
        The path of the problem, if there is one already; or the bare `path`.
    path : PathResult, optional
    **options
        Those of :func:`cross_validate`, :func:`information_criterion` (:func:`network_criterion`
        for CLIME), :func:`select_by_theory` or :func:`stability_selection`; of a graphical model
        those of :func:`select_graph`.

    Returns
    -------
    Selection or StabilityResult; of graphs GraphSelection or GraphStabilityResult

    Raises
    ------
    ParamError
        When there is no such rule or option, or the problem is missing.

    Examples
    --------
    >>> import numpy as np
    >>> import sparseopt
    >>> problem = sparseopt.problems.DantzigSelector(X=np.eye(3), y=[3.0, -2.0, 0.5])
    >>> select(problem, "theory", sigma=1.0).support.tolist()
    [0, 1]
    """
    if isinstance(what, Problem):
        problem = what
    elif isinstance(what, Result):
        result, problem = what, problem or what.problem
    elif isinstance(what, PathResult):
        path, problem = what, problem or getattr(what, "problem", None)
    if problem is None:
        raise ParamError(
            f"a {type(what).__name__} without its problem, which has the data: give problem=, too"
        )
    if path is not None and result is None:
        result = Result(status=Status.OPTIMAL, path=path, problem=problem, kind=problem.kind)
    family = family_of(problem.family)
    if family is None or family.select is None:
        raise ParamError(
            f"there is no rule that chooses anything for problems of the kind {problem.kind!r}"
        )
    return resolve(family.select)(problem, by, result=result, **options)


def select_parametric(
    problem: Problem, by: str, *, result: Result | None = None, **options: Any
) -> Selection | StabilityResult:
    """Choose lam, or the coefficients, of a parametric problem; as :func:`select`.

    Parameters
    ----------
    problem : ParametricProblem
    by : {"cv", "aic", "bic", "ebic", "theory", "stability"}
    result : Result, optional
        Its path, if there is one already.
    **options
        Of the rule.

    Returns
    -------
    Selection or StabilityResult
    """
    rules: dict[str, Callable[..., Any]] = {
        "cv": cross_validate,
        **dict.fromkeys(("aic", "bic", "ebic"), information_criterion),
        "theory": select_by_theory,
        "stability": stability_selection,
    }
    if by not in rules:
        raise ParamError(
            f"there is no rule {by!r}; expected 'cv', 'aic', 'bic', 'ebic', 'theory' or 'stability'"
        )
    rule = rules[by]
    filled: dict[str, Any] = {} if by == "stability" else {"result": result}
    if rule is information_criterion:
        filled["kind"] = by
        if problem.kind == "clime":
            rule = network_criterion
            if "n" not in options:
                raise ParamError("a clime needs n, the number of observations behind S: give n=")
    refuse_unknown(f"the rule {by!r}", rule, options, filled)
    chosen: Selection | StabilityResult = rule(problem, **filled, **options)
    return chosen


def select_by_theory(
    problem: Problem,
    *,
    sigma: float | None = None,
    n: int | None = None,
    alpha: float = 0.1,
    c: float | None = None,
    seed: int = 0,
    result: Result | None = None,
    backend: str | Backend = "auto",
    options: Mapping[str, Any] | None = None,
    check: bool = True,
) -> TheoryResult:
    """Solve down to the theoretical lam.

    Parameters
    ----------
    problem : Problem
    sigma : float, optional
        Standard deviation of the errors. For the Dantzig selector it is estimated where it is
        missing, by :func:`noise_level`.
    n, alpha, c, seed
        As for :func:`theoretical_lam`.
    result, backend, options, check
        As for :func:`cross_validate`.

    Raises
    ------
    ParamError
        Also when the path ends above the theoretical lam.
    """
    if problem.kind == "dantzig-selector" and sigma is None:
        if result is None:
            sigma = _estimate(problem, backend, options)
        else:
            sigma = noise_level(problem, exact_path(result))
    chosen = theoretical_lam(problem, sigma=sigma, n=n, alpha=alpha, c=c, seed=seed)
    whole = path_result(problem, result, backend, options, chosen.lam, check)
    assert whole.path is not None
    whole.path.at(chosen.lam)
    return TheoryResult(
        by="theory",
        lam=chosen.lam,
        value=chosen.lam,
        interval=(chosen.lam, chosen.lam),
        formula=chosen.formula,
        source=chosen.source,
        sigma=sigma,
        result=whole,
        problem=problem,
    )


def _estimate(problem: Any, backend: str | Backend, options: Mapping[str, Any] | None) -> float:
    """Follow the path until it is long enough for the noise level."""
    spread = math.sqrt(float(np.average(problem.y**2, weights=counts(problem))))
    lam = theoretical_lam(problem, sigma=spread).lam
    for _ in range(8):
        lam /= 2.0
        path = exact_path(path_result(problem, None, backend, options, lam, check=False))
        try:
            return noise_level(problem, path)
        except ParamError:
            continue
    return noise_level(
        problem, exact_path(path_result(problem, None, backend, options, None, check=False))
    )
