"""Subspaces of one weighted covariance matrix: principal components, and Tyler's estimator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from sparseopt.backend import Backend, Control, Feature, Option
from sparseopt.params import SolveParams
from sparseopt.problems.base import Problem
from sparseopt.problems.subspace.base import SubspaceProblem
from sparseopt.problems.subspace.entrywise import L1Subspace
from sparseopt.problems.subspace.robust import RobustSubspace
from sparseopt.problems.subspace.sufficient import SufficientReduction
from sparseopt.result import Result

from .inverse import leading
from .settings import LEAST_DISTANCE, TYLER_STEP
from .stiefel import answer
from .weighted import Distances, Flat, as_result, principal, scatter


class PrincipalComponents(Backend):
    """Principal component analysis: the least sum of squared distances. Not robust."""

    name: ClassVar[str] = "pca"
    summary: ClassVar[str] = "principal components, which minimise squared distances"
    factorises = True
    families: ClassVar[frozenset[str]] = frozenset({"subspace"})
    features: ClassVar[frozenset[Feature]] = frozenset({Feature.HEURISTIC})

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        if isinstance(problem, L1Subspace):
            squared = RobustSubspace(problem.X, problem.k, centre=problem.centre)
            x = principal(squared, np.ones(len(problem.X))).answer(squared)
            return answer(problem, x, control, iterations=1)
        if not isinstance(problem, RobustSubspace):
            assert isinstance(problem, SubspaceProblem)
            X = problem.X
            if isinstance(problem, SufficientReduction):
                X = X - X.mean(axis=0)
            return answer(problem, leading(X.T @ X, problem.k), control, iterations=1)
        flat = principal(problem, np.ones(len(problem.X)))
        return as_result(problem, flat, params, limit=control.limit(), iterations=1)


class Tyler(Distances):
    r"""The leading eigenvectors of Tyler's M-estimator of scatter.

    The matrix solves :math:`\Sigma = \frac{n}{N} \sum x_i x_i' / (x_i' \Sigma^{-1} x_i)`, found by
    fixed-point iteration; a small multiple of the identity keeps it regular where points lie in a
    subspace. An estimated centre is that of principal components with the weights 1 / distance.

    Source: Zhang: Robust subspace recovery by Tyler's M-estimator, Information and Inference 5
    (2016).
    """

    name: ClassVar[str] = "tyler"
    summary: ClassVar[str] = "leading eigenvectors of Tyler's M-estimator"
    factorises = True
    features: ClassVar[frozenset[Feature]] = frozenset({Feature.HEURISTIC})
    options: ClassVar[Mapping[str, Option]] = {
        "iterations": Option(int, 200, "fixed-point iterations at most", low=1),
        "ridge": Option(float, 1e-10, "multiple of the identity that is added", low=0.0),
    }

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        assert isinstance(problem, RobustSubspace)
        N, n = problem.X.shape
        shift = principal(problem, np.ones(N)).shift
        sigma, steps = np.eye(n) / n, 0
        while steps < options["iterations"] and control.limit() is None:
            steps += 1
            values, vectors = np.linalg.eigh(sigma)
            root = vectors / np.sqrt(np.maximum(values, np.finfo(float).tiny))
            weights = np.concatenate(
                [
                    1.0 / np.maximum(np.sum(((b - shift) @ root) ** 2, axis=1), LEAST_DISTANCE)
                    for _, b in problem.blocks()
                ]
            )
            after = scatter(problem, weights, shift)
            trace = float(np.trace(after))
            if not trace > 0.0:  # all points coincide
                break
            after = after / trace + options["ridge"] / n * np.eye(n)
            after /= np.trace(after)
            change = float(np.linalg.norm(after - sigma) / np.linalg.norm(sigma))
            sigma = after
            control.progress("fixed point", fraction=steps / options["iterations"])
            if change <= TYLER_STEP:
                break
        W = np.linalg.eigh(sigma)[1][:, ::-1][:, : problem.k]
        flat = Flat(np.ascontiguousarray(W), shift)
        return as_result(problem, flat, params, limit=control.limit(), iterations=steps)
