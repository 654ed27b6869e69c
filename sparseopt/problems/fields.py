"""Coercion of the fields that several problems share, beyond plain matrices and vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.problems.base import Array, as_matrix, as_vector, freeze, is_sparse

_ASYMMETRY = 1e-10
"""Largest asymmetry, relative to the largest entry, that is taken for rounding."""
_TILE = 256
"""Rows and columns of a tile: 512 KB."""
_FARTHEST = 1e20
"""Finite bounds beyond this are taken for a mistyped infinity: they would cost all digits."""
_SHORTEST, _LONGEST = 2.0**-400, 2.0**400
"""Largest entries of columns: products of two, times others, neither vanish nor overflow."""
_SMALLEST, _GREATEST = 2.0**-300, 2.0**300
"""Entries of a linear program, whose ratios and the products of these are formed."""


def as_weights(field: str, value: object, length: int, *, positive: bool = False) -> Array | None:
    """Return weights >= 0 of the given length; None stays None.

    Parameters
    ----------
    field : str
        The name of the field, for messages.
    value : array_like of shape (length,), or None
    length : int
    positive : bool, default False
        Whether 0 is refused.

    Returns
    -------
    array of shape (length,) or None

    Raises
    ------
    ProblemError
    """
    if value is None:
        return None
    weights = _nonnegative(field, as_vector(field, value, length))
    if positive and not weights.all():
        raise ProblemError(
            f"{field}[{int(np.argmin(weights))}] is 0; expected positive numbers: leave out rows "
            "that do not count",
            field,
        )
    return weights


def as_weight_matrix(field: str, value: object, shape: tuple[int, int]) -> Array | None:
    """Return weights >= 0 of the given shape; None stays None.

    Parameters
    ----------
    field : str
        The name of the field, for messages.
    value : array_like of that shape, or None
    shape : (int, int)

    Returns
    -------
    array of that shape or None

    Raises
    ------
    ProblemError
    """
    if value is None:
        return None
    weights = as_matrix(field, value)
    if weights.shape != shape:
        raise ProblemError(f"{field} has shape {weights.shape}; expected {shape}", field)
    return _nonnegative(field, weights)


def _nonnegative(field: str, weights: Array) -> Array:
    if (weights < 0.0).any():
        at = tuple(int(k) for k in np.unravel_index(int(np.argmin(weights)), weights.shape))
        place = ", ".join(str(k) for k in at)
        raise ProblemError(f"{field}[{place}] is {weights[at]}; expected numbers >= 0", field)
    return weights


def as_bounds(value: object, length: int) -> Array | None:
    """Return bounds on coefficients around 0; None stays None.

    Parameters
    ----------
    value : (low, high), or None
        Each a number or array_like of shape (length,), infinite where there is no bound.
    length : int

    Returns
    -------
    array of shape (2, length) or None
        The rows are low <= 0 and high >= 0.

    Raises
    ------
    ProblemError
        When it is no such pair, or a finite bound is beyond 1e20.
    """
    if value is None:
        return None
    if not isinstance(value, tuple | list | np.ndarray) or len(value) != 2:
        raise ProblemError(
            f"bounds is {value!r:.80}; expected (low, high), each a number or a vector of shape "
            f"({length},)",
            "bounds",
        )
    ends = [
        as_vector("bounds", [end] * length if np.ndim(end) == 0 else end, length, finite=False)
        for end in value
    ]
    for k, sign in enumerate((-1.0, 1.0)):
        away = sign * ends[k]
        wrong = np.flatnonzero(~(away >= 0.0) | (np.isfinite(away) & (away > _FARTHEST)))
        if len(wrong):
            raise ProblemError(
                f"bounds[{k}, {wrong[0]}] is {ends[k][wrong[0]]:g}; expected "
                f"{('low <= 0', 'high >= 0')[k]}, since 0 has to be allowed, and {sign * np.inf} "
                "where there is no bound",
                "bounds",
            )
    # + 0.0: no negative zeros in files.
    return freeze(np.stack(ends) + 0.0, [])


def as_choice(field: str, value: object, length: int) -> Array:
    """Return some of the indices 0 to length - 1, different ones, in the order given.

    Parameters
    ----------
    field : str
        The name of the field, for messages.
    value : sequence of int
    length : int

    Returns
    -------
    int64 array of shape (k,), k >= 1

    Raises
    ------
    ProblemError
        When it is empty, holds something else, or one index twice.
    """
    given = np.asarray(value)
    if given.ndim != 1 or len(given) == 0 or given.dtype.kind not in "iu":
        raise ProblemError(f"{field} is {value!r:.80}; expected one or more whole numbers", field)
    chosen = given.astype(np.int64)
    wrong = chosen[(chosen < 0) | (chosen >= length)]
    if len(wrong):
        raise ProblemError(f"{field} has {wrong[0]}; expected 0 to {length - 1}", field)
    if len(np.unique(chosen)) < len(chosen):
        raise ProblemError(f"{field} names an index twice", field)
    return freeze(chosen, value)


def as_symmetric(field: str, value: object) -> Array:
    """Return a symmetric matrix; an asymmetry of rounding is averaged away.

    Parameters
    ----------
    field : str
        The name of the field, for messages.
    value : array_like of shape (n, n)

    Returns
    -------
    array of shape (n, n)

    Raises
    ------
    ProblemError
        When the matrix is not square, or entries opposite each other differ by more than 1e-10 of
        the largest one.
    """
    matrix = as_matrix(field, value)
    if matrix.shape[0] != matrix.shape[1]:
        raise ProblemError(f"{field} has shape {matrix.shape}; expected a square matrix", field)
    if _is_symmetric(matrix):
        return np.asarray(matrix)
    difference = np.abs(matrix - matrix.T)
    worst = float(difference.max())
    if worst > _ASYMMETRY * float(np.abs(matrix).max()):
        i, j = (int(k) for k in np.unravel_index(int(difference.argmax()), matrix.shape))
        raise ProblemError(
            f"{field} is not symmetric: {field}[{i}, {j}] = {matrix[i, j]} and {field}[{j}, {i}] = "
            f"{matrix[j, i]} differ by {worst:g}; give ({field} + {field}.T) / 2 if that is what "
            "is meant",
            field,
        )
    mean = matrix / 2.0 + matrix.T / 2.0
    mean.flags.writeable = False
    return np.asarray(mean)


def _is_symmetric(matrix: Array) -> bool:
    """Compare square tiles, which both fit into a processor's cache."""
    cuts = range(0, len(matrix), _TILE)
    return all(
        np.array_equal(matrix[i : i + _TILE, j : j + _TILE], matrix[j : j + _TILE, i : i + _TILE].T)
        for i in cuts
        for j in cuts[: i // _TILE + 1]
    )


def as_names(given: object, length: int) -> list[str] | None:
    """Return a list of `length` strings; None stays None.

    Parameters
    ----------
    given : sequence of str, or None
    length : int

    Returns
    -------
    list of str, or None

    Raises
    ------
    ProblemError
    """
    if given is None:
        return None
    names: list[Any] = [None]
    if isinstance(given, Iterable) and not isinstance(given, str):
        names = list(given)
    if not all(isinstance(name, str) for name in names):
        raise ProblemError(f"names is {given!r:.80}; expected a list of {length} strings", "names")
    if len(names) != length:
        raise ProblemError(f"names has {len(names)} entries; expected {length}", "names")
    for place, name in enumerate(names):
        try:
            name.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ProblemError(
                f"names[{place}] is {name!r:.80}, with a lone surrogate that no file can hold; "
                "expected text: decode names from bytes without errors='surrogateescape'",
                "names",
            ) from error
    return [str(name) for name in names]


def names_in(given: Any, data: Any) -> Any:
    """Return the names that were given, or else those of a data frame's columns.

    Parameters
    ----------
    given : sequence of str, or None
    data : array_like or data frame

    Returns
    -------
    sequence of str, or None
    """
    # pyarrow's tables have their data in `columns`
    columns = getattr(data, "column_names", getattr(data, "columns", None))
    if given is not None or columns is None or callable(columns):
        return given
    return [str(name) for name in columns]


def column_names(names: Sequence[str] | None, d: int) -> list[str]:
    """Return the names, or x0, x1, ... where none are given.

    Parameters
    ----------
    names : sequence of str, or None
    d : int
        Number of columns.

    Returns
    -------
    list of d str
    """
    return [f"x{j}" for j in range(d)] if names is None else list(names)


def check_flag(field: str, value: object) -> None:
    """Raise a ProblemError unless the value is True or False.

    Parameters
    ----------
    field : str
        The name of the field, for the message.
    value : object
    """
    if not isinstance(value, bool):
        raise ProblemError(f"{field} is {value!r}; expected True or False", field)


def check_lengths(field: str, array: Any, weights: Array | None = None, first: int = 0) -> None:
    """Raise a ProblemError where products of columns would vanish or overflow.

    Squares of entries below 1e-162 are 0 in double precision: a column of such entries looks like
    one of zeros, and so do its products with all others.

    Parameters
    ----------
    field : str
        The name of the field, for messages.
    array : array of shape (n, d) or (n,), or csr_array of shape (n, d)
        A vector is one column. Columns of zeros are let pass.
    weights : array of shape (n,), optional
        Factors of the rows.
    first : int, default 0
        The number of the first column, where the array is a block of a larger one.

    Raises
    ------
    ProblemError
        When the largest entry of a column is not within 2^-400 to 2^400 (3.9e-121 to 2.6e120).
    """
    sizes = _largest_entries(array if weights is None else _times_rows(array, weights))
    largest = sizes.astype(np.float64)
    wrong = np.flatnonzero((largest > 0.0) & ~((largest >= _SHORTEST) & (largest <= _LONGEST)))
    if len(wrong):
        size = largest[wrong[0]]
        place = f"column {first + wrong[0]} of {field}" if array.ndim == 2 else field
        happens = "vanish" if size < 1.0 else "overflow"
        raise ProblemError(
            f"{place} has no entry above {size:.3g} in absolute value; products of such entries "
            f"{happens}: expected a largest one of {_SHORTEST:.1e} to {_LONGEST:.1e}. Give it in "
            "another unit",
            field,
        )


def check_range(field: str, array: Any) -> None:
    """Raise a ProblemError where entries are so small or large that products are not numbers.

    Parameters
    ----------
    field : str
        The name of the field, for messages.
    array : array, or csr_array

    Raises
    ------
    ProblemError
        When an entry is neither 0 nor within 2^-300 to 2^300 (4.9e-91 to 2.0e90) in absolute value.
    """
    entries = array.data if is_sparse(array) else array
    low, high = float(entries.min(initial=0.0)), float(entries.max(initial=0.0))
    size = np.abs(entries)
    wrong = (size > 0.0) & (size < _SMALLEST) if max(-low, high) <= _GREATEST else size > _GREATEST
    if wrong.any():
        raise ProblemError(
            f"{field} has the entry {entries[wrong][0]:.3g}; expected 0, or an absolute value of "
            f"{_SMALLEST:.1e} to {_GREATEST:.1e}, so that products of entries are numbers. Give it "
            "in another unit, or as 0 where it stands for none",
            field,
        )


def _times_rows(array: Any, weights: Array) -> Any:
    if is_sparse(array):
        return array.multiply(weights[:, None]).tocsr()
    return array * (weights[:, None] if array.ndim == 2 else weights)


def _largest_entries(array: Any) -> Array:
    """Return the largest absolute value in each column, shape (d,); a vector is one column."""
    if is_sparse(array):
        sizes = np.zeros(array.shape[1])
        np.maximum.at(sizes, array.indices, np.abs(array.data))
        return sizes
    columns = array if array.ndim == 2 else array[:, None]
    return np.asarray(np.maximum(columns.max(axis=0), -columns.min(axis=0)))
