"""Mixed-integer semidefinite programs from statistics, structures and graphs."""

from __future__ import annotations

import itertools
import math
from typing import Any, Literal

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
    rng, pairs, edge = random_graph(seed, nodes, density)
    weight = rng.integers(-5, 10, len(pairs))
    weight = np.where(weight >= 0, weight + 1, weight) * edge
    model = MISDPBuilder("min")
    x = model.variables(len(pairs), lower=0.0, upper=1.0, integer=True, name="together")
    degree_rows(model, x, pairs, nodes, lower=smallest - 1.0)
    units = [k / (k - 1.0) * unit for unit in pair_units(pairs, nodes)]
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
    loads: int = 1,
) -> MISDP:
    r"""Truss of least volume that carries each of some loads, with bars of discrete sizes.

    .. math:: \min \sum_b \ell_b \sum_r a_r x_{br}, \quad
              \begin{pmatrix} 2\gamma & f' \\ f & \sum_{b, r} a_r x_{br} K_b \end{pmatrix}
              \succeq 0,\; \sum_r x_{br} \le 1, \quad x \in \{0, 1\}

    On a grid of nodes, those of the first column fixed, a load f acts on the last column. A bar b
    of size a has the stiffness a K_b, :math:`K_b = d_b d_b' / \ell_b^3` with its direction vector
    d_b on the degrees of freedom of its ends. The matrix says that the compliance f'u / 2 is at
    most gamma (Ben-Tal and Nemirovski 1997; a family of Gally, Pfetsch, Ulbrich 2018). Several
    loads, one at a time, make a matrix each.

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
    loads : int
        Each with a gamma of its own.

    Raises
    ------
    ParamError
        When a size is too small, or slack below 1.

    Notes
    -----
    Draws the loads, one after the other: two normals for each node of the last column.
    """
    require_positive(columns=columns, rows=rows, sizes=sizes, loads=loads)
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
    every, random = np.concatenate(chosen), stream(seed)
    for load in range(loads):
        f = np.zeros(free)
        f[-2 * rows :] = random.standard_normal(2 * rows)
        gamma = slack * float(f @ np.linalg.solve(sizes * sum(stiffness), f)) / 2.0
        digits = 10.0 ** (math.floor(math.log10(gamma)) - 2)
        constant = np.zeros((free + 1, free + 1))
        constant[0, 0] = 2.0 * math.ceil(gamma / digits) * digits
        constant[0, 1:] = constant[1:, 0] = f
        name = "compliance" if loads == 1 else f"compliance{load}"
        model.semidefinite((every, units), constant=constant, name=name)
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
    return _sparse_rayleigh(_gram(A), k, "min" if lower else "max")


def sparse_directions(
    *, seed: int = 0, n: int = 10, k: int = 3, samples: int = 30, spike: float = 1.0
) -> MISDP:
    r"""Sparse principal direction of Gaussian data whose covariance has one sparse spike.

    .. math:: \max \; \langle S, X \rangle \quad\text{over the } (X, q) \text{ of }
              \texttt{restricted-isometry}

    with S the sample covariance of x = z + \sqrt{spike} g v, z and g standard normal, v with k
    entries of size :math:`1 / \sqrt k` (d'Aspremont, El Ghaoui, Jordan, Lanckriet 2007; with
    binaries Gally and Pfetsch 2016).

    Parameters
    ----------
    seed : int, default 0
    n : int
        Variables.
    k : int
        Largest number of nonzeros.
    samples : int
    spike : float
        >= 0.

    Raises
    ------
    ParamError
        When a size is not positive, k exceeds n, or spike is negative.

    Notes
    -----
    Draws the support, its signs, z by rows, and g.
    """
    require_positive(n=n, k=k, samples=samples)
    require_at_most("k", k, n)
    if not (math.isfinite(spike) and spike >= 0.0):
        raise ParamError(f"spike must be a number >= 0, got {spike!r}")
    rng = stream(seed)
    v = np.zeros(n)
    v[support(rng, n, k)] = (2.0 * rng.integers(0, 2, k) - 1.0) / math.sqrt(k)
    z = rng.standard_normal((samples, n))
    x = z + math.sqrt(spike) * rng.standard_normal(samples)[:, None] * v
    return _sparse_rayleigh(_gram(x / math.sqrt(samples)), k, "max")


