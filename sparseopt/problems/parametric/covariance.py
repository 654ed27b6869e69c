"""Sample covariance matrices, with the divisors that the models state; formed, or kept as data."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.problems.base import Array, as_matrix, freeze
from sparseopt.problems.fields import as_symmetric
from sparseopt.problems.parametric.l1 import ConstrainedL1
from sparseopt.problems.parametric.maps import GramMap, LinearMap, SymmetricMap

if TYPE_CHECKING:
    import scipy.sparse as sp

_FORMED = 20_000
"""Variables up to which a covariance matrix is formed unless X is asked for: 3.2 GB."""


class GramMatrix:
    r"""The matrix :math:`S = X'X / divisor`, kept as X: of n d numbers instead of d^2.

    Stands in the place of S in :class:`~sparseopt.problems.CLIME` and
    :class:`~sparseopt.problems.LPD`, whose engine and checker need products with it alone. For
    a covariance matrix X is centred beforehand, as ``CLIME.from_data`` does. ``np.asarray``
    forms S.

    Parameters
    ----------
    X : array of shape (n, d)
    divisor : float, default 1
        Positive; n for the maximum likelihood estimate.

    Raises
    ------
    ProblemError
        When X is no finite matrix, the divisor is not positive, or a variance overflows.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt.problems import GramMatrix
    >>> S = GramMatrix(np.array([[1.0, 2.0], [-1.0, 0.0]]), divisor=2.0)
    >>> len(S), S.diagonal().tolist(), np.asarray(S).tolist()
    (2, [1.0, 2.0], [[1.0, 1.0], [1.0, 2.0]])
    """

    X: Array
    divisor: float

    def __init__(self, X: Any, divisor: float = 1.0) -> None:
        if isinstance(divisor, bool) or not isinstance(divisor, Real) or not 0 < divisor < np.inf:
            raise ProblemError(f"divisor is {divisor!r}; expected a positive number", "divisor")
        self.X = as_matrix("X", X)
        self.divisor = float(divisor)
        if not np.isfinite(self.diagonal()).all():
            raise ProblemError("the covariance of X overflows: rescale its columns", "X")

    def __len__(self) -> int:
        return int(self.X.shape[1])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self.matrix_map.as_array(), dtype=dtype)

    def __repr__(self) -> str:
        return f"GramMatrix(n={len(self.X)}, d={len(self)})"

    def diagonal(self) -> Array:
        """Return the diagonal of S, shape (d,)."""
        with np.errstate(over="ignore"):
            return np.asarray(np.einsum("ij,ij->j", self.X, self.X) / self.divisor)

    @cached_property
    def matrix_map(self) -> GramMap:
        """Products with S."""
        return GramMap(self.X, self.divisor)


class CovarianceProblem(ConstrainedL1):
    """A problem whose matrix S is given, or kept as the data X that it is the product of.

    In files and fingerprints the second has `X` and `divisor` in the place of S.
    """

    S: Array | GramMatrix

    def _coerce_covariance(self) -> int:
        """Bring S into its canonical form; return d."""
        if not isinstance(self.S, GramMatrix):
            self._set("S", as_symmetric("S", self.S))
        return len(self.S)

    @property
    def covariance_map(self) -> LinearMap:
        """Products with S."""
        return self.S.matrix_map if isinstance(self.S, GramMatrix) else SymmetricMap(self.S)

    @property
    def variances(self) -> Array:
        """The diagonal of S, shape (d,)."""
        return np.asarray(self.S.diagonal())

    @property
    def entries(self) -> int:
        """Entries of S, or of X."""
        return int((self.S.X if isinstance(self.S, GramMatrix) else self.S).size)

    def payload(self) -> tuple[dict[str, Any], dict[str, Array | sp.csr_array]]:
        values, arrays = super().payload()
        if isinstance(self.S, GramMatrix):
            del values["S"]
            values["divisor"], arrays["X"] = self.S.divisor, self.S.X
        return values, arrays

    @classmethod
    def from_payload(cls, values: Mapping[str, Any], arrays: Mapping[str, Any]) -> Self:
        if "X" not in arrays or "S" in arrays:
            return super().from_payload(values, arrays)
        S = GramMatrix(arrays["X"], values.get("divisor", 1.0))
        values = {name: value for name, value in values.items() if name != "divisor"}
        arrays = {name: array for name, array in arrays.items() if name != "X"}
        return super().from_payload({**values, "S": S}, arrays)


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


def covariance(
    field: str, data: Array, ddof: int = 0, form: bool | None = True
) -> Array | GramMatrix:
    r"""Return :math:`\frac{1}{n - ddof} \sum_i (x_i - \bar x)(x_i - \bar x)'`, shape (d, d).

    Parameters
    ----------
    field : str
        The name of the field, for messages.
    data : array of shape (n, d)
    ddof : int, default 0
        0 for the maximum likelihood estimate, 1 for the unbiased one.
    form : bool or None, default True
        Whether the matrix is formed, or kept as the centred data; None: up to 20,000 variables.

    Returns
    -------
    array of shape (d, d), or GramMatrix

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
    return _divided(field, [data], ddof, form)


def pooled_covariance(
    x: Array, y: Array, ddof: int = 0, form: bool | None = True
) -> Array | GramMatrix:
    """Return the two samples' scatter about their own means, divided by n1 + n2 - ddof.

    Parameters
    ----------
    x : array of shape (n1, d)
    y : array of shape (n2, d)
    ddof : int, default 0
        2 makes the estimate unbiased.
    form : bool or None, default True
        As for :func:`covariance`.

    Returns
    -------
    array of shape (d, d), or GramMatrix

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
    return _divided("x", [x, y], ddof, form)


def _centred(data: Array) -> Array:
    # The mean of a constant column may round; what is left would be a variance of noise.
    constant = (data == data[0]).all(axis=0)
    return np.where(constant, 0.0, data - data.mean(axis=0))


def _divided(field: str, parts: list[Array], ddof: int, form: bool | None) -> Array | GramMatrix:
    """Return the scatter of samples about their own means, divided by their number less ddof."""
    n, d = sum(map(len, parts)), parts[0].shape[1]
    if isinstance(ddof, bool) or not isinstance(ddof, Integral) or not 0 <= ddof < n:
        raise ProblemError(f"ddof is {ddof!r}; expected an integer from 0 to {n - 1}", "ddof")
    if not (form or (form is None and d <= _FORMED)):
        return GramMatrix(freeze(np.vstack([_centred(part) for part in parts]), []), n - int(ddof))
    with np.errstate(over="ignore"):
        scatter = sum(centred.T @ centred for centred in map(_centred, parts))
    if not np.isfinite(scatter).all():
        raise ProblemError(f"the covariance of {field} overflows: rescale its columns", field)
    return np.asarray(scatter / (n - int(ddof)))
