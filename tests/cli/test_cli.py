"""The command line: what it prints, what it leaves behind, and the exit codes scripts rely on."""

import errno
import json
import os
import pty
import shlex
import signal
import string
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from thorough import first

import sparseopt
from sparseopt import Certificate, Feature, Limit, Option, Status, generators, registry
from sparseopt.backend import Backend
from sparseopt.cli import main
from sparseopt.errors import BackendUnavailable
from sparseopt.io.results import load_result
from sparseopt.problems import STRS, BudgetTables, DantzigSelector, LADLasso, STRSPath

ROOT = Path(sparseopt.__file__).parents[1]
LEAST_KEYS = {
    "status",
    "limit",
    "objective",
    "bound",
    "gap",
    "verdict",
    "backend",
    "build_time",
    "solve_time",
    "instance",
}


def run(*args: object) -> Result:
    return CliRunner().invoke(main, [str(arg) for arg in args])


def refused(done: Result, code: int = 2) -> str:
    """Assert that a command ended with one line on stderr, and return the line."""
    assert done.exit_code == code, done.output
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert "Traceback" not in line
    return line


def small_problem() -> DantzigSelector:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 5))
    return DantzigSelector(X=X, y=X @ np.array([3.0, -2.0, 0.0, 0.0, 1.0]) + rng.normal(size=12))


@pytest.fixture(scope="module")
def instance(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("instances") / "small.npz"
    reference = {"lam": 0.0, "primal": 7.5, "dual": 7.25, "status": "optimal"}
    sparseopt.save(small_problem(), path, name="small", license="CC0-1.0", reference=[reference])
    return path


# ---- backends that behave as real ones sometimes do


class Scripted(Backend):
    """Answers the value lam of a problem with identity design, in a way that `act` chooses."""

    name = "scripted"
    families = frozenset({"parametric"})
    features = frozenset({Feature.SINGLE, Feature.PATH})
    options = {  # noqa: RUF012 - the contract's type
        "act": Option(str, "solve", "What to do."),
    }

    def _solve(self, problem, params, options, control):
        act = options["act"]
        if act == "crash":
            raise RuntimeError("the\nroof \x1b[31mfell")
        if act == "licence":
            raise BackendUnavailable("scripted has no licence: put one at ~/licence")
        if act == "chatty":
            print("Restricted licence - for non-production use only")
            os.write(1, b"log of the C library\n")
        if act == "nothing":
            return sparseopt.Result(status=Status.NO_SOLUTION, limit=Limit.TIME)
        if act == "infeasible":
            return sparseopt.Result(status=Status.INFEASIBLE)
        x = np.linalg.lstsq(problem.X, problem.y)[0]
        objective = float(np.abs(x).sum())
        if act == "interrupt":
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
            return sparseopt.Result(
                status=Status.FEASIBLE, limit=control.limit(), x=x, objective=objective
            )
        if act == "interrupt-early":
            return sparseopt.Result(status=Status.NO_SOLUTION, limit=Limit.INTERRUPTED)
        if act == "wait":
            print("ready", file=sys.stderr, flush=True)
            while control.limit() is None:
                control.progress("waiting", fraction=0.5)
                time.sleep(0.01)
            return sparseopt.Result(
                status=Status.FEASIBLE, limit=control.limit(), x=x, objective=objective
            )
        if act == "lie":
            objective *= 2.0
        if act == "claim":
            return sparseopt.Result(
                status=Status.OPTIMAL, x=x, objective=objective, bound=objective
            )
        return sparseopt.Result(status=Status.CONVERGED, x=x, objective=objective)


@pytest.fixture
def scripted(monkeypatch):
    own = {**registry._OWN, "scripted": ("parametric", f"{__name__}:Scripted")}
    monkeypatch.setattr(registry, "_OWN", own)
    return ("--backend", "scripted", "--set")


def test_b_bar_names_the_second_right_hand_side_for_every_command(tmp_path):
    path, out = tmp_path / "a.mps", tmp_path / "r.json"
    rows = "NAME\nOBJSENSE MAX\nROWS\n N cost\n L r\nCOLUMNS\n x cost 1 r 1\n"
    path.write_text(rows + "RHS\n B r 1\n SLOPE r 1\nENDATA\n")
    assert "--b-bar SLOPE" in refused(run("info", path))
    told = ("--b-bar", "SLOPE")
    assert run("info", path, *told).exit_code == 0
    done = run("solve", path, *told, "--lam", "2", "-o", out, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["objective"] == pytest.approx(3.0)
    assert run("check", path, out, *told).exit_code == 0
    assert run("convert", path, tmp_path / "a.npz", *told).exit_code == 0
    assert sparseopt.load(tmp_path / "a.npz").b_bar.tolist() == [1.0]
    assert "not for a result" in refused(run("info", out, *told))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("check", "INSTANCE", "r.json", "--seconds", "600"), "--seconds is for --exact"),
        (("solve", "INSTANCE", "--plot-x", "log"), "--plot-x is for --plot FILE"),
        (("generate", "mean-shift", "--json", "-o", "a.npz"), "--json is for --list"),
        (("generate", "--list", "-o", "a.npz"), "--output is for writing an instance"),
        (("generate", "--list", "--seed", "0"), "--seed is for writing an instance"),
        (("generate", "nothing", "--list"), "'nothing'"),
    ],
)
def test_options_without_effect_are_refused(instance, arguments, says):
    given = [instance if each == "INSTANCE" else each for each in arguments]
    assert says in refused(run(*given))


