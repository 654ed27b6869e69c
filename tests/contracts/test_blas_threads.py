"""The limit of BLAS threads is the process's, and concurrent solves hold and release it."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import threadpoolctl

import sparseopt
from sparseopt import blas
from sparseopt.backend import Backend
from sparseopt.blas import blas_threads
from sparseopt.checking import run
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


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(
    ("factorises", "large", "asked", "engine", "checker"),
    [
        (False, 1, None, 1, 1),
        (True, 10**9, None, 1, 1),
        (True, 1, None, 3, 1),
        (True, 1, 2, 2, 2),
        (False, 1, 1, 1, 1),
    ],
)
def test_blas_has_one_thread_unless_asked_or_large_matrices_are_factorised(
    monkeypatch, factorises, large, asked, engine, checker
):
    problem = DantzigSelector(X=np.eye(3), y=[3.0, 2.0, 1.0])
    seen = []

    def spied(module, name):
        inner = getattr(module, name)
        spy = lambda *given: (seen.append(max(counts().values())), inner(*given))[1]  # noqa: E731
        monkeypatch.setattr(module, name, spy)

    spied(run, "_judge")
    spied(Backend, "_guarded")
    monkeypatch.setattr(blas, "_LARGE", large)
    monkeypatch.setattr(Backend, "factorises", factorises)
    with threadpoolctl.threadpool_limits(3):
        sparseopt.solve(problem, lam=1.0, threads=asked)
    assert seen == [engine, checker]


def test_the_largest_array_counts():
    assert DantzigSelector(X=np.eye(3), y=[3.0, 2.0, 1.0]).entries == 9
