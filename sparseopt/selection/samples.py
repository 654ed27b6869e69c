"""What selection knows of each model whose data are observations, one in each row of X."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sparseopt.errors import ParamError
from sparseopt.problems.base import Array, Problem
from sparseopt.selection.losses import ABSOLUTE, HINGE, SQUARED, Loss, check_loss
from sparseopt.selection.path_loss import Rows


@dataclass(frozen=True)
class Traits:
    """What differs between the models.

    Attributes
    ----------
    loss : callable
        The problem to its natural loss.
    likelihood : "gaussian", "laplace" or None
        The distribution of the errors whose likelihood that loss is.
    grows : callable
        Whether lam is on the scale of a sum over the observations.
    by_row : tuple of str
        Fields beside X and y with one entry for each observation.
    by_column : tuple of str
        Fields with one entry for each column, along their last axis.
    """

    loss: Callable[[Any], Loss]
    likelihood: str | None
    grows: Callable[[Any], bool]
    by_row: tuple[str, ...] = ()
    by_column: tuple[str, ...] = ("weights", "names", "bounds")


_MODELS = {
    "dantzig-selector": Traits(
        lambda _: SQUARED,
        "gaussian",
        lambda problem: problem.scale == "none",
        by_row=("sample_weights",),
        by_column=("weights", "row_weights", "names", "bounds"),
    ),
    "compressed-sensing": Traits(
        lambda _: SQUARED, "gaussian", lambda _: False, by_row=("row_weights", "sample_weights")
    ),
    "lad-lasso": Traits(lambda _: ABSOLUTE, "laplace", lambda _: True, by_row=("sample_weights",)),
    "quantile-lasso": Traits(
        lambda problem: check_loss(problem.tau),
        "laplace",
        lambda _: True,
        by_row=("sample_weights",),
    ),
    "l1-svm": Traits(lambda _: HINGE, None, lambda _: True, by_row=("sample_weights",)),
}


def traits(problem: Problem) -> Traits:
    """Return what selection knows of the problem's kind.

    Parameters
    ----------
    problem : Problem

    Returns
    -------
    Traits

    Raises
    ------
    ParamError
        When its data are not observations of a response.
    """
    if problem.kind not in _MODELS:
        raise ParamError(
            f"a {problem.kind} does not hold observations of a response, which this way of "
            f"choosing lam needs; it is for: {', '.join(_MODELS)}"
        )
    return _MODELS[problem.kind]


def take_rows(problem: Any, rows: Array) -> Any:
    """Return the problem of some of the observations.

    Parameters
    ----------
    problem : Problem
        With observations in the rows of X.
    rows : int or bool array

    Returns
    -------
    Problem
    """
    fields = {name: getattr(problem, name) for name in ("X", "y", *traits(problem).by_row)}
    return replace(
        problem, **{name: value[rows] for name, value in fields.items() if value is not None}
    )


def take_columns(problem: Any, columns: Array, **changes: Any) -> Any:
    """Return the problem of some of the columns, with other fields replaced.

    Parameters
    ----------
    problem : Problem
        With variables in the columns of X.
    columns : int or bool array
    **changes
        Other fields by name.

    Returns
    -------
    Problem
    """
    fields = {name: getattr(problem, name) for name in traits(problem).by_column}
    some = {
        name: [value[j] for j in columns] if name == "names" else value[..., columns]
        for name, value in fields.items()
        if value is not None
    }
    return replace(problem, **{"X": problem.X[:, columns], **some, **changes})


def design(problem: Any) -> Any:
    """Return the rows whose products with a solution are the linear predictors, shape (n, p).

    They are sparse where X is.

    Parameters
    ----------
    problem : Problem
        With observations in the rows of X.

    Returns
    -------
    array or csr_array of shape (n, p)
    """
    return problem.design if _has_last(problem) else problem.X


def penalised(problem: Any) -> Array:
    """Return which of the p coefficients carry a penalty; an intercept does not.

    Parameters
    ----------
    problem : Problem
        With observations in the rows of X.

    Returns
    -------
    bool array of shape (p,)
    """
    weights = problem.weights
    mask = np.ones(problem.X.shape[1], bool) if weights is None else weights > 0.0
    return np.append(mask, False) if _has_last(problem) else mask


def _has_last(problem: Any) -> bool:
    """Whether the last coefficient is the intercept; the Dantzig selector's is none of them."""
    return getattr(problem, "fit_intercept", False) and problem.kind != "dantzig-selector"


def predicted(problem: Any, rows: Array | None = None) -> tuple[Rows, Array]:
    """Return the design and the response that residuals on the path are made from.

    Parameters
    ----------
    problem : Problem
        With observations in the rows of X.
    rows : int array, optional
        The observations whose means are taken away where the intercept is none of the
        coefficients. Default: all.

    Returns
    -------
    design : Rows
        Of shape (n, p).
    y : array of shape (n,)
    """
    X, y = design(problem), np.asarray(problem.y)
    if problem.kind == "dantzig-selector" and problem.fit_intercept:
        centre, level = (problem if rows is None else take_rows(problem, rows)).means()
        return Rows(X, centre), y - level
    return Rows(X), y


def counts(problem: Any) -> Array:
    """Return how often each observation counts, shape (n,).

    Parameters
    ----------
    problem : Problem
        With observations in the rows of X.

    Returns
    -------
    array of shape (n,)
        Its `sample_weights`, or ones.
    """
    weights = getattr(problem, "sample_weights", None)
    return np.ones(len(problem.y)) if weights is None else np.asarray(weights)


def lam_growth(problem: Any, rows: Array) -> float:
    """Return the factor of lam that a smaller sample of the same model asks for.

    Where lam is on the scale of a sum over the observations it is the share of them that is
    left, so that the penalty for each observation stays what it was; elsewhere 1.

    Parameters
    ----------
    problem : Problem
        With observations in the rows of X.
    rows : int array
        The smaller sample's observations.

    Returns
    -------
    float
        At most 1.
    """
    if not traits(problem).grows(problem):
        return 1.0
    weights = counts(problem)
    return float(weights[rows].sum() / weights.sum())
