"""What a solve returns: :class:`Result`, with its status, limit, verdict and certificate."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass, replace
from enum import StrEnum
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from sparseopt.cards import Card, NamedValues
from sparseopt.errors import SparseOptError
from sparseopt.params import SolveParams
from sparseopt.paths.base import PathResult
from sparseopt.problems.base import Array, Problem
from sparseopt.verbs import borrows


class Status(StrEnum):
    """How a solve ended."""

    OPTIMAL = "optimal"
    """Bound and incumbent meet within the asked gap; a path covers the range that was asked."""
    CONVERGED = "converged"
    """An approximate method finished its own work; no global proof."""
    FEASIBLE = "feasible"
    """A limit ended the solve with an answer that is not proven optimal, or with part of a path."""
    NO_SOLUTION = "no_solution"
    """A limit ended the solve before any answer was found."""
    INFEASIBLE = "infeasible"
    """No point satisfies the constraints."""
    UNBOUNDED = "unbounded"
    """There are feasible points, and the objective improves without end.

    Of a path: so it is at some lam of the range, and at none of them is there an optimum.
    """
    INF_OR_UNB = "inf_or_unb"
    """One of both."""
    IMPRECISE = "imprecise"
    """The checker refuted what the backend returned."""
    NUMERICAL_ERROR = "numerical_error"
    ERROR = "error"

    @property
    def has_answer(self) -> bool:
        """Whether this status answers the question: with a point, a path, or a proof of none."""
        return self in _ANSWERS


_ANSWERS = frozenset(
    {Status.OPTIMAL, Status.CONVERGED, Status.FEASIBLE, Status.INFEASIBLE, Status.UNBOUNDED}
)


class Limit(StrEnum):
    """What ended a solve early; set exactly for FEASIBLE and NO_SOLUTION."""

    TIME = "time"
    """The time limit."""
    ITERATION = "iteration"
    """The limit of iterations or pivots."""
    NODE = "node"
    """The limit of nodes of a search tree."""
    MEMORY = "memory"
    """The memory that a backend may take."""
    INTERRUPTED = "interrupted"
    """Ctrl-C, a listener that returned False, or a token that was cancelled."""
    SLOW_PROGRESS = "slow_progress"
    """Nothing got better, mostly by rounding."""


class Verdict(StrEnum):
    """What the independent checker says of a result."""

    VERIFIED = "verified"
    """The certificate proves the claim."""
    UNPROVEN = "unproven"
    """The answer is feasible and consistent; there is no checkable proof of the claim."""
    REFUTED = "refuted"
    """Something that the result states is false."""


@dataclass(frozen=True, eq=False)
class Certificate:
    """The evidence for a claim, in a form that arithmetic alone can verify.

    Parameters
    ----------
    kind : str
        Which verifier reads it: "segments" (a parametric path), "dual" (row multipliers),
        "farkas", "ray", ...; the checker documents the arrays of each.
    arrays : mapping of str to array
    values : mapping of str to JSON values
    """

    kind: str
    arrays: Mapping[str, Array] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)


class Solution(NamedTuple):
    """One of several points.

    Attributes
    ----------
    x : array of shape (n,)
    objective : float
    among_best : bool
        Whether no point of other integers outside the pool is better by more than the gap that was
        asked for, as the certificate proves.
    """

    x: Array
    objective: float
    among_best: bool


def relative_gap(objective: float | None, bound: float | None, unit: float = 1.0) -> float | None:
    """Return abs(objective - bound) / max(abs(objective), abs(bound), 1e-10 unit).

    The unit is the problem's ``value_unit``, 1 for most kinds.

    Parameters
    ----------
    objective, bound : float or None
        Where one of them is None there is no gap.
    unit : float, default 1.0
        What values are relative to where they are smaller, see the formula.

    Returns
    -------
    float or None
        0 to infinity.
    """
    if objective is None or bound is None:
        return None
    if math.isinf(objective) or math.isinf(bound):
        return 0.0 if objective == bound else math.inf
    return abs(objective - bound) / max(abs(objective), abs(bound), 1e-10 * unit)


@borrows
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Result(Card):
    """The answer of one solve, whoever gave it.

    Attributes
    ----------
    status : Status
    limit : Limit or None
        What ended the solve early, for FEASIBLE and NO_SOLUTION only.
    raw_status : str
        The backend's own word.
    x : array or None
        The solution; of a path, the one at its last value of the parameter.
    objective, bound : float or None
        Objective of `x` and the proven bound on the optimum, in the problem's own sense.
    duals : mapping of str to array
        Multipliers by name, where the backend has them ("rows" for parametric problems).
    path : PathResult or None
    certificate : Certificate or None
    build_time, solve_time : float
        Seconds to translate the problem, and to solve it. `check_time`: seconds of the checker.
    iterations, nodes : int or None
    trace : tuple of (seconds, objective, bound)
    verdict : Verdict or None
        The checker's, None where it was not run. `check_messages` says why.
    params, options : what was asked
    backend : str
    versions : mapping of str to str
    instance : str or None
        Fingerprint of the problem, computed when the result is saved or printed.
    notes : tuple of str
        Remarks for the person: why a backend was chosen, what was cut short.
    """

    status: Status
    limit: Limit | None = None
    raw_status: str = ""
    x: Array | None = None
    objective: float | None = None
    bound: float | None = None
    duals: Mapping[str, Array] = field(default_factory=dict)
    path: PathResult | None = None
    certificate: Certificate | None = None
    build_time: float = 0.0
    solve_time: float = 0.0
    check_time: float = 0.0
    iterations: int | None = None
    nodes: int | None = None
    trace: tuple[tuple[float, float | None, float | None], ...] = ()
    verdict: Verdict | None = None
    check_messages: tuple[str, ...] = ()
    params: SolveParams = field(default_factory=SolveParams)
    options: Mapping[str, Any] = field(default_factory=dict)
    backend: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    problem: Any = field(default=None, repr=False)
    fingerprint: str | None = None
    kind: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        limited = self.status in (Status.FEASIBLE, Status.NO_SOLUTION)
        if limited != (self.limit is not None):
            raise ValueError(
                f"status {self.status.value} with limit {self.limit}: a limit is set exactly for "
                "feasible and no_solution"
            )

    @property
    def gap(self) -> float | None:
        """abs(objective - bound) / max(abs(objective), abs(bound), 1e-10 unit).

        The unit is the problem's ``value_unit``, 1 for most kinds and where no problem is known.
        """
        unit = 1.0 if self.problem is None else float(self.problem.value_unit)
        return relative_gap(self.objective, self.bound, unit)

    @property
    def instance(self) -> str | None:
        """Fingerprint of the problem that was solved."""
        if self.fingerprint is None and self.problem is not None:
            object.__setattr__(self, "fingerprint", self.problem.fingerprint())
        return self.fingerprint

    def with_changes(self, **changes: Any) -> Self:
        """Return a copy with some fields replaced."""
        return replace(self, **changes)

    def frozen(self) -> Self:
        """Return a copy whose arrays are read-only: x, duals, the certificate's, the path's.

        A point may be the caller's own warm start, so `x` is copied. The path's arrays are its own:
        they are made read-only where they are.
        """
        proof = self.certificate
        if isinstance(proof, Certificate):
            proof = replace(proof, arrays=_views(proof.arrays))
        if self.path is not None:
            _freeze(self.path)
        x = self.x.copy() if isinstance(self.x, np.ndarray) else self.x
        _freeze(x)
        return replace(self, x=x, duals=_views(self.duals), certificate=proof)

    @property
    def pool(self) -> tuple[Solution, ...]:
        """The best points of different integers, where several were asked for; best first."""
        arrays = {} if self.certificate is None else self.certificate.arrays
        if "pool_x" not in arrays:
            return ()
        sign = -1.0 if getattr(self.problem, "sense", "min") == "max" else 1.0
        end = sign * float(arrays["pool_bound"][0])
        least, share = self.params.abs_gap, max(self.params.rel_gap, 1e-9)
        return tuple(
            Solution(x, value, sign * value <= end + max(least, share * abs(value)))
            for x, value in zip(
                arrays["pool_x"], np.asarray(arrays["pool_objective"]).tolist(), strict=True
            )
        )

    def residuals(self) -> dict[str, float]:
        """Violations of the constraints by `x`, by name (needs the problem and a point)."""
        if self.problem is None or self.x is None:
            return {}
        return dict(self.problem.residuals(self.x, self.last_lam))

    @property
    def last_lam(self) -> float | None:
        """The value of the parameter (lam, or a size) that `x` belongs to, where there is one."""
        if self.path is not None:
            return self.path.end
        value = self.params.lam if self.params.size is None else self.params.size
        return float(value) if isinstance(value, float | int) else None

    def raise_for_status(self) -> Self:
        """Return the result itself when it answers the question.

        Raises
        ------
        SparseOptError
            When it does not: no solution, refuted, or failed.
        """
        if not self.status.has_answer:
            detail = "; ".join(self.check_messages) or self.raw_status or "no further detail"
            if self.limit is not None:
                detail = f"ended by the limit {self.limit.value!r} before there was an answer"
            raise SparseOptError(f"{self.backend}: {self.status.value} ({detail})")
        return self

    def summary(self) -> dict[str, Any]:
        """Return the facts that a person or a script asks for first, ready for JSON."""
        return {
            "status": self.status.value,
            "limit": self.limit.value if self.limit else None,
            "objective": _json_number(self.objective),
            "bound": _json_number(self.bound),
            "gap": _json_number(self.gap),
            "verdict": self.verdict.value if self.verdict else None,
            "backend": self.backend,
            "kind": self.kind,
            "lam": self.last_lam,
            "knots": len(self.path.knots) if self.path is not None else None,
            "stopped_by": self.path.stopped_by if self.path is not None else None,
            "iterations": self.iterations,
            "nodes": self.nodes,
            "build_time": self.build_time,
            "solve_time": self.solve_time,
            "check_time": self.check_time,
            "raw_status": self.raw_status,
            "versions": dict(self.versions),
            "notes": list(self.notes),
            "check_messages": list(self.check_messages),
            "instance": self.instance,
        }

    @property
    def coefficients(self) -> NamedValues:
        """The entries of `x` by name, where the problem names them.

        Raises
        ------
        SparseOptError
            When there is no point, or the problem's entries have no names.
        """
        names = getattr(self.problem, "coefficient_names", None)
        if self.x is None or names is None:
            missing = "point" if self.x is None else "names of its entries"
            raise SparseOptError(f"this result has no {missing}")
        return NamedValues(names, self.x)

    folded: ClassVar[frozenset[str]] = frozenset({"gap", "path", "time", "notes"})

    def sketch(self) -> str:
        """Return a small picture of the path, of the largest coefficients, or of the point."""
        if self.path is not None:
            return str(self.path.sketch())
        if self.x is None or self.problem is None:
            return ""
        if hasattr(self.problem, "coefficient_names"):
            return self.coefficients.sketch()
        return str(self.problem.sketch(np.asarray(self.x)))

    def facts(self) -> Mapping[str, Any]:
        """Return what a person reads first, by name."""
        path = self.path
        named = self.x is not None and hasattr(self.problem, "coefficient_names")
        return {
            "status": self.status.value + (f" ({self.limit.value})" if self.limit else ""),
            "verdict": self.verdict.value if self.verdict else None,
            "objective": self.objective,
            "backend": " for ".join(filter(None, (self.backend, self.kind))) or None,
            "gap": self.gap,
            "path": None if path is None else repr(path),
            path.parameter if path is not None else "lam": self.last_lam,
            "nonzero": self.coefficients if named else None,
            "time": f"{self.build_time + self.solve_time:.3g} s, check {self.check_time:.3g} s",
            "solutions": f"{len(self.pool)}, the last {self.pool[-1].objective:.10g}"
            if self.pool
            else None,
            "notes": "; ".join(self.notes) or None,
        }

    if TYPE_CHECKING:  # lent by the top of the package, see sparseopt.verbs

        def save(self, path: str | PathLike[str]) -> None: ...

        def select(self, by: str = "ebic", problem: Any = None, **options: Any) -> Any: ...

        def plot(self, ax: Any = None, **style: Any) -> Any: ...

        def to_html(self, title: str = "") -> str: ...


def _views(arrays: Any) -> Any:
    """Return the mapping with read-only views of its arrays; what is no mapping as it is."""
    if not isinstance(arrays, Mapping):
        return arrays
    views = {k: v.view() if isinstance(v, np.ndarray) else v for k, v in arrays.items()}
    _freeze(views)
    return views


_PLAIN = frozenset({str, int, float, bool, type(None)})


def _freeze(value: object) -> None:
    """Make the arrays of a value read-only; those of a problem are its own affair."""
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, Mapping):
        for part in value.values():
            _freeze(part)
    elif isinstance(value, list | tuple):
        # Lists of names may be long.
        for part in value:
            if type(part) not in _PLAIN:
                _freeze(part)
    elif isinstance(value, PathResult) or (
        is_dataclass(value) and not isinstance(value, type | Problem)
    ):
        _freeze(getattr(value, "__dict__", {}))


def _json_number(value: float | None) -> float | str | None:
    """JSON has no infinities: write them as strings."""
    if value is None or math.isfinite(value):
        return value
    return str(value)
