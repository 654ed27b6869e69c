r"""The iteration of the ADMM for the semidefinite relaxation: compiled.

.. math:: \max \; \langle \tilde A, Z \rangle \quad\text{subject to}\quad Z = Y, \;
          Z \succeq 0, \; \operatorname{tr} Z = 2, \; Y_{00} = 1, \; (Y, q) \in B,

with the bordered matrix of the problem and the set B of :mod:`sparseopt.solvers.strs.admm_rows`.
The matrix Z is projected by its largest eigenvalues, those above the threshold of their projection
onto a simplex. Only Z is symmetric: Y has rows of their own, so that B separates by rows. Without
a linear term the border is left out, and the trace is 1.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from sparseopt.problems.base import Array

from ..common.compiled import compiled
from .admm_rows import project_rows
from .spectrum import gram, smoothed_maximum

__all__ = ["iterate"]

_RELAXATION = 1.6


@compiled
def spectral_projection(M: Array, trace: float, rank: Array) -> Array:
    """Return the positive semidefinite matrix of a given trace that is nearest to M.

    `rank` is an array of shape (1,) with a guess of its rank in, and the rank out.
    """
    _, _, p, V = smoothed_maximum(M, trace, rank[0])
    rank[0] = p.shape[0]
    for k in range(p.shape[0]):
        p[k] *= trace
    nearest: Array = gram(V, p)
    return nearest


@compiled
def iterate(
    A: Array,
    a: Array,
    d: int,
    border: bool,
    rho: float,
    steps: int,
    state: Array,
    before: Array,
    Z: Array,
    Y: Array,
    y: Array,
    q: Array,
    angles: Array,
    rate: float,
    rank: Array,
) -> tuple[float, float, float]:
    """Take some steps; return the residuals Z - Y and rho (Y - its predecessor), and the rate.

    Parameters
    ----------
    A, a, d : the problem, scaled to entries of at most 1 or so
    border : bool
        Whether there is a linear term.
    rho : float
        The penalty.
    steps : int
    state : array of shape (1 + n + n^2,)
        In and out: Y plus the multipliers over rho: the corner, the border, the rows.
    before : array of shape (1 + n + n^2,)
        Out: the state before the last step.
    Z : array of shape (n + 1, n + 1), or (n, n) without border
        Out.
    Y, y : arrays of shape (n, n) and (n,)
        In and out: the projection of the state, which rho times the rest is normal to.
    q : array of shape (n,)
        In and out: the shares.
    angles : array of shape (3, n)
        In and out: guesses for the rows.
    rate : float
        A guess of the common rate of the rows.
    rank : int array of shape (1,)
        In and out: the rank of Z, at first a guess.
    """
    n = a.shape[0]
    o = 1 if border else 0
    M = np.empty((n + o, n + o))
    x = state[1 : 1 + n]
    X = state[1 + n :].reshape(n, n)
    old, old_border = Y.copy(), y.copy()
    primal, dual = 0.0, 0.0
    for _ in range(steps):
        before[:] = state
        old[:] = Y
        old_border[:] = y
        rate = project_rows(X, x, d, border, Y, y, q, angles, rate)
        if border:
            M[0, 0] = 2.0 - state[0]
            for i in range(n):
                M[0, i + 1] = M[i + 1, 0] = 2.0 * y[i] - x[i] + 0.5 * a[i] / rho
        for i in range(n):
            for j in range(i + 1):
                away = 2.0 * (Y[i, j] + Y[j, i]) - X[i, j] - X[j, i]
                M[i + o, j + o] = M[j + o, i + o] = 0.5 * away + A[i, j] / rho
        Z[:] = spectral_projection(M, 2.0 if border else 1.0, rank)
        primal, dual = 0.0, 0.0
        if border:
            primal += (Z[0, 0] - 1.0) ** 2
            state[0] += _RELAXATION * (Z[0, 0] - 1.0)
        for i in range(n):
            if border:
                away = Z[0, i + 1] - y[i]
                primal += 2.0 * away * away
                dual += 2.0 * (y[i] - old_border[i]) ** 2
                x[i] += _RELAXATION * away
            for j in range(n):
                away = Z[i + o, j + o] - Y[i, j]
                primal += away * away
                dual += (Y[i, j] - old[i, j]) ** 2
                X[i, j] += _RELAXATION * away
    return sqrt(primal), rho * sqrt(dual), rate
