r"""Whether a point of a MISDP is feasible: integers exactly, the rest to 1e-7 in the data's units.

Integer variables are rounded, and all other variables are moved into their bounds. With the
integers fixed each row, each entry of a cone and each line of a matrix has a **unit** that the
problem's numbers give: the least, over its continuous variables, of the largest coefficient of that
variable in it (in a matrix whose lines were balanced to entries of one size), times the variable's
largest bound where that is below 1; and no more than its constants with the variables at the bounds
next to them, or, for the head of a cone and the line of a matrix, those of all of it where its own
are zero; nor than what is on the diagonal of that line. Without continuous variables there are
rounding errors of the data only: 1e-12 of a row's terms, 1e-9 of an entry of a cone, and of the
diagonal of a matrix; and a head has no larger unit than an entry without them. The point

- **holds** where it misses each constraint by at most 1e-7 units, rounding errors of the evaluation
  included: rows by that much; cones where their heads may be raised, and the entries of their
  tails moved towards zero, by that much; matrices M where :math:`M + 10^{-7} \operatorname{diag}(u)
  \succeq 0` for the units u of the lines;
- **fails** where it misses one by more than 1e-7 of the largest of its terms, after the integers
  were put in; of matrices the terms are those of M with its lines divided by the roots of u;
- is neither in between: nothing is claimed of it.

And the bounds that follow from the fixed integers must leave room for the rest.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from sparseopt.checking.misdp.implied import ImpliedBounds
from sparseopt.checking.misdp.lines import line_scales, nearest_ends, variable_sizes
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
from sparseopt.problems.misdp.cones import (
    SecondOrderCone,
    SemidefiniteBlock,
    triangle,
    unpack_symmetric,
)
from sparseopt.problems.misdp.problem import MISDP

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = Deferred("scipy.sparse")

_EPS = float(np.finfo(float).eps)
_DATA = 1e-12
"""Rounding errors in the data of a row of integers, relative to its terms."""
_INTEGER_MATRIX = 1e-9
"""The same for an entry of a cone, and for a line of a matrix relative to its diagonal."""
_EXACT = 20_000
"""Coefficients of rows that are evaluated without rounding, where rounding leaves them open."""


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
    whole, sizes = problem.integer, variable_sizes(problem)
    point[whole] = np.rint(point[whole])
    point[~whole] = np.clip(x, problem.lower, problem.upper)[~whole]
    judge = _Judge(findings)
    _judge_variables(problem, x, point, judge)
    if findings.refuted:
        return None
    ends = problem.row_lower, problem.row_upper
    sizes[whole] = 0.0
    near = nearest_ends(problem, point)
    _judge_rows("rows number", problem.A, *ends, sizes, point, near, judge)
    for k, row in enumerate(problem.indicators):
        if point[row.binary] == 1.0:
            ends = np.array([row.lower]), np.array([row.upper])
            _judge_rows(f"indicators: row of {k}", row.a, *ends, sizes, point, near, judge)
    for k, cone in enumerate(problem.cones):
        _judge_cone(problem, cone, point, f"cone {k}", judge)
    for k, block in enumerate(problem.blocks):
        _judge_block(problem, block, point, f"matrix {k}", judge)
    if not findings.refuted:
        low, high = problem.lower.copy(), problem.upper.copy()
        low[whole] = high[whole] = point[whole]
        if ImpliedBounds(problem).tighten(low, high) is None:
            findings.doubt(
                "x is feasible up to its tolerance only: with its integers the bounds that the "
                "constraints imply cross"
            )
    return point


def margins(problem: MISDP, part: SecondOrderCone | SemidefiniteBlock, x: Array) -> Array:
    """Return by how much the entries of a cone, or the diagonal of a matrix, may be off at x.

    Parameters
    ----------
    problem : MISDP
    part : SecondOrderCone or SemidefiniteBlock
    x : array of shape (n,)

    Returns
    -------
    array of shape (k,) or (s,)
        In the units of the part's entries.
    """
    return CONIC * _units(problem, part, x)


def beyond_rank_one(matrix: Array) -> float:
    r"""Return by how much a semidefinite matrix misses a rank of one: its minors of order two.

    .. math:: \max_{i \ne j} \frac{M_{ii} M_{jj} - M_{ij}^2}{2 M_{ij}^2 + M_{ii} + M_{jj}},

    where a diagonal of one unit counts as much as what is beside it.

    Parameters
    ----------
    matrix : array of shape (s, s)
        Its lines divided by the roots of their units (:func:`in_units`).
    """
    own, squares = np.maximum(np.diagonal(matrix), 0.0), matrix**2
    minors = own * own[:, None] - squares
    sizes = 2.0 * squares + own + own[:, None]
    np.fill_diagonal(minors, 0.0)
    return float((minors / np.where(sizes > 0.0, sizes, 1.0)).max(initial=0.0))


def in_units(matrix: Array, margin: Array) -> Array:
    """Return a symmetric matrix with its lines and columns divided by the roots of their units.

    Parameters
    ----------
    matrix : array of shape (s, s)
    margin : array of shape (s,)
        What its diagonal may be off by (:func:`margins`).
    """
    root = np.sqrt(margin / CONIC)
    return np.asarray(matrix / root / root[:, None])


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
        with np.errstate(invalid="ignore"):
            wrong = missed - error > np.maximum(held, failed)
        if wrong.any() or np.isnan(missed).any():
            at = int(np.argmax(wrong | np.isnan(missed)))
            self._findings.refute(
                f"x misses {what}{f' {at}' if len(missed) > 1 else ''} by {missed[at]:.3g} "
                f"(allowed: {held[at]:.3g})"
            )
            return
        # Where numbers are too large for an answer, none is known.
        unsure = ~(missed + error <= held)
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
    what: str,
    A: sp.csr_array,
    low: Array,
    high: Array,
    sizes: Array,
    x: Array,
    near: Array,
    judge: _Judge,
) -> None:
    """Judge rows at x; of size 0 are variables that are fixed, `near` has the others' ends."""
    if not A.shape[0]:
        return
    still = sizes == 0.0
    value, error, size = _evaluated(A, x, np.zeros(A.shape[0]))
    missed = np.maximum(low - value, value - high)
    ends = np.maximum(
        np.where(np.isfinite(low), np.abs(low), 0.0), np.where(np.isfinite(high), np.abs(high), 0.0)
    )
    error = error + 2.0 * _EPS * ends
    absolute = abs(sp.csr_array(A[:, ~still]))
    least, _ = _least_and_largest(sp.csr_array(absolute @ sp.diags_array(sizes[~still])))
    _, largest = _least_and_largest(absolute)
    has = largest > 0.0
    # What is left of the row with the continuous variables at their ends.
    fixed = A @ near
    side = np.where(low - value > value - high, low, high)
    net = np.abs(np.where(np.isfinite(side), side - fixed, 0.0))
    # What cancels up to rounding errors of the data is zero.
    net[net <= _DATA * (abs(A) @ np.abs(near) + ends)] = 0.0
    terms = np.maximum(absolute @ np.abs(x[~still]), net)
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
    slip = 2.0 * float(error.sum()) + 8.0 * _EPS * cone.dimension * float(np.abs(u).max())
    heads = 1 + cone.rotated
    allowed = margins(problem, cone, x)
    # The largest of the terms of the continuous variables.
    absolute = abs(sp.csr_array(cone.F[:, ~problem.integer]))
    terms = np.maximum(_least_and_largest(absolute)[1], np.abs(u))
    missed = _beyond(u, cone.rotated)
    held, failed = (
        missed - _beyond(_eased(u, room, heads), cone.rotated) for room in (allowed, CONIC * terms)
    )
    if missed - slip <= held < missed + slip and cone.F.nnz <= _EXACT:
        exactly = images(cone.F, x) + rationals(cone.g)
        if in_cone(_eased(exactly, rationals(allowed), heads), cone.rotated):
            missed = slip = 0.0
    judge.compare(f"cones: {name}", missed, slip, np.array(held), np.array(failed))


