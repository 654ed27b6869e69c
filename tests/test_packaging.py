"""What lands in site-packages, and what importing it costs.

The tests of the source tree and of the files built from it need the tree, and are skipped where
only the installed package is tested; there, the files of the installation are looked at instead.
"""

import importlib.metadata
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest

import sparseopt

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path(sparseopt.__file__).parent
IN_TREE = (ROOT / "sparseopt" / "__init__.py").is_file()
LINKS = ("sparseopt/solvers", "sparseopt/bench/suites", "sparseopt/datasets/shipped")
BESIDE = ("docs", "instances", "tests")
in_tree_only = pytest.mark.skipif(not IN_TREE, reason="needs the source tree")


def run_python(code: str, cwd: Path = PACKAGE.parent) -> subprocess.CompletedProcess[str]:
    """Run `code` in a fresh interpreter that finds the package under test first."""
    # Without the variable, the first run leaves bytecode behind as any user's first run does.
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, env=env, capture_output=True, text=True, timeout=120
    )


def source_files(package: Path) -> set[str]:
    """Every file that belongs to the package, links followed, relative to the package's parent."""
    found = set()
    for folder, subfolders, names in os.walk(package, followlinks=True):
        subfolders[:] = [d for d in subfolders if d != "__pycache__"]
        if Path(folder).relative_to(package) == Path("datasets/shipped"):
            # Of the instances the files alone: suites have a link of their own, scripts stay here.
            subfolders[:] = []
            names = [n for n in names if n == "README.md" or n.endswith((".npz", ".solu"))]
        found |= {(Path(folder) / n).relative_to(package.parent).as_posix() for n in names}
    return found


def project_table() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> tuple[set[str], set[str]]:
    """The file names of the sdist (its top folder stripped) and of the wheel built from it."""
    work = tmp_path_factory.mktemp("build")
    tree = work / "tree"
    tree.mkdir()
    ignore = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in ("sparseopt", "solvers", *BESIDE):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tree / name, symlinks=True, ignore=ignore)
    for path in ROOT.iterdir():
        if path.is_file() and not path.name.startswith("."):
            shutil.copy2(path, tree)
    # Without --wheel or --sdist, build makes the wheel from the sdist, not from the tree.
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "build",
            "--no-isolation",
            "--outdir",
            str(work / "dist"),
            str(tree),
        ],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (sdist,) = (work / "dist").glob("*.tar.gz")
    (wheel,) = (work / "dist").glob("*.whl")
    with tarfile.open(sdist) as archive:
        in_sdist = {m.name.partition("/")[2] for m in archive.getmembers() if m.isfile()}
    with zipfile.ZipFile(wheel) as archive:
        in_wheel = set(archive.namelist())
    return in_sdist, in_wheel


@in_tree_only
def test_packages_list_equals_the_folders():
    packages = {
        str(Path(f).parent).replace(os.sep, ".") for f in source_files(PACKAGE) if f.endswith(".py")
    }
    listed = project_table()["tool"]["setuptools"]["packages"]
    assert sorted(listed) == sorted(packages)


@in_tree_only
def test_every_folder_with_code_is_a_package():
    files = source_files(PACKAGE)
    folders = {f.rpartition("/")[0] for f in files if f.endswith(".py")}
    assert [d for d in sorted(folders) if f"{d}/__init__.py" not in files] == []


@pytest.mark.thorough
@in_tree_only
def test_wheel_holds_exactly_the_package(built):
    _, wheel = built
    in_wheel = {f for f in wheel if ".dist-info/" not in f}
    assert in_wheel == source_files(PACKAGE)
    assert {f.split("/")[0] for f in in_wheel} == {"sparseopt"}


@pytest.mark.thorough
@in_tree_only
def test_sdist_holds_everything_once(built):
    sdist, _ = built
    assert source_files(PACKAGE) <= sdist
    assert not any(f.startswith("solvers/") for f in sdist)
    assert {"LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml", "setup.py"} <= sdist
    for name in BESIDE:
        expected = source_files(ROOT / name)
        made = ("docs/_build/", "docs/gallery/", "docs/generated/", "docs/tutorials/")
        assert {f for f in expected if not f.startswith(made)} <= sdist


def test_installed_files_are_type_marked_and_have_the_schemas():
    assert (PACKAGE / "py.typed").is_file()
    schemas = {p.name for p in (PACKAGE / "io" / "schema").glob("*.json")}
    assert schemas, "no JSON schema is installed"


def test_shipped_instances_come_with_the_package():
    from sparseopt import datasets

    files = datasets.instances()
    assert len(files) >= 45
    assert sparseopt.load(files["diabetes-dantzig"]).kind == "dantzig-selector"
    assert all(file.is_relative_to(PACKAGE) for file in files.values())


@pytest.mark.skipif(IN_TREE, reason="the tree is tested, not an installed wheel")
def test_installation_has_one_top_level_name():
    files = importlib.metadata.files("sparseopt") or []
    top = {f.parts[0] for f in files if f.parts[0] != ".."}
    assert {t for t in top if not t.endswith(".dist-info")} == {"sparseopt"}
    done = run_python("import solvers")
    assert "ModuleNotFoundError" in done.stderr


@in_tree_only
@pytest.mark.skipif(not (ROOT / "solvers").is_dir(), reason="an sdist has no top-level solvers/")
def test_solvers_refuses_its_bare_name():
    done = run_python("import solvers", cwd=ROOT)
    assert done.returncode != 0
    assert "ImportError" in done.stderr
    assert "sparseopt.solvers" in done.stderr


