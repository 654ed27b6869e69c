"""Points in a subspace among outliers, along curves, and with responses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sparseopt.errors import ParamError
from sparseopt.generators.draws import require_at_most, require_positive, stream
from sparseopt.problems import (
    L1Subspace,
    MMDSubspace,
    MomentSubspace,
    RobustSubspace,
    SufficientReduction,
)
from sparseopt.problems.base import Array

_OUTLIERS = ("independent", "repeated")
_CURVES: dict[str, Callable[[Array], Array]] = {
    "parabola": lambda x: 0.4 * x**2,
    "sine": lambda x: 4.0 * np.sin(x / 3.0),
    "cubic": lambda x: 2.0 * x - 0.04 * x**3,
}
"""Through 0, bent there or further out, for x from -10 to 10."""
_MODELS = ("rational", "quadratic", "classes")


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


def corrupted_entries(
    N: int = 200, n: int = 20, k: int = 2, share: float = 0.1, seed: int = 0
) -> L1Subspace:
    """Return points in a k-dimensional subspace, a share of whose entries are far off.

    The model of principal component pursuit. Draws the matrix A (n x k) and the coordinates B of
    the points BA', all standard normal, then which round(share N n) entries are corrupted, then
    what is added to them, uniform on [-10, 10].

    Parameters
    ----------
    N, n, k : int
        Points, coordinates and dimension.
    share : float, default 0.1
        Of the entries, 0 <= share < 1.
    seed : int, default 0

    Raises
    ------
    ParamError
        When a setting is out of range.

    References
    ----------
    Candes, Li, Ma, Wright: Robust principal component analysis?, Journal of the ACM 58 (2011).
    """
    require_positive(N=N, n=n, k=k)
    require_at_most("k", k, n)
    if not 0.0 <= share < 1.0:
        raise ParamError(f"share is {share}; expected the share of corrupted entries, from 0 to 1")
    rng, count = stream(seed), round(share * N * n)
    A, B = rng.standard_normal((n, k)), rng.standard_normal((N, k))
    X = np.einsum("ik,jk->ij", B, A)
    X.flat[rng.permutation(N * n)[:count]] += rng.uniform(-10.0, 10.0, count)
    return L1Subspace(X=X, k=k)


def bent_curve(
    N: int = 200, curve: str = "parabola", bandwidth: float = 0.5, seed: int = 0
) -> MMDSubspace:
    r"""Return points along a bent curve in the plane through 0, with noise.

    Figure 1a of Takhanov (2021), whose curves the text does not give. Draws x uniform on
    [-10, 10], then the noise of both coordinates, normal with variance 0.01. The points are not
    centred: a line through 0 is sought.

    Parameters
    ----------
    N : int
    curve : {"parabola", "sine", "cubic"}
        :math:`0.4 x^2`, :math:`4 \sin(x/3)`, or :math:`2x - 0.04 x^3`: the tangents at 0 have the
        slopes 0, 4/3 and 2.
    bandwidth : float, default 0.5
        Of the problem.
    seed : int, default 0

    Raises
    ------
    ParamError
        When a setting is out of range.
    """
    require_positive(N=N)
    if curve not in _CURVES:
        raise ParamError(f"curve is {curve!r}; expected one of {', '.join(_CURVES)}")
    rng = stream(seed)
    x = rng.uniform(-10.0, 10.0, N)
    X = np.column_stack([x, _CURVES[curve](x)]) + 0.1 * rng.standard_normal((N, 2))
    return MMDSubspace(X=X, k=1, bandwidth=bandwidth)


def two_directions(
    N: int = 200, angle: float = 60.0, bandwidth: float = 0.5, seed: int = 0
) -> MMDSubspace:
    """Return points along two lines of the plane that count alike; PCA finds neither.

    Figure 1a of Takhanov (2021), fourth picture. The first N // 2 points lie at half the angle
    above the first axis, the others below. Draws their places, uniform on [-10, 10], then noise as
    in :func:`bent_curve`.

    Parameters
    ----------
    N : int
    angle : float, default 60
        Between the lines, in degrees, from 0 to 180.
    bandwidth : float, default 0.5
        Of the problem.
    seed : int, default 0

    Raises
    ------
    ParamError
        When a setting is out of range.
    """
    require_positive(N=N)
    if not 0.0 < angle < 180.0:
        raise ParamError(f"angle is {angle}; expected degrees between 0 and 180")
    rng, half = stream(seed), np.deg2rad(angle / 2.0)
    places = rng.uniform(-10.0, 10.0, N)
    side = np.where(np.arange(N) < N // 2, 1.0, -1.0)
    X = np.column_stack([places * np.cos(half), places * side * np.sin(half)])
    return MMDSubspace(X=X + 0.1 * rng.standard_normal((N, 2)), k=1, bandwidth=bandwidth)


def skewed_directions(N: int = 500, n: int = 8, k: int = 2, seed: int = 0) -> MomentSubspace:
    """Return points whose covariance is that of the sphere, but k of whose coordinates are skewed.

    The first k coordinates are exponential less 1, the others normal; all have variance 1, so that
    principal components say nothing. Draws the former, then the latter. Moments of order 3 and 4
    are compared.

    Parameters
    ----------
    N, n, k : int
        Points, coordinates and skewed ones.
    seed : int, default 0

    Raises
    ------
    ParamError
        When a setting is out of range.
    """
    require_positive(N=N, n=n, k=k)
    require_at_most("k", k, n)
    rng = stream(seed)
    X = np.hstack([rng.standard_exponential((N, k)) - 1.0, rng.standard_normal((N, n - k))])
    return MomentSubspace(X=X - X.mean(axis=0), k=k, weights=np.array([0.0, 0.0, 1.0, 1.0]))


def index_model(
    N: int = 200, n: int = 6, model: str = "rational", noise: float = 0.2, seed: int = 0
) -> SufficientReduction:
    r"""Return normal points and a response of their first two coordinates.

    Draws X, then the noise of the response.

    Parameters
    ----------
    N, n : int
        Points and coordinates, at least 3.
    model : {"rational", "quadratic", "classes"}
        :math:`y = x_1 / (0.5 + (x_2 + 1.5)^2)` after Li (1991), :math:`x_1^2 + x_2`, or the
        quadrant of (x_1, x_2) as a class.
    noise : float, default 0.2
        Standard deviation of what is added to y; for classes, to the coordinates.
    seed : int, default 0

    Raises
    ------
    ParamError
        When a setting is out of range.

    References
    ----------
    Li: Sliced inverse regression for dimension reduction, JASA 86 (1991), model (6.3).
    """
    require_positive(N=N, n=n)
    if n < 3:
        raise ParamError(f"n is {n}; expected at least 3 coordinates, of which two matter")
    if model not in _MODELS:
        raise ParamError(f"model is {model!r}; expected one of {', '.join(_MODELS)}")
    if not 0.0 <= noise < np.inf:
        raise ParamError(f"noise is {noise}; expected a standard deviation >= 0")
    rng = stream(seed)
    X, e = rng.standard_normal((N, n)), noise * rng.standard_normal((N, 2))
    u, v = X[:, 0], X[:, 1]
    if model == "classes":
        y = 2.0 * (u + e[:, 0] > 0.0) + (v + e[:, 1] > 0.0)
        return SufficientReduction(X=X, y=y, k=2, task="classification")
    y = u / (0.5 + (v + 1.5) ** 2) if model == "rational" else u**2 + v
    return SufficientReduction(X=X, y=y + e[:, 0], k=2)
