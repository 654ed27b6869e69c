r"""The verifier of sparse principal components, from the data and without a matrix of size D x D.

The certificate "kernel-leaves" names a set K of variables, the kernel, in ``kernel``. The bound U
of the result is proven on the supports within K, and on those with m >= 1 variables outside:

1. For some sizes k, listed in ``sizes``, leaves (:mod:`sparseopt.checking.strs.leaves`) prove that
   no support of k variables of K exceeds ``bounds``; their arrays are named ``mu_k, in_ptr_k``, and
   so on. Without leaves :math:`u_k` is the sum of the k largest squares :math:`\|x_i\|^2` in K.
2. Let E be the variables outside K, and :math:`A = X'X`. Among m of them the largest eigenvalue is
   at most

   .. math:: q_m = \min\Bigl(\text{sum of the m largest } A_{jj},\;
             \max_{j \in E} A_{jj} + \text{sum of the } m - 1 \text{ largest }
             |A_{ji}|,\, i \in E\Bigr)

   (Gershgorin), and the entries between them and d - m variables of K are, as a matrix, at most
   :math:`c_m`, where :math:`c_m^2` is the sum over the m largest rows j of the d - m largest
   :math:`A_{ji}^2`, i in K. So no support with m variables outside K exceeds the larger eigenvalue
   of

   .. math:: \begin{pmatrix} u_{d-m} & c_m \\ c_m & q_m \end{pmatrix}.

The products within E are taken in single precision (:mod:`sparseopt.checking.component.products`).
Only those above ``threshold`` are kept, and all others count as if they were equal to it; pairs of
columns so short that no product can be above it are passed over. A certificate "anchor-leaves"
proves the bound otherwise (:mod:`sparseopt.checking.component.anchors`).
"""

from __future__ import annotations

import math

import numpy as np

from sparseopt.checking.cancelling import combination, square
from sparseopt.checking.component.anchors import KIND as ANCHORED
from sparseopt.checking.component.anchors import prove_by_anchors
from sparseopt.checking.component.products import PAIRS, largest_products, sums_of_largest
from sparseopt.checking.evidence import Malformed
from sparseopt.checking.report import Findings
from sparseopt.checking.strs.leaves import bound_tolerance, judge
from sparseopt.checking.strs.verifier import SphereVerifier
from sparseopt.checking.work import spend
from sparseopt.problems.base import Array
from sparseopt.problems.component.problem import SparseComponent
from sparseopt.problems.strs.problem import STRS
from sparseopt.result import Certificate, Result

_KIND = "kernel-leaves"
_KERNEL = 3000
"""Variables of a kernel beyond which its matrix is not formed."""
_BLOCK = 2048
"""Columns whose products with the kernel are formed at once."""
_SECOND, _PASSES = 2e-10, 100
"""Seconds of a multiplication, and what looking at a product takes of them."""
_UNIT = float(np.finfo(float).eps)
_MORE_WORDS = frozenset({"kernel", "threshold", "sizes", "bounds"})


class ComponentVerifier(SphereVerifier):
    """Judges sparse principal components."""

    def value(self, problem: SparseComponent, x: Array, *, precise: bool) -> tuple[float, float]:
        """Return the value in the direction of x, and a bound of its error; O(n d)."""
        S = np.flatnonzero(x)
        image = combination(problem.X[:, S], x[S], np.zeros(len(problem.X)), precise=precise)
        length, moved = square(*image)
        own = float(x[S] @ x[S])
        return length / own, (moved + (len(S) + 2.0) * _UNIT * length) / own

    def prove(self, problem: SparseComponent, result: Result, findings: Findings) -> None:
        """Prove the bound by the leaves of the kernel, and by norms outside of it."""
        certificate, bound = result.certificate, result.bound
        if bound is None or np.isposinf(bound):
            findings.doubt("there is no bound that a certificate could prove")
        elif certificate is None or certificate.kind not in (_KIND, ANCHORED):
            findings.doubt(
                f"there is no certificate {_KIND!r} or {ANCHORED!r} that could prove the bound"
            )
        else:
            prove = _prove if certificate.kind == _KIND else prove_by_anchors
            try:
                prove(problem, certificate, bound, findings)
            except Malformed as error:
                findings.refute(f"the certificate is malformed: {error}")
            for name in sorted(certificate.values):
                findings.leave_out(f"certificate value {name!r}")


verify = ComponentVerifier()


def _prove(
    problem: SparseComponent, certificate: Certificate, bound: float, findings: Findings
) -> None:
    kernel, threshold = _kernel(certificate, problem.variables)
    if len(kernel) > _KERNEL:
        findings.doubt(f"a kernel of {len(kernel)} variables is too large to check")
        return
    d = problem.d
    inside = np.zeros(problem.variables, dtype=bool)
    inside[kernel] = True
    X_in = problem.X[:, inside]
    upper = _upper(problem, X_in, certificate, findings)
    if findings.refuted or upper is None:
        return
    size = max(float(problem.squares.max()), abs(bound))
    tolerance = bound_tolerance(STRS(A=np.array([[size]]), d=1), bound)
    allowed = bound + tolerance
    # Leaves are shown with the tolerance already.
    if len(kernel) >= d and upper[d] > (bound if d in certificate.arrays["sizes"] else allowed):
        findings.refute(
            f"nothing proves the bound {bound:.12g} for {d} of the {len(kernel)} variables of the "
            f"kernel: {upper[d]:.12g} is proven"
        )
        return
    if not inside.all():
        mixed = mixed_bounds(X_in, problem.X[:, ~inside], d, upper, threshold)
        if mixed is None:
            findings.doubt(f"more than {PAIRS} products are above the threshold {threshold:.3g}")
            return
        m = int(np.argmax(mixed))
        if not mixed[m] <= allowed:
            findings.refute(
                f"supports with {m} of {d} variables outside the kernel may reach {mixed[m]:.12g}, "
                f"which is above the bound {bound:.12g}"
            )
            return
    findings.prove(
        f"no support of {d} among {problem.variables} variables exceeds {bound:.12g}: "
        f"{len(kernel)} variables by leaves, the others by norms of their products"
    )


