"""False paths over whole numbers, budgets and sizes, and results of another instance.

Places are swapped, left out, repeated or given the values of another one, with all else restated
so that it fits: what is changed is what the path says of some budget or size, and it is false.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from sparseopt import Result
from sparseopt.paths.budget import BudgetPath, CountChanges
from sparseopt.paths.supports import SupportPath

Array = np.ndarray
FALSE = 1e-6
"""By how much two places must differ for one to be false in the place of the other."""
VALUES = ("objective", "bound", "certified")


def false_places(
    problem: Any, result: Result, rng: np.random.Generator
) -> Iterator[tuple[str, Result]]:
    """Yield (name, false result) of a path over budgets or sizes.

    Parameters
    ----------
    problem : Problem
    result : Result
        A true one with the status OPTIMAL.
    rng : Generator
    """
    path = result.path
    if not isinstance(path, BudgetPath | SupportPath) or len(path.objective) < 3:
        return
    count = len(path.objective)
    scale = FALSE * max(float(np.abs(path.objective).max()), problem.value_unit)
    for _ in range(3):
        i, j = (int(k) for k in rng.permutation(count)[:2])
        if abs(path.objective[i] - path.objective[j]) <= scale:
            continue
        order = np.arange(count)
        order[[i, j]] = j, i
        yield "swapped places", _arranged(result, order)
        yield (
            "swapped values",
            _restated(result, {name: getattr(path, name)[order] for name in VALUES}),
        )
        other = np.arange(count)
        other[i] = j
        yield "another's place", _arranged(result, other)
        for names in (("objective",), ("bound",), ("objective", "bound"), VALUES):
            values = {name: getattr(path, name)[other] for name in names}
            yield "another's values", _restated(result, values)
    gone = int(rng.integers(count))
    left = np.delete(np.arange(count), gone)
    again = np.insert(np.arange(count), gone, gone)
    for name, order in (("a missing place", left), ("a repeated place", again)):
        yield name, _arranged(result, order, True)
        yield f"{name}, renumbered", _arranged(result, order)
    yield "shifted numbers", _numbered(result, path.knots + 1)
    yield "doubled numbers", _numbered(result, path.knots * 2)
    yield "places backwards", _arranged(result, np.arange(count)[::-1], True)


def of_another_instance(result: Result) -> Iterator[tuple[str, Result]]:
    """Yield results that say that they belong to another instance, or another kind of problem."""
    known = result.fingerprint or result.problem.fingerprint()
    turned = known[::-1] if known[::-1] != known else known[1:] + known[:1]
    bare = {"problem": None}
    yield "another fingerprint", result.with_changes(fingerprint=turned, **bare)
    yield "no hash", result.with_changes(fingerprint="", **bare)
    kind = "lad-lasso" if result.kind != "lad-lasso" else "clime"
    yield "another kind", result.with_changes(kind=kind, fingerprint=known, **bare)


def _restated(result: Result, values: dict[str, Array]) -> Result:
    """Return a result whose path has other values, and which states the last of them itself."""
    path = replace(result.path, **values)
    return result.with_changes(
        path=path, objective=float(path.objective[-1]), bound=float(path.bound[-1]), trace=()
    )


def _numbered(result: Result, knots: Array) -> Result:
    name = "budgets" if isinstance(result.path, BudgetPath) else "sizes"
    return result.with_changes(path=replace(result.path, **{name: knots}), trace=())


def _arranged(result: Result, order: Array, numbers: bool = False) -> Result:
    """Return a result whose places are those of `order`, with their numbers or the usual ones."""
    path: Any = result.path
    values = {name: getattr(path, name)[order] for name in VALUES}
    if isinstance(path, BudgetPath):
        counts = np.array([path.changes.dense(int(k), path.nodes) for k in order])
        values["changes"] = CountChanges.from_columns(len(order), list(counts.T))
        knots, name = path.budgets, "budgets"
        x = result.x if path.kind == "graph" else counts[-1].astype(np.asarray(result.x).dtype)
    else:
        points = [path.at(path.sizes[k]) for k in order]
        on = [np.flatnonzero(x) for x in points]
        values |= {
            "ptr": np.cumsum([0, *map(len, on)]),
            "index": np.concatenate(on),
            "value": np.concatenate([x[k] for x, k in zip(points, on, strict=True)]),
        }
        knots, name, x = path.sizes, "sizes", points[-1]
    values[name] = knots[order] if numbers else knots[0] + np.arange(len(order))
    certificate = result.certificate
    if certificate is not None and "multiplier" in certificate.arrays:
        arrays = {**certificate.arrays, "multiplier": certificate.arrays["multiplier"][order]}
        certificate = replace(certificate, arrays=arrays)
    return _restated(result.with_changes(x=x, certificate=certificate), values)
