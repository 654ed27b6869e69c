"""Files that are damaged, absurd or hostile: a ProblemError, at once, and nothing is executed."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from io_examples import (
    PROBLEMS,
    budget_result,
    grid_result,
    parametric_lp,
    path_result,
    quantile_result,
    support_result,
)

from sparseopt import ProblemError
from sparseopt.io import load_problem, load_result, read_header, save_problem, save_result

QUICK = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@st.composite
def damage(draw: st.DrawFn) -> Callable[[bytes], bytes]:
    """Flip bytes, cut off, cut out, repeat or insert."""
    kind = draw(st.sampled_from(["flip", "flip", "flip", "cut", "remove", "insert", "repeat"]))
    places = draw(st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=4))
    masks = draw(st.lists(st.integers(1, 255), min_size=4, max_size=4))
    length = draw(st.integers(1, 40))
    junk = draw(st.binary(min_size=1, max_size=20))

    def apply(content: bytes) -> bytes:
        at = int(places[0] * len(content))
        if kind == "cut":
            return content[:at]
        if kind == "remove":
            return content[:at] + content[at + length :]
        if kind == "insert":
            return content[:at] + junk + content[at:]
        if kind == "repeat":
            return content[: at + length] + content[at:]
        changed = bytearray(content)
        for place, mask in zip(places, masks, strict=False):
            changed[int(place * len(content))] ^= mask
        return bytes(changed)

    return apply


@pytest.mark.thorough
@QUICK
@given(name=st.sampled_from(["lp-sparse", "plp-dense", "dantzig-weights", "strs"]), change=damage())
def test_a_damaged_instance_is_equal_or_refused(
    name: str, change: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    problem = PROBLEMS[name]()
    path = tmp_path / "a.npz"
    save_problem(problem, path, name="x")
    path.write_bytes(change(path.read_bytes()))
    try:
        again = load_problem(path)
    except ProblemError as error:
        assert str(path) in str(error)
    else:
        assert again.fingerprint() == problem.fingerprint()


@QUICK
@given(ending=st.sampled_from([".mps", ".mps.gz"]), change=damage())
def test_a_damaged_mps_file_is_a_problem_or_refused(
    ending: str, change: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    # Text has no checksum: a changed digit is another valid problem. Packed text has one.
    problem = parametric_lp()
    path = tmp_path / f"a{ending}"
    save_problem(problem, path)
    path.write_bytes(change(path.read_bytes()))
    try:
        again = load_problem(path)
    except ProblemError as error:
        assert str(path) in str(error)
    else:
        assert ending == ".mps" or again.fingerprint() == problem.fingerprint()


@QUICK
@given(change=damage())
def test_a_damaged_result_is_a_result_or_refused(
    change: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    path = tmp_path / "r.json"
    save_result(path_result(), path)
    path.write_bytes(change(path.read_bytes()))
    try:
        again = load_result(path)
    except ProblemError as error:
        assert str(path) in str(error)
    else:
        # Whatever was read can be used, printed and saved again.
        assert again.path is not None
        again.summary()
        again.path.at(float(again.path.knots[-1]))
        save_result(again, tmp_path / "again.json")


# ---- instances made by hand


def header(**changes: Any) -> dict[str, Any]:
    base = {
        "format": "sparseopt-instance",
        "version": 1,
        "kind": "parametric-lp",
        "sense": "max",
        "params": {"form": "inequality"},
    }
    return {**base, **changes}


def arrays(**changes: Any) -> dict[str, Any]:
    one = np.ones(1)
    return {"A": np.ones((1, 1)), "b": one, "b_bar": one, "c": one, "c_bar": one, **changes}


def npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(array), allow_pickle=True)
    return buffer.getvalue()


def write(path: Path, head: Any, entries: dict[str, Any], compression: int = 0) -> Path:
    """Write a file whose entries are arrays, or bytes as they are; None leaves one out."""
    text = head if isinstance(head, bytes) else json.dumps(head).encode()
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("__header__.npy", npy(np.frombuffer(text, np.uint8)))
        for name, content in entries.items():
            if content is not None:
                raw = content if isinstance(content, bytes) else npy(content)
                archive.writestr(f"{name}.npy", raw)
    return path


def test_the_file_made_by_hand_is_good(tmp_path: Path) -> None:
    assert load_problem(write(tmp_path / "a.npz", header(), arrays())).size == {"m": 1, "n": 1}


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (header(format="numpy"), "format is 'numpy'; expected 'sparseopt-instance'"),
        (header(version=2), "written by a newer sparseopt: version 2; this one reads up to 1"),
        (header(version=0), "version is 0; expected an integer >= 1"),
        (header(version=1.0), "version is 1.0"),
        (header(version=True), "version is True"),
        (header(kind="os.system"), "kind is 'os.system'; this sparseopt knows: .*lad-lasso"),
        (header(kind=["x"]), r"kind is \['x'\]"),
        (header(sense="min"), "sense is 'min'; a parametric-lp has 'max'"),
        (header(params=None), "params is missing or not an object"),
        (header(params={"form": 3}), "form is 3"),
        (header(params={"A": [[1.0]]}), "A is there twice: in params and as an array"),
        (header(params={"names": [1]}), "names is"),
        (header(params={"colour": 1}), r"unknown entries \['colour'\]"),
        (header(colour=1), "header has the unknown entry 'colour'"),
        (header(license=1), "license is 1; expected text"),
        (b"\xff\xfe", "not UTF-8 text"),
        (b"{", "not JSON"),
        (b"[]", "expected a JSON object"),
        (b'{"version": 1, "version": 1}', "there twice"),
        (b'{"version": NaN}', "NaN is not a JSON number"),
        (b"[" * 100_000, "JSON"),
        (b"", "not JSON"),
    ],
)
def test_wrong_headers(head: Any, message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.npz", head, arrays())
    with pytest.raises(ProblemError, match=message) as caught:
        load_problem(path)
    assert str(path) in str(caught.value)


def sparse(**changes: Any) -> dict[str, Any]:
    parts = {
        "A.data": np.ones(1),
        "A.indices": np.zeros(1, np.int64),
        "A.indptr": np.array([0, 1]),
        "A.shape": np.array([1, 1]),
    }
    return arrays(A=None, **{**parts, **{f"A.{key}": value for key, value in changes.items()}})


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (arrays(b=None), "b"),
        (arrays(d=np.ones(1)), r"unknown entries \['d'\]"),
        (arrays(b=np.array([np.nan])), r"b\[0\] is nan; expected finite numbers"),
        (arrays(b=np.array([np.inf])), "inf"),
        (arrays(b=np.ones((1, 1))), "shape"),
        (arrays(b=np.ones(7)), r"b has shape \(7,\); expected \(1,\)"),
        (arrays(A=np.ones((0, 1))), "at least 1 x 1"),
        (arrays(A=np.ones(1)), "shape"),
        (arrays(b=np.array(["x"])), "the type <U1; expected numbers"),
        (arrays(b=np.ones(1, complex)), "the type complex128"),
        (arrays(b=np.ones(1, [("f", "f8")])), "expected numbers"),
        (arrays(b=np.array([object()])), "pickled Python objects, which could run code"),
        (arrays(b=b"no npy"), "the entry b cannot be read"),
        (arrays(b=npy(np.ones(1))[:-1]), "says shape .* 8 bytes, but holds 7"),
        (arrays(b=npy(np.ones(1)) + b"x"), "8 bytes, but holds 9"),
        (arrays(b=npy(np.ones(1)).replace(b"(1,)", b"(9,)")), "72 bytes, but holds 8"),
        (arrays(b=npy(np.ones(1)).replace(b"(1,), }", b"(-1,),}")), "impossible shape"),
        (arrays(b=npy(np.ones(1)).replace(b"\x01\x00", b"\x09\x00", 1)), "unknown .npy version"),
        (arrays(**{"A.data": np.ones(1)}), "both dense and sparse"),
        (arrays(**{"A.extra": np.ones(1)}), "the entry A.extra is unknown"),
        (arrays(**{"../b": np.ones(1)}), "is not an array"),
        (arrays(**{"/etc/b": np.ones(1)}), "is not an array"),
        (sparse(indices=None), "the entry A.indices is missing"),
        (sparse(indices=np.array([1])), "A.indices must lie between 0 and 0"),
        (sparse(indices=np.array([-1])), "A.indices must lie between 0 and 0"),
        (sparse(indices=np.array([2**63], np.uint64)), "A.indices must lie between 0 and 0"),
        (sparse(indices=np.zeros(1)), "A.indices must be a vector of integers"),
        (sparse(indices=np.zeros(2, int)), "vectors of one length"),
        (sparse(indptr=np.array([0, 9])), "A.indptr must have 2 entries, from 0 to 1"),
        (sparse(indptr=np.array([1, 1])), "A.indptr must have 2 entries, from 0 to 1"),
        (sparse(indptr=np.array([0, 5, 1]), shape=np.array([2, 1])), "A.indptr must not decrease"),
        (sparse(shape=np.array([1, -1])), "expected two sizes"),
        (sparse(shape=np.array([1, 10**15])), "A.shape is absurd"),
        (sparse(shape=np.array([10**15, 1])), "A.indptr must have"),
        (sparse(data=np.array([np.nan])), "nan"),
    ],
)
def test_wrong_arrays(entries: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.npz", header(), entries)
    with pytest.raises(ProblemError, match=message) as caught:
        load_problem(path)
    assert str(path) in str(caught.value)


class Bomb:
    """Unpickling it writes a file."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.mark,)


