"""How much work one check may take.

A certificate of a few hundred bytes can ask for hours: many leaves with large matrices, one kernel
for each of a thousand segments, fractions of a million digits. So verifiers say before each piece
of work how many seconds it takes about, and beyond :data:`SECONDS` in all the verdict is
``unproven``. It is a count of work, not a clock, so that the verdict is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction

SECONDS = 600.0
"""What the pieces of one check may take together, by estimates for one core."""


class TooMuchWork(Exception):
    """A proof takes more than the work allowed. It may be right, but is not looked at further."""


_left: ContextVar[list[float] | None] = ContextVar("work_left", default=None)


@contextmanager
def limited() -> Iterator[None]:
    """Allow :data:`SECONDS` of work within; of nested ones the outermost counts."""
    if _left.get() is not None:
        yield
        return
    token = _left.set([SECONDS])
    try:
        yield
    finally:
        _left.reset(token)


def spend(seconds: float) -> None:
    """Take some of the work that is left; outside of a check everything is allowed.

    Parameters
    ----------
    seconds : float
        An estimate for one core.

    Raises
    ------
    TooMuchWork
    """
    left = _left.get()
    if left is None:
        return
    left[0] -= seconds
    if not left[0] >= 0.0:
        raise TooMuchWork(
            f"the evidence takes more work than a check may take, some {SECONDS / 60.0:g} minutes"
        )


def left() -> float:
    """Return how many seconds are left; of a check that was given up fewer than 0."""
    known = _left.get()
    return SECONDS if known is None else known[0]


def bits_of(value: Fraction) -> int:
    """Return the length of a fraction: of its numerator and of its denominator."""
    return value.numerator.bit_length() + value.denominator.bit_length()


def fraction_seconds(one: int, two: int) -> float:
    """Estimate what an operation of two fractions takes, by their lengths in bits."""
    return 3e-6 + 1e-8 * (one + two) + 2e-12 * one * two
