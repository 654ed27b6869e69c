"""Backends of third parties, found by the entry-point group through real package metadata."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sparseopt
from sparseopt import BackendError, BackendNotFound, UnsupportedProblem, Verdict
from sparseopt.families import families
from sparseopt.problems import (
    STRS,
    Candidates,
    DantzigSelector,
    L0GraphicalModel,
    MISDPBuilder,
    Problem,
)
from sparseopt.registry import backend_names, get_backend

PROBLEM = STRS(A=np.diag([1.0, 3.0]), d=1)

BACKEND = """
import numpy as np
from sparseopt import Backend, Feature, Result, Status

class Diagonal(Backend):
    name = "{name}"
    summary = "takes the largest diagonal entry"
    families = frozenset({{"strs"}})
    features = frozenset({{Feature.HEURISTIC}})
    {extra}

    def _solve(self, problem, params, options, control):
        x = np.zeros(len(problem.A))
        x[np.argmax(np.diag(problem.A))] = 1.0
        return Result(status=Status.CONVERGED, x=x, objective=problem.objective(x))
"""


class Site:
    """A folder on sys.path into which distributions are put as an installer would."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def install(self, name: str, source: str, value: str | None = None) -> None:
        module = f"thirdparty_{name.replace('-', '_')}"
        (self.folder / f"{module}.py").write_text(source)
        info = self.folder / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(
            f"[sparseopt.backends]\n{name} = {value or f'{module}:Diagonal'}\n"
        )


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    yield Site(tmp_path)
    for module in [m for m in sys.modules if m.startswith("thirdparty_")]:
        del sys.modules[module]


def _row(name: str, problem: Problem | None = None) -> sparseopt.BackendInfo:
    return {row.name: row for row in sparseopt.backends(problem)}[name]


def test_an_installed_backend_is_found_and_solves(site):
    site.install("diagonal", BACKEND.format(name="diagonal", extra=""))
    assert "diagonal" in backend_names()
    row = _row("diagonal", PROBLEM)
    assert (row.available, row.supports) == (True, True)
    assert row.summary == "takes the largest diagonal entry"
    result = sparseopt.solve(PROBLEM, backend="diagonal")
    assert (result.objective, result.backend) == (3.0, "diagonal")
    assert result.verdict is Verdict.UNPROVEN


