"""The semidefinite relaxation of STRS as a conic program for solvers of such."""

from __future__ import annotations

import numpy as np

from sparseopt.backend import Control
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.builder import MISDPBuilder

from ...common.watch import look
from ...misdp.bounds import ConicMultipliers


class StrongRelaxation:
    r"""The relaxation (20) with the perspective rows.

    .. math:: \max \; \langle A, Z \rangle + a'z \quad\text{subject to}\quad
              \begin{pmatrix} 1 & z' \\ z & Z \end{pmatrix} \succeq 0, \; \operatorname{tr} Z = 1,
              \; 0 \le q \le 1, \; \sum_i q_i \le d,

    .. math:: z_i^2 \le Z_{ii} q_i, \quad \sum_j Z_{ij}^2 \le Z_{ii} q_i, \quad
              \Bigl(\sum_j |Z_{ij}|\Bigr)^2 \le d Z_{ii} q_i .

    Parameters
    ----------
    A, a : arrays of shape (D, D) and (D,)
    d : int
    control : Control, optional
        Whose limits end the construction by a :class:`~sparseopt.solvers.common.watch.Late`.

    Attributes
    ----------
    problem : MISDP
        Without integers.
    """

    def __init__(self, A: Array, a: Array, d: int, control: Control | None = None) -> None:
        D = len(a)
        model = MISDPBuilder("max")
        M = model.matrix(D + 1, name="M")
        q = model.variables(D, lower=0.0, upper=1.0, name="q")
        # T[i, j] >= abs(Z[i, j]), a copy for each row.
        T = model.variables(D * D, lower=0.0, name="T").reshape(D, D)
        z, Z = M[0, 1:], M[1:, 1:]
        model.row((M[0, 0], 1.0), lower=1.0, upper=1.0)
        model.row((np.diag(Z), np.ones(D)), lower=1.0, upper=1.0)
        model.row((q, np.ones(D)), upper=float(d))
        for i in range(D):
            if control is not None:
                look(control)
            for j in range(D):
                for sign in (-1.0, 1.0):
                    model.row((T[i, j], 1.0), (Z[i, j], sign), lower=0.0)
        for i in range(D):
            if control is not None:
                look(control)
            for factor, tail in (
                (1.0, [[(z[i], 2.0)]]),
                (1.0, [[(Z[i, j], 2.0)] for j in range(D)]),
                (float(d), [[(T[i], np.full(D, 2.0))]]),
            ):
                # w'w <= f Z_ii q_i as the norm of (f Z_ii - q_i, 2 w) <= f Z_ii + q_i.
                head = [[(Z[i, i], factor), (q[i], sign)] for sign in (1.0, -1.0)]
                model.cone([*head, *tail])
        model.objective((Z, A), (z, a))
        self.problem = model.build()
        self._z, self._Z, self._q, self._D = z, Z, q, D

    def shares(self, x: Array) -> Array:
        """Return q of a point, shape (D,)."""
        return np.asarray(x[self._q])

    def pair(self, multipliers: ConicMultipliers) -> Array:
        r"""Return the pair (l, L) that the rows' multipliers are, as (w, l, L) with w = 0.

        The Lagrangian leaves :math:`\langle A - L, Z \rangle + (a - l)'z` to the matrix, and
        :math:`\langle L, Z \rangle + l'z` to the rows, each row i of L to the constraints of row i.
        """
        problem, D = self.problem, self._D
        n = len(problem.c)
        l, L = np.zeros(D), np.zeros((D, D))
        y = multipliers.rows[0]
        first = 3
        for i in range(D):
            pull = np.zeros(n)
            rows = slice(first + 2 * D * i, first + 2 * D * (i + 1))
            pull += problem.A[rows].T @ y[rows]
            at = sum(cone.dimension for cone in problem.cones[: 3 * i])
            for cone in problem.cones[3 * i : 3 * i + 3]:
                part = multipliers.cones[0][at : at + cone.dimension]
                pull += cone.F.T @ part
                at += cone.dimension
            l[i] = -pull[self._z[i]]
            L[i] = -pull[self._Z[i]]
        return np.concatenate([[0.0], l, L.ravel()])
