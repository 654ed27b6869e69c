"""What the solvers share: weighted principal components, and the result of a subspace."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sparseopt.backend import Backend
from sparseopt.params import SolveParams
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.subspace.robust import RobustSubspace
from sparseopt.proofs.distances import Sizes
from sparseopt.result import Certificate, Limit, Result, Status, relative_gap

from .settings import FEW_COORDINATES, ROUNDED


class Distances(Backend):
    """A method for the least sum of distances."""

    families: ClassVar[frozenset[str]] = frozenset({"subspace"})

    def supports(self, problem: Problem) -> tuple[bool, str]:
        """Take robust subspaces only."""
        if isinstance(problem, RobustSubspace):
            return True, ""
        return False, f"{self.name} takes robust-subspace problems only"


@dataclass(frozen=True, eq=False)
class Flat:
    """A linear or affine subspace, in the problem's unit and relative to its origin.

    Attributes
    ----------
    W : array of shape (n, k)
        Orthonormal.
    shift : array of shape (n,)
        A point of it.
    """

    W: Array
    shift: Array

    def answer(self, problem: RobustSubspace) -> Array:
        """Return the point x of the problem: W, and the centre beside it where there is one."""
        if problem.centre is None:
            return self.W
        return np.column_stack([self.W, problem.origin + problem.unit * self.shift])

    def distances(self, problem: RobustSubspace) -> Array:
        """Return the points' distances, shape (N,), in the problem's scaled unit."""
        return problem.distances(self.answer(problem)) / problem.unit

    def step_from(self, other: Flat) -> float:
        """Return the sine of the largest angle to the other subspace, and how far it moved."""
        across = self.W - other.W @ (other.W.T @ self.W)
        moved = self.shift - other.shift
        moved = moved - self.W @ (self.W.T @ moved)
        return float(np.linalg.norm(across, 2)) + float(np.linalg.norm(moved))


@dataclass(frozen=True, eq=False)
class Proof:
    """A lower bound of the problem's value, in its scaled unit, with its certificate."""

    bound: float
    certificate: Certificate


def weighted_mean(problem: RobustSubspace, weights: Array) -> Array:
    """Return the weighted mean of the points, shape (n,); 0 for a linear subspace."""
    mean = np.zeros(problem.X.shape[1])
    if problem.centre is not None:
        for rows, block in problem.blocks():
            mean += weights[rows] @ block
        mean /= weights.sum()
    return mean


def scatter(problem: RobustSubspace, weights: Array, mean: Array) -> Array:
    """Return the sum of w_i (x_i - mean)(x_i - mean)', shape (n, n). O(N n^2)."""
    n = problem.X.shape[1]
    S = np.zeros((n, n))
    for rows, block in problem.blocks():
        rooted = (block - mean) * np.sqrt(weights[rows])[:, None]
        S += rooted.T @ rooted
    return S


def principal(problem: RobustSubspace, weights: Array) -> Flat:
    """Return the subspace with the least weighted sum of squared distances.

    Parameters
    ----------
    problem : RobustSubspace
    weights : array of shape (N,)
        Nonnegative, not all 0.
    """
    mean = weighted_mean(problem, weights)
    S = scatter(problem, weights, mean)
    return Flat(np.ascontiguousarray(leading(S, problem.k)[1][:, ::-1]), mean)


def leading(S: Array, k: int) -> tuple[Array, Array]:
    """Return the k largest eigenvalues of a symmetric matrix, increasing, and their eigenvectors.

    LAPACK's search for some of them fails where they lie close together, or finds fewer, without
    an error; then all are computed.
    """
    n = len(S)
    if n > FEW_COORDINATES:
        # Its import takes as long as all eigenvectors of hundreds of small matrices.
        from scipy.linalg import eigh

        with suppress(np.linalg.LinAlgError):
            values, vectors = eigh(S, subset_by_index=[n - k, n - 1], driver="evr")
            if len(values) == k:
                return values, vectors
    values, vectors = np.linalg.eigh(S)
    return values[-k:], vectors[:, -k:]


def _rounding(problem: RobustSubspace) -> float:
    """Return what a proof may be off by; with a centre a sum of vectors that should be 0, too."""
    sizes = Sizes()
    for _, block in problem.blocks():
        sizes = sizes.with_block(block)
    return (1.0 if problem.centre is None else 2.0) * sizes.rounding(problem)


def as_result(
    problem: RobustSubspace,
    flat: Flat,
    params: SolveParams,
    *,
    proof: Proof | None = None,
    limit: Limit | None = None,
    iterations: int | None = None,
    note: str = "",
) -> Result:
    """Return the result of a subspace: OPTIMAL where its bound meets the value.

    Parameters
    ----------
    problem : RobustSubspace
    flat : Flat
    params : SolveParams
        Its gaps decide.
    proof : Proof, optional
    limit : Limit, optional
        What ended the solve.
    iterations : int, optional
    note : str
        What the method says of its end.
    """
    x = flat.answer(problem)
    objective, bound = problem.objective(x), None
    status = Status.CONVERGED if limit is None else Status.FEASIBLE
    if proof is not None:
        bound = min(objective, max(0.0, proof.bound - _rounding(problem)) * problem.unit)
        gap = relative_gap(objective, bound, problem.value_unit)
        within = gap is not None and gap <= params.rel_gap
        if not within and objective - bound <= ROUNDED * problem.spread:
            bound, within = objective, True
        if within or objective - bound <= params.abs_gap:
            status, limit = Status.OPTIMAL, None
    return Result(
        status=status,
        limit=limit,
        raw_status=note,
        x=x,
        objective=objective,
        bound=bound,
        iterations=iterations,
        certificate=None if proof is None else proof.certificate,
    )
