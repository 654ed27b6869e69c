"""The R package leaps: Furnival and Wilson's leaps and bounds, for graphical models."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from sparseopt.backend import Availability, Control, Feature
from sparseopt.errors import UnsupportedProblem
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.budget.neighbourhoods import L0GraphicalModel
from sparseopt.result import Limit, Result

from ..common.child import R, r_package
from .supports import SupportsBackend, augmented

_MOST = 50
_SOURCE = r"""
best_subsets <- function(X, y, ptr, index) {
  node <- support <- numeric(0)
  for (j in seq_len(length(ptr) - 1)) {
    count <- ptr[j + 1] - ptr[j]
    if (count < 2) next
    x <- X[, index[ptr[j] + seq_len(count)] + 1, drop = FALSE]
    found <- leaps::regsubsets(x, y[, j], nvmax = count, intercept = FALSE, really.big = TRUE)
    # The best subsets of 1, 2, ... columns, one after another; summary() fails at perfect fits.
    size <- rep(seq_len(count), seq_len(count))
    support <- c(support, tapply(2^(found$lopt[, 1] - 1), size, sum))
    node <- c(node, rep(j - 1, count))
  }
  list(node = node, support = support)
}
"""


class Leaps(SupportsBackend):
    """Exact subsets of all sizes for each Gaussian node by regsubsets; the budget is spent by us.

    A ridge becomes rows below the data. Candidates that depend on each other are refused: without
    an intercept, regsubsets miscounts them. The checker enumerates the subsets of up to 14
    candidates again; beyond, its claim is ``unproven``.

    References
    ----------
    Furnival, Wilson (1974): Regressions by leaps and bounds. Lumley: the R package leaps, after
    Miller's Fortran.
    """

    name: ClassVar[str] = "leaps"
    summary: ClassVar[str] = "R's leaps (through Rscript): exact subsets of Gaussian nodes"
    requires: ClassVar[tuple[str, ...]] = ()
    exact: ClassVar[bool] = True
    families: ClassVar[frozenset[str]] = frozenset({"budget"})
    features: ClassVar[frozenset[Feature]] = frozenset(
        {Feature.EXACT, Feature.PATH, Feature.DUAL_BOUND, Feature.CERTIFICATE}
    )

    def availability(self) -> Availability:
        """Ask for Rscript, and for the package."""
        return r_package("leaps")

    def supports(self, problem: Problem) -> tuple[bool, str]:
        """Take Gaussian models of at most 50 candidates for each node."""
        if isinstance(problem, L0GraphicalModel):
            if problem.loss != "gaussian":
                return False, f"{self.name} takes the loss 'gaussian', not {problem.loss!r}"
            most = int(problem.candidates.sizes.max())
            if most > _MOST:
                return False, f"a node has {most} candidates; {self.name} takes up to {_MOST}"
        return super().supports(problem)

    def _solve(self, *arguments: Any) -> Result:
        result = super()._solve(*arguments)
        return result.with_changes(versions={"leaps (R)": self.availability().version or ""})

    def _supports(
        self, problem: L0GraphicalModel, options: Mapping[str, Any], control: Control
    ) -> tuple[Array, Array] | Limit:
        X, y = augmented(problem)
        _check_rank(problem, X)
        ptr, index = problem.candidates.ptr, problem.candidates.index
        found = R.run("leaps", _SOURCE, "best_subsets", control, X=X, y=y, ptr=ptr, index=index)
        if isinstance(found, Limit):
            return found
        return np.rint(found["node"]).astype(np.int64), np.rint(found["support"]).astype(np.int64)


def _check_rank(problem: L0GraphicalModel, X: Array) -> None:
    for j, (first, last) in enumerate(pairwise(problem.candidates.ptr)):
        columns = X[:, problem.candidates.index[first:last]]
        if last > first and np.linalg.matrix_rank(columns) < last - first:
            raise UnsupportedProblem(
                f"leaps takes independent candidates only; those of node {j} are linearly "
                "dependent: give a ridge > 0, or take another backend"
            )
