"""Kernel selection by the Gaussian kernel: every support, cut into simplices of squared weights."""

# mypy: ignore-errors

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations

from ..common.rationals import DIGITS, decimal, exact, exacts, near
from ..common.statements import within
from ..common.verdicts import GAP, OBJECTIVE, Clock, Refuted, Unproven

ROUNDING = Decimal("1e-30")  # of sums of some thousand terms at 45 digits, relative to their unit


def check_gaussian(header, arrays, result):
    if result["path"] is not None or result["params"].get("size") is not None:
        raise Unproven("sizes of a selection by the Gaussian kernel are not covered")
    if result["certificate"] is not None:
        raise Unproven("a selection by the Gaussian kernel needs no certificate, and has one")
    terms, d = Terms(header["params"], arrays), header["params"]["d"]
    x, stated = exacts(result["x"].values), {k: exact(result[k]) for k in ("objective", "bound")}
    on, square = [i for i, v in enumerate(x) if v], sum(v * v for v in x)
    if len(x) != terms.width or len(on) > d or abs(square - 1) > 2e-8:
        raise Refuted(f"x is no unit vector of length {terms.width} with at most {d} nonzeros")
    # The variance has no part in the narrow unit, whatever its weight is.
    units = [4 + 4 * terms.lam, Fraction(4, 10**6)]
    with localcontext(DIGITS):
        value = Fraction(terms.value(on, [decimal(x[i] * x[i] / square) for i in on]))
        margins = [Fraction(OBJECTIVE) * max(abs(value), unit) for unit in units]
        within(abs(value - stated["objective"]), *margins, "the objective is off")
        gap = exact(result["params"].get("rel_gap", 1e-6)) * max(map(abs, stated.values()))
        if result["status"] == "optimal":
            margins = [max(gap, margin) for margin in margins]
            within(stated["bound"] - stated["objective"], *margins, "objective and bound are apart")
        most = [
            decimal(stated["bound"] + Fraction(GAP) * max(abs(stated["bound"]), unit))
            for unit in units
        ]
        count = sum(terms.bounded(S, *most) for S in combinations(range(terms.width), d))
    return f"optimal up to the gap stated: {count} simplices"


class Terms:
    """The objective as a sum of exponentials of the squared weights w, and bounds of it.

    With K the Gram matrix of all observations, r = K v, and groups g of sums of entries of r, it is
    <W, K> - lam sum f Var(g). For any t that sum to zero Var(g) is at least the mean of
    2 t_i g_i - t_i^2, and the exponentials are convex in w.
    """

    def __init__(self, params, arrays):
        Z = [exacts(row) for row in arrays["x"].rows() + arrays["y"].rows()]
        n, N, widths = arrays["x"].shape[0], len(Z), exacts(arrays["bandwidth"].values)
        self.n, self.m, self.width, self.lam = n, N - n, len(widths), exact(params["lam"])
        self.pairs = [(i, j) for i in range(N) for j in range(i + 1, N)]
        with localcontext(DIGITS):
            self.delta = [
                [
                    decimal((a - b) ** 2 / (2 * s))
                    for a, b, s in zip(Z[i], Z[j], widths, strict=True)
                ]
                for i, j in self.pairs
            ]
            self.weights = [decimal(Fraction(self._weight(i, j))) for i, j in self.pairs]
            self.factor = decimal(self.lam)
            self.v = [1 / Decimal(n)] * n + [-1 / Decimal(self.m)] * self.m
        self.known = {}

    def _weight(self, i, j):
        n, m = self.n, self.m
        if n == m:
            if j - i == n:
                return 0
            return Fraction(2 if (i < n) == (j < n) else -2, n * (n - 1))
        if (i < n) != (j < n):
            return Fraction(-2, n * m)
        return Fraction(2, n * (n - 1)) if j < n else Fraction(2, m * (m - 1))

    def exponentials(self, S, w):
        key = (S, tuple(w))
        if key not in self.known:
            Clock.check()
            if len(self.known) > 1000:
                self.known.clear()
            self.known[key] = [
                (-sum(row[s] * a for s, a in zip(S, w, strict=True))).exp() for row in self.delta
            ]
        return self.known[key]

    def _variances(self, e):
        """For each group its factor, and the entries of g less their mean."""
        rows, n = list(self.v), self.n
        for (i, j), value in zip(self.pairs, e, strict=True):
            rows[i] += self.v[j] * value
            rows[j] += self.v[i] * value
        p, q = rows[:n], [-value for value in rows[n:]]
        if n == self.m:
            groups = [(Decimal(4), [a + b for a, b in zip(p, q, strict=True)])]
        else:
            both = 8 * Decimal(n) * self.m / (n + self.m)
            groups = [(both / n, p), (both / self.m, q)]
        return [(f, [a - sum(g) / len(g) for a in g]) for f, g in groups]

    def value(self, S, w):
        e = self.exponentials(tuple(S), w)
        variance = sum(f * sum(a * a for a in t) / len(t) for f, t in self._variances(e))
        return sum(map(Decimal.__mul__, self.weights, e)) - self.factor * variance

    def bounded(self, S, wide, most):
        """Cut the simplex of a support until nothing in it is above `most`; return the pieces."""
        unit = [[Decimal(i == j) for j in range(len(S))] for i in range(len(S))]
        open_, count = [unit], 0
        while open_:
            corners = open_.pop()
            count += 1
            upper, value = self._upper(S, corners)
            if value > most:
                raise (Refuted if value > wide else Unproven)(
                    f"on {list(S)} there is a point of value {near(Fraction(value)):.12g}"
                )
            if upper <= most:
                continue
            if len(S) == 1:
                raise Unproven(f"the variable {S[0]} alone may exceed the bound by rounding")
            edges = combinations(range(len(S)), 2)
            i, j = max(edges, key=lambda e: self._length(corners[e[0]], corners[e[1]]))
            middle = [(a + b) / 2 for a, b in zip(corners[i], corners[j], strict=True)]
            open_ += [
                [middle if k == at else corner for at, corner in enumerate(corners)] for k in (i, j)
            ]
        return count

    def _length(self, a, b):
        return sum((u - v) ** 2 for u, v in zip(a, b, strict=True))

    def _upper(self, S, corners):
        """An upper bound on a simplex, and the value in its middle."""
        k = len(S)
        middle = [sum(column) / k for column in zip(*corners, strict=True)]
        e = self.exponentials(S, middle)
        slope, constant = [], Decimal(0)
        variances = self._variances(e)
        for f, t in variances:
            slope.append([2 * f / len(t) * a for a in t])
            constant += self.factor * f * sum(a * a for a in t) / len(t)
        value = sum(map(Decimal.__mul__, self.weights, e)) - constant
        slope = [*slope[0], *(-a for a in slope[-1])]
        constant += -self.factor * sum(map(Decimal.__mul__, slope, self.v))
        C = [
            W - self.factor * (slope[i] * self.v[j] + slope[j] * self.v[i])
            for W, (i, j) in zip(self.weights, self.pairs, strict=True)
        ]
        best = []
        for corner in corners:
            at, step = self.exponentials(S, corner), list(map(Decimal.__sub__, corner, middle))
            total = Decimal(0)
            for c, here, there, row in zip(C, e, at, self.delta, strict=True):
                if c > 0:
                    total += c * there
                elif c < 0:
                    tangent = sum(row[s] * a for s, a in zip(S, step, strict=True))
                    total += c * here * (1 - tangent)
            best.append(total)
        size = 1 + abs(constant) + sum(map(abs, C))
        return constant + max(best) + ROUNDING * size, value
