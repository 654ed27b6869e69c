"""A budget that several releases share: composition, copies, threads, processes and crashes."""

import copy
import importlib
import json
import math
import multiprocessing
import os
import pickle
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone

from sparseopt import ParamError, private
from sparseopt.estimators import PrivateMeanEmbedding
from sparseopt.private.gaussian import gaussian_delta

ledgers = importlib.import_module("sparseopt.private.ledger")

FEATURES = private.FeatureMap([private.Number("x", 0.0, 1.0)], tolerance=1e-2)
TABLE = {"x": np.linspace(0.0, 1.0, 20)}
HALF = {"epsilon": 0.5, "delta": 1e-6}
"""A release: four of them are within (1, 1e-5)."""


def release(ledger, **changes):
    return private.release(TABLE, **{**HALF, "features": FEATURES, "ledger": ledger, **changes})


ONE = release(None).statement


def fill(ledger):
    """Release until the budget is spent, and return how often that was possible."""
    for count in range(100):
        try:
            ledger.add(ONE)
        except ParamError as error:
            assert "budget" in str(error)
            return count
    raise AssertionError("the budget is never spent")


@pytest.fixture(scope="module")
def most():
    return fill(private.Ledger(1.0, 1e-5))


@pytest.fixture(params=["memory", "file"])
def ledger(request, tmp_path):
    path = tmp_path / "ledger.jsonl" if request.param == "file" else None
    return private.Ledger(epsilon=1.0, delta=1e-5, path=path)


def test_releases_add_up_and_are_refused(ledger, most):
    assert ledger.spent == 0.0
    release(ledger)
    before = ledger.spent
    assert 0.0 < before < 1e-5
    assert fill(ledger) == most - 1 and most >= 2
    assert len(ledger.statements) == most and before < ledger.spent <= 1e-5
    total = gaussian_delta(math.hypot(*[statement.eta for statement in ledger.statements]), 1.0)
    assert ledger.spent == pytest.approx(total)


def test_the_exact_budget_is_enough_for_one_release(ledger):
    release(ledger, epsilon=1.0, delta=1e-5)
    with pytest.raises(ParamError, match="budget"):
        release(ledger)


def test_losses_for_other_neighbours_do_not_add_up(ledger):
    release(ledger)
    with pytest.raises(ParamError, match="do not add up"):
        release(ledger, neighbours="add-remove")
    assert len(ledger.statements) == 1


def test_only_statements_that_hold_are_entered(ledger):
    data = json.loads(json.dumps(dict(ONE.data)))
    for changes in ({"sensitivity_squared": 1}, {"variance": -5}, {"variance": "much"}):
        with pytest.raises(ParamError, match="does not hold"):
            ledger.add(private.Statement({**data, **changes}))
    with private.insecure(1), pytest.raises(ParamError, match="NOT PRIVATE"):
        release(ledger)
    assert ledger.statements == ()


def test_what_is_changed_in_a_statement_later_spends_nothing_back(ledger):
    released = release(ledger)
    spent = ledger.spent
    for statement in (released.statement, *ledger.statements):
        statement.data["variance"] *= 10**6
        assert ledger.spent == spent


def test_a_copy_is_the_same_budget(ledger, most):
    model = PrivateMeanEmbedding(features=FEATURES, ledger=ledger, **HALF)
    for each in (ledger, copy.copy(ledger), copy.deepcopy(ledger), clone(model).ledger):
        each.add(ONE)
        if len(ledger.statements) == most:
            break
    assert fill(clone(model).ledger) == most - len(ledger.statements) == 0


@pytest.mark.thorough(after=1)
def test_threads_share_a_budget(ledger, most):
    def attempt(_):
        try:
            ledger.add(ONE)
        except ParamError:
            return 0
        return 1

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(attempt, range(4 * most))) == most
    finally:
        sys.setswitchinterval(interval)
    assert len(ledger.statements) == most


def test_without_a_file_a_budget_stays_in_its_process():
    ledger = private.Ledger(1.0, 1e-5)
    with pytest.raises(TypeError, match="give it a path"):
        pickle.dumps(ledger)
    if not hasattr(os, "fork"):
        return
    reader, writer = multiprocessing.Pipe(duplex=False)

    def child():
        try:
            release(ledger)
            writer.send("released")
        except ParamError as error:
            writer.send(str(error))

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join()
    assert "give it a path" in reader.recv()


@pytest.mark.thorough
def test_processes_share_a_file(tmp_path, most):
    ledger = private.Ledger(1.0, 1e-5, tmp_path / "l.jsonl")
    release(ledger)
    again = pickle.loads(pickle.dumps(ledger))
    assert [dict(one.data) for one in again.statements] == [
        json.loads(json.dumps(dict(one.data))) for one in ledger.statements
    ]
    assert fill(again) == most - 1 and fill(ledger) == 0


DIES = """
import os, sys
import numpy as np
from sparseopt import private
from sparseopt.private import release as module

def dies(*args):
    os._exit(9)

sys.modules["sparseopt.private.release"]._sum = dies
features = private.FeatureMap([private.Number("x", 0.0, 1.0)], tolerance=1e-2)
ledger = private.Ledger(1.0, 1e-5, sys.argv[1])
private.release({"x": [0.5]}, features=features, epsilon=0.5, delta=1e-6, ledger=ledger)
"""


@pytest.mark.thorough
def test_a_crash_wastes_budget_but_hides_no_release(tmp_path, most):
    path = tmp_path / "l.jsonl"
    assert subprocess.run([sys.executable, "-c", DIES, str(path)], check=False).returncode == 9
    ledger = private.Ledger(1.0, 1e-5, path)
    assert len(ledger.statements) == 1
    # A line that was not finished: its release waits for the disk, so there was none.
    whole = path.read_bytes()
    path.write_bytes(whole + whole.splitlines()[1][:100])
    assert len(ledger.statements) == 1
    assert fill(private.Ledger(1.0, 1e-5, path)) == most - 1
    assert len(ledger.statements) == most


