"""Compiled functions that a wheel brings along are found, and nothing else is taken for one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sparseopt.compiling import baseline_environment, shipped
from sparseopt.compiling.store import Store

TOY = """
import numpy as np
from sparseopt.solvers.common.compiled import compiled

@compiled
def total(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return s
"""
USE = """
import sys
from pathlib import Path
from sparseopt.compiling import shipped
shipped._FOLDER = Path(sys.argv[1])
import numpy as np, toy_total
print(toy_total.total(np.arange(4.0)), len(toy_total.total._linked))
"""


def test_only_what_the_user_has_written_is_collected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARSEOPT_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir(mode=0o700)
    kept = Store(tmp_path / "cache")
    kept.write("a.form", b"one")
    kept.write("b.form", b"two")
    (kept.folder / "b.form").write_bytes(b"something else")
    assert shipped.collect(tmp_path / "forms") == 1
    assert [path.name for path in (tmp_path / "forms").iterdir()] == ["a.form"]
    assert (tmp_path / "forms" / "a.form").read_bytes() == b"one"


def test_forms_are_found_by_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a-1.form").write_bytes(b"one")
    (tmp_path / "other").write_bytes(b"two")
    monkeypatch.setattr(shipped, "_FOLDER", tmp_path)
    shipped._names.cache_clear()
    try:
        assert shipped.has_shipped("a-")
        assert not shipped.has_shipped("other")
        assert shipped.read_shipped("a-1.form") == b"one"
        assert shipped.read_shipped("../a-1.form") is None
    finally:
        shipped._names.cache_clear()


@pytest.mark.thorough
def test_a_fresh_machine_runs_what_the_package_brought(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "toy_total.py").write_text(TOY, encoding="utf-8")

    def run(cache: str, **more: str) -> str:
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path]),
            "SPARSEOPT_CACHE_DIR": str(tmp_path / cache),
            "SPARSEOPT_COMPILE": "now",
        }
        words = [sys.executable, "-c", USE, str(tmp_path / "forms")]
        done = subprocess.run(
            words, env=environment | more, capture_output=True, text=True, check=True
        )
        return done.stdout

    assert run("builder", **baseline_environment()).startswith("6.0")
    monkeypatch.setenv("SPARSEOPT_CACHE_DIR", str(tmp_path / "builder"))
    assert shipped.collect(tmp_path / "forms") == 1
    assert run("user") == "6.0 1\n"
    assert not list((tmp_path / "user").glob("*.form"))
