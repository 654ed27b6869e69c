"""Sparse linear regression as parametric linear programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.problems.base import Array, as_matrix, as_vector, is_sparse
from sparseopt.problems.columns import ends, mean
from sparseopt.problems.fields import (
    as_bounds,
    as_names,
    as_weights,
    check_flag,
    check_lengths,
    column_names,
    names_in,
)
from sparseopt.problems.parametric.l1 import (
    ConstrainedL1,
    PenalisedL1,
    check_counted,
    ones_or,
    scaled_rows,
)
from sparseopt.problems.parametric.maps import GramMap, LinearMap, SparseGramMap, as_linear_map
from sparseopt.problems.parametric.pieces import Pieces
from sparseopt.problems.parametric.sums import exact_where_cancelling
from sparseopt.problems.remarks import regression_remarks

if TYPE_CHECKING:
    import scipy.sparse as sp


@dataclass(frozen=True, eq=False, repr=False)
class DantzigSelector(ConstrainedL1):
    r"""The Dantzig selector (2.3).

    .. math:: \min_\theta \sum_j w_j |\theta_j| \quad\text{subject to}\quad
              |X_j'(y - X\theta)| \le \lambda\, r_j \;\text{ for all } j

    Parameters
    ----------
    X : array or scipy.sparse matrix of shape (n, d)
        A sparse one is never made dense, with an intercept neither.
    y : array of shape (n,)
    scale : {"none", "n"}, default "none"
        "none": lam is on the scale of X'(y - X theta). "n": both X'X and X'y are divided by n,
        and lam is on the scale of X'(y - X theta) / n.
    weights : array of shape (d,), optional
        The :math:`w_j \ge 0` of the objective, default 1; 0 leaves a coefficient unpenalised.
    row_weights : array of shape (d,), optional
        The :math:`r_j \ge 0` of the constraints, default 1. The adaptive Dantzig selector has
        ``row_weights = weights``: it is the plain one on the columns X_j / w_j, and a weight 0
        fits its coefficient in full.
    names : list of d str, optional
        Names of the columns, for tables and plots; a data frame has them.
    sample_weights : array of shape (n,), optional
        The number of times :math:`s_i \ge 0` that each observation counts, default 1: the products
        are :math:`X'SX` and :math:`X'Sy`, and n in `scale` is the sum of the weights.
    fit_intercept : bool, default False
        Fit an unpenalised intercept whose residuals sum to zero. It is no coefficient of the
        problem: X and y are centred in the products, and :meth:`intercept` returns it.
    bounds : (low, high), optional
        Bounds on the coefficients, each a number or of shape (d,): low <= 0 <= high,
        infinite where there is none. ``(0, np.inf)`` leaves no coefficient negative. Kept as an
        array of shape (2, d).

    References
    ----------
    Candes and Tao (2007); equation (2.3) of Pang, Zhao, Vanderbei, Liu.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt.problems import DantzigSelector
    >>> problem = DantzigSelector(X=np.eye(3), y=[3.0, -2.0, 0.5])
    >>> problem.residuals(np.array([2.0, -1.0, 0.0]), lam=1.0)["constraints"]
    0.0
    """

    X: Any
    y: Array
    scale: Literal["none", "n"] = "none"
    weights: Array | None = None
    row_weights: Array | None = None
    names: Sequence[str] | None = None
    sample_weights: Array | None = None
    fit_intercept: bool = False
    bounds: Any = None

    kind: ClassVar[str] = "dantzig-selector"

    def _coerce(self) -> None:
        names, X = names_in(self.names, self.X), as_matrix("X", self.X, allow_sparse=True)
        n, d = X.shape
        self._set("X", X)
        self._set("y", as_vector("y", self.y, n))
        self._set("weights", as_weights("weights", self.weights, d))
        self._set("bounds", as_bounds(self.bounds, d))
        self._set("row_weights", as_weights("row_weights", self.row_weights, d))
        self._set("sample_weights", as_weights("sample_weights", self.sample_weights, n))
        self._set("names", as_names(names, d))

    def validate(self) -> None:
        """Check `scale`, `fit_intercept` and the lengths of columns."""
        if self.scale not in ("none", "n"):
            raise ProblemError(f"scale is {self.scale!r}; expected 'none' or 'n'", "scale")
        check_flag("fit_intercept", self.fit_intercept)
        check_counted(self.sample_weights)
        root = None if self.sample_weights is None else np.sqrt(self.sample_weights)
        check_lengths("X", self.X, root)
        check_lengths("y", self.y, root)

    def remarks(self) -> tuple[str, ...]:
        weighted = self.weights is not None or self.row_weights is not None
        return regression_remarks(self.X, self.y, self.fit_intercept, weighted, self.names)

    def payload(self) -> tuple[dict[str, Any], dict[str, Array | sp.csr_array]]:
        values, arrays = super().payload()
        if not self.fit_intercept:
            # Files and fingerprints from before there was an intercept stay what they are.
            del values["fit_intercept"]
        return values, arrays

    @property
    def size(self) -> Mapping[str, int]:
        return {"n": self.X.shape[0], "d": self.X.shape[1]}

    @property
    def coefficient_names(self) -> list[str]:
        return column_names(self.names, self.X.shape[1])

    @property
    def divisor(self) -> float:
        """What X'X and X'y are divided by: 1, or n."""
        return float(ones_or(self.sample_weights, len(self.y)).sum()) if self.scale == "n" else 1.0

    @property
    def matrix_map(self) -> GramMap:
        """X'X, or X'X / n; never formed."""
        if not is_sparse(self.X):
            return GramMap(self.weighted_rows()[0], self.divisor)
        root = np.sqrt(ones_or(self.sample_weights, len(self.y)))
        X, centre = self._varying
        X = X if self.sample_weights is None else scaled_rows(X, root)
        return SparseGramMap(X, self.divisor, (root, centre) if self.fit_intercept else None)

    @property
    def center(self) -> Array:
        """X'y, or X'y / n."""
        if not is_sparse(self.X):
            X, y = self.weighted_rows()
            sums = X.T @ y
        else:
            X, centre = self._varying
            response = ones_or(self.sample_weights, len(self.y)) * (self.y - self.means()[1])
            sums = X.T @ response - centre * response.sum()
        given = self.X, self.y, self.sample_weights, self.fit_intercept
        return exact_where_cancelling(sums, *given) / self.divisor

    @cached_property
    def _varying(self) -> tuple[Any, Array]:
        """A sparse X and its means, without the columns that an intercept takes away whole.

        Their centred products are 0, and rounding would leave them a little more.
        """
        X, centre = self.X, self.means()[0]
        if not self.fit_intercept:
            return X, centre
        counts = ones_or(self.sample_weights, len(self.y))
        low, high = ends(X[counts > 0.0])
        if not ((low == high) & (centre != 0.0)).any():
            return X, centre
        X = X.copy()
        X.data[(low == high)[X.indices]] = 0.0
        X.eliminate_zeros()
        return X, np.where(low == high, 0.0, centre)

    def weighted_rows(self) -> tuple[Array, Array]:
        """Return X and y, less their means where there is an intercept, times root weights.

        Both are dense.
        """
        centre, level = self.means()
        X, y = self.X.toarray() if is_sparse(self.X) else self.X, self.y
        if self.fit_intercept:
            X, y = X - centre, y - level
        if self.sample_weights is None:
            return X, y
        root = np.sqrt(self.sample_weights)
        return scaled_rows(X, root), root * y

    def means(self) -> tuple[Array, float]:
        """Return the means of X, shape (d,), and of y that an intercept takes away; else zeros."""
        if not self.fit_intercept:
            return np.zeros(self.X.shape[1]), 0.0
        return self._means

    @cached_property
    def _means(self) -> tuple[Array, float]:
        level = float(np.average(self.y, weights=self.sample_weights))
        return mean(self.X, self.sample_weights), level

    def intercept(self, x: Array) -> float:
        """Return the intercept of coefficients of shape (d,)."""
        centre, level = self.means()
        return level - float(centre @ self._coefficients(x))

    @property
    def penalty_weights(self) -> Array:
        return ones_or(self.weights, self.X.shape[1])

    @property
    def band_weights(self) -> Array:
        return ones_or(self.row_weights, self.X.shape[1])


@dataclass(frozen=True, eq=False, repr=False)
class LADLasso(PenalisedL1):
    r"""The LAD-lasso (2.5): least absolute deviations with an l1 penalty.

    .. math:: \min_\theta \|y - X\theta - \beta\|_1 + \lambda \sum_j w_j |\theta_j|

    Parameters
    ----------
    X : array or scipy.sparse matrix of shape (n, d)
    y : array of shape (n,)
    fit_intercept : bool, default False
        Fit an unpenalised intercept beta; it is then the last of the d + 1 coefficients.
    weights : array of shape (d,), optional
        The :math:`w_j \ge 0`, default 1; 0 leaves a coefficient unpenalised.
    names : list of d str, optional
        Names of the columns, for tables and plots; a data frame has them.
    sample_weights : array of shape (n,), optional
        The number of times :math:`s_i \ge 0` that each observation counts, default 1.
    bounds : (low, high), optional
        Bounds on the coefficients of columns, each a number or of shape (d,): low <= 0 <= high,
        infinite where there is none. ``(0, np.inf)`` leaves no coefficient negative. Kept as an
        array of shape (2, d).

    Notes
    -----
    lam is on the scale of X' sign(y - X theta). The solution is piecewise constant in lam and jumps
    at the knots.

    References
    ----------
    Wang, Li, Jiang (2007); equation (2.5) of Pang, Zhao, Vanderbei, Liu.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt.problems import LADLasso
    >>> problem = LADLasso(X=np.ones((3, 1)), y=[1.0, 2.0, 4.0])
    >>> problem.objective(np.array([2.0]), lam=0.5)
    4.0
    """

    X: Any
    y: Array
    fit_intercept: bool = False
    weights: Array | None = None
    names: Sequence[str] | None = None
    sample_weights: Array | None = None
    bounds: Any = None

    kind: ClassVar[str] = "lad-lasso"

    def loss(self, x: Array) -> float:
        """Return the sum of the absolute deviations."""
        residual = self.y - self.design @ self._coefficients(x)
        return float((self.counts * np.abs(residual)).sum())

    def loss_pieces(self) -> Pieces:
        """Return abs(r - y_i)."""
        return Pieces.check_loss(self.y, 0.5, scale=2.0 * self.counts)


@dataclass(frozen=True, eq=False, repr=False)
class QuantileLasso(PenalisedL1):
    r"""Quantile regression with an l1 penalty.

    .. math:: \min_{\theta, \beta} \sum_i \rho_\tau(y_i - x_i'\theta - \beta)
              + \lambda \sum_j w_j |\theta_j|, \qquad
              \rho_\tau(u) = \tau\, u_+ + (1 - \tau)\, (-u)_+

    Parameters
    ----------
    X : array or scipy.sparse matrix of shape (n, d)
    y : array of shape (n,)
    tau : float
        The level, strictly between 0 and 1: the share of the responses that lies below the fit
        of an intercept.
    fit_intercept : bool, default False
        Fit an unpenalised intercept beta; it is then the last of the d + 1 coefficients.
    weights : array of shape (d,), optional
        The :math:`w_j \ge 0`, default 1; 0 leaves a coefficient unpenalised. The adaptive form
        takes them large where a pilot estimate is small.
    names : list of d str, optional
        Names of the columns, for tables and plots; a data frame has them.
    sample_weights : array of shape (n,), optional
        The number of times :math:`s_i \ge 0` that each observation counts, default 1.
    bounds : (low, high), optional
        Bounds on the coefficients of columns, each a number or of shape (d,): low <= 0 <= high,
        infinite where there is none. ``(0, np.inf)`` leaves no coefficient negative. Kept as an
        array of shape (2, d).

    Notes
    -----
    The loss is a sum over the observations, not a mean; lam is on the scale of X'g with g between
    tau - 1 and tau, whatever the units of y. A text that divides the loss by n has lam / n in place
    of lam. The level 1/2 is the :class:`LADLasso` with all losses, and lam, halved.

    The solution is piecewise constant in lam and jumps at the knots.

    References
    ----------
    Koenker, Bassett (1978); Belloni, Chernozhukov (2011); Li, Zhu (2008), who follow the path.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt.problems import QuantileLasso
    >>> problem = QuantileLasso(X=np.ones((3, 1)), y=[1.0, 2.0, 4.0], tau=0.25)
    >>> problem.objective(np.array([2.0]), lam=0.5)
    2.25
    """

    X: Any
    y: Array
    tau: float
    fit_intercept: bool = False
    weights: Array | None = None
    names: Sequence[str] | None = None
    sample_weights: Array | None = None
    bounds: Any = None

    kind: ClassVar[str] = "quantile-lasso"

    def validate(self) -> None:
        """Check `tau` and `fit_intercept`; the arrays were checked on the way in."""
        super().validate()
        if isinstance(self.tau, bool) or not isinstance(self.tau, Real) or not 0 < self.tau < 1:
            raise ProblemError(
                f"tau is {self.tau!r}; expected a level strictly between 0 and 1", "tau"
            )
        self._set("tau", float(self.tau))

    def loss(self, x: Array) -> float:
        """Return the sum of the check function of the residuals."""
        residual = self.y - self.design @ self._coefficients(x)
        loss = np.maximum(self.tau * residual, (self.tau - 1.0) * residual)
        return float((self.counts * loss).sum())

    def loss_pieces(self) -> Pieces:
        """Return tau (y_i - r)_+ + (1 - tau) (r - y_i)_+."""
        return Pieces.check_loss(self.y, self.tau, scale=self.counts)


@dataclass(frozen=True, eq=False, repr=False)
class CompressedSensing(ConstrainedL1):
    r"""Sparse recovery from few linear measurements with bounded errors.

    .. math:: \min_\theta \sum_j w_j |\theta_j| \quad\text{subject to}\quad
              |y_i - x_i'\theta| \le \lambda\, r_i \;\text{ for all } i

    At lam = 0 it is basis pursuit, the least l1 norm among all solutions of X theta = y.

    Parameters
    ----------
    X : array or scipy.sparse matrix of shape (n, d)
        The measurements, usually n < d.
    y : array of shape (n,)
    weights : array of shape (d,), optional
        The :math:`w_j \ge 0` of the objective, default 1; 0 leaves a coefficient unpenalised: a
        column of ones with the weight 0 is an intercept. Reweighted l1 minimisation solves
        again with :math:`w_j = 1 / (|\theta_j| + \varepsilon)`.
    row_weights : array of shape (n,), optional
        The :math:`r_i \ge 0` of the constraints, default 1; 0 makes a measurement exact.
    names : list of d str, optional
        Names of the columns, for tables and plots; a data frame has them.
    sample_weights : array of shape (n,), optional
        How often each measurement counts, default 1: 0 drops its constraint; other values matter in
        the rules that choose lam.
    bounds : (low, high), optional
        Bounds on the coefficients, each a number or of shape (d,): low <= 0 <= high,
        infinite where there is none. ``(0, np.inf)`` leaves no coefficient negative. Kept as an
        array of shape (2, d).

    Notes
    -----
    lam is in the units of y: the largest residual that is allowed. Where the columns of X do not
    reach y (more measurements than unknowns, say) the path ends at the least possible one.

    References
    ----------
    Candes, Tao (2005): Decoding by linear programming; Candes, Wakin, Boyd (2008) for the weights.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt.problems import CompressedSensing
    >>> problem = CompressedSensing(X=np.array([[1.0, 2.0]]), y=[4.0])
    >>> problem.residuals(np.array([0.0, 1.5]), lam=0.75)["constraints"]
    0.25
    """

    X: Any
    y: Array
    weights: Array | None = None
    row_weights: Array | None = None
    names: Sequence[str] | None = None
    sample_weights: Array | None = None
    bounds: Any = None

    kind: ClassVar[str] = "compressed-sensing"

    def _coerce(self) -> None:
        names, X = names_in(self.names, self.X), as_matrix("X", self.X, allow_sparse=True)
        n, d = X.shape
        self._set("X", X)
        self._set("y", as_vector("y", self.y, n))
        self._set("weights", as_weights("weights", self.weights, d))
        self._set("bounds", as_bounds(self.bounds, d))
        self._set("row_weights", as_weights("row_weights", self.row_weights, n))
        self._set("sample_weights", as_weights("sample_weights", self.sample_weights, n))
        self._set("names", as_names(names, d))

    def validate(self) -> None:
        """Check that something counts, and the lengths of columns."""
        check_counted(self.sample_weights)
        check_lengths("X", self.X)
        check_lengths("y", self.y)

    @property
    def size(self) -> Mapping[str, int]:
        return {"n": self.X.shape[0], "d": self.X.shape[1]}

    @property
    def coefficient_names(self) -> list[str]:
        return column_names(self.names, self.X.shape[1])

    @property
    def matrix_map(self) -> LinearMap:
        """The matrix X; rows that do not count are 0."""
        if self.sample_weights is None:
            return as_linear_map(self.X)
        return as_linear_map(scaled_rows(self.X, (self.sample_weights > 0.0).astype(float)))

    @property
    def center(self) -> Array:
        """The measurements y; those that do not count are 0."""
        if self.sample_weights is None:
            return self.y
        return np.where(self.sample_weights > 0.0, self.y, 0.0)

    @property
    def penalty_weights(self) -> Array:
        return ones_or(self.weights, self.X.shape[1])

    @property
    def band_weights(self) -> Array:
        return ones_or(self.row_weights, len(self.y))
