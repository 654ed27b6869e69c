"""Budgets: tables and graphs."""

# mypy: ignore-errors

from __future__ import annotations

import math
from fractions import Fraction
from itertools import accumulate, pairwise

from .algebra import whole
from .logistic import ising_tables, ln
from .rationals import ONE, ZERO, exact, exacts, near
from .statements import same, within
from .verdicts import OBJECTIVE, Clock, Refuted, Unproven


def check_budget(header, arrays, result):
    path = result["path"]
    if header["kind"] == "budget-tables":
        ptr, values = arrays["ptr"].values, exacts(arrays["values"].values)
        tables = [values[a:b] for a, b in pairwise(ptr)]
        attained = tables
    else:
        tables, attained, attained_by = graph_tables(header["params"], arrays, path)
    budgets, J, cache = path["budgets"].values, len(tables), {}
    if path["stopped_by"] != "budget":
        raise Unproven("only paths that end at the last budget are covered")
    multiplier = result["certificate"]["arrays"]["multiplier"].values
    last = result["params"].get("budget")
    last = (
        last
        if last is not None
        else header["params"].get("budget", sum(len(t) - 1 for t in tables))
    )
    if budgets != list(range(last + 1)):
        raise Unproven("the path does not have every budget that was asked")
    if last * sum(map(len, tables)) > 60_000_000:
        raise Unproven("too large: a dynamic program of more than 60 million steps")
    scale = math.lcm(*(v.denominator for t in tables for v in t))
    best = [0] + [None] * last
    for table in tables:
        Clock.check()
        ints = [int(v * scale) for v in table]
        new = [None] * (last + 1)
        for K, base in enumerate(best):
            if base is not None:
                for k, v in enumerate(ints[: last + 1 - K]):
                    if new[K + k] is None or base + v < new[K + k]:
                        new[K + k] = base + v
        best = new
    optimum = [
        Fraction(v, scale) for v in accumulate((math.inf if b is None else b for b in best), min)
    ]
    changes, counts = path["changes"], [0] * J
    total = sum((t[0] for t in attained), ZERO)
    # The losses of no neighbours may be those of few tables, which the budget is for.
    large = left = sum((abs(t[0]) for t in attained), ZERO)
    wide = Fraction(OBJECTIVE) * max(large, ONE / 10**300)
    asked = exact(result["params"].get("rel_gap", 1e-6))
    apart = any(
        b - a > wide for t in zip(tables, attained, strict=True) for a, b in zip(*t, strict=True)
    )
    if apart and header["params"].get("loss") != "ising":
        raise Unproven("a node has better neighbours than its table states")
    for K in budgets:
        for k in range(changes["ptr"].values[K], changes["ptr"].values[K + 1]):
            j, count = changes["node"].values[k], changes["count"].values[k]
            if not 0 <= count < len(tables[j]):
                raise Refuted("a count is outside its table")
            total += attained[j][count] - attained[j][counts[j]]
            left += abs(attained[j][count]) - abs(attained[j][counts[j]])
            counts[j] = count
        objective, bound = (exact(path[name].values[K]) for name in ("objective", "bound"))
        margins = wide, Fraction(OBJECTIVE) * max(left, large / 10**7)
        if sum(counts) > K:
            raise Refuted(f"at budget {K} the counts are too many")
        within(abs(total - objective), *margins, f"at budget {K} the objective is off")
        lam = exact(multiplier[K])
        if path["certified"].values[K]:
            if lam not in cache:
                cache[lam] = sum((min(v + lam * k for k, v in enumerate(t)) for t in tables), ZERO)
            if lam < 0:
                raise Refuted(f"at budget {K} the multiplier is negative")
            short = objective - (cache[lam] - lam * K)
            within(short, *margins, f"at budget {K} the multiplier does not certify the counts:")
        text = f"at budget {K} the bound {near(bound):.12g} exceeds {near(optimum[K]):.12g}"
        within(bound - optimum[K], *margins, text)
        gap = asked * abs(objective)
        if result["status"] == "optimal":
            allowed = (max(gap, margin) for margin in margins)
            within(objective - bound, *allowed, f"at budget {K} objective and bound are apart")
    for name, at in (("objective", objective), ("bound", bound)):
        within(abs(exact(result[name]) - at), *margins, f"the {name} is not the path's at its end:")
    if header["kind"] == "budget-tables":
        same(result["x"].values, [Fraction(c) for c in counts], "x")
    else:
        beyond = attained_by(exacts(result["x"].values)) - objective
        if beyond > margins[1] and header["params"].get("loss") == "ising":
            raise Unproven("the point stops short of the loss of neighbours that separate a node")
        within(abs(beyond), *margins, "the objective at the last budget is not that of x:")
    rest = "; neighbours that no budget takes are not covered" if apart else ""
    return f"optimal for {len(budgets)} budgets, margin {near(margins[1]):.3g} at the last{rest}"


def graph_tables(params, arrays, path):
    """The best losses of 0, 1, ... neighbours over all subsets, those attained, and those of x."""
    n, d = arrays["X"].shape
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
    ints, scale = whole(exacts(arrays["X"].values))
    columns = [ints[j::d] for j in range(d)]
    ridge, tables, attained, at = exact(params.get("ridge", 0.0)), [], [], 0
    product, grams = {}, []

    def attained_by(x):
        if len(x) != len(index):
            raise Refuted("x has another length")
        total = ZERO
        for j, (G, null) in enumerate(grams):
            beta = [*x[ptr[j] : ptr[j + 1]], -ONE]
            on = [k for k, b in enumerate(beta) if b]
            total += scaled(sum((beta[a] * beta[b] * G[a][b] for a in on for b in on), ZERO), null)
        return total

    def inner(i, j):
        key = (min(i, j), max(i, j))
        if key not in product:
            product[key] = Fraction(
                sum(map(int.__mul__, columns[i], columns[j])), n * scale * scale
            )
        return product[key]

    for j in range(d):
        Clock.check()
        own = index[ptr[j] : ptr[j + 1]]
        G = [[inner(a, b) + ridge * (a == b and a != j) for b in [*own, j]] for a in [*own, j]]
        null = G[-1][-1] if params["scaling"] == "standardised" else ONE
        grams.append((G, null))
        best, masks = [G[-1][-1]] + [None] * len(own), {0: G[-1][-1]}

        def grow(S, first, size, mask, best=best, masks=masks):
            for k in range(first, len(S) - 1):
                if S[k][k] > 0:
                    T = [
                        [
                            v - row[k] * w / S[k][k] if c > k else v
                            for c, (v, w) in enumerate(zip(row, S[k], strict=True))
                        ]
                        if r > k
                        else row
                        for r, row in enumerate(S)
                    ]
                    loss = T[-1][-1]
                    masks[mask | 1 << k] = loss
                    if best[size + 1] is None or loss < best[size + 1]:
                        best[size + 1] = loss
                    grow(T, k + 1, size + 1, mask | 1 << k)

        grow(G, 0, 0, 0)
        stated = path["supports"].values[at : at + len(own) + 1]
        if any(mask not in masks or mask.bit_count() > k for k, mask in enumerate(stated)):
            raise Unproven("a stated support holds candidates that depend on each other")
        at += len(own) + 1
        best = list(accumulate((b if b is not None else best[0] for b in best), min))
        tables.append([scaled(b, null) for b in best])
        attained.append([scaled(masks[mask], null) for mask in stated])
    return tables, attained, attained_by
