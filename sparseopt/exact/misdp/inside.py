"""Multipliers inside their cones that cost exactly nothing where variables have no ends.

What they prove, and the ends that follow for these variables.
"""

# mypy: ignore-errors

from __future__ import annotations

from fractions import Fraction

from ..common.algebra import positive, rounded, semidefinite, solve, triangle, unpacked
from ..common.rationals import ZERO, exacts, near, root_up
from ..common.verdicts import Clock

ELIMINATED = 12  # order of the largest matrix that is decided by elimination


def proven_inside(problem, dual, low, high, farkas):
    """What multipliers near the given ones prove on a box, and these, or None.

    They are moved so that variables without ends cost nothing, and then have to be in their cones
    as they are.
    """
    dual, zero = list(dual), [ZERO] * len(problem.c)
    weights = [1] * len(dual)
    for places, size, _ in problem.blocks:
        for i, (a, b) in zip(places, triangle(size), strict=True):
            weights[i] = 1 if a == b else 2
    for i in range(problem.m):
        if side(problem, i, dual[i]) is None:
            dual[i] = ZERO
    costs = zero if farkas else problem.c
    open_ = {j for j, ends in enumerate(zip(low, high, strict=True)) if ends == (None, None)}
    for _ in range(3):
        Clock.check()
        found = moved(problem, dual, weights, sorted(open_), costs)
        if found is None or not inside(problem, found):
            return None
        sides = [side(problem, i, v) for i, v in enumerate(found[: problem.m])]
        sides += [-g for g in problem.constants[problem.m :]]
        terms = zip(found, weights, sides, strict=True)
        constant = sum((v * w * end for v, w, end in terms), ZERO)
        r = [c - v for c, v in zip(costs, products(problem, found, weights), strict=True)]
        ends = [a if v > 0 else b for v, a, b in zip(r, low, high, strict=True)]
        missing = {j for j, (v, end) in enumerate(zip(r, ends, strict=True)) if v and end is None}
        if not missing:
            charges = (v * end for v, end in zip(r, ends, strict=True) if v)
            return constant + sum(charges, ZERO), found
        open_ |= missing
    return None


def side(problem, i, y):
    """The end of a row that its multiplier acts on; of none if that is 0."""
    if y == 0:
        return ZERO
    return problem.row_low[i] if y > 0 else problem.row_high[i]


def products(problem, dual, weights):
    """A'y + F'z + M*(Z)."""
    out = [ZERO] * len(problem.c)
    for form, v, w in zip(problem.forms, dual, weights, strict=True):
        for j, a in form.items() if v else ():
            out[j] += v * w * a
    return out


def inside(problem, dual):
    """Whether rows, cones and matrices have multipliers of the right signs."""
    if any(side(problem, i, dual[i]) is None for i in range(problem.m)):
        return False
    for places, _, rotated in problem.cones:
        z = [dual[i] for i in places]
        square = 2 * z[0] * z[1] if rotated else z[0] ** 2
        if min(z[: 1 + rotated]) < 0 or square < sum(v * v for v in z[1 + rotated :]):
            return False
    for places, size, _ in problem.blocks:
        Z = unpacked([dual[i] for i in places], size)
        if not positive(Z, [ZERO] * size) and not (size <= ELIMINATED and semidefinite(Z)):
            return False
    return True


def moved(problem, dual, weights, columns, costs):
    """The multipliers after the move that makes the reduced costs of some columns zero, or None.

    With G_j the column of a matrix it is a sum of Z G_j Z, with g_j that of a cone of 2 (z'g) z -
    det(z) R g, and y_i^2 a_ij of rows: small near the boundary.
    """
    left = products(problem, dual, weights)
    left = [costs[j] - left[j] for j in columns]
    if not any(left):
        return dual
    steps = [step(problem, dual, j) for j in columns]
    rows = []
    for j in columns:
        own = [(i, form[j]) for i, form in enumerate(problem.forms) if j in form]
        entries = (sum((a * weights[i] * by[i] for i, a in own if i in by), ZERO) for by in steps)
        rows.append({k: v for k, v in enumerate(entries) if v})
    factors = solve(rows, left, len(columns))
    if factors is None:
        return None
    dual = list(dual)
    for factor, by in zip(factors, steps, strict=True):
        for i, v in by.items() if factor else ():
            dual[i] += factor * v
    return dual


