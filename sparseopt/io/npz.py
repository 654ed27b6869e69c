"""The native instance file: one .npz with a JSON header, never a pickle.

The entry ``__header__`` holds UTF-8 JSON as bytes (see :mod:`sparseopt.io.header`); every other
entry is an array of the problem by its name, a sparse matrix A as the four entries
``A.data, A.indices, A.indptr, A.shape`` (CSR). ``numpy.load(path)`` reads it too. The same problem
gives the same bytes each time, so that a checksum means something.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.installed import Deferred
from sparseopt.io.archive import Archive, open_archive, write_archive
from sparseopt.io.files import naming, open_read, replacing
from sparseopt.io.header import FORMAT, VERSION, checked_facts, checked_header
from sparseopt.io.strict_json import dumps, loads_object
from sparseopt.problems import Problem
from sparseopt.problems.base import Array

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = Deferred("scipy.sparse")

_HEADER = "__header__"
_MAX_HEADER = 2**26
_PARTS = ("data", "indices", "indptr", "shape")
_MANY_COLUMNS = 10_000_000


def write_npz(problem: Problem, path: str | PathLike[str], **facts: Any) -> None:
    """Write a problem as a native instance file.

    Parameters
    ----------
    problem : Problem
    path : path
        Replaced as a whole or not at all.
    **facts
        ``name, generator, reference, license, citation``, see
        :func:`sparseopt.io.header.checked_facts`.

    Raises
    ------
    ProblemError
        When a fact is unknown or the file cannot be written.
    """
    values, arrays = problem.payload()
    header = {
        "format": FORMAT,
        "version": VERSION,
        "kind": problem.kind,
        "sense": problem.sense,
        "params": {key: values[key] for key in sorted(values)},
        **checked_facts(facts),
    }
    entries = {_HEADER: np.frombuffer(dumps(header).encode("utf-8"), np.uint8)}
    for name in sorted(arrays):
        entries.update(_entries(name, arrays[name]))
    with replacing(path) as stream:
        write_archive(stream, entries)


def _entries(name: str, array: Any) -> dict[str, Array]:
    if isinstance(array, np.ndarray):
        return {name: array}
    matrix = sp.csr_array(array)
    return {
        f"{name}.data": matrix.data,
        f"{name}.indices": matrix.indices.astype(np.int64),
        f"{name}.indptr": matrix.indptr.astype(np.int64),
        f"{name}.shape": np.array(matrix.shape, np.int64),
    }


def read_npz(path: str | PathLike[str]) -> Problem:
    """Read a native instance file.

    Parameters
    ----------
    path : path

    Returns
    -------
    Problem

    Raises
    ------
    ProblemError
        When it is missing, damaged, of a newer version, or holds no valid problem.
    """
    with open_read(path) as stream, open_archive(path, stream) as archive:
        problem_class, header = _header(archive)
        arrays = _arrays(archive)
    with naming(path):
        return build_problem(problem_class, header["params"], arrays)


def read_npz_header(path: str | PathLike[str]) -> dict[str, Any]:
    """Return the header, with the shape and type of every array under "arrays"; reads no array.

    Parameters
    ----------
    path : path

    Returns
    -------
    dict
    """
    with open_read(path) as stream, open_archive(path, stream) as archive:
        _, header = _header(archive)
        described = archive.describe()
    arrays = {
        name: {"shape": list(shape), "dtype": dtype}
        for name, (shape, dtype) in described.items()
        if name != _HEADER
    }
    return {**header, "arrays": arrays}


def build_problem(
    problem_class: type[Problem], params: Mapping[str, Any], arrays: Mapping[str, Any]
) -> Problem:
    """Build a problem from what a file said.

    Parameters
    ----------
    problem_class : subclass of Problem
    params : mapping
        JSON values by the names of fields.
    arrays : mapping
        Arrays and sparse matrices by the names of fields.

    Returns
    -------
    Problem

    Raises
    ------
    ProblemError
        Whatever is wrong with the content.
    """
    twice = sorted(set(params) & set(arrays))
    if twice:
        raise ProblemError(f"{twice[0]} is there twice: in params and as an array", twice[0])
    try:
        return problem_class.from_payload(params, arrays)
    except ProblemError:
        raise
    except Exception as error:
        # A file can say anything, and numpy raises many types for what makes no sense.
        raise ProblemError(
            f"its content is not a valid {problem_class.kind} ({type(error).__name__}: {error})"
        ) from error


def _header(archive: Archive) -> tuple[type[Problem], dict[str, Any]]:
    if _HEADER not in archive.names:
        raise archive.error(
            f"the entry {_HEADER} is missing: this is no sparseopt instance (of a result, the "
            ".json file is the one to read)",
            _HEADER,
        )
    raw = archive.read(_HEADER, limit=_MAX_HEADER)
    if raw.dtype != np.uint8 or raw.ndim != 1:
        raise archive.error(f"the entry {_HEADER} must be a vector of bytes", _HEADER)
    header = loads_object(raw.tobytes(), f"{archive.path}: the entry {_HEADER}")
    with naming(archive.path):
        return checked_header(header)


def _arrays(archive: Archive) -> dict[str, Any]:
    plain: dict[str, Array] = {}
    sparse: dict[str, dict[str, Array]] = {}
    for entry in archive.names:
        if entry == _HEADER:
            continue
        name, dot, part = entry.partition(".")
        if not dot:
            plain[name] = archive.read(entry)
        elif part in _PARTS:
            sparse.setdefault(name, {})[part] = archive.read(entry)
        else:
            raise archive.error(f"the entry {entry} is unknown", entry)
    # No problem has far more columns than numbers: such a shape only takes memory.
    widest = max(_MANY_COLUMNS, sum(a.size for a in plain.values()))
    matrices: dict[str, Any] = {}
    for name, parts in sparse.items():
        if name in plain:
            raise archive.error(f"{name} is there both dense and sparse", name)
        with naming(archive.path):
            matrices[name] = _csr(name, parts, widest)
    return {**plain, **matrices}


def _csr(name: str, parts: Mapping[str, Array], widest: int) -> sp.csr_array:
    """Return the matrix; scipy itself checks the ranges of no index."""
    missing = [part for part in _PARTS if part not in parts]
    if missing:
        raise ProblemError(f"the entry {name}.{missing[0]} is missing", name)
    data, indices, indptr, shape = (parts[part] for part in _PARTS)
    for part in ("indices", "indptr", "shape"):
        if parts[part].dtype.kind not in "iu" or parts[part].ndim != 1:
            raise ProblemError(f"{name}.{part} must be a vector of integers", name)
    if shape.shape != (2,) or (shape < 0).any():
        raise ProblemError(f"{name}.shape is {shape.tolist()}; expected two sizes >= 0", name)
    m, n = (int(length) for length in shape)
    if n > widest:
        raise ProblemError(f"{name}.shape is absurd: {n} columns in a file of this size", name)
    if data.ndim != 1 or data.shape != indices.shape:
        raise ProblemError(f"{name}.data and {name}.indices must be vectors of one length", name)
    if len(indptr) != m + 1 or indptr[0] != 0 or indptr[-1] != len(data):
        raise ProblemError(f"{name}.indptr must have {m + 1} entries, from 0 to {len(data)}", name)
    if (indptr[1:] < indptr[:-1]).any():
        raise ProblemError(f"{name}.indptr must not decrease", name)
    if len(indices) and not (indices.min() >= 0 and indices.max() < n):
        raise ProblemError(f"{name}.indices must lie between 0 and {n - 1}", name)
    return sp.csr_array((data, indices.astype(np.int64), indptr.astype(np.int64)), shape=(m, n))
