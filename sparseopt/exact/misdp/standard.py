"""Indicators and quadratic objectives of semidefinite programs: the standard form, and its charge.

See ``sparseopt/proofs/misdp_standard_form.py``: certificates are about it. Here each row is one
that all feasible points satisfy with the largest and least values of a'x that are derived here.
"""

# mypy: ignore-errors

from __future__ import annotations

import math
from fractions import Fraction

from ..common.algebra import sparse
from ..common.rationals import ONE, ZERO, exact, exacts
from ..common.verdicts import Refuted, Unproven


class Conditions:
    """What a problem has beside rows and cones: indicators, and Q by rows, of the minimisation."""

    def __init__(self, arrays, sign):
        self.rows, self.Q = [], {}
        if "indicators_binary" in arrays:
            names = ("binary", "lower", "upper")
            columns = (arrays[f"indicators_{name}"].values for name in names)
            self.rows = list(zip(sparse(arrays, "indicators_a")[0], *columns, strict=True))
        if "Q" in arrays or "Q.indptr" in arrays:
            lines = sparse(arrays, "Q")[0]
            self.Q = {(i, j): sign * a for i, line in enumerate(lines) for j, a in line.items()}
        self.steepest = max(map(abs, self.Q.values()), default=ZERO)

    def __bool__(self):
        return bool(self.rows or self.Q)

    def held(self, x):
        """The rows whose binary variable is one: forms, and their ends."""
        return [
            (form, *(None if math.isinf(end) else exact(end) for end in ends))
            for form, binary, *ends in self.rows
            if x[binary] == 1
        ]

    def bends(self, ray):
        """Whether Q ray is not zero."""
        images = {}
        for (i, j), a in self.Q.items():
            images[i] = images.get(i, ZERO) + a * ray[j]
        return any(images.values())

    def value(self, x):
        return sum((a * x[i] * x[j] for (i, j), a in self.Q.items()), ZERO) / 2


def standardise(problem, tables):
    """Turn a problem into the one that its certificate is about.

    The optimum of it may exceed that of the problem by ``problem.charge``.
    """
    extra, n = problem.extra, len(problem.c)
    low, high = problem.tighten(list(problem.low), list(problem.high), None)
    if low is None:
        low = high = [ZERO] * n
    if extra.Q:
        _bend(problem, tables, low, high)
    words = [
        tables[name].values if extra.rows else [] for name in ("indicator_least", "indicator_most")
    ]
    rows = _Rows(problem)
    for (form, binary, *ends), *stated in zip(extra.rows, *words, strict=True):
        reaches = [_end(form, *both) for both in ((low, high), (high, low))]
        rows.take(form, binary, *ends, stated, reaches)
    problem.insert(problem.m, rows.forms, [ZERO] * len(rows.forms))
    problem.m += len(rows.forms)
    problem.row_low += rows.low
    problem.row_high += rows.high


def _end(form, low, high):
    """The least value of a form in a box; None where it has none."""
    ends = [(a, low[j] if a > 0 else high[j]) for j, a in form.items()]
    return None if any(b is None for _, b in ends) else sum((a * b for a, b in ends), ZERO)