def step(problem, dual, j):
    """The direction of one column, of as many digits as a float has."""
    out, largest = {}, max(map(abs, dual), default=ZERO)
    for i in range(problem.m):
        equal = problem.row_low[i] is not None and problem.row_low[i] == problem.row_high[i]
        if j in problem.forms[i]:
            out[i] = (largest if equal else dual[i]) ** 2 * problem.forms[i][j]
    for places, _, rotated in problem.cones:
        g = [problem.forms[i].get(j, ZERO) for i in places]
        if any(g):
            z = [dual[i] for i in places]
            head = 2 * z[0] * z[1] if rotated else z[0] ** 2
            det = head - sum(v * v for v in z[1 + rotated :])
            turned = [g[1], g[0], *(-v for v in g[2:])] if rotated else [g[0], *(-v for v in g[1:])]
            along = 2 * sum(a * b for a, b in zip(z, g, strict=True))
            for i, a, b in zip(places, z, turned, strict=True):
                out[i] = along * a - det * b
    for places, size, _ in problem.blocks:
        g = [problem.forms[i].get(j, ZERO) for i in places]
        if any(g):
            Z, G = unpacked([dual[i] for i in places], size), unpacked(g, size)
            S = times(times(Z, G), Z)
            out |= {i: S[a][b] for i, (a, b) in zip(places, triangle(size), strict=True)}
    return {i: Fraction(near(v)) for i, v in out.items() if v}


def times(A, B):
    columns = list(zip(*B, strict=True))
    return [[sum(a * b for a, b in zip(row, c, strict=True) if a) for c in columns] for row in A]


def ends_of_interior(problem, arrays, low, high, top):
    """Ends of variables by multipliers inside their cones that cost nothing where there are none.

    With v what they prove, all products of multipliers and constraints, of which none is negative,
    add up to at most U - v: U is the cutoff's costs, or 0 for multipliers without costs.
    """
    flags = arrays["interior_costs"].values
    parts = [arrays[f"interior_{name}"].rows() for name in ("rows", "cones", "psd")]
    for k, costly in enumerate(flags):
        Clock.check()
        if costly and top is None:
            continue
        dual = exacts([v for part in parts for v in part[k]])
        proof = proven_inside(problem, dual, low, high, not costly)
        if proof is not None:
            room = max((top if costly else ZERO) - proof[0], ZERO)
            low, high = ends_of_columns(problem, low, high, ends_of_forms(problem, proof[1], room))
    return low, high


def ends_of_forms(problem, dual, room):
    """Ends of forms that a product of at most `room` with multipliers implies, where there are."""
    ends = {}
    for i in range(problem.m):
        a, b = problem.row_low[i], problem.row_high[i]
        if dual[i] > 0:
            b = a + room / dual[i] if b is None else min(b, a + room / dual[i])
        elif dual[i] < 0:
            a = b + room / dual[i] if a is None else max(a, b + room / dual[i])
        ends[i] = (a, b)
    for places, _, rotated in problem.cones:
        z = [dual[i] for i in places]
        if rotated:
            square = (z[0] - z[1]) ** 2 + 2 * sum(v * v for v in z[2:])
            room_in, twice = z[0] + z[1] - root_up(square), 2
        else:
            room_in, twice = z[0] - root_up(sum(v * v for v in z[1:])), 1
        if room_in > 0:
            most = twice * room / room_in
            for k, i in enumerate(places):
                ends[i] = (-most if k > rotated else ZERO, most)
    for places, size, _ in problem.blocks:
        Z = unpacked([dual[i] for i in places], size)
        rows, tops = [dict(enumerate(row)) for row in Z], []
        for k in range(size):
            column = solve(rows, [Fraction(k == j) for j in range(size)], size)
            if column is None:
                break
            tops.append(room * column[k])
        if len(tops) == size:
            for i, (a, b) in zip(places, triangle(size), strict=True):
                most = tops[a] if a == b else root_up(tops[a] * tops[b])
                ends[i] = (ZERO if a == b else -most, most)
    return ends


def ends_of_columns(problem, low, high, ends):
    """Ends of variables without, by combinations of forms between ends that hold one of them."""
    low, high = list(low), list(high)
    open_ = [j for j, pair in enumerate(zip(low, high, strict=True)) if None in pair]
    some = [i for i, pair in ends.items() if None not in pair]
    some = [i for i in some if any(j in problem.forms[i] for j in open_)]
    rows = [{k: problem.forms[i].get(j, ZERO) for k, i in enumerate(some)} for j in open_]
    found = {}
    for at, j in enumerate(open_):
        Clock.check()
        factors = solve(rows, [Fraction(k == at) for k in range(len(open_))], len(some))
        if factors is None:
            continue
        least, most, others = ZERO, ZERO, {}
        for factor, i in zip(factors, some, strict=True):
            pair = [factor * (end - problem.constants[i]) for end in ends[i]]
            least, most = least + min(pair), most + max(pair)
            for v, a in problem.forms[i].items() if factor else ():
                others[v] = others.get(v, ZERO) - factor * a
        for v in others.keys() - set(open_):
            pair = [others[v] * low[v], others[v] * high[v]]
            least, most = least + min(pair), most + max(pair)
        found[j] = rounded(least, -1), rounded(most, 1)
    for j, (least, most) in found.items():
        low[j] = least if low[j] is None else max(low[j], least)
        high[j] = most if high[j] is None else min(high[j], most)
    return low, high
