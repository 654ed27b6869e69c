r"""Best subsets of every size of an Ising node by branch and bound, compiled.

With :math:`z_{ik} = x_{ij} x_{ik}` the loss of a set S of neighbours is

.. math:: \ell(S) = \min_\beta \frac1n \sum_i \log(1 + e^{-z_i \beta}) + \rho \|\beta\|^2
          \ge \frac1n \sum_i H(p_i) - \frac1{4 \rho} \sum_{k \in S} g_k^2, \quad
          g = Z' p / n,                                                              \tag{1}

for every p in :math:`[0, 1]^n`, H being the entropy; without a ridge the last term is
:math:`B \|g_S\|_1` for coefficients up to B = 1000, which is as good as none. A fit of M
gives :math:`p_i = 1 / (1 + e^{z_i \beta})`, and for the loss without member l a bound that is tight
to third order, at

.. math:: p + \beta_l W \tilde z_l, \quad W = \operatorname{diag}(p (1 - p)),
          \quad \tilde z_l = Z V_{\cdot l} / V_{ll}, \quad V = (Z' W Z + 2 n \rho I)^{-1} . \tag{2}

Where rows count :math:`c_i` times, with the mean 1, all sums over i are weighted by these, and the
matrix W within V too.

First sets come from forward selection, which ends with all candidates, the root of the tree. The
tree is the drop tree of :mod:`~sparseopt.solvers.l0.tables.leaps_and_bounds`, with these bounds as
the costs of its members: a set is fitted only where they do not rule it out.

Source: the loss is that of SPICA, (1.1); (1) is its Fenchel dual; the tree is that of Furnival and
Wilson (1974), Regressions by leaps and bounds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sparseopt.compiling import by_address
from sparseopt.problems.base import Array

from ...common.compiled import compiled_in_place, compiled_inside
from ..settings import (
    FLAT_SLOPE,
    LARGEST_CHANCE,
    LARGEST_COEFFICIENT,
    LOSS_TIE,
    NEWTON_DECREMENT,
    NEWTON_ROUNDING,
    NEWTON_STEPS,
    NO_CURVATURE,
    SEPARATING_MARGIN,
    SHORTEST_STEP,
    SMALLEST_CHANCE,
    SUFFICIENT_DECREASE,
    TINY,
)
from .elementary import entropy, exp_minus

MEMBERS, AT, STACK = range(3)
"""Rows of ``IsingSpace.level``: a level's set, the member to be dropped next, and the stack."""

MARGIN, WEIGHT, CHANCE, POINT, SPARE, LOW_BITS, HIGH_BITS, COUNT = range(8)
"""Rows of ``IsingSpace.sample``, of the current fit: z beta, c p (1 - p), p; a point of the dual;
scratch, two rows of it for :mod:`~sparseopt.solvers.l0.tables.elementary`; and c, how often a row
counts, with the mean 1."""

STEP, TRIAL, UNIT, BOUND = range(4)
"""Rows of ``IsingSpace.work``."""

TOP, FITS, GROWN, CHOSEN = range(4)
"""Places in ``IsingSpace.state``: top of the stack, fits; size and members of the set that forward
selection has reached."""

_NO_STEP = 1e150
"""Stands for the square root of a pivot that is not there: its member gets no step."""


@by_address
class IsingSpace(NamedTuple):
    """The memory of the search of one node with d candidates and n samples.

    Attributes
    ----------
    Z : array of shape (d, n)
    best : array of shape (d + 1,)
    mask : int64 array of shape (d + 1,)
    separated : bool array of shape (d + 1,)
        The smallest losses found, the sets that attain them, and whether these separate.
    beta : array of shape (d + 2, d)
        Coefficients of each level, by the number u of its members that may be dropped; the last row
        is that of the current fit.
    low : array of shape (d + 1, d)
    bit : int64 array of shape (d + 1, d)
        Bounds on the loss without each member that may be dropped, the largest first; and which
        member that is.
    level : int64 array of shape (3, d + 1)
    sample, bits : arrays of shape (8, n)
        The same memory as float64 and as int64.
    H, work : arrays of shape (d, d), (4, d)
    chosen : int64 array of shape (d,)
        The members of the set in hand.
    state : int64 array of shape (4,)
    """

    Z: Array
    best: Array
    mask: Array
    separated: Array
    beta: Array
    low: Array
    bit: Array
    level: Array
    sample: Array
    bits: Array
    H: Array
    work: Array
    chosen: Array
    state: Array


