"""Instances of suites by name; ``python -m sparseopt.bench.solving.instances`` makes one.

A suite names the package's generators, and one design that only suites need. A design knows more
than its problem: words for parameters ("paper", "noise", "truth", "knots:...") and the truth behind
the data, from which metrics are computed. The process writes the problem as a native file, and
beside it the facts: fingerprint, kind, size, the values of the words that the suite uses, and
reference values.
"""

from __future__ import annotations

import csv
import math
import os
import sys
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sparseopt import generators
from sparseopt.bench.solving.process import announce, begin, failure, leave
from sparseopt.errors import ParamError, SparseOptError
from sparseopt.problems.base import Array

if TYPE_CHECKING:
    from sparseopt.generators import GraphSample, TwoSampleDraw
    from sparseopt.problems.base import Problem

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

_DATA = ("wine", "diabetes", "breast-cancer", "digits")
_RANDOM = "random-components"
_COMPONENTS = "components"
_DATASET = "dataset"
_OWN: Mapping[str, Mapping[str, Any]] = {
    TWO_SAMPLES: _SELECTION,
    _COMPONENTS: {"data": "pitprops", "d": 5},
    _RANDOM: {"kind": "wishart", "D": 100, "d": 5},
    _DATASET: {"data": "diabetes", "model": "dantzig", "d": 5},
}
"""Designs that only suites need, with their settings.

components: the component of d variables of a correlation matrix of the repository, or of the folder
sparse-pca of SPARSEOPT_EXTRA_DATA. random-components: by `kind`, "wishart" (the correlations of 2 D
normal observations of independent variables), "goe" (a symmetric normal matrix), "spiked-4" and
"spiked-2" (the covariance of D/2 normal observations with a component of ten equal loadings of that
variance beside noise of the variance 1), "factors" (twelve factors with random loadings on a
seventh of D variables, 452 observations). dataset: a model of data of an installed package, see
:func:`dataset_problem`.
"""
_CASES = {
    "mean-shift": "mean-shift",
    "covariance-shift": "covariance-shift",
    "gaussian-laplace": "laplace",
    "gaussian-mixture": "mixture",
}
_GRAPHS = {"scale-free-graph": "scale-free", "block-graph": "block", "band-graph": "band"}


def design_settings(name: str) -> dict[str, Any]:
    """Return the settings of a design with their defaults.

    Parameters
    ----------
    name : str

    Returns
    -------
    dict

    Raises
    ------
    ParamError
        When there is none of that name.
    """
    if name in _OWN:
        return dict(_OWN[name])
    try:
        return generators.settings(name)
    except ParamError as error:
        names = ", ".join([*generators.names(), *_OWN])
        raise ParamError(f"no generator is called {name!r}; there are: {names}") from error


def design_problem(name: str, seed: int, chosen: Mapping[str, Any]) -> Problem:
    """Return the problem of a design.

    Parameters
    ----------
    name : str
        Of a generator, or of a design of the suites.
    seed : int
    chosen : mapping
        Settings other than their defaults.

    Returns
    -------
    Problem

    Raises
    ------
    ParamError
        When a setting is unknown or out of range.
    """
    from sparseopt.problems import STRS

    full = {**_OWN.get(name, {}), **chosen}
    if name == _COMPONENTS:
        return STRS.from_covariance(component_matrix(str(full["data"])), int(full["d"]))
    if name == _RANDOM:
        return _random_component(str(full["kind"]), int(full["D"]), int(full["d"]), seed)
    if name == _DATASET:
        return dataset_problem(str(full["data"]), str(full["model"]), int(full["d"]))
    if name != TWO_SAMPLES:
        return generators.generate(name, seed=seed, **chosen)
    draw = two_sample_draw(name, seed, chosen)
    assert draw is not None
    return STRS.from_two_samples(draw.x, draw.y, d=int(full["d"]), lam=full["lam"])


