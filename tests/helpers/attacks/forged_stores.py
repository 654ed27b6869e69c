"""Forged path stores: folders that claim more than their pieces prove, or something else.

A store has no hash but that of the instance, so that whoever changes a piece needs to know nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from sparseopt.io.archive import open_archive, write_archive

Array = np.ndarray


def forged_stores(folder: Path) -> Iterator[str]:
    """Forge a store in its folder in one way after the other; what is left is the true one.

    Parameters
    ----------
    folder : path
        Of a store whose first two blocks have as many columns.

    Yields
    ------
    str
        What is forged now.
    """
    whole = {file: file.read_bytes() for file in folder.iterdir()}
    pieces = sorted(file for file in whole if file.suffix == ".npz")
    store = folder / "store.json"
    for name, changes in _files(whole, pieces):
        for file, content in changes.items():
            file.write_bytes(content)
        yield name
        _restore(whole)
    for name, header, arrays in _contents(*read(whole[pieces[0]])):
        pieces[0].write_bytes(packed(header, arrays))
        yield f"a piece {name}"
        _restore(whole)
    # The question is another one, and all pieces say so, but for what they answer.
    for name, params in (
        ("a larger range", {"lam_min": 0.0}),
        ("more knots", {"max_knots": 50}),
        ("more nonzeros", {"max_nonzeros": 9}),
    ):
        head = json.loads(whole[store])
        if head["params"] == params:
            continue
        store.write_text(json.dumps(head | {"params": params}))
        for file in pieces:
            header, arrays = read(whole[file])
            file.write_bytes(packed(_put(header, ("piece", "params"), params), arrays))
        yield f"asked for {name}, in all files"
        _restore(whole)


def _restore(whole: dict[Path, bytes]) -> None:
    for file, content in whole.items():
        file.write_bytes(content)


def _files(whole: dict[Path, bytes], pieces: list[Path]) -> Iterator[tuple[str, dict[Path, bytes]]]:
    """Yield pieces in the wrong places, cut off, and another store's header."""
    one, two = pieces[:2]
    store = one.parent / "store.json"
    yield "blocks swapped", {one: whole[two], two: whole[one]}
    renamed = [
        packed(_put(_put(header, ("piece", "first"), first), ("piece", "last"), last), arrays)
        for (header, arrays), (first, last) in (
            (read(whole[two]), _range(one)),
            (read(whole[one]), _range(two)),
        )
    ]
    yield "blocks swapped, and renamed inside", {one: renamed[0], two: renamed[1]}
    yield "one block twice", {two: whole[one]}
    yield "a block cut off", {one: whole[one][:-50]}
    yield "an empty block", {one: b""}
    text = whole[store].decode()
    head = json.loads(text)
    for name, change in (
        ("fewer columns", {"columns": head["columns"] - 1}),
        ("more columns", {"columns": head["columns"] + head["block"]}),
        ("other blocks", {"block": head["block"] + 1}),
        ("one block", {"block": head["columns"]}),
        ("another instance", {"instance": "0" * 64}),
        ("another kind", {"kind": "lpd"}),
        ("other names", {"names": head["names"][::-1]}),
        ("fewer names", {"names": head["names"][:-1]}),
        ("certified", {"certified": True}),
        ("a verdict", {"verdict": "verified"}),
        ("columns as text", {"columns": str(head["columns"])}),
        ("columns as truth", {"columns": True}),
        ("a block of 1.5", {"block": 1.5}),
        ("version true", {"version": True}),
        ("params true", {"params": {"lam_min": True}}),
        ("params as text", {"params": {"lam_min": "0.1"}}),
    ):
        yield f"store.json: {name}", {store: json.dumps(head | change).encode()}
    for key in head:
        told = json.dumps(key) + ": "
        twice = text.replace(told, f"{told}null, {told}", 1)
        yield f"store.json: {key} twice", {store: twice.encode()}
    nan = text.replace('"params": {', '"params": {"rel_gap": NaN, ').replace(", }", "}")
    yield "store.json: NaN", {store: nan.encode()}


