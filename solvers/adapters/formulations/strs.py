r"""The sparse trust-region subproblem as a nonconvex mixed-integer quadratic program.

.. math:: \max\; z'Az + a'z \quad\text{subject to}\quad z'z = 1,\; -s \le z \le s,\;
          \sum_i s_i \le d,\; s \in \{0, 1\}^D

and :math:`z_1 \ge 0` where a = 0, since -z is as good as z then. A and a are divided by their size
first: tolerances of solvers are absolute. Where d = D, A is shifted by its top eigenvalue, which
z'z = 1 makes a constant: that leaves one nonconvex row, and solves of hundredths of a second. With
a smaller d the shift slows solvers down, by up to ten times.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseopt.backend import Control
from sparseopt.problems.base import Array
from sparseopt.problems.strs.problem import STRS
from sparseopt.result import Result

from ...common.outcome import Answer
from ...common.program import Program, QuadraticRow
from ...common.spheres import refit
from ...common.warm_start import warm_point
from .base import GAP, Formulation, Solver, result_of


def solve_strs(
    problem: STRS, solver: Solver, options: Mapping[str, Any], control: Control
) -> Result:
    """Solve the problem as it stands; refit the incumbent on its support.

    Parameters
    ----------
    problem : STRS
    solver : Solver
    options : mapping
        Of the backend.
    control : Control

    Returns
    -------
    Result
    """
    size = max(float(np.abs(problem.A).max()), float(np.abs(problem.linear).max()))
    # A power of two, so that scaling does not round.
    scale = 2.0 ** round(math.log2(size)) if size > 0.0 else 1.0
    A, a, d = problem.A / scale, problem.linear / scale, problem.d
    with control.building():
        shifted = d == len(a) and solver.convex_objectives
        program = whole_sphere_program(A, a) if shifted else sphere_program(A, a, d)
    params = control.params
    answer = solver.ask(
        program,
        control,
        options,
        rel_gap=GAP * params.rel_gap,
        abs_gap=max(GAP * params.abs_gap / scale, 1e-10),
        start=_start(control.warm_start, A, a, d),
    )
    bound = None if answer.bound is None else -scale * answer.bound
    x = _point(answer, A, a, d)
    return result_of(problem, answer, x, bound, size, control)


def sphere_program(A: Array, a: Array, d: int) -> Program:
    """Return the program with the columns z, and s where d < D.

    Parameters
    ----------
    A : array of shape (D, D)
        Symmetric.
    a : array of shape (D,)
        The linear term.
    d : int
        Size of the support.

    Returns
    -------
    Program
    """
    D = len(a)
    count = D if d == D else 2 * D
    matrix = sp.csc_array((0, count))
    high = np.zeros(0)
    if d < D:
        eye = sp.identity(D)
        blocks: list[list[Any]] = [[eye, -eye], [-eye, -eye], [None, np.ones((1, D))]]
        matrix = sp.csc_array(sp.block_array(blocks, format="csc"))
        high = np.append(np.zeros(2 * D), float(d))
    z = np.arange(count) < D
    low = np.where(z, -1.0, 0.0)
    if not a.any():
        # Without a linear term -z is as good as z.
        low[0] = 0.0
    on = sp.csc_array(sp.diags_array(z.astype(float)))
    curved = sp.csc_array((count, count))
    if A.any():
        rows, columns = np.nonzero(A)
        curved = sp.csc_array((-A[rows, columns], (rows, columns)), shape=(count, count))
    return Program(
        cost=np.append(-a, np.zeros(count - D)),
        low=low,
        high=np.ones(count),
        matrix=matrix,
        row_low=np.full(len(high), -np.inf),
        row_high=high,
        integer=~z,
        quadratic=curved if curved.nnz else None,
        quadratic_rows=(QuadraticRow(on, np.zeros(count), 1.0, 1.0),),
    )


def whole_sphere_program(A: Array, a: Array) -> Program:
    """Return the program with the columns z alone, for d = D; its objective is convex.

    Parameters
    ----------
    A : array of shape (D, D)
        Symmetric.
    a : array of shape (D,)
        The linear term.

    Returns
    -------
    Program
    """
    D = len(a)
    top = float(np.linalg.eigvalsh(A)[-1])
    return replace(sphere_program(A - top * np.eye(D), a, D), offset=-top)


def _start(given: Any, A: Array, a: Array, d: int) -> Array | None:
    """Turn a warm start into a point of the program: its d largest entries, refitted."""
    z = warm_point(given, len(a))
    if z is None or not z.any():
        return None
    return _columns(_refitted(z, A, a, d), a, d)


def _columns(z: Array, a: Array, d: int) -> Array:
    if not a.any() and z[0] < 0.0:
        z = -z
    return z if d == len(z) else np.concatenate([z, (z != 0.0).astype(float)])


def _point(answer: Answer, A: Array, a: Array, d: int) -> Array | None:
    if answer.x is None or not answer.x[: len(a)].any():
        return None
    return _refitted(answer.x[: len(a)], A, a, d)


def _refitted(z: Array, A: Array, a: Array, d: int) -> Array:
    """Return the best point with the d largest entries of z as its support."""
    support = np.sort(np.argsort(-np.abs(z), kind="stable")[:d])
    return refit(A, a, support[None])[0].point(len(a))


SPHERE = Formulation(STRS, solve_strs, chosen_up_to=("D", 15))
