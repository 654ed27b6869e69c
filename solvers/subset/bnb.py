"""Regression with few nonzero coefficients: branch and bound with the perspective relaxation."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from sparseopt.backend import Backend, Control, Feature, Option
from sparseopt.compiling import prepare
from sparseopt.params import SolveParams
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.subset.logistic import SparseLogisticRegression
from sparseopt.problems.subset.problem import SparseRegression, SubsetProblem
from sparseopt.result import Certificate, Limit, Result, Status

from .incumbent import Incumbent, SquaredIncumbent
from .logistic import LogisticIncumbent, LogisticPool, first_slopes
from .relaxation import Pool, Relaxed, SquaredPool, conjugate, sum_of_largest
from .settings import PROVEN_GAP, SubsetSettings

_DEFAULT_GAP = SolveParams().rel_gap
_ROUNDING = 2.0**-52
"""Twice the error of one operation: the checker's bounds of rounding are the same."""


class SubsetBranchAndBound(Backend):
    """Best-first search over supports, with bounds from residuals of a convex relaxation.

    1. A support: forward selection, then exchanges of one variable for the best other one.
    2. The root's relaxation on a pool of columns. One product of its residual with all of X gives
       the bound, and the columns that the pool lacks; and with the incumbent it says which
       columns no better support can have.
    3. Nodes are solved on the pool alone. Those that seem to be closed are proven in batches, by
       one product of the columns that are left with all their residuals; where columns were
       missing they come into the pool, and the node is solved again.
    """

    name: ClassVar[str] = "subset-bnb"
    summary: ClassVar[str] = "own branch and bound with perspective relaxation and safe dual bounds"
    families: ClassVar[frozenset[str]] = frozenset({"subset"})
    features: ClassVar[frozenset[Feature]] = frozenset(
        {Feature.EXACT, Feature.DUAL_BOUND, Feature.CERTIFICATE}
    )
    limits: ClassVar[frozenset[str]] = frozenset({"node_limit"})
    options: ClassVar[Mapping[str, Option]] = {
        "pool": Option(int, 5000, "columns whose inner products are held at most", low=1),
        "batch": Option(int, SubsetSettings().batch, "nodes that are proven together", low=1),
    }

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        with control.uncounted():
            from .relaxation import warm_up

            prepare(warm_up)
        assert isinstance(problem, SubsetProblem)
        return _Search(problem, params, options, control).run()


@dataclass(eq=False)
class _Node:
    """A node that is not solved yet, or not proven.

    Attributes
    ----------
    number : int
        In the certificate.
    inside, outside : tuples of int
        Variables that are fixed in, and fixed out among those of `free`.
    free : int array
        Variables that are free or in `outside`; nodes share it.
    start : (int array, array)
        Columns and coefficients that the relaxation begins with.
    multiplier : float
    estimate : float
        What its parent's relaxation seemed to prove: the order of the search.
    proven : float
        What some node above it is proven to reach.
    """

    number: int
    inside: tuple[int, ...]
    outside: tuple[int, ...]
    free: Array
    start: tuple[Array, Array]
    multiplier: float
    estimate: float
    proven: float


@dataclass
class _Certificate:
    """The tree as the checker reads it, while it grows."""

    parent: list[int] = field(default_factory=lambda: [-1])
    variable: list[int] = field(default_factory=lambda: [-1])
    inside: list[int] = field(default_factory=lambda: [0])
    dual: list[int] = field(default_factory=lambda: [-1])
    vectors: list[tuple[Array, Array]] = field(default_factory=list)
    residuals: dict[int, Array] = field(default_factory=dict)

    def child(self, parent: int, variable: int, inside: bool) -> int:
        """Add a node, and return its number."""
        self.parent.append(parent)
        self.variable.append(variable)
        self.inside.append(int(inside))
        self.dual.append(-1)
        return len(self.parent) - 1

    def prove(self, node: int, vector: tuple[Array, Array], r: Array | None = None) -> None:
        """Give a node the residual of a coefficient vector, or one that is stated beside it."""
        self.dual[node] = len(self.vectors)
        if r is not None:
            self.residuals[len(self.vectors)] = r
        self.vectors.append(vector)

    def packed(self, intercept: Callable[[tuple[Array, Array]], float] | None) -> Certificate:
        """Return the arrays, with the intercepts of the vectors where there are such."""
        lengths = [len(index) for index, _ in self.vectors]
        index = [index for index, _ in self.vectors]
        value = [value for _, value in self.vectors]
        arrays: dict[str, Array] = {
            name: np.array(getattr(self, name), dtype=np.int64)
            for name in ("parent", "variable", "inside", "dual")
        }
        arrays["w_ptr"] = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        arrays["w_index"] = np.concatenate([np.zeros(0, np.int64), *index]).astype(np.int64)
        arrays["w_value"] = np.concatenate([np.zeros(0), *value])
        if self.residuals:
            arrays["r_vector"] = np.array(list(self.residuals), dtype=np.int64)
            arrays["r_value"] = np.array(list(self.residuals.values()))
        if intercept is not None:
            arrays["w_intercept"] = np.array(
                [intercept(each) for each in self.vectors], dtype=float
            )
        return Certificate(kind="subset-tree", arrays=arrays)


