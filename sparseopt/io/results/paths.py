"""Paths in result files: how each kind of ``PathResult`` is written.

A family states the format of its paths in :attr:`sparseopt.families.Family.paths`, by their kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.families import families
from sparseopt.installed import resolve
from sparseopt.io.fields import Fields
from sparseopt.paths.base import PathResult
from sparseopt.paths.budget import BudgetPath, CountChanges
from sparseopt.paths.columns import ColumnwisePath
from sparseopt.paths.graph import GraphPath
from sparseopt.paths.parametric import GridPath, ParametricPath, SparseRows
from sparseopt.paths.quantiles import QuantilePath
from sparseopt.paths.supports import SupportPath
from sparseopt.problems.base import Array
from sparseopt.problems.budget.candidates import Candidates

_LARGEST = 2**62
_LONGEST = 10**9


@dataclass(frozen=True)
class PathFormat:
    """How one kind of path is written.

    Attributes
    ----------
    encode : callable
        From the path to a tree of JSON values and arrays, without "kind".
    decode : callable
        From the fields of that object to the path; it makes sure of shapes and index ranges, so
        that using the path cannot fail. Whether the path is true is the checker's question.
    schema : mapping
        The JSON schema of the object, with "kind". It may refer to the definitions of
        schema/result-v1.json, such as ``{"$ref": "#/$defs/array"}``.
    """

    encode: Callable[[Any], dict[str, Any]]
    decode: Callable[[Fields], PathResult]
    schema: Mapping[str, Any]


def _formats() -> dict[str, Any]:
    return {kind: format for family in families().values() for kind, format in family.paths.items()}


def path_schemas() -> dict[str, Mapping[str, Any]]:
    """Return the JSON schema of each kind of path."""
    return {kind: resolve(reference).schema for kind, reference in _formats().items()}


def encode_path(path: PathResult) -> dict[str, Any]:
    """Return a tree of JSON values and arrays.

    Parameters
    ----------
    path : PathResult

    Returns
    -------
    dict

    Raises
    ------
    ProblemError
        For a kind of path that has no format.
    """
    formats = _formats()
    if path.kind not in formats:
        raise ProblemError(f"a path of the kind {path.kind!r} cannot be saved: it has no format")
    return {"kind": path.kind, **resolve(formats[path.kind]).encode(path)}


def decode_path(fields: Fields) -> PathResult:
    """Return the path.

    Parameters
    ----------
    fields : Fields
        Of the object "path" of the document.

    Returns
    -------
    PathResult

    Raises
    ------
    ProblemError
        For an unknown kind, or fields that do not fit together.
    """
    formats = _formats()
    path: PathResult = resolve(formats[fields.choice("kind", sorted(formats))]).decode(fields)
    fields.end()
    return path


def _encode_parametric(path: ParametricPath) -> dict[str, Any]:
    return {
        "stopped_by": path.stopped_by,
        "names": list(path.names),
        "shape": [int(n) for n in path.shape],
        "low": path.low,
        "high": path.high,
        "objective": path.objective,
        "theta": _encode_rows(path.theta),
        "nu": _encode_rows(path.nu),
    }


def _encode_rows(rows: SparseRows) -> dict[str, Any]:
    return {name: getattr(rows, name) for name in ("ptr", "index", "value", "rate")}


def _decode_parametric(fields: Fields) -> ParametricPath:
    names = fields.texts("names")
    low = fields.vector("low")
    if len(low) == 0:
        raise ProblemError(f"{fields.name('low')} is empty; a path has at least one segment")
    m, p = _shape(fields)
    if len(names) != p:
        raise ProblemError(f"{fields.name('names')} has {len(names)} entries; expected {p}")
    return ParametricPath(
        low=low,
        high=fields.vector("high", len(low), infinite=True),
        theta=_decode_rows(fields.object("theta"), len(low), p),
        nu=_decode_rows(fields.object("nu"), len(low), m),
        objective=fields.floats("objective", (len(low), 3)),
        shape=(m, p),
        names=names,
        stopped_by=fields.text("stopped_by"),
    )


def _shape(fields: Fields) -> tuple[int, int]:
    sizes = [item.count("value") for item in fields.items("shape")]
    if len(sizes) != 2 or max(sizes) > _LONGEST:
        raise fields.error("shape", f"two sizes of at most {_LONGEST}")
    return sizes[0], sizes[1]


def _decode_rows(fields: Fields, count: int, length: int) -> SparseRows:
    index = fields.indices("index", None, 0, max(length, 1))
    rows = SparseRows(
        ptr=_pointers(fields, count, len(index)),
        index=index,
        value=fields.vector("value", len(index)),
        rate=fields.vector("rate", len(index)),
    )
    fields.end()
    return rows


def _pointers(fields: Fields, count: int, end: int) -> Array:
    """Return the field ptr, which divides `end` entries into `count` parts."""
    ptr = fields.indices("ptr", count + 1, 0, end + 1)
    if ptr[0] != 0 or ptr[-1] != end or (np.diff(ptr) < 0).any():
        raise ProblemError(f"{fields.name('ptr')} must rise from 0 to {end}")
    return ptr


def _encode_grid(path: GridPath) -> dict[str, Any]:
    return {
        "stopped_by": path.stopped_by,
        "names": list(path.names),
        **{name: getattr(path, name) for name in ("knots", "theta", "nu", "values", "bounds")},
    }


def _decode_grid(fields: Fields) -> GridPath:
    names = fields.texts("names")
    knots = fields.vector("knots")
    if len(knots) == 0:
        raise ProblemError(f"{fields.name('knots')} is empty; a path has at least one value")
    return GridPath(
        knots=knots,
        theta=fields.floats("theta", (len(knots), len(names))),
        nu=fields.floats("nu", (len(knots), None)),
        values=fields.vector("values", len(knots), infinite=True),
        bounds=fields.vector("bounds", len(knots), infinite=True),
        names=names,
        stopped_by=fields.text("stopped_by"),
    )


def _encode_quantiles(path: QuantilePath) -> dict[str, Any]:
    return {
        "stopped_by": path.stopped_by,
        "names": list(path.names),
        **{name: getattr(path, name) for name in ("design", "y", "counts", "levels", "theta")},
        "bases": path.bases.ravel(),
        **{name: getattr(path, name) for name in ("leaving", "above", "moves")},
    }


def _decode_quantiles(fields: Fields) -> QuantilePath:
    names, y, levels = fields.texts("names"), fields.vector("y"), fields.vector("levels")
    n, p, count = len(y), len(names), len(levels) - 1
    if min(n, p, count) < 1:
        raise ProblemError(f"{fields.name('levels')}, y or names is too short for a path")
    if levels[0] != 0.0 or levels[-1] != 1.0 or (np.diff(levels) <= 0.0).any():
        raise ProblemError(f"{fields.name('levels')} must rise from 0 to 1")
    leaving = fields.indices("leaving", None, 0, n)
    moves = fields.indices("moves", count, 0, len(leaving) + 1)
    if (np.diff(moves) < 0).any():
        raise ProblemError(f"{fields.name('moves')} must not fall")
    return QuantilePath(
        design=fields.floats("design", (n, p)),
        y=y,
        counts=fields.vector("counts", n),
        levels=levels,
        theta=fields.floats("theta", (count, p)),
        bases=fields.indices("bases", count * p, 0, n).reshape(count, p),
        leaving=leaving,
        above=_truths(fields, "above", len(leaving)),
        moves=moves,
        names=names,
        stopped_by=fields.text("stopped_by"),
    )


def _encode_budget(path: BudgetPath) -> dict[str, Any]:
    return {
        "stopped_by": path.stopped_by,
        "nodes": int(path.nodes),
        "budgets": path.budgets,
        "objective": path.objective,
        "bound": path.bound,
        "certified": path.certified,
        "changes": {name: getattr(path.changes, name) for name in ("ptr", "node", "count")},
    }


def _decode_budget(fields: Fields) -> BudgetPath:
    return BudgetPath(**_budget_parts(fields))


def _budget_parts(fields: Fields) -> dict[str, Any]:
    parts, count, nodes = _integer_parts(fields, "budgets", "nodes")
    inner = fields.object("changes")
    node = inner.indices("node", None, 0, max(nodes, 1))
    changes = CountChanges(
        ptr=_pointers(inner, count, len(node)),
        node=node,
        count=inner.indices("count", len(node), 0, _LARGEST),
    )
    inner.end()
    return {**parts, "changes": changes}


def _integer_parts(fields: Fields, knots: str, length: str) -> tuple[dict[str, Any], int, int]:
    """Return what all paths over whole numbers have, the number of knots, and a point's length."""
    numbers = fields.indices(knots, None, 0, _LARGEST)
    count = len(numbers)
    if count == 0:
        raise ProblemError(f"{fields.name(knots)} is empty; a path has at least one value")
    entries = fields.count(length)
    if entries > _LONGEST:
        raise fields.error(length, f"at most {_LONGEST}")
    parts = {
        knots: numbers,
        length: entries,
        "objective": fields.vector("objective", count, infinite=True),
        "bound": fields.vector("bound", count, infinite=True),
        "certified": _truths(fields, "certified", count),
        "stopped_by": fields.text("stopped_by"),
    }
    return parts, count, entries


