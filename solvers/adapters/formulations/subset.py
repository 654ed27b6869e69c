r"""Regression with few nonzero coefficients as a mixed-integer quadratic program.

.. math:: \min \tfrac12 b'Gb - X'y \cdot b + \lambda_0 \sum_j z_j \quad\text{subject to}\quad
          |b_j| \le M_j z_j,\; \sum_j z_j \le k,\; z \text{ binary}, \qquad G = X'X + \rho I

An outside check of the branch and bound, for few columns. Each :math:`M_j` is the smallest of three
bounds that cut no optimum off: the problem's own; :math:`\|y\| / (2 \sqrt\rho)`, which the largest
singular value :math:`\sigma / (\sigma^2 + \rho)` of a ridge regression on any support gives; and
that of the ellipsoid

.. math:: (b - \hat b)' G (b - \hat b) \le \hat b' G \hat b, \qquad
          |b_j| \le |\hat b_j| + \sqrt{\hat b' G \hat b \, (G^{-1})_{jj}},
          \qquad \hat b = G^{-1} X'y,

outside of which b is worse than 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import lsq_linear

from sparseopt.backend import Control
from sparseopt.problems.base import Array
from sparseopt.problems.subset.problem import SparseRegression
from sparseopt.result import Result

from ...common.program import Program
from ...common.warm_start import warm_point
from .base import GAP, Formulation, Solver, result_of

_REGULAR = 1e-8
"""Smallest eigenvalue of G, relative to the largest, from which its inverse is used."""


def solve_supports(
    problem: SparseRegression, solver: Solver, options: Mapping[str, Any], control: Control
) -> Result:
    """Solve the program, and fit again on the support that it finds.

    Parameters
    ----------
    problem : SparseRegression
    solver : Solver
    options : mapping
        Of the backend.
    control : Control

    Returns
    -------
    Result
    """
    unit = 0.5 * float(problem.y @ problem.y) or 1.0
    with control.building():
        most = _largest(problem)
        program = _program(problem, most, unit)
    params = control.params
    answer = solver.ask(
        program,
        control,
        options,
        rel_gap=GAP * params.rel_gap,
        abs_gap=GAP * params.abs_gap / unit,
        start=_start(control.warm_start, problem, most),
    )
    x = None
    p = len(most)
    if answer.x is not None:
        chosen = answer.x[p:] > 0.5
        x = _fit(problem, chosen) if np.count_nonzero(chosen) <= problem.k else None
    bound = None if answer.bound is None else max(0.0, answer.bound * unit)
    return result_of(problem, answer, x, bound, unit, control)


def _largest(problem: SparseRegression) -> Array:
    """Return the bounds M_j, shape (p,)."""
    G = problem.X.T @ problem.X + problem.ridge * np.eye(problem.X.shape[1])
    most = np.full(len(G), problem.limit)
    if problem.ridge > 0.0:
        length = float(np.linalg.norm(problem.y))
        most = np.minimum(most, length / (2.0 * math.sqrt(problem.ridge)))
    values, vectors = np.linalg.eigh(G)
    if values[0] > _REGULAR * values[-1]:
        h = problem.X.T @ problem.y
        best = vectors @ ((vectors.T @ h) / values)
        spread = np.sqrt(max(0.0, float(best @ h)) * ((vectors**2) @ (1.0 / values)))
        most = np.minimum(most, 1.001 * (np.abs(best) + spread))
    least: Array = np.maximum(most, 1e-9 * float(most.max()))
    return least


def _program(problem: SparseRegression, most: Array, unit: float) -> Program:
    """Return the program; its columns are coefficients divided by their bounds, and z."""
    p = len(most)
    scaled = problem.X * most
    Q = (scaled.T @ scaled + np.diag(problem.ridge * most**2)) / (2.0 * unit)
    eye = sp.identity(p)
    blocks: list[list[Any]] = [[eye, -eye], [-eye, -eye], [None, np.ones((1, p))]]
    z = np.arange(2 * p) >= p
    curved = sp.block_diag([sp.csc_array(Q), sp.csc_array((p, p))], format="csc")
    return Program(
        cost=np.append(-(problem.y @ scaled), np.full(p, problem.penalty)) / unit,
        low=np.where(z, 0.0, -1.0),
        high=np.ones(2 * p),
        matrix=sp.csc_array(sp.block_array(blocks, format="csc")),
        row_low=np.full(2 * p + 1, -np.inf),
        row_high=np.append(np.zeros(2 * p), float(problem.k)),
        offset=0.5 * float(problem.y @ problem.y) / unit,
        integer=z,
        quadratic=sp.csc_array(curved) if Q.any() else None,
    )


def _fit(problem: SparseRegression, chosen: Array) -> Array:
    """Return the best coefficients on some of the columns, zero on the others."""
    b = np.zeros(len(chosen))
    at = np.flatnonzero(chosen)
    if len(at) == 0:
        return b
    A = np.vstack([problem.X[:, at], math.sqrt(problem.ridge) * np.eye(len(at))])
    y = np.append(problem.y, np.zeros(len(at)))
    b[at] = np.linalg.lstsq(A, y, rcond=None)[0]
    M = problem.limit
    if np.abs(b).max() > M:
        b[at] = lsq_linear(A, y, (-M, M), method="bvls", tol=1e-14).x
    return np.clip(b, -M, M)


def _start(given: Any, problem: SparseRegression, most: Array) -> Array | None:
    """Turn coefficients with few nonzeros, fitted again, into a point of the program."""
    x = warm_point(given, len(most))
    if x is None or np.count_nonzero(x) > problem.k:
        return None
    b = _fit(problem, x != 0.0)
    return np.concatenate([b / most, (b != 0.0).astype(float)])


def _refusal(problem: SparseRegression, solver: Solver) -> str:
    """Return why a matrix of inner products is too large, "" if it is not."""
    p = problem.X.shape[1]
    if p <= 3000:
        return ""
    return f"{solver.name} would form {p * p:.1e} quadratic terms; use subset-bnb for this size"


SUPPORTS = Formulation(SparseRegression, solve_supports, refusal=_refusal, chosen_up_to=("p", 100))
