"""Tasks in joblib's workers, which may be killed."""

from __future__ import annotations

import os
import signal
from concurrent.futures import CancelledError

import pytest

from sparseopt.errors import BackendError, ParamError
from sparseopt.workers import in_workers, surviving


def test_one_worker_needs_no_joblib():
    assert list(in_workers(pow, [(2, 3), (3, 2)])) == [8, 9]
    assert list(surviving(pow, lambda k: (k, 2), range(4))) == [(0, 0), (1, 1), (2, 4), (3, 9)]
    assert list(surviving(pow, lambda k: None if k == 2 else (k, 2), range(4))) == [(0, 0), (1, 1)]


def test_errors_of_a_task_are_its_own():
    pytest.importorskip("joblib", reason="several workers need joblib")
    with pytest.raises(ZeroDivisionError):
        list(surviving(divmod, lambda k: (1, k), range(3), 2, "threading"))
    with pytest.raises(ParamError, match="n_jobs is 0"):
        list(surviving(pow, lambda k: (k, 2), range(3), 0))


def test_what_dask_cancels_is_done_again():
    pytest.importorskip("joblib", reason="several workers need joblib")
    lost = []

    def once(k):
        if k == 1 and not lost:
            lost.append(k)
            raise CancelledError
        return k * k

    assert dict(surviving(once, lambda k: (k,), range(4), 2, "threading")) == {
        k: k * k for k in range(4)
    }
    assert lost == [1]


@pytest.mark.thorough
def test_lost_workers_lose_no_task_and_a_deadly_task_is_given_up(tmp_path):
    pytest.importorskip("joblib", reason="several workers need joblib")
    mark = tmp_path / "killed"

    def once(k, deadly):
        # by value: the workers do not see this module
        if k == 2 and (deadly or not mark.exists()):
            with mark.open("a") as file:
                file.write("x")
            os.kill(os.getpid(), signal.SIGKILL)
        return k * k

    found = dict(surviving(once, lambda k: (k, False), range(5), 2, "loky"))
    assert found == {k: k * k for k in range(5)}
    with pytest.raises(BackendError, match="workers were lost 4 times in a row"):
        list(surviving(once, lambda k: (k, True), [2], 2, "loky"))
    assert mark.read_text() == "x" * 5