def _truths(fields: Fields, name: str, count: int) -> Array:
    array = fields.array(name)
    if array.dtype != np.bool_ or array.shape != (count,):
        raise ProblemError(f"{fields.name(name)}: expected {count} truth values")
    return array


def _encode_columnwise(path: ColumnwisePath) -> dict[str, Any]:
    return {
        "stopped_by": path.stopped_by,
        "columns": [_encode_parametric(column) for column in path.columns],
    }


def _decode_columnwise(fields: Fields) -> ColumnwisePath:
    columns = []
    for item in fields.items("columns"):
        inner = item.object("value")
        columns.append(_decode_parametric(inner))
        inner.end()
    if not columns:
        raise ProblemError(f"{fields.name('columns')} is empty; a path has at least one column")
    return ColumnwisePath(columns=columns, stopped_by=fields.text("stopped_by"))


def _encode_graph(path: GraphPath) -> dict[str, Any]:
    candidates: dict[str, Any] = {"ptr": path.candidates.ptr, "index": path.candidates.index}
    if path.candidates.coordinates is not None:
        candidates["coordinates"] = path.candidates.coordinates
    return {
        **_encode_budget(path),
        "supports": path.supports,
        "separated": path.separated,
        "candidates": candidates,
        "loss": path.loss,
        "scaling": path.scaling,
        "ridge": float(path.ridge),
    }


