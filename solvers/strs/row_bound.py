r"""The Lagrangian row bound, smoothed, and its minimisation: compiled.

For any vector l and matrix L, a unit vector z on a support S of size d satisfies

.. math:: z'Az + a'z = z'\bigl(A - \tfrac{L + L'}{2}\bigr)z + (a - l)'z
          + \sum_{i \in S} z_i \bigl(l_i + L_{ii} z_i + \sum_{j \in S \setminus i} L_{ij} z_j\bigr)

where the first part is at most its maximum over all unit vectors, and each row i at most

.. math:: h_i = \max_{0 \le t \le \pi / 2} |l_i| \cos t + L_{ii} \cos^2 t + r_i \cos t \sin t

with r_i the norm of the d - 1 largest of the other entries of row i of L. So

.. math:: F(l, L) = \max_{\|z\| = 1} \{z'(A - (L + L')/2)z + (a - l)'z\}
          + \text{sum of the d largest } h_i

bounds the optimum. At a node of a tree the variables that are fixed in are counted in both choices,
those that are fixed out are left out everywhere.

The maximum is :math:`\min_w 2 \lambda_{max}(M - w e_0 e_0') + w` for the bordered matrix M of the
quadratic and half the linear term. All three maxima are smoothed: the eigenvalue and the two
choices by quadratic terms, the norm and the absolute value at 0. The bound itself is computed
beside the smoothed value and from the same eigenvalues.

A point of the minimisation is x = (w, l, L by rows), of length 1 + n + n^2. Without linear term w
and l stay 0, and the border is left out.
"""

from __future__ import annotations

from math import atan2, cos, hypot, sin, sqrt

import numpy as np

from sparseopt.problems.base import Array

from ..common.compiled import compiled
from .choices import choose, hard_choice, sum_of_largest
from .spectrum import smoothed_maximum

__all__ = ["evaluate", "minimise", "row_terms"]

_REST, _SLOW = 5e-3, 3.0
"""At rest after so many steps in a row that gain no more than this part of what is missing."""


@compiled
def row_maximum(l: float, diagonal: float, r: float) -> tuple[float, float, float]:
    """Return h and the maximising cosine and sine of one row, for l >= 0 and r >= 0.

    A trust-region subproblem of two variables with the matrix ((L_ii, r/2), (r/2, 0)).
    """
    gap = hypot(diagonal, r)
    angle = 0.5 * atan2(r, diagonal)
    c, s = cos(angle), sin(angle)
    if l > 0.0:
        b1, b2 = 0.5 * l * c, 0.5 * l * s
        shift = max(b1, b2 - gap)
        if shift <= 1e-15 * l:
            y2 = b2 / gap
            y1 = sqrt(max(0.0, 1.0 - y2 * y2))
        else:
            y1, y2 = b1 / shift, b2 / (shift + gap)
            for _ in range(60):
                square = y1 * y1 + y2 * y2
                norm = sqrt(square)
                if norm <= 1.0 + 1e-15:
                    break
                slope = y1 * y1 / shift + y2 * y2 / (shift + gap)
                shift += (norm - 1.0) * square / slope
                y1, y2 = b1 / shift, b2 / (shift + gap)
            norm = sqrt(y1 * y1 + y2 * y2)
            y1, y2 = y1 / norm, y2 / norm
        # (c, s) is the upper eigenvector, (s, -c) the lower one.
        c, s = y1 * c + y2 * s, y1 * s - y2 * c
    c, s = abs(c), abs(s)
    return l * c + diagonal * c * c + r * c * s, c, s


@compiled
def row_terms(l: Array, L: Array, inside: Array, d: int) -> Array:
    """Return the h_i of all rows; `inside` marks the variables that are fixed in. O(n^2 log n)."""
    n = l.shape[0]
    h = np.empty(n)
    fixed = 0
    for j in range(n):
        fixed += inside[j]
    squares = np.empty(n)
    free = np.empty(n, np.bool_)
    for i in range(n):
        square = 0.0
        for j in range(n):
            squares[j] = L[i, j] * L[i, j]
            free[j] = j != i and not inside[j]
            if j != i and inside[j]:
                square += squares[j]
        others = fixed - 1 if inside[i] else fixed
        square += hard_choice(squares, free, d - 1 - others)
        h[i] = row_maximum(abs(l[i]), L[i, i], sqrt(square))[0]
    return h


