"""The plan of the house: layers outside, families inside, arrows one way.

The graph has all files, and all imports in them: at the top, in functions, and for type checkers.
"""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

import sparseopt

PACKAGE = Path(sparseopt.__file__).parent

LAYERS = (
    ("errors", "exact", "locks", "startup"),
    ("blas", "installed", "names", "sketch", "workers"),
    ("compiling",),
    ("cards", "families", "params", "verbs"),
    ("problems",),
    ("proofs",),
    ("paths",),
    ("result",),
    ("backend", "checking", "io"),
    ("registry", "generators", "solvers"),
    ("api",),
    (
        "datasets",
        "path_store",
        "selection",
        "two_sample",
        "modelling",
        "private",
        "testing",
        "warming",
    ),
    ("estimators",),
    ("pictures",),
    ("bench", "cvxpy"),
    ("",),  # the top of the package
    ("cli",),
    ("__main__",),
)
"""From the ground up. Rooms of one layer do not import each other."""

SOLVERS = (
    ("common",),
    ("l0", "lp"),
    ("adapters", "homotopy"),
    ("highs",),
    ("misdp", "peers"),
    ("private", "strs", "subset", "subspace"),
    ("cvxpy",),
)
"""The same inside solvers/."""

SCREEN = 60
"""Lines of a function at most."""


