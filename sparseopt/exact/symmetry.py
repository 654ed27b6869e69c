"""Rows by symmetry of a MISDP: the largest of a first variable, then of a second, and so on."""

# mypy: ignore-errors

from __future__ import annotations

from collections import Counter

from .algebra import triangle
from .rationals import ONE, ZERO
from .verdicts import Clock, Refuted, Unproven

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
        Clock.check()
        if sorted(move) != list(range(len(kept))):
            raise Refuted("a symmetry does not permute the variables")
        to = {j: kept[k] for j, k in zip(kept, move, strict=True)}
        if not _stays(problem, to, turn):
            raise Refuted("what a symmetry moves does not stay as it is")
        if any(to[g] != g for g in before if g != f):
            raise Refuted("a symmetry moves a leader before its own")
        before.append(f)
        (o,) = [j for j in kept if to[j] == f]
        forms.append({f: ONE, o: -ONE} if o != f else {})
    problem.insert(problem.m, forms, [ZERO] * len(forms))
    problem.row_low += [ZERO] * len(forms)
    problem.row_high += [None] * len(forms)
    problem.m += len(forms)


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
        if other != shape or problem.constants[k] != problem.constants[i]:
            return False
        if _terms(problem.forms[i], to) != _terms(problem.forms[k]):
            return False
    return True


def _terms(form, to=None):
    return frozenset((j if to is None else to[j], a) for j, a in form.items() if a)
