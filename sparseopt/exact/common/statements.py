"""Comparing what a result states with what is proven."""

# mypy: ignore-errors

from __future__ import annotations

from fractions import Fraction

from .rationals import exact, near
from .verdicts import GAP, OBJECTIVE, Refuted, Unproven


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


def within(off, wide, narrow, text, rounding=0):
    """What is off by more than one margin is refuted; by more than a narrower one it is unproven.

    The first is relative to the largest numbers of the data, which may have no effect at all.
    Beyond it what rounding errors of the stated point may amount to is unproven, too.
    """
    if off > wide + rounding:
        raise Refuted(f"{text} by {near(off):.3g}")
    if off > wide:
        raise Unproven(f"{text} by {near(off):.3g}, little beside terms that cancel only")
    if off > narrow:
        raise Unproven(f"{text} by {near(off):.3g}, little beside the largest numbers only")


def finish(result, value, proven, unit, least):
    """A bound is proven, and where optimality is claimed it meets the objective."""
    bound = exact(result["bound"])
    objective = exact(result["objective"])
    margin = Fraction(OBJECTIVE)
    within(abs(value - objective), margin * unit, margin * least, "the objective is off")
    if bound > proven + Fraction(GAP) * unit:
        raise Refuted(f"the bound {near(bound):.12g} is stated, {near(proven):.12g} is proven")
    asked = result["params"]
    gap = exact(asked.get("rel_gap", 1e-6)) * max(abs(value), abs(bound))
    asked_gap = max(gap, exact(asked.get("abs_gap", 0.0)))
    gap = max(asked_gap, Fraction(GAP) * unit)
    if result["status"] == "optimal" and value - bound > gap:
        raise Refuted("objective and bound do not meet")
    gap = max(asked_gap, Fraction(GAP) * least)
    if bound > proven + Fraction(GAP) * least or (
        result["status"] == "optimal" and value - bound > gap
    ):
        raise Unproven("the bound is proven beside the largest numbers of the data only")
