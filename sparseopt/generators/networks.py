"""Gaussian data for CLIME and for differential networks (section 4.4 of the paper)."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import cholesky, inv, solve_triangular

from sparseopt.errors import ParamError
from sparseopt.generators.draws import require_positive, require_share, stream
from sparseopt.problems import CLIME, DifferentialNetwork
from sparseopt.problems.base import Array


def gaussian_chain(*, seed: int = 0, n: int = 200, d: int = 100, neighbour: float = 0.4) -> Array:
    r"""Return n observations of a Gaussian chain: precision 1 on the diagonal, `neighbour` beside.

    Parameters
    ----------
    seed : int, default 0
    n, d : int
        Observations, at least 2, and variables.
    neighbour : float, default 0.4
        The entries :math:`\Omega_{i,i+1} = \Omega_{i+1,i}`, between -0.5 and 0.5.

    Returns
    -------
    X : array of shape (n, d)

    Raises
    ------
    ParamError
        When a size is too small, or abs(neighbour) > 0.5.

    Notes
    -----
    Draws: n d standard normals Z by rows. With the Cholesky factor :math:`\Omega = LL'`, which has
    two diagonals, the rows of X solve :math:`L'x = z`, from the last entry to the first.
    """
    require_positive(n=n, d=d)
    _require_two(n)
    if not abs(neighbour) <= 0.5:
        raise ParamError(f"neighbour must be between -0.5 and 0.5, got {neighbour!r}")
    diagonal, below = np.ones(d), np.zeros(d)
    for j in range(1, d):
        below[j] = neighbour / diagonal[j - 1]
        diagonal[j] = math.sqrt(1.0 - below[j] * below[j])
    X = stream(seed).standard_normal((n, d))
    X[:, -1] /= diagonal[-1]
    for j in range(d - 2, -1, -1):
        X[:, j] = (X[:, j] - below[j + 1] * X[:, j + 1]) / diagonal[j]
    return X


def clime(*, seed: int = 0, n: int = 200, d: int = 100, neighbour: float = 0.4) -> CLIME:
    """CLIME on the covariance of a Gaussian chain, whose precision matrix is tridiagonal.

    Parameters
    ----------
    seed, n, d, neighbour
        As in :func:`gaussian_chain`, whose data these are.
    """
    return CLIME.from_data(gaussian_chain(seed=seed, n=n, d=d, neighbour=neighbour))


def networks_44(
    *, seed: int = 0, n: int = 100, d: int = 25, sparsity: float = 0.02
) -> tuple[Array, Array, Array]:
    r"""Return (x, y, D1) of section 4.4: two populations and the sparse part of their difference.

    .. math:: \Sigma_X = U'\Lambda U,\quad \Omega_Y = \Omega_X + D,\quad
              D = D_1 + 2 |\lambda_{\min}(D_1)|\, I

    with Lambda diagonal and uniform on [1, 2], U standard normal, and D1 symmetric with standard
    normal entries at random places.

    Parameters
    ----------
    seed : int, default 0
    n, d : int
        Observations of each population, at least 2, and variables.
    sparsity : float, default 0.02
        Share of nonzeros of D1 among the entries on and above the diagonal, rounded to a whole
        number of at least 1. The paper has 0.02 for d = 25, 50, 100 and 0.002 for 150 and 200.

    Returns
    -------
    x, y : arrays of shape (n, d)
    D1 : array of shape (d, d)

    Raises
    ------
    ParamError
        When a size is too small, or sparsity is not in (0, 1].

    Notes
    -----
    Draws, in this order: the diagonal of Lambda (d uniforms), U by rows (d^2 normals), the places
    of D1 (``choice`` without replacement among the entries on and above the diagonal by rows, then
    sorted), their values (normals), the standard normals behind x, then behind y, by rows.

    The matrices are inverted and factorised by LAPACK: between machines the data agree to rounding,
    not to the last bit.
    """
    require_positive(n=n, d=d)
    _require_two(n)
    require_share("sparsity", sparsity)
    rng = stream(seed)
    scales = rng.uniform(1.0, 2.0, size=d)
    U = rng.standard_normal((d, d))
    rows, columns = np.triu_indices(d)
    chosen = np.sort(rng.choice(len(rows), size=max(1, round(sparsity * len(rows))), replace=False))
    D1 = np.zeros((d, d))
    D1[rows[chosen], columns[chosen]] = rng.standard_normal(len(chosen))
    D1 += np.triu(D1, 1).T
    root = np.sqrt(scales)[:, None] * U
    inverse = inv(root)
    shift = 2.0 * abs(float(np.linalg.eigvalsh(D1)[0]))
    factor = cholesky(inverse @ inverse.T + D1 + shift * np.eye(d), lower=True)
    x = rng.standard_normal((n, d)) @ root
    y = solve_triangular(factor, rng.standard_normal((n, d)).T, lower=True, trans="T").T
    return x, np.ascontiguousarray(y), D1


def differential_network_44(
    *, seed: int = 0, n: int = 100, d: int = 25, sparsity: float = 0.02
) -> DifferentialNetwork:
    """Differential network on the design of section 4.4.

    Parameters
    ----------
    seed, n, d, sparsity
        As in :func:`networks_44`, whose data these are.
    """
    x, y, _ = networks_44(seed=seed, n=n, d=d, sparsity=sparsity)
    return DifferentialNetwork.from_samples(x, y)


def _require_two(n: int) -> None:
    if n < 2:
        raise ParamError(f"n must be at least 2 for a covariance, got {n}")
