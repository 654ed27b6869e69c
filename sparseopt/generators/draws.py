"""Random draws and sums that come out the same on every machine, and the checks of sizes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, cast

import numpy as np

from sparseopt.backend import Option
from sparseopt.errors import ParamError
from sparseopt.problems.base import Array

Noise = Literal["normal", "t2"]
Normals = Callable[[Any], Array]


def stream(seed: int) -> np.random.Generator:
    """Return the one source of random numbers of a problem.

    Parameters
    ----------
    seed : int

    Returns
    -------
    numpy Generator
        PCG64.
    """
    return np.random.Generator(np.random.PCG64(valid_seed(seed)))


def normals(rng: np.random.Generator, integer: bool) -> Normals:
    """Return a source of standard normals, or of 2 times them rounded.

    Parameters
    ----------
    rng : numpy Generator
    integer : bool
        Whether draws are rounded to integers.

    Returns
    -------
    callable
        From a shape to an array.
    """

    def draw(shape: Any) -> Array:
        values = rng.standard_normal(shape)
        return np.asarray(np.rint(2.0 * values) + 0.0 if integer else values)

    return draw


def scaled_columns(rng: np.random.Generator, n: int, d: int, unit: bool) -> Array:
    """Return a Gaussian matrix whose columns have the norm 1 or sqrt(n).

    Parameters
    ----------
    rng : numpy Generator
    n, d : int
        Rows and columns.
    unit : bool
        Whether the norm is 1.

    Returns
    -------
    array of shape (n, d)
    """
    X = rng.standard_normal((n, d))
    # cumsum adds row after row on every machine; sum() may not.
    norms = np.sqrt(np.cumsum(X * X, axis=0)[-1])
    return np.asarray(X / norms * (1.0 if unit else math.sqrt(n)))


def response(rng: np.random.Generator, X: Array, theta: Array, sigma: float, noise: Noise) -> Array:
    """Return X theta + sigma epsilon.

    Parameters
    ----------
    rng : numpy Generator
    X : array of shape (n, d)
    theta : array of shape (d,)
    sigma : float
        Size of the errors.
    noise : {"normal", "t2"}
        Distribution of the errors.

    Returns
    -------
    array of shape (n,)
    """
    if not (math.isfinite(sigma) and sigma >= 0.0):
        raise ParamError(f"sigma must be a finite number >= 0, got {sigma!r}")
    heavy = choice("noise", noise, "normal", "t2") == "t2"
    n = len(X)
    epsilon = rng.standard_t(2.0, size=n) if heavy else rng.standard_normal(n)
    return np.asarray(product(X, theta) + sigma * epsilon)


def product(A: Array, x: Array) -> Array:
    """Return A x, summed column after column: the same on every machine, unlike BLAS.

    Parameters
    ----------
    A : array of shape (m, n)
    x : array of shape (n,)

    Returns
    -------
    array of shape (m,)
    """
    total = np.zeros(A.shape[0])
    for j in np.flatnonzero(x):
        total += A[:, j] * x[j]
    return total


def positive_part(values: Array) -> Array:
    """Return max(values, 0).

    Parameters
    ----------
    values : array

    Returns
    -------
    array
    """
    return np.maximum(values, 0.0)


def support(rng: np.random.Generator, d: int, s: int) -> Array:
    """Return s of d indices, without replacement, sorted.

    Parameters
    ----------
    rng : numpy Generator
    d, s : int

    Returns
    -------
    int array of shape (s,)
    """
    return np.sort(rng.choice(d, size=s, replace=False))


def valid_seed(seed: Any) -> int:
    """Return the seed, or say what one is."""
    try:
        return cast(int, Option(int, 0, "", low=0).convert("seed", seed))
    except ParamError:
        raise ParamError(f"seed must be an integer >= 0, got {seed!r}") from None


def require_positive(**sizes: int) -> None:
    """Refuse sizes below 1."""
    for name, value in sizes.items():
        if value < 1:
            raise ParamError(f"{name} must be at least 1, got {value}")


def require_at_most(name: str, value: int, largest: int) -> None:
    """Refuse a value above the largest one."""
    if value > largest:
        raise ParamError(f"{name} must be at most {largest} here, got {value}")


def require_share(name: str, value: float) -> None:
    """Refuse a share outside (0, 1]."""
    if not 0.0 < value <= 1.0:
        raise ParamError(f"{name} must be in (0, 1], got {value!r}")


def choice(name: str, value: str, *allowed: str) -> Any:
    """Return the value, which must be one of those allowed."""
    if value not in allowed:
        raise ParamError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")
    return value
