"""Mixed-integer semidefinite programs in SDPA's sparse format, .dat-s and .dat-s.gz.

    min c'x   subject to   x_1 A_1 + ... + x_n A_n - A_0  positive semidefinite,

block by block; a block of a negative size holds linear rows on its diagonal. SCIP-SDP's sections
``*INTEGER`` and ``*RANK1`` list integer variables and blocks of rank one, as comments at the end
that other readers skip. An entry of a variable -k in a linear row, whatever its value, is its
indicator: the row holds only where variable k is 1, which is binary then.

Reading: rows with a single coefficient, a power of two, become bounds, and two neighbouring rows
that bound one expression from both sides become one row. Writing: second-order cones become arrow
matrices, a maximum the minimum of the negative, and the constant of the objective goes into a
comment. A comment for sparseopt's own reader brings sense, constant, ranges, bounds and names back,
so that a problem without cones comes back equal to the last bit.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import scipy.sparse as sp

from sparseopt.errors import ProblemError
from sparseopt.io.linear_rows import OneSided, assembled
from sparseopt.io.misdp_text import TextFormat
from sparseopt.io.sdpa.reader import SdpaModel, parse_sdpa
from sparseopt.io.sdpa.writer import format_sdpa
from sparseopt.problems import MISDP, IndicatorConstraint, SemidefiniteBlock
from sparseopt.problems.base import Array

__all__ = ["read_sdpa", "read_sdpa_header", "write_sdpa"]


def _problem(model: SdpaModel) -> MISDP:
    n = len(model.c)
    matrix, block = model.index[:, 0], model.index[:, 1]
    row, column = model.index[:, 2], model.index[:, 3]
    order = np.argsort(block, kind="stable")
    ends = np.searchsorted(block[order], np.arange(len(model.sizes) + 1))
    blocks: list[SemidefiniteBlock] = []
    parts, constants = [sp.csr_array((0, n))], [np.zeros(0)]
    names = _names(model)
    ranked = set(model.rank_one)
    for k, size in enumerate(model.sizes):
        at = order[ends[k] : ends[k + 1]]
        length = abs(size) if size < 0 else size * (size + 1) // 2
        place = row[at]
        if size > 0:
            place = column[at] * size - column[at] * (column[at] - 1) // 2 + row[at] - column[at]
        F, F0 = _affine(matrix[at], place, model.value[at], length, n)
        if size < 0:
            parts.append(F)
            constants.append(F0)
        else:
            blocks.append(SemidefiniteBlock(F, F0, size, k in ranked, names[len(blocks)]))
    A = sp.csr_array(sp.vstack(parts, format="csr"))
    low = 0.0 - np.concatenate(constants)
    rows, conditional, binary = _without_indicators(model, A, low)
    header = model.header
    types = header.get("rows")
    if types is not None:
        rows = _turned(rows, types)
    linear, lower, upper = assembled(
        rows, np.full(n, -np.inf), np.full(n, np.inf), types, equations=False
    )
    lower[binary], upper[binary] = np.maximum(lower[binary], 0.0), np.minimum(upper[binary], 1.0)
    sense: Literal["min", "max"] = "max" if header.get("sense") == "max" else "min"
    return MISDP(
        c=model.c if sense == "min" else 0.0 - model.c,
        A=linear.A,
        row_lower=linear.low,
        row_upper=linear.high,
        lower=lower,
        upper=upper,
        integer=np.array([*model.integer, *binary], dtype=np.int64),
        blocks=blocks,
        sense=sense,
        offset=header.get("offset", 0.0),
        names=header.get("names"),
        indicators=_indicators(conditional, binary, header.get("indicators")),
    )


def _without_indicators(
    model: SdpaModel, A: sp.csr_array, low: Array
) -> tuple[OneSided, OneSided, list[int]]:
    """Return the rows of no indicator, the others, and the variables of these."""
    lengths = [-size if size < 0 else 0 for size in model.sizes]
    begin = np.cumsum([0, *lengths])
    places = {int(begin[block]) + row: j for (block, row), j in model.indicators.items()}
    chosen = np.array(sorted(places), dtype=np.int64)
    rest = np.setdiff1d(np.arange(len(low)), chosen)
    split = [OneSided(A[at], low[at], np.full(len(at), np.inf)) for at in (rest, chosen)]
    return split[0], split[1], [places[i] for i in chosen.tolist()]


def _indicators(rows: OneSided, binary: list[int], types: object) -> list[IndicatorConstraint]:
    """Return the constraints; with our own comment as they were: two rows are a range."""
    count = len(binary)
    if types is None:
        types = "G" * count
    if not isinstance(types, str) or set(types) - set("GLER"):
        raise ProblemError(f"the comment of sparseopt has indicators = {types!r:.40}")
    if len(types) + sum(letter in "ER" for letter in types) != count:
        raise ProblemError(f"the comment of sparseopt does not fit the {count} rows of indicators")
    rows, found, i = _turned(rows, types), [], 0
    for letter in types:
        last = i + 1 if letter in "ER" else i
        found.append(
            IndicatorConstraint(binary[i], rows.A[[i]], rows.low[i], float(rows.high[last]))
        )
        i = last + 1
    return found


def _affine(
    matrix: Array, place: Array, value: Array, length: int, n: int
) -> tuple[sp.csr_array, Array]:
    """Return (F, F0) of sum_j x_j A_j - A_0."""
    linear = matrix > 0
    F = sp.coo_array((value[linear], (place[linear], matrix[linear] - 1)), shape=(length, n))
    F0 = np.zeros(length)
    F0[place[~linear]] = 0.0 - value[~linear]
    return sp.csr_array(F), F0


def _turned(rows: OneSided, types: object) -> OneSided:
    """Return the rows that sparseopt has negated (those closed from above) as they were."""
    if not isinstance(types, str):
        raise ProblemError(f"the comment of sparseopt has rows = {types!r:.40}; expected text")
    signs = {"G": [1.0], "L": [-1.0], "E": [1.0, -1.0], "R": [1.0, -1.0], "N": [0.0]}
    sign = [s for letter in types for s in signs.get(letter, [1.0])]
    bounds = rows.A.shape[0] - len(sign)
    if bounds < 0:
        raise ProblemError(
            f"the comment of sparseopt says that there are {len(sign)} rows; there are "
            f"{rows.A.shape[0]}"
        )
    # Bounds were written as unit rows, those from above negated as well.
    ends = np.array([*sign, *(_unit_sign(rows.A, i) for i in range(len(sign), rows.A.shape[0]))])
    negated = ends < 0.0
    factor = np.where(negated, -1.0, 1.0)
    A = sp.csr_array(sp.diags_array(factor) @ rows.A)
    low = np.where(negated, -np.inf, rows.low)
    high = np.where(negated, 0.0 - rows.low, np.inf)
    return OneSided(A, np.where(ends == 0.0, -np.inf, low), high)


def _unit_sign(A: sp.csr_array, i: int) -> float:
    return float(A.data[A.indptr[i]]) if A.indptr[i + 1] == A.indptr[i] + 1 else 1.0


def _names(model: SdpaModel) -> list[str]:
    """Return the names of the matrix blocks."""
    count = sum(size > 0 for size in model.sizes)
    names = model.header.get("block_names")
    if names is None:
        return [""] * count
    if not isinstance(names, list) or len(names) != count:
        raise ProblemError(f"the comment of sparseopt must name each of {count} blocks")
    return names


_FORMAT = TextFormat("sdpa", "SDPA", parse_sdpa, _problem, format_sdpa, indicators=True)
read_sdpa, read_sdpa_header, write_sdpa = _FORMAT.read, _FORMAT.header, _FORMAT.write
