r"""The compiled search for neighbours of Gaussian nodes that beat what a table states.

Everything is relative: correlations R of a node's candidates, c of candidates and node, residual
sums of squares in units of that of no neighbour. With :math:`V = R_{MM}^{-1}` and
:math:`\beta = V c_M`, dropping member i from a set M costs :math:`\beta_i^2 / V_{ii}` and leaves
:math:`V - V_{\cdot i} V_{i \cdot} / V_{ii}`. Sets are looked through from the largest down, their
members that may still be dropped sorted by cost, the dearest first; dropping the l-th of them keeps
those before it from then on. A set is left where nothing below it can be better than the table:

- no subset has a smaller residual sum of squares than the set, and
- dropping r members costs no less than the r-th smallest of their single costs.

This is Furnival and Wilson's search, as every exact program has it. It is written here on its own,
in strict arithmetic, and starts from the table that is to be proven, so it finds no subsets, save
one that refutes the table. Candidates that nearly depend on each other are not looked at: there the
inverse is not exact enough.
"""

from __future__ import annotations

import numpy as np

from sparseopt.checking.strict import strict
from sparseopt.problems.base import Array

PROVEN, BEATEN, DEPENDENT, OPEN = 0, 1, 2, 3
"""What became of a node; OPEN where the work was not enough."""
_LARGEST = 1e6
"""Largest diagonal entry of V, one over the squared sine of the angle between a candidate and the
others: beyond, some digits of the costs, of which the checker needs nine, are lost."""


@strict
def prove_each(gram: Array, table: Array, work: float, state: Array, found: Array) -> float:
    """Look through the subsets of nodes with d candidates each.

    Parameters
    ----------
    gram : array of shape (nodes, d + 1, d + 1)
        Products of the candidates, the node last; a ridge is in it.
    table : array of shape (nodes, d + 1)
        What no set of 0, 1, ... neighbours may fall below, in the units of `gram`; not increasing.
    work : float
        What may be spent: squared numbers of members that may be dropped, summed over all sets.
    state : int array of shape (nodes,), changed
        What became of each node.
    found : array of shape (nodes, 2), changed
        Size and loss of neighbours that beat the table.

    Returns
    -------
    float
        What was spent.
    """
    count, d = len(gram), gram.shape[1] - 1
    V = np.empty((d + 1, d, d))
    beta, cost = np.empty((d + 1, d)), np.empty((d + 1, d))
    rss, bound = np.empty(d + 1), np.empty(d + 1)
    size, at = np.empty(d + 1, np.int64), np.empty(d + 1, np.int64)
    stack, order = np.empty(d + 1, np.int64), np.empty(d, np.int64)
    factor, c, length = np.empty((d, d)), np.empty(d), np.empty(d)
    new_beta, new_cost, row = np.empty(d), np.empty(d), np.empty(d)
    spent = 0.0
    for j in range(count):
        null = gram[j, d, d]
        for k in range(d + 1):
            bound[k] = table[j, k] / null
        for i in range(d):
            length[i] = np.sqrt(gram[j, i, i])
        for i in range(d):
            c[i] = gram[j, d, i] / (length[i] * np.sqrt(null))
            for k in range(d):
                factor[i, k] = gram[j, i, k] / (length[i] * length[k])
        spent += float(d) ** 3
        if not _inverse(factor, V[d], row):
            state[j] = DEPENDENT
            continue
        whole = 1.0
        for i in range(d):
            total = 0.0
            for k in range(d):
                total += V[d, i, k] * c[k]
            new_beta[i] = total
            new_cost[i] = total * total / V[d, i, i]
            whole -= total * c[i]
        if whole < bound[d]:
            state[j], found[j, 0], found[j, 1] = BEATEN, d, whole * null
            continue
        least = _sort(new_cost, d, order)
        if whole + least < bound[d - 1]:
            state[j], found[j, 0], found[j, 1] = BEATEN, d - 1, (whole + least) * null
            continue
        for i in range(d):
            for k in range(d):
                factor[i, k] = V[d, i, k]
        for i in range(d):
            beta[d, i], cost[d, i] = new_beta[order[i]], new_cost[order[i]]
            for k in range(d):
                V[d, i, k] = factor[order[i], order[k]]
        rss[d], size[d], at[d], stack[0], top = whole, d, d - 1, d, 0
        state[j] = PROVEN
        while top >= 0:
            if spent > work:
                state[j] = OPEN
                break
            u = stack[top]
            l = at[u]
            if l < 0:
                top -= 1
                continue
            at[u] = l - 1
            w = u - 1 - l
            s = size[u] - 1
            here = rss[u] + cost[u, l]
            if w == 0 or here >= bound[s - w]:
                continue
            spent += w * w + 20.0
            pivot = 1.0 / V[u, l, l]
            share = beta[u, l] * pivot
            for i in range(w):
                v = V[u, l, l + 1 + i]
                b = beta[u, l + 1 + i] - v * share
                new_beta[i] = b
                new_cost[i] = b * b / (V[u, l + 1 + i, l + 1 + i] - v * v * pivot)
            least = _sort(new_cost, w, order)
            if here + least < bound[s - 1]:
                state[j], found[j, 0], found[j, 1] = BEATEN, s - 1, (here + least) * null
                break
            alive = False
            for r in range(2, w + 1):
                if here + new_cost[order[w - r]] < bound[s - r]:
                    alive = True
                    break
            if not alive:
                continue
            for i in range(w):
                o = order[i]
                beta[w, i], cost[w, i] = new_beta[o], new_cost[o]
                row[i] = V[u, l, l + 1 + o]
            for i in range(w):
                o = l + 1 + order[i]
                part = row[i] * pivot
                for k in range(w):
                    V[w, i, k] = V[u, o, l + 1 + order[k]] - part * row[k]
            rss[w], size[w], at[w] = here, s, w - 1
            top += 1
            stack[top] = w
        if spent > work:
            for k in range(j, count):
                state[k] = OPEN
            break
    return spent


@strict
def _inverse(R: Array, V: Array, row: Array) -> bool:
    """Invert a correlation matrix by its Cholesky factor; False where it is nearly singular.

    R is overwritten by the inverse of its factor.
    """
    d = len(R)
    for k in range(d):
        for i in range(k, d):
            value = R[i, k]
            for m in range(k):
                value -= R[i, m] * R[k, m]
            if i == k:
                if not value * _LARGEST > 1.0:
                    return False
                row[k] = np.sqrt(value)
            else:
                R[i, k] = value / row[k]
    for k in range(d):
        R[k, k] = 1.0 / row[k]
        for i in range(k + 1, d):
            value = 0.0
            for m in range(k, i):
                value += R[i, m] * R[m, k]
            R[i, k] = -value / row[i]
    for i in range(d):
        for k in range(i + 1):
            value = 0.0
            for m in range(i, d):
                value += R[m, i] * R[m, k]
            V[i, k] = value
            V[k, i] = value
    most = 0.0
    for i in range(d):
        most = max(most, V[i, i])
    return most < _LARGEST


@strict
def _sort(cost: Array, w: int, order: Array) -> float:
    """Let `order` sort the first w costs, the largest first; return the smallest."""
    for i in range(w):
        order[i] = -1
    for i in range(w):
        rank = 0
        for k in range(w):
            rank += cost[k] > cost[i]
        while order[rank] >= 0:
            rank += 1
        order[rank] = i
    return float(cost[order[w - 1]])
