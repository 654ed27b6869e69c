"""A :class:`~sparseopt.io.cbf.reader.CbfModel` to the MISDP that it describes."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from sparseopt.errors import ProblemError
from sparseopt.io.cbf.model import CbfModel, Coordinates
from sparseopt.io.linear_rows import OneSided, assembled
from sparseopt.problems import MISDP, SecondOrderCone, SemidefiniteBlock
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import triangle


def misdp_of(model: CbfModel) -> MISDP:
    """Return the problem: scalar variables first, then the entries of the matrix variables.

    Parameters
    ----------
    model : CbfModel

    Returns
    -------
    MISDP

    Raises
    ------
    ProblemError
        When sparseopt's own comment does not fit the file.
    """
    sizes = [size * (size + 1) // 2 for size in model.matrices]
    begins = model.n + np.cumsum([0, *sizes])
    n = int(begins[-1])
    A, b = _affine(model, begins, n)
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    cones: list[SecondOrderCone] = []
    vectors: list[SemidefiniteBlock] = []
    at = 0
    for name, length in model.variables:
        here = np.arange(at, at + length)
        if name in ("L+", "L="):
            lower[here] = 0.0
        if name in ("L-", "L="):
            upper[here] = 0.0
        if name in ("Q", "QR", "SVECPSD"):
            _add(name, _unit(here, n), np.zeros(length), cones, vectors)
        at += length
    low, high = np.full(model.m, -np.inf), np.full(model.m, np.inf)
    linear = np.ones(model.m, dtype=bool)
    at = 0
    for name, length in model.rows:
        part = slice(at, at + length)
        if name in ("L+", "L="):
            low[part] = 0.0 - b[part]
        if name in ("L-", "L="):
            high[part] = 0.0 - b[part]
        if name in ("Q", "QR", "SVECPSD"):
            _add(name, A[part], b[part], cones, vectors)
            linear[part] = False
        at += length
    header = model.header
    rows, lower, upper = assembled(
        OneSided(A[linear], low[linear], high[linear]),
        lower,
        upper,
        _text(header, "rows"),
        equations=True,
    )
    blocks = [*_blocks(model, begins, n), *vectors]
    return MISDP(
        c=_costs(model, begins, n),
        A=rows.A,
        row_lower=rows.low,
        row_upper=rows.high,
        lower=lower,
        upper=upper,
        integer=np.array(model.integer, dtype=np.int64),
        cones=cones,
        blocks=_named(blocks, header),
        sense="max" if model.maximize else "min",
        offset=model.constant,
        names=header.get("names"),
    )


def _costs(model: CbfModel, begins: Array, n: int) -> Array:
    c = np.zeros(n)
    given = model.entries("OBJACOORD")
    c[given.index[:, 0]] = given.value
    given = model.entries("OBJFCOORD")
    place, value = _of_matrices(model.matrices, begins, given)
    c[place] = value
    return c


def _affine(model: CbfModel, begins: Array, n: int) -> tuple[sp.csr_array, Array]:
    """Return (A, b) of all scalar rows."""
    scalar, inner = model.entries("ACOORD"), model.entries("FCOORD")
    place, value = _of_matrices(model.matrices, begins, inner)
    A = sp.coo_array(
        (
            np.concatenate([scalar.value, value]),
            (
                np.concatenate([scalar.index[:, 0], inner.index[:, 0]]),
                np.concatenate([scalar.index[:, 1], place]),
            ),
        ),
        shape=(model.m, n),
    )
    b = np.zeros(model.m)
    given = model.entries("BCOORD")
    b[given.index[:, 0]] = given.value
    return sp.csr_array(A), b


def _of_matrices(sizes: list[int], begins: Array, given: Coordinates) -> tuple[Array, Array]:
    """Return (column, coefficient) of entries of an inner product: off the diagonal twice."""
    matrix, row, column = given.index[:, -3], given.index[:, -2], given.index[:, -1]
    size = np.array(sizes, dtype=np.int64)[matrix] if len(given.value) else matrix
    return begins[matrix] + _packed(row, column, size), np.where(
        row == column, given.value, 2.0 * given.value
    )


def _packed(row: Array, column: Array, size: Array | int) -> Array:
    """Return the place of (row, column), row >= column, among the packed entries."""
    return np.asarray(column * size - column * (column - 1) // 2 + row - column)


def _blocks(model: CbfModel, begins: Array, n: int) -> list[SemidefiniteBlock]:
    found = []
    for k, size in enumerate(model.matrices):
        columns = np.arange(begins[k], begins[k + 1])
        rank_one = k in set(model.rank_one_matrices)
        found.append(SemidefiniteBlock(_unit(columns, n), None, size, rank_one))
    linear, constant = model.entries("HCOORD"), model.entries("DCOORD")
    rank_one_of = set(model.rank_one_inequalities)
    order = np.argsort(linear.index[:, 0], kind="stable")
    ends = np.searchsorted(linear.index[order, 0], np.arange(len(model.inequalities) + 1))
    fixed = np.argsort(constant.index[:, 0], kind="stable")
    stops = np.searchsorted(constant.index[fixed, 0], np.arange(len(model.inequalities) + 1))
    for k, size in enumerate(model.inequalities):
        entries = size * (size + 1) // 2
        at = order[ends[k] : ends[k + 1]]
        index = linear.index[at]
        F = sp.coo_array(
            (linear.value[at], (_packed(index[:, 2], index[:, 3], size), index[:, 1])),
            shape=(entries, n),
        )
        F0 = np.zeros(entries)
        at = fixed[stops[k] : stops[k + 1]]
        index = constant.index[at]
        F0[_packed(index[:, 1], index[:, 2], size)] = constant.value[at]
        found.append(SemidefiniteBlock(sp.csr_array(F), F0, size, k in rank_one_of))
    return found


def _add(
    name: str,
    F: sp.csr_array,
    g: Array,
    cones: list[SecondOrderCone],
    blocks: list[SemidefiniteBlock],
) -> None:
    if name != "SVECPSD":
        cones.append(SecondOrderCone(F, g, name == "QR"))
        return
    # The vector holds the entries beside the diagonal times sqrt(2).
    size = int((np.sqrt(8.0 * len(g) + 1.0) - 1.0) / 2.0)
    rows, columns = triangle(size)
    scale = np.where(rows == columns, 1.0, np.sqrt(0.5))
    blocks.append(SemidefiniteBlock(sp.csr_array(sp.diags_array(scale) @ F), scale * g, size))


def _unit(columns: Array, n: int) -> sp.csr_array:
    count = len(columns)
    return sp.csr_array((np.ones(count), (np.arange(count), columns)), shape=(count, n))


def _text(header: dict[str, object], key: str) -> str | None:
    value = header.get(key)
    if value is not None and not isinstance(value, str):
        raise ProblemError(f"the comment of sparseopt has {key} = {value!r:.40}; expected text")
    return value


def _named(blocks: list[SemidefiniteBlock], header: dict[str, object]) -> list[SemidefiniteBlock]:
    names = header.get("block_names")
    if names is None:
        return blocks
    if not isinstance(names, list) or len(names) != len(blocks):
        raise ProblemError(f"the comment of sparseopt must name each of {len(blocks)} blocks")
    return [
        SemidefiniteBlock(block.F, block.F0, block.size, block.rank_one, name)
        for block, name in zip(blocks, names, strict=True)
    ]
