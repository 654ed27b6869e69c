"""What a warm start has to be, said in the same way by every backend that takes one."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparseopt.errors import ParamError
from sparseopt.params import shown
from sparseopt.problems.base import Array
from sparseopt.result import Result


def warm_point(given: Any, *shape: int, unknown: bool = False) -> Array | None:
    """Return the point of a warm start; None without one.

    Parameters
    ----------
    given : Result, array or None
    *shape : int
        Of an answer to the problem.
    unknown : bool, default False
        Whether NaN stands for a value that is not known.

    Returns
    -------
    array of that shape, or None

    Raises
    ------
    ParamError
        When it is no array of numbers, has another shape, or an entry is not finite.
    """
    point = given.x if isinstance(given, Result) else given
    return None if point is None else warm_vector("a point", point, *shape, unknown=unknown)


def warm_vector(name: str, given: Any, *shape: int, unknown: bool = False) -> Array:
    """Return a part of a warm start.

    Parameters
    ----------
    name : str
        What it is, for messages.
    given : array_like
    *shape : int
    unknown : bool, default False
        Whether NaN stands for a value that is not known.

    Raises
    ------
    ParamError
    """
    numbers = "finite numbers, or NaN where one is not known" if unknown else "finite numbers"
    expected = f"expected a Result of this problem, or an array of shape {shape} of {numbers}"
    try:
        point = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParamError(f"warm_start is {shown(given)}; {expected}") from error
    if point.shape != shape:
        raise ParamError(f"warm_start has {name} of shape {point.shape}; {expected}")
    wrong = np.isinf(point) if unknown else ~np.isfinite(point)
    if wrong.any():
        place = tuple(int(k) for k in np.argwhere(wrong)[0])
        where = ", ".join(map(str, place))
        raise ParamError(f"warm_start has {name} with {point[place]} at [{where}]; {expected}")
    return point
