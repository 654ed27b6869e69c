"""The verifier of variable selection for kernel two-sample tests.

Point, objective and gap are checked as for every problem on the unit sphere. Where the problem is a
sparse trust-region subproblem (linear kernel, or quadratic without the variance) its own verifier
reads the certificate "leaves" against the matrices built here anew. A bound for the Gaussian kernel
is proven where all supports can be looked through (:mod:`sparseopt.checking.twosample.gaussian`).
Otherwise nothing proves a global maximum; measured is how far the point is from a stationary one on
its support,

    stationarity = |grad - (z'grad) z| / |grad|      (both restricted to the support of z).
"""

from __future__ import annotations

import math

import numpy as np

from sparseopt.checking.report import Findings
from sparseopt.checking.strs.verifier import SphereVerifier, verify_size
from sparseopt.checking.tolerances import ROUNDED, SUM, SUMMATION
from sparseopt.checking.twosample.gaussian import verify_by_simplices
from sparseopt.problems.base import Array
from sparseopt.problems.strs.problem import STRS
from sparseopt.problems.twosample.kernel_selection import KernelSelection
from sparseopt.result import Result, Verdict

_MEAN = 2.0 * SUMMATION
"""Error of the sum of four means of values of the kernel, relative to the largest of these."""
_SQUARES = 8.0
"""A variance is at most this many squares of such sums."""
_LEAST = 4.0 * ROUNDED
"""What errors are relative to where an optimum is smaller, in units of the kernel's values."""
_UNIT = float(np.finfo(float).eps) / 2.0


class KernelSelectionVerifier(SphereVerifier):
    """Judges selections of variables."""

    def value(self, problem: KernelSelection, x: Array, *, precise: bool) -> tuple[float, float]:
        """Return the value in the direction of x, and a bound of its error.

        The last digits of the kernel's values count as nothing, but what the weight of the variance
        makes of them counts. A variance is a mean of squares, each off by its root and such digits.
        """
        z = x / float(np.linalg.norm(x))
        mmd, variance = problem.statistics(z)
        off = _MEAN * problem.samples.largest(z)
        moved = 2.0 * math.sqrt(_SQUARES * max(variance, 0.0)) * off + _SQUARES * off * off
        return mmd - problem.lam * variance, problem.lam * moved

    def least(self, problem: KernelSelection, z: Array) -> float:
        """Return the size of the kernel's values, without the weight of the variance."""
        return _LEAST * problem.samples.largest(z)

    def prove(self, problem: KernelSelection, result: Result, findings: Findings) -> None:
        """Prove the bound where there is a certificate; else measure stationarity."""
        if result.x is not None and not findings.refuted:
            x = np.asarray(result.x, dtype=float)
            findings.measure("stationarity", _stationarity(problem, x))
        equivalent, bound = problem.as_strs(), result.bound
        if equivalent is None and problem.kernel == "gaussian" and bound is not None:
            if not np.isfinite(bound) or findings.refuted:
                findings.doubt("there is no bound that could be proven")
                return
            unit = problem.objective_scale(np.zeros(problem.x.shape[1]))
            verify_by_simplices(problem, bound, unit, findings)
            return
        if equivalent is None:
            name = getattr(problem.kernel, "name", problem.kernel)
            findings.doubt(
                f"for the kernel {name} nothing proves a global maximum; the value was recomputed, "
                "and stationarity on the support measured"
            )
            return
        if bound is None or not np.isfinite(bound):
            verify_size(equivalent, result, findings)
            return
        verify_size(equivalent, result.with_changes(bound=bound + SUM * _LEAST), findings)
        if not findings.refuted and not _known(problem, equivalent, bound, result):
            findings.doubt("the bound rests on digits of the variance that are not known")


verify = KernelSelectionVerifier()


def _known(problem: KernelSelection, equivalent: STRS, bound: float, result: Result) -> bool:
    r"""Return whether a bound is proven whatever rounding did to the variance.

    With C the roots of the variance, off by entries of at most e, and any t in (0, 1)

    .. math:: \|Cz\|^2 \ge (1 - t) \|\tilde C z\|^2 - (1/t - 1) \|(C - \tilde C) z\|^2,

    and the products of columns are rounded by no more than a part of :math:`d V_{ss}` in the
    direction s. Where all this is more than 1e-9 of the optimum, a wider problem is proven.
    """
    diagonal, n = np.diagonal(equivalent.A), len(problem.x) + len(problem.y)
    alone = float((diagonal + np.abs(equivalent.linear)).max())
    unit, weight = max(alone, abs(bound), _LEAST), _SQUARES * problem.d * problem.lam
    t = min(0.5, _MEAN * math.sqrt(weight / unit))
    products = -problem.d * (n + 4.0) * _UNIT * diagonal
    if 2.0 * t * unit + float(products.max()) <= SUM * unit:
        return True
    more = products + (weight * _MEAN**2 / t if t > 0.0 else 0.0)
    wider = equivalent.with_changes(A=(1.0 - t) * equivalent.A + np.diag(more))
    findings = Findings()
    verify_size(wider, result.with_changes(bound=bound + SUM * unit), findings)
    return findings.report().verdict is Verdict.VERIFIED


def _stationarity(problem: KernelSelection, z: Array) -> float:
    support = np.flatnonzero(z)
    slope, on = problem.gradient(z)[support], z[support]
    size = float(np.linalg.norm(slope))
    return float(np.linalg.norm(slope - (slope @ on) * on)) / size if size > 0.0 else 0.0
