"""Mixed-integer semidefinite programs over graphs: bisections, stable sets, lines to switch."""

from __future__ import annotations

import math

import numpy as np

from sparseopt.errors import ParamError
from sparseopt.generators.misdp import degree_rows, pair_units, random_graph
from sparseopt.problems import MISDP, MISDPBuilder


def minimum_bisection(*, seed: int = 0, nodes: int = 10, density: float = 0.5) -> MISDP:
    r"""Minimum bisection: two halves of a graph with the least weight between them.

    .. math:: \min \sum_{i < j} w_{ij} (1 - x_{ij}), \quad 2 X + 2 I - J \succeq 0,\;
              \sum_{j \ne i} x_{ij} = \tfrac{n}{2} - 1, \quad x \in \{0, 1\}

    with X the symmetric matrix of the x_ij with zeros on its diagonal: x_ij = 1 where i and j are
    in one half (Frieze and Jerrum 1997).

    Parameters
    ----------
    seed : int, default 0
    nodes : int
        Even.
    density : float
        Probability of an edge; weights are integers from 1 to 10.

    Raises
    ------
    ParamError
        When nodes is odd or below 2, or density not from 0 to 1.

    Notes
    -----
    Draws for each pair i < j whether there is an edge, then for all pairs the weights.
    """
    if nodes < 2 or nodes % 2:
        raise ParamError(f"nodes must be even and at least 2, got {nodes}")
    rng, pairs, edge = random_graph(seed, nodes, density)
    weight = (rng.integers(1, 11, len(pairs)) * edge).astype(float)
    model = MISDPBuilder("min")
    x = model.variables(len(pairs), lower=0.0, upper=1.0, integer=True, name="together")
    degree_rows(model, x, pairs, nodes, lower=nodes / 2 - 1.0, upper=nodes / 2 - 1.0)
    units = [2.0 * unit for unit in pair_units(pairs, nodes)]
    constant = 2.0 * np.eye(nodes) - np.ones((nodes, nodes))
    model.semidefinite((x, units), constant=constant, name="halves")
    model.objective((x, -weight), offset=float(weight.sum()))
    return model.build()


def stable_set(*, seed: int = 0, nodes: int = 10, density: float = 0.4) -> MISDP:
    r"""Heaviest stable set of a graph, by Lovasz' matrix.

    .. math:: \max \sum_i w_i x_i, \quad
              \begin{pmatrix} 1 & x' \\ x & X \end{pmatrix} \succeq 0,\;
              X_{ii} = x_i,\; X_{ij} = 0 \text{ on edges}, \quad x \in \{0, 1\}

    with the other X_ij from 0 to 1 (Lovasz 1979; Lovasz and Schrijver 1991).

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
    Draws for each pair i < j whether there is an edge, then the weights. The variables are x, then
    the X_ij of pairs without an edge.
    """
    if nodes < 2:
        raise ParamError(f"nodes must be at least 2, got {nodes}")
    rng, pairs, edge = random_graph(seed, nodes, density)
    weight = rng.integers(1, 11, nodes).astype(float)
    free = [(i + 1, j + 1) for (i, j), taken in zip(pairs, edge.tolist(), strict=True) if not taken]
    model = MISDPBuilder("max")
    x = model.variables(nodes, lower=0.0, upper=1.0, integer=True, name="x")
    X = model.variables(len(free), lower=0.0, upper=1.0, name="X")
    bordered = pair_units([(0, i + 1) for i in range(nodes)], nodes + 1)
    for i, unit in enumerate(bordered):
        unit[i + 1, i + 1] = 1.0
    corner = np.zeros((nodes + 1, nodes + 1))
    corner[0, 0] = 1.0
    others = [(X, pair_units(free, nodes + 1))] if free else []
    model.semidefinite((x, bordered), *others, constant=corner, name="Lovasz")
    model.objective((x, weight))
    return model.build()


def line_switching(
    *, seed: int = 0, nodes: int = 7, density: float = 0.7, connectivity: float = 0.35
) -> MISDP:
    r"""Lines of a network to be kept, at the least cost, for a given connectivity.

    .. math:: \min \sum_e c_e q_e, \quad \sum_e q_e L_e + \frac{2 t}{n} J - t I \succeq 0, \quad
              q \in \{0, 1\}

    with L_e the weighted Laplacian of a line: what is kept has an algebraic connectivity of t at
    least (Ghosh and Boyd 2006, turned around).

    Parameters
    ----------
    seed : int, default 0
    nodes : int
        At least 2.
    density : float
        Probability of a line; a path through all nodes is there in any case.
    connectivity : float
        t as a part of the connectivity of all lines, from 0 to 1.

    Raises
    ------
    ParamError
        When nodes is below 2, or another setting not from 0 to 1.

    Notes
    -----
    Draws for each pair i < j whether there is a line, the weights, uniform on [1/2, 3/2], and the
    costs, uniform on [1, 2].
    """
    if nodes < 2:
        raise ParamError(f"nodes must be at least 2, got {nodes}")
    if not (math.isfinite(connectivity) and 0.0 <= connectivity <= 1.0):
        raise ParamError(f"connectivity must be from 0 to 1, got {connectivity!r}")
    rng, pairs, drawn = random_graph(seed, nodes, density)
    path = np.array([j == i + 1 for i, j in pairs])
    kept = [pairs[e] for e in np.flatnonzero(drawn | path).tolist()]
    weight, cost = 0.5 + rng.random(len(kept)), 1.0 + rng.random(len(kept))
    units = []
    for (i, j), w in zip(kept, weight.tolist(), strict=True):
        unit = np.zeros((nodes, nodes))
        unit[i, i] = unit[j, j] = w
        unit[i, j] = unit[j, i] = -w
        units.append(unit)
    whole = float(np.linalg.eigvalsh(np.sum(units, axis=0))[1])
    # To ten digits, the same on every machine.
    level = float(f"{connectivity * whole:.9e}")
    model = MISDPBuilder("min")
    q = model.variables(len(kept), lower=0.0, upper=1.0, integer=True, name="line")
    constant = level * (np.full((nodes, nodes), 2.0 / nodes) - np.eye(nodes))
    model.semidefinite((q, units), constant=constant, name="connectivity")
    model.objective((q, cost))
    return model.build()
