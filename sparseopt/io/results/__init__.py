"""Results as versioned JSON; schema/result-v1.json describes the document.

Arrays are inside the document while they are few, else in ``NAME.HASH.arrays.npz`` beside it, which
the document names with its SHA-256 (HASH is its beginning; version 0.1 wrote ``NAME.arrays.npz``).
The new arrays are there before the document takes its place, the old ones go afterwards: whatever
ends the process between leaves the old result or the new one whole. Of several that are saved under
one name at once the last one stays, with its arrays. The same result gives the same bytes. What is
read is checked for types, shapes and ranges; whether a result is *true* is the question of
:func:`sparseopt.check`.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import resources
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

from sparseopt.errors import ProblemError
from sparseopt.io.archive import Archive, open_archive, write_archive
from sparseopt.io.arrays import collect, encode_array, fill
from sparseopt.io.fields import Fields
from sparseopt.io.files import file_name, naming, open_read, replacing
from sparseopt.io.header import checked_version
from sparseopt.io.results.document import FORMAT, VERSION, decode_result, result_tree
from sparseopt.io.results.paths import PathFormat, path_schemas
from sparseopt.io.strict_json import dumps, loads_object
from sparseopt.locks import lock_file, unlock_file
from sparseopt.problems import Problem
from sparseopt.problems.base import Array
from sparseopt.result import Result, relative_gap

__all__ = ["PathFormat", "load_result", "read_result_header", "result_schema", "save_result"]

_INLINE = 20_000
_PATIENCE = 5.0
"""Seconds that a writer waits for others: one that started us may keep the folder."""
_HASH = 12
_MAX_DOCUMENT = 2**28


def result_schema() -> dict[str, Any]:
    """Return the JSON schema of result files, with the paths of all installed families."""
    text = resources.files("sparseopt.io").joinpath("schema", "result-v1.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    schema["properties"]["path"]["anyOf"] = [*path_schemas().values(), {"type": "null"}]
    return schema


def save_result(result: Result, path: str | PathLike[str]) -> None:
    """Write a result as JSON.

    Parameters
    ----------
    result : Result
    path : path
        Must end in ``.json``. With more than 20,000 numbers in arrays, these go into
        ``NAME.HASH.arrays.npz`` beside it, and those of the result that was there are removed.

    Raises
    ------
    ProblemError
        When the ending is another, the file cannot be written, or the result holds what cannot be
        saved: arrays of objects, or NaN in an answer.
    """
    target = _json_path(path)
    with _cannot_save(path):
        tree = result_tree(result)
        arrays = collect(tree)
        inline = sum(array.size for array in arrays) <= _INLINE
        entries = {} if inline else {f"array{k}": array for k, array in enumerate(arrays)}
        names = iter(entries)
        document = fill(tree, lambda array: encode_array(array, next(names, None)))
        # What is written must be readable: the reader's own checks, before a byte goes out.
        decode_result(loads_object(_text(document), "the document"), entries.__getitem__)
    beside, packed = None, BytesIO()
    if not inline:
        write_archive(packed, entries)
        digest = _sha256(packed)
        beside = target.with_name(f"{target.stem}.{digest[:_HASH]}.arrays.npz")
        document["arrays"] = {"file": beside.name, "sha256": digest}
    with _alone_in(target.parent):
        _replace(target, _text(document), beside, packed)


def _replace(target: Path, text: bytes, beside: Path | None, packed: BytesIO) -> None:
    """Write a document and the arrays beside it, and remove those of the result before it."""
    before = _arrays_file_of(target)
    if beside is not None:
        with replacing(beside) as stream:
            stream.write(packed.getbuffer())
    try:
        with replacing(target) as stream:
            stream.write(text)
    except BaseException:
        if beside is not None and beside != before:
            beside.unlink(missing_ok=True)
        raise
    if before is not None and before != beside:
        # The new result is whole, whatever becomes of the file that it does not need.
        with suppress(OSError):
            before.unlink(missing_ok=True)


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Keep other threads and processes from replacing a result in a folder that can be locked.

    Between its look at the arrays of the old result and their end another one could begin to use
    them, or leave its own behind.
    """
    try:
        number = _opened(folder)
    except OSError:
        yield
        return
    try:
        _wait_for(number)
        yield
    finally:
        with suppress(OSError):
            unlock_file(number)
        os.close(number)


def _wait_for(number: int) -> None:
    """Take the lock on an open file, or go on without where others keep it or there are none."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            lock_file(number, wait=False)
        except (BlockingIOError, PermissionError):  # the second on Windows
            if time.monotonic() > deadline:
                return
            time.sleep(0.01)
        except OSError:
            return
        else:
            return


def _opened(folder: Path) -> int:
    """Open a folder, or on Windows, which opens none, a file of the user's that stands for it."""
    if sys.platform != "win32":
        return os.open(folder, os.O_RDONLY)
    name = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:_HASH]
    lock = Path(tempfile.gettempdir()) / f"sparseopt-{name}.lock"
    return os.open(lock, os.O_RDWR | os.O_CREAT)


def _arrays_file_of(target: Path) -> Path | None:
    """Return the arrays that only the result in the file `target` can use, None without them."""
    try:
        given = _document(target)["arrays"]
        name, digest = given["file"], given["sha256"]
    except (ProblemError, KeyError, TypeError):
        return None
    if not re.fullmatch("[0-9a-f]{64}", str(digest)):
        return None
    own = (f"{target.stem}.arrays.npz", f"{target.stem}.{digest[:_HASH]}.arrays.npz")
    return target.with_name(name) if name in own else None


