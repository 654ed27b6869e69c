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

from typing import NamedTuple

import numpy as np

from sparseopt.checking.strict import strict
from sparseopt.problems.base import Array

PROVEN, BEATEN, DEPENDENT, OPEN = 0, 1, 2, 3
"""What became of a node; OPEN where the work was not enough."""


@strict
def prove_each(
    gram: Array, table: Array, largest: Array, work: float, state: Array, found: Array
) -> float:
    """Look through the subsets of nodes with d candidates each.

    Parameters
    ----------
    gram : array of shape (nodes, d + 1, d + 1)
        Products of the candidates, the node last; a ridge is in it.
    table : array of shape (nodes, d + 1)
        What no set of 0, 1, ... neighbours may fall below, in the units of `gram`; not increasing.
    largest : array of shape (nodes,)
        Largest diagonal entry of V, one over the squared sine of the angle between a candidate and
        the others: beyond, digits of the costs that count are lost.
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
    tree = _Tree(
        np.empty((d + 1, d, d)),
        np.empty((d + 1, d)),
        np.empty((d + 1, d)),
        np.empty(d + 1),
        np.empty(d + 1),
        np.empty((3, d + 1), np.int64),
        np.empty(d, np.int64),
        np.empty((d, d)),
        np.empty((4, d)),
    )
    spent = 0.0
    for j in range(count):
        null = gram[j, d, d]
        for k in range(d + 1):
            tree.bound[k] = table[j, k] / null
        spent += float(d) ** 3
        state[j], size, value = _plant(tree, gram[j], largest[j])
        if state[j] == PROVEN:
            state[j], size, value, spent = _search(tree, spent, work)
        if state[j] == BEATEN:
            found[j, 0], found[j, 1] = size, value * null
        if spent > work:
            for k in range(j, count):
                state[k] = OPEN
            break
    return spent


class _Tree(NamedTuple):
    """Room for the sets on the way to one: those with w members that may be dropped at place w.

    Attributes
    ----------
    V : array of shape (d + 1, d, d)
    beta, cost : arrays of shape (d + 1, d)
    rss, bound : arrays of shape (d + 1,)
        Of each set, and of each size.
    level : int array of shape (3, d + 1)
        Sizes, which member is dropped next, and the stack.
    order : int array of shape (d,)
    factor : array of shape (d, d)
    spare : array of shape (4, d)
    """

    V: Array
    beta: Array
    cost: Array
    rss: Array
    bound: Array
    level: Array
    order: Array
    factor: Array
    spare: Array


@strict
def _plant(tree: _Tree, gram: Array, largest: float) -> tuple[int, int, float]:
    """Make the set of all candidates the root; return PROVEN, or how it ends the search.

    Where it or a set of one candidate less beats the table, its size and value are returned, too.
    """
    d = len(gram) - 1
    V, factor, order = tree.V[d], tree.factor, tree.order
    c, length, beta, cost = tree.spare[0], tree.spare[1], tree.spare[2], tree.spare[3]
    for i in range(d):
        length[i] = np.sqrt(gram[i, i])
    for i in range(d):
        c[i] = gram[d, i] / (length[i] * np.sqrt(gram[d, d]))
        for k in range(d):
            factor[i, k] = gram[i, k] / (length[i] * length[k])
    if not _inverse(factor, V, beta, largest):
        return DEPENDENT, 0, 0.0
    whole = 1.0
    for i in range(d):
        total = 0.0
        for k in range(d):
            total += V[i, k] * c[k]
        beta[i] = total
        cost[i] = total * total / V[i, i]
        whole -= total * c[i]
    if whole < tree.bound[d]:
        return BEATEN, d, whole
    least = _sort(cost, d, order)
    if whole + least < tree.bound[d - 1]:
        return BEATEN, d - 1, whole + least
    for i in range(d):
        for k in range(d):
            factor[i, k] = V[i, k]
    for i in range(d):
        tree.beta[d, i], tree.cost[d, i] = beta[order[i]], cost[order[i]]
        for k in range(d):
            V[i, k] = factor[order[i], order[k]]
    tree.rss[d], tree.level[0, d], tree.level[1, d], tree.level[2, 0] = whole, d, d - 1, d
    return PROVEN, d, whole


@strict
def _search(tree: _Tree, spent: float, work: float) -> tuple[int, int, float, float]:
    """Look through the sets below the root; return what became of them, and what was spent.

    Where a set beats the table, its size and value are returned, too.
    """
    V, beta, cost, rss, bound, order = (
        tree.V,
        tree.beta,
        tree.cost,
        tree.rss,
        tree.bound,
        tree.order,
    )
    size, at, stack = tree.level[0], tree.level[1], tree.level[2]
    new_beta, new_cost, row = tree.spare[0], tree.spare[1], tree.spare[2]
    top = 0
    while top >= 0:
        if spent > work:
            return OPEN, 0, 0.0, spent
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
            return BEATEN, s - 1, here + least, spent
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
    return PROVEN, 0, 0.0, spent


@strict
def _inverse(R: Array, V: Array, row: Array, largest: float) -> bool:
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
                if not value * largest > 1.0:
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
    return most < largest


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
