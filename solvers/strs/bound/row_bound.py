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
from typing import NamedTuple

import numpy as np

from sparseopt.problems.base import Array

from ...common.compiled import compiled, compiled_inside
from .choices import choose, choose_each, sum_of_largest
from .spectrum import gram, smoothed_maximum


class NodeData(NamedTuple):
    """The problem on the n candidates of a node.

    Attributes
    ----------
    A, a : arrays of shape (n, n) and (n,)
    inside : bool array of shape (n,)
        The variables that are fixed in.
    d : int
        Size of the supports.
    border : bool
        Whether there is a linear term.
    """

    A: Array
    a: Array
    inside: Array
    d: int
    border: bool


class Smoothing(NamedTuple):
    """How much each maximum is smoothed, all > 0.

    Attributes
    ----------
    eigenvalue : float
        tau of the largest eigenvalue.
    rows, squares : float
        epsilon of the choice of d rows, and of that of d - 1 squares in each row.
    root : float
        Added under the square roots.
    """

    eigenvalue: float
    rows: float
    squares: float
    root: float


class RelaxedSupport(NamedTuple):
    """What an evaluation finds beside the value, and its guesses for the next one.

    Attributes
    ----------
    weight : array of shape (n,)
        Out: the weights of the rows, a relaxed support.
    density : array of shape (n,)
        Out: the diagonal of the relaxed zz'.
    thresholds : array of shape (n + 1,)
        In and out: those of the choices in each row and of rows, guesses at first.
    rank : int array of shape (1,)
        In and out: how many eigenvalues have a weight, at first a guess.
    """

    weight: Array
    density: Array
    thresholds: Array
    rank: Array

    @classmethod
    def empty(cls, n: int) -> RelaxedSupport:
        """Return the arrays before the first evaluation."""
        return cls(np.zeros(n), np.zeros(n), np.zeros(n + 1), np.array([4]))


