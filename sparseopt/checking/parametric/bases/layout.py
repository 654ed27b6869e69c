"""The certificate "segments" and the path that it belongs to, read as hostile input."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparseopt.checking.evidence import Malformed, integers, numbers
from sparseopt.paths.parametric import ParametricPath
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.problem import PiecewiseLinearProgram
from sparseopt.result import Certificate

_CELLS = 2**21
"""Entries of one array of a chunk of segments: its dozen arrays stay within some 200 MB."""
_SEGMENTS = 256
"""Segments in a chunk: enough for matrix products to be fast."""


@dataclass(frozen=True, eq=False)
class Layout:
    """The ranges of lam and the bases of a path's segments, in order and within their ranges."""

    low: Array
    high: Array
    codes: Array
    change_ptr: Array
    changed: Array
    change_code: Array

    def __len__(self) -> int:
        return len(self.low)

    def chunks(self, wanted: Array) -> Iterator[tuple[Array, Array]]:
        """Yield the places of some segments in order, and their codes, shape (segments, p + m).

        Parameters
        ----------
        wanted : bool array of shape (segments of the path,)
        """
        codes, reached = self.codes.copy(), 0
        size = int(np.clip(_CELLS // len(codes), 1, _SEGMENTS))
        places = np.flatnonzero(wanted)
        for begin in range(0, len(places), size):
            here = places[begin : begin + size]
            block = np.empty((len(here), len(codes)), dtype=np.int64)
            for k, s in enumerate(here.tolist()):
                change = slice(self.change_ptr[reached], self.change_ptr[s + 1])
                codes[self.changed[change]] = self.change_code[change]
                reached = s + 1
                block[k] = codes
            yield here, block

    def at(self, segment: int) -> Array:
        """Return the codes of one segment, shape (p + m,)."""
        codes = self.codes.copy()
        end = self.change_ptr[segment + 1]
        codes[self.changed[:end]] = self.change_code[:end]
        return codes


@dataclass(frozen=True, eq=False)
class StoredRows:
    """Sparse rows whose layout was checked."""

    ptr: Array
    index: Array
    value: Array
    rate: Array
    length: int

    def dense(self, here: Array) -> tuple[Array, Array]:
        """Return values and rates of some rows, each of shape (rows, length)."""
        counts = self.ptr[here + 1] - self.ptr[here]
        row = np.repeat(np.arange(len(counts)), counts)
        ends = np.cumsum(counts)
        entries = np.arange(len(row)) + np.repeat(self.ptr[here] - (ends - counts), counts)
        value, rate = np.zeros((2, len(counts), self.length))
        value[row, self.index[entries]] = self.value[entries]
        rate[row, self.index[entries]] = self.rate[entries]
        return value, rate


@dataclass(frozen=True, eq=False)
class StoredPath:
    """The numbers of a ``ParametricPath`` after their layout was checked."""

    low: Array
    high: Array
    theta: StoredRows
    nu: StoredRows
    objective: Array
    stopped_by: str

    def lengths(self, here: Array | slice) -> Array:
        """Return over which lengths of lam the rates of some segments matter, all positive.

        Those of the segments; for one without an upper end the size of its lower end.
        """
        low, high = self.low[here], self.high[here]
        length = np.where(np.isfinite(high), high - low, low)
        return np.where(length > 0.0, length, np.maximum(low, 1.0))


def read_layout(certificate: Certificate, last_codes: Array) -> Layout:
    """Check the arrays of a certificate.

    Parameters
    ----------
    certificate : Certificate
        With `low`, `high` (S,), `codes` (p + m,), `change_ptr` (S + 1,), `changed`, `change_code`.
    last_codes : int array of shape (p + m,)
        Largest code of each coordinate.

    Raises
    ------
    Malformed
    """
    arrays = certificate.arrays
    count = int(np.size(arrays["low"])) if "low" in arrays else 0
    low, high = _ranges(arrays, count)
    changed = integers(arrays, "changed", None, 0, len(last_codes) - 1)
    ptr = _pointers(arrays, "change_ptr", count, len(changed))
    return Layout(
        low=low,
        high=high,
        codes=integers(arrays, "codes", len(last_codes), 0, last_codes),
        change_ptr=ptr,
        changed=changed,
        change_code=integers(arrays, "change_code", len(changed), 0, last_codes[changed]),
    )


def read_path(program: PiecewiseLinearProgram, path: ParametricPath) -> StoredPath:
    """Check the arrays of a path.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    path : ParametricPath

    Returns
    -------
    StoredPath

    Raises
    ------
    Malformed
    """
    m, p = program.A.shape
    fields = {name: getattr(path, name) for name in ("low", "high", "objective")}
    count = int(np.size(path.low))
    low, high = _ranges(fields, count)
    if tuple(path.shape) != (m, p):
        raise Malformed(f"the path is of a problem of shape {tuple(path.shape)}, not {(m, p)}")
    return StoredPath(
        low=low,
        high=high,
        theta=_rows("theta", path.theta, count, p),
        nu=_rows("nu", path.nu, count, m),
        objective=numbers(fields, "objective", (count, 3)),
        stopped_by=str(path.stopped_by),
    )


def _ranges(arrays: Any, count: int) -> tuple[Array, Array]:
    """Check that the ranges lie one below the other without a hole."""
    low = numbers(arrays, "low", (count,))
    high = numbers(arrays, "high", (count,), infinite=True)
    if count == 0:
        raise Malformed("the path has no segments")
    if low[-1] < 0.0:
        raise Malformed(f"the path ends at lam = {low[-1]:g}; lam is >= 0")
    if (low > high).any() or not np.isfinite(high[1:]).all():
        at = int(np.argmax((low > high) | ~np.isfinite(high) & (np.arange(count) > 0)))
        raise Malformed(
            f"segment {at} covers [{low[at]:g}, {high[at]:g}], which is no range of lam"
        )
    apart = low[:-1] != high[1:]
    if apart.any():
        at = int(np.argmax(apart))
        raise Malformed(
            f"segment {at} ends at lam = {low[at]:.17g} and the next one begins at "
            f"{high[at + 1]:.17g}: the segments do not meet"
        )
    return low, high


def _pointers(arrays: Any, name: str, count: int, entries: int) -> Array:
    ptr = integers(arrays, name, count + 1, 0, entries)
    if ptr[0] != 0 or ptr[-1] != entries or (np.diff(ptr) < 0).any():
        raise Malformed(f"{name} does not divide {entries} entries among {count} segments")
    return ptr


def _rows(name: str, rows: Any, count: int, length: int) -> StoredRows:
    fields = {f"{name}.{part}": getattr(rows, part) for part in ("ptr", "index", "value", "rate")}
    index = integers(fields, f"{name}.index", None, 0, length - 1)
    ptr = _pointers(fields, f"{name}.ptr", count, len(index))
    if _repeats(ptr, index, length):
        raise Malformed(f"{name} states an entry of a segment twice")
    return StoredRows(
        ptr=ptr,
        index=index,
        value=numbers(fields, f"{name}.value", (len(index),)),
        rate=numbers(fields, f"{name}.rate", (len(index),)),
        length=length,
    )


def _repeats(ptr: Array, index: Array, length: int) -> bool:
    """Return whether some row has an index twice."""
    step = max(1, _CELLS // max(length, 1))
    for begin in range(0, len(ptr) - 1, step):
        ends = ptr[begin : begin + step + 1]
        row = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
        found = np.zeros((len(ends) - 1, length), dtype=bool)
        found[row, index[ends[0] : ends[-1]]] = True
        if np.count_nonzero(found) < len(row):
            return True
    return False
