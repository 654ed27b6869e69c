"""What others could have written is not read, and a cache that is broken costs time only."""

import json
import os
import pickle
import random
import subprocess
import sys
from pathlib import Path

import pytest

from sparseopt.compiling import cache_folder
from sparseopt.compiling import store as module
from sparseopt.compiling.store import Store, store

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
MUTATIONS = 150


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "forms"
    monkeypatch.setenv("SPARSEOPT_CACHE_DIR", str(path))
    return path


def opened() -> Store:
    module._opened.cache_clear()
    found = store()
    assert found is not None
    return found


def test_the_folder_is_the_platforms_and_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARSEOPT_CACHE_DIR", raising=False)
    assert cache_folder().parts[-2:] == ("sparseopt", "compiled")


@posix_only
def test_what_is_kept_is_for_the_user_alone(folder: Path) -> None:
    kept = opened()
    kept.write("a.form", b"content")
    assert kept.read("a.form") == b"content"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o077 for path in folder.iterdir()} == {0}


@posix_only
def test_a_folder_that_others_can_write_is_refused_with_a_warning(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)
    module._opened.cache_clear()
    with pytest.warns(UserWarning, match="open to the writing of others"):
        assert store() is None


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root gives away")
def test_what_belongs_to_another_user_is_refused(folder: Path) -> None:
    kept = opened()
    kept.write("a.form", b"content")
    os.chown(folder / "a.form", 65534, 65534)
    assert kept.read("a.form") is None
    os.chown(folder, 65534, 65534)
    module._opened.cache_clear()
    with pytest.warns(UserWarning, match="owned by another user"):
        assert store() is None


def test_a_file_in_the_place_of_the_folder_is_no_cache(folder: Path) -> None:
    folder.write_text("")
    module._opened.cache_clear()
    assert store() is None


def test_files_of_another_secret_or_name_are_not_read(folder: Path, tmp_path: Path) -> None:
    kept = opened()
    kept.write("a.form", b"content")
    (folder / "b.form").write_bytes((folder / "a.form").read_bytes())
    assert kept.read("b.form") is None
    (folder / "secret").write_bytes(bytes(32))
    assert opened().read("a.form") is None
    (folder / "secret").write_bytes(b"short")
    again = opened()
    assert again.read("a.form") is None
    again.write("a.form", b"content")
    assert opened().read("a.form") == b"content"


class Bomb:
    """A pickle that says so when it is loaded."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (os.mkdir, ("a-foreign-pickle-was-loaded",))


def test_no_mutation_of_a_file_is_read_as_something_else(folder: Path) -> None:
    rng = random.Random(0)
    kept = opened()
    content = rng.randbytes(2000)
    kept.write("a.form", content)
    path = folder / "a.form"
    whole = path.read_bytes()
    for _ in range(MUTATIONS):
        text = mutated(whole, rng)
        path.write_bytes(text)
        found = kept.read("a.form")
        assert found == (content if text == whole else None)


def mutated(whole: bytes, rng: random.Random) -> bytes:
    """Return the bytes of a file cut off, changed, lengthened, shuffled, or a foreign pickle."""
    text, at = bytearray(whole), rng.randrange(len(whole))
    match rng.randrange(7):
        case 0:
            return whole[:at]
        case 1:
            text[at] ^= 1 << rng.randrange(8)
        case 2:
            text[at:at] = rng.randbytes(rng.randrange(1, 50))
        case 3:
            del text[at : at + rng.randrange(1, 50)]
        case 4:
            text[at:] = rng.randbytes(len(whole) - at)
        case 5:
            return pickle.dumps(Bomb())
        case _:
            text[min(at, 53) :] = pickle.dumps(Bomb())
    return bytes(text)


def test_the_lock_is_for_one(folder: Path) -> None:
    kept = opened()
    with kept.alone() as first, kept.alone() as second:
        assert (first, second) == (True, False)
    with kept.alone() as again:
        assert again


@posix_only
def test_a_link_to_elsewhere_is_judged_by_where_it_leads(folder: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "open"
    elsewhere.mkdir()
    elsewhere.chmod(0o777)
    folder.symlink_to(elsewhere)
    module._opened.cache_clear()
    with pytest.warns(UserWarning, match="open to the writing"):
        assert store() is None


END_TO_END = """
import json, os, random, sys
import numpy as np, toy_kernels as toy
from pathlib import Path
from sparseopt.compiling.cache import FormCache
from sparseopt.compiling.signature import describe
sys.path.insert(0, {tests!r})
from test_store import mutated

toy.ratio(1.0, 4.0)
(path,) = Path(os.environ["SPARSEOPT_CACHE_DIR"]).glob("*.ratio-*.form")
whole, rng, loaded = path.read_bytes(), random.Random(1), 0
dispatcher = toy.ratio.dispatcher
sig = tuple(map(dispatcher.typeof_pyval, (1.0, 4.0)))
for _ in range({count}):
    path.write_bytes(mutated(whole, rng))
    cache = FormCache(toy.ratio.py_func, toy.ratio.targetoptions, lambda _: False, lambda: None)
    loaded += cache.load_overload(sig, dispatcher.targetctx) is not None
    loaded += cache.link(list(map(describe, (1.0, 4.0)))) is not None
print(json.dumps([loaded, os.path.exists("a-foreign-pickle-was-loaded")]))
"""


@pytest.mark.thorough
def test_no_mutated_form_is_loaded(folder: Path, tmp_path: Path) -> None:
    """How many: SPARSEOPT_TRIALS, 150 by default."""
    (tmp_path / "toy_kernels.py").write_text(
        "from sparseopt.solvers.common.compiled import compiled\n\n\n"
        "@compiled\ndef ratio(a, b):\n    return a / b\n"
    )
    here, count = Path(__file__).parent, int(os.environ.get("SPARSEOPT_TRIALS", MUTATIONS))
    done = subprocess.run(
        [sys.executable, "-c", END_TO_END.format(tests=str(here), count=count)],
        env=os.environ
        | {
            "PYTHONPATH": os.pathsep.join([str(tmp_path), str(here.parents[1])]),
            "SPARSEOPT_COMPILE": "now",
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [0, False]
