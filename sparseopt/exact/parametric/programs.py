"""Parametric problems as sums of convex piecewise-linear functions of theta and of A theta."""

# mypy: ignore-errors

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

from ..common.algebra import solve
from ..common.rationals import ZERO, rough
from ..common.verdicts import CANCELLED, FEASIBLE, NOISE, Clock, Unproven


class Function:
    """Kinks and slopes as pairs (constant, rate); a slope None is infinite. Zero at kink 0."""

    def __init__(self, kinks, slopes):
        self.kinks, self.slopes = kinks, slopes

    def at(self, lam):
        kinks = [a + lam * b if b else a for a, b in self.kinks]
        slopes = [None if s is None else s[0] + lam * s[1] if s[1] else s[0] for s in self.slopes]
        return kinks, slopes


def prevailing(sizes):
    """The largest size, or 10^4 times the lower quartile of those that are positive."""
    sizes = sorted(size for size in sizes if size)
    return min(sizes[-1], 10**4 * sizes[(len(sizes) - 1) // 4]) if sizes else rough(ZERO)


def ratio(off, unit):
    return rough(off) / unit if unit else math.inf


def value_at(piece, z):
    """f(z), and how far z is outside the domain; what is outside counts as at its end."""
    kinks, slopes = piece
    inside = max(z, kinks[0]) if slopes[0] is None else z
    inside = min(inside, kinks[-1]) if slopes[-1] is None else inside
    total = ZERO
    if inside < kinks[0]:
        total = slopes[0] * (inside - kinks[0])
    for k, begin in enumerate(kinks):
        end = kinks[k + 1] if k + 1 < len(kinks) else inside
        step = min(max(inside, begin), max(end, begin)) - begin
        if step > 0:
            total += slopes[k + 1] * step
    return total, abs(z - inside)


def conjugate(piece, v):
    """The largest v z - f(z), for v between the outer slopes."""
    kinks, slopes = piece
    best, total = v * kinks[0], ZERO
    for k in range(1, len(kinks)):
        total += slopes[k] * (kinks[k] - kinks[k - 1])
        best = max(best, v * kinks[k] - total)
    return best


class Program:
    """min sum phi_j(theta_j) + sum psi_i((A theta)_i) + offset; the sign is -1 for a maximum."""

    def __init__(self, A, phi, psi, offset=(0, 0, 0), sign=1):
        self.A, self.phi, self.psi, self.sign = A, phi, psi, sign
        self.offset = [Fraction(o) for o in offset]
        both = [*phi, *psi]
        self.moves = (
            any(b for f in both for _, b in f.kinks),
            any(s is not None and s[1] for f in both for s in f.slopes),
        )

    @cached_property
    def tops(self):
        """The kinks and slopes that prevail, constants and rates, where entries are near one."""
        tables = [[], [], [], []]
        for f, factor in zip([*self.phi, *self.psi], self.A.factors, strict=True):
            for k in (0, 1):
                tables[k].append(rough(max(abs(t[k]) for t in f.kinks)) * factor)
                slopes = [abs(s[k]) for s in f.slopes if s is not None]
                tables[2 + k].append(rough(max(slopes)) / factor)
        return [prevailing(table) for table in tables]


class Point:
    """One lam: the functions there, their units, and what theta and nu prove."""

    def __init__(self, program, lam):
        self.program, self.lam = program, lam
        self.phi = [f.at(lam) for f in program.phi]
        self.psi = [f.at(lam) for f in program.psi]
        o = program.offset
        self.offset = o[0] + lam * (o[1] + lam * o[2])
        # what is added up: near a lam at which a bound is 0, its terms are not
        self.ends = [
            [rough(abs(a) + lam * abs(b)) for a, b in f.kinks] for f in (*program.phi, *program.psi)
        ]
        self.steep = [
            max(rough(abs(s[0]) + lam * abs(s[1])) for s in f.slopes if s is not None)
            for f in (*program.phi, *program.psi)
        ]
        sizes, p = [max(end) for end in self.ends], len(program.phi)
        self.own, self.kinks = sizes[:p], sizes[p:]
        self.units = self._units(*self._sent(max, self.own))
        # What nothing ever reaches, a loose bound or row, says nothing of the others.
        factors = program.A.factors
        kink, rate, slope, slope_rate = program.tops
        self.tops = tops = [(kink + rate * rough(lam)) / f for f in factors]
        self.steepest = [(slope + slope_rate * rough(lam)) * f for f in factors]
        sent, terms = self._sent(min, [0] * p)
        self.sent = [min(pair) for pair in zip([*sent, *terms], tops, strict=True)]
        own = [min(t or s, u) for t, s, u in zip(self.own, sent, tops, strict=False)]
        rows = [min(kink, u) for kink, u in zip(self.kinks, tops[p:], strict=True)]
        self.least = own, [a + b for a, b in zip(rows, self.sent[p:], strict=True)]

    def _sent(self, pick, typical):
        """The sizes of variables that the rows lead one to expect, and those of the rows' terms."""
        lines, typical = self.program.A.sizes, list(typical)
        for kink, line in zip(self.kinks, lines, strict=True):
            for j, a in line if kink else ():
                typical[j] = pick(typical[j] or kink / a, kink / a)
        return typical, [max((a * typical[j] for j, a in line), default=0) for line in lines]

    def _units(self, typical, terms):
        return typical, [a + b for a, b in zip(self.kinks, terms, strict=True)]

    def primal(self, theta):
        """P(theta), with the largest violation in units of the terms, which units limit.

        Where it is small beside the largest units only, of rows that may matter to nothing, or
        beside terms that cancel, it proves nothing, nor refutes what rounding may have done.
        """
        A = self.program.A
        z, total, worst, doubt, false = A.times(theta), self.offset, 0, 0, 0
        sizes = [rough(abs(t)) for t in theta]
        largest = max(sizes, default=0)
        for i, (piece, t) in enumerate(zip([*self.phi, *self.psi], [*theta, *z], strict=True)):
            value, off = value_at(piece, t)
            total += value
            if off:
                j = i - len(theta)
                end = self.ends[i][-1 if t > piece[0][-1] else 0]
                if j < 0:
                    limit = min(largest, self.units[0][i]) or largest
                    limit, terms, unit = limit + self.own[i], sizes[i], end or self.sent[i]
                else:
                    terms = sum(a * sizes[k] for k, a in A.sizes[j])
                    limit = min(terms, self.units[1][j]) + self.kinks[j]
                    unit = end + self.sent[i]
                worst = max(worst, ratio(off, limit))
                doubt = max(doubt, ratio(off, max(unit, NOISE * terms)))
                if rough(off) > CANCELLED * terms:
                    false = max(false, ratio(off, limit))
        if false <= FEASIBLE < max(worst, doubt):
            text = "the data's largest units" if worst <= FEASIBLE else "terms that cancel"
            raise Unproven(f"a violation is small beside {text} only")
        return total, worst

    def rounding(self, theta, nu=()):
        """What rounding errors of theta and nu may change P(theta) and the gap by."""
        A = self.program.A
        x, v = ([rough(abs(t)) for t in stated] for stated in (theta, nu))
        z = [sum(a * x[k] for k, a in line) for line in A.sizes]
        sizes = [a + b for a, b in zip([*self.own, *self.kinks], [*x, *z], strict=True)]
        total = sum(map(Decimal.__mul__, self.steep, sizes), rough(ZERO))
        for a, size, line in zip(v, sizes[len(x) :], A.sizes, strict=bool(v)):
            total += a * (size + sum(b * self.own[k] for k, b in line))
        return Fraction(CANCELLED * total)

    def value(self, theta):
        """P(theta), where what is outside the domains costs nothing."""
        pieces = [*self.phi, *self.psi]
        z = [*theta, *self.program.A.times(theta)]
        return sum((value_at(f, t)[0] for f, t in zip(pieces, z, strict=True)), self.offset)

    def objective_unit(self, units=None):
        """The largest product of a slope and a unit; by default of what prevails."""
        best, steepest = rough(ZERO), self.steepest
        for i, unit in enumerate([*(units or self.least)[0], *(units or self.least)[1]]):
            steep = self.steep[i]
            best = max(best, (steep if units else min(steep, steepest[i])) * unit)
        return Fraction(best) / 10**5

    def dual(self, nu, value, allowed):
        """Return a lower bound of P by multipliers near nu, and what of it is a charge.

        What is outside the slopes is charged by :meth:`_loss`, or put to their ends exactly.
        """
        self._loosen()
        given = nu
        nu = [clip(v, *ends(piece)) for v, piece in zip(nu, self.psi, strict=True)]
        steepest = max((abs(s) for f in self.phi for s in f[1] if s is not None), default=ZERO)
        entry = max((abs(a) for row in self.program.A.rows for _, a in row), default=1)
        near = max(map(abs, given), default=ZERO) + steepest * self.program.A.scale / entry
        near /= 10**8
        put, best = set(), None
        for _ in range(6):
            v = self._prices(nu)
            out = self._outside(v)
            loss = self._loss(out, value) if out else ZERO
            if any(abs(a - b) > near for a, b in zip(given, nu, strict=True)):
                break
            if loss is not None:
                pairs = [*zip(self.phi, v, strict=True), *zip(self.psi, nu, strict=True)]
                conj = sum((conjugate(f, clip(a, *ends(f))) for f, a in pairs), ZERO)
                found = self.offset - conj - loss
                best = max(best, (found, loss)) if best else (found, loss)
                if loss <= allowed / 2:
                    break
            # Those whose cost is too large, or has no bound, are put to the ends of their slopes.
            losses = {j: self._loss({j: off}, value) for j, off in out.items()}
            costly = {j for j, one in losses.items() if not one or one * 1000 > allowed}
            if costly <= put:
                break
            put |= costly
            nu = self._put(nu, sorted(put), v)
            if nu is None:
                break
        return best

    def _loosen(self):
        """Leave out bounds far beyond what prevails: what bounds the optimum then does so with."""
        p = len(self.phi)
        for i, (kinks, slopes) in enumerate([*self.phi, *self.psi]):
            if slopes[0] is None and self.ends[i][0] > 100 * self.tops[i]:
                slopes = slopes[1:] if len(kinks) > 1 else [slopes[1], *slopes[1:]]
                if len(kinks) > 1:
                    self.offset += slopes[0] * (kinks[1] - kinks[0])
                    kinks = kinks[1:]
            if slopes[-1] is None and self.ends[i][-1] > 100 * self.tops[i]:
                slopes = slopes[:-1] if len(kinks) > 1 else [*slopes[:-1], slopes[-2]]
                kinks = kinks[: max(len(kinks) - 1, 1)]
            (self.phi if i < p else self.psi)[i if i < p else i - p] = (kinks, slopes)

    def _prices(self, nu):
        return [-a for a in self.program.A.transposed(nu)]

    def _outside(self, v):
        """How far multipliers of variables are outside their slopes."""
        found = {}
        for j, (a, piece) in enumerate(zip(v, self.phi, strict=True)):
            low, high = ends(piece)
            off = max(
                low - a if low is not None else ZERO, a - high if high is not None else ZERO, ZERO
            )
            if off:
                found[j] = off
        return found

    def _loss(self, out, value):
        """What multipliers outside may cost: all costs together are within the objective."""
        Clock.check()
        least = ZERO
        for piece in [*self.phi, *self.psi]:
            low, high = ends(piece)
            if (low is not None and low > 0) or (high is not None and high < 0):
                return None
            least -= conjugate(piece, ZERO)
        rate = kinks = ZERO
        for j, off in out.items():
            low, high = ends(self.phi[j])
            both = [abs(s) for s in (low, high) if s is not None]
            steep = min(both, default=ZERO)
            if steep == 0:
                return None
            rate = max(rate, off / steep)
            kinks += steep * max(map(abs, self.phi[j][0]))
        return rate * (max(value - self.offset - least, ZERO) + kinks)

    def _inside_rows(self, nu):
        found = []
        size = max(map(abs, nu), default=ZERO)
        for i, (a, piece) in enumerate(zip(nu, self.psi, strict=True)):
            low, high = ends(piece)
            margin = size / 2**40
            if (low is None or a - low > margin) and (high is None or high - a > margin):
                found.append(i)
        return found

    def _put(self, nu, columns, v):
        """Multipliers near nu whose prices of some variables are at their slopes exactly."""
        rows = self._inside_rows(nu)
        place = {i: k for k, i in enumerate(rows)}
        if not columns or len(columns) > 80 or len(rows) > 2000:
            return None
        equations, targets = [], []
        for j in columns:
            low, high = ends(self.phi[j])
            equations.append(
                {place[i]: a for i, a in self.program.A.column(j).items() if i in place}
            )
            end = min((s for s in (low, high) if s is not None), key=lambda s: abs(s - v[j]))
            targets.append(v[j] - end)
        step = solve(equations, targets, len(rows))
        if step is None:
            return None
        nu = list(nu)
        for i, s in zip(rows, step, strict=True):
            low, high = ends(self.psi[i])
            nu[i] += s
            if (low is not None and nu[i] < low) or (high is not None and nu[i] > high):
                return None
        return nu


def ends(piece):
    return piece[1][0], piece[1][-1]


def clip(value, low, high):
    value = value if low is None else max(value, low)
    return value if high is None else min(value, high)