BROKEN = {
    "raises": ("raise RuntimeError('no licence server')", None, "no licence server"),
    "imports": ("import sparseopt_no_such_package", None, "sparseopt_no_such_package"),
    "misses": ("", None, "Diagonal"),
    "is-no-backend": ("class Diagonal:\n    pass\n", None, "is not a sparseopt Backend"),
    "is-abstract": (
        "from sparseopt import Backend\nclass Diagonal(Backend):\n    name = 'x'\n",
        None,
        "abstract",
    ),
    "is-old": (
        BACKEND.format(name="is-old", extra="api_version = 0"),
        None,
        "written for API version 0",
    ),
    "points-nowhere": ("", "thirdparty_nowhere.x:Y", "thirdparty_nowhere"),
    "points-to-a-module": ("", "thirdparty_points_to_a_module", "cannot be loaded"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_backend_says_why_and_harms_nobody(site, name):
    source, value, words = BROKEN[name]
    site.install(name, source, value)
    row = _row(name)
    assert not row.available
    assert words in row.reason
    with pytest.raises(BackendError, match="backend"):
        get_backend(name)
    assert sparseopt.solve(PROBLEM).objective == 3.0
    assert _row("brute-force").available


def test_auto_tells_what_it_chose_and_why():
    result = sparseopt.solve(PROBLEM)
    assert result.backend == "strs-bnb"
    assert "strs-bnb" in result.notes[0]


def one_of_each_family():
    random = np.random.default_rng(0)
    X = random.normal(size=(20, 4))
    model = MISDPBuilder("max")
    t = model.variable(upper=1.0)
    model.semidefinite((t, -np.eye(2)), constant=np.eye(2))
    model.objective((t, 1.0))
    return {
        "homotopy": DantzigSelector(X=X, y=X[:, 0]),
        "l0-tables": L0GraphicalModel(X, Candidates.window(4, 2)),
        "strs-bnb": PROBLEM,
        "misdp-bnb": model.build(),
    }


@pytest.mark.parametrize("expected", ["homotopy", "l0-tables", "strs-bnb", "misdp-bnb"])
def test_auto_says_what_it_chose_for_every_family(expected):
    result = sparseopt.solve(one_of_each_family()[expected], time_limit=20.0)
    assert result.backend == expected
    assert result.notes[0].startswith(f"backend auto chose {expected}: own ")


def test_auto_goes_on_where_a_package_is_missing_and_says_so(monkeypatch):
    monkeypatch.setattr(
        "sparseopt.api.backend_names", lambda family=None: ("gurobi", "cvxpy", "brute-force")
    )
    found = importlib.util.find_spec
    missing = {"gurobipy"}
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name, *_: None if name in missing else found(name)
    )
    result = sparseopt.solve(PROBLEM)
    assert result.backend == "brute-force"
    assert "passed over: gurobi: gurobipy is not installed" in result.notes[0]
    assert "sparseopt[gurobi]" in result.notes[0]
    monkeypatch.setattr("sparseopt.api.backend_names", lambda family=None: ("gurobi",))
    with pytest.raises(UnsupportedProblem, match="gurobipy is not installed: pip install"):
        sparseopt.solve(PROBLEM)


@pytest.mark.thorough
def test_backends_of_a_family_are_known_without_importing_them():
    for family in (*families(), "unheard-of"):
        known = [name for name in backend_names() if family in get_backend(name).families]
        assert list(backend_names(family)) == known
    code = """import sys, sparseopt
sparseopt.solve(sparseopt.problems.STRS([[3.0, 0.0], [0.0, 1.0]], [0.0, 0.0], 1))
print(*(name for name in sys.modules if name.startswith("sparseopt.solvers.")))"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    rooms = {name.split(".")[2] for name in done.stdout.split()}
    assert rooms == {"strs", "common"}


def test_nobody_takes_a_name_of_ours(site):
    site.install("brute-force", BACKEND.format(name="brute-force", extra=""))
    assert backend_names().count("brute-force") == 1
    assert (
        type(get_backend("brute-force")).__module__ == "sparseopt.solvers.strs.engines.brute_force"
    )


def test_unknown_names_are_told_the_known_ones():
    with pytest.raises(BackendNotFound, match="'simplex'; there are: homotopy, "):
        sparseopt.solve(PROBLEM, backend="simplex")


def test_auto_goes_on_where_the_arithmetic_of_a_backend_fails(monkeypatch):
    run = pytest.importorskip("sparseopt.solvers.homotopy.runs.solve")

    def singular(*arguments, **options):
        raise np.linalg.LinAlgError("Matrix is singular")

    monkeypatch.setattr(run, "follow", singular)
    problem = sparseopt.problems.DantzigSelector(np.eye(3), [3.0, 2.0, 1.0])
    alone = sparseopt.solve(problem, lam=0.5, backend="homotopy")
    assert alone.limit == "slow_progress"
    result = sparseopt.solve(problem, lam=0.5, time_limit=60.0)
    assert result.backend == "highs"
    assert result.verdict is Verdict.VERIFIED
    assert result.params.time_limit == 60.0
    assert any("homotopy could not go on" in note for note in result.notes)


def test_auto_says_why_each_backend_does_not_fit():
    class Alien(STRS):
        family = "alien"

    with pytest.raises(UnsupportedProblem) as caught:
        sparseopt.solve(Alien(A=np.eye(2), d=1))
    for name in backend_names():
        assert name in str(caught.value)


SOLVERS = {
    *("highspy", "numba", "pyscipopt", "gurobipy", "mosek", "xpress", "coptpy"),
    *("cvxpy", "clarabel", "scs", "ecos", "osqp", "pyprimal", "abess", "sklearn"),
    *("statsmodels", "pandas", "networkx", "matplotlib"),
}


@pytest.mark.thorough
def test_listing_all_backends_imports_no_solver():
    code = f"""
import sys
import sparseopt
from sparseopt.cli import main

def imported(how):
    found = {{m.partition('.')[0] for m in sys.modules}} & {SOLVERS!r}
    assert not found, (how, found)

assert sparseopt.backends()
imported("api")
for arguments in (["backends"], ["backends", "--json"]):
    try:
        main(arguments)
    except SystemExit as end:
        assert not end.code, end.code
    imported(arguments)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
