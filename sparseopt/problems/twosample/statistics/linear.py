"""The two-sample statistics of the linear kernel in closed form, and the lam that suits them.

Source: Wang, Dey, Xie: Variable selection for kernel two-sample tests, (4), (10) and (13).
"""

from __future__ import annotations

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.problems.twosample.statistics.hermite import features, order

_AUTOMATIC = 1.0 / 16.0
"""Part of MMD^2 / variance that the automatic lam is; docs/two-sample.md says why."""
_NO_VARIANCE = 1e-24
"""A variance of at most this times the squared MMD's square is rounding: columns are constant."""
_TRUNCATION = 1e-14
"""Error of a value of a scalar kernel, which is at most 1."""
_CHUNK = 1 << 21
"""Numbers that a block of pairs may take."""


def linear_terms(x: Array, y: Array, bandwidth: Array) -> tuple[Array, Array]:
    r"""Return (a, V) of the linear kernel: the squared MMD is a'z and the variance z'Vz.

    O((n + m) D H + (n + m) D^2), H as for :func:`linear_parts`.

    Parameters
    ----------
    x, y : arrays of shapes (n, D) and (m, D)
    bandwidth : array of shape (D,)
        tau_s^2.
    """
    a, parts = linear_parts(x, y, bandwidth)
    V = sum((factor * C.T @ C for factor, C in parts), np.zeros((len(a), len(a))))
    return a, V


def linear_parts(
    x: Array, y: Array, bandwidth: Array
) -> tuple[Array, tuple[tuple[float, Array], ...]]:
    r"""Return a and the roots of V: the variance z'Vz is the sum of all :math:`f \|C z\|^2`.

    Where columns cancel, the lengths of Cz keep digits that V has lost.

    With Hermite features of each column the mean over j is a product with the mean feature, so the
    cost is O((n + m) D H), H the order of the truncation (10 to 60). Columns with observations too
    many bandwidths apart are summed directly, O(n m).

    Parameters
    ----------
    x, y : arrays of shapes (n, D) and (m, D)
    bandwidth : array of shape (D,)
        tau_s^2.
    """
    n, m = len(x), len(y)
    D = x.shape[1]
    p, q = np.empty((n, D)), np.empty((m, D))
    xx, yy, xy = np.empty(D), np.empty(D), np.empty(D)
    for s in range(D):
        column = np.concatenate([x[:, s], y[:, s]])
        phi = scalar_features(column, float(bandwidth[s]), (n + m) // 4)
        if phi is None:
            # Not centred: an outlier would take the precision of all others.
            means = _direct(x[:, s], y[:, s], float(bandwidth[s]))
        else:
            mean_x, mean_y = phi[:, :n].mean(axis=1), phi[:, n:].mean(axis=1)
            means = (
                mean_x @ phi[:, :n],
                mean_y @ phi[:, :n],
                mean_x @ phi[:, n:],
                mean_y @ phi[:, n:],
            )
        p[:, s], q[:, s] = means[0] - means[1], means[3] - means[2]
        xx[s], xy[s], yy[s] = means[0].mean(), means[1].mean(), means[3].mean()
    if n == m:
        matched = np.exp((x - y) ** 2 / (-2.0 * bandwidth)).mean(axis=0)
        g = p + q
        a = (n * g.mean(axis=0) - 2.0 * (1.0 - matched)) / (n - 1)
        centred = g - g.mean(axis=0)
        return a, ((4.0 / n, centred),)
    a = (n * xx - 1.0) / (n - 1) + (m * yy - 1.0) / (m - 1) - 2.0 * xy
    N = 2.0 * n * m / (n + m)
    return a, ((4.0 * N / n**2, p - p.mean(axis=0)), (4.0 * N / m**2, q - q.mean(axis=0)))


def scalar_features(column: Array, bandwidth: float, largest: int) -> Array | None:
    """Return the Hermite features of one variable's kernel to 1e-14, shape (C, N).

    Parameters
    ----------
    column : array of shape (N,)
    bandwidth : float
        tau^2.
    largest : int
        None is returned where more features than this would be needed.
    """
    tau = float(np.sqrt(bandwidth))
    low, high = float(column.min()), float(column.max())
    count = order((high - low) / (2.0 * tau), _TRUNCATION, largest)
    return None if count is None else features((column - (low + (high - low) / 2.0)) / tau, count)


def automatic_lam(a: Array, V: Array, d: int) -> float:
    """Return MMD^2 / (16 variance) of the linear kernel, where the squared MMD is largest.

    That is at weights proportional to the d largest entries of a, whose norm it is. 0 where there
    is no difference, or no variance.

    Parameters
    ----------
    a : array of shape (D,)
    V : array of shape (D, D)
        As :func:`linear_terms` returns them.
    d : int
    """
    S = np.argsort(-np.abs(a), kind="stable")[:d]
    mmd = float(np.linalg.norm(a[S]))
    if mmd == 0.0:
        return 0.0
    z = a[S] / mmd
    return share_of_variance(mmd, float(z @ V[np.ix_(S, S)] @ z))


def share_of_variance(mmd: float, variance: float) -> float:
    """Return MMD^2 / (16 variance), from a squared MMD; 0 where either is nothing but rounding.

    Parameters
    ----------
    mmd : float
        Squared MMD.
    variance : float

    Returns
    -------
    float
    """
    if mmd <= 0.0 or variance <= _NO_VARIANCE * mmd**2:
        return 0.0
    return _AUTOMATIC * mmd / variance


def _direct(u: Array, v: Array, bandwidth: float) -> tuple[Array, Array, Array, Array]:
    """Return the row means of the scalar kernel on xx, xy, yx and yy by direct sums.

    Differences come first: what is far from 0 keeps its digits.
    """
    return tuple(  # type: ignore[return-value]
        np.concatenate(
            [
                np.exp((s[rows, None] - t[None, :]) ** 2 / (-2.0 * bandwidth)).mean(axis=1)
                for rows in blocks(len(s), len(t))
            ]
        )
        for s, t in ((u, u), (u, v), (v, u), (v, v))
    )


def blocks(rows: int, width: int) -> list[slice]:
    """Cut rows of a width into slices of bounded size.

    Parameters
    ----------
    rows : int
    width : int
        Numbers in a row.

    Returns
    -------
    list of slice
    """
    step = max(1, _CHUNK // max(1, width))
    return [slice(begin, begin + step) for begin in range(0, rows, step)]
