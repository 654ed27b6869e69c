"""Write the instance files of this folder and their checksums; run by hand, from anywhere.

    python instances/make.py              write *.npz and registry.txt beside this script
    python instances/make.py --out DIR    write them into another folder

It needs scikit-learn and statsmodels, whose copies of the data sets are the source of the real
instances.
The files depend on nothing else: sums are exactly rounded (``math.fsum``) and no BLAS routine is
called, so another machine or another version writes the same numbers. The reference values in the
headers are read from sparseopt.solu, which prove.py writes.
"""

from __future__ import annotations

import argparse
import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from correlations import PITPROPS_FACTS, WINE, correlations, pitprops, rounded

import sparseopt
from sparseopt import generators
from sparseopt.io.solu import read_solu
from sparseopt.problems import (
    Candidates,
    DantzigSelector,
    L0GraphicalModel,
    LADLasso,
    Problem,
    STRSPath,
    SufficientReduction,
)
from sparseopt.problems.base import Array

HERE = Path(__file__).resolve().parent
SOLU = HERE / "sparseopt.solu"
SCRIPT = "instances/make.py"
MADE_WITH = {"scikit-learn": "1.9.1", "numpy": "2.4.6"}
"""The committed files were made with these; newer ones must give the same files."""

MADE_WITH_STATSMODELS = {"statsmodels": "0.15.0", "numpy": "2.4.6"}

ZLIB = "1.2.13"
"""Another zlib may compress the same content to other bytes."""

RELATIVE_ERROR = 1e-9
"""Accuracy to which prove.py confirms the reference values."""

CONIC_ERROR = 1e-6
"""The same for mixed-integer semidefinite programs, whose solvers are less exact."""

CONIC_SOURCE = (
    f"instances/sparseopt.solu: two engines agree to {CONIC_ERROR:g} relative, the checker "
    "verified both certificates"
)

PROVEN_SOURCE = (
    "instances/sparseopt.solu: proven by strs-bnb, the checker verified the certificate; all "
    "supports enumerated where they are few"
)

SUBSPACE_SOURCE = "instances/sparseopt.solu: proven by irls, the checker verified the certificate"

SEARCHED = "instances/sparseopt.solu: the best of five starts of stiefel, stationary but not proven"

ALTERNATED = "instances/sparseopt.solu: the best of five starts of l1-alternating, not proven"

GRADIENT = (
    "instances/sparseopt.solu: nearest-point and highs-qp agree, the checker verified both by the "
    f"gradient, to a gap of {RELATIVE_ERROR:g}"
)

SOURCE = f"instances/sparseopt.solu: two methods agree to {RELATIVE_ERROR:g} relative"

DIABETES = {
    "license": "Published with the paper cited, without a licence of its own; copied from "
    "scikit-learn, which distributes it under BSD-3-Clause",
    "citation": "B. Efron, T. Hastie, I. Johnstone, R. Tibshirani (2004): Least angle regression. "
    "Annals of Statistics 32, 407-499",
}
BREAST_CANCER = {
    "license": "CC-BY-4.0",
    "citation": "W. Wolberg, O. Mangasarian, N. Street, W. Street (1993): Breast Cancer Wisconsin "
    "(Diagnostic). UCI Machine Learning Repository, doi:10.24432/C5DW2B",
}
DIGITS = {
    "license": "CC-BY-4.0",
    "citation": "E. Alpaydin, C. Kaynak (1998): Optical Recognition of Handwritten Digits. UCI "
    "Machine Learning Repository, doi:10.24432/C50P49",
}
ELNINO = {
    "license": "Public domain (a work of the US government), as statsmodels states",
    "citation": "National Oceanic and Atmospheric Administration, Climate Prediction Center: "
    "monthly sea surface temperatures of the region Nino 1+2, 1950 to 2010",
}
GENERATED = {
    "license": "CC0-1.0",
    "citation": "The design: H. Pang, T. Zhao, R. Vanderbei, H. Liu: Homotopy parametric simplex "
    "method for sparse learning, sections 4.1 and 4.3",
}
RANDOM = {"license": "CC0-1.0", "citation": "Random data of sparseopt.generators"}


