"""Symmetries of a MISDP: rows that leave the largest of some variables, and boxes left out."""

# mypy: ignore-errors

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

from ..common.algebra import triangle
from ..common.rationals import ONE, ZERO
from ..common.verdicts import Clock, Refuted, Unproven

NAMES = ("symmetry_leaders", "symmetry_variables", "symmetry_lines")


def order(problem, tables):
    """Add x_f >= x_o where a symmetry puts o in the place of f, and no leader before f elsewhere.

    Of a point and its images one has the largest leaders, the first one first: it has these rows.
    The symmetries move the variables that a merged problem keeps.
    """
    if not any(name in tables for name in NAMES):
        return
    if problem.cones or problem.extra:
        raise Unproven("rows by symmetry beside cones, indicators or squares are not covered")
    kept = [j for j in range(len(problem.c)) if j not in problem.gone]
    leaders = [kept[f] for f in tables[NAMES[0]].values if 0 <= f < len(kept)]
    moves, turns = (tables[name].rows() for name in NAMES[1:])
    if not len(tables[NAMES[0]].values) == len(leaders) == len(moves) == len(turns):
        raise Refuted("the symmetries have not as many leaders")
    before, forms = [], []
    for f, move, turn in zip(leaders, moves, turns, strict=True):
        to = _checked(problem, kept, move, turn)
        if any(to[g] != g for g in before if g != f):
            raise Refuted("a symmetry moves a leader before its own")
        before.append(f)
        (o,) = [j for j in kept if to[j] == f]
        forms.append({f: ONE, o: -ONE} if o != f else {})
    problem.insert(problem.m, forms, [ZERO] * len(forms))
    problem.row_low += [ZERO] * len(forms)
    problem.row_high += [None] * len(forms)
    problem.m += len(forms)


def mirror(problem, tables):
    """Take half the range of integers that mirrors turn round: x to t - x, and lines' signs.

    Of a point and its images one has the largest leaders, the first one first: it is in there.
    """
    if not any(name.startswith("mirror_") for name in tables):
        return
    if problem.cones or problem.extra:
        raise Unproven("mirrors beside cones, indicators or squares are not covered")
    kept = [j for j in range(len(problem.c)) if j not in problem.gone]
    given = tables["mirror_leaders"].values
    leaders = [kept[f] for f in given if 0 <= f < len(kept)]
    turns, changes = (tables[f"mirror_{name}"].rows() for name in ("variables", "lines"))
    if not len(given) == len(leaders) == len(turns) == len(changes):
        raise Refuted("the mirrors have not as many leaders")
    starts, before = {}, set()
    for f, flags, changed in zip(leaders, turns, changes, strict=True):
        Clock.check()
        # Three different numbers would be three signs, each the opposite of both others.
        if any(flag not in (0, 1) for flag in (*flags, *changed)):
            raise Refuted("what a mirror turns round is not said by flags")
        turned = {j for j, flag in zip(kept, flags, strict=True) if flag}
        total = _totals(problem, turned)
        if total is None or not _mirrors(problem, total, changed):
            raise Refuted("what a mirror turns round does not stay as it is")
        if f not in turned or f not in problem.integer or turned & before:
            raise Refuted("a mirror does not turn its leader round, or one before")
        if problem.low[f] is None:
            raise Refuted("the leader of a mirror has no bounds")
        before.add(f)
        starts[f] = Fraction(math.ceil(total[f] / 2))
    for f, start in starts.items():
        problem.low[f] = max(problem.low[f], start)


def _totals(problem, turned):
    """t_j of the variables that are turned round; None where one cannot be."""
    total, whole = {}, set(problem.integer)
    for j in turned:
        low, high = problem.low[j], problem.high[j]
        if problem.c[j] or (low is None) != (high is None):
            return None
        total[j] = ZERO if low is None else low + high
        if j in whole and total[j].denominator != 1:
            return None
    return total


def _mirrors(problem, total, changed):
    """Whether rows and matrices are what they were."""
    sides = zip(problem.forms[: problem.m], problem.row_low, problem.row_high, strict=True)
    for form, low, high in sides:
        inside = {j in total for j, a in form.items() if a}
        if len(inside) > 1 or (True in inside and (low is None) != (high is None)):
            return False
        if True in inside and low is not None and low + high != _at(form, total):
            return False
    begin = 0
    for places, size, _ in problem.blocks:
        flags = changed[begin : begin + size]
        begin += size
        for i, (r, s) in zip(places, triangle(size), strict=True):
            form, odd = problem.forms[i], flags[r] != flags[s]
            if any((j in total) != odd for j, a in form.items() if a):
                return False
            if odd and 2 * problem.constants[i] + _at(form, total):
                return False
    return begin == len(changed)


