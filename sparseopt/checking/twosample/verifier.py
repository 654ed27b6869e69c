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

import numpy as np

from sparseopt.checking.report import Findings
from sparseopt.checking.strs.verifier import SphereVerifier, verify_size
from sparseopt.checking.twosample.gaussian import verify_by_simplices
from sparseopt.problems.base import Array
from sparseopt.problems.twosample.kernel_selection import KernelSelection
from sparseopt.result import Result


class KernelSelectionVerifier(SphereVerifier):
    """Judges selections of variables."""

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
        verify_size(equivalent, result, findings)


verify = KernelSelectionVerifier()


def _stationarity(problem: KernelSelection, z: Array) -> float:
    support = np.flatnonzero(z)
    slope, on = problem.gradient(z)[support], z[support]
    size = float(np.linalg.norm(slope))
    return float(np.linalg.norm(slope - (slope @ on) * on)) / size if size > 0.0 else 0.0