def ising_space(Z: Array, shares: Array | None = None) -> IsingSpace:
    """Return the memory for Z, one row for each candidate, shape (d, n), before the first fit.

    Parameters
    ----------
    Z : array of shape (d, n)
    shares : array of shape (n,), optional
        Of the columns of Z in means, which sum to one. Default: 1 / n.

    Returns
    -------
    IsingSpace
    """
    d, n = Z.shape
    best, sample = np.full(d + 1, np.inf), np.zeros((8, n))
    best[0], sample[CHANCE], sample[COUNT] = np.log(2.0), 0.5, 1.0
    if shares is not None:
        # Equal counts stand together: their logarithms are taken at once.
        order = np.argsort(shares, kind="stable")
        Z, sample[COUNT] = Z[:, order], n * shares[order]
    return IsingSpace(
        Z=np.ascontiguousarray(Z, dtype=np.float64),
        best=best,
        mask=np.zeros(d + 1, dtype=np.int64),
        separated=np.zeros(d + 1, dtype=bool),
        beta=np.zeros((d + 2, d)),
        low=np.zeros((d + 1, d)),
        bit=np.zeros((d + 1, d), dtype=np.int64),
        level=np.zeros((3, d + 1), dtype=np.int64),
        sample=sample,
        bits=sample.view(np.int64),
        H=np.empty((d, d)),
        work=np.empty((4, d)),
        chosen=np.zeros(d, dtype=np.int64),
        state=np.array([-1, 0, 0, 0]),
    )


@compiled_in_place
def pursue(space: IsingSpace, ridge: float, quota: int) -> Any:
    """Go on for at most `quota` fits; return whether the search is complete.

    One fit takes O(n k^2) for each of a handful of Newton steps.

    Parameters
    ----------
    space : IsingSpace
        Changed in place.
    ridge : float
        >= 0.
    quota : int

    Returns
    -------
    bool
    """
    d, state, best = len(space.Z), space.state, space.best
    members_of, at, stack = space.level[MEMBERS], space.level[AT], space.level[STACK]
    fit = space.beta[d + 1]
    end = state[FITS] + quota
    while state[FITS] < end:
        growing = state[GROWN] < d
        w, top, parent = d, 0, d
        if growing:
            state[CHOSEN] |= 1 << _most_missed(space, ridge)
            state[GROWN] += 1
            members = state[CHOSEN]
        else:
            if state[TOP] < 0:
                return True
            top, parent = state[TOP] + 1, stack[state[TOP]]
            l = at[parent]
            if l < 0:
                state[TOP] -= 1
                continue
            at[parent] = l - 1
            # The members after l have smaller bounds, and larger sets smaller optima.
            w, members = parent - 1 - l, members_of[parent]
            if best[_count(members) - 1 - w] <= space.low[parent, l] + LOSS_TIE:
                continue
            dropped = space.bit[parent, l]
            members ^= 1 << dropped
            for i in range(d):
                fit[i] = space.beta[parent, i] if i != dropped else 0.0
        k = _list(members, space.chosen)
        loss, converged = _newton(space, k, ridge)
        state[FITS] += 1
        if loss < best[k]:
            best[k], space.mask[k] = loss, members
            space.separated[k] = ridge == 0.0 and _separates(space.sample[MARGIN])
        # Nothing is proven of a loss whose fit has not converged.
        loss = loss if converged else 0.0
        if (growing and k < d) or (not growing and (w == 0 or best[k - w] <= loss + LOSS_TIE)):
            continue
        _bounds(space, k, ridge, loss)
        _push(space, w, k, members, top, parent)
    return state[TOP] < 0 and state[GROWN] == d


