"""Reading instances and results: archives, arrays, fingerprints."""

# mypy: ignore-errors

from __future__ import annotations

import ast
import hashlib
import json
import math
import struct
import zipfile
from io import BytesIO
from pathlib import Path

from .verdicts import Unproven, Unreadable

LIMIT = 2**29  # bytes that an archive may unpack to
CODES = {"f8": "d", "f4": "f", "i8": "q", "i4": "i", "i2": "h", "i1": "b", "u1": "B", "b1": "?"}


def read_npy(data):
    if data[:6] != b"\x93NUMPY" or len(data) < 12:
        raise Unreadable("an entry is no .npy array")
    wide = data[6] > 1
    size = struct.unpack("<I" if wide else "<H", data[8 : 12 if wide else 10])[0]
    begin = 12 if wide else 10
    header = ast.literal_eval(data[begin : begin + size].decode("latin1").strip())
    code = CODES.get(str(header["descr"])[1:])
    if code is None or str(header["descr"])[0] not in "<|":
        raise Unreadable(f"an array of the type {header['descr']!r}")
    shape, body = tuple(header["shape"]), data[begin + size :]
    count = math.prod(shape)
    if len(body) != count * struct.calcsize(code):
        raise Unreadable("an array is cut off")
    values = list(struct.unpack(f"<{count}{code}", body))
    if header["fortran_order"] and len(shape) == 2:
        rows, columns = shape
        values = [values[i + j * rows] for i in range(rows) for j in range(columns)]
    return Table(shape, values, str(header["descr"]))


def read_json(text):
    """A tree in which no name is there twice, and no number is NaN or beyond all floats."""

    def pairs(given):
        if len(dict(given)) < len(given):
            raise Unreadable("a name is there twice")
        return dict(given)

    def refuse(word):
        raise Unreadable(f"{word} is no number")

    tree = json.loads(text, object_pairs_hook=pairs, parse_constant=refuse)
    if not isinstance(tree, dict):
        raise Unreadable("a file holds no object")
    return tree


class Table:
    """An array: its shape, and its numbers by rows."""

    def __init__(self, shape, values, descr=""):
        self.shape, self.values, self.descr = tuple(shape), values, descr

    def rows(self):
        width = self.shape[1]
        return [self.values[i * width : (i + 1) * width] for i in range(self.shape[0])]


def read_archive(raw):
    with zipfile.ZipFile(BytesIO(raw)) as archive:
        if sum(info.file_size for info in archive.infolist()) > LIMIT:
            raise Unproven("too large: an archive unpacks to more than 512 MB")
        names = [info.filename.removesuffix(".npy") for info in archive.infolist()]
        if len(set(names)) < len(names):
            raise Unreadable("an array is there twice")
        return {
            name: read_npy(archive.read(info))
            for name, info in zip(names, archive.infolist(), strict=True)
        }


def read_instance(path):
    arrays = read_archive(Path(path).read_bytes())
    header = read_json(bytes(arrays.pop("__header__").values))
    if header.get("format") != "sparseopt-instance" or header.get("version") != 1:
        raise Unreadable("no instance of version 1")
    return header, arrays


def fingerprint(header, arrays):
    """SHA-256 of the content: kind and values, then all arrays by name."""
    digest = hashlib.sha256(json.dumps([header["kind"], header["params"]], sort_keys=True).encode())
    names = {
        name.rsplit(".", 1)[0] if f"{name.rsplit('.', 1)[0]}.indptr" in arrays else name
        for name in arrays
    }
    for name in sorted(names):
        parts = (
            [name]
            if name in arrays
            else [f"{name}.{part}" for part in ("data", "indices", "indptr")]
        )
        for part in parts:
            table = arrays[part]
            digest.update(json.dumps([part, table.descr, list(table.shape)]).encode())
            digest.update(
                struct.pack(f"<{len(table.values)}{CODES[table.descr[1:]]}", *table.values)
            )
        if name not in arrays:
            digest.update(json.dumps([name, list(arrays[f"{name}.shape"].values)]).encode())
    return digest.hexdigest()


def read_result(path):
    path = Path(path)
    tree = read_json(path.read_text("utf-8"))
    if tree.get("format") != "sparseopt-result" or tree.get("version") != 1:
        raise Unreadable("no result of version 1")
    beside = {}
    if tree.get("arrays"):
        raw = (path.parent / Path(tree["arrays"]["file"]).name).read_bytes()
        if hashlib.sha256(raw).hexdigest() != tree["arrays"]["sha256"]:
            raise Unreadable("the arrays beside the result are not its own")
        beside = read_archive(raw)
    words = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}

    def decode(node):
        if isinstance(node, dict) and "dtype" in node and "shape" in node:
            if "entry" in node:
                return beside[node["entry"]]
            values = [words.get(v, v) if isinstance(v, str) else v for v in node["data"]]
            if len(values) != math.prod(node["shape"]) or any(isinstance(v, str) for v in values):
                raise Unreadable("an array of the result is not its shape")
            return Table(node["shape"], values)
        if isinstance(node, dict):
            return {key: decode(value) for key, value in node.items()}
        if isinstance(node, list):
            return [decode(value) for value in node]
        return node

    tree["path"], tree["certificate"] = decode(tree["path"]), decode(tree["certificate"])
    tree["x"], tree["duals"] = decode(tree["x"]), decode(tree["duals"])
    for name in ("objective", "bound"):
        tree[name] = words.get(tree[name], tree[name])
    return tree
