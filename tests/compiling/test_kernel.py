"""The three forms of a compiled function: which one runs when, and that all say the same."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from thorough import first

from sparseopt.compiling import Mode, by_address, loader, mode, override
from sparseopt.compiling.signature import describe, describe_type, kind_of, numba_types
from sparseopt.errors import ParamError

KERNELS = '''
from typing import NamedTuple
import numpy as np
from sparseopt.compiling import by_address
from sparseopt.solvers.common.compiled import compiled, compiled_inside

class Pair(NamedTuple):
    a: np.ndarray
    b: np.ndarray

@compiled_inside
def step(x, i):
    x[i] += 1.0 / (i + 1)

@compiled
def harmonic(x, rounds):
    """Add the harmonic numbers, many times."""
    for _ in range(rounds):
        for i in range(x.shape[0]):
            step(x, i)
    return x.sum()

@compiled
def ratio(a, b):
    return a / b

@compiled
def of_pair(pair, scale):
    total = 0.0
    for i in range(pair.a.shape[0]):
        total += scale * pair.a[i] * pair.b[i, 0]
    return total

@by_address
class Inner(NamedTuple):
    a: np.ndarray
    negative: bool

@by_address
class Outer(NamedTuple):
    inner: Inner
    scale: float
    out: np.ndarray

@compiled_inside
def write(outer, i):
    sign = -1.0 if outer.inner.negative else 1.0
    outer.out[i, 0] = sign * outer.scale * outer.inner.a[i]

@compiled
def by_address_of(outer, count):
    for i in range(count):
        write(outer, i)
    return outer.out[1, 0]
'''


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "toy_kernels.py").write_text(KERNELS)
    return tmp_path


def start(work: Path, code: str, **environment: str) -> subprocess.Popen[str]:
    given = {k: v for k, v in os.environ.items() if k not in ("CI", "SPARSEOPT_COMPILE")}
    root = Path(__file__).resolve().parents[2]
    given |= {
        "PYTHONPATH": os.pathsep.join([str(work), str(root)]),
        "SPARSEOPT_CACHE_DIR": str(work / "forms"),
        **environment,
    }
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(work: Path, code: str, **environment: str) -> Any:
    process = start(work, code, **environment)
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return json.loads(out.splitlines()[-1])


SMALL = """
import json, sys, toy_kernels as toy
import numpy as np
values = toy.harmonic(np.zeros(4), 3), toy.ratio(1.0, 0.0) > 1e300
print(json.dumps([*values, toy.harmonic._run is not None, "numba" in sys.modules]))
"""


@pytest.mark.thorough
def test_small_work_is_done_in_plain_python_without_numba_and_leaves_nothing(work: Path) -> None:
    code = SMALL.replace("toy.ratio(1.0, 0.0) > 1e300", "toy.ratio(1.0, 2.0)")
    assert run(work, code) == [pytest.approx(6.25), 0.5, False, False]
    assert not list((work / "forms").glob("*.form"))


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("way", ["now", "never", "NUMBA_DISABLE_JIT", "no numba"])
def test_all_modes_say_the_same(work: Path, way: str) -> None:
    code, environment = SMALL, {"SPARSEOPT_COMPILE": way}
    if way == "NUMBA_DISABLE_JIT":
        environment = {way: "1"}
    if way == "no numba":
        code = f"import sys; sys.modules['numba'] = None\n{SMALL}"
        code = code.replace('"numba" in sys.modules', "False")
        environment = {}
    if way != "now":
        code = code.replace("toy.ratio(1.0, 0.0) > 1e300", "True")
    expected = [pytest.approx(6.25), True, way == "now", False]
    assert run(work, code, **environment) == expected


@pytest.mark.thorough
@pytest.mark.parametrize("broken", first(1, ["no folder", "no process", "full disk"]))
def test_what_no_other_process_compiles_is_compiled_here(work: Path, broken: str) -> None:
    code, environment = SMALL, {"SPARSEOPT_COMPILE": "now"}
    if broken == "no folder":
        (work / "a-file").write_text("")
        environment["SPARSEOPT_CACHE_DIR"] = str(work / "a-file" / "forms")
    elif broken == "full disk":
        (work / "sitecustomize.py").write_text(FULL)
    else:
        code = f"import sys; sys.executable = '/nowhere/python'\n{SMALL}"
    assert run(work, code, **environment) == [pytest.approx(6.25), True, True, True]


MACHINE_CODE = """
from sparseopt.compiling import loader
loader._is_known = lambda: True  # a release that nobody has tried is tried here
import json, sys, toy_kernels as toy
import numpy as np

