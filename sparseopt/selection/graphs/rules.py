"""Choosing the budget of a graph by a rule."""

from __future__ import annotations

from typing import Any

from sparseopt.errors import ParamError
from sparseopt.problems.base import Problem
from sparseopt.result import Result
from sparseopt.selection.graphs.choice import GraphSelection
from sparseopt.selection.graphs.criteria import graph_criterion
from sparseopt.selection.graphs.cross_validation import graph_cross_validate
from sparseopt.selection.graphs.stability import GraphStabilityResult, graph_stability


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
    """
    if by == "cv":
        return graph_cross_validate(problem, result=result, **options)
    if by in ("aic", "bic", "ebic"):
        return graph_criterion(problem, by, result=result, **options)  # type: ignore[arg-type]
    if by == "stability":
        return graph_stability(problem, **options)
    raise ParamError(
        f"there is no rule {by!r} for graphs; expected 'cv', 'aic', 'bic', 'ebic' or 'stability'"
    )
