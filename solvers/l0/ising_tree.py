r"""Best subsets of every size of an Ising node by branch and bound, compiled.

With :math:`z_{ik} = x_{ij} x_{ik}` the loss of a set S of neighbours is

.. math:: \ell(S) = \min_\beta \frac1n \sum_i \log(1 + e^{-z_i \beta}) + \rho \|\beta\|^2
          \ge \frac1n \sum_i H(p_i) - \frac1{4 \rho} \sum_{k \in S} g_k^2, \quad
          g = Z' p / n,

for every p in :math:`[0, 1]^n`, H being the entropy; without a ridge the last term is
:math:`B \|g_S\|_1` for coefficients up to B = 1000, which is as good as none. A fit of M
gives :math:`p_i = 1 / (1 + e^{z_i \beta})`, and for the loss without member l a bound that is tight
to third order, at

.. math:: p + \beta_l W \tilde z_l, \quad W = \operatorname{diag}(p (1 - p)),
          \quad \tilde z_l = Z V_{\cdot l} / V_{ll}, \quad V = (Z' W Z + 2 n \rho I)^{-1} .

The tree is the drop tree of :mod:`~sparseopt.solvers.l0.subset_tree`, with these bounds as the
costs of its members: a set is fitted only where they do not rule it out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sparseopt.problems.base import Array

from ..common.compiled import compiled
from .elementary import entropy, exp_minus

__all__ = ["IsingSpace", "ising_space", "pursue", "start"]

_NEWTON = 60
_PRECISION = 1e-13
"""Newton decrement, half its square, at which a fit ends: about the error of its loss."""
_SEPARATED = 20.0
"""Margins beyond which neighbours separate the node's values."""
_ROUNDED = 1e-11
"""Newton decrement below which a step that lowers nothing is rounding."""
_FLAT = 1e-9
"""Slope that may be left where there is no curvature to take a step."""
_COEFFICIENT = 1e3
"""Size of the coefficients for which bounds hold without a ridge."""
_SMALLEST, _EPS = 1e-300, 1e-16
_TIE = 1e-10
"""Improvements of the loss that are not looked for."""


class IsingSpace(NamedTuple):
    """The memory of the search of one node.

    Attributes
    ----------
    Z : array of shape (d, n)
    best : array of shape (d + 1,)
    mask : int64 array of shape (d + 1,)
    separated : bool array of shape (d + 1,)
        The smallest losses found, the sets that attain them, and whether these separate.
    beta : array of shape (d + 2, d)
        Coefficients of each level, by the number u of its members that may be dropped; the last is
        that of the fit in hand.
    bit : int array of shape (d + 1, d)
    low : array of shape (d + 1, d)
        Members that may be dropped, and bounds on the loss without each, the largest first.
    members : int64 array of shape (d + 1,)
    at, stack : int arrays of shape (d + 1,)
    margin, weight, chance, point, spare : arrays of shape (n,)
        Of the fit in hand: z beta, p (1 - p), p; a point of the dual; and scratch.
    bits : int64 array of shape (2, n)
        Scratch.
    H, work : arrays of shape (d, d), (3, d)
    chosen : int array of shape (d,)
    state : int array of shape (2,)
        Top of the stack, fits.
    """

    Z: Array
    best: Array
    mask: Array
    separated: Array
    beta: Array
    bit: Array
    low: Array
    members: Array
    at: Array
    stack: Array
    margin: Array
    weight: Array
    chance: Array
    point: Array
    spare: Array
    bits: Array
    H: Array
    work: Array
    chosen: Array
    state: Array


def ising_space(Z: Array) -> IsingSpace:
    """Return the memory for Z, one row for each candidate, shape (d, n)."""
    d, n = Z.shape
    return IsingSpace(
        Z=np.ascontiguousarray(Z, dtype=np.float64),
        best=np.full(d + 1, np.inf),
        mask=np.zeros(d + 1, dtype=np.int64),
        separated=np.zeros(d + 1, dtype=bool),
        beta=np.zeros((d + 2, d)),
        bit=np.zeros((d + 1, d), dtype=np.int64),
        low=np.zeros((d + 1, d)),
        members=np.zeros(d + 1, dtype=np.int64),
        at=np.zeros(d + 1, dtype=np.int64),
        stack=np.zeros(d + 1, dtype=np.int64),
        margin=np.empty(n),
        weight=np.empty(n),
        chance=np.empty(n),
        point=np.empty(n),
        spare=np.empty(n),
        bits=np.empty((2, n), dtype=np.int64),
        H=np.empty((d, d)),
        work=np.empty((3, d)),
        chosen=np.zeros(d, dtype=np.int64),
        state=np.array([-1, 0]),
    )


