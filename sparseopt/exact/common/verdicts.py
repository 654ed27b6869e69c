"""How a check ends, the margins that it allows, and its clock."""

# mypy: ignore-errors

from __future__ import annotations

import math
import time
from decimal import Decimal
from fractions import Fraction

FEASIBLE, OBJECTIVE, CONIC, GAP = 1e-8, 1e-9, 1e-7, 1e-9  # margins, relative to the data's units
LAST_DIGITS = Fraction(1, 2**92)  # part of terms that cancel, beside which a value counts as 0
CANCELLED = Decimal("1e-12")  # part of the terms of a sum that their rounding may be: not refuted
NOISE = Decimal("1e-7")  # times FEASIBLE: rounding errors, relative to the terms of a sum


SUBSET_WORK = 3_000_000  # products of two entries that the dual vectors of a tree may take


class Refuted(Exception):
    """Something stated is false."""


class Unproven(Exception):
    """Nothing false was found, and the claim is not proven."""


class Empty(Exception):
    """A box holds no point."""


class Unreadable(Exception):
    """A file is not what it should be."""


class Clock:
    """Ends the work after some seconds of processor time."""

    end = math.inf

    @classmethod
    def check(cls):
        if time.process_time() > cls.end:
            raise Unproven("too large: the time is over before all is checked")