@dataclass(frozen=True, eq=False)
class _Proof:
    """What a residual proves at a node, from its products with all free columns.

    Attributes
    ----------
    value : float
    price : array of shape (f,)
        Of the node's free columns, minus infinity for those that it fixed out.
    m : int
    """

    value: float
    price: Array
    m: int

    def fixings(self, target: float) -> tuple[Array, Array, float]:
        """Return which columns must be in and out below the target, and the least that shows it."""
        f, m = len(self.price), self.m
        spent = np.maximum(self.price, 0.0)
        among = np.zeros(f, dtype=bool)
        last = following = 0.0
        if f <= m:
            among[:] = True
        else:
            order = np.argpartition(-spent, m)
            among[order[:m]] = True
            following = float(spent[order[m:]].max())
            last = float(spent[order[:m]].min()) if m else 0.0
        held = np.where(among, self.value + spent - following, -math.inf)
        dropped = self.value + np.where(among, spent, last) - self.price
        inside, outside = held >= target, dropped >= target
        # Columns that the node fixed out show nothing.
        shown = np.append(held[inside], dropped[outside & np.isfinite(self.price)])
        return inside, outside, float(shown.min(initial=math.inf))


def _parts(problem: SubsetProblem, settings: SubsetSettings) -> tuple[Incumbent, Pool, Array]:
    """Return incumbent and pool of the loss, and the products of the columns with r of b = 0."""
    if isinstance(problem, SparseRegression):
        h = problem.y @ problem.X
        return SquaredIncumbent(problem, h, settings), SquaredPool(problem, h, settings), h
    assert isinstance(problem, SparseLogisticRegression)
    incumbent, pool = LogisticIncumbent(problem, settings), LogisticPool(problem, settings)
    return incumbent, pool, first_slopes(problem) @ problem.X


