"""Makes the instance of a job, in a process of its own: ``python -m sparseopt.bench.prepare``.

Writes the problem as a native file, and beside it the facts: fingerprint, kind, size, the values of
the words that the suite uses, and reference values.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparseopt.bench.child import announce, begin
from sparseopt.bench.designs import design_problem, words
from sparseopt.errors import ParamError

if TYPE_CHECKING:
    from sparseopt.problems.base import Problem

__all__ = ["facts_of", "resolved"]

_KNOTS = "knots:"


def main() -> None:
    """Read ``spec.json`` in the folder given, and leave ``facts.json`` there."""
    folder = Path(sys.argv[1])
    spec = begin(folder)
    target = Path(spec["target"])
    announce("solve")
    facts = facts_of(spec["instance"], target)
    part = folder / "facts.part"
    part.write_text(json.dumps(facts), encoding="utf-8")
    part.replace(folder / "facts.json")


def facts_of(instance: Mapping[str, Any], target: Path) -> dict[str, Any]:
    """Make an instance and return its facts.

    Parameters
    ----------
    instance : mapping
        As in :class:`~sparseopt.bench.jobs.Job`.
    target : path
        Where the file goes; an instance that is a file stays where it is.
    """
    from sparseopt.api import load, save
    from sparseopt.io import read_header

    references: Any = []
    known: dict[str, float] = {}
    if instance["generator"] is None:
        path = Path(instance["file"])
        problem = load(path)
        if path.suffix == ".npz":
            references = read_header(path).get("reference", [])
            references = [references] if isinstance(references, dict) else references
    else:
        settings, seed = instance["settings"], int(instance["seed"])
        problem = design_problem(instance["generator"], seed, settings)
        if instance["words"]:
            known = words(instance["generator"], seed, settings)
        path = target
        part = target.with_name(f"{target.stem}.part.npz")
        save(problem, part, name=instance["name"][:200])
        part.replace(target)
    return {
        "path": str(path),
        "fingerprint": problem.fingerprint(),
        "kind": problem.kind,
        "family": problem.family,
        "sense": problem.sense,
        "size": {key: int(value) for key, value in problem.size.items()},
        "words": {word: _value(word, known, problem) for word in instance["words"]},
        "references": references,
    }


def _value(word: str, known: Mapping[str, float], problem: Problem) -> Any:
    """Return what a word stands for: "knots:WORD" are the path's knots down to WORD."""
    from sparseopt.api import solve

    if word.startswith(_KNOTS):
        end = _value(word.removeprefix(_KNOTS), known, problem)
        path = solve(problem, lam_min=end, check=False).path
        assert path is not None
        # The first segment reaches up from the first knot, where everything is 0.
        return [float(lam) for lam in path.knots]
    if word in known:
        return known[word]
    try:
        return float(word)
    except ValueError:
        names = ", ".join(sorted(known)) or "no words"
        raise ParamError(f"{word!r} is no word of this instance; it knows: {names}") from None


def resolved(params: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with their words replaced by the instance's values."""
    return {k: facts["words"][v] if isinstance(v, str) else v for k, v in params.items()}


if __name__ == "__main__":
    main()
