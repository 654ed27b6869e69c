"""Points in a subspace among outliers."""

from __future__ import annotations

import numpy as np

from sparseopt.errors import ParamError
from sparseopt.generators.draws import require_at_most, require_positive, stream
from sparseopt.problems import RobustSubspace

__all__ = ["haystack", "outlier_columns"]

_OUTLIERS = ("independent", "repeated")


def outlier_columns(
    N: int = 400,
    n: int = 400,
    k: int = 10,
    delta: float = 0.05,
    outliers: str = "independent",
    seed: int = 0,
) -> RobustSubspace:
    """Return points in a k-dimensional subspace of which a share delta is replaced by outliers.

    Figure 1b of Takhanov (2021), after Xu, Caramanis, Sanghavi (2010). Draws the matrix A
    (n x k), the coordinates B of the round(N - delta N) inliers, whose points are the rows of BA',
    and the outliers, all standard normal.

    Parameters
    ----------
    N, n, k : int
        Points, coordinates and dimension.
    delta : float, default 0.05
        Share of outliers, 0 <= delta < 1.
    outliers : {"independent", "repeated"}
        Case I: independent points; case II: copies of one.
    seed : int, default 0

    Raises
    ------
    ParamError
        When a setting is out of range.

    References
    ----------
    Takhanov: Dimension reduction as an optimization problem over a set of generalized functions
    (2021), figure 1b. Xu, Caramanis, Sanghavi: Robust PCA via outlier pursuit (2010).
    """
    require_positive(N=N, n=n, k=k)
    require_at_most("k", k, n)
    if not 0.0 <= delta < 1.0:
        raise ParamError(f"delta is {delta}; expected the share of outliers, 0 <= delta < 1")
    if outliers not in _OUTLIERS:
        raise ParamError(f"outliers is {outliers!r}; expected one of {', '.join(_OUTLIERS)}")
    rng, count = stream(seed), round(delta * N)
    A, B = rng.standard_normal((n, k)), rng.standard_normal((N - count, k))
    if outliers == "independent":
        C = rng.standard_normal((count, n))
    else:
        C = np.tile(rng.standard_normal(n), (count, 1))
    return RobustSubspace(X=np.vstack([np.einsum("ik,jk->ij", B, A), C]), k=k)


def haystack(
    N: int = 400,
    n: int = 20,
    k: int = 3,
    inliers: float = 0.3,
    noise: float = 0.0,
    seed: int = 0,
) -> RobustSubspace:
    r"""Return the haystack model: normal points in the first k coordinates, and in all of them.

    The first round(inliers N) points are normal with the covariance I / k in the first k
    coordinates, the others with I / n in all; to all comes normal noise with the covariance
    noise^2 I / n. Draws inliers, outliers and noise in this order.

    Parameters
    ----------
    N, n, k : int
        Points, coordinates and dimension.
    inliers : float, default 0.3
        Share of points in the subspace, from 0 to 1.
    noise : float, default 0
        Root mean square length of the noise.
    seed : int, default 0

    Raises
    ------
    ParamError
        When a setting is out of range.

    References
    ----------
    Lerman, McCoy, Tropp, Zhang: Robust computation of linear models by convex relaxation (2015),
    section 1.
    """
    require_positive(N=N, n=n, k=k)
    require_at_most("k", k, n)
    if not 0.0 <= inliers <= 1.0:
        raise ParamError(f"inliers is {inliers}; expected a share from 0 to 1")
    if not 0.0 <= noise < np.inf:
        raise ParamError(f"noise is {noise}; expected a length >= 0")
    rng, count = stream(seed), round(inliers * N)
    X = np.zeros((N, n))
    X[:count, :k] = rng.standard_normal((count, k)) / np.sqrt(k)
    X[count:] = rng.standard_normal((N - count, n)) / np.sqrt(n)
    X += noise * rng.standard_normal((N, n)) / np.sqrt(n)
    return RobustSubspace(X=X, k=k)
