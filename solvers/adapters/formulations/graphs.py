r"""A Gaussian graphical model under one budget as one mixed-integer quadratic program.

.. math:: \min \sum_j s_j \left( \beta_j' G_j \beta_j - 2 g_j' \beta_j \right) \quad\text{subject
          to}\quad |\beta_{jk}| \le M_{jk} z_{jk},\; \sum_{j,k} z_{jk} \le K,\; z \text{ binary}

with the Gram matrix :math:`G_j` of the candidates of node j. No table of subsets is formed: this is
an outside check of the exact engines, for small models.

The bounds :math:`M` come from the data and cut nothing off: a best :math:`\beta_j` of any support
has a loss of at most :math:`\ell_j(0)`, so it lies in an ellipsoid around the least squares fit
:math:`\hat\beta_j` of all candidates,

.. math:: (\beta_j - \hat\beta_j)' G_j (\beta_j - \hat\beta_j) \le \ell_j(0) - \ell_j(\hat\beta_j)
          = r_j, \qquad |\beta_{jk}| \le |\hat\beta_{jk}| + \sqrt{r_j (G_j^{-1})_{kk}}.

Where candidates are nearly dependent these bounds are so large that outside solvers go wrong (as
they do with SOS1 constraints in their place): such models are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseopt.backend import Control
from sparseopt.errors import UnsupportedProblem
from sparseopt.problems.base import Array
from sparseopt.problems.budget.neighbourhoods import L0GraphicalModel
from sparseopt.result import Result

from ...common.program import Program
from ...common.warm_start import warm_point
from .base import GAP, Formulation, Solver, result_of

_DEPENDENT = 1e-6
"""Smallest eigenvalue of a node's candidates, scaled to unit length, that is taken."""


def solve_model(
    problem: L0GraphicalModel, solver: Solver, options: Mapping[str, Any], control: Control
) -> Result:
    """Answer for one budget: the one that was asked for, or the largest.

    Parameters
    ----------
    problem : L0GraphicalModel
    solver : Solver
    options : mapping
        Of the backend.
    control : Control

    Returns
    -------
    Result
    """
    params = control.params
    last = problem.last_budget(params.budget)
    with control.building():
        forms = node_forms(problem, solver.name)
        program = model_program(problem, forms, last)
    answer = solver.ask(
        program,
        control,
        options,
        rel_gap=GAP * params.rel_gap,
        abs_gap=GAP * params.abs_gap,
        start=_start(control.warm_start, problem, forms, last),
    )
    x = None
    if answer.x is not None:
        total = problem.total
        chosen = answer.x[total : 2 * total] > 0.5
        x = _refit(problem, forms, chosen) if np.count_nonzero(chosen) <= last else None
    return result_of(problem, answer, x, answer.bound, program.offset, control)


@dataclass(frozen=True, eq=False)
class NodeForm:
    """The loss of one node, beta'G beta - 2 g'beta + null, and bounds of its best coefficients.

    Attributes
    ----------
    G, g, null
    unit : array
        1 / sqrt(G_kk): coefficients of this size change the loss by 1.
    most : array
        Largest absolute coefficients of the best fits on all supports.
    """

    G: Array
    g: Array
    null: float
    unit: Array
    most: Array

    @classmethod
    def of(cls, problem: L0GraphicalModel, j: int, backend: str) -> NodeForm:
        """Form the Gram matrix of a node's candidates, and the bounds.

        Raises
        ------
        UnsupportedProblem
            When the candidates are nearly dependent.
        """
        n = problem.X.shape[0]
        ptr = problem.candidates.ptr
        columns = problem.columns(problem.candidates.index[ptr[j] : ptr[j + 1]])
        target = problem.columns(j)
        G = columns.T @ columns / n + problem.ridge * np.eye(columns.shape[1])
        g, null = columns.T @ target / n, float(target @ target / n)
        unit = 1.0 / np.sqrt(np.diagonal(G))
        if len(g) == 0:
            return cls(G, g, null, unit, np.zeros(0))
        R = G * unit[:, None] * unit
        if np.linalg.eigvalsh(R)[0] <= _DEPENDENT:
            raise UnsupportedProblem(
                f"candidates of node {j} are nearly dependent, which leaves {backend} without "
                "bounds of their coefficients: give a ridge, or use l0-tables"
            )
        inverse = np.linalg.inv(R)
        best = inverse @ (g * unit)
        gained = max(0.0, float(best @ (g * unit)))
        reach = np.abs(best) + np.sqrt(gained * np.diagonal(inverse))
        return cls(G, g, null, unit, 1.001 * np.maximum(reach, 1e-9) * unit)

    def fit(self, chosen: Array) -> Array:
        """Return the least squares fit on some of the candidates, zero on the others."""
        beta = np.zeros(len(self.g))
        at = np.flatnonzero(chosen)
        if len(at):
            unit = self.unit[at]
            R = self.G[np.ix_(at, at)] * unit[:, None] * unit
            beta[at] = np.linalg.lstsq(R, self.g[at] * unit, rcond=1e-12)[0] * unit
        return beta


