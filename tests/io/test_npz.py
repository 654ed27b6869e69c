"""The native instance file: round trips, determinism, atomic writing, headers."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from io_examples import PROBLEMS, parametric_lp, three_kinks

import sparseopt
from sparseopt import ProblemError
from sparseopt.io import load_problem, load_result, read_header, save_problem
from sparseopt.problems import DantzigSelector, problem_kinds


def test_the_examples_cover_every_kind() -> None:
    own = {kind for kind, cls in problem_kinds().items() if cls.__module__.startswith("sparseopt.")}
    assert {make().kind for make in PROBLEMS.values()} == own


@pytest.mark.parametrize("name", PROBLEMS)
def test_round_trip_keeps_the_fingerprint(name: str, tmp_path: Path) -> None:
    problem = PROBLEMS[name]()
    save_problem(problem, tmp_path / "a.npz")
    again = load_problem(tmp_path / "a.npz")
    assert type(again) is type(problem)
    assert again.fingerprint() == problem.fingerprint()
    assert again.size == problem.size


def test_sparse_stays_sparse_and_dense_dense(tmp_path: Path) -> None:
    for name, sparse in (("lp-sparse", True), ("lp-dense", False)):
        save_problem(PROBLEMS[name](), tmp_path / "a.npz")
        assert sp.issparse(load_problem(tmp_path / "a.npz").A) is sparse  # type: ignore[attr-defined]


def test_types_of_the_callers_arrays_do_not_matter(tmp_path: Path) -> None:
    exact = DantzigSelector(X=np.array([[1.0, 2.0], [3.0, 4.0]]), y=np.array([1.0, 2.0]))
    for X in (np.array([[1, 2], [3, 4]]), np.array([[1, 2], [3, 4]], ">f4"), [[1, 2], [3, 4]]):
        problem = DantzigSelector(X=X, y=[1, 2])
        save_problem(problem, tmp_path / "a.npz")
        assert problem.fingerprint() == exact.fingerprint()
        assert load_problem(tmp_path / "a.npz").fingerprint() == exact.fingerprint()


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_same_problem_gives_the_same_bytes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = {"name": name, "generator": {"name": "x", "seed": 1}}
    save_problem(PROBLEMS[name](), tmp_path / "a.npz", **facts)
    monkeypatch.setattr("time.time", lambda: 1e9)
    save_problem(PROBLEMS[name](), tmp_path / "b.npz", **facts)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_no_trace_of_the_machine(tmp_path: Path) -> None:
    save_problem(parametric_lp(), tmp_path / "a.npz")
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        infos = archive.infolist()
    assert infos[0].filename == "__header__.npy"
    assert [i.filename for i in infos[1:]] == sorted(i.filename for i in infos[1:])
    for info in infos:
        assert info.date_time == (1980, 1, 1, 0, 0, 0)
        assert (info.create_system, info.external_attr, info.extra) == (3, 0o644 << 16, b"")


def test_numpy_reads_the_file_without_pickle(tmp_path: Path) -> None:
    problem = parametric_lp(A=sp.csr_array([[0.0, 2.0, 0.0]] * 4))
    save_problem(problem, tmp_path / "a.npz", license="CC0-1.0")
    with np.load(tmp_path / "a.npz", allow_pickle=False) as raw:
        header = json.loads(raw["__header__"].tobytes().decode())
        assert raw["A.indices"].tolist() == [1, 1, 1, 1]
        assert raw["A.shape"].tolist() == [4, 3]
        assert np.array_equal(raw["b"], problem.b)
    assert header["format"] == "sparseopt-instance"
    assert header["license"] == "CC0-1.0"


def test_a_file_of_savez_is_read_too(tmp_path: Path) -> None:
    problem = three_kinks()
    values, arrays = problem.payload()
    header = {
        "format": "sparseopt-instance",
        "version": 1,
        "kind": problem.kind,
        "sense": "min",
        "params": values,
    }
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    fortran = {name: np.asfortranarray(array) for name, array in arrays.items()}
    np.savez(tmp_path / "a.npz", __header__=text, **fortran)  # type: ignore[arg-type]
    assert load_problem(tmp_path / "a.npz").fingerprint() == problem.fingerprint()


def test_header_comes_back(tmp_path: Path) -> None:
    facts = {
        "name": "größe",
        "generator": {"name": "section-4.1", "seed": 3},
        "reference": [
            {"lam": 1.5, "primal": 2.0, "dual": 2.0, "status": "optimal", "source": "two methods"},
            {"lam": 0.0, "primal": "inf", "status": "infeasible"},
        ],
        "license": "CC0-1.0",
        "citation": "Nobody (2024)",
    }
    save_problem(PROBLEMS["dantzig-weights"](), tmp_path / "a.npz", **facts)
    header = read_header(tmp_path / "a.npz")
    assert {key: header[key] for key in facts} == facts
    assert header["kind"] == "dantzig-selector"
    assert header["params"]["scale"] == "n"
    assert header["arrays"]["X"] == {"shape": [6, 4], "dtype": "float64"}


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"licence": "MIT"}, "no header entry 'licence'; it has: name, generator"),
        ({"name": 3}, "name is 3; expected text"),
        ({"generator": [1]}, "generator is"),
        ({"reference": "best"}, "reference is 'best'"),
        ({"reference": {"value": 1.0}}, "reference has no 'value'"),
        ({"reference": {"primal": "many"}}, "primal is 'many'"),
        ({"reference": {"lam": np.nan}}, "lam is nan"),
        ({"generator": {"x": np.ones(2)}}, "JSON"),
    ],
)
def test_wrong_facts_write_nothing(facts: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match=message):
        save_problem(parametric_lp(), tmp_path / "a.npz", **facts)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.thorough
def test_nearly_constant_data_is_not_taken_for_a_bomb(tmp_path: Path) -> None:
    problem = DantzigSelector(X=np.ones((9, 1_000_000)), y=np.ones(9))
    save_problem(problem, tmp_path / "a.npz")
    assert load_problem(tmp_path / "a.npz").size == {"n": 9, "d": 1_000_000}


def test_a_full_disk_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.npz"
    save_problem(parametric_lp(), path)
    before = path.read_bytes()

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ProblemError, match=r"a\.npz cannot be written: No space left"):
        save_problem(three_kinks(), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_ctrl_c_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.npz"
    save_problem(parametric_lp(), path)
    before = path.read_bytes()

    def interrupted(*args: object) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr("sparseopt.io.archive._npy_header", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save_problem(three_kinks(), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_and_the_mode_of_a_file_survive(tmp_path: Path) -> None:
    real, link = tmp_path / "real.npz", tmp_path / "link.npz"
    save_problem(parametric_lp(), real)
    real.chmod(0o640)
    link.symlink_to(real)
    save_problem(three_kinks(), link)
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert load_problem(real).kind == "piecewise-linear-program"


def test_files_that_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "folder.npz").mkdir()
    for name, message in (("no.npz", "no such file"), ("folder.npz", "is a directory")):
        with pytest.raises(ProblemError, match=message):
            load_problem(tmp_path / name)
    with pytest.raises(ProblemError, match="cannot be written: it is a directory"):
        save_problem(parametric_lp(), tmp_path / "folder.npz")
    with pytest.raises(ProblemError, match="cannot be written: No such file"):
        save_problem(parametric_lp(), tmp_path / "no folder" / "a.npz")
    os.mkfifo(tmp_path / "pipe.npz")
    with pytest.raises(ProblemError, match="not a regular file"):
        load_problem(tmp_path / "pipe.npz")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_permission(tmp_path: Path) -> None:
    save_problem(parametric_lp(), tmp_path / "a.npz")
    (tmp_path / "a.npz").chmod(0)
    with pytest.raises(ProblemError, match="cannot be read: Permission denied"):
        load_problem(tmp_path / "a.npz")


def test_unknown_endings_list_the_known_ones(tmp_path: Path) -> None:
    for call in (load_problem, read_header, lambda path: save_problem(parametric_lp(), path)):
        with pytest.raises(ProblemError, match=r"known are \.npz, \.mps, \.mps\.gz"):
            call(tmp_path / "a.lp")
    for name, hint in (
        ("a.json", "ending of results, which sparseopt.io.load_result reads"),
        ("a.csv", "`sparseopt fit MODEL FILE`"),
        ("pitprops", r"sparseopt\.datasets\.instances\(\)"),
    ):
        with pytest.raises(ProblemError, match=hint):
            load_problem(tmp_path / name)


def test_the_public_verbs(tmp_path: Path) -> None:
    sparseopt.save(parametric_lp(), str(tmp_path / "a.NPZ"), name="x")
    assert sparseopt.load(str(tmp_path / "a.NPZ")).fingerprint() == parametric_lp().fingerprint()


def test_a_file_without_header_says_so(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", X=np.ones(2))
    with pytest.raises(ProblemError, match="__header__ is missing: this is no sparseopt instance"):
        load_problem(tmp_path / "a.npz")
    (tmp_path / "b.npz").write_bytes(b"")
    with pytest.raises(ProblemError, match=r"not a \.npz file, or it is truncated"):
        load_problem(tmp_path / "b.npz")
    buffer = io.BytesIO()
    np.save(buffer, np.ones(2))
    (tmp_path / "c.npz").write_bytes(buffer.getvalue())
    with pytest.raises(ProblemError, match=r"not a \.npz file"):
        load_problem(tmp_path / "c.npz")


@pytest.mark.parametrize("name", [b"x.npz", 3, None, ["x.npz"], "\ud800.npz", "a\0.npz"])
def test_what_names_no_file_is_refused(name: object) -> None:
    result = sparseopt.solve(DantzigSelector(np.eye(2), np.ones(2)), check=False)
    calls: list[Callable[[Any], object]] = [
        sparseopt.load,
        lambda name: sparseopt.save(parametric_lp(), name),
        lambda name: sparseopt.save(result, name),
        read_header,
        load_result,
    ]
    for call in calls:
        with pytest.raises(ProblemError, match=r"expected its name|is no text|zero byte"):
            call(name)


def test_facts_that_are_no_text_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match=r"cannot be written as JSON: .* surrogates not allowed"):
        save_problem(parametric_lp(), tmp_path / "a.npz", name="\ud800")
    assert list(tmp_path.iterdir()) == []
