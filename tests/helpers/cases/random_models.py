"""Small random cases of each model, most of them degenerate, and what must be true of their paths.

A seed gives the same case for ever. Used by the tests (200 of each) and by the study
``verify-models`` of ``sparseopt bench`` (1,000 of each).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from textbook_lp import solve_textbook, solve_textbook_all

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
    Problem,
    QuantileLasso,
)

TOLERANCE = 1e-8
"""Of objective values, relative to 1 + their size."""
LAST_DIGITS = 1e-15
"""What a stated lam may be off by, relative to itself."""
FEASIBILITY = 1e-10
"""Of shorter steps of lam a linear program says nothing."""


# ---- cases


def design(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Normal, integer, one-hot or signs; with zero and duplicated columns, repeated rows."""
    style = rng.integers(5)
    if style == 0:
        X = rng.integers(-2, 3, (n, d)).astype(float)
    elif style == 1:
        X = np.eye(d)[rng.integers(0, d, n)]
    elif style == 2:
        X = rng.choice([-1.0, 1.0], (n, d))
    else:
        X = rng.normal(size=(n, d))
    if rng.random() < 0.2:
        X[:, rng.integers(d)] = 0.0
    if rng.random() < 0.2:
        X[:, rng.integers(d)] = X[:, 0] * rng.choice([-1.0, 1.0, 2.0])
    if rng.random() < 0.2:
        X[-1] = X[0]
    return X


