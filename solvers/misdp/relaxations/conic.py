r"""A MISDP over a box, as conic solvers take it: minimise q'x with b - C x in a product of cones.

The rows are stacked in the order zero cone, nonnegative cone (rows, then bounds of variables),
second-order cones, semidefinite cones. Rotated cones are turned by the isometry
(u_0, u_1) -> (u_0 + u_1, u_0 - u_1) / sqrt(2); matrices are lower triangles column by column with
the entries beside the diagonal times sqrt(2), so that dot products are inner products.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import cached_property
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

from ..bounds import ConicMultipliers
from ..settings import CLEARLY, COMMON_RANGE, DENSE_ENTRIES, FIXED, WARM_FAR, WARM_LIFT
from .flat import (
    BOUNDS,
    CONES,
    MISSED,
    ROWS,
    WHOLE,
    ZERO,
    FlatProgram,
    FlatStack,
    cut_out,
    keep,
    resume,
)


@dataclass(frozen=True, eq=False)
class NodeProgram:
    """What a conic solver gets: min q'x, b - C x in K, over the free variables of a box.

    Attributes
    ----------
    flat : FlatProgram
        q (k,), C (N, k) and b (N,), and the lengths of the cones.
    free : int array of shape (k,)
        Columns of the problem.
    fixed : array of shape (n,)
        The values of the others.
    taken : int array
        Rows of the :class:`Stack` that are here, after whose nonnegative part come the bounds;
        those of the matrices only where `faces` is None.
    faces : dict of int to array, or None
        For blocks (by their index) whose matrices have a null space in common whatever the free
        variables are: an orthonormal basis U (s, r) of the rest. The program has U'M(x)U. None
        where these are lines that are zero, which are left out.
    idle : tuple of (rows, cones, blocks)
        Constraints that no free variable is in.
    constant : float
        Costs of the fixed variables.
    start : array, optional
        What :meth:`kept` returned for a box around this one: where to begin.
    """

    flat: FlatProgram
    free: Array
    fixed: Array
    taken: Array
    faces: dict[int, Array] | None
    idle: tuple[Array, tuple[int, ...], tuple[int, ...]]
    constant: float
    start: Array | None = None

    @property
    def q(self) -> Array:
        """The costs, (k,)."""
        return self.flat.q

    @property
    def b(self) -> Array:
        """The constants, (N,)."""
        return self.flat.b

    @cached_property
    def matrix(self) -> sp.csr_array:
        """C, (N, k)."""
        return self.flat.matrix()

    @property
    def zero(self) -> int:
        """Number of equations."""
        return int(self.flat.shape[ZERO])

    @property
    def nonnegative(self) -> int:
        """Number of inequalities, the bounds of variables at their end."""
        return int(self.flat.shape[ROWS])

    @property
    def bounds(self) -> int:
        """Number of bounds of variables."""
        return int(self.flat.shape[BOUNDS])

    @property
    def orders(self) -> tuple[int, ...]:
        """Lengths of the second-order cones."""
        return tuple(self.flat.sizes[: self.flat.shape[CONES]].tolist())

    @property
    def sizes(self) -> tuple[int, ...]:
        """Orders of the matrices."""
        return tuple(self.flat.sizes[self.flat.shape[CONES] :].tolist())

    def kept(self, state: Array, rows_of_stack: int) -> Array | None:
        """Return an iterate of :func:`interior_point` for boxes inside; None where it has no form.

        Parameters
        ----------
        state : array
        rows_of_stack : int
            Length of the :class:`Stack`.
        """
        if self.faces is not None:
            return None
        kept = np.full(5 * len(self.fixed) + 2 * rows_of_stack, np.nan, dtype=np.float32)
        keep(self.flat, self.free, self.taken, state, kept, rows_of_stack)
        return kept

    def first(self) -> tuple[Array, bool]:
        """Return the iterate to begin at, and whether it is that of a box around this one."""
        state = self.flat.start()
        if self.start is None or self.faces is not None:
            return state, False
        rows_of_stack = (len(self.start) - 5 * len(self.fixed)) // 2
        places = self.free, self.taken, self.start, rows_of_stack
        return state, bool(resume(self.flat, *places, WARM_LIFT, WARM_FAR, state))


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
        self._faces: dict[int, Array] = {}
        self._sizes = [block.size for block in problem.blocks]
        for k, block in enumerate(problem.blocks):
            scale = np.sqrt(triangle_weights(block.size))
            part = -sp.csr_array(sp.diags_array(scale) @ block.F)
            side = scale * block.F0
            U = facial_reduction(part, side, block.size) if part.nnz else None
            if U is not None:
                self._faces[k], self._sizes[k] = U, U.shape[1]
                part, side = onto_face(part, side, U)
            parts.append(part)
            sides.append(side)
        C: Any = sp.csc_array(sp.vstack(parts, format="csc"))
        if C.shape[0] * C.shape[1] <= DENSE_ENTRIES:
            C = C.toarray()
        self.stack = Stack(C, np.concatenate(sides), zero, low, high)
        orders = [cone.dimension for cone in problem.cones]
        lengths = [size * (size + 1) // 2 for size in self._sizes]
        self._cones_at = self.linear + np.cumsum([0, *orders])
        self._blocks_at = self._cones_at[-1] + np.cumsum([0, *lengths])
        self._flat = FlatStack.of(
            C, self.stack.b, len(zero), self.linear - len(zero), orders, self._sizes
        )
        weights = [np.sqrt(triangle_weights(block.size)) for block in problem.blocks]
        self._weights = np.concatenate([np.zeros(0), *weights])
        self._slacks = np.array([row.a.indices[0] for row in problem.indicators], dtype=np.int64)
        of_slack = sp.csc_array(A[:, self._slacks])
        self._slack_rows, self._slack_signs = of_slack.indices, of_slack.data

    def program(
        self,
        lower: Array,
        upper: Array,
        costs: Array | None = None,
        margin: float = 0.0,
        start: Array | None = None,
    ) -> NodeProgram:
        """Return the program over the box [lower, upper], (n,) each.

        Constraints that the fixed variables leave idle are taken out, and matrices are reduced to
        the range that they have in common.

        Parameters
        ----------
        costs : array of shape (n,), optional
            For a minimisation; default the problem's.
        margin : float, default 0
            What is asked of the eigenvalues of the matrices, relative to their size; what they may
            lack, where it is negative.
        start : array, optional
            What was kept of an iterate for a box around this one.
        """
        c = self.costs if costs is None else costs
        # A row whose slack has no end says nothing.
        endless = np.isinf(upper[self._slacks])
        if self._flat is not None and not endless.any():
            program = self._cut_out(self._flat, lower, upper, c, margin, start)
            if program is not None:
                return program
        size = np.maximum(1.0, np.minimum(np.abs(lower), np.abs(upper)))
        settled = (upper - lower <= FIXED * size) & np.isfinite(size)
        settled[self._slacks[endless]] = True
        fixed = np.where(settled, np.clip(0.0, lower, upper), 0.0)
        free = np.flatnonzero(~settled)
        C, b, used = self._of_free(free, fixed)
        endless_rows = self._slack_rows[endless]
        if len(endless_rows):
            rows = np.concatenate([self.stack.zero, self.stack.low, self.stack.high])
            used[: self.linear] &= ~np.isin(rows, endless_rows)
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
        orders = [len(span) for span in spans]
        sizes = [faces[k].shape[1] if k in faces else self._sizes[k] for k in blocks]
        flat = FlatProgram.of(
            sp.csr_array(sp.vstack(parts, format="csr")) if sp.issparse(C) else np.vstack(parts),
            np.concatenate([b[linear], sides, b[conic], *(part for _, part in matrices)]),
            c[free],
            (zero, len(linear) - zero + len(sides), len(sides), len(orders)),
            orders + sizes,
        )
        return NodeProgram(
            flat=flat,
            free=free,
            fixed=fixed,
            taken=np.concatenate([linear, conic]),
            faces=faces,
            idle=(np.setdiff1d(self._idle_rows(used), endless_rows), idle_cones, idle_blocks),
            constant=float(c @ fixed),
        )

    def _cut_out(
        self,
        stack: FlatStack,
        lower: Array,
        upper: Array,
        c: Array,
        margin: float,
        start: Array | None,
    ) -> NodeProgram | None:
        """Return the program by compiled loops; None where there are none, or a matrix needs U."""
        n, N, blocks = len(c), len(stack.b), len(stack.sizes)
        linear = self.linear
        free, fixed, taken = np.empty(n, np.int64), np.empty(n), np.empty(N, np.int64)
        used, cells = np.empty(linear + blocks, np.int64), len(stack.row_col) + 2 * n
        room = FlatProgram(
            np.empty(MISSED + 1, np.int64),
            np.empty(blocks, np.int64),
            np.empty(len(stack.row_ptr) + 2 * n, np.int64),
            np.empty(cells, np.int64),
            np.empty(cells),
            np.empty(n + 1, np.int64),
            np.empty(len(stack.col_row), np.int64),
            np.empty(len(stack.col_row)),
            np.empty(N + 2 * n),
            np.empty(n),
        )
        if not cut_out(stack, lower, upper, c, margin, fixed, free, used, taken, room):
            return None
        k, zero, nonnegative, bounds, cones, matrices, length, entries, cells, missed = (
            room.shape.tolist()
        )
        flat = FlatProgram(
            room.shape[: WHOLE + 1],
            room.sizes[: cones + matrices],
            room.row_ptr[: zero + nonnegative + int(room.sizes[:cones].sum()) + 1],
            room.row_col[:cells],
            room.row_val[:cells],
            room.col_ptr[: k + 1],
            room.col_row[:entries],
            room.col_val[:entries],
            room.b[:length],
            room.q[:k],
        )
        idle: tuple[Array, tuple[int, ...], tuple[int, ...]] = (np.zeros(0, np.int64), (), ())
        if missed:
            without = np.flatnonzero(used[linear:] == 0)
            orders = len(self.problem.cones)
            idle = (
                self._idle_rows(used != 0),
                tuple(without[without < orders].tolist()),
                tuple((without[without >= orders] - orders).tolist()),
            )
        taken = taken[: length - bounds]
        return NodeProgram(flat, free[:k], fixed, taken, None, idle, float(c @ fixed), start)

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
        part, constant, size = C[here], b[here], self._sizes[k]
        U = facial_reduction(part, constant, size)
        if U is not None:
            faces[k], size = U, U.shape[1]
            part, constant = onto_face(part, constant, U)
        if margin != 0.0:
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
        if len(self._slacks):
            # No more than is needed: slacks of dropped rows may be anything.
            problem, at = self.problem, self._slack_rows
            whole[self._slacks] = 0.0
            value = (problem.A @ whole)[at]
            over, under = value - problem.row_upper[at], problem.row_lower[at] - value
            missed = np.where(self._slack_signs < 0.0, over, under)
            whole[self._slacks] = np.maximum(missed, 0.0)
        return whole

    def multipliers(self, program: NodeProgram, dual: Array) -> ConicMultipliers:
        """Return a solver's dual, of the length of b, in the problem's own terms."""
        count = program.zero + program.nonnegative - program.bounds
        own = np.zeros(len(self.stack.b))
        own[program.taken[:count]] = dual[:count]
        behind = program.taken[count:]
        at = count + program.bounds
        own[behind] = dual[at : at + len(behind)]
        if program.faces is not None:
            self._from_faces(program, dual[at + len(behind) :], own)
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
        psd = own[self._blocks_at[0] :]
        if self._faces:
            spans = itertools.pairwise(self._blocks_at.tolist())
            parts = [
                from_face(own[begin:end], self._sizes[k], self._faces.get(k))
                for k, (begin, end) in enumerate(spans)
            ]
            psd = np.concatenate(parts)
        z = np.concatenate([np.zeros(0), *cones])
        return ConicMultipliers(y[None], z[None], (psd / self._weights)[None])

    def _from_faces(self, program: NodeProgram, dual: Array, own: Array) -> None:
        """Write the multipliers of matrices on their faces to `own`, in the order of the stack."""
        assert program.faces is not None
        at, sizes = 0, iter(program.sizes)
        for k, (begin, end) in enumerate(itertools.pairwise(self._blocks_at.tolist())):
            if k in program.idle[2]:
                continue
            size = next(sizes)
            length = size * (size + 1) // 2
            own[begin:end] = from_face(dual[at : at + length], size, program.faces.get(k))
            at += length


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
    whole = sp.csr_array(sp.hstack([program.matrix, sp.csr_array(column[:, None])], format="csr"))
    row = sp.csr_array(([-1.0], ([0], [k])), shape=(1, k + 1))
    extended = sp.csr_array(sp.vstack([whole[:at], row, whole[at:]], format="csr"))
    shape = program.flat.shape.tolist()
    flat = FlatProgram.of(
        extended,
        np.concatenate([program.b[:at], [0.0], program.b[at:]]),
        np.append(np.zeros(k), 1.0),
        (shape[ZERO], shape[ROWS] + 1, shape[BOUNDS] + 1, shape[CONES]),
        program.flat.sizes.tolist(),
    )
    return replace(program, flat=flat, constant=0.0, start=None)


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
