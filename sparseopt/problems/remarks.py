"""What a person should know of data before trusting a model: offsets, units, repeated points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparseopt.problems.base import Array, is_sparse

_FEWEST = 10
"""Fewer observations say too little of a mean."""
_ROWS, _COLUMNS = 10_000, 1_000
"""At most about so many rows and columns are looked at, evenly spaced."""
_ENTRIES = 1 << 20
"""Entries of a block of rows: 8 MB."""
_AT_ONCE = 1 << 18
"""Entries of the columns whose moments are computed together: 2 MB."""
_OFF_RESPONSE, _OFF_COLUMN = 1.0, 3.0
"""Means beyond this many standard deviations are remarked on."""
_RATIO = 100.0
"""Columns whose lengths differ by more are remarked on."""
_REPEATED = 0.1
"""Points of which a larger share repeats others are remarked on."""


def regression_remarks(
    X: Any,
    y: Array,
    intercept: bool,
    weighted: bool,
    names: Sequence[str] | None,
) -> tuple[str, ...]:
    """Return what is to be said of the data of a regression that may have an intercept.

    Parameters
    ----------
    X : array or csr_array of shape (n, d)
    y : array of shape (n,)
    intercept, weighted : bool
        Whether there are an intercept, and weights in the penalty.
    names : sequence of d str, optional
    """
    found: tuple[str, ...] = ()
    if X.shape[0] < _FEWEST or (intercept and weighted):
        return found
    moments = _moments(X)
    if not intercept:
        found = _centring_remarks(moments, y, names, "Give fit_intercept=True")
    if weighted:
        return found
    cure = "Scale the columns, or give weights"
    return found + _scaling_remarks(moments, intercept, names, cure)


def centring_remarks(X: Any, y: Array, names: Sequence[str] | None, cure: str) -> tuple[str, ...]:
    """Return what is to be said of a model without an intercept: nothing where one is a column.

    Parameters
    ----------
    X : array or csr_array of shape (n, d)
    y : array of shape (n,)
    names : sequence of d str, optional
    cure : str
        What to do.
    """
    return () if X.shape[0] < _FEWEST else _centring_remarks(_moments(X), y, names, cure)


def _centring_remarks(
    moments: tuple[Array, Array, Array], y: Array, names: Sequence[str] | None, cure: str
) -> tuple[str, ...]:
    columns, means, spreads = moments
    if (np.abs(means) > 1e6 * spreads).any():
        return ()
    found = []
    _, (level,), (spread,) = _moments(y[:, None])
    if abs(level) > _OFF_RESPONSE * spread:
        found.append(f"y (mean {level:.3g}, standard deviation {spread:.3g})")
    off = np.abs(means) > _OFF_COLUMN * spreads
    if off.any():
        worst = int((np.abs(means) / np.where(spreads > 0.0, spreads, 1.0)).argmax())
        found.append(
            f"{int(off.sum())} of {len(off)} columns, most of all {_name(names, columns[worst])} "
            f"(mean {means[worst]:.3g}, standard deviation {spreads[worst]:.3g})"
        )
    if not found:
        return ()
    return (f"not centred, and there is no intercept: {' and '.join(found)}. {cure}",)


def _scaling_remarks(
    moments: tuple[Array, Array, Array], intercept: bool, names: Sequence[str] | None, cure: str
) -> tuple[str, ...]:
    """Return what is to be said where the lengths of columns differ by a factor above 100.

    With an intercept these are the lengths of centred columns.
    """
    columns, means, spreads = moments
    lengths = spreads if intercept else np.hypot(means, spreads)
    return _differ("the lengths of columns", columns, lengths, names, cure)


def variance_remarks(variances: Array, names: Sequence[str] | None, cure: str) -> tuple[str, ...]:
    """Return what is to be said where standard deviations differ by a factor above 100.

    Parameters
    ----------
    variances : array of shape (d,)
        The diagonal of a covariance matrix.
    names : sequence of d str, optional
    cure : str
        What to do.
    """
    deviations = np.sqrt(np.maximum(variances, 0.0))
    return _differ("standard deviations", np.arange(len(variances)), deviations, names, cure)


def point_remarks(X: Array, k: int, cure: str | None) -> tuple[str, ...]:
    """Return what is to be said of points near a subspace: constant columns, repeated points.

    Parameters
    ----------
    X : array of shape (N, n)
    k : int
        Dimension of the subspace.
    cure : str, optional
        What to do about constant columns where the subspace goes through 0; None where its offset
        is estimated, or has no part.
    """
    found = []
    N, n = X.shape
    constant = np.flatnonzero(X.max(axis=0) == X.min(axis=0))
    if len(constant):
        largest = constant[np.abs(X[0, constant]).argmax()]
        value = X[0, largest]
        count = "a column is" if len(constant) == 1 else f"{len(constant)} of {n} columns are"
        what = f"{count} constant (x{largest} is {value:.3g} everywhere)"
        if value and cure is not None:
            found.append(f"{what}: a subspace through 0 turns in that direction. {cure}")
        else:
            found.append(f"{what}, without a part in the subspace")
    distinct = len(np.unique(_hashes(X)))
    if distinct <= k:
        found.append(
            f"{N} points, {distinct} of them distinct: a subspace of dimension {k} goes through all"
        )
    elif N - distinct > _REPEATED * N:
        found.append(
            f"{N - distinct} of {N} points repeat others: a subspace through them counts as one "
            "through as many different points would"
        )
    return tuple(found)


def _hashes(X: Array) -> Array:
    """Return a number for each row, the same for equal rows; for others, hardly ever."""
    N, n = X.shape
    odd = np.random.default_rng(0).integers(0, 2**63, n, dtype=np.uint64) * 2 + 1
    found = np.empty(N, dtype=np.uint64)
    step = max(1, _ENTRIES // n)
    for begin in range(0, N, step):
        bits = (X[begin : begin + step] + 0.0).view(np.uint64)  # 0 for -0
        bits ^= bits >> 32
        bits *= odd
        bits ^= bits >> 29  # the low bits of small integers are all 0
        found[begin : begin + step] = bits @ odd
    return found


def _differ(
    what: str, columns: Array, lengths: Array, names: Sequence[str] | None, cure: str
) -> tuple[str, ...]:
    there = np.flatnonzero(lengths > 1e-12 * lengths.max(initial=0.0))
    if not len(there):
        return ()
    least, most = there[lengths[there].argmin()], there[lengths[there].argmax()]
    if lengths[most] <= _RATIO * lengths[least]:
        return ()
    return (
        f"{what} differ by a factor of {lengths[most] / lengths[least]:.2g} (from "
        f"{_name(names, columns[least])} to {_name(names, columns[most])}), and the penalty takes "
        f"all coefficients alike. {cure}",
    )


def _moments(X: Any) -> tuple[Array, Array, Array]:
    """Return which columns were looked at, their means and their standard deviations."""
    n, d = X.shape
    columns = np.arange(0, d, -(-d // _COLUMNS))
    if is_sparse(X):
        part = X[:, columns]
        means, squares = (np.asarray(each.mean(axis=0)) for each in (part, part * part))
        return columns, means, np.sqrt(np.maximum(squares - means * means, 0.0))
    part = X[:: -(-n // _ROWS), :: -(-d // _COLUMNS)]
    # a few columns at a time: nothing of the size of the data is formed
    width = max(1, _AT_ONCE // len(part))
    blocks = [part[:, at : at + width] for at in range(0, len(columns), width)]
    with np.errstate(over="ignore", invalid="ignore"):
        parts = [_mean_and_spread(block) for block in blocks]
    means, spreads = (np.concatenate(each) for each in zip(*parts, strict=True))
    return columns, means, np.where(np.isfinite(spreads), spreads, np.inf)


def _mean_and_spread(block: Array) -> tuple[Array, Array]:
    mean = block.mean(axis=0)
    off = block - mean
    return mean, np.sqrt(np.einsum("ij,ij->j", off, off) / len(block))


def _name(names: Sequence[str] | None, column: int) -> str:
    return repr(f"x{column}" if names is None else str(names[column]))
