"""The centre, from which lam is measured, and how it is moved where values change fast.

Values are kept as those at the centre and their rates. Near the end of a path that becomes
infeasible the rates may grow until such sums lose their digits; around a nearer centre they do not.
"""

from __future__ import annotations

from sparseopt.problems.base import Array

from ..common.compiled import compiled
from .fresh import largest
from .tableau import DenseProgram, Tableau

__all__ = ["recentre", "steepness_of", "uncentre"]


@compiled
def steepness_of(program: DenseProgram, tableau: Tableau) -> float:
    """Return how much larger a change with lam, since it was at the centre, is than a value.

    The values are sums of what they are at the centre and of that change, and have lost those
    digits. The largest ratio of the two over values and over multipliers, whose sizes are not less
    than those of the kinks and of the slopes:
    max over both kinds of |lam| max_i |w_1i| / max_i |w_0i + lam w_1i|.
    """
    codes, w, lam = tableau.codes, tableau.w, tableau.position[0]
    ratio = 0.0
    for parity in range(2):
        size = largest(program.slopes if parity else program.kinks, lam)
        rate = 0.0
        for i in range(len(codes)):
            if codes[i] & 1 == parity:
                size = max(size, abs(w[0, i] + lam * w[1, i]))
                rate = max(rate, abs(w[1, i]))
        if size > 0.0:
            ratio = max(ratio, abs(lam) * rate / size)
    return ratio


@compiled
def recentre(program: DenseProgram, tableau: Tableau) -> float:
    """Make the current lam the centre, from which the parameter is measured; return how far it was.

    To be followed by a refresh.
    """
    position = tableau.position
    move = position[0]
    for i in range(program.kinks.shape[1]):
        program.kinks[0, i] += move * program.kinks[1, i]
    for i in range(program.slopes.shape[1]):
        program.slopes[0, i] += move * program.slopes[1, i]
    for i in range(tableau.w.shape[1]):
        tableau.w[0, i] += move * tableau.w[1, i]
    position[0] -= move
    position[2] -= move
    position[7] -= move
    return float(move)


@compiled
def uncentre(bounds: Array, first: int, begin: int, stop: int, centre: float, end: float) -> None:
    """Bring the segments `begin` to `stop` (excluded), recorded around a centre, into terms of lam.

    `first` is the first one of their path, and `end` where that may end.
    """
    for s in range(begin, stop):
        last = bounds[s, 0] == end - centre
        bounds[s, 0] = end if last else bounds[s, 0] + centre
        bounds[s, 1] = bounds[s - 1, 0] if s > first else bounds[s, 1] + centre
