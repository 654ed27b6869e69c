r"""Whether a point of a MISDP is feasible: integers exactly, the rest to 1e-7 in the data's units.

Integer variables are rounded, and all other variables are moved into their bounds. With the
integers fixed each constraint has a **unit** that the problem's numbers give, never the point: the
least, over its continuous variables, of the largest coefficient of that variable in it; and no
more than its constant, where that is not zero. The point

- **holds** where it misses each constraint by at most 1e-7 units, rounding errors of the evaluation
  included;
- **fails** where it misses one by more than 1e-7 of the largest of its terms, after the integers
  were put in;
- is neither in between: nothing is claimed of it.

Constraints of integers only must hold up to rounding errors of the data, 1e-12 of their terms
(matrices: 1e-9 after a scaling to a diagonal of ones). And the bounds that follow from the fixed
integers must leave room for the rest.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from sparseopt.checking.misdp.implied import ImpliedBounds
from sparseopt.checking.rational import (
    Sign,
    images,
    in_cone,
    packed_matrix,
    rationals,
    semidefinite,
)
from sparseopt.checking.report import Findings
from sparseopt.checking.tolerances import CONIC, RANK_ONE
from sparseopt.installed import Deferred
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import SecondOrderCone, SemidefiniteBlock
from sparseopt.problems.misdp.problem import MISDP

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = Deferred("scipy.sparse")

_EPS = float(np.finfo(float).eps)
_DATA = 1e-12
"""Rounding errors in the data of a row of integers, relative to its terms."""
_INTEGER_MATRIX = 1e-9
"""The same for the eigenvalues of a matrix of integers, scaled to a diagonal of ones."""
_EXACT = 20_000
"""Coefficients of rows that are evaluated without rounding, where rounding leaves them open."""
_RANK_NOISE = 1e-9
"""A second eigenvalue below this, in the unit of the matrix, is rounding."""


def check_point(problem: MISDP, x: Array, findings: Findings) -> Array | None:
    """Judge a point; return it with integers rounded and bounds met, None where that is far off.

    Parameters
    ----------
    problem : MISDP
    x : array of shape (n,)
    findings : Findings
        A failed constraint is a refutation, one that is neither held nor failed a doubt.
    """
    if x.shape != problem.c.shape or not np.isfinite(x).all():
        return None
    point = x.copy()
    whole = problem.integer
    point[whole] = np.rint(point[whole])
    point[~whole] = np.clip(x, problem.lower, problem.upper)[~whole]
    judge = _Judge(findings)
    _judge_variables(problem, x, point, judge)
    if findings.refuted:
        return None
    ends = problem.row_lower, problem.row_upper
    _judge_rows("rows number", problem.A, *ends, whole, point, judge)
    for k, row in enumerate(problem.indicators):
        if point[row.binary] == 1.0:
            ends = np.array([row.lower]), np.array([row.upper])
            _judge_rows(f"indicators: row of {k}", row.a, *ends, whole, point, judge)
    for k, cone in enumerate(problem.cones):
        _judge_cone(problem, cone, point, f"cone {k}", judge)
    for k, block in enumerate(problem.blocks):
        _judge_block(problem, block, point, f"matrix {k}", judge)
    if whole.any() and not findings.refuted:
        low, high = problem.lower.copy(), problem.upper.copy()
        low[whole] = high[whole] = point[whole]
        if ImpliedBounds(problem).tighten(low, high) is None:
            findings.doubt(
                "x is feasible up to its tolerance only: with its integers the bounds that the "
                "constraints imply cross"
            )
    return point


def semidefinite_margin(
    problem: MISDP, part: SecondOrderCone | SemidefiniteBlock, x: Array
) -> float:
    """Return by how much eigenvalues of a matrix, or the head of a cone, may be too small at x.

    Parameters
    ----------
    problem : MISDP
    part : SecondOrderCone or SemidefiniteBlock
    x : array of shape (n,)

    Returns
    -------
    float
        In the units of the part's entries.
    """
    constant = part.g if isinstance(part, SecondOrderCone) else part.F0
    return CONIC * _unit(part.F, problem.integer, x, constant)


def second_eigenvalue_margin(problem: MISDP, block: SemidefiniteBlock, x: Array) -> float:
    """Return up to which size a second eigenvalue is zero where a matrix must have rank one.

    Parameters
    ----------
    problem : MISDP
    block : SemidefiniteBlock
        With a size of at least 2.
    x : array of shape (n,)

    Returns
    -------
    float
        In the units of the matrix.
    """
    first = max(0.0, float(np.linalg.eigvalsh(block.matrix(x))[-1]))
    noise = _RANK_NOISE * _unit(block.F, problem.integer, x, block.F0)
    return max(RANK_ONE * first, noise)


class _Judge:
    """Compares violations with tolerances."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings

    def compare(
        self, what: str, missed: Array | float, error: Array | float, held: Array, failed: Array
    ) -> None:
        """Judge violations, known up to `error`: fine up to `held`, wrong above `failed`.

        A negative violation is room that is left.
        """
        missed, error, held, failed = np.broadcast_arrays(
            *map(np.atleast_1d, (missed, error, held, failed))
        )
        if not len(missed):
            return
        self._findings.measure(what.split()[0].rstrip(":"), max(0.0, float(missed.max())))
        wrong = missed - error > np.maximum(held, failed)
        if wrong.any() or np.isnan(missed).any():
            at = int(np.argmax(wrong | np.isnan(missed)))
            self._findings.refute(
                f"x misses {what}{f' {at}' if len(missed) > 1 else ''} by {missed[at]:.3g} "
                f"(allowed: {held[at]:.3g})"
            )
            return
        unsure = missed + error > held
        if unsure.any():
            at = int(np.argmax(unsure))
            self._findings.doubt(
                f"x misses {what}{f' {at}' if len(missed) > 1 else ''} by {missed[at]:.3g}, known "
                f"to {error[at]:.1g}; {held[at]:.3g} would be feasible in the unit of the data"
            )


