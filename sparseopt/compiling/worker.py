"""The process that compiles: requests come by its standard input, one JSON object in a line.

The first line says where modules are found, and whether the process works in the background: then
it is of low priority, and leaves at once when another one is at work. The others each name a
function and the types of its arguments. The answers are JSON, too: how many functions of how many
are compiled, and how it ended. The process leaves when it has waited for a request in vain.
"""

from __future__ import annotations

import base64
import contextlib
import gc
import json
import os
import pickle
import queue
import signal
import sys
import threading
import zlib
from typing import Any

from sparseopt.installed import resolve

from .content import parts
from .kernel import Kernel, compile_here
from .signature import numba_types
from .store import store

_IDLE = 2.0
"""Seconds without a request after which the process leaves."""
_TURNS = 16
"""Locks among which the functions are distributed."""
_PROCESSOR_TIME = 1800
"""Seconds of processor time after which something is wrong."""


def main() -> None:
    """Compile what is asked for."""
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent's affair
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (_PROCESSOR_TIME, _PROCESSOR_TIME))
    # numba leaves little that only a collection frees, and LLVM's memory is none of it.
    gc.disable()
    settings = json.loads(sys.stdin.readline())
    sys.path[:] = settings["path"]
    kept = store()
    if kept is None:
        return
    if not settings["background"]:
        _work()
        return
    if hasattr(os, "nice"):
        os.nice(19)
    with kept.alone() as alone:
        if alone:
            _work()
            kept.remove_unused()


def _work() -> None:
    requests: queue.SimpleQueue[str] = queue.SimpleQueue()

    def read() -> None:
        for line in sys.stdin:
            requests.put(line)

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            line = requests.get(timeout=_IDLE)
        except queue.Empty:
            return
        request = json.loads(line)
        try:
            _compile(request)
            reason = ""
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"[:500]
        _answer(id=request["id"], ended=True, reason=reason)


def _compile(request: dict[str, Any]) -> None:
    kernel = resolve(request["function"])
    if not isinstance(kernel, Kernel):
        raise TypeError(f"{request['function']} is not a compiled function")
    if "pickled" in request:  # by the parent, whose process this is
        sig = pickle.loads(base64.b64decode(request["pickled"]))
    else:
        sig = tuple(map(numba_types, request["arguments"]))
    number, done = parts(kernel.py_func, kernel.targetoptions), 0

    def saved() -> None:
        nonlocal done
        done += 1
        _answer(id=request["id"], done=done, of=max(number, done))

    kept = store()
    assert kept is not None
    # Of several processes that want a function at the same time, one compiles and the others load.
    turn = zlib.crc32(request["function"].encode()) % _TURNS
    with kept.alone(f"turn-{turn}", wait=True):
        compile_here(kernel, sig, saved)


def _answer(**fields: Any) -> None:
    # In the background the parent may have left: the work goes on.
    with contextlib.suppress(OSError):
        print(json.dumps(fields), flush=True)


if __name__ == "__main__":
    main()
    # What the pipe did not take is nobody's business any more.
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    os._exit(0)
