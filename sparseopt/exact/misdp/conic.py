"""Mixed-integer semidefinite programs: points, leaves, rays, and what multipliers prove."""

# mypy: ignore-errors

from __future__ import annotations

import math
import sys
from fractions import Fraction

from ..common.algebra import along, positive, rounded, semidefinite, sparse, triangle, unpacked
from ..common.files import Table
from ..common.rationals import ONE, ZERO, exact, exacts, near, root_up
from ..common.statements import within
from ..common.verdicts import CONIC, GAP, OBJECTIVE, Clock, Empty, Refuted, Unproven
from ..parametric.programs import clip
from .inside import ends_of_interior, proven_inside
from .standard import Conditions, standardise
from .symmetry import left_out, mirror, order
from .units import (
    beyond_rank_one,
    entry_margins,
    line_margins,
    line_scales,
    nearest_ends,
    row_unit,
    sizes_of,
)


def check_misdp(header, arrays, result):
    problem = Conic(header, arrays)
    certificate = result["certificate"]
    if certificate and (result["status"], certificate["kind"]) == ("unbounded", "ray"):
        return problem.unbounded(*(exacts(certificate["arrays"][k].values) for k in ("x", "ray")))
    if problem.extra and certificate and certificate["kind"] != "misdp-leaves":
        raise Unproven("of problems with indicators or a quadratic objective leaves are covered")
    if certificate is None or certificate["kind"] not in ("misdp-leaves", "rank-one-leaves"):
        raise Unproven("only leaves are covered, and rays")
    infeasible = result["status"] == "infeasible"
    bound, text = None, "infeasible, proven"
    if not infeasible:
        value, off = problem.point(exacts(result["x"].values))
        objective, bound = exact(result["objective"]), exact(result["bound"])
        units = problem.value_units(value)
        margins = [Fraction(OBJECTIVE) * unit for unit in units]
        within(abs(objective - value), *margins, "the objective is off")
        gap = exact(result["params"].get("rel_gap", 1e-6)) * max(abs(objective), abs(bound))
        if result["status"] == "optimal":
            margins = [max(gap, Fraction(GAP) * unit) for unit in units]
            within(abs(objective - bound), *margins, "objective and bound are apart")
        text = f"optimal up to the gap stated; x is off by {near(off):.2g} of its units"
    tables = certificate["arrays"]
    pool = Pool(problem, tables) if "pool_x" in tables else None
    if problem.extra:
        standardise(problem, tables)
    if "merged_into" in tables or "merged_times" in tables:
        problem.merge(*(tables[f"merged_{name}"].values for name in ("into", "times")))
    mirror(problem, tables)
    order(problem, tables)
    prove = problem.rank_one if certificate["kind"] == "rank-one-leaves" else problem.leaves
    prove(tables, bound)
    return text if pool is None else text + pool.prove(tables, certificate["kind"])


class Pool:
    """Points of different integers, and a bound of all points of other integers."""

    def __init__(self, problem, tables):
        self.problem, self.members = problem, set()
        rows, values = tables["pool_x"].rows(), exacts(tables["pool_objective"].values)
        worst = None
        (self.bound,) = tables["pool_bound"].values
        for x, stated in zip(map(exacts, rows), values, strict=True):
            value, _ = problem.point(x)
            units = problem.value_units(value)
            margins = [Fraction(OBJECTIVE) * unit for unit in units]
            within(abs(stated - value), *margins, "the objective of a point of the pool is off")
            self.members.add(tuple(int(x[j]) for j in problem.integer))
            if worst is not None and problem.sign * (worst - stated) > margins[0]:
                raise Refuted("the points of the pool are not in the order of their objectives")
            worst = stated
        if len(self.members) < len(rows):
            raise Refuted("two points of the pool have the same integers")

    def prove(self, tables, kind):
        """What is stated of all other integers, by the same leaves."""
        others = ("merged_into", "mirror_leaders", "symmetry_leaders", "images_by")
        if kind != "misdp-leaves" or any(name in tables for name in others):
            raise Unproven("pools beside ranks, merged integers or symmetries are not covered")
        if math.isnan(self.bound):
            raise Refuted("the bound of a pool is no number")
        if self.bound == -self.problem.sign * math.inf:
            raise Unproven("nothing is stated of the integers outside the pool")
        bound = None if math.isinf(self.bound) else exact(self.bound)
        self.problem.leaves(tables, bound, self.members)
        return f"; outside its pool of {len(self.members)} nothing is better than {self.bound:.9g}"