def test_a_release_is_not_entered_in_a_file_that_was_moved_away(tmp_path, monkeypatch):
    # Who waited for the lock of a file that is replaced meanwhile would spend what nobody counts.
    path = tmp_path / "l.jsonl"
    ledger, waited = private.Ledger(1.0, 1e-5, path), []
    inner = ledgers.lock_file

    def lock(file):
        inner(file)
        if not waited:
            waited.append(path.rename(tmp_path / "old.jsonl"))
            private.Ledger(1.0, 1e-5, path)

    monkeypatch.setattr(ledgers, "lock_file", lock)
    with pytest.raises(ParamError, match="was replaced"):
        ledger.add(ONE)
    ledger.add(ONE)
    assert len(private.Ledger(1.0, 1e-5, path).statements) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and limits of POSIX")
@pytest.mark.parametrize("room", [0, 50, 1.0, 1.5, 1.999, 2.0], ids=str)
def test_a_full_disk_hides_no_release(room, tmp_path):
    import resource
    import signal

    private.Ledger(1.0, 1e-5, tmp_path / "whole").add(ONE)
    lines = (tmp_path / "whole").read_bytes().splitlines(keepends=True)
    limit = room if isinstance(room, int) else int(len(lines[0]) + (room - 1) * len(lines[1]))
    path = tmp_path / "l.jsonl"

    def child():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        done = 0
        for _ in range(3):
            try:
                release(private.Ledger(1.0, 1e-5, path))
            except ParamError as error:
                assert "cannot be used" in str(error)
            else:
                done += 1
        os._exit(done)

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join()
    assert process.exitcode == (room == 2.0)
    assert len(private.Ledger(1.0, 1e-5, path).statements) == process.exitcode


LOOPS = r"""
import os, sys
from sparseopt import ParamError, private

features = private.FeatureMap([private.Number("x", 0.0, 1.0)], tolerance=1e-2)
log = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
print("ready", flush=True)
while True:
    try:
        ledger = private.Ledger(1.0, 1e-5, sys.argv[1])
        private.release({"x": [0.5]}, features=features, epsilon=0.2, delta=1e-6, ledger=ledger)
    except ParamError as error:
        assert "budget" in str(error)
        break
    os.write(log, b"released\n")
"""


@pytest.mark.thorough
def test_processes_that_are_killed_spend_nothing_twice(tmp_path):
    path, log = tmp_path / "l.jsonl", tmp_path / "log"
    command = [sys.executable, "-c", LOOPS, str(path), str(log)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(3)]
    for process in running:
        process.stdout.readline()
    time.sleep(0.05)
    running[0].kill()
    for process in running:
        process.wait(timeout=120)
        process.stdout.close()
    assert [process.returncode for process in running[1:]] == [0, 0]
    statement = private.release(TABLE, features=FEATURES, epsilon=0.2, delta=1e-6).statement
    possible = private.Ledger(1.0, 1e-5)
    while True:
        try:
            possible.add(statement)
        except ParamError:
            break
    entered, released = len(private.Ledger(1.0, 1e-5, path).statements), log.read_text().split()
    assert entered - 1 <= len(released) <= entered == len(possible.statements)


@pytest.mark.parametrize(
    "changed",
    [
        lambda lines: ["nonsense"],
        lambda lines: [lines[0].replace("1e-05", "0.1"), *lines[1:]],
        lambda lines: [lines[0], lines[1].replace('"sensitivity_squared": ', '"x": 1, "y": ')],
        lambda lines: [lines[0], "[]"],
        lambda lines: lines[:1],
    ],
)
def test_a_file_that_was_changed_is_refused(changed, tmp_path):
    path = tmp_path / "l.jsonl"
    ledger = private.Ledger(1.0, 1e-5, path)
    release(ledger)
    path.write_text("".join(f"{line}\n" for line in changed(path.read_text().splitlines())))
    with pytest.raises(ParamError, match="no ledger of this budget"):
        release(ledger)


def test_another_budget_is_told_in_words(tmp_path):
    path = tmp_path / "l.jsonl"
    release(private.Ledger(1.0, 1e-5, path))
    says = "its budget is epsilon 1.0 and delta 1e-05, and this one is epsilon 2.0 and delta 1e-06$"
    with pytest.raises(ParamError, match=says):
        private.Ledger(2.0, 1e-6, path)
    path.write_text('{"format": "another"}\n')
    with pytest.raises(ParamError, match=r"its first line is not that of a ledger$"):
        private.Ledger(1.0, 1e-5, path)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"epsilon": 0.0}, "budget"),
        ({"delta": math.nan}, "budget"),
        ({"epsilon": "1"}, "expected a number"),
        ({"path": "."}, "cannot be used"),
    ],
)
def test_bad_budgets_are_refused(settings, words):
    with pytest.raises(ParamError, match=words):
        private.Ledger(**{"epsilon": 1.0, "delta": 1e-5, **settings})


def test_a_budget_that_is_stated_twice_is_refused(tmp_path):
    path = tmp_path / "ledger.jsonl"
    assert private.Ledger(1.0, 1e-6, path).spent == 0.0
    text = path.read_text()
    assert '"epsilon": 1.0' in text
    path.write_text(text.replace('"epsilon": 1.0', '"epsilon": 9.0, "epsilon": 1.0'))
    with pytest.raises(ParamError, match="twice"):
        assert private.Ledger(1.0, 1e-6, path).spent
