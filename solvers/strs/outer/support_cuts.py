r"""Closed-form cuts: pairs (l, L) of the row bound that are exact on a given support.

On a support S of size d let z and mu solve the trust-region subproblem with the value U. Then

.. math:: N_S = \begin{pmatrix} U - \mu & -a_S'/2 \\ -a_S/2 & \mu I - A_{SS} \end{pmatrix}
          \succeq 0, \qquad N_S \binom{1}{z} = 0,

and the multipliers of the rows outside S complete it to a positive semidefinite matrix of all
variables, with no multiplier on the rows of S: the column n_j of variable j outside S is replaced
by its projection u_j onto some of the eigenvectors of N_S with positive eigenvalues, and

.. math:: \tfrac12 (l_j, L_{jS}) = u_j - n_j, \quad
          L_{jk} = A_{jk} + u_j' N_S^+ u_k, \quad L_{jj} = A_{jj} - \mu + u_j' N_S^+ u_j

make the Schur complement vanish. The row bound with this pair is U on S: a supergradient of the
value at S, without a semidefinite program (Wang, Dey, Xie, theorem 4.6).
"""

from __future__ import annotations

import numpy as np

from sparseopt.problems.base import Array

from ...common.spheres import maximise_on_sphere
from ..settings import KEPT_EIGENVALUES


def exact_pairs(A: Array, a: Array, support: Array) -> list[Array]:
    """Return points (w, l, L by rows) of the row bound that are exact on a support.

    Parameters
    ----------
    A : array of shape (n, n)
    a : array of shape (n,)
    support : int array of shape (d,)

    Returns
    -------
    list of arrays of shape (1 + n + n^2,)
    """
    n, d = len(a), len(support)
    outside = np.setdiff1d(np.arange(n), support)
    inner = A[np.ix_(support, support)]
    best = maximise_on_sphere(inner, a[support])
    mu, value = float(best.mu[0]), float(best.bound[0])
    N = np.empty((d + 1, d + 1))
    N[0, 0] = value - mu
    N[0, 1:] = N[1:, 0] = -a[support] / 2.0
    N[1:, 1:] = mu * np.eye(d) - inner
    columns = np.vstack([-a[outside] / 2.0, -A[np.ix_(support, outside)]])
    eigenvalues, Q = np.linalg.eigh(N)
    found = []
    for part in KEPT_EIGENVALUES:
        kept = eigenvalues > part * max(float(eigenvalues[-1]), 0.0)
        V = Q[:, kept]
        coordinates = V.T @ columns
        half = V @ coordinates - columns
        l, L = np.zeros(n), np.zeros((n, n))
        l[outside] = 2.0 * half[0]
        L[np.ix_(outside, support)] = 2.0 * half[1:].T
        completed = coordinates.T @ (coordinates / eigenvalues[kept, None])
        completed += A[np.ix_(outside, outside)] - mu * np.eye(n - d)
        L[np.ix_(outside, outside)] = completed
        found.append(np.concatenate([[0.0], l, L.ravel()]))
        if kept.sum() == (eigenvalues > KEPT_EIGENVALUES[-1] * eigenvalues[-1]).sum():
            break
    return found
