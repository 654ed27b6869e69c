"""What the engine leaves behind: the ranges of lam, the solutions, and the changes of basis."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sparseopt.params import SolveParams
from sparseopt.problems.base import Array

from .candidates import Candidates
from .settings import NO_RULE
from .state import Entries, Segments

__all__ = ["Changes", "Recorder"]

Changes = list[tuple[Array, Array]]
"""Coordinates and their new codes, in the order of the changes."""


class Recorder:
    """Collects the segments of a path in the program's coordinates, and knows the user's rules.

    Without `params` nothing is kept: for walks of which only the end matters.
    """

    def __init__(self, params: SolveParams | None = None) -> None:
        self.keeps = params is not None
        self.max_segments = (params.max_knots if params else None) or NO_RULE
        self.max_nonzeros = params.max_nonzeros if params else None
        self.told = 0
        self.first: Array = np.zeros(0, dtype=np.int64)
        self.parts: list[Segments] = []
        self.changes: Changes = []

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
        if self.told == 0:
            self.first = before.copy()
        self.told += len(segments)
        if not self.keeps:
            return
        low = segments.low
        objective = segments.objective
        if len(candidates.nu_rest[0]):
            objective = objective + _shifted(candidates.objective_rest, low)
        theta = _in_program(segments.theta, candidates.columns, candidates.theta_rest, low)
        nu = _in_program(segments.nu, candidates.rows, candidates.nu_rest, low)
        self.parts.append(replace(segments, objective=objective, theta=theta, nu=nu))
        inside = candidates.inside
        moves = [segments.changes(s) for s in range(len(segments))]
        moves = [(inside[index], code) for index, code in moves]
        moves[0] = _joined([*pending, moves[0]])
        self.changes.extend(moves)


def _in_program(entries: Entries, names: Array, rest: tuple[Array, Array], low: Array) -> Entries:
    """Return the vectors in the program's coordinates, with the entries that rest."""
    index, pairs = rest
    renamed = Entries(entries.ptr, names[entries.index], entries.value, entries.rate)
    if len(index) == 0:
        return renamed
    count = len(low)
    at = np.repeat(entries.ptr[1:], len(index))
    return Entries(
        entries.ptr + len(index) * np.arange(count + 1),
        np.insert(renamed.index, at, np.tile(index, count)),
        np.insert(entries.value, at, (pairs[:, 0] + low[:, None] * pairs[:, 1]).ravel()),
        np.insert(entries.rate, at, np.tile(pairs[:, 1], count)),
    )


def _shifted(quadratic: Array, low: Array) -> Array:
    """Return a quadratic in lam as one in lam - low for each segment, shape (S, 3)."""
    q0, q1, q2 = quadratic
    return np.stack(
        [q0 + low * (q1 + low * q2), q1 + 2.0 * low * q2, np.full(len(low), q2)], axis=1
    )


def _joined(changes: Changes) -> tuple[Array, Array]:
    """Join changes made one after another; of several codes of a coordinate the last one counts."""
    index = np.concatenate([part[0] for part in changes])
    code = np.concatenate([part[1] for part in changes])
    kept, where = np.unique(index[::-1], return_index=True)
    return kept, code[::-1][where]