@compiled
def evaluate(
    A: Array,
    a: Array,
    d: int,
    inside: Array,
    border: bool,
    smoothing: Array,
    x: Array,
    gradient: Array,
    weight: Array,
    density: Array,
    rank: Array,
    thresholds: Array,
) -> tuple[float, float]:
    """Return the smoothed value and the bound itself at x. O(n^3), one eigendecomposition.

    Parameters
    ----------
    A, a : arrays of shape (n, n) and (n,)
        Of the candidates of a node.
    d : int
    inside : bool array of shape (n,)
    border : bool
        Whether there is a linear term.
    smoothing : array of shape (4,)
        tau, and epsilon of the rows' sum, of the squares in a row, and of the square roots.
    x, gradient : arrays of shape (1 + n + n^2,)
    weight : array of shape (n,)
        Out: the weights of the rows, a relaxed support.
    density : array of shape (n,)
        Out: the diagonal of the relaxed zz'.
    rank : int array of shape (1,)
        In and out: how many eigenvalues have a weight, at first a guess.
    thresholds : array of shape (n + 1,)
        In and out: those of the choices in each row and of rows, guesses at first.
    """
    tau, epsilon_rows, epsilon_squares, epsilon_root = smoothing
    n = a.shape[0]
    o = 1 if border else 0
    trace = 2.0 if border else 1.0
    w = x[0]
    l = x[1 : 1 + n]
    L = x[1 + n :].reshape(n, n)
    M = np.empty((n + o, n + o))
    if border:
        M[0, 0] = -w
        for i in range(n):
            M[0, i + 1] = M[i + 1, 0] = 0.5 * (a[i] - l[i])
    for i in range(n):
        for j in range(i + 1):
            M[i + o, j + o] = M[j + o, i + o] = A[i, j] - 0.5 * (L[i, j] + L[j, i])
    top, soft_top, p, V = smoothed_maximum(M, tau, rank[0])
    rank[0] = p.shape[0]
    shift = w if border else 0.0
    spectral = trace * top + shift
    smooth = trace * soft_top + shift
    for k in range(p.shape[0]):
        V[k] *= sqrt(trace * p[k])
    Z = np.dot(V.T, V)

    gradient[0] = 1.0 - Z[0, 0] if border else 0.0
    gl = gradient[1 : 1 + n]
    gL = gradient[1 + n :].reshape(n, n)
    fixed = 0
    for j in range(n):
        fixed += inside[j]
    free = np.flatnonzero(~inside)
    h, bound = np.empty(n), np.empty(n)
    cosine, slope = np.empty(n), np.empty(n)
    squares, shares = np.empty(n), np.empty(n)
    for i in range(n):
        square, m = 0.0, 0
        for f in free:
            if f != i:
                squares[m] = L[i, f] * L[i, f]
                m += 1
        row = gL[i]
        for j in range(n):
            row[j] = 0.0
            if inside[j] and j != i:
                square += L[i, j] * L[i, j]
                row[j] = L[i, j]
        k = d - 1 - (fixed - 1 if inside[i] else fixed)
        soft, hard, thresholds[i] = choose(
            squares[:m], k, epsilon_squares, thresholds[i], shares[:m]
        )
        m = 0
        for f in free:
            if f != i:
                row[f] = shares[m] * L[i, f]
                m += 1
        r = sqrt(square + soft + epsilon_root)
        size = sqrt(l[i] * l[i] + epsilon_root) if border else 0.0
        h[i], c, s = row_maximum(size, L[i, i], r)
        bound[i] = row_maximum(abs(l[i]) if border else 0.0, L[i, i], sqrt(square + hard))[0]
        cosine[i] = c
        slope[i] = c * s / r
        gl[i] = c * l[i] / size if border else 0.0
    exact = spectral
    for i in range(n):
        weight[i] = 1.0
        if inside[i]:
            exact += bound[i]
            smooth += h[i]
    exact += sum_of_largest(bound[free], max(0, d - fixed))
    soft, _, thresholds[n] = choose(
        h[free], d - fixed, epsilon_rows, thresholds[n], shares[: len(free)]
    )
    smooth += soft
    for m in range(len(free)):
        weight[free[m]] = shares[m]
    for i in range(n):
        density[i] = Z[i + o, i + o]
        gl[i] = weight[i] * gl[i] - Z[0, i + 1] if border else 0.0
        factor = weight[i] * slope[i]
        for j in range(n):
            gL[i, j] = factor * gL[i, j] - Z[i + o, j + o]
        gL[i, i] += weight[i] * cosine[i] * cosine[i]
    return smooth, exact


