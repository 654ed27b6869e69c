r"""Graphical models with known graphs: the designs of the SPICA paper, its errors mended.

- Scale-free: node j joins one of the nodes max(1, j - reach), ..., j - 1 (the paper prints min, and
  d0/2 for the reach), with a probability proportional to their degrees.
- Block: blocks of 10 nodes, joined up to a distance of 3. A with ones on its diagonal, as printed,
  is not positive definite for rho > .4663; the shift of (5.1) is used for it, too. The graph
  has 2.4 d edges.
- Band: all nodes joined up to a distance of 3.

The precision matrix is :math:`D (A + (|\Lambda_{\min}(A)| + 0.2) I) D` with D = 1 for the first
half of the nodes and 3 for the others. The candidates, which the paper does not define, are the d0
nearest indices, the window shifted at the ends; the paper's sensor data are not public, and
`sensor_field` stands in for them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from sparseopt.errors import ParamError
from sparseopt.generators.draws import require_positive, stream
from sparseopt.problems import Candidates, L0GraphicalModel


@dataclass(frozen=True, eq=False)
class GraphSample:
    """A model and the truth behind it.

    Attributes
    ----------
    model : L0GraphicalModel
    interaction : scipy.sparse array of shape (d, d)
        The precision matrix of a Gaussian model, the couplings of an Ising model.
    """

    model: L0GraphicalModel
    interaction: sp.csr_array

    @property
    def graph(self) -> sp.csr_array:
        """The true edges as a symmetric matrix of truth values."""
        pattern = self.interaction.astype(bool)
        pattern.setdiag(False)
        pattern.eliminate_zeros()
        return sp.csr_array(pattern)

    @property
    def coefficients(self) -> sp.csr_array:
        r"""The true coefficients of every node on the others, row by row.

        :math:`-\Theta_{jk} / \Theta_{jj}` of a Gaussian model, the couplings of an Ising model.
        """
        if self.model.loss == "ising":
            return self.interaction
        scale = sp.diags_array(-1.0 / self.interaction.diagonal())
        out = sp.csr_array(scale @ self.interaction)
        out.setdiag(0.0)
        out.eliminate_zeros()
        return out


def graph_sample(
    design: str,
    n: int = 100,
    d: int = 1000,
    d0: int = 10,
    rho: float = 0.5,
    reach: int = 5,
    seed: int = 0,
) -> GraphSample:
    """Return a sample of the scale-free, block or band graph of the paper's section 5.1.

    Parameters
    ----------
    design : {"scale-free", "block", "band"}
    n, d, d0 : int
        Samples, nodes, and candidates of each node.
    rho : float, default 0.5
        The nonzero off-diagonal entries of A.
    reach : int, default 5
        How many nodes before it a node of the scale-free graph may join.
    seed : int, default 0
        Draws the edges (scale-free only), then the samples.
    """
    require_positive(n=n, d=d, d0=d0, reach=reach)
    rng = stream(seed)
    if design == "scale-free":
        below = _scale_free(rng, d, reach)
    elif design == "block":
        below = [(i, j) for i in range(d) for j in range(max(i - 3, i // 10 * 10), i)]
    elif design == "band":
        below = [(i, j) for i in range(d) for j in range(max(i - 3, 0), i)]
    else:
        raise ParamError(f"design is {design!r}; expected 'scale-free', 'block' or 'band'")
    rows, columns = np.array(below, dtype=np.int64).reshape(-1, 2).T
    width = int((rows - columns).max(initial=0))
    # The band of A above its diagonal, as LAPACK has it: entry (i, j) in row width + i - j.
    band = np.zeros((width + 1, d))
    band[width + columns - rows, rows] = rho
    least = float(scipy.linalg.eigvals_banded(band, select="i", select_range=(0, 0))[0])
    scale = np.where(np.arange(d) < d // 2, 1.0, 3.0)
    band[width] = abs(least) + 0.2
    for offset in range(width + 1):
        band[width - offset, offset:] *= scale[offset:] * scale[: d - offset]
    factor = scipy.linalg.cholesky_banded(band)
    noise = rng.standard_normal((n, d))
    X = scipy.linalg.solve_banded((0, width), factor, noise.T).T
    # The same layout as DIA's, whose rows run along the columns of the matrix.
    offsets = np.arange(width, -1, -1)
    upper = sp.dia_array((band, offsets), shape=(d, d))
    precision = sp.csr_array(upper + sp.triu(upper, 1).T)
    precision.eliminate_zeros()
    model = L0GraphicalModel(np.ascontiguousarray(X), Candidates.window(d, d0))
    return GraphSample(model, precision)


def _scale_free(rng: np.random.Generator, d: int, reach: int) -> list[tuple[int, int]]:
    """Return the edges (new node, older node) of preferential attachment within reach."""
    degree = np.zeros(d)
    edges = []
    for j in range(1, d):
        first = max(0, j - reach)
        weight = degree[first:j] if j > 1 else np.ones(1)
        steps = np.cumsum(weight)
        i = first + int(np.searchsorted(steps, rng.random() * steps[-1], side="right"))
        i = min(i, j - 1)
        degree[[i, j]] += 1.0
        edges.append((j, i))
    return edges


def scale_free_graph(
    n: int = 100, d: int = 1000, d0: int = 10, rho: float = 0.5, reach: int = 5, seed: int = 0
) -> L0GraphicalModel:
    """A Gaussian model on a scale-free graph of neighbouring indices (SPICA, section 5.1).

    Parameters
    ----------
    n : int, default 100
        Observations.
    d : int, default 1000
        Nodes.
    d0 : int, default 10
        Candidates of each node: the nearest indices.
    rho : float, default 0.5
        Of the precision matrix, see :func:`graph_sample`.
    reach : int, default 5
        How many nodes before it a node may join.
    seed : int, default 0

    Returns
    -------
    L0GraphicalModel
    """
    return graph_sample("scale-free", n, d, d0, rho, reach, seed).model


def block_graph(
    n: int = 100, d: int = 1000, d0: int = 10, rho: float = 0.5, seed: int = 0
) -> L0GraphicalModel:
    """A Gaussian model on blocks of 10 nodes (SPICA, section 5.1, its matrix shifted).

    Parameters
    ----------
    n : int, default 100
        Observations.
    d : int, default 1000
        Nodes.
    d0 : int, default 10
        Candidates of each node: the nearest indices.
    rho : float, default 0.5
        Of the precision matrix, see :func:`graph_sample`.
    seed : int, default 0

    Returns
    -------
    L0GraphicalModel
    """
    return graph_sample("block", n, d, d0, rho, seed=seed).model


def band_graph(
    n: int = 100, d: int = 1000, d0: int = 10, rho: float = 0.5, seed: int = 0
) -> L0GraphicalModel:
    """A Gaussian model on a band graph (SPICA, section 5.1).

    Parameters
    ----------
    n : int, default 100
        Observations.
    d : int, default 1000
        Nodes.
    d0 : int, default 10
        Candidates of each node: the nearest indices.
    rho : float, default 0.5
        Of the precision matrix, see :func:`graph_sample`.
    seed : int, default 0

    Returns
    -------
    L0GraphicalModel
    """
    return graph_sample("band", n, d, d0, rho, seed=seed).model


def sensor_field_sample(
    n: int = 98,
    d: int = 500,
    radius: float = 3.0,
    around: float = 24.0,
    share: float = 0.2,
    seed: int = 0,
) -> GraphSample:
    """Return a Gaussian model of sensors scattered in the plane, with its precision matrix.

    Parameters
    ----------
    n, d : int
        Samples and sensors; the paper's field has 98 and 3592.
    radius : float, default 3.0
        Sensors up to this distance (in metres) are candidates.
    around : float, default 24.0
        How many candidates a sensor has far from the edge of the square field.
    share : float, default 0.2
        The share of candidate pairs that are edges.
    seed : int, default 0
        Draws the places, the edges, and the samples.
    """
    require_positive(n=n, d=d)
    if not 0.0 < radius < math.inf or not 0.0 < around < math.inf or not 0.0 <= share <= 1.0:
        raise ParamError("radius and around must be positive, and share between 0 and 1")
    rng = stream(seed)
    side = radius * math.sqrt(d * math.pi / around)
    candidates = Candidates.within(rng.random((d, 2)) * side, radius)
    pairs = sp.triu(candidates.adjacency(), 1).tocoo()
    kept = rng.random(pairs.nnz) < share
    A = sp.coo_array((np.ones(int(kept.sum())), (pairs.row[kept], pairs.col[kept])), shape=(d, d))
    degree = np.asarray((A + A.T).sum(axis=1)).reshape(-1)
    # Diagonally dominant, with partial correlations of about -0.9 over the degree.
    precision = (sp.diags_array(degree / 0.9 + 0.1) - (A + A.T)).toarray()
    factor = np.linalg.cholesky(precision)
    X = scipy.linalg.solve_triangular(factor, rng.standard_normal((d, n)), lower=True, trans="T")
    return GraphSample(
        L0GraphicalModel(np.ascontiguousarray(X.T), candidates), sp.csr_array(precision)
    )


def sensor_field(
    n: int = 98,
    d: int = 500,
    radius: float = 3.0,
    around: float = 24.0,
    share: float = 0.2,
    seed: int = 0,
) -> L0GraphicalModel:
    """A Gaussian model of sensors in the plane: a stand-in for the paper's, which is not public.

    Parameters
    ----------
    n : int, default 98
        Observations.
    d : int, default 500
        Sensors.
    radius : float, default 3.0
        Sensors within this distance are candidates.
    around : float, default 24.0
        Mean number of candidates of a sensor.
    share : float, default 0.2
        The share of candidate pairs that are edges.
    seed : int, default 0

    Returns
    -------
    L0GraphicalModel
    """
    return sensor_field_sample(n, d, radius, around, share, seed).model


def ising_lattice_sample(
    n: int = 200,
    rows: int = 10,
    columns: int = 10,
    rho: float = 0.5,
    reach: int = 2,
    sweeps: int = 200,
    seed: int = 0,
) -> GraphSample:
    """Return an Ising model on a lattice, each sample the end of its own Gibbs chain.

    Parameters
    ----------
    n, rows, columns : int
    rho : float, default 0.5
        The coupling of neighbours, in the paper's scale: the log-odds of a spin are rho times the
        sum of its neighbours.
    reach : int, default 2
        Candidates are the nodes up to so many steps away; the neighbours are one step away.
    sweeps : int, default 200
        Sweeps over the lattice, in two colours.
    seed : int, default 0
        Draws the first spins, then one uniform number for each spin and sweep.
    """
    require_positive(n=n, rows=rows, columns=columns, reach=reach, sweeps=sweeps)
    rng = stream(seed)
    near = Candidates.lattice((rows, columns)).adjacency().astype(float)
    colour = np.add.outer(np.arange(rows), np.arange(columns)).reshape(-1) % 2
    X = np.where(rng.random((n, rows * columns)) < 0.5, -1.0, 1.0)
    for _ in range(sweeps):
        for side in (0, 1):
            nodes = np.flatnonzero(colour == side)
            field = rho * (near[nodes] @ X.T).T
            up = rng.random(field.shape) * (1.0 + np.exp(-field)) < 1.0
            X[:, nodes] = np.where(up, 1.0, -1.0)
    model = L0GraphicalModel(
        X.astype(np.int8), Candidates.lattice((rows, columns), reach=reach), loss="ising"
    )
    return GraphSample(model, sp.csr_array(near * rho))


def ising_lattice(
    n: int = 200,
    rows: int = 10,
    columns: int = 10,
    rho: float = 0.5,
    reach: int = 2,
    sweeps: int = 200,
    seed: int = 0,
) -> L0GraphicalModel:
    """An Ising model on a lattice, by Gibbs sampling.

    Parameters
    ----------
    n : int, default 200
        Observations.
    rows, columns : int, default 10
        Size of the lattice.
    rho : float, default 0.5
        The coupling of neighbours, on the paper's scale.
    reach : int, default 2
        Nodes within this many steps are candidates.
    sweeps : int, default 200
        Gibbs sweeps before each observation is taken.
    seed : int, default 0

    Returns
    -------
    L0GraphicalModel
    """
    return ising_lattice_sample(n, rows, columns, rho, reach, sweeps, seed).model