class Conic:
    """A MISDP as linear forms: rows, entries of cones, packed entries of matrices."""

    def __init__(self, header, arrays):
        self.sign = -1 if header["sense"] == "max" else 1
        self.c = [self.sign * v for v in exacts(arrays["c"].values)]
        self.offset = self.sign * exact(header["params"].get("offset", 0.0))
        self.given_offset = self.offset  # that of a standard form is another one
        self.extra, self.charge, self.conditional = Conditions(arrays, self.sign), ZERO, []
        sizes = [abs(v) for v in (*self.c, *self.extra.Q.values()) if v]
        self.scale = max([abs(self.offset), *sizes])
        self.least = min(sizes, default=ZERO)  # a larger cost may have no effect at all
        n = len(self.c)

        def numbers(name, count, word=None):
            given = arrays[name].values if name in arrays else [word] * count
            return [None if v is None or math.isinf(v) else exact(v) for v in given]

        self.scales = {}  # of the lines of matrices, by their places
        self.gone = set()  # integers that others stand for
        self.integer = (
            [j for j, v in enumerate(arrays["integer"].values) if v] if "integer" in arrays else []
        )
        self.low, self.high = numbers("lower", n), numbers("upper", n)
        self.sizes = sizes_of(self.low, self.high, self.integer)
        self.forms = sparse(arrays, "A")[0] if "A" in arrays or "A.indptr" in arrays else []
        self.m = len(self.forms)
        self.constants = [ZERO] * self.m
        self.row_low, self.row_high = numbers("row_lower", self.m), numbers("row_upper", self.m)
        self.cones, self.blocks = [], []
        for name, constant in (("cones", "cones_g"), ("blocks", "blocks_F0")):
            if constant not in arrays:
                continue
            flags = arrays["cones_rotated" if name == "cones" else "blocks_rank_one"].values
            begin = len(self.forms)
            self.forms += sparse(arrays, f"{name}_F")[0]
            self.constants += exacts(arrays[constant].values)
            for size, flag in zip(arrays[f"{name}_size"].values, flags, strict=True):
                length = size if name == "cones" else size * (size + 1) // 2
                part = (range(begin, begin + length), size, flag)
                (self.cones if name == "cones" else self.blocks).append(part)
                begin += length

    def insert(self, at, forms, constants):
        """Put forms in front of the place `at`, which cones and blocks behind it give way to."""
        self.forms[at:at], self.constants[at:at], self.scales = forms, constants, {}
        for parts in (self.cones, self.blocks):
            for k, (places, *rest) in enumerate(parts):
                step = len(forms) if places.start >= at else 0
                parts[k] = (range(places.start + step, places.stop + step), *rest)

    def values(self, x):
        return [along(form, x) + g for form, g in zip(self.forms, self.constants, strict=True)]

    def point(self, x):
        """The objective of x, its integers rounded and the rest moved into its bounds; how far off.

        A point a little beyond a bound has an objective that no feasible one has.
        """
        for j in self.integer:
            if abs(x[j] - round(x[j])) > CONIC:
                raise Refuted(f"x[{j}] is no integer")
            x[j] = Fraction(round(x[j]))
        given, whole = list(x), set(self.integer)
        sizes = [ZERO if j in whole else size for j, size in enumerate(self.sizes)]
        for j, (low, high) in enumerate(zip(self.low, self.high, strict=True)):
            x[j] = x[j] if j in whole else clip(x[j], low, high)
        worst = max(map(abs, map(Fraction.__sub__, given, x)), default=ZERO)
        at_ends = nearest_ends(x, self.low, self.high, self.integer)
        off = self.off_rows(x, sizes, at_ends), self.off_cones(x, sizes, at_ends)
        worst = max(worst, *off)
        if worst > CONIC:
            raise Refuted(f"x is infeasible: off by {near(worst):.3g} of a unit")
        value = sum(a * b for a, b in zip(self.c, x, strict=True)) + self.offset
        return self.sign * (value + self.extra.value(x)), worst

    def value_units(self, value):
        """The largest and the least that values are measured by, with or without the offset."""
        beside = min(abs(value), abs(value - self.sign * self.given_offset))
        beside = max(beside, abs(self.offset) / 10**6)
        return [max(size, beside) for size in (self.scale, self.least)]

    def parts(self, places):
        """Forms and constants of a cone or a matrix."""
        return [self.forms[i] for i in places], [self.constants[i] for i in places]

    def lines(self, places, size):
        """The scales of the lines of a matrix."""
        if places not in self.scales:
            self.scales[places] = line_scales(*self.parts(places), size, self.sizes)
        return self.scales[places]

    def off_rows(self, x, sizes, at_ends):
        """The most that x misses bounds and rows by, in their units."""
        worst = ZERO
        for j, (value, *ends) in enumerate(zip(x, self.low, self.high, strict=True)):
            for end, side in zip(ends, (1, -1), strict=True):
                off = ZERO if end is None else side * (end - value)
                if off > 0:
                    unit = ONE if j not in self.integer else abs(end) / 10**5
                    worst = max(worst, off / unit if unit else ONE)
        rows = zip(self.forms[: self.m], self.row_low, self.row_high, strict=True)
        for form, *ends in [*rows, *self.extra.held(x)]:
            value = along(form, x)
            for end, side in zip(ends, (1, -1), strict=True):
                off = ZERO if end is None else side * (end - value)
                if off > 0:
                    unit = row_unit(form, end, sizes, at_ends)
                    worst = max(worst, off / unit if unit else ONE)
        return worst

    def off_cones(self, x, sizes, at_ends):
        """1 where a cone or a matrix does not hold up to its margins; ranks by how much."""
        worst, h = ZERO, self.values(x)
        for places, _, rotated in self.cones:
            heads = 2 if rotated else 1
            margins = entry_margins(*self.parts(places), heads, sizes, at_ends)
            eased = [(h[i], margin) for i, margin in zip(places, margins, strict=True)]
            u = [value + margin for value, margin in eased[:heads]]
            tail = sum(max(abs(value) - margin, ZERO) ** 2 for value, margin in eased[heads:])
            good = min(u) >= 0 and (2 * u[0] * u[1] if rotated else u[0] ** 2) >= tail
            worst = max(worst, ZERO if good else ONE)
        for places, size, flag in self.blocks:
            M = unpacked([h[i] for i in places], size)
            scales = self.lines(places, size)
            slacks, blank = line_margins(*self.parts(places), scales, sizes, at_ends)
            for i, j in blank:
                M[i][j] = M[j][i] = ZERO
            if flag:
                worst = max(worst, beyond_rank_one(M, slacks))
            if not positive(M, slacks):
                # A guess by floats fails where a matrix is all but singular beside its entries.
                for i in range(size):
                    M[i][i] += slacks[i]
                worst = max(worst, ZERO if size <= 40 and semidefinite(M) else ONE)
        return worst

    def unbounded(self, x, ray):
        """From a feasible point a direction improves the objective, and leaves no constraint."""
        self.point(x)
        step = sum(a * b for a, b in zip(self.c, ray, strict=True))
        if step >= 0:
            raise Refuted("the ray does not improve the objective")
        if self.extra.bends(ray):
            raise Unproven("the objective bends along the ray")
        moves = [along(form, ray) for form in self.forms]
        rows = [*zip(moves, self.row_low, self.row_high, strict=False)]
        rows += [(along(form, ray), *ends) for form, *ends in self.extra.held(x)]
        for v, low, high in [*zip(ray, self.low, self.high, strict=True), *rows]:
            if (v < 0 and low is not None) or (v > 0 and high is not None):
                raise Unproven("the ray leaves a row or a bound, if only by rounding")
        # Some multiple of a rational step moves integers to integers.
        for places, _, rotated in self.cones:
            u = [moves[i] for i in places]
            heads, tail = (u[:2], u[2:]) if rotated else (u[:1], u[1:])
            product = 2 * u[0] * u[1] if rotated else u[0] ** 2
            if min(heads) < 0 or product < sum(v * v for v in tail):
                raise Unproven("the ray leaves a cone, if only by rounding")
        for places, size, ranked in self.blocks:
            if ranked and size > 1 and any(moves[i] for i in places):
                raise Unproven("rays that move a matrix of rank one are not covered")
            if not semidefinite(unpacked([moves[i] for i in places], size)):
                raise Unproven("the ray leaves a semidefinite cone, if only by rounding")
        return f"unbounded: a feasible point and a ray that improves by {-near(step):.6g} a step"

    def merge(self, into, times):
        """Put Y = sum t_j x_j in the place of integers whose columns are exactly t_j times one."""
        whole, groups = self.integer, {}
        if len(into) != len(whole) or len(times) != len(whole):
            raise Refuted("merged_into or merged_times has another length")
        for k, (to, t) in enumerate(zip(into, times, strict=True)):
            named = type(to) is int and type(t) is int and 0 <= to < len(whole)
            if not named or into[to] != to or t < 1 or times[to] != 1:
                raise Refuted("merged_into and merged_times do not name groups")
            groups.setdefault(to, []).append((whole[k], Fraction(t)))
        for to, members in groups.items():
            if len(members) < 2:
                continue
            first, of = whole[to], dict(members)
            # Of a sum it is not known which one is 1.
            self.conditional = [pair for pair in self.conditional if pair[0] not in of]
            if any(self.c[j] != t * self.c[first] for j, t in members):
                raise Unproven("the costs of merged variables are no exact multiples")
            if any(self.low[j] is None or self.high[j] is None for j in of):
                raise Unproven("a merged variable has no bounds")
            low = {j: Fraction(math.ceil(self.low[j])) for j in of}
            room = sum(t * (math.floor(self.high[j]) - low[j]) for j, t in members)
            for i, form in enumerate(self.forms):
                same = all(form.get(j, ZERO) == t * form.get(first, ZERO) for j, t in members)
                if not same and i >= self.m:
                    raise Unproven("the columns of merged variables are no exact multiples")
                end = self.row_high[i] if i < self.m else None
                if end is not None and form.keys() == of.keys() and min(form.values()) > 0:
                    left = end - along(form, low)
                    room = min(room, max(left, ZERO) * max(of[j] / a for j, a in form.items()))
                if not same:
                    self.forms[i], self.row_low[i], self.row_high[i] = {}, None, None
                for j in of.keys() - {first}:
                    self.forms[i].pop(j, None)
            for j in of.keys() - {first}:
                self.low[j] = self.high[j] = self.c[j] = ZERO
            self.low[first] = sum(t * low[j] for j, t in members)
            self.high[first] = self.low[first] + math.floor(room)
        self.integer = [j for k, j in enumerate(whole) if into[k] == k]
        self.gone = set(whole) - set(self.integer)

    def leaves(self, arrays, bound, members=()):
        """Prove a bound of all integers but `members`, or without one that there are no others."""
        count = arrays["lower"].shape[0]
        width = {"rows": self.m, "cones": sum(len(p) for p, *_ in self.cones)}
        width["psd"] = len(self.forms) - sum(width.values())
        table = {
            name: arrays[name].rows() if name in arrays else [[]] * count
            for name in ("lower", "upper", *width)
        }
        unit = self.value_units(bound)[1] if bound is not None else self.least
        step, margin = self.step(), Fraction(GAP) * unit
        target = cutoff = None
        if bound is not None:
            target, cutoff = self.sign * bound - self.offset - margin, bound
            if step:
                # The next better objective that a point may have.
                costs = step * (math.ceil(target / step) - 1)
                cutoff = self.sign * (costs + self.offset)
        whole_low, whole_high = self.tighten(list(self.low), list(self.high), cutoff)
        if whole_low is None:
            return
        if "interior_costs" in arrays and None in whole_low + whole_high:
            top = None if cutoff is None else self.sign * cutoff - self.offset + self.charge
            whole_low, whole_high = ends_of_interior(self, arrays, whole_low, whole_high, top)
            whole_low, whole_high = self.tighten(whole_low, whole_high, cutoff)
            if whole_low is None:
                return
        boxes = [
            [integers(*ends_) for ends_ in zip(table["lower"][k], table["upper"][k], strict=True)]
            for k in range(count)
        ]
        region = [integers(whole_low[j], whole_high[j]) for j in self.integer]
        if not boxes_cover(boxes + left_out(self, arrays), region):
            raise Unproven("the leaves do not cover all integers that are left here")
        farkas = arrays["infeasible"].values if "infeasible" in arrays else [bound is None] * count
        scales = [ONE] * count
        if "cost_scale" in arrays:
            scales = exacts(arrays["cost_scale"].values)
            if arrays["cost_scale"].shape != (count,) or min(scales) <= 0:
                raise Refuted("cost_scale is no vector of positive numbers, one for each leaf")
        for k in range(count):
            Clock.check()
            low, high = list(whole_low), list(whole_high)
            for j, (a, b) in zip(self.integer, boxes[k], strict=True):
                if not math.isinf(a):
                    low[j] = Fraction(a) if low[j] is None else max(low[j], Fraction(a))
                if not math.isinf(b):
                    high[j] = Fraction(b) if high[j] is None else min(high[j], Fraction(b))
            # For a multiple of the costs: the proof is of the costs themselves here.
            dual = [v / scales[k] for v in exacts([v for name in width for v in table[name][k]])]
            goal = None if farkas[k] else target
            found, low, high = self.leaf(dual, low, high, bool(farkas[k]), goal, cutoff)
            if low is None or self.enough(found, bool(farkas[k]), goal):
                continue
            if members and self.whole(low, high) in members:
                continue
            if found is None:
                raise Unproven(f"leaf {k}: a variable has no bound that this program derives")
            raise Unproven(
                f"leaf {k} proves {near(found):.12g} only, not {near(goal or ZERO):.12g}"
            )

    def leaf(self, dual, low, high, farkas, target, cutoff):
        """What multipliers prove on a box, or None, and the box; None where that is empty."""
        found, step = None, self.step()
        for attempt in range(3):
            if attempt == 1:
                low, high = self.tighten(low, high, cutoff)
                if low is None:
                    break
            prove = self.bound if attempt < 2 else self.bound_without_ends
            value = prove(dual, low, high, farkas)
            if value is not None and not farkas:
                value = step * math.ceil(value / step) if step else value - self.charge
            found = found if value is None else value
            if self.enough(found, farkas, target):
                break
        return found, low, high

    def enough(self, found, farkas, target):
        """Whether what is proven of a leaf closes it."""
        if farkas:
            return found is not None and found > 0
        return None not in (found, target) and found >= target

    def whole(self, low, high):
        """The integers of a box that holds no others, else None."""
        ends = [(low[j], high[j]) for j in self.integer]
        return None if any(a is None or a != b for a, b in ends) else tuple(int(a) for a, _ in ends)

    def step(self):
        """What all costs are multiples of, if all are on integers; else 0."""
        costs = [(j, v) for j, v in enumerate(self.c) if v]
        if not costs or any(j not in self.integer for j, _ in costs):
            return ZERO
        common = math.lcm(*(v.denominator for _, v in costs))
        return Fraction(math.gcd(*(abs(int(v * common)) for _, v in costs)), common)

    def rank_one(self, arrays, bound):
        """A tree of boxes over the entries of the matrices of rank one, leaves in each."""
        low, high = self.tighten(list(self.low), list(self.high), bound, 10**10)
        if low is None:
            return
        places, pairs = [], []
        for own, size, flag in self.blocks:
            if flag and size > 1:
                at = dict(
                    zip(triangle(size), range(len(places), len(places) + len(own)), strict=True)
                )
                places += own
                pairs += [(at[i, j], at[i, i], at[j, j]) for i, j in at if i != j]
        diagonal = {i for _, *both in pairs for i in both}
        root = []
        for e, i in enumerate(places):
            top = self.most(i, low, high)
            under = self.most(i, high, low)
            if e in diagonal:
                under = max(under, ZERO) if under is not None else ZERO
            root.append((under, top))
        begin = self.shrink(root, pairs)
        if begin is None:
            return
        stated = [
            (None if math.isinf(a) else exact(a), None if math.isinf(b) else exact(b))
            for a, b in zip(arrays["root_lower"].values, arrays["root_upper"].values, strict=True)
        ]
        for (a, b), (c, d) in zip(stated, begin, strict=True):
            # rounded roots of the engine may cut by some last bits: those are given back
            if (a is not None and (c is None or c < a - abs(a) / 10**9)) or (
                b is not None and (d is None or d > b + abs(b) / 10**9)
            ):
                raise Unproven("the boxes leave out entries that this program cannot exclude")
        entry, value, children = (arrays[k] for k in ("entry", "value", "children"))
        names = ("lower", "upper", "rows", "cones", "psd", "infeasible", "cost_scale")
        open_ = [(0, begin)]
        while open_:
            Clock.check()
            node, box = open_.pop()
            e = entry.values[node]
            if e < 0:
                box = self.shrink(box, pairs)
                if box is not None:
                    mine = [k for k, o in enumerate(arrays["owner"].values) if o == node]
                    part = {}
                    for name in names:
                        if name in arrays and len(arrays[name].shape) == 1:
                            part[name] = Table((len(mine),), [arrays[name].values[k] for k in mine])
                        elif name in arrays:
                            kept = [v for k in mine for v in arrays[name].rows()[k]]
                            part[name] = Table((len(mine), arrays[name].shape[1]), kept)
                    self.relaxed(places, pairs, box).leaves(part, bound)
                continue
            cut, (a, b) = exact(value.values[node]), box[e]
            one, two = children.rows()[node]
            if min(one, two) <= node:
                raise Refuted("children come before their parents")
            below, above = list(box), list(box)
            below[e] = (a, cut if b is None else min(b, cut))
            above[e] = (cut if a is None else max(a, cut), b)
            open_ += [(one, below), (two, above)]

    def shrink(self, box, pairs):
        """Bounds that X_ij^2 = X_ii X_jj implies; None where the box is empty."""
        box = list(box)
        for _ in range(4):
            for k, i, j in pairs:
                (a, b), (c, d), (e, f) = box[k], box[i], box[j]
                c, e = max(c or ZERO, ZERO), max(e or ZERO, ZERO)
                if d is not None and f is not None:
                    top = root_up(max(d, ZERO) * max(f, ZERO))
                    a, b = -top if a is None else max(a, -top), top if b is None else min(b, top)
                if c and e:
                    least = c * e / root_up(c * e)  # not above the root
                    a = max(a, least) if a is not None and a >= 0 else a
                    b = min(b, -least) if b is not None and b <= 0 else b
                box[k] = (a, b)
                least = max(a if a is not None else ZERO, -b if b is not None else ZERO, ZERO) ** 2
                most = None if a is None or b is None else max(b, -a, ZERO) ** 2
                for one, two in ((i, j), (j, i)):
                    (c, d), (e, f) = box[one], box[two]
                    c = max(c or ZERO, least / f if least and f is not None and f > 0 else ZERO)
                    if e is not None and e > 0 and most is not None:
                        d = most / e if d is None else min(d, most / e)
                    box[one] = (c, d)
            # outwards to some bits more than a float has, so that fractions stay short
            box = [(rounded(a, -1), rounded(b, 1)) for a, b in box]
            if any(a is not None and b is not None and a > b for a, b in box):
                return None
        return box

    def relaxed(self, places, pairs, box):
        """The problem with rows for a box in place of the ranks.

        E_i X_jj + E_j X_ii - E_i E_j <= (l + u) X_ij - l u for E = both ends of the diagonals.
        """
        other = object.__new__(Conic)
        other.__dict__ |= self.__dict__
        entries = [(self.forms[i], self.constants[i]) for i in places]
        rows = [
            (form, None if a is None else a - g, None if b is None else b - g)
            for (form, g), (a, b) in zip(entries, box, strict=True)
        ]
        for side in (0, 1):
            for k, i, j in pairs:
                (l, u), one, two = box[k], box[i][side], box[j][side]
                form, top = {}, None
                if None not in (l, u, one, two):
                    top = one * two - l * u
                    for at, factor in ((j, one), (i, two), (k, -(l + u))):
                        top -= factor * entries[at][1]
                        for v, a in entries[at][0].items():
                            form[v] = form.get(v, ZERO) + factor * a
                rows.append(({v: a for v, a in form.items() if a}, None, top))
        m, count = self.m, len(rows)
        other.m = m + count
        other.forms = [*self.forms[:m], *(r for r, _, _ in rows), *self.forms[m:]]
        other.constants = [*self.constants[:m], *[ZERO] * count, *self.constants[m:]]
        other.row_low = [*self.row_low, *(a for _, a, _ in rows)]
        other.row_high = [*self.row_high, *(b for _, _, b in rows)]
        for name in ("cones", "blocks"):
            parts = [
                (range(p.start + count, p.stop + count), *rest) for p, *rest in getattr(self, name)
            ]
            setattr(other, name, parts)
        return other

    def bound(self, dual, low, high, farkas):
        """What multipliers of any quality prove on a box: moved into their cones, and charged."""
        dual = list(dual)
        constant = ZERO
        for i in range(self.m):
            end = self.row_low[i] if dual[i] > 0 else self.row_high[i]
            if end is None:
                dual[i] = ZERO
            else:
                constant += dual[i] * end
        for places, _, rotated in self.cones:
            z = [dual[i] for i in places]
            square = sum(v * v for v in z[2:])
            if rotated and min(z[:2]) > 0 and square <= 4 * z[0] * z[1]:
                # Each head by the same part of itself: (1 + a)^2 >= 1 + 2 a.
                lack = max(square / (2 * z[0] * z[1]) - 1, ZERO) / 2
                dual[places[1]], lift = z[1] * (1 + lack), z[0] * lack
            elif rotated:
                tail = root_up((z[0] - z[1]) ** 2 + 2 * sum(v * v for v in z[2:]))
                lift = max(tail - z[0] - z[1], ZERO) / 2
                dual[places[1]] += lift
            else:
                lift = max(root_up(sum(v * v for v in z[1:])) - z[0], ZERO)
            dual[places[0]] += lift
        weight = {}
        for places, size, _ in self.blocks:
            # Z is semidefinite where D Z D is, with the scales of the lines of M in D.
            pairs = triangle(size)
            scales = self.lines(places, size)
            entries = [
                dual[i] * scales[a] * scales[b] for i, (a, b) in zip(places, pairs, strict=True)
            ]
            shift = max(map(abs, entries), default=ZERO) / 10**15
            while shift and not positive(unpacked(entries, size), [shift] * size):
                shift *= 10
            for i, (a, b) in zip(places, pairs, strict=True):
                dual[i] += shift / scales[a] ** 2 if a == b else ZERO
                weight[i] = 1 if a == b else 2
        r = [ZERO] * len(self.c) if farkas else list(self.c)
        for i, form in enumerate(self.forms):
            v = dual[i] * weight.get(i, 1)
            if v:
                constant -= v * self.constants[i]
                for j, a in form.items():
                    r[j] -= v * a
        for rj, a, b in zip(r, low, high, strict=True):
            end = a if rj > 0 else b
            if rj and end is None:
                return None
            constant += rj * end if rj else ZERO
        return constant

    def bound_without_ends(self, dual, low, high, farkas):
        """What exact multipliers near these prove, without ends that are derived of free variables.

        Those turn rounding into a charge.
        """
        free = [a is None and b is None for a, b in zip(self.low, self.high, strict=True)]
        found = [
            proven_inside(self, dual, *ends, farkas)
            for ends in (
                [[None if f else v for f, v in zip(free, own, strict=True)] for own in (low, high)],
                (low, high),
            )
        ]
        return max((v for v, _ in filter(None, found)), default=None)

    def tighten(self, low, high, bound, steps=100_000):
        """Bounds that rows, the cutoff, cones and two-by-two minors imply; None if empty."""
        forms = [
            (form, g, a, b)
            for form, g, a, b in zip(
                self.forms, self.constants, self.row_low, self.row_high, strict=False
            )
        ]
        if bound is not None:
            forms.append(
                (
                    {j: a for j, a in enumerate(self.c) if a},
                    ZERO,
                    None,
                    self.sign * bound - self.offset + self.charge,
                )
            )
        entries, minors = self.minors()
        for _ in range(40):
            changed = False
            for i, two, three, factor in minors:
                tops = [self.most(k, low, high) for k in (two, three)]
                if ZERO in tops:
                    entries[i] = [ZERO, ZERO]  # the other is finite at any point
                elif None not in tops:
                    top = root_up(factor * max(tops[0], ZERO) * max(tops[1], ZERO))
                    entries[i] = [-top, top]
            some = [(self.forms[i], self.constants[i], *ends_) for i, ends_ in entries.items()]
            try:
                for line in [*forms, *some]:
                    changed |= propagate_between(*line, low, high, steps, self.sizes)
            except Empty:
                return None, None
            for j in self.integer:
                low[j] = low[j] if low[j] is None else Fraction(math.ceil(low[j]))
                high[j] = high[j] if high[j] is None else Fraction(math.floor(high[j]))
            for binary, column in self.conditional:
                high[column] = ZERO if low[binary] == 1 else high[column]
                high[binary] = ZERO if low[column] > 0 else high[binary]
            if any(
                a is not None and b is not None and a > b for a, b in zip(low, high, strict=True)
            ):
                return None, None
            if not changed:
                break
        return low, high

    def minors(self):
        """Bounds of entries of matrices and cones; (entry, its two diagonal ones, a factor)."""
        entries, minors = {}, []
        for places, size, _ in self.blocks:
            diagonal = {a: i for i, (a, b) in zip(places, triangle(size), strict=True) if a == b}
            for i, (a, b) in zip(places, triangle(size), strict=True):
                entries[i] = [ZERO if a == b else None, None]
                if a != b:
                    minors.append((i, diagonal[a], diagonal[b], 1))
        for places, _, rotated in self.cones:
            heads = 2 if rotated else 1
            for k, i in enumerate(places):
                entries[i] = [ZERO if k < heads else None, None]
                if k >= heads:
                    minors.append((i, places[0], places[heads - 1], heads))
        return entries, minors

    def most(self, i, low, high):
        total = self.constants[i]
        for j, a in self.forms[i].items():
            end = high[j] if a > 0 else low[j]
            if end is None:
                return None
            total += a * end
        return total


