r"""Values and gradients that the searches over subspaces share.

The kernels are functions f of u'v, |u|^2 and |v|^2. A distribution with atoms v_j and shares a_j is
compared with the sample by them, and so are points projected onto a subspace.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable

import numpy as np

from sparseopt.backend import Control
from sparseopt.problems.base import Array
from sparseopt.problems.subspace.base import SubspaceProblem
from sparseopt.problems.subspace.distributions import (
    DistributionSubspace,
    MMDSubspace,
    MomentSubspace,
    pairs,
)
from sparseopt.problems.subspace.sufficient import SufficientReduction

from .quasi_newton import Objective, iterates
from .settings import EQUAL, MANY_POINTS, STATIONARY

Kernel = Callable[[Array, Array, Array], tuple[Array, Array, Array]]
"""f, df / d(u'v) and df / d|u|^2 from u'v (m, N), |u|^2 (m, 1) and |v|^2 (N,)."""


def objective_of(problem: SubspaceProblem) -> Objective:
    """Return the objective of a problem with its gradient.

    Parameters
    ----------
    problem : MomentSubspace, MMDSubspace or SufficientReduction
    """
    if isinstance(problem, DistributionSubspace):
        return _matched(problem)
    assert isinstance(problem, SufficientReduction)
    X = problem.X - problem.X.mean(axis=0)
    return explained(X, problem.targets, problem.bandwidth or 1.0, problem.ridge)


def kernel_of(problem: DistributionSubspace) -> Kernel:
    """Return the kernel by which a problem compares distributions."""
    if isinstance(problem, MMDSubspace):
        return gaussian(0.25 / problem.bandwidth**2)
    assert isinstance(problem, MomentSubspace)
    return _powers(np.asarray(problem.weights), problem.X.shape[1])


def gaussian(rate: float) -> Kernel:
    """Return the kernel exp(-rate |u - v|^2)."""

    def kernel(t: Array, p: Array, q: Array) -> tuple[Array, Array, Array]:
        f = np.exp(np.minimum(rate * (2.0 * t - p - q), 0.0))
        return f, 2.0 * rate * f, -rate * f

    return kernel


def _powers(weights: Array, n: int) -> Kernel:
    """Return the kernel sum of weights_s (u'v / n)^s, s = 1, 2, ..."""

    def kernel(t: Array, p: Array, q: Array) -> tuple[Array, Array, Array]:
        t = t / n
        f, slope = np.zeros_like(t), np.zeros_like(t)
        for weight in (*weights[::-1], 0.0):
            slope = slope * t + f
            f = f * t + weight
        return f, slope / n, np.zeros_like(t)

    return kernel


def squares(rows: Array) -> Array:
    """Return the squared lengths of rows."""
    return np.asarray(np.einsum("ij,ij->i", rows, rows))


def unit_of(X: Array) -> float:
    """Return the root mean square deviation of a coordinate, 1 for none."""
    return float(np.sqrt(X.var(axis=0).mean())) or 1.0


def _matched(problem: DistributionSubspace) -> Objective:
    """Return the objective of a distribution task. O(N^2 k + N n k)."""
    X, kernel, lengths = problem.X, kernel_of(problem), squares(problem.X)
    N = len(X)

    def objective(W: Array) -> tuple[float, Array]:
        Z, total, pull = X @ W, 0.0, np.zeros_like(W)
        for rows in pairs(N):
            f, slope, _ = kernel(Z[rows] @ Z.T, lengths[rows, None], lengths)
            total += float(f.sum())
            pull += X[rows].T @ (slope @ Z)
        return problem.whole - total / N**2, -2.0 / N**2 * pull

    return objective


def explained(X: Array, Y: Array, bandwidth: float, ridge: float) -> Objective:
    r"""Return :math:`\rho \operatorname{tr} Y'(H K_W H + N \rho I)^{-1} Y` and its gradient.

    O(N^3).

    Parameters
    ----------
    X : array of shape (N, n)
    Y : array of shape (N, outputs)
        Centred.
    bandwidth, ridge : float
        Of the kernel exp(-|z - z'|^2 / 2 h^2), and rho.
    """
    N = len(X)
    scaled = X / bandwidth
    # Matrices of this size are made once: to get their memory again takes longer than the sums.
    G, K = np.empty((2, N, N))
    diagonal = np.diag_indices(N)
    solve = np.linalg.solve if N < MANY_POINTS else _by_cholesky

    def objective(W: Array) -> tuple[float, Array]:
        Z = scaled @ W
        halves = 0.5 * squares(Z)
        np.matmul(Z, Z.T, out=G)
        np.subtract(G, halves, out=G)
        np.subtract(G, halves[:, None], out=G)
        np.exp(np.minimum(G, 0.0, out=G), out=G)
        means = G.mean(axis=0)
        np.subtract(G, means, out=K)
        np.add(K, (means.mean() - means)[:, None], out=K)
        K[diagonal] += N * ridge
        dual = solve(K, Y)
        np.matmul(dual, dual.T, out=K)
        pull = np.multiply(G, K, out=K)
        across = pull.sum(axis=1)[:, None] * Z - pull @ Z
        return float(ridge * np.vdot(Y, dual)), 2.0 * ridge * scaled.T @ across

    return objective


def _by_cholesky(K: Array, Y: Array) -> Array:
    """Return K^-1 Y for a positive definite K, which is overwritten."""
    from scipy.linalg import cho_factor, cho_solve

    factor = cho_factor(K.T, lower=True, overwrite_a=True, check_finite=False)
    return np.asarray(cho_solve(factor, Y, check_finite=False))


def lbfgs(
    value: Objective, start: Array, control: Control, limit: int, word: str
) -> tuple[Array, float, int]:
    """Return the end of L-BFGS, its value, and the number of iterations.

    Of points whose values are equal up to rounding errors it is the one with the least gradient:
    values tell points apart down to the square root of what they are rounded by only.

    Parameters
    ----------
    value : callable
        Gives value and gradient at a vector, in units in which a gradient of 1 is large.
    start : array of shape (m,)
    control : Control
        Ends the search.
    limit : int
        Iterations at most.
    word : str
        Of what is searched, for the listener.
    """
    best, steepest, steps = (start, np.inf), np.inf, 0

    def watched(x: Array) -> tuple[float, Array]:
        nonlocal best, steepest
        if np.isfinite(best[1]) and control.limit() is not None:
            raise _Ended
        found = value(x)
        steep = float(np.abs(found[1]).max(initial=0.0))
        rounding = EQUAL * (1.0 + abs(found[0]))
        if found[0] < best[1] - rounding or (found[0] <= best[1] + rounding and steep < steepest):
            best, steepest = (x.copy(), found[0]), steep
        return found

    with contextlib.suppress(_Ended):
        for _ in itertools.islice(iterates(watched, start, STATIONARY), limit):
            steps += 1
            control.progress(word, objective=best[1])
    return *best, steps


class _Ended(Exception):
    """A limit ended the search."""
