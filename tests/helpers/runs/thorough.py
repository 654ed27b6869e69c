"""Which parameters of a test wait for ``pytest --thorough``."""

from collections.abc import Iterable
from typing import Any

import pytest


def first(count: int, values: Iterable[Any]) -> list[Any]:
    """Return all values for ``pytest.mark.parametrize``; those after the first are thorough.

    A value that is a tuple stands for several arguments.
    """
    parts = [value if isinstance(value, tuple) else (value,) for value in values]
    marks = [[pytest.mark.thorough] if k >= count else [] for k in range(len(parts))]
    return [pytest.param(*part, marks=mark) for part, mark in zip(parts, marks, strict=True)]
