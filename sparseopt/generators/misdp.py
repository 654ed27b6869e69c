"""Mixed-integer semidefinite programs from statistics, structures and graphs."""

from __future__ import annotations

import itertools
import math

import numpy as np

from sparseopt.errors import ParamError
from sparseopt.generators.draws import (
    choice,
    normals,
    require_at_most,
    require_positive,
    stream,
    support,
)
from sparseopt.problems import MISDP, STRS, MISDPBuilder
from sparseopt.problems.base import Array
from sparseopt.problems.strs.semidefinite import strs_as_misdp

__all__ = [
    "cardinality_least_squares",
    "k_partitioning",
    "restricted_isometry",
    "strs_misdp",
    "truss_topology",
]


def strs_misdp(
    *,
    seed: int = 0,
    D: int = 8,
    d: int = 3,
    formulation: str = "strong",
    linear: bool = True,
    integer: bool = False,
) -> MISDP:
    r"""Sparse trust-region subproblem as a MISDP, with a Gaussian symmetric matrix.

    Parameters
    ----------
    seed : int, default 0
    D, d : int
        Variables, and the largest number of nonzeros.
    formulation : {"strong", "weak"}, default "strong"
        (17) or (15) of Wang, Dey, Xie; see
        :func:`~sparseopt.problems.strs.semidefinite.strs_as_misdp`.
    linear : bool, default True
        Whether there is a linear term; without it this is sparse PCA.
    integer : bool, default False
        Round 2 times every random number to an integer.

    Raises
    ------
    ParamError
        When a size is out of range or the formulation is unknown.

    Notes
    -----
    Draws B by rows (D^2 normals), then a (D normals, drawn in any case); A = (B + B') / 2.
    """
    require_positive(D=D, d=d)
    require_at_most("d", d, D)
    kind = choice("formulation", formulation, "strong", "weak")
    normal = normals(stream(seed), integer)
    B, a = normal((D, D)), normal(D)
    problem = STRS(A=(B + B.T) / 2.0, a=a if linear else None, d=d)
    return strs_as_misdp(problem, "strong" if kind == "strong" else "weak")


def cardinality_least_squares(
    *,
    seed: int = 0,
    n: int = 16,
    d: int = 10,
    k: int = 3,
    rho: float = 1.0,
    sigma: float = 0.5,
) -> MISDP:
    r"""Least squares with a ridge and at most k nonzero coefficients.

    .. math:: \min_b \|Xb - y\|^2 + \rho \|b\|^2, \; \|b\|_0 \le k
              \;=\; \min_{q, t} \; t, \quad
              \begin{pmatrix} I + \rho^{-1} X \operatorname{diag}(q) X' & y \\ y' & t \end{pmatrix}
              \succeq 0,\; \sum_j q_j \le k

    with binary q: t is at least the optimal value on the support (Pilanci, Wainwright, El Ghaoui
    2015; a family of Gally, Pfetsch, Ulbrich 2018).

    Parameters
    ----------
    seed : int, default 0
    n, d : int
        Observations and variables.
    k : int
        Largest number of nonzero coefficients; the true ones are k, each 1 or -1.
    rho : float
        Weight of the ridge, > 0.
    sigma : float
        Standard deviation of the noise.

    Raises
    ------
    ParamError
        When a size or rho is not positive, or k exceeds d.

    Notes
    -----
    Draws X by rows, the support, its signs and the noise. The variables are q, then t.
    """
    require_positive(n=n, d=d, k=k)
    require_at_most("k", k, d)
    if not (math.isfinite(rho) and rho > 0.0):
        raise ParamError(f"rho must be a positive number, got {rho!r}")
    rng = stream(seed)
    X = rng.standard_normal((n, d))
    theta = np.zeros(d)
    theta[support(rng, d, k)] = 2.0 * rng.integers(0, 2, k) - 1.0
    y = np.cumsum(X * theta, axis=1)[:, -1] + sigma * rng.standard_normal(n)
    model = MISDPBuilder("min")
    q = model.variables(d, lower=0.0, upper=1.0, integer=True, name="q")
    t = model.variable(lower=0.0, name="t")
    model.row((q, np.ones(d)), upper=float(k))
    corner = np.zeros((n + 1, n + 1))
    corner[n, n] = 1.0
    columns = []
    for j in range(d):
        square = np.zeros((n + 1, n + 1))
        square[:n, :n] = np.outer(X[:, j], X[:, j]) / rho
        columns.append(square)
    constant = np.zeros((n + 1, n + 1))
    constant[:n, :n] = np.eye(n)
    constant[:n, n] = constant[n, :n] = y
    model.semidefinite((q, columns), (t, corner), constant=constant, name="Schur")
    model.objective((t, 1.0))
    return model.build()


