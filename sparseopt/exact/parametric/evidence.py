"""Evidence that there is no optimum: Farkas proofs and rays, for one lam or on a side of one."""

# mypy: ignore-errors

from __future__ import annotations

from fractions import Fraction

from ..common.algebra import solve
from ..common.rationals import ZERO, exacts, near
from ..common.verdicts import FEASIBLE, GAP, Refuted, Unproven
from .programs import Point


def no_optimum(program, lam, end, status, certificate):
    """Farkas proofs and rays, mended in their last digits: at lam, and at all from `end` on."""
    arrays = certificate["arrays"]
    kinds = {"nu": farkas, "nu_above": farkas}
    if status == "unbounded":
        kinds = {"ray": cost, "ray_above": cost, "farkas": farkas, "farkas_above": farkas}
    if next(iter(kinds)) not in arrays:
        raise Refuted(f"nothing proves the problem {status}")
    sums = [kinds[name](program, exacts(arrays[name].values)) for name in kinds if name in arrays]
    if sums[0][0] + lam * sums[0][1] >= 0:
        raise Refuted(f"the evidence does not prove the problem {status}")
    if status == "unbounded":
        feasible(program, lam, end, arrays)
    if end is None:
        return f"{status} at lam = {near(lam):.9g}, proven"
    if not any(a + b * end < 0 and b <= 0 for a, b in sums):
        rising = max((-a / b for a, b in sums if b > 0 > a + b * end), default=None)
        falling = min((-a / b for a, b in sums if b < 0), default=None)
        if rising is None or falling is None or falling >= rising:
            raise Unproven("the evidence leaves some lam of the range out")
    return f"{status}: no optimum at any lam >= {near(end):.9g}, proven"


def ends_there(program, end, reason, above, sign, arrays):
    """Evidence that there is no optimum beyond an end: below (sign 1), or above it (sign -1)."""
    name = f"{'farkas' if reason == 'infeasible_below' else 'ray'}{above}"
    if name not in arrays:
        raise Refuted(f"nothing proves that the path ends at {near(end):.9g}")
    sums = (farkas if name.startswith("f") else cost)(program, exacts(arrays[name].values))
    meets(*sums, end, sign)


def column_ends(parts, end, arrays):
    """Evidence of some column that nothing is feasible below an end."""
    listed = [arrays[name] for name in ("farkas_columns", "farkas") if name in arrays]
    doubt = None
    for k, nu in zip(listed[0].values, listed[1].rows(), strict=True) if len(listed) == 2 else ():
        if not 0 <= k < len(parts):
            raise Refuted(f"there is no column {k}")
        try:
            return meets(*farkas(parts[k], exacts(nu)), end, 1)
        except Unproven as one:
            doubt = one
    raise doubt or Refuted(f"nothing proves that the path ends at {near(end):.9g}")


def meets(a, b, end, sign):
    """Whether a + b lam is 0 at an end and negative beyond it."""
    if sign * b <= 0:
        raise Refuted(f"the evidence for the end at {near(end):.9g} is for the other side")
    if abs(a + b * end) > Fraction(GAP) * abs(b) * end:
        # a far bound may make this of a multiplier's rounding error
        raise Unproven(f"the evidence for the end at {near(end):.9g} does not meet it")


def farkas(program, nu):
    """What multipliers prove, as (constant, rate): negative where nothing is feasible."""
    A = program.A
    nu, prices = mended(program.psi, program.phi, nu, A.transposed, A.column, -1)
    total = [ZERO, ZERO]
    for f, v in zip([*program.phi, *program.psi], [*prices, *nu], strict=True):
        if astray(f, v, -1):
            raise Unproven("a multiplier points to an open side, if only by rounding")
        total = [t + v * k for t, k in zip(total, f.kinks[-1 if v > 0 else 0], strict=True)]
    return total


def cost(program, ray):
    """What a step in a direction costs, as (constant, rate): no bound where it is negative."""
    ray, moves = mended(program.phi, program.psi, ray, program.A.times, program.A.row, 1)
    total = [ZERO, ZERO]
    for f, w in zip([*program.phi, *program.psi], [*ray, *moves], strict=True):
        if astray(f, w, 1):
            raise Unproven("the ray leaves a constraint, if only by rounding")
        slope = f.slopes[-1 if w > 0 else 0]
        total = [t + w * s for t, s in zip(total, slope, strict=True)] if w else total
    return total


def astray(f, v, sign):
    """Whether v points where a ray (sign 1) meets a bound, or a multiplier (-1) meets none."""
    return bool(v) and (f.slopes[-1 if v > 0 else 0] is None) == (sign > 0)


def mended(own, others, x, product, line, sign):
    """Evidence near x, and its images: `sign` times its products with the lines.

    Images that lead astray are put to 0 exactly, by a step that is small beside what it changes,
    or not at all.
    """
    top = max(map(abs, x), default=ZERO)
    x = [
        ZERO if abs(a) * 2**30 <= top and astray(f, a, sign) else a
        for f, a in zip(own, x, strict=True)
    ]
    place = {k: n for n, k in enumerate(k for k, a in enumerate(x) if a)}
    # What must not move at all, and, once it has led astray, what may move to one side only.
    zeros = [i for i, f in enumerate(others) if astray(f, 1, sign) and astray(f, -1, sign)]
    images = [sign * v for v in product(x)]
    for _ in range(4):
        zeros += [i for i, f in enumerate(others) if i not in zeros and astray(f, images[i], sign)]
        if not any(images[i] for i in zeros) or len(zeros) > 80 or len(place) > 2000:
            break
        lines = [{k: sign * a for k, a in line(i).items() if k in place} for i in zeros]
        sizes = [sum((abs(a * x[k]) for k, a in row.items()), ZERO) for row in lines]
        if any(abs(images[i]) * 2**30 > size for i, size in zip(zeros, sizes, strict=True)):
            break
        equations = [{place[k]: a for k, a in row.items()} for row in lines]
        step = solve(equations, [-images[i] for i in zeros], len(place))
        if step is None or any(abs(step[n]) * 2**20 > abs(x[k]) for k, n in place.items()):
            break
        x = [a + step[place[k]] if k in place else a for k, a in enumerate(x)]
        images = [sign * v for v in product(x)]
    return x, images


def feasible(program, lam, end, arrays):
    """The point that a ray starts at, or points that are affine in lam, for a whole range."""
    if "low" not in arrays:
        if Point(program, lam).primal(exacts(arrays["x"].values))[1] > FEASIBLE:
            raise Refuted("the ray starts at an infeasible point")
        return
    low, points, rates = exacts(arrays["low"].values), arrays["x"].rows(), arrays["x_rate"].rows()
    if low != sorted(set(low), reverse=True) or low[-1:] != [end] or len(points) != len(low):
        raise Refuted("the points do not cover the range")
    for k, (x, rate) in enumerate(zip(map(exacts, points), map(exacts, rates), strict=True)):
        for lam in low[max(k - 1, 0) : k + 1]:
            theta = [v + (lam - low[k]) * r for v, r in zip(x, rate, strict=True)]
            if Point(program, lam).primal(theta)[1] > FEASIBLE:
                raise Refuted("the ray starts at an infeasible point")
    moves = exacts(rates[0])
    unit = FEASIBLE * max(map(abs, moves), default=ZERO)
    for f, v in zip([*program.phi, *program.psi], [*moves, *program.A.times(moves)], strict=True):
        below, above = f.slopes[0] is None, f.slopes[-1] is None
        if (below and v < f.kinks[0][1] - unit) or (above and v > f.kinks[-1][1] + unit):
            raise Refuted("the points leave a constraint for large lam")
