"""What a parametric result states: points, segments of a path, its end."""

# mypy: ignore-errors

from __future__ import annotations

import math
from fractions import Fraction

from ..common.rationals import ONE, ZERO, exact, exacts, near
from ..common.statements import dense_row, same, within
from ..common.verdicts import FEASIBLE, GAP, OBJECTIVE, Refuted, Unproven
from .evidence import column_ends, ends_there, no_optimum
from .models import programs
from .programs import Point


def check_parametric(header, arrays, result):
    status, path, certificate = result["status"], result["path"], result["certificate"]
    lam, parts = result["params"].get("lam"), programs(header, arrays)
    if status in ("infeasible", "unbounded"):
        if len(parts) > 1 or isinstance(lam, list) or certificate is None:
            raise Unproven("a claim that there is no optimum is covered for one lam or a range")
        end = exact(result["params"].get("lam_min") or 0.0)
        stated = certificate["values"].get("lam")
        at = end if stated is None else exact(stated)
        if lam is None and at < end:
            raise Refuted("the certificate is for another lam")
        single = lam is not None
        return no_optimum(
            parts[0], exact(lam) if single else at, None if single else end, status, certificate
        )
    if status != "optimal" and path is None:
        raise Unproven(f"the status {status} is not covered without a path")
    report = Report(result["params"].get("rel_gap", 1e-6))
    if path is None:
        if len(parts) > 1:
            stacked(parts, result, exact(lam), report)
        else:
            nu = certificate and certificate["arrays"].get("nu")
            if not nu:
                raise Unproven("there are no multipliers")
            x = exacts(result["x"].values)
            if result["duals"]:
                same(result["duals"]["rows"].values, exacts(nu.values), "the multipliers")
            report.at(
                parts[0], exact(lam), x, exacts(nu.values), result["objective"], result["bound"]
            )
    elif path["kind"] == "grid":
        if len(parts) > 1:
            raise Unproven("grids of problems that fall apart into columns are not covered")
        knots = path["knots"].values
        if knots != sorted(set(lam or ()), reverse=True)[: len(knots)] or len(knots) < len(
            set(lam)
        ):
            raise Unproven("the grid does not have all values that were asked")
        for k, at in enumerate(knots):
            theta, nu = (exacts(path[name].rows()[k]) for name in ("theta", "nu"))
            report.at(
                parts[0], exact(at), theta, nu, path["values"].values[k], path["bounds"].values[k]
            )
        same(result["x"].values, exacts(path["theta"].rows()[-1]), "x")
        same([result["objective"]], exacts(path["values"].values[-1:]), "the objective")
        same([result["bound"]], exacts(path["bounds"].values[-1:]), "the bound")
        if result["duals"]:
            same(result["duals"]["rows"].values, exacts(path["nu"].rows()[-1]), "the multipliers")
        if path["stopped_by"] != "grid":
            raise Refuted(f"the grid is whole, and does not end by {path['stopped_by']!r}")
    else:
        if path["kind"] == "quantiles":
            raise Unproven("paths over the levels of quantile regression are not covered")
        several = path["columns"] if path["kind"] == "columnwise" else [path]
        if len(several) != len(parts):
            raise Refuted("the path has not one part for each column")
        gaps = [segments(*pair, report) for pair in zip(parts, several, strict=True)]
        check_end(several, parts, gaps, result, report)
    return report.message()


