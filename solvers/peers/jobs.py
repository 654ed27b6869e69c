"""The calls of the Python peers, in their own terms: arrays in, arrays out."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from sparseopt.problems.base import Array

from ..common.served import needs

Arrays = dict[str, Any]


@needs("pyprimal")
def pyprimal(X: Array, y: Array, solver: str, pivots: int, stop: float, **extra: float) -> Arrays:
    """Follow a path; lam is the peer's own.

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
    solver : str
        The function of pyprimal.
    pivots : int
        The largest number of them.
    stop : float
        The lam at which to end, in the peer's units.
    extra : float
        Further arguments of the function.

    Returns
    -------
    dict of str to array
        "lam" (K,), "theta" (K, d), and where it has one "intercept" (K,).
    """
    import pyprimal

    answer = getattr(pyprimal, solver)(
        np.ascontiguousarray(X),
        np.ascontiguousarray(y),
        max_it=pivots,
        lambda_threshold=stop,
        **extra,
    )
    out = {"lam": answer.lambda_, "theta": answer.beta.T}
    if answer.beta0 is not None:
        out["intercept"] = answer.beta0
    return out


@needs("sklearn.linear_model")
def quantile_regressor(
    X: Array, y: Array, tau: float, alpha: float, intercept: bool, solver: str
) -> Arrays:
    """Fit scikit-learn's QuantileRegressor; its warnings say how it ended.

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
    tau : float
        The quantile, between 0 and 1.
    alpha : float
        The weight of the l1 norm.
    intercept : bool
        Whether to fit one; it is the last coefficient then.
    solver : str
        Of scipy.optimize.linprog.

    Returns
    -------
    dict of str to array
        "theta" (d,) or (d + 1,), "iterations", "warning".
    """
    from sklearn.linear_model import QuantileRegressor

    model = QuantileRegressor(quantile=tau, alpha=alpha, fit_intercept=intercept, solver=solver)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    theta = np.append(model.coef_, model.intercept_) if intercept else model.coef_
    return {"theta": theta, "iterations": model.n_iter_, "warning": _words(caught)}


@needs("statsmodels.regression.quantile_regression")
def quant_reg(X: Array, y: Array, tau: float, iterations: int, tolerance: float) -> Arrays:
    """Fit statsmodels' QuantReg (iteratively reweighted least squares).

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
    tau : float
        The quantile, between 0 and 1.
    iterations : int
        The largest number of them.
    tolerance : float
        Change of the coefficients at which to stop.

    Returns
    -------
    dict of str to array
        "theta" (d,), "iterations", "warning".
    """
    from statsmodels.regression.quantile_regression import QuantReg

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit = QuantReg(y, X).fit(q=tau, max_iter=iterations, p_tol=tolerance)
    return {
        "theta": np.asarray(fit.params),
        "iterations": int(fit.iterations),
        "warning": _words(caught),
    }


@needs("sklearn.linear_model")
def lars(X: Array, y: Array, ptr: Array, index: Array, method: str) -> Arrays:
    """Return for each node the order of its candidates on scikit-learn's path: supports as rows.

    Parameters
    ----------
    X : array of shape (n, columns)
    y : array of shape (n, nodes)
        The response of each node.
    ptr : int array of shape (nodes + 1,)
    index : int array
        Node j has the candidates ``index[ptr[j]:ptr[j + 1]]``, columns of X.
    method : str
        "lar" or "lasso".

    Returns
    -------
    dict of str to array
        "node" and "support" of each row, candidates as bits.
    """
    from sklearn.linear_model import lars_path

    def supports(A: Array, b: Array) -> Array:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            coefficients = lars_path(A, b, method=method)[2]
        return np.asarray(coefficients.T != 0.0)

    return _by_node(X, y, ptr, index, supports)


@needs("abess.linear")
def abess(X: Array, y: Array, ptr: Array, index: Array, model: str) -> Arrays:
    """Return for each node the supports of all sizes that abess chooses.

    Parameters
    ----------
    X : array of shape (n, columns)
    y : array of shape (n, nodes)
        The response of each node.
    ptr : int array of shape (nodes + 1,)
    index : int array
        Node j has the candidates ``index[ptr[j]:ptr[j + 1]]``, columns of X.
    model : str
        "linear" or "logistic".

    Returns
    -------
    dict of str to array
        "node" and "support" of each row, candidates as bits.
    """
    from abess.linear import LinearRegression, LogisticRegression

    family = {"linear": LinearRegression, "logistic": LogisticRegression}[model]

    def supports(A: Array, b: Array) -> Array:
        rows = []
        for size in range(1, A.shape[1]):
            fitted = family(support_size=size, fit_intercept=False, thread=1)
            fitted.fit(A, b)
            rows.append(np.ravel(fitted.coef_) != 0.0)
        return np.array(rows, dtype=bool).reshape(len(rows), A.shape[1])

    return _by_node(X, y, ptr, index, supports)


@needs("sklearn.covariance")
def glasso(R: Array, ptr: Array, index: Array, alphas: int, ratio: float) -> Arrays:
    """Return for each node its candidates among the nonzeros of scikit-learn's matrices.

    Parameters
    ----------
    R : array of shape (nodes, nodes)
        The correlation matrix.
    ptr : int array of shape (nodes + 1,)
    index : int array
        Node j has the candidates ``index[ptr[j]:ptr[j + 1]]``.
    alphas : int
        Number of penalties, on a logarithmic scale.
    ratio : float
        The smallest penalty over the largest one.

    Returns
    -------
    dict of str to array
        "node" and "support" of each row, candidates as bits.
    """
    from sklearn.covariance import graphical_lasso

    node = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    bit = np.int64(1) << (np.arange(len(index)) - ptr[node])
    most = float(np.abs(R - np.diag(np.diag(R))).max()) if len(R) > 1 else 0.0
    nodes, rows = [], []
    for alpha in most * np.geomspace(1.0, ratio, alphas) if most > 0.0 else ():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                precision = graphical_lasso(R, float(alpha))[1]
        except FloatingPointError:
            # With too little penalty for so few rows it breaks down; less would not be better.
            break
        chosen = np.zeros(len(ptr) - 1, dtype=np.int64)
        np.add.at(chosen, node, np.where(precision[node, index] != 0.0, bit, 0))
        nodes.append(np.arange(len(ptr) - 1))
        rows.append(chosen)
    none = np.zeros(0, dtype=np.int64)
    return {"node": np.concatenate([none, *nodes]), "support": np.concatenate([none, *rows])}


def _by_node(
    X: Array,
    y: Array,
    ptr: Array,
    index: Array,
    supports: Callable[[Array, Array], Array],
) -> Arrays:
    """Ask for the supports of each node that has a choice; column j of y is its response."""
    rows, nodes = [], []
    for j in range(len(ptr) - 1):
        candidates = index[ptr[j] : ptr[j + 1]]
        if len(candidates) > 1:
            found = supports(np.ascontiguousarray(X[:, candidates]), np.ascontiguousarray(y[:, j]))
            rows.append(found.astype(np.int64) @ (np.int64(1) << np.arange(len(candidates))))
            nodes.append(np.full(len(found), j))
    none = np.zeros(0, dtype=np.int64)
    return {"node": np.concatenate([none, *nodes]), "support": np.concatenate([none, *rows])}


def _words(caught: Any) -> Array:
    """Return what was warned of, as an array of bytes that needs no pickle."""
    return np.array(" ".join("; ".join(str(w.message) for w in caught).split())[:500])
