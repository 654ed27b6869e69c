"""A result as a JSON document, version 1, and back; schema/result-v1.json says the same."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sparseopt.errors import ParamError, ProblemError
from sparseopt.io.fields import Fields
from sparseopt.io.results.paths import decode_path, encode_path
from sparseopt.params import SolveParams
from sparseopt.problems.base import Array
from sparseopt.result import Certificate, Limit, Result, Status, Verdict

FORMAT = "sparseopt-result"
VERSION = 1

_BROKEN = (Status.IMPRECISE, Status.NUMERICAL_ERROR, Status.ERROR)
"""Statuses that admit to being no answer: their numbers may be NaN or infinite."""


def result_tree(result: Result) -> dict[str, Any]:
    """Return the document as a tree of JSON values and arrays, in the order of the file.

    Parameters
    ----------
    result : Result

    Returns
    -------
    dict

    Raises
    ------
    ProblemError
        For a kind of path that cannot be saved.
    """
    certificate = result.certificate
    return {
        "format": FORMAT,
        "version": VERSION,
        "instance": result.instance,
        "kind": result.kind,
        "status": result.status.value,
        "limit": None if result.limit is None else result.limit.value,
        "raw_status": result.raw_status,
        "objective": _number(result.objective),
        "bound": _number(result.bound),
        "gap": _number(result.gap),
        "verdict": None if result.verdict is None else result.verdict.value,
        "check_messages": list(result.check_messages),
        "notes": list(result.notes),
        "backend": result.backend,
        "versions": {key: result.versions[key] for key in sorted(result.versions)},
        "params": result.params.to_dict(),
        "options": _values(result.options),
        "build_time": _number(result.build_time),
        "solve_time": _number(result.solve_time),
        "check_time": _number(result.check_time),
        "iterations": None if result.iterations is None else int(result.iterations),
        "nodes": None if result.nodes is None else int(result.nodes),
        "trace": [[_number(value) for value in entry] for entry in result.trace],
        "x": None if result.x is None else np.asarray(result.x),
        "duals": {key: np.asarray(result.duals[key]) for key in sorted(result.duals)},
        "path": None if result.path is None else encode_path(result.path),
        "certificate": None
        if certificate is None
        else {
            "kind": certificate.kind,
            "values": _values(certificate.values),
            "arrays": {
                key: np.asarray(certificate.arrays[key]) for key in sorted(certificate.arrays)
            },
        },
        "arrays": None,
    }


def _number(value: float | None) -> float | str | None:
    if value is None:
        return None
    number = float(value)
    return number if math.isfinite(number) else str(number)


def _values(value: Any) -> Any:
    """Return a value of an option or a certificate for JSON: infinities become objects."""
    if isinstance(value, Mapping):
        return {str(key): _values(value[key]) for key in sorted(value, key=str)}
    if isinstance(value, list | tuple):
        return [_values(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"number": str(value)}
    return value


def _plain(value: Any) -> Any:
    """Return what :func:`_values` was given."""
    if isinstance(value, Mapping):
        if set(value) == {"number"} and value["number"] in ("inf", "-inf", "nan"):
            return float(value["number"])
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def decode_result(document: Mapping[str, Any], entries: Callable[[str], Array]) -> Result:
    """Return the result that a document describes.

    Parameters
    ----------
    document : mapping
        What :func:`result_tree` returned, its arrays encoded.
    entries : callable
        Returns an array of the other file by its name.

    Raises
    ------
    ProblemError
        Naming the field that is missing, unknown, or not what it must be.
    """
    status = Status(Fields(document, "", entries).choice("status", [s.value for s in Status]))
    fields = Fields(document, "", entries, finite=status not in _BROKEN)
    for informative in ("format", "version", "status", "arrays"):
        fields.raw(informative)
    limits, verdicts = [limit.value for limit in Limit], [verdict.value for verdict in Verdict]
    values: dict[str, Any] = {
        "status": status,
        "limit": None if fields.is_null("limit") else Limit(fields.choice("limit", limits)),
        "raw_status": fields.text("raw_status"),
        "x": None if fields.is_null("x") else fields.array("x", infinite=False),
        "objective": _optional_number(fields, "objective"),
        "bound": _optional_number(fields, "bound"),
        "duals": _arrays(fields.object("duals")),
        "path": None if fields.is_null("path") else decode_path(fields.object("path")),
        "certificate": None
        if fields.is_null("certificate")
        else _certificate(fields.object("certificate")),
        "build_time": fields.seconds("build_time"),
        "solve_time": fields.seconds("solve_time"),
        "check_time": fields.seconds("check_time"),
        "iterations": None if fields.is_null("iterations") else fields.count("iterations"),
        "nodes": None if fields.is_null("nodes") else fields.count("nodes"),
        "trace": tuple(_trace_entry(item) for item in fields.items("trace")),
        "verdict": None
        if fields.is_null("verdict")
        else Verdict(fields.choice("verdict", verdicts)),
        "check_messages": tuple(fields.texts("check_messages")),
        "params": _params(fields.mapping("params")),
        "options": _plain(fields.mapping("options")),
        "backend": fields.text("backend"),
        "versions": _versions(fields.object("versions")),
        "fingerprint": _fingerprint(fields),
        "kind": fields.text("kind"),
        "notes": tuple(fields.texts("notes")),
    }
    _optional_number(fields, "gap")  # the reader compares it where the problem is known
    fields.end()
    try:
        return Result(**values)
    except ValueError as error:
        raise ProblemError(str(error), "limit") from error


def _optional_number(fields: Fields, name: str) -> float | None:
    return None if fields.is_null(name) else fields.number(name, infinite=True)


def _arrays(fields: Fields) -> dict[str, Array]:
    return {key: fields.array(key) for key in fields.names()}


def _certificate(fields: Fields) -> Certificate:
    certificate = Certificate(
        kind=fields.text("kind"),
        arrays=_arrays(fields.object("arrays")),
        values=_plain(fields.mapping("values")),
    )
    fields.end()
    return certificate


def _trace_entry(item: Fields) -> tuple[float, float | None, float | None]:
    parts = item.items("value")
    if len(parts) != 3:
        raise item.error("value", "seconds, objective and bound")
    seconds, objective, bound = parts
    return (
        seconds.seconds("value"),
        _optional_number(objective, "value"),
        _optional_number(bound, "value"),
    )


def _params(given: Mapping[str, Any]) -> SolveParams:
    unknown = sorted(set(given) - set(SolveParams.names()))
    if unknown:
        raise ProblemError(f"params.{unknown[0]} is no parameter of a solve", "params")
    try:
        return SolveParams(**given)
    except ParamError as error:
        raise ProblemError(f"params: {error}", "params") from error


def _versions(fields: Fields) -> dict[str, str]:
    return {key: fields.text(key) for key in fields.names()}


def _fingerprint(fields: Fields) -> str | None:
    if fields.is_null("instance"):
        return None
    fingerprint = fields.text("instance")
    if not re.fullmatch(r"[0-9a-f]{64}", fingerprint):
        raise fields.error("instance", "the SHA-256 of an instance, 64 hexadecimal digits")
    return fingerprint
