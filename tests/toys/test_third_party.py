"""A family, a backend and a verifier of somebody else, installed beside sparseopt.

The toy is put on sys.path with the metadata that an installer would write, so discovery, files,
checker, suite and command line meet it by the real mechanism.
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
from sparseopt import ProblemError, Status, Verdict
from sparseopt.testing import conformance_cases, run_conformance

METADATA = "Metadata-Version: 2.1\nName: toy-misdp\nVersion: 1.0\n"
ENTRY_POINTS = """
[sparseopt.backends]
toy-enumeration = toy_misdp:ToyEnumeration
[sparseopt.problems]
toy-misdp = toy_misdp:ToyMISDP
"""
TOY = Path(__file__).with_name("toy_misdp.py")


def _install(folder: Path, entry_points: str = ENTRY_POINTS) -> None:
    shutil.copy(TOY, folder)
    info = folder / "toy_misdp-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(METADATA)
    (info / "entry_points.txt").write_text(entry_points)


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """The toy's module, installed."""
    _install(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    import toy_misdp

    return toy_misdp


def _cases():
    # At collection the toy is imported from here; discovery is another test's question.
    import toy_misdp

    families = {"toy-misdp": toy_misdp.samples()}
    return conformance_cases(toy_misdp.ToyEnumeration(), families=families)


@pytest.mark.parametrize("case", _cases(), ids=lambda case: case.name)
def test_it_conforms(case):
    case.check()


def test_it_is_listed_and_chosen(toy):
    problem = toy.samples().samples[0].problem
    rows = {row.name: row for row in sparseopt.backends(problem)}
    assert rows["toy-enumeration"].supports
    assert not rows["brute-force"].supports
    result = sparseopt.solve(problem)
    assert (result.backend, result.objective) == ("toy-enumeration", 3.0)
    assert result.verdict is Verdict.VERIFIED


def test_its_lies_are_refuted_by_its_verifier(toy):
    problem = toy.samples().samples[1].problem
    result = sparseopt.solve(problem, backend="toy-enumeration")
    worse = np.array([4.0, 4.0])
    lie = result.with_changes(x=worse, objective=8.0, bound=8.0)
    report = sparseopt.check(problem, lie)
    assert report.verdict is Verdict.REFUTED
    infeasible = result.with_changes(status=Status.INFEASIBLE, x=None)
    assert sparseopt.check(problem, infeasible).verdict is Verdict.REFUTED


def test_the_suite_finds_its_faults(toy):
    class Hasty(toy.ToyEnumeration):
        """Takes any feasible point for the best."""

        name = "toy-hasty"

        def _solve(self, problem, params, options, control):
            result = super()._solve(problem, params, options, control)
            x = np.full(len(problem.c), float(problem.upper))
            value = problem.objective(x)
            return result.with_changes(x=x, objective=value, bound=value)

    outcomes = run_conformance(Hasty(), families={"toy-misdp": toy.samples()})
    failed = {outcome.name for outcome in outcomes if not outcome.passed}
    assert {"toy-misdp/cover/optimum", "toy-misdp/cover/bound", "toy-misdp/cover/verdict"} <= failed
    passed = {outcome.name for outcome in outcomes if outcome.passed}
    assert "toy-misdp/unknown-option" in passed


def test_a_fresh_process_reads_solves_and_checks_its_files(toy, tmp_path):
    """Nothing is imported beforehand: the file names the kind, the kind names the package."""
    instance, result = tmp_path / "toy.npz", tmp_path / "result.json"
    sparseopt.save(toy.samples().samples[1].problem, instance)
    paths = [str(tmp_path), str(Path(sparseopt.__file__).parents[1])]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}

    def sparseopt_command(*arguments: object) -> subprocess.CompletedProcess[str]:
        code = "from sparseopt.cli import main; main()"
        command = [sys.executable, "-c", code, *map(str, arguments)]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False)

    solved = sparseopt_command("solve", instance, "--json", "-o", result)
    assert solved.returncode == 0, solved.stderr
    answer = json.loads(solved.stdout)
    assert (answer["backend"], answer["objective"], answer["verdict"]) == (
        "toy-enumeration",
        4.0,
        "verified",
    )
    checked = sparseopt_command("check", instance, result)
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("toy_no_such_module:ToyMISDP", "cannot be imported"),
        ("toy_misdp:ToyEnumeration", "is no problem class"),
    ],
)
def test_a_broken_promise_to_read_a_kind_says_so(tmp_path, monkeypatch, value, words):
    from sparseopt.problems.base import problem_class

    _install(tmp_path, f"[sparseopt.problems]\nother-toy = {value}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ProblemError, match=words):
        problem_class("other-toy")


def test_kinds_that_nobody_knows():
    from sparseopt.problems.base import problem_class

    with pytest.raises(ProblemError, match="'no-such-kind'; this sparseopt knows: budget-tables, "):
        problem_class("no-such-kind")