def _judge_variables(problem: MISDP, x: Array, point: Array, judge: _Judge) -> None:
    whole = problem.integer
    low, high = problem.lower, problem.upper
    ends = np.maximum(
        np.where(np.isfinite(low), np.abs(low), 0.0), np.where(np.isfinite(high), np.abs(high), 0.0)
    )
    size = np.maximum(1.0, ends)
    continuous, moved = ~whole, np.abs(point - x)
    judge.compare(
        "bounds of variable", moved[continuous], 0.0, np.array(CONIC), CONIC * size[continuous]
    )
    judge.compare("integrality", moved[whole], 0.0, np.array(CONIC), np.array(CONIC))
    outside = np.maximum(np.maximum(low - point, point - high), 0.0)[whole]
    judge.compare("bounds of integer", outside, 0.0, _DATA * ends[whole], _DATA * ends[whole])


def _judge_rows(
    what: str, A: sp.csr_array, low: Array, high: Array, whole: Array, x: Array, judge: _Judge
) -> None:
    if not A.shape[0]:
        return
    value, error, size = _evaluated(A, x, np.zeros(A.shape[0]))
    missed = np.maximum(low - value, value - high)
    ends = np.maximum(
        np.where(np.isfinite(low), np.abs(low), 0.0), np.where(np.isfinite(high), np.abs(high), 0.0)
    )
    error = error + 2.0 * _EPS * ends
    absolute = abs(sp.csr_array(A[:, ~whole]))
    least, largest = _least_and_largest(absolute)
    has = largest > 0.0
    # What the integers leave of the row: sides and terms of the continuous variables.
    fixed = A[:, whole] @ x[whole]
    side = np.where(low - value > value - high, low, high)
    net = np.abs(np.where(np.isfinite(side), side - fixed, 0.0))
    # What cancels up to rounding errors of the data is zero.
    net[net <= _DATA * (abs(A[:, whole]) @ np.abs(x[whole]) + ends)] = 0.0
    terms = np.maximum(absolute @ np.abs(x[~whole]), net)
    rounding = _DATA * (size + ends)
    limit = CONIC * np.where(has, 0.0, _least_and_largest(abs(A))[0])
    held = np.where(has, CONIC * _capped(least, net), np.minimum(rounding, limit))
    failed = np.where(has, CONIC * np.maximum(largest, terms), rounding)
    unsure = np.flatnonzero((missed <= held) & (missed + error > held))
    exactly = sp.csr_array(A[unsure])
    if len(unsure) and exactly.nnz <= _EXACT:
        for i, total in zip(unsure.tolist(), images(exactly, x), strict=True):
            pairs = ((low[i], 1), (high[i], -1))
            outside = [
                sign * (Fraction(float(end)) - total) for end, sign in pairs if np.isfinite(end)
            ]
            missed[i] = float(max(outside))
            error[i] = _EPS * abs(missed[i])
    judge.compare(what, missed, error, held, failed)


def _judge_cone(problem: MISDP, cone: SecondOrderCone, x: Array, name: str, judge: _Judge) -> None:
    u, error, _ = _evaluated(cone.F, x, cone.g)
    unit = _unit(cone.F, problem.integer, x, cone.g)
    slip = 2.0 * float(error.sum()) + 8.0 * _EPS * cone.dimension * float(np.abs(u).max())
    largest = max(unit, float(np.abs(u).max()))
    held = CONIC * unit if unit else _INTEGER_MATRIX * largest
    missed = _beyond(u, cone.rotated)
    if missed <= held < missed + slip and cone.F.nnz <= _EXACT and _holds(cone, x):
        missed = slip = 0.0
    judge.compare(f"cones: {name}", missed, slip, np.array(held), np.array(CONIC * largest))