def test_no_pickle_is_ever_loaded(tmp_path: Path) -> None:
    mark = tmp_path / "executed"
    payload = np.array([Bomb(mark)], dtype=object)
    pickle.loads(pickle.dumps(payload))
    assert mark.exists(), "the payload of this test must work"
    mark.unlink()
    paths = [
        write(tmp_path / "entry.npz", header(), arrays(A=payload)),
        tmp_path / "whole.npz",
        tmp_path / "member.npz",
    ]
    paths[1].write_bytes(pickle.dumps(Bomb(mark)))
    with zipfile.ZipFile(paths[2], "w") as archive:
        archive.writestr("__header__.npy", npy(payload))
    for path in paths:
        for read in (load_problem, read_header):
            with pytest.raises(ProblemError):
                read(path)
    assert not mark.exists()


@pytest.fixture
def refused_at_once(in_time):
    """Return a function that asserts that a file is refused in a second, and within 80 MB."""

    def refuse(path: Path, message: str) -> None:
        with pytest.raises(ProblemError, match=message):
            load_problem(path)

    def check(path: Path, message: str) -> None:
        tracemalloc.start()
        try:
            in_time(2.0, lambda: refuse(path, message))
            assert tracemalloc.get_traced_memory()[1] < 80 * 2**20
        finally:
            tracemalloc.stop()

    return check


