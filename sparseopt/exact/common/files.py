"""Reading instances and results: archives, arrays, fingerprints."""

# mypy: ignore-errors

from __future__ import annotations

import ast
import hashlib
import json
import math
import struct
import zipfile
import zlib
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

from .verdicts import Unproven, Unreadable

LIMIT = 2**29  # bytes that an archive may unpack to
FLOOR, RATIO = 2**26, 200  # and what it may in any case, and for each of its bytes
CODES = {"f8": "d", "f4": "f", "i8": "q", "i4": "i", "i2": "h", "i1": "b", "u1": "B", "b1": "?"}
TYPES = {
    **{"bool": "b1", "uint8": "u1", "float32": "f4", "float64": "f8"},
    **{f"int{8 * n}": f"i{n}" for n in (1, 2, 4, 8)},
}
MAXIMISED = ("parametric-lp", "strs", "strs-path", "sparse-component", "kernel-selection")
WORDS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
FIELDS = frozenset(
    [
        *("format", "version", "instance", "kind", "status", "limit", "raw_status", "backend"),
        *("objective", "bound", "gap", "verdict", "check_messages", "notes", "versions", "params"),
        *("options", "build_time", "solve_time", "check_time", "iterations", "nodes", "trace"),
        *("x", "duals", "path", "certificate", "arrays"),
    ]
)


@contextmanager
def readable():
    """Whatever a malformed file raises is said in one way."""
    try:
        yield
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, SyntaxError) as error:
        raise Unreadable(f"a file is malformed ({type(error).__name__}: {error})") from error
    except (RuntimeError, OverflowError, MemoryError, EOFError) as error:
        raise Unreadable(f"a file cannot be read ({type(error).__name__}: {error})") from error
    except (struct.error, zlib.error, zipfile.BadZipFile) as error:
        raise Unreadable(f"a file is damaged ({type(error).__name__}: {error})") from error


def read_npy(data):
    if data[:6] != b"\x93NUMPY" or len(data) < 12 or data[6:8] not in (b"\1\0", b"\2\0"):
        raise Unreadable("an entry is no .npy array")
    wide = data[6] > 1
    size = struct.unpack("<I" if wide else "<H", data[8 : 12 if wide else 10])[0]
    begin = 12 if wide else 10
    header = ast.literal_eval(data[begin : begin + size].decode("latin1").strip())
    descr, fortran, shape = (header[name] for name in ("descr", "fortran_order", "shape"))
    code = CODES.get(descr[1:]) if isinstance(descr, str) else None
    if code is None or descr[0] not in "<|" or len(header) > 3:
        raise Unreadable(f"an array of the type {descr!r}")
    if type(shape) is not tuple or type(fortran) is not bool or not sizes(shape):
        raise Unreadable(f"an array of the shape {shape!r}")
    if fortran and len(shape) > 2:
        raise Unreadable("an array of more than two dimensions by columns")
    body, count = data[begin + size :], math.prod(shape)
    if len(body) != count * struct.calcsize(code):
        raise Unreadable("an array is cut off")
    values = list(struct.unpack(f"<{count}{code}", body))
    if fortran and len(shape) == 2:
        rows, columns = shape
        values = [values[i + j * rows] for i in range(rows) for j in range(columns)]
    return Table(shape, values, descr)


def sizes(shape):
    return all(type(length) is int and length >= 0 for length in shape)


def read_json(text):
    """A tree in which no name is there twice, and no number is NaN or beyond all floats."""

    def pairs(given):
        if len(dict(given)) < len(given):
            raise Unreadable("a name is there twice")
        return dict(given)

    def refuse(word):
        raise Unreadable(f"{word} is no number")

    def real(digits):
        return float(digits) if math.isfinite(float(digits)) else refuse(digits[:20])

    def integer(digits):
        short = len(digits) <= 20 and abs(int(digits)) < 2**64
        return int(digits) if short else refuse(digits[:20])

    tree = json.loads(
        text,
        object_pairs_hook=pairs,
        parse_constant=refuse,
        parse_float=real,
        parse_int=integer,
    )
    if not isinstance(tree, dict):
        raise Unreadable("a file holds no object")
    return tree


def versioned(tree, word):
    if (tree.get("format"), type(tree.get("version")), tree.get("version")) != (word, int, 1):
        raise Unreadable(f"no {word} of version 1")
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
        infos = archive.infolist()
        whole = sum(info.file_size for info in infos)
        if whole > min(LIMIT, max(FLOOR, RATIO * len(raw))):
            raise Unproven("too large: an archive unpacks to more than 512 MB, or 200 times itself")
        names = [info.filename.removesuffix(".npy") for info in infos]
        if len(set(names)) < len(names):
            raise Unreadable("an array is there twice")
        return {name: read_npy(archive.read(info)) for name, info in zip(names, infos, strict=True)}


