"""Tampered results by name: what somebody would send who wants to fool the checker.

:func:`lies` takes a true result and yields false ones; none may come out verified.
:func:`damages` leaves the statements as they are and breaks the evidence; no exception may escape.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from sparseopt import Certificate, Limit, Result, Status
from sparseopt.paths.budget import CountChanges
from sparseopt.paths.parametric import GridPath, SparseRows

HOSTILE = (np.nan, np.inf, -np.inf, 1e308, -1e308)
STOPS = ("time", "max_knots", "max_nonzeros", "infeasible_below", "unbounded_below", "a dream", "")
PATH_NUMBERS = ("objective", "bound", "values", "bounds", "theta", "nu", "low", "high", "value")


def lies(problem: Any, result: Result, other: Result | None = None) -> Iterator[tuple[str, Result]]:
    """Yield (name, false result).

    Parameters
    ----------
    problem : Problem
    result : Result
        A true one with the status OPTIMAL.
    other : Result, optional
        That of another problem of the same shape with another optimum.
    """
    yield from _numbers(problem, result)
    yield from _points(problem, result)
    yield from _statuses(problem, result)
    yield from _additions(problem, result)
    if result.path is not None:
        yield from _paths(problem, result)
    if other is not None:
        yield from _foreign(result, other)


def damages(result: Result) -> Iterator[tuple[str, Result]]:
    """Yield (name, result whose certificate is broken); its statements may still be proven."""
    certificate = result.certificate
    if certificate is None:
        return
    yield "no certificate", result.with_changes(certificate=None)
    yield "an unknown certificate", _with_certificate(result, {}, kind="invented")
    for name, array in certificate.arrays.items():
        array = np.asarray(array)
        rest = {key: value for key, value in certificate.arrays.items() if key != name}
        yield f"{name} dropped", result.with_changes(certificate=replace(certificate, arrays=rest))
        for word, bad in _broken(array):
            yield f"{name} {word}", _with_certificate(result, {name: bad})


def _with_certificate(result: Result, changes: dict[str, Any], kind: str | None = None) -> Result:
    old = result.certificate
    assert old is not None
    new = Certificate(kind or old.kind, {**old.arrays, **changes}, old.values)
    return result.with_changes(certificate=new)


def _broken(array: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    yield "is text", np.array(["x"] * max(array.size, 1))
    yield "is an object", np.array([None])
    yield "is a scalar", np.array(1.0)
    yield "is empty", array[:0] if array.ndim else array
    if array.size == 0 or array.ndim == 0:
        return
    yield "is reversed", array[::-1].copy()
    yield "is longer", np.concatenate([array, array[-1:]])
    if array.dtype.kind in "iu":
        for value in (-1, 2**40):
            yield f"is {value}", np.full_like(array, value, dtype=np.int64)
    elif array.dtype.kind == "f":
        for value in (*HOSTILE, 0.0):
            yield f"is {value}", np.full_like(array, value)
            one = array.copy()
            one.flat[0] = value
            yield f"begins with {value}", one
    elif array.dtype.kind == "b":
        yield "is turned over", ~array


def _numbers(problem: Any, result: Result) -> Iterator[tuple[str, Result]]:
    sign = 1.0 if problem.sense == "min" else -1.0
    scale = max(abs(result.objective), problem.value_unit)
    yield "no objective", result.with_changes(objective=None)
    yield "no bound", result.with_changes(bound=None)
    yield "neither", result.with_changes(objective=None, bound=None)
    for value in HOSTILE:
        yield f"objective {value}", result.with_changes(objective=value)
        yield f"bound {value}", result.with_changes(bound=value)
        yield f"both {value}", result.with_changes(objective=value, bound=value)
    for step in (1e-3, 0.1, 10.0):
        better, worse = (result.objective + s * sign * step * scale for s in (-1.0, 1.0))
        yield f"objective better by {step}", result.with_changes(objective=better)
        yield f"objective worse by {step}", result.with_changes(objective=worse)
        yield f"bound beyond by {step}", result.with_changes(bound=worse)
        yield f"both better by {step}", result.with_changes(objective=better, bound=better)
        yield f"both worse by {step}", result.with_changes(objective=worse, bound=worse)


def _points(problem: Any, result: Result) -> Iterator[tuple[str, Result]]:
    x = np.asarray(result.x)
    yield "no point", result.with_changes(x=None)
    yield "a longer point", result.with_changes(x=np.append(x, 0.0))
    yield "a shorter point", result.with_changes(x=x[:-1])
    yield "a text for a point", result.with_changes(x=np.array(["1"] * len(x)))
    largest = int(np.argmax(np.abs(x)))
    for value in HOSTILE:
        bad = x.astype(float)
        bad.flat[largest] = value
        yield f"x[{largest}] is {value}", result.with_changes(x=bad)
    if x.flat[largest] != 0.0:
        for name, factor in (("x moved", 1.0 + 1e-3), ("x turned", -10.0)):
            bad = x.astype(float)
            bad.flat[largest] *= factor
            at = () if result.params.lam is None else (result.params.lam,)
            if result.path is not None or not _is_as_good(problem, result.objective, bad, *at):
                yield name, result.with_changes(x=bad)


def _is_as_good(problem: Any, objective: float, x: np.ndarray, *at: float) -> bool:
    """Return whether another point is an optimum, too, as where a variable without costs moves."""
    if not (np.abs(x) < 1e100).all() or max(problem.residuals(x, *at).values()) > 1e-12:
        return False
    other = problem.objective(x, *at)
    return bool(abs(other - objective) <= 1e-14 * max(abs(objective), problem.value_unit))


def _statuses(problem: Any, result: Result) -> Iterator[tuple[str, Result]]:
    for status in Status:
        if status in (Status.OPTIMAL, Status.CONVERGED):
            continue
        limited = status in (Status.FEASIBLE, Status.NO_SOLUTION)
        changes = {"status": status, "limit": Limit.TIME if limited else None}
        if status is not Status.FEASIBLE:
            yield f"status {status.value}", result.with_changes(**changes)
        bare = Result(**changes, params=result.params, kind=result.kind, problem=result.problem)
        if status is not Status.INF_OR_UNB:
            yield f"nothing but the status {status.value}", bare
            yield (
                f"{status.value} with the certificate",
                bare.with_changes(certificate=result.certificate),
            )
        yield f"{status.value} with a bound", bare.with_changes(bound=result.bound)
        yield f"{status.value} with an objective", bare.with_changes(objective=result.objective)
        if result.path is not None:
            yield f"{status.value} with a path", bare.with_changes(path=result.path)


def _additions(problem: Any, result: Result) -> Iterator[tuple[str, Result]]:
    """Statements that nobody asked for."""
    invented = {"invented": np.ones(3)}
    yield "multipliers invented", result.with_changes(duals={**result.duals, **invented})
    if "rows" in result.duals:
        rows = np.asarray(result.duals["rows"])
        for word, bad in (("doubled", 2.0 * rows + 1.0), ("shorter", rows[:-1])):
            yield f"multipliers {word}", result.with_changes(duals={"rows": bad})
    sign = 1.0 if problem.sense == "min" else -1.0
    scale = max(abs(result.objective), problem.value_unit)
    better = result.objective - sign * scale
    for name, trace in (
        ("a better objective", ((0.1, better, None),)),
        ("a bound beyond", ((0.1, None, result.objective + sign * scale),)),
        ("time that runs backwards", ((0.2, None, None), (0.1, None, None))),
        ("NaN", ((0.1, float("nan"), None),)),
        ("an endless time", ((float("inf"), None, None),)),
    ):
        yield f"a trace with {name}", result.with_changes(trace=trace)


def _paths(problem: Any, result: Result) -> Iterator[tuple[str, Result]]:
    path: Any = result.path
    yield "no path", result.with_changes(path=None)

    def with_path(**changes: Any) -> Result:
        return result.with_changes(path=replace(path, **changes))

    for word in STOPS:
        if word != path.stopped_by:
            yield f"stopped by {word or 'nothing'}", with_path(stopped_by=word)
    for field in fields(path) if is_dataclass(path) else ():
        value = getattr(path, field.name)
        if field.name == "names" and len(value) > 1:
            yield "names swapped", with_path(names=[value[1], value[0], *value[2:]])
            yield "names of another", with_path(names=[f"other{k}" for k in range(len(value))])
        elif field.name == "separated":
            yield "separated everywhere", with_path(separated=np.ones_like(value))
        elif field.name == "certified":
            # Only what is called certified claims something.
            if not np.asarray(value).all():
                yield "certified everywhere", with_path(certified=np.ones_like(value))
        elif isinstance(value, np.ndarray) and field.name in PATH_NUMBERS and value.size:
            for word, bad in _moved(value):
                if not (field.name == "theta" and _are_as_good(problem, path, bad)):
                    yield f"path.{field.name} {word}", with_path(**{field.name: bad})
        elif isinstance(value, SparseRows) and value.value.size:
            for part in ("value", "rate"):
                for word, bad in _moved(getattr(value, part)):
                    rows = replace(value, **{part: bad})
                    yield f"path.{field.name}.{part} {word}", with_path(**{field.name: rows})
        elif isinstance(value, CountChanges) and value.count.size:
            more = replace(value, count=value.count + 1)
            yield "counts larger", with_path(**{field.name: more})
            turned = replace(value, node=value.node[::-1].copy())
            if not np.array_equal(turned.node, value.node):
                yield "counts of other nodes", with_path(**{field.name: turned})


def _are_as_good(problem: Any, path: Any, theta: np.ndarray) -> bool:
    """Return whether other points of a grid are optima, too, as where a median is an interval."""
    return isinstance(path, GridPath) and all(
        _is_as_good(problem, value, x, lam)
        for value, x, lam in zip(path.values, theta, path.knots.tolist(), strict=True)
    )


def _moved(array: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Numbers that are false, as they must be where the largest entry is another one."""
    at = int(np.argmax(np.abs(np.where(np.isfinite(array), array, 0.0))))
    entry = float(array.flat[at])
    if entry == 0.0 or np.isinf(entry):
        return
    for word, value in (
        ("doubled", 2.0 * entry),
        ("turned", -entry),
        *((f"is {bad}", bad) for bad in HOSTILE),
    ):
        bad = array.astype(float)
        bad.flat[at] = value
        yield word, bad


def _foreign(result: Result, other: Result) -> Iterator[tuple[str, Result]]:
    """Parts of another problem's result."""
    whole = {
        name: getattr(other, name)
        for name in ("x", "objective", "bound", "duals", "path", "certificate")
    }
    yield "another problem's answer", result.with_changes(**whole)
    for name in ("x", "objective", "path"):
        own = getattr(result, name)
        if own is not None and not (name == "x" and np.array_equal(own, whole[name])):
            yield f"another problem's {name}", result.with_changes(**{name: whole[name]})
    if result.duals:
        yield "another problem's duals", result.with_changes(duals=other.duals)
    if result.path is None and other.path is None:
        numbers = {name: whole[name] for name in ("objective", "bound", "certificate")}
        yield "another problem's bound and proof", result.with_changes(**numbers)
