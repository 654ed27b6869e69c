r"""A MISDP over a box, in the form of conic solvers: minimise q'x with b - C x in a product of cones.

The rows are stacked in the order zero cone, nonnegative cone (rows, then bounds of variables),
second-order cones, semidefinite cones. Rotated cones are turned by the isometry
(u_0, u_1) -> (u_0 + u_1, u_0 - u_1) / sqrt(2); matrices are lower triangles column by column with
the entries beside the diagonal times sqrt(2), so that dot products are inner products.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from sparseopt.problems.base import Array
from sparseopt.problems.cones import SemidefiniteBlock, triangle, triangle_weights
from sparseopt.problems.misdp import MISDP
from sparseopt.problems.misdp_bounds import Multipliers

__all__ = ["ConicForm", "NodeProgram", "Stack", "relaxed"]

_SETTLED = 1e-11
"""A variable whose bounds are this close, relative to their size, is fixed; a constant entry of a
matrix is zero below this."""


@dataclass(frozen=True, eq=False)
class NodeProgram:
    """What a conic solver gets: min q'x, b - C x in K, over the free variables of a box.

    Attributes
    ----------
    q : array of shape (k,)
    C : csc array of shape (N, k)
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
    constant : float
        Costs of the fixed variables.
    """

    q: Array
    C: sp.csc_array
    b: Array
    zero: int
    nonnegative: int
    orders: tuple[int, ...]
    sizes: tuple[int, ...]
    free: Array
    fixed: Array
    taken: Array
    bounds: int
    constant: float


@dataclass(frozen=True, eq=False)
class Stack:
    """The constraints of the problem without the bounds of variables, in the order above."""

    C: sp.csc_array
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
        C = sp.csc_array(sp.vstack(parts, format="csc"))
        self.stack = Stack(C, np.concatenate(sides), zero, low, high)
        self._cones_at = self.linear + np.cumsum([0, *(c.dimension for c in problem.cones)])
        self._blocks_at = self._cones_at[-1] + np.cumsum([0, *(b.dimension for b in problem.blocks)])

    def program(
        self, lower: Array, upper: Array, costs: Array | None = None, margin: float = 0.0
    ) -> NodeProgram:
        """Return the program over the box [lower, upper], (n,) each.

        Rows and lines of matrices that the fixed variables leave empty are taken out.

        Parameters
        ----------
        costs : array of shape (n,), optional
            For a minimisation; default the problem's.
        margin : float, default 0
            What is asked of the eigenvalues of the matrices, relative to their size.
        """
        c = self.costs if costs is None else costs
        size = np.maximum(1.0, np.minimum(np.abs(lower), np.abs(upper)))
        settled = upper - lower <= _SETTLED * size
        fixed = np.where(settled, np.clip(0.0, lower, upper), 0.0)
        free = np.flatnonzero(~settled)
        stack = self.stack
        b = stack.b - stack.C @ fixed
        C = sp.csc_array(stack.C[:, free])
        used = np.zeros(C.shape[0], dtype=bool)
        used[C.indices] = True
        taken = [np.flatnonzero(used[: self.linear])]
        zero = int((taken[0] < len(stack.zero)).sum())
        orders = []
        for begin, end in zip(self._cones_at[:-1], self._cones_at[1:], strict=True):
            if used[begin:end].any():
                taken.append(np.arange(begin, end))
                orders.append(int(end - begin))
        sizes = []
        for block, begin in zip(self.problem.blocks, self._blocks_at[:-1], strict=True):
            places = _kept(block, used[begin:], b[begin:])
            if len(places):
                sizes.append(int(np.sqrt(2 * len(places))))
                taken.append(begin + places)
                if margin > 0.0:
                    rows, columns = triangle(block.size)
                    size = float(np.abs(b[begin + places]).max(initial=1.0))
                    b[begin + np.flatnonzero(rows == columns)] -= margin * size
        rows_taken = np.concatenate(taken)
        low, high = np.isfinite(lower[free]), np.isfinite(upper[free])
        eye = sp.eye_array(len(free), format="csr")
        count = len(taken[0])
        sides = np.concatenate([-lower[free][low], upper[free][high]])
        return NodeProgram(
            q=c[free],
            C=sp.csc_array(
                sp.vstack(
                    [C[taken[0]], -eye[low], eye[high], C[rows_taken[count:]]], format="csc"
                )
            ),
            b=np.concatenate([b[taken[0]], sides, b[rows_taken[count:]]]),
            zero=zero,
            nonnegative=count - zero + len(sides),
            orders=tuple(orders),
            sizes=tuple(sizes),
            free=free,
            fixed=fixed,
            taken=rows_taken,
            bounds=len(sides),
            constant=float(c @ fixed),
        )

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
        own[program.taken[count:]] = dual[count + program.bounds :]
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
    whole = sp.hstack([program.C, sp.csc_array(column[:, None])], format="csc")
    # t >= 0 as one more row behind the other linear ones.
    at = program.zero + program.nonnegative
    row = sp.csc_array(([-1.0], ([0], [k])), shape=(1, k + 1))
    whole = sp.csr_array(whole)
    return replace(
        program,
        q=np.append(np.zeros(k), 1.0),
        C=sp.csc_array(sp.vstack([whole[:at], row, whole[at:]], format="csc")),
        b=np.concatenate([program.b[:at], [0.0], program.b[at:]]),
        nonnegative=program.nonnegative + 1,
        bounds=program.bounds + 1,
        constant=0.0,
    )


def _kept(block: SemidefiniteBlock, used: Array, constant: Array) -> Array:
    """Return the places of a block that are left when its lines of zeros are taken out.

    A line that is zero whatever the free variables are would leave no interior.
    """
    places = np.arange(block.dimension)
    here = used[: block.dimension]
    if not here.any():
        return places[:0]
    if here.all():
        return places
    rows, columns = triangle(block.size)
    size = float(np.abs(constant[: block.dimension]).max())
    live = here | (np.abs(constant[: block.dimension]) > _SETTLED * size)
    line = np.zeros(block.size, dtype=bool)
    line[rows[live]] = True
    line[columns[live]] = True
    return places[line[rows] & line[columns]]


def _turn(k: int) -> sp.csr_array:
    """Return the isometry that turns a rotated cone of length k into a plain one; its own inverse."""
    half = np.sqrt(0.5)
    head = sp.csr_array(np.array([[half, half], [half, -half]]))
    return sp.csr_array(sp.block_diag([head, sp.eye_array(k - 2)], format="csr"))