@compiled
def _loss(space: IsingSpace, beta: Array, k: int, ridge: float) -> Any:
    """Fill in margins, weights and chances of the k chosen members; return the loss."""
    margin, chosen, n = space.margin, space.chosen, space.Z.shape[1]
    margin[:] = 0.0
    penalty = 0.0
    for a in range(k):
        b = beta[chosen[a]]
        penalty += b * b
        row = space.Z[chosen[a]]
        for i in range(n):
            margin[i] += b * row[i]
    size, decay = space.spare, space.point
    for i in range(n):
        size[i] = abs(margin[i])
    exp_minus(size, decay, space.bits[0])
    total = 0.0
    for i in range(n):
        e = decay[i]
        inverse = 1.0 / (1.0 + e)
        space.chance[i] = e * inverse if margin[i] >= 0.0 else inverse
        space.weight[i] = e * inverse * inverse
        total += max(-margin[i], 0.0)
    # One logarithm for many factors, which are at most 2.
    for first in range(0, n, 64):
        product = 1.0
        for i in range(first, min(first + 64, n)):
            product *= 1.0 + decay[i]
        total += np.log(product)
    return total / n + ridge * penalty


@compiled
def _factor(space: IsingSpace, k: int, ridge: float) -> None:
    """Put the Cholesky factor of the Hessian at the weights below the diagonal of H."""
    H, weight, chosen = space.H, space.weight, space.chosen
    n = space.Z.shape[1]
    for a in range(k):
        row, product = space.Z[chosen[a]], space.point
        for i in range(n):
            product[i] = weight[i] * row[i]
        for b in range(a + 1):
            other = space.Z[chosen[b]]
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
        H[a, a] = np.sqrt(value) if value > 1e-12 * full and full > 1e-300 else 1e150


@compiled
def _solve(space: IsingSpace, k: int, right: Array) -> None:
    """Replace the right-hand side by the Newton step."""
    H = space.H
    for a in range(k):
        for c in range(a):
            right[a] -= H[a, c] * right[c]
        right[a] /= H[a, a]
    for a in range(k - 1, -1, -1):
        for c in range(a + 1, k):
            right[a] -= H[c, a] * right[c]
        right[a] /= H[a, a]


@compiled
def _choose(space: IsingSpace, members: int) -> int:
    """List the members; return their number."""
    k = 0
    for i in range(len(space.Z)):
        if members >> i & 1:
            space.chosen[k] = i
            k += 1
    return k


@compiled
def _fit(space: IsingSpace, members: int, ridge: float) -> Any:
    """Fit a set from the last row of beta; record it; return what its loss does not fall below."""
    beta, k = space.beta[len(space.Z) + 1], _choose(space, members)
    space.state[1] += 1
    loss, converged = _newton(space, beta, k, ridge)
    if not converged:
        # Coefficients that separate a larger set leave no curvature to start from.
        for a in range(k):
            beta[space.chosen[a]] = 0.0
        loss, converged = _newton(space, beta, k, ridge)
    if loss < space.best[k]:
        space.best[k], space.mask[k] = loss, members
        space.separated[k] = ridge == 0.0 and np.abs(space.margin).max() > _SEPARATED
    return loss if converged else 0.0


@compiled
def _newton(space: IsingSpace, beta: Array, k: int, ridge: float) -> Any:
    """Take damped Newton steps; return the loss, and whether it is the smallest."""
    step, trial = space.work[0], space.work[1]
    chosen = space.chosen
    loss = _loss(space, beta, k, ridge)
    for _ in range(_NEWTON):
        _factor(space, k, ridge)
        _slope(space, beta, k, ridge, step)
        for a in range(k):
            trial[a] = step[a]
        _solve(space, k, step)
        decrement = 0.0
        for a in range(k):
            decrement += trial[a] * step[a]
        if decrement <= 2.0 * _PRECISION:
            return loss, _unstepped(space, k, trial, step) <= _FLAT
        length = 1.0
        for a in range(k):
            trial[a] = beta[chosen[a]]
        while True:
            for a in range(k):
                beta[chosen[a]] = trial[a] + length * step[a]
            new = _loss(space, beta, k, ridge)
            if new <= loss - 1e-4 * length * decrement or length < 1e-10:
                break
            length /= 2.0
        if not new < loss:
            for a in range(k):
                beta[chosen[a]] = trial[a]
            # Either the last digits of the loss, or a step to nowhere.
            return _loss(space, beta, k, ridge), decrement <= _ROUNDED
        loss = new
    return loss, False


@compiled
def _unstepped(space: IsingSpace, k: int, slope: Array, step: Array) -> float:
    """Return the largest slope that is left to members without a step.

    That of a copy of others goes with theirs; where chances are all but certain, members only look
    like copies.
    """
    Z, chosen, n = space.Z, space.chosen, space.Z.shape[1]
    most = 0.0
    for a in range(k):
        if space.H[a, a] < 1e150:
            continue
        left = slope[a]
        for b in range(k):
            total = 0.0
            for i in range(n):
                total += Z[chosen[a], i] * space.weight[i] * Z[chosen[b], i]
            left -= total / n * step[b]
        most = max(most, abs(left))
    return most


@compiled
def _slope(space: IsingSpace, beta: Array, k: int, ridge: float, out: Array) -> None:
    """Set out to minus the gradient at the fit in hand."""
    chosen, n = space.chosen, space.Z.shape[1]
    for a in range(k):
        row = space.Z[chosen[a]]
        total = 0.0
        for i in range(n):
            total += row[i] * space.chance[i]
        out[a] = total / n - 2.0 * ridge * beta[chosen[a]]