def _decode_graph(fields: Fields) -> GraphPath:
    parts = _budget_parts(fields)
    nodes = parts["nodes"]
    inner = fields.object("candidates")
    index = inner.indices("index", None, 0, max(nodes, 1))
    ptr = _pointers(inner, nodes, len(index))
    coordinates = None
    if "coordinates" in inner.names():
        coordinates = inner.floats("coordinates", (nodes, None))
    inner.end()
    candidates = Candidates(ptr, index, coordinates)
    # The counts are looked up in the supports: those of each node end with its candidates.
    changes = parts["changes"]
    if (changes.count > candidates.sizes[changes.node]).any():
        raise ProblemError(f"{fields.name('changes')}: a count exceeds its node's candidates")
    entries = candidates.total + nodes
    return GraphPath(
        **parts,
        supports=fields.indices("supports", entries, 0, _LARGEST),
        separated=_truths(fields, "separated", entries),
        candidates=candidates,
        loss=fields.choice("loss", ["gaussian", "ising"]),
        scaling=fields.choice("scaling", ["standardised", "rss", "nlogrss"]),
        ridge=fields.number("ridge"),
    )


def _encode_supports(path: SupportPath) -> dict[str, Any]:
    return {
        "stopped_by": path.stopped_by,
        "variables": int(path.variables),
        "sizes": path.sizes,
        "objective": path.objective,
        "bound": path.bound,
        "certified": path.certified,
        "points": {name: getattr(path, name) for name in ("ptr", "index", "value")},
    }


def _decode_supports(fields: Fields) -> SupportPath:
    parts, count, variables = _integer_parts(fields, "sizes", "variables")
    inner = fields.object("points")
    index = inner.indices("index", None, 0, max(variables, 1))
    path = SupportPath(
        **parts,
        ptr=_pointers(inner, count, len(index)),
        index=index,
        value=inner.vector("value", len(index), infinite=True),
    )
    inner.end()
    return path


PARAMETRIC = PathFormat(_encode_parametric, _decode_parametric, {"$ref": "#/$defs/parametricPath"})
GRID = PathFormat(_encode_grid, _decode_grid, {"$ref": "#/$defs/gridPath"})
COLUMNWISE = PathFormat(_encode_columnwise, _decode_columnwise, {"$ref": "#/$defs/columnwisePath"})
QUANTILES = PathFormat(_encode_quantiles, _decode_quantiles, {"$ref": "#/$defs/quantilePath"})
BUDGET = PathFormat(_encode_budget, _decode_budget, {"$ref": "#/$defs/budgetPath"})
GRAPH = PathFormat(_encode_graph, _decode_graph, {"$ref": "#/$defs/graphPath"})
SUPPORTS = PathFormat(_encode_supports, _decode_supports, {"$ref": "#/$defs/supportPath"})
