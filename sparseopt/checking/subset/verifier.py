r"""The verifier of regressions with few nonzero coefficients.

The certificate "subset-tree" is a search tree: node 0 is the root, and node i the child of
``parent[i]`` in which the variable ``variable[i]`` is fixed in (``inside[i]`` = 1) or out (0). A
node has no children or two, by the same variable. ``dual[i]`` names one of the coefficient vectors
w in ``w_ptr, w_index, w_value`` (in CSR form), -1 for none. For the vectors in ``r_vector`` an
array ``r_value`` may state r below, of more digits than follow from w.

Let I be the variables that a node fixes in, F those that it leaves free, and m = k - abs(I). Any
vector r, here r = y - Xw for the squared loss, bounds the objective on the node's supports from
below: with

.. math:: g(c) = \max_{|b| \le M} \Bigl( c b - \frac\rho2 b^2 \Bigr), \qquad
          t_j = \max(0, g(x_j'r) - \lambda_0),

by

.. math:: D(r) = y'r - \tfrac12 \|r\|^2 + \sum_{j \in I} (\lambda_0 - g(x_j'r))
          - \text{the sum of the } m \text{ largest } t_j, j \in F,

since :math:`\tfrac12 \|y - Xb\|^2 \ge (y - Xb)'r - \tfrac12 \|r\|^2`. A node is closed where D(r)
reaches the bound L of the result. Where it does not, r still says which free variables no support
below L can have, or can be without: with :math:`t_{(m)}` the m-th largest, j is

- out if :math:`D + t - (g(x_j'r) - \lambda_0) \ge L`, where t is t_j if it is among the m largest,
  and :math:`t_{(m)}` if not;
- in if it is among them, and :math:`D + t_j - t_{(m+1)} \ge L`.

For the logistic loss, :math:`r_i = s_i y_i \alpha_i` with
:math:`\alpha_i = 1 / (1 + \exp(y_i (x_i'w + \beta)))` and the weights s of the rows, and
:math:`y'r - \tfrac12 \|r\|^2` is replaced by

.. math:: \sum_i s_i H(\alpha_i), \qquad H(\alpha) = -\alpha \log \alpha
          - (1 - \alpha) \log(1 - \alpha), \qquad
          \log(1 + e^{-m}) \ge H(\alpha) - \alpha m .

Where there is an intercept, beta is in ``w_intercept``; the larger of the two sides of
:math:`\sum_i r_i` is scaled down to the other, and what is left of the sum costs as much as the
largest intercept that can be better than x = 0 makes of it.

L is proven if every node without children is closed, or contradicts what is fixed above it.
All is shown for L less 1e-9 of it, or less 1e-12 of the objective of b = 0; there observations far
above the others, which one coefficient may fit, count up to 10^4 lower quartiles of all squares,
and for the logistic loss of all weights of rows. What fails by no more than they explain is
unproven. D is computed with a bound of its rounding errors: products and squared lengths are off by
at most (n + 8) 2^-52 times the lengths of their two vectors (Higham 2002, section 3.1, doubled),
and so is everything else relative to the absolute values of its terms.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sparseopt.checking.cancelling import combination, square
from sparseopt.checking.evidence import Malformed, integers, numbers
from sparseopt.checking.report import Findings
from sparseopt.checking.tolerances import FEASIBILITY, OBJECTIVE, SUM, prevailing
from sparseopt.checking.verifiers import Evaluation
from sparseopt.checking.work import spend
from sparseopt.installed import Deferred
from sparseopt.problems.base import Array
from sparseopt.problems.subset.logistic import SparseLogisticRegression
from sparseopt.problems.subset.problem import SparseRegression, SubsetProblem
from sparseopt.result import Result, Status

if TYPE_CHECKING:
    import scipy.special as special
else:
    special = Deferred("scipy.special")

__all__ = ["NodeBound", "verify"]

_KIND = "subset-tree"
_PRODUCTS = 3e12
"""Multiplications beyond which the certificate is not read: some minutes."""
_PRICE = 100.0
"""What one free variable of a node costs, in multiplications: some ten passes over its price."""
_SECOND, _NODE = 4e-10, 2e-4
"""Seconds of a multiplication, and of a node without any."""
_BLOCK = 16_000_000
"""Products with dual vectors that are held at once: 128 MB."""
_PASSES = 20
"""Corrections of a sum that is to be 0; two are enough as a rule."""
_SPACE = 2.0**-40
"""Part of the largest entry that stays free in one that takes up what rounding left of a sum."""
_UNIT = float(np.finfo(float).eps)
_STEEPEST = 40.0
"""Largest slope of an entropy that counts: of an alpha one unit of rounding from 0 or 1."""
_SHARE = 1e-3
"""How much of the objective of b = 0 a value counts as at least."""
_IMPOSSIBLE = frozenset({Status.INFEASIBLE, Status.UNBOUNDED, Status.INF_OR_UNB})


Products = tuple[Array, Array]
"""Of some columns: their products with a vector, and their lengths."""


class SubsetVerifier:
    """Judges regressions with few nonzero coefficients."""

    def __call__(self, problem: SubsetProblem, result: Result, findings: Findings) -> None:
        """Prove the bound of a result; its point and numbers were compared before."""
        if result.status in _IMPOSSIBLE:
            findings.refute(
                f"the status is {result.status.value}, but b = 0 is feasible and no objective "
                "value is below 0"
            )
            return
        certificate, bound = result.certificate, result.bound
        if bound is None or np.isneginf(bound):
            findings.doubt("there is no bound that a certificate could prove")
        elif bound <= 0.0:
            findings.prove("no objective value is below 0")
        elif certificate is None or certificate.kind != _KIND:
            findings.doubt(f"there is no certificate {_KIND!r} that could prove the bound")
        else:
            try:
                _prove(problem, _Tree.read(certificate.arrays, problem), bound, findings)
            except Malformed as error:
                findings.refute(f"the certificate is malformed: {error}")
            for name in sorted(certificate.values):
                findings.leave_out(f"certificate value {name!r}")

    def evaluate(self, problem: SubsetProblem, x: Array, lam: float | None) -> Evaluation:
        """Evaluate coefficients: the number of nonzeros is kept or not, the bound up to 1e-8.

        Parameters
        ----------
        problem : SubsetProblem
        x : array of shape (p,)
        lam : ignored
        """
        residuals = problem.residuals(x)
        over = residuals["bound"] / (FEASIBILITY * problem.limit) if residuals["bound"] else 0.0
        worst = "cardinality" if residuals["cardinality"] else "bound"
        unit = _unit(problem)
        value, rounding = _value(problem, x, precise=False)
        if rounding > OBJECTIVE * max(abs(value), unit):
            value, rounding = _value(problem, x, precise=True)
        return Evaluation(
            value=value,
            size=problem.objective_scale(x),
            violation=math.inf if residuals["cardinality"] else over,
            where=f"{worst} by {residuals[worst]:.3g}",
            residuals=residuals,
            data_size=max(abs(value), unit),
            rounding=rounding,
        )


verify = SubsetVerifier()


def _value(problem: SubsetProblem, x: Array, *, precise: bool) -> tuple[float, float]:
    """Return the objective of coefficients, and a bound of its rounding errors."""
    b = problem.coefficients(x)
    S = np.flatnonzero(b)
    columns, weights, y = problem.X[:, S], b[S], problem.y
    if isinstance(problem, SparseRegression):
        length, moved = square(*combination(columns, weights, y, precise=precise))
        value, moved = 0.5 * length, 0.5 * moved
    else:
        assert isinstance(problem, SparseLogisticRegression)
        less = np.full(len(y), -float(x[-1]) if problem.fit_intercept else 0.0)
        values, errors = combination(columns, weights, less, precise=precise)
        margins = y * values
        # Losses are no steeper than 1, and where the margin is positive than exp(-margin).
        slopes = problem.counts * np.exp(np.minimum(0.0, np.abs(errors) - margins))
        value = float(problem.counts @ np.logaddexp(0.0, -margins))
        moved = float(slopes @ errors) + (len(y) + 4.0) * _UNIT * value
    value += 0.5 * problem.ridge * float(b @ b) + problem.penalty * len(S)
    return value, moved


@dataclass(frozen=True, eq=False)
class _Tree:
    """A certificate, read and checked for its form.

    Attributes
    ----------
    children : int array of shape (N, 2)
        The child with the variable in, and that with it out; -1 for a node without.
    variable : int array of shape (N,)
        The variable that a node's children fix.
    dual : int array of shape (N,)
    ptr, index, value, intercept : arrays
        The coefficient vectors; intercepts are 0 where the problem has none.
    stated : dict from int to array of shape (n,)
        The r of some vectors.
    """

    children: Array
    variable: Array
    dual: Array
    ptr: Array
    index: Array
    value: Array
    intercept: Array
    stated: Mapping[int, Array]

    @classmethod
    def read(cls, arrays: Mapping[str, Array], problem: SubsetProblem) -> _Tree:
        """Unpack the arrays of a certificate.

        Raises
        ------
        Malformed
        """
        p = problem.X.shape[1]
        parent = integers(arrays, "parent", None, -1, np.iinfo(np.int64).max)
        N = len(parent)
        if N == 0 or parent[0] != -1 or not (parent[1:] < np.arange(1, N)).all():
            raise Malformed("parent does not list a tree, each node behind its parent")
        if (parent[1:] < 0).any():
            raise Malformed("there are two roots")
        split = integers(arrays, "variable", N, -1, p - 1)
        inside = integers(arrays, "inside", N, 0, 1)
        ptr = integers(arrays, "w_ptr", None, 0, np.iinfo(np.int64).max)
        if not len(ptr) or ptr[0] != 0 or (np.diff(ptr) < 0).any():
            raise Malformed("w_ptr does not begin with 0 or decreases")
        index = integers(arrays, "w_index", int(ptr[-1]), 0, p - 1)
        value = numbers(arrays, "w_value", (int(ptr[-1]),))
        dual = integers(arrays, "dual", N, -1, len(ptr) - 2)
        intercept = np.zeros(len(ptr) - 1)
        if isinstance(problem, SparseLogisticRegression) and problem.fit_intercept:
            intercept = numbers(arrays, "w_intercept", (len(ptr) - 1,))
        stated: dict[int, Array] = {}
        if "r_vector" in arrays:
            vectors = integers(arrays, "r_vector", None, 0, len(ptr) - 2)
            rows = numbers(arrays, "r_value", (len(vectors), len(problem.y)))
            stated = dict(zip(vectors.tolist(), rows, strict=True))
        children = np.full((N, 2), -1)
        variable = np.full(N, -1)
        for child in range(1, N):
            above, place = parent[child], 1 - inside[child]
            if split[child] < 0 or children[above, place] >= 0:
                raise Malformed(f"node {child} fixes no variable, or what its sibling fixes")
            if variable[above] not in (-1, split[child]):
                raise Malformed(f"the children of node {above} fix different variables")
            children[above, place], variable[above] = child, split[child]
        if ((children >= 0).sum(axis=1) == 1).any():
            raise Malformed("a node has one child: the other side of its split is missing")
        return cls(children, variable, dual, ptr, index, value, intercept, stated)

    def depth_first(self) -> list[int]:
        """Return the dual vectors in the order in which a depth-first search meets them first."""
        order: dict[int, None] = {}
        stack = [0]
        while stack:
            node = stack.pop()
            if self.dual[node] >= 0:
                order[int(self.dual[node])] = None
            stack += [int(child) for child in self.children[node, ::-1] if child >= 0]
        return list(order)

    def spread(self, problem: SubsetProblem, dual: int) -> float:
        """Return the norm of what r is off by where its terms are added in another order."""
        if dual in self.stated:
            return 0.0
        own = slice(self.ptr[dual], self.ptr[dual + 1])
        size = np.abs(problem.X[:, self.index[own]]) @ np.abs(self.value[own])
        if isinstance(problem, SparseRegression):
            change = np.abs(problem.y) + size
        else:
            assert isinstance(problem, SparseLogisticRegression)
            r = np.abs(self.vector(problem, dual))
            size += abs(float(self.intercept[dual]))
            change = r * (1.0 + (1.0 - r / problem.counts) * size)
        return float(own.stop - own.start + 8) * _UNIT * float(np.linalg.norm(change))

    def vector(self, problem: SubsetProblem, dual: int) -> Array:
        """Return r."""
        own = slice(self.ptr[dual], self.ptr[dual + 1])
        values = problem.X[:, self.index[own]] @ self.value[own]
        if isinstance(problem, SparseRegression):
            return np.asarray(self.stated.get(dual, problem.y - values))
        assert isinstance(problem, SparseLogisticRegression)
        alpha = special.expit(-problem.y * (values + self.intercept[dual]))
        r = self.stated.get(dual, problem.counts * problem.y * alpha)
        return balanced(r, problem.counts) if problem.fit_intercept else np.asarray(r)


class _Products:
    """Products of columns with dual vectors, for many of these at once.

    Attributes
    ----------
    columns : int array
        The columns that are left, increasing; shrinks once, after the root.
    spent : float
        Multiplications so far: vectors that are met in another order than the tree's are multiplied
        again and again.
    """

    def __init__(self, problem: SubsetProblem, tree: _Tree) -> None:
        self._problem, self._tree = problem, tree
        self._order = tree.depth_first()
        self._place = {dual: i for i, dual in enumerate(self._order)}
        self._held: dict[int, tuple[Array, Array]] = {}
        self.columns = np.arange(problem.X.shape[1])
        self.spent = 0.0
        self._X = problem.X

    def restrict(self, columns: Array) -> None:
        """Leave out all other columns, where that is a part worth copying."""
        if 2 * len(columns) < len(self.columns):
            self.columns, self._X = columns, self._problem.X[:, columns]
            self._held = {}

    def cost(self) -> float:
        """Return the multiplications that all vectors take with the columns that are left."""
        return float(self._X.size) * len(self._order)

    def of(self, dual: int) -> tuple[Array, Array]:
        """Return r, and the products with :attr:`columns`."""
        if dual not in self._held:
            begin = self._place[dual]
            # The root is met first and alone: what it fixes is left out of all others.
            count = 1 if begin == 0 else max(1, min(64, _BLOCK // max(1, len(self.columns))))
            block = self._order[begin : begin + count]
            R = np.column_stack([self._tree.vector(self._problem, each) for each in block])
            C = self._X.T @ R
            self.spent += float(self._X.size) * len(block)
            spend(_SECOND * float(self._X.size) * len(block))
            self._held = {
                each: (np.ascontiguousarray(R[:, i]), np.ascontiguousarray(C[:, i]))
                for i, each in enumerate(block)
            }
        return self._held[dual]


@dataclass(frozen=True, eq=False)
class NodeBound:
    r"""The bound of one node by one dual vector.

    Attributes
    ----------
    value : float
        D(r), rounded down; -inf where anything of it is not finite.
    price : array of shape (f,)
        :math:`g(x_j'r) - \lambda_0` of the free variables, rounded up.
    rounding : float
        What the sum of a few of them may be off by.
    m : int
        How many of the free variables a support takes at most.
    """

    value: float
    price: Array
    rounding: float
    m: int

    @classmethod
    def at(
        cls,
        problem: SubsetProblem,
        r: Array,
        inside: Products,
        free: Products,
        down: float = 1.0,
        spread: float = 0.0,
    ) -> NodeBound:
        """Evaluate D(r).

        Parameters
        ----------
        problem : SubsetProblem
        r : array of shape (n,)
        inside, free : (array, array)
            Of the columns that are fixed in, and of those that are free: their products with r,
            and their lengths.
        down : float
            -1 to round the other way: whether D(r) reaches a target for certain, or does not.
        spread : float
            Norm of what r itself may be off by, where that counts, too.
        """
        m, unit = problem.k - len(inside[0]), down * (len(r) + 8) * _UNIT
        off = unit * math.sqrt(float(r @ r)) + down * spread
        dual, size = _dual(problem, r)
        held, price = (
            _conjugate(problem, np.maximum(np.abs(c) + lengths * off, 0.0))
            for c, lengths in (inside, free)
        )
        price = price - problem.penalty
        spent = np.maximum(price, 0.0)
        if m < len(spent):
            spent = np.partition(spent, -m - 1)[len(spent) - m :]
        paid = problem.penalty * len(inside[0])
        taken = float(held.sum()) + float(spent.sum())
        rounding = unit * size + down * (problem.k + 8) * _UNIT * (taken + paid)
        value = dual + paid - taken - rounding
        if not (math.isfinite(value) and math.isfinite(rounding) and np.isfinite(price).all()):
            return cls(-math.inf, np.zeros(len(price)), 0.0, m)
        return cls(value, price, rounding, m)

    def fixings(self, target: float) -> tuple[Array, Array]:
        """Return which free variables are in every support below the target, and which in none.

        Parameters
        ----------
        target : float

        Returns
        -------
        (bool array, bool array) of the shape of :attr:`price`
        """
        f, m = len(self.price), self.m
        spent = np.maximum(self.price, 0.0)
        if f <= m:
            among = np.ones(f, dtype=bool)
            last, following = 0.0, 0.0
        else:
            order = np.argpartition(-spent, m)
            among = np.zeros(f, dtype=bool)
            among[order[:m]] = True
            following = float(spent[~among].max())
            last = float(spent[among].min()) if m else 0.0
        room = target - self.value + self.rounding
        inside = among & (spent - following >= room)
        outside = np.where(among, spent, last) - self.price >= room
        return inside, outside


def balanced(r: Array, counts: Array | float = 1.0) -> Array:
    """Return r with its positive or its negative entries scaled down, so that it sums up to 0.

    Parameters
    ----------
    r : array of shape (n,)
        Entries between -counts and counts.
    counts : array of shape (n,), default 1
    """
    up, down = math.fsum(r[r > 0.0]), -math.fsum(r[r < 0.0])
    if not min(up, down) > 0.0:
        return np.zeros(len(r))
    r = np.where(r > 0.0, r * min(1.0, down / up), r * min(1.0, up / down))
    for _ in range(_PASSES):
        # What rounding left is taken off an entry that is small, but keeps its sign.
        left = math.fsum(r)
        size = np.abs(r)
        keeps = (size >= 4.0 * abs(left)) | (r * np.sign(left) < 0.0)
        room = keeps & (size + abs(left) <= (1.0 - _SPACE) * counts)
        if left == 0.0 or not room.any():
            break
        r[int(np.argmin(np.where(room, size, math.inf)))] -= left
    return r


def _dual(problem: SubsetProblem, r: Array) -> tuple[float, float]:
    """Return the dual value of r without the columns, and the size of its terms."""
    y = problem.y
    if isinstance(problem, SparseRegression):
        square = float(r @ r)
        size = math.sqrt(float(y @ y) * square) + square
        return float(y @ r) - 0.5 * square, size
    assert isinstance(problem, SparseLogisticRegression)
    alpha = np.asarray(y * r / problem.counts)
    if not ((alpha >= 0.0) & (alpha <= 1.0)).all():
        return -math.inf, 0.0
    terms = special.xlogy(alpha, alpha) + special.xlog1py(1.0 - alpha, -alpha)
    entropy = -float(problem.counts @ terms)
    # What an alpha off by a unit of rounding changes: times the logarithm of (1 - alpha) / alpha.
    with np.errstate(divide="ignore"):
        slopes = np.clip(np.abs(np.log1p(-alpha) - np.log(alpha)), 0.0, _STEEPEST)
    size = entropy + float(problem.counts @ (alpha * slopes))
    left = abs(math.fsum(r))
    return entropy - (problem.largest_intercept * left if problem.fit_intercept else 0.0), size


def _conjugate(problem: SubsetProblem, c: Array) -> Array:
    """Return max over abs(b) <= M of cb - ridge b^2 / 2, for c >= 0."""
    ridge, M = problem.ridge, problem.limit
    if ridge == 0.0:
        return np.asarray(M * c)
    if math.isinf(M):
        return np.asarray(c**2 / (2.0 * ridge))
    return np.where(c <= ridge * M, c**2 / (2.0 * ridge), M * (c - 0.5 * ridge * M))


def _unit(problem: SubsetProblem) -> float:
    """Return the share of the objective of b = 0 that observations which prevail explain."""
    null = problem.null_value
    if isinstance(problem, SparseRegression):
        null = min(null, 0.5 * len(problem.y) * prevailing(np.square(problem.y)))
    elif isinstance(problem, SparseLogisticRegression):
        null = min(null, math.log(2.0) * len(problem.y) * prevailing(problem.counts))
    return float(_SHARE * null)


def _prove(problem: SubsetProblem, tree: _Tree, bound: float, findings: Findings) -> None:
    target = bound - SUM * max(abs(bound), _unit(problem))
    false = bound - SUM * max(abs(bound), _SHARE * problem.null_value)
    if target > problem.null_value:
        findings.refute(f"x = 0 has the objective value {problem.null_value:.12g}")
        return
    found = _walk(problem, tree, target)
    if found.too_large is not None:
        findings.doubt(found.too_large)
    elif found.open_leaf is None:
        findings.prove(
            f"no {problem.k} of {problem.X.shape[1]} columns have an objective value below "
            f"{bound:.12g}: {len(tree.dual)} nodes, {found.closed} of them closed by their duals"
        )
    else:
        inside, free, best = found.open_leaf
        # Rounded the other way, do the duals prove what is stated?
        near = _walk(problem, tree, false, down=-1.0)
        (findings.refute if near.open_leaf is not None else findings.doubt)(
            f"nothing proves the bound {bound:.12g} where {inside} of {problem.k} variables are "
            f"fixed in and {free} are free: {best:.12g} is proven"
        )


@dataclass(frozen=True)
class _Walked:
    """What became of a tree.

    Attributes
    ----------
    closed : int
        Nodes that their duals close.
    open_leaf : (int, int, float) or None
        Of the first leaf that is not proven: variables fixed in, free ones, and what is proven.
    too_large : str or None
        Why the tree was left.
    """

    closed: int
    open_leaf: tuple[int, int, float] | None = None
    too_large: str | None = None


def _walk(problem: SubsetProblem, tree: _Tree, target: float, down: float = 1.0) -> _Walked:
    """Look whether the duals close all leaves; rounding errors count for them where down is -1."""
    products = _Products(problem, tree)
    lengths = np.sqrt(problem.squares)
    # Open nodes: number, variables in, free variables.
    stack: list[tuple[int, Array, Array]] = [(0, np.zeros(0, dtype=np.int64), products.columns)]
    closed = 0
    while stack:
        node, inside, free = stack.pop()
        if len(inside) > problem.k:
            continue
        products.spent += _PRICE * len(free)
        spend(_NODE + _SECOND * _PRICE * len(free))
        if products.spent > _PRODUCTS:
            too_many = f"a tree of {len(tree.dual)} nodes takes too many products to check"
            return _Walked(closed, too_large=too_many)
        best = -math.inf
        if tree.dual[node] >= 0:
            r, c = products.of(int(tree.dual[node]))
            fixed_in, left = (
                (c[np.searchsorted(products.columns, j)], lengths[j]) for j in (inside, free)
            )
            spread = tree.spread(problem, int(tree.dual[node])) if down < 0.0 else 0.0
            found = NodeBound.at(problem, r, fixed_in, left, down, spread)
            best = found.value
            if best >= target:
                closed += 1
                continue
            kept, dropped = found.fixings(target)
            inside = np.append(inside, free[kept])
            free = free[~kept & ~dropped]
            if len(inside) > problem.k:
                closed += 1
                continue
        if tree.variable[node] < 0:
            return _Walked(closed, open_leaf=(len(inside), len(free), best))
        if node == 0:
            products.restrict(np.union1d(inside, free))
            if products.cost() > _PRODUCTS:
                too_large = f"a tree of {len(tree.dual)} nodes is too large to check"
                return _Walked(closed, too_large=too_large)
        stack += _children(tree, node, inside, free)
    return _Walked(closed)


def _children(
    tree: _Tree, node: int, inside: Array, free: Array
) -> Iterator[tuple[int, Array, Array]]:
    """Yield the sides of a branching: number, variables in, free variables.

    A side that contradicts what is fixed already holds no support below the bound.
    """
    j = int(tree.variable[node])
    place = int(np.searchsorted(free, j))
    chosen = place < len(free) and free[place] == j
    fixed = bool((inside == j).any())
    without = np.delete(free, place) if chosen else free
    if chosen or not fixed:
        yield int(tree.children[node, 1]), inside, without
    if chosen or fixed:
        yield int(tree.children[node, 0]), np.append(inside, j) if chosen else inside, without
