r"""What a certificate is about where a MISDP has indicators or a quadratic objective.

Engines solve its standard form (:mod:`sparseopt.proofs.misdp_standard_form`). A certificate brings
``indicator_least, indicator_most`` (k,), between which the k rows of the indicators lie for every
feasible point, and ``quadratic_factor`` (n, r), ``quadratic_shift`` (r,) and ``quadratic_costs``
(n,): L, h and c - s L h. Here

- the values of the rows are bounded again, by bounds of the variables that the constraints imply:
  a certificate may be no tighter than these, and no looser numbers do any harm;
- :math:`E = \pm Q - s L L'` is what the factor misses, e what the costs do. With
  :math:`\mu_j \le E_{jj} - \sum_{k \ne j} |E_{jk}|` a matrix E - diag(mu) is diagonally dominant,
  and therefore semidefinite: :math:`x'Ex / 2 + e'x \ge \sum_j (\mu_j x_j^2 / 2 - |e_j x_j|)`. The
  minimum of each term, :math:`-e_j^2 / (2 \mu_j)` where mu is positive and that over the bounds of
  x_j in any case, is what a claimed bound is charged with.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from sparseopt.checking.evidence import Malformed
from sparseopt.checking.misdp.implied import ImpliedBounds
from sparseopt.installed import Deferred
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.problem import MISDP
from sparseopt.proofs.misdp_standard_form import (
    StandardNumbers,
    curvature_unit,
    is_standard,
    standard_problem,
)

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = Deferred("scipy.sparse")

_EPS = float(np.finfo(float).eps)

_FACTOR = 1e3
"""Entries of L, whose products L L' are near Q in units of its largest entry. Beyond, rounding
errors of the implied bounds would prove anything."""


def standard_form(problem: MISDP, arrays: Mapping[str, Array]) -> tuple[MISDP, float]:
    """Return the standard form, and by how much its optimum may exceed that of the problem.

    Parameters
    ----------
    problem : MISDP
    arrays : mapping
        Those of the certificate.

    Returns
    -------
    MISDP, float
        The charge, not negative, for the minimisation: infinite where a variable has no bounds.

    Raises
    ------
    Malformed
        When the arrays are no such thing, or tighter than what can be derived.
    """
    if is_standard(problem):
        return problem, 0.0
    n, k = len(problem.c), len(problem.indicators)
    least, most = (_numbers(arrays, f"indicator_{word}", (k,)) for word in ("least", "most"))
    numbers = StandardNumbers(np.zeros((n, 0)), np.zeros(0), problem.c, least, most)
    box = ImpliedBounds(problem).tighten()
    # Without a feasible point all is true.
    for i, row in enumerate(problem.indicators if box is not None else ()):
        assert box is not None
        low, high = _range(row.a, *box)
        if low < least[i] or high > most[i]:
            raise Malformed(
                f"the row of indicator {i} lies in [{low:.9g}, {high:.9g}] as far as can be "
                f"derived, not in [{least[i]:.9g}, {most[i]:.9g}]"
            )
    charge = 0.0
    if problem.Q is not None:
        rank = np.asarray(arrays.get("quadratic_factor")).shape[-1:]
        factor = _numbers(arrays, "quadratic_factor", (n, *rank))
        shift = _numbers(arrays, "quadratic_shift", rank)
        costs = _numbers(arrays, "quadratic_costs", (n,))
        if not np.isfinite(np.concatenate([factor.ravel(), shift, costs])).all():
            raise Malformed("the factor of the objective is not finite")
        if np.abs(factor).max(initial=0.0) > _FACTOR:
            raise Malformed("the factor of the objective is far larger than its matrix allows")
        numbers = StandardNumbers(factor, shift, costs, least, most)
        if box is not None:
            charge = _charge(problem, numbers, np.maximum(np.abs(box[0]), np.abs(box[1])))
    return standard_problem(problem, numbers), charge


def along_rays(problem: MISDP, x: Array) -> MISDP:
    """Return a problem whose rays from x are rays of this one, along which Q changes nothing.

    The rows of indicators that hold at x are rows of A in it, those of Q are kept where they are.

    Parameters
    ----------
    problem : MISDP
    x : array of shape (n,)
        A feasible point.
    """
    if is_standard(problem):
        return problem
    held = [row for row in problem.indicators if round(float(x[row.binary])) == 1]
    A, low, high = [problem.A, *(row.a for row in held)], [], []
    low += [row.lower for row in held]
    high += [row.upper for row in held]
    if problem.Q is not None:
        value = problem.Q @ x
        A.append(problem.Q)
        low += (value - 1.0 - np.abs(value)).tolist()
        high += (value + 1.0 + np.abs(value)).tolist()
    return problem.with_changes(
        A=sp.vstack(A, format="csr"),
        row_lower=np.append(problem.row_lower, low),
        row_upper=np.append(problem.row_upper, high),
        indicators=(),
        Q=None,
    )


def _range(a: sp.csr_array, lower: Array, upper: Array) -> tuple[float, float]:
    """Return the least and the largest value of a'x in a box, rounded outwards."""
    used, values = a.indices, a.data
    ends = values * lower[used], values * upper[used]
    out = _EPS * (len(used) + 4.0)
    low, high = (float(f(*ends).sum()) for f in (np.minimum, np.maximum))
    sizes = [float(np.abs(f(*ends)).sum()) for f in (np.minimum, np.maximum)]
    return low - out * sizes[0], high + out * sizes[1]


