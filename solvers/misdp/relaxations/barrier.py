r"""Our own interior-point method for the relaxations: few variables, large matrices.

For min q'x with S = B - \sum_j x_j A_j positive semidefinite and multipliers Z, the primal-dual
direction of Helmberg, Kojima and Monteiro needs one factorisation of the Schur complement

.. math:: H_{ij} = \langle A_i, Z A_j S^{-1} \rangle

of the order of the number of variables, where a general conic solver factorises a system of the
order of all entries of the matrices. Second-order cones are scaled as Nesterov and Todd do
(:mod:`~sparseopt.solvers.misdp.relaxations.cone_scaling`). Infeasible start, Mehrotra's predictor
and corrector.

References
----------
Helmberg, Rendl, Vanderbei, Wolkowicz (1996); Toh, Todd, Tutuncu (1999) for the starting point.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs, dsyevr, dsygst

from sparseopt.backend import Control
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import pack_symmetric, triangle_weights, unpack_symmetric

from ..settings import BARRIER_CALL, BARRIER_FAR, BARRIER_ITERATIONS, BARRIER_LOOSE, BARRIER_WARM
from .conic import NodeProgram
from .flat import FlatProgram
from .interior import (
    BEST_ERROR,
    DUAL_VALUE,
    FARKAS,
    ITERATIONS,
    PULLED,
    SURPLUS,
    WORD,
    Ended,
    interior_point,
)
from .relaxation import Raw


class Direction(NamedTuple):
    """A step of all iterates: dx, dnu, ds, dz, and dS, dZ of each matrix."""

    x: Array
    nu: Array
    s: Array
    z: Array
    S: list[Array]
    Z: list[Array]


class Barrier:
    """Primal-dual interior points with a dense Schur complement."""

    name = "barrier"

    def __init__(self, control: Control, tolerance: float) -> None:
        self._control = control
        self._tolerance = tolerance

    def solve(self, program: NodeProgram, cutoff: float, loose: float = 0.0) -> Raw:
        """Solve; after numerical trouble return the best iterate.

        Parameters
        ----------
        program : NodeProgram
        cutoff : float
        loose : float, default 0
            A relative gap that is enough where the optimum is clearly below the cutoff.
        """
        flat = program.flat
        k, q = len(program.q), program.q
        settings = np.array(
            [
                self._tolerance,
                cutoff,
                loose,
                1.0 + float(np.abs(q).max(initial=0.0)),
                1.0 + float(np.abs(program.b).max(initial=0.0)),
                BARRIER_FAR,
            ]
        )
        best = np.zeros(k + len(program.b))
        most = BARRIER_LOOSE if loose else BARRIER_ITERATIONS
        state, warm = program.first()
        report = self._advance(flat, settings, state, best, BARRIER_WARM if warm else most)
        if warm and report[WORD] not in _DECIDED and self._control.limit() is None:
            state = flat.start()
            report = self._advance(flat, settings, state, best, most)
        word, x, dual = int(report[WORD]), best[:k], best[k:]
        if word == Ended.INFEASIBLE:
            return Raw(None, dual, "infeasible", ray=True)
        if word == Ended.UNBOUNDED:
            return Raw(None, None, "unbounded", direction=x)
        nearly = report[DUAL_VALUE] > 0.0 and report[PULLED] <= 1e-5 * report[DUAL_VALUE]
        if report[BEST_ERROR] > 1e-3 and word > Ended.UNBOUNDED and nearly:
            return Raw(None, _Run(flat, state).dual(), _WORDS[word], ray=True)
        return Raw(x, dual, _WORDS[word], state=state if loose else None)

    def _advance(
        self, flat: FlatProgram, settings: Array, state: Array, best: Array, most: int
    ) -> Array:
        """Take up to so many steps; return the report."""
        report = np.array([0.0, 0.0, np.inf, 0.0, 0.0])
        steps = max(1, min(most, int(BARRIER_CALL / flat.work)))
        while report[WORD] == Ended.RUNNING and report[ITERATIONS] < most:
            left = int(most - report[ITERATIONS])
            interior_point(flat, settings, state, best, report, min(steps, left))
            if self._control.limit() is not None:
                break
        return report


_DECIDED = (Ended.OPTIMAL, Ended.CUTOFF, Ended.INFEASIBLE, Ended.UNBOUNDED, Ended.BRANCH)
_WORDS = {
    Ended.RUNNING: "iteration or time limit",
    Ended.OPTIMAL: "optimal",
    Ended.CUTOFF: "cutoff",
    Ended.SLOW: "slow progress",
    Ended.TROUBLE: "numerical trouble",
    Ended.DIVERGED: "diverged",
    Ended.BRANCH: "to be branched",
}


@interior_point.in_numpy
def _(
    flat: FlatProgram,
    settings: Array,
    state: Array,
    best: Array,
    report: Array,
    steps: int,
) -> None:
    run = _Run(flat, state)
    try:
        report[WORD] = run.advance(settings, best, report, steps)
    except (la.LinAlgError, np.linalg.LinAlgError, ValueError):
        report[WORD] = Ended.TROUBLE
    run.save(state)


class _Run:
    """The iterates of one solve: x, the slacks s and S, the multipliers z, nu and Z."""

    def __init__(self, flat: FlatProgram, state: Array) -> None:
        k, zero, rows, bounds, cones, _, _ = flat.shape.tolist()
        self.q, self.k = flat.q, k
        b, linear, count = flat.b, zero + rows, len(flat.row_ptr) - 1
        C = sp.csr_array((flat.row_val, flat.row_col, flat.row_ptr), shape=(count, k)).toarray()
        conic = (len(b) - count, k)
        D = sp.csc_array((flat.col_val, flat.col_row, flat.col_ptr), shape=conic).toarray()
        self.E, self.e = C[:zero], b[:zero]
        self.G, self.h = Inequalities(C[zero:]), b[zero:count]
        self.rows, sizes = rows, flat.sizes.tolist()
        ends = rows + np.cumsum([0, *sizes[:cones]])
        self.cones = [
            ScaledCone(slice(begin, end), C[zero + begin : zero + end])
            for begin, end in itertools.pairwise(ends.tolist())
        ]
        self.blocks: list[MatrixConstraint] = []
        end = 0
        for size in sizes[cones:]:
            length = size * (size + 1) // 2
            self._add(D[end : end + length], b[count:][end : end + length], size)
            end += length
        both = count - zero
        lengths = [k, zero, both, both, *[block.size**2 for block in self.blocks] * 2]
        parts = np.split(state, np.cumsum(lengths)[:-1])
        self.x, self.nu, self.s, self.z = (part.copy() for part in parts[:4])
        for t, block in enumerate(self.blocks):
            shape = (block.size, block.size)
            block.S = parts[4 + t].reshape(shape)
            block.Z = parts[4 + len(self.blocks) + t].reshape(shape)
        self.total = rows + cones + sum(block.size for block in self.blocks)
        self.low, self.high = np.full(k, -np.inf), np.full(k, np.inf)
        self.own = slice(rows - bounds, rows)
        for i in range(linear - bounds, linear):
            e = flat.row_ptr[i]
            own = self.low if flat.row_val[e] < 0.0 else self.high
            own[flat.row_col[e]] = b[i] / flat.row_val[e]

    def save(self, state: Array) -> None:
        """Write the iterates."""
        S = [block.S.reshape(-1) for block in self.blocks]
        Z = [block.Z.reshape(-1) for block in self.blocks]
        state[:] = np.concatenate([self.x, self.nu, self.s, self.z, *S, *Z])

    def advance(self, settings: Array, best: Array, report: Array, steps: int) -> int:
        """Take steps until one of the tests ends it."""
        tolerance, cutoff, loose, self.scale_q, self.scale_b, far = settings
        for _ in range(steps):
            error = self.measure()
            report[DUAL_VALUE], report[PULLED] = self.dual_value, self.pulled_size
            if error != error:
                return Ended.TROUBLE
            word = self._test(error, tolerance, cutoff, loose)
            if error < report[BEST_ERROR] or word:
                report[BEST_ERROR] = min(error, report[BEST_ERROR])
                best[:] = np.concatenate([self.x, self.dual()])
            elif error > 1e6 * report[BEST_ERROR]:
                return Ended.DIVERGED
            if word:
                return word
            if self.unbounded(far):
                best[: self.k] = self.x
                return Ended.UNBOUNDED
            report[ITERATIONS] += 1.0
            if not self.step():
                return Ended.SLOW
        return Ended.RUNNING

    def _test(self, error: float, tolerance: float, cutoff: float, loose: float) -> int:
        proven, disproof, terms = self._proven()
        if proven > cutoff + SURPLUS * abs(cutoff):
            return Ended.CUTOFF
        if disproof > FARKAS * terms and disproof > 1e-6 * self.scale_q:
            return Ended.INFEASIBLE
        if self.dual_value > 0.0 and self.pulled_size <= 1e-10 * self.dual_value:
            return Ended.INFEASIBLE
        if error <= tolerance:
            return Ended.OPTIMAL
        value = float(self.q @ self.x)
        room = min(1.0 + abs(value), cutoff - value)
        if loose and self.primal_error <= 1e-7 and room > 0.0 and value - proven <= loose * room:
            return Ended.BRANCH
        return Ended.RUNNING

    def _proven(self) -> tuple[float, float, float]:
        """Return what the multipliers prove of the costs, and of costs zero, with its terms."""
        own, others = np.zeros(len(self.z)), self.z.copy()
        own[self.own], others[self.own] = self.z[self.own], 0.0
        r = self.pulled - self.G.pull(own)
        parts = [self.e @ self.nu, *(self.h * others)]
        parts += [(block.B * block.Z).sum() for block in self.blocks]
        constant, terms = -float(np.sum(parts)), float(np.abs(parts).sum())
        charged = r + self.q
        with np.errstate(invalid="ignore"):
            ray = np.where(r == 0.0, 0.0, r * np.where(r > 0.0, self.low, self.high))
            end = np.where(charged > 0.0, self.low, self.high)
            small = np.isinf(end) & (np.abs(charged) <= 1e-9 * self.scale_q)
            charge = np.where(small, 0.0, charged * end)
        terms += float(np.abs(ray).sum())
        return constant + float(charge.sum()), constant + float(ray.sum()), terms

    def _add(self, C: Array, b: Array, size: int) -> None:
        columns = np.flatnonzero(C.any(axis=0))
        entries = np.vstack([C[:, columns].T, b[None]])
        matrices = unpack_symmetric(entries / np.sqrt(triangle_weights(size)), size)
        empty = np.zeros((size, size))
        self.blocks.append(
            MatrixConstraint(
                columns,
                matrices[:-1],
                matrices[-1],
                empty,
                empty,
                whole=len(columns) == self.k,
            )
        )

    def dual(self) -> Array:
        """Return the multipliers in the order of the program's rows."""
        weights = [np.sqrt(triangle_weights(block.size)) for block in self.blocks]
        packed = [pack_symmetric(block.Z) for block in self.blocks]
        matrices = [w * Z for w, Z in zip(weights, packed, strict=True)]
        return np.concatenate([self.nu, self.z, *matrices])

    def _pulled(self) -> Array:
        """Return C'z."""
        total = self.G.pull(self.z) + self.nu @ self.E
        for block in self.blocks:
            total[block.columns] += block.pull(block.Z)
        return np.asarray(total)

    def measure(self) -> float:
        """Compute the residuals and return the largest relative error."""
        pulled = self.pulled = self._pulled()
        self.rd = -(self.q + pulled)
        self.re = self.e - self.E @ self.x
        self.rs = self.h - self.G.push(self.x) - self.s
        self.rS = [block.B - block.push(self.x) - block.S for block in self.blocks]
        products = float(self.s @ self.z) + sum(float((b.S * b.Z).sum()) for b in self.blocks)
        self.mu = products / max(self.total, 1)
        value = float(self.q @ self.x)
        worth = float(self.h @ self.z + self.e @ self.nu)
        worth += sum(float((b.B * b.Z).sum()) for b in self.blocks)
        self.dual_value = -worth
        self.pulled_size = float(np.abs(pulled).max(initial=0.0))
        self.dual_error = float(np.abs(self.rd).max(initial=0.0)) / self.scale_q
        primal = max(
            float(np.abs(self.re).max(initial=0.0)),
            float(np.abs(self.rs).max(initial=0.0)),
            *(float(np.abs(r).max()) for r in self.rS),
            0.0,
        )
        self.primal_error = primal / self.scale_b
        gap = abs(value - self.dual_value) / (1.0 + abs(value) + abs(self.dual_value))
        return float(max(gap, products / (1.0 + abs(value)), self.dual_error, self.primal_error))

    def unbounded(self, far: float) -> bool:
        """Return whether x has gone far along a direction of descent."""
        size = float(np.abs(self.x).max(initial=0.0))
        return size > far * 1e-4 * self.scale_b and float(self.q @ self.x) < -1e-9 * size

    def step(self) -> bool:
        r"""Predict, correct, and move; False when there is no room to move.

        The predictor aims at :math:`\mu = 0`. What it would leave of the complementarity sets the
        corrector's :math:`\sigma \mu` with :math:`\sigma = (\mu_{aff} / \mu)^p` (Mehrotra).
        """
        for block in self.blocks:
            block.factorise()
        for cone in self.cones:
            cone.scale(self.s, self.z)
        solve = self._schur()
        predicted = self._direction(solve, 0.0, None)
        primal, dual = self._lengths(predicted)
        after = float((self.s + primal * predicted.s) @ (self.z + dual * predicted.z))
        for block, dS, dZ in zip(self.blocks, predicted.S, predicted.Z, strict=True):
            after += float(((block.S + primal * dS) * (block.Z + dual * dZ)).sum())
        ratio = max(after, 0.0) / max(self.total, 1) / self.mu
        power = max(1.0, 3.0 * min(primal, dual) ** 2)
        centre = min(1.0, max(ratio**power, 1e-6))
        chosen = self._direction(solve, centre * self.mu, predicted)
        primal, dual = self._lengths(chosen)
        share = 0.9 + 0.09 * min(primal, dual)
        primal, dual = min(1.0, share * primal), min(1.0, share * dual)
        self.x += primal * chosen.x
        self.s += primal * chosen.s
        self.nu += dual * chosen.nu
        self.z += dual * chosen.z
        for block, dS, dZ in zip(self.blocks, chosen.S, chosen.Z, strict=True):
            block.S = block.S + primal * dS
            block.Z = block.Z + dual * dZ
        return max(primal, dual) > 1e-7 and bool(np.isfinite(self.x).all())

    def _schur(self) -> tuple[Array, bool, Array]:
        r"""Factorise the Schur complement, with the equations beside it.

        .. math:: H_{ij} = \langle A_i, Z A_j S^{-1} \rangle + (G' D G)_{ij}, \qquad
                  D = \operatorname{diag}(z / s),

        with :math:`W^{-2}` in place of z / s in cones.
        """
        weights = self.z / self.s
        for cone in self.cones:
            weights[cone.at] = -cone.signs / cone.eta**2
        H = self.G.weighted(weights)
        for cone in self.cones:
            v = (cone.signs * cone.w) @ cone.G
            H += 2.0 / cone.eta**2 * np.outer(v, v)
        for block in self.blocks:
            part = block.schur()
            if block.whole:
                H += part
            else:
                H[np.ix_(block.columns, block.columns)] += part
        H.flat[:: self.k + 1] += 1e-15 * max(float(np.abs(H).max()), 1e-300)
        if not len(self.E):
            return _cholesky(H), True, H
        K = np.block([[H, self.E.T], [self.E, np.zeros((len(self.E), len(self.E)))]])
        m = self.k + np.arange(len(self.E))
        K[m, m] -= 1e-14 * max(float(np.abs(self.E).max()), 1.0)
        return np.linalg.inv(K), False, K

    def _direction(
        self, system: tuple[Array, bool, Array], mu: float, predicted: Direction | None
    ) -> Direction:
        r"""Return the direction towards the point of the central path with the parameter mu.

        With residuals :math:`r_d = -(q + C'z)`, :math:`r_S = B - \sum_j x_j A_j - S` it solves the
        linearised :math:`S Z = \mu I` (Helmberg, Rendl, Vanderbei, Wolkowicz; symmetrised)

        .. math:: H\, dx = r_d - \mathcal{A}^*(\mu S^{-1} - Z - Z r_S S^{-1}), \qquad
                  dS = r_S - \textstyle\sum_j dx_j A_j, \qquad
                  dZ = \mu S^{-1} - Z - Z\, dS\, S^{-1},

        less the product of second order :math:`dZ\, dS\, S^{-1}` of the predictor where that is
        given (Mehrotra).
        """
        target = mu / self.s - self.z - self.z * self.rs / self.s
        if predicted is not None:
            target = target - predicted.s * predicted.z / self.s
        for cone in self.cones:
            here = cone.at
            target[here] = mu * cone.inverse(self.s[here]) - self.z[here]
            target[here] -= cone.unscale_twice(self.rs[here])
            if predicted is not None:
                steps = predicted.s[here], predicted.z[here]
                target[here] -= cone.second_order(self.z[here], *steps)
        right = self.rd - self.G.pull(target)
        targets = []
        for t, block in enumerate(self.blocks):
            inverse = block.inverse
            M = mu * inverse - block.Z - block.Z @ self.rS[t] @ inverse
            if predicted is not None:
                M = M - predicted.Z[t] @ predicted.S[t] @ inverse
            M = 0.5 * (M + M.T)
            targets.append(M)
            right[block.columns] -= block.pull(M)
        factor, plain, matrix = system
        if plain:
            dx = dpotrs(factor, right, lower=1)[0]
            dx += dpotrs(factor, right - matrix @ dx, lower=1)[0]
            dnu = np.zeros(0)
        else:
            whole = np.concatenate([right, self.re])
            both = factor @ whole
            both += factor @ (whole - matrix @ both)
            dx, dnu = both[: self.k], both[self.k :]
        pushed = self.G.push(dx)
        ds = self.rs - pushed
        dz = target + self.z / self.s * pushed
        for cone in self.cones:
            dz[cone.at] = target[cone.at] + cone.unscale_twice(pushed[cone.at])
        dSs, dZs = [], []
        for t, block in enumerate(self.blocks):
            moved = block.push(dx)
            dSs.append(self.rS[t] - moved)
            M = block.Z @ moved @ block.inverse
            dZs.append(targets[t] + 0.5 * (M + M.T))
        return Direction(dx, dnu, ds, dz, dSs, dZs)

    def _lengths(self, direction: Direction) -> tuple[float, float]:
        """Return how far slacks and multipliers can go before they leave the cone."""
        rows = slice(0, self.rows)
        primal, dual = room(self.s[rows], direction.s[rows]), room(self.z[rows], direction.z[rows])
        for cone in self.cones:
            primal = min(primal, cone_room(self.s[cone.at], direction.s[cone.at]))
            dual = min(dual, cone_room(self.z[cone.at], direction.z[cone.at]))
        for block, dS, dZ in zip(self.blocks, direction.S, direction.Z, strict=True):
            primal = min(primal, matrix_room(block.factor, dS))
            dual = min(dual, matrix_room(block.dual_factor, dZ))
        return min(primal, 1.0 / 0.9), min(dual, 1.0 / 0.9)


