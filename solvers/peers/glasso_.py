"""scikit-learn's graphical lasso as a heuristic for graphical models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from sparseopt.backend import Control, Feature, Option
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.budget.neighbourhoods import L0GraphicalModel
from sparseopt.result import Limit

from ..common.child import PYTHON
from . import jobs
from .supports import SupportsBackend, augmented

_MOST = 1000


class SklearnGraphicalLasso(SupportsBackend):
    r"""Neighbours by the nonzeros of sparse precision matrices, fitted by least squares.

    For a grid of :math:`\alpha`,

    .. math:: \max_{\Theta \succ 0} \log\det\Theta - \operatorname{tr}(R\Theta)
              - \alpha \sum_{i \ne j} |\Theta_{ij}|

    is solved with R the columns' second moments, scaled to a diagonal of ones (a ridge is added to
    them). The candidates of node j that are nonzero in row j are one of its sets. All pairs may be
    nonzero in the matrix, candidates or not. A heuristic: what it finds is CONVERGED.

    References
    ----------
    Friedman, Hastie, Tibshirani (2008): Sparse inverse covariance estimation with the graphical
    lasso.
    """

    name: ClassVar[str] = "sklearn-glasso"
    summary: ClassVar[str] = "scikit-learn's graphical lasso: neighbours by precision matrices"
    requires: ClassVar[tuple[str, ...]] = ("sklearn",)
    distribution: ClassVar[str | None] = "scikit-learn"
    extra: ClassVar[str | None] = "peers"
    families: ClassVar[frozenset[str]] = frozenset({"budget"})
    features: ClassVar[frozenset[Feature]] = frozenset({Feature.HEURISTIC, Feature.PATH})
    options: ClassVar[Mapping[str, Option]] = {
        "alphas": Option(int, 20, "Values of alpha, evenly spaced in their logarithms.", low=1),
        "ratio": Option(
            float, 0.01, "The last alpha over the first, at which no pair is left.", low=1e-6
        ),
    }

    def supports(self, problem: Problem) -> tuple[bool, str]:
        """Take Gaussian models of at most 1000 nodes, and 62 candidates for each."""
        if isinstance(problem, L0GraphicalModel):
            if problem.loss != "gaussian":
                return False, f"{self.name} takes the loss 'gaussian', not {problem.loss!r}"
            if problem.candidates.nodes > _MOST:
                return False, (
                    f"{self.name} works on dense matrices and takes at most {_MOST} nodes, "
                    f"not {problem.candidates.nodes}"
                )
        return super().supports(problem)

    def _supports(
        self, problem: L0GraphicalModel, options: Mapping[str, Any], control: Control
    ) -> tuple[Array, Array] | Limit:
        X, _ = augmented(problem)
        moments = X.T @ X
        scale = np.sqrt(np.diag(moments))
        arrays = {
            "R": moments / np.outer(scale, scale),
            "ptr": problem.candidates.ptr,
            "index": problem.candidates.index,
        }
        found = PYTHON.run(
            jobs.glasso, control, arrays, alphas=options["alphas"], ratio=options["ratio"]
        )
        return found if isinstance(found, Limit) else (found["node"], found["support"])
