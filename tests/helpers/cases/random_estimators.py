"""Random fits of the estimators, and what must be the same whichever way the data are given.

    python tests/helpers random_estimators --seconds 600 --seed 0

prints each difference: columns in another order, sparse or in another layout, weights for repeated
rows, the copy at the chosen lam, the estimator after pickling, scikit-learn's optimum.
"""

from __future__ import annotations

import argparse
import pickle
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import QuantileRegressor

from sparseopt import estimators

Array = np.ndarray
Rng = np.random.Generator
_REGRESSIONS = ("DantzigSelector", "LADLasso", "QuantileLasso", "BasisPursuit")


class Case(NamedTuple):
    """An estimator and its data; `y` is None where it takes none."""

    estimator: Any
    X: Array
    y: Array | None

    def fit(self, X: Any = None, **given: Any) -> Any:
        """Return a copy fitted to X, to the case's own without it."""
        X = self.X if X is None else X
        model = clone(self.estimator)
        return model.fit(X, **given) if self.y is None else model.fit(X, self.y, **given)

    def repeated(self, times: Array) -> Case:
        """Return the case with each row so many times."""
        y = None if self.y is None else np.repeat(self.y, times, axis=0)
        return Case(self.estimator, np.repeat(self.X, times, axis=0), y)


def draw(seed: int) -> Case:
    """Return a small case of any estimator whose answer is an optimum."""
    rng = np.random.default_rng(seed)
    return _CASES[seed % len(_CASES)](rng)


def faults(seed: int) -> Iterator[str]:
    """Yield what differs between fits that are to be the same.

    A lam that nothing meets the constraints at is none.
    """
    case = draw(seed)
    try:
        model = case.fit()
    except ValueError as error:
        if "nothing meets the constraints" not in str(error):
            yield f"the fit: {error}"
        return
    if any(str(verdict) != "verified" for verdict in np.ravel([model.verdict_])):
        yield f"the verdict is {model.verdict_}"
    order = np.random.default_rng(seed).permutation(case.X.shape[1])
    # Candidates of graphs are a window of columns, and the first of equal components is kept.
    if isinstance(case.estimator, _IN_ANY_ORDER):
        yield from _differences("another order of columns", case.fit(case.X[:, order]), model)
    if not _chosen_by_folds(case.estimator):
        # Rounding decides on which side of a boundary through whole numbers they are counted.
        yield from _differences("sparse data", case.fit(sp.csr_array(case.X)), model)
    yield from _differences("another memory layout", case.fit(np.asfortranarray(case.X)), model)
    yield from _differences("a pickle", pickle.loads(pickle.dumps(model)), model)
    if "at" in dir(model) and getattr(model, "lam_", None) is not None:
        yield from _differences("the copy at its lam", model.at(model.lam_), model)
    if _chosen_by_folds(case.estimator):
        return
    times = np.random.default_rng(seed).integers(0, 4, len(case.X))
    some = times > 0
    enough = some.sum() >= 6 and (case.y is None or len(set(case.y[some])) == len(set(case.y)))
    if enough or (case.y is not None and case.y.dtype.kind == "f" and some.sum() >= 6):
        yield from _weighted(case, times)
    yield from _beside_scikit_learn(case, model)


def _weighted(case: Case, times: np.ndarray) -> Iterator[str]:
    """Yield what differs between weights and repeated rows: both may have no feasible point."""
    fits: list[Any] = []
    for fit in (lambda: case.fit(sample_weight=times.astype(float)), case.repeated(times).fit):
        try:
            fits.append(fit())
        except ValueError as error:
            if "nothing meets the constraints" not in str(error):
                raise
            fits.append(None)
    if fits.count(None) == 1:
        yield "repeated rows: one of the fits is infeasible"
    elif None not in fits:
        yield from _differences("repeated rows", *fits)


def _differences(what: str, one: Any, other: Any) -> Iterator[str]:
    """Yield that two fits have other objectives, unless their criterion is the same."""
    chosen = [getattr(model, "selection_", None) for model in (one, other)]
    if None not in chosen:
        a, b = (float(selection.value) for selection in chosen)
        # Several values of lam may be as good.
        if abs(a - b) <= 1e-6 * max(1.0, abs(b)) or a == b:
            return
    a, b = (getattr(model, "objective_", None) for model in (one, other))
    if a is None or b is None or np.ndim(a):
        return
    if abs(a - b) > 1e-5 * max(abs(b), 1e-6):
        yield f"{what}: the objective is {a:.9g} beside {b:.9g}"


def _chosen_by_folds(estimator: Any) -> bool:
    """Return whether lam comes from folds, which are others for repeated rows."""
    given = estimator.get_params()
    folds = isinstance(estimator, estimators.L1SVC | estimators.SparseLDA)
    return folds and given["lam"] is None and given["rule"] is None


def _beside_scikit_learn(case: Case, model: Any) -> Iterator[str]:
    """Yield that QuantileRegressor has another optimum, where it can say the same."""
    given = case.estimator.get_params()
    kinds = estimators.LADLasso | estimators.QuantileLasso
    if not isinstance(case.estimator, kinds) or given["standardize"] or given["refit"]:
        return
    if given["positive"] or given["bounds"] is not None or model.lam_ <= 0.0:
        return
    level, n = given.get("quantile", 0.5), len(case.X)
    alpha = model.lam_ / (n if "quantile" in given else 2.0 * n)
    intercept = given["fit_intercept"]
    peer = QuantileRegressor(quantile=level, alpha=alpha, fit_intercept=intercept, solver="highs")
    peer.fit(case.X, case.y)

    def value(fitted: Any) -> float:
        r = case.y - case.X @ fitted.coef_ - fitted.intercept_
        loss = np.mean(np.maximum(level * r, (level - 1.0) * r))
        return float(loss + alpha * np.abs(fitted.coef_).sum())

    ours, theirs = value(model), value(peer)
    if abs(ours - theirs) > 1e-6 * max(theirs, 1e-9):
        yield f"scikit-learn has {theirs:.9g}, the fit {ours:.9g}"


