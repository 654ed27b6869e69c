"""From the engine's records to the path and its certificate, in the user's units."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sparseopt.paths.parametric import ParametricPath, SparseRows
from sparseopt.problems import ParametricProblem, PiecewiseLinearProgram
from sparseopt.problems.base import Array
from sparseopt.result import Certificate

from ..common.segments import path_from_codes
from .program import ScaledProgram
from .recorder import Recorder
from .state import Entries

__all__ = ["assemble"]

_ENDS = {"farkas": "infeasible_below", "ray": "unbounded_below"}


def assemble(
    problem: ParametricProblem,
    canonical: PiecewiseLinearProgram,
    program: ScaledProgram,
    recorder: Recorder,
    stopped_by: str,
    proofs: Mapping[str, Array],
) -> tuple[ParametricPath, Certificate]:
    """Build the path and the certificate of its bases from the records of a walk.

    `canonical` is the problem's general form, `program` the same as the engine sees it, and
    `proofs` are the arrays "farkas", "ray", "farkas_above" and "ray_above" that prove its ends.

    The solutions are those that the pivots found, up to their rounding errors; where the objective
    cannot be read off the multipliers, the bases are solved anew.
    """
    parts = recorder.parts
    low = np.concatenate([part.low for part in parts])
    high = np.concatenate([part.high for part in parts])
    codes = recorder.first.astype(np.int16)
    codes[recorder.changes[0][0]] = recorder.changes[0][1]
    changes = recorder.changes[1:]
    sizes = [0, 0, *(len(index) for index, _ in changes)]
    change_ptr = np.cumsum(sizes, dtype=np.int64)
    changed = np.concatenate([np.zeros(0, np.int64), *(index for index, _ in changes)])
    change_code = np.concatenate([np.zeros(0, np.int64), *(code for _, code in changes)])
    bases = (low, high, codes, change_ptr, changed, change_code.astype(np.int16))
    if not _multipliers_tell(canonical):
        return path_from_codes(problem, *bases, stopped_by, **proofs)

    o = canonical.offset
    constant = [o[0] + low * (o[1] + low * o[2]), o[1] + 2.0 * low * o[2], np.full(len(low), o[2])]
    objective = np.concatenate([part.objective for part in parts]) + np.stack(constant, axis=1)
    path = ParametricPath(
        low=low,
        high=high,
        theta=_joined([part.theta for part in parts], program.column),
        nu=_joined([part.nu for part in parts], program.row),
        objective=problem.canonical_sign * objective,
        shape=canonical.A.shape,
        names=problem.coefficient_names,
        stopped_by=stopped_by,
    )
    names = ("low", "high", "codes", "change_ptr", "changed", "change_code")
    arrays: dict[str, Array] = dict(zip(names, bases, strict=True))
    arrays.update(proofs)
    proven = [end for name, end in _ENDS.items() if name in proofs]
    values = {"end": proven[0]} if proven else {}
    return path, Certificate(kind="segments", arrays=arrays, values=values)


def _joined(parts: list[Entries], factor: Array) -> SparseRows:
    """Join sparse vectors, and bring them into the user's units."""
    ends = np.cumsum([0, *(part.ptr[-1] for part in parts)])
    starts = [part.ptr[:-1] + end for part, end in zip(parts, ends[:-1], strict=True)]
    index = np.concatenate([part.index for part in parts])
    weight = factor[index]
    return SparseRows(
        ptr=np.concatenate([*starts, ends[-1:]]),
        index=index,
        value=np.concatenate([part.value for part in parts]) * weight,
        rate=np.concatenate([part.rate for part in parts]) * weight,
    )


def _multipliers_tell(program: PiecewiseLinearProgram) -> bool:
    """Whether the optimal value is minus the sum of the row multipliers times their kinks.

    It is, where all variables' kinks are 0 and every function vanishes at all its kinks.
    """
    phi, psi = program.phi, program.psi
    if phi.kink.any() or phi.kink_rate.any():
        return False
    inner = np.ones(len(psi.slope), dtype=bool)
    inner[psi.slope_ptr[:-1]] = False
    inner[psi.slope_ptr[1:] - 1] = False
    return not (psi.slope[inner].any() or psi.slope_rate[inner].any())