@compiled_inside
def _count(members: int) -> int:
    """Return the number of members."""
    count = 0
    while members:
        members &= members - 1
        count += 1
    return count


@compiled_inside
def _list(members: int, chosen: Array) -> int:
    """List the members; return their number."""
    k = 0
    for i in range(len(chosen)):
        if members >> i & 1:
            chosen[k] = i
            k += 1
    return k


@compiled_inside
def _separates(margin: Array) -> bool:
    """Return whether a margin is so large that coefficients go to infinity."""
    most = 0.0
    for i in range(len(margin)):
        most = max(most, abs(margin[i]))
    return most > SEPARATING_MARGIN


@_separates.in_numpy
def _(margin: Array) -> bool:
    return bool(np.abs(margin).max() > SEPARATING_MARGIN)


@compiled_inside
def _most_missed(space: IsingSpace, ridge: float) -> int:
    """Return the candidate whose coefficient alone gains most by a Newton step; O(n d)."""
    d, n = space.Z.shape
    chance, count = space.sample[CHANCE], space.sample[COUNT]
    first, most = -1, -1.0
    for k in range(d):
        if not space.state[CHOSEN] >> k & 1:
            row = space.Z[k]
            slope, curve = 0.0, 0.0
            for i in range(n):
                p = chance[i]
                slope += count[i] * row[i] * p
                curve += count[i] * p * (1.0 - p) * row[i] * row[i]
            gain = slope * slope / (curve + 2.0 * n * ridge + TINY)
            if gain > most:
                first, most = k, gain
    return first


@_most_missed.in_numpy
def _(space: IsingSpace, ridge: float) -> int:
    d, n = space.Z.shape
    chance, count = space.sample[CHANCE], space.sample[COUNT]
    slope, curve = space.Z @ (count * chance), space.Z**2 @ (count * chance * (1.0 - chance))
    gain = slope * slope / (curve + 2.0 * n * ridge + TINY)
    gain[space.state[CHOSEN] >> np.arange(d) & 1 == 1] = -1.0
    return int(gain.argmax())


@compiled_inside
def _newton(space: IsingSpace, k: int, ridge: float) -> Any:
    """Take damped Newton steps from the last row of beta; return the loss, and if it is smallest.

    Where this fails they start once more from zero: coefficients that separate a larger set leave
    no curvature to start from.
    """
    Z, sample, bits, H, chosen = space.Z, space.sample, space.bits, space.H, space.chosen
    step, trial, beta = space.work[STEP], space.work[TRIAL], space.beta[len(Z) + 1]
    loss = 0.0
    for attempt in range(2):
        if attempt == 1:
            for a in range(k):
                beta[chosen[a]] = 0.0
        loss = _loss(Z, sample, bits, chosen, beta, k, ridge)
        for _ in range(NEWTON_STEPS):
            _factor(Z, sample, chosen, H, k, ridge)
            _slope(Z, sample, chosen, beta, k, ridge, step)
            for a in range(k):
                trial[a] = step[a]
            _solve(H, k, step)
            decrement = 0.0
            for a in range(k):
                decrement += trial[a] * step[a]
            if decrement <= 2.0 * NEWTON_DECREMENT:
                if _unstepped(Z, sample[WEIGHT], chosen, H, k, trial, step) <= FLAT_SLOPE:
                    return loss, True
                break
            length = 1.0
            for a in range(k):
                trial[a] = beta[chosen[a]]
            while True:
                for a in range(k):
                    beta[chosen[a]] = trial[a] + length * step[a]
                new = _loss(Z, sample, bits, chosen, beta, k, ridge)
                gained = new <= loss - SUFFICIENT_DECREASE * length * decrement
                if gained or length < SHORTEST_STEP:
                    break
                length /= 2.0
            if not new < loss:
                # Either the last digits of the loss, or a step to nowhere.
                for a in range(k):
                    beta[chosen[a]] = trial[a]
                loss = _loss(Z, sample, bits, chosen, beta, k, ridge)
                if decrement <= NEWTON_ROUNDING:
                    return loss, True
                break
            loss = new
    return loss, False


