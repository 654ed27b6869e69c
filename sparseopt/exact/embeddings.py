"""Fits to a mean embedding."""

# mypy: ignore-errors

from __future__ import annotations

from .common.algebra import Matrix, dot
from .common.rationals import ZERO, exacts, near, root_up
from .common.statements import finish
from .common.verdicts import FEASIBLE, Refuted


def check_embedding(header, arrays, result):
    """f(b) >= f(a) + min_i of the gradient at i - gradient'a, on the simplex."""
    mu = exacts(arrays["mu"].values)
    points = [[v - m for v, m in zip(exacts(row), mu, strict=True)] for row in arrays["Phi"].rows()]
    x = exacts(result["x"].values)
    if len(x) != len(points):
        raise Refuted("x has another length")
    if min(x) < -FEASIBLE or abs(sum(x) - 1) > FEASIBLE:
        raise Refuted("x is no distribution")
    a = [max(v, ZERO) for v in x]
    total, flat = sum(a), Matrix([dict(enumerate(row)) for row in points], len(mu))
    r = [v / total for v in flat.transposed(a)]
    slopes, value = flat.times(r), dot(r, r)
    squares = [dot(p, p) for p in points]
    proven = max(value - 2 * (value - min(slopes)), ZERO)
    # Data off by a part t of the nearest atom's distance move a distance by as much, its square by
    # t times 2 sqrt(value nearest). Rounding leaves some 1e-15 of `nearest`.
    nearest = min(squares)
    off = max(2 * root_up(value * nearest), nearest / 10**6)
    finish(result, value, proven, max(squares), max(value, min(off, nearest)))
    return f"optimal up to the gap stated: the squared distance is {near(value):.12g}"
