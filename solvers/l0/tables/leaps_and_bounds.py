r"""Best subsets of every size by leaps and bounds (Furnival, Wilson 1974), compiled.

Everything is in correlations: R of the d candidates (a ridge is in it), c of candidates and
response, and residual sums of squares relative to that of no candidate. First subsets come from
forward selection and backward elimination, both by the sweep operator (Goodnight 1979): with S = R
and g = c, sweeping candidate k takes :math:`g_k^2 / S_{kk}` off the residual sum of squares, and

.. math:: S_{ij} \leftarrow S_{ij} - S_{ik} S_{kj} / S_{kk}, \quad
          g_i \leftarrow g_i - S_{ik} g_k / S_{kk}, \quad S_{ik} \leftarrow S_{ik} / S_{kk}, \quad
          g_k \leftarrow g_k / S_{kk}, \quad S_{kk} \leftarrow -1 / S_{kk} .           \tag{1}

When all of M are swept, :math:`S_{MM} = -V` with :math:`V = R_{MM}^{-1}`, and
:math:`g_M = \beta = V c_M`. Dropping candidate i from M raises the residual sum of squares by
:math:`\beta_i^2 / V_{ii}`, and leaves

.. math:: V \leftarrow V - V_{\cdot i} V_{i \cdot} / V_{ii}, \qquad
          \beta \leftarrow \beta - V_{\cdot i} \beta_i / V_{ii} .                      \tag{2}

A node of the drop tree is a set M with u members that may still be dropped, sorted by their costs,
the dearest first; only their part of V and beta is kept. Its l-th child drops the l-th of them and
never those before it, so that the large subtrees are those behind dear drops. Two bounds cut
subtrees:

- (a) nothing below a child has a smaller residual sum of squares than the child itself;
- (b) dropping r members costs at least the r-th smallest single cost, since each of them is
  dropped.

Where candidates are linearly dependent there is no V. The add tree then starts from no candidate
and adds one after another by (1); a candidate that is dependent on the chosen ones adds nothing.

Subsets are bits of an int64.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sparseopt.compiling import by_address
from sparseopt.problems.base import Array

from ...common.compiled import compiled_in_place, compiled_inside
from ..settings import DEPENDENT, TIE, TIE_OF_NULL
from .blocks import BlockData, product

SIZE, AT, STACK, MEMBERS = range(4)
"""Rows of ``SearchSpace.level``: a level's number of members, the member to be dropped (or added)
next, the stack of levels, and the members as bits."""

RSS, TIES, SINE = range(3)
"""Places in ``SearchSpace.floor``: the residual sum of squares of all candidates, the improvements
that are not looked for, and how near the candidates are to dependence, as in ``Tables.sine``."""

TOP, VISITED, ADDS, KEPT = range(4)
"""Places in ``SearchSpace.state``: top of the stack, tree nodes, whether the tree adds, candidates
that are no copies."""

NODE, BEGUN, TOTAL = range(3)
"""Places in the progress of :func:`search_block`: the place in its list, whether the search of that
node has begun, tree nodes of all searches."""


@by_address
class Tables(NamedTuple):
    """What is found for the nodes of a block, one entry for each size of each node.

    Attributes
    ----------
    loss, mask : arrays of shape (ptr[B] + B,)
        The smallest loss of each size, and the subset that attains it, as bits.
    sine : array of shape (B,)
        How near each node's candidates are to dependence: the smaller one of
        :func:`~sparseopt.solvers.l0.tables.blocks.independence` and the smallest squared sine of an
        angle between a candidate and those before it.
    """

    loss: Array
    mask: Array
    sine: Array


@by_address
class SearchSpace(NamedTuple):
    """The memory of one search, for nodes of up to D candidates; reused from node to node.

    Attributes
    ----------
    R, c : arrays of shapes (D, D), (D,)
        Correlations; in the drop tree V and beta of all candidates.
    best : array of shape (D + 1,)
        The smallest residual sum of squares found for each size, relative to that of size 0.
    mask : int64 array of shape (D + 1,)
        The subsets that attain them.
    kept : int64 array of shape (D,)
        The candidates that are no copies of others; bits of the search are places in it.
    matrix : array
        The u x u matrices of the tree's levels, one after another.
    beta, cost, bit : arrays of shape (D + 1, D)
        Of each level, by its number u of members that may be dropped: coefficients, costs, members.
    rss : array of shape (D + 1,)
    level : int64 array of shape (4, D + 1)
    floor : array of shape (3,)
    order : int64 array of shape (D,)
    spare : array of shape (3, D)
    state : int64 array of shape (4,)
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
    level: Array
    floor: Array
    order: Array
    spare: Array
    state: Array


