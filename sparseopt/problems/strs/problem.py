"""The sparse trust-region subproblem, whose special case without a linear term is sparse PCA."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np

from sparseopt.errors import ParamError, ProblemError
from sparseopt.problems.base import Array, Problem, as_matrix, as_vector
from sparseopt.problems.fields import as_names, as_symmetric, column_names, names_in
from sparseopt.problems.twosample.statistics.linear import automatic_lam, linear_terms
from sparseopt.problems.twosample.statistics.two_samples import TwoSample

if TYPE_CHECKING:
    from sparseopt.params import SolveParams


@dataclass(frozen=True, eq=False, repr=False)
class SphereProblem(Problem):
    """What :class:`STRS` and :class:`STRSPath` share: the data, and a question about sizes.

    The parameter of the family is the size, the largest number of nonzeros. A solve asks for one
    size or for several by ``SolveParams.size``; the default is the problem's own.
    """

    A: Array
    a: Array | None = None
    names: Sequence[str] | None = field(default=None, kw_only=True)

    family: ClassVar[str] = "strs"
    parameter: ClassVar[str | None] = "size"
    sense: ClassVar[Literal["min", "max"]] = "max"

    @property
    @abstractmethod
    def last(self) -> int:
        """The largest size of the problem's own question."""

    def asked(self, params: SolveParams) -> int | tuple[int, ...]:
        """Return the size that is asked, or the sizes, increasing.

        Raises
        ------
        ParamError
            When one is larger than the number of variables D.
        """
        size = params.size if params.size is not None else self._default_size()
        largest, D = (size if isinstance(size, int) else size[-1]), self.A.shape[0]
        if largest > D:
            raise ParamError(f"size is {largest}; expected at most the number of variables, {D}")
        return size

    @abstractmethod
    def _default_size(self) -> int | tuple[int, ...]:
        """Return what is asked without ``SolveParams.size``."""

    def posed(self, params: SolveParams) -> SphereProblem:
        """Return the problem of the size that is asked; itself where several are."""
        size = self.asked(params)
        if params.size is None or not isinstance(size, int):
            return self
        return self.at(size)

    def at(self, d: int) -> STRS:
        """Return the problem of one size.

        Parameters
        ----------
        d : int
            Largest number of nonzeros, 1 <= d <= D.

        Raises
        ------
        ProblemError
            When d is out of range.
        """
        return STRS(A=self.A, a=self.linear, d=d, names=self.names)

    @property
    def linear(self) -> Array:
        """The linear term a, shape (D,)."""
        assert self.a is not None  # set by _coerce
        return self.a

    @property
    def coefficient_names(self) -> list[str]:
        """The name of each variable."""
        return column_names(self.names, self.A.shape[0])

    @property
    def magnitude(self) -> float:
        """The largest absolute entry of A and a, which rounding errors are proportional to."""
        return max(float(np.abs(self.A).max()), float(np.abs(self.linear).max()))

    def _coerce(self) -> None:
        names = names_in(self.names, self.A)
        self._set("A", as_symmetric("A", self.A))
        D = self.A.shape[0]
        self._set("names", as_names(names, D))
        self._set("a", np.zeros(D) if self.a is None else as_vector("a", self.a, D))

    def _coerce_count(self, name: str) -> None:
        value = getattr(self, name)
        if isinstance(value, bool) or not isinstance(value, Integral):
            D = self.A.shape[0]
            raise ProblemError(f"{name} is {value!r}; expected an integer from 1 to {D}", name)
        self._set(name, int(value))

    def _check_count(self, name: str) -> None:
        D, value = self.A.shape[0], getattr(self, name)
        if not 1 <= value <= D:
            raise ProblemError(
                f"{name} is {value}; expected the largest number of nonzeros, from 1 to {D}", name
            )

    def objective(self, x: Array, lam: float | None = None) -> float:
        """Return x'Ax + a'x of a point of shape (D,)."""
        z = as_vector("x", x, self.A.shape[0])
        return float(z @ self.A @ z + self.linear @ z)

    def objective_scale(self, x: Array, lam: float | None = None) -> float:
        """Return the sum of the absolute terms of x'Ax + a'x."""
        z = np.abs(as_vector("x", x, self.A.shape[0]))
        return float(z @ np.abs(self.A) @ z + np.abs(self.linear) @ z)

    @property
    def value_unit(self) -> float:
        """The largest entry of A and a where it is below 1: the size that the values have."""
        size = self.magnitude
        return min(1.0, size) if size > 0.0 else 1.0

    def residuals(self, x: Array, lam: float | None = None) -> dict[str, float]:
        """Return abs(norm - 1) and by how many nonzeros x exceeds the size.

        Parameters
        ----------
        x : array of shape (D,)
        lam : float, optional
            The size that was asked. Default: that of the problem.
        """
        z = as_vector("x", x, self.A.shape[0])
        size = self.last if lam is None else int(lam)
        return {
            "norm": abs(float(np.linalg.norm(z)) - 1.0),
            "cardinality": float(max(0, int(np.count_nonzero(z)) - size)),
        }