class _Search:
    """The tree, the pool and the incumbent of one solve."""

    def __init__(
        self,
        problem: SubsetProblem,
        params: SolveParams,
        options: Mapping[str, Any],
        control: Control,
    ) -> None:
        self.problem, self.params, self.control = problem, params, control
        self.settings = replace(SubsetSettings(), batch=options["batch"])
        self.most = max(options["pool"], problem.k)
        self.best, self.pool, self.h = _parts(problem, self.settings)
        h = self.h
        self.tree = _Certificate()
        self.columns = np.arange(len(h))
        self.lengths = np.sqrt(self.best.squares)
        self.X = problem.X
        self.heap: list[tuple[float, int, _Node]] = []
        self.waiting: list[tuple[_Node, Relaxed]] = []
        self.closed = math.inf
        """The least that a closed node, or a fixing, is proven to reach."""
        self.nodes = 0
        self.full = False
        self.tried: set[bytes] = set()
        """Supports that were rounded to."""

    # ---- the search

    def run(self) -> Result:
        """Search, and say what is proven."""
        self.best.search(self.control)
        largest = np.argsort(-np.abs(self.h), kind="stable")
        first = self.settings.first if len(self.h) > self.settings.whole else len(self.h)
        self.pool.add(np.append(largest[: min(first, self.most)], self.best.support))
        price = conjugate(self.problem, self.h)
        nothing = np.zeros(0, dtype=np.int64)
        start = float(np.sort(price)[-min(self.problem.k, len(price))]) * 0.01
        root = _Node(0, (), (), self.columns, (nothing, np.zeros(0)), start, -math.inf, 0.0)
        self._root(root)
        while self.heap or self.waiting:
            limit = self._limit()
            if limit is not None:
                break
            if not self.heap or len(self.waiting) >= self._batch():
                self._prove()
                continue
            self._process(heapq.heappop(self.heap)[2])
            self.control.progress(
                f"{self.nodes} nodes, {len(self.heap)} open",
                objective=self.best.value,
                bound=self._bound(),
            )
        return self._answer()

    def _root(self, root: _Node) -> None:
        """Solve the root until the pool has all that it needs, again after it left columns out."""
        node = root
        for _ in range(self.settings.rounds):
            found = self._relax(node)
            self._round(found)
            proof = self._proofs([(node, self._vector(found))])[0]
            if proof.value >= self._target():
                self._close(node, self._vector(found), proof.value)
                return
            if self._limit() is not None:
                break
            if self._take_in(node, found, proof):
                node.start, node.multiplier = self._vector(found), found.multiplier
                continue
            before = len(node.free)
            child = self._fix(node, found, proof)
            if child is None:
                return
            fixed = child is not node
            node = child
            self._restrict(node)
            if not fixed or len(node.free) > (1.0 - self.settings.shrink) * before:
                break
        if node.proven < proof.value and self.tree.dual[node.number] < 0:
            self.tree.prove(node.number, self._vector(found))
            node.proven = proof.value
        self._push(node, node.proven, found)

    def _process(self, node: _Node) -> None:
        """Solve a node on the pool; branch, or let it wait for its proof."""
        self.nodes += 1
        found = self._relax(node)
        self._round(found)
        if found.bound >= self._target() or self._is_leaf(node):
            self.waiting.append((node, found))
        else:
            self._branch(node, found)

    def _prove(self) -> None:
        """Prove the waiting nodes; those that lacked columns are solved again."""
        waiting, self.waiting = self.waiting, []
        vectors = [(node, self._vector(found)) for node, found in waiting]
        for (node, found), proof in zip(waiting, self._proofs(vectors), strict=True):
            if proof.value >= self._target():
                self._close(node, self._vector(found), proof.value)
            elif self._is_leaf(node):
                self._settle(node, self._vector(found), proof.value)
            elif self._take_in(node, found, proof):
                self._push(node, proof.value, found)
            else:
                child = self._fix(node, found, proof)
                if child is node:
                    self._branch(node, found)
                elif child is not None:
                    self._push(child, child.proven, found)

    def _is_leaf(self, node: _Node) -> bool:
        """Return whether there is nothing to branch on."""
        full = len(node.inside) >= self.problem.k
        return full or len(node.free) <= len(node.outside)

    def _branch(self, node: _Node, found: Relaxed) -> None:
        """Split by the free variable with the largest weight below 1, or else by the largest."""
        # The pool may have grown since.
        free = self._free_mask(node)[: len(found.weight)]
        weight = np.where(free, found.weight, -1.0)
        weight = np.where(weight > 1.0 - 1e-9, 0.25, weight)
        place = int(np.argmax(weight))
        if free[place]:
            j = int(self.pool.columns[place])
        else:
            j = int(np.setdiff1d(node.free, np.array(node.outside, dtype=np.int64))[0])
        start = self._vector(found)
        for inside in (True, False):
            child = _Node(
                self.tree.child(node.number, j, inside),
                (*node.inside, j) if inside else node.inside,
                (*node.outside, j),
                node.free,
                start,
                found.multiplier,
                found.bound,
                node.proven,
            )
            heapq.heappush(self.heap, (child.estimate, child.number, child))

    def _fix(self, node: _Node, found: Relaxed, proof: _Proof) -> _Node | None:
        """Fix what a proof shows: return the node that is left, itself if nothing, None if none."""
        own = len(node.free) - len(node.outside)
        inside, outside, shown = proof.fixings(self._target())
        outside &= np.isfinite(proof.price)
        count = int(inside.sum()) + int(outside.sum())
        worth = int(inside.sum()) > 0 or int(outside.sum()) >= self.settings.shrink * own
        if not count or not worth:
            return node
        self.tree.prove(node.number, self._vector(found))
        node.proven = max(node.proven, proof.value)
        self.closed = min(self.closed, shown)
        held = (*node.inside, *node.free[inside].tolist())
        if len(held) > self.problem.k:
            return None
        # A node goes on as a child of its own, split by a variable that is fixed already.
        fixed = int(node.free[inside][0] if inside.any() else node.free[outside][0])
        children = [self.tree.child(node.number, fixed, side) for side in (True, False)]
        kept = ~inside & ~outside & np.isfinite(proof.price)
        child = _Node(
            children[0] if inside.any() else children[1],
            held,
            (),
            node.free[kept],
            self._vector(found),
            found.multiplier,
            proof.value,
            node.proven,
        )
        return child

    def _restrict(self, node: _Node) -> None:
        """Leave out of all products the columns that no open node has."""
        columns = np.union1d(node.free, np.array(node.inside, dtype=np.int64))
        if 2 * len(columns) < len(self.columns):
            self.columns, self.X = columns, self.problem.X[:, columns]

    # ---- relaxations and proofs

    def _relax(self, node: _Node) -> Relaxed:
        inside = self.pool.place[np.array(node.inside, dtype=np.int64)]
        if (inside < 0).any():
            self.pool.add(np.array(node.inside, dtype=np.int64))
            inside = self.pool.place[np.array(node.inside, dtype=np.int64)]
        b = np.zeros(len(self.pool.columns))
        b[self.pool.place[node.start[0]]] = node.start[1]
        target = self._target()
        return self.pool.relax(inside, self._free_mask(node), b, node.multiplier, target)

    def _free_mask(self, node: _Node) -> Array:
        """Return which columns of the pool are free at a node."""
        free = np.zeros(len(self.h), dtype=bool)
        free[node.free] = True
        free[list(node.outside)] = False
        return np.asarray(free[self.pool.columns])

    def _proofs(
        self, nodes: list[tuple[_Node, tuple[Array, Array]]], stated: Array | None = None
    ) -> list[_Proof]:
        """Return what the residuals of nodes prove, by one product with all columns.

        Those of their vectors; or one that is stated, whose digits are those of the certificate.
        """
        problem, unit = self.problem, (len(self.problem.y) + 8) * _ROUNDING
        R = np.column_stack(
            [self.pool.residual(vector) if stated is None else stated for _, vector in nodes]
        )
        C = self.X.T @ R
        proofs = []
        for i, (node, vector) in enumerate(nodes):
            r, m = R[:, i], problem.k - len(node.inside)
            held = np.searchsorted(self.columns, np.array(node.inside, dtype=np.int64))
            free = np.searchsorted(self.columns, node.free)
            # The checker has r up to the order of its terms, or the sum that an intercept asks for.
            off = unit * float(np.linalg.norm(r))
            off += self.pool.spread(vector) if stated is None else off
            c = np.abs(C[:, i]) + off * self.lengths[self.columns]
            price = conjugate(problem, c[free]) - problem.penalty
            price[np.searchsorted(node.free, np.array(node.outside, dtype=np.int64))] = -math.inf
            taken = float(conjugate(problem, c[held]).sum()) + sum_of_largest(price, m)
            paid = problem.penalty * len(node.inside)
            dual, size = self.pool.dual(r)
            value = dual + paid - taken
            rounding = unit * (size + taken + paid)
            proofs.append(_Proof(value - rounding, price, m))
        return proofs

    def _vector(self, found: Relaxed) -> tuple[Array, Array]:
        S = np.flatnonzero(found.b)
        return self.pool.columns[S], found.b[S]

    def _take_in(self, node: _Node, found: Relaxed, proof: _Proof) -> bool:
        """Let the pool take in free columns whose price is above the multiplier."""
        above = max(0.0, found.multiplier - self.problem.penalty) * (1.0 + self.settings.excess)
        lacking = np.flatnonzero((proof.price > above) & (self.pool.place[node.free] < 0))
        room = self.most - len(self.pool.columns)
        if not len(lacking):
            return False
        if room <= 0:
            self.full = True
            return False
        dearest = lacking[np.argsort(-proof.price[lacking], kind="stable")]
        self.pool.add(node.free[dearest[: min(room, self.settings.more)]])
        return True

    def _settle(self, node: _Node, vector: tuple[Array, Array], value: float) -> None:
        """Close a leaf that is not proven, by a fit without products where that proves more."""
        columns = np.array(node.inside, dtype=np.int64)
        b, r = self.pool.fit(columns)
        self.best.take(columns, b)
        stated = None
        for residual in (None, r) if r is not None else (None,):
            proven = self._proofs([(node, (columns, b))], residual)[0].value
            if proven > value and value < self._target():
                vector, value, stated = (columns, b), proven, residual
        self._close(node, vector, value, stated)

    def _close(
        self, node: _Node, vector: tuple[Array, Array], value: float, r: Array | None = None
    ) -> None:
        self.tree.prove(node.number, vector, r)
        self.closed = min(self.closed, value)

    def _push(self, node: _Node, estimate: float, found: Relaxed) -> None:
        node.start, node.multiplier = self._vector(found), found.multiplier
        node.estimate = estimate
        heapq.heappush(self.heap, (estimate, node.number, node))

    def _round(self, found: Relaxed) -> None:
        """Try the support of the largest coefficients; with a price, of those that pay half of it.

        Variables that are fixed in have no weight.
        """
        taken = found.b != 0.0
        if self.problem.penalty > 0.0:
            taken &= (found.weight == 0.0) | (found.weight >= 0.5)
        S = np.flatnonzero(taken)
        largest = S[np.argsort(-np.abs(found.b[S]), kind="stable")][: self.problem.k]
        support = np.sort(self.pool.columns[largest])
        if not len(support) or (key := support.tobytes()) in self.tried:
            return
        self.tried.add(key)
        if self.best.offer(support):
            self.best.exchange(self.control)

    # ---- the answer

    def _target(self) -> float:
        """Return what a node must reach to be closed."""
        params, value = self.params, self.best.value
        gap = params.rel_gap if params.rel_gap > _DEFAULT_GAP else PROVEN_GAP
        allowed = max(min(0.5 * params.abs_gap, value), 0.9 * gap * value, self.pool.rounding)
        return value - allowed

    def _batch(self) -> int:
        """Return how many nodes are proven together."""
        return max(1, min(self.settings.batch, self.settings.products // len(self.columns)))

    def _bound(self) -> float:
        open_nodes = [node for _, _, node in self.heap] + [node for node, _ in self.waiting]
        least = min((node.proven for node in open_nodes), default=math.inf)
        return max(0.0, min(self.best.value, self.closed, least))

    def _limit(self) -> Limit | None:
        most = self.params.node_limit
        return self.control.limit() or (
            Limit.NODE if most is not None and self.nodes >= most else None
        )

    def _prove_open(self) -> None:
        """Prove open nodes by the residuals of their parents, where all of them are not too many.

        The least of them is the bound of an unfinished search.
        """
        nodes = [node for _, _, node in self.heap] + [node for node, _ in self.waiting]
        vectors = {id(node.start): node.start for node in nodes}
        if len(vectors) * self.X.size > self.settings.last:
            return
        self.heap, self.waiting = [(node.estimate, node.number, node) for node in nodes], []
        size = self._batch()
        for begin in range(0, len(nodes), size):
            block = nodes[begin : begin + size]
            starts = [(node, node.start) for node in block]
            for node, proof in zip(block, self._proofs(starts), strict=True):
                if proof.value > node.proven and self.tree.dual[node.number] < 0:
                    self.tree.prove(node.number, node.start)
                    node.proven = proof.value

    def _answer(self) -> Result:
        if self.heap or self.waiting:
            self._prove_open()
        x = self.best.point()
        fitted = isinstance(self.problem, SparseLogisticRegression) and self.problem.fit_intercept
        objective = self.problem.objective(x)
        bound = min(objective, self._bound())
        limit = self._limit() if self.heap or self.waiting else None
        gap = objective - bound
        size = max(objective, 1e-10 * self.problem.value_unit)
        asked = max(self.params.abs_gap, self.params.rel_gap * size)
        closed = gap <= max(asked, 10.0 * self.pool.rounding)
        notes = []
        if not closed and limit is None:
            limit = Limit.SLOW_PROGRESS
        if self.full:
            notes.append(
                f"the relaxations needed more than {self.most} columns; the option pool allows more"
            )
        return Result(
            status=Status.OPTIMAL if closed else Status.FEASIBLE,
            limit=None if closed else limit,
            raw_status=f"{self.nodes} nodes, {len(self.tree.vectors)} dual vectors, "
            f"{len(self.columns)} of {len(self.h)} columns after the root, "
            f"{len(self.pool.columns)} in the pool",
            x=x,
            objective=objective,
            bound=bound,
            certificate=self.tree.packed(self.pool.intercept if fitted else None),
            iterations=self.pool.sweeps,
            nodes=self.nodes,
            notes=tuple(notes),
        )