def _eased(u: Array, room: Array, heads: int) -> Array:
    """Return u with its heads raised, and its tail moved towards zero, by `room` (k,)."""
    tail = u[heads:]
    nearer = np.where(tail < 0, -1, 1) * np.maximum(np.abs(tail) - room[heads:], 0)
    return np.concatenate([u[:heads] + room[:heads], nearer])


def _beyond(u: Array, rotated: bool) -> float:
    """Return by how much the norm of the tail exceeds the head; negative inside the cone."""
    if not rotated:
        return float(np.linalg.norm(u[1:]) - u[0])
    turned = math.hypot((u[0] - u[1]) / math.sqrt(2.0), float(np.linalg.norm(u[2:])))
    return turned - float(u[0] + u[1]) / math.sqrt(2.0)


def _judge_block(
    problem: MISDP, block: SemidefiniteBlock, x: Array, name: str, judge: _Judge
) -> None:
    _, error, terms = _evaluated(block.F, x, block.F0)
    matrix, errors = block.matrix(x), unpack_symmetric(error, block.size)
    diagonal = allowed = margins(problem, block, x)
    if not allowed.all():
        # Beside a zero that nothing moves there is nothing.
        lines = allowed == 0.0
        beside = np.abs(matrix) - _DATA * unpack_symmetric(terms, block.size)
        judge.compare(f"psd: {name}", float(beside[lines].max()), 0.0, np.array(0.0), np.array(0.0))
        matrix, errors = (part[~lines][:, ~lines] for part in (matrix, errors))
        allowed = allowed[~lines]
        if not len(allowed):
            return
    matrix = in_units(matrix, allowed)
    values = np.linalg.eigvalsh(matrix)
    slip = float(np.linalg.norm(in_units(errors, allowed)))
    slip += 8.0 * block.size * _EPS * float(np.abs(values).max())
    missed = -float(values[0])
    if missed - slip <= CONIC < missed + slip and block.F.nnz <= _EXACT:
        exactly = packed_matrix(images(block.F, x) + rationals(block.F0), block.size)
        if semidefinite(exactly + np.diag(rationals(diagonal))) is Sign.HOLDS:
            slip, missed = 0.0, min(missed, CONIC)
    failed = CONIC * max(1.0, float(np.abs(matrix).max()))
    judge.compare(f"psd: {name}", missed, slip, np.array(CONIC), np.array(failed))
    if block.rank_one and block.size > 1:
        held = np.array(RANK_ONE)
        judge.compare(f"rank_one: {name}", beyond_rank_one(matrix), 0.0, held, held)


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