def search_space(D: int) -> SearchSpace:
    """Return the memory for nodes of up to D candidates.

    Parameters
    ----------
    D : int

    Returns
    -------
    SearchSpace
    """
    D = max(D, 1)
    return SearchSpace(
        R=np.empty((D, D)),
        c=np.empty(D),
        best=np.empty(D + 1),
        mask=np.empty(D + 1, np.int64),
        kept=np.empty(D, np.int64),
        matrix=np.empty(D * (D + 1) * (2 * D + 1) // 6),
        beta=np.empty((D + 1, D)),
        cost=np.empty((D + 1, D)),
        bit=np.empty((D + 1, D), np.int64),
        rss=np.empty(D + 1),
        level=np.empty((4, D + 1), np.int64),
        floor=np.empty(3),
        order=np.empty(D, np.int64),
        spare=np.empty((3, D)),
        state=np.zeros(4, np.int64),
    )


@compiled_in_place
def search_block(
    space: SearchSpace, block: BlockData, todo: Array, progress: Array, quota: int, tables: Tables
) -> None:
    """Go on with the trees of some nodes of a block for about `quota` tree nodes.

    Parameters
    ----------
    space : SearchSpace
    block : BlockData
    todo : int array
        The nodes to be searched, by their place in the block.
    progress : int array of shape (3,), changed
    quota : int
        A tree node with w members to be dropped takes O(w^2).
    tables : Tables, changed
    """
    state, n, ptr = space.state, block.rows.shape[1], block.ptr
    left = quota
    while progress[NODE] < len(todo) and left > 0:
        b = todo[progress[NODE]]
        first, d = ptr[b] + b, ptr[b + 1] - ptr[b]
        if progress[BEGUN] == 0:
            # Kept in the table until the search ends: a search may take several calls.
            tables.loss[first] = _load(space, block, b) / n
            m = _drop_copies(space, d)
            if m > 0 and _forward(space, m):
                _backward(space, m)
                _plant_drop(space, m)
            elif m > 0:
                _plant_add(space, m)
            tables.sine[b] = space.floor[SINE] if m == d else 0.0
            progress[BEGUN] = 1
        before = state[VISITED]
        if state[ADDS]:
            _pursue_add(space, left)
        else:
            _pursue_drop(space, left)
        visited = state[VISITED] - before
        progress[TOTAL] += visited
        # Nodes without a tree cost something, too.
        left -= visited + 1
        if state[TOP] < 0:
            _finish(space, d)
            null = tables.loss[first]
            for k in range(d + 1):
                tables.loss[first + k] = null * space.best[k]
                tables.mask[first + k] = space.mask[k]
            progress[NODE] += 1
            progress[BEGUN] = 0


@compiled_inside
def _load(space: SearchSpace, block: BlockData, b: int) -> Any:
    """Fill in the correlations of the b-th node; return its squared norm; O(n d^2)."""
    first, d, own = block.ptr[b], block.ptr[b + 1] - block.ptr[b], block.own[b]
    rows, known, local, norm = block.rows, block.known, block.local, space.spare[0]
    shift = rows.shape[1] * block.ridge
    yy = product(rows, known, own, own)
    for i in range(d):
        a = local[first + i]
        norm[i] = 1.0 / np.sqrt(product(rows, known, a, a) + shift)
        space.c[i] = product(rows, known, a, own) * norm[i] / np.sqrt(yy)
        space.R[i, i] = 1.0
        for k in range(i):
            r = product(rows, known, a, local[first + k]) * norm[i] * norm[k]
            space.R[i, k] = r
            space.R[k, i] = r
    return yy


@compiled_inside
def _drop_copies(space: SearchSpace, d: int) -> int:
    """Keep one candidate of each direction, and restart; return how many are kept."""
    R, c, kept = space.R, space.c, space.kept
    m = 0
    for k in range(d):
        copy = False
        for i in range(m):
            copy = copy or 1.0 - R[kept[i], k] * R[kept[i], k] < DEPENDENT
        if not copy:
            kept[m] = k
            m += 1
    for i in range(m):
        c[i] = c[kept[i]]
        for j in range(m):
            R[i, j] = R[kept[i], kept[j]]
    for k in range(d + 1):
        space.best[k], space.mask[k] = np.inf, 0
    space.best[0], space.floor[SINE] = 1.0, 1.0
    space.state[TOP], space.state[VISITED] = -1, 0
    space.state[ADDS], space.state[KEPT] = 0, m
    return m


@compiled_inside
def _finish(space: SearchSpace, d: int) -> None:
    """Turn the bits into those of candidates, and let a size use fewer."""
    kept, best, mask, m = space.kept, space.best, space.mask, space.state[KEPT]
    for k in range(d + 1):
        if k > m or (k > 0 and best[k] > best[k - 1]):
            best[k], mask[k] = best[k - 1], mask[k - 1]
        elif m < d:
            found, out = mask[k], 0
            for i in range(m):
                if found >> i & 1:
                    out |= 1 << kept[i]
            mask[k] = out
        best[k] = max(best[k], 0.0)


@compiled_inside
def _sweep(S: Array, g: Array, m: int, k: int) -> Any:
    """Sweep candidate k in or, if it is in, out: (1); return what this takes off the residuals.

    O(m^2). What is swept out is not used again, so that its row may be left with any sign.
    """
    inverse = 1.0 / S[k * m + k]
    gain, response = g[k] * g[k] * inverse, g[k]
    for i in range(m):
        if i != k:
            factor = S[i * m + k] * inverse
            g[i] -= factor * response
            for j in range(m):
                S[i * m + j] -= factor * S[k * m + j]
            S[i * m + k] = factor
    for j in range(m):
        S[k * m + j] = S[j * m + k]
    g[k], S[k * m + k] = response * inverse, -inverse
    return gain


@compiled_inside
def _forward(space: SearchSpace, m: int) -> bool:
    """Find first subsets by forward selection; O(m^3).

    Returns whether all m candidates could be swept in; then R and c become V and beta.
    """
    S, g = space.matrix, space.beta[m]
    for i in range(m):
        g[i] = space.c[i]
        for j in range(m):
            S[i * m + j] = space.R[i, j]
    chosen, rss = 0, 1.0
    for k in range(1, m + 1):
        first, most = -1, -1.0
        for i in range(m):
            # What is swept in has a negative diagonal.
            if S[i * m + i] > DEPENDENT and g[i] * g[i] / S[i * m + i] > most:
                first, most = i, g[i] * g[i] / S[i * m + i]
        if first < 0:
            space.floor[SINE] = 0.0
            return False
        chosen |= 1 << first
        space.floor[SINE] = min(space.floor[SINE], S[first * m + first])
        rss -= _sweep(S, g, m, first)
        space.best[k], space.mask[k] = rss, chosen
    trace = 0.0
    for i in range(m):
        space.c[i] = g[i]
        for j in range(m):
            space.R[i, j] = -S[i * m + j]
        trace += space.R[i, i]
    # No angle need be narrow: each candidate may be near what was new in the one before it.
    space.floor[SINE] = min(space.floor[SINE], 2.0 / trace)
    _set_floor(space, rss)
    return True


@compiled_inside
def _backward(space: SearchSpace, m: int) -> None:
    """Improve the first subsets by backward elimination, after :func:`_forward`; O(m^3)."""
    S, g, best = space.matrix, space.beta[m], space.best
    chosen, rss = (1 << m) - 1, space.floor[RSS]
    best[m], space.mask[m] = rss, chosen
    for k in range(m - 1, 0, -1):
        first, least = -1, np.inf
        for i in range(m):
            if chosen >> i & 1 and -g[i] * g[i] / S[i * m + i] < least:
                first, least = i, -g[i] * g[i] / S[i * m + i]
        if first < 0:
            return
        chosen ^= 1 << first
        rss -= _sweep(S, g, m, first)
        if rss < best[k]:
            best[k], space.mask[k] = rss, chosen


@compiled_inside
def _set_floor(space: SearchSpace, rss: float) -> None:
    """Note the residual sum of squares of all candidates, and what is a tie."""
    space.floor[RSS] = max(rss, 0.0)
    space.floor[TIES] = TIE * space.floor[RSS] + TIE_OF_NULL


@compiled_inside
def _offset(u: int) -> int:
    """Where the matrix of level u starts: after those of 1, ..., u - 1."""
    return (u - 1) * u * (2 * u - 1) // 6


@compiled_inside
def _rank(order: Array, cost: Array, w: int) -> None:
    """Let `order` sort the first w costs, the largest first.

    Counting the larger ones takes w^2 comparisons, but no branch depends on them: at w = 25 this is
    several times faster than a sort.
    """
    for i in range(w):
        order[i] = -1
    for i in range(w):
        own, rank = cost[i], 0
        for j in range(w):
            rank += cost[j] > own
        while order[rank] >= 0:
            rank += 1
        order[rank] = i


@compiled_inside
def _plant_drop(space: SearchSpace, m: int) -> None:
    """Put the root of the drop tree on the stack."""
    V, beta, order, cost = space.R, space.c, space.order, space.spare[0]
    for i in range(m):
        cost[i] = beta[i] * beta[i] / V[i, i]
    _rank(order, cost, m)
    base = _offset(m)
    for i in range(m):
        p = order[i]
        space.beta[m, i], space.cost[m, i], space.bit[m, i] = beta[p], cost[p], p
        for j in range(m):
            space.matrix[base + i * m + j] = V[p, order[j]]
    space.rss[m], space.level[SIZE, m], space.level[AT, m] = space.floor[RSS], m, m - 1
    space.level[MEMBERS, m] = (1 << m) - 1
    space.state[TOP], space.level[STACK, 0] = 0, m


@compiled_inside
def _pursue_drop(space: SearchSpace, quota: int) -> None:
    """Go on with the drop tree for at most `quota` nodes."""
    best, mask, order, state = space.best, space.mask, space.order, space.state
    matrix, size, at, stack = space.matrix, space.level[SIZE], space.level[AT], space.level[STACK]
    new_beta, new_cost, sorted_row = space.spare[0], space.spare[1], space.spare[2]
    ties = space.floor[TIES]
    top, visited = state[TOP], 0
    while top >= 0 and visited < quota:
        u = stack[top]
        l = at[u]
        if l < 0:
            top -= 1
            continue
        at[u], w = l - 1, u - 1 - l
        bound = space.rss[u] + space.cost[u, l]
        s = size[u] - 1
        # (a): larger sets have smaller optima, so the smallest size below decides; and children
        # further left are dearer and reach the same sizes or larger ones, but for more members.
        if w == 0 or best[s - w] <= bound + ties:
            continue
        visited += 1
        beta, bit = space.beta[u], space.bit[u]
        base = _offset(u)
        row = base + l * u + l + 1
        inverse = 1.0 / matrix[row - 1]
        factor = beta[l] * inverse
        # (2) for beta and the diagonal of V: the costs of dropping one more.
        low = np.inf
        for i in range(w):
            v = matrix[row + i]
            b = beta[l + 1 + i] - v * factor
            new_beta[i] = b
            new_cost[i] = b * b / (matrix[base + (l + 1 + i) * (u + 1)] - v * v * inverse)
        for i in range(w):
            low = min(low, new_cost[i])
        members = space.level[MEMBERS, u] ^ (1 << bit[l])
        if bound + low < best[s - 1]:
            least = 0
            while new_cost[least] != low:
                least += 1
            best[s - 1], mask[s - 1] = bound + low, members ^ (1 << bit[l + 1 + least])
        if w == 1:
            continue
        _rank(order, new_cost, w)
        # (b)
        r = 2
        while r <= w and best[s - r] <= bound + new_cost[order[w - r]] + ties:
            r += 1
        if r > w:
            continue
        target = _offset(w)
        for i in range(w):
            p = order[i]
            space.beta[w, i], space.cost[w, i] = new_beta[p], new_cost[p]
            space.bit[w, i] = bit[l + 1 + p]
            sorted_row[i] = matrix[row + p]
        # (2) for V, its rows and columns in the order of the costs.
        for i in range(w):
            factor = sorted_row[i] * inverse
            source = base + (l + 1 + order[i]) * u + l + 1
            for j in range(w):
                matrix[target + i * w + j] = matrix[source + order[j]] - factor * sorted_row[j]
        space.rss[w], size[w], space.level[MEMBERS, w], at[w] = bound, s, members, w - 1
        top += 1
        stack[top] = w
    state[TOP] = top
    state[VISITED] += visited


@compiled_inside
def _plant_add(space: SearchSpace, m: int) -> None:
    """Put the root of the add tree on the stack."""
    base = _offset(m)
    for i in range(m):
        space.beta[m, i], space.bit[m, i] = space.c[i], i
        for j in range(m):
            space.matrix[base + i * m + j] = space.R[i, j]
    space.rss[m], space.level[SIZE, m], space.level[AT, m] = 1.0, 0, 0
    space.level[MEMBERS, m] = 0
    # Forward selection went on until the rest was dependent: nothing is smaller.
    least = 1.0
    for k in range(m + 1):
        least = min(least, space.best[k])
    _set_floor(space, least)
    space.state[TOP], space.state[ADDS], space.level[STACK, 0] = 0, 1, m


@compiled_inside
def _pursue_add(space: SearchSpace, quota: int) -> None:
    """Go on with the add tree for at most `quota` nodes."""
    best, mask, matrix, state = space.best, space.mask, space.matrix, space.state
    size, at, stack = space.level[SIZE], space.level[AT], space.level[STACK]
    floor = space.floor[RSS] + space.floor[TIES]
    top, visited = state[TOP], 0
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
        if pivot <= DEPENDENT:
            continue
        visited += 1
        rss = space.rss[u] - beta[l] * beta[l] / pivot
        s = size[u] + 1
        members = space.level[MEMBERS, u] | 1 << bit[l]
        if rss < best[s]:
            best[s], mask[s] = rss, members
        if w == 0 or best[s + 1] <= floor:
            continue
        # (1) for the candidates after l.
        target = _offset(w)
        for i in range(w):
            k = l + 1 + i
            factor = matrix[row + i] / pivot
            space.beta[w, i], space.bit[w, i] = beta[k] - factor * beta[l], bit[k]
            source = base + k * u + l + 1
            for j in range(w):
                matrix[target + i * w + j] = matrix[source + j] - factor * matrix[row + j]
        space.rss[w], size[w], space.level[MEMBERS, w], at[w] = rss, s, members, 0
        top += 1
        stack[top] = w
    state[TOP] = top
    state[VISITED] += visited
