"""Small random problems some of whose integer variables have columns that are multiples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from small_misdps import POINTS, draw

from sparseopt.problems import MISDP

KINDS = ((1,), (2,), (1, 1), (2, 3), (3,), (1, 2))
"""Multiples that are added: those that leave a hole among the values are (3,) and nothing else."""


def draw_with_multiples(seed: int) -> MISDP:
    """Return the problem of that seed with multiples of some of its integer variables.

    Where the variables are binary, half of the groups get a row that allows one member at most, in
    any order; other variables get multiples between 0 and 1.
    """
    rng = np.random.default_rng([seed, 71])
    problem = draw(seed)
    n, points = len(problem.c), int(np.prod((problem.upper - problem.lower + 1)[problem.integer]))
    add: list[tuple[int, int]] = []
    packed: list[list[int]] = []
    for j in rng.permutation(np.flatnonzero(problem.integer)).tolist():
        times = KINDS[int(rng.integers(len(KINDS)))]
        if points * 2 ** len(times) > POINTS:
            continue
        points *= 2 ** len(times)
        if (problem.lower[j], problem.upper[j]) == (0.0, 1.0) and rng.random() < 0.7:
            packed.append([j, *(n + len(add) + k for k in range(len(times)))])
        add += [(j, t) for t in times]
    turn = np.concatenate([np.arange(n), [j for j, _ in add]]).astype(int)
    by = np.concatenate([np.ones(n), [t for _, t in add]])

    def wider(F: sp.csr_array) -> sp.csr_array:
        return sp.csr_array(F[:, turn] @ sp.diags_array(by))

    rows = np.zeros((len(packed), len(turn)))
    for i, members in enumerate(packed):
        rows[i, members] = 1.0
    shuffled = rng.permutation(len(turn))
    A = sp.csr_array(sp.vstack([wider(problem.A), sp.csr_array(rows)], format="csr"))
    given = MISDP(
        c=problem.c[turn] * by,
        A=A,
        row_lower=np.concatenate([problem.row_lower, np.full(len(packed), -np.inf)]),
        row_upper=np.concatenate([problem.row_upper, np.ones(len(packed))]),
        lower=np.concatenate([problem.lower, np.zeros(len(add))]),
        upper=np.concatenate([np.minimum(problem.upper, 5.0), np.ones(len(add))]),
        integer=problem.integer[turn],
        cones=[replace(cone, F=wider(cone.F)) for cone in problem.cones],
        blocks=[replace(block, F=wider(block.F)) for block in problem.blocks],
        sense=problem.sense,
        offset=problem.offset,
    )
    return given.with_changes(
        c=given.c[shuffled],
        A=given.A[:, shuffled],
        lower=given.lower[shuffled],
        upper=given.upper[shuffled],
        integer=given.integer[shuffled],
        cones=[replace(cone, F=cone.F[:, shuffled]) for cone in given.cones],
        blocks=[replace(block, F=block.F[:, shuffled]) for block in given.blocks],
    )
