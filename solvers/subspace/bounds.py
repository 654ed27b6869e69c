r"""Lower bounds for every subspace of dimension k, from the dual of the convex relaxation.

.. math:: \min_P f(P) \ge \sum_i u_i'x_i - \lambda_1 - \dots - \lambda_k, \qquad \|u_i\| \le 1

with the largest eigenvalues of (X'U + U'X) / 2; the u_i add up to zero where the centre is
estimated. :mod:`sparseopt.checking.subspace` computes the same on its own.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sparseopt.backend import Control
from sparseopt.problems.base import Array
from sparseopt.problems.subspace.robust import RobustSubspace
from sparseopt.result import Certificate

from .settings import EXACT, INLIER, LEAST_DISTANCE, METRIC_STEPS, QUANTILE, RELAXED_STEP, ROUNDED
from .weighted import Flat, Proof, leading, scatter, weighted_mean

_TINY = float(np.finfo(float).tiny)


def dual_value(problem: RobustSubspace, directions: Callable[[slice, Array], Array]) -> float:
    """Return the bound of vectors u_i, in the problem's scaled unit.

    Parameters
    ----------
    problem : RobustSubspace
    directions : callable
        Gives the vectors of a range of rows, from the rows and their points, as an array alike.
        They need not be feasible: their mean is taken off where a centre is estimated, and they
        are shortened to length 1.
    """
    n, k = problem.X.shape[1], problem.k
    mean, longest = np.zeros(n), 1.0
    if problem.centre is not None:
        for rows, block in problem.blocks():
            mean += directions(rows, block).sum(axis=0)
        mean /= len(problem.X)
        for rows, block in problem.blocks():
            longest = max(longest, float(_lengths(directions(rows, block) - mean).max()))
    product, inner = np.zeros((n, n)), 0.0
    for rows, block in problem.blocks():
        U = (directions(rows, block) - mean) / longest
        U /= np.maximum(1.0, _lengths(U))[:, None]
        product += block.T @ U
        inner += float(np.vdot(block, U))
    return inner - float(leading(product + product.T, k)[0].sum()) / 2.0


def inlier_proof(problem: RobustSubspace, flat: Flat, distances: Array) -> Proof | None:
    r"""Return the bound that a subspace with exact inliers has, None where these do not span it.

    Points off the subspace take the direction of their residuals. The inliers' part across it is
    the least one that makes the cross term of X'U vanish: with coordinates z_i, and a last one of
    1 with an estimated centre, :math:`w_i = -G'z_i`,
    :math:`(\sum_{in} z_i z_i')\, G = \sum_{out} z_i u_i'`. Their part along it,
    :math:`t_i Y z_i / \|Y z_i\|` with :math:`t_i^2 = 1 - \|w_i\|^2`, makes the smallest eigenvalue
    of :math:`\sum z_i v_i'` large: Y minimises :math:`\sum t_i \|Y z_i\|` under tr Y = 1.

    Parameters
    ----------
    problem : RobustSubspace
    flat : Flat
    distances : array of shape (N,)
        From the subspace.
    """
    n, k, affine = problem.X.shape[1], problem.k, problem.centre is not None
    x = flat.answer(problem)
    W, shift = problem.basis_and_shift(x)
    far = max(float(_lengths(block).max()) for _, block in problem.blocks())
    inlier = distances <= INLIER * far
    coordinates, cross = [], np.zeros((k + affine, n))
    for rows, block in problem.blocks():
        points = block - shift
        z = points @ W
        lifted = np.hstack([z, np.ones((len(z), 1))]) if affine else z
        off = ~inlier[rows]
        residual = points[off] - z[off] @ W.T
        cross += lifted[off].T @ (residual / _lengths(residual)[:, None])
        coordinates.append(z[inlier[rows]])
    Z = np.vstack(coordinates)
    lifted = np.hstack([Z, np.ones((len(Z), 1))]) if affine else Z
    gram = lifted.T @ lifted
    if len(Z) < k + affine or np.linalg.matrix_rank(gram) < k + affine:
        return None
    G = np.linalg.solve(gram, cross)
    across = np.minimum(1.0, _lengths(lifted @ (G - (G @ W) @ W.T)))
    metric, middle = _metric(Z, np.sqrt(1.0 - across**2), affine)
    arrays = {"inlier": inlier, "cross": G, "metric": metric}
    if affine:
        arrays["middle"] = middle

    def directions(rows: slice, block: Array) -> Array:
        points, inside = block - shift, inlier[rows]
        z = points @ W
        U = points - z @ W.T
        U /= np.maximum(_lengths(U), _TINY)[:, None]
        z = z[inside]
        w = -(np.hstack([z, np.ones((len(z), 1))]) if affine else z) @ G
        w -= (w @ W) @ W.T
        w /= np.maximum(1.0, _lengths(w))[:, None]
        v = (z - middle) @ metric.T
        v *= (np.sqrt(np.maximum(0.0, 1.0 - _lengths(w) ** 2)) / np.maximum(_lengths(v), _TINY))[
            :, None
        ]
        U[inside] = w + v @ W.T
        return np.asarray(U)

    return Proof(dual_value(problem, directions), Certificate("inliers", arrays))


def _metric(Z: Array, t: Array, affine: bool) -> tuple[Array, Array]:
    """Minimise the sum of t_i |Y (z_i - middle)| over Y with trace 1, and the middle if affine.

    Given weights t_i / |Y (z_i - middle)|, the best Y is proportional to the inverse of the
    weighted scatter matrix, and the best middle is the weighted mean.
    """
    k = Z.shape[1]
    Y, middle = np.eye(k) / k, Z.mean(axis=0) if affine else np.zeros(k)
    for _ in range(METRIC_STEPS):
        lengths = _lengths((Z - middle) @ Y.T)
        longest = float(lengths.max())
        if longest <= _TINY / LEAST_DISTANCE:
            break  # no point is away from the middle
        weights = t / np.maximum(lengths, LEAST_DISTANCE * longest)
        if affine:
            middle = weights @ Z / max(float(weights.sum()), _TINY)
        centred = Z - middle
        inverse = np.linalg.pinv(centred.T @ (weights[:, None] * centred), hermitian=True)
        Y = inverse / max(float(np.trace(inverse)), _TINY)
    return Y, middle


class ProjectionRelaxation:
    r"""The convex relaxation over 0 <= P <= I with trace k, by iterated weights (Reaper).

    With weights the best I - P has the eigenvectors of the weighted scatter matrix, and the
    eigenvalues :math:`\min(1, \theta / \lambda_j)` that add up to n - k.

    Source: Lerman, McCoy, Tropp, Zhang: Robust computation of linear models by convex relaxation,
    algorithm 4.1.
    """

    def __init__(self, problem: RobustSubspace) -> None:
        self.problem = problem
        self.complement = np.eye(problem.X.shape[1])
        self.shift = np.zeros(problem.X.shape[1])
        self.iterations = 0
        self.proof: Proof | None = None

    def run(self, control: Control, limit: int) -> None:
        """Iterate until the value stands still with hardly any smoothing left.

        The smoothing falls with the 5% quantile of the distances, at most by half in an iteration
        (the dual vectors of the inliers need that time), and by a quarter where the value stands
        still. There the bound is computed; the best one is kept.

        Parameters
        ----------
        control : Control
        limit : int
            Iterations at most.
        """
        problem, N = self.problem, len(self.problem.X)
        distances = np.concatenate([_lengths(block) for _, block in problem.blocks()])
        median = max(float(np.median(distances)), LEAST_DISTANCE)
        floor, before = median, np.inf
        while self.iterations < limit and control.limit() is None:
            distances = self._step(distances, floor)
            value = float(distances.sum())
            control.progress("relaxation", objective=value * problem.unit)
            if before - value <= RELAXED_STEP * max(value, N * floor):
                self.keep(floor)
                if N * floor <= EXACT * value or floor <= LEAST_DISTANCE * median:
                    break
                floor, before = floor / 4.0, np.inf
            else:
                floor = max(floor / 2.0, min(floor, float(np.quantile(distances, QUANTILE))))
                before = value
            floor = max(floor, LEAST_DISTANCE * median)
        else:
            self.keep(floor)

    def _step(self, distances: Array, floor: float) -> Array:
        """Minimise the weighted sum of squares, and return the new distances."""
        problem = self.problem
        weights = 1.0 / np.maximum(distances, floor)
        self.shift = weighted_mean(problem, weights)
        values, vectors = np.linalg.eigh(scatter(problem, weights, self.shift))
        nu = _filled(values, problem.X.shape[1] - problem.k)
        self.complement = (vectors * nu) @ vectors.T
        self.iterations += 1
        return np.concatenate(
            [_lengths((b - self.shift) @ self.complement) for _, b in problem.blocks()]
        )

    def keep(self, floor: float) -> None:
        """Compute the bound by the directions of the residuals, and keep it if it is the best."""
        found = _relaxed_proof(self.problem, self.complement, self.shift, floor)
        if self.proof is None or found.bound > self.proof.bound:
            self.proof = found

    def flat(self) -> Flat:
        """Return the subspace that the relaxed projection is nearest to."""
        W = np.linalg.eigh(self.complement)[1][:, : self.problem.k]
        return Flat(np.ascontiguousarray(W), self.shift)


class Span:
    """A problem in coordinates of the span of its points, where that is of lower dimension.

    The relaxation's solution and the best subspace lie in the span, so that nothing is lost. An
    iteration there costs O(N r^2 + r^3) for a span of dimension r, in place of n.

    Attributes
    ----------
    problem : RobustSubspace
        With r coordinates; the given one where the points span everything, or a subspace of
        dimension k.
    """

    def __init__(self, problem: RobustSubspace) -> None:
        n = problem.X.shape[1]
        self._whole = self.problem = problem
        self._axes = np.eye(n)
        values, vectors = np.linalg.eigh(scatter(problem, np.ones(len(problem.X)), np.zeros(n)))
        axes = vectors[:, values > n * np.finfo(float).eps * values[-1]]
        if not problem.k < axes.shape[1] < n:
            return
        # A direction with a small variance is lost in the scatter matrix, but not in the points.
        for _, block in problem.blocks():
            rest = block - (block @ axes) @ axes.T
            if np.abs(rest).max() > ROUNDED * np.abs(block).max():
                return
        self._axes = axes
        X = np.vstack([(block @ axes) * problem.unit for _, block in problem.blocks()])
        self.problem = RobustSubspace(X, problem.k, centre=problem.centre)

    def lift(self, flat: Flat) -> Flat:
        """Return a subspace in the coordinates of the whole problem."""
        return Flat(self._axes @ flat.W, self._lift_shift(flat.shift))

    def lifted(self, proof: Proof | None) -> Proof | None:
        """Return the whole problem's bound from a proof of the relaxation, if there is one."""
        if proof is None or self.problem is self._whole:
            return proof
        arrays = proof.certificate.arrays
        shift = np.asarray(arrays.get("shift", np.zeros(self._axes.shape[1])))
        complement = self._axes @ np.asarray(arrays["complement"]) @ self._axes.T
        floor = float(proof.certificate.values["floor"]) * self.problem.unit / self._whole.unit
        return _relaxed_proof(self._whole, complement, self._lift_shift(shift), floor)

    def _lift_shift(self, shift: Array) -> Array:
        if self.problem is self._whole:
            return shift
        inner = self.problem
        return np.asarray(self._axes @ ((inner.origin + inner.unit * shift) / self._whole.unit))


