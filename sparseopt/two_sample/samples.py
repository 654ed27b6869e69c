"""Two samples as a person gives them: arrays, lists, data frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.problems.base import Array, as_matrix
from sparseopt.problems.fields import as_names
from sparseopt.problems.twosample.statistics.two_samples import require_scale

FEWEST = 4
"""The fewest observations of each sample that a selection takes."""
_SHOWN = 10


def as_samples(x: Any, y: Any, names: Sequence[str] | None) -> tuple[Array, Array, list[str]]:
    """Return both samples and the names of their variables.

    Parameters
    ----------
    x, y : arrays of shapes (n, D) and (m, D), lists of rows, or data frames
    names : sequence of D str, or None
        Default: the columns of the data frames, else x0, x1, ...

    Returns
    -------
    x, y : arrays of shapes (n, D) and (m, D)
    names : list of D str

    Raises
    ------
    ProblemError
        When they are no matrices of finite numbers with the same columns, too small, or the same
        sample twice.
    """
    if names is None and hasattr(x, "columns"):
        names = [str(name) for name in x.columns]
        if hasattr(y, "columns"):
            require_same_names(names, [str(name) for name in y.columns])
    x, y = _matrix("x", x), _matrix("y", y)
    if x.shape[1] != y.shape[1]:
        raise ProblemError(
            f"y has {y.shape[1]} columns and x has {x.shape[1]}; expected the same variables", "y"
        )
    if _same(x, y):
        order = "" if (x == y).all() else " in another order"
        raise ProblemError(f"x and y are the same sample{order}: there is nothing to test", "y")
    for name, sample in (("x", x), ("y", y)):
        if len(sample) < FEWEST:
            raise ProblemError(
                f"{name} has {len(sample)} observations; expected at least {FEWEST}", name
            )
    require_scale(x, y)
    given = as_names(names, x.shape[1])
    return x, y, given or [f"x{s}" for s in range(x.shape[1])]


def require_same_names(
    names: Sequence[str], others: Sequence[str], first: str = "x", second: str = "y"
) -> None:
    """Raise a ProblemError that says how the columns of two samples differ, where they do.

    Parameters
    ----------
    names, others : sequences of str
    first, second : str
        What the samples are called.
    """
    if list(names) == list(others):
        return
    for one, other, absent in ((first, second, names), (second, first, others)):
        there = others if absent is names else names
        missing = [name for name in absent if name not in there]
        if missing:
            shown = ", ".join([*there[:_SHOWN], *(["..."] if len(there) > _SHOWN else [])])
            raise ProblemError(
                f"{first} and {second} have different columns: {one} has {missing[0]!r}, which "
                f"{other} has not ({shown})",
                "y",
            )
    raise ProblemError(
        f"{first} and {second} have the same columns in different orders; give them in one order",
        "y",
    )


def _matrix(name: str, sample: Any) -> Array:
    try:
        return np.asarray(as_matrix(name, sample))
    except ProblemError as error:
        if getattr(sample, "ndim", None) != 1:
            raise
        raise ProblemError(
            f"{name} has shape {sample.shape}; expected a row for each observation: a single "
            "variable is a matrix with one column",
            name,
        ) from error


def _same(x: Array, y: Array) -> bool:
    """Return whether x and y hold the same observations, in whatever order."""
    if x.shape != y.shape:
        return False
    if not all(np.array_equal(np.sort(u), np.sort(v)) for u, v in zip(x.T, y.T, strict=True)):
        return False
    return bool((x[np.lexsort(x.T)] == y[np.lexsort(y.T)]).all())
