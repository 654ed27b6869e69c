"""The numbers that a path states, against the equations of its bases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sparseopt.checking.parametric.bases import Bases
from sparseopt.checking.parametric.layout import StoredPath
from sparseopt.checking.tolerances import COPY, STORED
from sparseopt.problems.base import Array

__all__ = ["Discrepancy", "stored_discrepancies"]


@dataclass(frozen=True)
class Discrepancy:
    """By how much stated numbers of a segment are off, to be compared with :data:`STORED`."""

    segment: int
    error: float
    message: str


def stored_discrepancies(
    path: StoredPath, here: slice, codes: Array, bases: Bases
) -> Iterator[Discrepancy]:
    """Compare the stated theta and nu of a chunk of segments with their bases.

    Variables at kinks and multipliers of rows on pieces are known numbers, which are only copied:
    they agree to 1e-12 of the segment's largest. The others solve the equations of the kernel, to a
    backward error of 1e-9. Values have rounding errors that come from the rates (at lam = 1000 a
    value may be the difference of two large numbers), and rates from the values: what changes no
    value on the segment by more than 1e-12 of such terms is let be.
    """
    p = bases.theta[0].shape[1]
    theta, nu = path.theta.dense(here), path.nu.dense(here)
    length = path.lengths(here)
    reach = path.low[here] + length
    noise = COPY / STORED
    copied = np.concatenate([(codes[:, :p] & 1) == 1, (codes[:, p:] & 1) == 0], axis=1)
    largest = np.stack([[np.abs(x).max(axis=1) for x in pair] for pair in (bases.theta, bases.nu)])
    sizes = (
        largest[:, 0] + reach * largest[:, 1],
        largest[:, 1] + largest[:, 0] / length,
    )
    for part, name in ((0, "value"), (1, "rate")):
        size = np.repeat(sizes[part].T, (p, codes.shape[1] - p), axis=1)
        stated = np.concatenate([theta[part], nu[part]], axis=1)
        expected = np.concatenate([bases.theta[part], bases.nu[part]], axis=1)
        wrong = copied & (np.abs(stated - expected) > COPY * size)
        if wrong.any():
            s, at = (int(k[0]) for k in np.nonzero(wrong))
            kind = f"variable {at}" if at < p else f"row {at - p}"
            yield Discrepancy(
                s,
                np.inf,
                f"the stated {name} {stated[s, at]:.17g} of {kind} is not {expected[s, at]:.17g}",
            )
    for s, system in enumerate(bases.systems):
        if system is None:
            continue
        x = np.stack([part[s, system.columns] for part in theta], axis=1)
        u = np.stack([part[s, system.rows] for part in nu], axis=1)
        errors = system.backward_errors(x, u, noise * reach[s], noise / length[s])
        for name, error in zip(("theta", "nu"), errors, strict=True):
            yield Discrepancy(
                s,
                error,
                f"the stated {name} does not solve the equations of its basis (backward error "
                f"{error:.3g})",
            )
