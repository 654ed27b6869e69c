"""A MISDP to SDPA sparse text, every number in its shortest exact form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseopt.io.linear_rows import OneSided, split_rows
from sparseopt.io.misdp_text import header_lines
from sparseopt.io.sdpa.reader import MARK
from sparseopt.problems import MISDP, SemidefiniteBlock
from sparseopt.problems.misdp.cones import arrow_block, triangle


def format_sdpa(problem: MISDP, facts: Mapping[str, Any]) -> str:
    """Return the text of the problem; the same text each time.

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
    n = len(problem.c)
    rows, types = split_rows(problem, equations=False)
    blocks = [*problem.blocks, *(arrow_block(cone) for cone in problem.cones)]
    header: dict[str, Any] = {"rows": types, "sense": problem.sense, "offset": problem.offset}
    header |= facts
    if problem.names is not None:
        header["names"] = problem.names
    if any(block.name for block in problem.blocks):
        header["block_names"] = [block.name for block in blocks]
    binary: list[int] = []
    if problem.indicators:
        sides, header["indicators"] = _conditional(problem)
        for row, letter in zip(problem.indicators, header["indicators"], strict=True):
            binary += [row.binary] * (2 if letter in "ER" else 1)
        rows = OneSided(
            sp.csr_array(sp.vstack([rows.A, sides.A], format="csr")),
            np.append(rows.low, sides.low),
            np.append(rows.high, sides.high),
        )
    yield from header_lines(MARK, header)
    if problem.sense == "max":
        yield '"the problem maximises: this file minimises the negative of its objective'
    if problem.offset:
        yield f'"the objective has the constant {problem.offset!r}, which is left out here'
    sizes = [block.size for block in blocks]
    if rows.A.shape[0]:
        sizes.append(-rows.A.shape[0])
    yield f"{n} = number of variables"
    yield f"{max(1, len(sizes))} = number of blocks"
    yield " ".join(map(str, sizes or [-1]))
    sign = 1.0 if problem.sense == "min" else -1.0
    yield " ".join(_number(sign * cost) for cost in problem.c)
    for k, block in enumerate(blocks, start=1):
        yield from _block(k, block)
    yield from _rows(len(blocks) + 1, rows)
    for i, j in enumerate(binary, start=rows.A.shape[0] - len(binary) + 1):
        yield f"-{j + 1} {len(blocks) + 1} {i} {i} 1.0"
    yield from _indices("*INTEGER", np.flatnonzero(problem.integer).tolist())
    yield from _indices("*RANK1", [k for k, block in enumerate(blocks) if block.rank_one])


def _conditional(problem: MISDP) -> tuple[OneSided, str]:
    """Return the rows of the indicators, those with two sides twice, and their letters."""
    n = len(problem.c)
    alone = MISDP(
        c=problem.c,
        A=sp.vstack([row.a for row in problem.indicators], format="csr"),
        row_lower=[row.lower for row in problem.indicators],
        row_upper=[row.upper for row in problem.indicators],
    )
    return split_rows(alone, equations=False, skip_bounds=np.ones(n, dtype=bool))


def _block(k: int, block: SemidefiniteBlock) -> Iterator[str]:
    """Yield sum_j x_j A_j - A_0, so that the constant changes its sign."""
    rows, columns = triangle(block.size)
    for e in np.flatnonzero(block.F0).tolist():
        yield f"0 {k} {columns[e] + 1} {rows[e] + 1} {_number(-block.F0[e])}"
    entry = np.repeat(np.arange(block.dimension), np.diff(block.F.indptr)).tolist()
    for e, j, value in zip(entry, block.F.indices.tolist(), block.F.data.tolist(), strict=True):
        yield f"{j + 1} {k} {columns[e] + 1} {rows[e] + 1} {_number(value)}"


def _rows(k: int, rows: OneSided) -> Iterator[str]:
    """Yield the rows a'x - end >= 0; one that is closed from above is negated."""
    for i in range(rows.A.shape[0]):
        above = np.isinf(rows.low[i]) and np.isfinite(rows.high[i])
        sign = -1.0 if above else 1.0
        end = sign * (rows.high[i] if above else rows.low[i])
        # Open on both sides: an expression that is at least -1e300 says nothing.
        if np.isinf(end):
            end = -1e300
        if end:
            yield f"0 {k} {i + 1} {i + 1} {_number(end)}"
        for e in range(rows.A.indptr[i], rows.A.indptr[i + 1]):
            j, value = int(rows.A.indices[e]), float(rows.A.data[e])
            yield f"{j + 1} {k} {i + 1} {i + 1} {_number(sign * value)}"


def _indices(section: str, indices: list[int]) -> Iterator[str]:
    if indices:
        yield section
        yield from (f"*{index + 1}" for index in indices)


def _number(value: float) -> str:
    return repr(float(value) + 0.0)
