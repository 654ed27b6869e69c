"""What the engine leaves behind: the ranges of lam, the solutions, and the changes of basis."""

from __future__ import annotations

import numpy as np

from sparseopt.params import SolveParams
from sparseopt.problems.base import Array
from sparseopt.solvers.homotopy.candidates import Candidates
from sparseopt.solvers.homotopy.state import Segments

__all__ = ["Changes", "Recorder"]

Changes = list[tuple[Array, Array]]
"""Coordinates and their new codes, in the order of the changes."""

_NO_RULE = 1 << 60


class Recorder:
    """Collects the segments of a path in the program's coordinates, and knows the user's rules.

    Without `params` nothing is kept: for walks of which only the end matters.
    """

    def __init__(self, params: SolveParams | None = None) -> None:
        self.keeps = params is not None
        self.max_segments = (params.max_knots if params else None) or _NO_RULE
        self.max_nonzeros = params.max_nonzeros if params else None
        self.told = 0
        self.low: list[Array] = []
        self.high: list[Array] = []
        self.first: Array = np.zeros(0, dtype=np.int64)
        self.theta: list[tuple[Array, Array, Array]] = []
        self.nu: list[tuple[Array, Array, Array]] = []
        self.changes: list[tuple[Array, Array]] = []

    def nonzeros_left(self, candidates: Candidates) -> int:
        """Return how many nonzero candidates the rule allows, -1 without a rule."""
        if self.max_nonzeros is None:
            return -1
        return max(0, self.max_nonzeros - len(candidates.theta_rest[0]))

    def add(
        self, candidates: Candidates, segments: Segments, before: Array, pending: Changes
    ) -> None:
        """Record segments.

        Parameters
        ----------
        candidates : Candidates
            Whose indices the segments use.
        segments : Segments
        before : int array of shape (n,)
            Codes before the first of these segments (used for the very first one).
        pending : list of (coordinates, codes)
            Changes that were made without a segment, to go before the first one.
        """
        if len(segments.low) == 0:
            return
        if self.told == 0:
            self.first = before.copy()
        self.told += len(segments.low)
        if not self.keeps:
            return
        self.low.append(segments.low)
        self.high.append(segments.high)
        for names, rest, parts, out in (
            (candidates.columns, candidates.theta_rest, segments.theta, self.theta),
            (candidates.rows, candidates.nu_rest, segments.nu, self.nu),
        ):
            for lam, (index, value, rate) in zip(segments.low, parts, strict=True):
                part = (names[index], value, rate)
                out.append(part if len(rest[0]) == 0 else _with_rest(part, rest, lam))
        inside = candidates.inside
        moves = [(inside[index], code) for index, code in segments.changes]
        moves[0] = _joined([*pending, moves[0]])
        self.changes.extend(moves)


def _with_rest(
    part: tuple[Array, Array, Array], rest: tuple[Array, Array], lam: float
) -> tuple[Array, Array, Array]:
    index, pairs = rest
    return (
        np.concatenate([part[0], index]),
        np.concatenate([part[1], pairs[:, 0] + lam * pairs[:, 1]]),
        np.concatenate([part[2], pairs[:, 1]]),
    )


def _joined(changes: Changes) -> tuple[Array, Array]:
    """Join changes made one after another; of several codes of a coordinate the last one counts."""
    index = np.concatenate([part[0] for part in changes])
    code = np.concatenate([part[1] for part in changes])
    kept, where = np.unique(index[::-1], return_index=True)
    return kept, code[::-1][where]
