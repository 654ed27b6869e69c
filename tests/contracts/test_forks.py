"""A process that is forked while a thread of its parent computes: nobody there frees the locks."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest

from sparseopt import blas
from sparseopt.compiling import kernel
from sparseopt.solvers.common.child import PYTHON

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def _blas() -> None:
    with blas.blas_threads(1):
        np.ones(4) @ np.ones(4)
    assert not blas._held


def _kernels() -> None:
    with kernel._lock:
        pass


def _child() -> None:
    with PYTHON._turn:
        pass


@pytest.mark.parametrize(
    ("lock", "use"),
    [
        (lambda: blas._lock, _blas),
        (lambda: blas.blas_threads(1), _blas),
        (lambda: kernel._lock, _kernels),
        (lambda: PYTHON._turn, _child),
    ],
    ids=["blas", "limit", "kernels", "child"],
)
def test_locks_are_free_in_a_fork(lock, use):
    held, done = threading.Event(), threading.Event()

    def hold():
        with lock():
            held.set()
            done.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    try:
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                signal.alarm(10)
                use()
                code = 0
            finally:
                os._exit(code)
        _, status = os.waitpid(pid, 0)
    finally:
        done.set()
        holder.join()
    assert os.waitstatus_to_exitcode(status) == 0
