r"""The iteration of the ADMM for the semidefinite relaxation: compiled.

.. math:: \max \; \langle \tilde A, Z \rangle \quad\text{subject to}\quad Z = Y, \;
          Z \succeq 0, \; \operatorname{tr} Z = 2, \; Y_{00} = 1, \; (Y, q) \in B,

with the bordered matrix of the problem and the set B of
:mod:`sparseopt.solvers.strs.relaxation.admm_rows`.
The matrix Z is projected by its largest eigenvalues, those above the threshold of their projection
onto a simplex. Only Z is symmetric: Y has rows of their own, so that B separates by rows. Without
a linear term the border is left out, and the trace is 1.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from sparseopt.problems.base import Array

from ...common.compiled import compiled
from ..bound.spectrum import copy_into, gram, smoothed_maximum
from ..settings import OVER_RELAXATION
from .admm_rows import project_rows


class Relaxation(NamedTuple):
    """The data, scaled to entries of at most 1 or so; `border`: whether there is a linear term."""

    A: Array
    a: Array
    d: int
    border: bool


class Iterates(NamedTuple):
    """Where the ADMM is; the arrays are changed in place.

    Attributes
    ----------
    state, before : arrays of shape (1 + n + n^2,)
        Y plus the multipliers over rho (the corner, the border, the rows), and that before the
        last step.
    Z : array of shape (n + 1, n + 1), or (n, n) without border
    Y, y : arrays of shape (n, n) and (n,)
        The projection of the state, which rho times the rest is normal to.
    old : array of shape (n + 1, n)
        Y and y before the last step.
    q : array of shape (n,)
        The shares.
    angles : array of shape (3, n)
        Guesses for the rows.
    rate : array of shape (1,)
        A guess of the common rate of the rows.
    rank : int array of shape (1,)
        The rank of Z, at first a guess.
    """

    state: Array
    before: Array
    Z: Array
    Y: Array
    y: Array
    old: Array
    q: Array
    angles: Array
    rate: Array
    rank: Array


@compiled
def spectral_projection(M: Array, trace: float, rank: Array) -> Array:
    """Return the positive semidefinite matrix of a given trace that is nearest to M.

    `rank` is an array of shape (1,) with a guess of its rank in, and the rank out.

    Parameters
    ----------
    M : array of shape (n, n)
        Symmetric, C-contiguous.
    trace : float
        > 0.
    rank : int array of shape (1,)
        In: a guess of the rank; out: the rank.

    Returns
    -------
    array of shape (n, n)
    """
    _, _, p, V = smoothed_maximum(M, trace, rank[0])
    rank[0] = p.shape[0]
    for k in range(p.shape[0]):
        p[k] *= trace
    nearest: Array = gram(V, p)
    return nearest


@compiled
def relaxed_step(data: Relaxation, it: Iterates) -> tuple[float, float]:
    """Move the state by 1.6 (Z - Y); return the squares of |Z - Y| and of the change of Y.

    Parameters
    ----------
    data : Relaxation
    it : Iterates
        ``it.state`` is changed in place.

    Returns
    -------
    primal, dual : float
    """
    n = data.a.shape[0]
    o = 1 if data.border else 0
    x, X = it.state[1 : 1 + n], it.state[1 + n :].reshape(n, n)
    primal, dual = 0.0, 0.0
    if data.border:
        primal += (it.Z[0, 0] - 1.0) ** 2
        it.state[0] += OVER_RELAXATION * (it.Z[0, 0] - 1.0)
    for i in range(n):
        if data.border:
            away = it.Z[0, i + 1] - it.y[i]
            primal += 2.0 * away * away
            dual += 2.0 * (it.y[i] - it.old[n, i]) ** 2
            x[i] += OVER_RELAXATION * away
        for j in range(n):
            away = it.Z[i + o, j + o] - it.Y[i, j]
            primal += away * away
            dual += (it.Y[i, j] - it.old[i, j]) ** 2
            X[i, j] += OVER_RELAXATION * away
    return primal, dual


@compiled
def reflected(data: Relaxation, it: Iterates, rho: float) -> Array:
    """Return the symmetric matrix 2 Y - state + A / rho, with its border, which Z is nearest to.

    Parameters
    ----------
    data : Relaxation
    it : Iterates
    rho : float
        The penalty, > 0.

    Returns
    -------
    array of shape (n + 1, n + 1), or (n, n) without border
    """
    n = data.a.shape[0]
    o = 1 if data.border else 0
    x, X = it.state[1 : 1 + n], it.state[1 + n :].reshape(n, n)
    M = np.empty((n + o, n + o))
    if data.border:
        M[0, 0] = 2.0 - it.state[0]
        for i in range(n):
            M[0, i + 1] = M[i + 1, 0] = 2.0 * it.y[i] - x[i] + 0.5 * data.a[i] / rho
    for i in range(n):
        for j in range(i + 1):
            away = 2.0 * (it.Y[i, j] + it.Y[j, i]) - X[i, j] - X[j, i]
            M[i + o, j + o] = M[j + o, i + o] = 0.5 * away + data.A[i, j] / rho
    return M


@compiled
def iterate(data: Relaxation, it: Iterates, rho: float, steps: int) -> tuple[float, float]:
    """Take some steps; return the residuals |Z - Y| and rho |Y - its predecessor|.

    Parameters
    ----------
    data : Relaxation
    it : Iterates
        In and out.
    rho : float
        The penalty.
    steps : int
    """
    n = data.a.shape[0]
    x, X = it.state[1 : 1 + n], it.state[1 + n :].reshape(n, n)
    primal, dual = 0.0, 0.0
    for _ in range(steps):
        copy_into(it.state, it.before)
        for i in range(n):
            copy_into(it.Y[i], it.old[i])
        copy_into(it.y, it.old[n])
        it.rate[0] = project_rows(
            X, x, data.d, data.border, it.Y, it.y, it.q, it.angles, it.rate[0]
        )
        Z = spectral_projection(reflected(data, it, rho), 2.0 if data.border else 1.0, it.rank)
        for i in range(Z.shape[0]):
            copy_into(Z[i], it.Z[i])
        primal, dual = relaxed_step(data, it)
    return sqrt(primal), rho * sqrt(dual)
