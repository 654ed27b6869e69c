"""What the intercept is called among the names of coefficients."""

from __future__ import annotations

from collections.abc import Sequence


def with_intercept_name(names: Sequence[str]) -> list[str]:
    """Return the names of columns, and last that of an intercept, in brackets where it is taken.

    Parameters
    ----------
    names : sequence of str

    Examples
    --------
    >>> with_intercept_name(["age", "bmi"]), with_intercept_name(["intercept"])
    (['age', 'bmi', 'intercept'], ['intercept', '(intercept)'])
    """
    last = "intercept"
    while last in names or f"({last})" in names:
        last = f"({last})"
    return [*names, last]


def intercept_in(names: Sequence[str]) -> str:
    """Return what the intercept is called among the names of coefficients, if there is one.

    Parameters
    ----------
    names : sequence of str
        As :func:`with_intercept_name` has them.

    Examples
    --------
    >>> intercept_in(["intercept", "(intercept)"])
    '(intercept)'
    """
    last = "intercept"
    while f"({last})" in names:
        last = f"({last})"
    return last