def _units(problem: MISDP, part: SecondOrderCone | SemidefiniteBlock, x: Array) -> Array:
    """Return the units of the entries of a cone (k,), or of the lines of a matrix (s,)."""
    F, sizes = part.F, variable_sizes(problem)
    fixed_ones = problem.integer | (sizes == 0.0)
    constant = part.g if isinstance(part, SecondOrderCone) else part.F0
    near = nearest_ends(problem, x)
    fixed = np.abs(F @ near + constant)
    # What cancels up to rounding errors of the data is zero.
    fixed[fixed <= _DATA * (abs(F) @ np.abs(near) + np.abs(constant))] = 0.0
    terms = sp.coo_array(F)
    moving = ~fixed_ones[terms.col] & (terms.data != 0.0)
    at, variable = terms.row[moving], terms.col[moving]
    size = np.abs(terms.data[moving]) * sizes[variable]
    if isinstance(part, SecondOrderCone):
        unit = np.full(part.dimension, np.inf)
        np.minimum.at(unit, at, size)
        alone, heads = np.isinf(unit), np.arange(part.dimension) < 1 + part.rotated
        # A head that is raised makes good for all of the tail.
        cap = np.where(heads & (fixed == 0.0), fixed.max(), fixed)
        unit[heads] = _capped(unit[heads], fixed[alone].max(initial=0.0))
        return np.where(alone, _INTEGER_MATRIX / CONIC * fixed, _capped(unit, cap))
    # Entries are compared in lines of one scale.
    scales, (i, j) = line_scales(part, sizes), triangle(part.size)
    products = scales[i] * scales[j]
    beside = unpack_symmetric(fixed / products, part.size)
    unit, rest = _least_of_lines(part.size, at, variable, size / products[at]), beside.max(axis=1)
    capped = _capped(unit, np.where(rest > 0.0, rest, rest.max()))
    # What is beside the diagonal is no unit of an entry that is smaller.
    on = sp.csr_array(abs(F)[i == j] @ sp.diags_array(sizes))
    largest = np.maximum(_least_and_largest(on)[1], np.abs(constant[i == j]))
    capped = _capped(capped, largest / scales**2)
    own = _INTEGER_MATRIX / CONIC * np.diagonal(beside)
    return np.asarray(np.where(np.isinf(unit), own, capped) * scales**2)


def _least_of_lines(size: int, at: Array, variable: Array, terms: Array) -> Array:
    """Return for each line the least, over variables, of its largest coefficient; inf without."""
    i, j = triangle(size)
    lines = np.concatenate([i[at], j[at]])
    variable, terms = np.tile(variable, 2), np.tile(terms, 2)
    order = np.lexsort((variable, lines))
    lines, variable, terms = lines[order], variable[order], terms[order]
    unit = np.full(size, np.inf)
    if len(lines):
        first = np.flatnonzero(np.diff(lines, prepend=-1) | np.diff(variable, prepend=-1))
        np.minimum.at(unit, lines[first], np.maximum.reduceat(terms, first))
    return unit


def _capped(unit: Array, constant: Array | float) -> Array:
    """Return the smaller of the two, or the unit where the constant is zero."""
    return np.where(np.asarray(constant) > 0.0, np.minimum(unit, constant), unit)
