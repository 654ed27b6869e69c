"""From the engine's records to the path and its certificate, in the user's units."""

from __future__ import annotations

import numpy as np

from sparseopt.path import ParametricPath, SparseRows
from sparseopt.problems import ParametricProblem, Pieces, PiecewiseLinearProgram
from sparseopt.problems.base import Array
from sparseopt.result import Certificate
from sparseopt.solvers.homotopy.program import ScaledProgram
from sparseopt.solvers.homotopy.recorder import Recorder
from sparseopt.solvers.segments import path_from_codes

__all__ = ["assemble"]

_SNAP = 1e-11
"""A coefficient this close to its kink, relative to the largest, where it meets it: is on it."""


def assemble(
    problem: ParametricProblem,
    program: ScaledProgram,
    recorder: Recorder,
    stopped_by: str,
    farkas: Array | None,
    ray: Array | None,
) -> tuple[ParametricPath, Certificate]:
    """Build the path and the certificate of its bases from the records of a walk.

    The solutions are those that the pivots found, up to their rounding errors; where the objective
    cannot be read off the multipliers, the bases are solved anew.
    """
    canonical = problem.canonical()
    low, high = np.concatenate(recorder.low), np.concatenate(recorder.high)
    codes = recorder.first.astype(np.int16)
    codes[recorder.changes[0][0]] = recorder.changes[0][1]
    changes = recorder.changes[1:]
    sizes = [0, 0, *(len(index) for index, _ in changes)]
    change_ptr = np.cumsum(sizes, dtype=np.int64)
    changed = np.concatenate([np.zeros(0, np.int64), *(index for index, _ in changes)])
    change_code = np.concatenate([np.zeros(0, np.int64), *(code for _, code in changes)])
    bases = (low, high, codes, change_ptr, changed, change_code.astype(np.int16))
    if not _multipliers_tell(canonical):
        return path_from_codes(problem, *bases, stopped_by, farkas=farkas, ray=ray)

    theta, nu = SparseRows.stack(recorder.theta), SparseRows.stack(recorder.nu)
    theta = _scaled(theta, program.column)
    nu = _scaled(nu, program.row)
    _land_on_kinks(theta, canonical.phi, changes)
    objective = _objective(canonical, nu, low, codes, changes)
    path = ParametricPath(
        low=low,
        high=high,
        theta=theta,
        nu=nu,
        objective=problem.canonical_sign * objective,
        shape=canonical.A.shape,
        names=problem.coefficient_names,
        stopped_by=stopped_by,
    )
    names = ("low", "high", "codes", "change_ptr", "changed", "change_code")
    arrays: dict[str, Array] = dict(zip(names, bases, strict=True))
    values = {}
    if farkas is not None:
        arrays["farkas"], values["end"] = farkas, "infeasible_below"
    if ray is not None:
        arrays["ray"], values["end"] = ray, "unbounded_below"
    return path, Certificate(kind="segments", arrays=arrays, values=values)


def _scaled(rows: SparseRows, factor: Array) -> SparseRows:
    weight = factor[rows.index]
    return SparseRows(rows.ptr, rows.index, rows.value * weight, rows.rate * weight)


def _multipliers_tell(program: PiecewiseLinearProgram) -> bool:
    """Whether all variables' kinks are 0 and every function vanishes at all its kinks."""
    phi, psi = program.phi, program.psi
    if phi.kink.any() or phi.kink_rate.any():
        return False
    inner = np.ones(len(psi.slope), dtype=bool)
    inner[psi.slope_ptr[:-1]] = False
    inner[psi.slope_ptr[1:] - 1] = False
    return not (psi.slope[inner].any() or psi.slope_rate[inner].any())


def _objective(
    program: PiecewiseLinearProgram,
    nu: SparseRows,
    low: Array,
    codes: Array,
    changes: list[tuple[Array, Array]],
) -> Array:
    r"""Return the objective's quadratic in step = lam - low of each segment, shape (S, 3).

    Where :func:`_multipliers_tell`, the optimal value is :math:`-\sum_i \nu_i t_i`, with t_i the
    kink that row i is at, or one next to its piece.
    """
    psi, p = program.psi, program.A.shape[1]
    state = codes[p:].astype(np.int64)
    anchor = np.empty(len(nu.index), dtype=np.int64)
    for s in range(len(low)):
        if s > 0:
            index, code = changes[s - 1]
            row = index >= p
            state[index[row] - p] = code[row]
        here = slice(nu.ptr[s], nu.ptr[s + 1])
        code = state[nu.index[here]]
        anchor[here] = np.maximum(code - 1 + (code & 1), 0) >> 1
    anchor += psi.ptr[nu.index]
    segment = np.repeat(np.arange(len(low)), np.diff(nu.ptr))
    t, t_rate = psi.kink[anchor] + low[segment] * psi.kink_rate[anchor], psi.kink_rate[anchor]
    parts = [nu.value * t, nu.value * t_rate + nu.rate * t, nu.rate * t_rate]
    total = -np.stack([np.bincount(segment, part, len(low)) for part in parts], axis=1)
    o = program.offset
    constant = [o[0] + low * (o[1] + low * o[2]), o[1] + 2.0 * low * o[2], np.full(len(low), o[2])]
    return np.asarray(total + np.stack(constant, axis=1))


def _land_on_kinks(theta: SparseRows, phi: Pieces, changes: list[tuple[Array, Array]]) -> None:
    """Remove the rounding error of coefficients that meet their kink where a segment ends.

    They are those that the next segment has at that kink. A jump is no rounding error and stays.
    """
    p = len(phi)
    for s, (index, code) in enumerate(changes):
        landed = (index < p) & (code % 2 == 1)
        if not landed.any():
            continue
        here = slice(theta.ptr[s], theta.ptr[s + 1])
        size = np.abs(theta.value[here]).max(initial=0.0)
        at = np.flatnonzero(np.isin(theta.index[here], index[landed]))
        close = at[np.abs(theta.value[here][at]) <= _SNAP * size]
        theta.value[here.start + close] = 0.0