def _cholesky(matrix: Array) -> Array:
    """Return the lower factor, by LAPACK itself: SciPy's checks cost more than small matrices."""
    factor, info = dpotrf(matrix, lower=1, clean=1)
    if info:
        raise la.LinAlgError(f"leading minor {info} is not positive definite")
    return np.asarray(factor)


class Inequalities:
    """The rows G of G x <= h: bounds, of one entry each, apart from the others.

    Parameters
    ----------
    rows : array or csr array of shape (m, k)
    """

    def __init__(self, rows: Any) -> None:
        self._shape = rows.shape
        if isinstance(rows, np.ndarray):
            counts = np.count_nonzero(rows, axis=1)
            self._single = np.flatnonzero(counts == 1)
            self._others = np.flatnonzero(counts != 1)
            entries = rows[self._single]
            self._column = np.argmax(entries != 0.0, axis=1)
            self._entry = entries[np.arange(len(entries)), self._column]
        else:
            counts = np.diff(rows.indptr)
            self._single, self._others = np.flatnonzero(counts == 1), np.flatnonzero(counts != 1)
            place = rows.indptr[self._single]
            self._column, self._entry = rows.indices[place], rows.data[place]
        self._matrix = rows[self._others]

    def norms(self) -> Array:
        """Return the Euclidean norm of each row, shape (m,)."""
        found = np.empty(self._shape[0])
        found[self._single] = np.abs(self._entry)
        squares = self._matrix * self._matrix
        found[self._others] = np.sqrt(np.asarray(squares.sum(axis=1)).reshape(-1))
        return found

    def push(self, x: Array) -> Array:
        """Return G x, shape (m,)."""
        found = np.empty(self._shape[0])
        found[self._single] = self._entry * x[self._column]
        if len(self._others):
            found[self._others] = self._matrix @ x
        return found

    def pull(self, z: Array) -> Array:
        """Return G'z, shape (k,)."""
        k = self._shape[1]
        found = np.bincount(self._column, self._entry * z[self._single], minlength=k)
        if len(self._others):
            found = found + z[self._others] @ self._matrix
        return np.asarray(found)

    def weighted(self, d: Array) -> Array:
        """Return G' diag(d) G, shape (k, k)."""
        k = self._shape[1]
        if not len(self._others):
            found = np.zeros((k, k))
        elif isinstance(self._matrix, np.ndarray):
            found = self._matrix.T @ (d[self._others, None] * self._matrix)
        else:
            scaled = sp.diags_array(d[self._others]) @ self._matrix
            found = (self._matrix.T @ scaled).toarray()
        found.flat[:: k + 1] += np.bincount(
            self._column, self._entry**2 * d[self._single], minlength=k
        )
        return np.asarray(found)


