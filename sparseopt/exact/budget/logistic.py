"""Tables of Ising graphs: bounds on logistic regressions."""

# mypy: ignore-errors

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate, pairwise

from ..common.algebra import solve
from ..common.rationals import DIGITS, ONE, ZERO, decimal, exact, exacts
from ..common.verdicts import OBJECTIVE, Clock, Refuted, Unproven
from ..parametric.models import weights


def ln(value):
    if value <= 0:
        raise Unproven("a node is fitted perfectly: its loss has no logarithm")
    return Fraction(DIGITS.ln(decimal(value)))


def ising_tables(params, arrays, path):
    """The same with the logistic loss: a lower bound for each subset, by duality at its fit.

    Rows count by their pattern z in {-1, 1}^k, n is the sum of their weights. For every p in
    [0, 1], g = sum p z / n, the loss
    is at least mean H(p) - g'g / (4 ridge), or mean H(p) - B |g|_1 for coefficients up to B.
    Without a ridge it is proven of each stated set that it separates the node's values, as stated,
    or that it does not.
    """
    times = weights(arrays, "sample_weights", arrays["X"].shape[0])
    n, ridge, ptr, index = (
        sum(times),
        exact(params.get("ridge", 0.0)),
        arrays["ptr"].values,
        arrays["index"].values,
    )
    if sum(3 ** (b - a) for a, b in pairwise(ptr)) > 3_000_000:
        raise Unproven("too large: more subsets of candidates than minutes allow")
    rows = [list(map(int, row)) for row in arrays["X"].rows()]
    scale = ln(Fraction(2)) if params["scaling"] == "standardised" else ONE
    nodes, tables, attained, at = [], [], [], 0
    for j, (a, b) in enumerate(pairwise(ptr)):
        nodes.append(Counter())
        for row, count in zip(rows, times, strict=True):
            nodes[-1][tuple(row[j] * row[k] for k in index[a:b])] += count
        least, fits, lows = [None] * (b - a + 1), {0: ()}, {}
        for mask in range(2 ** (b - a)):
            Clock.check()
            on = [k for k in range(b - a) if mask >> k & 1]
            some = projected(nodes[-1], on)
            start = list(fits[mask & (mask - 1)])
            fits[mask] = logistic_fit(some, [0.0, *start] if on else [], float(ridge), float(n))
            lows[mask] = low = logistic_bound(some, fits[mask], ridge, n)
            if least[len(on)] is None or low < least[len(on)]:
                least[len(on)] = low
        stated = path["supports"].values[at : at + b - a + 1]
        at += b - a + 1
        if any(mask not in fits or mask.bit_count() > k for k, mask in enumerate(stated)):
            raise Refuted("a stated support is none of its node's")
        tables.append([v / scale for v in accumulate(least, min)])
        # What a set that separates attains is above its least: its bound is compared.
        for best, mask in zip(accumulate(least, min), stated, strict=True):
            if lows[mask] - best > Fraction(OBJECTIVE) * abs(lows[0]):
                raise Unproven("a node has better neighbours than its table states")
        attained.append([])
        for place, mask in enumerate(stated, at - len(stated)):
            beta = iter(exacts(fits[mask]))
            full = [next(beta) if mask >> k & 1 else ZERO for k in range(b - a)]
            attained[-1].append(logistic_loss(nodes[-1], full, ridge, n) / scale)
            if mask and not ridge:
                judge = separates if path["separated"].values[place] else balanced
                on = [k for k in range(b - a) if mask >> k & 1]
                judge(projected(nodes[-1], on), fits[mask])

    def attained_by(x):
        if len(x) != len(index):
            raise Refuted("x has another length")
        parts = [x[a:b] for a, b in pairwise(ptr)]
        pairs = zip(nodes, parts, strict=True)
        return sum((logistic_loss(*pair, ridge, n) for pair in pairs), ZERO) / scale

    return tables, attained, attained_by


def projected(patterns, on):
    """Patterns of some of their entries, and how often they are there."""
    some = Counter()
    for z, count in patterns.items():
        some[tuple(z[k] for k in on)] += count
    return Counter({z: count for z, count in some.items() if count})


def separates(patterns, beta):
    """Prove that a direction has z'd >= 0 for all patterns and > 0 for one: no minimum is attained.

    It is one near the fit, for which those whose margins stayed small are 0.
    """
    margins = {z: sum(map(float.__mul__, map(float, z), beta)) for z in patterns}
    start, known = exacts(beta), set()
    for least in (0.0, 2.0, 4.0, 8.0, 12.0, 16.0, 20.0):
        Clock.check()
        tight = sorted(z for z, margin in margins.items() if margin < least)
        if len(tight) in known:
            continue
        known.add(len(tight))
        targets = [-sum(v * b for v, b in zip(z, start, strict=True)) for z in tight]
        step = solve([dict(enumerate(map(Fraction, z))) for z in tight], targets, len(beta))
        if step is None:
            continue
        there = [b + s for b, s in zip(start, step, strict=True)]
        pulls = [sum(v * b for v, b in zip(z, there, strict=True)) for z in patterns]
        if min(pulls) >= 0 < max(pulls):
            return
    raise Unproven("that some neighbours separate a node is not proven")


