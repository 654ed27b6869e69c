"""The scripts in benchmarks/ run, and their tables say what was run and what was not."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.thorough


def run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / script), *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=300,
        check=False,
    )


def cells(text: str, first: str) -> list[list[str]]:
    """The lines of Markdown tables whose first cell is the given one."""
    rows = [[c.strip() for c in line.strip("|").split("|")] for line in text.splitlines()]
    return [row for row in rows if row[0] == first]


def test_the_comparison_runs_and_leaves_nothing_out_silently(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    done = run(
        "parametric.py",
        *("--rows", "network-25", "--repeats", "2", "--peers", "highs-ccg"),
        *("--json", str(out)),
    )
    assert done.returncode == 0, done.stderr
    highs, ccg, paper, goal = cells(done.stdout, "network-25")
    assert highs[5:7] == ["highs", "left out by --peers"]
    assert ccg[5] == "highs-ccg"
    assert float(ccg[7]) > 0.0
    assert paper[5:7] == ["paper", "not rerun (0.02 s)"]
    assert highs[-1] == "verified"
    assert goal[4] == "<= 0.005 s"
    assert "Rows that were not run: dantzig-500," in done.stdout
    (row,) = json.loads(out.read_text())["rows"]
    assert len(row["ours"]["seconds"]) == 2
    assert max(row["primal"], row["dual"]) < 1e-9
    (peer,) = [peer for peer in row["peers"] if peer["seconds"]]
    assert abs(peer["error"]) < 1e-8


def test_every_row_of_the_comparison_is_listed() -> None:
    done = run("parametric.py", "--list")
    assert done.returncode == 0
    names = [line.split()[0] for line in done.stdout.splitlines()]
    assert len(set(names)) == len(names)
    for model in ("dantzig", "clime", "lad", "sensing", "svm", "network", "quantile", "lpd"):
        assert any(name.startswith(model) for name in names)


def test_the_growth_is_measured_and_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "scaling.png"
    done = run("scaling.py", "--sizes", "tiny", "--repeats", "1", "--plot", str(picture))
    assert done.returncode == 0, done.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")
    points = [row for name in ("n", "d") for row in cells(done.stdout, name) if len(row) == 6]
    points += [row for row in cells(done.stdout, "knots") if len(row) == 6]
    assert [row[1:3] for row in points[:2]] == [["20", "60"], ["40", "60"]]
    assert len(points) == 6
    assert [row[3] for row in points[-2:]] == ["5", "10"]


def test_the_matrices_of_two_samples_are_those_of_direct_sums() -> None:
    done = run("two_sample.py", "--quick", "--parts", "build")
    assert done.returncode == 0, done.stderr
    (row,) = cells(done.stdout, "400")
    assert float(row[-1]) < 1e-9
    wrong = run("two_sample.py", "--parts", "power,levels")
    assert wrong.returncode == 2
    assert "no part 'levels'; there are: build, level, power" in wrong.stderr


def test_a_study_of_power_takes_what_its_file_has(tmp_path: Path) -> None:
    rejected = {"strs": [1, 1, 1, 0], "full linear": [0, 1, 0, 0]}
    others = ("quadratic", "gaussian", "full quadratic", "full gaussian")
    every = rejected | {name: [0, 0, 0, 0] for name in others}
    kept = {f"laplace n=50 D={D} d=5 from 0": every for D in (10, 20)}
    file = tmp_path / "study.json"
    file.write_text(json.dumps({"cells": kept}), encoding="utf-8")
    done = run(
        *("two_sample.py", "--quick", "--parts", "dimension", "--cases", "laplace"),
        *("--trials", "4", "--json", str(file)),
    )
    assert done.returncode == 0, done.stderr
    assert cells(done.stdout, "strs") == [["strs", "0.75 ± 0.22", "0.75 ± 0.22"]]
    (change,) = cells(done.stdout, "*strs less full linear*")
    assert change[1:] == ["+0.50 ± 0.25", "+0.50 ± 0.25"]
    assert json.loads(file.read_text(encoding="utf-8"))["cells"] == kept


def test_the_comparison_of_graphs_says_what_was_not_run() -> None:
    done = run("l0.py", "--rows", "tables-32,budgets", "--repeats", "1", "--peers", "")
    assert done.returncode == 0, done.stderr
    ours, leaps = cells(done.stdout, "tables-32")
    assert ours[3] == "l0-tables"
    assert float(ours[4]) > 0.0
    assert leaps[3:5] == ["leaps", "-"]
    assert "not rerun (890" in leaps[6]
    assert "Rows that were not run: tables-10," in done.stdout
    assert run("l0.py", "--rows", "tables-11").returncode == 2


def test_the_table_of_the_graphs_paper_is_made(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs matplotlib")
    done = run(
        "l0_paper.py", "--d", "40", "--repeats", "1", "--designs", "band", "--plots", str(tmp_path)
    )
    assert done.returncode == 0, done.stderr
    rows = cells(done.stdout, "band")
    assert [row[2] for row in rows] == ["SPICA", "l1"] * 3
    assert all(float(row[4]) > 0.0 for row in rows)
    assert (tmp_path / "roc-band.png").stat().st_size > 10_000


def test_the_comparison_of_trust_region_solvers_names_what_it_left_out() -> None:
    done = run("strs.py", "--rows", "path,pitprops", "--repeats", "1", "--peers", "")
    assert done.returncode == 0, done.stderr
    path, single = cells(done.stdout, "path")
    assert path[1:2] + path[5:6] == ["strs-bnb, path", "13 of 13 sizes proven"]
    assert single[1] == "strs-bnb, one by one"
    (ours,) = cells(done.stdout, "pitprops")
    assert ours[5].startswith("13 of 13 proven")
    assert "Rows that were not run: table1, wine," in done.stdout
    wrong = run("strs.py", "--rows", "table2")
    assert wrong.returncode == 2
    assert "there is no 'table2'" in wrong.stderr


def test_runs_of_peers_are_recorded_and_not_repeated(tmp_path: Path) -> None:
    pytest.importorskip("pyscipopt", reason="SCIP is not installed: sparseopt[scip]")
    file = tmp_path / "peers.jsonl"
    asked = ("strs.py", "--rows", "pitprops", "--peers", "scip", "--limit", "0.3", "--repeats", "1")
    first = run(*asked, "--records", str(file), "--each")
    assert first.returncode == 0, first.stderr
    _, scip, each = cells(first.stdout, "pitprops")
    assert scip[5].startswith("ran 1 of 1")
    assert each[1] == "d = 10"
    (record,) = file.read_text(encoding="utf-8").splitlines()
    # What is in the file is taken for what happened, and nothing is added to it.
    file.write_text(record.replace(str(json.loads(record)["seconds"]), "123.0"), encoding="utf-8")
    again = run(*asked, "--records", str(file))
    assert cells(again.stdout, "pitprops")[1][2] == "123 s"
    assert len(file.read_text(encoding="utf-8").splitlines()) == 1


def test_sparse_components_are_compared(tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    pytest.importorskip("matplotlib", reason="needs matplotlib")
    picture = tmp_path / "p.png"
    done = run("sparse_pca.py", "--only", "diabetes", "--plot", str(picture))
    assert done.returncode == 0, done.stderr
    (row,) = cells(done.stdout, "diabetes")
    assert row[1:4] == ["10", "10", "10, verified"]
    assert picture.stat().st_size > 10_000