@dataclass(frozen=True)
class Instance:
    """How one file comes about: the problem, the header, and the lam of its reference values.

    The parameter of a graph is its budget K, and that of sparse components their size d, which take
    the place of lam; mixed-integer semidefinite programs and single selections have none.
    """

    build: Callable[[], Problem]
    header: dict[str, Any]
    lams: tuple[float | None, ...]
    source: str = SOURCE

    @property
    def proven(self) -> bool:
        """Whether the reference values are optimal, not only the best known ones."""
        return self.source not in (SEARCHED, ALTERNATED)


def main() -> None:
    """Write all files."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=HERE, help="folder to write to")
    write(parser.parse_args().out)


def write(folder: Path) -> None:
    """Write every instance and registry.txt into `folder`."""
    values = reference_values()
    lines = []
    for name, instance in INSTANCES.items():
        path = folder / f"{name}.npz"
        reference = [
            {
                **({} if lam is None else {"lam": lam}),
                "primal": values[name, lam],
                **({"dual": values[name, lam]} if instance.proven else {}),
                "status": "optimal" if instance.proven else "best known",
                "source": instance.source,
            }
            for lam in instance.lams
        ]
        sparseopt.save(instance.build(), path, name=name, reference=reference, **instance.header)
        lines.append(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n")
    (folder / "registry.txt").write_text("".join(lines), encoding="ascii", newline="\n")


def reference_values() -> dict[tuple[str, float | None], float]:
    """Read sparseopt.solu: the objective value of each (instance, lam)."""
    values = {}
    for entry in read_solu(SOLU):
        assert entry.value is not None
        values[entry.name, entry.lam] = entry.value
    return values


# ---- real data


def standardised(X: Array, norm: float) -> Array:
    """Return X with columns of mean 0 and of the given norm."""
    columns = []
    for column in X.T:
        centred = column - math.fsum(column) / len(column)
        columns.append(centred * (norm / math.sqrt(math.fsum(centred * centred))))
    return np.column_stack(columns)


def centred(y: Array) -> Array:
    """Return y less its mean."""
    return np.asarray(y - math.fsum(y) / len(y))


def quadratic(X: Array, names: list[str]) -> tuple[Array, list[str]]:
    """Append the products of the columns in pairs, and their squares except that of sex."""
    pairs = list(combinations(range(len(names)), 2))
    squares = [j for j in range(len(names)) if j != SEX]
    columns = [X, *(X[:, j] * X[:, k] for j, k in pairs), *(X[:, j] ** 2 for j in squares)]
    labels = [f"{names[j]}:{names[k]}" for j, k in pairs] + [f"{names[j]}^2" for j in squares]
    return np.column_stack(columns), [*names, *labels]


SEX = 1
"""Column of the two-valued variable, whose square says nothing new."""


Data = tuple[Array, Array, list[str]]
"""X, y and the names of the columns."""


def diabetes(expanded: bool) -> Data:
    """Return the standardised columns (norm 1, after Efron et al.) and the response as measured."""
    from sklearn.datasets import load_diabetes

    data = load_diabetes(scaled=False)
    X, names = standardised(data.data, 1.0), [str(name) for name in data.feature_names]
    if not expanded:
        return X, data.target, names
    X, names = quadratic(X, names)
    return standardised(X, 1.0), data.target, names


def breast_cancer() -> Data:
    """Return the standardised columns (variance 1) and the label: benign 1, malignant -1."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    names = [str(name) for name in data.feature_names]
    return standardised(data.data, math.sqrt(len(data.data))), 2.0 * data.target - 1.0, names


def diabetes_dantzig(expanded: bool) -> DantzigSelector:
    """Centre the response: the selector has no intercept."""
    X, y, names = diabetes(expanded)
    return DantzigSelector(X, centred(y), names=names)


def diabetes_lad(expanded: bool) -> LADLasso:
    """Leave the response as measured and fit an intercept."""
    X, y, names = diabetes(expanded)
    return LADLasso(X, y, fit_intercept=True, names=names)


def breast_cancer_dantzig() -> DantzigSelector:
    """Centre the labels: the selector has no intercept."""
    X, y, names = breast_cancer()
    return DantzigSelector(X, centred(y), names=names)


