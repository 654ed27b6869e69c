"""Budgets: tables and graphs."""

# mypy: ignore-errors

from __future__ import annotations

import math
from fractions import Fraction
from itertools import accumulate, pairwise

from ..common.algebra import whole
from ..common.rationals import ONE, ZERO, exact, exacts, near
from ..common.statements import same, within
from ..common.verdicts import LAST_DIGITS, OBJECTIVE, Clock, Refuted, Unproven
from ..parametric.models import weights
from .logistic import ising_tables, ln


def check_budget(header, arrays, result):
    path = result["path"]
    if header["kind"] == "budget-tables":
        ptr, values = arrays["ptr"].values, exacts(arrays["values"].values)
        tables = [values[a:b] for a, b in pairwise(ptr)]
        attained, attained_by = tables, None
    else:
        tables, attained, attained_by = graph_tables(header["params"], arrays, path)
    if path["nodes"] != len(tables) or (attained_by and not of_graph(path, header, arrays)):
        raise Refuted("the path is not one of this problem's nodes and candidates")
    if path["stopped_by"] != "budget":
        raise Unproven("only paths that end at the last budget are covered")
    last = result["params"].get("budget")
    if last is None:
        last = header["params"].get("budget", sum(len(t) - 1 for t in tables))
    if path["budgets"].values != list(range(last + 1)):
        raise Unproven("the path does not have every budget that was asked")
    ising = header["params"].get("loss") == "ising"
    separated = path["separated"].values if ising else []
    # A logarithm is off by as much as its loss is of itself: times n, for each node.
    logs = header["params"].get("scaling") == "nlogrss"
    walk = Walk(tables, attained, separated, len(tables) * arrays["X"].shape[0] if logs else 0)
    optimum = knapsack(tables, last)
    for K in range(last + 1):
        walk.step(path["changes"], K)
        walk.compare(path, result, K, optimum[K])
    margins, objective = walk.margins, exact(path["objective"].values[last])
    for name in ("objective", "bound"):
        off = abs(exact(result[name]) - exact(path[name].values[last]))
        within(off, *margins, f"the {name} is not the path's at its end:")
    if attained_by is None:
        same(result["x"].values, [Fraction(c) for c in walk.counts], "x")
    else:
        if sum(map(bool, result["x"].values)) > last:
            raise Refuted(f"x has more neighbours than the budget of {last}")
        beyond = attained_by(exacts(result["x"].values)) - objective
        if beyond > margins[1] and ising:
            raise Unproven("the point stops short of the loss of neighbours that separate a node")
        within(abs(beyond), *margins, "the objective at the last budget is not that of x:")
    return f"optimal for {last + 1} budgets, margin {near(margins[1]):.3g} at the last"


def of_graph(path, header, arrays):
    """Whether a path states the candidates of the problem, and which losses they have."""
    usual = {"loss": "gaussian", "scaling": "standardised", "ridge": 0.0}
    return all(path["candidates"][n].values == arrays[n].values for n in ("ptr", "index")) and all(
        path[name] == header["params"].get(name, value) for name, value in usual.items()
    )


def knapsack(tables, last):
    """The least sums of losses for budgets 0, ..., last, by dynamic programming in integers."""
    if last * sum(map(len, tables)) > 60_000_000:
        raise Unproven("too large: a dynamic program of more than 60 million steps")
    scale = math.lcm(*(v.denominator for t in tables for v in t))
    best = [0] + [None] * last
    for table in tables:
        Clock.check()
        ints = [int(v * scale) for v in table]
        new = [None] * (last + 1)
        for K, base in enumerate(best):
            Clock.check()
            if base is not None:
                for k, v in enumerate(ints[: last + 1 - K]):
                    if new[K + k] is None or base + v < new[K + k]:
                        new[K + k] = base + v
        best = new
    least = accumulate((math.inf if b is None else b for b in best), min)
    return [Fraction(v, scale) for v in least]


