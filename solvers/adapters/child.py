"""One call of an adapter in a process of its own, for solvers that do not bear each other."""

from __future__ import annotations

import importlib
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparseopt.backend import Control
from sparseopt.errors import BackendError, SparseOptError
from sparseopt.params import SolveParams

from ..common.outcome import Answer, Outcome, Request
from ..common.program import Program
from ..common.watch import watched

if TYPE_CHECKING:
    from .adapter import Adapter

__all__ = ["in_child", "serve"]

_CODE = "from sparseopt.solvers.adapters.child import serve; serve()"


def in_child(adapter: Adapter, program: Program, request: Request, control: Control) -> Answer:
    """Let another process call the solver; a limit ends that process, and nothing is known then.

    Raises
    ------
    SparseOptError
        What the other process raised.
    BackendError
        When it ended without an answer.
    """
    place = (type(adapter).__module__, type(adapter).__qualname__)
    answer: Any = None
    with tempfile.TemporaryDirectory(prefix="sparseopt-") as folder:
        # Not by standard output, which is for the log.
        place_of_answer = Path(folder) / "answer"
        job = pickle.dumps((place, program, request, control.remaining, str(place_of_answer)))
        if sys.stdout is not None:
            sys.stdout.flush()
        child = subprocess.Popen(
            [sys.executable, "-c", _CODE],
            stdin=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            # Ctrl-C in a terminal goes to all processes of a session: it is for this one.
            start_new_session=True,
        )
        limit = watched(lambda: child.communicate(job), child.kill, control)
        if place_of_answer.exists():
            answer = pickle.loads(place_of_answer.read_bytes())
    if isinstance(answer, SparseOptError):
        raise answer
    if isinstance(answer, Answer):
        return answer
    if limit is not None:
        return Answer(outcome=Outcome.LIMIT, raw="ended", limit=limit)
    raise BackendError(f"{adapter.name} ended its process without an answer: {child.returncode}")


def serve() -> None:
    """Read a job from standard input, call the solver, and write its answer to the job's file."""
    (module, name), program, request, remaining, path = pickle.load(sys.stdin.buffer)
    adapter = getattr(importlib.import_module(module), name)()
    control = Control(params=SolveParams(time_limit=remaining))
    answer: Answer | SparseOptError
    try:
        answer = adapter.run_here(program, request, control)
    except SparseOptError as error:
        answer = error
    except Exception as error:
        answer = BackendError(f"{adapter.name} failed: {type(error).__name__}: {error}")
    part = Path(path).with_suffix(".part")
    part.write_bytes(pickle.dumps(answer))
    # At once: a process that is ended meanwhile leaves no half of an answer.
    part.replace(path)
