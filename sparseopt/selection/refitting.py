"""Fitting anew on a support, without a penalty (debiasing)."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparseopt.errors import ParamError
from sparseopt.problems.base import Array, Problem
from sparseopt.selection.samples import counts, penalised, predicted, take_columns, traits


def refit(problem: Problem, support: Any) -> Array:
    r"""Minimise the model's loss over the coefficients in `support` alone, without a penalty.

    An l1 penalty shrinks what it keeps; the refit does not. Least squares for the models with a
    Gaussian likelihood (for the Dantzig selector this is the Gauss-Dantzig selector), least
    absolute deviations, the check loss or the hinge loss for the others, exactly, by our own engine
    at lam = 0. Coefficients without a penalty, an intercept among them, are always fitted; all
    stay within the problem's bounds.

    Parameters
    ----------
    problem : Problem
        Of a kind with observations: DantzigSelector, CompressedSensing, LADLasso, QuantileLasso,
        L1SVM.
    support : int array, or bool array of shape (p,)
        Indices of coefficients.

    Returns
    -------
    array of shape (p,)
        Zero outside the support. Where the columns are dependent, least squares gives the solution
        of least norm, and the other losses one of several minimisers.

    References
    ----------
    Candes, Tao (2007), section 1.6; Belloni, Chernozhukov (2013): Least squares after model
    selection in high-dimensional sparse models.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt.problems import DantzigSelector
    >>> refit(DantzigSelector(X=np.eye(3), y=[3.0, -2.0, 0.5]), [0, 1]).tolist()
    [3.0, -2.0, 0.0]
    """
    known = traits(problem)
    own: Any = problem
    kept = _mask(support, penalised(problem))
    columns = np.flatnonzero(kept[: own.X.shape[1]])
    x = np.zeros(len(kept))
    if known.likelihood == "gaussian":
        root, (rows, y) = np.sqrt(counts(problem)), predicted(problem)
        x[columns] = _least_squares(own, root[:, None] * rows.columns(columns), root * y, columns)
    elif kept.any():
        x[kept] = _unpenalised(own, columns)
    return x


def _least_squares(problem: Any, X: Array, y: Array, columns: Array) -> Array:
    """Return the least squares solution of the columns within the problem's bounds."""
    if problem.bounds is None or len(columns) == 0:
        return np.asarray(np.linalg.lstsq(X, y, rcond=None)[0])
    from scipy.optimize import lsq_linear

    low, high = problem.bounds[:, columns]
    out, free = np.zeros(len(columns)), low < high
    if free.any():
        found = lsq_linear(X[:, free], y, (low[free], high[free]), method="bvls", tol=1e-14)
        out[free] = found.x
    return out


def _unpenalised(problem: Any, columns: Array) -> Array:
    """Return the minimiser of a penalised model's loss, the coefficients of the columns first."""
    from sparseopt.api import solve

    if len(columns):
        some = take_columns(problem, columns, weights=np.zeros(len(columns)))
    else:
        # A problem has one column at least; one of zeros leaves the intercept alone.
        nothing = np.zeros((len(problem.y), 1))
        some = take_columns(problem, np.zeros(1, np.int64), X=nothing, weights=None)
    fitted = solve(some, lam=0.0, check=False).raise_for_status().x
    assert fitted is not None
    return fitted if len(columns) else fitted[1:]


def _mask(support: Any, penalty: Array) -> Array:
    p = len(penalty)
    chosen = np.asarray(support)
    if chosen.dtype == bool and chosen.shape == (p,):
        return chosen | ~penalty
    if chosen.ndim != 1 or (len(chosen) and chosen.dtype.kind not in "iu"):
        raise ParamError(f"support is {support!r:.60}; expected indices of coefficients")
    if len(chosen) and (chosen.min() < 0 or chosen.max() >= p):
        raise ParamError(f"support names a coefficient outside 0, ..., {p - 1}")
    mask = ~penalty
    mask[chosen.astype(np.int64)] = True
    return mask