class Walk:
    """The counts of the nodes from budget to budget, their losses, and what is compared."""

    def __init__(self, tables, attained, separated, rounded):
        self.tables, self.attained = tables, attained
        self.counts, self.dual = [0] * len(tables), {}
        self.total = sum((t[0] for t in attained), ZERO)
        # The losses of no neighbours may be those of few tables, which the budget is for.
        self.left, self.rounded = sum((abs(t[0]) for t in attained), ZERO), rounded
        self.given = attained is tables
        self.large = sum((max(map(abs, t)) for t in attained), ZERO)
        sizes = sorted(abs(v) for t in tables for v in t if v)
        most = 10**4 * sizes[(len(sizes) - 1) // 4] if sizes else ZERO
        self.usual, self.most = sum(min(v, most) for v in sizes), sum(len(t) - 1 for t in tables)
        wide = self.margins[0]
        pairs = [p for t in zip(tables, attained, strict=True) for p in zip(*t, strict=True)]
        apart = [place for place, (a, b) in enumerate(pairs) if b - a > wide]
        # Where a loss has no minimum, what is attained at a large point is above the least.
        if any(place >= len(separated) or not separated[place] for place in apart):
            raise Unproven("a node has better neighbours than its table states")

    @property
    def margins(self):
        """What numbers may be off by, by the largest losses and by those that are left.

        Sums of given losses are known, however they cancel; fits are rounded beside their data.
        """
        wide = max(self.large, self.rounded, ONE / 10**300)
        if self.given:
            narrow = max(abs(self.total), self.left * LAST_DIGITS, ONE / 10**300)
        else:
            narrow = max(self.left, self.large / 10**7, Fraction(self.rounded, 10**6))
        return Fraction(OBJECTIVE) * wide, Fraction(OBJECTIVE) * narrow

    def step(self, changes, K):
        ptr = changes["ptr"].values
        for k in range(ptr[K], ptr[K + 1]):
            j, count = changes["node"].values[k], changes["count"].values[k]
            losses = self.attained[j]
            if not 0 <= count < len(losses):
                raise Refuted("a count is outside its table")
            self.total += losses[count] - losses[self.counts[j]]
            self.left += abs(losses[count]) - abs(losses[self.counts[j]])
            self.counts[j] = count
        if sum(self.counts) > K:
            raise Refuted(f"at budget {K} the counts are too many")

    def compare(self, path, result, K, optimum):
        """The stated numbers with the losses of the counts and with the optimum of a budget."""
        objective, bound = (exact(path[name].values[K]) for name in ("objective", "bound"))
        margins = self.margins
        within(abs(self.total - objective), *margins, f"at budget {K} the objective is off")
        lam = exact(result["certificate"]["arrays"]["multiplier"].values[K])
        if path["certified"].values[K]:
            if lam < 0:
                raise Refuted(f"at budget {K} the multiplier is negative")
            short = objective - (self.lagrangian(lam) - lam * K) - self.slope_rounding(lam, K)
            within(short, *margins, f"at budget {K} the multiplier does not certify the counts:")
        text = f"at budget {K} the bound {near(bound):.12g} exceeds {near(optimum):.12g}"
        within(bound - optimum, *margins, text)
        gap = exact(result["params"].get("rel_gap", 1e-6)) * abs(objective)
        if result["status"] == "optimal":
            allowed = (max(gap, margin) for margin in margins)
            within(objective - bound, *allowed, f"at budget {K} objective and bound are apart")

    def slope_rounding(self, lam, K):
        """What a multiplier leaves of a gap because slopes of usual losses are rounded."""
        return (lam * max(K, self.most) + self.usual) / 2**52

    def lagrangian(self, lam):
        if lam not in self.dual:
            least = (min(v + lam * k for k, v in enumerate(t)) for t in self.tables)
            self.dual[lam] = sum(least, ZERO)
        return self.dual[lam]


def graph_tables(params, arrays, path):
    """The best losses of 0, 1, ... neighbours over all subsets, those attained, and those of x."""
    rows, d = arrays["X"].shape
    times = weights(arrays, "sample_weights", rows)
    if min(times) <= 0:
        raise Unproven("rows that do not count are not covered")
    n = sum(times)
    ptr, index = arrays["ptr"].values, arrays["index"].values
    attained_all = params.get("loss", "gaussian") != "ising" or params.get("ridge", 0.0) > 0.0
    masks, separated = path["supports"].values, path["separated"].values
    if len(masks) != len(separated):
        raise Refuted("there are not as many supports as words of which separate")
    if any(
        said and (attained_all or not mask) for mask, said in zip(masks, separated, strict=True)
    ):
        raise Refuted("a loss that has a minimum is said to have none")
    if params.get("loss", "gaussian") == "ising":
        return ising_tables(params, arrays, path)
    scaled = (lambda v, null: n * ln(v)) if params["scaling"] == "nlogrss" else Fraction.__truediv__
    if sum(2 ** (b - a) * (b - a + 1) ** 2 for a, b in pairwise(ptr)) > 20_000_000:
        raise Unproven("too large: more subsets of candidates than minutes allow")
    inner = inner_products(arrays, times, d)
    ridge, tables, attained, at, grams = exact(params.get("ridge", 0.0)), [], [], 0, []

    def attained_by(x):
        if len(x) != len(index):
            raise Refuted("x has another length")
        total = ZERO
        for j, (G, null) in enumerate(grams):
            beta = [*x[ptr[j] : ptr[j + 1]], -ONE]
            on = [k for k, b in enumerate(beta) if b]
            total += scaled(sum((beta[a] * beta[b] * G[a][b] for a in on for b in on), ZERO), null)
        return total

    for j in range(d):
        Clock.check()
        own = index[ptr[j] : ptr[j + 1]]
        G = [[inner(a, b) + ridge * (a == b and a != j) for b in [*own, j]] for a in [*own, j]]
        null = G[-1][-1] if params["scaling"] == "standardised" else ONE
        grams.append((G, null))
        losses = {}
        add_losses(G, 0, 0, losses)
        stated = masks[at : at + len(own) + 1]
        if any(mask not in losses or mask.bit_count() > k for k, mask in enumerate(stated)):
            raise Unproven("a stated support holds candidates that depend on each other")
        at += len(own) + 1
        best = [losses[0]] * (len(own) + 1)
        for mask, loss in losses.items():
            best[mask.bit_count()] = min(best[mask.bit_count()], loss)
        tables.append([scaled(b, null) for b in accumulate(best, min)])
        attained.append([scaled(losses[mask], null) for mask in stated])
    return tables, attained, attained_by


def inner_products(arrays, times, d):
    """A function of two columns of X that gives the mean of their products, weighted by times."""
    ints, scale = whole(exacts(arrays["X"].values))
    counts, _ = whole(times)
    columns, known = [ints[j::d] for j in range(d)], {}
    weighted = [list(map(int.__mul__, column, counts)) for column in columns]
    unit = sum(counts) * scale * scale

    def inner(i, j):
        key = (min(i, j), max(i, j))
        if key not in known:
            known[key] = Fraction(sum(map(int.__mul__, weighted[i], columns[j])), unit)
        return known[key]

    return inner


def add_losses(G, first, mask, losses):
    """Add the losses of a set of regressors, and of all with later ones, by pivots on G.

    The last entry of G is what the regressors leave. Those that depend on others are left out.
    """
    Clock.check()
    losses[mask] = G[-1][-1]
    for k in range(first, len(G) - 1):
        if G[k][k] <= 0:
            continue
        shares = [0] * (k + 1) + [w / G[k][k] for w in G[k][k + 1 :]]
        rest = G[: k + 1] + [
            [v - row[k] * w for v, w in zip(row, shares, strict=True)] for row in G[k + 1 :]
        ]
        add_losses(rest, k + 1, mask | 1 << k, losses)
