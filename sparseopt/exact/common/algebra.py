"""Linear algebra over the rational numbers."""

# mypy: ignore-errors

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

from .rationals import ZERO, power, root_up
from .verdicts import Clock


def whole(values):
    """Fractions as integers over one denominator."""
    scale = math.lcm(*(v.denominator for v in values)) if values else 1
    return [v.numerator * (scale // v.denominator) for v in values], scale


class Matrix:
    """A sparse matrix of integers over one denominator, by rows and by columns."""

    def __init__(self, rows, width):
        rows = [{j: a for j, a in row.items() if a} for row in rows]
        flat, self.scale = whole([a for row in rows for a in row.values()])
        numbers, self.shape = iter(flat), (len(rows), width)
        self.rows = [[(j, next(numbers)) for j in row] for row in rows]
        self.columns = [[] for _ in range(width)]
        for i, row in enumerate(self.rows):
            for j, a in row:
                self.columns[j].append((i, a))

    @cached_property
    def sizes(self):
        """The entries' sizes to some digits, by rows."""
        scale = Decimal(self.scale)
        return [[(j, Decimal(abs(a)) / scale) for j, a in row] for row in self.rows]

    @cached_property
    def factors(self):
        """Powers of two by which variables, then rows, become comparable: entries near one."""
        width = self.scale.bit_length()
        logs = [
            [[(k, abs(a).bit_length() - width) for k, a in line] for line in lines]
            for lines in (self.rows, self.columns)
        ]
        row, column = ([0] * len(lines) for lines in logs)
        for _ in range(3):
            for lines, own, other in ((logs[0], row, column), (logs[1], column, row)):
                for i, line in enumerate(lines):
                    if line:
                        sums = [e + other[k] for k, e in line]
                        own[i] = -(min(sums) + max(sums)) // 2
        return [Decimal(2) ** e for e in (*(-e for e in column), *row)]

    def _times(self, lines, x):
        ints, scale = whole(x)
        scale *= self.scale
        return [Fraction(sum(a * ints[j] for j, a in line), scale) for line in lines]

    def times(self, x):
        Clock.check()
        return self._times(self.rows, x)

    def transposed(self, x):
        return self._times(self.columns, x)

    def row(self, i):
        return {j: Fraction(a, self.scale) for j, a in self.rows[i]}

    def column(self, j):
        return {i: Fraction(a, self.scale) for i, a in self.columns[j]}


def solve(equations, targets, count):
    """Some x with E x = b exactly, zero where no pivot is; None where there is none (Bareiss)."""
    rows = []
    for row, b in zip(equations, targets, strict=True):
        ints, _ = whole([*(row.get(j, ZERO) for j in range(count)), b])
        rows.append(ints)
    last, pivots = 1, []
    for i, row in enumerate(rows):
        Clock.check()
        pivot = max(range(count), key=lambda j: abs(row[j]), default=None)
        if pivot is None or row[pivot] == 0:
            if row[-1]:
                return None
            pivots.append(None)
            continue
        for other in rows[i + 1 :]:
            entry = other[pivot]
            other[:] = [
                (row[pivot] * a - entry * b) // last for a, b in zip(other, row, strict=True)
            ]
        last = row[pivot]
        pivots.append(pivot)
    found = {}
    for row, pivot in zip(reversed(rows), reversed(pivots), strict=True):
        if pivot is not None:
            known = sum(row[j] * y for j, y in found.items())
            found[pivot] = (last * row[-1] - known) // row[pivot]
    return [Fraction(found.get(j, 0), last) for j in range(count)]


def positive(matrix, slacks):
    """Whether M + diag(slacks) is positive semidefinite, by a guessed factor and a remainder.

    After a scaling to a diagonal of about one, M + S = L L' + R, where L is a rounded Cholesky
    factor of M + S / 2 and R has a dominant diagonal: both are semidefinite.
    """
    Clock.check()
    some = [i for i, row in enumerate(matrix) if any(row)]
    matrix, slacks = [[matrix[i][j] for j in some] for i in some], [slacks[i] for i in some]
    n, tops = len(matrix), [row[i] + slacks[i] for i, row in enumerate(matrix)]
    if min(tops, default=1) <= 0:
        return False
    units = [power(root_up(top)) for top in tops]
    matrix = [
        [v / (a * b) for v, b in zip(row, units, strict=True)]
        for a, row in zip(units, matrix, strict=True)
    ]
    slacks = [slack / (a * a) for slack, a in zip(slacks, units, strict=True)]
    if any(abs(v) > 16 for row in matrix for v in row):
        return False
    L = []
    for i in range(n):
        Clock.check()
        line = []
        for j in range(i + 1):
            rest = float(matrix[i][j]) - sum(
                a * b for a, b in zip(line, L[j] if j < i else line, strict=False)
            )
            if j < i:
                line.append(rest / L[j][j])
            elif not (rest := rest + float(slacks[i]) / 2.0) > 0.0:
                return False
            else:
                line.append(math.sqrt(rest * (1.0 - 2.0**-40)))  # R keeps some of a large pivot
        L.append(line)
    unit = 2**70
    ints = [[round(Fraction(a) * unit) for a in line] for line in L]
    left = [ZERO] * n
    for i in range(n):
        Clock.check()
        for j in range(i + 1):
            product = sum(a * b for a, b in zip(ints[i], ints[j], strict=False))
            rest = matrix[i][j] - Fraction(product, unit * unit)
            if i == j:
                left[i] += rest + slacks[i]
            else:
                left[i] -= abs(rest)
                left[j] -= abs(rest)
    return all(a >= 0 for a in left)


def semidefinite(matrix):
    """Whether a symmetric matrix of fractions is positive semidefinite, by elimination."""
    matrix = [list(row) for row in matrix]
    for k, row in enumerate(matrix):
        Clock.check()
        if row[k] < 0 or (row[k] == 0 and any(row[k:])):
            return False
        for other in matrix[k + 1 :] if row[k] else []:
            factor = other[k] / row[k]
            other[k:] = [a - factor * b for a, b in zip(other[k:], row[k:], strict=True)]
    return True


def dense(table):
    return [{j: Fraction(a) for j, a in enumerate(row) if a} for row in table.rows()]


def sparse(arrays, name):
    if name in arrays:
        return dense(arrays[name]), arrays[name].shape[1]
    data, index, ptr = (arrays[f"{name}.{part}"].values for part in ("data", "indices", "indptr"))
    rows = [{} for _ in ptr[1:]]
    for i, row in enumerate(rows):
        for k in range(ptr[i], ptr[i + 1]):
            row[index[k]] = row.get(index[k], ZERO) + Fraction(data[k])
    rows = [{j: a for j, a in row.items() if a} for row in rows]
    return rows, arrays[f"{name}.shape"].values[1]


def gram(rows, width, divisor, count):
    """X' diag(count) X / divisor exactly."""
    A, (times, unit) = Matrix(rows, width), whole(count)
    full = [[0] * len(rows) for _ in range(width)]
    for j, column in enumerate(A.columns):
        for i, a in column:
            full[j][i] = a
    counted = [list(map(int.__mul__, column, times)) for column in full]
    scale = divisor * unit * A.scale**2
    out = [{} for _ in range(width)]
    for i in range(width):
        Clock.check()
        for j in range(i + 1):
            out[i][j] = out[j][i] = Fraction(sum(map(int.__mul__, full[i], counted[j]))) / scale
    return out


def transpose(rows):
    return [list(column) for column in zip(*rows, strict=True)]


def largest(values, count):
    """The sum of the largest values, of all where there are fewer."""
    return sum(sorted(values, reverse=True)[: max(count, 0)], ZERO)


def triangle(size):
    return [(i, j) for j in range(size) for i in range(j, size)]


def rounded(value, side):
    """A nearby fraction of 80 bits that is not below (side 1) or not above; None stays."""
    if not value:
        return value
    unit = Fraction(2) ** (80 - value.numerator.bit_length() + value.denominator.bit_length())
    return side * Fraction(math.ceil(side * value * unit)) / unit


def unpacked(entries, size):
    matrix = [[ZERO] * size for _ in range(size)]
    for v, (i, j) in zip(entries, triangle(size), strict=True):
        matrix[i][j] = matrix[j][i] = v
    return matrix


def along(form, x):
    """The value of a sparse row, a dict of places to coefficients, at x."""
    return sum((a * x[j] for j, a in form.items()), ZERO)


def dot(one, two):
    return sum((a * b for a, b in zip(one, two, strict=True)), ZERO)


def fdot(one, two):
    return math.fsum(a * b for a, b in zip(one, two, strict=True))


def largest_eigenvalues(S, k):
    """Upper bounds of the k largest eigenvalues: S - t I has fewer than i positive ones at each.

    The number of positive pivots of an elimination is that of positive eigenvalues (Sylvester).
    """
    n, size = len(S), power(max((abs(v) for row in S for v in row), default=ZERO))
    unit = 2**90
    ints = [[round(v / size * unit) for v in row] for row in S]  # moves them by n / (2 unit)
    diagonal, beside = tridiagonal([[v / unit for v in row] for row in ints])
    reach, found = 2.0 * n, []
    for i in range(1, k + 1):
        low, high = -reach, reach
        for _ in range(60):
            middle = (low + high) / 2.0
            low, high = (middle, high) if above(diagonal, beside, middle) >= i else (low, middle)
        step = reach * 1e-15
        while True:
            t = round(Fraction(high + step) * unit)
            count = positives(ints, t)
            if count is not None and count < i:
                break
            step *= 2.0
        found.append(Fraction(2 * t + n, 2 * unit) * size)
    return found


def tridiagonal(M):
    """The diagonal of a similar tridiagonal matrix and what is beside it, in floats (Householder).

    Row k is reflected to one entry by v = x - alpha e1: M - v w' - w v' is the reflected rest.
    """
    diagonal, beside = [], []
    while len(M) > 1:
        Clock.check()
        v = M[0][1:]
        alpha = -math.copysign(math.hypot(*v), v[0])
        diagonal.append(M[0][0])
        beside.append(alpha)
        M, v[0] = [row[1:] for row in M[1:]], v[0] - alpha
        if square := fdot(v, v):
            p = [2.0 * fdot(row, v) / square for row in M]
            part = fdot(p, v) / square
            w = [a - part * b for a, b in zip(p, v, strict=True)]
            M = [
                [a - x * d - y * b for a, b, d in zip(row, v, w, strict=True)]
                for row, x, y in zip(M, v, w, strict=True)
            ]
    return [*diagonal, *(row[0] for row in M)], beside


def above(diagonal, beside, t):
    """About how many eigenvalues of a tridiagonal matrix are above t (Sturm)."""
    count, pivot = 0, 1.0
    for d, b in zip(diagonal, [0.0, *beside], strict=False):
        pivot = d - t - b * b / (pivot or 1e-300)
        count += pivot > 0.0
    return count


def positives(S, t):
    """How many eigenvalues of S are above t; None where a pivot vanishes. Bareiss in integers."""
    M = [[v - t * (i == j) for j, v in enumerate(row)] for i, row in enumerate(S)]
    last, count = 1, 0
    for k, row in enumerate(M):
        Clock.check()
        if row[k] == 0:
            return None
        count += (row[k] > 0) == (last > 0)
        for other in M[k + 1 :]:
            entry = other[k]
            other[k:] = [
                (row[k] * a - entry * b) // last for a, b in zip(other[k:], row[k:], strict=True)
            ]
        last = row[k]
    return count
