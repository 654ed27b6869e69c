"""The other end of :class:`~sparseopt.solvers.common.child.PythonWorker`."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import threadpoolctl

from ..common.child import LOG, MARK
from . import jobs

__all__ = ["serve"]


def serve() -> None:
    """Answer requests, one JSON object a line, until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    words = _own_words()
    for line in sys.stdin:
        try:
            _answer(json.loads(line))
            said = "done"
        except BaseException as error:
            said = "failed " + " ".join(f"{type(error).__name__}: {error}".split())
        words.write(f"{MARK}{said}\n")
        words.flush()


def _own_words() -> TextIO:
    """Keep the pipe to ourselves: what libraries print goes nowhere."""
    words = os.fdopen(os.dup(1), "w", encoding="utf-8")
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)
    return words


def _answer(request: dict[str, Any]) -> None:
    job = jobs.JOBS[request["function"]]
    if request.get("import"):
        jobs.load(job)
        return
    folder = Path(request["folder"])
    with np.load(folder / "in.npz", allow_pickle=False) as given:
        arrays = dict(given)
    with _log(folder, request["verbose"]), threadpoolctl.threadpool_limits(request["threads"]):
        out = job.run(**arrays, **request["values"])
    np.savez(folder / "out.npz", **out)


@contextmanager
def _log(folder: Path, verbose: bool) -> Iterator[None]:
    """Keep what is printed in a file, where it is asked for."""
    if not verbose:
        yield
        return
    nowhere = os.dup(1)
    with (folder / LOG).open("wb") as log:
        os.dup2(log.fileno(), 1)
        try:
            yield
        finally:
            sys.stdout.flush()
            os.dup2(nowhere, 1)
            os.close(nowhere)
