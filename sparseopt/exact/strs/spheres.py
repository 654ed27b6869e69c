"""Sparse trust-region subproblems, and kernel selection."""

# mypy: ignore-errors

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

from ..common.algebra import largest, positive, semidefinite
from ..common.rationals import ZERO, exact, exacts, near, power, root_up
from ..common.statements import dense_row, same, within
from ..common.verdicts import GAP, LAST_DIGITS, OBJECTIVE, Clock, Refuted, Unproven
from .gaussian import check_gaussian
from .kernels import kernel_terms

BY_NORMS = -2  # in place of the pair of a leaf
MOVED = Fraction(1, 10**14)
ROUNDED = Fraction(1, 10**6)  # times GAP: rounding errors of terms that every point has
SMALL = 16  # order of the largest matrix that is decided by elimination


def check_sphere(header, arrays, result):
    if header["kind"] == "kernel-selection" and header["params"]["kernel"] == "gaussian":
        return check_gaussian(header, arrays, result)
    if header["kind"] == "kernel-selection":
        A, a, floor = kernel_terms(header["params"], arrays)
    else:
        floor = ZERO
        A = [exacts(row) for row in arrays["A"].rows()]
        a = exacts(arrays["a"].values) if "a" in arrays else [ZERO] * len(A)
    asked = result["params"].get("size")
    if header["kind"] == "strs-path":
        size = header["params"]["d_max"] if asked is None else asked
    elif asked is None:
        size = header["params"]["d"]
    else:
        raise Refuted("a size was asked, which the problem has itself")
    certificate, path = result["certificate"], result["path"]
    if certificate is None:
        raise Unproven("there is no certificate")
    arrays = {name: table.values for name, table in certificate["arrays"].items()}
    if path is None:
        if header["kind"] == "strs-path" and asked is None:
            raise Refuted("several sizes were asked, and there is no path")
        x = exacts(result["x"].values)
        if len(x) != len(A):
            raise Refuted("x has another length")
        sphere_size(
            A, a, size, x, exact(result["objective"]), exact(result["bound"]), arrays, result, floor
        )
        return f"optimal up to the gap stated, for {size} nonzeros"
    sizes = path["sizes"].values
    if sizes != list(range(1, len(sizes) + 1)) or len(sizes) != size:
        raise Unproven("the sizes are not all that were asked")
    if path["stopped_by"] != "d_max":
        raise Refuted("all sizes are there, and another end is stated")
    for name in ("objective", "bound"):
        same([result[name]], exacts(path[name].values[-1:]), f"the {name}")
    if len(path["certified"].values) != len(sizes) or path["variables"] != len(A):
        raise Refuted("the path is not one of these sizes and variables")
    for k, d in enumerate(sizes):
        if result["status"] == "optimal" and not path["certified"].values[k]:
            raise Refuted(f"the size {d} is called not proven, and the path optimal")
        own = {
            name.removesuffix(f"_{d}"): v for name, v in arrays.items() if name.endswith(f"_{d}")
        }
        x = exacts(dense_row(path["points"], k, "value", len(A)))
        numbers = (exact(path[name].values[k]) for name in ("objective", "bound"))
        sphere_size(A, a, d, x, *numbers, own, result, floor)
    same(result["x"].values, exacts(dense_row(path["points"], -1, "value", len(A))), "x")
    return f"optimal up to the gaps stated, for {len(sizes)} sizes"


def sphere_size(A, a, d, x, objective, bound, arrays, result, floor):
    """One size: the point, the gap, a cover of all supports by leaves, and a bound on each.

    Entries may be what is left of terms as large as `floor`.
    """
    unit = max(max(abs(v) for row in A for v in row), max(map(abs, a)), abs(bound), floor)
    # A variable alone reaches this much, if that is positive; larger entries may have no effect.
    alone = max(A[i][i] + abs(v) for i, v in enumerate(a))
    least = max(min(unit, 10 * max(alone, abs(bound))), floor / 10**6)
    # Where all variables alone are below 0, entries may cancel to what their last digits are.
    beside = max(abs(v) * (j != i) for i, row in enumerate(A) for j, v in enumerate(row))
    beside = max(beside, *map(abs, a))
    least = max(least, min(beside * LAST_DIGITS / Fraction(GAP), -alone * ROUNDED))
    sphere_point(A, a, d, x, objective, bound, unit, least, result, floor)
    try:
        sphere_leaves(A, a, d, bound, arrays, least)
    except Refuted:
        sphere_leaves(A, a, d, bound, arrays, unit)
        raise Unproven("the bound is proven beside the largest entries only") from None


