"""Instances of suites by name; ``python -m sparseopt.bench.instances`` makes one.

A suite names the package's generators, and one design that only suites need. A design knows more
than its problem: words for parameters ("paper", "noise", "truth", "knots:...") and the truth behind
the data, from which metrics are computed. The process writes the problem as a native file, and
beside it the facts: fingerprint, kind, size, the values of the words that the suite uses, and
reference values.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparseopt import generators
from sparseopt.bench.process import announce, begin
from sparseopt.errors import ParamError

if TYPE_CHECKING:
    from sparseopt.generators import GraphSample, TwoSampleDraw
    from sparseopt.problems.base import Problem

__all__ = [
    "design_problem",
    "design_settings",
    "facts_of",
    "graph_truth",
    "resolved",
    "two_sample_draw",
    "words",
]

TWO_SAMPLES = "two-sample-selection"
_SELECTION: Mapping[str, Any] = {
    "case": "mean-shift",
    "n": 100,
    "D": 100,
    "d": 20,
    "differing": 20,
    "tau": 0.0,
    "lam": "auto",
}
"""`d` variables are to be selected where `differing` differ; tau = 0 takes the case's own."""

_CASES = {
    "mean-shift": "mean-shift",
    "covariance-shift": "covariance-shift",
    "gaussian-laplace": "laplace",
    "gaussian-mixture": "mixture",
}
_GRAPHS = {"scale-free-graph": "scale-free", "block-graph": "block", "band-graph": "band"}


def design_settings(name: str) -> dict[str, Any]:
    """Return the settings of a design with their defaults.

    Raises
    ------
    ParamError
        When there is none of that name.
    """
    if name == TWO_SAMPLES:
        return dict(_SELECTION)
    try:
        return generators.settings(name)
    except ParamError as error:
        names = ", ".join([*generators.names(), TWO_SAMPLES])
        raise ParamError(f"no generator is called {name!r}; there are: {names}") from error


def design_problem(name: str, seed: int, chosen: Mapping[str, Any]) -> Problem:
    """Return the problem of a design.

    Raises
    ------
    ParamError
        When a setting is unknown or out of range.
    """
    from sparseopt.problems import STRS

    if name != TWO_SAMPLES:
        return generators.generate(name, seed=seed, **chosen)
    full = {**_SELECTION, **chosen}
    draw = two_sample_draw(name, seed, chosen)
    assert draw is not None
    return STRS.from_two_samples(draw.x, draw.y, d=int(full["d"]), lam=full["lam"])


def two_sample_draw(name: str, seed: int, chosen: Mapping[str, Any]) -> TwoSampleDraw | None:
    """Return the two samples behind an instance, None where there are none."""
    if name == TWO_SAMPLES:
        full = {**_SELECTION, **chosen}
        return generators.two_samples(
            str(full["case"]),
            seed=seed,
            n=int(full["n"]),
            D=int(full["D"]),
            d=int(full["differing"]),
            tau=float(full["tau"]) or None,
        )
    if name in _CASES:
        known = {**generators.settings(name), **chosen}
        kept = {key: known[key] for key in ("n", "D", "d", "tau", "rho") if key in known}
        return generators.two_samples(_CASES[name], seed=seed, **kept)
    return None


def graph_truth(name: str, seed: int, chosen: Mapping[str, Any]) -> GraphSample | None:
    """Return the graph behind an instance, None where there is none."""
    if name in _GRAPHS:
        return generators.graph_sample(_GRAPHS[name], seed=seed, **chosen)
    if name == "sensor-field":
        return generators.sensor_field_sample(seed=seed, **chosen)
    if name == "ising-lattice":
        return generators.ising_lattice_sample(seed=seed, **chosen)
    return None


def words(name: str, seed: int, chosen: Mapping[str, Any]) -> dict[str, float]:
    """Return the words that a suite may use for values of parameters of this instance.

    Returns
    -------
    dict
        "noise" and "paper": lam at which the design's paths end. "printed" (design 4.3): the
        paper's 2 sigma sqrt(log d / n) as a number for X'(y - X theta) itself, the longest path of
        all readings. "sparsity": nonzeros of the true difference (differential networks).
        "truth": the budget of the true graph, both ends of an edge counted.
    """
    if name == TWO_SAMPLES:
        return {}
    facts = generators.provenance(name, seed=seed, **chosen)
    found = {str(word): float(value) for word, value in facts.get("lam", {}).items()}
    if name == "dantzig-4.3":
        full = facts["settings"]
        found["printed"] = 2.0 * full["sigma"] * math.sqrt(math.log(full["d"]) / full["n"])
    if "max_nonzeros" in facts:
        found["sparsity"] = facts["max_nonzeros"]
    if name in _GRAPHS or name in ("sensor-field", "ising-lattice"):
        truth = graph_truth(name, seed, chosen)
        assert truth is not None
        found["truth"] = int(truth.graph.nnz)
    return found


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