def k_partitioning(
    *, seed: int = 0, nodes: int = 7, k: int = 3, density: float = 0.7, smallest: int = 2
) -> MISDP:
    r"""Minimum k-partitioning: at most k parts of a graph, with little weight inside the parts.

    .. math:: \min \sum_{i < j} w_{ij} x_{ij}, \quad
              \frac{k X - J}{k - 1} \succeq 0,\; \sum_{j \ne i} x_{ij} \ge l - 1,
              \quad x \in \{0, 1\}

    with X the symmetric matrix of the x_ij with ones on its diagonal: x_ij = 1 where i and j are in
    one part. Semidefiniteness makes that relation transitive, and the parts at most k (Eisenblätter
    2002; a family of Gally, Pfetsch, Ulbrich 2018).

    Parameters
    ----------
    seed : int, default 0
    nodes, k : int
        Nodes, and the largest number of parts, at least 2.
    density : float
        Probability of an edge; weights are integers from -5 to 10 without 0.
    smallest : int
        l, the least size of a part.

    Raises
    ------
    ParamError
        When k is below 2 or above the number of nodes, or a part cannot be so large.

    Notes
    -----
    Draws for each pair i < j whether there is an edge, then for all pairs the weights.
    """
    require_positive(nodes=nodes, k=k, smallest=smallest)
    require_at_most("k", k, nodes)
    require_at_most("smallest", smallest, nodes)
    if k < 2:
        raise ParamError(f"k must be at least 2, got {k}")
    if not 0.0 <= density <= 1.0:
        raise ParamError(f"density must be from 0 to 1, got {density!r}")
    rng = stream(seed)
    pairs = list(itertools.combinations(range(nodes), 2))
    edge = rng.random(len(pairs)) < density
    weight = rng.integers(-5, 10, len(pairs))
    weight = np.where(weight >= 0, weight + 1, weight) * edge
    model = MISDPBuilder("min")
    x = model.variables(len(pairs), lower=0.0, upper=1.0, integer=True, name="together")
    together = dict(zip(pairs, x.tolist(), strict=True))
    for i in range(nodes):
        mine = [together[min(i, j), max(i, j)] for j in range(nodes) if j != i]
        model.row((mine, np.ones(nodes - 1)), lower=smallest - 1.0)
    units = []
    for i, j in pairs:
        unit = np.zeros((nodes, nodes))
        unit[i, j] = unit[j, i] = k / (k - 1.0)
        units.append(unit)
    constant = np.full((nodes, nodes), -1.0 / (k - 1.0))
    np.fill_diagonal(constant, 1.0)
    model.semidefinite((x, units), constant=constant, name="partition")
    model.objective((x, weight.astype(float)))
    return model.build()


