"""An independent reference: each model's textbook linear program from its own data, by HiGHS.

Nothing of the general form is used here. Coefficients are split into u - v with u, v >= 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from sparseopt.problems import (
    CLIME,
    L1SVM,
    LPD,
    CompressedSensing,
    DantzigSelector,
    DifferentialNetwork,
    LADLasso,
    MatrixDantzig,
    QuantileLasso,
)

_TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
_STATUS = {0: "optimal", 2: "infeasible", 3: "unbounded"}


def _given(weights, shape):
    return np.ones(shape) if weights is None else np.asarray(weights)


@dataclass(frozen=True)
class LP:
    """Minimise cost'x subject to rows x <= most, or rows x = most, and bounds on x."""

    cost: np.ndarray
    rows: np.ndarray
    most: np.ndarray
    bounds: list
    equal: bool = False


def _solve(lps):
    """Solve LPs that are all of one form side by side; (status, the objective of each)."""
    rows = sp.block_diag([lp.rows for lp in lps], format="csr")
    most = np.concatenate([lp.most for lp in lps])
    kind = ("A_eq", "b_eq") if lps[0].equal else ("A_ub", "b_ub")
    answer = linprog(
        np.concatenate([lp.cost for lp in lps]),
        bounds=[pair for lp in lps for pair in lp.bounds],
        method="highs",
        options=_TIGHT,
        **dict(zip(kind, (rows, most), strict=True)),
    )
    status = _STATUS.get(answer.status, f"linprog status {answer.status}")
    if status != "optimal":
        return status, None
    ends = np.cumsum([len(lp.cost) for lp in lps])
    return status, [
        float(lp.cost @ x) for lp, x in zip(lps, np.split(answer.x, ends[:-1]), strict=True)
    ]


def solve_textbook(problem, lam):
    """Return (status, objective) of the model at lam."""
    status, values = _solve(_FORMS[type(problem)](problem, lam))
    return status, None if values is None else sum(values)


def solve_textbook_all(problem, lams):
    """Return (status, objective) of the model at each lam, in one linear program if all have one.

    The linear programs stand side by side, with no row or column in common.
    """
    parts = [_FORMS[type(problem)](problem, lam) for lam in lams]
    status, values = _solve([lp for part in parts for lp in part])
    if status != "optimal":
        return [solve_textbook(problem, lam) for lam in lams]
    ends = np.cumsum([len(part) for part in parts])
    return [(status, float(sum(part))) for part in np.split(values, ends[:-1])]


def solve_bounded_svm(problem, bound):
    """Return the least hinge loss with the l1 norm of theta at most `bound` (2.12)."""
    status, values = _solve(_svm(problem, None, bound))
    return status, None if values is None else sum(values)


def _halves(bounds, d):
    """Return the bounds of u and v for theta = u - v."""
    low, high = (np.full(d, -np.inf), np.full(d, np.inf)) if bounds is None else bounds
    return [(0, end) for end in (*high, *-low)]


def _band(A, center, lam, weights, radius, bounds=None):
    """Minimise w'abs(theta) subject to abs(A theta - center) <= lam radius."""
    halves = _halves(bounds, A.shape[1])
    A = np.hstack([A, -A])
    rows = np.vstack([A, -A])
    rhs = np.concatenate([center + lam * radius, lam * radius - center])
    return [LP(np.tile(weights, 2), rows, rhs, halves)]


def _compressed_sensing(p, lam):
    n, d = p.X.shape
    return _band(p.X, p.y, lam, _given(p.weights, d), _given(p.row_weights, n), p.bounds)


def _dantzig(p, lam):
    n, d = p.X.shape
    divisor = n if p.scale == "n" else 1
    A, center = p.X.T @ p.X / divisor, p.X.T @ p.y / divisor
    return _band(A, center, lam, _given(p.weights, d), _given(p.row_weights, d), p.bounds)


def _lpd(p, lam):
    d = len(p.S)
    return _band(p.S, p.delta, lam, _given(p.weights, d), _given(p.row_weights, d))


def _clime(p, lam):
    """One program for each column."""
    d = len(p.S)
    weights, radius = _given(p.weights, d), _given(p.row_weights, d)
    return [lp for unit in np.eye(d) for lp in _band(p.S, unit, lam, weights, radius)]


def _equation(X, Z, Y, lam, weights, radius):
    """Minimise sum W abs(D) subject to abs(X D Z - Y) <= lam R, one equation for each entry."""
    (m1, d1), (d2, m2) = X.shape, Z.shape
    A = np.array([np.outer(X[i], Z[:, j]).ravel() for i in range(m1) for j in range(m2)])
    return _band(A, Y.ravel(), lam, weights.reshape(d1 * d2), radius.reshape(m1 * m2))


def _matrix_dantzig(p, lam):
    shape = (p.X.shape[1], len(p.Z))
    return _equation(p.X, p.Z, p.Y, lam, _given(p.weights, shape), _given(p.row_weights, p.Y.shape))


def _network(p, lam):
    Y = p.S_X - p.S_Y if p.sign == "y-x" else p.S_Y - p.S_X
    shape = Y.shape
    return _equation(p.S_X, p.S_Y, Y, lam, _given(p.weights, shape), _given(p.row_weights, shape))


def _split_design(p):
    """Return the columns of (u, v, beta), their weights, and their lower bounds."""
    n, d = p.X.shape
    ones = np.ones((n, 1)) if p.fit_intercept else np.zeros((n, 0))
    columns = np.hstack([p.X, -p.X, ones])
    weights = np.concatenate([np.tile(_given(p.weights, d), 2), np.zeros(ones.shape[1])])
    return columns, weights, _halves(p.bounds, d) + [(None, None)] * ones.shape[1]


def _lad(p, lam):
    return _residuals(p, lam, 1.0, 1.0)


def _quantile(p, lam):
    return _residuals(p, lam, p.tau, 1.0 - p.tau)


def _residuals(p, lam, above, below):
    """Minimise above r+ + below r- over the residuals r+ - r-, plus the penalty."""
    n = len(p.y)
    columns, weights, bounds = _split_design(p)
    cost = np.concatenate([lam * weights, np.full(n, above), np.full(n, below)])
    rows = np.hstack([columns, np.eye(n), -np.eye(n)])
    return [LP(cost, rows, p.y, bounds + [(0, None)] * (2 * n), equal=True)]


def _svm(p, lam, bound=None):
    """Slack xi >= 1 - y (x'theta + beta), cost xi."""
    n = len(p.y)
    columns, weights, bounds = _split_design(p)
    penalty = np.zeros_like(weights) if lam is None else lam * weights
    rows, rhs = np.hstack([-p.y[:, None] * columns, -np.eye(n)]), -np.ones(n)
    if bound is not None:
        rows = np.vstack([rows, np.concatenate([weights, np.zeros(n)])])
        rhs = np.append(rhs, bound)
    cost = np.concatenate([penalty, np.ones(n)])
    return [LP(cost, rows, rhs, bounds + [(0, None)] * n)]


_FORMS = {
    CLIME: _clime,
    CompressedSensing: _compressed_sensing,
    DantzigSelector: _dantzig,
    DifferentialNetwork: _network,
    L1SVM: _svm,
    LADLasso: _lad,
    LPD: _lpd,
    MatrixDantzig: _matrix_dantzig,
    QuantileLasso: _quantile,
}
