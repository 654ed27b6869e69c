r"""The smallest losses of stated neighbours, for the checker alone.

No engine and no path uses these functions; theirs are others, and a test compares them. Squares are
minimised by elimination in inner products where no angle is narrow
(:mod:`~sparseopt.checking.budget.products`). Elsewhere it is Householder's QR of the columns
themselves, since products square the condition of nearly dependent neighbours: with
:math:`[A\; y] = Q R`, A holding the k chosen columns, the residual sum of squares is
:math:`R_{k+1,k+1}^2`. Logistic losses are minimised by Newton's method.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparseopt.checking.budget.products import products, tell_losses
from sparseopt.problems.base import Array
from sparseopt.problems.budget.neighbourhoods import L0GraphicalModel

_ENTRIES = 1 << 21
"""Entries of X that are gathered at once."""
_DEPENDENT = 1e-8
"""Sine of the angle between a column and those before it below which a column may be their
combination up to rounding: such sets are solved by their singular values."""
_STEPS = 80
"""Newton steps at most; separated neighbours need some 40 until their losses vanish."""
_HALVINGS = 40
"""Bisections of a step at most."""
_NARROW = 1e-2
"""Sine of an angle below which the columns themselves are factorised, not those reduced before."""
_REDUCED = 300
"""Columns up to which X, where it fits into memory, is reduced to a triangle at first; else it is
the columns of each node, where they are few."""
_PATTERNS = 16
"""Neighbours up to which equal observations are counted."""
_LEFT = 2e-13
"""Newton decrement, squared, at which a fit ends: twice what it may still gain."""


def support_losses(problem: L0GraphicalModel, supports: Array) -> Array:
    """Return the loss of every entry of a path's supports, not scaled, ridge included.

    Parameters
    ----------
    problem : L0GraphicalModel
    supports : int64 array of shape (total + d,)
        Candidates as bits, as in :class:`~sparseopt.paths.graph.GraphPath`.

    Returns
    -------
    array of shape (total + d,)
    """
    candidates, (n, d) = problem.candidates, problem.X.shape
    rows = n
    source: L0GraphicalModel | Array = problem
    reduced = problem.loss != "ising" and 2 * d <= n and d <= _REDUCED and n * d <= _ENTRIES
    if reduced:
        # Q'X in place of X: columns of the same lengths and angles, to rounding errors of each
        # column's own size, which only narrow angles magnify.
        rows, source = d, np.asarray(np.linalg.qr(problem.columns(slice(None)), mode="r"))
    node = np.repeat(np.arange(candidates.nodes), candidates.sizes + 1)
    out = np.asarray(problem.null_losses()[node])
    apart = np.zeros(d, dtype=bool)
    if problem.loss != "ising" and not reduced:
        apart = (candidates.sizes > 1) & (2 * (candidates.sizes + 1) <= n)
    for size in np.unique(candidates.sizes[apart]).astype(int):
        nodes = np.flatnonzero(apart & (candidates.sizes == size))
        step = max(1, _ENTRIES // (n * (size + 1)))
        for start in range(0, len(nodes), step):
            some = nodes[start : start + step]
            left = some[_by_products(problem, some, size, supports, out)]
            if len(left):
                _by_triangles(problem, left, size, supports, out)
    used = np.where(apart[node], 0, np.bitwise_count(supports))
    bit = np.arange(int(candidates.sizes.max()))
    for k in np.unique(used[used > 0]).astype(int):
        same = np.flatnonzero(used == k)
        step = max(1, _ENTRIES // (rows * (k + 1)))
        for start in range(0, len(same), step):
            some = same[start : start + step]
            place = np.nonzero(supports[some][:, None] >> bit & 1)[1].reshape(-1, k)
            chosen = candidates.index[candidates.ptr[node[some]][:, None] + place]
            columns, target = _columns(source, chosen, node[some])
            if problem.loss == "ising":
                observations = Observations.of(columns * target[:, None, :], problem.shares)
                out[some] = logistic_fits(observations, problem.ridge)[1]
                continue
            out[some], sine = _squares(columns, target, problem.ridge * n)
            for at in np.flatnonzero(sine < _NARROW)[:, None] if reduced else ():
                columns, target = _columns(problem, chosen[at], node[some[at]])
                out[some[at]] = _squares(columns, target, problem.ridge * n)[0]
            out[some] /= n
    return out


def _by_products(
    problem: L0GraphicalModel, nodes: Array, size: int, supports: Array, out: Array
) -> Array:
    """Fill in the losses that inner products tell; return the nodes where some are not told."""
    entry = (problem.candidates.ptr[nodes] + nodes)[:, None] + np.arange(size + 1)
    losses = np.empty(entry.shape)
    tell_losses(products(problem, nodes, size, None), supports[entry], losses)
    out[entry] = losses
    return np.flatnonzero(np.isnan(losses).any(axis=1))


def _by_triangles(
    problem: L0GraphicalModel, nodes: Array, size: int, supports: Array, out: Array
) -> None:
    """Fill in the losses of all entries of some nodes, each with so many candidates.

    The columns of a node are reduced to a triangle at first, as all of X is where it is small.
    """
    candidates, n = problem.candidates, problem.X.shape[0]
    own = candidates.index[candidates.ptr[nodes][:, None] + np.arange(size)]
    columns, target = _columns(problem, own, nodes)
    columns = np.concatenate([columns, target[:, None]], axis=1)
    triangles = np.asarray(np.linalg.qr(columns.transpose(0, 2, 1), mode="r")).transpose(0, 2, 1)
    entry = (candidates.ptr[nodes] + nodes)[:, None] + np.arange(size + 1)
    used = np.bitwise_count(supports[entry])
    for k in np.unique(used[used > 0]).astype(int):
        at, which = np.nonzero(used == k)
        here = entry[at, which]
        place = np.nonzero(supports[here][:, None] >> np.arange(size) & 1)[1].reshape(-1, k)
        chosen, last = triangles[at[:, None], place], triangles[at, size]
        losses, sine = _squares(chosen, last, problem.ridge * n)
        narrow = np.flatnonzero(sine < _NARROW)
        if len(narrow):
            of = at[narrow]
            chosen, last = columns[of[:, None], place[narrow]], columns[of, size]
            losses[narrow] = _squares(chosen, last, problem.ridge * n)[0]
        out[here] = losses / n


def largest_margins(problem: L0GraphicalModel, supports: Array, places: Array) -> Array:
    """Return the largest margin of the fits of some entries of the supports, with the loss "ising".

    Where neighbours separate a node's values the fit goes on until its loss vanishes, and margins
    grow beyond all others.

    Parameters
    ----------
    problem : L0GraphicalModel
    supports : int64 array of shape (total + d,)
    places : int array of shape (K,)

    Returns
    -------
    array of shape (K,)
    """
    candidates = problem.candidates
    node = np.repeat(np.arange(candidates.nodes), candidates.sizes + 1)
    out = np.zeros(len(places))
    for k, at in enumerate(places.tolist()):
        own, bits = candidates.of(int(node[at])), int(supports[at])
        chosen = own[[i for i in range(len(own)) if bits >> i & 1]]
        if len(chosen):
            columns, target = _columns(problem, chosen[None], node[[at]])
            observations = Observations.of(columns * target[:, None, :], problem.shares)
            beta = logistic_fits(observations, problem.ridge)[0]
            margins = np.where(observations.weight > 0.0, observations.along(beta), 0.0)
            out[k] = np.abs(margins).max()
    return out


def _columns(source: L0GraphicalModel | Array, chosen: Array, node: Array) -> tuple[Array, Array]:
    """Return the columns of some sets, shape (sets, k, n), and those of their nodes."""
    columns, target = (
        source[:, each] if isinstance(source, np.ndarray) else source.columns(each)
        for each in (chosen, node)
    )
    return columns.transpose(1, 2, 0), target.T


def _squares(columns: Array, target: Array, shift: float) -> tuple[Array, Array]:
    """Return the residual sums of squares, plus shift times the squared coefficients.

    And the smallest sine of an angle between a column and those before it, for each set.

    Parameters
    ----------
    columns, target : arrays of shapes (sets, k, n) and (sets, n)
    shift : float
    """
    count, k, n = columns.shape
    rows = np.zeros((count, n + (k if shift > 0.0 else 0), k + 1))
    rows[:, :n, :k], rows[:, :n, k] = columns.transpose(0, 2, 1), target
    if shift > 0.0:
        rows[:, n + np.arange(k), np.arange(k)] = np.sqrt(shift)
    # Columns of one length: sines of angles are then the diagonal of R.
    rows[:, :, :k] /= np.linalg.norm(rows[:, :, :k], axis=1, keepdims=True)
    diagonal = np.abs(np.diagonal(np.linalg.qr(rows, mode="raw")[0], axis1=1, axis2=2))
    out = np.asarray(np.square(diagonal[:, k]))
    sine = diagonal[:, :k].min(axis=1)
    for at in np.flatnonzero(sine < _DEPENDENT):
        A, y = rows[at, :, :k], rows[at, :, k]
        out[at] = np.square(y - A @ np.linalg.lstsq(A, y, rcond=None)[0]).sum()
    return out, sine


@dataclass(frozen=True, eq=False)
class Observations:
    """Neighbours times the node, for many sets at once; equal observations stand once, with weight.

    Attributes
    ----------
    Z : array of shape (sets, k, r) or (1, k, r)
        The latter where all sets have the same.
    weight : array of shape (sets, r)
        Sums to one for each set.
    """

    Z: Array
    weight: Array

    @classmethod
    def of(cls, Z: Array, shares: Array) -> Observations:
        """Collect those of sets of k neighbours.

        Parameters
        ----------
        Z : array of shape (sets, k, n)
        shares : array of shape (n,)
            The weight of each row, which sum to one.
        """
        shares = np.broadcast_to(shares, (len(Z), Z.shape[2]))
        if not (np.abs(Z) == 1.0).all():
            return cls(Z, shares)
        return cls.of_signs(Z > 0.0, shares)

    @classmethod
    def of_signs(cls, signs: Array, shares: Array) -> Observations:
        """Collect those whose values are -1 and 1.

        Parameters
        ----------
        signs : bool array of shape (sets, k, n)
        shares : array of shape (sets, n)
        """
        count, k, n = signs.shape
        if k > _PATTERNS or 2**k >= n:
            return cls(np.where(signs, 1.0, -1.0), shares)
        code = np.arange(count)[:, None] << k | signs[:, 0]
        for j in range(1, k):
            code |= signs[:, j].astype(np.int64) << j
        weight = np.bincount(code.ravel(), shares.ravel(), count << k).reshape(count, -1)
        patterns = 2.0 * (np.arange(2**k) >> np.arange(k)[:, None] & 1) - 1.0
        return cls(patterns[None], weight)

    def __getitem__(self, sets: Array) -> Observations:
        """Return those of some sets."""
        return Observations(self.Z if len(self.Z) == 1 else self.Z[sets], self.weight[sets])

    def along(self, beta: Array) -> Array:
        """Return z beta of each set's coefficients, shape (sets, r)."""
        if len(self.Z) == 1:
            return np.asarray(beta @ self.Z[0])
        return np.asarray((beta[:, None, :] @ self.Z)[:, 0])

    def means(self, values: Array) -> Array:
        """Return the weighted means of z times a value each, shape (sets, k)."""
        weighted = self.weight * values
        if len(self.Z) == 1:
            return np.asarray(weighted @ self.Z[0].T)
        return np.asarray((self.Z @ weighted[:, :, None])[:, :, 0])

    def squares(self, values: Array) -> Array:
        """Return the weighted means of z z' times a value each, shape (sets, k, k)."""
        weighted = self.weight * values
        if len(self.Z) == 1:
            Z = self.Z[0]
            products = (Z[:, None] * Z).reshape(-1, Z.shape[1])
            return np.asarray((weighted @ products.T).reshape(-1, len(Z), len(Z)))
        return np.asarray((self.Z * weighted[:, None, :]) @ self.Z.transpose(0, 2, 1))

    def losses(self, beta: Array) -> tuple[Array, Array]:
        """Return mean log(1 + exp(-z beta)) of each set, and each 1 / (1 + exp(z beta))."""
        along = self.along(beta)
        small = np.exp(-np.abs(along))
        losses = (self.weight * (np.maximum(-along, 0.0) + np.log1p(small))).sum(axis=1)
        return losses, np.where(along > 0.0, small, 1.0) / (1.0 + small)