def max_cut(*, seed: int = 0, nodes: int = 10, density: float = 0.5) -> MISDP:
    r"""Maximum cut of a graph with positive weights.

    .. math:: \max \sum_{i < j} w_{ij} x_{ij}, \quad J - 2 X \succeq 0, \quad x \in \{0, 1\}

    with X the symmetric matrix of the x_ij with zeros on its diagonal: x_ij = 1 where the edge is
    cut (Goemans and Williamson 1995; semidefiniteness of a matrix of ones and minus ones makes it
    of rank one).

    Parameters
    ----------
    seed : int, default 0
    nodes : int
        At least 2.
    density : float
        Probability of an edge; weights are integers from 1 to 10.

    Raises
    ------
    ParamError
        When nodes is below 2 or density not from 0 to 1.

    Notes
    -----
    Draws for each pair i < j whether there is an edge, then for all pairs the weights.
    """
    if nodes < 2:
        raise ParamError(f"nodes must be at least 2, got {nodes}")
    rng, pairs, edge = random_graph(seed, nodes, density)
    weight = rng.integers(1, 11, len(pairs)) * edge
    model = MISDPBuilder("max")
    x = model.variables(len(pairs), lower=0.0, upper=1.0, integer=True, name="cut")
    units = [-2.0 * unit for unit in pair_units(pairs, nodes)]
    model.semidefinite((x, units), constant=np.ones((nodes, nodes)), name="cut")
    model.objective((x, weight.astype(float)))
    return model.build()