def sphere_point(A, a, d, x, objective, bound, unit, least, result, floor=ZERO):
    """The length, the nonzeros and the value of a point, and the gap.

    The value is compared with what terms that cancel leave of it, down to the square of their last
    two digits.
    """
    on = [i for i, v in enumerate(x) if v]
    square = sum(x[i] * x[i] for i in on)
    if len(on) > d or abs(square - 1) > 2e-8:
        raise Refuted(f"x has {len(on)} nonzeros, and a length off 1 by {near(square - 1) / 2:.3g}")
    terms = [x[i] * A[i][j] * x[j] / square for i in on for j in on]
    length = root_up(square, 140)
    terms += [a[i] * x[i] / length for i in on]
    value, size = sum(terms, ZERO), max(sum(map(abs, terms), ZERO), floor)
    wide, narrow = (Fraction(OBJECTIVE) * max(abs(value), v) for v in (size, floor / 10**6))
    within(abs(value - objective), wide, max(narrow, size * LAST_DIGITS), "the objective is off")
    gap = exact(result["params"].get("rel_gap", 1e-6)) * max(abs(objective), abs(bound))
    if result["status"] == "optimal":
        wide, narrow = (max(gap, Fraction(GAP) * v) for v in (unit, least))
        narrow = max(narrow, size * LAST_DIGITS)
        within(bound - objective, wide, narrow, "objective and bound are apart")


def sphere_leaves(A, a, d, bound, arrays, unit):
    """A cover of all supports of size d by leaves, and the bound on each."""
    leaves = []
    for k, mu in enumerate(arrays["mu"]):
        fixed = {}
        for name, word in (("in", True), ("out", False)):
            ptr = arrays[f"{name}_ptr"]
            fixed |= {i: word for i in arrays[f"{name}_index"][ptr[k] : ptr[k + 1]]}
        inside = sum(fixed.values())
        if inside <= d and len(A) - (len(fixed) - inside) >= d:
            if inside == d:
                fixed = {i: fixed.get(i, False) for i in range(len(A))}
            elif len(fixed) - inside == len(A) - d:
                fixed = {i: fixed.get(i, True) for i in range(len(A))}
            leaves.append((fixed, exact(mu), arrays["pair"][k] if "pair" in arrays else -1))
    if not covered([set(fixed.items()) for fixed, _, _ in leaves], d, len(A), 0, 0):
        raise Refuted("the leaves do not hold all supports")
    pool = row_pairs(arrays) if "pair_ptr" in arrays else []
    for fixed, mu, pair in leaves:
        Clock.check()
        F = [i for i in range(len(A)) if fixed.get(i, True)]
        if pair == BY_NORMS:
            U = bound + Fraction(GAP) * unit
            if any(a) or U < 0 or squares_at_most(A, F, [i for i in F if i in fixed], d) > U * U:
                raise Refuted(f"norms on a leaf do not prove the bound {near(bound):.12g}")
            continue
        corner, line, block = bound - mu, [a[i] for i in F], [[A[i][j] for j in F] for i in F]
        if pool and pair >= 0:
            place, l, L = pool[pair]
            at = [place[i] for i in F]
            line = [v - l[k] for v, k in zip(line, at, strict=True)]
            block = [
                [v - (L[r][c] + L[c][r]) / 2 for v, c in zip(row, at, strict=True)]
                for row, r in zip(block, at, strict=True)
            ]
            corner -= rows_at_most(
                [l[k] for k in at], [[L[r][c] for c in at] for r in at], F, fixed, d
            )
        N = [[corner, *(-v / 2 for v in line)]]
        for k, row in enumerate(block):
            N.append([-line[k] / 2, *(mu * (k == c) - v for c, v in enumerate(row))])
        if not proves(N, Fraction(GAP) * unit):
            raise Refuted(f"a leaf does not prove the bound {near(bound):.12g} for {d} nonzeros")


def proves(N, slack):
    """Whether N + slack I is semidefinite; for small N also by elimination.

    Without a linear term the bound is the best mu, and taken where only rounding may have moved it.
    """
    if positive(N, [slack] * len(N)):
        return True
    if len(N) > SMALL:
        return False
    move = N[0][0] if not any(N[0][1:]) else ZERO
    if abs(move) > MOVED * max(abs(v) for row in N for v in row):
        move = ZERO
    own = [slack - move] + [slack + move] * (len(N) - 1)
    return semidefinite(
        [[v + own[i] * (i == j) for j, v in enumerate(row)] for i, row in enumerate(N)]
    )


