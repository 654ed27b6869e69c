"""What points of MISDPs may be off by: the units of rows, entries of cones and lines of matrices.

A form is a dict of places to coefficients. The size of variables that are given is 0 in `sizes`, a
list; constants are measured with the others at the bounds next to them, in `at_ends`.
"""

# mypy: ignore-errors

from __future__ import annotations

from fractions import Fraction

from ..common.algebra import triangle
from ..common.rationals import ONE, ZERO, power, root_up
from ..common.verdicts import CONIC

DATA, STILL = Fraction(1, 10**12), Fraction(1, 10**9)  # of what no continuous variable can move


def sizes_of(low, high, integer):
    """The units of variables: 1, or their largest bound where that is smaller; 0 cannot move."""
    found, whole = [], set(integer)
    for j, ends in enumerate(zip(low, high, strict=True)):
        if j not in whole and None not in ends:
            found.append(ZERO if ends[0] == ends[1] else min(ONE, max(map(abs, ends))))
        else:
            found.append(ONE)
    return found


def nearest_ends(x, low, high, integer):
    """The point with all but its integers at the bounds next to them, 0 without any."""
    at_ends, whole = list(x), set(integer)
    for j, ends in enumerate(zip(low, high, strict=True)):
        if j not in whole:
            known = [end for end in ends if end is not None]
            at_ends[j] = min(known, key=lambda end: abs(end - x[j]), default=ZERO)
    return at_ends


def left(form, constant, sizes, at_ends):
    """The size of what is left of the constant; the terms of what moves, in its own units."""
    terms = [constant, *(a * at_ends[j] for j, a in form.items())]
    rest, others = abs(sum(terms)), {j: abs(a) * sizes[j] for j, a in form.items() if sizes[j]}
    # What cancels up to rounding errors of the data is zero.
    return ZERO if rest <= DATA * sum(map(abs, terms)) else rest, others


def capped(coefficients, rest):
    """The least coefficient, and no more than the constant where that is not zero."""
    return min([*coefficients, rest] if rest else coefficients)


def row_unit(form, end, sizes, at_ends):
    """The unit of a row with the end that it misses."""
    rest, others = left(form, -end, sizes, at_ends)
    if others:
        return capped(others.values(), rest)
    terms = abs(end) + sum(abs(a * at_ends[j]) for j, a in form.items())
    return min([terms * DATA / Fraction(CONIC), *map(abs, form.values())])


def entry_margins(forms, constants, heads, sizes, at_ends):
    """What the entries of a cone may be off by."""
    parts = [
        left(form, constant, sizes, at_ends)
        for form, constant in zip(forms, constants, strict=True)
    ]
    most = max(rest for rest, _ in parts)
    still = max((rest for rest, others in parts if not others), default=ZERO)
    margins = []
    for k, (rest, others) in enumerate(parts):
        unit = capped(others.values(), rest) if others else STILL / Fraction(CONIC) * rest
        if others and k < heads:  # a head that is raised makes good for all of the tail
            unit = capped([unit], min([end for end in (rest or most, still) if end], default=ZERO))
        margins.append(Fraction(CONIC) * unit)
    return margins


def line_margins(forms, constants, scales, sizes, at_ends):
    """What the diagonal of a matrix may be off by, from what is in each of its lines.

    Entries are compared in lines of one scale. Also the places where rounding errors stand for 0.
    """
    size, blank = len(scales), []
    tops, rests = [{} for _ in range(size)], [[ZERO] * size for _ in range(size)]
    for form, constant, (i, j) in zip(forms, constants, triangle(size), strict=True):
        rest, others = left(form, constant, sizes, at_ends)
        product = scales[i] * scales[j]
        rests[i][j] = rests[j][i] = rest / product
        if not rest and not others:
            blank.append((i, j))
        for top in (tops[i], tops[j]):
            top.update({k: max(a / product, top.get(k, ZERO)) for k, a in others.items()})
    # What is beside the diagonal is no unit of an entry that is smaller.
    most, own = max(map(max, rests)), [ZERO] * size
    for form, constant, (i, j) in zip(forms, constants, triangle(size), strict=True):
        if i == j:
            terms = (abs(a) * (sizes[k] or ONE) for k, a in form.items())
            own[i] = max([abs(constant), *terms]) / scales[i] ** 2
    margins = [
        scales[i] ** 2
        * (
            Fraction(CONIC) * capped([capped(top.values(), max(line) or most)], own[i])
            if top
            else STILL * line[i]
        )
        for i, (top, line) in enumerate(zip(tops, rests, strict=True))
    ]
    return margins, blank


def line_scales(forms, constants, size, units):
    """Powers of two whose products are about the sizes of a matrix's entries, by balancing."""
    sizes = [[ZERO] * size for _ in range(size)]
    for form, constant, (i, j) in zip(forms, constants, triangle(size), strict=True):
        terms = (abs(a) * units[k] for k, a in form.items())
        sizes[i][j] = sizes[j][i] = max([abs(constant), *terms])
    scales = [ONE] * size
    for _ in range(8):
        most = [max(v / b for v, b in zip(row, scales, strict=True)) for row in sizes]
        # The root of what is left of a line, as a power of two.
        scales = [
            a * power(root_up(top / a)) if top else a for a, top in zip(scales, most, strict=True)
        ]
    return scales


def beyond_rank_one(matrix, margins):
    """By how much minors of order two miss zero, the lines in their units."""
    size, d = len(matrix), [root_up(margin / Fraction(CONIC)) or ONE for margin in margins]
    M = [
        [v / (a * b) for v, b in zip(row, d, strict=True)] for a, row in zip(d, matrix, strict=True)
    ]
    worst = ZERO
    for i in range(size):
        for j in range(i):
            beside = 2 * M[i][j] ** 2 + M[i][i] + M[j][j]
            if beside > 0:
                worst = max(worst, (M[i][i] * M[j][j] - M[i][j] ** 2) / beside)
    return worst / 10  # of 1e-6 of the diagonal
