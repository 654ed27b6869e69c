r"""The verifier of fits to a mean embedding: the Frank-Wolfe gap, which needs no certificate.

The objective f is convex, so for every distribution b on the atoms

.. math:: f(b) \ge f(a) + \nabla f(a)'(b - a) \ge f(a) + \min_i \nabla_i f(a) - \nabla f(a)'a

at the answer a. With r = sum_i a_i p_i of the points p_i = phi_i - mu this is

.. math:: f(b) \ge 2 \min_i r'p_i - r'r .

Each product has an error bound of its own, so that atoms far away blur no others.
"""

from __future__ import annotations

import math

import numpy as np

from sparseopt.checking.cancelling import combination, square
from sparseopt.checking.report import Findings
from sparseopt.checking.tolerances import FEASIBILITY, OBJECTIVE, ROUNDED, SUM
from sparseopt.checking.verifiers import Evaluation
from sparseopt.problems.base import Array
from sparseopt.problems.private.embedding_fit import EmbeddingFit
from sparseopt.proofs.double_double import DoubleDouble
from sparseopt.result import Result, Status

_IMPOSSIBLE = frozenset({Status.INFEASIBLE, Status.UNBOUNDED, Status.INF_OR_UNB})
_EPSILON = float(np.finfo(float).eps)


class EmbeddingFitVerifier:
    """Judges results of fits to a mean embedding."""

    def __call__(self, problem: EmbeddingFit, result: Result, findings: Findings) -> None:
        """Prove the bound of a result; its point and numbers were compared before."""
        if result.status in _IMPOSSIBLE:
            findings.refute(
                f"the status is {result.status.value}, but a continuous function has a least value "
                "on the simplex"
            )
            return
        if result.x is None or result.bound is None:
            findings.doubt("there is no bound that could be proven")
            return
        if result.certificate is not None:
            findings.doubt("the proof is the answer itself: a certificate is not looked at")
        a = np.maximum(0.0, result.x)
        a = a / math.fsum(a)
        proven, margin, value = _gradient_bound(problem, a, precise=False)
        allowed = SUM * _reach(value, problem.nearest_term)
        if margin > allowed:
            proven, margin, value = _gradient_bound(problem, a, precise=True)
        scale = math.sqrt(problem.largest_term) + 2.0 * float(np.linalg.norm(problem.mu))
        unit = max(problem.largest_term, _EPSILON * scale * scale, np.finfo(float).tiny)
        findings.measure("bound", max(0.0, result.bound - proven) / unit)
        if result.bound - proven > FEASIBILITY * unit:
            findings.refute(
                f"the bound {result.bound:.17g} is stated, the gradient proves {proven:.17g}"
            )
        elif not result.bound - max(0.0, proven - margin) <= min(SUM * unit, allowed):
            findings.doubt(f"the gradient proves the bound {proven - margin:.17g} only")
        else:
            findings.prove(f"the gradient proves that no distribution is closer than {proven:.9g}")

    def evaluate(self, problem: EmbeddingFit, x: Array, lam: float | None) -> Evaluation:
        """Evaluate the distribution that x is proportional to.

        Parameters
        ----------
        problem : EmbeddingFit
        x : array of shape (n,)
        lam : ignored
        """
        residuals = problem.residuals(x)
        worst = max(residuals, key=lambda name: residuals[name])
        inside = np.maximum(0.0, x)
        total = math.fsum(inside) if np.isfinite(inside).all() else math.nan
        if not total > 0.0:
            total = 1.0
        nearest = problem.nearest_term
        value, rounding = _squared_distance(problem, inside, total, precise=False)
        if rounding > OBJECTIVE * _reach(value, nearest):
            value, rounding = _squared_distance(problem, inside, total, precise=True)
            # The square of the last digit of the data is nothing.
            digit = _EPSILON * float(np.abs(problem.Phi).max() + np.abs(problem.mu).max())
            rounding = rounding if rounding > digit * digit else 0.0
        return Evaluation(
            value=value,
            size=problem.largest_term,
            data_size=_reach(value, nearest),
            violation=residuals[worst] / FEASIBILITY,
            where=f"{worst} by {residuals[worst]:.3g}",
            residuals=residuals,
            rounding=rounding,
        )


verify = EmbeddingFitVerifier()


def _reach(value: float, nearest: float) -> float:
    """Return what the objective's errors are relative to.

    The nearest atom is as good as `nearest`, those far away may have no effect. Where data are off
    by a part t of its distance, the distance of the answer is off by as much, its square by t times
    2 sqrt(value nearest). Rounding leaves some 1e-15 of `nearest`.
    """
    off = max(2.0 * math.sqrt(value) * math.sqrt(nearest), ROUNDED * nearest)
    return max(value, min(off, nearest), float(np.finfo(float).tiny))


def _gradient_bound(
    problem: EmbeddingFit, a: Array, *, precise: bool
) -> tuple[float, float, float]:
    """Return the bound that the gradient at a proves, its rounding errors, and the objective."""
    support, columns = np.flatnonzero(a), problem.Phi.shape[1]
    points = problem.Phi - problem.mu
    lengths = np.sqrt(np.einsum("ij,ij->i", points, points))
    weighted = float(a @ lengths)
    if precise:
        r, errors = combination(problem.Phi[support].T, a[support], problem.mu, precise=True)
        # The weights sum up to 1 but for a rounding error each.
        moved = float(np.linalg.norm(errors)) + abs(math.fsum([*a[support], -1.0])) * weighted
    else:
        r = a[support] @ points[support]
        # Points and weights are off by a rounding error each, r by those of a sum of the support.
        moved = 2.0 * (len(support) + 4) * _EPSILON * weighted
    at, rest = points @ r, float(np.linalg.norm(r))
    value = rest * rest
    errors = lengths * (moved + 2.0 * (columns + 4) * _EPSILON * (rest + moved))
    margin = (2.0 * rest + moved) * moved + (columns + 4) * _EPSILON * value
    margin += 2.0 * float(at.min() - (at - errors).min())
    return max(0.0, 2.0 * float(at.min()) - value), margin, value


def _squared_distance(
    problem: EmbeddingFit, weights: Array, total: float, *, precise: bool
) -> tuple[float, float]:
    """Return the objective of weights over their total, and a bound of its rounding errors."""
    support = np.flatnonzero(weights)
    taken = weights[support]
    shares = DoubleDouble(taken) / total if precise else taken / total
    return square(*combination(problem.Phi[support].T, shares, problem.mu, precise=precise))
