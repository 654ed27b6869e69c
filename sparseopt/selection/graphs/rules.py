"""Choosing the budget of a graph by a rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sparseopt.errors import ParamError
from sparseopt.problems.base import Problem
from sparseopt.result import Result
from sparseopt.selection.graphs.choice import GraphSelection
from sparseopt.selection.graphs.criteria import graph_criterion
from sparseopt.selection.graphs.cross_validation import graph_cross_validate
from sparseopt.selection.graphs.stability import GraphStabilityResult, graph_stability
from sparseopt.verbs import refuse_unknown


def select_graph(
    problem: Problem, by: str = "ebic", *, result: Result | None = None, **options: Any
) -> GraphSelection | GraphStabilityResult:
    """Choose the budget of a graphical model, or its edges, by a rule.

    Parameters
    ----------
    problem : L0GraphicalModel
    by : {"cv", "aic", "bic", "ebic", "stability"}, default "ebic"
    result : Result, optional
        The path of the problem, if there is one already (not for "stability").
    **options
        Those of :func:`graph_cross_validate`, :func:`graph_criterion` or :func:`graph_stability`.

    Raises
    ------
    ParamError
        When there is no such rule or option.
    """
    rules: dict[str, Callable[..., Any]] = {
        "cv": graph_cross_validate,
        **dict.fromkeys(("aic", "bic", "ebic"), graph_criterion),
        "stability": graph_stability,
    }
    if by not in rules:
        raise ParamError(
            f"there is no rule {by!r} for graphs; expected 'cv', 'aic', 'bic', 'ebic' or "
            "'stability'"
        )
    rule = rules[by]
    filled: dict[str, Any] = {} if by == "stability" else {"result": result}
    if rule is graph_criterion:
        filled["kind"] = by
    refuse_unknown(f"the rule {by!r} of a graph", rule, options, filled)
    chosen: GraphSelection | GraphStabilityResult = rule(problem, **filled, **options)
    return chosen