def logistic_fits(
    observations: Observations, ridge: float, start: Array | None = None
) -> tuple[Array, Array]:
    """Minimise mean log(1 + exp(-z beta)) + ridge |beta|^2 for many sets at once.

    Parameters
    ----------
    observations : Observations
    ridge : float
    start : array of shape (sets, k), optional
        Where to begin. Default: at zero.

    Returns
    -------
    beta, loss : arrays of shapes (sets, k) and (sets,)
        Where the neighbours separate the node's values, those at which the loss all but vanishes.
    """
    count, k = len(observations.weight), observations.Z.shape[1]
    beta = np.zeros((count, k)) if start is None else start.copy()
    loss, p = observations.losses(beta)
    loss += ridge * np.square(beta).sum(axis=1)
    left = np.arange(count)
    some = observations
    for _ in range(_STEPS):
        b = beta[left]
        slope = some.means(p) - 2.0 * ridge * b
        curvature = some.squares(p - p * p)
        # A copy of other neighbours, or a separating set, leaves some direction flat.
        flat = 2.0 * ridge + 1e-13 * np.trace(curvature, axis1=1, axis2=2) / k + 1e-300
        curvature += flat[:, None, None] * np.eye(k)
        step = np.linalg.solve(curvature, slope[:, :, None])[:, :, 0]
        gain = (slope * step).sum(axis=1)
        going = gain > _LEFT
        left, b, step, gain = (a[going] for a in (left, b, step, gain))
        some = some[going]
        if len(left) == 0:
            break
        length = np.ones(len(left))
        for _ in range(_HALVINGS):
            trial = b + length[:, None] * step
            new, p = some.losses(trial)
            new += ridge * np.square(trial).sum(axis=1)
            short = new > loss[left] - 1e-4 * length * gain
            if not short.any():
                break
            length[short] *= 0.5
        better = new < loss[left]
        left, some, p = left[better], some[better], p[better]
        beta[left], loss[left] = trial[better], new[better]
    return beta, loss
