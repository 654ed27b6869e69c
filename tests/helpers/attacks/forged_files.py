"""Forged files: what a person reads in them is not what a program takes, or nothing at all.

Each forgery is of the bytes of a true file. A reader refuses it, or what it then says is checked as
any other claim; nothing but the true statement may come out verified.
"""

from __future__ import annotations

import hashlib
import json
import warnings
import zipfile
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any

import numpy as np

Tree = dict[str, Any]

TOKENS = ("NaN", "Infinity", "-Infinity", "1e999", "-1e999", "9" * 400, '"1.0"', "true", "[1.0]")
"""What is no number, or none that 64 bits hold."""


def documents(text: str) -> Iterator[tuple[str, str]]:
    """Yield (name, JSON text) of a result, forged; the status of the true one is OPTIMAL."""
    tree = json.loads(text)
    yield from _twice(text, tree)
    yield from _numbers(text, tree)
    yield from _fields(tree)
    for shape in ([1, *tree["x"]["shape"]], [*tree["x"]["shape"], 1]):
        yield f"x of the shape {shape}", json.dumps({**tree, "x": {**tree["x"], "shape": shape}})
    for place, node in _arrays(tree):
        for name, forged in _array(node):
            yield f"{'.'.join(place)} {name}", json.dumps(_with(tree, place, forged))


def _twice(text: str, tree: Tree) -> Iterator[tuple[str, str]]:
    """Yield keys that are there twice: people read the first, json keeps the last."""
    for key in ("objective", "bound", "gap", "status", "x", "params", "certificate", "instance"):
        told = json.dumps(key) + ": "
        false = {"objective": "-1e3", "bound": "-1e3", "gap": "0.5", "status": '"infeasible"'}
        yield f"{key} twice", text.replace(told, f"{told}{false.get(key, 'null')}, {told}", 1)
        yield (
            f"{key} twice, escaped",
            text.replace(
                told, f'"\\u{ord(key[0]):04x}{key[1:]}": {false.get(key, "null")}, {told}', 1
            ),
        )
    for inner in ("dtype", "shape", "data", "kind", "arrays"):
        told = json.dumps(inner) + ": "
        at = text.index('"x": ') if inner in ("dtype", "shape", "data") else 0
        if told in text[at:]:
            rest = text[at:].replace(told, f"{told}null, {told}", 1)
            yield f"{inner} twice inside", text[:at] + rest


def _numbers(text: str, tree: Tree) -> Iterator[tuple[str, str]]:
    for key in ("objective", "bound", "gap"):
        told = f"{json.dumps(key)}: {json.dumps(tree[key])}"
        for token in TOKENS:
            yield f"{key} is {token:.12}", text.replace(told, f'"{key}": {token}', 1)
    for key in ("rel_gap", "abs_gap", "lam_min"):
        for token in (*TOKENS, "-1.0"):
            told = text.replace('"params": {', f'"params": {{"{key}": {token}, ', 1)
            yield f"params.{key} is {token:.12}", told.replace(", }", "}")


def _fields(tree: Tree) -> Iterator[tuple[str, str]]:
    for key in tree:
        yield f"no {key}", json.dumps({k: v for k, v in tree.items() if k != key})
    for name, change in (
        ("an unknown field", {"Objective": 0.0}),
        ("a field of another script", {"\u043ebjective": 0.0}),
        ("a false gap", {"gap": 0.5}),
        ("a gap that is none", {"gap": None}),
        ("a limit", {"limit": "time"}),
        ("another kind", {"kind": "no such kind"}),
        ("version 1.0", {"version": 1.0}),
        ("version true", {"version": True}),
        ("version 2", {"version": 2}),
        ("another format", {"format": "sparseopt-instance"}),
        ("another instance", {"instance": "0" * 64}),
        ("no instance", {"instance": None}),
        ("arrays elsewhere", {"arrays": {"file": "../r.arrays.npz", "sha256": "0" * 64}}),
    ):
        yield name, json.dumps({**tree, **change})
    yield "a list", json.dumps([tree])
    yield "two documents", json.dumps(tree) + json.dumps(tree)


