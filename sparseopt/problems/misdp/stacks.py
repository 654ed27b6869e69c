"""Cones, blocks and indicators of a MISDP from the stacked arrays of a file."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.problems.base import Array
from sparseopt.problems.fields import as_names
from sparseopt.problems.misdp.cones import SecondOrderCone, SemidefiniteBlock
from sparseopt.problems.misdp.indicators import IndicatorConstraint


def unstack_cones(stack: list[Any] | None) -> list[SecondOrderCone]:
    """Return the cones of (F, g, sizes, rotated), stacked one below the other.

    Parameters
    ----------
    stack : list of (F, g, sizes, rotated), or None

    Returns
    -------
    list of SecondOrderCone
    """
    if stack is None:
        return []
    F, g, sizes, rotated = stack
    ends = _ends_of_parts("cones", F, g, np.asarray(sizes), np.asarray(rotated), sizes)
    return [
        SecondOrderCone(F[a:b], g[a:b], bool(turned))
        for a, b, turned in zip(ends[:-1], ends[1:], rotated, strict=True)
    ]


def unstack_blocks(stack: list[Any] | None, names: Any) -> list[SemidefiniteBlock]:
    """Return the blocks of (F, F0, sizes, rank_one), stacked one below the other.

    Parameters
    ----------
    stack : list of (F, F0, sizes, rank_one), or None
    names : list of str, or None
        Of the blocks.

    Returns
    -------
    list of SemidefiniteBlock
    """
    if stack is None:
        return []
    F, F0, sizes, rank_one = stack
    sizes = np.asarray(sizes)
    names = as_names(names, len(sizes)) or [""] * len(sizes)
    ends = _ends_of_parts("blocks", F, F0, sizes, np.asarray(rank_one), sizes * (sizes + 1) // 2)
    return [
        SemidefiniteBlock(F[a:b], F0[a:b], int(size), bool(one), name)
        for a, b, size, one, name in zip(ends[:-1], ends[1:], sizes, rank_one, names, strict=True)
    ]


def unstack_indicators(stack: list[Any] | None) -> list[IndicatorConstraint]:
    """Return the indicator constraints of (a, binary, lower, upper), one below the other.

    Parameters
    ----------
    stack : list of (a, binary, lower, upper), or None

    Returns
    -------
    list of IndicatorConstraint
    """
    if stack is None:
        return []
    a, *columns = stack
    binary, lower, upper = map(np.asarray, columns)
    if binary.ndim != 1 or binary.dtype.kind not in "iu":
        raise ProblemError("indicators_binary must be a vector of integers", "indicators_binary")
    for name, ends in (("indicators_lower", lower), ("indicators_upper", upper)):
        if ends.shape != binary.shape or ends.dtype.kind not in "iuf":
            raise ProblemError(f"{name} must hold {len(binary)} numbers", name)
    if np.ndim(a) != 2 or a.shape[0] != len(binary):
        raise ProblemError(
            f"indicators_a has shape {np.shape(a)}; expected {len(binary)} rows", "indicators_a"
        )
    return [
        IndicatorConstraint(int(j), a[[k]], float(lower[k]), float(upper[k]))
        for k, j in enumerate(binary)
    ]


def _ends_of_parts(
    name: str, F: Any, g: Any, sizes: Array, flags: Array, lengths: Array
) -> list[int]:
    """Return where each part of a stack begins and ends, after checking the layout."""
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or (sizes < 1).any():
        raise ProblemError(f"{name}_size must be a vector of integers >= 1", f"{name}_size")
    if flags.shape != sizes.shape or flags.dtype.kind != "b":
        raise ProblemError(f"{name}: expected one flag for each of {len(sizes)}", name)
    total = sum(int(length) for length in lengths)
    if np.ndim(F) != 2 or F.shape[0] != total or np.shape(g) != (total,):
        raise ProblemError(
            f"{name}: the sizes add up to {total} rows, the stack has the shapes {np.shape(F)} and "
            f"{np.shape(g)}",
            name,
        )
    return [0, *np.cumsum(lengths).tolist()]
