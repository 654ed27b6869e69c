"""Fits to a mean embedding."""

# mypy: ignore-errors

from __future__ import annotations

from .algebra import Matrix, dot
from .rationals import ZERO, exact, exacts
from .statements import finish
from .verdicts import FEASIBLE, OBJECTIVE, Refuted


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
    unit = max(dot(p, p) for p in points)
    if abs(value - exact(result["objective"])) > OBJECTIVE * unit:
        raise Refuted("the objective is not that of x")
    finish(result, value, max(value - 2 * (value - min(slopes)), ZERO), unit)
    return f"optimal up to the gap stated: the squared distance is {float(value):.12g}"