def _holds(cone: SecondOrderCone, x: Array) -> bool:
    """Return whether a point is in a cone, without rounding."""
    return in_cone(images(cone.F, x) + rationals(cone.g), cone.rotated)


def _beyond(u: Array, rotated: bool) -> float:
    """Return by how much the norm of the tail exceeds the head; negative inside the cone."""
    if not rotated:
        return float(np.linalg.norm(u[1:]) - u[0])
    turned = math.hypot((u[0] - u[1]) / math.sqrt(2.0), float(np.linalg.norm(u[2:])))
    return turned - float(u[0] + u[1]) / math.sqrt(2.0)


def _judge_block(
    problem: MISDP, block: SemidefiniteBlock, x: Array, name: str, judge: _Judge
) -> None:
    _, error, _ = _evaluated(block.F, x, block.F0)
    matrix = block.matrix(x)
    unit = _unit(block.F, problem.integer, x, block.F0)
    slip = math.sqrt(2.0 * float(error @ error))
    if not unit:
        # Nothing can be moved: the matrix is what it is, and each line has its own scale.
        beside = np.abs(matrix).max(axis=1)
        scale = np.sqrt(np.maximum(np.diagonal(matrix), _INTEGER_MATRIX * beside))
        scale[scale == 0.0] = 1.0
        matrix = matrix / np.outer(scale, scale)
        slip /= float(scale.min()) ** 2
        unit = _INTEGER_MATRIX / CONIC
    values = np.linalg.eigvalsh(matrix)
    top = float(np.abs(values).max())
    slip += 8.0 * block.size * _EPS * top
    if unit == _INTEGER_MATRIX / CONIC and slip > _INTEGER_MATRIX >= -values[0] - slip:
        # Large integers, whose rounding errors blur it: decided in rational arithmetic.
        entries = images(block.F, x) + rationals(block.F0)
        if semidefinite(packed_matrix(entries, block.size)) is Sign.HOLDS:
            slip, values = 0.0, np.maximum(values, 0.0)
    judge.compare(
        f"psd: {name}",
        -float(values[0]),
        slip,
        np.array(CONIC * unit),
        np.array(CONIC * max(unit, float(np.abs(matrix).max()))),
    )
    if block.rank_one and block.size > 1:
        second = max(0.0, float(np.linalg.eigvalsh(block.matrix(x))[-2]))
        held = second_eigenvalue_margin(problem, block, x)
        judge.compare(f"rank_one: {name}", second, 0.0, np.array(held), np.array(held))


def _evaluated(F: sp.csr_array, x: Array, constant: Array) -> tuple[Array, Array, Array]:
    """Return F x + constant, a bound of its rounding errors, and the sums of absolute terms."""
    size = np.asarray(abs(F) @ np.abs(x)) + np.abs(constant)
    return F @ x + constant, _EPS * (np.diff(F.indptr) + 2.0) * size, size


def _least_and_largest(absolute: sp.csr_array) -> tuple[Array, Array]:
    """Return the least and the largest coefficient of each row; 0 in empty ones."""
    m = absolute.shape[0]
    least, largest = np.full(m, np.inf), np.zeros(m)
    rows = np.repeat(np.arange(m), np.diff(absolute.indptr))
    np.minimum.at(least, rows, absolute.data)
    np.maximum.at(largest, rows, absolute.data)
    return np.where(np.isfinite(least), least, 0.0), largest


def _unit(F: sp.csr_array, whole: Array, x: Array, constant: Array) -> float:
    """Return the least, over continuous variables, of the largest coefficient; 0 without such.

    Nor is it more than the constant with the integers put in, where there is one.
    """
    columns = sp.csr_array(abs(F).T)[~whole]
    _, largest = _least_and_largest(sp.csr_array(columns))
    if not largest.any():
        return 0.0
    F = F[:, whole]
    fixed = float(np.abs(F @ x[whole] + constant).max())
    if fixed <= _DATA * float((abs(F) @ np.abs(x[whole]) + np.abs(constant)).max()):
        fixed = 0.0
    return float(_capped(largest[largest > 0.0].min(), np.array(fixed)))


def _capped(unit: Array, constant: Array) -> Array:
    """Return the smaller of the two, or the unit where the constant is zero."""
    return np.where(constant > 0.0, np.minimum(unit, constant), unit)
