"""The cache of compiled functions sees changes wherever they are, and nothing else."""

import json
import os
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import sparseopt.solvers
from sparseopt.compiling import Kernel
from sparseopt.compiling.by_address import classes
from sparseopt.compiling.content import content_hash

CALLEE = """
from sparseopt.solvers.common.compiled import compiled

@compiled
def inner(x):
    return x + 1.0
"""
CALLER = """
from kernels import constants
from kernels.callee import inner
from kernels.constants import STEP
from sparseopt.solvers.common.compiled import compiled

@compiled
def by_call(x):
    return 2.0 * inner(x)

@compiled
def by_constant(x):
    return x + STEP

@compiled
def by_attribute(x):
    return x + constants.SCALE

@compiled
def later(x):
    return defined_below(x)

@compiled
def defined_below(x):
    return -x
"""
RUN = """
import json
from kernels import caller
names = ("by_call", "by_constant", "by_attribute", "later")
print(json.dumps({name: getattr(caller, name)(10.0) for name in names}))
"""


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    """A package of compiled functions that depend on one another's files."""
    folder = tmp_path / "kernels"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "constants.py").write_text("STEP = 5.0\nSCALE = 7.0\n")
    (folder / "callee.py").write_text(CALLEE)
    (folder / "caller.py").write_text(CALLER)
    return folder


def start(kernels: Path) -> subprocess.Popen[str]:
    root = Path(sparseopt.__file__).resolve().parents[1]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(kernels.parent), str(root)]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "SPARSEOPT_COMPILE": "now",
        "SPARSEOPT_CACHE_DIR": str(kernels.parent / "forms"),
    }
    return subprocess.Popen(
        [sys.executable, "-c", RUN],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> dict[str, float]:
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return json.loads(out)


def forms(kernels: Path) -> dict[str, set[str]]:
    """Return the names of the files of each function."""
    found: dict[str, set[str]] = {}
    for path in (kernels.parent / "forms").glob("*.form"):
        found.setdefault(path.name.partition("-")[0], set()).add(path.name)
    return found


BEFORE = {"by_call": 22.0, "by_constant": 15.0, "by_attribute": 17.0, "later": -10.0}


@pytest.mark.thorough
def test_a_change_in_another_file_is_seen(kernels: Path) -> None:
    both = [start(kernels), start(kernels)]
    for process in both:
        assert ended(process) == BEFORE
    first = forms(kernels)
    assert {len(names) for names in first.values()} == {1}
    assert ended(start(kernels)) == BEFORE
    assert forms(kernels) == first

    (kernels / "callee.py").write_text(CALLEE.replace("1.0", "2.0"))
    (kernels / "constants.py").write_text("STEP = 6.0\nSCALE = 8.0\n")
    (kernels / "caller.py").write_text(f"# a comment\n{CALLER}")
    after = {"by_call": 24.0, "by_constant": 16.0, "by_attribute": 18.0, "later": -10.0}
    assert ended(start(kernels)) == after
    changed = {name for name, names in forms(kernels).items() if names != first[name]}
    assert changed == {
        "callee.inner",
        "caller.by_call",
        "caller.by_constant",
        "caller.by_attribute",
    }


def kernels_of_the_engines() -> Iterator[Kernel]:
    for item in pkgutil.walk_packages(sparseopt.solvers.__path__, "sparseopt.solvers."):
        try:
            module = import_module(item.name)
        except ImportError:
            # Of a solver that is not installed.
            continue
        for value in vars(module).values():
            if isinstance(value, Kernel) and value.py_func.__module__ == item.name:
                yield value


def test_the_content_of_every_compiled_function_is_known() -> None:
    hashes = [content_hash(k.py_func, k.targetoptions) for k in kernels_of_the_engines()]
    assert {len(each) for each in hashes} == {20}
    assert len(hashes) > 50


def test_no_array_of_a_tuple_by_address_comes_back_to_python() -> None:
    """Such arrays are borrowed: a view of one that is returned would outlive it."""
    found = 0
    for kernel in kernels_of_the_engines():
        words = dict(kernel.py_func.__annotations__)
        returned = str(words.pop("return"))
        by_address = {kind.__name__ for kind in classes()} & set(map(str, words.values()))
        if by_address and "no_cpython_wrapper" not in kernel.targetoptions:
            assert "Array" not in returned or kernel.targetoptions.get("inline") == "always"
            found += 1
    assert found > 10