def sources(package: Path = PACKAGE) -> dict[str, tuple[str, bool]]:
    """Return the text of each module, and whether it is a package's ``__init__``."""
    found = {}
    for folder, name in ((package, "sparseopt"), (package / "solvers", "sparseopt.solvers")):
        for file in sorted(folder.rglob("*.py")):
            parts = file.relative_to(folder).with_suffix("").parts
            if folder == package and parts[0] == "solvers":
                continue
            is_package = parts[-1] == "__init__"
            module = ".".join([name, *(parts[:-1] if is_package else parts)])
            found[module] = (file.read_text(encoding="utf-8"), is_package)
    return found


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all statements under a node, whose expressions take ten times as long to walk."""
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        for node in getattr(tree, name, ()):
            yield node
            yield from statements(node)


@cache
def imports(module: str, text: str, is_package: bool, known: frozenset[str]) -> frozenset[str]:
    """Return the modules of ours that a module imports, wherever in the file it does."""
    found = set()
    own = module.split(".") if is_package else module.split(".")[:-1]
    for node in statements(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            up = own[: len(own) - node.level + 1] if node.level else []
            base = ".".join([*up, *([node.module] if node.module else [])])
            names = [f"{base}.{alias.name}" for alias in node.names]
            names = [name if name in known else base for name in names]
        else:
            continue
        found.update(name for name in names if name in known)
    return frozenset(found - {module})


def graph_of(modules: Mapping[str, tuple[str, bool]]) -> nx.DiGraph:
    """Return the graph of imports."""
    graph = nx.DiGraph()
    graph.add_nodes_from(modules)
    known = frozenset(modules)
    for module, (text, is_package) in modules.items():
        graph.add_edges_from((module, to) for to in imports(module, text, is_package, known))
    return graph


def folder_of(module: str, modules: Mapping[str, tuple[str, bool]]) -> str:
    """Return the folder of a file. The door of a room, its ``__init__``, stands for itself.

    So do the contracts at the top of the package, one file each.
    """
    if modules[module][1]:
        return f"{module}.__init__"
    folder = module.rpartition(".")[0]
    return module if folder == "sparseopt" else folder


def level_of(layers: tuple[tuple[str, ...], ...], room: str) -> int:
    """Return the layer of a room."""
    for level, rooms in enumerate(layers):
        if room in rooms:
            return level
    raise AssertionError(f"{room!r} has no layer: give it one in tests/test_architecture.py")


def room_of(module: str, under: str) -> str | None:
    """Return the room of a module under a package, "" for the package itself."""
    if module == under:
        return ""
    if not module.startswith(f"{under}."):
        return None
    return module.removeprefix(f"{under}.").split(".")[0]


def complaints(modules: Mapping[str, tuple[str, bool]]) -> list[str]:
    """Return all that is wrong with the plan."""
    graph = graph_of(modules)
    folders = nx.DiGraph(
        (folder_of(a, modules), folder_of(b, modules))
        for a, b in graph.edges
        if folder_of(a, modules) != folder_of(b, modules)
    )
    wrong = [
        f"circle: {' '.join(sorted(circle))}"
        for each in (graph, folders)
        for circle in nx.strongly_connected_components(each)
        if len(circle) > 1
    ]
    for under, layers in (("sparseopt", LAYERS), ("sparseopt.solvers", SOLVERS)):
        for a, b in sorted(graph.edges):
            rooms = room_of(a, under), room_of(b, under)
            if None in rooms or rooms[0] == rooms[1] or (under != "sparseopt" and "" in rooms):
                continue
            if level_of(layers, str(rooms[0])) <= level_of(layers, str(rooms[1])):
                wrong.append(f"up: {a} imports {b}")
    checker = [module for module in graph if room_of(module, "sparseopt") == "checking"]
    reached = set(checker).union(*(nx.descendants(graph, module) for module in checker))
    wrong += [
        f"the checker reaches {module}"
        for module in sorted(reached)
        if room_of(module, "sparseopt") in ("backend", "registry", "solvers")
    ]
    return wrong


MODULES = sources()


def test_every_arrow_goes_down():
    assert complaints(MODULES) == []


@pytest.mark.parametrize(
    ("module", "line", "complaint"),
    [
        (
            "sparseopt.result",
            "def f():\n    from sparseopt.selection import select",
            "up: sparseopt.result imports sparseopt.selection",
        ),
        (
            "sparseopt.problems.strs.problem",
            "import sparseopt.api",
            "up: sparseopt.problems.strs.problem imports sparseopt.api",
        ),
        (
            "sparseopt.checking.report",
            "def f():\n    from sparseopt.solvers.common import segments",
            "the checker reaches sparseopt.solvers.common.segments",
        ),
        (
            "sparseopt.errors",
            "from sparseopt import installed",
            "up: sparseopt.errors imports sparseopt.installed",
        ),
        (
            "sparseopt.io.files",
            "from sparseopt.io.mps.reader import read",
            "circle: sparseopt.io sparseopt.io.mps",
        ),
        (
            "sparseopt.solvers.common.segments",
            "from ..homotopy.runs.solve import solve",
            "up: sparseopt.solvers.common.segments imports sparseopt.solvers.homotopy.runs.solve",
        ),
        (
            "sparseopt.bench.records.stats",
            "import sparseopt",
            "up: sparseopt.bench.records.stats imports sparseopt",
        ),
    ],
)
def test_one_import_too_many_is_seen(module, line, complaint):
    text, is_package = MODULES[module]
    changed = {**MODULES, module: (f"{text}\n{line}\n", is_package)}
    assert complaint in complaints(changed)


def test_the_exact_program_stands_alone():
    parts = {name: part for name, part in MODULES.items() if name.startswith("sparseopt.exact")}
    assert len(parts) > 10
    names = {"exact"}
    for name, (text, is_package) in parts.items():
        up_to_the_program = name.count(".") - 1 + is_package
        for node in statements(ast.parse(text)):
            if isinstance(node, ast.Import):
                names.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.level:
                assert node.level <= up_to_the_program
            elif isinstance(node, ast.ImportFrom):
                names.add(str(node.module))
    assert {name.split(".")[0] for name in names} - {"exact"} <= sys.stdlib_module_names


def test_two_files_that_import_each_other_are_seen():
    a, b = "sparseopt.checking.report", "sparseopt.checking.tolerances"
    assert complaints({a: ("", False), b: (f"import {a}\n", False)}) == []
    both = {a: (f"def f():\n    import {b}\n", False), b: (f"import {a}\n", False)}
    assert f"circle: {a} {b}" in complaints(both)


def test_checking_a_result_loads_no_solver(tmp_path):
    problem = sparseopt.problems.DantzigSelector(X=[[1.0, 0.0], [0.0, 1.0]], y=[3.0, 1.0])
    sparseopt.save(problem, tmp_path / "p.npz")
    sparseopt.solve(problem, backend="homotopy").save(tmp_path / "r.json")
    code = (
        "import sys, json, sparseopt\n"
        "from sparseopt.io import load_result\n"
        f"problem = sparseopt.load({str(tmp_path / 'p.npz')!r})\n"
        f"report = sparseopt.check(problem, load_result({str(tmp_path / 'r.json')!r}, problem))\n"
        "print(json.dumps([report.verdict.value, sorted(sys.modules)]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    verdict, loaded = json.loads(done.stdout)
    assert verdict == "verified"
    solvers = [
        name for name in loaded if name.startswith(("sparseopt.solvers", "highspy", "cvxpy"))
    ]
    assert solvers == []


def test_no_function_is_longer_than_a_screen():
    """Lines of a body without its docstring, comments and blank ones."""
    found = []
    for module, (text, _) in sources().items():
        lines = text.splitlines()
        for node in statements(ast.parse(text)):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            body = node.body[1:] if ast.get_docstring(node) else node.body
            first = body[0].lineno if body else node.lineno
            own = [line.strip() for line in lines[first - 1 : node.end_lineno]]
            count = sum(1 for line in own if line and not line.startswith("#"))
            if count > SCREEN:
                found.append(f"{module}.{node.name} has {count}")
    assert not found, "; ".join(found)
