"""Result files: every field comes back, large arrays stand beside, and nothing wrong is read."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import fields
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from io_examples import (
    PROBLEMS,
    RESULTS,
    budget_result,
    grid_result,
    path_result,
    quantile_result,
    support_result,
)

import sparseopt
from sparseopt import Certificate, ProblemError, Result, Status, solve
from sparseopt.io import load_result, read_header, save_problem, save_result
from sparseopt.io.results import result_schema
from sparseopt.locks import lock_file
from sparseopt.paths.parametric import ParametricPath
from sparseopt.problems import LADLasso


def assert_equal(a: Any, b: Any, where: str = "result") -> None:
    """Compare to the last bit, arrays with their types."""
    if isinstance(a, np.ndarray):
        assert isinstance(b, np.ndarray), where
        assert (a.dtype, a.shape) == (b.dtype, b.shape), where
        assert a.tobytes() == b.tobytes(), where
    elif hasattr(a, "__dataclass_fields__"):
        assert type(a) is type(b), where
        for field in fields(a):
            if field.name != "problem":
                assert_equal(getattr(a, field.name), getattr(b, field.name), field.name)
    elif isinstance(a, dict):
        assert set(a) == set(b), where
        for key in a:
            assert_equal(a[key], b[key], f"{where}.{key}")
    elif isinstance(a, float) and a != a:
        assert b != b, where
    else:
        assert a == b, where


@pytest.mark.parametrize("name", RESULTS)
def test_every_field_comes_back(name: str, tmp_path: Path) -> None:
    result = RESULTS[name]()
    save_result(result, tmp_path / "r.json")
    assert_equal(result, load_result(tmp_path / "r.json"))


@pytest.mark.parametrize("name", RESULTS)
def test_the_same_result_gives_the_same_bytes(name: str, tmp_path: Path) -> None:
    (tmp_path / "again").mkdir()
    save_result(RESULTS[name](), tmp_path / "r.json")
    save_result(RESULTS[name](), tmp_path / "again" / "r.json")
    files = sorted(path.name for path in tmp_path.iterdir() if path.is_file())
    for file in files:
        assert (tmp_path / file).read_bytes() == (tmp_path / "again" / file).read_bytes()
    assert files[-1] == "r.json"
    if name != "large-path":
        assert files == ["r.json"]
        return
    digest = hashlib.sha256((tmp_path / files[0]).read_bytes()).hexdigest()
    assert files == [f"r.{digest[:12]}.arrays.npz", "r.json"]


def test_the_path_can_be_used_after_reading(tmp_path: Path) -> None:
    result = path_result()
    save_result(result, tmp_path / "r.json")
    again = load_result(tmp_path / "r.json")
    assert isinstance(result.path, ParametricPath)
    assert isinstance(again.path, ParametricPath)
    for lam in (0.1, 1.0, 2.5, 3.0, 100.0):
        assert np.array_equal(again.path.at(lam), result.path.at(lam))
        assert np.array_equal(again.path.dual_at(lam), result.path.dual_at(lam))
        assert again.path.objective_at(lam) == result.path.objective_at(lam)
    assert again.last_lam == result.last_lam


def test_the_document_is_plain_json(tmp_path: Path) -> None:
    path_result().save(tmp_path / "r.json")
    document = json.loads((tmp_path / "r.json").read_text(), parse_constant=pytest.fail)
    assert document["format"] == "sparseopt-result"
    assert document["version"] == 1
    assert document["status"] == "optimal"
    assert document["path"]["high"]["data"][0] == "inf"
    assert document["params"] == {"lam_min": 0.1, "time_limit": 60.0}


def test_the_instance_is_named_and_compared(tmp_path: Path) -> None:
    problem, other = PROBLEMS["dantzig"](), PROBLEMS["dantzig-weights"]()
    save_result(path_result(fingerprint=None, problem=problem), tmp_path / "r.json")
    result = load_result(tmp_path / "r.json", problem)
    assert result.problem is problem
    assert result.instance == problem.fingerprint()
    with pytest.raises(ProblemError, match="this result belongs to another instance"):
        load_result(tmp_path / "r.json", other)
    save_result(path_result(fingerprint=None), tmp_path / "r.json")
    with pytest.raises(ProblemError, match="this result names no instance"):
        load_result(tmp_path / "r.json", problem)
    # A file of the instance is the instance.
    save_result(path_result(fingerprint=None, problem=problem), tmp_path / "r.json")
    save_problem(problem, tmp_path / "p.npz")
    assert load_result(tmp_path / "r.json", sparseopt.load(tmp_path / "p.npz")).problem is not None


def test_the_header_of_a_result(tmp_path: Path) -> None:
    save_result(RESULTS["large-path"](), tmp_path / "r.json")
    header = read_header(tmp_path / "r.json")
    assert header["status"] == "optimal"
    assert header["path"] == {"kind": "parametric", "stopped_by": "lam_min"}
    assert "x" not in header
    with pytest.raises(ProblemError, match=r"__header__ is missing.*the \.json file is the one"):
        read_header(arrays_file(tmp_path))


# ---- saving


def test_a_result_in_an_instance_ending_is_refused(tmp_path: Path) -> None:
    for call in (lambda path: save_result(path_result(), path), load_result):
        with pytest.raises(ProblemError, match=r"the ending of a result is \.json"):
            call(tmp_path / "r.npz")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x": np.array([1.0, np.nan])}, r"x\[1\] is nan; expected finite numbers"),
        ({"x": np.array([object()])}, "type object cannot be saved"),
        ({"objective": np.nan}, "objective is 'nan'"),
        ({"certificate": Certificate("dual", {"nu": np.array([np.nan])})}, r"nu\[0\] is nan"),
        ({"certificate": Certificate("dual", values={"f": print})}, "cannot be written as JSON"),
        ({"solve_time": -1.0}, "solve_time is -1.0; expected seconds"),
    ],
)
def test_what_could_not_be_read_again_is_not_written(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ProblemError, match=rf"r\.json: this result cannot be saved: .*{message}"):
        save_result(path_result(**changes), tmp_path / "r.json")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_the_old_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_result(RESULTS["large-path"](), tmp_path / "r.json")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    for changed in (path_result(), path_result(segments=9001, m=9000, p=9500)):
        with pytest.raises(ProblemError, match="cannot be written: No space left"):
            save_result(changed, tmp_path / "r.json")
        assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


# ---- reading what is wrong


def document_of(result: Result, tmp_path: Path) -> dict[str, Any]:
    save_result(result, tmp_path / "r.json")
    return dict(json.loads((tmp_path / "r.json").read_text()))


def at(document: dict[str, Any], path: str) -> tuple[Any, Any]:
    """Return the parent of a place such as "path.low" and its key."""
    *parents, last = path.split(".")
    node: Any = document
    for key in parents:
        node = node[int(key)] if isinstance(node, list) else node[key]
    return node, int(last) if isinstance(node, list) else last


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("format", "other", "format is 'other'; expected 'sparseopt-result'"),
        ("version", 2, "written by a newer sparseopt: version 2; this one reads up to 1"),
        ("version", "1", "version is '1'; expected an integer"),
        ("version", True, "version is True"),
        ("status", "fine", "status is 'fine'; expected one of optimal"),
        ("status", "feasible", "a limit is set exactly for"),
        ("limit", "time", "a limit is set exactly for"),
        ("objective", "nan", "objective is 'nan'; expected a number"),
        ("objective", [1], r"objective is \[1\]"),
        ("objective", 10**400, "has more than 64 bits"),
        ("verdict", "true", "verdict is 'true'"),
        ("instance", "abc", "64 hexadecimal digits"),
        ("iterations", -1, "iterations is -1"),
        ("iterations", 1.5, "iterations is 1.5"),
        ("solve_time", "inf", "solve_time is 'inf'"),
        ("params", {"lamb": 1.0}, "params.lamb is no parameter"),
        ("params", {"lam": -1.0}, "lam must be a finite number"),
        ("params", {"lam": [10**400]}, "has more than 64 bits"),
        ("notes", "text", "notes is 'text'; expected a list of texts"),
        ("versions", {"numpy": 2}, "versions.numpy is 2"),
        ("trace.0", [0.0, 1.0], "seconds, objective and bound"),
        ("x", [1.0, 2.0], "expected an array"),
        ("x.dtype", "object", "dtype is 'object'"),
        ("x.shape", [-5], r"shape is \[-5\]"),
        ("x.shape", [4], "5 numbers for the shape"),
        ("x.data.0", "nan", r"x\[0\] is nan; expected finite numbers"),
        ("x.data.0", "many", "entry 0 is 'many'; expected float64"),
        ("x.data.0", True, "entry 0 is True"),
        ("x.data.0", {}, "entry 0 is {}"),
        ("x", {"dtype": "float64", "shape": [5], "entry": "array0"}, "none is named"),
        ("path.kind", "spiral", "kind is 'spiral'; expected one of"),
        ("path.extra", 1, "the field path.extra is unknown"),
        ("path.names", ["a"], "names has 1 entries; expected 5"),
        ("path.shape", [4], "two sizes"),
        ("path.shape", [10**15, 5], "two sizes of at most"),
        ("path.low.data", [], "0 numbers for the shape"),
        ("path.low.data.1", "inf", r"path.low\[1\] is inf"),
        ("path.high.data.0", "nan", r"path.high\[0\] is nan"),
        ("path.high.dtype", "int64", "expected int64"),
        ("path.theta.index.data.0", 5, "path.theta.index: expected entries from 0 to 4"),
        ("path.theta.index.data.0", -1, "expected entries from 0 to 4"),
        ("path.theta.ptr.data.1", 3, "path.theta.ptr must rise from 0"),
        ("path.nu.ptr.data.3", 2**63, "does not fit into int64"),
        ("certificate.arrays.codes.data.0", 40000, "does not fit into int16"),
        ("certificate.kind", None, "certificate.kind is None"),
        ("arrays", {"file": "../r.arrays.npz", "sha256": ""}, "in the same folder"),
        ("arrays", {"file": "s.arrays.npz", "sha256": ""}, "not beside it: copy both files"),
        ("surprise", 1, "the field surprise is unknown"),
    ],
)
def test_each_wrong_field_is_named(place: str, value: Any, message: str, tmp_path: Path) -> None:
    document = document_of(path_result(), tmp_path)
    parent, key = at(document, place)
    parent[key] = value
    (tmp_path / "r.json").write_text(json.dumps(document))
    with pytest.raises(ProblemError, match=message) as caught:
        load_result(tmp_path / "r.json")
    assert "r.json" in str(caught.value)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("names", ["a"], r"design holds float64 of shape \[5, 2\]; expected .* \[5, 1\]"),
        ("names", [], "too short for a path"),
        ("levels.data.1", 0.75, "levels must rise from 0 to 1"),
        ("levels.data.3", 0.9, "levels must rise from 0 to 1"),
        ("levels.data.0", "nan", r"levels\[0\] is nan"),
        ("bases.data.4", 5, "bases: expected entries from 0 to 4"),
        ("bases", {"dtype": "int64", "shape": [4], "data": [0, 1, 2, 3]}, r"shape \[6\]"),
        ("leaving.data.0", -1, "leaving: expected entries from 0 to 4"),
        ("above", {"dtype": "int64", "shape": [2], "data": [0, 1]}, "expected 2 truth values"),
        ("moves.data.2", 3, "moves: expected entries from 0 to 2"),
        ("moves.data.0", 2, "moves must not fall"),
        ("theta.data.0", "inf", r"theta\[0, 0\] is inf"),
        ("y", {"dtype": "float64", "shape": [0], "data": []}, "too short"),
        ("extra", 1, "path.extra is unknown"),
    ],
)
def test_each_wrong_field_of_levels_is_named(
    place: str, value: Any, message: str, tmp_path: Path
) -> None:
    document = document_of(quantile_result(), tmp_path)
    parent, key = at(document, f"path.{place}")
    parent[key] = value
    (tmp_path / "r.json").write_text(json.dumps(document))
    with pytest.raises(ProblemError, match=message):
        load_result(tmp_path / "r.json")


@pytest.mark.parametrize(
    "make", [path_result, grid_result, budget_result, support_result, quantile_result]
)
def test_each_missing_field_is_named(make: Callable[[], Result], tmp_path: Path) -> None:
    whole = document_of(make(), tmp_path)
    places = [key for key in whole if key not in ("format", "version")]
    places += [f"path.{key}" for key in whole["path"]]
    places += [f"certificate.{key}" for key in whole["certificate"] or ()]
    for place in places:
        document = json.loads(json.dumps(whole))
        parent, key = at(document, place)
        del parent[key]
        (tmp_path / "r.json").write_text(json.dumps(document))
        with pytest.raises(ProblemError, match=f"the field {place} is missing"):
            load_result(tmp_path / "r.json")


def test_a_tampered_answer_is_read_for_the_checker_to_refute(tmp_path: Path) -> None:
    document = document_of(path_result(), tmp_path)
    document["objective"] = -5.0
    document["path"]["low"]["data"][1] += 0.5
    (tmp_path / "r.json").write_text(json.dumps(document))
    assert load_result(tmp_path / "r.json").objective == -5.0


def test_the_arrays_file_must_be_the_right_one(tmp_path: Path) -> None:
    result = RESULTS["large-path"]()
    save_result(result, tmp_path / "r.json")
    beside = arrays_file(tmp_path)
    content = bytearray(beside.read_bytes())
    content[len(content) // 2] ^= 1
    beside.write_bytes(bytes(content))
    with pytest.raises(ProblemError, match=r"r\.[0-9a-f]{12}\.arrays\.npz beside it is another"):
        load_result(tmp_path / "r.json")
    beside.unlink()
    with pytest.raises(ProblemError, match="not beside it: copy both files"):
        load_result(tmp_path / "r.json")


def arrays_file(folder: Path) -> Path:
    (found,) = folder.glob("*.arrays.npz")
    return found


def other_large_result() -> Result:
    return RESULTS["large-path"]().with_changes(x=np.arange(25_000.0))


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("broken", ["r.json", "arrays"])
def test_what_stops_a_replacement_leaves_the_old_result_whole(
    broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = RESULTS["large-path"]()
    save_result(old, tmp_path / "r.json")
    replace = Path.replace

    def killed(self: Path, target: Path) -> Path:
        if (broken == "r.json") == (target.name == "r.json"):
            raise KeyboardInterrupt
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", killed)
    # A kill runs no handler either.
    monkeypatch.setattr(Path, "unlink", lambda self, missing_ok=False: None)
    with pytest.raises(KeyboardInterrupt):
        save_result(other_large_result(), tmp_path / "r.json")
    assert_equal(old, load_result(tmp_path / "r.json"))


@pytest.mark.thorough
def test_the_old_arrays_go_when_a_result_is_replaced(tmp_path: Path) -> None:
    save_result(RESULTS["large-path"](), tmp_path / "r.json")
    first = arrays_file(tmp_path)
    save_result(other_large_result(), tmp_path / "r.json")
    assert arrays_file(tmp_path) != first
    assert_equal(other_large_result(), load_result(tmp_path / "r.json"))
    save_result(other_large_result(), tmp_path / "r.json")
    assert_equal(other_large_result(), load_result(tmp_path / "r.json"))
    save_result(path_result(), tmp_path / "r.json")
    assert [file.name for file in tmp_path.iterdir()] == ["r.json"]


@pytest.mark.parametrize("worker", [threading.Thread, multiprocessing.get_context("spawn").Process])
def test_of_several_writers_at_once_one_leaves_its_result_whole(
    worker: Any, tmp_path: Path
) -> None:
    path = tmp_path / "r.json"
    workers = [worker(target=_save_often, args=(path, k)) for k in range(3)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    result = load_result(path)
    assert result.notes[0] in ("0", "1", "2")
    assert len(list(tmp_path.glob("*.arrays.npz"))) == 1
    assert len(list(tmp_path.iterdir())) == 2


def _save_often(path: Path, k: int) -> None:
    for times in range(8):
        result = path_result(segments=100 + (k + times) % 3, m=9000, p=9500)
        save_result(result.with_changes(notes=(str(k),)), path)


def test_the_arrays_of_another_result_stay(tmp_path: Path) -> None:
    save_result(RESULTS["large-path"](), tmp_path / "r.json")
    (tmp_path / "s.json").write_bytes((tmp_path / "r.json").read_bytes())
    save_result(path_result(), tmp_path / "s.json")
    assert_equal(RESULTS["large-path"](), load_result(tmp_path / "r.json"))


def as_version_0_1(folder: Path) -> Path:
    """Rename the arrays as version 0.1 did; return their file."""
    found = arrays_file(folder)
    text = (folder / "r.json").read_text().replace(found.name, "r.arrays.npz")
    (folder / "r.json").write_text(text)
    return found.rename(folder / "r.arrays.npz")


def test_results_of_version_0_1_are_read_and_replaced(tmp_path: Path) -> None:
    save_result(RESULTS["large-path"](), tmp_path / "r.json")
    old = as_version_0_1(tmp_path)
    assert_equal(RESULTS["large-path"](), load_result(tmp_path / "r.json"))
    save_result(other_large_result(), tmp_path / "r.json")
    assert not old.exists()
    assert_equal(other_large_result(), load_result(tmp_path / "r.json"))


@pytest.mark.thorough
def test_each_entry_of_the_arrays_file_is_used_once(tmp_path: Path) -> None:
    save_result(RESULTS["large-path"](), tmp_path / "r.json")
    beside = as_version_0_1(tmp_path)
    whole = json.loads((tmp_path / "r.json").read_text())
    with np.load(beside) as opened:
        entries = dict(opened)
    np.savez_compressed(beside, **entries, surprise=np.zeros(7_000_000))
    digest = hashlib.sha256(beside.read_bytes()).hexdigest()
    document = {**whole, "arrays": {"file": beside.name, "sha256": digest}}
    (tmp_path / "r.json").write_text(json.dumps(document))
    with pytest.raises(ProblemError, match="the document uses no entry surprise"):
        load_result(tmp_path / "r.json")
    large = {"dtype": "float64", "shape": [7_000_000], "entry": "surprise"}
    document["duals"] = {"a": large, "b": large}
    (tmp_path / "r.json").write_text(json.dumps(document))
    with pytest.raises(ProblemError, match="the document uses the entry surprise twice"):
        load_result(tmp_path / "r.json")


def test_results_may_be_renamed_together_with_their_folder(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    save_result(RESULTS["large-path"](), tmp_path / "old" / "r.json")
    (tmp_path / "old").rename(tmp_path / "new")
    (tmp_path / "new" / "r.json").rename(tmp_path / "new" / "renamed.json")
    assert load_result(tmp_path / "new" / "renamed.json").status is Status.OPTIMAL


def test_text_that_is_no_json(tmp_path: Path) -> None:
    save_result(path_result(), tmp_path / "r.json")
    text = (tmp_path / "r.json").read_text()
    for content, message in (
        (text[: len(text) // 2], "not JSON, or it is truncated"),
        ("", "not JSON, or it is truncated"),
        ("[]", "expected a JSON object"),
        ('{"format": NaN}', "NaN is not a JSON number"),
        ('{"objective": 1e999}', "1e999 is too large for 64 bits"),
        ('{"format": 1, "format": 2}', "'format' is there twice"),
        ("[" * 100_000, "not usable JSON|not JSON"),
        ('{"format": "\\ud800"}', "surrogates not allowed"),
    ):
        (tmp_path / "r.json").write_text(content)
        with pytest.raises(ProblemError, match=message):
            load_result(tmp_path / "r.json")
    (tmp_path / "r.json").write_bytes(b"\xff{}")
    with pytest.raises(ProblemError, match="not UTF-8"):
        load_result(tmp_path / "r.json")


# ---- schemas


def schema(name: str) -> dict[str, Any]:
    text = resources.files("sparseopt.io").joinpath("schema", name).read_text(encoding="utf-8")
    return dict(json.loads(text))


@pytest.mark.parametrize("name", RESULTS)
def test_the_schema_describes_what_is_written(name: str, tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    document = document_of(RESULTS[name](), tmp_path)
    jsonschema.Draft202012Validator(result_schema()).validate(document)


@pytest.mark.parametrize("name", RESULTS)
def test_the_schema_has_the_fields_that_are_written(name: str, tmp_path: Path) -> None:
    described = schema("result-v1.json")
    document = document_of(RESULTS[name](), tmp_path)
    assert set(document) == set(described["properties"]) == set(described["required"])
    assert document["status"] in described["properties"]["status"]["enum"]
    assert set(described["properties"]["status"]["enum"]) == {status.value for status in Status}
    if document["path"] is not None:
        kinds = {
            definition["properties"]["kind"]["const"]: definition
            for definition in described["$defs"].values()
            if "kind" in definition.get("properties", ())
        }
        path = kinds[document["path"]["kind"]]
        assert set(document["path"]) == set(path["properties"]) == set(path["required"])


def test_the_schema_of_the_instance_header(tmp_path: Path) -> None:
    described = schema("instance-header-v1.json")
    facts = {
        "name": "a",
        "generator": "b",
        "reference": [{"lam": 1.0, "primal": "inf", "dual": 1.0, "status": "optimal"}],
        "license": "c",
        "citation": "d",
    }
    save_problem(PROBLEMS["dantzig"](), tmp_path / "p.npz", **facts)
    header = read_header(tmp_path / "p.npz")
    del header["arrays"]
    assert set(header) == set(described["properties"])
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator(described).validate(header)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("digest", ["/../evil", "", ["x"], 1])
def test_a_result_takes_the_place_of_one_that_names_files_elsewhere(
    tmp_path: Path, digest: object
) -> None:
    evil = tmp_path / "evil.arrays.npz"
    evil.write_bytes(b"of somebody else")
    (tmp_path / "r.").mkdir()
    result = RESULTS["large-path"]()
    save_result(result, tmp_path / "r.json")
    document = json.loads((tmp_path / "r.json").read_text())
    document["arrays"] = {"file": "r./../evil.arrays.npz", "sha256": digest}
    (tmp_path / "r.json").write_text(json.dumps(document))
    save_result(result, tmp_path / "r.json")
    assert evil.exists()
    assert_equal(result, load_result(tmp_path / "r.json"))


@pytest.mark.skipif(sys.platform == "win32", reason="folders are not opened there")
def test_a_folder_that_somebody_keeps_locked_does_not_keep_a_result_from_it(tmp_path, monkeypatch):
    """As ``flock FOLDER python script.py`` does, all the time."""
    monkeypatch.setattr("sparseopt.io.results._PATIENCE", 0.05)
    result = solve(LADLasso(np.eye(2), np.ones(2)), lam=0.1)
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        lock_file(folder)
        thread = threading.Thread(
            target=save_result, args=(result, tmp_path / "kept.json"), daemon=True
        )
        thread.start()
        thread.join(timeout=5.0)
        assert not thread.is_alive()
    finally:
        os.close(folder)
    assert (tmp_path / "kept.json").exists()