def _kernel(certificate: Certificate, D: int) -> tuple[Array, float]:
    """Return the kernel and the threshold."""
    missing = _MORE_WORDS - set(certificate.arrays)
    if missing:
        raise Malformed(f"the certificate has no entry {sorted(missing)[0]}")
    kernel, threshold = (np.asarray(certificate.arrays[name]) for name in ("kernel", "threshold"))
    if kernel.dtype.kind not in "iu" or kernel.ndim != 1:
        raise Malformed("kernel is not a vector of integers")
    kernel = kernel.astype(np.int64)
    if len(kernel) and not (kernel[0] >= 0 and kernel[-1] < D and (np.diff(kernel) > 0).all()):
        raise Malformed(f"kernel is not increasing within 0..{D - 1}")
    if threshold.shape != (1,) or not float(threshold[0]) >= 0.0:
        raise Malformed("threshold is not one number >= 0")
    return kernel, float(threshold[0])


def _upper(
    problem: SparseComponent, X_in: Array, certificate: Certificate, findings: Findings
) -> Array | None:
    """Return bounds of the supports of 0, ..., d variables of the kernel; None after a doubt."""
    arrays, count = certificate.arrays, X_in.shape[1]
    upper = sums_of_largest(np.einsum("ij,ij->j", X_in, X_in), problem.d)
    sizes, bounds = np.asarray(arrays["sizes"]), np.asarray(arrays["bounds"], dtype=float)
    if sizes.dtype.kind not in "iu" or sizes.ndim != 1 or bounds.shape != sizes.shape:
        raise Malformed("sizes and bounds are not vectors of the same length")
    if not np.isfinite(bounds).all() or len(set(sizes.tolist())) < len(sizes):
        raise Malformed("a bound is not finite, or a size is there twice")
    if len(sizes) and not 1 <= int(sizes.min()) <= int(sizes.max()) <= min(problem.d, count):
        raise Malformed(f"sizes names others than 1 to {min(problem.d, count)}")
    if not len(sizes):
        return upper
    whole = STRS(A=X_in.T @ X_in, d=1)
    for k, bound in zip(sizes.tolist(), bounds.tolist(), strict=True):
        own = {
            name.removesuffix(f"_{k}"): array
            for name, array in arrays.items()
            if name.endswith(f"_{k}")
        }
        found = judge(whole.at(k), Certificate("leaves", own), bound)
        if found.word != "prove":
            found.write(findings, f"supports of {k} variables of the kernel: ")
            return None
        more = 0.0 if k == problem.d else bound_tolerance(whole, bound)
        upper[k] = min(upper[k], bound + more)
    return upper


def mixed_bounds(X_in: Array, X_out: Array, d: int, upper: Array, threshold: float) -> Array | None:
    """Bound the supports of d variables of which m are among the columns of X_out.

    Parameters
    ----------
    X_in, X_out : arrays of shapes (n, k) and (n, e)
    d : int
    upper : array of shape (d + 1,)
        Bounds of the supports of 0, ..., d columns of X_in.
    threshold : float
        Products within X_out up to this are taken for equal to it.

    Returns
    -------
    array of shape (d + 1,), or None
        Entry m for m outside; 0 where there are no such supports. None where too many products are
        above the threshold.
    """
    squares = np.einsum("ij,ij->j", X_out, X_out)
    listed = largest_products(X_out, squares, d, threshold)
    if listed is None:
        return None
    outside = np.concatenate([np.zeros((len(squares), 1)), np.cumsum(listed, axis=1)], axis=1)
    cross = _largest_between(X_in, X_out, d)
    trace = sums_of_largest(squares, d)
    bounds = np.zeros(d + 1)
    for m in range(max(1, d - X_in.shape[1]), min(d, X_out.shape[1]) + 1):
        u = float(upper[d - m])
        q = min(float(trace[m]), float((squares + outside[:, m - 1]).max()))
        c = float(np.sort(cross[:, d - m])[::-1][:m].sum())
        bounds[m] = (u + q) / 2.0 + math.sqrt(((u - q) / 2.0) ** 2 + c)
    return bounds


def _largest_between(X_in: Array, X_out: Array, d: int) -> Array:
    """Return the sums of the 0, ..., d - 1 largest squared products with X_in, shape (e, d)."""
    e, kept = X_out.shape[1], min(d - 1, X_in.shape[1])
    sums = np.zeros((e, d))
    for begin in range(0, e if kept else 0, _BLOCK):
        block = slice(begin, min(e, begin + _BLOCK))
        spend(_SECOND * (block.stop - begin) * X_in.shape[1] * (len(X_in) + _PASSES))
        squared = (X_out[:, block].T @ X_in) ** 2
        squared = np.partition(squared, squared.shape[1] - kept, axis=1)[:, -kept:]
        largest = np.sort(squared, axis=1)[:, ::-1]
        sums[block, 1 : kept + 1] = np.cumsum(largest, axis=1)
        sums[block, kept + 1 :] = sums[block, kept : kept + 1]
    return sums
