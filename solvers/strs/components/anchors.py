"""Bounds of the supports of 2, 3, ..., d columns: each of them helps to locate the next ones.

With a bound of all supports of k - 1 columns, those of k columns that may exceed a target lie near
few columns, their anchors (:mod:`sparseopt.proofs.large_loadings`). Branch and bound over the union
of the anchors' lists bounds them, and so on. No other step sees more than the data and a table of
the largest products.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sparseopt.backend import Control
from sparseopt.problems.base import Array
from sparseopt.proofs.large_loadings import Loadings, TooMany
from sparseopt.result import Certificate

from ...common.spheres import Incumbent
from .elimination import ascend, sums_of_largest

SolveKernel = Callable[
    [Array, int, float, Incumbent | None], tuple[float, Certificate | None, Incumbent]
]
"""Bound the supports of k of some columns: (columns, k, gap, start) to (bound, leaves, best)."""

_CHECKED = 2e-9
"""Twice what the checker adds to a bound, relative to it."""
_STARTS = 16
"""Columns of large products from which supports of each size are sought."""


@dataclass(eq=False)
class AnchorProof:
    """What is proven of supports of each size.

    Attributes
    ----------
    upper : array of shape (d + 1,)
        Bounds of the supports of 0, ..., d columns.
    kernels : dict of int to int array
        For the sizes that were solved, the candidates.
    leaves : dict of int to Certificate
        Theirs, where there are k candidates or more.
    best : Incumbent
        Of d columns.
    """

    upper: Array
    best: Incumbent
    kernels: dict[int, Array] = field(default_factory=dict)
    leaves: dict[int, Certificate] = field(default_factory=dict)

    def arrays(self, unit: float) -> dict[str, Array]:
        """Return the arrays of the certificate but its threshold.

        Parameters
        ----------
        unit : float
            What bounds are multiplied by to be those of the problem.
        """
        sizes = sorted(self.kernels)
        arrays: dict[str, Array] = {
            "sizes": np.array(sizes, dtype=np.int64),
            "bounds": unit * self.upper[sizes],
        }
        for k in sizes:
            arrays[f"kernel_{k}"] = self.kernels[k].astype(np.int64)
            own = self.leaves[k].arrays if k in self.leaves else {}
            arrays |= {f"{name}_{k}": array for name, array in own.items()}
        return arrays


def prove_by_anchors(
    loadings: Loadings,
    best: Incumbent,
    d: int,
    limit: int,
    slack: float,
    solve: SolveKernel,
    control: Control,
) -> AnchorProof:
    """Bound the supports of 2, ..., d columns, until a limit is reached.

    Parameters
    ----------
    loadings : Loadings
    best : Incumbent
        Of d columns.
    d : int
    limit : int
        Candidates that the branch and bound takes at most.
    slack : float
        Gap of the bounds for less than d columns, as a part of their value for each column.
    solve : callable
    control : Control
    """
    proof = AnchorProof(sums_of_largest(loadings.squares, d), best)
    for k in range(2, d + 1):
        control.progress(f"bounds of {k} of {d} variables", fraction=k / d)
        u = max(float(proof.upper[k - 1]), float(proof.upper[1])) * (1.0 + _CHECKED)
        proof.upper[k] = min(proof.upper[k], loadings.averaged(k, u))
        if control.limit() is not None:
            continue
        found = proof.best if k == d else _incumbent(loadings, proof.best, k, control)
        target = max(found.value, u)
        try:
            kernel = loadings.candidates(k, u, target)
        except TooMany:
            continue
        if len(kernel) > limit:
            continue
        bound, leaves = target, None
        if len(kernel) >= k:
            start = found if np.isin(found.support, kernel).all() else None
            inner, leaves, better = solve(kernel, k, 0.0 if k == d else slack * target / k, start)
            bound = max(target, inner)
            if k == d and better.value > proof.best.value:
                proof.best = better
        if bound < proof.upper[k]:
            proof.upper[k], proof.kernels[k] = bound, kernel
            if leaves is not None:
                proof.leaves[k] = leaves
    return proof


def _incumbent(loadings: Loadings, best: Incumbent, k: int, control: Control) -> Incumbent:
    """Return a good support of k columns: from a larger one, and from rows with large products."""
    X = loadings.X
    rows = loadings.squares + loadings.largest[:, : k - 1].sum(axis=1)
    largest = np.argsort(-rows, kind="stable")[:_STARTS]
    starts = np.column_stack([X[:, best.support] @ best.z, X[:, largest]])
    return ascend(X, starts, k, control)
