"""A piece of the answer to a columnwise problem: the exact paths of some columns, in one file.

An .npz as any other (:mod:`sparseopt.io.archive`), not compressed. ``__header__`` holds UTF-8 JSON.
The arrays are those of :class:`~sparseopt.paths.columns.StackedPaths`, ``theta.index`` and the
like, and those of the certificate "columnwise" that are not the path's own. What the result states
at the columns' common end (x, multipliers, objective) follows from the path, and is not stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from os import PathLike
from typing import Any

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.io.archive import Archive, open_archive, write_archive
from sparseopt.io.fields import Fields
from sparseopt.io.files import naming, open_read
from sparseopt.io.header import checked_version
from sparseopt.io.strict_json import dumps, loads_object
from sparseopt.params import SolveParams
from sparseopt.paths.columns import ColumnwisePath, StackedPaths
from sparseopt.paths.parametric import SparseRows
from sparseopt.problems.base import Array
from sparseopt.result import Certificate, Limit, Result, Status, Verdict

FORMAT, VERSION = "sparseopt-columns", 1
_HEADER = "__header__"
_MAX_HEADER = 2**26
_ROWS = ("ptr", "index", "value", "rate")
_BASES = ("codes", "change_ptr", "changed", "change_code", "farkas_columns", "farkas")
_TEXTS = ("raw_status", "backend")
_ENTRIES = frozenset(
    [
        *("ptr", "low", "high", "objective", "stopped_by", *_BASES),
        *(f"{side}.{name}" for side in ("theta", "nu") for name in _ROWS),
    ]
)


def packed(result: Result, piece: Mapping[str, Any]) -> bytes:
    """Return the content of a piece's file.

    Parameters
    ----------
    result : Result
        Of the backend ``homotopy``: with a path whose columns are :class:`StackedPaths`.
    piece : mapping
        JSON values that say whose piece it is; :func:`read_piece` compares them.

    Returns
    -------
    bytes
    """
    path, certificate = result.path, result.certificate
    assert isinstance(path, ColumnwisePath)
    assert certificate is not None
    columns = path.columns
    assert isinstance(columns, StackedPaths)
    reasons = sorted(set(columns.stopped_by))
    header = {
        "format": FORMAT,
        "version": VERSION,
        "piece": dict(piece),
        "status": result.status.value,
        "limit": None if result.limit is None else result.limit.value,
        "verdict": None if result.verdict is None else result.verdict.value,
        "messages": list(result.check_messages),
        "notes": list(result.notes),
        "iterations": result.iterations,
        "seconds": [result.build_time, result.solve_time, result.check_time],
        "versions": dict(result.versions),
        "params": result.params.to_dict(),
        "shape": list(columns.shape),
        "reasons": reasons,
        **{name: getattr(result, name) for name in _TEXTS},
    }
    arrays = {
        _HEADER: np.frombuffer(dumps(header).encode("utf-8"), np.uint8),
        "ptr": columns.ptr,
        "low": columns.low,
        "high": columns.high,
        "objective": columns.objective,
        "stopped_by": np.array([reasons.index(r) for r in columns.stopped_by], dtype=np.int8),
    }
    for side in ("theta", "nu"):
        rows = getattr(columns, side)
        arrays |= {f"{side}.{name}": _short(getattr(rows, name)) for name in _ROWS}
    arrays |= {
        name: _short(certificate.arrays[name]) for name in _BASES if name in certificate.arrays
    }
    stream = BytesIO()
    write_archive(stream, arrays, compressed=False)
    return stream.getvalue()


def _short(array: Array) -> Array:
    """Return whole numbers in half the bytes, where they fit."""
    if array.dtype != np.int64 or np.abs(array).max(initial=0) >= 2**31:
        return array
    return array.astype(np.int32)


def read_piece(
    path: str | PathLike[str], piece: Mapping[str, Any], columns: int, names: Sequence[str]
) -> Result:
    """Read a piece.

    Parameters
    ----------
    path : path
    piece : mapping
        Whose piece it has to be.
    columns : int
        How many it has.
    names : sequence of str
        Of the coefficients of a column.

    Returns
    -------
    Result

    Raises
    ------
    ProblemError
        When it is missing, damaged, of a newer version, or the piece of something else.
    """
    with open_read(path) as stream, open_archive(path, stream) as archive:
        header = _header(archive)
        arrays = {name: archive.read(name) for name in archive.names if name != _HEADER}
    with naming(path):
        facts, params = _facts(header)
        # What the blocks of a store were asked is the same, however many threads followed each.
        asked = replace(params, threads=None).to_dict()
        if header["piece"] != dict(piece) or asked != piece.get("params", asked):
            raise ProblemError("it belongs to another question, or another problem")
        unknown = sorted(set(arrays) - _ENTRIES)
        if unknown:
            raise ProblemError(f"the entry {unknown[0]} is unknown")
        try:
            found = _result(header, arrays, columns, names)
            return found.with_changes(params=params, **facts)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise ProblemError(
                f"its content is no piece of a path ({type(error).__name__}: {error})"
            ) from error


def _header(archive: Archive) -> dict[str, Any]:
    raw = archive.read(_HEADER, limit=_MAX_HEADER)
    if raw.dtype != np.uint8 or raw.ndim != 1:
        raise archive.error(f"the entry {_HEADER} must be a vector of bytes", _HEADER)
    header = loads_object(raw.tobytes(), f"{archive.path}: the entry {_HEADER}")
    if header.get("format") != FORMAT:
        raise archive.error(f"its format is {header.get('format')!r:.60}; expected {FORMAT!r}")
    with naming(archive.path):
        checked_version(header, VERSION)
    return header


def _result(
    header: Mapping[str, Any], arrays: dict[str, Array], columns: int, names: Sequence[str]
) -> Result:
    m, p = (int(length) for length in header["shape"])
    ptr, count = _pointers(arrays["ptr"], None), columns
    segments = int(ptr[-1])
    if len(ptr) != count + 1 or p != len(names) or (np.diff(ptr) < 1).any():
        raise ValueError(f"expected {count} columns of {len(names)} coefficients")
    low, high, objective = (_floats(arrays[name]) for name in ("low", "high", "objective"))
    if low.shape != (segments,) or high.shape != low.shape or objective.shape != (segments, 3):
        raise ValueError("its arrays differ in their numbers of segments")
    reasons = [str(reason) for reason in header["reasons"]]
    if arrays["stopped_by"].dtype != np.int8:
        raise ValueError("stopped_by is not of bytes")
    stopped_by = [reasons[k] for k in arrays["stopped_by"].tolist() if k >= 0]
    if len(stopped_by) != count:
        raise ValueError("stopped_by has another length than ptr")
    rows = {
        side: _rows({name: arrays[f"{side}.{name}"] for name in _ROWS}, segments, length)
        for side, length in (("theta", p), ("nu", m))
    }
    stack = StackedPaths(
        ptr=ptr,
        low=low,
        high=high,
        objective=objective,
        shape=(m, p),
        names=names,
        stopped_by=stopped_by,
        **rows,
    )
    bases = {name: _whole(arrays[name]) for name in _BASES if name in arrays}
    return _joined(stack, bases)


def _facts(header: Mapping[str, Any]) -> tuple[dict[str, Any], SolveParams]:
    """Return what a piece says of its result beside the paths, and what was asked."""
    fields = Fields(header, "", _no_entries)
    for other in ("format", "version", "piece", "shape"):
        fields.raw(other)
    fields.texts("reasons")
    limits, verdicts = [limit.value for limit in Limit], [verdict.value for verdict in Verdict]
    limit = None if fields.is_null("limit") else Limit(fields.choice("limit", limits))
    verdict = None if fields.is_null("verdict") else Verdict(fields.choice("verdict", verdicts))
    seconds = [item.seconds("value") for item in fields.items("seconds")]
    versions = fields.object("versions")
    facts: dict[str, Any] = {
        "status": Status(fields.choice("status", [status.value for status in Status])),
        "limit": limit,
        "verdict": verdict,
        "check_messages": tuple(fields.texts("messages")),
        "notes": tuple(fields.texts("notes")),
        "iterations": None if fields.is_null("iterations") else fields.count("iterations"),
        "versions": {name: versions.text(name) for name in versions.names()},
        **{name: fields.text(name) for name in _TEXTS},
    }
    try:
        facts |= dict(zip(("build_time", "solve_time", "check_time"), seconds, strict=True))
        params = SolveParams(**fields.mapping("params"))
    except (TypeError, ValueError) as error:
        raise ProblemError(f"its seconds or params: {error}") from error
    fields.end()
    return facts, params


def _no_entries(name: str) -> Any:
    raise ProblemError(f"the array {name} is in another file")


def _joined(stack: StackedPaths, bases: Mapping[str, Array]) -> Result:
    """Return what follows from the paths: the result at their common end, with its certificate."""
    theta, nu, ends = stack.ends()
    lam = float(ends.max())
    path = ColumnwisePath(columns=stack, stopped_by=stack.stopped_by[int(np.argmax(ends))])
    if (ends < lam).any():
        theta, nu = path.at(lam), path.dual_at(lam)
    objective = path.objective_at(lam)
    certificate = Certificate(
        "columnwise", {"column_ptr": stack.ptr, "low": stack.low, "high": stack.high, **bases}
    )
    return Result(
        status=Status.OPTIMAL,
        x=theta,
        objective=objective,
        bound=objective,
        duals={"rows": nu},
        path=path,
        certificate=certificate,
    )


def _rows(parts: Mapping[str, Array], count: int, length: int) -> SparseRows:
    index, value, rate = _whole(parts["index"]), _floats(parts["value"]), _floats(parts["rate"])
    if index.ndim != 1 or value.shape != index.shape or rate.shape != index.shape:
        raise ValueError("indices, values and rates differ in number")
    if len(index) and not 0 <= index.min() <= index.max() < length:
        raise ValueError(f"an index is not in 0 to {length - 1}")
    ptr = _pointers(parts["ptr"], len(index))
    if len(ptr) != count + 1:
        raise ValueError(f"{len(ptr) - 1} vectors for {count} segments")
    return SparseRows(ptr, index, value, rate)


def _pointers(array: Array, end: int | None) -> Array:
    ptr = _whole(array)
    if ptr.ndim != 1 or len(ptr) == 0 or ptr[0] != 0 or (np.diff(ptr) < 0).any():
        raise ValueError("ptr must rise from 0")
    if end is not None and ptr[-1] != end:
        raise ValueError(f"ptr must end at {end}")
    return ptr


def _whole(array: Array) -> Array:
    if array.dtype.kind == "f":
        return _floats(array)
    return array if array.dtype == np.int16 else array.astype(np.int64)


def _floats(array: Array) -> Array:
    if array.dtype != np.float64 or np.isnan(array).any():
        raise ValueError("expected numbers in double precision")
    return array