@compiled_inside
def _loss(
    Z: Array, sample: Array, bits: Array, chosen: Array, beta: Array, k: int, ridge: float
) -> Any:
    """Fill in margins, weights and chances of the k chosen members; return the loss; O(n k)."""
    margin, weight, chance = sample[MARGIN], sample[WEIGHT], sample[CHANCE]
    size, decay, count, n = sample[SPARE], sample[POINT], sample[COUNT], Z.shape[1]
    for i in range(n):
        margin[i] = 0.0
    penalty = 0.0
    for a in range(k):
        b, row = beta[chosen[a]], Z[chosen[a]]
        penalty += b * b
        for i in range(n):
            margin[i] += b * row[i]
    for i in range(n):
        size[i] = abs(margin[i])
    exp_minus(size, decay, bits[LOW_BITS], sample[LOW_BITS])
    total = 0.0
    for i in range(n):
        e = decay[i]
        inverse = 1.0 / (1.0 + e)
        chance[i] = e * inverse if margin[i] >= 0.0 else inverse
        weight[i] = count[i] * e * inverse * inverse
        total += count[i] * max(-margin[i], 0.0)
    # One logarithm for many factors, which are at most 2, where they count the same.
    for first in range(0, n, 64):
        last = min(first + 64, n)
        product = 1.0
        if count[first] == count[last - 1]:
            for i in range(first, last):
                product *= 1.0 + decay[i]
            total += count[first] * np.log(product)
        else:
            for i in range(first, last):
                total += count[i] * np.log(1.0 + decay[i])
    return total / n + ridge * penalty


@_loss.in_numpy
def _(
    Z: Array, sample: Array, bits: Array, chosen: Array, beta: Array, k: int, ridge: float
) -> float:
    margin, b = sample[MARGIN], beta[chosen[:k]]
    margin[:] = b @ Z[chosen[:k]]
    sample[POINT] = decay = np.exp(-np.abs(margin))
    inverse = 1.0 / (1.0 + decay)
    sample[CHANCE] = np.where(margin >= 0.0, decay * inverse, inverse)
    sample[WEIGHT] = sample[COUNT] * decay * inverse * inverse
    total = sample[COUNT] @ (np.maximum(-margin, 0.0) + np.log1p(decay))
    return float(total / Z.shape[1] + ridge * (b @ b))


@compiled_inside
def _factor(Z: Array, sample: Array, chosen: Array, H: Array, k: int, ridge: float) -> None:
    """Put the Cholesky factor of Z'WZ / n + 2 rho I, the Hessian, below H's diagonal; O(n k^2)."""
    weight, product, n = sample[WEIGHT], sample[POINT], Z.shape[1]
    for a in range(k):
        row = Z[chosen[a]]
        for i in range(n):
            product[i] = weight[i] * row[i]
        for b in range(a + 1):
            other = Z[chosen[b]]
            total = 0.0
            for i in range(n):
                total += product[i] * other[i]
            H[a, b] = total / n
        H[a, a] += 2.0 * ridge
    for a in range(k):
        full = H[a, a]
        for b in range(a):
            value = H[a, b]
            for c in range(b):
                value -= H[a, c] * H[b, c]
            H[a, b] = value / H[b, b]
        value = full
        for c in range(a):
            value -= H[a, c] * H[a, c]
        # A dependent member gets no step.
        curved = value > NO_CURVATURE * full and full > TINY
        H[a, a] = np.sqrt(value) if curved else _NO_STEP


