"""A backend that does what a test tells it to."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from sparseopt import Backend, Limit, Option, Result, Status
from sparseopt.problems import STRS

PROBLEM = STRS(A=np.diag([1.0, 3.0, 2.0]), d=1)
BEST = np.array([0.0, 1.0, 0.0])


def optimal(*_: Any) -> Result:
    """Answer PROBLEM truthfully."""
    return Result(status=Status.OPTIMAL, x=BEST, objective=3.0, bound=3.0)


def incumbent(limit: Limit) -> Result:
    """Answer PROBLEM with a point that is not the best."""
    x = np.array([1.0, 0.0, 0.0])
    return Result(status=Status.FEASIBLE, limit=limit, x=x, objective=1.0, bound=9.0)


class Scripted(Backend):
    """Calls `script(problem, params, options, control)`."""

    name = "scripted"
    summary = "does as it is told"
    families = frozenset({"strs"})
    features = frozenset()
    options: ClassVar = {
        "flag": Option(bool, False, "a truth value"),
        "count": Option(int, 3, "a number of things", low=1),
        "rate": Option(float, 0.5, "a share", low=0.0),
        "rule": Option(str, "a", "a choice", choices=("a", "b")),
    }

    def __init__(self, script: Callable[..., Any] = optimal) -> None:
        self.script = script

    def _solve(self, problem, params, options, control):
        return self.script(problem, params, options, control)