def _arrays(tree: Tree) -> Iterator[tuple[tuple[str, ...], Tree]]:
    places = [("x",)]
    if tree["certificate"]:
        names = sorted(tree["certificate"]["arrays"])
        places += [("certificate", "arrays", name) for name in names[:2]]
    places += [("duals", name) for name in tree["duals"]]
    for place in places:
        node: Any = tree
        for key in place:
            node = node[key]
        if node and node["data"]:
            yield place, node


def _array(node: Tree) -> Iterator[tuple[str, Tree]]:
    data, shape = node["data"], node["shape"]
    yield "as strings", {**node, "data": [str(value) for value in data]}
    yield "as truth values", {**node, "data": [True] * len(data)}
    yield "nested", {**node, "data": [data]}
    yield "as an object", {**node, "data": dict(enumerate(data))}
    yield "shorter than its shape", {**node, "data": data[:-1]}
    real = node["dtype"].startswith("float")  # other integers hold the same
    others = ("bool", "int8", "int64", "uint8") if real else ()
    for dtype in (*others, "object", "float16", "<f8", "complex128", "", 8):
        yield f"of the type {dtype!r}", {**node, "dtype": dtype}
    n = len(data)
    for other in ([-1, -n], [float(n)], [True, n], n, [2**62, 4], []):
        if other != shape and not (other == [] and n == 1):
            yield f"of the shape {other}", {**node, "shape": other}
    yield "with another entry", {**node, "entry": "array0"}
    yield "with an unknown key", {**node, "unit": 1.0}
    if real:
        for word in ("Infinity", "NaN", "1e400", "0x1p3", "\u0661", ""):
            yield f"begins with {word!r}", {**node, "data": [word, *data[1:]]}
    yield "begins with null", {**node, "data": [None, *data[1:]]}


def _with(tree: Tree, place: tuple[str, ...], node: Any) -> Tree:
    """Return the tree with another node at a place."""
    if not place:
        return node
    return {**tree, place[0]: _with(tree[place[0]], place[1:], node)}


# ---- archives