@_factor.in_numpy
def _(Z: Array, sample: Array, chosen: Array, H: Array, k: int, ridge: float) -> None:
    members = Z[chosen[:k]]
    G = (members * sample[WEIGHT]) @ members.T / Z.shape[1]
    H[:k, :k] = G + 2.0 * ridge * np.eye(k)
    for a in range(k):
        row, full = H[a], H[a, a]
        for b in range(a):
            row[b] = (row[b] - row[:b] @ H[b, :b]) / H[b, b]
        value = full - row[:a] @ row[:a]
        row[a] = np.sqrt(value) if value > NO_CURVATURE * full and full > TINY else _NO_STEP


@compiled_inside
def _solve(H: Array, k: int, right: Array) -> None:
    """Replace the right-hand side by the Newton step; O(k^2)."""
    for a in range(k):
        for c in range(a):
            right[a] -= H[a, c] * right[c]
        right[a] /= H[a, a]
    for a in range(k - 1, -1, -1):
        for c in range(a + 1, k):
            right[a] -= H[c, a] * right[c]
        right[a] /= H[a, a]


@compiled_inside
def _slope(
    Z: Array, sample: Array, chosen: Array, beta: Array, k: int, ridge: float, out: Array
) -> None:
    """Set out to minus the gradient, Z'(c p) / n - 2 rho beta, at the current fit; O(n k)."""
    chance, count, n = sample[CHANCE], sample[COUNT], Z.shape[1]
    for a in range(k):
        row = Z[chosen[a]]
        total = 0.0
        for i in range(n):
            total += count[i] * row[i] * chance[i]
        out[a] = total / n - 2.0 * ridge * beta[chosen[a]]


@_slope.in_numpy
def _(
    Z: Array, sample: Array, chosen: Array, beta: Array, k: int, ridge: float, out: Array
) -> None:
    members = chosen[:k]
    out[:k] = (
        Z[members] @ (sample[COUNT] * sample[CHANCE]) / Z.shape[1] - 2.0 * ridge * beta[members]
    )


@compiled_inside
def _unstepped(
    Z: Array, weight: Array, chosen: Array, H: Array, k: int, slope: Array, step: Array
) -> float:
    """Return the largest slope that is left to members without a step.

    That of a copy of others goes with theirs; where chances are all but certain, members only look
    like copies.
    """
    n = Z.shape[1]
    most = 0.0
    for a in range(k):
        if H[a, a] < _NO_STEP:
            continue
        left = slope[a]
        for b in range(k):
            total = 0.0
            for i in range(n):
                total += Z[chosen[a], i] * weight[i] * Z[chosen[b], i]
            left -= total / n * step[b]
        most = max(most, abs(left))
    return most


@_unstepped.in_numpy
def _(Z: Array, weight: Array, chosen: Array, H: Array, k: int, slope: Array, step: Array) -> float:
    still = np.flatnonzero(np.diag(H)[:k] >= _NO_STEP)
    members = Z[chosen[:k]]
    left = slope[still] - (members[still] * weight) @ (members.T @ step[:k]) / Z.shape[1]
    return float(np.abs(left).max(initial=0.0))