def _at(form, x):
    return sum((a * x[j] for j, a in form.items() if a), ZERO)


def left_out(problem, tables):
    """Boxes of integers that symmetries take out of themselves and of all boxes after them.

    Of a point and its images one is in the first of these boxes, or in none; and the image of that
    first one is in an earlier box.
    """
    if not any(name.startswith("images_") for name in tables):
        return []
    if problem.cones or problem.extra:
        raise Unproven("symmetries beside cones, indicators or squares are not covered")
    kept = [j for j in range(len(problem.c)) if j not in problem.gone]
    lower, upper, moves, turns = (
        tables[f"images_{name}"].rows() for name in ("lower", "upper", "variables", "lines")
    )
    by = tables["images_by"].values
    if not len(lower) == len(upper) == len(by) or len(moves) != len(turns):
        raise Refuted("boxes that are left out have not as many symmetries")
    maps = [_checked(problem, kept, *pair) for pair in zip(moves, turns, strict=True)]
    whole = problem.integer
    boxes = [
        dict(zip(whole, map(inner, low, high), strict=True))
        for low, high in zip(lower, upper, strict=True)
    ]
    for k, (box, which) in enumerate(zip(boxes, by, strict=True)):
        Clock.check()
        if not 0 <= which < len(maps):
            raise Refuted("a box that is left out names no symmetry")
        image = {maps[which][j]: ends for j, ends in box.items()}
        for other in boxes[k:]:
            if all(image[j][0] <= other[j][1] and image[j][1] >= other[j][0] for j in whole):
                raise Refuted("the image of a box that is left out is left out later")
    return [[box[j] for j in whole] for box in boxes]


def inner(low, high):
    """The integers of an interval, by its ends."""
    return tuple(
        end if math.isinf(end) else side(end)
        for end, side in ((low, math.ceil), (high, math.floor))
    )


def _checked(problem, kept, move, turn):
    """Where a symmetry takes each variable."""
    Clock.check()
    if sorted(move) != list(range(len(kept))):
        raise Refuted("a symmetry does not permute the variables")
    to = {j: kept[k] for j, k in zip(kept, move, strict=True)}
    if not _stays(problem, to, turn):
        raise Refuted("what a symmetry moves does not stay as it is")
    return to


def _stays(problem, to, turn):
    """Whether costs, bounds, integers, rows and matrices are what they were."""
    whole = set(problem.integer)
    for values in (problem.c, problem.low, problem.high):
        if any(values[k] != values[j] for j, k in to.items()):
            return False
    if any((k in whole) != (j in whole) for j, k in to.items()):
        return False
    rows = [(problem.forms[i], problem.row_low[i], problem.row_high[i]) for i in range(problem.m)]
    if Counter((_terms(form), *ends) for form, *ends in rows) != Counter(
        (_terms(form, to), *ends) for form, *ends in rows
    ):
        return False
    sizes = [size for _, size, _ in problem.blocks]
    # -1 - r is the line r with its sign changed.
    signs, turn = [-ONE if r < 0 else ONE for r in turn], [-1 - r if r < 0 else r for r in turn]
    if sorted(turn) != list(range(sum(sizes))):
        return False
    place, begin = {}, 0
    for places, size, flag in problem.blocks:
        for i, (r, s) in zip(places, triangle(size), strict=True):
            place[begin + r, begin + s] = i, (size, flag)
        begin += size
    for (r, s), (i, shape) in place.items():
        ends = max(turn[r], turn[s]), min(turn[r], turn[s])
        k, other = place.get(ends, (None, None))
        sign = signs[r] * signs[s]
        if other != shape or problem.constants[k] != sign * problem.constants[i]:
            return False
        if _terms(problem.forms[i], to, sign) != _terms(problem.forms[k]):
            return False
    return True


def _terms(form, to=None, sign=ONE):
    return frozenset((j if to is None else to[j], sign * a) for j, a in form.items() if a)
