r"""Rays that never leave the constraints, without rounding: near computed ones, on the same face.

A ray r that improves fastest lies on the boundary of the cone of directions: rows and bounds are 0
along it, vectors of second-order cones vanish or keep a direction, matrices have a null space. All
of these are linear equations in r,

.. math:: a'r = 0, \quad r_j = 0, \quad u = 0, \quad w = u_0 d \;\; (\|d\| = 1), \quad M'(r) v = 0,

where the coefficients are those of the data but for d and v, which are taken for simple fractions.
They are solved in rational arithmetic, the unknowns that they leave free rounded to a few binary
digits, and the solution is multiplied by its common denominator: what is not an equation is met
with room to spare.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from math import gcd, lcm

import numpy as np
import scipy.sparse as sp

from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import SecondOrderCone, SemidefiniteBlock, triangle
from sparseopt.problems.misdp.problem import MISDP

from ..settings import (
    RAY_BITS,
    RAY_DENOMINATOR,
    RAY_DENSE,
    RAY_ENTRIES,
    RAY_FACE,
    RAY_FRACTION,
    RAY_ORDER,
    RAY_RANK,
    RAY_WORK,
)

Equation = dict[int, Fraction]
"""Coefficients by variable; the right side is 0."""
_LARGEST = 2**53
"""Whole numbers up to here are exact in double precision."""


def exact_rays(
    cone: MISDP,
    ray: Array,
    at: Array | None = None,
    every_bits: Sequence[int] = RAY_BITS,
    near: float = RAY_FACE,
) -> Iterator[Array]:
    """Yield rays of whole numbers near a computed one, the simplest first.

    They solve the equations of its face exactly; inequalities they meet as it does.

    Parameters
    ----------
    cone : MISDP
        The directions that keep the constraints, of
        :func:`~sparseopt.solvers.misdp.unbounded.recession.recession`.
    ray : array of shape (n,)
        One of them, up to some 1e-7 of its largest entry.
    at : array of shape (n,), optional
        A ray on the face that is meant, if that is a larger one. Rows are 0 where they are at both.
    every_bits : sequence of int
        Binary digits that free entries are rounded to.
    near : float
        What is 0 along a ray of length 1, in units of the coefficients.
    """
    largest = float(np.abs(ray).max(initial=0.0))
    if largest == 0.0 or _is_large(cone):
        return
    unit = ray / largest
    face = unit if at is None else at / float(np.abs(at).max())
    fixed = _at_bounds(cone, face, near)
    equations = _equations(cone, face, unit, near)
    solved = _eliminated(equations, set(np.flatnonzero(fixed).tolist()))
    if solved is None:
        return
    free = [j for j in range(len(unit)) if not fixed[j] and j not in solved]
    seen = set()
    for bits in every_bits:
        values = {j: Fraction(round(float(unit[j]) * 2**bits), 2**bits) for j in free}
        whole = _whole(_completed(solved, values), len(unit))
        if whole is not None and whole.tobytes() not in seen:
            seen.add(whole.tobytes())
            yield whole


def off_rational_faces(cone: MISDP, ray: Array) -> list[SecondOrderCone | SemidefiniteBlock]:
    """Return the parts of a cone on whose boundary a ray is, where no simple fractions are.

    Parameters
    ----------
    cone, ray : as for :func:`exact_rays`
    """
    unit, found = ray / (float(np.abs(ray).max(initial=0.0)) or 1.0), []
    for part in cone.cones:
        u = part.F @ unit
        head, norm = part.head_and_norm(u)
        on_boundary = head - norm <= RAY_FACE < head
        if on_boundary and not any(True for _ in _of_cone(part, unit, RAY_FACE)):
            found.append(part)
    for block in cone.blocks:
        M = block.matrix(unit)
        values, vectors = np.linalg.eigh(M)
        null = vectors[:, values <= RAY_FACE].T
        if values[-1] <= RAY_FACE or not len(null):
            continue
        basis = _simple_basis(null)
        missed = 1.0 if basis is None else float(np.abs(M @ np.array(basis, dtype=float).T).max())
        if missed > RAY_FACE:
            found.append(block)
    return found


def on_face(cone: MISDP, ray: Array, held: Array) -> Iterator[Array]:
    """Yield the nearest ray that solves the equations of its face up to rounding.

    That is all there is where the coefficients themselves are rounded, as those of the factor of a
    singular matrix are: exactly, only 0 solves such equations.

    Parameters
    ----------
    cone, ray : as for :func:`exact_rays`
    held : bool array of shape (n,)
        The variables that are not to be moved, but for those that are 0 on the face.
    """
    largest = float(np.abs(ray).max(initial=0.0))
    if largest == 0.0 or len(ray) > RAY_DENSE or _is_large(cone):
        return
    fixed = _at_bounds(cone, ray / largest, RAY_FACE)
    equations = list(_equations(cone, ray / largest, ray / largest, RAY_FACE))
    E = np.zeros((len(equations), len(ray)))
    for line, equation in zip(E, equations, strict=True):
        line[list(equation)] = [float(value) for value in equation.values()]
    E = E[np.abs(E).any(axis=1)]
    E /= np.abs(E).max(axis=1, initial=0.0)[:, None]
    free = ~fixed
    free[held] = False
    moved = np.where(fixed, 0.0, ray)
    if not (len(E) and free.any()):
        return
    for _ in range(2):
        moved[free] -= np.linalg.lstsq(E[:, free], E @ moved, rcond=RAY_RANK)[0]
    moved[free & (np.abs(moved) <= 2.0**-52 * largest)] = 0.0
    yield moved


def keeps_exactly(cone: MISDP, ray: Array) -> bool:
    """Return whether a ray never leaves the constraints, in rational arithmetic.

    Parameters
    ----------
    cone, ray : as for :func:`exact_rays`

    Returns
    -------
    bool
        False where it may, and for what is too large to tell.
    """
    if _is_large(cone) or any(block.size > RAY_ORDER for block in cone.blocks):
        return False
    exact = [Fraction(value) for value in ray.tolist()]

    def values(F: sp.csr_array) -> list[Fraction]:
        rows = _rows(F, range(F.shape[0]))
        return [sum((exact[j] * value for j, value in row.items()), Fraction(0)) for row in rows]

    for found, low, high in (
        (exact, cone.lower, cone.upper),
        (values(cone.A), cone.row_lower, cone.row_upper),
    ):
        ends = zip(found, low.tolist(), high.tolist(), strict=True)
        if any((below == 0.0 and v < 0) or (above == 0.0 and v > 0) for v, below, above in ends):
            return False
    for part in cone.cones:
        u = values(part.F)
        heads = 2 if part.rotated else 1
        product = 2 * u[0] * u[1] if part.rotated else u[0] ** 2
        if min(u[:heads]) < 0 or product < sum(entry**2 for entry in u[heads:]):
            return False
    return all(_semidefinite(values(block.F), block.size) for block in cone.blocks)


def _is_large(cone: MISDP) -> bool:
    """Return whether there are too many coefficients for fractions."""
    parts = cone.A, *(part.F for part in (*cone.cones, *cone.blocks))
    return bool(len(cone.c) + sum(part.nnz for part in parts) > RAY_ENTRIES)


def _at_bounds(cone: MISDP, unit: Array, near: float) -> Array:
    """Return which variables with a bound are 0 along a ray of length 1, bool of shape (n,)."""
    bounded = np.isfinite(cone.lower) | np.isfinite(cone.upper)
    return np.asarray(bounded & (np.abs(unit) <= near))


def _semidefinite(packed: list[Fraction], size: int) -> bool:
    """Return whether a packed symmetric matrix is positive semidefinite, by elimination."""
    rows, columns = triangle(size)
    M = [[Fraction(0)] * size for _ in range(size)]
    for i, j, value in zip(rows.tolist(), columns.tolist(), packed, strict=True):
        M[i][j] = M[j][i] = value
    for k in range(size):
        pivot = M[k][k]
        if pivot < 0 or (pivot == 0 and any(M[i][k] for i in range(k + 1, size))):
            return False
        if pivot:
            for i in range(k + 1, size):
                times = M[i][k] / pivot
                if times:
                    M[i] = [a - times * b for a, b in zip(M[i], M[k], strict=True)]
    return True


def _equations(cone: MISDP, unit: Array, other: Array, near: float) -> Iterator[Equation]:
    """Yield the equations of the face of a ray of length 1, but for those of bounds.

    Rows that are 0 at another ray, too.
    """
    closed = np.isfinite(cone.row_lower) | np.isfinite(cone.row_upper)
    equal = (cone.row_lower == 0.0) & (cone.row_upper == 0.0)
    at_zero = np.maximum(np.abs(cone.A @ unit), np.abs(cone.A @ other)) <= near * _top(cone.A)
    yield from _rows(cone.A, np.flatnonzero(equal | (closed & at_zero)).tolist())
    for part in cone.cones:
        yield from _of_cone(part, unit, near)
    for block in cone.blocks:
        yield from _of_matrix(block, unit, near)


def _of_cone(part: SecondOrderCone, unit: Array, face: float) -> Iterator[Equation]:
    """Yield the equations of a vector on the boundary of its cone."""
    u, near = part.F @ unit, face * float(_top(part.F).max(initial=0.0))
    heads = 2 if part.rotated else 1
    small = np.flatnonzero(u[:heads] <= near).tolist()
    tail = range(heads, len(u))
    if small:
        yield from _rows(part.F, [*small, *tail])
    elif not part.rotated and u[0] - float(np.linalg.norm(u[1:])) <= near:
        direction = [_fraction(float(entry) / float(u[0])) for entry in u[1:]]
        if None not in direction and sum(d * d for d in direction if d is not None) == 1:
            head = next(_rows(part.F, [0]))
            for row, d in zip(_rows(part.F, tail), direction, strict=True):
                yield _sum(((Fraction(1), row), (-(d or Fraction(0)), head)))


def _of_matrix(block: SemidefiniteBlock, unit: Array, face: float) -> Iterator[Equation]:
    """Yield that a singular matrix has zeros on its null space, if that is one of few digits."""
    near = face * float(_top(block.F).max(initial=0.0))
    values, vectors = np.linalg.eigh(block.matrix(unit))
    null = vectors[:, values <= near].T
    if not len(null):
        return
    s = block.size
    place = np.empty((s, s), dtype=int)
    rows, columns = triangle(s)
    place[rows, columns] = place[columns, rows] = np.arange(len(rows))
    basis = _simple_basis(null)
    if basis is None:
        return
    entries = list(_rows(block.F, range(len(rows))))
    for v in basis:
        for i in range(s):
            yield _sum((v[k], entries[place[i, k]]) for k in range(s) if v[k])


def _simple_basis(null: Array) -> list[list[Fraction]] | None:
    """Return the reduced row echelon form of a matrix, in simple fractions; None without them."""
    reduced = null.copy()
    for k in range(len(reduced)):
        # the largest entry in what is left, so that all others are at most about 1
        row, column = np.unravel_index(int(np.abs(reduced[k:]).argmax()), reduced[k:].shape)
        reduced[[k, k + int(row)]] = reduced[[k + int(row), k]]
        reduced[k] /= reduced[k, column]
        others = np.arange(len(reduced)) != k
        reduced[others] -= np.outer(reduced[others, column], reduced[k])
    found = [[_fraction(float(entry)) for entry in row] for row in reduced]
    if any(entry is None for row in found for entry in row):
        return None
    return [[entry or Fraction(0) for entry in row] for row in found]


def _fraction(value: float) -> Fraction | None:
    """Return the simple fraction that a number is near to, or None."""
    simple = Fraction(value).limit_denominator(RAY_DENOMINATOR)
    return simple if abs(float(simple) - value) <= RAY_FRACTION else None


def _top(F: sp.csr_array) -> Array:
    """Return the largest absolute coefficient of each row."""
    return np.asarray(abs(F).max(axis=1).toarray()).ravel() if F.nnz else np.zeros(F.shape[0])


def _rows(F: sp.csr_array, which: Iterable[int]) -> Iterator[Equation]:
    for i in which:
        part = slice(int(F.indptr[i]), int(F.indptr[i + 1]))
        pairs = zip(F.indices[part].tolist(), F.data[part].tolist(), strict=True)
        yield {j: Fraction(value) for j, value in pairs if value}


def _sum(terms: Iterable[tuple[Fraction, Equation]]) -> Equation:
    """Return the sum of multiples of equations."""
    total: Equation = {}
    for times, equation in terms:
        for j, value in equation.items():
            total[j] = total.get(j, Fraction(0)) + times * value
    return {j: value for j, value in total.items() if value}


def _eliminated(equations: Iterable[Equation], zero: set[int]) -> dict[int, Equation] | None:
    """Return unknowns, each by those that were not yet solved for: j = sum of value times k.

    `zero` are unknowns that are 0. None where it is too much work.
    """
    solved: dict[int, Equation] = {}
    work = 0
    for equation in sorted(equations, key=len):
        left = {j: value for j, value in equation.items() if j not in zero}
        while True:
            j = next((j for j in left if j in solved), None)
            if j is None:
                break
            times = left.pop(j)
            work += (len(left) + len(solved[j])) * (1 + times.numerator.bit_length() // 256)
            if work > RAY_WORK:
                return None
            left = _sum(((Fraction(1), left), (times, solved[j])))
        if left:
            # the simplest coefficient, so that few digits come in
            pivot = min(left, key=lambda j: (left[j].numerator * left[j].denominator) ** 2)
            factor = left.pop(pivot)
            solved[pivot] = {j: -value / factor for j, value in left.items()}
    return solved


def _completed(solved: dict[int, Equation], values: dict[int, Fraction]) -> dict[int, Fraction]:
    """Return all unknowns that are not 0; the last ones solved for have only free ones in them."""
    known = dict(values)
    for j in reversed(solved):
        terms = (value * known.get(k, Fraction(0)) for k, value in solved[j].items())
        known[j] = sum(terms, Fraction(0))
    return known


def _whole(values: dict[int, Fraction], n: int) -> Array | None:
    """Return the vector times its common denominator; None where that is not exact, or all 0."""
    times = lcm(*(value.denominator for value in values.values()))
    numbers = {j: int(value * times) for j, value in values.items()}
    common = gcd(*numbers.values())
    if common == 0 or max(map(abs, numbers.values())) // common > _LARGEST:
        return None
    whole = np.zeros(n)
    for j, number in numbers.items():
        whole[j] = number // common
    return whole