@compiled
def minimise(
    A: Array,
    a: Array,
    d: int,
    inside: Array,
    border: bool,
    smoothing: Array,
    steps: int,
    target: float,
    x: Array,
    best: float,
    best_x: Array,
    gradient: Array,
    memory: Array,
    scalars: Array,
    weight: Array,
    density: Array,
    rank: Array,
    thresholds: Array,
) -> tuple[float, int, bool]:
    """Take some steps of L-BFGS; return the best bound, evaluations, and whether it is at rest.

    Calls with the same arrays go on where the last one ended, so that a caller can look at the
    clock in between.

    Parameters
    ----------
    A, a, d, inside, border, smoothing : as for :func:`evaluate`
    steps : int
        Largest number of steps of this call.
    target : float
        End as soon as the bound is not above this.
    x : array of shape (1 + n + n^2,)
        In and out: the iterate.
    best, best_x : float and array
        In and out: the best bound so far, of whatever smoothing, and where.
    gradient : array of shape (1 + n + n^2,)
        In and out: the gradient at x.
    memory : array of shape (2 * K, 1 + n + n^2)
        In and out: the last K steps and changes of the gradient.
    scalars : array of shape (4 + K,)
        In and out: evaluations in all (0 in the first call), the value at x, the number of pairs,
        slow steps in a row, and the inverse products of each pair.
    weight, density : arrays of shape (n,)
        Out: of the last evaluation.
    rank, thresholds : as for :func:`evaluate`
    """
    K = memory.shape[0] // 2
    new_gradient = np.zeros(x.shape[0])
    factors = np.zeros(K)
    evaluations = 0
    if scalars[0] == 0.0:
        f, bound = evaluate(
            A, a, d, inside, border, smoothing, x, gradient, weight, density, rank, thresholds
        )
        evaluations = 1
        scalars[1] = f
        if bound < best:
            best = bound
            best_x[:] = x
    f = scalars[1]
    at_rest = False
    for _ in range(steps):
        if best <= target:
            break
        count = int(scalars[2])
        kept = min(count, K)
        p = -gradient
        for q in range(kept):
            k = (count - 1 - q) % K
            factors[k] = scalars[4 + k] * np.dot(memory[k], p)
            p -= factors[k] * memory[K + k]
        if kept > 0:
            k = (count - 1) % K
            p /= scalars[4 + k] * np.dot(memory[K + k], memory[K + k])
        else:
            # A tenth of the way to the target, if the function were linear.
            p *= 0.1 * abs(f - target) / max(np.dot(gradient, gradient), 1e-300)
        for q in range(kept - 1, -1, -1):
            k = (count - 1 - q) % K
            p += (factors[k] - scalars[4 + k] * np.dot(memory[K + k], p)) * memory[k]
        slope = np.dot(gradient, p)
        if not slope < 0.0:
            at_rest = True
            break
        t = 1.0
        decreased = False
        for _ in range(12):
            new_x = x + t * p
            new_f, bound = evaluate(
                A,
                a,
                d,
                inside,
                border,
                smoothing,
                new_x,
                new_gradient,
                weight,
                density,
                rank,
                thresholds,
            )
            evaluations += 1
            if bound < best:
                best = bound
                best_x[:] = new_x
            if new_f <= f + 1e-4 * t * slope:
                decreased = True
                break
            t *= min(0.6, max(0.1, -slope * t / (2.0 * (new_f - f - slope * t))))
        if not decreased:
            at_rest = True
            break
        k = count % K
        memory[k] = new_x - x
        memory[K + k] = new_gradient - gradient
        product = np.dot(memory[k], memory[K + k])
        size = np.dot(memory[k], memory[k]) * np.dot(memory[K + k], memory[K + k])
        if product > 1e-12 * sqrt(size):
            scalars[4 + k] = 1.0 / product
            scalars[2] = count + 1
        decrease = f - new_f
        x[:] = new_x
        gradient[:] = new_gradient
        f = new_f
        scalars[3] = scalars[3] + 1.0 if decrease <= _REST * abs(best - target) else 0.0
        if scalars[3] >= _SLOW:
            at_rest = True
            break
    scalars[0] += evaluations
    scalars[1] = f
    return best, evaluations, at_rest