def load_result(path: str | PathLike[str], problem: Problem | None = None) -> Result:
    """Read a result.

    Parameters
    ----------
    path : path
    problem : Problem, optional
        The instance that it should belong to; it becomes the result's `problem`.

    Raises
    ------
    ProblemError
        When the file or its arrays are missing, damaged, of a newer version or inconsistent, and
        when the result belongs to another instance.
    """
    target = _json_path(path)
    document = _document(target)
    with naming(path):
        if document.get("arrays") is None:
            result = decode_result(document, _no_entries)
        else:
            with _entries_beside(target, document["arrays"]) as entries:
                result = decode_result(document, entries.read)
                entries.end()
    if problem is None:
        return result
    fingerprint = problem.fingerprint()
    if result.fingerprint != fingerprint:
        belongs = (
            "names no instance"
            if result.fingerprint is None
            else f"belongs to another instance: it is of {result.fingerprint[:12]}..."
        )
        raise ProblemError(
            f"{path}: this result {belongs}; the instance given is {fingerprint[:12]}...",
            "instance",
        )
    found = result.with_changes(problem=problem)
    _check_gap(document["gap"], found, path)
    return found


def _check_gap(stated: float | str | None, result: Result, path: str | PathLike[str]) -> None:
    """Refuse a gap that is not that of objective and bound: people read it, and nothing else does.

    A result that was written without its problem has the unit 1.
    """
    given = None if stated is None else float(stated)
    gaps = result.gap, relative_gap(result.objective, result.bound)
    if not any(_same(gap, given) for gap in gaps):
        raise ProblemError(
            f"{path}: its gap is {stated}, that of objective and bound is {gaps[0]}", "gap"
        )


def _same(one: float | None, two: float | None) -> bool:
    if one is None or two is None:
        return one is two
    return math.isclose(one, two, rel_tol=1e-6) or (math.isnan(one) and math.isnan(two))


def read_result_header(path: str | PathLike[str]) -> dict[str, Any]:
    """Return what a result says of itself, without its arrays.

    Parameters
    ----------
    path : path
        Must end in .json.

    Returns
    -------
    dict
    """
    document = _document(_json_path(path))
    left_out = ("x", "duals", "certificate", "path", "trace", "arrays")
    header = {key: value for key, value in document.items() if key not in left_out}
    described = document.get("path")
    if isinstance(described, Mapping):
        header["path"] = {key: described.get(key) for key in ("kind", "stopped_by")}
    return header


# ---- files


def _json_path(path: str | PathLike[str]) -> Path:
    target = Path(file_name(path))
    if target.suffix.lower() != ".json":
        raise ProblemError(
            f"{path}: the ending of a result is .json (.npz and .mps are endings of problems)"
        )
    return target


def _document(path: Path) -> dict[str, Any]:
    with open_read(path) as stream:
        content = stream.read(_MAX_DOCUMENT + 1)
    if len(content) > _MAX_DOCUMENT:
        raise ProblemError(f"{path} is larger than {_MAX_DOCUMENT} bytes, which no result is")
    document = loads_object(content, str(path))
    if document.get("format") != FORMAT:
        raise ProblemError(
            f"{path}: its format is {document.get('format')!r:.60}; expected {FORMAT!r}", "format"
        )
    with naming(path):
        checked_version(document, VERSION)
    return document


@contextmanager
def _entries_beside(path: Path, given: Any) -> Iterator[_Entries]:
    """Open the file of arrays that a document names, when its checksum is the one named."""
    fields = Fields(given if isinstance(given, Mapping) else {}, "arrays", _no_entries)
    name, digest = fields.text("file"), fields.text("sha256")
    fields.end()
    if not re.fullmatch(r"[^/\\:\0]+\.arrays\.npz", name):
        raise ProblemError(f"arrays.file is {name!r}; expected NAME.arrays.npz, in the same folder")
    beside = path.with_name(name)
    if not beside.exists():
        raise ProblemError(f"its arrays are in {name}, which is not beside it: copy both files")
    with open_read(beside) as stream:
        found = _sha256(stream)
        if found != digest:
            raise ProblemError(
                f"the file {name} beside it is another or damaged: SHA-256 {found[:12]}..., "
                f"expected {digest[:12]}..."
            )
        with open_archive(beside, stream) as archive:
            yield _Entries(archive)


class _Entries:
    """The arrays of the file beside a document, each of which the document uses once."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._unused = set(archive.names)

    def read(self, name: str) -> Array:
        """Return an array; one that was returned before is refused: it would fill the memory."""
        if name in self._archive.names and name not in self._unused:
            raise self._archive.error(f"the document uses the entry {name} twice", name)
        array = self._archive.read(name)
        self._unused.remove(name)
        return array

    def end(self) -> None:
        """Raise a ProblemError when there is an entry that nobody has read."""
        if self._unused:
            name = min(self._unused)
            raise self._archive.error(f"the document uses no entry {name}: what is it for?", name)


def _sha256(stream: BinaryIO) -> str:
    stream.seek(0)
    digest = hashlib.sha256()
    while part := stream.read(2**20):
        digest.update(part)
    return digest.hexdigest()


def _no_entries(name: str) -> Array:
    raise ProblemError(f"the array {name!r} is said to be in another file, and none is named")


@contextmanager
def _cannot_save(path: str | PathLike[str]) -> Iterator[None]:
    try:
        yield
    except ProblemError as error:
        raise ProblemError(f"{path}: this result cannot be saved: {error}", error.field) from error


def _text(document: Mapping[str, Any]) -> bytes:
    """One field on a line: short enough to read, stable enough to compare."""
    lines = ",\n".join(f"  {dumps(key)}: {dumps(value)}" for key, value in document.items())
    return f"{{\n{lines}\n}}\n".encode()
