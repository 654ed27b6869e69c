"""Coefficients of chosen neighbours of all Gaussian nodes, in blocks, compiled."""

from __future__ import annotations

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.problems.budget.neighbourhoods import L0GraphicalModel
from sparseopt.proofs.neighbours import refit

from ..common.compiled import compiled
from .blocks import block_data, node_blocks
from .subset_block import product

__all__ = ["gaussian_point"]

_DEPENDENT = 1e-8
"""Squared sine of an angle to the chosen columns below which a node's solve takes more care."""


def gaussian_point(problem: L0GraphicalModel, selected: Array) -> Array:
    """Return the coefficients of the selected candidates, shape (total,); zero elsewhere."""
    x = np.zeros(problem.total)
    hard = np.zeros(problem.X.shape[1], dtype=bool)
    D = int(problem.candidates.sizes.max(initial=0)) + 1
    factor, norm, chosen = np.empty((D, D)), np.empty(D), np.empty(D, dtype=np.int64)
    for first, last in node_blocks(problem):
        data = block_data(problem, first, last)
        here = slice(problem.candidates.ptr[first], problem.candidates.ptr[last])
        _solve_block(factor, norm, chosen, *data, selected[here], x[here], hard[first:last])
    if hard.any():
        careful = selected & np.repeat(hard, problem.candidates.sizes)
        x[careful] = refit(problem, careful)[careful]
    return x


@compiled
def _solve_block(
    factor: Array,
    norm: Array,
    chosen: Array,
    rows: Array,
    known: Array,
    own: Array,
    local: Array,
    ptr: Array,
    ridge: float,
    selected: Array,
    x: Array,
    hard: Array,
) -> None:
    """Solve the normal equations of each node by Cholesky's method; flag those near dependence."""
    shift = rows.shape[1] * ridge
    for b in range(len(own)):
        k = 0
        for a in range(ptr[b], ptr[b + 1]):
            if selected[a]:
                chosen[k] = a
                k += 1
        for i in range(k):
            r = local[chosen[i]]
            norm[i] = 1.0 / np.sqrt(product(rows, known, r, r) + shift)
            for j in range(i):
                factor[i, j] = product(rows, known, r, local[chosen[j]]) * norm[i] * norm[j]
        for i in range(k):
            value = 1.0
            for j in range(i):
                entry = factor[i, j]
                for l in range(j):
                    entry -= factor[i, l] * factor[j, l]
                entry /= factor[j, j]
                factor[i, j] = entry
                value -= entry * entry
            if not value >= _DEPENDENT:
                hard[b] = True
                break
            factor[i, i] = np.sqrt(value)
        if hard[b]:
            continue
        for i in range(k):
            entry = product(rows, known, local[chosen[i]], own[b]) * norm[i]
            for l in range(i):
                entry -= factor[i, l] * x[chosen[l]]
            x[chosen[i]] = entry / factor[i, i]
        for i in range(k - 1, -1, -1):
            entry = x[chosen[i]]
            for l in range(i + 1, k):
                entry -= factor[l, i] * x[chosen[l]]
            x[chosen[i]] = entry / factor[i, i]
        for i in range(k):
            x[chosen[i]] *= norm[i]