def breast_cancer_lad() -> LADLasso:
    """Leave the labels +-1 and fit an intercept."""
    X, y, names = breast_cancer()
    return LADLasso(X, y, fit_intercept=True, names=names)


def wine_reduction() -> SufficientReduction:
    """Return the reduction of the 13 columns to two."""
    from sklearn.datasets import load_wine

    data = load_wine()
    X = standardised(data.data, math.sqrt(len(data.data)))
    return SufficientReduction(X, data.target, k=2, task="classification")


def diabetes_reduction() -> SufficientReduction:
    """Return the reduction of the ten columns, for the progression, to two."""
    from sklearn.datasets import load_diabetes

    data = load_diabetes(scaled=False)
    X = standardised(data.data, math.sqrt(len(data.data)))
    y = standardised(data.target[:, None], math.sqrt(len(data.target)))[:, 0]
    return SufficientReduction(X, y, k=2, task="regression")


def digits() -> Array:
    """Return the 1797 images of 8 x 8 pixels, one in each row, 0 to 16."""
    from sklearn.datasets import load_digits

    return np.asarray(load_digits().data)


def pixels(kept: Array) -> Candidates:
    """Let the eight pixels around each that are kept be its candidates."""
    places = np.stack(np.divmod(np.flatnonzero(kept), 8), axis=1)
    # Down, then right, as the image is looked at.
    return Candidates.within(np.column_stack([places[:, 1], -places[:, 0]]).astype(float), 1.5)


def digits_gaussian() -> L0GraphicalModel:
    """Standardise the pixels that vary in at least a tenth of the images."""
    X = digits()
    kept = np.array([np.unique(column, return_counts=True)[1].max() for column in X.T])
    kept = kept <= 0.9 * len(X)
    columns = standardised(X[:, kept], math.sqrt(len(X))).astype(np.float32)
    return L0GraphicalModel(columns, pixels(kept))


def digits_ising() -> L0GraphicalModel:
    """Take 1 for a pixel above its median and -1 else, where both have a tenth of 600 images."""
    X = digits()[:600]
    middle = np.median(X, axis=0)
    spins = np.where(np.greater(X, middle), 1, -1).astype(np.int8)
    share = (spins == 1).mean(axis=0)
    kept = (share >= 0.1) & (share <= 0.9)
    return L0GraphicalModel(spins[:, kept], pixels(kept), loss="ising")


def elnino_graph() -> L0GraphicalModel:
    """Standardise the months; each has the three before and the three after it, round the year."""
    from statsmodels.datasets import elnino

    months = np.asarray(elnino.load_pandas().data.iloc[:, 1:], dtype=float)
    step = np.subtract.outer(np.arange(12), np.arange(12)) % 12
    mask = (step != 0) & (np.minimum(step, 12 - step) <= 3)
    angle = 2.0 * np.pi * np.arange(12) / 12.0
    clock = np.round(np.column_stack([np.sin(angle), np.cos(angle)]), 6)
    candidates = Candidates.from_mask(mask, clock)
    return L0GraphicalModel(standardised(months, math.sqrt(len(months))), candidates)


def pictured(facts: dict[str, str], source: str, X: str, candidates: str) -> dict[str, Any]:
    """Return the header of a real graph."""
    made_with = MADE_WITH if source.startswith("sklearn") else MADE_WITH_STATSMODELS
    generator = {"script": SCRIPT, "source": source, **made_with}
    return {**facts, "generator": {**generator, "X": X, "candidates": candidates}}


def real(facts: dict[str, str], loader: str, X: str, y: str) -> dict[str, Any]:
    """Return the header of a real instance."""
    generator = {"script": SCRIPT, "source": f"sklearn.datasets.{loader}", **MADE_WITH}
    return {**facts, "generator": {**generator, "X": X, "y": y}}


def diabetes_header(expanded: bool, y: str) -> dict[str, Any]:
    """Return the header of a diabetes instance."""
    columns = "age, sex, bmi, bp, s1 to s6, standardised to mean 0 and norm 1"
    if expanded:
        columns += "; then their 45 products in pairs and 9 squares (not of sex), standardised too"
    return real(DIABETES, "load_diabetes(scaled=False)", columns, y)


