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

The products within E are taken in single precision, block by block; an entry of theirs is off by at
most (n + 4) 2^-24 times the lengths of its two columns (Higham 2002, section 3.1; two more for the
rounding of the columns, and two to spare). Only those above ``threshold`` are kept, and all
others count as if they were equal to it; pairs of columns so short that no product can be above it
are passed over.
"""

from __future__ import annotations

import math

import numpy as np

from sparseopt.checking.evidence import Malformed
from sparseopt.checking.report import Findings
from sparseopt.checking.strs.leaves import bound_tolerance, judge
from sparseopt.checking.strs.verifier import SphereVerifier
from sparseopt.problems.base import Array
from sparseopt.problems.component.problem import SparseComponent
from sparseopt.problems.strs.problem import STRS
from sparseopt.result import Certificate, Result

_KIND = "kernel-leaves"
_KERNEL = 3000
"""Variables of a kernel beyond which its matrix is not formed."""
_PAIRS = 40_000_000
"""Products above the threshold beyond which the certificate is not read."""
_BLOCK = 2048
"""Columns of a block: 16 MB for the products of two of them."""
_MORE_WORDS = frozenset({"kernel", "threshold", "sizes", "bounds"})


class ComponentVerifier(SphereVerifier):
    """Judges sparse principal components."""

    def prove(self, problem: SparseComponent, result: Result, findings: Findings) -> None:
        """Prove the bound by the leaves of the kernel, and by norms outside of it."""
        certificate, bound = result.certificate, result.bound
        if bound is None or np.isposinf(bound):
            findings.doubt("there is no bound that a certificate could prove")
        elif certificate is None or certificate.kind != _KIND:
            findings.doubt(f"there is no certificate {_KIND!r} that could prove the bound")
        else:
            try:
                _prove(problem, certificate, bound, findings)
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
            findings.doubt(f"more than {_PAIRS} products are above the threshold {threshold:.3g}")
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
    upper = _sums(np.einsum("ij,ij->j", X_in, X_in), problem.d)
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


def _sums(values: Array, d: int) -> Array:
    """Return the sums of the 0, ..., d largest of nonnegative values; of all where there are fewer.

    Parameters
    ----------
    values : array of shape (D,)
    d : int
    """
    largest = np.zeros(d)
    top = np.sort(values)[::-1][:d]
    largest[: len(top)] = top
    return np.concatenate([[0.0], np.cumsum(largest)])


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
    outside = _largest_among(X_out, squares, d, threshold)
    if outside is None:
        return None
    cross = _largest_between(X_in, X_out, d)
    trace = _sums(squares, d)
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
        squared = (X_out[:, block].T @ X_in) ** 2
        squared = np.partition(squared, squared.shape[1] - kept, axis=1)[:, -kept:]
        largest = np.sort(squared, axis=1)[:, ::-1]
        sums[block, 1 : kept + 1] = np.cumsum(largest, axis=1)
        sums[block, kept + 1 :] = sums[block, kept : kept + 1]
    return sums


def _largest_among(X: Array, squares: Array, d: int, threshold: float) -> Array | None:
    """Return bounds of the sums of the 0, ..., d - 1 largest absolute products of each column.

    Parameters
    ----------
    X : array of shape (n, e)
    squares : array of shape (e,)
    d : int
    threshold : float

    Returns
    -------
    array of shape (e, d), or None
        None where more than 40 million products are above the threshold.
    """
    n, e = X.shape
    largest = float(squares.max())
    if d == 1 or largest == 0.0:
        return np.zeros((e, d))
    order = np.argsort(-squares, kind="stable")
    # Lengths of about 1, divided by a power of two: single precision has a small range.
    scale = 2.0 ** round(math.log2(largest) / 2.0)
    length, at = np.sqrt(squares[order]) / scale, threshold / scale**2
    Z = np.ascontiguousarray((X[:, order] / scale).T.astype(np.float32))
    # What underflows adds less than the second term.
    off = (n + 4) * 2.0**-24 / (1.0 - (n + 4) * 2.0**-24) * float(length[0]) ** 2 + 1e-30
    if not (n + 4) * 2.0**-24 < 0.5:
        return None
    rows, values, count = [], [], 0
    for i in range(0, e, _BLOCK):
        for j in range(i, e, _BLOCK):
            if length[i] * length[j] <= at:
                break
            G = np.abs(Z[i : i + _BLOCK] @ Z[j : j + _BLOCK].T).ravel()
            where = np.flatnonzero(at < G)
            row, column = np.divmod(where, min(_BLOCK, e - j))
            if i == j:
                where, row, column = (a[row != column] for a in (where, row, column))
            else:
                rows.append(column + j)
                values.append(G[where])
            rows.append(row + i)
            values.append(G[where])
            count += 2 * len(where)
            if count > _PAIRS:
                return None
    listed = np.full((e, d - 1), min(at, float(length[0]) ** 2))
    if count:
        row, value = np.concatenate(rows), np.concatenate(values)
        sequence = np.lexsort((-value, row))
        row, value = row[sequence], value[sequence].astype(float)
        rank = np.arange(len(row)) - np.searchsorted(row, row)
        first = rank < d - 1
        listed[row[first], rank[first]] = value[first]
    sums = np.zeros((e, d))
    sums[order, 1:] = np.cumsum(listed + off, axis=1) * scale**2
    return sums