@compiled
def row_maximum(l: float, diagonal: float, r: float) -> tuple[float, float, float]:
    """Return h and the maximising cosine and sine of one row, for l >= 0 and r >= 0.

    A trust-region subproblem of two variables with the matrix ((L_ii, r/2), (r/2, 0)).

    Parameters
    ----------
    l : float
        The linear term, >= 0.
    diagonal : float
    r : float
        Norm of the other entries, >= 0.

    Returns
    -------
    h, cosine, sine : float
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
    """Return the h_i of all rows; `inside` marks the variables that are fixed in. O(n^2 log n).

    Parameters
    ----------
    l : array of shape (n,)
    L : array of shape (n, n)
    inside : bool array of shape (n,)
        The variables that are fixed in.
    d : int
        Size of the supports.

    Returns
    -------
    array of shape (n,)
    """
    n = l.shape[0]
    h = np.empty(n)
    fixed = 0
    for j in range(n):
        fixed += inside[j]
    squares = np.empty(n)
    for i in range(n):
        square, m = 0.0, 0
        for j in range(n):
            if j != i and inside[j]:
                square += L[i, j] * L[i, j]
            elif j != i:
                squares[m] = L[i, j] * L[i, j]
                m += 1
        others = fixed - 1 if inside[i] else fixed
        square += sum_of_largest(squares[:m], max(0, d - 1 - others))
        h[i] = row_maximum(abs(l[i]), L[i, i], sqrt(square))[0]
    return h


@row_terms.in_numpy
def _(l: Array, L: Array, inside: Array, d: int) -> Array:
    squares, fixed = L**2, np.count_nonzero(inside)
    np.fill_diagonal(squares, 0.0)
    inner = squares[:, inside == 1].sum(axis=1)
    # A zero of the diagonal among the free entries changes no sum of the largest.
    largest = np.sort(squares[:, inside == 0], axis=1)[:, ::-1].cumsum(axis=1)
    largest = np.hstack([np.zeros((len(l), 1)), largest])
    k = np.clip(d - 1 - fixed + (inside == 1), 0, largest.shape[1] - 1)
    r = np.sqrt(inner + largest[np.arange(len(l)), k])
    return _row_maximum_each(abs(l), np.diagonal(L), r)[0]


@compiled_inside(makes_arrays=True)
def bordered_matrix(node: NodeData, x: Array) -> Array:
    """Return A - (L + L')/2, with a border ((-w, (a - l)'/2), ...) where there is a linear term.

    Parameters
    ----------
    node : NodeData
    x : array of shape (1 + n + n^2,)
        (w, l, L by rows).

    Returns
    -------
    array of shape (n + 1, n + 1), or (n, n) without border
    """
    n = node.a.shape[0]
    o = 1 if node.border else 0
    l, L = x[1 : 1 + n], x[1 + n :].reshape(n, n)
    M = np.empty((n + o, n + o))
    if node.border:
        M[0, 0] = -x[0]
        for i in range(n):
            M[0, i + 1] = M[i + 1, 0] = 0.5 * (node.a[i] - l[i])
    for i in range(n):
        for j in range(i + 1):
            M[i + o, j + o] = M[j + o, i + o] = node.A[i, j] - 0.5 * (L[i, j] + L[j, i])
    return M


@bordered_matrix.in_numpy
def _(node: NodeData, x: Array) -> Array:
    n = len(node.a)
    o = 1 if node.border else 0
    L = x[1 + n :].reshape(n, n)
    M = np.empty((n + o, n + o))
    M[o:, o:] = node.A - 0.5 * (L + L.T)
    if node.border:
        M[0, 0] = -x[0]
        M[0, 1:] = M[1:, 0] = 0.5 * (node.a - x[1 : 1 + n])
    return M


@compiled_inside(makes_arrays=True)
def row_maxima(
    node: NodeData, smoothing: Smoothing, x: Array, gradient: Array, thresholds: Array
) -> Array:
    """Return h_i of all rows, smoothed and as they are, with cosine and cos t sin t / r_i.

    Into row i of the gradient goes L_ij times the share of the square of entry j in r_i^2, and
    cos t l_i / |l_i|: what the derivatives of h_i are made of. O(n^2).

    Parameters
    ----------
    node : NodeData
    smoothing : Smoothing
    x : array of shape (1 + n + n^2,)
    gradient : array of shape (1 + n + n^2,)
        Out.
    thresholds : array of shape (n + 1,)
        In and out; the last entry is not used.

    Returns
    -------
    array of shape (4, n)
    """
    n = node.a.shape[0]
    l, L = x[1 : 1 + n], x[1 + n :].reshape(n, n)
    gl, gL = gradient[1 : 1 + n], gradient[1 + n :].reshape(n, n)
    inside, fixed = node.inside, 0
    for j in range(n):
        fixed += inside[j]
    terms = np.empty((4, n))
    squares, shares = np.empty(n), np.empty(n)
    for i in range(n):
        square, m = 0.0, 0
        row = gL[i]
        for j in range(n):
            row[j] = 0.0
            if j == i:
                continue
            if inside[j]:
                square += L[i, j] * L[i, j]
                row[j] = L[i, j]
            else:
                squares[m] = L[i, j] * L[i, j]
                m += 1
        k = node.d - 1 - (fixed - 1 if inside[i] else fixed)
        soft, hard, thresholds[i] = choose(
            squares[:m], k, smoothing.squares, thresholds[i], shares[:m]
        )
        m = 0
        for j in range(n):
            if j != i and not inside[j]:
                row[j] = shares[m] * L[i, j]
                m += 1
        r = sqrt(square + soft + smoothing.root)
        size = sqrt(l[i] * l[i] + smoothing.root) if node.border else 0.0
        terms[0, i], c, s = row_maximum(size, L[i, i], r)
        exact = abs(l[i]) if node.border else 0.0
        terms[1, i] = row_maximum(exact, L[i, i], sqrt(square + hard))[0]
        terms[2, i], terms[3, i] = c, c * s / r
        gl[i] = c * l[i] / size if node.border else 0.0
    return terms


@row_maxima.in_numpy
def _(node: NodeData, smoothing: Smoothing, x: Array, gradient: Array, thresholds: Array) -> Array:
    n = len(node.a)
    l, L = x[1 : 1 + n], x[1 + n :].reshape(n, n)
    gl, gL = gradient[1 : 1 + n], gradient[1 + n :].reshape(n, n)
    inside = node.inside == 1
    gL[:] = np.where(inside, L, 0.0)
    np.fill_diagonal(gL, 0.0)
    square = np.einsum("ij,ij->i", gL, gL)
    hard = square.copy()
    # Rows of variables that are fixed in choose among all free ones, the others leave one out.
    fixed = int(np.count_nonzero(inside))
    for rows, m, k in (
        (np.flatnonzero(inside), n - fixed, node.d - fixed),
        (np.flatnonzero(~inside), max(0, n - fixed - 1), node.d - 1 - fixed),
    ):
        free = ~inside & (np.arange(n) != rows[:, None])
        at = np.nonzero(free)[1].reshape(len(rows), m)
        entries = L[rows[:, None], at]
        more, exact, thresholds[rows], shares = choose_each(
            entries**2, k, smoothing.squares, thresholds[rows]
        )
        square[rows] += more
        hard[rows] += exact
        gL[rows[:, None], at] = shares * entries
    r = np.sqrt(square + smoothing.root)
    size = np.sqrt(l**2 + smoothing.root) if node.border else np.zeros(n)
    terms = np.empty((4, n))
    terms[0], c, s = _row_maximum_each(size, np.diagonal(L), r)
    exact_size = abs(l) if node.border else np.zeros(n)
    terms[1] = _row_maximum_each(exact_size, np.diagonal(L), np.sqrt(hard))[0]
    terms[2], terms[3] = c, c * s / r
    gl[:] = c * l / size if node.border else 0.0
    return terms


def _row_maximum_each(l: Array, diagonal: Array, r: Array) -> tuple[Array, Array, Array]:
    """Return what :func:`row_maximum` does of many rows, all arrays of shape (n,)."""
    gap = np.hypot(diagonal, r)
    angle = 0.5 * np.arctan2(r, diagonal)
    c, s = np.cos(angle), np.sin(angle)
    rows = np.flatnonzero(l > 0.0)
    if len(rows):
        gaps, b1, b2 = gap[rows], 0.5 * (l * c)[rows], 0.5 * (l * s)[rows]
        shift = np.maximum(b1, b2 - gaps)
        flat = shift <= 1e-15 * l[rows]
        y1, y2 = b1 / shift, b2 / (shift + gaps)
        for _step in range(60):
            square = y1**2 + y2**2
            norm = np.sqrt(square)
            if not (norm[~flat] > 1.0 + 1e-15).any():
                break
            slope = y1**2 / shift + y2**2 / (shift + gaps)
            shift = np.where(norm > 1.0 + 1e-15, shift + (norm - 1.0) * square / slope, shift)
            y1, y2 = b1 / shift, b2 / (shift + gaps)
        norm = np.sqrt(y1**2 + y2**2)
        y2 = np.where(flat, b2 / gaps, y2 / norm)
        y1 = np.where(flat, np.sqrt(np.maximum(0.0, 1.0 - y2**2)), y1 / norm)
        c[rows], s[rows] = y1 * c[rows] + y2 * s[rows], y1 * s[rows] - y2 * c[rows]
    c, s = abs(c), abs(s)
    return l * c + diagonal * c**2 + r * c * s, c, s


@compiled_inside(makes_arrays=True)
def chosen_rows(
    node: NodeData, epsilon: float, terms: Array, relaxed: RelaxedSupport
) -> tuple[float, float]:
    """Return the sum of the h_i of d rows, smoothed and as it is; the weights go to `relaxed`.

    Parameters
    ----------
    node : NodeData
    epsilon : float
        Smoothing, > 0.
    terms : array of shape (4, n)
        Of :func:`row_maxima`.
    relaxed : RelaxedSupport
        In and out.

    Returns
    -------
    smoothed, exact : float
    """
    n = node.a.shape[0]
    # Of the free rows: smoothed, as they are, and their weights.
    free = np.empty((3, n))
    smooth_sum, exact_sum, m = 0.0, 0.0, 0
    for i in range(n):
        relaxed.weight[i] = 1.0
        if node.inside[i]:
            smooth_sum += terms[0, i]
            exact_sum += terms[1, i]
        else:
            free[0, m], free[1, m] = terms[0, i], terms[1, i]
            m += 1
    k = node.d - (n - m)
    exact_sum += sum_of_largest(free[1, :m], max(0, k))
    soft, _, relaxed.thresholds[n] = choose(
        free[0, :m], k, epsilon, relaxed.thresholds[n], free[2, :m]
    )
    m = 0
    for i in range(n):
        if not node.inside[i]:
            relaxed.weight[i] = free[2, m]
            m += 1
    return smooth_sum + soft, exact_sum


@chosen_rows.in_numpy
def _(node: NodeData, epsilon: float, terms: Array, relaxed: RelaxedSupport) -> tuple[float, float]:
    free = node.inside == 0
    k = node.d - len(free) + np.count_nonzero(free)
    weights = np.ones(np.count_nonzero(free))
    soft, _exact, relaxed.thresholds[-1] = choose(
        terms[0, free], k, epsilon, relaxed.thresholds[-1], weights
    )
    relaxed.weight[:] = 1.0
    relaxed.weight[free] = weights
    exact = sum_of_largest(terms[1, free], max(0, k))
    return terms[0, ~free].sum() + soft, terms[1, ~free].sum() + exact


@compiled
def evaluate(
    node: NodeData, smoothing: Smoothing, x: Array, gradient: Array, relaxed: RelaxedSupport
) -> tuple[float, float]:
    """Return the smoothed value and the bound itself at x. O(n^3), one eigendecomposition.

    Parameters
    ----------
    node : NodeData
    smoothing : Smoothing
    x : array of shape (1 + n + n^2,)
    gradient : array of shape (1 + n + n^2,)
        Out.
    relaxed : RelaxedSupport
        In and out.
    """
    trace = 2.0 if node.border else 1.0
    shift = x[0] if node.border else 0.0
    top, soft_top, p, V = smoothed_maximum(
        bordered_matrix(node, x), smoothing.eigenvalue, relaxed.rank[0]
    )
    relaxed.rank[0] = p.shape[0]
    for k in range(p.shape[0]):
        p[k] *= trace
    # The relaxed (1, z)(1, z)': minus the gradient of the first part for (w, l, L).
    Z = gram(V, p)
    terms = row_maxima(node, smoothing, x, gradient, relaxed.thresholds)
    smooth_rows, exact_rows = chosen_rows(node, smoothing.rows, terms, relaxed)
    finish_gradient(node, Z, terms, relaxed, gradient)
    return trace * soft_top + shift + smooth_rows, trace * top + shift + exact_rows


@compiled_inside(makes_arrays=True)
def finish_gradient(
    node: NodeData, Z: Array, terms: Array, relaxed: RelaxedSupport, gradient: Array
) -> None:
    """Complete the gradient of the smoothed bound, and the diagonal of the relaxed zz'.

    Parameters
    ----------
    node : NodeData
    Z : array of shape (n + 1, n + 1), or (n, n) without border
        The relaxed (1, z)(1, z)'.
    terms : array of shape (4, n)
        Of :func:`row_maxima`.
    relaxed : RelaxedSupport
        Has the weights of the rows; its density is overwritten.
    gradient : array of shape (1 + n + n^2,)
        In and out: what :func:`row_maxima` has left there.
    """
    n = node.a.shape[0]
    o = 1 if node.border else 0
    cosine, slope, weight = terms[2], terms[3], relaxed.weight
    gradient[0] = 1.0 - Z[0, 0] if node.border else 0.0
    gl, gL = gradient[1 : 1 + n], gradient[1 + n :].reshape(n, n)
    for i in range(n):
        relaxed.density[i] = Z[i + o, i + o]
        gl[i] = weight[i] * gl[i] - Z[0, i + 1] if node.border else 0.0
        factor = weight[i] * slope[i]
        for j in range(n):
            gL[i, j] = factor * gL[i, j] - Z[i + o, j + o]
        gL[i, i] += weight[i] * cosine[i] * cosine[i]


@finish_gradient.in_numpy
def _(node: NodeData, Z: Array, terms: Array, relaxed: RelaxedSupport, gradient: Array) -> None:
    n = len(node.a)
    o = 1 if node.border else 0
    gl, gL = gradient[1 : 1 + n], gradient[1 + n :].reshape(n, n)
    relaxed.density[:] = np.diagonal(Z)[o:]
    gradient[0] = 1.0 - Z[0, 0] if node.border else 0.0
    gl[:] = relaxed.weight * gl - Z[0, 1:] if node.border else 0.0
    gL *= (relaxed.weight * terms[3])[:, None]
    gL -= Z[o:, o:]
    gL[np.arange(n), np.arange(n)] += relaxed.weight * terms[2] ** 2