@compiled
def _bounds(space: IsingSpace, k: int, ridge: float, loss: float, low: Array) -> None:
    """Bound the loss without each of the k chosen members, whose fit is in hand."""
    beta = space.beta[len(space.Z) + 1]
    Z, weight, chosen, p = space.Z, space.weight, space.chosen, space.point
    n = Z.shape[1]
    unit, rest = space.work[2], space.work[0]
    _factor(space, k, ridge)
    # What the fit has left is taken out of all bounds: a step of its own.
    _slope(space, beta, k, ridge, rest)
    _solve(space, k, rest)
    for l in range(k):
        low[l] = loss
        unit[:k] = 0.0
        unit[l] = 1.0
        _solve(space, k, unit)
        if unit[l] <= 0.0:
            continue
        t = (beta[chosen[l]] + rest[l]) / unit[l]
        p[:] = 0.0
        for a in range(k):
            row = Z[chosen[a]]
            share = t * unit[a] - rest[a]
            for i in range(n):
                p[i] += row[i] * share
        for i in range(n):
            p[i] = min(max(space.chance[i] + weight[i] * p[i], _SMALLEST), 1.0 - _EPS)
        bound = entropy(p, space.spare, space.bits) / n
        for a in range(k):
            if a == l:
                continue
            row = Z[chosen[a]]
            g = 0.0
            for i in range(n):
                g += row[i] * p[i]
            g /= n
            if ridge > 0.0:
                bound -= g * g / (4.0 * ridge)
            else:
                bound -= _COEFFICIENT * abs(g)
        if bound > loss:
            low[l] = bound


@compiled
def start(space: IsingSpace, ridge: float) -> None:
    """Find first sets by forward selection and put the root of the tree on the stack."""
    d, n = space.Z.shape
    beta = space.beta[d + 1]
    space.best[0], space.mask[0], space.separated[0] = np.log(2.0), 0, False
    beta[:] = 0.0
    space.chance[:] = 0.5
    members = 0
    for _ in range(d):
        first, most = -1, -1.0
        for k in range(d):
            if not members >> k & 1:
                row = space.Z[k]
                slope, curve = 0.0, 0.0
                for i in range(n):
                    p = space.chance[i]
                    slope += row[i] * p
                    curve += p * (1.0 - p) * row[i] * row[i]
                gain = slope * slope / (curve + 2.0 * n * ridge + 1e-300)
                if gain > most:
                    first, most = k, gain
        members |= 1 << first
        loss = _fit(space, members, ridge)
    if d > 0:
        _push(space, d, members, loss, ridge, 0, d)


@compiled
def _push(
    space: IsingSpace, u: int, members: int, loss: float, ridge: float, top: int, parent: int
) -> bool:
    """Put the set in hand on the stack; False where none of its subsets can be better.

    Its members that may be dropped are all, at the root, or the last u of the parent's.
    """
    d = len(space.Z)
    k = _choose(space, members)
    low = space.work[1]
    _bounds(space, k, ridge, loss, low)
    bit, bound = space.bit[u], space.low[u]
    count = 0
    for a in range(k):
        member = space.chosen[a]
        free = parent == u
        if not free:
            for c in range(parent - u, parent):
                if space.bit[parent, c] == member:
                    free = True
        if free:
            i = count
            while i > 0 and bound[i - 1] < low[a]:
                bit[i], bound[i] = bit[i - 1], bound[i - 1]
                i -= 1
            bit[i], bound[i] = member, low[a]
            count += 1
    alive = False
    for r in range(1, u + 1):
        # Dropping r members costs at least the r-th smallest bound.
        if space.best[k - r] > bound[u - r] + _TIE:
            alive = True
            break
    if not alive:
        return False
    space.beta[u] = space.beta[d + 1]
    space.members[u], space.at[u] = members, u - 1
    space.stack[top] = u
    space.state[0] = top
    return True


@compiled
def pursue(space: IsingSpace, ridge: float, quota: int) -> Any:
    """Go on for at most `quota` fits; return whether the search is complete."""
    d = len(space.Z)
    end = space.state[1] + quota
    while space.state[0] >= 0 and space.state[1] < end:
        top = space.state[0]
        u = space.stack[top]
        l = space.at[u]
        if l < 0:
            space.state[0] = top - 1
            continue
        space.at[u] = l - 1
        w = u - 1 - l
        members = space.members[u] ^ (1 << space.bit[u, l])
        s = 0
        for i in range(d):
            s += members >> i & 1
        # The members behind have smaller bounds, and larger sets smaller optima.
        if space.best[s - w] <= space.low[u, l] + _TIE:
            continue
        space.beta[d + 1] = space.beta[u]
        space.beta[d + 1, space.bit[u, l]] = 0.0
        loss = _fit(space, members, ridge)
        if w > 0 and space.best[s - w] > loss + _TIE:
            _push(space, w, members, loss, ridge, top + 1, u)
    return space.state[0] < 0
