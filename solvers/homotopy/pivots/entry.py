"""Python's one entry into the compiled pivots.

What Python calls is linked, optimized and made machine code of together with all that it calls.
Pivots, refreshes and whole columns share most of that, so one function does whatever is asked for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparseopt.compiling import by_address
from sparseopt.problems.base import Array

from ...common.compiled import compiled
from .columns import Column, FirstBasis, follow_columns
from .core import advance
from .refresh import perturb, refresh, steepness_of
from .tableau import DenseProgram, Records, Tableau

ADVANCE, REFRESH, PERTURB, STEEPNESS, COLUMNS = range(5)
"""What is asked for: :func:`~core.advance`, :func:`~refresh.refresh`, :func:`~refresh.perturb`,
:func:`~refresh.steepness_of` or :func:`~columns.follow_columns`."""


@by_address
class Columns(NamedTuple):
    """What :func:`~columns.follow_columns` alone takes."""

    first: FirstBasis
    ended: Column
    stop: Array


def _no_columns() -> Columns:
    none, nothing, flat = np.zeros(0, np.int64), np.zeros(0), np.zeros((0, 0))
    first = FirstBasis(none, flat, nothing, none, flat, flat, flat)
    return Columns(first, Column(none, none, none, flat, nothing), none)


NO_COLUMNS = _no_columns()
"""Stands for them elsewhere."""


@compiled
def run(
    task: int, program: DenseProgram, tableau: Tableau, records: Records, columns: Columns,
    end: float, centre: float, number: int, seed: int, max_segments: int, max_nonzeros: int,
) -> float:  # fmt: skip
    """Do one of the tasks, each with those of the arguments that it takes; return what it returns.

    Parameters
    ----------
    task : int
        One of :data:`ADVANCE`, ...
    program, tableau, records, columns
    end, centre : float
    number : int
        How many pivots, or the first column.
    seed, max_segments, max_nonzeros : int

    Returns
    -------
    float
        An integer, but for :data:`STEEPNESS`; 0 where there is nothing to return.
    """
    if task == ADVANCE:
        return float(
            advance(
                program, tableau, records, end, centre, number, max_segments, max_nonzeros
            )
        )  # fmt: skip
    if task == REFRESH:
        return float(refresh(program, tableau))
    if task == STEEPNESS:
        return float(steepness_of(program, tableau))
    if task == COLUMNS:
        return float(
            follow_columns(
                program, columns.first, tableau, records, columns.ended, columns.stop, number, end,
                seed, max_segments, max_nonzeros,
            )
        )  # fmt: skip
    perturb(program, tableau, seed)
    return 0.0