def works():
    x, halves = np.arange(6.0), np.arange(6.0)[::2]
    assert toy.harmonic(np.zeros(4), 3) == toy.harmonic(np.zeros(4, np.float32), 3) == 6.25
    assert toy.harmonic(halves, 1) == 6.0 + 1.0 + 1.0 / 2.0 + 1.0 / 3.0
    assert toy.of_pair(toy.Pair(x, x[:, None]), 2.0) == 110.0
    made = toy.pairs(x, 3)
    assert type(made) is toy.Pair
    outer = toy.Outer(toy.Inner(x, True), 0.5, np.zeros((6, 2)))
    assert toy.by_address_of(outer, 5) == -0.5
    assert outer.out[:, 0].tolist() == [0.0, -0.5, -1.0, -1.5, -2.0, 0.0]
    assert made.a.tolist() == [1.0, 2.0, 3.0] and made.b.tolist() == [[0], [1], [4]]
    x.setflags(write=False)
    assert toy.pairs(x, 2).a.flags.writeable
    try:
        toy.refuse(1.0)
    except ValueError as error:
        assert error.args == ("it is positive",)
    else:
        raise AssertionError
    assert sorted(toy.shuffled(np.arange(5.0))) == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert np.allclose(toy.inverse(np.array([[2.0, 1.0], [1.0, 3.0]])) * 5.0, [[3, -1], [-1, 2]])
    return [name for name in sorted(vars(toy)) if getattr(vars(toy)[name], "_linked", None)]

linked, without = works(), "numba" not in sys.modules
import numba  # the same process goes on with it
assert numba.njit(lambda x: x + 1)(3) == 4
assert works() == linked
print(json.dumps([linked, without]))
"""
MORE_KERNELS = """
@compiled
def pairs(x, n):
    squares = np.empty((n, 1), np.int32)
    for i in range(n):
        squares[i, 0] = i * i
    return Pair(x[:n] + 1.0, squares)

@compiled
def refuse(x):
    if x > 0.0:
        raise ValueError("it is positive")
    return x

@compiled
def shuffled(x):
    np.random.shuffle(x)
    return x

@compiled
def inverse(x):
    return np.linalg.inv(x)
"""


@pytest.mark.thorough
@pytest.mark.skipif(os.name != "posix", reason="elsewhere numba loads all forms")
def test_machine_code_works_without_numba_and_beside_it(work: Path) -> None:
    (work / "toy_kernels.py").write_text(KERNELS + MORE_KERNELS)
    run(work, MACHINE_CODE, SPARSEOPT_COMPILE="now")
    linked, without = run(work, MACHINE_CODE, SPARSEOPT_COMPILE="now")
    assert linked == [
        "by_address_of", "harmonic", "inverse", "of_pair", "pairs", "refuse", "shuffled",
    ]  # fmt: skip
    assert without


@pytest.mark.thorough
def test_a_tuple_by_address_is_what_it_is_in_plain_python(work: Path) -> None:
    code = """
import json, toy_kernels as toy
import numpy as np
found = []
for inner in (toy.Inner(np.arange(6.0), True), toy.Inner(np.arange(12.0)[::2], False)):
    outer = toy.Outer(inner, 0.5, np.full((6, 2), 9.0))
    toy.by_address_of(outer, 5)
    found.append(outer.out.tolist())
