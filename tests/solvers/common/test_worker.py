"""Solvers share threads: as many as run at the same time, also after an error or a fork."""

import os
import threading
import time

import pytest

from sparseopt.backend import Control
from sparseopt.params import SolveParams
from sparseopt.solvers.common.watch import watched


def run(job):
    return watched(job, lambda: None, Control(params=SolveParams()))


def test_threads_are_used_again():
    used = []

    def job():
        used.append(threading.get_ident())

    for _ in range(100):
        run(job)
    # A new one only where the last one has ended its call, but is not back in the pool.
    assert len(set(used)) <= 3
    assert threading.get_ident() not in used


def test_a_thread_that_saw_an_error_goes_on():
    def job():
        raise ValueError("broken")

    for _ in range(20):
        with pytest.raises(ValueError, match="broken"):
            run(job)
    done = []
    run(lambda: done.append(True))
    assert done


def test_calls_at_the_same_time_have_threads_of_their_own():
    together = threading.Barrier(3, timeout=10.0)
    callers = [threading.Thread(target=run, args=(together.wait,)) for _ in range(3)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not together.broken


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_starts_threads_of_its_own():
    run(lambda: None)
    time.sleep(0.01)
    child = os.fork()
    if child == 0:
        done = []
        run(lambda: done.append(True))
        os._exit(0 if done else 1)
    for _ in range(1000):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        time.sleep(0.01)
    else:
        os.kill(child, 9)
        os.waitpid(child, 0)
    assert ended == child
    assert os.waitstatus_to_exitcode(status) == 0
