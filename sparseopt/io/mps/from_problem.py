"""From a parametric problem to what its MPS file says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseopt.errors import ProblemError
from sparseopt.io.mps.model import MpsModel, default_names
from sparseopt.io.mps.reader import MPS_VERSION, parse_mps
from sparseopt.io.mps.to_problem import problem_of
from sparseopt.io.mps.writer import format_mps, writable
from sparseopt.problems import ParametricLP, ParametricProblem, PiecewiseLinearProgram
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.linear_program import as_parametric_lp


def model_of(problem: ParametricProblem) -> MpsModel:
    """Return the problem as an MPS model, as it is or through :func:`as_parametric_lp`.

    Parameters
    ----------
    problem : ParametricProblem

    Returns
    -------
    MpsModel
    """
    if isinstance(problem, ParametricLP):
        return _model_of_lp(problem, np.zeros(3))
    if isinstance(problem, PiecewiseLinearProgram):
        problem = problem.from_first_kinks()
        direct = _model_of_intervals(problem)
        if direct is not None:
            return direct
    program = problem.canonical().from_first_kinks()
    program = replace(program, names=problem.coefficient_names)
    return _model_of_lp(as_parametric_lp(program), 0.0 - program.offset)


def _model_of_lp(problem: ParametricLP, constant: Array) -> MpsModel:
    m, n = problem.A.shape
    return MpsModel(
        maximize=True,
        senses=("L" if problem.form == "inequality" else "E") * m,
        c=problem.c,
        c_bar=problem.c_bar,
        b=problem.b,
        b_bar=problem.b_bar,
        lower=np.zeros(n),
        upper=np.full(n, np.inf),
        constant=constant,
        **_frame(problem.A, problem.names),
    )


def _model_of_intervals(problem: PiecewiseLinearProgram) -> MpsModel | None:
    """Return the program with bounds and ranges; None where it is not one, or not exactly."""
    phi, psi = problem.phi, problem.psi
    low, high = phi.domain(0.0)
    row_low, row_high = psi.domain(0.0)
    finite = np.flatnonzero(np.isfinite(phi.slope))
    owner = np.searchsorted(phi.slope_ptr, finite, side="right") - 1
    cost, rate = np.zeros(len(phi)), np.zeros(len(phi))
    cost[owner], rate[owner] = phi.slope[finite], phi.slope_rate[finite]
    base = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high, 0.0))
    o0, o1, o2 = problem.offset.tolist()
    constant = [math.fsum([o0, *(-cost * base)]), math.fsum([o1, *(-rate * base)]), o2]
    rows = [_row(*ends) for ends in zip(row_low.tolist(), row_high.tolist(), strict=True)]
    ranges = np.array([width for _, _, width in rows])
    model = MpsModel(
        maximize=False,
        senses="".join(sense for sense, _, _ in rows),
        c=cost,
        c_bar=rate,
        b=np.array([right for _, right, _ in rows]),
        b_bar=psi.kink_rate[psi.ptr[:-1]],
        lower=low,
        upper=high,
        constant=np.array(constant),
        ranges=None if np.isnan(ranges).all() else ranges,
        **_frame(problem.A.as_array(), problem.names),
    )
    return model if _comes_back(model, problem) else None


def _row(low: float, high: float) -> tuple[str, float, float]:
    """Return the (sense, right-hand side, range) of an interval; the range is NaN for none."""
    if low == high:
        return "E", low, math.nan
    if math.isinf(low) or math.isinf(high):
        return ("G", low, math.nan) if math.isinf(high) else ("L", high, math.nan)
    width = high - low
    # From the end that gives the other one back without rounding.
    return ("L", high, width) if high - width == low else ("G", low, width)


def _comes_back(model: MpsModel, problem: PiecewiseLinearProgram) -> bool:
    """Whether the text of the model is read as exactly this problem."""
    try:
        return problem_of(parse_mps(format_mps(model), "")).fingerprint() == problem.fingerprint()
    except ProblemError:
        # From 1e20 on numbers are infinite in MPS.
        return False


def _frame(A: Any, names: Sequence[str] | None) -> dict[str, Any]:
    """Return the names and the matrix of a model."""
    m, n = A.shape
    header: dict[str, Any] = {
        "version": MPS_VERSION,
        "storage": "sparse" if sp.issparse(A) else "dense",
    }
    columns = default_names(n) if names is None else list(names)
    if names is not None and not (
        all(writable(name) for name in columns)
        and len(set(columns)) == n
        and columns != default_names(n)
    ):
        header["names"] = columns
        columns = default_names(n)
    entries: tuple[Array, Array, Array]
    if header["storage"] == "sparse":
        triplets = A.tocoo()
        entries = (triplets.row, triplets.col, triplets.data)
    else:
        row, column = np.nonzero((A != 0.0) | np.signbit(A))
        entries = (row, column, A[row, column])
    return {
        "name": "",
        "objectives": ["c", "c_bar"],
        "rows": [f"r{i}" for i in range(m)],
        "columns": columns,
        "entry_row": entries[0],
        "entry_column": entries[1],
        "entry": entries[2],
        "header": header,
    }