def dataset_problem(name: str, model: str, d: int) -> Problem:
    """Return a model of a data set, whose columns are standardised and not constant.

    Parameters
    ----------
    name : str
        Of :func:`sparseopt.datasets.load`.
    model : {"dantzig", "lad", "svm", "component", "graph"}
        A regression of the target, with an intercept; the classifier, with an intercept; the
        component of d variables of the correlations; the Gaussian graph of all columns, each with
        the d others as candidates that it is correlated with most. Classes become 1 for the largest
        one, -1 for the others.
    d : int
        Of components and graphs.

    Returns
    -------
    Problem

    Raises
    ------
    ParamError
        When the data or the model are unknown, or the target has several columns.
    DataUnavailable
        When the package with the data is not installed.
    """
    from sparseopt import datasets, problems

    data = datasets.load(name)
    X = data.X[:, np.ptp(data.X, axis=0) > 0.0]
    if model == "component":
        wide = X.shape[1] > X.shape[0]
        return (problems.SparseComponent if wide else problems.STRS).from_data(X, d)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    if model == "graph":
        return problems.L0GraphicalModel(X, problems.Candidates.correlated(X, d))
    y = data.y
    if model == "svm" or y.dtype.kind in "US":
        classes, counts = np.unique(y, return_counts=True)
        y = np.where(y == classes[counts.argmax()], 1.0, -1.0)
    if model not in ("dantzig", "lad", "svm") or y.ndim != 1:
        raise ParamError(
            f"model is {model!r}; expected component or graph, or for a target of one column "
            "dantzig, lad or svm"
        )
    if model == "svm":
        return problems.L1SVM(X, y)
    kind = problems.DantzigSelector if model == "dantzig" else problems.LADLasso
    return kind(X, y, fit_intercept=True)


def component_files() -> dict[str, Path]:
    """Return the correlation matrices that there are: by name, the file."""
    shipped = Path(str(resources.files("sparseopt.bench"))).joinpath("suites").resolve().parent
    names = ("pitprops", *(f"{data}-components" for data in _DATA))
    found = {name: shipped / f"{name}.npz" for name in names}
    extra = os.environ.get("SPARSEOPT_EXTRA_DATA")
    for path in sorted(Path(extra, "sparse-pca").glob("*.csv")) if extra else ():
        if path.stem != "reference":
            found[path.stem] = path
    return {name: path for name, path in found.items() if path.is_file()}


def component_matrix(name: str) -> Array:
    """Return a matrix of :func:`component_files`.

    Parameters
    ----------
    name : str

    Returns
    -------
    array of shape (D, D)

    Raises
    ------
    ParamError
        When there is none of that name.
    """
    from sparseopt.api import load

    files = component_files()
    if name not in files:
        raise ParamError(
            f"no correlation matrix is called {name!r}; there are: {', '.join(files) or 'none'} "
            "(a clone of the repository has some, the folder sparse-pca of SPARSEOPT_EXTRA_DATA "
            "more)"
        )
    if files[name].suffix == ".csv":
        return np.loadtxt(files[name], delimiter=",")
    problem: Any = load(files[name])
    return np.asarray(problem.A)


