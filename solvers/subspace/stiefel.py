"""Local searches over the manifold of subspaces, for any objective of the family."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from sparseopt.backend import Backend, Control, Feature, Option
from sparseopt.params import SolveParams
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.subspace.base import CentredSubspace, SubspaceProblem
from sparseopt.problems.subspace.sufficient import SufficientReduction
from sparseopt.result import Result, Status

from ..common.warm_start import warm_point
from .inverse import DIRECTIONS, leading
from .objectives import lbfgs, objective_of
from .quasi_newton import Objective


class SubspaceSearch(Backend):
    r"""Minimise over orthonormal bases by L-BFGS, from several starts.

    The variables are any n x k matrix A, whose polar factor :math:`W = A (A'A)^{-1/2}` is the
    basis. Objectives depend on WW' only, so the gradient with respect to A is
    :math:`(I - WW') \nabla f(W) (A'A)^{-1/2}`. Starts are principal components, and for a response
    the classical directions; the best of them, and random ones.
    """

    name: ClassVar[str] = "stiefel"
    summary: ClassVar[str] = "L-BFGS over the manifold of subspaces, from several starts"
    families: ClassVar[frozenset[str]] = frozenset({"subspace"})
    features: ClassVar[frozenset[Feature]] = frozenset({Feature.HEURISTIC, Feature.WARM_START})
    options: ClassVar[Mapping[str, Option]] = {
        "iterations": Option(int, 500, "iterations from each start at most", low=1),
        "starts": Option(int, 2, "starts: the best of known and of random subspaces", low=1),
        "draws": Option(int, 10, "random subspaces to choose from", low=0),
        "seed": Option(int, 0, "of the random starts", low=0),
    }

    def supports(self, problem: Problem) -> tuple[bool, str]:
        """Take the problems of the family with a smooth objective."""
        if isinstance(problem, CentredSubspace):
            return False, f"{self.name} is for smooth objectives: use irls or l1-alternating"
        return super().supports(problem)

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        assert isinstance(problem, SubspaceProblem)
        objective, best, value, steps = objective_of(problem), None, np.inf, 0
        unit = max(problem.objective_scale(problem.X[: problem.k].T), np.finfo(float).tiny)
        for start in _starts(problem, objective, options, control):
            W, found, done = descend(objective, start, unit, control, options["iterations"])
            steps += done
            if best is None or found < value:
                best, value = W, found
            if control.limit() is not None:
                break
        assert best is not None
        return answer(problem, best, control, iterations=steps)


def polar(A: Array) -> tuple[Array, Array]:
    """Return the orthonormal factor of a matrix, and the inverse of (A'A)^(1/2).

    Parameters
    ----------
    A : array of shape (n, k)
        Of rank k.

    Returns
    -------
    arrays of shapes (n, k) and (k, k)
    """
    U, sizes, V = np.linalg.svd(A, full_matrices=False)
    return U @ V, (V.T / sizes) @ V


def descend(
    objective: Objective, W: Array, unit: float, control: Control, limit: int
) -> tuple[Array, float, int]:
    """Return the end of L-BFGS from W, its value, and the number of iterations.

    Parameters
    ----------
    objective : Objective
    W : array of shape (n, k)
        Orthonormal.
    unit : float
        What values and gradients are divided by.
    control : Control
    limit : int
        Iterations at most.
    """

    def pulled_back(a: Array) -> tuple[float, Array]:
        Q, root = polar(a.reshape(W.shape))
        value, gradient = objective(Q)
        across = gradient - Q @ (Q.T @ gradient)
        return value / unit, (across @ root).ravel() / unit

    found, value, steps = lbfgs(pulled_back, W.ravel(), control, limit, "descent")
    return polar(found.reshape(W.shape))[0], value * unit, steps


def answer(problem: SubspaceProblem, W: Array, control: Control, iterations: int) -> Result:
    """Return the result of a basis: nothing is proven of it.

    Parameters
    ----------
    problem : SubspaceProblem
    W : array of shape (n, k)
        Orthonormal.
    control : Control
    iterations : int
    """
    limit = control.limit()
    return Result(
        status=Status.CONVERGED if limit is None else Status.FEASIBLE,
        limit=limit,
        x=W,
        objective=problem.objective(W),
        iterations=iterations,
    )


def _starts(
    problem: SubspaceProblem, objective: Objective, options: Mapping[str, Any], control: Control
) -> list[Array]:
    """Return the warm start alone, or the best of known subspaces and random ones.

    Random ones contain k of the points, so that points close to a line find it.
    """
    k = problem.k
    warm = warm_point(control.warm_start, problem.X.shape[1], problem.columns)
    if warm is not None:
        return [np.linalg.qr(problem.basis(warm))[0]]
    rng = np.random.default_rng(options["seed"])
    centred = problem.X - problem.X.mean(axis=0)
    known = [leading(problem.X.T @ problem.X, k), leading(centred.T @ centred, k)]
    if isinstance(problem, SufficientReduction):
        known += [find(problem) for find in DIRECTIONS]
    known += [
        np.linalg.qr(problem.X[rng.choice(len(problem.X), k, replace=False)].T)[0]
        for _ in range(options["draws"])
    ]
    values: list[float] = []
    for W in known:
        values.append(objective(W)[0])
        if control.limit() is not None:
            break
    return [known[i] for i in np.argsort(values, kind="stable")[: options["starts"]]]
