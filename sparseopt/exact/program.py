"""The verdict on a result, and why."""

# mypy: ignore-errors

from __future__ import annotations

import math
import time
from pathlib import Path

from .budget.budgets import check_budget
from .budget.subsets import check_subset
from .common.files import fingerprint, read_instance, read_result, readable
from .common.verdicts import Clock, Refuted, Unproven, Unreadable
from .embeddings import check_embedding
from .misdp.conic import check_misdp
from .parametric.claims import check_parametric
from .strs.components import check_component
from .strs.spheres import check_sphere
from .subspaces import check_robust

CHECKS = {
    "strs": check_sphere,
    "strs-path": check_sphere,
    "kernel-selection": check_sphere,
    "sparse-component": check_component,
    "sparse-regression": check_subset,
    "sparse-logistic-regression": check_subset,
    "budget-tables": check_budget,
    "l0-graphical-model": check_budget,
    "misdp": check_misdp,
    "robust-subspace": check_robust,
    "embedding-fit": check_embedding,
}

PATHS = {
    "strs-path": ("supports",),
    "strs": ("supports",),
    "kernel-selection": ("supports",),
    "budget-tables": ("budget",),
    "l0-graphical-model": ("graph",),
}
LINES = ("parametric", "columnwise", "grid", "quantiles")
"""Kinds of paths that results of each kind of problem may have; the latter of parametric ones."""

BASES = (
    "robust-subspace",
    "l1-subspace",
    "moment-subspace",
    "mmd-subspace",
    "sufficient-reduction",
)
"""Kinds whose points are matrices; all others have vectors."""


def check(
    instance: str | Path,
    result: str | Path,
    seconds: float = 600.0,
    rel_gap: float | None = None,
) -> tuple[str, str]:
    """Return a verdict, "proven", "refuted" or "unproven", and why.

    Parameters
    ----------
    instance : path
        Of an instance, ``.npz``.
    result : path
        Of its result, ``.json``.
    seconds : float, default 600
        Of processor time, after which the verdict is "unproven".
    rel_gap : float, optional
        The relative gap that an optimal result may leave, and no absolute one, instead of the gaps
        that the result was asked for. A result that is right but for this is "unproven".

    Raises
    ------
    Unreadable, OSError
        When a file is not what it should be, or the result belongs to another instance.
    """
    if rel_gap is not None and not 0.0 <= rel_gap < math.inf:
        raise ValueError(f"the gap is {rel_gap}; expected a number of at least 0")
    Clock.end = time.process_time() + seconds
    try:
        with readable():
            header, arrays = read_instance(instance)
            claimed = read_result(result)
            own = claimed["instance"] == fingerprint(header, arrays)
        if not own or claimed["kind"] not in ("", header["kind"]):
            raise Unreadable("the result belongs to another instance")
        if rel_gap is None:
            return _judged(header, arrays, claimed)
        own = {"rel_gap": rel_gap, "abs_gap": 0.0}
        strict, why = _judged(header, arrays, claimed | {"params": claimed["params"] | own})
        if strict != "refuted":
            return strict, why
        verdict, message = _judged(header, arrays, claimed)
        if verdict == "refuted":
            return verdict, message
        return "unproven", f"it is not optimal up to the gap of {rel_gap:g}: {why}"
    finally:
        Clock.end = math.inf


def _judged(header: dict, arrays: dict, claimed: dict) -> tuple[str, str]:
    """Return the verdict on a claim, and why."""
    try:
        if claimed["status"] not in ("optimal", "feasible", "infeasible", "unbounded"):
            raise Unproven(f"the status {claimed['status']} claims nothing that is covered")
        solved = claimed["status"] in ("optimal", "feasible")
        stated = claimed["x"], claimed["objective"], claimed["bound"]
        if solved and None in (stated if claimed["status"] == "optimal" else stated[:2]):
            raise Refuted("a point, its objective and its bound belong to this status")
        if solved and claimed["bound"] is None:
            raise Unproven("no bound is stated")
        vectors = [*claimed["duals"].values(), *([claimed["x"]] if claimed["x"] else [])]
        if any(len(table.shape) != 1 for table in vectors) and header["kind"] not in BASES:
            raise Refuted("a point or multipliers are no vector")
        parametric = header["kind"] not in CHECKS
        kinds = PATHS.get(header["kind"], () if header["kind"] in CHECKS else LINES)
        if claimed["path"] is not None and claimed["path"]["kind"] not in kinds:
            raise Refuted("there is a path that does not belong to this problem")
        if set(claimed["duals"]) - ({"rows"} if parametric else set()):
            raise Unproven("there are multipliers that are not covered")
        if not solved and (claimed["x"], claimed["path"]) != (None, None):
            raise Refuted("a point or a path does not belong to this status")
        worst = (
            math.inf
            if (header["sense"] == "min") == (claimed["status"] == "infeasible")
            else -math.inf
        )
        if not solved and not {claimed["objective"], claimed["bound"]} <= {None, worst}:
            raise Refuted("an objective or a bound contradicts this status")
        return "proven", CHECKS.get(header["kind"], check_parametric)(header, arrays, claimed)
    except Refuted as error:
        return "refuted", str(error)
    except Unproven as error:
        return "unproven", str(error)
    except (
        IndexError,
        KeyError,
        TypeError,
        AttributeError,
        ZeroDivisionError,
    ) as error:
        return "refuted", f"the evidence is malformed ({type(error).__name__}: {error})"
    except RecursionError:
        return "unproven", "too large: a tree is too deep"
    except OverflowError as error:
        return "unproven", f"a guess in floating point leaves its range ({error})"
    except ValueError as error:
        return "refuted", f"the evidence is malformed ({error})"