@pytest.mark.thorough
def test_a_zip_bomb_that_is_honest_about_its_size(tmp_path: Path, refused_at_once) -> None:
    # 512 MB of zeros behind a true header, in two megabytes.
    head = npy(np.zeros(1)).replace(b"(1,), ", b"(64000000,), ")[:128]
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("__header__.npy", npy(np.frombuffer(json.dumps(header()).encode(), "u1")))
        with archive.open("A.npy", "w") as member:
            member.write(head)
            zeros = bytes(2**20)
            for _ in range(512):
                member.write(zeros)
    refused_at_once(tmp_path / "a.npz", "looks like a zip bomb")


PACKED, UNPACKED = 20, 24


def patch_directory(path: Path, name: bytes, field: int, declared: int) -> None:
    """Let the zip directory declare another size, packed or unpacked, for an entry."""
    content = bytearray(path.read_bytes())
    place = content.rfind(b"PK\x01\x02", 0, content.rfind(name))
    content[place + field : place + field + 4] = struct.pack("<I", declared)
    path.write_bytes(bytes(content))


@pytest.mark.thorough
def test_a_zip_bomb_that_lies_about_its_size(tmp_path: Path, refused_at_once) -> None:
    path = write(
        tmp_path / "a.npz",
        header(),
        arrays(A=npy(np.ones((1, 1))) + bytes(200 * 2**20)),
        zipfile.ZIP_DEFLATED,
    )
    patch_directory(path, b"A.npy", UNPACKED, len(npy(np.ones((1, 1)))))
    refused_at_once(path, "A")


def test_an_array_that_lies_about_its_shape(tmp_path: Path, refused_at_once) -> None:
    content = npy(np.ones(1)).replace(b"(1,), ", b"(999999999999,), ")
    path = write(tmp_path / "a.npz", header(), arrays(A=content[:128] + bytes(8)))
    refused_at_once(path, "but holds")