def _relaxed_proof(problem: RobustSubspace, complement: Array, shift: Array, floor: float) -> Proof:
    """Return the bound by the directions of the residuals, complement (x_i - shift)."""

    def directions(rows: slice, block: Array) -> Array:
        R = (block - shift) @ complement.T
        return np.asarray(R / np.maximum(_lengths(R), floor)[:, None])

    arrays = {"complement": complement}
    if problem.centre is not None:
        arrays["shift"] = shift
    certificate = Certificate("relaxation", arrays, {"floor": float(floor)})
    return Proof(dual_value(problem, directions), certificate)


def _filled(values: Array, total: int) -> Array:
    """Return min(1, theta / values_j) with the sum `total`, for increasing values."""
    n = len(values)
    safe = np.maximum(values, _TINY * max(float(values[-1]), 1.0) * n)
    inverse = 1.0 / safe
    rest = np.cumsum(inverse[::-1])[::-1]
    for ones in range(total, -1, -1):
        theta = (total - ones) / rest[ones]
        if theta <= safe[ones] and (ones == 0 or theta >= safe[ones - 1]):
            return np.asarray(np.minimum(1.0, theta * inverse))
    return np.asarray(np.full(n, total / n))


def _lengths(rows: Array) -> Array:
    return np.asarray(np.linalg.norm(rows, axis=1))