def _contents(
    header: dict[str, Any], arrays: dict[str, Array]
) -> Iterator[tuple[str, dict[str, Any], dict[str, Array]]]:
    """Yield (name, header, arrays) of a piece that is forged."""
    for name, place, value in (
        ("of another instance", ("piece", "instance"), "0" * 64),
        ("of another question", ("piece", "params"), {"lam_min": 0.77}),
        ("that is infeasible", ("status",), "infeasible"),
        ("that is feasible", ("status",), "feasible"),
        ("with a limit", ("limit",), "time"),
        ("that ends for a dream", ("reasons",), ["a dream"] * len(header["reasons"])),
        ("with too few reasons", ("reasons",), []),
        ("asked for fewer knots", ("params",), {**header["params"], "max_knots": 1}),
        ("asked for less", ("params",), {**header["params"], "lam_min": 0.5}),
        ("asked for other nonzeros", ("params",), {**header["params"], "max_nonzeros": 7}),
        ("asked for a larger gap", ("params",), {**header["params"], "rel_gap": 1e6}),
        ("with params that are none", ("params",), [1]),
        ("with negative times", ("seconds",), [-1.0, -1.0, -1.0]),
        ("with times that are none", ("seconds",), ["a", "b", "c"]),
        ("with a negative count", ("iterations",), -1),
        ("with steps as text", ("iterations",), "many"),
        ("with versions that are none", ("versions",), [["homotopy", "1"]]),
        ("with notes that are none", ("notes",), 3),
        ("with another shape", ("shape",), [*header["shape"][::-1], 1]),
        ("with an unknown field", ("certified",), True),
    ):
        yield name, _put(header, place, value), arrays
    yield "without params", {k: v for k, v in header.items() if k != "params"}, arrays
    for key, array in arrays.items():
        yield f"without {key}", header, {k: v for k, v in arrays.items() if k != key}
        for word, other in _arrays(array):
            if other.dtype == array.dtype and np.array_equal(other, array):
                continue
            yield f"with {key} {word}", header, {**arrays, key: other}
    yield "with certified flags", header, {**arrays, "certified": np.ones(3, bool)}
    # Ranges: the segments and the certificate's are one array, so that both move.
    low, high = arrays["low"], arrays["high"]
    yield "with moved ends", header, {**arrays, "low": low * 0.999, "high": high * 0.999}
    at = int(arrays["ptr"][1]) - 1
    for word, end in (("further", 0.9 * low[at]), ("to zero", 0.0)) if low[at] else ():
        less = low.copy()
        less[at] = end
        yield f"that goes on {word}", header, {**arrays, "low": less}
    starts = high.copy()
    starts[0] = low[0] * 2.0 + 1.0
    yield "that begins later", header, {**arrays, "high": starts}


def _arrays(array: Array) -> Iterator[tuple[str, Array]]:
    """Yield other numbers in the place of an array."""
    if array.size == 0:
        return
    yield "of another shape", array[None]
    yield "shorter", array[:-1]
    yield "as bytes", np.frombuffer(array.tobytes(), np.uint8)
    yield "reversed", array[::-1].copy() if (array[::-1] != array).any() else array[:-1]
    if array.dtype.kind == "f":
        for value in (np.nan, np.inf, -np.inf, 1e308):
            changed = array.copy()
            changed.flat[-1] = value
            if not np.array_equal(changed, array):
                yield f"that end with {value}", changed
        yield "in single precision", array.astype(np.float32)
    else:
        for value in (-1, 30000, 2**31 - 1):
            if np.iinfo(array.dtype).max >= value:
                yield f"that are all {value}", np.full_like(array, value)
        yield "that are floats", array.astype(float) + 0.5
        turns = np.zeros(len(array), np.int16)  # whose differences leave 16 bits
        turns[1:] = np.where(np.arange(1, len(array)) % 2, 30000, -30000)
        yield "that go round", turns


def read(raw: bytes) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the header and the arrays of a piece."""
    with open_archive("piece", BytesIO(raw)) as archive:
        arrays = {name: archive.read(name) for name in archive.names}
    return json.loads(arrays.pop("__header__").tobytes()), arrays


def packed(header: dict[str, Any], arrays: dict[str, Array]) -> bytes:
    """Return the content of a piece."""
    stream = BytesIO()
    head = np.frombuffer(json.dumps(header).encode(), np.uint8)
    write_archive(stream, {"__header__": head, **arrays}, compressed=False)
    return stream.getvalue()


def _put(tree: dict[str, Any], place: tuple[str, ...], value: Any) -> dict[str, Any]:
    inner = value if len(place) == 1 else _put(tree[place[0]], place[1:], value)
    return {**tree, place[0]: inner}


def _range(file: Path) -> tuple[int, int]:
    first, last = file.stem.split("-")[1:]
    return int(first), int(last)
