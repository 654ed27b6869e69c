r"""Synthetic instances by name, size and seed.

Every design is a plain function, and has a name under which ``sparseopt generate NAME`` and
:func:`generate` find it. All random numbers come from one ``numpy.random.Generator(PCG64(seed))``
and are drawn in the order that each docstring gives; sums are taken in a fixed order, without
BLAS. So a name, a size and a seed always give the same problem, as long as NumPy keeps the
streams of its generators.

lam is always on the scale of :math:`X'(y - X\theta)`, or of that divided by n where
``scale="n"``; :func:`stopping_value` gives the values that are usual for a design.

References
----------
Pang, Zhao, Vanderbei, Liu: Homotopy parametric simplex method for sparse learning, sections 4.1
and 4.3. Candes, Tao (2007): The Dantzig selector, Annals of Statistics 35.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any, Literal, cast

import numpy as np

from sparseopt.backend import Option
from sparseopt.errors import ParamError
from sparseopt.problems import (
    DantzigSelector,
    LADLasso,
    ParametricLP,
    Pieces,
    PiecewiseLinearProgram,
    Problem,
)
from sparseopt.problems.base import Array

__all__ = [
    "dantzig_41",
    "dantzig_43",
    "describe",
    "generate",
    "lad_41",
    "lad_43",
    "names",
    "parametric_lp",
    "piecewise_linear",
    "provenance",
    "regression_41",
    "regression_43",
    "settings",
    "stopping_value",
]

Noise = Literal["normal", "t2"]
Normals = Callable[[Any], Array]


# ---- by name


def names() -> list[str]:
    """Return the names of all generators."""
    return list(_DESIGNS)


def describe(name: str) -> str:
    """Return one sentence about a generator.

    Raises
    ------
    ParamError
        When there is none of that name.
    """
    return (inspect.getdoc(_design(name)) or "").partition("\n")[0]


def settings(name: str) -> dict[str, Any]:
    """Return the settings of a generator with their defaults (the seed is not one of them).

    Raises
    ------
    ParamError
        When there is no generator of that name.

    Examples
    --------
    >>> settings("dantzig-4.1")["d"]
    250
    """
    parameters = inspect.signature(_design(name)).parameters
    return {key: p.default for key, p in parameters.items() if key != "seed"}


def generate(name: str, *, seed: int = 0, **chosen: Any) -> Problem:
    """Return the problem of a name, a seed and settings.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    seed : int, default 0
    **chosen
        Some of :func:`settings`. A string, as the command line gives it, is converted to the type
        of the default.

    Raises
    ------
    ParamError
        When the name or a setting is unknown, or a value has the wrong type or range.

    Examples
    --------
    >>> generate("dantzig-4.3", seed=1, n=20, d=50)
    DantzigSelector(n=20, d=50)
    """
    return _design(name)(seed=_seed(seed), **_converted(name, chosen))


def provenance(name: str, *, seed: int = 0, **chosen: Any) -> dict[str, Any]:
    """Return what an instance file should say of its origin, ready for JSON.

    Returns
    -------
    dict
        ``name``, ``seed``, ``settings`` (all of them) and, for regression designs, ``lam``: the
        recommended smallest values of lam, ``noise`` and ``paper`` (see :func:`stopping_value`).

    Raises
    ------
    ParamError
        As :func:`generate`.
    """
    full = {**settings(name), **_converted(name, chosen)}
    record: dict[str, Any] = {"name": name, "seed": _seed(seed), "settings": full}
    if name in _PAPER_FACTOR:
        kept = {key: full[key] for key in ("n", "d", "unit", "sigma", "scale") if key in full}
        if name.startswith("lad"):
            kept.pop("sigma")
        record["lam"] = {
            "noise": stopping_value(**kept),
            "paper": stopping_value(**kept, factor=_PAPER_FACTOR[name]),
        }
    return record


def stopping_value(
    n: int,
    d: int,
    *,
    sigma: float = 1.0,
    unit: bool = False,
    scale: str = "none",
    factor: float = math.sqrt(2.0),
) -> float:
    r"""Return :math:`\lambda = f \sigma \nu \sqrt{\log d}`, where nu is the norm of the columns.

    The largest of the d entries of :math:`X'\epsilon`, normal with the standard deviation
    :math:`\sigma\nu`, is about :math:`\sigma \nu \sqrt{2 \log d}`: below that value a path fits
    noise.

    Parameters
    ----------
    n, d : int
        Rows and columns of X.
    sigma : float, default 1
        Standard deviation of the noise. The LAD-lasso sees only signs: leave it at 1 there.
    unit : bool, default False
        Columns of norm 1 instead of :math:`\sqrt n`.
    scale : {"none", "n"}, default "none"
        "n" divides the value by n, as the problem's own `scale` does.
    factor : float, default sqrt(2)
        The f above: sqrt(2) is the level of the noise; 1 is the rule of the paper's section 4.1,
        :math:`\sigma n \sqrt{\log d / n}`; 2 is that of section 4.3,
        :math:`2 \sigma \sqrt{\log d / n}`, which the paper states for X'X / n.

    Examples
    --------
    >>> round(stopping_value(100, 250), 3)
    33.231
    """
    value = factor * sigma * (1.0 if unit else math.sqrt(n)) * math.sqrt(math.log(d))
    return value / n if scale == "n" else value


# ---- the regression designs of the paper


def regression_41(
    *,
    seed: int = 0,
    n: int = 100,
    d: int = 250,
    s: int = 8,
    sigma: float = 1.0,
    unit: bool = False,
    absolute: bool = False,
    noise: Noise = "normal",
) -> tuple[Array, Array, Array]:
    r"""Return (X, y, theta) of section 4.1: s coefficients of random sign and size.

    X is Gaussian with columns scaled to one norm, s entries of theta are
    :math:`\theta_i = s_i (1 + a_i)` with random signs :math:`s_i` and standard normal
    :math:`a_i`, and :math:`y = X\theta + \sigma\epsilon`.

    Parameters
    ----------
    seed : int, default 0
    n, d, s : int
        Rows, columns, nonzero coefficients.
    sigma : float, default 1
        Scale of the noise (of "normal": its standard deviation).
    unit : bool, default False
        Scale the columns to norm 1 instead of :math:`\sqrt n`. The paper says "a given norm"; its
        stopping rule is that of :math:`\sqrt n`.
    absolute : bool, default False
        Use :math:`1 + |a_i|`, as Candes and Tao did, so that no coefficient is close to 0. The
        paper prints :math:`1 + a_i`.
    noise : {"normal", "t2"}, default "normal"
        Standard normal, or Student's t with two degrees of freedom (infinite variance).

    Returns
    -------
    X : array of shape (n, d)
    y : array of shape (n,)
    theta : array of shape (d,)

    Raises
    ------
    ParamError
        When a size is not positive, s > d, or sigma < 0.

    Notes
    -----
    Draws, in this order: X by rows (n d standard normals), the support (``choice`` of s out of d
    without replacement, then sorted), the signs (s integers 0 or 1), a (s normals), the noise
    (n normals or t variates).
    """
    _positive(n=n, d=d, s=s)
    _at_most("s", s, d)
    rng = _rng(seed)
    X = _columns(rng, n, d, unit)
    support = np.sort(rng.choice(d, size=s, replace=False))
    signs = 2.0 * rng.integers(0, 2, size=s) - 1.0
    a = rng.standard_normal(s)
    theta = np.zeros(d)
    theta[support] = signs * (1.0 + (np.abs(a) if absolute else a))
    return X, _response(rng, X, theta, sigma, noise), theta


def regression_43(
    *,
    seed: int = 0,
    n: int = 200,
    d: int = 500,
    density: float = 0.02,
    sigma: float = 1.0,
    unit: bool = False,
    noise: Noise = "normal",
) -> tuple[Array, Array, Array]:
    r"""Return (X, y, theta) of section 4.3: a share of standard normal coefficients.

    Parameters
    ----------
    seed : int, default 0
    n, d : int
        Rows and columns; the paper has n = 200 and d from 100 to 5000.
    density : float, default 0.02
        Share of nonzero coefficients, rounded to a whole number of at least 1.
    sigma, unit, noise
        As in :func:`regression_41`.

    Returns
    -------
    X : array of shape (n, d)
    y : array of shape (n,)
    theta : array of shape (d,)

    Raises
    ------
    ParamError
        When a size is not positive, density is not in (0, 1], or sigma < 0.

    Notes
    -----
    Draws, in this order: X by rows (n d standard normals), the support (``choice`` without
    replacement, then sorted), its coefficients (normals), the noise (n normals or t variates).
    """
    _positive(n=n, d=d)
    if not 0.0 < density <= 1.0:
        raise ParamError(f"density must be in (0, 1], got {density!r}")
    rng = _rng(seed)
    X = _columns(rng, n, d, unit)
    s = max(1, round(density * d))
    support = np.sort(rng.choice(d, size=s, replace=False))
    theta = np.zeros(d)
    theta[support] = rng.standard_normal(s)
    return X, _response(rng, X, theta, sigma, noise), theta


def dantzig_41(
    *,
    seed: int = 0,
    n: int = 100,
    d: int = 250,
    s: int = 8,
    sigma: float = 1.0,
    unit: bool = False,
    absolute: bool = False,
    scale: str = "none",
) -> DantzigSelector:
    """Dantzig selector on the design of section 4.1, after the example of Candes and Tao.

    Parameters
    ----------
    seed, n, d, s, sigma, unit, absolute
        As in :func:`regression_41`, whose data these are.
    scale : {"none", "n"}, default "none"
        The scale of lam, see :class:`~sparseopt.problems.DantzigSelector`.
    """
    X, y, _ = regression_41(seed=seed, n=n, d=d, s=s, sigma=sigma, unit=unit, absolute=absolute)
    return DantzigSelector(X, y, scale=_choice("scale", scale, "none", "n"))


def dantzig_43(
    *,
    seed: int = 0,
    n: int = 200,
    d: int = 500,
    density: float = 0.02,
    sigma: float = 1.0,
    unit: bool = False,
    scale: str = "none",
) -> DantzigSelector:
    """Dantzig selector on the design of section 4.3, the paper's timing benchmark.

    Parameters
    ----------
    seed, n, d, density, sigma, unit
        As in :func:`regression_43`, whose data these are.
    scale : {"none", "n"}, default "none"
        The scale of lam, see :class:`~sparseopt.problems.DantzigSelector`.
    """
    X, y, _ = regression_43(seed=seed, n=n, d=d, density=density, sigma=sigma, unit=unit)
    return DantzigSelector(X, y, scale=_choice("scale", scale, "none", "n"))


def lad_41(
    *,
    seed: int = 0,
    n: int = 100,
    d: int = 250,
    s: int = 8,
    sigma: float = 1.0,
    unit: bool = False,
    absolute: bool = False,
    fit_intercept: bool = False,
) -> LADLasso:
    """LAD-lasso on the design of section 4.1 with t(2) noise instead of normal noise.

    Parameters
    ----------
    seed, n, d, s, sigma, unit, absolute
        As in :func:`regression_41` with ``noise="t2"``, whose data these are.
    fit_intercept : bool, default False
        See :class:`~sparseopt.problems.LADLasso`; the true intercept is 0.
    """
    X, y, _ = regression_41(
        seed=seed, n=n, d=d, s=s, sigma=sigma, unit=unit, absolute=absolute, noise="t2"
    )
    return LADLasso(X, y, fit_intercept=fit_intercept)


def lad_43(
    *,
    seed: int = 0,
    n: int = 200,
    d: int = 500,
    density: float = 0.02,
    sigma: float = 1.0,
    unit: bool = False,
    fit_intercept: bool = False,
) -> LADLasso:
    """LAD-lasso on the design of section 4.3 with t(2) noise instead of normal noise.

    Parameters
    ----------
    seed, n, d, density, sigma, unit
        As in :func:`regression_43` with ``noise="t2"``, whose data these are.
    fit_intercept : bool, default False
        See :class:`~sparseopt.problems.LADLasso`; the true intercept is 0.
    """
    X, y, _ = regression_43(
        seed=seed, n=n, d=d, density=density, sigma=sigma, unit=unit, noise="t2"
    )
    return LADLasso(X, y, fit_intercept=fit_intercept)


# ---- linear programs


def parametric_lp(
    *,
    seed: int = 0,
    m: int = 20,
    n: int = 30,
    form: str = "inequality",
    integer: bool = False,
) -> ParametricLP:
    r"""Random parametric LP, feasible and bounded for every lam >= 0.

    A is Gaussian. With nonnegative x, x1, s, s1, z, z1, half of whose entries are zero, and
    multipliers u, u1,

    .. math:: b = Ax + s,\; \bar b = Ax_1 + s_1,\quad c = A'u - z,\; \bar c = A'u_1 - z_1:

    :math:`x + \lambda x_1` is feasible and :math:`u + \lambda u_1` is dual feasible for every
    lam >= 0. In the equality form s = s1 = 0, and u, u1 may have any sign; in the inequality form
    they are nonnegative, half of them zero.

    Parameters
    ----------
    seed : int, default 0
    m, n : int
        Rows and columns; the equality form needs m <= n.
    form : {"inequality", "equality"}, default "inequality"
        (1.3) or (1.2) of the paper.
    integer : bool, default False
        Round 2 times every random number to an integer: small integer data, many ties.

    Raises
    ------
    ParamError
        When a size is not positive, form is unknown, or m > n in the equality form.

    Notes
    -----
    Draws, in this order: A by rows (m n normals), x, x1 (n each), s, s1 (m each), u, u1 (m each),
    z, z1 (n each), all normal; a nonnegative vector is the positive part of its normals. s and s1
    are drawn in both forms.
    """
    _positive(m=m, n=n)
    kind = _choice("form", form, "inequality", "equality")
    equality = kind == "equality"
    if equality:
        _at_most("m", m, n)
    normal = _normals(_rng(seed), integer)
    A = normal((m, n))
    x, x1 = (_positive_part(normal(n)) for _ in range(2))
    s, s1 = (_positive_part(normal(m)) for _ in range(2))
    u, u1 = (normal(m) for _ in range(2))
    z, z1 = (_positive_part(normal(n)) for _ in range(2))
    if equality:
        s, s1 = np.zeros(m), np.zeros(m)
    else:
        u, u1 = _positive_part(u), _positive_part(u1)
    return ParametricLP(
        A,
        b=_product(A, x) + s,
        b_bar=_product(A, x1) + s1,
        c=_product(A.T, u) - z,
        c_bar=_product(A.T, u1) - z1,
        form=kind,
    )


def piecewise_linear(
    *, seed: int = 0, m: int = 6, p: int = 5, integer: bool = False
) -> PiecewiseLinearProgram:
    r"""Random small program in the general form: 1 to 3 kinks, and all of them move with lam.

    Each of the p + m functions has 1 to 3 kinks and 2 to 4 slopes, all affine in lam with random
    rates; each outer slope is infinite (a bound) with probability 1/4. The functions are laid
    around an affine primal point :math:`\theta + \lambda\theta_1`, which stays between the first
    and the last kink where there are bounds, and around affine multipliers
    :math:`\nu + \lambda\nu_1`, which stay between the outer slopes. So the program is feasible,
    bounded and convex for every lam >= 0; the two are in general not optimal.

    Parameters
    ----------
    seed : int, default 0
    m, p : int
        Rows and variables.
    integer : bool, default False
        Round 2 times every random number to an integer: kinks meet, slopes are equal, ties.

    Raises
    ------
    ParamError
        When a size is not positive.

    Notes
    -----
    Draws, in this order: A by rows (m p normals), theta, theta1 (p normals each), nu, nu1 (m
    each); then for each of the p variables and of the m rows: the number q of kinks (``integers``
    from 1 to 3), which outer slopes are infinite (two uniforms), q normals for the kinks and q for
    their rates, q + 1 for the slopes and q + 1 for theirs.
    """
    _positive(m=m, p=p)
    rng = _rng(seed)
    normal = _normals(rng, integer)
    A = normal((m, p))
    theta, theta1 = normal(p), normal(p)
    nu, nu1 = normal(m), normal(m)
    phi = [
        _random_function(rng, normal, *point)
        for point in zip(theta, theta1, -_product(A.T, nu), -_product(A.T, nu1), strict=True)
    ]
    psi = [
        _random_function(rng, normal, *point)
        for point in zip(_product(A, theta), _product(A, theta1), nu, nu1, strict=True)
    ]
    return PiecewiseLinearProgram(A, Pieces.concatenate(*phi), Pieces.concatenate(*psi))


def _random_function(
    rng: np.random.Generator, normal: Normals, z: float, z1: float, v: float, v1: float
) -> Pieces:
    """Return one convex function around the point (z, v) with the rates (z1, v1)."""
    q = int(rng.integers(1, 4))
    bounded = rng.random(2) < 0.25
    kinks, kink_rates = _ladder(normal((2, q)), z, z1)
    slopes, slope_rates = _ladder(normal((2, q + 1)), v, v1)
    if q == 1 and bounded[1]:
        # A single kink can bound one side only, and the point belongs below it.
        bounded[0] = False
        kinks, kink_rates = 2.0 * z - kinks, 2.0 * z1 - kink_rates
    if bounded[0]:
        slopes[0], slope_rates[0] = -np.inf, 0.0
    if bounded[1]:
        slopes[-1], slope_rates[-1] = np.inf, 0.0
    return Pieces(np.array([0, q], dtype=np.int64), kinks, kink_rates, slopes, slope_rates)


def _ladder(gaps: Array, at: float, rate: float) -> tuple[Array, Array]:
    """Return increasing values and rates: the first below (at, rate), all others above it."""
    steps = np.cumsum(np.abs(gaps), axis=1)
    steps[:, 1:] -= steps[:, :1]
    steps[:, 0] *= -1.0
    return at + steps[0], rate + steps[1]


# ---- draws and sums


def _rng(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(_seed(seed)))


def _normals(rng: np.random.Generator, integer: bool) -> Normals:
    """Return a source of standard normals, or of 2 times them rounded."""

    def draw(shape: Any) -> Array:
        values = rng.standard_normal(shape)
        return np.asarray(np.rint(2.0 * values) + 0.0 if integer else values)

    return draw


def _columns(rng: np.random.Generator, n: int, d: int, unit: bool) -> Array:
    """Return a Gaussian matrix whose columns have the norm 1 or sqrt(n)."""
    X = rng.standard_normal((n, d))
    # cumsum adds row after row on every machine; sum() may not.
    norms = np.sqrt(np.cumsum(X * X, axis=0)[-1])
    return np.asarray(X / norms * (1.0 if unit else math.sqrt(n)))


def _response(
    rng: np.random.Generator, X: Array, theta: Array, sigma: float, noise: Noise
) -> Array:
    if not (math.isfinite(sigma) and sigma >= 0.0):
        raise ParamError(f"sigma must be a finite number >= 0, got {sigma!r}")
    heavy = _choice("noise", noise, "normal", "t2") == "t2"
    n = len(X)
    epsilon = rng.standard_t(2.0, size=n) if heavy else rng.standard_normal(n)
    return np.asarray(_product(X, theta) + sigma * epsilon)


def _product(A: Array, x: Array) -> Array:
    """Return A x, summed column after column: the same on every machine, unlike BLAS."""
    total = np.zeros(A.shape[0])
    for j in np.flatnonzero(x):
        total += A[:, j] * x[j]
    return total


def _positive_part(values: Array) -> Array:
    return np.maximum(values, 0.0)


# ---- names and values


def _design(name: str) -> Callable[..., Problem]:
    if name not in _DESIGNS:
        raise ParamError(f"no generator is called {name!r}; there are: {', '.join(_DESIGNS)}")
    return _DESIGNS[name]


def _converted(name: str, chosen: dict[str, Any]) -> dict[str, Any]:
    defaults = settings(name)
    known = ", ".join(f"{key}={value}" for key, value in defaults.items())
    unknown = sorted(set(chosen) - set(defaults))
    if unknown:
        raise ParamError(f"generator {name} has no setting {unknown[0]!r}; it has: {known}")
    try:
        return {
            key: Option(type(defaults[key]), defaults[key], "").convert(key, value)
            for key, value in chosen.items()
        }
    except ParamError as error:
        raise ParamError(f"generator {name}: {error}; its settings are: {known}") from error


def _seed(seed: Any) -> int:
    try:
        return cast(int, Option(int, 0, "", low=0).convert("seed", seed))
    except ParamError:
        raise ParamError(f"seed must be an integer >= 0, got {seed!r}") from None


def _positive(**sizes: int) -> None:
    for name, value in sizes.items():
        if value < 1:
            raise ParamError(f"{name} must be at least 1, got {value}")


def _at_most(name: str, value: int, largest: int) -> None:
    if value > largest:
        raise ParamError(f"{name} must be at most {largest} here, got {value}")


def _choice(name: str, value: str, *allowed: str) -> Any:
    if value not in allowed:
        raise ParamError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")
    return value


_DESIGNS: dict[str, Callable[..., Problem]] = {
    "dantzig-4.1": dantzig_41,
    "dantzig-4.3": dantzig_43,
    "lad-4.1": lad_41,
    "lad-4.3": lad_43,
    "parametric-lp": parametric_lp,
    "piecewise-linear": piecewise_linear,
}

_PAPER_FACTOR = {"dantzig-4.1": 1.0, "dantzig-4.3": 2.0, "lad-4.1": 1.0, "lad-4.3": 2.0}
"""The `factor` of the paper's stopping rules."""
