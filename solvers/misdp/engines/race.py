"""Two engines on two cores: branch and bound here, outer approximation in another process."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Self

import numpy as np

from sparseopt.backend import Cancel, Control
from sparseopt.blas import blas_threads
from sparseopt.errors import BackendError
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.problem import MISDP
from sparseopt.result import Certificate, Limit, Result, Status

from ...common.child import PythonChild
from ...common.served import needs
from ..settings import RACE_AFTER
from .search_options import SEARCH_OPTIONS

_PROVEN = (Status.OPTIMAL, Status.INFEASIBLE, Status.UNBOUNDED)
_FIELDS = (
    *("status", "raw_status", "x", "objective", "bound", "nodes", "iterations", "trace", "notes"),
    *("certificate",),
)


class Race:
    """``misdp-oa`` in a child process while the enclosed search runs; the first proof ends both.

    It starts after half a second, from the incumbent of that moment, and only with two threads or
    more and without a limit of nodes. Where it proves an answer first, with a certificate, the
    search here is interrupted; where the search ends first, the child is killed. What a child
    cannot do (it fails, or it stops without a proof) is not missed.

    Parameters
    ----------
    problem : MISDP
        As it was given.
    options : mapping
        Those of ``misdp-bnb``.
    control : Control
        Of the search here.
    incumbent : callable
        Returns the best point of the search here, of what it works on, or None.

    Attributes
    ----------
    answer : Result or None
        What the child has proven.
    """

    def __init__(
        self,
        problem: MISDP,
        options: Mapping[str, Any],
        control: Control,
        incumbent: Callable[[], Array | None],
    ) -> None:
        self.answer: Result | None = None
        self._problem, self._options, self._control = problem, options, control
        self._incumbent = incumbent
        self._over = threading.Event()
        self._cancel = Cancel()
        self._blas = ExitStack()
        params = control.params
        raced = (params.threads or 1) > 1 and params.node_limit is None
        self._runner = threading.Thread(target=self._run, daemon=True) if raced else None

    def __enter__(self) -> Self:
        if self._runner is not None:
            self._blas.enter_context(blas_threads(1))
            self._runner.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._over.set()
        self._cancel.cancel()
        if self._runner is not None:
            self._runner.join()
            self._blas.close()

    def _run(self) -> None:
        """Wait, start the other engine, and end the search where it has a proof."""
        if self._over.wait(RACE_AFTER):
            return
        control, begun = self._control, self._control.elapsed
        params = replace(control.params, threads=1, verbose=False, time_limit=control.remaining)
        x = self._incumbent()
        question = {
            "problem": self._problem,
            "params": params,
            "options": {name: self._options[name] for name in SEARCH_OPTIONS},
            "start": x if x is None or control.up is None else np.asarray(control.up(x)),
        }
        child = PythonChild()
        try:
            found = child.run(
                outer_approximation,
                Control(params=params, cancel=self._cancel),
                {"question": _packed(question)},
            )
        except BackendError:
            return
        finally:
            child.end()
        if isinstance(found, Limit):
            return
        known = pickle.loads(found["answer"].tobytes())
        if known["status"] in _PROVEN and known["certificate"] is not None:
            known["trace"] = tuple((begun + t, *rest) for t, *rest in known["trace"])
            known["notes"] = (*known["notes"], "misdp-oa, in a second process, proved it first")
            self.answer = Result(**known)
            control.interrupted = True


@needs("sparseopt.solvers.misdp.engines.oa")
def outer_approximation(question: Array) -> dict[str, Array]:
    """Solve in a child process.

    Parameters
    ----------
    question : array of bytes
        A pickle, from the process that started this one.

    Returns
    -------
    dict
        "answer": the pickle of a result's fields.
    """
    from .oa import OuterApproximationBackend

    given = pickle.loads(question.tobytes())
    result = OuterApproximationBackend().solve(
        given["problem"], given["params"], given["options"], given["start"]
    )
    answer = {name: getattr(result, name) for name in _FIELDS}
    proof = result.certificate
    if proof is not None:
        answer["certificate"] = Certificate(proof.kind, dict(proof.arrays), dict(proof.values))
    return {"answer": _packed(answer)}


def _packed(value: object) -> Array:
    return np.frombuffer(pickle.dumps(value), dtype=np.uint8)
