"""Choosing lam and d by the test itself, on halves of the training samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.two_sample.permutation import permutation_test
from sparseopt.two_sample.selecting import Method, automatic_lam, choose


@dataclass(frozen=True)
class Candidate:
    """One setting and how it did on the half that was held out.

    Attributes
    ----------
    d : int
    lam : float
    p_value : float
    score : float
        (statistic - mean of the permutations) / their standard deviation: p-values are often equal.
    """

    d: int
    lam: float
    p_value: float
    score: float


def tune(
    method: Method,
    x: Array,
    y: Array,
    ds: Sequence[int],
    lams: Sequence[float],
    relative: bool,
    permutations: int,
    rng: np.random.Generator,
) -> list[Candidate]:
    """Select on one half of the training samples, test on the other; the best setting first.

    With `relative` the values of lam are multiples of the automatic one on the first half.

    The order is by p-value, as in Wang, Dey and Xie, section 3.1, and by the standardised
    statistic where p-values tie. All settings see the same halves and the same permutations.

    Parameters
    ----------
    method : Method
    x, y : arrays of shapes (n, D) and (m, D)
        The training samples.
    ds : sequence of int
        Numbers of variables to compare.
    lams : sequence of float
        Weights of the variance to compare.
    relative : bool
        Whether `lams` are multiples of the automatic one.
    permutations : int
        Of each test.
    rng : numpy Generator

    Returns
    -------
    list of Candidate
    """
    order_x, order_y = rng.permutation(len(x)), rng.permutation(len(y))
    half_x, half_y = len(x) // 2, len(y) // 2
    train = x[order_x[:half_x]], y[order_y[:half_y]]
    held = x[order_x[half_x:]], y[order_y[half_y:]]
    seed = int(rng.integers(2**32))
    found = []
    for d in ds:
        unit = automatic_lam(method, *train, d) if relative else 1.0
        for lam in dict.fromkeys(unit * factor for factor in lams):
            statistic = choose(method, *train, d, lam).statistic(*held)
            value, p, null = permutation_test(statistic, permutations, np.random.default_rng(seed))
            spread = float(null.std())
            score = (value - float(null.mean())) / spread if spread > 0.0 else 0.0
            found.append(Candidate(d, lam, p, score))
    return sorted(found, key=lambda each: (each.p_value, -each.score))
