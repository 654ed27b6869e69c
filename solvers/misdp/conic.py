r"""A MISDP over a box, as conic solvers take it: minimise q'x with b - C x in a product of cones.

The rows are stacked in the order zero cone, nonnegative cone (rows, then bounds of variables),
second-order cones, semidefinite cones. Rotated cones are turned by the isometry
(u_0, u_1) -> (u_0 + u_1, u_0 - u_1) / sqrt(2); matrices are lower triangles column by column with
the entries beside the diagonal times sqrt(2), so that dot products are inner products.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg.lapack import dpotrf

from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import (
    pack_symmetric,
    triangle,
    triangle_weights,
    unpack_symmetric,
)
from sparseopt.problems.misdp.problem import MISDP

from .bounds import ConicMultipliers
from .settings import CLEARLY, COMMON_RANGE, DENSE_ENTRIES, FIXED

__all__ = [
    "ConicForm",
    "NodeProgram",
    "Stack",
    "facial_reduction",
    "from_face",
    "onto_face",
    "relaxed",
]


@dataclass(frozen=True, eq=False)
class NodeProgram:
    """What a conic solver gets: min q'x, b - C x in K, over the free variables of a box.

    Attributes
    ----------
    q : array of shape (k,)
    C : array or csr array of shape (N, k)
    b : array of shape (N,)
    zero, nonnegative : int
        Lengths of the first two cones.
    orders : tuple of int
        Lengths of the second-order cones.
    sizes : tuple of int
        Orders of the matrices.
    free : int array of shape (k,)
        Columns of the problem.
    fixed : array of shape (n,)
        The values of the others.
    taken : int array
        Rows of the :class:`Stack` that are here, after whose nonnegative part come the bounds.
    bounds : int
        How many bounds of variables.
    faces : dict of int to array
        For blocks (by their index) whose matrices have a null space in common whatever the free
        variables are: an orthonormal basis U (s, r) of the rest. The program has U'M(x)U.
    idle : tuple of (rows, cones, blocks)
        Constraints that no free variable is in.
    constant : float
        Costs of the fixed variables.
    """

    q: Array
    C: Any
    b: Array
    zero: int
    nonnegative: int
    orders: tuple[int, ...]
    sizes: tuple[int, ...]
    free: Array
    fixed: Array
    taken: Array
    bounds: int
    faces: dict[int, Array]
    idle: tuple[Array, tuple[int, ...], tuple[int, ...]]
    constant: float


@dataclass(frozen=True, eq=False)
class Stack:
    """The constraints of the problem without the bounds of variables, in the order above."""

    C: Any
    b: Array
    zero: Array
    """Rows of A that are equations."""
    low: Array
    """Rows of A with a lower side."""
    high: Array


class ConicForm:
    """A problem prepared to be solved over one box after another.

    Parameters
    ----------
    problem : MISDP
    """

    def __init__(self, problem: MISDP) -> None:
        self.problem = problem
        self.sign = 1.0 if problem.sense == "min" else -1.0
        self.costs = self.sign * problem.c
        equal = problem.row_lower == problem.row_upper
        zero = np.flatnonzero(equal)
        low = np.flatnonzero(np.isfinite(problem.row_lower) & ~equal)
        high = np.flatnonzero(np.isfinite(problem.row_upper) & ~equal)
        self.linear = len(zero) + len(low) + len(high)
        A = problem.A
        parts = [A[zero], -A[low], A[high]]
        sides = [problem.row_lower[zero], -problem.row_lower[low], problem.row_upper[high]]
        for cone in problem.cones:
            turn = _turn(cone.dimension) if cone.rotated else sp.eye_array(cone.dimension)
            parts.append(-sp.csr_array(turn @ cone.F))
            sides.append(np.asarray(turn @ cone.g))
        for block in problem.blocks:
            scale = np.sqrt(triangle_weights(block.size))
            parts.append(-sp.csr_array(sp.diags_array(scale) @ block.F))
            sides.append(scale * block.F0)
        C: Any = sp.csc_array(sp.vstack(parts, format="csc"))
        if C.shape[0] * C.shape[1] <= DENSE_ENTRIES:
            C = C.toarray()
        self.stack = Stack(C, np.concatenate(sides), zero, low, high)
        self._cones_at = self.linear + np.cumsum([0, *(c.dimension for c in problem.cones)])
        self._blocks_at = self._cones_at[-1] + np.cumsum(
            [0, *(b.dimension for b in problem.blocks)]
        )

    def program(
        self, lower: Array, upper: Array, costs: Array | None = None, margin: float = 0.0
    ) -> NodeProgram:
        """Return the program over the box [lower, upper], (n,) each.

        Constraints that the fixed variables leave idle are taken out, and matrices are reduced to
        the range that they have in common.

        Parameters
        ----------
        costs : array of shape (n,), optional
            For a minimisation; default the problem's.
        margin : float, default 0
            What is asked of the eigenvalues of the matrices, relative to their size.
        """
        c = self.costs if costs is None else costs
        size = np.maximum(1.0, np.minimum(np.abs(lower), np.abs(upper)))
        settled = (upper - lower <= FIXED * size) & np.isfinite(size)
        fixed = np.where(settled, np.clip(0.0, lower, upper), 0.0)
        free = np.flatnonzero(~settled)
        C, b, used = self._of_free(free, fixed)
        linear = np.flatnonzero(used[: self.linear])
        cones, idle_cones = self._in_use(self._cones_at, used)
        blocks, idle_blocks = self._in_use(self._blocks_at, used)
        spans = [np.arange(*self._cones_at[k : k + 2]) for k in cones]
        conic = np.concatenate([np.zeros(0, dtype=np.int64), *spans])
        sides, bounds = _bounds(lower[free], upper[free], sp.issparse(C))
        faces: dict[int, Array] = {}
        matrices = [self._matrix(k, C, b, margin, faces) for k in blocks]
        parts = [C[linear], bounds, C[conic], *(part for part, _ in matrices)]
        zero = int((linear < len(self.stack.zero)).sum())
        return NodeProgram(
            q=c[free],
            C=sp.csr_array(sp.vstack(parts, format="csr")) if sp.issparse(C) else np.vstack(parts),
            b=np.concatenate([b[linear], sides, b[conic], *(part for _, part in matrices)]),
            zero=zero,
            nonnegative=len(linear) - zero + len(sides),
            orders=tuple(len(span) for span in spans),
            sizes=tuple(
                faces[k].shape[1] if k in faces else self.problem.blocks[k].size for k in blocks
            ),
            free=free,
            fixed=fixed,
            taken=np.concatenate([linear, conic]),
            bounds=len(sides),
            faces=faces,
            idle=(self._idle_rows(used), idle_cones, idle_blocks),
            constant=float(c @ fixed),
        )

    def _of_free(self, free: Array, fixed: Array) -> tuple[Any, Array, Array]:
        """Return C over the free variables, b after the fixed ones, and which rows are in use."""
        stack = self.stack
        C = stack.C[:, free]
        if isinstance(C, np.ndarray):
            used = np.asarray(C.any(axis=1))
        else:
            C = sp.csr_array(C)
            used = np.diff(C.indptr) > 0
        return C, stack.b - stack.C @ fixed, used

    def _in_use(self, ends: Array, used: Array) -> tuple[list[int], tuple[int, ...]]:
        """Return which cones (or blocks) have a free variable, and which have none."""
        kept: list[int] = []
        idle: list[int] = []
        for k, (begin, end) in enumerate(itertools.pairwise(ends.tolist())):
            (kept if used[begin:end].any() else idle).append(k)
        return kept, tuple(idle)

    def _matrix(
        self, k: int, C: Any, b: Array, margin: float, faces: dict[int, Array]
    ) -> tuple[Any, Array]:
        """Return the rows of block k, on its face where it has one, which is noted."""
        here = slice(self._blocks_at[k], self._blocks_at[k + 1])
        part, constant, size = C[here], b[here], self.problem.blocks[k].size
        U = facial_reduction(part, constant, size)
        if U is not None:
            faces[k], size = U, U.shape[1]
            part, constant = onto_face(part, constant, U)
        if margin > 0.0:
            rows, columns = triangle(size)
            largest = max(1.0, float(np.abs(constant).max()))
            constant = constant - np.where(rows == columns, margin * largest, 0.0)
        return part, constant

    def _idle_rows(self, used: Array) -> Array:
        stack = self.stack
        rows = np.concatenate([stack.zero, stack.low, stack.high])
        return np.unique(rows[~used[: self.linear]])

    def missed(self, rows: Array, x: Array) -> bool:
        """Return whether the point x misses one of these rows."""
        problem = self.problem
        value = (problem.A @ x)[rows]
        return bool(
            (value < problem.row_lower[rows]).any() | (value > problem.row_upper[rows]).any()
        )

    def point(self, program: NodeProgram, x: Array) -> Array:
        """Return the point (n,) that the free variables x and the fixed ones make."""
        whole = program.fixed.copy()
        whole[program.free] = x
        return whole

    def multipliers(self, program: NodeProgram, dual: Array) -> ConicMultipliers:
        """Return a solver's dual, of the length of b, in the problem's own terms."""
        count = int((program.taken < self.linear).sum())
        own = np.zeros(self.stack.C.shape[0])
        own[program.taken[:count]] = dual[:count]
        behind = program.taken[count:]
        at = count + program.bounds
        own[behind] = dual[at : at + len(behind)]
        at += len(behind)
        sizes = iter(program.sizes)
        for k, (begin, end) in enumerate(itertools.pairwise(self._blocks_at.tolist())):
            if k in program.idle[2]:
                continue
            size = next(sizes)
            length = size * (size + 1) // 2
            own[begin:end] = from_face(dual[at : at + length], size, program.faces.get(k))
            at += length
        problem, stack = self.problem, self.stack
        y = np.zeros(problem.A.shape[0])
        zero, low = len(stack.zero), len(stack.low)
        y[stack.zero] = -own[:zero]
        y[stack.low] += own[zero : zero + low]
        y[stack.high] -= own[zero + low : self.linear]
        cones = [
            _turn(cone.dimension) @ own[begin:end] if cone.rotated else own[begin:end]
            for cone, begin, end in zip(
                problem.cones, self._cones_at[:-1], self._cones_at[1:], strict=True
            )
        ]
        psd = [
            own[begin : begin + block.dimension] / np.sqrt(triangle_weights(block.size))
            for block, begin in zip(problem.blocks, self._blocks_at[:-1], strict=True)
        ]
        empty = np.zeros(0)
        return ConicMultipliers(
            y[None], np.concatenate([empty, *cones])[None], np.concatenate([empty, *psd])[None]
        )


def _bounds(lower: Array, upper: Array, sparse: bool) -> tuple[Array, Any]:
    """Return sides and rows of the finite bounds: -x <= -lower, then x <= upper."""
    low, high = np.isfinite(lower), np.isfinite(upper)
    sides = np.concatenate([-lower[low], upper[high]])
    if sparse:
        eye = sp.eye_array(len(lower), format="csr")
        return sides, sp.csr_array(sp.vstack([-eye[low], eye[high]], format="csr"))
    dense = np.eye(len(lower))
    return sides, np.vstack([-dense[low], dense[high]])


def relaxed(program: NodeProgram) -> NodeProgram:
    """Return the program that minimises by how much its inequalities are missed.

    One more variable t >= 0, the last, is added to all of them, times the identity of each cone.
    Its optimum is attained and so are its multipliers; where t must be positive, they disprove the
    feasibility of the program itself.

    Parameters
    ----------
    program : NodeProgram

    Returns
    -------
    NodeProgram
        With k + 1 variables.
    """
    column = np.zeros(len(program.b))
    end = program.zero + program.nonnegative
    column[program.zero : end] = -1.0
    for order in program.orders:
        column[end] = -1.0
        end += order
    for size in program.sizes:
        rows, columns = triangle(size)
        column[end + np.flatnonzero(rows == columns)] = -1.0
        end += len(rows)
    k = len(program.q)
    # t >= 0 as one more row after the other linear ones.
    at = program.zero + program.nonnegative
    whole = sp.csr_array(
        sp.hstack([sp.csr_array(program.C), sp.csr_array(column[:, None])], format="csr")
    )
    row = sp.csr_array(([-1.0], ([0], [k])), shape=(1, k + 1))
    extended = sp.csr_array(sp.vstack([whole[:at], row, whole[at:]], format="csr"))
    return replace(
        program,
        q=np.append(np.zeros(k), 1.0),
        C=extended.toarray() if isinstance(program.C, np.ndarray) else extended,
        b=np.concatenate([program.b[:at], [0.0], program.b[at:]]),
        nonnegative=program.nonnegative + 1,
        bounds=program.bounds + 1,
        constant=0.0,
    )


def _turn(k: int) -> sp.csr_array:
    """Return the isometry that turns a rotated cone of length k plain; its own inverse."""
    half = np.sqrt(0.5)
    head = sp.csr_array(np.array([[half, half], [half, -half]]))
    return sp.csr_array(sp.block_diag([head, sp.eye_array(k - 2)], format="csr"))


def facial_reduction(C: Any, constant: Array, size: int) -> Array | None:
    """Return an orthonormal basis of the range that all matrices share; None where it is all.

    A null space in common would leave the relaxation without an interior.

    Parameters
    ----------
    C : array or csr array of shape (s (s + 1) / 2, k)
        Scaled packed entries of k matrices.
    constant : array of shape (s (s + 1) / 2,)
        Those of the constant matrix.
    size : int
        The order s.

    Returns
    -------
    array of shape (s, r), or None
    """
    packed = np.vstack([_dense(C).T, constant[None]]) / np.sqrt(triangle_weights(size))
    packed = packed[packed.any(axis=1)]
    norms = np.sqrt((packed**2) @ triangle_weights(size))
    packed = packed[norms > FIXED * norms.max(initial=0.0)]
    norms = norms[norms > FIXED * norms.max(initial=0.0)]
    stacked = unpack_symmetric(packed / norms[:, None], size).reshape(-1, size)
    gram = stacked.T @ stacked
    factor, info = dpotrf(gram, lower=1)
    if not info and np.diagonal(factor).min(initial=1.0) > CLEARLY * np.sqrt(len(norms)):
        return None
    values, vectors = np.linalg.eigh(gram)
    kept = values > COMMON_RANGE * values[-1]
    return None if kept.all() else vectors[:, kept]


def onto_face(C: Any, constant: Array, U: Array) -> tuple[Any, Array]:
    """Return the columns and the constant of U'M(x)U.

    Parameters
    ----------
    C : array or csr array of shape (s (s + 1) / 2, k)
    constant : array of shape (s (s + 1) / 2,)
    U : array of shape (s, r)
        Orthonormal columns.

    Returns
    -------
    columns : array or csr array of shape (r (r + 1) / 2, k)
    constant : array of shape (r (r + 1) / 2,)
    """
    size, rank = U.shape
    weights = np.sqrt(triangle_weights(size))
    stacked = unpack_symmetric(np.vstack([_dense(C).T, constant[None]]) / weights, size)
    packed = pack_symmetric(U.T @ stacked @ U) * np.sqrt(triangle_weights(rank))
    columns = packed[:-1].T
    return columns if isinstance(C, np.ndarray) else sp.csr_array(columns), packed[-1]


def _dense(C: Any) -> Array:
    return np.asarray(C if isinstance(C, np.ndarray) else C.toarray())


def from_face(dual: Array, size: int, U: Array | None) -> Array:
    """Return the scaled packed entries of U Z U'.

    Parameters
    ----------
    dual : array of shape (r (r + 1) / 2,)
        The scaled packed entries of Z.
    size : int
        The order r.
    U : array of shape (s, r), or None
        None for the identity.

    Returns
    -------
    array of shape (s (s + 1) / 2,)
    """
    if U is None:
        return dual
    Z = unpack_symmetric(dual / np.sqrt(triangle_weights(size)), size)
    return np.asarray(pack_symmetric(U @ Z @ U.T) * np.sqrt(triangle_weights(len(U))))
