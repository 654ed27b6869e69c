r"""The checker's own gradients of smooth subspace objectives, with respect to the basis W.

They are written from the problems' definitions, pair by pair of points, and share nothing with
the solvers.
"""

from __future__ import annotations

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.problems.subspace.base import SubspaceProblem
from sparseopt.problems.subspace.distributions import MMDSubspace, MomentSubspace, pairs
from sparseopt.problems.subspace.sufficient import SufficientReduction


def gradient_of(problem: SubspaceProblem, W: Array) -> Array:
    """Return the gradient of the objective at an orthonormal basis, shape (n, k).

    Parameters
    ----------
    problem : MomentSubspace, MMDSubspace or SufficientReduction
    W : array of shape (n, k)
    """
    if isinstance(problem, SufficientReduction):
        return _of_response(problem, W)
    N, X = len(problem.X), problem.X
    Z = X @ W
    gradient = np.zeros_like(W)
    for rows in pairs(N):
        if isinstance(problem, MomentSubspace):
            slopes = _of_moments(problem, Z[rows] @ Z.T)
        else:
            assert isinstance(problem, MMDSubspace)
            slopes = _of_kernel(problem, W, rows)
        gradient -= X[rows].T @ (slopes @ Z) + X.T @ (slopes.T @ Z[rows])
    return gradient / N**2


def _of_moments(problem: MomentSubspace, products: Array) -> Array:
    """Return the sum of s weights_s / n^s g^(s - 1)."""
    n = problem.X.shape[1]
    assert problem.weights is not None
    slopes = np.zeros_like(products)
    for order, weight in enumerate(problem.weights, start=1):
        slopes += order * weight / n**order * products ** (order - 1)
    return slopes


def _of_kernel(problem: MMDSubspace, W: Array, rows: slice) -> Array:
    """Return rho_i rho_j kappa(z_i - z_j) / 2h^2, by distances."""
    X = problem.X / problem.bandwidth
    Z = X @ W
    off = np.sum((X - Z @ W.T) ** 2, axis=1)
    apart = sum((Z[rows, j][:, None] - Z[:, j]) ** 2 for j in range(W.shape[1]))
    exponent = (off[rows][:, None] + off + apart) / 4.0
    return np.asarray(np.exp(-exponent) / (2.0 * problem.bandwidth**2))


def _of_response(problem: SufficientReduction, W: Array) -> Array:
    """Return the derivative of rho tr Y'(HKH + N rho I)^-1 Y, by -rho tr A'(dK)A."""
    h, rho = problem.bandwidth, problem.ridge
    assert h is not None
    # Differences alone count: those of centred points have more digits.
    X = problem.X - problem.X.mean(axis=0)
    N, Z = len(X), X @ W
    apart = sum((Z[:, j][:, None] - Z[:, j]) ** 2 for j in range(W.shape[1]))
    K = np.exp(-np.asarray(apart) / (2.0 * h**2))
    H = np.eye(N) - 1.0 / N
    A = np.linalg.solve(H @ K @ H + N * rho * np.eye(N), problem.targets)
    # dK_ij = -K_ij (z_i - z_j)'(dz_i - dz_j) / h^2, each pair twice.
    weights = rho / h**2 * K * (A @ A.T)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    return np.asarray(2.0 * X.T @ laplacian @ Z)
