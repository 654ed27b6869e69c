"""From the bases of a path to its solution: what every parametric engine returns.

An engine finds which basis is optimal on which range of lam. This module only translates: it
solves each basis' small kernel once, exactly as a checker would, and fills the arrays of
:class:`~sparseopt.paths.parametric.ParametricPath` and of the certificate. It decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparseopt.paths.parametric import ParametricPath, SparseRows
from sparseopt.problems import LinearMap, ParametricProblem, Pieces, PiecewiseLinearProgram
from sparseopt.problems.base import Array
from sparseopt.result import Certificate

_SNAP = 1e-11
"""A coefficient this close to the kink that it meets is on it; relative to the largest terms."""


def affine_solution(
    program: PiecewiseLinearProgram, codes: Array, at: float = 0.0
) -> tuple[Array, Array, Array, Array]:
    r"""Return the affine primal-dual pair of one basis.

    .. math:: \theta(\lambda) = \theta_0 + (\lambda - at)\,\theta_1, \qquad
              \nu(\lambda) = \nu_0 + (\lambda - at)\,\nu_1

    Parameters
    ----------
    program : PiecewiseLinearProgram
    codes : int array of shape (p + m,)
        Code 2k: on piece k (slope index k); code 2k + 1: at kink k. Variables first, then rows;
        exactly p coordinates are at kinks.
    at : float, default 0.0
        The lam that the constant terms belong to: the pair is most accurate there.

    Returns
    -------
    theta_0, theta_1 : arrays of shape (p,)
    nu_0, nu_1 : arrays of shape (m,)

    Raises
    ------
    numpy.linalg.LinAlgError
        When the kernel is not square or singular.
    """
    chunk = _solve(program, codes[:, None], np.array([at]))
    return (
        chunk.theta[:, 0, 0],
        chunk.theta[:, 1, 0],
        chunk.nu[:, 0, 0],
        chunk.nu[:, 1, 0],
    )


def path_from_codes(
    problem: ParametricProblem,
    low: Array,
    high: Array,
    codes0: Array,
    change_ptr: Array,
    changed: Array,
    change_code: Array,
    stopped_by: str,
    *,
    farkas: Array | None = None,
    ray: Array | None = None,
    farkas_above: Array | None = None,
    ray_above: Array | None = None,
) -> tuple[ParametricPath, Certificate]:
    """Build the path and its certificate from the bases of its segments.

    Parameters
    ----------
    problem : ParametricProblem
    low, high : arrays of shape (S,)
        Range of lam of each segment, decreasing, ``low[s] == high[s + 1]``; ``high[0]`` may be inf.
    codes0 : int array of shape (p + m,)
        Basis codes of segment 0 (see :func:`affine_solution`).
    change_ptr : int array of shape (S + 1,)
    changed, change_code : int arrays
        Before segment s the coordinates ``changed[change_ptr[s]:change_ptr[s + 1]]`` get these
        codes; there are no changes before segment 0.
    stopped_by : str
        Why the path ends at ``low[-1]``.
    farkas : array of shape (m,), optional
        Row multipliers that prove that nothing is feasible below.
    ray : array of shape (p,), optional
        Direction along which the objective is unbounded below ``low[-1]``.
    farkas_above, ray_above : arrays, optional
        The same for lam above ``high[0]``, where that is finite.

    Returns
    -------
    path : ParametricPath
    certificate : Certificate
        Of the kind "segments".

    Raises
    ------
    numpy.linalg.LinAlgError
        When the kernel of a segment is not square or singular.
    """
    program = problem.canonical()
    m, p = program.A.shape
    low = np.asarray(low, dtype=np.float64)
    high = np.asarray(high, dtype=np.float64)
    changed = np.asarray(changed, dtype=np.int64)
    _, column = program.A.scales()
    thetas: list[tuple[Array, Array, Array]] = []
    nus: list[tuple[Array, Array, Array]] = []
    objective = np.empty((len(low), 3))
    for begin, codes, after in _chunks(codes0, change_ptr, changed, change_code, len(low)):
        end = begin + codes.shape[1]
        chunk = _solve(program, codes, low[begin:end])
        objective[begin:end] = _objective(program, chunk, low[begin:end])
        _land_on_kinks(program.phi, chunk, after, low[begin:end], column)
        thetas += _sparse_rows(chunk.theta)
        nus += _sparse_rows(chunk.nu)
    path = ParametricPath(
        low=low,
        high=high,
        theta=SparseRows.stack(thetas),
        nu=SparseRows.stack(nus),
        objective=problem.canonical_sign * objective,
        shape=(m, p),
        names=problem.coefficient_names,
        stopped_by=stopped_by,
    )
    arrays = {
        "low": low,
        "high": high,
        "codes": np.asarray(codes0, dtype=np.int16),
        "change_ptr": np.asarray(change_ptr, dtype=np.int64),
        "changed": changed,
        "change_code": np.asarray(change_code, dtype=np.int16),
    }
    values: dict[str, Any] = {}
    for name, vector, end in (
        ("farkas", farkas, "infeasible_below"),
        ("ray", ray, "unbounded_below"),
        ("farkas_above", farkas_above, None),
        ("ray_above", ray_above, None),
    ):
        if vector is not None:
            arrays[name] = np.asarray(vector, dtype=np.float64)
            if end is not None:
                values["end"] = end
    return path, Certificate(kind="segments", arrays=arrays, values=values)


@dataclass
class _Side:
    """The functions of the variables, or of the rows, in the states of L consecutive segments.

    All arrays have one row for each function and L columns. `kink` and `slope` hold (constant,
    rate) pairs on their middle axis: the kink that a coordinate is at, the slope of its
    piece, and zero where it has none.
    """

    on: Array
    anchor: Array
    kink: Array
    slope: Array

    @classmethod
    def of(cls, pieces: Pieces, codes: Array) -> _Side:
        number = codes.astype(np.int64) >> 1
        on = (codes & 1) == 0
        first = pieces.ptr[:-1, None]
        anchor = first + np.where(on & (number > pieces.zeros[:, None]), number - 1, number)
        slope = np.where(on, pieces.slope_ptr[:-1, None] + number, pieces.slope_ptr[:-1, None])
        pick = ~on[:, None, :]
        return cls(
            on=on,
            anchor=anchor,
            kink=np.where(
                pick, np.stack([pieces.kink[anchor], pieces.kink_rate[anchor]], axis=1), 0.0
            ),
            slope=np.where(
                pick, 0.0, np.stack([pieces.slope[slope], pieces.slope_rate[slope]], axis=1)
            ),
        )


@dataclass
class _Chunk:
    """L consecutive segments: theta (p, 2, L) and nu (m, 2, L), value at the lower end and rate."""

    variables: _Side
    rows: _Side
    theta: Array
    nu: Array
    columns: Array
    """Variables that are on a piece in one of the segments."""
    fixed: Array
    """A theta for the variables at their kinks, shape (m, 2, L), constant and rate."""


def _chunks(
    codes0: Array, change_ptr: Array, changed: Array, change_code: Array, count: int
) -> Iterator[tuple[int, Array, Array]]:
    """Yield (first segment, codes of its chunk, codes one segment further), columns by segment."""
    codes = np.array(codes0, dtype=np.int16)
    length = int(np.clip(2**21 // len(codes), 1, 64))
    begin = 0
    columns = [codes.copy()]
    for s in range(1, count + 1):
        if s < count:
            here = slice(change_ptr[s], change_ptr[s + 1])
            codes[changed[here]] = change_code[here]
        if s == count or len(columns) == length:
            block = np.stack([*columns, codes], axis=1)
            yield begin, block[:, :-1], block[:, 1:]
            begin, columns = s, []
        columns.append(codes.copy())


def _solve(program: PiecewiseLinearProgram, codes: Array, low: Array) -> _Chunk:
    """Solve the kernels of a chunk: products with A are made once for all its segments."""
    A: LinearMap = program.A
    p = A.shape[1]
    variables = _Side.of(program.phi, codes[:p])
    rows = _Side.of(program.psi, codes[p:])
    fixed = _product(A.shape[0], A.matvec, A.times, variables.kink)
    known = _product(p, A.rmatvec, A.transpose_times, rows.slope)
    columns = np.flatnonzero(variables.on.any(axis=1))
    tight = np.flatnonzero(~rows.on.all(axis=1))
    block = A.block(tight, columns)
    theta, nu = _at(variables.kink, low), _at(rows.slope, low)
    target = _at(rows.kink - fixed, low)
    slopes = _at(-variables.slope - known, low)
    for s in range(len(low)):
        C, R = np.flatnonzero(variables.on[:, s]), np.flatnonzero(~rows.on[:, s])
        if len(C) != len(R):
            raise np.linalg.LinAlgError(
                f"the kernel of the basis is {len(R)} x {len(C)}: not exactly p coordinates are at "
                "kinks"
            )
        if len(C) == 0:
            continue
        B = block[np.ix_(np.searchsorted(tight, R), np.searchsorted(columns, C))]
        theta[C, :, s], nu[R, :, s] = _solve_kernel(B, target[R, :, s], slopes[C, :, s])
    return _Chunk(variables, rows, theta, nu, columns, fixed)


def _at(pairs: Array, low: Array) -> Array:
    """Turn (constant, rate) into (value at the lower end, rate)."""
    return np.stack([pairs[:, 0] + low * pairs[:, 1], pairs[:, 1]], axis=1)


def _product(length: int, full: Any, some: Any, pairs: Array) -> Array:
    """Return A applied to each column of `pairs`, (n, 2, L) to (length, 2, L).

    Consecutive segments differ in few coordinates, so one product with the first segment's vectors
    and one with the differing coordinates do for all.
    """
    base = pairs[:, :, 0]
    count = pairs.shape[2]
    out = np.zeros((length, 2, count))
    if base.any():
        out += full(base)[:, :, None]
    differ = np.flatnonzero((pairs != base[:, :, None]).any(axis=(1, 2)))
    if len(differ):
        step = (pairs[differ] - base[differ, :, None]).reshape(len(differ), 2 * count)
        out += some(differ, step).reshape(length, 2, count)
    return out


def _solve_kernel(B: Array, target: Array, slopes: Array) -> tuple[Array, Array]:
    """Solve B x = target and B'u = slopes, each with one step of iterative refinement."""
    from scipy.linalg.lapack import dgetrf, dgetrs

    lu, pivots, info = dgetrf(B)
    if info != 0:
        raise np.linalg.LinAlgError("the kernel of a basis is singular")
    x, _ = dgetrs(lu, pivots, target)
    x += dgetrs(lu, pivots, target - B @ x)[0]
    u, _ = dgetrs(lu, pivots, slopes, trans=1)
    u += dgetrs(lu, pivots, slopes - B.T @ u, trans=1)[0]
    return x, u