@dataclass(frozen=True, eq=False, repr=False)
class STRS(SphereProblem):
    r"""The sparse trust-region subproblem on the sphere.

    .. math:: \max_{z \in R^D} \; z'Az + a'z \quad\text{subject to}\quad
              \|z\|_2 = 1,\; \|z\|_0 \le d

    Parameters
    ----------
    A : array of shape (D, D)
        Symmetric, of any signature. An asymmetry of rounding (1e-10 of the largest entry) is
        averaged away, which leaves z'Az as it is.
    a : array of shape (D,), optional
        Default 0: sparse principal component analysis.
    d : int
        Largest number of nonzero entries, 1 <= d <= D; there is no default. A solve asks for other
        sizes, or for several, by ``size=...``: ``size=range(1, 11)`` gives a path
        (:class:`~sparseopt.paths.supports.SupportPath`).
    names : list of D str, optional
        Default: a data frame's columns, or x0, x1, ...

    Raises
    ------
    ProblemError
        When A is not square or not symmetric, shapes disagree, an entry is not finite, or d is
        out of range.

    References
    ----------
    Wang, Dey, Xie: Variable selection for kernel two-sample tests, problem (STRS).

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt.problems import STRS
    >>> problem = STRS(A=np.diag([1.0, 2.0]), a=[3.0, 0.0], d=1)
    >>> problem.objective(np.array([1.0, 0.0]))
    4.0
    """

    d: int = 0

    kind: ClassVar[str] = "strs"

    @classmethod
    def from_covariance(cls, S: Array, d: int) -> Self:
        """Build the sparse PCA problem of a covariance or correlation matrix.

        Parameters
        ----------
        S : array of shape (D, D)
            Symmetric with a diagonal >= 0. It need not be positive semidefinite: estimates from
            pairwise complete observations are not.
        d : int
            Number of variables that the component may use.

        Raises
        ------
        ProblemError
            When S is no such matrix or d is out of range.
        """
        matrix = as_matrix("S", S)
        diagonal = np.diagonal(matrix)
        if (diagonal < 0.0).any():
            at = int(np.argmin(diagonal))
            raise ProblemError(
                f"S[{at}, {at}] is {diagonal[at]}; expected variances, which are >= 0", "S"
            )
        return cls(A=matrix, d=d, names=names_in(None, S))

    @classmethod
    def from_data(
        cls, X: Array, d: int, kind: Literal["correlation", "covariance"] = "correlation"
    ) -> Self:
        """Build the sparse PCA problem of n observations of D variables.

        Parameters
        ----------
        X : array of shape (n, D)
            With n >= 2; the columns are centred here.
        d : int
            Number of variables that the component may use.
        kind : {"correlation", "covariance"}, default "correlation"
            The matrix of the quadratic form; covariances are divided by n - 1.

        Raises
        ------
        ProblemError
            When n < 2, a column is constant and correlations are asked for, or d is out of range.
        """
        Z = standardised(X, kind)
        A = Z.T @ Z
        if kind == "correlation":
            np.fill_diagonal(A, 1.0)
        return cls(A=A, d=d, names=names_in(None, X))

    @classmethod
    def from_two_samples(
        cls,
        x: Array,
        y: Array,
        d: int,
        kernel: Literal["linear"] = "linear",
        lam: float | Literal["auto"] = "auto",
        bandwidth: object = "median",
    ) -> Self:
        r"""Build the selection of variables that distinguish two samples, for the linear kernel.

        The squared MMD of two samples is a'z, its variance z'Vz, and to be maximised is
        :math:`a'z - \lambda z'Vz`: the quadratic form is A = -lam V, negative semidefinite. (The
        paper's formula after (13) lost the sign.) The estimators, also for samples of unequal
        size, are those of :mod:`sparseopt.problems.twosample.statistics.two_samples`.

        Parameters
        ----------
        x, y : arrays of shapes (n, D) and (m, D)
            At least 4 observations each.
        d : int
            Number of variables to select.
        kernel : "linear"
            With other kernels the problem is no trust-region subproblem, and one of
            :class:`~sparseopt.problems.KernelSelection`.
        lam : float or "auto", default "auto"
            Weight of the variance, >= 0. "auto": MMD^2 / (16 variance) at the weights that
            maximise the squared MMD alone, as for :func:`~sparseopt.two_sample.two_sample_test`.
        bandwidth : "median", float, or array of shape (D,), default "median"
            tau_s^2 of the scalar kernels; see
            :meth:`~sparseopt.problems.twosample.statistics.two_samples.TwoSample.of`.

        Raises
        ------
        ProblemError
            When the samples do not fit, are too small or equal, or a parameter is out of range.

        Examples
        --------
        >>> import numpy as np
        >>> x = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]])
        >>> STRS.from_two_samples(x, x + [5.0, 0.0], d=1, lam=0.5)
        STRS(D=2, d=1)
        """
        if kernel != "linear":
            raise ProblemError(
                f"kernel is {kernel!r}; only the linear kernel gives a trust-region subproblem: "
                "build KernelSelection(x, y, kernel, d=...) for others",
                "kernel",
            )
        automatic = isinstance(lam, str) and lam == "auto"
        number = isinstance(lam, Real) and not isinstance(lam, bool)
        if not (automatic or (number and 0.0 <= float(lam) < np.inf)):
            raise ProblemError(f"lam is {lam!r}; expected a number >= 0, or 'auto'", "lam")
        samples = TwoSample.of(x, y, "linear", bandwidth)
        a, V = linear_terms(samples.x, samples.y, samples.bandwidth)
        # The weight needs a d within range.
        problem = cls(A=-V, a=a, d=d, names=names_in(None, x))
        weight = automatic_lam(a, V, problem.d) if automatic else float(lam)
        return problem.with_changes(A=-weight * V)

    @property
    def last(self) -> int:
        return self.d

    def _default_size(self) -> int:
        return self.d

    def _coerce(self) -> None:
        super()._coerce()
        self._coerce_count("d")

    def validate(self) -> None:
        """Check the range of d; the arrays were checked on the way in."""
        self._check_count("d")

    @property
    def size(self) -> Mapping[str, int]:
        return {"D": self.A.shape[0], "d": self.d}


