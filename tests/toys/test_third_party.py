"""A family, a path and a backend of somebody else, installed beside sparseopt.

The toy is put on sys.path with the metadata that an installer would write, so discovery, files,
checker, suite, command line, pictures and benchmarks meet it by the real mechanism.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sparseopt
from sparseopt import ProblemError, Status, Verdict, families, generators
from sparseopt.testing import conformance_cases, run_conformance

METADATA = "Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n"
ENTRY_POINTS = """
[sparseopt.backends]
toy-enumeration = toy_cover:Enumeration
[sparseopt.families]
toy = toy_cover:TOY
"""
TOY = Path(__file__).with_name("toy_cover.py")
SUITE = """
[suite]
name = "toy"
time_limit = 10
[[instances]]
generator = "toy-cover"
settings = { n = [2, 3] }
seeds = [1]
[[backends]]
name = "toy-enumeration"
"""


def _install(folder: Path, entry_points: str = ENTRY_POINTS) -> None:
    shutil.copy(TOY, folder)
    info = folder / "toy-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(METADATA)
    (info / "entry_points.txt").write_text(entry_points)


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """The toy's module, installed."""
    _install(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    # Each test imports its own copy, and forgets what the families of another one were.
    monkeypatch.delitem(sys.modules, "toy_cover", raising=False)
    monkeypatch.setattr(families, "_LOADED", {})
    import toy_cover

    return toy_cover


@pytest.fixture
def command(toy, tmp_path):
    """The command line in a fresh process that has imported nothing of the toy."""
    paths = [str(tmp_path), str(Path(sparseopt.__file__).parents[1])]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        code = "from sparseopt.cli import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", code, *map(str, arguments)],
            env=env,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    return run


def test_it_takes_less_than_150_lines():
    assert sum(bool(line.strip()) for line in TOY.read_text().splitlines()) < 150


def test_the_page_of_the_docs_is_this_family():
    page = Path(__file__).parents[2] / "docs" / "new-family.md"
    assert f"```python\n{TOY.read_text()}```" in page.read_text(encoding="utf-8")


@pytest.mark.thorough
def test_it_conforms(toy):
    cases = conformance_cases(toy.Enumeration())
    assert {case.name.split("/")[1] for case in cases} >= {"pair", "none"}
    for case in cases:
        case.check()


def test_it_is_listed_and_chosen(toy):
    problem = toy.random_cover()
    rows = {row.name: row for row in sparseopt.backends(problem)}
    assert rows["toy-enumeration"].supports
    assert not rows["brute-force"].supports
    result = sparseopt.solve(problem, budget=6)
    assert result.backend == "toy-enumeration"
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)


def test_its_paths_are_solved_saved_checked_and_drawn(toy, tmp_path):
    plt = pytest.importorskip("matplotlib.pyplot")
    problem = toy.random_cover()
    result = sparseopt.solve(problem)
    assert result.verdict is Verdict.VERIFIED and result.path.parameter == "budget"
    result.save(tmp_path / "path.json")
    again = sparseopt.io.load_result(tmp_path / "path.json", problem)
    np.testing.assert_array_equal(again.path.at(6.0), result.path.at(6.0))
    assert sparseopt.check(problem, again).verdict is Verdict.VERIFIED
    assert sparseopt.plot(result, plt.subplots()[1]).get_xlabel() == "budget"


def test_its_files_follow_the_schema_of_results(toy, tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    sparseopt.solve(toy.random_cover()).save(tmp_path / "path.json")
    document = json.loads((tmp_path / "path.json").read_text())
    schema = sparseopt.io.results.result_schema()
    jsonschema.Draft202012Validator(schema).validate(document)
    del document["path"]["knots"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema).validate(document)


def test_its_lies_are_refuted_by_its_verifier(toy):
    problem = toy.samples(None).samples[0].problem
    result = sparseopt.solve(problem, budget=2)
    lie = result.with_changes(x=np.array([1.0, 0.0, 1.0]), objective=6.0, bound=6.0)
    assert sparseopt.check(problem, lie).verdict is Verdict.REFUTED
    infeasible = result.with_changes(status=Status.INFEASIBLE, x=None, objective=None, bound=None)
    assert sparseopt.check(problem, infeasible).verdict is Verdict.REFUTED


def test_the_suite_finds_its_faults(toy):
    class Hasty(toy.Enumeration):
        """Takes any feasible point for the best."""

        name = "toy-hasty"

        def _solve(self, problem, params, options, control):
            result = super()._solve(problem, params, options, control)
            x = np.array([1.0, 0.0, 1.0])[: len(problem.c)]
            if result.x is None or len(problem.c) != 3:
                return result
            return result.with_changes(x=x, objective=6.0, bound=6.0)

    outcomes = run_conformance(Hasty())
    failed = {outcome.name for outcome in outcomes if not outcome.passed}
    assert {"toy/pair/optimum", "toy/pair/verdict"} <= failed
    assert "toy/unknown-option" in {outcome.name for outcome in outcomes if outcome.passed}


@pytest.mark.thorough
def test_a_fresh_process_generates_solves_and_checks_its_files(command, tmp_path):
    command("generate", "toy-cover", "--seed", 3, "-o", "toy.npz")
    solved = command("solve", "toy.npz", "--json", "-o", "path.json", "--plot", "path.png")
    answer = json.loads(solved.stdout)
    assert (answer["backend"], answer["verdict"]) == ("toy-enumeration", "verified")
    assert answer["knots"] > 1 and (tmp_path / "path.png").stat().st_size > 1000
    command("check", "toy.npz", "path.json")
    assert "budget" in command("solve", "toy.npz").stdout


@pytest.mark.thorough
def test_it_is_benchmarked(command, tmp_path):
    (tmp_path / "toy.toml").write_text(SUITE)
    command("bench", "run", "toy.toml", "-o", "run")
    records = [json.loads(line) for line in next((tmp_path / "run").glob("*.jsonl")).open()]
    solves = [record for record in records if record.get("backend") == "toy-enumeration"]
    assert [record["verdict"] for record in solves] == ["verified", "verified"]


def test_its_generator_is_listed(toy):
    assert "toy-cover" in generators.names()
    assert isinstance(generators.generate("toy-cover", seed=1, n=4), toy.Cover)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("toy_no_such_module:TOY", "cannot be imported"),
        ("toy_cover:Enumeration", "is no Family"),
    ],
)
def test_a_broken_family_says_so(tmp_path, monkeypatch, value, words):
    from sparseopt.problems.base import problem_class

    _install(tmp_path, f"[sparseopt.families]\nother-toy = {value}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ProblemError, match=words):
        problem_class("no-such-kind")


def test_kinds_that_nobody_brings():
    from sparseopt.problems.base import problem_class

    with pytest.raises(ProblemError, match="'no-such-kind'; this sparseopt knows: budget-tables, "):
        problem_class("no-such-kind")
