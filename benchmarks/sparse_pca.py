"""Compare proven sparse principal components with the heuristics that Python users have.

For each of the correlation matrices of instances/ (and, where the folder SPARSEOPT_EXTRA_DATA is
set, of its sparse-pca/) our path over d gives the proven largest variance v'Sv of a unit vector v
with at most d nonzeros. Beside it, with at most as many nonzeros:

- SparsePCA of scikit-learn with one component, as it comes: alpha over 20 values down to 1e-4 of
  the one where nothing is left, and between two whose numbers of nonzeros differ by more than one,
  again and again, until 120 are tried; of all, the best component with at most d nonzeros;
- the same supports, refitted: the largest eigenvalue of S on the support;
- the d largest loadings of the first ordinary component, refitted.

scikit-learn wants observations: it gets D + 1 rows with exactly these correlations (the same answer
as from the data, since its program depends on X'X alone, up to the scale of alpha).
A falls short of the optimum by (optimum - A) / optimum. Times are wall time on one core.

Usage
-----
    python benchmarks/sparse_pca.py [--only wine,digits] [--plot sparse-pca.png]
"""

# ruff: noqa: E402, the threads are set before NumPy is imported
from __future__ import annotations

import os

for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_variable] = "1"

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import sparseopt
from sparseopt import Verdict
from sparseopt.paths.supports import SupportPath
from sparseopt.problems import STRSPath

INSTANCES = Path(__file__).resolve().parents[1] / "instances"
NAMES = {
    "pit props": "pitprops",
    "wine": "wine-components",
    "diabetes": "diabetes-components",
    "breast cancer": "breast-cancer-components",
    "digits": "digits-components",
}
GRID, MOST = 20, 120
LARGEST = 20
"""Sizes of the public matrices: 1 to this."""
PROVEN = "proven optimum"
HEURISTICS = ("SparsePCA", "SparsePCA, refitted", "PCA truncated, refitted")


@dataclass
class Comparison:
    """The variances of every size by each method, shape (sizes,), and what they took."""

    sizes: np.ndarray
    variances: dict[str, np.ndarray]
    total: float
    ours: float
    theirs: float
    proven: int
    verified: bool


def problems() -> dict[str, STRSPath]:
    """Return the paths to be solved, by name."""
    found = {}
    for title, name in NAMES.items():
        problem = sparseopt.load(INSTANCES / f"{name}.npz")
        assert isinstance(problem, STRSPath)
        found[title] = problem
    folder = os.environ.get("SPARSEOPT_EXTRA_DATA")
    for file in sorted((Path(folder) / "sparse-pca").glob("*.csv")) if folder else ():
        if file.stem not in ("reference", "lx_pitprops"):
            S = np.loadtxt(file, delimiter=",")
            found[file.stem] = STRSPath(A=S, d_max=min(LARGEST, len(S)))
    return found


def observations(S: np.ndarray) -> np.ndarray:
    """Return D + 1 centred rows X with X'X = D S."""
    D = len(S)
    values, vectors = np.linalg.eigh(S)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    # Orthonormal columns that are orthogonal to the vector of ones, too.
    basis: np.ndarray = np.linalg.qr(np.column_stack([np.ones(D + 1), np.eye(D + 1, D)]))[0][:, 1:]
    X: np.ndarray = np.sqrt(D) * basis @ root.T
    return X


def heuristics(S: np.ndarray, sizes: np.ndarray) -> dict[str, np.ndarray]:
    """Return the variance of each size by each heuristic."""
    from sklearn.decomposition import SparsePCA

    X = observations(S)
    found = {name: np.zeros(len(sizes)) for name in HEURISTICS}

    def component(alpha: float) -> np.ndarray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = SparsePCA(n_components=1, alpha=alpha, random_state=0).fit(X)
        v: np.ndarray = model.components_[0]
        return v

    for v in varied(component, float(np.linalg.norm(X, axis=0).max())):
        support = np.flatnonzero(v)
        count = len(support)
        if count == 0:
            continue
        v = v / np.linalg.norm(v)
        for name, value in (
            ("SparsePCA", v @ S @ v),
            ("SparsePCA, refitted", largest(S, support)),
        ):
            room = sizes >= count
            found[name][room] = np.maximum(found[name][room], value)
    first = np.abs(np.linalg.eigh(S)[1][:, -1])
    order = np.argsort(-first, kind="stable")
    found["PCA truncated, refitted"] = np.array([largest(S, order[:d]) for d in sizes])
    return found


def varied(component: Callable[[float], np.ndarray], most: float) -> list[np.ndarray]:
    """Return components of many alphas, most of them where the number of nonzeros jumps."""
    found = [(alpha, component(alpha)) for alpha in most * np.geomspace(1.0, 1e-4, GRID)]
    while len(found) < MOST:
        counts = np.array([np.count_nonzero(v) for _, v in found])
        alphas = np.array([alpha for alpha, _ in found])
        # Where the numbers still jump between alphas that are all but equal, they always will.
        wide = np.log(alphas[:-1] / alphas[1:]) > 1e-6
        jump = np.where(wide, np.abs(np.diff(counts)), 0)
        k = int(np.argmax(jump))
        if jump[k] <= 1:
            break
        alpha = float(np.sqrt(alphas[k] * alphas[k + 1]))
        found.insert(k + 1, (alpha, component(alpha)))
    return [v for _, v in found]