@dataclass(frozen=True, eq=False, repr=False)
class STRSPath(SphereProblem):
    r"""The sparse trust-region subproblem whose default question is every size 1, ..., d_max.

    The same as :class:`STRS` with ``size=range(1, d_max + 1)``, for files that ask for a path by
    themselves. The optimal value does not decrease with the size. The answer is a path
    (:class:`~sparseopt.paths.supports.SupportPath`); point, objective and bound of the result are
    those of its last size.

    Parameters
    ----------
    A : array of shape (D, D)
        Symmetric, as for :class:`STRS`.
    a : array of shape (D,), optional
        Default 0: sparse principal component analysis.
    d_max : int, optional
        Largest number of nonzeros, 1 <= d_max <= D. Default D.
    names : list of D str, optional
        Default: a data frame's columns, or x0, x1, ...

    Raises
    ------
    ProblemError
        When A is not square or not symmetric, shapes disagree, an entry is not finite, or d_max is
        out of range.

    Examples
    --------
    >>> import numpy as np
    >>> import sparseopt
    >>> S = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 2.5]])
    >>> result = sparseopt.solve(sparseopt.problems.STRSPath(S))
    >>> result.path.objective.round(9).tolist(), result.path.supports()
    ([2.5, 3.0, 3.0], [[2], [0, 1], [0, 1]])
    """

    d_max: int | None = None

    kind: ClassVar[str] = "strs-path"

    @classmethod
    def of(cls, problem: STRS, d_max: int | None = None) -> Self:
        """Return the path of a problem, whose builders make covariances and two-sample data.

        Parameters
        ----------
        problem : STRS
        d_max : int, optional
            Default: the problem's own d.
        """
        size = problem.d if d_max is None else d_max
        return cls(A=problem.A, a=problem.linear, d_max=size, names=problem.names)

    @property
    def last(self) -> int:
        assert self.d_max is not None  # set by _coerce
        return self.d_max

    def _default_size(self) -> tuple[int, ...]:
        return tuple(range(1, self.last + 1))

    def _coerce(self) -> None:
        super()._coerce()
        if self.d_max is None:
            self._set("d_max", self.A.shape[0])
        self._coerce_count("d_max")

    def validate(self) -> None:
        """Check the range of d_max; the arrays were checked on the way in."""
        self._check_count("d_max")

    @property
    def size(self) -> Mapping[str, int]:
        return {"D": self.A.shape[0], "d_max": self.last}


def standardised(X: Array, kind: Literal["correlation", "covariance"]) -> Array:
    """Return Z of the shape of X so that Z'Z is the correlation or covariance matrix of X.

    Parameters
    ----------
    X : array of shape (n, D)
        With n >= 2.
    kind : {"correlation", "covariance"}
        Covariances are divided by n - 1.

    Raises
    ------
    ProblemError
        When n < 2, or a column is constant and correlations are asked for.
    """
    data = as_matrix("X", X)
    n = data.shape[0]
    if kind not in ("correlation", "covariance"):
        raise ProblemError(f"kind is {kind!r}; expected 'correlation' or 'covariance'", "kind")
    if n < 2:
        raise ProblemError(f"X has {n} row; expected at least 2 observations", "X")
    # Dividing by the largest entry first keeps the squares of very large or small data finite.
    size = np.abs(data).max(axis=0)
    unit = np.where(size > 0.0, size, 1.0)
    scaled = data / unit
    constant = (scaled == scaled[0]).all(axis=0)
    centred = np.where(constant, 0.0, scaled - scaled.mean(axis=0))
    if kind == "covariance":
        return np.asarray(centred * (unit / math.sqrt(n - 1)))
    if constant.any():
        where = np.flatnonzero(constant).tolist()
        raise ProblemError(
            f"X has constant columns, {where}, which have no correlation: drop them, or use "
            "kind='covariance'",
            "X",
        )
    return np.asarray(centred / np.linalg.norm(centred, axis=0))
