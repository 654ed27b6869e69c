"""Information criteria of graphs, at every budget."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from scipy.special import gammaln

from sparseopt.backend import Backend
from sparseopt.errors import ParamError
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.budget.neighbourhoods import L0GraphicalModel
from sparseopt.proofs.neighbours import support_losses
from sparseopt.result import Result
from sparseopt.selection.graphs.choice import GraphSelection, graph_model, graph_result


def graph_criterion(
    problem: Problem,
    kind: Literal["aic", "bic", "ebic"] = "ebic",
    *,
    gamma: float = 1.0,
    result: Result | None = None,
    backend: str | Backend = "auto",
    options: Mapping[str, Any] | None = None,
) -> GraphSelection:
    r"""Choose the budget whose graph has the smallest AIC, BIC or EBIC.

    With :math:`k_j` neighbours of node j out of :math:`d_j` candidates, fitted without
    the ridge's help,

    .. math:: \sum_j f_j + c \sum_j k_j + 2 \gamma \sum_j \log \binom{d_j}{k_j}, \quad
              f_j = n \log \ell_j \;\text{(Gaussian)}, \quad f_j = 2 n \ell_j \;\text{(Ising)}

    where c is 2 (AIC) or :math:`\log n` (BIC, EBIC), and :math:`\gamma = 0` but for EBIC:
    minus twice the log pseudo-likelihood, with a penalty. Where rows have weights, n is their
    sum. All budgets are compared, in the time of one fit for each entry of the tables. Of
    equal values the smallest budget is taken.

    Parameters
    ----------
    problem : L0GraphicalModel
    kind : {"aic", "bic", "ebic"}, default "ebic"
    gamma : float, default 1.0
        Of EBIC, between 0 (BIC) and 1.
    result : Result, optional
        The path of the problem, if there is one already.
    backend, options
        As for :func:`sparseopt.solve`.

    Returns
    -------
    GraphSelection

    Raises
    ------
    ParamError
        When gamma is out of range, or a node is fitted perfectly.

    References
    ----------
    Schwarz (1978); Chen, Chen (2008); Foygel, Drton (2010): Extended Bayesian information criteria
    for Gaussian graphical models; Barber, Drton (2015), for Ising models node by node.

    Examples
    --------
    >>> from sparseopt.generators import graph_sample
    >>> sample = graph_sample("band", n=400, d=20, d0=6)
    >>> chosen = graph_criterion(sample.model, "bic")
    >>> bool(abs(chosen.budget - sample.graph.nnz) <= 12)
    True
    """
    model = graph_model(problem)
    if not 0.0 <= gamma <= 1.0:
        raise ParamError(f"gamma is {gamma!r}; expected a number from 0 to 1")
    whole = graph_result(model, result, backend, options)
    path = whole.path
    values = path.sums(_entries(model, path.supports, kind, gamma), path.ptr)  # type: ignore[union-attr]
    return GraphSelection(
        by=kind,
        budget=int(path.budgets[int(np.argmin(values))]),  # type: ignore[union-attr]
        budgets=path.budgets,  # type: ignore[union-attr]
        values=values,
        result=whole,
        problem=model,
        notes=() if path.stopped_by == "budget" else (f"the path ended by {path.stopped_by}",),  # type: ignore[union-attr]
    )


def _entries(model: L0GraphicalModel, supports: Array, kind: str, gamma: float) -> Array:
    """Return what each entry of the tables adds to the criterion."""
    n = model.observations
    candidates = model.candidates
    node = np.repeat(np.arange(candidates.nodes), candidates.sizes + 1)
    losses = support_losses(model, supports)
    if model.loss == "ising":
        fit = 2.0 * n * losses
    else:
        low = losses <= 1e-13 * model.null_losses()[node]
        if low.any():
            raise ParamError(
                f"node {int(node[int(np.argmax(low))])} is fitted perfectly by some of its "
                "candidates, which no likelihood can weigh: leave out copies and combinations of "
                "columns, or give fewer candidates"
            )
        fit = n * np.log(losses)
    k = np.bitwise_count(supports.astype(np.int64)).astype(float)
    each = 2.0 if kind == "aic" else math.log(n)
    if kind != "ebic":
        gamma = 0.0
    d = candidates.sizes[node].astype(float)
    choices = gammaln(d + 1.0) - gammaln(k + 1.0) - gammaln(d - k + 1.0)
    return np.asarray(fit + each * k + 2.0 * gamma * choices)