def _columns(rng: Rng, least: int = 1) -> Array:
    """Return columns: normal ones, whole numbers, of units far apart, or with many zeros."""
    n, p, kind = int(rng.integers(12, 40)), int(rng.integers(least, 7)), int(rng.integers(4))
    X = rng.normal(size=(n, p))
    if kind == 1:
        X = np.round(X)
    elif kind == 2:
        X = X * 10.0 ** rng.integers(-3, 4, p) + 10.0 ** rng.integers(0, 3)
    elif kind == 3:
        X[rng.random(X.shape) < 0.4] = 0.0
    return X


def _response(X: Array, rng: Rng) -> Array:
    """Return a response of some columns, in units of each."""
    scale = np.maximum(X.std(axis=0), 1e-9)
    chosen = rng.normal(size=X.shape[1]) * (rng.random(X.shape[1]) < 0.6)
    y = ((X - X.mean(axis=0)) / scale) @ chosen + rng.normal(size=len(X))
    return np.round(y) if rng.random() < 0.2 else y


def _classes(X: Array, rng: Rng) -> Array:
    z = _response(X, rng) + 1e-3 * rng.normal(size=len(X))
    names = (np.array([0, 1]), np.array(["b", "a"]), np.array([-1, 2]))[int(rng.integers(3))]
    return names[(z > np.quantile(z, rng.uniform(0.3, 0.7))).astype(int)]


def _regression(rng: Rng) -> Case:
    X = _columns(rng)
    name = str(rng.choice(_REGRESSIONS))
    given: dict[str, Any] = {
        "fit_intercept": bool(rng.random() < 0.7),
        "standardize": bool(rng.random() < 0.6),
        "refit": bool(rng.random() < 0.3),
    }
    if name == "QuantileLasso":
        given["quantile"] = float(np.round(rng.uniform(0.05, 0.95), 2))
    if rng.random() < 0.6:
        given["rule"] = str(rng.choice(["ebic", "bic", "aic"]))
    else:
        given["lam"] = float(10.0 ** rng.uniform(-2.0, 1.5))
    limits = rng.random()
    if limits < 0.2:
        given["positive"] = True
    elif limits < 0.35:
        given["bounds"] = -float(rng.uniform()), float(rng.uniform())
    return Case(getattr(estimators, name)(**given), X, _response(X, rng))


def _classifier(rng: Rng) -> Case:
    X, kind = _columns(rng, 2), int(rng.integers(3))
    standardize = bool(rng.random() < 0.6)
    lam = float(10.0 ** rng.uniform(-2.0, 1.0)) if rng.random() < 0.6 else None
    model: Any = estimators.L1SVC(
        lam=lam, fit_intercept=bool(rng.random() < 0.7), standardize=standardize
    )
    if kind == 1:
        model = estimators.SparseLDA(lam=lam, standardize=standardize)
    elif kind == 2:
        k, ridge = int(rng.integers(1, X.shape[1])), float(10.0 ** rng.uniform(-2.0, 0.0))
        model = estimators.SparseLogisticRegression(k=k, ridge=ridge)
    return Case(model, X, _classes(X, rng))


def _subset(rng: Rng) -> Case:
    X = _columns(rng, 2)
    size, intercept = int(rng.integers(1, X.shape[1])), bool(rng.random() < 0.6)
    if rng.random() < 0.5:
        return Case(estimators.BestSubset(size=size, fit_intercept=intercept), X, _response(X, rng))
    ridge = float(10.0 ** rng.uniform(-2.0, 1.0))
    model = estimators.SparseRegression(k=size, ridge=ridge, fit_intercept=intercept)
    return Case(model, X, _response(X, rng))


def _without_response(rng: Rng) -> Case:
    X, kind = _columns(rng, 3), int(rng.integers(4))
    p, standardize = X.shape[1], bool(rng.random() < 0.7)
    models: list[Callable[[], Any]] = [
        lambda: estimators.CLIME(
            lam=float(rng.uniform(0.02, 0.9)) if rng.random() < 0.6 else None,
            standardize=standardize,
        ),
        lambda: estimators.GaussianGraphL0(candidates=int(rng.integers(1, p))),
        lambda: estimators.NeighbourhoodGraph(k=int(rng.integers(1, p))),
        lambda: estimators.SparsePCA(n_nonzeros=int(rng.integers(1, p)), standardize=standardize),
    ]
    return Case(models[kind](), X, None)


_CASES = (_regression, _classifier, _subset, _without_response)
_IN_ANY_ORDER = tuple(getattr(estimators, name) for name in (*_REGRESSIONS, "L1SVC", "CLIME"))


def main() -> None:
    """Print the differences between fits that are to be the same."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    seed, end = asked.seed, time.monotonic() + asked.seconds
    while time.monotonic() < end:
        for fault in faults(seed):
            print(f"{seed}: {draw(seed).estimator}: {fault}", flush=True)
        seed += 1
    print(f"{seed - asked.seed} fits")


if __name__ == "__main__":
    main()
