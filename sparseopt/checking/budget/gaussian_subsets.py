r"""Proof that no neighbours of Gaussian nodes do better than their tables state.

The inner products are computed again from X; all subsets of a node's candidates are looked through
with bounds (:mod:`~sparseopt.checking.budget.gaussian_tree`). Candidates that are copies of
others, or combinations of them, are looked through in another way
(:mod:`~sparseopt.checking.budget.gaussian_dependent`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparseopt.checking.budget.products import products
from sparseopt.problems.base import Array
from sparseopt.problems.budget.neighbourhoods import L0GraphicalModel

WORK = 3e10
"""What is spent at most, in multiplications: some 20 to 30 seconds."""
_ENTRIES = 1 << 21
"""Entries of Gram matrices and columns that are handled at once."""
_NOTHING = 1e-27
"""Squared sine of the angle to others below which a candidate adds nothing: what rounding leaves of
copies and combinations is 1e-30."""
_UNSURE = 1e-15
"""That below which it may count as a combination of them: a little more than the squared 1e-8 that
the problem states."""
_ROUNDING = 1e-15
"""What a column may be off by after it was orthogonalised, of its length: some times what is seen
with up to :data:`_ROWS` rows, and growing with the root of their number."""
_ROWS = 1000
_LARGEST = 1e6
"""Largest diagonal entry of the inverse of correlations that is looked at."""
_COPY = 1e-11
"""Squared sine of an angle that inner products have no digits left for."""


@dataclass(frozen=True, eq=False)
class GaussianProof:
    """What was found.

    Attributes
    ----------
    proven : bool array of shape (d,)
        Nodes none of whose neighbours do better.
    beaten : (node, size, loss) or None
        Neighbours that do.
    work : float
        What was spent.
    """

    proven: Array
    beaten: tuple[int, int, float] | None
    work: float


def prove_tables(
    problem: L0GraphicalModel,
    table: Array,
    slack: Array | None = None,
    work: float | None = None,
) -> GaussianProof:
    """Look through the subsets of as many nodes as can be afforded, the smallest first.

    Parameters
    ----------
    problem : L0GraphicalModel
        With loss "gaussian".
    table : array of shape (total + d,)
        Losses of 0, 1, ... neighbours of each node, not scaled, that no neighbours may fall below:
        those stated less a tolerance.
    slack : array of shape (total + d,), optional
        The tolerance, which says how many digits of the losses count; default 1e-9 of the losses
        of no neighbours.
    work : float, optional
        What may be spent; default :data:`WORK`.
    """
    from sparseopt.checking.budget.gaussian_tree import BEATEN, DEPENDENT, PROVEN, prove_each

    sizes, (n, d) = problem.candidates.sizes, problem.X.shape
    left = WORK if work is None else work
    given = left
    largest = _largest_inverse(problem, slack)
    proven = sizes == 0
    dependent = []
    whole = None
    if d * max(n, d) <= _ENTRIES and d * d <= np.square(sizes + 1.0).sum():
        columns = problem.columns(slice(None))
        whole = columns.T @ columns / n
    for size in np.unique(sizes[sizes > 0]):
        same = np.flatnonzero(sizes == size)
        step = max(1, _ENTRIES // int((size + 1) * (size + 1 + n)))
        for start in range(0, len(same), step):
            nodes = same[start : start + step]
            if left <= 0.0:
                break
            gram, bound = products(problem, nodes, int(size), whole), _bounds(problem, nodes, table)
            state, found = np.zeros(len(nodes), dtype=np.int64), np.zeros((len(nodes), 2))
            left -= prove_each(gram, bound, largest[nodes], left, state, found)
            if (state == BEATEN).any():
                at = int(np.argmax(state == BEATEN))
                beaten = int(nodes[at]), int(found[at, 0]), float(found[at, 1])
                return GaussianProof(proven, beaten, given - left)
            proven[nodes[state == PROVEN]] = True
            dependent += list(nodes[state == DEPENDENT])
    for j in dependent:
        became, most, loss, spent = _search_dependent(problem, int(j), table, left)
        left -= spent
        if became == BEATEN:
            return GaussianProof(proven, (int(j), most, loss), given - left)
        proven[j] = became == PROVEN
    return GaussianProof(proven, None, given - left)


def rounding(problem: L0GraphicalModel) -> float:
    """Return what a column may be off by after it was orthogonalised, of its length.

    Parameters
    ----------
    problem : L0GraphicalModel
    """
    return float(_ROUNDING * np.sqrt(1.0 + problem.X.shape[0] / _ROWS))


def _largest_inverse(problem: L0GraphicalModel, slack: Array | None) -> Array:
    """Return how large an inverse may be for losses to be known to the slack, of each node."""
    out = np.full(problem.candidates.nodes, _LARGEST)
    if slack is not None:
        first = problem.candidates.ptr[:-1] + np.arange(len(out))
        part = np.minimum.reduceat(slack, first) / problem.null_losses()
        out = np.minimum(out, part / _ROUNDING)
    return out


def _bounds(problem: L0GraphicalModel, nodes: Array, table: Array) -> Array:
    """Return the tables of nodes of one size; at most k neighbours do no better than k."""
    size = int(problem.candidates.sizes[nodes[0]])
    first = problem.candidates.ptr[nodes] + nodes
    own = table[first[:, None] + np.arange(size + 1)]
    return np.ascontiguousarray(np.maximum.accumulate(own[:, ::-1], axis=1)[:, ::-1])


def _search_dependent(
    problem: L0GraphicalModel, node: int, table: Array, work: float
) -> tuple[int, int, float, float]:
    """Look through the subsets of a node without using an inverse; (state, size, loss, spent)."""
    from sparseopt.checking.budget.gaussian_dependent import prove_dependent
    from sparseopt.checking.budget.gaussian_tree import OPEN

    own, n = problem.candidates.of(node), problem.X.shape[0]
    columns, target = problem.columns(own), problem.columns(node)
    if problem.ridge > 0.0:
        columns = np.vstack([columns, np.sqrt(n * problem.ridge) * np.eye(len(own))])
        target = np.append(target, np.zeros(len(own)))
    null = float(target @ target)
    columns, target = columns / np.linalg.norm(columns, axis=0), target / np.sqrt(null)
    columns = columns[:, _different(columns)]
    # Those that are missed most come first; a trace of a ridge lets copies share.
    R, c = columns.T @ columns, columns.T @ target
    V = np.linalg.inv(R + 1e-6 * np.eye(len(R)))
    order = np.argsort(-np.square(V @ c) / np.diag(V), kind="stable")
    triangle = np.asarray(np.linalg.qr(np.column_stack([columns[:, order], target]), mode="r"))
    rows = np.ascontiguousarray(triangle.T)
    bound = _bounds(problem, np.array([node]), table)[0, : len(R) + 1] * n / null
    state, size, rss, spent, doubtful = prove_dependent(
        rows, bound, _NOTHING, _UNSURE, rounding(problem), work
    )
    if doubtful:
        state = OPEN
    return state, size, rss * null / n, spent


def _different(columns: Array) -> Array:
    """Return the candidates, of unit length, that are no copies of others before them."""
    R = columns.T @ columns
    kept: list[int] = []
    for k in range(len(R)):
        near = [i for i in kept if 1.0 - R[i, k] ** 2 < _COPY]
        # The inner product has no digits left for the angle; the difference has.
        apart = (columns[:, k] - np.sign(R[i, k]) * columns[:, i] for i in near)
        if not any(float(rest @ rest) < _NOTHING for rest in apart):
            kept.append(k)
    return np.array(kept)
