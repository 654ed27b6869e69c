"""The convex relaxation of the robust subspace by any of CVXPY's conic solvers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseopt.backend import Control
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import triangle
from sparseopt.problems.subspace.robust import RobustSubspace
from sparseopt.result import Result, Status

from ..subspace.bounds import ProjectionRelaxation, inlier_proof
from ..subspace.weighted import Flat, as_result, principal
from .conic import CvxpyConic

_FLOORS = tuple(10.0**-k for k in range(1, 13))
"""Smoothings of the dual vectors, relative to the mean distance; the best bound counts."""
_CLOSE = 1e-7
"""Distance, relative to the largest, up to which a point may lie in the subspace: conic solvers end
at 1e-8 of the scale."""


def relax_projection(
    problem: RobustSubspace, options: Mapping[str, Any], control: Control
) -> Result:
    r"""Minimise :math:`\sum \|x_i - P x_i - c\|` over :math:`0 \preceq P \preceq I`, tr P = k.

    c is 0 without an estimated centre. The answer is the subspace nearest to P, and the bound that
    of the residuals' directions, which does not trust the solver.

    Parameters
    ----------
    problem : RobustSubspace
    options : mapping
        Of the backend.
    control : Control

    Returns
    -------
    Result
    """
    conic = CvxpyConic.of(control, options)
    N, n = problem.X.shape
    with control.building():
        points = np.vstack([block for _, block in problem.blocks()])
        program = _program(points, problem.k, problem.centre is not None)
    limit = control.limit()
    found = None
    if limit is None:
        found = conic.run(*program, orders=[n + 1] * N, sizes=[n, n])
        limit = conic.limit
    if found is None or found.x is None:
        status = Status.NUMERICAL_ERROR if limit is None else Status.NO_SOLUTION
        return Result(status=status, limit=limit, raw_status=conic.word)
    relaxation = ProjectionRelaxation(problem)
    lines, columns = triangle(n)
    P = np.zeros((n, n))
    scale = np.where(lines == columns, 1.0, np.sqrt(0.5))
    P[lines, columns] = P[columns, lines] = scale * found.x[: len(lines)]
    relaxation.complement = np.eye(n) - P
    if problem.centre is not None:
        relaxation.shift = np.linalg.lstsq(relaxation.complement, found.x[-n:], rcond=1e-8)[0]
    rest = (points - relaxation.shift) @ relaxation.complement
    mean = max(float(np.linalg.norm(rest, axis=1).mean()), 1e-8)
    for floor in _FLOORS:
        relaxation.keep(floor * mean)
    flat = _through_close_points(problem, relaxation.flat())
    proofs = (relaxation.proof, inlier_proof(problem, flat, flat.distances(problem)))
    return as_result(
        problem,
        flat,
        control.params,
        proof=max((each for each in proofs if each is not None), key=lambda each: each.bound),
        limit=limit,
        iterations=conic.iterations,
        note=conic.word,
    )


def _through_close_points(problem: RobustSubspace, flat: Flat) -> Flat:
    """Return the subspace through the points next to it, if the sum of distances is less."""
    distances = flat.distances(problem)
    close = (distances <= _CLOSE * distances.max()).astype(np.float64)
    if close.sum() <= problem.k:
        return flat
    sharper = principal(problem, close)
    return sharper if sharper.distances(problem).sum() < distances.sum() else flat


def _program(X: Array, k: int, affine: bool) -> tuple[Array, sp.csc_array, Array, int, int]:
    """Return (q, C, b, equations, inequalities) in the entries of P, the lengths, and c."""
    N, n = X.shape
    lines, columns = triangle(n)
    packed = len(lines)
    diagonal = lines == columns
    scale = np.where(diagonal, 1.0, np.sqrt(0.5))
    entries = np.arange(packed)
    # P x in the packed entries p: (P x)_l += s p x_c, and (P x)_c += s p x_l off the diagonal.
    off = ~diagonal
    place = np.concatenate([lines, columns[off]])
    other = np.concatenate([columns, lines[off]])
    which = np.concatenate([entries, entries[off]])
    value = (np.concatenate([scale, scale[off]]) * X[:, other]).ravel()
    rows = ((n + 1) * np.arange(N)[:, None] + 1 + place).ravel()
    of_p = sp.csr_array((value, (rows, np.tile(which, N))), shape=(N * (n + 1), packed))
    heads = (n + 1) * np.arange(N)
    of_t = sp.csr_array((-np.ones(N), (heads, np.arange(N))), shape=(N * (n + 1), N))
    unit = np.vstack([np.zeros(n), np.eye(n)]) if affine else np.zeros((n + 1, 0))
    of_c = sp.csr_array(np.tile(unit, (N, 1)))
    width = of_c.shape[1]
    eye, none = sp.eye_array(packed), sp.csr_array((packed, N + width))
    trace = sp.csr_array(np.concatenate([diagonal.astype(float), np.zeros(N + width)])[None])
    C = sp.vstack(
        [trace, sp.hstack([of_p, of_t, of_c]), sp.hstack([-eye, none]), sp.hstack([eye, none])],
        format="csc",
    )
    ends = np.column_stack([np.zeros(N), X]).ravel()
    b = np.concatenate([[float(k)], ends, np.zeros(packed), diagonal.astype(float)])
    q = np.concatenate([np.zeros(packed), np.ones(N), np.zeros(width)])
    return q, sp.csc_array(C), b, 1, 0
