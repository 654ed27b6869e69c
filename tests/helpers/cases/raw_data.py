"""Small random problems on data as people have them: units, offsets, near-collinear columns.

Twelve kinds of data times fourteen models; a seed gives the same problem for ever. The study
``raw-data`` of ``sparseopt bench`` solves and checks thousands of each; from a clone,

    python tests/helpers raw_data --cases 20 [--model clime] [--kind offset]

prints a table of the outcomes.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np

import sparseopt
from sparseopt.problems import (
    CLIME,
    L1SVM,
    LPD,
    CompressedSensing,
    DantzigSelector,
    DifferentialNetwork,
    LADLasso,
    MatrixDantzig,
    ParametricLP,
    ParametricProblem,
    Pieces,
    PiecewiseLinearProgram,
    QuantileLasso,
)

__all__ = ["KINDS", "MODELS", "OUTCOMES", "case", "condition", "outcome"]

Array = np.ndarray
Rng = np.random.Generator


# ---- kinds of data: n observations of d columns


def _normal(rng: Rng, n: int, d: int) -> Array:
    return rng.normal(size=(n, d))


def _units(rng: Rng, n: int, d: int) -> Array:
    """Columns in units from 1e-6 to 1e6."""
    return rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-6.0, 6.0, d)


def _offset(rng: Rng, n: int, d: int) -> Array:
    """Columns with a mean of 1e4 standard deviations."""
    return 1e4 + rng.normal(size=(n, d))


def _polynomial(rng: Rng, n: int, d: int) -> Array:
    """Powers 1 to d of one variable between 0 and 10."""
    return rng.uniform(0.0, 10.0, n)[:, None] ** np.arange(1, d + 1)


def _collinear(rng: Rng, n: int, d: int) -> Array:
    """Each second column is the one before it with noise of 1e-3."""
    X = rng.normal(size=(n, d))
    pairs = d // 2
    X[:, 1 : 2 * pairs : 2] = X[:, 0 : 2 * pairs : 2] + 1e-3 * X[:, 1 : 2 * pairs : 2]
    return X


def _mixed(rng: Rng, n: int, d: int) -> Array:
    """Counts, shares, incomes, yes or no, and temperatures."""
    columns = (
        lambda: rng.poisson(3.0, n),
        lambda: rng.beta(1.0, 20.0, n),
        lambda: np.exp(rng.normal(10.5, 1.0, n)),
        lambda: rng.random(n) < 0.3,
        lambda: rng.normal(290.0, 8.0, n),
    )
    return np.column_stack([columns[int(k)]() for k in rng.integers(0, 5, d)]).astype(float)


def _tiny(rng: Rng, n: int, d: int) -> Array:
    """All numbers around 1e-8."""
    return 1e-8 * rng.normal(size=(n, d))


def _large(rng: Rng, n: int, d: int) -> Array:
    """All numbers around 1e8."""
    return 1e8 * rng.normal(size=(n, d))


def _years(rng: Rng, n: int, d: int) -> Array:
    """A year, its powers up to the third, and measurements that follow it."""
    year = rng.integers(1980, 2026, n).astype(float)
    powers = [year, year**2, year**3][: max(1, d // 2)]
    rest = [year * rng.normal() + rng.normal(size=n) for _ in range(d - len(powers))]
    return np.column_stack(powers + rest)


def _dummies(rng: Rng, n: int, d: int) -> Array:
    """All levels of a factor, the sum of which is constant, and their multiples."""
    return np.eye(d)[rng.integers(0, d, n)] * rng.choice([1.0, 1.0, 100.0], d)


def _rounded(rng: Rng, n: int, d: int) -> Array:
    """Numbers with one decimal: ties everywhere."""
    return np.round(rng.normal(size=(n, d)), 1)


def _rows(rng: Rng, n: int, d: int) -> Array:
    """Heavy tails: observations of very different sizes."""
    return rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-3.0, 4.0, n)[:, None]


KINDS: dict[str, Callable[[Rng, int, int], Array]] = {
    "normal": _normal,
    "units": _units,
    "offset": _offset,
    "polynomial": _polynomial,
    "collinear": _collinear,
    "mixed": _mixed,
    "tiny": _tiny,
    "large": _large,
    "years": _years,
    "dummies": _dummies,
    "rounded": _rounded,
    "rows": _rows,
}


# ---- models on such data


def _response(rng: Rng, X: Array) -> Array:
    """A sparse combination of the columns with noise, in units of its own half of the time."""
    size = np.abs(X).max(axis=0)
    beta = rng.normal(size=X.shape[1]) * (rng.random(X.shape[1]) < 0.5)
    signal = X @ (beta / np.where(size > 0.0, size, 1.0))
    y = signal + 0.3 * max(float(signal.std()), 1e-3) * rng.normal(size=len(X))
    return y * (1.0 if rng.random() < 0.5 else float(np.abs(X).max()))


def _sizes(rng: Rng) -> tuple[int, int]:
    return int(rng.integers(8, 31)), int(rng.integers(2, 9))


def _dantzig(rng: Rng, data: Callable[..., Array]) -> tuple[ParametricProblem, Array]:
    X = data(rng, *_sizes(rng))
    return DantzigSelector(X, _response(rng, X)), X


def _lad(rng: Rng, data: Callable[..., Array]) -> tuple[ParametricProblem, Array]:
    X = data(rng, *_sizes(rng))
    return LADLasso(X, _response(rng, X), fit_intercept=bool(rng.random() < 0.5)), X


def _quantile(rng: Rng, data: Callable[..., Array]) -> tuple[ParametricProblem, Array]:
    X = data(rng, *_sizes(rng))
    tau = float(rng.choice([0.1, 0.25, 0.5, 0.9]))
    return QuantileLasso(X, _response(rng, X), tau, fit_intercept=bool(rng.random() < 0.5)), X


def _svm(rng: Rng, data: Callable[..., Array]) -> tuple[ParametricProblem, Array]:
    X = data(rng, *_sizes(rng))
    y = _response(rng, X)
    labels = np.where(y > np.median(y), 1.0, -1.0)
    labels[0] = -labels[-1]
    return L1SVM(X, labels), X


def _lpd(rng: Rng, data: Callable[..., Array]) -> tuple[ParametricProblem, Array]:
    n, d = _sizes(rng)
    x, y = data(rng, n, d), data(rng, n, d)
    y = y + 0.5 * x.std(axis=0) * (rng.random(d) < 0.5)
    return LPD.from_samples(x, y), np.vstack([x - x.mean(axis=0), y - y.mean(axis=0)])


def _clime(rng: Rng, data: Callable[..., Array]) -> tuple[ParametricProblem, Array]:
    X = data(rng, *_sizes(rng))
    if rng.random() < 0.5:
        return CLIME.from_data(X), X - X.mean(axis=0)
    return CLIME(X.T @ X / len(X)), X


def _network(rng: Rng, data: Callable[..., Array]) -> tuple[ParametricProblem, Array]:
    n, d = int(rng.integers(8, 31)), int(rng.integers(2, 6))
    x, y = data(rng, n, d), data(rng, n, d)
    if rng.random() < 0.5:
        problem = DifferentialNetwork.from_samples(x, y)
        return problem, np.vstack([x - x.mean(axis=0), y - y.mean(axis=0)])
    return DifferentialNetwork(x.T @ x / n, y.T @ y / n), np.vstack([x, y])


def _sensing(rng: Rng, data: Callable[..., Array]) -> tuple[ParametricProblem, Array]:
    n, d = int(rng.integers(2, 9)), int(rng.integers(2, 13))
    X = data(rng, n, d)
    return CompressedSensing(X, _response(rng, X)), X


def _lp(rng: Rng, data: Callable[..., Array]) -> tuple[ParametricProblem, Array]:
    """Costs that are earned at lam = 0 and not at large lam, and limits that bound the rows."""
    A = data(rng, *_sizes(rng))
    size = np.abs(A).max(axis=0)
    size[size == 0.0] = 1.0
    row = np.abs(A).max(axis=1)
    row[row == 0.0] = 1.0
    m, n = A.shape
    A = np.vstack([A, np.eye(n)])
    b = np.concatenate([row * rng.uniform(0.1, 2.0, m), rng.uniform(0.5, 2.0, n) / size])
    b_bar = np.concatenate([row * rng.uniform(0.0, 1.0, m), np.zeros(n)])
    c = rng.normal(size=n) * size
    return ParametricLP(A, b, b_bar, c, -np.abs(c) * rng.uniform(0.1, 1.0, n)), A


def _matrix(rng: Rng, data: Callable[..., Array]) -> tuple[ParametricProblem, Array]:
    m1, d1, d2, m2 = (int(k) for k in rng.integers(2, 6, 4))
    X, Z = data(rng, m1, d1), data(rng, m2, d2).T
    left, right = np.abs(X).max(axis=0), np.abs(Z).max(axis=1)
    left[left == 0.0], right[right == 0.0] = 1.0, 1.0
    weight = rng.normal(size=(d1, d2)) / left[:, None] / right
    Y = X @ weight @ Z
    return MatrixDantzig(X, Z, Y + 0.1 * Y.std() * rng.normal(size=Y.shape)), X


def _loose_lp(rng: Rng, data: Callable[..., Array]) -> tuple[ParametricProblem, Array]:
    """Most rows out of reach: their limits are up to 1e16 times what others allow."""
    problem, A = _lp(rng, data)
    far = 10.0 ** rng.uniform(4.0, 16.0, len(A)) * (rng.random(len(A)) < 0.7)
    far[-A.shape[1] :] = 0.0  # the limits stay, or nothing would be bounded
    b_bar = problem.b_bar * (1.0 + far * (rng.random(len(A)) < 0.5))
    return problem.with_changes(b=problem.b * (1.0 + far), b_bar=b_bar), A


def _far_bounds(rng: Rng, data: Callable[..., Array]) -> tuple[ParametricProblem, Array]:
    """Regressions whose bounds are near, nowhere, or written as a large number."""
    X = data(rng, *_sizes(rng))
    size = np.abs(X).max(axis=0)
    unit = 1.0 / np.where(size > 0.0, size, 1.0)

    def ends() -> Array:
        far = 10.0 ** rng.uniform(4.0, 16.0, X.shape[1])
        near = rng.uniform(0.01, 1.0, X.shape[1])
        return rng.choice([0.0, 1.0, 1.0, np.inf], X.shape[1]) * np.where(
            rng.random(X.shape[1]) < 0.5, far, near
        )

    low, high = -unit * ends(), unit * ends()
    low[low < -1e19], high[high > 1e19] = -np.inf, np.inf  # what is written as no bound
    y = _response(rng, X)
    if rng.random() < 0.5:
        return DantzigSelector(X, y, bounds=(low, high)), X
    return LADLasso(X, y, fit_intercept=bool(rng.random() < 0.5), bounds=(low, high)), X


def _weighted(rng: Rng, data: Callable[..., Array]) -> tuple[ParametricProblem, Array]:
    """Regressions with weights of columns and of observations, and with bounds, or without."""
    X = data(rng, *_sizes(rng))
    n, d = X.shape
    y = _response(rng, X)
    size = np.abs(X).max(axis=0)
    unit = 1.0 / np.where(size > 0.0, size, 1.0)
    weights = rng.choice([0.0, 1.0, 1.0, 10.0 ** rng.uniform(-4.0, 4.0)], d) / unit
    counts = rng.choice([0.0, 1.0, 1.0, 2.0, 0.5, 10.0 ** rng.uniform(-4.0, 4.0)], n)
    counts[:2] = 1.0
    low, high = -unit * rng.uniform(0.0, 2.0, d), unit * rng.uniform(0.0, 2.0, d)
    low[rng.random(d) < 0.5], high[rng.random(d) < 0.5] = -np.inf, np.inf
    more = {"weights": weights, "sample_weights": counts}
    if rng.random() < 0.5:
        more["bounds"] = low, high
    intercept = bool(rng.random() < 0.5)
    labels = np.where(y > np.median(y), 1.0, -1.0)
    labels[0], labels[1] = 1.0, -1.0
    makers: tuple[Callable[[], ParametricProblem], ...] = (
        lambda: DantzigSelector(X, y, fit_intercept=intercept, **more),
        lambda: LADLasso(X, y, fit_intercept=intercept, **more),
        lambda: QuantileLasso(X, y, 0.3, fit_intercept=intercept, **more),
        lambda: L1SVM(X, labels, **more),
        lambda: CompressedSensing(X, y, weights=weights, bounds=more.get("bounds")),
    )
    return makers[int(rng.integers(len(makers)))](), X


def _pieces(rng: Rng, data: Callable[..., Array]) -> tuple[ParametricProblem, Array]:
    """Functions of two or three kinks of rows and coefficients, all of which move with lam."""
    X = data(rng, *_sizes(rng))
    n, d = X.shape
    y = _response(rng, X)
    size = np.abs(X).max(axis=0)
    unit = 1.0 / np.where(size > 0.0, size, 1.0)
    wide = 0.1 * np.abs(y).max() * rng.uniform(0.0, 1.0, n) + 1e-300
    steep = rng.uniform(0.5, 2.0, n)
    psi = Pieces.uniform(
        [y - wide, y, y + wide],
        [-2.0 * steep, -steep, 0.5 * steep, 3.0 * steep],
        kink_rates=[-0.1 * wide, np.zeros(n), 0.1 * wide],
    )
    near = unit * rng.uniform(0.01, 1.0, d)
    price = rng.uniform(0.1, 1.0, d) / unit
    phi = Pieces.uniform(
        [-near, np.zeros(d), near],
        [np.zeros(d), np.zeros(d), np.zeros(d), np.zeros(d)],
        slope_rates=[-2.0 * price, -price, price, 2.0 * price],
    )
    return PiecewiseLinearProgram(X, phi, psi), X


MODELS: dict[str, Callable[..., tuple[ParametricProblem, Array]]] = {
    "dantzig-selector": _dantzig,
    "lad-lasso": _lad,
    "quantile-lasso": _quantile,
    "l1-svm": _svm,
    "lpd": _lpd,
    "clime": _clime,
    "differential-network": _network,
    "compressed-sensing": _sensing,
    "parametric-lp": _lp,
    "matrix-dantzig": _matrix,
    "loose-lp": _loose_lp,
    "far-bounds": _far_bounds,
    "weighted": _weighted,
    "pieces": _pieces,
}


def case(model: str, kind: str, seed: int) -> tuple[ParametricProblem, Array]:
    """Return the problem of a model, a kind of data and a seed, and the data it is built from."""
    rng = np.random.default_rng([list(MODELS).index(model), list(KINDS).index(kind), seed])
    return MODELS[model](rng, KINDS[kind])


def condition(X: Array) -> float:
    """Return the condition number of the columns in units of their own; inf where dependent."""
    size = np.linalg.norm(X, axis=0)
    scaled = X / np.where(size > 0.0, size, 1.0)
    values = np.linalg.svd(scaled, compute_uv=False)
    return float(values[0] / values[-1]) if values[-1] > 0.0 else np.inf


# ---- what becomes of them

OUTCOMES = ("verified", "short", "unproven", "no_solution", "slow", "refuted", "failed")
"""`short`: verified, but the path ends where precision does; `slow`: not done in time."""


def outcome(
    problem: ParametricProblem, backend: str = "homotopy", seconds: float = 10.0
) -> tuple[str, str]:
    """Solve for the whole path and check it; return the outcome and what explains it."""
    try:
        result = sparseopt.solve(problem, backend=backend, time_limit=seconds, threads=1)
    except Exception as error:
        return "failed", f"{type(error).__name__}: {error}"
    why = "; ".join(result.check_messages)
    verdict = str(result.verdict)
    if verdict == "refuted":
        return "refuted", why
    if str(result.limit) == "time":
        return "slow", str(result.path)
    if str(result.status) == "no_solution":
        return "no_solution", str(result.raw_status)
    if verdict != "verified":
        return "unproven", why
    return ("short" if result.limit is not None else "verified"), why


def outcomes(model: str, kind: str, seeds: range) -> Iterator[tuple[int, str, str]]:
    """Yield the seed, the outcome and its explanation of several cases."""
    for seed in seeds:
        problem, _ = case(model, kind, seed)
        yield seed, *outcome(problem)


def main() -> None:
    """Print how many cases of each model and kind have each outcome."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--cases", type=int, default=12)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--model", action="append", choices=list(MODELS))
    parser.add_argument("--kind", action="append", choices=list(KINDS))
    parser.add_argument("--why", action="store_true", help="print each case that is not verified")
    asked = parser.parse_args()
    seeds = range(asked.first, asked.first + asked.cases)
    total: Counter[str] = Counter()
    for model in asked.model or MODELS:
        for kind in asked.kind or KINDS:
            found: Counter[str] = Counter()
            for seed, what, why in outcomes(model, kind, seeds):
                found[what] += 1
                if asked.why and what != "verified":
                    print(f"    {model} {kind} {seed}: {what}: {why[:300]}")
            total += found
            text = "  ".join(f"{name} {found[name]}" for name in OUTCOMES if found[name])
            print(f"{model:22} {kind:11} {text}", flush=True)
    print("  ".join(f"{name} {total[name]}" for name in OUTCOMES))


if __name__ == "__main__":
    main()
