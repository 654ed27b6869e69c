r"""The verifier of fits to a mean embedding: the Frank-Wolfe gap, which needs no certificate.

The objective f is convex, so for every distribution b on the atoms

.. math:: f(b) \ge f(a) + \nabla f(a)'(b - a) \ge f(a) + \min_i \nabla_i f(a) - \nabla f(a)'a

at the answer a: with residual r = Phi'a - mu, the gap is :math:`2 (r'\Phi'a - \min_i r'\phi_i)`.
"""

from __future__ import annotations

import math

import numpy as np

from sparseopt.checking.report import Findings
from sparseopt.checking.tolerances import FEASIBILITY, SUM
from sparseopt.checking.verifiers import Evaluation
from sparseopt.problems.base import Array
from sparseopt.problems.private.embedding_fit import EmbeddingFit
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
        rows, columns = problem.Phi.shape
        points = problem.Phi - problem.mu
        r = points.T @ a
        at = points @ r
        value = float(r @ r)
        gap = 2.0 * float(a @ (at - at.min()))
        # Each point is off by `moved` at most; the products are sums of `rows` and `columns` terms.
        longest = float(np.max(np.linalg.norm(points, axis=1)))
        scale = longest + 2.0 * float(np.linalg.norm(problem.mu))
        moved, rest = _EPSILON * scale, float(np.linalg.norm(r))
        margin = 8.0 * (rows + columns) * (_EPSILON * longest * rest + moved * (longest + moved))
        proven = max(0.0, value - gap)
        unit = max(problem.largest_term, _EPSILON * scale * scale, np.finfo(float).tiny)
        findings.measure("bound", max(0.0, result.bound - proven) / unit)
        if result.bound - proven > FEASIBILITY * unit:
            findings.refute(
                f"the bound {result.bound:.17g} is stated, the gradient proves {proven:.17g}"
            )
        elif not result.bound - (proven - margin) <= SUM * unit:
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
        return Evaluation(
            value=problem.objective(inside / total if total > 0.0 else x),
            size=problem.largest_term,
            violation=residuals[worst] / FEASIBILITY,
            where=f"{worst} by {residuals[worst]:.3g}",
            residuals=residuals,
        )


verify = EmbeddingFitVerifier()
