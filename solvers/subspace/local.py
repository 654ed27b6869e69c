"""Sufficient reduction by local linear fits (OPG, MAVE) and by kernels of the response (KDR)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from sparseopt.backend import Control, Option
from sparseopt.problems.base import Array
from sparseopt.problems.subspace.sufficient import SufficientReduction

from .inverse import DIRECTIONS, SufficientBackend, leading, whitening
from .objectives import explained, gaussian, squares
from .settings import SAME_SUBSPACE, SINGULAR
from .stiefel import descend

_PASSES = Option(int, 10, "passes, each with weights by the coordinates of the one before", low=1)


class OuterProductGradients(SufficientBackend):
    r"""Outer products of gradients of local linear fits.

    In whitened coordinates, weights are Gaussian in the distance of the reduced coordinates of the
    pass before, all coordinates in the first one; the bandwidth is
    :math:`2.34\, N^{-1/(d + 6)}` in d coordinates.

    Source: Xia, Tong, Li, Zhu: An adaptive estimation of dimension reduction space, Journal of the
    Royal Statistical Society B 64 (2002).
    """

    name: ClassVar[str] = "opg"
    summary: ClassVar[str] = "outer products of gradients of local linear fits"
    options: ClassVar[Mapping[str, Option]] = {"passes": _PASSES}

    def _find(
        self, problem: SufficientReduction, options: Mapping[str, Any], control: Control
    ) -> Array:
        Z, root = whitening(problem.X)
        W = np.eye(Z.shape[1])
        for _ in range(options["passes"]):
            _, slopes = _local_fits(Z, problem.targets, _weights(Z @ W), control)
            before, W = W, leading(np.einsum("jac,jbc->ab", slopes, slopes), problem.k)
            if control.limit() is not None or _same(W, before):
                break
        return np.asarray(np.linalg.qr(root @ W)[0])


class MinimumAverageVariance(SufficientBackend):
    r"""Minimum average variance estimation.

    .. math:: \min_W \sum_{ij} w_{ij} \big\| y_i - a_j - B_j' W'(z_i - z_j) \big\|^2

    in whitened coordinates, by turns over the local fits and over W, from outer products of
    gradients; the weights are those of :class:`OuterProductGradients`.

    Source: as there.
    """

    name: ClassVar[str] = "mave"
    summary: ClassVar[str] = "minimum average variance estimation"
    options: ClassVar[Mapping[str, Option]] = {"passes": _PASSES}

    def _find(
        self, problem: SufficientReduction, options: Mapping[str, Any], control: Control
    ) -> Array:
        (Z, root), Y, k = whitening(problem.X), problem.targets, problem.k
        N, n = Z.shape
        _, slopes = _local_fits(Z, Y, _weights(Z), control)
        W = leading(np.einsum("jac,jbc->ab", slopes, slopes), k)
        for _ in range(options["passes"]):
            weights = _weights(Z @ W)
            levels, slopes = _local_fits(Z @ W, Y, weights, control)
            matrix, right = np.zeros((k * n, k * n)), np.zeros((k, n))
            for j in range(N):
                if control.limit() is not None:
                    return np.asarray(np.linalg.qr(root @ W)[0])
                apart = (Z - Z[j]) * np.sqrt(weights[j])[:, None]
                rest = (Y - levels[j]) * np.sqrt(weights[j])[:, None]
                matrix += np.kron(slopes[j] @ slopes[j].T, apart.T @ apart)
                right += slopes[j] @ (rest.T @ apart)
            found = np.linalg.lstsq(matrix, right.ravel(), rcond=SINGULAR)[0]
            before, W = W, np.linalg.qr(found.reshape(k, n).T)[0]
            if _same(W, before):
                break
        return np.asarray(np.linalg.qr(root @ W)[0])


class KernelReduction(SufficientBackend):
    r"""Kernel dimension reduction.

    .. math:: \min_W \operatorname{tr} G_Y (G_W + N \epsilon I)^{-1}

    Both matrices are centred Gaussian kernels, that of y with the median of its distances; classes
    have the kernel that is 1 for equal ones. With a linear kernel of y this would be the problem's
    own objective. L-BFGS starts from the best of the classical directions.

    Source: Fukumizu, Bach, Jordan: Kernel dimension reduction in regression, Annals of Statistics
    37 (2009).
    """

    name: ClassVar[str] = "kdr"
    summary: ClassVar[str] = "kernel dimension reduction"
    options: ClassVar[Mapping[str, Option]] = {
        "iterations": Option(int, 100, "of L-BFGS at most", low=1),
        "epsilon": Option(float, 0.01, "ridge of the kernel of the coordinates", low=1e-12),
    }

    def _find(
        self, problem: SufficientReduction, options: Mapping[str, Any], control: Control
    ) -> Array:
        Y = problem.targets
        if problem.task == "regression":
            apart = np.abs(Y - Y.T)
            rate = 0.5 / max(float(np.median(apart[apart > 0.0])), SINGULAR) ** 2
            values, vectors = np.linalg.eigh(_centred(np.exp(-rate * apart**2)))
            kept = values > SINGULAR * values[-1]
            Y = vectors[:, kept] * np.sqrt(values[kept])
        unit = float(np.vdot(Y, Y)) / len(Y)
        assert problem.bandwidth is not None
        X = problem.X - problem.X.mean(axis=0)
        objective = explained(X, Y, problem.bandwidth, options["epsilon"])
        known = [find(problem) for find in DIRECTIONS]
        if control.limit() is not None:
            return known[0]
        start = min(known, key=lambda W: objective(W)[0])
        return descend(objective, start, unit, control, options["iterations"])[0]


def _weights(Z: Array) -> Array:
    """Return Gaussian weights of all pairs of points, shape (N, N)."""
    N, d = Z.shape
    width = 2.34 * N ** (-1.0 / (d + 6.0))
    lengths = squares(Z)
    found = gaussian(0.5 / width**2)(Z @ Z.T, lengths[:, None], lengths)[0]
    return np.asarray(found / found.sum(axis=1)[:, None])


def _local_fits(Z: Array, Y: Array, weights: Array, control: Control) -> tuple[Array, Array]:
    """Return intercepts (N, outputs) and slopes (N, d, outputs) of the linear fit at each point.

    A small ridge keeps points regular that have hardly any neighbours; a limit leaves zeros.
    """
    N, d = Z.shape
    levels, slopes = np.zeros((N, Y.shape[1])), np.zeros((N, d, Y.shape[1]))
    for j in range(N):
        if control.limit() is not None:
            break
        design = np.hstack([np.ones((N, 1)), Z - Z[j]])
        weighted = design.T * weights[j]
        gram = weighted @ design
        gram[np.diag_indices(d + 1)] += 1e-6
        found = np.linalg.solve(gram, weighted @ Y)
        levels[j], slopes[j] = found[0], found[1:]
    return levels, slopes


def _centred(K: Array) -> Array:
    means = K.mean(axis=0)
    return np.asarray(K - means - means[:, None] + means.mean())


def _same(W: Array, before: Array) -> bool:
    return W.shape == before.shape and bool(
        np.abs(W @ W.T - before @ before.T).max() <= SAME_SUBSPACE
    )