def archives(raw: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield (name, bytes) of an .npz file of an instance, or of the arrays beside a result, forged.

    None of them is a file of the same content.
    """
    entries = unpacked(raw)
    names = [name for name in entries if name != "__header__.npy"]
    floats = [name for name in names if b"'<f8'" in entries[name][:128]]
    first = max(floats, key=lambda name: len(entries[name]))
    other = npy(np.frombuffer(entries[first][-8:], "<f8") + 1.0)
    yield "an entry twice", repacked(entries, more=[(first, other)])
    yield "an entry twice, first", repacked({first: other}, more=list(entries.items()))
    yield (
        "an entry without its ending",
        repacked(entries, more=[(first.removesuffix(".npy"), other)]),
    )
    yield "an unknown entry", repacked(entries, more=[("Unknown.npy", other)])
    yield "an unknown file", repacked(entries, more=[("readme.txt", b"true")])
    yield "a path", repacked(entries, more=[("../x.npy", other)])
    yield "a part of what is whole", repacked(entries, more=[(f"{first[:-4]}.data.npy", other)])
    for word, change in HEADS:
        yield f"{first} {word}", repacked({**entries, first: change(entries[first])})
    yield "an entry left out", repacked({k: v for k, v in entries.items() if k != first})
    yield "cut off", raw[:-40]
    yield "cut off in the middle", raw[: len(raw) // 2]
    yield "no archive", b"x" * len(raw)
    if "__header__.npy" in entries:
        for word, text in _headers(_text(entries["__header__.npy"]), first[:-4]):
            head = npy(np.frombuffer(text.encode(), np.uint8))
            yield f"header {word}", repacked({**entries, "__header__.npy": head})
        head = npy(np.frombuffer(_text(entries["__header__.npy"]).encode(), np.uint8).astype(float))
        yield "header of floats", repacked({**entries, "__header__.npy": head})


def _text(content: bytes) -> str:
    return np.load(BytesIO(content)).tobytes().decode()


def _headers(text: str, array: str) -> Iterator[tuple[str, str]]:
    tree = json.loads(text)
    yield "with a kind twice", text.replace('"kind": ', '"kind": "budget-tables", "kind": ', 1)
    yield "with params twice", text.replace('"params": ', '"params": {}, "params": ', 1)
    yield (
        "with NaN",
        text.replace('"params": {', '"params": {"ridge": NaN, ', 1).replace(", }", "}"),
    )
    yield (
        "with an array as a parameter",
        json.dumps({**tree, "params": {**tree["params"], array: [1.0]}}),
    )
    sense = {"min": "max", "max": "min"}[tree["sense"]]
    yield "of the other sense", json.dumps({**tree, "sense": sense})
    for word, change in (
        ("of another kind", {"kind": "strs" if tree["kind"] != "strs" else "misdp"}),
        ("of version true", {"version": True}),
        ("of version 1.0", {"version": 1.0}),
        ("of another format", {"format": "sparseopt-result"}),
        ("without params", {"params": None}),
        ("with an unknown parameter", {"params": {**tree["params"], "unknown": 1}}),
    ):
        yield word, json.dumps({**tree, **change})


def _edit(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    """Return what replaces text in the head of an .npy entry, whose length it keeps."""

    def change(content: bytes) -> bytes:
        head, body = content[:128], content[128:]
        return head.replace(old, new)[:127].ljust(127) + b"\n" + body

    return change


def _shape(change: Callable[[tuple[int, ...]], str]) -> Callable[[bytes], bytes]:
    def edit(content: bytes) -> bytes:
        shape = np.load(BytesIO(content)).shape
        return _edit(f"'shape': {shape!r}".encode(), f"'shape': {change(shape)}".encode())(content)

    return edit


def _lengths(shape: tuple[int, ...]) -> str:
    """Return another shape of as many numbers."""
    return str((*shape[:-1], 1, shape[-1]))


HEADS: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("of objects", _edit(b"'<f8'", b"'|O' ")),
    ("of the other byte order", _edit(b"'<f8'", b"'>f8'")),
    ("of integers", _edit(b"'<f8'", b"'<i8'")),
    ("of durations", _edit(b"'<f8'", b"'<m8'")),
    ("of text", _edit(b"'<f8'", b"'<U2'")),
    ("of fields", _edit(b"'<f8'", b"[('x', '<f8')]")),
    ("of code", _edit(b"'<f8'", b"__import__('os').name")),
    ("of negative lengths", _shape(lambda shape: str((-1, -int(np.prod(shape)))))),
    ("of lengths that are no integers", _shape(lambda shape: str(tuple(map(float, shape))))),
    ("of more dimensions", _shape(_lengths)),
    ("of a list of lengths", _shape(lambda shape: str(list(shape)))),
    ("of an enormous length", _shape(lambda shape: str((2**62, 4)))),
    ("of the length of truth", _shape(lambda shape: str((True, *shape)))),
    ("of no lengths", _shape(lambda shape: "()")),
    ("with another key", _edit(b"'shape'", b"'strides': (8,), 'shape'")),
    ("of version 9", lambda content: content[:6] + b"\x09\x00" + content[8:]),
    ("with more behind", lambda content: content + b"\0" * 8),
    ("with less behind", lambda content: content[:-8]),
    ("without magic", lambda content: b"\x93NUMPI" + content[6:]),
    ("of nothing", lambda content: b""),
]


def npy(array: np.ndarray) -> bytes:
    """Return the content of an .npy entry."""
    stream = BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def unpacked(raw: bytes) -> dict[str, bytes]:
    """Return the entries of an archive by name."""
    with zipfile.ZipFile(BytesIO(raw)) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def repacked(entries: dict[str, bytes], more: list[tuple[str, bytes]] | None = None) -> bytes:
    """Return an archive of entries, names twice among them."""
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, content in [*entries.items(), *(more or [])]:
            archive.writestr(name, content)
    return stream.getvalue()


def with_hash(text: str, raw: bytes) -> str:
    """Return a result's text that names a forged file of arrays by its true hash."""
    tree = json.loads(text)
    tree["arrays"] = {**tree["arrays"], "sha256": hashlib.sha256(raw).hexdigest()}
    return json.dumps(tree)