def test_the_import_waits_for_nothing_that_few_programs_need():
    done = run_python(
        "import sys, sparseopt\n"
        "late = {'scipy.linalg', 'scipy.sparse', 'numba', 'highspy', 'sparseopt.selection'}\n"
        "print(sorted(late & set(sys.modules)))\n"
        "import sparseopt.solvers\n"
        "print([m for m in sys.modules if m.startswith('sparseopt.solvers.')])"
    )
    assert done.stdout.split() == ["[]", "[]"], done.stderr


@in_tree_only
@pytest.mark.parametrize("left_behind", ["text", "nothing"])
@pytest.mark.parametrize("link", LINKS)
def test_checkout_without_symlinks_is_told_what_to_do(tmp_path, left_behind, link):
    shutil.copy2(ROOT / "setup.py", tmp_path)
    for folder in LINKS:
        if folder != link:
            (tmp_path / folder).mkdir(parents=True)
    (tmp_path / link).parent.mkdir(parents=True, exist_ok=True)
    if left_behind == "text":
        (tmp_path / link).write_text("../solvers")
    done = subprocess.run(
        [sys.executable, "setup.py", "--version"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode != 0
    assert link in done.stderr
    assert "git config core.symlinks true" in done.stderr
    assert "git clone" in done.stderr
    assert "Traceback" not in done.stderr


def test_import_loads_numpy_and_scipy_only():
    # Compiled scipy modules register helpers under names of their own: load those beforehand.
    done = run_python(
        "import sys, numpy, scipy.sparse\n"
        "before = set(sys.modules)\n"
        "import sparseopt\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    assert done.returncode == 0, done.stderr
    loaded = done.stdout.split()
    allowed = sys.stdlib_module_names | {"numpy", "scipy", "sparseopt"}
    assert {m.partition(".")[0] for m in loaded} - allowed == set()
    assert [m for m in loaded if m.startswith("sparseopt.solvers.")] == []


def test_first_solves_do_without_the_parts_of_scipy_that_take_long_to_import():
    """Each takes .05 to .3 s, which is more than these solves."""
    done = run_python(
        "import os, sys\n"
        "os.environ['NUMBA_DISABLE_JIT'] = '1'\n"
        "import sparseopt\n"
        "from sparseopt import generators\n"
        "solved = [sparseopt.solve(generators.generate(name, **settings)) for name, settings in (\n"
        "    ('dantzig-4.3', dict(n=10, d=15)),\n"
        "    ('index-model', dict(N=30, n=4)),\n"
        "    ('bent-curve', dict(N=30)),\n"
        "    ('outlier-columns', dict(N=20, n=4, k=2)),\n"
        "    ('ising-lattice', dict(n=50, rows=3, columns=3)),\n"
        "    ('k-partitioning', dict(nodes=4, k=2)),\n"
        ")]\n"
        "assert all(result.x is not None or result.path is not None for result in solved)\n"
        "print(*sorted(sys.modules))\n"
    )
    assert done.returncode == 0, done.stderr
    large = {"optimize", "special", "spatial", "stats", "sparse.csgraph", "interpolate", "fft"}
    assert {f"scipy.{part}" for part in large} & set(done.stdout.split()) == set()


@pytest.mark.thorough
def test_import_is_quick():
    # On a busy machine (tests run in parallel) the wall time includes waiting for the processor,
    # which is not the package's doing; on an idle one the two clocks agree.
    # What numpy and scipy.sparse take, most of it, is not either: on a slow day half a second.
    code = (
        "from time import perf_counter, process_time\n"
        "import numpy, scipy.sparse\n"
        "wall, cpu = perf_counter(), process_time()\n"
        "import sparseopt\n"
        "print(min(perf_counter() - wall, process_time() - cpu))"
    )
    run_python(code)
    seconds = [float(run_python(code).stdout) for _ in range(5)]
    assert min(seconds) < 0.15, seconds


def test_versions_agree():
    versions = {sparseopt.__version__}
    if (ROOT / "pyproject.toml").is_file():
        versions.add(project_table()["project"]["version"])
    with suppress(importlib.metadata.PackageNotFoundError):  # a tree that is not installed
        versions.add(importlib.metadata.version("sparseopt"))
    assert len(versions) == 1, versions


@pytest.mark.skipif(os.name == "nt", reason="a console script has another name there")
def test_console_script_is_declared():
    try:
        distribution = importlib.metadata.distribution("sparseopt")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("sparseopt is not installed in this environment")
    scripts = {e.name: e.value for e in distribution.entry_points if e.group == "console_scripts"}
    assert scripts == {"sparseopt": "sparseopt.cli:main"}


@in_tree_only
def test_the_conda_recipe_asks_for_what_the_project_asks_for():
    recipe = (ROOT / "docs/conda/recipe.yaml").read_text(encoding="utf-8")
    project = project_table()["project"]
    run = recipe.partition("  run:\n")[2].partition("\n\n")[0]
    asked = {line.strip(" -").replace(" ", "") for line in run.splitlines()}
    assert asked == {"python>=${{python_min}}", *project["dependencies"]}
    assert f'version: "{project["version"]}"' in recipe
    assert all(f"{name} = {where}" in recipe for name, where in project["scripts"].items())