def _objective(program: PiecewiseLinearProgram, chunk: _Chunk, low: Array) -> Array:
    """Return the objective's quadratic in step = lam - low of each segment, shape (L, 3)."""
    o = program.offset
    total = np.stack(
        [o[0] + low * (o[1] + low * o[2]), o[1] + 2.0 * low * o[2], np.full(len(low), o[2])]
    )
    total += _values(program.phi, chunk.variables, chunk.theta, low)
    z = None
    if chunk.rows.slope.any():
        moving = chunk.theta[chunk.columns] * chunk.variables.on[chunk.columns, None, :]
        product = program.A.times(chunk.columns, moving.reshape(len(moving), 2 * moving.shape[2]))
        z = product.reshape(chunk.nu.shape) + _at(chunk.fixed, low)
    total += _values(program.psi, chunk.rows, z, low)
    return np.asarray(total.T)


def _values(pieces: Pieces, side: _Side, z: Array | None, low: Array) -> Array:
    r"""Return sum_i f_i(z_i(lam); lam) as a quadratic in step, shape (3, L).

    On a piece next to kink a: :math:`f = F_a + s (z - t_a)`; at it: :math:`f = F_a`. Where `z`
    is None every slope is zero.
    """
    total = np.zeros((3, len(low)))
    if pieces.counts.max(initial=1) > 1:
        F = pieces.kink_values
        if F.any():
            f0, f1, f2 = F[:, side.anchor]
            total += np.stack(
                [
                    (f0 + low * (f1 + low * f2)).sum(axis=0),
                    (f1 + 2.0 * low * f2).sum(axis=0),
                    f2.sum(axis=0),
                ]
            )
    if z is not None:
        rate = pieces.kink_rate[side.anchor]
        s, s_rate = side.slope[:, 0] + low * side.slope[:, 1], side.slope[:, 1]
        beyond = z[:, 0] - (pieces.kink[side.anchor] + low * rate)
        beyond_rate = z[:, 1] - rate
        total += np.stack(
            [
                (s * beyond).sum(axis=0),
                (s_rate * beyond + s * beyond_rate).sum(axis=0),
                (s_rate * beyond_rate).sum(axis=0),
            ]
        )
    return total


