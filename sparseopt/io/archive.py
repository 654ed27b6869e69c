"""A zip of .npy arrays, written with the same bytes every time and read without trust."""

from __future__ import annotations

import math
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from typing import Any, BinaryIO

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.io.files import MAX_BYTES, expansion_limit, open_read
from sparseopt.problems.base import Array

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]*")
_MAX_MEMBERS = 10_000
_DTYPES = frozenset(
    ["bool"]
    + [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
    + ["float16", "float32", "float64"]
)
_CHUNK = 2**24


# ---- writing


def write_archive(
    stream: BinaryIO, arrays: Mapping[str, Array], *, compressed: bool = True
) -> None:
    """Write arrays in the order given; the bytes depend on nothing but them (and zlib's version).

    Parameters
    ----------
    stream : binary file
        Open for writing, and seekable.
    arrays : mapping of str to array
        Plain numbers or truth values, by the names of their entries.
    compressed : bool, default True
        Numbers without a pattern take fifty times as long to compress as to write.

    Raises
    ------
    ProblemError
        When a name or a type cannot be stored, or all is larger than the reader's limit.
    """
    total = 0
    for name, array in arrays.items():
        if not _NAME.fullmatch(name):
            raise ProblemError(f"{name!r} cannot be the name of an array in a file", name)
        if array.dtype.name not in _DTYPES:
            raise ProblemError(f"{name} has the type {array.dtype}; expected plain numbers", name)
        total += array.nbytes
    if total > MAX_BYTES:
        raise ProblemError(f"the arrays hold {total} bytes; a file may hold {MAX_BYTES}")
    _write_members(stream, arrays, zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED)
    if total > expansion_limit(stream.tell()):
        # Nearly constant arrays: the reader would take so small a file for a zip bomb.
        stream.seek(0)
        stream.truncate()
        _write_members(stream, arrays, zipfile.ZIP_STORED)


def _write_members(stream: BinaryIO, arrays: Mapping[str, Array], method: int) -> None:
    with zipfile.ZipFile(stream, "w") as archive:
        for name, array in arrays.items():
            info = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            info.create_system = 3
            info.external_attr = 0o644 << 16
            info.compress_type = method
            content = np.ascontiguousarray(array).reshape(array.shape)
            content = content.astype(content.dtype.newbyteorder("<"), copy=False)
            head = _npy_header(content)
            info.file_size = len(head) + content.nbytes
            with archive.open(info, "w") as member:
                member.write(head)
                # A view of bytes, in parts: zlib takes no more than 4 GB at once.
                raw = content.reshape(-1).view(np.uint8)
                for begin in range(0, len(raw), _CHUNK):
                    member.write(raw[begin : begin + _CHUNK].data)


def _npy_header(array: Array) -> bytes:
    """Return the header of format 1.0; numpy's own varies in its padding between versions."""
    text = f"{{'descr': {array.dtype.str!r}, 'fortran_order': False, 'shape': {array.shape!r}, }}"
    padded = text + " " * (-(10 + len(text) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded.encode("latin1")


# ---- reading


class Archive:
    """The arrays of an open file; each is checked against its size before memory is taken.

    Parameters
    ----------
    path : path
        For messages.
    stream : binary file
    """

    def __init__(self, path: str | PathLike[str], stream: BinaryIO) -> None:
        self.path = path
        size = stream.seek(0, 2)
        stream.seek(0)
        if not zipfile.is_zipfile(stream):
            raise ProblemError(
                f"{path} is not a .npz file, or it is truncated: it has no zip directory"
            )
        with self._damage():
            self._zip = zipfile.ZipFile(stream)
        self._members = self._checked_members(size)

    def _checked_members(self, size: int) -> dict[str, zipfile.ZipInfo]:
        infos = self._zip.infolist()
        if len(infos) > _MAX_MEMBERS:
            raise self.error(f"it has {len(infos)} entries; at most {_MAX_MEMBERS} are read")
        members: dict[str, zipfile.ZipInfo] = {}
        for info in infos:
            name = info.filename.removesuffix(".npy")
            if not info.filename.endswith(".npy") or not _NAME.fullmatch(name):
                raise self.error(f"the entry {info.filename!r} is not an array (NAME.npy)")
            if name in members:
                raise self.error(f"the entry {name} is there twice")
            if info.flag_bits & 1:
                raise self.error(f"the entry {name} is encrypted")
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise self.error(f"the entry {name} is compressed by another method than deflate")
            members[name] = info
        if sum(info.compress_size for info in infos) > size:
            raise self.error("its entries overlap or are cut off; get the file again")
        declared, limit = sum(info.file_size for info in infos), expansion_limit(size)
        if declared > limit:
            raise self.error(
                f"it would unpack from {size} to {declared} bytes, which looks like a zip bomb: "
                f"at most {limit} bytes are read from a file of this size"
            )
        return members

    @property
    def names(self) -> list[str]:
        """Names of the arrays, in the order of the file."""
        return list(self._members)

    def describe(self) -> dict[str, tuple[tuple[int, ...], str]]:
        """Return the shape and the type of each array without reading it."""
        found = {}
        for name, info in self._members.items():
            with self._damage(name), self._zip.open(info) as member:
                shape, _, dtype = _head(f"the entry {name}", info.file_size, member)
            found[name] = (shape, dtype.name)
        return found

    def read(self, name: str, limit: int = MAX_BYTES) -> Array:
        """Return one array.

        Raises
        ------
        ProblemError
            When it is missing, damaged, not numeric, or larger than `limit` bytes.
        """
        if name not in self._members:
            raise self.error(f"the entry {name} is missing", name)
        info = self._members[name]
        if info.file_size > limit:
            raise self.error(
                f"the entry {name} has {info.file_size} bytes; at most {limit} were expected", name
            )
        with self._damage(name), self._zip.open(info) as member:
            return _array(f"the entry {name}", info.file_size, member)

    def error(self, what: str, field: str | None = None) -> ProblemError:
        """Return a ProblemError that names the file."""
        return ProblemError(f"{self.path}: {what}", field)

    @contextmanager
    def _damage(self, name: str | None = None) -> Iterator[None]:
        with _damage(self.path, f"the entry {name}" if name else "the zip directory", name):
            yield


def _array(what: str, size: int, stream: Any) -> Array:
    """Return the array of .npy content of `size` bytes."""
    shape, fortran, dtype = _head(what, size, stream)
    array = np.empty(math.prod(shape), dtype)
    raw = array.view(np.uint8).data
    filled = 0
    while filled < len(raw):
        part = stream.read(min(_CHUNK, len(raw) - filled))
        if not part:
            raise _Malformed(f"{what} is truncated")
        raw[filled : filled + len(part)] = part
        filled += len(part)
    native = array.astype(dtype.newbyteorder("="), copy=False)
    return native.reshape(shape, order="F" if fortran else "C")


def _head(what: str, size: int, stream: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return (shape, fortran order, dtype) when they agree with the size of the content."""
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    elif version == (2, 0):
        shape, fortran, dtype = np.lib.format.read_array_header_2_0(stream)
    else:
        raise _Malformed(f"{what} has the unknown .npy version {version}")
    if dtype.hasobject:
        raise _Malformed(
            f"{what} holds pickled Python objects, which could run code; they are never loaded: "
            "save plain numbers"
        )
    if dtype.name not in _DTYPES:
        raise _Malformed(f"{what} has the type {dtype}; expected numbers")
    if any(length < 0 for length in shape):
        raise _Malformed(f"{what} has the impossible shape {shape}")
    declared, held = math.prod(shape) * dtype.itemsize, size - stream.tell()
    if declared != held:
        raise _Malformed(
            f"{what} says shape {shape} of {dtype}, {declared} bytes, but holds {held}"
        )
    return shape, fortran, dtype


class _Malformed(Exception):
    """Content that is no array; :func:`_damage` makes a ProblemError of it."""


@contextmanager
def _damage(path: str | PathLike[str], where: str, field: str | None = None) -> Iterator[None]:
    """Say in one sentence what is broken, whatever zipfile, zlib and numpy raise for it."""
    try:
        yield
    except ProblemError:
        raise
    except _Malformed as error:
        raise ProblemError(f"{path}: {error}", field) from None
    except MemoryError as error:
        raise ProblemError(f"{path}: there is not enough memory for {where}", field) from error
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise ProblemError(
            f"{path}: {where} is damaged or truncated ({error}); get the file again", field
        ) from error
    except Exception as error:
        raise ProblemError(
            f"{path}: {where} cannot be read ({type(error).__name__}: {error}); get the file again",
            field,
        ) from error


def read_npy(path: str | PathLike[str]) -> Array:
    """Read one array of plain numbers, its header checked before memory is taken.

    Parameters
    ----------
    path : path
        Of a .npy file.

    Returns
    -------
    array

    Raises
    ------
    ProblemError
        When the file is missing, damaged, or holds anything else.
    """
    with open_read(path) as stream, _damage(path, "this .npy file"):
        size = stream.seek(0, 2)
        stream.seek(0)
        return _array("this .npy file", size, stream)


@contextmanager
def open_archive(path: str | PathLike[str], stream: BinaryIO) -> Iterator[Archive]:
    """Open a zip of arrays from a stream that the caller closes.

    Parameters
    ----------
    path : path
        For messages.
    stream : binary file
        Open for reading, and seekable.

    Returns
    -------
    context manager of an Archive
    """
    archive = Archive(path, stream)
    try:
        yield archive
    finally:
        archive._zip.close()