def read_instance(path):
    arrays = read_archive(Path(path).read_bytes())
    tree = arrays.pop("__header__")
    if tree.descr not in ("|u1", "<u1") or len(tree.shape) != 1:
        raise Unreadable("the header is no vector of bytes")
    header = versioned(read_json(bytes(tree.values).decode("utf-8")), "sparseopt-instance")
    params = header["params"]
    bases = {name.partition(".")[0] for name in arrays if "." in name}
    if bases & set(arrays) or set(params) & (bases | set(arrays)):
        raise Unreadable("an array is there twice, or a parameter, too")
    usual = "max" if header["kind"] in MAXIMISED else "min"
    if params.get("sense", usual) != header["sense"]:
        raise Unreadable(f"a problem of the kind {header['kind']!r} is said to have another sense")
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
    tree = versioned(read_json(path.read_text("utf-8")), "sparseopt-result")
    if set(tree) != FIELDS:
        raise Unreadable(f"fields that are missing or unknown: {sorted(set(tree) ^ FIELDS)}")
    if (tree["limit"] is None) == (tree["status"] in ("feasible", "no_solution")):
        raise Unreadable("a limit belongs to what a limit ended, and to nothing else")
    beside = {}
    if tree["arrays"]:
        raw = (path.parent / Path(tree["arrays"]["file"]).name).read_bytes()
        if hashlib.sha256(raw).hexdigest() != tree["arrays"]["sha256"]:
            raise Unreadable("the arrays beside the result are not its own")
        beside = read_archive(raw)
    for name in ("path", "certificate", "x", "duals"):
        tree[name] = decode(tree[name], beside)
    if beside:
        raise Unreadable(f"an array that nothing names: {sorted(beside)[0]}")
    if tree["certificate"] and set(tree["certificate"]) != {"kind", "values", "arrays"}:
        raise Unreadable("a certificate has a kind, values and arrays, and nothing else")
    for part in (tree["duals"], (tree["certificate"] or {}).get("arrays", {})):
        if not isinstance(part, dict) or not all(isinstance(a, Table) for a in part.values()):
            raise Unreadable("what should be arrays is none")
    for name in ("objective", "bound", "gap"):
        tree[name] = number(tree[name])
    ends = tree["objective"], tree["bound"]
    if (tree["gap"] is None) != (None in ends) or too_wide(tree["gap"], ends):
        raise Unreadable(f"the gap {tree['gap']} is not that of objective and bound")
    for name in ("rel_gap", "abs_gap", "lam_min"):
        if not number(tree["params"].get(name, 0.0)) >= 0.0:
            raise Unreadable(f"{name} is negative")
    return tree


def too_wide(gap, ends):
    """Whether a gap is larger than that of its ends relative to the larger of them.

    It is smaller where both are next to nothing in the unit of the problem's values.
    """
    if gap is None or not all(map(math.isfinite, ends)):
        return False
    return gap * max(map(abs, ends)) > abs(ends[0] - ends[1]) * (1 + 1e-6)


def number(value):
    """A float or None, of a number or one of three words."""
    value = WORDS.get(value, value) if isinstance(value, str) else value
    if value is not None and type(value) not in (int, float):
        raise Unreadable(f"{value!r:.40} is no number")
    return value if value is None else float(value)


def decode(node, beside):
    """The node with its arrays as tables; each entry of the file beside it is used once."""
    if isinstance(node, list):
        return [decode(value, beside) for value in node]
    if not isinstance(node, dict):
        return node
    if not {"dtype", "shape"} <= set(node):
        return {key: decode(value, beside) for key, value in node.items()}
    shape, code = node["shape"], TYPES[node["dtype"]]
    if not isinstance(shape, list) or not sizes(shape):
        raise Unreadable(f"an array of the shape {shape!r:.40}")
    if set(node) == {"dtype", "shape", "entry"}:
        found = beside.pop(node["entry"])
        if (found.shape, found.descr[1:]) != (tuple(shape), code):
            raise Unreadable(f"the array {node['entry']} is another than it is said to be")
        return found
    if set(node) != {"dtype", "shape", "data"} or len(node["data"]) != math.prod(shape):
        raise Unreadable("an array of the result is not its shape")
    return Table(shape, [entry(value, code) for value in node["data"]])


def entry(value, code):
    """A number of an array as its type holds it."""
    if code[0] == "f":
        value = number(value)
    if type(value) is not {"b": bool, "f": float}.get(code[0], int):
        raise Unreadable(f"{value!r:.40} is in an array of the type {code}")
    return struct.unpack(f"<{CODES[code]}", struct.pack(f"<{CODES[code]}", value))[0]
