"""Which parameters of a test wait for ``pytest --thorough``."""

from collections.abc import Iterable
from typing import Any

import pytest


def first(count: int, values: Iterable[Any]) -> list[Any]:
    """Return all values for ``pytest.mark.parametrize``; those after the first are thorough."""
    return [
        value if k < count else pytest.param(value, marks=pytest.mark.thorough)
        for k, value in enumerate(values)
    ]