def covered(leaves, d, D, inside, outside):
    """Whether leaves (sets of fixed variables) of a search tree hold every support."""
    Clock.check()
    if inside > d or D - outside < d or any(not leaf for leaf in leaves):
        return True
    if inside == d or D - outside == d:
        # One support is left: none of the others is in it, or all of them are.
        return any(not any(w == (inside == d) for _, w in leaf) for leaf in leaves)
    if not leaves:
        return False
    common = set.intersection(*({i for i, _ in leaf} for leaf in leaves))
    if not common:
        raise Unproven("the leaves are not those of a tree that branches on one variable at a time")
    i = min(common)
    return all(
        covered(
            [leaf - {(i, w)} for leaf in leaves if (i, w) in leaf],
            d,
            D,
            inside + w,
            outside + (not w),
        )
        for w in (True, False)
    )


def row_pairs(arrays):
    pool, at = [], 0
    for begin, end in pairwise(arrays["pair_ptr"]):
        own, n = arrays["pair_index"][begin:end], end - begin
        L = exacts(arrays["pair_L"][at : at + n * n])
        place = {i: k for k, i in enumerate(own)}
        pool.append(
            (place, exacts(arrays["pair_l"][begin:end]), [L[k * n : k * n + n] for k in range(n)])
        )
        at += n * n
    return pool


def squares_at_most(A, F, inside, d):
    """A bound of the sum of the squared entries on any support of d variables of a leaf."""
    free, rows = [i for i in F if i not in inside], []
    for i in free:
        others = largest([A[i][j] ** 2 for j in free if j != i], d - len(inside) - 1)
        rows.append(A[i][i] ** 2 + 2 * sum(A[i][j] ** 2 for j in inside) + others)
    among = sum(A[i][j] ** 2 for i in inside for j in inside)
    return among + largest(rows, d - len(inside))


def rows_at_most(l, L, F, fixed, d):
    """A bound of what the row multipliers take away, summed over any support of the leaf.

    Row i is at most mu + l^2 / 4 mu / (mu^2 - L_ii mu - r^2 / 4) for every mu beyond the root of
    the denominator; a good mu is guessed.
    """
    size = power(max([*map(abs, l), *(abs(v) for row in L for v in row)], default=ZERO))
    l, L = [v / size for v in l], [[v / size for v in row] for row in L]
    free = [k for k, i in enumerate(F) if i not in fixed]
    bounds, left = [], d - (len(F) - len(free))
    for k in range(len(F)):
        squares = sorted((L[k][c] ** 2 for c in free if c != k), reverse=True)
        own = left - (k in free)
        r = sum(squares[: max(own, 0)], ZERO) + sum(
            L[k][c] ** 2 for c in range(len(F)) if c != k and c not in free
        )
        b, diagonal, radius = float(l[k]) ** 2 / 4.0, float(L[k][k]), float(r)
        both = math.sqrt(diagonal * diagonal + radius)
        least = radius / (2.0 * (both - diagonal)) if diagonal < 0.0 else (diagonal + both) / 2.0
        unit = max(abs(least), math.sqrt(b), 1e-300)
        low, high = 1e-13 * unit, 8.0 * unit
        for _ in range(60 if b else 0):
            one, two = low + (high - low) * 0.382, low + (high - low) * 0.618
            f = [least + s + b * (least + s) / (s * (s + both)) for s in (one, two)]
            low, high = (low, two) if f[0] < f[1] else (one, high)
        mu = Fraction(least + (low + high) / 2.0 if b else least + 1e-13 * unit)
        more = Fraction(1e-13 * unit)
        while (
            (rest := mu * mu - L[k][k] * mu - r / 4) < 0 or (l[k] and rest == 0) or 2 * mu < L[k][k]
        ):
            mu, more = mu + more, 2 * more
        bounds.append(max(mu + (l[k] ** 2 / 4 * mu / rest if l[k] else ZERO), ZERO))
    chosen = sorted((bounds[k] for k in free), reverse=True)[:left]
    return size * sum([*chosen, *(bounds[k] for k in range(len(F)) if k not in free)], ZERO)
