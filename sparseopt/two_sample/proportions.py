"""How well a selection finds the variables that differ: (24) of Wang, Dey and Xie."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["false_discovery_proportion", "non_discovery_proportion"]


def false_discovery_proportion(selected: Iterable[int], truth: Iterable[int]) -> float:
    """Return the share of the selected variables that are not true; 0 where none is selected.

    Examples
    --------
    >>> false_discovery_proportion([0, 1, 7], truth=[0, 1, 2, 3])
    0.3333333333333333
    """
    chosen, true = _indices(selected), _indices(truth)
    return len(chosen - true) / len(chosen) if chosen else 0.0


def non_discovery_proportion(selected: Iterable[int], truth: Iterable[int]) -> float:
    """Return the share of the true variables that are not selected; 0 where none is true.

    Examples
    --------
    >>> non_discovery_proportion([0, 1, 7], truth=[0, 1, 2, 3])
    0.5
    """
    chosen, true = _indices(selected), _indices(truth)
    return len(true - chosen) / len(true) if true else 0.0


def _indices(given: Iterable[int]) -> set[int]:
    return {int(index) for index in given}
