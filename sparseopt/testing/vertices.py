"""The optimum of a small parametric problem at one lam by looking at all vertices."""

from __future__ import annotations

import itertools

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.problems.parametric.pieces import Pieces
from sparseopt.problems.parametric.problem import ParametricProblem

__all__ = ["vertex_optimum"]

_FEASIBLE = 1e-9


def vertex_optimum(problem: ParametricProblem, lam: float) -> float:
    """Return the optimal value at lam, in the problem's own sense.

    A bounded problem attains its optimum where p linearly independent ones of its p + m
    coordinates (theta, A theta) are at kinks, provided the kinks have a vertex at all. All such
    points are tried: for p + m up to about 12.

    Parameters
    ----------
    problem : ParametricProblem
        Feasible and bounded at `lam`.
    lam : float
    """
    program = problem.canonical()
    m, p = program.A.shape
    rows = np.vstack([np.eye(p), program.A.matvec(np.eye(p))])
    kinks = [*_distinct(program.phi, lam), *_distinct(program.psi, lam)]
    low, high = (
        np.concatenate(pair)
        for pair in zip(program.phi.domain(lam), program.psi.domain(lam), strict=True)
    )
    slack = _FEASIBLE * (1.0 + max(float(np.abs(t).max()) for t in kinks))
    best = np.inf
    for chosen in itertools.combinations(range(p + m), p):
        system = rows[list(chosen)]
        if np.linalg.matrix_rank(system) < p:
            continue
        sides = np.array(list(itertools.product(*(kinks[i] for i in chosen)))).T
        for theta in np.linalg.solve(system, sides).T:
            z = rows @ theta
            if (z >= low - slack).all() and (z <= high + slack).all():
                best = min(best, program.value(theta, lam))
    return problem.canonical_sign * best


def _distinct(pieces: Pieces, lam: float) -> list[Array]:
    """Return the different kinks of each function."""
    kinks = pieces.kinks_at(lam)
    return [
        np.unique(kinks[begin:end])
        for begin, end in zip(pieces.ptr[:-1], pieces.ptr[1:], strict=True)
    ]