@compiled_inside
def _bounds(space: IsingSpace, k: int, ridge: float, loss: float) -> None:
    """Bound the loss without each of the k chosen members of the current fit; O(n k^2)."""
    Z, sample, chosen, H = space.Z, space.sample, space.chosen, space.H
    beta, n = space.beta[len(Z) + 1], Z.shape[1]
    weight, chance, p, count = sample[WEIGHT], sample[CHANCE], sample[POINT], sample[COUNT]
    unit, rest, low = space.work[UNIT], space.work[STEP], space.work[BOUND]
    _factor(Z, sample, chosen, H, k, ridge)
    # What the fit has left is taken out of all bounds: a step of its own.
    _slope(Z, sample, chosen, beta, k, ridge, rest)
    _solve(H, k, rest)
    for l in range(k):
        low[l] = loss
        for a in range(k):
            unit[a] = 1.0 if a == l else 0.0
        _solve(H, k, unit)
        if unit[l] <= 0.0:
            continue
        # The point (2): unit is the l-th column of V.
        t = (beta[chosen[l]] + rest[l]) / unit[l]
        for i in range(n):
            p[i] = 0.0
        for a in range(k):
            row = Z[chosen[a]]
            share = t * unit[a] - rest[a]
            for i in range(n):
                p[i] += row[i] * share
        for i in range(n):
            step = weight[i] / count[i] * p[i]
            p[i] = min(max(chance[i] + step, SMALLEST_CHANCE), LARGEST_CHANCE)
        # Its value (1), without the term of member l.
        bound = entropy(space.sample, space.bits, COUNT, POINT, SPARE, LOW_BITS, HIGH_BITS) / n
        for a in range(k):
            if a == l:
                continue
            row = Z[chosen[a]]
            g = 0.0
            for i in range(n):
                g += count[i] * row[i] * p[i]
            g /= n
            bound -= g * g / (4.0 * ridge) if ridge > 0.0 else LARGEST_COEFFICIENT * abs(g)
        if bound > loss:
            low[l] = bound


@_bounds.in_numpy
def _(space: IsingSpace, k: int, ridge: float, loss: float) -> None:
    sample, chosen, H = space.sample, space.chosen, space.H
    Z, beta, n = space.Z, space.beta[len(space.Z) + 1], space.Z.shape[1]
    unit, rest, low = space.work[UNIT], space.work[STEP], space.work[BOUND]
    _factor(Z, sample, chosen, H, k, ridge)
    _slope(Z, sample, chosen, beta, k, ridge, rest)
    _solve(H, k, rest)
    members = Z[chosen[:k]]
    for l in range(k):
        low[l] = loss
        unit[:k] = np.arange(k) == l
        _solve(H, k, unit)
        if unit[l] <= 0.0:
            continue
        t = (beta[chosen[l]] + rest[l]) / unit[l]
        p = sample[CHANCE] + sample[WEIGHT] / sample[COUNT] * ((t * unit[:k] - rest[:k]) @ members)
        sample[POINT] = p = p.clip(SMALLEST_CHANCE, LARGEST_CHANCE)
        g = members @ (sample[COUNT] * p) / n
        g[l] = 0.0
        penalty = g @ g / (4.0 * ridge) if ridge > 0.0 else LARGEST_COEFFICIENT * np.abs(g).sum()
        bound = entropy(sample, space.bits, COUNT, POINT, SPARE, LOW_BITS, HIGH_BITS) / n - penalty
        low[l] = max(loss, bound)


@compiled_inside
def _push(space: IsingSpace, u: int, k: int, members: int, top: int, parent: int) -> None:
    """Put the current set on the stack unless none of its subsets can be better; O(k u).

    Its members that may be dropped are all, at the root, or the last u of the parent's.
    """
    d, low = len(space.Z), space.work[BOUND]
    bit, bound = space.bit[u], space.low[u]
    count = 0
    for a in range(k):
        member = space.chosen[a]
        free = parent == u
        for c in range(parent - u, parent):
            free = free or space.bit[parent, c] == member
        if free:
            i = count
            while i > 0 and bound[i - 1] < low[a]:
                bit[i], bound[i] = bit[i - 1], bound[i - 1]
                i -= 1
            bit[i], bound[i] = member, low[a]
            count += 1
    for r in range(1, u + 1):
        # Dropping r members costs at least the r-th smallest bound.
        if space.best[k - r] > bound[u - r] + LOSS_TIE:
            for i in range(d):
                space.beta[u, i] = space.beta[d + 1, i]
            space.level[MEMBERS, u], space.level[AT, u] = members, u - 1
            space.level[STACK, top] = u
            space.state[TOP] = top
            return
