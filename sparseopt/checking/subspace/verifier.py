r"""The verifier of subspaces: for robust ones a lower bound, by one eigendecomposition.

For all u_1, ..., u_N with norms of at most 1 and every projection P of rank k

.. math:: \sum_i \|(I - P) x_i\| \ge \sum_i u_i'(I - P) x_i
          \ge \sum_i u_i'x_i - \big(\text{the } k \text{ largest eigenvalues of }
          (X'U + U'X) / 2\big).

With an estimated centre the u_i add up to zero besides, so that the centre has no part in it. The
vectors are not stored; they are formed here from the answer and small matrices of the certificate,
and cut to length 1, so that whatever a certificate says, the bound holds.

- "inliers" (arrays inlier, cross, metric; middle with a centre). Points off the subspace have
  :math:`u_i = r_i / \|r_i\|` with their residual r_i. For the inliers, with coordinates
  :math:`z_i = W'x_i` (and a last coordinate 1 beside them with a centre),
  :math:`w_i = -\mathrm{cross}'z_i` less its part in the subspace, and
  :math:`u_i = w_i + \sqrt{1 - \|w_i\|^2}\, W v_i / \|v_i\|`,
  :math:`v_i = \mathrm{metric}\,(z_i - \mathrm{middle})`.
- "relaxation" (array complement; shift with a centre; value floor). With
  :math:`r_i = \mathrm{complement}\,(x_i - \mathrm{shift})`,
  :math:`u_i = r_i / \max(\|r_i\|, \mathrm{floor})`.

Source: Lerman, McCoy, Tropp, Zhang: Robust computation of linear models by convex relaxation
(2015), whose dual problem this is.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sparseopt.checking.report import Findings
from sparseopt.checking.subspace.gradients import gradient_of
from sparseopt.checking.tolerances import FEASIBILITY, ROUNDED, SUM
from sparseopt.checking.verifiers import Evaluation
from sparseopt.problems.base import Array, as_matrix, as_vector
from sparseopt.problems.subspace.base import SubspaceProblem
from sparseopt.problems.subspace.entrywise import L1Subspace, least_absolute
from sparseopt.problems.subspace.robust import RobustSubspace
from sparseopt.proofs.distances import Sizes
from sparseopt.result import Certificate, Result, Status

_IMPOSSIBLE = frozenset({Status.INFEASIBLE, Status.UNBOUNDED, Status.INF_OR_UNB})
_EPSILON = float(np.finfo(float).eps)

Directions = Callable[[slice, Array], Array]
"""Gives the u_i of a range of rows, from the rows and their points, as an array like these."""


class SubspaceVerifier:
    """Judges results of subspace problems: only robust ones have certificates."""

    def __call__(self, problem: SubspaceProblem, result: Result, findings: Findings) -> None:
        """Prove the bound of a result; its point and numbers were compared before."""
        certificate, bound = result.certificate, result.bound
        if result.status in _IMPOSSIBLE:
            findings.refute(
                f"the status is {result.status.value}, but there is a best subspace: they are a "
                "compact set, and the objective is continuous"
            )
        elif isinstance(problem, L1Subspace):
            _measure_regressions(problem, result, findings)
        elif not isinstance(problem, RobustSubspace):
            _measure_stationarity(problem, result, findings)
        elif bound is None or result.x is None:
            findings.doubt("there is no bound that a certificate could prove")
        elif certificate is None:
            findings.doubt("there is no certificate that could prove the bound")
        elif certificate.kind not in _DIRECTIONS:
            expected = " or ".join(map(repr, _DIRECTIONS))
            findings.doubt(f"a certificate {certificate.kind!r} proves nothing here, {expected} do")
        else:
            self._prove(problem, result.x, bound, certificate, findings)

    def evaluate(self, problem: SubspaceProblem, x: Array, lam: float | None) -> Evaluation:
        """Evaluate the subspace that the columns of x span.

        Parameters
        ----------
        problem : SubspaceProblem
        x : array, an answer of the problem
        lam : ignored
        """
        residuals = problem.residuals(x)
        worst = residuals["orthonormality"]
        ortho = np.array(x)
        if math.isfinite(worst):
            ortho[:, : problem.k] = np.linalg.qr(ortho[:, : problem.k])[0]
        value, size = problem.objective(ortho), problem.objective_scale(ortho)
        return Evaluation(
            value=value,
            size=size,
            data_size=max(abs(value), _rounded(problem) * size),
            violation=worst / FEASIBILITY if math.isfinite(worst) else math.inf,
            where=f"orthonormality by {worst:.3g}",
            residuals=residuals,
            rounding=_far_centre(problem, ortho),
        )

    def _prove(
        self,
        problem: RobustSubspace,
        x: Array,
        stated: float,
        certificate: Certificate,
        findings: Findings,
    ) -> None:
        directions = _DIRECTIONS[certificate.kind](problem, x, certificate)
        proven, margin = _lower_bound(problem, directions)
        unit = max(problem.spread, np.finfo(float).tiny)
        # A sum of distances is not negative, whatever the vectors prove.
        beyond = stated - max(0.0, proven)
        findings.measure("bound", max(0.0, beyond) / unit)
        if beyond > FEASIBILITY * unit:
            findings.refute(
                f"the bound {stated:.17g} is stated, the certificate proves {proven:.17g}"
            )
        elif not stated - max(0.0, proven - margin) <= SUM * max(
            abs(stated), _rounded(problem) * unit
        ):
            findings.doubt(f"the certificate proves the bound {proven - margin:.17g} only")
        else:
            findings.prove(
                "the sum of distances from any subspace is at least "
                f"{max(0.0, proven - margin):.9g}"
            )


def _far_centre(problem: SubspaceProblem, x: Array) -> float:
    """Return what a centre costs in digits that is far from all points, along the subspace.

    That of points and of a centre among them is in the tolerance.
    """
    if not isinstance(problem, RobustSubspace) or problem.centre is None:
        return 0.0
    far = float(np.linalg.norm((x[:, problem.k] - problem.origin) / problem.unit))
    total = len(problem.X) * far * problem.unit
    terms = problem.X.shape[1] + problem.k + 4
    return terms * _EPSILON * total if total > 2.0 * problem.spread else 0.0


def _rounded(problem: SubspaceProblem) -> float:
    """Return the part of the points' sizes that rounding errors of a value may make out, over SUM.

    The distance of a point from a subspace is the length of sums of n + k products.
    """
    return max(ROUNDED, float(problem.X.shape[1] + problem.k + 4) * _EPSILON / SUM)


verify = SubspaceVerifier()


def _measure_stationarity(problem: SubspaceProblem, result: Result, findings: Findings) -> None:
    """Measure the gradient along the manifold, relative to the objective's scale.

    It proves nothing of other subspaces, so that the verdict is never more than unproven.
    """
    if result.x is None:
        return
    W = np.linalg.qr(problem.basis(result.x))[0]
    gradient = gradient_of(problem, W)
    slope = float(np.linalg.norm(gradient - W @ (W.T @ gradient)))
    slope /= max(problem.objective_scale(W), np.finfo(float).tiny)
    findings.measure("stationarity", slope)
    findings.doubt(
        f"the slope along the subspaces is {slope:.3g} of the objective's scale; no proof is known "
        "that no other subspace is better"
    )


def _measure_regressions(problem: L1Subspace, result: Result, findings: Findings) -> None:
    """Measure what median regressions of the coordinates gain, relative to the objective's scale.

    The points' coordinates are those of the answer's value, the best ones for its subspace. Where
    neither half step gains, the point is stationary for each of them, not for both together.
    """
    if result.x is None:
        return
    x = np.array(result.x)
    x[:, : problem.k] = np.linalg.qr(problem.basis(x))[0]
    W, centre = problem.split(x)
    design = least_absolute(W, problem.X - centre)[0]
    value = float(np.abs(problem.X - centre - design @ W.T).sum())
    if problem.centre is not None:
        design = np.column_stack([design, np.ones(len(design))])
    A = least_absolute(design, problem.X.T)[0]
    gain = max(0.0, value - float(np.abs(problem.X - design @ A.T).sum()))
    gain /= max(problem.spread, np.finfo(float).tiny)
    findings.measure("stationarity", gain)
    findings.doubt(
        f"median regressions of the coordinates gain {gain:.3g} of the objective's scale; no proof "
        "is known that no other subspace is better"
    )


def _lower_bound(problem: RobustSubspace, directions: Directions) -> tuple[float, float]:
    """Return the bound that vectors prove, and how far rounding may have moved it.

    With a centre the mean of the vectors is taken off, and all are divided by the largest norm;
    what is left of their sum counts times the largest distance from the origin, since the best
    centre of the projected points lies among them.
    """
    n, k = problem.X.shape[1], problem.k
    mean, longest = np.zeros(n), 1.0
    if problem.centre is not None:
        N = len(problem.X)
        for rows, block in problem.blocks():
            mean += directions(rows, block).sum(axis=0) / N
        for rows, block in problem.blocks():
            norms = np.linalg.norm(directions(rows, block) - mean, axis=1)
            longest = max(longest, float(norms.max()))
    product, inner, left, sizes = np.zeros((n, n)), 0.0, np.zeros(n), Sizes()
    for rows, block in problem.blocks():
        U = (directions(rows, block) - mean) / longest
        U /= np.maximum(1.0, np.linalg.norm(U, axis=1) * (1.0 + 4.0 * n * _EPSILON))[:, None]
        product += block.T @ U
        inner += float(np.einsum("ij,ij->", block, U))
        left += U.sum(axis=0)
        sizes = sizes.with_block(block)
    largest = np.linalg.eigvalsh((product + product.T) / 2.0)[n - k :]
    margin = sizes.rounding(problem)
    if problem.centre is not None:
        margin += float(np.linalg.norm(left)) * sizes.farthest
    value = inner - float(largest.sum())
    return value * problem.unit, margin * problem.unit


def _rows(U: Array) -> Array:
    """Return the rows with norms above 1 shortened to 1."""
    return np.asarray(U / np.maximum(1.0, np.linalg.norm(U, axis=1))[:, None])


def _of_inliers(problem: RobustSubspace, x: Array, certificate: Certificate) -> Directions:
    """Form the vectors of a certificate "inliers"."""
    n, k, affine = problem.X.shape[1], problem.k, problem.centre is not None
    arrays = certificate.arrays
    inlier = np.asarray(arrays["inlier"], dtype=bool)
    cross, metric = as_matrix("cross", arrays["cross"]), as_matrix("metric", arrays["metric"])
    middle = as_vector("middle", arrays["middle"], k) if affine else np.zeros(k)
    if inlier.shape != (len(problem.X),) or metric.shape != (k, k):
        raise ValueError("the arrays inlier and metric do not have the problem's shape")
    if cross.shape != (k + affine, n):
        raise ValueError(f"cross has shape {cross.shape}; expected {(k + affine, n)}")
    W, shift = problem.basis_and_shift(x)

    def directions(rows: slice, block: Array) -> Array:
        inside = inlier[rows]
        points = block - shift
        Z = points @ W
        U = points - Z @ W.T
        U /= np.maximum(np.linalg.norm(U, axis=1), np.finfo(float).tiny)[:, None]
        z = Z[inside]
        lifted = np.hstack([z, np.ones((len(z), 1))]) if affine else z
        w = -lifted @ cross
        w = _rows(w - (w @ W) @ W.T)
        v = (z - middle) @ metric.T
        v /= np.maximum(np.linalg.norm(v, axis=1), np.finfo(float).tiny)[:, None]
        along = np.sqrt(np.maximum(0.0, 1.0 - np.einsum("ij,ij->i", w, w)))
        U[inside] = w + (along[:, None] * v) @ W.T
        return np.asarray(U)

    return directions


def _of_relaxation(problem: RobustSubspace, x: Array, certificate: Certificate) -> Directions:
    """Form the vectors of a certificate "relaxation"."""
    n, floor = problem.X.shape[1], float(certificate.values["floor"])
    complement = as_matrix("complement", certificate.arrays["complement"])
    shift = np.zeros(n)
    if problem.centre is not None:
        shift = as_vector("shift", certificate.arrays["shift"], n)
    if complement.shape != (n, n) or not floor > 0.0:
        raise ValueError(f"complement has shape {complement.shape}, floor is {floor}")

    def directions(rows: slice, block: Array) -> Array:
        R = (block - shift) @ complement.T
        return np.asarray(R / np.maximum(np.linalg.norm(R, axis=1), floor)[:, None])

    return directions


_DIRECTIONS: dict[str, Callable[[RobustSubspace, Array, Certificate], Directions]] = {
    "inliers": _of_inliers,
    "relaxation": _of_relaxation,
}