def _bend(problem, tables, low, high):
    """Put s t, t over half of ||L'x + h||^2, in the place of Q, and charge what that misses."""
    n, Q = len(problem.c), problem.extra.Q
    r = tables["quadratic_factor"].shape[1]
    L = [exacts(row) if r else [] for row in tables["quadratic_factor"].rows()]
    h, costs = (exacts(tables[f"quadratic_{name}"].values) for name in ("shift", "costs"))
    if (len(L), len(h), len(costs)) != (n, r, n):
        raise Refuted("the factor, the shift or the costs of the objective have another length")
    unit = Fraction(4) ** round(math.log(float(problem.extra.steepest), 4.0))
    # Diagonally dominant, the variables counted in their largest values.
    sizes = [ZERO if None in ends else max(map(abs, ends)) for ends in zip(low, high, strict=True)]
    for i in range(n):
        kept = [Q.get((i, j), ZERO) - unit * _dot(L[i], L[j]) for j in range(n)]
        ratios = ((size or ONE) / (sizes[i] or ONE) for size in sizes)
        beside = sum(abs(v) * ratio for v, ratio in zip(kept, ratios, strict=True))
        curve = kept[i] + abs(kept[i]) - beside
        linear = abs(problem.c[i] - unit * _dot(L[i], h) - problem.sign * costs[i])
        ways = [linear * linear / (2 * curve)] if curve > 0 else [ZERO] * (not curve and not linear)
        if None not in (low[i], high[i]):
            size = max(abs(low[i]), abs(high[i]))
            ways.append(linear * size + max(-curve, ZERO) * size * size / 2)
        if not ways:
            raise Unproven("a variable without bounds, for which the factor misses something")
        problem.charge += min(ways)
    problem.c = [problem.sign * v for v in costs] + [unit]
    problem.offset -= unit * _dot(h, h) / 2
    reach = [abs(h[k]) + sum(abs(L[i][k]) * sizes[i] for i in range(n)) for k in range(r)]
    known = all(size or not any(row) for size, row in zip(sizes, L, strict=True))
    problem.sizes.append(min(ONE, _dot(reach, reach) / 2) if known else ONE)
    problem.low.append(ZERO)
    problem.high.append(None)
    tail = [{j: L[j][k] for j in range(n) if L[j][k]} for k in range(r)]
    begin = problem.m + sum(len(places) for places, *_ in problem.cones)
    problem.insert(begin, [{n: ONE}, {}, *tail], [ZERO, ONE, *h])
    problem.cones.append((range(begin, begin + r + 2), r + 2, True))


def _dot(a, b):
    return sum((x * y for x, y in zip(a, b, strict=True)), ZERO)


class _Rows:
    """The rows of indicators, in their order, and the slacks that they add to a problem."""

    def __init__(self, problem):
        self.problem, self.forms, self.low, self.high = problem, [], [], []

    def add(self, form, low, high):
        self.forms.append({j: a for j, a in form.items() if a})
        self.low.append(low)
        self.high.append(high)

    def slack(self, room, binary):
        problem = self.problem
        problem.low.append(ZERO)
        problem.sizes.append(ONE)
        problem.high.append(room)
        problem.c.append(ZERO)
        if room is None:
            problem.conditional.append((binary, len(problem.c) - 1))
        return len(problem.c) - 1

    def take(self, form, binary, lower, upper, stated, reaches):
        """Add one; `stated` says which sides it has, `reaches` are derived from the constraints."""
        sides = []
        for sign, end, said, reach in (
            (1, upper, stated[1], reaches[1]),
            (-1, lower, stated[0], reaches[0]),
        ):
            if math.isfinite(end) and sign * said > sign * end:
                if math.isfinite(said) and reach is None:
                    raise Unproven("nothing here bounds the row of an indicator")
                room = None if math.isinf(said) else max(sign * (reach - exact(end)), ZERO)
                sides.append((sign, exact(end), room))
            elif lower == upper and (reach is None or sign * (reach - exact(end)) > 0):
                raise Unproven("the row of an indicator may be on a side that it does not have")
        if lower == upper:
            endless = any(room is None for *_, room in sides)
            slacks = [
                (self.slack(None if endless else room, binary), sign, room)
                for sign, _, room in sides
            ]
            own = form | {column: Fraction(-sign) for column, sign, _ in slacks}
            self.add(own, exact(lower), exact(upper))
            for column, _, room in () if endless else slacks:
                self.add({column: ONE, binary: room}, None, room)
            return
        for sign, end, room in sides:
            if room is None:
                own = form | {self.slack(None, binary): Fraction(-sign)}
            else:
                own = form | {binary: form.get(binary, ZERO) + sign * room}
                end += sign * room
            self.add(own, *((None, end) if sign > 0 else (end, None)))