def clustering(
    *, seed: int = 0, points: int = 8, size: int = 2, dimension: int = 2, spread: float = 0.5
) -> MISDP:
    r"""Clusters of equal size with the least sum of squares.

    .. math:: \min \frac{1}{l} \sum_{i < j} \|p_i - p_j\|^2 x_{ij}, \quad
              I + X \succeq 0,\; \sum_{j \ne i} x_{ij} = l - 1, \quad x \in \{0, 1\}

    with X the symmetric matrix of the x_ij with zeros on its diagonal: x_ij = 1 where i and j are
    in one cluster, each of l points (Peng and Wei 2007, with the sizes given).

    Parameters
    ----------
    seed : int, default 0
    points, size : int
        Their number, and l, which divides it.
    dimension : int
    spread : float
        Standard deviation of the points around their centres; those are standard normal.

    Raises
    ------
    ParamError
        When a size is not positive, or size does not divide points.

    Notes
    -----
    Draws the centres by rows, then the points' offsets by rows.
    """
    require_positive(points=points, size=size, dimension=dimension)
    if points % size:
        raise ParamError(f"size must divide the {points} points, got {size}")
    rng = stream(seed)
    centres = rng.standard_normal((points // size, dimension))
    place = np.repeat(centres, size, axis=0)
    place = place + spread * rng.standard_normal((points, dimension))
    pairs = list(itertools.combinations(range(points), 2))
    model = MISDPBuilder("min")
    x = model.variables(len(pairs), lower=0.0, upper=1.0, integer=True, name="together")
    degree_rows(model, x, pairs, points, lower=size - 1.0, upper=size - 1.0)
    model.semidefinite((x, pair_units(pairs, points)), constant=np.eye(points), name="clusters")
    model.objective((x, np.array([_squared(place[i] - place[j]) / size for i, j in pairs])))
    return model.build()


def optimal_design(*, seed: int = 0, candidates: int = 15, p: int = 4, k: int = 6) -> MISDP:
    r"""E-optimal design: k of the candidate experiments whose information is largest.

    .. math:: \max \; t, \quad \sum_i q_i a_i a_i' - t I \succeq 0,\; \sum_i q_i \le k,
              \quad q \in \{0, 1\}

    with Gaussian a_i in p dimensions (Pukelsheim 2006).

    Parameters
    ----------
    seed : int, default 0
    candidates, p : int
    k : int
        Experiments to be made, from p to the number of candidates.

    Raises
    ------
    ParamError
        When a size is out of range.

    Notes
    -----
    Draws the a_i one after the other. The variables are q, then t.
    """
    model, q, units = _selection(stream(seed), candidates, p, k, "max")
    t = model.variable(lower=0.0, name="t")
    model.semidefinite((q, units), (t, -np.eye(p)), name="information")
    model.objective((t, 1.0))
    return model.build()


def sensor_placement(*, seed: int = 0, candidates: int = 12, p: int = 3, k: int = 5) -> MISDP:
    r"""A-optimal sensors: k of the candidates with the least mean squared error of an estimate.

    .. math:: \min \sum_j t_j, \quad
              \begin{pmatrix} I + \sum_i q_i a_i a_i' & e_j \\ e_j' & t_j \end{pmatrix}
              \succeq 0 \; (j = 1, \dots, p),\; \sum_i q_i \le k, \quad q \in \{0, 1\}

    that is the trace of the posterior covariance, with a standard normal prior and Gaussian a_i
    (Joshi and Boyd 2009).

    Parameters
    ----------
    seed : int, default 0
    candidates, p : int
    k : int
        Sensors to be placed, from p to the number of candidates.

    Raises
    ------
    ParamError
        When a size is out of range.

    Notes
    -----
    Draws the a_i one after the other. The variables are q, then t.
    """
    model, q, units = _selection(stream(seed), candidates, p, k, "min")
    t = model.variables(p, lower=0.0, upper=1.0, name="t")
    bordered = [np.pad(unit, (0, 1)) for unit in units]
    corner = np.zeros((p + 1, p + 1))
    corner[p, p] = 1.0
    for j in range(p):
        constant = np.pad(np.eye(p), (0, 1))
        constant[j, p] = constant[p, j] = 1.0
        model.semidefinite((q, bordered), (t[j], corner), constant=constant, name=f"error{j}")
    model.objective((t, np.ones(p)))
    return model.build()


def sparse_component(
    *, seed: int = 0, n: int = 8, k: int = 3, samples: int = 24, modules: int = 2
) -> MISDP:
    r"""Sparse principal component of data with several modules of variables.

    The model of `sparse-directions`, with S the sample covariance of data in which each module of
    variables has a standard normal factor of its own: :math:`x = z + f`, z standard normal.

    Parameters
    ----------
    seed : int, default 0
    n : int
        Variables.
    k : int
        Largest number of nonzeros.
    samples : int
    modules : int
        From 1 to n; variable j is in module j modulo their number.

    Raises
    ------
    ParamError
        When a size is not positive, or k or modules exceeds n.

    Notes
    -----
    Draws z by rows, then the factors by rows.
    """
    require_positive(n=n, k=k, samples=samples, modules=modules)
    require_at_most("k", k, n)
    require_at_most("modules", modules, n)
    rng = stream(seed)
    z = rng.standard_normal((samples, n))
    factors = rng.standard_normal((samples, modules))
    x = z + factors[:, np.arange(n) % modules]
    return _sparse_rayleigh(_gram(x / math.sqrt(samples)), k, "max")


def cardinality_portfolio(
    *, seed: int = 0, assets: int = 12, k: int = 4, factors: int = 3, budget: float = 0.5
) -> MISDP:
    r"""Portfolio of the least risk with at most k assets and a return to be reached.

    .. math:: \min \; t, \quad \|(F'w, D w)\| \le t,\;
              \textstyle\sum_j w_j = 1,\; \mu'w \ge r,\; \sum_j q_j \le k, \quad
              \tfrac{q_j}{20} \le w_j \le \text{budget} \cdot q_j, \; q \in \{0, 1\}

    with the risk of some factors and of each asset in a second-order cone, and r the median of the
    returns (Bienstock 1996; Vielma, Ahmed, Nemhauser 2008).

    Parameters
    ----------
    seed : int, default 0
    assets, k, factors : int
        k at least 1 / budget.
    budget : float
        Largest weight of an asset, at least 1/20.

    Raises
    ------
    ParamError
        When a size is out of range.

    Notes
    -----
    Draws F by rows, D, uniform on [0.2, 1.2], and the returns, uniform on [0.05, 0.15]. The
    variables are q, w and t.
    """
    require_positive(assets=assets, k=k, factors=factors)
    require_at_most("k", k, assets)
    if not 0.05 <= budget <= 1.0 or k * budget < 1.0 or k > 20:
        raise ParamError(
            f"budget must be from 1/20 to 1, k from 1 / budget to 20, got {budget!r} and {k}"
        )
    rng = stream(seed)
    F = rng.standard_normal((assets, factors))
    own = 0.2 + rng.random(assets)
    returns = 0.05 + 0.1 * rng.random(assets)
    model = MISDPBuilder("min")
    q = model.variables(assets, lower=0.0, upper=1.0, integer=True, name="q")
    w = model.variables(assets, lower=0.0, upper=budget, name="w")
    t = model.variable(lower=0.0, name="t")
    risk: list[list[tuple[Any, Any]]] = [[(t, 1.0)]]
    risk += [[(w, column)] for column in F.T]
    risk += [[(w[j], float(own[j]))] for j in range(assets)]
    model.cone(risk)
    model.row((w, np.ones(assets)), lower=1.0, upper=1.0)
    model.row((w, returns), lower=float(np.median(returns)))
    model.row((q, np.ones(assets)), upper=float(k))
    for j in range(assets):
        model.row((w[j], 1.0), (q[j], -budget), upper=0.0)
        model.row((w[j], 1.0), (q[j], -0.05), lower=0.0)
    model.objective((t, 1.0))
    return model.build()


def network_design(*, seed: int = 0, nodes: int = 8, candidates: int = 15, k: int = 9) -> MISDP:
    r"""Network design: k of the candidate edges that make a graph best connected.

    .. math:: \max \; t, \quad \sum_e q_e L_e + \frac{t}{n} J - t I \succeq 0,\;
              \sum_e q_e \le k, \quad q \in \{0, 1\}

    with L_e the weighted Laplacian of an edge: t is the algebraic connectivity (Ghosh and Boyd
    2006).

    Parameters
    ----------
    seed : int, default 0
    nodes, candidates : int
        The candidates hold a spanning path.
    k : int
        Edges to be built, at least nodes - 1.

    Raises
    ------
    ParamError
        When a size is out of range.

    Notes
    -----
    Draws an order of the pairs that are not on the path, then the weights, uniform on [1/2, 3/2].
    The variables are q, then t.
    """
    pairs = list(itertools.combinations(range(nodes), 2))
    if nodes < 2 or not nodes - 1 <= k <= candidates <= len(pairs):
        raise ParamError(
            f"k and candidates must be from nodes - 1 = {nodes - 1} to {len(pairs)}, k the smaller "
            f"one, got {k} and {candidates}"
        )
    rng = stream(seed)
    path = [pair for pair in pairs if pair[1] == pair[0] + 1]
    others = [pair for pair in pairs if pair[1] != pair[0] + 1]
    order = rng.permutation(len(others))[: candidates - len(path)]
    chosen = path + [others[e] for e in order.tolist()]
    weight = 0.5 + rng.random(candidates)
    model = MISDPBuilder("max")
    q = model.variables(candidates, lower=0.0, upper=1.0, integer=True, name="q")
    t = model.variable(lower=0.0, name="t")
    model.row((q, np.ones(candidates)), upper=float(k))
    units = []
    for (i, j), w in zip(chosen, weight.tolist(), strict=True):
        unit = np.zeros((nodes, nodes))
        unit[i, i] = unit[j, j] = w
        unit[i, j] = unit[j, i] = -w
        units.append(unit)
    level = np.full((nodes, nodes), 1.0 / nodes) - np.eye(nodes)
    model.semidefinite((q, units), (t, level), name="connectivity")
    model.objective((t, 1.0))
    return model.build()


def _sparse_rayleigh(C: Array, k: int, sense: Literal["min", "max"]) -> MISDP:
    """Return the extreme value of v'Cv over the unit vectors with at most k nonzeros."""
    n = len(C)
    model = MISDPBuilder(sense)
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
    model.objective((X, C))
    return model.build()


def _selection(
    rng: np.random.Generator, candidates: int, p: int, k: int, sense: Literal["min", "max"]
) -> tuple[MISDPBuilder, Array, list[Array]]:
    """Return a model with binaries q, at most k of them 1, and the matrices a_i a_i'."""
    require_positive(candidates=candidates, p=p, k=k)
    require_at_most("k", k, candidates)
    if k < p:
        raise ParamError(f"k must be at least p = {p}, got {k}")
    rows = rng.standard_normal((candidates, p))
    model = MISDPBuilder(sense)
    q = model.variables(candidates, lower=0.0, upper=1.0, integer=True, name="q")
    model.row((q, np.ones(candidates)), upper=float(k))
    return model, q, [np.outer(a, a) for a in rows]


def random_graph(
    seed: int, nodes: int, density: float
) -> tuple[np.random.Generator, list[tuple[int, int]], Array]:
    """Return the stream of a seed, all pairs i < j, and which of them are edges.

    Parameters
    ----------
    seed, nodes : int
    density : float
        Probability of an edge.

    Returns
    -------
    numpy Generator
    list of (int, int)
        P = nodes (nodes - 1) / 2 pairs.
    bool array of shape (P,)

    Raises
    ------
    ParamError
        When density is not from 0 to 1.
    """
    if not 0.0 <= density <= 1.0:
        raise ParamError(f"density must be from 0 to 1, got {density!r}")
    rng = stream(seed)
    pairs = list(itertools.combinations(range(nodes), 2))
    return rng, pairs, rng.random(len(pairs)) < density


def pair_units(pairs: list[tuple[int, int]], nodes: int) -> list[Array]:
    """Return for each pair the symmetric matrix with a one there."""
    units = np.zeros((len(pairs), nodes, nodes))
    for e, (i, j) in enumerate(pairs):
        units[e, i, j] = units[e, j, i] = 1.0
    return list(units)


def degree_rows(
    model: MISDPBuilder,
    x: Array,
    pairs: list[tuple[int, int]],
    nodes: int,
    lower: float,
    upper: float = np.inf,
) -> None:
    """Bound the sum of the pairs' variables at each node."""
    for i in range(nodes):
        mine = [e for e, pair in enumerate(pairs) if i in pair]
        model.row((x[mine], np.ones(len(mine))), lower=lower, upper=upper)


def _squared(v: Array) -> float:
    """Return ||v||^2, summed in order."""
    return float(np.cumsum(v * v)[-1])


def _gram(A: Array) -> Array:
    """Return A'A, summed row after row: the same on every machine, unlike BLAS."""
    return np.asarray(np.cumsum(A[:, :, None] * A[:, None, :], axis=0)[-1])
