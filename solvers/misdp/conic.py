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

from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import (
    triangle,
    triangle_weights,
)
from sparseopt.problems.misdp.problem import MISDP

from .bounds import Multipliers
from .faces import common_range, compressed, expanded

__all__ = ["ConicForm", "NodeProgram", "Stack", "relaxed"]

_SETTLED = 1e-11
"""A variable whose bounds are this close, relative to their size, is fixed."""
_DENSE = 4_000_000
"""Constraints with up to this many entries are held as a dense matrix."""


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
        if C.shape[0] * C.shape[1] <= _DENSE:
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
        settled = (upper - lower <= _SETTLED * size) & np.isfinite(size)
        fixed = np.where(settled, np.clip(0.0, lower, upper), 0.0)
        free = np.flatnonzero(~settled)
        stack = self.stack
        b = stack.b - stack.C @ fixed
        C = stack.C[:, free]
        if not isinstance(C, np.ndarray):
            C = sp.csr_array(C)
            used = np.diff(C.indptr) > 0
        else:
            used = np.asarray(C.any(axis=1))
        taken = [np.flatnonzero(used[: self.linear])]
        zero = int((taken[0] < len(stack.zero)).sum())
        orders = []
        idle_cones, idle_blocks = [], []
        for k, (begin, end) in enumerate(itertools.pairwise(self._cones_at.tolist())):
            if used[begin:end].any():
                taken.append(np.arange(begin, end))
                orders.append(end - begin)
            else:
                idle_cones.append(k)
        sizes = []
        faces: dict[int, Array] = {}
        matrices: list[tuple[Any, Array]] = []
        for k, (begin, end) in enumerate(itertools.pairwise(self._blocks_at.tolist())):
            if not used[begin:end].any():
                idle_blocks.append(k)
                continue
            part, constant = C[begin:end], b[begin:end]
            size = self.problem.blocks[k].size
            U = common_range(part, constant, size)
            if U is not None:
                faces[k] = U
                size = U.shape[1]
                part, constant = compressed(part, constant, U)
            if margin > 0.0:
                rows, columns = triangle(size)
                largest = max(1.0, float(np.abs(constant).max()))
                constant = constant - np.where(rows == columns, margin * largest, 0.0)
            matrices.append((part, constant))
            sizes.append(size)
        rows_taken = np.concatenate(taken)
        low, high = np.isfinite(lower[free]), np.isfinite(upper[free])
        eye = sp.eye_array(len(free), format="csr") if sp.issparse(C) else np.eye(len(free))
        count = len(taken[0])
        sides = np.concatenate([-lower[free][low], upper[free][high]])
        parts = [C[taken[0]], -eye[low], eye[high], C[rows_taken[count:]]]
        ends = [b[taken[0]], sides, b[rows_taken[count:]]]
        parts += [part for part, _ in matrices]
        ends += [constant for _, constant in matrices]
        return NodeProgram(
            q=c[free],
            C=sp.csr_array(sp.vstack(parts, format="csr")) if sp.issparse(C) else np.vstack(parts),
            b=np.concatenate(ends),
            zero=zero,
            nonnegative=count - zero + len(sides),
            orders=tuple(orders),
            sizes=tuple(sizes),
            free=free,
            fixed=fixed,
            taken=rows_taken,
            bounds=len(sides),
            faces=faces,
            idle=(self._idle_rows(used), tuple(idle_cones), tuple(idle_blocks)),
            constant=float(c @ fixed),
        )

    def _idle_rows(self, used: Array) -> Array:
        stack = self.stack
        rows = np.concatenate([stack.zero, stack.low, stack.high])
        return np.unique(rows[~used[: self.linear]])

    def point(self, program: NodeProgram, x: Array) -> Array:
        """Return the point (n,) that the free variables x and the fixed ones make."""
        whole = program.fixed.copy()
        whole[program.free] = x
        return whole

    def multipliers(self, program: NodeProgram, dual: Array) -> Multipliers:
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
            own[begin:end] = expanded(dual[at : at + length], size, program.faces.get(k))
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
        return Multipliers(
            y[None], np.concatenate([empty, *cones])[None], np.concatenate([empty, *psd])[None]
        )


def relaxed(program: NodeProgram) -> NodeProgram:
    """Return the program that minimises by how much its inequalities are missed.

    One more variable t >= 0, the last, is added to all of them, times the identity of each cone.
    Its optimum is attained and so are its multipliers; where t must be positive, they disprove the
    feasibility of the program itself.
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
    # t >= 0 as one more row behind the other linear ones.
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
