r"""The path of a penalised model, indexed by the bound on its l1 norm: :class:`L1BoundPath`.

The penalised and the bounded problem have the same solutions,

.. math:: \min_\theta L(\theta) + \lambda \|\theta\| \qquad\text{and}\qquad
          \min_\theta L(\theta) \;\text{ subject to }\; \|\theta\| \le t,

with :math:`\|\theta\| = \sum_j w_j |\theta_j|`. The first is followed in lam and jumps at its
knots. At a knot every convex combination of the two sides is optimal. L and the norm are convex,
and L + lam times the norm is constant between the two sides, so that both are affine there: the
interpolated point of norm t is the solution of the second problem.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sparseopt.errors import ParamError
from sparseopt.paths.base import PathResult
from sparseopt.paths.parametric import ParametricPath
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.l1 import PenalisedL1
from sparseopt.verbs import borrows

if TYPE_CHECKING:
    import pandas as pd

_EXPECTED = "the whole path of this problem, sparseopt.solve(problem).path"


@borrows
@dataclass(frozen=True, eq=False, repr=False)
class L1BoundPath(PathResult):
    r"""Solutions of :math:`\min L(\theta)` subject to :math:`\sum_j w_j |\theta_j| \le t`.

    Parameters
    ----------
    problem : L1SVM, LADLasso or QuantileLasso
        Its penalty gives the w_j; an intercept is not bounded.
    path : ParametricPath
        The result of solving it for a path.

    Attributes
    ----------
    knots : array of shape (K,)
        Increasing bounds t, from 0, at which the direction of theta changes. The last one is the
        norm at the path's end: where that is lam = 0, a larger bound changes nothing.
    stopped_by : str
        As of the path.

    Raises
    ------
    ParamError
        When the problem is none of these, or the path is not a whole path of it.

    Examples
    --------
    >>> import numpy as np
    >>> import sparseopt
    >>> from sparseopt.paths.l1_bound import L1BoundPath
    >>> from sparseopt.problems import L1SVM
    >>> problem = L1SVM(X=np.array([[2.0], [1.0], [-1.0]]), y=[1, 1, -1])
    >>> bounded = L1BoundPath(problem, sparseopt.solve(problem).path)
    >>> bounded.knots.tolist(), bounded.at(0.5).tolist(), bounded.objective_at(0.5)
    ([0.0, 1.0], [0.5, 0.5], 1.0)
    """

    problem: PenalisedL1
    path: ParametricPath
    stopped_by: str = field(init=False)
    knots: Array = field(init=False)
    _segments: Array = field(init=False)

    kind: ClassVar[str] = "l1-bound"
    parameter: ClassVar[str] = "bound"

    def __post_init__(self) -> None:
        problem, path = self.problem, self.path
        if not isinstance(problem, PenalisedL1):
            raise ParamError(
                f"a {type(problem).__name__} has no l1 penalty: this index is for L1SVM, LADLasso "
                "and QuantileLasso"
            )
        weights = problem.penalty_weights
        if not isinstance(path, ParametricPath):
            raise ParamError(f"path is a {type(path).__name__}; expected {_EXPECTED}")
        if path.shape[1] != len(weights):
            raise ParamError(f"path is of {path.shape[1]} coefficients; expected {_EXPECTED}")
        rows = np.repeat(np.arange(len(path.low)), np.diff(path.theta.ptr))
        sizes = weights[path.theta.index] * np.abs(path.theta.value)
        norms = np.maximum.accumulate(np.bincount(rows, sizes, minlength=len(path.low)))
        # Segments of equal norm are one knot; its solution is that of the first.
        knots, segments = np.unique(norms, return_index=True)
        for name, value in (("knots", knots), ("_segments", segments)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "stopped_by", path.stopped_by)

    def at(self, value: float) -> Array:
        """Return the coefficients at the bound t, shape (p,).

        Raises
        ------
        ParamError
            When t is negative, or beyond the end of a path that stopped at a lam > 0.
        """
        k = self._knot(value)
        if k + 1 == len(self.knots):
            return self._corner(k)
        low, high = self.knots[k], self.knots[k + 1]
        share = (float(value) - low) / (high - low)
        return np.asarray((1.0 - share) * self._corner(k) + share * self._corner(k + 1))

    def lam_at(self, value: float) -> float:
        """Return the lam whose penalised problem has the solution at t, too.

        It is the rate at which the loss falls as t grows: at a knot the rate to its right, and 0
        from the least norm of the smallest loss on.
        """
        k = self._knot(value)
        last = k + 1 == len(self.knots)
        return float(self.path.low[-1 if last else self._segments[k + 1] - 1])

    def objective_at(self, value: float) -> float:
        """Return the loss at the bound t."""
        return self.problem.loss(self.at(value))

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each knot: t, lam, loss, nonzeros and the coefficients."""
        import pandas as pd

        coefficients = np.array([self.at(t) for t in self.knots])
        head = pd.DataFrame(
            {
                "bound": self.knots,
                "lam": [self.lam_at(t) for t in self.knots],
                "loss": [self.problem.loss(theta) for theta in coefficients],
                "nonzeros": np.count_nonzero(coefficients, axis=1),
            }
        )
        names = self.problem.coefficient_names
        return pd.concat([head, pd.DataFrame(coefficients, columns=names)], axis=1)

    def _corner(self, k: int) -> Array:
        return self.path.theta.dense(int(self._segments[k]), 0.0, self.path.shape[1])

    def _knot(self, bound: float) -> int:
        """Return the last knot <= t."""
        t = self._number(bound)
        if math.isnan(t) or t < 0.0:
            raise ParamError(f"the bound is {bound!r}; expected a number >= 0")
        end, lam = float(self.knots[-1]), float(self.path.low[-1])
        if t > end and lam > 0.0:
            raise ParamError(
                f"the bound {t:g} lies beyond the path, which ends at the norm {end:g} and "
                f"lam = {lam:g}: solve it down to a smaller lam"
            )
        return int(np.searchsorted(self.knots, t, side="right")) - 1

    if TYPE_CHECKING:  # lent by the top of the package, see sparseopt.verbs

        def plot(self, ax: Any = None, **style: Any) -> Any: ...