def largest(S: np.ndarray, support: np.ndarray) -> float:
    """Return the largest variance of a unit vector on a support."""
    return float(np.linalg.eigvalsh(S[np.ix_(support, support)])[-1])


def compare(problem: STRSPath) -> Comparison:
    """Solve all sizes, check the proofs, and let the heuristics try."""
    begin = time.perf_counter()
    result = sparseopt.solve(problem, backend="strs-bnb", check=False, threads=1)
    ours = time.perf_counter() - begin
    path = result.path
    assert isinstance(path, SupportPath)
    verdict = sparseopt.check(problem, result).verdict
    begin = time.perf_counter()
    found = heuristics(problem.A, path.sizes)
    theirs = time.perf_counter() - begin
    return Comparison(
        sizes=path.sizes,
        variances={PROVEN: path.objective, **found},
        total=float(np.trace(problem.A)),
        ours=ours,
        theirs=theirs,
        proven=int(path.certified.sum()),
        verified=verdict is Verdict.VERIFIED,
    )


def row(name: str, found: Comparison, D: int) -> str:
    """Return a line of the table."""
    best = found.variances[PROVEN]
    cells = [
        name,
        str(D),
        f"{len(found.sizes)}",
        f"{found.proven}{', verified' if found.verified else ''}",
        f"{found.ours:.2g} s",
    ]
    for method in HEURISTICS:
        # SparsePCA may have no component with so few nonzeros on its grid.
        value = found.variances[method]
        tried = value > 0.0
        short = np.round(100.0 * (best - value)[tried] / best[tried], 4)
        reached = int((short == 0.0).sum())
        cells.append(f"{reached} of {len(best)}; {np.mean(short):.2g}%, {short.max():.2g}%")
    return "| " + " | ".join([*cells, f"{found.theirs:.2g} s"]) + " |"


def draw(found: dict[str, Comparison], file: Path) -> None:
    """Draw the share of the variance that each method explains, and what it lacks, against d."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.ticker import MaxNLocator

    shown = {name: each for name, each in found.items() if name in NAMES}
    figure, axes = pyplot.subplots(
        2,
        len(shown),
        figsize=(max(6.0, 2.9 * len(shown)), 5.2),
        sharex="col",
        squeeze=False,
        layout="constrained",
    )
    styles = {
        PROVEN: {"color": "#332288", "marker": "o", "ms": 3.5, "lw": 1.6},
        "SparsePCA": {"color": "#CC6677", "marker": "v", "ms": 3.5, "lw": 1.0},
        "SparsePCA, refitted": {"color": "#117733", "marker": "^", "ms": 3.5, "lw": 1.0},
        "PCA truncated, refitted": {"color": "#999999", "marker": "s", "ms": 3.0, "lw": 1.0},
    }
    for (upper, lower), (name, each) in zip(axes.T, shown.items(), strict=True):
        best = each.variances[PROVEN]
        for method in reversed(styles):
            value = np.where(each.variances[method] > 0.0, each.variances[method], np.nan)
            upper.plot(each.sizes, 100.0 * value / each.total, label=method, **styles[method])
            if method != PROVEN:
                lower.plot(each.sizes, 100.0 * (best - value) / best, **styles[method])
        upper.set_title(name)
        lower.set_xlabel("nonzeros d")
        lower.xaxis.set_major_locator(MaxNLocator(integer=True))
        for ax in (upper, lower):
            ax.set_ylim(bottom=0.0)
            ax.spines[["top", "right"]].set_visible(False)
    axes[0, 0].set_ylabel("variance explained (%)")
    axes[1, 0].set_ylabel("short of the optimum (%)")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(
        handles[::-1], labels[::-1], loc="outside lower center", ncols=len(labels), frameon=False
    )
    figure.savefig(file, dpi=110)


def main() -> None:
    """Compare, print the table, and draw."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--plot", type=Path, help="file of a picture of the shipped data")
    parser.add_argument("--only", help="data, separated by commas; default: all")
    asked = parser.parse_args()
    given = problems()
    chosen = list(given) if asked.only is None else asked.only.split(",")
    for name in chosen:
        if name not in given:
            parser.error(f"there is no {name!r}; there are: {', '.join(given)}")
    # The first solve compiles, or loads what was compiled before.
    sparseopt.solve(STRSPath(A=np.eye(3), d_max=1), backend="strs-bnb", check=False)
    heads = ("data", "D", "sizes", "proven", "our path", *HEURISTICS, "their time")
    print("| " + " | ".join(heads) + " |")
    print("|---|--:|--:|---|--:|" + "---|" * len(HEURISTICS) + "--:|")
    found = {}
    for name in chosen:
        found[name] = compare(given[name])
        print(row(name, found[name], len(given[name].A)), flush=True)
    if asked.plot is not None and set(found) & set(NAMES):
        draw(found, asked.plot)


if __name__ == "__main__":
    main()