def test_one_generator_is_listed():
    (row,) = json.loads(run("generate", "mean-shift", "--list", "--json").stdout)
    assert row["name"] == "mean-shift"


@pytest.mark.parametrize("width", [40, 60])
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("info",), ("instance", "kind", "size", "robust-subspace", "largest_block")),
        (("backends",), ("version", "available", "features", "yes", "certificate", "dual_bound,")),
    ],
)
def test_narrow_terminals_cut_no_words(arguments, words, width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    narrow = run(*arguments).stdout
    monkeypatch.setenv("COLUMNS", "400")
    wide = run(*arguments).stdout
    assert set(words) <= set(narrow.split())
    assert sorted(narrow.split()) == sorted(wide.split())


def test_one_ctrl_c_ends_a_warm_up(monkeypatch):
    turns = []

    def interrupted(problem):
        turns.append(problem.kind)
        return sparseopt.Result(status=Status.NO_SOLUTION, limit=Limit.INTERRUPTED)

    monkeypatch.setattr("sparseopt.warming.solve", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sparseopt.warm_up(["lad-lasso", "dantzig-selector"])
    assert len(turns) == 1
    assert refused(run("warm-up"), 130) == "error: interrupted"
    assert len(turns) == 2


# ---- solve


def test_solve_prints_the_answer_and_a_short_path(instance):
    done = run("solve", instance)
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    facts = dict(line.split(None, 1) for line in done.stdout.split("\n\n")[0].splitlines())
    assert facts["status"].strip() == "optimal"
    assert facts["verdict"].strip() == "verified"
    assert facts["backend"].startswith("homotopy")
    assert "stopped by lam_min" in facts["path"]
    result = sparseopt.solve(small_problem())
    assert float(facts["objective"]) == pytest.approx(result.objective, rel=1e-9)
    head, *rows = done.stdout.split("\n\n")[1].splitlines()
    assert head.split() == ["lam", "objective", "nonzeros"]
    assert 2 <= len(rows) <= 12
    lam, objective, nonzeros = rows[-1].split()
    assert float(lam) == 0.0
    assert float(objective) == pytest.approx(result.objective, rel=1e-6)
    assert int(nonzeros) == np.count_nonzero(result.x)


def test_solve_at_one_lam_prints_the_largest_coefficients(instance):
    done = run("solve", instance, "--lam", "1.5")
    assert done.exit_code == 0, done.output
    x = sparseopt.solve(small_problem(), lam=1.5).x
    head, *rows = done.stdout.split("\n\n")[1].splitlines()
    assert head.split() == ["coefficient", "value"]
    shown = [(row.split()[0], float(row.split()[1])) for row in rows]
    expected = sorted(((f"x{j}", v) for j, v in enumerate(x) if v), key=lambda item: -abs(item[1]))
    assert [name for name, _ in shown] == [name for name, _ in expected]
    assert [v for _, v in shown] == pytest.approx([v for _, v in expected], rel=1e-7)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("question", [[], ["--lam", "1.5"], ["--lam", "2,1"], ["--max-knots", "2"]])
def test_solve_json_is_one_object_with_exact_numbers(instance, question):
    done = run("solve", instance, "--json", *question)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert done.stderr == ""
    assert set(found) >= LEAST_KEYS
    assert found["verdict"] == "verified"
    assert found["instance"] == small_problem().fingerprint()
    asked = {
        "--lam": lambda text: {"lam": [float(v) for v in text.split(",")]},
        "--max-knots": lambda text: {"max_knots": int(text)},
    }
    params = asked[question[0]](question[1]) if question else {}
    if len(params.get("lam", ())) == 1:
        params["lam"] = params["lam"][0]
    assert found["objective"] == sparseopt.solve(small_problem(), **params).objective


def test_lam_may_be_repeated_or_listed(instance):
    listed = json.loads(run("solve", instance, "--json", "--lam", "3,2,1").stdout)
    repeated = json.loads(
        run("solve", instance, "--json", "--lam", "3", "--lam", "2", "--lam", "1").stdout
    )
    assert listed["knots"] == repeated["knots"] == 3
    assert listed["objective"] == repeated["objective"]
    assert listed["lam"] == 1.0


def test_solve_saves_a_result_that_check_and_info_read(instance, tmp_path):
    out = tmp_path / "result.json"
    done = run("solve", instance, "-o", out)
    assert done.exit_code == 0, done.output
    checked = run("check", instance, out)
    assert checked.exit_code == 0, checked.output
    assert "verified" in checked.stdout
    found = json.loads(run("check", instance, out, "--json").stdout)
    assert found["verdict"] == "verified"
    assert found["residuals"]
    facts = json.loads(run("info", out, "--json").stdout)
    assert facts["instance"] == small_problem().fingerprint()
    assert facts["status"] == "optimal"
    told = run("info", out)
    assert told.exit_code == 0
    assert "homotopy" in told.stdout


@pytest.mark.thorough
def test_solve_draws_the_path(instance, tmp_path):
    pytest.importorskip("matplotlib")
    for x in ("auto", "lam", "log", "l1norm"):
        picture = tmp_path / f"{x}.png"
        assert run("solve", instance, "--plot", picture, "--plot-x", x).exit_code == 0
        assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.thorough
@pytest.mark.parametrize("ending", first(1, ["svg", "png", "pdf"]))
def test_a_picture_is_written_whole_or_not_at_all(instance, tmp_path, monkeypatch, ending):
    figure = pytest.importorskip("matplotlib.figure").Figure
    picture = tmp_path / f"p.{ending}"
    assert run("solve", instance, "--plot", picture).exit_code == 0
    before = picture.read_bytes()

    def torn(self, file, **kwargs):
        Path(file).write_bytes(b"half a picture")
        raise KeyboardInterrupt

    monkeypatch.setattr(figure, "savefig", torn)
    assert run("solve", instance, "--plot", picture).exit_code == 130
    assert picture.read_bytes() == before
    assert list(tmp_path.iterdir()) == [picture]


def test_a_path_over_the_nonzeros_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    sparseopt.save(STRSPath(A=np.diag([3.0, 2.0, 1.0]) + 0.5), tmp_path / "sizes.npz")
    picture = tmp_path / "p.png"
    asked = ("solve", tmp_path / "sizes.npz", "--plot", picture)
    assert "against the size" in refused(run(*asked, "--plot-x", "log"))
    assert not picture.exists()
    done = run(*asked)
    assert done.exit_code == 0
    rows = [line.split() for line in done.stdout.split("\n\n")[1].splitlines()]
    assert rows[0] == ["size", "objective", "variables"]
    assert [[int(row[0]), *map(int, row[2:])] for row in rows[1:]] == [
        [1, 0],
        [2, 0, 1],
        [3, 0, 1, 2],
    ]
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_sizes_are_asked(tmp_path):
    problem = STRS(A=np.diag([3.0, 2.0, 1.0]) + 0.5, d=1)
    sparseopt.save(problem, tmp_path / "one.npz")
    asked = ("solve", tmp_path / "one.npz", "-o", tmp_path / "r.json")
    one = run(*asked, "--size", "2", "--json")
    assert json.loads(one.stdout)["verdict"] == "verified"
    assert np.count_nonzero(load_result(tmp_path / "r.json").x) == 2
    for sizes in ("1:3", "1,2,3"):
        assert run(*asked, "--sizes", sizes).exit_code == 0
        result = load_result(tmp_path / "r.json")
        assert result.params.size == (1, 2, 3)
        assert result.path.sizes.tolist() == [1, 2, 3]
        assert sparseopt.check(problem, result).verdict == "verified"
    for wrong, words in (
        (("--sizes", "3:1"), "empty"),
        (("--sizes", "x"), "--sizes is 'x'; expected 1:10"),
        (("--sizes", "2,1"), "increasing"),
        (("--size", "4"), "at most the number of variables, 3"),
        (("--size", "2", "--sizes", "1:2"), "for several"),
        (("--size", "2", "--plot", tmp_path / "p.html"), "a page shows a path"),
        (("--plot", tmp_path / "p.png", "--plot-x", "log"), "a single size is no path"),
    ):
        assert words in refused(run(*asked, *wrong))


@pytest.mark.thorough
def test_a_budget_path_is_printed_and_drawn_over_budgets(tmp_path):
    tables = BudgetTables(values=[[3.0, 1.0, 0.5], [2.0, 1.4]])
    sparseopt.save(tables, tmp_path / "tables.npz")
    done = run("solve", tmp_path / "tables.npz")
    assert done.exit_code == 0, done.output
    head, *rows = done.stdout.split("\n\n")[1].splitlines()
    assert head.split() == ["budget", "objective", "nonzeros"]
    numbers = [[float(word) for word in row.split()] for row in rows]
    assert numbers == [[0, 5, 0], [1, 3, 1], [2, 2.4, 2], [3, 1.9, 2]]
    picture = tmp_path / "p.png"
    assert run("solve", tmp_path / "tables.npz", "--plot", picture).exit_code == 0
    assert picture.stat().st_size > 1000


def test_solve_without_check_says_so(instance):
    assert "not checked" in run("solve", instance, "--no-check").stdout
    assert json.loads(run("solve", instance, "--no-check", "--json").stdout)["verdict"] is None


def test_names_of_coefficients_cannot_command_the_terminal(tmp_path):
    program = LADLasso(X=np.eye(2), y=[1.0, -2.0]).canonical()
    named = type(program)(
        program.A, program.phi, program.psi, names=["[red]a[/red] :smile:", "b\x1b[2J\nc"]
    )
    sparseopt.save(named, tmp_path / "named.npz")
    done = run("solve", tmp_path / "named.npz", "--lam", "0.5")
    assert done.exit_code == 0, done.output
    assert "[red]a[/red] :smile:" in done.stdout
    assert "\x1b" not in done.stdout
    assert "b\\x1b[2J c" in done.stdout


@pytest.mark.parametrize(
    ("act", "code", "status"),
    [
        ("solve", 0, "converged"),
        ("claim", 0, "unproven"),
        ("nothing", 1, "no_solution"),
        ("lie", 1, "imprecise"),
    ],
)
def test_exit_codes_follow_the_answer(instance, scripted, act, code, status):
    for flags in ([], ["--json"]):
        done = run("solve", instance, "--lam", "0", *scripted, f"act={act}", *flags)
        assert done.exit_code == code, done.output
        assert status in done.stdout
        assert done.stderr == ""


def test_a_claim_of_infeasibility_that_is_false_is_no_answer(instance, scripted):
    done = run("solve", instance, "--lam", "0", *scripted, "act=infeasible", "--json")
    found = json.loads(done.stdout)
    assert done.exit_code == (1 if found["verdict"] == "refuted" else 0)
    assert found["verdict"] != "verified"


def test_failures_of_a_backend_are_one_line(instance, scripted):
    crash = refused(run("solve", instance, "--lam", "0", *scripted, "act=crash"), code=1)
    assert "scripted failed: RuntimeError: the roof \\x1b[31mfell" in crash
    assert "licence" in refused(run("solve", instance, "--lam", "0", *scripted, "act=licence"))


@pytest.mark.thorough
def test_json_is_alone_on_stdout_even_with_a_chatty_solver(instance, tmp_path):
    done = real_run(instance, "--json", act="chatty")
    assert json.loads(done.stdout)["status"] == "converged"
    assert "Restricted licence" in done.stderr
    assert "log of the C library" in done.stderr
    assert "log of the C library" in real_run(instance, act="chatty").stdout


def test_an_interrupted_solve_prints_and_saves_what_is_known(instance, scripted, tmp_path):
    out = tmp_path / "partial.json"
    done = run("solve", instance, "--lam", "0", *scripted, "act=interrupt", "--json", "-o", out)
    assert done.exit_code == 130, done.output
    found = json.loads(done.stdout)
    assert (found["status"], found["limit"]) == ("feasible", "interrupted")
    assert json.loads(run("info", out, "--json").stdout)["limit"] == "interrupted"


def test_a_solve_interrupted_before_any_answer_leaves_the_older_file(instance, scripted, tmp_path):
    out = tmp_path / "r.json"
    asked = ("solve", instance, "--lam", "0", "-o", out)
    assert run(*asked).exit_code == 0
    before = out.read_bytes()
    done = run(*asked, *scripted, "act=interrupt-early")
    assert done.exit_code == 130, done.output
    assert f"there is no answer to save: {out} was left as it was" in done.stderr
    assert out.read_bytes() == before
    out.unlink()
    assert run(*asked, *scripted, "act=interrupt-early").exit_code == 130
    assert json.loads(out.read_text())["status"] == "no_solution"


def test_an_interrupted_check_does_not_lose_the_answer(instance, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("sparseopt.api.check", stop)
    done = run("solve", instance)
    assert done.exit_code == 130
    assert "not checked" in done.stdout
    assert done.stderr == "error: interrupted\n"


def test_ctrl_c_elsewhere_is_one_line(instance, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("sparseopt.load", stop)
    assert refused(run("solve", instance), code=130) == "error: interrupted"


def test_a_full_disk_does_not_lose_the_answer(instance, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device", "result.json")

    monkeypatch.setattr(sparseopt.Result, "save", fail)
    done = run("solve", instance, "-o", tmp_path / "result.json")
    assert done.exit_code == 2
    assert "optimal" in done.stdout
    assert done.stderr == "error: result.json: No space left on device\n"


def test_what_nobody_expected_is_one_line_and_a_traceback_on_request(instance, monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError("somewhere deep")

    monkeypatch.setattr("sparseopt.load", fail)
    line = refused(run("info", instance), code=1)
    assert "ZeroDivisionError: somewhere deep" in line
    assert "SPARSEOPT_DEBUG=1" in line
    monkeypatch.setenv("SPARSEOPT_DEBUG", "1")
    done = run("info", instance)
    assert done.exit_code == 1
    assert "Traceback" in done.stderr


def test_files_that_cannot_be_written_are_found_before_solving(instance, tmp_path, monkeypatch):
    monkeypatch.setattr("sparseopt.solve", lambda *_, **__: pytest.fail("it was solved"))
    before = instance.read_bytes()
    (tmp_path / "file").touch()
    for name, word in [
        (tmp_path / "no" / "r.json", "there is no folder"),
        (tmp_path, "folder"),
        (tmp_path / "file" / "r.json", "there is no folder"),
        (tmp_path / "r.txt", ".json"),
        (instance, "uses that file already"),
        ("/dev/null", "not a regular file"),
    ]:
        assert word in refused(run("solve", instance, "-o", name))
    for name, word in [
        (tmp_path / "no" / "p.png", "there is no folder"),
        (tmp_path / "p.doc", ".png"),
        (tmp_path / "p", ".png"),
        (instance, "uses that file already"),
    ]:
        assert word in refused(run("solve", instance, "--plot", name))
    same = tmp_path / "same.json"
    assert "already" in refused(run("solve", instance, "-o", same, "--plot", same))
    assert instance.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_closed_folder_is_found_before_solving(instance, tmp_path):
    tmp_path.chmod(0o500)
    try:
        assert "permission denied" in refused(run("solve", instance, "-o", tmp_path / "r.json"))
    finally:
        tmp_path.chmod(0o700)


def test_one_answer_is_drawn_by_its_coefficients(instance, tmp_path):
    pytest.importorskip("matplotlib")
    assert run("solve", instance, "--lam", "1", "--plot", tmp_path / "x.png").exit_code == 0
    assert (tmp_path / "x.png").stat().st_size > 1000


def test_a_subspace_is_drawn_by_its_points(tmp_path):
    pytest.importorskip("matplotlib")
    problem = generators.generate("corrupted-entries", N=20, n=4, k=1)
    sparseopt.save(problem, tmp_path / "x.npz")
    assert run("solve", tmp_path / "x.npz", "--plot", tmp_path / "x.png").exit_code == 0
    assert (tmp_path / "x.png").stat().st_size > 1000


def test_plotting_without_matplotlib_is_refused_before_solving(instance, tmp_path, monkeypatch):
    import importlib.util

    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name == "matplotlib" else real(name)
    )
    line = refused(run("solve", instance, "--plot", tmp_path / "p.png"))
    assert "pip install 'sparseopt[plot]'" in line


# ---- check


def test_check_tells_the_truth_by_its_exit_code(instance, scripted, tmp_path):
    out = tmp_path / "r.json"
    run("solve", instance, "--lam", "0", *scripted, "act=claim", "-o", out)
    assert run("check", instance, out).exit_code == 3
    run("solve", instance, "--lam", "0", *scripted, "act=lie", "--no-check", "-o", out)
    done = run("check", instance, out)
    assert done.exit_code == 1
    assert "refuted" in done.stdout


def test_check_refuses_another_instances_result(instance, tmp_path):
    out, other = tmp_path / "r.json", tmp_path / "other.npz"
    run("solve", instance, "-o", out)
    sparseopt.save(DantzigSelector(X=np.eye(5), y=np.ones(5)), other)
    assert "not a result for" in refused(run("check", other, out))
    (tmp_path / "broken.json").write_text(out.read_text()[:100])
    refused(run("check", instance, tmp_path / "broken.json"))
    refused(run("check", instance, instance))


@pytest.mark.parametrize("arithmetic", [[], ["--exact"]])
def test_check_with_a_gap_of_its_own(tmp_path, arithmetic):
    problem = DantzigSelector(X=np.eye(2), y=[3.0, 1.0])
    instance, out = tmp_path / "p.npz", tmp_path / "r.json"
    sparseopt.save(problem, instance)
    result = sparseopt.solve(problem, lam=1.0, rel_gap=0.5)
    result.save(out)
    assert run("check", instance, out, "--rel-gap", "1e-7", *arithmetic).exit_code == 0
    certificate = Certificate("dual", {"nu": np.array([-0.75, 0.0])})
    worse = result.with_changes(bound=0.75 * result.objective, certificate=certificate, duals={})
    worse.save(out)
    assert run("check", instance, out, *arithmetic).exit_code == 0
    done = run("check", instance, out, "--rel-gap", "1e-6", *arithmetic)
    assert done.exit_code == 3
    assert "1e-06" in done.stdout


def test_check_in_rational_arithmetic(tmp_path):
    problem = sparseopt.problems.ParametricLP([[3.0, 1.0]], [1.0], [0.1], [1.0, 2.0], [0.0, -0.3])
    instance, out = tmp_path / "p.npz", tmp_path / "r.json"
    sparseopt.save(problem, instance)
    result = sparseopt.solve(problem, lam=0.7)
    result.save(out)
    done = run("check", instance, out, "--exact")
    assert done.exit_code == 0
    assert "proven" in done.stdout
    result.with_changes(objective=result.objective + 1.0).save(out)
    done = run("check", instance, out, "--exact", "--json")
    assert done.exit_code == 1
    assert json.loads(done.stdout)["verdict"] == "refuted"
    result.save(out)
    assert "convert" in refused(run("check", tmp_path / "p.mps", out, "--exact"))
    assert "cannot be compared" in refused(run("check", instance, instance, "--exact"))


# ---- info, backends, generate, convert, version


def test_info_of_an_instance(instance):
    found = json.loads(run("info", instance, "--json").stdout)
    assert found["kind"] == "dantzig-selector"
    assert found["name"] == "small"
    assert found["size"] == {"n": 12, "d": 5}
    assert found["fingerprint"] == small_problem().fingerprint()
    text = run("info", instance).stdout
    assert "CC0-1.0" in text
    assert text.splitlines()[-1].split() == ["0.0", "7.5", "7.25", "optimal"]
    assert small_problem().fingerprint() in text


def test_shipped_instances_are_listed_and_taken_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = {row["name"]: row for row in json.loads(run("info", "--json").stdout)}
    assert rows["pitprops"] == {
        "name": "pitprops",
        "kind": "strs-path",
        "size": {"D": 13, "d_max": 13},
    }
    # A narrow terminal wraps sizes, behind blanks.
    lines = [line for line in run("info").stdout.splitlines() if line[:1].strip()]
    assert [line.split()[0] for line in lines] == ["instance", *rows]
    found = json.loads(run("info", "pitprops", "--json").stdout)
    assert found["kind"] == "strs-path" and "Jeffers" in found["citation"]
    solved = json.loads(run("solve", "pitprops", "--size", "3", "--json").stdout)
    assert solved["verdict"] == "verified"
    dotted = json.loads(run("info", "dantzig-4.1", "--json").stdout)
    assert dotted["name"] == "dantzig-4.1"
    line = refused(run("solve", "pitprop"))
    assert "neither a file nor the name of a shipped instance" in line
    # A file of that name comes first.
    (tmp_path / "pitprops").write_text("x")
    assert "the ending chooses the format" in refused(run("info", "pitprops"))
    assert "no file is given" in refused(run("info", "--b-bar", "SET"))


def test_backends(instance):
    rows = json.loads(run("backends", "--json").stdout)
    assert {row["name"] for row in rows} >= {"homotopy", "highs"}
    assert all(row["supports"] is None for row in rows)
    rows = {row["name"]: row for row in json.loads(run("backends", instance, "--json").stdout)}
    assert rows["homotopy"]["supports"] is True
    assert rows["brute-force"]["supports"] is False
    lines = [line.split() for line in run("backends", instance).stdout.splitlines() if line]
    for name, row in rows.items():
        # The table comes first; reasons follow below it, under the same names.
        words = next(words for words in lines if words[0] == name)
        assert words[2:4] == [
            "yes" if row["available"] else "no",
            "yes" if row["supports"] else "no",
        ]


def test_backends_tell_their_licences_when_asked():
    rows = json.loads(run("backends", "--json").stdout)
    assert all(row["license"] is None for row in rows)
    rows = json.loads(run("backends", "--licenses", "--json").stdout)
    licences = {row["name"]: row["license"] for row in rows if row["available"]}
    assert licences["highs"] == "open source, no licence needed"
    assert all(licences.values())


def test_generate_is_reproducible(tmp_path):
    args = ("generate", "dantzig-4.3", "--seed", "3", "--set", "n=10", "--set", "d=20", "-o")
    for name in ("a.npz", "b.npz"):
        assert run(*args, tmp_path / name).exit_code == 0
    one, two = (sparseopt.load(tmp_path / name) for name in ("a.npz", "b.npz"))
    assert one.fingerprint() == two.fingerprint()
    assert one.size == {"n": 10, "d": 20}
    facts = json.loads(run("info", tmp_path / "a.npz", "--json").stdout)
    assert facts["generator"]["seed"] == 3
    assert facts["generator"]["settings"]["d"] == 20


def test_an_unknown_generator_is_named_before_a_file_is_asked_for():
    assert "no generator is called 'nope'" in refused(run("generate", "nope"))
    assert "-o FILE.npz" in refused(run("generate", "dantzig-4.3"))


def test_generate_lists_what_there_is():
    from sparseopt import generators

    text = run("generate", "--list").stdout
    assert all(name in text for name in generators.names())
    rows = json.loads(run("generate", "--list", "--json").stdout)
    assert [row["name"] for row in rows] == generators.names()


def test_convert_keeps_the_problem_and_the_facts(instance, tmp_path):
    done = run("convert", instance, tmp_path / "copy.npz")
    assert done.exit_code == 0, done.output
    assert sparseopt.load(tmp_path / "copy.npz").fingerprint() == small_problem().fingerprint()
    assert json.loads(run("info", tmp_path / "copy.npz", "--json").stdout)["license"] == "CC0-1.0"
    run("generate", "parametric-lp", "-o", tmp_path / "lp.npz")
    assert run("convert", tmp_path / "lp.npz", tmp_path / "lp.mps").exit_code == 0
    lines = [run("solve", tmp_path / name, "--json").stdout for name in ("lp.npz", "lp.mps")]
    one, two = (json.loads(line) for line in lines)
    assert one["objective"] == pytest.approx(two["objective"], rel=1e-12)
    assert one["knots"] == two["knots"]


def test_limits_and_gaps_reach_the_backend(tmp_path):
    pytest.importorskip("clarabel", reason="Clarabel is not installed: sparseopt[misdp]")
    path = tmp_path / "misdp.npz"
    assert run("generate", "truss-topology", "-o", str(path)).exit_code == 0
    few = json.loads(run("solve", str(path), "--json", "--node-limit", "1").stdout)
    assert (few["status"], few["limit"]) == ("feasible", "node")
    wide = json.loads(run("solve", str(path), "--json", "--abs-gap", "1e3").stdout)
    assert (wide["status"], wide["limit"]) == ("optimal", None)
    assert wide["gap"] > 1e-3


def test_version_and_help():
    assert run("--version").stdout == f"sparseopt {sparseopt.__version__}\n"
    assert run("--help").exit_code == 0
    for command in ("solve", "check", "info", "backends", "generate", "convert"):
        assert command in run("--help").stdout
        assert run(command, "--help").exit_code == 0
    for group in ((), ("bench",), ("private",)):
        bare = run(*group)
        assert bare.exit_code == 2 and bare.stdout == ""
        assert bare.stderr.startswith("Usage:") and bare.stderr.count("\n") > 5


# ---- bad input

_WORDS = st.text(st.sampled_from(string.ascii_letters + string.digits + "._ é[λ"), max_size=8)
_NOT_NUMBERS = st.one_of(_WORDS.filter(lambda t: not _is_number(t)), st.just("1e"))
_OPTIONS_OF_NUMBERS = st.sampled_from(["--lam-min", "--time-limit", "--rel-gap", "--abs-gap"])
_OPTIONS_OF_COUNTS = st.sampled_from(
    ["--max-knots", "--max-nonzeros", "--node-limit", "--iteration-limit", "--threads", "--seed"]
)
_NO_NUMBERS = st.sampled_from(["nan", "inf", "-inf", "-1", "-1e-300"])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


_BAD = st.one_of(
    st.tuples(st.just("--lam"), st.one_of(_NOT_NUMBERS, _NO_NUMBERS, st.just("1,,2"))),
    st.tuples(_OPTIONS_OF_NUMBERS, st.one_of(_NOT_NUMBERS, _NO_NUMBERS)),
    st.tuples(_OPTIONS_OF_COUNTS, st.one_of(_NOT_NUMBERS, st.sampled_from(["-1", "1.5", "nan"]))),
    st.tuples(st.just("--backend"), _WORDS.filter(lambda t: t not in ("auto", "homotopy"))),
    st.tuples(st.just("--set"), _WORDS),
    st.tuples(st.just("--set"), _WORDS.map("no_such_{}=1".format)),
    st.tuples(_WORDS.map("--no-such-{}".format)),
    st.tuples(st.just("--budget"), st.just("3")),
    st.tuples(st.just("--lam"), st.just("1"), st.just("--lam-min"), st.just("1")),
    st.tuples(st.just("--plot-x"), _WORDS),
    st.tuples(_WORDS),
)


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(bad=_BAD)
def test_bad_options_end_in_one_sentence_and_nothing_written(instance, tmp_path, bad):
    out = tmp_path / "r.json"
    refused(run("solve", instance, "-o", out, "--plot", tmp_path / "p.png", *bad))
    assert list(tmp_path.iterdir()) == []


@settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_bad_files_end_in_one_sentence_and_nothing_written(instance, tmp_path, data):
    good = instance.read_bytes()
    content = data.draw(
        st.one_of(
            st.binary(max_size=200),
            st.integers(0, len(good) - 1).map(lambda n: good[:n]),
        )
    )
    ending = data.draw(st.sampled_from([".npz", ".mps", ".mps.gz", ".json", ".txt", ""]))
    bad = tmp_path / f"bad{ending}"
    bad.write_bytes(content)
    try:
        for command in (
            ("solve", bad, "-o", tmp_path / "r.json"),
            ("info", bad),
            ("backends", bad),
            ("check", bad, tmp_path / "r.json"),
            ("check", instance, bad),
            ("convert", bad, tmp_path / "out.npz"),
        ):
            refused(run(*command))
        assert list(tmp_path.iterdir()) == [bad]
    finally:
        bad.unlink()


@pytest.mark.parametrize(
    "args",
    [
        ("solve",),
        ("solve", "a.npz", "b.npz"),
        ("solve", "missing.npz"),
        ("solve", ""),
        ("solve", "."),
        ("sovle",),
        ("--frobnicate",),
        ("check", "missing.npz"),
        ("check", "missing.npz", "missing.json"),
        ("info", "missing.json"),
        ("backends", "missing.npz"),
        ("convert", "missing.npz", "out.npz"),
        ("generate",),
        ("generate", "dantzig-4.1"),
        ("generate", "no-such", "-o", "out.npz"),
        ("generate", "dantzig-4.1", "-o", "out.doc"),
        ("generate", "dantzig-4.1", "-o", "no/out.npz"),
        ("generate", "dantzig-4.1", "-o", "out.npz", "--seed", "-1"),
        ("generate", "dantzig-4.1", "-o", "out.npz", "--set", "n"),
        ("generate", "dantzig-4.1", "-o", "out.npz", "--set", "n=1", "--set", "n=2"),
        ("generate", "dantzig-4.1", "-o", "out.npz", "--set", "n=lots"),
        ("generate", "dantzig-4.1", "-o", "out.npz", "--set", "n=0"),
        ("generate", "dantzig-4.1", "-o", "out.npz", "--set", "seed=1"),
        ("generate", "dantzig-4.1", "-o", "out.npz", "--set", "name=x"),
    ],
)
def test_other_bad_commands(tmp_path, monkeypatch, args):
    monkeypatch.chdir(tmp_path)
    refused(run(*args))
    assert list(tmp_path.iterdir()) == []


def test_convert_onto_itself_changes_nothing(instance, tmp_path):
    copy = tmp_path / "copy.npz"
    copy.write_bytes(instance.read_bytes())
    refused(run("convert", copy, copy))
    (tmp_path / "link.npz").symlink_to(copy)
    refused(run("convert", copy, tmp_path / "link.npz"))
    assert copy.read_bytes() == instance.read_bytes()


# ---- real processes


def command(*args: object) -> list[str]:
    return [sys.executable, "-m", "sparseopt", *map(str, args)]


def scripted_command(instance: Path, *args: object, act: str) -> list[str]:
    """The command line in a process that knows the scripted backend."""
    here = Path(__file__).parent
    folders = [str(here), str(here.parent / "helpers" / "runs")]
    code = (
        f"import sys; sys.path[:0] = {folders!r}\n"
        "from sparseopt import registry\n"
        f"registry._OWN = {{'scripted': ('parametric', '{Path(__file__).stem}:Scripted')}}\n"
        "from sparseopt.cli import main\n"
        "main(sys.argv[1:])\n"
    )
    rest = [instance, "--lam", "0", "--set", f"act={act}", *args]
    return [sys.executable, "-c", code, "solve", *map(str, rest)]


def real_run(instance: Path, *args: object, act: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        scripted_command(instance, *args, act=act),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.thorough
def test_real_exit_codes(instance):
    for args, code in [(("solve", instance), 0), (("frob",), 2)]:
        done = subprocess.run(command(*args), cwd=ROOT, capture_output=True, text=True, timeout=120)
        assert done.returncode == code, done.stderr
        assert bool(done.stderr) == bool(code)


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
@pytest.mark.parametrize(
    "args",
    [("--version",), ("--help",), ("backends",), ("backends", "--json"), ("solve", "--json")],
)
def test_a_full_disk_behind_stdout_is_one_line(instance, args):
    given = (*args, instance) if "solve" in args else args
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command(*given), cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120
        )
    assert done.returncode == 2
    assert done.stderr == "error: the output cannot be written: No space left on device\n"


@pytest.mark.thorough
@pytest.mark.skipif(os.name != "posix", reason="a shell of POSIX closes the streams")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_lose_no_answer(instance, tmp_path, closed):
    file = tmp_path / "q.json"
    line = shlex.join(command("solve", instance, "-o", str(file)))
    done = subprocess.run(f"{line} {closed}", shell=True, cwd=ROOT, timeout=120, check=False)
    assert done.returncode == 0
    assert load_result(file).status is Status.OPTIMAL


@pytest.mark.thorough
def test_ctrl_c_on_a_long_solve(instance):
    process = subprocess.Popen(
        scripted_command(instance, "--json", "--time-limit", "60", act="wait"),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert json.loads(stdout)["limit"] == "interrupted"
    assert stderr == ""


@pytest.mark.thorough
def test_no_progress_where_stderr_is_no_terminal(instance):
    done = real_run(instance, "--time-limit", "1.6", act="wait")
    assert done.returncode == 0, done.stderr
    assert done.stderr == "ready\n"


def on_a_terminal(instance: Path, *args: object, **environment: str) -> str:
    """What a solve of 1.6 seconds writes to a pseudo-terminal that is its stderr."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        scripted_command(instance, "--time-limit", "1.6", *args, act="wait"),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm-256color", **environment},
    )
    os.close(theirs)
    seen = b""
    # Linux ends a pseudo-terminal with EIO, others with an empty read.
    try:
        while chunk := os.read(ours, 4096):
            seen += chunk
    except OSError as error:
        assert error.errno == errno.EIO
    os.close(ours)
    process.communicate(timeout=60)
    assert process.returncode == 0
    return seen.decode()


@pytest.mark.thorough
def test_progress_on_a_terminal(instance):
    shown = on_a_terminal(instance)
    assert "solving: waiting (50%)" in shown
    assert "\x1b[32m" in shown
    assert "\x1b[32m" not in on_a_terminal(instance, NO_COLOR="1")


@pytest.mark.thorough
def test_no_progress_with_json_even_on_a_terminal(instance):
    assert on_a_terminal(instance, "--json").splitlines() == ["ready"]


@pytest.mark.thorough
def test_a_reader_that_leaves_is_no_error(instance):
    process = subprocess.Popen(
        command("info", instance, "--json"),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=60) == 141


@pytest.mark.thorough
def test_the_version_is_told_without_heavy_imports():
    code = (
        "import sys; from sparseopt.cli import main\n"
        "main(['--version'], standalone_mode=False)\n"
        "heavy = {'numba', 'highspy', 'matplotlib', 'pandas', 'rich', 'cvxpy'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.thorough
def test_a_path_needs_no_package_that_its_data_do_not_call_for():
    instance = Path(__file__).parents[2] / "instances" / "diabetes-dantzig.npz"
    code = (
        "import sys; from sparseopt.cli import main\n"
        f"code = main(['solve', {str(instance)!r}, '--json'], standalone_mode=False)\n"
        "assert not code, code\n"
        "heavy = {'scipy.sparse', 'scipy.linalg', 'highspy', 'matplotlib', 'pandas', 'rich'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=os.environ | {"SPARSEOPT_COMPILE": "never"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verdict"] == "verified"


@pytest.mark.thorough
def test_numpy_s_tools_are_left_out_until_they_are_asked_for():
    code = (
        "import sys; sys.orig_argv = ['python', '-m', 'sparseopt']\n"
        "import sparseopt, scipy.sparse, numpy\n"
        "tools = {'numpy.f2py.crackfortran', 'unittest'} & set(sys.modules)\n"
        "assert not tools, tools\n"
        "numpy.testing.assert_array_equal([1.0], [1.0])\n"
        "assert 'unittest' in sys.modules and callable(numpy.f2py.get_include)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.thorough(after=1)
@pytest.mark.skipif(os.name == "nt", reason="a process cannot press Ctrl-C for itself there")
@pytest.mark.parametrize(
    ("way", "module"),
    first(2, [("script", "numpy"), ("module", "click"), ("script", "click"), ("module", "numpy")]),
)
def test_ctrl_c_while_importing_is_one_line(module, way, tmp_path):
    press = "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(5)\n"
    (tmp_path / f"{module}.py").write_text(press)
    (tmp_path / "sparseopt").write_text("from sparseopt.cli import main\nmain()\n")
    how = [str(tmp_path / "sparseopt")] if way == "script" else ["-m", "sparseopt"]
    paths = [str(tmp_path), *(path for path in sys.path if path)]
    done = subprocess.run(
        [sys.executable, *how, "--version"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        cwd=tmp_path / "..",
        capture_output=True,
        text=True,
        # What runs these tests may ignore Ctrl-C, as shells make it in the background.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    assert (done.returncode, done.stderr) == (130, "error: interrupted\n")