def check_end(several, parts, gaps, result, report):
    """Where and why a path ends, and that the result states its end.

    The stated bound is no better than what the multipliers of the last segments prove.
    """
    path, params = result["path"], result["params"]
    end = max(part["low"].values[-1] for part in several)
    count, reason = len(several[0]["low"].values), path["stopped_by"]
    if params.get("lam") is not None or any(part["low"].values[-1] > end for part in several):
        raise Refuted("single values of lam were asked, or the columns end apart")
    if reason == "lam_min":
        good = end == (params.get("lam_min") or 0.0)
    elif reason == "max_knots":
        good = params.get("max_knots") in (
            count,
            count + math.isfinite(several[0]["high"].values[0]),
        )
    elif reason in ("infeasible_below", "unbounded_below") and len(several) == 1:
        good = True
        ends_there(parts[0], exact(end), reason, "", 1, result["certificate"]["arrays"])
    elif reason == "infeasible_below":
        good = True
        column_ends(parts, exact(end), result["certificate"]["arrays"])
    elif reason in ("unbounded_below", "max_nonzeros"):
        raise Unproven(f"proven from lam = {end:.9g} on, but not why the path ends ({reason})")
    else:
        good = result["status"] == "feasible" and reason == result["limit"]
    if not good:
        raise Refuted(f"the path ends at {end:.9g}, not by {reason!r}")
    for part, program in zip(several, parts, strict=True):
        if math.isfinite(top := part["high"].values[0]):
            arrays = result["certificate"]["arrays"]
            names = {"infeasible_below": "farkas_above", "unbounded_below": "ray_above"}
            found = [why for why, name in names.items() if name in arrays and len(several) == 1]
            if found:
                ends_there(program, exact(top), found[0], "_above", -1, arrays)
            else:
                report.notes.append(f"what is above lam = {top:.6g} is not covered")
    x, nu, total, size, gap, rounding = [], [], ZERO, ZERO, ZERO, ZERO
    for part, program, own in zip(several, parts, gaps, strict=True):
        lows = part["low"].values
        s = max(k for k, low in enumerate(lows) if k == 0 or lows[k - 1] > end)
        step = exact(end) - exact(lows[s])
        a, b, c = exacts(part["objective"].rows()[s])
        total += a + step * (b + step * c)
        gap += own[s]
        point = Point(program, exact(end))
        size, ends = max(size, abs(total), point.objective_unit()), []
        for out, name, length in ((x, "theta", program.phi), (nu, "nu", program.psi)):
            value, rate = (
                exacts(dense_row(part[name], s, word, len(length))) for word in ("value", "rate")
            )
            ends.append([v + step * w for v, w in zip(value, rate, strict=True)])
            out += ends[-1]
        rounding += point.rounding(*ends)
    same(result["x"].values, x, "x")
    if result["duals"]:
        same(result["duals"]["rows"].values, nu, "the multipliers")
    for name, allowed in (("objective", 0), ("bound", report.rel_gap)):
        if abs(exact(result[name]) - total) > max(Fraction(OBJECTIVE), allowed) * size:
            raise Refuted(f"the {name} is not that of the path's end")
    beyond = parts[0].sign * (exact(result["bound"]) - total) + gap
    text = "the bound is beyond what is proven at the end"
    within(beyond, *[Fraction(GAP) * size] * 2, text, rounding)


