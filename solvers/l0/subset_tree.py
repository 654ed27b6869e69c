r"""Best subsets of every size by leaps and bounds (Furnival, Wilson 1974), compiled.

Everything is in correlations: R of the d candidates (a ridge is in it), c of candidates and
response, and residual sums of squares relative to that of no candidate. Dropping candidate i from a
set M raises the residual sum of squares by :math:`\beta_i^2 / V_{ii}` with :math:`V = R_{MM}^{-1}`
and :math:`\beta = V c_M`, and leaves

.. math:: V \leftarrow V - V_{\cdot i} V_{i \cdot} / V_{ii}, \qquad
          \beta \leftarrow \beta - V_{\cdot i} \beta_i / V_{ii} .

A node of the drop tree is a set M with u members that may still be dropped, sorted by their costs,
the dearest first; only their part of V and beta is kept. Its l-th child drops the l-th of them and
keeps those before it for ever, so that the large subtrees are those behind dear drops. Two bounds
cut subtrees:

- nothing below a child has a smaller residual sum of squares than the child itself;
- dropping r members costs at least the r-th smallest single cost, since each of them is dropped.

Where candidates are linearly dependent there is no V. The add tree then starts from no candidate
and adds one after another; a candidate that is dependent on the chosen ones adds nothing.

Subsets are bits of a uint64, of which result files keep 62.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sparseopt.problems.base import Array

from ..common.compiled import compiled

__all__ = ["SearchSpace", "finish", "pursue", "search_space", "start"]

_DEPENDENT = 1e-10
"""Squared sine of the angle to the chosen columns below which a column counts as dependent."""
_TIE = 1e-12
"""Improvements relative to the residuals of all candidates that are not looked for."""
_EPS = 1e-16

_DROP, _ADD = 0, 1
_TOP, _NODES, _MODE, _KEPT = 0, 1, 2, 3


class SearchSpace(NamedTuple):
    """The memory of one search, for nodes of up to D candidates; reused from node to node.

    Attributes
    ----------
    R : array of shape (D, D)
    c : array of shape (D,)
    best : array of shape (D + 1,)
        The smallest residual sum of squares found for each size, relative to that of size 0.
    mask : uint64 array of shape (D + 1,)
        The subsets that attain them.
    kept : int array of shape (D,)
        The candidates that are no copies of others; bits of the search are places in it.
    matrix : array
        The u x u matrices of the tree's levels, one after another.
    beta, cost : arrays of shape (D + 1, D)
    bit : int array of shape (D + 1, D)
    rss : array of shape (D + 1,)
    size, at, stack : int arrays of shape (D + 1,)
    members : uint64 array of shape (D + 1,)
        One entry for each level, by the level's u.
    floor : array of shape (3,)
        The residual sum of squares of all candidates, the tolerance of ties, and the smallest
        squared sine of the angle between a candidate and those before it.
    order : int array of shape (D,)
    spare : array of shape (3, D)
    state : int array of shape (4,)
        Top of the stack, tree nodes visited, which tree, number of candidates kept.
    """

    R: Array
    c: Array
    best: Array
    mask: Array
    kept: Array
    matrix: Array
    beta: Array
    cost: Array
    bit: Array
    rss: Array
    size: Array
    at: Array
    stack: Array
    members: Array
    floor: Array
    order: Array
    spare: Array
    state: Array


def search_space(D: int) -> SearchSpace:
    """Return the memory for nodes of up to D candidates."""
    D = max(D, 1)
    levels = D + 1
    return SearchSpace(
        R=np.empty((D, D)),
        c=np.empty(D),
        best=np.empty(levels),
        mask=np.empty(levels, np.uint64),
        kept=np.empty(D, np.int64),
        matrix=np.empty(D * (D + 1) * (2 * D + 1) // 6),
        beta=np.empty((levels, D)),
        cost=np.empty((levels, D)),
        bit=np.empty((levels, D), np.int64),
        rss=np.empty(levels),
        size=np.empty(levels, np.int64),
        at=np.empty(levels, np.int64),
        stack=np.empty(levels, np.int64),
        members=np.empty(levels, np.uint64),
        floor=np.empty(3),
        order=np.empty(D, np.int64),
        spare=np.empty((3, D)),
        state=np.zeros(4, np.int64),
    )


@compiled
def start(space: SearchSpace, d: int) -> None:
    """Begin with the d candidates in ``space.R`` (unit diagonal) and ``space.c``."""
    R, c, kept, state = space.R, space.c, space.kept, space.state
    m = 0
    for k in range(d):
        copy = False
        for i in range(m):
            r = R[kept[i], k]
            if 1.0 - r * r < _DEPENDENT:
                copy = True
                break
        if not copy:
            kept[m] = k
            m += 1
    for i in range(m):
        c[i] = c[kept[i]]
        for j in range(m):
            R[i, j] = R[kept[i], kept[j]]
    state[_TOP], state[_NODES], state[_KEPT] = -1, 0, m
    space.best[: d + 1] = np.inf
    space.mask[: d + 1] = 0
    space.best[0] = 1.0
    space.floor[2] = 1.0
    if m == 0:
        return
    _forward(space, m)
    if _invert(space, m):
        state[_MODE] = _DROP
        _backward(space, m)
        _plant_drop(space, m)
    else:
        state[_MODE] = _ADD
        _plant_add(space, m)


@compiled
def pursue(space: SearchSpace, quota: int) -> Any:
    """Go on for at most `quota` tree nodes; return whether the search is complete."""
    if space.state[_TOP] < 0:
        return True
    if space.state[_MODE] == _DROP:
        return _pursue_drop(space, quota)
    return _pursue_add(space, quota)


@compiled
def finish(space: SearchSpace, d: int) -> Any:
    """Turn the bits into those of candidates, and let a size use fewer; return the tree nodes."""
    kept, best, mask = space.kept, space.best, space.mask
    m = space.state[_KEPT]
    one = np.uint64(1)
    for k in range(d + 1):
        if k > m or (k > 0 and best[k] > best[k - 1]):
            best[k], mask[k] = best[k - 1], mask[k - 1]
        elif m < d:
            found, out = mask[k], np.uint64(0)
            for i in range(m):
                if found >> np.uint64(i) & one:
                    out |= one << np.uint64(kept[i])
            mask[k] = out
        best[k] = max(best[k], 0.0)
    return space.state[_NODES]


@compiled
def _offset(u: int) -> int:
    """Where the matrix of level u starts: behind those of 1, ..., u - 1."""
    return (u - 1) * u * (2 * u - 1) // 6


@compiled
def _rank(space: SearchSpace, cost: Array, w: int) -> None:
    """Let ``space.order`` sort the first w costs, the largest first.

    Counting the larger ones takes w^2 comparisons, but no branch depends on them: at w = 25 this is
    several times faster than a sort.
    """
    order = space.order
    for i in range(w):
        order[i] = -1
    for i in range(w):
        own, rank = cost[i], 0
        for j in range(w):
            rank += cost[j] > own
        while order[rank] >= 0:
            rank += 1
        order[rank] = i


@compiled
def _invert(space: SearchSpace, m: int) -> bool:
    """Replace R by its inverse and c by beta; False, with R and c as they were, if dependent."""
    R, c = space.R, space.c
    # The factor goes below the diagonal, R itself stays above it, its diagonal being 1.
    pivot = space.spare[0]
    space.floor[2] = 1.0
    for j in range(m):
        value = 1.0
        for k in range(j):
            value -= R[j, k] * R[j, k]
        space.floor[2] = min(space.floor[2], value)
        if value < _DEPENDENT:
            for i in range(m):
                for k in range(i):
                    R[i, k] = R[k, i]
            return False
        pivot[j] = np.sqrt(value)
        for i in range(j + 1, m):
            value = R[j, i]
            for k in range(j):
                value -= R[i, k] * R[j, k]
            R[i, j] = value / pivot[j]
    # W = L^-1 in place, then V = W'W and beta = V c.
    for j in range(m):
        R[j, j] = 1.0 / pivot[j]
        for i in range(j + 1, m):
            value = 0.0
            for k in range(j, i):
                value -= R[i, k] * R[k, j]
            R[i, j] = value / pivot[i]
    for i in range(m):
        for j in range(i, m):
            value = 0.0
            for k in range(j, m):
                value += R[k, i] * R[k, j]
            space.matrix[i * m + j] = value
            space.matrix[j * m + i] = value
    rss = 1.0
    for i in range(m):
        value = 0.0
        for j in range(m):
            value += space.matrix[i * m + j] * c[j]
        space.beta[m, i] = value
        rss -= c[i] * value
    for i in range(m):
        c[i] = space.beta[m, i]
        for j in range(m):
            R[i, j] = space.matrix[i * m + j]
    space.floor[0] = max(rss, 0.0)
    space.floor[1] = _TIE * space.floor[0] + _EPS
    return True


@compiled
def _forward(space: SearchSpace, m: int) -> None:
    """Find first subsets by forward selection."""
    S, g, best, mask = space.matrix, space.beta[m], space.best, space.mask
    for i in range(m):
        g[i] = space.c[i]
        for j in range(m):
            S[i * m + j] = space.R[i, j]
    chosen = np.uint64(0)
    rss = 1.0
    for k in range(1, m + 1):
        first, most = -1, -1.0
        for i in range(m):
            if not chosen >> np.uint64(i) & np.uint64(1) and S[i * m + i] > _DEPENDENT:
                gain = g[i] * g[i] / S[i * m + i]
                if gain > most:
                    first, most = i, gain
        if first < 0:
            break
        chosen |= np.uint64(1) << np.uint64(first)
        rss -= most
        best[k], mask[k] = rss, chosen
        row = first * m
        for i in range(m):
            if not chosen >> np.uint64(i) & np.uint64(1):
                factor = S[i * m + first] / S[row + first]
                g[i] -= factor * g[first]
                for j in range(m):
                    S[i * m + j] -= factor * S[row + j]


@compiled
def _backward(space: SearchSpace, m: int) -> None:
    """Improve the first subsets by backward elimination."""
    W, b, best, mask = space.matrix, space.beta[m], space.best, space.mask
    for i in range(m):
        b[i] = space.c[i]
        for j in range(m):
            W[i * m + j] = space.R[i, j]
    chosen = (np.uint64(1) << np.uint64(m)) - np.uint64(1)
    rss = space.floor[0]
    best[m], mask[m] = rss, chosen
    for k in range(m - 1, 0, -1):
        first, least = -1, np.inf
        for i in range(m):
            if chosen >> np.uint64(i) & np.uint64(1):
                cost = b[i] * b[i] / W[i * m + i]
                if cost < least:
                    first, least = i, cost
        chosen ^= np.uint64(1) << np.uint64(first)
        rss += least
        if rss < best[k]:
            best[k], mask[k] = rss, chosen
        row = first * m
        for i in range(m):
            if chosen >> np.uint64(i) & np.uint64(1):
                factor = W[i * m + first] / W[row + first]
                b[i] -= factor * b[first]
                for j in range(m):
                    W[i * m + j] -= factor * W[row + j]


@compiled
def _plant_drop(space: SearchSpace, m: int) -> None:
    """Put the root of the drop tree on the stack."""
    V, c, order = space.R, space.c, space.order
    cost = space.spare[0]
    for i in range(m):
        cost[i] = c[i] * c[i] / V[i, i]
    _rank(space, cost, m)
    base = _offset(m)
    for i in range(m):
        p = order[i]
        space.beta[m, i], space.cost[m, i], space.bit[m, i] = c[p], cost[p], p
        for j in range(m):
            space.matrix[base + i * m + j] = V[p, order[j]]
    space.rss[m], space.size[m], space.at[m] = space.floor[0], m, m - 1
    space.members[m] = (np.uint64(1) << np.uint64(m)) - np.uint64(1)
    space.state[_TOP], space.stack[0] = 0, m


@compiled
def _pursue_drop(space: SearchSpace, quota: int) -> Any:
    best, mask, matrix, order = space.best, space.mask, space.matrix, space.order
    state, stack, at = space.state, space.stack, space.at
    new_beta, new_cost, sorted_row = space.spare[0], space.spare[1], space.spare[2]
    tie = space.floor[1]
    one = np.uint64(1)
    top, visited = state[_TOP], 0
    while top >= 0 and visited < quota:
        u = stack[top]
        l = at[u]
        if l < 0:
            top -= 1
            continue
        at[u] = l - 1
        w = u - 1 - l
        bound = space.rss[u] + space.cost[u, l]
        s = space.size[u] - 1
        # Larger sets have smaller optima, so the smallest size below decides; and children
        # further left are dearer and reach the same sizes or larger ones, but for more members.
        if w == 0 or best[s - w] <= bound + tie:
            continue
        visited += 1
        beta, bit = space.beta[u], space.bit[u]
        base = _offset(u)
        row = base + l * u + l + 1
        inverse = 1.0 / matrix[row - 1]
        factor = beta[l] * inverse
        low = np.inf
        for i in range(w):
            v = matrix[row + i]
            b = beta[l + 1 + i] - v * factor
            new_beta[i] = b
            new_cost[i] = b * b / (matrix[base + (l + 1 + i) * (u + 1)] - v * v * inverse)
        for i in range(w):
            low = min(low, new_cost[i])
        members = space.members[u] ^ (one << np.uint64(bit[l]))
        if bound + low < best[s - 1]:
            least = 0
            while new_cost[least] != low:
                least += 1
            best[s - 1] = bound + low
            mask[s - 1] = members ^ (one << np.uint64(bit[l + 1 + least]))
        if w == 1:
            continue
        _rank(space, new_cost, w)
        alive = False
        for r in range(2, w + 1):
            if best[s - r] > bound + new_cost[order[w - r]] + tie:
                alive = True
                break
        if not alive:
            continue
        target = _offset(w)
        for i in range(w):
            p = order[i]
            space.beta[w, i], space.cost[w, i] = new_beta[p], new_cost[p]
            space.bit[w, i] = bit[l + 1 + p]
            sorted_row[i] = matrix[row + p]
        for i in range(w):
            factor = sorted_row[i] * inverse
            source = base + (l + 1 + order[i]) * u + l + 1
            for j in range(w):
                matrix[target + i * w + j] = matrix[source + order[j]] - factor * sorted_row[j]
        space.rss[w], space.size[w], space.members[w], at[w] = bound, s, members, w - 1
        top += 1
        stack[top] = w
    state[_TOP] = top
    state[_NODES] += visited
    return top < 0


@compiled
def _plant_add(space: SearchSpace, m: int) -> None:
    """Put the root of the add tree on the stack."""
    base = _offset(m)
    for i in range(m):
        space.beta[m, i], space.bit[m, i] = space.c[i], i
        for j in range(m):
            space.matrix[base + i * m + j] = space.R[i, j]
    space.rss[m], space.size[m], space.at[m], space.members[m] = 1.0, 0, 0, 0
    # Forward selection went on until the rest was dependent: nothing is smaller.
    least = 1.0
    for k in range(m + 1):
        least = min(least, space.best[k])
    space.floor[0] = max(least, 0.0)
    space.floor[1] = _TIE * space.floor[0] + _EPS
    space.state[_TOP], space.stack[0] = 0, m


@compiled
def _pursue_add(space: SearchSpace, quota: int) -> Any:
    best, mask, matrix = space.best, space.mask, space.matrix
    state, stack, at = space.state, space.stack, space.at
    floor = space.floor[0] + space.floor[1]
    one = np.uint64(1)
    top, visited = state[_TOP], 0
    while top >= 0 and visited < quota:
        u = stack[top]
        l = at[u]
        if l == u:
            top -= 1
            continue
        at[u] = l + 1
        w = u - 1 - l
        beta, bit = space.beta[u], space.bit[u]
        base = _offset(u)
        row = base + l * u + l + 1
        pivot = matrix[row - 1]
        # Sets with a dependent member equal smaller ones.
        if pivot <= _DEPENDENT:
            continue
        visited += 1
        rss = space.rss[u] - beta[l] * beta[l] / pivot
        s = space.size[u] + 1
        members = space.members[u] | one << np.uint64(bit[l])
        if rss < best[s]:
            best[s], mask[s] = rss, members
        if w == 0 or best[s + 1] <= floor:
            continue
        target = _offset(w)
        for i in range(w):
            k = l + 1 + i
            factor = matrix[row + i] / pivot
            space.beta[w, i], space.bit[w, i] = beta[k] - factor * beta[l], bit[k]
            source = base + k * u + l + 1
            for j in range(w):
                matrix[target + i * w + j] = matrix[source + j] - factor * matrix[row + j]
        space.rss[w], space.size[w], space.members[w], at[w] = rss, s, members, 0
        top += 1
        stack[top] = w
    state[_TOP] = top
    state[_NODES] += visited
    return top < 0