def _land_on_kinks(phi: Pieces, chunk: _Chunk, after: Array, low: Array, column: Array) -> None:
    """Remove the rounding error of coefficients that meet a kink where their segment ends.

    They are those that the next segment has at that kink. A jump is no rounding error and stays:
    sizes are compared in the units of `column`, in which columns are equally long.
    """
    p = len(phi)
    states = after[:p]
    j, s = np.nonzero(chunk.variables.on & ((states & 1) == 1))
    at = phi.ptr[j] + (states[j, s].astype(np.int64) >> 1)
    kink = phi.kink[at] + low[s] * phi.kink_rate[at]
    terms = np.abs(chunk.theta[:, 0, :]) + low * np.abs(chunk.theta[:, 1, :])
    size = (terms / column[:, None]).max(axis=0, initial=0.0)
    close = np.abs(chunk.theta[j, 0, s] - kink) <= _SNAP * size[s] * column[j]
    chunk.theta[j[close], 0, s[close]] = kink[close]


def _sparse_rows(pairs: Array) -> Iterator[tuple[Array, Array, Array]]:
    """Yield (index, value, rate) of each column of an array of shape (n, 2, L)."""
    for s in range(pairs.shape[2]):
        index = np.flatnonzero((pairs[:, :, s] != 0.0).any(axis=1))
        yield index, pairs[index, 0, s], pairs[index, 1, s]
