"""scikit-learn's LARS as a heuristic for graphical models: neighbourhoods by the lasso."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from sparseopt.backend import Control, Feature, Option
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.budget.neighbourhoods import L0GraphicalModel
from sparseopt.result import Limit

from ..common.child import PYTHON
from . import jobs
from .supports import SupportsBackend, augmented


class SklearnLars(SupportsBackend):
    """Neighbourhood selection: the supports on each node's lasso path, fitted by least squares.

    The lasso's supports need not be the best ones: a heuristic, the classical one for such
    graphs, and what it finds is CONVERGED.

    References
    ----------
    Meinshausen, Buhlmann (2006): High-dimensional graphs and variable selection with the lasso.
    """

    name: ClassVar[str] = "sklearn-lars"
    summary: ClassVar[str] = "scikit-learn's lars_path for each node: neighbourhoods by the lasso"
    requires: ClassVar[tuple[str, ...]] = ("sklearn",)
    distribution: ClassVar[str | None] = "scikit-learn"
    extra: ClassVar[str | None] = "peers"
    families: ClassVar[frozenset[str]] = frozenset({"budget"})
    features: ClassVar[frozenset[Feature]] = frozenset({Feature.HEURISTIC, Feature.PATH})
    options: ClassVar[Mapping[str, Option]] = {
        "method": Option(
            str, "lasso", "Lasso path, or plain least angle regression.", choices=("lasso", "lar")
        )
    }

    def supports(self, problem: Problem) -> tuple[bool, str]:
        """Take Gaussian models of at most 62 candidates for each node."""
        if isinstance(problem, L0GraphicalModel) and problem.loss != "gaussian":
            return False, f"{self.name} takes the loss 'gaussian', not {problem.loss!r}"
        return super().supports(problem)

    def _supports(
        self, problem: L0GraphicalModel, options: Mapping[str, Any], control: Control
    ) -> tuple[Array, Array] | Limit:
        X, y = augmented(problem)
        arrays = {"X": X, "y": y, "ptr": problem.candidates.ptr, "index": problem.candidates.index}
        found = PYTHON.run(jobs.lars, control, arrays, method=options["method"])
        return found if isinstance(found, Limit) else (found["node"], found["support"])
