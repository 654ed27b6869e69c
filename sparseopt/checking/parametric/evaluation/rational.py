r"""Linear equations of floating-point data, solved in rational arithmetic.

What rounding leaves open (does this multiplier vanish, is that reduced cost of the right sign?) has
an exact answer for the exact numbers of the problem: equations with a few of A's entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

import numpy as np

from sparseopt.checking.work import bits_of, fraction_seconds, spend
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.kronecker import KroneckerMap, RepeatedMap
from sparseopt.problems.parametric.maps import (
    DenseMap,
    GramMap,
    LinearMap,
    SparseMap,
    StackedMap,
)

_ZERO = Fraction(0)
_ROUNDS = 2
"""How often equations are added that the solution of others does not fulfil."""
_SHORT = 2
"""Rows of so many entries are eliminated first; that fills nothing up."""
_PRIME = 2**31 - 1
"""Products of two residues fit into 64 bits."""
_MODULAR, _MODULAR_STEP = 2e-6, 4e-9
"""Seconds of an entry that becomes a residue, and of one that is eliminated."""


STEP = 1e-4
"""Seconds of computing an entry."""
_READ, _ENTRY = 2e-7, 3e-6
"""Seconds of an entry that is looked at, and of one that becomes a fraction."""


class Budget:
    """How many entries may still be computed; all take some ten seconds."""

    def __init__(self) -> None:
        self.left = 100_000

    def take(self, steps: int) -> bool:
        """Return whether so many are left, and take them."""
        if steps > self.left:
            return False
        self.left -= steps
        return True


def fractions_of(values: Array) -> list[Fraction]:
    """Return finite floating-point numbers, shape (k,), as fractions."""
    return [Fraction(value) for value in np.asarray(values, float).tolist()]


def entries(
    A: LinearMap, rows: Array, columns: Array, budget: Budget
) -> list[dict[int, Fraction]] | None:
    """Return the nonzero entries of A[rows, columns] exactly, by their place in `columns`.

    Those of a Gram matrix are sums of exact products of the samples.

    Parameters
    ----------
    A : LinearMap
    rows, columns : int arrays of shapes (q,) and (k,)
    budget : Budget

    Returns
    -------
    list of q dicts, or None
        None where that takes more than the budget, or the map is not known here.
    """
    rows, columns = np.asarray(rows), np.asarray(columns)
    if not budget.take(len(rows) * len(columns) // 8):
        return None
    spend(_READ * len(rows) * len(columns))
    if isinstance(A, DenseMap | SparseMap):
        given = A.block(rows, columns)
        spend(_ENTRY * np.count_nonzero(given))
        return [{j: Fraction(a) for j, a in enumerate(row) if a != 0.0} for row in given.tolist()]
    if isinstance(A, GramMap):
        return _of_gram(A, rows, columns, budget)
    if isinstance(A, StackedMap):
        found: list[dict[int, Fraction] | None] = [None] * len(rows)
        for part, begin, end in zip(A.parts, A.offsets[:-1], A.offsets[1:], strict=True):
            here = np.flatnonzero((rows >= begin) & (rows < end))
            block = entries(part, rows[here] - begin, columns, budget)
            if block is None:
                return None
            for place, row in zip(here.tolist(), block, strict=True):
                found[place] = row
        return [row for row in found if row is not None]
    if isinstance(A, KroneckerMap):
        return _of_kronecker(A, rows, columns, budget)
    if isinstance(A, RepeatedMap):
        return _of_repeated(A, rows, columns, budget)
    return None


def _of_gram(
    A: GramMap, rows: Array, columns: Array, budget: Budget
) -> list[dict[int, Fraction]] | None:
    names = np.union1d(rows, columns)
    if not budget.take(len(names)):
        return None
    data = A.samples(names)
    data = data[data.any(axis=1)]
    if not budget.take(len(rows) * len(columns) * len(data) // 4):
        return None
    spend(_ENTRY * len(rows) * len(columns) * len(data))
    samples = dict(zip(names.tolist(), map(fractions_of, data.T), strict=True))
    divisor = Fraction(float(A.divisor))
    return [
        {
            k: sum((a * b for a, b in zip(samples[i], samples[j], strict=True)), _ZERO) / divisor
            for k, j in enumerate(columns.tolist())
        }
        for i in rows.tolist()
    ]


def _of_kronecker(
    A: KroneckerMap, rows: Array, columns: Array, budget: Budget
) -> list[dict[int, Fraction]] | None:
    (i2, i1), (j2, j1) = np.divmod(rows, A.right.shape[0]), np.divmod(columns, A.right.shape[1])
    left, right = entries(A.left, i2, j2, budget), entries(A.right, i1, j1, budget)
    if left is None or right is None:
        return None
    return [
        {k: one[k] * two[k] for k in one.keys() & two.keys()}
        for one, two in zip(left, right, strict=True)
    ]


def _of_repeated(
    A: RepeatedMap, rows: Array, columns: Array, budget: Budget
) -> list[dict[int, Fraction]] | None:
    (i_block, i), (j_block, j) = (
        np.divmod(rows, A.part.shape[0]),
        np.divmod(columns, A.part.shape[1]),
    )
    block = entries(A.part, i, j, budget)
    if block is None:
        return None
    return [
        {k: a for k, a in row.items() if j_block[k] == own}
        for own, row in zip(i_block.tolist(), block, strict=True)
    ]


def only_zero_solves(equations: Sequence[dict[int, Fraction]], unknowns: int) -> bool:
    """Return whether E x = 0 has no solution but 0: a proof, by the rank modulo a prime.

    That rank is at most the rational one. It takes a small part of the time of
    :func:`solve_near`, whose numbers grow.

    Parameters
    ----------
    equations : list of q dicts
        The rows of E, by columns 0 to unknowns - 1.
    unknowns : int

    Returns
    -------
    bool
        False as well where the prime divides what decides.
    """
    if len(equations) < unknowns:
        return False
    spend(_MODULAR * sum(map(len, equations)) + _MODULAR_STEP * len(equations) * unknowns**2)
    rest = np.zeros((len(equations), unknowns), dtype=np.int64)
    for row, own in zip(rest, equations, strict=True):
        for j, a in own.items():
            if a.denominator % _PRIME == 0:
                return False
            row[j] = a.numerator * pow(a.denominator, -1, _PRIME) % _PRIME
    for j in range(unknowns):
        pivots = np.flatnonzero(rest[j:, j])
        if len(pivots) == 0:
            return False
        rest[[j, j + pivots[0]]] = rest[[j + pivots[0], j]]
        inverse = pow(int(rest[j, j]), -1, _PRIME)
        factors = rest[j + 1 :, j] * inverse % _PRIME
        rest[j + 1 :, j:] -= factors[:, None] * rest[j, j:] % _PRIME
        rest[j + 1 :, j:] %= _PRIME
    return True


def solve_near(
    equations: Sequence[dict[int, Fraction]],
    targets: Sequence[Sequence[Fraction]],
    start: Sequence[Sequence[Fraction]],
    budget: Budget,
) -> list[list[Fraction]] | None:
    r"""Solve E x = b exactly, changing as few entries of a nearby x as there are equations.

    By elimination; what is no pivot stays as it is. The pivot of a row is the entry that a change
    relative to x moves most. Rows of one or two entries go first, the rest are eliminated without
    fractions (Bareiss 1968).

    Parameters
    ----------
    equations : list of q dicts
        The rows of E, by columns 0 to k - 1.
    targets : for each right side q fractions
    start : for each right side k fractions
    budget : Budget

    Returns
    -------
    list of solutions, or None
        None where there is no solution, or where it takes more than the budget.
    """
    # Of more equations than unknowns most follow from the others, and only need to be tested.
    chosen = list(range(min(len(equations), max(map(len, start), default=0))))
    for _ in range(_ROUNDS):
        some = [[side[i] for i in chosen] for side in targets]
        found = _solve([equations[i] for i in chosen], some, start, budget)
        if found is None:
            return None
        failed = [
            i
            for i, row in enumerate(equations)
            if any(
                sum((a * x[j] for j, a in row.items()), _ZERO) != side[i]
                for x, side in zip(found, targets, strict=True)
            )
        ]
        if not failed:
            return found
        chosen += failed
    return None


def _solve(
    equations: Sequence[dict[int, Fraction]],
    targets: Sequence[Sequence[Fraction]],
    start: Sequence[Sequence[Fraction]],
    budget: Budget,
) -> list[list[Fraction]] | None:
    sides = len(targets)
    unit = [_power_of_two(max(map(abs, values))) for values in zip(*start, strict=True)]
    # Column -1 - s is what the start misses of right side s.
    rows = [{j: a * unit[j] for j, a in row.items() if a} for row in equations]
    for s, (side, x) in enumerate(zip(targets, start, strict=True)):
        for row, own, b in zip(rows, equations, side, strict=True):
            missing = b - sum((a * x[j] for j, a in own.items()), _ZERO)
            if missing != 0:
                row[-1 - s] = missing
    order: list[tuple[dict[int, Fraction], int]] = []
    while short := [row for row in rows if sum(j >= 0 for j in row) <= _SHORT]:
        row = min(short, key=len)
        rows.remove(row)
        if not any(j >= 0 for j in row):
            if row:
                return None
            continue
        pivot = max((j for j in row if j >= 0), key=lambda j: abs(row[j]))
        order.append((row, pivot))
        for other in rows:
            if pivot not in other:
                continue
            seconds = _seconds(row, other, pivot)
            if not budget.take(max(len(row), int(seconds / STEP))):
                return None
            spend(seconds)
            factor = other.pop(pivot) / row[pivot]
            for j, a in row.items():
                if j != pivot:
                    other[j] = other.get(j, _ZERO) - factor * a
                    if other[j] == 0:
                        del other[j]
    core = _eliminate(rows, sides, budget)
    if core is None:
        return None
    solutions = []
    for s, x in enumerate(start):
        step = {j: values[s] for j, values in core.items()}
        for row, pivot in reversed(order):
            known = sum((a * step[j] for j, a in row.items() if j >= 0 and j in step), _ZERO)
            step[pivot] = (row.get(-1 - s, _ZERO) - known) / row[pivot]
        solutions.append([value + step.get(j, _ZERO) * unit[j] for j, value in enumerate(x)])
    return solutions


def _seconds(row: dict[int, Fraction], other: dict[int, Fraction], pivot: int) -> float:
    """Estimate what taking a multiple of one row from another one takes: fractions grow by it."""
    factor = bits_of(other[pivot]) + bits_of(row[pivot])
    return sum(
        fraction_seconds(factor, bits_of(a))
        + fraction_seconds(factor + bits_of(a), bits_of(other.get(j, _ZERO)))
        for j, a in row.items()
    )


def _power_of_two(size: Fraction) -> Fraction:
    """Return a power of two near a size, and 1 for 0."""
    if size == 0:
        return Fraction(1)
    return Fraction(2) ** (size.numerator.bit_length() - size.denominator.bit_length())


def _eliminate(
    rows: Sequence[dict[int, Fraction]], sides: int, budget: Budget
) -> dict[int, list[Fraction]] | None:
    """Solve the equations by whole numbers; return the pivots' values for each right side."""
    columns = sorted({j for row in rows for j in row if j >= 0})
    size = len(rows)
    places = [*columns, *(-1 - s for s in range(sides))]
    whole: list[list[int]] = []
    for each in rows:
        scale = lcm(*(a.denominator for a in each.values()))
        whole.append([int(each.get(j, _ZERO) * scale) for j in places])
    # The numbers grow with the steps; while they are short their products cost nothing.
    rank = min(size, len(columns))
    bits = max((abs(a).bit_length() for row in whole for a in row), default=0)
    # By half of the last length on average, for a third of the entries.
    seconds = rank * size * len(places) / 3.0 * (5e-7 + 5e-13 * (bits * rank) ** 2)
    if not budget.take(int(seconds / STEP)):
        return None
    spend(seconds)
    last, pivots = 1, list[int]()
    for i in range(size):
        row = whole[i]
        pivot = max(range(len(columns)), key=lambda j: abs(row[j]), default=-1)
        if pivot < 0 or row[pivot] == 0:
            if any(row):
                return None
            pivots.append(-1)
            continue
        value = row[pivot]
        for other in whole[i + 1 :]:
            entry = other[pivot]
            other[:] = [(value * a - entry * b) // last for a, b in zip(other, row, strict=True)]
        last = value
        pivots.append(pivot)
    # By Cramer's rule the last pivot is a common denominator.
    found: dict[int, list[int]] = {}
    for row, pivot in zip(reversed(whole), reversed(pivots), strict=True):
        if pivot < 0:
            continue
        values = []
        for s in range(sides):
            known = sum(row[j] * found[j][s] for j in found)
            values.append((last * row[len(columns) + s] - known) // row[pivot])
        found[pivot] = values
    return {columns[j]: [Fraction(y, last) for y in values] for j, values in found.items()}