def breast_cancer_header(y: str) -> dict[str, Any]:
    """Return the header of a breast cancer instance."""
    columns = "the 30 features, standardised to mean 0 and variance 1"
    return real(BREAST_CANCER, "load_breast_cancer()", columns, y)


def components(name: str, d_max: int) -> STRSPath:
    """Return the sparse principal components of a data set of scikit-learn."""
    from sklearn import datasets

    return correlations(np.asarray(getattr(datasets, f"load_{name}")().data), d_max)


def sparse_components(
    facts: dict[str, str], name: str, d_max: int, sizes: tuple[int, ...]
) -> Instance:
    """Return the instance of a data set's correlation matrix."""
    generator = {"script": SCRIPT, "source": f"sklearn.datasets.load_{name}()", **MADE_WITH}
    header = {**facts, "generator": {**generator, "A": "correlations of the columns that vary"}}
    return Instance(lambda: components(name, d_max), header, sizes, PROVEN_SOURCE)


# ---- generated


def generated(
    design: str,
    facts: dict[str, str],
    lams: tuple[float | None, ...],
    source: str = SOURCE,
    **chosen: Any,
) -> Instance:
    """Return the instance of a generator's name and settings, seed 0."""
    return Instance(
        build=lambda: generators.generate(design, **chosen),
        header={**facts, "generator": generators.provenance(design, **chosen)},
        lams=lams,
        source=source,
    )


def misdp(design: str, **chosen: Any) -> Instance:
    """Return the instance of a mixed-integer semidefinite program, which has no parameter."""
    return generated(design, RANDOM, (None,), CONIC_SOURCE, **chosen)


def selection(design: str, **chosen: Any) -> Instance:
    """Return the selection of variables from two samples, of one size."""
    plain = generated(design, RANDOM, (None,), PROVEN_SOURCE, **chosen)
    return replace(plain, build=lambda: rounded(plain.build()))


MEASURED = "as measured; the intercept is fitted"
CENTRED = "as measured, centred"
UNIT_INTERVAL = (1.0, 0.75, 0.5, 0.25, 0.0)

