"""Leaves of a search tree over supports, packed as the checker reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.result import Certificate

from ..bound.multipliers import Norms

if TYPE_CHECKING:
    from ..bound.multipliers import Multipliers
    from .frontier import Leaf

_BY_NORMS = -2
"""In place of the number of a pair."""


def pack_leaves(
    fixed_in: Sequence[Array], fixed_out: Sequence[Array], mu: Sequence[float] | Array
) -> Certificate:
    """Return the certificate "leaves" of sparseopt.checking.strs.verifier.

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


def pack_pairs(pairs: Sequence[Multipliers], scale: float) -> dict[str, Array]:
    """Return the pool of pairs (l, L) that leaves refer to, times a scale.

    Parameters
    ----------
    pairs : sequence of Multipliers
    scale : float
        From the units of the solver to those of the problem.
    """
    empty = np.zeros(0)
    return {
        "pair_ptr": np.cumsum([0, *(len(p.variables) for p in pairs)], dtype=np.int64),
        "pair_index": np.concatenate([empty, *(p.variables for p in pairs)]).astype(np.int64),
        "pair_l": np.concatenate([empty, *(p.l for p in pairs)]) * scale,
        "pair_L": np.concatenate([empty, *(p.L.ravel() for p in pairs)]) * scale,
    }


def certificate_of(leaves: list[Leaf], scale: float) -> Certificate:
    """Pack the leaves and the pool of pairs that they use, in the units of the problem.

    Parameters
    ----------
    leaves : list of Leaf
    scale : float
        What the engine divided the problem's values by.

    Returns
    -------
    Certificate
        Of kind "leaves".
    """
    pool: dict[int, int] = {}
    pairs: list[Multipliers] = []
    index = np.full(len(leaves), -1, dtype=np.int64)
    for k, leaf in enumerate(leaves):
        if leaf.multipliers is None:
            continue
        if isinstance(leaf.multipliers, Norms):
            index[k] = _BY_NORMS
            continue
        key = id(leaf.multipliers)
        if key not in pool:
            pool[key] = len(pairs)
            pairs.append(leaf.multipliers)
        index[k] = pool[key]
    plain = pack_leaves(
        [leaf.fixed_in for leaf in leaves],
        [leaf.fixed_out for leaf in leaves],
        np.array([leaf.mu for leaf in leaves]) * scale,
    )
    arrays = {**plain.arrays, "pair": index, **pack_pairs(pairs, scale)}
    return Certificate(kind=plain.kind, arrays=arrays)
