"""The header of an instance file, version 1: schema/instance-header-v1.json in words and code."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from sparseopt.errors import ProblemError
from sparseopt.problems import Problem
from sparseopt.problems.base import problem_class

FORMAT = "sparseopt-instance"
VERSION = 1
FACTS = ("name", "generator", "reference", "license", "citation")
"""What :func:`sparseopt.save` takes beside the problem."""

_REFERENCE = {
    "lam": "number",
    "primal": "value",
    "dual": "value",
    "status": "text",
    "source": "text",
    "note": "text",
}


def checked_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts about an instance that are known, in the order of the file.

    Parameters
    ----------
    facts : mapping
        ``name, license, citation``: text. ``generator``: text, or an object that says how to make
        the instance again. ``reference``: an object with ``primal, dual, status, source`` and,
        where the problem has a parameter, ``lam``; or a list of them. Values None are left out.

    Raises
    ------
    ProblemError
        For an unknown name or a value of another type.
    """
    unknown = sorted(set(facts) - set(FACTS))
    if unknown:
        raise ProblemError(
            f"an instance file has no header entry {unknown[0]!r}; it has: {', '.join(FACTS)}"
        )
    known = {key: facts[key] for key in FACTS if facts.get(key) is not None}
    for key in ("name", "license", "citation"):
        if not isinstance(known.get(key, ""), str):
            raise ProblemError(f"header entry {key} is {known[key]!r}; expected text", key)
    if not isinstance(known.get("generator", ""), str | Mapping):
        raise ProblemError(
            f"header entry generator is {known['generator']!r}; expected text or an object",
            "generator",
        )
    if "reference" in known:
        given = known["reference"]
        single = isinstance(given, Mapping)
        if not single and (not isinstance(given, Sequence) or isinstance(given, str)):
            raise ProblemError(
                f"header entry reference is {given!r}; expected an object or a list", "reference"
            )
        references = [_checked_reference(item) for item in ([given] if single else given)]
        known["reference"] = references[0] if single else references
    return known


def _checked_reference(given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise ProblemError(f"header entry reference holds {given!r}; expected an object")
    unknown = sorted(str(key) for key in set(given) - set(_REFERENCE))
    if unknown:
        raise ProblemError(
            f"header entry reference has no {unknown[0]!r}; it has: {', '.join(_REFERENCE)}"
        )
    known = {key: given[key] for key in _REFERENCE if given.get(key) is not None}
    for key, value in known.items():
        expected = _REFERENCE[key]
        if expected == "text":
            good = isinstance(value, str)
        else:
            number = isinstance(value, int | float) and not isinstance(value, bool)
            good = (number and math.isfinite(value)) or (
                expected == "value" and value in ("inf", "-inf")
            )
        if not good:
            raise ProblemError(
                f"header entry reference.{key} is {value!r}; expected "
                + {"text": "text", "number": "a number", "value": "a number, 'inf' or '-inf'"}[
                    expected
                ],
                "reference",
            )
    return known


def checked_header(header: Mapping[str, Any]) -> tuple[type[Problem], dict[str, Any]]:
    """Return the problem class that a header names, and the header.

    Parameters
    ----------
    header : mapping
        As it was read.

    Returns
    -------
    problem_class : subclass of Problem
    header : dict

    Raises
    ------
    ProblemError
        For another format, a newer version, an unknown kind, or a wrong or unknown entry.
    """
    if header.get("format") != FORMAT:
        raise ProblemError(
            f"the header's format is {header.get('format')!r}; expected {FORMAT!r}", "format"
        )
    checked_version(header, VERSION)
    unknown = sorted(set(header) - {"format", "version", "kind", "sense", "params", *FACTS})
    if unknown:
        raise ProblemError(f"the header has the unknown entry {unknown[0]!r}", unknown[0])
    kind = header.get("kind")
    if not isinstance(kind, str):
        raise ProblemError(f"the problem's kind is {kind!r}; expected a word", "kind")
    problem = problem_class(kind)
    if not isinstance(header.get("params"), Mapping):
        raise ProblemError("the header's entry params is missing or not an object", "params")
    # A kind whose instances differ in their sense says which one in its own parameters.
    sense = header["params"].get("sense", problem.sense)
    if header.get("sense") != sense:
        raise ProblemError(
            f"the header's sense is {header.get('sense')!r}; a {kind} has {sense!r}", "sense"
        )
    facts = checked_facts({key: header[key] for key in FACTS if key in header})
    fixed = {key: header[key] for key in ("format", "version", "kind", "sense", "params")}
    return problem, {**fixed, **facts}


def checked_version(header: Mapping[str, Any], newest: int) -> None:
    """Raise unless the file's version is one that this code reads.

    Parameters
    ----------
    header : mapping
        As it was read; its entry "version" is looked at.
    newest : int
        The newest version that this code reads.

    Raises
    ------
    ProblemError
        For a newer version, and for anything that is no version.
    """
    version = header.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ProblemError(f"the file's version is {version!r}; expected an integer >= 1")
    if version > newest:
        raise ProblemError(
            f"it was written by a newer sparseopt: version {version}; this one reads up to "
            f"{newest}: upgrade sparseopt"
        )
