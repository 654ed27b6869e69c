"""Exact samples of the discrete Gaussian distribution, by integers alone.

Nothing is rounded and no logarithm is taken, so no low bits leak. The random numbers are the
operating system's; in a context :func:`insecure` they are a seeded generator's, for tests, and what
is made there says so.

How long a draw takes depends on its value: the larger, the more trials. So the operating system's
draws are made by the thousand at least and those that are returned are picked among them, blindly.

Source: Canonne, Kamath, Steinke: The discrete Gaussian for differential privacy (2020), algorithms
1 to 3.
"""

from __future__ import annotations

import math
import random
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_Source = Callable[[int], int]

_LEAST_BATCH = 1024
"""Draws that are made together: one value's rank correlation with the time of all is .01."""

_SEEDED: ContextVar[random.Random | None] = ContextVar("sparseopt_insecure", default=None)


@contextmanager
def insecure(seed: int) -> Iterator[None]:
    """Draw noise from a seeded generator, for tests: whatever is released here is NOT PRIVATE.

    Parameters
    ----------
    seed : int
    """
    token = _SEEDED.set(random.Random(seed))
    try:
        yield
    finally:
        _SEEDED.reset(token)


def is_insecure() -> bool:
    """Return whether noise comes from a seeded generator here."""
    return _SEEDED.get() is not None


def discrete_gaussian(variance: int, count: int) -> list[int]:
    r"""Return independent integers with :math:`P(k) \propto e^{-k^2 / (2 \sigma^2)}`.

    All are drawn before any is returned, and with few of them others that are not.

    Parameters
    ----------
    variance : int
        sigma^2, at least 1.
    count : int
        How many.
    """
    seeded = _SEEDED.get()
    t = math.isqrt(variance) + 1
    if seeded is not None:
        return [_one(variance, t, seeded.randrange) for _ in range(count)]
    drawn = [_one(variance, t, secrets.randbelow) for _ in range(max(count, _LEAST_BATCH))]
    return drawn if count == len(drawn) else random.SystemRandom().sample(drawn, count)


def _one(variance: int, t: int, below: _Source) -> int:
    """Algorithm 3: discrete Laplace noise of scale t, accepted with the Gaussian's probability.

    The exponent (|y| - variance / t)^2 / (2 variance) is a fraction of integers.
    """
    denominator = 2 * variance * t * t
    while True:
        y = _laplace(t, below)
        if _bernoulli_exp((abs(y) * t - variance) ** 2, denominator, below):
            return y


def _laplace(t: int, below: _Source) -> int:
    """Algorithm 2: an integer with P(k) proportional to exp(-|k| / t)."""
    while True:
        u = below(t)
        if not _bernoulli_exp(u, t, below):
            continue
        v = 0
        while _bernoulli_exp(1, 1, below):
            v += 1
        x = u + t * v
        negative = below(2)
        if not (negative and x == 0):
            return -x if negative else x


def _bernoulli_exp(numerator: int, denominator: int, below: _Source) -> bool:
    """Algorithm 1: True with the probability exp(-numerator / denominator)."""
    while numerator > denominator:
        if not _bernoulli_exp(1, 1, below):
            return False
        numerator -= denominator
    k = 1
    while below(denominator * k) < numerator:
        k += 1
    return k % 2 == 1
