"""Best subsets with a ridge: relaxations of the nodes of a tree."""

# mypy: ignore-errors

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction

from ..common.rationals import DIGITS, ONE, ZERO, decimal, exact, exacts
from ..common.statements import within
from ..common.verdicts import GAP, OBJECTIVE, SUBSET_WORK, Clock, Refuted, Unproven
from ..parametric.models import weights
from ..parametric.programs import prevailing
from .logistic import logistic_loss


def check_subset(header, arrays, result):
    """Regression with few nonzeros: a tree, and the bounds of dual vectors r at its nodes."""
    model, certificate = Subset(header, arrays), result["certificate"]
    objective, bound = exact(result["objective"]), exact(result["bound"])
    value = model.value(exacts(result["x"].values))
    wide, narrow = (
        Fraction(OBJECTIVE) * max(value, size) for size in (model.size, model.unit / 10**6)
    )
    within(abs(value - objective), wide, narrow, "the objective is off")
    gap = exact(result["params"].get("rel_gap", 1e-6)) * max(abs(objective), abs(bound))
    if result["status"] == "optimal":
        within(objective - bound, max(gap, wide), max(gap, narrow), "objective and bound are apart")
    if bound <= 0:
        return "the bound is not above 0, which no objective value is below"
    if certificate is None or certificate["kind"] != "subset-tree":
        raise Unproven("there is no certificate 'subset-tree'")
    own = {name: table.values for name, table in certificate["arrays"].items()}
    targets = [
        bound - Fraction(GAP) * max(bound, size / 10**6) for size in (model.unit, model.size)
    ]
    try:
        closed = close(model, own, targets[0])
    except Refuted:
        close(model, own, targets[1])
        raise Unproven("the bound is proven beside the largest observations only") from None
    p = len(model.columns)
    return f"optimal up to the gap stated, for {model.k} of {p} columns, {closed} closed nodes"


class Subset:
    """The data; half the squared distance or the logistic loss, with a ridge and a price each."""

    def __init__(self, header, arrays):
        given = header["params"]
        self.columns = [exacts(column) for column in zip(*arrays["X"].rows(), strict=True)]
        self.y, self.k = exacts(arrays["y"].values), given["k"]
        self.ridge, self.price = exact(given["ridge"]), exact(given["penalty"])
        self.M = exact(given["bound"]) if "bound" in given else None
        self.logistic = header["kind"] == "sparse-logistic-regression"
        self.fitted = self.logistic and given["fit_intercept"]
        self.counts = weights(arrays, "sample_weights", len(self.y))
        if min(self.counts) <= 0:
            raise Unproven("rows that do not count are not covered")
        # At 0 each row has this loss; the largest may be what one coefficient explains alone.
        ln2 = Fraction(DIGITS.ln(Decimal(2)))
        losses = [ln2 * v for v in self.counts] if self.logistic else [v * v / 2 for v in self.y]
        self.size = sum(losses)
        self.unit = min(self.size, len(losses) * prevailing(losses))

    def value(self, x):
        """The objective at a point, which must be one."""
        beta = x.pop() if self.fitted and x else ZERO
        on = [j for j, v in enumerate(x) if v]
        far = self.M is not None and any(abs(x[j]) > self.M for j in on)
        if len(x) != len(self.columns) or len(on) > self.k or far:
            raise Refuted("x has another length, more than k nonzeros, or exceeds the bound")
        fit = [beta + sum(self.columns[j][i] * x[j] for j in on) for i in range(len(self.y))]
        if self.logistic:
            margins = Counter()
            for v, f, count in zip(self.y, fit, self.counts, strict=True):
                margins[v * f,] += count
            loss = logistic_loss(margins, [ONE], ZERO, 1)
        else:
            loss = sum((v - f) ** 2 for v, f in zip(self.y, fit, strict=True)) / 2
        return loss + self.ridge * sum(x[j] ** 2 for j in on) / 2 + self.price * len(on)

    def dual(self, own, vector, some):
        """What a dual vector proves without columns, and the most that each of some gains."""
        r = self.residual(own, vector)
        found = logistic_dual(r, self.counts) if self.logistic else squared_dual(self.y, r)
        return self.gains(r, found, some)

    def residual(self, own, vector):
        """The residual of a vector's coefficients, or the one stated beside them."""
        if vector in own.get("r_vector", ()):
            n, row = len(self.y), own["r_vector"].index(vector)
            r = exacts(own["r_value"][row * n : (row + 1) * n])
            if len(r) < n:
                raise Refuted("a stated residual has another length")
        else:
            begin, end = own["w_ptr"][vector : vector + 2]
            fit = [exact(own["w_intercept"][vector]) if self.fitted else ZERO] * len(self.y)
            values = exacts(own["w_value"][begin:end])
            for j, v in zip(own["w_index"][begin:end], values, strict=True):
                fit = [a + v * c for a, c in zip(fit, self.columns[j], strict=True)]
            if self.logistic:
                r = logistic_slopes(self.y, fit, self.counts)
            else:
                r = [v - f for v, f in zip(self.y, fit, strict=True)]
        if self.logistic:
            parts = [v * y / count for v, y, count in zip(r, self.y, self.counts, strict=True)]
            if min(parts) < 0 or max(parts) > 1:
                raise Refuted("a stated residual is none of the logistic loss")
        return without_sum(r) if self.fitted else r

    def gains(self, r, found, some):
        """What r proves without columns, and the most that each of some gains."""
        products = {j: abs(sum(map(Fraction.__mul__, self.columns[j], r))) for j in some}
        gain = {j: ridge_gain(c, self.ridge, self.M) - self.price for j, c in products.items()}
        return found, gain