def balanced(patterns, beta):
    """Prove that positive shares have sum w z = 0: then nothing separates (Stiemke's lemma).

    They are those at the fit, and the largest of them are changed by what the fit misses.
    """
    shares = {}
    for z, count in patterns.items():
        pull = min(sum(map(float.__mul__, map(float, z), beta)), 700.0)
        shares[z] = count * Fraction(1.0 / (1.0 + math.exp(pull)))
    order = sorted(shares, key=shares.get, reverse=True)
    rows = [[Fraction(z[k]) for z in order] for k in range(len(beta))]
    targets = [-sum(v * shares[z] for v, z in zip(row, order, strict=True)) for row in rows]
    step = solve([dict(enumerate(row)) for row in rows], targets, len(order))
    if step is None or any(shares[z] + s <= 0 for z, s in zip(order, step, strict=True)):
        raise Unproven("that no neighbours separate a node, as stated, is not proven")


def logistic_loss(patterns, beta, ridge, n):
    """Sum count log(1 + exp(-z'beta)) / n + ridge beta'beta."""
    total, linear = Decimal(0), ZERO
    for z, count in patterns.items():
        pull = sum((v * b for v, b in zip(z, beta, strict=True)), ZERO)
        odds = DIGITS.exp(decimal(-abs(pull)))
        linear += count * max(-pull, ZERO)
        change = DIGITS.multiply(decimal(count), DIGITS.ln(DIGITS.add(1, odds)))
        total = DIGITS.add(total, change)
    return (Fraction(total) + linear) / n + ridge * sum(b * b for b in beta)


def logistic_fit(patterns, beta, ridge, n):
    """A guess of the coefficients, by Newton steps of a length of at most 4 that do not go up."""
    size = range(len(beta))
    patterns = {z: float(count) for z, count in patterns.items()}

    def loss(beta):
        total = sum(ridge * n * b * b for b in beta)
        for z, count in patterns.items():
            pull = sum(map(float.__mul__, map(float, z), beta))
            total += count * (math.log1p(math.exp(-abs(pull))) + max(-pull, 0.0))
        return total

    for _ in range(60 if beta else 0):
        slope, bend = [2.0 * ridge * n * b for b in beta], [[0.0] * len(beta) for _ in size]
        for z, count in patterns.items():
            p = 1.0 / (1.0 + math.exp(min(sum(map(float.__mul__, map(float, z), beta)), 700.0)))
            for k in size:
                slope[k] -= count * p * z[k]
                for i in range(k + 1):
                    bend[k][i] += count * p * (1.0 - p) * z[k] * z[i]
        floor = 2.0 * ridge * n + 1e-13 * sum(bend[k][k] for k in size) + 1e-300
        step = solve_rounded(bend, slope, floor)
        length = max(map(abs, step))
        share, most = min(1.0, 4.0 / length if length else 1.0), loss(beta) * (1.0 + 1e-14)
        # Where some patterns are separated the bend is nearly singular, and whole steps overshoot.
        while True:
            there = [b - s * share for b, s in zip(beta, step, strict=True)]
            if loss(there) <= most or share * length < 1e-14:
                break
            share *= 0.5
        beta = there
        if share * length < 1e-14 or max(map(abs, beta)) > 60.0:
            break
    return beta


def solve_rounded(lower, right, floor):
    """(M + floor I) x = b in floats, by Cholesky's method."""
    L, y = [], []
    for i, row in enumerate(lower):
        line = []
        for j in range(i):
            line.append((row[j] - sum(map(float.__mul__, line, L[j]))) / L[j][j])
        line.append(math.sqrt(max(row[i] + floor - sum(v * v for v in line), floor)))
        L.append(line)
        y.append((right[i] - sum(map(float.__mul__, line, y))) / line[i])
    for i in reversed(range(len(y))):
        y[i] = (y[i] - sum(L[k][i] * y[k] for k in range(i + 1, len(y)))) / L[i][i]
    return y


def logistic_bound(patterns, beta, ridge, n):
    odds, weight = {}, [[0.0] * len(beta) for _ in beta]
    pull = [0.0] * len(beta)
    for z, count in patterns.items():
        p = 1.0 / (1.0 + math.exp(min(sum(map(float.__mul__, map(float, z), beta)), 700.0)))
        odds[z], often = p, float(count)
        for k in range(len(beta)):
            pull[k] += often * p * z[k]
            for i in range(k + 1):
                weight[k][i] += often * p * (1.0 - p) * z[k] * z[i]
    step = [0.0] * len(beta)
    if beta and not ridge:
        # A Newton step of the dual takes g to zero up to rounding.
        step = solve_rounded(
            weight, pull, 1e-14 * sum(weight[k][k] for k in range(len(beta))) + 1e-300
        )
    total, g = Decimal(0), [ZERO] * len(beta)
    for z, count in patterns.items():
        p = odds[z]
        p = Fraction(
            min(max(p - p * (1.0 - p) * sum(map(float.__mul__, map(float, z), step)), 0.0), 1.0)
        )
        for q in (p, 1 - p):
            if q:
                total = DIGITS.subtract(
                    total, DIGITS.multiply(decimal(count * q), DIGITS.ln(decimal(q)))
                )
        g = [v + count * p * sign for v, sign in zip(g, z, strict=True)]
    off = sum(v * v for v in g) / (4 * ridge * n) if ridge else 1000 * sum(map(abs, g))
    return max((Fraction(total) - off) / n, ZERO)
