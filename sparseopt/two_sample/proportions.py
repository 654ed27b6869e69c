"""How well a selection finds the variables that differ: (24) of Wang, Dey and Xie."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral

import numpy as np

from sparseopt.errors import ParamError


def false_discovery_proportion(selected: Iterable[int], truth: Iterable[int]) -> float:
    """Return the share of the selected variables that are not true; 0 where none is selected.

    Parameters
    ----------
    selected : iterable of int
        Indices of the selected variables.
    truth : iterable of int
        Indices of the variables by which the samples differ.

    Returns
    -------
    float
        0 to 1.

    Raises
    ------
    ParamError
        When one of the two does not hold indices, but a mask or weights.

    Examples
    --------
    >>> false_discovery_proportion([0, 1, 7], truth=[0, 1, 2, 3])
    0.3333333333333333
    """
    chosen, true = _indices("selected", selected), _indices("truth", truth)
    return len(chosen - true) / len(chosen) if chosen else 0.0


def non_discovery_proportion(selected: Iterable[int], truth: Iterable[int]) -> float:
    """Return the share of the true variables that are not selected; 0 where none is true.

    Parameters
    ----------
    selected : iterable of int
        Indices of the selected variables.
    truth : iterable of int
        Indices of the variables by which the samples differ.

    Returns
    -------
    float
        0 to 1.

    Raises
    ------
    ParamError
        When one of the two does not hold indices, but a mask or weights.

    Examples
    --------
    >>> non_discovery_proportion([0, 1, 7], truth=[0, 1, 2, 3])
    0.5
    """
    chosen, true = _indices("selected", selected), _indices("truth", truth)
    return len(true - chosen) / len(true) if true else 0.0


def _indices(name: str, given: Iterable[int]) -> set[int]:
    found = list(given)
    for index in found:
        if isinstance(index, bool | np.bool_) or not isinstance(index, Integral):
            raise ParamError(
                f"{name} holds {index!r}; expected indices of variables, as np.flatnonzero gives "
                "them of a mask or of weights"
            )
    return {int(index) for index in found}