def close(model, own, target):
    """Prove the target on the whole tree; return how many nodes dual vectors close."""
    children = tree_children(own["parent"], own["variable"], own["inside"])
    p, vectors = len(model.columns), len(own["w_ptr"]) - 1
    if vectors * p * len(model.y) > SUBSET_WORK:
        raise Unproven(f"too large: {vectors} dual vectors for {p} columns")
    stack, closed = [(0, [], list(range(p)))], 0
    while stack:
        Clock.check()
        node, inside, free = stack.pop()
        if len(inside) > model.k:
            continue
        if own["dual"][node] >= 0:
            found, gain = model.dual(own, own["dual"][node], [*inside, *free])
            left = narrowed(model.k, found, gain, inside, free, target)
            if left is None:
                closed += 1
                continue
            inside, free = left
            if len(inside) > model.k:
                continue
        if node not in children:
            raise Refuted(f"nothing proves the bound at node {node}")
        j, below = children[node]
        left = [i for i in free if i != j]
        if j in free or j not in inside:
            stack.append((below[0], inside, left))
        if j in free or j in inside:
            stack.append((below[1], [*inside, j] if j in free else inside, left))
    return closed


def narrowed(k, found, gain, inside, free, target):
    """What is inside and free where the target is not proven; None where it is everywhere.

    The m best of the free columns may gain what they can. One without which the target is proven
    is inside, one with which it is proven is out.
    """
    m, ranked = k - len(inside), sorted(free, key=gain.__getitem__, reverse=True)
    spent = [max(gain[j], ZERO) for j in ranked] + [ZERO]
    found -= sum(gain[j] for j in inside) + sum(spent[:m])
    if found >= target:
        return None
    last = spent[m - 1] if 0 < m < len(spent) else ZERO
    following = spent[min(m, len(spent) - 1)]
    needed = [j for j in ranked[:m] if found + max(gain[j], ZERO) - following >= target]
    least = {j: max(gain[j], ZERO) if i < m else last for i, j in enumerate(ranked)}
    out = {j for j in ranked if found + least[j] - gain[j] >= target}
    return inside + needed, [j for j in free if j not in out and j not in needed]


def squared_dual(y, r):
    """What a residual proves where no column gains anything."""
    return sum(map(Fraction.__mul__, y, r)) - sum(v * v for v in r) / 2


def logistic_slopes(y, fit, counts):
    """Residuals of the logistic loss: count y p, with any p in [0, 1] close to those of a fit."""
    r = []
    for v, f, count in zip(y, fit, counts, strict=True):
        margin = float(max(min(v * f, Fraction(700)), Fraction(-700)))
        r.append(count * v * Fraction(1.0 / (1.0 + math.exp(margin))))
    return r


def without_sum(r):
    """A residual whose positive or negative entries are scaled down, so that it sums up to 0."""
    up, down = sum(max(v, ZERO) for v in r), sum(max(-v, ZERO) for v in r)
    least = min(up, down)
    return [v * least / (up if v > 0 else down) if least else ZERO for v in r]


def logistic_dual(r, counts):
    """What a residual proves where no column gains anything: the entropies of its parts."""
    total = Decimal(0)
    for value, count in zip(r, counts, strict=True):
        p = abs(value) / count
        for q in (p, 1 - p):
            if q:
                change = DIGITS.multiply(decimal(count * q), DIGITS.ln(decimal(q)))
                total = DIGITS.subtract(total, change)
    return Fraction(total)


def tree_children(parent, variable, inside):
    """The variable that each inner node is split by, and its two children: out, in."""
    children = {}
    for node in range(1, len(parent)):
        above = children.setdefault(parent[node], (variable[node], {}))
        if not 0 <= parent[node] < node or above[0] != variable[node] or inside[node] in above[1]:
            raise Refuted(f"node {node} does not fit into a tree")
        above[1][inside[node]] = node
    if any(set(below) != {0, 1} for _, below in children.values()):
        raise Refuted("a node does not have two children")
    return children


def ridge_gain(c, ridge, M):
    """The maximum of c b - ridge b^2 / 2 over abs(b) <= M, for c >= 0; M is None for no bound."""
    if M is None or c <= ridge * M:
        return c * c / (2 * ridge) if ridge else ZERO if not c else M * c
    return M * c - ridge * M * M / 2
