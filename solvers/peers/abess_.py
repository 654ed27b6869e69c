"""abess, best-subset selection by splicing, as a heuristic for graphical models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from sparseopt.backend import Control, Feature
from sparseopt.problems.base import Array
from sparseopt.problems.budget.neighbourhoods import L0GraphicalModel
from sparseopt.result import Limit

from ..common.child import PYTHON
from . import jobs
from .supports import SupportsBackend, augmented


class Abess(SupportsBackend):
    """Neighbours of every size for each node by abess: linear or logistic regression.

    Splicing ends at a local optimum, with high probability the best, without a proof: the answer
    is CONVERGED, its bound that of the nodes' full fits. abess does not see the ridge of an Ising
    model, only the fit that follows does.

    References
    ----------
    Zhu, Wen, Zhu, Zhang, Wang (2020): A polynomial algorithm for best-subset selection problem.
    """

    name: ClassVar[str] = "abess"
    summary: ClassVar[str] = "abess' splicing for each node: near-optimal neighbours, no proof"
    requires: ClassVar[tuple[str, ...]] = ("abess",)
    extra: ClassVar[str | None] = "peers"
    families: ClassVar[frozenset[str]] = frozenset({"budget"})
    features: ClassVar[frozenset[Feature]] = frozenset({Feature.HEURISTIC, Feature.PATH})

    def _supports(
        self, problem: L0GraphicalModel, options: Mapping[str, Any], control: Control
    ) -> tuple[Array, Array] | Limit:
        if problem.loss == "gaussian":
            X, y = augmented(problem)
        else:
            X = np.asarray(problem.X, dtype=float)
            y = (X > 0.0).astype(float)
        arrays = {"X": X, "y": y, "ptr": problem.candidates.ptr, "index": problem.candidates.index}
        model = "linear" if problem.loss == "gaussian" else "logistic"
        found = PYTHON.run(jobs.abess, control, arrays, model=model)
        return found if isinstance(found, Limit) else (found["node"], found["support"])
