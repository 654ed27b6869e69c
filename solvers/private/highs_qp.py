"""The backend ``highs-qp``: a fit to an embedding as a quadratic program in HiGHS."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from sparseopt.backend import Backend, Control, Feature, Option
from sparseopt.errors import UnsupportedProblem
from sparseopt.params import SolveParams
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.private.embedding_fit import EmbeddingFit
from sparseopt.result import Limit, Result, Status

from ..adapters.adapter import Adapter
from ..common.child import PYTHON
from ..common.outcome import Outcome
from ..common.program import Program
from ..common.served import needs
from ..highs.instance import STATUS_MAP, Instance
from .answer import as_result, polished

_CYCLES = 100_000
"""Iterations after which the active-set method is taken to cycle, as it may in far units."""


class HighsQP(Backend):
    r"""The residual as variables of its own, so that the Hessian is diagonal.

    .. math:: \min_{a, r} \; \|r\|_2^2 \quad\text{subject to}\quad
              \Phi'a - r = \mu,\; \sum_i a_i = 1,\; a \ge 0

    HiGHS' active-set method adds 1e-7 to the Hessian's diagonal; the best affine combination of the
    atoms that it chooses takes that away again. It looks at no Ctrl-C, so it runs in a child
    process, which a limit ends.

    References
    ----------
    Huangfu and Hall (2018), Parallelizing the dual revised simplex method.
    """

    name: ClassVar[str] = "highs-qp"
    summary: ClassVar[str] = "the quadratic programs of HiGHS; an outside check of nearest-point"
    requires: ClassVar[tuple[str, ...]] = ("highspy",)
    families: ClassVar[frozenset[str]] = frozenset({"private"})
    features: ClassVar[frozenset[Feature]] = frozenset({Feature.EXACT, Feature.DUAL_BOUND})
    limits: ClassVar[frozenset[str]] = frozenset({"iteration_limit"})
    options: ClassVar[Mapping[str, Option]] = {"max_entries": Adapter.options["max_entries"]}

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        assert isinstance(problem, EmbeddingFit)
        n, d = problem.Phi.shape
        if n * d > options["max_entries"]:
            raise UnsupportedProblem(
                f"highs-qp: {n} x {d} features are more than max_entries = "
                f"{options['max_entries']:g}: use nearest-point, or raise it"
            )
        unit = math.sqrt(problem.largest_term) or 1.0
        found = PYTHON.run(
            solve_once,
            control,
            {"Phi": problem.Phi / unit, "mu": problem.mu / unit},
            params={
                name: getattr(params, name)
                for name in ("seed", "threads", "verbose", "iteration_limit")
            },
        )
        if isinstance(found, Limit):
            return Result(status=Status.NO_SOLUTION, limit=found, raw_status=found.value)
        raw, a = str(found["raw"]), found.get("point")
        limit = STATUS_MAP.get(str(found["status"]), (Outcome.FAILED, None))[1]
        if limit is Limit.ITERATION and params.iteration_limit is None:
            limit = None
        if a is None or not a.max() > 0.0:
            status = Status.NUMERICAL_ERROR if limit is None else Status.NO_SOLUTION
            return Result(status=status, limit=limit, raw_status=raw)
        x = polished(problem, a)
        return as_result(problem, params, x, int(found["iterations"]), limit, raw)


@needs("highspy", "scipy.sparse")
def solve_once(Phi: Array, mu: Array, *, params: Mapping[str, Any]) -> dict[str, Any]:
    """Solve the quadratic program; runs in a child process.

    Parameters
    ----------
    Phi : array of shape (n, d)
    mu : array of shape (d,)
    params : mapping
        Parameters of the solve.

    Returns
    -------
    dict
        HiGHS' "status" by name and as words, "raw", "iterations", and "point", the n weights, where
        there are any.
    """
    n, d = Phi.shape
    weighted = sp.csc_array(np.vstack([Phi.T, np.ones((1, n))]))
    residual = sp.eye_array(d + 1, d, format="csc") * -1.0
    free, sides = np.full(d, np.inf), np.append(mu, 1.0)
    instance = Instance(Control(SolveParams(**params)))
    instance.load(
        Program(
            cost=np.zeros(n + d),
            matrix=sp.csc_array(sp.hstack([weighted, residual])),
            row_low=sides,
            row_high=sides,
            low=np.concatenate([np.zeros(n), -free]),
            high=np.concatenate([np.full(n, np.inf), free]),
            quadratic=sp.diags_array(np.repeat([0.0, 1.0], [n, d]), format="csc"),
        )
    )
    allowed = params["iteration_limit"]
    instance.set_option("qp_iteration_limit", _CYCLES if allowed is None else allowed)
    run = instance.run()
    found: dict[str, Any] = {
        "raw": run.raw,
        "status": instance.highs.getModelStatus().name,
        "iterations": max(0, int(instance.highs.getInfo().qp_iteration_count)),
    }
    point = instance.point()
    return found if point is None else {**found, "point": point[:n]}