def propagate_between(form, constant, least, most, low, high, steps, units):
    """Bounds that a form between two ends implies; whether one moved."""
    Clock.check()
    changed = False
    if least is not None:
        below = {j: -v for j, v in form.items()}
        changed |= propagate(below, constant - least, low, high, steps, units)
    if most is not None:
        changed |= propagate(form, most - constant, low, high, steps, units)
    return changed


def propagate(form, top, low, high, steps, units):
    """Bounds of each variable by a'x <= top, rounded outwards to floats; whether one moved.

    A step is worth it beside the end, or the variable's unit.
    """
    ends_ = {j: low[j] if a > 0 else high[j] for j, a in form.items()}
    open_ = [j for j, end in ends_.items() if end is None]
    if len(open_) > 1:
        return False
    least = sum((a * ends_[j] for j, a in form.items() if ends_[j] is not None), ZERO)
    changed = False
    if not open_ and least > top:
        raise Empty
    for j, a in form.items():
        if open_ and j != open_[0]:
            continue
        end = (top - least + (ZERO if open_ else a * ends_[j])) / a
        if abs(end) > sys.float_info.max:
            continue
        end = Fraction(math.nextafter(float(end), math.inf if a > 0 else -math.inf))
        side, better = (
            (high, lambda new, old: new < old) if a > 0 else (low, lambda new, old: new > old)
        )
        if side[j] is None or (
            better(end, side[j]) and abs(end - side[j]) > max(abs(end), units[j] or ONE) / steps
        ):
            side[j] = end
            changed = True
    return changed


def integers(a, b):
    """The first and the last integer between two ends, of which None and infinite ones are none."""
    low = -math.inf if a is None or a == -math.inf else math.ceil(a)
    return low, math.inf if b is None or b == math.inf else math.floor(b)


def boxes_cover(boxes, region):
    """Whether boxes hold all points of a region of integers: cut where one ends, and look again."""
    Clock.check()
    if any(a > b for a, b in region):
        return True
    boxes = [
        box
        for box in boxes
        if all(c <= b and d >= a for (a, b), (c, d) in zip(region, box, strict=True))
    ]
    for box in boxes:
        if all(c <= a and d >= b for (a, b), (c, d) in zip(region, box, strict=True)):
            return True
    for j, (a, b) in enumerate(region):
        for c, d in (box[j] for box in boxes):
            for cut in ([d] if a <= d < b else []) + ([c - 1] if a < c <= b else []):
                left, right = list(region), list(region)
                left[j], right[j] = (a, cut), (cut + 1, b)
                return boxes_cover(boxes, left) and boxes_cover(boxes, right)
    return False
