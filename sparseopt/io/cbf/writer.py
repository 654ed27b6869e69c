"""A MISDP to CBF text, every number in its shortest exact form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseopt.io.cbf.model import MARK
from sparseopt.io.linear_rows import OneSided, split_rows
from sparseopt.io.misdp_text import header_lines
from sparseopt.problems import MISDP
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import matrix_variable, triangle, triangle_weights

_VERSION = 2
"""What is written needs no newer one."""


def format_cbf(problem: MISDP, facts: Mapping[str, Any]) -> str:
    """Return the text of the problem; the same text each time.

    Blocks at the beginning whose entries are the last variables, in their order, and in no other
    block, become PSDVAR; every other block PSDCON.

    Parameters
    ----------
    problem : MISDP
    facts : mapping
        The header's entries, written as comments.

    Returns
    -------
    str
    """
    return "\n".join(_lines(problem, facts)) + "\n"


def _lines(problem: MISDP, facts: Mapping[str, Any]) -> Iterator[str]:
    matrices = _matrix_variables(problem)
    n = len(problem.c) - sum(block.dimension for block in problem.blocks[:matrices])
    domain = _domains(problem, n)
    rows, types = split_rows(problem, equations=True, skip_bounds=_stated(domain, problem))
    header: dict[str, Any] = {"rows": types, **facts}
    if problem.names is not None:
        header["names"] = problem.names
    if any(block.name for block in problem.blocks):
        header["block_names"] = [block.name for block in problem.blocks]
    # Other readers expect VER before anything else.
    yield from ("VER", str(_VERSION), "")
    yield from header_lines(MARK, header)
    yield from ("OBJSENSE", problem.sense.upper(), "")
    psdvars, inequalities = problem.blocks[:matrices], problem.blocks[matrices:]
    if psdvars:
        yield from ("PSDVAR", str(len(psdvars)), *(str(block.size) for block in psdvars), "")
        yield from _indices("PSDVARRANK1", [k for k, b in enumerate(psdvars) if b.rank_one])
    if n:
        groups = [(name, len(list(group))) for name, group in groupby(domain)]
        yield from ("VAR", f"{n} {len(groups)}", *(f"{a} {b}" for a, b in groups), "")
    yield from _indices("INT", np.flatnonzero(problem.integer).tolist())
    if inequalities:
        yield from ("PSDCON", str(len(inequalities)), *(str(b.size) for b in inequalities), "")
        yield from _indices("PSDCONRANK1", [k for k, b in enumerate(inequalities) if b.rank_one])
    kinds = _row_domains(rows)
    groups = [(name, len(list(group))) for name, group in groupby(kinds)]
    groups += [("QR" if cone.rotated else "Q", cone.dimension) for cone in problem.cones]
    if groups:
        total = sum(length for _, length in groups)
        yield from ("CON", f"{total} {len(groups)}", *(f"{a} {b}" for a, b in groups), "")
    yield from _numbers(problem, rows, kinds, matrices, n)


def _numbers(
    problem: MISDP, rows: OneSided, kinds: list[str], matrices: int, n: int
) -> Iterator[str]:
    """Yield the sections of coordinates."""
    of_matrix = _Matrices(problem, matrices, n)
    costs = np.flatnonzero(problem.c)
    inner, scalar = costs[costs >= n], costs[costs < n]
    yield from _section("OBJFCOORD", (of_matrix.text(j, problem.c[j]) for j in inner.tolist()))
    yield from _section("OBJACOORD", (f"{j} {_number(problem.c[j])}" for j in scalar.tolist()))
    if problem.offset:
        yield from ("OBJBCOORD", _number(problem.offset), "")
    A = sp.csr_array(sp.vstack([rows.A, *(cone.F for cone in problem.cones)], format="csr"))
    row = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr)).tolist()
    entries = list(zip(row, A.indices.tolist(), A.data.tolist(), strict=True))
    yield from _section(
        "FCOORD", (f"{i} {of_matrix.text(j, value)}" for i, j, value in entries if j >= n)
    )
    yield from _section("ACOORD", (f"{i} {j} {_number(v)}" for i, j, v in entries if j < n))
    ends = np.where(np.isfinite(rows.low), rows.low, rows.high)
    ends = np.where(np.isinf(ends), 0.0, 0.0 - ends)
    b = [*ends.tolist(), *(value for cone in problem.cones for value in cone.g.tolist())]
    yield from _section("BCOORD", (f"{i} {_number(v)}" for i, v in enumerate(b) if v))
    yield from _section("HCOORD", _inequality_entries(problem, matrices))
    yield from _section("DCOORD", _inequality_constants(problem, matrices))


def _inequality_entries(problem: MISDP, matrices: int) -> Iterator[str]:
    for k, block in enumerate(problem.blocks[matrices:]):
        rows, columns = triangle(block.size)
        place = np.repeat(np.arange(block.dimension), np.diff(block.F.indptr))
        for e, j, value in zip(
            place.tolist(), block.F.indices.tolist(), block.F.data.tolist(), strict=True
        ):
            yield f"{k} {j} {rows[e]} {columns[e]} {_number(value)}"


def _inequality_constants(problem: MISDP, matrices: int) -> Iterator[str]:
    for k, block in enumerate(problem.blocks[matrices:]):
        rows, columns = triangle(block.size)
        for e in np.flatnonzero(block.F0).tolist():
            yield f"{k} {rows[e]} {columns[e]} {_number(block.F0[e])}"


class _Matrices:
    """Where the columns behind the scalar ones are in the matrix variables."""

    def __init__(self, problem: MISDP, matrices: int, n: int) -> None:
        self._n = n
        self._places: list[str] = []
        weights = [np.zeros(0)]
        for k, block in enumerate(problem.blocks[:matrices]):
            rows, columns = triangle(block.size)
            self._places += [f"{k} {i} {j}" for i, j in zip(rows, columns, strict=True)]
            weights.append(triangle_weights(block.size))
        self._weights = np.concatenate(weights)

    def text(self, column: int, coefficient: float) -> str:
        """Return matrix, row, column and the entry whose inner product has the coefficient."""
        at = column - self._n
        return f"{self._places[at]} {_number(coefficient / self._weights[at])}"


def _matrix_variables(problem: MISDP) -> int:
    """Return how many blocks at the beginning can be matrix variables of the file."""
    n = len(problem.c)
    columns = []
    for block in problem.blocks:
        own = matrix_variable(block)
        if own is None or problem.integer[own].any():
            break
        columns.append(own)
    for count in range(len(columns), 0, -1):
        taken = np.concatenate(columns[:count])
        begin = n - len(taken)
        others = problem.blocks[count:]
        if (
            begin >= 0
            and np.array_equal(taken, np.arange(begin, n))
            and not any((block.F.indices >= begin).any() for block in others)
        ):
            return count
    return 0


def _domains(problem: MISDP, n: int) -> list[str]:
    """Return the domain of each scalar variable: those bounded by zero on one side or on both."""
    low, high = problem.lower[:n], problem.upper[:n]
    below, above = np.where(low == 0.0, "0", "?"), np.where(high == 0.0, "0", "?")
    below[np.isinf(low)], above[np.isinf(high)] = "-", "-"
    names = {"00": "L=", "0-": "L+", "-0": "L-"}
    return [names.get(a + b, "F") for a, b in zip(below.tolist(), above.tolist(), strict=True)]


def _stated(domain: list[str], problem: MISDP) -> Array:
    stated = np.zeros(len(problem.c), dtype=bool)
    stated[: len(domain)] = np.array(domain, dtype=str) != "F"
    return stated


def _row_domains(rows: OneSided) -> list[str]:
    sides = zip(np.isfinite(rows.low).tolist(), np.isfinite(rows.high).tolist(), strict=True)
    names = {(True, True): "L=", (True, False): "L+", (False, True): "L-", (False, False): "F"}
    return [names[side] for side in sides]


def _indices(section: str, indices: list[int]) -> Iterator[str]:
    if indices:
        yield from (section, str(len(indices)), *map(str, indices), "")


def _section(name: str, entries: Iterator[str]) -> Iterator[str]:
    lines = list(entries)
    if lines:
        yield from (name, str(len(lines)), *lines, "")


def _number(value: float) -> str:
    return repr(float(value))