def node_forms(problem: L0GraphicalModel, backend: str) -> list[NodeForm]:
    """Return the quadratics of all nodes; `backend` is the backend that messages name.

    Parameters
    ----------
    problem : L0GraphicalModel
    backend : str

    Returns
    -------
    list of NodeForm
    """
    return [NodeForm.of(problem, j, backend) for j in range(problem.X.shape[1])]


def model_program(problem: L0GraphicalModel, forms: list[NodeForm], budget: int) -> Program:
    """Return the program.

    The columns are coefficients divided by their bounds, and z.

    Parameters
    ----------
    problem : L0GraphicalModel
    forms : list of NodeForm
        One for each node.
    budget : int

    Returns
    -------
    Program
    """
    weights = problem.scaled(np.ones(len(forms)), np.arange(len(forms)))
    size = np.concatenate([form.most for form in forms])
    total = len(size)
    Q = sp.block_diag([w * form.G for w, form in zip(weights, forms, strict=True)], format="csc")
    Q = sp.diags_array(size) @ Q @ sp.diags_array(size)
    linear = np.concatenate([-2.0 * w * form.g for w, form in zip(weights, forms, strict=True)])
    eye = sp.identity(total)
    blocks: list[list[Any]] = [[eye, -eye], [-eye, -eye], [None, np.ones((1, total))]]
    z = np.arange(2 * total) >= total
    return Program(
        cost=np.append(linear * size, np.zeros(total)),
        low=np.where(z, 0.0, -1.0),
        high=np.ones(2 * total),
        matrix=sp.csc_array(sp.block_array(blocks, format="csc")),
        row_low=np.full(2 * total + 1, -np.inf),
        row_high=np.append(np.zeros(2 * total), float(budget)),
        offset=float(weights @ np.array([form.null for form in forms])),
        integer=z,
        quadratic=sp.csc_array(sp.block_diag([Q, sp.csc_array((total, total))], format="csc")),
    )


def _refit(problem: L0GraphicalModel, forms: list[NodeForm], chosen: Array) -> Array:
    ptr = problem.candidates.ptr
    parts = [form.fit(chosen[ptr[j] : ptr[j + 1]]) for j, form in enumerate(forms)]
    return np.concatenate(parts)


def _start(
    given: Any, problem: L0GraphicalModel, forms: list[NodeForm], budget: int
) -> Array | None:
    """Turn coefficients within the budget, refitted, into a point of the program."""
    x = warm_point(given, problem.total)
    if x is None or np.count_nonzero(x) > budget:
        return None
    chosen = x != 0.0
    size = np.concatenate([form.most for form in forms])
    return np.concatenate([_refit(problem, forms, chosen) / size, chosen.astype(float)])


def _refusal(problem: L0GraphicalModel, solver: Solver) -> str:
    """Return why a model is no mixed-integer quadratic program of a fair size, "" if it is."""
    if problem.loss != "gaussian" or problem.scaling == "nlogrss":
        return (
            f"{solver.name} takes graphical models with loss 'gaussian' and the scalings "
            f"'standardised' and 'rss', which are quadratic; this one has {problem.loss!r} and "
            f"{problem.scaling!r}: use l0-tables"
        )
    entries = float(np.square(problem.candidates.sizes.astype(float)).sum())
    if entries > 1e7:
        return (
            f"{solver.name} would form {entries:.1e} quadratic terms; use l0-tables or spica for "
            "models of this size"
        )
    return ""


MODELS = Formulation(
    L0GraphicalModel, solve_model, refusal=_refusal, chosen_up_to=("candidates", 100)
)
