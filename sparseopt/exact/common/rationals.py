"""Numbers of files as the rational numbers that they are."""

# mypy: ignore-errors

from __future__ import annotations

import math
import sys
from decimal import Context, Decimal
from fractions import Fraction

from .verdicts import Refuted

ZERO, ONE = Fraction(0), Fraction(1)


DIGITS = Context(prec=45, Emin=-(10**9), Emax=10**9)


def exact(value):
    if not isinstance(value, int) and not (isinstance(value, float) and math.isfinite(value)):
        raise Refuted(f"{value!r} is stated where a finite number belongs")
    return Fraction(value)


def exacts(values):
    return [exact(value) for value in values]


def decimal(value):
    return DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))


def rough(value):
    """About the same, of a range that no product of two floats leaves."""
    return Decimal(value.numerator) / Decimal(value.denominator)


def near(value):
    """The nearest float; beyond their range the last one."""
    try:
        return float(value)
    except OverflowError:
        return math.copysign(sys.float_info.max, value)


def power(value):
    """A power of two between half and twice a positive fraction; 1 for 0."""
    return Fraction(2) ** (value.numerator.bit_length() - value.denominator.bit_length())


def root_up(value, bits=70):
    """A rational that is at least the root of a nonnegative one, and so near to it."""
    if value <= 0:
        return ZERO
    scale = 2 ** max(
        0, 2 * (bits - (value.numerator.bit_length() - value.denominator.bit_length()) // 2)
    )
    return Fraction(math.isqrt(value.numerator * scale // value.denominator) + 1, math.isqrt(scale))