class ScaledCone:
    """A second-order cone of slacks h - G x, scaled as in :mod:`.cone_scaling`.

    Parameters
    ----------
    at : slice
        Where its slacks and multipliers are.
    G : array of shape (m, k)
    """

    def __init__(self, at: slice, G: Array) -> None:
        self.at, self.G = at, G
        self.signs = np.append(1.0, np.full(len(G) - 1, -1.0))

    def scale(self, s: Array, z: Array) -> None:
        """Compute the scaling for these slacks and multipliers of all rows."""
        s, z = s[self.at], z[self.at]
        of_s, of_z = np.sqrt(self._square(s)), np.sqrt(self._square(z))
        s, z = s / of_s, z / of_z
        self.w = (s + self.signs * z) / np.sqrt(2.0 + 2.0 * s @ z)
        self.eta = np.sqrt(of_s / of_z)
        self._W = self.eta * (2.0 * self._half(self.w) - np.diag(self.signs))
        self._inverse = (2.0 * self._half(self.signs * self.w) - np.diag(self.signs)) / self.eta

    def _half(self, w: Array) -> Array:
        """Return v v' with 2 v v' - J the root of 2 w w' - J."""
        v = (w + np.append(1.0, np.zeros(len(w) - 1))) / np.sqrt(2.0 * (w[0] + 1.0))
        return np.outer(v, v)

    def _square(self, u: Array) -> float:
        """Return u'Ju.

        Raises
        ------
        scipy.linalg.LinAlgError
            Outside of the cone.
        """
        tail = float(np.linalg.norm(u[1:]))
        value = (float(u[0]) - tail) * (float(u[0]) + tail)
        if not (u[0] > 0.0 and value > 0.0):
            raise la.LinAlgError("not inside the cone")
        return value

    def inverse(self, s: Array) -> Array:
        """Return J s / s'Js."""
        return np.asarray(self.signs * s / self._square(s))

    def unscale_twice(self, u: Array) -> Array:
        """Return W^-2 u."""
        return np.asarray(self._inverse @ (self._inverse @ u))

    def second_order(self, z: Array, ds: Array, dz: Array) -> Array:
        r"""Return :math:`W^{-1} (\lambda \backslash (W^{-1} ds \circ W dz))`."""
        level, a, c = self._W @ z, self._inverse @ ds, self._W @ dz
        product = np.append(a @ c, a[0] * c[1:] + c[0] * a[1:])
        arrow = level[0] * np.eye(len(level))
        arrow[0, 1:] = arrow[1:, 0] = level[1:]
        return np.asarray(self._inverse @ np.linalg.solve(arrow, product))