def test_a_directory_that_declares_more_than_the_file_could_hold(
    tmp_path: Path, refused_at_once
) -> None:
    path = write(tmp_path / "a.npz", header(), arrays())
    patch_directory(path, b"A.npy", UNPACKED, 2**32 - 2)
    refused_at_once(path, "looks like a zip bomb")


def test_entries_that_overlap(tmp_path: Path, refused_at_once) -> None:
    path = write(tmp_path / "a.npz", header(), arrays())
    patch_directory(path, b"A.npy", PACKED, path.stat().st_size)
    refused_at_once(path, "its entries overlap")


@pytest.mark.thorough
def test_a_gzip_bomb(tmp_path: Path) -> None:
    # 512 MB in members of one megabyte each.
    (tmp_path / "a.mps.gz").write_bytes(512 * gzip.compress(b"*" * 2**20))
    tracemalloc.start()
    try:
        with pytest.raises(ProblemError, match="looks like a bomb"):
            load_problem(tmp_path / "a.mps.gz")
        assert tracemalloc.get_traced_memory()[1] < 160 * 2**20
    finally:
        tracemalloc.stop()


def test_entries_that_are_there_twice(tmp_path: Path) -> None:
    path = write(tmp_path / "a.npz", header(), arrays())
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("b.npy", npy(np.zeros(1)))
    with pytest.raises(ProblemError, match="the entry b is there twice"):
        load_problem(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compressions_are_refused(method: int, tmp_path: Path) -> None:
    path = write(tmp_path / "a.npz", header(), arrays(), method)
    with pytest.raises(ProblemError, match="another method than deflate"):
        load_problem(path)


def test_a_wrong_checksum(tmp_path: Path) -> None:
    path = write(tmp_path / "a.npz", header(), arrays(b=np.array([0.123456789])))
    content = path.read_bytes()
    number = np.array([0.123456789]).tobytes()
    assert content.count(number) == 1
    path.write_bytes(content.replace(number, np.array([0.5]).tobytes()))
    with pytest.raises(ProblemError, match=r"the entry b is damaged or truncated .*CRC"):
        load_problem(path)


def test_a_file_that_needs_more_memory_than_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a.npz", header(), arrays())

    def full(*args: object) -> None:
        raise MemoryError

    monkeypatch.setattr("sparseopt.io.archive.np.empty", full)
    with pytest.raises(ProblemError, match="not enough memory for the entry __header__"):
        load_problem(path)


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "inf", "nan", "float64", "x", "entry", 10**400, 2**63, -1, [], {}]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["dtype", "shape", "data", "kind", "number"]), inner)
    ),
    max_leaves=4,
)


def places(tree: Any) -> list[tuple[Any, Any]]:
    """Return (parent, key) of every value in a JSON document."""
    keys = tree if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    found = [(tree, key) for key in keys]
    return found + [deeper for key in keys for deeper in places(tree[key])]


@pytest.mark.thorough
@QUICK
@given(data=st.data(), value=anything)
def test_any_json_at_any_place_of_a_result(data: st.DataObject, value: Any, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    makes = [path_result, grid_result, budget_result, support_result, quantile_result]
    make = data.draw(st.sampled_from(makes))
    save_result(make(), path)
    document = json.loads(path.read_text(encoding="utf-8"))
    found = places(document)
    parent, key = found[data.draw(st.integers(0, len(found) - 1))]
    parent[key] = value
    path.write_text(json.dumps(document), encoding="utf-8")
    try:
        again = load_result(path)
    except ProblemError as error:
        assert str(path) in str(error)
    else:
        again.summary()
        if again.path is not None:
            again.path.at(float(again.path.knots[-1]))
        save_result(again, tmp_path / "again.json")


@QUICK
@given(data=st.data(), value=anything)
def test_any_json_at_any_place_of_a_header(data: st.DataObject, value: Any, tmp_path: Path) -> None:
    head = header(name="x", reference=[{"lam": 1.0, "primal": 2.0}], params={"names": ["x"]})
    found = places(head)
    parent, key = found[data.draw(st.integers(0, len(found) - 1))]
    parent[key] = value
    path = write(tmp_path / "a.npz", head, arrays())
    try:
        again = load_problem(path)
    except ProblemError as error:
        assert str(path) in str(error)
    else:
        save_problem(again, tmp_path / "again.npz")
        assert load_problem(tmp_path / "again.npz").fingerprint() == again.fingerprint()
