"""Bounds of sparse components that locate each size of supports by the bound of the size before.

The certificate "anchor-leaves" lists sizes k, the last of them usually d, with a bound of all
supports of k columns each: ``sizes`` and ``bounds``. ``kernel_k`` must have all columns of supports
that could exceed the bound (:mod:`sparseopt.proofs.large_loadings` finds these anew, from the data
and the bound of k - 1 columns), and leaves ``mu_k, in_ptr_k``, and so on bound the supports within
it; where it has less than k columns there are none. For other k the bound is the sum of the k
largest squares, or what follows from k - 1 by averaging.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from sparseopt.checking.component.products import PAIRS, largest_products, sums_of_largest
from sparseopt.checking.evidence import Malformed
from sparseopt.checking.report import Findings
from sparseopt.checking.strs.leaves import bound_tolerance, judge
from sparseopt.checking.work import spend
from sparseopt.problems.base import Array
from sparseopt.problems.component.problem import SparseComponent
from sparseopt.problems.strs.problem import STRS
from sparseopt.proofs.large_loadings import Loadings, TooMany
from sparseopt.result import Certificate

KIND = "anchor-leaves"
_CANDIDATES = 3000
"""Columns beyond which their matrix is not formed."""


def prove_by_anchors(
    problem: SparseComponent, certificate: Certificate, bound: float, findings: Findings
) -> None:
    """Prove a bound by those of smaller supports, one after the other.

    Parameters
    ----------
    problem : SparseComponent
    certificate : Certificate
        Of the kind "anchor-leaves".
    bound : float
        In the problem's units.
    findings : Findings
        Gets what was found.

    Raises
    ------
    Malformed
    """
    d, arrays = problem.d, certificate.arrays
    stated, threshold = _stated(arrays, d)
    # A power of two keeps squares of squares in range, and rounds nothing.
    largest = float(problem.squares.max())
    scale = 2.0 ** round(math.log2(largest) / 2.0) if largest > 0.0 else 1.0
    unit, X = scale * scale, problem.X / scale
    squares = np.einsum("ij,ij->j", X, X)
    listed = largest_products(X, squares, d, threshold / unit)
    if listed is None:
        findings.doubt(f"more than {PAIRS} products are above the threshold {threshold:.3g}")
        return
    margin = 8.0 * d * (len(X) + 4) * 2.0**-53
    loadings = Loadings(X, squares, listed, margin, _CANDIDATES, spend)
    upper = sums_of_largest(squares, d)
    for k in range(2, d + 1):
        u = max(float(upper[k - 1]), float(upper[1]))
        upper[k] = min(upper[k], loadings.averaged(k, u))
        if k in stated:
            claim = _claim(problem, stated[k]) / unit
            if not _proven(problem, arrays, loadings, k, u, claim, stated[k], findings):
                return
            upper[k] = min(upper[k], claim)
    if unit * upper[d] > _claim(problem, bound):
        findings.refute(
            f"nothing proves the bound {bound:.12g}: {unit * upper[d]:.12g} is proven for {d} of "
            f"{problem.variables} variables"
        )
        return
    findings.prove(
        f"no support of {d} among {problem.variables} variables exceeds {bound:.12g}: bounds of "
        f"{len(stated)} sizes locate the supports of the next ones, and leaves bound them"
    )


def _stated(arrays: Mapping[str, Array], d: int) -> tuple[dict[int, float], float]:
    """Return the bounds of the certificate by size, and its threshold."""
    missing = {"threshold", "sizes", "bounds"} - set(arrays)
    if missing:
        raise Malformed(f"the certificate has no entry {sorted(missing)[0]}")
    sizes, bounds = np.asarray(arrays["sizes"]), np.asarray(arrays["bounds"], dtype=float)
    threshold = np.asarray(arrays["threshold"], dtype=float)
    if sizes.dtype.kind not in "iu" or sizes.ndim != 1 or bounds.shape != sizes.shape:
        raise Malformed("sizes and bounds are not vectors of the same length")
    if not np.isfinite(bounds).all() or len(set(sizes.tolist())) < len(sizes):
        raise Malformed("a bound is not finite, or a size is there twice")
    if len(sizes) and not 2 <= int(sizes.min()) <= int(sizes.max()) <= d:
        raise Malformed(f"sizes names others than 2 to {d}")
    if threshold.shape != (1,) or not 0.0 <= float(threshold[0]) < math.inf:
        raise Malformed("threshold is not one number >= 0")
    return dict(zip(sizes.tolist(), bounds.tolist(), strict=True)), float(threshold[0])


def _claim(problem: SparseComponent, bound: float) -> float:
    """Return a bound with the tolerance that leaves are given."""
    size = max(float(problem.squares.max()), abs(bound))
    return bound + bound_tolerance(STRS(A=np.array([[size]]), d=1), bound)


def _proven(
    problem: SparseComponent,
    arrays: Mapping[str, Array],
    loadings: Loadings,
    k: int,
    u: float,
    claim: float,
    bound: float,
    findings: Findings,
) -> bool:
    """Return whether no support of k columns exceeds a claim; else say why.

    Parameters
    ----------
    u, claim : float
        In the units of the loadings: the bound of k - 1 columns, and that of k with its tolerance.
    bound : float
        What the leaves prove, in the problem's units.
    """
    kernel = _kernel(arrays, k, problem.variables)
    if len(kernel) > _CANDIDATES:
        findings.doubt(f"a kernel of {len(kernel)} variables is too large to check")
        return False
    try:
        candidates = loadings.candidates(k, u, claim)
    except TooMany as error:
        findings.doubt(f"supports of {k} variables: {error}")
        return False
    others = np.setdiff1d(candidates, kernel)
    if len(others):
        findings.refute(
            f"supports of {k} variables with variable {int(others[0])}, which is not in their "
            f"kernel, may exceed {bound:.12g}"
        )
        return False
    if len(kernel) < k:
        return True
    own = {
        name.removesuffix(f"_{k}"): array
        for name, array in arrays.items()
        if name.endswith(f"_{k}") and name != f"kernel_{k}"
    }
    Z = problem.X[:, kernel]
    found = judge(STRS(A=Z.T @ Z, d=k), Certificate("leaves", own), bound)
    if found.word != "prove":
        found.write(findings, f"supports of {k} variables of the kernel: ")
    return found.word == "prove"


def _kernel(arrays: Mapping[str, Array], k: int, D: int) -> Array:
    """Return the kernel of a size."""
    if f"kernel_{k}" not in arrays:
        raise Malformed(f"the certificate has no entry kernel_{k}")
    kernel = np.asarray(arrays[f"kernel_{k}"])
    if kernel.dtype.kind not in "iu" or kernel.ndim != 1:
        raise Malformed(f"kernel_{k} is not a vector of integers")
    kernel = kernel.astype(np.int64)
    if len(kernel) and not (kernel[0] >= 0 and kernel[-1] < D and (np.diff(kernel) > 0).all()):
        raise Malformed(f"kernel_{k} is not increasing within 0..{D - 1}")
    return kernel
