"""What runs in a child process: the loop that answers requests, in Python and in R."""

from __future__ import annotations

import importlib
import json
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO, TypeVar

import numpy as np

MARK = "@sparseopt "
"""What the lines of the protocol begin with; all else that a child prints is ignored."""
LOG = "log.txt"
"""Where a child keeps what a verbose solve prints."""
_GRACE = 1.0
"""Seconds that an idle child has to end by itself once its parent is gone."""

F = TypeVar("F", bound=Callable[..., dict[str, Any]])


def needs(*modules: str) -> Callable[[F], F]:
    """Name the modules that a function for a child imports."""

    def mark(function: F) -> F:
        function.__dict__["needs"] = modules
        return function

    return mark


def needed(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the modules that a function imports, so that a child does so beforehand.

    Parameters
    ----------
    function : callable

    Returns
    -------
    tuple of str
        Empty where it states none.
    """
    modules: tuple[str, ...] = function.__dict__.get("needs", ())
    return modules


def serve() -> None:
    """Answer requests, one JSON object a line, until the pipe is closed.

    It closes when the parent ends, however it ends: a solve that still runs is ended with it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = _own_pipe()
    requests: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(requests,), daemon=True).start()
    while (line := requests.get()) is not None:
        try:
            _answer(json.loads(line))
            said = "done"
        except BaseException as error:
            said = "failed " + " ".join(f"{type(error).__name__}: {error}".split())
        answers.write(f"{MARK}{said}\n")
        answers.flush()


def _receive(requests: queue.SimpleQueue[str | None]) -> None:
    """Pass requests on; when no more can come, end a process that does not end by itself."""
    for line in sys.stdin:
        requests.put(line)
    requests.put(None)
    time.sleep(_GRACE)
    os._exit(1)


def _own_pipe() -> TextIO:
    """Keep the pipe to ourselves: what libraries print goes nowhere."""
    pipe = os.fdopen(os.dup(1), "w", encoding="utf-8")
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)
    return pipe


def _answer(request: dict[str, Any]) -> None:
    function = getattr(importlib.import_module(request["module"]), request["name"])
    if "import" in request:
        for module in request["import"]:
            importlib.import_module(module)
        return
    folder = Path(request["folder"])
    with np.load(folder / "in.npz", allow_pickle=False) as given:
        arrays = dict(given)
    import threadpoolctl

    with _log(folder, request["verbose"]), threadpoolctl.threadpool_limits(request["threads"]):
        out = function(**arrays, **request["values"])
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


R_LOOP = r"""
receive <- function(folder) {
  types <- c("character", "integer", "integer")
  index <- read.table(file.path(folder, "index.txt"), colClasses = types)
  given <- list()
  for (i in seq_len(nrow(index))) {
    rows <- index[i, 2]
    columns <- index[i, 3]
    file <- file.path(folder, paste0(index[i, 1], ".in"))
    values <- readBin(file, "double", rows * max(columns, 1), endian = "little")
    given[[index[i, 1]]] <- if (columns > 0) matrix(values, rows, columns) else values
  }
  given
}
send <- function(folder, answer) {
  for (name in names(answer)) {
    writeBin(as.double(answer[[name]]), file.path(folder, paste0(name, ".out")), endian = "little")
  }
}
requests <- file("stdin", "r")
repeat {
  line <- readLines(requests, 1)
  if (!length(line)) break
  words <- strsplit(line, "\t")[[1]]
  said <- tryCatch({
    if (words[1] == "library") suppressMessages(library(words[2], character.only = TRUE))
    else send(words[2], suppressWarnings(do.call(words[1], receive(words[2]))))
    "done"
  }, error = function(e) paste("failed", gsub("\n", " ", conditionMessage(e))))
  cat(MARK, said, "\n", sep = "")
  flush(stdout())
}
"""
"""The same loop in R, which reads and writes raw doubles."""