class Report:
    """The worst margins of all points that were checked."""

    def __init__(self, rel_gap):
        self.rel_gap, self.count, self.notes = exact(rel_gap), 0, []
        self.worst = {"outside the constraints": 0.0, "objective": 0.0, "gap": 0.0}

    def note(self, name, margin, wide, narrow, text, rounding=None):
        self.worst[name] = max(self.worst[name], near(margin))
        off = rounding is not None and margin > wide
        within(margin, wide, narrow, text, rounding() if off else ZERO)

    def at(self, program, lam, theta, nu, objective, bound, stated=None, rounding=ZERO):
        """Prove one lam: theta is feasible, its value is the one stated, and none is better.

        Returns the gap to what nu proves.
        """
        point = Point(program, lam)
        value, off = point.primal(theta)
        here = f"at lam = {near(lam):.9g}"
        self.count += 1
        self.note(
            "outside the constraints", off, FEASIBLE, FEASIBLE, f"{here} the point is infeasible"
        )
        size = max(abs(value), point.objective_unit(point.units))
        least = max(abs(value), point.objective_unit())
        objective = exact(objective) * program.sign if stated is None else stated
        wide, narrow = (Fraction(OBJECTIVE) * unit + rounding for unit in (size, least))
        text, off = f"{here} the objective is off", abs(objective - value)
        self.note("objective", off, wide, narrow, text, lambda: point.rounding(theta))
        asked = self.rel_gap * abs(value)
        wide, narrow = (max(asked, Fraction(GAP) * unit) for unit in (size, least))
        proven, charge = point.dual(nu, value, Fraction(GAP) * least) or (None, None)
        if proven is None or value - proven - charge <= wide < value - proven:
            raise Unproven(f"{here} multipliers near the stated ones prove nothing exactly")
        gap, text = value - proven, f"{here} the multipliers leave a gap"
        self.note("gap", gap, wide, narrow, text, lambda: point.rounding(theta, nu))
        if bound is not None:
            bound = exact(bound) * program.sign
            within(abs(bound - value), wide, narrow, f"{here} objective and bound do not meet: off")
            wide, narrow = (Fraction(GAP) * unit for unit in (size, least))
            beyond = bound - proven
            if beyond - charge <= wide < beyond:
                raise Unproven(f"{here} the bound is not proven exactly")
            text = f"{here} the bound is not proven: off"
            self.note("gap", beyond, wide, narrow, text, lambda: point.rounding(theta, nu))
        return gap

    def lower_end(self, point, theta, stated):
        """Compare the stated value with that of theta where a segment begins, feasible or not.

        A part of the segment is left out there, on which it may be far less than beyond. Knots are
        rounded, and theta is there what its equations leave of it: the margin is that of points.
        """
        value, units = (
            point.value(theta),
            (point.objective_unit(point.units), point.objective_unit()),
        )
        margins = [Fraction(OBJECTIVE) * max(abs(value), unit) for unit in units]
        text = f"at lam = {near(point.lam):.9g} the objective is off"
        least = Fraction(FEASIBLE) * max(abs(value), units[1])
        self.note(
            "objective",
            abs(stated - value),
            *margins,
            text,
            lambda: max(least, point.rounding(theta)),
        )

    def message(self):
        worst = ", ".join(f"{name} {value:.2g}" for name, value in self.worst.items())
        notes = dict.fromkeys(self.notes)
        return "; ".join([f"optimal, proven at {self.count} places; margins: {worst}", *notes])


def segments(program, path, report):
    """Prove a path at both ends of each segment, and in the middle where kinks and slopes move.

    Feasible sets and slopes are affine on a segment. Where kinks move and nu does not, or slopes
    move and theta does not, the gap is a convex function of lam, so what holds at the ends holds
    between them; where all may move it is a quadratic, if nothing passes a kink or a slope. A part
    of 1e-9 of each segment at its ends is left out, or four units in the last place of lam.
    Returns the largest gap of each segment.
    """
    gaps = []
    low, high, objective = path["low"].values, path["high"].values, path["objective"].rows()
    p, m = len(program.phi), len(program.psi)
    if any(a != b for a, b in zip(low, high[1:], strict=False)) or low != sorted(low, reverse=True):
        raise Refuted("the segments do not meet")
    for s, (begin, end) in enumerate(zip(low, high, strict=True)):
        theta, nu = (
            [exacts(dense_row(path[name], s, part, length)) for part in ("value", "rate")]
            for name, length in (("theta", p), ("nu", m))
        )
        quadratic = [program.sign * c for c in exacts(objective[s])]
        length = exact(end) - exact(begin) if math.isfinite(end) else max(exact(begin), ONE)
        # Knots are rounded: next to them one basis alone is optimal, and its kernel exact.
        inside = min(max(length / 2**30, (exact(begin) + length) / 2**51), length / 2)
        places = [inside, length - inside, *([length / 2] if all(program.moves) else [])]
        lams = [exact(begin) + step for step in places[:2]]
        if all(program.moves):
            passing(program, lams, *(ends_of(pair, places) for pair in (theta, nu)))
        elif any(program.moves):
            x = nu[1] if program.moves[0] else theta[1]
            if length * length * bend(program, x) > Fraction(GAP) * max(
                abs(quadratic[0]), Point(program, lams[0]).objective_unit()
            ):
                name = "multipliers move" if program.moves[0] else "point moves"
                raise Unproven(f"between lam = {begin:.9g} and {end:.9g} the {name}")
        report.lower_end(Point(program, exact(begin)), theta[0], quadratic[0])
        found = []
        for step in places:
            terms = [c * step**k for k, c in enumerate(quadratic)]
            gap = report.at(
                program,
                exact(begin) + step,
                *([a + step * b for a, b in zip(*pair, strict=True)] for pair in (theta, nu)),
                None,
                None,
                stated=sum(terms),
                rounding=sum(map(abs, terms)) / 2**43,
            )
            found.append(gap)
        gaps.append(max(found))
    if not math.isfinite(high[0]):
        report.notes.append(f"the largest lam checked is {2 * low[0] or 1.0:.6g}")
    return gaps