print(json.dumps(found))
"""
    plain = run(work, code, SPARSEOPT_COMPILE="never")
    assert plain[0][2] == [-1.0, 9.0]
    assert run(work, code, SPARSEOPT_COMPILE="now") == plain


@pytest.mark.parametrize("first", ["json", "numba"])
def test_nothing_that_was_handed_over_is_kept(work: Path, first: str) -> None:
    """References to the arrays of a tuple by address end with the call, by either way of loading.

    They were kept once: every solve leaked its tableau.
    """
    code = f"""
import {first}, json, sys, toy_kernels as toy
import numpy as np
inner = toy.Inner(np.arange(6.0), True)
outer = toy.Outer(inner, 0.5, np.zeros((6, 2)))
pair = toy.Pair(np.arange(6.0), np.ones((6, 1)))
arrays = inner.a, outer.out, pair.a, pair.b
toy.by_address_of(outer, 5), toy.of_pair(pair, 2.0)
before = [sys.getrefcount(array) for array in arrays]
for _ in range(10):
    toy.by_address_of(outer, 5), toy.of_pair(pair, 2.0)
print(json.dumps([before, [sys.getrefcount(array) for array in arrays]]))
"""
    before, after = run(work, code, SPARSEOPT_COMPILE="now")
    assert after == before


def test_a_release_of_numba_that_nobody_has_tried_loads_its_forms_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for release, known in (("0.60.0", False), ("0.68.1", True), ("0.99.0rc1", False)):
        monkeypatch.setattr(loader.metadata, "version", {"numba": release}.__getitem__)
        loader._is_known.cache_clear()
        assert loader._is_known() is known
    loader._is_known.cache_clear()


def test_the_processor_has_the_name_that_numba_gives_it() -> None:
    from numba.core.registry import cpu_target

    from sparseopt.compiling.loader import host

    assert host() == " ".join(map(str, cpu_target.target_context.codegen().magic_tuple()))


FULL = """
import errno
from sparseopt.compiling.store import Store

def write(self, name, content):
    raise OSError(errno.ENOSPC, "No space left on device")

Store.write = write
"""


@pytest.mark.thorough
def test_a_division_by_zero_is_that_of_machine_code(work: Path) -> None:
    assert run(work, SMALL, SPARSEOPT_COMPILE="later")[1] is True


LONG = """
import json, sys, time, warnings, toy_kernels as toy
import numpy as np
x = np.zeros(1000)
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    total = toy.harmonic(x, 50_000)
expected = 50_000 * float((1.0 / np.arange(1, 1001)).sum())
assert abs(total - expected) < 1e-6 * expected, (total, expected)
print(json.dumps([len(seen), toy.harmonic._run is not None, "numba" in sys.modules]))
"""


@pytest.mark.thorough
def test_large_work_starts_over_compiled_while_it_runs(work: Path) -> None:
    """In plain Python it takes 20 seconds; its arrays are put back before it starts over."""
    assert run(work, LONG)[1] is True
    forms = {path.name.partition("-")[0] for path in (work / "forms").glob("*.form")}
    assert forms == {"toy_kernels.harmonic"}  # step is in its caller alone
    # The next process finds them and needs neither another one nor a word.
    assert run(work, LONG) == [0, True, False]


@pytest.mark.thorough
def test_a_form_for_the_baseline_serves_this_processor(work: Path) -> None:
    from sparseopt.compiling import baseline_environment

    run(work, SMALL, SPARSEOPT_COMPILE="now", **baseline_environment())
    made = sorted(path.name for path in (work / "forms").glob("*.form"))
    run(work, SMALL, SPARSEOPT_COMPILE="now")
    assert sorted(path.name for path in (work / "forms").glob("*.form")) == made


@pytest.mark.thorough
def test_under_ci_no_process_is_left_behind(work: Path) -> None:
    code = LONG.replace("50_000)", "200)").replace("50_000 *", "200 *") + BUSY
    # However slow the machine is, the work stays too small to be compiled for at once.
    patient = "from sparseopt.compiling import kernel\nkernel.HEAVY = 1e9\n"
    run(work, patient + code, CI="true")
    time.sleep(1.0)
    assert not list((work / "forms").glob("*.form"))


BUSY = """
for _ in range(8):
    toy.harmonic(x, 200)
