r"""A conic program in CVXPY, by any of its solvers; runs in a child process.

.. math:: \min\; q'x \quad\text{subject to}\quad b - C x \in \{0\}^z \times R_+^l \times
          Q_{k_1} \times \dots \times S_{n_1} \times \dots

Everything is written out in rows and cones, without any of CVXPY's functions that it would turn
into these: CVXPY 1.9.3 derives wrong bounds from ``cp.maximum``. Matrices are lower triangles
column by column, off-diagonal entries times sqrt(2).
"""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import triangle

from ..common.served import needs


@needs("cvxpy")
def solve_conic(
    q: Array,
    data: Array,
    indices: Array,
    indptr: Array,
    b: Array,
    orders: Array,
    sizes: Array,
    *,
    zero: int,
    nonnegative: int,
    solver: str,
    verbose: bool,
    settings: dict[str, Any],
) -> dict[str, Any]:
    """Return the solver's status and, where it has them, x and the multipliers y of the rows.

    y lies in the dual cone, and q + C'y = 0.

    Parameters
    ----------
    q : array of shape (k,)
    data, indices, indptr : arrays
        C, shape (N, k), by columns.
    b : array of shape (N,)
    orders : int array
        Lengths of the second-order cones.
    sizes : int array
        Orders of the matrices.
    zero, nonnegative : int
        Numbers of equations and inequalities, which come first.
    solver : str
        CVXPY's name of it.
    verbose : bool
    settings : dict
        Keyword arguments of the solver.

    Returns
    -------
    dict
        "status", and where they are known "x" (k,), "y" (N,), "iterations".
    """
    import cvxpy as cp

    C = sp.csr_array(sp.csc_array((data, indices, indptr), shape=(len(b), len(q))))
    x = cp.Variable(len(q))
    rows: list[Any] = []
    end = 0
    for count, relation in ((zero, "equal"), (nonnegative, "most")):
        if count:
            left, right = C[end : end + count] @ x, b[end : end + count]
            rows.append(left == right if relation == "equal" else left <= right)
        end += count
    for order in orders.tolist():
        slack = b[end : end + order] - C[end : end + order] @ x
        rows.append(cp.SOC(slack[0], slack[1:]) if order > 1 else slack >= 0)
        end += order
    for size in sizes.tolist():
        whole = _whole(size)
        part = slice(end, end + whole.shape[1])
        entries = whole @ b[part] - sp.csr_array(whole @ C[part]) @ x
        rows.append(cp.reshape(entries, (size, size), order="F") >> 0)
        end += whole.shape[1]
    problem = cp.Problem(cp.Minimize(q @ x), rows)
    try:
        problem.solve(solver=solver, verbose=verbose, **settings)
        status = problem.status
    except cp.error.SolverError as error:
        status = "solver_error: " + " ".join(str(error).split())[:300]
    out: dict[str, Any] = {"status": np.array(status)}
    if status in ("optimal", "optimal_inaccurate", "user_limit") and x.value is not None:
        out["x"] = np.asarray(x.value, dtype=float)
    parts = [_dual(row, sizes_of) for row, sizes_of in zip(rows, _kinds(rows, sizes), strict=True)]
    if all(part is not None for part in parts):
        out["y"] = np.concatenate([np.zeros(0), *parts])
    with contextlib.suppress(AttributeError, TypeError, ValueError):
        out["iterations"] = np.array(int(problem.solver_stats.num_iters))
    return out


def _kinds(rows: list[Any], sizes: Array) -> list[int]:
    """Return for each row the order of its matrix, 0 where it is none."""
    return [0] * (len(rows) - len(sizes)) + [int(size) for size in sizes]


def _dual(row: Any, size: int) -> Array | None:
    value = row.dual_value
    parts = value if isinstance(value, list) else [value]
    if any(part is None for part in parts):
        return None
    if size:
        matrix = np.asarray(value, dtype=float).reshape(size, size)
        lines, columns = triangle(size)
        scale = np.where(lines == columns, 1.0, np.sqrt(2.0))
        return np.asarray(scale * ((matrix + matrix.T) / 2.0)[lines, columns])
    return np.concatenate([np.ravel(np.asarray(part, dtype=float)) for part in parts])


def _whole(size: int) -> sp.csr_array:
    """Return the map from scaled packed entries to all entries of a matrix."""
    rows, columns = triangle(size)
    place = np.arange(len(rows))
    off = rows != columns
    scale = np.where(off, np.sqrt(0.5), 1.0)
    return sp.csr_array(
        (
            np.concatenate([scale, scale[off]]),
            (
                np.concatenate([rows + size * columns, (columns + size * rows)[off]]),
                np.concatenate([place, place[off]]),
            ),
        ),
        shape=(size * size, len(rows)),
    )
