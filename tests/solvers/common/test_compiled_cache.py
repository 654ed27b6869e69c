"""The cache of compiled functions sees changes wherever they are, and nothing else."""

import json
import os
import pkgutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import sparseopt.solvers
from sparseopt.solvers.common.compiled_content import content_hash

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
values = {name: getattr(caller, name)(10.0) for name in names}
hits = {name: sum(getattr(caller, name).stats.cache_hits.values()) for name in names}
print(json.dumps([values, hits, str(caller.later.stats.cache_path)]))
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
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"} | {
        "PYTHONPATH": os.pathsep.join([str(kernels.parent), str(root)]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "XDG_CACHE_HOME": str(kernels.parent / "user-cache"),
    }
    return subprocess.Popen(
        [sys.executable, "-c", RUN],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> tuple[dict[str, float], dict[str, int], Path]:
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    values, hits, place = json.loads(out)
    return values, hits, Path(place)


BEFORE = {"by_call": 22.0, "by_constant": 15.0, "by_attribute": 17.0, "later": -10.0}
NONE = dict.fromkeys(BEFORE, 0)


@pytest.mark.thorough
def test_a_change_in_another_file_is_seen(kernels: Path) -> None:
    both = [start(kernels), start(kernels)]
    for process in both:
        assert ended(process)[0] == BEFORE
    values, hits, place = ended(start(kernels))
    assert (values, hits) == (BEFORE, dict.fromkeys(BEFORE, 1))
    assert place == kernels / "__pycache__"

    (kernels / "callee.py").write_text(CALLEE.replace("1.0", "2.0"))
    (kernels / "constants.py").write_text("STEP = 6.0\nSCALE = 8.0\n")
    stale = sorted(place.glob("*.nbi"))
    for path in stale:
        os.utime(path, (0, 0))
    values, hits, _ = ended(start(kernels))
    assert values == {"by_call": 24.0, "by_constant": 16.0, "by_attribute": 18.0, "later": -10.0}
    assert hits == NONE | {"later": 1}
    kept = {path.name.partition("-")[0] for path in stale if path.exists()}
    assert kept == {"caller.later", "caller.defined_below"}


def test_without_a_writable_folder_the_cache_is_the_users(kernels: Path) -> None:
    # A file in the place of the folder: permissions would not stop the administrator.
    (kernels / "__pycache__").write_text("")
    assert ended(start(kernels))[0] == BEFORE
    values, hits, place = ended(start(kernels))
    assert (values, hits) == (BEFORE, dict.fromkeys(BEFORE, 1))
    assert (kernels.parent / "user-cache") in place.parents


def test_the_content_of_every_compiled_function_is_known() -> None:
    found = 0
    for item in pkgutil.walk_packages(sparseopt.solvers.__path__, "sparseopt.solvers."):
        try:
            module = import_module(item.name)
        except ImportError:
            # Of a solver that is not installed.
            continue
        for value in vars(module).values():
            if hasattr(value, "py_func") and value.py_func.__module__ == item.name:
                assert len(content_hash(value.py_func, value.targetoptions)) == 20
                found += 1
    assert found > 50
