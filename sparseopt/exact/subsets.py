"""Best subsets with a ridge: relaxations of the nodes of a tree."""

# mypy: ignore-errors

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction

from .logistic import logistic_loss
from .rationals import DIGITS, ONE, ZERO, decimal, exact, exacts
from .statements import within
from .verdicts import GAP, OBJECTIVE, SUBSET_WORK, Clock, Refuted, Unproven


def check_subset(header, arrays, result):
    """Regression with few nonzeros: a tree, and the bounds of dual vectors r at its nodes."""
    given, certificate = header["params"], result["certificate"]
    columns = [exacts(column) for column in zip(*arrays["X"].rows(), strict=True)]
    y, p, k = exacts(arrays["y"].values), len(columns), given["k"]
    ridge, price = exact(given["ridge"]), exact(given["penalty"])
    M = exact(given["bound"]) if "bound" in given else None
    logistic = header["kind"] == "sparse-logistic-regression"
    fitted = logistic and given["fit_intercept"]
    x, objective, bound = (
        exacts(result["x"].values),
        *map(exact, (result["objective"], result["bound"])),
    )
    beta = x.pop() if fitted and x else ZERO
    on = [j for j, v in enumerate(x) if v]
    if len(x) != p or len(on) > k or (M is not None and any(abs(x[j]) > M for j in on)):
        raise Refuted("x has another length, more than k nonzeros, or exceeds the bound")
    fit = [beta + sum(columns[j][i] * x[j] for j in on) for i in range(len(y))]
    if logistic:
        margins = Counter((v * f,) for v, f in zip(y, fit, strict=True))
        value = logistic_loss(margins, [ONE], ZERO, 1)
        size = len(y) * Fraction(DIGITS.ln(Decimal(2)))
    else:
        value = sum((v - f) ** 2 for v, f in zip(y, fit, strict=True)) / 2
        size = sum(v * v for v in y) / 2
    value += ridge * sum(x[j] ** 2 for j in on) / 2 + price * len(on)
    wide, narrow = (Fraction(OBJECTIVE) * max(value, size / part) for part in (1, 10**6))
    within(abs(value - objective), wide, narrow, "the objective is off")
    gap = exact(result["params"].get("rel_gap", 1e-6)) * max(abs(objective), abs(bound))
    if result["status"] == "optimal":
        within(objective - bound, max(gap, wide), max(gap, narrow), "objective and bound are apart")
    if bound <= 0:
        return "the bound is not above 0, which no objective value is below"
    if certificate is None or certificate["kind"] != "subset-tree":
        raise Unproven("there is no certificate 'subset-tree'")
    own = {name: table.values for name, table in certificate["arrays"].items()}
    children = tree_children(own["parent"], own["variable"], own["inside"])
    target = bound - Fraction(GAP) * max(bound, size / 10**6)
    vectors = len(own["w_ptr"]) - 1
    if vectors * p * len(y) > SUBSET_WORK:
        raise Unproven(f"too large: {vectors} dual vectors for {p} columns")
    stack, leaves = [(0, [], list(range(p)))], 0
    while stack:
        Clock.check()
        node, inside, free = stack.pop()
        if len(inside) > k:
            continue
        if own["dual"][node] >= 0:
            begin, end = own["w_ptr"][own["dual"][node] : own["dual"][node] + 2]
            w = zip(own["w_index"][begin:end], exacts(own["w_value"][begin:end]), strict=True)
            beta = exact(own["w_intercept"][own["dual"][node]]) if fitted else ZERO
            fit = [beta] * len(y)
            for j, v in w:
                fit = [a + v * c for a, c in zip(fit, columns[j], strict=True)]
            r, found = (logistic_dual if logistic else squared_dual)(y, fit, fitted)
            cost = {
                j: ridge_gain(abs(sum(map(Fraction.__mul__, columns[j], r))), ridge, M) - price
                for j in [*inside, *free]
            }
            m, ranked = k - len(inside), sorted(free, key=cost.__getitem__, reverse=True)
            spent = [max(cost[j], ZERO) for j in ranked] + [ZERO]
            found -= sum(cost[j] for j in inside) + sum(spent[:m])
            if found >= target:
                leaves += 1
                continue
            last = spent[m - 1] if 0 < m < len(spent) else ZERO
            following = spent[min(m, len(spent) - 1)]
            inside = inside + [
                j for j in ranked[:m] if found + max(cost[j], ZERO) - following >= target
            ]
            out = {j for j in ranked[m:] if found + last - cost[j] >= target}
            free = [j for j in free if j not in out and j not in inside]
            if len(inside) > k:
                continue
        if node not in children:
            raise Refuted(f"nothing proves the bound at node {node}")
        j, below = children[node]
        left = [i for i in free if i != j]
        if j in free or j not in inside:
            stack.append((below[0], inside, left))
        if j in free or j in inside:
            stack.append((below[1], [*inside, j] if j in free else inside, left))
    return f"optimal up to the gap stated, for {k} of {p} columns, {leaves} closed nodes"


def squared_dual(y, fit, fitted):
    """The residual y - Xw, and what it proves where no column gains anything."""
    r = [v - f for v, f in zip(y, fit, strict=True)]
    return r, sum(map(Fraction.__mul__, y, r)) - sum(v * v for v in r) / 2


def logistic_dual(y, fit, fitted):
    """The same of the logistic loss: any r = y p, p in [0, 1]^n; with an intercept a sum of 0."""
    r = []
    for v, f in zip(y, fit, strict=True):
        margin = float(max(min(v * f, Fraction(700)), Fraction(-700)))
        r.append(v * Fraction(1.0 / (1.0 + math.exp(margin))))
    up, down = sum(max(v, ZERO) for v in r), sum(max(-v, ZERO) for v in r)
    if fitted:
        least = min(up, down)
        r = [v * least / (up if v > 0 else down) if least else ZERO for v in r]
    total = Decimal(0)
    for p in map(abs, r):
        for q in (p, 1 - p):
            if q:
                change = DIGITS.multiply(decimal(q), DIGITS.ln(decimal(q)))
                total = DIGITS.subtract(total, change)
    return r, Fraction(total)


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