def cone_room(u: Array, step: Array) -> float:
    """Return the largest t with u + t step in the second-order cone, u inside.

    It is the least positive root of (u + t step)'J(u + t step).
    """
    signs = np.append(1.0, np.full(len(u) - 1, -1.0))
    a, b, c = step @ (signs * step), u @ (signs * step), u @ (signs * u)
    if not np.isfinite(a):
        raise la.LinAlgError("the step is not finite")
    found = b * b - a * c
    if found < 0.0 or (a >= 0.0 and b >= 0.0):
        return np.inf
    root = np.sqrt(found)
    # With a < 0 one root is positive; with b < 0 the smaller one of two positive ones.
    return float(c / (root - b))


@dataclass(eq=False)
class MatrixConstraint:
    """S = B - sum_j x_j A_j, positive semidefinite, and its multiplier Z.

    Attributes
    ----------
    columns : int array of shape (k,)
        The variables in it.
    A : array of shape (k, s, s)
    B : array of shape (s, s)
    S, Z : array of shape (s, s)
        Iterates, positive definite.
    whole : bool
        Whether all variables are in it.
    inverse, factor, dual_factor : array of shape (s, s)
        The inverse of S and the lower Cholesky factors of S and Z, after :meth:`factorise`.
    """

    columns: Array
    A: Array
    B: Array
    S: Array
    Z: Array
    whole: bool
    inverse: Array = field(init=False)
    factor: Array = field(init=False)
    dual_factor: Array = field(init=False)
    _flat: Array = field(init=False)
    _beside: Array = field(init=False)

    def __post_init__(self) -> None:
        self._flat = np.ascontiguousarray(self.A.reshape(len(self.A), -1))
        self._beside = np.ascontiguousarray(self.A.transpose(1, 0, 2).reshape(self.size, -1))

    @property
    def size(self) -> int:
        """The order of the matrix."""
        return len(self.B)

    def pull(self, M: Array) -> Array:
        """Return <A_j, M> for all j."""
        return np.asarray(self._flat @ M.reshape(-1))

    def push(self, x: Array) -> Array:
        """Return sum_j x_j A_j."""
        own = x if self.whole else x[self.columns]
        return np.asarray((own @ self._flat).reshape(self.size, self.size))

    def schur(self) -> Array:
        """Return <A_i, Z A_j S^-1>, symmetrised, shape (k, k), by two products of matrices."""
        k, s = len(self.A), self.size
        products = (self.Z @ self._beside).reshape(s * k, s) @ self.inverse
        T = products.reshape(s, k, s).transpose(1, 0, 2).reshape(k, s * s)
        part = self._flat @ T.T
        return np.asarray(0.5 * (part + part.T))

    def factorise(self) -> None:
        """Factorise both iterates.

        Raises
        ------
        scipy.linalg.LinAlgError
            When one is not positive definite to working precision.
        """
        self.factor = _cholesky(self.S)
        inverse = dpotri(self.factor, lower=1)[0]
        self.inverse = np.tril(inverse) + np.tril(inverse, -1).T
        self.dual_factor = _cholesky(self.Z)


def room(value: Array, step: Array) -> float:
    """Return the largest t with value + t step >= 0.

    Parameters
    ----------
    value : array of shape (n,)
        >= 0.
    step : array of shape (n,)

    Returns
    -------
    float
        inf where no entry falls.
    """
    down = step < 0.0
    return float((-value[down] / step[down]).min(initial=np.inf))


def matrix_room(factor: Array, step: Array) -> float:
    """Return the largest t with L L' + t step positive semidefinite, L the factor.

    Parameters
    ----------
    factor : array of shape (s, s)
        L, lower triangular.
    step : array of shape (s, s)
        Symmetric.

    Returns
    -------
    float
        inf where the step is positive semidefinite.
    """
    reduced, info = dsygst(step, factor, itype=1, lower=1)
    if info or not np.isfinite(reduced[-1, 0]):
        raise la.LinAlgError("the step is not finite")
    least = float(dsyevr(reduced, compute_v=0, range="I", lower=1, il=1, iu=1)[0][0])
    return np.inf if least >= 0.0 else -1.0 / least