def response(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    """Noise, integers, a constant, zero, or the exact image of a sparse vector."""
    n, d = X.shape
    style = rng.integers(6)
    if style == 0:
        return rng.integers(-3, 4, n).astype(float)
    if style == 1:
        return np.full(n, float(rng.integers(-1, 3)))
    if style == 2:
        return X @ np.where(rng.random(d) < 0.4, rng.integers(-2, 3, d), 0.0)
    return rng.normal(size=n)


def symmetric(rng: np.random.Generator, d: int) -> np.ndarray:
    """A covariance of few or many observations, an integer or an indefinite matrix, or diagonal."""
    style = rng.integers(5)
    if style == 0:
        half = rng.integers(-2, 3, (d, d)).astype(float)
        return half + half.T
    if style == 1:
        return np.diag(rng.integers(0, 3, d).astype(float))
    n = int(rng.integers(2, 2 * d + 3))
    X = design(rng, n, d)
    if style == 2:
        return X.T @ X
    X = X - X.mean(axis=0)
    return X.T @ X / n


def some_weights(rng: np.random.Generator, shape: int | tuple[int, int]) -> np.ndarray | None:
    """None, or weights of which some are 0."""
    style = rng.integers(4)
    if style == 0:
        return rng.integers(0, 3, shape).astype(float)
    if style == 1:
        return rng.uniform(0.2, 2.0, shape)
    return None


def some_bounds(rng: np.random.Generator, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Nonnegative coefficients, or bounds of any kind; some coefficients are held at 0."""
    if rng.random() < 0.3:
        return np.zeros(d), np.full(d, np.inf)
    ends = rng.choice([0.0, 0.5, 1.0, 2.0, np.inf], (2, d))
    ends += np.where(rng.random((2, d)) < 0.3, rng.uniform(0.0, 3.0, (2, d)), 0.0)
    return -ends[0], ends[1]


def quantile_lasso(rng: np.random.Generator) -> QuantileLasso:
    X = design(rng, *rng.integers(1, 11, 2))
    return QuantileLasso(
        X,
        response(rng, X),
        tau=float(rng.choice([0.5, 0.25, 0.9, rng.uniform(0.05, 0.95)])),
        fit_intercept=bool(rng.random() < 0.5),
        weights=some_weights(rng, X.shape[1]),
    )


def compressed_sensing(rng: np.random.Generator) -> CompressedSensing:
    n, d = rng.integers(1, 9), rng.integers(1, 13)
    X = design(rng, n, d)
    return CompressedSensing(
        X, response(rng, X), weights=some_weights(rng, d), row_weights=some_weights(rng, n)
    )


def lpd(rng: np.random.Generator) -> LPD:
    d = int(rng.integers(1, 9))
    if rng.random() < 0.4:
        x, y = design(rng, rng.integers(2, 9), d), design(rng, rng.integers(2, 9), d)
        return LPD.from_samples(x + 1.0, y, ddof=int(rng.integers(3)))
    S = symmetric(rng, d)
    return LPD(S, response(rng, S), some_weights(rng, d), some_weights(rng, d))


def l1_svm(rng: np.random.Generator) -> L1SVM:
    n, d = int(rng.integers(2, 13)), int(rng.integers(1, 9))
    X = design(rng, n, d)
    score = X @ rng.normal(size=d) if rng.random() < 0.5 else rng.normal(size=n)
    y = np.where(score > 0.0, 1.0, -1.0)
    y[rng.integers(n)] *= -1.0 if rng.random() < 0.2 else 1.0
    if (y == y[0]).all():
        y[-1] = -y[0]
    return L1SVM(X, y, fit_intercept=bool(rng.random() < 0.7), weights=some_weights(rng, d))


def clime(rng: np.random.Generator) -> CLIME:
    d = int(rng.integers(1, 7))
    if rng.random() < 0.4:
        return CLIME.from_data(design(rng, rng.integers(2, 12), d), ddof=int(rng.integers(2)))
    return CLIME(symmetric(rng, d), some_weights(rng, d), some_weights(rng, d))


def differential_network(rng: np.random.Generator) -> DifferentialNetwork:
    d = int(rng.integers(1, 5))
    sign = str(rng.choice(["y-x", "x-y"]))
    if rng.random() < 0.4:
        x, y = design(rng, rng.integers(2, 10), d), design(rng, rng.integers(2, 10), d)
        return DifferentialNetwork.from_samples(x, y, sign=sign)
    return DifferentialNetwork(
        symmetric(rng, d),
        symmetric(rng, d),
        sign,
        weights=some_weights(rng, (d, d)),
        row_weights=some_weights(rng, (d, d)),
    )


def matrix_dantzig(rng: np.random.Generator) -> MatrixDantzig:
    m1, d1, d2, m2 = (int(k) for k in rng.integers(1, 5, 4))
    X, Z = design(rng, m1, d1), design(rng, d2, m2)
    Y = X @ rng.integers(-1, 2, (d1, d2)) @ Z if rng.random() < 0.4 else rng.normal(size=(m1, m2))
    return MatrixDantzig(X, Z, Y, some_weights(rng, (d1, d2)), some_weights(rng, (m1, m2)))


def dantzig_selector(rng: np.random.Generator) -> DantzigSelector:
    n, d = rng.integers(1, 9, 2)
    X = design(rng, n, d)
    weights = some_weights(rng, d)
    return DantzigSelector(
        X,
        response(rng, X),
        scale=str(rng.choice(["none", "n"])),
        weights=weights,
        row_weights=weights if rng.random() < 0.5 else None,
    )


def lad_lasso(rng: np.random.Generator) -> LADLasso:
    X = design(rng, *rng.integers(1, 11, 2))
    intercept = bool(rng.random() < 0.5)
    return LADLasso(X, response(rng, X), intercept, some_weights(rng, X.shape[1]))


MODELS: dict[str, Callable[[np.random.Generator], Problem]] = {
    "quantile-lasso": quantile_lasso,
    "compressed-sensing": compressed_sensing,
    "lpd": lpd,
    "l1-svm": l1_svm,
    "clime": clime,
    "differential-network": differential_network,
    "matrix-dantzig": matrix_dantzig,
    "dantzig-selector": dantzig_selector,
    "lad-lasso": lad_lasso,
}
BOUNDED = [
    "lad-lasso", "quantile-lasso", "l1-svm", "dantzig-selector", "compressed-sensing"
]  # fmt: skip
"""The models that take bounds on coefficients."""


def case(model: str, seed: int, bounded: bool = False) -> Problem:
    """Return the case of a model and a seed."""
    rng = np.random.default_rng([list(MODELS).index(model), seed])
    problem = MODELS[model](rng)
    return problem.with_changes(bounds=some_bounds(rng, problem.X.shape[1])) if bounded else problem


# ---- what must be true


def complaints(
    model: str, seed: int, backend: str = "homotopy", bounded: bool = False
) -> Iterator[str]:
    """Yield what is wrong with the whole path of a case; nothing for a right one.

    The path must be verified by the checker and end at lam = 0, or where the textbook program
    becomes infeasible. At random lam, at knots and at both ends, the objective, in closed form
    and as the path states it, must be that of the textbook program, up to what a rounded lam makes
    of a steep path. Where the last digits of the data decide, as the result says, a path may be
    `unproven`: which problem it is depends on how the processor rounds.
    """
    problem = case(model, seed, bounded)
    name = f"{model} seed {seed} ({problem!r})"
    result = sparseopt.solve(problem, backend=backend)
    by_digits = any("last digits of the data" in note for note in result.notes)
    if str(result.verdict) not in (("verified", "unproven") if by_digits else ("verified",)):
        yield f"{name}: {result.status}, {result.verdict}: {'; '.join(result.check_messages)}"
    path = result.path
    if path is None:
        status, _ = solve_textbook(problem, 1e6)
        if not (str(result.status) == "infeasible" == status):
            yield f"{name}: {result.status} without a path; the linear program is {status}"
        return
    if path.stopped_by not in ("lam_min", "infeasible_below"):
        yield f"{name}: stopped by {path.stopped_by} at lam = {path.low[-1]:g}"
    rng = np.random.default_rng(seed)
    end, first = float(path.low[-1]), float(path.low[0])
    values = {end, first, float(rng.choice(path.low)), *rng.uniform(end, 1.1 * first + 0.1, 2)}
    known = {}
    if path.stopped_by == "infeasible_below":
        # Where the program may be infeasible by rounding, it is solved on its own.
        known[end] = solve_textbook(problem, end)
        values.discard(end)
    known.update(zip(values, solve_textbook_all(problem, values), strict=True))
    for lam, (status, value) in known.items():
        if status != "optimal":
            # At its very end a path is feasible by no more than rounding; and where the last digits
            # of the data decide, a program in doubles says nothing.
            if lam > end and not by_digits:
                yield f"{name}: the linear program is {status} at lam = {lam!r}"
            continue
        least = path.objective_at(lam)
        steep = abs(path.objective_at(max(end, lam * (1.0 - LAST_DIGITS))) - least)
        for said, own in (
            ("path", least),
            ("above", problem.objective(path.at(lam, "above"), lam)),
            ("below", problem.objective(path.at(lam, "below"), lam)),
        ):
            if not abs(own - value) <= TOLERANCE * (1.0 + abs(value)) + steep:
                yield f"{name}: {said} {own!r} at lam = {lam!r}, the linear program {value!r}"
    if path.stopped_by == "infeasible_below":
        below = end * (1.0 - 1e-3)
        status, value = solve_textbook(problem, below)
        # Of a step shorter than its feasibility tolerance the linear program says nothing.
        if status != "infeasible" and end - below > FEASIBILITY:
            yield f"{name}: ends at {end!r}, but at {below!r} there is the optimum {value!r}"
    elif end != 0.0:
        yield f"{name}: ends at {end!r} by {path.stopped_by}"
