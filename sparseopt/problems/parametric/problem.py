"""Parametric linear programs: the one general form, and the paper's two forms."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.problems.base import Array, Problem, as_matrix, as_vector
from sparseopt.problems.fields import as_names, check_range
from sparseopt.problems.parametric.maps import LinearMap, as_linear_map
from sparseopt.problems.parametric.pieces import Pieces

_LOOSE = 1e6
"""Bounds that are so many times as large as all else are loose."""

if TYPE_CHECKING:
    import scipy.sparse as sp


@dataclass(frozen=True, eq=False, repr=False)
class ParametricProblem(Problem):
    r"""A model whose solution is asked for as a function of the parameter :math:`\lambda \ge 0`.

    Every such model is written by :meth:`canonical` as the general form

    .. math:: \min_{\theta \in R^p} \sum_j \phi_j(\theta_j; \lambda)
              + \sum_i \psi_i((A\theta)_i; \lambda),

    whose variables are the model's coefficients in the model's order.
    """

    family: ClassVar[str] = "parametric"
    parameter: ClassVar[str | None] = "lam"

    @abstractmethod
    def canonical(self) -> PiecewiseLinearProgram:
        """Return the problem in the general form; cheap, no product with the data is made."""

    @property
    def canonical_sign(self) -> float:
        """1 where the model minimises the canonical objective, -1 where it maximises minus it."""
        return 1.0 if self.sense == "min" else -1.0

    @property
    def coefficient_names(self) -> list[str]:
        """Names of the entries of a solution, for tables and plots."""
        return [f"x{j}" for j in range(self.canonical().A.shape[1])]

    def objective(self, x: Array, lam: float | None = None) -> float:
        """Objective value of the coefficients `x`, shape (p,), at `lam` (required)."""
        program = self.canonical()
        theta = as_vector("x", x, program.A.shape[1])
        return self.canonical_sign * program.value(theta, _required(lam))

    def residuals(self, x: Array, lam: float | None = None) -> dict[str, float]:
        """Largest violation of the bounds on `x` and of the constraints on A x at `lam`."""
        program = self.canonical()
        theta = as_vector("x", x, program.A.shape[1])
        at = _required(lam)
        out = {}
        for name, z, pieces in (
            ("bounds", theta, program.phi),
            ("constraints", program.A.matvec(theta), program.psi),
        ):
            low, high = pieces.domain(at)
            out[name] = float(np.max(np.maximum(low - z, z - high), initial=0.0))
        return out


def _required(lam: float | None) -> float:
    if lam is None:
        raise ProblemError("a parametric problem is evaluated at a value of lam: give lam")
    return float(lam)


@dataclass(frozen=True, eq=False, repr=False)
class PiecewiseLinearProgram(ParametricProblem):
    r"""The general form of all parametric problems.

    .. math:: P(\lambda) = \min_{\theta \in R^p} \sum_{j=1}^p \phi_j(\theta_j; \lambda)
              + \sum_{i=1}^m \psi_i((A\theta)_i; \lambda)
              + o_0 + o_1 \lambda + o_2 \lambda^2

    with convex piecewise-linear functions whose kinks and slopes are affine in lam
    (:class:`~sparseopt.problems.parametric.pieces.Pieces`). Outer slopes may be infinite (bounds).

    Parameters
    ----------
    A : array or scipy.sparse matrix of shape (m, p), or a LinearMap
    phi : Pieces of length p
    psi : Pieces of length m
    offset : array of shape (3,), default zeros
        The constants :math:`o_0, o_1, o_2`.
    names : list of str, optional
        Names of the p variables.

    Raises
    ------
    ProblemError
        When shapes disagree, an entry is not finite, or a function is not convex at some
        lam >= 0.

    Examples
    --------
    min abs(theta - 3) + lam abs(theta): the least absolute deviation of one observation.

    >>> import numpy as np
    >>> from sparseopt.problems import Pieces, PiecewiseLinearProgram
    >>> one = np.ones(1)
    >>> problem = PiecewiseLinearProgram(
    ...     A=np.eye(1),
    ...     phi=Pieces.lam_absolute(one),
    ...     psi=Pieces.uniform([3.0 * one], [-one, one]),
    ... )
    >>> problem.objective(np.array([3.0]), lam=0.5)
    1.5
    """

    A: Any
    phi: Pieces
    psi: Pieces
    offset: Array = field(default_factory=lambda: np.zeros(3))
    names: Sequence[str] | None = None

    kind: ClassVar[str] = "piecewise-linear-program"

    def _coerce(self) -> None:
        if not isinstance(self.A, LinearMap):
            self._set("A", as_linear_map(as_matrix("A", self.A, allow_sparse=True)))
            check_range("A", self.A.as_array())
        for name in ("phi", "psi"):
            pieces = getattr(self, name)
            if isinstance(pieces, Pieces):
                self._set(name, pieces.frozen(name))
        self._set("offset", as_vector("offset", self.offset, 3))
        self._set("names", as_names(self.names, self.A.shape[1]))

    def validate(self) -> None:
        """Check the pieces and their number against the shape of A."""
        m, p = self.A.shape
        for name, pieces, length in (("phi", self.phi, p), ("psi", self.psi, m)):
            pieces.validate(name)
            if len(pieces) != length:
                raise ProblemError(
                    f"{name} holds {len(pieces)} functions; A has the shape {(m, p)}, "
                    f"expected {length}",
                    name,
                )

    @property
    def size(self) -> Mapping[str, int]:
        return {"m": self.A.shape[0], "p": self.A.shape[1]}

    @property
    def coefficient_names(self) -> list[str]:
        return list(self.names) if self.names is not None else super().coefficient_names

    def canonical(self) -> PiecewiseLinearProgram:
        return self

    @cached_property
    def functions(self) -> Pieces:
        """The functions of all coordinates (theta, A theta): phi, then psi, which become views."""
        whole, p = Pieces.concatenate(self.phi, self.psi), len(self.phi)
        self._set("phi", whole.between(0, p))
        self._set("psi", whole.between(p, len(whole)))
        return whole

    def with_row_kinks(self, kink: Array) -> PiecewiseLinearProgram:
        """Return the program with other constants of the rows' kinks, of which none is checked."""
        other = copy(self)
        other.__dict__.pop("functions", None)
        other._set("psi", replace(self.psi, kink=kink))
        return other

    def from_first_kinks(self) -> PiecewiseLinearProgram:
        """Return the same program, its functions zero at their first kinks, as it is in files."""
        if not self.functions.zeros.any():
            return self
        shifts = [part.kink_values[:, part.ptr[:-1]].sum(axis=1) for part in (self.phi, self.psi)]
        phi, psi = (replace(part, zero=None) for part in (self.phi, self.psi))
        return replace(self, phi=phi, psi=psi, offset=self.offset + sum(shifts))

    def without_loose_bounds(self, theta: Array, lam: float) -> PiecewiseLinearProgram:
        """Return a relaxation that has the same value at theta: without what is far from it.

        Bounds of variables and rows are left out that are 10^6 times as far away as theta, A theta
        and the lower quartile of the kinks, where variables have bounds in the units of
        ``A.scales()``. Next to them a multiplier that is off by rounding would prove nothing.

        Parameters
        ----------
        theta : array of shape (p,)
        lam : float
        """
        z = np.concatenate([theta, self.A.matvec(theta)])
        pieces, p, unit = self.functions, len(theta), np.ones(len(z))
        ends = pieces.domain(lam)
        if any((np.isfinite(end[:p]) & (end[:p] != 0.0)).any() for end in ends):
            row, column = self.A.scales()
            unit = np.concatenate([column, 1.0 / row])
        sizes = np.sort(np.abs(pieces.kinks_at(lam)) / np.repeat(unit, pieces.counts))
        sizes = sizes[np.searchsorted(sizes, 0.0, side="right") :]
        usual = sizes[(len(sizes) - 1) // 4] if len(sizes) else 0.0
        limit = _LOOSE * max(float((np.abs(z) / unit).max(initial=0.0)), usual) * unit
        loose = [np.isfinite(end) & (np.abs(end) > limit) for end in ends]
        if not np.any(loose):
            return self
        other = copy(self)
        other.__dict__.pop("functions", None)
        for name, here in (("phi", slice(0, p)), ("psi", slice(p, None))):
            part: Pieces = getattr(self, name)
            other._set(name, part.without_ends(loose[0][here], loose[1][here]))
        return other

    def value(self, theta: Array, lam: float) -> float:
        """Return P's objective at theta; violated bounds are not charged (see residuals)."""
        o = self.offset
        return float(
            self.phi.value(theta, lam).sum()
            + self.psi.value(self.A.matvec(theta), lam).sum()
            + o[0]
            + lam * (o[1] + lam * o[2])
        )

    def dual_value(self, nu: Array, lam: float) -> float:
        r"""Return the dual objective of the row multipliers nu, a lower bound of P(lam).

        .. math:: D(\nu) = -\sum_j \phi_j^*(-A_j'\nu) - \sum_i \psi_i^*(\nu_i) + o(\lambda)

        Multipliers outside the conjugates' domains are moved to their ends: the checker measures
        by how much, since beyond rounding the value is then no bound.
        """
        o = self.offset
        return float(
            -self.phi.conjugate(-self.A.rmatvec(nu), lam).sum()
            - self.psi.conjugate(nu, lam).sum()
            + o[0]
            + lam * (o[1] + lam * o[2])
        )

    def payload(self) -> tuple[dict[str, Any], dict[str, Array | sp.csr_array]]:
        values: dict[str, Any] = {} if self.names is None else {"names": list(self.names)}
        plain = self.from_first_kinks()
        arrays: dict[str, Array | sp.csr_array] = {"A": self.A.as_array(), "offset": plain.offset}
        for name, pieces in (("phi", plain.phi), ("psi", plain.psi)):
            for part in ("ptr", "kink", "kink_rate", "slope", "slope_rate"):
                dtype = np.int64 if part == "ptr" else np.float64
                arrays[f"{name}_{part}"] = np.asarray(getattr(pieces, part), dtype=dtype)
        return values, arrays

    @classmethod
    def from_payload(cls, values: Mapping[str, Any], arrays: Mapping[str, Any]) -> Self:
        rest = dict(arrays)
        pieces = {}
        for name in ("phi", "psi"):
            parts = {}
            for part in ("ptr", "kink", "kink_rate", "slope", "slope_rate"):
                key = f"{name}_{part}"
                if key not in rest:
                    raise ProblemError(f"{cls.kind}: the entry {key} is missing", key)
                array = np.asarray(rest.pop(key))
                if array.ndim != 1 or array.dtype.kind not in "biuf":
                    raise ProblemError(f"{cls.kind}: {key} must be a vector of numbers", key)
                parts[part] = array.astype(np.int64 if part == "ptr" else np.float64)
            if len(parts["ptr"]) < 1:
                raise ProblemError(f"{cls.kind}: {name}_ptr is empty", f"{name}_ptr")
            pieces[name] = Pieces(**parts)
        return super().from_payload(values, {**rest, **pieces})


@dataclass(frozen=True, eq=False, repr=False)
class ParametricLP(ParametricProblem):
    r"""The parametric linear program of the paper, equations (1.2) and (1.3).

    .. math:: \max_x\; (c + \lambda \bar c)'x \quad\text{subject to}\quad
              A x \le b + \lambda \bar b \;\text{ or }\; A x = b + \lambda \bar b,\quad x \ge 0.

    Parameters
    ----------
    A : array or scipy.sparse matrix of shape (m, n)
    b, b_bar : arrays of shape (m,)
    c, c_bar : arrays of shape (n,)
    form : {"inequality", "equality"}, default "inequality"
        (1.3) or (1.2).
    names : list of str, optional
        Names of the n variables.

    Notes
    -----
    No sign is asked of b_bar and c_bar: where the zero solution is not optimal at large lam, the
    engine finds a first basis by a homotopy of its own.

    References
    ----------
    Pang, Zhao, Vanderbei, Liu: A parametric simplex approach to statistical learning problems,
    equations (1.2), (1.3).

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt.problems import ParametricLP
    >>> problem = ParametricLP(
    ...     A=np.array([[1.0, 1.0]]), b=[1.0], b_bar=[1.0], c=[1.0, 2.0], c_bar=[0.0, -1.0]
    ... )
    >>> problem.objective(np.array([0.0, 1.5]), lam=0.5)
    2.25
    """

    A: Any
    b: Array
    b_bar: Array
    c: Array
    c_bar: Array
    form: Literal["inequality", "equality"] = "inequality"
    names: Sequence[str] | None = None

    kind: ClassVar[str] = "parametric-lp"
    sense: ClassVar[Literal["min", "max"]] = "max"

    def _coerce(self) -> None:
        self._set("A", as_matrix("A", self.A, allow_sparse=True))
        m, n = self.A.shape
        for name, length in (("b", m), ("b_bar", m), ("c", n), ("c_bar", n)):
            self._set(name, as_vector(name, getattr(self, name), length))
        self._set("names", as_names(self.names, n))

    def validate(self) -> None:
        """Check the form and the range of the numbers."""
        if self.form not in ("inequality", "equality"):
            raise ProblemError(
                f"form is {self.form!r}; expected 'inequality' (1.3) or 'equality' (1.2)", "form"
            )
        for name in ("A", "b", "b_bar", "c", "c_bar"):
            check_range(name, getattr(self, name))

    @property
    def size(self) -> Mapping[str, int]:
        return {"m": self.A.shape[0], "n": self.A.shape[1]}

    @property
    def coefficient_names(self) -> list[str]:
        return list(self.names) if self.names is not None else super().coefficient_names

    def canonical(self) -> PiecewiseLinearProgram:
        """Minimise -(c + lam c_bar)'x: costs with a bound at zero, rows as indicators."""
        phi = Pieces.uniform(
            [0.0], [-np.inf, -self.c], slope_rates=[0.0, -self.c_bar], n=len(self.c)
        )
        if self.form == "inequality":
            psi = Pieces.uniform([self.b], [0.0, np.inf], kink_rates=[self.b_bar], n=len(self.b))
        else:
            psi = Pieces.uniform(
                [self.b, self.b],
                [-np.inf, 0.0, np.inf],
                kink_rates=[self.b_bar, self.b_bar],
                n=len(self.b),
            )
        return PiecewiseLinearProgram(as_linear_map(self.A), phi, psi)
