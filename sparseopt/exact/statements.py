"""Comparing what a result states with what is proven."""

# mypy: ignore-errors

from __future__ import annotations

from fractions import Fraction

from .rationals import exact
from .verdicts import GAP, Refuted


def same(one, two, name):
    if len(one) != len(two) or any(
        abs(exact(a) - b) > abs(b) / 10**12 for a, b in zip(one, two, strict=True)
    ):
        raise Refuted(f"{name} is not what it is stated to be elsewhere")


def dense_row(rows, s, part, length):
    ptr = rows["ptr"].values
    s %= len(ptr) - 1
    out = [0.0] * length
    for k in range(ptr[s], ptr[s + 1]):
        out[rows["index"].values[k]] = rows[part].values[k]
    return out


def finish(result, value, proven, unit):
    """A bound is proven, and where optimality is claimed it meets the objective."""
    bound = exact(result["bound"])
    if bound > proven + Fraction(GAP) * unit:
        raise Refuted(f"the bound {float(bound):.12g} is stated, {float(proven):.12g} is proven")
    asked = result["params"]
    gap = Fraction(asked.get("rel_gap", 1e-6)) * max(abs(value), abs(bound))
    gap = max(gap, Fraction(asked.get("abs_gap", 0.0)), Fraction(GAP) * unit)
    if result["status"] == "optimal" and value - bound > gap:
        raise Refuted("objective and bound do not meet")