print("[]")
"""


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "setpriority"), reason="priorities of POSIX")
def test_what_a_short_solve_begins_is_finished_in_the_background(work: Path) -> None:
    code = LONG.replace("50_000)", "200)").replace("50_000 *", "200 *") + BUSY
    run(work, code)
    deadline = time.monotonic() + 60.0
    while time.monotonic() < deadline and not list((work / "forms").glob("*harmonic*.form")):
        time.sleep(0.2)
    assert list((work / "forms").glob("*harmonic*.form"))


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processor time as Linux shows it")
def test_ctrl_c_ends_a_wait_at_once(work: Path) -> None:
    code = SMALL.replace("import numpy as np", "import numpy as np\nprint('go', flush=True)")
    process = start(work, code, SPARSEOPT_COMPILE="now")
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(0.4)
    before = spent(process.pid)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, usage = os.wait4(process.pid, 0)[1:]
    assert time.monotonic() - begin < 3.0
    _, errors = process.communicate()
    assert "KeyboardInterrupt" in errors or not errors
    # a second on a machine that has nothing else to do
    assert usage.ru_utime + usage.ru_stime - before < 1.0


def spent(pid: int) -> float:
    """Return the seconds of processor time of a running process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_mode_that_does_not_exist_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    monkeypatch.setenv("SPARSEOPT_COMPILE", "soon")
    with pytest.raises(ParamError, match="now, later or never, got 'soon'"):
        mode()
    with override(Mode.NEVER):
        assert mode() is Mode.NEVER


Two = namedtuple("Two", "first second")
Addressed = by_address(namedtuple("Addressed", "two scale"))


def test_types_are_found_without_numba_as_numba_finds_them() -> None:
    from numba import typeof

    from sparseopt.compiling.addressed import announce_classes

    announce_classes()
    matrix = np.zeros((3, 4))
    fixed = np.zeros(3, dtype=np.int32)
    fixed.setflags(write=False)
    for value in (
        matrix,
        matrix.T,
        matrix[:, ::2],
        matrix[0],
        matrix[:, 0],
        fixed,
        np.zeros(0, dtype=bool),
        np.zeros((1, 1)),
        1,
        2.0,
        True,
        None,
        np.float64(3.0),
        np.int64(1),
        np.bool_(True),
        np.float32(1.0),
        (1, 2.0),
        (1, 2),
        Two(matrix, 1),
        Two(matrix, matrix),
        Addressed(Two(matrix, True), 1.5),
    ):
        described = json.loads(json.dumps(describe(value)))
        assert numba_types(described) == typeof(value)
        assert describe_type(typeof(value)) == described
    with pytest.raises(TypeError):
        describe("text")
    with pytest.raises(TypeError):
        describe_type(typeof("text"))


def test_views_are_of_the_kind_of_arrays_with_numbers_of_their_own() -> None:
    own = np.zeros(3)
    fixed = own[:2]
    fixed.setflags(write=False)
    assert kind_of(own[:2]) == kind_of(own) == kind_of(np.zeros(0))
    assert kind_of(Two(own[1:], 1)) == kind_of(Two(own, 2))
    others = fixed, np.zeros(6)[::2], np.zeros(3, dtype=int), np.zeros((1, 3)), 1.0
    assert len({kind_of(value) for value in (own, *others)}) == 6


def test_warm_up_refuses_what_it_does_not_know_and_loads_the_rest() -> None:
    import sparseopt

    with pytest.raises(ParamError, match="'lasso'"):
        sparseopt.warm_up(["lasso"])
    seen: list[tuple[str, float]] = []
    sparseopt.warm_up("strs", on_progress=lambda kind, share: seen.append((kind, share)))
    assert seen == [("strs", 0.0)]
