r"""Sufficient reduction by moments of X given y: SIR, SAVE, DR and principal Hessian directions.

All have eigenvectors of a matrix M in whitened coordinates, :math:`z = \Sigma^{-1/2}(x - \bar x)`,
which are brought back by :math:`\Sigma^{-1/2}`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from sparseopt.backend import Backend, Control, Feature, Option
from sparseopt.params import SolveParams
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.subspace.sufficient import SufficientReduction
from sparseopt.result import Result, Status

from .settings import SINGULAR

_SLICES = Option(int, 10, "slices of a response; classes and few distinct values are taken", low=2)


class SufficientBackend(Backend):
    """A method for sufficient reduction that returns one basis, without a bound."""

    families: ClassVar[frozenset[str]] = frozenset({"subspace"})
    features: ClassVar[frozenset[Feature]] = frozenset({Feature.HEURISTIC})

    def supports(self, problem: Problem) -> tuple[bool, str]:
        """Take sufficient reductions only."""
        if isinstance(problem, SufficientReduction):
            return True, ""
        return False, f"{self.name} takes sufficient-reduction problems, which have a response"

    def _find(
        self, problem: SufficientReduction, options: Mapping[str, Any], control: Control
    ) -> Array:
        """Return a basis of shape (n, k)."""
        raise NotImplementedError

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        assert isinstance(problem, SufficientReduction)
        W = self._find(problem, options, control)
        limit = control.limit()
        status = Status.CONVERGED if limit is None else Status.FEASIBLE
        return Result(status=status, limit=limit, x=W, objective=problem.objective(W))


class _Inverse(SufficientBackend):
    """The leading eigenvectors of one matrix."""

    matrix: ClassVar[Callable[..., Array]]
    options: ClassVar[Mapping[str, Option]] = {"slices": _SLICES}

    def _find(
        self, problem: SufficientReduction, options: Mapping[str, Any], control: Control
    ) -> Array:
        return _directions(type(self).matrix, problem, problem.k, options.get("slices", 0))


def leading(matrix: Array, k: int) -> Array:
    """Return eigenvectors of the k largest eigenvalues of a symmetric matrix, shape (n, k)."""
    return np.ascontiguousarray(np.linalg.eigh(matrix)[1][:, ::-1][:, :k])


def whitening(X: Array) -> tuple[Array, Array]:
    """Return the whitened points, shape (N, n), and the matrix Sigma^(-1/2), of shape (n, n).

    Directions without variance, such as constant columns, are left out: 0 in both.
    """
    centred = X - X.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred / len(X))
    kept = values > SINGULAR * max(float(values[-1]), 0.0)
    roots = np.where(kept, 1.0 / np.sqrt(np.where(kept, values, 1.0)), 0.0)
    root = (vectors * roots) @ vectors.T
    return centred @ root, root


def _directions(
    matrix: Callable[..., Array], problem: SufficientReduction, k: int, slices: int
) -> Array:
    Z, root = whitening(problem.X)
    W = leading(matrix(Z, problem, slices), k)
    return np.asarray(np.linalg.qr(root @ W)[0])


def _slices(problem: SufficientReduction, count: int) -> list[Array]:
    """Return the rows of each slice: those of one value where there are few, else equal counts."""
    values, label = np.unique(problem.y, return_inverse=True)
    if problem.task == "classification" or len(values) <= count:
        return [np.flatnonzero(label == value) for value in range(len(values))]
    order = np.argsort(problem.y, kind="stable")
    return [part for part in np.array_split(order, count) if len(part)]


def _sliced_moments(
    Z: Array, problem: SufficientReduction, slices: int
) -> list[tuple[float, Array, Array]]:
    """Return the share, the mean and the second moments about 0 of Z in each slice."""
    return [
        (len(rows) / len(Z), Z[rows].mean(axis=0), Z[rows].T @ Z[rows] / len(rows))
        for rows in _slices(problem, slices)
    ]


def _sir(Z: Array, problem: SufficientReduction, slices: int) -> Array:
    return np.asarray(sum(p * np.outer(m, m) for p, m, _ in _sliced_moments(Z, problem, slices)))


def _save(Z: Array, problem: SufficientReduction, slices: int) -> Array:
    whole, found = Z.T @ Z / len(Z), np.zeros((Z.shape[1],) * 2)
    for share, mean, second in _sliced_moments(Z, problem, slices):
        # The unbiased covariance of a slice; that of a single point is 0.
        points = share * len(Z)
        rest = whole - (second - np.outer(mean, mean)) * points / max(points - 1.0, 1.0)
        found += share * rest @ rest
    return found


def _dr(Z: Array, problem: SufficientReduction, slices: int) -> Array:
    found = _sliced_moments(Z, problem, slices)
    between = np.asarray(sum(p * np.outer(m, m) for p, m, _ in found))
    squared = np.asarray(sum(p * S @ S for p, _, S in found))
    whole = Z.T @ Z / len(Z)
    return np.asarray(2.0 * (squared + between @ between + np.trace(between) * between - whole))


def _phd(Z: Array, problem: SufficientReduction, slices: int) -> Array:
    hessians = [Z.T @ (y[:, None] * Z) / len(Z) for y in problem.targets.T]
    return np.asarray(sum(H @ H for H in hessians))


class SlicedInverse(_Inverse):
    r"""Sliced inverse regression: M = Cov E(z | y).

    Source: Li: Sliced inverse regression for dimension reduction, JASA 86 (1991).
    """

    name: ClassVar[str] = "sir"
    summary: ClassVar[str] = "sliced inverse regression"
    matrix: ClassVar[Callable[..., Array]] = _sir


class SlicedAverageVariance(_Inverse):
    """Sliced average variance estimation: M = E (I - Var(z | y))^2.

    Source: Cook, Weisberg: discussion of Li (1991), JASA 86.
    """

    name: ClassVar[str] = "save"
    summary: ClassVar[str] = "sliced average variance estimation"
    matrix: ClassVar[Callable[..., Array]] = _save


class DirectionalRegression(_Inverse):
    """Directional regression: M from the differences z - z' given y and y'.

    Source: Li, Wang: On directional regression for dimension reduction, JASA 102 (2007).
    """

    name: ClassVar[str] = "dr"
    summary: ClassVar[str] = "directional regression"
    matrix: ClassVar[Callable[..., Array]] = _dr


class HessianDirections(_Inverse):
    """Principal Hessian directions, of the response itself: M = (E (y - E y) z z')^2.

    Source: Li: On principal Hessian directions for data visualization and dimension reduction,
    JASA 87 (1992).
    """

    name: ClassVar[str] = "phd"
    summary: ClassVar[str] = "principal Hessian directions"
    options: ClassVar[Mapping[str, Option]] = {}
    matrix: ClassVar[Callable[..., Array]] = _phd


def _known(matrix: Callable[..., Array]) -> Callable[[SufficientReduction], Array]:
    return lambda problem: _directions(matrix, problem, problem.k, _SLICES.default)


DIRECTIONS = tuple(_known(matrix) for matrix in (_sir, _save, _dr, _phd))
"""Methods that take milliseconds, as starts for others."""
