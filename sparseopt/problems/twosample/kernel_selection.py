"""Variable selection for kernel two-sample tests, for any kernel: :class:`KernelSelection`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.problems.base import Array, Problem, as_matrix, as_vector
from sparseopt.problems.fields import column_names
from sparseopt.problems.strs.problem import STRS
from sparseopt.problems.twosample.statistics.linear import linear_parts, linear_terms
from sparseopt.problems.twosample.statistics.two_samples import TwoSample
from sparseopt.problems.twosample.statistics.user_kernels import PREFIX, UserKernel

_SAME = 1e-9
"""Relative difference of the values of a user's kernel from those that a file holds."""


@dataclass(frozen=True, eq=False, repr=False)
class KernelSelection(Problem):
    r"""Choose weights of at most d variables that distinguish two samples.

    .. math:: \max_{z \in R^D} \; \widehat{MMD}^2(x, y; K_z) - \lambda\, \hat\sigma^2(x, y; K_z)
              \quad\text{subject to}\quad \|z\|_2 = 1,\; \|z\|_0 \le d

    with the estimators that :mod:`sparseopt.problems.twosample.statistics.two_samples` states,
    also for samples of unequal
    size. The linear kernel, and the quadratic one without the variance (lam = 0), give a sparse
    trust-region subproblem (:meth:`as_strs`), which is solved to proven optimality; so is the
    Gaussian kernel where there are few supports. For all others there is a heuristic, and no proof.

    Parameters
    ----------
    x, y : arrays of shapes (n, D) and (m, D)
        At least 4 observations each, not both the same.
    kernel : {"linear", "quadratic", "gaussian"} or a user's, default "linear"
        A user brings a function k(u, v) of observations, whose variables z scales, or an object
        with ``gram(z, u, v)``: see :mod:`sparseopt.problems.twosample.statistics.user_kernels`. A
        file holds only its
        name and some of its values; call ``register_kernel(name, kernel)`` before reading one.
    d : int
        Largest number of variables, 1 <= d <= D; there is no default.
    lam : float, default 0.5
        Weight of the variance, >= 0.
    bandwidth : "median", float, or array of shape (D,), default "median"
        tau_s^2 of the scalar kernels, or sigma^2 of the Gaussian kernel; not for a user's kernel.
        Afterwards the field holds the numbers. The median is that of the squared distances between
        x and y in a column; sigma^2 is the median of these over the columns.
    c : float, optional
        Constant of the quadratic kernel, >= 0; by default the square root of the bandwidth that
        the Gaussian kernel would have.
    probe : array, optional
        Values of a user's kernel, which files hold to recognise it. Leave it out.

    Raises
    ------
    ProblemError
        When the samples do not fit, are too small or equal, a parameter is out of range, or a
        user's kernel is unknown or does not work.

    References
    ----------
    Wang, Dey, Xie: Variable selection for kernel two-sample tests, (11).

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt.problems import KernelSelection
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.standard_normal((2, 30, 6))
    >>> KernelSelection(x, y + [3, 0, 0, 0, 0, 0], kernel="gaussian", d=2)
    KernelSelection(n=30, m=30, D=6, d=2)
    """

    x: Array
    y: Array
    kernel: Any = "linear"
    d: int = 0
    lam: float = 0.5
    bandwidth: Any = "median"
    c: float | None = None
    probe: Array | None = None

    kind: ClassVar[str] = "kernel-selection"
    family: ClassVar[str] = "twosample"
    sense: ClassVar[Literal["min", "max"]] = "max"

    def _coerce(self) -> None:
        given = "median" if self.bandwidth is None else self.bandwidth
        samples = TwoSample.of(self.x, self.y, self.kernel, given, self.c)
        for name in ("x", "y", "kernel"):
            self._set(name, getattr(samples, name))
        quadratic = samples.kernel == "quadratic"
        self._set("c", samples.c if quadratic else None)
        D = samples.x.shape[1]
        if isinstance(samples.kernel, UserKernel):
            self._set("bandwidth", None)
            values = samples.kernel.probe(samples.x)
            self._set("probe", values if self.probe is None else as_matrix("probe", self.probe))
            self._compare_probe(values, samples.kernel.name)
        else:
            self._set("bandwidth", as_vector("bandwidth", samples.bandwidth, D))
            if self.probe is not None:
                raise ProblemError("probe is for a user's kernel only", "probe")
        if isinstance(self.d, bool) or not isinstance(self.d, Integral):
            raise ProblemError(f"d is {self.d!r}; expected an integer from 1 to {D}", "d")
        self._set("d", int(self.d))
        if isinstance(self.lam, bool) or not isinstance(self.lam, Real):
            raise ProblemError(f"lam is {self.lam!r}; expected a number >= 0", "lam")
        self._set("lam", float(self.lam))

    def _compare_probe(self, values: Array, name: str) -> None:
        stored = np.asarray(self.probe)
        size = max(float(np.abs(values).max()), float(np.abs(stored).max(initial=0.0)))
        if stored.shape != values.shape or np.abs(stored - values).max() > _SAME * size:
            raise ProblemError(
                f"the kernel {name} has other values than the one that the problem was made with: "
                "register the right one under this name, or build the problem anew",
                "kernel",
            )

    def validate(self) -> None:
        """Check the ranges of d and lam; the samples were checked on the way in."""
        D = self.x.shape[1]
        if not 1 <= self.d <= D:
            raise ProblemError(
                f"d is {self.d}; expected the largest number of variables, from 1 to {D}", "d"
            )
        if not (np.isfinite(self.lam) and self.lam >= 0.0):
            raise ProblemError(f"lam is {self.lam}; expected a number >= 0", "lam")

    def payload(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Split the content as every problem does; of a user's kernel there is the name."""
        values, arrays = super().payload()
        if isinstance(self.kernel, UserKernel):
            values["kernel"] = PREFIX + self.kernel.name
        return values, arrays

    @property
    def samples(self) -> TwoSample:
        """The samples with the kernel: its statistics, derivatives and Gram matrices."""
        bandwidth = np.ones(self.x.shape[1]) if self.bandwidth is None else self.bandwidth
        return TwoSample(self.x, self.y, self.kernel, bandwidth, self.c or 0.0)

    @property
    def size(self) -> Mapping[str, int]:
        return {"n": len(self.x), "m": len(self.y), "D": self.x.shape[1], "d": self.d}

    @property
    def coefficient_names(self) -> list[str]:
        """The name of each variable."""
        return column_names(None, self.x.shape[1])

    def as_strs(self) -> STRS | None:
        r"""Return the sparse trust-region subproblem with the same objective, where there is one.

        - Linear kernel: :math:`a'z - \lambda z'Vz`, O((n + m) D H + (n + m) D^2) by H features.
        - Quadratic kernel, lam = 0: the squared MMD is :math:`z'\mathcal{A}z + 2 c\, a'z`, with the
          linear kernel's a (remark 4.2 of the paper, for the estimator); O((n + m)^2 D^2).

        Other problems have none: None.
        """
        if self.kernel == "linear":
            a, V = linear_terms(self.x, self.y, self.bandwidth)
            return STRS(A=-self.lam * V, a=a, d=self.d)
        if self.kernel == "quadratic" and self.lam == 0.0:
            objective = self.samples.objective_function()
            zero = np.zeros(self.x.shape[1])
            return STRS(
                A=objective.hessian(zero, 0.0) / 2.0, a=objective.gradient(zero, 0.0), d=self.d
            )
        return None

    def objective(self, x: Array, lam: float | None = None) -> float:
        """Return the squared MMD less lam times the variance at the weights x, shape (D,).

        O(n^2 d); for the linear kernel O(n d H), by H features.
        """
        mmd, variance = self.statistics(x)
        return mmd - self.lam * variance

    def statistics(self, x: Array) -> tuple[float, float]:
        """Return the squared MMD and its variance at the weights x, shape (D,)."""
        z = as_vector("x", x, self.x.shape[1])
        S = np.flatnonzero(z)
        if self.kernel == "linear" and len(S):
            a, parts = linear_parts(self.x[:, S], self.y[:, S], self.bandwidth[S])
            variance = sum(factor * float(np.square(C @ z[S]).sum()) for factor, C in parts)
            return float(a @ z[S]), variance
        return self.samples.objective_function().parts(z)

    def gradient(self, x: Array) -> Array:
        """Return the gradient of the objective, shape (D,). O(n^2 D), linear kernel: as values."""
        z = as_vector("x", x, self.x.shape[1])
        if self.kernel == "linear":
            a, V = linear_terms(self.x, self.y, self.bandwidth)
            return np.asarray(a - 2.0 * self.lam * (V @ z))
        return self.samples.gradient(z, self.lam)

    def hessian(self, x: Array) -> Array:
        """Return the Hessian of the objective, shape (D, D). O(n^2 D^2)."""
        return self.samples.hessian(as_vector("x", x, self.x.shape[1]), self.lam)

    def objective_scale(self, x: Array, lam: float | None = None) -> float:
        """Return the size of the kernel's values and of the variance: what is added up."""
        z = as_vector("x", x, self.x.shape[1])
        largest = self.samples.largest(z)
        return 4.0 * largest * (1.0 + self.lam * largest)

    def residuals(self, x: Array, lam: float | None = None) -> dict[str, float]:
        """Return abs(norm - 1) and by how many nonzeros x exceeds d."""
        z = as_vector("x", x, self.x.shape[1])
        return {
            "norm": abs(float(np.linalg.norm(z)) - 1.0),
            "cardinality": float(max(0, int(np.count_nonzero(z)) - self.d)),
        }
