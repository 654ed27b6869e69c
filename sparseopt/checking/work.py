"""How much work one check may take.

A certificate of a few hundred bytes can ask for hours: many leaves with large matrices, one kernel
for each of a thousand segments, fractions of a million digits. So verifiers say before each piece
of work how many seconds it takes about, and beyond :data:`SECONDS` in all, with some for each
number of the evidence, the verdict is ``unproven``. It is a count of work, not a clock, so that
the verdict is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sparseopt.problems.base import Problem

SECONDS, EACH = 600.0, 2e-4
"""What the pieces of one check may take together, by estimates for one core; and how much more for
each number of certificate and path, as those of a thousand columns have."""


class TooMuchWork(Exception):
    """A proof takes more than the work allowed. It may be right, but is not looked at further."""


_left: ContextVar[list[float] | None] = ContextVar("work_left", default=None)


@contextmanager
def limited(*evidence: Any) -> Iterator[None]:
    """Allow as much work within as evidence of this size may take; of nested ones the first counts.

    Parameters
    ----------
    evidence : Certificate, PathResult, or others that hold arrays
    """
    if _left.get() is not None:
        yield
        return
    token = _left.set([SECONDS + EACH * sum(map(_numbers, evidence))])
    try:
        yield
    finally:
        _left.reset(token)


def _numbers(evidence: Any) -> int:
    """Return how many numbers there are in arrays, however deep, but for those of problems."""
    if isinstance(evidence, np.ndarray):
        return int(evidence.size)
    if isinstance(evidence, Problem | str):
        return 0
    if is_dataclass(evidence):
        return sum(_numbers(getattr(evidence, field.name)) for field in fields(evidence))
    if isinstance(evidence, Mapping):
        return sum(map(_numbers, evidence.values()))
    if not isinstance(evidence, list | tuple) or isinstance(next(iter(evidence), ""), str):
        # lists of names are long
        return 0
    return sum(map(_numbers, evidence))


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
            "the evidence takes more work than a check may take, some minutes for its size"
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
