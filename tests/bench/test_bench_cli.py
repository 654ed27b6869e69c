"""The commands: what they print, and the exit codes."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from synthetic import ENVIRONMENT, record

import sparseopt
from sparseopt.bench.records.files import RecordFile
from sparseopt.bench.running.run import RECORDS
from sparseopt.cli import main


def call(*words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(main, ["bench", *words])
    return done.exit_code, done.stdout, done.stderr


def written(folder: Path, *records: dict) -> Path:
    folder.mkdir()
    with RecordFile(folder / RECORDS) as file:
        file.append(ENVIRONMENT)
        for one in records:
            file.append(one)
    return folder


@pytest.mark.thorough
def test_list_names_the_suites_and_what_they_solve() -> None:
    code, out, _ = call("list", "--json")
    assert code == 0
    rows = {row["name"]: row for row in json.loads(out)}
    assert rows["smoke"]["solves"] > 20
    code, out, _ = call("list", "smoke")
    assert code == 0
    assert "clime n=100 d=20 #1" in out


def test_list_keeps_a_suite_whose_files_are_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "far.toml"
    path.write_text(
        '[suite]\ntitle = "Far"\n[[instances]]\nfile = "gone.npz"\n[[backends]]\nname = "highs"\n'
    )
    monkeypatch.setattr("sparseopt.bench.definitions.suite.suite_files", lambda: {"far": path})
    code, out, _ = call("list")
    assert code == 0
    assert "Far (its files are not here)" in out


def test_a_dry_run_runs_nothing(suite_file: Callable[..., Path], tmp_path: Path) -> None:
    path = suite_file("Good", "Hangs", instances=2)
    code, out, _ = call("run", str(path), "--dry-run", "-o", str(tmp_path / "run"), "--json")
    assert code == 0
    assert [job["label"] for job in json.loads(out)] == ["Good", "Hangs"] * 2
    assert not (tmp_path / "run").exists()


def test_run_then_report_then_nothing_left(
    suite_file: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("jinja2", reason="reports need the extra bench")
    monkeypatch.chdir(tmp_path)
    path = suite_file("Good", time_limit=10)
    code, out, err = call("run", str(path), "--shuffle", "3")
    assert code == 0, err
    assert "1 solve in bench-runs/tiny: 1 ok" in out
    assert "1/1  ok  Good  tiny-0" in err
    code, out, err = call("report")
    assert code == 0, err
    assert (tmp_path / "bench-runs" / "tiny" / "report.html").is_file()
    code, out, _ = call("run", str(path))
    assert "nothing was left to do" in out
    code, out, _ = call("run", str(path), "--retry", "ok", "--dry-run", "--json")
    assert len(json.loads(out)) == 1


def test_wrong_calls_end_with_two_and_a_sentence(tmp_path: Path) -> None:
    for words, expected in (
        (("run", "smokey"), "no suite or study is called 'smokey'"),
        (("run", "smoke", "--retry", "bad"), "--retry bad: expected one of ok, wrong"),
        (("run", "smoke", "--time-limit", "-1"), "expected a number > 0"),
        (("run", "smoke", "-o", str(Path(__file__).parent)), "is not empty and holds no run"),
        (("report", str(tmp_path)), "expected the records of a benchmark run"),
        (("report", str(tmp_path), "-o", "x.pdf"), "expected a name that ends in .html"),
    ):
        code, _, err = call(*words)
        assert code == 2, words
        assert expected in err
        assert "Traceback" not in err


def test_compare_fails_on_request(tmp_path: Path) -> None:
    sizes = range(1, 7)
    old = written(tmp_path / "old", *(record("x", d, 1.0) for d in sizes))
    new = written(tmp_path / "new", *(record("x", d, 2.0) for d in sizes))
    code, out, _ = call("compare", str(old), str(new))
    assert code == 0
    assert "SLOWER" in out
    assert "something got worse" in out
    code, out, _ = call("compare", str(old), str(new), "--fail", "--json")
    assert code == 1
    assert json.loads(out)["times"]["x"]["median"] == pytest.approx(2.0)
    assert call("compare", str(new), str(old), "--fail")[0] == 0
    few = written(tmp_path / "few", record("x", 1, 1.0, options={"rule": "b"}))
    _, out, _ = call("compare", str(old), str(few), "--json")
    assert json.loads(out)["times"]["x"]["high"] is None
    _, out, _ = call("compare", str(old), str(few))
    assert "with other options, parameters or limits: x" in out
    assert "too few problems" in out
    other = written(tmp_path / "other", record("y", 1, 1.0))
    code, _, err = call("compare", str(old), str(other))
    assert code == 2
    assert "no solve in common" in err


@pytest.mark.thorough
def test_compare_from_python(tmp_path: Path) -> None:
    pytest.importorskip("pandas", reason="compare returns a pandas data frame")
    rng = np.random.default_rng(0)
    problem = sparseopt.problems.DantzigSelector(
        X=rng.standard_normal((10, 6)), y=rng.standard_normal(10)
    )
    table = sparseopt.compare(
        {"mine": problem}, ["highs", "strs-bnb"], lam=0.5, time_limit=20.0, folder=tmp_path / "run"
    )
    by = table.set_index("backend")
    assert by["outcome"].to_dict() == {"highs": "ok", "strs-bnb": "unsupported"}
    assert set(table["instance"]) == {"mine"}
    assert by.loc["highs", "verdict"] == "verified"
    expected = sparseopt.solve(problem, lam=0.5).objective
    assert by.loc["highs", "objective"] == pytest.approx(expected)
    # The same question is answered from the folder.
    again = sparseopt.compare(
        {"mine": problem}, ["highs", "strs-bnb"], lam=0.5, time_limit=20.0, folder=tmp_path / "run"
    )
    assert again["time"].equals(table["time"])


def test_compare_says_what_it_expects() -> None:
    problem = sparseopt.problems.STRS(A=np.eye(2), d=1)
    for problems, backends, expected in (
        ([], ["highs"], "problems is empty"),
        ([problem], [], "expected a list of names"),
        ([problem], "highs", "expected a list of names"),
        (["file.npz"], ["highs"], "expected problems of sparseopt"),
        ([problem], [object()], "classes of a module that another process can import"),
        ([problem], ["no-such"], "no backend is called 'no-such'"),
    ):
        with pytest.raises(sparseopt.ParamError, match=expected):
            sparseopt.compare(problems, backends)
