"""``sparseopt private synthesise``: synthetic rows and a statement from a table."""

import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner

from sparseopt import private
from sparseopt.cli import main
from sparseopt.cli.reading.private_table import columns_of, read_columns

BOUNDS = {"age": [0, 100], "smokes": ["no", "yes"], "town": ["A", "B", "C"]}


def run(*arguments):
    return CliRunner().invoke(main, ["private", *map(str, arguments)])


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    smokes = rng.random(2000) < 0.3
    age = np.where(smokes, 30.0, 60.0) + 5.0 * rng.normal(size=2000)
    with (tmp_path / "people.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "age", "smokes", "town"])
        for i in range(2000):
            writer.writerow([i, age[i], "yes" if smokes[i] else "no", "ABC"[i % 3]])
    (tmp_path / "bounds.json").write_text(json.dumps(BOUNDS))
    return tmp_path


def synthesise(folder, *more, delta=1e-5):
    files = ["--bounds", folder / "bounds.json", "-o", folder / "new.csv"]
    files += ["--statement", folder / "statement.json"]
    asked = ["--epsilon", 5, "--delta", delta]
    return run("synthesise", folder / "people.csv", *files, *asked, *more)


def test_rows_are_like_the_table_and_the_statement_holds(folder):
    done = synthesise(folder, "--label", "smokes", "--rows", 3000)
    assert done.exit_code == 0, done.output
    with (folder / "new.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 3000 and list(rows[0]) == list(BOUNDS)
    age = {word: [float(r["age"]) for r in rows if r["smokes"] == word] for word in ("no", "yes")}
    assert np.mean(age["yes"]) == pytest.approx(30.0, abs=3.0)
    assert np.mean(age["no"]) == pytest.approx(60.0, abs=3.0)
    assert len(age["yes"]) / 3000 == pytest.approx(0.3, abs=0.05)
    assert {r["town"] for r in rows} <= {"A", "B", "C"}
    assert run("audit", folder / "statement.json").exit_code == 0
    assert private.Statement.load(folder / "statement.json").epsilon == 5.0


def test_a_ledger_refuses_the_second_release(folder):
    more = ("--ledger", folder / "spent.jsonl", "--budget", 6, 1e-4, "--rows", 5)
    assert synthesise(folder, *more).exit_code == 0
    before = (folder / "new.csv").read_bytes()
    done = synthesise(folder, *more)
    assert done.exit_code == 2 and "budget" in done.output
    assert (folder / "new.csv").read_bytes() == before


def test_no_cell_raises_or_changes_the_number_of_records(tmp_path):
    columns = [private.Number("age", 0.0, 10.0), private.Category("town", ("A", "B"))]
    rng = np.random.default_rng(0)
    plain = b"1,A\n"
    for trial in range(200):
        cell = bytes(rng.integers(0, 256, rng.integers(0, 9), dtype=np.uint8).tolist())
        for mark in (b"\n", b"\r", b'"', b","):
            cell = cell.replace(mark, b"")
        row = [cell + b",A", b"3," + cell, cell, b"1,A," + cell, b"\xff,\xfe"][trial % 5]
        (tmp_path / "t.csv").write_bytes(b"age,town\n" + plain + row + b"\n" + plain)
        found = read_columns(tmp_path / "t.csv", columns)
        assert len(found["age"]) == len(found["town"]) == 3
        assert found["age"][[0, 2]].tolist() == [1.0, 1.0] and 0.0 <= found["age"][1] <= 10.0


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ("[1]", "JSON object"),
        ("{}", "names no columns"),
        ('{"age": [1, "a"]}', "in numbers, or a list of levels"),
        ('{"age": [0, 1, 2]}', "in numbers"),
        ('{"age": []}', "in numbers"),
        ('{"age": [5, 5]}', "low < high"),
        ('{"size": [0, 1]}', "no column 'size' in its first line"),
        ('{"age": [true, false]}', "in numbers"),
    ],
)
def test_bounds_that_say_nothing_are_refused(folder, stated, words):
    (folder / "bounds.json").write_text(stated)
    done = synthesise(folder)
    assert done.exit_code == 2 and words in " ".join(done.output.split()), done.output
    assert not (folder / "new.csv").exists() and not (folder / "statement.json").exists()


def test_wrong_options_are_refused_before_anything_is_read(folder):
    for more, words in (
        (("--label", "age"), "has no levels of it"),
        (("--ledger", folder / "l.jsonl"), "given together"),
        (("-o", folder / "people.csv"), "uses that file already"),
    ):
        done = synthesise(folder, *more)
        assert done.exit_code == 2 and words in done.output, done.output
    assert [column.name for column in columns_of(folder / "bounds.json")] == list(BOUNDS)
