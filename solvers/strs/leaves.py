"""Leaves of a search tree over supports, packed as the checker reads them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.result import Certificate

__all__ = ["pack_leaves"]


def pack_leaves(
    fixed_in: Sequence[Array], fixed_out: Sequence[Array], mu: Sequence[float] | Array
) -> Certificate:
    """Return the certificate "leaves" of sparseopt.checking.strs.

    Parameters
    ----------
    fixed_in, fixed_out : sequences of integer arrays
        The variables that each leaf fixes.
    mu : sequence of float
        The multiplier of each leaf.
    """
    arrays: dict[str, Array] = {"mu": np.asarray(mu, dtype=float)}
    for name, rows in (("in", fixed_in), ("out", fixed_out)):
        arrays[f"{name}_ptr"] = np.cumsum([0, *(len(row) for row in rows)], dtype=np.int64)
        arrays[f"{name}_index"] = np.concatenate([*rows, np.zeros(0)]).astype(np.int64)
    return Certificate(kind="leaves", arrays=arrays)