INSTANCES: dict[str, Instance] = {
    "diabetes-dantzig": Instance(
        lambda: diabetes_dantzig(False), diabetes_header(False, CENTRED), (800, 400, 100, 10, 0)
    ),
    "diabetes-lad": Instance(
        lambda: diabetes_lad(False), diabetes_header(False, MEASURED), (8, 5, 1, 0.1, 0)
    ),
    "diabetes-quadratic-dantzig": Instance(
        lambda: diabetes_dantzig(True), diabetes_header(True, CENTRED), (800, 400, 100, 10, 1)
    ),
    "diabetes-quadratic-lad": Instance(
        lambda: diabetes_lad(True), diabetes_header(True, MEASURED), (8, 5, 1, 0.1, 0)
    ),
    "breast-cancer-dantzig": Instance(
        breast_cancer_dantzig,
        breast_cancer_header("benign 1, malignant -1, centred"),
        (400, 100, 10, 1, 0.1),
    ),
    "breast-cancer-lad": Instance(
        breast_cancer_lad,
        breast_cancer_header("benign 1, malignant -1; the intercept is fitted"),
        (300, 100, 20, 5, 0),
    ),
    "digits-gaussian": Instance(
        digits_gaussian,
        pictured(
            DIGITS,
            "sklearn.datasets.load_digits()",
            "pixels that have another value than the most frequent in a tenth of the images, "
            "standardised to mean 0 and variance 1, in float32",
            "the eight pixels around each",
        ),
        (25, 50, 100, 200, 300),
    ),
    "digits-ising": Instance(
        digits_ising,
        pictured(
            DIGITS,
            "sklearn.datasets.load_digits()",
            "of the first 600 images: 1 above the pixel's median, -1 else, where both have a tenth",
            "the eight pixels around each",
        ),
        (25, 50, 100, 150, 200),
    ),
    "elnino-graph": Instance(
        elnino_graph,
        pictured(
            ELNINO,
            "statsmodels.datasets.elnino",
            "the 12 months of 61 years, standardised to mean 0 and variance 1",
            "the three months before and after each, round the year",
        ),
        (6, 12, 24, 36, 72),
    ),
    "dantzig-4.1": generated("dantzig-4.1", GENERATED, (200, 100, 50, 24, 5)),
    "dantzig-4.3": generated("dantzig-4.3", GENERATED, (120, 80, 46, 23, 5), n=100, d=200),
    "lad-4.1": generated("lad-4.1", GENERATED, (25, 20, 15, 10, 5), n=60, d=100),
    "lad-4.3": generated("lad-4.3", GENERATED, (35, 30, 25, 20, 10), n=80, d=200),
    "parametric-lp-inequality": generated("parametric-lp", RANDOM, UNIT_INTERVAL),
    "parametric-lp-equality": generated("parametric-lp", RANDOM, UNIT_INTERVAL, form="equality"),
    "parametric-lp-integer": generated("parametric-lp", RANDOM, UNIT_INTERVAL, integer=True),
    "piecewise-linear": generated("piecewise-linear", RANDOM, UNIT_INTERVAL, m=20, p=15),
    "piecewise-linear-integer": generated(
        "piecewise-linear", RANDOM, UNIT_INTERVAL, m=20, p=15, integer=True
    ),
    "misdp-sparse-direction": misdp("strs-misdp", D=6, d=2),
    "misdp-least-squares": misdp("cardinality-least-squares"),
    "misdp-partition": misdp("k-partitioning"),
    "misdp-truss": misdp("truss-topology", columns=2, rows=3),
    "misdp-isometry": misdp("restricted-isometry", m=5, n=6),
    "misdp-random": misdp("random-misdp"),
    "misdp-no-interior": misdp("random-misdp", kind="boundary"),
    "pitprops": Instance(
        pitprops,
        {
            **PITPROPS_FACTS,
            "generator": {"script": SCRIPT, "source": "the table of correlations in the paper"},
        },
        (3, 5, 7, 10, 13),
        PROVEN_SOURCE,
    ),
    "wine-components": sparse_components(WINE, "wine", 13, (3, 5, 8, 10, 13)),
    "diabetes-components": sparse_components(DIABETES, "diabetes", 10, (2, 3, 5, 7, 10)),
    "breast-cancer-components": sparse_components(
        BREAST_CANCER, "breast_cancer", 30, (3, 5, 10, 15, 20)
    ),
    "digits-components": sparse_components(DIGITS, "digits", 20, (3, 5, 10, 15, 20)),
    "mean-shift-20": selection("mean-shift"),
    "mean-shift-40": selection("mean-shift", D=40, d=10),
    "covariance-shift-20": selection("covariance-shift"),
    "gaussian-laplace-20": selection("gaussian-laplace"),
    "gaussian-mixture-20": selection("gaussian-mixture"),
    "outliers-independent": generated(
        "outlier-columns", RANDOM, (None,), SUBSPACE_SOURCE, N=60, n=20, k=3, delta=0.3
    ),
    "bent-curve": generated("bent-curve", RANDOM, (None,), SEARCHED, curve="sine"),
    "two-directions": generated("two-directions", RANDOM, (None,), SEARCHED),
    "skewed-directions": generated("skewed-directions", RANDOM, (None,), SEARCHED, N=200),
    "index-model": generated("index-model", RANDOM, (None,), SEARCHED),
    "wine-reduction": Instance(
        wine_reduction,
        real(WINE, "load_wine()", "standardised to variance 1", "the three classes"),
        (None,),
        SEARCHED,
    ),
    "diabetes-reduction": Instance(
        diabetes_reduction,
        real(
            DIABETES,
            "load_diabetes(scaled=False)",
            "standardised to mean 0 and variance 1",
            "the progression, standardised in the same way",
        ),
        (None,),
        SEARCHED,
    ),
    "outliers-repeated": generated(
        "outlier-columns",
        RANDOM,
        (None,),
        SUBSPACE_SOURCE,
        N=60,
        n=20,
        k=3,
        delta=0.1,
        outliers="repeated",
    ),
    "corrupted-entries": generated(
        "corrupted-entries", RANDOM, (None,), ALTERNATED, N=80, n=12, share=0.2
    ),
    "noisy-embedding": generated("embedding-fit", RANDOM, (None,), GRADIENT),
}

if __name__ == "__main__":
    main()