def truss_topology(
    *,
    seed: int = 0,
    columns: int = 3,
    rows: int = 2,
    sizes: int = 2,
    slack: float = 2.0,
) -> MISDP:
    r"""Truss of least volume that carries a load, with bars of discrete sizes.

    .. math:: \min \sum_b \ell_b \sum_r a_r x_{br}, \quad
              \begin{pmatrix} 2\gamma & f' \\ f & \sum_{b, r} a_r x_{br} K_b \end{pmatrix}
              \succeq 0,\; \sum_r x_{br} \le 1, \quad x \in \{0, 1\}

    On a grid of nodes, those of the first column fixed, a load f acts on the last column. A bar b
    of size a has the stiffness a K_b, :math:`K_b = d_b d_b' / \ell_b^3` with its direction vector
    d_b on the degrees of freedom of its ends. The matrix says that the compliance f'u / 2 is at
    most gamma (Ben-Tal and Nemirovski 1997; a family of Gally, Pfetsch, Ulbrich 2018).

    Parameters
    ----------
    seed : int, default 0
    columns, rows : int
        Of the grid, at least 2 each. Bars join nodes at most one column and one row apart.
    sizes : int
        Sizes 1, ..., `sizes` of a bar.
    slack : float
        gamma is `slack` times the compliance of the truss with all bars at their largest size,
        rounded up to three digits; at least 1.

    Raises
    ------
    ParamError
        When a size is too small, or slack below 1.

    Notes
    -----
    Draws the load: two normals for each node of the last column.
    """
    require_positive(columns=columns, rows=rows, sizes=sizes)
    if columns < 2 or rows < 2:
        raise ParamError(f"columns and rows must be at least 2, got {columns} and {rows}")
    if not slack >= 1.0:
        raise ParamError(f"slack must be at least 1, got {slack!r}")
    places = [(i, j) for i in range(columns) for j in range(rows)]
    free = 2 * rows * (columns - 1)
    bars = [
        (a, b)
        for a, b in itertools.combinations(places, 2)
        if abs(a[0] - b[0]) <= 1 and abs(a[1] - b[1]) <= 1 and (a[0] > 0 or b[0] > 0)
    ]
    stiffness, lengths = [], []
    for a, b in bars:
        step = np.array([b[0] - a[0], b[1] - a[1]], dtype=float)
        length = math.hypot(*step)
        direction = np.zeros(free)
        for place, sign in ((a, -1.0), (b, 1.0)):
            if place[0] > 0:
                at = 2 * ((place[0] - 1) * rows + place[1])
                direction[at : at + 2] = sign * step
        stiffness.append(np.outer(direction, direction) / length**3)
        lengths.append(length)
    f = np.zeros(free)
    f[-2 * rows :] = stream(seed).standard_normal(2 * rows)
    gamma = slack * float(f @ np.linalg.solve(sizes * sum(stiffness), f)) / 2.0
    digits = 10.0 ** (math.floor(math.log10(gamma)) - 2)
    gamma = math.ceil(gamma / digits) * digits
    model = MISDPBuilder("min")
    units, volumes, chosen = [], [], []
    for number, (K, length) in enumerate(zip(stiffness, lengths, strict=True)):
        x = model.variables(sizes, lower=0.0, upper=1.0, integer=True, name=f"bar{number}")
        model.row((x, np.ones(sizes)), upper=1.0)
        chosen.append(x)
        for size in range(1, sizes + 1):
            unit = np.zeros((free + 1, free + 1))
            unit[1:, 1:] = size * K
            units.append(unit)
            volumes.append(size * length)
    constant = np.zeros((free + 1, free + 1))
    constant[0, 0] = 2.0 * gamma
    constant[0, 1:] = constant[1:, 0] = f
    every = np.concatenate(chosen)
    model.semidefinite((every, units), constant=constant, name="compliance")
    model.objective((every, np.array(volumes)))
    return model.build()


def restricted_isometry(
    *, seed: int = 0, m: int = 8, n: int = 10, k: int = 3, side: str = "lower"
) -> MISDP:
    r"""Restricted isometry constant of a Gaussian matrix: its extreme singular values on k columns.

    .. math:: \min \text{ or } \max \; \langle A'A, X \rangle, \quad
              X \succeq 0,\; \operatorname{tr} X = 1,\; X_{jj} \le q_j,\;
              |X_{ij}| \le q_j / 2 \; (i \ne j),\; \sum_j q_j \le k

    with binary q: the least (or largest) squared norm of A v over the unit vectors v with at most
    k nonzeros (Gally and Pfetsch 2016).

    Parameters
    ----------
    seed : int, default 0
    m, n : int
        Rows and columns of A, whose entries are normal with variance 1 / m.
    k : int
        Largest number of nonzeros.
    side : {"lower", "upper"}, default "lower"
        The least or the largest value.

    Raises
    ------
    ParamError
        When a size is not positive, k exceeds n, or side is unknown.
    """
    require_positive(m=m, n=n, k=k)
    require_at_most("k", k, n)
    lower = choice("side", side, "lower", "upper") == "lower"
    A = stream(seed).standard_normal((m, n)) / math.sqrt(m)
    model = MISDPBuilder("min" if lower else "max")
    q = model.variables(n, lower=0.0, upper=1.0, integer=True, name="q")
    X = model.matrix(n, name="X")
    model.row((q, np.ones(n)), upper=float(k))
    model.row((np.diagonal(X), np.ones(n)), lower=1.0, upper=1.0)
    for j in range(n):
        model.row((X[j, j], 1.0), (q[j], -1.0), upper=0.0)
        for i in range(n):
            if i != j:
                model.row((X[i, j], 1.0), (q[j], -0.5), upper=0.0)
                model.row((X[i, j], 1.0), (q[j], 0.5), lower=0.0)
    model.objective((X, _gram(A)))
    return model.build()


def _gram(A: Array) -> Array:
    """Return A'A, summed row after row: the same on every machine, unlike BLAS."""
    return np.asarray(np.cumsum(A[:, :, None] * A[:, None, :], axis=0)[-1])