def ends_of(pair, places):
    return [[a + step * b for a, b in zip(*pair, strict=True)] for step in places[:2]]


def bend(program, rates):
    """How much the gap bends where kinks move and multipliers too, or slopes and the point."""
    A, k = program.A, 0 if program.moves[0] else 1
    both = [*rates, *A.times(rates)] if k else [*A.transposed(rates), *rates]
    total = ZERO
    for f, rate in zip([*program.phi, *program.psi], both, strict=True):
        lines = f.slopes if k else f.kinks
        total += abs(rate) * max(abs(line[1]) for line in lines if line is not None)
    return total


def passing(program, lams, theta, nu):
    """Find coordinates that pass an inner kink, or a slope that is not the first or last."""
    units = Point(program, sum(lams) / 2).least
    z = [[*x, *program.A.times(x)] for x in theta]
    v = [[*(-a for a in program.A.transposed(x)), *x] for x in nu]
    functions = zip([*program.phi, *program.psi], [*units[0], *units[1]], strict=True)
    for i, (f, unit) in enumerate(functions):
        bends = zip(f.kinks, f.slopes[:-1], f.slopes[1:], strict=True)
        kinks = [line for line, left, right in bends if None not in (left, right)]
        for x, lines, least in ((z, kinks, Fraction(unit)), (v, f.slopes[1:-1], ZERO)):
            for a, b in lines:
                one, two = (x[k][i] - a - lam * b for k, lam in enumerate(lams))
                size = max(abs(x[0][i]), abs(x[1][i]), abs(a), least)
                if one * two < 0 and min(abs(one), abs(two)) > Fraction(GAP) * size:
                    raise Unproven(f"coordinate {i} passes a kink or a slope between knots")


def stacked(parts, result, lam, report):
    """A point of a problem that falls apart: each column by itself, and what is stated of all."""
    x, nu = exacts(result["x"].values), exacts(result["certificate"]["arrays"]["nu"].values)
    total, unit, p, m = ZERO, ZERO, len(parts[0].phi), len(parts[0].psi)
    if len(x) != p * len(parts) or len(nu) != m * len(parts):
        raise Refuted("x or the multipliers are not those of all columns")
    if result["duals"]:
        same(result["duals"]["rows"].values, nu, "the multipliers")
    gap = ZERO
    for k, part in enumerate(parts):
        theta = x[k * p : (k + 1) * p]
        point = Point(part, lam)
        value, _ = point.primal(theta)
        unit = max(unit, point.objective_unit())
        gap += report.at(part, lam, theta, nu[k * m : (k + 1) * m], None, None, stated=value)
        total += value
    margin, bound = Fraction(GAP) * max(total, unit), exact(result["bound"])
    if abs(total - exact(result["objective"])) > Fraction(OBJECTIVE) * max(total, unit):
        raise Refuted("the objective is not that of x")
    within(bound - (total - gap), margin, margin, "the bound is not proven: off")
    allowed = max(margin, report.rel_gap * total)
    within(total - bound, allowed, allowed, "objective and bound do not meet: off")