def _charge(problem: MISDP, numbers: StandardNumbers, size: Array) -> float:
    """Return the charge, rounded upwards; `size` (n,) is the largest absolute value of x_j."""
    n, r = numbers.factor.shape
    sign = 1.0 if problem.sense == "min" else -1.0
    unit = curvature_unit(problem)
    used = np.flatnonzero(np.diff(problem.Q.indptr) + np.abs(numbers.factor).any(axis=1))
    H = sign * problem.Q[used][:, used].toarray() / unit
    L = numbers.factor[used]
    E = H - L @ L.T
    error = _EPS * ((r + 4.0) * (np.abs(L) @ np.abs(L).T) + np.abs(H))
    # Diagonally dominant, the variables counted in their largest values.
    scale = np.where(np.isfinite(size) & (size > 0.0), size, 1.0)[used]
    diagonal = np.diagonal(E) - np.diagonal(error)
    ratios = scale / scale[:, None]
    beside = ((np.abs(E) + error) * ratios).sum(axis=1) - np.abs(np.diagonal(E))
    beside = beside - np.diagonal(error)
    mu = np.zeros(n)
    mu[used] = unit * (diagonal - beside * (1.0 + _EPS * (n + 8.0)))
    linear = sign * unit * (numbers.factor @ numbers.shift)
    terms = unit * (np.abs(numbers.factor) @ np.abs(numbers.shift))
    left = problem.c - numbers.costs
    size_of_left = np.where(left == 0.0, 0.0, np.abs(problem.c) + np.abs(numbers.costs))
    e = np.abs(left - linear) + _EPS * (r + 6.0) * (terms + size_of_left)
    with np.errstate(invalid="ignore", divide="ignore"):
        by_bounds = np.where(e > 0.0, e * size, 0.0) + np.where(mu < 0.0, -0.5 * mu * size**2, 0.0)
        by_curvature = np.where(
            mu > 0.0, 0.5 * e**2 / mu, np.where((mu == 0.0) & (e == 0.0), 0, np.inf)
        )
    rounding = 4.0 * _EPS * unit * (r + 4.0) * float(numbers.shift @ numbers.shift)
    charge = float(np.minimum(by_bounds, by_curvature).sum())
    return float(charge * (1.0 + 1e-9) + rounding)


def _numbers(arrays: Mapping[str, Array], name: str, shape: tuple[int, ...]) -> Array:
    if not shape[0]:
        return np.zeros(shape)
    array = np.asarray(arrays.get(name))
    if array.dtype.kind != "f" or array.shape != shape or np.isnan(array).any():
        raise Malformed(f"{name} is not an array of numbers of shape {shape}")
    return array
