"""A bound of a selection by the Gaussian kernel: all supports, where few, cut into simplices.

No certificate is needed. From the simplex of each support's squared weights on, those are cut in
two whose bound (:mod:`sparseopt.proofs.gaussian_selection`) is above the one stated; where none is
left it is proven, and a point above it refutes it.
"""

from __future__ import annotations

import math

from sparseopt.checking.report import Findings
from sparseopt.problems.twosample.kernel_selection import KernelSelection
from sparseopt.proofs.gaussian_selection import SelectionBounds, bisected, corners

_MOST = 400_000_000
"""Exponentials altogether: some seconds."""
_EXCEEDED = 1e-9
"""A point whose value exceeds a bound by this part of the terms refutes it."""


def verify_by_simplices(
    problem: KernelSelection, bound: float, unit: float, findings: Findings
) -> None:
    """Prove or refute a bound.

    Parameters
    ----------
    problem : KernelSelection
        With the Gaussian kernel.
    bound : float
    unit : float
        Size of what is added up.
    findings : Findings
    """
    D, d = problem.x.shape[1], problem.d
    bounds, simplices, unsure = SelectionBounds(problem), 0, False
    if math.comb(D, d) * (d + 1) * bounds.pairs > _MOST:
        findings.doubt(f"the {math.comb(D, d)} supports of {d} variables are too many for a proof")
        return
    for support, open_ in corners(D, d):
        while len(open_):
            if bounds.spent > _MOST:
                findings.doubt(f"the bound {bound:.12g} takes more work than a proof may take here")
                return
            upper, value = bounds(support, open_)
            simplices += len(open_)
            best = float(value.max())
            if best > bound + _EXCEEDED * unit:
                findings.refute(
                    f"the bound {bound:.12g} is false: on the support {support.tolist()} there is "
                    f"a point of value {best:.12g}"
                )
                return
            open_ = open_[~(upper <= bound)]  # open, too, where a bound is not a number
            if len(open_) and d == 1:
                unsure, open_ = True, open_[:0]
            open_ = bisected(open_) if len(open_) else open_
    if unsure:
        findings.doubt(f"a variable alone may exceed {bound:.12g} by rounding")
    else:
        findings.prove(f"none of {simplices} simplices of weights exceeds {bound:.12g}")
