"""Studies: run like suites, resumed after a kill, and reported."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import sparseopt
from sparseopt.bench.definitions.study import find_study, studies
from sparseopt.bench.records.files import read_records
from sparseopt.bench.running.run import RECORDS
from sparseopt.cli import main

LEVEL = ("two-sample-level", "--set", "methods=none", "--set", "trials=200")


def call(*words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(main, ["bench", *words])
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.parametrize("name", studies())
def test_a_study_names_its_work_and_its_tables(name: str) -> None:
    study = find_study(name)
    units = study.work()
    assert len({unit.key for unit in units}) == len(units) > 0
    assert all(json.loads(json.dumps(unit.params)) == unit.params for unit in units)
    assert study.title
    assert study.tables
    for table in study.tables:
        assert table.rows
        assert table.columns
    code, out, _ = call("list", name)
    assert code == 0
    assert all(f"--set {key}=" in out for key in study.settings)


def test_every_block_of_clime_is_verified(tmp_path: Path) -> None:
    chosen = {"sizes": "100", "columns": "6", "nonzeros": "3", "jobs": "1"}
    study = find_study("clime-blocks").with_settings(chosen)
    (unit,) = study.units(study.settings)
    (row,) = study.do(unit, tmp_path)
    assert row["blocks verified"] == "2 of 2"
    assert row["complaint"] == ""
    assert not list(tmp_path.iterdir())


def test_a_larger_study_keeps_what_a_smaller_one_has_done() -> None:
    study = find_study("two-sample-level")
    small, large = (study.with_settings({"trials": trials}) for trials in ("100", "200"))
    assert {unit.key for unit in small.work()} < {unit.key for unit in large.work()}


@pytest.mark.thorough
def test_errors_of_graphs_are_about_those_of_the_paper(tmp_path: Path) -> None:
    chosen = {"d": "60", "trials": "2", "rhos": "0.5", "methods": "SPICA"}
    study = find_study("l0-paper").with_settings(chosen)
    paper = {"scale-free": 53.8, "block": 83.2, "band": 82.8}  # at d = 1000
    for unit in study.units(study.settings):
        rows = list(study.do(unit, tmp_path))
        found = [row["error"] for row in rows if "error" in row]
        assert found == pytest.approx([0.06 * paper.pop(unit["design"])] * 2, rel=0.5)
        assert [row["fpr"] for row in rows if "fpr" in row][:51:50] == [0.0, 1.0]
    assert not paper


def test_the_l1_method_is_fitted_as_by_hand() -> None:
    from sparseopt.bench.studies.budget.l0_paper import lasso

    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3))
    lams = np.array([1.0, 0.1])
    beta = lasso(X, np.array([[1, 2], [0, 2], [0, 1]]), lams)
    for step, lam in enumerate(lams):
        for j, others in enumerate(([1, 2], [0, 2], [0, 1])):
            slope = 2.0 * X[:, others].T @ (X[:, j] - X[:, others] @ beta[step, j]) / 30
            assert (np.abs(slope) <= lam + 1e-4).all()
            chosen = beta[step, j] != 0.0
            assert slope[chosen] == pytest.approx(lam * np.sign(beta[step, j][chosen]), abs=1e-4)


@pytest.mark.thorough
def test_power_is_counted_and_drawn(tmp_path: Path) -> None:
    pytest.importorskip("jinja2", reason="reports need the extra bench")
    folder = tmp_path / "run"
    asked = {"sizes": "12", "dimensions": "4", "d": "2", "trials": "6", "cases": "mean-shift"}
    words = [f"{key}={value}" for key, value in asked.items()]
    words.append("methods=full linear,full gaussian 2n")
    given = [part for word in words for part in ("--set", word)]
    code, out, err = call("run", "two-sample-power", "-o", str(folder), *given)
    assert code == 0, err
    assert "1 unit in" in out
    (record,) = read_records(folder / RECORDS)[0]
    assert record["outcome"] == "ok"
    assert [row["seed"] for row in record["rows"]] == sorted([*range(6), *range(6)])
    code, _, err = call("report", str(folder), "--images", str(tmp_path / "images"))
    assert code == 0, err
    report = (folder / "report.md").read_text(encoding="utf-8")
    for method in ("full linear", "full gaussian 2n"):
        found = [row["rejected"] for row in record["rows"] if row["method"] == method]
        (line,) = [row for row in report.splitlines() if row.startswith(f"| {method} |")]
        assert f"{sum(found) / 6:.3g}" in line
    pictures = sorted(path.name for path in (tmp_path / "images").iterdir())
    assert pictures == [
        "two-sample-power-power-against-d-case-mean-shift-n-12.svg",
        "two-sample-power-power-by-case-n-12-d-4.svg",
    ]
    assert "var(--" not in (tmp_path / "images" / pictures[0]).read_text(encoding="utf-8")


@pytest.mark.thorough
def test_the_matrices_of_two_samples_are_those_of_direct_sums(tmp_path: Path) -> None:
    given = ("--set", "n=200", "--set", "D=10", "--set", "repeats=1")
    code, _, err = call("run", "two-sample-build", "-o", str(tmp_path / "run"), *given)
    assert code == 0, err
    (record,) = read_records(tmp_path / "run" / RECORDS)[0]
    (row,) = record["rows"]
    assert row["error"] < 1e-9
    assert row["complaint"] == ""


@pytest.mark.thorough
def test_a_pivot_is_compared_with_a_pass_over_the_data(tmp_path: Path) -> None:
    given = ("--set", "problems=lad-1000", "--set", "repeats=1")
    code, _, err = call("run", "pivot-limit", "-o", str(tmp_path / "run"), *given)
    assert code == 0, err
    (record,) = read_records(tmp_path / "run" / RECORDS)[0]
    (row,) = record["rows"]
    assert row["pivots"] > 100
    assert row["passes"] == pytest.approx(row["pivot"] / row["pass"])


def test_a_unit_over_its_limit_is_killed_and_fails_the_study(tmp_path: Path) -> None:
    given = ("-o", str(tmp_path / "run"), "--time-limit", "0.05")
    code, out, _ = call("run", "two-sample-build", *given)
    assert code == 1
    assert "1 hang" in out
    (record,) = read_records(tmp_path / "run" / RECORDS)[0]
    assert "killed after 0.05 s of solving" in record["message"]
    assert record["rows"] == []


@pytest.mark.skipif(sys.platform == "win32", reason="kills by signal")
@pytest.mark.thorough
def test_a_killed_study_goes_on_where_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    package = str(Path(sparseopt.__file__).resolve().parents[1])
    path = os.pathsep.join([package, os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [sys.executable, "-m", "sparseopt", "bench", "run", *LEVEL, "-o", str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": path},
    )
    deadline = time.monotonic() + 120.0
    while time.monotonic() < deadline and process.poll() is None:
        if (folder / RECORDS).is_file() and len(read_records(folder / RECORDS)[0]) >= 1:
            break
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = read_records(folder / RECORDS)[0]
    assert 1 <= len(before) < 4
    code, out, err = call("run", *LEVEL, "-o", str(folder))
    assert code == 0, err
    assert "4 units in" in out
    lines = (folder / RECORDS).read_text(encoding="utf-8").splitlines()
    after = [record for record in map(json.loads, lines) if record["type"] == "unit"]
    assert after[: len(before)] == before
    assert [(r["params"]["first"], r["outcome"]) for r in after] == [
        (first, "ok") for first in (0, 50, 100, 150)
    ]
    seeds = [row["seed"] for record in after for row in record["rows"]]
    assert seeds == list(range(200))


def test_wrong_calls_say_what_there_is() -> None:
    for words, expected in (
        (("two-sample-level", "--set", "trial=2"), "has no setting 'trial'; it has: trials,"),
        (("two-sample-level", "--set", "trials=few"), "expected a value like 1000"),
        (("two-sample-level", "--set", "methods=best"), "there is no selection 'best'"),
        (("two-sample-level", "--backend", "highs"), "is a study: --set chooses"),
        (("smoke", "--set", "trials=2"), "--set is for studies"),
    ):
        code, _, err = call("run", *words, "--dry-run")
        assert code == 2, words
        assert expected in err


@pytest.mark.thorough
def test_draws_of_a_release_are_scored_like_records(tmp_path: Path) -> None:
    study = find_study("private-mixture").with_settings({"seeds": "1", "records": "25000"})
    for unit in study.units(study.settings):
        if unit["epsilon"] != "0.1":
            continue
        rows = {row["method"]: row for row in study.do(unit, tmp_path)}
        # the entropy of 25 normals apart from each other
        entropy = np.log(25.0) + np.log(2.0 * np.pi * np.e * 0.2**2)
        assert rows["records"]["nll"] == pytest.approx(entropy, abs=0.02)
        for method in ("Hermite", "Fourier (DP-MERF)"):
            assert rows[method]["verdict"] == "verified"
            assert entropy - 0.1 < rows[method]["nll"] < 20.0


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(
    ("method", "k", "published"),
    [("pca", 2, 93.91), ("pca", 3, 94.12), ("sir", 2, 98.68), ("kdr", 2, 98.30)],
)
def test_reductions_of_wine_score_what_was_published(method: str, k: int, published: float) -> None:
    """Takhanov (2021), Table 1: one number, of permutations that are not known."""
    pytest.importorskip("sklearn")
    unit = {"data": "wine", "k": k, "method": method, "first": 0, "end": 2}
    rows = list(find_study("sufficient-reduction").do(unit, Path()))
    assert np.mean([row["orthonormal"] for row in rows]) == pytest.approx(published, abs=1.0)


@pytest.mark.thorough
def test_sigmoids_are_a_method_of_the_scheme() -> None:
    pytest.importorskip("sklearn")
    unit = {"data": "wine", "k": 2, "method": "sigmoids", "first": 0, "end": 1}
    (row,) = find_study("sufficient-reduction").do(unit, Path())
    assert row["orthonormal"] > 90.0
