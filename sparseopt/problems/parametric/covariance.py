"""Sample covariance matrices, with the divisors that the models state."""

from __future__ import annotations

from numbers import Integral

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.problems.base import Array, as_matrix


def samples(field: str, value: object, columns: int | None = None) -> Array:
    """Return a matrix of observations, one in each row.

    Parameters
    ----------
    field : str
        The name of the field, for messages.
    value : array_like of shape (n, d)
    columns : int, optional
        The number d that is expected. Default: any.

    Returns
    -------
    array of shape (n, d)

    Raises
    ------
    ProblemError
        When it is no finite matrix, or has another number of columns than asked.
    """
    data = np.asarray(as_matrix(field, value))
    if columns is not None and data.shape[1] != columns:
        raise ProblemError(
            f"{field} has {data.shape[1]} columns; expected {columns}, as the other sample", field
        )
    return data


def covariance(field: str, data: Array, ddof: int = 0) -> Array:
    r"""Return :math:`\frac{1}{n - ddof} \sum_i (x_i - \bar x)(x_i - \bar x)'`, shape (d, d).

    Parameters
    ----------
    field : str
        The name of the field, for messages.
    data : array of shape (n, d)
    ddof : int, default 0
        0 for the maximum likelihood estimate, 1 for the unbiased one.

    Returns
    -------
    array of shape (d, d)

    Raises
    ------
    ProblemError
        When n < 2, the divisor is not positive, or the result overflows.
    """
    n = len(data)
    if n < 2:
        raise ProblemError(
            f"{field} has {n} row; expected at least 2 observations for a covariance", field
        )
    return _divided(field, _scatter(data), n, ddof)


def pooled_covariance(x: Array, y: Array, ddof: int = 0) -> Array:
    """Return the two samples' scatter about their own means, divided by n1 + n2 - ddof.

    Parameters
    ----------
    x : array of shape (n1, d)
    y : array of shape (n2, d)
    ddof : int, default 0
        2 makes the estimate unbiased.

    Returns
    -------
    array of shape (d, d)

    Raises
    ------
    ProblemError
        When there are fewer than 3 observations, the divisor is not positive, or the result
        overflows.
    """
    n = len(x) + len(y)
    if n < 3:
        raise ProblemError(
            "x and y have 1 row each; expected at least 3 observations for a pooled covariance",
            "x",
        )
    return _divided("x", _scatter(x) + _scatter(y), n, ddof)


def _scatter(data: Array) -> Array:
    # The mean of a constant column may round; what is left would be a variance of noise.
    constant = (data == data[0]).all(axis=0)
    centred = np.where(constant, 0.0, data - data.mean(axis=0))
    with np.errstate(over="ignore"):
        return np.asarray(centred.T @ centred)


def _divided(field: str, scatter: Array, n: int, ddof: int) -> Array:
    if isinstance(ddof, bool) or not isinstance(ddof, Integral) or not 0 <= ddof < n:
        raise ProblemError(f"ddof is {ddof!r}; expected an integer from 0 to {n - 1}", "ddof")
    if not np.isfinite(scatter).all():
        raise ProblemError(f"the covariance of {field} overflows: rescale its columns", field)
    return np.asarray(scatter / (n - int(ddof)))