def component_reference(name: str, chosen: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the optimum that is known of a public matrix: beside it, in ``reference.csv``.

    Parameters
    ----------
    name : str
        Of a design.
    chosen : mapping
        Settings other than their defaults.

    Returns
    -------
    list of dict
        Empty where none is known.
    """
    full = {**_OWN.get(name, {}), **chosen}
    place = component_files().get(str(full.get("data")))
    if name != _COMPONENTS or place is None or place.suffix != ".csv":
        return []
    with (place.parent / "reference.csv").open(encoding="utf-8") as stream:
        return [
            {"primal": float(row["optimal"]), "source": "reference.csv"}
            for row in csv.DictReader(stream)
            if row["matrix"] == full["data"] and int(row["d"]) == int(full["d"])
        ]


def _random_component(kind: str, D: int, d: int, seed: int) -> Problem:
    from sparseopt.problems import STRS

    rng = np.random.default_rng(seed)
    if kind == "wishart":
        return STRS.from_data(rng.normal(size=(2 * D, D)), d)
    if kind == "goe":
        rng.normal(size=(2 * D, D))  # those of "wishart"
        M = rng.normal(size=(D, D))
        return STRS(A=(M + M.T) / 2.0, d=d)
    if kind in ("spiked-2", "spiked-4"):
        loadings = np.where(np.arange(D) < 10, math.sqrt(0.1), 0.0)
        noise = rng.normal(size=(D // 2, D))
        signal = math.sqrt(float(kind[-1])) * rng.normal(size=(D // 2, 1)) * loadings
        return STRS.from_data(noise + signal, d, kind="covariance")
    if kind == "factors":
        X = rng.normal(size=(452, D))
        factors = 1.5 * rng.normal(size=(12, D)) * (rng.random((12, D)) < 0.15)
        return STRS.from_data(X + rng.normal(size=(452, 12)) @ factors, d)
    raise ParamError(f"kind is {kind!r}; expected wishart, goe, spiked-2, spiked-4 or factors")


def two_sample_draw(name: str, seed: int, chosen: Mapping[str, Any]) -> TwoSampleDraw | None:
    """Return the two samples behind an instance, None where there are none.

    Parameters
    ----------
    name : str
        Of a design.
    seed : int
    chosen : mapping
        Settings other than their defaults.

    Returns
    -------
    TwoSampleDraw or None
    """
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
    """Return the graph behind an instance, None where there is none.

    Parameters
    ----------
    name : str
        Of a design.
    seed : int
    chosen : mapping
        Settings other than their defaults.

    Returns
    -------
    GraphSample or None
    """
    if name in _GRAPHS:
        return generators.graph_sample(_GRAPHS[name], seed=seed, **chosen)
    if name == "sensor-field":
        return generators.sensor_field_sample(seed=seed, **chosen)
    if name == "ising-lattice":
        return generators.ising_lattice_sample(seed=seed, **chosen)
    return None


def words(name: str, seed: int, chosen: Mapping[str, Any]) -> dict[str, float]:
    """Return the words that a suite may use for values of parameters of this instance.

    Parameters
    ----------
    name : str
        Of a design.
    seed : int
    chosen : mapping
        Settings other than their defaults.

    Returns
    -------
    dict
        "noise" and "paper": lam at which the design's paths end. "printed" (design 4.3): the
        paper's 2 sigma sqrt(log d / n) as a number for X'(y - X theta) itself, the longest path of
        all readings. "sparsity": nonzeros of the true difference (differential networks).
        "truth": the budget of the true graph, both ends of an edge counted.
    """
    if name in _OWN:
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


_KNOTS, _END, _SHARE = "knots:", "end:", "share:"


def main() -> None:
    """Read ``spec.json`` in the folder given, and leave the facts or the failure there."""
    folder = Path(sys.argv[1])
    spec = begin(folder)
    target = Path(spec["target"])
    announce("solve")
    try:
        facts = facts_of(spec["instance"], target)
    except SparseOptError as error:
        leave(folder / "failure.json", failure(error))
        raise
    leave(folder / "facts.json", facts)


def facts_of(instance: Mapping[str, Any], target: Path) -> dict[str, Any]:
    """Make an instance and return its facts.

    Parameters
    ----------
    instance : mapping
        As in :class:`~sparseopt.bench.running.jobs.Job`.
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
        references = component_reference(instance["generator"], settings)
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
    """Return the value of a word, also of "knots:", "end:" or "share:" with a number."""
    from sparseopt.api import solve

    def knots(**question: Any) -> list[float]:
        path = solve(problem, check=False, **question).path
        assert path is not None
        # The first segment reaches up from the first knot, where everything is 0.
        return [float(lam) for lam in path.knots]

    if word.startswith(_KNOTS):
        return knots(lam_min=_value(word.removeprefix(_KNOTS), known, problem))
    if word.startswith(_END):
        return knots(max_nonzeros=int(_value(word.removeprefix(_END), known, problem)))[-1]
    if word.startswith(_SHARE):
        return float(word.removeprefix(_SHARE)) * knots(max_knots=1)[0]
    if word == "separated":
        return min(lam for lam in knots(lam_min=0.0) if lam > 0.0) / 2.0
    if word in known:
        return known[word]
    try:
        return float(word)
    except ValueError:
        names = ", ".join(sorted(known)) or "no words"
        raise ParamError(f"{word!r} is no word of this instance; its words: {names}") from None


def resolved(params: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with their words replaced by the instance's values.

    Parameters
    ----------
    params : mapping
        Values, or words as text.
    facts : mapping
        Of :func:`facts_of`.

    Returns
    -------
    dict
    """
    return {k: facts["words"][v] if isinstance(v, str) else v for k, v in params.items()}


if __name__ == "__main__":
    main()
