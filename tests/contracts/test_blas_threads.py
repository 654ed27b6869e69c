"""The limit of BLAS threads is the process's, and concurrent solves hold and release it."""

from __future__ import annotations

import threading

import numpy as np
import threadpoolctl

import sparseopt
from sparseopt.blas import blas_threads
from sparseopt.problems import DantzigSelector


def counts():
    """Return the threads of each BLAS library."""
    info = threadpoolctl.threadpool_info()
    return {pool["filepath"]: pool["num_threads"] for pool in info if pool["user_api"] == "blas"}


def test_holders_that_leave_in_any_order_restore_what_the_first_one_found():
    before = counts()
    one, two = blas_threads(1), blas_threads(2)
    one.__enter__()
    two.__enter__()
    assert set(counts().values()) == {1}
    one.__exit__(None, None, None)
    two.__exit__(None, None, None)
    assert counts() == before


def test_concurrent_solves_leave_the_process_as_it_was():
    problem = DantzigSelector(X=np.eye(3), y=[3.0, 2.0, 1.0])
    sparseopt.solve(problem, lam=1.0)
    before = counts()

    def work():
        for _ in range(3):
            sparseopt.solve(problem, lam=1.0, threads=1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts() == before


def test_the_checker_computes_with_the_threads_that_were_asked_for(monkeypatch):
    from sparseopt.checking import run

    seen = []
    judge = run._judge
    monkeypatch.setattr(
        run, "_judge", lambda *arguments: (seen.append(max(counts().values())), judge(*arguments))
    )
    problem = DantzigSelector(X=np.eye(3), y=[3.0, 2.0, 1.0])
    sparseopt.solve(problem, lam=1.0)
    sparseopt.solve(problem, lam=1.0, threads=1)
    assert seen == [1, 1]
